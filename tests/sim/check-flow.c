/* SPDX-License-Identifier: Apache-2.0
 *
 * check-flow.c -- what must hold about flows after every single commit.
 *
 * An edge is resolved once, and taken back only to be resolved again; a join has counted every edge
 * once, and what it decided follows from that; a node waits, runs or is skipped as its join says; a
 * flow counts a member when its hop is done, in the same commit; a hop that is done stays done. */
#include "book.h"

#include <inttypes.h>

#include "base/limits.h"
#include "base/macros.h"
#include "model/codes.h"
#include "model/events.h"
#include "model/states.h"

#include "base/banned.h"

static void wrong(struct sim *sim, const char *what)
{
    sim_fail(sim, "commit %" PRIu64 ": %s", model_commit_count(sim->model), what);
}

static const struct ff_execution *member_of(const struct sim *sim, int32_t partition,
                                            struct ff_uuid id)
{
    const struct ff_execution key = {.partition_key = partition, .execution_id = id};

    return model_row(sim->model, FF_TABLE_EXECUTION, &key);
}

static const struct ff_outbox *hop_of(const struct sim *sim, const struct ff_execution *member)
{
    const struct ff_outbox key = {.partition_key = member->partition_key,
                                  .execution_id = member->execution_id,
                                  .generation = member->generation,
                                  .kind = FF_HOP_COMPLETION};

    return model_row(sim->model, FF_TABLE_OUTBOX, &key);
}

/* --- edges and joins --- */

static const struct model_change *change_of(const struct model_commit *commit, ff_table table,
                                            struct ff_uuid id)
{
    for (size_t i = 0; i < commit->change_count; i++) {
        const struct model_change *const change = &commit->changes[i];
        /* What belongs to an execution begins as it does. */
        const struct ff_execution *const row = change->after ? change->after : change->before;

        if (change->slot->table == table && ff_uuid_eq(row->execution_id, id))
            return change;
    }
    return NULL;
}

/* What the present generation of the upstream has said is how it ended. */
static void check_resolved(struct sim *sim, const struct ff_edge *edge,
                           const struct ff_execution *from)
{
    if (edge->outcome == FF_EDGE_UNRESOLVED)
        return;
    if (edge->resolved_generation > from->generation)
        wrong(sim, "an edge is resolved by a generation that is still to come");
    if (edge->resolved_generation == from->generation &&
        (!ff_state_is_terminal(from->state) ||
         edge->outcome != (from->state == FF_STATE_SUCCESS   ? FF_EDGE_SUCCESS
                           : from->state == FF_STATE_SKIPPED ? FF_EDGE_SKIP
                                                             : FF_EDGE_FAIL)))
        wrong(sim, "audit edge_contradicts");
}

static void check_edge(struct sim *sim, const struct model_commit *commit,
                       const struct model_change *change)
{
    const struct ff_edge *const old = change->before;
    const struct ff_edge *const new = change->after;
    const struct ff_execution *from;

    if (!new)
        return;
    from = member_of(sim, new->partition_key, new->execution_id);
    if (!from) {
        wrong(sim, "an edge from nowhere");
        return;
    }
    check_resolved(sim, new, from);
    if (old && old->outcome != FF_EDGE_UNRESOLVED && new->outcome != FF_EDGE_UNRESOLVED &&
        old->outcome != new->outcome && old->resolved_generation == new->resolved_generation)
        wrong(sim, "an edge says something else than before in one generation");
    if (!old && new->outcome != FF_EDGE_UNRESOLVED) {
        sim_sometimes(sim, SOMETIMES_BORN_RESOLVED);
    } else if (!old) {
        const struct model_change *const upstream =
            change_of(commit, FF_TABLE_EXECUTION, new->execution_id);

        if (upstream && upstream->before)
            sim_sometimes(sim, SOMETIMES_GREW_ALIVE);
    }
}

static int32_t verdict_of(const struct ff_edge_group *group)
{
    const int32_t needed = group->policy == FF_JOIN_ALL_OF   ? group->total
                           : group->policy == FF_JOIN_ANY_OF ? 1
                                                             : group->k;

    if (group->success >= needed)
        return FF_GROUP_SATISFIED;
    return group->total - group->fail - group->skip < needed ? FF_GROUP_IMPOSSIBLE
                                                             : FF_GROUP_PENDING;
}

static void check_node(struct sim *sim, const struct ff_edge_group *group)
{
    const struct ff_execution *const node =
        member_of(sim, group->partition_key, group->execution_id);

    if (!node)
        wrong(sim, "a join without a node");
    else if (ff_state_is_blocked(node->state) && group->group_state != FF_GROUP_PENDING)
        wrong(sim, "a node waits although its join is decided");
    else if (node->state == FF_STATE_SKIPPED && group->group_state != FF_GROUP_IMPOSSIBLE)
        wrong(sim, "a node is skipped although its join is not impossible");
    else if (!ff_state_is_blocked(node->state) && !ff_state_is_terminal(node->state) &&
             group->group_state != FF_GROUP_SATISFIED)
        wrong(sim, "a node runs although its join is not satisfied");
}

