/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sibling.c -- upstreams that a join was decided without: who is cancelled, and who is spared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/graph_fixture.h"

/* F11 */
static void test_sibling__the_first_success_cancels_the_rest(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:any | a>d b>d c>d");
    const struct ff_task_ref held = world_take(&w, flow, "b");
    struct ff_state_out out;

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    expect_flow(flow, "running", "a:completed b:cancelled c:cancelled d:waiting");
    assert_string_equal(world_member(&w, flow, "c")->cancel_reason.ptr, "sibling_quorum_satisfied");
    assert_int_equal(world_complete(&w, held, "1", &out), FF_NOT_ACTIVE);
    assert_int_equal(world_group(&w, flow, "d")->fail, 2);
    assert_int_equal(world_group(&w, flow, "d")->group_state, FF_GROUP_SATISFIED);
    assert_int_equal(w.row_count[FF_TABLE_DRAIN], 0);
    assert_string_equal(world_events(&w, world_node(flow, "d"), 0), "execution.unblocked");
}

/* What a page has cost is forgotten with it: the next one would be put off for long at once. */
static void test_sibling__tries_are_of_one_page(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:any | a>d b>d c>d");
    struct ff_find_in find = {.what = FF_FIND_DRAINS, .limit = 10};
    struct ff_dispatch_in hop = {.hop = {world_node(flow, "a"), 0, FF_HOP_COMPLETION}};
    struct ff_postpone_in put_off = {.what = FF_FIND_DRAINS};
    struct ff_group_drain_in in = {0};
    struct ff_dispatch_out passed;
    struct ff_postpone_out late;
    struct ff_find_out found;
    struct ff_drain_out out;
    struct ff_drain key;
    const struct ff_drain *drain;

    (void)state;
    w.settings.drain_rows = 1;
    world_end(&w, flow, "a", "ok");
    assert_int_equal(world_run(&w, FF_OP_HOP_DISPATCH, &hop, &passed), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_HOP_FIND, &find, &found), FF_OK);
    assert_int_equal(found.count, 1);
    put_off.drain = in.drain = found.drains[0];
    key = (struct ff_drain){.partition_key = in.drain.id.partition,
                            .execution_id = in.drain.id.uuid,
                            .decision = in.drain.decision};
    assert_int_equal(world_run(&w, FF_OP_HOP_POSTPONE, &put_off, &late), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_GROUP_DRAIN, &in, &out), FF_OK);
    assert_true(out.more);
    drain = world_row(&w, FF_TABLE_DRAIN, &key);
    assert_int_equal(drain->tries, 0);
    assert_int_equal(drain->not_before_ms, 0);
    world_settle(&w);
}

static void test_sibling__let_run_lets_run(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:2! | a>d b>d c>d");

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_end(&w, flow, "b", "ok");
    world_settle(&w);
    expect_flow(flow, "running", "a:completed b:completed c:waiting d:waiting");
    world_end(&w, flow, "c", "ok"); /* a late success changes nothing */
    world_settle(&w);
    assert_string_equal(world_events(&w, world_node(flow, "d"), 0),
                        "execution.unblocked lease.acquired lease.released"); /* on the way to c */
    assert_int_equal(world_group(&w, flow, "d")->success, 3);
}

/* F11: an impossible quorum cancels what it no longer needs, with its own reason. */
static void test_sibling__an_impossible_quorum_cancels_the_rest(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:2 | a>d b>d c>d");

    (void)state;
    world_end(&w, flow, "a", "fail");
    world_end(&w, flow, "b", "fail");
    world_settle(&w);
    expect_flow(flow, "failed", "a:failed b:failed c:cancelled d:skipped");
    assert_string_equal(world_member(&w, flow, "c")->cancel_reason.ptr,
                        "sibling_quorum_impossible");
}

