/* SPDX-License-Identifier: Apache-2.0
 *
 * lease_reclaim.c -- a lease that ran out under lease_lapse = "reclaim": the attempt goes on.
 *
 * The attempt keeps its index, and its old holder may come back until somebody claims.
 * Pitfall F19. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

#define SHORT_MS 100

static struct ff_claim_request other_worker(int64_t ttl_ms)
{
    struct ff_claim_request r = claim_request();

    r.worker_id = "worker-2";
    r.worker_instance_id = "instance-2";
    r.lease_ttl_ms = ttl_ms;
    return r;
}

static struct held given_reclaimable(struct test *t, int32_t max_reclaim_count)
{
    const struct ff_policy_spec p = reclaim_policy(max_reclaim_count);
    const struct held held = given_claimed_with(t, &p, SHORT_MS);

    given_lapsed(t, &held);
    return held;
}

FF_CONFORMANCE_SLOW(lease_reclaim, lapse_only_changes_the_ownership)
{
    const struct held held = given_reclaimable(t, 5);
    const struct ff_info *const info = look(t, held.id);

    EXPECT_VECTOR(t, held.id,
                  "active lease_expired_reclaimable not_applicable attempt_interrupted none "
                  "waiting_for_worker");
    EXPECT_TEXT(t, "active", info->public_state);
    EXPECT_INT(t, held.epoch, info->lease_epoch);
    EXPECT_TEXT(t, held.lease_id, info->lease_id);
    EXPECT_INT(t, 0, info->retry_count);
    EXPECT_EVENTS(t, held.id, "acquired expired");
}

FF_CONFORMANCE_SLOW(lease_reclaim, next_worker_continues_the_attempt)
{
    const struct held old = given_reclaimable(t, 5);
    const struct ff_claim_request r = other_worker(30000);
    const struct held now = given_claim(t, &r);
    const struct ff_event_info *event;

    EXPECT_TEXT(t, old.id, now.id);
    EXPECT_INT(t, 0, now.attempt_index);
    EXPECT_TEXT(t, "reclaim", now.attempt_type);
    EXPECT(t, now.epoch > old.epoch);
    EXPECT_INT(t, 1, look(t, now.id)->reclaim_count);
    EXPECT_INT(t, 1, look(t, now.id)->attempt_count);
    event = last_event(t, now.id, "lease", "reclaimed");
    EXPECT_TEXT(t, "worker-2", event->worker_id);
    EXPECT_TEXT(t, INSTANCE, event->prev_owner);
    EXPECT_INT(t, now.epoch, event->lease_epoch);
    EXPECT_ATTEMPTS(t, now.id, "0:initial:interrupted 0:reclaim:running");
    EXPECT_STATUS(t, FF_STALE_LEASE, when_completed(t, &old, NULL));
    EXPECT_STATUS(t, FF_STALE_LEASE, when_renewed(t, &old, 0));
    EXPECT_OK(t, when_completed(t, &now, NULL));
    EXPECT_EVENTS(t, now.id, "acquired expired reclaimed completion.success");
}

FF_CONFORMANCE_SLOW(lease_reclaim, old_holder_may_complete_until_somebody_claims)
{
    const struct held held = given_reclaimable(t, 5);

    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_STATE(t, held.id, "completed");
    EXPECT_EVENTS(t, held.id, "acquired expired completion.success");
}

FF_CONFORMANCE_SLOW(lease_reclaim, old_holder_may_fail_until_somebody_claims)
{
    struct ff_policy_spec p = retry_policy(1, 0);
    struct held held;

    p.lease_lapse = "reclaim";
    held = given_claimed_with(t, &p, SHORT_MS);
    given_lapsed(t, &held);
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_STATE(t, held.id, "waiting");
    EXPECT_INT(t, 1, given_claimed_next(t).attempt_index);
}

FF_CONFORMANCE_SLOW(lease_reclaim, old_holder_may_renew_until_somebody_claims)
{
    const struct held held = given_reclaimable(t, 5);

    EXPECT_OK(t, when_renewed(t, &held, 30000));
    EXPECT_VECTOR(t, held.id, "active leased not_applicable running_attempt none none");
    EXPECT(t, nothing_to_claim(t));
    EXPECT_EVENTS(t, held.id, "acquired expired renewed");
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_INT(t, 0, look(t, held.id)->reclaim_count);
}

FF_CONFORMANCE_SLOW(lease_reclaim, revived_lease_lapses_again)
{
    const struct held held = given_reclaimable(t, 5);

    EXPECT_OK(t, when_renewed(t, &held, SHORT_MS));
    given_lapsed(t, &held);
    EXPECT_EVENTS(t, held.id, "acquired expired renewed expired");
    EXPECT_OK(t, when_completed(t, &held, NULL));
}

/* As many reclaims as allowed, then failed, with its events. */
FF_CONFORMANCE_SLOW(lease_reclaim, cap_is_exact)
{
    const struct ff_claim_request r = other_worker(SHORT_MS);
    struct held held = given_reclaimable(t, 1);

    held = given_claim(t, &r);
    EXPECT_INT(t, 1, look(t, held.id)->reclaim_count);
    given_lapsed(t, &held);
    EXPECT_STATE(t, held.id, "failed");
    EXPECT_TEXT(t, "max_reclaims_exceeded", look(t, held.id)->failure_message);
    EXPECT_INT(t, 1, look(t, held.id)->reclaim_count);
    EXPECT_EVENTS(t, held.id, "acquired expired reclaimed expired completion.failed");
    EXPECT_STATUS(t, FF_STALE_LEASE, when_completed(t, &held, NULL));
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE_SLOW(lease_reclaim, cap_of_zero_allows_none)
{
    const struct held held = given_reclaimable(t, 0);

    EXPECT_STATE(t, held.id, "failed");
    EXPECT_EVENTS(t, held.id, "acquired expired completion.failed");
}

/* F19: an earlier engine's scanners undid a fresh reclaim within two seconds. */
FF_CONFORMANCE_SLOW(lease_reclaim, is_not_undone_by_the_timers)
{
    struct ff_claim_request r = other_worker(30000);
    struct held now, probe;

    (void)given_reclaimable(t, 5);
    now = given_claim(t, &r);
    /* Two more lapses have been acted on since: the timer has passed this lease twice. */
    r.lease_ttl_ms = SHORT_MS;
    for (int i = 0; i < 2; i++) {
        (void)given_submitted(t);
        probe = given_claim(t, &r);
        given_lapsed(t, &probe);
        probe = given_claimed_next(t);
        EXPECT_OK(t, when_completed(t, &probe, NULL));
    }
    EXPECT_EVENTS(t, now.id, "acquired expired reclaimed");
    EXPECT_OK(t, when_completed(t, &now, NULL));
}

FF_CONFORMANCE_SLOW(lease_reclaim, previous_worker_is_no_longer_listed)
{
    const struct ff_claim_request r = other_worker(30000);
    struct ff_filter mine;
    struct held now;

    ff_filter_init(&mine);
    mine.worker_id = WORKER;
    (void)given_reclaimable(t, 5);
    EXPECT_INT(t, 1, (int64_t)list(t, &mine)->count);
    now = given_claim(t, &r);
    EXPECT_INT(t, 0, (int64_t)list(t, &mine)->count);
    mine.worker_id = "worker-2";
    EXPECT_TEXT(t, now.id, list(t, &mine)->items[0].execution_id);
}

FF_CONFORMANCE_SLOW(lease_reclaim, operators_reach_it_too)
{
    struct held held = given_reclaimable(t, 5);

    EXPECT_OK(t, when_revoked(t, held.id));
    EXPECT_STATE(t, held.id, "waiting");
    EXPECT_STATUS(t, FF_LEASE_REVOKED, when_completed(t, &held, NULL));
    EXPECT_OK(t, when_cancelled(t, held.id));
    held = given_reclaimable(t, 5);
    EXPECT_OK(t, when_cancelled(t, held.id));
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_completed(t, &held, NULL));
    EXPECT_EVENTS(t, held.id,
                  "acquired expired operator.cancel_requested revoked completion.cancelled");
}

FF_CONFORMANCE_SLOW(lease_reclaim, counts_start_again_with_a_replay)
{
    const struct held held = given_reclaimable(t, 0);

    EXPECT_STATE(t, held.id, "failed");
    EXPECT_OK(t, when_replayed(t, held.id));
    EXPECT_INT(t, 0, look(t, held.id)->reclaim_count);
    EXPECT_INT(t, 1, given_claimed_next(t).attempt_index);
}
