/* SPDX-License-Identifier: Apache-2.0
 *
 * executor.c -- need, load, apply, save, reply; refusal.c: what to do when the store says no.
 *
 *   IDLE --take--> (LOADING) --apply--> (BOARDING) --> SAVING --commit--> replies --> IDLE
 *                     |        '-----> ROLLING (nothing to save) ---------'
 *                     |                  SAVING --lost--> RESOLVING --> replies, or again
 *
 * What must stay true: no reply before the commit is known; a batch is applied again only after the
 * store said that it is not there; one job's failure never touches its neighbours.
 * Tests: tests/unit/test_engine.c, tests/faults, tests/sim. */
#include "engine/executor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mutant.h"
#include "engine/assume.h"
#include "engine/engine-int.h"
#include "engine/handover.h"

#include "base/banned.h"

#define AGAINS_MAX 100

ff_status ff_executor_init(struct ff_executor *executor, struct ff_engine *engine,
                           ff_lane_of_work which, struct ff_error *reterr)
{
    memset(executor, 0, sizeof *executor);
    executor->engine = engine;
    executor->which = which;
    ff_list_init(&executor->groups);
    ff_batch_init(&executor->batch);
    executor->backoff_ms = FF_BACKOFF_FIRST_MS;

    const ff_status status =
        engine->store->ops->session_new(engine->store, &executor->session, reterr);
    if (status != FF_OK)
        ff_batch_done(&executor->batch); /* nobody counts an executor that could not be made */
    return status;
}

void ff_executor_done(struct ff_executor *executor)
{
    if (executor->session)
        executor->session->ops->free(executor->session);
    ff_batch_done(&executor->batch);
}

/* --- taking --- */

/* While one executor asks about a commit, the others do its work too. */
ff_lane_of_work ff_executor_takes(const struct ff_executor *executor)
{
    if (executor->which != FF_TAKE_PATIENT && atomic_load(&executor->engine->resolving) > 0)
        return FF_TAKE_ALL;
    return executor->which;
}

/* Into an empty batch, or rather into `jobs`: they may be too many for it. */
static bool take(struct ff_executor *executor, struct ff_list *jobs)
{
    struct ff_batch *const batch = &executor->batch;
    struct ff_list_node *const node = ff_list_pop_front(&executor->groups);

    if (node) {
        struct ff_group *const group = ff_list_item(node, struct ff_group, link);

        while (!ff_list_empty(&group->jobs))
            ff_list_push_back(jobs, &ff_job_pop(&group->jobs)->link);
        batch->reruns = group->reruns;
        batch->failed = group->failed;
        ff_free(group);
        return true;
    }
    return ff_queue_take(&executor->engine->queue, ff_executor_takes(executor), FF_BATCH_OPS_MAX,
                         jobs) > 0;
}

static int32_t lock_wait_ms(const struct ff_executor *executor)
{
    const struct ff_job *job;
    int64_t rest_ms;

    if (executor->which != FF_TAKE_PATIENT)
        return 0;
    job = ff_job_first(&executor->batch.jobs);
    if (job->type->cls == FF_CLASS_BACKGROUND)
        return FF_PATIENT_BG_MS;
    /* The load may wait so long, the save once more, and its answer must come in time. */
    rest_ms = (job->deadline_mono_ms - ff_engine_mono_ms(executor->engine)) / 3;
    return (int32_t)ff_max_i64(1, ff_min_i64(rest_ms, FF_PATIENT_MS_MAX));
}

static void note_away(struct ff_executor *executor, bool is_away)
{
    if (executor->which == FF_TAKE_CASCADE)
        ff_queue_away(&executor->engine->queue, is_away);
}

