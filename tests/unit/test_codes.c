/* SPDX-License-Identifier: Apache-2.0
 *
 * test_codes.c -- the small numbers of rows keep their names and values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/codes.h"

static void test_codes__stored_numbers_never_change(void **state)
{
    (void)state;
    assert_int_equal(FF_END_COMPLETED, 1);
    assert_int_equal(FF_END_EXPIRED, 10);
    assert_string_equal(ff_end_name(FF_END_LAPSED), "interrupted");
    assert_string_equal(ff_end_name(99), "unknown");
    assert_string_equal(ff_attempt_type_name(0), "initial");
    assert_string_equal(ff_attempt_type_name(1), "retry");
    assert_string_equal(ff_attempt_type_name(2), "replay");
    assert_string_equal(ff_attempt_type_name(3), "reclaim");
    assert_string_equal(ff_attempt_type_name(-1), "unknown");
    assert_int_equal(FF_PAYLOAD_RESULT, 1);
    assert_int_equal(FF_HOP_REOPEN, 1);
}

static void test_codes__numbers_of_flows_never_change(void **state)
{
    (void)state;
    assert_string_equal(ff_flow_state_name(1), "running");
    assert_string_equal(ff_flow_state_name(2), "completed");
    assert_string_equal(ff_flow_state_name(3), "failed");
    assert_string_equal(ff_flow_state_name(4), "cancelled");
    assert_string_equal(ff_flow_state_name(5), "removed");
    assert_string_equal(ff_flow_cancel_name(1), "cancel_flow_only");
    assert_string_equal(ff_flow_cancel_name(2), "cancel_pending");
    assert_string_equal(ff_flow_cancel_name(3), "cancel_all");
    assert_string_equal(ff_edge_outcome_name(0), "unresolved");
    assert_string_equal(ff_edge_outcome_name(1), "success");
    assert_string_equal(ff_edge_outcome_name(2), "fail");
    assert_string_equal(ff_edge_outcome_name(3), "skip");
    assert_string_equal(ff_pass_name(0), "upstream");
    assert_string_equal(ff_pass_name(1), "input");
    assert_string_equal(ff_join_policy_name(0), "all_of");
    assert_string_equal(ff_join_policy_name(1), "any_of");
    assert_string_equal(ff_join_policy_name(2), "quorum");
    assert_string_equal(ff_on_satisfied_name(0), "cancel_remaining");
    assert_string_equal(ff_on_satisfied_name(1), "let_run");
    assert_string_equal(ff_group_state_name(0), "pending");
    assert_string_equal(ff_group_state_name(1), "satisfied");
    assert_string_equal(ff_group_state_name(2), "impossible");
    assert_string_equal(ff_group_state_name(3), "unknown");
}

static void test_codes__flags_bound_the_size_of_an_input(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 1023, 1024, 1025, 1 << 20, (1 << 20) + 1, 8 << 20};

    (void)state;
    assert_int_equal(ff_flags_input_bytes(0), 0);
    assert_int_equal(ff_flags_input_bytes(FF_EXEC_NO_NEW_ATTEMPT), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int32_t first = ff_flags_with_input(FF_EXEC_NO_NEW_ATTEMPT, 123456);
        const int32_t flags = ff_flags_with_input(first, sizes[i]);
        const int64_t bound = ff_flags_input_bytes(flags);

        assert_true(flags & FF_EXEC_NO_NEW_ATTEMPT);
        assert_true(flags & FF_EXEC_INPUT_ELSEWHERE);
        assert_true(bound >= (int64_t)sizes[i]);
        assert_true(bound <= 2 * (int64_t)sizes[i] || bound == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes__stored_numbers_never_change),
        cmocka_unit_test(test_codes__numbers_of_flows_never_change),
        cmocka_unit_test(test_codes__flags_bound_the_size_of_an_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
