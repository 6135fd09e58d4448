/* SPDX-License-Identifier: Apache-2.0
 *
 * contact.c -- meta.contact: some process has been in touch with the store since then.
 *
 * ff_meta "contact" holds "<since> <last>", store times in milliseconds. Two stretches are joined
 * only if they overlap: the last word of the one was said while the other was already in contact.
 * Anything less would call an outage contact, and the lapse brake, which reads this, would end the
 * work of workers that could not renew. Tests: tests/unit/test_timer.c. */
#include <inttypes.h>

#include "base/macros.h"
#include "model/due.h"
#include "ops/ops-int.h"

#include "base/banned.h"

static struct ff_meta contact_key(void)
{
    return (struct ff_meta){.name = FF_STR("contact")};
}

void ff_meta_contact_need(struct ff_work *work, struct ff_contact_in *in)
{
    const struct ff_meta key = contact_key();

    (void)in;
    ff_work_want(work, FF_TABLE_META, &key, FF_WANT_LOCK);
}

ff_status ff_meta_contact_apply(struct ff_work *work, struct ff_contact_in *in,
                                struct ff_no_out *out, struct ff_error *reterr)
{
    const struct ff_meta key = contact_key();
    struct ff_meta *meta = ff_work_row(work, FF_TABLE_META, &key);
    int64_t since_ms = ff_min_i64(work->contact_since_ms, work->now_ms);
    int64_t old_since_ms;
    int64_t old_last_ms;

    (void)in;
    (void)out;
    if (meta && ff_contact_read(meta->value, &old_since_ms, &old_last_ms) &&
        old_last_ms >= since_ms && old_last_ms <= work->now_ms)
        since_ms = ff_min_i64(since_ms, old_since_ms);
    if (meta)
        ff_work_edit(work, meta);
    else
        meta = ff_work_insert(work, FF_TABLE_META, &key);
    meta->value = ff_arena_printf(work->arena, "%" PRId64 " %" PRId64, since_ms, work->now_ms);
    return ff_arena_check(work->arena, reterr);
}
