/* SPDX-License-Identifier: Apache-2.0
 *
 * test_audits.c -- every audit of src/store/sql/fsck.sql is silent about good rows and finds its
 * own kind of damage.
 *
 * The one place where rows are written by hand: what an audit looks for cannot be made through the
 * engine. SQLite in memory; the texts for Postgres are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/macros.h"
#include "model/policy.h"
#include "model/steps.h"
#include "sql_gen.h"

#define ID(n) "x'0000000000000000000000000000000" #n "'"

/* 1 waits, 2 is active, 3 has succeeded at its second attempt, 4 is delayed, 5 is a failed member
 * of a flow whose hop is on its way to 7, 6 was replayed and waits. */
// clang-format off
static const char good[] =
    "INSERT INTO ff_capset VALUES (77, 'gpu', 1);"
    "INSERT INTO ff_execution (partition_key, execution_id, namespace, lane, kind, capset_id,"
    " submit_hash, created_at_ms, state, priority, flags, due_at_ms, version, changed_at_ms,"
    " generation, attempt_index, attempt_count, attempt_type, retry_count, reclaim_count,"
    " replay_count, attempt_spent_ms, lease_epoch, last_epoch, last_end)"
    " WITH n(i) AS (VALUES (1), (2), (3), (4), (5), (6))"
    " SELECT i, CAST(x'000000000000000000000000000000' || CAST(char(i) AS BLOB) AS BLOB),"
    " 'ns', 'default', 'k', 0, x'00', 1000, 10, 0, 0, NULL, 1, 1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
    " 0 FROM n;"
    "UPDATE ff_execution SET capset_id = 77, flags = 6 WHERE partition_key = 1;"
    "INSERT INTO ff_payload VALUES (1, " ID(1) ", 0, 0, x'01', NULL);"
    "INSERT INTO ff_tag VALUES (1, " ID(1) ", 'a', 'b');"
    "INSERT INTO ff_dedup VALUES ('ns', 'k:x', 1, " ID(1) ", x'00', 9);"
    "UPDATE ff_execution SET state = 50, due_at_ms = 3000, version = 2, changed_at_ms = 2000,"
    " started_at_ms = 2000, attempt_count = 1, lease_epoch = 1, lease_id = " ID(a) ","
    " lease_ttl_ms = 1000, lease_acquired_at_ms = 2000, lease_expires_at_ms = 3000,"
    " worker_id = 'w', worker_instance_id = 'w1' WHERE partition_key = 2;"
    "INSERT INTO ff_progress VALUES (2, " ID(2) ", 50, NULL, 2500, 0);"
    "UPDATE ff_execution SET state = 90, version = 5, changed_at_ms = 4000, started_at_ms = 2000,"
    " finished_at_ms = 4000, attempt_index = 1, attempt_count = 2, attempt_type = 1,"
    " retry_count = 1, lease_epoch = 4, last_epoch = 3, last_end = 1,"
    " last_lease_id = " ID(c) " WHERE partition_key = 3;"
    "INSERT INTO ff_attempt VALUES"
    " (3, " ID(3) ", 1, 0, 0, 0, 3, " ID(b) ", 'w', 'w1', 2000, 3000, 0, 'no'),"
    " (3, " ID(3) ", 3, 0, 1, 1, 1, " ID(c) ", 'w', 'w1', 3500, 4000, NULL, NULL);"
    "UPDATE ff_execution SET state = 20, due_at_ms = 8000, delay_until_ms = 8000,"
    " deadline_at_ms = 9000 WHERE partition_key = 4;"
    "UPDATE ff_execution SET flow_id = " ID(f) ", state = 91, version = 3, finished_at_ms = 2000,"
    " changed_at_ms = 2000, lease_epoch = 2 WHERE partition_key = 5;"
    "INSERT INTO ff_outbox VALUES"
    " (5, " ID(5) ", 0, 0, " ID(f) ", 91, 'ns', NULL, 2000, NULL, 0, 0, NULL);"
    "UPDATE ff_execution SET state = 12, generation = 1, replay_count = 1, version = 3,"
    " changed_at_ms = 3000 WHERE partition_key = 6;"
    "INSERT INTO ff_event (kind, type, partition_key, execution_id, generation, namespace, at_ms,"
    " state, version) VALUES"
    " (2, 1, 3, " ID(3) ", 0, 'ns', 2000, 50, 2),"
    " (3, 1, 3, " ID(3) ", 0, 'ns', 3000, 11, 3),"
    " (2, 1, 3, " ID(3) ", 0, 'ns', 3500, 50, 4),"
    " (1, 1, 3, " ID(3) ", 0, 'ns', 4000, 90, 5),"
    " (2, 1, 2, " ID(2) ", 0, 'ns', 2000, 50, 2),"
    " (2, 1, 5, " ID(5) ", 0, 'ns', 1500, 50, 2),"
    " (1, 2, 5, " ID(5) ", 0, 'ns', 2000, 91, 3),"
    " (1, 3, 6, " ID(6) ", 0, 'ns', 2000, 92, 2),"
    " (4, 2, 6, " ID(6) ", 1, 'ns', 3000, 12, 3);"
    "UPDATE ff_event SET lease_epoch = version - 1 WHERE kind = 2;";

