/* SPDX-License-Identifier: Apache-2.0
 *
 * graphs.c -- flows of a world, in a line of text each. */
#include "support/graphs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/limits.h"
#include "base/strbuf.h"

#define PARTS_MAX 512

static struct ff_str part_until(const char **at, const char *stops)
{
    const size_t len = strcspn(*at, stops);
    const struct ff_str part = {*at, len};

    *at += len;
    return part;
}

static void read_join(struct ff_graph_node *node, const char **at)
{
    struct ff_str join;

    node->k = FF_NULL64;
    node->on_satisfied = FF_NULL32;
    if (**at != ':')
        return;
    (*at)++;
    join = part_until(at, " !|");
    node->policy = ff_str_eq(join, FF_STR("any")) ? FF_JOIN_ANY_OF : FF_JOIN_QUORUM;
    if (node->policy == FF_JOIN_QUORUM && !ff_str_to_i64(join, &node->k))
        abort();
    if (**at == '!') {
        node->on_satisfied = FF_ON_SATISFIED_LET_RUN;
        (*at)++;
    }
}

struct ff_graph_in world_graph(struct world *world, const char *text)
{
    struct ff_graph_in graph = {0};
    const char *at = text;

    graph.shape.nodes = ff_arena_array(&world->arena, PARTS_MAX, sizeof *graph.shape.nodes);
    graph.shape.edges = ff_arena_array(&world->arena, PARTS_MAX, sizeof *graph.shape.edges);
    graph.nodes = ff_arena_array(&world->arena, PARTS_MAX, sizeof *graph.nodes);
    for (at += strspn(at, " "); *at && *at != '|'; at += strspn(at, " ")) {
        struct ff_graph_node *const node = &graph.shape.nodes[graph.shape.node_count];

        node->name = part_until(&at, " :|");
        read_join(node, &at);
        graph.nodes[graph.shape.node_count++].submit = world_submission(world);
    }
    for (at += strspn(at, "| "); *at; at += strspn(at, " ")) {
        struct ff_graph_edge *const edge = &graph.shape.edges[graph.shape.edge_count++];

        edge->from = part_until(&at, ">");
        at++;
        edge->to = part_until(&at, " =");
        edge->pass = *at == '=' ? FF_PASS_INPUT : FF_PASS_UPSTREAM;
        at += *at == '=' ? 1 : 0;
    }
    return graph;
}

struct ff_flow_create_in world_flow_of(struct world *world, const char *text)
{
    struct ff_flow_create_in in = {.kind = WORLD_FLOW, .graph = world_graph(world, text)};
    uint8_t random[10] = {0};

    ff_put_be64(random, ++world->ops);
    in.flow_id = ff_flow_id_mint(world->now_ms, random);
    if (ff_flow_prepare(&in, &world->settings, &world->arena, &world->error) != FF_OK) {
        (void)fprintf(stderr, "graph: %s\n", world->error.message);
        abort();
    }
    return in;
}

struct ff_uuid world_given_flow(struct world *world, const char *text)
{
    struct ff_flow_create_in in = world_flow_of(world, text);
    struct ff_flow_create_out out;

    if (world_run(world, FF_OP_FLOW_CREATE, &in, &out) != FF_OK || !out.created)
        abort();
    return out.flow_id;
}

ff_status world_grow(struct world *world, struct ff_uuid flow_id, const char *text,
                     struct ff_flow_grow_out *out)
{
    struct ff_flow_grow_in in = {
        .flow_id = flow_id, .expected_revision = FF_NULL64, .graph = world_graph(world, text)};
    const ff_status status = ff_grow_prepare(&in, &world->settings, &world->arena, &world->error);

    return status == FF_OK ? world_run(world, FF_OP_FLOW_GROW, &in, out) : status;
}

ff_status world_flow_cancel(struct world *world, struct ff_uuid flow_id, int32_t policy,
                            struct ff_flow_cancel_out *out)
{
    struct ff_flow_cancel_in in = {.flow_id = flow_id,
                                   .policy = policy,
                                   .reason = FF_STR("not needed"),
                                   .by = FF_STR("alice")};

    return world_run(world, FF_OP_FLOW_CANCEL, &in, out);
}

/* --- looking --- */

struct ff_exec_id world_node(struct ff_uuid flow_id, const char *name)
{
    struct ff_exec_id id;

    if (ff_member_id(flow_id, ff_str_of(name), &id, NULL) != FF_OK)
        abort();
    return id;
}

struct ff_execution *world_member(struct world *world, struct ff_uuid flow_id, const char *name)
{
    return world_execution(world, world_node(flow_id, name));
}

