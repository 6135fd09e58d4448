/* SPDX-License-Identifier: Apache-2.0
 *
 * executor.c -- need, load, apply, save, reply; and what to do when the store says no.
 *
 *   IDLE --take--> LOADING --apply--> SAVING --commit--> replies --> IDLE
 *                     |        '-----> ROLLING (nothing to save) --'
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
#include "engine/engine-int.h"

#include "base/banned.h"

#define BACKOFF_FIRST_MS 100
#define BACKOFF_MAX_MS   1000
#define AGAINS_MAX       100
#define SINGLE_RERUNS    20 /* a job alone in its batch: somebody else is always faster */
#define LOSSES_MAX       8  /* commits with a job lost in a row: it is the job */
#define SHUT_ROWS_MAX    4  /* rows that one job may put into quarantine */

ff_status ff_executor_init(struct ff_executor *executor, struct ff_engine *engine,
                           ff_lane_of_work which, struct ff_error *reterr)
{
    memset(executor, 0, sizeof *executor);
    executor->engine = engine;
    executor->which = which;
    ff_list_init(&executor->groups);
    ff_batch_init(&executor->batch);
    executor->backoff_ms = BACKOFF_FIRST_MS;

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

/* --- groups: what must be run again --- */

static struct ff_group *group_new(struct ff_executor *executor, struct ff_list *jobs, size_t count,
                                  uint32_t reruns)
{
    struct ff_group *const group = ff_calloc(1, sizeof *group);

    if (!group) {
        ff_engine_fail_jobs(executor->engine, jobs, FF_NO_MEMORY, "out of memory");
        return NULL;
    }
    ff_list_init(&group->jobs);
    for (size_t i = 0; i < count && !ff_list_empty(jobs); i++, group->count++)
        ff_list_push_back(&group->jobs, &ff_job_pop(jobs)->link);
    group->reruns = reruns;
    ff_list_push_front(&executor->groups, &group->link);
    return group;
}

/* A job that comes back into a batch; those whose caller has gone end here. */
static void keep_wanted(struct ff_executor *executor, struct ff_list *jobs, size_t *count)
{
    const int64_t mono_ms = ff_engine_mono_ms(executor->engine);

    *count = 0;
    FF_LIST_FOR_EACH(node, jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);
        int applied = FF_JOB_APPLIED;

        atomic_compare_exchange_strong(&job->stage, &applied, FF_JOB_QUEUED);
        if (applied == FF_JOB_LATE || applied == FF_JOB_ABANDONED ||
            job->deadline_mono_ms <= mono_ms) {
            ff_list_remove(node);
            job->status = ff_job_late(job, &job->error);
            ff_engine_end_job(executor->engine, job);
        } else {
            (*count)++;
        }
    }
}

/* Jobs that wait for their turn while the store is asked about others. */
static void expire_groups(struct ff_executor *executor)
{
    FF_LIST_FOR_EACH(node, &executor->groups)
    {
        struct ff_group *const group = ff_list_item(node, struct ff_group, link);

        keep_wanted(executor, &group->jobs, &group->count);
        if (group->count > 0)
            continue;
        ff_list_remove(node);
        ff_free(group);
    }
}

/* Takes out jobs whose time is over and answers them. The batch keeps their memory: rows and the
 * call under way borrow from it. Returns how many. */
static size_t take_overdue(struct ff_executor *executor, struct ff_list *jobs, bool saving)
{
    const int64_t mono_ms = ff_engine_mono_ms(executor->engine);
    size_t count = 0;

    FF_LIST_FOR_EACH(node, jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        if (job->deadline_mono_ms > mono_ms)
            continue;
        ff_list_remove(node);
        count++;
        job->status = saving ? ff_fail(&job->error, FF_OUTCOME_UNKNOWN,
                                       "the store does not say in time whether this was applied")
                             : ff_job_late(job, &job->error);
        job->error.repeatable = saving && job->repeatable;
        ff_arena_adopt(&executor->batch.arena, &job->arena);
        ff_engine_end_job(executor->engine, job);
    }
    return count;
}

