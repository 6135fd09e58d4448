/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_change.c -- growing a flow, cancelling it, replaying its members, forgetting it. */
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

/* --- growing --- */

FF_CONFORMANCE(flow_change, a_flow_grows_while_it_runs)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct ff_flow_made made;
    const struct held held = given_node(t, &flow, "a");

    EXPECT_OK(t, when_grown(t, &flow, "c d | a>c c>d b>d", &made));
    EXPECT(t, made.created);
    EXPECT_INT(t, 1, made.revision);
    EXPECT_OK(t, when_grown(t, &flow, "c d | a>c c>d b>d", &made)); /* told twice */
    EXPECT(t, !made.created);
    EXPECT_INT(t, 4, look_flow(t, &flow)->node_count);
    EXPECT_INT(t, 4, look_flow(t, &flow)->edge_count);
    EXPECT_OK(t, when_completed(t, &held, "1"));
    when_nodes_completed(t, &flow, "b c d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed d:completed");
    EXPECT_STATUS(t, FF_FLOW_TERMINAL, when_grown(t, &flow, "e | d>e", NULL));
    EXPECT_OK(t, when_grown(t, &flow, "c d | a>c c>d b>d", &made));
    expect_reconcilers_idle(t);
}

FF_CONFORMANCE(flow_change, growing_from_the_ended_is_heard_at_once)
{
    const struct flow flow = given_flow(t, "a b x | ");

    when_node_completed(t, &flow, "a");
    when_node_failed(t, &flow, "b");
    EXPECT_OK(t, when_grown(t, &flow, "c d e | a>c b>d d>e", NULL));
    WAIT_FLOW(t, &flow, "running a:completed b:failed c:waiting d:skipped e:skipped x:waiting");
}

/* Upstreams that are told again in the same call are no new ones. */
FF_CONFORMANCE(flow_change, growing_from_nodes_told_again)
{
    const struct flow flow = given_flow(t, "a b x | a>x");

    when_node_completed(t, &flow, "a");
    when_node_failed(t, &flow, "b");
    EXPECT_OK(t, when_grown(t, &flow, "a b x c d e | a>x a>c b>d d>e x>e", NULL));
    WAIT_FLOW(t, &flow, "running a:completed b:failed c:waiting d:skipped e:skipped x:waiting");
    EXPECT_OK(t, when_grown(t, &flow, "a x f | a>x x>f", NULL));
    when_nodes_completed(t, &flow, "x c f");
    WAIT_FLOW(t, &flow,
              "failed a:completed b:failed c:completed d:skipped e:skipped f:completed "
              "x:completed");
    expect_reconcilers_idle(t);
}

FF_CONFORMANCE(flow_change, growing_names_what_does_not_fit)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct ff_flow_request *const r = graph(t, "c | a>c");
    struct ff_flow_made made;

    EXPECT_REFUSED(t, FF_NODE_DIFFERS, "nodes[0]", when_grown(t, &flow, "b | ", NULL));
    EXPECT_REFUSED(t, FF_EDGE_INTO_EXISTING, "edges[0]", when_grown(t, &flow, "c | c>b", NULL));
    EXPECT_REFUSED(t, FF_UNKNOWN_NODE, "edges[0]", when_grown(t, &flow, "c | y>c", NULL));
    EXPECT_REFUSED(t, FF_CYCLE, "nodes[0]", when_grown(t, &flow, "c d | c>d d>c", NULL));
    r->flow_id = flow.id;
    r->expected_revision = 7;
    EXPECT_REFUSED(t, FF_CONFLICT, "expected_revision", ff_flow_grow(t->client, r, &made, &t->err));
    EXPECT_ROWS(t, 2);
}

struct race {
    struct flow flow;
    struct held held;
};

static void grow_or_end(struct test *t, size_t index, void *ctx)
{
    struct race *const race = ctx;
    char text[160];

    if (index == 0) {
        EXPECT_OK(t, when_completed(t, &race->held, "1"));
        return;
    }
    (void)snprintf(text, sizeof text, "%s n%zu m%zu | a>n%zu n%zu>m%zu", index % 2 ? "a" : "",
                   index, index, index, index, index);
    EXPECT_OK(t, when_grown(t, &race->flow, text, NULL));
}

