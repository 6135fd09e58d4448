/* SPDX-License-Identifier: Apache-2.0
 *
 * test_lowwater.c -- claims begin where the last one ended, and never behind a row of ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/lowwater.h"
#include "model/states.h"
#include "sql_ids.h"

static struct ff_lowwater water;
static struct ff_arena arena;
static int64_t mono_ms;

struct batch {
    struct ff_rowset rows;
    struct ff_scan *scan;
};

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 4096, 1 << 20);
    ff_lowwater_init(&water);
    mono_ms = 1000;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_true(ff_list_empty(&water.begun));
    ff_lowwater_done(&water);
    ff_arena_done(&arena);
    return 0;
}

/* --- given --- */

/* A claim of up to `limit` from this lane, about to be loaded. */
static struct batch *claim_of(const char *lane, const char *kind, int64_t limit)
{
    static const int64_t any_worker[] = {0};
    struct batch *const batch = ff_arena_alloc(&arena, sizeof *batch);
    struct ff_str *const kinds = ff_arena_alloc(&arena, sizeof *kinds);
    struct ff_value params[FF_SQL_EXECUTION_CLAIM_SCAN_PARAMS];
    const struct ff_in_execution_claim_scan in = {.lane = ff_str_of(lane),
                                                  .kinds = kind ? kinds : NULL,
                                                  .kinds_count = kind ? 1 : 0,
                                                  .capsets = any_worker,
                                                  .capsets_count = 1,
                                                  .from_rank = -9001};

    *kinds = ff_str_of(kind);
    ff_rowset_init(&batch->rows, &arena);
    ff_in_execution_claim_scan_values(&in, params);
    batch->scan = ff_rowset_scan(&batch->rows, FF_SQL_EXECUTION_CLAIM_SCAN, params,
                                 FF_SQL_EXECUTION_CLAIM_SCAN_PARAMS, limit);
    ff_lowwater_begin(&water, &batch->rows, mono_ms);
    return batch;
}

static struct batch *claim(int64_t limit)
{
    return claim_of("lane", NULL, limit);
}

static struct ff_execution *row_of(struct batch *batch, int32_t priority, int64_t created_ms,
                                   int32_t state)
{
    struct ff_execution *const row = ff_rowset_row_new(&batch->rows, FF_TABLE_EXECUTION);

    row->execution_id.b[0] = (uint8_t)(created_ms + 1);
    row->lane = FF_STR("lane");
    row->priority = priority;
    row->created_at_ms = created_ms;
    row->state = state;
    return ff_rowset_put_scanned(&batch->rows, FF_TABLE_EXECUTION, row, true);
}

/* The scan brought rows created at first ... last; all are claimed. */
static void loaded(struct batch *batch, int64_t first, int64_t last)
{
    batch->scan->rows =
        ff_arena_array(&arena, (size_t)(last - first + 1), sizeof *batch->scan->rows);
    for (int64_t at = first; at <= last; at++)
        batch->scan->rows[batch->scan->row_count++] = row_of(batch, 0, at, FF_STATE_ACTIVE);
    batch->scan->loaded = true;
}

static void ended(struct batch *batch, bool certain)
{
    ff_lowwater_end(&water, &batch->rows, certain);
}

/* Claimed and committed: rows created at first ... last. */
static void given_claimed(int64_t first, int64_t last)
{
    struct batch *const batch = claim(last - first + 1);

    loaded(batch, first, last);
    ended(batch, true);
}

/* Something in this process leaves a claimable row behind. */
static void given_claimable(int32_t priority, int64_t created_ms)
{
    struct batch *const batch = ff_arena_alloc(&arena, sizeof *batch);

    ff_rowset_init(&batch->rows, &arena);
    (void)row_of(batch, priority, created_ms, FF_STATE_READY_FIRST);
    ended(batch, true);
}

/* --- then --- */

static void expect_from(const struct batch *batch, int64_t rank, int64_t created_ms)
{
    const struct ff_value *const place =
        batch->scan->params + FF_SQL_EXECUTION_CLAIM_SCAN_PARAMS - 4;

    assert_true(batch->scan->shortened);
    assert_int_equal(place[0].as.i64, rank);
    assert_int_equal(place[1].as.i64, created_ms);
}

