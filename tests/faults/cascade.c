/* SPDX-License-Identifier: Apache-2.0
 *
 * cascade.c -- scenarios of the cascade: hops and drains, one transaction each.
 *
 * Handed to the engine as its own loops do; here nobody else would. */
#include "background.h"

#include <string.h>

#include "ops/background.h"
#include "ops/flow.h"

#include "base/banned.h"

/* "a b c:any | ..." of support/flows.h, in the namespace and lane of the stage; kinds are names. */
static void given_graph(struct test *t, struct stage *s, const struct ff_flow_node *shapes,
                        size_t count, const char *const (*edges)[2], size_t edge_count)
{
    struct ff_submission works[3];
    struct ff_flow_node nodes[3];
    struct ff_flow_edge links[3] = {0};
    struct ff_flow_request request;
    struct ff_flow_made made = {0};

    for (size_t i = 0; i < count; i++) {
        works[i] = submission();
        works[i].lane = s->ns;
        works[i].kind = shapes[i].name;
        nodes[i] = shapes[i];
        nodes[i].work = &works[i];
    }
    for (size_t i = 0; i < edge_count; i++)
        links[i] = (struct ff_flow_edge){.from = edges[i][0], .to = edges[i][1]};
    ff_flow_request_init(&request);
    request.ns = s->ns;
    request.nodes = nodes;
    request.node_count = count;
    request.edges = links;
    request.edge_count = edge_count;
    EXPECT_OK(t, ff_flow_create(t->client, &request, &made, &t->err));
    memcpy(s->flow_id, made.flow_id, sizeof s->flow_id);
    for (size_t i = 0; i < made.count; i++)
        memcpy(s->ids[i], made.items[i].execution_id, FF_ID_BYTES);
    s->id_count = made.count;
    ff_answer_free(&made);
}

static void end_node(struct test *t, struct stage *s, const char *name, bool well)
{
    const char *const lanes[] = {s->ns};
    struct ff_claim_request r = claim_request();
    struct held held;

    r.lanes = lanes;
    r.lane_count = 1;
    r.kinds = &name;
    r.kind_count = 1;
    held = given_claim(t, &r);
    EXPECT_OK(t, well ? when_completed(t, &held, "1") : when_failed(t, &held, "permanent"));
}

static struct ff_uuid flow_of(struct test *t, const struct stage *s)
{
    struct ff_uuid id;

    EXPECT(t, ff_uuid_parse((struct ff_str){s->flow_id, strlen(s->flow_id)}, &id));
    return id;
}

static struct ff_exec_id node_of(struct test *t, const struct stage *s, const char *name)
{
    struct ff_exec_id id;

    EXPECT_OK(t, ff_member_id(flow_of(t, s), (struct ff_str){name, strlen(name)}, &id, &t->err));
    return id;
}

static ff_status dispatch(struct test *t, struct stage *s, const char *name, int32_t generation,
                          int32_t kind)
{
    const struct ff_dispatch_in in = {.hop = {node_of(t, s, name), generation, kind}};

    return run_op(t, FF_OP_HOP_DISPATCH, &in, sizeof in, NULL, 0);
}

/* ---- a hop: a leads to b and c ---- */

