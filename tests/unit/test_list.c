/* SPDX-License-Identifier: Apache-2.0
 *
 * test_list.c -- order, removal, and nodes that know whether they are linked.
 *
 * Of src/base/list.h. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/macros.h"

struct job {
    int number;
    struct ff_list_node link;
};

/* The numbers in the list as one decimal: 1, 2, 3 gives 123. */
static int digits_of(const struct ff_list *list)
{
    int digits = 0;

    FF_LIST_FOR_EACH(node, list)
    digits = digits * 10 + ff_list_item(node, struct job, link)->number;
    return digits;
}

static void test_list__keeps_order_at_both_ends(void **state FF_UNUSED)
{
    struct job jobs[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct ff_list list;

    ff_list_init(&list);
    assert_true(ff_list_empty(&list));
    assert_int_equal(0, digits_of(&list));
    ff_list_push_back(&list, &jobs[0].link);
    ff_list_push_back(&list, &jobs[1].link);
    ff_list_push_front(&list, &jobs[2].link);
    assert_false(ff_list_empty(&list));
    assert_int_equal(312, digits_of(&list));
    assert_ptr_equal(&jobs[2].link, ff_list_first(&list));
}

static void test_list__removing_is_idempotent(void **state FF_UNUSED)
{
    struct job jobs[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct ff_list list;

    ff_list_init(&list);
    for (size_t i = 0; i < FF_ARRAY_LEN(jobs); i++)
        ff_list_push_back(&list, &jobs[i].link);
    assert_true(ff_list_linked(&jobs[1].link));
    ff_list_remove(&jobs[1].link);
    assert_false(ff_list_linked(&jobs[1].link));
    ff_list_remove(&jobs[1].link);
    assert_int_equal(13, digits_of(&list));
    ff_list_push_back(&list, &jobs[1].link);
    assert_int_equal(132, digits_of(&list));
}

static void test_list__pops_until_empty(void **state FF_UNUSED)
{
    struct job jobs[2] = {{.number = 1}, {.number = 2}};
    struct ff_list list;

    ff_list_init(&list);
    ff_list_push_back(&list, &jobs[0].link);
    ff_list_push_back(&list, &jobs[1].link);
    assert_ptr_equal(&jobs[0].link, ff_list_pop_front(&list));
    assert_false(ff_list_linked(&jobs[0].link));
    assert_ptr_equal(&jobs[1].link, ff_list_pop_front(&list));
    assert_null(ff_list_pop_front(&list));
    assert_null(ff_list_first(&list));
    assert_true(ff_list_empty(&list));
}

static void test_list__the_current_node_may_be_removed(void **state FF_UNUSED)
{
    struct job jobs[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    struct ff_list list;

    ff_list_init(&list);
    for (size_t i = 0; i < FF_ARRAY_LEN(jobs); i++)
        ff_list_push_back(&list, &jobs[i].link);
    FF_LIST_FOR_EACH(node, &list)
    {
        if (ff_list_item(node, struct job, link)->number % 2 == 0)
            ff_list_remove(node);
    }
    assert_int_equal(13, digits_of(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list__keeps_order_at_both_ends),
        cmocka_unit_test(test_list__removing_is_idempotent),
        cmocka_unit_test(test_list__pops_until_empty),
        cmocka_unit_test(test_list__the_current_node_may_be_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
