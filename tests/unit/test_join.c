/* SPDX-License-Identifier: Apache-2.0
 *
 * test_join.c -- the truth table of joins, for every count of up to 8 edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/join.h"
#include "model/states.h"

#define EDGES_MAX 8

/* What the policies mean, said in another way: can it still be satisfied, whatever the edges that
 * are left bring? */
static int32_t needed(int32_t policy, int32_t k, int32_t total)
{
    if (policy == FF_JOIN_ALL_OF)
        return total;
    return policy == FF_JOIN_ANY_OF ? 1 : k;
}

static ff_group_state expected(int32_t policy, int32_t k, int32_t success, int32_t others,
                               int32_t total)
{
    const int32_t best = total - others;

    if (total == 0 && policy != FF_JOIN_QUORUM)
        return FF_GROUP_PENDING;
    if (success >= needed(policy, k, total))
        return FF_GROUP_SATISFIED;
    return best < needed(policy, k, total) ? FF_GROUP_IMPOSSIBLE : FF_GROUP_PENDING;
}

static void test_join__decides_as_its_policy_says(void **state)
{
    (void)state;
    for (int32_t policy = FF_JOIN_ALL_OF; policy <= FF_JOIN_QUORUM; policy++)
        for (int32_t total = 0; total <= EDGES_MAX; total++)
            for (int32_t k = 1; k <= EDGES_MAX; k++)
                for (int32_t success = 0; success <= total; success++)
                    for (int32_t fail = 0; fail <= total - success; fail++)
                        for (int32_t skip = 0; skip <= total - success - fail; skip++)
                            assert_int_equal(
                                ff_join_evaluate(policy, k, success, fail, skip, total),
                                expected(policy, k, success, fail + skip, total));
}

/* The rows of the table that the rules were first written down with. */
static void test_join__known_rows(void **state)
{
    (void)state;
    assert_int_equal(ff_join_evaluate(FF_JOIN_ALL_OF, 0, 3, 0, 0, 3), FF_GROUP_SATISFIED);
    assert_int_equal(ff_join_evaluate(FF_JOIN_ALL_OF, 0, 2, 1, 0, 3), FF_GROUP_IMPOSSIBLE);
    assert_int_equal(ff_join_evaluate(FF_JOIN_ALL_OF, 0, 1, 0, 0, 3), FF_GROUP_PENDING);
    assert_int_equal(ff_join_evaluate(FF_JOIN_ALL_OF, 0, 0, 0, 0, 0), FF_GROUP_PENDING);
    assert_int_equal(ff_join_evaluate(FF_JOIN_ANY_OF, 1, 1, 0, 0, 3), FF_GROUP_SATISFIED);
    assert_int_equal(ff_join_evaluate(FF_JOIN_ANY_OF, 1, 0, 3, 0, 3), FF_GROUP_IMPOSSIBLE);
    assert_int_equal(ff_join_evaluate(FF_JOIN_ANY_OF, 1, 0, 1, 1, 3), FF_GROUP_PENDING);
    assert_int_equal(ff_join_evaluate(FF_JOIN_QUORUM, 2, 2, 0, 1, 3), FF_GROUP_SATISFIED);
    assert_int_equal(ff_join_evaluate(FF_JOIN_QUORUM, 3, 0, 3, 0, 5), FF_GROUP_IMPOSSIBLE);
    assert_int_equal(ff_join_evaluate(FF_JOIN_QUORUM, 3, 0, 2, 0, 5), FF_GROUP_PENDING);
    assert_int_equal(ff_join_evaluate(99, 1, 5, 0, 0, 5), FF_GROUP_PENDING);
}

