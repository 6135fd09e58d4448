/* SPDX-License-Identifier: Apache-2.0
 *
 * test_known.c -- rows that somebody will come back to are remembered as they were saved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "engine/known.h"
#include "model/codes.h"
#include "model/states.h"
#include "ops/work.h"

static struct ff_known known;
static struct ff_arena arena;
static struct ff_rowset rows;

static void next_batch(void)
{
    ff_rowset_init(&rows, &arena);
    ff_rowset_op_begin(&rows, 1);
}

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 4096, 1 << 24);
    ff_known_init(&known);
    next_batch();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_known_done(&known);
    ff_arena_done(&arena);
    return 0;
}

static struct ff_execution key_of(uint32_t nth)
{
    struct ff_execution key = {.partition_key = (int32_t)(nth % 256)};

    key.execution_id.b[0] = (uint8_t)nth;
    key.execution_id.b[1] = (uint8_t)(nth >> 8);
    key.execution_id.b[15] = 1;
    return key;
}

/* A batch has left it in this state. */
static void given_saved(uint32_t nth, ff_state state, int64_t version)
{
    const struct ff_execution key = key_of(nth);
    struct ff_execution *row;

    next_batch();
    row = ff_rowset_insert(&rows, FF_TABLE_EXECUTION, &key);
    row->lane = FF_STR("lane");
    row->kind = FF_STR("");
    row->input = FF_STR("{\"a\": 1}");
    row->state = (int32_t)state;
    row->version = version;
    ff_known_learn(&known, &rows);
}

static struct ff_entry *when_wanted(uint32_t nth)
{
    const struct ff_execution key = key_of(nth);

    next_batch();
    return ff_rowset_want(&rows, FF_TABLE_EXECUTION, &key, FF_WANT_LOCK);
}

static bool is_known(uint32_t nth)
{
    return ff_known_recall(&known, &rows, when_wanted(nth), NULL);
}

static void test_known__what_runs_comes_back_as_it_was_saved(void **state)
{
    const struct ff_execution *row;
    struct ff_entry *entry;

    (void)state;
    given_saved(7, FF_STATE_ACTIVE, 3);
    entry = when_wanted(7);
    assert_true(ff_known_recall(&known, &rows, entry, NULL));
    row = entry->row;
    assert_int_equal(entry->found, FF_FOUND_ROW);
    assert_true(entry->assumed && rows.assumes);
    assert_ptr_equal(row->head.entry, entry);
    assert_int_equal(row->head.op, 0);
    assert_false(row->head.is_new || row->head.is_dirty);
    assert_int_equal(row->version, 3);
    assert_true(ff_str_eq(row->lane, FF_STR("lane")));
    assert_true(ff_str_eq(row->input, FF_STR("{\"a\": 1}")));
    assert_true(row->kind.ptr && row->kind.len == 0);
    assert_true(ff_str_is_null(row->node));
}

static void test_known__the_last_save_counts(void **state)
{
    struct ff_entry *entry;

    (void)state;
    given_saved(7, FF_STATE_ACTIVE, 3);
    given_saved(7, FF_STATE_ACTIVE, 4);
    entry = when_wanted(7);
    assert_true(ff_known_recall(&known, &rows, entry, NULL));
    assert_int_equal(((const struct ff_execution *)entry->row)->version, 4);
    given_saved(7, FF_STATE_SUCCESS, 5);
    assert_false(is_known(7));
}

static void test_known__what_does_not_run_is_not_kept(void **state)
{
    (void)state;
    given_saved(7, FF_STATE_READY_FIRST, 1);
    assert_false(is_known(7));
    assert_false(is_known(8));
}

static void test_known__what_was_not_proved_is_forgotten(void **state)
{
    const struct ff_execution second = key_of(2);
    struct ff_entry *entries[2];

    (void)state;
    given_saved(1, FF_STATE_ACTIVE, 1);
    given_saved(2, FF_STATE_ACTIVE, 1);
    entries[0] = when_wanted(1);
    entries[1] = ff_rowset_want(&rows, FF_TABLE_EXECUTION, &second, FF_WANT_LOCK);
    for (size_t i = 0; i < 2; i++)
        assert_true(ff_known_recall(&known, &rows, entries[i], NULL));
    ff_rowset_edit(&rows, entries[0]->row);
    ff_known_forget(&known, &rows, false);
    assert_true(is_known(1));
    assert_false(is_known(2));
    assert_true(ff_known_recall(&known, &rows, when_wanted(1), NULL));
    ff_known_forget(&known, &rows, true);
    assert_false(is_known(1));
}

