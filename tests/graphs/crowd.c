/* SPDX-License-Identifier: Apache-2.0
 *
 * crowd.c -- many flows whose nodes say how they end.
 *
 * The kind of a node is its fate: "ok", "fail" (for good, but not once it was replayed), "flaky1",
 * "flaky2" (so many failures before the success). Whoever dies with a task in hand leaves it to the
 * next, who continues the same attempt; so fate does not depend on who dies when. */
#include "crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fates[] = {"ok", "fail", "flaky1", "flaky2"};

/* ---- making ---- */

struct crowd *crowd_new(struct test *t, size_t max, uint64_t seed)
{
    struct crowd *const crowd = keep(t, sizeof *crowd);

    crowd->play.t = t;
    crowd->flows = keep(t, max * sizeof *crowd->flows);
    crowd->max = max;
    crowd->next_seed = seed;
    return crowd;
}

static const char *fate_of(uint64_t seed, int node)
{
    struct ff_prng prng;
    uint64_t roll;

    ff_prng_init(&prng, seed * 1000 + (uint64_t)node);
    roll = ff_prng_below(&prng, 100);
    return fates[roll < 80 ? 0 : roll < 88 ? 1 : roll < 95 ? 2 : 3];
}

/* Draws the graph of a flow again: the same as ever. */
static void draw(struct crowd *crowd, const struct member_flow *flow)
{
    struct play *const p = &crowd->play;
    struct test *const t = p->t;

    memset(p, 0, sizeof *p);
    p->t = t;
    ff_prng_init(&p->prng, flow->seed);
    memcpy(p->flow_id, flow->flow_id, sizeof p->flow_id);
    (void)snprintf(p->lane, sizeof p->lane, CROWD_LANE);
    (void)plan_nodes(p, 1 + (int)dice(p, 60));
    for (int i = 0; i < p->m.node_count; i++) {
        p->kinds[i] = fate_of(flow->seed, i);
        p->m.nodes[i].max_retries = 2;
        if (flow->alone)
            p->m.nodes[i].cancels_rest = false;
    }
}

/* Says it again while the store is away: the flow has an id, it is made once. */
static void ask_until_told(struct play *p)
{
    const int64_t deadline_ms = test_mono_ms() + TEST_WAIT_MS;
    ff_status status = ask_flow(p, 0, 0);

    while ((ff_status_retryable(status) || status == FF_OUTCOME_UNKNOWN) &&
           test_mono_ms() < deadline_ms) {
        test_pause();
        status = ask_flow(p, 0, 0);
    }
    EXPECT_OK(p->t, status);
}

void crowd_add(struct crowd *crowd, struct ff_client *client, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct member_flow *const flow = &crowd->flows[crowd->count];

        EXPECT(crowd->play.t, crowd->count < crowd->max);
        *flow = (struct member_flow){.seed = crowd->next_seed, .alone = crowd->count % 2 == 0};
        crowd->next_seed++;
        (void)snprintf(flow->flow_id, sizeof flow->flow_id, "%08x-0000-7000-8000-%012x",
                       (unsigned)flow->seed * 2654435761U, (unsigned)flow->seed);
        draw(crowd, flow);
        crowd->play.client = client;
        ask_until_told(&crowd->play);
        crowd->count++;
    }
}

/* ---- working ---- */

static bool end_task(struct ff_client *client, const struct ff_task *task)
{
    struct ff_task_result result;
    struct ff_failure failure = {.lease = ff_task_lease(task), .message = "fate"};
    const struct ff_completion done = {.lease = failure.lease, .result = {"1", 1}};
    ff_status status;

    failure.retry_after_ms = 0;
    if (task->generation == 0 && !strcmp(task->kind, "fail"))
        failure.failure_class = "permanent";
    else if (task->generation == 0 && !strncmp(task->kind, "flaky", 5) &&
             task->attempt_index < task->kind[5] - '0')
        failure.failure_class = "transient";
    status = failure.failure_class ? ff_fail_task(client, &failure, 1, &result, NULL)
                                   : ff_complete(client, &done, 1, &result, NULL);
    return status == FF_OK && result.status == FF_OK;
}

int crowd_work(struct ff_client *client, int64_t lease_ttl_ms,
               void (*done)(void *ctx, const char *id), void *ctx)
{
    static const char *const lanes[] = {CROWD_LANE};
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};
    int count;

    r.lanes = lanes;
    r.lane_count = 1;
    r.max = 4;
    r.lease_ttl_ms = lease_ttl_ms;
    r.wait_ms = 200;
    if (ff_claim(client, &r, &tasks, NULL) != FF_OK)
        return -1;
    count = (int)tasks.count;
    for (size_t i = 0; i < tasks.count; i++)
        if (end_task(client, &tasks.items[i]) && done)
            done(ctx, tasks.items[i].execution_id);
    ff_answer_free(&tasks);
    return count;
}

