/* SPDX-License-Identifier: Apache-2.0
 *
 * test_operator.c -- what operators may do to an execution, and what they hear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"
#include "model/codes.h"
#include "model/events.h"
#include "model/lease.h"
#include "model/states.h"
#include "support/world_fixture.h"

/* --- cancel --- */

/* R8: a cancel writes its completion like every other end. */
static void test_operator__cancel_whatever_it_is_doing(void **state)
{
    const struct ff_exec_id waiting = world_given_ready(&w);
    struct ff_submit_in delayed = world_submission(&w);
    struct ff_state_out out;
    struct ff_task_ref task;
    struct ff_exec_id id;

    (void)state;
    assert_int_equal(world_cancel(&w, waiting, &out), FF_OK);
    world_assert_ended(&w, waiting, FF_STATE_CANCELLED);
    assert_string_equal(world_events(&w, waiting, 0),
                        "operator.cancel_requested completion.cancelled");
    assert_true(ff_str_eq(world_execution(&w, waiting)->cancel_reason, FF_STR("not needed")));
    assert_true(ff_str_eq(world_execution(&w, waiting)->cancelled_by, FF_STR("alice")));
    assert_int_equal(world_cancel(&w, waiting, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_CANCELLED);
    assert_int_equal(w.event_count, 2);
    delayed.delay_ms = 1000;
    id = world_submit(&w, &delayed);
    assert_int_equal(world_cancel(&w, id, &out), FF_OK);
    world_assert_ended(&w, id, FF_STATE_CANCELLED);
    task = world_given_task(&w);
    assert_int_equal(world_cancel(&w, task.id, &out), FF_OK);
    world_assert_ended(&w, task.id, FF_STATE_CANCELLED);
    assert_int_equal(world_execution(&w, task.id)->lease_epoch, 2);
    assert_string_equal(
        world_events(&w, task.id, 0),
        "lease.acquired operator.cancel_requested lease.revoked completion.cancelled");
}

static void test_operator__cancel_of_what_has_ended_tells_how(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_complete(&w, task, "1", &out), FF_OK);
    assert_int_equal(world_cancel(&w, task.id, &out), FF_ALREADY_TERMINAL);
    assert_string_equal(w.error.outcome, "success");
    world_assert_ended(&w, task.id, FF_STATE_SUCCESS);
}

static void test_operator__cancel_by_filter_leaves_newcomers_alone(void **state)
{
    struct ff_cancel_in in = {.id = world_given_ready(&w), .created_before_ms = w.now_ms};
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &in, &out), FF_NOT_FOUND);
    in.created_before_ms++;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &in, &out), FF_OK);
}

/* A flow member's end is told to its flow, in the same change. */
static void test_operator__a_member_leaves_a_hop(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);
    const struct ff_outbox *hop;
    struct ff_state_out out;

    (void)state;
    world_execution(&w, id)->flow_id = (struct ff_uuid){.b = {9}};
    assert_int_equal(world_cancel(&w, id, &out), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_OUTBOX], 1);
    hop = w.rows[FF_TABLE_OUTBOX][0];
    assert_int_equal(hop->kind, FF_HOP_COMPLETION);
    assert_int_equal(hop->outcome, FF_STATE_CANCELLED);
    assert_int_equal(hop->generation, 0);
    assert_int_equal(hop->dispatched_at_ms, FF_NULL64);
}

/* --- priority and tags --- */

static void test_operator__priority_reorders_and_is_logged(void **state)
{
    struct ff_priority_in in = {.id = world_given_ready(&w), .priority = 99999};
    struct ff_state_out out;

    (void)state;
    assert_int_equal(ff_priority_check(&in, NULL), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_PRIORITY, &in, &out), FF_OK);
    assert_int_equal(world_execution(&w, in.id)->priority, FF_PRIORITY_MAX);
    assert_int_equal(world_execution(&w, in.id)->version, 2);
    assert_int_equal(world_last_event(&w)->type, FF_EVENT_OPERATOR_PRIORITY_CHANGED);
    assert_int_equal(world_last_event(&w)->num_a, 0);
    assert_int_equal(world_last_event(&w)->num_b, FF_PRIORITY_MAX);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_PRIORITY, &in, &out), FF_OK); /* again */
    assert_int_equal(w.event_count, 1);
    assert_int_equal(world_execution(&w, in.id)->version, 2);
    assert_int_equal(world_cancel(&w, in.id, &out), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_PRIORITY, &in, &out), FF_ALREADY_TERMINAL);
}

static ff_status tag(struct ff_exec_id id, const char *name, const char *value)
{
    struct ff_tag_in tags[] = {{ff_str_of(name), ff_str_of(value)}};
    struct ff_tag_op_in in = {.id = id, .tags = tags, .tag_count = 1};
    struct ff_tag_op_out out;

    return world_run(&w, FF_OP_EXECUTION_TAG, &in, &out);
}

