/* SPDX-License-Identifier: Apache-2.0
 *
 * floor_sqlite.c -- the rows of a job written by hand through sqlite3, and nothing else.
 *
 * What is written is said in bench/README.md. Prepared statements, one transaction per `batch`
 * jobs and step, WAL, synchronous=FULL, one connection: SQLite has one writer, so more would only
 * wait for each other. */
#include "bench.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static const char schema[] =
    "CREATE TABLE floor_job (id BLOB NOT NULL PRIMARY KEY, namespace TEXT NOT NULL,"
    "  lane TEXT NOT NULL, kind TEXT NOT NULL, state INTEGER NOT NULL, priority INTEGER NOT NULL,"
    "  payload BLOB NOT NULL, created_at_ms INTEGER NOT NULL, changed_at_ms INTEGER NOT NULL,"
    "  version INTEGER NOT NULL, attempts INTEGER NOT NULL, lease_epoch INTEGER NOT NULL,"
    "  lease_id BLOB, lease_expires_at_ms INTEGER, worker TEXT, started_at_ms INTEGER,"
    "  finished_at_ms INTEGER) STRICT;"
    "CREATE INDEX floor_job_ready ON floor_job (lane, priority DESC, created_at_ms, id)"
    "  WHERE state = 0;"
    "CREATE TABLE floor_event (event_id INTEGER PRIMARY KEY AUTOINCREMENT, job_id BLOB NOT NULL,"
    "  kind INTEGER NOT NULL, at_ms INTEGER NOT NULL, state INTEGER NOT NULL,"
    "  version INTEGER NOT NULL, lease_id BLOB, lease_epoch INTEGER, worker TEXT) STRICT;"
    "CREATE TABLE floor_attempt (job_id BLOB NOT NULL, lease_epoch INTEGER NOT NULL,"
    "  lease_id BLOB NOT NULL, worker TEXT NOT NULL, outcome INTEGER NOT NULL,"
    "  started_at_ms INTEGER NOT NULL, ended_at_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (job_id, lease_epoch)) STRICT, WITHOUT ROWID;";

enum { BEGIN, COMMIT, INSERT, CLAIM, CLAIM_EVENT, DONE, DONE_ATTEMPT, DONE_EVENT, STATEMENTS };

/* ?1 is the job, ?2 the lease, ?3 the time, ?4 the worker or payload. */
static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [INSERT] = "INSERT INTO floor_job (id, namespace, lane, kind, state, priority, payload,"
               " created_at_ms, changed_at_ms, version, attempts, lease_epoch)"
               " VALUES (?1, 'default', 'default', 'bench', 0, 0, ?4, ?3, ?3, 1, 0, 0)",
    [CLAIM] = "UPDATE floor_job SET state = 1, changed_at_ms = ?3, version = version + 1,"
              " attempts = attempts + 1, lease_epoch = lease_epoch + 1, lease_id = ?2,"
              " lease_expires_at_ms = ?3 + 30000, worker = ?4, started_at_ms = ?3 WHERE id = ?1",
    [CLAIM_EVENT] = "INSERT INTO floor_event (job_id, kind, at_ms, state, version, lease_id,"
                    " lease_epoch, worker) VALUES (?1, 1, ?3, 1, 2, ?2, 1, ?4)",
    [DONE] = "UPDATE floor_job SET state = 2, changed_at_ms = ?3, version = version + 1,"
             " lease_id = NULL, lease_expires_at_ms = NULL, worker = NULL, finished_at_ms = ?3"
             " WHERE id = ?1",
    [DONE_ATTEMPT] = "INSERT INTO floor_attempt (job_id, lease_epoch, lease_id, worker, outcome,"
                     " started_at_ms, ended_at_ms) VALUES (?1, 1, ?2, ?4, 1, ?3, ?3)",
    [DONE_EVENT] = "INSERT INTO floor_event (job_id, kind, at_ms, state, version, lease_id,"
                   " lease_epoch, worker) VALUES (?1, 2, ?3, 2, 3, ?2, 1, ?4)",
};

struct floor {
    const struct bench_run *run;
    sqlite3 *db;
    sqlite3_stmt *stmts[STATEMENTS];
};

static void check(const struct floor *floor, bool good, const char *what)
{
    if (!good)
        bench_die("floor: cannot %s: %s", what, sqlite3_errmsg(floor->db));
}

static void floor_open(struct floor *floor, const struct bench_run *run)
{
    memset(floor, 0, sizeof *floor);
    floor->run = run;
    check(floor, sqlite3_open(run->place, &floor->db) == SQLITE_OK, "open the file");
    check(floor,
          sqlite3_exec(floor->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL,
                       NULL, NULL) == SQLITE_OK,
          "set the journal mode");
    check(floor, sqlite3_exec(floor->db, schema, NULL, NULL, NULL) == SQLITE_OK, "make the tables");
    for (int i = 0; i < STATEMENTS; i++)
        check(floor,
              sqlite3_prepare_v3(floor->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                 &floor->stmts[i], NULL) == SQLITE_OK,
              texts[i]);
}

