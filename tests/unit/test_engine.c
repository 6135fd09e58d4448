/* SPDX-License-Identifier: Apache-2.0
 *
 * test_engine.c -- the engine step by step, on SQLite in memory and a clock that stands still.
 *
 * No threads: every step is made here or by the call that waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api-int.h"
#include "base/limits.h"
#include "engine/engine-int.h"
#include "sql_ids.h"
#include "store/fault.h"

static int64_t now_ms;
static int64_t asleep_ms; /* what only the boot clock has counted */
static ff_fault_verdict verdicts[FF_FAULT_KINDS];
static int side_reads; /* of what only Postgres has; refused */
static struct ff_client *client;
static struct ff_engine *engine;
static struct ff_error error;

static int64_t clock_ms(void *ctx)
{
    (void)ctx;
    return now_ms;
}

static int64_t boot_ms(void *ctx)
{
    (void)ctx;
    return now_ms + asleep_ms;
}

static ff_fault_verdict verdict_of(void *ctx, const struct ff_call *call, uint64_t n)
{
    (void)ctx;
    (void)n;
    if (call->kind == FF_CALL_READ &&
        (call->read->block == FF_SQL_SESSIONS_REAP || call->read->block == FF_SQL_LOG_UPKEEP)) {
        side_reads++;
        return FF_FAULT_BEFORE_OP;
    }
    return verdicts[call->kind];
}

static int setup(void **state)
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

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(ff_close(client, 0), 0);
    return 0;
}

/* --- given and when --- */

/* Everything that can be done now. */
static void step_all(void)
{
    int waiting;

    for (int i = 0; i < 50; i++)
        (void)ff_engine_step(engine, &waiting);
}

/* Time goes by, and the engine is called every `step_ms`. */
static void pass(int64_t ms, int64_t step_ms)
{
    for (const int64_t until_ms = now_ms + ms; now_ms < until_ms;) {
        now_ms = ff_min_i64(now_ms + step_ms, until_ms);
        step_all();
    }
}

static void given_submitted_with(char id[FF_ID_BYTES], int64_t attempt_timeout_ms)
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

static void given_submitted(char id[FF_ID_BYTES])
{
    given_submitted_with(id, 0);
}

static struct ff_lease given_claimed(int64_t ttl_ms)
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

static bool is_in_state(const char *id, const char *public_state)
{
    struct ff_info_list whole = {0};
    bool is;

    assert_int_equal(ff_get(client, id, &whole, &error), FF_OK);
    is = !strcmp(whole.items[0].public_state, public_state);
    ff_answer_free(&whole);
    return is;
}

static struct ff_engine_stats stats(void)
{
    struct ff_engine_stats out;

    ff_engine_stats(engine, &out);
    return out;
}

/* --- batches --- */

static void test_engine__one_call_is_a_batch_of_one(void **state)
{
    char id[FF_ID_BYTES];
    const int64_t before = stats().batches;

    (void)state;
    given_submitted(id);
    assert_int_equal(stats().batches, before + 1);
}

static void test_engine__a_bad_item_leaves_its_neighbours_alone(void **state)
{
    struct ff_submission items[3];
    struct ff_submitted results[3];
    const int64_t before = stats().batches;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        ff_submission_init(&items[i]);
        items[i].kind = i == 1 ? "other" : "work";
        items[i].idempotency_key = i == 2 ? "another key" : "key";
    }
    assert_int_equal(ff_submit(client, items, 3, results, &error), FF_OK);
    assert_int_equal(results[0].status, FF_OK);
    assert_int_equal(results[1].status, FF_KEY_REUSED);
    assert_int_equal(results[2].status, FF_OK);
    assert_true(stats().batches - before <= 2); /* the second looks at the first again */
}

