/* SPDX-License-Identifier: Apache-2.0
 *
 * ours.c -- the scenarios as a program that embeds the library would run them.
 *
 * The public header only, default options; the count of statements alone looks behind it. Every
 * run ends with the audit: a fast engine that leaves a broken store has not run at all. */
#include "bench.h"

#include <flowfabric.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
/* For the idle scenario only. */
#include "api/api-int.h"
#include "store/trace.h"

#define BULK         1000
#define TASKS_MAX    256
#define PARKED_MS    2000
#define IDLE_WARM_MS 1500
#define IDLE_SECONDS 5
#define LATENCY_WARM 10

struct ours {
    struct bench_run *run;
    struct ff_client *client;
    atomic_size_t done; /* executions completed */
};

static void check(ff_status status, const struct ff_error *error, const char *what)
{
    if (status != FF_OK)
        bench_die("cannot %s: %s (%s)", what, error->message, ff_status_code(status));
}

static void ours_open(struct ours *ours, struct bench_run *run)
{
    const struct ff_options options = {.size = sizeof options};
    struct ff_error error = {0};
    char url[1024];

    *ours = (struct ours){.run = run};
    check(ff_open(bench_url(run, url, sizeof url), &options, &ours->client, &error), &error,
          "open the store");
}

static void ours_close(struct ours *ours)
{
    struct ff_findings findings;
    struct ff_error error = {0};

    check(ff_fsck(ours->client, &findings, &error), &error, "audit the store");
    if (findings.count)
        bench_die("the store is not sound: %s: %s", findings.items[0].check,
                  findings.items[0].detail);
    ff_answer_free(&findings);
    if (ff_close(ours->client, 5000) != 0)
        bench_die("some loops did not end");
}

/* --- what callers do --- */

static struct ff_submission submission(void)
{
    static char payload[BENCH_PAYLOAD_BYTES];
    struct ff_submission item;

    if (!payload[0]) { /* the same bytes, whoever is first */
        memset(payload, 'x', sizeof payload);
        payload[0] = payload[sizeof payload - 1] = '"';
    }
    ff_submission_init(&item);
    item.kind = "bench";
    item.input = (struct ff_str){payload, sizeof payload};
    return item;
}

/* In calls of `per_call`. The caller's own memory is made once: it is not what is measured. */
static void submit(struct ours *ours, size_t count, size_t per_call)
{
    struct ff_submission *const items = bench_alloc(per_call, sizeof *items);
    struct ff_submitted *const answers = bench_alloc(per_call, sizeof *answers);
    struct ff_error error = {0};

    for (size_t i = 0; i < per_call; i++)
        items[i] = submission();
    for (size_t sent = 0; sent < count; sent += per_call) {
        const size_t part = count - sent < per_call ? count - sent : per_call;

        check(ff_submit(ours->client, items, part, answers, &error), &error, "submit");
        for (size_t i = 0; i < part; i++)
            check(answers[i].status, &answers[i].error, "submit one of many");
    }
    free(items);
    free(answers);
}

/* Claims up to `max` and completes them; returns how many there were. */
static size_t work(struct ours *ours, size_t max, int64_t wait_ms, size_t index)
{
    static _Thread_local struct ff_completion items[TASKS_MAX];
    static _Thread_local struct ff_task_result answers[TASKS_MAX];
    struct ff_error error = {0};
    struct ff_tasks tasks;
    char instance[32];
    size_t count;
    const struct ff_claim_request request = {.size = sizeof request,
                                             .worker_id = "bench",
                                             .worker_instance_id = instance,
                                             .max = (int32_t)max,
                                             .wait_ms = wait_ms};

    (void)snprintf(instance, sizeof instance, "bench-%zu", index);
    check(ff_claim(ours->client, &request, &tasks, &error), &error, "claim");
    count = tasks.count;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct ff_completion){.lease = ff_task_lease(&tasks.items[i])};
    if (count) {
        check(ff_complete(ours->client, items, count, answers, &error), &error, "complete");
        for (size_t i = 0; i < count; i++)
            check(answers[i].status, &answers[i].error, "complete one of many");
    }
    ff_answer_free(&tasks);
    return count;
}

