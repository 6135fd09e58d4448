/* SPDX-License-Identifier: Apache-2.0
 *
 * lease_lapse.c -- a lease that ran out under lease_lapse = "retry".
 *
 * One rule decides, not two timers that race. Pitfalls F18, F21. Under "reclaim":
 * lease_reclaim.c. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

#define SHORT_MS 100

/* F18, F21: an earlier engine killed or retried the work of a crashed worker by chance, or did
 * nothing. */
FF_CONFORMANCE_SLOW(lease_lapse, puts_the_execution_back)
{
    const struct ff_policy_spec p = policy();
    const struct held old = given_claimed_with(t, &p, SHORT_MS);
    const struct ff_info *info;

    given_lapsed(t, &old);
    info = look(t, old.id);
    EXPECT_VECTOR(t, old.id,
                  "runnable unowned eligible_now pending_retry_attempt none waiting_for_worker");
    EXPECT(t, !info->has_lease);
    EXPECT_INT(t, 1, info->retry_count);
    EXPECT_INT(t, 1, info->attempt_index);
    EXPECT_INT(t, old.epoch + 1, info->lease_epoch);
    EXPECT_TEXT(t, "attempt_timeout", info->failure_message);
    EXPECT_TEXT(t, "infra_crash", info->failure_class);
    EXPECT_ATTEMPTS(t, old.id, "0:initial:interrupted");
    EXPECT_EVENTS(t, old.id, "acquired expired");
}

FF_CONFORMANCE_SLOW(lease_lapse, next_worker_gets_a_new_attempt)
{
    const struct ff_policy_spec p = policy();
    const struct held old = given_claimed_with(t, &p, SHORT_MS);
    struct ff_claim_request r = claim_request();
    struct held now;

    given_lapsed(t, &old);
    r.worker_id = "worker-2";
    r.worker_instance_id = "instance-2";
    now = given_claim(t, &r);
    EXPECT_TEXT(t, old.id, now.id);
    EXPECT_INT(t, 1, now.attempt_index);
    EXPECT_TEXT(t, "retry", now.attempt_type);
    EXPECT(t, now.epoch > old.epoch);
    EXPECT(t, strcmp(now.lease_id, old.lease_id) != 0);
    EXPECT_ATTEMPTS(t, old.id, "0:initial:interrupted 1:retry:running");
    EXPECT_OK(t, when_completed(t, &now, NULL));
    EXPECT_ATTEMPTS(t, old.id, "0:initial:interrupted 1:retry:completed");
}

FF_CONFORMANCE_SLOW(lease_lapse, is_not_early)
{
    const struct ff_policy_spec p = policy();
    const struct held old = given_claimed_with(t, &p, 700);

    given_lapsed(t, &old);
    EXPECT(t, last_event(t, old.id, "lease", "expired")->at_ms >= old.expires_at_ms);
}

FF_CONFORMANCE_SLOW(lease_lapse, event_names_who_lost_it)
{
    const struct ff_policy_spec p = policy();
    const struct held old = given_claimed_with(t, &p, SHORT_MS);
    const struct ff_event_info *event;

    given_lapsed(t, &old);
    event = last_event(t, old.id, "lease", "expired");
    EXPECT_TEXT(t, WORKER, event->worker_id);
    EXPECT_TEXT(t, INSTANCE, event->worker_instance_id);
    EXPECT_TEXT(t, INSTANCE, event->prev_owner);
    EXPECT_TEXT(t, old.lease_id, event->lease_id);
    EXPECT_INT(t, old.epoch, event->lease_epoch);
    EXPECT_TEXT(t, "waiting", event->public_state);
}

FF_CONFORMANCE_SLOW(lease_lapse, ends_it_when_there_is_no_retry)
{
    const struct ff_policy_spec p = retry_policy(0, 0);
    const struct held old = given_claimed_with(t, &p, SHORT_MS);

    given_lapsed(t, &old);
    EXPECT_VECTOR(t, old.id, "terminal unowned not_applicable attempt_terminal expired none");
    EXPECT_STATE(t, old.id, "expired");
    EXPECT_EVENTS(t, old.id, "acquired expired completion.expired");
    EXPECT(t, nothing_to_claim(t));
    EXPECT_STATUS(t, FF_STALE_LEASE, when_completed(t, &old, NULL));
}