struct ff_flow *world_flow(struct world *world, struct ff_uuid flow_id)
{
    const struct ff_flow key = ff_flow_key(flow_id);

    return world_row(world, FF_TABLE_FLOW, &key);
}

struct ff_edge *world_edge(struct world *world, struct ff_uuid flow_id, const char *from,
                           const char *to)
{
    const struct ff_edge key = {.partition_key = world_node(flow_id, from).partition,
                                .execution_id = world_node(flow_id, from).uuid,
                                .downstream_id = world_node(flow_id, to).uuid};

    return world_row(world, FF_TABLE_EDGE, &key);
}

struct ff_edge_group *world_group(struct world *world, struct ff_uuid flow_id, const char *name)
{
    const struct ff_edge_group key = {.partition_key = world_node(flow_id, name).partition,
                                      .execution_id = world_node(flow_id, name).uuid};

    return world_row(world, FF_TABLE_EDGE_GROUP, &key);
}

static int by_node(const void *a, const void *b)
{
    const struct ff_execution *const x = *(const struct ff_execution *const *)a;
    const struct ff_execution *const y = *(const struct ff_execution *const *)b;

    return ff_str_cmp(x->node, y->node);
}

const char *world_states(struct world *world, struct ff_uuid flow_id)
{
    const struct ff_execution *members[WORLD_ROWS_MAX];
    struct ff_strbuf text = ff_strbuf_in(&world->arena, 65536);
    struct ff_str ret;
    size_t count = 0;

    for (size_t i = 0; i < world->row_count[FF_TABLE_EXECUTION]; i++) {
        const struct ff_execution *const e = world->rows[FF_TABLE_EXECUTION][i];

        if (ff_uuid_eq(e->flow_id, flow_id))
            members[count++] = e;
    }
    qsort(members, count, sizeof members[0], by_node);
    for (size_t i = 0; i < count; i++)
        ff_strbuf_addf(&text, "%s" FF_STR_FMT ":%s", i ? " " : "", FF_STR_ARG(members[i]->node),
                       ff_state_public_name(members[i]->state));
    if (ff_strbuf_take(&text, &ret, NULL) != FF_OK)
        abort();
    return ret.ptr;
}

/* --- working --- */

struct ff_task_ref world_take(struct world *world, struct ff_uuid flow_id, const char *name)
{
    const struct ff_exec_id wanted = world_node(flow_id, name);
    struct ff_task_ref ret = {0};
    struct ff_claim_out out;
    struct ff_state_out state;
    bool found = false;

    if (world_claim(world, "w1", FF_TASKS_MAX, &out) == 0)
        abort();
    for (size_t i = 0; i < out.task_count; i++) {
        if (ff_exec_id_eq(out.tasks[i].id, wanted)) {
            ret = world_task(&out, i);
            found = true;
        } else if (world_release(world, world_task(&out, i), &state) != FF_OK) {
            abort();
        }
    }
    if (!found) {
        (void)fprintf(stderr, "cannot claim '%s'\n", name);
        abort();
    }
    return ret;
}

void world_end(struct world *world, struct ff_uuid flow_id, const char *name, const char *how)
{
    const struct ff_task_ref task = world_take(world, flow_id, name);
    struct ff_state_out out;
    ff_status status;

    if (strcmp(how, "ok") == 0)
        status = world_complete(world, task, "42", &out);
    else
        status = world_fail(world, task, FF_FAILURE_PERMANENT, &out);
    if (status != FF_OK)
        abort();
}

/* --- the cascade --- */

static struct ff_find_out find(struct world *world, ff_find_what what)
{
    struct ff_find_in in = {.what = what, .limit = FF_FIND_ROWS};
    struct ff_find_out out;

    if (world_run(world, FF_OP_HOP_FIND, &in, &out) != FF_OK)
        abort();
    return out;
}

int64_t world_tick(struct world *world)
{
    const struct ff_find_out found = find(world, FF_FIND_HOPS);
    int64_t edges = 0;

    for (size_t i = 0; i < found.count; i++) {
        struct ff_dispatch_out out = {.more = true};

        while (out.more) {
            struct ff_dispatch_in in = {.hop = found.hops[i]};

            if (world_run(world, FF_OP_HOP_DISPATCH, &in, &out) != FF_OK) {
                (void)fprintf(stderr, "dispatch: %s\n", world->error.message);
                abort();
            }
            edges += out.edges;
        }
    }
    return edges;
}

