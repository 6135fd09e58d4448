/* SPDX-License-Identifier: Apache-2.0
 *
 * flows.c -- graphs of executions: how long a hop takes, how many flows end per second, what an
 * edge costs.
 *
 * Nodes do nothing: what is measured is the way between them. Public header only. */
#include "ours.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#include "base/banned.h"

#define CHAIN     10
#define WARM      5
#define NAME      24
#define GIVE_UP_S 300

/* --- graphs --- */

struct graph {
    char (*names)[NAME];
    struct ff_flow_node *nodes;
    struct ff_flow_edge *edges;
    size_t node_count, edge_count;
    struct ff_submission work;
};

static void graph_init(struct graph *graph, const struct bench_run *run, size_t nodes, size_t edges)
{
    *graph = (struct graph){.node_count = nodes, .work = ours_submission(run)};
    graph->names = bench_alloc(nodes, sizeof *graph->names);
    graph->nodes = bench_alloc(nodes, sizeof *graph->nodes);
    graph->edges = bench_alloc(edges, sizeof *graph->edges);
    for (size_t i = 0; i < nodes; i++) {
        (void)snprintf(graph->names[i], NAME, "n%zu", i);
        graph->nodes[i] = (struct ff_flow_node){.name = graph->names[i], .work = &graph->work};
    }
}

static void graph_done(struct graph *graph)
{
    free(graph->names);
    free(graph->nodes);
    free(graph->edges);
}

static void graph_edge(struct graph *graph, size_t from, size_t to)
{
    graph->edges[graph->edge_count++] =
        (struct ff_flow_edge){.from = graph->names[from], .to = graph->names[to]};
}

static void graph_chain(struct graph *graph, const struct bench_run *run, size_t length)
{
    graph_init(graph, run, length, length);
    for (size_t i = 1; i < length; i++)
        graph_edge(graph, i - 1, i);
}

/* One node in front, `width` behind it, and if `join` one behind them all. */
static void graph_fan(struct graph *graph, const struct bench_run *run, size_t width, bool join)
{
    graph_init(graph, run, width + 1 + join, width * 2);
    for (size_t i = 1; i <= width; i++) {
        graph_edge(graph, 0, i);
        if (join)
            graph_edge(graph, i, width + 1);
    }
}

/* `width` nodes of which the first to succeed is enough for the last. */
static void graph_race(struct graph *graph, const struct bench_run *run, size_t width)
{
    graph_init(graph, run, width + 1, width);
    for (size_t i = 0; i < width; i++)
        graph_edge(graph, i, width);
    graph->nodes[width].join = "quorum";
    graph->nodes[width].k = 1;
    graph->nodes[width].on_satisfied = "cancel_remaining";
}

static void create(struct ours *ours, const struct graph *graph)
{
    struct ff_error error = {0};
    struct ff_flow_request request;
    struct ff_flow_made made;

    ff_flow_request_init(&request);
    request.nodes = graph->nodes;
    request.node_count = graph->node_count;
    request.edges = graph->edges;
    request.edge_count = graph->edge_count;
    ours_check(ff_flow_create(ours->client, &request, &made, &error), &error, "create a flow");
    ff_answer_free(&made);
}

/* --- one at a time, by this thread alone --- */

static const struct ours_worker one_slot = {.max = 1, .wait_ms = PARKED_MS};

/* The upstream's completion is answered: when does a waiting claim have the child? It comes after
 * the claim's own commit, so this is an upper bound of the hop. */
static double hop_ms(struct ours *ours, const struct graph *pair)
{
    struct ff_tasks tasks;
    double from_s;
    double ms;

    create(ours, pair);
    if (ours_work(ours, &one_slot) != 1)
        bench_die("the first node is not there");
    from_s = bench_now_s();
    if (ours_claim(ours, &one_slot, &tasks) != 1)
        bench_die("the second node did not come");
    ms = (bench_now_s() - from_s) * 1000;
    ours_complete(ours, &tasks);
    return ms;
}

typedef double sample_fn(struct ours *ours, const struct graph *graph);

static void sample(struct ours *ours, struct graph *graph, sample_fn *fn)
{
    struct bench_run *const run = ours->run;
    double *const ms = bench_alloc(run->count, sizeof *ms);

    for (size_t i = 0; i < WARM; i++)
        (void)fn(ours, graph);
    bench_start(run);
    for (size_t i = 0; i < run->count; i++)
        ms[i] = fn(ours, graph);
    bench_stop(run);
    bench_percentiles(run, ms, run->count);
    free(ms);
    graph_done(graph);
}

void bench_flows_hop(struct bench_run *run)
{
    struct graph pair;
    struct ours ours;

    ours_open(&ours, run);
    graph_chain(&pair, run, 2);
    sample(&ours, &pair, hop_ms);
    ours_close(&ours);
}

/* --- with the slots of a worker --- */

struct team {
    struct ours ours;
    struct ours_runtime runtime;
    size_t done; /* executions that were to be completed so far */
};

static void team_start(struct team *team, struct bench_run *run)
{
    *team = (struct team){0};
    ours_open(&team->ours, run);
    ours_runtime_start(&team->runtime, &team->ours, run->scenario->threads);
}

