/* SPDX-License-Identifier: Apache-2.0
 *
 * test_histogram.c -- every time has its step.
 *
 * Of src/base/histogram. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "base/macros.h"

static void test_histogram__edges_belong_to_the_step_below(void **state FF_UNUSED)
{
    struct ff_histogram histogram = {0};

    ff_histogram_add(&histogram, -5);
    ff_histogram_add(&histogram, 0);
    ff_histogram_add(&histogram, 1000);
    ff_histogram_add(&histogram, 1001);
    ff_histogram_add(&histogram, INT64_C(3600000001));
    assert_int_equal(3, histogram.counts[0]);
    assert_int_equal(1, histogram.counts[1]);
    assert_int_equal(1, histogram.counts[FF_HISTOGRAM_STEPS]);
    assert_int_equal(INT64_C(3600002002), histogram.sum_us);
}

static void test_histogram__steps_rise(void **state FF_UNUSED)
{
    for (size_t i = 1; i < FF_HISTOGRAM_STEPS; i++)
        assert_true(ff_histogram_step_us[i] > ff_histogram_step_us[i - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histogram__edges_belong_to_the_step_below),
        cmocka_unit_test(test_histogram__steps_rise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
