/* SPDX-License-Identifier: Apache-2.0
 *
 * create.c -- flow.create: accept a whole graph, all or nothing, once.
 *
 * Keys live in ff_dedup: "f:<idempotency key>" per namespace, "g:<uuid>" for ids the caller made
 * itself, under the empty namespace. A node with incoming edges is born blocked; nothing else ever
 * makes a node wait, so none can start too early. With an id of the caller's the ids of its nodes
 * may be taken by executions that are no members: they are looked for.
 * Tests: tests/unit/test_cascade.c, tests/conformance/flow_create.c. */
#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/sha256.h"
#include "model/events.h"
#include "ops/birth.h"
#include "ops/cascade.h"
#include "ops/dedup.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

#define FIELD_BYTES 48

void ff_flow_create_need(struct ff_work *work, struct ff_flow_create_in *in)
{
    struct ff_dedup_key key;

    if (in->own_id) {
        const struct ff_flow flow = ff_flow_key(in->flow_id);

        ff_dedup_by_id('g', in->flow_id, &key);
        ff_work_want(work, FF_TABLE_DEDUP, &key.row, FF_WANT_LOCK);
        ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
    }
    if (!ff_str_is_null(in->idempotency_key)) {
        ff_dedup_by_key('f', in->namespace, in->idempotency_key, &key);
        ff_work_want(work, FF_TABLE_DEDUP, &key.row, FF_WANT_LOCK);
    }
    if (in->taken) {
        const struct ff_flow flow = ff_flow_key(in->taken_by);

        ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_READ);
    }
    for (size_t i = 0; i < in->graph.shape.node_count; i++) {
        if (in->own_id)
            ff_work_read_execution(work, in->graph.nodes[i].submit.id);
        ff_birth_need(work, &in->graph.nodes[i].submit);
    }
}

static struct ff_str hash_of(const struct ff_flow_create_in *in)
{
    return (struct ff_str){(const char *)in->hash, sizeof in->hash};
}

static ff_status answer_ids(struct ff_work *work, const struct ff_flow_create_in *in,
                            struct ff_uuid flow_id, struct ff_flow_create_out *out,
                            struct ff_error *reterr)
{
    const size_t count = in->graph.shape.node_count;

    out->flow_id = flow_id;
    out->ids = ff_arena_array(work->arena, count, sizeof *out->ids);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < count; i++)
        FF_TRY(ff_member_id(flow_id, in->graph.shape.nodes[i].name, &out->ids[i], reterr));
    return FF_OK;
}

/* The key is taken: the same request is answered with the first one's ids, another one refused. */
static ff_status duplicate(struct ff_work *work, struct ff_flow_create_in *in,
                           const struct ff_dedup *row, struct ff_flow_create_out *out,
                           struct ff_error *reterr)
{
    const struct ff_flow *const flow = ff_work_flow(work, row->execution_id);

    if (!ff_str_eq(row->hash, hash_of(in)))
        return ff_fail_field(reterr, FF_KEY_REUSED,
                             ff_str_empty(row->namespace) ? "flow_id" : "idempotency_key",
                             "key was used for another request");
    if (!flow && !(in->taken && ff_uuid_eq(in->taken_by, row->execution_id))) {
        in->taken = true;
        in->taken_by = row->execution_id;
        return FF_AGAIN;
    }
    *out = (struct ff_flow_create_out){.revision = flow ? flow->revision : FF_NULL64};
    return answer_ids(work, in, row->execution_id, out, reterr);
}

/* The ids of nodes come from that of the flow and their names; whoever knows both may have
 * submitted an execution of his own under one of them. */
static ff_status check_members(struct ff_work *work, const struct ff_flow_create_in *in,
                               struct ff_error *reterr)
{
    char field[FIELD_BYTES];

    for (size_t i = 0; i < in->graph.shape.node_count; i++) {
        if (!ff_work_execution(work, in->graph.nodes[i].submit.id))
            continue;
        (void)snprintf(field, sizeof field, "nodes[%zu]", i);
        return ff_fail_field(reterr, FF_CONFLICT, field,
                             "the id of node '" FF_STR_FMT "' is taken by another execution",
                             FF_STR_ARG(in->graph.shape.nodes[i].name));
    }
    return FF_OK;
}

