/* SPDX-License-Identifier: Apache-2.0
 *
 * event_subscribe.c -- following the log.
 *
 * Pitfalls F41 (only one partition), F42 (cursor ignored), F44 (no namespace, no tag), F45 (poor
 * events), F46 (a connection each). */
#include "support/flows.h"
#include "support/follows.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define CROWD     100
#define FOLLOWERS 250   /* more than the server of the tests has connections */
#define TTL_MS    10000 /* longer than a slow machine keeps a thread waiting */

/* F45: who held it, who holds it now, and who took it away. */
FF_CONFORMANCE_SLOW(event_subscribe, f45_lease_events_say_everything)
{
    const char *const kind = "lease";
    const struct ff_event_filter filter = events_of_kind(&kind);
    const struct ff_options options = {.size = sizeof options, .event_renewals = "all"};
    const struct ff_policy_spec p = reclaim_policy(3);
    struct ff_subscription *sub;
    const struct ff_event_info *event;
    struct held held, second;

    given_options(t, &options);
    sub = given_subscribed(t, &filter, NULL);
    held = given_claimed_with(t, &p, TTL_MS);
    event = next_event(t, sub);
    EXPECT_TEXT(t, "acquired", event->type);
    EXPECT_TEXT(t, held.id, event->execution_id);
    EXPECT_TEXT(t, held.lease_id, event->lease_id);
    EXPECT_INT(t, held.epoch, event->lease_epoch);
    EXPECT_TEXT(t, WORKER, event->worker_id);
    EXPECT_TEXT(t, INSTANCE, event->worker_instance_id);
    EXPECT_TEXT(t, "default", event->ns);
    EXPECT_OK(t, when_renewed(t, &held, TTL_MS));
    EXPECT_TEXT(t, "renewed", next_event(t, sub)->type);
    event = next_event(t, sub);
    EXPECT_TEXT(t, "expired", event->type);
    EXPECT_TEXT(t, INSTANCE, event->prev_owner);
    second = given_claimed_next(t);
    event = next_event(t, sub);
    EXPECT_TEXT(t, "reclaimed", event->type);
    EXPECT_TEXT(t, second.lease_id, event->lease_id);
    EXPECT_TEXT(t, INSTANCE, event->prev_owner);
    EXPECT_OK(t, when_revoked(t, second.id));
    event = next_event(t, sub);
    EXPECT_TEXT(t, "revoked", event->type);
    EXPECT_TEXT(t, second.lease_id, event->lease_id);
    EXPECT_TEXT(t, INSTANCE, event->prev_owner);
    second = given_claimed_next(t);
    EXPECT_TEXT(t, "acquired", next_event(t, sub)->type);
    EXPECT_OK(t, when_released(t, &second, "bye"));
    event = next_event(t, sub);
    EXPECT_TEXT(t, "released", event->type);
    EXPECT_TEXT(t, "bye", event->note);
    expect_nothing_more(t, sub);
}

/* F41: whatever partition an execution is in; each completion once, a burst whole. */
FF_CONFORMANCE(event_subscribe, f41_burst_of_all_partitions_arrives_once_each)
{
    const char *const kind = "completion";
    const struct ff_event_filter filter = events_of_kind(&kind);
    struct ff_subscription *const sub = given_subscribed(t, &filter, NULL);
    struct ff_subscription *const second = given_subscribed(t, &filter, NULL);
    struct ff_claim_request r = claim_request();
    struct held *const held = keep(t, CROWD * sizeof *held);
    bool partitions[256] = {false};
    size_t different = 0;
    int64_t last = 0;

    for (int i = 0; i < CROWD; i++)
        (void)given_submitted(t);
    r.max = CROWD;
    EXPECT_INT(t, CROWD, (int64_t)when_claimed_many(t, &r, held, CROWD));
    for (int i = 0; i < CROWD; i++)
        EXPECT_OK(t, when_completed(t, &held[i], NULL));
    for (int i = 0; i < CROWD; i++) {
        const struct ff_event_info *const event = next_event(t, sub);
        int partition = -1;

        EXPECT_TEXT(t, event->execution_id, next_event(t, second)->execution_id);
        EXPECT(t, event->event_id > last);
        last = event->event_id;
        EXPECT_INT(t, 1, sscanf(event->execution_id, "{fp:%d}", &partition));
        different += !partitions[partition];
        partitions[partition] = true;
    }
    EXPECT(t, different > 20);
    expect_nothing_more(t, sub);
    expect_nothing_more(t, second);
}

