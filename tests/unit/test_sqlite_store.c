/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sqlite_store.c -- rows in and out of SQLite, and what its errors mean.
 *
 * Of src/store/sqlite and src/store/open.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/macros.h"
#include "model/codes.h"
#include "store/sql.h"
#include "support/sqlite_fixture.h"

/* --- rows --- */

static void test_sqlite__a_row_comes_back_as_it_was_saved(void **state)
{
    struct fx *const f = *state;
    struct ff_execution *row;
    struct ff_entry *entry;

    fx_begin_changes(f);
    row = fx_insert_execution(f, 1, -3);
    row->flow_id = fx_uuid_of(9);
    row->policy = (struct ff_str){"\0\1\2", 3};
    row->input = FF_STR(""); /* empty is not absent */
    row->due_at_ms = INT64_MAX;
    row->node = FF_STR("n\xc3\xb6");
    fx_run_ok(f, FF_CALL_SAVE);
    fx_new_batch(f);
    entry = fx_want_execution(f, 1);
    fx_run_ok(f, FF_CALL_LOAD);
    assert_int_equal(FF_FOUND_ROW, entry->found);
    row = entry->row;
    assert_int_equal(-3, row->priority);
    assert_true(ff_uuid_eq(fx_uuid_of(9), row->flow_id));
    assert_int_equal(3, row->policy.len);
    assert_memory_equal("\0\1\2", row->policy.ptr, 3);
    assert_non_null(row->input.ptr);
    assert_int_equal(0, row->input.len);
    assert_true(row->due_at_ms == INT64_MAX);
    ASSERT_STR("n\xc3\xb6", row->node);
    assert_null(row->instance_tag.ptr);
    assert_true(row->deadline_ms == FF_NULL64);
    assert_true(ff_uuid_is_zero(row->lease_id));
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__an_update_sends_hot_columns_only(void **state)
{
    struct fx *const f = *state;
    struct ff_entry *entry;
    struct ff_execution *row;

    fx_given_executions(f, 1);
    entry = fx_want_execution(f, 1);
    fx_begin_changes(f);
    row = entry->row;
    ff_rowset_edit(&f->rows, row);
    row->priority = 77;
    row->kind = FF_STR("changed");
    fx_run_ok(f, FF_CALL_SAVE);
    fx_new_batch(f);
    entry = fx_want_execution(f, 1);
    fx_run_ok(f, FF_CALL_LOAD);
    row = entry->row;
    assert_int_equal(77, row->priority);
    ASSERT_STR("odd", row->kind);
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__a_rollback_leaves_nothing(void **state)
{
    struct fx *const f = *state;
    struct ff_entry *entry;

    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0);
    fx_run_ok(f, FF_CALL_ROLLBACK);
    fx_new_batch(f);
    entry = fx_want_execution(f, 1);
    fx_run_ok(f, FF_CALL_LOAD);
    assert_int_equal(FF_FOUND_ABSENT, entry->found);
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__delete_and_purge(void **state)
{
    struct fx *const f = *state;
    const struct ff_tag tag = {
        .partition_key = 7, .execution_id = fx_uuid_of(2), .name = FF_STR("colour")};
    struct ff_entry *first, *second, *tagged;

    fx_given_executions(f, 3);
    fx_begin_changes(f);
    ((struct ff_tag *)ff_rowset_insert(&f->rows, FF_TABLE_TAG, &tag))->value = FF_STR("red");
    fx_run_ok(f, FF_CALL_SAVE);
    fx_new_batch(f);
    first = fx_want_execution(f, 1);
    second = fx_want_execution(f, 2);
    fx_begin_changes(f);
    ff_rowset_delete(&f->rows, first->row);
    ff_rowset_purge(&f->rows, second->row);
    fx_run_ok(f, FF_CALL_SAVE);
    fx_new_batch(f);
    first = fx_want_execution(f, 1);
    second = fx_want_execution(f, 2);
    tagged = ff_rowset_want(&f->rows, FF_TABLE_TAG, &tag, FF_WANT_READ);
    fx_run_ok(f, FF_CALL_PEEK);
    assert_int_equal(FF_FOUND_ABSENT, first->found);
    assert_int_equal(FF_FOUND_ABSENT, second->found);
    assert_int_equal(FF_FOUND_ABSENT, tagged->found);
}

static void test_sqlite__events_are_numbered_in_order(void **state)
{
    struct fx *const f = *state;
    int64_t last = 0;

    for (int round = 0; round < 2; round++) {
        struct ff_event *events[3];
        struct ff_call save;

        fx_new_batch(f);
        fx_begin_changes(f);
        for (size_t i = 0; i < 3; i++) {
            events[i] = ff_rowset_event(&f->rows);
            events[i]->kind = 4;
            events[i]->type = 4;
        }
        save = fx_run(f, FF_CALL_SAVE);
        assert_int_equal(FF_CALLED_OK, save.outcome);
        for (size_t i = 0; i < 3; i++)
            assert_true(events[i]->event_id == last + 1 + (int64_t)i);
        last = save.last_event_id;
        assert_true(last == events[2]->event_id);
    }
}

static struct ff_scan *claim_scan(struct fx *f, struct ff_value kinds, int64_t limit)
{
    static const int64_t any_worker[] = {0};
    const struct ff_value params[] = {
        {.type = FF_VALUE_TEXT, .as.str = FF_STR("lane-a")},
        {.type = FF_VALUE_NULL},
        kinds,
        {.type = FF_VALUE_I64S, .count = 1, .as.i64s = any_worker},
        {.type = FF_VALUE_I64, .as.i64 = -9001},
        {.type = FF_VALUE_I64},
        {.type = FF_VALUE_NULL},
        {.type = FF_VALUE_I64},
    };

    return ff_rowset_scan(&f->rows, FF_SQL_EXECUTION_CLAIM_SCAN, params, FF_ARRAY_LEN(params),
                          limit);
}

static void test_sqlite__a_scan_keeps_order_and_limit(void **state)
{
    const struct ff_str odd[] = {FF_STR("odd"), FF_STR("x\"y")};
    const struct ff_value kinds = {.type = FF_VALUE_TEXTS, .count = 2, .as.strs = odd};
    struct fx *const f = *state;
    struct ff_scan *scan, *odd_scan;
    struct ff_entry *known;

    fx_given_executions(f, 9);
    known = fx_want_execution(f, 8);
    scan = claim_scan(f, (struct ff_value){.type = FF_VALUE_NULL}, 3);
    odd_scan = claim_scan(f, kinds, 100);
    fx_run_ok(f, FF_CALL_PEEK); /* locking scans wait for the load */
    assert_false(scan->loaded);
    fx_run_ok(f, FF_CALL_LOAD);
    assert_true(scan->loaded);
    assert_int_equal(3, scan->row_count);
    assert_int_equal(9, ((struct ff_execution *)scan->rows[0])->priority);
    assert_ptr_equal(known->row, scan->rows[1]);
    assert_int_equal(5, odd_scan->row_count);
    assert_ptr_equal(scan->rows[0], odd_scan->rows[0]);
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__what_was_peeked_is_read_again_under_the_lock(void **state)
{
    struct fx *const f = *state;
    struct fx other = {.store = f->store};
    struct ff_entry *entry, *gone;

    fx_given_executions(f, 2);
    ff_arena_init(&other.arena, 64 << 10, 1 << 20);
    ff_rowset_init(&other.rows, &other.arena);
    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &other.session, &f->error));
    entry = fx_want_execution(f, 1);
    gone = fx_want_execution(f, 2);
    fx_run_ok(f, FF_CALL_PEEK);
    assert_int_equal(FF_FOUND_ROW, gone->found);

    struct ff_entry *const changed = fx_want_execution(&other, 1);
    struct ff_entry *const removed = fx_want_execution(&other, 2);
    fx_begin_changes(&other);
    ff_rowset_edit(&other.rows, changed->row);
    ((struct ff_execution *)changed->row)->priority = 55;
    ff_rowset_delete(&other.rows, removed->row);
    fx_run_ok(&other, FF_CALL_SAVE);

    fx_run_ok(f, FF_CALL_LOAD);
    assert_int_equal(55, ((struct ff_execution *)entry->row)->priority);
    assert_int_equal(FF_FOUND_ABSENT, gone->found);
    assert_null(((struct ff_execution *)gone->row)->lane.ptr);
    assert_true(((struct ff_execution *)gone->row)->due_at_ms == FF_NULL64);
    fx_run_ok(f, FF_CALL_ROLLBACK);
    other.session->ops->free(other.session);
    ff_arena_done(&other.arena);
}

static void test_sqlite__reads_give_rows_or_cells(void **state)
{
    struct fx *const f = *state;
    const struct ff_value id[] = {{.type = FF_VALUE_I64, .as.i64 = 7},
                                  {.type = FF_VALUE_UUID, .as.uuid = fx_uuid_of(2)}};
    const struct ff_in_pulse asked = {.contact = FF_STR("contact")};
    struct ff_value params[FF_SQL_PULSE_PARAMS];
    struct ff_read get = {
        .block = FF_SQL_EXECUTION_GET, .params = id, .param_count = 2, .arena = &f->arena};
    struct ff_read lanes = {.block = FF_SQL_LANE_COUNTS, .arena = &f->arena};
    struct ff_read pulse = {.block = FF_SQL_PULSE,
                            .params = params,
                            .param_count = FF_SQL_PULSE_PARAMS,
                            .arena = &f->arena};

    ff_in_pulse_values(&asked, params);
    fx_given_executions(f, 3);
    assert_int_equal(FF_OK, ff_session_read(f->session, &get, 1000, &f->error));
    assert_int_equal(1, get.row_count);
    assert_int_equal(2, ((struct ff_execution *)get.rows[0])->priority);
    assert_int_equal(FF_OK, ff_session_read(f->session, &lanes, 1000, &f->error));
    assert_int_equal(1, lanes.row_count);
    assert_int_equal(4, lanes.col_count);
    ASSERT_STR("lane-a", lanes.cells[0].as.str);
    assert_int_equal(3, lanes.cells[2].as.i64);
    assert_int_equal(FF_OK, ff_session_read(f->session, &pulse, 1000, &f->error));
    assert_true(pulse.cells[0].as.i64 > 1600000000000);       /* ff_now_ms() */
    assert_true(pulse.cells[1].as.i64 == FF_NULL64);          /* no timer */
    assert_null(pulse.cells[pulse.col_count - 1].as.str.ptr); /* no contact */
    get.param_count = 1;
    assert_int_equal(FF_INTERNAL, ff_session_read(f->session, &get, 1000, &f->error));
}

static struct ff_read when_asked_for_upstreams(struct fx *f, const int64_t *partitions,
                                               const struct ff_uuid *ids, size_t count)
{
    const struct ff_in_upstreams in = {.partition_keys = partitions,
                                       .partition_keys_count = count,
                                       .downstream_ids = ids,
                                       .downstream_ids_count = count,
                                       .inline_bytes = 100,
                                       .room = 100,
                                       .limit = 100};
    struct ff_value params[FF_SQL_UPSTREAMS_PARAMS];
    struct ff_read read = {.block = FF_SQL_UPSTREAMS,
                           .params = params,
                           .param_count = FF_SQL_UPSTREAMS_PARAMS,
                           .arena = &f->arena};

    ff_in_upstreams_values(&in, params);
    assert_int_equal(FF_OK, ff_session_read(f->session, &read, 1000, &f->error));
    read.params = NULL;
    return read;
}

/* Bytes of zero are no end of them, a uuid counts in its own partition only, and none are none. */
static void test_sqlite__uuids_are_looked_for_one_by_one(void **state)
{
    const struct ff_edge key = {
        .partition_key = 7, .execution_id = fx_uuid_of(1), .downstream_id = fx_uuid_of(2)};
    const int64_t partitions[] = {7, 8, 7};
    const struct ff_uuid ids[] = {fx_uuid_of(3), fx_uuid_of(2), fx_uuid_of(2)};
    struct fx *const f = *state;
    struct ff_edge *edge;
    struct ff_read read;

    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0)->node = FF_STR("above");
    edge = ff_rowset_insert(&f->rows, FF_TABLE_EDGE, &key);
    edge->flow_id = fx_uuid_of(9);
    edge->pass = FF_PASS_UPSTREAM;
    edge->outcome = FF_EDGE_UNRESOLVED;
    edge->resolved_generation = FF_NULL32;
    fx_run_ok(f, FF_CALL_SAVE);
    fx_new_batch(f);
    read = when_asked_for_upstreams(f, partitions, ids, 3);
    assert_int_equal(1, read.row_count);
    assert_int_equal(3, read.cells[FF_OUT_UPSTREAMS_NTH].as.i64);
    ASSERT_STR("above", read.cells[FF_OUT_UPSTREAMS_NODE].as.str);
    assert_true(read.cells[FF_OUT_UPSTREAMS_TAKES].as.i64 == FF_NULL64);
    assert_int_equal(0, when_asked_for_upstreams(f, partitions, ids, 0).row_count);
    assert_int_equal(0, when_asked_for_upstreams(f, NULL, NULL, 0).row_count);
}

