/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_fail.c -- failures, retries and how long they wait.
 *
 * Pitfalls F21 (policy ignored, permanent failures retried) and F36 (a back-off that never ended).
 */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

/* From the engine's own timestamps: how long the last retry waits. */
static int64_t backoff_ms(struct test *t, const char *id)
{
    const struct ff_event_info *const event = last_event(t, id, "execution", "retry_scheduled");

    return event->num_a - event->at_ms;
}

static struct held given_claimed_when_due(struct test *t)
{
    struct ff_claim_request r = claim_request();

    r.wait_ms = TEST_WAIT_MS;
    return given_claim(t, &r);
}

FF_CONFORMANCE(execution_fail, with_retries_left_waits_for_its_backoff)
{
    const struct ff_policy_spec p = retry_policy(2, 3600000);
    const struct held held = given_claimed_with(t, &p, 30000);
    const struct ff_info *info;

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_TEXT(t, "delayed", t->answer.public_state);
    info = look(t, held.id);
    EXPECT_VECTOR(t, held.id,
                  "runnable unowned not_eligible_until_time pending_retry_attempt none "
                  "waiting_for_retry_backoff");
    EXPECT_INT(t, info->delay_until_ms, t->answer.retry_at_ms);
    EXPECT_INT(t, 3600000, backoff_ms(t, held.id));
    EXPECT_INT(t, 1, info->retry_count);
    EXPECT_TEXT(t, "it went wrong", info->failure_message);
    EXPECT_TEXT(t, "transient", info->failure_class);
    EXPECT_EVENTS(t, held.id, "acquired execution.retry_scheduled");
    EXPECT(t, nothing_to_claim(t));
}

/* F36: in an earlier engine a typed failure stayed delayed for ever. */
FF_CONFORMANCE(execution_fail, next_attempt_says_that_it_is_a_retry)
{
    const struct ff_policy_spec p = retry_policy(2, 50);
    const struct held first = given_claimed_with(t, &p, 30000);
    struct held second;

    EXPECT_OK(t, when_failed(t, &first, "transient"));
    second = given_claimed_when_due(t);
    EXPECT_TEXT(t, first.id, second.id);
    EXPECT_INT(t, 1, second.attempt_index);
    EXPECT_TEXT(t, "retry", second.attempt_type);
    EXPECT_ATTEMPTS(t, first.id, "0:initial:retry 1:retry:running");
    EXPECT_OK(t, when_completed(t, &second, NULL));
    EXPECT_TEXT(t, NULL, look(t, first.id)->failure_message);
    EXPECT_TEXT(t, "it went wrong", attempts(t, first.id)->items[0].failure_message);
    EXPECT_TEXT(t, NULL, attempts(t, first.id)->items[1].failure_message);
}

FF_CONFORMANCE(execution_fail, retry_is_never_early)
{
    const struct ff_policy_spec p = retry_policy(3, 120);
    struct held held = given_claimed_with(t, &p, 30000);

    for (int i = 0; i < 3; i++) {
        int64_t retry_at_ms;

        EXPECT_OK(t, when_failed(t, &held, "transient"));
        retry_at_ms = t->answer.retry_at_ms;
        held = given_claimed_when_due(t);
        EXPECT(t, last_event(t, held.id, "lease", "acquired")->at_ms >= retry_at_ms);
    }
}

/* Exponential without jitter, with its ceiling. */
FF_CONFORMANCE(execution_fail, exponential_backoff_doubles_up_to_its_cap)
{
    static const int64_t want[] = {20, 40, 80, 100, 100};
    struct ff_policy_spec p = retry_policy(5, 0);
    struct held held;

    p.backoff = "exponential";
    p.initial_delay_ms = 20;
    p.max_delay_ms = 100;
    held = given_claimed_with(t, &p, 30000);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        EXPECT_OK(t, when_failed(t, &held, "transient"));
        EXPECT_INT(t, want[i], backoff_ms(t, held.id));
        held = given_claimed_when_due(t);
    }
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_STATE(t, held.id, "failed");
}

FF_CONFORMANCE(execution_fail, exponential_backoff_takes_its_multiplier)
{
    static const int64_t want[] = {10, 15, 22, 33};
    struct ff_policy_spec p = retry_policy(4, 0);
    struct held held;

    p.backoff = "exponential";
    p.initial_delay_ms = 10;
    p.multiplier = 1.5;
    held = given_claimed_with(t, &p, 30000);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        EXPECT_OK(t, when_failed(t, &held, "transient"));
        EXPECT_INT(t, want[i], backoff_ms(t, held.id));
        held = given_claimed_when_due(t);
    }
}

FF_CONFORMANCE(execution_fail, fixed_backoff_stays_the_same)
{
    const struct ff_policy_spec p = retry_policy(3, 25);
    struct held held = given_claimed_with(t, &p, 30000);

    for (int i = 0; i < 3; i++) {
        EXPECT_OK(t, when_failed(t, &held, "transient"));
        EXPECT_INT(t, 25, backoff_ms(t, held.id));
        held = given_claimed_when_due(t);
    }
}

/* Without a policy: a second, with jitter between half and all of it. */
FF_CONFORMANCE(execution_fail, default_backoff_has_jitter)
{
    for (int i = 0; i < 10; i++) {
        const struct held held = given_claimed(t);

        EXPECT_OK(t, when_failed(t, &held, "transient"));
        EXPECT(t, backoff_ms(t, held.id) >= 500 && backoff_ms(t, held.id) <= 1000);
        EXPECT_OK(t, when_cancelled(t, held.id)); /* or it would be claimed next */
    }
}

