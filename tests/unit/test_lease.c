/* SPDX-License-Identifier: Apache-2.0
 *
 * test_lease.c -- who may act on an execution, and what those hear who may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/lease.h"

#define HASH_A FF_STR("aaaaaaaaaaaaaaaa")
#define HASH_B FF_STR("bbbbbbbbbbbbbbbb")

static const struct ff_uuid mine = {.b = {1}};
static const struct ff_uuid other = {.b = {2}};

static struct ff_execution row;
static struct ff_attempt attempt;

/* Leased by `mine` under epoch 3 from 1000 to 5000. */
static int given_leased(void **state)
{
    (void)state;
    memset(&row, 0, sizeof row);
    memset(&attempt, 0, sizeof attempt);
    ff_row_init(FF_TABLE_EXECUTION, &row);
    ff_row_init(FF_TABLE_ATTEMPT, &attempt);
    row.state = FF_STATE_ACTIVE;
    row.lease_id = mine;
    row.lease_epoch = 3;
    row.lease_ttl_ms = 4000;
    row.lease_acquired_at_ms = 1000;
    row.lease_expires_at_ms = 5000;
    row.worker_id = FF_STR("pool");
    row.worker_instance_id = FF_STR("pool-1");
    row.attempt_index = 2;
    row.attempt_type = FF_ATTEMPT_RETRY;
    row.generation = 1;
    return 0;
}

static void when_ended(ff_end end, struct ff_str hash, ff_state state)
{
    struct ff_ending how = ff_ending_of(end);

    how.hash = hash;
    ff_lease_close(&row, end == FF_END_COMPLETED ? NULL : &attempt, &how, 4000);
    row.state = (int32_t)state;
}

static ff_status ask(struct ff_uuid lease, int64_t epoch, struct ff_str hash, bool *repeat,
                     struct ff_error *error)
{
    const struct ff_lease_said said = {.lease_id = lease, .lease_epoch = epoch, .hash = hash};

    memset(error, 0, sizeof *error);
    return ff_lease_check(&row, &said, repeat, error);
}

static void assert_hears(ff_status status, struct ff_uuid lease, int64_t epoch, struct ff_str hash)
{
    struct ff_error error;
    bool repeat;

    assert_int_equal(ask(lease, epoch, hash, &repeat, &error), status);
    assert_false(repeat);
}

static void test_lease__the_holder_may_act(void **state)
{
    (void)state;
    assert_hears(FF_OK, mine, 3, ff_str_null());
    assert_hears(FF_OK, mine, 3, HASH_A);
}

/* Late work is accepted until a rule has acted on the lapse, under reclaim until the next claim. */
static void test_lease__a_lapsed_holder_may_act_until_somebody_else_does(void **state)
{
    (void)state;
    row.state = FF_STATE_RECLAIMABLE;
    assert_hears(FF_OK, mine, 3, HASH_A);
}

/* F15: the fence is on the execution: id and epoch must both be the live ones. */
static void test_lease__nobody_else_may_act(void **state)
{
    (void)state;
    assert_hears(FF_STALE_LEASE, other, 3, HASH_A);
    assert_hears(FF_STALE_LEASE, mine, 2, HASH_A);
    assert_hears(FF_STALE_LEASE, mine, 4, ff_str_null());
}

static void test_lease__an_exact_repeat_is_recognised(void **state)
{
    struct ff_error error;
    bool repeat;

    (void)state;
    when_ended(FF_END_COMPLETED, HASH_A, FF_STATE_SUCCESS);
    assert_int_equal(ask(mine, 3, HASH_A, &repeat, &error), FF_OK);
    assert_true(repeat);
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_SUCCESS);
    row.state = FF_STATE_READY_REPLAY; /* whatever happened since, the first answer stands */
    assert_int_equal(ask(mine, 3, HASH_A, &repeat, &error), FF_OK);
    assert_true(repeat);
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_SUCCESS);
}

/* F16: a second word that differs is refused, and says so. */
static void test_lease__contradicting_oneself_is_a_conflict(void **state)
{
    (void)state;
    when_ended(FF_END_COMPLETED, HASH_A, FF_STATE_SUCCESS);
    assert_hears(FF_CONFLICT, mine, 3, HASH_B);
}