static void check_group(struct sim *sim, const struct ff_edge_group *group)
{
    int32_t counts[4] = {0};

    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EDGE); i++) {
        const struct ff_edge *const edge = model_slot_at(sim->model, FF_TABLE_EDGE, i)->row;

        if (edge && ff_uuid_eq(edge->downstream_id, group->execution_id))
            counts[edge->outcome]++;
    }
    if (counts[FF_EDGE_SUCCESS] != group->success || counts[FF_EDGE_FAIL] != group->fail ||
        counts[FF_EDGE_SKIP] != group->skip ||
        counts[0] + counts[1] + counts[2] + counts[3] != group->total)
        wrong(sim, "a join has not counted each of its edges once");
    if (verdict_of(group) != group->group_state)
        wrong(sim, "a join has decided against its counts");
    check_node(sim, group);
}

static void check_member(struct sim *sim, const struct model_change *change)
{
    const struct ff_execution *const old = change->before;
    const struct ff_execution *const new = change->after;
    const struct ff_edge_group key = {.partition_key = new ? new->partition_key : 0,
                                      .execution_id =
                                          new ? new->execution_id : (struct ff_uuid){.b = {0}}};
    const struct ff_edge_group *const group =
        new ? model_row(sim->model, FF_TABLE_EDGE_GROUP, &key) : NULL;

    if (!new || ff_uuid_is_zero(new->flow_id))
        return;
    if (group)
        check_node(sim, group);
    if (ff_state_is_terminal(new->state) && !hop_of(sim, new))
        wrong(sim, "a member has ended and told nobody");
    if (old && (new->flags & ~old->flags &FF_EXEC_NO_NEW_ATTEMPT))
        sim_sometimes(sim, SOMETIMES_LAST_ATTEMPT);
}

/* --- hops and drains --- */

static void check_told(struct sim *sim, const struct ff_outbox *hop)
{
    const struct ff_execution *const member = member_of(sim, hop->partition_key, hop->execution_id);

    if (member &&
        (!ff_uuid_eq(hop->flow_id, member->flow_id) || hop->generation > member->generation ||
         (hop->kind == FF_HOP_COMPLETION && hop->generation == member->generation &&
          hop->outcome != member->state)))
        wrong(sim, "audit hop_contradicts");
}

static void check_hop(struct sim *sim, const struct model_change *change)
{
    const struct ff_outbox *const old = change->before;
    const struct ff_outbox *const new = change->after;
    const struct ff_execution *member;

    if (new)
        check_told(sim, new);
    if (!old && new &&new->dispatched_at_ms != FF_NULL64)
        sim_sometimes(sim, SOMETIMES_HOP_RODE);
    if (!old || !new)
        return;
    if (old->dispatched_at_ms != FF_NULL64) {
        if (new->dispatched_at_ms != old->dispatched_at_ms)
            wrong(sim, "a hop that was done is not done any more");
        return;
    }
    member = member_of(sim, new->partition_key, new->execution_id);
    if (new->tries > old->tries)
        sim_sometimes(sim, SOMETIMES_HOP_POSTPONED);
    if (new->dispatched_at_ms == FF_NULL64 && !ff_uuid_eq(old->edge_cursor, new->edge_cursor))
        sim_sometimes(sim, SOMETIMES_HOP_IN_PAGES);
    if (new->dispatched_at_ms == FF_NULL64)
        return;
    if (new->dispatched_at_ms - new->created_at_ms >= FF_RECONCILE_AGE_MS)
        sim_sometimes(sim, SOMETIMES_HOP_LATE);
    if (member && member->generation > new->generation)
        sim_sometimes(sim, SOMETIMES_HOP_SUPERSEDED);
}

static void check_drain(struct sim *sim, const struct model_change *change)
{
    const struct ff_drain *const old = change->before;
    const struct ff_drain *const new = change->after;

    if (!old || !new)
        return;
    if (new->tries > old->tries)
        sim_sometimes(sim, SOMETIMES_HOP_POSTPONED);
    if (!ff_uuid_eq(old->edge_cursor, new->edge_cursor))
        sim_sometimes(sim, SOMETIMES_DRAIN_IN_PAGES);
}

/* --- flows --- */

static int32_t ended_of(const struct ff_flow *flow)
{
    return flow->success_count + flow->failed_count + flow->cancelled_count + flow->expired_count +
           flow->skipped_count;
}

