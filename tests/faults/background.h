/* SPDX-License-Identifier: Apache-2.0
 *
 * background.h -- the scenarios of background.c and graphs.c, for the table in scenarios.c. */
#ifndef FF_TESTS_FAULTS_BACKGROUND_H
#define FF_TESTS_FAULTS_BACKGROUND_H

#include "scenarios.h"

/* From scenarios.c: one execution of kind k00; hold it under a lease of this length. */
void given_ready(struct test *t, struct stage *s);
void given_held_for(struct test *t, struct stage *s, int64_t ttl_ms);

void given_old(struct test *t, struct stage *s);
void given_gone(struct test *t, struct stage *s);
void given_lapsing(struct test *t, struct stage *s);
void given_last_lapse(struct test *t, struct stage *s);
void given_reclaim(struct test *t, struct stage *s);
void given_delayed(struct test *t, struct stage *s);
void given_deadline(struct test *t, struct stage *s);
void given_flow(struct test *t, struct stage *s);

ff_status cancel_where(struct test *t, struct stage *s);
ff_status replay_where(struct test *t, struct stage *s);
ff_status touch_worker(struct test *t, struct stage *s);
ff_status write_contact(struct test *t, struct stage *s);
ff_status sweep_retention(struct test *t, struct stage *s);
ff_status prune_workers(struct test *t, struct stage *s);
ff_status fire_lapse(struct test *t, struct stage *s);
ff_status fire_delay(struct test *t, struct stage *s);
ff_status fire_deadline(struct test *t, struct stage *s);
ff_status create_flow(struct test *t, struct stage *s);
ff_status grow_flow(struct test *t, struct stage *s);
ff_status cancel_flow(struct test *t, struct stage *s);
ff_status read_flow(struct test *t, struct stage *s);
ff_status read_flows(struct test *t, struct stage *s);
ff_status read_whole(struct test *t, struct stage *s);
ff_status read_list(struct test *t, struct stage *s);
ff_status read_by_uuid(struct test *t, struct stage *s);
ff_status read_result(struct test *t, struct stage *s);
ff_status read_history(struct test *t, struct stage *s);
ff_status read_attempts(struct test *t, struct stage *s);
ff_status read_explanation(struct test *t, struct stage *s);
ff_status read_registry(struct test *t, struct stage *s);
ff_status read_fsck(struct test *t, struct stage *s);

#endif
