/* SPDX-License-Identifier: Apache-2.0
 *
 * test_capset.c -- interned sets of capabilities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/capset.h"
#include "model/rows.h"

static struct ff_arena arena;

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 4096, 4 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_arena_done(&arena);
    return 0;
}

static void test_capset__order_and_repeats_do_not_matter(void **state)
{
    struct ff_str a[] = {FF_STR("gpu"), FF_STR("arm64"), FF_STR("gpu")};
    struct ff_str b[] = {FF_STR("arm64"), FF_STR("gpu")};
    struct ff_str joined;
    int64_t id_a;
    int64_t id_b;

    (void)state;
    assert_int_equal(ff_capset_sort(a, 3), 2);
    assert_int_equal(ff_capset_sort(b, 2), 2);
    assert_int_equal(ff_capset_intern(a, 2, &arena, &joined, &id_a, NULL), FF_OK);
    assert_true(ff_str_eq(joined, FF_STR("arm64,gpu")));
    assert_int_equal(ff_capset_intern(b, 2, &arena, &joined, &id_b, NULL), FF_OK);
    assert_int_equal(id_a, id_b);
    assert_int_equal(id_a, INT64_C(0x694b96e7966cd2b9)); /* stored: never changes */
    assert_int_equal(ff_capset_sort(a, 0), 0);
    assert_int_equal(ff_capset_intern(a, 0, &arena, &joined, &id_a, NULL), FF_OK);
    assert_int_equal(id_a, 0);
}

/* Superset matches, one missing does not. */
static void test_capset__a_worker_must_offer_all(void **state)
{
    const struct ff_str offered[] = {FF_STR("a"), FF_STR("ab"), FF_STR("c")};

    (void)state;
    assert_true(ff_capset_fits(FF_STR(""), offered, 3));
    assert_true(ff_capset_fits(FF_STR(""), NULL, 0));
    assert_true(ff_capset_fits(FF_STR("a,ab,c"), offered, 3));
    assert_true(ff_capset_fits(FF_STR("a"), offered, 3));
    assert_true(ff_capset_fits(FF_STR("c"), offered, 3));
    assert_true(ff_capset_fits(FF_STR("ab,c"), offered, 3));
    assert_false(ff_capset_fits(FF_STR("b"), offered, 3));
    assert_false(ff_capset_fits(FF_STR("a,b"), offered, 3));
    assert_false(ff_capset_fits(FF_STR("abc"), offered, 3));
    assert_false(ff_capset_fits(FF_STR("c,d"), offered, 3));
    assert_false(ff_capset_fits(FF_STR("a"), NULL, 0));
}

static void test_capset__known_ones_are_found_by_id(void **state)
{
    struct ff_capsets capsets = {0};
    struct ff_capsets before;
    struct ff_capset set = {.tokens = FF_STR("gpu")};

    (void)state;
    assert_null(ff_capsets_find(&capsets, 1));
    for (set.capset_id = 1; set.capset_id <= 3000; set.capset_id++)
        assert_true(ff_capsets_add(&capsets, &arena, &set));
    before = capsets;
    for (; set.capset_id <= 5000; set.capset_id++)
        assert_true(ff_capsets_add(&capsets, &arena, &set));
    set.capset_id = 17;
    assert_true(ff_capsets_add(&capsets, &arena, &set)); /* again: nothing new */
    assert_int_equal(capsets.count, 5000);
    assert_int_equal(before.count, 3000);
    for (int64_t id = 1; id <= 5000; id++) {
        assert_non_null(ff_capsets_find(&capsets, id));
        assert_int_equal(capsets.sets[id - 1]->capset_id, id);
        assert_true(ff_capsets_find(&before, id) != NULL || id > 3000);
    }
    assert_null(ff_capsets_find(&capsets, 5001));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capset__order_and_repeats_do_not_matter),
        cmocka_unit_test(test_capset__a_worker_must_offer_all),
        cmocka_unit_test(test_capset__known_ones_are_found_by_id),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
