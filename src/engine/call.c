/* SPDX-License-Identifier: Apache-2.0
 *
 * call.c -- the ways in: queue a job, wait for jobs, read.
 *
 * Tests: tests/unit/test_engine.c. */
#include "engine/engine.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/engine-int.h"

#include "base/banned.h"

#define LATE_MS 50 /* a caller looks this long beyond its deadline before it gives up */

static void counted_done(struct ff_job *job, void *ctx)
{
    struct ff_engine *const engine = ctx;

    atomic_fetch_sub(&engine->under_way, 1);
    job->inner_done(job, job->inner_ctx);
}

ff_status ff_engine_submit(struct ff_engine *engine, struct ff_job *job, struct ff_error *reterr)
{
    ff_status status;

    if (job->type == &ff_op_types[FF_OP_EXECUTION_CLAIM])
        ff_engine_note_worker(engine, job);
    ff_engine_random(engine, job->seed.b, sizeof job->seed.b);
    job->inner_done = job->done;
    job->inner_ctx = job->ctx;
    job->done = counted_done;
    job->ctx = engine;
    atomic_fetch_add(&engine->under_way, 1);
    status = ff_queue_push(&engine->queue, job, reterr);
    if (status != FF_OK) {
        atomic_fetch_sub(&engine->under_way, 1);
        job->done = job->inner_done;
        job->ctx = job->inner_ctx;
    }
    return status;
}

ff_giving_up ff_engine_give_up(struct ff_engine *engine, struct ff_job *job)
{
    int queued = FF_JOB_QUEUED;
    int applied = FF_JOB_APPLIED;
    bool mine = false;

    pthread_mutex_lock(&engine->lock);
    if (job->parked) {
        ff_list_remove(&job->link);
        job->parked = false;
        mine = true;
    }
    pthread_mutex_unlock(&engine->lock);
    if (mine || ff_queue_remove(&engine->queue, job)) {
        atomic_fetch_sub(&engine->under_way, 1);
        job->done = job->inner_done;
        job->ctx = job->inner_ctx;
        return FF_GAVE_UP_YOURS;
    }
    if (atomic_compare_exchange_strong(&job->stage, &queued, FF_JOB_ABANDONED))
        return FF_GAVE_UP_NOT_APPLIED;
    (void)atomic_compare_exchange_strong(&job->stage, &applied, FF_JOB_LATE);
    return FF_GAVE_UP_LATE;
}

/* --- waiting for a set of jobs --- */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t pending;
    size_t refs; /* the caller and every job still out */
};

struct slot {
    struct waiter *waiter;
    bool over; /* `done` has been called */
    bool left; /* the caller has gone: `done` frees the job */
};

static void waiter_unref(struct waiter *waiter, bool locked)
{
    bool last;

    if (!locked)
        pthread_mutex_lock(&waiter->lock);
    last = --waiter->refs == 0;
    pthread_mutex_unlock(&waiter->lock);
    if (last) {
        pthread_cond_destroy(&waiter->ended);
        pthread_mutex_destroy(&waiter->lock);
        ff_free(waiter);
    }
}

static void slot_done(struct ff_job *job, void *ctx)
{
    struct slot *const slot = ctx;
    struct waiter *const waiter = slot->waiter;
    bool left;

    pthread_mutex_lock(&waiter->lock);
    slot->over = true;
    left = slot->left;
    waiter->pending--;
    pthread_cond_signal(&waiter->ended);
    if (left)
        ff_job_free(job);
    waiter_unref(waiter, true);
}

static struct waiter *waiter_new(size_t slots)
{
    struct waiter *const waiter = ff_calloc(1, sizeof *waiter + slots * sizeof(struct slot));
    pthread_condattr_t attr;

    if (!waiter)
        return NULL;
    pthread_mutex_init(&waiter->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->ended, &attr);
    pthread_condattr_destroy(&attr);
    waiter->refs = 1;
    return waiter;
}

static void wait_ms(struct waiter *waiter, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_cond_timedwait(&waiter->ended, &waiter->lock, &until);
}

/* The job is still out: take it back, or leave it to `done` and answer in its place. */
static struct ff_job *part_with(struct ff_engine *engine, struct ff_job *job, struct slot *slot)
{
    const ff_giving_up how = ff_engine_give_up(engine, job);
    struct ff_job *stand_in;

