/* SPDX-License-Identifier: Apache-2.0
 *
 * foresee.c -- hops that need not look.
 *
 * What must stay true: whatever a hop relies on is changed by it, and so proved by the save: the
 * member (its version goes with its edges), every edge, every join, the flow. Nodes are an
 * exception: one whose join stays open is not looked at. Tests: see foresee.h. */
#include "engine/foresee.h"

#include "base/limits.h"
#include "engine/engine-int.h"
#include "model/states.h"
#include "ops/cascade.h"
#include "sql_ids.h"

#include "base/banned.h"

#define DOUBTED_MS    1000 /* somebody else was there: look for so long */
#define ROWS_PER_EDGE 3    /* itself, its join, its node */

static bool is_waiting(const void *row)
{
    return ff_state_is_blocked(((const struct ff_execution *)row)->state);
}

static ff_known_fits *fits_of(ff_table table)
{
    return table == FF_TABLE_EXECUTION ? is_waiting : NULL;
}

/* --- one row --- */

/* Without touching the batch. */
static bool can_assume(struct ff_engine *engine, struct ff_batch *batch, ff_table table,
                       const void *key)
{
    const struct ff_entry *const entry = ff_rowset_find(&batch->rows, table, key);

    if (entry && entry->found != FF_FOUND_UNASKED)
        return entry->assumed;
    return !(entry && entry->needed) && ff_known_has(&engine->known, table, key, fits_of(table));
}

/* NULL: it has been forgotten meanwhile. */
static void *assume_row(struct ff_engine *engine, struct ff_batch *batch, ff_table table,
                        const void *key)
{
    struct ff_entry *const entry = ff_rowset_want(&batch->rows, table, key, FF_WANT_LOCK);

    if (!entry)
        return NULL;
    if (entry->found == FF_FOUND_UNASKED)
        batch->assumes |= ff_known_recall(&engine->known, &batch->rows, entry, fits_of(table));
    return entry->found == FF_FOUND_ROW ? entry->row : NULL;
}

/* --- what surrounds a member --- */

struct surroundings {
    const struct ff_execution *member;
    struct ff_uuid *nodes;
    size_t count;
};

struct link_keys {
    struct ff_edge edge;
    struct ff_edge_group group;
    struct ff_execution node;
};

static struct link_keys keys_of(const struct surroundings *around, size_t at)
{
    const int32_t partition = around->member->partition_key;

    return (struct link_keys){
        .edge = {.partition_key = partition,
                 .execution_id = around->member->execution_id,
                 .downstream_id = around->nodes[at]},
        .group = {.partition_key = partition, .execution_id = around->nodes[at]},
        .node = {.partition_key = partition, .execution_id = around->nodes[at]},
    };
}

static bool are_known(struct ff_engine *engine, struct ff_batch *batch,
                      const struct surroundings *around)
{
    const struct ff_flow flow = ff_flow_key(around->member->flow_id);

    if (!can_assume(engine, batch, FF_TABLE_FLOW, &flow))
        return false;
    for (size_t i = 0; i < around->count; i++) {
        const struct link_keys keys = keys_of(around, i);

        if (!can_assume(engine, batch, FF_TABLE_EDGE, &keys.edge) ||
            !can_assume(engine, batch, FF_TABLE_EDGE_GROUP, &keys.group) ||
            !can_assume(engine, batch, FF_TABLE_EXECUTION, &keys.node))
            return false;
    }
    return true;
}

/* The two scans of an end (ff_hop_need_edges), answered. */
static void answer(struct ff_engine *engine, struct ff_batch *batch,
                   const struct surroundings *around, struct ff_scan *edges, struct ff_scan *groups)
{
    struct ff_arena *const arena = batch->rows.arena;
    void **const edge_rows = ff_arena_array(arena, around->count + 1, sizeof *edge_rows);
    void **const group_rows = ff_arena_array(arena, around->count + 1, sizeof *group_rows);

    for (size_t i = 0; edge_rows && group_rows && i < around->count; i++) {
        const struct link_keys keys = keys_of(around, i);

        edge_rows[i] = assume_row(engine, batch, FF_TABLE_EDGE, &keys.edge);
        group_rows[i] = assume_row(engine, batch, FF_TABLE_EDGE_GROUP, &keys.group);
        if (!edge_rows[i] || !group_rows[i])
            return;
    }
    if (!edge_rows || !group_rows)
        return;
    edges->rows = edge_rows;
    groups->rows = group_rows;
    edges->row_count = groups->row_count = around->count;
    edges->loaded = groups->loaded = true;
    edges->assumed = groups->assumed = true;
}

