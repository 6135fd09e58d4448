/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cascade.c -- what the end of a member means for the rest of its flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "model/events.h"
#include "sql_ids.h"
#include "support/graph_fixture.h"

static struct ff_dispatch_out dispatch(struct ff_uuid flow, const char *node, int32_t generation)
{
    struct ff_dispatch_in in = {.hop = {world_node(flow, node), generation, FF_HOP_COMPLETION}};
    struct ff_dispatch_out out;

    assert_int_equal(world_run(&w, FF_OP_HOP_DISPATCH, &in, &out), FF_OK);
    return out;
}

static int events_of(struct ff_uuid flow, int32_t kind, int32_t type)
{
    int count = 0;

    for (size_t i = 0; i < w.event_count; i++)
        count += ff_uuid_eq(w.events[i]->flow_id, flow) && w.events[i]->kind == kind &&
                 w.events[i]->type == type;
    return count;
}

/* --- order --- */

/* F3 */
static void test_cascade__a_chain_runs_in_order(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>b b>c");
    struct ff_claim_out out;

    (void)state;
    expect_flow(flow, "running", "a:waiting b:waiting_children c:waiting_children");
    world_end(&w, flow, "a", "ok");
    assert_int_equal(world_claim(&w, "w1", 9, &out), 0);
    assert_int_equal(dispatch(flow, "a", 0).edges, 1);
    expect_flow(flow, "running", "a:completed b:waiting c:waiting_children");
    world_end(&w, flow, "b", "ok");
    world_settle(&w);
    world_end(&w, flow, "c", "ok");
    world_settle(&w);
    expect_flow(flow, "completed", "a:completed b:completed c:completed");
    assert_string_equal(world_events(&w, world_node(flow, "b"), 0),
                        "execution.unblocked lease.acquired completion.success");
    assert_int_equal(events_of(flow, FF_EVENT_FLOW, FF_EVENT_FLOW_CREATED), 1);
    assert_int_equal(events_of(flow, FF_EVENT_FLOW, FF_EVENT_FLOW_COMPLETED), 1);
}

static void test_cascade__fan_in_waits_for_all(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d | a>d b>d c>d");

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_end(&w, flow, "b", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "d")->state, FF_STATE_BLOCKED_FIRST);
    assert_int_equal(world_group(&w, flow, "d")->success, 2);
    world_end(&w, flow, "c", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "d")->state, FF_STATE_READY_FIRST);
}

/* Several hops into one join within one batch. */
static void test_cascade__hops_of_a_batch_see_each_other(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>c b>c");
    struct ff_dispatch_in in[2];
    struct ff_dispatch_out out[2];
    struct world_job jobs[2];

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_end(&w, flow, "b", "ok");
    for (int i = 0; i < 2; i++) {
        in[i] =
            (struct ff_dispatch_in){.hop = {world_node(flow, i ? "b" : "a"), 0, FF_HOP_COMPLETION}};
        jobs[i] = (struct world_job){.op = FF_OP_HOP_DISPATCH, .in = &in[i], .out = &out[i]};
    }
    world_batch(&w, jobs, 2);
    assert_int_equal(jobs[0].status, FF_OK);
    assert_int_equal(jobs[1].status, FF_OK);
    assert_int_equal(out[0].edges + out[1].edges, 2);
    assert_int_equal(world_member(&w, flow, "c")->state, FF_STATE_READY_FIRST);
}

/* --- once --- */

/* F7, F8: any number of deliveries count once. */
static void test_cascade__a_hop_told_again_does_nothing(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>c b>c");

    (void)state;
    world_end(&w, flow, "a", "ok");
    assert_false(dispatch(flow, "a", 0).noop);
    for (int i = 0; i < 3; i++)
        assert_true(dispatch(flow, "a", 0).noop);
    assert_true(dispatch(flow, "b", 0).noop); /* has not ended */
    assert_int_equal(world_group(&w, flow, "c")->success, 1);
    assert_int_equal(world_flow(&w, flow)->success_count, 1);
}

