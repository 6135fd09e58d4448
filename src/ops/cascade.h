/* SPDX-License-Identifier: Apache-2.0
 *
 * cascade.h -- how flows, joins and members change each other; every op of a flow goes through it.
 *
 * What must stay true, and why it does, is in docs/internals/cascade.md. Callers hold the locks of
 * all rows they pass. Tests: tests/unit/test_cascade.c. */
#ifndef FF_OPS_CASCADE_H
#define FF_OPS_CASCADE_H

#include "model/join.h"
#include "ops/change.h"
#include "ops/flow.h"

/* --- rows --- */

struct ff_flow ff_flow_key(struct ff_uuid flow_id);
struct ff_outbox ff_hop_row_key(struct ff_hop_key hop);
/* NULL when there is none. One that retention has marked as removed is none. */
struct ff_flow *ff_work_flow(struct ff_work *work, struct ff_uuid flow_id);
/* The flow, or FF_NOT_FOUND. */
FF_MUST_CHECK ff_status ff_find_flow(struct ff_work *work, struct ff_uuid flow_id,
                                     struct ff_flow **ret, struct ff_error *reterr);

/* --- flows --- */

void ff_flow_touch(struct ff_work *work, struct ff_flow *flow);
/* An event about the flow as it is now. */
struct ff_event *ff_flow_event(struct ff_work *work, const struct ff_flow *flow, int32_t type);
/* Moves to `to` with its event. */
void ff_flow_move(struct ff_work *work, struct ff_flow *flow, ff_flow_state to, int32_t event_type);
/* Counts an ended member, by its state; by = -1 takes it back and makes an ended flow run again. */
void ff_flow_count(struct ff_work *work, struct ff_flow *flow, int32_t state, int32_t by);
int32_t ff_flow_ended(const struct ff_flow *flow); /* members counted as ended */
/* All members have ended: the flow has, too. `all_leaves_completed` decides how. */
void ff_flow_settle(struct ff_work *work, struct ff_flow *flow, bool all_leaves_completed);
/* It was cancelled so that no member may begin a new attempt. */
bool ff_flow_stops_members(const struct ff_flow *flow);

/* --- joins --- */

/* A new node of a flow, with its join; the edges are counted by ff_group_resolve. */
FF_MUST_CHECK ff_status ff_member_insert(struct ff_work *work, const struct ff_flow *flow,
                                         const struct ff_graph_in *graph, size_t at,
                                         struct ff_error *reterr);
/* An edge that nobody has resolved; `to` is born in the same op. */
struct ff_edge *ff_edge_insert(struct ff_work *work, struct ff_exec_id from, struct ff_exec_id to,
                               const struct ff_graph_edge *edge, struct ff_uuid flow_id);
/* One edge into `group` is resolved: counts it and, if that decides the join, frees, skips or
 * cancels the node and has the other upstreams looked at. `node` may be NULL if the join has
 * been decided before. FF_INTERNAL if the node is neither blocked nor ended, which cannot happen.
 */
FF_MUST_CHECK ff_status ff_group_resolve(struct ff_work *work, const struct ff_flow *flow,
                                         struct ff_edge_group *group, struct ff_execution *node,
                                         ff_edge_outcome outcome, struct ff_error *reterr);
/* A join needs its open upstreams no more: group.drain looks which of them nobody needs, and one
 * join or another has asked to cancel. `group` has a version that no drain has seen. */
void ff_drain_insert(struct ff_work *work, const struct ff_edge_group *group,
                     struct ff_str namespace, struct ff_str instance_tag);

/* --- hops --- */

/* The edges that lead on from a member, asked for by whoever is about to end it. Its lock is held
 * when they are read, so nobody adds one before its hop. */
void ff_hop_need_edges(struct ff_work *work, struct ff_exec_id id);
/* What the batch of `work` that made `hop` has seen of them, so that dispatching it need not look
 * first. Nothing happens if it saw none or not all, or if the member ran before: then its reopening
 * may be on its way, and changes what there is to move. */
void ff_hop_learn(struct ff_work *work, struct ff_dispatch_in *in, const struct ff_outbox *hop);

/* --- members --- */

/* An ended member gets a new generation, and `waits` for its join or not. Its old hop is
 * superseded, or if it has been dispatched the member is no longer counted as ended; a reopening
 * hop takes back what it resolved. The hops of the old generation must have been asked for with
 * LOCK (ff_member_need_hops). With `downstream` members that ran because of it are reopened too. */
void ff_member_need_hops(struct ff_work *work, struct ff_exec_id id, int32_t generation);
void ff_member_restart(struct ff_work *work, struct ff_flow *flow, struct ff_execution *execution,
                       bool waits, bool downstream);
/* An ended member is to run again and cannot yet: blocked, with an impossible join, it might wait
 * for ever. It runs again with its join, as a skipped one does by itself; the log tells it then, so
 * its version stays. */
void ff_member_follow_join(struct ff_work *work, struct ff_execution *execution, bool downstream);

#endif
