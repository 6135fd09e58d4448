/* SPDX-License-Identifier: Apache-2.0
 *
 * handle.c -- the threads that run handlers.
 *
 * Read first: src/worker/README.md. Tests: tests/conformance/worker_*.c. */
#include "worker/worker-int.h"

#include <string.h>

#include "base/failpoint.h"

#include "base/banned.h"

static const struct ff_kind_handler *handler_of(const struct ff_worker *worker, const char *kind)
{
    const struct ff_kind_handler *any = NULL;

    for (size_t i = 0; i < worker->handler_count; i++) {
        const struct ff_kind_handler *const one = &worker->handlers[i];

        if (!one->kind)
            any = one;
        else if (!strcmp(one->kind, kind))
            return one;
    }
    return any;
}

static ff_verdict run_handler(struct ff_context *ctx)
{
    const struct ff_kind_handler *const one = handler_of(ctx->worker, ctx->task->kind);
    ff_verdict verdict;

    if (!one)
        return ff_context_release(ctx, "this worker has no handler for the kind");
    ctx->verdict = FF_VERDICT_DONE;
    verdict = one->handler(ctx, one->data);
    if (verdict == ctx->verdict)
        return verdict;
    /* It returned something else than it said last: the return value counts. */
    switch (verdict) {
    case FF_VERDICT_DONE:
        return ff_context_done(ctx, NULL);
    case FF_VERDICT_RELEASED:
        return ff_context_release(ctx, NULL);
    case FF_VERDICT_FAILED:
        return ff_context_fail(ctx, NULL, "the handler failed without a message");
    case FF_VERDICT_DELAYED:
    default:
        return ff_context_fail(ctx, NULL, "the handler returned %d, which says nothing",
                               (int)verdict);
    }
}

/* With the lock, after the handler. */
static void judge(struct ff_context *ctx, ff_verdict verdict)
{
    if (ctx->lost) {
        ff_context_drop(ctx);
        return;
    }
    /* It gave up because we are leaving: that is no failure of the task. */
    if (ctx->cancelled && verdict == FF_VERDICT_FAILED)
        verdict = ff_context_release(ctx, "the worker was stopped");
    ff_context_end(ctx, verdict);
}

void ff_worker_summon(struct ff_worker *worker)
{
    if (worker->summoned || worker->resting_count == 0 || ff_list_empty(&worker->waiting))
        return;
    worker->summoned = true;
    pthread_cond_signal(&worker->work);
}

static void rest(struct ff_worker *worker)
{
    worker->resting_count++;
    pthread_cond_wait(&worker->work, &worker->lock);
    worker->resting_count--;
    worker->summoned = false;
}

void *ff_worker_handles(void *arg)
{
    struct ff_worker *const worker = arg;

    pthread_mutex_lock(&worker->lock);
    while (!worker->stopping) {
        struct ff_list_node *const node = ff_list_pop_front(&worker->waiting);

        if (!node) {
            rest(worker);
            continue;
        }
        struct ff_context *const ctx = ff_list_item(node, struct ff_context, link);
        ctx->stage = FF_STAGE_RUNNING;
        worker->waiting_count--;
        worker->running_count++;
        ff_worker_summon(worker);
        pthread_cond_signal(&worker->room);
        pthread_mutex_unlock(&worker->lock);

        const ff_verdict verdict = run_handler(ctx);
        FF_FAILPOINT(worker_handled);

        pthread_mutex_lock(&worker->lock);
        worker->running_count--;
        judge(ctx, verdict);
        pthread_cond_signal(&worker->room);
        pthread_cond_signal(&worker->idle);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}
