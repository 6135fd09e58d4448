/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_claim_wait.c -- waiting for work, and asking again for the answer that got lost.
 *
 * A waiting claim is answered by what makes an execution claimable, in whatever thread or client.
 */
#include "support/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define MANY    4
#define LONG_MS 60000 /* nobody waits so long: the task comes first */

struct waiter {
    struct ff_claim_request request;
    size_t client; /* 0: the test's own, 1: the first other */
    struct held held;
    _Atomic bool got; /* set when `held` is */
};

static void wait_for_work(struct test *t, size_t index, void *ctx)
{
    struct waiter *const waiter = ctx;
    struct waiter *const me = &waiter[index];

    if (me->client)
        t->client = t->others[me->client - 1];
    me->got = claims_one(t, &me->request, &me->held);
}

static struct waiter *new_waiter(struct test *t)
{
    struct waiter *const waiter = keep(t, sizeof *waiter);

    waiter->request = claim_request();
    waiter->request.worker_instance_id = "waiter";
    waiter->request.wait_ms = LONG_MS;
    return waiter;
}

/* The claim is really waiting: its worker has been seen. */
static bool is_seen(struct test *t, const char *instance)
{
    struct ff_worker_list workers = {0};
    bool seen = false;

    EXPECT_OK(t, ff_workers(t->client, &workers, &t->err));
    for (size_t i = 0; i < workers.count; i++)
        seen = seen || !strcmp(workers.items[i].worker_instance_id, instance);
    ff_answer_free(&workers);
    return seen;
}

static struct test_thread *given_waiting(struct test *t, struct waiter *waiter)
{
    struct test_thread *const thread = start_thread(t, wait_for_work, 0, waiter);

    WAIT_UNTIL(t, is_seen(t, "waiter"));
    return thread;
}

static void expect_got(struct test *t, struct test_thread *thread, const struct waiter *waiter,
                       const char *id)
{
    join_thread(t, thread);
    EXPECT(t, waiter->got);
    EXPECT_TEXT(t, id, waiter->held.id);
}

FF_CONFORMANCE(execution_claim_wait, ends_empty_when_its_time_is_over)
{
    struct ff_claim_request r = claim_request();
    const int64_t from_ms = test_mono_ms();

    r.wait_ms = 300;
    EXPECT(t, !claims_one(t, &r, &(struct held){0}));
    EXPECT(t, test_mono_ms() - from_ms >= 300);
}

FF_CONFORMANCE(execution_claim_wait, does_not_wait_for_more_when_there_is_some)
{
    struct ff_claim_request r = claim_request();
    struct held held[5];

    (void)given_submitted(t);
    r.wait_ms = LONG_MS;
    r.max = 5;
    EXPECT_INT(t, 1, (int64_t)when_claimed_many(t, &r, held, 5));
}

FF_CONFORMANCE(execution_claim_wait, is_woken_by_a_submit)
{
    struct waiter *const waiter = new_waiter(t);
    struct test_thread *const thread = given_waiting(t, waiter);

    expect_got(t, thread, waiter, given_submitted(t).id);
}

FF_CONFORMANCE(execution_claim_wait, is_woken_by_a_submit_of_another_client)
{
    const struct ff_submission s = submission();
    struct waiter *const waiter = new_waiter(t);
    struct ff_client *const other = another_client(t, NULL);
    struct test_thread *const thread = given_waiting(t, waiter);
    struct ff_submitted submitted;

    EXPECT_OK(t, ff_submit(other, &s, 1, &submitted, &t->err));
    expect_got(t, thread, waiter, submitted.execution_id);
}

FF_CONFORMANCE(execution_claim_wait, is_woken_by_the_end_of_a_delay)
{
    struct waiter *const waiter = new_waiter(t);
    struct test_thread *const thread = given_waiting(t, waiter);
    struct ff_submission s = submission();

    s.delay_ms = 300;
    expect_got(t, thread, waiter, given(t, &s).id);
}

FF_CONFORMANCE(execution_claim_wait, is_woken_by_what_is_given_back)
{
    const struct held held = given_claimed(t);
    struct waiter *const waiter = new_waiter(t);
    struct test_thread *const thread = given_waiting(t, waiter);

    EXPECT_OK(t, when_released(t, &held, NULL));
    expect_got(t, thread, waiter, held.id);
}

FF_CONFORMANCE(execution_claim_wait, is_woken_by_a_revocation)
{
    const struct held held = given_claimed(t);
    struct waiter *const waiter = new_waiter(t);
    struct test_thread *const thread = given_waiting(t, waiter);

    EXPECT_OK(t, when_revoked(t, held.id));
    expect_got(t, thread, waiter, held.id);
}

FF_CONFORMANCE(execution_claim_wait, is_woken_by_a_replay)
{
    const struct name name = given_completed(t);
    struct waiter *const waiter = new_waiter(t);
    struct test_thread *const thread = given_waiting(t, waiter);

    EXPECT_OK(t, when_replayed(t, name.id));
    expect_got(t, thread, waiter, name.id);
}

FF_CONFORMANCE(execution_claim_wait, is_woken_by_the_resumption_of_its_lane)
{
    struct waiter *const waiter = new_waiter(t);
    struct test_thread *thread;
    struct name name;

    EXPECT_OK(t, ff_lane_pause(t->client, "default", true, NULL, &t->err));
    name = given_submitted(t);
    thread = given_waiting(t, waiter);
    EXPECT_OK(t, ff_lane_pause(t->client, "default", false, NULL, &t->err));
    expect_got(t, thread, waiter, name.id);
}