/* An executor that asks about a commit does nothing else, so the others do its work. */
static void test_engine__who_is_in_doubt_is_stood_in_for(void **state)
{
    (void)state;
    assert_int_equal(ff_executor_takes(&engine->executors[0]), FF_TAKE_CASCADE);
    assert_int_equal(ff_executor_takes(&engine->executors[1]), FF_TAKE_LARGE);
    atomic_store(&engine->resolving, 1);
    assert_int_equal(ff_executor_takes(&engine->executors[0]), FF_TAKE_ALL);
    assert_int_equal(ff_executor_takes(&engine->executors[1]), FF_TAKE_ALL);
    atomic_store(&engine->resolving, 0);
}

/* --- a store that does not answer --- */

static const struct ff_session_ops *store_ops;
static ff_call_kind unanswered; /* calls of this kind do not end; SQLite never has a RESOLVE */

static bool finish_unless_silent(struct ff_session *session, struct ff_call *call)
{
    return call->kind != unanswered && store_ops->finish(session, call);
}

static void given_silence(struct ff_session *session, struct ff_session_ops *ops, ff_call_kind kind)
{
    store_ops = session->ops;
    *ops = *store_ops;
    ops->finish = finish_unless_silent;
    session->ops = ops;
    unanswered = kind;
}

static void count_call(void *ctx)
{
    ++*(int *)ctx;
}

/* A submission that no thread waits for, while calls of a kind go unanswered until its time is
 * over. Then the store speaks again. */
static ff_status when_submitted_into_silence(ff_call_kind kind, bool *ret_repeatable)
{
    struct ff_session *const session = engine->executors[0].session;
    struct ff_session_ops ops;
    struct ff_submitted result;
    struct ff_submission item;
    struct ff_async *async = NULL;
    int calls = 0;

    given_silence(session, &ops, kind);
    ff_submission_init(&item);
    item.kind = "work";
    item.idempotency_key = "a text in the memory of the job";
    assert_int_equal(
        ff_async_new(client, &ff_submit_type, &item, 1, count_call, &calls, &async, &error), FF_OK);
    ff_async_go(async);
    pass(999, 100);
    assert_int_equal(calls, 0);
    pass(1, 1);
    assert_int_equal(calls, 1);
    assert_int_equal(ff_async_take(async, &result, &error), FF_OK);
    *ret_repeatable = result.error.repeatable;
    ff_async_free(async);
    unanswered = FF_CALL_RESOLVE;
    step_all();
    session->ops = store_ops;
    return result.status;
}

static size_t execution_count(void)
{
    struct ff_info_list all = {0};
    struct ff_filter filter;
    size_t count;

    ff_filter_init(&filter);
    assert_int_equal(ff_list(client, &filter, &all, &error), FF_OK);
    count = all.count;
    ff_answer_free(&all);
    return count;
}

/* Before the decision the answer is certain, and stays so when the store goes on. */
static void test_engine__a_load_without_answer_is_told_in_time(void **state)
{
    bool repeatable;

    (void)state;
    assert_int_equal(when_submitted_into_silence(FF_CALL_LOAD, &repeatable), FF_TIMEOUT);
    assert_int_equal(execution_count(), 0);
}

static void test_engine__a_commit_without_answer_is_told_in_time(void **state)
{
    bool repeatable;

    (void)state;
    assert_int_equal(when_submitted_into_silence(FF_CALL_SAVE, &repeatable), FF_OUTCOME_UNKNOWN);
    assert_true(repeatable);
    assert_int_equal(execution_count(), 1);
}

/* --- commits without an answer --- */

static void ended(struct ff_job *job, void *ctx)
{
    ff_status *const status = ctx;

    *status = job->status;
    ff_job_free(job);
}