static void test_lease__renewing_what_one_has_ended_is_not_active(void **state)
{
    struct ff_error error;
    bool repeat;

    (void)state;
    when_ended(FF_END_COMPLETED, HASH_A, FF_STATE_SUCCESS);
    assert_int_equal(ask(mine, 3, ff_str_null(), &repeat, &error), FF_NOT_ACTIVE);
    assert_string_equal(error.outcome, "success");
}

static void test_lease__after_a_cancel_the_outcome_is_told(void **state)
{
    struct ff_error error;
    bool repeat;

    (void)state;
    when_ended(FF_END_CANCELLED, ff_str_null(), FF_STATE_CANCELLED);
    assert_int_equal(ask(mine, 3, HASH_A, &repeat, &error), FF_NOT_ACTIVE);
    assert_string_equal(error.outcome, "cancelled");
    row.state = FF_STATE_READY_REPLAY; /* replayed: the old lease stays dead */
    assert_int_equal(ask(mine, 3, HASH_A, &repeat, &error), FF_NOT_ACTIVE);
    assert_string_equal(error.outcome, "cancelled");
}

static void test_lease__revoked_comes_before_stale(void **state)
{
    (void)state;
    when_ended(FF_END_REVOKED, ff_str_null(), FF_STATE_READY_RETRY);
    assert_hears(FF_LEASE_REVOKED, mine, 3, HASH_A);
    assert_hears(FF_LEASE_REVOKED, mine, 3, ff_str_null());
}

static void test_lease__lapsed_is_stale(void **state)
{
    (void)state;
    when_ended(FF_END_LAPSED, ff_str_null(), FF_STATE_READY_RETRY);
    assert_hears(FF_STALE_LEASE, mine, 3, HASH_A);
    row.state = FF_STATE_EXPIRED;
    assert_hears(FF_STALE_LEASE, mine, 3, HASH_A);
}

static void test_lease__older_than_the_last_is_stale(void **state)
{
    (void)state;
    when_ended(FF_END_COMPLETED, HASH_A, FF_STATE_SUCCESS);
    assert_hears(FF_STALE_LEASE, other, 2, HASH_A);
    assert_hears(FF_STALE_LEASE, other, 3, HASH_A); /* a lease that never was */
    assert_hears(FF_NOT_ACTIVE, other, 9, HASH_A);
}

static void test_lease__after_one_s_own_word_a_new_owner_changes_nothing(void **state)
{
    struct ff_error error;
    bool repeat;

    (void)state;
    when_ended(FF_END_RELEASED, HASH_A, FF_STATE_READY_RESUMED);
    row.state = FF_STATE_ACTIVE;
    row.lease_id = other;
    row.lease_epoch++;
    assert_int_equal(ask(mine, 3, HASH_A, &repeat, &error), FF_OK);
    assert_true(repeat);
    assert_hears(FF_CONFLICT, mine, 3, HASH_B);
    assert_hears(FF_STALE_LEASE, mine, 3, ff_str_null());
    assert_hears(FF_OK, other, 5, HASH_B);
}

static void test_lease__never_leased_is_not_active(void **state)
{
    (void)state;
    ff_row_init(FF_TABLE_EXECUTION, &row);
    row.state = FF_STATE_READY_FIRST;
    assert_hears(FF_NOT_ACTIVE, mine, 1, HASH_A);
    assert_hears(FF_NOT_ACTIVE, (struct ff_uuid){.b = {0}}, 0, HASH_A);
}

