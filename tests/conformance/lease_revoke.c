/* SPDX-License-Identifier: Apache-2.0
 *
 * lease_revoke.c -- an operator takes a lease away. */
#include "support/flows.h"

#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(lease_revoke, puts_the_execution_back_without_a_retry)
{
    const struct held held = given_claimed(t);
    const struct ff_info *info;

    EXPECT_OK(t, when_revoked(t, held.id));
    EXPECT_INT(t, held.epoch, t->answer.epoch);
    info = look(t, held.id);
    EXPECT_VECTOR(t, held.id,
                  "runnable unowned eligible_now pending_retry_attempt none waiting_for_worker");
    EXPECT_INT(t, 0, info->retry_count);
    EXPECT_INT(t, 1, info->attempt_index);
    EXPECT(t, info->lease_epoch > held.epoch);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:revoked");
}

FF_CONFORMANCE(lease_revoke, tells_the_log_who_lost_what)
{
    const struct held held = given_claimed(t);
    const struct ff_event_info *event;

    EXPECT_OK(t, when_revoked(t, held.id));
    EXPECT_EVENTS(t, held.id, "acquired revoked");
    event = last_event(t, held.id, "lease", "revoked");
    EXPECT_TEXT(t, "operator", event->note);
    EXPECT_TEXT(t, held.lease_id, event->lease_id);
    EXPECT_INT(t, held.epoch, event->lease_epoch);
    EXPECT_TEXT(t, INSTANCE, event->prev_owner);
    EXPECT_TEXT(t, "too slow", attempts(t, held.id)->items[0].failure_message);
    EXPECT_TEXT(t, NULL, look(t, held.id)->failure_message); /* nothing has failed */
}

FF_CONFORMANCE(lease_revoke, next_worker_gets_a_new_attempt)
{
    const struct held held = given_claimed(t);
    struct held now;

    EXPECT_OK(t, when_revoked(t, held.id));
    now = given_claimed_next(t);
    EXPECT_TEXT(t, held.id, now.id);
    EXPECT(t, now.epoch > held.epoch);
    EXPECT_INT(t, 1, now.attempt_index);
    EXPECT_OK(t, when_completed(t, &now, NULL));
}

/* A revocation never uses up retries, however often it happens. */
FF_CONFORMANCE(lease_revoke, many_revocations_use_no_retry)
{
    const struct ff_policy_spec p = retry_policy(0, 0);
    struct held held = given_claimed_with(t, &p, 30000);

    for (int i = 0; i < 5; i++) {
        EXPECT_OK(t, when_revoked(t, held.id));
        held = given_claimed_next(t);
    }
    EXPECT_INT(t, 0, look(t, held.id)->retry_count);
    EXPECT_INT(t, 5, held.attempt_index);
    EXPECT_STATE(t, held.id, "active");
}

FF_CONFORMANCE(lease_revoke, again_gives_the_first_answer)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_revoked(t, held.id));
    t->answer.epoch = 0;
    EXPECT_OK(t, when_revoked(t, held.id));
    EXPECT_INT(t, held.epoch, t->answer.epoch);
    EXPECT_EVENTS(t, held.id, "acquired revoked");
}

/* A flow that lets the held finish lets nobody claim them again: the revoked one is cancelled. */
FF_CONFORMANCE(lease_revoke, again_in_a_cancelled_flow_gives_the_first_answer)
{
    const struct flow flow = given_flow(t, "a b");
    const struct held held = given_node(t, &flow, "a");

    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_pending"));
    WAIT_FLOW(t, &flow, "cancelled a:active b:cancelled");
    EXPECT_OK(t, when_revoked(t, held.id));
    WAIT_FLOW(t, &flow, "cancelled a:cancelled b:cancelled");
    t->answer.epoch = 0;
    EXPECT_OK(t, when_revoked(t, held.id));
    EXPECT_INT(t, held.epoch, t->answer.epoch);
    EXPECT_STATUS(t, FF_ALREADY_TERMINAL, when_revoked(t, node_id(t, &flow, "b")));
}

/* An end that somebody else has made is told. */
FF_CONFORMANCE(lease_revoke, after_a_cancel_is_refused)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_revoked(t, held.id));
    EXPECT_OK(t, when_cancelled(t, held.id));
    EXPECT_STATUS(t, FF_ALREADY_TERMINAL, when_revoked(t, held.id));
}

FF_CONFORMANCE(lease_revoke, without_a_lease_is_refused)
{
    const struct name waiting = given_submitted(t);
    struct ff_submission s = submission();
    struct name delayed;

    EXPECT_STATUS(t, FF_NOT_LEASED, when_revoked(t, waiting.id));
    s.delay_ms = 3600000;
    delayed = given(t, &s);
    EXPECT_STATUS(t, FF_NOT_LEASED, when_revoked(t, delayed.id));
    EXPECT_EVENTS(t, waiting.id, "");
}

FF_CONFORMANCE(lease_revoke, after_the_end_is_refused)
{
    const struct name done = given_completed(t);

    EXPECT_STATUS(t, FF_ALREADY_TERMINAL, when_revoked(t, done.id));
    EXPECT_TEXT(t, "success", t->err.outcome);
}

FF_CONFORMANCE(lease_revoke, unknown_execution_is_not_found)
{
    EXPECT_STATUS(t, FF_NOT_FOUND, when_revoked(t, "{fp:9}:0190f5fe-7000-7000-8000-000000000001"));
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_revoked(t, "nonsense"));
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_revoked(t, NULL));
}

FF_CONFORMANCE(lease_revoke, reason_has_limits)
{
    const struct held held = given_claimed(t);

    EXPECT_REFUSED(t, FF_TOO_LARGE, "reason",
                   ff_revoke_lease(t->client, held.id, text_of(t, 1025, 'r'), NULL, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "reason",
                   ff_revoke_lease(t->client, held.id, "caf\xe9", NULL, &t->err));
    EXPECT_STATE(t, held.id, "active");
    EXPECT_OK(t, ff_revoke_lease(t->client, held.id, text_of(t, 1024, 'r'), NULL, &t->err));
}