/* The boundary: max_retries lapses are survived, the next one is not. */
FF_CONFORMANCE_SLOW(lease_lapse, ends_it_after_the_last_retry)
{
    const struct ff_policy_spec p = retry_policy(2, 0);
    struct ff_claim_request r = claim_request();
    struct held held = given_claimed_with(t, &p, SHORT_MS);

    r.lease_ttl_ms = SHORT_MS;
    for (int lapse = 1; lapse <= 2; lapse++) {
        given_lapsed(t, &held);
        EXPECT_STATE(t, held.id, "waiting");
        held = given_claim(t, &r);
        EXPECT_INT(t, lapse, held.attempt_index);
    }
    given_lapsed(t, &held);
    EXPECT_STATE(t, held.id, "expired");
    EXPECT_EVENTS(t, held.id,
                  "acquired expired acquired expired acquired expired completion.expired");
    EXPECT_ATTEMPTS(t, held.id, "0:initial:interrupted 1:retry:interrupted 2:retry:interrupted");
}

/* A failure and a lapse draw on the same retries. */
FF_CONFORMANCE_SLOW(lease_lapse, shares_its_retries_with_failures)
{
    const struct ff_policy_spec p = retry_policy(1, 0);
    struct ff_claim_request r = claim_request();
    struct held held = given_claimed_with(t, &p, 30000);

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    r.lease_ttl_ms = SHORT_MS;
    held = given_claim(t, &r);
    given_lapsed(t, &held);
    EXPECT_STATE(t, held.id, "expired");
}

/* Late work is accepted while no rule has acted on the lapse: here nobody does. */
FF_CONFORMANCE(lease_lapse, late_work_counts_until_somebody_acts)
{
    const struct ff_options quiet = {.size = sizeof quiet, .passive = true};
    const struct ff_policy_spec p = policy();
    struct held first, second;

    given_options(t, &quiet);
    first = given_claimed_with(t, &p, SHORT_MS);
    second = given_claimed_with(t, &p, SHORT_MS);
    WAIT_UNTIL(t, store_now_ms(t) > second.expires_at_ms + 50);
    EXPECT_OK(t, when_completed(t, &first, "1"));
    EXPECT_OK(t, when_renewed(t, &second, 30000));
    EXPECT_OK(t, when_completed(t, &second, "1"));
    EXPECT_EVENTS(t, first.id, "acquired completion.success");
}

/* Lapses of many at once: each exactly once. */
FF_CONFORMANCE_SLOW(lease_lapse, many_at_once_are_each_put_back_once)
{
    struct ff_claim_request r = claim_request();
    struct held *const held = keep(t, 50 * sizeof *held);

    for (int i = 0; i < 50; i++)
        (void)given_submitted(t);
    r.max = 50;
    r.lease_ttl_ms = SHORT_MS;
    EXPECT_INT(t, 50, (int64_t)when_claimed_many(t, &r, held, 50));
    for (size_t i = 0; i < 50; i++) {
        given_lapsed(t, &held[i]);
        EXPECT_EVENTS(t, held[i].id, "acquired expired");
    }
}

/* Two engines watch the same leases: no lapse counts twice. */
FF_CONFORMANCE_SLOW(lease_lapse, two_engines_act_once)
{
    const struct ff_policy_spec p = policy();
    struct ff_claim_request r = claim_request();
    struct held held;

    (void)another_client(t, NULL);
    held = given_claimed_with(t, &p, SHORT_MS);
    given_lapsed(t, &held);
    EXPECT_INT(t, 1, look(t, held.id)->retry_count);
    r.lease_ttl_ms = SHORT_MS;
    held = given_claim(t, &r);
    given_lapsed(t, &held);
    EXPECT_INT(t, 2, look(t, held.id)->retry_count);
    EXPECT_EVENTS(t, held.id, "acquired expired acquired expired");
}
