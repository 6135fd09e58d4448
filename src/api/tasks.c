/* SPDX-License-Identifier: Apache-2.0
 *
 * tasks.c -- what a worker says about tasks it holds: renew, complete, fail, progress, delay,
 * release.
 *
 * The rules are in src/ops/execution; here the caller's structs become their input.
 * Tests: tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/limits.h"
#include "model/states.h"
#include "ops/execution.h"

#include "base/banned.h"

struct ff_lease ff_task_lease(const struct ff_task *task)
{
    return (struct ff_lease){
        .execution_id = task->execution_id,
        .lease_id = task->lease_id,
        .lease_epoch = task->lease_epoch,
    };
}

static ff_status task_ref(const struct ff_lease *lease, struct ff_task_ref *ret,
                          struct ff_error *reterr)
{
    struct ff_error problem;

    FF_TRY(ff_api_need(lease->execution_id, "execution_id", reterr));
    FF_TRY(ff_api_need(lease->lease_id, "lease_id", reterr));
    const ff_status status = ff_exec_id_parse(ff_str_of(lease->execution_id), &ret->id, &problem);
    if (status != FF_OK)
        return ff_fail_field(reterr, status, "execution_id", "%s", problem.message);
    if (!ff_uuid_parse(ff_str_of(lease->lease_id), &ret->lease_id))
        return ff_fail_field(reterr, FF_INVALID, "lease_id", "'%.64s' is not a lease id",
                             lease->lease_id);
    ret->lease_epoch = lease->lease_epoch;
    return ff_task_ref_check(ret, reterr);
}

/* job->in of the given size; NULL (and the arena says so) without memory. */
static void *task_in(struct ff_job *job, size_t bytes)
{
    job->in = ff_arena_alloc(&job->arena, bytes);
    return job->in;
}

static ff_status no_memory(struct ff_error *reterr)
{
    return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
}

static struct ff_task_result *fresh(void *result)
{
    struct ff_task_result *const task = result;

    task->lease_expires_at_ms = FF_ABSENT_MS;
    task->retry_at_ms = FF_ABSENT_MS;
    return task;
}

static ff_status state_take(struct ff_client *client, const struct ff_job *job, void *result,
                            struct ff_error *reterr)
{
    const struct ff_state_out *const out = job->out;
    struct ff_task_result *const task = fresh(result);

    (void)client;
    (void)reterr;
    task->public_state = ff_state_public_name(out->state);
    task->retry_at_ms = out->retry_at_ms;
    return FF_OK;
}

static ff_status nothing_take(struct ff_client *client, const struct ff_job *job, void *result,
                              struct ff_error *reterr)
{
    (void)client;
    (void)job;
    (void)reterr;
    (void)fresh(result);
    return FF_OK;
}

#define TASK_TYPE(op_, fill_, ...)                                                                 \
    {                                                                                              \
        .op = FF_OP_EXECUTION_##op_, .max = FF_TASKS_MAX,                                          \
        .result_bytes = sizeof(struct ff_task_result), .fill = fill_, __VA_ARGS__                  \
    }

/* ---- renew ------------------------------------------------------------------------------------
 */

static ff_status renew_fill(struct ff_client *client, struct ff_job *job, const void *items,
                            size_t index, struct ff_error *reterr)
{
    const struct ff_renewal *const item = (const struct ff_renewal *)items + index;
    struct ff_renew_in *const in = task_in(job, sizeof *in);

    (void)client;
    if (!in)
        return no_memory(reterr);
    in->lease_ttl_ms = item->lease_ttl_ms ? item->lease_ttl_ms : FF_NULL64;
    FF_TRY(task_ref(&item->lease, &in->task, reterr));
    return ff_renew_check(in, reterr);
}

static ff_status renew_take(struct ff_client *client, const struct ff_job *job, void *result,
                            struct ff_error *reterr)
{
    const struct ff_renew_out *const out = job->out;

    (void)client;
    (void)reterr;
    fresh(result)->lease_expires_at_ms = out->lease_expires_at_ms;
    return FF_OK;
}

const struct ff_bulk_type ff_renew_type = TASK_TYPE(RENEW, renew_fill, .take = renew_take);

ff_status ff_local_renew(struct ff_client *client, const struct ff_renewal *items, size_t count,
                         struct ff_task_result *ret_items, struct ff_error *reterr)
{
    return ff_bulk_call(client, &ff_renew_type, items, count, ret_items, reterr);
}

/* ---- complete ---------------------------------------------------------------------------------
 */

static size_t complete_bytes(const void *items, size_t index)
{
    return ((const struct ff_completion *)items)[index].result.len;
}

static ff_status complete_fill(struct ff_client *client, struct ff_job *job, const void *items,
                               size_t index, struct ff_error *reterr)
{
    const struct ff_settings *const settings = ff_engine_settings(client->engine);
    const struct ff_completion *const item = (const struct ff_completion *)items + index;
    struct ff_complete_in *const in = task_in(job, sizeof *in);

    if (!in)
        return no_memory(reterr);
    FF_TRY(ff_api_payload(client, item->result, item->result_content_type,
                          settings->result_bytes_max, "result", reterr));
    in->result = ff_job_bytes(job, item->result);
    in->result_type = ff_job_text(job, item->result_content_type);
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(task_ref(&item->lease, &in->task, reterr));
    return ff_complete_check(in, settings, reterr);
}

