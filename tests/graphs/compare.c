/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.c -- what the engine shows beside what the model knows. */
#include "play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const node_names[] = {"waiting_children", "waiting",   "active",  "completed",
                                         "failed",           "cancelled", "skipped", "expired"};
enum { NODE_STATES = sizeof node_names / sizeof node_names[0] };
static const char *const edge_names[] = {"unresolved", "success", "fail", "skip"};
static const char *const join_names[] = {"pending", "satisfied", "impossible"};
static const char *const event_names[] = {[COMPLETED] = "success",
                                          [FAILED] = "failed",
                                          [CANCELLED] = "cancelled",
                                          [SKIPPED] = "skipped",
                                          [EXPIRED] = "expired"};

static int index_of(struct play *p, const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return i;
    FAIL(p->t, "no state is called '%s' here", name);
}

int node_named(struct play *p, const char *name)
{
    const long node = strtol(name + 1, NULL, 10);

    if (name[0] != 'n' || node < 0 || node >= p->m.node_count)
        FAIL(p->t, "there is no node '%s'", name);
    return (int)node;
}

static int edge_of(struct play *p, const struct ff_flow_edge_info *info)
{
    const int to = node_named(p, info->to);
    const int from = node_named(p, info->from);
    int e = p->m.nodes[to].first_in;

    while (e >= 0 && p->m.edges[e].from != from)
        e = p->m.edges[e].next_in;
    if (e < 0)
        FAIL(p->t, "there is no edge from '%s' to '%s'", info->from, info->to);
    return e;
}

static void see(struct play *p, const struct ff_flow_info *info)
{
    EXPECT_INT(p->t, p->m.node_count, (int64_t)info->node_info_count);
    EXPECT_INT(p->t, p->m.edge_count, (int64_t)info->edge_info_count);
    for (size_t i = 0; i < info->node_info_count; i++)
        p->seen.nodes[node_named(p, info->nodes[i].name)] =
            (node_state)index_of(p, node_names, NODE_STATES, info->nodes[i].public_state);
    for (size_t i = 0; i < info->edge_info_count; i++)
        p->seen.edges[edge_of(p, &info->edges[i])] =
            (edge_state)index_of(p, edge_names, 4, info->edges[i].outcome);
}

void see_flow(struct play *p)
{
    struct ff_flow_info_list list;

    look_at_flow(p, &list);
    see(p, list.items);
}

void compare_joins(struct play *p, const struct ff_flow_info *info)
{
    size_t joins = 0;

    for (int i = 0; i < p->m.node_count; i++)
        joins += p->m.nodes[i].total > 0;
    EXPECT_INT(p->t, (int64_t)joins, (int64_t)info->join_count);
    for (size_t i = 0; i < info->join_count; i++) {
        const struct ff_flow_join_info *const got = &info->joins[i];
        const struct model_node *const want = &p->m.nodes[node_named(p, got->node)];

        if (got->success != want->counts[SUCCESS] || got->fail != want->counts[FAIL] ||
            got->skip != want->counts[SKIP] || got->total != want->total ||
            strcmp(got->group_state, join_names[want->join]) != 0)
            FAIL(p->t, "join of '%s': %d %d %d of %d, %s; the model: %d %d %d of %d, %s", got->node,
                 (int)got->success, (int)got->fail, (int)got->skip, (int)got->total,
                 got->group_state, want->counts[SUCCESS], want->counts[FAIL], want->counts[SKIP],
                 want->total, join_names[want->join]);
    }
}

static const char *flow_name(const struct play *p)
{
    static const char *const names[] = {"running", "completed", "failed", "cancelled"};

    if (p->m.state != RUNNING)
        return names[p->m.state];
    for (int i = 0; i < p->m.node_count; i++)
        if (p->m.nodes[i].claims > 0 || model_has_ended(p->m.nodes[i].ends[0]))
            return "running";
    return "open";
}

