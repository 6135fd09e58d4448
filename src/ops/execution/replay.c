/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.c -- execution.replay: run an ended execution again, as a new generation.
 *
 * Attempts, results and events of older generations stay; so does the epoch, so an old lease never
 * becomes valid again. Tests: tests/unit/test_ops.c. */
#include "base/error.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_replay_need(struct ff_work *work, struct ff_replay_in *in)
{
    ff_work_lock_execution(work, in->id);
}

static ff_status may_replay(const struct ff_execution *execution, const struct ff_replay_in *in,
                            struct ff_error *reterr)
{
    struct ff_policy policy;

    if (in->expected_generation != FF_NULL64 && in->expected_generation != execution->generation)
        return ff_fail_field(reterr, FF_CONFLICT, "expected_generation",
                             "execution is in generation %d", (int)execution->generation);
    if (!ff_state_is_terminal(execution->state))
        return ff_fail(reterr, FF_NOT_TERMINAL, "execution has not ended, it is %s",
                       ff_state_public_name(execution->state));
    if (in->finished_before_ms != FF_NULL64 && execution->finished_at_ms > in->finished_before_ms)
        return ff_fail(reterr, FF_NOT_FOUND, "execution had not ended at the time of the call");
    if (execution->flags & FF_EXEC_NO_NEW_ATTEMPT)
        return ff_fail(reterr, FF_FLOW_TERMINAL, "its flow was cancelled");
    if (execution->state == FF_STATE_SKIPPED)
        return ff_fail(reterr, FF_DEPENDENCIES_FAILED, "what it depends on has not succeeded");
    ff_policy_read(execution->policy, &policy);
    if (execution->replay_count >= policy.max_replay_count)
        return ff_fail(reterr, FF_REPLAY_LIMIT, "replayed %d times, the limit is %d",
                       (int)execution->replay_count, (int)policy.max_replay_count);
    return FF_OK;
}

/* Inputs are set-once on the row: a new one always goes to ff_payload, under its generation. */
static void insert_input(struct ff_work *work, struct ff_execution *execution,
                         const struct ff_replay_in *in)
{
    const struct ff_payload key = {.partition_key = execution->partition_key,
                                   .execution_id = execution->execution_id,
                                   .generation = execution->generation,
                                   .kind = FF_PAYLOAD_INPUT};
    struct ff_payload *const payload = ff_work_insert_new(work, FF_TABLE_PAYLOAD, &key);

    payload->data = ff_str_is_null(in->input) ? FF_STR("null") : in->input;
    payload->content_type = ff_str_is_null(in->input) ? ff_str_null() : in->input_type;
    execution->flags = ff_flags_with_input(execution->flags, payload->data.len);
}

/* A relative deadline starts again; an absolute one that has passed is dropped. */
static int64_t new_deadline(const struct ff_work *work, const struct ff_execution *execution,
                            const struct ff_replay_in *in)
{
    if (in->deadline_ms != FF_NULL64)
        return ff_add_i64_clamped(work->now_ms, in->deadline_ms);
    if (execution->deadline_ms != FF_NULL64)
        return ff_add_i64_clamped(work->now_ms, execution->deadline_ms);
    return execution->deadline_at_ms > work->now_ms ? execution->deadline_at_ms : FF_NULL64;
}

ff_status ff_execution_replay_apply(struct ff_work *work, struct ff_replay_in *in,
                                    struct ff_state_out *out, struct ff_error *reterr)
{
    struct ff_execution *execution;
    struct ff_event *event;

    FF_TRY(ff_find_execution(work, in->id, &execution, reterr));
    FF_TRY(may_replay(execution, in, reterr));
    ff_work_edit(work, execution);
    execution->generation++;
    execution->replay_count++;
    execution->retry_count = 0;
    execution->reclaim_count = 0;
    execution->attempt_index = execution->attempt_count;
    execution->attempt_spent_ms = 0;
    execution->finished_at_ms = FF_NULL64;
    execution->delay_until_ms = FF_NULL64;
    execution->deadline_at_ms = new_deadline(work, execution, in);
    execution->cancel_reason = ff_str_null();
    execution->cancelled_by = ff_str_null();
    if (in->has_input)
        insert_input(work, execution, in);
    ff_execution_move(work, execution, FF_STATE_READY_REPLAY);
    event = ff_execution_event(work, execution, FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_REPLAYED);
    event->note = in->reason;
    event->num_a = execution->generation;
    ff_state_answer(execution, out);
    return FF_OK;
}
