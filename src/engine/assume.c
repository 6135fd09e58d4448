/* SPDX-License-Identifier: Apache-2.0
 *
 * assume.c -- what a batch relies on without having looked.
 *
 * Tests: see assume.h. */
#include "engine/assume.h"

#include "base/limits.h"
#include "engine/engine-int.h"
#include "engine/foresee.h"
#include "model/states.h"

#include "base/banned.h"

#define LANES_DOUBTED_MS 1000 /* one was paused: look for so long */

static bool is_lane_to_assume(const struct ff_engine *engine, const struct ff_entry *entry)
{
    return entry->table == FF_TABLE_LANE && entry->want == FF_WANT_READ &&
           atomic_load(&engine->lanes_doubted_until_mono_ms) < ff_engine_mono_ms(engine);
}

/* Sets are never taken away; the save proves that it is the store they were learned from. */
static const struct ff_capset *capset_to_assume(const struct ff_capsets *capsets,
                                                const struct ff_entry *entry)
{
    return entry->table == FF_TABLE_CAPSET && entry->found == FF_FOUND_UNASKED
               ? ff_capsets_find(capsets, ((const struct ff_capset *)entry->row)->capset_id)
               : NULL;
}

static bool is_running(const void *row)
{
    return ((const struct ff_execution *)row)->state == FF_STATE_ACTIVE;
}

static bool may_assume(const struct ff_job *job)
{
    return (job->type->flags & FF_OPF_LEASED) != 0;
}

/* Rows that a job needs as they are, others must take so, too. */
static void mark_needed(struct ff_batch *batch)
{
    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        const struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        for (size_t i = job->want_from; i < job->want_to && !may_assume(job); i++)
            batch->rows.wants[i]->needed = true;
    }
}

static void recall(struct ff_engine *engine, struct ff_batch *batch)
{
    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        const struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        for (size_t i = job->want_from; i < job->want_to && may_assume(job); i++) {
            struct ff_entry *const entry = batch->rows.wants[i];

            if (entry->table == FF_TABLE_EXECUTION && entry->want == FF_WANT_LOCK &&
                entry->found == FF_FOUND_UNASKED && !entry->needed)
                batch->assumes |= ff_known_recall(&engine->known, &batch->rows, entry, is_running);
        }
    }
}

static bool asks_for_nothing(const struct ff_engine *engine, const struct ff_batch *batch,
                             const struct ff_capsets *capsets)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (const struct ff_entry *entry = batch->rows.entries[table]; entry; entry = entry->next)
            if (entry->found == FF_FOUND_UNASKED && !is_lane_to_assume(engine, entry) &&
                !capset_to_assume(capsets, entry))
                return false;
    for (const struct ff_scan *scan = batch->rows.scans; scan; scan = scan->next)
        if (!scan->loaded)
            return false;
    return true;
}

static void assume_lanes(struct ff_engine *engine, struct ff_batch *batch)
{
    for (struct ff_entry *entry = batch->rows.entries[FF_TABLE_LANE]; entry; entry = entry->next)
        if (entry->found == FF_FOUND_UNASKED && is_lane_to_assume(engine, entry)) {
            ff_rowset_assume(&batch->rows, entry, NULL);
            batch->assumes = true;
        }
}

static void assume_capsets(struct ff_batch *batch, const struct ff_capsets *capsets)
{
    for (struct ff_entry *entry = batch->rows.entries[FF_TABLE_CAPSET]; entry;
         entry = entry->next) {
        const struct ff_capset *const set = capset_to_assume(capsets, entry);
        struct ff_capset row;

        if (!set)
            continue;
        row = *set;
        row.head = (struct ff_row){.table = FF_TABLE_CAPSET}; /* as if it had been read */
        ff_rowset_assume(&batch->rows, entry, &row);
    }
}

bool ff_assume(struct ff_engine *engine, struct ff_batch *batch, bool rides)
{
    struct ff_capsets capsets;

    if (!engine->options.assumes || !engine->store->facts.proves)
        return false;
    pthread_mutex_lock(&engine->lock);
    capsets = engine->capsets;
    pthread_mutex_unlock(&engine->lock);
    mark_needed(batch);
    recall(engine, batch);
    if (rides)
        ff_foresee(engine, batch);
    if (batch->arena.failed || !asks_for_nothing(engine, batch, &capsets) ||
        !ff_engine_knows_now(engine))
        return false;
    assume_lanes(engine, batch);
    assume_capsets(batch, &capsets);
    batch->assumes = batch->unloaded = true;
    return true;
}

bool ff_assume_riders(struct ff_engine *engine, struct ff_batch *batch)
{
    const bool all = ff_foresee_riders(engine, batch);

    if (all || batch->unloaded)
        assume_lanes(engine, batch);
    return all;
}

void ff_assume_decided(struct ff_engine *engine, struct ff_batch *batch)
{
    if (batch->assumes)
        ff_known_forget(&engine->known, &batch->rows, false);
}

static bool assumes_lanes(const struct ff_batch *batch)
{
    for (const struct ff_entry *entry = batch->rows.entries[FF_TABLE_LANE]; entry;
         entry = entry->next)
        if (entry->assumed)
            return true;
    return false;
}

bool ff_assume_failed(struct ff_engine *engine, struct ff_batch *batch, bool disproved)
{
    if (!batch->assumes || !disproved)
        return batch->assumes;
    engine->stats.disproved++;
    ff_foresee_failed(engine, batch);
    ff_known_forget(&engine->known, &batch->rows, true);
    if (assumes_lanes(batch))
        atomic_store(&engine->lanes_doubted_until_mono_ms,
                     ff_engine_mono_ms(engine) + LANES_DOUBTED_MS);
    return true;
}
