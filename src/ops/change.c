/* SPDX-License-Identifier: Apache-2.0
 *
 * change.c -- the few ways an execution changes; every op goes through them.
 *
 * Events are appended after the move, so that they carry the state and version it left behind.
 * Tests: tests/unit/test_ops.c. */
#include "ops/change.h"

#include <assert.h>

#include "base/macros.h"
#include "base/mutant.h"
#include "model/due.h"
#include "model/events.h"
#include "model/policy.h"

#include "base/banned.h"

#define FLOW_CANCELLED FF_STR("flow_cancelled")

int64_t ff_record_time(const struct ff_work *work, const struct ff_execution *execution)
{
    /* A renewal is no transition and may have an event all the same. Null is before everything. */
    return ff_max_i64(work->now_ms,
                      ff_max_i64(execution->changed_at_ms, execution->lease_renewed_at_ms));
}

void ff_execution_touch(struct ff_work *work, struct ff_execution *execution)
{
    ff_work_edit(work, execution);
    execution->changed_at_ms = ff_record_time(work, execution);
    execution->version++;
}

void ff_execution_move(struct ff_work *work, struct ff_execution *execution, ff_state to)
{
    struct ff_policy policy;

    assert(ff_state_move_ok((ff_state)execution->state, to));
    ff_execution_touch(work, execution);
    execution->state = (int32_t)to;
    ff_policy_read(execution->policy, &policy);
    execution->due_at_ms = ff_due(execution, &policy);
}

struct ff_event *ff_execution_event(struct ff_work *work, const struct ff_execution *execution,
                                    int32_t kind, int32_t type)
{
    struct ff_event *const event = ff_work_event(work);

    event->kind = kind;
    event->type = type;
    event->partition_key = execution->partition_key;
    event->execution_id = execution->execution_id;
    event->flow_id = execution->flow_id;
    event->generation = execution->generation;
    event->namespace = execution->namespace;
    event->instance_tag = execution->instance_tag;
    event->at_ms = ff_record_time(work, execution);
    event->state = execution->state;
    event->version = execution->version;
    return event;
}

struct ff_event *ff_lease_event(struct ff_work *work, const struct ff_execution *execution,
                                int32_t type, const struct ff_attempt *ended)
{
    struct ff_event *const event = ff_execution_event(work, execution, FF_EVENT_LEASE, type);

    event->lease_id = ended ? ended->lease_id : execution->lease_id;
    event->lease_epoch = ended ? ended->lease_epoch : execution->lease_epoch;
    event->worker_id = ended ? ended->worker_id : execution->worker_id;
    event->worker_instance_id = ended ? ended->worker_instance_id : execution->worker_instance_id;
    return event;
}

static struct ff_attempt *insert_attempt(struct ff_work *work, const struct ff_execution *execution,
                                         int64_t epoch)
{
    const struct ff_attempt key = {.partition_key = execution->partition_key,
                                   .execution_id = execution->execution_id,
                                   .lease_epoch = epoch};

    return ff_work_insert_new(work, FF_TABLE_ATTEMPT, &key);
}

const struct ff_attempt *ff_lease_end(struct ff_work *work, struct ff_execution *execution,
                                      const struct ff_ending *how)
{
    struct ff_attempt *const attempt =
        how->end == FF_END_COMPLETED ? NULL
                                     : insert_attempt(work, execution, execution->lease_epoch);

    ff_work_edit(work, execution);
    execution->changed_at_ms =
        ff_record_time(work, execution); /* the lease takes its times along */
    ff_lease_close(execution, attempt, how, execution->changed_at_ms);
    return attempt;
}

static void ended_lease_event(struct ff_work *work, const struct ff_execution *execution,
                              const struct ff_ending *how, const struct ff_attempt *ended)
{
    if (how->lease_event) {
        struct ff_event *const event = ff_lease_event(work, execution, how->lease_event, ended);

        event->prev_owner = ended->worker_instance_id;
        event->note = how->lease_note;
    }
}

void ff_execution_yield(struct ff_work *work, struct ff_execution *execution, ff_state to,
                        const struct ff_ending *how)
{
    const struct ff_attempt *const ended = ff_lease_end(work, execution, how);

    assert(!ff_state_is_terminal((int32_t)to));
    /* Attempts are numbered from 0 in the order they begin: the next one has the count's number. */
    if (!how->same_attempt)
        execution->attempt_index = execution->attempt_count;
    ff_execution_move(work, execution, to);
    ended_lease_event(work, execution, how, ended);
}

static int32_t completion_type(ff_state outcome)
{
    switch ((int)outcome) {
    case FF_STATE_SUCCESS:
        return FF_EVENT_COMPLETION_SUCCESS;
    case FF_STATE_FAILED:
        return FF_EVENT_COMPLETION_FAILED;
    case FF_STATE_CANCELLED:
        return FF_EVENT_COMPLETION_CANCELLED;
    case FF_STATE_EXPIRED:
        return FF_EVENT_COMPLETION_EXPIRED;
    default:
        assert(outcome == FF_STATE_SKIPPED);
        return FF_EVENT_COMPLETION_SKIPPED;
    }
}