/* Who comes first goes first, and nobody is ever taken for another one. */
static void test_known__room_is_bounded(void **state)
{
    const uint32_t many = FF_KNOWN_BYTES_MAX / 512;
    uint32_t found = 0;

    (void)state;
    for (uint32_t nth = 0; nth < many; nth++) {
        given_saved(nth, FF_STATE_ACTIVE, nth + 1);
        assert_in_range(known.bytes, 1, FF_KNOWN_BYTES_MAX);
        ff_arena_reset(&arena);
    }
    for (uint32_t nth = 0; nth < many; nth++) {
        struct ff_entry *const entry = when_wanted(nth);

        if (ff_known_recall(&known, &rows, entry, NULL)) {
            assert_int_equal(((const struct ff_execution *)entry->row)->version, nth + 1);
            found++;
        }
        ff_arena_reset(&arena);
    }
    assert_in_range(found, many / 3, many - 1);
    next_batch();
}

/* A claim that is asked again looks at the executions it once got: never at what a neighbour in its
 * batch relies on, unless that is proved by a change. */
static void test_known__who_may_not_assume_sees_what_is_proved(void **state)
{
    const struct ff_execution key = key_of(7);
    const struct ff_exec_id id = {.partition = key.partition_key, .uuid = key.execution_id};
    struct ff_work other = {.rows = &rows, .arena = &arena};
    struct ff_work leased = {.rows = &rows, .arena = &arena, .assumes = true};

    (void)state;
    given_saved(7, FF_STATE_ACTIVE, 3);
    assert_true(is_known(7));
    assert_null(ff_work_execution(&other, id));
    assert_non_null(ff_work_execution(&leased, id));
    ff_work_edit(&leased, ff_work_execution(&leased, id));
    assert_non_null(ff_work_execution(&other, id));
}

/* --- what surrounds a member of a flow --- */

static const struct ff_uuid flow_id = {{9, 9, 9}};

/* A new member in this batch. */
static struct ff_execution *given_member(uint32_t nth)
{
    const struct ff_execution key = key_of(nth);
    struct ff_execution *const row = ff_rowset_insert(&rows, FF_TABLE_EXECUTION, &key);

    row->lane = row->kind = FF_STR("");
    row->flow_id = flow_id;
    row->state = FF_STATE_BLOCKED_FIRST;
    row->version = 1;
    return row;
}

static void given_edge(uint32_t from, uint32_t to)
{
    const struct ff_edge key = {.partition_key = key_of(from).partition_key,
                                .execution_id = key_of(from).execution_id,
                                .downstream_id = key_of(to).execution_id};
    struct ff_edge *const row = ff_rowset_insert(&rows, FF_TABLE_EDGE, &key);

    row->outcome = FF_EDGE_UNRESOLVED;
}

/* The member was loaded at this version and has been changed. */
static void when_changed(uint32_t nth, int64_t version)
{
    struct ff_entry *const entry = when_wanted(nth);
    struct ff_execution *row = ff_rowset_row_new(&rows, FF_TABLE_EXECUTION);

    *row = key_of(nth);
    row->head.table = FF_TABLE_EXECUTION;
    row->flow_id = flow_id;
    row->state = FF_STATE_BLOCKED_FIRST;
    row->version = version;
    row = ff_rowset_put(&rows, FF_TABLE_EXECUTION, row, true);
    ff_rowset_op_begin(&rows, 1);
    ff_rowset_edit(&rows, row);
    row->version = version + 1;
    assert_ptr_equal(row, entry->row);
}

static size_t edges_of(uint32_t nth, int64_t version, struct ff_uuid **ret)
{
    struct ff_execution member = key_of(nth);
    size_t count;

    member.version = version;
    return ff_known_edges(&known, &member, &arena, ret, &count) ? count : SIZE_MAX;
}

static void given_saved_graph(void)
{
    next_batch();
    for (uint32_t nth = 1; nth <= 3; nth++)
        (void)given_member(nth);
    given_edge(1, 3);
    given_edge(1, 2);
    ff_known_learn(&known, &rows);
}

static void test_known__where_a_new_member_leads_to_is_known(void **state)
{
    const struct ff_uuid second = key_of(2).execution_id;
    struct ff_uuid *edges;

    (void)state;
    given_saved_graph();
    assert_int_equal(edges_of(1, 1, &edges), 2);
    assert_true(ff_uuid_eq(edges[0], second)); /* in the order of ids */
    assert_int_equal(edges_of(2, 1, &edges), 0);
    assert_int_equal(edges_of(1, 2, &edges), SIZE_MAX); /* it has changed */
    assert_int_equal(edges_of(4, 1, &edges), SIZE_MAX);
}

