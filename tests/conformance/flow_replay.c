/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_replay.c -- members of flows that run again, and what that means for those below them. */
#include "support/flows.h"

#include <stdio.h>
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
    when_nodes_completed(t, &flow, "a d");
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
    when_nodes_completed(t, &flow, "a b c");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    EXPECT_INT(t, 0, look(t, node_id(t, &flow, "b"))->generation);
    expect_reconcilers_idle(t);
}

/* What each of them was before stays among their attempts, whoever made them run again. */
FF_CONFORMANCE(flow_replay, reopened_members_keep_their_attempts)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");

    when_nodes_completed(t, &flow, "a b c");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    EXPECT_ATTEMPTS(t, node_id(t, &flow, "c"), "0:initial:completed");
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "a"));
        WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children c:waiting_children");
        when_nodes_completed(t, &flow, "a b c");
        WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    }
    for (const char *node = "abc"; *node; node++) {
        const char name[] = {*node, '\0'};

        EXPECT_ATTEMPTS(t, node_id(t, &flow, name),
                        "0:initial:completed 1:replay:completed 2:replay:completed");
    }
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

/* An input that an edge would replace is refused, not dropped. */
FF_CONFORMANCE(flow_replay, no_input_for_a_node_that_gets_one)
{
    const struct flow flow = given_flow(t, "a b | a>b=");
    struct ff_replay_request r;

    when_nodes_completed(t, &flow, "a b");
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

/* The one that may not run again is not the one that was asked for. */
FF_CONFORMANCE(flow_replay, the_ancestor_at_its_limit_is_named)
{
    struct ff_policy_spec once = retry_policy(0, 0);
    struct ff_submission work = submission();
    struct ff_flow_request *const r = graph(t, "a b c | a>b b>c");
    struct ff_flow_node nodes[3];
    struct ff_flow_made made = {0};
    struct ff_replay_request again;
    struct flow flow;

    once.max_replay_count = 0;
    work.policy = &once;
    memcpy(nodes, r->nodes, sizeof nodes);
    nodes[0].work = &work;
    r->nodes = nodes;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped");
    ff_replay_init(&again);
    again.execution_id = node_id(t, &flow, "c");
    again.scope = "failed_ancestors";
    EXPECT_STATUS(t, FF_REPLAY_LIMIT, ff_replay(t->client, &again, NULL, NULL, &t->err));
    EXPECT_TEXT(t, "its ancestor 'a' was replayed 0 times, the limit is 0", t->err.message);
    EXPECT_STATUS(t, FF_REPLAY_LIMIT, when_replayed(t, node_id(t, &flow, "a")));
    EXPECT_TEXT(t, "replayed 0 times, the limit is 0", t->err.message);
}

/* ---- what a node is told when it runs again ---- */

static void when_completed_with(struct test *t, const struct flow *flow, const char *node,
                                const char *result)
{
    const struct held held = given_node(t, flow, node);

    EXPECT_OK(t, when_completed(t, &held, result));
}

static ff_status when_node_replayed(struct test *t, const struct flow *flow, const char *node)
{
    return when_replayed(t, node_id(t, flow, node));
}

static void expect_input(struct test *t, const char *input)
{
    const struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};

    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, 1, (int64_t)tasks.count);
    EXPECT_BYTES(t, input, strlen(input), tasks.items[0].input);
}

