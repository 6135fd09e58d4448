/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.c -- is this a graph we can run?
 *
 * Names become indexes by one hash map; cycles are what is left after taking away, again and again,
 * every node without incoming edges. No recursion: a chain of any length fits on the stack.
 * Tests: tests/unit/test_graph.c. */
#include "model/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hashmap.h"
#include "base/macros.h"
#include "base/strbuf.h"

#include "base/banned.h"

#define FIELD_BYTES       48
#define CYCLE_SHOWN_BYTES 240 /* of a long cycle the beginning will do */

struct checker {
    struct ff_graph *graph;
    struct ff_arena *arena;
    struct ff_hashmap index; /* name -> node */
    struct ff_error *reterr;
};

static ff_status bad_node(struct checker *c, ff_status status, size_t at, const char *why)
{
    char field[FIELD_BYTES];

    (void)snprintf(field, sizeof field, "nodes[%zu]", at);
    return ff_fail_field(c->reterr, status, field, "node '" FF_STR_FMT "' %s",
                         FF_STR_ARG(c->graph->nodes[at].name), why);
}

static ff_status bad_edge(struct checker *c, ff_status status, size_t at, const char *why)
{
    const struct ff_graph_edge *const edge = &c->graph->edges[at];
    char field[FIELD_BYTES];

    (void)snprintf(field, sizeof field, "edges[%zu]", at);
    return ff_fail_field(c->reterr, status, field,
                         "edge from '" FF_STR_FMT "' to '" FF_STR_FMT "' %s",
                         FF_STR_ARG(edge->from), FF_STR_ARG(edge->to), why);
}

static ff_status index_nodes(struct checker *c)
{
    static const struct ff_hash_seed seed = {0};

    ff_hashmap_init(&c->index, c->arena, seed);
    for (size_t i = 0; i < c->graph->node_count; i++) {
        struct ff_graph_node *const node = &c->graph->nodes[i];

        node->in_count = 0;
        if (ff_hashmap_get(&c->index, node->name.ptr, node->name.len))
            return bad_node(c, FF_DUPLICATE_NODE, i, "is given twice");
        FF_TRY(ff_hashmap_put(&c->index, node->name.ptr, node->name.len, node, c->reterr));
    }
    return FF_OK;
}

static size_t place_of(const struct checker *c, struct ff_str name)
{
    const struct ff_graph_node *const node = ff_hashmap_get(&c->index, name.ptr, name.len);

    return node ? (size_t)(node - c->graph->nodes) : FF_GRAPH_ELSEWHERE;
}

static ff_status place_edge(struct checker *c, size_t at)
{
    struct ff_graph_edge *const edge = &c->graph->edges[at];

    if (ff_str_eq(edge->from, edge->to))
        return bad_edge(c, FF_SELF_EDGE, at, "ends where it starts");
    edge->from_at = place_of(c, edge->from);
    edge->to_at = place_of(c, edge->to);
    if (c->graph->grows)
        return FF_OK;
    if (edge->from_at == FF_GRAPH_ELSEWHERE)
        return bad_edge(c, FF_UNKNOWN_NODE, at, "starts at no node of this call");
    if (edge->to_at == FF_GRAPH_ELSEWHERE)
        return bad_edge(c, FF_UNKNOWN_NODE, at, "ends at no node of this call");
    return FF_OK;
}

/* One string that no other pair of names has. */
static struct ff_str pair_key(struct checker *c, const struct ff_graph_edge *edge)
{
    return ff_arena_printf(c->arena, "%zu:" FF_STR_FMT FF_STR_FMT, edge->from.len,
                           FF_STR_ARG(edge->from), FF_STR_ARG(edge->to));
}

static ff_status check_edges(struct checker *c)
{
    static const struct ff_hash_seed seed = {0};
    bool *const has_input = ff_arena_array(c->arena, c->graph->node_count, sizeof *has_input);
    struct ff_hashmap pairs;

    FF_TRY(ff_arena_check(c->arena, c->reterr));
    ff_hashmap_init(&pairs, c->arena, seed);
    for (size_t i = 0; i < c->graph->edge_count; i++) {
        struct ff_graph_edge *const edge = &c->graph->edges[i];
        struct ff_str key;

        FF_TRY(place_edge(c, i));
        key = pair_key(c, edge);
        FF_TRY(ff_arena_check(c->arena, c->reterr));
        if (ff_hashmap_get(&pairs, key.ptr, key.len))
            return bad_edge(c, FF_DUPLICATE_EDGE, i, "is given twice");
        FF_TRY(ff_hashmap_put(&pairs, key.ptr, key.len, edge, c->reterr));
        if (edge->to_at == FF_GRAPH_ELSEWHERE)
            continue;
        c->graph->nodes[edge->to_at].in_count++;
        if (edge->pass != FF_PASS_INPUT)
            continue;
        if (has_input[edge->to_at])
            return bad_edge(c, FF_DUPLICATE_INPUT_EDGE, i, "is the second that brings the input");
        has_input[edge->to_at] = true;
    }
    return FF_OK;
}

