/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ops.c -- what workers may do to an execution, and what they hear. */
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
#include "model/states.h"
#include "support/world_fixture.h"

/* --- complete --- */

static void test_ops__complete_ends_it(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;

    (void)state;
    w.now_ms += 10;
    assert_int_equal(world_complete(&w, task, "42", &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_SUCCESS);
    world_assert_ended(&w, task.id, FF_STATE_SUCCESS);
    assert_int_equal(world_execution(&w, task.id)->lease_epoch, 2);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 0); /* its row keeps it */
    assert_int_equal(w.row_count[FF_TABLE_PAYLOAD], 1);
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired completion.success");
}

/* F16: told twice it is the same success, and one event. */
static void test_ops__complete_told_twice_is_one_success(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_complete(&w, task, "42", &out), FF_OK);
    w.now_ms += 1000;
    assert_int_equal(world_complete(&w, task, "42", &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_SUCCESS);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(world_complete(&w, task, "43", &out), FF_CONFLICT);
    assert_int_equal(world_complete(&w, task, NULL, &out), FF_CONFLICT);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_TRANSIENT, &out), FF_CONFLICT);
    assert_int_equal(world_release(&w, task, &out), FF_CONFLICT);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 0);
}

/* F16: complete after cancel does not resurrect. */
static void test_ops__complete_after_cancel_is_refused(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_cancel(&w, task.id, &out), FF_OK);
    assert_int_equal(world_complete(&w, task, "42", &out), FF_NOT_ACTIVE);
    assert_string_equal(w.error.outcome, "cancelled");
    world_assert_ended(&w, task.id, FF_STATE_CANCELLED);
    assert_int_equal(w.row_count[FF_TABLE_PAYLOAD], 0);
}

/* F15: after a retry the old worker cannot touch the new owner's work. */
static void test_ops__a_stale_worker_never_overwrites_a_newer_one(void **state)
{
    const struct ff_task_ref old = world_given_task(&w);
    struct ff_task_ref new;
    struct ff_state_out out;
    struct ff_renew_out renewed;

    (void)state;
    w.now_ms += FF_LEASE_TTL_MS_DEFAULT;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    new = world_given_claimed(&w, "w2");
    assert_true(new.lease_epoch > old.lease_epoch);
    assert_int_equal(world_complete(&w, old, "1", &out), FF_STALE_LEASE);
    assert_int_equal(world_fail(&w, old, FF_FAILURE_PERMANENT, &out), FF_STALE_LEASE);
    assert_int_equal(world_delay(&w, old, 5, &out), FF_STALE_LEASE);
    assert_int_equal(world_release(&w, old, &out), FF_STALE_LEASE);
    assert_int_equal(world_renew(&w, old, FF_NULL64, &renewed), FF_STALE_LEASE);
    assert_int_equal(world_progress(&w, old, 1, NULL), FF_STALE_LEASE);
    assert_int_equal(world_complete(&w, new, "2", &out), FF_OK);
    assert_int_equal(world_complete(&w, old, "1", &out), FF_STALE_LEASE);
}

static void test_ops__late_work_is_accepted_until_a_rule_has_acted(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;

    (void)state;
    w.now_ms += 10 * FF_LEASE_TTL_MS_DEFAULT;
    assert_int_equal(world_complete(&w, task, "42", &out), FF_OK);
    world_assert_ended(&w, task.id, FF_STATE_SUCCESS);
}

