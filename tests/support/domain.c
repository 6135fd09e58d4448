/* SPDX-License-Identifier: Apache-2.0
 *
 * domain.c -- submitting, claiming, working and operating, in the words of the tests.
 *
 * Read first: tests/support/domain.h. What tests look at is in looks.c. */
#include "support/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* ---- submitting ---- */

struct ff_submission submission(void)
{
    struct ff_submission s;

    ff_submission_init(&s);
    s.kind = "work";
    return s;
}

struct ff_policy_spec policy(void)
{
    struct ff_policy_spec p;

    ff_policy_init(&p);
    return p;
}

struct ff_policy_spec retry_policy(int32_t max_retries, int64_t delay_ms)
{
    struct ff_policy_spec p = policy();

    p.has_retry_policy = true;
    p.max_retries = max_retries;
    p.backoff = "fixed";
    p.delay_ms = delay_ms;
    p.jitter = false;
    return p;
}

struct ff_policy_spec reclaim_policy(int32_t max_reclaim_count)
{
    struct ff_policy_spec p = policy();

    p.lease_lapse = "reclaim";
    p.max_reclaim_count = max_reclaim_count;
    return p;
}

ff_status when_submitted(struct test *t, const struct ff_submission *s, struct ff_submitted *ret)
{
    const ff_status status = ff_submit(t->client, s, 1, ret, &t->err);

    if (status != FF_OK)
        return status;
    if (ret->status != FF_OK)
        t->err = ret->error;
    t->answer.public_state = ret->public_state;
    return ret->status;
}

struct name given(struct test *t, const struct ff_submission *s)
{
    struct ff_submitted submitted;
    struct name name;

    EXPECT_OK(t, when_submitted(t, s, &submitted));
    EXPECT(t, submitted.created);
    memcpy(name.id, submitted.execution_id, sizeof name.id);
    return name;
}

struct name given_submitted(struct test *t)
{
    const struct ff_submission s = submission();

    return given(t, &s);
}

struct name given_submitted_with(struct test *t, const struct ff_policy_spec *p)
{
    struct ff_submission s = submission();

    s.policy = p;
    return given(t, &s);
}

struct name given_priority(struct test *t, int64_t priority)
{
    struct ff_submission s = submission();

    s.priority = priority;
    return given(t, &s);
}

/* ---- claiming ---- */

struct ff_claim_request claim_request(void)
{
    return (struct ff_claim_request){.size = sizeof(struct ff_claim_request),
                                     .worker_id = WORKER,
                                     .worker_instance_id = INSTANCE};
}

struct held held_of(const struct ff_task *task)
{
    struct held held = {
        .epoch = task->lease_epoch,
        .ttl_ms = task->lease_ttl_ms,
        .expires_at_ms = task->lease_expires_at_ms,
        .deadline_at_ms = task->deadline_at_ms,
        .generation = task->generation,
        .attempt_index = task->attempt_index,
    };

    memcpy(held.id, task->execution_id, sizeof held.id);
    memcpy(held.lease_id, task->lease_id, sizeof held.lease_id);
    (void)snprintf(held.attempt_type, sizeof held.attempt_type, "%s", task->attempt_type);
    (void)snprintf(held.kind, sizeof held.kind, "%s", task->kind);
    (void)snprintf(held.lane, sizeof held.lane, "%s", task->lane);
    (void)snprintf(held.ns, sizeof held.ns, "%s", task->ns);
    return held;
}

size_t when_claimed_many(struct test *t, const struct ff_claim_request *r, struct held *ret,
                         size_t max)
{
    struct ff_tasks tasks = {0};
    size_t count;

    EXPECT_OK(t, ff_claim(t->client, r, &tasks, &t->err));
    count = tasks.count;
    for (size_t i = 0; i < count && i < max; i++)
        ret[i] = held_of(&tasks.items[i]);
    ff_answer_free(&tasks);
    EXPECT(t, count <= max);
    return count;
}

ff_status when_asked(struct test *t, const struct ff_claim_request *r)
{
    struct ff_tasks tasks = {0};
    const ff_status status = ff_claim(t->client, r, &tasks, &t->err);

    ff_answer_free(&tasks);
    return status;
}

bool claims_one(struct test *t, const struct ff_claim_request *r, struct held *ret)
{
    return when_claimed_many(t, r, ret, 1) == 1;
}

struct held given_claim(struct test *t, const struct ff_claim_request *r)
{
    struct held held;

    if (!claims_one(t, r, &held))
        FAIL(t, "there was nothing to claim");
    return held;
}

struct held given_claimed_next(struct test *t)
{
    const struct ff_claim_request r = claim_request();

    return given_claim(t, &r);
}

struct held given_claimed(struct test *t)
{
    (void)given_submitted(t);
    return given_claimed_next(t);
}

struct held given_claimed_with(struct test *t, const struct ff_policy_spec *p, int64_t ttl_ms)
{
    struct ff_claim_request r = claim_request();

    r.lease_ttl_ms = ttl_ms;
    (void)given_submitted_with(t, p);
    return given_claim(t, &r);
}

bool nothing_to_claim(struct test *t)
{
    const struct ff_claim_request r = claim_request();
    struct held held;

    return !claims_one(t, &r, &held);
}

