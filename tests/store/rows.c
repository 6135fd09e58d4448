/* SPDX-License-Identifier: Apache-2.0
 *
 * rows.c -- rows go in and come back as they were; locks, scans and purges do what they say. */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/states.h"
#include "store/sql.h"

#include "base/banned.h"

static ff_called insert_executions(uint32_t count)
{
    struct batch batch;
    ff_called outcome;

    batch_init(&batch);
    outcome = batch_call(&batch, session, FF_CALL_LOAD);
    ff_rowset_op_begin(&batch.rows, 1);
    for (uint32_t i = 0; i < count; i++)
        (void)new_execution(&batch, i);
    if (outcome == FF_CALLED_OK)
        outcome = batch_call(&batch, session, FF_CALL_SAVE);
    if (outcome != FF_CALLED_OK)
        printf("# %s %s\n", batch.call.sqlstate, batch.call.error.message);
    batch_done(&batch);
    return outcome;
}

static struct ff_entry *want_execution(struct batch *batch, uint32_t nth, ff_want want)
{
    struct ff_execution key = {.partition_key = (int32_t)(nth % 256)};

    memcpy(key.execution_id.b, &nth, sizeof nth);
    key.execution_id.b[15] = 1;
    return ff_rowset_want(&batch->rows, FF_TABLE_EXECUTION, &key, want);
}

WITH_STORE(values_come_back)
{
    struct ff_execution *out;
    struct ff_execution *in;
    struct ff_entry *entry;

    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    CHECK(a.call.now_ms > 1600000000000);
    ff_rowset_op_begin(&a.rows, 1);
    out = new_execution(&a, 7);
    out->input = FF_STR("");
    out->node = FF_STR("n\xc3\xb6");
    out->policy = FF_STR("a\0b");
    out->due_at_ms = -5;
    out->priority = -9000;
    out->created_at_ms = INT64_MAX;
    CHECK(batch_call(&a, session, FF_CALL_SAVE) == FF_CALLED_OK);
    entry = want_execution(&b, 7, FF_WANT_READ);
    CHECK(batch_call(&b, session, FF_CALL_PEEK) == FF_CALLED_OK);
    CHECK(entry->found == FF_FOUND_ROW);
    in = entry->row;
    CHECK(in->input.ptr && in->input.len == 0);
    CHECK(!in->instance_tag.ptr);
    CHECK(ff_str_eq(in->node, out->node) && ff_str_eq(in->policy, out->policy));
    CHECK(ff_str_eq(in->submit_hash, out->submit_hash));
    CHECK(in->due_at_ms == -5 && in->priority == -9000 && in->created_at_ms == INT64_MAX);
    CHECK(in->finished_at_ms == FF_NULL64 && ff_uuid_is_zero(in->flow_id));
    CHECK(in->state == FF_STATE_READY_FIRST && in->partition_key == 7);
}

WITH_STORE(updates_and_deletes)
{
    struct ff_entry *entry;

    CHECK(put_meta(session, "x", "one") == FF_CALLED_OK);
    CHECK(put_meta(session, "y", "one") == FF_CALLED_OK);
    CHECK(put_meta(session, "x", "two") == FF_CALLED_OK);
    CHECK(!strcmp(stored_meta("x"), "two") && !strcmp(stored_meta("y"), "one"));
    entry = want_meta(&a, "x", FF_WANT_LOCK);
    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    CHECK(entry->found == FF_FOUND_ROW);
    ff_rowset_op_begin(&a.rows, 1);
    ff_rowset_delete(&a.rows, entry->row);
    CHECK(batch_call(&a, session, FF_CALL_SAVE) == FF_CALLED_OK);
    CHECK(!strcmp(stored_meta("x"), "") && !strcmp(stored_meta("y"), "one"));
}

WITH_STORE(rollback_leaves_nothing)
{
    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    CHECK(batch_call(&a, session, FF_CALL_ROLLBACK) == FF_CALLED_OK);
    CHECK(batch_call(&a, session, FF_CALL_ROLLBACK) == FF_CALLED_OK); /* nothing to end: fine */
    CHECK(disturb("SELECT count(*) FROM %s.ff_batch", test_schema()) == 0);
    CHECK(put_meta(session, "x", "one") == FF_CALLED_OK);
}

