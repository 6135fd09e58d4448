/* SPDX-License-Identifier: Apache-2.0
 *
 * ours.h -- what the files that drive our own engine share: a client, submitting, working.
 *
 * For ours.c, runtime.c, flows.c, events.c, growth.c and serve.c only. Public header only, default
 * options.
 */
#ifndef FF_BENCH_OURS_H
#define FF_BENCH_OURS_H

#include "bench.h"

#include <flowfabric.h>
#include <pthread.h>
#include <stdatomic.h>

#define BULK      1000
#define PARKED_MS 2000

struct ours {
    struct bench_run *run;
    struct ff_client *client;
    atomic_size_t done;  /* executions completed */
    atomic_size_t calls; /* of the public header */
};

void ours_check(ff_status status, const struct ff_error *error, const char *what);
void ours_open(struct ours *ours, struct bench_run *run);
/* The same, through a server. */
void ours_open_url(struct ours *ours, struct bench_run *run, const char *url);
/* Ends with the audit: a fast engine that leaves a broken store has not run at all. */
void ours_close(struct ours *ours);
void ours_leave(struct ours *ours); /* without an audit */
struct ff_submission ours_submission(const struct bench_run *run);
/* In calls of `per_call`. */
void ours_submit(struct ours *ours, size_t count, size_t per_call);
/* run->count starts on a store in use; `start_s` says how long its start took. */
void ours_starts(struct bench_run *run, double (*start_s)(struct bench_run *run));

struct ours_worker {
    size_t index;
    size_t max;             /* tasks per claim */
    int64_t wait_ms;        /* 0: do not wait for work */
    const char *capability; /* NULL: none */
};
/* Returns how many came; complete them, were it none. */
size_t ours_claim(struct ours *ours, const struct ours_worker *worker, struct ff_tasks *ret_tasks);
void ours_complete(struct ours *ours, struct ff_tasks *tasks);
/* Both; returns how many there were. */
size_t ours_work(struct ours *ours, const struct ours_worker *worker);
/* Submits run->count and has them drained by the scenario's threads; the clock is about the drain.
 */
void ours_drain(struct ours *ours);
/* The library's own worker (runtime.c), on a thread of its own. */
struct ours_runtime {
    struct ff_worker *worker;
    pthread_t thread;
};
void ours_runtime_start(struct ours_runtime *runtime, struct ours *ours, size_t slots);
/* Until so many executions have been completed since its start. */
void ours_runtime_await(struct ours_runtime *runtime, size_t done);
void ours_runtime_stop(struct ours_runtime *runtime);

/* The scenario's threads submit one at a time; ours_both: a worker with as many slots meanwhile. */
void ours_single(struct ours *ours);
void ours_both(struct ours *ours);
void ours_sleep_ms(long ms);

#endif
