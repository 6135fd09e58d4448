/* SPDX-License-Identifier: Apache-2.0
 *
 * ours.c -- the scenarios as a program that embeds the library would run them.
 *
 * The public header only, with the options bench/README.md names; the count of statements alone
 * looks behind it. Every run ends with the audit: a fast engine that leaves a broken store has not
 * run at all. */
#include "ours.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
/* For the idle scenario only. */
#include "api/api-int.h"
#include "store/trace.h"

#define AUDIT_MS 1800000 /* each check, of ten million executions */
#define LEAVE_MS 60000

#define TASKS_MAX    256
#define IDLE_WARM_MS 1500
#define IDLE_SECONDS 5
#define LATENCY_WARM 10

void ours_check(ff_status status, const struct ff_error *error, const char *what)
{
    if (status != FF_OK)
        bench_die("cannot %s: %s (%s)", what, error->message, ff_status_code(status));
}

void ours_open_url(struct ours *ours, struct bench_run *run, const char *url)
{
    /* The payload is made here: reading it would be the caller's work, not the engine's. */
    const struct ff_options options = {.size = sizeof options, .trusts_json = true};
    struct ff_error error = {0};

    *ours = (struct ours){.run = run};
    ours_check(ff_open(url, &options, &ours->client, &error), &error, "open the store");
}

void ours_open(struct ours *ours, struct bench_run *run)
{
    char url[1024];

    ours_open_url(ours, run, bench_url(run, url, sizeof url));
}

/* A loop that looks at a large store may take longer than a few seconds. */
void ours_leave(struct ours *ours)
{
    if (ff_close(ours->client, LEAVE_MS) != 0)
        bench_die("some loops did not end");
}

/* By a client of its own, which has time for it. */
static void audit(const struct bench_run *run)
{
    const struct ff_options options = {
        .size = sizeof options, .passive = true, .timeout_ms = AUDIT_MS};
    char url[1024];
    struct ff_client *client = NULL;
    struct ff_findings findings;
    struct ff_error error = {0};

    ours_check(ff_open(bench_url(run, url, sizeof url), &options, &client, &error), &error,
               "open the store again");
    ours_check(ff_fsck(client, &findings, &error), &error, "audit the store");
    if (findings.count)
        bench_die("the store is not sound: %s: %s", findings.items[0].check,
                  findings.items[0].detail);
    ff_answer_free(&findings);
    (void)ff_close(client, 5000);
}

void ours_close(struct ours *ours)
{
    ours_leave(ours);
    audit(ours->run);
}

/* --- what callers do --- */

struct ff_submission ours_submission(const struct bench_run *run)
{
    struct ff_submission item;

    ff_submission_init(&item);
    item.kind = "bench";
    item.input = (struct ff_str){run->payload, run->payload_bytes};
    return item;
}

/* The caller's own memory is made once: it is not what is measured. */
void ours_submit(struct ours *ours, size_t count, size_t per_call)
{
    struct ff_submission *const items = bench_alloc(per_call, sizeof *items);
    struct ff_submitted *const answers = bench_alloc(per_call, sizeof *answers);
    struct ff_error error = {0};

    for (size_t i = 0; i < per_call; i++)
        items[i] = ours_submission(ours->run);
    for (size_t sent = 0; sent < count; sent += per_call) {
        const size_t part = count - sent < per_call ? count - sent : per_call;

        ours_check(ff_submit(ours->client, items, part, answers, &error), &error, "submit");
        atomic_fetch_add(&ours->calls, 1);
        for (size_t i = 0; i < part; i++)
            ours_check(answers[i].status, &answers[i].error, "submit one of many");
    }
    free(items);
    free(answers);
}

