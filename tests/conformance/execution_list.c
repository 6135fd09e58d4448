/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_list.c -- many executions: filters and pages. Pitfall F56 (no search). */
#include "model/ids.h"
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static struct ff_filter filter(void)
{
    struct ff_filter f;

    ff_filter_init(&f);
    return f;
}

static ff_status when_listed(struct test *t, const struct ff_filter *f)
{
    struct ff_info_list page = {0};
    const ff_status status = ff_list(t->client, f, &page, &t->err);

    ff_answer_free(&page);
    return status;
}

static void given_many(struct test *t, size_t count, struct ff_submitted *results)
{
    struct ff_submission *const items = keep(t, count * sizeof *items);

    for (size_t i = 0; i < count; i++)
        items[i] = submission();
    EXPECT_OK(t, ff_submit(t->client, items, count, results, &t->err));
}

FF_CONFORMANCE(execution_list, of_nothing_is_empty)
{
    const struct ff_info_list *const page = list(t, NULL);

    EXPECT_INT(t, 0, (int64_t)page->count);
    EXPECT_TEXT(t, "", page->next_cursor);
}

FF_CONFORMANCE(execution_list, newest_first)
{
    struct name names[5];
    const struct ff_info_list *page;

    for (size_t i = 0; i < 5; i++)
        names[i] = given_submitted(t);
    page = list(t, NULL);
    EXPECT_INT(t, 5, (int64_t)page->count);
    for (size_t i = 0; i < 5; i++)
        EXPECT_TEXT(t, names[4 - i].id, page->items[i].execution_id);
}

/* 15 in pages of 5 are 3 pages, the last without a cursor. */
FF_CONFORMANCE(execution_list, pages_cover_everything_once)
{
    struct ff_submitted *const all = keep(t, 15 * sizeof *all);
    struct ff_filter f = filter();
    char cursor[FF_CURSOR_BYTES] = "";
    size_t seen = 0;
    int pages = 0;

    given_many(t, 15, all);
    f.limit = 5;
    do {
        const struct ff_info_list *page;

        f.cursor = cursor;
        page = list(t, &f);
        EXPECT_INT(t, 5, (int64_t)page->count);
        for (size_t i = 0; i < page->count; i++, seen++)
            EXPECT_TEXT(t, all[14 - seen].execution_id, page->items[i].execution_id);
        memcpy(cursor, page->next_cursor, sizeof cursor);
        pages++;
    } while (cursor[0]);
    EXPECT_INT(t, 3, pages);
    EXPECT_INT(t, 15, (int64_t)seen);
}

/* Rows present throughout are seen exactly once, whatever comes meanwhile. */
FF_CONFORMANCE(execution_list, pages_stay_stable_while_rows_are_added)
{
    struct ff_submitted *const all = keep(t, 20 * sizeof *all);
    struct ff_filter f = filter();
    char cursor[FF_CURSOR_BYTES] = "";
    size_t seen = 0;

    given_many(t, 20, all);
    f.limit = 3;
    do {
        const struct ff_info_list *page;

        f.cursor = cursor;
        page = list(t, &f);
        for (size_t i = 0; i < page->count; i++, seen++)
            EXPECT_TEXT(t, all[19 - seen].execution_id, page->items[i].execution_id);
        memcpy(cursor, page->next_cursor, sizeof cursor);
        (void)given_submitted(t);
    } while (cursor[0]);
    EXPECT_INT(t, 20, (int64_t)seen);
}

FF_CONFORMANCE(execution_list, limit_has_a_default_and_an_end)
{
    struct ff_submitted *const all = keep(t, 60 * sizeof *all);
    struct ff_filter f = filter();

    given_many(t, 60, all);
    EXPECT_INT(t, 50, (int64_t)list(t, &f)->count);
    EXPECT(t, list(t, &f)->next_cursor[0] != '\0');
    f.limit = 1000;
    EXPECT_INT(t, 60, (int64_t)list(t, &f)->count);
    EXPECT_TEXT(t, "", list(t, &f)->next_cursor);
    f.limit = -1;
    EXPECT_INT(t, 0, (int64_t)list(t, &f)->count);
    f.limit = 1001;
    EXPECT_REFUSED(t, FF_INVALID, "limit", when_listed(t, &f));
    f.limit = -2;
    EXPECT_REFUSED(t, FF_INVALID, "limit", when_listed(t, &f));
}

FF_CONFORMANCE(execution_list, bad_cursors_are_refused)
{
    static const char *const bad[] = {"x",
                                      "00",
                                      "zz00000000000000000000000000000000000000000000000000",
                                      "0200000000000000000000000000000000000000000000000000",
                                      "01ffffffffffffffff00000000000000000000000000000000",
                                      "010000000000000000000000000000000000000000000000000"};
    struct ff_filter f = filter();

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        f.cursor = bad[i];
        EXPECT_REFUSED(t, FF_BAD_CURSOR, "cursor", when_listed(t, &f));
    }
    f.cursor = "";
    EXPECT_OK(t, when_listed(t, &f));
}