/* F7: marked as dispatched together with the last edge, never before. */
static void test_cascade__a_wide_hop_goes_page_by_page(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>b a>c");
    const struct ff_outbox key =
        ff_hop_row_key((struct ff_hop_key){world_node(flow, "a"), 0, FF_HOP_COMPLETION});
    struct ff_dispatch_in in = {.hop = {world_node(flow, "a"), 0, FF_HOP_COMPLETION}};
    struct ff_dispatch_out out;
    struct ff_outbox *hop;

    (void)state;
    world_end(&w, flow, "a", "ok");
    hop = world_row(&w, FF_TABLE_OUTBOX, &key);
    /* As if the first page had ended behind the first edge. */
    {
        const struct ff_uuid b = world_node(flow, "b").uuid;
        const struct ff_uuid c = world_node(flow, "c").uuid;
        const bool b_first = ff_uuid_cmp(b, c) < 0;

        hop->edge_cursor = b_first ? b : c;
        assert_int_equal(world_run(&w, FF_OP_HOP_DISPATCH, &in, &out), FF_OK);
        assert_int_equal(out.edges, 1);
        assert_int_equal(world_member(&w, flow, b_first ? "c" : "b")->state, FF_STATE_READY_FIRST);
        hop = world_row(&w, FF_TABLE_OUTBOX, &key);
        hop->edge_cursor = (struct ff_uuid){.b = {0}};
        hop->dispatched_at_ms = FF_NULL64;
        world_flow(&w, flow)->success_count = 0;
    }
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "b")->state, FF_STATE_READY_FIRST);
    assert_int_equal(world_member(&w, flow, "c")->state, FF_STATE_READY_FIRST);
}

/* --- failures --- */

/* F12 */
static void test_cascade__skips_go_down_to_the_last(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d e | a>b b>c c>d a>e");

    (void)state;
    world_end(&w, flow, "a", "fail");
    assert_int_equal(world_settle(&w), 4); /* a crashed cascade of depth 4 drains in 4 ticks */
    expect_flow(flow, "failed", "a:failed b:skipped c:skipped d:skipped e:skipped");
    assert_string_equal(world_events(&w, world_node(flow, "d"), 0), "completion.skipped");
    assert_int_equal(world_group(&w, flow, "d")->skip, 1);
    assert_int_equal(events_of(flow, FF_EVENT_FLOW, FF_EVENT_FLOW_FAILED), 1);
}

/* F12: whatever ends an upstream, its downstreams hear of it. */
static void test_cascade__a_cancelled_or_expired_upstream_counts_as_failed(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d | a>c b>d");
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_cancel(&w, world_node(flow, "a"), &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:cancelled b:waiting c:skipped d:waiting_children");
    assert_int_equal(world_edge(&w, flow, "a", "c")->outcome, FF_EDGE_FAIL);
    world_member(&w, flow, "b")->deadline_at_ms = w.now_ms + 5;
    world_member(&w, flow, "b")->due_at_ms = w.now_ms + 5;
    w.now_ms += 10;
    assert_int_equal(world_fire(&w, FF_TIMER_DEADLINES).deadlines, 1);
    world_settle(&w);
    expect_flow(flow, "failed", "a:cancelled b:expired c:skipped d:skipped");
}

/* A failure that an any_of forgives: the leaf completed, so the flow has. */
static void test_cascade__a_forgiven_failure_does_not_fail_the_flow(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c:any! | a>c b>c");

    (void)state;
    world_end(&w, flow, "a", "fail");
    world_settle(&w);
    world_end(&w, flow, "b", "ok");
    world_settle(&w);
    world_end(&w, flow, "c", "ok");
    world_settle(&w);
    expect_flow(flow, "completed", "a:failed b:completed c:completed");
}

/* R5: a node that has ended while it waited is left alone; counters still move. */
static void test_cascade__an_ended_node_is_left_alone(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b | a>b");
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_cancel(&w, world_node(flow, "b"), &out), FF_OK);
    world_settle(&w);
    world_end(&w, flow, "a", "fail");
    world_settle(&w);
    expect_flow(flow, "failed", "a:failed b:cancelled");
    assert_int_equal(world_group(&w, flow, "b")->fail, 1);
    assert_int_equal(world_group(&w, flow, "b")->group_state, FF_GROUP_IMPOSSIBLE);
}

