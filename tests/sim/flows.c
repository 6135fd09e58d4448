/* SPDX-License-Identifier: Apache-2.0
 *
 * flows.c -- clients that make flows, grow them and cancel them. */
#include "book.h"

#include <assert.h>

#include "base/macros.h"
#include "ops/flow.h"

#include "base/banned.h"

/* --- drawing --- */

static struct flow_note *flow_new(struct sim *sim)
{
    struct flow_note *const flow = sim_alloc(sim, sizeof *flow);
    uint8_t random[10];

    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)ff_prng_below(&sim->streams[STREAM_WORK], 256); /* never from a tape */
    flow->id = ff_flow_id_mint(sim_store_ms(sim), random);
    flow->namespace = ff_str_of(sim_namespaces[sim_below(sim, STREAM_WORK, 2)]);
    if (vec_push(&sim->book->flows, &sim->arena, flow, NULL) != FF_OK)
        assert(!"out of memory");
    return flow;
}

static const struct plan *node_plan(struct sim *sim, const struct flow_note *flow)
{
    struct plan *const plan = ask_plan(sim);

    plan->namespace = flow->namespace;
    plan->key = ff_str_null();
    plan->own_id = false;
    plan->tagged = false; /* members have their flow's */
    if (ff_str_eq(plan->kind, FF_STR("poison")))
        plan->kind = ff_str_of(sim_kinds[0]);
    return plan;
}

static bool has_edge(const struct graph *graph, int from, int to)
{
    for (int i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].from == from && graph->edges[i].to == to)
            return true;
    return false;
}

static void draw_node(struct sim *sim, struct graph *graph, int at)
{
    const int to = graph->first + at;
    const int wanted = (int)sim_below(sim, STREAM_WORK, 5);
    int edges = 0;

    for (int i = 0; i < wanted && to > 0 && graph->edge_count < GRAPH_EDGES_MAX; i++) {
        const int from = (int)sim_below(sim, STREAM_WORK, (uint64_t)to);

        if (has_edge(graph, from, to))
            continue;
        graph->edges[graph->edge_count].from = from;
        graph->edges[graph->edge_count++].to = to;
        edges++;
    }
    graph->joins[at].policy = FF_JOIN_ALL_OF;
    graph->joins[at].k = 0;
    graph->joins[at].on_satisfied = FF_NULL32;
    if (edges == 0 || sim_percent(sim, STREAM_WORK, 40))
        return;
    graph->joins[at].policy = sim_percent(sim, STREAM_WORK, 50) ? FF_JOIN_ANY_OF : FF_JOIN_QUORUM;
    graph->joins[at].k = 1 + (int)sim_below(sim, STREAM_WORK, (uint64_t)edges);
    if (sim_percent(sim, STREAM_WORK, 40))
        graph->joins[at].on_satisfied = FF_ON_SATISFIED_LET_RUN;
}

static struct word *draw_graph(struct sim *sim, ff_op_id op, struct flow_note *flow, int count)
{
    struct word *const word = book_word(sim, op, NULL, NULL);
    struct graph *const graph = sim_alloc(sim, sizeof *graph);

    graph->flow = flow;
    graph->first = (int)flow->members.len;
    graph->count = count;
    if (op == FF_OP_FLOW_CREATE)
        flow->created = word;
    else if (flow->created->applied && sim_percent(sim, STREAM_WORK, 30))
        graph->again = flow->created->graph;
    for (int i = 0; i < count; i++) {
        (void)book_member(sim, flow, node_plan(sim, flow), word);
        draw_node(sim, graph, i);
    }
    word->graph = graph;
    return word;
}

/* --- asking --- */

static void say_graph(const struct graph *graph, struct ff_arena *arena, struct ff_graph_in *in)
{
    for (int i = 0; i < graph->count; i++) {
        const struct note *const note = graph->flow->members.items[graph->first + i];
        const bool quorum = graph->joins[i].policy == FF_JOIN_QUORUM;
        const size_t at = in->shape.node_count++;

        in->shape.nodes[at] =
            (struct ff_graph_node){.name = ff_arena_printf(arena, "n%d", graph->first + i),
                                   .policy = graph->joins[i].policy,
                                   .k = quorum ? graph->joins[i].k : FF_NULL64,
                                   .on_satisfied = graph->joins[i].on_satisfied};
        ask_fill_node(note->plan, arena, &in->nodes[at].submit);
    }
    for (int i = 0; i < graph->edge_count; i++)
        in->shape.edges[in->shape.edge_count++] =
            (struct ff_graph_edge){.from = ff_arena_printf(arena, "n%d", graph->edges[i].from),
                                   .to = ff_arena_printf(arena, "n%d", graph->edges[i].to),
                                   .pass = FF_PASS_UPSTREAM};
}

static struct ff_graph_in graph_in(const struct graph *graph, struct ff_arena *arena)
{
    struct ff_graph_in in = {0};