static void start(struct ff_executor *executor, ff_call_kind kind, ff_executor_stage stage)
{
    executor->call = (struct ff_call){
        .kind = kind,
        .rows = &executor->batch.rows,
        .batch_id = executor->batch.id,
        .begins = executor->batch.unloaded && kind == FF_CALL_SAVE,
        .decided_ms = executor->batch.now_ms,
        .lock_wait_ms = kind == FF_CALL_LOAD ? lock_wait_ms(executor) : 0,
    };
    executor->stage = stage;
    executor->calling = true;
    executor->engine->stats.store_calls++;
    note_away(executor, true);
    executor->session->ops->start(executor->session, &executor->call);
}

/* --- rows in quarantine --- */

static void widen(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;

    if (engine->quarantine.count == 0)
        return;
    pthread_mutex_lock(&engine->lock);
    executor->batch.widened =
        ff_quarantine_widen(&engine->quarantine, &executor->batch.rows, ff_engine_mono_ms(engine));
    pthread_mutex_unlock(&engine->lock);
}

static void sift(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;
    struct ff_batch *const batch = &executor->batch;
    const size_t rows_max = batch->count == 1 ? ff_job_first(&batch->jobs)->rows_max : 0;

    if (batch->arena.failed || (batch->widened == 0 && rows_max == 0))
        return;
    pthread_mutex_lock(&engine->lock);
    ff_quarantine_sift(&engine->quarantine, &batch->rows, batch->widened,
                       rows_max ? rows_max : SIZE_MAX, ff_engine_mono_ms(engine));
    pthread_mutex_unlock(&engine->lock);
}

static void decide(struct ff_executor *executor, int64_t now_ms);

/* A batch that has failed goes alone, and so does one that waits for a lock. */
static bool may_take_along(const struct ff_executor *executor)
{
    return !executor->batch.failed && executor->which != FF_TAKE_PATIENT;
}

/* Hops of one flow share its row: only the executor that takes them all lets them ride. */
static bool takes_cascade(const struct ff_executor *executor)
{
    const ff_lane_of_work takes = ff_executor_takes(executor);

    return takes == FF_TAKE_CASCADE || takes == FF_TAKE_ALL;
}

/* What did not fit into the batch comes next, in the same order. */
static void leave_for_next(struct ff_executor *executor, struct ff_list *jobs)
{
    const struct ff_batch *const batch = &executor->batch;
    struct ff_group *const group =
        ff_list_empty(jobs) ? NULL : ff_executor_group(executor, jobs, SIZE_MAX, batch->reruns);

    if (group)
        group->failed = batch->failed;
}

static void note_max(_Atomic int64_t *max, int64_t value)
{
    int64_t seen = atomic_load(max);

    while (seen < value && !atomic_compare_exchange_weak(max, &seen, value))
        ;
}

static ff_waits_for step_idle(struct ff_executor *executor, int64_t *ret_at_mono_ms)
{
    struct ff_engine *const engine = executor->engine;
    struct ff_batch *const batch = &executor->batch;
    struct ff_batch_env env;
    struct ff_capsets capsets;
    struct ff_list jobs;

    if (executor->retry_at_mono_ms > ff_engine_mono_ms(engine)) {
        ff_executor_expire_groups(executor);
        *ret_at_mono_ms = executor->retry_at_mono_ms;
        return FF_WAITS_TIME;
    }
    ff_list_init(&jobs);
    ff_batch_reset(batch);
    if (!take(executor, &jobs))
        return FF_WAITS_WORK;
    ff_engine_random(engine, batch->id.b, sizeof batch->id.b);
    FF_LIST_FOR_EACH(node, &jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        job->wake_seen = ff_engine_wake_sum(engine, job);
        job->look_at_mono_ms = 0;
    }
    ff_engine_env(engine, 0, &capsets, &env);
    ff_batch_fill(batch, &jobs, &env);
    if (batch->frees && may_take_along(executor))
        ff_handover_need(engine, batch);
    widen(executor);
    if (engine->store->facts.dead_rows)
        ff_lowwater_begin(&engine->lowwater, &batch->rows, env.mono_ms);
    leave_for_next(executor, &jobs);
    batch->begun_mono_ms = env.mono_ms;
    engine->stats.batches++;
    note_max(&engine->stats.batch_jobs_max, (int64_t)batch->count);
    FF_FAILPOINT(batch_filled);
    if (may_take_along(executor) && ff_assume(engine, batch, takes_cascade(executor)))
        decide(executor, ff_engine_now_ms(engine));
    else
        start(executor, FF_CALL_LOAD, FF_EXECUTOR_LOADING);
    return FF_WAITS_NOTHING;
}

