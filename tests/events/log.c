/* SPDX-License-Identifier: Apache-2.0
 *
 * log.c -- sixteen writers that pause between their ids and their commit, and abort.
 *
 * No public call can abort a transaction after its ids were given out, so the writers here speak to
 * Postgres themselves, by the rules every writer of the log keeps: the shared lock, then the ids,
 * then the end. Beside each subscription a naive reader (`event_id > last`) shows that the writers
 * do what breaks it: pitfall F43. */
#include "events.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql_gen.h"

#include "base/banned.h"

#define WRITERS 16

struct writers {
    const char *schema;
    _Atomic bool stop;
    _Atomic int pids[WRITERS]; /* of their backends; 0: none now */
    _Atomic long committed, aborted, lost;
    pthread_t threads[WRITERS];
    size_t started;
};

struct writer {
    struct writers *all;
    size_t index;
    uint64_t seed;
    PGconn *conn;
};

static bool run(struct writer *w, const char *sql)
{
    PGresult *const result = PQexec(w->conn, sql);
    const ExecStatusType status = PQresultStatus(result);

    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* What the server says when it is killed is expected here. */
static void ignore_notice(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

static void connect_writer(struct writer *w)
{
    char sql[128];

    w->all->pids[w->index] = 0;
    PQfinish(w->conn);
    w->conn = PQconnectdb(getenv("FF_TEST_PG"));
    (void)PQsetNoticeProcessor(w->conn, ignore_notice, NULL);
    (void)snprintf(sql, sizeof sql, "SET search_path = %s", w->all->schema);
    if (PQstatus(w->conn) == CONNECTION_OK && run(w, sql))
        w->all->pids[w->index] = PQbackendPID(w->conn);
    else
        test_pause(); /* the server is away */
}

/* Of kind worker: nothing else hangs on such an event. */
static bool write_some(struct writer *w)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO ff_event (event_id, kind, type, at_ms, note) "
                   "SELECT nextval('ff_event_id_seq'), 6, 1, 1, 'w%zu' FROM generate_series(1, %d)",
                   w->index, (int)chance(&w->seed, 5) + 1);
    return run(w, "BEGIN") && run(w, "SELECT pg_advisory_xact_lock_shared(ff_log_key())") &&
           run(w, sql);
}

/* One transaction: ids, a pause, the end. False: its session went away under it. */
static bool write_once(struct writer *w)
{
    const bool aborts = chance(&w->seed, 10) == 0;

    if (!write_some(w))
        return false;
    dawdle((long)chance(&w->seed, chance(&w->seed, 10) ? 8000 : 60000));
    if (!run(w, aborts ? "ROLLBACK" : "COMMIT"))
        return false;
    (*(aborts ? &w->all->aborted : &w->all->committed))++;
    return true;
}

static void *writer_main(void *arg)
{
    struct writer *const w = arg;

    while (!w->all->stop) {
        if (PQstatus(w->conn) != CONNECTION_OK)
            connect_writer(w);
        if (write_once(w))
            continue;
        w->all->lost++;
        PQfinish(w->conn);
        w->conn = NULL;
    }
    PQfinish(w->conn);
    free(w);
    return NULL;
}

static struct writers *start_writers(struct test *t)
{
    struct writers *const all = keep(t, sizeof *all);

    all->schema = t->store->schema;
    for (size_t i = 0; i < WRITERS; i++) {
        struct writer *const w = calloc(1, sizeof *w);

        if (!w)
            abort();
        *w = (struct writer){.all = all, .index = i, .seed = 88172645463325252u + i * 977};
        if (pthread_create(&all->threads[i], NULL, writer_main, w) != 0)
            abort();
        all->started++;
    }
    return all;
}

static void stop_writers(struct writers *all)
{
    all->stop = true;
    for (size_t i = 0; i < all->started; i++)
        pthread_join(all->threads[i], NULL);
}

/* ---- the naive reader ---- */

struct naive {
    const char *schema;
    _Atomic bool stop;
    struct ids *ids;
    _Atomic long long last; /* how far it is, and how many it has seen: see missed_so_far */
    _Atomic long seen;
    pthread_t thread;
};