static void test_sqlite__every_text_can_be_prepared(void **state)
{
    struct fx *const f = *state;

    for (int block = 0; block < FF_SQL_COUNT; block++) {
        struct ff_read read = {
            .block = block, .param_count = ff_sql_blocks[block].param_count, .arena = &f->arena};
        struct ff_value *const nulls = ff_arena_array(&f->arena, 32, sizeof *nulls);
        struct ff_call call = {.kind = FF_CALL_READ, .read = &read};

        read.params = nulls;
        if (!ff_sql_blocks[block].text[FF_DIALECT_SQLITE] ||
            strncmp(ff_sql_blocks[block].text[FF_DIALECT_SQLITE], "SELECT", 6) != 0)
            continue;
        ff_session_run(f->session, &call, 1000);
        /* LIMIT NULL and the like are errors of this test, not of the text. */
        if (call.outcome != FF_CALLED_OK && !strstr(call.error.message, "datatype mismatch"))
            fail_msg("%s: %s", ff_sql_blocks[block].name, call.error.message);
    }
}

static void nothing(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int64(context, 0);
}

/* The last line of its plan that goes through a whole partition or all executions, or empty. */
static void plan_of(sqlite3 *db, const char *text, char *out, size_t out_bytes)
{
    char *const sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", text);
    sqlite3_stmt *plan = NULL;

    out[0] = '\0';
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &plan, NULL));
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *const line = (const char *)sqlite3_column_text(plan, 3);

        if (strstr(line, "(partition_key=?)") || strcmp(line, "SCAN e") == 0 ||
            strcmp(line, "SCAN ff_execution") == 0)
            (void)snprintf(out, out_bytes, "%s", line);
    }
    (void)sqlite3_finalize(plan);
    sqlite3_free(sql);
}

