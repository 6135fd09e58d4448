/* SPDX-License-Identifier: Apache-2.0
 *
 * submit.c -- execution.submit: accept a unit of work, once.
 *
 * Keys live in ff_dedup: "k:<idempotency key>" per namespace, "i:<uuid>" for ids the caller made
 * itself, under the empty namespace, because an id is global. They live by their own time:
 * retention of executions never shortens a window. A duplicate whose first execution is no longer
 * kept is answered with its id and the state FF_NULL32, shown as "gone". Tests:
 * tests/unit/test_submit.c. */
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "ops/birth.h"
#include "ops/dedup.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_submit_need(struct ff_work *work, struct ff_submit_in *in)
{
    struct ff_dedup_key key;

    if (in->own_id) {
        ff_dedup_by_id('i', in->id.uuid, &key);
        ff_work_want(work, FF_TABLE_DEDUP, &key.row, FF_WANT_LOCK);
        ff_work_lock_execution(work, in->id);
    }
    if (!ff_str_is_null(in->idempotency_key)) {
        ff_dedup_by_key('k', in->namespace, in->idempotency_key, &key);
        ff_work_want(work, FF_TABLE_DEDUP, &key.row, FF_WANT_LOCK);
    }
    ff_birth_need(work, in);
    if (in->taken)
        ff_work_read_execution(work, in->taken_by);
}

static struct ff_str hash_of(const struct ff_submit_in *in)
{
    return (struct ff_str){(const char *)in->hash, sizeof in->hash};
}

/* The key is taken: the same request is answered with the first one's id, another one refused. */
static ff_status duplicate(struct ff_work *work, struct ff_submit_in *in,
                           const struct ff_dedup *row, struct ff_submit_out *out,
                           struct ff_error *reterr)
{
    const struct ff_exec_id first = {row->partition_key, row->execution_id};
    const struct ff_execution *const execution = ff_work_execution(work, first);

    if (!ff_str_eq(row->hash, hash_of(in)))
        return ff_fail_field(reterr, FF_KEY_REUSED,
                             ff_str_empty(row->namespace) ? "execution_id" : "idempotency_key",
                             "key was used for another request");
    if (!execution && !(in->taken && ff_exec_id_eq(in->taken_by, first))) {
        in->taken = true;
        in->taken_by = first;
        return FF_AGAIN;
    }
    *out = (struct ff_submit_out){.id = first, .state = execution ? execution->state : FF_NULL32};
    return FF_OK;
}

static bool is_leaving(struct ff_work *work, const struct ff_submit_in *in)
{
    const struct ff_execution key = {.partition_key = in->id.partition,
                                     .execution_id = in->id.uuid};

    return ff_is_leaving(work, FF_TABLE_EXECUTION, &key);
}

static void create(struct ff_work *work, const struct ff_submit_in *in, struct ff_submit_out *out)
{
    struct ff_execution *const execution = ff_execution_birth(work, in, NULL);

    ff_execution_move(work, execution, ff_state_when_free(work, execution));
    *out = (struct ff_submit_out){.id = in->id, .state = execution->state, .created = true};
}

ff_status ff_execution_submit_apply(struct ff_work *work, struct ff_submit_in *in,
                                    struct ff_submit_out *out, struct ff_error *reterr)
{
    struct ff_dedup_key by_key;
    struct ff_dedup_key by_id;
    struct ff_dedup *key_row = NULL;
    struct ff_dedup *id_row = NULL;
    const struct ff_execution *there = NULL;

    if (!ff_str_is_null(in->idempotency_key)) {
        ff_dedup_by_key('k', in->namespace, in->idempotency_key, &by_key);
        key_row = ff_work_row(work, FF_TABLE_DEDUP, &by_key.row);
        if (key_row && key_row->expires_at_ms > work->now_ms)
            return duplicate(work, in, key_row, out, reterr);
    }
    if (in->own_id) {
        ff_dedup_by_id('i', in->id.uuid, &by_id);
        id_row = ff_work_row(work, FF_TABLE_DEDUP, &by_id.row);
        if (id_row && id_row->expires_at_ms > work->now_ms)
            return duplicate(work, in, id_row, out, reterr);
        there = ff_work_execution(work, in->id);
    }
    if (there) { /* the window is over, the execution still kept: an id is never given twice */
        const struct ff_dedup first = {.namespace = FF_STR(""),
                                       .partition_key = there->partition_key,
                                       .execution_id = there->execution_id,
                                       .hash = there->submit_hash};

        return duplicate(work, in, &first, out, reterr);
    }
    if (in->own_id && is_leaving(work, in))
        return FF_AGAIN;
    FF_TRY(ff_birth_check(work, in, reterr));
    if (!ff_str_is_null(in->idempotency_key))
        ff_dedup_take(work, &by_key, key_row, in->id, hash_of(in), in->policy.dedup_window_ms);
    if (in->own_id)
        ff_dedup_take(work, &by_id, id_row, in->id, hash_of(in), in->policy.dedup_window_ms);
    create(work, in, out);
    return FF_OK;
}
