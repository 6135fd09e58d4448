/* SPDX-License-Identifier: Apache-2.0
 *
 * call.c -- the ways in: queue a job, wait for jobs, read.
 *
 * Tests: tests/unit/test_engine.c. */
#include "engine/engine.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/wait.h"
#include "engine/engine-int.h"
#include "model/lease.h"
#include "ops/execution.h"

#include "base/banned.h"

#define LATE_MS 50 /* a caller looks this long beyond its deadline before it gives up */

static void counted_done(struct ff_job *job, void *ctx)
{
    struct ff_engine *const engine = ctx;

    atomic_fetch_sub(&engine->under_way, 1);
    ff_measure_answered(engine, job);
    job->inner_done(job, job->inner_ctx);
}

/* What every word under a lease begins with. */
static bool is_about_member(const struct ff_job *job)
{
    const struct ff_task_ref *const task = job->in;

    return (job->type->flags & FF_OPF_LEASED) && ff_lease_is_of_member(task->lease_id);
}

/* Rows, roughly, of what a helper may do beside the first executor. */
static size_t weight_of(const struct ff_job *job)
{
    const struct ff_claim_in *const claim = job->in;

    if (job->large || (job->type->cls != FF_CLASS_CALLER && job->type->cls != FF_CLASS_SUBMIT))
        return 0;
    return job->type == &ff_op_types[FF_OP_EXECUTION_CLAIM] ? (size_t)claim->max : 1;
}

static void hand_over(struct ff_engine *engine, struct ff_job *const *jobs, size_t count)
{
    const int64_t now_ms = ff_engine_mono_ms(engine);

    for (size_t i = 0; i < count; i++) {
        struct ff_job *const job = jobs[i];

        if (job->type == &ff_op_types[FF_OP_EXECUTION_CLAIM])
            ff_engine_note_worker(engine, job);
        ff_engine_random(engine, job->seed.b, sizeof job->seed.b);
        job->kept = ff_arena_mark(&job->arena);
        job->member = is_about_member(job);
        job->weight = weight_of(job);
        job->born_mono_ms = now_ms;
        if (engine->executors[0].which == FF_TAKE_ALL)
            job->shared = false; /* there is nobody to share with */
        job->inner_done = job->done;
        job->inner_ctx = job->ctx;
        job->done = counted_done;
        job->ctx = engine;
    }
    atomic_fetch_add(&engine->under_way, (int64_t)count);
}

static void take_back(struct ff_engine *engine, struct ff_job *job)
{
    atomic_fetch_sub(&engine->under_way, 1);
    job->done = job->inner_done;
    job->ctx = job->inner_ctx;
}

size_t ff_engine_submit_all(struct ff_engine *engine, struct ff_job *const *jobs, size_t count,
                            struct ff_error *reterr)
{
    size_t taken;

    hand_over(engine, jobs, count);
    if (count == 1 && ff_engine_park_first(engine, jobs[0])) {
        ff_queue_came(&engine->queue);
        return 1;
    }
    taken = ff_queue_push(&engine->queue, jobs, count, reterr);
    for (size_t i = taken; i < count; i++) /* those taken are not ours any more */
        take_back(engine, jobs[i]);
    return taken;
}

ff_status ff_engine_submit(struct ff_engine *engine, struct ff_job *job, struct ff_error *reterr)
{
    return ff_engine_submit_all(engine, &job, 1, reterr) == 1 ? FF_OK : reterr->status;
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
        take_back(engine, job);
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
    if (--waiter->pending == 0)
        pthread_cond_signal(&waiter->ended);
    if (left)
        ff_job_free(job);
    waiter_unref(waiter, true);
}

static struct waiter *waiter_new(size_t slots)
{
    struct waiter *const waiter = ff_calloc(1, sizeof *waiter + slots * sizeof(struct slot));

