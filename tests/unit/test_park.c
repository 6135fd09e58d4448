/* SPDX-License-Identifier: Apache-2.0
 *
 * test_park.c -- claims that wait: nothing that is there for them is missed. What other batches
 * hold meanwhile: tests/isolation/stories.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_fixture.h"

static struct ff_async *when_asked(const char *request_id, int64_t wait_ms, int *calls)
{
    static const char *const lanes[] = {"default"};
    struct ff_claim_request request = {.size = sizeof request};
    struct ff_async *async = NULL;

    request.worker_id = request.worker_instance_id = "w";
    request.lanes = lanes;
    request.lane_count = 1;
    request.lease_ttl_ms = 60000;
    request.wait_ms = wait_ms;
    request.request_id = request_id;
    *calls = 0;
    assert_int_equal(
        ff_async_new(client, &ff_claim_type, &request, 1, count_call, calls, &async, &error),
        FF_OK);
    ff_async_go(async);
    return async;
}

static void test_park__a_claim_weighs_what_it_may_bring(void **state)
{
    struct ff_claim_request request = {.size = sizeof request, .max = 50};
    struct ff_async *async = NULL;
    int calls = 0;

    (void)state;
    request.worker_id = request.worker_instance_id = "w";
    assert_int_equal(
        ff_async_new(client, &ff_claim_type, &request, 1, count_call, &calls, &async, &error),
        FF_OK);
    ff_async_go(async);
    assert_int_equal(engine->queue.weight, 50);
    step_all();
    assert_int_equal(engine->queue.weight, 0);
    assert_int_equal(calls, 1);
    ff_async_free(async);
}

static size_t tasks_of(struct ff_async *async)
{
    struct ff_claimed claimed = {0};
    size_t count;

    assert_int_equal(ff_async_take(async, &claimed, &error), FF_OK);
    assert_int_equal(claimed.status, FF_OK);
    count = claimed.tasks.count;
    ff_answer_free(&claimed.tasks);
    ff_async_free(async);
    return count;
}

/* The first answer goes nowhere. Whoever asks again under the same request, and waits beside it, is
 * given the same. */
static void test_park__a_repeat_hears_what_the_first_was_given(void **state)
{
    struct ff_async *first, *repeat;
    int first_calls, repeat_calls;
    char id[FF_ID_BYTES];

    (void)state;
    pass(1000, 100);
    first = when_asked("x", 10000, &first_calls);
    pass(100, 5);
    repeat = when_asked("x", 10000, &repeat_calls);
    pass(100, 5);
    given_submitted(id);
    pass(100, 5);
    assert_int_equal(first_calls, 1);
    assert_int_equal(tasks_of(first), 1);
    assert_int_equal(repeat_calls, 1);
    assert_int_equal(tasks_of(repeat), 1);
}

/* Another process may have given it something: a request that waits in vain looks before it says
 * so. */
static void test_park__a_request_looks_once_more_at_the_end(void **state)
{
    struct ff_async *claim;
    int64_t calls_before;
    int calls;

    (void)state;
    pass(1000, 100);
    claim = when_asked("x", 300, &calls);
    pass(290, 10);
    assert_int_equal(calls, 0);
    calls_before = stats().batches;
    pass(20, 10);
    assert_int_equal(calls, 1);
    assert_int_equal(stats().batches, calls_before + 1);
    assert_int_equal(tasks_of(claim), 0);
}

/* A claim has looked in vain and has not begun to wait, when somebody else submits; `told` is what
 * this process hears of it before the claim waits. */
static void expect_not_missed(void (*told)(void))
{
    struct ff_session *const session = engine->executors[0].session;
    struct ff_session_ops ops;
    uint64_t counters[FF_WAKE_SLOTS];
    char id[FF_ID_BYTES];
    struct ff_async *claim;
    int calls;

    pass(3000, 100);
    claim = when_asked(NULL, 0, &calls); /* the worker is written down */
    step_all();
    assert_int_equal(tasks_of(claim), 0);
    given_silence(session, &ops, FF_CALL_ROLLBACK);
    claim = when_asked(NULL, 20000, &calls);
    step_all();
    assert_int_equal(engine->executors[0].stage, FF_EXECUTOR_ROLLING);
    memcpy(counters, engine->wake, sizeof counters);
    given_submitted(id);
    memcpy(engine->wake, counters, sizeof counters); /* as if another process had done it */
    told();
    unanswered = FF_CALL_RESOLVE;
    session->ops = store_ops;
    step_all();
    assert_int_equal(calls, 1);
    assert_int_equal(tasks_of(claim), 1);
}

static void by_a_hint(void)
{
    (void)ff_engine_unpark(engine, UINT64_MAX); /* as the supervisor does then */
}

static void by_a_pulse(void)
{
    pass(1100, 100);
}

static void test_park__news_between_look_and_sleep_are_not_missed(void **state)
{
    (void)state;
    expect_not_missed(by_a_hint);
}

static void test_park__a_pulse_between_look_and_sleep_is_not_missed(void **state)
{
    (void)state;
    expect_not_missed(by_a_pulse);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_park__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_claim_weighs_what_it_may_bring),
        TEST(a_repeat_hears_what_the_first_was_given),
        TEST(a_request_looks_once_more_at_the_end),
        TEST(news_between_look_and_sleep_are_not_missed),
        TEST(a_pulse_between_look_and_sleep_is_not_missed),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