static void test_known__edges_stay_known_from_version_to_version(void **state)
{
    struct ff_uuid *edges;

    (void)state;
    given_saved_graph();
    when_changed(1, 1);
    ff_known_learn(&known, &rows);
    assert_int_equal(edges_of(1, 2, &edges), 2);
    when_changed(1, 3); /* somebody else has changed it: it may lead to more by now */
    ff_known_learn(&known, &rows);
    assert_int_equal(edges_of(1, 4, &edges), SIZE_MAX);
}

static void test_known__a_member_that_grows_is_not_known_any_more(void **state)
{
    struct ff_uuid *edges;

    (void)state;
    given_saved_graph();
    when_changed(1, 1);
    (void)given_member(4);
    given_edge(1, 4);
    ff_known_learn(&known, &rows);
    assert_int_equal(edges_of(1, 2, &edges), SIZE_MAX);
    assert_int_equal(edges_of(4, 1, &edges), 0);
}

static void test_known__too_many_edges_are_not_kept(void **state)
{
    struct ff_uuid *edges;

    (void)state;
    for (uint32_t count = FF_HOP_EDGES_KNOWN; count <= FF_HOP_EDGES_KNOWN + 1; count++) {
        next_batch();
        (void)given_member(count);
        for (uint32_t nth = 0; nth < count; nth++)
            given_edge(count, 1000 + nth);
        ff_known_learn(&known, &rows);
        assert_int_equal(edges_of(count, 1, &edges),
                         count <= FF_HOP_EDGES_KNOWN ? count : SIZE_MAX);
    }
}

/* --- what nodes waited for --- */

/* The member was loaded in this state, and is left in the other one. */
static struct ff_execution *when_moved(uint32_t nth, ff_state from, ff_state to, int64_t version)
{
    const struct ff_execution key = key_of(nth);
    struct ff_execution *row = ff_rowset_row_new(&rows, FF_TABLE_EXECUTION);

    row->partition_key = key.partition_key;
    row->execution_id = key.execution_id;
    row->flow_id = flow_id;
    row->node = FF_STR("up");
    row->lane = row->kind = FF_STR("");
    row->created_at_ms = 1000;
    row->state = (int32_t)from;
    row->version = version;
    row = ff_rowset_put(&rows, FF_TABLE_EXECUTION, row, true);
    ff_rowset_edit(&rows, row);
    row->state = (int32_t)to;
    row->version++;
    return row;
}

/* Node 1 has ended with a result and set free node 257, which waited for nobody else. */
static void given_set_free_batch(void)
{
    const struct ff_payload result = {
        .partition_key = 1, .execution_id = key_of(1).execution_id, .kind = FF_PAYLOAD_RESULT};
    struct ff_edge_group *const join = ff_rowset_row_new(&rows, FF_TABLE_EDGE_GROUP);
    struct ff_edge *edge;

    next_batch();
    (void)when_moved(1, FF_STATE_ACTIVE, FF_STATE_SUCCESS, 2);
    (void)when_moved(257, FF_STATE_BLOCKED_FIRST, FF_STATE_READY_FIRST, 1);
    ((struct ff_payload *)ff_rowset_insert(&rows, FF_TABLE_PAYLOAD, &result))->data =
        FF_STR("found");
    join->partition_key = 1;
    join->execution_id = key_of(257).execution_id;
    join->total = 1;
    (void)ff_rowset_put(&rows, FF_TABLE_EDGE_GROUP, join, true);
    given_edge(1, 257);
    edge = rows.entries[FF_TABLE_EDGE]->row;
    edge->outcome = FF_EDGE_SUCCESS;
    edge->resolved_generation = 0;
}

static void given_set_free(void)
{
    given_set_free_batch();
    ff_known_learn(&known, &rows);
}

/* Somebody has it now, from this version on, and is told what it waited for. */
static struct ff_task_out when_claimed(uint32_t nth, int64_t version, int64_t created_at_ms)
{
    const struct ff_execution key = key_of(nth);
    struct ff_task_out task = {.id = {key.partition_key, key.execution_id},
                               .upstream_count = FF_UPSTREAMS_UNREAD};
    struct ff_execution *row;

    next_batch();
    row = when_moved(nth, FF_STATE_READY_FIRST, FF_STATE_ACTIVE, version);
    ((struct ff_execution *)row->head.before)->created_at_ms = created_at_ms;
    ff_known_upstreams(&known, &rows, &arena, &task);
    return task;
}

static void test_known__what_a_node_waited_for_is_known(void **state)
{
    struct ff_task_out task;

    (void)state;
    given_set_free();
    task = when_claimed(257, 2, 1000);
    assert_int_equal(task.upstream_count, 1);
    assert_true(ff_uuid_eq(task.upstream->id.uuid, key_of(1).execution_id));
    assert_true(ff_str_eq(task.upstream->node, FF_STR("up")));
    assert_true(ff_str_eq(task.upstream->result, FF_STR("found")));
    assert_true(ff_str_is_null(task.upstream->result_type));
    assert_int_equal(task.upstream->outcome, FF_EDGE_SUCCESS);
    ff_known_learn(&known, &rows);
    ff_known_done(&known); /* what was told is not of that memory */
    ff_known_init(&known);
    assert_true(ff_str_eq(task.upstream->result, FF_STR("found")));
}