const struct ff_bulk_type ff_complete_type =
    TASK_TYPE(COMPLETE, complete_fill, .take = state_take, .bytes = complete_bytes);

ff_status ff_local_complete(struct ff_client *client, const struct ff_completion *items,
                            size_t count, struct ff_task_result *ret_items, struct ff_error *reterr)
{
    return ff_bulk_call(client, &ff_complete_type, items, count, ret_items, reterr);
}

/* ---- fail -------------------------------------------------------------------------------------
 */

static ff_status fail_fill(struct ff_client *client, struct ff_job *job, const void *items,
                           size_t index, struct ff_error *reterr)
{
    const struct ff_failure *const item = (const struct ff_failure *)items + index;
    struct ff_fail_in *const in = task_in(job, sizeof *in);
    int32_t failure_class = 0;

    (void)client;
    if (!in)
        return no_memory(reterr);
    FF_TRY(ff_api_need(item->message, "message", reterr));
    FF_TRY(ff_failure_class_of(item->failure_class, &failure_class, reterr));
    in->failure_class = (ff_failure_class)failure_class;
    in->message = ff_job_text(job, item->message);
    in->retry_after_ms = item->retry_after_ms;
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(task_ref(&item->lease, &in->task, reterr));
    return ff_fail_check(in, reterr);
}

const struct ff_bulk_type ff_fail_type = TASK_TYPE(FAIL, fail_fill, .take = state_take);

ff_status ff_local_fail_task(struct ff_client *client, const struct ff_failure *items, size_t count,
                             struct ff_task_result *ret_items, struct ff_error *reterr)
{
    return ff_bulk_call(client, &ff_fail_type, items, count, ret_items, reterr);
}

/* ---- progress ---------------------------------------------------------------------------------
 */

static ff_status progress_fill(struct ff_client *client, struct ff_job *job, const void *items,
                               size_t index, struct ff_error *reterr)
{
    const struct ff_progress_note *const item = (const struct ff_progress_note *)items + index;
    struct ff_progress_in *const in = task_in(job, sizeof *in);

    (void)client;
    if (!in)
        return no_memory(reterr);
    in->percent = item->percent == -1 ? FF_NULL32 : item->percent;
    in->message = ff_job_text(job, item->message);
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(task_ref(&item->lease, &in->task, reterr));
    return ff_progress_check(in, reterr);
}

const struct ff_bulk_type ff_progress_type =
    TASK_TYPE(PROGRESS, progress_fill, .take = nothing_take);

ff_status ff_local_progress(struct ff_client *client, const struct ff_progress_note *items,
                            size_t count, struct ff_task_result *ret_items, struct ff_error *reterr)
{
    return ff_bulk_call(client, &ff_progress_type, items, count, ret_items, reterr);
}

/* ---- delay and release ------------------------------------------------------------------------
 */

static ff_status delay_fill(struct ff_client *client, struct ff_job *job, const void *items,
                            size_t index, struct ff_error *reterr)
{
    const struct ff_postponement *const item = (const struct ff_postponement *)items + index;
    struct ff_delay_in *const in = task_in(job, sizeof *in);

    (void)client;
    if (!in)
        return no_memory(reterr);
    in->delay_ms = item->delay_ms;
    in->delay_until_ms = item->delay_until_ms;
    FF_TRY(task_ref(&item->lease, &in->task, reterr));
    return ff_delay_check(in, reterr);
}

const struct ff_bulk_type ff_delay_type = TASK_TYPE(DELAY, delay_fill, .take = state_take);

ff_status ff_local_delay(struct ff_client *client, const struct ff_postponement *items,
                         size_t count, struct ff_task_result *ret_items, struct ff_error *reterr)
{
    return ff_bulk_call(client, &ff_delay_type, items, count, ret_items, reterr);
}

static ff_status release_fill(struct ff_client *client, struct ff_job *job, const void *items,
                              size_t index, struct ff_error *reterr)
{
    const struct ff_giveback *const item = (const struct ff_giveback *)items + index;
    struct ff_release_in *const in = task_in(job, sizeof *in);

    (void)client;
    if (!in)
        return no_memory(reterr);
    in->reason = ff_job_text(job, item->reason);
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(task_ref(&item->lease, &in->task, reterr));
    return ff_release_check(in, reterr);
}

const struct ff_bulk_type ff_release_type = TASK_TYPE(RELEASE, release_fill, .take = state_take);

ff_status ff_local_release(struct ff_client *client, const struct ff_giveback *items, size_t count,
                           struct ff_task_result *ret_items, struct ff_error *reterr)
{
    return ff_bulk_call(client, &ff_release_type, items, count, ret_items, reterr);
}
