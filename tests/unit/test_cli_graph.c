/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cli_graph.c -- graphs as lines and boxes: every edge is there, and nothing grows too large.
 *
 * Of src/cli/graph*.c. No database, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cli/graph.h"

#define NODES_MAX 12000

struct fixture {
    struct ff_cli cli;
    struct ff_flow_node_info nodes[NODES_MAX];
    struct ff_flow_edge_info edges[2 * NODES_MAX];
    struct ff_flow_join_info joins[8];
    struct ff_flow_count counts[4];
    struct ff_flow_info flow;
    char names[NODES_MAX][16];
    char *text;
    size_t text_bytes;
};

static int setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof *f);

    ff_arena_init(&f->cli.arena, 65536, 256 << 20);
    f->cli.out = open_memstream(&f->text, &f->text_bytes);
    f->counts[0] = (struct ff_flow_count){"waiting", 1};
    f->counts[1] = (struct ff_flow_count){"active", 1};
    f->counts[2] = (struct ff_flow_count){"completed", 1};
    f->counts[3] = (struct ff_flow_count){"failed", 1};
    f->flow = (struct ff_flow_info){.flow_id = "f",
                                    .nodes = f->nodes,
                                    .edges = f->edges,
                                    .joins = f->joins,
                                    .counts = f->counts,
                                    .count_count = 4};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;

    (void)fclose(f->cli.out);
    free(f->text);
    ff_arena_done(&f->cli.arena);
    free(f);
    return 0;
}

/* Names must be given in order, as the library gives them. */
static void node(struct fixture *f, const char *name, const char *state)
{
    const size_t at = f->flow.node_info_count++;

    (void)snprintf(f->names[at], sizeof f->names[at], "%s", name);
    f->nodes[at] = (struct ff_flow_node_info){
        .name = f->names[at], .kind = "k", .public_state = state, .execution_id = ""};
}

static const char *name_of(const struct fixture *f, size_t at)
{
    return f->names[at];
}

static void edge(struct fixture *f, const char *from, const char *to)
{
    f->edges[f->flow.edge_info_count++] =
        (struct ff_flow_edge_info){from, to, "upstream", "unresolved"};
}

/* "ab bc": edges between nodes of one letter. */
static void edges(struct fixture *f, const char *pairs)
{
    for (; *pairs; pairs += pairs[2] ? 3 : 2)
        edge(f, f->nodes[pairs[0] - 'a'].name, f->nodes[pairs[1] - 'a'].name);
}

static void letters(struct fixture *f, size_t count)
{
    for (size_t i = 0; i < count; i++)
        node(f, (const char[]){(char)('a' + i), '\0'}, "waiting");
}

/* Of two nodes before; in the order of names, too. */
static struct ff_flow_join_info *join(struct fixture *f, const char *name, const char *policy,
                                      int64_t k)
{
    struct ff_flow_join_info *const made = &f->joins[f->flow.join_count++];

    *made = (struct ff_flow_join_info){
        .node = name, .policy = policy, .group_state = "pending", .k = k, .total = 2};
    return made;
}

static size_t print(struct fixture *f, bool every, size_t lines_max)
{
    struct ff_drawing drawing;
    struct ff_error error;

    assert_int_equal(FF_OK, ff_drawing_make(&f->cli.arena, &f->flow, every, &drawing, &error));
    const size_t hidden = ff_graph_print(&f->cli, &f->flow, &drawing, lines_max);
    (void)fflush(f->cli.out);
    return hidden;
}

static void test_cli_graph__a_diamond_has_two_lanes(void **state)
{
    struct fixture *const f = *state;

    letters(f, 4);
    edges(f, "ab ac bd cd");
    join(f, "d", "quorum", 1)->fail = 1;
    f->nodes[0].public_state = "completed";
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  ●    a  completed  k\n"
                        "  ├─╮\n"
                        "  ○ │  b  waiting    k\n"
                        "  │ ○  c  waiting    k\n"
                        "  ├─╯\n"
                        "  ○    d  waiting    k  1 of 2: 1 fail\n",
                        f->text);
}

/* A line that meets a lane and one that crosses it are told apart: d leads to b, over c's lane. */
static void test_cli_graph__crossings_are_no_meetings(void **state)
{
    struct fixture *const f = *state;

    letters(f, 5);
    edges(f, "ab ac ad db ec");
    f->cli.plain_text = true;
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  o      a  waiting  k\n"
                        "  |-.-.\n"
                        "  | | o  d  waiting  k\n"
                        "  |-+-'\n"
                        "  o |    b  waiting  k\n"
                        "    |\n"
                        "  o |    e  waiting  k\n"
                        "  `-|\n"
                        "    o    c  waiting  k\n",
                        f->text);
}