/* ---- trouble ---- */

static void cancel_some(struct crowd *crowd)
{
    struct play *const p = &crowd->play;

    /* The ids of nodes are told to whoever says the same again. */
    EXPECT_OK(p->t, ask_flow(p, 0, 0));
    for (int i = 0; i < 3; i++) {
        const char *const id = p->ids[dice(p, (uint64_t)p->m.node_count)];
        const ff_status status = ff_cancel(p->client, id, "trouble", NULL, &p->t->err);

        EXPECT(p->t, status == FF_OK || status == FF_ALREADY_TERMINAL);
    }
}

static void cancel_whole(struct crowd *crowd)
{
    static const char *const policies[] = {"cancel_all", "cancel_pending", "cancel_flow_only"};
    struct play *const p = &crowd->play;
    const ff_status status = ff_flow_cancel(p->client, p->flow_id, "trouble",
                                            policies[crowd->count / 3 % 3], NULL, &p->t->err);

    EXPECT(p->t, status == FF_OK || status == FF_FLOW_TERMINAL);
}

void crowd_trouble(struct crowd *crowd, struct ff_client *client)
{
    struct member_flow *const flow = &crowd->flows[crowd->count - 1];

    if (flow->alone)
        return;
    draw(crowd, flow);
    flow->cancelled = true;
    crowd->play.client = client;
    if (crowd->count % 3 == 0)
        cancel_whole(crowd);
    else
        cancel_some(crowd);
}

static size_t replay_failed(struct crowd *crowd, struct ff_client *client, struct member_flow *flow)
{
    struct test *const t = crowd->play.t;
    struct ff_filter filter;
    struct ff_info_list page = {0};

    ff_filter_init(&filter);
    filter.flow_id = flow->flow_id;
    filter.state = "failed";
    filter.limit = 1000;
    EXPECT_OK(t, ff_list(client, &filter, &page, &t->err));
    keep_answer(t, page.memory);
    for (size_t i = 0; i < page.count; i++) {
        struct ff_replay_request r;

        ff_replay_init(&r);
        r.execution_id = page.items[i].execution_id;
        r.expected_generation = page.items[i].generation;
        EXPECT_OK(t, ff_replay(client, &r, NULL, NULL, &t->err));
        flow->replayed = true;
    }
    return page.count;
}

size_t crowd_replay(struct crowd *crowd, struct ff_client *client)
{
    size_t count = 0;

    for (size_t i = 0; i < crowd->count; i++)
        if (!crowd->flows[i].cancelled)
            count += replay_failed(crowd, client, &crowd->flows[i]);
    return count;
}

/* ---- the end ---- */

static bool is_over(struct test *t, struct ff_client *client, const char *flow_id)
{
    struct ff_flow_info_list list = {0};
    bool over;

    EXPECT_OK(t, ff_flow_get(client, flow_id, &list, &t->err));
    over = list.items->ended_count == list.items->node_count;
    ff_answer_free(&list);
    return over;
}

bool crowd_is_over(struct crowd *crowd, struct ff_client *client)
{
    for (size_t i = 0; i < crowd->count; i++)
        if (!is_over(crowd->play.t, client, crowd->flows[i].flow_id))
            return false;
    return true;
}

/* Where no join cancels anybody the order of things does not matter: upstreams come first, so one
 * pass over the nodes is enough. */
static void foresee(struct play *p, bool replayed)
{
    for (int i = 0; i < p->m.node_count; i++) {
        struct model_node *const node = &p->m.nodes[i];
        const bool fails = !replayed && !strcmp(p->kinds[i], "fail");
        int good = 0;

        for (int e = node->first_in; e >= 0; e = p->m.edges[e].next_in)
            good += p->m.nodes[p->m.edges[e].from].state == COMPLETED;
        if (node->total > 0 && good < model_needs(node))
            node->state = SKIPPED;
        else
            node->state = fails ? FAILED : COMPLETED;
    }
}

static void check_flow(struct crowd *crowd, const struct member_flow *flow)
{
    struct play *const p = &crowd->play;

    see_flow(p);
    if (flow->alone && !flow->cancelled) {
        foresee(p, flow->replayed);
        for (int i = 0; i < p->m.node_count; i++)
            if (p->seen.nodes[i] != p->m.nodes[i].state)
                FAIL(p->t, "seed %llu: node %d ended as %d, not %d", (unsigned long long)flow->seed,
                     i, (int)p->seen.nodes[i], (int)p->m.nodes[i].state);
    }
    expect_possible(p, flow->cancelled);
}

void crowd_check(struct crowd *crowd, struct ff_client *client)
{
    for (size_t i = 0; i < crowd->count; i++) {
        draw(crowd, &crowd->flows[i]);
        crowd->play.client = client;
        check_flow(crowd, &crowd->flows[i]);
    }
}