static void expect_next_from(int64_t rank, int64_t created_ms)
{
    struct batch *const batch = claim(2);

    expect_from(batch, rank, created_ms);
    loaded(batch, created_ms, created_ms + 1);
    ended(batch, true);
}

static void expect_next_from_the_beginning(void)
{
    struct batch *const batch = claim(2);

    assert_false(batch->scan->shortened);
    ended(batch, true);
}

static void test_lowwater__begins_where_the_last_one_ended(void **state)
{
    (void)state;
    given_claimed(1, 4);
    expect_next_from(0, 4);
    expect_next_from(0, 5);
}

static void test_lowwater__a_short_scan_begins_anew(void **state)
{
    struct batch *batch;

    (void)state;
    given_claimed(1, 4);
    batch = claim(10);
    loaded(batch, 5, 7);
    ended(batch, true);
    expect_next_from_the_beginning();
}

static void test_lowwater__every_sixteenth_scan_begins_anew(void **state)
{
    (void)state;
    given_claimed(1, 2);
    for (int i = 0; i < 15; i++)
        expect_next_from(0, 2 + i);
    expect_next_from_the_beginning();
}

static void test_lowwater__a_quarter_of_a_second_later_it_begins_anew(void **state)
{
    (void)state;
    given_claimed(1, 4);
    mono_ms += 249;
    expect_next_from(0, 4);
    mono_ms += 1;
    expect_next_from_the_beginning();
}

static void test_lowwater__a_better_row_of_ours_is_not_passed_over(void **state)
{
    (void)state;
    given_claimed(1, 4);
    given_claimable(0, 9); /* behind it: no matter */
    expect_next_from(0, 4);
    given_claimable(7, 20);
    given_claimable(3, 20);
    expect_next_from(-7, 20);
}

/* The row was committed after the scan had looked and before its batch ended. */
static void test_lowwater__a_scan_under_way_does_not_pass_it_either(void **state)
{
    struct batch *batch;

    (void)state;
    batch = claim(4);
    loaded(batch, 1, 4);
    given_claimable(5, 30);
    ended(batch, true);
    expect_next_from(-5, 30);
}

/* A batch that leaves a row as it was lets it go, and others have skipped it meanwhile. */
static void test_lowwater__a_row_that_was_only_held_counts(void **state)
{
    struct batch *batch, *holder;

    (void)state;
    holder = ff_arena_alloc(&arena, sizeof *holder);
    ff_rowset_init(&holder->rows, &arena);
    (void)row_of(holder, 0, 3, FF_STATE_READY_FIRST);
    batch = claim(4);
    loaded(batch, 4, 7);
    ended(batch, true);
    ended(holder, true);
    expect_next_from(0, 3);
}

static void test_lowwater__a_batch_that_failed_drops_all_hints(void **state)
{
    struct batch *batch, *other;

    (void)state;
    given_claimed(1, 4);
    batch = claim(2);
    other = claim(2);
    loaded(batch, 5, 6);
    loaded(other, 7, 8);
    ended(batch, false);
    ended(other, true); /* it may have passed over what the first had held */
    expect_next_from_the_beginning();
}

static void test_lowwater__other_questions_have_other_hints(void **state)
{
    struct batch *batch;

    (void)state;
    given_claimed(1, 4);
    batch = claim_of("lane", "kind", 2);
    assert_false(batch->scan->shortened);
    ended(batch, true);
    batch = claim_of("other lane", NULL, 2);
    assert_false(batch->scan->shortened);
    ended(batch, true);
    expect_next_from(0, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_lowwater__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(begins_where_the_last_one_ended),
        TEST(a_short_scan_begins_anew),
        TEST(every_sixteenth_scan_begins_anew),
        TEST(a_quarter_of_a_second_later_it_begins_anew),
        TEST(a_better_row_of_ours_is_not_passed_over),
        TEST(a_scan_under_way_does_not_pass_it_either),
        TEST(a_row_that_was_only_held_counts),
        TEST(a_batch_that_failed_drops_all_hints),
        TEST(other_questions_have_other_hints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
