/* SPDX-License-Identifier: Apache-2.0
 *
 * The pure parts of the Postgres store: binary formats, error classes, URLs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/postgres/postgres-int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#include "base/banned.h"

static struct ff_arena arena;

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 4096, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_arena_done(&arena);
    return 0;
}

static const struct ff_col *col_of(ff_table table, const char *name)
{
    for (int i = 0; i < ff_tables[table].col_count; i++)
        if (!strcmp(ff_tables[table].cols[i].name, name))
            return &ff_tables[table].cols[i];
    fail_msg("no column %s", name);
    return NULL;
}

static void test_codec__array_of_numbers_with_null(void **state)
{
    static const uint8_t expected[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0,    0,    0,    2,
                                       0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7,  0xff, 0xff, 0xff, 0xff};
    struct ff_pg_params params = {.arena = &arena};
    struct ff_progress a, b;
    void *rows[] = {&a, &b};

    (void)state;
    ff_row_init(FF_TABLE_PROGRESS, &a);
    ff_row_init(FF_TABLE_PROGRESS, &b);
    a.percent = 7;
    ff_pg_bind_column(&params, col_of(FF_TABLE_PROGRESS, "percent"), rows, 2);
    assert_int_equal(params.count, 1);
    assert_int_equal(params.types[0], 1007);
    assert_int_equal(params.lengths[0], sizeof expected);
    assert_memory_equal(params.values[0], expected, sizeof expected);
}

static void test_codec__array_of_texts_keeps_empty_apart_from_null(void **state)
{
    static const uint8_t tail[] = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 'x'};
    struct ff_pg_params params = {.arena = &arena};
    struct ff_lane a, b, c;
    void *rows[] = {&a, &b, &c};

    (void)state;
    a.reason = FF_STR("");
    b.reason = ff_str_null();
    c.reason = FF_STR("x");
    ff_pg_bind_column(&params, col_of(FF_TABLE_LANE, "reason"), rows, 3);
    assert_int_equal(params.lengths[0], 20 + sizeof tail);
    assert_memory_equal(params.values[0] + 20, tail, sizeof tail);
}

static void test_codec__a_row_alone_travels_as_values(void **state)
{
    static const uint8_t percent[] = {0, 0, 0, 7};
    struct ff_pg_params params = {.arena = &arena};
    struct ff_progress row;

    (void)state;
    ff_row_init(FF_TABLE_PROGRESS, &row);
    row.percent = 7;
    ff_pg_bind_cell(&params, col_of(FF_TABLE_PROGRESS, "percent"), &row);
    row.percent = 8; /* a number is copied */
    row.message = FF_STR("");
    ff_pg_bind_cell(&params, col_of(FF_TABLE_PROGRESS, "message"), &row);
    row.message = ff_str_null();
    ff_pg_bind_cell(&params, col_of(FF_TABLE_PROGRESS, "message"), &row);
    assert_int_equal(params.types[0], 23);
    assert_int_equal(params.lengths[0], sizeof percent);
    assert_memory_equal(params.values[0], percent, sizeof percent);
    assert_non_null(params.values[1]);
    assert_int_equal(params.lengths[1], 0);
    assert_null(params.values[2]);
}

static void test_codec__empty_array_has_no_dimension(void **state)
{
    static const uint8_t expected[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20};
    const struct ff_sql_param as = {"x", FF_VALUE_I64S, FF_TYPE_I64};
    const struct ff_value value = {.type = FF_VALUE_I64S};
    struct ff_pg_params params = {.arena = &arena};

    (void)state;
    ff_pg_bind_value(&params, &as, &value);
    assert_int_equal(params.lengths[0], sizeof expected);
    assert_memory_equal(params.values[0], expected, sizeof expected);
}

static void test_codec__uuids_are_whole_whatever_is_in_them(void **state)
{
    static const uint8_t head[] = {0,    0,    0, 1, 0, 0, 0, 0, 0, 0,
                                   0x0b, 0x86, 0, 0, 0, 2, 0, 0, 0, 1};
    static const uint8_t none[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0b, 0x86};
    static const uint8_t len[] = {0, 0, 0, 16};
    const struct ff_uuid ids[] = {{.b = {[15] = 7}}, {.b = {0}}}; /* zero is no NULL in an array */
    const struct ff_sql_param as = {"x", FF_VALUE_UUIDS, FF_TYPE_UUID};
    const struct ff_value values[] = {{.type = FF_VALUE_UUIDS, .count = 2, .as.uuids = ids},
                                      {.type = FF_VALUE_UUIDS},
                                      {.type = FF_VALUE_NULL}};
    struct ff_pg_params params = {.arena = &arena};

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(values); i++) {
        ff_pg_bind_value(&params, &as, &values[i]);
        assert_int_equal(params.types[i], 2951);
    }
    assert_int_equal(params.lengths[0], sizeof head + 2 * (sizeof len + 16));
    assert_memory_equal(params.values[0], head, sizeof head);
    for (size_t i = 0; i < 2; i++) {
        assert_memory_equal(params.values[0] + 20 + 20 * i, len, sizeof len);
        assert_memory_equal(params.values[0] + 24 + 20 * i, ids[i].b, 16);
    }
    assert_int_equal(params.lengths[1], sizeof none);
    assert_memory_equal(params.values[1], none, sizeof none);
    assert_null(params.values[2]);
}