void ff_hop_insert(struct ff_work *work, const struct ff_execution *execution, int32_t kind,
                   int32_t outcome)
{
    const struct ff_outbox key = {.partition_key = execution->partition_key,
                                  .execution_id = execution->execution_id,
                                  .generation = execution->generation,
                                  .kind = kind};
    struct ff_outbox *const hop = ff_work_insert_new(work, FF_TABLE_OUTBOX, &key);

    hop->flow_id = execution->flow_id;
    hop->outcome = outcome;
    hop->namespace = execution->namespace;
    hop->instance_tag = execution->instance_tag;
    hop->created_at_ms = execution->changed_at_ms;
}

void ff_execution_finish(struct ff_work *work, struct ff_execution *execution, ff_state outcome,
                         const struct ff_ending *how, struct ff_str note)
{
    const struct ff_attempt *ended = NULL;

    assert(ff_state_is_terminal((int32_t)outcome));
    if (ff_state_is_leased(execution->state)) {
        assert(how);
        ended = ff_lease_end(work, execution, how);
    }
    ff_work_edit(work, execution);
    if (outcome != FF_STATE_SKIPPED) /* it may come back, and is to begin no earlier then */
        execution->delay_until_ms = FF_NULL64;
    execution->finished_at_ms = ff_record_time(work, execution);
    ff_execution_move(work, execution, outcome);
    if (ended)
        ended_lease_event(work, execution, how, ended);
    if (FF_MUTANT(cancel_without_completion) && outcome == FF_STATE_CANCELLED)
        return;
    ff_execution_event(work, execution, FF_EVENT_COMPLETION, completion_type(outcome))->note = note;
    if (FF_MUTANT(skip_not_transitive) && outcome == FF_STATE_SKIPPED)
        return;
    if (!ff_uuid_is_zero(execution->flow_id))
        ff_hop_insert(work, execution, FF_HOP_COMPLETION, execution->state);
}

void ff_execution_cancel(struct ff_work *work, struct ff_execution *execution, struct ff_str reason,
                         struct ff_str by)
{
    struct ff_ending how = ff_ending_of(FF_END_CANCELLED);

    how.lease_event = FF_EVENT_LEASE_REVOKED;
    how.lease_note = FF_STR("cancel");
    ff_work_edit(work, execution);
    execution->cancel_reason = reason;
    execution->cancelled_by = by;
    ff_execution_finish(work, execution, FF_STATE_CANCELLED, &how, reason);
}

void ff_execution_yield_or_cancel(struct ff_work *work, struct ff_execution *execution, ff_state to,
                                  const struct ff_ending *how)
{
    struct ff_ending cancelled = *how;

    if (!(execution->flags & FF_EXEC_NO_NEW_ATTEMPT)) {
        ff_execution_yield(work, execution, to, how);
        return;
    }
    /* A worker that says its word again must hear how it ended. */
    if (how->end != FF_END_REVOKED && how->end != FF_END_LAPSED)
        cancelled.end = FF_END_CANCELLED;
    cancelled.retry_at_ms = FF_NULL64;
    cancelled.same_attempt = false;
    ff_work_edit(work, execution);
    execution->cancel_reason = FLOW_CANCELLED;
    execution->cancelled_by = FF_STR(FF_BY_FLOW);
    ff_execution_finish(work, execution, FF_STATE_CANCELLED, &cancelled, FLOW_CANCELLED);
}

static int64_t next_deadline(const struct ff_work *work, const struct ff_execution *execution)
{
    if (execution->deadline_ms != FF_NULL64)
        return ff_add_i64_clamped(work->now_ms, execution->deadline_ms);
    return execution->deadline_at_ms > work->now_ms ? execution->deadline_at_ms : FF_NULL64;
}

/* The attempt that completed it goes to the others: its row is needed for the next one. */
static void part_with_attempt(struct ff_work *work, struct ff_execution *execution)
{
    if (!ff_attempt_is_kept(execution))
        return;
    if (!FF_MUTANT(replay_loses_attempt))
        ff_attempt_kept(execution, insert_attempt(work, execution, execution->last_epoch));
    ff_attempt_forget(execution);
}

void ff_execution_next_generation(struct ff_work *work, struct ff_execution *execution)
{
    assert(ff_state_is_terminal(execution->state));
    ff_work_edit(work, execution);
    part_with_attempt(work, execution);
    if (execution->state != FF_STATE_SKIPPED)
        execution->delay_until_ms = FF_NULL64;
    execution->generation++;
    execution->retry_count = 0;
    execution->reclaim_count = 0;
    execution->attempt_index = execution->attempt_count;
    execution->attempt_spent_ms = 0;
    execution->finished_at_ms = FF_NULL64;
    execution->deadline_at_ms = next_deadline(work, execution);
    execution->cancel_reason = ff_str_null();
    execution->cancelled_by = ff_str_null();
    execution->flags &= ~(FF_EXEC_FOLLOWS | FF_EXEC_FOLLOWED);
}
