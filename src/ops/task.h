/* SPDX-License-Identifier: Apache-2.0
 *
 * task.h -- what the ops of a worker have in common: find the task, check the lease, answer again.
 *
 * Tests: tests/unit/test_ops.c. */
#ifndef FF_OPS_TASK_H
#define FF_OPS_TASK_H

#include "ops/change.h"
#include "ops/execution.h"

/* The execution, or FF_NOT_FOUND. */
FF_MUST_CHECK ff_status ff_find_execution(struct ff_work *work, struct ff_exec_id id,
                                          struct ff_execution **ret, struct ff_error *reterr);

/* Finds the execution and checks the lease, see ff_lease_check. `hash` is null for what is not a
 * last word. */
FF_MUST_CHECK ff_status ff_find_task(struct ff_work *work, const struct ff_task_ref *task,
                                     struct ff_str hash, struct ff_execution **ret,
                                     bool *ret_repeat, struct ff_error *reterr);

/* True if an earlier op of this batch deletes or purges that row: whoever wants to insert it anew
 * waits for the next batch. */
bool ff_is_leaving(struct ff_work *work, ff_table table, const void *key);

/* Hash of a last word: which word, and everything that was said with it. Lives in the op's arena.
 */
FF_MUST_CHECK ff_status ff_word_hash(struct ff_work *work, char word, const struct ff_str *parts,
                                     size_t count, struct ff_str *ret, struct ff_error *reterr);

/* The answer as things stand, and the answer to a repeated last word. */
void ff_state_answer(const struct ff_execution *execution, struct ff_state_out *out);
void ff_state_answer_again(const struct ff_execution *execution, struct ff_state_out *out);

/* ALREADY_TERMINAL with the outcome. */
ff_status ff_fail_terminal(const struct ff_execution *execution, struct ff_error *reterr);

#endif
