/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ops.c -- what workers and operators may do to an execution, and what they hear. */
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
#include "support/world.h"

static struct world w;

static int setup(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_done(&w);
    return 0;
}

static char unused[16];

/* --- the words of a worker, one line each --- */

static ff_status complete(struct ff_task_ref task, const char *result, struct ff_state_out *out)
{
    struct ff_complete_in in = {.task = task, .result = ff_str_of(result)};

    return world_run(&w, FF_OP_EXECUTION_COMPLETE, &in, out);
}

static ff_status fail_with(struct ff_task_ref task, ff_failure_class cls, struct ff_state_out *out)
{
    struct ff_fail_in in = {
        .task = task, .message = FF_STR("boom"), .failure_class = cls, .retry_after_ms = FF_NULL64};

    return world_run(&w, FF_OP_EXECUTION_FAIL, &in, out);
}

static ff_status delay(struct ff_task_ref task, int64_t delay_ms, struct ff_state_out *out)
{
    struct ff_delay_in in = {.task = task, .delay_ms = delay_ms, .delay_until_ms = FF_NULL64};

    return world_run(&w, FF_OP_EXECUTION_DELAY, &in, out);
}

static ff_status release(struct ff_task_ref task, struct ff_state_out *out)
{
    struct ff_release_in in = {.task = task, .reason = FF_STR("shutdown")};

    return world_run(&w, FF_OP_EXECUTION_RELEASE, &in, out);
}

static ff_status renew(struct ff_task_ref task, int64_t ttl_ms, struct ff_renew_out *out)
{
    struct ff_renew_in in = {.task = task, .lease_ttl_ms = ttl_ms};

    return world_run(&w, FF_OP_EXECUTION_RENEW, &in, out);
}

static ff_status progress(struct ff_task_ref task, int32_t percent, const char *message)
{
    struct ff_progress_in in = {.task = task, .percent = percent, .message = ff_str_of(message)};

    return world_run(&w, FF_OP_EXECUTION_PROGRESS, &in, unused);
}

static ff_status cancel(struct ff_exec_id id, struct ff_state_out *out)
{
    struct ff_cancel_in in = {.id = id,
                              .reason = FF_STR("not needed"),
                              .by = FF_STR("alice"),
                              .created_before_ms = FF_NULL64};

    return world_run(&w, FF_OP_EXECUTION_CANCEL, &in, out);
}

static ff_status revoke(struct ff_exec_id id, struct ff_revoke_out *out)
{
    struct ff_revoke_in in = {.id = id, .by = FF_STR("alice")};

    return world_run(&w, FF_OP_EXECUTION_REVOKE, &in, out);
}

static struct ff_replay_in replay_of(struct ff_exec_id id)
{
    return (struct ff_replay_in){.id = id,
                                 .deadline_ms = FF_NULL64,
                                 .expected_generation = FF_NULL64,
                                 .finished_before_ms = FF_NULL64};
}

static ff_status replay(struct ff_exec_id id, struct ff_state_out *out)
{
    struct ff_replay_in in = replay_of(id);

    return world_run(&w, FF_OP_EXECUTION_REPLAY, &in, out);
}

static struct ff_task_ref given_claimed(void)
{
    (void)world_given_ready(&w);
    return world_given_claimed(&w, "w1");
}

static struct ff_task_ref given_claimed_with(const struct ff_policy *policy)
{
    struct ff_submit_in in = world_submission(&w);

    in.policy = *policy;
    (void)world_submit(&w, &in);
    return world_given_claimed(&w, "w1");
}

static const struct ff_attempt *attempt_of(struct ff_task_ref task)
{
    const struct ff_attempt key = {.partition_key = task.id.partition,
                                   .execution_id = task.id.uuid,
                                   .lease_epoch = task.lease_epoch};

    return world_row(&w, FF_TABLE_ATTEMPT, &key);
}

