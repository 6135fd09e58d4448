/* SPDX-License-Identifier: Apache-2.0
 *
 * flight.c -- many single calls under way from one thread, as a program with an event loop has
 * them: whoever has been answered submits the next one. */
#include "ours.h"

#include "base/banned.h"

/* `sent` counts what has been handed over; who finds nothing left to send has landed. */
struct flight {
    struct ours *ours;
    atomic_size_t sent, landed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void landed(ff_status status, const struct ff_submitted *items, size_t count,
                   const struct ff_error *error, void *ctx);

static void send_next(struct flight *flight)
{
    struct ours *const ours = flight->ours;
    const struct ff_submission item = ours_submission(ours->run);
    struct ff_error error = {0};

    if (atomic_fetch_add(&flight->sent, 1) < ours->run->count) {
        ours_check(ff_submit_async(ours->client, &item, 1, landed, flight, &error), &error,
                   "submit");
        return;
    }
    pthread_mutex_lock(&flight->lock);
    if (atomic_fetch_add(&flight->landed, 1) + 1 == ours->run->scenario->threads)
        pthread_cond_signal(&flight->changed);
    pthread_mutex_unlock(&flight->lock);
}

static void landed(ff_status status, const struct ff_submitted *items, size_t count,
                   const struct ff_error *error, void *ctx)
{
    (void)count;
    ours_check(status, error, "submit");
    ours_check(items[0].status, &items[0].error, "submit one");
    send_next(ctx);
}

static void fly(struct ours *ours)
{
    const size_t slots = ours->run->scenario->threads;
    struct flight flight = {
        .ours = ours, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

    for (size_t i = 0; i < slots; i++)
        send_next(&flight);
    pthread_mutex_lock(&flight.lock);
    while (atomic_load(&flight.landed) < slots)
        pthread_cond_wait(&flight.changed, &flight.lock);
    pthread_mutex_unlock(&flight.lock);
}

void bench_flight_submit(struct bench_run *run)
{
    struct ours ours;

    ours_open(&ours, run);
    bench_start(run);
    fly(&ours);
    bench_stop(run);
    ours_close(&ours);
}

void bench_flight_both(struct bench_run *run)
{
    struct ours_runtime runtime;
    struct ours ours;

    ours_open(&ours, run);
    ours_runtime_start(&runtime, &ours, run->scenario->threads);
    bench_start(run);
    fly(&ours);
    ours_runtime_await(&runtime, run->count);
    bench_stop(run);
    ours_runtime_stop(&runtime);
    ours_close(&ours);
}