static const char good_flow[] =
    "INSERT INTO ff_execution (partition_key, execution_id, flow_id, namespace, lane, kind,"
    " capset_id, submit_hash, created_at_ms, state, priority, flags, version, changed_at_ms,"
    " generation, attempt_index, attempt_count, attempt_type, retry_count, reclaim_count,"
    " replay_count, attempt_spent_ms, lease_epoch, last_epoch, last_end) VALUES"
    " (5, " ID(7) ", " ID(f) ", 'ns', 'default', 'k', 0, x'00', 1000, 30, 0, 0, 1, 1000, 0, 0, 0,"
    " 0, 0, 0, 0, 0, 0, 0, 0);"
    "INSERT INTO ff_flow (partition_key, flow_id, namespace, submit_hash, created_at_ms, state,"
    " revision, node_count, edge_count, success_count, failed_count, cancelled_count,"
    " expired_count, skipped_count, cancel_policy, draining, version, changed_at_ms) VALUES"
    " (5, " ID(f) ", 'ns', x'00', 1000, 1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1000);"
    "INSERT INTO ff_edge VALUES (5, " ID(5) ", " ID(7) ", " ID(f) ", 0, 0, NULL);"
    "INSERT INTO ff_edge_group VALUES (5, " ID(7) ", " ID(f) ", 0, 0, 1, 1, 0, 0, 0, 0, 0);";

/* 5 lives and 7, an any_of that asks to cancel the rest, has been decided without it. */
#define FORGOTTEN                                                                                  \
    "UPDATE ff_execution SET state = 10, finished_at_ms = NULL WHERE state = 91;"                  \
    "DELETE FROM ff_outbox; UPDATE ff_execution SET state = 90 WHERE state = 30;"                  \
    "UPDATE ff_edge_group SET policy = 1, group_state = 1, on_satisfied = 0;"
#define DRAIN                                                                                      \
    "INSERT INTO ff_pending_cancel VALUES (5, " ID(7) ", 1, " ID(f) ", 1, 'ns', NULL, 1000, NULL," \
    " 0, 0);"

/* 3 keeps the attempt that completed it on its row. */
#define KEPT                                                                                       \
    "UPDATE ff_execution SET lease_acquired_at_ms = 3500, worker_id = 'w',"                        \
    " worker_instance_id = 'w1' WHERE state = 90;"

/* What is broken, and the audit that must see it. Constraints are off: an audit must not rely on
 * them. */
