/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_run.c -- nodes run when their joins say so, and a flow ends when all of them have. */
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"

/* F3, F4 */
FF_CONFORMANCE(flow_run, a_chain_runs_in_order)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");

    EXPECT_FLOW(t, &flow, "open a:waiting b:waiting_children c:waiting_children");
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:waiting c:waiting_children");
    EXPECT_VECTOR(t, node_id(t, &flow, "c"),
                  "runnable unowned blocked_by_dependencies pending_first_attempt none "
                  "waiting_for_children");
    when_nodes_completed(t, &flow, "b c");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    EXPECT(t, look_flow(t, &flow)->finished_at_ms != FF_ABSENT_MS);
    EXPECT_INT(t, 3, look_flow(t, &flow)->ended_count);
    expect_reconcilers_idle(t);
}

/* F5: a member tells its flow by its bare id, its node, and can be read in every state. */
FF_CONFORMANCE(flow_run, a_member_tells_its_flow_in_every_state)
{
    static const char *const states[] = {"waiting_children", "waiting", "active", "completed"};
    const struct flow flow = given_flow(t, "a b | a>b");
    const char *const id = node_id(t, &flow, "b");
    struct held held;

    for (size_t i = 0; i < FF_ARRAY_LEN(states); i++) {
        if (i == 1)
            when_node_completed(t, &flow, "a");
        else if (i == 2)
            held = given_node(t, &flow, "b");
        else if (i == 3)
            EXPECT_OK(t, when_completed(t, &held, "1"));
        WAIT_UNTIL(t, is_in_state(t, id, states[i]));
        EXPECT_TEXT(t, flow.id, look(t, id)->flow_id);
        EXPECT_TEXT(t, "b", look(t, id)->node);
    }
}

/* F14: as long as an edge into it is open a node is not eligible, and no claim gets it. */
FF_CONFORMANCE(flow_run, a_node_with_an_open_edge_is_nobodys)
{
    const struct flow flow = given_flow(t, "a b c | a>c b>c");
    struct ff_claim_request r = claim_request();
    struct held held[3];

    r.max = 3;
    EXPECT_INT(t, 2, (int64_t)when_claimed_many(t, &r, held, 3));
    EXPECT_OK(t, when_completed(t, &held[0], "1"));
    WAIT_UNTIL(t, look_join(t, &flow, "c")->success == 1);
    EXPECT_TEXT(t, "blocked_by_dependencies", look(t, node_id(t, &flow, "c"))->eligibility_state);
    EXPECT_INT(t, 0, (int64_t)when_claimed_many(t, &r, held + 2, 1));
    EXPECT_OK(t, when_completed(t, &held[1], "1"));
    WAIT_UNTIL(t, is_in_state(t, node_id(t, &flow, "c"), "waiting"));
    EXPECT_TEXT(t, "eligible_now", look(t, node_id(t, &flow, "c"))->eligibility_state);
    EXPECT_INT(t, 1, (int64_t)when_claimed_many(t, &r, held + 2, 1));
}

FF_CONFORMANCE(flow_run, a_diamond_forks_and_joins)
{
    const struct flow flow = given_flow(t, "a b c d | a>b a>c b>d c>d");

    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:waiting c:waiting d:waiting_children");
    when_node_completed(t, &flow, "c");
    WAIT_UNTIL(t, look_join(t, &flow, "d")->success == 1);
    EXPECT_STATE(t, node_id(t, &flow, "d"), "waiting_children");
    when_nodes_completed(t, &flow, "b d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed d:completed");
    EXPECT_TEXT(t, "satisfied", look_join(t, &flow, "d")->group_state);
    EXPECT_EVENTS(t, node_id(t, &flow, "d"), "execution.unblocked acquired completion.success");
    expect_reconcilers_idle(t);
}

/* F12 */
FF_CONFORMANCE(flow_run, a_failure_skips_everything_below)
{
    const struct flow flow = given_flow(t, "a b c d | a>b b>c c>d");

    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped d:skipped");
    EXPECT_EVENTS(t, node_id(t, &flow, "d"), "completion.skipped");
    EXPECT_TEXT(t, "impossible", look_join(t, &flow, "b")->group_state);
    EXPECT_INT(t, 1, look_join(t, &flow, "d")->skip);
    expect_reconcilers_idle(t);
}

/* F12 */
FF_CONFORMANCE(flow_run, a_cancelled_node_skips_what_waits_for_it)
{
    const struct flow flow = given_flow(t, "a b | a>b");

    EXPECT_OK(t, when_cancelled(t, node_id(t, &flow, "a")));
    WAIT_FLOW(t, &flow, "failed a:cancelled b:skipped");
}

/* F11 */
FF_CONFORMANCE(flow_run, any_of_takes_the_first_and_cancels_the_rest)
{
    const struct flow flow = given_flow(t, "a b c d:any | a>d b>d c>d");
    const struct held held = given_node(t, &flow, "b");

    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:cancelled c:cancelled d:waiting");
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_completed(t, &held, "1"));
    EXPECT_TEXT(t, "sibling_quorum_satisfied", look(t, node_id(t, &flow, "c"))->cancel_reason);
    EXPECT_TEXT(t, "sibling", look(t, node_id(t, &flow, "c"))->cancelled_by);
    when_node_completed(t, &flow, "d");
    WAIT_FLOW(t, &flow, "completed a:completed b:cancelled c:cancelled d:completed");
    expect_reconcilers_idle(t);
}

