/* SPDX-License-Identifier: Apache-2.0
 *
 * lease_renew.c -- keeping a lease: longer, never shorter. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

#define TTL_MS   10000 /* longer than a slow machine keeps a thread waiting */
#define EVERY_MS 250

/* As a worker does: again and again, not all the time. */
static void pass_some_time(struct test *t)
{
    const int64_t until_ms = test_mono_ms() + EVERY_MS;

    WAIT_UNTIL(t, test_mono_ms() >= until_ms);
}

FF_CONFORMANCE(lease_renew, counts_from_now)
{
    const struct held held = given_claimed(t);
    const struct ff_info *info;

    EXPECT_OK(t, when_renewed(t, &held, 60000));
    info = look(t, held.id);
    EXPECT_INT(t, info->lease_expires_at_ms, t->answer.lease_expires_at_ms);
    EXPECT_INT(t, info->lease_renewed_at_ms + 60000, info->lease_expires_at_ms);
    EXPECT(t, info->lease_renewed_at_ms >= info->lease_acquired_at_ms);
    EXPECT_INT(t, held.epoch, info->lease_epoch);
    EXPECT_TEXT(t, held.lease_id, info->lease_id);
}

FF_CONFORMANCE(lease_renew, never_shortens)
{
    const struct ff_policy_spec p = policy();
    const struct held held = given_claimed_with(t, &p, 60000);

    EXPECT_OK(t, when_renewed(t, &held, 100));
    EXPECT_INT(t, held.expires_at_ms, t->answer.lease_expires_at_ms);
    EXPECT_INT(t, held.expires_at_ms, look(t, held.id)->lease_expires_at_ms);
}

FF_CONFORMANCE(lease_renew, without_a_ttl_takes_that_of_the_claim)
{
    const struct ff_policy_spec p = policy();
    const struct held held = given_claimed_with(t, &p, 45000);
    const struct ff_info *info;

    EXPECT_OK(t, when_renewed(t, &held, 0));
    info = look(t, held.id);
    EXPECT_INT(t, info->lease_renewed_at_ms + 45000, info->lease_expires_at_ms);
}

FF_CONFORMANCE_SLOW(lease_renew, keeps_a_lease_alive_for_many_ttls)
{
    const struct ff_policy_spec p = policy();
    const struct held held = given_claimed_with(t, &p, TTL_MS);
    int renewals = 0;

    /* Past the end of the first lease and of the timer that would have acted on it. */
    do {
        EXPECT_OK(t, when_renewed(t, &held, 0));
        renewals++;
        pass_some_time(t);
    } while (t->answer.lease_expires_at_ms < held.expires_at_ms + TTL_MS + 1000);
    EXPECT(t, renewals > 2);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_INT(t, 1, look(t, held.id)->attempt_count);
}

FF_CONFORMANCE(lease_renew, ttl_has_limits)
{
    const struct held held = given_claimed(t);

    EXPECT_REFUSED(t, FF_INVALID, "lease_ttl_ms", when_renewed(t, &held, 99));
    EXPECT_REFUSED(t, FF_INVALID, "lease_ttl_ms", when_renewed(t, &held, -1));
    EXPECT_REFUSED(t, FF_INVALID, "lease_ttl_ms", when_renewed(t, &held, 3600001));
    EXPECT_REFUSED(t, FF_INVALID, "lease_ttl_ms", when_renewed(t, &held, INT64_MAX));
    EXPECT_OK(t, when_renewed(t, &held, 100));
    EXPECT_OK(t, when_renewed(t, &held, 3600000));
}

/* F35: in an earlier engine every renewal was one more event row. */
FF_CONFORMANCE(lease_renew, writes_no_event_inside_its_first_ttl)
{
    const struct held held = given_claimed(t);

    for (int i = 0; i < 5; i++)
        EXPECT_OK(t, when_renewed(t, &held, 0));
    EXPECT_EVENTS(t, held.id, "acquired");
}

/* Renewed again and again, for several TTLs: one event for each that has begun, not one per
 * renewal.
 */
FF_CONFORMANCE_SLOW(lease_renew, writes_one_event_per_ttl)
{
    const struct ff_policy_spec p = policy();
    const struct held held = given_claimed_with(t, &p, TTL_MS);
    const int64_t from_ms = store_now_ms(t);
    size_t events, renewals = 0;

    do {
        EXPECT_OK(t, when_renewed(t, &held, TTL_MS));
        renewals++;
        pass_some_time(t);
    } while (store_now_ms(t) - from_ms < 2 * TTL_MS);
    events = history(t, held.id)->count - 2; /* submitted, acquired */
    EXPECT(t, events >= 1);
    EXPECT(t, events < renewals);
    EXPECT(t, (int64_t)events <= (store_now_ms(t) - from_ms) / TTL_MS + 1);
}

FF_CONFORMANCE(lease_renew, writes_all_events_if_told_so)
{
    const struct ff_options all = {.size = sizeof all, .event_renewals = "all"};
    struct held held;

    given_options(t, &all);
    held = given_claimed(t);
    EXPECT_OK(t, when_renewed(t, &held, 0));
    EXPECT_OK(t, when_renewed(t, &held, 40000));
    EXPECT_EVENTS(t, held.id, "acquired renewed renewed");
    EXPECT_INT(t, t->answer.lease_expires_at_ms, last_event(t, held.id, "lease", "renewed")->num_a);
}

FF_CONFORMANCE_SLOW(lease_renew, writes_no_events_if_told_so)
{
    const struct ff_options none = {.size = sizeof none, .event_renewals = "none"};
    const struct ff_policy_spec p = policy();
    struct held held;
    int64_t from_ms;

    given_options(t, &none);
    held = given_claimed_with(t, &p, TTL_MS);
    from_ms = store_now_ms(t);
    do { /* by default there would be one now */
        EXPECT_OK(t, when_renewed(t, &held, TTL_MS));
        pass_some_time(t);
    } while (store_now_ms(t) - from_ms <= TTL_MS + 100);
    EXPECT_OK(t, when_renewed(t, &held, TTL_MS));
    EXPECT_EVENTS(t, held.id, "acquired");
}

FF_CONFORMANCE(lease_renew, takes_many_tasks_in_one_call)
{
    struct ff_renewal *const items = keep(t, 257 * sizeof *items);
    struct ff_task_result *const results = keep(t, 257 * sizeof *results);
    struct held *const held = keep(t, 20 * sizeof *held);
    struct ff_claim_request r = claim_request();

    for (int i = 0; i < 20; i++)
        (void)given_submitted(t);
    r.max = 20;
    EXPECT_INT(t, 20, (int64_t)when_claimed_many(t, &r, held, 20));
    for (size_t i = 0; i < 257; i++)
        items[i] = (struct ff_renewal){.lease = lease_of(&held[i % 20])};
    items[3].lease.lease_epoch = 7; /* one bad one */
    EXPECT_OK(t, ff_renew(t->client, items, 256, results, &t->err));
    for (size_t i = 0; i < 256; i++)
        EXPECT_INT(t, i == 3 ? FF_STALE_LEASE : FF_OK, results[i].status);
    EXPECT_REFUSED(t, FF_TOO_LARGE, "count", ff_renew(t->client, items, 257, results, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "count", ff_renew(t->client, items, 0, results, &t->err));
}
