/* SPDX-License-Identifier: Apache-2.0
 *
 * test_graph.c -- graphs that can be run, and every way in which one cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/graph.h"

#define NODES_MAX 60000

static struct ff_arena arena;
static struct ff_graph_node nodes[NODES_MAX];
static struct ff_graph_edge edges[NODES_MAX];
static char names[NODES_MAX][8];
static struct ff_graph graph;
static struct ff_error error;

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 64 << 10, 256 << 20);
    memset(nodes, 0, sizeof nodes);
    memset(edges, 0, sizeof edges);
    memset(&error, 0, sizeof error);
    graph = (struct ff_graph){.nodes = nodes, .edges = edges};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_arena_done(&arena);
    return 0;
}

static void node(const char *name)
{
    nodes[graph.node_count++].name = ff_str_of(name);
}

static struct ff_graph_edge *edge(const char *from, const char *to)
{
    struct ff_graph_edge *const made = &edges[graph.edge_count++];

    made->from = ff_str_of(from);
    made->to = ff_str_of(to);
    return made;
}

static void given_diamond(void)
{
    node("a");
    node("b");
    node("c");
    node("d");
    edge("a", "b");
    edge("a", "c");
    edge("b", "d");
    edge("c", "d");
}

static void expect(ff_status want, const char *field, const char *message)
{
    assert_int_equal(ff_graph_check(&graph, &arena, &error), want);
    if (want == FF_OK)
        return;
    assert_string_equal(error.field, field);
    assert_string_equal(error.message, message);
}

static void test_graph__a_diamond_is_fine(void **state)
{
    (void)state;
    given_diamond();
    expect(FF_OK, NULL, NULL);
    assert_int_equal(nodes[0].in_count, 0);
    assert_int_equal(nodes[3].in_count, 2);
    assert_int_equal(edges[2].from_at, 1);
    assert_int_equal(edges[2].to_at, 3);
}

static void test_graph__names_the_culprit(void **state)
{
    (void)state;
    given_diamond();
    node("b");
    expect(FF_DUPLICATE_NODE, "nodes[4]", "node 'b' is given twice");
    graph.node_count = 4;
    edge("d", "x");
    expect(FF_UNKNOWN_NODE, "edges[4]", "edge from 'd' to 'x' ends at no node of this call");
    graph.edge_count = 4;
    edge("x", "d");
    expect(FF_UNKNOWN_NODE, "edges[4]", "edge from 'x' to 'd' starts at no node of this call");
    graph.edge_count = 4;
    edge("a", "b");
    expect(FF_DUPLICATE_EDGE, "edges[4]", "edge from 'a' to 'b' is given twice");
    graph.edge_count = 4;
    edge("c", "c");
    expect(FF_SELF_EDGE, "edges[4]", "edge from 'c' to 'c' ends where it starts");
}

static void test_graph__a_quorum_must_be_reachable(void **state)
{
    (void)state;
    given_diamond();
    nodes[3].policy = FF_JOIN_QUORUM;
    expect(FF_BAD_QUORUM, "nodes[3]", "node 'd' has a quorum below 1");
    nodes[3].k = 3;
    expect(FF_BAD_QUORUM, "nodes[3]", "node 'd' has a quorum above its number of edges");
    nodes[3].k = 2;
    expect(FF_OK, NULL, NULL);
    nodes[0].policy = FF_JOIN_ANY_OF;
    expect(FF_BAD_QUORUM, "nodes[0]", "node 'a' waits for any of no edges");
}

static void test_graph__one_edge_at_most_brings_the_input(void **state)
{
    (void)state;
    given_diamond();
    edges[2].pass = FF_PASS_INPUT;
    expect(FF_OK, NULL, NULL);
    edges[3].pass = FF_PASS_INPUT;
    expect(FF_DUPLICATE_INPUT_EDGE, "edges[3]",
           "edge from 'c' to 'd' is the second that brings the input");
}

static void test_graph__a_cycle_is_shown(void **state)
{
    (void)state;
    given_diamond();
    edge("d", "b");
    expect(FF_CYCLE, "nodes[1]", "cycle: 'b' <- 'd' <- ...");
}

/* What grows may start and end elsewhere; only the store knows whether those nodes exist. */
static void test_graph__growing_may_name_what_exists(void **state)
{
    (void)state;
    given_diamond();
    graph.grows = true;
    edge("x", "a");
    edge("d", "y");
    expect(FF_OK, NULL, NULL);
    assert_true(edges[4].from_at == FF_GRAPH_ELSEWHERE);
    assert_true(edges[5].to_at == FF_GRAPH_ELSEWHERE);
    assert_int_equal(nodes[0].in_count, 1);
}

static void test_graph__names_do_not_run_together(void **state)
{
    (void)state;
    node("a");
    node("ab");
    node("bc");
    node("c");
    edge("a", "bc");
    edge("ab", "c");
    expect(FF_OK, NULL, NULL);
}

/* R7: a chain of any length is no cycle, and the check does not get slow or deep. */
static void test_graph__a_long_chain_is_fine_until_it_bites_its_tail(void **state)
{
    (void)state;
    for (size_t i = 0; i < NODES_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "%05zu", i);
        node(names[i]);
        if (i > 0)
            edge(names[i - 1], names[i]);
    }
    expect(FF_OK, NULL, NULL);
    edge(names[NODES_MAX - 1], names[0]);
    assert_int_equal(ff_graph_check(&graph, &arena, &error), FF_CYCLE);
    assert_memory_equal(error.message, "cycle: '00000' <- '59999' <- ", 28);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_graph__##name, setup, teardown)
        TEST(a_diamond_is_fine),          TEST(names_the_culprit),
        TEST(a_quorum_must_be_reachable), TEST(one_edge_at_most_brings_the_input),
        TEST(a_cycle_is_shown),           TEST(growing_may_name_what_exists),
        TEST(names_do_not_run_together),  TEST(a_long_chain_is_fine_until_it_bites_its_tail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
