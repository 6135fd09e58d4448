/* SPDX-License-Identifier: Apache-2.0
 *
 * steps.c -- may this event of an execution follow that one?
 *
 * The version counts changes, so it also tells that no more happened than can have: a change that
 * is told, the silent ones before it, and touches that leave the state alone.
 * Tests: tests/unit/test_steps.c. */
#include "model/steps.h"

#include "base/macros.h"
#include "model/events.h"
#include "model/states.h"

#include "base/banned.h"

#define IN(NAME)    (1u << FF_STATE_INDEX_##NAME)
#define IN_REPLAYED (IN(READY_REPLAY) | IN(BLOCKED_REPLAY) | IN(DELAYED_FIRST))
#define ANYWHERE    ((1u << FF_STATE_COUNT) - 1)

/* Which states an event may tell, and whether it always tells a move. The completion of a held
 * execution comes behind the end of its lease, which has told the move already. */
static const struct {
    int32_t kind, type;
    unsigned states;
    bool moves;
} told[] = {
    {FF_EVENT_COMPLETION, FF_EVENT_COMPLETION_SUCCESS, IN(SUCCESS), false},
    {FF_EVENT_COMPLETION, FF_EVENT_COMPLETION_FAILED, IN(FAILED), false},
    {FF_EVENT_COMPLETION, FF_EVENT_COMPLETION_CANCELLED, IN(CANCELLED), false},
    {FF_EVENT_COMPLETION, FF_EVENT_COMPLETION_EXPIRED, IN(EXPIRED), false},
    {FF_EVENT_COMPLETION, FF_EVENT_COMPLETION_SKIPPED, IN(SKIPPED), false},
    {FF_EVENT_LEASE, FF_EVENT_LEASE_ACQUIRED, IN(ACTIVE), true},
    {FF_EVENT_LEASE, FF_EVENT_LEASE_RECLAIMED, IN(ACTIVE), true},
    {FF_EVENT_LEASE, FF_EVENT_LEASE_RENEWED, IN(ACTIVE), false},
    {FF_EVENT_LEASE, FF_EVENT_LEASE_EXPIRED,
     IN(READY_RETRY) | IN(RECLAIMABLE) | IN(FAILED) | IN(CANCELLED) | IN(EXPIRED), true},
    {FF_EVENT_LEASE, FF_EVENT_LEASE_REVOKED, IN(READY_RETRY) | IN(CANCELLED) | IN(EXPIRED), true},
    {FF_EVENT_LEASE, FF_EVENT_LEASE_RELEASED, IN(READY_RESUMED) | IN(CANCELLED), true},
    {FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_RETRY_SCHEDULED, IN(READY_RETRY) | IN(DELAYED_RETRY),
     true},
    {FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_DELAYED, IN(DELAYED_WORKER) | IN(READY_RESUMED), true},
    {FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_UNBLOCKED,
     IN(READY_FIRST) | IN(DELAYED_FIRST) | IN(READY_REPLAY), true},
    {FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_REOPENED, IN_REPLAYED | IN(BLOCKED_FIRST), true},
    {FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_REPLAYED, IN_REPLAYED, true},
    {FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_PRIORITY_CHANGED, ANYWHERE, false},
    {FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_TAGS_CHANGED, ANYWHERE, false},
    {FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_CANCEL_REQUESTED, ANYWHERE, false},
};

/* Is it there, or one told move away, after at most `changes`? */
static bool leads_to(ff_state from, const struct ff_step *step, int64_t changes, bool must_move)
{
    const ff_state to = (ff_state)step->after;

    if (from == to && !must_move)
        return changes >= 0;
    return step->kind != 0 && changes >= 1 && from != FF_STATE_NONE && ff_state_move_ok(from, to);
}

/* The same, also from where a delay that is over leaves it. */
static bool leads_on_to(ff_state from, const struct ff_step *step, int64_t changes, bool must_move)
{
    return leads_to(from, step, changes, must_move) ||
           (ff_state_is_delayed((int32_t)from) &&
            leads_to(ff_state_after_delay((int32_t)from), step, changes - 1, must_move));
}

static bool state_ok(const struct ff_step *step, bool must_move)
{
    if (step->before != FF_STATE_NONE)
        return leads_on_to((ff_state)step->before, step, step->changes, must_move);
    for (size_t i = 0; i < FF_STATE_COUNT; i++) {
        const ff_state born = ff_state_table[i].state;

        if (ff_state_move_ok(FF_STATE_NONE, born) &&
            leads_on_to(born, step, step->changes - 1, must_move))
            return true;
    }
    return false;
}

/* Each life of an execution has a number of its own. */
static bool generation_ok(const struct ff_step *step)
{
    const bool begins = ff_state_is_terminal(step->before) && !ff_state_is_terminal(step->after);

    return step->generations == (begins ? 1 : 0);
}

bool ff_step_ok(const struct ff_step *step)
{
    if (!ff_state_info(step->after) ||
        (step->before != FF_STATE_NONE && !ff_state_info(step->before)) || !generation_ok(step))
        return false;
    if (step->kind == 0)
        return state_ok(step, false);
    for (size_t i = 0; i < FF_ARRAY_LEN(told); i++) {
        if (told[i].kind != step->kind || told[i].type != step->type)
            continue;
        for (size_t s = 0; s < FF_STATE_COUNT; s++)
            if ((int32_t)ff_state_table[s].state == step->after && !(told[i].states >> s & 1u))
                return false;
        return state_ok(step, told[i].moves);
    }
    return false;
}
