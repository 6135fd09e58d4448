/* SPDX-License-Identifier: Apache-2.0
 *
 * claim.c -- the thread that keeps the shelf filled: one claim for many tasks, ahead of need.
 *
 * A claim is named by a request id and said again under the same id until it is answered, so an
 * answer that got lost brings the same tasks again and leases nothing twice.
 * Read first: src/worker/README.md. Tests: tests/conformance/worker_*.c. */
#include "worker/worker-int.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/encode.h"
#include "base/failpoint.h"
#include "base/random.h"

#include "base/banned.h"

#define RUN_BYTES     8    /* of the name of this run in request ids */
#define CLAIM_WAIT_MS 1000 /* how long a claim waits for work */

/* How many tasks to ask for, with the lock; 0: not now. Batches form because it asks again only
 * when half of what lies ahead has been taken, or a thread has nothing to do. */
static size_t wanted(const struct ff_worker *worker)
{
    const size_t taken = worker->waiting_count + worker->running_count;
    const size_t room = worker->threads + worker->ahead;

    if (taken >= room || worker->waiting_count > worker->ahead / 2)
        return 0;
    return ff_min_size(ff_min_size(room - taken, worker->free_count), FF_TASKS_MAX);
}

static void take(struct ff_worker *worker, struct ff_haul *haul)
{
    pthread_mutex_lock(&worker->lock);
    haul->left = haul->tasks.count;
    worker->stats.claimed += (int64_t)haul->left;
    for (size_t i = 0; i < haul->tasks.count; i++) {
        struct ff_list_node *const node = ff_list_pop_front(&worker->free);

        worker->free_count--;
        ff_context_start(ff_list_item(node, struct ff_context, link), haul, &haul->tasks.items[i]);
    }
    ff_worker_summon(worker);
    pthread_mutex_unlock(&worker->lock);
}

/* One claim, said until it is answered. False: the worker ends. */
static bool claim(struct ff_worker *worker, const struct ff_claim_request *request,
                  struct ff_haul *haul)
{
    for (int32_t tries = 0;; tries++) {
        struct ff_error error = {0};
        const ff_status status = ff_claim(worker->claims, request, &haul->tasks, &error);

        ff_worker_called(worker, status, "claim", &error);
        if (status == FF_OK)
            return true;
        pthread_mutex_lock(&worker->lock);
        if (!ff_status_say_again(status)) {
            /* The same answer would come again: a name is wrong, the schema does not fit ... */
            worker->fatal = status;
            worker->fatal_error = error;
            ff_worker_stop(worker);
        } else if (!worker->stopping) {
            ff_worker_wait_until(worker, &worker->room,
                                 ff_worker_now_ms() + ff_worker_backoff_ms(tries));
        }
        /* What a claim without an answer has leased goes back when the leases lapse. */
        const bool ends = worker->stopping || worker->fatal != FF_OK;
        pthread_mutex_unlock(&worker->lock);
        if (ends)
            return false;
    }
}

static size_t wait_for_room(struct ff_worker *worker)
{
    size_t count = 0;

    pthread_mutex_lock(&worker->lock);
    while (!worker->stopping && (count = wanted(worker)) == 0)
        pthread_cond_wait(&worker->room, &worker->lock);
    if (worker->stopping)
        count = 0;
    pthread_mutex_unlock(&worker->lock);
    return count;
}

/* The worker ends, and what waits for a thread will get none. */
static void leave(struct ff_worker *worker)
{
    struct ff_list_node *node;

    pthread_mutex_lock(&worker->lock);
    worker->claimer_left = true;
    pthread_cond_signal(&worker->said);
    while ((node = ff_list_pop_front(&worker->waiting))) {
        struct ff_context *const ctx = ff_list_item(node, struct ff_context, link);

        worker->waiting_count--;
        ff_context_end(ctx, ff_context_release(ctx, "the worker was stopped"));
    }
    pthread_mutex_unlock(&worker->lock);
}

void *ff_worker_claims(void *arg)
{
    struct ff_worker *const worker = arg;
    struct ff_claim_request request = worker->request;
    const struct ff_random random = ff_random_system();
    char run[2 * RUN_BYTES + 1], request_id[64];
    uint8_t bytes[RUN_BYTES];
    size_t count;

    /* Another process may have had the same instance id, and numbered its claims as we do. */
    ff_random_bytes(&random, bytes, sizeof bytes);
    ff_hex_encode(bytes, sizeof bytes, run);

    request.wait_ms = CLAIM_WAIT_MS;
    request.request_id = request_id;
    for (int64_t number = 1; (count = wait_for_room(worker)) > 0; number++) {
        struct ff_haul *const haul = ff_calloc(1, sizeof *haul);

        (void)snprintf(request_id, sizeof request_id, "claim-%s-%" PRId64, run, number);
        request.max = (int32_t)count;
        if (!haul || !claim(worker, &request, haul)) {
            if (!haul) {
                ff_worker_notice(worker, "no memory to claim");
                ff_worker_stop(worker);
            }
            ff_free(haul);
            break;
        }
        if (haul->tasks.count) {
            FF_FAILPOINT(worker_claimed);
            take(worker, haul);
        } else {
            ff_answer_free(&haul->tasks);
            ff_free(haul);
        }
    }
    leave(worker);
    return NULL;
}
