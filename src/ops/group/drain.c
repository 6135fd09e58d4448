/* SPDX-License-Identifier: Apache-2.0
 *
 * drain.c -- group.drain: cancel the upstreams that a decided join no longer needs.
 *
 * A first batch learns, without a lock, the edges that are still open; the second holds the
 * upstreams, so nobody adds an edge to them, and asks for each whether another node waits for it.
 * One that is needed elsewhere is spared: the next join it leads to looks at it again. The drain is
 * over when its cursor has passed, and dropped when its join is open again.
 * Tests: tests/unit/test_cascade.c. */
#include "base/macros.h"
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

static void need_edges(struct ff_work *work, struct ff_group_drain_in *in)
{
    static const int64_t open[] = {FF_EDGE_UNRESOLVED};
    struct ff_value params[FF_SQL_EDGES_INTO_PARAMS];
    const struct ff_in_edges_into page = {.partition_key = in->drain.id.partition,
                                          .downstream_id = in->drain.id.uuid,
                                          .after_id = in->cursor,
                                          .outcomes = open,
                                          .outcomes_count = FF_ARRAY_LEN(open)};

    ff_in_edges_into_values(&page, params);
    in->edges = ff_work_scan(work, FF_SQL_EDGES_INTO, params, FF_SQL_EDGES_INTO_PARAMS,
                             work->settings->drain_rows);
}

static struct ff_scan *need_needed(struct ff_work *work, const struct ff_group_drain_in *in,
                                   size_t at)
{
    struct ff_value params[FF_SQL_SIBLING_NEEDED_PARAMS];
    const struct ff_in_sibling_needed needed = {.partition_key = in->drain.id.partition,
                                                .execution_id = in->upstreams[at],
                                                .downstream_id = in->drain.id.uuid};

    ff_in_sibling_needed_values(&needed, params);
    return ff_work_scan(work, FF_SQL_SIBLING_NEEDED, params, FF_SQL_SIBLING_NEEDED_PARAMS, 1);
}

void ff_group_drain_need(struct ff_work *work, struct ff_group_drain_in *in)
{
    const struct ff_drain drain = key_of(in);
    const struct ff_edge_group group = {.partition_key = in->drain.id.partition,
                                        .execution_id = in->drain.id.uuid};

    in->edges = NULL;
    ff_work_want(work, FF_TABLE_DRAIN, &drain, in->known ? FF_WANT_LOCK : FF_WANT_READ);
    if (!in->known) {
        need_edges(work, in);
        return;
    }
    ff_work_want(work, FF_TABLE_EDGE_GROUP, &group, FF_WANT_LOCK);
    in->needed = ff_arena_array(work->arena, in->count + 1, sizeof *in->needed);
    for (size_t i = 0; in->needed && i < in->count; i++) {
        ff_work_lock_execution(work, (struct ff_exec_id){in->drain.id.partition, in->upstreams[i]});
        in->needed[i] = need_needed(work, in, i);
    }
}

static ff_status learn(struct ff_work *work, struct ff_group_drain_in *in,
                       const struct ff_drain *drain, struct ff_error *reterr)
{
    if (!ff_uuid_eq(in->cursor, drain->edge_cursor)) {
        in->cursor = drain->edge_cursor;
        return FF_AGAIN;
    }
    in->count = in->edges ? in->edges->row_count : 0;
    in->last_page = (int64_t)in->count < work->settings->drain_rows;
    in->upstreams = ff_arena_array(work->arena, in->count + 1, sizeof *in->upstreams);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < in->count; i++)
        in->upstreams[i] = ((const struct ff_edge *)in->edges->rows[i])->execution_id;
    in->known = true;
    return FF_AGAIN;
}

static void drain_page(struct ff_work *work, const struct ff_group_drain_in *in,
                       const struct ff_drain *drain, struct ff_drain_out *out)
{
    const struct ff_str reason = drain->group_state == FF_GROUP_SATISFIED
                                     ? FF_STR("sibling_quorum_satisfied")
                                     : FF_STR("sibling_quorum_impossible");

    for (size_t i = 0; i < in->count; i++) {
        struct ff_execution *const execution =
            ff_work_execution(work, (struct ff_exec_id){in->drain.id.partition, in->upstreams[i]});

        if (!execution || ff_state_is_terminal(execution->state) || !in->needed[i] ||
            in->needed[i]->row_count > 0)
            continue;
        ff_execution_cancel(work, execution, reason, FF_STR(FF_BY_SIBLING));
        out->cancelled++;
    }
}

ff_status ff_group_drain_apply(struct ff_work *work, struct ff_group_drain_in *in,
                               struct ff_drain_out *out, struct ff_error *reterr)
{
    const struct ff_drain key = key_of(in);
    const struct ff_edge_group group_key = {.partition_key = in->drain.id.partition,
                                            .execution_id = in->drain.id.uuid};
    struct ff_drain *const drain = ff_work_row(work, FF_TABLE_DRAIN, &key);
    const struct ff_edge_group *group;

    *out = (struct ff_drain_out){.noop = !drain};
    if (!drain)
        return FF_OK;
    if (!in->known)
        return learn(work, in, drain, reterr);
    if (!ff_uuid_eq(in->cursor, drain->edge_cursor)) { /* somebody was faster */
        in->known = false;
        in->cursor = drain->edge_cursor;
        return FF_AGAIN;
    }
    FF_TRY(ff_arena_check(work->arena, reterr));
    group = ff_work_row(work, FF_TABLE_EDGE_GROUP, &group_key);
    if (!group || group->group_state == FF_GROUP_PENDING) {
        ff_work_delete(work, drain);
        return FF_OK;
    }
    drain_page(work, in, drain, out);
    if (in->last_page) {
        ff_work_delete(work, drain);
        return FF_OK;
    }
    ff_work_edit(work, drain);
    drain->edge_cursor = in->upstreams[in->count - 1];
    out->more = true;
    return FF_OK;
}
