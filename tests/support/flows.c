/* SPDX-License-Identifier: Apache-2.0
 *
 * flows.c -- what conformance tests say about flows. */
#include "support/flows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX   1024
#define STATE_BYTES 8192

static const char *part(struct test *t, const char **at, const char *stops)
{
    const size_t len = strcspn(*at, stops);
    char *const copy = keep(t, len + 1);

    memcpy(copy, *at, len);
    *at += len;
    return copy;
}

static void read_join(struct test *t, const char **at, struct ff_flow_node *node)
{
    const char *join;

    if (**at != ':')
        return;
    (*at)++;
    join = part(t, at, " !|");
    node->join = strcmp(join, "any") == 0 ? "any_of" : "quorum";
    if (node->join[0] == 'q')
        node->k = strtol(join, NULL, 10);
    if (**at == '!') {
        node->on_satisfied = "let_run";
        (*at)++;
    }
}

struct ff_flow_request *graph(struct test *t, const char *text)
{
    struct ff_flow_request *const r = keep(t, sizeof *r);
    struct ff_flow_node *const nodes = keep(t, PARTS_MAX * sizeof *nodes);
    struct ff_flow_edge *const edges = keep(t, PARTS_MAX * sizeof *edges);
    struct ff_submission *const work = keep(t, sizeof *work);
    const char *at = text;

    *work = submission();
    ff_flow_request_init(r);
    r->nodes = nodes;
    r->edges = edges;
    for (at += strspn(at, " "); *at && *at != '|'; at += strspn(at, " ")) {
        struct ff_flow_node *const node = &nodes[r->node_count++];

        node->name = part(t, &at, " :|");
        node->work = work;
        read_join(t, &at, node);
    }
    for (at += strspn(at, "| "); *at; at += strspn(at, " ")) {
        struct ff_flow_edge *const edge = &edges[r->edge_count++];

        edge->from = part(t, &at, ">");
        at++;
        edge->to = part(t, &at, " =");
        if (*at == '=') {
            edge->pass = "input";
            at++;
        }
    }
    return r;
}

ff_status when_flow_created(struct test *t, const struct ff_flow_request *r,
                            struct ff_flow_made *ret)
{
    struct ff_flow_made made = {0};
    const ff_status status = ff_flow_create(t->client, r, &made, &t->err);

    if (status != FF_OK)
        return status;
    keep_answer(t, made.memory);
    if (ret)
        *ret = made;
    return FF_OK;
}

struct flow given_flow(struct test *t, const char *text)
{
    struct ff_flow_made made;
    struct flow flow;

    EXPECT_OK(t, when_flow_created(t, graph(t, text), &made));
    EXPECT(t, made.created);
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    return flow;
}

ff_status when_grown(struct test *t, const struct flow *flow, const char *text,
                     struct ff_flow_made *ret)
{
    struct ff_flow_request *const r = graph(t, text);
    struct ff_flow_made made = {0};
    ff_status status;

    r->flow_id = flow->id;
    status = ff_flow_grow(t->client, r, &made, &t->err);
    if (status != FF_OK)
        return status;
    keep_answer(t, made.memory);
    if (ret)
        *ret = made;
    return FF_OK;
}

ff_status when_flow_cancelled(struct test *t, const struct flow *flow, const char *policy)
{
    return ff_flow_cancel(t->client, flow->id, "not needed", policy, NULL, &t->err);
}

const struct ff_flow_info *look_flow(struct test *t, const struct flow *flow)
{
    struct ff_flow_info_list list = {0};

    EXPECT_OK(t, ff_flow_get(t->client, flow->id, &list, &t->err));
    keep_answer(t, list.memory);
    return list.items;
}

const struct ff_flow_join_info *look_join(struct test *t, const struct flow *flow, const char *node)
{
    const struct ff_flow_info *const info = look_flow(t, flow);

    for (size_t i = 0; i < info->join_count; i++)
        if (strcmp(info->joins[i].node, node) == 0)
            return &info->joins[i];
    FAIL(t, "node '%s' has no join", node);
}