/* --- deciding and replying --- */

static void send_on_deferred(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;
    const int64_t mono_ms = ff_engine_mono_ms(engine);
    struct ff_list *const deferred = &executor->batch.deferred;

    while (!ff_list_empty(deferred)) { /* from the back, because each goes to the front */
        struct ff_job *const job = ff_list_item(deferred->head.prev, struct ff_job, link);
        const bool held =
            job->busy_rounds > FF_BUSY_ROUNDS_MAX ||
            (job->busy_rounds > 0 && mono_ms - job->busy_since_mono_ms > FF_BUSY_MS_MAX);

        ff_list_remove(&job->link);
        if (job->deadline_mono_ms <= mono_ms || job->agains > AGAINS_MAX) {
            job->status = ff_job_late(job, &job->error);
            ff_engine_end_job(engine, job);
        } else if (held) {
            engine->stats.busy++;
            ff_queue_push_patient(&engine->queue, job);
        } else {
            ff_queue_return(&engine->queue, job);
        }
    }
}

static void reply(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;
    struct ff_list *const jobs = &executor->batch.jobs;

    executor->stage = FF_EXECUTOR_IDLE;
    executor->backoff_ms = FF_BACKOFF_FIRST_MS;
    executor->pushes_answered = ff_queue_pushes(&engine->queue);
    executor->answered = 0;
    send_on_deferred(executor);
    while (!ff_list_empty(jobs)) {
        struct ff_job *const job = ff_job_pop(jobs);
        const bool calls = job->ends_call && !job->shared && job->type->cls != FF_CLASS_BACKGROUND;

        engine->stats.jobs++;
        job->rows_max = 0;
        executor->answered += ff_engine_end_job(engine, job) && calls ? 1 : 0;
        FF_FAILPOINT(batch_answered);
    }
}

static void rolled_back(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;

    /* Nothing was to be saved, so it does not matter how the rollback went: the answers stand. */
    ff_executor_note_loss(executor);
    ff_engine_batch_ended(executor->engine, batch,
                          !batch->out_of_memory && executor->call.outcome == FF_CALLED_OK);
    ff_engine_let_go(executor->engine, batch);
    if (!batch->out_of_memory) {
        reply(executor);
        return;
    }
    executor->stage = FF_EXECUTOR_IDLE;
    if (ff_executor_is_alone(batch))
        ff_engine_fail_jobs(executor->engine, &batch->jobs, FF_NO_MEMORY, "out of memory");
    else
        ff_executor_again(executor, true, 0);
}

/* Nothing is to be saved. */
static void roll_back(struct ff_executor *executor)
{
    if (!executor->batch.unloaded) {
        start(executor, FF_CALL_ROLLBACK, FF_EXECUTOR_ROLLING);
        return;
    }
    executor->call = (struct ff_call){.kind = FF_CALL_ROLLBACK}; /* there is no transaction */
    rolled_back(executor);
}

static void save_or_roll(struct ff_executor *executor)
{
    if (!ff_rowset_has_changes(&executor->batch.rows)) {
        roll_back(executor);
        return;
    }
    FF_FAILPOINT(batch_decided);
    start(executor, FF_CALL_SAVE, FF_EXECUTOR_SAVING);
}

static void out_of_memory(struct ff_executor *executor)
{
    executor->batch.out_of_memory = true;
    roll_back(executor);
}

