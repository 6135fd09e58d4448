/* SPDX-License-Identifier: Apache-2.0
 *
 * test_follow.c -- followers that are slow, that have no memory, that outlive the engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "support/log_fixture.h"

#include "base/banned.h"

/* --- slow readers --- */

static void test_follow__buffer_is_bounded_and_nothing_is_lost(void **state)
{
    struct ff_follow *const slow = lx_given_live(), *const quick = lx_given_live();
    size_t got = 0;

    (void)state;
    for (int i = 0; i < 12; i++) {
        lx_write_many(300);
        lx_step(300);
        got += lx_taken_count(quick, 5000);
    }
    assert_int_equal(got, 3600); /* nobody waits for the slow one */
    got = lx_taken_count(slow, 5000);
    assert_int_equal(got, FF_FOLLOW_EVENTS_MAX);
    while (got < 3600) {
        const size_t more = lx_taken_count(slow, 5000);

        assert_in_range(more, 0, FF_FOLLOW_EVENTS_MAX);
        got += more;
        lx_step(20);
    }
    assert_int_equal(got, 3600);
}

static void test_follow__reader_that_stopped_loses_its_buffer_with_a_notice(void **state)
{
    struct ff_follow *const follow = lx_given_live();
    struct ff_followed notice;
    size_t got = 0;

    (void)state;
    lx_write_many(1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1");
    lx_write_many(1500);
    lx_step(300);
    lx.mono_ms += FF_FOLLOW_SLOW_MS;
    lx_step(300);
    notice = lx_take(follow, 10);
    assert_int_equal(notice.notice, FF_NOTICE_DISCONNECTED);
    assert_int_equal(notice.cursor, 1); /* where it goes on */
    while (got < 1500) {
        lx_step(20);
        got += lx_taken_count(follow, 5000);
    }
    assert_int_equal(got, 1500);
}

/* It was behind when it came, so it is never handed an event it has no room for. */
static void test_follow__reader_that_never_began_loses_its_buffer_too(void **state)
{
    struct ff_follow *follow;
    struct ff_followed notice;
    size_t got = 0;

    (void)state;
    lx_write_many(3000);
    follow = lx_follow_after(0);
    lx_step(300);
    lx.mono_ms += FF_FOLLOW_SLOW_MS;
    lx_step(300);
    notice = lx_take(follow, 10);
    assert_int_equal(notice.notice, FF_NOTICE_DISCONNECTED);
    assert_int_equal(notice.cursor, 0);
    while (got < 3000) {
        lx_step(20);
        got += lx_taken_count(follow, 5000);
    }
    assert_int_equal(got, 3000);
}

/* One that takes something now and then is slow, and keeps what waits for it. */
static void test_follow__reader_that_lags_and_takes_is_left_alone(void **state)
{
    struct ff_follow *follow;

    (void)state;
    lx_write_many(3000);
    follow = lx_follow_after(0);
    for (int64_t id = 1; id <= 10; id++) {
        lx_step(300);
        lx.mono_ms += FF_FOLLOW_SLOW_MS / 2;
        lx_step(300);
        assert_int_equal(lx_taken_count(follow, 1), 1);
    }
}

/* --- without memory --- */

/* However much there is: what could not be handed over whole stays where it is. */
static void test_follow__take_without_memory_takes_nothing(void **state)
{
    struct ff_follow *const follow = lx_given_live();
    ff_status status = FF_NO_MEMORY;
    struct ff_followed got;
    int refusals = 0;

    (void)state;
    lx_write_many(3);
    lx_step(300);
    for (size_t bytes = 16; status != FF_OK; bytes += 16, refusals++) {
        struct ff_arena arena;

        ff_arena_init(&arena, 4096, bytes);
        status = ff_follow_take(follow, &arena, 2, &got, &lx_error);
        assert_true(status == FF_OK || status == FF_NO_MEMORY);
        ff_arena_done(&arena);
    }
    assert_in_range(refusals, 10, 1000);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.cursor, 2);
    assert_string_equal(lx_taken(follow), "3");
}

/* Whoever took it could not pass it on. */
static void test_follow__what_is_given_back_comes_again(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(5);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 1), 1);
    assert_int_equal(lx_taken_count(follow, 2), 2);
    ff_follow_give_back(follow);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "2 3 4 5");
    lx.floor_id = 9;
    lx_write_many(5);
    lx_step(300);
    assert_int_equal(lx_take(follow, 1).notice, FF_NOTICE_GAP);
    ff_follow_give_back(follow);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "gap 9 10");
}

/* While it gives back, the page behind it is on its way. */
static void test_follow__page_on_its_way_does_not_hide_what_was_given_back(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(2000);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 5000), FF_FOLLOW_EVENTS_MAX);
    lx.slow = true;
    lx_step(5);
    ff_follow_give_back(follow);
    lx.slow = false;
    lx_step(300);
    for (int64_t id = 1; id <= 2000; id++) {
        const struct ff_followed got = lx_take(follow, 1);

        assert_int_equal(got.count, 1);
        assert_int_equal(got.items[0].event_id, id);
        lx_step(1);
    }
}

static bool no_heap; /* for what waits to be taken: events and notices */

