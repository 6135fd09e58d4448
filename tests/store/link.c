/* SPDX-License-Identifier: Apache-2.0
 *
 * link.c -- connections come and go; hints arrive; one round trip is quick. */
#include "store_ring.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/sql.h"

#include "base/banned.h"

/* Tries again, as the executor does, until the store serves or the time is over. */
static bool put_soon(struct ff_session *session, const char *name)
{
    const int64_t until_ms = now_ms() + CALL_MS;

    while (now_ms() < until_ms) {
        if (put_meta(session, name, "v") == FF_CALLED_OK)
            return true;
        (void)poll(NULL, 0, 10);
    }
    return false;
}

static void crash_of_the_server(void)
{
    struct ff_store *const store = store_open("");
    struct ff_session *const session = session_open(store);
    char command[256];
    bool good = session && put_meta(session, "x", "v") == FF_CALLED_OK;

    (void)snprintf(command, sizeof command, "tests/support/pg-private restart %s",
                   getenv("FF_TEST_PG_DIR"));
    good = good && system(command) == 0;
    good = good && put_soon(session, "y");
    PQreset(disturber()); /* its own connection is gone too */
    good = good && !strcmp(stored_meta("x"), "v") && !strcmp(stored_meta("y"), "v");
    if (session)
        session->ops->free(session);
    ff_store_free(store);
    CHECK(good);
}

static void no_server_is_stop(void)
{
    struct ff_store *const store = store_open("");
    struct ff_session *const session = session_open(store);
    const char *const host = getenv("FF_TEST_PG_DIR");
    char from[128];
    char to[128];
    struct batch batch;
    bool good = session != NULL;

    /* The socket out of the way: connecting fails at once. */
    (void)snprintf(from, sizeof from, "%s/.s.PGSQL.5432", host);
    (void)snprintf(to, sizeof to, "%s/away", host);
    batch_init(&batch);
    good = good && rename(from, to) == 0;
    good = good && batch_call(&batch, session, FF_CALL_LOAD) == FF_CALLED_STOP;
    good = good && batch.call.error.status == FF_UNAVAILABLE;
    /* Within the back-off the answer is the same and comes at once. */
    good = good && batch_call(&batch, session, FF_CALL_LOAD) == FF_CALLED_STOP;
    good = rename(to, from) == 0 && good;
    good = good && put_soon(session, "x");
    batch_done(&batch);
    if (session)
        session->ops->free(session);
    ff_store_free(store);
    CHECK(good);
}

static bool hears(struct ff_store *store, struct ff_store *sender, int64_t wait_ms)
{
    const int64_t until_ms = now_ms() + wait_ms;

    while (now_ms() < until_ms) {
        if (sender)
            (void)sender->ops->notified(sender); /* also sends what waits */
        if (store->ops->notified(store))
            return true;
    }
    return false;
}

static void hints_arrive(void)
{
    struct ff_store *const a = store_open("");
    struct ff_store *const b = store_open("");
    bool good = a && b && a->facts.notify;

    /* The first answer only says that listening has begun. */
    good = good && hears(a, NULL, CALL_MS) && hears(b, NULL, CALL_MS);
    good = good && !hears(b, NULL, 50);
    if (good)
        a->ops->notify(a);
    good = good && hears(b, a, CALL_MS);
    good = good && !hears(a, NULL, 50); /* not one's own */
    ff_store_free(a);
    ff_store_free(b);
    CHECK(good);
}

/* ---- a store whose clock stands still ---- */

static _Atomic int64_t stopped_ms = 1000000;

static int64_t stopped(void *ctx)
{
    (void)ctx;
    return stopped_ms;
}

/* How many hints have come in the end, once the last one is there. */
static int hints_after(struct ff_store *store, PGconn *listener, int wanted)
{
    const int64_t until_ms = now_ms() + CALL_MS;
    PGnotify *hint;
    int count = 0;

    while (now_ms() < until_ms && count < wanted) {
        (void)store->ops->notified(store); /* sends what may be sent */
        (void)PQconsumeInput(listener);
        while ((hint = PQnotifies(listener))) {
            PQfreemem(hint);
            count++;
        }
    }
    return count;
}

/* F46: however many commits there are in 5 ms, one NOTIFY tells of all of them. */
static void hints_are_coalesced(void)
{
    const struct ff_clock clock = {.real_ms = stopped, .mono_ms = stopped, .boot_ms = stopped};
    const struct ff_store_options options = {.url = test_url(""), .create = true, .clock = clock};
    PGconn *const listener = PQconnectdb(getenv("FF_TEST_PG"));
    struct ff_store *store = NULL;
    char sql[128];
    bool good = ff_store_open(&options, &store, NULL) == FF_OK;

    (void)snprintf(sql, sizeof sql, "LISTEN ff_%s", test_schema());
    PQclear(PQexec(listener, sql));
    good = good && hears(store, NULL, CALL_MS); /* it listens itself, so it can talk */
    for (int64_t i = 0; good && i < 3; i++) {
        for (int commit = 0; commit < 100; commit++) {
            store->ops->notify(store);
            (void)store->ops->notified(store);
        }
        good = hints_after(store, listener, 1) == 1; /* the rest waits for its time */
        for (int more = 0; more < 100; more++) {
            store->ops->notify(store);
            (void)store->ops->notified(store);
        }
        PQclear(PQexec(listener, "SELECT 1")); /* whatever was sent before is here now */
        good = good && !PQnotifies(listener);
        stopped_ms += 5;
        good = good && hints_after(store, listener, 1) == 1; /* of what came in between */
        stopped_ms += 5;
    }
    ff_store_free(store);
    PQfinish(listener);
    CHECK(good);
}

