/* SPDX-License-Identifier: Apache-2.0
 *
 * plan.c -- graphs by chance: how large, what shape, which joins, how roughly they are treated. */
#include "play.h"

#include <stdio.h>

uint64_t dice(struct play *p, uint64_t n)
{
    return ff_prng_below(&p->prng, n);
}

bool chance(struct play *p, unsigned permille)
{
    return dice(p, 1000) < permille;
}

/* Many small ones, some as large as may be. */
int plan_size(struct play *p)
{
    static const unsigned tops[] = {3, 8, 8, 20, 20, 50, 50, 120, 300};

    return 1 + (int)dice(p, tops[dice(p, sizeof tops / sizeof tops[0])]);
}

struct temper plan_temper(struct play *p)
{
    static const unsigned fails[] = {0, 20, 60, 150, 400};

    return (struct temper){
        .fail = fails[dice(p, 5)],
        .fail_once = fails[dice(p, 4)],
        .give_back = fails[dice(p, 3)],
        .cancel = (unsigned)dice(p, 3) * 10,
        .cancel_flow = chance(p, 200) ? 20 : 0,
        .grow = chance(p, 400) ? 40 : 0,
        .replay = chance(p, 500) ? 40 : 0,
        .doomed = p->timed && chance(p, 500) ? 60 : 0,
        .delayed = p->timed ? 100 : 0,
        .grows_max = 3,
        .replays_max = 8,
    };
}

/* Where edges come from. */
typedef enum graph_shape { ANYWHERE, CLOSE_BY, LAYERS, ONE_SOURCE, SHAPES } graph_shape;

static int upstream_of(struct play *p, graph_shape shape, int node)
{
    const int window = 6;
    const int width = 8;

    switch (shape) {
    case CLOSE_BY:
        return node - 1 - (int)dice(p, (uint64_t)(node < window ? node : window));
    case LAYERS:
        if (node >= width)
            return node - node % width - 1 - (int)dice(p, (uint64_t)width);
        break;
    case ONE_SOURCE:
        return 0;
    case ANYWHERE:
    case SHAPES:
        break;
    }
    return (int)dice(p, (uint64_t)node);
}

static bool has_edge(const struct model *m, int from, int to)
{
    for (int e = m->nodes[to].first_in; e >= 0; e = m->edges[e].next_in)
        if (m->edges[e].from == from)
            return true;
    return false;
}

static void plan_edges(struct play *p, graph_shape shape, int node)
{
    int wanted = chance(p, 100) ? 0 : 1 + (int)dice(p, chance(p, 300) ? 8 : 3);

    if (chance(p, 15))
        wanted = node; /* waits for nearly everybody */
    for (int i = 0; i < wanted && node > 0 && p->m.edge_count < EDGES_MAX; i++) {
        const int from = wanted == node ? i : upstream_of(p, shape, node);

        if (from >= 0 && !has_edge(&p->m, from, node))
            (void)model_add_edge(&p->m, from, node);
    }
}

/* The join is drawn when the number of edges is known. */
static void plan_join(struct play *p, struct model_node *node)
{
    static const join_policy policies[] = {ALL_OF, ALL_OF, ANY_OF, QUORUM, QUORUM};

    node->policy = node->total > 0 ? policies[dice(p, 5)] : ALL_OF;
    node->k = node->policy == QUORUM ? 1 + (int)dice(p, (uint64_t)node->total) : 0;
    node->cancels_rest = node->policy != ALL_OF && chance(p, 650);
}

int plan_nodes(struct play *p, int count)
{
    const graph_shape shape = (graph_shape)dice(p, SHAPES);
    const int first = p->m.node_count;

    for (int i = 0; i < count && p->m.node_count < NODES_MAX; i++) {
        const int node = model_add_node(&p->m, ALL_OF, 0, false, (int)dice(p, 3));

        (void)snprintf(p->names[node], NAME_BYTES, "n%d", node);
        plan_edges(p, shape, node);
        plan_join(p, &p->m.nodes[node]);
        p->m.nodes[node].doomed = chance(p, p->temper.doomed);
        p->delayed[node] = !p->m.nodes[node].doomed && chance(p, p->temper.delayed);
    }
    return first;
}
