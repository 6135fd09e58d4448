/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hop.c -- what a hop knows without looking: its batch has seen the edges, or assumed them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "ops/cascade.h"
#include "sql_ids.h"

static struct ff_arena arena;

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 1 << 16, SIZE_MAX);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_arena_done(&arena);
    return 0;
}

/* The store has found so many edges and no join, or a process knows of them. */
static void answer_scans(struct ff_rowset *rows, size_t edges, bool assumed)
{
    for (struct ff_scan *scan = rows->scans; scan; scan = scan->next) {
        scan->loaded = true;
        scan->assumed = assumed;
        if (scan->block != FF_SQL_EDGES_FROM)
            continue;
        scan->rows = ff_arena_array(&arena, edges, sizeof *scan->rows);
        for (scan->row_count = 0; scan->row_count < edges; scan->row_count++) {
            struct ff_edge *const edge = ff_rowset_row_new(rows, FF_TABLE_EDGE);

            edge->downstream_id.b[0] = (uint8_t)(scan->row_count + 1);
            scan->rows[scan->row_count] = edge;
        }
    }
}

/* A completion has looked at its edges, and its batch has changed the member so often: what its hop
 * knows then. */
static struct ff_dispatch_in learned(size_t edges, const struct ff_outbox *hop, int changes)
{
    struct ff_dispatch_in in = {
        .hop = {{hop->partition_key, hop->execution_id}, hop->generation, FF_HOP_COMPLETION}};
    struct ff_execution *member;
    struct ff_settings settings;
    struct ff_rowset rows;
    struct ff_work work = {.rows = &rows, .arena = &arena, .settings = &settings};

    ff_settings_default(&settings);
    ff_rowset_init(&rows, &arena);
    member = ff_rowset_row_new(&rows, FF_TABLE_EXECUTION);
    member->partition_key = hop->partition_key;
    member->execution_id = hop->execution_id;
    member->version = 3;
    ff_rowset_put(&rows, FF_TABLE_EXECUTION, member, true);
    ff_rowset_op_begin(&rows, 1);
    ff_work_edit(&work, member);
    member->version += changes;
    ff_hop_need_edges(&work, in.hop.id);
    answer_scans(&rows, edges, false);
    ff_hop_learn(&work, &in, hop);
    return in;
}

/* As `learned`, of edges that nobody has looked at; the member was assumed with them, or has come
 * from the store since. */
static struct ff_dispatch_in learned_assumed(size_t edges, bool member_assumed)
{
    const struct ff_outbox hop = {
        .partition_key = 1, .execution_id.b[0] = 7, .dispatched_at_ms = FF_NULL64};
    const struct ff_execution key = {.partition_key = 1, .execution_id.b[0] = 7};
    struct ff_dispatch_in in = {.hop.id = {1, hop.execution_id}};
    struct ff_settings settings;
    struct ff_rowset rows;
    struct ff_work work = {.rows = &rows, .arena = &arena, .settings = &settings, .assumes = true};
    struct ff_execution row = key;
    struct ff_entry *entry;

    ff_settings_default(&settings);
    ff_rowset_init(&rows, &arena);
    row.version = 3;
    row.head.table = FF_TABLE_EXECUTION;
    entry = ff_rowset_want(&rows, FF_TABLE_EXECUTION, &key, FF_WANT_LOCK);
    ff_rowset_assume(&rows, entry, &row);
    if (!member_assumed) {
        struct ff_execution *const real = ff_rowset_row_new(&rows, FF_TABLE_EXECUTION);

        real->partition_key = 1;
        real->execution_id = key.execution_id;
        real->version = 5;
        (void)ff_rowset_put(&rows, FF_TABLE_EXECUTION, real, true);
    }
    ff_rowset_op_begin(&rows, 1);
    ff_work_edit(&work, entry->row);
    ((struct ff_execution *)entry->row)->version++;
    ff_hop_need_edges(&work, in.hop.id);
    answer_scans(&rows, edges, true);
    ff_hop_learn(&work, &in, &hop);
    return in;
}

/* A claim in the same batch has looked at the member, which had lapsed elsewhere and grown before.
 */
static void test_hop__assumed_edges_go_with_the_assumed_member(void **state)
{
    (void)state;
    assert_true(learned_assumed(2, true).known);
    assert_false(learned_assumed(2, false).known);
}

/* Whoever knows where a member leads to knows all of it: there is no page behind it. */
static void test_hop__assumed_edges_are_all_there_are(void **state)
{
    const size_t counts[] = {FF_HOP_EDGES_FIRST, FF_HOP_EDGES_KNOWN};

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(counts); i++) {
        const struct ff_dispatch_in in = learned_assumed(counts[i], true);

        assert_true(in.known && in.last_page);
        assert_int_equal(in.count, counts[i]);
    }
}

static void test_hop__a_completion_tells_its_hop_where_to_go(void **state)
{
    struct ff_outbox hop;
    struct ff_dispatch_in in;

    (void)state;
    ff_row_init(FF_TABLE_OUTBOX, &hop);
    hop.partition_key = 1;
    hop.execution_id.b[0] = 7;
    in = learned(2, &hop, 1);
    assert_true(in.known && in.last_page);
    assert_int_equal(in.count, 2);
    assert_int_equal(in.downstreams[1].b[0], 2);
    in = learned(FF_HOP_EDGES_FIRST, &hop, 1); /* perhaps there are more */
    assert_true(!in.known && in.wide);
    in = learned(2, &hop, 2); /* a grow of the same batch may have added an edge since */
    assert_false(in.known);
    hop.generation = 1; /* perhaps it is being reopened */
    in = learned(2, &hop, 1);
    assert_false(in.known);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_hop__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_completion_tells_its_hop_where_to_go),
        TEST(assumed_edges_go_with_the_assumed_member),
        TEST(assumed_edges_are_all_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