static ff_status check_joins(struct checker *c)
{
    for (size_t i = 0; i < c->graph->node_count; i++) {
        const struct ff_graph_node *const node = &c->graph->nodes[i];

        if (node->policy == FF_JOIN_QUORUM && node->k < 1)
            return bad_node(c, FF_BAD_QUORUM, i, "has a quorum below 1");
        if (node->policy == FF_JOIN_QUORUM && (uint64_t)node->k > node->in_count)
            return bad_node(c, FF_BAD_QUORUM, i, "has a quorum above its number of edges");
        if (node->policy == FF_JOIN_ANY_OF && node->in_count == 0)
            return bad_node(c, FF_BAD_QUORUM, i, "waits for any of no edges");
    }
    return FF_OK;
}

/* --- cycles --- */

/* Out-edges by node: edge numbers from starts[i] to starts[i + 1] of `order`. */
struct fan_out {
    size_t *starts;
    size_t *order;
};

static ff_status fan_out_of(struct checker *c, struct fan_out *ret)
{
    const struct ff_graph *const graph = c->graph;
    size_t *const starts = ff_arena_array(c->arena, graph->node_count + 2, sizeof *starts);
    size_t *const order = ff_arena_array(c->arena, graph->edge_count + 1, sizeof *order);

    FF_TRY(ff_arena_check(c->arena, c->reterr));
    /* Counted two places further on, so that filling in moves each start to where it belongs. */
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].from_at != FF_GRAPH_ELSEWHERE)
            starts[graph->edges[i].from_at + 2]++;
    for (size_t i = 2; i < graph->node_count + 2; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].from_at != FF_GRAPH_ELSEWHERE)
            order[starts[graph->edges[i].from_at + 1]++] = i;
    *ret = (struct fan_out){starts, order};
    return FF_OK;
}

/* Every node that is left has an upstream that is left: walking up must come round. */
static ff_status say_cycle(struct checker *c, const size_t *left, size_t from)
{
    const struct ff_graph *const graph = c->graph;
    size_t *const up = ff_arena_array(c->arena, graph->node_count, sizeof *up);
    bool *const seen = ff_arena_array(c->arena, graph->node_count, sizeof *seen);
    struct ff_strbuf text = ff_strbuf_in(c->arena, CYCLE_SHOWN_BYTES);
    char field[FIELD_BYTES];
    struct ff_str shown;
    size_t at = from;

    FF_TRY(ff_arena_check(c->arena, c->reterr));
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct ff_graph_edge *const edge = &graph->edges[i];

        if (edge->from_at != FF_GRAPH_ELSEWHERE && edge->to_at != FF_GRAPH_ELSEWHERE &&
            left[edge->from_at] > 0 && left[edge->to_at] > 0)
            up[edge->to_at] = edge->from_at;
    }
    while (!seen[at]) {
        seen[at] = true;
        at = up[at];
    }
    from = at;
    do {
        const struct ff_str name = graph->nodes[at].name;

        if (text.len + name.len + 16 > CYCLE_SHOWN_BYTES) {
            ff_strbuf_addf(&text, "... <- ");
            break;
        }
        ff_strbuf_addf(&text, "'" FF_STR_FMT "' <- ", FF_STR_ARG(name));
        at = up[at];
    } while (at != from);
    FF_TRY(ff_strbuf_take(&text, &shown, c->reterr));
    (void)snprintf(field, sizeof field, "nodes[%zu]", from);
    return ff_fail_field(c->reterr, FF_CYCLE, field, "cycle: " FF_STR_FMT "...", FF_STR_ARG(shown));
}

static ff_status check_cycles(struct checker *c)
{
    const struct ff_graph *const graph = c->graph;
    size_t *const left = ff_arena_array(c->arena, graph->node_count, sizeof *left);
    size_t *const ready = ff_arena_array(c->arena, graph->node_count, sizeof *ready);
    struct fan_out out;
    size_t done = 0;
    size_t ready_count = 0;

    FF_TRY(fan_out_of(c, &out));
    FF_TRY(ff_arena_check(c->arena, c->reterr));
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].from_at != FF_GRAPH_ELSEWHERE &&
            graph->edges[i].to_at != FF_GRAPH_ELSEWHERE)
            left[graph->edges[i].to_at]++;
    for (size_t i = 0; i < graph->node_count; i++)
        if (left[i] == 0)
            ready[ready_count++] = i;
    while (done < ready_count) {
        const size_t node = ready[done++];

        for (size_t i = out.starts[node]; i < out.starts[node + 1]; i++) {
            const size_t to = graph->edges[out.order[i]].to_at;

            if (to != FF_GRAPH_ELSEWHERE && --left[to] == 0)
                ready[ready_count++] = to;
        }
    }
    for (size_t i = 0; done < graph->node_count && i < graph->node_count; i++)
        if (left[i] > 0)
            return say_cycle(c, left, i);
    return FF_OK;
}

ff_status ff_graph_check(struct ff_graph *graph, struct ff_arena *arena, struct ff_error *reterr)
{
    struct checker c = {.graph = graph, .arena = arena, .reterr = reterr};

    FF_TRY(index_nodes(&c));
    FF_TRY(check_edges(&c));
    FF_TRY(check_joins(&c));
    return check_cycles(&c);
}
