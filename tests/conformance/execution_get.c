/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_get.c -- one execution, whole, in every state.
 *
 * Pitfall F5 (reading failed for whatever had been claimed). */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

#define NOBODY "{fp:9}:0190f5fe-7000-7000-8000-000000000001"

static bool is_one_of(const char *word, const char *words)
{
    const size_t len = word ? strlen(word) : 0;
    const char *at = words;

    while (len && (at = strstr(at, word))) {
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
        at += len;
    }
    return false;
}

/* All dimensions have words from their alphabets. */
static void expect_readable(struct test *t, const char *id, const char *public_state)
{
    const struct ff_info *const info = look(t, id);

    EXPECT_TEXT(t, id, info->execution_id);
    EXPECT_TEXT(t, public_state, info->public_state);
    EXPECT(t, is_one_of(info->lifecycle_phase, "runnable active terminal"));
    EXPECT(t, is_one_of(info->ownership_state, "unowned leased lease_expired_reclaimable"));
    EXPECT(t, is_one_of(info->eligibility_state,
                        "eligible_now not_eligible_until_time not_applicable"));
    EXPECT(t, is_one_of(info->attempt_state,
                        "pending_first_attempt pending_retry_attempt pending_replay_attempt "
                        "attempt_interrupted running_attempt attempt_terminal"));
    EXPECT(t, is_one_of(info->terminal_outcome, "none success failed cancelled expired"));
    EXPECT(t, is_one_of(info->blocking_reason,
                        "none waiting_for_worker waiting_for_delay waiting_for_retry_backoff"));
    EXPECT_INT(t, !strcmp(info->lifecycle_phase, "terminal"), info->finished);
    EXPECT_INT(t, info->finished, info->finished_at_ms != FF_ABSENT_MS);
    EXPECT_INT(t, info->has_lease, info->worker_id != NULL);
}

FF_CONFORMANCE(execution_get, works_in_every_state)
{
    const struct ff_policy_spec p = retry_policy(1, 3600000);
    struct held held = given_claimed_with(t, &p, 30000);
    struct ff_submission s = submission();
    struct name name;

    expect_readable(t, held.id, "active");
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    expect_readable(t, held.id, "delayed");
    EXPECT_OK(t, when_cancelled(t, held.id));
    expect_readable(t, held.id, "cancelled");
    EXPECT_OK(t, when_replayed(t, held.id));
    expect_readable(t, held.id, "waiting");
    held = given_claimed_next(t);
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    expect_readable(t, held.id, "failed");
    s.delay_ms = 3600000;
    expect_readable(t, given(t, &s).id, "delayed");
    name = given_submitted(t);
    expect_readable(t, name.id, "waiting");
    held = given_claimed_next(t);
    EXPECT_OK(t, when_delayed(t, &held, 3600000));
    expect_readable(t, held.id, "delayed");
    expect_readable(t, given_completed(t).id, "completed");
}

FF_CONFORMANCE_SLOW(execution_get, works_after_a_lapse_and_a_deadline)
{
    const struct ff_policy_spec reclaim = reclaim_policy(5);
    const struct ff_policy_spec retry = policy();
    struct ff_submission s = submission();
    struct held held = given_claimed_with(t, &reclaim, 100);
    struct name late;

    given_lapsed(t, &held);
    expect_readable(t, held.id, "active");
    EXPECT_OK(t, when_completed(t, &held, NULL));
    held = given_claimed_with(t, &retry, 100);
    given_lapsed(t, &held);
    expect_readable(t, held.id, "waiting");
    s.deadline_at_ms = 1;
    late = given(t, &s);
    WAIT_UNTIL(t, is_in_state(t, late.id, "expired"));
    expect_readable(t, late.id, "expired");
}

FF_CONFORMANCE(execution_get, tells_attempt_and_lease)
{
    const struct held held = given_claimed(t);
    const struct ff_info *info = look(t, held.id);

    EXPECT(t, info->has_lease);
    EXPECT_INT(t, held.epoch, info->lease_epoch);
    EXPECT_TEXT(t, INSTANCE, info->worker_instance_id);
    EXPECT_INT(t, held.expires_at_ms, info->lease_expires_at_ms);
    EXPECT_INT(t, FF_ABSENT_MS, info->lease_renewed_at_ms);
    EXPECT_INT(t, 1, info->attempt_count);
    EXPECT_OK(t, when_renewed(t, &held, 0));
    info = look(t, held.id);
    EXPECT(t, info->lease_renewed_at_ms >= info->lease_acquired_at_ms);
}