/* Growing against an upstream that ends: no edge is left behind. */
FF_CONFORMANCE(flow_change, growing_while_the_upstream_ends)
{
    struct race *const race = keep(t, sizeof *race);

    race->flow = given_flow(t, "a z | ");
    race->held = given_node(t, &race->flow, "a");
    in_threads(t, 6, grow_or_end, race);
    WAIT_FLOW(t, &race->flow,
              "running a:completed m1:waiting_children m2:waiting_children m3:waiting_children "
              "m4:waiting_children m5:waiting_children n1:waiting n2:waiting n3:waiting "
              "n4:waiting n5:waiting z:waiting");
    EXPECT_INT(t, 5, look_flow(t, &race->flow)->revision);
    expect_reconcilers_idle(t);
}

#define MANY 40 /* above 32 nodes a graph is a large job, and may stand before a worker's word */

static void grow_much_or_end(struct test *t, size_t index, void *ctx)
{
    struct race *const race = ctx;
    char text[MANY * 12];
    size_t len = 0;

    if (index == 0) {
        EXPECT_OK(t, when_completed(t, &race->held, "1"));
        return;
    }
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "n%02d ", i);
    len += (size_t)snprintf(text + len, sizeof text - len, "|");
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, " a>n%02d", i);
    EXPECT_OK(t, when_grown(t, &race->flow, text, NULL));
}

static size_t blocked_nodes(struct test *t, const struct flow *flow)
{
    const struct ff_flow_info *const info = look_flow(t, flow);
    size_t count = 0;

    for (size_t i = 0; i < info->node_info_count; i++)
        count += strcmp(info->nodes[i].public_state, "waiting_children") == 0;
    return count;
}

/* A grow and the end of its upstream, perhaps in one batch: the edges a completion has read are
 * those of before the batch. */
FF_CONFORMANCE(flow_change, growing_much_while_the_upstream_ends)
{
    struct race *const race = keep(t, sizeof *race);

    race->flow = given_flow(t, "a z | ");
    race->held = given_node(t, &race->flow, "a");
    in_threads(t, 2, grow_much_or_end, race);
    WAIT_UNTIL(t, look_flow(t, &race->flow)->ended_count == 1);
    WAIT_UNTIL(t, blocked_nodes(t, &race->flow) == 0);
    expect_reconcilers_idle(t);
}

/* --- cancelling --- */

/* F32, F33 */
FF_CONFORMANCE(flow_change, cancel_all_ends_all)
{
    const struct flow flow = given_flow(t, "a b c d | a>b b>c");
    struct ff_flow_cancelled cancelled = {0};
    struct held held;

    when_node_completed(t, &flow, "a");
    held = given_node(t, &flow, "d");
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_all"));
    WAIT_FLOW(t, &flow, "cancelled a:completed b:cancelled c:cancelled d:cancelled");
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_completed(t, &held, "1"));
    EXPECT_TEXT(t, "not needed", look(t, node_id(t, &flow, "c"))->cancel_reason);
    EXPECT_EVENTS(t, node_id(t, &flow, "c"), "completion.cancelled");
    EXPECT_OK(t,
              ff_flow_cancel(t->client, flow.id, "again", "cancel_pending", &cancelled, &t->err));
    keep_answer(t, cancelled.memory);
    EXPECT_TEXT(t, "cancel_all", cancelled.policy);
    EXPECT_TEXT(t, "not needed", cancelled.reason);
    EXPECT_STATUS(t, FF_FLOW_TERMINAL, when_replayed(t, node_id(t, &flow, "a")));
    EXPECT_STATUS(t, FF_FLOW_TERMINAL, when_grown(t, &flow, "e | a>e", NULL));
    WAIT_UNTIL(t, look_flow(t, &flow)->ended_count == 4);
}