/* Whatever comes later, a decision of the table is never taken back by it. */
static void test_join__more_outcomes_never_undo_a_decision(void **state)
{
    (void)state;
    for (int32_t policy = FF_JOIN_ALL_OF; policy <= FF_JOIN_QUORUM; policy++)
        for (int32_t total = 1; total <= EDGES_MAX; total++)
            for (int32_t k = 1; k <= total; k++)
                for (int32_t s = 0; s < total; s++)
                    for (int32_t f = 0; f < total - s; f++) {
                        const ff_group_state now = ff_join_evaluate(policy, k, s, f, 0, total);

                        if (now == FF_GROUP_PENDING)
                            continue;
                        assert_int_equal(ff_join_evaluate(policy, k, s + 1, f, 0, total), now);
                        assert_int_equal(ff_join_evaluate(policy, k, s, f + 1, 0, total), now);
                        assert_int_equal(ff_join_evaluate(policy, k, s, f, 1, total), now);
                    }
}

static void test_join__only_success_is_success(void **state)
{
    (void)state;
    assert_int_equal(ff_edge_outcome_of(FF_STATE_SUCCESS), FF_EDGE_SUCCESS);
    assert_int_equal(ff_edge_outcome_of(FF_STATE_FAILED), FF_EDGE_FAIL);
    assert_int_equal(ff_edge_outcome_of(FF_STATE_CANCELLED), FF_EDGE_FAIL);
    assert_int_equal(ff_edge_outcome_of(FF_STATE_EXPIRED), FF_EDGE_FAIL);
    assert_int_equal(ff_edge_outcome_of(FF_STATE_SKIPPED), FF_EDGE_SKIP);
}

static void test_join__counts_forth_and_back(void **state)
{
    struct ff_edge_group group = {.policy = FF_JOIN_QUORUM, .k = 2, .total = 4};

    (void)state;
    ff_group_count(&group, FF_EDGE_SUCCESS, 1);
    ff_group_count(&group, FF_EDGE_FAIL, 1);
    ff_group_count(&group, FF_EDGE_SKIP, 1);
    assert_int_equal(ff_group_evaluate(&group), FF_GROUP_PENDING);
    ff_group_count(&group, FF_EDGE_SKIP, 1);
    assert_int_equal(ff_group_evaluate(&group), FF_GROUP_IMPOSSIBLE);
    ff_group_count(&group, FF_EDGE_SKIP, -1);
    ff_group_count(&group, FF_EDGE_SUCCESS, 1);
    assert_int_equal(ff_group_evaluate(&group), FF_GROUP_SATISFIED);
    assert_int_equal(group.version, 6);
}

static void test_join__the_rest_is_cancelled_only_when_asked(void **state)
{
    struct ff_edge_group group = {.policy = FF_JOIN_ANY_OF,
                                  .k = 1,
                                  .total = 2,
                                  .success = 1,
                                  .group_state = FF_GROUP_SATISFIED};

    (void)state;
    assert_true(ff_group_cancels_rest(&group));
    group.on_satisfied = FF_ON_SATISFIED_LET_RUN;
    assert_false(ff_group_cancels_rest(&group));
    group.on_satisfied = FF_ON_SATISFIED_CANCEL_REMAINING;
    group.policy = FF_JOIN_ALL_OF;
    assert_false(ff_group_cancels_rest(&group));
    group.policy = FF_JOIN_QUORUM;
    group.group_state = FF_GROUP_PENDING;
    assert_false(ff_group_cancels_rest(&group));
    group.group_state = FF_GROUP_IMPOSSIBLE;
    assert_true(ff_group_cancels_rest(&group));
    assert_int_equal(ff_group_open_edges(&group), 1);
    group.skip = 1;
    assert_int_equal(ff_group_open_edges(&group), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join__decides_as_its_policy_says),
        cmocka_unit_test(test_join__known_rows),
        cmocka_unit_test(test_join__more_outcomes_never_undo_a_decision),
        cmocka_unit_test(test_join__only_success_is_success),
        cmocka_unit_test(test_join__counts_forth_and_back),
        cmocka_unit_test(test_join__the_rest_is_cancelled_only_when_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
