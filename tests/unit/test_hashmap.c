/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hashmap.c -- finding, replacing, and the end of memory.
 *
 * Of src/base/hashmap. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/macros.h"

static const struct ff_hash_seed seed = {.k0 = 1, .k1 = 2};
static int values[5000];

static void test_hashmap__empty_has_nothing(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_hashmap map;

    ff_arena_init(&arena, 1024, 1 << 20);
    ff_hashmap_init(&map, &arena, seed);
    assert_null(ff_hashmap_get(&map, "a", 1));
    assert_int_equal(0, ff_hashmap_count(&map));
    ff_arena_done(&arena);
}

static void test_hashmap__finds_what_was_put(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_hashmap map;

    ff_arena_init(&arena, 4096, 1 << 24);
    ff_hashmap_init(&map, &arena, seed);
    for (uint32_t i = 0; i < FF_ARRAY_LEN(values); i++)
        assert_int_equal(FF_OK, ff_hashmap_put(&map, &i, sizeof i, &values[i], NULL));
    assert_int_equal(FF_ARRAY_LEN(values), ff_hashmap_count(&map));
    for (uint32_t i = 0; i < FF_ARRAY_LEN(values); i++)
        assert_ptr_equal(&values[i], ff_hashmap_get(&map, &i, sizeof i));
    assert_null(ff_hashmap_get(&map, &(uint32_t){FF_ARRAY_LEN(values)}, 4));
    ff_arena_done(&arena);
}

static void test_hashmap__length_is_part_of_the_key(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_hashmap map;

    ff_arena_init(&arena, 1024, 1 << 20);
    ff_hashmap_init(&map, &arena, seed);
    assert_int_equal(FF_OK, ff_hashmap_put(&map, "\0\0", 1, &values[1], NULL));
    assert_int_equal(FF_OK, ff_hashmap_put(&map, "\0\0", 2, &values[2], NULL));
    assert_int_equal(FF_OK, ff_hashmap_put(&map, NULL, 0, &values[0], NULL));
    assert_int_equal(3, ff_hashmap_count(&map));
    assert_ptr_equal(&values[0], ff_hashmap_get(&map, "", 0));
    assert_ptr_equal(&values[1], ff_hashmap_get(&map, "\0", 1));
    assert_ptr_equal(&values[2], ff_hashmap_get(&map, "\0\0", 2));
    ff_arena_done(&arena);
}

static void test_hashmap__keys_are_copied(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_hashmap map;
    char key[] = "abc";

    ff_arena_init(&arena, 1024, 1 << 20);
    ff_hashmap_init(&map, &arena, seed);
    assert_int_equal(FF_OK, ff_hashmap_put(&map, key, 3, &values[0], NULL));
    key[0] = 'x';
    assert_ptr_equal(&values[0], ff_hashmap_get(&map, "abc", 3));
    assert_null(ff_hashmap_get(&map, key, 3));
    ff_arena_done(&arena);
}

static void test_hashmap__a_value_can_be_replaced(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_hashmap map;

    ff_arena_init(&arena, 1024, 1 << 20);
    ff_hashmap_init(&map, &arena, seed);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(FF_OK, ff_hashmap_put(&map, &i, sizeof i, &values[i], NULL));
    assert_int_equal(FF_OK, ff_hashmap_put(&map, &(uint32_t){10}, 4, &values[1010], NULL));
    assert_ptr_equal(&values[1010], ff_hashmap_get(&map, &(uint32_t){10}, 4));
    assert_ptr_equal(&values[11], ff_hashmap_get(&map, &(uint32_t){11}, 4));
    assert_int_equal(100, ff_hashmap_count(&map));
    ff_arena_done(&arena);
}

static void test_hashmap__no_memory_leaves_it_as_it_was(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_hashmap map;
    struct ff_error error;
    ff_status status = FF_OK;
    uint32_t count = 0;

    ff_arena_init(&arena, 1024, 4000);
    ff_hashmap_init(&map, &arena, seed);
    while (count < 5000) {
        status = ff_hashmap_put(&map, &count, sizeof count, &values[count], &error);
        if (status != FF_OK)
            break;
        count++;
    }
    assert_int_equal(FF_NO_MEMORY, status);
    assert_int_equal(FF_NO_MEMORY, error.status);
    assert_true(count > 10);
    assert_int_equal(count, ff_hashmap_count(&map));
    for (uint32_t i = 0; i < count; i++)
        assert_ptr_equal(&values[i], ff_hashmap_get(&map, &i, sizeof i));
    assert_null(ff_hashmap_get(&map, &count, sizeof count));
    ff_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashmap__empty_has_nothing),
        cmocka_unit_test(test_hashmap__finds_what_was_put),
        cmocka_unit_test(test_hashmap__length_is_part_of_the_key),
        cmocka_unit_test(test_hashmap__keys_are_copied),
        cmocka_unit_test(test_hashmap__a_value_can_be_replaced),
        cmocka_unit_test(test_hashmap__no_memory_leaves_it_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
