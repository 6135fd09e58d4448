/* SPDX-License-Identifier: Apache-2.0
 *
 * graphs.c -- scenarios of flows, one call each.
 *
 * What follows from a call by itself, hops and drains, is no part of it: the engine of the sweeps
 * does that with the next call. So a cancelled flow leaves its members alone here. */
#include "background.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* a -> b, a -> c */
static ff_status make(struct test *t, struct stage *s, const char *const (*edges)[2],
                      size_t edge_count, const char *const *names, size_t count, bool grow)
{
    struct ff_submission works[3];
    struct ff_flow_node nodes[3] = {0};
    struct ff_flow_edge links[3] = {0};
    struct ff_flow_request request;
    struct ff_flow_made made = {0};
    ff_status status;

    for (size_t i = 0; i < count; i++) {
        works[i] = submission();
        works[i].lane = s->ns;
        works[i].kind = names[i];
        nodes[i].name = names[i];
        nodes[i].work = &works[i];
    }
    for (size_t i = 0; i < edge_count; i++)
        links[i] = (struct ff_flow_edge){.from = edges[i][0], .to = edges[i][1]};
    ff_flow_request_init(&request);
    request.ns = grow ? NULL : s->ns;
    request.idempotency_key = grow ? NULL : "the flow";
    request.flow_id = grow ? s->flow_id : NULL;
    request.nodes = nodes;
    request.node_count = count;
    request.edges = links;
    request.edge_count = edge_count;
    status = grow ? ff_flow_grow(t->client, &request, &made, &t->err)
                  : ff_flow_create(t->client, &request, &made, &t->err);
    if (status == FF_OK)
        memcpy(s->flow_id, made.flow_id, sizeof s->flow_id);
    ff_answer_free(&made);
    return status;
}

ff_status create_flow(struct test *t, struct stage *s)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char *const edges[][2] = {{"a", "b"}, {"a", "c"}};

    return make(t, s, edges, 2, names, 3, false);
}

void given_flow(struct test *t, struct stage *s)
{
    EXPECT_OK(t, create_flow(t, s));
}

ff_status grow_flow(struct test *t, struct stage *s)
{
    static const char *const names[] = {"d"};
    static const char *const edges[][2] = {{"b", "d"}, {"c", "d"}};

    return make(t, s, edges, 2, names, 1, true);
}

ff_status cancel_flow(struct test *t, struct stage *s)
{
    struct ff_flow_cancelled answer = {0};
    const ff_status status =
        ff_flow_cancel(t->client, s->flow_id, "not needed", "cancel_flow_only", &answer, &t->err);

    ff_answer_free(&answer);
    return status;
}

static ff_status when_flow_looked(struct test *t, const char *flow_id)
{
    struct ff_flow_info_list whole = {0};
    const ff_status status = ff_flow_get(t->client, flow_id, &whole, &t->err);

    ff_answer_free(&whole);
    return status;
}

ff_status read_flow(struct test *t, struct stage *s)
{
    return when_flow_looked(t, s->flow_id);
}

ff_status read_flow_by_prefix(struct test *t, struct stage *s)
{
    char prefix[FF_UUID_BYTES];

    (void)snprintf(prefix, sizeof prefix, "%.30s", s->flow_id);
    return when_flow_looked(t, prefix);
}

ff_status read_flows(struct test *t, struct stage *s)
{
    const struct ff_flow_filter filter = {.size = sizeof filter, .ns = s->ns};
    struct ff_flow_info_list page = {0};
    const ff_status status = ff_flow_list(t->client, &filter, &page, &t->err);

    ff_answer_free(&page);
    return status;
}
