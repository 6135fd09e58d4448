/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_read.c -- a flow is shown as it was at one moment, whatever happens to it meanwhile. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/flows.h"

#include "base/banned.h"

#define ROUNDS   8
#define LIMIT_MS 60000 /* if the one who changes it has failed */

struct scene {
    struct flow flow;
    atomic_bool over;
};

static bool has_ended(const char *state)
{
    static const char *const ends[] = {"completed", "failed", "cancelled", "expired", "skipped"};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(state, ends[i]) == 0)
            return true;
    return false;
}

/* The flow grows, runs to its end and begins anew. */
static void keep_changing(struct test *t, size_t index, void *ctx)
{
    struct scene *const scene = ctx;
    struct ff_replay_request again;

    (void)index;
    for (int i = 0; i < ROUNDS; i++) {
        char graph[64];
        char leaf[16];

        (void)snprintf(leaf, sizeof leaf, "x%d", i);
        (void)snprintf(graph, sizeof graph, "%s | a>%s", leaf, leaf);
        EXPECT_OK(t, when_grown(t, &scene->flow, graph, NULL));
        when_node_completed(t, &scene->flow, "a");
        WAIT_UNTIL(t, is_in_state(t, node_id(t, &scene->flow, leaf), "waiting"));
        when_node_completed(t, &scene->flow, leaf);
        ff_replay_init(&again);
        again.execution_id = node_id(t, &scene->flow, "a");
        EXPECT_OK(t, ff_replay(t->client, &again, NULL, NULL, &t->err));
        forget(t);
    }
    atomic_store(&scene->over, true);
}

static int64_t count_of(const struct ff_flow_info *flow, const char *state)
{
    for (size_t i = 0; i < flow->count_count; i++)
        if (strcmp(flow->counts[i].public_state, state) == 0)
            return flow->counts[i].count;
    return 0;
}

static void check_nodes(struct test *t, const struct ff_flow_info *flow)
{
    int64_t ended = 0;
    int64_t counted = 0;

    EXPECT_INT(t, flow->node_count, (int64_t)flow->node_info_count);
    for (size_t i = 0; i < flow->node_info_count; i++) {
        int64_t alike = 0;

        for (size_t j = 0; j < flow->node_info_count; j++)
            alike += strcmp(flow->nodes[i].public_state, flow->nodes[j].public_state) == 0;
        EXPECT_INT(t, count_of(flow, flow->nodes[i].public_state), alike);
        ended += has_ended(flow->nodes[i].public_state);
    }
    for (size_t i = 0; i < flow->count_count; i++)
        counted += flow->counts[i].count;
    EXPECT_INT(t, flow->node_count, counted);
    EXPECT(t, flow->ended_count <= ended); /* counted by the cascade, which may be behind */
    if (has_ended(flow->state))
        EXPECT_INT(t, flow->node_count, ended);
}

static void check_edges(struct test *t, const struct ff_flow_info *flow)
{
    EXPECT_INT(t, flow->edge_count, (int64_t)flow->edge_info_count);
    for (size_t i = 0; i < flow->join_count; i++) {
        int64_t total = 0;
        int64_t successes = 0;

        for (size_t j = 0; j < flow->edge_info_count; j++)
            if (strcmp(flow->edges[j].to, flow->joins[i].node) == 0) {
                total++;
                successes += strcmp(flow->edges[j].outcome, "success") == 0;
            }
        EXPECT_INT(t, flow->joins[i].total, total);
        EXPECT_INT(t, flow->joins[i].success, successes);
    }
}

FF_CONFORMANCE(flow_read, a_flow_is_shown_as_of_one_moment)
{
    struct scene *const scene = keep(t, sizeof *scene);
    const int64_t until_ms = test_mono_ms() + LIMIT_MS;
    struct test_thread *thread;

    scene->flow = given_flow(t, "a b c | a>b b>c");
    thread = start_thread(t, keep_changing, 0, scene);
    while (!atomic_load(&scene->over) && test_mono_ms() < until_ms) {
        struct ff_flow_info_list list;

        EXPECT_OK(t, ff_flow_get(t->client, scene->flow.id, &list, &t->err));
        keep_answer(t, list.memory);
        check_nodes(t, &list.items[0]);
        check_edges(t, &list.items[0]);
    }
    join_thread(t, thread);
}

/* Every flow of a page has its own counts. */
FF_CONFORMANCE(flow_read, a_page_has_the_counts_of_each_flow)
{
    struct ff_flow_info_list list;
    struct flow flows[3];

    flows[0] = given_flow(t, "a b | a>b");
    when_node_completed(t, &flows[0], "a");
    WAIT_FLOW(t, &flows[0], "running a:completed b:waiting");
    flows[1] = given_flow(t, "a b c d");
    flows[2] = given_flow(t, "a");
    EXPECT_OK(t, ff_flow_list(t->client, NULL, &list, &t->err));
    keep_answer(t, list.memory);
    for (size_t i = 0; i < 3; i++) {
        const struct ff_flow_info *found = NULL;

        for (size_t j = 0; j < list.count; j++)
            if (strcmp(list.items[j].flow_id, flows[i].id) == 0)
                found = &list.items[j];
        EXPECT(t, found);
        EXPECT_TEXT(t, i == 0 ? "running" : "open", found->state);
        EXPECT_INT(t, i == 0, count_of(found, "completed"));
        EXPECT_INT(t, i == 1 ? 4 : 1, count_of(found, "waiting"));
    }
}

/* Members are found by the time of their flow, or, where that is not when it was made, by an index.
 * Those that came later stand among the first. */
FF_CONFORMANCE(flow_read, members_are_found_whatever_their_ids_say)
{
    static const char *const ids[] = {NULL,
                                      "01890000-0000-7000-8000-000000000001",
                                      "01890000-0000-7000-8000-000000000002",
                                      "00000000-0000-0000-0000-000000000003",
                                      "ffffffff-ffff-ffff-ffff-fffffffffff4",
                                      "5b0c9e5c-3f3a-4b53-9d4b-1d3c7a2b9f10",
                                      NULL};
    struct flow flows[sizeof ids / sizeof ids[0]];
    const size_t count = sizeof ids / sizeof ids[0];

    for (size_t i = 0; i < count; i++) {
        struct ff_flow_request *const r = graph(t, "a b | a>b");
        struct ff_flow_made made;

        r->flow_id = ids[i];
        EXPECT_OK(t, when_flow_created(t, r, &made));
        memcpy(flows[i].id, made.flow_id, sizeof flows[i].id);
    }
    WAIT_UNTIL(t, store_now_ms(t) > look(t, node_id(t, &flows[count - 1], "b"))->created_at_ms);
    for (size_t i = 0; i < count; i++)
        EXPECT_OK(t, when_grown(t, &flows[i], "c | a>c", NULL));
    for (size_t i = 0; i < count; i++) {
        struct ff_filter f;

        EXPECT_FLOW(t, &flows[i], "open a:waiting b:waiting_children c:waiting_children");
        ff_filter_init(&f);
        f.flow_id = flows[i].id;
        EXPECT_INT(t, 3, (int64_t)list(t, &f)->count);
        EXPECT_INT(t, 2, (int64_t)look_flow(t, &flows[i])->edge_info_count);
        EXPECT_INT(t, 1, look_join(t, &flows[i], "c")->total);
    }
    for (size_t i = 0; i < count; i++)
        EXPECT_OK(t, when_flow_cancelled(t, &flows[i], "cancel_all"));
    for (size_t i = 0; i < count; i++)
        WAIT_FLOW(t, &flows[i], "cancelled a:cancelled b:cancelled c:cancelled");
}