/* What must hold of every execution that has ended. */
static void assert_ended(struct ff_exec_id id, ff_state outcome)
{
    const struct ff_execution *const row = world_execution(&w, id);

    assert_int_equal(row->state, outcome);
    assert_int_equal(row->finished_at_ms, w.now_ms);
    assert_int_equal(row->due_at_ms, FF_NULL64);
    assert_true(ff_uuid_is_zero(row->lease_id));
    assert_int_equal(row->lease_expires_at_ms, FF_NULL64);
    assert_true(ff_str_is_null(row->worker_id));
    assert_int_equal(world_last_event(&w)->kind, FF_EVENT_COMPLETION);
    assert_int_equal(world_last_event(&w)->state, outcome);
    assert_int_equal(world_last_event(&w)->generation, row->generation);
    assert_int_equal(world_last_event(&w)->version, row->version);
    assert_true(ff_str_eq(world_last_event(&w)->namespace, row->namespace));
}

/* --- complete --- */

/* F01 */
static void test_ops__complete_ends_it(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out out;

    (void)state;
    w.now_ms += 10;
    assert_int_equal(complete(task, "42", &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_SUCCESS);
    assert_ended(task.id, FF_STATE_SUCCESS);
    assert_int_equal(world_execution(&w, task.id)->lease_epoch, 2);
    assert_int_equal(attempt_of(task)->outcome, FF_END_COMPLETED);
    assert_int_equal(attempt_of(task)->ended_at_ms, w.now_ms);
    assert_int_equal(w.row_count[FF_TABLE_PAYLOAD], 1);
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired completion.success");
}

/* F16, L15: told twice it is the same success, and one event. */
static void test_ops__complete_told_twice_is_one_success(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out out;

    (void)state;
    assert_int_equal(complete(task, "42", &out), FF_OK);
    w.now_ms += 1000;
    assert_int_equal(complete(task, "42", &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_SUCCESS);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(complete(task, "43", &out), FF_CONFLICT);
    assert_int_equal(complete(task, NULL, &out), FF_CONFLICT);
    assert_int_equal(fail_with(task, FF_FAILURE_TRANSIENT, &out), FF_CONFLICT);
    assert_int_equal(release(task, &out), FF_CONFLICT);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 1);
}

/* F16: complete after cancel does not resurrect. */
static void test_ops__complete_after_cancel_is_refused(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out out;

    (void)state;
    assert_int_equal(cancel(task.id, &out), FF_OK);
    assert_int_equal(complete(task, "42", &out), FF_NOT_ACTIVE);
    assert_string_equal(w.error.outcome, "cancelled");
    assert_ended(task.id, FF_STATE_CANCELLED);
    assert_int_equal(w.row_count[FF_TABLE_PAYLOAD], 0);
}

/* F15: after a retry the old worker cannot touch the new owner's work. */
static void test_ops__a_stale_worker_never_overwrites_a_newer_one(void **state)
{
    const struct ff_task_ref old = given_claimed();
    struct ff_task_ref new;
    struct ff_state_out out;
    struct ff_renew_out renewed;

    (void)state;
    w.now_ms += FF_LEASE_TTL_MS_DEFAULT;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    new = world_given_claimed(&w, "w2");
    assert_true(new.lease_epoch > old.lease_epoch);
    assert_int_equal(complete(old, "1", &out), FF_STALE_LEASE);
    assert_int_equal(fail_with(old, FF_FAILURE_PERMANENT, &out), FF_STALE_LEASE);
    assert_int_equal(delay(old, 5, &out), FF_STALE_LEASE);
    assert_int_equal(release(old, &out), FF_STALE_LEASE);
    assert_int_equal(renew(old, FF_NULL64, &renewed), FF_STALE_LEASE);
    assert_int_equal(progress(old, 1, NULL), FF_STALE_LEASE);
    assert_int_equal(complete(new, "2", &out), FF_OK);
    assert_int_equal(complete(old, "1", &out), FF_STALE_LEASE);
}

static void test_ops__late_work_is_accepted_until_a_rule_has_acted(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out out;

    (void)state;
    w.now_ms += 10 * FF_LEASE_TTL_MS_DEFAULT;
    assert_int_equal(complete(task, "42", &out), FF_OK);
    assert_ended(task.id, FF_STATE_SUCCESS);
}

static void test_ops__unknown_executions_are_not_found(void **state)
{
    struct ff_task_ref task = given_claimed();
    struct ff_state_out out;
    struct ff_revoke_out revoked;
    struct ff_renew_out renewed;
    struct ff_tag_op_in tag = {0};
    struct ff_tag_op_out tagged;
    struct ff_priority_in priority = {0};

    (void)state;
    task.id.uuid.b[3] ^= 1;
    tag.id = priority.id = task.id;
    assert_int_equal(complete(task, "1", &out), FF_NOT_FOUND);
    assert_int_equal(fail_with(task, FF_FAILURE_TRANSIENT, &out), FF_NOT_FOUND);
    assert_int_equal(delay(task, 1, &out), FF_NOT_FOUND);
    assert_int_equal(release(task, &out), FF_NOT_FOUND);
    assert_int_equal(renew(task, FF_NULL64, &renewed), FF_NOT_FOUND);
    assert_int_equal(progress(task, 1, NULL), FF_NOT_FOUND);
    assert_int_equal(cancel(task.id, &out), FF_NOT_FOUND);
    assert_int_equal(replay(task.id, &out), FF_NOT_FOUND);
    assert_int_equal(revoke(task.id, &revoked), FF_NOT_FOUND);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_TAG, &tag, &tagged), FF_NOT_FOUND);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_PRIORITY, &priority, &out), FF_NOT_FOUND);
}