static void test_lease__closing_remembers_and_raises_the_epoch(void **state)
{
    struct ff_ending how = ff_ending_of(FF_END_RETRY);

    (void)state;
    how.hash = HASH_A;
    how.retry_at_ms = 7777;
    how.failure_class = 1;
    how.failure_message = FF_STR("boom");
    row.attempt_spent_ms = 99;
    ff_lease_close(&row, &attempt, &how, 4000);
    assert_int_equal(row.lease_epoch, 4);
    assert_int_equal(row.last_epoch, 3);
    assert_int_equal(row.last_end, FF_END_RETRY);
    assert_int_equal(row.last_retry_at_ms, 7777);
    assert_true(ff_uuid_eq(row.last_lease_id, mine));
    assert_true(ff_uuid_is_zero(row.lease_id));
    assert_int_equal(row.lease_expires_at_ms, FF_NULL64);
    assert_true(ff_str_is_null(row.worker_id));
    assert_int_equal(row.attempt_spent_ms, 0);
    assert_int_equal(attempt.outcome, FF_END_RETRY);
    assert_int_equal(attempt.attempt_index, 2);
    assert_int_equal(attempt.attempt_type, FF_ATTEMPT_RETRY);
    assert_int_equal(attempt.generation, 1);
    assert_int_equal(attempt.started_at_ms, 1000);
    assert_int_equal(attempt.ended_at_ms, 4000);
    assert_true(ff_str_eq(attempt.worker_instance_id, FF_STR("pool-1")));
    assert_true(ff_str_eq(attempt.failure_message, FF_STR("boom")));
}

static void test_lease__time_counts_while_it_was_held(void **state)
{
    struct ff_ending how = ff_ending_of(FF_END_RELEASED);

    (void)state;
    how.same_attempt = true;
    row.attempt_spent_ms = 50;
    ff_lease_close(&row, &attempt, &how, 4000);
    assert_int_equal(row.attempt_spent_ms, 3050);
    given_leased(NULL);
    how = ff_ending_of(FF_END_LAPSED);
    how.same_attempt = true;
    how.owner_follows = true;
    ff_lease_close(&row, &attempt, &how, 60000);
    assert_int_equal(row.attempt_spent_ms, 4000); /* not the time it lay there */
    assert_int_equal(row.lease_epoch, 3);         /* the next owner raises it */
    given_leased(NULL);
    how = ff_ending_of(FF_END_DELAYED);
    how.same_attempt = true;
    ff_lease_close(&row, &attempt, &how, 10); /* a clock that ran back */
    assert_int_equal(row.attempt_spent_ms, 0);
}

static void test_lease__the_first_answer_of_every_word(void **state)
{
    (void)state;
    row.last_end = FF_END_FAILED;
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_FAILED);
    row.last_end = FF_END_RETRY;
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_READY_RETRY);
    row.last_retry_at_ms = 5;
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_DELAYED_RETRY);
    row.last_end = FF_END_DELAYED;
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_DELAYED_WORKER);
    row.last_retry_at_ms = FF_NULL64;
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_READY_RESUMED);
    row.last_end = FF_END_RELEASED;
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_READY_RESUMED);
    row.last_end = FF_END_CANCELLED;
    assert_int_equal(ff_lease_last_state(&row), FF_STATE_CANCELLED);
}

/* What a completion leaves on the row is what its row in the table would have said. */
static void test_lease__a_completion_keeps_its_attempt(void **state)
{
    (void)state;
    row.partition_key = 7;
    row.execution_id = other;
    row.attempt_spent_ms = 99;
    assert_false(ff_attempt_is_kept(&row)); /* it runs */
    when_ended(FF_END_COMPLETED, HASH_A, FF_STATE_SUCCESS);
    row.finished_at_ms = 4000;
    assert_int_equal(row.lease_epoch, 4);
    assert_int_equal(row.attempt_spent_ms, 0);
    assert_true(ff_uuid_is_zero(row.lease_id));
    assert_int_equal(row.lease_ttl_ms, FF_NULL64);
    assert_int_equal(row.lease_renewed_at_ms, FF_NULL64);
    assert_int_equal(row.lease_expires_at_ms, FF_NULL64);
    assert_true(ff_attempt_is_kept(&row));

    attempt.failure_class = 1; /* whatever was there before */
    attempt.failure_message = FF_STR("boom");
    ff_attempt_kept(&row, &attempt);
    assert_int_equal(attempt.partition_key, 7);
    assert_true(ff_uuid_eq(attempt.execution_id, other));
    assert_int_equal(attempt.lease_epoch, 3);
    assert_int_equal(attempt.generation, 1);
    assert_int_equal(attempt.attempt_index, 2);
    assert_int_equal(attempt.attempt_type, FF_ATTEMPT_RETRY);
    assert_int_equal(attempt.outcome, FF_END_COMPLETED);
    assert_true(ff_uuid_eq(attempt.lease_id, mine));
    assert_true(ff_str_eq(attempt.worker_id, FF_STR("pool")));
    assert_true(ff_str_eq(attempt.worker_instance_id, FF_STR("pool-1")));
    assert_int_equal(attempt.started_at_ms, 1000);
    assert_int_equal(attempt.ended_at_ms, 4000);
    assert_int_equal(attempt.failure_class, FF_NULL32);
    assert_true(ff_str_is_null(attempt.failure_message));
}

