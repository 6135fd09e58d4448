/* SPDX-License-Identifier: Apache-2.0
 *
 * cascade.c -- how flows, joins and members change each other.
 *
 * Tests: tests/unit/test_cascade.c. */
#include "ops/cascade.h"

#include <assert.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/mutant.h"
#include "model/events.h"
#include "ops/birth.h"

#include "base/banned.h"

/* --- rows --- */

struct ff_flow ff_flow_key(struct ff_uuid flow_id)
{
    return (struct ff_flow){.partition_key = ff_flow_partition(flow_id), .flow_id = flow_id};
}

struct ff_outbox ff_hop_row_key(struct ff_hop_key hop)
{
    return (struct ff_outbox){.partition_key = hop.id.partition,
                              .execution_id = hop.id.uuid,
                              .generation = hop.generation,
                              .kind = hop.kind};
}

struct ff_flow *ff_work_flow(struct ff_work *work, struct ff_uuid flow_id)
{
    const struct ff_flow key = ff_flow_key(flow_id);
    struct ff_flow *const flow = ff_work_row(work, FF_TABLE_FLOW, &key);

    return flow && flow->state != FF_FLOW_REMOVED ? flow : NULL;
}

ff_status ff_find_flow(struct ff_work *work, struct ff_uuid flow_id, struct ff_flow **ret,
                       struct ff_error *reterr)
{
    struct ff_flow *const flow = ff_work_flow(work, flow_id);
    char text[FF_UUID_TEXT_BYTES];

    if (!flow)
        return ff_fail(reterr, FF_NOT_FOUND, "no flow '%s'", ff_uuid_format(flow_id, text));
    *ret = flow;
    return FF_OK;
}

/* --- flows --- */

void ff_flow_touch(struct ff_work *work, struct ff_flow *flow)
{
    ff_work_edit(work, flow);
    flow->changed_at_ms = ff_max_i64(work->now_ms, flow->changed_at_ms);
    flow->version++;
}

struct ff_event *ff_flow_event(struct ff_work *work, const struct ff_flow *flow, int32_t type)
{
    struct ff_event *const event = ff_work_event(work);

    event->kind = FF_EVENT_FLOW;
    event->type = type;
    event->partition_key = flow->partition_key;
    event->flow_id = flow->flow_id;
    event->namespace = flow->namespace;
    event->instance_tag = flow->instance_tag;
    event->at_ms = flow->changed_at_ms;
    event->version = flow->version;
    return event;
}

void ff_flow_move(struct ff_work *work, struct ff_flow *flow, ff_flow_state to, int32_t event_type)
{
    ff_flow_touch(work, flow);
    flow->state = (int32_t)to;
    (void)ff_flow_event(work, flow, event_type);
}

static int32_t *counter_of(struct ff_flow *flow, int32_t state)
{
    switch (state) {
    case FF_STATE_SUCCESS:
        return &flow->success_count;
    case FF_STATE_FAILED:
        return &flow->failed_count;
    case FF_STATE_CANCELLED:
        return &flow->cancelled_count;
    case FF_STATE_EXPIRED:
        return &flow->expired_count;
    default:
        assert(state == FF_STATE_SKIPPED);
        return &flow->skipped_count;
    }
}

void ff_flow_count(struct ff_work *work, struct ff_flow *flow, int32_t state, int32_t by)
{
    ff_flow_touch(work, flow);
    *counter_of(flow, state) += by;
    if (by > 0 || flow->finished_at_ms == FF_NULL64)
        return;
    flow->finished_at_ms = FF_NULL64;
    if (flow->state == FF_FLOW_COMPLETED || flow->state == FF_FLOW_FAILED)
        ff_flow_move(work, flow, FF_FLOW_RUNNING, FF_EVENT_FLOW_RUNNING);
}

int32_t ff_flow_ended(const struct ff_flow *flow)
{
    return flow->success_count + flow->failed_count + flow->cancelled_count + flow->expired_count +
           flow->skipped_count;
}

void ff_flow_settle(struct ff_work *work, struct ff_flow *flow, bool all_leaves_completed)
{
    assert(ff_flow_ended(flow) == flow->node_count);
    ff_flow_touch(work, flow);
    flow->finished_at_ms = flow->changed_at_ms;
    if (flow->state != FF_FLOW_RUNNING) /* a cancelled flow stays one */
        (void)ff_flow_event(work, flow, FF_EVENT_FLOW_ENDED);
    else if (all_leaves_completed)
        ff_flow_move(work, flow, FF_FLOW_COMPLETED, FF_EVENT_FLOW_COMPLETED);
    else
        ff_flow_move(work, flow, FF_FLOW_FAILED, FF_EVENT_FLOW_FAILED);
}

