/* SPDX-License-Identifier: Apache-2.0
 *
 * forms.c -- one row, a few, many, and many that are plain are written by different statements:
 * what they leave behind is the same.
 *
 * Of src/store/postgres/send.c and tools/sqlgen/tables.c. */
#include "store_fixture.h"

#include <string.h>

#include "base/macros.h"
#include "store/sql.h"

#include "base/banned.h"

/* Around every form's largest number of rows, and well above. */
static const uint32_t counts[] = {1, 2, 3, FF_SQL_FEW_ROWS, FF_SQL_FEW_ROWS + 1, 40};

static struct ff_entry *want_nth(struct batch *batch, uint32_t nth, ff_want want)
{
    struct ff_execution key = {.partition_key = (int32_t)(nth % 256)};

    memcpy(key.execution_id.b, &nth, sizeof nth);
    key.execution_id.b[15] = 1;
    return ff_rowset_want(&batch->rows, FF_TABLE_EXECUTION, &key, want);
}

/* The last one has something in the first and the last column that a plain row has nothing in. */
static bool is_odd(uint32_t nth, uint32_t count, bool plain)
{
    return !plain && nth == count - 1;
}

static bool born(uint32_t count, bool plain)
{
    if (batch_call(&a, session, FF_CALL_LOAD) != FF_CALLED_OK)
        return false;
    ff_rowset_op_begin(&a.rows, 1);
    for (uint32_t i = 0; i < count; i++) {
        struct ff_execution *const row = new_execution(&a, i);
        struct ff_event *const event = ff_rowset_event(&a.rows);

        event->kind = event->type = 1;
        event->at_ms = i;
        if (!is_odd(i, count, plain))
            continue;
        row->node = FF_STR("n");
        row->lease_epoch = 7;
        row->cancelled_by = FF_STR("somebody");
        event->num_b = 5;
    }
    return batch_call(&a, session, FF_CALL_SAVE) == FF_CALLED_OK &&
           a.call.last_event_id == (int64_t)count;
}

static bool is_as_born(const struct ff_execution *row, bool odd)
{
    return row->created_at_ms == 1000 + (int64_t)row->partition_key && row->version == 1 &&
           ff_str_eq(row->lane, FF_STR("main")) && row->lease_epoch == (odd ? 7 : 0) &&
           row->attempt_count == 0 && row->due_at_ms == FF_NULL64 && !row->input.ptr &&
           (row->node.ptr != NULL) == odd && (row->cancelled_by.ptr != NULL) == odd;
}

/* All rows change; one more column of every other one, which goes by another statement. */
static bool changed(uint32_t count, bool plain)
{
    struct ff_entry *entries[40];
    bool good = true;

    for (uint32_t i = 0; i < count; i++)
        entries[i] = want_nth(&b, i, FF_WANT_LOCK);
    if (batch_call(&b, session, FF_CALL_LOAD) != FF_CALLED_OK)
        return false;
    ff_rowset_op_begin(&b.rows, 1);
    for (uint32_t i = 0; i < count && good; i++) {
        struct ff_execution *const row = entries[i]->row;

        good = entries[i]->found == FF_FOUND_ROW && is_as_born(row, is_odd(i, count, plain));
        ff_rowset_edit(&b.rows, row);
        row->version = 100 + i;
        row->last_hash = FF_STR("h");
        row->lease_ttl_ms = 5000 + i;
        row->priority += i % 2 ? (int32_t)i : 0;
    }
    return good && batch_call(&b, session, FF_CALL_SAVE) == FF_CALLED_OK;
}

static bool all_there(uint32_t count)
{
    return disturb("SELECT count(*) FROM %s.ff_execution WHERE version = 100 + partition_key "
                   "AND lease_ttl_ms = 5000 + partition_key AND last_hash = 'h' "
                   "AND priority = partition_key * (partition_key %% 2)",
                   test_schema()) == (long)count &&
           disturb("SELECT count(*) FROM %s.ff_event WHERE event_id = at_ms + 1", test_schema()) ==
               (long)count;
}

static void round_of(uint32_t count, bool plain)
{
    CHECK(born(count, plain));
    CHECK(changed(count, plain));
    CHECK(all_there(count));
}

#define FORM(name, nth, plain)                                                                     \
    WITH_STORE(name)                                                                               \
    {                                                                                              \
        round_of(counts[nth], plain);                                                              \
    }
FORM(one_row, 0, true)
FORM(two_rows, 1, true)
FORM(three_rows, 2, false)
FORM(most_few_rows, 3, false)
FORM(fewest_many_rows, 4, false)
FORM(fewest_plain_rows, 4, true)
FORM(many_rows, 5, false)
FORM(many_plain_rows, 5, true)

/* A row of a few that is not what it was decided on undoes all of them. */
WITH_STORE(one_of_three_has_changed)
{
    struct ff_execution assumed[3];
    struct ff_entry *entries[3];

    CHECK(born(3, true));
    ff_rowset_op_begin(&b.rows, 1);
    for (uint32_t i = 0; i < 3; i++)
        assumed[i] = *new_execution(&b, i); /* for its columns only */
    assumed[1].version = 9;
    batch_done(&b);
    batch_init(&b);
    for (uint32_t i = 0; i < 3; i++) {
        entries[i] = want_nth(&b, i, FF_WANT_LOCK);
        assumed[i].head = (struct ff_row){.table = FF_TABLE_EXECUTION};
        ff_rowset_assume(&b.rows, entries[i], &assumed[i]);
    }
    ff_rowset_op_begin(&b.rows, 1);
    for (uint32_t i = 0; i < 3; i++) {
        ff_rowset_edit(&b.rows, entries[i]->row);
        ((struct ff_execution *)entries[i]->row)->version = 100 + i;
    }
    b.call.begins = true;
    CHECK(batch_call(&b, session, FF_CALL_SAVE) != FF_CALLED_OK);
    CHECK(disturb("SELECT count(*) FROM %s.ff_execution WHERE version = 1", test_schema()) == 3);
}

const struct test form_tests[] = {
    {"form__one_row", one_row},
    {"form__two_rows", two_rows},
    {"form__three_rows", three_rows},
    {"form__as_many_as_go_by_value", most_few_rows},
    {"form__as_few_as_go_by_array", fewest_many_rows},
    {"form__as_few_as_are_plain", fewest_plain_rows},
    {"form__many_rows", many_rows},
    {"form__many_plain_rows", many_plain_rows},
    {"form__one_of_a_few_that_has_changed_undoes_all", one_of_three_has_changed},
    {NULL, NULL},
};
