/* SPDX-License-Identifier: Apache-2.0
 *
 * postpone.c -- hop.postpone: a hop that failed is tried again later, and later each time.
 *
 * Never dropped: after FF_HOP_TRIES_STUCK tries it is shown as stuck and still tried.
 * Tests: tests/unit/test_cascade.c. */
#include "base/limits.h"
#include "base/macros.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"

#include "base/banned.h"

void ff_hop_postpone_need(struct ff_work *work, struct ff_postpone_in *in)
{
    const struct ff_outbox hop = ff_hop_row_key(in->hop);

    ff_work_want(work, FF_TABLE_OUTBOX, &hop, FF_WANT_LOCK);
}

static int64_t backoff_ms(int32_t tries)
{
    int64_t ms = FF_HOP_BACKOFF_MS;

    for (int32_t i = 1; i < tries && ms < FF_HOP_BACKOFF_MS_MAX; i++)
        ms *= 2;
    return ff_min_i64(ms, FF_HOP_BACKOFF_MS_MAX);
}

ff_status ff_hop_postpone_apply(struct ff_work *work, struct ff_postpone_in *in,
                                struct ff_postpone_out *out, struct ff_error *reterr)
{
    const struct ff_outbox key = ff_hop_row_key(in->hop);
    struct ff_outbox *const hop = ff_work_row(work, FF_TABLE_OUTBOX, &key);

    (void)reterr;
    *out = (struct ff_postpone_out){0};
    if (!hop || hop->dispatched_at_ms != FF_NULL64)
        return FF_OK;
    ff_work_edit(work, hop);
    hop->tries++;
    hop->not_before_ms = ff_add_i64_clamped(work->now_ms, backoff_ms(hop->tries));
    *out = (struct ff_postpone_out){.tries = hop->tries, .not_before_ms = hop->not_before_ms};
    return FF_OK;
}
