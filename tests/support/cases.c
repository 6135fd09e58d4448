/* SPDX-License-Identifier: Apache-2.0
 *
 * cases.c -- a ring whose cases name their store themselves and run one after the other. */
#include "support/cases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/domain.h"

#include "base/banned.h"

#define HANG_MS 600000 /* the longest takes a minute alone, and machines are slow */

static const struct plain_ring *ring;
static char running[256];
static atomic_llong since_ms;
static size_t passed, failed;

bool is_full_run(void)
{
    const char *const full = getenv("FF_TEST_FULL");

    return full && strcmp(full, "1") == 0;
}

/* Cases wait with deadlines of their own; this is for those that do not come back at all. */
static void *watch(void *arg)
{
    (void)arg;
    for (;;) {
        const struct timespec pause = {.tv_sec = 1};
        const long long began_ms = atomic_load(&since_ms);

        (void)nanosleep(&pause, NULL);
        if (began_ms && test_mono_ms() - began_ms > HANG_MS * (is_full_run() ? 10 : 1)) {
            (void)printf("FAILED %s: hangs\n", running);
            (void)fflush(stdout);
            _exit(1);
        }
    }
    return NULL;
}

static void body(struct test *t, void *ctx)
{
    const struct plain_case *const one = ctx;

    one->run(t);
    if (t->client)
        expect_sound(t, t->client);
}

static void run_on_store(struct test *t, const struct plain_case *one)
{
    struct test_store store;
    union {
        const struct plain_case *in;
        void *out;
    } const ctx = {.in = one};

    if (!test_store_new(one->kind, &store, t->why, sizeof t->why))
        return;
    t->store = &store;
    t->url = store.url;
    (void)test_guard(t, body, ctx.out);
    if (ring->after)
        ring->after(t);
    test_done(t);
    if (ring->at_last)
        ring->at_last(t);
    test_store_done(&store, !t->why[0]);
}

static void run_case(const struct plain_case *one)
{
    struct test *const t = calloc(1, sizeof *t);
    const int64_t began_ms = test_mono_ms();

    if (!t)
        abort();
    (void)snprintf(running, sizeof running, "%s", one->name);
    atomic_store(&since_ms, began_ms);
    if (ring->before)
        ring->before();
    run_on_store(t, one);
    atomic_store(&since_ms, 0);
    if (t->why[0]) {
        (void)printf("FAILED %s: %s\n", one->name, t->why);
        failed++;
    } else {
        (void)printf("ok %s\n# %lld ms\n", one->name, (long long)(test_mono_ms() - began_ms));
        passed++;
    }
    (void)fflush(stdout);
    free(t);
}

static bool is_wanted(const char *name, const char *const *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, wanted[i]))
            return true;
    return count == 0;
}

int run_cases(const struct plain_ring *which, const char *const *wanted, size_t wanted_count)
{
    pthread_t watcher;

    ring = which;
    if (pthread_create(&watcher, NULL, watch, NULL) != 0)
        abort();
    for (size_t i = 0; i < ring->table_count; i++)
        for (const struct plain_case *one = ring->tables[i]; one->name; one++)
            if ((!one->full || is_full_run()) && is_wanted(one->name, wanted, wanted_count))
                run_case(one);
    test_stores_done();
    (void)printf("ring %s: %zu passed, %zu failed\n", ring->name, passed, failed);
    return failed || !passed ? 1 : 0;
}