WITH_STORE(purge_takes_what_hangs_off)
{
    struct ff_execution *execution;
    struct ff_tag tag = {.name = FF_STR("colour")};
    struct ff_entry *entry;

    CHECK(insert_executions(2) == FF_CALLED_OK);
    entry = want_execution(&a, 1, FF_WANT_LOCK);
    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    ff_rowset_op_begin(&a.rows, 1);
    execution = entry->row;
    tag.partition_key = execution->partition_key;
    tag.execution_id = execution->execution_id;
    ((struct ff_tag *)ff_rowset_insert(&a.rows, FF_TABLE_TAG, &tag))->value = FF_STR("red");
    CHECK(batch_call(&a, session, FF_CALL_SAVE) == FF_CALLED_OK);
    CHECK(disturb("SELECT count(*) FROM %s.ff_tag", test_schema()) == 1);
    entry = want_execution(&b, 1, FF_WANT_LOCK);
    CHECK(batch_call(&b, session, FF_CALL_LOAD) == FF_CALLED_OK);
    ff_rowset_op_begin(&b.rows, 1);
    ff_rowset_purge(&b.rows, entry->row);
    CHECK(batch_call(&b, session, FF_CALL_SAVE) == FF_CALLED_OK);
    CHECK(disturb("SELECT count(*) FROM %s.ff_tag", test_schema()) == 0);
    CHECK(disturb("SELECT count(*) FROM %s.ff_execution", test_schema()) == 1);
}

static struct ff_scan *want_claims(struct batch *batch, int64_t limit)
{
    static const int64_t capsets[] = {0};
    const struct ff_value params[] = {
        {.type = FF_VALUE_TEXT, .as.str = FF_STR("main")},
        {.type = FF_VALUE_NULL},
        {.type = FF_VALUE_NULL},
        {.type = FF_VALUE_I64S, .count = 1, .as.i64s = capsets},
        {.type = FF_VALUE_I64, .as.i64 = -9001},
        {.type = FF_VALUE_I64},
        {.type = FF_VALUE_NULL},
        {.type = FF_VALUE_I64},
    };

    return ff_rowset_scan(&batch->rows, FF_SQL_EXECUTION_CLAIM_SCAN, params, FF_ARRAY_LEN(params),
                          limit);
}

WITH_STORE(locking_scans_share_out)
{
    struct ff_session *const second = session_open(store);
    struct ff_scan *const first = want_claims(&a, 6);
    struct ff_scan *const rest = want_claims(&b, 6);
    bool good;

    CHECK(insert_executions(10) == FF_CALLED_OK);
    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    good = second && batch_call(&b, second, FF_CALL_LOAD) == FF_CALLED_OK;
    if (second)
        second->ops->free(second);
    CHECK(good);
    CHECK(first->loaded && first->row_count == 6 && rest->row_count == 4);
    for (size_t i = 0; i < 6; i++)
        CHECK(((struct ff_execution *)first->rows[i])->created_at_ms == 1000 + (int64_t)i);
}

WITH_STORE(busy_is_not_absent)
{
    struct ff_entry *free_row;
    struct ff_entry *busy;
    struct ff_entry *read;
    struct ff_entry *absent;

    CHECK(put_meta(session, "busy", "1") == FF_CALLED_OK);
    CHECK(put_meta(session, "free", "1") == FF_CALLED_OK);
    (void)disturb("BEGIN");
    (void)disturb("SELECT 1 FROM %s.ff_meta WHERE name = 'busy' FOR UPDATE", test_schema());
    absent = want_meta(&a, "absent", FF_WANT_LOCK);
    busy = want_meta(&a, "busy", FF_WANT_LOCK);
    free_row = want_meta(&a, "free", FF_WANT_LOCK);
    read = want_meta(&a, "nothing", FF_WANT_READ);
    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    CHECK(absent->found == FF_FOUND_ABSENT && read->found == FF_FOUND_ABSENT);
    CHECK(busy->found == FF_FOUND_BUSY && free_row->found == FF_FOUND_ROW);
    CHECK(batch_call(&a, session, FF_CALL_ROLLBACK) == FF_CALLED_OK);
    /* Without a lock it can be read; with patience it runs into the timeout. */
    busy = want_meta(&b, "busy", FF_WANT_LOCK);
    CHECK(batch_call(&b, session, FF_CALL_PEEK) == FF_CALLED_OK);
    CHECK(busy->found == FF_FOUND_ROW);
    b.call.lock_wait_ms = 50;
    CHECK(batch_call(&b, session, FF_CALL_LOAD) == FF_CALLED_HELD);
    (void)disturb("COMMIT");
    CHECK(batch_call(&b, session, FF_CALL_LOAD) == FF_CALLED_OK);
    CHECK(busy->found == FF_FOUND_ROW);
}

