/* SPDX-License-Identifier: Apache-2.0
 *
 * test_claim.c -- handing executions to workers under leases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"
#include "model/codes.h"
#include "model/states.h"
#include "support/world_fixture.h"

static struct ff_exec_id given_in_lane(const char *lane, int64_t priority)
{
    struct ff_submit_in in = world_submission(&w);

    in.lane = ff_str_of(lane);
    in.priority = priority;
    return world_submit(&w, &in);
}

static void test_claim__gives_a_lease(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);
    struct ff_claim_out out;
    const struct ff_execution *row;

    (void)state;
    assert_int_equal(world_claim(&w, "w1", 5, &out), 1);
    assert_false(out.went_short);
    assert_int_equal(out.tasks[0].lease_epoch, 1);
    assert_int_equal(out.tasks[0].attempt_index, 0);
    assert_int_equal(out.tasks[0].attempt_type, FF_ATTEMPT_INITIAL);
    assert_int_equal(out.tasks[0].lease_expires_at_ms, w.now_ms + FF_LEASE_TTL_MS_DEFAULT);
    assert_true(ff_str_eq(out.tasks[0].kind, FF_STR("shell")));
    row = world_execution(&w, id);
    assert_int_equal(row->state, FF_STATE_ACTIVE);
    assert_int_equal(row->attempt_count, 1);
    assert_int_equal(row->started_at_ms, w.now_ms);
    assert_int_equal(row->due_at_ms, out.tasks[0].lease_expires_at_ms);
    assert_true(ff_uuid_eq(row->lease_id, out.tasks[0].lease_id));
    assert_string_equal(world_events(&w, id, 0), "lease.acquired");
    assert_int_equal(world_last_event(&w)->lease_epoch, 1);
    assert_int_equal(world_last_event(&w)->state, FF_STATE_ACTIVE);
    assert_int_equal(world_last_event(&w)->version, row->version);
    assert_int_equal(world_claim(&w, "w2", 5, &out), 0);
}

static void test_claim__best_first_and_only_what_fits(void **state)
{
    struct ff_str gpu[] = {FF_STR("gpu")};
    struct ff_str both[] = {FF_STR("arm64"), FF_STR("gpu")};
    struct ff_submit_in in = world_submission(&w);
    struct ff_claim_in claim = world_claim_of(&w, "w1");
    struct ff_claim_out out;
    struct ff_exec_id low;
    struct ff_exec_id high;
    struct ff_exec_id picky;

    (void)state;
    low = given_in_lane("default", 1);
    high = given_in_lane("default", 5);
    in.capabilities = gpu;
    in.capability_count = 1;
    in.priority = 9;
    picky = world_submit(&w, &in);
    claim.max = 2;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &out), FF_OK);
    assert_int_equal(out.task_count, 2);
    assert_true(ff_exec_id_eq(out.tasks[0].id, high));
    assert_true(ff_exec_id_eq(out.tasks[1].id, low));
    claim.capabilities = both;
    claim.capability_count = 2;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &out), FF_OK);
    assert_int_equal(out.task_count, 1);
    assert_true(ff_exec_id_eq(out.tasks[0].id, picky));
}

static void test_claim__lanes_in_the_order_given(void **state)
{
    struct ff_str lanes[] = {FF_STR("b"), FF_STR("a"), FF_STR("b")};
    struct ff_claim_in claim = world_claim_of(&w, "w1");
    struct ff_claim_out out;
    struct ff_exec_id a;
    struct ff_exec_id b;

    (void)state;
    a = given_in_lane("a", 100);
    b = given_in_lane("b", 0);
    claim.lanes = lanes;
    claim.lane_count = 3;
    claim.max = 9;
    assert_int_equal(ff_claim_prepare(&claim, &w.arena, NULL), FF_OK);
    assert_int_equal(claim.lane_count, 2);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &out), FF_OK);
    assert_int_equal(out.task_count, 2);
    assert_true(ff_exec_id_eq(out.tasks[0].id, b));
    assert_true(ff_exec_id_eq(out.tasks[1].id, a));
}

static void test_claim__by_kind_and_namespace(void **state)
{
    struct ff_str kinds[] = {FF_STR("http")};
    struct ff_claim_in claim = world_claim_of(&w, "w1");
    struct ff_claim_out out;

    (void)state;
    (void)world_given_ready(&w);
    claim.kinds = kinds;
    claim.kind_count = 1;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &out), FF_OK);
    assert_int_equal(out.task_count, 0);
    claim.kind_count = 0;
    claim.namespace = FF_STR("elsewhere");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &out), FF_OK);
    assert_int_equal(out.task_count, 0);
    claim.namespace = FF_STR("default");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &out), FF_OK);
    assert_int_equal(out.task_count, 1);
}

/* Equal claims of a batch share a scan and deal it out. */
static void test_claim__one_batch_never_gives_a_row_twice(void **state)
{
    struct ff_claim_in in[3];
    struct ff_claim_out out[3];
    struct world_job jobs[3];

    (void)state;
    for (int i = 0; i < 5; i++)
        (void)world_given_ready(&w);
    for (int i = 0; i < 3; i++) {
        in[i] = world_claim_of(&w, i == 0 ? "w0" : i == 1 ? "w1" : "w2");
        in[i].max = 2;
        jobs[i] = (struct world_job){FF_OP_EXECUTION_CLAIM, &in[i], &out[i], FF_OK};
    }
    in[2].namespace = FF_STR("default"); /* another scan over the same rows */
    world_batch(&w, jobs, 3);
    assert_int_equal(out[0].task_count, 2);
    assert_int_equal(out[1].task_count, 2);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            assert_false(ff_exec_id_eq(out[0].tasks[i].id, out[1].tasks[j].id));
    assert_int_equal(out[2].task_count, 0); /* its two rows were gone ... */
    assert_true(out[2].went_short);         /* ... but there may be more */
    assert_false(out[0].went_short);
    assert_int_equal(world_claim(&w, "w2", 2, &out[2]), 1);
    assert_false(out[2].went_short);
}

