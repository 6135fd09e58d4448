/* SPDX-License-Identifier: Apache-2.0
 *
 * operate.c -- what an operator does to one execution or one lane.
 *
 * Read first: src/api/README.md. Tests: tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "model/codes.h"
#include "model/states.h"
#include "ops/background.h"
#include "ops/execution.h"

#include "base/banned.h"

/* Who asked, as far as a library can know. */
#define BY_DEFAULT FF_BY_OPERATOR

#define OPERATE_TYPE(op_, fill_, take_)                                                            \
    {                                                                                              \
        .op = FF_OP_##op_, .max = 1, .result_bytes = sizeof(struct ff_operated), .fill = fill_,    \
        .take = take_                                                                              \
    }

/* Zeroed input of the given size; NULL (and the arena says so) without memory. */
static void *new_in(struct ff_job *job, size_t bytes)
{
    job->in = ff_arena_alloc(&job->arena, bytes);
    return job->in;
}

static ff_status no_memory(struct ff_error *reterr)
{
    return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
}

static struct ff_str by_of(struct ff_job *job, const struct ff_operation *item)
{
    return ff_job_text(job, item->by ? item->by : BY_DEFAULT);
}

static ff_status state_take(struct ff_client *client, const struct ff_job *job, void *result,
                            struct ff_error *reterr)
{
    const struct ff_state_out *const out = job->out;
    struct ff_operated *const operated = result;

    (void)client;
    (void)reterr;
    operated->public_state = ff_state_public_name(out->state);
    operated->generation = out->generation;
    return FF_OK;
}

static ff_status nothing_take(struct ff_client *client, const struct ff_job *job, void *result,
                              struct ff_error *reterr)
{
    (void)client;
    (void)job;
    (void)result;
    (void)reterr;
    return FF_OK;
}

/* ---- cancel and priority ----------------------------------------------------------------------
 */

static ff_status cancel_fill(struct ff_client *client, struct ff_job *job, const void *items,
                             size_t index, struct ff_error *reterr)
{
    const struct ff_operation *const item = (const struct ff_operation *)items + index;
    struct ff_cancel_in *const in = new_in(job, sizeof *in);

    if (!in)
        return no_memory(reterr);
    in->reason = ff_job_text(job, item->reason);
    in->by = by_of(job, item);
    in->created_before_ms = FF_NULL64;
    FF_TRY(ff_api_id(client, item->execution_id, &in->id, reterr));
    return ff_cancel_check(in, reterr);
}

const struct ff_bulk_type ff_cancel_type = OPERATE_TYPE(EXECUTION_CANCEL, cancel_fill, state_take);

ff_status ff_local_cancel(struct ff_client *client, const char *execution_id, const char *reason,
                          const char **ret_public_state, struct ff_error *reterr)
{
    const struct ff_operation item = {.execution_id = execution_id, .reason = reason};
    struct ff_operated operated;

    FF_TRY(ff_call_one(client, &ff_cancel_type, &item, &operated, reterr));
    if (ret_public_state)
        *ret_public_state = operated.public_state;
    return FF_OK;
}

static ff_status priority_fill(struct ff_client *client, struct ff_job *job, const void *items,
                               size_t index, struct ff_error *reterr)
{
    const struct ff_operation *const item = (const struct ff_operation *)items + index;
    struct ff_priority_in *const in = new_in(job, sizeof *in);

    if (!in)
        return no_memory(reterr);
    in->priority = item->priority;
    in->by = by_of(job, item);
    FF_TRY(ff_api_id(client, item->execution_id, &in->id, reterr));
    return ff_priority_check(in, reterr);
}

const struct ff_bulk_type ff_priority_type =
    OPERATE_TYPE(EXECUTION_PRIORITY, priority_fill, state_take);

ff_status ff_local_set_priority(struct ff_client *client, const char *execution_id,
                                int64_t priority, const char **ret_public_state,
                                struct ff_error *reterr)
{
    const struct ff_operation item = {.execution_id = execution_id, .priority = priority};
    struct ff_operated operated;