size_t ours_claim(struct ours *ours, const struct ours_worker *worker, struct ff_tasks *ret_tasks)
{
    struct ff_error error = {0};
    char instance[32];
    const struct ff_claim_request request = {.size = sizeof request,
                                             .worker_id = "bench",
                                             .worker_instance_id = instance,
                                             .capabilities = &worker->capability,
                                             .capability_count = worker->capability ? 1 : 0,
                                             .max = (int32_t)worker->max,
                                             .wait_ms = worker->wait_ms};

    (void)snprintf(instance, sizeof instance, "bench-%zu", worker->index);
    ours_check(ff_claim(ours->client, &request, ret_tasks, &error), &error, "claim");
    atomic_fetch_add(&ours->calls, 1);
    return ret_tasks->count;
}

void ours_complete(struct ours *ours, struct ff_tasks *tasks)
{
    static _Thread_local struct ff_completion items[TASKS_MAX];
    static _Thread_local struct ff_task_result answers[TASKS_MAX];
    struct ff_error error = {0};

    for (size_t i = 0; i < tasks->count; i++)
        items[i] = (struct ff_completion){.lease = ff_task_lease(&tasks->items[i])};
    if (tasks->count)
        ours_check(ff_complete(ours->client, items, tasks->count, answers, &error), &error,
                   "complete");
    atomic_fetch_add(&ours->calls, tasks->count > 0);
    for (size_t i = 0; i < tasks->count; i++)
        ours_check(answers[i].status, &answers[i].error, "complete one of many");
    ff_answer_free(tasks);
}

size_t ours_work(struct ours *ours, const struct ours_worker *worker)
{
    struct ff_tasks tasks;
    const size_t count = ours_claim(ours, worker, &tasks);

    ours_complete(ours, &tasks);
    return count;
}

void ours_sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
}

/* --- bulk submit --- */

void bench_ours_bulk(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    bench_start(run);
    ours_submit(&ours, run->count, run->scenario->batch);
    bench_stop(run);
    ours_close(&ours);
}

/* --- drain: all that is there, in batches --- */

static void drain_thread(void *ctx, size_t index)
{
    struct ours *const ours = ctx;

    while (atomic_load(&ours->done) < ours->run->count) {
        const size_t count = ours_work(
            ours, &(struct ours_worker){.index = index, .max = ours->run->scenario->batch});

        atomic_fetch_add(&ours->done, count);
        if (count == 0)
            (void)sched_yield(); /* the last ones are with somebody else */
    }
}

void ours_drain(struct ours *ours)
{
    ours_submit(ours, ours->run->count, BULK);
    bench_threads(ours->run, ours->run->scenario->threads, drain_thread, ours);
}

void bench_ours_drain(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    ours_drain(&ours);
    ours_close(&ours);
}

/* --- drain by workers that can do different things --- */

#define ROUTES 10

static const char *const routes[ROUTES] = {"cap-0", "cap-1", "cap-2", "cap-3", "cap-4",
                                           "cap-5", "cap-6", "cap-7", "cap-8", "cap-9"};

static void routed_thread(void *ctx, size_t index)
{
    struct ours *const ours = ctx;
    const struct ours_worker worker = {
        .index = index, .max = ours->run->scenario->batch, .capability = routes[index % ROUTES]};

    while (ours_work(ours, &worker))
        continue;
}

void bench_ours_routed(struct bench_run *run)
{
    struct ff_submission *const items = bench_alloc(BULK, sizeof *items);
    struct ff_submitted *const answers = bench_alloc(BULK, sizeof *answers);
    struct ff_error error = {0};
    struct ours ours;

    ours_open(&ours, run);
    for (size_t i = 0; i < BULK; i++) {
        items[i] = ours_submission(run);
        items[i].required_capabilities = &routes[i % ROUTES];
        items[i].required_capability_count = 1;
    }
    for (size_t sent = 0; sent < run->count; sent += BULK)
        ours_check(ff_submit(ours.client, items, BULK, answers, &error), &error, "submit");
    free(items);
    free(answers);
    bench_threads(run, run->scenario->threads, routed_thread, &ours);
    ours_close(&ours);
}

/* --- drain while somebody follows the log --- */