/* Callers whose time is over while the store is asked: nobody can tell them more than this. */
static void answer_overdue(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;
    const bool saving =
        executor->stage == FF_EXECUTOR_SAVING || executor->stage == FF_EXECUTOR_RESOLVING;

    expire_groups(executor);
    if (batch->first_deadline_mono_ms > ff_engine_mono_ms(executor->engine))
        return;
    batch->count -= take_overdue(executor, &batch->jobs, saving);
    (void)take_overdue(executor, &batch->deferred, false);
}

/* Run the batch's jobs again: all together, or in halves. */
static void again(struct ff_executor *executor, bool split, uint32_t reruns)
{
    struct ff_list *const jobs = &executor->batch.jobs;
    size_t count;

    while (!ff_list_empty(&executor->batch.deferred))
        ff_list_push_back(jobs, &ff_job_pop(&executor->batch.deferred)->link);
    keep_wanted(executor, jobs, &count);
    if (count == 0)
        return;
    if (split && count > 1) {
        struct ff_list first;

        executor->engine->stats.bisections++;
        ff_list_init(&first);
        for (size_t i = 0; i < count / 2; i++)
            ff_list_push_back(&first, &ff_job_pop(jobs)->link);
        (void)group_new(executor, jobs, count, 0); /* the second half, then in front of it ... */
        (void)group_new(executor, &first, count, 0);
        return;
    }
    (void)group_new(executor, jobs, count, reruns);
}

/* --- taking --- */

/* While one executor asks about a commit, the others do its work too. */
ff_lane_of_work ff_executor_takes(const struct ff_executor *executor)
{
    if (executor->which != FF_TAKE_PATIENT && atomic_load(&executor->engine->resolving) > 0)
        return FF_TAKE_ALL;
    return executor->which;
}

