/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime.c -- the worker runtime of the library with a handler that does nothing: what a program
 * with slots for its work would use. */
#include "ours.h"

#include <time.h>

#include "base/banned.h"

static ff_verdict handle(struct ff_context *ctx, void *data)
{
    (void)data;
    return ff_context_done(ctx, NULL);
}

static void *runtime_main(void *arg)
{
    struct ours_runtime *const runtime = arg;
    struct ff_error error = {0};

    ours_check(ff_worker_run(runtime->worker, &error), &error, "work");
    return NULL;
}

void ours_runtime_start(struct ours_runtime *runtime, struct ours *ours, size_t slots)
{
    const struct ff_worker_options options = {
        .size = sizeof options, .threads = (int32_t)slots, .ahead = 2 * (int32_t)slots};
    struct ff_error error = {0};

    ours_check(ff_worker_new(ours->client, &options, &runtime->worker, &error), &error,
               "make a worker");
    ours_check(ff_worker_handle(runtime->worker, NULL, handle, NULL, &error), &error,
               "give a worker its handler");
    if (pthread_create(&runtime->thread, NULL, runtime_main, runtime) != 0)
        bench_die("cannot start a thread");
}

/* The runtime counts an execution when its completion has been answered. It has no call that waits
 * for a number, so this looks five times in a millisecond. */
void ours_runtime_await(struct ours_runtime *runtime, size_t done)
{
    const struct timespec nap = {.tv_nsec = 200000};
    struct ff_worker_stats stats;

    for (ff_worker_stats(runtime->worker, &stats); (size_t)stats.done < done;
         ff_worker_stats(runtime->worker, &stats))
        (void)nanosleep(&nap, NULL);
}

void ours_runtime_stop(struct ours_runtime *runtime)
{
    ff_worker_stop(runtime->worker);
    (void)pthread_join(runtime->thread, NULL);
    ff_worker_free(runtime->worker);
}
