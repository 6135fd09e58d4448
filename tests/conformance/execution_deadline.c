/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_deadline.c -- an execution whose deadline has passed ends, whatever it is doing.
 *
 * Pitfall F36 (a delay overwrote the deadline). */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

#define ENOUGH_MS 5000 /* to claim it and say something about it, on a slow machine, too */

static struct name given_deadline(struct test *t, int64_t deadline_ms)
{
    struct ff_submission s = submission();

    s.deadline_ms = deadline_ms;
    return given(t, &s);
}

FF_CONFORMANCE_SLOW(execution_deadline, ends_what_waits_without_an_attempt)
{
    const struct name name = given_deadline(t, 300);
    const struct ff_info *info;

    WAIT_UNTIL(t, is_in_state(t, name.id, "expired"));
    info = look(t, name.id);
    EXPECT_VECTOR(t, name.id, "terminal unowned not_applicable attempt_terminal expired none");
    EXPECT_INT(t, 0, info->attempt_count);
    EXPECT_INT(t, FF_ABSENT_MS, info->started_at_ms);
    EXPECT(t, info->finished_at_ms >= info->deadline_at_ms);
    EXPECT_EVENTS(t, name.id, "completion.expired");
    EXPECT_ATTEMPTS(t, name.id, "");
}

FF_CONFORMANCE_SLOW(execution_deadline, ends_what_runs)
{
    const struct name name = given_deadline(t, ENOUGH_MS);
    const struct held held = given_claimed_next(t);

    EXPECT_INT(t, look(t, name.id)->deadline_at_ms, held.deadline_at_ms);
    WAIT_UNTIL(t, is_in_state(t, name.id, "expired"));
    EXPECT_EVENTS(t, name.id, "acquired revoked completion.expired");
    EXPECT_TEXT(t, "deadline", last_event(t, name.id, "lease", "revoked")->note);
    EXPECT_ATTEMPTS(t, name.id, "0:initial:expired");
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_completed(t, &held, NULL));
    EXPECT_TEXT(t, "expired", t->err.outcome);
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_renewed(t, &held, 0));
}

FF_CONFORMANCE_SLOW(execution_deadline, ends_what_is_delayed)
{
    struct ff_submission s = submission();
    struct name name;

    s.deadline_ms = 300;
    s.delay_ms = 3600000;
    name = given(t, &s);
    WAIT_UNTIL(t, is_in_state(t, name.id, "expired"));
    EXPECT_EVENTS(t, name.id, "completion.expired");
    EXPECT_INT(t, FF_ABSENT_MS, look(t, name.id)->delay_until_ms);
}

FF_CONFORMANCE_SLOW(execution_deadline, ends_what_waits_for_a_retry)
{
    const struct ff_policy_spec p = retry_policy(5, 3600000);
    struct ff_submission s = submission();
    struct held held;

    s.deadline_ms = ENOUGH_MS;
    s.policy = &p;
    (void)given(t, &s);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    WAIT_UNTIL(t, is_in_state(t, held.id, "expired"));
    EXPECT_EVENTS(t, held.id, "acquired execution.retry_scheduled completion.expired");
}

FF_CONFORMANCE_SLOW(execution_deadline, ends_what_waits_to_be_reclaimed)
{
    struct ff_policy_spec p = reclaim_policy(5);
    struct ff_submission s = submission();
    struct ff_claim_request r = claim_request();
    struct held held;

    s.deadline_ms = 3 * ENOUGH_MS;
    s.policy = &p;
    (void)given(t, &s);
    r.lease_ttl_ms = 100;
    held = given_claim(t, &r);
    given_lapsed(t, &held);
    WAIT_UNTIL(t, is_in_state(t, held.id, "expired"));
    EXPECT_EVENTS(t, held.id, "acquired expired revoked completion.expired");
}

/* Claim passes over what has missed its deadline, also before the timer has come. */
FF_CONFORMANCE(execution_deadline, what_missed_it_is_not_handed_out)
{
    const struct ff_options quiet = {.size = sizeof quiet, .passive = true};
    struct ff_submission s = submission();
    struct name late, fine;

    given_options(t, &quiet);
    s.deadline_at_ms = 1; /* long ago: accepted, and over */
    s.priority = 9;
    late = given(t, &s);
    fine = given_submitted(t);
    EXPECT_TEXT(t, fine.id, given_claimed_next(t).id);
    EXPECT(t, nothing_to_claim(t));
    EXPECT_STATE(t, late.id, "waiting");
}

FF_CONFORMANCE_SLOW(execution_deadline, in_the_past_ends_it_soon)
{
    struct ff_submission s = submission();
    struct name name;

    s.deadline_at_ms = 1;
    name = given(t, &s);
    WAIT_UNTIL(t, is_in_state(t, name.id, "expired"));
    EXPECT_INT(t, 0, look(t, name.id)->attempt_count);
}

FF_CONFORMANCE_SLOW(execution_deadline, comes_before_a_retry)
{
    const struct ff_options quiet = {.size = sizeof quiet, .passive = true};
    struct ff_submission s = submission();
    struct ff_claim_request r = claim_request();
    struct held held;

    /* Both the lease and the deadline have passed when a timer looks for the first time. */
    given_options(t, &quiet);
    s.deadline_ms = ENOUGH_MS;
    (void)given(t, &s);
    r.lease_ttl_ms = 100;
    held = given_claim(t, &r);
    WAIT_UNTIL(t, store_now_ms(t) > held.deadline_at_ms);
    given_reopened(t, NULL);
    WAIT_UNTIL(t, look(t, held.id)->finished);
    EXPECT_EVENTS(t, held.id, "acquired revoked completion.expired");
}

FF_CONFORMANCE(execution_deadline, completing_in_time_is_all_that_counts)
{
    const struct name name = given_deadline(t, 60000);
    const struct held held = given_claimed_next(t);

    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_STATE(t, name.id, "completed");
    EXPECT_EVENTS(t, name.id, "acquired completion.success");
}