/* Claiming a member of a flow of 10,000 read all of its 10,000 edges. */
static void test_sqlite__no_read_goes_through_a_whole_partition(void **state)
{
    static const char *const ours[] = {"ff_now_ms", "ff_wal_bytes"};
    struct fx *const f = *state;
    sqlite3 *db = NULL;
    char line[256];

    assert_int_equal(SQLITE_OK, sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READWRITE, NULL));
    for (size_t i = 0; i < FF_ARRAY_LEN(ours); i++)
        assert_int_equal(SQLITE_OK, sqlite3_create_function(db, ours[i], 0, SQLITE_UTF8, NULL,
                                                            nothing, NULL, NULL));
    for (int block = 0; block < FF_SQL_COUNT; block++) {
        const char *const text = ff_sql_blocks[block].text[FF_DIALECT_SQLITE];

        if (!text || !strncmp(ff_sql_blocks[block].name, "fsck", 4) || /* audits see everything */
            block == FF_SQL_POLICIES_KEPT || block == FF_SQL_LOG_STEPS)
            continue;
        plan_of(db, text, line, sizeof line);
        if (line[0])
            fail_msg("%s: %s", ff_sql_blocks[block].name, line);
    }
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* --- errors --- */

static void test_sqlite__a_duplicate_is_a_rerun(void **state)
{
    struct fx *const f = *state;
    struct ff_call save;

    fx_given_executions(f, 1);
    fx_begin_changes(f);
    fx_insert_execution(f, 2, 0);
    fx_insert_execution(f, 1, 0);
    save = fx_run(f, FF_CALL_SAVE);
    assert_int_equal(FF_CALLED_RERUN, save.outcome);
    assert_string_equal("1555", save.sqlstate);
    fx_new_batch(f); /* the session is usable, nothing of the batch is there */
    struct ff_entry *const entry = fx_want_execution(f, 2);
    fx_run_ok(f, FF_CALL_LOAD);
    assert_int_equal(FF_FOUND_ABSENT, entry->found);
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__other_constraints_are_the_ops_fault(void **state)
{
    struct fx *const f = *state;

    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0)->state = 4711;
    assert_int_equal(FF_CALLED_OP, fx_run(f, FF_CALL_SAVE).outcome);
    fx_new_batch(f);
    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0)->lane = ff_str_null();
    assert_int_equal(FF_CALLED_OP, fx_run(f, FF_CALL_SAVE).outcome);
}

