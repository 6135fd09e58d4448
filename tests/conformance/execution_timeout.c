/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_timeout.c -- attempt_timeout_ms: time under a lease, renewed or not.
 *
 * Pitfall F18 (attempts had no time limit). */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

#define ENOUGH_MS 5000 /* to say something before it is over, on a slow machine, too */

static struct ff_policy_spec timeout_policy(int64_t timeout_ms, int32_t max_retries)
{
    struct ff_policy_spec p = retry_policy(max_retries, 3600000);

    p.attempt_timeout_ms = timeout_ms;
    return p;
}

FF_CONFORMANCE_SLOW(execution_timeout, ends_the_attempt_under_a_live_lease)
{
    const struct ff_policy_spec p = timeout_policy(ENOUGH_MS, 1);
    const struct held held = given_claimed_with(t, &p, 30000);
    const struct ff_info *info;

    EXPECT_OK(t, when_renewed(t, &held, 60000));
    given_lapsed(t, &held);
    info = look(t, held.id);
    /* At once, without the back-off of the policy. */
    EXPECT_VECTOR(t, held.id,
                  "runnable unowned eligible_now pending_retry_attempt none waiting_for_worker");
    EXPECT_INT(t, 1, info->retry_count);
    EXPECT_TEXT(t, "timeout", info->failure_class);
    EXPECT_TEXT(t, "attempt_timeout", info->failure_message);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:interrupted");
    EXPECT_EVENTS(t, held.id, "acquired expired");
    EXPECT(t, attempts(t, held.id)->items[0].ended_at_ms -
                      attempts(t, held.id)->items[0].started_at_ms >=
                  ENOUGH_MS);
    EXPECT_STATUS(t, FF_STALE_LEASE, when_completed(t, &held, NULL));
}

FF_CONFORMANCE_SLOW(execution_timeout, ends_it_all_without_a_retry)
{
    const struct ff_policy_spec p = timeout_policy(300, 0);
    const struct held held = given_claimed_with(t, &p, 30000);

    given_lapsed(t, &held);
    EXPECT_STATE(t, held.id, "expired");
    EXPECT_EVENTS(t, held.id, "acquired expired completion.expired");
}

FF_CONFORMANCE_SLOW(execution_timeout, next_attempt_has_all_its_time)
{
    const struct ff_policy_spec p = timeout_policy(1500, 1);
    struct held held = given_claimed_with(t, &p, 30000);
    const struct ff_attempt_list *all;

    given_lapsed(t, &held);
    held = given_claimed_next(t);
    given_lapsed(t, &held);
    all = attempts(t, held.id);
    EXPECT_INT(t, 2, (int64_t)all->count);
    EXPECT(t, all->items[1].ended_at_ms - all->items[1].started_at_ms >= 1500);
}

/* What was spent before giving back counts: the attempt is the same. */
FF_CONFORMANCE_SLOW(execution_timeout, resumed_attempt_has_only_the_rest)
{
    const struct ff_policy_spec p = timeout_policy(2 * ENOUGH_MS, 0);
    struct held held = given_claimed_with(t, &p, 60000);
    const struct ff_attempt_list *all;
    int64_t first_ms, second_ms;

    WAIT_UNTIL(t, store_now_ms(t) >= look(t, held.id)->lease_acquired_at_ms + ENOUGH_MS);
    EXPECT_OK(t, when_released(t, &held, NULL));
    held = given_claimed_next(t);
    given_lapsed(t, &held);
    all = attempts(t, held.id);
    EXPECT_INT(t, 2, (int64_t)all->count);
    first_ms = all->items[0].ended_at_ms - all->items[0].started_at_ms;
    second_ms = all->items[1].ended_at_ms - all->items[1].started_at_ms;
    EXPECT(t, first_ms + second_ms >= 2 * ENOUGH_MS);
    EXPECT(t, second_ms < 2 * ENOUGH_MS);
}

FF_CONFORMANCE_SLOW(execution_timeout, applies_under_reclaim_too)
{
    struct ff_policy_spec p = timeout_policy(300, 0);
    struct held held;

    p.lease_lapse = "reclaim";
    held = given_claimed_with(t, &p, 30000);
    WAIT_UNTIL(t, look(t, held.id)->finished);
    EXPECT_STATE(t, held.id, "expired");
}

FF_CONFORMANCE(execution_timeout, none_by_default)
{
    const struct held held = given_claimed(t);

    EXPECT_INT(t, 0, look(t, held.id)->policy.attempt_timeout_ms);
}
