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
#define BY FF_STR(FF_BY_OPERATOR)

/* A job with zeroed input of the given size, and the execution it is about. */
static ff_status start(ff_op_id op, size_t in_bytes, size_t hint_bytes, struct ff_job **ret_job,
                       struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = ff_job_new(op, hint_bytes);
    if (!job) {
        (void)ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
        return FF_NO_MEMORY;
    }
    job->in = ff_arena_alloc(&job->arena, in_bytes);
    FF_TRY(ff_arena_check(&job->arena, reterr));
    *ret_job = FF_STEAL(job);
    return FF_OK;
}

static ff_status run(struct ff_client *client, struct ff_job **job, struct ff_error *reterr)
{
    FF_TRY(ff_arena_check(&(*job)->arena, reterr));
    return ff_call_one(client, job, reterr);
}

ff_status ff_local_cancel(struct ff_client *client, const char *execution_id, const char *reason,
                          const char **ret_public_state, struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = NULL;
    struct ff_cancel_in *in;

    FF_TRY(start(FF_OP_EXECUTION_CANCEL, sizeof *in, 0, &job, reterr));
    in = job->in;
    in->reason = ff_job_text(job, reason);
    in->by = BY;
    in->created_before_ms = FF_NULL64;
    FF_TRY(ff_api_id(client, execution_id, &in->id, reterr));
    FF_TRY(ff_cancel_check(in, reterr));
    FF_TRY(run(client, &job, reterr));
    if (ret_public_state)
        *ret_public_state = ff_state_public_name(((struct ff_state_out *)job->out)->state);
    return FF_OK;
}

ff_status ff_local_set_priority(struct ff_client *client, const char *execution_id,
                                int64_t priority, const char **ret_public_state,
                                struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = NULL;
    struct ff_priority_in *in;

    FF_TRY(start(FF_OP_EXECUTION_PRIORITY, sizeof *in, 0, &job, reterr));
    in = job->in;
    in->priority = priority;
    in->by = BY;
    FF_TRY(ff_api_id(client, execution_id, &in->id, reterr));
    FF_TRY(ff_priority_check(in, reterr));
    FF_TRY(run(client, &job, reterr));
    if (ret_public_state)
        *ret_public_state = ff_state_public_name(((struct ff_state_out *)job->out)->state);
    return FF_OK;
}

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

    if (given->has_input && given->input.ptr &&
        (int64_t)given->input.len > settings->input_bytes_max)
        return ff_fail_field(reterr, FF_TOO_LARGE, "input",
                             "input of %zu bytes, at most %" PRId64 " are allowed",
                             given->input.len, settings->input_bytes_max);
    in->reason = ff_job_text(job, given->reason);
    in->by = BY;
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

ff_status ff_local_replay(struct ff_client *client, const struct ff_replay_request *request,
                          const char **ret_public_state, int32_t *ret_generation,
                          struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = NULL;
    struct ff_replay_request given;

    if (!request)
        return ff_fail_field(reterr, FF_INVALID, "request", "there is no request");
    ff_replay_init(&given);
    FF_TRY(ff_api_sized(&given, sizeof given, request, request->size, reterr));
    FF_TRY(
        start(FF_OP_EXECUTION_REPLAY, sizeof(struct ff_replay_in), given.input.len, &job, reterr));
    FF_TRY(replay_in(client, job, &given, reterr));
    FF_TRY(run(client, &job, reterr));

    const struct ff_state_out *const out = job->out;
    if (ret_public_state)
        *ret_public_state = ff_state_public_name(out->state);
    if (ret_generation)
        *ret_generation = out->generation;
    return FF_OK;
}

ff_status ff_local_revoke_lease(struct ff_client *client, const char *execution_id,
                                const char *reason, int64_t *ret_epoch, struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = NULL;
    struct ff_revoke_in *in;

    FF_TRY(start(FF_OP_EXECUTION_REVOKE, sizeof *in, 0, &job, reterr));
    in = job->in;
    in->reason = ff_job_text(job, reason);
    in->by = BY;
    FF_TRY(ff_api_id(client, execution_id, &in->id, reterr));
    FF_TRY(ff_revoke_check(in, reterr));
    FF_TRY(run(client, &job, reterr));
    if (ret_epoch)
        *ret_epoch = ((struct ff_revoke_out *)job->out)->lease_epoch;
    return FF_OK;
}

ff_status ff_local_set_tags(struct ff_client *client, const char *execution_id,
                            const struct ff_tag_pair *tags, size_t count, struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = NULL;
    struct ff_tag_op_in *in;

    FF_TRY(start(FF_OP_EXECUTION_TAG, sizeof *in, 0, &job, reterr));
    in = job->in;
    if (!tags || !count)
        return ff_fail_field(reterr, FF_INVALID, "tags", "there is no tag to set or remove");
    /* As many may go as may come. */
    if (count > 2 * FF_TAGS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "%zu tags in one call, at most %d",
                             count, 2 * FF_TAGS_MAX);
    in->tags = ff_arena_array(&job->arena, count, sizeof *in->tags);
    in->tag_count = count;
    for (size_t i = 0; in->tags && i < count; i++) {
        FF_TRY(ff_api_need(tags[i].name, "tags", reterr));
        in->tags[i].name = ff_job_text(job, tags[i].name);
        in->tags[i].value = ff_job_text(job, tags[i].value);
    }
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(ff_api_id(client, execution_id, &in->id, reterr));
    FF_TRY(ff_tag_check(in, reterr));
    return run(client, &job, reterr);
}

ff_status ff_local_lane_pause(struct ff_client *client, const char *lane, bool paused,
                              const char *reason, struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = NULL;
    struct ff_lane_pause_in *in;

    FF_TRY(start(FF_OP_LANE_PAUSE, sizeof *in, 0, &job, reterr));
    FF_TRY(ff_api_need(lane, "lane", reterr));
    in = job->in;
    in->lane = ff_job_text(job, lane);
    in->paused = paused;
    in->reason = ff_job_text(job, reason);
    in->by = BY;
    FF_TRY(ff_arena_check(&job->arena, reterr));
    FF_TRY(ff_lane_pause_check(in, reterr));
    return run(client, &job, reterr);
}