static struct name given_of(struct test *t, const char *lane, const char *ns, const char *kind,
                            const char *tag)
{
    const struct ff_tag_pair tags[] = {{"color", tag}};
    struct ff_submission s = submission();

    s.lane = lane;
    s.ns = ns;
    s.kind = kind;
    s.tags = tags;
    s.tag_count = tag ? 1 : 0;
    return given(t, &s);
}

static void expect_only(struct test *t, const struct ff_filter *f, const struct name *want)
{
    const struct ff_info_list *const page = list(t, f);

    if (!want) {
        EXPECT_INT(t, 0, (int64_t)page->count);
        return;
    }
    EXPECT_INT(t, 1, (int64_t)page->count);
    EXPECT_TEXT(t, want->id, page->items[0].execution_id);
}

FF_CONFORMANCE(execution_list, filters_by_what_was_submitted)
{
    const struct name a = given_of(t, "l1", "n1", "k1", "red");
    const struct name b = given_of(t, "l2", "n2", "k2", "blue");
    struct ff_filter f = filter();

    f.lane = "l1";
    expect_only(t, &f, &a);
    f = filter();
    f.ns = "n2";
    expect_only(t, &f, &b);
    f = filter();
    f.kind = "k1";
    expect_only(t, &f, &a);
    f = filter();
    f.tag_name = "color";
    EXPECT_INT(t, 2, (int64_t)list(t, &f)->count);
    f.tag_value = "blue";
    expect_only(t, &f, &b);
    f.lane = "l1";
    expect_only(t, &f, NULL);
    f = filter();
    f.tag_name = "size";
    expect_only(t, &f, NULL);
    f = filter();
    f.kind = "K1";
    expect_only(t, &f, NULL);
    f = filter();
    f.flow_id = "0190f5fe-7000-7000-8000-000000000001";
    expect_only(t, &f, NULL);
}

FF_CONFORMANCE(execution_list, filters_by_worker)
{
    const struct held held = given_claimed(t);
    struct name name;
    struct ff_filter f = filter();

    (void)given_submitted(t);
    memcpy(name.id, held.id, sizeof name.id);
    f.worker_id = WORKER;
    expect_only(t, &f, &name);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    expect_only(t, &f, NULL);
    EXPECT_OK(t, when_replayed(t, name.id));
    expect_only(t, &f, NULL);
}

FF_CONFORMANCE(execution_list, filters_by_every_public_state)
{
    const struct name done = given_completed(t);
    struct held held = given_claimed(t);
    struct ff_submission s = submission();
    struct name failed, cancelled, delayed, active, waiting;
    struct ff_filter f = filter();

    memcpy(failed.id, held.id, sizeof failed.id);
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    held = given_claimed(t);
    memcpy(active.id, held.id, sizeof active.id);
    cancelled = given_submitted(t);
    EXPECT_OK(t, when_cancelled(t, cancelled.id));
    waiting = given_submitted(t);
    s.delay_ms = 3600000;
    delayed = given(t, &s);
    f.state = "completed";
    expect_only(t, &f, &done);
    f.state = "failed";
    expect_only(t, &f, &failed);
    f.state = "cancelled";
    expect_only(t, &f, &cancelled);
    f.state = "waiting";
    expect_only(t, &f, &waiting);
    f.state = "delayed";
    expect_only(t, &f, &delayed);
    f.state = "active";
    expect_only(t, &f, &active);
    f.state = "expired";
    expect_only(t, &f, NULL);
    f.state = "skipped";
    expect_only(t, &f, NULL);
    f.state = "waiting_children";
    expect_only(t, &f, NULL);
    f.state = "runnable";
    EXPECT_REFUSED(t, FF_INVALID, "state", when_listed(t, &f));
}

FF_CONFORMANCE(execution_list, filters_by_time)
{
    const struct name first = given_submitted(t);
    const int64_t first_ms = look(t, first.id)->created_at_ms;
    struct ff_filter f = filter();
    struct name second;

    WAIT_UNTIL(t, store_now_ms(t) > first_ms + 5);
    f.lane = "default"; /* without the executions that tell the time */
    second = given_submitted(t);
    f.created_after_ms = first_ms;
    expect_only(t, &f, &second);
    f.created_after_ms = first_ms - 1;
    EXPECT_INT(t, 2, (int64_t)list(t, &f)->count);
    f.created_before_ms = first_ms + 1;
    expect_only(t, &f, &first);
    f.created_before_ms = first_ms;
    expect_only(t, &f, NULL);
}

FF_CONFORMANCE(execution_list, bad_filters_are_refused)
{
    struct ff_filter f = filter();

    f.flow_id = "nonsense";
    EXPECT_REFUSED(t, FF_INVALID, "flow_id", when_listed(t, &f));
    f = filter();
    f.tag_value = "x";
    EXPECT_REFUSED(t, FF_INVALID, "tag", when_listed(t, &f));
    f = filter();
    f.size = 0;
    EXPECT_REFUSED(t, FF_INVALID, "size", when_listed(t, &f));
}

