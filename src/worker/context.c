/* SPDX-License-Identifier: Apache-2.0
 *
 * context.c -- one task in hand: what its handler may ask and say, and when it is over.
 *
 * Read first: src/worker/README.md. Tests: tests/conformance/worker_*.c. */
#include "worker/worker-int.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "base/wait.h"

#include "base/banned.h"

void ff_context_start(struct ff_context *ctx, struct ff_haul *haul, const struct ff_task *task)
{
    struct ff_worker *const worker = ctx->worker;

    *ctx = (struct ff_context){
        .worker = worker,
        .haul = haul,
        .task = task,
        .stage = FF_STAGE_WAITING,
        .renew_at_ms = ff_worker_now_ms() + worker->renew_every_ms,
        .percent = -1,
    };
    ff_list_push_back(&worker->waiting, &ctx->link);
    worker->waiting_count++;
    if (ctx->renew_at_ms < worker->beat_at_ms) {
        worker->beat_at_ms = ctx->renew_at_ms;
        pthread_cond_signal(&worker->beat);
    }
}

void ff_context_end(struct ff_context *ctx, ff_verdict verdict)
{
    ctx->stage = FF_STAGE_ENDED;
    ctx->verdict = verdict;
    ctx->say_at_ms = ff_worker_now_ms();
    ctx->give_up_at_ms = ctx->say_at_ms + ff_max_i64(2 * ctx->task->lease_ttl_ms, 60000);
    ff_list_push_back(&ctx->worker->outbox, &ctx->link);
    pthread_cond_signal(&ctx->worker->said);
}

static void say_nothing(struct ff_context *ctx)
{
    union {
        const char *in;
        void *out;
    } const text = {.in = ctx->text.ptr};

    ff_free(text.out);
    ctx->text = ff_str_null();
    ctx->content_type[0] = '\0';
    ctx->failure_class[0] = '\0';
    ctx->delay_ms = 0;
}

static void recycle(struct ff_context *ctx)
{
    struct ff_worker *const worker = ctx->worker;
    struct ff_haul *const haul = ctx->haul;

    say_nothing(ctx);
    ff_free(ctx->progress);
    ctx->progress = NULL;
    ctx->haul = NULL;
    if (--haul->left == 0) {
        ff_answer_free(&haul->tasks);
        ff_free(haul);
    }
    ff_list_push_back(&worker->free, &ctx->link);
    worker->free_count++;
    pthread_cond_signal(&worker->room);
}

void ff_context_drop(struct ff_context *ctx)
{
    assert(ctx->stage != FF_STAGE_FREE);
    ff_list_remove(&ctx->link);
    ctx->stage = FF_STAGE_FREE;
    if (!ctx->pins)
        recycle(ctx);
}

void ff_context_unpin(struct ff_context *ctx)
{
    if (--ctx->pins == 0 && ctx->stage == FF_STAGE_FREE)
        recycle(ctx);
}

void ff_context_lose(struct ff_context *ctx)
{
    struct ff_worker *const worker = ctx->worker;

    /* What has ended gets its answer from its report. */
    if (ctx->lost || (ctx->stage != FF_STAGE_WAITING && ctx->stage != FF_STAGE_RUNNING))
        return;
    worker->stats.lost++;
    if (ctx->stage == FF_STAGE_WAITING) {
        worker->waiting_count--;
        ff_context_drop(ctx);
        return;
    }
    ctx->lost = true;
    ctx->cancelled = true;
    pthread_cond_broadcast(&worker->cancelled);
}

/* NULL for NULL, or without memory. */
static char *copy_of(struct ff_str text)
{
    char *const copy = text.ptr ? ff_malloc(text.len + 1) : NULL;

    if (copy) {
        memcpy(copy, text.ptr, text.len);
        copy[text.len] = '\0';
    }
    return copy;
}

/* ---- what a handler asks -----------------------------------------------------------------------
 */

const struct ff_task *ff_context_task(const struct ff_context *ctx)
{
    return ctx->task;
}

bool ff_context_cancelled(struct ff_context *ctx)
{
    return ff_context_wait(ctx, 0);
}

bool ff_context_wait(struct ff_context *ctx, int64_t ms)
{
    struct ff_worker *const worker = ctx->worker;
    const int64_t until_ms = ff_add_i64_clamped(ff_worker_now_ms(), ms);
    int64_t left_ms = ms;
    bool cancelled;

    pthread_mutex_lock(&worker->lock);
    while (!ctx->cancelled && left_ms > 0) {
        ff_wait_ms(&worker->cancelled, &worker->lock, ff_min_i64(left_ms, FF_WAIT_MS_MAX));
        left_ms = until_ms - ff_worker_now_ms();
    }
    cancelled = ctx->cancelled;
    pthread_mutex_unlock(&worker->lock);
    return cancelled;
}

void ff_context_progress(struct ff_context *ctx, int32_t percent, const char *message)
{
    struct ff_worker *const worker = ctx->worker;
    char text[FF_MESSAGE_BYTES_MAX + 1];
    char *copy = NULL;

    if (message) {
        (void)ff_str_print(text, sizeof text, "%s", message);
        copy = copy_of(ff_str_of(text));
    }
    pthread_mutex_lock(&worker->lock);
    if (percent >= 0)
        ctx->percent = percent;
    if (copy) {
        ff_free(ctx->progress);
        ctx->progress = copy;
    }
    ctx->progress_due = true;
    pthread_cond_signal(&worker->said);
    pthread_mutex_unlock(&worker->lock);
}

/* ---- what a handler says -----------------------------------------------------------------------
 *
 * Nobody else looks at these fields before the handler has returned. */

static bool keep_text(struct ff_context *ctx, struct ff_str text)
{
    say_nothing(ctx);
    ctx->text = (struct ff_str){copy_of(text), text.len};
    return ctx->text.ptr || !text.ptr;
}

ff_verdict ff_context_done(struct ff_context *ctx, const char *json)
{
    return ff_context_done_bytes(ctx, ff_str_of(json), NULL);
}

ff_verdict ff_context_done_bytes(struct ff_context *ctx, struct ff_str result,
                                 const char *content_type)
{
    if (!keep_text(ctx, result))
        return ff_context_fail(ctx, NULL, "no memory for the result");
    if (content_type)
        (void)snprintf(ctx->content_type, sizeof ctx->content_type, "%s", content_type);
    return ctx->verdict = FF_VERDICT_DONE;
}

ff_verdict ff_context_fail(struct ff_context *ctx, const char *failure_class, const char *message,
                           ...)
{
    char text[FF_MESSAGE_BYTES_MAX + 1];
    va_list args;

    va_start(args, message);
    (void)ff_str_vprint(text, sizeof text, message, args);
    va_end(args);
    (void)keep_text(ctx, ff_str_of(text));
    (void)snprintf(ctx->failure_class, sizeof ctx->failure_class, "%s",
                   failure_class ? failure_class : "transient");
    return ctx->verdict = FF_VERDICT_FAILED;
}

ff_verdict ff_context_delay(struct ff_context *ctx, int64_t delay_ms)
{
    say_nothing(ctx);
    ctx->delay_ms = delay_ms;
    return ctx->verdict = FF_VERDICT_DELAYED;
}

ff_verdict ff_context_release(struct ff_context *ctx, const char *reason)
{
    char text[FF_REASON_BYTES_MAX + 1];

    (void)ff_str_print(text, sizeof text, "%s", reason ? reason : "");
    (void)keep_text(ctx, reason ? ff_str_of(text) : ff_str_null());
    return ctx->verdict = FF_VERDICT_RELEASED;
}