static void test_claim__passes_over_what_is_late(void **state)
{
    struct ff_submit_in in = world_submission(&w);
    struct ff_claim_out out;

    (void)state;
    in.deadline_ms = 10;
    (void)world_submit(&w, &in);
    w.now_ms += 10;
    assert_int_equal(world_claim(&w, "w1", 1, &out), 0);
}

static void test_claim__a_paused_lane_gives_nothing(void **state)
{
    struct ff_lane_pause_in pause = {.lane = FF_STR("default"), .paused = true};
    struct ff_claim_out out;
    char unused[16];

    (void)state;
    (void)world_given_ready(&w);
    assert_int_equal(world_run(&w, FF_OP_LANE_PAUSE, &pause, unused), FF_OK);
    assert_int_equal(world_claim(&w, "w1", 1, &out), 0);
    assert_false(out.went_short);
    assert_int_equal(world_run(&w, FF_OP_LANE_PAUSE, &pause, unused), FF_OK); /* again: nothing */
    assert_int_equal(w.event_count, 1);
    pause.paused = false;
    assert_int_equal(world_run(&w, FF_OP_LANE_PAUSE, &pause, unused), FF_OK);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(world_claim(&w, "w1", 1, &out), 1);
}

static void test_claim__an_answer_is_bounded_in_bytes(void **state)
{
    static char bytes[FF_INPUT_BYTES_MAX];
    struct ff_claim_out out;

    (void)state;
    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 12; i++) {
        struct ff_submit_in in = world_submission(&w);

        in.input = (struct ff_str){bytes, sizeof bytes};
        (void)world_submit(&w, &in);
    }
    assert_int_equal(world_claim(&w, "w1", 20, &out), 7); /* 1 MiB each and their heads: 8 MiB */
    assert_true(out.tasks[0].input_elsewhere);
    assert_int_equal(world_claim(&w, "w1", 20, &out), 5);
}

static struct ff_claim_in request(const char *worker, const char *id)
{
    struct ff_claim_in in = world_claim_of(&w, worker);

    in.request_id = ff_str_of(id);
    in.max = 2;
    return in;
}

static void test_claim__the_same_request_gives_the_same_tasks(void **state)
{
    struct ff_claim_in first = request("w1", "r1");
    struct ff_claim_in again = request("w1", "r1");
    struct ff_claim_in other = request("w2", "r1");
    struct ff_claim_out a;
    struct ff_claim_out b;

    (void)state;
    for (int i = 0; i < 3; i++)
        (void)world_given_ready(&w);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &first, &a), FF_OK);
    assert_int_equal(a.task_count, 2);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &again, &b), FF_OK);
    assert_int_equal(b.task_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(ff_uuid_eq(a.tasks[i].lease_id, b.tasks[i].lease_id));
        assert_int_equal(a.tasks[i].lease_epoch, b.tasks[i].lease_epoch);
    }
    assert_int_equal(w.event_count, 2);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &other, &b), FF_OK);
    assert_int_equal(b.task_count, 1); /* a request id belongs to its instance */
}