/* --- renew --- */

static void test_ops__renew_extends_and_never_shortens(void **state)
{
    const struct ff_task_ref task = given_claimed();
    const int64_t first = w.now_ms + FF_LEASE_TTL_MS_DEFAULT;
    const struct ff_execution before = *world_execution(&w, task.id);
    struct ff_renew_out out;

    (void)state;
    w.now_ms += 1000;
    assert_int_equal(renew(task, 100, &out), FF_OK);
    assert_int_equal(out.lease_expires_at_ms, first);
    assert_int_equal(renew(task, FF_LEASE_TTL_MS_DEFAULT, &out), FF_OK);
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
    const struct ff_task_ref task = given_claimed();
    const size_t before = w.event_count;
    struct ff_renew_out out;

    w.settings.event_renewals = how;
    for (int i = 0; i < 9; i++) {
        w.now_ms += FF_LEASE_TTL_MS_DEFAULT / 3;
        assert_int_equal(renew(task, FF_NULL64, &out), FF_OK);
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

/* L09 */
static void test_ops__progress_keeps_what_is_not_said(void **state)
{
    const struct ff_task_ref task = given_claimed();
    const struct ff_progress *row;

    (void)state;
    assert_int_equal(progress(task, FF_NULL32, NULL), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_PROGRESS], 0);
    assert_int_equal(progress(task, 10, "start"), FF_OK);
    w.now_ms += 5;
    assert_int_equal(progress(task, 50, NULL), FF_OK);
    row = w.rows[FF_TABLE_PROGRESS][0];
    assert_int_equal(row->percent, 50);
    assert_true(ff_str_eq(row->message, FF_STR("start")));
    assert_int_equal(row->updated_at_ms, w.now_ms);
    assert_int_equal(progress(task, FF_NULL32, "end"), FF_OK);
    row = w.rows[FF_TABLE_PROGRESS][0];
    assert_int_equal(row->percent, 50);
    assert_true(ff_str_eq(row->message, FF_STR("end")));
    assert_int_equal(w.event_count, 1);
}

/* --- fail --- */

/* F02, F06; F21: policy and class decide, not one of them alone. */
static void test_ops__fail_retries_with_back_off(void **state)
{
    const struct ff_task_ref task = given_claimed();
    const struct ff_execution *row;
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(fail_with(task, FF_FAILURE_TRANSIENT, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_DELAYED_RETRY);
    assert_int_equal(out.retry_at_ms, w.now_ms + 1000);
    row = world_execution(&w, task.id);
    assert_int_equal(row->delay_until_ms, w.now_ms + 1000);
    assert_int_equal(row->due_at_ms, w.now_ms + 1000);
    assert_int_equal(row->retry_count, 1);
    assert_int_equal(row->attempt_index, 1);
    assert_int_equal(attempt_of(task)->outcome, FF_END_RETRY);
    assert_int_equal(attempt_of(task)->failure_class, FF_FAILURE_TRANSIENT);
    assert_true(ff_str_eq(attempt_of(task)->failure_message, FF_STR("boom")));
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
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out first;
    struct ff_state_out again;

    (void)state;
    assert_int_equal(fail_with(task, FF_FAILURE_TRANSIENT, &first), FF_OK);
    w.now_ms += 1000;
    (void)world_fire(&w, FF_TIMER_DELAYS);
    (void)world_given_claimed(&w, "w2");
    assert_int_equal(fail_with(task, FF_FAILURE_TRANSIENT, &again), FF_OK);
    assert_int_equal(again.state, first.state);
    assert_int_equal(again.retry_at_ms, first.retry_at_ms);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
    assert_int_equal(world_execution(&w, task.id)->retry_count, 1);
    assert_int_equal(fail_with(task, FF_FAILURE_TIMEOUT, &again), FF_CONFLICT);
    assert_int_equal(complete(task, "1", &again), FF_CONFLICT);
}

/* F04 */
static void test_ops__fail_ends_when_retries_are_used_up(void **state)
{
    struct ff_policy policy;
    struct ff_state_out out;
    struct ff_task_ref task;

    (void)state;
    ff_policy_no_retries(&policy);
    policy.max_retries = 2;
    policy.backoff = FF_BACKOFF_FIXED;
    policy.delay_ms = 0;
    task = given_claimed_with(&policy);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fail_with(task, FF_FAILURE_INFRA_CRASH, &out), FF_OK);
        assert_int_equal(out.state, FF_STATE_READY_RETRY); /* no delay: at once */
        assert_int_equal(out.retry_at_ms, FF_NULL64);
        task = world_given_claimed(&w, "w1");
    }
    assert_int_equal(fail_with(task, FF_FAILURE_INFRA_CRASH, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_FAILED);
    assert_ended(task.id, FF_STATE_FAILED);
    assert_int_equal(attempt_of(task)->attempt_index, 2);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 3);
    assert_int_equal(fail_with(task, FF_FAILURE_INFRA_CRASH, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_FAILED);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 3);
}

