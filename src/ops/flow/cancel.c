/* SPDX-License-Identifier: Apache-2.0
 *
 * cancel.c -- flow.cancel: the flow is cancelled from this call on; flow.drain sees to its members.
 *
 * Only the flow's row is held: cancelling a wide flow is as fast as cancelling a small one. From
 * the commit on dispatch, which holds the same row, frees no node any more.
 * Tests: tests/unit/test_cascade.c. */
#include "base/error.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"

#include "base/banned.h"

void ff_flow_cancel_need(struct ff_work *work, struct ff_flow_cancel_in *in)
{
    const struct ff_flow flow = ff_flow_key(in->flow_id);

    ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
}

static void cancel(struct ff_work *work, const struct ff_flow_cancel_in *in, struct ff_flow *flow)
{
    const bool first = flow->state != FF_FLOW_CANCELLED;

    ff_flow_touch(work, flow);
    flow->state = FF_FLOW_CANCELLED;
    flow->cancel_policy = in->policy;
    flow->cancel_reason = in->reason;
    flow->cancelled_by = in->by;
    if (first)
        flow->cancelled_at_ms = flow->changed_at_ms;
    if (ff_flow_stops_members(flow)) {
        flow->draining = 1;
        flow->drain_cursor = (struct ff_uuid){.b = {0}};
    }
    if (first)
        ff_flow_event(work, flow, FF_EVENT_FLOW_CANCELLED)->note = in->reason;
}

ff_status ff_flow_cancel_apply(struct ff_work *work, struct ff_flow_cancel_in *in,
                               struct ff_flow_cancel_out *out, struct ff_error *reterr)
{
    struct ff_flow *flow;

    FF_TRY(ff_find_flow(work, in->flow_id, &flow, reterr));
    if (flow->state == FF_FLOW_COMPLETED || flow->state == FF_FLOW_FAILED)
        return ff_fail(reterr, FF_FLOW_TERMINAL, "flow has ended: %s",
                       ff_flow_state_name(flow->state));
    if (flow->finished_at_ms == FF_NULL64 &&
        (flow->state != FF_FLOW_CANCELLED || flow->cancel_policy < in->policy))
        cancel(work, in, flow);
    *out = (struct ff_flow_cancel_out){
        .state = flow->state,
        .policy = flow->cancel_policy,
        .reason = ff_arena_str(work->arena, flow->cancel_reason),
        .node_count = flow->node_count,
        .ended_count = ff_flow_ended(flow),
    };
    return ff_arena_check(work->arena, reterr);
}
