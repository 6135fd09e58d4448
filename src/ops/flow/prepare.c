/* SPDX-License-Identifier: Apache-2.0
 *
 * prepare.c -- what callers may say about flows: every field, the graph, defaults, ids, hashes.
 *
 * A node's hash covers its work, its join and its incoming edges, but not the flow around it: a
 * node that is told again is recognised by it. Stored, so it must never change.
 * Tests: tests/unit/test_cascade.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/sha256.h"
#include "ops/check.h"
#include "ops/flow.h"

#include "base/banned.h"

#define FIELD_BYTES 96

/* "kind" of node 3 is "nodes[3].kind" to the caller. */
static ff_status bad_node(struct ff_error *reterr, size_t at, ff_status status)
{
    char field[FIELD_BYTES];

    if (reterr) {
        (void)snprintf(field, sizeof field, "nodes[%zu]%s%.64s", at, reterr->field[0] ? "." : "",
                       reterr->field);
        memcpy(reterr->field, field, sizeof field);
    }
    return status;
}

static ff_status check_join(struct ff_graph_node *node, struct ff_error *reterr)
{
    if (node->policy < FF_JOIN_ALL_OF || node->policy > FF_JOIN_QUORUM)
        return ff_fail_field(reterr, FF_INVALID, "join.policy", "no such policy");
    if (node->policy == FF_JOIN_ALL_OF && node->on_satisfied != FF_NULL32)
        return ff_fail_field(reterr, FF_INVALID, "join.on_satisfied",
                             "all_of waits for every edge: nothing can remain");
    if (node->policy != FF_JOIN_QUORUM && node->k != FF_NULL64)
        return ff_fail_field(reterr, FF_INVALID, "join.k", "k belongs to a quorum");
    if (node->on_satisfied == FF_NULL32)
        node->on_satisfied = node->policy == FF_JOIN_ALL_OF ? FF_ON_SATISFIED_LET_RUN
                                                            : FF_ON_SATISFIED_CANCEL_REMAINING;
    if (node->on_satisfied != FF_ON_SATISFIED_LET_RUN &&
        node->on_satisfied != FF_ON_SATISFIED_CANCEL_REMAINING)
        return ff_fail_field(reterr, FF_INVALID, "join.on_satisfied", "no such choice");
    if (node->policy == FF_JOIN_ANY_OF)
        node->k = 1;
    else if (node->k == FF_NULL64)
        node->k = 0;
    return FF_OK;
}

static ff_status prepare_node(struct ff_graph_in *graph, size_t at, struct ff_uuid flow_id,
                              const struct ff_settings *settings, struct ff_arena *arena,
                              struct ff_error *reterr)
{
    struct ff_graph_node *const node = &graph->shape.nodes[at];
    struct ff_submit_in *const submit = &graph->nodes[at].submit;

    FF_TRY(ff_check_name(node->name, FF_NODE_BYTES_MAX, "name", reterr));
    FF_TRY(check_join(node, reterr));
    FF_TRY(ff_member_id(flow_id, node->name, &submit->id, reterr));
    submit->own_id = false;
    submit->idempotency_key = ff_str_null();
    submit->namespace = FF_STR("default"); /* until the flow's is known; keeps it out of the hash */
    FF_TRY(ff_submit_prepare(submit, settings, arena, reterr));
    return ff_submit_hash(submit, reterr);
}

static int by_end_and_start(const void *a, const void *b)
{
    const struct ff_graph_edge *const x = *(const struct ff_graph_edge *const *)a;
    const struct ff_graph_edge *const y = *(const struct ff_graph_edge *const *)b;

    if (x->to_at != y->to_at)
        return x->to_at < y->to_at ? -1 : 1;
    return ff_str_cmp(x->from, y->from);
}

/* `edges` are those into the node. */
static ff_status hash_node(struct ff_graph_in *graph, size_t at,
                           const struct ff_graph_edge *const *edges, struct ff_error *reterr)
{
    const struct ff_graph_node *const node = &graph->shape.nodes[at];
    struct ff_sha256 sha;
    ff_status status;

    FF_TRY(ff_sha256_init(&sha, reterr));
    ff_sha256_add(&sha, graph->nodes[at].submit.hash, sizeof graph->nodes[at].submit.hash);
    ff_hash_text(&sha, node->name);
    ff_hash_number(&sha, node->policy);
    ff_hash_number(&sha, node->k);
    ff_hash_number(&sha, node->on_satisfied);
    ff_hash_number(&sha, (int64_t)node->in_count);
    for (size_t i = 0; i < node->in_count; i++) {
        ff_hash_text(&sha, edges[i]->from);
        ff_hash_number(&sha, edges[i]->pass);
    }
    status = ff_sha256_finish(&sha, graph->nodes[at].hash, reterr);
    ff_sha256_done(&sha);
    return status;
}