static void given_fork(struct test *t, struct stage *s, bool well)
{
    static const struct ff_flow_node nodes[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
    static const char *const edges[][2] = {{"a", "b"}, {"a", "c"}};

    given_graph(t, s, nodes, 3, edges, 2);
    end_node(t, s, "a", well);
}

void given_hop(struct test *t, struct stage *s)
{
    given_fork(t, s, true);
}

void given_bad_hop(struct test *t, struct stage *s)
{
    given_fork(t, s, false);
}

ff_status dispatch_hop(struct test *t, struct stage *s)
{
    return dispatch(t, s, "a", 0, FF_HOP_COMPLETION);
}

/* Its successor may be claimed, and is told what it has made. */
void given_next(struct test *t, struct stage *s)
{
    static const struct ff_flow_node nodes[] = {{.name = "a"}, {.name = "b"}};
    static const char *const edges[][2] = {{"a", "b"}};

    given_graph(t, s, nodes, 2, edges, 1);
    end_node(t, s, "a", true);
    EXPECT_OK(t, dispatch_hop(t, s));
}

static ff_status find(struct test *t, struct stage *s, ff_find_what what)
{
    const struct ff_find_in in = {
        .what = what, .limit = 100, .filter.namespace = {s->ns, strlen(s->ns)}};

    return run_op(t, FF_OP_HOP_FIND, &in, sizeof in, NULL, 0);
}

ff_status find_hops(struct test *t, struct stage *s)
{
    return find(t, s, FF_FIND_HOPS);
}

ff_status find_drains(struct test *t, struct stage *s)
{
    return find(t, s, FF_FIND_DRAINS);
}

ff_status find_flows(struct test *t, struct stage *s)
{
    return find(t, s, FF_FIND_FLOWS);
}

/* ---- what failed runs again ---- */

void given_last_skip(struct test *t, struct stage *s)
{
    given_bad_hop(t, s);
    EXPECT_OK(t, dispatch_hop(t, s));
    EXPECT_OK(t, dispatch(t, s, "b", 0, FF_HOP_COMPLETION));
}

/* With it the flow has ended, and not well. */
ff_status dispatch_last(struct test *t, struct stage *s)
{
    return dispatch(t, s, "c", 0, FF_HOP_COMPLETION);
}

void given_skipped(struct test *t, struct stage *s)
{
    given_last_skip(t, s);
    EXPECT_OK(t, dispatch_last(t, s));
}

ff_status replay_member(struct test *t, struct stage *s)
{
    return when_replayed(t, s->ids[0]);
}

/* What it waits for has failed: it is told what. */
ff_status replay_blamed(struct test *t, struct stage *s)
{
    const ff_status status = when_replayed(t, s->ids[1]);

    return status == FF_DEPENDENCIES_FAILED ? FF_OK : status;
}

ff_status replay_ancestors(struct test *t, struct stage *s)
{
    struct ff_replay_request r;

    ff_replay_init(&r);
    r.execution_id = s->ids[1];
    r.scope = "failed_ancestors";
    return ff_replay(t->client, &r, &t->answer.public_state, &t->answer.generation, &t->err);
}

void given_replayed(struct test *t, struct stage *s)
{
    given_skipped(t, s);
    EXPECT_OK(t, replay_member(t, s));
}

ff_status dispatch_reopening(struct test *t, struct stage *s)
{
    return dispatch(t, s, "a", 1, FF_HOP_REOPEN);
}

/* ---- siblings: c takes the first of a and b ---- */

/* A hop that decides a join: what it no longer needs is written down. */
void given_rivals_hop(struct test *t, struct stage *s)
{
    static const struct ff_flow_node nodes[] = {
        {.name = "a"}, {.name = "b"}, {.name = "c", .join = "any_of"}};
    static const char *const edges[][2] = {{"a", "c"}, {"b", "c"}};

    given_graph(t, s, nodes, 3, edges, 2);
    end_node(t, s, "a", true);
}

void given_rivals(struct test *t, struct stage *s)
{
    given_rivals_hop(t, s);
    EXPECT_OK(t, dispatch_hop(t, s));
}

ff_status drain_siblings(struct test *t, struct stage *s)
{
    /* The first decision of a join that has counted one edge. */
    const struct ff_group_drain_in in = {.drain = {node_of(t, s, "c"), 1}};

    return run_op(t, FF_OP_GROUP_DRAIN, &in, sizeof in, NULL, 0);
}

/* ---- a whole flow ---- */

void given_cancelled_flow(struct test *t, struct stage *s)
{
    given_flow(t, s);
    EXPECT_OK(t, ff_flow_cancel(t->client, s->flow_id, "not needed", "cancel_all", NULL, &t->err));
}

ff_status drain_flow(struct test *t, struct stage *s)
{
    const struct ff_flow_drain_in in = {.flow_id = flow_of(t, s)};

    return run_op(t, FF_OP_FLOW_DRAIN, &in, sizeof in, NULL, 0);
}

/* With it the flow has ended. */
void given_last_hop(struct test *t, struct stage *s)
{
    static const struct ff_flow_node nodes[] = {{.name = "a"}};

    given_graph(t, s, nodes, 1, NULL, 0);
    end_node(t, s, "a", true);
}

void given_forgotten_flow(struct test *t, struct stage *s)
{
    given_last_hop(t, s);
    EXPECT_OK(t, dispatch_hop(t, s));
    wait_a_moment(t);
    EXPECT_OK(t, sweep_retention(t, s));
}

ff_status remove_flow(struct test *t, struct stage *s)
{
    const struct ff_flow_remove_in in = {.flow_id = flow_of(t, s)};

    return run_op(t, FF_OP_FLOW_REMOVE, &in, sizeof in, NULL, 0);
}

/* Its members have gone; it goes last. */
void given_emptied_flow(struct test *t, struct stage *s)
{
    given_forgotten_flow(t, s);
    EXPECT_OK(t, remove_flow(t, s));
}
