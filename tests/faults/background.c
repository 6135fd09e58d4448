/* SPDX-License-Identifier: Apache-2.0
 *
 * background.c -- scenarios nobody calls for: timers, retention, pruning; and those that only look.
 *
 * Background ops are handed to the engine as its loops do. A timer acts on a row only when its time
 * has come and, for a lapse, after unbroken contact with the store; so an act fires again until its
 * rule has acted, and never longer than a while. */
#include "background.h"

#include <stdio.h>
#include <string.h>

#include "engine/measure.h"
#include "ops/background.h"

#include "base/banned.h"

#define OP_MS    60000
#define AHEAD_MS 2
#define TTL_MS   100
#define PATIENCE 60000

/* ---- handing ops to the engine ---- */

ff_status run_op(struct test *t, ff_op_id op, const void *in, size_t in_bytes, void *out,
                 size_t out_bytes)
{
    struct ff_job *job;
    ff_status status;

    if (!t->client->engine) /* nobody hands an op to a server */
        return t->err.status = FF_UNSUPPORTED;
    job = ff_job_new(op, 0);
    if (!job || !(job->in = ff_arena_copy(&job->arena, in, in_bytes))) {
        ff_job_free(job);
        return t->err.status = FF_NO_MEMORY;
    }
    ff_engine_call(t->client->engine, &job, 1, OP_MS);
    if (!job)
        return t->err.status = FF_OUTCOME_UNKNOWN;
    status = ff_job_answer(job, &t->err);
    if (status == FF_OK && out)
        memcpy(out, job->out, out_bytes);
    ff_job_free(job);
    return status;
}

static int64_t now_ms(struct test *t)
{
    int64_t now;

    EXPECT_OK(t, ff_api_now(t->client, &now, &t->err));
    return now;
}

/* Until all that was decided has been before now: a batch that has not asked for the time may be so
 * much ahead of it, since both clocks are read in whole milliseconds. */
void wait_a_moment(struct test *t)
{
    const int64_t then_ms = now_ms(t);

    WAIT_UNTIL(t, now_ms(t) > then_ms + AHEAD_MS);
}

/* ---- given ---- */

void given_old(struct test *t, struct stage *s)
{
    given_ready(t, s);
    given_held_for(t, s, 0);
    EXPECT_OK(t, when_completed(t, &s->held[0], "1"));
    wait_a_moment(t);
}

static ff_status touch_for(struct test *t, struct stage *s, int64_t ttl_ms)
{
    const struct ff_worker_touch_in in = {
        .worker_instance_id = {s->ns, strlen(s->ns)},
        .worker_id = FF_STR("w"),
        .namespace = {s->ns, strlen(s->ns)},
        .lanes = FF_STR("default"),
        .kinds = FF_STR("k"),
        .capabilities = FF_STR("gpu"),
        .ttl_ms = ttl_ms,
    };

    return run_op(t, FF_OP_WORKER_TOUCH, &in, sizeof in, NULL, 0);
}

void given_touched(struct test *t, struct stage *s)
{
    EXPECT_OK(t, touch_worker(t, s));
}

void given_gone(struct test *t, struct stage *s)
{
    int64_t seen_ms;

    EXPECT_OK(t, touch_for(t, s, 1));
    seen_ms = now_ms(t);
    WAIT_UNTIL(t, now_ms(t) > seen_ms + 1);
}

static void given_with(struct test *t, struct stage *s, const struct ff_policy_spec *p,
                       struct ff_submission *item)
{
    struct name name;

    item->ns = s->ns;
    item->lane = s->ns;
    item->kind = "k00";
    item->policy = p;
    name = given(t, item);
    memcpy(s->ids[s->id_count++], name.id, sizeof name.id);
}

static void given_lapsed_under(struct test *t, struct stage *s, const struct ff_policy_spec *p)
{
    struct ff_submission item = submission();

    given_with(t, s, p, &item);
    given_held_for(t, s, TTL_MS);
    WAIT_UNTIL(t, now_ms(t) > s->held[0].expires_at_ms);
}

