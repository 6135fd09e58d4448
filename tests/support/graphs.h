/* SPDX-License-Identifier: Apache-2.0
 *
 * graphs.h -- flows of a world, in a line of text each.
 *
 * "a b c:any d:2! | a>b a>c b>d c>d=": nodes, a bar, edges. A node without a join is all_of;
 * ":any",
 * ":2" (a quorum) cancel what remains, with '!' they let it run. An edge with '=' brings the input.
 */
#ifndef FF_TEST_GRAPHS_H
#define FF_TEST_GRAPHS_H

#include "support/words.h"

#include "ops/cascade.h"

#define WORLD_FLOW FF_STR("flow")

struct ff_graph_in world_graph(struct world *world, const char *text);
/* Prepared; aborts if it is not fine. */
struct ff_flow_create_in world_flow_of(struct world *world, const char *text);
struct ff_uuid world_given_flow(struct world *world, const char *text);
ff_status world_grow(struct world *world, struct ff_uuid flow_id, const char *text,
                     struct ff_flow_grow_out *out);
ff_status world_flow_cancel(struct world *world, struct ff_uuid flow_id, int32_t policy,
                            struct ff_flow_cancel_out *out);

struct ff_exec_id world_node(struct ff_uuid flow_id, const char *name);
struct ff_execution *world_member(struct world *world, struct ff_uuid flow_id, const char *name);
struct ff_flow *world_flow(struct world *world, struct ff_uuid flow_id);
struct ff_edge *world_edge(struct world *world, struct ff_uuid flow_id, const char *from,
                           const char *to);
struct ff_edge_group *world_group(struct world *world, struct ff_uuid flow_id, const char *name);

/* "a:completed b:waiting": every member in the order of names. */
const char *world_states(struct world *world, struct ff_uuid flow_id);

/* Claims whatever can be claimed until this node is in hand; the others are given back. */
struct ff_task_ref world_take(struct world *world, struct ff_uuid flow_id, const char *name);
/* Takes and ends it: "ok", "fail" (for good). */
void world_end(struct world *world, struct ff_uuid flow_id, const char *name, const char *how);

/* One tick: dispatches every hop there is at its beginning. Returns how many edges were moved. */
int64_t world_tick(struct world *world);
/* Ticks and drains until nothing waits. Returns how many ticks found something. */
int world_settle(struct world *world);
/* What fsck would say: counters against a recount, and nothing left behind. Aborts the test. */
void world_audit(struct world *world);

#endif