/* F10, R6: a node's delay counts from creation and is not dropped. */
static void test_cascade__a_delay_outlives_the_join(void **state)
{
    struct ff_flow_create_in in = world_flow_of(&w, "a b c | a>b a>c");
    struct ff_flow_create_out out;

    (void)state;
    in.graph.nodes[1].submit.delay_ms = 5000;
    in.graph.nodes[2].submit.delay_ms = 5;
    assert_int_equal(world_run(&w, FF_OP_FLOW_CREATE, &in, &out), FF_OK);
    w.now_ms += 10;
    world_end(&w, out.flow_id, "a", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, out.flow_id, "b")->state, FF_STATE_DELAYED_FIRST);
    assert_int_equal(world_member(&w, out.flow_id, "c")->state, FF_STATE_READY_FIRST);
}

/* Also of one that was skipped and is free the moment it comes back: its upstream has run again
 * before anything was taken back. */
static void test_cascade__a_delay_outlives_a_skip_that_ends_at_once(void **state)
{
    struct ff_flow_create_in in = world_flow_of(&w, "a b | a>b");
    struct ff_flow_create_out made;
    struct ff_state_out out;

    (void)state;
    in.graph.nodes[1].submit.delay_ms = 5000;
    assert_int_equal(world_run(&w, FF_OP_FLOW_CREATE, &in, &made), FF_OK);
    world_end(&w, made.flow_id, "a", "fail");
    world_settle(&w);
    assert_int_equal(world_member(&w, made.flow_id, "b")->state, FF_STATE_SKIPPED);
    assert_int_equal(world_replay(&w, world_node(made.flow_id, "a"), &out), FF_OK);
    world_end(&w, made.flow_id, "a", "ok");
    assert_int_equal(world_replay(&w, world_node(made.flow_id, "b"), &out), FF_OK);
    assert_int_equal(world_member(&w, made.flow_id, "b")->state, FF_STATE_DELAYED_FIRST);
    world_settle(&w);
    assert_int_equal(world_member(&w, made.flow_id, "b")->state, FF_STATE_DELAYED_FIRST);
}

static bool is_dated(struct ff_uuid flow, const char *name)
{
    const struct ff_execution *const member = world_member(&w, flow, name);
    const bool dated = (member->flags & FF_EXEC_DATED) != 0;

    if (dated)
        assert_int_equal(member->created_at_ms, ff_uuid_time_ms(flow));
    return dated;
}

/* Where members are looked for: by the time of their flow, if that is when it and they were made.
 */
static void test_cascade__members_have_the_time_of_their_flow(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b | a>b");
    struct ff_flow_create_in in;
    struct ff_flow_create_out made;
    struct ff_flow_grow_out grown;
    struct ff_uuid late; /* its time has yet to come */

    (void)state;
    w.now_ms += 5;
    in = world_flow_of(&w, "a | ");
    w.now_ms -= 5;
    late = in.flow_id;
    assert_int_equal(world_run(&w, FF_OP_FLOW_CREATE, &in, &made), FF_OK);
    assert_int_equal(world_flow(&w, late)->created_at_ms, w.now_ms);
    assert_false(is_dated(late, "a"));
    assert_true(is_dated(flow, "a") && is_dated(flow, "b"));
    w.now_ms += 5;
    assert_int_equal(world_grow(&w, flow, "c | b>c", &grown), FF_OK);
    assert_int_equal(world_member(&w, flow, "c")->created_at_ms, w.now_ms);
    assert_false(is_dated(flow, "c"));
    assert_int_equal(world_grow(&w, late, "b | a>b", &grown), FF_OK);
    assert_int_equal(world_member(&w, late, "b")->created_at_ms, ff_uuid_time_ms(late));
    assert_false(is_dated(late, "b")); /* or it would be looked for there */
}

/* --- cancelling a flow --- */

/* F32, F33 */
static void test_cascade__cancel_all_ends_every_member(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d | a>b b>c");
    const struct ff_task_ref held = world_take(&w, flow, "d");
    struct ff_flow_cancel_out out;
    struct ff_state_out said;
    size_t events;

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    assert_int_equal(world_flow_cancel(&w, flow, FF_FLOW_CANCEL_ALL, &out), FF_OK);
    assert_int_equal(out.state, FF_FLOW_CANCELLED);
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:completed b:cancelled c:cancelled d:cancelled");
    assert_int_equal(world_complete(&w, held, "1", &said), FF_NOT_ACTIVE);
    assert_int_equal(events_of(flow, FF_EVENT_COMPLETION, FF_EVENT_COMPLETION_SUCCESS), 1);
    events = w.event_count;
    assert_int_equal(world_flow_cancel(&w, flow, FF_FLOW_CANCEL_ALL, &out), FF_OK);
    world_settle(&w);
    assert_int_equal(w.event_count, events);
    assert_int_equal(world_replay(&w, world_node(flow, "a"), &said), FF_FLOW_TERMINAL);
    assert_true(world_flow(&w, flow)->finished_at_ms != FF_NULL64);
}