static ff_status hash_nodes(struct ff_graph_in *graph, struct ff_arena *arena,
                            struct ff_error *reterr)
{
    const struct ff_graph *const shape = &graph->shape;
    const struct ff_graph_edge **const sorted =
        ff_arena_array(arena, shape->edge_count + 1, sizeof *sorted);
    size_t done = 0;

    FF_TRY(ff_arena_check(arena, reterr));
    for (size_t i = 0; i < shape->edge_count; i++)
        sorted[i] = &shape->edges[i];
    qsort(sorted, shape->edge_count, sizeof *sorted, by_end_and_start);
    for (size_t i = 0; i < shape->node_count; i++) {
        FF_TRY(hash_node(graph, i, sorted + done, reterr));
        done += shape->nodes[i].in_count;
    }
    return FF_OK;
}

ff_status ff_flow_check_sizes(size_t node_count, size_t edge_count,
                              const struct ff_settings *settings, struct ff_error *reterr)
{
    if ((int64_t)node_count > settings->flow_nodes_max)
        return ff_fail_field(reterr, FF_TOO_LARGE, "nodes",
                             "%zu nodes in one call, at most %" PRId64 " are allowed", node_count,
                             settings->flow_nodes_max);
    if ((int64_t)edge_count > settings->flow_edges_max)
        return ff_fail_field(reterr, FF_TOO_LARGE, "edges",
                             "%zu edges in one call, at most %" PRId64 " are allowed", edge_count,
                             settings->flow_edges_max);
    return FF_OK;
}

static ff_status check_inputs(const struct ff_graph_in *graph, struct ff_error *reterr)
{
    size_t bytes = 0;

    for (size_t i = 0; i < graph->shape.node_count; i++)
        bytes += graph->nodes[i].submit.input.len;
    if (bytes > FF_FLOW_INPUT_BYTES_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "nodes",
                             "inputs of %zu bytes in one call, at most %d are allowed", bytes,
                             FF_FLOW_INPUT_BYTES_MAX);
    return FF_OK;
}

static ff_status check_edges(const struct ff_graph *shape, struct ff_error *reterr)
{
    char field[FIELD_BYTES];

    for (size_t i = 0; i < shape->edge_count; i++) {
        const struct ff_graph_edge *const edge = &shape->edges[i];

        (void)snprintf(field, sizeof field, "edges[%zu].from", i);
        FF_TRY(ff_check_name(edge->from, FF_NODE_BYTES_MAX, field, reterr));
        (void)snprintf(field, sizeof field, "edges[%zu].to", i);
        FF_TRY(ff_check_name(edge->to, FF_NODE_BYTES_MAX, field, reterr));
        (void)snprintf(field, sizeof field, "edges[%zu].pass", i);
        if (edge->pass != FF_PASS_UPSTREAM && edge->pass != FF_PASS_INPUT)
            return ff_fail_field(reterr, FF_INVALID, field, "%s is not valid", field);
    }
    return FF_OK;
}

static ff_status prepare_graph(struct ff_graph_in *graph, struct ff_uuid flow_id,
                               const struct ff_settings *settings, struct ff_arena *arena,
                               struct ff_error *reterr)
{
    if (graph->shape.node_count == 0)
        return ff_fail_field(reterr, FF_INVALID, "nodes", "there is no node");
    FF_TRY(ff_flow_check_sizes(graph->shape.node_count, graph->shape.edge_count, settings, reterr));
    FF_TRY(check_inputs(graph, reterr));
    for (size_t i = 0; i < graph->shape.node_count; i++) {
        const ff_status status = prepare_node(graph, i, flow_id, settings, arena, reterr);

        if (status != FF_OK)
            return bad_node(reterr, i, status);
    }
    FF_TRY(check_edges(&graph->shape, reterr));
    FF_TRY(ff_graph_check(&graph->shape, arena, reterr));
    return hash_nodes(graph, arena, reterr);
}

static ff_status check_flow_id(struct ff_uuid flow_id, struct ff_error *reterr)
{
    if (ff_uuid_is_zero(flow_id))
        return ff_fail_field(reterr, FF_INVALID, "flow_id", "flow id is not valid");
    return FF_OK;
}

