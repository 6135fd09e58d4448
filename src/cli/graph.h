/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.h -- a flow's graph for people: lines and boxes, a table when it is too tangled, Graphviz.
 *
 * Tests: tests/unit/test_cli_graph.c, tests/e2e/test_flow.py. */
#ifndef FF_CLI_GRAPH_H
#define FF_CLI_GRAPH_H

#include "cli/cli.h"

/* What is drawn in one place: a node, equal nodes side by side, or a row of them. */
struct ff_drawn {
    const struct ff_flow_node_info *first, *last; /* by name; of a row: by edges */
    size_t count;
    bool is_row;
    const char *state;                    /* of its nodes' states the one that needs a look most */
    const struct ff_flow_join_info *join; /* of each of its nodes; NULL: nothing to tell */
    size_t *members;                      /* indices of its nodes */
    size_t *to;                           /* indices of what comes after it */
    size_t to_count, from_count;
};

struct ff_drawing {
    struct ff_drawn *items; /* in an order in which edges point forward */
    size_t count;
};

/* Parts of a graph are put together where nothing is lost by it, unless `every`. */
FF_MUST_CHECK ff_status ff_drawing_make(struct ff_arena *arena, const struct ff_flow_info *flow,
                                        bool every, struct ff_drawing *ret,
                                        struct ff_error *reterr);

struct ff_graph_line {
    const char *graph;           /* the lanes */
    size_t width;                /* in characters */
    const struct ff_drawn *item; /* NULL: only lanes */
};
struct ff_graph_lines {
    struct ff_graph_line *items;
    size_t count;
};
/* The first lines_max lines of it; false: too tangled to be drawn. */
bool ff_graph_lanes(struct ff_cli *cli, const struct ff_drawing *drawing, size_t lines_max,
                    struct ff_graph_lines *ret);

/* The lower, the sooner a node in this state needs a look. */
int ff_graph_urgency(const char *public_state);
/* "2 of 3: 1 success", or empty; join may be NULL. */
const char *ff_graph_join_text(struct ff_cli *cli, const struct ff_flow_join_info *join);

/* Prints it, at most `lines_max` lines. Returns how many nodes were left out. */
size_t ff_graph_print(struct ff_cli *cli, const struct ff_flow_info *flow,
                      const struct ff_drawing *drawing, size_t lines_max);
void ff_graph_dot(struct ff_cli *cli, const struct ff_flow_info *flow);

#endif
