/* SPDX-License-Identifier: Apache-2.0
 *
 * test_rowset.c -- what is wanted, what came, what has changed, and what is put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/rowset.h"

static struct ff_arena arena;
static struct ff_rowset rows;

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 4096, 1 << 20);
    ff_rowset_init(&rows, &arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_arena_done(&arena);
    return 0;
}

static struct ff_lane lane_key(const char *name)
{
    return (struct ff_lane){.lane = ff_str_of(name)};
}

static struct ff_lane *given_loaded(const char *name, int32_t paused, bool locked)
{
    struct ff_lane *const row = ff_rowset_row_new(&rows, FF_TABLE_LANE);

    row->lane = ff_str_of(name);
    row->paused = paused;
    return ff_rowset_put(&rows, FF_TABLE_LANE, row, locked);
}

static void test_rowset__a_key_has_one_entry(void **state)
{
    const struct ff_lane key = lane_key("a");
    struct ff_entry *const first = ff_rowset_want(&rows, FF_TABLE_LANE, &key, FF_WANT_READ);
    struct ff_entry *const second = ff_rowset_want(&rows, FF_TABLE_LANE, &key, FF_WANT_LOCK);

    (void)state;
    assert_ptr_equal(first, second);
    assert_int_equal(first->want, FF_WANT_LOCK);
    assert_int_equal(rows.want_count, 2);
    assert_int_equal(rows.entry_count, 1);
}

static void test_rowset__a_locked_row_replaces_one_read_without_lock(void **state)
{
    const struct ff_lane key = lane_key("a");
    struct ff_entry *const entry = ff_rowset_want(&rows, FF_TABLE_LANE, &key, FF_WANT_READ);
    struct ff_lane *const read = given_loaded("a", 0, false);
    struct ff_lane *const locked = given_loaded("a", 1, true);

    (void)state;
    assert_ptr_equal(read, locked);
    assert_ptr_equal(entry->row, locked);
    assert_int_equal(locked->paused, 1);
    assert_int_equal(entry->want, FF_WANT_LOCK);
    given_loaded("a", 0, false); /* an older snapshot changes nothing any more */
    assert_int_equal(locked->paused, 1);
}

static void test_rowset__settle_gives_the_rest_its_verdict(void **state)
{
    const struct ff_lane a = lane_key("a");
    const struct ff_lane b = lane_key("b");
    struct ff_entry *const found = ff_rowset_want(&rows, FF_TABLE_LANE, &a, FF_WANT_LOCK);
    struct ff_entry *const missing = ff_rowset_want(&rows, FF_TABLE_LANE, &b, FF_WANT_LOCK);

    (void)state;
    given_loaded("a", 0, true);
    ff_rowset_settle(&rows, FF_TABLE_LANE, FF_FOUND_BUSY);
    assert_int_equal(found->found, FF_FOUND_ROW);
    assert_int_equal(missing->found, FF_FOUND_BUSY);
}

static void test_rowset__undo_puts_back_edits_inserts_deletes_and_events(void **state)
{
    struct ff_lane *const edited = given_loaded("edited", 0, true);
    struct ff_lane *const deleted = given_loaded("deleted", 0, true);
    const struct ff_lane key = lane_key("new");
    struct ff_entry *const entry = ff_rowset_want(&rows, FF_TABLE_LANE, &key, FF_WANT_LOCK);
    struct ff_lane *inserted;
    void **list;

    (void)state;
    ff_rowset_settle(&rows, FF_TABLE_LANE, FF_FOUND_ABSENT);
    ff_rowset_op_begin(&rows, 1);
    ff_rowset_edit(&rows, edited);
    edited->paused = 1;
    ff_rowset_delete(&rows, deleted);
    inserted = ff_rowset_insert(&rows, FF_TABLE_LANE, &key);
    inserted->paused = 1;
    ff_rowset_event(&rows)->kind = 1;
    assert_true(ff_rowset_has_changes(&rows));

    ff_rowset_op_undo(&rows);
    assert_false(ff_rowset_has_changes(&rows));
    assert_int_equal(edited->paused, 0);
    assert_int_equal(entry->found, FF_FOUND_ABSENT);
    assert_int_equal(rows.event_count, 0);
    for (int change = FF_CHANGE_INSERT; change <= FF_CHANGE_DELETE; change++)
        assert_int_equal(ff_rowset_changes(&rows, FF_TABLE_LANE, (ff_change)change, &list), 0);

    ff_rowset_op_begin(&rows, 2); /* and it can be inserted after all */
    inserted = ff_rowset_insert(&rows, FF_TABLE_LANE, &key);
    assert_true(ff_str_eq(inserted->lane, FF_STR("new")));
    assert_int_equal(inserted->paused, 0);
    assert_int_equal(ff_rowset_changes(&rows, FF_TABLE_LANE, FF_CHANGE_INSERT, &list), 1);
}

