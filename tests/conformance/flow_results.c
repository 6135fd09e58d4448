/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_results.c -- what a node gets from those it waited for, however many and large they are. */
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"

#include "base/banned.h"

enum { INLINE_BYTES = 64 << 10, LARGE_BYTES = 1 << 20 };

static const char *numbered(struct test *t, const char *letter, size_t number)
{
    char *const name = keep(t, 24);

    (void)snprintf(name, 24, "%s%05zu", letter, number);
    return name;
}

/* A graph of `one` and of `width` others; `fan_out` says which way the edges lead, those from
 * `inputs_from` on bring the input. */
static struct ff_flow_request *fan(struct test *t, const char *one, size_t width, bool fan_out,
                                   size_t inputs_from)
{
    struct ff_flow_request *const r = graph(t, one);
    struct ff_flow_node *const nodes = keep(t, (width + 1) * sizeof *nodes);
    struct ff_flow_edge *const edges = keep(t, width * sizeof *edges);

    nodes[0] = r->nodes[0];
    for (size_t i = 0; i < width; i++) {
        nodes[1 + i] = nodes[0];
        nodes[1 + i].name = numbered(t, "m", i);
        edges[i] = (struct ff_flow_edge){.from = fan_out ? nodes[0].name : nodes[1 + i].name,
                                         .to = fan_out ? nodes[1 + i].name : nodes[0].name,
                                         .pass = i >= inputs_from ? "input" : NULL};
    }
    r->nodes = nodes;
    r->node_count = width + 1;
    r->edges = edges;
    r->edge_count = width;
    return r;
}

static struct flow given_fan(struct test *t, const struct ff_flow_request *r)
{
    struct ff_flow_made made;
    struct flow flow;

    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    return flow;
}

static struct ff_tasks when_claimed_up_to(struct test *t, int32_t max)
{
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};

    r.max = max;
    r.wait_ms = TEST_WAIT_MS;
    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT(t, tasks.count > 0);
    return tasks;
}

static void when_all_completed(struct test *t, const struct ff_tasks *tasks, struct ff_str result)
{
    struct ff_completion *const items = keep(t, tasks->count * sizeof *items);
    struct ff_task_result *const results = keep(t, tasks->count * sizeof *results);

    for (size_t i = 0; i < tasks->count; i++)
        items[i] =
            (struct ff_completion){.lease = ff_task_lease(&tasks->items[i]), .result = result};
    EXPECT_OK(t, ff_complete(t->client, items, tasks->count, results, &t->err));
    for (size_t i = 0; i < tasks->count; i++)
        EXPECT_OK(t, results[i].status);
}

/* How many members are in a state. */
static int64_t members(struct test *t, const struct flow *flow, const char *state)
{
    const struct ff_flow_info *const info = look_flow(t, flow);

    for (size_t i = 0; i < info->count_count; i++)
        if (strcmp(info->counts[i].public_state, state) == 0)
            return info->counts[i].count;
    return 0;
}

/* Completes whatever can be claimed, `count` tasks in all. */
static void when_completed_all(struct test *t, size_t count, struct ff_str result)
{
    while (count > 0) {
        const struct ff_tasks tasks = when_claimed_up_to(t, 64);

        when_all_completed(t, &tasks, result);
        count -= tasks.count;
    }
}

/* Inputs that only the graph knows count too: a claim hands out what fits one answer and gives the
 * others back. Without that bound, twelve times as many of them were all given back, for ever. */
