/* SPDX-License-Identifier: Apache-2.0
 *
 * possible.c -- is this the end of a flow that some order of things leads to?
 *
 * Looks at a flow that is over, whose graph is known and whose story is not. */
#include "play.h"

#include <stdio.h>
#include <string.h>

/* Counts what the edges say, each once. */
static void recount(struct play *p, const struct ff_info *const infos[NODES_MAX])
{
    for (int i = 0; i < p->m.node_count; i++)
        memset(p->m.nodes[i].counts, 0, sizeof p->m.nodes[i].counts);
    for (int e = 0; e < p->m.edge_count; e++)
        p->m.nodes[p->m.edges[e].to].counts[p->seen.edges[e]]++;
    for (int i = 0; i < p->m.node_count; i++)
        p->m.nodes[i].join = model_judge(&p->m.nodes[i]);
    for (int e = 0; e < p->m.edge_count; e++) {
        const struct model_edge *const edge = &p->m.edges[e];
        const node_state from = p->seen.nodes[edge->from];
        const edge_state want = from == COMPLETED ? SUCCESS : from == SKIPPED ? SKIP : FAIL;
        const bool may_be_older =
            infos[edge->from]->generation > 0 && p->m.nodes[edge->to].join == SATISFIED;

        if (p->seen.edges[e] != want && (p->seen.edges[e] == OPEN || !may_be_older))
            FAIL(p->t, "the edge from '%s' to '%s' does not say how that ended",
                 p->names[edge->from], p->names[edge->to]);
    }
}

static bool has_rival(const struct play *p, int node)
{
    for (int e = p->m.nodes[node].first_out; e >= 0; e = p->m.edges[e].next_out) {
        const struct model_node *const child = &p->m.nodes[p->m.edges[e].to];

        if (child->policy != ALL_OF && child->cancels_rest)
            return true;
    }
    return false;
}

static void check_node(struct play *p, int node, const struct ff_info *info, bool cancelled)
{
    const struct model_node *const n = &p->m.nodes[node];
    const node_state state = p->seen.nodes[node];
    const bool fails = info->generation == 0 && !strcmp(p->kinds[node], "fail");

    if (!model_has_ended(state))
        FAIL(p->t, "'%s' has not ended", p->names[node]);
    if ((state == COMPLETED && fails) || (state == FAILED && !fails))
        FAIL(p->t, "'%s' did not end as its worker said", p->names[node]);
    if (state == SKIPPED ? n->total == 0 || n->join != IMPOSSIBLE
                         : state != CANCELLED && n->total > 0 && n->join != SATISFIED)
        FAIL(p->t, "'%s' did not do what its join says", p->names[node]);
    if (state == CANCELLED && !cancelled && !has_rival(p, node))
        FAIL(p->t, "'%s' was cancelled for nothing", p->names[node]);
}

/* Every generation has ended once, in order, the last as the node has. */
static void check_events(struct play *p, int node, const struct ff_info *info)
{
    static const char *const types[] = {[COMPLETED] = "success",
                                        [FAILED] = "failed",
                                        [CANCELLED] = "cancelled",
                                        [SKIPPED] = "skipped"};
    struct ff_event_list events = {0};
    const char *last = NULL;
    int lives = 0;

    EXPECT_OK(p->t, ff_history(p->client, info->execution_id, NULL, 1000, &events, &p->t->err));
    keep_answer(p->t, events.memory);
    for (size_t i = 0; i < events.count; i++) {
        if (strcmp(events.items[i].kind, "completion") != 0)
            continue;
        EXPECT_INT(p->t, lives++, events.items[i].generation);
        last = events.items[i].type;
    }
    EXPECT_INT(p->t, info->generation + 1, lives);
    EXPECT_TEXT(p->t, types[p->seen.nodes[node]], last);
}

static void check_flow(struct play *p)
{
    struct ff_flow_info_list list;
    const char *want = "completed";

    look_at_flow(p, &list);
    compare_joins(p, list.items);
    EXPECT_INT(p->t, p->m.node_count, list.items->ended_count);
    for (int i = 0; i < p->m.node_count; i++)
        if (p->m.nodes[i].first_out < 0 && p->seen.nodes[i] != COMPLETED)
            want = "failed";
    if (!list.items->cancel_policy)
        EXPECT_TEXT(p->t, want, list.items->state);
}

void expect_possible(struct play *p, bool cancelled)
{
    const struct ff_info *infos[NODES_MAX] = {NULL};
    struct ff_info_list page = {0};
    struct ff_filter filter;

    ff_filter_init(&filter);
    filter.flow_id = p->flow_id;
    filter.limit = 1000;
    EXPECT_OK(p->t, ff_list(p->client, &filter, &page, &p->t->err));
    keep_answer(p->t, page.memory);
    EXPECT_INT(p->t, p->m.node_count, (int64_t)page.count);
    for (size_t i = 0; i < page.count; i++)
        infos[node_named(p, page.items[i].node)] = &page.items[i];
    recount(p, infos);
    for (int i = 0; i < p->m.node_count; i++) {
        check_node(p, i, infos[i], cancelled);
        check_events(p, i, infos[i]);
    }
    check_flow(p);
}