static void test_cascade__cancel_pending_lets_the_held_finish(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d | a>c b>d");
    const struct ff_task_ref a = world_take(&w, flow, "a");
    struct ff_flow_cancel_out out;
    struct ff_state_out said;
    struct ff_task_ref b;

    (void)state;
    b = world_take(&w, flow, "b");
    assert_int_equal(world_flow_cancel(&w, flow, FF_FLOW_CANCEL_PENDING, &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:active b:active c:cancelled d:cancelled");
    assert_int_equal(world_complete(&w, a, "1", &said), FF_OK);
    assert_int_equal(world_fail(&w, b, FF_FAILURE_TRANSIENT, &said), FF_OK);
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:completed b:cancelled c:cancelled d:cancelled");
}

/* A node that its upstream frees after the cancel, but before the drain has come to it. */
static void test_cascade__nothing_is_freed_in_a_cancelled_flow(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b | a>b");
    struct ff_flow_cancel_out out;

    (void)state;
    world_end(&w, flow, "a", "ok");
    assert_int_equal(world_flow_cancel(&w, flow, FF_FLOW_CANCEL_PENDING, &out), FF_OK);
    assert_int_equal(dispatch(flow, "a", 0).edges, 1);
    assert_int_equal(world_member(&w, flow, "b")->state, FF_STATE_CANCELLED);
    world_settle(&w);
}

static void test_cascade__cancel_flow_only_leaves_members_alone(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b | a>b");
    struct ff_flow_cancel_out out;
    struct ff_flow_grow_out grown;

    (void)state;
    assert_int_equal(world_flow_cancel(&w, flow, FF_FLOW_CANCEL_FLOW_ONLY, &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:waiting b:waiting_children");
    assert_int_equal(world_grow(&w, flow, "c | b>c", &grown), FF_FLOW_TERMINAL);
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:completed b:waiting");
    /* The stronger policy counts. */
    assert_int_equal(world_flow_cancel(&w, flow, FF_FLOW_CANCEL_ALL, &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "cancelled", "a:completed b:cancelled");
}

/* Ids of members can be foreseen; an execution that has one is no member, and would tell nobody. */
static void test_cascade__a_stranger_is_no_upstream(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a");
    struct ff_submit_in in = world_submission(&w);
    struct ff_flow_grow_out out;

    (void)state;
    in.own_id = true;
    in.id = world_node(flow, "x");
    (void)world_submit(&w, &in);
    assert_int_equal(world_grow(&w, flow, "n | x>n", &out), FF_UNKNOWN_NODE);
}

/* --- replay --- */

/* F34, R3 */
static void test_cascade__replay_reopens_what_was_skipped(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d | a>b a>c b>d c>d");
    struct ff_state_out out;

    (void)state;
    world_end(&w, flow, "a", "fail");
    world_settle(&w);
    expect_flow(flow, "failed", "a:failed b:skipped c:skipped d:skipped");
    assert_int_equal(world_replay(&w, world_node(flow, "a"), &out), FF_OK);
    assert_int_equal(out.generation, 1);
    expect_flow(flow, "running", "a:waiting b:skipped c:skipped d:skipped");
    world_settle(&w);
    expect_flow(flow, "running",
                "a:waiting b:waiting_children c:waiting_children d:waiting_children");
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    world_end(&w, flow, "b", "ok");
    world_end(&w, flow, "c", "ok");
    world_settle(&w);
    world_end(&w, flow, "d", "ok");
    world_settle(&w);
    expect_flow(flow, "completed", "a:completed b:completed c:completed d:completed");
    assert_int_equal(events_of(flow, FF_EVENT_FLOW, FF_EVENT_FLOW_RUNNING), 1);
    assert_int_equal(world_member(&w, flow, "d")->generation, 1);
}

/* R3: groups count again from what is left. */
static void test_cascade__replay_takes_back_what_an_open_join_counted(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c:2 | a>c b>c");
    struct ff_state_out out;

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    assert_int_equal(world_group(&w, flow, "c")->success, 1);
    assert_int_equal(world_replay(&w, world_node(flow, "a"), &out), FF_OK);
    world_settle(&w);
    assert_int_equal(world_group(&w, flow, "c")->success, 0);
    world_end(&w, flow, "b", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "c")->state, FF_STATE_BLOCKED_FIRST);
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "c")->state, FF_STATE_READY_FIRST);
}

static void test_cascade__what_has_run_does_not_run_again_unless_asked(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>b b>c");
    struct ff_replay_in in = world_replay_of(world_node(flow, "a"));
    struct ff_state_out out;

    (void)state;
    for (const char *name = "abc"; *name; name++) {
        world_end(&w, flow, (const char[]){*name, '\0'}, "ok");
        world_settle(&w);
    }
    assert_int_equal(world_replay(&w, world_node(flow, "a"), &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:waiting b:completed c:completed");
    world_end(&w, flow, "a", "ok");
    world_settle(&w);
    expect_flow(flow, "completed", "a:completed b:completed c:completed");
    in.reopen_downstream = true;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:waiting b:waiting_children c:waiting_children");
    for (const char *name = "abc"; *name; name++) {
        world_end(&w, flow, (const char[]){*name, '\0'}, "ok");
        world_settle(&w);
    }
    expect_flow(flow, "completed", "a:completed b:completed c:completed");
}

/* A hop of an older generation is superseded. */
static void test_cascade__an_old_hop_is_superseded(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b | a>b");
    struct ff_state_out out;

    (void)state;
    world_end(&w, flow, "a", "fail");
    assert_int_equal(world_replay(&w, world_node(flow, "a"), &out), FF_OK);
    assert_true(dispatch(flow, "a", 0).noop);
    world_end(&w, flow, "a", "ok");
    /* The completion takes the reopening of its generation along. */
    assert_true(dispatch(flow, "a", 1).more);
    assert_int_equal(dispatch(flow, "a", 1).edges, 1);
    world_settle(&w);
    expect_flow(flow, "running", "a:completed b:waiting");
}

static void test_cascade__an_impossible_join_is_refused_by_name(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c d | a>b b>c d>c");
    struct ff_replay_in in = world_replay_of(world_node(flow, "c"));
    struct ff_state_out out;

    (void)state;
    world_end(&w, flow, "d", "ok");
    world_end(&w, flow, "a", "fail");
    world_settle(&w);
    assert_int_equal(world_replay(&w, world_node(flow, "c"), &out), FF_DEPENDENCIES_FAILED);
    assert_string_equal(w.error.message, "it depends on 'b' (skipped)");
    in.failed_ancestors = true;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:waiting b:waiting_children c:waiting_children d:completed");
    assert_int_equal(world_group(&w, flow, "c")->success, 1);
}

/* A node that is to follow does not wait behind a join that stays impossible: nobody would ever
 * decide it again. */
static void test_cascade__who_follows_does_not_wait_in_vain(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>c b>c");
    struct ff_replay_in in = world_replay_of(world_node(flow, "c"));
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_cancel(&w, world_node(flow, "c"), &out), FF_OK);
    world_end(&w, flow, "a", "fail");
    world_end(&w, flow, "b", "fail");
    world_settle(&w);
    in.failed_ancestors = true;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    assert_int_equal(world_member(&w, flow, "c")->state, FF_STATE_CANCELLED);
    world_end(&w, flow, "a", "fail"); /* before b is heard of */
    while (dispatch(flow, "a", 1).more)
        ;
    world_settle(&w);
    expect_flow(flow, "running", "a:failed b:waiting c:cancelled");
    assert_int_equal(world_replay(&w, world_node(flow, "a"), &out), FF_OK);
    world_settle(&w);
    expect_flow(flow, "running", "a:waiting b:waiting c:waiting_children");
    assert_int_equal(world_member(&w, flow, "c")->flags & FF_EXEC_FOLLOWS, 0);
}

/* --- growing --- */

/* An edge from what has ended is born resolved. */
static void test_cascade__growing_from_the_ended_counts_at_birth(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b x | ");
    struct ff_flow_grow_out out;

    (void)state;
    world_end(&w, flow, "a", "ok");
    world_end(&w, flow, "b", "fail");
    assert_int_equal(world_grow(&w, flow, "c d e f | a>c b>d d>e a>f x>f", &out), FF_OK);
    assert_int_equal(out.node_count, 4);
    assert_int_equal(out.revision, 1);
    expect_flow(flow, "running",
                "a:completed b:failed c:waiting d:skipped e:waiting_children f:waiting_children "
                "x:waiting");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "e")->state, FF_STATE_SKIPPED);
    assert_int_equal(world_group(&w, flow, "f")->success, 1);
    world_end(&w, flow, "x", "ok");
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "f")->state, FF_STATE_READY_FIRST);
}

