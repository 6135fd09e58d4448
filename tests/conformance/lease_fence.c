/* SPDX-License-Identifier: Apache-2.0
 *
 * lease_fence.c -- who may not act any more, and what each of them hears.
 *
 * The order of answers: exact repeat of one's last word, lease_revoked, stale_lease, conflict,
 * not_active. Pitfalls F15, F16, F17. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

/* Every word a worker can say, with a lease that must not work. */
static void expect_all(struct test *t, const struct held *held, ff_status want)
{
    EXPECT_STATUS(t, want, when_renewed(t, held, 0));
    EXPECT_STATUS(t, want, when_progressed(t, held, 5, NULL));
    EXPECT_STATUS(t, want, when_completed(t, held, "\"other\""));
    EXPECT_STATUS(t, want, when_failed(t, held, "permanent"));
    EXPECT_STATUS(t, want, when_delayed(t, held, 60000));
    EXPECT_STATUS(t, want, when_released(t, held, "other"));
}

FF_CONFORMANCE(lease_fence, wrong_epoch_is_stale)
{
    const struct held held = given_claimed(t);
    struct held wrong = held;

    wrong.epoch++;
    expect_all(t, &wrong, FF_STALE_LEASE);
    EXPECT_OK(t, when_completed(t, &held, NULL));
}

FF_CONFORMANCE(lease_fence, wrong_lease_id_is_stale)
{
    const struct held held = given_claimed(t);
    struct held wrong = held;

    memcpy(wrong.lease_id, "0190f5fe-7000-7000-8000-000000000001", FF_UUID_BYTES);
    expect_all(t, &wrong, FF_STALE_LEASE);
    EXPECT_OK(t, when_completed(t, &held, NULL));
}

/* A lease is three things; two are none. */
FF_CONFORMANCE(lease_fence, part_of_a_lease_is_refused)
{
    const struct held held = given_claimed(t);
    struct ff_renewal item = {.lease = lease_of(&held)};
    struct ff_task_result result;

    item.lease.lease_epoch = 0;
    EXPECT_OK(t, ff_renew(t->client, &item, 1, &result, &t->err));
    EXPECT_INT(t, FF_INVALID, result.status);
    EXPECT_TEXT(t, "lease_epoch", result.error.field);
    item.lease = lease_of(&held);
    item.lease.lease_id = NULL;
    EXPECT_OK(t, ff_renew(t->client, &item, 1, &result, &t->err));
    EXPECT_INT(t, FF_INVALID, result.status);
    EXPECT_TEXT(t, "lease_id", result.error.field);
    item.lease.lease_id = "00000000-0000-0000-0000-000000000000";
    EXPECT_OK(t, ff_renew(t->client, &item, 1, &result, &t->err));
    EXPECT_INT(t, FF_INVALID, result.status);
    item.lease = lease_of(&held);
    item.lease.execution_id = NULL;
    EXPECT_OK(t, ff_renew(t->client, &item, 1, &result, &t->err));
    EXPECT_INT(t, FF_INVALID, result.status);
    EXPECT_TEXT(t, "execution_id", result.error.field);
}

FF_CONFORMANCE(lease_fence, unknown_execution_is_not_found)
{
    struct held held = given_claimed(t);

    memcpy(held.id, "{fp:9}:0190f5fe-7000-7000-8000-000000000001",
           sizeof "{fp:9}:0190f5fe-7000-7000-8000-000000000001");
    expect_all(t, &held, FF_NOT_FOUND);
}

FF_CONFORMANCE(lease_fence, lease_that_never_was_is_not_active)
{
    struct held held = given_claimed(t);
    const struct name waiting = given_submitted(t);

    memcpy(held.id, waiting.id, sizeof held.id);
    expect_all(t, &held, FF_NOT_ACTIVE);
    EXPECT_TEXT(t, "", t->err.outcome);
    EXPECT_STATE(t, waiting.id, "waiting");
}

