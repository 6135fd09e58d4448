/* SPDX-License-Identifier: Apache-2.0
 *
 * report.c -- the reporter: says in batches what handlers have said, until it is heard.
 *
 * While one batch is under way the next gathers. What got no answer is said again, word by word:
 * the engine recognises a repeat of a worker's last word and gives the first answer, so nothing is
 * ever completed twice. Read first: src/worker/README.md. Tests: tests/conformance/worker_*.c. */
#include "worker/worker-int.h"

#include "base/alloc.h"
#include "base/failpoint.h"
#include "base/str.h"

#include "base/banned.h"

#define BATCH_BYTES_MAX   (2 << 20) /* of results in one call; base64 and JSON make them larger */
#define PROGRESS_EVERY_MS 500       /* of one task */

struct batch {
    struct ff_context *contexts[FF_TASKS_MAX];
    struct ff_task_result results[FF_TASKS_MAX];
    union {
        struct ff_completion done[FF_TASKS_MAX];
        struct ff_failure failed[FF_TASKS_MAX];
        struct ff_postponement delayed[FF_TASKS_MAX];
        struct ff_giveback released[FF_TASKS_MAX];
        struct ff_progress_note progress[FF_TASKS_MAX];
    } items;
    char *messages[FF_TASKS_MAX]; /* of progress notes; owned */
    size_t count;
    ff_verdict verdict;
};

/* ---- one call per verdict ----------------------------------------------------------------------
 */

static ff_status say_done(struct ff_client *client, struct batch *batch, struct ff_error *reterr)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct ff_context *const ctx = batch->contexts[i];

        batch->items.done[i] = (struct ff_completion){
            .lease = ff_task_lease(ctx->task),
            .result = ctx->text,
            .result_content_type = ctx->content_type[0] ? ctx->content_type : NULL,
        };
    }
    return ff_complete(client, batch->items.done, batch->count, batch->results, reterr);
}

static ff_status say_failed(struct ff_client *client, struct batch *batch, struct ff_error *reterr)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct ff_context *const ctx = batch->contexts[i];

        batch->items.failed[i] = (struct ff_failure){
            .lease = ff_task_lease(ctx->task),
            .message = ctx->text.ptr,
            .failure_class = ctx->failure_class,
            .retry_after_ms = FF_ABSENT_MS,
        };
    }
    return ff_fail_task(client, batch->items.failed, batch->count, batch->results, reterr);
}

static ff_status say_delayed(struct ff_client *client, struct batch *batch, struct ff_error *reterr)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct ff_context *const ctx = batch->contexts[i];

        batch->items.delayed[i] = (struct ff_postponement){
            .lease = ff_task_lease(ctx->task),
            .delay_ms = ctx->delay_ms,
            .delay_until_ms = FF_ABSENT_MS,
        };
    }
    return ff_delay(client, batch->items.delayed, batch->count, batch->results, reterr);
}

static ff_status say_released(struct ff_client *client, struct batch *batch,
                              struct ff_error *reterr)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct ff_context *const ctx = batch->contexts[i];

        batch->items.released[i] = (struct ff_giveback){
            .lease = ff_task_lease(ctx->task),
            .reason = ctx->text.ptr,
        };
    }
    return ff_release(client, batch->items.released, batch->count, batch->results, reterr);
}

static ff_status say(struct ff_client *client, struct batch *batch, struct ff_error *reterr)
{
    static ff_status (*const by_verdict[])(struct ff_client *, struct batch *,
                                           struct ff_error *) = {
        [FF_VERDICT_DONE] = say_done,
        [FF_VERDICT_FAILED] = say_failed,
        [FF_VERDICT_DELAYED] = say_delayed,
        [FF_VERDICT_RELEASED] = say_released,
    };

    return by_verdict[batch->verdict](client, batch, reterr);
}

/* ---- batches, with the lock --------------------------------------------------------------------
 */

/* What a worker that ends gives back, while a claim of its own is under way: it would get it again.
 * The claimer wakes us when it has left. */
static bool is_kept_back(const struct ff_context *ctx)
{
    return ctx->verdict == FF_VERDICT_RELEASED && ctx->worker->stopping &&
           !ctx->worker->claimer_left;
}

/* Everything due with the verdict of the oldest. When the rest is due. */
static int64_t gather(struct ff_worker *worker, struct batch *batch)
{
    const int64_t now_ms = ff_worker_now_ms();
    int64_t next_ms = INT64_MAX;
    size_t bytes = 0;

    batch->count = 0;
    FF_LIST_FOR_EACH(node, &worker->outbox)
    {
        struct ff_context *const ctx = ff_list_item(node, struct ff_context, link);

        if (is_kept_back(ctx))
            continue;
        if (!batch->count)
            batch->verdict = ctx->verdict;
        if (ctx->say_at_ms > now_ms || ctx->verdict != batch->verdict ||
            batch->count == FF_TASKS_MAX ||
            (batch->count && bytes + ctx->text.len > BATCH_BYTES_MAX)) {
            next_ms = ff_min_i64(next_ms, ctx->say_at_ms);
            continue;
        }
        bytes += ctx->text.len;
        ff_list_remove(&ctx->link);
        batch->contexts[batch->count++] = ctx;
    }
    return next_ms;
}