static void test_ops__unknown_executions_are_not_found(void **state)
{
    struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;
    struct ff_revoke_out revoked;
    struct ff_renew_out renewed;
    struct ff_tag_op_in tag = {0};
    struct ff_tag_op_out tagged;
    struct ff_priority_in priority = {0};

    (void)state;
    task.id.uuid.b[3] ^= 1;
    tag.id = priority.id = task.id;
    assert_int_equal(world_complete(&w, task, "1", &out), FF_NOT_FOUND);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_TRANSIENT, &out), FF_NOT_FOUND);
    assert_int_equal(world_delay(&w, task, 1, &out), FF_NOT_FOUND);
    assert_int_equal(world_release(&w, task, &out), FF_NOT_FOUND);
    assert_int_equal(world_renew(&w, task, FF_NULL64, &renewed), FF_NOT_FOUND);
    assert_int_equal(world_progress(&w, task, 1, NULL), FF_NOT_FOUND);
    assert_int_equal(world_cancel(&w, task.id, &out), FF_NOT_FOUND);
    assert_int_equal(world_replay(&w, task.id, &out), FF_NOT_FOUND);
    assert_int_equal(world_revoke(&w, task.id, &revoked), FF_NOT_FOUND);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_TAG, &tag, &tagged), FF_NOT_FOUND);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_PRIORITY, &priority, &out), FF_NOT_FOUND);
}

/* --- renew --- */

static void test_ops__renew_extends_and_never_shortens(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    const int64_t first = w.now_ms + FF_LEASE_TTL_MS_DEFAULT;
    struct ff_execution before = *world_execution(&w, task.id);
    struct ff_renew_out out;

    (void)state;
    w.now_ms += 1000;
    for (int i = 0; i < 2; i++) { /* the second one changes nothing */
        assert_int_equal(world_renew(&w, task, 100, &out), FF_OK);
        assert_int_equal(out.lease_expires_at_ms, first);
        /* By the one or the other everybody sees that the lease is not what it was. */
        assert_int_equal(world_execution(&w, task.id)->version, before.version + 1);
    }
    before = *world_execution(&w, task.id);
    assert_int_equal(world_renew(&w, task, FF_LEASE_TTL_MS_DEFAULT, &out), FF_OK);
    assert_int_equal(out.lease_expires_at_ms, first + 1000);
    /* Nothing that is indexed has changed. */
    assert_int_equal(world_execution(&w, task.id)->due_at_ms, before.due_at_ms);
    assert_int_equal(world_execution(&w, task.id)->version, before.version);
    assert_int_equal(world_execution(&w, task.id)->changed_at_ms, before.changed_at_ms);
    assert_int_equal(world_execution(&w, task.id)->lease_renewed_at_ms, w.now_ms);
    assert_int_equal(world_execution(&w, task.id)->lease_epoch, 1);
}

static size_t renewals_seen(int how)
{
    const struct ff_task_ref task = world_given_task(&w);
    const size_t before = w.event_count;
    struct ff_renew_out out;

    w.settings.event_renewals = how;
    for (int i = 0; i < 9; i++) {
        w.now_ms += FF_LEASE_TTL_MS_DEFAULT / 3;
        assert_int_equal(world_renew(&w, task, FF_NULL64, &out), FF_OK);
    }
    return w.event_count - before;
}

static void test_ops__renewals_are_sampled(void **state)
{
    (void)state;
    assert_int_equal(renewals_seen(FF_RENEWALS_SAMPLED), 3); /* nine renewals in three TTLs */
    assert_int_equal(renewals_seen(FF_RENEWALS_ALL), 9);
    assert_int_equal(renewals_seen(FF_RENEWALS_NONE), 0);
}

/* --- progress --- */

static void test_ops__progress_keeps_what_is_not_said(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    const struct ff_progress *row;

    (void)state;
    assert_int_equal(world_progress(&w, task, FF_NULL32, NULL), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_PROGRESS], 0);
    assert_int_equal(world_progress(&w, task, 10, "start"), FF_OK);
    w.now_ms += 5;
    assert_int_equal(world_progress(&w, task, 50, NULL), FF_OK);
    row = w.rows[FF_TABLE_PROGRESS][0];
    assert_int_equal(row->percent, 50);
    assert_true(ff_str_eq(row->message, FF_STR("start")));
    assert_int_equal(row->updated_at_ms, w.now_ms);
    assert_int_equal(world_progress(&w, task, FF_NULL32, "end"), FF_OK);
    row = w.rows[FF_TABLE_PROGRESS][0];
    assert_int_equal(row->percent, 50);
    assert_true(ff_str_eq(row->message, FF_STR("end")));
    assert_int_equal(w.event_count, 1);
}