static void test_operator__tags_are_set_and_removed(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);

    (void)state;
    assert_int_equal(tag(id, "team", "a"), FF_OK);
    assert_int_equal(tag(id, "team", "b"), FF_OK);
    assert_int_equal(world_execution(&w, id)->version, 3);
    assert_int_equal(tag(id, "team", "b"), FF_OK); /* nothing new */
    assert_int_equal(world_execution(&w, id)->version, 3);
    assert_int_equal(w.row_count[FF_TABLE_TAG], 1);
    assert_true(world_execution(&w, id)->flags & FF_EXEC_TAGGED);
    assert_int_equal(tag(id, "team", NULL), FF_OK);
    assert_int_equal(tag(id, "team", NULL), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_TAG], 0);
    assert_false(world_execution(&w, id)->flags & FF_EXEC_TAGGED);
    assert_int_equal(world_execution(&w, id)->version, 4);
}

static void test_operator__the_instance_tag_stays(void **state)
{
    struct ff_tag_in tags[] = {{FF_STR("instance"), FF_STR("blue")}};
    struct ff_submit_in in = world_submission(&w);
    struct ff_exec_id id;

    (void)state;
    in.tags = tags;
    in.tag_count = 1;
    id = world_submit(&w, &in);
    assert_int_equal(tag(id, "instance", "green"), FF_CONFLICT);
    assert_int_equal(tag(id, "instance", NULL), FF_CONFLICT);
    assert_int_equal(tag(id, "instance", "blue"), FF_OK);
    assert_int_equal(tag(world_given_ready(&w), "instance", "late"), FF_CONFLICT);
}

static void test_operator__tags_are_limited_in_number(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);
    struct ff_tag_in first = {FF_STR("x"), FF_STR("")};
    struct ff_tag_in second = {FF_STR("y"), FF_STR("")};
    struct ff_tag_op_in in[] = {{id, &first, 1}, {id, &second, 1}};
    struct ff_tag_op_out out[2];
    struct world_job jobs[] = {{FF_OP_EXECUTION_TAG, &in[0], &out[0], FF_OK},
                               {FF_OP_EXECUTION_TAG, &in[1], &out[1], FF_OK}};
    char name[8] = "t-0";

    (void)state;
    for (int i = 0; i < FF_TAGS_MAX - 1; i++) {
        name[1] = (char)('a' + i / 10);
        name[2] = (char)('0' + i % 10);
        assert_int_equal(
            tag(id, ff_arena_printf(&w.arena, "%s", name).ptr, ff_arena_printf(&w.arena, "v").ptr),
            FF_OK);
    }
    world_batch(&w, jobs, 2); /* one place is left, two want it at once */
    assert_int_equal(jobs[0].status, FF_OK);
    assert_int_equal(jobs[1].status, FF_TOO_LARGE);
    assert_int_equal(w.row_count[FF_TABLE_TAG], FF_TAGS_MAX);
    assert_int_equal(tag(id, "x", "changed"), FF_OK);
    assert_int_equal(tag(id, "x", NULL), FF_OK);
    assert_int_equal(tag(id, "y", ""), FF_OK);
}

/* --- revoke --- */

static void test_operator__revoke_takes_the_lease_away(void **state)
{
    struct ff_task_ref task = world_given_task(&w);
    struct ff_claim_out again;
    struct ff_revoke_out out;
    struct ff_state_out said;

    (void)state;
    assert_int_equal(world_revoke(&w, task.id, &out), FF_OK);
    assert_true(ff_uuid_eq(out.lease_id, task.lease_id));
    assert_int_equal(out.lease_epoch, 1);
    assert_int_equal(out.state, FF_STATE_READY_RETRY);
    assert_int_equal(world_last_event(&w)->type, FF_EVENT_LEASE_REVOKED);
    assert_true(ff_str_eq(world_last_event(&w)->note, FF_STR("alice")));
    assert_true(ff_str_eq(world_last_event(&w)->prev_owner, FF_STR("w1")));
    assert_int_equal(world_revoke(&w, task.id, &out), FF_OK); /* again: the first answer */
    assert_int_equal(out.lease_epoch, 1);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(world_complete(&w, task, "1", &said), FF_LEASE_REVOKED);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 1);              /* moves on ... */
    assert_int_equal(world_execution(&w, task.id)->retry_count, 0); /* ... without a retry */
    assert_true(again.tasks[0].lease_epoch > 1);
    assert_int_equal(world_complete(&w, task, "1", &said), FF_LEASE_REVOKED);
    assert_int_equal(world_complete(&w, world_task(&again, 0), "1", &said), FF_OK);
    assert_int_equal(world_revoke(&w, task.id, &out), FF_ALREADY_TERMINAL);
    assert_int_equal(world_revoke(&w, world_given_ready(&w), &out), FF_NOT_LEASED);
    task = world_given_claimed(&w, "w1");
    w.now_ms += FF_LEASE_TTL_MS_DEFAULT; /* lost by its own fault, not by ours */
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    assert_int_equal(world_revoke(&w, task.id, &out), FF_NOT_LEASED);
}

