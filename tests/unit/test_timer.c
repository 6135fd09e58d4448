/* SPDX-License-Identifier: Apache-2.0
 *
 * test_timer.c -- what happens when nobody does anything: timers, retention, pruning, contact. */
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

#define TTL FF_LEASE_TTL_MS_DEFAULT

static char unused[16];

static struct ff_task_ref given_claimed(const struct ff_policy *policy)
{
    struct ff_submit_in in = world_submission(&w);

    if (policy)
        in.policy = *policy;
    (void)world_submit(&w, &in);
    return world_given_claimed(&w, "w1");
}

static struct ff_task_ref given_claimed_for(int64_t ttl_ms)
{
    struct ff_submit_in submit = world_submission(&w);
    struct ff_claim_in claim = world_claim_of(&w, "w1");
    struct ff_claim_out out;

    (void)world_submit(&w, &submit);
    claim.lease_ttl_ms = ttl_ms;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &out), FF_OK);
    assert_int_equal(out.task_count, 1);
    return (struct ff_task_ref){.id = out.tasks[0].id,
                                .lease_id = out.tasks[0].lease_id,
                                .lease_epoch = out.tasks[0].lease_epoch};
}

static struct ff_policy policy_with(int32_t max_retries, ff_lapse lapse)
{
    struct ff_policy policy;

    ff_policy_default(&policy);
    policy.max_retries = max_retries;
    policy.lease_lapse = lapse;
    return policy;
}

static const struct ff_attempt *attempt_of(struct ff_task_ref task)
{
    const struct ff_attempt key = {.partition_key = task.id.partition,
                                   .execution_id = task.id.uuid,
                                   .lease_epoch = task.lease_epoch};

    return world_row(&w, FF_TABLE_ATTEMPT, &key);
}

/* F18: interrupted, eligible at once, index + 1; without retries left it expires. */
static void test_timer__a_lapse_retries_until_there_are_none_left(void **state)
{
    const struct ff_policy policy = policy_with(1, FF_LAPSE_RETRY);
    const struct ff_task_ref first = given_claimed(&policy);
    const struct ff_execution *row;
    struct ff_task_ref second;

    (void)state;
    w.now_ms += TTL - 1;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).scanned, 0);
    w.now_ms += 1;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    row = world_execution(&w, first.id);
    assert_int_equal(row->state, FF_STATE_READY_RETRY);
    assert_int_equal(row->attempt_index, 1);
    assert_int_equal(row->retry_count, 1);
    assert_int_equal(row->delay_until_ms, FF_NULL64);
    assert_int_equal(row->lease_epoch, 2);
    assert_int_equal(attempt_of(first)->outcome, FF_END_LAPSED);
    assert_true(ff_str_eq(attempt_of(first)->failure_message, FF_STR("attempt_timeout")));
    assert_string_equal(world_events(&w, first.id, 0), "lease.acquired lease.expired");
    second = world_given_claimed(&w, "w2");
    w.now_ms += TTL;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    assert_int_equal(world_execution(&w, first.id)->state, FF_STATE_EXPIRED);
    assert_int_equal(attempt_of(second)->outcome, FF_END_LAPSED);
    assert_string_equal(world_events(&w, first.id, 2),
                        "lease.acquired lease.expired completion.expired");
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).scanned, 0);
}

/* F19: the timers must not undo a reclaim. */
static void test_timer__reclaim_continues_the_same_attempt(void **state)
{
    const struct ff_policy policy = policy_with(0, FF_LAPSE_RECLAIM);
    const struct ff_task_ref old = given_claimed(&policy);
    struct ff_claim_out again;
    struct ff_complete_in late = {.task = old};
    struct ff_state_out out;

    (void)state;
    w.now_ms += TTL;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    assert_int_equal(world_execution(&w, old.id)->state, FF_STATE_RECLAIMABLE);
    assert_int_equal(world_execution(&w, old.id)->lease_epoch, old.lease_epoch);
    assert_int_equal(world_execution(&w, old.id)->due_at_ms, FF_NULL64);
    w.now_ms += 5000;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).scanned, 0);
    assert_int_equal(world_claim(&w, "w2", 1, &again), 1);
    assert_int_equal(again.tasks[0].attempt_index, 0);
    assert_int_equal(again.tasks[0].attempt_type, FF_ATTEMPT_RECLAIM);
    assert_int_equal(again.tasks[0].lease_epoch, old.lease_epoch + 1);
    assert_int_equal(world_execution(&w, old.id)->reclaim_count, 1);
    assert_int_equal(world_execution(&w, old.id)->attempt_count, 1);
    assert_int_equal(world_execution(&w, old.id)->attempt_spent_ms, TTL);
    assert_int_equal(attempt_of(old)->outcome, FF_END_LAPSED);
    assert_string_equal(world_events(&w, old.id, 0),
                        "lease.acquired lease.expired lease.reclaimed");
    assert_true(ff_str_eq(world_last_event(&w)->prev_owner, FF_STR("w1")));
    assert_true(ff_str_eq(world_last_event(&w)->worker_instance_id, FF_STR("w2")));
    w.now_ms += TTL - 1;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 0);
    assert_int_equal(world_execution(&w, old.id)->state, FF_STATE_ACTIVE);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_COMPLETE, &late, &out), FF_STALE_LEASE);
}

