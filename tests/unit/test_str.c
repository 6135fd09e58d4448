/* SPDX-License-Identifier: Apache-2.0
 *
 * test_str.c -- comparing, checking and reading borrowed strings.
 *
 * Of src/base/str. No database, no clock, no sleep. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"

static void test_str__null_is_not_empty(void **state FF_UNUSED)
{
    const struct ff_str null = ff_str_null();

    assert_true(ff_str_is_null(null));
    assert_true(ff_str_is_null(ff_str_of(NULL)));
    assert_false(ff_str_is_null(FF_STR("")));
    assert_true(ff_str_empty(null));
    assert_true(ff_str_empty(FF_STR("")));
    assert_true(ff_str_eq(null, null));
    assert_false(ff_str_eq(null, FF_STR("")));
    assert_false(ff_str_eq(FF_STR(""), null));
    assert_true(ff_str_cmp(null, FF_STR("")) < 0);
    assert_true(ff_str_cmp(FF_STR(""), null) > 0);
    assert_int_equal(0, ff_str_cmp(null, null));
}

static void test_str__compares_bytes_then_length(void **state FF_UNUSED)
{
    assert_true(ff_str_eq(FF_STR("abc"), ff_str_of("abc")));
    assert_false(ff_str_eq(FF_STR("abc"), FF_STR("abd")));
    assert_false(ff_str_eq(FF_STR("abc"), FF_STR("ab")));
    assert_int_equal(0, ff_str_cmp(FF_STR("abc"), FF_STR("abc")));
    assert_true(ff_str_cmp(FF_STR("ab"), FF_STR("abc")) < 0);
    assert_true(ff_str_cmp(FF_STR("abc"), FF_STR("ab")) > 0);
    assert_true(ff_str_cmp(FF_STR("b"), FF_STR("abc")) > 0);
    assert_true(ff_str_cmp(FF_STR("\xff"), FF_STR("a")) > 0);
    assert_true(ff_str_cmp(FF_STR("a\0b"), FF_STR("a\0c")) < 0);
}

static void test_str__literals_keep_inner_nul(void **state FF_UNUSED)
{
    static const struct ff_str table[] = {FF_STR_INIT("a\0b"), FF_STR_INIT("")};

    assert_int_equal(3, table[0].len);
    assert_int_equal(0, table[1].len);
    assert_true(ff_str_eq(table[0], FF_STR("a\0b")));
}

static void test_str__prefixes(void **state FF_UNUSED)
{
    assert_true(ff_str_starts(FF_STR("abc"), FF_STR("ab")));
    assert_true(ff_str_starts(FF_STR("abc"), FF_STR("abc")));
    assert_true(ff_str_starts(FF_STR("abc"), FF_STR("")));
    assert_true(ff_str_starts(ff_str_null(), FF_STR("")));
    assert_false(ff_str_starts(FF_STR("ab"), FF_STR("abc")));
    assert_false(ff_str_starts(FF_STR("abc"), FF_STR("b")));
}

static void test_str__slices_stay_inside(void **state FF_UNUSED)
{
    assert_true(ff_str_eq(ff_str_slice(FF_STR("abc"), 1, 1), FF_STR("b")));
    assert_true(ff_str_eq(ff_str_slice(FF_STR("abc"), 1, SIZE_MAX), FF_STR("bc")));
    assert_true(ff_str_eq(ff_str_slice(FF_STR("abc"), 9, 1), FF_STR("")));
    assert_true(ff_str_is_null(ff_str_slice(ff_str_null(), 0, 1)));
}

static void test_str__utf8_is_strict(void **state FF_UNUSED)
{
    static const struct ff_str good[] = {
        FF_STR_INIT(""),
        FF_STR_INIT("plain \x7f"),
        FF_STR_INIT("\xc2\x80"),
        FF_STR_INIT("\xdf\xbf"),
        FF_STR_INIT("\xe0\xa0\x80"),
        FF_STR_INIT("\xed\x9f\xbf"),
        FF_STR_INIT("\xee\x80\x80"),
        FF_STR_INIT("\xef\xbf\xbf"),
        FF_STR_INIT("\xf0\x90\x80\x80"),
        FF_STR_INIT("\xf4\x8f\xbf\xbf"),
        FF_STR_INIT("a\0b"),
    };
    static const struct ff_str bad[] = {
        FF_STR_INIT("\x80"),             /* continuation alone */
        FF_STR_INIT("\xc0\x80"),         /* overlong */
        FF_STR_INIT("\xc1\xbf"),         /* overlong */
        FF_STR_INIT("\xe0\x9f\xbf"),     /* overlong */
        FF_STR_INIT("\xf0\x8f\xbf\xbf"), /* overlong */
        FF_STR_INIT("\xed\xa0\x80"),     /* first surrogate */
        FF_STR_INIT("\xed\xbf\xbf"),     /* last surrogate */
        FF_STR_INIT("\xf4\x90\x80\x80"), /* U+110000 */
        FF_STR_INIT("\xf5\x80\x80\x80"),
        FF_STR_INIT("\xff"),
        FF_STR_INIT("\xc2"),             /* cut */
        FF_STR_INIT("\xe2\x82"),         /* cut */
        FF_STR_INIT("\xf0\x9f\x98"),     /* cut */
        FF_STR_INIT("\xe2\x82\x28"),     /* third byte is not a continuation */
        FF_STR_INIT("\xf0\x9f\x98\xc0"), /* fourth byte is not a continuation */
        FF_STR_INIT("ok\xc2\x41"),
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(good); i++)
        assert_true(ff_str_is_utf8(good[i]));
    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        assert_false(ff_str_is_utf8(bad[i]));
    assert_true(ff_str_is_utf8(ff_str_null()));
}

