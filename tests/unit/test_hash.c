/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hash.c -- the published SipHash-1-3 values, and that every bit of input counts.
 *
 * Of src/base/hash. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/macros.h"

static const struct ff_hash_seed zero = {.k0 = 0, .k1 = 0};

/* Values of CPython 3.11 (`hash(b"...")`, PYTHONHASHSEED=0), which uses the same function with a
 * zero key. */
static void test_hash__agrees_with_another_implementation(void **state FF_UNUSED)
{
    assert_true(ff_hash_bytes(zero, "a", 1) == UINT64_C(0x407448d2b89b1813));
    assert_true(ff_hash_bytes(zero, "abcdefg", 7) == UINT64_C(0x6db12aae9070f506));
    assert_true(ff_hash_bytes(zero, "abcdefgh", 8) == UINT64_C(0x3f7b849c0b8e35ea));
    assert_true(ff_hash_bytes(zero, "abcdefghi", 9) == UINT64_C(0xf89b34a3d11eb6e5));
    assert_true(ff_hash_bytes(zero, "0123456789abcdef", 16) == UINT64_C(0x1d42b30f7e060c24));
}

/* First entry of the reference vectors: key 00 01 .. 0f, empty input, bytes little-endian. */
static void test_hash__agrees_with_the_reference_key(void **state FF_UNUSED)
{
    const struct ff_hash_seed seed = {.k0 = UINT64_C(0x0706050403020100),
                                      .k1 = UINT64_C(0x0f0e0d0c0b0a0908)};

    assert_true(ff_hash_bytes(seed, NULL, 0) == UINT64_C(0xabac0158050fc4dc));
}

static void test_hash__every_bit_and_both_keys_count(void **state FF_UNUSED)
{
    uint8_t data[24] = {0};
    const uint64_t plain = ff_hash_bytes(zero, data, sizeof data);

    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_true(ff_hash_bytes(zero, data, sizeof data) != plain);
        data[bit / 8] = 0;
    }
    assert_true(ff_hash_bytes((struct ff_hash_seed){.k0 = 1, .k1 = 0}, data, 24) != plain);
    assert_true(ff_hash_bytes((struct ff_hash_seed){.k0 = 0, .k1 = 1}, data, 24) != plain);
    assert_true(ff_hash_bytes(zero, data, 23) != plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash__agrees_with_another_implementation),
        cmocka_unit_test(test_hash__agrees_with_the_reference_key),
        cmocka_unit_test(test_hash__every_bit_and_both_keys_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
