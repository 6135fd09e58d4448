/* SPDX-License-Identifier: Apache-2.0
 *
 * change.h -- the few ways an execution changes; every op goes through them.
 *
 * One function writes execution.state, one ends a tenancy, one ends an execution. None of them can
 * fail: ops check first and change after. Read first: src/ops/README.md.
 * Tests: tests/unit/test_ops.c. */
#ifndef FF_OPS_CHANGE_H
#define FF_OPS_CHANGE_H

#include "model/lease.h"
#include "ops/work.h"

/* The time of record of a change to this row: the store's time, which never runs back for a row. */
int64_t ff_record_time(const struct ff_work *work, const struct ff_execution *execution);

/* A change that is no transition (priority, tags): raises the version and the time of change. */
void ff_execution_touch(struct ff_work *work, struct ff_execution *execution);

/* THE place where a state is written. Asserts that the move is legal, raises the version, sets
 * changed_at_ms and computes due_at_ms anew; so set the times it depends on before. */
void ff_execution_move(struct ff_work *work, struct ff_execution *execution, ff_state to);

/* Ends the tenancy: attempt row, last-tenancy columns, epoch. Returns the attempt row, which keeps
 * what the row forgets; NULL after a completion, of which the row forgets nothing. Follow with a
 * move. */
const struct ff_attempt *ff_lease_end(struct ff_work *work, struct ff_execution *execution,
                                      const struct ff_ending *how);

/* The holder of the lease goes and the execution lives on: ends the tenancy, moves the attempt
 * index on unless the attempt continues, moves to `to`, appends how->lease_event. */
void ff_execution_yield(struct ff_work *work, struct ff_execution *execution, ff_state to,
                        const struct ff_ending *how);

/* THE one way to end: ends the tenancy if there is one (then `how` is needed), sets finished_at_ms,
 * appends how->lease_event and the completion event, and for a flow member inserts the hop. `note`
 * goes into the completion event: why it failed or was cancelled. */
void ff_execution_finish(struct ff_work *work, struct ff_execution *execution, ff_state outcome,
                         const struct ff_ending *how, struct ff_str note);

/* Ends it as cancelled, by whom and why; a holder of its lease loses it. */
void ff_execution_cancel(struct ff_work *work, struct ff_execution *execution, struct ff_str reason,
                         struct ff_str by);

/* The hop of a flow member that tells its children; dispatch takes it from there. */
void ff_hop_insert(struct ff_work *work, const struct ff_execution *execution, int32_t kind,
                   int32_t outcome);

/* An ended execution is to run again: a new generation with nothing of the old one on the row but
 * its epoch and its last tenancy; the attempt that completed it, if its row has kept it, gets one
 * of its own. A relative deadline starts again, an absolute one that has passed
 * is dropped. Follow with a move. */
void ff_execution_next_generation(struct ff_work *work, struct ff_execution *execution);

/* As yield, but an execution whose flow was cancelled ends cancelled instead. */
void ff_execution_yield_or_cancel(struct ff_work *work, struct ff_execution *execution, ff_state to,
                                  const struct ff_ending *how);

/* An event about this execution as it is now. */
struct ff_event *ff_execution_event(struct ff_work *work, const struct ff_execution *execution,
                                    int32_t kind, int32_t type);
/* A lease event; of the live lease, or of the ended tenancy if `ended` is given. */
struct ff_event *ff_lease_event(struct ff_work *work, const struct ff_execution *execution,
                                int32_t type, const struct ff_attempt *ended);

#endif
