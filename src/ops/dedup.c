/* SPDX-License-Identifier: Apache-2.0
 *
 * dedup.c -- keys by which a request that comes again is recognised.
 *
 * Tests: tests/conformance/execution_dedup.c, flow_create.c. */
#include "ops/dedup.h"

#include <stdio.h>

#include "ops/ops-int.h"

#include "base/banned.h"

void ff_dedup_by_key(char what, struct ff_str ns, struct ff_str key, struct ff_dedup_key *ret)
{
    const int len = snprintf(ret->text, sizeof ret->text, "%c:" FF_STR_FMT, what, FF_STR_ARG(key));

    ret->row = (struct ff_dedup){.namespace = ns, .dedup_key = {ret->text, (size_t)len}};
}

void ff_dedup_by_id(char what, struct ff_uuid id, struct ff_dedup_key *ret)
{
    char uuid[FF_UUID_TEXT_BYTES];
    const int len = snprintf(ret->text, sizeof ret->text, "%c:%s", what, ff_uuid_format(id, uuid));

    ret->row = (struct ff_dedup){.namespace = FF_STR(""), .dedup_key = {ret->text, (size_t)len}};
}

void ff_dedup_take(struct ff_work *work, const struct ff_dedup_key *key, struct ff_dedup *row,
                   struct ff_exec_id owner, struct ff_str hash, int64_t window_ms)
{
    if (row)
        ff_work_edit(work, row);
    else
        row = ff_work_insert(work, FF_TABLE_DEDUP, &key->row);
    row->partition_key = owner.partition;
    row->execution_id = owner.uuid;
    row->hash = hash;
    row->expires_at_ms = ff_add_i64_clamped(work->now_ms, window_ms);
}
