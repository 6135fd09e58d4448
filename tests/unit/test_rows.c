/* SPDX-License-Identifier: Apache-2.0
 *
 * test_rows.c -- what must hold for every table of rows.def, and the order of keys.
 *
 * Of src/model/rows. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"
#include "model/rows.h"

static void test_rows__keys_come_first(void **state FF_UNUSED)
{
    for (size_t t = 0; t < FF_TABLE_COUNT; t++) {
        const struct ff_table_info *info = &ff_tables[t];

        assert_true(info->key_count > 0 && info->key_count < info->col_count);
        for (size_t i = 0; i < info->col_count; i++) {
            assert_int_equal(i < info->key_count, info->cols[i].cls == FF_COL_KEY);
            assert_false(info->cols[i].cls == FF_COL_KEY && info->cols[i].optional);
            assert_in_range(info->cols[i].offset, sizeof(struct ff_row), info->row_bytes - 1);
        }
    }
}

static void test_rows__insert_only_tables_have_no_hot_column(void **state FF_UNUSED)
{
    for (size_t t = 0; t < FF_TABLE_COUNT; t++) {
        const struct ff_table_info *info = &ff_tables[t];
        size_t hot = 0;
        size_t warm = 0;

        for (size_t i = 0; i < info->col_count; i++) {
            hot += FF_COL_IS_HOT(&info->cols[i]);
            warm += info->cols[i].cls == FF_COL_WARM;
        }
        assert_int_equal(info->flavour == FF_FLAVOUR_KEYED, hot > 0);
        assert_true(hot > 0 || warm == 0);
    }
}

static void test_rows__scoped_rows_are_keyed_by_their_execution(void **state FF_UNUSED)
{
    for (size_t t = 0; t < FF_TABLE_COUNT; t++) {
        const struct ff_table_info *info = &ff_tables[t];

        if (info->scope != FF_SCOPE_EXECUTION)
            continue;
        assert_string_equal("partition_key", info->cols[0].name);
        assert_int_equal(FF_TYPE_I16, info->cols[0].type);
        assert_string_equal("execution_id", info->cols[1].name);
        assert_int_equal(FF_TYPE_UUID, info->cols[1].type);
    }
}

static void test_rows__names_are_unique(void **state FF_UNUSED)
{
    for (size_t t = 0; t < FF_TABLE_COUNT; t++) {
        for (size_t u = 0; u < t; u++)
            assert_string_not_equal(ff_tables[t].name, ff_tables[u].name);
        for (size_t i = 0; i < ff_tables[t].col_count; i++) {
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(ff_tables[t].cols[i].name, ff_tables[t].cols[j].name);
        }
    }
}

static void test_rows__init_makes_optional_columns_null_and_others_zero(void **state FF_UNUSED)
{
    struct ff_execution execution;
    struct ff_event event;

    memset(&execution, 0xff, sizeof execution);
    ff_row_init(FF_TABLE_EXECUTION, &execution);
    assert_int_equal(FF_TABLE_EXECUTION, execution.head.table);
    assert_false(execution.head.is_new || execution.head.is_dirty || execution.head.is_deleted);
    assert_int_equal(0, execution.head.op);
    assert_int_equal(0, execution.partition_key);
    assert_int_equal(0, execution.version);
    assert_null(execution.lane.ptr);
    assert_true(ff_str_is_null(execution.input));
    assert_true(ff_uuid_is_zero(execution.lease_id));
    assert_true(execution.due_at_ms == FF_NULL64 && execution.finished_at_ms == FF_NULL64);

    memset(&event, 0xff, sizeof event);
    ff_row_init(FF_TABLE_EVENT, &event);
    assert_true(event.partition_key == FF_NULL32 && event.generation == FF_NULL32);
    assert_int_equal(0, event.kind);
}

static void test_rows__a_row_is_plain_until_one_such_column_is_set(void **state FF_UNUSED)
{
    for (size_t t = 0; t < FF_TABLE_COUNT; t++) {
        const struct ff_table_info *info = &ff_tables[t];

        for (size_t i = 0; i < info->col_count; i++) {
            union {
                struct ff_row head;
                uint8_t bytes[4096];
            } row;

            assert_in_range(info->row_bytes, 1, sizeof row);
            ff_row_init((ff_table)t, &row);
            assert_true(ff_row_is_plain((ff_table)t, &row));
            row.bytes[info->cols[i].offset] ^= 1; /* part of every value, a string's pointer too */
            assert_int_equal(!info->cols[i].is_later, ff_row_is_plain((ff_table)t, &row));
            assert_false(info->cols[i].is_later && info->cols[i].cls == FF_COL_KEY);
        }
    }
}

