/* SPDX-License-Identifier: Apache-2.0
 *
 * due.c -- when a row must be looked at again, and why.
 *
 * One function computes it, so no two timers can disagree about a row.
 * Tests: tests/unit/test_due.c. */
#include "model/due.h"

#include <string.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/mutant.h"
#include "model/states.h"

#include "base/banned.h"

/* Null is later than everything. */
static int64_t earlier(int64_t a, int64_t b)
{
    if (a == FF_NULL64)
        return b;
    return b == FF_NULL64 ? a : ff_min_i64(a, b);
}

static bool has_come(int64_t at_ms, int64_t now_ms)
{
    return at_ms != FF_NULL64 && at_ms <= now_ms;
}

int64_t ff_due_attempt(const struct ff_execution *execution, const struct ff_policy *policy)
{
    int64_t left_ms, at_ms;

    if (execution->state != FF_STATE_ACTIVE || policy->attempt_timeout_ms == 0)
        return FF_NULL64;
    left_ms = ff_max_i64(policy->attempt_timeout_ms - execution->attempt_spent_ms, 0);
    at_ms = ff_add_i64_clamped(execution->lease_acquired_at_ms, left_ms);
    /* Only time under the lease counts. */
    return at_ms > execution->lease_expires_at_ms ? FF_NULL64 : at_ms;
}

int64_t ff_due(const struct ff_execution *execution, const struct ff_policy *policy)
{
    int64_t due = execution->deadline_at_ms;

    if (ff_state_is_terminal(execution->state))
        return FF_NULL64;
    if (ff_state_is_delayed(execution->state))
        due = earlier(due, execution->delay_until_ms);
    if (execution->state == FF_STATE_ACTIVE) {
        due = earlier(due, execution->lease_expires_at_ms);
        due = earlier(due, ff_due_attempt(execution, policy));
    }
    return due;
}

ff_due_rule ff_due_judge(const struct ff_execution *execution, const struct ff_policy *policy,
                         int64_t now_ms)
{
    if (ff_state_is_terminal(execution->state))
        return FF_DUE_NOTHING;
    if (has_come(execution->deadline_at_ms, now_ms))
        return FF_DUE_DEADLINE;
    if (has_come(ff_due_attempt(execution, policy), now_ms))
        return FF_DUE_ATTEMPT;
    if (execution->state == FF_STATE_ACTIVE &&
        (has_come(execution->lease_expires_at_ms, now_ms) || FF_MUTANT(due_time_as_truth)))
        return FF_DUE_LAPSE;
    /* A delayed row without a time would wait for ever: let it go. */
    if (ff_state_is_delayed(execution->state) &&
        (execution->delay_until_ms == FF_NULL64 || has_come(execution->delay_until_ms, now_ms)))
        return FF_DUE_DELAY;
    return FF_DUE_NOTHING;
}

int64_t ff_due_brake_end(const struct ff_execution *execution, int64_t contact_since_ms)
{
    const int64_t ttl_ms = execution->lease_ttl_ms;
    const int64_t brake_ms = ttl_ms == FF_NULL64 ? FF_BRAKE_MS_MAX : ttl_ms;

    return ff_add_i64_clamped(contact_since_ms, ff_min_i64(brake_ms, FF_BRAKE_MS_MAX));
}

bool ff_contact_read(struct ff_str text, int64_t *ret_since_ms, int64_t *ret_last_ms)
{
    const char *const space = text.len ? memchr(text.ptr, ' ', text.len) : NULL;
    const size_t at = space ? (size_t)(space - text.ptr) : 0;

    return space && ff_str_to_i64(ff_str_slice(text, 0, at), ret_since_ms) &&
           ff_str_to_i64(ff_str_slice(text, at + 1, text.len), ret_last_ms);
}