FF_CONFORMANCE_SLOW(flow_results, large_inputs_of_many_nodes_come_in_several_answers)
{
    enum { WIDTH = 20 };
    const struct flow flow = given_fan(t, fan(t, "first | ", WIDTH, true, 0));
    const struct ff_str large = json_of(t, LARGE_BYTES, 'x');
    struct ff_tasks tasks;
    size_t answers = 0;

    tasks = when_claimed_up_to(t, 1);
    when_all_completed(t, &tasks, large);
    WAIT_UNTIL(t, members(t, &flow, "waiting") == WIDTH);
    for (size_t done = 0; done < WIDTH; done += tasks.count, answers++) {
        size_t bytes = 0;

        tasks = when_claimed_up_to(t, 256);
        for (size_t i = 0; i < tasks.count; i++) {
            EXPECT_INT(t, LARGE_BYTES, (int64_t)tasks.items[i].input.len);
            EXPECT_INT(t, 'x', tasks.items[i].input.ptr[LARGE_BYTES - 2]);
            bytes += tasks.items[i].input.len;
        }
        EXPECT(t, bytes <= FF_CLAIM_BYTES_MAX);
        when_all_completed(t, &tasks, (struct ff_str){"1", 1});
    }
    EXPECT(t, answers >= WIDTH / 8);
    WAIT_UNTIL(t, strcmp(look_flow(t, &flow)->state, "completed") == 0);
}

/* The map of upstreams is whole, and the one that brings the input may be the last of them. */
FF_CONFORMANCE_SLOW(flow_results, more_than_a_thousand_upstreams_are_all_told)
{
    enum { WIDTH = 1050 };
    const struct flow flow = given_fan(t, fan(t, "zlast | ", WIDTH, false, WIDTH - 1));
    struct ff_explanation why;
    struct ff_tasks tasks;

    EXPECT_OK(t, ff_explain(t->client, node_id(t, &flow, "zlast"), &why, &t->err));
    keep_answer(t, why.memory);
    EXPECT_TEXT(t, "dependencies", why.items[0].code);
    EXPECT(t, strstr(why.items[0].detail, "1050 of 1050") != NULL);
    when_completed_all(t, WIDTH, (struct ff_str){"\"r\"", 3});
    tasks = when_claimed_up_to(t, 1);
    EXPECT_TEXT(t, "zlast", tasks.items[0].node);
    EXPECT_INT(t, WIDTH, (int64_t)tasks.items[0].upstream_count);
    EXPECT_TEXT(t, "m01049", tasks.items[0].upstream[WIDTH - 1].node);
    EXPECT_BYTES(t, "\"r\"", 3, tasks.items[0].upstream[WIDTH - 1].result);
    EXPECT_BYTES(t, "\"r\"", 3, tasks.items[0].input);
}

/* Each is small enough to come along, all of them are not: the rest is told to be elsewhere. */
FF_CONFORMANCE_SLOW(flow_results, results_come_along_as_far_as_they_fit)
{
    enum { WIDTH = 160, FIT = FF_CLAIM_BYTES_MAX / INLINE_BYTES };
    const struct flow flow = given_fan(t, fan(t, "zlast | ", WIDTH, false, WIDTH));
    const struct ff_task *task;

    when_completed_all(t, WIDTH, json_of(t, INLINE_BYTES, 'y'));
    task = when_claimed_up_to(t, 1).items;
    EXPECT_TEXT(t, node_id(t, &flow, "zlast"), task->execution_id);
    EXPECT_INT(t, WIDTH, (int64_t)task->upstream_count);
    for (size_t i = 0; i < WIDTH; i++) {
        EXPECT_INT(t, i < FIT ? INLINE_BYTES : 0, (int64_t)task->upstream[i].result.len);
        EXPECT(t, task->upstream[i].result_elsewhere == (i >= FIT));
        EXPECT_TEXT(t, "success", task->upstream[i].outcome);
    }
}

