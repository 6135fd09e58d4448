/* SPDX-License-Identifier: Apache-2.0
 *
 * find.c -- hop.find: what waits for the cascade, oldest first.
 *
 * Changes nothing: what it finds is a hint, the op that acts on it looks under the locks.
 * Tests: tests/unit/test_cascade.c. */
#include <assert.h>

#include "base/macros.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "sql_ids.h"

#include "base/banned.h"

void ff_hop_find_need(struct ff_work *work, struct ff_find_in *in)
{
    struct ff_value params[FF_SQL_HOPS_OPEN_PARAMS];
    const struct ff_in_hops_open open = {
        .before_ms = in->older_ms > 0 ? in->learned_ms - in->older_ms : INT64_MAX,
        .namespace = in->filter.namespace,
        .instance_tag = in->filter.instance_tag};
    int block = FF_SQL_HOPS_OPEN;

    /* The three scans take the same parameters. */
    static_assert(sizeof(struct ff_in_hops_open) == sizeof(struct ff_in_drains_open) &&
                      sizeof(struct ff_in_hops_open) == sizeof(struct ff_in_flows_open),
                  "scans of the cascade differ");
    in->scan = NULL;
    if (in->older_ms > 0 && in->learned_ms == 0)
        return;
    if (in->what == FF_FIND_DRAINS)
        block = FF_SQL_DRAINS_OPEN;
    else if (in->what == FF_FIND_FLOWS)
        block = FF_SQL_FLOWS_OPEN;
    ff_in_hops_open_values(&open, params);
    in->scan = ff_work_scan(work, block, params, FF_SQL_HOPS_OPEN_PARAMS, in->limit);
}

static void add(struct ff_find_out *out, ff_find_what what, const void *row)
{
    const size_t at = out->count++;

    if (what == FF_FIND_HOPS) {
        const struct ff_outbox *const hop = row;

        out->hops[at] = (struct ff_hop_key){
            {hop->partition_key, hop->execution_id}, hop->generation, hop->kind};
    } else if (what == FF_FIND_DRAINS) {
        const struct ff_drain *const drain = row;

        out->drains[at] =
            (struct ff_drain_key){{drain->partition_key, drain->execution_id}, drain->decision};
    } else {
        const struct ff_flow *const flow = row;

        out->flows[at] = flow->flow_id;
        out->removed[at] = flow->state == FF_FLOW_REMOVED;
    }
}

ff_status ff_hop_find_apply(struct ff_work *work, struct ff_find_in *in, struct ff_find_out *out,
                            struct ff_error *reterr)
{
    const size_t found = in->scan ? in->scan->row_count : 0;

    *out = (struct ff_find_out){0};
    if (!in->scan) {
        in->learned_ms = work->now_ms;
        return FF_AGAIN;
    }
    if (in->what == FF_FIND_HOPS)
        out->hops = ff_arena_array(work->arena, found, sizeof *out->hops);
    else if (in->what == FF_FIND_DRAINS)
        out->drains = ff_arena_array(work->arena, found, sizeof *out->drains);
    else
        out->flows = ff_arena_array(work->arena, found, sizeof *out->flows);
    out->removed = ff_arena_array(work->arena, found, sizeof *out->removed);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < found; i++)
        add(out, in->what, in->scan->rows[i]);
    out->full = (int64_t)found >= in->limit;
    return FF_OK;
}
