/* SPDX-License-Identifier: Apache-2.0
 *
 * test_due.c -- when a row must be looked at again, and which rule then fires. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/limits.h"
#include "model/due.h"
#include "model/states.h"

static struct ff_policy policy;

/* Every time is set; which of them count is for the state to say. */
static struct ff_execution row_in(ff_state state)
{
    struct ff_execution row;

    memset(&row, 0, sizeof row);
    ff_row_init(FF_TABLE_EXECUTION, &row);
    row.state = (int32_t)state;
    row.lease_acquired_at_ms = 1000;
    row.lease_expires_at_ms = 5000;
    row.lease_ttl_ms = 4000;
    row.delay_until_ms = 6000;
    row.deadline_at_ms = 9000;
    return row;
}

static int setup(void **state)
{
    (void)state;
    ff_policy_default(&policy);
    return 0;
}

static void test_due__the_earliest_time_that_applies(void **state)
{
    struct ff_execution row = row_in(FF_STATE_ACTIVE);

    (void)state;
    assert_int_equal(ff_due(&row, &policy), 5000);
    policy.attempt_timeout_ms = 2000;
    assert_int_equal(ff_due(&row, &policy), 3000);
    row.attempt_spent_ms = 1500;
    assert_int_equal(ff_due(&row, &policy), 1500);
    row.attempt_spent_ms = 9999; /* more than it had */
    assert_int_equal(ff_due(&row, &policy), 1000);
    row.deadline_at_ms = 500;
    assert_int_equal(ff_due(&row, &policy), 500);
    row.deadline_at_ms = FF_NULL64;
    assert_int_equal(ff_due(&row, &policy), 1000);
}

static void test_due__leases_count_only_while_leased(void **state)
{
    struct ff_execution row = row_in(FF_STATE_RECLAIMABLE);

    (void)state;
    policy.attempt_timeout_ms = 10;
    assert_int_equal(ff_due(&row, &policy), 9000);
    row.state = FF_STATE_READY_RESUMED;
    assert_int_equal(ff_due(&row, &policy), 9000);
    row.deadline_at_ms = FF_NULL64;
    assert_int_equal(ff_due(&row, &policy), FF_NULL64);
}

static void test_due__delays_count_only_while_delayed(void **state)
{
    static const ff_state delayed[] = {FF_STATE_DELAYED_FIRST, FF_STATE_DELAYED_RETRY,
                                       FF_STATE_DELAYED_WORKER};
    struct ff_execution row;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        row = row_in(delayed[i]);
        assert_int_equal(ff_due(&row, &policy), 6000);
    }
    row = row_in(FF_STATE_BLOCKED_FIRST); /* a blocked node's delay is looked at when it is free */
    assert_int_equal(ff_due(&row, &policy), 9000);
}

static void test_due__nothing_after_the_end(void **state)
{
    (void)state;
    for (int code = FF_STATE_SUCCESS; code <= FF_STATE_SKIPPED; code++) {
        struct ff_execution row = row_in((ff_state)code);

        assert_int_equal(ff_due(&row, &policy), FF_NULL64);
        assert_int_equal(ff_due_judge(&row, &policy, INT64_MAX), FF_DUE_NOTHING);
    }
}

static void test_due__rules_are_judged_in_order(void **state)
{
    struct ff_execution row = row_in(FF_STATE_ACTIVE);

    (void)state;
    policy.attempt_timeout_ms = 3000;
    assert_int_equal(ff_due_judge(&row, &policy, 3999), FF_DUE_NOTHING);
    assert_int_equal(ff_due_judge(&row, &policy, 4000), FF_DUE_ATTEMPT);
    assert_int_equal(ff_due_judge(&row, &policy, 5000), FF_DUE_ATTEMPT);
    assert_int_equal(ff_due_judge(&row, &policy, 9000), FF_DUE_DEADLINE);
    policy.attempt_timeout_ms = 4000; /* both at once: it has had all of its time */
    assert_int_equal(ff_due_judge(&row, &policy, 5000), FF_DUE_ATTEMPT);
    policy.attempt_timeout_ms = 4001; /* time after the lease does not count */
    assert_int_equal(ff_due_judge(&row, &policy, 5001), FF_DUE_LAPSE);
    policy.attempt_timeout_ms = 0;
    assert_int_equal(ff_due_judge(&row, &policy, 4999), FF_DUE_NOTHING);
    assert_int_equal(ff_due_judge(&row, &policy, 5000), FF_DUE_LAPSE);
    row.state = FF_STATE_RECLAIMABLE; /* has lapsed before: once is enough */
    assert_int_equal(ff_due_judge(&row, &policy, 8999), FF_DUE_NOTHING);
    row.state = FF_STATE_DELAYED_RETRY;
    assert_int_equal(ff_due_judge(&row, &policy, 5999), FF_DUE_NOTHING);
    assert_int_equal(ff_due_judge(&row, &policy, 6000), FF_DUE_DELAY);
    assert_int_equal(ff_due_judge(&row, &policy, 9000), FF_DUE_DEADLINE);
    row.deadline_at_ms = FF_NULL64;
    row.delay_until_ms = FF_NULL64; /* nobody must wait for ever */
    assert_int_equal(ff_due_judge(&row, &policy, 0), FF_DUE_DELAY);
}

static void test_due__the_brake_is_the_ttl_but_at_most_30_s(void **state)
{
    struct ff_execution row = row_in(FF_STATE_ACTIVE);

    (void)state;
    assert_int_equal(ff_due_brake_end(&row, 10000), 14000);
    row.lease_ttl_ms = 3600000;
    assert_int_equal(ff_due_brake_end(&row, 10000), 10000 + FF_BRAKE_MS_MAX);
    assert_int_equal(ff_due_brake_end(&row, INT64_MAX), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_due__the_earliest_time_that_applies, setup),
        cmocka_unit_test_setup(test_due__leases_count_only_while_leased, setup),
        cmocka_unit_test_setup(test_due__delays_count_only_while_delayed, setup),
        cmocka_unit_test_setup(test_due__nothing_after_the_end, setup),
        cmocka_unit_test_setup(test_due__rules_are_judged_in_order, setup),
        cmocka_unit_test_setup(test_due__the_brake_is_the_ttl_but_at_most_30_s, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