static void test_sqlite__a_row_that_is_not_there_cannot_be_updated(void **state)
{
    struct fx *const f = *state;
    struct ff_entry *entry;

    fx_given_executions(f, 1);
    entry = fx_want_execution(f, 1);
    fx_begin_changes(f);
    ff_rowset_edit(&f->rows, entry->row);
    ((struct ff_execution *)entry->row)->execution_id = fx_uuid_of(99);
    assert_int_equal(FF_CALLED_OP, fx_run(f, FF_CALL_SAVE).outcome);
}

static void test_sqlite__a_save_without_a_load_is_refused(void **state)
{
    assert_int_equal(FF_CALLED_OP, fx_run(*state, FF_CALL_SAVE).outcome);
}

static void test_sqlite__a_batch_too_big_for_its_arena_is_the_ops_fault(void **state)
{
    struct fx *const f = *state;

    fx_begin_changes(f);
    f->arena.failed = true;
    assert_int_equal(FF_CALLED_OP, fx_run(f, FF_CALL_SAVE).outcome);
    fx_new_batch(f);
    fx_run_ok(f, FF_CALL_LOAD);
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__a_full_disk_stops_and_applies_nothing(void **state)
{
    struct fx *const f = *state;
    struct ff_entry *entry;

    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0);
    fx_disk_write_rc = SQLITE_FULL;
    assert_int_equal(FF_CALLED_STOP, fx_run(f, FF_CALL_SAVE).outcome);
    fx_disk_write_rc = SQLITE_OK;
    fx_new_batch(f);
    entry = fx_want_execution(f, 1);
    fx_run_ok(f, FF_CALL_LOAD); /* there is room again */
    assert_int_equal(FF_FOUND_ABSENT, entry->found);
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__a_failed_fsync_is_unknown_and_ends_the_file(void **state)
{
    struct fx *const f = *state;
    struct ff_session *later;
    struct ff_call call;

    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0);
    fx_disk_sync_rc = SQLITE_IOERR_FSYNC;
    assert_int_equal(FF_CALLED_UNKNOWN, fx_run(f, FF_CALL_SAVE).outcome);
    fx_disk_sync_rc = SQLITE_OK;
    fx_new_batch(f);
    call = fx_run(f, FF_CALL_LOAD);
    assert_int_equal(FF_CALLED_STOP, call.outcome);
    assert_string_equal("file is no longer used after an I/O error", call.error.message);
    assert_int_equal(FF_CALLED_OP, fx_run(f, FF_CALL_RESOLVE).outcome); /* nobody will ever know */
    assert_int_equal(FF_UNAVAILABLE, f->store->ops->session_new(f->store, &later, &f->error));
}