static const struct {
    enum ff_sql audit;
    const char *damage;
} damages[] = {
    {FF_SQL_FSCK_TERMINAL_WITHOUT_COMPLETION, "DELETE FROM ff_event WHERE kind = 1 AND state = 90"},
    {FF_SQL_FSCK_TERMINAL_WITHOUT_COMPLETION,
     "UPDATE ff_execution SET state = 90, finished_at_ms = 2000 WHERE partition_key = 1"},
    {FF_SQL_FSCK_COMPLETION_TWICE,
     "INSERT INTO ff_event (kind, type, partition_key, execution_id, generation, namespace, at_ms,"
     " state, version) SELECT kind, type, partition_key, execution_id, generation, namespace,"
     " at_ms, state, version FROM ff_event WHERE kind = 1 AND state = 90"},
    {FF_SQL_FSCK_COMPLETION_OF_THE_LIVING,
     "UPDATE ff_execution SET state = 10, finished_at_ms = NULL WHERE partition_key = 3"},
    {FF_SQL_FSCK_COMPLETION_OF_THE_LIVING, "UPDATE ff_event SET generation = 1 WHERE state = 92"},
    {FF_SQL_FSCK_COMPLETION_CONTRADICTS, "UPDATE ff_event SET type = 2 WHERE state = 90"},
    {FF_SQL_FSCK_COMPLETION_CONTRADICTS, "UPDATE ff_event SET namespace = 'x' WHERE state = 90"},
    {FF_SQL_FSCK_COMPLETION_CONTRADICTS, "UPDATE ff_event SET instance_tag = 'x' WHERE state = 91"},
    {FF_SQL_FSCK_ACTIVE_WITHOUT_LEASE, "UPDATE ff_execution SET lease_id = NULL WHERE state = 50"},
    {FF_SQL_FSCK_ACTIVE_WITHOUT_LEASE, "UPDATE ff_execution SET lease_epoch = 0 WHERE state = 50"},
    {FF_SQL_FSCK_LEASE_WITHOUT_OWNER, "UPDATE ff_execution SET state = 11 WHERE state = 50"},
    {FF_SQL_FSCK_LEASE_WITHOUT_OWNER, "UPDATE ff_execution SET worker_id = 'w' WHERE state = 90"},
    {FF_SQL_FSCK_LEASE_WITHOUT_OWNER, KEPT "UPDATE ff_execution SET state = 91 WHERE state = 90"},
    {FF_SQL_FSCK_LEASE_WITHOUT_OWNER, KEPT
     "UPDATE ff_execution SET lease_id = " ID(c) " WHERE state = 90"},
    {FF_SQL_FSCK_TIMER_MISSING, "UPDATE ff_execution SET due_at_ms = NULL WHERE state = 50"},
    {FF_SQL_FSCK_DATED_WRONG, "UPDATE ff_execution SET flags = flags | 64"},
    {FF_SQL_FSCK_TIMER_MISSING, "UPDATE ff_execution SET due_at_ms = NULL WHERE state = 20"},
    {FF_SQL_FSCK_TIMER_MISSING, "UPDATE ff_execution SET due_at_ms = 8001 WHERE state = 20"},
    {FF_SQL_FSCK_TIMER_MISSING, "UPDATE ff_execution SET deadline_at_ms = 9 WHERE state = 10"},
    {FF_SQL_FSCK_TIMER_MISSING, "UPDATE ff_execution SET deadline_at_ms = 7999 WHERE state = 20"},
    {FF_SQL_FSCK_TIMER_OF_THE_DEAD, "UPDATE ff_execution SET due_at_ms = 9 WHERE state = 90"},
    {FF_SQL_FSCK_TIMER_OF_THE_DEAD, "UPDATE ff_execution SET finished_at_ms = 9 WHERE state = 12"},
    {FF_SQL_FSCK_ATTEMPT_FROM_THE_FUTURE,
     "UPDATE ff_attempt SET lease_epoch = 9 WHERE lease_epoch = 3"},
    {FF_SQL_FSCK_ATTEMPT_FROM_THE_FUTURE,
     "INSERT INTO ff_attempt VALUES"
     " (2, " ID(2) ", 1, 0, 0, 0, 3, " ID(d) ", 'w', 'w', 1, 2, 0, '')"},
    {FF_SQL_FSCK_ATTEMPT_MISSING, "DELETE FROM ff_attempt WHERE lease_epoch = 3"},
    {FF_SQL_FSCK_ATTEMPT_MISSING, KEPT "DELETE FROM ff_attempt WHERE lease_epoch = 3;"
     "UPDATE ff_execution SET state = 12, finished_at_ms = NULL WHERE state = 90"},
    {FF_SQL_FSCK_ATTEMPT_TWICE, KEPT},
    {FF_SQL_FSCK_ATTEMPT_TWICE, KEPT "UPDATE ff_attempt SET lease_epoch = 2 WHERE lease_epoch = 3"},
    {FF_SQL_FSCK_LEASE_USED_TWICE, "UPDATE ff_attempt SET lease_id = " ID(b)},
    {FF_SQL_FSCK_LEASE_USED_TWICE,
     "INSERT INTO ff_attempt VALUES"
     " (2, " ID(2) ", 0, 0, 0, 0, 3, " ID(a) ", 'w', 'w', 1, 2, 0, '')"},
    {FF_SQL_FSCK_ORPHAN, "UPDATE ff_attempt SET partition_key = 9 WHERE lease_epoch = 1"},
    {FF_SQL_FSCK_ORPHAN, "UPDATE ff_payload SET partition_key = 9"},
    {FF_SQL_FSCK_ORPHAN, "UPDATE ff_tag SET partition_key = 9"},
    {FF_SQL_FSCK_ORPHAN, "UPDATE ff_progress SET partition_key = 9"},
    {FF_SQL_FSCK_ORPHAN, "UPDATE ff_outbox SET partition_key = 9"},
    {FF_SQL_FSCK_ORPHAN, "UPDATE ff_edge SET partition_key = 9"},
    {FF_SQL_FSCK_ORPHAN, "UPDATE ff_edge_group SET partition_key = 9"},
    {FF_SQL_FSCK_ORPHAN, DRAIN "UPDATE ff_pending_cancel SET partition_key = 9"},
    {FF_SQL_FSCK_NEGATIVE_COUNTER, "UPDATE ff_execution SET retry_count = -1 WHERE state = 10"},
    {FF_SQL_FSCK_NEGATIVE_COUNTER, "UPDATE ff_execution SET last_epoch = 5 WHERE state = 90"},
    {FF_SQL_FSCK_EVENT_FROM_THE_FUTURE, "UPDATE ff_event SET version = 6 WHERE state = 90"},
    {FF_SQL_FSCK_EVENT_ORDER, "UPDATE ff_event SET version = 3 WHERE state = 90"},
    {FF_SQL_FSCK_EVENT_ORDER, "UPDATE ff_event SET at_ms = 3000 WHERE state = 90"},
    {FF_SQL_FSCK_EPOCH_ORDER, "UPDATE ff_event SET lease_epoch = 1 WHERE lease_epoch = 3"},
    {FF_SQL_FSCK_EPOCH_ORDER, "UPDATE ff_event SET lease_epoch = 5 WHERE lease_epoch = 3"},
    {FF_SQL_FSCK_EPOCH_ORDER, "UPDATE ff_event SET lease_epoch = NULL WHERE lease_epoch = 3"},
    {FF_SQL_FSCK_DEDUP_MISMATCH, "UPDATE ff_dedup SET namespace = 'other'"},
    {FF_SQL_FSCK_CAPSET_MISSING, "DELETE FROM ff_capset"},
    {FF_SQL_FSCK_TIME_RUNS_BACK, "UPDATE ff_execution SET changed_at_ms = 9 WHERE state = 10"},
    {FF_SQL_FSCK_TIME_RUNS_BACK, "UPDATE ff_execution SET finished_at_ms = 9 WHERE state = 90"},
    {FF_SQL_FSCK_INPUT_MISSING, "DELETE FROM ff_payload"},
    {FF_SQL_FSCK_TAG_UNSEEN, "UPDATE ff_execution SET flags = 2 WHERE partition_key = 1"},
    {FF_SQL_FSCK_HOP_MISSING, "DELETE FROM ff_outbox"},
    {FF_SQL_FSCK_HOP_CONTRADICTS, "UPDATE ff_outbox SET outcome = 90"},
    {FF_SQL_FSCK_HOP_CONTRADICTS, "UPDATE ff_outbox SET generation = 1"},
    {FF_SQL_FSCK_HOP_CONTRADICTS, "UPDATE ff_outbox SET flow_id = " ID(e)},
    {FF_SQL_FSCK_HOP_CONTRADICTS, "UPDATE ff_execution SET state = 10 WHERE state = 91"},
    {FF_SQL_FSCK_GROUP_COUNTS, "UPDATE ff_edge_group SET fail = 1"},
    {FF_SQL_FSCK_GROUP_COUNTS, "UPDATE ff_edge SET outcome = 1"},
    {FF_SQL_FSCK_GROUP_COUNTS, "UPDATE ff_edge_group SET total = 2"},
    {FF_SQL_FSCK_GROUP_COUNTS, "UPDATE ff_edge_group SET group_state = 1"},
    {FF_SQL_FSCK_NODE_AGAINST_JOIN, "UPDATE ff_edge_group SET group_state = 1"},
    {FF_SQL_FSCK_NODE_AGAINST_JOIN, "UPDATE ff_execution SET state = 10 WHERE state = 30"},
    {FF_SQL_FSCK_NODE_AGAINST_JOIN, "UPDATE ff_execution SET state = 94 WHERE state = 30"},
    {FF_SQL_FSCK_NODE_AGAINST_JOIN, "DELETE FROM ff_edge_group"},
    {FF_SQL_FSCK_EDGE_LEFT_BEHIND, "UPDATE ff_outbox SET dispatched_at_ms = 3000"},
    {FF_SQL_FSCK_EDGE_CONTRADICTS, "UPDATE ff_edge SET outcome = 1, resolved_generation = 0"},
    {FF_SQL_FSCK_EDGE_CONTRADICTS, "UPDATE ff_edge SET outcome = 3, resolved_generation = 0"},
    {FF_SQL_FSCK_EDGE_CONTRADICTS, "UPDATE ff_edge SET outcome = 2, resolved_generation = 1"},
    {FF_SQL_FSCK_EDGE_CONTRADICTS, "UPDATE ff_edge SET outcome = 2, resolved_generation = NULL"},
    {FF_SQL_FSCK_EDGE_CONTRADICTS, "UPDATE ff_edge SET outcome = 2, resolved_generation = 0;"
     "UPDATE ff_execution SET state = 10 WHERE state = 91"},
    {FF_SQL_FSCK_EDGE_DANGLING, "UPDATE ff_execution SET flow_id = NULL WHERE state = 30"},
    {FF_SQL_FSCK_EDGE_DANGLING, "DELETE FROM ff_execution WHERE state = 91"},
    {FF_SQL_FSCK_FLOW_MISSING, "DELETE FROM ff_flow"},
    {FF_SQL_FSCK_FLOW_COUNTS, "UPDATE ff_flow SET node_count = 3"},
    {FF_SQL_FSCK_FLOW_COUNTS, "UPDATE ff_flow SET failed_count = 1"},
    {FF_SQL_FSCK_FLOW_COUNTS, "UPDATE ff_flow SET skipped_count = 1, expired_count = -1"},
    {FF_SQL_FSCK_FLOW_COUNTS, "UPDATE ff_outbox SET dispatched_at_ms = 3000"},
    {FF_SQL_FSCK_FLOW_COUNTS, "UPDATE ff_flow SET finished_at_ms = 3000"},
    {FF_SQL_FSCK_FLOW_EDGES, "UPDATE ff_flow SET edge_count = 2"},
    {FF_SQL_FSCK_FLOW_EDGES, "DELETE FROM ff_edge"},
    {FF_SQL_FSCK_FLOW_OUTCOME, "UPDATE ff_flow SET state = 2"},
    {FF_SQL_FSCK_FLOW_OUTCOME, "UPDATE ff_flow SET state = 4"},
    {FF_SQL_FSCK_FLOW_OUTCOME, "UPDATE ff_flow SET cancel_policy = 1"},
    {FF_SQL_FSCK_FLOW_OUTCOME, "UPDATE ff_flow SET state = 2, finished_at_ms = 3000"},
    {FF_SQL_FSCK_FLOW_OUTCOME, "UPDATE ff_flow SET state = 3, finished_at_ms = 3000;"
     "UPDATE ff_execution SET state = 90 WHERE state = 30"},
    {FF_SQL_FSCK_MEMBER_OF_THE_CANCELLED, "UPDATE ff_flow SET state = 4, cancel_policy = 3"},
    {FF_SQL_FSCK_MEMBER_OF_THE_CANCELLED, "UPDATE ff_flow SET state = 4, cancel_policy = 2"},
    {FF_SQL_FSCK_MEMBER_OF_THE_CANCELLED, "UPDATE ff_flow SET state = 4, cancel_policy = 2;"
     "UPDATE ff_execution SET state = 50 WHERE state = 30"},
    {FF_SQL_FSCK_MEMBER_OF_THE_CANCELLED, "UPDATE ff_flow SET state = 4, cancel_policy = 3;"
     "UPDATE ff_execution SET state = 50, flags = 1 WHERE state = 30"},
    {FF_SQL_FSCK_HOP_OUTLIVED, "UPDATE ff_execution SET generation = 1 WHERE state = 91"},
    {FF_SQL_FSCK_HOP_STUCK, "UPDATE ff_outbox SET tries = 10"},
    {FF_SQL_FSCK_DRAIN_STUCK, DRAIN "UPDATE ff_pending_cancel SET tries = 10"},
    {FF_SQL_FSCK_FLOW_STUCK, "UPDATE ff_flow SET tries = 10, draining = 1"},
    {FF_SQL_FSCK_FLOW_STUCK, "UPDATE ff_flow SET tries = 10, state = 5"},
    {FF_SQL_FSCK_MEMBER_NOBODY_NEEDS, FORGOTTEN},
    {FF_SQL_FSCK_MEMBER_NOBODY_NEEDS, FORGOTTEN "UPDATE ff_flow SET cancel_policy = 1;"},
    {FF_SQL_FSCK_MEMBER_NOBODY_NEEDS, FORGOTTEN DRAIN "UPDATE ff_pending_cancel SET"
     " edge_cursor = " ID(5) ";"},
};
// clang-format on

