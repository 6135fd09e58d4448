/* SPDX-License-Identifier: Apache-2.0
 *
 * shapes.c -- flows that are very wide or very deep end right, and an edge costs what it costs.
 *
 * The cost of an edge is printed for growing sizes, also in CPU time of this process, which does
 * not depend on who else is at work. What it is depends on the machine; that it does not grow with
 * the size is asserted. */
#include "play.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "base/macros.h"

#include "base/banned.h"

#define THREADS 8
#define TASKS   16 /* at a time */
#define LONG_MS 600000
#define MOST    10000 /* parents, children, or links of a chain */
#define FLAT                                                                                       \
    6.0 /* an edge of the largest costs at most so many of the smallest: ten if every              \
         * edge looked at all others, and a machine is never that uneven */

/* ---- making ---- */

/* Edges lead from ends[i][0] to ends[i][1], forward, and are in the order of where they end. */
struct shape {
    size_t nodes, edges;
    size_t (*ends)[2];
    const char *what;
};

static struct shape shape_new(struct test *t, const char *what, size_t nodes, size_t edges)
{
    struct shape shape = {.nodes = nodes, .edges = edges, .what = what};

    shape.ends = keep(t, (edges + 1) * sizeof shape.ends[0]);
    return shape;
}

static struct shape chain(struct test *t, size_t depth)
{
    const struct shape shape = shape_new(t, "chain", depth, depth - 1);

    for (size_t i = 0; i < shape.edges; i++) {
        shape.ends[i][0] = i;
        shape.ends[i][1] = i + 1;
    }
    return shape;
}

static struct shape fan_out(struct test *t, size_t width)
{
    const struct shape shape = shape_new(t, "fan-out", width + 1, width);

    for (size_t i = 0; i < width; i++) {
        shape.ends[i][0] = 0;
        shape.ends[i][1] = i + 1;
    }
    return shape;
}

static struct shape fan_in(struct test *t, size_t width)
{
    const struct shape shape = shape_new(t, "fan-in", width + 1, width);

    for (size_t i = 0; i < width; i++) {
        shape.ends[i][0] = i;
        shape.ends[i][1] = width;
    }
    return shape;
}

static struct flow make(struct test *t, const struct shape *shape, const char *lane)
{
    char(*const names)[24] = keep(t, shape->nodes * sizeof names[0]);
    struct ff_flow_node *const nodes = keep(t, shape->nodes * sizeof *nodes);
    struct ff_flow_edge *const edges = keep(t, (shape->edges + 1) * sizeof *edges);
    struct ff_submission work = submission();
    struct ff_flow_request request;
    struct ff_flow_made made;
    struct flow flow;

