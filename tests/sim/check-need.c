/* SPDX-License-Identifier: Apache-2.0
 *
 * check-need.c -- no member lives on that a decided join has asked to cancel and nobody needs, but
 * for those that will be looked at: the audit member_nobody_needs of fsck.sql in C. */
#include "book.h"

#include <inttypes.h>

#include "model/codes.h"
#include "model/join.h"
#include "model/states.h"

#include "base/banned.h"

static const struct ff_execution *execution_of(struct sim *sim, int32_t partition,
                                               struct ff_uuid id)
{
    const struct ff_execution key = {.partition_key = partition, .execution_id = id};

    return model_row(sim->model, FF_TABLE_EXECUTION, &key);
}

static const struct ff_edge_group *join_of(struct sim *sim, const struct ff_edge *edge)
{
    const struct ff_edge_group key = {.partition_key = edge->partition_key,
                                      .execution_id = edge->downstream_id};

    return model_row(sim->model, FF_TABLE_EDGE_GROUP, &key);
}

/* Joins ask for nothing in a flow whose members are all to end. */
static bool may_ask(struct sim *sim, const struct ff_edge *edge)
{
    const struct ff_flow key = {.partition_key = edge->partition_key, .flow_id = edge->flow_id};
    const struct ff_flow *const flow = model_row(sim->model, FF_TABLE_FLOW, &key);

    return flow && flow->state != FF_FLOW_REMOVED && flow->cancel_policy < FF_FLOW_CANCEL_PENDING;
}

/* The drain of the node has not come to it yet. */
static bool is_on_the_way(struct sim *sim, const struct ff_edge *edge)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_DRAIN); i++) {
        const struct ff_drain *const drain = model_slot_at(sim->model, FF_TABLE_DRAIN, i)->row;

        if (drain && drain->partition_key == edge->partition_key &&
            ff_uuid_eq(drain->execution_id, edge->downstream_id) &&
            ff_uuid_cmp(drain->edge_cursor, edge->execution_id) < 0)
            return true;
    }
    return false;
}

/* The end of the node has yet to be passed on, which may leave a drain. */
static bool has_open_hop(struct sim *sim, const struct ff_edge *edge)
{
    const struct ff_execution *const node =
        execution_of(sim, edge->partition_key, edge->downstream_id);
    struct ff_outbox key = {.partition_key = edge->partition_key,
                            .execution_id = edge->downstream_id,
                            .generation = node ? node->generation : 0};

    for (key.kind = FF_HOP_COMPLETION; key.kind <= FF_HOP_REOPEN; key.kind++) {
        const struct ff_outbox *const hop = model_row(sim->model, FF_TABLE_OUTBOX, &key);

        if (hop && hop->dispatched_at_ms == FF_NULL64)
            return true;
    }
    return false;
}

/* Somebody waits for it through this edge, or will have it looked at. */
static bool speaks_for(struct sim *sim, const struct ff_edge *edge)
{
    const struct ff_edge_group *const join = join_of(sim, edge);
    const struct ff_execution *const node =
        execution_of(sim, edge->partition_key, edge->downstream_id);

    if (join && join->group_state == FF_GROUP_PENDING && node && !ff_state_is_terminal(node->state))
        return true;
    return edge->outcome == FF_EDGE_UNRESOLVED &&
           (is_on_the_way(sim, edge) || has_open_hop(sim, edge));
}

static bool is_spoken_for(struct sim *sim, const struct ff_execution *row)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EDGE); i++) {
        const struct ff_edge *const edge = model_slot_at(sim->model, FF_TABLE_EDGE, i)->row;

        if (edge && edge->partition_key == row->partition_key &&
            ff_uuid_eq(edge->execution_id, row->execution_id) && speaks_for(sim, edge))
            return true;
    }
    return false;
}

static void check_nobody_forgotten(struct sim *sim)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EDGE); i++) {
        const struct ff_edge *const edge = model_slot_at(sim->model, FF_TABLE_EDGE, i)->row;
        const struct ff_edge_group *const join =
            edge && edge->outcome == FF_EDGE_UNRESOLVED ? join_of(sim, edge) : NULL;
        const struct ff_execution *row;

        if (!join || !ff_group_cancels_rest(join) || !may_ask(sim, edge))
            continue;
        row = execution_of(sim, edge->partition_key, edge->execution_id);
        if (row && !ff_state_is_terminal(row->state) && row->generation == 0 &&
            !is_spoken_for(sim, row))
            sim_fail(sim, "member '" FF_STR_FMT "' in state %d: nobody needs it, and nobody looks",
                     FF_STR_ARG(row->node), row->state);
    }
}

void check_needs(struct sim *sim, const struct model_commit *commit)
{
    for (size_t i = 0; i < commit->change_count; i++) {
        const ff_table table = commit->changes[i].slot->table;

        /* Whoever decides, ends or has looked changes one of these. */
        if (table == FF_TABLE_EDGE_GROUP || table == FF_TABLE_DRAIN || table == FF_TABLE_OUTBOX) {
            check_nobody_forgotten(sim);
            return;
        }
    }
}
