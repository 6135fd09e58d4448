/* SPDX-License-Identifier: Apache-2.0
 *
 * test_arena.c -- bounds, alignment, growth, and what happens when memory ends.
 *
 * Of src/base/arena. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/macros.h"

#define CHUNK_BYTES 1024

/* The n-th allocation from now fails; 0 fails never. */
static int fail_at;

static bool fails_now(void)
{
    return fail_at > 0 && --fail_at == 0;
}

static void *failing_malloc(size_t bytes)
{
    return fails_now() ? NULL : malloc(bytes);
}

static void *failing_realloc(void *memory, size_t bytes)
{
    return fails_now() ? NULL : realloc(memory, bytes);
}

static const struct ff_alloc_hooks failing = {.malloc_fn = failing_malloc,
                                              .calloc_fn = calloc,
                                              .realloc_fn = failing_realloc,
                                              .free_fn = free};

static bool all_zero(const unsigned char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != 0)
            return false;
    }
    return true;
}

static void test_arena__memory_is_zeroed_and_aligned(void **state FF_UNUSED)
{
    struct ff_arena arena;

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);
    for (int round = 0; round < 2; round++) {
        for (size_t bytes = 0; bytes < 600; bytes += 7) {
            unsigned char *const memory = ff_arena_alloc(&arena, bytes);

            assert_non_null(memory);
            assert_int_equal(0, (uintptr_t)memory % FF_ARENA_ALIGN_BYTES);
            assert_true(all_zero(memory, bytes));
            memset(memory, 0xff, bytes);
        }
        ff_arena_reset(&arena);
    }
    ff_arena_done(&arena);
}

static void test_arena__objects_do_not_overlap(void **state FF_UNUSED)
{
    struct ff_arena arena;
    unsigned char *objects[200];

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);
    for (size_t i = 0; i < FF_ARRAY_LEN(objects); i++) {
        objects[i] = ff_arena_alloc(&arena, i + 1);
        memset(objects[i], (int)i, i + 1);
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(objects); i++) {
        for (size_t at = 0; at <= i; at++)
            assert_int_equal(i, objects[i][at]);
    }
    assert_ptr_not_equal(ff_arena_alloc(&arena, 0), ff_arena_alloc(&arena, 0));
    ff_arena_done(&arena);
}

static void test_arena__stops_at_the_maximum(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_error error;

    ff_arena_init(&arena, CHUNK_BYTES, 64);
    assert_non_null(ff_arena_alloc(&arena, 64));
    ff_arena_done(&arena);

    ff_arena_init(&arena, CHUNK_BYTES, 100);
    assert_non_null(ff_arena_alloc(&arena, 50));
    assert_int_equal(64, ff_arena_used(&arena));
    assert_int_equal(FF_OK, ff_arena_check(&arena, &error));
    assert_null(ff_arena_alloc(&arena, 37));
    assert_true(arena.failed);
    assert_non_null(ff_arena_alloc(&arena, 32));
    assert_true(arena.failed);
    assert_int_equal(FF_NO_MEMORY, ff_arena_check(&arena, &error));
    assert_string_equal("no memory after 96 of at most 100 bytes", error.message);
    ff_arena_reset(&arena);
    assert_false(arena.failed);
    assert_int_equal(0, ff_arena_used(&arena));
    assert_non_null(ff_arena_alloc(&arena, 96));
    ff_arena_done(&arena);
}

static void test_arena__absurd_sizes_fail(void **state FF_UNUSED)
{
    struct ff_arena arena;

    ff_arena_init(&arena, CHUNK_BYTES, SIZE_MAX);
    assert_null(ff_arena_alloc(&arena, SIZE_MAX));
    assert_null(ff_arena_alloc(&arena, SIZE_MAX - 15));
    assert_null(ff_arena_array(&arena, SIZE_MAX / 8, 16));
    assert_null(ff_arena_str(&arena, (struct ff_str){.ptr = "", .len = SIZE_MAX}).ptr);

    void *const memory = ff_arena_alloc(&arena, 1);

    assert_null(ff_arena_grow(&arena, memory, 1, SIZE_MAX));
    assert_true(arena.failed);
    ff_arena_done(&arena);
}

