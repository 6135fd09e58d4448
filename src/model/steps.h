/* SPDX-License-Identifier: Apache-2.0
 *
 * steps.h -- may this event of an execution follow that one?
 *
 * Every change of state is told by an event, but for two: a submission, and a delay that is over.
 * So the events of an execution, played through the table of legal moves, must lead from birth to
 * the state of its row. Pure. Tests: tests/unit/test_steps.c, tests/events/story.c; `ff fsck`. */
#ifndef FF_MODEL_STEPS_H
#define FF_MODEL_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct ff_step {
    int32_t kind, type;  /* of the event; kind 0: none, this is the row as it is now */
    int32_t before;      /* the state the event before it left; FF_STATE_NONE: there is none */
    int32_t after;       /* the state this one tells */
    int64_t changes;     /* of the version in between; at birth: the version */
    int64_t generations; /* how many have begun in between */
};

bool ff_step_ok(const struct ff_step *step);

#endif