/* --- fail --- */

/* F21: policy and class decide, not one of them alone. */
static void test_ops__fail_retries_with_back_off(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    const struct ff_execution *row;
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_fail(&w, task, FF_FAILURE_TRANSIENT, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_DELAYED_RETRY);
    assert_int_equal(out.retry_at_ms, w.now_ms + 1000);
    row = world_execution(&w, task.id);
    assert_int_equal(row->delay_until_ms, w.now_ms + 1000);
    assert_int_equal(row->due_at_ms, w.now_ms + 1000);
    assert_int_equal(row->retry_count, 1);
    assert_int_equal(row->attempt_index, 1);
    assert_int_equal(world_attempt(&w, task)->outcome, FF_END_RETRY);
    assert_int_equal(world_attempt(&w, task)->failure_class, FF_FAILURE_TRANSIENT);
    assert_true(ff_str_eq(world_attempt(&w, task)->failure_message, FF_STR("boom")));
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired execution.retry_scheduled");
    assert_int_equal(world_last_event(&w)->num_a, w.now_ms + 1000);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 0); /* not before */
    w.now_ms += 1000;
    assert_int_equal(world_fire(&w, FF_TIMER_DELAYS).delays, 1);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 1);
    assert_int_equal(again.tasks[0].attempt_type, FF_ATTEMPT_RETRY);
    assert_int_equal(again.tasks[0].lease_epoch, 3);
}

/* F16: a second fail neither moves the index nor puts running work back. */
static void test_ops__fail_told_twice_is_one_failure(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out first;
    struct ff_state_out again;

    (void)state;
    assert_int_equal(world_fail(&w, task, FF_FAILURE_TRANSIENT, &first), FF_OK);
    w.now_ms += 1000;
    (void)world_fire(&w, FF_TIMER_DELAYS);
    (void)world_given_claimed(&w, "w2");
    assert_int_equal(world_fail(&w, task, FF_FAILURE_TRANSIENT, &again), FF_OK);
    assert_int_equal(again.state, first.state);
    assert_int_equal(again.retry_at_ms, first.retry_at_ms);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
    assert_int_equal(world_execution(&w, task.id)->retry_count, 1);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_TIMEOUT, &again), FF_CONFLICT);
    assert_int_equal(world_complete(&w, task, "1", &again), FF_CONFLICT);
}

static void test_ops__fail_ends_when_retries_are_used_up(void **state)
{
    struct ff_policy policy;
    struct ff_state_out out;
    struct ff_task_ref task;

    (void)state;
    ff_policy_default(&policy);
    policy.max_retries = 2;
    policy.backoff = FF_BACKOFF_FIXED;
    policy.delay_ms = 0;
    task = world_given_task_with(&w, &policy);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(world_fail(&w, task, FF_FAILURE_INFRA_CRASH, &out), FF_OK);
        assert_int_equal(out.state, FF_STATE_READY_RETRY); /* no delay: at once */
        assert_int_equal(out.retry_at_ms, FF_NULL64);
        task = world_given_claimed(&w, "w1");
    }
    assert_int_equal(world_fail(&w, task, FF_FAILURE_INFRA_CRASH, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_FAILED);
    world_assert_ended(&w, task.id, FF_STATE_FAILED);
    assert_int_equal(world_attempt(&w, task)->attempt_index, 2);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 3);
    assert_int_equal(world_fail(&w, task, FF_FAILURE_INFRA_CRASH, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_FAILED);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 3);
}

static void test_ops__permanent_failures_never_retry(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_fail(&w, task, FF_FAILURE_PERMANENT, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_FAILED);
    world_assert_ended(&w, task.id, FF_STATE_FAILED);
    assert_true(ff_str_eq(world_last_event(&w)->note, FF_STR("boom")));
}

