/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- runs the cases of this ring, one after the other.
 *
 * Arguments are parts of names: only cases whose name contains one of them run. A case that hangs
 * ends the program with a FAILED line. Read first: README.md beside it. */
#include "faults.h"
#include "kit/badvfs.h"
#include "kit/pgproxy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define HANG_MS 240000

static const struct fault_case *const tables[] = {sweep_cases, storm_cases, alloc_cases,
                                                  lock_cases,  cut_cases,   sqlite_cases,
                                                  kill_cases,  outage_cases};

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
    const struct fault_case *const one = ctx;

    one->run(t);
    if (t->client)
        expect_sound(t, t->client);
}

static void run_case(const struct fault_case *one)
{
    struct test *const t = calloc(1, sizeof *t);
    const int64_t began_ms = test_mono_ms();
    struct test_store store;
    union {
        const struct fault_case *in;
        void *out;
    } const ctx = {.in = one};

    if (!t)
        abort();
    (void)snprintf(running, sizeof running, "%s", one->name);
    atomic_store(&since_ms, began_ms);
    log_catch();
    if (test_store_new(one->kind, &store, t->why, sizeof t->why)) {
        t->store = &store;
        t->url = store.url;
        (void)test_guard(t, body, ctx.out);
        others_done();
        badvfs_full(false);
        badvfs_fail_sync(0);
        test_done(t);
        proxy_stop();
        test_store_done(&store, !t->why[0]);
    }
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

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(name, argv[i]))
            return true;
    return argc <= 1;
}

int main(int argc, char **argv)
{
    pthread_t watcher;

    if (argc == 5 && !strcmp(argv[1], "--child"))
        return child_main(argv[2], argv[3], (int)strtol(argv[4], NULL, 10));
    if (pthread_create(&watcher, NULL, watch, NULL) != 0)
        abort();
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const struct fault_case *one = tables[i]; one->name; one++)
            if ((!one->full || is_full_run()) && is_wanted(one->name, argc, argv))
                run_case(one);
    test_stores_done();
    (void)printf("ring faults: %zu passed, %zu failed\n", passed, failed);
    return failed || !passed ? 1 : 0;
}