static void test_str__utf8_step_gives_one_character(void **state FF_UNUSED)
{
    assert_int_equal(3, ff_str_utf8_step(FF_STR("\xe2\x82\xac and more")));
    assert_int_equal(1, ff_str_utf8_step(FF_STR("a\xff")));
    assert_int_equal(0, ff_str_utf8_step(FF_STR("\xff")));
    assert_int_equal(0, ff_str_utf8_step(ff_str_null()));
}

static void test_str__nul_and_printable(void **state FF_UNUSED)
{
    assert_true(ff_str_has_nul(FF_STR("a\0")));
    assert_false(ff_str_has_nul(FF_STR("a")));
    assert_false(ff_str_has_nul(ff_str_null()));
    assert_true(ff_str_is_printable_ascii(FF_STR(" ~")));
    assert_true(ff_str_is_printable_ascii(ff_str_null()));
    assert_false(ff_str_is_printable_ascii(FF_STR("\x1f")));
    assert_false(ff_str_is_printable_ascii(FF_STR("\x7f")));
    assert_false(ff_str_is_printable_ascii(FF_STR("\xc3\xa4")));
}

static void test_str__numbers_have_one_spelling(void **state FF_UNUSED)
{
    static const struct {
        const char *text;
        int64_t number;
    } good[] = {
        {"0", 0},
        {"7", 7},
        {"-1", -1},
        {"1000", 1000},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    static const char *const bad[] = {
        "",
        "-",
        "+1",
        "-0",
        "00",
        "01",
        "-01",
        " 1",
        "1 ",
        "1x",
        "0x1",
        "1.0",
        "1e3",
        "--1",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999",
    };
    int64_t number = 42;

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        assert_false(ff_str_to_i64(ff_str_of(bad[i]), &number));
    assert_false(ff_str_to_i64(ff_str_null(), &number));
    assert_false(ff_str_to_i64(FF_STR("1\0"), &number));
    assert_true(number == 42);
    for (size_t i = 0; i < FF_ARRAY_LEN(good); i++) {
        assert_true(ff_str_to_i64(ff_str_of(good[i].text), &number));
        assert_true(number == good[i].number);
    }
}

static void test_str__prints_without_a_terminator(void **state FF_UNUSED)
{
    const struct ff_str part = {.ptr = "abcdef", .len = 3};
    char out[16];

    snprintf(out, sizeof out, "'" FF_STR_FMT "'", FF_STR_ARG(part));
    assert_string_equal("'abc'", out);
    snprintf(out, sizeof out, "'" FF_STR_FMT "'", FF_STR_ARG(ff_str_null()));
    assert_string_equal("''", out);
    assert_int_equal(INT_MAX, ff_str_printf_len((struct ff_str){.ptr = "", .len = SIZE_MAX}));
}

static void test_str__a_cut_never_splits_a_character(void **state FF_UNUSED)
{
    char out[8];

    assert_int_equal(9,
                     ff_str_print(out, sizeof out, "%s", "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"));
    assert_string_equal("\xe2\x82\xac\xe2\x82\xac", out);
    assert_int_equal(7, ff_str_print(out, sizeof out, "x%s", "\xe2\x82\xac\xe2\x82\xac"));
    assert_string_equal("x\xe2\x82\xac\xe2\x82\xac", out);
    assert_int_equal(4, ff_str_print(out, sizeof out, "%.2s %s", "\xc3\xa9\xa9", "\xff"));
    assert_string_equal("\xc3\xa9 ?", out);
    (void)ff_str_print(out, 1, "%s", "\xe2\x82\xac");
    assert_string_equal("", out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str__null_is_not_empty),
        cmocka_unit_test(test_str__compares_bytes_then_length),
        cmocka_unit_test(test_str__literals_keep_inner_nul),
        cmocka_unit_test(test_str__prefixes),
        cmocka_unit_test(test_str__slices_stay_inside),
        cmocka_unit_test(test_str__utf8_is_strict),
        cmocka_unit_test(test_str__utf8_step_gives_one_character),
        cmocka_unit_test(test_str__a_cut_never_splits_a_character),
        cmocka_unit_test(test_str__nul_and_printable),
        cmocka_unit_test(test_str__numbers_have_one_spelling),
        cmocka_unit_test(test_str__prints_without_a_terminator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
