/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.c -- which parts of a flow's graph are drawn in one place, and in which order.
 *
 * A fan of a thousand equal nodes is one place, and so is a long row of nodes of one kind that are
 * in the same state: the shape stays what it is, the drawing stays small. Everything is linear in
 * the graph but for sorting. Tests: tests/unit/test_cli_graph.c. */
#include "cli/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#include "base/banned.h"

#define SIDE_BY_SIDE_MIN 4 /* equal nodes are put together from here on */
#define ROW_MIN          6 /* so is the middle of such a row */

/* For each node the nodes at the other end of its edges, in order. */
struct ends {
    size_t *at; /* node_count + 1 */
    size_t *nodes;
};

struct plan {
    struct ff_arena *arena;
    const struct ff_flow_info *flow;
    size_t count; /* nodes */
    struct ends out, in;
    size_t *part;                           /* of each node: see part_of */
    uint64_t *shape;                        /* hash of a node's ends */
    const struct ff_flow_join_info **joins; /* NULL: nothing to tell */
    size_t *group;                          /* of each node: the node that stands for it */
    size_t *next;                           /* the next member of its group; SIZE_MAX: none */
    size_t *size;                           /* of the group, at the node that stands for it */
    bool *is_row;
};

static int by_name(const void *key, const void *node)
{
    return strcmp(key, ((const struct ff_flow_node_info *)node)->name);
}

/* SIZE_MAX: there is no such node. */
static size_t node_named(const struct plan *plan, const char *name)
{
    const struct ff_flow_node_info *const nodes = plan->flow->nodes;
    const struct ff_flow_node_info *const found =
        bsearch(name, nodes, plan->count, sizeof *nodes, by_name);

    return found ? (size_t)(found - nodes) : SIZE_MAX;
}

static int by_number(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return x < y ? -1 : x > y;
}

static size_t end_count(const struct ends *ends, size_t node)
{
    return ends->at[node + 1] - ends->at[node];
}

/* Edges as (from, to) in `edges`, `count` of them. */
static void fill_ends(struct plan *plan, struct ends *ends, const size_t (*edges)[2], size_t count,
                      int from)
{
    ends->at = ff_arena_array(plan->arena, plan->count + 2, sizeof *ends->at);
    ends->nodes = ff_arena_array(plan->arena, count, sizeof *ends->nodes);
    if (!ends->at || !ends->nodes)
        return;
    for (size_t i = 0; i < count; i++)
        ends->at[edges[i][from] + 2]++;
    for (size_t i = 2; i < plan->count + 2; i++)
        ends->at[i] += ends->at[i - 1];
    for (size_t i = 0; i < count; i++)
        ends->nodes[ends->at[edges[i][from] + 1]++] = edges[i][1 - from];
    for (size_t i = 0; i < plan->count; i++)
        qsort(ends->nodes + ends->at[i], end_count(ends, i), sizeof *ends->nodes, by_number);
}

static void read_edges(struct plan *plan)
{
    const struct ff_flow_info *const flow = plan->flow;
    size_t(*const edges)[2] = ff_arena_array(plan->arena, flow->edge_info_count, sizeof *edges);
    size_t count = 0;

    for (size_t i = 0; edges && i < flow->edge_info_count; i++) {
        edges[count][0] = node_named(plan, flow->edges[i].from);
        edges[count][1] = node_named(plan, flow->edges[i].to);
        count += edges[count][0] != SIZE_MAX && edges[count][1] != SIZE_MAX ? 1 : 0;
    }
    if (!edges)
        return;
    fill_ends(plan, &plan->out, (const size_t(*)[2])edges, count, 0);
    fill_ends(plan, &plan->in, (const size_t(*)[2])edges, count, 1);
}

/* ---- putting together -------------------------------------------------------------------------
 */

static int compare_ends(const struct ends *ends, size_t a, size_t b)
{
    const size_t count = end_count(ends, a);

    if (count != end_count(ends, b))
        return count < end_count(ends, b) ? -1 : 1;
    return memcmp(ends->nodes + ends->at[a], ends->nodes + ends->at[b],
                  count * sizeof *ends->nodes);
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* What they wait for, not what has come of it so far. */
static int compare_joins(const struct ff_flow_join_info *a, const struct ff_flow_join_info *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    if (a->k != b->k)
        return a->k < b->k ? -1 : 1;
    const int policy = compare_texts(a->policy, b->policy);
    return policy ? policy : compare_texts(a->on_satisfied, b->on_satisfied);
}

static int compare_shape(const struct plan *plan, size_t a, size_t b)
{
    if (plan->shape[a] != plan->shape[b])
        return plan->shape[a] < plan->shape[b] ? -1 : 1;
    int diff = compare_texts(plan->flow->nodes[a].kind, plan->flow->nodes[b].kind);
    if (diff == 0)
        diff = compare_joins(plan->joins[a], plan->joins[b]);
    if (diff == 0)
        diff = compare_ends(&plan->in, a, b);
    return diff ? diff : compare_ends(&plan->out, a, b);
}

static int by_shape(const void *a, const void *b, void *plan)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const int shape = compare_shape(plan, x, y);

    return shape ? shape : by_number(a, b);
}