/* Ended otherwise, replayed, or completed by a version that kept nothing: it is in the table. */
static void test_lease__only_a_completed_row_keeps_an_attempt(void **state)
{
    (void)state;
    when_ended(FF_END_FAILED, HASH_A, FF_STATE_FAILED);
    assert_int_equal(row.lease_acquired_at_ms, FF_NULL64);
    assert_true(ff_str_is_null(row.worker_id));
    assert_true(ff_str_is_null(row.worker_instance_id));
    assert_false(ff_attempt_is_kept(&row));
    given_leased(NULL);
    when_ended(FF_END_COMPLETED, HASH_A, FF_STATE_SUCCESS);
    row.state = FF_STATE_READY_REPLAY;
    assert_false(ff_attempt_is_kept(&row));
    row.state = FF_STATE_SUCCESS;
    ff_attempt_forget(&row);
    assert_false(ff_attempt_is_kept(&row));
    assert_true(ff_str_is_null(row.worker_id));
    assert_true(ff_str_is_null(row.worker_instance_id));
    assert_int_equal(row.last_epoch, 3); /* the last tenancy stays known */
    assert_int_equal(row.last_end, FF_END_COMPLETED);
}

static void test_lease__an_id_says_whose_it_is(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 256; bits++) {
        const struct ff_uuid random = {.b = {1, [15] = (uint8_t)bits}};

        assert_true(ff_lease_is_of_member(ff_lease_id(random, true)));
        assert_false(ff_lease_is_of_member(ff_lease_id(random, false)));
        assert_int_equal(ff_lease_id(random, false).b[15] >> 1, bits >> 1); /* all else stays */
        assert_int_equal(ff_lease_id(random, true).b[0], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lease__the_holder_may_act, given_leased),
        cmocka_unit_test_setup(test_lease__a_lapsed_holder_may_act_until_somebody_else_does,
                               given_leased),
        cmocka_unit_test_setup(test_lease__nobody_else_may_act, given_leased),
        cmocka_unit_test_setup(test_lease__an_exact_repeat_is_recognised, given_leased),
        cmocka_unit_test_setup(test_lease__contradicting_oneself_is_a_conflict, given_leased),
        cmocka_unit_test_setup(test_lease__renewing_what_one_has_ended_is_not_active, given_leased),
        cmocka_unit_test_setup(test_lease__after_a_cancel_the_outcome_is_told, given_leased),
        cmocka_unit_test_setup(test_lease__revoked_comes_before_stale, given_leased),
        cmocka_unit_test_setup(test_lease__lapsed_is_stale, given_leased),
        cmocka_unit_test_setup(test_lease__older_than_the_last_is_stale, given_leased),
        cmocka_unit_test_setup(test_lease__after_one_s_own_word_a_new_owner_changes_nothing,
                               given_leased),
        cmocka_unit_test_setup(test_lease__never_leased_is_not_active, given_leased),
        cmocka_unit_test_setup(test_lease__closing_remembers_and_raises_the_epoch, given_leased),
        cmocka_unit_test_setup(test_lease__time_counts_while_it_was_held, given_leased),
        cmocka_unit_test_setup(test_lease__a_completion_keeps_its_attempt, given_leased),
        cmocka_unit_test_setup(test_lease__only_a_completed_row_keeps_an_attempt, given_leased),
        cmocka_unit_test_setup(test_lease__the_first_answer_of_every_word, given_leased),
        cmocka_unit_test_setup(test_lease__an_id_says_whose_it_is, given_leased),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