static sqlite3 *db;

static void now_ms(sqlite3_context *context, int count FF_UNUSED, sqlite3_value **values FF_UNUSED)
{
    sqlite3_result_int64(context, 5000);
}

static void run(const char *sql)
{
    char *problem = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &problem) != SQLITE_OK)
        fail_msg("%s: %s", sql, problem);
}

static int setup(void **state FF_UNUSED)
{
    assert_int_equal(SQLITE_OK, sqlite3_open(":memory:", &db));
    assert_int_equal(SQLITE_OK, sqlite3_create_function_v2(db, "ff_now_ms", 0, SQLITE_UTF8, NULL,
                                                           now_ms, NULL, NULL, NULL));
    for (int32_t i = 0; i < ff_sql_migration_count; i++)
        run(ff_sql_migrations[i].text[FF_DIALECT_SQLITE]);
    run(good);
    run(good_flow);
    run("PRAGMA ignore_check_constraints = on");
    return 0;
}

static int teardown(void **state FF_UNUSED)
{
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
    return 0;
}

/* How many rows the audit finds. */
static int findings(enum ff_sql audit)
{
    const struct ff_sql_block *block = &ff_sql_blocks[audit];
    sqlite3_stmt *stmt;
    int rows = 0;

    if (sqlite3_prepare_v2(db, block->text[FF_DIALECT_SQLITE], -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", block->name, sqlite3_errmsg(db));
    assert_int_equal(1, block->param_count);
    assert_int_equal(0, block->limit_param);
    assert_int_equal(3, sqlite3_column_count(stmt));
    assert_int_equal(SQLITE_OK, sqlite3_bind_int64(stmt, 1, 100));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        assert_int_equal(SQLITE_INTEGER, sqlite3_column_type(stmt, 0));
        assert_int_equal(16, sqlite3_column_bytes(stmt, 1));
        assert_int_equal(SQLITE_TEXT, sqlite3_column_type(stmt, 2));
        rows++;
    }
    assert_int_equal(SQLITE_OK, sqlite3_finalize(stmt));
    return rows;
}

/* What the table of legal moves says about the steps that were made. */
static int illegal_steps(void)
{
    const struct ff_sql_block *block = &ff_sql_blocks[FF_SQL_LOG_STEPS];
    sqlite3_stmt *stmt;
    int found = 0;

    if (sqlite3_prepare_v2(db, block->text[FF_DIALECT_SQLITE], -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", block->name, sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const struct ff_step step = {
            .kind = sqlite3_column_int(stmt, FF_OUT_LOG_STEPS_KIND),
            .type = sqlite3_column_int(stmt, FF_OUT_LOG_STEPS_TYPE),
            .before = sqlite3_column_int(stmt, FF_OUT_LOG_STEPS_STATE_BEFORE),
            .after = sqlite3_column_int(stmt, FF_OUT_LOG_STEPS_STATE),
            .changes = sqlite3_column_int64(stmt, FF_OUT_LOG_STEPS_CHANGES),
            .generations = sqlite3_column_int64(stmt, FF_OUT_LOG_STEPS_GENERATIONS),
        };

        found += !ff_step_ok(&step);
    }
    assert_int_equal(SQLITE_OK, sqlite3_finalize(stmt));
    return found;
}

static void test_audits__steps_of_the_log_are_judged(void **state FF_UNUSED)
{
    static const char *const illegal[] = {
        "DELETE FROM ff_event WHERE kind = 2 AND state = 50 AND version = 4", /* a claim untold */
        "DELETE FROM ff_event WHERE state = 12",                              /* a replay untold */
        "UPDATE ff_event SET state = 93 WHERE state = 90",
        "UPDATE ff_event SET type = 4 WHERE state = 11",
        "UPDATE ff_event SET generation = 1 WHERE state = 92",
        "UPDATE ff_event SET version = 4 WHERE state = 90", /* the end without a change */
        "UPDATE ff_execution SET state = 11 WHERE partition_key = 1",
        "UPDATE ff_execution SET state = 11 WHERE partition_key = 2",
    };

    assert_int_equal(illegal_steps(), 0);
    for (size_t i = 0; i < FF_ARRAY_LEN(illegal); i++) {
        run("BEGIN");
        run(illegal[i]);
        if (!illegal_steps())
            fail_msg("nothing is wrong with: %s", illegal[i]);
        run("ROLLBACK");
    }
    /* What is not kept any more is not known. */
    run("DELETE FROM ff_event WHERE event_id <= 3");
    assert_true(illegal_steps() > 0);
    run("INSERT INTO ff_meta VALUES ('log_floor', '4')");
    assert_int_equal(illegal_steps(), 0);
}

/* Executions whose policy nobody can read. */
static int64_t unreadable_policies(void)
{
    const struct ff_sql_block *block = &ff_sql_blocks[FF_SQL_POLICIES_KEPT];
    struct ff_policy policy;
    sqlite3_stmt *stmt;
    int64_t found = 0;

    if (sqlite3_prepare_v2(db, block->text[FF_DIALECT_SQLITE], -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", block->name, sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const struct ff_str packed = {
            .ptr = sqlite3_column_blob(stmt, FF_OUT_POLICIES_KEPT_POLICY),
            .len = (size_t)sqlite3_column_bytes(stmt, FF_OUT_POLICIES_KEPT_POLICY)};

        if (ff_policy_unpack(packed, &policy, NULL) != FF_OK)
            found += sqlite3_column_int64(stmt, FF_OUT_POLICIES_KEPT_EXECUTIONS);
    }
    assert_int_equal(SQLITE_OK, sqlite3_finalize(stmt));
    return found;
}

static void test_audits__a_policy_that_cannot_be_read_is_told(void **state FF_UNUSED)
{
    assert_int_equal(0, unreadable_policies());
    run("BEGIN");
    run("UPDATE ff_execution SET policy = x'010000' WHERE partition_key = 1");
    assert_int_equal(0, unreadable_policies());
    run("UPDATE ff_execution SET policy = x'ff0000' WHERE partition_key IN (2, 3)");
    assert_int_equal(2, unreadable_policies());
    run("ROLLBACK");
}

static void test_audits__are_silent_about_good_rows(void **state FF_UNUSED)
{
    assert_true(ff_sql_audit_count > 0);
    for (size_t i = 0; i < ff_sql_audit_count; i++) {
        if (findings(ff_sql_audits[i].block))
            fail_msg("%s finds something", ff_sql_blocks[ff_sql_audits[i].block].name);
        assert_true(strlen(ff_sql_audits[i].what) > 0);
    }
}

static void test_audits__find_their_damage(void **state FF_UNUSED)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(damages); i++) {
        run("BEGIN");
        run(damages[i].damage);
        if (!findings(damages[i].audit))
            fail_msg("%s is blind to: %s", ff_sql_blocks[damages[i].audit].name, damages[i].damage);
        run("ROLLBACK");
    }
}