/* The result of the run that counts now, not of the one it has worked with before. */
FF_CONFORMANCE(flow_replay, a_node_that_runs_again_gets_new_results)
{
    const struct flow flow = given_flow(t, "a b | a>b=");

    when_completed_with(t, &flow, "a", "1");
    when_node_failed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "failed a:completed b:failed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    when_completed_with(t, &flow, "a", "2");
    WAIT_FLOW(t, &flow, "failed a:completed b:failed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "b"));
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
    expect_input(t, "2");
    expect_reconcilers_idle(t);
}

/* Also where its upstream runs again only now. */
FF_CONFORMANCE(flow_replay, a_node_that_runs_again_waits_for_those_that_do)
{
    const struct flow flow = given_flow(t, "a b | a>b=");

    when_completed_with(t, &flow, "a", "1");
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    EXPECT_OK(t, when_node_replayed(t, &flow, "b"));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children");
    when_completed_with(t, &flow, "a", "2");
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
    expect_input(t, "2");
}

/* One that has failed since stands against it. */
FF_CONFORMANCE(flow_replay, a_node_does_not_run_again_on_what_has_failed_since)
{
    const struct flow flow = given_flow(t, "a b | a>b");

    when_nodes_completed(t, &flow, "a b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "completed a:failed b:completed");
    EXPECT_STATUS(t, FF_DEPENDENCIES_FAILED, when_node_replayed(t, &flow, "b"));
    EXPECT(t, strstr(t->err.message, "'a' (failed)") != NULL);
    when_ancestors_replayed(t, node_id(t, &flow, "b"));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children");
    when_nodes_completed(t, &flow, "a b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
}

/* A node that is reopened by one upstream waits for another one that runs again, too. */
FF_CONFORMANCE(flow_replay, a_reopened_node_waits_for_all_that_run_again)
{
    const struct flow flow = given_flow(t, "a b d | a>d b>d");

    when_nodes_completed(t, &flow, "a b d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed d:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    WAIT_FLOW(t, &flow, "running a:waiting b:completed d:completed");
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "b"));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting d:waiting_children");
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "running a:waiting b:completed d:waiting_children");
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:completed d:waiting");
    EXPECT_INT(t, 1, look(t, node_id(t, &flow, "d"))->generation);
}

/* What succeeded since counts for a node that another one brings back. */
FF_CONFORMANCE(flow_replay, a_reopened_node_counts_what_has_succeeded_since)
{
    const struct flow flow = given_flow(t, "a b c d:2! | a>d b>d c>d");

    when_node_failed(t, &flow, "a");
    when_nodes_completed(t, &flow, "b c d");
    WAIT_FLOW(t, &flow, "completed a:failed b:completed c:completed d:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed d:completed");
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "b"));
    WAIT_FLOW(t, &flow, "running a:completed b:waiting c:completed d:waiting");
    when_node_failed(t, &flow, "b");
    when_node_completed(t, &flow, "d");
    WAIT_FLOW(t, &flow, "completed a:completed b:failed c:completed d:completed");
}

/* It cannot run while another one has failed, and runs when that has been mended. */
FF_CONFORMANCE(flow_replay, a_reopened_node_follows_its_join)
{
    const struct flow flow = given_flow(t, "a b d | a>d b>d");

    when_nodes_completed(t, &flow, "a b d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed d:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "completed a:failed b:completed d:completed");
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "b"));
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "completed a:failed b:completed d:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    WAIT_FLOW(t, &flow, "running a:waiting b:completed d:waiting_children");
    when_nodes_completed(t, &flow, "a d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed d:completed");
}

/* One wish is not forgotten while its node cannot run: those below it run again, too. */
FF_CONFORMANCE(flow_replay, a_node_that_follows_takes_those_below_along)
{
    const struct flow flow = given_flow(t, "a b d e | a>d b>d d>e");

    when_nodes_completed(t, &flow, "a b d e");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed d:completed e:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "completed a:failed b:completed d:completed e:completed");
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "b"));
    when_node_completed(t, &flow, "b");
    WAIT_FLOW(t, &flow, "completed a:failed b:completed d:completed e:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "a"));
    when_node_completed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:completed b:completed d:waiting e:waiting_children");
}

/* What was said of those below it by its own replay counts, not what is said from above later. */
FF_CONFORMANCE(flow_replay, a_node_replayed_by_itself_keeps_those_below)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");

    when_nodes_completed(t, &flow, "a b c");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "b"));
    EXPECT_OK(t, when_replayed_with_all_below(t, &flow, "a"));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children c:completed");
    when_nodes_completed(t, &flow, "a b");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    EXPECT_INT(t, 0, look(t, node_id(t, &flow, "c"))->generation);
}

