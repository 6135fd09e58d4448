/* SPDX-License-Identifier: Apache-2.0
 *
 * postpone.c -- hop.postpone: a hop or drain that failed is tried again later, and later each time.
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

    if (in->is_drain)
        ff_work_want(work, FF_TABLE_DRAIN, &drain, FF_WANT_LOCK);
    else
        ff_work_want(work, FF_TABLE_OUTBOX, &hop, FF_WANT_LOCK);
}

static int64_t backoff_ms(int32_t tries)
{
    int64_t ms = FF_HOP_BACKOFF_MS;

    for (int32_t i = 1; i < tries && ms < FF_HOP_BACKOFF_MS_MAX; i++)
        ms *= 2;
    return ff_min_i64(ms, FF_HOP_BACKOFF_MS_MAX);
}

static void put_off(const struct ff_work *work, int32_t *tries, int64_t *not_before_ms,
                    struct ff_postpone_out *out)
{
    (*tries)++;
    *not_before_ms = ff_add_i64_clamped(work->now_ms, backoff_ms(*tries));
    *out = (struct ff_postpone_out){.tries = *tries, .not_before_ms = *not_before_ms};
}

ff_status ff_hop_postpone_apply(struct ff_work *work, struct ff_postpone_in *in,
                                struct ff_postpone_out *out, struct ff_error *reterr)
{
    const struct ff_outbox hop_key = ff_hop_row_key(in->hop);
    const struct ff_drain key = drain_key(in);
    struct ff_outbox *const hop =
        in->is_drain ? NULL : ff_work_row(work, FF_TABLE_OUTBOX, &hop_key);
    struct ff_drain *const drain = in->is_drain ? ff_work_row(work, FF_TABLE_DRAIN, &key) : NULL;

    (void)reterr;
    *out = (struct ff_postpone_out){0};
    if (hop && hop->dispatched_at_ms == FF_NULL64) {
        ff_work_edit(work, hop);
        put_off(work, &hop->tries, &hop->not_before_ms, out);
    }
    if (drain) {
        ff_work_edit(work, drain);
        put_off(work, &drain->tries, &drain->not_before_ms, out);
    }
    return FF_OK;
}
