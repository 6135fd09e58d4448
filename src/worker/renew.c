/* SPDX-License-Identifier: Apache-2.0
 *
 * renew.c -- the keeper: renews every lease in hand, and notices those that are gone.
 *
 * An outage cancels nobody: only a definite no does. The epoch of the lease protects the store from
 * a worker that should have stopped. Read first: src/worker/README.md. Tests:
 * tests/conformance/worker_*.c. */
#include "worker/worker-int.h"

#include "base/alloc.h"
#include "base/wait.h"

#include "base/banned.h"

#define AGAIN_MS 500 /* after a renewal that got no answer, at most */

struct round {
    struct ff_context *contexts[FF_TASKS_MAX];
    struct ff_renewal items[FF_TASKS_MAX];
    struct ff_task_result results[FF_TASKS_MAX];
    size_t count;
};

/* With the lock: picks what is due and pins it. When the next one is due. */
static int64_t gather(struct ff_worker *worker, struct round *round)
{
    const int64_t now_ms = ff_worker_now_ms();
    int64_t next_ms = INT64_MAX;

    round->count = 0;
    for (size_t i = 0; i < worker->pool_count; i++) {
        struct ff_context *const ctx = &worker->pool[i];

        if (ctx->stage == FF_STAGE_FREE || ctx->lost)
            continue;
        if (ctx->renew_at_ms > now_ms || round->count == FF_TASKS_MAX) {
            next_ms = ff_min_i64(next_ms, ctx->renew_at_ms);
            continue;
        }
        ctx->pins++;
        round->contexts[round->count] = ctx;
        round->items[round->count++] = (struct ff_renewal){.lease = ff_task_lease(ctx->task)};
    }
    return next_ms;
}

/* With the lock. */
static void settle(struct ff_worker *worker, struct round *round, ff_status status)
{
    const int64_t now_ms = ff_worker_now_ms();

    for (size_t i = 0; i < round->count; i++) {
        struct ff_context *const ctx = round->contexts[i];
        const ff_status answer = status == FF_OK ? round->results[i].status : status;

        ctx->renew_at_ms =
            now_ms + (answer == FF_OK ? worker->renew_every_ms
                                      : ff_min_i64(worker->renew_every_ms, AGAIN_MS));
        if (ff_status_ends_lease(answer))
            ff_context_lose(ctx);
        ff_context_unpin(ctx);
    }
}

/* Without the lock, and returns with it. */
static void renew(struct ff_worker *worker, struct round *round)
{
    struct ff_error error = {0};
    const ff_status status = ff_status_of_call(
        ff_renew(worker->words, round->items, round->count, round->results, &error));

    ff_worker_called(worker, status, "renew leases", &error);
    pthread_mutex_lock(&worker->lock);
    settle(worker, round, status);
}

void *ff_worker_renews(void *arg)
{
    struct ff_worker *const worker = arg;
    struct round *const round = ff_calloc(1, sizeof *round);

    if (!round)
        ff_worker_stop(worker); /* what is in hand is released or ends before its lease does */
    pthread_mutex_lock(&worker->lock);
    while (round && !worker->keeper_ends) {
        const int64_t next_ms = gather(worker, round);

        if (round->count) {
            pthread_mutex_unlock(&worker->lock);
            renew(worker, round);
        } else {
            worker->beat_at_ms = next_ms;
            ff_worker_wait_until(worker, &worker->beat, next_ms);
            worker->beat_at_ms = 0;
        }
    }
    pthread_mutex_unlock(&worker->lock);
    ff_free(round);
    return NULL;
}
