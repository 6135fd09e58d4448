/* SPDX-License-Identifier: Apache-2.0
 *
 * play.h -- one flow that is played on an engine and on the model at the same time.
 *
 * For tests/graphs only. */
#ifndef FF_TESTS_GRAPHS_PLAY_H
#define FF_TESTS_GRAPHS_PLAY_H

#include "graphs.h"
#include "model.h"

#include "base/random.h"

#define HELD_MAX   64
#define NAME_BYTES 16

/* How a graph is treated, in permille of the steps. */
struct temper {
    unsigned fail, fail_once, give_back, cancel, cancel_flow, grow, replay;
    unsigned doomed, delayed; /* of the nodes, in timed plays */
    unsigned replays_max, grows_max;
};

struct play {
    struct test *t;
    struct ff_client *client;
    struct ff_prng prng;
    struct temper temper;
    struct model m;
    char flow_id[FF_UUID_BYTES];
    char lane[32];
    char names[NODES_MAX][NAME_BYTES];
    char ids[NODES_MAX][FF_ID_BYTES];
    const char *kinds[NODES_MAX]; /* NULL: the usual one */
    bool delayed[NODES_MAX];      /* by a millisecond */
    bool told_again[NODES_MAX];   /* by the next call that grows the flow */
    struct {
        int node, claim; /* which of its claims */
        struct held task;
    } held[HELD_MAX];
    size_t held_count;
    unsigned replays, grows, steps;
    bool timed; /* see timed.c */
    struct seen seen;
};

uint64_t dice(struct play *p, uint64_t n); /* 0 .. n - 1 */
bool chance(struct play *p, unsigned permille);

/* ---- plan.c: graphs by chance ---- */

/* `count` more nodes for the model, with edges that may start at any node. Returns the first. */
int plan_nodes(struct play *p, int count);
struct temper plan_temper(struct play *p);
int plan_size(struct play *p);

/* ---- timed.c: time passes when it is told to ---- */

/* From now on t->client is one for timed plays: so many rows are a page. */
void given_small_pages(struct test *t, int64_t rows);
/* Delays of new nodes are over. */
void let_delays_pass(struct play *p);
/* The deadline of one living node that has one passes; -1: there is none. */
int let_one_expire(struct play *p);

/* ---- ask.c: the model's words, said to the engine ---- */

/* Nodes from `first_node` on and edges from `first_edge` on; the first call creates the flow. Older
 * nodes in `told_again` are named once more, with the edges into them. */
ff_status ask_flow(struct play *p, int first_node, int first_edge);
/* Everything that follows from the calls so far has been done. */
void wait_settled(struct test *t, struct ff_client *client);
/* Looks at the flow as it is; kept. */
void look_at_flow(struct play *p, struct ff_flow_info_list *ret);

/* ---- compare.c ---- */

/* Every node, edge, join and count of the settled flow is the model's. */
void compare_flow(struct play *p);
/* And its past: attempts, generations, completion events. */
void compare_past(struct play *p);
/* What the engine shows, for model_settle_as(). */
void see_flow(struct play *p);
/* Every join has counted as the model has. */
void compare_joins(struct play *p, const struct ff_flow_info *info);
int node_named(struct play *p, const char *name);

/* ---- possible.c ---- */

/* The flow is over, and some order of things leads to what it shows (p->seen). `cancelled`:
 * somebody has cancelled members of it. */
void expect_possible(struct play *p, bool cancelled);

#endif