FF_CONFORMANCE(flow_change, cancel_pending_lets_the_held_finish)
{
    const struct flow flow = given_flow(t, "a b c | a>b");
    const struct held held = given_node(t, &flow, "a");

    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_pending"));
    WAIT_FLOW(t, &flow, "cancelled a:active b:cancelled c:cancelled");
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    WAIT_FLOW(t, &flow, "cancelled a:cancelled b:cancelled c:cancelled");
    EXPECT_TEXT(t, "flow", look(t, node_id(t, &flow, "a"))->cancelled_by);
    EXPECT_TEXT(t, "flow_cancelled", look(t, node_id(t, &flow, "a"))->cancel_reason);
    EXPECT_TEXT(t, "flow", look(t, node_id(t, &flow, "b"))->cancelled_by);
}

FF_CONFORMANCE(flow_change, cancel_flow_only_leaves_members_alone)
{
    const struct flow flow = given_flow(t, "a b | a>b");

    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_flow_only"));
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "cancelled a:completed b:waiting");
}

/* Whoever comes when all is over changes nothing, however much he wants. */
FF_CONFORMANCE(flow_change, a_cancelled_flow_that_has_ended_stays_as_it_is)
{
    const struct flow flow = given_flow(t, "a | ");
    struct ff_flow_cancelled cancelled = {0};

    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_flow_only"));
    when_node_completed(t, &flow, "a");
    WAIT_UNTIL(t, look_flow(t, &flow)->finished_at_ms != FF_ABSENT_MS);
    EXPECT_OK(t, ff_flow_cancel(t->client, flow.id, "later", "cancel_all", &cancelled, &t->err));
    keep_answer(t, cancelled.memory);
    EXPECT_TEXT(t, "cancel_flow_only", cancelled.policy);
    EXPECT_TEXT(t, "not needed", cancelled.reason);
}

FF_CONFORMANCE(flow_change, a_completed_flow_is_not_cancelled)
{
    const struct flow flow = given_flow(t, "a | ");

    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "completed a:completed");
    EXPECT_STATUS(t, FF_FLOW_TERMINAL, when_flow_cancelled(t, &flow, "cancel_all"));
}

/* --- replaying --- */

/* F34, R3 */
FF_CONFORMANCE(flow_change, replay_reopens_what_was_skipped)
{
    const struct flow flow = given_flow(t, "a b c d:2 | a>b a>c b>d c>d");

    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped d:skipped");
    EXPECT_STATUS(t, FF_DEPENDENCIES_FAILED, when_replayed(t, node_id(t, &flow, "d")));
    EXPECT_TEXT(t, "it depends on 'b' (skipped), 'c' (skipped)", t->err.message);
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    WAIT_FLOW(t, &flow,
              "running a:waiting b:waiting_children c:waiting_children d:waiting_children");
    when_nodes_completed(t, &flow, "a b c d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed d:completed");
    EXPECT_EVENTS(t, node_id(t, &flow, "b"),
                  "completion.skipped execution.reopened execution.unblocked acquired "
                  "completion.success");
    expect_reconcilers_idle(t);
}

FF_CONFORMANCE(flow_change, replay_of_failed_ancestors_repairs_a_join)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");
    struct ff_replay_request r;

    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped");
    ff_replay_init(&r);
    r.execution_id = node_id(t, &flow, "c");
    r.scope = "failed_ancestors";
    EXPECT_OK(t, ff_replay(t->client, &r, NULL, NULL, &t->err));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children c:waiting_children");
}

FF_CONFORMANCE(flow_change, what_has_run_runs_again_only_if_asked)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct ff_replay_request r;

    when_nodes_completed(t, &flow, "a b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
    ff_replay_init(&r);
    r.execution_id = node_id(t, &flow, "a");
    r.reopen_downstream = true;
    EXPECT_OK(t, ff_replay(t->client, &r, NULL, NULL, &t->err));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children");
    when_nodes_completed(t, &flow, "a b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
}