static uint64_t hash_ends(const struct ends *ends, size_t node)
{
    static const struct ff_hash_seed seed = {0};

    return ff_hash_bytes(seed, ends->nodes + ends->at[node],
                         end_count(ends, node) * sizeof *ends->nodes);
}

/* The nodes nodes[0..count) are one place from now on, in this order. */
static void put_together(struct plan *plan, const size_t *nodes, size_t count, bool is_row)
{
    for (size_t i = 0; i < count; i++) {
        plan->group[nodes[i]] = nodes[0];
        plan->next[nodes[i]] = i + 1 < count ? nodes[i + 1] : SIZE_MAX;
    }
    plan->size[nodes[0]] = count;
    plan->is_row[nodes[0]] = is_row;
}

static void find_equals(struct plan *plan)
{
    size_t *const order = ff_arena_array(plan->arena, plan->count, sizeof *order);

    for (size_t i = 0; order && i < plan->count; i++) {
        order[i] = i;
        plan->shape[i] = hash_ends(&plan->out, i) * 31 + hash_ends(&plan->in, i);
    }
    if (!order)
        return;
    qsort_r(order, plan->count, sizeof *order, by_shape, plan);
    for (size_t from = 0, to; from < plan->count; from = to) {
        for (to = from + 1; to < plan->count && compare_shape(plan, order[from], order[to]) == 0;)
            to++;
        if (to - from >= SIDE_BY_SIDE_MIN)
            put_together(plan, order + from, to - from, false);
    }
}

/* The only node after `node`, if `node` is the only one before it and both are of one kind and in
 * one state. */
static size_t next_in_row(const struct plan *plan, size_t node)
{
    const struct ff_flow_node_info *const nodes = plan->flow->nodes;
    size_t next;

    if (end_count(&plan->out, node) != 1)
        return SIZE_MAX;
    next = plan->out.nodes[plan->out.at[node]];
    if (end_count(&plan->in, next) != 1 || compare_texts(nodes[node].kind, nodes[next].kind) != 0 ||
        strcmp(nodes[node].public_state, nodes[next].public_state) != 0)
        return SIZE_MAX;
    return next;
}

static void find_rows(struct plan *plan)
{
    size_t *const row = ff_arena_array(plan->arena, plan->count, sizeof *row);
    bool *const has_before = ff_arena_array(plan->arena, plan->count, sizeof *has_before);

    if (!row || !has_before)
        return;
    for (size_t i = 0; i < plan->count; i++)
        if (next_in_row(plan, i) != SIZE_MAX)
            has_before[next_in_row(plan, i)] = true;
    for (size_t i = 0; i < plan->count; i++) {
        size_t len = 0;

        for (size_t at = i; !has_before[i] && at != SIZE_MAX && len < plan->count;
             at = next_in_row(plan, at))
            row[len++] = at;
        if (len >= ROW_MIN) /* both ends stay visible */
            put_together(plan, row + 1, len - 2, true);
    }
}

/* ---- the order --------------------------------------------------------------------------------
 */

static size_t last_member(const struct plan *plan, size_t node)
{
    while (plan->next[node] != SIZE_MAX)
        node = plan->next[node];
    return node;
}

/* The places after (before) the one that `node` stands for, each once, in order. */
static size_t neighbours(const struct plan *plan, const struct ends *ends, size_t node, size_t *out)
{
    const size_t from = ends == &plan->out && plan->is_row[node] ? last_member(plan, node) : node;
    size_t count = 0;

    for (size_t i = ends->at[from]; i < ends->at[from + 1]; i++)
        out[count++] = plan->group[ends->nodes[i]];
    qsort(out, count, sizeof *out, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || out[kept - 1] != out[i])
            out[kept++] = out[i];
    return kept;
}

/* Equal nodes wait alike, but need not have heard the same: then only how they wait is told. */
static const struct ff_flow_join_info *common_join(const struct plan *plan, size_t node)
{
    const struct ff_flow_join_info *const first = plan->joins[node];
    bool differs = false;

    for (size_t i = plan->next[node]; first && i != SIZE_MAX; i = plan->next[i]) {
        const struct ff_flow_join_info *const join = plan->joins[i];

        differs = differs || join->success != first->success || join->fail != first->fail ||
                  join->skip != first->skip || strcmp(join->group_state, first->group_state) != 0;
    }
    if (!differs)
        return first;
    struct ff_flow_join_info *const common = ff_arena_array(plan->arena, 1, sizeof *common);
    if (common)
        *common = (struct ff_flow_join_info){.policy = first->policy,
                                             .on_satisfied = first->on_satisfied,
                                             .group_state = "",
                                             .k = first->k,
                                             .total = first->total};
    return common;
}