static void *small_malloc(size_t bytes)
{
    return no_heap && bytes >= sizeof(struct ff_event) && bytes < 4096 ? NULL : malloc(bytes);
}

static void *small_calloc(size_t count, size_t bytes)
{
    return no_heap ? NULL : calloc(count, bytes);
}

static void heap_ends(bool ends)
{
    static const struct ff_alloc_hooks hooks = {small_malloc, small_calloc, realloc, free};

    no_heap = ends;
    ff_alloc_set_hooks(ends ? &hooks : NULL);
}

static void test_follow__event_that_cannot_be_kept_comes_later(void **state)
{
    struct ff_follow *const follow = lx_given_live();
    int pages;

    (void)state;
    heap_ends(true);
    lx_write_many(3);
    lx_step(300);
    pages = lx.reads[FF_SQL_EVENTS_AFTER];
    lx_step(1000);
    heap_ends(false);
    assert_in_range(lx.reads[FF_SQL_EVENTS_AFTER] - pages, 1, 20); /* does not hammer the store */
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1 2 3");
}

/* Events that are gone are never passed over in silence. */
static void test_follow__notice_that_cannot_be_kept_comes_later(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(10);
    heap_ends(true);
    lx.floor_id = 8;
    lx_step(300);
    heap_ends(false);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "gap 8 9 10");
    heap_ends(true);
    lx_write_reset(9);
    lx_step(300);
    heap_ends(false);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "reset 101");
}

/* --- a log that runs back --- */

/* The log runs back, and there is no memory at all. */
static void test_follow__way_back_is_told_without_memory(void **state)
{
    struct ff_follow *const follow = lx_given_live(), *const other = lx_given_live();

    (void)state;
    lx_write_many(10);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 100), 10);
    assert_int_equal(lx_taken_count(other, 100), 10);
    heap_ends(true);
    lx_run_back(4);
    lx_step(3000);
    assert_int_equal(lx_take(follow, 1).notice, FF_NOTICE_RESET);
    heap_ends(false);
    lx_write_many(2);
    lx_step(3000);
    assert_string_equal(lx_taken(follow), "5 6");
    assert_string_equal(lx_taken(other), "reset 5 6");
}

/* It loses its buffer after that, and hears of the way back all the same. */
static void test_follow__reader_that_stopped_hears_of_the_way_back(void **state)
{
    struct ff_follow *const follow = lx_given_live();
    struct ff_followed got;

    (void)state;
    lx_write_many(10);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 6), 6);
    lx_run_back(4);
    lx_step(300);
    lx_write_many(2 * FF_FOLLOW_EVENTS_MAX);
    lx_step(300);
    lx.mono_ms += FF_FOLLOW_SLOW_MS;
    lx_step(300);
    got = lx_take(follow, 1);
    assert_int_equal(got.notice, FF_NOTICE_RESET);
    assert_int_equal(got.cursor, 4);
    assert_true(got.more);
    assert_int_equal(lx_take(follow, 1).notice, FF_NOTICE_DISCONNECTED);
    lx_step(300);
    got = lx_take(follow, 1);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.items[0].event_id, 5);
}

/* Nothing that only the lost copy had is handed out once it is known to be lost. */
static void test_follow__what_waited_when_the_log_ran_back_is_read_again(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(10);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 2), 2);
    lx_run_back(6);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "reset 3 4 5 6");
    lx_write_reset(6);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "97");
}

static void test_follow__way_back_survives_what_is_given_back(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(10);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 2), 2);
    assert_int_equal(lx_taken_count(follow, 6), 6);
    lx_run_back(6);
    lx_step(300);
    ff_follow_give_back(follow); /* the six */
    lx_readies = 0;
    lx_step(300);
    assert_int_equal(lx_take(follow, 1).notice, FF_NOTICE_RESET);
    ff_follow_give_back(follow); /* the notice itself */
    assert_int_equal(lx_readies, 1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "reset 3 4 5 6");
}

/* --- closing --- */

static void test_follow__follower_outlives_the_engine(void **state)
{
    struct ff_follow *const follow = lx_given_live();
    struct ff_followed got;

    (void)state;
    assert_string_equal(lx_taken(follow), "");
    lx_readies = 0;
    ff_engine_free(lx_engine);
    lx_engine = NULL;
    assert_int_equal(lx_readies, 1);
    assert_int_equal(ff_follow_take(follow, &lx_memory, 1, &got, &lx_error), FF_CLOSED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_follow__##name, lx_setup, lx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(buffer_is_bounded_and_nothing_is_lost),
        TEST(reader_that_stopped_loses_its_buffer_with_a_notice),
        TEST(reader_that_never_began_loses_its_buffer_too),
        TEST(reader_that_lags_and_takes_is_left_alone),
        TEST(take_without_memory_takes_nothing),
        TEST(what_is_given_back_comes_again),
        TEST(page_on_its_way_does_not_hide_what_was_given_back),
        TEST(event_that_cannot_be_kept_comes_later),
        TEST(notice_that_cannot_be_kept_comes_later),
        TEST(way_back_is_told_without_memory),
        TEST(reader_that_stopped_hears_of_the_way_back),
        TEST(what_waited_when_the_log_ran_back_is_read_again),
        TEST(way_back_survives_what_is_given_back),
        TEST(follower_outlives_the_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
