/* SPDX-License-Identifier: Apache-2.0
 *
 * fire.c -- timer.fire: judge rows that are due, in one fixed order.
 *
 * Execution deadline, attempt deadline, lease lapse, delay: ff_due_judge decides which, so no two
 * timers can race for a row. due_at_ms is a lower bound: a row that is not really due is moved on.
 *
 * The brake: a lapse is acted on only after unbroken contact with the store for the lease's TTL, at
 * most 30 s. After an outage workers get the time to renew before their work is taken away.
 * Tests: tests/unit/test_timer.c. */
#include <assert.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/mutant.h"
#include "model/due.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"
#include "sql_ids.h"

#include "base/banned.h"

#define TIMEOUT_MESSAGE FF_STR("attempt_timeout")
#define RECLAIM_MESSAGE FF_STR("max_reclaims_exceeded")

void ff_timer_fire_need(struct ff_work *work, struct ff_timer_in *in)
{
    struct ff_value params[FF_SQL_TIMER_LEASES_PARAMS];
    const struct ff_in_timer_leases filter = {.namespace = in->filter.namespace,
                                              .instance_tag = in->filter.instance_tag};
    int block = FF_SQL_TIMER_LEASES;

    /* The three scans take the same parameters. */
    static_assert(sizeof(struct ff_in_timer_leases) == sizeof(struct ff_in_timer_delays) &&
                      sizeof(struct ff_in_timer_leases) == sizeof(struct ff_in_timer_deadlines),
                  "timer scans differ");
    ff_in_timer_leases_values(&filter, params);
    switch (in->scope) {
    case FF_TIMER_LEASES:
        break;
    case FF_TIMER_DELAYS:
        block = FF_SQL_TIMER_DELAYS;
        break;
    case FF_TIMER_DEADLINES:
        block = FF_SQL_TIMER_DEADLINES;
        break;
    }
    in->scan = ff_work_scan(work, block, params, FF_SQL_TIMER_LEASES_PARAMS, in->limit);
}

static void expire(struct ff_work *work, struct ff_execution *execution)
{
    struct ff_ending how = ff_ending_of(FF_END_EXPIRED);

    how.lease_event = FF_EVENT_LEASE_REVOKED;
    how.lease_note = FF_STR("deadline");
    how.failure_message = FF_STR("deadline");
    ff_execution_finish(work, execution, FF_STATE_EXPIRED, &how, FF_STR("deadline"));
}

/* The attempt is lost: the next one is due at once while there are retries, else that was it. */
static void lose_attempt(struct ff_work *work, struct ff_execution *execution,
                         const struct ff_policy *policy, ff_failure_class failure_class)
{
    struct ff_ending how = ff_ending_of(FF_END_LAPSED);

    how.lease_event = FF_EVENT_LEASE_EXPIRED;
    how.failure_class = (int32_t)failure_class;
    how.failure_message = TIMEOUT_MESSAGE;
    if (execution->flags & FF_EXEC_NO_NEW_ATTEMPT) {
        ff_execution_yield_or_cancel(work, execution, FF_STATE_READY_RETRY, &how);
    } else if (execution->retry_count >= policy->max_retries) {
        ff_execution_finish(work, execution, FF_STATE_EXPIRED, &how, TIMEOUT_MESSAGE);
    } else {
        ff_work_edit(work, execution);
        execution->retry_count++;
        ff_execution_yield(work, execution, FF_STATE_READY_RETRY, &how);
    }
}

