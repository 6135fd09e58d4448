/* SPDX-License-Identifier: Apache-2.0
 *
 * sweep.c -- retention.sweep: forget executions that ended long ago, with everything that is
 * theirs.
 *
 * Flows go as a whole: here they are only marked, so that nobody finds them any more, and
 * flow.remove takes their members. A flow has ended when every hop in it was dispatched, so nothing
 * is cut off. Keys in ff_dedup are not touched, so a
 * dedup window is never shortened. Tests: tests/unit/test_ops.c. */
#include <assert.h>

#include "base/macros.h"
#include "base/mutant.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "ops/task.h"
#include "sql_ids.h"

#include "base/banned.h"

static int64_t cutoff(const struct ff_work *work, const struct ff_retention_in *in, int64_t now_ms)
{
    return now_ms -
           (in->retention_ms == FF_NULL64 ? work->settings->retention_ms : in->retention_ms);
}

void ff_retention_sweep_need(struct ff_work *work, struct ff_retention_in *in)
{
    struct ff_value params[FF_SQL_RETENTION_SCAN_PARAMS];
    const struct ff_in_retention_scan scan = {.cutoff_ms = cutoff(work, in, in->learned_ms),
                                              .namespace = in->filter.namespace,
                                              .instance_tag = in->filter.instance_tag};

    /* Both scans take the same parameters. */
    static_assert(sizeof(struct ff_in_retention_scan) == sizeof(struct ff_in_retention_flows),
                  "retention scans differ");
    in->scan = NULL;
    in->flows = NULL;
    if (in->learned_ms == 0)
        return;
    ff_in_retention_scan_values(&scan, params);
    in->scan =
        ff_work_scan(work, FF_SQL_RETENTION_SCAN, params, FF_SQL_RETENTION_SCAN_PARAMS, in->limit);
    in->flows =
        ff_work_scan(work, FF_SQL_RETENTION_FLOWS, params, FF_SQL_RETENTION_SCAN_PARAMS, in->limit);
}

static void sweep_flows(struct ff_work *work, const struct ff_retention_in *in,
                        struct ff_retention_out *out)
{
    for (size_t i = 0; in->flows && i < in->flows->row_count; i++) {
        struct ff_flow *const flow = in->flows->rows[i];

        /* An op before us may have replayed a member. */
        if (flow->head.is_deleted || flow->state == FF_FLOW_REMOVED || flow->draining ||
            flow->finished_at_ms == FF_NULL64 ||
            flow->finished_at_ms >= cutoff(work, in, work->now_ms))
            continue;
        ff_flow_touch(work, flow);
        flow->state = FF_FLOW_REMOVED;
        out->removed++;
    }
}

ff_status ff_retention_sweep_apply(struct ff_work *work, struct ff_retention_in *in,
                                   struct ff_retention_out *out, struct ff_error *reterr)
{
    (void)reterr;
    *out = (struct ff_retention_out){0};
    if (in->learned_ms == 0) {
        in->learned_ms = work->now_ms;
        return FF_AGAIN;
    }
    for (size_t i = 0; in->scan && i < in->scan->row_count; i++) {
        struct ff_execution *const execution = in->scan->rows[i];

        /* An op before us may have replayed it, or purged it already. */
        if (execution->head.is_purged ||
            (!ff_state_is_terminal(execution->state) && !FF_MUTANT(live_row_purged)) ||
            execution->finished_at_ms >= cutoff(work, in, work->now_ms) ||
            !ff_uuid_is_zero(execution->flow_id))
            continue;
        ff_work_purge(work, execution);
        out->removed++;
    }
    sweep_flows(work, in, out);
    out->passed =
        (in->scan ? (int64_t)in->scan->passed : 0) + (in->flows ? (int64_t)in->flows->passed : 0);
    out->full = out->removed > 0 && in->scan && in->flows &&
                ((int64_t)in->scan->row_count >= in->scan->limit ||
                 (int64_t)in->flows->row_count >= in->flows->limit);
    return FF_OK;
}
