/* SPDX-License-Identifier: Apache-2.0
 *
 * test_random.c -- seeded sequences repeat for ever; ranges are kept.
 *
 * Of src/base/random. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/random.h"

/* The same numbers as a second, independent writing of splitmix64 and xoshiro256** gives. A change
 * here breaks every seed written down in a bug report. */
static void test_random__a_seed_never_changes(void **state FF_UNUSED)
{
    struct ff_prng prng;

    ff_prng_init(&prng, 0);
    assert_true(prng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(prng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
    assert_true(ff_prng_u64(&prng) == UINT64_C(0x99ec5f36cb75f2b4));
    assert_true(ff_prng_u64(&prng) == UINT64_C(0xbf6e1f784956452a));
}

static void test_random__seeds_differ(void **state FF_UNUSED)
{
    struct ff_prng a;
    struct ff_prng b;

    ff_prng_init(&a, 1);
    ff_prng_init(&b, 2);
    assert_true(ff_prng_u64(&a) != ff_prng_u64(&b));
}

static void test_random__below_reaches_all_and_no_more(void **state FF_UNUSED)
{
    struct ff_prng prng;
    int seen[6] = {0};

    ff_prng_init(&prng, 42);
    for (int i = 0; i < 6000; i++) {
        const uint64_t number = ff_prng_below(&prng, 6);

        assert_true(number < 6);
        seen[number]++;
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(seen); i++)
        assert_in_range(seen[i], 800, 1200);
    for (int i = 0; i < 100; i++)
        assert_true(ff_prng_below(&prng, 1) == 0);
    for (int i = 0; i < 100; i++)
        assert_true(ff_prng_below(&prng, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
}

/* For this n a plain remainder would give the lowest third half of the time. */
static void test_random__below_is_fair(void **state FF_UNUSED)
{
    struct ff_prng prng;
    int low = 0;

    ff_prng_init(&prng, 42);
    for (int i = 0; i < 3000; i++)
        low += ff_prng_below(&prng, UINT64_C(3) << 62) < UINT64_C(1) << 62;
    assert_in_range(low, 900, 1100);
}

static void test_random__seeded_bytes_repeat(void **state FF_UNUSED)
{
    struct ff_prng prng;
    uint8_t first[21] = {0};
    uint8_t second[21] = {0};

    ff_prng_init(&prng, 7);

    const struct ff_random random = ff_random_from_prng(&prng);

    ff_random_bytes(&random, first, 20);
    ff_prng_init(&prng, 7);
    ff_random_bytes(&random, second, 20);
    assert_memory_equal(first, second, sizeof first);
    assert_int_equal(0, first[20]);

    ff_prng_init(&prng, 7);

    const uint64_t number = ff_prng_u64(&prng);

    ff_prng_init(&prng, 7);
    assert_true(ff_random_u64(&random) == number);
    assert_int_equal(number & 0xff, first[0]);
}

static void test_random__the_kernel_gives_different_bytes(void **state FF_UNUSED)
{
    const struct ff_random random = ff_random_system();
    uint8_t first[64] = {0};
    uint8_t second[64] = {0};

    ff_random_bytes(&random, first, sizeof first);
    ff_random_bytes(&random, second, sizeof second);
    assert_memory_not_equal(first, second, sizeof first);
    ff_random_bytes(&random, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random__a_seed_never_changes),
        cmocka_unit_test(test_random__seeds_differ),
        cmocka_unit_test(test_random__below_reaches_all_and_no_more),
        cmocka_unit_test(test_random__below_is_fair),
        cmocka_unit_test(test_random__seeded_bytes_repeat),
        cmocka_unit_test(test_random__the_kernel_gives_different_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
