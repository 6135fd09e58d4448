/* SPDX-License-Identifier: Apache-2.0
 *
 * floor_postgres.c -- the rows of a job written by hand through libpq, and nothing else.
 *
 * What is written is said in bench/README.md. Every step (insert, claim, complete) is one pipeline
 * with one sync, which Postgres takes as one transaction: one round trip, no BEGIN, no COMMIT.
 * Prepared statements, binary parameters; batches travel as one array per column, single jobs as
 * plain values. Plans are pinned, as the engine's are. */
#include "bench.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"

#include "base/banned.h"

#define OID_BYTEA  17
#define OID_BYTEAS 1001
#define OID_I64    20
#define OID_TEXT   25
#define OID_UUID   2950
#define OID_UUIDS  2951
#define PARAMS_MAX 4

static const char schema[] =
    "CREATE TABLE floor_job (id uuid NOT NULL PRIMARY KEY, namespace text NOT NULL,"
    "  lane text COLLATE \"C\" NOT NULL, kind text NOT NULL, state smallint NOT NULL,"
    "  priority integer NOT NULL, payload bytea NOT NULL, created_at_ms bigint NOT NULL,"
    "  changed_at_ms bigint NOT NULL, version bigint NOT NULL, attempts integer NOT NULL,"
    "  lease_epoch bigint NOT NULL, lease_id uuid, lease_expires_at_ms bigint, worker text,"
    "  started_at_ms bigint, finished_at_ms bigint);"
    "CREATE INDEX floor_job_ready ON floor_job (lane, priority DESC, created_at_ms, id)"
    "  WHERE state = 0;"
    "CREATE TABLE floor_event (event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    "  job_id uuid NOT NULL, kind smallint NOT NULL, at_ms bigint NOT NULL,"
    "  state smallint NOT NULL, version bigint NOT NULL, lease_id uuid, lease_epoch bigint,"
    "  worker text);"
    "CREATE TABLE floor_attempt (job_id uuid NOT NULL, lease_epoch bigint NOT NULL,"
    "  lease_id uuid NOT NULL, worker text NOT NULL, outcome smallint NOT NULL,"
    "  started_at_ms bigint NOT NULL, ended_at_ms bigint NOT NULL,"
    "  PRIMARY KEY (job_id, lease_epoch))";

enum { INSERT, CLAIM, CLAIM_EVENT, DONE, DONE_ATTEMPT, DONE_EVENT, STATEMENTS };

/* $1 is the job, $2 its lease (INSERT: the payload), $3 the time, $4 the worker. */
#define JOB_COLUMNS                                                                                \
    "(id, namespace, lane, kind, state, priority, payload, created_at_ms, changed_at_ms,"          \
    " version, attempts, lease_epoch)"
#define EVENT_COLUMNS "(job_id, kind, at_ms, state, version, lease_id, lease_epoch, worker)"
#define CLAIM_SET                                                                                  \
    "UPDATE floor_job j SET state = 1, changed_at_ms = $3::bigint, version = j.version + 1,"       \
    " attempts = j.attempts + 1, lease_epoch = j.lease_epoch + 1,"                                 \
    " lease_expires_at_ms = $3 + 30000, worker = $4::text, started_at_ms = $3, lease_id = "
#define DONE_SET                                                                                   \
    "UPDATE floor_job j SET state = 2, changed_at_ms = $3::bigint, version = j.version + 1,"       \
    " lease_id = NULL, lease_expires_at_ms = NULL, worker = NULL, finished_at_ms = $3"
#define ATTEMPT_COLUMNS                                                                            \
    "(job_id, lease_epoch, lease_id, worker, outcome, started_at_ms, ended_at_ms)"
#define UNNEST " FROM unnest($1::uuid[], $2::uuid[]) AS u (id, lease_id)"