static void compare_counts(struct play *p, const struct ff_flow_info *info)
{
    int64_t ended = 0;

    EXPECT_TEXT(p->t, flow_name(p), info->state);
    EXPECT_INT(p->t, p->m.node_count, info->node_count);
    EXPECT_INT(p->t, p->m.edge_count, info->edge_count);
    EXPECT_INT(p->t, p->m.revision, info->revision);
    for (int i = 0; i < p->m.node_count; i++)
        ended += model_has_ended(p->m.nodes[i].state);
    EXPECT_INT(p->t, ended, info->ended_count);
    EXPECT_INT(p->t, ended == p->m.node_count, info->finished_at_ms != FF_ABSENT_MS);
    for (size_t i = 0; i < info->count_count; i++)
        EXPECT_INT(p->t,
                   model_count(&p->m, (node_state)index_of(p, node_names, NODE_STATES,
                                                           info->counts[i].public_state)),
                   info->counts[i].count);
}

void compare_flow(struct play *p)
{
    struct ff_flow_info_list list;

    look_at_flow(p, &list);
    see(p, list.items);
    for (int i = 0; i < p->m.node_count; i++)
        if (p->seen.nodes[i] != p->m.nodes[i].state)
            FAIL(p->t, "'%s' is %s, the model says %s", p->names[i], node_names[p->seen.nodes[i]],
                 node_names[p->m.nodes[i].state]);
    for (int e = 0; e < p->m.edge_count; e++)
        if (p->seen.edges[e] != p->m.edges[e].state)
            FAIL(p->t, "edge from '%s' to '%s' is %s, the model says %s",
                 p->names[p->m.edges[e].from], p->names[p->m.edges[e].to],
                 edge_names[p->seen.edges[e]], edge_names[p->m.edges[e].state]);
    compare_joins(p, list.items);
    compare_counts(p, list.items);
}

/* ---- the past ---- */

static void compare_completions(struct play *p, int node)
{
    const struct model_node *const n = &p->m.nodes[node];
    struct ff_event_list events = {0};
    int lives = 0;

    EXPECT_OK(p->t, ff_history(p->client, p->ids[node], NULL, 1000, &events, &p->t->err));
    keep_answer(p->t, events.memory);
    for (size_t i = 0; i < events.count; i++) {
        const struct ff_event_info *const event = &events.items[i];

        if (strcmp(event->kind, "completion") != 0)
            continue;
        EXPECT_INT(p->t, lives, event->generation);
        EXPECT(p->t, lives <= n->generation);
        EXPECT_TEXT(p->t, event_names[n->ends[lives]], event->type);
        EXPECT_TEXT(p->t, p->flow_id, event->flow_id);
        lives++;
    }
    EXPECT_INT(p->t, n->generation + (model_has_ended(n->state) ? 1 : 0), lives);
}

static void compare_member(struct play *p, const struct ff_info *info)
{
    const struct model_node *const n = &p->m.nodes[node_named(p, info->node)];

    EXPECT_TEXT(p->t, p->ids[node_named(p, info->node)], info->execution_id);
    EXPECT_INT(p->t, n->generation, info->generation);
    EXPECT_INT(p->t, n->replays, info->replay_count);
    EXPECT_INT(p->t, n->retries, info->retry_count);
}

void compare_past(struct play *p)
{
    struct ff_filter filter;
    struct ff_info_list page = {0};

    ff_filter_init(&filter);
    filter.flow_id = p->flow_id;
    filter.limit = 1000;
    EXPECT_OK(p->t, ff_list(p->client, &filter, &page, &p->t->err));
    keep_answer(p->t, page.memory);
    EXPECT_INT(p->t, p->m.node_count, (int64_t)page.count);
    for (size_t i = 0; i < page.count; i++)
        compare_member(p, &page.items[i]);
    for (int i = 0; i < p->m.node_count; i++)
        compare_completions(p, i);
}
