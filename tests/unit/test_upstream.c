/* SPDX-License-Identifier: Apache-2.0
 *
 * test_upstream.c -- what a node waited for is told by the batch that hands it out, if it knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "model/codes.h"
#include "model/states.h"
#include "ops/execution.h"
#include "ops/work.h"

static struct ff_arena arena;
static struct ff_rowset rows;
static struct ff_work work;
static struct ff_task_out task;

static const struct ff_uuid flow_id = {{1}};
static const struct ff_uuid node_id = {{2}};
static const struct ff_uuid upstream_id = {{3}};

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 4096, 1 << 20);
    ff_rowset_init(&rows, &arena);
    work = (struct ff_work){.rows = &rows, .arena = &arena};
    task = (struct ff_task_out){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_arena_done(&arena);
    return 0;
}

/* It was loaded in one state; this batch has left it in another. */
static struct ff_execution *given_member(struct ff_uuid id, ff_state before, ff_state after)
{
    struct ff_execution *row = ff_rowset_row_new(&rows, FF_TABLE_EXECUTION);

    row->execution_id = id;
    row->flow_id = flow_id;
    row->node = FF_STR("up");
    row->state = (int32_t)before;
    row = ff_rowset_put(&rows, FF_TABLE_EXECUTION, row, true);
    ff_rowset_op_begin(&rows, 1);
    ff_rowset_edit(&rows, row);
    row->state = (int32_t)after;
    return row;
}

static void given_join(int32_t total)
{
    struct ff_edge_group *const group = ff_rowset_row_new(&rows, FF_TABLE_EDGE_GROUP);
    struct ff_edge *const edge = ff_rowset_row_new(&rows, FF_TABLE_EDGE);

    group->execution_id = node_id;
    group->total = total;
    (void)ff_rowset_put(&rows, FF_TABLE_EDGE_GROUP, group, true);
    edge->execution_id = upstream_id;
    edge->downstream_id = node_id;
    edge->outcome = FF_EDGE_SUCCESS;
    edge->resolved_generation = 0;
    (void)ff_rowset_put(&rows, FF_TABLE_EDGE, edge, true);
}

static void given_result(size_t bytes)
{
    const struct ff_payload key = {.execution_id = upstream_id, .kind = FF_PAYLOAD_RESULT};
    struct ff_payload *const payload = ff_rowset_insert(&rows, FF_TABLE_PAYLOAD, &key);
    char *const data = ff_arena_alloc(&arena, bytes);

    memset(data, 'r', bytes);
    payload->data = (struct ff_str){data, bytes};
}

static int32_t when_handed_out(const struct ff_execution *node)
{
    ff_task_upstreams(&work, node, &task);
    return task.upstream_count;
}

static void test_upstream__who_has_just_ended_is_told(void **state)
{
    const struct ff_execution *const node =
        given_member(node_id, FF_STATE_BLOCKED_FIRST, FF_STATE_ACTIVE);

    (void)state;
    (void)given_member(upstream_id, FF_STATE_ACTIVE, FF_STATE_SUCCESS);
    given_join(1);
    given_result(3);
    assert_int_equal(when_handed_out(node), 1);
    assert_true(ff_uuid_eq(task.upstream->id.uuid, upstream_id));
    assert_true(ff_str_eq(task.upstream->node, FF_STR("up")));
    assert_true(ff_str_eq(task.upstream->result, FF_STR("rrr")));
    assert_int_equal(task.upstream->outcome, FF_EDGE_SUCCESS);
}

static void test_upstream__no_result_is_one_too(void **state)
{
    const struct ff_execution *const node =
        given_member(node_id, FF_STATE_BLOCKED_FIRST, FF_STATE_ACTIVE);

    (void)state;
    (void)given_member(upstream_id, FF_STATE_ACTIVE, FF_STATE_SUCCESS);
    given_join(1);
    assert_int_equal(when_handed_out(node), 1);
    assert_true(ff_str_is_null(task.upstream->result));
}

/* Its result is in the store: a tag or a grow has touched it since. */
static void test_upstream__who_had_ended_before_is_read(void **state)
{
    const struct ff_execution *const node =
        given_member(node_id, FF_STATE_BLOCKED_FIRST, FF_STATE_ACTIVE);

    (void)state;
    (void)given_member(upstream_id, FF_STATE_SUCCESS, FF_STATE_SUCCESS);
    given_join(1);
    assert_int_equal(when_handed_out(node), FF_UPSTREAMS_UNREAD);
}

static void test_upstream__several_are_read(void **state)
{
    const struct ff_execution *const node =
        given_member(node_id, FF_STATE_BLOCKED_FIRST, FF_STATE_ACTIVE);

    (void)state;
    (void)given_member(upstream_id, FF_STATE_ACTIVE, FF_STATE_SUCCESS);
    given_join(2);
    assert_int_equal(when_handed_out(node), FF_UPSTREAMS_UNREAD);
}

static void test_upstream__who_waited_before_is_read(void **state)
{
    const struct ff_execution *const node =
        given_member(node_id, FF_STATE_READY_FIRST, FF_STATE_ACTIVE);

    (void)state;
    (void)given_member(upstream_id, FF_STATE_ACTIVE, FF_STATE_SUCCESS);
    given_join(1);
    assert_int_equal(when_handed_out(node), FF_UPSTREAMS_UNREAD);
}

static void test_upstream__what_is_large_is_read(void **state)
{
    const struct ff_execution *const node =
        given_member(node_id, FF_STATE_BLOCKED_FIRST, FF_STATE_ACTIVE);

    (void)state;
    (void)given_member(upstream_id, FF_STATE_ACTIVE, FF_STATE_SUCCESS);
    given_join(1);
    given_result(FF_UPSTREAM_HANDED_BYTES + 1);
    assert_int_equal(when_handed_out(node), FF_UPSTREAMS_UNREAD);
}

static void test_upstream__without_a_flow_there_is_none(void **state)
{
    struct ff_execution *const solo = given_member(node_id, FF_STATE_READY_FIRST, FF_STATE_ACTIVE);

    (void)state;
    solo->flow_id = (struct ff_uuid){{0}};
    assert_int_equal(when_handed_out(solo), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_upstream__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(who_has_just_ended_is_told),   TEST(no_result_is_one_too),
        TEST(who_had_ended_before_is_read), TEST(several_are_read),
        TEST(who_waited_before_is_read),    TEST(what_is_large_is_read),
        TEST(without_a_flow_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
