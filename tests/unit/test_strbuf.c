/* SPDX-License-Identifier: Apache-2.0
 *
 * test_strbuf.c -- appending, the maximum, and problems that are told once.
 *
 * Of src/base/strbuf. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/strbuf.h"

static struct ff_arena arena;

static void given_arena(size_t max_bytes)
{
    ff_arena_done(&arena);
    ff_arena_init(&arena, 1024, max_bytes);
}

static void test_strbuf__builds_text(void **state FF_UNUSED)
{
    struct ff_str text;

    given_arena(1 << 20);

    struct ff_strbuf out = ff_strbuf_in(&arena, 100);

    ff_strbuf_adds(&out, "ab");
    ff_strbuf_addc(&out, '-');
    ff_strbuf_add(&out, FF_STR("c\0d"));
    ff_strbuf_addf(&out, "%d%s", 42, "!");
    ff_strbuf_add(&out, ff_str_null());
    ff_strbuf_adds(&out, NULL);
    assert_int_equal(FF_OK, ff_strbuf_take(&out, &text, NULL));
    assert_int_equal(9, text.len);
    assert_memory_equal("ab-c\0d42!", text.ptr, 10);
}

static void test_strbuf__nothing_is_the_empty_text(void **state FF_UNUSED)
{
    struct ff_str text = ff_str_null();

    given_arena(1 << 20);

    struct ff_strbuf out = ff_strbuf_in(&arena, 0);

    ff_strbuf_addf(&out, "%s", "");
    assert_int_equal(FF_OK, ff_strbuf_take(&out, &text, NULL));
    assert_int_equal(0, text.len);
    assert_string_equal("", text.ptr);
}

static void test_strbuf__grows_and_keeps_everything(void **state FF_UNUSED)
{
    struct ff_str text;

    given_arena(1 << 20);

    struct ff_strbuf out = ff_strbuf_in(&arena, 100000);

    for (int i = 0; i < 10000; i++) {
        ff_strbuf_addf(&out, "%05d", i);
        if (i % 1000 == 0)
            assert_non_null(ff_arena_alloc(&arena, 1)); /* stands in the way of growing in place */
    }
    assert_int_equal(FF_OK, ff_strbuf_take(&out, &text, NULL));
    assert_int_equal(50000, text.len);
    assert_memory_equal("0000000001", text.ptr, 10);
    assert_memory_equal("0123401235", text.ptr + 1234 * 5, 10);
    assert_string_equal("09999", text.ptr + 49995);
}

static void test_strbuf__exactly_the_maximum_fits(void **state FF_UNUSED)
{
    struct ff_str text;

    given_arena(1 << 20);

    struct ff_strbuf out = ff_strbuf_in(&arena, 5);

    ff_strbuf_adds(&out, "12345");
    assert_int_equal(FF_OK, ff_strbuf_take(&out, &text, NULL));
    assert_string_equal("12345", text.ptr);
}

static void test_strbuf__too_large_is_told_once(void **state FF_UNUSED)
{
    struct ff_str text = FF_STR("untouched");
    struct ff_error error;

    given_arena(1 << 20);

    struct ff_strbuf out = ff_strbuf_in(&arena, 5);

    ff_strbuf_adds(&out, "1234");
    ff_strbuf_addf(&out, "%d", 56);
    ff_strbuf_addc(&out, '7'); /* would fit, but the text already has a hole */
    assert_int_equal(FF_TOO_LARGE, ff_strbuf_take(&out, &text, &error));
    assert_string_equal("text is longer than 5 bytes", error.message);
    assert_string_equal("untouched", text.ptr);

    ff_strbuf_adds(&out, "new");
    assert_int_equal(FF_OK, ff_strbuf_take(&out, &text, &error));
    assert_string_equal("new", text.ptr);
}

static void test_strbuf__no_memory_is_told_at_the_end(void **state FF_UNUSED)
{
    struct ff_str text;
    struct ff_error error;

    given_arena(128);

    struct ff_strbuf out = ff_strbuf_in(&arena, 100000);

    for (int i = 0; i < 200; i++)
        ff_strbuf_adds(&out, "0123456789");
    ff_strbuf_add(&out, (struct ff_str){.ptr = "", .len = SIZE_MAX}); /* the first problem counts */
    assert_int_equal(FF_NO_MEMORY, ff_strbuf_take(&out, &text, &error));
    assert_int_equal(FF_NO_MEMORY, error.status);
    assert_true(arena.failed);
}

static void test_strbuf__a_boundless_maximum_does_not_overflow(void **state FF_UNUSED)
{
    struct ff_str text;

    given_arena(1 << 20);

    struct ff_strbuf out = ff_strbuf_in(&arena, SIZE_MAX);

    ff_strbuf_adds(&out, "a");
    ff_strbuf_add(&out, (struct ff_str){.ptr = "", .len = SIZE_MAX});
    assert_int_equal(FF_TOO_LARGE, ff_strbuf_take(&out, &text, NULL));
    ff_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strbuf__builds_text),
        cmocka_unit_test(test_strbuf__nothing_is_the_empty_text),
        cmocka_unit_test(test_strbuf__grows_and_keeps_everything),
        cmocka_unit_test(test_strbuf__exactly_the_maximum_fits),
        cmocka_unit_test(test_strbuf__too_large_is_told_once),
        cmocka_unit_test(test_strbuf__no_memory_is_told_at_the_end),
        cmocka_unit_test(test_strbuf__a_boundless_maximum_does_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