/* F42: the cursor of any event goes on behind it. */
FF_CONFORMANCE(event_subscribe, f42_goes_on_behind_the_cursor_it_is_given)
{
    const char *const kind = "completion";
    const struct ff_event_filter filter = events_of_kind(&kind);
    struct ff_subscription *first = given_subscribed(t, &filter, NULL);
    const struct name a = given_completed(t);
    const struct name b = given_completed(t);
    const struct ff_event_info *const event = next_event(t, first);
    struct ff_subscription *again;
    struct name c;

    EXPECT_TEXT(t, a.id, event->execution_id);
    again = given_subscribed(t, &filter, event->cursor);
    EXPECT_TEXT(t, b.id, next_event(t, again)->execution_id);
    c = given_completed(t);
    EXPECT_TEXT(t, c.id, next_event(t, again)->execution_id);
    expect_nothing_more(t, again);
}

FF_CONFORMANCE(event_subscribe, from_the_start_tells_everything)
{
    const struct name name = given_completed(t);
    const struct ff_event_filter filter = events_of(name.id);
    struct ff_subscription *const sub = given_subscribed(t, &filter, "start");

    EXPECT_NEXT(t, sub, "lease.acquired completion.success");
    expect_nothing_more(t, sub);
}

/* What is committed after the call returned comes, what was committed before it does not. */
FF_CONFORMANCE(event_subscribe, from_now_begins_with_the_call)
{
    static const char *const kinds[] = {"lease", "completion"};
    struct ff_event_filter filter = events_of_kind(kinds);

    filter.kind_count = 2; /* the worker is registered some time */
    for (int i = 0; i < 20; i++) {
        const struct name before = given_completed(t);
        struct ff_subscription *const sub = given_subscribed(t, &filter, NULL);
        const struct held held = given_claimed(t);

        EXPECT_TEXT(t, held.id, next_event(t, sub)->execution_id);
        EXPECT_OK(t, when_completed(t, &held, NULL));
        EXPECT_TEXT(t, held.id, next_event(t, sub)->execution_id);
        expect_nothing_more(t, sub);
        EXPECT_STATE(t, before.id, "completed");
    }
}

/* F44: namespaces and instance tags keep tenants apart, for members of flows too. */
FF_CONFORMANCE(event_subscribe, f44_filters_keep_tenants_apart)
{
    const char *const kind = "completion";
    const struct ff_tag_pair blue = {"instance", "blue"}, green = {"instance", "green"};
    struct ff_event_filter shop = events_of_kind(&kind), tag = events_of_kind(&kind);
    struct ff_submission s = submission();
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_subscription *in_shop, *in_blue;
    struct ff_flow_made made;
    struct name in_both, green_one;

    shop.ns = "shop";
    tag.instance_tag = "blue";
    in_shop = given_subscribed(t, &shop, NULL);
    in_blue = given_subscribed(t, &tag, NULL);
    (void)given_completed(t); /* neither */
    s.ns = "shop";
    s.tags = &blue;
    s.tag_count = 1;
    in_both = given(t, &s);
    EXPECT_OK(t, when_cancelled(t, in_both.id));
    s.tags = &green;
    green_one = given(t, &s);
    EXPECT_OK(t, when_cancelled(t, green_one.id));
    r->ns = "office";
    r->tags = &blue;
    r->tag_count = 1;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    const struct held a = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &a, NULL));
    EXPECT_TEXT(t, in_both.id, next_event(t, in_shop)->execution_id);
    EXPECT_TEXT(t, green_one.id, next_event(t, in_shop)->execution_id);
    expect_nothing_more(t, in_shop);
    EXPECT_TEXT(t, in_both.id, next_event(t, in_blue)->execution_id);
    const struct ff_event_info *const member = next_event(t, in_blue);
    EXPECT_TEXT(t, a.id, member->execution_id);
    EXPECT_TEXT(t, "office", member->ns);
    EXPECT_TEXT(t, "blue", member->instance_tag);
    expect_nothing_more(t, in_blue);
}