static size_t drain_all(struct world *world)
{
    const struct ff_find_out groups = find(world, FF_FIND_DRAINS);
    const struct ff_find_out flows = find(world, FF_FIND_FLOWS);
    struct ff_drain_out out;

    for (size_t i = 0; i < groups.count; i++) {
        struct ff_group_drain_in in = {.drain = groups.drains[i]};

        if (world_run(world, FF_OP_GROUP_DRAIN, &in, &out) != FF_OK)
            abort();
    }
    for (size_t i = 0; i < flows.count; i++) {
        struct ff_flow_drain_in drain = {.flow_id = flows.flows[i]};
        struct ff_flow_remove_in removal = {.flow_id = flows.flows[i]};
        struct ff_flow_remove_out removed;

        if (flows.removed[i] ? world_run(world, FF_OP_FLOW_REMOVE, &removal, &removed) != FF_OK
                             : world_run(world, FF_OP_FLOW_DRAIN, &drain, &out) != FF_OK)
            abort();
    }
    return groups.count + flows.count;
}

int world_settle(struct world *world)
{
    int ticks = 0;

    while (find(world, FF_FIND_HOPS).count > 0 || drain_all(world) > 0) {
        (void)world_tick(world);
        if (++ticks > 10000)
            abort();
    }
    return ticks;
}

/* --- auditing --- */

static void audit_group(struct world *world, const struct ff_edge_group *group)
{
    const struct ff_exec_id id = {group->partition_key, group->execution_id};
    const struct ff_execution *const node = world_execution(world, id);
    int32_t counts[4] = {0};

    for (size_t i = 0; i < world->row_count[FF_TABLE_EDGE]; i++) {
        const struct ff_edge *const edge = world->rows[FF_TABLE_EDGE][i];

        if (ff_uuid_eq(edge->downstream_id, group->execution_id))
            counts[edge->outcome]++;
    }
    assert(node);
    assert(counts[FF_EDGE_SUCCESS] == group->success && counts[FF_EDGE_FAIL] == group->fail &&
           counts[FF_EDGE_SKIP] == group->skip);
    assert(counts[0] + counts[1] + counts[2] + counts[3] == group->total);
    assert(group->group_state == (int32_t)ff_group_evaluate(group));
    assert(ff_state_is_blocked(node->state) ? group->group_state == FF_GROUP_PENDING : true);
    if (node->state == FF_STATE_SKIPPED)
        assert(group->group_state == FF_GROUP_IMPOSSIBLE);
    else if (!ff_state_is_terminal(node->state) && !ff_state_is_blocked(node->state))
        assert(group->group_state == FF_GROUP_SATISFIED);
}

static void audit_flow(struct world *world, const struct ff_flow *flow)
{
    struct ff_flow recount = *flow;
    int32_t nodes = 0;

    recount.success_count = recount.failed_count = recount.cancelled_count = 0;
    recount.expired_count = recount.skipped_count = 0;
    for (size_t i = 0; i < world->row_count[FF_TABLE_EXECUTION]; i++) {
        const struct ff_execution *const e = world->rows[FF_TABLE_EXECUTION][i];

        if (!ff_uuid_eq(e->flow_id, flow->flow_id))
            continue;
        nodes++;
        recount.success_count += e->state == FF_STATE_SUCCESS;
        recount.failed_count += e->state == FF_STATE_FAILED;
        recount.cancelled_count += e->state == FF_STATE_CANCELLED;
        recount.expired_count += e->state == FF_STATE_EXPIRED;
        recount.skipped_count += e->state == FF_STATE_SKIPPED;
    }
    assert(nodes == flow->node_count);
    assert(memcmp(&recount, flow, sizeof recount) == 0);
    assert((ff_flow_ended(flow) == nodes) == (flow->finished_at_ms != FF_NULL64));
    assert(ff_flow_ended(flow) == nodes || flow->state == FF_FLOW_RUNNING ||
           flow->state == FF_FLOW_CANCELLED);
}

void world_audit(struct world *world)
{
    assert(find(world, FF_FIND_HOPS).count == 0);
    for (size_t i = 0; i < world->row_count[FF_TABLE_EDGE_GROUP]; i++)
        audit_group(world, world->rows[FF_TABLE_EDGE_GROUP][i]);
    for (size_t i = 0; i < world->row_count[FF_TABLE_FLOW]; i++)
        audit_flow(world, world->rows[FF_TABLE_FLOW][i]);
    for (size_t i = 0; i < world->row_count[FF_TABLE_EDGE]; i++) {
        const struct ff_edge *const edge = world->rows[FF_TABLE_EDGE][i];
        const struct ff_execution *const from =
            world_execution(world, (struct ff_exec_id){edge->partition_key, edge->execution_id});

        assert(from);
        assert(!ff_state_is_terminal(from->state) || edge->outcome != FF_EDGE_UNRESOLVED);
    }
}
