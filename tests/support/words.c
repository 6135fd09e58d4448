/* SPDX-License-Identifier: Apache-2.0
 *
 * words.c -- what workers and operators say to a world, one line each. */
#include "support/words.h"

#include <assert.h>

#include "model/events.h"
#include "model/lease.h"

ff_status world_complete(struct world *world, struct ff_task_ref task, const char *result,
                         struct ff_state_out *out)
{
    struct ff_complete_in in = {.task = task, .result = ff_str_of(result)};

    return world_run(world, FF_OP_EXECUTION_COMPLETE, &in, out);
}

ff_status world_fail(struct world *world, struct ff_task_ref task, ff_failure_class cls,
                     struct ff_state_out *out)
{
    struct ff_fail_in in = {
        .task = task, .message = FF_STR("boom"), .failure_class = cls, .retry_after_ms = FF_NULL64};

    return world_run(world, FF_OP_EXECUTION_FAIL, &in, out);
}

ff_status world_delay(struct world *world, struct ff_task_ref task, int64_t delay_ms,
                      struct ff_state_out *out)
{
    struct ff_delay_in in = {.task = task, .delay_ms = delay_ms, .delay_until_ms = FF_NULL64};

    return world_run(world, FF_OP_EXECUTION_DELAY, &in, out);
}

ff_status world_release(struct world *world, struct ff_task_ref task, struct ff_state_out *out)
{
    struct ff_release_in in = {.task = task, .reason = FF_STR("shutdown")};

    return world_run(world, FF_OP_EXECUTION_RELEASE, &in, out);
}

ff_status world_renew(struct world *world, struct ff_task_ref task, int64_t ttl_ms,
                      struct ff_renew_out *out)
{
    struct ff_renew_in in = {.task = task, .lease_ttl_ms = ttl_ms};

    return world_run(world, FF_OP_EXECUTION_RENEW, &in, out);
}

ff_status world_progress(struct world *world, struct ff_task_ref task, int32_t percent,
                         const char *message)
{
    struct ff_progress_in in = {.task = task, .percent = percent, .message = ff_str_of(message)};
    char unused[16];

    return world_run(world, FF_OP_EXECUTION_PROGRESS, &in, unused);
}

ff_status world_cancel(struct world *world, struct ff_exec_id id, struct ff_state_out *out)
{
    struct ff_cancel_in in = {.id = id,
                              .reason = FF_STR("not needed"),
                              .by = FF_STR("alice"),
                              .created_before_ms = FF_NULL64};

    return world_run(world, FF_OP_EXECUTION_CANCEL, &in, out);
}

ff_status world_revoke(struct world *world, struct ff_exec_id id, struct ff_revoke_out *out)
{
    struct ff_revoke_in in = {.id = id, .by = FF_STR("alice")};

    return world_run(world, FF_OP_EXECUTION_REVOKE, &in, out);
}

struct ff_replay_in world_replay_of(struct ff_exec_id id)
{
    return (struct ff_replay_in){.id = id,
                                 .deadline_ms = FF_NULL64,
                                 .expected_generation = FF_NULL64,
                                 .finished_before_ms = FF_NULL64};
}

ff_status world_replay(struct world *world, struct ff_exec_id id, struct ff_state_out *out)
{
    struct ff_replay_in in = world_replay_of(id);

    return world_run(world, FF_OP_EXECUTION_REPLAY, &in, out);
}

struct ff_task_ref world_given_task(struct world *world)
{
    (void)world_given_ready(world);
    return world_given_claimed(world, "w1");
}

struct ff_task_ref world_given_task_with(struct world *world, const struct ff_policy *policy)
{
    struct ff_submit_in in = world_submission(world);

    in.policy = *policy;
    (void)world_submit(world, &in);
    return world_given_claimed(world, "w1");
}

const struct ff_attempt *world_attempt(struct world *world, struct ff_task_ref task)
{
    const struct ff_attempt key = {.partition_key = task.id.partition,
                                   .execution_id = task.id.uuid,
                                   .lease_epoch = task.lease_epoch};

    return world_row(world, FF_TABLE_ATTEMPT, &key);
}

void world_assert_ended(struct world *world, struct ff_exec_id id, ff_state outcome)
{
    const struct ff_execution *const row = world_execution(world, id);
    const struct ff_event *const event = world_last_event(world);

    assert(row->state == (int32_t)outcome);
    assert(row->finished_at_ms == world->now_ms);
    assert(row->due_at_ms == FF_NULL64);
    assert(ff_uuid_is_zero(row->lease_id));
    assert(row->lease_expires_at_ms == FF_NULL64);
    assert(ff_attempt_is_kept(row) == (outcome == FF_STATE_SUCCESS));
    assert(ff_str_is_null(row->worker_id) == (outcome != FF_STATE_SUCCESS));
    assert(event->kind == FF_EVENT_COMPLETION);
    assert(event->state == (int32_t)outcome);
    assert(event->generation == row->generation);
    assert(event->version == row->version);
    assert(ff_str_eq(event->namespace, row->namespace));
}
