/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tail.c -- the settled horizon, where a follower begins, the tailer's thread, and waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "engine/tail.h"
#include "support/log_fixture.h"

#include "base/banned.h"

/* --- the horizon --- */

static void test_tail__late_commit_with_a_lower_id_is_not_missed(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_begin(0);
    lx_begin(1);
    lx_commit(1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), ""); /* 2 is visible, but 1 may still come */
    lx_commit(0);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1 2");
}

static void test_tail__aborted_id_holds_nobody_up(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_begin(0);
    lx_begin(1);
    lx_commit(1);
    lx_roll_back(0);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "2");
}

static void *no_small_malloc(size_t bytes)
{
    return bytes < 64 ? NULL : malloc(bytes);
}

/* Who holds the lock could not be kept in mind, and nobody commits anything after that: the pulse
 * sees the same highest id as before. */
static void test_tail__holders_that_cannot_be_kept_are_asked_for_again(void **state)
{
    static const struct ff_alloc_hooks hooks = {no_small_malloc, calloc, realloc, free};
    struct ff_follow *const follow = lx_given_live();
    int heads;

    (void)state;
    lx_begin(0);
    lx_begin(1);
    lx_commit(1);
    ff_alloc_set_hooks(&hooks);
    lx_step(300);
    heads = lx.reads[FF_SQL_LOG_HEAD];
    lx_step(2000);
    ff_alloc_set_hooks(NULL);
    assert_in_range(lx.reads[FF_SQL_LOG_HEAD] - heads, 1, 20); /* does not hammer the store */
    lx_commit(0);
    lx_step(1000);
    assert_string_equal(lx_taken(follow), "1 2");
}

/* The horizon goes on while there is always somebody who holds the lock. */
static void test_tail__others_that_come_later_are_not_waited_for(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_begin(0); /* 1 */
    lx_begin(1); /* 2 */
    lx_commit(1);
    lx_step(300);
    lx_begin(2); /* 3, and stays */
    lx_commit(0);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1 2");
    lx_begin(1); /* 4 */
    lx_commit(1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "");
    lx_roll_back(2);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "4");
}

/* The same backend with its next transaction is somebody else. */
static void test_tail__busy_writer_does_not_hold_up_itself(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    for (int i = 0; i < 20; i++) {
        lx_begin(0);
        lx_step(60);
        lx_commit(0);
    }
    lx_begin(0);
    lx_step(400);
    assert_int_equal(lx_taken_count(follow, 100),
                     19); /* whoever began before the head was read may be below it */
    lx_commit(0);
    lx_step(400);
    assert_string_equal(lx_taken(follow), "20 21");
}

/* Ids given out before we came: nothing is served until their writers have ended. */
static void test_tail__start_waits_for_those_who_were_there(void **state)
{
    struct ff_follow *follow;

    (void)state;
    lx_write_many(3);
    lx_begin(0); /* 4, not visible: the highest visible id is below it */
    follow = lx_follow_after(2);
    lx_step(500);
    assert_false(lx_take(follow, 10).started);
    lx_commit(0);
    lx_step(100);
    assert_string_equal(lx_taken(follow), "3 4");
}

static void test_tail__reconnect_begins_anew_and_tells(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(2);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1 2");
    lx_begin(0); /* 3 */
    lx_begin(1); /* 4 */
    lx_commit(1);
    lx_step(260);
    lx.fail_next = 3;
    lx_step(1500);
    assert_string_equal(lx_taken(follow), "disconnected"); /* 3 still holds everything up */
    lx_commit(0);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "3 4");
}

/* However often it is tried in vain, and however quickly the reader takes what there is. */
static void test_tail__outage_is_told_once(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(1);
    lx.fail_next = 10;
    lx_step(300);
    assert_string_equal(lx_taken(follow), "disconnected");
    lx_step(1000);
    assert_int_not_equal(lx.fail_next, 0);
    assert_string_equal(lx_taken(follow), "");
    lx_step(3000);
    assert_string_equal(lx_taken(follow), "1");
    lx_write_many(1);
    lx.fail_next = 1;
    lx_step(300);
    assert_string_equal(lx_taken(follow), "disconnected 2");
}