static void count(struct ff_worker_stats *stats, ff_verdict verdict)
{
    int64_t *const counts[] = {
        [FF_VERDICT_DONE] = &stats->done,
        [FF_VERDICT_FAILED] = &stats->failed,
        [FF_VERDICT_DELAYED] = &stats->delayed,
        [FF_VERDICT_RELEASED] = &stats->released,
    };

    (*counts[verdict])++;
}

static void settle(struct ff_context *ctx, ff_status status, const struct ff_error *error)
{
    struct ff_worker *const worker = ctx->worker;

    if (status == FF_OK) {
        count(&worker->stats, ctx->verdict);
        ff_context_drop(ctx);
    } else if (ff_status_say_again(status) && ff_worker_now_ms() < ctx->give_up_at_ms) {
        ctx->say_at_ms = ff_worker_now_ms() + ff_worker_backoff_ms(ctx->tries++);
        ff_list_push_back(&worker->outbox, &ctx->link);
    } else if (!ff_status_ends_lease(status) && ctx->verdict != FF_VERDICT_FAILED &&
               !ff_status_say_again(status)) {
        /* A result that is too large, a delay that makes no sense: the execution must not hang
         * until its lease lapses, only to meet the same answer again. */
        ff_context_end(ctx, ff_context_fail(ctx, "permanent", "not accepted: %s", error->message));
    } else {
        worker->stats.lost++;
        ff_context_drop(ctx);
    }
}

/* Without the lock, and returns with it; so does the one for progress. */
static void report(struct ff_worker *worker, struct batch *batch)
{
    struct ff_error error = {0};
    const ff_status status = ff_status_of_call(say(worker->words, batch, &error));
    size_t refused = 0;

    FF_FAILPOINT(worker_reported);
    ff_worker_called(worker, status, "report", &error);
    for (size_t i = 0; status == FF_OK && i < batch->count; i++) {
        if (batch->results[i].status != FF_OK && refused++ == 0)
            ff_worker_notice(worker, "cannot report '%s': %s",
                             batch->contexts[i]->task->execution_id,
                             batch->results[i].error.message);
    }
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < batch->count; i++) {
        if (status == FF_OK)
            settle(batch->contexts[i], batch->results[i].status, &batch->results[i].error);
        else
            settle(batch->contexts[i], status, &error);
    }
}

/* ---- progress ----------------------------------------------------------------------------------
 */

static int64_t gather_progress(struct ff_worker *worker, struct batch *batch)
{
    const int64_t now_ms = ff_worker_now_ms();
    int64_t next_ms = INT64_MAX;

    batch->count = 0;
    for (size_t i = 0; i < worker->pool_count; i++) {
        struct ff_context *const ctx = &worker->pool[i];

        if (ctx->stage != FF_STAGE_RUNNING || !ctx->progress_due || ctx->lost)
            continue;
        if (ctx->progress_at_ms > now_ms || batch->count == FF_TASKS_MAX) {
            next_ms = ff_min_i64(next_ms, ctx->progress_at_ms);
            continue;
        }
        ctx->pins++;
        ctx->progress_due = false;
        ctx->progress_at_ms = now_ms + PROGRESS_EVERY_MS;
        batch->messages[batch->count] = FF_STEAL(ctx->progress);
        batch->items.progress[batch->count] = (struct ff_progress_note){
            .lease = ff_task_lease(ctx->task),
            .percent = ctx->percent,
            .message = batch->messages[batch->count],
        };
        batch->contexts[batch->count++] = ctx;
    }
    return next_ms;
}

/* Progress is worth one try: the next note is newer. */
static void report_progress(struct ff_worker *worker, struct batch *batch)
{
    struct ff_error error;
    const ff_status status =
        ff_progress(worker->words, batch->items.progress, batch->count, batch->results, &error);

    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < batch->count; i++) {
        if (status == FF_OK && ff_status_ends_lease(batch->results[i].status))
            ff_context_lose(batch->contexts[i]);
        ff_context_unpin(batch->contexts[i]);
        ff_free(batch->messages[i]);
    }
}

/* ---- the thread --------------------------------------------------------------------------------
 */

/* With the lock. At the end nothing waits longer than the time it was given. */
static bool is_over(struct ff_worker *worker)
{
    return worker->report_until_ms &&
           (ff_list_empty(&worker->outbox) || ff_worker_now_ms() >= worker->report_until_ms);
}

void *ff_worker_reports(void *arg)
{
    struct ff_worker *const worker = arg;
    struct batch *const batch = ff_calloc(1, sizeof *batch);
    int64_t next_ms;

    if (!batch)
        ff_worker_stop(worker); /* the leases lapse and others take over */
    pthread_mutex_lock(&worker->lock);
    while (batch && !is_over(worker)) {
        next_ms = gather(worker, batch);
        if (batch->count) {
            pthread_mutex_unlock(&worker->lock);
            report(worker, batch);
            continue;
        }
        next_ms = ff_min_i64(next_ms, gather_progress(worker, batch));
        if (batch->count) {
            pthread_mutex_unlock(&worker->lock);
            report_progress(worker, batch);
            continue;
        }
        ff_worker_wait_until(worker, &worker->said, next_ms);
    }
    pthread_mutex_unlock(&worker->lock);
    ff_free(batch);
    return NULL;
}
