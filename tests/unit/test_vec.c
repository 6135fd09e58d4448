/* SPDX-License-Identifier: Apache-2.0
 *
 * test_vec.c -- pushing keeps order and survives the end of memory.
 *
 * Of tests/support/vec. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/macros.h"
#include "support/vec.h"

static void test_vec__keeps_order(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct vec vec = {.len = 0};
    int numbers[1000];

    ff_arena_init(&arena, 1024, 1 << 20);
    for (size_t i = 0; i < FF_ARRAY_LEN(numbers); i++)
        assert_int_equal(FF_OK, vec_push(&vec, &arena, &numbers[i], NULL));
    assert_int_equal(FF_ARRAY_LEN(numbers), vec.len);
    for (size_t i = 0; i < FF_ARRAY_LEN(numbers); i++)
        assert_ptr_equal(&numbers[i], vec.items[i]);
    ff_arena_done(&arena);
}

static void test_vec__no_memory_leaves_it_as_it_was(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct vec vec = {.len = 0};
    struct ff_error error;
    int number = 1;

    ff_arena_init(&arena, 1024, 8 * sizeof(void *));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(FF_OK, vec_push(&vec, &arena, &number, &error));
    assert_int_equal(FF_NO_MEMORY, vec_push(&vec, &arena, &number, &error));
    assert_int_equal(FF_NO_MEMORY, error.status);
    assert_int_equal(8, vec.len);
    assert_ptr_equal(&number, vec.items[7]);
    ff_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vec__keeps_order),
        cmocka_unit_test(test_vec__no_memory_leaves_it_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
