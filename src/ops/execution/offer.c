/* SPDX-License-Identifier: Apache-2.0
 *
 * offer.c -- which executions are for which claim, and claims served by the batch that frees them.
 *
 * The scan of execution.claim selects by the same rule, so that an index finds what fits; claim.c
 * asks ff_claim_fits again for every row it hands out. Tests: tests/unit/test_claim.c. */
#include "base/macros.h"
#include "model/capset.h"
#include "ops/execution.h"
#include "ops/work.h"

#include "base/banned.h"

static bool is_one_of(struct ff_str text, const struct ff_str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ff_str_eq(text, texts[i]))
            return true;
    return false;
}

static bool has_capabilities(const struct ff_claim_in *in, const struct ff_capsets *capsets,
                             int64_t capset_id)
{
    const struct ff_capset *const set =
        capset_id && capsets ? ff_capsets_find(capsets, capset_id) : NULL;

    return capset_id == 0 ||
           (set && ff_capset_fits(set->tokens, in->capabilities, in->capability_count));
}

bool ff_claim_fits(const struct ff_claim_in *in, const struct ff_capsets *capsets,
                   const struct ff_execution *execution)
{
    return is_one_of(execution->lane, in->lanes, in->lane_count) &&
           (ff_str_is_null(in->namespace) || ff_str_eq(in->namespace, execution->namespace)) &&
           (in->kind_count == 0 || is_one_of(execution->kind, in->kinds, in->kind_count)) &&
           has_capabilities(in, capsets, execution->capset_id);
}

int ff_lane_cmp(const struct ff_execution *a, const struct ff_execution *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->created_at_ms != b->created_at_ms)
        return a->created_at_ms < b->created_at_ms ? -1 : 1;
    return ff_uuid_cmp(a->execution_id, b->execution_id);
}

static struct ff_scan *offered_in(struct ff_work *work, const struct ff_claim_in *in,
                                  struct ff_str lane, struct ff_execution *const *rows,
                                  size_t count)
{
    struct ff_scan *const scan = ff_arena_alloc(work->arena, sizeof *scan);

    if (!scan)
        return NULL;
    *scan = (struct ff_scan){.limit = INT64_MAX, .loaded = true};
    scan->rows = ff_arena_array(work->arena, count, sizeof *scan->rows);
    for (size_t i = 0; scan->rows && i < count; i++)
        if (ff_str_eq(rows[i]->lane, lane) && ff_claim_fits(in, work->capsets, rows[i]))
            scan->rows[scan->row_count++] = rows[i];
    return scan;
}

void ff_claim_offer(struct ff_work *work, struct ff_claim_in *in, struct ff_execution *const *rows,
                    size_t count)
{
    in->scans = ff_arena_array(work->arena, in->lane_count, sizeof *in->scans);
    for (size_t i = 0; in->scans && i < in->lane_count; i++)
        in->scans[i] = offered_in(work, in, in->lanes[i], rows, count);
}
