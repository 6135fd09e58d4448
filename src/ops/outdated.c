/* SPDX-License-Identifier: Apache-2.0
 *
 * outdated.c -- see outdated.h.
 *
 * An upstream is held while its edge is changed: one that runs ends later, and its hop finds the
 * edge open; the hop of one that has ended finds the edge resolved, and passes over it. */
#include "ops/outdated.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/states.h"
#include "ops/cascade.h"
#include "sql_ids.h"

#include "base/banned.h"

#define FEW 16 /* most often there are none: a batch reserves room for what a scan might return */

static struct ff_edge edge_key(struct ff_exec_id node, struct ff_uuid upstream)
{
    return (struct ff_edge){
        .partition_key = node.partition, .execution_id = upstream, .downstream_id = node.uuid};
}

static struct ff_outbox reopening_key(struct ff_exec_id upstream, int32_t generation)
{
    return ff_hop_row_key((struct ff_hop_key){upstream, generation, FF_HOP_REOPEN});
}

static int64_t limit_of(const struct ff_outdated *outdated)
{
    return outdated->wide ? FF_FLOW_EDGES_CEILING : FEW;
}

/* Also when they are known: the flow is held by then, so this time none is missing. */
void ff_outdated_need(struct ff_work *work, struct ff_exec_id node, struct ff_outdated *outdated)
{
    const struct ff_in_outdated_upstreams in = {.partition_key = node.partition,
                                                .downstream_id = node.uuid};
    struct ff_value params[FF_SQL_OUTDATED_UPSTREAMS_PARAMS];

    outdated->downstream = false;
    ff_in_outdated_upstreams_values(&in, params);
    outdated->scan = ff_work_scan(work, FF_SQL_OUTDATED_UPSTREAMS, params,
                                  FF_SQL_OUTDATED_UPSTREAMS_PARAMS, limit_of(outdated));
    for (size_t i = 0; outdated->known && i < outdated->count; i++) {
        const struct ff_exec_id id = {node.partition, outdated->upstreams[i].id};
        const struct ff_edge edge = edge_key(node, id.uuid);
        const struct ff_outbox reopening = reopening_key(id, outdated->upstreams[i].generation);

        ff_work_lock_execution(work, id);
        ff_work_want(work, FF_TABLE_EDGE, &edge, FF_WANT_LOCK);
        ff_work_want(work, FF_TABLE_OUTBOX, &reopening, FF_WANT_LOCK);
    }
}

/* Both are in the order of their ids. */
static bool are_all_known(const struct ff_outdated *outdated, struct ff_uuid but)
{
    size_t at = 0;

    for (size_t i = 0; i < outdated->scan->row_count; i++) {
        const struct ff_execution *const upstream = outdated->scan->rows[i];

        if (ff_uuid_eq(upstream->execution_id, but))
            continue;
        while (at < outdated->count &&
               ff_uuid_cmp(outdated->upstreams[at].id, upstream->execution_id) < 0)
            at++;
        if (at == outdated->count ||
            !ff_uuid_eq(outdated->upstreams[at].id, upstream->execution_id) ||
            outdated->upstreams[at].generation != upstream->generation)
            return false;
    }
    return outdated->known;
}

ff_status ff_outdated_learn(struct ff_work *work, struct ff_outdated *outdated, struct ff_uuid but,
                            struct ff_error *reterr)
{
    if (!outdated->scan)
        return FF_AGAIN;
    if (!outdated->wide && outdated->scan->row_count >= FEW) { /* askers share a scan */
        outdated->wide = true;
        return FF_AGAIN;
    }
    if (are_all_known(outdated, but))
        return FF_OK;
    outdated->upstreams =
        ff_arena_array(work->arena, outdated->scan->row_count + 1, sizeof *outdated->upstreams);
    FF_TRY(ff_arena_check(work->arena, reterr));
    outdated->count = 0;
    for (size_t i = 0; i < outdated->scan->row_count; i++) {
        const struct ff_execution *const upstream = outdated->scan->rows[i];

        if (!ff_uuid_eq(upstream->execution_id, but))
            outdated->upstreams[outdated->count++] =
                (struct ff_outdated_upstream){upstream->execution_id, upstream->generation};
    }
    outdated->known = true;
    return outdated->count ? FF_AGAIN : FF_OK;
}

static void update_edge(struct ff_work *work, struct ff_edge_group *group, struct ff_edge *edge,
                        const struct ff_execution *upstream)
{
    ff_work_edit(work, group);
    ff_work_edit(work, edge);
    ff_group_count(group, (ff_edge_outcome)edge->outcome, -1);
    edge->outcome = FF_EDGE_UNRESOLVED;
    edge->resolved_generation = FF_NULL32;
    if (!ff_state_is_terminal(upstream->state))
        return;
    edge->outcome = (int32_t)ff_edge_outcome_of(upstream->state);
    edge->resolved_generation = upstream->generation;
    ff_group_count(group, (ff_edge_outcome)edge->outcome, 1);
}

/* Had the reopening of this upstream come first, it would have reopened the node and asked for
 * those below: the node ran because of it, or could not. */
static bool hands_on(struct ff_work *work, const struct ff_execution *upstream, int32_t outcome,
                     int32_t was)
{
    const struct ff_outbox key = reopening_key(
        (struct ff_exec_id){upstream->partition_key, upstream->execution_id}, upstream->generation);
    const struct ff_outbox *const hop = ff_work_row(work, FF_TABLE_OUTBOX, &key);

    return hop && hop->dispatched_at_ms == FF_NULL64 && hop->outcome == FF_REOPEN_DOWNSTREAM &&
           (was == FF_GROUP_SATISFIED ? outcome == FF_EDGE_SUCCESS : was == FF_GROUP_IMPOSSIBLE);
}

void ff_outdated_update(struct ff_work *work, const struct ff_flow *flow,
                        const struct ff_execution *node, struct ff_edge_group *group, int32_t was,
                        struct ff_outdated *outdated)
{
    const struct ff_exec_id id = {node->partition_key, node->execution_id};
    const int32_t before = group ? group->group_state : FF_GROUP_PENDING;

    for (size_t i = 0; group && i < outdated->count; i++) {
        const struct ff_edge key = edge_key(id, outdated->upstreams[i].id);
        struct ff_edge *const edge = ff_work_row(work, FF_TABLE_EDGE, &key);
        const struct ff_execution *const upstream =
            ff_work_execution(work, (struct ff_exec_id){id.partition, outdated->upstreams[i].id});

        if (!edge || !upstream || edge->outcome == FF_EDGE_UNRESOLVED ||
            edge->resolved_generation >= upstream->generation)
            continue;
        outdated->downstream |= hands_on(work, upstream, edge->outcome, was);
        update_edge(work, group, edge, upstream);
    }
    if (!group || outdated->count == 0)
        return;
    ff_work_edit(work, group);
    group->group_state = (int32_t)ff_group_evaluate(group);
    /* Of one that is impossible now nobody is let go: its node follows, and wants them again. */
    if (group->group_state != before && group->group_state == FF_GROUP_SATISFIED &&
        ff_group_open_edges(group) > 0 && !ff_flow_stops_members(flow))
        ff_drain_insert(work, group, node->namespace, node->instance_tag);
}