/* F15: the old worker of attempt n must not overwrite what the owner of attempt n + 1 does. */
FF_CONFORMANCE_SLOW(lease_fence, lapsed_worker_cannot_touch_its_successor)
{
    const struct ff_policy_spec p = policy();
    const struct held old = given_claimed_with(t, &p, 100);
    struct held now;

    given_lapsed(t, &old);
    expect_all(t, &old, FF_STALE_LEASE);
    now = given_claimed_next(t);
    expect_all(t, &old, FF_STALE_LEASE);
    EXPECT_EVENTS(t, old.id, "acquired expired acquired");
    EXPECT_OK(t, when_completed(t, &now, "1"));
    expect_all(t, &old, FF_STALE_LEASE);
    EXPECT_EVENTS(t, old.id, "acquired expired acquired completion.success");
}

FF_CONFORMANCE(lease_fence, revoked_worker_hears_so)
{
    const struct held old = given_claimed(t);
    struct held now;

    EXPECT_OK(t, when_revoked(t, old.id));
    expect_all(t, &old, FF_LEASE_REVOKED);
    now = given_claimed_next(t);
    expect_all(t, &old, FF_LEASE_REVOKED);
    EXPECT_OK(t, when_completed(t, &now, NULL));
    /* Now there is a later tenancy: the revoked one is just old. */
    expect_all(t, &old, FF_STALE_LEASE);
}

FF_CONFORMANCE(lease_fence, older_tenancies_are_stale)
{
    const struct held first = given_claimed(t);
    struct held second;

    EXPECT_OK(t, when_released(t, &first, NULL));
    second = given_claimed_next(t);
    EXPECT_OK(t, when_released(t, &second, NULL));
    expect_all(t, &first, FF_STALE_LEASE);
    EXPECT_STATUS(t, FF_STALE_LEASE, when_released(t, &first, NULL));
}

FF_CONFORMANCE(lease_fence, last_word_may_be_said_again)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_completed(t, &held, "7"));
    EXPECT_TEXT(t, "completed", t->answer.public_state);
    t->answer.public_state = NULL;
    EXPECT_OK(t, when_completed(t, &held, "7"));
    EXPECT_TEXT(t, "completed", t->answer.public_state);
    EXPECT_EVENTS(t, held.id, "acquired completion.success");
}

/* Whatever has happened since, the first answer counts. */
FF_CONFORMANCE(lease_fence, last_word_may_be_said_again_after_the_next_claim)
{
    const struct ff_policy_spec p = retry_policy(3, 0);
    const struct held held = given_claimed_with(t, &p, 30000);
    struct held next;

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    next = given_claimed_next(t);
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    EXPECT_STATE(t, held.id, "active");
    EXPECT_OK(t, when_completed(t, &next, NULL));
    EXPECT_STATUS(t, FF_STALE_LEASE, when_failed(t, &held, "transient"));
}

FF_CONFORMANCE(lease_fence, contradicting_oneself_is_a_conflict)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_completed(t, &held, "7"));
    EXPECT_STATUS(t, FF_CONFLICT, when_completed(t, &held, "8"));
    EXPECT_STATUS(t, FF_CONFLICT, when_completed(t, &held, NULL));
    EXPECT_STATUS(t, FF_CONFLICT, when_failed(t, &held, "permanent"));
    EXPECT_STATUS(t, FF_CONFLICT, when_delayed(t, &held, 5));
    EXPECT_STATUS(t, FF_CONFLICT, when_released(t, &held, NULL));
    EXPECT_EVENTS(t, held.id, "acquired completion.success");
}

FF_CONFORMANCE(lease_fence, failure_then_success_is_a_conflict)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    EXPECT_STATUS(t, FF_CONFLICT, when_completed(t, &held, NULL));
    EXPECT_STATUS(t, FF_CONFLICT, when_failed(t, &held, "transient"));
    EXPECT_STATE(t, held.id, "failed");
}

FF_CONFORMANCE(lease_fence, same_result_of_another_type_is_a_conflict)
{
    const struct held held = given_claimed(t);
    struct ff_completion item = {.lease = lease_of(&held), .result = {"7", 1}};
    struct ff_task_result result;

    EXPECT_OK(t, when_completed(t, &held, "7"));
    item.result_content_type = "text/plain";
    EXPECT_OK(t, ff_complete(t->client, &item, 1, &result, &t->err));
    EXPECT_INT(t, FF_CONFLICT, result.status);
}

/* Renewing what has ended tells how it ended. */
FF_CONFORMANCE(lease_fence, renewing_after_the_end_tells_the_outcome)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_renewed(t, &held, 0));
    EXPECT_TEXT(t, "success", t->err.outcome);
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_progressed(t, &held, 1, NULL));
    EXPECT_TEXT(t, "success", t->err.outcome);
}