static bool take(struct ff_executor *executor, struct ff_list *jobs, uint32_t *ret_reruns)
{
    struct ff_list_node *const node = ff_list_pop_front(&executor->groups);

    *ret_reruns = 0;
    if (node) {
        struct ff_group *const group = ff_list_item(node, struct ff_group, link);

        while (!ff_list_empty(&group->jobs))
            ff_list_push_back(jobs, &ff_job_pop(&group->jobs)->link);
        *ret_reruns = group->reruns;
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
    rest_ms = job->deadline_mono_ms - ff_engine_mono_ms(executor->engine);
    return (int32_t)ff_max_i64(1, ff_min_i64(rest_ms, FF_PATIENT_MS_MAX));
}

static void start(struct ff_executor *executor, ff_call_kind kind, ff_executor_stage stage)
{
    executor->call = (struct ff_call){
        .kind = kind,
        .rows = &executor->batch.rows,
        .batch_id = executor->batch.id,
        .lock_wait_ms = kind == FF_CALL_LOAD ? lock_wait_ms(executor) : 0,
    };
    executor->stage = stage;
    executor->calling = true;
    executor->engine->stats.store_calls++;
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

static ff_waits_for step_idle(struct ff_executor *executor, int64_t *ret_at_mono_ms)
{
    struct ff_engine *const engine = executor->engine;
    struct ff_batch *const batch = &executor->batch;
    struct ff_batch_env env;
    struct ff_capsets capsets;
    struct ff_list jobs;
    uint32_t reruns;

    if (executor->retry_at_mono_ms > ff_engine_mono_ms(engine)) {
        expire_groups(executor);
        *ret_at_mono_ms = executor->retry_at_mono_ms;
        return FF_WAITS_TIME;
    }
    ff_list_init(&jobs);
    if (!take(executor, &jobs, &reruns))
        return FF_WAITS_WORK;
    ff_batch_reset(batch);
    ff_engine_random(engine, batch->id.b, sizeof batch->id.b);
    batch->reruns = reruns;
    FF_LIST_FOR_EACH(node, &jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        job->wake_seen = ff_engine_wake_sum(engine, job);
    }
    ff_engine_env(engine, 0, &capsets, &env);
    ff_batch_fill(batch, &jobs, &env);
    widen(executor);
    if (engine->store->facts.dead_rows)
        ff_lowwater_begin(&engine->lowwater, &batch->rows, env.mono_ms);
    if (!ff_list_empty(&jobs)) /* did not fit: next, in the same order */
        (void)group_new(executor, &jobs, SIZE_MAX, reruns);
    batch->begun_mono_ms = env.mono_ms;
    engine->stats.batches++;
    if (engine->stats.batch_jobs_max < (int64_t)batch->count)
        engine->stats.batch_jobs_max = (int64_t)batch->count;
    FF_FAILPOINT(batch_filled);
    start(executor, FF_CALL_LOAD, FF_EXECUTOR_LOADING);
    return FF_WAITS_NOTHING;
}

/* --- when the store says no --- */

static void note_loss(struct ff_executor *executor)
{
    const struct ff_call *const call = &executor->call;

    if (call->outcome == FF_CALLED_STOP || call->outcome == FF_CALLED_UNKNOWN ||
        call->outcome == FF_CALLED_LOST)
        ff_engine_contact_lost(executor->engine);
}

static void stop_for_a_while(struct ff_executor *executor)
{
    executor->retry_at_mono_ms = ff_engine_mono_ms(executor->engine) + executor->backoff_ms;
    executor->backoff_ms = ff_min_i64(executor->backoff_ms * 2, BACKOFF_MAX_MS);
}

static bool shut_in(struct ff_executor *executor, const struct ff_row *row)
{
    struct ff_engine *const engine = executor->engine;
    bool done;

    pthread_mutex_lock(&engine->lock);
    done = ff_quarantine_add(&engine->quarantine, row, ff_engine_mono_ms(engine));
    pthread_mutex_unlock(&engine->lock);
    return done;
}

static void log_refused(struct ff_executor *executor, const char *what, const struct ff_row *row)
{
    const struct ff_execution *const execution =
        row && row->table == FF_TABLE_EXECUTION ? (const struct ff_execution *)(const void *)row
                                                : NULL;
    char id[FF_ID_TEXT_BYTES] = "-";

    if (execution)
        ff_exec_id_text((struct ff_exec_id){execution->partition_key, execution->execution_id}, id);
    executor->engine->stats.poison++;
    ff_log(FF_LOG_ERROR, "engine", "%s op=%s table=%s id=%s code=%s reason='%s'", what,
           ff_job_first(&executor->batch.jobs)->type->name, row ? ff_tables[row->table].name : "-",
           id, executor->call.sqlstate, executor->call.error.message);
}

/* One of the rows that a scan brought may be what the store refuses: go on with the first half of
 * them, and when only one is left, without that one. False: it is the job. */
static bool narrow(struct ff_executor *executor)
{
    struct ff_job *const job = ff_job_first(&executor->batch.jobs);
    const struct ff_row *row = NULL;
    const size_t rows =
        executor->batch.decided ? ff_quarantine_suspects(&executor->batch.rows, &row) : 0;

    if (rows == 0 || job->shut_rows >= SHUT_ROWS_MAX || (rows == 1 && !shut_in(executor, row)))
        return false;
    job->rows_max = rows / 2;
    if (rows == 1) {
        job->shut_rows++;
        log_refused(executor, "row refused, scans pass over it for a while", row);
    }
    return true;
}

/* The store refuses the only job of the batch. */
static void refused(struct ff_executor *executor)
{
    if (narrow(executor)) {
        again(executor, false, 0);
        return;
    }
    log_refused(executor, "op failed alone", NULL);
    ff_engine_fail_jobs(executor->engine, &executor->batch.jobs, FF_INTERNAL,
                        "the store refuses this operation");
}

static bool is_alone(const struct ff_batch *batch)
{
    return batch->count == 1 && ff_list_empty(&batch->deferred);
}

static void move_all(struct ff_list *from, struct ff_list *to)
{
    while (!ff_list_empty(from))
        ff_list_push_back(to, ff_list_pop_front(from));
}

static void note_busy(struct ff_executor *executor, struct ff_job *job)
{
    if (job->busy_rounds++ == 0)
        job->busy_since_mono_ms = ff_engine_mono_ms(executor->engine);
}

static void wait_patiently(struct ff_executor *executor)
{
    struct ff_list *const jobs = &executor->batch.jobs;
    size_t left;

    keep_wanted(executor, jobs, &left);
    while (!ff_list_empty(jobs)) {
        struct ff_job *const job = ff_job_pop(jobs);

        note_busy(executor, job);
        if (job->type->cls == FF_CLASS_BACKGROUND &&
            job->busy_rounds > FF_BUSY_ROUNDS_MAX + FF_PATIENT_BG_MAX) {
            job->status = ff_job_late(job, &job->error);
            ff_engine_end_job(executor->engine, job);
        } else {
            ff_queue_push_patient(&executor->engine->queue, job);
        }
    }
}

/* The store waited for somebody else and gave up. Jobs that take a key are suspects: somebody may
 * be inserting the same one. They are run apart from the rest and halved, until the one that waits
 * is alone and goes where waiting harms nobody. Without suspects a whole table is held: the batch
 * is run again until it is let go. */
static void held(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;
    struct ff_list suspects;
    struct ff_list rest;
    size_t count = 0;

    ff_list_init(&suspects);
    ff_list_init(&rest);
    while (!ff_list_empty(&batch->jobs)) {
        struct ff_job *const job = ff_job_pop(&batch->jobs);
        const bool suspect = ff_batch_takes_key(batch, job);

        note_busy(executor, job);
        count += suspect ? 1 : 0;
        ff_list_push_back(suspect ? &suspects : &rest, &job->link);
    }
    move_all(&batch->deferred, &rest);
    move_all(&suspects, &batch->jobs);
    if (count == 1 && ff_list_empty(&rest)) {
        executor->engine->stats.busy++;
        wait_patiently(executor);
    } else if (count > 0) {
        again(executor, ff_list_empty(&rest), 0);
    }
    move_all(&rest, &batch->jobs); /* in front of the suspects */
    again(executor, false, batch->reruns);
}

/* The save broke the connection and the store says that nothing has come of it. Once that is bad
 * luck. When it happens every time one of the jobs does it: to find it takes halving, and a moment
 * in between for whatever broke. */
static void lost(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;
    uint32_t losses = 0;

    FF_LIST_FOR_EACH(node, &batch->jobs)
    losses = ++ff_list_item(node, struct ff_job, link)->losses;
    if (losses > 1)
        executor->retry_at_mono_ms = ff_engine_mono_ms(executor->engine) + BACKOFF_FIRST_MS;
    if (!is_alone(batch) || losses <= LOSSES_MAX) {
        again(executor, losses > FF_RERUNS_MAX, batch->reruns + 1);
        return;
    }
    (void)ff_fail(&executor->call.error, FF_UNAVAILABLE, "to save it breaks the connection");
    refused(executor);
}

/* Certainly not applied: run again, split, or answer. */
static void failed(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;
    struct ff_engine *const engine = executor->engine;

    ff_engine_batch_ended(engine, batch, false);
    note_loss(executor);
    executor->stage = FF_EXECUTOR_IDLE;
    switch (executor->call.outcome) {
    case FF_CALLED_STOP:
        ff_log(FF_LOG_WARN, "engine", "store cannot serve code=%s reason='%s'",
               executor->call.sqlstate, executor->call.error.message);
        ff_engine_fail_jobs(engine, &batch->deferred, FF_UNAVAILABLE, executor->call.error.message);
        ff_engine_fail_jobs(engine, &batch->jobs, FF_UNAVAILABLE, executor->call.error.message);
        stop_for_a_while(executor);
        return;
    case FF_CALLED_OP:
        if (!is_alone(batch))
            again(executor, true, 0);
        else if (batch->arena.failed) /* it is not the op that is wrong */
            ff_engine_fail_jobs(engine, &batch->jobs, FF_NO_MEMORY, "out of memory");
        else
            refused(executor);
        return;
    case FF_CALLED_RERUN:
    case FF_CALLED_HELD:
    case FF_CALLED_LOST:
        engine->stats.reruns++;
        if (executor->which == FF_TAKE_PATIENT)
            wait_patiently(executor);
        else if (executor->call.outcome == FF_CALLED_HELD)
            held(executor);
        else if (is_alone(batch) && batch->reruns >= SINGLE_RERUNS)
            ff_engine_fail_jobs(engine, &batch->jobs, FF_BUSY, "somebody else was always faster");
        else
            again(executor, batch->reruns >= FF_RERUNS_MAX, batch->reruns + 1);
        return;
    case FF_CALLED_OK:
    case FF_CALLED_UNKNOWN:
        break;
    }
    assert(executor->call.outcome != FF_CALLED_OK); /* only called after a failure */
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
    executor->backoff_ms = BACKOFF_FIRST_MS;
    executor->pushes_answered = ff_queue_pushes(&engine->queue);
    executor->answered = 0;
    send_on_deferred(executor);
    while (!ff_list_empty(jobs)) {
        struct ff_job *const job = ff_job_pop(jobs);
        const bool calls = job->ends_call && job->type->cls != FF_CLASS_BACKGROUND;

        engine->stats.jobs++;
        job->rows_max = 0;
        executor->answered += ff_engine_end_job(engine, job) && calls ? 1 : 0;
        FF_FAILPOINT(batch_answered);
    }
}

static void decide(struct ff_executor *executor)
{
    struct ff_engine *const engine = executor->engine;
    struct ff_batch *const batch = &executor->batch;
    struct ff_batch_env env;
    struct ff_capsets capsets;

    FF_FAILPOINT(batch_loaded);
    ff_engine_contact(engine, executor->call.now_ms);
    ff_engine_env(engine, executor->call.now_ms, &capsets, &env);
    batch->loaded_boot_ms = ff_clock_boot_ms(&engine->options.clock);
    batch->decided = true;
    sift(executor);
    if (!ff_batch_apply(batch, &env)) {
        batch->out_of_memory = true;
        start(executor, FF_CALL_ROLLBACK, FF_EXECUTOR_ROLLING);
    } else if (ff_rowset_has_changes(&batch->rows)) {
        FF_FAILPOINT(batch_decided);
        start(executor, FF_CALL_SAVE, FF_EXECUTOR_SAVING);
    } else {
        start(executor, FF_CALL_ROLLBACK, FF_EXECUTOR_ROLLING);
    }
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
        again(executor, false, executor->batch.reruns + 1);
    } else if (executor->call.outcome == FF_CALLED_UNKNOWN) {
        note_loss(executor);
        resolve(executor);
    } else if (executor->call.outcome == FF_CALLED_OK || FF_MUTANT(reply_before_commit)) {
        FF_FAILPOINT(batch_committed);
        ff_engine_committed(executor->engine, &executor->batch);
        reply(executor);
    } else {
        failed(executor);
    }
}

static void rolled_back(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;

    /* Nothing was to be saved, so it does not matter how the rollback went: the answers stand. */
    note_loss(executor);
    ff_engine_batch_ended(executor->engine, batch,
                          !batch->out_of_memory && executor->call.outcome == FF_CALLED_OK);
    if (!batch->out_of_memory) {
        reply(executor);
        return;
    }
    executor->stage = FF_EXECUTOR_IDLE;
    if (is_alone(batch))
        ff_engine_fail_jobs(executor->engine, &batch->jobs, FF_NO_MEMORY, "out of memory");
    else
        again(executor, true, 0);
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
        lost(executor);
    } else if (said || executor->call.outcome == FF_CALLED_OP || is_too_late(executor) ||
               atomic_load(&engine->stopping)) {
        executor->stage = FF_EXECUTOR_IDLE;
        ff_engine_batch_ended(engine, &executor->batch, false);
        send_on_deferred(executor);
        ff_engine_fail_jobs(engine, &executor->batch.jobs, FF_OUTCOME_UNKNOWN,
                            "the store does not say whether this was applied");
    } else {
        note_loss(executor);
        stop_for_a_while(executor);
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
        answer_overdue(executor);
        if (executor->retry_at_mono_ms > ff_engine_mono_ms(executor->engine)) {
            *ret_at_mono_ms = executor->retry_at_mono_ms;
            return FF_WAITS_TIME;
        }
        start(executor, FF_CALL_RESOLVE, FF_EXECUTOR_RESOLVING);
    }
    if (!executor->session->ops->finish(executor->session, &executor->call)) {
        answer_overdue(executor);
        return FF_WAITS_STORE;
    }
    executor->calling = false;
    switch (executor->stage) {
    case FF_EXECUTOR_LOADING:
        if (executor->call.outcome == FF_CALLED_OK)
            decide(executor);
        else
            failed(executor);
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
