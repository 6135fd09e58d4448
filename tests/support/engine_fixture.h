/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_fixture.h -- an engine per test, on SQLite in memory and a clock that stands still.
 *
 * No threads: every step is made by the test or by the call that waits for it. Included once by a
 * test program, after cmocka. */
#ifndef FF_TESTS_ENGINE_FIXTURE_H
#define FF_TESTS_ENGINE_FIXTURE_H

#include <string.h>

#include "api/api-int.h"
#include "base/limits.h"
#include "engine/engine-int.h"
#include "sql_ids.h"
#include "store/fault.h"

static int64_t now_ms;
static int64_t asleep_ms; /* what only the boot clock has counted */
static ff_fault_verdict verdicts[FF_FAULT_KINDS];
static bool fails_once; /* then all goes well again */
static int side_reads;  /* of what only Postgres has; refused */
static struct ff_client *client;
static struct ff_engine *engine;
static struct ff_error error;

static inline int64_t clock_ms(void *ctx)
{
    (void)ctx;
    return now_ms;
}

static inline int64_t boot_ms(void *ctx)
{
    (void)ctx;
    return now_ms + asleep_ms;
}

static inline ff_fault_verdict verdict_of(void *ctx, const struct ff_call *call, uint64_t n)
{
    (void)ctx;
    (void)n;
    if (call->kind == FF_CALL_READ &&
        (call->read->block == FF_SQL_SESSIONS_REAP || call->read->block == FF_SQL_LOG_UPKEEP)) {
        side_reads++;
        return FF_FAULT_BEFORE_OP;
    }
    const ff_fault_verdict verdict = verdicts[call->kind];

    if (verdict != FF_FAULT_RUN && fails_once)
        memset(verdicts, 0, sizeof verdicts);
    return verdict;
}

static inline int setup(void **state)
{
    const struct ff_clock clock = {NULL, clock_ms, clock_ms, boot_ms};
    const struct ff_fault fault = {.decide = verdict_of};
    const struct ff_store_options store = {
        .url = "sqlite::memory:", .create = true, .clock = clock, .random = ff_random_system()};
    struct ff_engine_options options;

    (void)state;
    now_ms = INT64_C(1700000000000);
    asleep_ms = 0;
    memset(verdicts, 0, sizeof verdicts);
    fails_once = false;
    ff_engine_options_default(&options);
    options.threads = false;
    options.executors = 2;
    options.clock = clock;
    assert_int_equal(ff_store_open(&store, &options.store, &error), FF_OK);
    options.store = ff_store_fault_new(options.store, &fault);
    assert_non_null(options.store);
    assert_int_equal(ff_engine_new(&options, &engine, &error), FF_OK);
    client = ff_client_of_engine(engine, 1000);
    assert_non_null(client);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    assert_int_equal(ff_close(client, 0), 0);
    return 0;
}

/* --- given and when --- */

/* Everything that can be done now. */
static inline void step_all(void)
{
    int waiting;

    for (int i = 0; i < 50; i++)
        (void)ff_engine_step(engine, &waiting);
}

/* Time goes by, and the engine is called every `step_ms`. */
static inline void pass(int64_t ms, int64_t step_ms)
{
    for (const int64_t until_ms = now_ms + ms; now_ms < until_ms;) {
        now_ms = ff_min_i64(now_ms + step_ms, until_ms);
        step_all();
    }
}

static inline void given_submitted_with(char id[FF_ID_BYTES], int64_t attempt_timeout_ms)
{
    struct ff_submission item;
    struct ff_policy_spec policy;
    struct ff_submitted result;

    ff_policy_init(&policy);
    policy.attempt_timeout_ms = attempt_timeout_ms;
    ff_submission_init(&item);
    item.kind = "work";
    item.policy = &policy;
    assert_int_equal(ff_submit(client, &item, 1, &result, &error), FF_OK);
    assert_int_equal(result.status, FF_OK);
    memcpy(id, result.execution_id, FF_ID_BYTES);
}

static inline void given_submitted(char id[FF_ID_BYTES])
{
    given_submitted_with(id, 0);
}

static inline struct ff_lease given_claimed(int64_t ttl_ms)
{
    static const char *const lanes[] = {"default"};
    static char id[FF_ID_BYTES], lease_id[FF_UUID_BYTES];
    struct ff_claim_request request = {.size = sizeof request};
    struct ff_tasks tasks = {0};
    struct ff_lease lease;

    request.worker_id = request.worker_instance_id = "w";
    request.lanes = lanes;
    request.lane_count = 1;
    request.lease_ttl_ms = ttl_ms;
    assert_int_equal(ff_claim(client, &request, &tasks, &error), FF_OK);
    assert_int_equal(tasks.count, 1);
    memcpy(id, tasks.items[0].execution_id, sizeof id);
    memcpy(lease_id, tasks.items[0].lease_id, sizeof lease_id);
    lease = (struct ff_lease){id, lease_id, tasks.items[0].lease_epoch};
    ff_answer_free(&tasks);
    return lease;
}

static inline bool is_in_state(const char *id, const char *public_state)
{
    struct ff_info_list whole = {0};
    bool is;

    assert_int_equal(ff_get(client, id, &whole, &error), FF_OK);
    is = !strcmp(whole.items[0].public_state, public_state);
    ff_answer_free(&whole);
    return is;
}

static inline struct ff_engine_stats stats(void)
{
    struct ff_engine_stats out;

    ff_engine_stats(engine, &out);
    return out;
}

/* --- a store that does not answer --- */

static const struct ff_session_ops *store_ops;
static ff_call_kind unanswered =
    FF_CALL_RESOLVE; /* calls of this kind do not end; SQLite never has a RESOLVE */

static inline bool finish_unless_silent(struct ff_session *session, struct ff_call *call)
{
    return call->kind != unanswered && store_ops->finish(session, call);
}

static inline void given_silence(struct ff_session *session, struct ff_session_ops *ops,
                                 ff_call_kind kind)
{
    store_ops = session->ops;
    *ops = *store_ops;
    ops->finish = finish_unless_silent;
    session->ops = ops;
    unanswered = kind;
}

static inline void count_call(void *ctx)
{
    ++*(int *)ctx;
}

/* A call that no thread waits for, while calls of a kind to the store go unanswered until its time
 * is over. Then the store speaks again. */
static inline void when_called_into_silence(ff_call_kind kind, const struct ff_bulk_type *type,
                                            const void *item, void *ret)
{
    struct ff_session *const session = engine->executors[0].session;
    struct ff_session_ops ops;
    struct ff_async *async = NULL;
    int calls = 0;

    given_silence(session, &ops, kind);
    assert_int_equal(ff_async_new(client, type, item, 1, count_call, &calls, &async, &error),
                     FF_OK);
    ff_async_go(async);
    pass(999, 100);
    assert_int_equal(calls, 0);
    pass(1, 1);
    assert_int_equal(calls, 1);
    assert_int_equal(ff_async_take(async, ret, &error), FF_OK);
    ff_async_free(async);
    unanswered = FF_CALL_RESOLVE;
    step_all();
    session->ops = store_ops;
}

#endif