static void take_key(struct ff_work *work, const struct ff_flow_create_in *in,
                     const struct ff_dedup_key *key, struct ff_dedup *row)
{
    const struct ff_exec_id owner = {ff_flow_partition(in->flow_id), in->flow_id};

    ff_dedup_take(work, key, row, owner, hash_of(in), work->settings->dedup_window_ms);
}

static struct ff_flow *insert_flow(struct ff_work *work, const struct ff_flow_create_in *in)
{
    const struct ff_flow key = ff_flow_key(in->flow_id);
    struct ff_flow *const flow = ff_work_insert_new(work, FF_TABLE_FLOW, &key);

    flow->namespace = in->namespace;
    flow->kind = in->kind;
    flow->instance_tag = in->instance_tag;
    flow->tags = in->packed_tags;
    flow->submit_hash = hash_of(in);
    flow->created_at_ms = flow->changed_at_ms = ff_birth_ms(work, in->flow_id, in->dated);
    flow->node_count = (int32_t)in->graph.shape.node_count;
    flow->edge_count = (int32_t)in->graph.shape.edge_count;
    ff_flow_move(work, flow, FF_FLOW_RUNNING, FF_EVENT_FLOW_CREATED);
    return flow;
}

static ff_status insert_graph(struct ff_work *work, const struct ff_graph_in *graph,
                              const struct ff_flow *flow, struct ff_error *reterr)
{
    for (size_t i = 0; i < graph->shape.node_count; i++)
        FF_TRY(ff_member_insert(work, flow, graph, i, reterr));
    for (size_t i = 0; i < graph->shape.edge_count; i++) {
        const struct ff_graph_edge *const edge = &graph->shape.edges[i];

        (void)ff_edge_insert(work, graph->nodes[edge->from_at].submit.id,
                             graph->nodes[edge->to_at].submit.id, edge, flow->flow_id);
    }
    return FF_OK;
}

ff_status ff_flow_create_apply(struct ff_work *work, struct ff_flow_create_in *in,
                               struct ff_flow_create_out *out, struct ff_error *reterr)
{
    const struct ff_flow flow_key = ff_flow_key(in->flow_id);
    struct ff_dedup_key by_key;
    struct ff_dedup_key by_id;
    struct ff_dedup *key_row = NULL;
    struct ff_dedup *id_row = NULL;

    if (!ff_str_is_null(in->idempotency_key)) {
        ff_dedup_by_key('f', in->namespace, in->idempotency_key, &by_key);
        key_row = ff_work_row(work, FF_TABLE_DEDUP, &by_key.row);
        if (key_row && key_row->expires_at_ms > work->now_ms)
            return duplicate(work, in, key_row, out, reterr);
    }
    if (in->own_id) {
        const struct ff_flow *const there = ff_work_row(work, FF_TABLE_FLOW, &flow_key);

        ff_dedup_by_id('g', in->flow_id, &by_id);
        id_row = ff_work_row(work, FF_TABLE_DEDUP, &by_id.row);
        if (id_row && id_row->expires_at_ms > work->now_ms)
            return duplicate(work, in, id_row, out, reterr);
        if (there && there->state != FF_FLOW_REMOVED) { /* an id is never given twice */
            const struct ff_dedup first = {.namespace = FF_STR(""),
                                           .execution_id = there->flow_id,
                                           .hash = there->submit_hash};

            return duplicate(work, in, &first, out, reterr);
        }
        if (there || ff_is_leaving(work, FF_TABLE_FLOW, &flow_key))
            return ff_fail_field(reterr, FF_CONFLICT, "flow_id",
                                 "an older flow of this id is being removed");
        FF_TRY(check_members(work, in, reterr));
    }
    if (!ff_str_is_null(in->idempotency_key))
        take_key(work, in, &by_key, key_row);
    if (in->own_id)
        take_key(work, in, &by_id, id_row);
    FF_TRY(insert_graph(work, &in->graph, insert_flow(work, in), reterr));
    *out = (struct ff_flow_create_out){.created = true, .revision = 0};
    return answer_ids(work, in, in->flow_id, out, reterr);
}