/* F05 */
static void test_ops__permanent_failures_never_retry(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out out;

    (void)state;
    assert_int_equal(fail_with(task, FF_FAILURE_PERMANENT, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_FAILED);
    assert_ended(task.id, FF_STATE_FAILED);
    assert_true(ff_str_eq(world_last_event(&w)->note, FF_STR("boom")));
}

static void test_ops__the_worker_may_name_the_delay(void **state)
{
    struct ff_fail_in in = {.task = given_claimed(), .retry_after_ms = 77777};
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
    assert_int_equal(delay(task, 5000, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_DELAYED_WORKER);
    row = world_execution(&w, task.id);
    assert_int_equal(row->deadline_at_ms, deadline);
    assert_int_equal(row->delay_until_ms, w.now_ms + 5000);
    assert_int_equal(row->attempt_spent_ms, 300);
    assert_int_equal(row->retry_count, 0);
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired execution.delayed");
    assert_int_equal(delay(task, 5000, &out), FF_OK); /* told twice */
    assert_int_equal(out.state, FF_STATE_DELAYED_WORKER);
    assert_int_equal(delay(task, 5001, &out), FF_CONFLICT);
    w.now_ms += 5000;
    assert_int_equal(world_fire(&w, FF_TIMER_DELAYS).delays, 1);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 0);
    assert_int_equal(again.tasks[0].attempt_type, FF_ATTEMPT_INITIAL);
    assert_int_equal(again.tasks[0].lease_epoch, 3);
    assert_int_equal(world_execution(&w, task.id)->attempt_count, 1);
    assert_int_equal(world_execution(&w, task.id)->attempt_spent_ms, 300);
    assert_int_equal(delay(world_task(&again, 0), 0, &out), FF_OK); /* not at all: ready at once */
    assert_int_equal(out.state, FF_STATE_READY_RESUMED);
}

static void test_ops__release_gives_back_without_using_a_retry(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(release(task, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_READY_RESUMED);
    assert_int_equal(attempt_of(task)->outcome, FF_END_RELEASED);
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired lease.released");
    assert_int_equal(world_last_event(&w)->lease_epoch, 1);
    assert_true(ff_str_eq(world_last_event(&w)->note, FF_STR("shutdown")));
    assert_int_equal(release(task, &out), FF_OK);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 0);
    assert_int_equal(world_execution(&w, task.id)->retry_count, 0);
    assert_int_equal(release(task, &out), FF_OK); /* still the first answer */
    assert_int_equal(out.state, FF_STATE_READY_RESUMED);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
}

/* Members of a cancelled flow get no new attempt: whatever would bring one ends them. */
static void test_ops__no_new_attempt_ends_cancelled(void **state)
{
    struct ff_state_out out;
    struct ff_revoke_out revoked;
    struct ff_task_ref task[6];

    (void)state;
    for (int i = 0; i < 6; i++) {
        task[i] = given_claimed();
        world_execution(&w, task[i].id)->flags |= FF_EXEC_NO_NEW_ATTEMPT;
    }
    assert_int_equal(fail_with(task[0], FF_FAILURE_TRANSIENT, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_CANCELLED);
    assert_ended(task[0].id, FF_STATE_CANCELLED);
    assert_int_equal(fail_with(task[0], FF_FAILURE_TRANSIENT, &out), FF_OK); /* told twice */
    assert_int_equal(out.state, FF_STATE_CANCELLED);
    assert_int_equal(delay(task[1], 1, &out), FF_OK);
    assert_ended(task[1].id, FF_STATE_CANCELLED);
    assert_int_equal(release(task[2], &out), FF_OK);
    assert_ended(task[2].id, FF_STATE_CANCELLED);
    assert_int_equal(revoke(task[3].id, &revoked), FF_OK);
    assert_ended(task[3].id, FF_STATE_CANCELLED);
    assert_int_equal(complete(task[4], "1", &out), FF_OK); /* what it has finished, it has */
    assert_ended(task[4].id, FF_STATE_SUCCESS);
    w.now_ms += FF_LEASE_TTL_MS_DEFAULT;
    (void)world_fire(&w, FF_TIMER_LEASES);
    assert_ended(task[5].id, FF_STATE_CANCELLED);
    assert_int_equal(replay(task[5].id, &out), FF_FLOW_TERMINAL);
}

/* --- cancel --- */

/* X01, X02; F12: a cancel writes its completion like every other end. */
static void test_ops__cancel_whatever_it_is_doing(void **state)
{
    const struct ff_exec_id waiting = world_given_ready(&w);
    struct ff_submit_in delayed = world_submission(&w);
    struct ff_state_out out;
    struct ff_task_ref task;
    struct ff_exec_id id;

    (void)state;
    assert_int_equal(cancel(waiting, &out), FF_OK);
    assert_ended(waiting, FF_STATE_CANCELLED);
    assert_string_equal(world_events(&w, waiting, 0),
                        "operator.cancel_requested completion.cancelled");
    assert_true(ff_str_eq(world_execution(&w, waiting)->cancel_reason, FF_STR("not needed")));
    assert_true(ff_str_eq(world_execution(&w, waiting)->cancelled_by, FF_STR("alice")));
    assert_int_equal(cancel(waiting, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_CANCELLED);
    assert_int_equal(w.event_count, 2);
    delayed.delay_ms = 1000;
    id = world_submit(&w, &delayed);
    assert_int_equal(cancel(id, &out), FF_OK);
    assert_ended(id, FF_STATE_CANCELLED);
    task = given_claimed();
    assert_int_equal(cancel(task.id, &out), FF_OK);
    assert_ended(task.id, FF_STATE_CANCELLED);
    assert_int_equal(world_execution(&w, task.id)->lease_epoch, 2);
    assert_string_equal(
        world_events(&w, task.id, 0),
        "lease.acquired operator.cancel_requested lease.revoked completion.cancelled");
}

static void test_ops__cancel_of_what_has_ended_tells_how(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out out;

    (void)state;
    assert_int_equal(complete(task, "1", &out), FF_OK);
    assert_int_equal(cancel(task.id, &out), FF_ALREADY_TERMINAL);
    assert_string_equal(w.error.outcome, "success");
    assert_ended(task.id, FF_STATE_SUCCESS);
}

static void test_ops__cancel_by_filter_leaves_newcomers_alone(void **state)
{
    struct ff_cancel_in in = {.id = world_given_ready(&w), .created_before_ms = w.now_ms};
    struct ff_state_out out;

    (void)state;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &in, &out), FF_NOT_FOUND);
    in.created_before_ms++;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &in, &out), FF_OK);
}