static void test_timer__the_old_holder_may_come_back_until_a_claim(void **state)
{
    const struct ff_policy policy = policy_with(0, FF_LAPSE_RECLAIM);
    const struct ff_task_ref a = given_claimed(&policy);
    const struct ff_task_ref b = given_claimed(&policy);
    struct ff_renew_in renew = {.task = a, .lease_ttl_ms = FF_NULL64};
    struct ff_complete_in complete = {.task = b};
    struct ff_renew_out renewed;
    struct ff_state_out out;

    (void)state;
    w.now_ms += TTL;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 2);
    w.now_ms += 100;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_RENEW, &renew, &renewed), FF_OK);
    assert_int_equal(world_execution(&w, a.id)->state, FF_STATE_ACTIVE);
    assert_int_equal(world_execution(&w, a.id)->due_at_ms, w.now_ms + TTL); /* a transition */
    assert_int_equal(world_execution(&w, a.id)->lease_epoch, a.lease_epoch);
    assert_string_equal(world_events(&w, a.id, 0), "lease.acquired lease.expired lease.renewed");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_COMPLETE, &complete, &out), FF_OK);
    assert_int_equal(out.state, FF_STATE_SUCCESS);
}

/* F21: the boundary is allowed; the next lapse ends it, with its completion. */
static void test_timer__reclaims_have_a_cap(void **state)
{
    struct ff_policy policy = policy_with(9, FF_LAPSE_RECLAIM);
    struct ff_task_ref task;

    (void)state;
    policy.max_reclaim_count = 2;
    task = given_claimed(&policy);
    for (int i = 0; i < 2; i++) {
        w.now_ms += TTL;
        (void)world_fire(&w, FF_TIMER_LEASES);
        assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_RECLAIMABLE);
        task = world_given_claimed(&w, "w2");
    }
    w.now_ms += TTL;
    (void)world_fire(&w, FF_TIMER_LEASES);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_FAILED);
    assert_int_equal(world_last_event(&w)->kind, FF_EVENT_COMPLETION);
    assert_true(ff_str_eq(attempt_of(task)->failure_message, FF_STR("max_reclaims_exceeded")));
}

/* F18: the attempt's own time is enforced, and it is not the lease's. */
static void test_timer__an_attempt_may_take_too_long(void **state)
{
    struct ff_policy policy = policy_with(1, FF_LAPSE_RECLAIM);
    struct ff_task_ref task;
    struct ff_renew_in renew;
    struct ff_renew_out renewed;
    struct ff_timer_out out;

    (void)state;
    policy.attempt_timeout_ms = 50000;
    task = given_claimed(&policy);
    renew = (struct ff_renew_in){.task = task, .lease_ttl_ms = 60000};
    w.now_ms += 20000;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_RENEW, &renew, &renewed), FF_OK);
    w.now_ms += 10000; /* due by the old lease: looked at, moved on to the attempt's deadline */
    out = world_fire(&w, FF_TIMER_LEASES);
    assert_int_equal(out.moved, 1);
    assert_int_equal(world_execution(&w, task.id)->due_at_ms, w.now_ms + 20000);
    w.now_ms += 20000;
    out = world_fire(&w, FF_TIMER_LEASES);
    assert_int_equal(out.attempt_timeouts, 1);
    assert_int_equal(out.lease_lapses, 0);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_READY_RETRY);
    assert_int_equal(attempt_of(task)->failure_class, FF_FAILURE_TIMEOUT);
    task = world_given_claimed(&w, "w2");
    assert_int_equal(world_execution(&w, task.id)->attempt_spent_ms, 0);
    renew = (struct ff_renew_in){.task = task, .lease_ttl_ms = 3600000};
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_RENEW, &renew, &renewed), FF_OK);
    w.now_ms += 30000;
    (void)world_fire(&w, FF_TIMER_LEASES);
    w.now_ms += 20000;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).attempt_timeouts, 1);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_EXPIRED);
}

