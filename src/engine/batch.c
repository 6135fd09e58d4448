/* SPDX-License-Identifier: Apache-2.0
 *
 * batch.c -- need and apply for the jobs of one transaction.
 *
 * What must stay true: a job whose apply fails leaves no change behind; a job with a busy row is
 * not applied at all; out of memory never saves half of something. Tests: tests/unit/test_engine.c.
 */
#include "engine/batch.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mutant.h"
#include "model/states.h"

#include "base/banned.h"

#define BATCH_CHUNK_BYTES (256 << 10)

void ff_batch_init(struct ff_batch *batch)
{
    ff_arena_init(&batch->arena, BATCH_CHUNK_BYTES, FF_ARENA_BYTES_MAX);
    ff_list_init(&batch->jobs);
    ff_list_init(&batch->deferred);
    ff_list_init(&batch->riders);
    ff_batch_reset(batch);
}

static void free_riders(struct ff_batch *batch)
{
    while (!ff_list_empty(&batch->riders))
        ff_job_free(ff_job_pop(&batch->riders));
}

void ff_batch_done(struct ff_batch *batch)
{
    free_riders(batch);
    ff_arena_done(&batch->arena);
}

void ff_batch_reset(struct ff_batch *batch)
{
    assert(ff_list_empty(&batch->jobs) && ff_list_empty(&batch->deferred));
    free_riders(batch);
    ff_arena_reset(&batch->arena);
    ff_rowset_init(&batch->rows, &batch->arena);
    batch->count = 0;
    batch->ops = 0;
    batch->frees = batch->assumes = batch->unloaded = false;
    batch->reruns = 0;
    batch->failed = false;
    batch->widened = 0;
    batch->decided = false;
    batch->out_of_memory = false;
    batch->first_deadline_mono_ms = INT64_MAX;
}

struct ff_work ff_batch_work(struct ff_batch *batch, struct ff_job *job,
                             const struct ff_batch_env *env)
{
    return (struct ff_work){
        .rows = &batch->rows,
        .arena = &job->arena,
        .settings = env->settings,
        .capsets = env->capsets,
        .now_ms = env->now_ms,
        .contact_since_ms = env->contact_since_ms,
        .steady_since_ms = env->steady_since_ms,
        .seed = job->seed,
        .assumes = (job->type->flags & FF_OPF_LEASED) != 0 || job->rides,
    };
}

static void ask(struct ff_batch *batch, struct ff_job *job, const struct ff_batch_env *env)
{
    struct ff_work work = ff_batch_work(batch, job, env);

    job->want_from = batch->rows.want_count;
    ff_arena_rewind(&job->arena, &job->kept);
    if (job->reply)
        ff_reply_need(&work, &job->reply->in);
    job->type->need(&work, job->in);
    job->want_to = batch->rows.want_count;
}

void ff_batch_fill(struct ff_batch *batch, struct ff_list *from, const struct ff_batch_env *env)
{
    size_t bytes = 0;

    while (!ff_list_empty(from)) {
        struct ff_job *const job = ff_job_first(from);

        if (batch->count > 0 &&
            (batch->count >= FF_BATCH_OPS_MAX ||
             batch->rows.entry_count + batch->rows.scan_rows >= FF_BATCH_ROWS_MAX ||
             bytes + job->bytes > FF_BATCH_BYTES_MAX))
            return;
        ff_list_remove(&job->link);
        ff_list_push_back(&batch->jobs, &job->link);
        batch->count++;
        bytes += job->bytes;
        batch->frees |= (job->type->flags & FF_OPF_FREES) != 0;
        batch->first_deadline_mono_ms =
            ff_min_i64(batch->first_deadline_mono_ms, job->deadline_mono_ms);
        ask(batch, job, env);
    }
}

static bool job_is_busy(const struct ff_batch *batch, const struct ff_job *job)
{
    for (size_t i = job->want_from; i < job->want_to; i++)
        if (batch->rows.wants[i]->found == FF_FOUND_BUSY)
            return true;
    return false;
}

static void defer(struct ff_batch *batch, struct ff_job *job)
{
    ff_list_remove(&job->link);
    ff_list_push_back(&batch->deferred, &job->link);
    batch->count--;
}

/* The op, unless its answer was kept earlier; and its answer, if that is to be kept. */
static ff_status apply_once(struct ff_work *work, struct ff_job *job)
{
    struct ff_job_reply *const reply = job->reply;
    struct ff_str body;
    int32_t status;

    if (!reply)
        return job->type->apply(work, job->in, job->out, &job->error);
    FF_TRY(ff_reply_look(work, &reply->in, &reply->out, &job->error));
    if (reply->out.found)
        return FF_OK;
    FF_TRY(job->type->apply(work, job->in, job->out, &job->error));
    FF_TRY(reply->render(job, &status, &body, &job->error));
    ff_reply_keep(work, &reply->in, status, body);
    return FF_OK;
}

static void apply_job(struct ff_batch *batch, struct ff_job *job, const struct ff_batch_env *env)
{
    struct ff_work work = ff_batch_work(batch, job, env);

    job->error = (struct ff_error){0};
    job->out = ff_arena_alloc(&job->arena, ff_max_size(job->type->out_bytes, 1));
    ff_rowset_op_begin(&batch->rows, ++batch->ops);
    if (job->out)
        job->status = apply_once(&work, job);
    if (job->arena.failed)
        job->status = ff_fail(&job->error, FF_NO_MEMORY, "out of memory");
    if (job->status != FF_OK && !FF_MUTANT(no_undo))
        ff_rowset_op_undo(&batch->rows);
}