static void floor_close(struct floor *floor, size_t finished)
{
    sqlite3_stmt *stmt;

    check(floor,
          sqlite3_prepare_v2(floor->db,
                             "SELECT (SELECT count(*) FROM floor_job WHERE state = 2),"
                             " (SELECT count(*) FROM floor_attempt),"
                             " (SELECT count(*) FROM floor_event)",
                             -1, &stmt, NULL) == SQLITE_OK &&
              sqlite3_step(stmt) == SQLITE_ROW,
          "count the rows");
    if (sqlite3_column_int64(stmt, 0) != (int64_t)finished ||
        sqlite3_column_int64(stmt, 1) != (int64_t)finished ||
        sqlite3_column_int64(stmt, 2) != (int64_t)finished * 2)
        bench_die("floor: not all rows are there");
    sqlite3_finalize(stmt);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(floor->stmts[i]);
    check(floor, sqlite3_close(floor->db) == SQLITE_OK, "close the file");
}

static void step(struct floor *floor, int which)
{
    check(floor, sqlite3_step(floor->stmts[which]) == SQLITE_DONE, texts[which]);
    sqlite3_reset(floor->stmts[which]);
}

/* Ids as any engine would make them: unique, in the order of time. */
static void make_id(unsigned char id[16], char kind, size_t nth)
{
    memset(id, kind, 16);
    for (int i = 0; i < 8; i++)
        id[i] = (unsigned char)(nth >> (8 * (7 - i)));
}

static void write_row(struct floor *floor, int which, size_t nth)
{
    sqlite3_stmt *const stmt = floor->stmts[which];
    const int params = sqlite3_bind_parameter_count(stmt);
    unsigned char job[16];
    unsigned char lease[16];

    make_id(job, 'j', nth);
    make_id(lease, 'l', nth);
    sqlite3_bind_blob(stmt, 1, job, sizeof job, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, bench_now_ms());
    if (which == INSERT) {
        sqlite3_bind_blob(stmt, 4, floor->run->payload, (int)floor->run->payload_bytes,
                          SQLITE_STATIC);
    } else {
        sqlite3_bind_blob(stmt, 2, lease, sizeof lease, SQLITE_STATIC);
        if (params >= 4)
            sqlite3_bind_text(stmt, 4, "bench", -1, SQLITE_STATIC);
    }
    step(floor, which);
}

static void insert(struct floor *floor, size_t from, size_t count)
{
    step(floor, BEGIN);
    for (size_t i = from; i < from + count; i++)
        write_row(floor, INSERT, i);
    step(floor, COMMIT);
}

static void claim(struct floor *floor, size_t from, size_t count)
{
    step(floor, BEGIN);
    for (size_t i = from; i < from + count; i++) {
        write_row(floor, CLAIM, i);
        write_row(floor, CLAIM_EVENT, i);
    }
    step(floor, COMMIT);
}

static void complete(struct floor *floor, size_t from, size_t count)
{
    step(floor, BEGIN);
    for (size_t i = from; i < from + count; i++) {
        write_row(floor, DONE, i);
        write_row(floor, DONE_ATTEMPT, i);
        write_row(floor, DONE_EVENT, i);
    }
    step(floor, COMMIT);
}

static size_t rest(size_t total, size_t from, size_t batch)
{
    return total - from < batch ? total - from : batch;
}

static void insert_all(struct floor *floor, size_t count, size_t batch)
{
    for (size_t from = 0; from < count; from += batch)
        insert(floor, from, rest(count, from, batch));
}

void bench_floor_sqlite_insert(struct bench_run *run)
{
    struct floor floor;

    floor_open(&floor, run);
    bench_start(run);
    insert_all(&floor, run->count, run->scenario->batch);
    bench_stop(run);
    floor_close(&floor, 0);
}

void bench_floor_sqlite_work(struct bench_run *run)
{
    const size_t batch = run->scenario->batch;
    struct floor floor;

    floor_open(&floor, run);
    insert_all(&floor, run->count, 1000);
    bench_start(run);
    for (size_t from = 0; from < run->count; from += batch) {
        claim(&floor, from, rest(run->count, from, batch));
        complete(&floor, from, rest(run->count, from, batch));
    }
    bench_stop(run);
    floor_close(&floor, run->count);
}

static void one(struct floor *floor, size_t nth)
{
    insert(floor, nth, 1);
    claim(floor, nth, 1);
    complete(floor, nth, 1);
}

void bench_floor_sqlite_both(struct bench_run *run)
{
    struct floor floor;

    floor_open(&floor, run);
    bench_start(run);
    for (size_t i = 0; i < run->count; i++)
        one(&floor, i);
    bench_stop(run);
    floor_close(&floor, run->count);
}

void bench_floor_sqlite_latency(struct bench_run *run)
{
    double *const ms = bench_alloc(run->count, sizeof *ms);
    struct floor floor;

    floor_open(&floor, run);
    bench_start(run);
    for (size_t i = 0; i < run->count; i++) {
        const double from_s = bench_now_s();

        one(&floor, i);
        ms[i] = (bench_now_s() - from_s) * 1000;
    }
    bench_stop(run);
    bench_percentiles(run, ms, run->count);
    free(ms);
    floor_close(&floor, run->count);
}
