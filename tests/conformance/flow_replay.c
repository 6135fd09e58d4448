/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_replay.c -- members of flows that run again, and what that means for those below them. */
#include "support/flows.h"

#include <string.h>

static ff_status when_replayed_with_all_below(struct test *t, const struct flow *flow,
                                              const char *node)
{
    struct ff_replay_request r;

    ff_replay_init(&r);
    r.execution_id = node_id(t, flow, node);
    r.reopen_downstream = true;
    return ff_replay(t->client, &r, NULL, NULL, &t->err);
}

/* R3: who ran because of another one does not run again; what the join counted is counted anew. */
FF_CONFORMANCE(flow_replay, all_below_is_what_ran_because_of_it)
{
    const struct flow flow = given_flow(t, "a b d:any! | a>d b>d");

    when_node_failed(t, &flow, "b");
    when_node_completed(t, &flow, "a");
    when_node_completed(t, &flow, "d");
    WAIT_FLOW(t, &flow, "completed a:completed b:failed d:completed");
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "b"));
    WAIT_UNTIL(t, look_join(t, &flow, "d")->fail == 0);
    EXPECT_FLOW(t, &flow, "running a:completed b:waiting d:completed");
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed d:completed");
    EXPECT_INT(t, 2, look_join(t, &flow, "d")->success);
    EXPECT_INT(t, 0, look(t, node_id(t, &flow, "d"))->generation);
}

/* R3: a node that is free and has not begun waits for the new run of what it waited for. */
FF_CONFORMANCE(flow_replay, a_free_node_waits_again)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");

    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:waiting c:waiting_children");
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "a"));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children c:waiting_children");
    when_node_completed(t, &flow, "a");
    when_node_completed(t, &flow, "b");
    when_node_completed(t, &flow, "c");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    EXPECT_INT(t, 0, look(t, node_id(t, &flow, "b"))->generation);
    expect_reconcilers_idle(t);
}

/* One that runs goes on with what it has. */
FF_CONFORMANCE(flow_replay, a_running_node_goes_on)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct held held;

    when_node_completed(t, &flow, "a");
    held = given_node(t, &flow, "b");
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "a"));
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:active");
    EXPECT_OK(t, when_completed(t, &held, "1"));
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
}

/* R5: an input that an edge would replace is refused, not dropped. */
FF_CONFORMANCE(flow_replay, no_input_for_a_node_that_gets_one)
{
    const struct flow flow = given_flow(t, "a b | a>b=");
    struct ff_replay_request r;

    when_node_completed(t, &flow, "a");
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
    ff_replay_init(&r);
    r.execution_id = node_id(t, &flow, "b");
    r.has_input = true;
    r.input = (struct ff_str){"2", 1};
    EXPECT_REFUSED(t, FF_INVALID, "input", ff_replay(t->client, &r, NULL, NULL, &t->err));
    EXPECT_FLOW(t, &flow, "completed a:completed b:completed");
    r.execution_id = node_id(t, &flow, "a");
    EXPECT_OK(t, ff_replay(t->client, &r, NULL, NULL, &t->err));
}

static void when_ancestors_replayed(struct test *t, const char *id)
{
    struct ff_replay_request r;

    ff_replay_init(&r);
    r.execution_id = id;
    r.scope = "failed_ancestors";
    EXPECT_OK(t, ff_replay(t->client, &r, NULL, NULL, &t->err));
}

/* An ancestor that was cancelled while it waited, and whose own upstream has failed since, is no
 * end of the way: all that stands against the node runs again, in its order. */
FF_CONFORMANCE(flow_replay, failed_ancestors_are_those_behind_a_cancelled_one_too)
{
    const struct flow flow = given_flow(t, "a b c d | a>b b>c c>d");

    EXPECT_OK(t, when_cancelled(t, node_id(t, &flow, "b")));
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:cancelled c:skipped d:skipped");
    when_ancestors_replayed(t, node_id(t, &flow, "d"));
    WAIT_FLOW(t, &flow,
              "running a:waiting b:waiting_children c:waiting_children "
              "d:waiting_children");
    when_node_completed(t, &flow, "a");
    WAIT_UNTIL(t, is_in_state(t, node_id(t, &flow, "b"), "waiting"));
    EXPECT_INT(t, 1, look(t, node_id(t, &flow, "b"))->generation);
}

/* A node that was cancelled itself follows, too; and one that fails again takes nobody along. */
FF_CONFORMANCE(flow_replay, failed_ancestors_of_a_cancelled_node)
{
    const struct flow flow = given_flow(t, "a b c d | a>c b>c c>d");

    EXPECT_OK(t, when_cancelled(t, node_id(t, &flow, "c")));
    when_node_failed(t, &flow, "a");
    when_node_failed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "failed a:failed b:failed c:cancelled d:skipped");
    EXPECT_STATUS(t, FF_DEPENDENCIES_FAILED, when_replayed(t, node_id(t, &flow, "c")));
    when_ancestors_replayed(t, node_id(t, &flow, "c"));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting c:waiting_children d:waiting_children");
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:failed b:waiting c:skipped d:skipped");
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "failed a:failed b:completed c:skipped d:skipped");
}