/* A large result is asked for later: it is that of the run that counted, whatever ran since. */
FF_CONFORMANCE(flow_results, a_result_elsewhere_is_that_of_the_run_that_counted)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    const struct ff_upstream *upstream = NULL;
    struct ff_bytes result = {0};
    struct ff_tasks tasks;

    tasks = when_claimed_up_to(t, 1);
    when_all_completed(t, &tasks, json_of(t, INLINE_BYTES + 1, 'x'));
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    tasks = when_claimed_up_to(t, 1);
    if (strcmp(tasks.items[0].node, "a") == 0) {
        when_all_completed(t, &tasks, json_of(t, INLINE_BYTES + 1, 'y'));
        tasks = when_claimed_up_to(t, 1);
    }
    upstream = tasks.items[0].upstream;
    EXPECT_TEXT(t, "a", upstream->node);
    EXPECT(t, upstream->result_elsewhere);
    EXPECT_INT(t, 0, upstream->generation);
    EXPECT_OK(
        t, ff_result_of(t->client, upstream->execution_id, upstream->generation, &result, &t->err));
    keep_answer(t, result.memory);
    EXPECT_INT(t, INLINE_BYTES + 1, (int64_t)result.data.len);
    EXPECT_INT(t, 'x', result.data.ptr[1]);
    EXPECT_STATUS(t, FF_NO_RESULT,
                  ff_result_of(t->client, upstream->execution_id, 7, &result, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "generation",
                   ff_result_of(t->client, upstream->execution_id, -2, &result, &t->err));
}

static size_t index_of(const struct flow *flows, const struct ff_task *task)
{
    size_t at = 0;

    while (strcmp(flows[at].id, task->flow_id) != 0)
        at++;
    return at;
}

/* It was set free by the first run, and is told of that one, however much later it is claimed. */
FF_CONFORMANCE(flow_results, a_node_is_told_of_the_run_that_has_set_it_free)
{
    const struct flow flow = given_flow(t, "a b | a>b=");
    struct ff_tasks tasks = when_claimed_up_to(t, 1);

    when_all_completed(t, &tasks, (struct ff_str){"1", 1});
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    tasks = when_claimed_up_to(t, 2);
    EXPECT_INT(t, 2, (int64_t)tasks.count);
    for (size_t i = 0; i < tasks.count; i++) {
        const struct ff_task *const task = &tasks.items[i];
        const bool is_b = strcmp(task->node, "b") == 0;

        EXPECT_INT(t, is_b ? 1 : 0, (int64_t)task->upstream_count);
        if (!is_b)
            continue;
        EXPECT_BYTES(t, "1", 1, task->input);
        EXPECT_BYTES(t, "1", 1, task->upstream[0].result);
        EXPECT_INT(t, 0, task->upstream[0].generation);
    }
    when_all_completed(t, &tasks, (struct ff_str){"2", 1});
    WAIT_FLOW(t, &flow, "completed a:completed b:completed");
    expect_reconcilers_idle(t);
}

/* It was free and has to wait again: then it is told of the run that sets it free once more. */
FF_CONFORMANCE(flow_results, a_node_that_waits_again_is_told_of_the_later_run)
{
    const struct flow flow = given_flow(t, "a b | a>b=");
    struct ff_tasks tasks = when_claimed_up_to(t, 1);
    struct ff_replay_request again;

    when_all_completed(t, &tasks, (struct ff_str){"1", 1});
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
    ff_replay_init(&again);
    again.execution_id = node_id(t, &flow, "a");
    again.reopen_downstream = true;
    EXPECT_OK(t, ff_replay(t->client, &again, NULL, NULL, &t->err));
    WAIT_FLOW(t, &flow, "running a:waiting b:waiting_children");
    tasks = when_claimed_up_to(t, 1);
    when_all_completed(t, &tasks, (struct ff_str){"2", 1});
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
    tasks = when_claimed_up_to(t, 1);
    EXPECT_TEXT(t, "b", tasks.items[0].node);
    EXPECT_BYTES(t, "2", 1, tasks.items[0].input);
    EXPECT_INT(t, 1, (int64_t)tasks.items[0].upstream_count);
    EXPECT_INT(t, 1, tasks.items[0].upstream[0].generation);
    expect_reconcilers_idle(t);
}

