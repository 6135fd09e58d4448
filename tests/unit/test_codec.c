/* SPDX-License-Identifier: Apache-2.0
 *
 * test_codec.c -- fixed bytes for fixed numbers, at any alignment.
 *
 * Of src/base/codec.h. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/codec.h"
#include "base/macros.h"

static void test_codec__big_endian(void **state FF_UNUSED)
{
    uint8_t out[9] = {0};

    ff_put_be16(out + 1, 0x0102);
    assert_memory_equal("\0\1\2\0", out, 4);
    assert_int_equal(0x0102, ff_get_be16(out + 1));
    ff_put_be32(out + 1, 0xf1020304);
    assert_memory_equal("\0\xf1\2\3\4\0", out, 6);
    assert_true(ff_get_be32(out + 1) == 0xf1020304);
    ff_put_be64(out + 1, UINT64_C(0xf102030405060708));
    assert_memory_equal("\0\xf1\2\3\4\5\6\7\x08", out, 9);
    assert_true(ff_get_be64(out + 1) == UINT64_C(0xf102030405060708));
}

static void test_codec__little_endian(void **state FF_UNUSED)
{
    uint8_t out[9] = {0};

    ff_put_le64(out + 1, UINT64_C(0xf102030405060708));
    assert_memory_equal("\0\x08\7\6\5\4\3\2\xf1", out, 9);
    assert_true(ff_get_le64(out + 1) == UINT64_C(0xf102030405060708));
}

static void test_codec__signed_edges_survive(void **state FF_UNUSED)
{
    static const int64_t numbers[] = {0, 1, -1, INT64_MIN, INT64_MAX, -1234567890123};
    uint8_t out[8];

    for (size_t i = 0; i < FF_ARRAY_LEN(numbers); i++) {
        ff_put_be_i64(out, numbers[i]);
        assert_true(ff_get_be_i64(out) == numbers[i]);
    }
    ff_put_be_i64(out, -2);
    assert_memory_equal("\xff\xff\xff\xff\xff\xff\xff\xfe", out, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codec__big_endian),
        cmocka_unit_test(test_codec__little_endian),
        cmocka_unit_test(test_codec__signed_edges_survive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
