/* SPDX-License-Identifier: Apache-2.0
 *
 * test_encode.c -- each value has one text, and only that text is read.
 *
 * Of src/base/encode. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/encode.h"
#include "base/macros.h"
#include "base/str.h"

static void test_encode__hex_round_trip(void **state FF_UNUSED)
{
    const uint8_t data[] = {0x00, 0x01, 0x7f, 0x80, 0xab, 0xff};
    char text[FF_HEX_TEXT_BYTES(sizeof data)];
    uint8_t back[sizeof data];

    ff_hex_encode(data, sizeof data, text);
    assert_string_equal("00017f80abff", text);
    assert_true(ff_hex_decode(ff_str_of(text), back, sizeof back));
    assert_memory_equal(data, back, sizeof data);
    assert_true(ff_hex_decode(FF_STR("00017F80ABFF"), back, sizeof back));
    assert_memory_equal(data, back, sizeof data);
}

static void test_encode__hex_of_nothing(void **state FF_UNUSED)
{
    char text[1] = {'x'};
    uint8_t back;

    ff_hex_encode(NULL, 0, text);
    assert_string_equal("", text);
    assert_true(ff_hex_decode(FF_STR(""), &back, 0));
}

static void test_encode__hex_refuses_other_texts(void **state FF_UNUSED)
{
    static const char *const bad[] = {"",     "0",    "00",   "000", "00000",
                                      "000g", "0x00", " 000", "/0:0"};
    uint8_t back[2];

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        assert_false(ff_hex_decode(ff_str_of(bad[i]), back, sizeof back));
}

/* RFC 4648, section 10. */
static void test_encode__base64_published_values(void **state FF_UNUSED)
{
    static const struct {
        const char *data;
        const char *text;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xbf", "+/+/"},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(cases); i++) {
        const size_t bytes = strlen(cases[i].data);
        char text[16];
        uint8_t back[16];
        size_t back_bytes = 99;

        ff_base64_encode(cases[i].data, bytes, text);
        assert_string_equal(cases[i].text, text);
        assert_int_equal(FF_BASE64_TEXT_BYTES(bytes), strlen(text) + 1);
        assert_true(ff_base64_decode(ff_str_of(text), back, &back_bytes));
        assert_int_equal(bytes, back_bytes);
        assert_memory_equal(cases[i].data, back, bytes);
    }
}

static void test_encode__base64_every_length_survives(void **state FF_UNUSED)
{
    uint8_t data[100];
    uint8_t back[FF_BASE64_DATA_BYTES_MAX(FF_BASE64_TEXT_BYTES(sizeof data))];
    char text[FF_BASE64_TEXT_BYTES(sizeof data)];
    size_t bytes = 0;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37);
    for (size_t len = 0; len <= sizeof data; len++) {
        ff_base64_encode(data, len, text);
        assert_true(ff_base64_decode(ff_str_of(text), back, &bytes));
        assert_int_equal(len, bytes);
        assert_memory_equal(data, back, len);
    }
}

static void test_encode__base64_refuses_other_texts(void **state FF_UNUSED)
{
    static const char *const bad[] = {
        "Z",     "Zg",     "Zg=",     "Zm9vY", "Zg==\n",   "Z g==",    " Zg==",
        "Zg== ", "Zm9v\n",                                                     /* length, space */
        "Zh==",  "Zm9=",   "Zn==",                                             /* stray bits */
        "====",  "Z===",   "=Zg=",    "Zg=a",  "Zg==Zg==", "Zm8=Zm8=", "Zm=v", /* padding */
        "Zm-v",  "Zm_v",   "Zm9\x80", "Zm9.",  "@@@@",     "[[[[",     "````",
        "{{{{", /* alphabet */
    };
    uint8_t back[16];
    size_t bytes = 99;

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        assert_false(ff_base64_decode(ff_str_of(bad[i]), back, &bytes));
    assert_false(ff_base64_decode(FF_STR("Zm9\0"), back, &bytes));
    assert_int_equal(99, bytes);
}

static void test_encode__hex_digit_knows_sixteen_values(void **state FF_UNUSED)
{
    int known = 0;

    for (int c = 0; c < 256; c++)
        known += ff_hex_digit((char)c) >= 0;
    assert_int_equal(22, known);
    assert_int_equal(15, ff_hex_digit('F'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode__hex_round_trip),
        cmocka_unit_test(test_encode__hex_of_nothing),
        cmocka_unit_test(test_encode__hex_refuses_other_texts),
        cmocka_unit_test(test_encode__base64_published_values),
        cmocka_unit_test(test_encode__base64_every_length_survives),
        cmocka_unit_test(test_encode__base64_refuses_other_texts),
        cmocka_unit_test(test_encode__hex_digit_knows_sixteen_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
