/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h -- what a flow must do, said once more and as simply as possible.
 *
 * Shares no code with src: written from the contract, for tests/graphs only. One flow, whole in
 * memory, no rows, no transactions, no time. An action changes one node, model_settle() follows it
 * through the graph until nothing moves.
 *
 * What follows from one action does not depend on the order in which an engine does it, with one
 * exception: whether a waiting node hears first that it is cancelled or that it is to be skipped.
 * For this the model is shown what the engine did (`seen`), and says whether that can be. */
#ifndef FF_TESTS_GRAPHS_MODEL_H
#define FF_TESTS_GRAPHS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODES_MAX 320
#define EDGES_MAX 3072
#define LIVES_MAX 16 /* generations of a node */
#define ITEMS_MAX 8192

typedef enum node_state {
    BLOCKED,
    READY,
    ACTIVE,
    COMPLETED, /* and what follows has ended */
    FAILED,
    CANCELLED,
    SKIPPED,
    EXPIRED,
} node_state;

typedef enum edge_state { OPEN, SUCCESS, FAIL, SKIP } edge_state;
typedef enum join_state { PENDING, SATISFIED, IMPOSSIBLE } join_state;
typedef enum join_policy { ALL_OF, ANY_OF, QUORUM } join_policy;
typedef enum flow_state { RUNNING, FLOW_COMPLETED, FLOW_FAILED, FLOW_CANCELLED } flow_state;
typedef enum cancel_policy { NOT_AT_ALL, FLOW_ONLY, PENDING_ONES, ALL_OF_THEM } cancel_policy;

struct model_node {
    join_policy policy;
    int k;
    bool cancels_rest;
    int max_retries;
    bool doomed;             /* its deadline passes as soon as time does */
    int first_in, first_out; /* edge, or -1 */
    int counts[4];           /* of the incoming edges, by edge_state */
    int total;
    join_state join;
    node_state state;
    int generation, retries, replays, claims;
    bool begun;        /* this generation has been claimed */
    bool follows;      /* ended, and runs again as soon as its join allows */
    bool followed;     /* ... and with it those that ran because of it */
    bool last_attempt; /* its flow was cancelled while it ran */
    node_state ends[LIVES_MAX];
};

struct model_edge {
    int from, to;
    int next_in, next_out;
    edge_state state;
    int generation; /* of the upstream that resolved it */
};

typedef enum item_kind { ENDED, REOPENED, SIBLINGS, WHOLE_FLOW } item_kind;
struct model_item {
    item_kind kind;
    int node;
    int generation;
    bool downstream;
};

struct model {
    struct model_node nodes[NODES_MAX];
    struct model_edge edges[EDGES_MAX];
    int node_count, edge_count;
    flow_state state;
    cancel_policy cancel;
    int revision;
    struct model_item items[ITEMS_MAX];
    int item_first, item_count;
};

/* What an engine shows about a flow at rest. */
struct seen {
    node_state nodes[NODES_MAX];
    edge_state edges[EDGES_MAX];
};

/* ---- building; edges must end at nodes added after the last settling ---- */

int model_add_node(struct model *m, join_policy policy, int k, bool cancels_rest, int max_retries);
int model_add_edge(struct model *m, int from, int to);
/* Nodes from `first` on are there now: those that wait for nothing are ready, and edges from the
 * ended are resolved at once. */
void model_born(struct model *m, int first_node, int first_edge);

/* ---- actions; they say what the caller must be told ---- */

typedef enum answer {
    YES,
    ALREADY_ENDED,
    NOT_ENDED,
    FLOW_ENDED,
    DEPENDENCIES,
} answer;

void model_claim(struct model *m, int node);
void model_complete(struct model *m, int node);
void model_fail(struct model *m, int node, bool for_good);
void model_give_back(struct model *m, int node); /* released or revoked: no retry is used */
void model_expire(struct model *m, int node);
answer model_cancel(struct model *m, int node);
answer model_cancel_flow(struct model *m, cancel_policy policy);
answer model_may_grow(const struct model *m);
answer model_replay(struct model *m, int node, bool ancestors, bool downstream);

/* ---- settling ---- */

/* Follows everything to its end. False: there may be more than one, nothing has been settled, and
 * model_settle_as() must be told which. */
bool model_settle(struct model *m);
/* NULL: settled as the engine did. Otherwise why that cannot be. */
const char *model_settle_as(struct model *m, const struct seen *seen);

/* ---- looking ---- */

int model_needs(const struct model_node *node); /* so many successes */
/* What the counts of the incoming edges mean. */
join_state model_judge(const struct model_node *node);

bool model_has_ended(node_state state);
bool model_has_doomed(const struct model *m); /* some of them live */
int model_count(const struct model *m, node_state state);
bool model_is_over(const struct model *m); /* every node has ended */

#endif
