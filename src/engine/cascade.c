/* SPDX-License-Identifier: Apache-2.0
 *
 * cascade.c -- hops and drains on their way.
 *
 * What must stay true: an item leaves the list only when the store says that it is done, or when
 * the store can find it again; a failing item never holds up another one. Retrying is left to the
 * store's own record of it (tries, not_before_ms). Tests: tests/conformance/flow_*.c. */
#include "engine/cascade.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/engine-int.h"
#include "model/codes.h"
#include "ops/cascade.h"

#include "base/banned.h"

void ff_cascade_init(struct ff_cascade *cascade)
{
    for (uint32_t i = 0; i < FF_HOPS_IN_FLIGHT; i++)
        cascade->items[i].next = i + 1 < FF_HOPS_IN_FLIGHT ? i + 2 : 0;
    cascade->first_free = 1;
}

bool ff_cascade_idle(const struct ff_cascade *cascade)
{
    return cascade->count == cascade->held;
}

/* --- slots; called with the engine's lock --- */

static bool same(const struct ff_cascade_item *a, const struct ff_cascade_item *b)
{
    if (a->what != b->what)
        return false;
    if (a->what == FF_CASCADE_HOP)
        return ff_exec_id_eq(a->hop.id, b->hop.id) && a->hop.generation == b->hop.generation &&
               a->hop.kind == b->hop.kind;
    if (a->what == FF_CASCADE_GROUP_DRAIN)
        return ff_exec_id_eq(a->drain.id, b->drain.id) && a->drain.decision == b->drain.decision;
    return ff_uuid_eq(a->flow_id, b->flow_id);
}

static uint32_t *bucket_of(struct ff_cascade *cascade, const struct ff_cascade_item *item)
{
    static const struct ff_hash_seed seed = {0};
    const struct ff_uuid id = item->what == FF_CASCADE_HOP           ? item->hop.id.uuid
                              : item->what == FF_CASCADE_GROUP_DRAIN ? item->drain.id.uuid
                                                                     : item->flow_id;

    return &cascade->buckets[ff_hash_bytes(seed, id.b, sizeof id.b) % FF_CASCADE_BUCKETS];
}

static bool is_known(struct ff_cascade *cascade, const struct ff_cascade_item *item)
{
    for (uint32_t at = *bucket_of(cascade, item); at; at = cascade->items[at - 1].next)
        if (same(&cascade->items[at - 1], item))
            return true;
    return false;
}

/* -1: full. */
static int64_t take_slot(struct ff_cascade *cascade, const struct ff_cascade_item *item)
{
    const uint32_t slot = cascade->first_free;
    struct ff_cascade_item *place;
    uint32_t *bucket;

    if (slot == 0) {
        cascade->overflowed = true;
        return -1;
    }
    place = &cascade->items[slot - 1];
    cascade->first_free = place->next;
    *place = *item;
    bucket = bucket_of(cascade, item);
    place->next = *bucket;
    *bucket = slot;
    cascade->count++;
    return slot - 1;
}

/* Nothing moves, and something was left to the store. */
static void look_if_idle(struct ff_engine *engine)
{
    if (!ff_cascade_idle(&engine->cascade) || !engine->cascade.overflowed)
        return;
    engine->cascade.overflowed = false;
    engine->supervisor.loops[FF_LOOP_HOPS].again = true;
    engine->supervisor.loops[FF_LOOP_EDGE_CANCEL_DISPATCHER].again = true;
    engine->supervisor.loops[FF_LOOP_FLOW_CANCEL].again = true;
    pthread_cond_broadcast(&engine->changed);
}

static void free_slot(struct ff_engine *engine, uint32_t slot)
{
    struct ff_cascade *const cascade = &engine->cascade;
    struct ff_cascade_item *const item = &cascade->items[slot];
    uint32_t *link = bucket_of(cascade, item);

    while (*link != slot + 1)
        link = &cascade->items[*link - 1].next;
    *link = item->next;
    item->next = cascade->first_free;
    cascade->first_free = slot + 1;
    cascade->count--;
    cascade->held -= item->held ? 1 : 0;
    look_if_idle(engine);
}

/* False: enough of them wait like this; it is left to the store. */
static bool keep_held(struct ff_engine *engine, uint32_t slot)
{
    struct ff_cascade *const cascade = &engine->cascade;
    bool kept;

    pthread_mutex_lock(&engine->lock);
    kept = cascade->items[slot].held || cascade->held < FF_HOPS_HELD;
    if (kept && !cascade->items[slot].held) {
        cascade->items[slot].held = true;
        cascade->held++;
        look_if_idle(engine);
    }
    pthread_mutex_unlock(&engine->lock);
    return kept;
}