/* --- replay --- */

/* F34: cancelled ones too, history stays, the limit counts. */
static void test_operator__replay_is_a_new_generation(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    const struct ff_execution *row;
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_replay(&w, task.id, &out), FF_NOT_TERMINAL);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_PERMANENT, &out), FF_OK);
    w.now_ms += 5;
    assert_int_equal(world_replay(&w, task.id, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_READY_REPLAY);
    assert_int_equal(out.generation, 1);
    row = world_execution(&w, task.id);
    assert_int_equal(row->finished_at_ms, FF_NULL64);
    assert_int_equal(row->replay_count, 1);
    assert_int_equal(row->retry_count, 0);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_type, FF_ATTEMPT_REPLAY);
    assert_int_equal(again.tasks[0].attempt_index, 1);
    assert_int_equal(again.tasks[0].generation, 1);
    assert_non_null(world_attempt(&w, task)); /* the old attempt is still there */
    assert_int_equal(world_complete(&w, task, "1", &out), FF_CONFLICT);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_PERMANENT, &out),
                     FF_OK); /* the first answer */
    assert_int_equal(out.state, FF_STATE_FAILED);
    assert_int_equal(world_complete(&w, world_task(&again, 0), "1", &out), FF_OK);
    assert_int_equal(world_last_event(&w)->generation, 1);
    assert_string_equal(world_events(&w, task.id, 0),
                        "lease.acquired completion.failed operator.replayed lease.acquired "
                        "completion.success");
}

/* The attempt that completed it is on its row until then, and among the others from then on. */
static void test_operator__replay_of_the_completed_keeps_its_attempt(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    const int64_t began_ms = w.now_ms;
    const struct ff_attempt *first;
    const struct ff_execution *row;
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    w.now_ms += 7;
    assert_int_equal(world_complete(&w, task, "1", &out), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 0);
    w.now_ms += 5;
    assert_int_equal(world_replay(&w, task.id, &out), FF_OK);
    first = world_attempt(&w, task);
    assert_non_null(first);
    assert_int_equal(first->generation, 0);
    assert_int_equal(first->attempt_index, 0);
    assert_int_equal(first->outcome, FF_END_COMPLETED);
    assert_true(ff_uuid_eq(first->lease_id, task.lease_id));
    assert_true(ff_str_eq(first->worker_instance_id, FF_STR("w1")));
    assert_int_equal(first->started_at_ms, began_ms);
    assert_int_equal(first->ended_at_ms, began_ms + 7);
    row = world_execution(&w, task.id);
    assert_int_equal(row->lease_acquired_at_ms, FF_NULL64);
    assert_true(ff_str_is_null(row->worker_id));
    assert_true(ff_str_is_null(row->worker_instance_id));
    assert_int_equal(world_complete(&w, task, "1", &out), FF_OK); /* told again */
    assert_int_equal(out.state, FF_STATE_SUCCESS);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(world_complete(&w, world_task(&again, 0), "2", &out), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 1);
    assert_true(ff_attempt_is_kept(world_execution(&w, task.id)));
}

static void test_operator__replay_starts_counting_again(void **state)
{
    struct ff_policy policy;
    struct ff_task_ref task;
    struct ff_state_out out;

    (void)state;
    ff_policy_default(&policy);
    policy.lease_lapse = FF_LAPSE_RECLAIM;
    policy.backoff = FF_BACKOFF_FIXED;
    policy.delay_ms = 0;
    task = world_given_task_with(&w, &policy);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_TRANSIENT, &out), FF_OK);
    (void)world_given_claimed(&w, "w1");
    w.now_ms += FF_LEASE_TTL_MS_DEFAULT;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    task = world_given_claimed(&w, "w2");
    assert_int_equal(world_execution(&w, task.id)->retry_count, 1);
    assert_int_equal(world_execution(&w, task.id)->reclaim_count, 1);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_PERMANENT, &out), FF_OK);
    assert_int_equal(world_execution(&w, task.id)->attempt_index, 1);
    assert_int_equal(world_replay(&w, task.id, &out), FF_OK);
    assert_int_equal(world_execution(&w, task.id)->retry_count, 0);
    assert_int_equal(world_execution(&w, task.id)->reclaim_count, 0);
    assert_int_equal(world_execution(&w, task.id)->attempt_index, 2);
    assert_int_equal(world_execution(&w, task.id)->attempt_count, 2);
}

