/* SPDX-License-Identifier: Apache-2.0
 *
 * test_alloc.c -- every allocation can be made to fail.
 *
 * Of src/base/alloc. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/macros.h"

static int calls;

static void *no_malloc(size_t bytes)
{
    calls += bytes == 1 ? 1 : 10;
    return NULL;
}

static void *no_calloc(size_t count, size_t bytes)
{
    calls += count == 1 && bytes == 1 ? 1 : 10;
    return NULL;
}

static void *no_realloc(void *memory FF_UNUSED, size_t bytes)
{
    calls += bytes == 1 ? 1 : 10;
    return NULL;
}

static void count_free(void *memory FF_UNUSED)
{
    calls++;
}

static const struct ff_alloc_hooks nothing = {.malloc_fn = no_malloc,
                                              .calloc_fn = no_calloc,
                                              .realloc_fn = no_realloc,
                                              .free_fn = count_free};

static void test_alloc__hooks_see_every_call(void **state FF_UNUSED)
{
    calls = 0;
    ff_alloc_set_hooks(&nothing);

    const bool all_null = !ff_malloc(0) && !ff_calloc(0, 8) && !ff_realloc(NULL, 0);

    ff_free(NULL);
    ff_alloc_set_hooks(NULL);
    assert_true(all_null);
    assert_int_equal(4, calls);
}

static void test_alloc__libc_comes_back(void **state FF_UNUSED)
{
    unsigned char *memory = ff_calloc(4, 4);

    assert_non_null(memory);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(0, memory[i]);
    memory[0] = 9;

    unsigned char *const more = ff_realloc(memory, 4096);

    assert_non_null(more);
    assert_int_equal(9, more[0]);
    ff_free(more);
}

static void test_alloc__nothing_is_still_an_object(void **state FF_UNUSED)
{
    void *const a = ff_malloc(0);
    void *const b = ff_calloc(0, 0);

    assert_non_null(a);
    assert_non_null(b);
    ff_free(a);
    ff_free(b);
    ff_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc__hooks_see_every_call),
        cmocka_unit_test(test_alloc__libc_comes_back),
        cmocka_unit_test(test_alloc__nothing_is_still_an_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