static void test_arena__reset_keeps_only_the_first_chunk(void **state FF_UNUSED)
{
    struct ff_arena arena;

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);

    void *const first = ff_arena_alloc(&arena, 200);

    for (int i = 0; i < 20; i++)
        assert_non_null(ff_arena_alloc(&arena, i % 2 ? 200 : 5000));
    ff_arena_reset(&arena);

    /* No new allocation may be needed. */
    fail_at = 1;
    ff_alloc_set_hooks(&failing);

    void *const again = ff_arena_alloc(&arena, 200);

    ff_alloc_set_hooks(NULL);
    assert_ptr_equal(first, again);
    ff_arena_done(&arena);
}

static void test_arena__heap_failure_is_remembered(void **state FF_UNUSED)
{
    struct ff_arena arena;

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);
    ff_alloc_set_hooks(&failing);
    for (size_t bytes = 16; bytes <= 4096; bytes *= 256) {
        fail_at = 1;
        assert_null(ff_arena_alloc(&arena, bytes));
        assert_true(arena.failed);
        assert_int_equal(0, ff_arena_used(&arena));
        ff_arena_reset(&arena);
    }
    ff_alloc_set_hooks(NULL);
    assert_non_null(ff_arena_alloc(&arena, 16));
    ff_arena_done(&arena);
}

static void test_arena__newest_object_grows_in_place(void **state FF_UNUSED)
{
    struct ff_arena arena;

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);

    unsigned char *const memory = ff_arena_alloc(&arena, 20);

    memset(memory, 7, 20);
    assert_ptr_equal(memory, ff_arena_grow(&arena, memory, 20, 30));
    assert_int_equal(32, ff_arena_used(&arena));
    assert_ptr_equal(memory, ff_arena_grow(&arena, memory, 30, 100));
    assert_int_equal(112, ff_arena_used(&arena));
    assert_int_equal(7, memory[19]);
    assert_true(all_zero(memory + 20, 80));

    assert_non_null(ff_arena_alloc(&arena, 1));

    unsigned char *const moved = ff_arena_grow(&arena, memory, 100, 120);

    assert_ptr_not_equal(memory, moved);
    assert_memory_equal("\7\7\7\7", moved, 4);
    assert_true(all_zero(moved + 20, 100));
    ff_arena_done(&arena);
}

static void test_arena__large_objects_grow_without_waste(void **state FF_UNUSED)
{
    struct ff_arena arena;
    unsigned char *memory = NULL;
    size_t bytes = 0;

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);
    for (size_t more = 1000; more <= 500000; more *= 2) {
        memory = ff_arena_grow(&arena, memory, bytes, more);
        assert_non_null(memory);
        assert_true(all_zero(memory + bytes, more - bytes));
        memset(memory, 7, more);
        bytes = more;
    }
    assert_int_equal((bytes + 15) / 16 * 16, ff_arena_used(&arena));
    assert_null(ff_arena_grow(&arena, memory, bytes, 2 << 20));
    assert_int_equal(7, memory[bytes - 1]);

    fail_at = 1;
    ff_alloc_set_hooks(&failing);
    assert_null(ff_arena_grow(&arena, memory, bytes, bytes + 100));
    ff_alloc_set_hooks(NULL);
    assert_int_equal(7, memory[bytes - 1]);
    ff_arena_done(&arena);
}

static void test_arena__copies_are_terminated(void **state FF_UNUSED)
{
    struct ff_arena arena;
    const char source[] = {'a', '\0', 'c'};

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);

    const struct ff_str copy =
        ff_arena_str(&arena, (struct ff_str){.ptr = source, .len = sizeof source});

    assert_ptr_not_equal(source, copy.ptr);
    assert_int_equal(3, copy.len);
    assert_memory_equal("a\0c", copy.ptr, 4);
    assert_null(ff_arena_str(&arena, (struct ff_str){.ptr = NULL, .len = 0}).ptr);
    assert_non_null(ff_arena_str(&arena, (struct ff_str){.ptr = source, .len = 0}).ptr);
    assert_memory_equal("a\0c", ff_arena_copy(&arena, source, 3), 3);
    assert_non_null(ff_arena_copy(&arena, NULL, 0));
    assert_false(arena.failed);
    ff_arena_done(&arena);
}

static void test_arena__printf_measures_itself(void **state FF_UNUSED)
{
    struct ff_arena arena;

    ff_arena_init(&arena, CHUNK_BYTES, 4096);

    const struct ff_str text = ff_arena_printf(&arena, "%s-%05d", "lane", 42);

    assert_int_equal(10, text.len);
    assert_string_equal("lane-00042", text.ptr);
    assert_null(ff_arena_printf(&arena, "%5000d", 1).ptr);
    assert_true(arena.failed);
    ff_arena_done(&arena);
}