static void check_counts(struct sim *sim, const struct ff_flow *flow)
{
    struct ff_flow seen = {0};
    int32_t members = 0;

    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EXECUTION); i++) {
        const struct ff_execution *const row =
            model_slot_at(sim->model, FF_TABLE_EXECUTION, i)->row;
        const struct ff_outbox *hop;

        if (!row || !ff_uuid_eq(row->flow_id, flow->flow_id))
            continue;
        members++;
        hop = ff_state_is_terminal(row->state) ? hop_of(sim, row) : NULL;
        if (!hop || hop->dispatched_at_ms == FF_NULL64)
            continue;
        seen.success_count += row->state == FF_STATE_SUCCESS;
        seen.failed_count += row->state == FF_STATE_FAILED;
        seen.cancelled_count += row->state == FF_STATE_CANCELLED;
        seen.expired_count += row->state == FF_STATE_EXPIRED;
        seen.skipped_count += row->state == FF_STATE_SKIPPED;
    }
    if (members != flow->node_count)
        wrong(sim, "a flow does not know how many members it has");
    if (seen.success_count != flow->success_count || seen.failed_count != flow->failed_count ||
        seen.cancelled_count != flow->cancelled_count ||
        seen.expired_count != flow->expired_count || seen.skipped_count != flow->skipped_count)
        wrong(sim, "a flow has not counted its ended members once each");
    if ((ended_of(flow) == flow->node_count) != (flow->finished_at_ms != FF_NULL64))
        wrong(sim, "a flow does not know whether it is over");
    if (ended_of(flow) < flow->node_count &&
        (flow->state == FF_FLOW_COMPLETED || flow->state == FF_FLOW_FAILED))
        wrong(sim, "a flow has ended before its members");
}

static void check_flow(struct sim *sim, const struct model_change *change)
{
    const struct ff_flow *const old = change->before;
    const struct ff_flow *const new = change->after;

    if (!new)
        return;
    if (new->state == FF_FLOW_REMOVED) {
        sim_sometimes(sim, SOMETIMES_FLOW_REMOVED);
        return;
    }
    check_counts(sim, new);
    if (!old || old->state == new->state)
        return;
    if (old->state == FF_FLOW_CANCELLED)
        wrong(sim, "a cancelled flow is something else");
    if (new->state == FF_FLOW_CANCELLED)
        sim_sometimes(sim, SOMETIMES_FLOW_CANCELLED);
    else
        sim_sometimes(sim, new->state == FF_FLOW_RUNNING ? SOMETIMES_FLOW_RAN_AGAIN
                                                         : SOMETIMES_FLOW_ENDED);
}

/* --- events --- */

static void see_event(struct sim *sim, const struct model_commit *commit,
                      const struct ff_event *event)
{
    const struct model_change *change;

    if (event->kind == FF_EVENT_COMPLETION && event->type == FF_EVENT_COMPLETION_SKIPPED)
        sim_sometimes(sim, SOMETIMES_SKIP_CASCADE);
    if (event->kind == FF_EVENT_COMPLETION &&
        (ff_str_eq(event->note, FF_STR("sibling_quorum_satisfied")) ||
         ff_str_eq(event->note, FF_STR("sibling_quorum_impossible"))))
        sim_sometimes(sim, SOMETIMES_SIBLING_CANCEL);
    if (event->kind != FF_EVENT_EXECUTION || event->type != FF_EVENT_EXECUTION_REOPENED)
        return;
    change = change_of(commit, FF_TABLE_EXECUTION, event->execution_id);
    if (change && change->before)
        sim_sometimes(sim, ((const struct ff_execution *)change->before)->state == FF_STATE_SKIPPED
                               ? SOMETIMES_NODE_REOPENED
                               : SOMETIMES_DOWNSTREAM_REOPENED);
}

bool is_silent_change(const struct model_commit *commit, const struct ff_execution *old,
                      const struct ff_execution *new)
{
    if (ff_uuid_is_zero(new->flow_id))
        return false;
    if (new->flags & ~old->flags & FF_EXEC_NO_NEW_ATTEMPT)
        return true;
    for (size_t i = 0; i < commit->change_count; i++) {
        const struct model_change *const change = &commit->changes[i];
        const struct ff_edge *const edge = change->after;

        if (change->slot->table == FF_TABLE_EDGE && !change->before && edge &&
            ff_uuid_eq(edge->execution_id, new->execution_id))
            return true;
    }
    return false;
}