bool ff_flow_stops_members(const struct ff_flow *flow)
{
    return flow->cancel_policy >= FF_FLOW_CANCEL_PENDING;
}

/* --- joins --- */

static void insert_group(struct ff_work *work, const struct ff_graph_node *node,
                         struct ff_exec_id id, struct ff_uuid flow_id)
{
    const struct ff_edge_group key = {.partition_key = id.partition, .execution_id = id.uuid};
    struct ff_edge_group *const group = ff_work_insert_new(work, FF_TABLE_EDGE_GROUP, &key);

    group->flow_id = flow_id;
    group->policy = node->policy;
    group->k = (int32_t)node->k;
    group->on_satisfied = node->on_satisfied;
    group->total = (int32_t)node->in_count;
    group->group_state = FF_GROUP_PENDING;
}

ff_status ff_member_insert(struct ff_work *work, const struct ff_flow *flow,
                           const struct ff_graph_in *graph, size_t at, struct ff_error *reterr)
{
    const struct ff_graph_node *const node = &graph->shape.nodes[at];
    struct ff_submit_in *const submit = &graph->nodes[at].submit;
    const struct ff_membership member = {
        .flow = flow,
        .node = node->name,
        .hash = {(const char *)graph->nodes[at].hash, sizeof graph->nodes[at].hash},
        .created_ms = graph->shape.grows ? work->now_ms : flow->created_at_ms,
    };
    struct ff_execution *execution;

    submit->namespace = flow->namespace;
    FF_TRY(ff_birth_check(work, submit, reterr));
    execution = ff_execution_birth(work, submit, &member);
    if (node->in_count > 0)
        insert_group(work, node, submit->id, flow->flow_id);
    ff_execution_move(work, execution,
                      node->in_count > 0 ? FF_STATE_BLOCKED_FIRST
                                         : ff_state_when_free(work, execution));
    return FF_OK;
}

struct ff_edge *ff_edge_insert(struct ff_work *work, struct ff_exec_id from, struct ff_exec_id to,
                               const struct ff_graph_edge *edge, struct ff_uuid flow_id)
{
    const struct ff_edge key = {
        .partition_key = from.partition, .execution_id = from.uuid, .downstream_id = to.uuid};
    struct ff_edge *const row = ff_work_insert_new(work, FF_TABLE_EDGE, &key);

    row->flow_id = flow_id;
    row->pass = edge->pass;
    row->outcome = FF_EDGE_UNRESOLVED;
    if (edge->pass == FF_PASS_INPUT)
        ff_work_execution(work, to)->flags |= FF_EXEC_INPUT_PASSED;
    return row;
}

/* Its upstreams allow it to run: at once, or when its delay is over. */
static void move_free(struct ff_work *work, struct ff_execution *node, ff_state ready)
{
    const bool waits_on = ff_state_when_free(work, node) == FF_STATE_DELAYED_FIRST;

    ff_work_edit(work, node);
    if (!waits_on)
        node->delay_until_ms = FF_NULL64;
    ff_execution_move(work, node, waits_on ? FF_STATE_DELAYED_FIRST : ready);
}

static void free_node(struct ff_work *work, struct ff_execution *node)
{
    move_free(work, node,
              node->state == FF_STATE_BLOCKED_REPLAY ? FF_STATE_READY_REPLAY
                                                     : FF_STATE_READY_FIRST);
    (void)ff_execution_event(work, node, FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_UNBLOCKED);
}

void ff_drain_insert(struct ff_work *work, const struct ff_edge_group *group,
                     struct ff_str namespace, struct ff_str instance_tag)
{
    const struct ff_drain key = {.partition_key = group->partition_key,
                                 .execution_id = group->execution_id,
                                 .decision = group->version};
    struct ff_drain *const drain = ff_work_insert_new(work, FF_TABLE_DRAIN, &key);

    drain->flow_id = group->flow_id;
    drain->group_state = group->group_state;
    drain->namespace = namespace;
    drain->instance_tag = instance_tag;
    drain->created_at_ms = work->now_ms;
}

static ff_status not_blocked(const struct ff_execution *node, struct ff_error *reterr)
{
    const struct ff_exec_id id = {node->partition_key, node->execution_id};
    char text[FF_ID_TEXT_BYTES];

    ff_exec_id_text(id, text);
#ifdef FF_TEST_BUILD
    assert(!"a node left 'blocked' before its join was decided");
#endif
    return ff_fail(reterr, FF_INTERNAL, "node '%s' is %s although its join was open", text,
                   ff_state_public_name(node->state));
}

static ff_status decide(struct ff_work *work, const struct ff_flow *flow,
                        struct ff_edge_group *group, struct ff_execution *node,
                        struct ff_error *reterr)
{
    const ff_group_state decision = ff_group_evaluate(group);

