/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_rules.c -- the finer rules of flows: what a late success, a delay, a deadline, a second
 * cancel or a replay does to a node, and what it leaves alone. */
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* Claims exactly the one task that waits. */
static const struct ff_task *claimed(struct test *t)
{
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};

    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, 1, (int64_t)tasks.count);
    return &tasks.items[0];
}

/* --- what a join does to its node, once --- */

/* F10: later successes of a decided join touch nobody, whatever the node is doing. */
FF_CONFORMANCE(flow_rules, a_join_fires_once)
{
    struct ff_flow_request *const r = graph(t, "a b c d:any! | a>d b>d c>d");
    const struct ff_policy_spec patient = retry_policy(3, 3600000);
    struct ff_flow_node *const nodes = keep(t, r->node_count * sizeof *nodes);
    struct ff_submission work = submission();
    struct ff_flow_made made;
    struct flow flow;
    struct held held;

    memcpy(nodes, r->nodes, r->node_count * sizeof *nodes);
    work.policy = &patient;
    nodes[3].work = &work;
    r->nodes = nodes;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    when_node_completed(t, &flow, "a");
    held = given_node(t, &flow, "d");
    when_node_completed(t, &flow, "b");
    WAIT_UNTIL(t, look_join(t, &flow, "d")->success == 2);
    EXPECT_STATE(t, node_id(t, &flow, "d"), "active");
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    when_node_completed(t, &flow, "c");
    WAIT_UNTIL(t, look_join(t, &flow, "d")->success == 3);
    EXPECT_STATE(t, node_id(t, &flow, "d"), "delayed");
    EXPECT_EVENTS(t, node_id(t, &flow, "d"),
                  "execution.unblocked acquired execution.retry_scheduled");
}

/* a>b, and b is not to begin within the hour. */
static struct flow given_delayed_node(struct test *t)
{
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_flow_node *const nodes = keep(t, 2 * sizeof *nodes);
    struct ff_submission work = submission();
    struct ff_flow_made made;
    struct flow flow;

    memcpy(nodes, r->nodes, 2 * sizeof *nodes);
    work.delay_ms = 3600000;
    nodes[1].work = &work;
    r->nodes = nodes;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    EXPECT_STATE(t, node_id(t, &flow, "b"), "waiting_children");
    return flow;
}

/* R6: a node's own delay outlives its join. */
FF_CONFORMANCE(flow_rules, a_delay_is_kept)
{
    const struct flow flow = given_delayed_node(t);

    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:delayed");
    EXPECT(t, nothing_to_claim(t));
}

/* Also when the node was skipped meanwhile, and comes back. */
FF_CONFORMANCE(flow_rules, a_delay_outlives_a_skip)
{
    const struct flow flow = given_delayed_node(t);

    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:delayed");
    EXPECT(t, nothing_to_claim(t));
    EXPECT_OK(t, when_cancelled(t, node_id(t, &flow, "b")));
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "b")));
    EXPECT_STATE(t, node_id(t, &flow, "b"), "waiting"); /* somebody wants it now */
}

/* F9: many upstreams of one node end at once; each is counted, each once. */
static void complete_some(struct test *t, size_t index, void *ctx)
{
    const struct flow *const flow = ctx;
    struct ff_claim_request r = claim_request();
    struct held held[8];

    (void)index;
    (void)flow;
    r.max = 8;
    for (size_t left = 8; left > 0;) {
        const size_t count = when_claimed_many(t, &r, held, left < 8 ? left : 8);

        for (size_t i = 0; i < count; i++)
            EXPECT_OK(t, when_completed(t, &held[i], "1"));
        left -= count < left ? count : left;
    }
}

