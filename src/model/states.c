/* SPDX-License-Identifier: Apache-2.0
 *
 * states.c -- the table of legal moves between state vectors; the drawing is in states.def.
 *
 * A move that is not in the table is a bug of ours, whoever asked for it: ops look at the state
 * before they move it. Tests: tests/unit/test_states.c. */
#include "model/states.h"

#include <assert.h>

#include "base/macros.h"

#include "base/banned.h"

const struct ff_state_info ff_state_table[FF_STATE_COUNT] = {
#define VECTOR(NAME, code, lifecycle, ownership, eligibility, attempt, outcome, blocking, public)  \
    {FF_STATE_##NAME, #NAME,    #lifecycle, #ownership, #eligibility,                              \
     #attempt,        #outcome, #blocking,  #public},
#include "model/states.def"
};

#define TO(NAME) (1u << FF_STATE_INDEX_##NAME)

/* An execution in any living state may be cancelled, and may pass its deadline. */
#define TO_ENDED_FROM_OUTSIDE (TO(CANCELLED) | TO(EXPIRED))
/* Where replay puts it: a flow member may have to wait for its upstreams again. */
#define TO_REPLAY (TO(READY_REPLAY) | TO(BLOCKED_REPLAY))
/* Whatever a worker, a lapse or an operator can make of a held lease. */
#define TO_AFTER_LEASE                                                                             \
    (TO(READY_RETRY) | TO(READY_RESUMED) | TO(DELAYED_RETRY) | TO(DELAYED_WORKER) | TO(SUCCESS) |  \
     TO(FAILED) | TO_ENDED_FROM_OUTSIDE)

static const unsigned born = TO(READY_FIRST) | TO(DELAYED_FIRST) | TO(BLOCKED_FIRST);

// clang-format off
static const unsigned next[FF_STATE_COUNT] = {
    /* Free nodes that have not begun wait again when their upstream runs again. */
    [FF_STATE_INDEX_READY_FIRST]    = TO(ACTIVE) | TO(BLOCKED_FIRST) | TO_ENDED_FROM_OUTSIDE,
    [FF_STATE_INDEX_READY_RETRY]    = TO(ACTIVE) | TO_ENDED_FROM_OUTSIDE,
    [FF_STATE_INDEX_READY_REPLAY]   = TO(ACTIVE) | TO(BLOCKED_REPLAY) | TO_ENDED_FROM_OUTSIDE,
    [FF_STATE_INDEX_READY_RESUMED]  = TO(ACTIVE) | TO_ENDED_FROM_OUTSIDE,
    [FF_STATE_INDEX_DELAYED_FIRST]  = TO(READY_FIRST) | TO(BLOCKED_FIRST) | TO_ENDED_FROM_OUTSIDE,
    [FF_STATE_INDEX_DELAYED_RETRY]  = TO(READY_RETRY) | TO_ENDED_FROM_OUTSIDE,
    [FF_STATE_INDEX_DELAYED_WORKER] = TO(READY_RESUMED) | TO_ENDED_FROM_OUTSIDE,
    /* A node's delay counts from creation: its upstreams may be done before it is over. */
    [FF_STATE_INDEX_BLOCKED_FIRST]  = TO(READY_FIRST) | TO(DELAYED_FIRST) | TO(SKIPPED) |
                                      TO_ENDED_FROM_OUTSIDE,
    /* One that was skipped, and has never begun, may still have its delay. */
    [FF_STATE_INDEX_BLOCKED_REPLAY] = TO(READY_REPLAY) | TO(DELAYED_FIRST) | TO(SKIPPED) |
                                      TO_ENDED_FROM_OUTSIDE,
    [FF_STATE_INDEX_ACTIVE]         = TO(RECLAIMABLE) | TO_AFTER_LEASE,
    [FF_STATE_INDEX_RECLAIMABLE]    = TO(ACTIVE) | TO_AFTER_LEASE,
    [FF_STATE_INDEX_SUCCESS]        = TO_REPLAY,
    [FF_STATE_INDEX_FAILED]         = TO_REPLAY,
    [FF_STATE_INDEX_CANCELLED]      = TO_REPLAY,
    [FF_STATE_INDEX_EXPIRED]        = TO_REPLAY,
    [FF_STATE_INDEX_SKIPPED]        = TO_REPLAY | TO(DELAYED_FIRST),
};
// clang-format on

/* -1 for a code that is not in the table. */
static int index_of(int32_t code)
{
    switch (code) {
#define VECTOR(NAME, number, lifecycle, ownership, eligibility, attempt, outcome, blocking,        \
               public)                                                                             \
    case (number):                                                                                 \
        return FF_STATE_INDEX_##NAME;
#include "model/states.def"
    default:
        return -1;
    }
}

const struct ff_state_info *ff_state_info(int32_t code)
{
    const int i = index_of(code);

    return i < 0 ? NULL : &ff_state_table[i];
}

const char *ff_state_public_name(int32_t code)
{
    const struct ff_state_info *const info = ff_state_info(code);

    if (info)
        return info->public_state;
    return code == INT32_MIN ? "gone" : "unknown";
}

const char *ff_state_outcome_name(int32_t code)
{
    const struct ff_state_info *const info = ff_state_info(code);

    return info ? info->outcome : "none";
}

size_t ff_state_codes_of_public(struct ff_str public_state, int64_t out[FF_STATE_COUNT])
{
    size_t count = 0;

    for (size_t i = 0; i < FF_STATE_COUNT; i++)
        if (ff_str_eq(ff_str_of(ff_state_table[i].public_state), public_state))
            out[count++] = ff_state_table[i].state;
    return count;
}

bool ff_state_move_ok(ff_state from, ff_state to)
{
    const int there = index_of((int32_t)to);
    const int here = index_of((int32_t)from);

    if (there < 0 || (here < 0 && from != FF_STATE_NONE))
        return false;
    return (from == FF_STATE_NONE ? born : next[here]) >> there & 1u;
}

bool ff_state_is_terminal(int32_t code)
{
    return code >= FF_STATE_SUCCESS && code <= FF_STATE_SKIPPED;
}

bool ff_state_is_claimable(int32_t code)
{
    return (code >= FF_STATE_READY_FIRST && code <= FF_STATE_READY_RESUMED) ||
           code == FF_STATE_RECLAIMABLE;
}

bool ff_state_is_leased(int32_t code)
{
    return code == FF_STATE_ACTIVE || code == FF_STATE_RECLAIMABLE;
}

bool ff_state_is_delayed(int32_t code)
{
    return code >= FF_STATE_DELAYED_FIRST && code <= FF_STATE_DELAYED_WORKER;
}

bool ff_state_is_blocked(int32_t code)
{
    return code == FF_STATE_BLOCKED_FIRST || code == FF_STATE_BLOCKED_REPLAY;
}

ff_state ff_state_blocked_again(int32_t code)
{
    switch (code) {
    case FF_STATE_READY_FIRST:
    case FF_STATE_DELAYED_FIRST:
        return FF_STATE_BLOCKED_FIRST;
    case FF_STATE_READY_REPLAY:
        return FF_STATE_BLOCKED_REPLAY;
    default:
        return FF_STATE_NONE;
    }
}

ff_state ff_state_after_delay(int32_t code)
{
    switch (code) {
    case FF_STATE_DELAYED_FIRST:
        return FF_STATE_READY_FIRST;
    case FF_STATE_DELAYED_RETRY:
        return FF_STATE_READY_RETRY;
    case FF_STATE_DELAYED_WORKER:
        return FF_STATE_READY_RESUMED;
    default:
        assert(ff_state_info(code));
        return (ff_state)code;
    }
}
