/* SPDX-License-Identifier: Apache-2.0
 *
 * words.h -- what workers and operators say to a world, one line each. */
#ifndef FF_TEST_WORDS_H
#define FF_TEST_WORDS_H

#include "support/world.h"

#include "model/states.h"

ff_status world_complete(struct world *world, struct ff_task_ref task, const char *result,
                         struct ff_state_out *out);
/* With the message "boom" and no wish for the delay. */
ff_status world_fail(struct world *world, struct ff_task_ref task, ff_failure_class cls,
                     struct ff_state_out *out);
ff_status world_delay(struct world *world, struct ff_task_ref task, int64_t delay_ms,
                      struct ff_state_out *out);
/* Because of "shutdown". */
ff_status world_release(struct world *world, struct ff_task_ref task, struct ff_state_out *out);
ff_status world_renew(struct world *world, struct ff_task_ref task, int64_t ttl_ms,
                      struct ff_renew_out *out);
ff_status world_progress(struct world *world, struct ff_task_ref task, int32_t percent,
                         const char *message);

/* By "alice", because it is "not needed". */
ff_status world_cancel(struct world *world, struct ff_exec_id id, struct ff_state_out *out);
ff_status world_revoke(struct world *world, struct ff_exec_id id, struct ff_revoke_out *out);
struct ff_replay_in world_replay_of(struct ff_exec_id id);
ff_status world_replay(struct world *world, struct ff_exec_id id, struct ff_state_out *out);

/* A new execution, claimed by "w1". */
struct ff_task_ref world_given_task(struct world *world);
struct ff_task_ref world_given_task_with(struct world *world, const struct ff_policy *policy);
const struct ff_attempt *world_attempt(struct world *world, struct ff_task_ref task);

/* What must hold of every execution that has just ended; aborts otherwise. */
void world_assert_ended(struct world *world, struct ff_exec_id id, ff_state outcome);

#endif