FF_CONFORMANCE(flow_rules, a_crowd_of_upstreams_is_counted_once_each)
{
    enum { WIDTH = 48, THREADS = 6 };
    struct flow *const flow = keep(t, sizeof *flow);
    char *const text = keep(t, WIDTH * 16 + 16);
    size_t at = (size_t)snprintf(text, 8, "z");

    for (int i = 0; i < WIDTH; i++)
        at += (size_t)snprintf(text + at, 8, " n%d", i);
    at += (size_t)snprintf(text + at, 8, " |");
    for (int i = 0; i < WIDTH; i++)
        at += (size_t)snprintf(text + at, 8, " n%d>z", i);
    *flow = given_flow(t, text);
    in_threads(t, THREADS, complete_some, flow);
    WAIT_UNTIL(t, look_join(t, flow, "z")->success == WIDTH);
    WAIT_UNTIL(t, is_in_state(t, node_id(t, flow, "z"), "waiting"));
    EXPECT_EVENTS(t, node_id(t, flow, "z"), "execution.unblocked");
    expect_reconcilers_idle(t);
}

/* --- siblings --- */

/* Every decided join cancels its own rest, once, with two processes at it. */
FF_CONFORMANCE(flow_rules, many_joins_cancel_their_rest)
{
    enum { GROUPS = 6 };
    struct flow flows[GROUPS];

    (void)another_client(t, NULL);
    for (size_t i = 0; i < GROUPS; i++)
        flows[i] = given_flow(t, "a b c d e:any f:any x | x>b x>d a>e b>e c>f d>f");
    for (size_t i = 0; i < GROUPS; i++) {
        when_node_completed(t, &flows[i], "a");
        when_node_completed(t, &flows[i], "c");
    }
    for (size_t i = 0; i < GROUPS; i++) {
        WAIT_FLOW(t, &flows[i],
                  "running a:completed b:cancelled c:completed d:cancelled e:waiting f:waiting "
                  "x:waiting");
        EXPECT_EVENTS(t, node_id(t, &flows[i], "b"), "completion.cancelled");
        EXPECT_EVENTS(t, node_id(t, &flows[i], "d"), "completion.cancelled");
    }
}

/* A sibling that another undecided join needs runs on. */
FF_CONFORMANCE(flow_rules, what_others_need_is_spared)
{
    const struct flow flow = given_flow(t, "a b c:any d | a>c b>c b>d");

    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:waiting c:waiting d:waiting_children");
    when_node_completed(t, &flow, "c");
    WAIT_UNTIL(t, look_flow(t, &flow)->ended_count == 2);
    EXPECT_STATE(t, node_id(t, &flow, "b"), "waiting");
    when_nodes_completed(t, &flow, "b d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed d:completed");
}

/* It runs on until the last of them lets go of it: decided, although it cancels nobody itself, or
 * ended before that. */
FF_CONFORMANCE(flow_rules, what_nobody_needs_any_more_is_cancelled)
{
    const struct flow impossible = given_flow(t, "a b c:any d e | a>c b>c b>d e>d");
    const struct flow let_run = given_flow(t, "a b c:any d:any! e | a>c b>c b>d e>d");
    const struct flow ended = given_flow(t, "a b c:any d e | a>c b>c b>d e>d");
    const struct flow *const flows[] = {&impossible, &let_run, &ended};

    for (size_t i = 0; i < 3; i++) {
        when_node_completed(t, flows[i], "a");
        WAIT_FLOW(t, flows[i],
                  "running a:completed b:waiting c:waiting d:waiting_children e:waiting");
    }
    when_node_failed(t, &impossible, "e");
    WAIT_FLOW(t, &impossible, "running a:completed b:cancelled c:waiting d:skipped e:failed");
    when_node_completed(t, &let_run, "e");
    WAIT_FLOW(t, &let_run, "running a:completed b:cancelled c:waiting d:waiting e:completed");
    EXPECT_OK(t, when_cancelled(t, node_id(t, &ended, "d")));
    WAIT_FLOW(t, &ended, "running a:completed b:cancelled c:waiting d:cancelled e:waiting");
    for (size_t i = 0; i < 3; i++)
        EXPECT_TEXT(t, "sibling_quorum_satisfied",
                    look(t, node_id(t, flows[i], "b"))->cancel_reason);
    expect_reconcilers_idle(t);
}