static void test_cascade__growing_twice_is_growing_once(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a | ");
    struct ff_flow_grow_out out;

    (void)state;
    assert_int_equal(world_grow(&w, flow, "b c | a>b b>c", &out), FF_OK);
    assert_int_equal(world_grow(&w, flow, "b c | b>c a>b", &out), FF_OK);
    assert_int_equal(out.node_count, 0);
    assert_int_equal(out.revision, 1);
    assert_int_equal(world_flow(&w, flow)->node_count, 3);
    assert_int_equal(world_flow(&w, flow)->edge_count, 2);
    assert_int_equal(world_grow(&w, flow, "b c | b>c", &out), FF_NODE_DIFFERS);
    assert_string_equal(w.error.field, "nodes[0]");
    assert_int_equal(world_grow(&w, flow, "d | a>b", &out), FF_EDGE_INTO_EXISTING);
    assert_int_equal(world_grow(&w, flow, "d | x>d", &out), FF_UNKNOWN_NODE);
    assert_int_equal(world_grow(&w, flow, "d | d>x", &out), FF_UNKNOWN_NODE);
    assert_int_equal(world_grow(&w, flow, "d e | d>e e>d", &out), FF_CYCLE);
    world_end(&w, flow, "a", "fail");
    world_settle(&w);
    assert_int_equal(world_grow(&w, flow, "d | a>d", &out), FF_FLOW_TERMINAL);
    assert_int_equal(world_grow(&w, flow, "b c | a>b b>c", &out), FF_OK);
}