/* --- bulk submit --- */

void bench_ours_bulk(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    bench_start(run);
    submit(&ours, run->count, run->scenario->batch);
    bench_stop(run);
    ours_close(&ours);
}

/* --- drain: all that is there, in batches --- */

static void drain_thread(void *ctx, size_t index)
{
    struct ours *const ours = ctx;

    while (atomic_load(&ours->done) < ours->run->count) {
        const size_t count = work(ours, ours->run->scenario->batch, 0, index);

        atomic_fetch_add(&ours->done, count);
        if (count == 0)
            (void)sched_yield(); /* the last ones are with somebody else */
    }
}

void bench_ours_drain(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    submit(&ours, run->count, BULK);
    bench_threads(run, run->scenario->threads, drain_thread, &ours);
    ours_close(&ours);
}

/* --- single submits --- */

static void submit_thread(void *ctx, size_t index)
{
    struct ours *const ours = ctx;
    size_t from;
    const size_t count = bench_share(ours->run->count, ours->run->scenario->threads, index, &from);

    submit(ours, count, 1);
}

void bench_ours_submit(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    bench_threads(run, run->scenario->threads, submit_thread, &ours);
    ours_close(&ours);
}

/* --- single claims and completions --- */

void bench_ours_work(struct bench_run *run)
{
    bench_ours_drain(run); /* with batch = 1 */
}

/* --- end to end: half of the threads submit one at a time, the others are a worker's slots --- */

/* The last completion ends the run. Slots that still wait for work then get some, so that they look
 * up and leave. */
static void slot_loop(struct ours *ours, size_t index)
{
    const size_t goal = ours->run->count;

    while (atomic_load(&ours->done) < goal) {
        const size_t count = work(ours, 1, PARKED_MS, index);
        const size_t before = atomic_fetch_add(&ours->done, count);

        if (before < goal && before + count >= goal) {
            bench_stop(ours->run);
            submit(ours, ours->run->scenario->threads, 1);
        }
    }
}

static void both_thread(void *ctx, size_t index)
{
    struct ours *const ours = ctx;
    const size_t submitters = ours->run->scenario->threads;

    if (index < submitters)
        submit_thread(ctx, index);
    else
        slot_loop(ours, index);
}

void bench_ours_both(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    bench_threads(run, run->scenario->threads * 2, both_thread, &ours);
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
        const size_t count = work(&latency->ours, 1, PARKED_MS, 0);

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

    submit(&latency->ours, 1, 1);
    pthread_mutex_lock(&latency->lock);
    while (latency->done < nth)
        pthread_cond_wait(&latency->changed, &latency->lock);
    pthread_mutex_unlock(&latency->lock);
    return (bench_now_s() - from_s) * 1000;
}

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
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
        sleep_ms(2); /* the claim is parked again: this is about an idle engine */
        ms[i] = latency_of_one(&latency, LATENCY_WARM + i + 1);
    }
    bench_stop(run);
    bench_percentiles(run, ms, run->count);
    free(ms);
    pthread_mutex_lock(&latency.lock);
    latency.over = true;
    pthread_mutex_unlock(&latency.lock);
    submit(&latency.ours, 1, 1); /* so that the worker looks up */
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
    check(ff_store_open(&store_options, &store, &error), &error, "open the store");
    *ret_trace = ff_store_trace_new(store, &trace);
    ff_engine_options_default(&options);
    options.store = *ret_trace;
    if (!options.store)
        bench_die("out of memory");
    check(ff_engine_new(&options, &engine, &error), &error, "start the engine");
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
    submit(&ours, 1, 1); /* a store in use, a worker known, then silence */
    if (work(&ours, 1, 0, 0) != 1)
        bench_die("the first execution is not there");
    sleep_ms(IDLE_WARM_MS);
    before = statements(run, trace);
    bench_start(run);
    sleep_ms(IDLE_SECONDS * 1000);
    bench_stop(run);
    run->figures.statements_per_s = (statements(run, trace) - before) / IDLE_SECONDS;
    ours_close(&ours);
}