/* --- data --- */

/* An upstream that did not succeed brings nothing; its node keeps its own input. */
FF_CONFORMANCE(flow_rules, a_failed_upstream_brings_no_input)
{
    struct ff_flow_request *const r = graph(t, "a b c:any! | a>c= b>c");
    struct ff_flow_node *const nodes = keep(t, 3 * sizeof *nodes);
    struct ff_submission work = submission();
    const struct ff_task *task;
    struct ff_flow_made made;
    struct flow flow;

    memcpy(nodes, r->nodes, 3 * sizeof *nodes);
    work.input = (struct ff_str){"\"own\"", 5};
    nodes[2].work = &work;
    r->nodes = nodes;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    when_node_failed(t, &flow, "a");
    when_node_completed(t, &flow, "b");
    WAIT_UNTIL(t, is_in_state(t, node_id(t, &flow, "c"), "waiting"));
    task = claimed(t);
    EXPECT_BYTES(t, "\"own\"", 5, task->input);
    EXPECT_TEXT(t, "fail", task->upstream[0].outcome);
    EXPECT(t, !task->upstream[0].result.ptr);
}

/* One that succeeded without a result brings that: no input. */
FF_CONFORMANCE(flow_rules, a_success_without_result_is_no_input)
{
    struct ff_flow_request *const r = graph(t, "a b | a>b=");
    struct ff_flow_node *const nodes = keep(t, 2 * sizeof *nodes);
    struct ff_submission work = submission();
    struct ff_flow_made made;
    struct flow flow;
    struct held held;

    memcpy(nodes, r->nodes, 2 * sizeof *nodes);
    work.input = (struct ff_str){"\"own\"", 5};
    nodes[1].work = &work;
    r->nodes = nodes;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    held = given_node(t, &flow, "a");
    EXPECT_OK(t, when_completed(t, &held, NULL));
    WAIT_UNTIL(t, is_in_state(t, node_id(t, &flow, "b"), "waiting"));
    EXPECT(t, !claimed(t)->input.ptr);
}

/* --- ends that are not a worker's --- */

/* R8: an upstream that expires is heard of like any other. */
FF_CONFORMANCE_SLOW(flow_rules, an_expired_node_skips_what_waits_for_it)
{
    struct ff_flow_request *const r = graph(t, "a b c | a>b b>c");
    struct ff_flow_node *const nodes = keep(t, 3 * sizeof *nodes);
    struct ff_submission work = submission();
    struct ff_flow_made made;
    struct flow flow;

    memcpy(nodes, r->nodes, 3 * sizeof *nodes);
    work.deadline_ms = 50;
    nodes[0].work = &work;
    r->nodes = nodes;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    WAIT_FLOW(t, &flow, "failed a:expired b:skipped c:skipped");
    EXPECT_EVENTS(t, node_id(t, &flow, "c"), "completion.skipped");
}

/* --- cancelling --- */

/* A stronger policy may follow, a weaker one changes nothing; what has ended is not touched. F32 */
FF_CONFORMANCE(flow_rules, a_stronger_cancel_replaces_a_weaker)
{
    const struct flow flow = given_flow(t, "a b c | a>b");
    struct held held;

    when_node_completed(t, &flow, "a");
    held = given_node(t, &flow, "c");
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_flow_only"));
    EXPECT_TEXT(t, "cancel_flow_only", look_flow(t, &flow)->cancel_policy);
    EXPECT_FLOW(t, &flow, "cancelled a:completed b:waiting c:active");
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_pending"));
    WAIT_FLOW(t, &flow, "cancelled a:completed b:cancelled c:active");
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_flow_only"));
    EXPECT_TEXT(t, "cancel_pending", look_flow(t, &flow)->cancel_policy);
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_all"));
    WAIT_FLOW(t, &flow, "cancelled a:completed b:cancelled c:cancelled");
    EXPECT_TEXT(t, "cancel_all", look_flow(t, &flow)->cancel_policy);
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_completed(t, &held, "1")); /* F33, R5 */
    EXPECT_EVENTS(t, node_id(t, &flow, "a"), "acquired completion.success");
}

