/* SPDX-License-Identifier: Apache-2.0
 *
 * drain.c -- flow.drain: the members of a cancelled flow, page by page.
 *
 * Under cancel_all every living member ends. Under cancel_pending those without a live lease do,
 * the others go on but begin no new attempt. The cursor is kept on the flow's row; nothing comes to
 * life behind it, because growing and replaying are refused and dispatch frees no node.
 * Tests: tests/unit/test_cascade.c. */
#include "base/macros.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "sql_ids.h"

#include "base/banned.h"

void ff_flow_drain_need(struct ff_work *work, struct ff_flow_drain_in *in)
{
    const struct ff_flow flow = ff_flow_key(in->flow_id);
    struct ff_value params[FF_SQL_FLOW_MEMBERS_ALIVE_PARAMS];
    const struct ff_in_flow_members_alive page = {FF_MEMBERS_OF(in->flow_id),
                                                  .after_id = in->cursor};

    in->scan = NULL;
    if (!in->known) {
        ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_READ);
        ff_in_flow_members_alive_values(&page, params);
        in->scan = ff_work_scan(work, FF_SQL_FLOW_MEMBERS_ALIVE, params,
                                FF_SQL_FLOW_MEMBERS_ALIVE_PARAMS, work->settings->drain_rows);
        return;
    }
    ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
    for (size_t i = 0; i < in->count; i++)
        ff_work_lock_execution(work, (struct ff_exec_id){flow.partition_key, in->members[i]});
}

static ff_status learn(struct ff_work *work, struct ff_flow_drain_in *in,
                       const struct ff_flow *flow, struct ff_error *reterr)
{
    if (!ff_uuid_eq(in->cursor, flow->drain_cursor)) {
        in->cursor = flow->drain_cursor;
        return FF_AGAIN;
    }
    in->count = in->scan ? in->scan->row_count : 0;
    in->last_page = (int64_t)in->count < work->settings->drain_rows;
    in->members = ff_arena_array(work->arena, in->count + 1, sizeof *in->members);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < in->count; i++)
        in->members[i] = ((const struct ff_execution *)in->scan->rows[i])->execution_id;
    in->known = true;
    return FF_AGAIN;
}

/* True if it was cancelled. */
static bool drain_member(struct ff_work *work, const struct ff_flow *flow,
                         struct ff_execution *execution)
{
    if (ff_state_is_terminal(execution->state))
        return false;
    if (flow->cancel_policy == FF_FLOW_CANCEL_ALL || execution->state != FF_STATE_ACTIVE) {
        ff_execution_cancel(work, execution, flow->cancel_reason, FF_STR(FF_BY_FLOW));
        return true;
    }
    ff_execution_touch(work, execution);
    execution->flags |= FF_EXEC_NO_NEW_ATTEMPT;
    return false;
}

ff_status ff_flow_drain_apply(struct ff_work *work, struct ff_flow_drain_in *in,
                              struct ff_drain_out *out, struct ff_error *reterr)
{
    struct ff_flow *const flow = ff_work_flow(work, in->flow_id);

    *out = (struct ff_drain_out){.noop = !flow || !flow->draining};
    if (out->noop)
        return FF_OK;
    if (!in->known)
        return learn(work, in, flow, reterr);
    if (!ff_uuid_eq(in->cursor, flow->drain_cursor)) { /* somebody was faster, or began anew */
        in->known = false;
        in->cursor = flow->drain_cursor;
        return FF_AGAIN;
    }
    for (size_t i = 0; i < in->count; i++) {
        struct ff_execution *const execution =
            ff_work_execution(work, (struct ff_exec_id){flow->partition_key, in->members[i]});

        if (execution && drain_member(work, flow, execution))
            out->cancelled++;
    }
    ff_flow_touch(work, flow);
    flow->tries = 0;
    flow->not_before_ms = 0;
    if (in->count > 0)
        flow->drain_cursor = in->members[in->count - 1];
    if (in->last_page)
        flow->draining = 0;
    out->more = !in->last_page;
    return FF_OK;
}