    if (group->group_state != FF_GROUP_PENDING || decision == FF_GROUP_PENDING)
        return FF_OK;
    group->group_state = (int32_t)decision;
    if (ff_group_open_edges(group) > 0 && !ff_flow_stops_members(flow) &&
        (ff_group_cancels_rest(group) || !FF_MUTANT(spared_for_ever)))
        ff_drain_insert(work, group, node->namespace, node->instance_tag);
    if (ff_state_is_terminal(node->state))
        return FF_OK; /* cancelled or expired while it waited */
    if (!ff_state_is_blocked(node->state))
        return not_blocked(node, reterr);
    if (ff_flow_stops_members(flow)) /* the drain has not come to it yet */
        ff_execution_cancel(work, node, flow->cancel_reason, FF_STR(FF_BY_FLOW));
    else if (decision == FF_GROUP_SATISFIED)
        free_node(work, node);
    else
        ff_execution_finish(work, node, FF_STATE_SKIPPED, NULL, FF_STR("dependencies_failed"));
    return FF_OK;
}

ff_status ff_group_resolve(struct ff_work *work, const struct ff_flow *flow,
                           struct ff_edge_group *group, struct ff_execution *node,
                           ff_edge_outcome outcome, struct ff_error *reterr)
{
    ff_work_edit(work, group);
    ff_group_count(group, outcome, 1);
    return decide(work, flow, group, node, reterr);
}

/* --- members --- */

static struct ff_hop_key hop_of(const struct ff_execution *execution, ff_hop_kind kind)
{
    return (struct ff_hop_key){.id = {execution->partition_key, execution->execution_id},
                               .generation = execution->generation,
                               .kind = (int32_t)kind};
}

void ff_member_need_hops(struct ff_work *work, struct ff_exec_id id, int32_t generation)
{
    const struct ff_outbox ended =
        ff_hop_row_key((struct ff_hop_key){id, generation, FF_HOP_COMPLETION});
    const struct ff_outbox reopened =
        ff_hop_row_key((struct ff_hop_key){id, generation, FF_HOP_REOPEN});

    ff_work_want(work, FF_TABLE_OUTBOX, &ended, FF_WANT_LOCK);
    if (generation > 0)
        ff_work_want(work, FF_TABLE_OUTBOX, &reopened, FF_WANT_LOCK);
}

static struct ff_outbox *hop_row(struct ff_work *work, const struct ff_execution *execution,
                                 ff_hop_kind kind)
{
    const struct ff_outbox key = ff_hop_row_key(hop_of(execution, kind));

    return ff_work_row(work, FF_TABLE_OUTBOX, &key);
}

/* True if it was open: nobody will dispatch it now. */
static bool supersede(struct ff_work *work, struct ff_outbox *hop)
{
    if (!hop || hop->dispatched_at_ms != FF_NULL64)
        return false;
    if (FF_MUTANT(hop_of_old_generation))
        return true;
    ff_work_edit(work, hop);
    hop->dispatched_at_ms = ff_max_i64(work->now_ms, hop->created_at_ms);
    return true;
}

void ff_member_follow_join(struct ff_work *work, struct ff_execution *execution, bool downstream)
{
    ff_work_edit(work, execution);
    if (execution->state != FF_STATE_SKIPPED)
        execution->flags |= FF_EXEC_FOLLOWS;
    if (downstream)
        execution->flags |= FF_EXEC_FOLLOWED;
}

void ff_member_restart(struct ff_work *work, struct ff_flow *flow, struct ff_execution *execution,
                       bool waits, bool downstream)
{
    const int32_t ended_as = execution->state;
    struct ff_outbox *const reopening = hop_row(work, execution, FF_HOP_REOPEN);
    struct ff_outbox *const completion = hop_row(work, execution, FF_HOP_COMPLETION);

    assert(ff_state_is_terminal(ended_as));
    if (supersede(work, reopening) && reopening->outcome == FF_REOPEN_DOWNSTREAM)
        downstream = true; /* what was asked for and is not yet done is done by the next one */
    if (execution->flags & FF_EXEC_FOLLOWED)
        downstream = true;
    assert(completion);
    if (supersede(work, completion))
        ff_flow_touch(work, flow);
    else
        ff_flow_count(work, flow, ended_as, -1);
    ff_execution_next_generation(work, execution);
    if (waits)
        ff_execution_move(work, execution, FF_STATE_BLOCKED_REPLAY);
    else
        move_free(work, execution, FF_STATE_READY_REPLAY);
    ff_hop_insert(work, execution, FF_HOP_REOPEN,
                  downstream ? FF_REOPEN_DOWNSTREAM : FF_REOPEN_SKIPPED);
}