/* A job whose commit is not answered, while nobody says what has become of it. */
static void given_in_doubt(ff_status *status)
{
    struct ff_job *const job = ff_job_new(FF_OP_META_CONTACT, 0);

    job->in = ff_arena_alloc(&job->arena, sizeof(struct ff_contact_in));
    job->done = ended;
    job->ctx = status;
    job->deadline_mono_ms = INT64_MAX;
    *status = FF_AGAIN;
    pass(3000, 100);
    verdicts[FF_CALL_SAVE] = FF_FAULT_BEFORE_LOST;
    verdicts[FF_CALL_RESOLVE] = FF_FAULT_BEFORE_STOP;
    assert_int_equal(ff_engine_submit(engine, job, &error), FF_OK);
    step_all();
    assert_int_equal(*status, FF_AGAIN);
    memset(verdicts, 0, sizeof verdicts);
}

static void test_engine__a_lost_commit_is_done_again(void **state)
{
    ff_status status;

    (void)state;
    given_in_doubt(&status);
    asleep_ms = FF_UNKNOWN_MS_MAX / 2;
    pass(2000, 100);
    assert_int_equal(status, FF_OK);
}

/* The machine has slept: the marker may have been pruned, and "not there" says nothing. */
static void test_engine__a_commit_long_ago_stays_in_doubt(void **state)
{
    ff_status status;

    (void)state;
    given_in_doubt(&status);
    asleep_ms = FF_UNKNOWN_MS_MAX;
    pass(2000, 100);
    assert_int_equal(status, FF_OUTCOME_UNKNOWN);
}

/* --- leases and contact --- */

static void test_engine__a_lease_that_nobody_renews_lapses(void **state)
{
    char id[FF_ID_BYTES];

    (void)state;
    given_submitted(id);
    pass(3000, 100); /* in contact */
    (void)given_claimed(1000);
    pass(900, 100);
    assert_true(is_in_state(id, "active"));
    pass(1300, 100); /* its end, and the next tick */
    assert_true(is_in_state(id, "waiting"));
}

/* The process or the store stands still for longer than the lease: the worker could not renew. */
static void test_engine__a_stall_ends_no_lease(void **state)
{
    static const struct {
        int64_t ttl_ms, stall_ms;
    } cases[] = {{600, 700}, {1000, 1500}, {1900, 1950}, {5000, 20000}};

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(cases); i++) {
        struct ff_lease lease;
        struct ff_renewal renewal;
        struct ff_task_result result;
        char id[FF_ID_BYTES];

        given_submitted_with(id, cases[i].ttl_ms + 50); /* not under this lease */
        pass(3000, 100);
        lease = given_claimed(cases[i].ttl_ms);
        pass(100, 100);
        now_ms += cases[i].stall_ms;
        pass(cases[i].ttl_ms - 200, 50); /* time for the worker to come back */
        assert_true(is_in_state(id, "active"));
        renewal = (struct ff_renewal){.lease = lease, .lease_ttl_ms = cases[i].ttl_ms};
        assert_int_equal(ff_renew(client, &renewal, 1, &result, &error), FF_OK);
        assert_int_equal(result.status, FF_OK);
        pass(2 * cases[i].ttl_ms + 2000, 100); /* it does not hold for ever */
        assert_true(is_in_state(id, "waiting"));
        assert_int_equal(ff_cancel(client, id, NULL, NULL, &error), FF_OK);
    }
}

/* What is only looked after says nothing about contact: it may not be allowed to us. */
static void test_engine__only_the_pulse_breaks_contact(void **state)
{
    int64_t since_ms;

    (void)state;
    engine->store->facts.kind = "postgres"; /* where sessions and ranges are looked after */
    pass(3000, 100);
    since_ms = engine->contact.since_ms;
    side_reads = 0;
    pass(40000, 100);
    assert_true(side_reads > 2);
    assert_int_equal(engine->contact.since_ms, since_ms);
}

/* --- closing --- */