FF_CONFORMANCE(flow_rules, an_ended_flow_is_not_cancelled)
{
    const struct flow failed = given_flow(t, "a | ");
    const struct flow unknown = {"01890000-0000-7000-8000-000000000000"};

    when_node_failed(t, &failed, "a");
    WAIT_FLOW(t, &failed, "failed a:failed");
    EXPECT_STATUS(t, FF_FLOW_TERMINAL, when_flow_cancelled(t, &failed, "cancel_all"));
    EXPECT_STATUS(t, FF_FLOW_TERMINAL, when_flow_cancelled(t, &failed, "cancel_flow_only"));
    EXPECT_STATUS(t, FF_NOT_FOUND, when_flow_cancelled(t, &unknown, "cancel_all")); /* F32 */
}

/* --- growing --- */

/* R4: a repeat is equal in its join as well, or it is another node. */
FF_CONFORMANCE(flow_rules, another_join_is_another_node)
{
    const struct flow flow = given_flow(t, "a b | ");

    EXPECT_OK(t, when_grown(t, &flow, "c:1 | a>c b>c", NULL));
    EXPECT_OK(t, when_grown(t, &flow, "c:1 | a>c b>c", NULL));
    EXPECT_STATUS(t, FF_NODE_DIFFERS, when_grown(t, &flow, "c:2 | a>c b>c", NULL));
    EXPECT_STATUS(t, FF_NODE_DIFFERS, when_grown(t, &flow, "c:1! | a>c b>c", NULL));
    EXPECT_STATUS(t, FF_NODE_DIFFERS, when_grown(t, &flow, "c:any | a>c b>c", NULL));
    EXPECT_STATUS(t, FF_NODE_DIFFERS, when_grown(t, &flow, "c:1 | a>c", NULL));
}

/* --- replaying --- */

/* R3: what had been satisfied stays so; only the edge of the replayed one is open again. */
FF_CONFORMANCE(flow_rules, a_replay_takes_back_its_own_edges_only)
{
    const struct flow flow = given_flow(t, "a b c | a>c b>c");

    when_node_completed(t, &flow, "a");
    when_node_failed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "failed a:completed b:failed c:skipped");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "b")));
    WAIT_FLOW(t, &flow, "running a:completed b:waiting c:waiting_children");
    EXPECT_INT(t, 1, look_join(t, &flow, "c")->success);
    EXPECT_INT(t, 0, look_join(t, &flow, "c")->fail);
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "running a:completed b:completed c:waiting");
}

/* A node that was cancelled while it waited hears of the replay of its upstream, too: it does not
 * come back by itself, but its join tells what is true now, so that it can be replayed. */
FF_CONFORMANCE(flow_rules, a_cancelled_node_can_follow_a_replayed_upstream)
{
    const struct flow flow = given_flow(t, "a b | a>b");

    EXPECT_OK(t, when_cancelled(t, node_id(t, &flow, "b")));
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:cancelled");
    EXPECT_STATUS(t, FF_DEPENDENCIES_FAILED, when_replayed(t, node_id(t, &flow, "b")));
    EXPECT_TEXT(t, "it depends on 'a' (failed)", t->err.message);
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    when_node_completed(t, &flow, "a");
    WAIT_UNTIL(t, look_join(t, &flow, "b")->success == 1);
    EXPECT_STATE(t, node_id(t, &flow, "b"), "cancelled");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "b")));
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
}

/* With failed_ancestors a node that failed by itself runs again alone: nothing above it failed it.
 */