static void *naive_main(void *arg)
{
    struct naive *const naive = arg;
    PGconn *conn = PQconnectdb(getenv("FF_TEST_PG"));
    long long last = 0;
    char sql[256];

    while (!naive->stop) {
        PGresult *result;

        if (PQstatus(conn) != CONNECTION_OK)
            PQreset(conn);
        (void)PQsetNoticeProcessor(conn, ignore_notice, NULL);
        (void)snprintf(sql, sizeof sql,
                       "SELECT event_id FROM %s.ff_event WHERE event_id > %lld "
                       "ORDER BY event_id LIMIT 256",
                       naive->schema, last);
        result = PQexec(conn, sql);
        for (int i = 0; i < PQntuples(result); i++) {
            last = strtoll(PQgetvalue(result, i, 0), NULL, 10);
            ids_add(naive->ids, last);
        }
        naive->seen = (long)naive->ids->count;
        naive->last = last;
        PQclear(result);
        test_pause(); /* it polls, as such readers do */
    }
    PQfinish(conn);
    return NULL;
}

static struct naive *start_naive(struct test *t)
{
    struct naive *const naive = keep(t, sizeof *naive);

    naive->schema = t->store->schema;
    naive->ids = ids_new(t);
    if (pthread_create(&naive->thread, NULL, naive_main, naive) != 0)
        abort();
    return naive;
}

/* ---- runs ---- */

static const char all_of_them[] = "SELECT event_id FROM ff_event ORDER BY event_id";

struct run_of {
    struct other other;
    struct ff_subscription *sub;
    struct tally tally;
    struct writers *writers;
    struct naive *naive;
    size_t missed; /* by the naive reader */
};

static void begin(struct test *t, struct run_of *r)
{
    *r = (struct run_of){0};
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, &r->other);
    r->tally.ids = ids_new(t);
    r->sub = given_subscribed(t, NULL, "start");
    r->naive = start_naive(t);
    r->writers = start_writers(t);
}

/* How long a part of a run lasts. */
static int64_t lasts_ms(int64_t quick_ms)
{
    return is_full_run() ? quick_ms * 3 : quick_ms;
}

static void follow_for(struct test *t, struct run_of *r, int64_t quick_ms)
{
    for (const int64_t until_ms = test_mono_ms() + lasts_ms(quick_ms); test_mono_ms() < until_ms;)
        (void)take_once(t, r->sub, 0, 20, &r->tally);
}

/* How many the naive reader has passed over, as far as we have been told of them: at least. */
static long missed_so_far(const struct run_of *r)
{
    const long long last = r->naive->last;
    long told = 0;

    for (size_t i = 0; i < r->tally.ids->count; i++)
        told += r->tally.ids->items[i] <= last;
    return told - r->naive->seen;
}

/* What the writers do by chance is waited for. */
static void follow_until(struct test *t, struct run_of *r, long aborted, long missed)
{
    const int64_t until_ms = test_mono_ms() + TEST_WAIT_MS;

    while ((r->writers->aborted < aborted || missed_so_far(r) < missed) &&
           test_mono_ms() < until_ms)
        follow_for(t, r, 100);
}

/* Every event there is has been delivered, in order, and none twice. */
static void finish(struct test *t, struct run_of *r)
{
    struct ids *const truth = ids_new(t);

    follow_until(t, r, 0, 1);
    stop_writers(r->writers);
    take_until(t, r->sub, &r->tally, log_end(t));
    r->naive->stop = true;
    pthread_join(r->naive->thread, NULL);
    ids_read(t, &r->other, all_of_them, truth);
    EXPECT_IDS(t, truth, r->tally.ids);
    EXPECT(t, r->naive->ids->count <= truth->count);
    r->missed = truth->count - r->naive->ids->count;
    (void)printf("# %zu events of %ld commits, %ld aborts, %ld lost; the naive reader missed %zu\n",
                 truth->count, (long)r->writers->committed, (long)r->writers->aborted,
                 (long)r->writers->lost, r->missed);
    EXPECT(t, r->missed > 0); /* or the writers prove nothing */
}

static void sixteen_writers(struct test *t)
{
    struct run_of r;

    begin(t, &r);
    follow_for(t, &r, 20000);
    follow_until(t, &r, 21, 101);
    finish(t, &r);
    EXPECT_INT(t, 0, r.tally.disconnected);
    EXPECT(t, r.writers->aborted > 20);
    EXPECT(t, r.missed > 100);
}

