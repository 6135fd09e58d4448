/* SPDX-License-Identifier: Apache-2.0
 *
 * events.c -- what following the log costs, and how soon an event is there.
 *
 * Public header only. A delivery is measured from before the call that writes the event until a
 * subscriber has it, so the commit is in it. */
#include "ours.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"

#define CROWD         100
#define SLOW_EVERY    5
#define SLOW_MS       1000
#define DELIVERY_WARM 10
#define LOADERS       4
#define LOAD          100              /* executions per call */
#define PROBES        "bench-delivery" /* a namespace */

/* --- drain while a hundred follow, every fifth slowly --- */

struct seat {
    struct ff_subscription *subscription;
    pthread_t thread;
    bool slow;
    atomic_bool *over;
    size_t seen;
};

static void *read_slowly_or_not(void *arg)
{
    struct seat *const seat = arg;
    struct ff_error error = {0};

    while (!atomic_load(seat->over)) {
        struct ff_delivery delivery = {0};

        ours_check(
            ff_subscription_next(seat->subscription, seat->slow ? 1 : 0, 100, &delivery, &error),
            &error, "follow");
        seat->seen += delivery.count;
        ff_answer_free(&delivery);
        for (int ms = 0; seat->slow && !atomic_load(seat->over) && ms < SLOW_MS; ms += 50)
            ours_sleep_ms(50);
    }
    return NULL;
}

void bench_events_crowd(struct bench_run *run)
{
    struct seat *const seats = bench_alloc(CROWD, sizeof *seats);
    struct ff_error error = {0};
    atomic_bool over = false;
    struct ours ours;
    size_t least = SIZE_MAX;

    ours_open(&ours, run);
    for (size_t i = 0; i < CROWD; i++) {
        seats[i].slow = i % SLOW_EVERY == 0;
        seats[i].over = &over;
        ours_check(ff_subscribe(ours.client, NULL, NULL, &seats[i].subscription, &error), &error,
                   "subscribe");
        if (pthread_create(&seats[i].thread, NULL, read_slowly_or_not, &seats[i]) != 0)
            bench_die("cannot start a thread");
    }
    ours_drain(&ours);
    ours_sleep_ms(SLOW_MS); /* the quick ones get the rest */
    atomic_store(&over, true);
    for (size_t i = 0; i < CROWD; i++) {
        (void)pthread_join(seats[i].thread, NULL);
        ff_unsubscribe(seats[i].subscription);
        if (!seats[i].slow && seats[i].seen < least)
            least = seats[i].seen;
    }
    if (least == 0)
        bench_die("a subscriber saw nothing");
    free(seats);
    ours_close(&ours);
}

/* --- how soon --- */

struct delivery {
    struct ours ours;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t come;
    double at_s; /* when the last one came */
    atomic_bool over;
};

static bool has_come(const struct ff_delivery *delivery, void *ctx)
{
    struct delivery *const d = ctx;

    pthread_mutex_lock(&d->lock);
    d->come += delivery->count;
    d->at_s = bench_now_s();
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return true;
}

/* The completion of one execution, from before the call that ends it. */
static double delivery_of_one(struct delivery *d, const char *execution_id, size_t nth)
{
    const double from_s = bench_now_s();
    const char *state;
    struct ff_error error = {0};
    double ms;

    ours_check(ff_cancel(d->ours.client, execution_id, "bench", &state, &error), &error, "cancel");
    pthread_mutex_lock(&d->lock);
    while (d->come < nth)
        pthread_cond_wait(&d->changed, &d->lock);
    ms = (d->at_s - from_s) * 1000;
    pthread_mutex_unlock(&d->lock);
    return ms;
}

static void measure(struct delivery *d, struct bench_run *run)
{
    const size_t count = run->count + DELIVERY_WARM;
    struct ff_submission *const items = bench_alloc(count, sizeof *items);
    struct ff_submitted *const made = bench_alloc(count, sizeof *made);
    double *const ms = bench_alloc(count, sizeof *ms);
    struct ff_error error = {0};

    for (size_t i = 0; i < count; i++) {
        items[i] = ours_submission(run);
        items[i].ns = PROBES;
        items[i].lane = PROBES;
    }
    ours_check(ff_submit(d->ours.client, items, count, made, &error), &error, "submit");
    for (size_t i = 0; i < count; i++) {
        if (i == DELIVERY_WARM)
            bench_start(run);
        ours_sleep_ms(2);
        ms[i] = delivery_of_one(d, made[i].execution_id, i + 1);
    }
    bench_stop(run);
    bench_percentiles(run, ms + DELIVERY_WARM, run->count);
    free(items);
    free(made);
    free(ms);
}

static void *load(void *arg)
{
    struct delivery *const d = arg;

    while (!atomic_load(&d->over)) {
        ours_submit(&d->ours, LOAD, LOAD);
        (void)ours_work(&d->ours, &(struct ours_worker){.max = LOAD});
    }
    return NULL;
}

static void deliver(struct bench_run *run, size_t loaders)
{
    static const char *const kinds[] = {"completion"};
    struct delivery d = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct ff_subscription *subscription;
    struct ff_error error = {0};
    struct ff_event_filter filter;
    pthread_t threads[LOADERS];

    ff_event_filter_init(&filter);
    filter.ns = PROBES;
    filter.kinds = kinds;
    filter.kind_count = 1;
    ours_open(&d.ours, run);
    ours_check(
        ff_subscribe_callback(d.ours.client, &filter, NULL, has_come, &d, &subscription, &error),
        &error, "subscribe");
    for (size_t i = 0; i < loaders; i++)
        if (pthread_create(&threads[i], NULL, load, &d) != 0)
            bench_die("cannot start a thread");
    measure(&d, run);
    atomic_store(&d.over, true);
    for (size_t i = 0; i < loaders; i++)
        (void)pthread_join(threads[i], NULL);
    ff_unsubscribe(subscription);
    ours_close(&d.ours);
}

void bench_events_idle(struct bench_run *run)
{
    deliver(run, 0);
}

void bench_events_busy(struct bench_run *run)
{
    deliver(run, LOADERS);
}