FF_CONFORMANCE(execution_fail, without_retries_left_ends_it)
{
    const struct ff_policy_spec p = retry_policy(1, 0);
    struct held held = given_claimed_with(t, &p, 30000);

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_TEXT(t, "failed", t->answer.public_state);
    EXPECT_INT(t, FF_ABSENT_MS, t->answer.retry_at_ms);
    EXPECT_VECTOR(t, held.id, "terminal unowned not_applicable attempt_terminal failed none");
    EXPECT_EVENTS(t, held.id, "acquired execution.retry_scheduled acquired completion.failed");
    EXPECT_TEXT(t, "it went wrong", last_event(t, held.id, "completion", "failed")->note);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:retry 1:retry:failed");
}

FF_CONFORMANCE(execution_fail, policy_of_no_retries_ends_it_at_once)
{
    const struct ff_policy_spec p = retry_policy(0, 0);
    const struct held held = given_claimed_with(t, &p, 30000);

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_STATE(t, held.id, "failed");
}

/* F21: a permanent failure never retries, whatever the policy allows. */
FF_CONFORMANCE(execution_fail, permanent_failures_never_retry)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    EXPECT_STATE(t, held.id, "failed");
    EXPECT_TEXT(t, "permanent", look(t, held.id)->failure_class);
    EXPECT_INT(t, 0, look(t, held.id)->retry_count);
}

FF_CONFORMANCE(execution_fail, all_other_classes_retry)
{
    static const char *const classes[] = {"transient", "timeout", "infra_crash", NULL};

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        const struct held held = given_claimed(t);

        EXPECT_OK(t, when_failed(t, &held, classes[i]));
        EXPECT_TEXT(t, "delayed", t->answer.public_state);
        EXPECT_TEXT(t, classes[i] ? classes[i] : "transient", look(t, held.id)->failure_class);
        EXPECT_OK(t, when_cancelled(t, held.id));
    }
}

FF_CONFORMANCE(execution_fail, worker_may_say_when_to_retry)
{
    const struct ff_policy_spec p = retry_policy(3, 50);
    const struct held held = given_claimed_with(t, &p, 30000);
    struct ff_failure failure = failure_of(&held, "transient");

    failure.retry_after_ms = 7200000;
    EXPECT_OK(t, when_failed_as(t, &failure));
    EXPECT_INT(t, 7200000, backoff_ms(t, held.id));
    EXPECT_STATE(t, held.id, "delayed");
}

FF_CONFORMANCE(execution_fail, worker_may_ask_for_a_retry_at_once)
{
    const struct ff_policy_spec p = retry_policy(3, 3600000);
    const struct held held = given_claimed_with(t, &p, 30000);
    struct ff_failure failure = failure_of(&held, "transient");

    failure.retry_after_ms = 0;
    EXPECT_OK(t, when_failed_as(t, &failure));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    EXPECT_INT(t, 1, given_claimed_next(t).attempt_index);
}

FF_CONFORMANCE(execution_fail, wish_for_a_retry_does_not_make_one)
{
    const struct ff_policy_spec p = retry_policy(0, 0);
    struct held held = given_claimed_with(t, &p, 30000);
    struct ff_failure failure = failure_of(&held, "transient");

    failure.retry_after_ms = 0;
    EXPECT_OK(t, when_failed_as(t, &failure));
    EXPECT_STATE(t, held.id, "failed");
    held = given_claimed(t);
    failure = failure_of(&held, "permanent");
    failure.retry_after_ms = 0;
    EXPECT_OK(t, when_failed_as(t, &failure));
    EXPECT_STATE(t, held.id, "failed");
}

/* Once started is started: the first claim counts. */
FF_CONFORMANCE(execution_fail, retry_keeps_the_time_of_the_first_start)
{
    const struct ff_policy_spec p = retry_policy(1, 30);
    const struct held held = given_claimed_with(t, &p, 30000);
    const int64_t started_at_ms = look(t, held.id)->started_at_ms;

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    (void)given_claimed_when_due(t);
    EXPECT_INT(t, started_at_ms, look(t, held.id)->started_at_ms);
    EXPECT(t, look(t, held.id)->lease_acquired_at_ms >= started_at_ms + 30);
}

FF_CONFORMANCE(execution_fail, words_have_limits)
{
    const struct held held = given_claimed(t);
    struct ff_failure failure = failure_of(&held, "fatal");

    EXPECT_REFUSED(t, FF_INVALID, "class", when_failed_as(t, &failure));
    failure = failure_of(&held, "transient");
    failure.message = NULL;
    EXPECT_REFUSED(t, FF_INVALID, "message", when_failed_as(t, &failure));
    failure.message = text_of(t, 4097, 'm');
    EXPECT_REFUSED(t, FF_TOO_LARGE, "message", when_failed_as(t, &failure));
    failure.message = "caf\xe9";
    EXPECT_REFUSED(t, FF_INVALID, "message", when_failed_as(t, &failure));
    failure.message = "m";
    failure.retry_after_ms = -1;
    EXPECT_REFUSED(t, FF_INVALID, "retry_after_ms", when_failed_as(t, &failure));
    failure.retry_after_ms = INT64_MAX;
    EXPECT_REFUSED(t, FF_INVALID, "retry_after_ms", when_failed_as(t, &failure));
    EXPECT_STATE(t, held.id, "active");
    failure = failure_of(&held, "permanent");
    failure.message = text_of(t, 4096, 'm');
    EXPECT_OK(t, when_failed_as(t, &failure));
    EXPECT_TEXT(t, failure.message, look(t, held.id)->failure_message);
}