/* Is this session among those the horizon waits for? */
static bool is_waited_for(struct test *t, struct other *watch, PGconn *conn)
{
    PGresult *const mine = PQexec(conn, "SELECT virtualtransaction FROM pg_locks "
                                        "WHERE pid = pg_backend_pid() LIMIT 1");
    PGresult *const head =
        PQexec(watch->conn, ff_sql_blocks[FF_SQL_LOG_HEAD].text[FF_DIALECT_POSTGRES]);
    bool is;

    if (PQntuples(mine) != 1 || PQntuples(head) != 1)
        FAIL(t, "cannot look at the locks: %s", PQerrorMessage(watch->conn));
    is = strstr(PQgetvalue(head, 0, FF_OUT_LOG_HEAD_HOLDERS), PQgetvalue(mine, 0, 0)) != NULL;
    PQclear(mine);
    PQclear(head);
    return is;
}

/* A transaction in another database that holds even the same key. */
static PGconn *given_elsewhere(struct test *t, struct other *watch)
{
    char url[512], sql[128];
    PGconn *elsewhere;
    long key;

    (void)other_says(t, watch, "SET search_path = @");
    key = other_says(t, watch, "SELECT ff_log_key()");
    PQclear(PQexec(watch->conn, "CREATE DATABASE ff_elsewhere"));
    (void)snprintf(url, sizeof url, "dbname=ff_elsewhere user=postgres host=%s port=5432",
                   getenv("FF_TEST_PG_DIR"));
    elsewhere = PQconnectdb(url);
    PQclear(PQexec(elsewhere, "BEGIN"));
    (void)snprintf(sql, sizeof sql, "SELECT pg_advisory_xact_lock_shared(%ld)", key);
    PQclear(PQexec(elsewhere, sql));
    EXPECT_INT(
        t, 1,
        other_says(t, watch,
                   "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
                   "WHERE locktype = 'advisory' AND datname = 'ff_elsewhere'"));
    return elsewhere;
}

/* Transactions that have nothing to do with the log do not hold it up, wherever they are: the
 * horizon moves on while they sit there, and never waits for one of them. */
static void foreign_transactions(struct test *t)
{
    struct other here, watch;
    struct run_of r;
    PGconn *elsewhere;

    begin(t, &r);
    other_open(t, &here);
    other_open(t, &watch);
    (void)other_says(t, &here, "BEGIN");
    (void)other_says(t, &here, "SELECT txid_current()");
    (void)other_says(t, &here, "SELECT pg_advisory_xact_lock(4711)");
    elsewhere = given_elsewhere(t, &watch);
    follow_for(t, &r, 1000);
    for (int i = 0; i < 8; i++) {
        const size_t before = r.tally.ids->count;

        follow_for(t, &r, 500);
        WAIT_UNTIL(t, (take_once(t, r.sub, 0, 20, &r.tally), r.tally.ids->count > before + 10));
        EXPECT(t, !is_waited_for(t, &watch, here.conn));
        EXPECT(t, !is_waited_for(t, &watch, elsewhere));
    }
    finish(t, &r);
    PQfinish(elsewhere);
}

/* Writers whose backends are ended between their ids and their commit. A writer that is just coming
 * back is not hit, so this goes on until enough have been. */
static void terminated_writers(struct test *t)
{
    const int64_t until_ms = test_mono_ms() + TEST_WAIT_MS;
    struct run_of r;
    uint64_t seed = 99;

    begin(t, &r);
    for (int i = 0; i < 40 || (r.writers->lost <= 5 && test_mono_ms() < until_ms); i++) {
        follow_for(t, &r, 100);
        (void)other_says(t, &r.other, "SELECT pg_terminate_backend(%d)",
                         (int)r.writers->pids[chance(&seed, WRITERS)]);
    }
    finish(t, &r);
    EXPECT(t, r.writers->lost > 5);
}

static void reconnect(struct test *t, struct run_of *r)
{
    WAIT_UNTIL_FOR(t, (PQreset(r->other.conn), PQstatus(r->other.conn) == CONNECTION_OK), 60000);
}