/* Work that others need runs on, until the last of them has decided. */
static void test_sibling__a_sibling_that_others_need_is_spared(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:any e:any | a>d b>d b>e c>e");

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "b")->state, FF_STATE_READY_RESUMED);
    world_end(&w, flow, "c", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "b")->state, FF_STATE_CANCELLED);
}

/* b is spared because e needs it, and looked at again whichever way e lets go of it: none of these
 * joins asks to cancel anybody itself. */
static void test_sibling__a_spared_sibling_is_looked_at_again(void **state)
{
    static const struct {
        const char *graph, *end, *how, *reason;
    } ways[] = {
        {"a b c d:any e | a>d b>d b>e c>e", "c", "fail", "sibling_quorum_satisfied"},
        {"a b c d:any e:any! | a>d b>d b>e c>e", "c", "ok", "sibling_quorum_satisfied"},
        {"a b c d:any e:2! x | a>d b>d b>e c>e x>e", "c", "ok", NULL},
        {"a b c d:2 e | a>d b>d b>e c>e", "c", "fail", NULL}, /* d is open */
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const struct ff_uuid flow = world_given_flow(&w, ways[i].graph);

        world_end(&w, flow, "a", "ok");
        world_settle(&w);
        assert_false(ff_state_is_terminal(world_member(&w, flow, "b")->state));
        world_end(&w, flow, ways[i].end, ways[i].how);
        world_settle(&w);
        if (ways[i].reason)
            assert_string_equal(world_member(&w, flow, "b")->cancel_reason.ptr, ways[i].reason);
        else
            assert_false(ff_state_is_terminal(world_member(&w, flow, "b")->state));
        assert_int_equal(w.row_count[FF_TABLE_DRAIN], 0);
    }
}

/* The reason is that of the join that asked, not of the one that let go last. */
static void test_sibling__who_asked_gives_the_reason(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:2 e:any! | a>d b>d b>e c>e");

    (void)state;
    world_end(&w, flow, "a", "fail");
    world_settle(&w);
    expect_flow(flow, "running", "a:failed b:waiting c:waiting d:skipped e:waiting_children");
    world_end(&w, flow, "c", "ok");
    world_settle(&w);
    assert_string_equal(world_member(&w, flow, "b")->cancel_reason.ptr,
                        "sibling_quorum_impossible");
}

/* Nor does a node need anybody that was cancelled, or has expired, while it waited. */
static void test_sibling__an_ended_node_lets_go_of_its_upstreams(void **state)
{
    struct ff_state_out out;

    (void)state;
    for (int expires = 0; expires < 2; expires++) {
        const struct ff_uuid flow = world_given_flow(&w, "a b c d:any e | a>d b>d b>e c>e");

        world_end(&w, flow, "a", "ok");
        world_settle(&w);
        if (expires) {
            world_member(&w, flow, "e")->deadline_at_ms = w.now_ms + 5;
            world_member(&w, flow, "e")->due_at_ms = w.now_ms + 5;
            w.now_ms += 10;
            assert_int_equal(world_fire(&w, FF_TIMER_DEADLINES).deadlines, 1);
        } else {
            assert_int_equal(world_cancel(&w, world_node(flow, "e"), &out), FF_OK);
        }
        world_settle(&w);
        assert_string_equal(world_member(&w, flow, "b")->cancel_reason.ptr,
                            "sibling_quorum_satisfied");
        assert_false(ff_state_is_terminal(world_member(&w, flow, "c")->state));
        assert_int_equal(w.row_count[FF_TABLE_DRAIN], 0);
    }
}

