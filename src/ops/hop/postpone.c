/* SPDX-License-Identifier: Apache-2.0
 *
 * postpone.c -- hop.postpone: a step of the cascade that failed is tried again later, and later
 * each time.
 *
 * Never dropped: after FF_HOP_TRIES_STUCK tries it is shown as stuck and still tried.
 * Tests: tests/unit/test_cascade.c. */
#include "base/limits.h"
#include "base/macros.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"

#include "base/banned.h"

static struct ff_drain drain_key(const struct ff_postpone_in *in)
{
    return (struct ff_drain){.partition_key = in->drain.id.partition,
                             .execution_id = in->drain.id.uuid,
                             .decision = in->drain.decision};
}

void ff_hop_postpone_need(struct ff_work *work, struct ff_postpone_in *in)
{
    const struct ff_outbox hop = ff_hop_row_key(in->hop);
    const struct ff_drain drain = drain_key(in);
    const struct ff_flow flow = ff_flow_key(in->flow_id);

    if (in->what == FF_FIND_HOPS)
        ff_work_want(work, FF_TABLE_OUTBOX, &hop, FF_WANT_LOCK);
    else if (in->what == FF_FIND_DRAINS)
        ff_work_want(work, FF_TABLE_DRAIN, &drain, FF_WANT_LOCK);
    else
        ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
}

static int64_t backoff_ms(int32_t tries)
{
    int64_t ms = FF_HOP_BACKOFF_MS;

    for (int32_t i = 1; i < tries && ms < FF_HOP_BACKOFF_MS_MAX; i++)
        ms *= 2;
    return ff_min_i64(ms, FF_HOP_BACKOFF_MS_MAX);
}

static void put_off(struct ff_work *work, void *row, int32_t *tries, int64_t *not_before_ms,
                    struct ff_postpone_out *out)
{
    ff_work_edit(work, row);
    (*tries)++;
    *not_before_ms = ff_add_i64_clamped(work->now_ms, backoff_ms(*tries));
    *out = (struct ff_postpone_out){.tries = *tries, .not_before_ms = *not_before_ms};
}

static void put_off_hop(struct ff_work *work, struct ff_hop_key hop, struct ff_postpone_out *out)
{
    const struct ff_outbox key = ff_hop_row_key(hop);
    struct ff_outbox *const row = ff_work_row(work, FF_TABLE_OUTBOX, &key);

    if (row && row->dispatched_at_ms == FF_NULL64)
        put_off(work, row, &row->tries, &row->not_before_ms, out);
}

static void put_off_drain(struct ff_work *work, const struct ff_postpone_in *in,
                          struct ff_postpone_out *out)
{
    const struct ff_drain key = drain_key(in);
    struct ff_drain *const row = ff_work_row(work, FF_TABLE_DRAIN, &key);

    if (row)
        put_off(work, row, &row->tries, &row->not_before_ms, out);
}

static void put_off_flow(struct ff_work *work, struct ff_uuid flow_id, struct ff_postpone_out *out)
{
    const struct ff_flow key = ff_flow_key(flow_id);
    struct ff_flow *const row = ff_work_row(work, FF_TABLE_FLOW, &key);

    if (row && (row->draining || row->state == FF_FLOW_REMOVED))
        put_off(work, row, &row->tries, &row->not_before_ms, out);
}

ff_status ff_hop_postpone_apply(struct ff_work *work, struct ff_postpone_in *in,
                                struct ff_postpone_out *out, struct ff_error *reterr)
{
    (void)reterr;
    *out = (struct ff_postpone_out){0};
    if (in->what == FF_FIND_HOPS)
        put_off_hop(work, in->hop, out);
    else if (in->what == FF_FIND_DRAINS)
        put_off_drain(work, in, out);
    else
        put_off_flow(work, in->flow_id, out);
    return FF_OK;
}