void given_lapsing(struct test *t, struct stage *s)
{
    const struct ff_policy_spec p = retry_policy(3, 0);

    given_lapsed_under(t, s, &p);
}

void given_last_lapse(struct test *t, struct stage *s)
{
    const struct ff_policy_spec p = retry_policy(0, 0);

    given_lapsed_under(t, s, &p);
}

void given_reclaim(struct test *t, struct stage *s)
{
    const struct ff_policy_spec p = reclaim_policy(3);

    given_lapsed_under(t, s, &p);
}

void given_delayed(struct test *t, struct stage *s)
{
    struct ff_submission item = submission();
    int64_t then_ms;

    item.delay_ms = 20;
    given_with(t, s, NULL, &item);
    then_ms = now_ms(t);
    WAIT_UNTIL(t, now_ms(t) > then_ms + 20);
}

void given_deadline(struct test *t, struct stage *s)
{
    struct ff_submission item = submission();
    int64_t then_ms;

    item.deadline_ms = 20;
    given_with(t, s, NULL, &item);
    then_ms = now_ms(t);
    WAIT_UNTIL(t, now_ms(t) > then_ms + 20);
}

/* ---- acting ---- */

static struct ff_filter filter_of(const struct stage *s)
{
    struct ff_filter filter;

    ff_filter_init(&filter);
    filter.ns = s->ns;
    return filter;
}

static ff_status by_filter(struct test *t, struct stage *s, bool replay)
{
    const struct ff_filter filter = filter_of(s);
    struct ff_bulk_result result = {0};
    const ff_status status = replay ? ff_replay_where(t->client, &filter, "all", &result, &t->err)
                                    : ff_cancel_where(t->client, &filter, "all", &result, &t->err);

    if (status != FF_OK)
        return status;
    if (result.more || result.refused) { /* it says that it has not done all of it */
        t->err.status = FF_UNAVAILABLE;
        return FF_UNAVAILABLE;
    }
    return FF_OK;
}

ff_status cancel_where(struct test *t, struct stage *s)
{
    return by_filter(t, s, false);
}

ff_status replay_where(struct test *t, struct stage *s)
{
    return by_filter(t, s, true);
}

ff_status touch_worker(struct test *t, struct stage *s)
{
    return touch_for(t, s, 3600000);
}

ff_status write_contact(struct test *t, struct stage *s)
{
    const struct ff_contact_in in = {0};

    (void)s;
    return run_op(t, FF_OP_META_CONTACT, &in, sizeof in, NULL, 0);
}

ff_status sweep_retention(struct test *t, struct stage *s)
{
    const struct ff_retention_in in = {
        .limit = 500, .retention_ms = 0, .filter.namespace = {s->ns, strlen(s->ns)}};

    return run_op(t, FF_OP_RETENTION_SWEEP, &in, sizeof in, NULL, 0);
}

ff_status prune_workers(struct test *t, struct stage *s)
{
    const struct ff_prune_in in = {.limit = 500};

    (void)s;
    return run_op(t, FF_OP_META_PRUNE, &in, sizeof in, NULL, 0);
}

/* Nothing is old enough: the log stays as it is. */
ff_status trim_log(struct test *t, struct stage *s)
{
    const struct ff_log_trim_in in = {.limit = 500};

    (void)s;
    return run_op(t, FF_OP_LOG_TRIM, &in, sizeof in, NULL, 0);
}

/* A braked row is not due before the end of its brake, so a scan may find nothing for a while. */
static ff_status fire(struct test *t, struct stage *s, ff_timer_scope scope)
{
    const struct ff_timer_in in = {
        .scope = scope, .limit = 1000, .filter.namespace = {s->ns, strlen(s->ns)}};
    const int64_t until_ms = test_mono_ms() + PATIENCE;
    struct ff_timer_out out;
    ff_status status;

    for (;;) {
        status = run_op(t, FF_OP_TIMER_FIRE, &in, sizeof in, &out, sizeof out);
        if (status != FF_OK)
            return status;
        s->fired = s->fired || out.lease_lapses || out.delays || out.deadlines;
        if (s->fired || test_mono_ms() > until_ms)
            return FF_OK;
        test_pause();
    }
}

