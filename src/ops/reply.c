/* SPDX-License-Identifier: Apache-2.0
 *
 * reply.c -- stored answers: the same request with the same key hears the same again.
 *
 * Tests: tests/unit/test_reply.c. */
#include "ops/reply.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include "base/banned.h"

static struct ff_reply key_of(const struct ff_reply_in *in)
{
    return (struct ff_reply){.scope = in->scope, .reply_key = in->key};
}

void ff_reply_need(struct ff_work *work, const struct ff_reply_in *in)
{
    const struct ff_reply key = key_of(in);

    ff_work_want(work, FF_TABLE_REPLY, &key, FF_WANT_LOCK);
}

ff_status ff_reply_look(struct ff_work *work, const struct ff_reply_in *in,
                        struct ff_reply_out *out, struct ff_error *reterr)
{
    const struct ff_reply key = key_of(in);
    const struct ff_reply *const row = ff_work_row(work, FF_TABLE_REPLY, &key);

    *out = (struct ff_reply_out){.found = false};
    if (!row || row->expires_at_ms <= work->now_ms)
        return FF_OK;
    if (row->hash.len != sizeof in->hash || memcmp(row->hash.ptr, in->hash, sizeof in->hash) != 0)
        return ff_fail_field(reterr, FF_KEY_REUSED, "Idempotency-Key",
                             "this key was used for another request");
    out->found = true;
    out->status = row->status;
    out->body = ff_arena_str(work->arena, row->body);
    return FF_OK;
}

void ff_reply_keep(struct ff_work *work, const struct ff_reply_in *in, int32_t status,
                   struct ff_str body)
{
    const struct ff_reply key = key_of(in);
    struct ff_reply *row = ff_work_row(work, FF_TABLE_REPLY, &key);

    if (row)
        ff_work_edit(work, row);
    else
        row = ff_work_insert(work, FF_TABLE_REPLY, &key);
    if (!row)
        return; /* the batch has no memory, and says so */
    row->hash = (struct ff_str){.ptr = (const char *)in->hash, .len = sizeof in->hash};
    row->status = status;
    row->body = body;
    row->expires_at_ms = ff_add_i64_clamped(work->now_ms, in->keep_ms);
}
