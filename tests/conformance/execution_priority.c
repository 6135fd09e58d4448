/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_priority.c -- a new place in the queue: in every state but the last. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(execution_priority, reorders_the_queue)
{
    const struct name first = given_submitted(t);
    const struct name second = given_submitted(t);
    const struct name third = given_submitted(t);

    EXPECT_OK(t, when_prioritised(t, third.id, 10));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    EXPECT_OK(t, when_prioritised(t, second.id, 5));
    EXPECT_TEXT(t, third.id, given_claimed_next(t).id);
    EXPECT_TEXT(t, second.id, given_claimed_next(t).id);
    EXPECT_TEXT(t, first.id, given_claimed_next(t).id);
}

FF_CONFORMANCE(execution_priority, may_go_down_too)
{
    const struct name first = given_priority(t, 10);
    const struct name second = given_priority(t, 5);

    EXPECT_OK(t, when_prioritised(t, first.id, 0));
    EXPECT_TEXT(t, second.id, given_claimed_next(t).id);
}

FF_CONFORMANCE(execution_priority, is_clamped)
{
    const struct name name = given_submitted(t);

    EXPECT_OK(t, when_prioritised(t, name.id, 9001));
    EXPECT_INT(t, 9000, look(t, name.id)->priority);
    EXPECT_OK(t, when_prioritised(t, name.id, INT64_MIN));
    EXPECT_INT(t, 0, look(t, name.id)->priority);
}

FF_CONFORMANCE(execution_priority, tells_the_log_old_and_new)
{
    const struct name name = given_priority(t, 3);
    const struct ff_event_info *event;

    EXPECT_OK(t, when_prioritised(t, name.id, 7));
    event = last_event(t, name.id, "operator", "priority_changed");
    EXPECT_INT(t, 3, event->num_a);
    EXPECT_INT(t, 7, event->num_b);
    EXPECT_OK(t, when_prioritised(t, name.id, 7)); /* nothing changes */
    EXPECT_EVENTS(t, name.id, "operator.priority_changed");
}

FF_CONFORMANCE(execution_priority, of_what_runs_counts_when_it_comes_back)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_prioritised(t, held.id, 50));
    EXPECT_TEXT(t, "active", t->answer.public_state);
    EXPECT_OK(t, when_renewed(t, &held, 0)); /* the lease does not mind */
    (void)given_priority(t, 49);
    EXPECT_OK(t, when_released(t, &held, NULL));
    EXPECT_TEXT(t, held.id, given_claimed_next(t).id);
}

FF_CONFORMANCE(execution_priority, of_what_is_delayed_counts_when_it_is_over)
{
    struct ff_submission s = submission();
    struct name name;

    s.delay_ms = 300;
    name = given(t, &s);
    EXPECT_OK(t, when_prioritised(t, name.id, 50));
    (void)given_priority(t, 49);
    WAIT_UNTIL(t, is_in_state(t, name.id, "waiting"));
    EXPECT_TEXT(t, name.id, given_claimed_next(t).id);
}

FF_CONFORMANCE(execution_priority, after_the_end_is_refused)
{
    const struct name done = given_completed(t);

    EXPECT_STATUS(t, FF_ALREADY_TERMINAL, when_prioritised(t, done.id, 5));
    EXPECT_TEXT(t, "success", t->err.outcome);
    EXPECT_INT(t, 0, look(t, done.id)->priority);
}

FF_CONFORMANCE(execution_priority, unknown_execution_is_not_found)
{
    EXPECT_STATUS(t, FF_NOT_FOUND,
                  when_prioritised(t, "{fp:9}:0190f5fe-7000-7000-8000-000000000001", 5));
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_prioritised(t, "", 5));
}
