/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.h -- is this a graph we can run? Every way in which it is not has its own status.
 *
 * Linear in nodes and edges, any size. Edges may only end at nodes of the same call, so a cycle
 * lies within the call and no existing graph has to be looked at.
 * Pure. Tests: tests/unit/test_graph.c. */
#ifndef FF_MODEL_GRAPH_H
#define FF_MODEL_GRAPH_H

#include "base/arena.h"
#include "base/str.h"
#include "model/codes.h"

#include <flowfabric.h>

#define FF_GRAPH_ELSEWHERE SIZE_MAX /* a node that is not of this call */

struct ff_graph_node {
    struct ff_str name;
    int32_t policy;       /* FF_JOIN_* */
    int64_t k;            /* quorum only */
    int32_t on_satisfied; /* FF_ON_SATISFIED_* */
    size_t in_count;      /* set by ff_graph_check */
};

struct ff_graph_edge {
    struct ff_str from, to;
    int32_t pass;          /* FF_PASS_* */
    size_t from_at, to_at; /* set by ff_graph_check: index of the node, or FF_GRAPH_ELSEWHERE */
};

struct ff_graph {
    struct ff_graph_node *nodes;
    size_t node_count;
    struct ff_graph_edge *edges;
    size_t edge_count;
    bool grows; /* names may be those of nodes that exist already; who asks must look */
};

/* CYCLE, UNKNOWN_NODE, DUPLICATE_NODE, DUPLICATE_EDGE, SELF_EDGE, BAD_QUORUM or
 * DUPLICATE_INPUT_EDGE; the message names the node or edge, the field its place in the call. When
 * several apply, the first of that order is not promised, but the same graph always gives the same
 * answer. */
FF_MUST_CHECK ff_status ff_graph_check(struct ff_graph *graph, struct ff_arena *arena,
                                       struct ff_error *reterr);

#endif
