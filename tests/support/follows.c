/* SPDX-License-Identifier: Apache-2.0
 *
 * follows.c -- subscriptions, pages and cursors in tests. */
#include "support/follows.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

struct ff_event_filter any_event(void)
{
    struct ff_event_filter filter;

    ff_event_filter_init(&filter);
    return filter;
}

struct ff_event_filter events_of(const char *execution_id)
{
    struct ff_event_filter filter = any_event();

    filter.execution_id = execution_id;
    return filter;
}

struct ff_event_filter events_of_kind(const char *const *kind)
{
    struct ff_event_filter filter = any_event();

    filter.kinds = kind;
    filter.kind_count = 1;
    return filter;
}

static void unsubscribe(void *memory)
{
    struct ff_subscription **const subscription = memory;

    ff_unsubscribe(*subscription);
}

struct ff_subscription *given_subscribed(struct test *t, const struct ff_event_filter *filter,
                                         const char *after)
{
    struct ff_subscription **const kept = keep_until(t, sizeof *kept, unsubscribe);

    EXPECT_OK(t, ff_subscribe(t->client, filter, after, kept, &t->err));
    return *kept;
}

const struct ff_delivery *next_delivery(struct test *t, struct ff_subscription *subscription)
{
    struct ff_delivery *const delivery = keep(t, sizeof *delivery);

    EXPECT_OK(t, ff_subscription_next(subscription, 1, TEST_WAIT_MS, delivery, &t->err));
    keep_answer(t, delivery->memory);
    if (!delivery->count && !delivery->notice)
        FAIL(t, "nothing came");
    return delivery;
}

const struct ff_event_info *next_event(struct test *t, struct ff_subscription *subscription)
{
    const struct ff_delivery *const delivery = next_delivery(t, subscription);

    if (delivery->notice)
        FAIL(t, "notice '%s' instead of an event", delivery->notice);
    EXPECT(t, strcmp(delivery->cursor, delivery->items[0].cursor) >= 0);
    return &delivery->items[0];
}

void expect_next(struct test *t, const char *file, int line, struct ff_subscription *subscription,
                 const char *want)
{
    char got[1024] = "";

    for (size_t used = 0; strlen(got) < strlen(want);) {
        const struct ff_event_info *const event = next_event(t, subscription);

        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s.%s", used ? " " : "",
                                 event->kind, event->type);
        if (used >= sizeof got || strncmp(got, want, strlen(got)) != 0)
            break;
    }
    if (strcmp(got, want) != 0)
        test_fail(t, file, line, "wanted '%s', got '%s'", want, got);
}

/* Cursors are hex of big-endian numbers: their order is that of the log. */
void expect_nothing_more(struct test *t, struct ff_subscription *subscription)
{
    const char *const end = log_end(t);
    const int64_t until_ms = test_mono_ms() + TEST_WAIT_MS;
    struct ff_delivery delivery = {0};

    do {
        EXPECT_OK(t, ff_subscription_next(subscription, 1, 20, &delivery, &t->err));
        keep_answer(t, delivery.memory);
        if (delivery.notice)
            FAIL(t, "notice '%s' came", delivery.notice);
        if (delivery.count)
            FAIL(t, "%s.%s came", delivery.items[0].kind, delivery.items[0].type);
        if (test_mono_ms() > until_ms)
            FAIL(t, "stays at %s, the log ends at %s", delivery.cursor, end);
    } while (strcmp(delivery.cursor, end) < 0);
}

const struct ff_event_list *page(struct test *t, const struct ff_event_filter *filter,
                                 const char *after, int32_t limit)
{
    struct ff_event_list *const list = keep(t, sizeof *list);

    EXPECT_OK(t, ff_events(t->client, filter, after, limit, 0, list, &t->err));
    keep_answer(t, list->memory);
    return list;
}

const char *log_end(struct test *t)
{
    return page(t, NULL, NULL, 1)->next_cursor;
}
