/* SPDX-License-Identifier: Apache-2.0
 *
 * registry_look.c -- lanes, workers and loops, as an operator sees them. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

static const struct ff_lane_list *lanes(struct test *t)
{
    struct ff_lane_list *const all = keep(t, sizeof *all);

    EXPECT_OK(t, ff_lanes(t->client, all, &t->err));
    keep_answer(t, all->memory);
    return all;
}

static const struct ff_worker_list *workers(struct test *t)
{
    struct ff_worker_list *const all = keep(t, sizeof *all);

    EXPECT_OK(t, ff_workers(t->client, all, &t->err));
    keep_answer(t, all->memory);
    return all;
}

static const struct ff_scanner_info *scanner(struct test *t, const char *name)
{
    struct ff_scanner_list all = {0};

    EXPECT_OK(t, ff_scanners(t->client, &all, &t->err));
    keep_answer(t, all.memory);
    for (size_t i = 0; i < all.count; i++)
        if (!strcmp(all.items[i].name, name))
            return &all.items[i];
    FAIL(t, "there is no loop '%s'", name);
}

FF_CONFORMANCE(registry_look, no_lanes_and_no_workers_at_first)
{
    EXPECT_INT(t, 0, (int64_t)lanes(t)->count);
    EXPECT_INT(t, 0, (int64_t)workers(t)->count);
}

FF_CONFORMANCE(registry_look, lanes_count_what_lives)
{
    const struct name oldest = given_submitted(t);
    struct ff_submission s = submission();
    const struct ff_lane_list *all;
    struct held held;

    (void)given_submitted(t);
    held = given_claimed_next(t);
    EXPECT_TEXT(t, oldest.id, held.id);
    (void)given_submitted(t);
    s.delay_ms = 3600000;
    (void)given(t, &s);
    s.lane = "b";
    (void)given(t, &s);
    all = lanes(t);
    EXPECT_INT(t, 2, (int64_t)all->count);
    EXPECT_TEXT(t, "b", all->items[0].lane);
    EXPECT_INT(t, FF_ABSENT_MS, all->items[0].oldest_waiting_at_ms);
    EXPECT_TEXT(t, "default", all->items[1].lane);
    EXPECT_INT(t, 2, all->items[1].waiting);
    EXPECT_INT(t, 1, all->items[1].active);
    EXPECT_INT(t, 1, all->items[1].delayed);
    EXPECT_INT(t, 0, all->items[1].blocked);
    EXPECT(t, !all->items[1].paused);
    EXPECT(t, all->items[1].oldest_waiting_at_ms >= look(t, oldest.id)->created_at_ms);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_INT(t, 0, lanes(t)->items[1].active);
}

FF_CONFORMANCE_SLOW(registry_look, lanes_count_what_waits_to_be_reclaimed_as_active)
{
    const struct ff_policy_spec p = reclaim_policy(3);
    const struct held held = given_claimed_with(t, &p, 100);

    given_lapsed(t, &held);
    EXPECT_INT(t, 1, lanes(t)->items[0].active);
    EXPECT_INT(t, 0, lanes(t)->items[0].waiting);
}

FF_CONFORMANCE(registry_look, claiming_makes_a_worker_known)
{
    static const char *const names[] = {"a", "b", "c,d"};
    struct ff_claim_request r = claim_request();
    const struct ff_worker_info *worker;

    r.lanes = names;
    r.lane_count = 3;
    r.kinds = names + 2;
    r.kind_count = 1;
    r.capabilities = names + 1;
    r.capability_count = 1;
    r.ns = "tenant-1";
    EXPECT_OK(t, when_asked(t, &r));
    WAIT_UNTIL(t, workers(t)->count == 1);
    worker = &workers(t)->items[0];
    EXPECT_TEXT(t, WORKER, worker->worker_id);
    EXPECT_TEXT(t, INSTANCE, worker->worker_instance_id);
    EXPECT_TEXT(t, "tenant-1", worker->ns);
    EXPECT_INT(t, 3, (int64_t)worker->lane_count);
    EXPECT_TEXT(t, "a", worker->lanes[0]);
    EXPECT_TEXT(t, "b", worker->lanes[1]);
    EXPECT_TEXT(t, "c,d", worker->lanes[2]);
    EXPECT_INT(t, 1, (int64_t)worker->kind_count);
    EXPECT_TEXT(t, "c,d", worker->kinds[0]);
    EXPECT_INT(t, 1, (int64_t)worker->capability_count);
    EXPECT_TEXT(t, "b", worker->capabilities[0]);
    EXPECT(t, worker->live);
    EXPECT(t, worker->seen_at_ms >= worker->registered_at_ms);
}

FF_CONFORMANCE(registry_look, every_instance_is_a_worker_of_its_own)
{
    struct ff_claim_request r = claim_request();

    EXPECT_OK(t, when_asked(t, &r));
    r.worker_instance_id = "instance-2";
    EXPECT_OK(t, when_asked(t, &r));
    EXPECT_OK(t, when_asked(t, &r));
    WAIT_UNTIL(t, workers(t)->count == 2);
    EXPECT_TEXT(t, "instance-1", workers(t)->items[0].worker_instance_id);
    EXPECT_TEXT(t, "instance-2", workers(t)->items[1].worker_instance_id);
}

static bool offers(struct test *t, const char *lane_list)
{
    const struct ff_worker_list *const all = workers(t);

    return all->count == 1 && !strcmp(all->items[0].lanes[0], lane_list);
}

FF_CONFORMANCE(registry_look, what_a_worker_offers_is_kept_up_to_date)
{
    static const char *const lane[] = {"b"};
    struct ff_claim_request r = claim_request();

    EXPECT_OK(t, when_asked(t, &r));
    WAIT_UNTIL(t, offers(t, "default"));
    r.lanes = lane;
    r.lane_count = 1;
    EXPECT_OK(t, when_asked(t, &r));
    WAIT_UNTIL(t, offers(t, "b"));
}

FF_CONFORMANCE(registry_look, all_loops_are_listed)
{
    EXPECT_INT(t, 1000, scanner(t, "attempt_timeout")->interval_ms);
    EXPECT_INT(t, 1000, scanner(t, "lease_expiry")->interval_ms);
    EXPECT_INT(t, 1000, scanner(t, "delayed")->interval_ms);
    EXPECT_INT(t, 5000, scanner(t, "execution_deadline")->interval_ms);
    EXPECT(t, scanner(t, "retention")->interval_ms > 0);
    EXPECT(t, scanner(t, "batch_prune")->interval_ms > 0);
}

FF_CONFORMANCE_SLOW(registry_look, loops_count_by_the_rule_that_fired)
{
    const struct ff_policy_spec lapsing = policy();
    struct ff_policy_spec slow = policy();
    struct ff_submission s = submission();
    struct held held = given_claimed_with(t, &lapsing, 100);

    given_lapsed(t, &held);
    WAIT_UNTIL(t, scanner(t, "lease_expiry")->processed == 1);
    EXPECT_INT(t, 0, scanner(t, "attempt_timeout")->processed);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    slow.attempt_timeout_ms = 100;
    held = given_claimed_with(t, &slow, 30000);
    given_lapsed(t, &held);
    WAIT_UNTIL(t, scanner(t, "attempt_timeout")->processed == 1);
    EXPECT_INT(t, 1, scanner(t, "lease_expiry")->processed);
    s.delay_ms = 10;
    (void)given(t, &s);
    WAIT_UNTIL(t, scanner(t, "delayed")->processed == 1);
    EXPECT(t, scanner(t, "lease_expiry")->ticks > 0);
    EXPECT_INT(t, 0, scanner(t, "lease_expiry")->errors + scanner(t, "delayed")->errors);
}

FF_CONFORMANCE(registry_look, tools_have_no_loops_at_work)
{
    const struct ff_options quiet = {.size = sizeof quiet, .passive = true};
    struct ff_submission s = submission();
    struct name name;

    given_options(t, &quiet);
    s.delay_ms = 1;
    name = given(t, &s);
    WAIT_UNTIL(t, store_now_ms(t) > look(t, name.id)->created_at_ms + 1500);
    EXPECT_STATE(t, name.id, "delayed");
}
