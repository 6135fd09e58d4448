/* SPDX-License-Identifier: Apache-2.0
 *
 * test_clock.c -- time as text, and clocks that do not run backwards.
 *
 * Of src/base/clock. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"

static void check_text(const char *expected, int64_t unix_ms)
{
    char out[FF_TIME_TEXT_BYTES];

    assert_string_equal(expected, ff_time_format_utc(unix_ms, out));
}

static void test_clock__time_as_text(void **state FF_UNUSED)
{
    check_text("1970-01-01T00:00:00.000Z", 0);
    check_text("2000-02-29T12:34:56.789Z", 951827696789);
    check_text("1969-12-31T23:59:59.999Z", -1);
    check_text("1969-12-31T23:59:59.000Z", -1000);
    check_text("9999-12-31T23:59:59.999Z", 253402300799999);
    check_text("0000-01-01T00:00:00.000Z", -62167219200000);
}

static void test_clock__times_out_of_range_are_clamped(void **state FF_UNUSED)
{
    check_text("9999-12-31T23:59:59.999Z", INT64_MAX);
    check_text("0000-01-01T00:00:00.000Z", INT64_MIN);
}

static int64_t from_ctx(void *ctx)
{
    return *(const int64_t *)ctx;
}

static void test_clock__a_test_brings_its_own(void **state FF_UNUSED)
{
    int64_t now_ms = 5;
    const struct ff_clock clock = {
        .ctx = &now_ms, .mono_ms = from_ctx, .real_ms = from_ctx, .boot_ms = from_ctx};

    assert_int_equal(5, ff_clock_mono_ms(&clock));
    now_ms = 6;
    assert_int_equal(6, ff_clock_real_ms(&clock));
    assert_int_equal(6, ff_clock_boot_ms(&clock));
}

static void test_clock__system_clocks_are_plausible(void **state FF_UNUSED)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t mono_ms = ff_clock_mono_ms(&clock);
    const int64_t boot_ms = ff_clock_boot_ms(&clock);

    assert_true(ff_clock_mono_ms(&clock) >= mono_ms);
    assert_true(ff_clock_boot_ms(&clock) >= boot_ms);
    assert_true(boot_ms >= mono_ms);
    assert_true(ff_clock_real_ms(&clock) > INT64_C(1700000000000)); /* after 2023 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock__time_as_text),
        cmocka_unit_test(test_clock__times_out_of_range_are_clamped),
        cmocka_unit_test(test_clock__a_test_brings_its_own),
        cmocka_unit_test(test_clock__system_clocks_are_plausible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
