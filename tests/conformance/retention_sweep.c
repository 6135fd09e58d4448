/* SPDX-License-Identifier: Apache-2.0
 *
 * retention_sweep.c -- what ended long ago goes, with all that is its own; what lives stays.
 *
 * Pitfall F35 (retention never ran, and would have missed most of it). fsck at the end of each case
 * looks for orphans. */
#include "support/flows.h"

#include <string.h>

#include "base/banned.h"

static bool is_gone(struct test *t, const char *id)
{
    const ff_status status = when_looked(t, id);

    EXPECT(t, status == FF_OK || status == FF_NOT_FOUND);
    return status == FF_NOT_FOUND;
}

static void given_retention(struct test *t, int64_t retention_ms)
{
    const struct ff_options o = {.size = sizeof o, .retention_ms = retention_ms};

    given_options(t, &o);
}

FF_CONFORMANCE_SLOW(retention_sweep, removes_what_has_ended_with_all_its_own)
{
    const struct ff_tag_pair tags[] = {{"a", "1"}};
    struct ff_submission s = submission();
    struct ff_attempt_list all = {0};
    struct ff_bytes result = {0};
    struct ff_filter f;
    struct held held;

    given_retention(t, 1000);
    s.input = json_of(t, 3000, 'x');
    s.tags = tags;
    s.tag_count = 1;
    (void)given(t, &s);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_progressed(t, &held, 5, "on my way"));
    EXPECT_OK(t, when_completed(t, &held, "[1]"));
    WAIT_UNTIL(t, is_gone(t, held.id));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_result(t->client, held.id, &result, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_attempts(t->client, held.id, &all, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, when_renewed(t, &held, 0));
    EXPECT_STATUS(t, FF_NOT_FOUND, when_replayed(t, held.id));
    ff_filter_init(&f);
    f.tag_name = "a";
    EXPECT_INT(t, 0, (int64_t)list(t, &f)->count);
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE_SLOW(retention_sweep, takes_every_end_and_leaves_what_lives)
{
    struct ff_submission s = submission();
    struct name done, cancelled, waiting, delayed, expired;
    struct held failed, active;

    given_retention(t, 1000);
    done = given_completed(t);
    failed = given_claimed(t);
    EXPECT_OK(t, when_failed(t, &failed, "permanent"));
    active = given_claimed(t);
    cancelled = given_submitted(t);
    EXPECT_OK(t, when_cancelled(t, cancelled.id));
    waiting = given_submitted(t);
    s.delay_ms = 3600000;
    delayed = given(t, &s);
    s.deadline_at_ms = 1;
    expired = given(t, &s);
    WAIT_UNTIL(t, is_gone(t, done.id) && is_gone(t, failed.id) && is_gone(t, cancelled.id) &&
                      is_gone(t, expired.id));
    EXPECT_STATE(t, waiting.id, "waiting");
    EXPECT_STATE(t, delayed.id, "delayed");
    EXPECT_OK(t, when_completed(t, &active, NULL));
}

/* A key outlives its execution: the work is not done twice because its record is gone. */
FF_CONFORMANCE_SLOW(retention_sweep, never_shortens_a_dedup_window)
{
    struct ff_submission s = submission();
    struct ff_submitted again;
    struct held held;

    given_retention(t, 1000);
    s.idempotency_key = "order-1";
    (void)given(t, &s);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    WAIT_UNTIL(t, is_gone(t, held.id));
    EXPECT_OK(t, when_submitted(t, &s, &again));
    EXPECT(t, !again.created);
    EXPECT_TEXT(t, held.id, again.execution_id);
    EXPECT_TEXT(t, "gone", again.public_state);
    s.priority = 1;
    EXPECT_STATUS(t, FF_KEY_REUSED, when_submitted(t, &s, &again));
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE_SLOW(retention_sweep, own_id_is_free_again_after_its_window)
{
    struct ff_policy_spec p = policy();
    struct ff_submission s = submission();
    struct held held;

    given_retention(t, 1000);
    p.dedup_window_ms = 1;
    s.policy = &p;
    s.execution_id = "{fp:7}:0190f5fe-7000-7000-8000-000000000001";
    (void)given(t, &s);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    WAIT_UNTIL(t, is_gone(t, held.id));
    (void)given(t, &s);
    EXPECT_EVENTS(t, s.execution_id, "acquired completion.success"); /* the log keeps the first */
}

FF_CONFORMANCE_SLOW(retention_sweep, replayed_in_time_stays)
{
    struct name saved, lost;

    given_retention(t, 6000); /* time enough to replay it */
    saved = given_completed(t);
    EXPECT_OK(t, when_replayed(t, saved.id));
    lost = given_submitted(t);
    EXPECT_OK(t, when_cancelled(t, lost.id));
    WAIT_UNTIL(t, is_gone(t, lost.id));
    EXPECT_STATE(t, saved.id, "waiting");
}

FF_CONFORMANCE(retention_sweep, keeps_for_a_week_by_default)
{
    const struct name done = given_completed(t);

    given_reopened(t, NULL);
    EXPECT_STATE(t, done.id, "completed");
}

/* A flow goes as a whole: itself, its graph, its members and all that is theirs. */
FF_CONFORMANCE_SLOW(retention_sweep, removes_a_flow_as_a_whole)
{
    struct ff_flow_info_list gone = {0};
    const char *a, *b;
    struct flow flow;

    given_retention(t, 1000);
    flow = given_flow(t, "a b c | a>b b>c");
    a = node_id(t, &flow, "a");
    b = node_id(t, &flow, "b");
    when_node_failed(t, &flow, "a");
    WAIT_UNTIL(t, ff_flow_get(t->client, flow.id, &gone, &t->err) == FF_NOT_FOUND ||
                      (ff_answer_free(&gone), false));
    WAIT_UNTIL(t, is_gone(t, a) && is_gone(t, b));
    EXPECT_STATUS(t, FF_NOT_FOUND, when_flow_cancelled(t, &flow, "cancel_all"));
    EXPECT_STATUS(t, FF_NOT_FOUND, when_replayed(t, a));
    EXPECT_NO_ROWS(t);
}

/* Members that ended long ago stay while their flow lives, also after it was cancelled by name. */
FF_CONFORMANCE_SLOW(retention_sweep, leaves_the_members_of_a_flow_that_lives)
{
    struct flow running, cancelled;
    struct name solo;

    given_retention(t, 1000);
    running = given_flow(t, "a b | a>b");
    cancelled = given_flow(t, "a b | a>b");
    when_node_completed(t, &running, "a");
    when_node_completed(t, &cancelled, "a");
    EXPECT_OK(t, when_flow_cancelled(t, &cancelled, "cancel_flow_only"));
    WAIT_FLOW(t, &running, "running a:completed b:waiting");
    WAIT_FLOW(t, &cancelled, "cancelled a:completed b:waiting");
    solo = given_submitted(t);
    EXPECT_OK(t, when_cancelled(t, solo.id));
    WAIT_UNTIL(t, is_gone(t, solo.id));
    EXPECT_FLOW(t, &running, "running a:completed b:waiting");
    EXPECT_FLOW(t, &cancelled, "cancelled a:completed b:waiting");
}
