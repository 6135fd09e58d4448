/* SPDX-License-Identifier: Apache-2.0
 *
 * grow.c -- flow.grow: more nodes and edges for a flow that lives.
 *
 * Holds the flow, which guards its members, and every existing upstream, told again or not, which
 * guards its outgoing edges: an upstream cannot end while an edge is being added to it. An edge
 * from one that has ended is born resolved and counted at once; from any other its hop will find
 * it. No edge ends at an existing node, so no decided join ever changes.
 * Tests: tests/unit/test_cascade.c. */
#include <stdio.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/mutant.h"
#include "base/sha256.h"
#include "model/events.h"
#include "ops/birth.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

#define FIELD_BYTES 48

static ff_status id_of(const struct ff_flow_grow_in *in, struct ff_str name, size_t at,
                       struct ff_exec_id *ret, struct ff_error *reterr)
{
    if (at != FF_GRAPH_ELSEWHERE) {
        *ret = in->graph.nodes[at].submit.id;
        return FF_OK;
    }
    return ff_member_id(in->flow_id, name, ret, reterr);
}

void ff_flow_grow_need(struct ff_work *work, struct ff_flow_grow_in *in)
{
    const struct ff_flow flow = ff_flow_key(in->flow_id);
    const struct ff_graph *const shape = &in->graph.shape;
    struct ff_exec_id id;

    ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
    for (size_t i = 0; i < shape->node_count; i++) {
        ff_work_read_execution(work, in->graph.nodes[i].submit.id);
        ff_birth_need(work, &in->graph.nodes[i].submit);
    }
    for (size_t i = 0; i < shape->edge_count; i++) {
        const struct ff_graph_edge *const edge = &shape->edges[i];

        /* Should a name not hash, apply() says so. A node that is not there yet locks nothing. */
        if (id_of(in, edge->from, edge->from_at, &id, NULL) == FF_OK)
            ff_work_lock_execution(work, id);
        if (edge->to_at == FF_GRAPH_ELSEWHERE &&
            id_of(in, edge->to, edge->to_at, &id, NULL) == FF_OK)
            ff_work_read_execution(work, id);
    }
}

static struct ff_str hash_of(const struct ff_flow_grow_in *in, size_t node)
{
    return (struct ff_str){(const char *)in->graph.nodes[node].hash, FF_SHA256_BYTES};
}

static bool exists(struct ff_work *work, const struct ff_flow_grow_in *in, size_t node)
{
    return ff_work_execution(work, in->graph.nodes[node].submit.id) != NULL;
}

static ff_status check_nodes(struct ff_work *work, const struct ff_flow_grow_in *in,
                             int32_t *ret_new, struct ff_error *reterr)
{
    int32_t new_count = 0;

    for (size_t i = 0; i < in->graph.shape.node_count; i++) {
        const struct ff_execution *const there =
            ff_work_execution(work, in->graph.nodes[i].submit.id);
        char field[FIELD_BYTES];

        if (!there) {
            new_count++;
        } else if (!ff_str_eq(there->submit_hash, hash_of(in, i))) {
            (void)snprintf(field, sizeof field, "nodes[%zu]", i);
            return ff_fail_field(reterr, FF_NODE_DIFFERS, field,
                                 "node '" FF_STR_FMT "' exists and is another one",
                                 FF_STR_ARG(in->graph.shape.nodes[i].name));
        }
    }
    *ret_new = new_count;
    return FF_OK;
}

static ff_status bad_edge(const struct ff_graph_edge *edge, size_t at, ff_status status,
                          const char *why, struct ff_error *reterr)
{
    char field[FIELD_BYTES];

    (void)snprintf(field, sizeof field, "edges[%zu]", at);
    return ff_fail_field(reterr, status, field, "edge from '" FF_STR_FMT "' to '" FF_STR_FMT "' %s",
                         FF_STR_ARG(edge->from), FF_STR_ARG(edge->to), why);
}

/* Ids of members can be foreseen: an execution that has one need not be a member. */
static bool is_member(struct ff_work *work, const struct ff_flow_grow_in *in, struct ff_exec_id id)
{
    const struct ff_execution *const execution = ff_work_execution(work, id);

    return execution && ff_uuid_eq(execution->flow_id, in->flow_id);
}

static ff_status check_edges(struct ff_work *work, const struct ff_flow_grow_in *in,
                             struct ff_error *reterr)
{
    for (size_t i = 0; i < in->graph.shape.edge_count; i++) {
        const struct ff_graph_edge *const edge = &in->graph.shape.edges[i];
        struct ff_exec_id id;

        if (edge->to_at == FF_GRAPH_ELSEWHERE) {
            FF_TRY(id_of(in, edge->to, edge->to_at, &id, reterr));
            if (is_member(work, in, id))
                return bad_edge(edge, i, FF_EDGE_INTO_EXISTING, "ends at a node of an earlier call",
                                reterr);
            return bad_edge(edge, i, FF_UNKNOWN_NODE, "ends at no node", reterr);
        }
        FF_TRY(id_of(in, edge->from, edge->from_at, &id, reterr));
        if (edge->from_at == FF_GRAPH_ELSEWHERE && !is_member(work, in, id))
            return bad_edge(edge, i, FF_UNKNOWN_NODE, "starts at no node", reterr);
    }
    return FF_OK;
}

