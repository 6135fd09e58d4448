/* SPDX-License-Identifier: Apache-2.0
 *
 * test_submit_async.c -- calls that nobody waits for, step by step. With threads and on all stores:
 * tests/conformance/execution_async.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "support/engine_fixture.h"

#define QUEUE_FOR_SUBMITS (FF_QUEUE_OPS_MAX / 5 * 4)

/* What one call has heard. */
struct heard {
    int calls;
    size_t count;
    ff_status status, first, last; /* of the call, and of its first and last item */
    char id[FF_ID_BYTES];          /* of the first */
    int further;                   /* so many more are submitted, each by the answer before it */
};

static void hear(ff_status status, const struct ff_submitted *items, size_t count,
                 const struct ff_error *err, void *ctx);

static ff_status when_submitted(struct heard *heard, size_t count)
{
    struct ff_submission *const items = calloc(count, sizeof *items);
    ff_status status;

    assert_non_null(items);
    for (size_t i = 0; i < count; i++) {
        ff_submission_init(&items[i]);
        items[i].kind = "work";
    }
    status = ff_submit_async(client, items, count, hear, heard, &error);
    free(items);
    return status;
}

static void hear(ff_status status, const struct ff_submitted *items, size_t count,
                 const struct ff_error *err, void *ctx)
{
    struct heard *const heard = ctx;

    heard->calls++;
    heard->count += count;
    heard->status = status;
    heard->first = items[0].status;
    heard->last = items[count - 1].status;
    memcpy(heard->id, items[0].execution_id, sizeof heard->id);
    assert_true((status == FF_OK) == (err->status == FF_OK));
    if (heard->further > 0) {
        heard->further--;
        assert_int_equal(when_submitted(heard, 1), FF_OK);
    }
}

static void test_submit_async__answers_after_the_commit(void **state)
{
    struct heard heard = {0};

    (void)state;
    assert_int_equal(when_submitted(&heard, 1), FF_OK);
    assert_int_equal(heard.calls, 0);
    step_all();
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.first, FF_OK);
    assert_true(is_in_state(heard.id, "waiting"));
}

static void test_submit_async__callback_may_submit_the_next(void **state)
{
    struct heard heard = {.further = 20};

    (void)state;
    assert_int_equal(when_submitted(&heard, 1), FF_OK);
    step_all();
    step_all();
    assert_int_equal(heard.calls, 21);
    assert_int_equal(heard.count, 21);
}

/* A refused call must not be answered in itself: who submits again at once would never return. */
static void test_submit_async__full_queue_refuses_without_an_answer(void **state)
{
    struct heard taken = {0}, part = {0}, refused = {0};

    (void)state;
    for (size_t i = 0; i < QUEUE_FOR_SUBMITS - 500; i += 500)
        assert_int_equal(when_submitted(&taken, 500), FF_OK);
    assert_int_equal(when_submitted(&part, 1000), FF_OK);
    assert_int_equal(when_submitted(&refused, 1000), FF_OVERLOADED);
    assert_int_equal(error.status, FF_OVERLOADED);
    for (int i = 0; i < 10; i++)
        step_all();
    assert_int_equal(taken.count, QUEUE_FOR_SUBMITS - 500);
    assert_int_equal(part.calls, 1);
    assert_int_equal(part.first, FF_OK);
    assert_int_equal(part.last, FF_OVERLOADED);
    assert_int_equal(refused.calls, 0);
}

static void test_submit_async__item_that_cannot_be_asked_about_is_answered_at_once(void **state)
{
    struct ff_submission item;
    struct heard heard = {0};

    (void)state;
    ff_submission_init(&item);
    assert_int_equal(ff_submit_async(client, &item, 1, hear, &heard, &error), FF_OK);
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.first, FF_INVALID);
}

static void try_to_wait(ff_status status, const struct ff_submitted *items, size_t count,
                        const struct ff_error *err, void *ctx)
{
    struct ff_bulk_result all;
    struct ff_submitted again;
    struct ff_submission item;
    struct ff_error why = {0};
    int *const calls = ctx;

    (void)status;
    (void)count;
    (void)err;
    ff_submission_init(&item);
    item.kind = "work";
    ++*calls;
    assert_int_equal(ff_submit(client, &item, 1, &again, &why), FF_INVALID);
    assert_int_equal(ff_cancel(client, items[0].execution_id, NULL, NULL, &why), FF_INVALID);
    assert_int_equal(ff_cancel_where(client, NULL, NULL, &all, &why), FF_INVALID);
}

static void test_submit_async__callback_must_not_wait(void **state)
{
    struct ff_submission item;
    char id[FF_ID_BYTES];
    int calls = 0;

    (void)state;
    ff_submission_init(&item);
    item.kind = "work";
    assert_int_equal(ff_submit_async(client, &item, 1, try_to_wait, &calls, &error), FF_OK);
    step_all();
    assert_int_equal(calls, 1);
    given_submitted(id); /* afterwards this thread may */
}

/* Its time is over while the store says nothing: as a caller that waits would hear it. */
static void test_submit_async__hears_when_its_time_is_over(void **state)
{
    struct ff_session *const session = engine->executors[0].session;
    struct ff_session_ops ops;
    struct heard heard = {0};

    (void)state;
    given_silence(session, &ops, FF_CALL_SAVE);
    assert_int_equal(when_submitted(&heard, 1), FF_OK);
    pass(999, 100);
    assert_int_equal(heard.calls, 0);
    pass(1, 1);
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.first, FF_OUTCOME_UNKNOWN);
    unanswered = FF_CALL_RESOLVE;
    step_all();
    session->ops = store_ops;
    assert_int_equal(heard.calls, 1);
}

static void test_submit_async__a_client_that_closes_answers_first(void **state)
{
    struct heard heard = {0};

    assert_int_equal(when_submitted(&heard, 3), FF_OK);
    assert_int_equal(teardown(state), 0);
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.first, FF_CLOSED);
    assert_int_equal(heard.last, FF_CLOSED);
    assert_int_equal(setup(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_submit_async__answers_after_the_commit),
        TEST(test_submit_async__callback_may_submit_the_next),
        TEST(test_submit_async__full_queue_refuses_without_an_answer),
        TEST(test_submit_async__item_that_cannot_be_asked_about_is_answered_at_once),
        TEST(test_submit_async__callback_must_not_wait),
        TEST(test_submit_async__hears_when_its_time_is_over),
        TEST(test_submit_async__a_client_that_closes_answers_first),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