static void test_codec__value_has_the_declared_width(void **state)
{
    const struct ff_sql_param as = {"x", FF_VALUE_I64, FF_TYPE_I16};
    const struct ff_value value = {.type = FF_VALUE_I64, .as.i64 = -2};
    const struct ff_value null = {.type = FF_VALUE_I64, .as.i64 = FF_NULL64};
    struct ff_pg_params params = {.arena = &arena};

    (void)state;
    ff_pg_bind_value(&params, &as, &value);
    ff_pg_bind_value(&params, &as, &null);
    assert_int_equal(params.types[0], 21);
    assert_int_equal(params.lengths[0], 2);
    assert_memory_equal(params.values[0], "\xff\xfe", 2);
    assert_null(params.values[1]);
}

static void test_codec__numbers_keep_their_sign(void **state)
{
    struct ff_value value;

    (void)state;
    assert_true(ff_pg_decode_cell(FF_VALUE_I64, "\xff\xfe", 2, &arena, &value));
    assert_int_equal(value.as.i64, -2);
    assert_true(ff_pg_decode_cell(FF_VALUE_I64, "\x7f\xff\xff\xff", 4, &arena, &value));
    assert_int_equal(value.as.i64, INT32_MAX);
    assert_true(ff_pg_decode_cell(FF_VALUE_I64, NULL, 0, &arena, &value));
    assert_true(value.as.i64 == FF_NULL64);
    assert_false(ff_pg_decode_cell(FF_VALUE_I64, "abc", 3, &arena, &value));
    assert_false(ff_pg_decode_cell(FF_VALUE_UUID, "abc", 3, &arena, &value));
}

static void test_codec__column_of_another_width_is_refused(void **state)
{
    struct ff_progress row;

    (void)state;
    ff_row_init(FF_TABLE_PROGRESS, &row);
    assert_false(
        ff_pg_decode_column(col_of(FF_TABLE_PROGRESS, "percent"), "12345678", 8, &arena, &row));
    assert_true(ff_pg_decode_column(col_of(FF_TABLE_PROGRESS, "message"), "", 0, &arena, &row));
    assert_non_null(row.message.ptr);
}

static void test_sqlstate__classes(void **state)
{
    static const struct {
        const char *sqlstate;
        ff_called outcome;
    } cases[] = {
        {"40001", FF_CALLED_RERUN}, {"40P01", FF_CALLED_RERUN}, {"55P03", FF_CALLED_HELD},
        {"57014", FF_CALLED_RERUN}, {"23505", FF_CALLED_RERUN}, {"08006", FF_CALLED_LOST},
        {"25P03", FF_CALLED_RERUN}, {"25006", FF_CALLED_STOP},  {"53100", FF_CALLED_STOP},
        {"57P01", FF_CALLED_STOP},  {"58030", FF_CALLED_STOP},  {"42P01", FF_CALLED_STOP},
        {"28P01", FF_CALLED_STOP},  {"XX001", FF_CALLED_STOP},  {"XX000", FF_CALLED_OP},
        {"22012", FF_CALLED_OP},    {"23514", FF_CALLED_OP},    {"42601", FF_CALLED_OP},
        {"54000", FF_CALLED_OP},    {"", FF_CALLED_LOST},       {"42883", FF_CALLED_STOP},
        {"FF001", FF_CALLED_RERUN}, {"2200H", FF_CALLED_RERUN},
    };

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(cases); i++)
        assert_int_equal(ff_pg_classify(cases[i].sqlstate, "a_check"), cases[i].outcome);
    assert_int_equal(ff_pg_classify("23514", NULL), FF_CALLED_RERUN); /* bounds of a partition */
    assert_int_equal(ff_pg_classify("22012", NULL), FF_CALLED_OP);
    assert_int_equal(ff_pg_classify(NULL, NULL), FF_CALLED_LOST);
    assert_true(ff_pg_needs_new_link("FF001")); /* where the log is settled anew */
    assert_true(ff_pg_needs_new_link("2200H")); /* and where its numbers come from is asked */
    assert_false(ff_pg_needs_new_link("40001"));
    assert_true(ff_pg_needs_new_link("26000"));
    assert_false(ff_pg_needs_new_link("23505"));
}

/* A migration of somebody else that takes longer than we wait is no fault of the schema. */
static void test_sqlstate__what_may_pass_while_a_store_is_opened(void **state)
{
    static const char *const passing[] = {"40001", "40P01", "55P03", "57014",
                                          "53200", "53300", "57P01", "57P03"};
    static const char *const lasting[] = {"42501", "42P01", "0A000", "22012", "XX000", "FF001", ""};

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(passing); i++)
        assert_true(ff_pg_may_pass(passing[i]));
    for (size_t i = 0; i < FF_ARRAY_LEN(lasting); i++)
        assert_false(ff_pg_may_pass(lasting[i]));
    assert_false(ff_pg_may_pass(NULL));
}