/* A flow member's end is told to its flow, in the same change. */
static void test_ops__a_member_leaves_a_hop(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);
    const struct ff_outbox *hop;
    struct ff_state_out out;

    (void)state;
    world_execution(&w, id)->flow_id = (struct ff_uuid){.b = {9}};
    assert_int_equal(cancel(id, &out), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_OUTBOX], 1);
    hop = w.rows[FF_TABLE_OUTBOX][0];
    assert_int_equal(hop->kind, FF_HOP_COMPLETION);
    assert_int_equal(hop->outcome, FF_STATE_CANCELLED);
    assert_int_equal(hop->generation, 0);
    assert_int_equal(hop->dispatched_at_ms, FF_NULL64);
}

/* --- priority and tags --- */

/* K20 */
static void test_ops__priority_reorders_and_is_logged(void **state)
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
    assert_int_equal(cancel(in.id, &out), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_PRIORITY, &in, &out), FF_ALREADY_TERMINAL);
}

static ff_status tag(struct ff_exec_id id, const char *name, const char *value)
{
    struct ff_tag_in tags[] = {{ff_str_of(name), ff_str_of(value)}};
    struct ff_tag_op_in in = {.id = id, .tags = tags, .tag_count = 1};
    struct ff_tag_op_out out;

    return world_run(&w, FF_OP_EXECUTION_TAG, &in, &out);
}