/* --- jobs --- */

/* The batch that made a hop, and the hop in it. */
struct made {
    struct ff_rowset *rows;
    const struct ff_outbox *hop;
};

static void learn(struct ff_engine *engine, struct ff_job *job, const struct made *made)
{
    struct ff_work work = {
        .rows = made->rows, .arena = &job->arena, .settings = &engine->options.settings};

    ff_hop_learn(&work, job->in, made->hop);
}

static void *fill(const struct ff_cascade_item *item, struct ff_job *job)
{
    struct ff_dispatch_in *dispatch;
    struct ff_group_drain_in *group;
    struct ff_flow_drain_in *flow;
    struct ff_flow_remove_in *removal;

    switch (item->what) {
    case FF_CASCADE_HOP:
        dispatch = ff_arena_alloc(&job->arena, sizeof *dispatch);
        if (dispatch)
            dispatch->hop = item->hop;
        return dispatch;
    case FF_CASCADE_GROUP_DRAIN:
        group = ff_arena_alloc(&job->arena, sizeof *group);
        if (group)
            group->drain = item->drain;
        return group;
    case FF_CASCADE_FLOW_DRAIN:
        flow = ff_arena_alloc(&job->arena, sizeof *flow);
        if (flow)
            flow->flow_id = item->flow_id;
        return flow;
    case FF_CASCADE_FLOW_REMOVE:
        removal = ff_arena_alloc(&job->arena, sizeof *removal);
        if (removal)
            removal->flow_id = item->flow_id;
        return removal;
    }
    return NULL;
}

/* What does the work of an item, and as what it is found again in the store. */
static const struct {
    ff_op_id op;
    ff_find_what find;
} ways[] = {
    [FF_CASCADE_HOP] = {FF_OP_HOP_DISPATCH, FF_FIND_HOPS},
    [FF_CASCADE_GROUP_DRAIN] = {FF_OP_GROUP_DRAIN, FF_FIND_DRAINS},
    [FF_CASCADE_FLOW_DRAIN] = {FF_OP_FLOW_DRAIN, FF_FIND_FLOWS},
    [FF_CASCADE_FLOW_REMOVE] = {FF_OP_FLOW_REMOVE, FF_FIND_FLOWS},
};

static void item_done(struct ff_job *job, void *ctx);

/* `made` NULL: it has to look for itself. NULL: no memory. */
static struct ff_job *job_of(struct ff_engine *engine, const struct ff_cascade_item *item,
                             const struct made *made)
{
    struct ff_job *const job = ff_job_new(ways[item->what].op, 0);

    if (job)
        job->in = fill(item, job);
    if (job && job->in && made)
        learn(engine, job, made);
    return job;
}

/* False: it could not be queued; the job is freed. */
static bool queue_job(struct ff_engine *engine, struct ff_job *job, uint32_t slot,
                      void (*done)(struct ff_job *job, void *ctx))
{
    struct ff_error error;

    if (!job || !job->in) {
        ff_job_free(job);
        return false;
    }
    job->tag = slot;
    job->done = done;
    job->ctx = engine;
    if (ff_engine_submit(engine, job, &error) == FF_OK)
        return true;
    ff_job_free(job);
    return false;
}

static bool start(struct ff_engine *engine, const struct ff_cascade_item *item, uint32_t slot,
                  const struct made *made)
{
    return queue_job(engine, job_of(engine, item, made), slot, item_done);
}

/* The item leaves the list; what is left of it is found in the store. */
static void leave(struct ff_engine *engine, uint32_t slot, bool look_again)
{
    pthread_mutex_lock(&engine->lock);
    if (look_again)
        engine->cascade.overflowed = true;
    free_slot(engine, slot);
    pthread_mutex_unlock(&engine->lock);
}

static void postponed(struct ff_job *job, void *ctx)
{
    leave(ctx, job->tag, false);
    ff_job_free(job);
}

/* Errors of the item itself; everything else is the store's or the engine's and passes. */
static bool is_own_fault(ff_status status)
{
    return status == FF_INTERNAL || status == FF_CONFLICT || status == FF_INVALID ||
           status == FF_NOT_FOUND;
}