FF_CONFORMANCE(lease_fence, renewing_after_giving_back_is_not_active)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_released(t, &held, NULL));
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_renewed(t, &held, 0));
    EXPECT_TEXT(t, "", t->err.outcome);
}

/* F16, F17: a cancelled execution is not brought back by its worker. */
FF_CONFORMANCE(lease_fence, worker_of_a_cancelled_execution_hears_the_outcome)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_cancelled(t, held.id));
    expect_all(t, &held, FF_NOT_ACTIVE);
    EXPECT_TEXT(t, "cancelled", t->err.outcome);
    EXPECT_EVENTS(t, held.id, "acquired operator.cancel_requested revoked completion.cancelled");
}

/* F16: in an earlier engine a second fail made the index jump and gave the task two owners. */
FF_CONFORMANCE(lease_fence, failing_twice_counts_once)
{
    const struct ff_policy_spec p = retry_policy(5, 3600000);
    const struct held held = given_claimed_with(t, &p, 30000);
    int64_t retry_at_ms;

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    retry_at_ms = t->answer.retry_at_ms;
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_TEXT(t, "delayed", t->answer.public_state);
    EXPECT_INT(t, retry_at_ms, t->answer.retry_at_ms);
    EXPECT_INT(t, 1, look(t, held.id)->retry_count);
    EXPECT_INT(t, 1, look(t, held.id)->attempt_index);
    EXPECT_EVENTS(t, held.id, "acquired execution.retry_scheduled");
}

FF_CONFORMANCE(lease_fence, delay_and_release_may_be_said_again)
{
    const struct held first = given_claimed(t);
    struct held second;

    EXPECT_OK(t, when_released(t, &first, "full"));
    EXPECT_OK(t, when_released(t, &first, "full"));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    EXPECT_STATUS(t, FF_CONFLICT, when_released(t, &first, "empty"));
    second = given_claimed_next(t);
    EXPECT_OK(t, when_delayed(t, &second, 3600000));
    EXPECT_OK(t, when_delayed(t, &second, 3600000));
    EXPECT_TEXT(t, "delayed", t->answer.public_state);
    EXPECT_EVENTS(t, first.id, "acquired released acquired execution.delayed");
}

/* Twice in one call is twice all the same. */
FF_CONFORMANCE(lease_fence, repeats_inside_one_call_are_one)
{
    const struct held held = given_claimed(t);
    const struct ff_completion item = {.lease = lease_of(&held), .result = {"7", 1}};
    const struct ff_completion items[3] = {item, item, item};
    struct ff_task_result results[3];

    EXPECT_OK(t, ff_complete(t->client, items, 3, results, &t->err));
    for (size_t i = 0; i < 3; i++)
        EXPECT_INT(t, FF_OK, results[i].status);
    EXPECT_EVENTS(t, held.id, "acquired completion.success");
}

struct quarrel {
    struct held held;
    ff_status said[8];
};

static void say_something(struct test *t, size_t index, void *ctx)
{
    struct quarrel *const quarrel = ctx;
    ff_status *const said = &quarrel->said[index];

    if (index % 2)
        t->client = t->others[0];
    if (index < 4)
        *said = when_completed(t, &quarrel->held, index % 2 ? "1" : "2");
    else if (index < 6)
        *said = when_failed(t, &quarrel->held, "permanent");
    else
        *said = when_cancelled(t, quarrel->held.id);
}

/* Many at once, from two clients: one outcome, one completion event. */
FF_CONFORMANCE(lease_fence, racing_last_words_leave_one_outcome)
{
    (void)another_client(t, NULL);
    for (int round = 0; round < 10; round++) {
        struct quarrel *const quarrel = keep(t, sizeof *quarrel);
        int outcomes = 0;

        quarrel->held = given_claimed(t);
        in_threads(t, 8, say_something, quarrel);
        EXPECT(t, look(t, quarrel->held.id)->finished);
        for (size_t i = 0; i < history(t, quarrel->held.id)->count; i++)
            outcomes += !strcmp(history(t, quarrel->held.id)->items[i].kind, "completion");
        EXPECT_INT(t, 1, outcomes);
    }
}
