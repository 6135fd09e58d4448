/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_delay.c -- not before its time: delays of submissions and of workers.
 *
 * Pitfall F36 (a delay overwrote the deadline, and nothing ever ended it). */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

static struct held given_claimed_when_due(struct test *t)
{
    struct ff_claim_request r = claim_request();

    r.wait_ms = TEST_WAIT_MS;
    return given_claim(t, &r);
}

FF_CONFORMANCE(execution_delay, same_attempt_continues_later)
{
    const struct held first = given_claimed(t);
    const struct ff_info *info;

    EXPECT_OK(t, when_delayed(t, &first, 3600000));
    EXPECT_TEXT(t, "delayed", t->answer.public_state);
    info = look(t, first.id);
    EXPECT_VECTOR(t, first.id,
                  "runnable unowned not_eligible_until_time attempt_interrupted none "
                  "waiting_for_delay");
    EXPECT(t, !info->has_lease);
    EXPECT_INT(t, 0, info->retry_count);
    EXPECT_INT(t, 0, info->attempt_index);
    EXPECT_INT(t, last_event(t, first.id, "execution", "delayed")->num_a, info->delay_until_ms);
    EXPECT_INT(t, last_event(t, first.id, "execution", "delayed")->at_ms + 3600000,
               info->delay_until_ms);
    EXPECT_EVENTS(t, first.id, "acquired execution.delayed");
}

/* The interrupted attempt is resumed, and the worker can tell. */
FF_CONFORMANCE(execution_delay, next_claim_resumes_the_attempt)
{
    const struct held first = given_claimed(t);
    struct held second;

    EXPECT_OK(t, when_delayed(t, &first, 50));
    second = given_claimed_when_due(t);
    EXPECT_TEXT(t, first.id, second.id);
    EXPECT_INT(t, 0, second.attempt_index);
    EXPECT_TEXT(t, "initial", second.attempt_type);
    EXPECT(t, second.epoch > first.epoch);
    EXPECT_INT(t, 1, look(t, first.id)->attempt_count);
    EXPECT_INT(t, FF_ABSENT_MS, look(t, first.id)->delay_until_ms);
    EXPECT_ATTEMPTS(t, first.id, "0:initial:delayed 0:initial:running");
}

FF_CONFORMANCE(execution_delay, is_never_early)
{
    struct ff_submission s = submission();
    struct held held;
    int64_t due_ms;

    s.delay_ms = 150;
    due_ms = look(t, given(t, &s).id)->created_at_ms + 150;
    held = given_claimed_when_due(t);
    EXPECT(t, last_event(t, held.id, "lease", "acquired")->at_ms >= due_ms);
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(t, when_delayed(t, &held, 60 + i));
        due_ms = last_event(t, held.id, "execution", "delayed")->num_a;
        held = given_claimed_when_due(t);
        EXPECT(t, last_event(t, held.id, "lease", "acquired")->at_ms >= due_ms);
    }
}

/* How late ten short delays were, all together. */
static int64_t late_of_ten_ms(struct test *t)
{
    int64_t late_ms = 0;

    for (int i = 0; i < 10; i++) {
        struct ff_submission s = submission();
        struct held held;
        int64_t due_ms;

        s.delay_ms = 40;
        due_ms = look(t, given(t, &s).id)->created_at_ms + 40;
        held = given_claimed_when_due(t);
        late_ms += last_event(t, held.id, "lease", "acquired")->at_ms - due_ms;
        EXPECT_OK(t, when_completed(t, &held, NULL));
    }
    return late_ms;
}

/* Whoever made a delay knows its end and does not wait for a tick of the timer: each would end with
 * one, and the next begin after it, so that ten are nine seconds late. A machine may be so slow now
 * and then, but not always. */
FF_CONFORMANCE(execution_delay, ends_exactly_for_who_made_it)
{
    WAIT_UNTIL(t, late_of_ten_ms(t) < 3000);
}