/* One that is needed again before its drain has come is spared. */
static void test_sibling__a_node_that_waits_again_needs_its_upstreams(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d:any e | a>d b>d b>e c>e");
    struct ff_dispatch_in hop = {.hop = {world_node(flow, "e"), 0, FF_HOP_COMPLETION}};
    struct ff_dispatch_out advanced;
    struct ff_state_out out;

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    assert_int_equal(world_cancel(&w, world_node(flow, "e"), &out), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_HOP_DISPATCH, &hop, &advanced), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_DRAIN], 1);
    assert_int_equal(world_replay(&w, world_node(flow, "e"), &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:completed b:waiting c:waiting d:waiting e:waiting_children");
    assert_int_equal(w.row_count[FF_TABLE_DRAIN], 0);
}

/* Both c and d have asked to cancel b when the drain of d learns whom it may cancel. Then the join
 * of c, which has ended by itself, is open again: d's word must count, in whatever order the two
 * are found. */
static void test_sibling__one_that_asks_no_more_hides_nobody(void **state)
{
    int first[2] = {0, 0};

    (void)state;
    while (first[0] == 0 || first[1] == 0) {
        const struct ff_uuid flow = world_given_flow(&w, "a b e c:2 d:any | a>c b>c b>d e>d");
        const struct ff_exec_id c = world_node(flow, "c"), d = world_node(flow, "d");
        struct ff_dispatch_in of_e = {.hop = {world_node(flow, "e"), 0, FF_HOP_COMPLETION}};
        struct ff_dispatch_in of_a = {.hop = {world_node(flow, "a"), 1, FF_HOP_REOPEN}};
        struct ff_group_drain_in drain = {.drain = {.id = d}};
        struct ff_dispatch_out told;
        struct ff_drain_out drained;
        struct ff_state_out out;
        struct world_job jobs[] = {{.op = FF_OP_HOP_DISPATCH, .in = &of_a, .out = &told},
                                   {.op = FF_OP_GROUP_DRAIN, .in = &drain, .out = &drained}};

        first[ff_uuid_cmp(c.uuid, d.uuid) < 0]++;
        assert_int_equal(world_cancel(&w, c, &out), FF_OK);
        world_end(&w, flow, "a", "fail");
        world_settle(&w); /* b is asked for the first time, and spared */
        world_end(&w, flow, "e", "ok");
        assert_int_equal(world_run(&w, FF_OP_HOP_DISPATCH, &of_e, &told), FF_OK);
        assert_int_equal(world_replay(&w, world_node(flow, "a"), &out), FF_OK);
        drain.drain.decision = world_group(&w, flow, "d")->version;
        world_batch(&w, jobs, 2);
        assert_int_equal(jobs[1].status, FF_OK);
        assert_int_equal(drained.cancelled, 1);
        assert_string_equal(world_member(&w, flow, "b")->cancel_reason.ptr,
                            "sibling_quorum_satisfied");
        world_settle(&w);
    }
}

/* In a flow whose running members may finish no join asks for their end. */
static void test_sibling__what_may_finish_is_nobodys_sibling(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b d:any | a>d b>d");
    const struct ff_task_ref a = world_take(&w, flow, "a");
    const struct ff_task_ref b = world_take(&w, flow, "b");
    struct ff_flow_cancel_out out;
    struct ff_state_out said;

    (void)state;
    assert_int_equal(world_flow_cancel(&w, flow, FF_FLOW_CANCEL_PENDING, &out), FF_OK);
    world_settle(&w);
    assert_int_equal(world_complete(&w, a, "1", &said), FF_OK);
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:completed b:active d:cancelled");
    assert_int_equal(world_complete(&w, b, "1", &said), FF_OK);
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:completed b:completed d:cancelled");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_sibling__##name, setup, audit_and_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_first_success_cancels_the_rest),
        TEST(tries_are_of_one_page),
        TEST(let_run_lets_run),
        TEST(an_impossible_quorum_cancels_the_rest),
        TEST(a_sibling_that_others_need_is_spared),
        TEST(a_spared_sibling_is_looked_at_again),
        TEST(who_asked_gives_the_reason),
        TEST(an_ended_node_lets_go_of_its_upstreams),
        TEST(one_that_asks_no_more_hides_nobody),
        TEST(a_node_that_waits_again_needs_its_upstreams),
        TEST(what_may_finish_is_nobodys_sibling),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
