/* SPDX-License-Identifier: Apache-2.0
 *
 * ask.c -- what the model has been told, said to the engine. */
#include "play.h"

#include "api/api-int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SETTLE_MS 300000

static const char *const policy_names[] = {"all_of", "any_of", "quorum"};

struct words {
    struct ff_policy_spec policies[NODES_MAX];
    struct ff_submission works[NODES_MAX];
    struct ff_flow_node nodes[NODES_MAX];
    struct ff_flow_edge edges[EDGES_MAX];
};

static void say_node(struct play *p, struct words *words, int node, int at)
{
    const struct model_node *const n = &p->m.nodes[node];

    ff_policy_init(&words->policies[at]);
    words->policies[at].has_retry_policy = true;
    words->policies[at].lease_lapse = p->kinds[node] ? "reclaim" : "retry";
    words->policies[at].max_retries = n->max_retries;
    words->works[at] = submission();
    words->works[at].lane = p->lane;
    if (p->kinds[node])
        words->works[at].kind = p->kinds[node];
    words->works[at].priority = node % 7;
    words->works[at].policy = &words->policies[at];
    words->works[at].delay_ms = p->delayed[node] ? 1 : FF_ABSENT_MS;
    words->works[at].deadline_ms = n->doomed ? 1 : FF_ABSENT_MS;
    words->nodes[at] = (struct ff_flow_node){.name = p->names[node], .work = &words->works[at]};
    if (n->total == 0)
        return;
    words->nodes[at].join = policy_names[n->policy];
    words->nodes[at].k = n->k;
    if (n->policy != ALL_OF)
        words->nodes[at].on_satisfied = n->cancels_rest ? "cancel_remaining" : "let_run";
}

static void keep_ids(struct play *p, const struct ff_flow_made *made)
{
    for (size_t i = 0; i < made->count; i++) {
        char *const id = p->ids[node_named(p, made->items[i].name)];

        if (id[0])
            EXPECT_TEXT(p->t, id, made->items[i].execution_id);
        memcpy(id, made->items[i].execution_id, FF_ID_BYTES);
    }
}

ff_status ask_flow(struct play *p, int first_node, int first_edge)
{
    static struct words words;
    struct ff_flow_request request;
    struct ff_flow_made made = {0};
    ff_status status;

    ff_flow_request_init(&request);
    request.nodes = words.nodes;
    request.edges = words.edges;
    for (int node = 0; node < p->m.node_count; node++)
        if (node >= first_node || p->told_again[node])
            say_node(p, &words, node, (int)request.node_count++);
    for (int e = 0; e < p->m.edge_count; e++)
        if (e >= first_edge || p->told_again[p->m.edges[e].to])
            words.edges[request.edge_count++] = (struct ff_flow_edge){
                .from = p->names[p->m.edges[e].from], .to = p->names[p->m.edges[e].to]};
    request.flow_id = p->flow_id;
    status = first_node > 0 ? ff_flow_grow(p->client, &request, &made, &p->t->err)
                            : ff_flow_create(p->client, &request, &made, &p->t->err);
    if (status == FF_OK)
        keep_ids(p, &made);
    ff_answer_free(&made);
    return status;
}

void wait_settled(struct test *t, struct ff_client *client)
{
    const int64_t until_ms = test_mono_ms() + SETTLE_MS;
    const struct timespec pause = {.tv_nsec = 50000};
    struct ff_engine_stats stats;

    for (;;) {
        ff_engine_stats(client->engine, &stats);
        if (stats.cascading == 0)
            return;
        if (test_mono_ms() > until_ms)
            FAIL(t, "%lld steps of the cascade never end", (long long)stats.cascading);
        (void)nanosleep(&pause, NULL);
    }
}

void look_at_flow(struct play *p, struct ff_flow_info_list *ret)
{
    memset(ret, 0, sizeof *ret);
    EXPECT_OK(p->t, ff_flow_get(p->client, p->flow_id, ret, &p->t->err));
    keep_answer(p->t, ret->memory);
    EXPECT_INT(p->t, 1, (int64_t)ret->count);
}