/* A backend that dies takes all sessions of the server with it, ours too. */
static void killed_backend(struct test *t)
{
    struct run_of r;

    begin(t, &r);
    for (int i = 0; i < 2; i++) {
        int pid = 0;

        follow_for(t, &r, 1500);
        WAIT_UNTIL(t, (pid = r.writers->pids[i]) > 0);
        EXPECT_INT(t, 0, kill(pid, SIGKILL));
        follow_for(t, &r, 1500);
        reconnect(t, &r);
    }
    finish(t, &r);
    EXPECT(t, r.tally.disconnected > 0);
}

static void restarted_server(struct test *t)
{
    struct run_of r;

    begin(t, &r);
    follow_for(t, &r, 2000);
    server_stop(t);
    follow_for(t, &r, 500);
    server_start(t);
    follow_for(t, &r, 3000);
    reconnect(t, &r);
    finish(t, &r);
    EXPECT(t, r.tally.disconnected > 0);
}

/* ---- numbers without a sequence ---- */

static const char *log_check(struct test *t)
{
    struct ff_diagnosis *const found = keep(t, sizeof *found);

    EXPECT_OK(t, ff_doctor(t->client, found, &t->err));
    keep_answer(t, found->memory);
    for (size_t i = 0; i < found->count; i++)
        if (!strcmp(found->items[i].name, "log"))
            return found->items[i].value;
    return NULL;
}

/* Ids from one row: the order of the log is the order of its commits. */
static void expect_serial(struct test *t)
{
    struct run_of r = {0};
    struct ids *const truth = ids_new(t);

    EXPECT_TEXT(t, "serial", log_check(t));
    other_open(t, &r.other);
    r.tally.ids = ids_new(t);
    r.sub = given_subscribed(t, NULL, "start");
    for (int i = 0; i < 50; i++)
        (void)given_completed(t);
    take_until(t, r.sub, &r.tally, log_end(t));
    ids_read(t, &r.other, all_of_them, truth);
    EXPECT(t, truth->count >= 100);
    EXPECT_IDS(t, truth, r.tally.ids);
    (void)other_says(t, &r.other, "SET search_path = @");
    EXPECT_INT(t, 1,
               other_says(t, &r.other,
                          "SELECT count(*) FROM ff_meta WHERE name = "
                          "'log_counter'"));
}

static void serial_log(struct test *t)
{
    char url[1100];

    (void)snprintf(url, sizeof url, "%s&log=serial", t->url);
    EXPECT_OK(t, ff_open(url, NULL, &t->client, &t->err));
    expect_serial(t);
}

/* A server whose sessions take numbers in advance, as some distributed ones do. It is found out at
 * the start; whoever comes later, and the same server when it behaves again, keep to it. */
static void failed_proof(struct test *t)
{
    struct other other;

    EXPECT_OK(t, ff_migrate(t->url, false, NULL, NULL, &t->err));
    other_open(t, &other);
    (void)other_says(t, &other, "ALTER SEQUENCE @.ff_log_probe_seq CACHE 20");
    (void)other_says(t, &other, "DELETE FROM @.ff_meta WHERE name = 'log_proof'");
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    expect_serial(t);
    EXPECT_INT(t, 0,
               other_says(t, &other, "SELECT count(*) FROM @.ff_meta WHERE name = 'log_proof'"));
    (void)other_says(t, &other, "ALTER SEQUENCE @.ff_log_probe_seq CACHE 1");
    close_client(t, &t->client);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    EXPECT_TEXT(t, "serial", log_check(t));
}

/* A writer that does not end keeps the proof from being made: nothing is claimed to be proven. */
static void proof_that_could_not_be_made(struct test *t)
{
    struct other writer, other;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    close_client(t, &t->client);
    other_open(t, &other);
    other_open(t, &writer);
    (void)other_says(t, &other, "DELETE FROM @.ff_meta WHERE name = 'log_proof'");
    (void)other_says(t, &writer, "SET search_path = @");
    (void)other_says(t, &writer, "BEGIN");
    (void)other_says(t, &writer, "SELECT pg_advisory_xact_lock_shared(ff_log_key())");
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    EXPECT_TEXT(t, "concurrent", log_check(t));
    EXPECT_INT(t, 0,
               other_says(t, &other, "SELECT count(*) FROM @.ff_meta WHERE name = 'log_proof'"));
    (void)other_says(t, &writer, "ROLLBACK");
    close_client(t, &t->client);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    EXPECT_TEXT(t, "concurrent", log_check(t));
    EXPECT_INT(t, 1,
               other_says(t, &other, "SELECT count(*) FROM @.ff_meta WHERE name = 'log_proof'"));
}

