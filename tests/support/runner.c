/* SPDX-License-Identifier: Apache-2.0
 *
 * runner.c -- runs every registered case on every store, several at a time.
 *
 * Cases wait for leases and timers more than they work, so a pool of threads runs them; each has a
 * store of its own. A crash names the cases that were running; a case that hangs ends the run.
 * Read first: tests/support/README.md. */
#include "support/runner.h"
#include "support/domain.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

#define JOBS_DEFAULT 12
#define JOBS_MAX     64
#define HANG_MS      600000 /* a slow machine is no reason */
#define LABEL_BYTES  256

/* One case on one store. */
struct run {
    const struct test_case *test_case;
    test_store_kind kind;
    bool failed;
    bool is_local; /* could not run here, for a reason that was told */
    int64_t spent_ms;
};

static struct test_case *cases;

static struct {
    const char *only;
    bool kinds[TEST_STORE_KINDS];
    bool list, times;
    long jobs;
} options;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved;
static struct run *runs;
static size_t run_count, next_run, ended;
/* What each thread is doing; also read after a crash, so plain text and never freed. */
static char running[JOBS_MAX][LABEL_BYTES];
static int64_t since_ms[JOBS_MAX];

void test_register(struct test_case *test_case)
{
    test_case->next = cases;
    cases = test_case;
}

/* ---- the list ---- */

static void label_of(const struct run *run, char out[LABEL_BYTES])
{
    (void)snprintf(out, LABEL_BYTES, "%s/%s/%s", test_store_name(run->kind), run->test_case->area,
                   run->test_case->name);
}

/* Slow ones first, then by name, the stores of a case side by side. */
static int by_order(const void *left, const void *right)
{
    const struct run *const a = left;
    const struct run *const b = right;
    int order = b->test_case->slow - a->test_case->slow;

    if (!order)
        order = strcmp(a->test_case->area, b->test_case->area);
    if (!order)
        order = strcmp(a->test_case->name, b->test_case->name);
    return order ? order : (int)a->kind - (int)b->kind;
}

static void make_list(void)
{
    size_t count = 0;

    for (const struct test_case *c = cases; c; c = c->next)
        count += TEST_STORE_KINDS;
    runs = calloc(count + 1, sizeof *runs);
    if (!runs)
        abort();
    for (const struct test_case *c = cases; c; c = c->next) {
        for (int kind = 0; kind < TEST_STORE_KINDS; kind++) {
            struct run *const run = &runs[run_count];
            char label[LABEL_BYTES];

            *run = (struct run){.test_case = c, .kind = (test_store_kind)kind};
            label_of(run, label);
            if (options.kinds[kind] && (!options.only || strstr(label, options.only)))
                run_count++;
        }
    }
    qsort(runs, run_count, sizeof *runs, by_order);
}

/* ---- one case ---- */

static void run_body(struct test *t, void *ctx)
{
    const struct test_case *const test_case = ctx;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    test_case->run(t);
    if (t->client)
        expect_sound(t, t->store->served ? t->store->served : t->client);
}

static void run_case(struct run *run)
{
    const int64_t began_ms = test_mono_ms();
    struct test_store store;
    struct test *const t = calloc(1, sizeof *t);
    union {
        const struct test_case *in;
        void *out;
    } const ctx = {.in = run->test_case};
    char label[LABEL_BYTES];

    if (!t)
        abort();
    label_of(run, label);
    if (test_store_new(run->kind, &store, t->why, sizeof t->why)) {
        t->store = &store;
        t->url = store.url;
        (void)test_guard(t, run_body, ctx.out);
        test_done(t);
        test_store_done(&store, !t->why[0]);
    }
    run->failed = t->why[0] != '\0';
    run->spent_ms = test_mono_ms() - began_ms;
    pthread_mutex_lock(&lock);
    run->is_local = !run->failed && t->needs;
    if (run->failed)
        (void)printf("FAILED %s: %s\n", label, t->why);
    else if (run->is_local)
        (void)printf("# %s needs %s\n", label, t->needs);
    else if (options.times)
        (void)printf("ok %s (%lld ms)\n", label, (long long)run->spent_ms);
    else
        (void)printf("ok %s\n", label);
    (void)fflush(stdout);
    pthread_mutex_unlock(&lock);
    free(t);
}