/* What follows a node is right below it; what does not is never. */
static void test_cli_graph__a_row_is_told_from_nodes_apart(void **state)
{
    struct fixture *const f = *state;

    letters(f, 3);
    edges(f, "ab bc");
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  ○  a  waiting  k\n"
                        "  ○  b  waiting  k\n"
                        "  ○  c  waiting  k\n",
                        f->text);
    f->flow.edge_info_count = 0;
    rewind(f->cli.out);
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  ○  a  waiting  k\n"
                        "\n"
                        "  ○  b  waiting  k\n"
                        "\n"
                        "  ○  c  waiting  k\n",
                        f->text);
}

/* Also where the last dot of a part is in a lane of its own. */
static void test_cli_graph__parts_are_apart(void **state)
{
    struct fixture *const f = *state;

    letters(f, 5);
    edges(f, "ab ac de");
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  ○    a  waiting  k\n"
                        "  ├─╮\n"
                        "  ○ │  b  waiting  k\n"
                        "    ○  c  waiting  k\n"
                        "\n"
                        "  ○    d  waiting  k\n"
                        "  ○    e  waiting  k\n",
                        f->text);
}

/* Whatever the order of names: a and d are before c, and b is not drawn between them. */
static void test_cli_graph__parts_are_drawn_one_by_one(void **state)
{
    struct fixture *const f = *state;

    letters(f, 5);
    edges(f, "ac be dc");
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  ○    a  waiting  k\n"
                        "  │ ○  d  waiting  k\n"
                        "  ├─╯\n"
                        "  ○    c  waiting  k\n"
                        "\n"
                        "  ○    b  waiting  k\n"
                        "  ○    e  waiting  k\n",
                        f->text);
}

static void test_cli_graph__equal_nodes_are_one_place(void **state)
{
    struct fixture *const f = *state;

    node(f, "a", "completed");
    for (int i = 0; i < 1000; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "m%03d", i);
        node(f, name, i < 950 ? "completed" : "waiting");
        edge(f, "a", name_of(f, (size_t)i + 1));
    }
    node(f, "z", "waiting");
    for (size_t i = 1; i <= 1000; i++)
        edge(f, name_of(f, i), "z");
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  ●  a                    completed                  k\n"
                        "  ○  m000 .. m999 (1000)  50 waiting, 950 completed  k\n"
                        "  ○  z                    waiting                    k\n",
                        f->text);
}

/* Nodes that wait for the same ones in different ways are not equal; those that are say how. */
static void test_cli_graph__joins_are_not_put_together(void **state)
{
    struct fixture *const f = *state;

    letters(f, 8);
    edges(f, "ac ad ae af ag ah bc bd be bf bg bh");
    join(f, "c", "any_of", 1)->on_satisfied = "cancel_remaining";
    join(f, "d", "any_of", 1)->on_satisfied = "let_run";
    for (int i = 0; i < 4; i++)
        join(f, f->names[4 + i], "quorum", 2)->success = 1;
    assert_int_equal(0, print(f, false, 60));
    assert_non_null(strstr(f->text, "○ │ │    c           waiting  k  any of 2\n"));
    assert_non_null(strstr(f->text, "○ │    d           waiting  k  any of 2, let_run\n"));
    assert_non_null(strstr(f->text, "○    e .. h (4)  waiting  k  2 of 2: 1 success\n"));
    f->joins[3].success = 0;
    rewind(f->cli.out);
    assert_int_equal(0, print(f, false, 60));
    assert_non_null(strstr(f->text, "○    e .. h (4)  waiting  k  2 of 2\n"));
}

/* Steps of different kinds are what a flow is about: none of them disappears among others. */
static void test_cli_graph__kinds_are_not_put_together(void **state)
{
    struct fixture *const f = *state;

    letters(f, 8);
    for (size_t i = 0; i < 8; i++)
        f->nodes[i].kind = f->names[i];
    edges(f, "ab bc cd de ef fg gh");
    assert_int_equal(0, print(f, false, 60));
    assert_null(strstr(f->text, ".."));
    f->flow.edge_info_count = 0;
    edges(f, "ab ac ad ae bf cf df ef fg gh");
    rewind(f->cli.out);
    assert_int_equal(0, print(f, false, 60));
    assert_null(strstr(f->text, ".."));
}

