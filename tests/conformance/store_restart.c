/* SPDX-License-Identifier: Apache-2.0
 *
 * store_restart.c -- closing and opening again in the middle of everything loses nothing. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(store_restart, leases_stay_valid)
{
    const struct held held = given_claimed(t);

    given_reopened(t, NULL);
    EXPECT_STATE(t, held.id, "active");
    EXPECT(t, nothing_to_claim(t));
    EXPECT_OK(t, when_renewed(t, &held, 0));
    EXPECT_OK(t, when_completed(t, &held, "7"));
    given_reopened(t, NULL);
    EXPECT_OK(t, when_completed(t, &held, "7")); /* its last word is remembered too */
    EXPECT_STATUS(t, FF_CONFLICT, when_completed(t, &held, "8"));
}

FF_CONFORMANCE(store_restart, queue_keeps_its_order)
{
    const struct name low = given_priority(t, 1);
    const struct name high = given_priority(t, 2);

    given_reopened(t, NULL);
    EXPECT_TEXT(t, high.id, given_claimed_next(t).id);
    given_reopened(t, NULL);
    EXPECT_TEXT(t, low.id, given_claimed_next(t).id);
}

FF_CONFORMANCE_SLOW(store_restart, delays_end_after_it)
{
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct name name;

    s.delay_ms = 800;
    name = given(t, &s);
    given_reopened(t, NULL);
    r.wait_ms = TEST_WAIT_MS;
    EXPECT_TEXT(t, name.id, given_claim(t, &r).id);
}

/* The brake: after a restart a worker has its lease time to come back before it loses its work. */
FF_CONFORMANCE_SLOW(store_restart, leases_lapse_after_it)
{
    const struct ff_policy_spec p = policy();
    const struct held held = given_claimed_with(t, &p, 400);

    given_reopened(t, NULL);
    given_lapsed(t, &held);
    EXPECT_EVENTS(t, held.id, "acquired expired");
    EXPECT_TEXT(t, held.id, given_claimed_next(t).id);
}

FF_CONFORMANCE_SLOW(store_restart, deadlines_come_after_it)
{
    struct ff_submission s = submission();
    struct name name;

    s.deadline_ms = 500;
    name = given(t, &s);
    given_reopened(t, NULL);
    WAIT_UNTIL(t, is_in_state(t, name.id, "expired"));
}

FF_CONFORMANCE(store_restart, keys_are_remembered)
{
    struct ff_submission s = submission();
    struct ff_submitted again;
    struct name name;

    s.idempotency_key = "order-1";
    name = given(t, &s);
    given_reopened(t, NULL);
    EXPECT_OK(t, when_submitted(t, &s, &again));
    EXPECT(t, !again.created);
    EXPECT_TEXT(t, name.id, again.execution_id);
}

FF_CONFORMANCE(store_restart, claims_are_remembered)
{
    struct ff_claim_request r = claim_request();
    struct held first;

    r.request_id = "call-1";
    (void)given_submitted(t);
    (void)given_submitted(t);
    first = given_claim(t, &r);
    given_reopened(t, NULL);
    EXPECT_TEXT(t, first.lease_id, given_claim(t, &r).lease_id);
}

FF_CONFORMANCE(store_restart, capabilities_are_known_at_once)
{
    static const char *const needs[] = {"gpu"};
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();

    s.required_capabilities = needs;
    s.required_capability_count = 1;
    (void)given(t, &s);
    given_reopened(t, NULL);
    EXPECT(t, nothing_to_claim(t));
    r.capabilities = needs;
    r.capability_count = 1;
    (void)given_claim(t, &r);
}

FF_CONFORMANCE(store_restart, lanes_stay_paused)
{
    (void)given_submitted(t);
    EXPECT_OK(t, ff_lane_pause(t->client, "default", true, NULL, &t->err));
    given_reopened(t, NULL);
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(store_restart, everything_reads_as_before)
{
    const struct ff_tag_pair tags[] = {{"a", "1"}};
    struct ff_submission s = submission();
    const struct ff_info *before, *after;
    struct ff_bytes result = {0};
    struct held held;

    s.input = json_of(t, 3000, 'x');
    s.tags = tags;
    s.tag_count = 1;
    (void)given(t, &s);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_progressed(t, &held, 50, "half"));
    EXPECT_OK(t, when_completed(t, &held, "[1]"));
    before = look(t, held.id);
    given_reopened(t, NULL);
    after = look(t, held.id);
    EXPECT_INT(t, before->version, after->version);
    EXPECT_INT(t, before->finished_at_ms, after->finished_at_ms);
    EXPECT_BYTES(t, s.input.ptr, 3000, after->input);
    EXPECT_TEXT(t, "1", after->tags[0].value);
    EXPECT_TEXT(t, "half", after->progress_message);
    EXPECT_EVENTS(t, held.id, "acquired completion.success");
    EXPECT_OK(t, ff_result(t->client, held.id, &result, &t->err));
    keep_answer(t, result.memory);
    EXPECT_BYTES(t, "[1]", 3, result.data);
}

/* What was accepted before a hasty close is there afterwards. */
FF_CONFORMANCE(store_restart, nothing_accepted_is_lost)
{
    struct ff_submission *const items = keep(t, 500 * sizeof *items);
    struct ff_submitted *const results = keep(t, 500 * sizeof *results);

    for (size_t i = 0; i < 500; i++)
        items[i] = submission();
    for (int round = 0; round < 2; round++) {
        EXPECT_OK(t, ff_submit(t->client, items, 500, results, &t->err));
        given_reopened(t, NULL);
    }
    EXPECT_ROWS(t, 1000);
}