static void test_rowset__undo_keeps_what_earlier_ops_did(void **state)
{
    struct ff_lane *const lane = given_loaded("a", 0, true);
    void **list;

    (void)state;
    ff_rowset_op_begin(&rows, 1);
    ff_rowset_edit(&rows, lane);
    lane->paused = 1;
    ff_rowset_op_begin(&rows, 2);
    ff_rowset_edit(&rows, lane);
    lane->paused = 2;
    ff_rowset_op_undo(&rows);
    assert_int_equal(lane->paused, 1);
    assert_int_equal(ff_rowset_changes(&rows, FF_TABLE_LANE, FF_CHANGE_UPDATE, &list), 1);
}

static void test_rowset__an_update_knows_whether_a_warm_column_changed(void **state)
{
    struct ff_execution *const row = ff_rowset_row_new(&rows, FF_TABLE_EXECUTION);

    (void)state;
    row->cancel_reason = FF_STR("as it was");
    (void)ff_rowset_put(&rows, FF_TABLE_EXECUTION, row, true);
    ff_rowset_op_begin(&rows, 1);
    ff_rowset_edit(&rows, row);
    row->version++;
    row->cancel_reason = ff_arena_str(rows.arena, row->cancel_reason); /* the same elsewhere */
    assert_false(ff_row_is_rewritten(row));
    ff_rowset_op_begin(&rows, 2);
    ff_rowset_edit(&rows, row);
    row->priority = 7;
    assert_true(ff_row_is_rewritten(row));
    ff_rowset_op_undo(&rows);
    assert_false(ff_row_is_rewritten(row));
    ff_rowset_op_begin(&rows, 3);
    ff_rowset_edit(&rows, row);
    row->cancel_reason = ff_str_null();
    ff_rowset_op_begin(&rows, 4); /* what an earlier op changed stays changed */
    ff_rowset_edit(&rows, row);
    row->version++;
    assert_true(ff_row_is_rewritten(row));
}

static void test_rowset__a_row_deleted_and_made_again_is_rewritten(void **state)
{
    struct ff_execution *const row = ff_rowset_row_new(&rows, FF_TABLE_EXECUTION);

    (void)state;
    (void)ff_rowset_put(&rows, FF_TABLE_EXECUTION, row, true);
    ff_rowset_op_begin(&rows, 1);
    ff_rowset_delete(&rows, row);
    assert_ptr_equal(row, ff_rowset_insert(&rows, FF_TABLE_EXECUTION, row));
    assert_true(row->head.is_dirty && ff_row_is_rewritten(row));
}

static void test_rowset__changes_are_sorted_by_key(void **state)
{
    static const char *const names[] = {"c", "a", "b", "aa"};
    void **list;

    (void)state;
    ff_rowset_op_begin(&rows, 1);
    for (size_t i = 0; i < FF_ARRAY_LEN(names); i++) {
        struct ff_lane *const lane = given_loaded(names[i], 0, true);

        ff_rowset_edit(&rows, lane);
    }
    assert_int_equal(ff_rowset_changes(&rows, FF_TABLE_LANE, FF_CHANGE_UPDATE, &list), 4);
    assert_string_equal(((struct ff_lane *)list[0])->lane.ptr, "a");
    assert_string_equal(((struct ff_lane *)list[1])->lane.ptr, "aa");
    assert_string_equal(((struct ff_lane *)list[3])->lane.ptr, "c");
}

static void test_rowset__a_row_made_and_deleted_in_one_batch_is_not_saved(void **state)
{
    const struct ff_lane key = lane_key("a");
    struct ff_lane *lane;

    (void)state;
    ff_rowset_op_begin(&rows, 1);
    lane = ff_rowset_insert(&rows, FF_TABLE_LANE, &key);
    ff_rowset_op_begin(&rows, 2);
    ff_rowset_delete(&rows, lane);
    assert_false(ff_rowset_has_changes(&rows));
    ff_rowset_op_begin(&rows, 3);
    lane = ff_rowset_insert(&rows, FF_TABLE_LANE, &key);
    assert_true(lane->head.is_new && !lane->head.is_dirty);
}