WITH_STORE(load_asks_again_for_what_was_peeked)
{
    struct ff_entry *changed;
    struct ff_entry *gone;

    CHECK(put_meta(session, "changed", "1") == FF_CALLED_OK);
    CHECK(put_meta(session, "gone", "1") == FF_CALLED_OK);
    changed = want_meta(&a, "changed", FF_WANT_LOCK);
    gone = want_meta(&a, "gone", FF_WANT_LOCK);
    CHECK(batch_call(&a, session, FF_CALL_PEEK) == FF_CALLED_OK);
    CHECK(gone->found == FF_FOUND_ROW);
    (void)disturb("UPDATE %s.ff_meta SET value = '2' WHERE name = 'changed'", test_schema());
    (void)disturb("DELETE FROM %s.ff_meta WHERE name = 'gone'", test_schema());
    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    CHECK(ff_str_eq(((struct ff_meta *)changed->row)->value, FF_STR("2")));
    CHECK(gone->found == FF_FOUND_ABSENT && !((struct ff_meta *)gone->row)->value.ptr);
}

WITH_STORE(large_values_pass)
{
    const size_t bytes = 1 << 20;
    char *const data = malloc(bytes);
    struct ff_payload key = {.generation = 0};
    struct ff_entry *entry = NULL;

    CHECK(data != NULL);
    memset(data, 'x', bytes);
    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    ff_rowset_op_begin(&a.rows, 1);
    for (int32_t i = 0; i < 12; i++) {
        struct ff_payload *row;

        key.kind = i;
        row = ff_rowset_insert(&a.rows, FF_TABLE_PAYLOAD, &key);
        row->data = (struct ff_str){data, bytes - (size_t)i};
        entry = ff_rowset_want(&b.rows, FF_TABLE_PAYLOAD, &key, FF_WANT_READ);
    }
    CHECK(batch_call(&a, session, FF_CALL_SAVE) == FF_CALLED_OK);
    CHECK(batch_call(&b, session, FF_CALL_LOAD) == FF_CALLED_OK);
    free(data);
    CHECK(entry && entry->found == FF_FOUND_ROW);
    CHECK(((struct ff_payload *)entry->row)->data.len == bytes - 11);
}

WITH_STORE(reads_give_cells_and_rows)
{
    const struct ff_in_pulse asked = {.contact = FF_STR("contact")};
    struct ff_value params[FF_SQL_PULSE_PARAMS];
    struct ff_read pulse = {
        .block = FF_SQL_PULSE, .params = params, .param_count = FF_SQL_PULSE_PARAMS};
    struct ff_read metas = {.block = FF_SQL_WORKERS_ALL};

    ff_in_pulse_values(&asked, params);
    pulse.arena = metas.arena = &a.arena;
    CHECK(insert_executions(3) == FF_CALLED_OK);
    a.call.read = &pulse;
    CHECK(batch_call(&a, session, FF_CALL_READ) == FF_CALLED_OK);
    CHECK(pulse.row_count == 1 && pulse.col_count == ff_sql_blocks[FF_SQL_PULSE].out_count);
    CHECK(a.call.now_ms > 1600000000000 && pulse.cells[0].as.i64 == a.call.now_ms);
    CHECK(pulse.cells[1].as.i64 == FF_NULL64 && !pulse.cells[FF_OUT_PULSE_CONTACT].as.str.ptr);
    a.call.read = &metas;
    CHECK(batch_call(&a, session, FF_CALL_READ) == FF_CALLED_OK);
    CHECK(metas.row_count == 0);
}

/* What the server has logged since `from`: its memory is the caller's. */
static char *logged_since(long from)
{
    char path[256];
    FILE *file;
    char *text = NULL;
    size_t text_bytes = 0;

    (void)snprintf(path, sizeof path, "%s/log", getenv("FF_TEST_PG_DIR"));
    file = fopen(path, "r");
    if (file && fseek(file, from, SEEK_SET) == 0)
        (void)getdelim(&text, &text_bytes, '\0', file);
    if (file)
        (void)fclose(file);
    return text;
}

static long log_bytes(void)
{
    char *const text = logged_since(0);
    const long bytes = text ? (long)strlen(text) : 0;

    free(text);
    return bytes;
}

