/* SPDX-License-Identifier: Apache-2.0
 *
 * event_page.c -- reading the log page by page: cursors, filters, limits, waiting. */
#include "support/flows.h"
#include "support/follows.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static ff_status when_paged(struct test *t, const struct ff_event_filter *filter, const char *after,
                            int32_t limit, int64_t wait_ms)
{
    struct ff_event_list list = {0};
    const ff_status status = ff_events(t->client, filter, after, limit, wait_ms, &list, &t->err);

    keep_answer(t, list.memory);
    return status;
}

FF_CONFORMANCE(event_page, whole_log_is_read_in_order_without_repeats)
{
    size_t seen = 0;
    int64_t last = 0;
    const char *cursor = "start";

    for (int i = 0; i < 10; i++)
        (void)given_completed(t);
    for (;;) {
        const struct ff_event_list *const some = page(t, NULL, cursor, 7);

        for (size_t i = 0; i < some->count; i++) {
            EXPECT(t, some->items[i].event_id > last);
            last = some->items[i].event_id;
        }
        seen += some->count;
        cursor = some->next_cursor;
        if (some->count == 0)
            break;
        EXPECT_INT(t, last, some->items[some->count - 1].event_id);
    }
    EXPECT(t, seen >= 20); /* acquired and success of each, and the worker */
}

FF_CONFORMANCE(event_page, without_a_cursor_begins_now)
{
    (void)given_completed(t);
    const struct ff_event_list *const none = page(t, NULL, NULL, 10);
    const struct ff_event_list *const empty = page(t, NULL, "", 10);

    EXPECT_INT(t, 0, (int64_t)none->count);
    EXPECT_INT(t, 0, (int64_t)empty->count);
    EXPECT_TEXT(t, none->next_cursor, empty->next_cursor);
    const struct held held = given_claimed(t);
    const struct ff_event_filter filter = events_of(held.id);
    const struct ff_event_list *const later = page(t, &filter, none->next_cursor, 10);
    EXPECT_INT(t, 1, (int64_t)later->count);
    EXPECT_TEXT(t, "acquired", later->items[0].type);
}

FF_CONFORMANCE(event_page, cursor_moves_past_what_the_filter_leaves_out)
{
    struct ff_event_filter filter = any_event();
    const char *const before = log_end(t);

    filter.ns = "nobody";
    (void)given_completed(t);
    WAIT_UNTIL(t, strcmp(page(t, &filter, before, 10)->next_cursor, log_end(t)) == 0);
    EXPECT_INT(t, 0, (int64_t)page(t, &filter, before, 10)->count);
}

FF_CONFORMANCE(event_page, bad_input_is_refused_by_name)
{
    const char *const kind = "gossip";
    struct ff_event_filter filter = events_of_kind(&kind);

    EXPECT_STATUS(t, FF_BAD_CURSOR, when_paged(t, NULL, "01", 0, 0));
    EXPECT_STATUS(t, FF_BAD_CURSOR, when_paged(t, NULL, "01000000000000000a", 0, 0));
    EXPECT_STATUS(t, FF_BAD_CURSOR, when_paged(t, NULL, "02800000000000000a", 0, 0));
    EXPECT_STATUS(t, FF_BAD_CURSOR, when_paged(t, NULL, "beginning", 0, 0));
    EXPECT_REFUSED(t, FF_INVALID, "kinds", when_paged(t, &filter, NULL, 0, 0));
    EXPECT_REFUSED(t, FF_INVALID, "limit", when_paged(t, NULL, NULL, 1001, 0));
    EXPECT_REFUSED(t, FF_INVALID, "wait_ms", when_paged(t, NULL, NULL, 0, 60001));
    filter = any_event();
    filter.partition_from = 256;
    EXPECT_REFUSED(t, FF_INVALID, "partition", when_paged(t, &filter, NULL, 0, 0));
    filter = any_event();
    filter.partition_from = 7;
    filter.partition_to = 6;
    EXPECT_REFUSED(t, FF_INVALID, "partition", when_paged(t, &filter, NULL, 0, 0));
    filter = any_event();
    filter.partition_from = -2;
    EXPECT_REFUSED(t, FF_INVALID, "partition", when_paged(t, &filter, NULL, 0, 0));
    filter = events_of("nonsense");
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_paged(t, &filter, NULL, 0, 0));
}