static void fill_item(const struct plan *plan, size_t node, struct ff_drawn *item)
{
    const struct ff_flow_node_info *const nodes = plan->flow->nodes;
    const size_t ends = end_count(&plan->out, last_member(plan, node));
    size_t at = 0;

    *item = (struct ff_drawn){
        .first = &nodes[node],
        .last = &nodes[last_member(plan, node)],
        .count = plan->size[node],
        .is_row = plan->is_row[node],
        .state = nodes[node].public_state,
        .join = plan->is_row[node] ? NULL : common_join(plan, node),
        .members = ff_arena_array(plan->arena, plan->size[node], sizeof(size_t)),
        .to = ff_arena_array(plan->arena, ends, sizeof(size_t)),
    };
    for (size_t i = node; item->members && i != SIZE_MAX; i = plan->next[i]) {
        item->members[at++] = i;
        if (ff_graph_urgency(nodes[i].public_state) < ff_graph_urgency(item->state))
            item->state = nodes[i].public_state;
    }
    if (item->to)
        item->to_count = neighbours(plan, &plan->out, node, item->to);
}

/* The first node of those that edges connect with `node`, whichever way they point. */
static size_t part_of(const struct plan *plan, size_t node)
{
    while (plan->part[node] != node)
        node = plan->part[node] = plan->part[plan->part[node]];
    return node;
}

static void find_parts(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        plan->part[i] = i;
    for (size_t i = 0; i < plan->count; i++)
        for (size_t e = plan->out.at[i]; e < plan->out.at[i + 1]; e++) {
            const size_t a = part_of(plan, i), b = part_of(plan, plan->out.nodes[e]);

            plan->part[ff_max_size(a, b)] = ff_min_size(a, b);
        }
}

/* The last one first: they are taken from a stack. */
static int by_part_down(const void *a, const void *b, void *plan)
{
    const size_t x = part_of(plan, *(const size_t *)a), y = part_of(plan, *(const size_t *)b);

    return x != y ? (x < y) - (x > y) : by_number(b, a);
}

/* Part by part, depth first where that is possible: what follows a node is drawn close to it. */
static void order_items(struct plan *plan, struct ff_drawing *ret)
{
    size_t *const scratch =
        ff_arena_array(plan->arena, plan->flow->edge_info_count, sizeof(size_t));
    size_t *const open = ff_arena_array(plan->arena, plan->count, sizeof(size_t));
    size_t *const place = ff_arena_array(plan->arena, plan->count, sizeof(size_t));
    size_t *const stack = ff_arena_array(plan->arena, plan->count, sizeof(size_t));
    size_t depth = 0;

    ret->items = ff_arena_array(plan->arena, plan->count, sizeof *ret->items);
    if (!scratch || !open || !place || !stack || !ret->items)
        return;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->group[i] != i)
            continue;
        open[i] = neighbours(plan, &plan->in, i, scratch);
        if (open[i] == 0)
            stack[depth++] = i;
    }
    qsort_r(stack, depth, sizeof *stack, by_part_down, plan);
    while (depth > 0) {
        const size_t node = stack[--depth];
        struct ff_drawn *const item = &ret->items[ret->count];

        place[node] = ret->count++;
        fill_item(plan, node, item);
        item->from_count = neighbours(plan, &plan->in, node, scratch);
        for (size_t i = item->to_count; i-- > 0;)
            if (--open[item->to[i]] == 0)
                stack[depth++] = item->to[i];
    }
    for (size_t i = 0; i < ret->count; i++)
        for (size_t t = 0; t < ret->items[i].to_count; t++)
            ret->items[i].to[t] = place[ret->items[i].to[t]];
}

ff_status ff_drawing_make(struct ff_arena *arena, const struct ff_flow_info *flow, bool every,
                          struct ff_drawing *ret, struct ff_error *reterr)
{
    struct plan plan = {.arena = arena, .flow = flow, .count = flow->node_info_count};

    *ret = (struct ff_drawing){0};
    plan.part = ff_arena_array(arena, plan.count, sizeof *plan.part);
    plan.shape = ff_arena_array(arena, plan.count, sizeof *plan.shape);
    plan.joins = ff_arena_array(arena, plan.count, sizeof(void *));
    plan.group = ff_arena_array(arena, plan.count, sizeof *plan.group);
    plan.next = ff_arena_array(arena, plan.count, sizeof *plan.next);
    plan.size = ff_arena_array(arena, plan.count, sizeof *plan.size);
    plan.is_row = ff_arena_array(arena, plan.count, sizeof *plan.is_row);
    read_edges(&plan);
    FF_TRY(ff_arena_check(arena, reterr));
    for (size_t i = 0; i < plan.count; i++)
        put_together(&plan, &i, 1, false);
    for (size_t i = 0; i < flow->join_count; i++) {
        const size_t node = node_named(&plan, flow->joins[i].node);

        if (node != SIZE_MAX && flow->joins[i].total > 1)
            plan.joins[node] = &flow->joins[i];
    }
    if (!every) {
        find_equals(&plan);
        find_rows(&plan);
    }
    find_parts(&plan);
    order_items(&plan, ret);
    return ff_arena_check(arena, reterr);
}