static void test_audits__each_has_been_seen_to_find_something(void **state FF_UNUSED)
{
    for (size_t i = 0; i < ff_sql_audit_count; i++) {
        bool is_shown = false;

        for (size_t j = 0; j < FF_ARRAY_LEN(damages); j++)
            is_shown |= damages[j].audit == ff_sql_audits[i].block;
        if (!is_shown)
            fail_msg("%s has no damage here", ff_sql_blocks[ff_sql_audits[i].block].name);
    }
}

/* Why somebody lives whom a join has asked to cancel: it will be looked at, another node waits for
 * it, somebody has replayed it, what runs may finish, nobody has asked. */
// clang-format off
static const char *const good_reasons[] = {
    FORGOTTEN DRAIN,
    FORGOTTEN "INSERT INTO ff_outbox VALUES (5, " ID(7) ", 0, 0, " ID(f) ", 90, 'ns', NULL, 2000,"
    " NULL, 0, 0, NULL)",
    FORGOTTEN "INSERT INTO ff_edge VALUES (5, " ID(5) ", " ID(8) ", " ID(f) ", 0, 0, NULL);"
    "INSERT INTO ff_edge_group VALUES (5, " ID(8) ", " ID(f) ", 0, 0, 1, 1, 0, 0, 0, 0, 0);"
    "UPDATE ff_execution SET partition_key = 5, execution_id = " ID(8) " WHERE partition_key = 4",
    FORGOTTEN "UPDATE ff_execution SET generation = 1 WHERE execution_id = " ID(5),
    FORGOTTEN "UPDATE ff_flow SET cancel_policy = 2",
    FORGOTTEN "UPDATE ff_edge_group SET on_satisfied = 1",
};
// clang-format on