ff_status fire_lapse(struct test *t, struct stage *s)
{
    return fire(t, s, FF_TIMER_LEASES);
}

ff_status fire_delay(struct test *t, struct stage *s)
{
    return fire(t, s, FF_TIMER_DELAYS);
}

ff_status fire_deadline(struct test *t, struct stage *s)
{
    return fire(t, s, FF_TIMER_DEADLINES);
}

/* ---- looking ---- */

ff_status read_whole(struct test *t, struct stage *s)
{
    struct ff_info_list whole = {0};
    const ff_status status = ff_get(t->client, s->ids[0], &whole, &t->err);

    ff_answer_free(&whole);
    return status;
}

ff_status read_list(struct test *t, struct stage *s)
{
    const struct ff_filter filter = filter_of(s);
    struct ff_info_list page = {0};
    const ff_status status = ff_list(t->client, &filter, &page, &t->err);

    ff_answer_free(&page);
    return status;
}

ff_status read_by_uuid(struct test *t, struct stage *s)
{
    struct ff_info_list whole = {0};
    const ff_status status = ff_get(t->client, strrchr(s->ids[0], ':') + 1, &whole, &t->err);

    ff_answer_free(&whole);
    return status;
}

ff_status read_result(struct test *t, struct stage *s)
{
    struct ff_bytes result = {0};
    const ff_status status = ff_result(t->client, s->ids[0], &result, &t->err);

    ff_answer_free(&result);
    return status;
}

ff_status read_history(struct test *t, struct stage *s)
{
    struct ff_event_list page = {0};
    const ff_status status = ff_history(t->client, s->ids[0], NULL, 10, &page, &t->err);

    ff_answer_free(&page);
    return status;
}

ff_status read_attempts(struct test *t, struct stage *s)
{
    struct ff_attempt_list all = {0};
    const ff_status status = ff_attempts(t->client, s->ids[0], &all, &t->err);

    ff_answer_free(&all);
    return status;
}

static ff_status explain(struct test *t, const char *id)
{
    struct ff_explanation reasons = {0};
    const ff_status status = ff_explain(t->client, id, &reasons, &t->err);

    ff_answer_free(&reasons);
    return status;
}

ff_status read_explanation(struct test *t, struct stage *s)
{
    return explain(t, s->ids[0]);
}

/* Of a node with others before it. */
ff_status read_last_explanation(struct test *t, struct stage *s)
{
    return explain(t, s->ids[s->id_count - 1]);
}

ff_status read_registry(struct test *t, struct stage *s)
{
    struct ff_lane_list lanes = {0};
    struct ff_worker_list workers = {0};
    struct ff_scanner_list scanners = {0};
    ff_status status = ff_lanes(t->client, &lanes, &t->err);
    int64_t bytes;

    (void)s;
    if (status == FF_OK)
        status = ff_workers(t->client, &workers, &t->err);
    if (status == FF_OK)
        status = ff_scanners(t->client, &scanners, &t->err);
    if (status == FF_OK && t->client->engine)
        status = ff_engine_wal_bytes(t->client->engine, TEST_WAIT_MS, &bytes, &t->err);
    ff_answer_free(&lanes);
    ff_answer_free(&workers);
    ff_answer_free(&scanners);
    return status;
}

ff_status read_fsck(struct test *t, struct stage *s)
{
    struct ff_findings findings = {0};
    const ff_status status = ff_fsck(t->client, &findings, &t->err);

    (void)s;
    if (status == FF_OK && findings.count)
        t->err.status = FF_INTERNAL;
    ff_answer_free(&findings);
    return status;
}