static const char *const many_texts[STATEMENTS] = {
    [INSERT] = "INSERT INTO floor_job " JOB_COLUMNS
               " SELECT u.id, 'default', 'default', 'bench', 0, 0, u.payload, $3::bigint, $3, 1, 0,"
               " 0 FROM unnest($1::uuid[], $2::bytea[]) AS u (id, payload)",
    [CLAIM] = CLAIM_SET "u.lease_id" UNNEST " WHERE j.id = u.id",
    [CLAIM_EVENT] = "INSERT INTO floor_event " EVENT_COLUMNS
                    " SELECT u.id, 1, $3::bigint, 1, 2, u.lease_id, 1, $4::text" UNNEST,
    [DONE] = DONE_SET " FROM unnest($1::uuid[]) AS u (id) WHERE j.id = u.id",
    [DONE_ATTEMPT] = "INSERT INTO floor_attempt " ATTEMPT_COLUMNS
                     " SELECT u.id, 1, u.lease_id, $4::text, 1, $3::bigint, $3" UNNEST,
    [DONE_EVENT] = "INSERT INTO floor_event " EVENT_COLUMNS
                   " SELECT u.id, 2, $3::bigint, 2, 3, u.lease_id, 1, $4::text" UNNEST,
};

static const char *const one_texts[STATEMENTS] = {
    [INSERT] = "INSERT INTO floor_job " JOB_COLUMNS " VALUES ($1::uuid, 'default', 'default',"
               " 'bench', 0, 0, $2::bytea, $3::bigint, $3, 1, 0, 0)",
    [CLAIM] = CLAIM_SET "$2::uuid WHERE j.id = $1::uuid",
    [CLAIM_EVENT] = "INSERT INTO floor_event " EVENT_COLUMNS
                    " VALUES ($1::uuid, 1, $3::bigint, 1, 2, $2::uuid, 1, $4::text)",
    [DONE] = DONE_SET " WHERE j.id = $1::uuid",
    [DONE_ATTEMPT] = "INSERT INTO floor_attempt " ATTEMPT_COLUMNS
                     " VALUES ($1::uuid, 1, $2::uuid, $4::text, 1, $3::bigint, $3)",
    [DONE_EVENT] = "INSERT INTO floor_event " EVENT_COLUMNS
                   " VALUES ($1::uuid, 2, $3::bigint, 2, 3, $2::uuid, 1, $4::text)",
};

/* How many of $1 to $4 a statement takes; DONE does not look at $2, but the places stay. */
static const int param_counts[STATEMENTS] = {
    [INSERT] = 3, [CLAIM] = 4, [CLAIM_EVENT] = 4, [DONE] = 3, [DONE_ATTEMPT] = 4, [DONE_EVENT] = 4,
};

struct floor {
    const struct bench_run *run;
    PGconn *conn;
    bool one;        /* plain values, no arrays */
    char *arrays[2]; /* $1 and $2 of the step under way */
    size_t bytes[2];
};

static void check(const struct floor *floor, bool good, const char *what)
{
    if (!good)
        bench_die("floor: cannot %s: %s", what, PQerrorMessage(floor->conn));
}

static void run_text(const struct floor *floor, const char *text)
{
    PGresult *const result = PQexec(floor->conn, text);
    const ExecStatusType status = PQresultStatus(result);

    check(floor, status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, text);
    PQclear(result);
}

static void floor_connect(struct floor *floor, const struct bench_run *run, bool one)
{
    char conninfo[1024];

    memset(floor, 0, sizeof *floor);
    floor->run = run;
    floor->one = one;
    floor->conn = PQconnectdb(bench_conninfo(run, conninfo, sizeof conninfo));
    check(floor, PQstatus(floor->conn) == CONNECTION_OK, "connect");
    run_text(floor, "SET synchronous_commit = on; SET jit = off; SET enable_seqscan = off;"
                    "SET enable_hashjoin = off; SET enable_mergejoin = off;"
                    "SET plan_cache_mode = force_generic_plan");
}