FF_CONFORMANCE(execution_delay, absolute_time_counts_as_given)
{
    const struct held held = given_claimed(t);
    const int64_t until_ms = look(t, held.id)->started_at_ms + 3600000;

    EXPECT_OK(t, when_delayed_until(t, &held, until_ms));
    EXPECT_INT(t, until_ms, look(t, held.id)->delay_until_ms);
}

FF_CONFORMANCE(execution_delay, past_and_zero_wait_for_nothing)
{
    struct held held = given_claimed(t);

    EXPECT_OK(t, when_delayed(t, &held, 0));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    held = given_claimed_next(t);
    EXPECT_INT(t, 0, held.attempt_index);
    EXPECT_OK(t, when_delayed_until(t, &held, 1));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    EXPECT_VECTOR(t, held.id,
                  "runnable unowned eligible_now attempt_interrupted none waiting_for_worker");
}

FF_CONFORMANCE(execution_delay, uses_no_retry_however_often)
{
    const struct ff_policy_spec p = retry_policy(0, 0);
    struct held held = given_claimed_with(t, &p, 30000);

    for (int i = 0; i < 5; i++) {
        EXPECT_OK(t, when_delayed(t, &held, 1));
        held = given_claimed_when_due(t);
    }
    EXPECT_INT(t, 0, look(t, held.id)->retry_count);
    EXPECT_OK(t, when_completed(t, &held, NULL));
}

/* F36. */
FF_CONFORMANCE(execution_delay, leaves_the_deadline_alone)
{
    struct ff_submission s = submission();
    struct held held;

    s.deadline_ms = 7200000;
    (void)given(t, &s);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_delayed(t, &held, 3600000));
    EXPECT_INT(t, held.deadline_at_ms, look(t, held.id)->deadline_at_ms);
}

FF_CONFORMANCE(execution_delay, priority_counts_again_when_it_is_over)
{
    struct ff_submission s = submission();
    struct name high;

    s.priority = 100;
    s.delay_ms = 300;
    high = given(t, &s);
    (void)given_submitted(t);
    WAIT_UNTIL(t, is_in_state(t, high.id, "waiting"));
    EXPECT_TEXT(t, high.id, given_claimed_next(t).id);
}

FF_CONFORMANCE_SLOW(execution_delay, of_another_client_ends_too)
{
    struct ff_submission s = submission();
    struct ff_client *other = another_client(t, NULL);
    struct ff_submitted submitted;

    s.delay_ms = 400;
    EXPECT_OK(t, ff_submit(other, &s, 1, &submitted, &t->err));
    close_client(t, &other);
    EXPECT_TEXT(t, submitted.execution_id, given_claimed_when_due(t).id);
}

FF_CONFORMANCE(execution_delay, has_limits)
{
    const struct held held = given_claimed(t);
    struct ff_postponement item = {.lease = lease_of(&held), .delay_ms = 5, .delay_until_ms = 5};
    struct ff_task_result result;

    EXPECT_OK(t, ff_delay(t->client, &item, 1, &result, &t->err));
    EXPECT_INT(t, FF_INVALID, result.status);
    EXPECT_TEXT(t, "delay_until_ms", result.error.field);
    EXPECT_REFUSED(t, FF_INVALID, "delay_ms", when_delayed(t, &held, FF_ABSENT_MS));
    EXPECT_REFUSED(t, FF_INVALID, "delay_ms", when_delayed(t, &held, -1));
    EXPECT_REFUSED(t, FF_INVALID, "delay_ms", when_delayed(t, &held, INT64_C(315360000001)));
    EXPECT_REFUSED(t, FF_INVALID, "delay_until_ms", when_delayed_until(t, &held, -1));
    EXPECT_REFUSED(t, FF_INVALID, "delay_until_ms", when_delayed_until(t, &held, INT64_MAX));
    EXPECT_STATE(t, held.id, "active");
    EXPECT_OK(t, when_delayed(t, &held, INT64_C(315360000000)));
}