    FF_TRY(ff_call_one(client, &ff_priority_type, &item, &operated, reterr));
    if (ret_public_state)
        *ret_public_state = operated.public_state;
    return FF_OK;
}

/* ---- replay -----------------------------------------------------------------------------------
 */

void ff_replay_init(struct ff_replay_request *request)
{
    if (request)
        *request = (struct ff_replay_request){.size = sizeof *request,
                                              .deadline_ms = FF_ABSENT_MS,
                                              .expected_generation = FF_ABSENT_MS};
}

static ff_status replay_in(struct ff_client *client, struct ff_job *job,
                           const struct ff_replay_request *given, struct ff_error *reterr)
{
    const struct ff_settings *const settings = ff_engine_settings(client->engine);
    struct ff_replay_in *const in = job->in;

    if (given->has_input)
        FF_TRY(ff_api_payload(client, given->input, given->input_content_type,
                              settings->input_bytes_max, "input", reterr));
    in->reason = ff_job_text(job, given->reason);
    in->has_input = given->has_input;
    if (given->has_input) {
        in->input = ff_job_bytes(job, given->input);
        in->input_type = ff_job_text(job, given->input_content_type);
    }
    in->deadline_ms = given->deadline_ms;
    in->expected_generation = given->expected_generation;
    in->finished_before_ms = FF_NULL64;
    in->reopen_downstream = given->reopen_downstream;
    in->failed_ancestors = given->scope && strcmp(given->scope, "failed_ancestors") == 0;
    if (given->scope && !in->failed_ancestors && strcmp(given->scope, "self") != 0)
        return ff_fail_field(reterr, FF_INVALID, "scope", "scope is self or failed_ancestors");
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(ff_api_id(client, given->execution_id, &in->id, reterr));
    return ff_replay_check(in, settings, reterr);
}

static size_t replay_bytes(const void *items, size_t index)
{
    return ((const struct ff_operation *)items)[index].replay->input.len;
}

static ff_status replay_fill(struct ff_client *client, struct ff_job *job, const void *items,
                             size_t index, struct ff_error *reterr)
{
    const struct ff_operation *const item = (const struct ff_operation *)items + index;
    struct ff_replay_in *const in = new_in(job, sizeof *in);

    if (!in)
        return no_memory(reterr);
    in->by = by_of(job, item);
    return replay_in(client, job, item->replay, reterr);
}

const struct ff_bulk_type ff_replay_type = {
    .op = FF_OP_EXECUTION_REPLAY,
    .max = 1,
    .result_bytes = sizeof(struct ff_operated),
    .bytes = replay_bytes,
    .fill = replay_fill,
    .take = state_take,
};

ff_status ff_local_replay(struct ff_client *client, const struct ff_replay_request *request,
                          const char **ret_public_state, int32_t *ret_generation,
                          struct ff_error *reterr)
{
    struct ff_replay_request given;
    const struct ff_operation item = {.replay = &given};
    struct ff_operated operated;

    if (!request)
        return ff_fail_field(reterr, FF_INVALID, "request", "there is no request");
    ff_replay_init(&given);
    FF_TRY(ff_api_sized(&given, sizeof given, request, request->size, reterr));
    FF_TRY(ff_call_one(client, &ff_replay_type, &item, &operated, reterr));
    if (ret_public_state)
        *ret_public_state = operated.public_state;
    if (ret_generation)
        *ret_generation = operated.generation;
    return FF_OK;
}

/* ---- revoke, tags, lanes ----------------------------------------------------------------------
 */

static ff_status revoke_fill(struct ff_client *client, struct ff_job *job, const void *items,
                             size_t index, struct ff_error *reterr)
{
    const struct ff_operation *const item = (const struct ff_operation *)items + index;
    struct ff_revoke_in *const in = new_in(job, sizeof *in);

    if (!in)
        return no_memory(reterr);
    in->reason = ff_job_text(job, item->reason);
    in->by = by_of(job, item);
    FF_TRY(ff_api_id(client, item->execution_id, &in->id, reterr));
    return ff_revoke_check(in, reterr);
}