FF_CONFORMANCE(event_subscribe, malformed_cursor_is_refused_at_once)
{
    struct ff_subscription *sub = NULL;

    EXPECT_STATUS(t, FF_BAD_CURSOR, ff_subscribe(t->client, NULL, "02zz", &sub, &t->err));
    EXPECT_STATUS(t, FF_GAP, ff_subscribe(t->client, NULL, "020000ffffffffffff", &sub, &t->err));
    EXPECT(t, sub == NULL);
}

struct calls {
    _Atomic int events, ends;
    int enough;
};

static bool count_call(const struct ff_delivery *delivery, void *ctx)
{
    struct calls *const calls = ctx;

    calls->events += (int)delivery->count;
    return calls->events < calls->enough;
}

/* Until it says that it has, or is unsubscribed. */
FF_CONFORMANCE(event_subscribe, callback_is_called_until_it_has_enough)
{
    const char *const kind = "completion";
    const struct ff_event_filter filter = events_of_kind(&kind);
    struct calls *const calls = keep(t, 2 * sizeof *calls);
    struct ff_subscription *one = NULL, *two = NULL;

    calls[0].enough = 1;
    calls[1].enough = 1000000;
    EXPECT_OK(
        t, ff_subscribe_callback(t->client, &filter, NULL, count_call, &calls[0], &one, &t->err));
    EXPECT_OK(
        t, ff_subscribe_callback(t->client, &filter, NULL, count_call, &calls[1], &two, &t->err));
    (void)given_completed(t);
    WAIT_UNTIL(t, calls[0].events == 1);
    (void)given_completed(t);
    WAIT_UNTIL(t, calls[1].events == 2);
    EXPECT_INT(t, 1, calls[0].events);
    ff_unsubscribe(two);
    (void)given_completed(t);
    EXPECT_INT(t, 2, calls[1].events);
    ff_unsubscribe(one);
}

static bool hears_the_end(const struct ff_delivery *delivery, void *ctx)
{
    struct calls *const calls = ctx;

    calls->ends += delivery->notice && !strcmp(delivery->notice, "closed");
    return true;
}

/* A callback hears of the end too, once. */
FF_CONFORMANCE(event_subscribe, closing_the_client_ends_it)
{
    struct ff_subscription *const sub = given_subscribed(t, NULL, NULL);
    struct calls *const calls = keep(t, sizeof *calls);
    struct ff_subscription *called = NULL;
    struct ff_delivery delivery = {0};

    EXPECT_OK(t,
              ff_subscribe_callback(t->client, NULL, NULL, hears_the_end, calls, &called, &t->err));
    close_client(t, &t->client);
    EXPECT_STATUS(t, FF_CLOSED, ff_subscription_next(sub, 0, TEST_WAIT_MS, &delivery, &t->err));
    WAIT_UNTIL(t, calls->ends == 1);
    ff_unsubscribe(called);
    given_reopened(t, NULL);
}

/* F46: many followers do not use up the connections others need: there are not that many. */
FF_CONFORMANCE(event_subscribe, f46_crowd_needs_no_connections)
{
    const char *const kind = "completion";
    const struct ff_event_filter filter = events_of_kind(&kind);
    struct ff_subscription *subs[FOLLOWERS];
    struct name name;

    for (int i = 0; i < FOLLOWERS; i++)
        subs[i] = given_subscribed(t, &filter, NULL);
    name = given_completed(t);
    for (int i = 0; i < FOLLOWERS; i++)
        EXPECT_TEXT(t, name.id, next_event(t, subs[i])->execution_id);
}

/* Another process, or another client, is heard too. */
FF_CONFORMANCE(event_subscribe, hears_of_other_clients)
{
    const char *const kind = "lease"; /* the worker is registered some time */
    const struct ff_event_filter filter = events_of_kind(&kind);
    struct ff_client *const other = another_client(t, NULL);
    struct ff_client *const mine = t->client;
    struct ff_subscription *const sub = given_subscribed(t, &filter, NULL);
    struct held held;

    t->client = other;
    held = given_claimed(t);
    t->client = mine;
    EXPECT_TEXT(t, held.id, next_event(t, sub)->execution_id);
}
