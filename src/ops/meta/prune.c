/* SPDX-License-Identifier: Apache-2.0
 *
 * prune.c -- meta.prune: rows that have outlived their use.
 *
 * Batch markers, dedup keys, stored replies, answered claims, workers that are gone. Each row is
 * looked at again in memory: an op before us may have given it a new life.
 * Tests: tests/unit/test_ops.c. */
#include <assert.h>

#include "base/limits.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "sql_ids.h"

#include "base/banned.h"

/* A lease may be renewed for long: the answer to a claim is kept for a day. */
#define CLAIM_KEEP_MS (INT64_C(24) * 3600 * 1000)

enum { BATCHES, KEYS, REPLIES, CLAIMS, WORKERS };

static void need_by_age(struct ff_work *work, struct ff_prune_in *in, int which, int block,
                        int64_t keep_ms)
{
    struct ff_value params[FF_SQL_PRUNE_BATCHES_PARAMS];
    const struct ff_in_prune_batches old = {.cutoff_ms = in->learned_ms - keep_ms};

    static_assert(sizeof(struct ff_in_prune_batches) == sizeof(struct ff_in_prune_claims),
                  "scans by age differ");
    ff_in_prune_batches_values(&old, params);
    in->scans[which] = ff_work_scan(work, block, params, FF_SQL_PRUNE_BATCHES_PARAMS, in->limit);
}

static void need_by_own_time(struct ff_work *work, struct ff_prune_in *in, int which, int block)
{
    struct ff_value params[FF_SQL_PRUNE_DEDUP_PARAMS];
    const struct ff_in_prune_dedup over = {.limit = 0};

    ff_in_prune_dedup_values(&over, params);
    in->scans[which] = ff_work_scan(work, block, params, FF_SQL_PRUNE_DEDUP_PARAMS, in->limit);
}

void ff_meta_prune_need(struct ff_work *work, struct ff_prune_in *in)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(in->scans); i++)
        in->scans[i] = NULL;
    if (in->learned_ms == 0)
        return;
    need_by_age(work, in, BATCHES, FF_SQL_PRUNE_BATCHES, FF_BATCH_KEEP_MS);
    need_by_own_time(work, in, KEYS, FF_SQL_PRUNE_DEDUP);
    need_by_own_time(work, in, REPLIES, FF_SQL_PRUNE_REPLIES);
    need_by_age(work, in, CLAIMS, FF_SQL_PRUNE_CLAIMS, CLAIM_KEEP_MS);
    need_by_own_time(work, in, WORKERS, FF_SQL_PRUNE_WORKERS);
}

static bool is_over(const struct ff_work *work, const void *row)
{
    const struct ff_row *const head = row;
    const struct ff_registration *worker;

    if (head->is_deleted)
        return false;
    switch ((int)head->table) {
    case FF_TABLE_MARKER:
        return ((const struct ff_marker *)row)->at_ms < work->now_ms - FF_BATCH_KEEP_MS;
    case FF_TABLE_DEDUP:
        return ((const struct ff_dedup *)row)->expires_at_ms <= work->now_ms;
    case FF_TABLE_REPLY:
        return ((const struct ff_reply *)row)->expires_at_ms <= work->now_ms;
    case FF_TABLE_CLAIM:
        return ((const struct ff_claim *)row)->at_ms < work->now_ms - CLAIM_KEEP_MS;
    default:
        worker = row;
        return ff_add_i64_clamped(worker->seen_at_ms, worker->ttl_ms) <= work->now_ms;
    }
}

static void say_lost(struct ff_work *work, const struct ff_registration *worker)
{
    struct ff_event *const event = ff_work_event(work);

    event->kind = FF_EVENT_WORKER;
    event->type = FF_EVENT_WORKER_LOST;
    event->at_ms = work->now_ms;
    event->namespace = worker->namespace;
    event->worker_id = worker->worker_id;
    event->worker_instance_id = worker->worker_instance_id;
}

ff_status ff_meta_prune_apply(struct ff_work *work, struct ff_prune_in *in,
                              struct ff_prune_out *out, struct ff_error *reterr)
{
    (void)reterr;
    *out = (struct ff_prune_out){0};
    if (in->learned_ms == 0) {
        in->learned_ms = work->now_ms;
        return FF_AGAIN;
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(in->scans); i++) {
        const struct ff_scan *const scan = in->scans[i];

        if (!scan)
            continue;
        for (size_t r = 0; r < scan->row_count; r++) {
            if (!is_over(work, scan->rows[r]))
                continue;
            if (i == WORKERS)
                say_lost(work, scan->rows[r]);
            ff_work_delete(work, scan->rows[r]);
            out->removed++;
        }
        out->full = out->full || (int64_t)scan->row_count >= scan->limit;
        out->passed += (int64_t)scan->passed;
    }
    out->full = out->full && out->removed > 0;
    return FF_OK;
}