static ff_status revoke_take(struct ff_client *client, const struct ff_job *job, void *result,
                             struct ff_error *reterr)
{
    const struct ff_revoke_out *const out = job->out;
    struct ff_operated *const operated = result;

    (void)client;
    (void)reterr;
    operated->public_state = ff_state_public_name(out->state);
    operated->lease_epoch = out->lease_epoch;
    return FF_OK;
}

const struct ff_bulk_type ff_revoke_type = OPERATE_TYPE(EXECUTION_REVOKE, revoke_fill, revoke_take);

ff_status ff_local_revoke_lease(struct ff_client *client, const char *execution_id,
                                const char *reason, int64_t *ret_epoch, struct ff_error *reterr)
{
    const struct ff_operation item = {.execution_id = execution_id, .reason = reason};
    struct ff_operated operated;

    FF_TRY(ff_call_one(client, &ff_revoke_type, &item, &operated, reterr));
    if (ret_epoch)
        *ret_epoch = operated.lease_epoch;
    return FF_OK;
}

static ff_status tags_fill(struct ff_client *client, struct ff_job *job, const void *items,
                           size_t index, struct ff_error *reterr)
{
    const struct ff_operation *const item = (const struct ff_operation *)items + index;
    struct ff_tag_op_in *const in = new_in(job, sizeof *in);

    if (!in)
        return no_memory(reterr);
    if (!item->tags || !item->tag_count)
        return ff_fail_field(reterr, FF_INVALID, "tags", "there is no tag to set or remove");
    /* As many may go as may come. */
    if (item->tag_count > 2 * FF_TAGS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "%zu tags in one call, at most %d",
                             item->tag_count, 2 * FF_TAGS_MAX);
    in->tags = ff_arena_array(&job->arena, item->tag_count, sizeof *in->tags);
    in->tag_count = item->tag_count;
    for (size_t i = 0; in->tags && i < item->tag_count; i++) {
        FF_TRY(ff_api_need(item->tags[i].name, "tags", reterr));
        in->tags[i].name = ff_job_text(job, item->tags[i].name);
        in->tags[i].value = ff_job_text(job, item->tags[i].value);
    }
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(ff_api_id(client, item->execution_id, &in->id, reterr));
    return ff_tag_check(in, reterr);
}

const struct ff_bulk_type ff_tags_type = OPERATE_TYPE(EXECUTION_TAG, tags_fill, nothing_take);

ff_status ff_local_set_tags(struct ff_client *client, const char *execution_id,
                            const struct ff_tag_pair *tags, size_t count, struct ff_error *reterr)
{
    const struct ff_operation item = {
        .execution_id = execution_id, .tags = tags, .tag_count = count};
    struct ff_operated operated;

    return ff_call_one(client, &ff_tags_type, &item, &operated, reterr);
}

static ff_status lane_fill(struct ff_client *client, struct ff_job *job, const void *items,
                           size_t index, struct ff_error *reterr)
{
    const struct ff_operation *const item = (const struct ff_operation *)items + index;
    struct ff_lane_pause_in *const in = new_in(job, sizeof *in);

    (void)client;
    if (!in)
        return no_memory(reterr);
    FF_TRY(ff_api_need(item->execution_id, "lane", reterr));
    in->lane = ff_job_text(job, item->execution_id);
    in->paused = item->paused;
    in->reason = ff_job_text(job, item->reason);
    in->by = by_of(job, item);
    FF_TRY(ff_arena_check(&job->arena, reterr));
    return ff_lane_pause_check(in, reterr);
}

const struct ff_bulk_type ff_lane_type = OPERATE_TYPE(LANE_PAUSE, lane_fill, nothing_take);

ff_status ff_local_lane_pause(struct ff_client *client, const char *lane, bool paused,
                              const char *reason, struct ff_error *reterr)
{
    const struct ff_operation item = {.execution_id = lane, .paused = paused, .reason = reason};
    struct ff_operated operated;

    return ff_call_one(client, &ff_lane_type, &item, &operated, reterr);
}
