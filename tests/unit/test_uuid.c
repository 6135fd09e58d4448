/* SPDX-License-Identifier: Apache-2.0
 *
 * test_uuid.c -- text in both directions, versions, order, and the tail.
 *
 * Of src/base/uuid. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/uuid.h"

static const char text[] = "0190a5e8-1b2c-7def-8123-456789abcdef";

static void test_uuid__text_survives_the_round_trip(void **state FF_UNUSED)
{
    struct ff_uuid uuid;
    char out[FF_UUID_TEXT_BYTES];

    assert_true(ff_uuid_parse(ff_str_of(text), &uuid));
    assert_memory_equal("\x01\x90\xa5\xe8\x1b\x2c\x7d\xef\x81\x23\x45\x67\x89\xab\xcd\xef", uuid.b,
                        16);
    assert_string_equal(text, ff_uuid_format(uuid, out));
}

static void test_uuid__upper_case_is_read_and_lower_written(void **state FF_UNUSED)
{
    struct ff_uuid uuid;
    char out[FF_UUID_TEXT_BYTES];

    assert_true(ff_uuid_parse(FF_STR("0190A5E8-1B2C-7DEF-8123-456789ABCDEF"), &uuid));
    assert_string_equal(text, ff_uuid_format(uuid, out));
}

static void test_uuid__other_spellings_are_refused(void **state FF_UNUSED)
{
    static const char *const bad[] = {
        "",
        "0190a5e81b2c7def8123456789abcdef",
        "{0190a5e8-1b2c-7def-8123-456789abcdef}",
        "urn:uuid:0190a5e8-1b2c-7def-8123-456789abcdef",
        "0190a5e8-1b2c-7def-8123-456789abcde",
        "0190a5e8-1b2c-7def-8123-456789abcdef0",
        "0190a5e8-1b2c-7def-8123-456789abcdeg",
        " 190a5e8-1b2c-7def-8123-456789abcdef",
        "0190a5e81-b2c-7def-8123-456789abcdef",
        "0190a5e8-1b2c-7def-8123_456789abcdef",
        "0190a5e8-1b2c-7def-8123-456789abcd-f",
    };
    struct ff_uuid uuid = {.b = {9}};

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        assert_false(ff_uuid_parse(ff_str_of(bad[i]), &uuid));
    assert_false(ff_uuid_parse(ff_str_null(), &uuid));
    assert_int_equal(9, uuid.b[0]);
}

static void test_uuid__v7_carries_time_and_bits(void **state FF_UNUSED)
{
    const uint8_t ones[FF_UUID_V7_RANDOM_BYTES] = {255, 255, 255, 255, 255,
                                                   255, 255, 255, 255, 255};
    const uint8_t zeros[FF_UUID_V7_RANDOM_BYTES] = {0};
    char out[FF_UUID_TEXT_BYTES];

    assert_string_equal("01234567-89ab-7fff-bfff-ffffffffffff",
                        ff_uuid_format(ff_uuid_v7(UINT64_C(0x0123456789ab), ones), out));
    assert_string_equal("ffffffff-ffff-7000-8000-000000000000",
                        ff_uuid_format(ff_uuid_v7(FF_UUID_V7_UNIX_MS_MAX, zeros), out));
    assert_int_equal(7, ff_uuid_version(ff_uuid_v7(1, ones)));
    assert_true(ff_uuid_cmp(ff_uuid_v7(1, ones), ff_uuid_v7(2, zeros)) < 0);
}

static void test_uuid__the_time_is_read_back(void **state FF_UNUSED)
{
    const int64_t at_ms = INT64_C(0x0123456789ab);
    uint8_t random[FF_UUID_V7_RANDOM_BYTES] = {0};
    char out[FF_UUID_TEXT_BYTES];

    assert_int_equal(at_ms, ff_uuid_time_ms(ff_uuid_v7((uint64_t)at_ms, random)));
    assert_string_equal("01234567-89ab-0000-0000-000000000000",
                        ff_uuid_format(ff_uuid_first_of(at_ms), out));
    assert_true(ff_uuid_cmp(ff_uuid_first_of(at_ms), ff_uuid_v7((uint64_t)at_ms, random)) < 0);
    memset(random, 0xff, sizeof random);
    assert_true(ff_uuid_cmp(ff_uuid_v7((uint64_t)at_ms, random), ff_uuid_last_of(at_ms)) < 0);
    assert_true(ff_uuid_cmp(ff_uuid_last_of(at_ms), ff_uuid_first_of(at_ms + 1)) < 0);
    assert_int_equal(0, ff_uuid_time_ms(ff_uuid_first_of(-1)));
    assert_int_equal(FF_UUID_V7_UNIX_MS_MAX, ff_uuid_time_ms(ff_uuid_first_of(INT64_MAX)));
}

static void test_uuid__v4_keeps_the_other_bits(void **state FF_UNUSED)
{
    uint8_t random[16];
    char out[FF_UUID_TEXT_BYTES];

    memset(random, 0xff, sizeof random);
    assert_string_equal("ffffffff-ffff-4fff-bfff-ffffffffffff",
                        ff_uuid_format(ff_uuid_v4(random), out));
    memset(random, 0, sizeof random);
    assert_string_equal("00000000-0000-4000-8000-000000000000",
                        ff_uuid_format(ff_uuid_v4(random), out));
    assert_int_equal(4, ff_uuid_version(ff_uuid_v4(random)));
}

static void test_uuid__byte_order_is_text_order(void **state FF_UNUSED)
{
    const struct ff_uuid low = {.b = {0x7f, 0xff}};
    const struct ff_uuid high = {.b = {0x80}};

    assert_true(ff_uuid_cmp(low, high) < 0);
    assert_true(ff_uuid_cmp(high, low) > 0);
    assert_int_equal(0, ff_uuid_cmp(low, low));
    assert_true(ff_uuid_eq(low, low));
    assert_false(ff_uuid_eq(low, high));
}

static void test_uuid__zero_is_recognised(void **state FF_UNUSED)
{
    struct ff_uuid uuid = {.b = {0}};

    assert_true(ff_uuid_is_zero(uuid));
    uuid.b[15] = 1;
    assert_false(ff_uuid_is_zero(uuid));
}

static void test_uuid__tail_is_the_last_two_bytes(void **state FF_UNUSED)
{
    struct ff_uuid uuid;
    char out[FF_UUID_TEXT_BYTES];

    assert_true(ff_uuid_parse(ff_str_of(text), &uuid));
    assert_int_equal(0xcdef, ff_uuid_tail(uuid));
    ff_uuid_set_tail(&uuid, 0x00fa);
    assert_string_equal("0190a5e8-1b2c-7def-8123-456789ab00fa", ff_uuid_format(uuid, out));
    assert_int_equal(0x00fa, ff_uuid_tail(uuid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uuid__text_survives_the_round_trip),
        cmocka_unit_test(test_uuid__upper_case_is_read_and_lower_written),
        cmocka_unit_test(test_uuid__other_spellings_are_refused),
        cmocka_unit_test(test_uuid__v7_carries_time_and_bits),
        cmocka_unit_test(test_uuid__the_time_is_read_back),
        cmocka_unit_test(test_uuid__v4_keeps_the_other_bits),
        cmocka_unit_test(test_uuid__byte_order_is_text_order),
        cmocka_unit_test(test_uuid__zero_is_recognised),
        cmocka_unit_test(test_uuid__tail_is_the_last_two_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
