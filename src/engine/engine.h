/* SPDX-License-Identifier: Apache-2.0
 *
 * engine.h -- the engine as its callers see it: hand over jobs, read, close.
 *
 * With `threads` it runs by itself; without, a simulator calls ff_engine_step. Any number of
 * threads may call. Read first: src/engine/README.md. Tests: tests/unit/test_engine.c, tests/sim.
 */
#ifndef FF_ENGINE_ENGINE_H
#define FF_ENGINE_ENGINE_H

#include "engine/job.h"
#include "ops/background.h"
#include "store/store.h"

struct ff_engine;

struct ff_engine_options {
    struct ff_store *store; /* the engine owns it from a successful ff_engine_new on */
    struct ff_settings settings;
    int executors; /* 0: 1 on SQLite, 2 on Postgres */
    int readers;   /* sessions for reads; 0: 2 */
    bool threads;
    bool loops;   /* timers, scanners, pulse */
    bool cascade; /* what commits of ours make for the cascade is done at once, */
    bool rides;   /* if it can, in the very batch that makes it */
    bool assumes; /* batches need not look at what they can have proved */
    struct ff_scan_filter filter;
    struct ff_clock clock;
    struct ff_random random;
};
void ff_engine_options_default(struct ff_engine_options *options);

FF_MUST_CHECK ff_status ff_engine_new(const struct ff_engine_options *options,
                                      struct ff_engine **ret_engine, struct ff_error *reterr);
/* Refuses new jobs, waits up to grace_ms for those under way, answers the rest FF_CLOSED. Returns
 * the number of loops that had not ended; without loops, of steps of the cascade. A second call
 * does nothing. */
size_t ff_engine_close(struct ff_engine *engine, int64_t grace_ms);
void ff_engine_free(struct ff_engine *engine);

/* Mints the job's seed and queues it. On failure the job is still the caller's. */
FF_MUST_CHECK ff_status ff_engine_submit(struct ff_engine *engine, struct ff_job *job,
                                         struct ff_error *reterr);
/* The same for many, in their order; returns how many were taken. The others are still the
 * caller's, and reterr says why. */
size_t ff_engine_submit_all(struct ff_engine *engine, struct ff_job *const *jobs, size_t count,
                            struct ff_error *reterr);
typedef enum ff_giving_up {
    FF_GAVE_UP_YOURS, /* certainly not applied; the job is the caller's, `done` is not called */
    FF_GAVE_UP_NOT_APPLIED, /* certainly not applied; `done` will still be called */
    FF_GAVE_UP_LATE,        /* may be applied; `done` will still be called */
} ff_giving_up;
/* The caller does not want to wait any longer. */
ff_giving_up ff_engine_give_up(struct ff_engine *engine, struct ff_job *job);

/* Queue jobs and wait for all of them, at most timeout_ms (plus wait_ms for claims that park).
 * Afterwards jobs[i]->status is the answer and the caller frees the job. A job that is still out is
 * replaced by a stand-in that says FF_TIMEOUT or FF_OUTCOME_UNKNOWN and has no `out`; jobs[i] is
 * NULL (outcome unknown) if there was no memory for one. */
void ff_engine_call(struct ff_engine *engine, struct ff_job **jobs, size_t count,
                    int64_t timeout_ms);

/* Run one read-only block, or load the wanted keys of a rowset without lock. */
FF_MUST_CHECK ff_status ff_engine_read(struct ff_engine *engine, struct ff_read *read,
                                       int64_t timeout_ms, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_engine_peek(struct ff_engine *engine, struct ff_rowset *rows,
                                       int64_t timeout_ms, struct ff_error *reterr);

const struct ff_settings *ff_engine_settings(const struct ff_engine *engine);
const struct ff_store_facts *ff_engine_facts(const struct ff_engine *engine);
const struct ff_clock *ff_engine_clock(const struct ff_engine *engine);
void ff_engine_random(struct ff_engine *engine, void *buf, size_t len);
/* The store's time, as far as this process knows it. */
int64_t ff_engine_now_ms(struct ff_engine *engine);
/* Whether ff_engine_now_ms can be trusted: its clock stands still while the machine sleeps. */
bool ff_engine_knows_now(struct ff_engine *engine);

struct ff_loop_report {
    const char *name;
    int64_t interval_ms, ticks;
    int64_t last_processed, last_errors, processed, errors;
    int64_t last_scanned, last_noop; /* loops of the cascade: found, and done by somebody else */
};
/* Fills up to `max` reports; returns how many loops there are. */
size_t ff_engine_loops(struct ff_engine *engine, struct ff_loop_report *out, size_t max);

struct ff_engine_stats {
    int64_t batches, jobs, reruns, bisections, unknowns, resolved_committed, busy, poison;
    int64_t batch_jobs_max;
    int64_t store_calls;      /* made by executors, readers and loops */
    int64_t wakeups;          /* parked claims woken by a hint, or served without one */
    int64_t follow_bytes_max; /* the most that has ever waited for one follower */
    int64_t cascading;        /* hops and drains on their way in this process, now */
};
void ff_engine_stats(struct ff_engine *engine, struct ff_engine_stats *out);

/* One thread drives everything: do what can be done now. Returns the time (mono) at which it wants
 * to be called again unless a store call ends earlier; `ret_waiting` tells how many store calls are
 * under way. */
int64_t ff_engine_step(struct ff_engine *engine, int *ret_waiting);

#endif
