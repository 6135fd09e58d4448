/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_cancel_where.c -- cancelling by filter. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

static struct name given_in(struct test *t, const char *lane, const char *ns, const char *kind)
{
    struct ff_submission s = submission();

    s.lane = lane;
    s.ns = ns;
    s.kind = kind;
    return given(t, &s);
}

static struct ff_bulk_result cancel_where(struct test *t, const struct ff_filter *filter)
{
    struct ff_bulk_result result = {0};

    EXPECT_OK(t, ff_cancel_where(t->client, filter, "clean-up", &result, &t->err));
    return result;
}

FF_CONFORMANCE(execution_cancel_where, takes_what_matches_and_nothing_else)
{
    const struct name a = given_in(t, "a", "one", "x");
    const struct name b = given_in(t, "a", "two", "x");
    const struct name c = given_in(t, "b", "one", "x");
    struct ff_bulk_result result;
    struct ff_filter f;

    ff_filter_init(&f);
    f.lane = "a";
    f.ns = "one";
    result = cancel_where(t, &f);
    EXPECT_INT(t, 1, result.matched);
    EXPECT_INT(t, 1, result.done);
    EXPECT_INT(t, 0, result.unchanged + result.refused);
    EXPECT(t, !result.more);
    EXPECT_STATE(t, a.id, "cancelled");
    EXPECT_TEXT(t, "clean-up", look(t, a.id)->cancel_reason);
    EXPECT_STATE(t, b.id, "waiting");
    EXPECT_STATE(t, c.id, "waiting");
}

FF_CONFORMANCE(execution_cancel_where, reaches_every_living_state)
{
    const struct held active = given_claimed(t);
    const struct name done = given_completed(t);
    const struct name waiting = given_submitted(t);
    struct ff_submission s = submission();
    struct ff_bulk_result result;
    struct name delayed;

    s.delay_ms = 3600000;
    delayed = given(t, &s);
    result = cancel_where(t, NULL);
    EXPECT_INT(t, 3, result.matched);
    EXPECT_INT(t, 3, result.done);
    EXPECT_STATE(t, active.id, "cancelled");
    EXPECT_STATE(t, waiting.id, "cancelled");
    EXPECT_STATE(t, delayed.id, "cancelled");
    EXPECT_STATE(t, done.id, "completed");
    result = cancel_where(t, NULL);
    EXPECT_INT(t, 0, result.matched);
}

FF_CONFORMANCE(execution_cancel_where, what_is_asked_for_by_name_is_counted)
{
    const struct name cancelled = given_submitted(t);
    struct ff_bulk_result result;
    struct ff_filter f;

    EXPECT_OK(t, when_cancelled(t, cancelled.id));
    (void)given_completed(t);
    ff_filter_init(&f);
    f.state = "cancelled";
    result = cancel_where(t, &f);
    EXPECT_INT(t, 1, result.matched);
    EXPECT_INT(t, 1, result.unchanged);
    f.state = "completed";
    result = cancel_where(t, &f);
    EXPECT_INT(t, 1, result.matched);
    EXPECT_INT(t, 1, result.refused);
    f.state = "waiting";
    EXPECT_INT(t, 0, cancel_where(t, &f).matched);
}

FF_CONFORMANCE(execution_cancel_where, walks_more_than_a_page)
{
    struct ff_submission *const items = keep(t, 1000 * sizeof *items);
    struct ff_submitted *const results = keep(t, 1000 * sizeof *results);
    struct ff_bulk_result result;

    for (size_t i = 0; i < 1000; i++)
        items[i] = submission();
    EXPECT_OK(t, ff_submit(t->client, items, 1000, results, &t->err));
    EXPECT_OK(t, ff_submit(t->client, items, 300, results, &t->err));
    result = cancel_where(t, NULL);
    EXPECT_INT(t, 1300, result.matched);
    EXPECT_INT(t, 1300, result.done);
    EXPECT(t, !result.more);
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE_SLOW(execution_cancel_where, takes_ten_thousand_and_says_that_there_are_more)
{
    struct ff_submission *const items = keep(t, 1000 * sizeof *items);
    struct ff_submitted *const results = keep(t, 1000 * sizeof *results);
    struct ff_bulk_result result;

    for (size_t i = 0; i < 1000; i++)
        items[i] = submission();
    for (int i = 0; i < 10; i++)
        EXPECT_OK(t, ff_submit(t->client, items, 1000, results, &t->err));
    EXPECT_OK(t, ff_submit(t->client, items, 5, results, &t->err));
    result = cancel_where(t, NULL);
    EXPECT_INT(t, 10000, result.matched);
    EXPECT_INT(t, 10000, result.done);
    EXPECT(t, result.more);
    result = cancel_where(t, NULL);
    EXPECT_INT(t, 5, result.matched);
    EXPECT(t, !result.more);
}

FF_CONFORMANCE(execution_cancel_where, takes_tags_kinds_and_times)
{
    const struct ff_tag_pair tags[] = {{"batch", "7"}};
    struct ff_submission s = submission();
    struct name tagged, other;
    struct ff_filter f;

    s.tags = tags;
    s.tag_count = 1;
    tagged = given(t, &s);
    other = given_in(t, NULL, NULL, "other");
    ff_filter_init(&f);
    f.tag_name = "batch";
    f.tag_value = "7";
    EXPECT_INT(t, 1, cancel_where(t, &f).done);
    EXPECT_STATE(t, tagged.id, "cancelled");
    ff_filter_init(&f);
    f.created_before_ms = look(t, other.id)->created_at_ms;
    f.kind = "other";
    EXPECT_INT(t, 0, cancel_where(t, &f).matched);
    f.created_before_ms++;
    EXPECT_INT(t, 1, cancel_where(t, &f).done);
}

FF_CONFORMANCE(execution_cancel_where, bad_filters_cancel_nothing)
{
    const struct name name = given_submitted(t);
    struct ff_bulk_result result = {0};
    struct ff_filter f;

    ff_filter_init(&f);
    f.state = "sleeping";
    EXPECT_REFUSED(t, FF_INVALID, "state", ff_cancel_where(t->client, &f, NULL, &result, &t->err));
    ff_filter_init(&f);
    f.tag_value = "7";
    EXPECT_REFUSED(t, FF_INVALID, "tag", ff_cancel_where(t->client, &f, NULL, &result, &t->err));
    ff_filter_init(&f);
    EXPECT_REFUSED(t, FF_TOO_LARGE, "reason",
                   ff_cancel_where(t->client, &f, text_of(t, 1025, 'r'), &result, &t->err));
    EXPECT_STATE(t, name.id, "waiting");
}