/* All have decided; claims that wait may have what they have freed. */
static void hand_over(struct ff_executor *executor, const struct ff_batch_env *env)
{
    struct ff_batch *const batch = &executor->batch;

    ff_assume_decided(executor->engine, batch);
    if (!batch->arena.failed && may_take_along(executor))
        ff_handover(executor->engine, batch, env);
    if (batch->arena.failed)
        out_of_memory(executor);
    else
        save_or_roll(executor);
}

/* The rows of those who go along are here, or will not come. */
static void ride(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;
    struct ff_batch *const batch = &executor->batch;
    struct ff_batch_env env;
    struct ff_capsets capsets;

    FF_FAILPOINT(batch_boarded);
    ff_engine_env(engine, batch->now_ms, &capsets, &env);
    ff_batch_ride(batch, &env);
    hand_over(executor, &env);
}

/* Without a transaction there is nobody to ask. */
static void board(struct ff_executor *executor)
{
    ff_handover_need(executor->engine, &executor->batch);
    if (ff_assume_riders(executor->engine, &executor->batch) || executor->batch.unloaded)
        ride(executor);
    else
        start(executor, FF_CALL_MORE, FF_EXECUTOR_BOARDING);
}

/* `now_ms` is the store's time: when it had locked the rows, or now, as far as we know. */
static void decide(struct ff_executor *executor, int64_t now_ms)
{
    struct ff_engine *const engine = executor->engine;
    struct ff_batch *const batch = &executor->batch;
    struct ff_batch_env env;
    struct ff_capsets capsets;

    ff_engine_env(engine, now_ms, &capsets, &env);
    batch->now_ms = now_ms;
    batch->loaded_boot_ms = ff_clock_boot_ms(&engine->options.clock);
    batch->decided = true;
    sift(executor);
    if (!ff_batch_apply(batch, &env)) {
        out_of_memory(executor);
        return;
    }
    if (may_take_along(executor) && takes_cascade(executor) &&
        ff_cascade_board(engine, batch, &env))
        board(executor);
    else
        hand_over(executor, &env);
}

static void loaded(struct ff_executor *executor)
{
    FF_FAILPOINT(batch_loaded);
    ff_engine_contact(executor->engine, executor->call.now_ms);
    decide(executor, executor->call.now_ms);
}

static void resolve(struct ff_executor *executor)
{
    atomic_fetch_add(&executor->engine->resolving, 1);
    ff_queue_wake(&executor->engine->queue);
    executor->engine->stats.unknowns++;
    ff_log(FF_LOG_WARN, "engine", "commit without answer, asking the store code=%s",
           executor->call.sqlstate);
    start(executor, FF_CALL_RESOLVE, FF_EXECUTOR_RESOLVING);
}

static void saved(struct ff_executor *executor)
{
    if (executor->call.outcome == FF_CALLED_UNKNOWN && FF_MUTANT(unknown_run_again)) {
        executor->stage = FF_EXECUTOR_IDLE;
        ff_engine_batch_ended(executor->engine, &executor->batch, false);
        (void)ff_assume_failed(executor->engine, &executor->batch, true);
        ff_executor_again(executor, false, executor->batch.reruns + 1);
    } else if (executor->call.outcome == FF_CALLED_UNKNOWN) {
        ff_executor_note_loss(executor);
        resolve(executor);
    } else if (executor->call.outcome == FF_CALLED_OK || FF_MUTANT(reply_before_commit)) {
        FF_FAILPOINT(batch_committed);
        ff_engine_committed(executor->engine, &executor->batch);
        reply(executor);
    } else {
        ff_executor_failed(executor);
    }
}

/* So long after the load that nothing of the batch may be done again. By the clock that also counts
 * while the machine sleeps: markers are pruned by then, and "not there" says nothing. */
static bool is_too_late(const struct ff_executor *executor)
{
    return ff_clock_boot_ms(&executor->engine->options.clock) - executor->batch.loaded_boot_ms >
           FF_UNKNOWN_MS_MAX;
}

