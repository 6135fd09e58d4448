/* SPDX-License-Identifier: Apache-2.0
 *
 * test_event_page.c -- a page of the log that meets a notice: nothing is missing within a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/events.h"
#include "base/limits.h"
#include "model/events.h"
#include "support/log_fixture.h"

#include "base/banned.h"

/* The page behind this place, as long as it may be. */
static struct ff_event_page page_behind(int64_t after)
{
    struct ff_event_page page;
    bool all = false;

    ff_arena_reset(&lx_memory);
    assert_int_equal(ff_event_page_init(&page, &lx_memory, FF_LIST_MAX, &lx_error), FF_OK);
    page.follow = lx_follow_after(after);
    lx_step(300);
    assert_int_equal(ff_event_page_gather(&page, &lx_memory, &all, &lx_error), FF_OK);
    assert_true(all);
    return page;
}

static ff_status refusal_behind(int64_t after)
{
    struct ff_event_page page;
    bool all;

    assert_int_equal(ff_event_page_init(&page, &lx_memory, 1, &lx_error), FF_OK);
    page.follow = lx_follow_after(after);
    lx_step(300);
    return ff_event_page_gather(&page, &lx_memory, &all, &lx_error);
}

/* Between two pages of the tailer what comes next is dropped. */
static void test_event_page__ends_before_a_gap(void **state)
{
    struct ff_event_page page;

    (void)state;
    lx_write_many(600);
    lx.floor_next = 501;
    lx.floor_pages = 1;
    page = page_behind(0);
    assert_int_equal(page.all.notice, FF_NOTICE_NONE);
    assert_int_equal(page.all.count, FF_EVENT_PAGE);
    assert_int_equal(page.all.cursor, FF_EVENT_PAGE); /* and not behind what is missing */
    assert_int_equal(refusal_behind(page.all.cursor), FF_GAP);
}

static void test_event_page__ends_before_a_reset(void **state)
{
    struct ff_event_page page;
    int64_t last_id;

    (void)state;
    lx_write_many(20);
    page = page_behind(10);
    assert_int_equal(page.all.cursor, 20);
    lx_write_reset(15); /* 16 to 20 are of the copy that was lost */
    last_id = lx.given_id;
    lx_write_many(1);
    page = page_behind(10);
    assert_int_equal(page.all.count, 10);
    assert_int_equal(page.all.cursor, 20);
    page = page_behind(20);
    assert_int_equal(page.all.notice, FF_NOTICE_RESET);
    assert_int_equal(page.notice_cursor, last_id - 1);
    assert_int_equal(page.all.count, 2);
    assert_int_equal(page.all.cursor, last_id + 1);
    page = page_behind(last_id - 1);
    assert_int_equal(page.all.notice, FF_NOTICE_NONE);
    assert_int_equal(page.all.count, 2);
}

static void test_event_page__begins_with_a_gap(void **state)
{
    struct ff_event_page page;

    (void)state;
    lx_write_many(6);
    lx.floor_next = 4;
    page = page_behind(0);
    assert_int_equal(page.all.notice, FF_NOTICE_GAP);
    assert_int_equal(page.notice_cursor, 3);
    assert_int_equal(page.all.count, 3);
    assert_int_equal(page.all.cursor, 6);
}

/* Behind the notice nothing is left, and the cursor is where the log ends: whoever asks again from
 * there is not told a second time. */
static void test_event_page__notice_alone_moves_on(void **state)
{
    struct ff_event_page page;
    bool all = false;

    (void)state;
    lx_write_many(5);
    lx_write_reset(2);
    assert_int_equal(ff_event_page_init(&page, &lx_memory, 10, &lx_error), FF_OK);
    page.follow = lx_follow_kind(5, FF_EVENT_COMPLETION);
    lx_step(300);
    assert_int_equal(ff_event_page_gather(&page, &lx_memory, &all, &lx_error), FF_OK);
    assert_true(all);
    assert_int_equal(page.all.notice, FF_NOTICE_RESET);
    assert_int_equal(page.all.count, 0);
    assert_int_equal(page.all.cursor, lx.given_id);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_event_page__##name, lx_setup, lx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ends_before_a_gap),
        TEST(ends_before_a_reset),
        TEST(begins_with_a_gap),
        TEST(notice_alone_moves_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