static void prepare(struct floor *floor)
{
    for (int i = 0; i < STATEMENTS; i++) {
        const Oid ids = floor->one ? OID_UUID : OID_UUIDS;
        const Oid payloads = floor->one ? OID_BYTEA : OID_BYTEAS;
        const Oid types[PARAMS_MAX] = {ids, i == INSERT ? payloads : ids, OID_I64, OID_TEXT};
        char name[8];
        PGresult *result;

        (void)snprintf(name, sizeof name, "f%d", i);
        result = PQprepare(floor->conn, name, floor->one ? one_texts[i] : many_texts[i],
                           param_counts[i], types);
        check(floor, PQresultStatus(result) == PGRES_COMMAND_OK, "prepare a statement");
        PQclear(result);
    }
    check(floor, PQenterPipelineMode(floor->conn) == 1, "enter pipeline mode");
}

static void floor_disconnect(struct floor *floor)
{
    PQfinish(floor->conn);
    free(floor->arrays[0]);
    free(floor->arrays[1]);
}

/* --- parameters --- */

/* Ids as any engine would make them: unique, in the order of time. */
static void make_id(char *id, char kind, size_t nth)
{
    memset(id, kind, 16);
    ff_put_be_i64((uint8_t *)id, (int64_t)nth);
}

static char *put_i32(char *at, int32_t number)
{
    ff_put_be32((uint8_t *)at, (uint32_t)number);
    return at + 4;
}

/* The binary form of an array with one dimension and no nulls; of one plain value if floor->one. */
static char *array_head(struct floor *floor, int which, int32_t oid, size_t count, size_t bytes)
{
    char *at;

    floor->arrays[which] = realloc(floor->arrays[which], 20 + count * (4 + bytes));
    at = floor->arrays[which];
    if (!at)
        bench_die("out of memory");
    if (floor->one)
        return at;
    at = put_i32(put_i32(put_i32(at, 1), 0), oid);
    return put_i32(put_i32(at, (int32_t)count), 1);
}

static void bind_ids(struct floor *floor, int which, char kind, size_t from, size_t count)
{
    char *at = array_head(floor, which, OID_UUID, count, 16);

    for (size_t i = from; i < from + count; i++) {
        at = floor->one ? at : put_i32(at, 16);
        make_id(at, kind, i);
        at += 16;
    }
    floor->bytes[which] = (size_t)(at - floor->arrays[which]);
}

static void bind_payloads(struct floor *floor, size_t count)
{
    const size_t bytes = floor->run->payload_bytes;
    char *at = array_head(floor, 1, OID_BYTEA, count, bytes);

    for (size_t i = 0; i < count; i++) {
        at = floor->one ? at : put_i32(at, (int32_t)bytes);
        memcpy(at, floor->run->payload, bytes);
        at += bytes;
    }
    floor->bytes[1] = (size_t)(at - floor->arrays[1]);
}

static void send(struct floor *floor, int which)
{
    static const int formats[PARAMS_MAX] = {1, 1, 1, 1};
    uint8_t now[8];
    const char *const values[PARAMS_MAX] = {floor->arrays[0], floor->arrays[1], (const char *)now,
                                            "bench"};
    const int lengths[PARAMS_MAX] = {(int)floor->bytes[0], (int)floor->bytes[1], sizeof now, 5};
    char name[8];

    ff_put_be_i64(now, bench_now_ms());
    (void)snprintf(name, sizeof name, "f%d", which);
    check(floor,
          PQsendQueryPrepared(floor->conn, name, param_counts[which], values, lengths, formats,
                              1) == 1,
          "send");
}

/* Ends the transaction and reads all answers; each must be about `count` rows. */
static void finish(struct floor *floor, size_t count)
{
    bool over = false;

    check(floor, PQpipelineSync(floor->conn) == 1, "send a sync");
    while (!over) {
        PGresult *const result = PQgetResult(floor->conn);

        if (!result)
            continue;
        over = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        check(floor, over || PQresultStatus(result) == PGRES_COMMAND_OK, "write");
        if (!over && strtoul(PQcmdTuples(result), NULL, 10) != count)
            bench_die("floor: not all rows were there");
        PQclear(result);
    }
}

/* --- the three steps of a job --- */