FF_CONFORMANCE_SLOW(execution_claim_wait, is_woken_by_a_lapse)
{
    const struct ff_policy_spec p = policy();
    const struct held held = given_claimed_with(t, &p, 100);
    struct waiter *const waiter = new_waiter(t);
    struct test_thread *const thread = given_waiting(t, waiter);

    expect_got(t, thread, waiter, held.id);
    EXPECT(t, waiter->held.epoch > held.epoch);
}

static int64_t served(const struct waiter *waiters)
{
    int64_t got = 0;

    for (size_t i = 0; i < MANY; i++)
        got += waiters[i].got;
    return got;
}

/* All of them are woken, perhaps; the others go on waiting, and each is served in its turn. */
FF_CONFORMANCE(execution_claim_wait, one_submit_serves_one_of_many)
{
    struct waiter *const waiters = keep(t, MANY * sizeof *waiters);
    struct test_thread *threads[MANY];

    for (size_t i = 0; i < MANY; i++) {
        char *const instance = keep(t, 16);

        (void)snprintf(instance, 16, "waiter-%zu", i);
        waiters[i].request = claim_request();
        waiters[i].request.wait_ms = LONG_MS;
        waiters[i].request.worker_instance_id = instance;
        threads[i] = start_thread(t, wait_for_work, i, waiters);
        WAIT_UNTIL(t, is_seen(t, instance));
    }
    for (int64_t i = 1; i <= MANY; i++) {
        const struct name name = given_submitted(t);

        WAIT_UNTIL(t, served(waiters) >= i);
        EXPECT_INT(t, i, served(waiters));
        EXPECT_STATE(t, name.id, "active");
    }
    for (size_t i = 0; i < MANY; i++)
        join_thread(t, threads[i]);
}

/* ---- asking again ---- */

static struct ff_claim_request asking(const char *request_id, int32_t max)
{
    struct ff_claim_request r = claim_request();

    r.request_id = request_id;
    r.max = max;
    return r;
}

FF_CONFORMANCE(execution_claim_wait, same_request_again_gets_the_same_tasks)
{
    struct ff_claim_request r = asking("call-1", 3);
    struct held first[3], again[3];

    r.wait_ms = LONG_MS; /* nobody waits for more of an answer that was given */
    for (int i = 0; i < 5; i++)
        (void)given_submitted(t);
    EXPECT_INT(t, 3, (int64_t)when_claimed_many(t, &r, first, 3));
    EXPECT_INT(t, 3, (int64_t)when_claimed_many(t, &r, again, 3));
    for (size_t i = 0; i < 3; i++) {
        EXPECT_TEXT(t, first[i].id, again[i].id);
        EXPECT_TEXT(t, first[i].lease_id, again[i].lease_id);
        EXPECT_INT(t, first[i].epoch, again[i].epoch);
    }
    EXPECT_OK(t, when_completed(t, &again[0], NULL));
}

FF_CONFORMANCE(execution_claim_wait, same_request_again_leaves_out_what_is_gone)
{
    const struct ff_claim_request r = asking("call-1", 3);
    struct held first[3], again[3];

    for (int i = 0; i < 5; i++)
        (void)given_submitted(t);
    EXPECT_INT(t, 3, (int64_t)when_claimed_many(t, &r, first, 3));
    EXPECT_OK(t, when_completed(t, &first[0], NULL));
    EXPECT_OK(t, when_released(t, &first[1], NULL));
    EXPECT_INT(t, 1, (int64_t)when_claimed_many(t, &r, again, 3));
    EXPECT_TEXT(t, first[2].id, again[0].id);
    EXPECT_OK(t, when_completed(t, &first[2], NULL));
    /* Never others, although there are some. */
    EXPECT_INT(t, 0, (int64_t)when_claimed_many(t, &r, again, 3));
    EXPECT(t, !nothing_to_claim(t));
}

FF_CONFORMANCE(execution_claim_wait, same_request_again_does_not_get_a_later_lease)
{
    const struct ff_claim_request r = asking("call-1", 1);
    const struct name name = given_submitted(t);
    const struct held first = given_claim(t, &r);

    EXPECT_OK(t, when_released(t, &first, NULL));
    EXPECT_TEXT(t, name.id, given_claimed_next(t).id);
    EXPECT(t, !claims_one(t, &r, &(struct held){0}));
}

FF_CONFORMANCE(execution_claim_wait, request_that_got_nothing_may_get_some)
{
    const struct ff_claim_request r = asking("call-1", 1);

    EXPECT(t, !claims_one(t, &r, &(struct held){0}));
    (void)given_submitted(t);
    (void)given_claim(t, &r);
}

FF_CONFORMANCE(execution_claim_wait, request_ids_belong_to_their_instance)
{
    struct ff_claim_request r = asking("call-1", 1);
    const struct name one = given_submitted(t);
    const struct name two = given_submitted(t);

    EXPECT_TEXT(t, one.id, given_claim(t, &r).id);
    r.worker_instance_id = "instance-2";
    EXPECT_TEXT(t, two.id, given_claim(t, &r).id);
}

FF_CONFORMANCE(execution_claim_wait, same_request_again_brings_large_inputs_too)
{
    const struct ff_claim_request r = asking("call-1", 1);
    struct ff_submission s = submission();

    s.input = json_of(t, 5000, 'x');
    (void)given(t, &s);
    for (int i = 0; i < 2; i++) {
        struct ff_tasks tasks = {0};

        EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
        keep_answer(t, tasks.memory);
        EXPECT_INT(t, 1, (int64_t)tasks.count);
        EXPECT_BYTES(t, s.input.ptr, s.input.len, tasks.items[0].input);
    }
}
