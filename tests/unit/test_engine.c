/* SPDX-License-Identifier: Apache-2.0
 *
 * test_engine.c -- the engine step by step: batches, doubt, contact, closing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "support/engine_fixture.h"

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

/* A submission that no thread waits for, into silence. */
static ff_status when_submitted_into_silence(ff_call_kind kind, bool *ret_repeatable)
{
    struct ff_submitted result;
    struct ff_submission item;

    ff_submission_init(&item);
    item.kind = "work";
    item.idempotency_key = "a text in the memory of the job";
    when_called_into_silence(kind, &ff_submit_type, &item, &result);
    *ret_repeatable = result.error.repeatable;
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
    engine->store->facts.upkeep = true;
    pass(3000, 100);
    since_ms = engine->contact.since_ms;
    side_reads = 0;
    pass(40000, 100);
    assert_true(side_reads > 2);
    assert_int_equal(engine->contact.since_ms, since_ms);
}

/* Ranges are looked after once a minute, but at once where the log has jumped. */
static void test_engine__jump_of_the_log_is_looked_after_at_once(void **state)
{
    struct ff_supervisor *const supervisor = &engine->supervisor;

    (void)state;
    engine->store->facts.upkeep = true;
    pass(1000, 100);
    supervisor->next_reap_mono_ms = supervisor->next_upkeep_mono_ms = INT64_MAX;
    side_reads = 0;
    pass(1000, 100);
    assert_int_equal(side_reads, 0);
    supervisor->pulse.event_id -= FF_LOG_JUMP; /* as the pulse before the jump */
    pass(1000, 100);
    assert_int_equal(side_reads, 1);
}

/* --- time --- */

/* Who was answered first is older, however late an answer of the store comes. */
static void test_engine__late_answers_do_not_turn_back_the_time(void **state)
{
    const int64_t begin_ms = now_ms;

    (void)state;
    ff_engine_contact(engine, begin_ms + 100);
    assert_int_equal(ff_engine_now_ms(engine), begin_ms + 100);
    now_ms += 3;
    ff_engine_contact(engine, begin_ms + 50); /* it was on its way for a while */
    assert_int_equal(ff_engine_now_ms(engine), begin_ms + 103);
    ff_engine_contact(engine, begin_ms + 104);
    assert_int_equal(ff_engine_now_ms(engine), begin_ms + 104);
    now_ms += FF_CONTACT_GAP_MS + 1; /* clocks drift: the fastest answer counts for a while only */
    ff_engine_contact(engine, begin_ms + 104 + FF_CONTACT_GAP_MS - 9);
    assert_int_equal(ff_engine_now_ms(engine), begin_ms + 104 + FF_CONTACT_GAP_MS - 9);
    now_ms += 1000;
    ff_engine_contact(engine, begin_ms - 3600000); /* the store's clock was set back */
    assert_int_equal(ff_engine_now_ms(engine), begin_ms - 3600000);
}

/* --- threads that cannot be had --- */

/* Threads stand still where they first ask for the time, until somebody waits for their end. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool watched;
    pthread_t maker;
    int left; /* threads that can still be made */
    int made, standing;
    bool released;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* The library's own, behind ours. */
static void real(const char *name, void *ret, size_t bytes)
{
    void *const found = dlsym(RTLD_NEXT, name);

    assert_non_null(found);
    memcpy(ret, &found, bytes);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    real("pthread_create", &create, sizeof create);
    if (threads.watched && threads.left-- == 0) {
        pthread_mutex_lock(&threads.lock);
        while (threads.standing < threads.made)
            pthread_cond_wait(&threads.changed, &threads.lock);
        pthread_mutex_unlock(&threads.lock);
        return EAGAIN;
    }
    threads.made++;
    return create(thread, attr, run, arg);
}

int pthread_join(pthread_t thread, void **ret)
{
    int (*join)(pthread_t, void **);

    real("pthread_join", &join, sizeof join);
    pthread_mutex_lock(&threads.lock);
    threads.released = true;
    pthread_cond_broadcast(&threads.changed);
    pthread_mutex_unlock(&threads.lock);
    return join(thread, ret);
}

static int64_t stand_still_ms(void *ctx)
{
    (void)ctx;
    if (!pthread_equal(pthread_self(), threads.maker)) {
        pthread_mutex_lock(&threads.lock);
        threads.standing++;
        pthread_cond_broadcast(&threads.changed);
        while (!threads.released)
            pthread_cond_wait(&threads.changed, &threads.lock);
        pthread_mutex_unlock(&threads.lock);
    }
    return now_ms;
}

/* Those that were started end before the store is the caller's again. */
static void test_engine__a_thread_that_cannot_be_had_leaves_none_behind(void **state)
{
    const struct ff_clock clock = {NULL, stand_still_ms, clock_ms, boot_ms};
    const struct ff_store_options store = {
        .url = "sqlite::memory:", .create = true, .clock = clock, .random = ff_random_system()};
    struct ff_engine_options options;
    struct ff_engine *made = NULL;

    (void)state;
    ff_engine_options_default(&options);
    options.clock = clock;
    options.executors = 1;
    threads.maker = pthread_self();
    assert_int_equal(ff_store_open(&store, &options.store, &error), FF_OK);
    threads.watched = true;
    threads.left = 2; /* the executor and the supervisor; not the tail */
    assert_int_equal(ff_engine_new(&options, &made, &error), FF_NO_MEMORY);
    threads.watched = false;
    assert_null(made);
    assert_int_equal(threads.made, 2);
    assert_true(threads.released);
    ff_store_free(options.store);
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
        TEST(jump_of_the_log_is_looked_after_at_once),
        TEST(late_answers_do_not_turn_back_the_time),
        TEST(a_thread_that_cannot_be_had_leaves_none_behind),
        TEST(what_waits_when_it_closes_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
