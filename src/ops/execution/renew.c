/* SPDX-License-Identifier: Apache-2.0
 *
 * renew.c -- execution.renew: keep a lease longer.
 *
 * The hottest write of all: it touches no indexed column, so Postgres updates the row in place.
 * Version, time of change and due time stay as they are; only a renewal that revives a lapsed lease
 * moves the due time, and one of a reclaimable lease is a transition. What must stay true: one that
 * changes anything moves the end of the lease or raises the version, because by these two others
 * find out that what they remember of the lease is outdated (docs/decisions/0011).
 * Tests: tests/unit/test_ops.c, tests/conformance/store_share.c. */
#include "base/macros.h"
#include "base/mutant.h"
#include "model/due.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_renew_need(struct ff_work *work, struct ff_renew_in *in)
{
    ff_work_lock_execution(work, in->task.id);
}

/* Sampled: the first renewal in each TTL counted from the acquisition. */
static bool wants_event(const struct ff_work *work, const struct ff_execution *execution,
                        int64_t at_ms)
{
    const int64_t from = execution->lease_acquired_at_ms;
    const int64_t ttl_ms = ff_max_i64(execution->lease_ttl_ms, 1);
    const int64_t before =
        execution->lease_renewed_at_ms == FF_NULL64 ? from : execution->lease_renewed_at_ms;

    switch (work->settings->event_renewals) {
    case FF_RENEWALS_ALL:
        return true;
    case FF_RENEWALS_NONE:
        return false;
    case FF_RENEWALS_SAMPLED:
        break;
    }
    return (at_ms - from) / ttl_ms > (before - from) / ttl_ms;
}

/* The lease is the same as before but for its end, which others see. */
static bool leaves_the_rest(const struct ff_execution *execution, int64_t ttl_ms, int64_t at_ms)
{
    return execution->lease_ttl_ms == ttl_ms && execution->lease_renewed_at_ms == at_ms;
}

ff_status ff_execution_renew_apply(struct ff_work *work, struct ff_renew_in *in,
                                   struct ff_renew_out *out, struct ff_error *reterr)
{
    struct ff_execution *execution;
    struct ff_policy policy;
    bool repeat;
    bool event;
    bool revived;
    bool seen;
    int64_t at_ms;
    int64_t ttl_ms;
    int64_t end_ms;

    FF_TRY(ff_find_task(work, &in->task, ff_str_null(), &execution, &repeat, reterr));
    ff_policy_read(execution->policy, &policy);
    at_ms = ff_record_time(work, execution);
    event = wants_event(work, execution, at_ms);
    ttl_ms = in->lease_ttl_ms != FF_NULL64 ? in->lease_ttl_ms : execution->lease_ttl_ms;
    end_ms = ff_max_i64(FF_MUTANT(lease_shortened_by_renew) ? 0 : execution->lease_expires_at_ms,
                        ff_add_i64_clamped(work->now_ms, ttl_ms));
    seen = end_ms != execution->lease_expires_at_ms || execution->state == FF_STATE_RECLAIMABLE ||
           leaves_the_rest(execution, ttl_ms, at_ms);
    ff_work_edit(work, execution);
    revived = ff_lease_revive(execution, work->now_ms);
    execution->lease_ttl_ms = ttl_ms;
    execution->lease_renewed_at_ms = at_ms;
    execution->lease_expires_at_ms = end_ms;
    if (!seen)
        ff_execution_touch(work, execution);
    if (execution->state == FF_STATE_RECLAIMABLE) {
        ff_execution_move(work, execution, FF_STATE_ACTIVE);
        event = true;
    } else if (revived) {
        execution->due_at_ms = ff_due(execution, &policy);
    }
    if (event)
        ff_lease_event(work, execution, FF_EVENT_LEASE_RENEWED, NULL)->num_a =
            execution->lease_expires_at_ms;
    out->lease_expires_at_ms = execution->lease_expires_at_ms;
    return FF_OK;
}