static ff_status hash_flow(struct ff_flow_create_in *in, struct ff_error *reterr)
{
    struct ff_sha256 sha;
    ff_status status;

    FF_TRY(ff_sha256_init(&sha, reterr));
    if (in->own_id)
        ff_sha256_add(&sha, in->flow_id.b, sizeof in->flow_id.b);
    ff_hash_text(&sha, in->namespace);
    ff_hash_text(&sha, in->kind);
    ff_hash_number(&sha, (int64_t)in->tag_count);
    for (size_t i = 0; i < in->tag_count; i++) {
        ff_hash_text(&sha, in->tags[i].name);
        ff_hash_text(&sha, in->tags[i].value);
    }
    for (size_t i = 0; i < in->graph.shape.node_count; i++)
        ff_sha256_add(&sha, in->graph.nodes[i].hash, sizeof in->graph.nodes[i].hash);
    status = ff_sha256_finish(&sha, in->hash, reterr);
    ff_sha256_done(&sha);
    return status;
}

/* Each name and value with its length in front, big-endian. */
static struct ff_str pack_tags(const struct ff_flow_create_in *in, struct ff_arena *arena)
{
    size_t bytes = 0;
    uint8_t *packed;
    size_t at = 0;

    if (in->tag_count == 0)
        return ff_str_null();
    for (size_t i = 0; i < in->tag_count; i++)
        bytes += 4 + in->tags[i].name.len + in->tags[i].value.len;
    packed = ff_arena_alloc(arena, bytes);
    for (size_t i = 0; packed && i < in->tag_count; i++) {
        const struct ff_str parts[] = {in->tags[i].name, in->tags[i].value};

        for (size_t p = 0; p < FF_ARRAY_LEN(parts); p++) {
            ff_put_be16(packed + at, (uint16_t)parts[p].len);
            if (parts[p].len > 0)
                memcpy(packed + at + 2, parts[p].ptr, parts[p].len);
            at += 2 + parts[p].len;
        }
    }
    return packed ? (struct ff_str){(const char *)packed, bytes} : ff_str_null();
}

ff_status ff_flow_prepare(struct ff_flow_create_in *in, const struct ff_settings *settings,
                          struct ff_arena *arena, struct ff_error *reterr)
{
    if (ff_str_is_null(in->namespace))
        in->namespace = FF_STR("default");
    FF_TRY(check_flow_id(in->flow_id, reterr));
    FF_TRY(ff_check_name(in->namespace, FF_NAMESPACE_BYTES_MAX, "namespace", reterr));
    if (!ff_str_is_null(in->kind))
        FF_TRY(ff_check_name(in->kind, FF_KIND_BYTES_MAX, "kind", reterr));
    FF_TRY(ff_check_key(in->idempotency_key, reterr));
    if (in->tag_count > FF_TAGS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "more than %d tags", FF_TAGS_MAX);
    FF_TRY(ff_check_tags(in->tags, in->tag_count, false, reterr));
    in->graph.shape.grows = false;
    FF_TRY(prepare_graph(&in->graph, in->flow_id, settings, arena, reterr));
    for (size_t i = 0; i < in->tag_count; i++)
        if (ff_str_eq(in->tags[i].name, ff_str_of(settings->instance_tag)))
            in->instance_tag = in->tags[i].value;
    in->packed_tags = pack_tags(in, arena);
    FF_TRY(ff_arena_check(arena, reterr));
    return hash_flow(in, reterr);
}

ff_status ff_grow_prepare(struct ff_flow_grow_in *in, const struct ff_settings *settings,
                          struct ff_arena *arena, struct ff_error *reterr)
{
    FF_TRY(check_flow_id(in->flow_id, reterr));
    if (in->expected_revision != FF_NULL64 && in->expected_revision < 0)
        return ff_fail_field(reterr, FF_INVALID, "expected_revision",
                             "expected_revision must not be negative");
    in->graph.shape.grows = true;
    return prepare_graph(&in->graph, in->flow_id, settings, arena, reterr);
}

ff_status ff_flow_cancel_check(const struct ff_flow_cancel_in *in, struct ff_error *reterr)
{
    FF_TRY(check_flow_id(in->flow_id, reterr));
    if (in->policy < FF_FLOW_CANCEL_FLOW_ONLY || in->policy > FF_FLOW_CANCEL_ALL)
        return ff_fail_field(reterr, FF_INVALID, "policy", "no such policy");
    FF_TRY(ff_check_optional_text(in->by, FF_WORKER_ID_BYTES_MAX, "by", reterr));
    return ff_check_optional_text(in->reason, FF_REASON_BYTES_MAX, "reason", reterr);
}