/* Small and large blocks of the one live on in the other, which still grows its own. */
static void test_arena__adopted_memory_outlives_its_arena(void **state FF_UNUSED)
{
    struct ff_arena keeper;
    struct ff_arena other;
    struct ff_str small[100];
    struct ff_str large;

    ff_arena_init(&keeper, CHUNK_BYTES, 1 << 16);
    ff_arena_init(&other, CHUNK_BYTES, 1 << 20);
    char *grown = ff_arena_alloc(&keeper, CHUNK_BYTES);
    for (size_t i = 0; i < FF_ARRAY_LEN(small); i++)
        small[i] = ff_arena_printf(&other, "text %zu", i);
    large =
        ff_arena_str(&other, (struct ff_str){(char[CHUNK_BYTES * 2]){"large"}, CHUNK_BYTES * 2});
    const size_t used = ff_arena_used(&keeper);
    ff_arena_adopt(&keeper, &other);
    assert_int_equal(ff_arena_used(&keeper), used);
    assert_int_equal(ff_arena_used(&other), 0);
    assert_non_null(ff_arena_alloc(&other, 10)); /* it is empty, not gone */
    ff_arena_done(&other);
    memset(grown, 'x', CHUNK_BYTES);
    grown = ff_arena_grow(&keeper, grown, CHUNK_BYTES, CHUNK_BYTES * 3);
    assert_int_equal(grown[CHUNK_BYTES - 1], 'x');
    assert_string_equal(small[0].ptr, "text 0");
    assert_string_equal(small[99].ptr, "text 99");
    assert_string_equal(large.ptr, "large");
    ff_arena_done(&keeper);
}

static void test_arena__done_accepts_anything(void **state FF_UNUSED)
{
    struct ff_arena arena = {.failed = false};

    ff_arena_done(NULL);
    ff_arena_done(&arena);
    ff_arena_init(&arena, CHUNK_BYTES, 100);
    ff_arena_done(&arena);
    ff_arena_done(&arena);
}

static void test_arena__goes_back_to_a_mark(void **state FF_UNUSED)
{
    struct ff_arena arena;
    struct ff_arena_mark mark;
    unsigned char *kept;
    size_t used;

    ff_arena_init(&arena, CHUNK_BYTES, 1 << 20);
    for (int start = 0; start < 2; start++) { /* from an arena without memory, then with some */
        kept = start ? ff_arena_copy(&arena, "kept", 5) : NULL;
        (void)(start ? ff_arena_alloc(&arena, 3 * CHUNK_BYTES) : NULL);
        mark = ff_arena_mark(&arena);
        used = ff_arena_used(&arena);
        for (int round = 0; round < 3; round++) {
            for (size_t bytes = 0; bytes < 3 * CHUNK_BYTES; bytes += 100)
                memset(ff_arena_alloc(&arena, bytes), 0xff, bytes);
            assert_null(ff_arena_alloc(&arena, 1 << 20));
            ff_arena_rewind(&arena, &mark);
            assert_int_equal(used, ff_arena_used(&arena));
            assert_int_equal(FF_OK, ff_arena_check(&arena, NULL));
        }
    }
    assert_string_equal("kept", (const char *)kept);
    assert_true(all_zero(ff_arena_alloc(&arena, 100), 100));
    ff_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena__memory_is_zeroed_and_aligned),
        cmocka_unit_test(test_arena__goes_back_to_a_mark),
        cmocka_unit_test(test_arena__objects_do_not_overlap),
        cmocka_unit_test(test_arena__stops_at_the_maximum),
        cmocka_unit_test(test_arena__absurd_sizes_fail),
        cmocka_unit_test(test_arena__reset_keeps_only_the_first_chunk),
        cmocka_unit_test(test_arena__heap_failure_is_remembered),
        cmocka_unit_test(test_arena__newest_object_grows_in_place),
        cmocka_unit_test(test_arena__large_objects_grow_without_waste),
        cmocka_unit_test(test_arena__copies_are_terminated),
        cmocka_unit_test(test_arena__printf_measures_itself),
        cmocka_unit_test(test_arena__adopted_memory_outlives_its_arena),
        cmocka_unit_test(test_arena__done_accepts_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