static void test_ops__the_worker_may_name_the_delay(void **state)
{
    struct ff_fail_in in = {.task = world_given_task(&w), .retry_after_ms = 77777};
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_FAIL, &in, &out), FF_OK);
    assert_int_equal(out.retry_at_ms, w.now_ms + 77777);
}

/* --- delay and release --- */

/* F36: delay leaves the deadline alone; the same attempt goes on. */
static void test_ops__delay_continues_the_same_attempt(void **state)
{
    struct ff_submit_in in = world_submission(&w);
    const struct ff_execution *row;
    struct ff_claim_out again;
    struct ff_state_out out;
    struct ff_task_ref task;
    int64_t deadline;

    (void)state;
    in.deadline_ms = 100000;
    (void)world_submit(&w, &in);
    task = world_given_claimed(&w, "w1");
    deadline = world_execution(&w, task.id)->deadline_at_ms;
    w.now_ms += 300;
    assert_int_equal(world_delay(&w, task, 5000, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_DELAYED_WORKER);
    row = world_execution(&w, task.id);
    assert_int_equal(row->deadline_at_ms, deadline);
    assert_int_equal(row->delay_until_ms, w.now_ms + 5000);
    assert_int_equal(row->attempt_spent_ms, 300);
    assert_int_equal(row->retry_count, 0);
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired execution.delayed");
    assert_int_equal(world_delay(&w, task, 5000, &out), FF_OK); /* told twice */
    assert_int_equal(out.state, FF_STATE_DELAYED_WORKER);
    assert_int_equal(world_delay(&w, task, 5001, &out), FF_CONFLICT);
    w.now_ms += 5000;
    assert_int_equal(world_fire(&w, FF_TIMER_DELAYS).delays, 1);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 0);
    assert_int_equal(again.tasks[0].attempt_type, FF_ATTEMPT_INITIAL);
    assert_int_equal(again.tasks[0].lease_epoch, 3);
    assert_int_equal(world_execution(&w, task.id)->attempt_count, 1);
    assert_int_equal(world_execution(&w, task.id)->attempt_spent_ms, 300);
    assert_int_equal(world_delay(&w, world_task(&again, 0), 0, &out),
                     FF_OK); /* not at all: ready at once */
    assert_int_equal(out.state, FF_STATE_READY_RESUMED);
}

static void test_ops__release_gives_back_without_using_a_retry(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_release(&w, task, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_READY_RESUMED);
    assert_int_equal(world_attempt(&w, task)->outcome, FF_END_RELEASED);
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired lease.released");
    assert_int_equal(world_last_event(&w)->lease_epoch, 1);
    assert_true(ff_str_eq(world_last_event(&w)->note, FF_STR("shutdown")));
    assert_int_equal(world_release(&w, task, &out), FF_OK);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 0);
    assert_int_equal(world_execution(&w, task.id)->retry_count, 0);
    assert_int_equal(world_release(&w, task, &out), FF_OK); /* still the first answer */
    assert_int_equal(out.state, FF_STATE_READY_RESUMED);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
}