static void insert(struct floor *floor, size_t from, size_t count)
{
    bind_ids(floor, 0, 'j', from, count);
    bind_payloads(floor, count);
    send(floor, INSERT);
    finish(floor, count);
}

static void claim(struct floor *floor, size_t from, size_t count)
{
    bind_ids(floor, 0, 'j', from, count);
    bind_ids(floor, 1, 'l', from, count);
    send(floor, CLAIM);
    send(floor, CLAIM_EVENT);
    finish(floor, count);
}

static void complete(struct floor *floor, size_t from, size_t count)
{
    bind_ids(floor, 0, 'j', from, count);
    bind_ids(floor, 1, 'l', from, count);
    send(floor, DONE);
    send(floor, DONE_ATTEMPT);
    send(floor, DONE_EVENT);
    finish(floor, count);
}

/* --- runs --- */

struct crew {
    struct bench_run *run;
    struct floor *floors;
};

static void crew_open(struct crew *crew, struct bench_run *run, bool filled)
{
    const size_t threads = run->scenario->threads;
    struct floor first;

    *crew = (struct crew){.run = run, .floors = bench_alloc(threads, sizeof *crew->floors)};
    floor_connect(&first, run, false);
    run_text(&first, schema);
    prepare(&first);
    for (size_t from = 0; filled && from < run->count; from += 1000)
        insert(&first, from, run->count - from < 1000 ? run->count - from : 1000);
    floor_disconnect(&first);
    for (size_t i = 0; i < threads; i++) {
        floor_connect(&crew->floors[i], run, run->scenario->batch == 1);
        prepare(&crew->floors[i]);
    }
}

static void crew_close(struct crew *crew)
{
    for (size_t i = 0; i < crew->run->scenario->threads; i++)
        floor_disconnect(&crew->floors[i]);
    free(crew->floors);
}

typedef void step_fn(struct floor *floor, size_t from, size_t count);

/* One thread's share, in batches, each through all the steps. */
static void work_share(struct crew *crew, size_t index, step_fn *const *steps)
{
    const size_t batch = crew->run->scenario->batch;
    size_t from;
    const size_t count = bench_share(crew->run->count, crew->run->scenario->threads, index, &from);

    for (size_t done = 0; done < count; done += batch)
        for (size_t i = 0; steps[i]; i++)
            steps[i](&crew->floors[index], from + done,
                     count - done < batch ? count - done : batch);
}

static void insert_thread(void *ctx, size_t index)
{
    work_share(ctx, index, (step_fn *const[]){insert, NULL});
}

static void work_thread(void *ctx, size_t index)
{
    work_share(ctx, index, (step_fn *const[]){claim, complete, NULL});
}

static void both_thread(void *ctx, size_t index)
{
    work_share(ctx, index, (step_fn *const[]){insert, claim, complete, NULL});
}

static void run_crew(struct bench_run *run, bool filled, bench_thread_fn *fn)
{
    struct crew crew;

    crew_open(&crew, run, filled);
    bench_threads(run, run->scenario->threads, fn, &crew);
    crew_close(&crew);
}

void bench_floor_postgres_insert(struct bench_run *run)
{
    run_crew(run, false, insert_thread);
}

void bench_floor_postgres_work(struct bench_run *run)
{
    run_crew(run, true, work_thread);
}

void bench_floor_postgres_both(struct bench_run *run)
{
    run_crew(run, false, both_thread);
}

void bench_floor_postgres_latency(struct bench_run *run)
{
    double *const ms = bench_alloc(run->count, sizeof *ms);
    struct crew crew;

    crew_open(&crew, run, false);
    bench_start(run);
    for (size_t i = 0; i < run->count; i++) {
        const double from_s = bench_now_s();

        insert(&crew.floors[0], i, 1);
        claim(&crew.floors[0], i, 1);
        complete(&crew.floors[0], i, 1);
        ms[i] = (bench_now_s() - from_s) * 1000;
    }
    bench_stop(run);
    bench_percentiles(run, ms, run->count);
    free(ms);
    crew_close(&crew);
}
