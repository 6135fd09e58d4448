/* SPDX-License-Identifier: Apache-2.0
 *
 * refusal.c -- what an executor does when the store says no: held rows, lost races, poison,
 * outages.
 *
 * What must stay true: one job's failure never touches its neighbours; nothing is tried for ever.
 * Tests: tests/faults/locks.c, tests/faults/poison.c, tests/sim. */
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mutant.h"
#include "engine/assume.h"
#include "engine/engine-int.h"
#include "engine/executor.h"

#include <string.h>

#include "base/banned.h"

#define OTHER_LOG      "FF001" /* Postgres: the store is another copy than the one we know */
#define BACKOFF_MAX_MS 1000
#define SINGLE_RERUNS  20 /* a job alone in its batch: somebody else is always faster */
#define LOSSES_MAX     8  /* commits with a job lost in a row: it is the job */
#define SHUT_ROWS_MAX  4  /* rows that one job may put into quarantine */

/* The store may be another copy than the one we know. */
static void forget(struct ff_engine *engine)
{
    ff_known_clear(&engine->known);
    ff_engine_doubt_capsets(engine);
}

void ff_executor_note_loss(struct ff_executor *executor)
{
    const struct ff_call *const call = &executor->call;

    if (call->outcome == FF_CALLED_STOP || call->outcome == FF_CALLED_UNKNOWN ||
        call->outcome == FF_CALLED_LOST) {
        ff_engine_contact_lost(executor->engine);
        forget(executor->engine);
    } else if (!strcmp(call->sqlstate, OTHER_LOG)) {
        forget(executor->engine);
    }
}

void ff_executor_note_link(struct ff_executor *executor)
{
    if (executor->call.reconnected)
        forget(executor->engine);
}

void ff_executor_rest(struct ff_executor *executor)
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
        ff_executor_again(executor, false, 0);
        return;
    }
    log_refused(executor, "op failed alone", NULL);
    ff_engine_fail_jobs(executor->engine, &executor->batch.jobs, FF_INTERNAL,
                        "the store refuses this operation");
}

bool ff_executor_is_alone(const struct ff_batch *batch)
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

/* What is left of its time would end inside of a save, and nobody could say what came of it. */
static bool is_over(const struct ff_executor *executor, const struct ff_job *job)
{
    if (job->type->cls == FF_CLASS_BACKGROUND)
        return job->busy_rounds > FF_BUSY_ROUNDS_MAX + FF_PATIENT_BG_MAX;
    return job->deadline_mono_ms - ff_engine_mono_ms(executor->engine) < FF_PATIENT_LAST_MS;
}

static void wait_patiently(struct ff_executor *executor)
{
    struct ff_list *const jobs = &executor->batch.jobs;
    size_t left;

    ff_executor_keep_wanted(executor, jobs, &left);
    while (!ff_list_empty(jobs)) {
        struct ff_job *const job = ff_job_pop(jobs);

        note_busy(executor, job);
        if (is_over(executor, job)) {
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
        ff_executor_again(executor, ff_list_empty(&rest), 0);
    }
    move_all(&rest, &batch->jobs); /* in front of the suspects */
    ff_executor_again(executor, false, batch->reruns);
}

/* The save broke the connection and the store says that nothing has come of it. Once that is bad
 * luck. When it happens every time one of the jobs does it: to find it takes halving, and a moment
 * in between for whatever broke. */
void ff_executor_lost(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;
    uint32_t losses = 0;

    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        job->losses++;
        losses = losses > job->losses ? losses : job->losses; /* some may have joined since */
    }
    if (losses > 1)
        executor->retry_at_mono_ms = ff_engine_mono_ms(executor->engine) + FF_BACKOFF_FIRST_MS;
    if (!ff_executor_is_alone(batch) || losses <= LOSSES_MAX) {
        ff_executor_again(executor, losses > FF_RERUNS_MAX, batch->reruns + 1);
        return;
    }
    (void)ff_fail(&executor->call.error, FF_UNAVAILABLE, "to save it breaks the connection");
    refused(executor);
}

/* Certainly not applied: run again, split, or answer. */
void ff_executor_failed(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;
    struct ff_engine *const engine = executor->engine;

    ff_engine_batch_ended(engine, batch, false);
    ff_executor_note_loss(executor);
    executor->stage = FF_EXECUTOR_IDLE;
    if (ff_assume_failed(engine, batch, executor->call.outcome != FF_CALLED_RERUN) &&
        executor->call.outcome != FF_CALLED_STOP) {
        ff_executor_again(executor, false, batch->reruns + 1); /* this time it looks */
        return;
    }
    switch (executor->call.outcome) {
    case FF_CALLED_STOP:
        ff_log(FF_LOG_WARN, "engine", "store cannot serve code=%s reason='%s'",
               executor->call.sqlstate, executor->call.error.message);
        ff_engine_fail_jobs(engine, &batch->deferred, FF_UNAVAILABLE, executor->call.error.message);
        ff_engine_fail_jobs(engine, &batch->jobs, FF_UNAVAILABLE, executor->call.error.message);
        ff_executor_rest(executor);
        return;
    case FF_CALLED_OP:
        if (!ff_list_empty(&batch->riders)) /* perhaps one of those */
            ff_executor_again(executor, false, batch->reruns + 1);
        else if (!ff_executor_is_alone(batch))
            ff_executor_again(executor, true, 0);
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
        else if (ff_executor_is_alone(batch) && batch->reruns >= SINGLE_RERUNS)
            ff_engine_fail_jobs(engine, &batch->jobs, FF_BUSY, "somebody else was always faster");
        else
            ff_executor_again(executor, batch->reruns >= FF_RERUNS_MAX, batch->reruns + 1);
        return;
    case FF_CALLED_OK:
    case FF_CALLED_UNKNOWN:
        break;
    }
    assert(executor->call.outcome != FF_CALLED_OK); /* only called after a failure */
}