static void test_claim__a_request_never_gives_other_tasks(void **state)
{
    struct ff_claim_in first = request("w1", "r1");
    struct ff_claim_in again = request("w1", "r1");
    struct ff_complete_in complete = {0};
    struct ff_claim_out out;
    struct ff_state_out ended;

    (void)state;
    for (int i = 0; i < 4; i++)
        (void)world_given_ready(&w);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &first, &out), FF_OK);
    complete.task = world_task(&out, 0);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_COMPLETE, &complete, &ended), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &again, &out), FF_OK);
    assert_int_equal(out.task_count, 1);
    complete.task = world_task(&out, 0);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_COMPLETE, &complete, &ended), FF_OK);
    again = request("w1", "r1");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &again, &out), FF_OK);
    assert_int_equal(out.task_count, 0);
}

/* Given back and taken by another: no longer this request's. */
static void test_claim__a_request_follows_its_own_leases_only(void **state)
{
    struct ff_claim_in first = request("w1", "r1");
    struct ff_claim_in again = request("w1", "r1");
    struct ff_release_in release = {0};
    struct ff_state_out given_back;
    struct ff_claim_out out;

    (void)state;
    (void)world_given_ready(&w);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &first, &out), FF_OK);
    release.task = world_task(&out, 0);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_RELEASE, &release, &given_back), FF_OK);
    (void)world_given_claimed(&w, "w2");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &again, &out), FF_OK);
    assert_int_equal(out.task_count, 0);
}

/* Retries do not move the beginning. */
static void test_claim__started_once_is_started(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);
    const int64_t started_at = w.now_ms;
    struct ff_release_in release = {0};
    struct ff_state_out out;

    (void)state;
    release.task = world_given_claimed(&w, "w1");
    w.now_ms += 1000;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_RELEASE, &release, &out), FF_OK);
    (void)world_given_claimed(&w, "w2");
    assert_int_equal(world_execution(&w, id)->started_at_ms, started_at);
    assert_int_equal(world_execution(&w, id)->lease_acquired_at_ms, w.now_ms);
}

/* An empty answer is not remembered: a claim that waits may ask again. */
static void test_claim__an_empty_request_stays_open(void **state)
{
    struct ff_claim_in in = request("w1", "r1");
    struct ff_claim_out out;

    (void)state;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &in, &out), FF_OK);
    assert_int_equal(out.task_count, 0);
    assert_int_equal(w.row_count[FF_TABLE_CLAIM], 0);
    (void)world_given_ready(&w);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &in, &out), FF_OK);
    assert_int_equal(out.task_count, 1);
}

static void test_claim__twice_in_one_batch_is_one_answer(void **state)
{
    struct ff_claim_in in[] = {request("w1", "r1"), request("w1", "r1")};
    struct ff_claim_out out[2];
    struct world_job jobs[] = {{FF_OP_EXECUTION_CLAIM, &in[0], &out[0], FF_OK},
                               {FF_OP_EXECUTION_CLAIM, &in[1], &out[1], FF_OK}};

    (void)state;
    for (int i = 0; i < 4; i++)
        (void)world_given_ready(&w);
    world_batch(&w, jobs, 2);
    assert_int_equal(out[0].task_count, 2);
    assert_int_equal(out[1].task_count, 2);
    assert_true(ff_uuid_eq(out[0].tasks[1].lease_id, out[1].tasks[1].lease_id));
    assert_int_equal(w.event_count, 2);
}

/* A newer binary's policy counts as the default. Passing such a row over made a claim of one spin:
 * its scan was full and brought nothing. */
static void test_claim__an_unreadable_policy_does_not_stop_the_lane(void **state)
{
    const struct ff_exec_id odd = given_in_lane("default", 9);
    struct ff_claim_out out;

    (void)state;
    (void)given_in_lane("default", 1);
    world_execution(&w, odd)->policy = FF_STR("\x63");
    assert_int_equal(world_claim(&w, "w1", 1, &out), 1);
    assert_true(ff_exec_id_eq(out.tasks[0].id, odd));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_claim__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(gives_a_lease),
        TEST(best_first_and_only_what_fits),
        TEST(lanes_in_the_order_given),
        TEST(by_kind_and_namespace),
        TEST(one_batch_never_gives_a_row_twice),
        TEST(passes_over_what_is_late),
        TEST(a_paused_lane_gives_nothing),
        TEST(an_answer_is_bounded_in_bytes),
        TEST(the_same_request_gives_the_same_tasks),
        TEST(a_request_never_gives_other_tasks),
        TEST(a_request_follows_its_own_leases_only),
        TEST(started_once_is_started),
        TEST(an_empty_request_stays_open),
        TEST(twice_in_one_batch_is_one_answer),
        TEST(an_unreadable_policy_does_not_stop_the_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