static void test_known__nobody_is_told_of_what_may_have_changed(void **state)
{
    (void)state;
    given_set_free();
    assert_int_equal(when_claimed(257, 3, 1000).upstream_count, FF_UPSTREAMS_UNREAD);
    assert_int_equal(when_claimed(257, 2, 2000).upstream_count, FF_UPSTREAMS_UNREAD);
    assert_int_equal(when_claimed(513, 2, 1000).upstream_count, FF_UPSTREAMS_UNREAD);
    assert_int_equal(when_claimed(257, 2, 1000).upstream_count, 1);
    ff_known_learn(&known, &rows); /* it runs, and may come back */
    assert_int_equal(when_claimed(257, 3, 1000).upstream_count, FF_UPSTREAMS_UNREAD);
    given_set_free();
    ff_known_clear(&known);
    assert_int_equal(when_claimed(257, 2, 1000).upstream_count, FF_UPSTREAMS_UNREAD);
}

/* Half of what it waited for is worse than nothing: nobody would read the rest. */
static void test_known__without_memory_nothing_is_remembered(void **state)
{
    size_t known_of = 0, read_of = 0;

    for (size_t room = 0; room <= 512; room += 8) {
        struct ff_task_out task;

        given_set_free_batch();
        arena.max_bytes = ff_arena_used(&arena) + room;
        ff_known_learn(&known, &rows);
        arena.max_bytes = 1 << 24;
        arena.failed = false;
        task = when_claimed(257, 2, 1000);
        if (task.upstream_count == FF_UPSTREAMS_UNREAD) {
            read_of++;
            continue;
        }
        known_of++;
        assert_int_equal(task.upstream_count, 1);
        assert_true(ff_str_eq(task.upstream->node, FF_STR("up")));
        assert_true(ff_str_eq(task.upstream->result, FF_STR("found")));
        (void)teardown(state);
        (void)setup(state);
    }
    assert_true(known_of > 0 && read_of > 0);
}

static void test_known__large_results_are_not_remembered(void **state)
{
    char *const large = ff_arena_alloc(&arena, FF_KNOWN_RESULT_BYTES + 1);

    (void)state;
    memset(large, 'r', FF_KNOWN_RESULT_BYTES + 1);
    for (size_t over = 0; over < 2; over++) {
        struct ff_payload *result;

        given_set_free_batch();
        result = rows.entries[FF_TABLE_PAYLOAD]->row;
        result->data = (struct ff_str){large, FF_KNOWN_RESULT_BYTES + over};
        ff_known_learn(&known, &rows);
        assert_int_equal(when_claimed(257, 2, 1000).upstream_count, over ? FF_UPSTREAMS_UNREAD : 1);
    }
}

static void test_known__a_first_node_waited_for_nobody(void **state)
{
    struct ff_execution *first;

    (void)state;
    next_batch();
    first = given_member(1);
    first->state = FF_STATE_READY_FIRST;
    first->created_at_ms = 1000;
    ff_known_learn(&known, &rows);
    assert_int_equal(when_claimed(1, 1, 1000).upstream_count, 0);
}

static void test_known__another_store_begins_with_nothing(void **state)
{
    struct ff_uuid *edges;

    (void)state;
    given_saved_graph();
    given_saved(7, FF_STATE_ACTIVE, 3);
    ff_known_clear(&known);
    assert_false(is_known(7));
    assert_int_equal(edges_of(1, 1, &edges), SIZE_MAX);
    assert_int_equal(known.bytes, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_known__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_runs_comes_back_as_it_was_saved),
        TEST(the_last_save_counts),
        TEST(what_does_not_run_is_not_kept),
        TEST(what_was_not_proved_is_forgotten),
        TEST(room_is_bounded),
        TEST(who_may_not_assume_sees_what_is_proved),
        TEST(where_a_new_member_leads_to_is_known),
        TEST(edges_stay_known_from_version_to_version),
        TEST(a_member_that_grows_is_not_known_any_more),
        TEST(too_many_edges_are_not_kept),
        TEST(what_a_node_waited_for_is_known),
        TEST(nobody_is_told_of_what_may_have_changed),
        TEST(without_memory_nothing_is_remembered),
        TEST(large_results_are_not_remembered),
        TEST(a_first_node_waited_for_nobody),
        TEST(another_store_begins_with_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