static void test_sqlite__a_failed_checkpoint_does_not_doubt_the_commit(void **state)
{
    static char megabytes[6 << 20];
    struct fx *const f = *state;
    const struct ff_payload key = {.partition_key = 7, .execution_id = fx_uuid_of(1)};

    fx_begin_changes(f);
    ((struct ff_payload *)ff_rowset_insert(&f->rows, FF_TABLE_PAYLOAD, &key))->data =
        (struct ff_str){megabytes, sizeof megabytes};
    fx_disk_main_sync_rc = SQLITE_IOERR_FSYNC;
    fx_run_ok(f, FF_CALL_SAVE);
    fx_new_batch(f);
    assert_int_equal(FF_CALLED_STOP, fx_run(f, FF_CALL_LOAD).outcome);
}

#define ON(setup, name) cmocka_unit_test_setup_teardown(name, setup, fx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(fx_setup_file, test_sqlite__a_row_comes_back_as_it_was_saved),
        ON(fx_setup_memory, test_sqlite__a_row_comes_back_as_it_was_saved),
        ON(fx_setup_memory, test_sqlite__an_update_sends_hot_columns_only),
        ON(fx_setup_file, test_sqlite__a_rollback_leaves_nothing),
        ON(fx_setup_memory, test_sqlite__a_rollback_leaves_nothing),
        ON(fx_setup_memory, test_sqlite__delete_and_purge),
        ON(fx_setup_memory, test_sqlite__events_are_numbered_in_order),
        ON(fx_setup_memory, test_sqlite__a_scan_keeps_order_and_limit),
        ON(fx_setup_file, test_sqlite__what_was_peeked_is_read_again_under_the_lock),
        ON(fx_setup_memory, test_sqlite__what_was_peeked_is_read_again_under_the_lock),
        ON(fx_setup_memory, test_sqlite__reads_give_rows_or_cells),
        ON(fx_setup_memory, test_sqlite__uuids_are_looked_for_one_by_one),
        ON(fx_setup_memory, test_sqlite__every_text_can_be_prepared),
        ON(fx_setup_file, test_sqlite__no_read_goes_through_a_whole_partition),
        ON(fx_setup_file, test_sqlite__a_duplicate_is_a_rerun),
        ON(fx_setup_memory, test_sqlite__a_duplicate_is_a_rerun),
        ON(fx_setup_memory, test_sqlite__other_constraints_are_the_ops_fault),
        ON(fx_setup_memory, test_sqlite__a_row_that_is_not_there_cannot_be_updated),
        ON(fx_setup_memory, test_sqlite__a_save_without_a_load_is_refused),
        ON(fx_setup_memory, test_sqlite__a_batch_too_big_for_its_arena_is_the_ops_fault),
        ON(fx_setup_file, test_sqlite__a_full_disk_stops_and_applies_nothing),
        ON(fx_setup_file, test_sqlite__a_failed_fsync_is_unknown_and_ends_the_file),
        ON(fx_setup_file, test_sqlite__a_failed_checkpoint_does_not_doubt_the_commit),
    };

    return cmocka_run_group_tests(tests, fx_disk_setup, NULL);
}