/* F5: derived fields are kept up to date. */
FF_CONFORMANCE(execution_get, version_rises_with_every_change)
{
    const struct name name = given_submitted(t);
    int64_t version = look(t, name.id)->version;
    const struct held held = given_claimed_next(t);

    EXPECT(t, look(t, name.id)->version > version);
    version = look(t, name.id)->version;
    EXPECT_OK(t, when_released(t, &held, NULL));
    EXPECT(t, look(t, name.id)->version > version);
    version = look(t, name.id)->version;
    EXPECT_OK(t, when_cancelled(t, name.id));
    EXPECT(t, look(t, name.id)->version > version);
    EXPECT_INT(t, look(t, name.id)->finished_at_ms, look(t, name.id)->changed_at_ms);
}

/* What does not exist is an answer, not a fault. */
FF_CONFORMANCE(execution_get, unknown_is_not_found_everywhere)
{
    struct ff_attempt_list all = {0};
    struct ff_event_list events = {0};
    struct ff_explanation why = {0};
    struct ff_bytes result = {0};

    EXPECT_STATUS(t, FF_NOT_FOUND, when_looked(t, NOBODY));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_result(t->client, NOBODY, &result, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_attempts(t->client, NOBODY, &all, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_history(t->client, NOBODY, NULL, 0, &events, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_explain(t->client, NOBODY, &why, &t->err));
    EXPECT(t, !result.memory && !all.memory && !events.memory && !why.memory);
}

FF_CONFORMANCE(execution_get, attempts_are_listed_oldest_first)
{
    const struct ff_policy_spec p = retry_policy(5, 0);
    struct held held = given_claimed_with(t, &p, 30000);
    const struct ff_attempt_list *all;

    EXPECT_OK(t, when_failed(t, &held, "timeout"));
    held = given_claimed_next(t);
    EXPECT_OK(t, when_released(t, &held, NULL));
    held = given_claimed_next(t);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:retry 1:retry:released 1:retry:running");
    all = attempts(t, held.id);
    EXPECT_TEXT(t, "timeout", all->items[0].failure_class);
    EXPECT_TEXT(t, WORKER, all->items[0].worker_id);
    EXPECT(t, all->items[0].ended_at_ms >= all->items[0].started_at_ms);
    EXPECT_TEXT(t, held.lease_id, all->items[2].lease_id);
    EXPECT_INT(t, FF_ABSENT_MS, all->items[2].ended_at_ms);
    for (size_t i = 1; i < all->count; i++)
        EXPECT(t, all->items[i].lease_epoch > all->items[i - 1].lease_epoch);
}

FF_CONFORMANCE(execution_get, the_attempt_that_completed_it_is_the_last)
{
    const struct ff_policy_spec p = retry_policy(5, 0);
    struct held held = given_claimed_with(t, &p, 30000);
    const struct ff_attempt_info *last;
    const struct ff_info *info;

    EXPECT_OK(t, when_failed(t, &held, "timeout"));
    held = given_claimed_next(t);
    info = look(t, held.id);
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_ATTEMPTS(t, held.id, "0:initial:retry 1:retry:completed");
    last = &attempts(t, held.id)->items[1];
    EXPECT_INT(t, 0, last->generation);
    EXPECT_INT(t, held.epoch, last->lease_epoch);
    EXPECT_TEXT(t, held.lease_id, last->lease_id);
    EXPECT_TEXT(t, WORKER, last->worker_id);
    EXPECT_TEXT(t, INSTANCE, last->worker_instance_id);
    EXPECT_TEXT(t, NULL, last->failure_message);
    EXPECT_TEXT(t, NULL, last->failure_class);
    EXPECT_INT(t, info->lease_acquired_at_ms, last->started_at_ms);
    EXPECT_INT(t, look(t, held.id)->finished_at_ms, last->ended_at_ms);
}

/* Who completed it is told by its attempts; nobody has it any more. */
FF_CONFORMANCE(execution_get, a_completed_one_has_no_worker)
{
    const struct name name = given_completed(t);
    const struct ff_info *const info = look(t, name.id);

    EXPECT(t, !info->has_lease);
    EXPECT_TEXT(t, NULL, info->worker_id);
    EXPECT_TEXT(t, NULL, info->worker_instance_id);
    EXPECT_TEXT(t, "", info->lease_id);
    EXPECT_INT(t, FF_ABSENT_MS, info->lease_acquired_at_ms);
    EXPECT_INT(t, FF_ABSENT_MS, info->lease_expires_at_ms);
    EXPECT_TEXT(t, NULL, info->failure_message);
    EXPECT_ATTEMPTS(t, name.id, "0:initial:completed");
}