static void test_ops__tags_are_set_and_removed(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);

    (void)state;
    assert_int_equal(tag(id, "team", "a"), FF_OK);
    assert_int_equal(tag(id, "team", "b"), FF_OK);
    assert_int_equal(world_execution(&w, id)->version, 3);
    assert_int_equal(tag(id, "team", "b"), FF_OK); /* nothing new */
    assert_int_equal(world_execution(&w, id)->version, 3);
    assert_int_equal(w.row_count[FF_TABLE_TAG], 1);
    assert_int_equal(tag(id, "team", NULL), FF_OK);
    assert_int_equal(tag(id, "team", NULL), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_TAG], 0);
    assert_int_equal(world_execution(&w, id)->version, 4);
}

static void test_ops__the_instance_tag_stays(void **state)
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

static void test_ops__tags_are_limited_in_number(void **state)
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

/* L11, L12 */
static void test_ops__revoke_takes_the_lease_away(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_claim_out again;
    struct ff_revoke_out out;
    struct ff_state_out said;

    (void)state;
    assert_int_equal(revoke(task.id, &out), FF_OK);
    assert_true(ff_uuid_eq(out.lease_id, task.lease_id));
    assert_int_equal(out.lease_epoch, 1);
    assert_int_equal(out.state, FF_STATE_READY_RETRY);
    assert_int_equal(world_last_event(&w)->type, FF_EVENT_LEASE_REVOKED);
    assert_true(ff_str_eq(world_last_event(&w)->note, FF_STR("alice")));
    assert_true(ff_str_eq(world_last_event(&w)->prev_owner, FF_STR("w1")));
    assert_int_equal(revoke(task.id, &out), FF_OK); /* again: the first answer */
    assert_int_equal(out.lease_epoch, 1);
    assert_int_equal(w.event_count, 2);
    assert_int_equal(complete(task, "1", &said), FF_LEASE_REVOKED);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 1);              /* moves on ... */
    assert_int_equal(world_execution(&w, task.id)->retry_count, 0); /* ... without a retry */
    assert_true(again.tasks[0].lease_epoch > 1);
    assert_int_equal(complete(task, "1", &said), FF_LEASE_REVOKED);
    assert_int_equal(complete(world_task(&again, 0), "1", &said), FF_OK);
    assert_int_equal(revoke(task.id, &out), FF_ALREADY_TERMINAL);
    assert_int_equal(revoke(world_given_ready(&w), &out), FF_NOT_LEASED);
}

/* --- replay --- */