/* The log answers, but what is in it cannot be read: a damaged page, no memory for one. */
static void test_tail__events_that_cannot_be_read_are_not_asked_for_all_the_time(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx.fail_pages = true;
    lx_write_many(1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "disconnected");
    lx.reads[FF_SQL_EVENTS_AFTER] = 0;
    lx_step(2000);
    assert_in_range(lx.reads[FF_SQL_EVENTS_AFTER], 5, 11);
    assert_string_equal(lx_taken(follow), "");
    lx.fail_pages = false;
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1");
}

/* What nobody has committed may be given out again after a crash: nobody may stand there. */
static void test_tail__id_that_is_given_out_twice_is_not_missed(void **state)
{
    struct ff_follow *follow;

    (void)state;
    lx_write_many(3);
    lx_begin(0); /* 4 */
    follow = lx_follow_after(FF_AFTER_NOW);
    lx_step(100);
    lx_roll_back(0);
    lx_step(100);
    assert_true(lx_take(follow, 1).started);
    lx_run_back(3); /* and the server comes back without having heard of 4 */
    lx_write_many(1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "4");
}

/* An older copy was put back, and nobody said so. Whoever has seen more hears of it, and misses
 * nothing of what comes then. */
static void test_tail__log_that_runs_back_is_told(void **state)
{
    struct ff_follow *const follow = lx_given_live(), *const lagging = lx_follow_after(2);
    struct ff_followed notice;

    (void)state;
    lx_write_many(10);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1 2 3 4 5 6 7 8 9 10");
    assert_int_equal(lx_taken_count(lagging, 3), 3);
    lx_run_back(6);
    lx_begin(0); /* 7 */
    lx_begin(1); /* 8 */
    lx_commit(1);
    lx_step(2000);
    assert_string_equal(lx_taken(follow), ""); /* 7 may still come */
    lx_commit(0);
    lx_step(2000);
    notice = lx_take(follow, 1);
    assert_int_equal(notice.notice, FF_NOTICE_RESET);
    assert_int_equal(notice.cursor, 8);
    assert_string_equal(lx_taken(lagging), "reset 6 7 8");
    lx_write_many(3);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "9 10 11");
    assert_string_equal(lx_taken(lagging), "9 10 11");
}

/* The older copy has grown beyond where they stood before it was settled. */
static void test_tail__log_that_ran_back_and_came_further_is_told(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(10);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 100), 10);
    lx_run_back(6);
    lx_begin(1); /* 7 */
    lx_step(300);
    lx_write_many(5);
    lx_commit(1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "reset 11 12");
}

/* --- where one begins --- */

static ff_status refused(int64_t after, int64_t *ret_oldest)
{
    struct ff_follow *const follow = lx_follow_after(after);
    struct ff_followed got;
    ff_status status;

    lx_step(50);
    status = ff_follow_take(follow, &lx_memory, 10, &got, &lx_error);
    *ret_oldest = status == FF_GAP ? (int64_t)strtoll(lx_error.oldest + 2, NULL, 16) : -1;
    return status;
}

static void test_tail__cursor_outside_of_what_is_kept_is_a_gap(void **state)
{
    int64_t oldest;

    (void)state;
    lx_write_many(20);
    lx.floor_id = 11;
    assert_int_equal(refused(9, &oldest), FF_GAP);
    assert_int_equal(oldest, 10);
    assert_int_equal(refused(10, &oldest), FF_OK);
    assert_int_equal(refused(20, &oldest), FF_OK);
    assert_int_equal(refused(21, &oldest), FF_GAP);
    lx_begin(0); /* 21 has been given out, though nobody can see it */
    lx_commit(0);
    lx_begin(0);
    assert_int_equal(refused(22, &oldest), FF_OK);
}

static void test_tail__what_retention_takes_from_a_follower_is_a_notice(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(1);
    lx_step(300);
    assert_string_equal(lx_taken(follow), "1");
    lx_write_many(9);
    lx.floor_id = 8; /* before it could read on */
    lx_step(300);
    assert_string_equal(lx_taken(follow), "gap 8 9 10");
}