/* Tasks of one claim, members of flows and others mixed: each has the map of its own upstreams. */
FF_CONFORMANCE(flow_results, members_and_others_of_one_claim_are_told_apart)
{
    enum { FLOWS = 10, TASKS = 2 * FLOWS };
    struct flow flows[FLOWS];
    struct ff_tasks tasks;
    size_t members_seen = 0;

    for (size_t i = 0; i < FLOWS; i++)
        flows[i] = given_flow(t, "a b | a>b");
    tasks = when_claimed_up_to(t, FLOWS);
    for (size_t i = 0; i < FLOWS; i++)
        (void)given_submitted(t);
    for (size_t i = 0; i < FLOWS; i++) {
        const struct ff_tasks one = {.items = &tasks.items[i], .count = 1};
        const size_t of = index_of(flows, one.items);

        when_all_completed(t, &one, (struct ff_str){numbered(t, "1", of), 6});
    }
    for (size_t i = 0; i < FLOWS; i++)
        WAIT_FLOW(t, &flows[i], "running a:completed b:waiting");
    tasks = when_claimed_up_to(t, TASKS);
    EXPECT_INT(t, TASKS, (int64_t)tasks.count);
    for (size_t i = 0; i < TASKS; i++) {
        const struct ff_task *const task = &tasks.items[i];
        const bool member = task->flow_id[0] != '\0';

        EXPECT_INT(t, member ? 1 : 0, (int64_t)task->upstream_count);
        if (!member)
            continue;
        EXPECT_BYTES(t, numbered(t, "1", index_of(flows, task)), 6, task->upstream[0].result);
        members_seen++;
    }
    EXPECT_INT(t, FLOWS, (int64_t)members_seen);
}

/* ---- many nodes in one claim ------------------------------------------------------------------
 */

enum { MIXED = 9, MIXED_TASKS = 4 * MIXED + 4 };

/* "two" is too large to come along, but as the input of "u2". Waits for the ends to be passed on.
 */
static void given_mixed(struct test *t, struct flow flows[MIXED])
{
    const struct ff_str large = json_of(t, INLINE_BYTES + 1, 'x');
    struct ff_tasks tasks;

    for (size_t i = 0; i < MIXED; i++)
        flows[i] =
            given_flow(t, "one two three u1 u2 u3 | one>u1 one>u2 two>u2= one>u3 two>u3 three>u3");
    tasks = when_claimed_up_to(t, 3 * MIXED);
    EXPECT_INT(t, 3 * MIXED, (int64_t)tasks.count);
    for (size_t i = 0; i < tasks.count; i++) {
        const struct ff_tasks one = {.items = &tasks.items[i], .count = 1};
        const struct ff_str small = {numbered(t, "1", index_of(flows, one.items)), 6};

        when_all_completed(t, &one, strcmp(one.items->node, "two") == 0 ? large : small);
    }
    for (size_t i = 0; i < MIXED; i++)
        WAIT_FLOW(t, &flows[i],
                  "running one:completed three:completed two:completed u1:waiting u2:waiting "
                  "u3:waiting");
}

static void expect_upstream(struct test *t, const struct ff_task *task, size_t at, const char *node,
                            const char *result)
{
    const struct ff_upstream *const upstream = &task->upstream[at];

    EXPECT_TEXT(t, node, upstream->node);
    EXPECT_TEXT(t, "success", upstream->outcome);
    EXPECT_INT(t, 0, upstream->generation);
    EXPECT(t, upstream->result_elsewhere == !result);
    if (result)
        EXPECT_BYTES(t, result, strlen(result), upstream->result);
    else
        EXPECT(t, upstream->result.ptr == NULL);
}

static void expect_mixed(struct test *t, const struct flow *flows, const struct ff_task *task)
{
    const char *const small = numbered(t, "1", index_of(flows, task));
    const int64_t upstreams = task->node[1] - '0';

    EXPECT_INT(t, upstreams, (int64_t)task->upstream_count);
    expect_upstream(t, task, 0, "one", small);
    EXPECT(t, upstreams == 2 || task->input.len < INLINE_BYTES);
    if (upstreams == 2) {
        EXPECT_TEXT(t, "two", task->upstream[1].node);
        EXPECT(t, !task->upstream[1].result_elsewhere);
        EXPECT_INT(t, INLINE_BYTES + 1, (int64_t)task->upstream[1].result.len);
        EXPECT_INT(t, INLINE_BYTES + 1, (int64_t)task->input.len);
        EXPECT_INT(t, 'x', task->input.ptr[INLINE_BYTES - 1]);
    } else if (upstreams == 3) {
        expect_upstream(t, task, 1, "three", small);
        expect_upstream(t, task, 2, "two", NULL);
    }
}

