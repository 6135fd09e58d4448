/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_graph.c -- small graphs against the plainest check there is: a graph is accepted exactly if
 * no node or edge is there twice, no edge leads back, and every quorum can be reached. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "model/codes.h"
#include "model/graph.h"
#include "model/rows.h"

#define NODES_MAX 8
#define EDGES_MAX 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char names[] = "abcdefgh";

/* Is there a way from one node to the other? */
static bool leads(const bool to[NODES_MAX][NODES_MAX], size_t from, size_t target, unsigned seen)
{
    if (seen & (1u << from))
        return false;
    for (size_t next = 0; next < NODES_MAX; next++)
        if (to[from][next] && (next == target || leads(to, next, target, seen | (1u << from))))
            return true;
    return false;
}

static bool is_fine(const struct ff_graph *graph)
{
    bool to[NODES_MAX][NODES_MAX] = {{false}};
    int into[NODES_MAX] = {0};
    int inputs[NODES_MAX] = {0};

    for (size_t i = 0; i < graph->edge_count; i++) {
        const size_t from = (size_t)(graph->edges[i].from.ptr[0] - 'a');
        const size_t end = (size_t)(graph->edges[i].to.ptr[0] - 'a');

        if (from >= graph->node_count || end >= graph->node_count || from == end || to[from][end])
            return false;
        to[from][end] = true;
        into[end]++;
        inputs[end] += graph->edges[i].pass == FF_PASS_INPUT;
        if (inputs[end] > 1)
            return false;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct ff_graph_node *const node = &graph->nodes[i];

        if (leads((const bool(*)[NODES_MAX])to, i, i, 0))
            return false;
        if (node->policy == FF_JOIN_QUORUM && (node->k < 1 || node->k > into[i]))
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ff_graph_node nodes[NODES_MAX];
    struct ff_graph_edge edges[EDGES_MAX];
    struct ff_graph graph = {.nodes = nodes, .edges = edges};
    struct ff_error error;
    struct ff_arena arena;
    bool fine;

    if (size < 1 + NODES_MAX)
        return 0;
    memset(nodes, 0, sizeof nodes);
    graph.node_count = 1 + data[0] % NODES_MAX;
    for (size_t i = 0; i < graph.node_count; i++) {
        nodes[i].name = (struct ff_str){&names[i], 1};
        nodes[i].policy = data[1 + i] % 4 == 3 ? FF_JOIN_QUORUM : FF_JOIN_ALL_OF;
        nodes[i].k = nodes[i].policy == FF_JOIN_QUORUM ? (data[1 + i] >> 2) % 10 : FF_NULL64;
        nodes[i].on_satisfied = FF_NULL32;
    }
    for (size_t i = 1 + NODES_MAX; i < size && graph.edge_count < EDGES_MAX; i++)
        edges[graph.edge_count++] =
            (struct ff_graph_edge){.from = {&names[data[i] & 7], 1},
                                   .to = {&names[(data[i] >> 3) & 7], 1},
                                   .pass = data[i] & 64 ? FF_PASS_INPUT : FF_PASS_UPSTREAM};
    fine = is_fine(&graph);
    ff_arena_init(&arena, 4096, 1 << 20);
    if ((ff_graph_check(&graph, &arena, &error) == FF_OK) != fine)
        abort();
    ff_arena_done(&arena);
    return 0;
}