/* A client that stops in the middle of a pipeline: no timeout of the server ends its session. */
static void stuck_session_is_ended(void)
{
    const struct ff_value stuck_ms = {.type = FF_VALUE_I64, .as.i64 = 0};
    struct ff_read read = {.block = FF_SQL_SESSIONS_REAP, .params = &stuck_ms, .param_count = 1};
    struct ff_store *const store = store_open("");
    struct ff_session *const session = session_open(store);
    PGconn *const stuck = PQconnectdb(getenv("FF_TEST_PG"));
    struct batch batch;
    bool good = session && PQstatus(stuck) == CONNECTION_OK;

    PQclear(PQexec(stuck, "SET application_name = 'flowfabric'"));
    good = good && PQenterPipelineMode(stuck) &&
           PQsendQueryParams(stuck, "BEGIN", 0, NULL, NULL, NULL, NULL, 0) &&
           PQsendFlushRequest(stuck) && PQflush(stuck) == 0;
    PQclear(PQgetResult(stuck)); /* it has begun, and no sync will come */
    batch_init(&batch);
    read.arena = &batch.arena;
    batch.call.read = &read;
    good = good && batch_call(&batch, session, FF_CALL_READ) == FF_CALLED_OK;
    good = good && read.cells[0].as.i64 == 1;
    good = good && batch_call(&batch, session, FF_CALL_READ) == FF_CALLED_OK;
    batch_done(&batch);
    PQfinish(stuck);
    if (session)
        session->ops->free(session);
    ff_store_free(store);
    CHECK(good);
}

/* ---------------------------------------------------------------------------------------------
 * Not a test of speed: it only prints what a batch takes. */

enum { ROWS = 500, ROUNDS = 40 };

static bool one_round(struct ff_session *session, bool insert, int64_t took_us[2])
{
    struct batch batch;
    struct timespec t[3];
    bool good;

    batch_init(&batch);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct ff_execution key = {.partition_key = (int32_t)(i % 256)};

        memcpy(key.execution_id.b, &i, sizeof i);
        key.execution_id.b[15] = 1;
        if (!insert)
            (void)ff_rowset_want(&batch.rows, FF_TABLE_EXECUTION, &key, FF_WANT_LOCK);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &t[0]);
    good = batch_call(&batch, session, FF_CALL_LOAD) == FF_CALLED_OK;
    (void)clock_gettime(CLOCK_MONOTONIC, &t[1]);
    ff_rowset_op_begin(&batch.rows, 1);
    for (struct ff_entry *e = batch.rows.entries[FF_TABLE_EXECUTION]; e; e = e->next) {
        struct ff_event *const event = ff_rowset_event(&batch.rows);

        event->kind = event->type = 1;
        event->at_ms = batch.call.now_ms;
        event->note = FF_STR("something short");
        ff_rowset_edit(&batch.rows, e->row);
        ((struct ff_execution *)e->row)->version++;
    }
    for (uint32_t i = 0; insert && i < ROWS; i++)
        (void)new_execution(&batch, i);
    good = good && batch_call(&batch, session, FF_CALL_SAVE) == FF_CALLED_OK;
    (void)clock_gettime(CLOCK_MONOTONIC, &t[2]);
    for (int i = 0; i < 2; i++)
        took_us[i] = ff_min_i64(took_us[i], (t[i + 1].tv_sec - t[i].tv_sec) * 1000000 +
                                                (t[i + 1].tv_nsec - t[i].tv_nsec) / 1000);
    batch_done(&batch);
    return good;
}

static void batch_of_500(void)
{
    struct ff_store *const store = store_open("");
    struct ff_session *const session = session_open(store);
    int64_t ignored[2] = {INT64_MAX, INT64_MAX};
    int64_t took_us[2] = {INT64_MAX, INT64_MAX};
    bool good = session && one_round(session, true, ignored);

    for (int i = 0; good && i < ROUNDS; i++)
        good = one_round(session, false, took_us);
    printf("# %d updates and %d events: load %.2f ms, save and commit %.2f ms (best of %d)\n", ROWS,
           ROWS, (double)took_us[0] / 1000, (double)took_us[1] / 1000, ROUNDS);
    if (session)
        session->ops->free(session);
    ff_store_free(store);
    CHECK(good);
}

const struct test link_tests[] = {
    {"link__hints_arrive", hints_arrive},
    {"link__hints_are_coalesced", hints_are_coalesced},
    {"link__stuck_session_is_ended", stuck_session_is_ended},
    {"link__batch_of_500_rows", batch_of_500},
    {"link__no_server_is_stop", no_server_is_stop},
    {"link__crash_of_the_server_is_survived", crash_of_the_server},
    {NULL, NULL},
};