/* The dot of many nodes is not that of the first. */
static void test_cli_graph__a_dot_shows_what_needs_a_look(void **state)
{
    static const char *const dots[][2] = {{"waiting", "○"}, {"active", "◉"},  {"failed", "✗"},
                                          {"expired", "✗"}, {"skipped", "⊘"}, {"completed", "●"}};
    struct fixture *const f = *state;
    char line[64];

    for (size_t d = 0; d < FF_ARRAY_LEN(dots); d++) {
        f->flow.node_info_count = 0;
        letters(f, 4);
        for (size_t i = 0; i < 4; i++)
            f->nodes[i].public_state = i == 2 ? dots[d][0] : "completed";
        rewind(f->cli.out);
        assert_int_equal(0, print(f, false, 60));
        (void)snprintf(line, sizeof line, "  %s  a .. d (4)  ", dots[d][1]);
        assert_memory_equal(line, f->text, strlen(line));
    }
}

static void test_cli_graph__a_long_row_is_short(void **state)
{
    struct fixture *const f = *state;

    for (int i = 0; i < 10000; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "n%05d", i);
        node(f, name, i < 9000 ? "completed" : "waiting");
        if (i > 0)
            edge(f, name_of(f, (size_t)i - 1), name_of(f, (size_t)i));
    }
    assert_int_equal(0, print(f, false, 60));
    assert_string_equal("  ●  n00000                            completed  k\n"
                        "  ●  n00001 .. n08998 (8998 in a row)  completed  k\n"
                        "  ●  n08999                            completed  k\n"
                        "  ○  n09000                            waiting    k\n"
                        "  ○  n09001 .. n09998 (998 in a row)   waiting    k\n"
                        "  ○  n09999                            waiting    k\n",
                        f->text);
}

static void test_cli_graph__every_node_by_itself_is_bounded_by_the_caller(void **state)
{
    struct fixture *const f = *state;

    for (int i = 0; i < 100; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "n%05d", i);
        node(f, name, "waiting");
        if (i > 0)
            edge(f, name_of(f, (size_t)i - 1), name_of(f, (size_t)i));
    }
    assert_int_equal(90, print(f, true, 10));
}

/* Too many lanes become a table; what needs a look comes first when it is cut. */
static void test_cli_graph__a_tangle_is_a_table(void **state)
{
    struct fixture *const f = *state;

    for (int i = 0; i < 40; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "a%02d", i);
        node(f, name, "completed");
    }
    for (int i = 0; i < 40; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "b%02d", i);
        node(f, name, i == 7 ? "waiting" : "completed");
    }
    for (size_t i = 0; i < 40; i++)
        for (size_t j = 0; j < 3; j++)
            edge(f, name_of(f, i), name_of(f, 40 + (i + j * 7) % 40));
    assert_int_equal(50, print(f, false, 30));
    assert_non_null(strstr(f->text, "NODE  STATE"));
    assert_non_null(strstr(f->text, "b07   waiting    k     a00, a07, a33"));
}

static void test_cli_graph__graphviz_quotes_names(void **state)
{
    struct fixture *const f = *state;

    node(f, "a\"\\", "failed");
    node(f, "b", "waiting");
    edge(f, "a\"\\", "b");
    ff_graph_dot(&f->cli, &f->flow);
    (void)fflush(f->cli.out);
    assert_non_null(strstr(f->text, "\"a\\\"\\\\\" [label=\"a\\\"\\\\\\nfailed\", "
                                    "fillcolor=lightcoral];"));
    assert_non_null(strstr(f->text, "\"a\\\"\\\\\" -> \"b\" [color=black];"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_cli_graph__a_diamond_has_two_lanes),
        TEST(test_cli_graph__crossings_are_no_meetings),
        TEST(test_cli_graph__a_row_is_told_from_nodes_apart),
        TEST(test_cli_graph__parts_are_apart),
        TEST(test_cli_graph__parts_are_drawn_one_by_one),
        TEST(test_cli_graph__equal_nodes_are_one_place),
        TEST(test_cli_graph__joins_are_not_put_together),
        TEST(test_cli_graph__kinds_are_not_put_together),
        TEST(test_cli_graph__a_dot_shows_what_needs_a_look),
        TEST(test_cli_graph__a_long_row_is_short),
        TEST(test_cli_graph__every_node_by_itself_is_bounded_by_the_caller),
        TEST(test_cli_graph__a_tangle_is_a_table),
        TEST(test_cli_graph__graphviz_quotes_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