/* The attempt's time would have run out after the lease: that is a lapse, and the brake holds it.
 * When the worker comes back, what lies between has not counted. */
static void test_timer__an_outage_uses_up_no_attempt(void **state)
{
    static const ff_lapse lapses[] = {FF_LAPSE_RETRY, FF_LAPSE_RECLAIM};

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(lapses); i++) {
        struct ff_policy policy = policy_with(0, lapses[i]);
        struct ff_renew_out renewed;
        struct ff_timer_out out;
        struct ff_renew_in renew;
        struct ff_task_ref task;

        policy.attempt_timeout_ms = TTL + 5000;
        w.contact_since_ms = w.now_ms - TTL;
        task = given_claimed(&policy);
        renew = (struct ff_renew_in){.task = task, .lease_ttl_ms = TTL};
        w.now_ms += 4 * TTL;
        w.contact_since_ms = w.now_ms - 1000;
        out = world_fire(&w, FF_TIMER_LEASES);
        assert_int_equal(out.attempt_timeouts, 0);
        assert_int_equal(out.lease_lapses, 0);
        assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
        assert_int_equal(world_execution(&w, task.id)->due_at_ms, w.contact_since_ms + TTL);
        assert_int_equal(world_run(&w, FF_OP_EXECUTION_RENEW, &renew, &renewed), FF_OK);
        assert_int_equal(world_execution(&w, task.id)->due_at_ms, w.now_ms + 5000);
        w.now_ms += 4999;
        assert_int_equal(world_fire(&w, FF_TIMER_LEASES).attempt_timeouts, 0);
        w.now_ms += 1;
        assert_int_equal(world_fire(&w, FF_TIMER_LEASES).attempt_timeouts, 1);
        assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_EXPIRED);
    }
}

/* A lease that lapsed long before its holder comes back costs the attempt only what it was long. */
static void test_timer__a_lapse_stops_the_attempts_clock(void **state)
{
    struct ff_policy policy = policy_with(0, FF_LAPSE_RECLAIM);
    struct ff_renew_in renew;
    struct ff_renew_out renewed;
    struct ff_task_ref task;

    (void)state;
    policy.attempt_timeout_ms = TTL + 5000;
    task = given_claimed(&policy);
    w.now_ms += 2 * TTL;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_RECLAIMABLE);
    w.now_ms += 8 * TTL;
    renew = (struct ff_renew_in){.task = task, .lease_ttl_ms = TTL};
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_RENEW, &renew, &renewed), FF_OK);
    assert_int_equal(world_execution(&w, task.id)->due_at_ms, w.now_ms + 5000);
}

/* Time under earlier leases of the same attempt counts. */
static void test_timer__released_time_counts(void **state)
{
    struct ff_policy policy = policy_with(0, FF_LAPSE_RETRY);
    struct ff_release_in release;
    struct ff_state_out out;
    struct ff_task_ref task;

    (void)state;
    policy.attempt_timeout_ms = 10000;
    task = given_claimed(&policy);
    w.now_ms += 8000;
    release = (struct ff_release_in){.task = task};
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_RELEASE, &release, &out), FF_OK);
    w.now_ms += 60000; /* waiting costs nothing */
    task = world_given_claimed(&w, "w2");
    assert_int_equal(world_execution(&w, task.id)->due_at_ms, w.now_ms + 2000);
}

