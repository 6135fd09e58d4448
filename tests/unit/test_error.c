/* SPDX-License-Identifier: Apache-2.0
 *
 * test_error.c -- the caller gets status, field and a message that is cut cleanly.
 *
 * Of src/base/error. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

static void test_error__fills_status_and_message(void **state FF_UNUSED)
{
    struct ff_error error = {.status = FF_OK, .field = "old", .message = "old"};

    assert_int_equal(FF_INVALID, ff_fail(&error, FF_INVALID, "no lane '%s'", "a"));
    assert_int_equal(FF_INVALID, error.status);
    assert_string_equal("no lane 'a'", error.message);
    assert_string_equal("", error.field);
}

static void test_error__names_the_field(void **state FF_UNUSED)
{
    struct ff_error error;

    assert_int_equal(FF_TOO_LARGE, ff_fail_field(&error, FF_TOO_LARGE, "lane", "%d bytes", 65));
    assert_string_equal("lane", error.field);
    assert_string_equal("65 bytes", error.message);
}

static void test_error__nobody_listening_is_fine(void **state FF_UNUSED)
{
    assert_int_equal(FF_INTERNAL, ff_fail(NULL, FF_INTERNAL, "x"));
    assert_int_equal(FF_INTERNAL, ff_fail_field(NULL, FF_INTERNAL, "f", "x"));
}

static void test_error__long_texts_are_cut(void **state FF_UNUSED)
{
    char text[1000];
    struct ff_error error;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)ff_fail_field(&error, FF_INVALID, text, "%s", text);
    assert_int_equal(sizeof error.message - 1, strlen(error.message));
    assert_int_equal(sizeof error.field - 1, strlen(error.field));
}

static void test_error__a_cut_never_splits_a_character(void **state FF_UNUSED)
{
    char text[sizeof((struct ff_error *)NULL)->message + 8];
    struct ff_error error;

    /* U+20AC is three bytes: shift it across the end. */
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (size_t at = shift; at + 3 < sizeof text; at += 3)
            memcpy(text + at, "\xe2\x82\xac", 4);
        (void)ff_fail(&error, FF_INVALID, "%s", text);
        assert_true(ff_str_is_utf8(ff_str_of(error.message)));
        assert_true(strlen(error.message) >= sizeof error.message - 3);
    }
}

static void test_error__texts_are_utf8(void **state FF_UNUSED)
{
    struct ff_error error;

    (void)ff_fail_field(&error, FF_INVALID, "a\xff", "no '%.3s', '%s'", "xy\xe2\x82\xac",
                        "\xc3\xa9\x80");
    assert_string_equal("no 'xy?', '\xc3\xa9?'", error.message);
    assert_string_equal("a?", error.field);
}

static void test_error__may_be_wrapped_in_itself(void **state FF_UNUSED)
{
    struct ff_error error;

    (void)ff_fail_field(&error, FF_INVALID, "lane", "too long");
    (void)ff_fail_field(&error, FF_INTERNAL, error.field, "cannot load: %s", error.message);
    assert_string_equal("cannot load: too long", error.message);
    assert_string_equal("lane", error.field);
    assert_int_equal(FF_INTERNAL, error.status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error__fills_status_and_message),
        cmocka_unit_test(test_error__names_the_field),
        cmocka_unit_test(test_error__nobody_listening_is_fine),
        cmocka_unit_test(test_error__long_texts_are_cut),
        cmocka_unit_test(test_error__a_cut_never_splits_a_character),
        cmocka_unit_test(test_error__texts_are_utf8),
        cmocka_unit_test(test_error__may_be_wrapped_in_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