const char *node_id(struct test *t, const struct flow *flow, const char *node)
{
    const struct ff_flow_info *const info = look_flow(t, flow);

    for (size_t i = 0; i < info->node_info_count; i++)
        if (strcmp(info->nodes[i].name, node) == 0)
            return info->nodes[i].execution_id;
    FAIL(t, "there is no node '%s'", node);
}

static void states(struct test *t, const struct flow *flow, char out[STATE_BYTES])
{
    struct ff_flow_info_list list = {0};
    size_t used;

    EXPECT_OK(t, ff_flow_get(t->client, flow->id, &list, &t->err));
    used = (size_t)snprintf(out, STATE_BYTES, "%s", list.items->state);
    for (size_t i = 0; i < list.items->node_info_count && used < STATE_BYTES; i++)
        used += (size_t)snprintf(out + used, STATE_BYTES - used, " %s:%s",
                                 list.items->nodes[i].name, list.items->nodes[i].public_state);
    ff_answer_free(&list);
}

bool flow_is(struct test *t, const struct flow *flow, const char *want)
{
    char got[STATE_BYTES];

    states(t, flow, got);
    return strcmp(got, want) == 0;
}

void expect_flow(struct test *t, const char *file, int line, const struct flow *flow,
                 const char *want)
{
    char got[STATE_BYTES];

    states(t, flow, got);
    if (strcmp(got, want) != 0)
        test_fail(t, file, line, "flow is '%s', not '%s'", got, want);
}

void wait_flow(struct test *t, const char *file, int line, const struct flow *flow,
               const char *want)
{
    const int64_t until_ms = test_mono_ms() + TEST_WAIT_MS;

    while (!flow_is(t, flow, want)) {
        if (test_mono_ms() > until_ms)
            expect_flow(t, file, line, flow, want);
        test_pause();
    }
}

static bool is_claimable(struct test *t, const char *id)
{
    return is_in_state(t, id, "waiting");
}

struct held given_node(struct test *t, const struct flow *flow, const char *node)
{
    const char *const id = node_id(t, flow, node);
    struct ff_claim_request r = claim_request();
    struct held *const all = keep(t, 64 * sizeof *all);
    struct held ret = {0};
    size_t count;

    WAIT_UNTIL(t, is_claimable(t, id));
    r.max = 64;
    count = when_claimed_many(t, &r, all, 64);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].id, id) == 0)
            ret = all[i];
        else
            EXPECT_OK(t, when_released(t, &all[i], "not this one"));
    }
    EXPECT_TEXT(t, id, ret.id);
    return ret;
}

void when_node_completed(struct test *t, const struct flow *flow, const char *node)
{
    const struct held held = given_node(t, flow, node);
    char result[64];

    (void)snprintf(result, sizeof result, "\"%.32s\"", node);
    EXPECT_OK(t, when_completed(t, &held, result));
}

void when_nodes_completed(struct test *t, const struct flow *flow, const char *nodes)
{
    char *const names = keep(t, strlen(nodes) + 1);
    char *rest = NULL;

    (void)snprintf(names, strlen(nodes) + 1, "%s", nodes);
    for (const char *node = strtok_r(names, " ", &rest); node; node = strtok_r(NULL, " ", &rest))
        when_node_completed(t, flow, node);
}

void when_node_failed(struct test *t, const struct flow *flow, const char *node)
{
    const struct held held = given_node(t, flow, node);

    EXPECT_OK(t, when_failed(t, &held, "permanent"));
}

void expect_reconcilers_idle(struct test *t)
{
    struct ff_scanner_list list = {0};

    EXPECT_OK(t, ff_scanners(t->client, &list, &t->err));
    keep_answer(t, list.memory);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].name, "dependency") == 0 ||
            strcmp(list.items[i].name, "edge_cancel_reconciler") == 0)
            EXPECT_INT(t, 0, list.items[i].processed + list.items[i].errors);
}