FF_CONFORMANCE(flow_run, let_run_lets_the_rest_run)
{
    const struct flow flow = given_flow(t, "a b c:any! | a>c b>c");

    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:waiting c:waiting");
    when_node_failed(t, &flow, "b");
    when_node_completed(t, &flow, "c");
    WAIT_FLOW(t, &flow, "completed a:completed b:failed c:completed");
}

/* F11 */
FF_CONFORMANCE(flow_run, an_impossible_quorum_skips_and_cancels)
{
    const struct flow flow = given_flow(t, "a b c d:2 | a>d b>d c>d");

    when_node_failed(t, &flow, "a");
    when_node_failed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "failed a:failed b:failed c:cancelled d:skipped");
    EXPECT_TEXT(t, "sibling_quorum_impossible", look(t, node_id(t, &flow, "c"))->cancel_reason);
}

FF_CONFORMANCE(flow_run, results_reach_the_nodes_below)
{
    const struct flow flow = given_flow(t, "a b c | a>c= b>c");
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};

    when_nodes_completed(t, &flow, "a b");
    WAIT_UNTIL(t, is_in_state(t, node_id(t, &flow, "c"), "waiting"));
    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, 1, (int64_t)tasks.count);
    EXPECT_TEXT(t, "c", tasks.items[0].node);
    EXPECT_TEXT(t, flow.id, tasks.items[0].flow_id);
    EXPECT_BYTES(t, "\"a\"", 3, tasks.items[0].input);
    EXPECT_INT(t, 2, (int64_t)tasks.items[0].upstream_count);
    EXPECT_TEXT(t, "b", tasks.items[0].upstream[1].node);
    EXPECT_TEXT(t, "success", tasks.items[0].upstream[1].outcome);
    EXPECT_BYTES(t, "\"b\"", 3, tasks.items[0].upstream[1].result);
}

/* Fan-out and fan-in that take more than one page would be too slow for every store here; this is
 * wide enough to fill several batches. */
/* More edges than one transaction of the cascade takes: all of them are reached all the same. */
FF_CONFORMANCE_SLOW(flow_run, a_fan_out_of_several_pages_reaches_all)
{
    enum { WIDTH = FF_HOP_EDGES_MAX + 50 };
    struct ff_flow_request *const r = graph(t, "first | ");
    struct ff_flow_node *const nodes = keep(t, (WIDTH + 1) * sizeof *nodes);
    struct ff_flow_edge *const edges = keep(t, WIDTH * sizeof *edges);
    struct ff_flow_made made;
    struct flow flow;

    nodes[0] = r->nodes[0];
    for (size_t i = 0; i < WIDTH; i++) {
        char *const name = keep(t, 16);

        (void)snprintf(name, 16, "m%zu", i);
        nodes[1 + i] = nodes[0];
        nodes[1 + i].name = name;
        edges[i] = (struct ff_flow_edge){.from = "first", .to = name};
    }
    r->nodes = nodes;
    r->node_count = WIDTH + 1;
    r->edges = edges;
    r->edge_count = WIDTH;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    when_node_failed(t, &flow, "first");
    WAIT_UNTIL(t, look_flow(t, &flow)->ended_count == WIDTH + 1);
    EXPECT_TEXT(t, "failed", look_flow(t, &flow)->state);
    expect_reconcilers_idle(t);
}

FF_CONFORMANCE_SLOW(flow_run, a_wide_flow_ends_right)
{
    enum { WIDTH = 300 };
    struct ff_flow_request *const r = graph(t, "first last | ");
    struct ff_flow_node *const nodes = keep(t, (WIDTH + 2) * sizeof *nodes);
    struct ff_flow_edge *const edges = keep(t, 2 * WIDTH * sizeof *edges);
    struct ff_claim_request claim = claim_request();
    struct ff_flow_made made;
    struct flow flow;
    struct held *const held = keep(t, 256 * sizeof *held);
    size_t done = 0;

    memcpy(nodes, r->nodes, 2 * sizeof *nodes);
    for (size_t i = 0; i < WIDTH; i++) {
        char *const name = keep(t, 16);

        (void)snprintf(name, 16, "m%zu", i);
        nodes[2 + i] = nodes[0];
        nodes[2 + i].name = name;
        edges[2 * i] = (struct ff_flow_edge){.from = "first", .to = name};
        edges[2 * i + 1] = (struct ff_flow_edge){.from = name, .to = "last"};
    }
    r->nodes = nodes;
    r->node_count = WIDTH + 2;
    r->edges = edges;
    r->edge_count = 2 * WIDTH;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    claim.max = 64;
    claim.wait_ms = TEST_WAIT_MS;
    while (done < WIDTH + 2) {
        const size_t count = when_claimed_many(t, &claim, held, 256);

        EXPECT(t, count > 0);
        for (size_t i = 0; i < count; i++)
            EXPECT_OK(t, when_completed(t, &held[i], "1"));
        done += count;
    }
    WAIT_UNTIL(t, strcmp(look_flow(t, &flow)->state, "completed") == 0);
    EXPECT_INT(t, WIDTH, look_join(t, &flow, "last")->success);
    expect_reconcilers_idle(t);
}
