/* SPDX-License-Identifier: Apache-2.0
 *
 * test_macros.c -- errors leave early, cleanup runs, nothing is evaluated twice.
 *
 * Of src/base/macros.h. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "flowfabric.h"

static int freed;

struct thing {
    int number;
};

static void thing_free(struct thing *thing)
{
    if (thing)
        freed++;
}

FF_DEFINE_FREEP(struct thing, thing)

static ff_status leave_with(ff_status status, int *ret_reached)
{
    FF_TRY(status);
    *ret_reached = 1;
    return FF_OK;
}

static void test_macros__try_returns_the_first_failure(void **state FF_UNUSED)
{
    int reached = 0;

    assert_int_equal(FF_INVALID, leave_with(FF_INVALID, &reached));
    assert_int_equal(0, reached);
    assert_int_equal(FF_OK, leave_with(FF_OK, &reached));
    assert_int_equal(1, reached);
}

static struct thing *keep_or_drop(struct thing *given, bool keep)
{
    FF_AUTO(thing_freep) struct thing *thing = given;

    return keep ? FF_STEAL(thing) : NULL;
}

static void test_macros__stolen_objects_are_not_freed(void **state FF_UNUSED)
{
    struct thing thing = {.number = 1};

    freed = 0;
    assert_null(keep_or_drop(&thing, false));
    assert_int_equal(1, freed);
    assert_ptr_equal(&thing, keep_or_drop(&thing, true));
    assert_int_equal(1, freed);
}

static void test_macros__container_of_finds_the_whole(void **state FF_UNUSED)
{
    struct {
        char before[5];
        struct thing inner;
    } whole = {.inner = {.number = 7}};

    assert_ptr_equal(&whole, ff_container_of(&whole.inner, __typeof__(whole), inner));
}

static void test_macros__array_len_counts_items(void **state FF_UNUSED)
{
    const int three[] = {1, 2, 3};

    assert_int_equal(3, FF_ARRAY_LEN(three));
}

static void test_macros__min_and_max_work_on_the_edges(void **state FF_UNUSED)
{
    assert_true(ff_min_i64(INT64_MIN, INT64_MAX) == INT64_MIN);
    assert_true(ff_max_i64(INT64_MIN, INT64_MAX) == INT64_MAX);
    assert_true(ff_min_size(0, SIZE_MAX) == 0);
    assert_true(ff_max_size(0, SIZE_MAX) == SIZE_MAX);
}

static void test_macros__clamped_sums_stop_at_the_ends(void **state FF_UNUSED)
{
    assert_true(ff_add_i64_clamped(2, 3) == 5);
    assert_true(ff_add_i64_clamped(INT64_MAX, 1) == INT64_MAX);
    assert_true(ff_add_i64_clamped(INT64_MAX, -1) == INT64_MAX - 1);
    assert_true(ff_add_i64_clamped(INT64_MIN, -1) == INT64_MIN);
    assert_true(ff_add_i64_clamped(INT64_MIN, 1) == INT64_MIN + 1);
}

static void test_macros__raised_number_never_falls(void **state FF_UNUSED)
{
    _Atomic int64_t number = 5;

    ff_raise_i64(&number, 4);
    assert_int_equal(number, 5);
    ff_raise_i64(&number, 6);
    assert_int_equal(number, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros__try_returns_the_first_failure),
        cmocka_unit_test(test_macros__stolen_objects_are_not_freed),
        cmocka_unit_test(test_macros__container_of_finds_the_whole),
        cmocka_unit_test(test_macros__array_len_counts_items),
        cmocka_unit_test(test_macros__min_and_max_work_on_the_edges),
        cmocka_unit_test(test_macros__clamped_sums_stop_at_the_ends),
        cmocka_unit_test(test_macros__raised_number_never_falls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
