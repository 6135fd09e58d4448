/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_replay_where.c -- replaying by filter. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

static struct ff_bulk_result replay_where(struct test *t, const struct ff_filter *filter)
{
    struct ff_bulk_result result = {0};

    EXPECT_OK(t, ff_replay_where(t->client, filter, "once more", &result, &t->err));
    return result;
}

FF_CONFORMANCE(execution_replay_where, takes_what_has_ended_and_matches)
{
    const struct name done = given_completed(t);
    const struct held failed = given_claimed(t);
    struct ff_bulk_result result;
    struct ff_filter f;
    struct name waiting;

    EXPECT_OK(t, when_failed(t, &failed, "permanent"));
    waiting = given_submitted(t);
    ff_filter_init(&f);
    f.state = "failed";
    result = replay_where(t, &f);
    EXPECT_INT(t, 1, result.matched);
    EXPECT_INT(t, 1, result.done);
    EXPECT_STATE(t, failed.id, "waiting");
    EXPECT_STATE(t, done.id, "completed");
    EXPECT_INT(t, 0, look(t, waiting.id)->generation);
    EXPECT_TEXT(t, "once more", last_event(t, failed.id, "operator", "replayed")->note);
}

FF_CONFORMANCE(execution_replay_where, any_state_means_any_end)
{
    const struct name done = given_completed(t);
    const struct name cancelled = given_submitted(t);
    const struct name waiting = given_submitted(t);
    struct ff_bulk_result result;

    EXPECT_OK(t, when_cancelled(t, cancelled.id));
    result = replay_where(t, NULL);
    EXPECT_INT(t, 2, result.matched);
    EXPECT_INT(t, 2, result.done);
    EXPECT_INT(t, 1, look(t, done.id)->generation);
    EXPECT_INT(t, 1, look(t, cancelled.id)->generation);
    EXPECT_INT(t, 0, look(t, waiting.id)->generation);
    EXPECT_INT(t, 0, replay_where(t, NULL).matched);
}

FF_CONFORMANCE(execution_replay_where, counts_what_may_not)
{
    struct ff_policy_spec p = policy();
    struct ff_bulk_result result;
    struct name name;

    p.max_replay_count = 0;
    name = given_submitted_with(t, &p);
    EXPECT_OK(t, when_cancelled(t, name.id));
    (void)given_completed(t);
    result = replay_where(t, NULL);
    EXPECT_INT(t, 2, result.matched);
    EXPECT_INT(t, 1, result.done);
    EXPECT_INT(t, 1, result.refused);
    EXPECT_STATE(t, name.id, "cancelled");
}

FF_CONFORMANCE(execution_replay_where, what_lives_by_name_is_refused)
{
    struct ff_bulk_result result;
    struct ff_filter f;

    (void)given_submitted(t);
    ff_filter_init(&f);
    f.state = "waiting";
    result = replay_where(t, &f);
    EXPECT_INT(t, 1, result.matched);
    EXPECT_INT(t, 1, result.refused);
}