static bool has_lapsed(struct test *t, const struct held *held)
{
    struct ff_info_list whole = {0};
    bool gone;

    EXPECT_OK(t, ff_get(t->client, held->id, &whole, &t->err));
    gone = whole.items[0].lease_epoch != held->epoch ||
           strcmp(whole.items[0].ownership_state, "leased") != 0;
    ff_answer_free(&whole);
    return gone;
}

void given_lapsed(struct test *t, const struct held *held)
{
    WAIT_UNTIL(t, has_lapsed(t, held));
}

/* ---- what a worker says ---- */

struct ff_lease lease_of(const struct held *held)
{
    return (struct ff_lease){
        .execution_id = held->id, .lease_id = held->lease_id, .lease_epoch = held->epoch};
}

/* The call itself must work; what counts is what it says about the one task. */
static ff_status told(struct test *t, ff_status status, const struct ff_task_result *result)
{
    if (status != FF_OK)
        return status;
    if (result->status != FF_OK) {
        t->err = result->error;
        return result->status;
    }
    t->answer = (struct test_answer){.public_state = result->public_state,
                                     .lease_expires_at_ms = result->lease_expires_at_ms,
                                     .retry_at_ms = result->retry_at_ms};
    return FF_OK;
}

ff_status when_renewed(struct test *t, const struct held *held, int64_t ttl_ms)
{
    const struct ff_renewal item = {.lease = lease_of(held), .lease_ttl_ms = ttl_ms};
    struct ff_task_result result;
    const ff_status status = ff_renew(t->client, &item, 1, &result, &t->err);

    return told(t, status, &result);
}

ff_status when_completed(struct test *t, const struct held *held, const char *text)
{
    const struct ff_completion item = {.lease = lease_of(held),
                                       .result = {text, text ? strlen(text) : 0}};
    struct ff_task_result result;
    const ff_status status = ff_complete(t->client, &item, 1, &result, &t->err);

    return told(t, status, &result);
}

struct ff_failure failure_of(const struct held *held, const char *failure_class)
{
    return (struct ff_failure){.lease = lease_of(held),
                               .message = "it went wrong",
                               .failure_class = failure_class,
                               .retry_after_ms = FF_ABSENT_MS};
}

ff_status when_failed_as(struct test *t, const struct ff_failure *failure)
{
    struct ff_task_result result;
    const ff_status status = ff_fail_task(t->client, failure, 1, &result, &t->err);

    return told(t, status, &result);
}

ff_status when_failed(struct test *t, const struct held *held, const char *failure_class)
{
    const struct ff_failure failure = failure_of(held, failure_class);

    return when_failed_as(t, &failure);
}

ff_status when_progressed(struct test *t, const struct held *held, int32_t percent,
                          const char *message)
{
    const struct ff_progress_note item = {
        .lease = lease_of(held), .percent = percent, .message = message};
    struct ff_task_result result;
    const ff_status status = ff_progress(t->client, &item, 1, &result, &t->err);

    return told(t, status, &result);
}

static ff_status postpone(struct test *t, const struct ff_postponement *item)
{
    struct ff_task_result result;
    const ff_status status = ff_delay(t->client, item, 1, &result, &t->err);

    return told(t, status, &result);
}

ff_status when_delayed(struct test *t, const struct held *held, int64_t delay_ms)
{
    const struct ff_postponement item = {
        .lease = lease_of(held), .delay_ms = delay_ms, .delay_until_ms = FF_ABSENT_MS};

    return postpone(t, &item);
}

ff_status when_delayed_until(struct test *t, const struct held *held, int64_t until_ms)
{
    const struct ff_postponement item = {
        .lease = lease_of(held), .delay_ms = FF_ABSENT_MS, .delay_until_ms = until_ms};

    return postpone(t, &item);
}

ff_status when_released(struct test *t, const struct held *held, const char *reason)
{
    const struct ff_giveback item = {.lease = lease_of(held), .reason = reason};
    struct ff_task_result result;
    const ff_status status = ff_release(t->client, &item, 1, &result, &t->err);

    return told(t, status, &result);
}

/* ---- what an operator says ---- */

ff_status when_cancelled(struct test *t, const char *id)
{
    return ff_cancel(t->client, id, "not needed", &t->answer.public_state, &t->err);
}

ff_status when_replayed(struct test *t, const char *id)
{
    struct ff_replay_request request;

    ff_replay_init(&request);
    request.execution_id = id;
    request.reason = "once more";
    return ff_replay(t->client, &request, &t->answer.public_state, &t->answer.generation, &t->err);
}

ff_status when_revoked(struct test *t, const char *id)
{
    return ff_revoke_lease(t->client, id, "too slow", &t->answer.epoch, &t->err);
}

ff_status when_prioritised(struct test *t, const char *id, int64_t priority)
{
    return ff_set_priority(t->client, id, priority, &t->answer.public_state, &t->err);
}

struct name given_completed(struct test *t)
{
    const struct held held = given_claimed(t);
    struct name name;

    EXPECT_OK(t, when_completed(t, &held, "1"));
    memcpy(name.id, held.id, sizeof name.id);
    return name;
}