/* The deadline ends it in any phase. */
static void test_timer__a_deadline_ends_it_in_any_phase(void **state)
{
    struct ff_submit_in in[3] = {world_submission(&w), world_submission(&w), world_submission(&w)};
    struct ff_complete_in late;
    struct ff_exec_id id[3];
    struct ff_task_ref task;
    struct ff_state_out out;
    struct ff_timer_out fired;

    (void)state;
    for (int i = 0; i < 3; i++)
        in[i].deadline_ms = 5000;
    in[1].delay_ms = 60000;
    in[2].priority = 9;
    for (int i = 0; i < 3; i++)
        id[i] = world_submit(&w, &in[i]);
    task = world_given_claimed(&w, "w1");
    assert_true(ff_exec_id_eq(task.id, id[2]));
    w.now_ms += 5000;
    fired = world_fire(&w, FF_TIMER_DEADLINES);
    assert_int_equal(fired.deadlines, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(world_execution(&w, id[i])->state, FF_STATE_EXPIRED);
    assert_string_equal(world_events(&w, id[0], 0), "completion.expired");
    assert_string_equal(world_events(&w, id[2], 0),
                        "lease.acquired lease.revoked completion.expired");
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 1);
    late.task = task;
    late.result = late.result_type = ff_str_null();
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_COMPLETE, &late, &out), FF_NOT_ACTIVE);
    assert_string_equal(w.error.outcome, "expired");
}

/* The fixed order: a lapsed lease past its execution's deadline expires, it does not retry. */
static void test_timer__the_deadline_comes_before_the_lapse(void **state)
{
    struct ff_submit_in in = world_submission(&w);
    struct ff_timer_out out;
    struct ff_exec_id id;

    (void)state;
    in.deadline_ms = TTL + 10;
    id = world_submit(&w, &in);
    (void)world_given_claimed(&w, "w1");
    w.now_ms += TTL + 10;
    out = world_fire(&w, FF_TIMER_LEASES);
    assert_int_equal(out.deadlines, 1);
    assert_int_equal(out.lease_lapses, 0);
    assert_int_equal(world_execution(&w, id)->state, FF_STATE_EXPIRED);
}

/* F36: delayed rows are promoted, without an event. */
static void test_timer__a_delay_is_over(void **state)
{
    struct ff_submit_in in = world_submission(&w);
    struct ff_exec_id id;

    (void)state;
    in.delay_ms = 1000;
    id = world_submit(&w, &in);
    w.now_ms += 1000;
    assert_int_equal(world_fire(&w, FF_TIMER_DELAYS).delays, 1);
    assert_int_equal(world_execution(&w, id)->state, FF_STATE_READY_FIRST);
    assert_int_equal(world_execution(&w, id)->delay_until_ms, FF_NULL64);
    assert_int_equal(world_execution(&w, id)->due_at_ms, FF_NULL64);
    assert_int_equal(w.event_count, 0);
}

static void test_timer__the_brake_gives_workers_time_after_an_outage(void **state)
{
    const struct ff_task_ref task = given_claimed(NULL);
    const int64_t version = world_execution(&w, task.id)->version;
    struct ff_timer_out out;

    (void)state;
    w.now_ms += 10 * TTL;
    w.contact_since_ms = w.now_ms - 1000; /* back for a second */
    out = world_fire(&w, FF_TIMER_LEASES);
    assert_int_equal(out.moved, 1);
    assert_int_equal(out.lease_lapses, 0);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
    assert_int_equal(world_execution(&w, task.id)->version, version);
    assert_int_equal(world_execution(&w, task.id)->due_at_ms, w.contact_since_ms + TTL);
    w.now_ms = w.contact_since_ms + TTL - 1;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).scanned, 0);
    w.now_ms += 1;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
}

/* A stall that a lease of 30 seconds does not feel may be longer than a short one. */
static void test_timer__the_brake_looks_closer_at_short_leases(void **state)
{
    const struct ff_task_ref task = given_claimed_for(FF_CONTACT_GAP_MS - 1);
    const struct ff_task_ref longer = given_claimed_for(FF_CONTACT_GAP_MS);

    (void)state;
    w.now_ms += FF_CONTACT_GAP_MS;
    w.steady_since_ms = w.now_ms - 1;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
    assert_int_equal(world_execution(&w, longer.id)->state, FF_STATE_READY_RETRY);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_ACTIVE);
    w.now_ms = w.steady_since_ms + FF_CONTACT_GAP_MS - 1;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).lease_lapses, 1);
}

static void test_timer__the_brake_does_not_hold_deadlines(void **state)
{
    struct ff_submit_in in = world_submission(&w);
    struct ff_exec_id id;

    (void)state;
    in.deadline_ms = TTL + 500;
    id = world_submit(&w, &in);
    (void)world_given_claimed(&w, "w1");
    w.now_ms += TTL;
    w.contact_since_ms = w.now_ms;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).moved, 1);
    assert_int_equal(world_execution(&w, id)->due_at_ms,
                     world_execution(&w, id)->deadline_at_ms); /* earlier than the brake's end */
    w.now_ms += 500;
    assert_int_equal(world_fire(&w, FF_TIMER_LEASES).deadlines, 1);
}

