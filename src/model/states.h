/* SPDX-License-Identifier: Apache-2.0
 *
 * states.h -- the state vectors of states.def and which may follow which.
 *
 * Only ff_execution_move (src/ops/change.c) writes execution.state.
 * Tests: tests/unit/test_states.c. */
#ifndef FF_MODEL_STATES_H
#define FF_MODEL_STATES_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ff_state {
    FF_STATE_NONE = 0, /* before the submission; never stored */
#define VECTOR(NAME, code, lifecycle, ownership, eligibility, attempt, outcome, blocking, public)  \
    FF_STATE_##NAME = (code),
#include "model/states.def"
} ff_state;

enum {
#define VECTOR(NAME, code, lifecycle, ownership, eligibility, attempt, outcome, blocking, public)  \
    FF_STATE_INDEX_##NAME,
#include "model/states.def"
    FF_STATE_COUNT
};

/* The names of a vector's dimensions, as the API and the view ff_exec_core show them. */
struct ff_state_info {
    ff_state state;
    const char *vector; /* "READY_FIRST": for logs and assertions */
    const char *lifecycle, *ownership, *eligibility, *attempt;
    const char *outcome, *blocking;
    const char *public_state;
};

/* In the order of states.def. */
extern const struct ff_state_info ff_state_table[FF_STATE_COUNT];

/* NULL for a code this binary does not know. */
const struct ff_state_info *ff_state_info(int32_t code);
/* "waiting", "active", "completed"...; "gone" for FF_NULL32 (the execution is no longer kept),
 * "unknown" for any other code that is not in the table. */
const char *ff_state_public_name(int32_t code);
/* "none" while alive. */
const char *ff_state_outcome_name(int32_t code);
/* Fills `out` with the codes shown as `public_state` and returns how many; 0: no such name. */
size_t ff_state_codes_of_public(struct ff_str public_state, int64_t out[FF_STATE_COUNT]);

/* `from` FF_STATE_NONE: may an execution be born so? */
bool ff_state_move_ok(ff_state from, ff_state to);

bool ff_state_is_terminal(int32_t code);
bool ff_state_is_claimable(int32_t code); /* READY_* and RECLAIMABLE */
bool ff_state_is_leased(int32_t code);    /* a lease is on the row: ACTIVE and RECLAIMABLE */
bool ff_state_is_delayed(int32_t code);
bool ff_state_is_blocked(int32_t code);
/* How a node that is free and has not begun waits again; FF_STATE_NONE for any other. */
ff_state ff_state_blocked_again(int32_t code);
/* READY_FIRST for DELAYED_FIRST and so on; the code itself if it is not delayed. */
ff_state ff_state_after_delay(int32_t code);

#endif
