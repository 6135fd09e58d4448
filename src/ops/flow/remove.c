/* SPDX-License-Identifier: Apache-2.0
 *
 * remove.c -- flow.remove: a flow that retention has given up goes, members first, itself at last.
 *
 * retention.sweep marks the flow as removed: from then on nobody finds it. Its members follow page
 * by page, with everything that is theirs; when none is left the row goes, too.
 * Tests: tests/unit/test_cascade.c. */
#include "base/macros.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "sql_ids.h"

#include "base/banned.h"

void ff_flow_remove_need(struct ff_work *work, struct ff_flow_remove_in *in)
{
    const struct ff_flow flow = ff_flow_key(in->flow_id);
    struct ff_value params[FF_SQL_FLOW_MEMBERS_PARAMS];
    const struct ff_in_flow_members page = {FF_MEMBERS_OF(in->flow_id)};

    in->scan = NULL;
    ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
    if (!in->known) {
        ff_in_flow_members_values(&page, params);
        in->scan = ff_work_scan(work, FF_SQL_FLOW_MEMBERS, params, FF_SQL_FLOW_MEMBERS_PARAMS,
                                work->settings->drain_rows);
    }
    for (size_t i = 0; in->known && i < in->count; i++)
        ff_work_lock_execution(work, (struct ff_exec_id){flow.partition_key, in->members[i]});
}

static ff_status learn(struct ff_work *work, struct ff_flow_remove_in *in, struct ff_error *reterr)
{
    in->count = in->scan ? in->scan->row_count : 0;
    in->members = ff_arena_array(work->arena, in->count + 1, sizeof *in->members);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < in->count; i++)
        in->members[i] = ((const struct ff_execution *)in->scan->rows[i])->execution_id;
    in->known = true;
    return FF_AGAIN;
}

ff_status ff_flow_remove_apply(struct ff_work *work, struct ff_flow_remove_in *in,
                               struct ff_flow_remove_out *out, struct ff_error *reterr)
{
    const struct ff_flow key = ff_flow_key(in->flow_id);
    struct ff_flow *const flow = ff_work_row(work, FF_TABLE_FLOW, &key);

    *out = (struct ff_flow_remove_out){0};
    if (!flow || flow->state != FF_FLOW_REMOVED)
        return FF_OK;
    if (!in->known)
        return learn(work, in, reterr);
    for (size_t i = 0; i < in->count; i++) {
        struct ff_execution *const execution =
            ff_work_execution(work, (struct ff_exec_id){key.partition_key, in->members[i]});

        if (execution) {
            ff_work_purge(work, execution);
            out->removed++;
        }
    }
    out->more = in->count > 0;
    if (out->more && flow->tries > 0) {
        ff_work_edit(work, flow);
        flow->tries = 0;
        flow->not_before_ms = 0;
    }
    if (!out->more)
        ff_work_delete(work, flow);
    return FF_OK;
}