/* What an op earlier in the batch has settled is no longer the timer's business. */
static void test_timer__looks_at_the_row_not_at_the_scan(void **state)
{
    const struct ff_task_ref task = given_claimed(NULL);
    struct ff_complete_in complete = {.task = task};
    struct ff_timer_in fire = {.scope = FF_TIMER_LEASES, .limit = 10};
    struct ff_state_out out;
    struct ff_timer_out fired;
    struct world_job jobs[] = {{FF_OP_EXECUTION_COMPLETE, &complete, &out, FF_OK},
                               {FF_OP_TIMER_FIRE, &fire, &fired, FF_OK}};

    (void)state;
    w.now_ms += TTL;
    world_batch(&w, jobs, 2);
    assert_int_equal(fired.scanned, 1);
    assert_int_equal(fired.lease_lapses, 0);
    assert_int_equal(world_execution(&w, task.id)->state, FF_STATE_SUCCESS);
    assert_int_equal(world_execution(&w, task.id)->due_at_ms, FF_NULL64);
    assert_string_equal(world_events(&w, task.id, 0), "lease.acquired completion.success");
}

static void test_timer__filters_restrict_a_loop(void **state)
{
    struct ff_timer_in fire = {.scope = FF_TIMER_LEASES, .limit = 10};
    struct ff_timer_out out;

    (void)state;
    (void)given_claimed(NULL);
    w.now_ms += TTL;
    fire.filter.namespace = FF_STR("elsewhere");
    assert_int_equal(world_run(&w, FF_OP_TIMER_FIRE, &fire, &out), FF_OK);
    assert_int_equal(out.scanned, 0);
    fire.filter.namespace = FF_STR("default");
    fire.filter.instance_tag = FF_STR("blue"); /* null never matches */
    assert_int_equal(world_run(&w, FF_OP_TIMER_FIRE, &fire, &out), FF_OK);
    assert_int_equal(out.scanned, 0);
}

/* --- retention and pruning --- */

/* F35: it runs, for every kind of end, and takes everything along. */
static void test_timer__retention_takes_everything_along(void **state)
{
    struct ff_cancel_in cancel = {.created_before_ms = FF_NULL64};
    struct ff_retention_in in = {.limit = 10, .retention_ms = FF_NULL64};
    struct ff_retention_out out;
    struct ff_state_out ended;
    struct ff_exec_id member;

    (void)state;
    cancel.id = given_claimed(NULL).id;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &cancel, &ended), FF_OK);
    member = world_given_ready(&w);
    world_execution(&w, member)->flow_id = (struct ff_uuid){.b = {1}};
    cancel.id = member;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &cancel, &ended), FF_OK);
    (void)world_given_ready(&w); /* alive: never */
    w.now_ms += w.settings.retention_ms;
    assert_int_equal(world_run(&w, FF_OP_RETENTION_SWEEP, &in, &out), FF_OK);
    assert_int_equal(out.removed, 0);
    w.now_ms += 1;
    in = (struct ff_retention_in){.limit = 10, .retention_ms = FF_NULL64};
    assert_int_equal(world_run(&w, FF_OP_RETENTION_SWEEP, &in, &out), FF_OK);
    assert_int_equal(out.removed, 1);
    assert_false(out.full);
    assert_int_equal(w.row_count[FF_TABLE_EXECUTION], 2);
    assert_int_equal(w.row_count[FF_TABLE_ATTEMPT], 0);
    assert_non_null(world_execution(&w, member));
}

/* In one batch: the sweep's scan still shows the row as it was before. */
static void test_timer__retention_spares_what_is_replayed(void **state)
{
    struct ff_cancel_in cancel = {.created_before_ms = FF_NULL64};
    struct ff_replay_in replay = {.deadline_ms = FF_NULL64,
                                  .expected_generation = FF_NULL64,
                                  .finished_before_ms = FF_NULL64};
    struct ff_retention_in sweep = {.limit = 10, .retention_ms = 1000};
    struct ff_retention_out swept;
    struct ff_state_out ended, replayed;
    struct world_job jobs[] = {{FF_OP_EXECUTION_REPLAY, &replay, &replayed, FF_OK},
                               {FF_OP_RETENTION_SWEEP, &sweep, &swept, FF_OK}};

    (void)state;
    cancel.id = replay.id = world_given_ready(&w);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &cancel, &ended), FF_OK);
    w.now_ms += 5000;
    sweep.learned_ms = w.now_ms;
    world_batch(&w, jobs, 2);
    assert_int_equal(jobs[0].status, FF_OK);
    assert_int_equal(swept.removed, 0);
    assert_int_equal(world_execution(&w, replay.id)->state, FF_STATE_READY_REPLAY);
}

