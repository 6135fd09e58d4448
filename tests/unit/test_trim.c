/* SPDX-License-Identifier: Apache-2.0
 *
 * test_trim.c -- where the event log begins: by age, by count, never past an undispatched hop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/str.h"
#include "ops/ops-int.h"

#include "base/banned.h"

#define NOW_MS INT64_C(1000000)
#define EVENTS 10

/* Ten events, number i written at i * 100. */
struct fixture {
    struct ff_arena arena;
    struct ff_rowset rows;
    struct ff_settings settings;
    struct ff_work work;
    struct ff_log_trim_in in;
    struct ff_log_trim_out out;
    struct ff_event events[EVENTS];
    struct ff_outbox hop;
    void *event_rows[EVENTS], *ends[EVENTS], *hops[1];
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){0};
    ff_arena_init(&f->arena, 4096, 1 << 20);
    ff_rowset_init(&f->rows, &f->arena);
    ff_settings_default(&f->settings);
    f->settings.event_retention_ms = NOW_MS; /* nothing is over by age */
    f->work = (struct ff_work){
        .rows = &f->rows, .arena = &f->arena, .settings = &f->settings, .now_ms = NOW_MS};
    f->in.limit = EVENTS;
    ff_log_trim_need(&f->work, &f->in);
    ff_rowset_settle(&f->rows, FF_TABLE_META, FF_FOUND_ABSENT);
    for (int i = 0; i < EVENTS; i++) {
        ff_row_init(FF_TABLE_EVENT, &f->events[i]);
        f->events[i].event_id = i + 1;
        f->events[i].at_ms = (i + 1) * 100;
        f->event_rows[i] = &f->events[i];
    }
    f->ends[0] = &f->events[EVENTS - 1];
    f->ends[1] = &f->events[0];
    f->hops[0] = &f->hop;
    f->in.scan->rows = f->event_rows;
    f->in.scan->row_count = EVENTS;
    f->in.stretches->rows = f->ends;
    f->in.stretches->row_count = 2;
    f->in.hop->rows = f->hops;
}

static int64_t trimmed(struct fixture *f)
{
    assert_int_equal(ff_log_trim_apply(&f->work, &f->in, &f->out, NULL), FF_OK);
    assert_int_equal(f->out.floor_id, f->rows.log_floor_id);
    assert_int_equal(f->out.floor_id > 0, ff_rowset_has_changes(&f->rows));
    ff_arena_done(&f->arena);
    return f->out.floor_id;
}

static void test_trim__what_is_young_and_few_stays(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    assert_int_equal(trimmed(&f), 0);
}

static void test_trim__old_events_go(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.settings.event_retention_ms = NOW_MS - 501; /* 1 to 5 are older */
    assert_int_equal(trimmed(&f), 5);
    assert_int_equal(f.out.moved, 4);
}

/* Exactly as old as allowed is not too old. */
static void test_trim__edge_of_the_age(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.settings.event_retention_ms = NOW_MS - 500;
    assert_int_equal(trimmed(&f), 4);
}

static void test_trim__too_many_go(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.settings.event_count_max = 3;
    assert_int_equal(trimmed(&f), 7);
}

/* The log was restored twice: ids 1 to 4, one alone, and five more. What it jumped over does not
 * count. */
static void test_trim__jump_is_not_counted(void **state)
{
    static const int64_t keep_ids[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 0, 0};

    (void)state;
    for (int64_t max = 1; max <= EVENTS; max++) {
        struct fixture f;

        begin(&f);
        for (int i = 4; i < EVENTS; i++)
            f.events[i].event_id += (i == 4 ? 1 : 2) * FF_LOG_JUMP;
        f.ends[1] = &f.events[5];
        f.ends[2] = &f.events[4];
        f.ends[3] = &f.events[3];
        f.ends[4] = &f.events[0];
        f.in.stretches->row_count = 5;
        f.settings.event_count_max = max;
        assert_int_equal(trimmed(&f) % FF_LOG_JUMP, keep_ids[max]);
    }
}

static void test_trim__never_past_an_undispatched_hop(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.settings.event_retention_ms = 0;
    f.settings.event_count_max = 1;
    f.in.hop->row_count = 1;
    f.hop.created_at_ms = 400; /* its completion is event 4 */
    assert_int_equal(trimmed(&f), 3);
}

static void test_trim__one_alone_has_nothing_before_it(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.settings.event_retention_ms = 0;
    f.in.scan->row_count = 1;
    assert_int_equal(trimmed(&f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trim__what_is_young_and_few_stays),
        cmocka_unit_test(test_trim__old_events_go),
        cmocka_unit_test(test_trim__edge_of_the_age),
        cmocka_unit_test(test_trim__too_many_go),
        cmocka_unit_test(test_trim__jump_is_not_counted),
        cmocka_unit_test(test_trim__never_past_an_undispatched_hop),
        cmocka_unit_test(test_trim__one_alone_has_nothing_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