    if (!waiter)
        return NULL;
    pthread_mutex_init(&waiter->lock, NULL);
    ff_wait_init(&waiter->ended);
    waiter->refs = 1;
    return waiter;
}

/* The job is still out: take it back, or leave it to `done` and answer in its place. */
static struct ff_job *part_with(struct ff_engine *engine, struct ff_job *job, struct slot *slot)
{
    const bool repeatable = job->repeatable;
    const ff_giving_up how = ff_engine_give_up(engine, job);
    struct ff_error late;
    struct ff_job *stand_in;

    if (how == FF_GAVE_UP_YOURS) {
        job->status = ff_job_late(job, &job->error);
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
    (void)ff_job_late(job, &late); /* while it is still there */
    pthread_mutex_unlock(&slot->waiter->lock);
    if (how != FF_GAVE_UP_NOT_APPLIED)
        (void)ff_fail(&late, FF_OUTCOME_UNKNOWN, "not answered in time");
    stand_in = ff_calloc(1, sizeof *stand_in);
    if (stand_in) {
        stand_in->error = late;
        stand_in->error.repeatable = late.status == FF_OUTCOME_UNKNOWN && repeatable;
        stand_in->status = late.status;
    }
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

static void queue_all(struct ff_engine *engine, struct ff_job **jobs, size_t count,
                      struct waiter *waiter)
{
    struct slot *const slots = (struct slot *)(waiter + 1);
    struct ff_error error;
    size_t taken;

    waiter->pending = count;
    waiter->refs += count;
    for (size_t i = 0; i < count; i++) {
        slots[i].waiter = waiter;
        jobs[i]->done = slot_done;
        jobs[i]->ctx = &slots[i];
    }
    taken = ff_engine_submit_all(engine, jobs, count, &error);
    for (size_t i = taken; i < count; i++) {
        jobs[i]->status = error.status;
        jobs[i]->error = error;
        pthread_mutex_lock(&waiter->lock);
        waiter->pending--;
        slots[i].over = true;
        waiter_unref(waiter, true);
    }
}

static void wait_for_all(struct ff_engine *engine, struct waiter *waiter, int64_t until_ms)
{
    pthread_mutex_lock(&waiter->lock);
    while (waiter->pending > 0) {
        const int64_t left_ms = until_ms + LATE_MS - ff_engine_mono_ms(engine);

        if (left_ms <= 0)
            break;
        if (engine->options.threads)
            ff_wait_ms(&waiter->ended, &waiter->lock, left_ms);
        else
            drive(engine, waiter);
    }
    pthread_mutex_unlock(&waiter->lock);
}

static bool is_over(struct slot *slot)
{
    bool over;

    pthread_mutex_lock(&slot->waiter->lock);
    over = slot->over;
    pthread_mutex_unlock(&slot->waiter->lock);
    return over;
}

void ff_engine_call(struct ff_engine *engine, struct ff_job **jobs, size_t count,
                    int64_t timeout_ms)
{
    struct waiter *const waiter = waiter_new(count);
    struct slot *const slots = waiter ? (struct slot *)(waiter + 1) : NULL;
    int64_t until_ms = ff_engine_mono_ms(engine) + timeout_ms;

    for (size_t i = 0; i < count; i++) {
        struct ff_job *const job = jobs[i];

        if (!waiter)
            job->status = ff_fail(&job->error, FF_NO_MEMORY, "out of memory");
        job->deadline_mono_ms = ff_max_i64(until_ms, job->wait_until_mono_ms + timeout_ms);
        until_ms = ff_max_i64(until_ms, job->deadline_mono_ms);
    }
    if (!waiter)
        return;
    queue_all(engine, jobs, count, waiter);
    wait_for_all(engine, waiter, until_ms);
    for (size_t i = 0; i < count; i++)
        if (!is_over(&slots[i]))
            jobs[i] = part_with(engine, jobs[i], &slots[i]);
    waiter_unref(waiter, false);
}