static void test_url__our_parameters_are_taken_out(void **state)
{
    struct ff_pg_config config;
    const char *keywords[FF_PG_OPTIONS_MAX];
    const char *values[FF_PG_OPTIONS_MAX];
    bool has_path = false;

    (void)state;
    assert_int_equal(ff_pg_config_init(&config,
                                       "postgres://u:p@h/d?schema=mine&sslmode=require&unsafe=1"
                                       "&application_name=x",
                                       NULL),
                     FF_OK);
    assert_string_equal(config.schema, "mine");
    assert_true(config.unsafe && !config.pooler && config.probe);
    ff_pg_config_params(&config, keywords, values);
    for (size_t i = 0; keywords[i]; i++) {
        assert_string_not_equal(keywords[i], "schema");
        if (!strcmp(keywords[i], "application_name"))
            assert_string_equal(values[i], "x");
        if (!strcmp(keywords[i], "options"))
            has_path = strstr(values[i], "search_path=mine,pg_temp") != NULL;
    }
    assert_true(has_path);
    ff_pg_config_done(&config);
}

static void test_url__behind_a_pooler_there_are_no_options(void **state)
{
    struct ff_pg_config config;
    const char *keywords[FF_PG_OPTIONS_MAX];
    const char *values[FF_PG_OPTIONS_MAX];

    (void)state;
    assert_int_equal(ff_pg_config_init(&config, "postgres://h/d?pooler=transaction", NULL), FF_OK);
    assert_true(config.pooler && !config.probe);
    ff_pg_config_params(&config, keywords, values);
    for (size_t i = 0; keywords[i]; i++)
        assert_true(strcmp(keywords[i], "options") != 0 || !values[i]);
    ff_pg_config_done(&config);
}

static void test_url__nonsense_is_refused_without_its_password(void **state)
{
    static const char *const urls[] = {
        "postgres://u:secret@h/d?schema=Robert'); DROP",
        "postgres://u:secret@h/d?schema=pg_catalog",
        "postgres://u:secret@h/d?schema=",
        "postgres://u:secret@h/d?pooler=session",
        "postgres://u:secret@h/d?unknown=1",
    };

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(urls); i++) {
        struct ff_pg_config config;
        struct ff_error error;

        assert_int_equal(ff_pg_config_init(&config, urls[i], &error), FF_INVALID);
        assert_null(strstr(error.message, "secret"));
        ff_pg_config_done(&config);
    }
}

static int allocations_left;

static void *failing_malloc(size_t bytes)
{
    return allocations_left-- <= 0 ? NULL : malloc(bytes);
}

/* However full the first chunk of memory is when the second one is asked for, and refused. */
static void test_url__without_memory_it_is_said_so(void **state)
{
    const struct ff_alloc_hooks hooks = {failing_malloc, calloc, realloc, free};
    char url[4096];

    (void)state;
    for (int len = 1; len < 1020; len++)
        for (int left = 0; left < 4; left++) {
            struct ff_pg_config config;
            ff_status status;

            (void)snprintf(url, sizeof url,
                           "postgres://h/d?sslcert=%01000d&sslkey=%01000d&sslrootcert=%0900d"
                           "&sslcrl=%0*d&krbsrvname=a&gsslib=a&target_session_attrs=any",
                           0, 0, 0, len, 0);
            allocations_left = left;
            ff_alloc_set_hooks(&hooks);
            status = ff_pg_config_init(&config, url, NULL);
            ff_alloc_set_hooks(NULL);
            assert_true(status == FF_NO_MEMORY || (status == FF_OK && left > 0));
            ff_pg_config_done(&config);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_codec__array_of_numbers_with_null, setup, teardown),
        cmocka_unit_test_setup_teardown(test_codec__array_of_texts_keeps_empty_apart_from_null,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_codec__a_row_alone_travels_as_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_codec__empty_array_has_no_dimension, setup, teardown),
        cmocka_unit_test_setup_teardown(test_codec__uuids_are_whole_whatever_is_in_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_codec__value_has_the_declared_width, setup, teardown),
        cmocka_unit_test_setup_teardown(test_codec__numbers_keep_their_sign, setup, teardown),
        cmocka_unit_test_setup_teardown(test_codec__column_of_another_width_is_refused, setup,
                                        teardown),
        cmocka_unit_test(test_sqlstate__classes),
        cmocka_unit_test(test_sqlstate__what_may_pass_while_a_store_is_opened),
        cmocka_unit_test(test_url__our_parameters_are_taken_out),
        cmocka_unit_test(test_url__behind_a_pooler_there_are_no_options),
        cmocka_unit_test(test_url__without_memory_it_is_said_so),
        cmocka_unit_test(test_url__nonsense_is_refused_without_its_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