static void test_operator__replay_of_a_cancelled_one_keeps_old_leases_out(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_cancel(&w, task.id, &out), FF_OK);
    assert_int_equal(world_replay(&w, task.id, &out), FF_OK);
    assert_true(ff_str_is_null(world_execution(&w, task.id)->cancel_reason));
    assert_int_equal(world_complete(&w, task, "1", &out), FF_NOT_ACTIVE);
    (void)world_given_claimed(&w, "w2");
    assert_int_equal(world_complete(&w, task, "1", &out), FF_NOT_ACTIVE);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
}

static void test_operator__replay_has_a_limit_and_conditions(void **state)
{
    struct ff_submit_in submission = world_submission(&w);
    struct ff_replay_in in;
    struct ff_state_out out;
    struct ff_exec_id id;

    (void)state;
    submission.policy.max_replay_count = 2;
    id = world_submit(&w, &submission);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(world_cancel(&w, id, &out), FF_OK);
        in = world_replay_of(id);
        in.expected_generation = i + 1;
        assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_CONFLICT);
        in.expected_generation = i;
        in.finished_before_ms = w.now_ms - 1;
        assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_NOT_FOUND);
        in.finished_before_ms = w.now_ms;
        assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    }
    assert_int_equal(world_cancel(&w, id, &out), FF_OK);
    assert_int_equal(world_replay(&w, id, &out), FF_REPLAY_LIMIT);
}

static void test_operator__replay_may_bring_a_new_input(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);
    struct ff_replay_in in = world_replay_of(id);
    const struct ff_payload *payload;
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_cancel(&w, id, &out), FF_OK);
    in.has_input = true;
    in.input = FF_STR("[7]");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    payload = w.rows[FF_TABLE_PAYLOAD][0];
    assert_int_equal(payload->generation, 1);
    assert_int_equal(payload->kind, FF_PAYLOAD_INPUT);
    assert_true(ff_str_eq(payload->data, FF_STR("[7]")));
    assert_int_equal(world_claim(&w, "w1", 1, &again), 1);
    assert_true(again.tasks[0].input_elsewhere);
}

static void test_operator__replay_and_deadlines(void **state)
{
    struct ff_submit_in relative = world_submission(&w);
    struct ff_submit_in absolute = world_submission(&w);
    struct ff_submit_in coming = world_submission(&w);
    struct ff_replay_in in;
    struct ff_state_out out;
    struct ff_exec_id id[3];

    (void)state;
    relative.deadline_ms = 1000;
    absolute.deadline_at_ms = w.now_ms + 1000;
    coming.deadline_at_ms = w.now_ms + 10000;
    id[0] = world_submit(&w, &relative);
    id[1] = world_submit(&w, &absolute);
    id[2] = world_submit(&w, &coming);
    w.now_ms += 2000;
    assert_int_equal(world_fire(&w, FF_TIMER_DEADLINES).deadlines, 2);
    assert_int_equal(world_cancel(&w, id[2], &out), FF_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(world_replay(&w, id[i], &out), FF_OK);
    assert_int_equal(world_execution(&w, id[0])->deadline_at_ms, w.now_ms + 1000);
    assert_int_equal(world_execution(&w, id[1])->deadline_at_ms, FF_NULL64);
    assert_int_equal(world_execution(&w, id[2])->deadline_at_ms, w.now_ms + 8000);
    assert_int_equal(world_cancel(&w, id[1], &out), FF_OK);
    in = world_replay_of(id[1]);
    in.deadline_ms = 77;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    assert_int_equal(world_execution(&w, id[1])->deadline_at_ms, w.now_ms + 77);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_operator__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(cancel_whatever_it_is_doing),
        TEST(cancel_of_what_has_ended_tells_how),
        TEST(cancel_by_filter_leaves_newcomers_alone),
        TEST(a_member_leaves_a_hop),
        TEST(priority_reorders_and_is_logged),
        TEST(tags_are_set_and_removed),
        TEST(the_instance_tag_stays),
        TEST(tags_are_limited_in_number),
        TEST(revoke_takes_the_lease_away),
        TEST(replay_is_a_new_generation),
        TEST(replay_of_the_completed_keeps_its_attempt),
        TEST(replay_starts_counting_again),
        TEST(replay_of_a_cancelled_one_keeps_old_leases_out),
        TEST(replay_has_a_limit_and_conditions),
        TEST(replay_may_bring_a_new_input),
        TEST(replay_and_deadlines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
