/* SPDX-License-Identifier: Apache-2.0
 *
 * flows.h -- what conformance tests say about flows, through flowfabric.h and nothing else.
 *
 * A graph is a line of text: "a b c:any d:2! | a>b a>c b>d c>d=". Nodes, a bar, edges. A node
 * without a join is all_of; ":any" and ":2" (a quorum) cancel what remains, with '!' they let it
 * run. An edge with '=' brings the input. Every node is of kind "work" on lane "default". */
#ifndef FF_TESTS_SUPPORT_FLOWS_H
#define FF_TESTS_SUPPORT_FLOWS_H

#include "support/domain.h"

/* The id of a flow. */
struct flow {
    char id[FF_UUID_BYTES];
};

/* Kept to the end of the test; change it before it is used. */
struct ff_flow_request *graph(struct test *t, const char *text);
ff_status when_flow_created(struct test *t, const struct ff_flow_request *r,
                            struct ff_flow_made *ret);
struct flow given_flow(struct test *t, const char *text);
ff_status when_grown(struct test *t, const struct flow *flow, const char *text,
                     struct ff_flow_made *ret);
ff_status when_flow_cancelled(struct test *t, const struct flow *flow, const char *policy);

/* Kept to the end of the test. */
const struct ff_flow_info *look_flow(struct test *t, const struct flow *flow);
const struct ff_flow_join_info *look_join(struct test *t, const struct flow *flow,
                                          const char *node);
/* The id of a node. */
const char *node_id(struct test *t, const struct flow *flow, const char *node);
/* "running a:completed b:waiting": the flow, then its nodes by name. */
bool flow_is(struct test *t, const struct flow *flow, const char *want);
#define EXPECT_FLOW(t, flow, want) expect_flow((t), __FILE__, __LINE__, (flow), (want))
void expect_flow(struct test *t, const char *file, int line, const struct flow *flow,
                 const char *want);
/* Waits until it is so: the cascade runs behind the calls. */
#define WAIT_FLOW(t, flow, want) wait_flow((t), __FILE__, __LINE__, (flow), (want))
void wait_flow(struct test *t, const char *file, int line, const struct flow *flow,
               const char *want);

/* Waits until the node can be claimed and takes it; others that come along are given back. */
struct held given_node(struct test *t, const struct flow *flow, const char *node);
void when_node_completed(struct test *t, const struct flow *flow, const char *node);
void when_nodes_completed(struct test *t, const struct flow *flow, const char *nodes); /* in turn */
void when_node_failed(struct test *t, const struct flow *flow, const char *node); /* for good */

/* No reconciler has had anything to repair. */
void expect_reconcilers_idle(struct test *t);

#endif