static void test_rowset__equal_scans_are_merged(void **state)
{
    const struct ff_str lanes[] = {FF_STR("x"), FF_STR("y")};
    const struct ff_value one[] = {{.type = FF_VALUE_TEXT, .as.str = FF_STR("lane")},
                                   {.type = FF_VALUE_TEXTS, .count = 2, .as.strs = lanes}};
    const struct ff_value two[] = {{.type = FF_VALUE_TEXT, .as.str = FF_STR("lane")},
                                   {.type = FF_VALUE_TEXTS, .count = 1, .as.strs = lanes}};
    struct ff_scan *const first = ff_rowset_scan(&rows, 3, one, 2, 10);

    (void)state;
    assert_ptr_equal(first, ff_rowset_scan(&rows, 3, one, 2, 5));
    assert_int_equal(first->limit, 15);
    assert_ptr_not_equal(first, ff_rowset_scan(&rows, 3, two, 2, 5));
    assert_ptr_not_equal(first, ff_rowset_scan(&rows, 4, one, 2, 5));
}

static void test_rowset__a_scan_keeps_uuids_of_its_own(void **state)
{
    struct ff_uuid ids[] = {{.b = {1}}, {.b = {2}}};
    const struct ff_value two = {.type = FF_VALUE_UUIDS, .count = 2, .as.uuids = ids};
    const struct ff_value none = {.type = FF_VALUE_UUIDS};
    struct ff_scan *const first = ff_rowset_scan(&rows, 3, &two, 1, 10);
    struct ff_scan *const empty = ff_rowset_scan(&rows, 3, &none, 1, 10);

    (void)state;
    assert_ptr_not_equal(first, empty);
    assert_ptr_equal(first, ff_rowset_scan(&rows, 3, &two, 1, 5));
    assert_ptr_equal(empty, ff_rowset_scan(&rows, 3, &none, 1, 5));
    ids[1].b[15] = 9;
    assert_int_equal(0, first->params[0].as.uuids[1].b[15]);
    assert_ptr_not_equal(first, ff_rowset_scan(&rows, 3, &two, 1, 5));
}

static void test_rowset__an_exhausted_arena_never_hands_out_null(void **state)
{
    struct ff_arena small;
    struct ff_rowset tight;
    const struct ff_lane key = lane_key("a");

    (void)state;
    ff_arena_init(&small, 2048, 2048);
    ff_rowset_init(&tight, &small);
    ff_rowset_op_begin(&tight, 1);
    for (int i = 0; i < 100; i++)
        assert_non_null(ff_rowset_event(&tight));
    assert_non_null(ff_rowset_insert(&tight, FF_TABLE_LANE, &key));
    assert_true(small.failed);
    ff_arena_done(&small);
}

static int allocations_left;

static void *failing_malloc(size_t bytes)
{
    return allocations_left-- == 0 ? NULL : malloc(bytes);
}

/* Memory may be there again right after an allocation has failed: what is handed out then belongs
 * to no key, and must be as harmless as the spare row. */
static void test_rowset__one_failed_allocation_leaves_rows_to_write_to(void **state)
{
    const struct ff_alloc_hooks hooks = {failing_malloc, calloc, realloc, free};
    char name[16];

    (void)state;
    for (int failing = 0; failing < 60; failing++) {
        struct ff_arena small;
        struct ff_rowset tight;

        ff_arena_init(&small, 512, 1 << 20);
        ff_rowset_init(&tight, &small);
        ff_rowset_op_begin(&tight, 1);
        allocations_left = failing;
        ff_alloc_set_hooks(&hooks);
        for (int i = 0; i < 20; i++) {
            struct ff_lane key;
            struct ff_lane *row;

            (void)snprintf(name, sizeof name, "%d", i);
            key = lane_key(name);
            row = ff_rowset_insert(&tight, FF_TABLE_LANE, &key);
            ff_rowset_edit(&tight, row);
            row->paused = 1;
            ff_rowset_delete(&tight, row);
        }
        ff_rowset_op_undo(&tight);
        ff_alloc_set_hooks(NULL);
        ff_arena_done(&small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rowset__a_key_has_one_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rowset__a_locked_row_replaces_one_read_without_lock,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_rowset__settle_gives_the_rest_its_verdict, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_rowset__undo_puts_back_edits_inserts_deletes_and_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rowset__undo_keeps_what_earlier_ops_did, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_rowset__an_update_knows_whether_a_warm_column_changed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_rowset__a_row_deleted_and_made_again_is_rewritten,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_rowset__changes_are_sorted_by_key, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_rowset__a_row_made_and_deleted_in_one_batch_is_not_saved, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rowset__equal_scans_are_merged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rowset__a_scan_keeps_uuids_of_its_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_rowset__an_exhausted_arena_never_hands_out_null, setup,
                                        teardown),
        cmocka_unit_test(test_rowset__one_failed_allocation_leaves_rows_to_write_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