static void test_timer__pruning_leaves_what_is_still_of_use(void **state)
{
    struct ff_submit_in keyed = world_submission(&w);
    struct ff_worker_touch_in touch = {.worker_instance_id = FF_STR("w1"),
                                       .worker_id = FF_STR("pool"),
                                       .lanes = FF_STR("default"),
                                       .capabilities = FF_STR(""),
                                       .ttl_ms = 60000};
    struct ff_claim_in claim = world_claim_of(&w, "w1");
    struct ff_prune_in in = {.limit = 10};
    struct ff_claim_out tasks;
    struct ff_prune_out out;

    (void)state;
    keyed.idempotency_key = FF_STR("k");
    (void)world_submit(&w, &keyed);
    claim.request_id = FF_STR("r");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &claim, &tasks), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_WORKER_TOUCH, &touch, unused), FF_OK);
    assert_int_equal(world_run(&w, FF_OP_META_PRUNE, &in, &out), FF_OK);
    assert_int_equal(out.removed, 0);
    w.now_ms += 60000;
    in = (struct ff_prune_in){.limit = 10};
    assert_int_equal(world_run(&w, FF_OP_META_PRUNE, &in, &out), FF_OK);
    assert_int_equal(out.removed, 1);
    assert_int_equal(w.row_count[FF_TABLE_WORKER], 0);
    assert_int_equal(world_last_event(&w)->type, FF_EVENT_WORKER_LOST);
    w.now_ms += keyed.policy.dedup_window_ms;
    in = (struct ff_prune_in){.limit = 10};
    assert_int_equal(world_run(&w, FF_OP_META_PRUNE, &in, &out), FF_OK);
    assert_int_equal(out.removed, 2);
    assert_int_equal(w.row_count[FF_TABLE_DEDUP], 0);
    assert_int_equal(w.row_count[FF_TABLE_CLAIM], 0);
}

/* A key that a submission has just taken again is not pruned under it. */
static void test_timer__pruning_looks_at_the_row(void **state)
{
    struct ff_submit_in keyed = world_submission(&w);
    struct ff_submit_in again = world_submission(&w);
    struct ff_prune_in prune = {.limit = 10, .learned_ms = 1};
    struct ff_submit_out submitted;
    struct ff_prune_out pruned;
    struct world_job jobs[] = {{FF_OP_EXECUTION_SUBMIT, &again, &submitted, FF_OK},
                               {FF_OP_META_PRUNE, &prune, &pruned, FF_OK}};

    (void)state;
    keyed.idempotency_key = again.idempotency_key = FF_STR("k");
    (void)world_submit(&w, &keyed);
    w.now_ms += keyed.policy.dedup_window_ms;
    assert_int_equal(ff_submit_prepare(&again, &w.settings, &w.arena, NULL), FF_OK);
    world_batch(&w, jobs, 2);
    assert_true(submitted.created);
    assert_int_equal(pruned.removed, 0);
    assert_int_equal(w.row_count[FF_TABLE_DEDUP], 1);
}

/* The other way round: what is leaving in this batch is inserted in the next one. */
static void test_timer__pruned_rows_may_come_back_at_once(void **state)
{
    struct ff_claim_in first = world_claim_of(&w, "w1");
    struct ff_claim_in again = world_claim_of(&w, "w1");
    struct ff_prune_in prune = {.limit = 10};
    struct ff_claim_out tasks;
    struct ff_prune_out pruned;
    struct world_job jobs[] = {{FF_OP_META_PRUNE, &prune, &pruned, FF_OK},
                               {FF_OP_EXECUTION_CLAIM, &again, &tasks, FF_OK}};

    (void)state;
    first.request_id = again.request_id = FF_STR("r");
    (void)world_given_ready(&w);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &first, &tasks), FF_OK);
    (void)world_given_ready(&w);
    w.now_ms += INT64_C(2) * 24 * 3600 * 1000;
    prune.learned_ms = w.now_ms;
    world_batch(&w, jobs, 2);
    assert_int_equal(pruned.removed, 1);
    assert_int_equal(tasks.task_count, 1);
    assert_int_equal(w.row_count[FF_TABLE_CLAIM], 1);
}

