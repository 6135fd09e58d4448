/* SPDX-License-Identifier: Apache-2.0
 *
 * test_bulk.c -- items of one call, written by two executors (decision 0013). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/list.h"
#include "support/engine_fixture.h"

#define ITEMS 1000

static struct ff_submitted results[ITEMS];
static int answers;

static struct ff_async *given_called(void)
{
    struct ff_submission *const items = calloc(ITEMS, sizeof *items);
    struct ff_async *async = NULL;

    assert_non_null(items);
    for (size_t i = 0; i < ITEMS; i++) {
        ff_submission_init(&items[i]);
        items[i].kind = "work";
    }
    answers = 0;
    client->timeout_ms = 30000;
    assert_int_equal(
        ff_async_new(client, &ff_submit_type, items, ITEMS, count_call, &answers, &async, &error),
        FF_OK);
    ff_async_go(async);
    free(items);
    return async;
}

static void when_stepped(size_t executor, int times)
{
    int64_t at_ms;

    for (int i = 0; i < times; i++)
        (void)ff_executor_step(&engine->executors[executor], &at_ms);
}

static void when_answered(struct ff_async *async)
{
    for (int i = 0; i < 20; i++) {
        when_stepped(0, 1);
        when_stepped(1, 1);
    }
    assert_int_equal(answers, 1);
    assert_int_equal(ff_async_take(async, results, &error), FF_OK);
    ff_async_free(async);
}

static void expect_claimed_in_order(void)
{
    static const char *const lanes[] = {"default"};
    const struct ff_claim_request request = {
        .size = sizeof request,
        .worker_id = "w",
        .worker_instance_id = "w",
        .lanes = lanes,
        .lane_count = 1,
        .lease_ttl_ms = 30000,
        .max = 100,
    };

    for (size_t claimed = 0; claimed < ITEMS; claimed += 100) {
        struct ff_tasks tasks = {0};

        assert_int_equal(ff_claim(client, &request, &tasks, &error), FF_OK);
        assert_int_equal(tasks.count, 100);
        for (size_t i = 0; i < 100; i++)
            assert_string_equal(tasks.items[i].execution_id, results[claimed + i].execution_id);
        ff_answer_free(&tasks);
    }
}

/* The first has taken some and must run them again; the last writes the others meanwhile. */
static struct ff_async *given_half_written(int64_t wait_ms)
{
    struct ff_async *async;

    step_all();
    pass(100, 100);
    async = given_called();
    assert_int_equal(ff_list_empty(&engine->queue.large), true);
    now_ms += wait_ms;
    fails_once = true;
    verdicts[FF_CALL_LOAD] = FF_FAULT_BEFORE_LOST;
    when_stepped(0, 2);
    assert_false(ff_list_empty(&engine->executors[0].groups));
    when_stepped(1, 20);
    return async;
}

static void test_bulk__order_is_kept_however_long_some_wait(void **state)
{
    struct ff_async *const async = given_half_written(0);

    (void)state;
    now_ms += 5000;
    when_answered(async);
    expect_claimed_in_order();
}

static void test_bulk__order_is_kept_when_all_have_waited(void **state)
{
    struct ff_async *const async = given_half_written(5000);

    (void)state;
    now_ms += 1;
    when_answered(async);
    expect_claimed_in_order();
}

/* Nobody but one executor could keep the order then. */
static void test_bulk__without_the_time_nothing_is_shared(void **state)
{
    struct ff_async *async;

    (void)state;
    step_all();
    now_ms += FF_CONTACT_GAP_MS;
    async = given_called();
    assert_true(ff_list_empty(&engine->queue.shared));
    when_answered(async);
    expect_claimed_in_order();
}

/* Ids never go back, but the store's clock was set back: the time in them is not its own. */
static void test_bulk__ids_that_run_ahead_are_not_shared(void **state)
{
    struct ff_async *async;

    (void)state;
    step_all();
    pass(100, 100);
    async = given_called();
    assert_false(ff_list_empty(&engine->queue.shared));
    when_stepped(1, 40);
    when_answered(async);
    ff_engine_contact(engine, ff_engine_now_ms(engine) - 3600000);
    async = given_called();
    assert_true(ff_list_empty(&engine->queue.shared));
    when_stepped(1, 40);
    when_answered(async);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_bulk__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(order_is_kept_however_long_some_wait),
        TEST(order_is_kept_when_all_have_waited),
        TEST(without_the_time_nothing_is_shared),
        TEST(ids_that_run_ahead_are_not_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