FF_CONFORMANCE(flow_rules, failed_ancestors_of_a_failed_node_are_itself)
{
    const struct flow flow = given_flow(t, "a b c:any! d | a>c b>c c>d");
    struct ff_replay_request r;

    when_node_failed(t, &flow, "a");
    when_node_completed(t, &flow, "b");
    when_node_failed(t, &flow, "c");
    WAIT_FLOW(t, &flow, "failed a:failed b:completed c:failed d:skipped");
    ff_replay_init(&r);
    r.execution_id = node_id(t, &flow, "c");
    r.scope = "failed_ancestors";
    EXPECT_OK(t, ff_replay(t->client, &r, NULL, NULL, &t->err));
    WAIT_FLOW(t, &flow, "running a:failed b:completed c:waiting d:waiting_children");
}

/* What a node would get when it runs cannot be kept until its ancestors have run: refused. */
FF_CONFORMANCE(flow_rules, failed_ancestors_take_no_input_for_the_child)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct ff_replay_request r;

    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped");
    ff_replay_init(&r);
    r.execution_id = node_id(t, &flow, "b");
    r.scope = "failed_ancestors";
    r.has_input = true;
    r.input = (struct ff_str){"1", 1};
    EXPECT_REFUSED(t, FF_INVALID, "input", ff_replay(t->client, &r, NULL, NULL, &t->err));
    r.has_input = false;
    r.deadline_ms = 60000;
    EXPECT_REFUSED(t, FF_INVALID, "deadline_ms", ff_replay(t->client, &r, NULL, NULL, &t->err));
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped");
}

/* --- events --- */

/* The events of a flow itself, in order, that are in the log. */
static const char *flow_events(struct test *t, const struct flow *flow)
{
    static const char *const kinds[] = {"flow"};
    struct ff_event_list page = {0};
    struct ff_event_filter filter;
    char *const text = keep(t, 512);
    size_t at = 0;

    ff_event_filter_init(&filter);
    filter.kinds = kinds;
    filter.kind_count = 1;
    filter.flow_id = flow->id;
    EXPECT_OK(t, ff_events(t->client, &filter, "start", 100, 0, &page, &t->err));
    keep_answer(t, page.memory);
    for (size_t i = 0; i < page.count; i++) {
        EXPECT_TEXT(t, flow->id, page.items[i].flow_id);
        EXPECT_TEXT(t, "shop", page.items[i].ns);
        EXPECT_TEXT(t, "blue", page.items[i].instance_tag);
        at += (size_t)snprintf(text + at, 512 - at, "%s%s", i ? " " : "", page.items[i].type);
    }
    return text;
}

/* One event per change of the flow, with the flow's namespace and instance tag. */
FF_CONFORMANCE(flow_rules, every_change_is_one_event)
{
    const struct ff_tag_pair tag = {"instance", "blue"};
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_flow_made made;
    struct flow flow;

    r->ns = "shop";
    r->tags = &tag;
    r->tag_count = 1;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    EXPECT_OK(t, when_grown(t, &flow, "c | b>c", NULL));
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped");
    EXPECT_TEXT(t, "blue",
                last_event(t, node_id(t, &flow, "c"), "completion", "skipped")->instance_tag);
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    when_nodes_completed(t, &flow, "a b c");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    EXPECT_TEXT(t, "created grown failed running completed", flow_events(t, &flow));
}

/* F14: a node may run when its edges say so, whatever kind of edges and joins they are. */
FF_CONFORMANCE(flow_rules, no_edge_of_any_kind_is_overlooked)
{
    const struct flow flow =
        given_flow(t, "a b c d:any e:2 f:any! | a>b a>c= a>d a>e b>e a>f= b>f");
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};

    r.max = 16;
    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, 1, (int64_t)tasks.count);
    EXPECT_TEXT(t, "a", tasks.items[0].node);
    EXPECT_FLOW(t, &flow,
                "running a:active b:waiting_children c:waiting_children d:waiting_children "
                "e:waiting_children f:waiting_children");
}