    work.lane = lane;
    ff_flow_request_init(&request);
    request.nodes = nodes;
    request.node_count = ff_min_size(shape->nodes, FF_FLOW_NODES_MAX);
    request.edges = edges;
    while (request.edge_count < shape->edges &&
           shape->ends[request.edge_count][1] < request.node_count)
        request.edge_count++;
    for (size_t i = 0; i < shape->nodes; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%zu", i);
        nodes[i] = (struct ff_flow_node){.name = names[i], .work = &work};
    }
    for (size_t i = 0; i < shape->edges; i++)
        edges[i] =
            (struct ff_flow_edge){.from = names[shape->ends[i][0]], .to = names[shape->ends[i][1]]};
    EXPECT_OK(t, when_flow_created(t, &request, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    if (request.node_count < shape->nodes) { /* more than one call takes */
        request.flow_id = flow.id;
        request.nodes += request.node_count;
        request.node_count = shape->nodes - request.node_count;
        request.edges += request.edge_count;
        request.edge_count = shape->edges - request.edge_count;
        EXPECT_OK(t, ff_flow_grow(t->client, &request, &made, &t->err));
        keep_answer(t, made.memory);
    }
    return flow;
}

/* ---- working ---- */

struct job {
    const char *lane;
    size_t until;
    atomic_size_t done;
    bool fail_first; /* the first task fails for good */
};

static bool end_all(struct test *t, struct job *job, const struct ff_tasks *tasks)
{
    struct ff_completion done[TASKS];
    struct ff_task_result results[TASKS];

    for (size_t i = 0; i < tasks->count; i++)
        done[i] =
            (struct ff_completion){.lease = ff_task_lease(&tasks->items[i]), .result = {"1", 1}};
    if (job->fail_first && tasks->count > 0) {
        const struct ff_failure failure = {.lease = done[0].lease,
                                           .message = "no",
                                           .failure_class = "permanent",
                                           .retry_after_ms = FF_ABSENT_MS};

        EXPECT_OK(t, ff_fail_task(t->client, &failure, 1, results, &t->err));
        return true;
    }
    if (tasks->count > 0)
        EXPECT_OK(t, ff_complete(t->client, done, tasks->count, results, &t->err));
    for (size_t i = 0; i < tasks->count; i++)
        EXPECT_INT(t, FF_OK, (int64_t)results[i].status);
    (void)atomic_fetch_add(&job->done, tasks->count);
    return false;
}

static void work(struct test *t, size_t index, void *ctx)
{
    struct job *const job = ctx;
    struct ff_claim_request r = claim_request();

    (void)index;
    r.lanes = &job->lane;
    r.lane_count = 1;
    r.max = TASKS;
    r.wait_ms = 50;
    r.lease_ttl_ms = 3600000;
    while (atomic_load(&job->done) < job->until) {
        struct ff_tasks tasks = {0};
        bool failed;

        EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
        failed = end_all(t, job, &tasks);
        ff_answer_free(&tasks);
        if (failed)
            return;
    }
}

static void expect_ended(struct test *t, const struct flow *flow, const char *state, size_t nodes)
{
    struct ff_flow_filter filter = {.size = sizeof filter, .limit = 1};
    struct ff_flow_info_list list = {0};
    const struct ff_flow_info *info;
    const int64_t until_ms = test_mono_ms() + LONG_MS;
    int64_t ended = 0;

    do { /* looking costs more than an edge: not too often */
        wait_settled(t, t->client);
        ff_answer_free(&list);
        EXPECT_OK(t, ff_flow_list(t->client, &filter, &list, &t->err));
        EXPECT(t, test_mono_ms() < until_ms);
    } while (list.items[0].ended_count < (int64_t)nodes);
    ff_answer_free(&list);
    info = look_flow(t, flow);
    EXPECT_TEXT(t, state, info->state);
    for (size_t i = 0; i < info->join_count; i++)
        ended += info->joins[i].success + info->joins[i].fail + info->joins[i].skip;
    EXPECT_INT(t, info->edge_count, ended);
}

/* ---- running ---- */

static double slowest_us; /* of a wide shape: longer than this no hop has waited */

static double clock_us(clockid_t which)
{
    struct timespec now;

    (void)clock_gettime(which, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* `small_cpu_us`: what an edge has cost in the smallest of its kind; 0: this is it. */
static void run_shape(struct test *t, const struct shape *shape, size_t threads, bool fails,
                      double *small_cpu_us)
{
    struct job *const job = keep(t, sizeof *job);
    char *const lane = keep(t, 32);
    struct flow flow;
    double began_us, began_cpu_us, cpu_us;

    (void)snprintf(lane, 32, "%s%zu%s", shape->what, shape->nodes, fails ? "f" : "");
    flow = make(t, shape, lane);
    job->lane = lane;
    job->until = fails ? 1 : shape->nodes;
    job->fail_first = fails;
    began_us = clock_us(CLOCK_MONOTONIC);
    began_cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    in_threads(t, threads, work, job);
    expect_ended(t, &flow, fails ? "failed" : "completed", shape->nodes);
    cpu_us = (clock_us(CLOCK_PROCESS_CPUTIME_ID) - began_cpu_us) / (double)shape->edges;
    (void)printf("# %s of %zu%s: %.0f us per edge, of CPU %.0f\n", shape->what, shape->edges,
                 fails ? ", the first fails" : "",
                 (clock_us(CLOCK_MONOTONIC) - began_us) / (double)shape->edges, cpu_us);
    (void)fflush(stdout);
    if (*small_cpu_us == 0)
        *small_cpu_us = cpu_us;
    else
        EXPECT(t, cpu_us <= FLAT * *small_cpu_us);
    if (strcmp(shape->what, "chain") != 0 && clock_us(CLOCK_MONOTONIC) - began_us > slowest_us)
        slowest_us = clock_us(CLOCK_MONOTONIC) - began_us;
    forget(t);
}

static void run_all(struct test *t, size_t most, size_t most_deep)
{
    double small[5] = {0};

    slowest_us = 0;
    for (size_t size = 100; size <= most; size *= 10) {
        struct shape shape = fan_in(t, size);

        run_shape(t, &shape, THREADS, false, &small[0]);
        shape = fan_out(t, size);
        run_shape(t, &shape, THREADS, false, &small[1]);
        shape = fan_out(t, size);
        run_shape(t, &shape, 1, true, &small[2]);
        if (size > most_deep)
            continue;
        shape = chain(t, size);
        run_shape(t, &shape, 1, false, &small[3]);
        shape = chain(t, size);
        run_shape(t, &shape, 1, true, &small[4]);
    }
    /* What this process could not keep in mind, and what has waited for so long that a reconciler
     * would look at it, is too slow, not lost. */
    if (most < FF_HOPS_IN_FLIGHT || slowest_us < FF_RECONCILE_AGE_MS * 1000.0)
        expect_reconcilers_idle(t);
    else
        (void)printf("# too slow to say anything about the reconcilers\n");
}

static void wide_and_deep(struct test *t)
{
    const bool fast = t->store->kind == TEST_STORE_MEMORY;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    if (is_full_run())
        run_all(t, MOST, MOST);
    else
        run_all(t, 1000, fast ? 1000 : 100);
}

const struct plain_case shape_cases[] = {
    {"shape/wide_and_deep_on_memory", TEST_STORE_MEMORY, wide_and_deep, false},
    {"shape/wide_and_deep_on_postgres", TEST_STORE_POSTGRES, wide_and_deep, false},
    {0},
};