static bool followed(const struct ff_delivery *delivery, void *ctx)
{
    atomic_size_t *const seen = ctx;

    atomic_fetch_add(seen, delivery->count);
    return true;
}

void bench_ours_followed(struct bench_run *run)
{
    atomic_size_t seen = 0;
    struct ff_subscription *subscription;
    struct ff_error error = {0};
    struct ours ours;

    ours_open(&ours, run);
    ours_submit(&ours, run->count, BULK);
    ours_check(
        ff_subscribe_callback(ours.client, NULL, NULL, followed, &seen, &subscription, &error),
        &error, "subscribe");
    bench_threads(run, run->scenario->threads, drain_thread, &ours);
    for (int i = 0; atomic_load(&seen) < run->count * 2 && i < 1000; i++)
        ours_sleep_ms(10);
    if (atomic_load(&seen) < run->count * 2) /* a lease and a completion each */
        bench_die("the subscriber saw only %zu events", atomic_load(&seen));
    ff_unsubscribe(subscription);
    ours_close(&ours);
}

/* --- starting up: from nothing to a client of a store that is in use --- */

void ours_starts(struct bench_run *run, double (*start_s)(struct bench_run *run))
{
    double *const ms = bench_alloc(run->count, sizeof *ms);
    struct ours ours;

    ours_open(&ours, run); /* makes the tables */
    ours_submit(&ours, BULK, BULK);
    ours_close(&ours);
    bench_start(run);
    for (size_t i = 0; i < run->count; i++)
        ms[i] = start_s(run) * 1000;
    bench_stop(run);
    bench_percentiles(run, ms, run->count);
    free(ms);
}

static double start_client(struct bench_run *run)
{
    const double from_s = bench_now_s();
    struct ours ours;
    double took_s;

    ours_open(&ours, run);
    took_s = bench_now_s() - from_s;
    if (ff_close(ours.client, 5000) != 0)
        bench_die("some loops did not end");
    return took_s;
}

void bench_ours_start(struct bench_run *run)
{
    ours_starts(run, start_client);
}

/* --- single submits --- */

static void submit_thread(void *ctx, size_t index)
{
    struct ours *const ours = ctx;
    size_t from;
    const size_t count = bench_share(ours->run->count, ours->run->scenario->threads, index, &from);

    ours_submit(ours, count, 1);
}

void ours_single(struct ours *ours)
{
    bench_threads(ours->run, ours->run->scenario->threads, submit_thread, ours);
}

void bench_ours_submit(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    ours_single(&ours);
    ours_close(&ours);
}

/* --- single claims and completions --- */

void bench_ours_work(struct bench_run *run)
{
    bench_ours_drain(run); /* with batch = 1 */
}

/* --- end to end: threads that submit one at a time, and a worker with as many slots --- */

struct both {
    struct ours *ours;
    struct ours_runtime runtime;
};

/* The last completion ends the run. */
static void both_thread(void *ctx, size_t index)
{
    struct both *const both = ctx;

    if (index < both->ours->run->scenario->threads) {
        submit_thread(both->ours, index);
    } else {
        ours_runtime_await(&both->runtime, both->ours->run->count);
        bench_stop(both->ours->run);
    }
}

void ours_both(struct ours *ours)
{
    const size_t threads = ours->run->scenario->threads;
    struct both both = {.ours = ours};

    ours_runtime_start(&both.runtime, ours, threads);
    bench_threads(ours->run, threads + 1, both_thread, &both);
    ours_runtime_stop(&both.runtime);
}

void bench_ours_both(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    ours_both(&ours);
    ours_close(&ours);
}

/* --- idle latency: one execution at a time, found by a parked claim --- */

struct latency {
    struct ours ours;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t done;
    bool over;
};