/* --- workers and contact --- */

static void test_timer__only_new_workers_are_announced(void **state)
{
    struct ff_worker_touch_in in = {.worker_instance_id = FF_STR("w1"),
                                    .worker_id = FF_STR("pool"),
                                    .lanes = FF_STR("default"),
                                    .capabilities = FF_STR(""),
                                    .ttl_ms = 60000};
    const struct ff_registration *row;

    (void)state;
    assert_int_equal(world_run(&w, FF_OP_WORKER_TOUCH, &in, unused), FF_OK);
    assert_int_equal(w.event_count, 1);
    w.now_ms += 59999;
    assert_int_equal(world_run(&w, FF_OP_WORKER_TOUCH, &in, unused), FF_OK);
    assert_int_equal(w.event_count, 1);
    row = w.rows[FF_TABLE_WORKER][0];
    assert_int_equal(row->seen_at_ms, w.now_ms);
    assert_int_equal(row->registered_at_ms, w.now_ms - 59999);
    w.now_ms += 60000; /* away for too long is new again */
    assert_int_equal(world_run(&w, FF_OP_WORKER_TOUCH, &in, unused), FF_OK);
    assert_int_equal(w.event_count, 2);
    in.worker_id = FF_STR("other");
    assert_int_equal(world_run(&w, FF_OP_WORKER_TOUCH, &in, unused), FF_OK);
    assert_int_equal(w.event_count, 3);
}

static void assert_contact(int64_t since_ms)
{
    const struct ff_meta *const row = w.rows[FF_TABLE_META][0];

    assert_true(ff_str_eq(row->value, ff_arena_printf(&w.arena, "%lld %lld", (long long)since_ms,
                                                      (long long)w.now_ms)));
}

static void test_timer__contact_is_one_stretch_while_anybody_keeps_it(void **state)
{
    const int64_t begin = w.now_ms;
    struct ff_contact_in in = {0};

    (void)state;
    w.contact_since_ms = begin - 500;
    assert_int_equal(world_run(&w, FF_OP_META_CONTACT, &in, unused), FF_OK);
    assert_contact(begin - 500);
    w.now_ms += FF_CONTACT_WRITE_MS;
    w.contact_since_ms = begin; /* another process: it was in contact when the first one wrote */
    assert_int_equal(world_run(&w, FF_OP_META_CONTACT, &in, unused), FF_OK);
    assert_contact(begin - 500);
    w.now_ms += 3000; /* an outage, however short: the stretch is over */
    w.contact_since_ms = w.now_ms - 7;
    assert_int_equal(world_run(&w, FF_OP_META_CONTACT, &in, unused), FF_OK);
    assert_contact(w.now_ms - 7);
    w.now_ms -= 60000; /* the clock ran back */
    w.contact_since_ms = w.now_ms + 99;
    assert_int_equal(world_run(&w, FF_OP_META_CONTACT, &in, unused), FF_OK);
    assert_contact(w.now_ms);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_timer__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_lapse_retries_until_there_are_none_left),
        TEST(reclaim_continues_the_same_attempt),
        TEST(the_old_holder_may_come_back_until_a_claim),
        TEST(reclaims_have_a_cap),
        TEST(an_attempt_may_take_too_long),
        TEST(an_outage_uses_up_no_attempt),
        TEST(a_lapse_stops_the_attempts_clock),
        TEST(released_time_counts),
        TEST(a_deadline_ends_it_in_any_phase),
        TEST(the_deadline_comes_before_the_lapse),
        TEST(a_delay_is_over),
        TEST(the_brake_gives_workers_time_after_an_outage),
        TEST(the_brake_looks_closer_at_short_leases),
        TEST(the_brake_does_not_hold_deadlines),
        TEST(looks_at_the_row_not_at_the_scan),
        TEST(filters_restrict_a_loop),
        TEST(retention_takes_everything_along),
        TEST(retention_spares_what_is_replayed),
        TEST(pruning_leaves_what_is_still_of_use),
        TEST(pruning_looks_at_the_row),
        TEST(pruned_rows_may_come_back_at_once),
        TEST(only_new_workers_are_announced),
        TEST(contact_is_one_stretch_while_anybody_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
