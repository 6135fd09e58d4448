/* SPDX-License-Identifier: Apache-2.0
 *
 * handover.c -- parked claims join the batch that frees what they wait for.
 *
 * What must stay true: only rows this batch has locked or made are handed out; a claim that has
 * joined is a job of the batch as any other, so if the batch fails it is run again with a scan of
 * its own; who waits longest is served first. Tests: see handover.h. */
#include "engine/handover.h"

#include <stdlib.h>

#include "base/limits.h"
#include "engine/engine-int.h"
#include "model/states.h"
#include "ops/execution.h"

#include "base/banned.h"

#define LANES_MAX 16  /* asked about per batch */
#define ROWS_MAX  256 /* dealt out per batch */

void ff_handover_need(struct ff_engine *engine, struct ff_batch *batch)
{
    size_t asked = 0;

    if (!engine->options.rides)
        return;
    pthread_mutex_lock(&engine->lock);
    FF_LIST_FOR_EACH(node, &engine->parked)
    {
        const struct ff_claim_in *const in = ff_list_item(node, struct ff_job, link)->in;

        for (size_t i = 0; i < in->lane_count && asked < LANES_MAX; i++) {
            struct ff_lane lane = {.lane = in->lanes[i]};

            if (ff_rowset_find(&batch->rows, FF_TABLE_LANE, &lane))
                continue;
            lane.lane = ff_arena_str(&batch->arena, lane.lane); /* it may outlive the claim */
            if (lane.lane.ptr)
                (void)ff_rowset_want(&batch->rows, FF_TABLE_LANE, &lane, FF_WANT_READ);
            asked++;
        }
    }
    pthread_mutex_unlock(&engine->lock);
}

static int by_lane_order(const void *a, const void *b)
{
    return ff_lane_cmp(*(const struct ff_execution *const *)a,
                       *(const struct ff_execution *const *)b);
}

/* What this batch has made claimable, in the order of handing out. */
static size_t freed(struct ff_batch *batch, struct ff_execution **rows)
{
    size_t count = 0;

    for (const struct ff_entry *entry = batch->rows.entries[FF_TABLE_EXECUTION];
         entry && count < ROWS_MAX; entry = entry->next) {
        struct ff_execution *const row = entry->row;

        if (entry->found == FF_FOUND_ROW && row->head.op != 0 && !row->head.is_purged &&
            ff_state_is_claimable(row->state))
            rows[count++] = row;
    }
    qsort(rows, count, sizeof *rows, by_lane_order);
    return count;
}

/* Whether they are paused is known of all lanes that come before the one with the row. */
static bool knows_lanes(struct ff_batch *batch, const struct ff_claim_in *in)
{
    for (size_t i = 0; i < in->lane_count; i++) {
        const struct ff_lane lane = {.lane = in->lanes[i]};
        const struct ff_entry *const entry = ff_rowset_find(&batch->rows, FF_TABLE_LANE, &lane);

        if (!entry || entry->found == FF_FOUND_UNASKED)
            return false;
    }
    return true;
}

static bool may_take(struct ff_batch *batch, const struct ff_job *claim,
                     const struct ff_capsets *capsets, struct ff_execution *const *rows,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ff_claim_fits(claim->in, capsets, rows[i]))
            return knows_lanes(batch, claim->in);
    return false;
}

/* Claims of this batch that have looked before all was freed wait with the others, in turn. */
static void park_empty_handed(struct ff_engine *engine, struct ff_batch *batch)
{
    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);
        struct ff_list_node *const before = node->prev;

        if (job->type != &ff_op_types[FF_OP_EXECUTION_CLAIM])
            continue;
        ff_list_remove(node);
        if (ff_engine_park(engine, job))
            batch->count--;
        else
            ff_list_link_between(node, before, before->next);
    }
}

/* Takes claims out of the waiting ones until there are enough for all rows. */
static void pick(struct ff_engine *engine, struct ff_batch *batch, const struct ff_batch_env *env,
                 struct ff_execution *const *rows, size_t count, struct ff_list *out)
{
    int64_t left = (int64_t)count;
    size_t room = FF_BATCH_OPS_MAX - ff_min_size(batch->count, FF_BATCH_OPS_MAX);

    pthread_mutex_lock(&engine->lock);
    FF_LIST_FOR_EACH(node, &engine->parked)
    {
        struct ff_job *const claim = ff_list_item(node, struct ff_job, link);
        const struct ff_claim_in *const in = claim->in;

        if (left <= 0 || room == 0)
            break;
        if (!may_take(batch, claim, env->capsets, rows, count))
            continue;
        ff_list_remove(node);
        claim->parked = false;
        engine->stats.wakeups++; /* not by a poll */
        ff_list_push_back(out, node);
        left -= in->max;
        room--;
    }
    pthread_mutex_unlock(&engine->lock);
}

/* Nobody relies on them: there is nothing to prove. */
static void forget_lanes(struct ff_batch *batch)
{
    for (struct ff_entry *entry = batch->rows.entries[FF_TABLE_LANE]; entry; entry = entry->next)
        entry->assumed = false;
}

void ff_handover(struct ff_engine *engine, struct ff_batch *batch, const struct ff_batch_env *env)
{
    struct ff_execution *rows[ROWS_MAX];
    struct ff_list claims;
    size_t count;

    if (!engine->options.rides || !batch->rows.entries[FF_TABLE_LANE])
        return;
    ff_list_init(&claims);
    count = freed(batch, rows);
    if (count > 0) {
        park_empty_handed(engine, batch);
        pick(engine, batch, env, rows, count, &claims);
    }
    if (ff_list_empty(&claims))
        forget_lanes(batch);
    while (!ff_list_empty(&claims)) {
        struct ff_job *const claim = ff_job_pop(&claims);

        struct ff_work work = ff_batch_work(batch, claim, env);

        claim->wake_seen = ff_engine_wake_sum(engine, claim);
        ff_arena_rewind(&claim->arena, &claim->kept);
        ff_claim_offer(&work, claim->in, rows, count);
        ff_batch_join(batch, claim, env);
    }
}
