/* SPDX-License-Identifier: Apache-2.0
 *
 * test_walk.c -- random walks of workers, operators and timers; what must hold after every step.
 *
 * Workers keep every task they ever had and go on using it, as stale ones do. A failing walk prints
 * its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/random.h"
#include "model/codes.h"
#include "model/due.h"
#include "model/events.h"
#include "model/lease.h"
#include "support/words.h"

#define SEEDS     150
#define STEPS     160
#define TASKS_MAX 64

static struct world w;
static struct ff_prng prng;
static struct ff_task_ref tasks[TASKS_MAX]; /* live and stale */
static size_t task_count;
static struct ff_execution before[WORLD_ROWS_MAX];
static size_t before_count;
static uint64_t seed;
static int step;

static uint64_t below(uint64_t n)
{
    return ff_prng_below(&prng, n);
}

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("seed %d step %d: %s", (int)seed, step, #condition);                          \
    } while (0)

/* --- what must hold --- */

static int completions_of(const struct ff_execution *row, int32_t generation)
{
    int count = 0;

    for (size_t i = 0; i < w.event_count; i++)
        if (w.events[i]->kind == FF_EVENT_COMPLETION && w.events[i]->generation == generation &&
            ff_uuid_eq(w.events[i]->execution_id, row->execution_id))
            count++;
    return count;
}

static void check_row(const struct ff_execution *row)
{
    const bool leased = ff_state_is_leased(row->state);
    const bool ended = ff_state_is_terminal(row->state);
    const bool delayed = ff_state_is_delayed(row->state);
    struct ff_policy policy;

    HOLDS(ff_state_info(row->state));
    HOLDS(ff_policy_unpack(row->policy, &policy, NULL) == FF_OK);
    HOLDS(leased != ff_uuid_is_zero(row->lease_id));
    HOLDS(leased == (row->lease_expires_at_ms != FF_NULL64));
    /* Of what has ended only the completed know by whom. */
    HOLDS((leased || row->state == FF_STATE_SUCCESS) != ff_str_is_null(row->worker_id));
    HOLDS((row->state == FF_STATE_SUCCESS) == ff_attempt_is_kept(row));
    HOLDS(ended == (row->finished_at_ms != FF_NULL64));
    HOLDS(delayed == (row->delay_until_ms != FF_NULL64));
    HOLDS((ff_due(row, &policy) == FF_NULL64) == (row->due_at_ms == FF_NULL64));
    HOLDS(row->last_epoch < row->lease_epoch || row->lease_epoch == 0);
    /* Attempts are numbered without gaps: the running one is the last one begun. */
    if (leased || row->state == FF_STATE_READY_RESUMED || row->state == FF_STATE_DELAYED_WORKER)
        HOLDS(row->attempt_index == row->attempt_count - 1);
    else if (!ended)
        HOLDS(row->attempt_index == row->attempt_count);
    for (int32_t g = 0; g <= row->generation; g++)
        HOLDS(completions_of(row, g) == (g < row->generation || ended ? 1 : 0));
}

/* Against the row one step earlier. */
static void check_change(const struct ff_execution *old, const struct ff_execution *new)
{
    HOLDS(new->lease_epoch >= old->lease_epoch);
    HOLDS(new->version >= old->version);
    HOLDS(new->changed_at_ms >= old->changed_at_ms);
    HOLDS(new->generation >= old->generation);
    HOLDS(new->attempt_count >= old->attempt_count);
    if (new->state != old->state)
        HOLDS(new->version > old->version);
    if (!ff_uuid_eq(new->lease_id, old->lease_id))
        HOLDS(new->lease_epoch > old->lease_epoch);
    if (ff_state_is_terminal(old->state) && new->generation == old->generation)
        HOLDS(new->state == old->state &&new->finished_at_ms == old->finished_at_ms);
    if (old->started_at_ms != FF_NULL64)
        HOLDS(new->started_at_ms == old->started_at_ms);
}

static void check_world(void)
{
    for (size_t i = 0; i < w.row_count[FF_TABLE_EXECUTION]; i++)
        check_row(w.rows[FF_TABLE_EXECUTION][i]);
    for (size_t i = 0; i < before_count; i++) {
        const struct ff_execution *const now = world_row(&w, FF_TABLE_EXECUTION, &before[i]);

        if (now)
            check_change(&before[i], now);
    }
}

static void remember_world(void)
{
    before_count = w.row_count[FF_TABLE_EXECUTION];
    for (size_t i = 0; i < before_count; i++)
        before[i] = *(struct ff_execution *)w.rows[FF_TABLE_EXECUTION][i];
}

/* --- what happens --- */

static void somebody_submits(void)
{
    struct ff_submit_in in = world_submission(&w);

    in.priority = (int64_t)below(3);
    in.policy.max_retries = (int32_t)below(3);
    in.policy.delay_ms = below(2) ? 0 : 500;
    in.policy.lease_lapse = below(2) ? FF_LAPSE_RETRY : FF_LAPSE_RECLAIM;
    in.policy.max_reclaim_count = (int32_t)below(3);
    in.policy.attempt_timeout_ms = below(3) ? 0 : 5000;
    if (below(4) == 0)
        in.delay_ms = (int64_t)below(2000);
    if (below(4) == 0)
        in.deadline_ms = 1 + (int64_t)below(20000);
    (void)world_submit(&w, &in);
}

