/* SPDX-License-Identifier: Apache-2.0
 *
 * birth.h -- a new execution with everything that comes with it: solo, or as a member of a flow.
 *
 * Tests: tests/unit/test_submit.c, test_cascade.c. */
#ifndef FF_OPS_BIRTH_H
#define FF_OPS_BIRTH_H

#include "model/states.h"
#include "ops/execution.h"
#include "ops/work.h"

/* What a member has that others have not. */
struct ff_membership {
    const struct ff_flow *flow;
    struct ff_str node, hash;
    int64_t created_ms; /* as old as what made it: its flow, or the call that let it grow */
};

/* When what has this id was made: the time in it, where that can be believed. */
int64_t ff_birth_ms(const struct ff_work *work, struct ff_uuid id, bool dated);

/* Asks for what a birth must look at. */
void ff_birth_need(struct ff_work *work, const struct ff_submit_in *in);

/* FF_TOO_LARGE: it would bring one capability set too many. */
FF_MUST_CHECK ff_status ff_birth_check(struct ff_work *work, const struct ff_submit_in *in,
                                       struct ff_error *reterr);

/* The row, its input, tags and capability set; in no state yet: follow with a move. `member` NULL:
 * solo. */
struct ff_execution *ff_execution_birth(struct ff_work *work, const struct ff_submit_in *in,
                                        const struct ff_membership *member);

/* Eligible at once or after its delay, which counts from birth. */
ff_state ff_state_when_free(const struct ff_work *work, const struct ff_execution *execution);

#endif