static void failed(struct ff_engine *engine, const struct ff_cascade_item *item,
                   const struct ff_job *job)
{
    const uint32_t slot = job->tag;
    struct ff_job *later = NULL;
    struct ff_postpone_in *in;

    /* Somebody holds a row it needs; the wait was the patient lane's. It does not leave the list:
     * nobody else may look for it. */
    if (job->status == FF_BUSY && keep_held(engine, slot) && start(engine, item, slot, NULL))
        return;
    if (!is_own_fault(job->status)) {
        leave(engine, slot, true); /* the store is asked as soon as it answers again */
        return;
    }
    ff_log(FF_LOG_ERROR, "engine", "cascade step failed op=%s code=%s reason='%s'", job->type->name,
           ff_status_code(job->status), job->error.message);
    later = ff_job_new(FF_OP_HOP_POSTPONE, 0);
    in = later ? ff_arena_alloc(&later->arena, sizeof *in) : NULL;
    if (in) {
        in->what = ways[item->what].find;
        in->hop = item->hop;
        in->drain = item->drain;
        in->flow_id = item->flow_id;
        later->in = in;
    }
    if (!queue_job(engine, later, slot, postponed))
        leave(engine, slot, false);
}

struct result {
    bool noop, more;
    int64_t done;
};

static struct result result_of(ff_cascade_what what, const struct ff_job *job)
{
    const struct ff_dispatch_out *const hop = job->out;
    const struct ff_drain_out *const drain = job->out;
    const struct ff_flow_remove_out *const removal = job->out;

    if (what == FF_CASCADE_HOP)
        return (struct result){hop->noop, hop->more, 1};
    if (what == FF_CASCADE_FLOW_REMOVE)
        return (struct result){false, removal->more, removal->removed};
    return (struct result){drain->noop, drain->more, drain->cancelled};
}

/* Called with the engine's lock. */
static void count(struct ff_loop *loop, const struct ff_job *job, const struct result *result)
{
    if (job->status != FF_OK) {
        loop->errors++;
        loop->last_errors++;
    } else if (result->noop) {
        loop->last_noop++;
    } else {
        loop->processed += result->done;
        loop->last_processed += result->done;
    }
}

static void item_done(struct ff_job *job, void *ctx)
{
    struct ff_engine *const engine = ctx;
    const uint32_t slot = job->tag;
    struct ff_cascade_item item;
    struct result result = {0};

    pthread_mutex_lock(&engine->lock);
    item = engine->cascade.items[slot];
    if (job->status == FF_OK)
        result = result_of(item.what, job);
    if (!result.more || item.what != FF_CASCADE_HOP)
        count(&engine->supervisor.loops[item.loop], job, &result);
    pthread_mutex_unlock(&engine->lock);
    if (job->status != FF_OK)
        failed(engine, &item, job);
    else if (!result.more)
        leave(engine, slot, false);
    else if (!start(engine, &item, slot, NULL))
        leave(engine, slot, true);
    ff_job_free(job);
}

/* `fresh`: made by a commit of ours just now, so it cannot be on the list. False: it is. */
static bool add(struct ff_engine *engine, const struct ff_cascade_item *item, bool fresh,
                const struct made *made)
{
    int64_t slot = -1;
    bool known;

    pthread_mutex_lock(&engine->lock);
    known = !fresh && is_known(&engine->cascade, item);
    if (!known && !engine->closed)
        slot = take_slot(&engine->cascade, item);
    pthread_mutex_unlock(&engine->lock);
    if (slot >= 0 && !start(engine, item, (uint32_t)slot, made))
        leave(engine, (uint32_t)slot, true);
    return !known;
}

/* --- where items come from --- */

static bool is_new_hop(const struct ff_entry *entry)
{
    const struct ff_outbox *const hop = entry->row;

    return entry->found == FF_FOUND_ROW && hop->head.is_new && hop->dispatched_at_ms == FF_NULL64;
}

static struct ff_cascade_item item_of(const struct ff_outbox *hop)
{
    return (struct ff_cascade_item){
        .what = FF_CASCADE_HOP,
        .hop = {{hop->partition_key, hop->execution_id}, hop->generation, hop->kind},
        .loop = FF_LOOP_HOPS};
}

/* Rows that came for riders came under locks, or not at all: what the batch had seen of them may
 * be gone, so those who are left behind look for themselves. */
static void add_hops(struct ff_engine *engine, struct ff_batch *batch)
{
    const bool seen = ff_list_empty(&batch->riders);

    for (const struct ff_entry *entry = batch->rows.entries[FF_TABLE_OUTBOX]; entry;
         entry = entry->next) {
        const struct made made = {&batch->rows, entry->row};
        const struct ff_cascade_item item = item_of(entry->row);

        if (is_new_hop(entry))
            (void)add(engine, &item, true, seen ? &made : NULL);
    }
}