/* Members of a cancelled flow get no new attempt: whatever would bring one ends them. */
static void test_ops__no_new_attempt_ends_cancelled(void **state)
{
    struct ff_state_out out;
    struct ff_revoke_out revoked;
    struct ff_policy policy;
    struct ff_task_ref task[8];

    (void)state;
    ff_policy_default(&policy);
    policy.lease_lapse = FF_LAPSE_RECLAIM;
    for (int i = 0; i < 8; i++) {
        task[i] = i == 6 ? world_given_task_with(&w, &policy) : world_given_task(&w);
        world_execution(&w, task[i].id)->flags |= FF_EXEC_NO_NEW_ATTEMPT;
    }
    assert_int_equal(world_fail(&w, task[0], FF_FAILURE_TRANSIENT, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_CANCELLED);
    world_assert_ended(&w, task[0].id, FF_STATE_CANCELLED);
    assert_int_equal(world_fail(&w, task[0], FF_FAILURE_TRANSIENT, &out), FF_OK); /* told twice */
    assert_int_equal(out.state, FF_STATE_CANCELLED);
    assert_int_equal(world_delay(&w, task[1], 1, &out), FF_OK);
    world_assert_ended(&w, task[1].id, FF_STATE_CANCELLED);
    assert_int_equal(world_release(&w, task[2], &out), FF_OK);
    world_assert_ended(&w, task[2].id, FF_STATE_CANCELLED);
    assert_int_equal(world_revoke(&w, task[3].id, &revoked), FF_OK);
    world_assert_ended(&w, task[3].id, FF_STATE_CANCELLED);
    assert_int_equal(world_complete(&w, task[4], "1", &out),
                     FF_OK); /* what it has finished, it has */
    world_assert_ended(&w, task[4].id, FF_STATE_SUCCESS);
    assert_int_equal(world_fail(&w, task[7], FF_FAILURE_PERMANENT, &out), FF_OK);
    world_assert_ended(&w, task[7].id, FF_STATE_CANCELLED);
    w.now_ms += FF_LEASE_TTL_MS_DEFAULT;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 2);
    world_assert_ended(&w, task[6].id, FF_STATE_CANCELLED);
    assert_int_equal(world_execution(&w, task[5].id)->state, FF_STATE_CANCELLED);
    assert_int_equal(world_replay(&w, task[5].id, &out), FF_FLOW_TERMINAL);
}

/* --- time --- */

/* F22: only the store's time, and for a row it never runs back. */
static void test_ops__time_of_a_row_never_runs_back(void **state)
{
    const struct ff_task_ref task = world_given_task(&w);
    const int64_t claimed_at = w.now_ms;
    struct ff_state_out out;

    (void)state;
    w.now_ms -= 50000;
    assert_int_equal(world_complete(&w, task, "1", &out), FF_OK);
    assert_int_equal(world_execution(&w, task.id)->changed_at_ms, claimed_at);
    assert_int_equal(world_execution(&w, task.id)->finished_at_ms, claimed_at);
    assert_int_equal(world_last_event(&w)->at_ms, claimed_at);
}

/* --- the registry --- */

static void test_ops__every_op_is_in_the_table(void **state)
{
    (void)state;
    for (int i = 0; i < FF_OP_COUNT; i++) {
        assert_non_null(ff_op_types[i].name);
        assert_non_null(ff_op_types[i].need);
        assert_non_null(ff_op_types[i].apply);
        assert_true(ff_op_types[i].out_bytes > 0);
    }
    assert_string_equal(ff_op_types[FF_OP_EXECUTION_COMPLETE].name, "execution.complete");
    assert_int_equal(ff_op_types[FF_OP_EXECUTION_COMPLETE].cls, FF_CLASS_WORKER);
    assert_int_equal(ff_op_types[FF_OP_EXECUTION_CLAIM].out_bytes, sizeof(struct ff_claim_out));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_ops__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(complete_ends_it),
        TEST(complete_told_twice_is_one_success),
        TEST(complete_after_cancel_is_refused),
        TEST(a_stale_worker_never_overwrites_a_newer_one),
        TEST(late_work_is_accepted_until_a_rule_has_acted),
        TEST(unknown_executions_are_not_found),
        TEST(renew_extends_and_never_shortens),
        TEST(renewals_are_sampled),
        TEST(progress_keeps_what_is_not_said),
        TEST(fail_retries_with_back_off),
        TEST(fail_told_twice_is_one_failure),
        TEST(fail_ends_when_retries_are_used_up),
        TEST(permanent_failures_never_retry),
        TEST(the_worker_may_name_the_delay),
        TEST(delay_continues_the_same_attempt),
        TEST(release_gives_back_without_using_a_retry),
        TEST(no_new_attempt_ends_cancelled),
        TEST(time_of_a_row_never_runs_back),
        TEST(every_op_is_in_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