static void resolved(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;
    const bool said = executor->call.outcome == FF_CALLED_OK;

    if (said && executor->call.committed) {
        engine->stats.resolved_committed++;
        ff_engine_committed(engine, &executor->batch);
        reply(executor);
    } else if (said && !is_too_late(executor)) {
        executor->stage = FF_EXECUTOR_IDLE;
        ff_engine_batch_ended(engine, &executor->batch, false);
        (void)ff_assume_failed(engine, &executor->batch, true);
        ff_executor_lost(executor);
    } else if (said || executor->call.outcome == FF_CALLED_OP || is_too_late(executor) ||
               atomic_load(&engine->stopping)) {
        executor->stage = FF_EXECUTOR_IDLE;
        ff_engine_batch_ended(engine, &executor->batch, false);
        send_on_deferred(executor);
        ff_engine_fail_jobs(engine, &executor->batch.jobs, FF_OUTCOME_UNKNOWN,
                            "the store does not say whether this was applied");
    } else {
        ff_executor_note_loss(executor);
        ff_executor_rest(executor);
        return; /* asked again when the time has come */
    }
    atomic_fetch_sub(&engine->resolving, 1);
}

ff_waits_for ff_executor_step(struct ff_executor *executor, int64_t *ret_at_mono_ms)
{
    *ret_at_mono_ms = INT64_MAX;
    if (executor->stage == FF_EXECUTOR_IDLE)
        return step_idle(executor, ret_at_mono_ms);
    if (!executor->calling) { /* resolving, and the store was away */
        ff_executor_answer_overdue(executor);
        if (executor->retry_at_mono_ms > ff_engine_mono_ms(executor->engine)) {
            *ret_at_mono_ms = executor->retry_at_mono_ms;
            return FF_WAITS_TIME;
        }
        start(executor, FF_CALL_RESOLVE, FF_EXECUTOR_RESOLVING);
    }
    if (!executor->session->ops->finish(executor->session, &executor->call)) {
        ff_executor_answer_overdue(executor);
        return FF_WAITS_STORE;
    }
    executor->calling = false;
    note_away(executor, false);
    ff_executor_note_link(executor);
    switch (executor->stage) {
    case FF_EXECUTOR_LOADING:
        if (executor->call.outcome == FF_CALLED_OK)
            loaded(executor);
        else
            ff_executor_failed(executor);
        break;
    case FF_EXECUTOR_BOARDING:
        if (executor->call.outcome == FF_CALLED_OK)
            ride(executor);
        else
            ff_executor_failed(executor);
        break;
    case FF_EXECUTOR_SAVING:
        saved(executor);
        break;
    case FF_EXECUTOR_ROLLING:
        rolled_back(executor);
        break;
    case FF_EXECUTOR_RESOLVING:
        resolved(executor);
        break;
    case FF_EXECUTOR_IDLE:
        break;
    }
    return FF_WAITS_NOTHING;
}

void ff_executor_abort(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;
    const bool saving =
        executor->stage == FF_EXECUTOR_SAVING || executor->stage == FF_EXECUTOR_RESOLVING;

    if (executor->calling)
        executor->session->ops->abandon(executor->session, &executor->call);
    executor->calling = false;
    executor->stage = FF_EXECUTOR_IDLE;
    ff_engine_batch_ended(engine, &executor->batch, false);
    ff_engine_fail_jobs(engine, &executor->batch.deferred, FF_CLOSED, "engine is closing");
    ff_engine_fail_jobs(engine, &executor->batch.jobs, saving ? FF_OUTCOME_UNKNOWN : FF_CLOSED,
                        saving ? "engine closed while the store was saving" : "engine is closing");
    while (!ff_list_empty(&executor->groups)) {
        struct ff_group *const group =
            ff_list_item(ff_list_pop_front(&executor->groups), struct ff_group, link);

        ff_engine_fail_jobs(engine, &group->jobs, FF_CLOSED, "engine is closing");
        ff_free(group);
    }
}