void check_flows(struct sim *sim, const struct model_commit *commit)
{
    for (size_t i = 0; i < commit->change_count && !sim->failed; i++) {
        const struct model_change *const change = &commit->changes[i];

        switch ((int)change->slot->table) {
        case FF_TABLE_EXECUTION:
            check_member(sim, change);
            break;
        case FF_TABLE_EDGE:
            check_edge(sim, commit, change);
            break;
        case FF_TABLE_EDGE_GROUP:
            if (change->after)
                check_group(sim, change->after);
            break;
        case FF_TABLE_OUTBOX:
            check_hop(sim, change);
            break;
        case FF_TABLE_DRAIN:
            check_drain(sim, change);
            break;
        case FF_TABLE_FLOW:
            check_flow(sim, change);
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; i < commit->event_count; i++)
        see_event(sim, commit, commit->events[i]);
}

/* --- the end --- */

static bool is_removed(const struct sim *sim, int32_t partition, struct ff_uuid flow_id)
{
    const struct ff_flow key = {.partition_key = partition, .flow_id = flow_id};
    const struct ff_flow *const flow = model_row(sim->model, FF_TABLE_FLOW, &key);

    return flow && flow->state == FF_FLOW_REMOVED;
}

/* Every edge of an ended member is resolved, or its hop is still to come. */
static void audit_edge(struct sim *sim, const struct ff_edge *edge)
{
    const struct ff_execution *const from = member_of(sim, edge->partition_key, edge->execution_id);
    const struct ff_outbox *const hop =
        from && ff_state_is_terminal(from->state) ? hop_of(sim, from) : NULL;

    if (!from)
        wrong(sim, "audit edge_dangling");
    else if (edge->outcome == FF_EDGE_UNRESOLVED && hop && hop->dispatched_at_ms != FF_NULL64 &&
             !is_removed(sim, from->partition_key, from->flow_id))
        wrong(sim, "audit edge_left_behind");
    else
        check_resolved(sim, edge, from);
}

static int32_t edges_from(const struct sim *sim, const struct ff_flow *flow,
                          const struct ff_execution *member)
{
    int32_t count = 0;

    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EDGE); i++) {
        const struct ff_edge *const edge = model_slot_at(sim->model, FF_TABLE_EDGE, i)->row;

        count += edge && ff_uuid_eq(edge->flow_id, flow->flow_id) &&
                 (!member || ff_uuid_eq(edge->execution_id, member->execution_id));
    }
    return count;
}

/* None lives in a cancelled flow but, where those were spared, one that runs for the last time. */
static bool may_live(const struct ff_flow *flow, const struct ff_execution *member)
{
    if (ff_state_is_terminal(member->state) || flow->cancel_policy < FF_FLOW_CANCEL_PENDING ||
        flow->draining)
        return true;
    return flow->cancel_policy == FF_FLOW_CANCEL_PENDING && member->state == FF_STATE_ACTIVE &&
           member->flags & FF_EXEC_NO_NEW_ATTEMPT;
}

static void audit_outcome(struct sim *sim, const struct ff_flow *flow)
{
    int32_t expected = FF_FLOW_COMPLETED;

    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EXECUTION); i++) {
        const struct ff_execution *const row =
            model_slot_at(sim->model, FF_TABLE_EXECUTION, i)->row;

        if (!row || !ff_uuid_eq(row->flow_id, flow->flow_id))
            continue;
        if (!may_live(flow, row))
            wrong(sim, "audit member_of_the_cancelled");
        if (row->state != FF_STATE_SUCCESS && edges_from(sim, flow, row) == 0)
            expected = FF_FLOW_FAILED;
    }
    if (flow->finished_at_ms == FF_NULL64)
        expected = FF_FLOW_RUNNING;
    if (flow->cancel_policy != FF_FLOW_CANCEL_NONE)
        expected = FF_FLOW_CANCELLED;
    if (flow->state != expected)
        wrong(sim, "audit flow_outcome");
    if (edges_from(sim, flow, NULL) != flow->edge_count)
        wrong(sim, "audit flow_edges");
}

void audit_flows(struct sim *sim)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EDGE_GROUP); i++) {
        const struct ff_edge_group *const group =
            model_slot_at(sim->model, FF_TABLE_EDGE_GROUP, i)->row;

        if (group && !is_removed(sim, group->partition_key, group->flow_id))
            check_group(sim, group);
    }
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EDGE); i++)
        if (model_slot_at(sim->model, FF_TABLE_EDGE, i)->row)
            audit_edge(sim, model_slot_at(sim->model, FF_TABLE_EDGE, i)->row);
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_FLOW); i++) {
        const struct ff_flow *const flow = model_slot_at(sim->model, FF_TABLE_FLOW, i)->row;

        if (!flow || flow->state == FF_FLOW_REMOVED)
            continue;
        check_counts(sim, flow);
        audit_outcome(sim, flow);
    }
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_OUTBOX); i++)
        if (model_slot_at(sim->model, FF_TABLE_OUTBOX, i)->row)
            check_told(sim, model_slot_at(sim->model, FF_TABLE_OUTBOX, i)->row);
}
