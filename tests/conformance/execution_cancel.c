/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_cancel.c -- ending an execution from outside. Pitfall F17. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

#define NOBODY "{fp:9}:0190f5fe-7000-7000-8000-000000000001"

FF_CONFORMANCE(execution_cancel, ends_what_waits)
{
    const struct name name = given_submitted(t);
    const struct ff_info *info;

    EXPECT_OK(t, when_cancelled(t, name.id));
    EXPECT_TEXT(t, "cancelled", t->answer.public_state);
    info = look(t, name.id);
    EXPECT_VECTOR(t, name.id, "terminal unowned not_applicable attempt_terminal cancelled none");
    EXPECT_TEXT(t, "not needed", info->cancel_reason);
    EXPECT_TEXT(t, "operator", info->cancelled_by);
    EXPECT(t, info->finished);
    EXPECT_EVENTS(t, name.id, "operator.cancel_requested completion.cancelled");
    EXPECT_TEXT(t, "not needed", last_event(t, name.id, "completion", "cancelled")->note);
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(execution_cancel, ends_what_runs_and_takes_the_lease)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_cancelled(t, held.id));
    EXPECT_EVENTS(t, held.id, "acquired operator.cancel_requested revoked completion.cancelled");
    EXPECT_TEXT(t, "cancel", last_event(t, held.id, "lease", "revoked")->note);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:cancelled");
    EXPECT(t, !look(t, held.id)->has_lease);
    EXPECT(t, look(t, held.id)->lease_epoch > held.epoch);
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_renewed(t, &held, 0));
    EXPECT_TEXT(t, "cancelled", t->err.outcome);
}

FF_CONFORMANCE(execution_cancel, ends_what_is_delayed)
{
    struct ff_submission s = submission();
    struct name name;

    s.delay_ms = 200;
    name = given(t, &s);
    EXPECT_OK(t, when_cancelled(t, name.id));
    EXPECT_STATE(t, name.id, "cancelled");
    EXPECT_INT(t, FF_ABSENT_MS, look(t, name.id)->delay_until_ms);
    WAIT_UNTIL(t, store_now_ms(t) > look(t, name.id)->created_at_ms + 400);
    EXPECT_STATE(t, name.id, "cancelled"); /* its delay does not bring it back */
}

FF_CONFORMANCE(execution_cancel, ends_what_waits_for_a_retry)
{
    const struct ff_policy_spec p = retry_policy(3, 3600000);
    const struct held held = given_claimed_with(t, &p, 30000);

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_OK(t, when_cancelled(t, held.id));
    EXPECT_STATE(t, held.id, "cancelled");
    EXPECT_ATTEMPTS(t, held.id, "0:initial:retry");
}

FF_CONFORMANCE(execution_cancel, again_gives_the_first_answer)
{
    const struct name name = given_submitted(t);

    EXPECT_OK(t, when_cancelled(t, name.id));
    EXPECT_OK(t, ff_cancel(t->client, name.id, "for another reason", NULL, &t->err));
    EXPECT_TEXT(t, "not needed", look(t, name.id)->cancel_reason);
    EXPECT_EVENTS(t, name.id, "operator.cancel_requested completion.cancelled");
}

FF_CONFORMANCE(execution_cancel, finished_otherwise_is_refused_with_the_outcome)
{
    const struct name done = given_completed(t);
    const struct held held = given_claimed(t);

    EXPECT_STATUS(t, FF_ALREADY_TERMINAL, when_cancelled(t, done.id));
    EXPECT_TEXT(t, "success", t->err.outcome);
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    EXPECT_STATUS(t, FF_ALREADY_TERMINAL, when_cancelled(t, held.id));
    EXPECT_TEXT(t, "failed", t->err.outcome);
    EXPECT_EVENTS(t, done.id, "acquired completion.success");
}

FF_CONFORMANCE(execution_cancel, unknown_execution_is_not_found)
{
    EXPECT_STATUS(t, FF_NOT_FOUND, when_cancelled(t, NOBODY));
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_cancelled(t, "nonsense"));
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_cancelled(t, NULL));
}

FF_CONFORMANCE(execution_cancel, reason_has_limits)
{
    const struct name name = given_submitted(t);

    EXPECT_REFUSED(t, FF_TOO_LARGE, "reason",
                   ff_cancel(t->client, name.id, text_of(t, 1025, 'r'), NULL, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "reason", ff_cancel(t->client, name.id, "\xff", NULL, &t->err));
    EXPECT_STATE(t, name.id, "waiting");
    EXPECT_OK(t, ff_cancel(t->client, name.id, NULL, NULL, &t->err));
    EXPECT_TEXT(t, NULL, look(t, name.id)->cancel_reason);
}

/* What an earlier attempt said is not the cancelled execution's failure. */
FF_CONFORMANCE(execution_cancel, shows_no_failure_of_its_own)
{
    const struct ff_policy_spec p = retry_policy(3, 0);
    struct held held = given_claimed_with(t, &p, 30000);

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    held = given_claimed_next(t);
    EXPECT_OK(t, when_cancelled(t, held.id));
    EXPECT_TEXT(t, NULL, look(t, held.id)->failure_message);
    EXPECT_TEXT(t, "cancelled", look(t, held.id)->terminal_outcome);
}

struct cancellers {
    struct name name;
    ff_status said[6];
};

static void cancel_it(struct test *t, size_t index, void *ctx)
{
    struct cancellers *const all = ctx;

    if (index % 2)
        t->client = t->others[0];
    all->said[index] = when_cancelled(t, all->name.id);
}

FF_CONFORMANCE(execution_cancel, of_many_at_once_is_one)
{
    struct cancellers *const all = keep(t, sizeof *all);

    (void)another_client(t, NULL);
    all->name = given_submitted(t);
    in_threads(t, 6, cancel_it, all);
    for (size_t i = 0; i < 6; i++)
        EXPECT_INT(t, FF_OK, all->said[i]);
    EXPECT_EVENTS(t, all->name.id, "operator.cancel_requested completion.cancelled");
}