/* Whoever asks for nothing in particular by mistake must not be shown everything. */
FF_CONFORMANCE(event_page, empty_filter_is_refused_by_name)
{
    struct ff_event_filter filter = events_of("");

    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_paged(t, &filter, "start", 0, 0));
    filter = any_event();
    filter.flow_id = "";
    EXPECT_REFUSED(t, FF_INVALID, "flow_id", when_paged(t, &filter, "start", 0, 0));
    filter = any_event();
    filter.ns = "";
    EXPECT_REFUSED(t, FF_INVALID, "namespace", when_paged(t, &filter, "start", 0, 0));
    filter = any_event();
    filter.instance_tag = "";
    EXPECT_REFUSED(t, FF_INVALID, "instance_tag", when_paged(t, &filter, "start", 0, 0));
}

FF_CONFORMANCE(event_page, cursor_of_another_log_is_a_gap)
{
    (void)given_completed(t);
    EXPECT_STATUS(t, FF_GAP, when_paged(t, NULL, "020000ffffffffffff", 0, 0));
    EXPECT_TEXT(t, "020000000000000000", t->err.oldest);
    EXPECT_OK(t, when_paged(t, NULL, t->err.oldest, 0, 0));
}

static void complete_it(struct test *t, size_t index, void *ctx)
{
    (void)index;
    (void)ctx;
    (void)given_completed(t);
}

FF_CONFORMANCE(event_page, waits_for_what_comes)
{
    const char *const kind = "completion";
    const struct ff_event_filter filter = events_of_kind(&kind);
    const char *const before = log_end(t);
    struct ff_event_list list = {0};
    struct test_thread *const thread = start_thread(t, complete_it, 0, NULL);

    EXPECT_OK(t, ff_events(t->client, &filter, before, 0, 20000, &list, &t->err));
    keep_answer(t, list.memory);
    join_thread(t, thread);
    EXPECT_INT(t, 1, (int64_t)list.count);
    EXPECT_TEXT(t, "success", list.items[0].type);
    EXPECT(t, strcmp(list.next_cursor, list.items[0].cursor) >= 0);
}

FF_CONFORMANCE(event_page, filters_by_kind_partition_execution_and_flow)
{
    const char *const kind = "lease";
    const struct flow flow = given_flow(t, "a b | a>b");
    struct ff_event_filter filter = events_of_kind(&kind);
    const struct held held = given_claimed_next(t);
    int32_t partition;

    EXPECT_OK(t, when_completed(t, &held, NULL));
    when_node_completed(t, &flow, "b");
    (void)given_completed(t);
    const struct ff_event_list *leases = page(t, &filter, "start", 100);
    EXPECT_INT(t, 3, (int64_t)leases->count);
    EXPECT_INT(t, 1, sscanf(held.id, "{fp:%d}", &partition));
    filter.partition_from = filter.partition_to = partition;
    filter.flow_id = flow.id;
    leases = page(t, &filter, "start", 100);
    EXPECT_INT(t, 2, (int64_t)leases->count);
    filter.execution_id = held.id;
    leases = page(t, &filter, "start", 100);
    EXPECT_INT(t, 1, (int64_t)leases->count);
    EXPECT_TEXT(t, held.lease_id, leases->items[0].lease_id);
    filter.partition_to = -1; /* from there on */
    EXPECT_INT(t, 1, (int64_t)page(t, &filter, "start", 100)->count);
    filter.partition_to = partition;
    filter.partition_from = -1; /* up to there */
    EXPECT_INT(t, 1, (int64_t)page(t, &filter, "start", 100)->count);
    filter.partition_to = partition > 0 ? partition - 1 : -1;
    filter.partition_from = partition > 0 ? -1 : 1;
    EXPECT_INT(t, 0, (int64_t)page(t, &filter, "start", 100)->count);
    filter.partition_from = partition + 1 < 256 ? partition + 1 : 0;
    filter.partition_to = filter.partition_from;
    EXPECT_INT(t, 0, (int64_t)page(t, &filter, "start", 100)->count);
}