/* --- hops that fail, flows that go --- */

static void test_cascade__a_failing_hop_backs_off_and_stays(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b | a>b");
    struct ff_postpone_in in = {.hop = {world_node(flow, "a"), 0, FF_HOP_COMPLETION}};
    struct ff_find_in find = {.what = FF_FIND_HOPS, .limit = 10};
    struct ff_find_out found;
    struct ff_postpone_out out;
    int64_t last_ms = 0;

    (void)state;
    world_end(&w, flow, "a", "ok");
    for (int i = 0; i < 12; i++) {
        assert_int_equal(world_run(&w, FF_OP_HOP_POSTPONE, &in, &out), FF_OK);
        assert_int_equal(out.tries, i + 1);
        assert_true(out.not_before_ms - w.now_ms >= last_ms);
        last_ms = out.not_before_ms - w.now_ms;
    }
    assert_int_equal(last_ms, FF_HOP_BACKOFF_MS_MAX);
    assert_int_equal(world_run(&w, FF_OP_HOP_FIND, &find, &found), FF_OK);
    assert_int_equal(found.count, 0);
    w.now_ms += last_ms;
    world_settle(&w);
    assert_int_equal(world_member(&w, flow, "b")->state, FF_STATE_READY_FIRST);
}

/* What a page has cost is forgotten with it: the next one would be put off for long at once. */
static void test_cascade__tries_are_of_one_page(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b c | a>b a>c");
    const struct ff_hop_key a = {world_node(flow, "a"), 0, FF_HOP_COMPLETION};
    const struct ff_outbox key = ff_hop_row_key(a);
    struct ff_dispatch_in in = {.hop = a};
    struct ff_postpone_in put_off = {.hop = a};
    struct ff_dispatch_out out;
    struct ff_postpone_out late;
    const struct ff_outbox *hop;

    (void)state;
    w.settings.hop_edges = 1;
    world_end(&w, flow, "a", "ok");
    assert_int_equal(world_run(&w, FF_OP_HOP_POSTPONE, &put_off, &late), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_HOP_DISPATCH, &in, &out), FF_OK);
    assert_true(out.more);
    hop = world_row(&w, FF_TABLE_OUTBOX, &key);
    assert_int_equal(hop->tries, 0);
    assert_int_equal(hop->not_before_ms, 0);
    world_settle(&w);
}