FF_CONFORMANCE(execution_list, summary_leaves_out_what_is_large)
{
    static const char *const needs[] = {"gpu"};
    struct ff_submission s = submission();
    const struct ff_info *info;

    s.input = json_of(t, 5000, 'x');
    s.required_capabilities = needs;
    s.required_capability_count = 1;
    (void)given(t, &s);
    info = &list(t, NULL)->items[0];
    EXPECT(t, !info->input.ptr && info->tag_count == 0);
    EXPECT_TEXT(t, "waiting", info->public_state);
    EXPECT_INT(t, 1, (int64_t)info->required_capability_count);
    EXPECT_TEXT(t, "gpu", info->required_capabilities[0]);
}

/* Pages of a tag: they start from another index and must be as complete. */
FF_CONFORMANCE(execution_list, pages_of_a_tag_cover_everything_once)
{
    struct ff_filter f = filter();
    char cursor[FF_CURSOR_BYTES] = "";
    struct name names[10];
    size_t seen = 0;

    for (size_t i = 0; i < 10; i++) {
        names[i] = given_of(t, NULL, NULL, "k", "red");
        (void)given_of(t, NULL, NULL, "k", i % 2 ? "blue" : NULL);
    }
    f.tag_name = "color";
    f.tag_value = "red";
    f.limit = 4;
    do {
        const struct ff_info_list *page;

        f.cursor = cursor;
        page = list(t, &f);
        for (size_t i = 0; i < page->count; i++, seen++)
            EXPECT_TEXT(t, names[9 - seen].id, page->items[i].execution_id);
        memcpy(cursor, page->next_cursor, sizeof cursor);
    } while (cursor[0]);
    EXPECT_INT(t, 10, (int64_t)seen);
}

/* The key has the place of those that were created at the time in their id; an index has that of
 * the others. Ids of one's own say what they like. */
static void given_all_kinds_of_ids(struct test *t)
{
    static const int64_t off_ms[] = {0, 5, -86400000, 86400000, -500, 0};
    static const char *const odd[] = {"{fp:3}:00000000-0000-0000-0000-00000000000",
                                      "{fp:4}:ffffffff-ffff-ffff-ffff-ffffffffff0",
                                      "{fp:5}:5b0c9e5c-3f3a-4b53-9d4b-1d3c7a2b9f1"};
    struct ff_submission s = submission();
    char text[FF_ID_TEXT_BYTES];

    for (size_t i = 0; i < sizeof off_ms / sizeof off_ms[0]; i++) {
        const uint8_t random[10] = {(uint8_t)i};

        (void)given_submitted(t);
        ff_exec_id_text(ff_exec_id_mint(store_now_ms(t) + off_ms[i], random), text);
        s.execution_id = text;
        (void)given(t, &s);
        (void)given_flow(t, "a b | a>b");
        (void)snprintf(text, sizeof text, "%s%zx", odd[i % 3], i + 1);
        (void)given(t, &s);
    }
}

static bool comes_before(const struct ff_info *a, const struct ff_info *b)
{
    return a->created_at_ms > b->created_at_ms ||
           (a->created_at_ms == b->created_at_ms &&
            strcmp(strchr(a->execution_id, '}'), strchr(b->execution_id, '}')) > 0);
}

FF_CONFORMANCE(execution_list, ids_of_all_kinds_are_in_one_order)
{
    struct ff_filter f = filter();
    const struct ff_info_list *all;

    given_all_kinds_of_ids(t);
    f.lane = "default"; /* without the executions that tell the time */
    f.limit = 1000;
    all = list(t, &f);
    EXPECT_INT(t, 30, (int64_t)all->count);
    for (size_t i = 1; i < all->count; i++)
        EXPECT(t, comes_before(&all->items[i - 1], &all->items[i]));
    for (f.limit = 1; f.limit < 8; f.limit++) {
        char cursor[FF_CURSOR_BYTES] = "";
        size_t seen = 0;

        do {
            const struct ff_info_list *page;

            f.cursor = cursor;
            page = list(t, &f);
            for (size_t i = 0; i < page->count; i++, seen++)
                EXPECT_TEXT(t, all->items[seen].execution_id, page->items[i].execution_id);
            memcpy(cursor, page->next_cursor, sizeof cursor);
        } while (cursor[0]);
        EXPECT_INT(t, (int64_t)all->count, (int64_t)seen);
    }
}

FF_CONFORMANCE(execution_list, ids_of_all_kinds_are_found_by_time)
{
    struct ff_filter f = filter();
    const struct ff_info_list *all;

    given_all_kinds_of_ids(t);
    f.lane = "default";
    f.limit = 1000;
    all = list(t, &f);
    for (size_t i = 0; i < all->count; i++) {
        const int64_t at_ms = all->items[i].created_at_ms;
        size_t want = 0;

        for (size_t j = 0; j < all->count; j++)
            want += all->items[j].created_at_ms == at_ms;
        f.created_after_ms = at_ms - 1;
        f.created_before_ms = at_ms + 1;
        EXPECT_INT(t, (int64_t)want, (int64_t)list(t, &f)->count);
    }
}
