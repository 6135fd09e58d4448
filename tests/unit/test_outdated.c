/* SPDX-License-Identifier: Apache-2.0
 *
 * test_outdated.c -- a node that runs again goes by the last runs of what it waits for, whatever is
 * on its way to it. Through a server and on all stores: tests/conformance/flow_replay.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/graph_fixture.h"

#define MANY 40

/* All members complete, one after the other, as the graph lets them. */
static void given_completed(struct ff_uuid flow, const char *names)
{
    char name[2] = {0};

    for (; *names; names++) {
        name[0] = *names;
        world_end(&w, flow, name, "ok");
        world_settle(&w);
    }
}

static ff_status when_replayed(struct ff_uuid flow, const char *name)
{
    struct ff_state_out out;

    return world_replay(&w, world_node(flow, name), &out);
}

static ff_status when_replayed_with_all_below(struct ff_uuid flow, const char *name)
{
    struct ff_replay_in in = world_replay_of(world_node(flow, name));
    struct ff_state_out out;

    in.reopen_downstream = true;
    return world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out);
}

static ff_status when_repaired(struct ff_uuid flow, const char *name)
{
    struct ff_replay_in in = world_replay_of(world_node(flow, name));
    struct ff_state_out out;

    in.failed_ancestors = true;
    return world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out);
}

static void when_it_fails_again(struct ff_uuid flow, const char *name)
{
    assert_int_equal(when_replayed(flow, name), FF_OK);
    world_settle(&w);
    world_end(&w, flow, name, "fail");
    world_settle(&w);
}

/* --- those that are waited for --- */

/* Nobody is let go by a join that turns out to be impossible: its node follows, and wants them. */
static void test_outdated__a_repair_cancels_nobody(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:3 | a>d b>d c>d");

    (void)state;
    given_completed(flow, "abcd");
    when_it_fails_again(flow, "a");
    assert_int_equal(when_replayed(flow, "c"), FF_OK);
    world_settle(&w);
    assert_int_equal(when_repaired(flow, "d"), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_DRAIN], 0);
    world_settle(&w);
    expect_flow(flow, "running", "a:waiting b:completed c:waiting d:waiting_children");
}

static void test_outdated__who_was_asked_for_is_not_let_go(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b d:2 | a>d b>d");

    (void)state;
    given_completed(flow, "abd");
    when_it_fails_again(flow, "a");
    assert_int_equal(when_replayed_with_all_below(flow, "b"), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:failed b:waiting d:completed");
}

/* Askers of one batch share a scan, and its limit is the sum of theirs. */
static void test_outdated__none_is_overlooked_when_two_ask(void **state)
{
    char text[32 * MANY] = {0};
    char name[16];
    size_t len = 0;
    struct ff_replay_in ins[2];
    struct ff_state_out outs[2];
    struct world_job jobs[2];
    struct ff_uuid flow;

    (void)state;
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "n%d ", i);
    len += (size_t)snprintf(text + len, sizeof text - len, "z |");
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, " n%d>z", i);
    flow = world_given_flow(&w, text);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        world_end(&w, flow, name, "ok");
    }
    world_settle(&w);
    world_end(&w, flow, "z", "ok");
    world_settle(&w);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(when_replayed(flow, name), FF_OK);
    }
    world_settle(&w);
    for (int i = 0; i < 2; i++) {
        ins[i] = world_replay_of(world_node(flow, "z"));
        jobs[i] = (struct world_job){FF_OP_EXECUTION_REPLAY, &ins[i], &outs[i], FF_OK};
    }
    world_batch(&w, jobs, 2);
    assert_int_equal(jobs[0].status, FF_OK);
    world_settle(&w);
    assert_int_equal(world_group(&w, flow, "z")->success, 0);
}

/* --- those below --- */

/* What a reopening on its way has asked for is not lost when somebody is faster. */
static void test_outdated__a_replay_hands_on_what_its_upstream_wants(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>b b>c");

    (void)state;
    given_completed(flow, "abc");
    assert_int_equal(when_replayed_with_all_below(flow, "a"), FF_OK);
    assert_int_equal(when_replayed(flow, "b"), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:waiting b:waiting_children c:waiting_children");
}

/* A plain replay stays one: b's own wish is not a's. */
static void test_outdated__a_plain_reopening_hands_on_nothing(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>b b>c");

    (void)state;
    given_completed(flow, "abc");
    assert_int_equal(when_replayed(flow, "a"), FF_OK);
    assert_int_equal(when_replayed(flow, "b"), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:waiting b:waiting_children c:completed");
}

/* Which of the two that keep c from running is mended first makes no difference: the wish of the
 * one is there when the other comes. */
static void expect_wish_of_a(const char *first, const char *second)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:any e | a>c b>c c>d e>d");

    world_end(&w, flow, "a", "fail");
    world_end(&w, flow, "b", "fail");
    world_settle(&w);
    given_completed(flow, "ed");
    assert_int_equal(world_group(&w, flow, "d")->skip, 1);
    for (int i = 0; i < 2; i++) {
        const char *const name = i == 0 ? first : second;

        assert_int_equal(*name == 'a' ? when_replayed_with_all_below(flow, name)
                                      : when_replayed(flow, name),
                         FF_OK);
        world_settle(&w);
    }
    expect_flow(flow, "running", "a:waiting b:waiting c:waiting_children d:completed e:completed");
    assert_int_equal(world_group(&w, flow, "d")->skip, 0);
}

static void test_outdated__a_wish_waits_until_the_join_can_be(void **state)
{
    (void)state;
    expect_wish_of_a("b", "a");
    expect_wish_of_a("a", "b");
}

/* --- what cannot be mended --- */

/* u cannot run because t has failed since it ran; v could. All or nothing. */
static void test_outdated__half_a_repair_is_refused(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "t u v d | t>u u>d v>d");

    (void)state;
    given_completed(flow, "t");
    world_end(&w, flow, "u", "fail");
    world_end(&w, flow, "v", "fail");
    world_settle(&w);
    when_it_fails_again(flow, "t");
    assert_int_equal(when_repaired(flow, "d"), FF_DEPENDENCIES_FAILED);
    assert_non_null(strstr(w.error.message, "its ancestor 'u'"));
    world_settle(&w);
    expect_flow(flow, "failed", "d:skipped t:failed u:failed v:failed");
    assert_int_equal(when_repaired(flow, "u"), FF_OK);
    world_settle(&w);
    assert_int_equal(when_repaired(flow, "d"), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "d:waiting_children t:waiting u:waiting_children v:waiting");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_outdated__##name, setup, audit_and_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_repair_cancels_nobody),
        TEST(who_was_asked_for_is_not_let_go),
        TEST(none_is_overlooked_when_two_ask),
        TEST(a_replay_hands_on_what_its_upstream_wants),
        TEST(a_plain_reopening_hands_on_nothing),
        TEST(a_wish_waits_until_the_join_can_be),
        TEST(half_a_repair_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