static void somebody_claims(void)
{
    static const char *const names[] = {"w0", "w1", "w2"};
    struct ff_claim_in in = world_claim_of(&w, names[below(3)]);
    struct ff_claim_out out;

    in.max = 1 + (int64_t)below(3);
    in.lease_ttl_ms = 100 + (int64_t)below(5000);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CLAIM, &in, &out), FF_OK);
    for (size_t i = 0; i < out.task_count && task_count < TASKS_MAX; i++)
        tasks[task_count++] = world_task(&out, i);
}

static bool is_live(struct ff_task_ref task)
{
    const struct ff_execution *const row = world_execution(&w, task.id);

    return row && ff_state_is_leased(row->state) && row->lease_epoch == task.lease_epoch &&
           ff_uuid_eq(row->lease_id, task.lease_id);
}

static void a_worker_speaks(void)
{
    struct ff_state_out out;
    struct ff_renew_out renewed;
    struct ff_task_ref task;
    const size_t events = w.event_count;
    ff_status status = FF_OK;
    bool live;

    if (task_count == 0)
        return;
    task = tasks[below(task_count)];
    live = is_live(task);
    switch (below(6)) {
    case 0:
        status = world_complete(&w, task, below(2) ? "1" : "2", &out);
        break;
    case 1:
        status = world_fail(&w, task, (ff_failure_class)below(FF_FAILURE_CLASS_COUNT), &out);
        break;
    case 2:
        status = world_delay(&w, task, (int64_t)below(2) * 1000, &out);
        break;
    case 3:
        status = world_release(&w, task, &out);
        break;
    case 4:
        status = world_renew(&w, task, FF_NULL64, &renewed);
        break;
    default:
        status = world_progress(&w, task, (int32_t)below(101), NULL);
    }
    if (live)
        HOLDS(status == FF_OK);
    else
        HOLDS(w.event_count == events && status != FF_INTERNAL); /* the dead change nothing */
}

static void an_operator_acts(void)
{
    const struct ff_execution *row;
    struct ff_revoke_out revoked;
    struct ff_state_out out;
    struct ff_exec_id id;

    if (w.row_count[FF_TABLE_EXECUTION] == 0)
        return;
    row = w.rows[FF_TABLE_EXECUTION][below(w.row_count[FF_TABLE_EXECUTION])];
    id = (struct ff_exec_id){row->partition_key, row->execution_id};
    switch (below(4)) {
    case 0:
        (void)world_cancel(&w, id, &out);
        break;
    case 1:
        (void)world_revoke(&w, id, &revoked);
        break;
    default:
        (void)world_replay(&w, id, &out);
    }
}

static void time_passes(void)
{
    if (below(8) == 0)
        w.now_ms -= (int64_t)below(3000); /* clocks do that */
    else
        w.now_ms += (int64_t)below(4000);
    if (below(8) == 0)
        w.contact_since_ms = w.now_ms - (int64_t)below(3000);
    (void)world_fire(&w, (ff_timer_scope)below(3));
}

static void one_step(void)
{
    const uint64_t choice = below(100);

    if (choice < 12)
        somebody_submits();
    else if (choice < 32)
        somebody_claims();
    else if (choice < 65)
        a_worker_speaks();
    else if (choice < 80)
        an_operator_acts();
    else
        time_passes();
}

static void test_walk__what_must_hold_holds(void **state)
{
    (void)state;
    for (seed = 1; seed <= SEEDS; seed++) {
        world_init(&w);
        ff_prng_init(&prng, seed);
        task_count = 0;
        for (step = 0; step < STEPS; step++) {
            remember_world();
            one_step();
            check_world();
        }
        world_done(&w);
    }
}

static void check_nothing_waits_for_time(void)
{
    for (size_t i = 0; i < w.row_count[FF_TABLE_EXECUTION]; i++) {
        const struct ff_execution *const row = w.rows[FF_TABLE_EXECUTION][i];

        HOLDS(ff_state_is_terminal(row->state) || ff_state_is_claimable(row->state));
    }
}

/* Nobody works any more: every accepted execution ends by itself or waits for a worker. */
static void test_walk__nothing_is_stuck(void **state)
{
    (void)state;
    for (seed = 1; seed <= SEEDS / 3; seed++) {
        world_init(&w);
        ff_prng_init(&prng, seed);
        task_count = 0;
        for (step = 0; step < STEPS; step++)
            one_step();
        w.now_ms += 3600000;
        w.contact_since_ms = 0;
        for (int round = 0; round < 2; round++) {
            (void)world_fire(&w, FF_TIMER_LEASES);
            (void)world_fire(&w, FF_TIMER_DELAYS);
            (void)world_fire(&w, FF_TIMER_DEADLINES);
        }
        check_nothing_waits_for_time();
        world_done(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk__what_must_hold_holds),
        cmocka_unit_test(test_walk__nothing_is_stuck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