    if (how == FF_GAVE_UP_YOURS) {
        job->status = ff_fail(&job->error, FF_TIMEOUT, "not done in time");
        pthread_mutex_lock(&slot->waiter->lock);
        slot->waiter->pending--;
        waiter_unref(slot->waiter, true);
        return job;
    }
    pthread_mutex_lock(&slot->waiter->lock);
    if (slot->over) { /* it ended while we were asking */
        pthread_mutex_unlock(&slot->waiter->lock);
        return job;
    }
    slot->left = true;
    pthread_mutex_unlock(&slot->waiter->lock);
    stand_in = ff_calloc(1, sizeof *stand_in);
    if (stand_in)
        stand_in->status =
            how == FF_GAVE_UP_NOT_APPLIED
                ? ff_fail(&stand_in->error, FF_TIMEOUT, "not done in time")
                : ff_fail(&stand_in->error, FF_OUTCOME_UNKNOWN, "not answered in time");
    return stand_in;
}

/* With no threads, the caller drives the engine itself. */
static void drive(struct ff_engine *engine, struct waiter *waiter)
{
    int waiting;

    pthread_mutex_unlock(&waiter->lock);
    (void)ff_engine_step(engine, &waiting);
    pthread_mutex_lock(&waiter->lock);
}

void ff_engine_call(struct ff_engine *engine, struct ff_job **jobs, size_t count,
                    int64_t timeout_ms)
{
    struct waiter *const waiter = waiter_new(count);
    struct slot *const slots = waiter ? (struct slot *)(waiter + 1) : NULL;
    int64_t until_ms = ff_engine_mono_ms(engine) + timeout_ms;

    for (size_t i = 0; i < count; i++) {
        struct ff_job *const job = jobs[i];
        struct ff_error error;

        if (!waiter) {
            job->status = ff_fail(&job->error, FF_NO_MEMORY, "out of memory");
            continue;
        }
        slots[i].waiter = waiter;
        job->done = slot_done;
        job->ctx = &slots[i];
        job->deadline_mono_ms = ff_max_i64(until_ms, job->wait_until_mono_ms + timeout_ms);
        until_ms = ff_max_i64(until_ms, job->deadline_mono_ms);
        pthread_mutex_lock(&waiter->lock);
        waiter->pending++;
        waiter->refs++;
        pthread_mutex_unlock(&waiter->lock);
        /* Once handed over the job is not ours to write to: it may have been answered already. */
        const ff_status status = ff_engine_submit(engine, job, &error);
        if (status != FF_OK) {
            job->status = status;
            job->error = error;
            pthread_mutex_lock(&waiter->lock);
            waiter->pending--;
            slots[i].over = true;
            waiter_unref(waiter, true);
        }
    }
    if (!waiter)
        return;
    pthread_mutex_lock(&waiter->lock);
    while (waiter->pending > 0) {
        const int64_t left_ms = until_ms + LATE_MS - ff_engine_mono_ms(engine);

        if (left_ms <= 0)
            break;
        if (engine->options.threads)
            wait_ms(waiter, left_ms);
        else
            drive(engine, waiter);
    }
    pthread_mutex_unlock(&waiter->lock);
    for (size_t i = 0; i < count; i++) {
        bool over;

        pthread_mutex_lock(&waiter->lock);
        over = slots[i].over;
        pthread_mutex_unlock(&waiter->lock);
        if (!over)
            jobs[i] = part_with(engine, jobs[i], &slots[i]);
    }
    waiter_unref(waiter, false);
}

/* --- reading --- */

static struct ff_reader *borrow(struct ff_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    for (;;) {
        for (size_t i = 0; i < engine->reader_count; i++)
            if (!engine->readers[i].lent) {
                engine->readers[i].lent = true;
                pthread_mutex_unlock(&engine->lock);
                return &engine->readers[i];
            }
        pthread_cond_wait(&engine->reader_free, &engine->lock);
    }
}

static void give_back(struct ff_engine *engine, struct ff_reader *reader)
{
    pthread_mutex_lock(&engine->lock);
    reader->lent = false;
    pthread_cond_signal(&engine->reader_free);
    pthread_mutex_unlock(&engine->lock);
}

ff_status ff_engine_read(struct ff_engine *engine, struct ff_read *read, int64_t timeout_ms,
                         struct ff_error *reterr)
{
    struct ff_reader *const reader = borrow(engine);
    const ff_status status = ff_session_read(reader->session, read, timeout_ms, reterr);

    engine->stats.store_calls++;
    give_back(engine, reader);
    return status;
}

ff_status ff_engine_peek(struct ff_engine *engine, struct ff_rowset *rows, int64_t timeout_ms,
                         struct ff_error *reterr)
{
    struct ff_reader *const reader = borrow(engine);
    struct ff_call call = {.kind = FF_CALL_PEEK, .rows = rows};

    ff_session_run(reader->session, &call, timeout_ms);
    engine->stats.store_calls++;
    give_back(engine, reader);
    if (rows->arena->failed)
        return ff_fail(reterr, FF_NO_MEMORY, "out of memory");
    if (call.outcome != FF_CALLED_OK)
        return ff_fail(reterr, FF_UNAVAILABLE, "%s", call.error.message);
    return FF_OK;
}
