/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ledger.c -- ledgers of migrations that a binary may work with, and those it may not.
 *
 * Of src/store/ledger. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "store/ledger.h"
#include "store/sql.h"

static ff_status line(struct ff_ledger *ledger, int32_t version, struct ff_error *error)
{
    return ff_ledger_line(ledger, version, ff_sql_migrations[version - 1].checksum, 1, error);
}

static void test_ledger__ours_is_fine(void **state)
{
    struct ff_ledger ledger = {0};

    (void)state;
    for (int32_t i = 1; i <= ff_ledger_newest(); i++)
        assert_int_equal(FF_OK, line(&ledger, i, NULL));
    assert_int_equal(ff_ledger_newest(), ledger.version);
    assert_int_equal(FF_OK, ff_ledger_check(&ledger, NULL));
}

static void test_ledger__gap_is_refused(void **state)
{
    struct ff_ledger ledger = {0};
    struct ff_error error;

    (void)state;
    assert_int_equal(FF_OK, line(&ledger, 1, NULL));
    assert_int_equal(FF_SCHEMA, line(&ledger, 3, &error));
    assert_string_equal("migration 2 is missing in the store", error.message);
    assert_int_equal(1, ledger.version);
}

static void test_ledger__other_migration_is_refused(void **state)
{
    struct ff_ledger ledger = {0};
    struct ff_error error;

    (void)state;
    assert_int_equal(FF_SCHEMA, ff_ledger_line(&ledger, 1, "other", 1, &error));
    assert_non_null(strstr(error.message, "migration 1"));
    assert_int_equal(FF_SCHEMA, ff_ledger_line(&ledger, 1, NULL, 1, &error));
}

static void test_ledger__newer_one_is_judged_by_what_it_says(void **state)
{
    const int32_t next = ff_ledger_newest() + 1;
    struct ff_ledger ledger = {.version = ff_ledger_newest(), .oldest_binary = 1};

    (void)state;
    assert_int_equal(FF_OK, ff_ledger_line(&ledger, next, "unknown", next - 1, NULL));
    assert_int_equal(FF_OK, ff_ledger_check(&ledger, NULL));
    assert_int_equal(FF_OK, ff_ledger_line(&ledger, next + 1, "unknown", next, NULL));
    assert_int_equal(FF_SCHEMA, ff_ledger_check(&ledger, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ledger__ours_is_fine),
        cmocka_unit_test(test_ledger__gap_is_refused),
        cmocka_unit_test(test_ledger__other_migration_is_refused),
        cmocka_unit_test(test_ledger__newer_one_is_judged_by_what_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