static void team_stop(struct team *team)
{
    ours_runtime_stop(&team->runtime);
    ours_close(&team->ours);
}

static double flow_ms(struct ours *ours, const struct graph *graph)
{
    struct team *const team = ff_container_of(ours, struct team, ours);
    const double from_s = bench_now_s();

    create(ours, graph);
    team->done += graph->node_count;
    ours_runtime_await(&team->runtime, team->done);
    return (bench_now_s() - from_s) * 1000;
}

void bench_flows_chain(struct bench_run *run)
{
    struct graph chain;
    struct team team;

    team_start(&team, run);
    graph_chain(&chain, run, CHAIN);
    sample(&team.ours, &chain, flow_ms);
    team_stop(&team);
}

void bench_flows_fan(struct bench_run *run)
{
    struct graph fan;
    struct team team;

    team_start(&team, run);
    graph_fan(&fan, run, run->scenario->batch, true);
    sample(&team.ours, &fan, flow_ms);
    team_stop(&team);
}

/* As many creators as slots, each with one flow at a time to hand in. */
struct creators {
    struct team *team;
    struct graph chain;
};

static void creator_thread(void *ctx, size_t index)
{
    const struct creators *const creators = ctx;
    struct ours *const ours = &creators->team->ours;
    size_t from;
    size_t count = bench_share(ours->run->count, ours->run->scenario->threads, index, &from);

    while (count--)
        create(ours, &creators->chain);
    if (index == 0) /* one looks for all of them: looking costs */
        ours_runtime_await(&creators->team->runtime, ours->run->count * CHAIN);
}

void bench_flows_chains(struct bench_run *run)
{
    struct team team;
    struct creators creators = {.team = &team};

    team_start(&team, run);
    graph_chain(&creators.chain, run, CHAIN);
    bench_threads(run, run->scenario->threads, creator_thread, &creators);
    graph_done(&creators.chain);
    team_stop(&team);
}

/* --- how soon others hear of an end --- */

/* Polls until the newest flow shows `count` members in this state. */
static void await_members(struct ours *ours, const char *state, size_t count)
{
    const struct ff_flow_filter newest = {.size = sizeof newest, .limit = 1};
    const double from_s = bench_now_s();
    struct ff_error error = {0};
    size_t seen = 0;

    while (seen < count) {
        struct ff_flow_info_list list;

        ours_check(ff_flow_list(ours->client, &newest, &list, &error), &error, "list flows");
        for (size_t i = 0; i < list.items[0].count_count; i++)
            if (!strcmp(list.items[0].counts[i].public_state, state))
                seen = (size_t)list.items[0].counts[i].count;
        ff_answer_free(&list);
        if (bench_now_s() - from_s > GIVE_UP_S)
            bench_die("only %zu of %zu members are %s", seen, count, state);
    }
}

/* From the answer to the one that succeeded to the end of all its siblings. */
static double race_ms(struct ours *ours, const struct graph *race)
{
    double from_s;
    double ms;

    create(ours, race);
    if (ours_work(ours, &one_slot) != 1)
        bench_die("nobody to race");
    from_s = bench_now_s();
    await_members(ours, "cancelled", race->node_count - 2);
    ms = (bench_now_s() - from_s) * 1000;
    if (ours_work(ours, &one_slot) != 1)
        bench_die("the join did not come");
    return ms;
}

void bench_flows_quorum(struct bench_run *run)
{
    struct graph race;
    struct ours ours;

    ours_open(&ours, run);
    graph_race(&race, run, run->scenario->batch);
    sample(&ours, &race, race_ms);
    ours_close(&ours);
}

/* Sleeps between looks: this reads an index from end to end. */
static void await_claimable(struct ours *ours, size_t count)
{
    const double from_s = bench_now_s();
    struct ff_error error = {0};
    size_t seen = 0;

    while (seen < count) {
        struct ff_lane_list list;

        ours_sleep_ms(5);
        ours_check(ff_lanes(ours->client, &list, &error), &error, "list lanes");
        seen = list.count ? (size_t)list.items[0].waiting : 0;
        ff_answer_free(&list);
        if (bench_now_s() - from_s > GIVE_UP_S)
            bench_die("only %zu of %zu children can be claimed", seen, count);
    }
}

/* What an edge costs: nodes with `batch` edges each end at once; the clock stops when every child
 * can be claimed. */
void bench_flows_edges(struct bench_run *run)
{
    const size_t width = run->scenario->batch;
    const size_t flows = run->count / width;
    struct ff_tasks tasks;
    struct graph fan;
    struct ours ours;

    ours_open(&ours, run);
    graph_fan(&fan, run, width, false);
    for (size_t i = 0; i < flows; i++)
        create(&ours, &fan);
    if (ours_claim(&ours, &(struct ours_worker){.max = flows}, &tasks) != flows)
        bench_die("not all flows are there");
    bench_start(run);
    ours_complete(&ours, &tasks);
    await_claimable(&ours, run->count);
    bench_stop(run);
    graph_done(&fan);
    ours_close(&ours);
}