static void *latency_worker(void *arg)
{
    struct latency *const latency = arg;
    bool over = false;

    while (!over) {
        const size_t count =
            ours_work(&latency->ours, &(struct ours_worker){.max = 1, .wait_ms = PARKED_MS});

        pthread_mutex_lock(&latency->lock);
        latency->done += count;
        over = latency->over;
        pthread_cond_signal(&latency->changed);
        pthread_mutex_unlock(&latency->lock);
    }
    return NULL;
}

static double latency_of_one(struct latency *latency, size_t nth)
{
    const double from_s = bench_now_s();

    ours_submit(&latency->ours, 1, 1);
    pthread_mutex_lock(&latency->lock);
    while (latency->done < nth)
        pthread_cond_wait(&latency->changed, &latency->lock);
    pthread_mutex_unlock(&latency->lock);
    return (bench_now_s() - from_s) * 1000;
}

void bench_ours_latency(struct bench_run *run)
{
    struct latency latency = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    double *const ms = bench_alloc(run->count, sizeof *ms);
    pthread_t worker;

    ours_open(&latency.ours, run);
    if (pthread_create(&worker, NULL, latency_worker, &latency) != 0)
        bench_die("cannot start a thread");
    for (size_t i = 0; i < LATENCY_WARM; i++)
        (void)latency_of_one(&latency, i + 1);
    bench_start(run);
    for (size_t i = 0; i < run->count; i++) {
        ours_sleep_ms(2); /* the claim is parked again: this is about an idle engine */
        ms[i] = latency_of_one(&latency, LATENCY_WARM + i + 1);
    }
    bench_stop(run);
    bench_percentiles(run, ms, run->count);
    free(ms);
    pthread_mutex_lock(&latency.lock);
    latency.over = true;
    pthread_mutex_unlock(&latency.lock);
    ours_submit(&latency.ours, 1, 1); /* so that the worker looks up */
    (void)pthread_join(worker, NULL);
    ours_close(&latency.ours);
}

/* --- doing nothing --- */

static struct ff_client *traced_client(const struct bench_run *run, struct ff_store **ret_trace)
{
    struct ff_store_options store_options = {
        .create = true, .clock = ff_clock_system(), .random = ff_random_system()};
    const struct ff_trace trace = {0};
    struct ff_engine_options options;
    struct ff_engine *engine;
    struct ff_store *store;
    struct ff_client *client;
    struct ff_error error = {0};
    char url[1024];

    store_options.url = bench_url(run, url, sizeof url);
    ours_check(ff_store_open(&store_options, &store, &error), &error, "open the store");
    *ret_trace = ff_store_trace_new(store, &trace);
    ff_engine_options_default(&options);
    options.store = *ret_trace;
    if (!options.store)
        bench_die("out of memory");
    ours_check(ff_engine_new(&options, &engine, &error), &error, "start the engine");
    client = ff_client_of_engine(engine, 30000);
    if (!client)
        bench_die("out of memory");
    return client;
}

/* On Postgres the server counts, on SQLite our trace. */
static double statements(const struct bench_run *run, const struct ff_store *trace)
{
    struct ff_trace_counts counts;

    if (run->store == BENCH_POSTGRES)
        return bench_statements_end(run);
    ff_store_trace_counts(trace, &counts);
    return (double)counts.statements;
}

void bench_ours_idle(struct bench_run *run)
{
    struct ours ours = {.run = run};
    struct ff_store *trace;
    double before;

    if (run->store == BENCH_POSTGRES)
        bench_statements_begin(run);
    ours.client = traced_client(run, &trace);
    ours_submit(&ours, 1, 1); /* a store in use, a worker known, then silence */
    if (ours_work(&ours, &(struct ours_worker){.max = 1}) != 1)
        bench_die("the first execution is not there");
    ours_sleep_ms(IDLE_WARM_MS);
    before = statements(run, trace);
    bench_start(run);
    ours_sleep_ms(IDLE_SECONDS * 1000);
    bench_stop(run);
    run->figures.statements_per_s = (statements(run, trace) - before) / IDLE_SECONDS;
    run->figures.memory_mb = bench_memory_mb(run);
    ours_close(&ours);
}