/* Nobody could begin: the call says so, and changes nothing. */
FF_CONFORMANCE(flow_replay, ancestors_that_cannot_run_either_are_no_success)
{
    const struct flow flow = given_flow(t, "p a n | p>a a>n");
    struct ff_replay_request r;

    when_node_completed(t, &flow, "p");
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "failed a:failed n:skipped p:completed");
    EXPECT_OK(t, when_node_replayed(t, &flow, "p"));
    when_node_failed(t, &flow, "p");
    WAIT_FLOW(t, &flow, "failed a:failed n:skipped p:failed");
    ff_replay_init(&r);
    r.execution_id = node_id(t, &flow, "n");
    r.scope = "failed_ancestors";
    EXPECT_STATUS(t, FF_DEPENDENCIES_FAILED, ff_replay(t->client, &r, NULL, NULL, &t->err));
    EXPECT_FLOW(t, &flow, "failed a:failed n:skipped p:failed");
    when_ancestors_replayed(t, node_id(t, &flow, "a"));
    WAIT_FLOW(t, &flow, "running a:waiting_children n:waiting_children p:waiting");
}

#define MANY 110 /* more than one round each would allow */

/* "s n0 n1 ... z | s>n0 s>n1 ... n0>z n1>z ..." */
static struct flow given_wide(struct test *t)
{
    const size_t bytes = MANY * 32 + 64;
    char *const text = keep(t, bytes);
    size_t len = 0;

    len += (size_t)snprintf(text + len, bytes - len, "s");
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, bytes - len, " n%d", i);
    len += (size_t)snprintf(text + len, bytes - len, " z |");
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, bytes - len, " s>n%d n%d>z", i, i);
    return given_flow(t, text);
}

static void when_many_ended(struct test *t, bool well)
{
    struct ff_claim_request r = claim_request();
    struct held *const held = keep(t, MANY * sizeof *held);
    size_t count = 0;

    r.max = MANY;
    WAIT_UNTIL(t, (count += when_claimed_many(t, &r, held + count, MANY - count)) == MANY);
    for (size_t i = 0; i < MANY; i++)
        EXPECT_OK(t,
                  well ? when_completed(t, &held[i], "1") : when_failed(t, &held[i], "permanent"));
}

/* However many have run again, and for however many nodes that matters. */
FF_CONFORMANCE_SLOW(flow_replay, many_go_by_the_last_runs_of_many)
{
    const struct flow flow = given_wide(t);

    when_node_completed(t, &flow, "s");
    when_many_ended(t, false);
    WAIT_UNTIL(t, is_in_state(t, node_id(t, &flow, "z"), "skipped"));
    EXPECT_OK(t, when_node_replayed(t, &flow, "s"));
    when_node_completed(t, &flow, "s");
    when_ancestors_replayed(t, node_id(t, &flow, "z"));
    when_many_ended(t, true);
    when_node_completed(t, &flow, "z");
    WAIT_UNTIL(t, is_in_state(t, node_id(t, &flow, "z"), "completed"));
    for (int i = 0; i < MANY - 1; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "n%d", i);
        EXPECT_OK(t, when_node_replayed(t, &flow, name));
        if (i % 50 == 0)
            forget(t);
    }
    EXPECT_OK(t, when_node_replayed(t, &flow, "z"));
    EXPECT_STATE(t, node_id(t, &flow, "z"), "waiting_children");
    EXPECT_INT(t, 1, look_join(t, &flow, "z")->success);
}

/* Mending what a node waits for cancels nobody, although its join cannot be satisfied meanwhile. */
FF_CONFORMANCE(flow_replay, a_repair_cancels_nobody)
{
    const struct flow flow = given_flow(t, "a b c d:3 | a>d b>d c>d");

    when_nodes_completed(t, &flow, "a b c d");
    WAIT_FLOW(t, &flow, "completed a:completed b:completed c:completed d:completed");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "completed a:failed b:completed c:completed d:completed");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "c")));
    WAIT_FLOW(t, &flow, "running a:failed b:completed c:waiting d:completed");
    when_ancestors_replayed(t, node_id(t, &flow, "d"));
    WAIT_FLOW(t, &flow, "running a:waiting b:completed c:waiting d:waiting_children");
    when_nodes_completed(t, &flow, "a c");
    WAIT_FLOW(t, &flow, "running a:completed b:completed c:completed d:waiting");
}