/* The plan of the one audit that was run; a step with this cost is one that was forbidden. */
static bool has_forbidden_step(long log_from, const char *audit, bool *ret_found)
{
    char *const text = logged_since(log_from);
    const char *const plan = text ? strstr(text, audit) : NULL;
    const bool forbidden = plan && strstr(plan, "cost=10000000000");

    *ret_found = plan != NULL;
    free(text);
    return forbidden;
}

/* A connection that has run a batch may join by index only. An audit of whole tables must not: it
 * would compare every row with every other. */
static void audits_may_join(void)
{
    const struct ff_value limit = {.type = FF_VALUE_I64, .as.i64 = 10};
    struct ff_read audit = {.block = FF_SQL_FSCK_TERMINAL_WITHOUT_COMPLETION,
                            .params = &limit,
                            .param_count = 1,
                            .arena = &a.arena};
    const long from = log_bytes();
    bool found = false;
    bool forbidden = true;
    bool good;

    (void)disturb("ALTER ROLE postgres SET session_preload_libraries = 'auto_explain'");
    (void)disturb("ALTER ROLE postgres SET auto_explain.log_min_duration = 0");
    good = given_store() && insert_executions(3) == FF_CALLED_OK;
    a.call.read = &audit;
    good = good && batch_call(&a, session, FF_CALL_READ) == FF_CALLED_OK && audit.row_count == 0;
    leave();
    (void)disturb("ALTER ROLE postgres RESET session_preload_libraries");
    (void)disturb("ALTER ROLE postgres RESET auto_explain.log_min_duration");
    forbidden = has_forbidden_step(from, "ended without a completion event", &found);
    CHECK(good && found);
    CHECK(!forbidden);
}

WITH_STORE(events_are_numbered_in_order)
{
    struct ff_event *event;

    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    ff_rowset_op_begin(&a.rows, 1);
    for (int32_t i = 0; i < 300; i++) {
        event = ff_rowset_event(&a.rows);
        event->kind = 1;
        event->type = 1;
        event->at_ms = 5;
        event->num_a = i;
    }
    CHECK(batch_call(&a, session, FF_CALL_SAVE) == FF_CALLED_OK);
    CHECK(a.call.last_event_id == 300);
    CHECK(disturb("SELECT count(*) FROM %s.ff_event WHERE event_id = num_a + 1 AND note IS NULL",
                  test_schema()) == 300);
}

/* Whoever reads the log waits for those who hold its lock: an id taken without it would be missed.
 */
WITH_STORE(event_ids_are_taken_under_the_lock)
{
    struct ff_event *event;

    CHECK(batch_call(&a, session, FF_CALL_LOAD) == FF_CALLED_OK);
    ff_rowset_op_begin(&a.rows, 1);
    event = ff_rowset_event(&a.rows);
    event->kind = event->type = 1;
    event->at_ms = 5;
    (void)disturb("BEGIN");
    CHECK(disturb("SELECT count(pg_advisory_xact_lock((x'4646'::int8 << 32) + oid::int8)) FROM "
                  "pg_namespace WHERE nspname = '%s'",
                  test_schema()) == 1);
    CHECK(batch_call(&a, session, FF_CALL_SAVE) == FF_CALLED_HELD);
    (void)disturb("ROLLBACK");
    CHECK(disturb("SELECT is_called::int FROM %s.ff_event_id_seq", test_schema()) == 0);
}

const struct test rows_tests[] = {
    {"store__values_come_back_as_they_were", values_come_back},
    {"store__updates_and_deletes_hit_their_rows", updates_and_deletes},
    {"store__rollback_leaves_nothing", rollback_leaves_nothing},
    {"store__purge_takes_what_hangs_off", purge_takes_what_hangs_off},
    {"store__locking_scans_share_out", locking_scans_share_out},
    {"store__busy_is_not_absent", busy_is_not_absent},
    {"store__load_asks_again_for_what_was_peeked", load_asks_again_for_what_was_peeked},
    {"store__values_larger_than_the_socket_pass", large_values_pass},
    {"store__reads_give_cells_and_rows", reads_give_cells_and_rows},
    {"store__audits_may_join", audits_may_join},
    {"store__events_are_numbered_in_order", events_are_numbered_in_order},
    {"store__event_ids_are_taken_under_the_lock", event_ids_are_taken_under_the_lock},
    {NULL, NULL},
};