/* What it has come to depends on a row that is assumed and that nobody changes: the save will not
 * prove it. */
static bool is_unproved(const struct ff_batch *batch, const struct ff_job *job)
{
    for (size_t i = job->want_from; batch->assumes && i < job->want_to; i++) {
        const struct ff_entry *const entry = batch->rows.wants[i];

        if (entry->table == FF_TABLE_EXECUTION && entry->assumed &&
            !((const struct ff_row *)entry->row)->is_dirty)
            return true;
    }
    return false;
}

/* A job whose rows are here. One that cannot go on now moves to `deferred`. */
static void apply_queued(struct ff_batch *batch, struct ff_job *job, const struct ff_batch_env *env)
{
    int queued = FF_JOB_QUEUED;
    int applied = FF_JOB_APPLIED;

    /* From here on the caller can no longer be told "not applied". */
    if (!atomic_compare_exchange_strong(&job->stage, &queued, FF_JOB_APPLIED)) {
        job->status = FF_TIMEOUT;
        return;
    }
    apply_job(batch, job, env);
    if (batch->rows.contradicted || (is_unproved(batch, job) && !FF_MUTANT(unproved_is_told))) {
        ff_rowset_op_undo(&batch->rows);
        job->status = FF_AGAIN;
    }
    if (job->status != FF_AGAIN)
        return;
    job->agains++;
    job->kept = ff_arena_mark(&job->arena);
    if (atomic_compare_exchange_strong(&job->stage, &applied, FF_JOB_QUEUED))
        defer(batch, job);
    else
        job->status = FF_TIMEOUT; /* the caller has gone meanwhile */
}

bool ff_batch_apply(struct ff_batch *batch, const struct ff_batch_env *env)
{
    if (batch->arena.failed)
        return false;
    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        if (job_is_busy(batch, job)) {
            if (job->busy_rounds++ == 0)
                job->busy_since_mono_ms = env->mono_ms;
            defer(batch, job);
            continue;
        }
        apply_queued(batch, job, env);
        if (batch->arena.failed)
            return false;
    }
    return true;
}

void ff_batch_join(struct ff_batch *batch, struct ff_job *job, const struct ff_batch_env *env)
{
    job->want_from = job->want_to = batch->rows.want_count;
    ff_list_push_back(&batch->jobs, &job->link);
    batch->count++;
    batch->first_deadline_mono_ms =
        ff_min_i64(batch->first_deadline_mono_ms, job->deadline_mono_ms);
    apply_queued(batch, job, env);
}

void ff_batch_board(struct ff_batch *batch, struct ff_job *rider, const struct ff_batch_env *env)
{
    ff_list_push_back(&batch->riders, &rider->link);
    rider->rides = true;
    ask(batch, rider, env);
}

/* Something it needs is not here, or somebody has it. Where rows are only assumed, its joins may be
 * older than their nodes: a node that does not wait any more cannot be judged by them. */
static bool rider_stays(const struct ff_batch *batch, const struct ff_job *rider)
{
    for (size_t i = rider->want_from; i < rider->want_to; i++) {
        const struct ff_entry *const entry = batch->rows.wants[i];
        const struct ff_execution *const node = entry->row;

        if (entry->found == FF_FOUND_BUSY || entry->found == FF_FOUND_UNASKED)
            return true;
        if (entry->table == FF_TABLE_EXECUTION && batch->rows.assumes &&
            entry->found == FF_FOUND_ROW && !ff_state_is_blocked(node->state))
            return true;
    }
    return false;
}

/* It relies on a row that nobody changes, so nothing would prove it. A node that it leaves alone it
 * has not looked at: the join is still open. */
static bool rider_is_unproved(const struct ff_batch *batch, const struct ff_job *rider)
{
    for (size_t i = rider->want_from; i < rider->want_to; i++) {
        const struct ff_entry *const entry = batch->rows.wants[i];

        if (entry->assumed && entry->table != FF_TABLE_EXECUTION &&
            !((const struct ff_row *)entry->row)->is_dirty)
            return true;
    }
    return false;
}

void ff_batch_ride(struct ff_batch *batch, const struct ff_batch_env *env)
{
    FF_LIST_FOR_EACH(node, &batch->riders)
    {
        struct ff_job *const rider = ff_list_item(node, struct ff_job, link);

        rider->status = FF_BUSY;
        if (rider_stays(batch, rider))
            continue;
        apply_job(batch, rider, env);
        if (rider->status != FF_OK ||
            !(batch->rows.contradicted || rider_is_unproved(batch, rider)))
            continue;
        ff_rowset_op_undo(&batch->rows);
        rider->status = FF_BUSY;
    }
}

bool ff_batch_takes_key(const struct ff_batch *batch, const struct ff_job *job)
{
    for (size_t i = job->want_from; i < job->want_to; i++) {
        const struct ff_row *const row = batch->rows.wants[i]->row;

        if (row->is_new && !row->is_deleted)
            return true;
    }
    return false;
}