static int key_cmp(ff_table table, const void *a, const void *b)
{
    uint8_t left[FF_KEY_BYTES], right[FF_KEY_BYTES];
    const size_t left_len = ff_row_key(table, a, left);
    const size_t right_len = ff_row_key(table, b, right);
    const int cmp = memcmp(left, right, left_len < right_len ? left_len : right_len);

    return cmp ? cmp : left_len < right_len ? -1 : left_len > right_len;
}

static void test_rows__keys_sort_as_their_columns(void **state FF_UNUSED)
{
    /* In the order of (execution_id, partition_key, generation, kind): that of time, so that what
     * is born together lies together. */
    static const struct ff_payload rows[] = {
        {.partition_key = 0, .execution_id = {{0}}, .generation = 5},
        {.partition_key = 1, .execution_id = {{0}}},
        {.partition_key = 255, .execution_id = {{0}}},
        {.partition_key = 256, .execution_id = {{0}}},
        {.partition_key = -1, .execution_id = {{1}}},
        {.partition_key = 0, .execution_id = {{1}}, .generation = INT32_MIN + 1},
        {.partition_key = 0, .execution_id = {{1}}, .generation = -1, .kind = 7},
        {.partition_key = 0, .execution_id = {{1}}, .generation = 0, .kind = 0},
        {.partition_key = 0, .execution_id = {{1}}, .generation = 0, .kind = 1},
        {.partition_key = 0, .execution_id = {{1}}, .generation = 256, .kind = 0},
        {.partition_key = 0, .execution_id = {{0xff}}},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(rows); i++) {
        assert_int_equal(0, key_cmp(FF_TABLE_PAYLOAD, &rows[i], &rows[i]));
        for (size_t j = i + 1; j < FF_ARRAY_LEN(rows); j++) {
            assert_true(key_cmp(FF_TABLE_PAYLOAD, &rows[i], &rows[j]) < 0);
            assert_true(key_cmp(FF_TABLE_PAYLOAD, &rows[j], &rows[i]) > 0);
        }
    }
}

static void test_rows__a_text_ends_where_it_ends(void **state FF_UNUSED)
{
    const struct ff_dedup rows[] = {
        {.namespace = FF_STR(""), .dedup_key = FF_STR("z")},
        {.namespace = FF_STR("a"), .dedup_key = FF_STR("")},
        {.namespace = FF_STR("a"), .dedup_key = FF_STR("b")},
        {.namespace = FF_STR("a"), .dedup_key = FF_STR("bb")},
        {.namespace = FF_STR("ab"), .dedup_key = FF_STR("")},
        {.namespace = FF_STR("b"), .dedup_key = FF_STR("a")},
        {.namespace = FF_STR("\xc3\xa9"), .dedup_key = FF_STR("a")},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(rows); i++) {
        for (size_t j = i + 1; j < FF_ARRAY_LEN(rows); j++)
            assert_true(key_cmp(FF_TABLE_DEDUP, &rows[i], &rows[j]) < 0);
    }
}

static void test_rows__a_large_integer_keeps_its_order(void **state FF_UNUSED)
{
    static const int64_t ids[] = {INT64_MIN, -1, 0, 1, 255, 256, INT64_C(1) << 40, INT64_MAX};

    for (size_t i = 0; i + 1 < FF_ARRAY_LEN(ids); i++) {
        const struct ff_capset a = {.capset_id = ids[i]}, b = {.capset_id = ids[i + 1]};

        assert_true(key_cmp(FF_TABLE_CAPSET, &a, &b) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows__keys_come_first),
        cmocka_unit_test(test_rows__insert_only_tables_have_no_hot_column),
        cmocka_unit_test(test_rows__scoped_rows_are_keyed_by_their_execution),
        cmocka_unit_test(test_rows__names_are_unique),
        cmocka_unit_test(test_rows__init_makes_optional_columns_null_and_others_zero),
        cmocka_unit_test(test_rows__a_row_is_plain_until_one_such_column_is_set),
        cmocka_unit_test(test_rows__keys_sort_as_their_columns),
        cmocka_unit_test(test_rows__a_text_ends_where_it_ends),
        cmocka_unit_test(test_rows__a_large_integer_keeps_its_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