/* More nodes than are asked about at once, of many flows and so of many partitions: with no, one
 * and several upstreams, results that come along, are elsewhere or are the input. */
FF_CONFORMANCE(flow_results, each_of_many_nodes_is_told_of_its_own_upstreams)
{
    struct flow flows[MIXED];
    size_t with_upstreams = 0, without = 0;
    struct ff_tasks tasks;

    given_mixed(t, flows);
    for (size_t i = 0; i < MIXED; i++)
        (void)given_flow(t, "alone | ");
    for (size_t i = 0; i < MIXED_TASKS - 4 * MIXED; i++)
        (void)given_submitted(t);
    tasks = when_claimed_up_to(t, 256);
    EXPECT_INT(t, MIXED_TASKS, (int64_t)tasks.count);
    for (size_t i = 0; i < tasks.count; i++) {
        const struct ff_task *const task = &tasks.items[i];

        if (task->node && task->node[0] == 'u') {
            expect_mixed(t, flows, task);
            with_upstreams++;
        } else {
            EXPECT_INT(t, 0, (int64_t)task->upstream_count);
            without++;
        }
    }
    EXPECT_INT(t, 3 * MIXED, (int64_t)with_upstreams);
    EXPECT_INT(t, MIXED_TASKS - 3 * MIXED, (int64_t)without);
}

/* A graph of `width` nodes, all of which each of `joins` others waits for. */
static struct ff_flow_request *lattice(struct test *t, size_t width, size_t joins)
{
    struct ff_flow_request *const r = fan(t, "z0 | ", width, false, width);
    struct ff_flow_node *const nodes = keep(t, (width + joins) * sizeof *nodes);
    struct ff_flow_edge *const edges = keep(t, width * joins * sizeof *edges);

    memcpy(nodes, r->nodes, r->node_count * sizeof *nodes);
    for (size_t i = 0; i < joins; i++) {
        struct ff_flow_node *const join = i ? &nodes[width + i] : &nodes[0];

        *join = nodes[0];
        join->name = numbered(t, "z", i);
        for (size_t k = 0; k < width; k++)
            edges[i * width + k] =
                (struct ff_flow_edge){.from = nodes[1 + k].name, .to = join->name};
    }
    r->nodes = nodes;
    r->node_count = width + joins;
    r->edges = edges;
    r->edge_count = width * joins;
    return r;
}

/* Two fit an answer and the third does not, though each does by itself: it is whole when it comes.
 */
FF_CONFORMANCE_SLOW(flow_results, nodes_whose_results_do_not_fit_together_come_one_after_another)
{
    enum { WIDTH = 60, JOINS = 3 };
    const struct flow flow = given_fan(t, lattice(t, WIDTH, JOINS));
    struct ff_tasks tasks;

    when_completed_all(t, WIDTH, json_of(t, INLINE_BYTES, 'y'));
    WAIT_UNTIL(t, members(t, &flow, "waiting") == JOINS);
    for (size_t done = 0; done < JOINS; done += tasks.count) {
        tasks = when_claimed_up_to(t, 256);
        EXPECT_INT(t, done ? 1 : 2, (int64_t)tasks.count);
        for (size_t i = 0; i < tasks.count; i++) {
            EXPECT_INT(t, WIDTH, (int64_t)tasks.items[i].upstream_count);
            for (size_t k = 0; k < WIDTH; k++)
                EXPECT_INT(t, INLINE_BYTES, (int64_t)tasks.items[i].upstream[k].result.len);
        }
        when_all_completed(t, &tasks, (struct ff_str){"1", 1});
    }
    WAIT_UNTIL(t, strcmp(look_flow(t, &flow)->state, "completed") == 0);
}
