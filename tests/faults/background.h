/* SPDX-License-Identifier: Apache-2.0
 *
 * background.h -- the scenarios of background.c, graphs.c and cascade.c, for scenarios.c. */
#ifndef FF_TESTS_FAULTS_BACKGROUND_H
#define FF_TESTS_FAULTS_BACKGROUND_H

#include "scenarios.h"

/* From scenarios.c: one execution of kind k00; hold it under a lease of this length. */
void given_ready(struct test *t, struct stage *s);
void given_held_for(struct test *t, struct stage *s, int64_t ttl_ms);

/* Hands an op to the engine, as a loop does. `out` may be NULL. */
ff_status run_op(struct test *t, ff_op_id op, const void *in, size_t in_bytes, void *out,
                 size_t out_bytes);
void wait_a_moment(struct test *t); /* until the store's time has gone on */

void given_old(struct test *t, struct stage *s);
void given_gone(struct test *t, struct stage *s);
void given_lapsing(struct test *t, struct stage *s);
void given_last_lapse(struct test *t, struct stage *s);
void given_reclaim(struct test *t, struct stage *s);
void given_delayed(struct test *t, struct stage *s);
void given_deadline(struct test *t, struct stage *s);
void given_flow(struct test *t, struct stage *s);
void given_hop(struct test *t, struct stage *s);
void given_bad_hop(struct test *t, struct stage *s);
void given_touched(struct test *t, struct stage *s);
void given_last_skip(struct test *t, struct stage *s);
void given_last_hop(struct test *t, struct stage *s);
void given_rivals_hop(struct test *t, struct stage *s);
void given_emptied_flow(struct test *t, struct stage *s);
void given_next(struct test *t, struct stage *s);
void given_skipped(struct test *t, struct stage *s);
void given_replayed(struct test *t, struct stage *s);
void given_rivals(struct test *t, struct stage *s);
void given_cancelled_flow(struct test *t, struct stage *s);
void given_forgotten_flow(struct test *t, struct stage *s);

ff_status cancel_where(struct test *t, struct stage *s);
ff_status replay_where(struct test *t, struct stage *s);
ff_status touch_worker(struct test *t, struct stage *s);
ff_status write_contact(struct test *t, struct stage *s);
ff_status sweep_retention(struct test *t, struct stage *s);
ff_status trim_log(struct test *t, struct stage *s);
ff_status prune_workers(struct test *t, struct stage *s);
ff_status fire_lapse(struct test *t, struct stage *s);
ff_status fire_delay(struct test *t, struct stage *s);
ff_status fire_deadline(struct test *t, struct stage *s);
ff_status create_flow(struct test *t, struct stage *s);
ff_status grow_flow(struct test *t, struct stage *s);
ff_status cancel_flow(struct test *t, struct stage *s);
ff_status dispatch_hop(struct test *t, struct stage *s);
ff_status dispatch_reopening(struct test *t, struct stage *s);
ff_status replay_blamed(struct test *t, struct stage *s);
ff_status replay_ancestors(struct test *t, struct stage *s);
ff_status dispatch_last(struct test *t, struct stage *s);
ff_status find_hops(struct test *t, struct stage *s);
ff_status find_drains(struct test *t, struct stage *s);
ff_status find_flows(struct test *t, struct stage *s);
ff_status replay_member(struct test *t, struct stage *s);
ff_status drain_siblings(struct test *t, struct stage *s);
ff_status drain_flow(struct test *t, struct stage *s);
ff_status remove_flow(struct test *t, struct stage *s);
ff_status read_flow(struct test *t, struct stage *s);
ff_status read_flow_by_prefix(struct test *t, struct stage *s);
ff_status read_flows(struct test *t, struct stage *s);
ff_status read_whole(struct test *t, struct stage *s);
ff_status read_list(struct test *t, struct stage *s);
ff_status read_by_uuid(struct test *t, struct stage *s);
ff_status read_result(struct test *t, struct stage *s);
ff_status read_history(struct test *t, struct stage *s);
ff_status read_attempts(struct test *t, struct stage *s);
ff_status read_explanation(struct test *t, struct stage *s);
ff_status read_last_explanation(struct test *t, struct stage *s);
ff_status read_registry(struct test *t, struct stage *s);
ff_status read_fsck(struct test *t, struct stage *s);

#endif