static void test_engine__what_waits_when_it_closes_is_told(void **state)
{
    struct ff_job *const job = ff_job_new(FF_OP_META_CONTACT, 0);
    ff_status status = FF_OK;

    (void)state;
    job->in = ff_arena_alloc(&job->arena, sizeof(struct ff_contact_in));
    job->done = ended;
    job->ctx = &status;
    job->deadline_mono_ms = INT64_MAX;
    assert_int_equal(ff_engine_submit(engine, job, &error), FF_OK);
    (void)ff_engine_close(engine, 0);
    assert_int_equal(status, FF_CLOSED);
}

/* --- claims that wait --- */

struct waiting {
    struct ff_job *job;
    bool over;
    size_t task_count;
};

static void answered(struct ff_job *job, void *ctx)
{
    struct waiting *const waiting = ctx;

    assert_int_equal(job->status, FF_OK);
    waiting->over = true;
    waiting->task_count = ((const struct ff_claim_out *)job->out)->task_count;
    ff_job_free(job);
}

static void given_waiting(struct waiting *waiting, const char *kind)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_CLAIM, 0);
    struct ff_claim_in *const in = ff_arena_alloc(&job->arena, sizeof *in);
    struct ff_str *const names = ff_arena_array(&job->arena, 2, sizeof *names);

    names[0] = FF_STR("default");
    names[1] = ff_str_of(kind);
    *in = (struct ff_claim_in){.worker_id = FF_STR("w"),
                               .worker_instance_id = FF_STR("w"),
                               .lanes = &names[0],
                               .lane_count = 1,
                               .kinds = &names[1],
                               .kind_count = 1,
                               .namespace = ff_str_null(),
                               .request_id = ff_str_null(),
                               .max = 256,
                               .lease_ttl_ms = 1000};
    *waiting = (struct waiting){.job = job};
    job->in = in;
    job->out = ff_arena_alloc(&job->arena, sizeof(struct ff_claim_out));
    job->done = answered;
    job->ctx = waiting;
    job->deadline_mono_ms = INT64_MAX;
    job->wait_until_mono_ms = now_ms + 60000;
    assert_int_equal(ff_engine_submit(engine, job, &error), FF_OK);
    step_all();
    assert_false(waiting->over);
}

static void test_engine__who_waits_longest_is_served_first(void **state)
{
    struct waiting waiting[4];
    char id[FF_ID_BYTES];

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(waiting); i++)
        given_waiting(&waiting[i], "work");
    for (size_t i = 0; i < FF_ARRAY_LEN(waiting); i++) {
        given_submitted(id);
        step_all();
        for (size_t k = 0; k < FF_ARRAY_LEN(waiting); k++)
            assert_int_equal(waiting[k].over, k <= i);
        assert_int_equal(waiting[i].task_count, 1);
    }
}

static void test_engine__waiting_takes_no_more_and_more_memory(void **state)
{
    struct waiting waiting;
    char id[FF_ID_BYTES];
    size_t used;

    (void)state;
    given_waiting(&waiting, "other");
    given_submitted(id); /* woken in vain, as by each of those that follow */
    step_all();
    used = ff_arena_used(&waiting.job->arena);
    for (int i = 0; i < 20; i++) {
        given_submitted(id);
        step_all();
    }
    assert_int_equal(ff_arena_used(&waiting.job->arena), used);
    pass(61000, 1000);
    assert_true(waiting.over);
    assert_int_equal(waiting.task_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_engine__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_call_is_a_batch_of_one),
        TEST(a_bad_item_leaves_its_neighbours_alone),
        TEST(who_is_in_doubt_is_stood_in_for),
        TEST(a_load_without_answer_is_told_in_time),
        TEST(a_commit_without_answer_is_told_in_time),
        TEST(a_lost_commit_is_done_again),
        TEST(a_commit_long_ago_stays_in_doubt),
        TEST(a_lease_that_nobody_renews_lapses),
        TEST(a_stall_ends_no_lease),
        TEST(only_the_pulse_breaks_contact),
        TEST(what_waits_when_it_closes_is_told),
        TEST(who_waits_longest_is_served_first),
        TEST(waiting_takes_no_more_and_more_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
