/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_release.c -- a worker gives a task back. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(execution_release, makes_it_claimable_at_once)
{
    const struct held first = given_claimed(t);
    struct held second;

    EXPECT_OK(t, when_released(t, &first, "shutting down"));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    EXPECT_VECTOR(t, first.id,
                  "runnable unowned eligible_now attempt_interrupted none waiting_for_worker");
    second = given_claimed_next(t);
    EXPECT_TEXT(t, first.id, second.id);
    EXPECT_INT(t, 0, second.attempt_index);
    EXPECT_TEXT(t, "initial", second.attempt_type);
    EXPECT(t, second.epoch > first.epoch);
    EXPECT_ATTEMPTS(t, first.id, "0:initial:released 0:initial:running");
}

FF_CONFORMANCE(execution_release, raises_the_epoch_at_once)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_released(t, &held, NULL));
    EXPECT(t, look(t, held.id)->lease_epoch > held.epoch);
    EXPECT(t, !look(t, held.id)->has_lease);
}

FF_CONFORMANCE(execution_release, tells_the_log_why)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_released(t, &held, "shutting down"));
    EXPECT_EVENTS(t, held.id, "acquired released");
    EXPECT_TEXT(t, "shutting down", last_event(t, held.id, "lease", "released")->note);
    EXPECT_TEXT(t, INSTANCE, last_event(t, held.id, "lease", "released")->prev_owner);
}

FF_CONFORMANCE(execution_release, uses_no_retry_however_often)
{
    const struct ff_policy_spec p = retry_policy(0, 0);
    struct held held = given_claimed_with(t, &p, 30000);

    for (int i = 0; i < 20; i++) {
        EXPECT_OK(t, when_released(t, &held, NULL));
        held = given_claimed_next(t);
    }
    EXPECT_INT(t, 0, look(t, held.id)->retry_count);
    EXPECT_INT(t, 1, look(t, held.id)->attempt_count);
    EXPECT_OK(t, when_completed(t, &held, NULL));
}

FF_CONFORMANCE(execution_release, keeps_its_place_in_the_queue)
{
    const struct held first = given_claimed(t);

    (void)given_submitted(t);
    EXPECT_OK(t, when_released(t, &first, NULL));
    EXPECT_TEXT(t, first.id, given_claimed_next(t).id);
}

FF_CONFORMANCE(execution_release, reason_has_limits)
{
    const struct held held = given_claimed(t);

    EXPECT_REFUSED(t, FF_TOO_LARGE, "reason", when_released(t, &held, text_of(t, 1025, 'r')));
    EXPECT_REFUSED(t, FF_INVALID, "reason", when_released(t, &held, "caf\xe9"));
    EXPECT_STATE(t, held.id, "active");
    EXPECT_OK(t, when_released(t, &held, text_of(t, 1024, 'r')));
}