static void test_cascade__the_reconciler_leaves_young_hops_alone(void **state)
{
    const struct ff_uuid flow = world_given_flow(&w, "a b | a>b");
    struct ff_find_in in = {.what = FF_FIND_HOPS, .older_ms = 15000, .limit = 10};
    struct ff_find_in later = in;
    struct ff_find_out out;

    (void)state;
    world_end(&w, flow, "a", "ok");
    w.now_ms += 14999;
    assert_int_equal(world_run(&w, FF_OP_HOP_FIND, &in, &out), FF_OK);
    assert_int_equal(out.count, 0);
    w.now_ms += 1;
    assert_int_equal(world_run(&w, FF_OP_HOP_FIND, &later, &out), FF_OK);
    assert_int_equal(out.count, 1);
    world_settle(&w);
}

/* Retention: the flow first, its members after it, nothing of them left. */
static void test_cascade__a_flow_is_forgotten_as_a_whole(void **state)
{
    const struct ff_uuid old = world_given_flow(&w, "a b c:any | a>c b>c");
    const struct ff_uuid young = world_given_flow(&w, "x y | x>y");
    struct ff_retention_in in = {.limit = 10, .retention_ms = 1000};
    struct ff_retention_out out;

    (void)state;
    world_end(&w, old, "a", "ok");
    world_settle(&w);
    world_end(&w, old, "c", "ok");
    world_settle(&w);
    world_end(&w, young, "x", "ok");
    world_settle(&w);
    w.now_ms += 5000;
    assert_int_equal(world_run(&w, FF_OP_RETENTION_SWEEP, &in, &out), FF_OK);
    assert_int_equal(out.removed, 1);
    assert_int_equal(world_flow(&w, old)->state, FF_FLOW_REMOVED);
    world_settle(&w);
    assert_null(world_flow(&w, old));
    assert_string_equal(world_states(&w, old), "");
    assert_int_equal(w.row_count[FF_TABLE_EXECUTION], 2);
    assert_int_equal(w.row_count[FF_TABLE_EDGE], 1);
    assert_int_equal(w.row_count[FF_TABLE_EDGE_GROUP], 1);
    assert_int_equal(w.row_count[FF_TABLE_OUTBOX], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_cascade__##name, setup, audit_and_teardown)
        TEST(a_chain_runs_in_order),
        TEST(fan_in_waits_for_all),
        TEST(hops_of_a_batch_see_each_other),
        TEST(a_hop_told_again_does_nothing),
        TEST(a_wide_hop_goes_page_by_page),
        TEST(skips_go_down_to_the_last),
        TEST(a_cancelled_or_expired_upstream_counts_as_failed),
        TEST(a_forgiven_failure_does_not_fail_the_flow),
        TEST(an_ended_node_is_left_alone),
        TEST(a_delay_outlives_the_join),
        TEST(a_delay_outlives_a_skip_that_ends_at_once),
        TEST(members_have_the_time_of_their_flow),
        TEST(cancel_all_ends_every_member),
        TEST(cancel_pending_lets_the_held_finish),
        TEST(nothing_is_freed_in_a_cancelled_flow),
        TEST(cancel_flow_only_leaves_members_alone),
        TEST(a_stranger_is_no_upstream),
        TEST(replay_reopens_what_was_skipped),
        TEST(replay_takes_back_what_an_open_join_counted),
        TEST(what_has_run_does_not_run_again_unless_asked),
        TEST(an_old_hop_is_superseded),
        TEST(an_impossible_join_is_refused_by_name),
        TEST(who_follows_does_not_wait_in_vain),
        TEST(growing_from_the_ended_counts_at_birth),
        TEST(growing_twice_is_growing_once),
        TEST(a_failing_hop_backs_off_and_stays),
        TEST(tries_are_of_one_page),
        TEST(the_reconciler_leaves_young_hops_alone),
        TEST(a_flow_is_forgotten_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