static ff_status may_grow(const struct ff_flow *flow, const struct ff_flow_grow_in *in,
                          struct ff_error *reterr)
{
    if (flow->state != FF_FLOW_RUNNING)
        return ff_fail(reterr, FF_FLOW_TERMINAL, "flow is %s", ff_flow_state_name(flow->state));
    if (in->expected_revision != FF_NULL64 && in->expected_revision != flow->revision)
        return ff_fail_field(reterr, FF_CONFLICT, "expected_revision", "flow is at revision %lld",
                             (long long)flow->revision);
    return FF_OK;
}

/* The edge itself; its join is counted in a second pass, when all edges are there. */
static ff_status insert_edge(struct ff_work *work, const struct ff_flow_grow_in *in,
                             const struct ff_graph_edge *edge, const bool *is_new,
                             struct ff_error *reterr)
{
    struct ff_execution *upstream;
    struct ff_exec_id from;
    struct ff_edge *row;

    FF_TRY(id_of(in, edge->from, edge->from_at, &from, reterr));
    row = ff_edge_insert(work, from, in->graph.nodes[edge->to_at].submit.id, edge, in->flow_id);
    if (edge->from_at != FF_GRAPH_ELSEWHERE && is_new[edge->from_at])
        return FF_OK;
    upstream = ff_work_execution(work, from);
    ff_execution_touch(work, upstream); /* its set of edges has changed */
    if (ff_state_is_terminal(upstream->state) && !FF_MUTANT(edge_of_ended_upstream_open)) {
        row->outcome = (int32_t)ff_edge_outcome_of(upstream->state);
        row->resolved_generation = upstream->generation;
    }
    return FF_OK;
}

static ff_status count_edge(struct ff_work *work, const struct ff_flow_grow_in *in,
                            const struct ff_graph_edge *edge, const struct ff_flow *flow,
                            struct ff_error *reterr)
{
    const struct ff_exec_id to = in->graph.nodes[edge->to_at].submit.id;
    const struct ff_edge_group group_key = {.partition_key = to.partition, .execution_id = to.uuid};
    struct ff_exec_id from;
    struct ff_edge edge_key;
    const struct ff_edge *row;

    FF_TRY(id_of(in, edge->from, edge->from_at, &from, reterr));
    edge_key = (struct ff_edge){
        .partition_key = from.partition, .execution_id = from.uuid, .downstream_id = to.uuid};
    row = ff_work_row(work, FF_TABLE_EDGE, &edge_key);
    if (row->outcome == FF_EDGE_UNRESOLVED)
        return FF_OK;
    return ff_group_resolve(work, flow, ff_work_row(work, FF_TABLE_EDGE_GROUP, &group_key),
                            ff_work_execution(work, to), (ff_edge_outcome)row->outcome, reterr);
}

static ff_status grow(struct ff_work *work, struct ff_flow_grow_in *in, struct ff_flow *flow,
                      struct ff_error *reterr)
{
    const struct ff_graph *const shape = &in->graph.shape;
    bool *const is_new = ff_arena_array(work->arena, shape->node_count, sizeof *is_new);

    FF_TRY(ff_arena_check(work->arena, reterr));
    ff_flow_touch(work, flow);
    flow->revision++;
    for (size_t i = 0; i < shape->node_count; i++) {
        is_new[i] = !exists(work, in, i);
        if (!is_new[i])
            continue;
        FF_TRY(ff_member_insert(work, flow, &in->graph, i, reterr));
        flow->node_count++;
        flow->edge_count += (int32_t)shape->nodes[i].in_count;
    }
    for (size_t i = 0; i < shape->edge_count; i++)
        if (is_new[shape->edges[i].to_at])
            FF_TRY(insert_edge(work, in, &shape->edges[i], is_new, reterr));
    for (size_t i = 0; i < shape->edge_count; i++)
        if (is_new[shape->edges[i].to_at])
            FF_TRY(count_edge(work, in, &shape->edges[i], flow, reterr));
    ff_flow_event(work, flow, FF_EVENT_FLOW_GROWN)->num_a = flow->revision;
    return FF_OK;
}

ff_status ff_flow_grow_apply(struct ff_work *work, struct ff_flow_grow_in *in,
                             struct ff_flow_grow_out *out, struct ff_error *reterr)
{
    struct ff_flow *flow;
    int32_t new_count = 0;

    *out = (struct ff_flow_grow_out){0};
    FF_TRY(ff_find_flow(work, in->flow_id, &flow, reterr));
    FF_TRY(check_nodes(work, in, &new_count, reterr));
    FF_TRY(check_edges(work, in, reterr));
    if (new_count > 0) { /* an equal repeat is answered whatever has become of the flow */
        FF_TRY(may_grow(flow, in, reterr));
        FF_TRY(grow(work, in, flow, reterr));
    }
    out->revision = flow->revision;
    out->node_count = new_count;
    out->ids = ff_arena_array(work->arena, in->graph.shape.node_count, sizeof *out->ids);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < in->graph.shape.node_count; i++)
        out->ids[i] = in->graph.nodes[i].submit.id;
    return FF_OK;
}
