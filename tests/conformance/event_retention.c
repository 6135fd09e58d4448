/* SPDX-License-Identifier: Apache-2.0
 *
 * event_retention.c -- how long events are kept, and a log that was put back from an older copy. */
#include "support/follows.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static bool is_gap(struct test *t, const char *cursor)
{
    struct ff_event_list list = {0};
    const ff_status status = ff_events(t->client, NULL, cursor, 1, 0, &list, &t->err);

    keep_answer(t, list.memory);
    return status == FF_GAP;
}

/* On Postgres only whole ranges of ids go: the jump of a restored log begins a new one. */
FF_CONFORMANCE_SLOW(event_retention, old_events_are_a_gap)
{
    const struct ff_options options = {.size = sizeof options, .event_retention_ms = 1000};
    const struct ff_event_list *old;

    (void)given_completed(t);
    old = page(t, NULL, "start", 1); /* before anybody forgets */
    given_reopened(t, &options);
    EXPECT_OK(t, ff_restored(t->url, &t->err));
    (void)given_completed(t);
    WAIT_UNTIL(t, is_gap(t, old->items[0].cursor));
    EXPECT(t, strcmp(t->err.oldest, old->items[0].cursor) > 0);
    EXPECT(t, !is_gap(t, t->err.oldest));
    EXPECT(t, page(t, NULL, "start", 1)->items[0].event_id > old->items[0].event_id);
}

FF_CONFORMANCE(event_retention, options_out_of_range_are_refused)
{
    struct ff_options options = {.size = sizeof options, .event_retention_ms = -1};
    struct ff_client *client = NULL;

    needs_store(t, "options of the engine");
    EXPECT_REFUSED(t, FF_INVALID, "event_retention_ms",
                   ff_open(t->url, &options, &client, &t->err));
    options = (struct ff_options){.size = sizeof options, .event_count_max = -1};
    EXPECT_REFUSED(t, FF_INVALID, "event_count_max", ff_open(t->url, &options, &client, &t->err));
}

/* Whoever has seen more than the copy knows hears of it; ids are never given out twice. */
FF_CONFORMANCE(event_retention, restored_log_jumps_and_says_so)
{
    struct ff_subscription *const sub = given_subscribed(t, NULL, NULL);
    const struct name before = given_completed(t);
    const struct ff_event_info *event;
    char beyond[32];
    int64_t last = 0;

    for (int i = 0; i < 3; i++)
        last = next_event(t, sub)->event_id; /* acquired, success, and the worker */
    /* As if two more had been written to the copy that was lost. */
    (void)snprintf(beyond, sizeof beyond, "02%016llx", (unsigned long long)last + 2);
    EXPECT_OK(t, ff_restored(t->store->below[0] ? t->store->below : t->url, &t->err));
    event = next_event(t, sub);
    EXPECT_TEXT(t, "log", event->kind);
    EXPECT_TEXT(t, "reset", event->type);
    EXPECT_INT(t, last, event->num_a);
    EXPECT(t, event->event_id >= last + INT64_C(4294967296));
    struct ff_subscription *const ahead = given_subscribed(t, NULL, beyond);
    const struct ff_delivery *const notice = next_delivery(t, ahead);
    EXPECT_TEXT(t, "reset", notice->notice);
    EXPECT_NEXT(t, ahead, "log.reset");
    struct ff_subscription *const told = given_subscribed(t, NULL, notice->cursor);
    EXPECT_NEXT(t, told, "log.reset");
    const struct ff_event_list *const some = page(t, NULL, beyond, 10);
    EXPECT_TEXT(t, "reset", some->notice);
    EXPECT_TEXT(t, notice->cursor, some->notice_cursor);
    EXPECT_INT(t, event->event_id, some->items[0].event_id);
    EXPECT(t, !page(t, NULL, some->notice_cursor, 10)->notice);
    const struct held held = given_claimed(t);
    EXPECT_TEXT(t, held.id, next_event(t, ahead)->execution_id);
    EXPECT_TEXT(t, held.id, next_event(t, sub)->execution_id);
    EXPECT_STATE(t, before.id, "completed");
}
