/* SPDX-License-Identifier: Apache-2.0
 *
 * event_wait.c -- waiting for the end of an execution or a flow. */
#include "support/flows.h"
#include "support/follows.h"

#include <string.h>

#include "base/banned.h"

#define LONG_MS 60000

static const struct ff_info *when_waited(struct test *t, const char *id, int64_t wait_ms)
{
    struct ff_info_list list = {0};

    EXPECT_OK(t, ff_wait(t->client, id, wait_ms, &list, &t->err));
    keep_answer(t, list.memory);
    return &list.items[0];
}

static const struct ff_flow_info *when_flow_waited(struct test *t, const struct flow *flow,
                                                   int64_t wait_ms)
{
    struct ff_flow_info_list list = {0};

    EXPECT_OK(t, ff_flow_wait(t->client, flow->id, wait_ms, &list, &t->err));
    keep_answer(t, list.memory);
    return &list.items[0];
}

static void complete_next(struct test *t, size_t index, void *ctx)
{
    const struct held held = given_claimed_next(t);

    (void)index;
    (void)ctx;
    EXPECT_OK(t, when_completed(t, &held, "1"));
}

FF_CONFORMANCE(event_wait, ended_execution_is_answered_at_once)
{
    const struct name name = given_completed(t);

    EXPECT(t, when_waited(t, name.id, LONG_MS)->finished);
    EXPECT(t, when_waited(t, name.id, 0)->finished);
}

FF_CONFORMANCE(event_wait, end_is_told)
{
    const struct name name = given_submitted(t);
    struct test_thread *const thread = start_thread(t, complete_next, 0, NULL);
    const struct ff_info *const info = when_waited(t, name.id, LONG_MS);

    join_thread(t, thread);
    EXPECT(t, info->finished);
    EXPECT_TEXT(t, "completed", info->public_state);
}

FF_CONFORMANCE(event_wait, time_runs_out)
{
    const struct name name = given_submitted(t);

    EXPECT(t, !when_waited(t, name.id, 0)->finished);
    EXPECT(t, !when_waited(t, name.id, 50)->finished);
    EXPECT_STATE(t, name.id, "waiting");
}

FF_CONFORMANCE(event_wait, nobody_and_nonsense_are_refused)
{
    struct ff_info_list list = {0};
    const struct name name = given_submitted(t);

    EXPECT_STATUS(
        t, FF_NOT_FOUND,
        ff_wait(t->client, "{fp:9}:0190f5fe-7000-7000-8000-000000000001", 10, &list, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "wait_ms", ff_wait(t->client, name.id, -1, &list, &t->err));
}

static void cancel_it(struct test *t, size_t index, void *ctx)
{
    (void)index;
    EXPECT_OK(t, when_cancelled(t, ctx));
}

/* Many wait, each for its own. */
static void wait_for_one(struct test *t, size_t index, void *ctx)
{
    const struct name *const names = ctx;

    EXPECT(t, when_waited(t, names[index].id, LONG_MS)->finished);
}

FF_CONFORMANCE(event_wait, everybody_hears_of_its_own)
{
    enum { COUNT = 12 };
    struct name *const names = keep(t, COUNT * sizeof *names);
    struct test_thread *threads[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        names[i] = given_submitted(t);
    for (size_t i = 0; i < COUNT; i++)
        threads[i] = start_thread(t, wait_for_one, i, names);
    for (size_t i = 0; i < COUNT; i++)
        cancel_it(t, i, names[COUNT - 1 - i].id);
    for (size_t i = 0; i < COUNT; i++)
        join_thread(t, threads[i]);
}

static void complete_two(struct test *t, size_t index, void *ctx)
{
    const struct flow *const flow = ctx;

    (void)index;
    when_node_completed(t, flow, "a");
    when_node_completed(t, flow, "b");
}

FF_CONFORMANCE(event_wait, flow_ends_with_its_last_member)
{
    struct flow *const flow = keep(t, sizeof *flow);
    struct test_thread *thread;
    const struct ff_flow_info *info;

    *flow = given_flow(t, "a b | a>b");
    EXPECT_TEXT(t, "open", when_flow_waited(t, flow, 20)->state);
    thread = start_thread(t, complete_two, 0, flow);
    info = when_flow_waited(t, flow, LONG_MS);
    join_thread(t, thread);
    EXPECT_TEXT(t, "completed", info->state);
    EXPECT(t, info->finished_at_ms != FF_ABSENT_MS);
}

static void finish_the_rest(struct test *t, size_t index, void *ctx)
{
    const struct held *const held = ctx;

    (void)index;
    EXPECT_OK(t, when_completed(t, held, NULL));
}

/* A cancelled flow has ended when what ran at the cancel has ended. */
FF_CONFORMANCE(event_wait, cancelled_flow_ends_with_its_last_member)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct held *const held = keep(t, sizeof *held);
    struct test_thread *thread;
    const struct ff_flow_info *info;

    *held = given_node(t, &flow, "a");
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_pending"));
    info = when_flow_waited(t, &flow, 50);
    EXPECT_TEXT(t, "cancelled", info->state);
    EXPECT(t, info->finished_at_ms == FF_ABSENT_MS);
    thread = start_thread(t, finish_the_rest, 0, held);
    info = when_flow_waited(t, &flow, LONG_MS);
    join_thread(t, thread);
    EXPECT(t, info->finished_at_ms != FF_ABSENT_MS);
    EXPECT_TEXT(t, "cancelled", info->state);
}