/* --- before the load --- */

/* Only where nobody else looks at the same rows in other ways. */
static bool may_foresee(const struct ff_engine *engine, const struct ff_batch *batch)
{
    if (atomic_load(&engine->graphs_doubted_until_mono_ms) > ff_engine_mono_ms(engine))
        return false;
    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        const struct ff_op_type *const type = ff_list_item(node, struct ff_job, link)->type;

        if (!(type->flags & FF_OPF_LEASED) && type != &ff_op_types[FF_OP_EXECUTION_CLAIM] &&
            type != &ff_op_types[FF_OP_EXECUTION_SUBMIT] && type != &ff_op_types[FF_OP_FLOW_CREATE])
            return false;
    }
    return true;
}

static struct ff_scan *scan_after(struct ff_scan *scan, int block)
{
    while (scan && (scan->block != block || scan->loaded))
        scan = scan->next;
    return scan;
}

static struct ff_scan *groups_beside(struct ff_batch *batch, const struct ff_scan *edges)
{
    for (struct ff_scan *scan = scan_after(batch->rows.scans, FF_SQL_GROUPS_FROM); scan;
         scan = scan_after(scan->next, FF_SQL_GROUPS_FROM))
        if (ff_uuid_eq(scan->params[1].as.uuid, edges->params[1].as.uuid) &&
            ff_uuid_eq(scan->params[2].as.uuid, edges->params[2].as.uuid))
            return scan;
    return NULL;
}

static void foresee_member(struct ff_engine *engine, struct ff_batch *batch, struct ff_scan *edges)
{
    const struct ff_execution key = {.partition_key = (int32_t)edges->params[0].as.i64,
                                     .execution_id = edges->params[1].as.uuid};
    const struct ff_entry *const entry = ff_rowset_find(&batch->rows, FF_TABLE_EXECUTION, &key);
    struct ff_scan *const groups = groups_beside(batch, edges);
    struct surroundings around = {.member = entry ? entry->row : NULL};

    if (!entry || !entry->assumed || entry->found != FF_FOUND_ROW || !groups ||
        !ff_uuid_is_zero(edges->params[2].as.uuid))
        return;
    if (!ff_known_edges(&engine->known, around.member, batch->rows.arena, &around.nodes,
                        &around.count))
        return;
    if (batch->rows.entry_count + around.count * ROWS_PER_EDGE <= FF_BATCH_ROWS_MAX &&
        are_known(engine, batch, &around))
        answer(engine, batch, &around, edges, groups);
}

void ff_foresee(struct ff_engine *engine, struct ff_batch *batch)
{
    struct ff_scan *scan = scan_after(batch->rows.scans, FF_SQL_EDGES_FROM);

    if (!scan || !may_foresee(engine, batch))
        return;
    for (; scan; scan = scan_after(scan->next, FF_SQL_EDGES_FROM))
        foresee_member(engine, batch, scan);
}

/* --- before the save --- */

static bool is_answered(struct ff_engine *engine, struct ff_batch *batch, struct ff_entry *entry)
{
    if (entry->found != FF_FOUND_UNASKED)
        return entry->found == FF_FOUND_ROW && (entry->locked || entry->want == FF_WANT_READ);
    batch->assumes |= ff_known_recall(&engine->known, &batch->rows, entry, fits_of(entry->table));
    return entry->found == FF_FOUND_ROW;
}

bool ff_foresee_riders(struct ff_engine *engine, struct ff_batch *batch)
{
    bool all = engine->options.assumes && engine->store->facts.proves &&
               atomic_load(&engine->graphs_doubted_until_mono_ms) <= ff_engine_mono_ms(engine);

    for (const struct ff_scan *scan = batch->rows.scans; all && scan; scan = scan->next)
        all = scan->loaded;
    FF_LIST_FOR_EACH(node, &batch->riders)
    {
        const struct ff_job *const rider = ff_list_item(node, struct ff_job, link);

        for (size_t i = rider->want_from; all && i < rider->want_to; i++)
            all = is_answered(engine, batch, batch->rows.wants[i]);
    }
    return all;
}

void ff_foresee_failed(struct ff_engine *engine, const struct ff_batch *batch)
{
    for (const struct ff_entry *entry = batch->rows.entries[FF_TABLE_FLOW]; entry;
         entry = entry->next)
        if (entry->assumed)
            atomic_store(&engine->graphs_doubted_until_mono_ms,
                         ff_engine_mono_ms(engine) + DOUBTED_MS);
}
