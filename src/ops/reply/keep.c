/* SPDX-License-Identifier: Apache-2.0
 *
 * keep.c -- reply.keep: the answer of a call that is many ops.
 *
 * Tests: tests/unit/test_reply.c. */
#include <inttypes.h>

#include "base/arena.h"
#include "base/str.h"
#include "ops/ops-int.h"

#include "base/banned.h"

void ff_reply_keep_need(struct ff_work *work, struct ff_reply_keep_in *in)
{
    ff_reply_need(work, &in->reply);
}

ff_status ff_reply_keep_apply(struct ff_work *work, struct ff_reply_keep_in *in,
                              struct ff_reply_keep_out *out, struct ff_error *reterr)
{
    FF_TRY(ff_reply_look(work, &in->reply, &out->reply, reterr));
    out->begun_at_ms = work->now_ms;
    if (out->reply.found && out->reply.status)
        return FF_OK; /* it has been answered */
    if (out->reply.found && !ff_str_to_i64(out->reply.body, &out->begun_at_ms))
        out->begun_at_ms = work->now_ms;
    if (in->status)
        ff_reply_keep(work, &in->reply, in->status, in->body);
    else if (!out->reply.found)
        ff_reply_keep(work, &in->reply, 0,
                      ff_arena_printf(work->arena, "%" PRId64, out->begun_at_ms));
    return FF_OK;
}