static void *work(void *arg)
{
    const size_t me = (size_t)(uintptr_t)arg;

    pthread_mutex_lock(&lock);
    while (next_run < run_count) {
        struct run *const run = &runs[next_run++];

        label_of(run, running[me]);
        since_ms[me] = test_mono_ms();
        pthread_mutex_unlock(&lock);
        run_case(run);
        pthread_mutex_lock(&lock);
        running[me][0] = '\0';
        ended++;
        pthread_cond_signal(&moved);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- what must not go unseen ---- */

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(3);
}

static void on_abort(int number)
{
    (void)number;
    for (size_t i = 0; i < JOBS_MAX; i++) {
        if (running[i][0]) {
            say("FAILED ");
            say(running[i]);
            say(": was running when the program crashed\n");
        }
    }
    (void)signal(SIGABRT, SIG_DFL);
    (void)raise(SIGABRT);
}

/* Called with the lock. */
static void look_for_hangs(void)
{
    bool hangs = false;

    for (size_t i = 0; i < JOBS_MAX; i++) {
        if (running[i][0] && test_mono_ms() - since_ms[i] > HANG_MS) {
            (void)printf("FAILED %s: did not end within %d s\n", running[i], HANG_MS / 1000);
            hangs = true;
        }
    }
    if (hangs) {
        (void)fflush(stdout);
        _exit(1);
    }
}

static void wait_for_all(void)
{
    struct timespec until;

    pthread_mutex_lock(&lock);
    while (ended < run_count) {
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += 5;
        if (pthread_cond_timedwait(&moved, &lock, &until) == ETIMEDOUT)
            look_for_hangs();
    }
    pthread_mutex_unlock(&lock);
}

static void run_all(void)
{
    pthread_t threads[JOBS_MAX];
    pthread_condattr_t attr;

    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&moved, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)signal(SIGABRT, on_abort);
    for (long i = 0; i < options.jobs; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
            abort();
    wait_for_all();
    for (long i = 0; i < options.jobs; i++)
        (void)pthread_join(threads[i], NULL);
}

/* ---- main ---- */

static bool read_store(const char *name)
{
    bool known = false;

    for (int kind = 0; kind < TEST_STORE_KINDS; kind++) {
        options.kinds[kind] = name && !strcmp(name, test_store_name((test_store_kind)kind));
        known = known || options.kinds[kind];
    }
    return known;
}

static bool read_options(int argc, char **argv)
{
    options.jobs = JOBS_DEFAULT;
    for (int kind = 0; kind < TEST_STORE_KINDS; kind++)
        options.kinds[kind] = true;
    for (int i = 1; i < argc; i++) {
        const char *const value = i + 1 < argc ? argv[i + 1] : NULL;

        if (!strcmp(argv[i], "--list")) {
            options.list = true;
        } else if (!strcmp(argv[i], "--times")) {
            options.times = true;
        } else if (!strcmp(argv[i], "--only") && value) {
            options.only = argv[++i];
        } else if (!strcmp(argv[i], "--store") && read_store(value)) {
            i++;
        } else if (!strcmp(argv[i], "--jobs") && value) {
            options.jobs = strtol(argv[++i], NULL, 10);
        } else {
            return false;
        }
    }
    return options.jobs > 0 && options.jobs <= JOBS_MAX;
}

static size_t report(const char *ring)
{
    size_t failed = 0, not_here = 0;

    for (int kind = 0; kind < TEST_STORE_KINDS; kind++) {
        size_t count = 0, local = 0;
        int64_t spent_ms = 0;

        for (size_t i = 0; i < run_count; i++) {
            if ((int)runs[i].kind != kind)
                continue;
            count++;
            failed += runs[i].failed;
            local += runs[i].is_local;
            spent_ms += runs[i].spent_ms;
        }
        if (count)
            (void)printf("# %s: %zu cases, %lld s of their own; %zu more need the store itself\n",
                         test_store_name((test_store_kind)kind), count - local,
                         (long long)spent_ms / 1000, local);
        not_here += local;
    }
    (void)printf("ring %s: %zu passed, %zu failed\n", ring, run_count - failed - not_here, failed);
    return failed;
}

int test_main(const char *ring, int argc, char **argv)
{
    size_t failed = 0;

    if (!read_options(argc, argv)) {
        (void)fprintf(stderr,
                      "usage: %s [--list] [--times] [--only PATTERN] [--jobs N]\n"
                      "       [--store memory|file|postgres|http]\n",
                      argv[0]);
        return 2;
    }
    make_list();
    if (options.list) {
        for (size_t i = 0; i < run_count; i++) {
            char label[LABEL_BYTES];

            label_of(&runs[i], label);
            (void)puts(label);
        }
    } else {
        run_all();
        failed = report(ring);
    }
    test_stores_done();
    free(runs);
    return failed || !run_count ? 1 : 0;
}