/* Between the head and the page the floor moves on. */
static void test_tail__page_that_is_gone_is_not_taken_for_an_empty_one(void **state)
{
    struct ff_follow *lagging;

    (void)state;
    lx_write_many(6);
    lagging = lx_follow_after(0);
    lx.floor_next = 4;
    lx_step(300);
    assert_string_equal(lx_taken(lagging), "gap 4 5 6");
}

static void test_tail__cursor_of_a_lost_copy_hears_of_the_reset(void **state)
{
    struct ff_follow *inside, *before, *told;
    struct ff_followed notice;

    (void)state;
    lx_write_many(10);
    lx_write_reset(10); /* the last id this copy knows; 11 to 100 may have been seen */
    inside = lx_follow_after(15);
    before = lx_follow_after(10);
    lx_step(100);
    notice = lx_take(inside, 1);
    assert_int_equal(notice.notice, FF_NOTICE_RESET);
    assert_string_equal(lx_taken(inside), "101");
    assert_string_equal(lx_taken(before), "101");
    told = lx_follow_after(notice.cursor); /* who goes on there has heard of it */
    lx_step(100);
    assert_string_equal(lx_taken(told), "101");
}

/* --- its thread --- */

static int64_t slept_ms(int64_t ms)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t before_ms = ff_clock_mono_ms(&clock);

    ff_tail_sleep(lx_engine->tail, ms);
    return ff_clock_mono_ms(&clock) - before_ms;
}

/* A reader makes room right before the thread lies down: it has a page to read first. */
static void test_tail__room_is_not_slept_through(void **state)
{
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    lx_write_many(3000);
    lx_step(300);
    assert_int_equal(lx_taken_count(follow, 5000), FF_FOLLOW_EVENTS_MAX);
    assert_in_range(slept_ms(60000), 0, 30000);
}

/* Woken before the next head is due: it waits for that, and does not turn in circles. */
static void test_tail__thread_rests_between_two_heads(void **state)
{
    int waiting;

    (void)state;
    (void)lx_given_live();
    lx.mono_ms++;
    ff_tail_wake(lx_engine->tail);
    (void)ff_engine_step(lx_engine, &waiting); /* a head is read */
    ff_tail_wake(lx_engine->tail);
    (void)ff_engine_step(lx_engine, &waiting); /* too early for another one */
    assert_in_range(slept_ms(50), 25, 60000);
}

/* --- idle, waits, closing --- */

static void test_tail__nobody_follows_nothing_is_read(void **state)
{
    int heads;

    (void)state;
    lx_write_many(5);
    lx_step(2000);
    assert_int_equal(lx.reads[FF_SQL_LOG_HEAD], 0);
    (void)lx_given_live();
    lx_step(100);
    heads = lx.reads[FF_SQL_LOG_HEAD];
    lx_step(2000); /* and nothing has moved */
    assert_int_equal(lx.reads[FF_SQL_LOG_HEAD], heads);
}

static ff_status ended_with;
static int ended_count;

static void wait_done(ff_status status, void *ctx)
{
    (void)ctx;
    ended_with = status;
    ended_count++;
}

static struct ff_end_wait *wait_for(int64_t id, int64_t ms)
{
    const struct ff_end_wait_in in = {
        .id = {.partition = 1, .uuid = {.b = {1, [13] = (uint8_t)id}}},
        .until_mono_ms = lx.mono_ms + ms,
        .done = wait_done,
    };
    struct ff_end_wait *wait = NULL;

    ended_count = 0;
    assert_int_equal(ff_end_wait_new(lx_engine, &in, &wait, &lx_error), FF_OK);
    return wait;
}

static void test_tail__wait_is_told_by_the_log_and_looks_once(void **state)
{
    struct ff_end_wait *const wait = wait_for(3, 100000);

    (void)state;
    lx_step(100);
    lx_write_many(2);
    lx_step(300);
    assert_int_equal(ended_count, 0);
    lx_write_many(1);
    lx_step(300);
    assert_int_equal(ended_count, 1);
    assert_int_equal(ended_with, FF_OK);
    assert_int_equal(lx.reads[FF_SQL_EXECUTION_ENDED], 1);
    ff_end_wait_free(wait);
}