/* ---- two processes ---- */

int child_works(const char *url, int fd)
{
    struct ff_client *client = NULL;

    if (ff_open(url, NULL, &client, NULL) != FF_OK || write(fd, "\n", 1) != 1)
        return 1;
    for (;;) {
        struct ff_submission s = submission();
        struct ff_claim_request r = claim_request();
        FF_AUTO(ff_answer_free) struct ff_tasks tasks = {0};
        struct ff_submitted made;
        struct ff_task_result result;
        struct ff_error error;

        (void)!ff_submit(client, &s, 1, &made, &error);
        if (ff_claim(client, &r, &tasks, &error) != FF_OK || !tasks.count)
            continue;
        const struct ff_completion done = {.lease = ff_task_lease(&tasks.items[0])};
        (void)!ff_complete(client, &done, 1, &result, &error);
        if (write(fd, ".", 1) != 1)
            return 0;
    }
}

/* What it has submitted itself the other process may hold at the very moment it looks. */
static void completes_one(struct test *t)
{
    struct ff_claim_request r = claim_request();
    struct held held;

    r.wait_ms = 10000;
    (void)given_submitted(t);
    held = given_claim(t, &r);
    EXPECT_OK(t, when_completed(t, &held, "1"));
}

static void two_processes(struct test *t)
{
    struct run_of r;
    char byte;
    int fd, pid;

    begin(t, &r);
    pid = child_start(t, "work", t->url, &fd);
    for (int i = 0; i < 100; i++) {
        if (read(fd, &byte, 1) != 1)
            FAIL(t, "the other process ended");
        completes_one(t);
        (void)take_once(t, r.sub, 0, 0, &r.tally);
    }
    (void)child_kill(pid);
    (void)close(fd);
    finish(t, &r);
}

/* Neither does one whose second half is refused: that may pass, and serial numbers are for good. */
static void proof_that_is_refused(struct test *t)
{
    struct other other;

    EXPECT_OK(t, ff_migrate(t->url, false, NULL, NULL, &t->err));
    other_open(t, &other);
    (void)other_says(t, &other, "DELETE FROM @.ff_meta WHERE name = 'log_proof'");
    (void)other_says(t, &other, "SELECT setval('@.ff_log_probe_seq', %lld)",
                     INT64_MAX - 1LL); /* one number is left */
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    EXPECT_TEXT(t, "concurrent", log_check(t));
    close_client(t, &t->client);
    (void)other_says(t, &other, "SELECT setval('@.ff_log_probe_seq', 1)");
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    EXPECT_TEXT(t, "concurrent", log_check(t));
    EXPECT_INT(t, 1,
               other_says(t, &other, "SELECT count(*) FROM @.ff_meta WHERE name = 'log_proof'"));
}

const struct plain_case log_cases[] = {
    {"log/f43_sixteen_writers_and_nothing_is_missed", TEST_STORE_POSTGRES, sixteen_writers, false},
    {"log/foreign_transactions_do_not_matter", TEST_STORE_POSTGRES, foreign_transactions, false},
    {"log/writers_are_terminated", TEST_STORE_POSTGRES, terminated_writers, false},
    {"log/a_backend_is_killed", TEST_STORE_POSTGRES, killed_backend, false},
    {"log/the_server_is_restarted", TEST_STORE_POSTGRES, restarted_server, false},
    {"log/two_processes", TEST_STORE_POSTGRES, two_processes, false},
    {"log/serial_numbers", TEST_STORE_POSTGRES, serial_log, false},
    {"log/failed_proof_makes_it_serial", TEST_STORE_POSTGRES, failed_proof, false},
    {"log/proof_that_could_not_be_made_is_none", TEST_STORE_POSTGRES, proof_that_could_not_be_made,
     false},
    {"log/proof_that_is_refused_is_none", TEST_STORE_POSTGRES, proof_that_is_refused, false},
    {0},
};
