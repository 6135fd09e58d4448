/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- runs the tests of the Postgres store against the private server of FF_TEST_PG. */
#include "store_ring.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "model/states.h"

#include "base/banned.h"

static int passed_count;
static int failed_count;
static char failure[512];
static char schema[64];
static int schema_count;
static PGconn *other;
static PGresult *last_answer;

int64_t now_ms(void)
{
    const struct ff_clock clock = ff_clock_system();

    return ff_clock_mono_ms(&clock);
}

void check_failed(const char *file, int line, const char *condition)
{
    (void)snprintf(failure, sizeof failure, "%s:%d: %s", file, line, condition);
}

const char *test_schema(void)
{
    return schema;
}

const char *test_url(const char *more)
{
    static char url[1024];

    (void)snprintf(url, sizeof url, "%s&schema=%s%s", getenv("FF_TEST_PG"), schema, more);
    return url;
}

struct ff_store *store_open(const char *more)
{
    const struct ff_store_options options = {.url = test_url(more), .create = true};
    struct ff_store *store = NULL;
    struct ff_error error;

    if (ff_store_open(&options, &store, &error) != FF_OK)
        printf("# cannot open: %s\n", error.message);
    return store;
}

struct ff_session *session_open(struct ff_store *store)
{
    struct ff_session *session = NULL;

    if (!store || store->ops->session_new(store, &session, NULL) != FF_OK)
        return NULL;
    return session;
}

void batch_init(struct batch *batch)
{
    const struct ff_random random = ff_random_system();

    memset(batch, 0, sizeof *batch);
    ff_arena_init(&batch->arena, 64 << 10, 64 << 20);
    ff_rowset_init(&batch->rows, &batch->arena);
    batch->call.rows = &batch->rows;
    ff_random_bytes(&random, batch->call.batch_id.b, 16);
}

void batch_done(struct batch *batch)
{
    ff_arena_done(&batch->arena);
}

ff_called batch_call(struct batch *batch, struct ff_session *session, ff_call_kind kind)
{
    batch->call.kind = kind;
    ff_session_run(session, &batch->call, CALL_MS);
    return batch->call.outcome;
}

struct ff_entry *want_meta(struct batch *batch, const char *name, ff_want want)
{
    const struct ff_meta key = {.name = ff_str_of(name)};

    return ff_rowset_want(&batch->rows, FF_TABLE_META, &key, want);
}

ff_called put_meta(struct ff_session *session, const char *name, const char *value)
{
    struct batch batch;
    struct ff_entry *entry;
    struct ff_meta *row;
    ff_called outcome;

    batch_init(&batch);
    entry = want_meta(&batch, name, FF_WANT_LOCK);
    outcome = batch_call(&batch, session, FF_CALL_LOAD);
    if (outcome == FF_CALLED_OK) {
        ff_rowset_op_begin(&batch.rows, 1);
        row = entry->row;
        if (entry->found == FF_FOUND_ROW)
            ff_rowset_edit(&batch.rows, row);
        else
            row = ff_rowset_insert(&batch.rows, FF_TABLE_META, row);
        row->value = ff_str_of(value);
        outcome = batch_call(&batch, session, FF_CALL_SAVE);
    }
    batch_done(&batch);
    return outcome;
}

struct ff_execution *new_execution(struct batch *batch, uint32_t nth)
{
    struct ff_execution key = {.partition_key = (int32_t)(nth % 256)};
    struct ff_execution *row;

    memcpy(key.execution_id.b, &nth, sizeof nth);
    key.execution_id.b[15] = 1;
    row = ff_rowset_insert(&batch->rows, FF_TABLE_EXECUTION, &key);
    row->namespace = FF_STR("default");
    row->lane = FF_STR("main");
    row->kind = FF_STR("work");
    row->submit_hash = FF_STR("\x01\x00\xff");
    row->created_at_ms = 1000 + (int64_t)nth;
    row->state = FF_STATE_READY_FIRST;
    row->version = 1;
    row->changed_at_ms = 1000;
    return row;
}

static void no_notice(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

PGconn *disturber(void)
{
    if (other && PQstatus(other) != CONNECTION_OK) {
        PQfinish(other);
        other = NULL;
    }
    if (!other) {
        other = PQconnectdb(getenv("FF_TEST_PG"));
        (void)PQsetNoticeProcessor(other, no_notice, NULL);
    }
    return other;
}

static long ask(const char *text)
{
    long number = -1;

    PQclear(last_answer);
    last_answer = PQexec(disturber(), text);
    if (PQresultStatus(last_answer) == PGRES_FATAL_ERROR)
        printf("# %s: %s", text, PQresultErrorMessage(last_answer));
    if (PQresultStatus(last_answer) == PGRES_TUPLES_OK && PQntuples(last_answer) > 0)
        number = strtol(PQgetvalue(last_answer, 0, 0), NULL, 10);
    return number;
}

long disturb(const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return ask(text);
}

bool comes_true(const char *fmt, ...)
{
    const int64_t until_ms = now_ms() + CALL_MS;
    char text[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    while (ask(text) != 1) {
        if (now_ms() > until_ms)
            return false;
        (void)poll(NULL, 0, 10);
    }
    return true;
}

bool set_server(const char *setting, const char *value)
{
    (void)disturb("ALTER SYSTEM SET %s = '%s'", setting, value);
    (void)disturb("SELECT pg_reload_conf()");
    return comes_true("SELECT (current_setting('%s') = '%s')::int", setting, value);
}

const char *stored_meta(const char *name)
{
    (void)disturb("SELECT value FROM %s.ff_meta WHERE name = '%s'", schema, name);
    return PQntuples(last_answer) ? PQgetvalue(last_answer, 0, 0) : "";
}

int session_pid(void)
{
    return (int)disturb("SELECT pid FROM pg_stat_activity WHERE application_name = 'flowfabric' "
                        "AND xact_start IS NOT NULL ORDER BY xact_start DESC LIMIT 1");
}

static void run_one(const struct test *test)
{
    failure[0] = '\0';
    (void)snprintf(schema, sizeof schema, "ff_ring_%d_%d", (int)getpid(), ++schema_count);
    test->run();
    (void)disturb("ROLLBACK");
    if (!getenv("FF_TEST_KEEP"))
        (void)disturb("DROP SCHEMA IF EXISTS %s CASCADE", schema);
    if (failure[0]) {
        failed_count++;
        printf("FAILED %s: %s\n", test->name, failure);
    } else {
        passed_count++;
        printf("ok %s\n", test->name);
    }
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    const struct test *const all[] = {rows_tests,  form_tests,   commit_tests,
                                      proof_tests, schema_tests, link_tests};

    if (!getenv("FF_TEST_PG")) {
        printf("FAILED store: FF_TEST_PG is not set\nring store: 0 passed, 1 failed\n");
        return 1;
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(all); i++)
        for (const struct test *test = all[i]; test->name; test++)
            if (argc < 2 || strstr(test->name, argv[1]))
                run_one(test);
    PQclear(last_answer);
    PQfinish(other);
    printf("ring store: %d passed, %d failed\n", passed_count, failed_count);
    return failed_count || !passed_count ? 1 : 0;
}