static void test_tail__wait_for_what_has_ended_is_over_at_once(void **state)
{
    struct ff_end_wait *wait;

    (void)state;
    lx_write_many(3);
    lx.ended = true;
    wait = wait_for(3, 100000);
    lx_step(50);
    assert_int_equal(ended_count, 1);
    assert_int_equal(ended_with, FF_OK);
    ff_end_wait_free(wait);
}

static void test_tail__wait_ends_in_time_and_with_the_engine(void **state)
{
    struct ff_end_wait *wait = wait_for(3, 500);

    (void)state;
    lx_step(400);
    assert_int_equal(ended_count, 0);
    lx_step(200);
    assert_int_equal(ended_count, 1);
    assert_int_equal(ended_with, FF_TIMEOUT);
    ff_end_wait_free(wait);
    wait = wait_for(4, 100000);
    (void)ff_engine_close(lx_engine, 0);
    assert_int_equal(ended_with, FF_CLOSED);
    ff_end_wait_free(wait);
}

/* Commits wake it; whoever has events copied holds its lock meanwhile. The deadline need not be
 * short: who waits here waits for ever. */
static void test_tail__writers_do_not_wait_where_it_is_known_that_they_wrote(void **state)
{
    (void)state;
    (void)lx_follow_after(FF_AFTER_NOW);
    (void)alarm(60);
    pthread_mutex_lock(&lx_engine->tail->lock);
    ff_tail_wake(lx_engine->tail);
    pthread_mutex_unlock(&lx_engine->tail->lock);
    (void)alarm(0);
    lx_step(10);
}

/* Each wait looks at its row once; thousands that come together must not keep the events back. */
static void test_tail__many_waits_hold_up_nobody_who_follows(void **state)
{
    enum { MANY = 4096 };
    static struct ff_end_wait *waits[MANY];
    struct ff_follow *const follow = lx_given_live();

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        waits[i] = wait_for(200, 100000);
    lx_write_many(3);
    lx_step(20);
    assert_in_range(lx.reads[FF_SQL_EXECUTION_ENDED], 1, MANY - 1); /* they are at it */
    assert_string_equal(lx_taken(follow), "1 2 3");
    lx_step(1000);
    assert_int_equal(lx.reads[FF_SQL_EXECUTION_ENDED], MANY);
    for (size_t i = 0; i < MANY; i++)
        ff_end_wait_free(waits[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_tail__##name, lx_setup, lx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(late_commit_with_a_lower_id_is_not_missed),
        TEST(aborted_id_holds_nobody_up),
        TEST(holders_that_cannot_be_kept_are_asked_for_again),
        TEST(others_that_come_later_are_not_waited_for),
        TEST(busy_writer_does_not_hold_up_itself),
        TEST(start_waits_for_those_who_were_there),
        TEST(reconnect_begins_anew_and_tells),
        TEST(outage_is_told_once),
        TEST(events_that_cannot_be_read_are_not_asked_for_all_the_time),
        TEST(id_that_is_given_out_twice_is_not_missed),
        TEST(log_that_runs_back_is_told),
        TEST(log_that_ran_back_and_came_further_is_told),
        TEST(cursor_outside_of_what_is_kept_is_a_gap),
        TEST(what_retention_takes_from_a_follower_is_a_notice),
        TEST(page_that_is_gone_is_not_taken_for_an_empty_one),
        TEST(cursor_of_a_lost_copy_hears_of_the_reset),
        TEST(room_is_not_slept_through),
        TEST(thread_rests_between_two_heads),
        TEST(nobody_follows_nothing_is_read),
        TEST(wait_is_told_by_the_log_and_looks_once),
        TEST(wait_for_what_has_ended_is_over_at_once),
        TEST(wait_ends_in_time_and_with_the_engine),
        TEST(writers_do_not_wait_where_it_is_known_that_they_wrote),
        TEST(many_waits_hold_up_nobody_who_follows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