    in.shape.nodes = ff_arena_array(arena, GRAPH_NODES_MAX * 2, sizeof *in.shape.nodes);
    in.shape.edges = ff_arena_array(arena, GRAPH_EDGES_MAX * 2, sizeof *in.shape.edges);
    in.nodes = ff_arena_array(arena, GRAPH_NODES_MAX * 2, sizeof *in.nodes);
    assert(in.shape.nodes && in.shape.edges && in.nodes);
    if (graph->again)
        say_graph(graph->again, arena, &in);
    say_graph(graph, arena, &in);
    return in;
}

static void *create_in(struct sim *sim, const struct graph *graph, struct ff_arena *arena)
{
    struct ff_flow_create_in *const in = ff_arena_alloc(arena, sizeof *in);
    struct ff_settings settings;
    struct ff_error error;

    assert(in);
    *in = (struct ff_flow_create_in){.flow_id = graph->flow->id,
                                     .own_id = true,
                                     .namespace = ff_arena_str(arena, graph->flow->namespace),
                                     .graph = graph_in(graph, arena)};
    ff_settings_default(&settings);
    if (ff_flow_prepare(in, &settings, arena, &error) != FF_OK)
        sim_fail(sim, "a good flow is refused: %s: %s", error.field, error.message);
    return in;
}

static void *grow_in(struct sim *sim, const struct graph *graph, struct ff_arena *arena)
{
    struct ff_flow_grow_in *const in = ff_arena_alloc(arena, sizeof *in);
    struct ff_settings settings;
    struct ff_error error;

    assert(in);
    *in = (struct ff_flow_grow_in){.flow_id = graph->flow->id,
                                   .expected_revision = FF_NULL64,
                                   .graph = graph_in(graph, arena)};
    ff_settings_default(&settings);
    if (ff_grow_prepare(in, &settings, arena, &error) != FF_OK)
        sim_fail(sim, "a good grow is refused: %s: %s", error.field, error.message);
    return in;
}

static void *cancel_in(struct sim *sim, const struct word *word, struct ff_arena *arena)
{
    const struct ff_str token = ff_arena_str(arena, book_token(sim, word));
    const struct ff_flow_cancel_in in = {
        .flow_id = word->flow->id, .policy = (int32_t)word->a, .reason = token, .by = token};

    return ff_arena_copy(arena, &in, sizeof in);
}

struct ask *ask_flow(struct sim *sim, struct actor *actor, struct word *word)
{
    struct ask *const ask = ask_new(sim, actor, word);
    struct ff_arena *const arena = &ask->job->arena;

    if (word->op == FF_OP_FLOW_CREATE)
        ask->job->in = create_in(sim, word->graph, arena);
    else if (word->op == FF_OP_FLOW_GROW)
        ask->job->in = grow_in(sim, word->graph, arena);
    else
        ask->job->in = cancel_in(sim, word, arena);
    assert(ask->job->in);
    /* As graphs of many nodes are: such jobs stand before the words of workers. */
    ask->job->large = sim_below(sim, STREAM_WORK, 2) == 0;
    return ask_send(sim, ask, 0);
}

/* --- acting --- */

static struct flow_note *some_flow(struct sim *sim)
{
    const struct vec *const flows = &sim->book->flows;

    return flows->items[flows->len - 1 - sim_below(sim, STREAM_WORK, ff_min_size(flows->len, 6))];
}

/* Not only what has failed: what ran well may run again, too. */
static void replay_member(struct sim *sim, struct actor *actor)
{
    const struct flow_note *const flow = some_flow(sim);
    struct note *const note = flow->members.items[sim_below(sim, STREAM_WORK, flow->members.len)];
    struct word *const word = book_word(sim, FF_OP_EXECUTION_REPLAY, note, NULL);

    word->a = sim_between(sim, STREAM_WORK, 1, 3);
    word->b = (int64_t)sim_below(sim, STREAM_WORK, 2);
    (void)ask_word(sim, actor, word);
}

void flow_act(struct sim *sim, struct actor *actor)
{
    const uint64_t dice = sim->book->flows.len > 0 ? sim_below(sim, STREAM_WORK, 100) : 0;
    struct word *word;

    if (dice < 30) {
        word = draw_graph(sim, FF_OP_FLOW_CREATE, flow_new(sim),
                          1 + (int)sim_below(sim, STREAM_WORK, GRAPH_NODES_MAX));
    } else if (dice < 60) {
        replay_member(sim, actor);
        return;
    } else if (dice < 92) {
        struct flow_note *const flow = some_flow(sim);

        word = draw_graph(sim, FF_OP_FLOW_GROW, flow, 1 + (int)sim_below(sim, STREAM_WORK, 3));
    } else {
        word = book_word(sim, FF_OP_FLOW_CANCEL, NULL, NULL);
        word->flow = some_flow(sim);
        word->a = sim_between(sim, STREAM_WORK, FF_FLOW_CANCEL_FLOW_ONLY, FF_FLOW_CANCEL_ALL);
    }
    (void)ask_flow(sim, actor, word);
    if (word->graph && sim_mishap(sim, FAULT_REPEAT))
        (void)ask_flow(sim, actor, word);
}