static void lapse(struct ff_work *work, struct ff_execution *execution,
                  const struct ff_policy *policy)
{
    struct ff_ending how = ff_ending_of(FF_END_LAPSED);

    if (policy->lease_lapse == FF_LAPSE_RETRY || execution->flags & FF_EXEC_NO_NEW_ATTEMPT) {
        lose_attempt(work, execution, policy, FF_FAILURE_INFRA_CRASH);
        return;
    }
    if (execution->reclaim_count >= policy->max_reclaim_count) {
        how.lease_event = FF_EVENT_LEASE_EXPIRED;
        how.failure_class = FF_FAILURE_INFRA_CRASH;
        how.failure_message = RECLAIM_MESSAGE;
        ff_execution_finish(work, execution, FF_STATE_FAILED, &how, RECLAIM_MESSAGE);
        return;
    }
    /* Lease id and epoch stay: the old holder may come back until somebody claims. */
    ff_execution_move(work, execution, FF_STATE_RECLAIMABLE);
    ff_lease_event(work, execution, FF_EVENT_LEASE_EXPIRED, NULL)->prev_owner =
        execution->worker_instance_id;
}

static void promote(struct ff_work *work, struct ff_execution *execution)
{
    ff_work_edit(work, execution);
    execution->delay_until_ms = FF_NULL64;
    ff_execution_move(work, execution, ff_state_after_delay(execution->state));
}

/* Looked at and put off: no transition, so no version. */
static void put_off(struct ff_work *work, struct ff_execution *execution, int64_t due_at_ms)
{
    if (execution->due_at_ms == due_at_ms)
        return;
    ff_work_edit(work, execution);
    execution->due_at_ms = due_at_ms;
}

/* When to look again at a lease whose lapse the brake keeps back: the attempt's own time stands
 * still meanwhile. */
static int64_t braked_due(const struct ff_execution *execution, struct ff_policy policy,
                          int64_t brake_end_ms)
{
    struct ff_execution later = *execution;

    later.lease_expires_at_ms = brake_end_ms;
    policy.attempt_timeout_ms = 0;
    return ff_due(&later, &policy);
}

/* A gap that says nothing about a lease of 30 seconds may be longer than a short one. */
static int64_t contact_since(const struct ff_work *work, const struct ff_execution *execution)
{
    return execution->lease_ttl_ms < FF_CONTACT_GAP_MS ? work->steady_since_ms
                                                       : work->contact_since_ms;
}

static void judge(struct ff_work *work, struct ff_execution *execution, struct ff_timer_out *out)
{
    struct ff_policy policy;
    int64_t brake_end_ms;

    ff_policy_read(execution->policy, &policy);
    switch (ff_due_judge(execution, &policy, work->now_ms)) {
    case FF_DUE_DEADLINE:
        expire(work, execution);
        out->deadlines++;
        break;
    case FF_DUE_ATTEMPT:
        lose_attempt(work, execution, &policy, FF_FAILURE_TIMEOUT);
        out->attempt_timeouts++;
        break;
    case FF_DUE_LAPSE:
        brake_end_ms = ff_due_brake_end(execution, contact_since(work, execution));
        if (brake_end_ms > work->now_ms && !FF_MUTANT(no_brake)) {
            put_off(work, execution, braked_due(execution, policy, brake_end_ms));
            out->moved++;
            break;
        }
        lapse(work, execution, &policy);
        out->lease_lapses++;
        break;
    case FF_DUE_DELAY:
        promote(work, execution);
        out->delays++;
        break;
    case FF_DUE_NOTHING:
        put_off(work, execution, ff_due(execution, &policy));
        out->moved++;
        break;
    }
}

ff_status ff_timer_fire_apply(struct ff_work *work, struct ff_timer_in *in,
                              struct ff_timer_out *out, struct ff_error *reterr)
{
    (void)reterr;
    *out = (struct ff_timer_out){0};
    for (size_t i = 0; in->scan && i < in->scan->row_count; i++) {
        struct ff_execution *const execution = in->scan->rows[i];

        out->scanned++;
        if (!execution->head.is_purged)
            judge(work, execution, out);
    }
    out->full = in->scan && (int64_t)in->scan->row_count >= in->scan->limit;
    out->passed = in->scan ? (int64_t)in->scan->passed : 0;
    return FF_OK;
}
