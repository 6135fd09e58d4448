/* SPDX-License-Identifier: Apache-2.0
 *
 * drain.c -- group.drain: cancel the upstreams of a join that neither it nor another needs.
 *
 * A first batch learns, without a lock, which of the open upstreams a decided join, this one or
 * another, has asked to cancel. The second holds them, so nobody adds an edge to them, and asks for
 * each whether a node waits for it, this one included: its join may be open again. One that is
 * needed is spared. Every join it leads to has a drain when it needs it no more, so it is looked at
 * again. The drain is over when its cursor has passed.
 * Read first: docs/internals/cascade.md. Tests: tests/unit/test_sibling.c. */
#include "base/macros.h"
#include "base/mutant.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "sql_ids.h"

#include "base/banned.h"

static struct ff_drain key_of(const struct ff_group_drain_in *in)
{
    return (struct ff_drain){.partition_key = in->drain.id.partition,
                             .execution_id = in->drain.id.uuid,
                             .decision = in->drain.decision};
}

static struct ff_edge_group group_key(const struct ff_group_drain_in *in, struct ff_uuid id)
{
    return (struct ff_edge_group){.partition_key = in->drain.id.partition, .execution_id = id};
}

static void need_edges(struct ff_work *work, struct ff_group_drain_in *in)
{
    struct ff_value params[FF_SQL_EDGES_ASKED_PARAMS];
    const struct ff_in_edges_asked page = {.partition_key = in->drain.id.partition,
                                           .downstream_id = in->drain.id.uuid,
                                           .after_id = in->cursor};

    ff_in_edges_asked_values(&page, params);
    in->edges = ff_work_scan(work, FF_SQL_EDGES_ASKED, params, FF_SQL_EDGES_ASKED_PARAMS,
                             work->settings->drain_rows);
}

static struct ff_scan *need_needed(struct ff_work *work, const struct ff_group_drain_in *in,
                                   size_t at)
{
    struct ff_value params[FF_SQL_SIBLING_NEEDED_PARAMS];
    const struct ff_in_sibling_needed needed = {.partition_key = in->drain.id.partition,
                                                .execution_id = in->upstreams[at]};

    ff_in_sibling_needed_values(&needed, params);
    return ff_work_scan(work, FF_SQL_SIBLING_NEEDED, params, FF_SQL_SIBLING_NEEDED_PARAMS, 1);
}

void ff_group_drain_need(struct ff_work *work, struct ff_group_drain_in *in)
{
    const struct ff_drain drain = key_of(in);
    const struct ff_edge_group group = group_key(in, in->drain.id.uuid);

    in->edges = NULL;
    ff_work_want(work, FF_TABLE_DRAIN, &drain, in->known ? FF_WANT_LOCK : FF_WANT_READ);
    if (!in->known) {
        need_edges(work, in);
        return;
    }
    ff_work_want(work, FF_TABLE_EDGE_GROUP, &group, FF_WANT_LOCK);
    in->needed = ff_arena_array(work->arena, in->count + 1, sizeof *in->needed);
    for (size_t i = 0; in->needed && i < in->count; i++) {
        const struct ff_edge_group asker = group_key(in, in->askers[i]);

        ff_work_lock_execution(work, (struct ff_exec_id){in->drain.id.partition, in->upstreams[i]});
        ff_work_want(work, FF_TABLE_EDGE_GROUP, &asker, FF_WANT_READ);
        in->needed[i] = need_needed(work, in, i);
    }
}

/* One asker of each upstream will do; the rows are in the order of the upstreams. */
static ff_status learn(struct ff_work *work, struct ff_group_drain_in *in,
                       const struct ff_drain *drain, struct ff_error *reterr)
{
    const size_t found = in->edges ? in->edges->row_count : 0;

    if (!ff_uuid_eq(in->cursor, drain->edge_cursor)) {
        in->cursor = drain->edge_cursor;
        return FF_AGAIN;
    }
    in->last_page = (int64_t)found < work->settings->drain_rows;
    in->upstreams = ff_arena_array(work->arena, found + 1, sizeof *in->upstreams);
    in->askers = ff_arena_array(work->arena, found + 1, sizeof *in->askers);
    FF_TRY(ff_arena_check(work->arena, reterr));
    in->count = 0;
    for (size_t i = 0; i < found; i++) {
        const struct ff_edge *const edge = in->edges->rows[i];

        if (in->count > 0 && ff_uuid_eq(in->upstreams[in->count - 1], edge->execution_id))
            continue;
        in->upstreams[in->count] = edge->execution_id;
        in->askers[in->count++] = edge->downstream_id;
    }
    in->known = true;
    return FF_AGAIN;
}

static ff_status look_again(struct ff_group_drain_in *in, struct ff_uuid cursor)
{
    in->known = false;
    in->cursor = cursor;
    return FF_AGAIN;
}

static ff_status drain_page(struct ff_work *work, struct ff_group_drain_in *in,
                            struct ff_drain_out *out)
{
    for (size_t i = 0; i < in->count; i++) {
        const struct ff_edge_group key = group_key(in, in->askers[i]);
        const struct ff_edge_group *const asker = ff_work_row(work, FF_TABLE_EDGE_GROUP, &key);
        struct ff_execution *const execution =
            ff_work_execution(work, (struct ff_exec_id){in->drain.id.partition, in->upstreams[i]});

        if (!execution || ff_state_is_terminal(execution->state) || !in->needed[i] ||
            in->needed[i]->row_count > 0)
            continue;
        if (!asker || !ff_group_cancels_rest(asker)) { /* it is open again; others may have asked */
            if (FF_MUTANT(one_asker_speaks_for_all))
                continue;
            return look_again(in, in->cursor);
        }
        ff_execution_cancel(work, execution,
                            asker->group_state == FF_GROUP_SATISFIED
                                ? FF_STR("sibling_quorum_satisfied")
                                : FF_STR("sibling_quorum_impossible"),
                            FF_STR(FF_BY_SIBLING));
        out->cancelled++;
    }
    return FF_OK;
}

ff_status ff_group_drain_apply(struct ff_work *work, struct ff_group_drain_in *in,
                               struct ff_drain_out *out, struct ff_error *reterr)
{
    const struct ff_drain key = key_of(in);
    struct ff_drain *const drain = ff_work_row(work, FF_TABLE_DRAIN, &key);

    *out = (struct ff_drain_out){.noop = !drain};
    if (!drain)
        return FF_OK;
    if (!in->known)
        return learn(work, in, drain, reterr);
    if (!ff_uuid_eq(in->cursor, drain->edge_cursor)) /* somebody was faster */
        return look_again(in, drain->edge_cursor);
    FF_TRY(ff_arena_check(work->arena, reterr));
    FF_TRY(drain_page(work, in, out));
    if (in->last_page) {
        ff_work_delete(work, drain);
        return FF_OK;
    }
    ff_work_edit(work, drain);
    drain->edge_cursor = in->upstreams[in->count - 1];
    drain->tries = 0; /* of this page; the next one has its own */
    drain->not_before_ms = 0;
    out->more = true;
    return FF_OK;
}