static void test_audits__who_is_needed_or_will_be_looked_at_is_no_damage(void **state FF_UNUSED)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(good_reasons); i++) {
        run("BEGIN");
        run(good_reasons[i]);
        if (findings(FF_SQL_FSCK_MEMBER_NOBODY_NEEDS))
            fail_msg("something is wrong with: %s", good_reasons[i]);
        run("ROLLBACK");
    }
}

#define ONLY_KEPT KEPT "DELETE FROM ff_attempt WHERE lease_epoch = 3"

/* Why somebody lives in a cancelled flow: it is about to be looked at, it runs and begins nothing
 * new, nothing but the flow was cancelled. And edges may tell of a generation that is over, and the
 * attempt that completed an execution may be on its row. */
static const struct {
    enum ff_sql audit;
    const char *rows;
} no_damages[] = {
    {FF_SQL_FSCK_MEMBER_OF_THE_CANCELLED,
     "UPDATE ff_flow SET state = 4, cancel_policy = 3, draining = 1"},
    {FF_SQL_FSCK_MEMBER_OF_THE_CANCELLED,
     "UPDATE ff_flow SET state = 4, cancel_policy = 2;"
     "UPDATE ff_execution SET state = 50, flags = 1 WHERE state = 30"},
    {FF_SQL_FSCK_MEMBER_OF_THE_CANCELLED, "UPDATE ff_flow SET state = 4, cancel_policy = 1"},
    {FF_SQL_FSCK_FLOW_OUTCOME,
     "UPDATE ff_flow SET state = 4, cancel_policy = 1, finished_at_ms = 3000"},
    {FF_SQL_FSCK_FLOW_OUTCOME, "UPDATE ff_flow SET state = 3, finished_at_ms = 3000"},
    {FF_SQL_FSCK_FLOW_OUTCOME, "UPDATE ff_flow SET state = 2, finished_at_ms = 3000;"
                               "UPDATE ff_execution SET state = 90 WHERE state = 30"},
    {FF_SQL_FSCK_EDGE_CONTRADICTS, "UPDATE ff_edge SET outcome = 1, resolved_generation = 0;"
                                   "UPDATE ff_execution SET generation = 1 WHERE state = 91"},
    {FF_SQL_FSCK_HOP_CONTRADICTS,
     "UPDATE ff_execution SET generation = 1, state = 12 WHERE state = 91"},
    {FF_SQL_FSCK_ATTEMPT_MISSING, ONLY_KEPT},
    {FF_SQL_FSCK_ATTEMPT_TWICE, ONLY_KEPT},
    {FF_SQL_FSCK_LEASE_WITHOUT_OWNER, ONLY_KEPT},
};