/* X06; F34: cancelled ones too, history stays, the limit counts. */
static void test_ops__replay_is_a_new_generation(void **state)
{
    const struct ff_task_ref task = given_claimed();
    const struct ff_execution *row;
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(replay(task.id, &out), FF_NOT_TERMINAL);
    assert_int_equal(fail_with(task, FF_FAILURE_PERMANENT, &out), FF_OK);
    w.now_ms += 5;
    assert_int_equal(replay(task.id, &out), FF_OK);
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
    assert_non_null(attempt_of(task)); /* the old attempt is still there */
    assert_int_equal(complete(task, "1", &out), FF_CONFLICT);
    assert_int_equal(fail_with(task, FF_FAILURE_PERMANENT, &out), FF_OK); /* the first answer */
    assert_int_equal(out.state, FF_STATE_FAILED);
    assert_int_equal(complete(world_task(&again, 0), "1", &out), FF_OK);
    assert_int_equal(world_last_event(&w)->generation, 1);
    assert_string_equal(world_events(&w, task.id, 0),
                        "lease.acquired completion.failed operator.replayed lease.acquired "
                        "completion.success");
}

static void test_ops__replay_of_a_cancelled_one_keeps_old_leases_out(void **state)
{
    const struct ff_task_ref task = given_claimed();
    struct ff_state_out out;

    (void)state;
    assert_int_equal(cancel(task.id, &out), FF_OK);
    assert_int_equal(replay(task.id, &out), FF_OK);
    assert_true(ff_str_is_null(world_execution(&w, task.id)->cancel_reason));
    assert_int_equal(complete(task, "1", &out), FF_NOT_ACTIVE);
    (void)world_given_claimed(&w, "w2");
    assert_int_equal(complete(task, "1", &out), FF_NOT_ACTIVE);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
}

static void test_ops__replay_has_a_limit_and_conditions(void **state)
{
    struct ff_submit_in submission = world_submission(&w);
    struct ff_replay_in in;
    struct ff_state_out out;
    struct ff_exec_id id;

    (void)state;
    submission.policy.max_replay_count = 2;
    id = world_submit(&w, &submission);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(cancel(id, &out), FF_OK);
        in = replay_of(id);
        in.expected_generation = i + 1;
        assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_CONFLICT);
        in.expected_generation = i;
        in.finished_before_ms = w.now_ms - 1;
        assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_NOT_FOUND);
        in.finished_before_ms = w.now_ms;
        assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    }
    assert_int_equal(cancel(id, &out), FF_OK);
    assert_int_equal(replay(id, &out), FF_REPLAY_LIMIT);
}

static void test_ops__replay_may_bring_a_new_input(void **state)
{
    const struct ff_exec_id id = world_given_ready(&w);
    struct ff_replay_in in = replay_of(id);
    const struct ff_payload *payload;
    struct ff_claim_out again;
    struct ff_state_out out;

    (void)state;
    assert_int_equal(cancel(id, &out), FF_OK);
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

static void test_ops__replay_and_deadlines(void **state)
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
    assert_int_equal(cancel(id[2], &out), FF_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(replay(id[i], &out), FF_OK);
    assert_int_equal(world_execution(&w, id[0])->deadline_at_ms, w.now_ms + 1000);
    assert_int_equal(world_execution(&w, id[1])->deadline_at_ms, FF_NULL64);
    assert_int_equal(world_execution(&w, id[2])->deadline_at_ms, w.now_ms + 8000);
    assert_int_equal(cancel(id[1], &out), FF_OK);
    in = replay_of(id[1]);
    in.deadline_ms = 77;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_REPLAY, &in, &out), FF_OK);
    assert_int_equal(world_execution(&w, id[1])->deadline_at_ms, w.now_ms + 77);
}

/* --- time --- */

/* F22: only the store's time, and for a row it never runs back. */
static void test_ops__time_of_a_row_never_runs_back(void **state)
{
    const struct ff_task_ref task = given_claimed();
    const int64_t claimed_at = w.now_ms;
    struct ff_state_out out;

    (void)state;
    w.now_ms -= 50000;
    assert_int_equal(complete(task, "1", &out), FF_OK);
    assert_int_equal(world_execution(&w, task.id)->changed_at_ms, claimed_at);
    assert_int_equal(world_execution(&w, task.id)->finished_at_ms, claimed_at);
    assert_int_equal(attempt_of(task)->ended_at_ms, claimed_at);
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
        TEST(replay_of_a_cancelled_one_keeps_old_leases_out),
        TEST(replay_has_a_limit_and_conditions),
        TEST(replay_may_bring_a_new_input),
        TEST(replay_and_deadlines),
        TEST(time_of_a_row_never_runs_back),
        TEST(every_op_is_in_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