static void count_riders(struct ff_engine *engine, const struct ff_batch *batch)
{
    static const struct result done = {.done = 1};

    pthread_mutex_lock(&engine->lock);
    FF_LIST_FOR_EACH(node, &batch->riders)
    {
        const struct ff_job *const rider = ff_list_item(node, struct ff_job, link);

        if (rider->status == FF_OK)
            count(&engine->supervisor.loops[FF_LOOP_HOPS], rider, &done);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* It knows its edges: one more load, and it can decide. */
static bool is_ready(const struct ff_job *job)
{
    const struct ff_dispatch_in *const in = job ? job->in : NULL;

    return in && in->known && in->last_page;
}

bool ff_cascade_board(struct ff_engine *engine, struct ff_batch *batch,
                      const struct ff_batch_env *env)
{
    if (!engine->options.cascade || !engine->options.rides)
        return false;
    for (const struct ff_entry *entry = batch->rows.entries[FF_TABLE_OUTBOX]; entry;
         entry = entry->next) {
        const struct made made = {&batch->rows, entry->row};
        const struct ff_cascade_item item = item_of(entry->row);
        struct ff_job *rider;

        if (!is_new_hop(entry) || batch->rows.entry_count >= FF_BATCH_ROWS_MAX)
            continue;
        rider = job_of(engine, &item, &made);
        if (!is_ready(rider)) {
            ff_job_free(rider);
            continue;
        }
        rider->kept = ff_arena_mark(&rider->arena);
        ff_engine_random(engine, rider->seed.b, sizeof rider->seed.b);
        ff_batch_board(batch, rider, env);
    }
    return !ff_list_empty(&batch->riders);
}

static void add_drains(struct ff_engine *engine, const struct ff_rowset *rows)
{
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_DRAIN]; entry; entry = entry->next) {
        const struct ff_drain *const drain = entry->row;
        const struct ff_cascade_item item = {
            .what = FF_CASCADE_GROUP_DRAIN,
            .drain = {{drain->partition_key, drain->execution_id}, drain->decision},
            .loop = FF_LOOP_EDGE_CANCEL_DISPATCHER};

        if (entry->found == FF_FOUND_ROW && drain->head.is_new && !drain->head.is_deleted)
            (void)add(engine, &item, true, NULL);
    }
}

static void add_flows(struct ff_engine *engine, const struct ff_rowset *rows)
{
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_FLOW]; entry; entry = entry->next) {
        const struct ff_flow *const flow = entry->row;
        const bool removed = flow->state == FF_FLOW_REMOVED;
        const struct ff_cascade_item item = {.what = removed ? FF_CASCADE_FLOW_REMOVE
                                                             : FF_CASCADE_FLOW_DRAIN,
                                             .flow_id = flow->flow_id,
                                             .loop = FF_LOOP_FLOW_CANCEL};

        if (entry->found == FF_FOUND_ROW && flow->head.op != 0 && !flow->head.is_deleted &&
            (removed || flow->draining) && flow->tries == 0) /* else it has been put off */
            (void)add(engine, &item, false, NULL);
    }
}

void ff_cascade_committed(struct ff_engine *engine, struct ff_batch *batch)
{
    if (!engine->options.cascade)
        return;
    if (!ff_list_empty(&batch->riders))
        count_riders(engine, batch);
    add_hops(engine, batch);
    add_drains(engine, &batch->rows);
    add_flows(engine, &batch->rows);
}

void ff_cascade_found(struct ff_engine *engine, ff_loop_id loop, const struct ff_find_out *found)
{
    int64_t known = 0;

    /* Is there more? The pulse would tell, but nobody without loops listens to it. */
    pthread_mutex_lock(&engine->lock);
    if (found->full || (found->count > 0 && !engine->options.loops))
        engine->cascade.overflowed = true;
    pthread_mutex_unlock(&engine->lock);
    for (size_t i = 0; i < found->count; i++) {
        struct ff_cascade_item item = {.loop = loop};

        if (found->hops) {
            item.what = FF_CASCADE_HOP;
            item.hop = found->hops[i];
        } else if (found->drains) {
            item.what = FF_CASCADE_GROUP_DRAIN;
            item.drain = found->drains[i];
        } else {
            item.what = found->removed[i] ? FF_CASCADE_FLOW_REMOVE : FF_CASCADE_FLOW_DRAIN;
            item.flow_id = found->flows[i];
        }
        known += add(engine, &item, false, NULL) ? 0 : 1;
    }
    pthread_mutex_lock(&engine->lock);
    engine->supervisor.loops[loop].last_noop += known;
    pthread_mutex_unlock(&engine->lock);
}