static void test_audits__what_may_look_like_damage_is_none(void **state FF_UNUSED)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(no_damages); i++) {
        run("BEGIN");
        run(no_damages[i].rows);
        if (findings(no_damages[i].audit))
            fail_msg("%s finds fault with: %s", ff_sql_blocks[no_damages[i].audit].name,
                     no_damages[i].rows);
        run("ROLLBACK");
    }
}

static void test_audits__a_shortened_log_is_no_damage(void **state FF_UNUSED)
{
    run("BEGIN");
    run("DELETE FROM ff_event WHERE event_id <= 4");
    assert_int_equal(1, findings(FF_SQL_FSCK_TERMINAL_WITHOUT_COMPLETION));
    run("INSERT INTO ff_meta VALUES ('log_floor', '5')");
    assert_int_equal(0, findings(FF_SQL_FSCK_TERMINAL_WITHOUT_COMPLETION));
    run("ROLLBACK");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_audits__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(are_silent_about_good_rows),
        TEST(find_their_damage),
        TEST(each_has_been_seen_to_find_something),
        TEST(a_shortened_log_is_no_damage),
        TEST(steps_of_the_log_are_judged),
        TEST(a_policy_that_cannot_be_read_is_told),
        TEST(who_is_needed_or_will_be_looked_at_is_no_damage),
        TEST(what_may_look_like_damage_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
