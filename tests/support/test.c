/* SPDX-License-Identifier: Apache-2.0
 *
 * test.c -- one running test: its memory, its clients, its threads, its expectations.
 *
 * Only the thread that owns a `struct test` may fail it; a started thread has one of its own.
 * Read first: tests/support/README.md. */
#include "support/test.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"

#define POLL_MS        4
#define CLOSE_GRACE_MS 60000

struct kept {
    struct kept *next;
    struct ff_memory *answer;      /* NULL: `bytes` follow */
    void (*release)(void *memory); /* NULL: nothing hangs on them */
    void (*undo)(void *ctx);       /* NULL: nothing to do before the end */
    void *undo_ctx;
    _Alignas(max_align_t) unsigned char bytes[];
};

struct test_thread {
    struct test_thread *next;
    struct test t; /* a view of the same store */
    test_body body;
    size_t index;
    void *ctx;
    pthread_t id;
    bool joined;
};

int64_t test_mono_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void test_pause(void)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};

    (void)nanosleep(&pause, NULL);
}

bool test_guard(struct test *t, void (*body)(struct test *t, void *ctx), void *ctx)
{
    if (setjmp(t->escape) != 0)
        return false;
    body(t, ctx);
    return true;
}

void test_fail(struct test *t, const char *file, int line, const char *fmt, ...)
{
    const char *const base = strrchr(file, '/');
    const int used = snprintf(t->why, sizeof t->why, "%s:%d: ", base ? base + 1 : file, line);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(t->why + used, sizeof t->why - (size_t)used, fmt, args);
    va_end(args);
    longjmp(t->escape, 1);
}

/* ---- memory ---- */

static struct kept *kept_new(struct test *t, size_t bytes)
{
    struct kept *const kept = calloc(1, sizeof *kept + bytes);

    if (!kept)
        abort();
    kept->next = t->kept;
    t->kept = kept;
    return kept;
}

void *keep(struct test *t, size_t bytes)
{
    return kept_new(t, bytes)->bytes;
}

void *keep_until(struct test *t, size_t bytes, void (*release)(void *memory))
{
    struct kept *const kept = kept_new(t, bytes);

    kept->release = release;
    return kept->bytes;
}

void keep_answer(struct test *t, struct ff_memory *memory)
{
    kept_new(t, 0)->answer = memory;
}

char *text_of(struct test *t, size_t bytes, char fill)
{
    char *const text = keep(t, bytes + 1);

    memset(text, fill, bytes);
    return text;
}

struct ff_str json_of(struct test *t, size_t bytes, char fill)
{
    char *const text = text_of(t, bytes, fill);

    text[0] = text[bytes - 1] = bytes > 1 ? '"' : '7';
    return (struct ff_str){text, bytes};
}

void before_end(struct test *t, void (*undo)(void *ctx), void *ctx)
{
    struct kept *const kept = kept_new(t, 0);

    kept->undo = undo;
    kept->undo_ctx = ctx;
}

static void undo_all(struct test *t)
{
    for (struct kept *kept = t->kept; kept; kept = kept->next)
        if (kept->undo)
            kept->undo(kept->undo_ctx);
}

static void kept_free(struct test *t)
{
    while (t->kept) {
        struct kept *const kept = t->kept;

        t->kept = kept->next;
        if (kept->release)
            kept->release(kept->bytes);
        ff_answer_free(&kept->answer);
        free(kept);
    }
}

void forget(struct test *t)
{
    kept_free(t);
}

/* ---- clients ---- */

void needs_store(struct test *t, const char *what)
{
    if (t->store->kind != TEST_STORE_HTTP)
        return;
    t->needs = what;
    longjmp(t->escape, 1);
}

static struct ff_client *opened(struct test *t, const struct ff_options *options)
{
    struct ff_client *client = NULL;

    if (options)
        needs_store(t, "options of the engine");
    EXPECT_OK(t, ff_open(t->url, options, &client, &t->err));
    return client;
}

struct ff_client *another_client(struct test *t, const struct ff_options *options)
{
    for (size_t i = 0; i < TEST_CLIENTS_MAX; i++) {
        if (!t->others[i]) {
            t->others[i] = opened(t, options);
            return t->others[i];
        }
    }
    FAIL(t, "a test may have %d more clients", TEST_CLIENTS_MAX);
}

void close_client(struct test *t, struct ff_client **client)
{
    struct ff_client *const closing = *client;
    size_t left;

    for (size_t i = 0; i < TEST_CLIENTS_MAX; i++)
        if (t->others[i] == closing)
            t->others[i] = NULL;
    if (t->client == closing)
        t->client = NULL;
    *client = NULL;
    left = ff_close(closing, CLOSE_GRACE_MS);
    if (left)
        FAIL(t, "%zu loops did not end", left);
}

void given_reopened(struct test *t, const struct ff_options *options)
{
    const struct ff_options quiet = {.size = sizeof quiet, .passive = true};
    struct ff_client *keeper = NULL;

    if (test_store_is_memory(t->store))
        keeper = another_client(t, &quiet);
    close_client(t, &t->client);
    t->client = opened(t, options);
    if (keeper)
        close_client(t, &keeper);
}

void given_options(struct test *t, const struct ff_options *options)
{
    close_client(t, &t->client);
    t->client = opened(t, options);
}

/* ---- threads ---- */

static void thread_body(struct test *t, void *ctx)
{
    struct test_thread *const thread = ctx;

    thread->body(t, thread->index, thread->ctx);
}

static void *thread_main(void *ctx)
{
    struct test_thread *const thread = ctx;

    (void)test_guard(&thread->t, thread_body, thread);
    kept_free(&thread->t);
    return NULL;
}

struct test_thread *start_thread(struct test *t, test_body body, size_t index, void *ctx)
{
    struct test_thread *const thread = calloc(1, sizeof *thread);

    if (!thread)
        abort();
    thread->t.store = t->store;
    thread->t.url = t->url;
    thread->t.client = t->client;
    memcpy(thread->t.others, t->others, sizeof t->others);
    thread->body = body;
    thread->index = index;
    thread->ctx = ctx;
    if (pthread_create(&thread->id, NULL, thread_main, thread) != 0)
        abort();
    thread->next = t->threads;
    t->threads = thread;
    return thread;
}

void wait_for_thread(struct test_thread *thread)
{
    if (thread && !thread->joined) {
        (void)pthread_join(thread->id, NULL);
        thread->joined = true;
    }
}

void join_thread(struct test *t, struct test_thread *thread)
{
    wait_for_thread(thread);
    if (thread->t.needs)
        needs_store(t, thread->t.needs);
    if (thread->t.why[0]) {
        (void)snprintf(t->why, sizeof t->why, "%s", thread->t.why);
        longjmp(t->escape, 1);
    }
}

void in_threads(struct test *t, size_t count, test_body body, void *ctx)
{
    struct test_thread **const threads = keep(t, count * sizeof(struct test_thread *));

    for (size_t i = 0; i < count; i++)
        threads[i] = start_thread(t, body, i, ctx);
    for (size_t i = 0; i < count; i++)
        join_thread(t, threads[i]);
}

static void threads_done(struct test *t)
{
    while (t->threads) {
        struct test_thread *const thread = t->threads;

        t->threads = thread->next;
        wait_for_thread(thread);
        if (!t->why[0])
            (void)snprintf(t->why, sizeof t->why, "%s", thread->t.why);
        free(thread);
    }
}

void test_done(struct test *t)
{
    size_t left = 0;

    undo_all(t);
    threads_done(t);
    for (size_t i = 0; i < TEST_CLIENTS_MAX; i++)
        left += ff_close(t->others[i], CLOSE_GRACE_MS);
    left += ff_close(t->client, CLOSE_GRACE_MS);
    if (left && !t->why[0])
        (void)snprintf(t->why, sizeof t->why, "%zu loops did not end at close", left);
    kept_free(t);
}

/* ---- expectations ---- */

void expect_int(struct test *t, const char *file, int line, int64_t want, int64_t got,
                const char *what)
{
    if (want != got)
        test_fail(t, file, line, "%s is %lld, not %lld", what, (long long)got, (long long)want);
}

void expect_text(struct test *t, const char *file, int line, const char *want, const char *got,
                 const char *what)
{
    if (want == got || (want && got && !strcmp(want, got)))
        return;
    test_fail(t, file, line, "%s is '%.200s', not '%.200s'", what, got ? got : "(null)",
              want ? want : "(null)");
}

void expect_bytes(struct test *t, const char *file, int line, struct ff_str want, struct ff_str got)
{
    if (!want.ptr != !got.ptr)
        test_fail(t, file, line, "bytes are %s", got.ptr ? "there" : "absent");
    if (want.len != got.len)
        test_fail(t, file, line, "%zu bytes, not %zu", got.len, want.len);
    for (size_t i = 0; i < want.len; i++)
        if (want.ptr[i] != got.ptr[i])
            test_fail(t, file, line, "byte %zu of %zu differs", i, want.len);
}

void expect_status(struct test *t, const char *file, int line, ff_status want, ff_status got,
                   const char *what)
{
    if (got == want && (got == FF_OK || t->err.status == got))
        return;
    if (got == want)
        test_fail(t, file, line, "%s answered %s but its error says %s", what, ff_status_code(got),
                  ff_status_code(t->err.status));
    test_fail(t, file, line, "%.120s answered %s, not %s: %s%s%s", what, ff_status_code(got),
              ff_status_code(want), got == FF_OK ? "" : t->err.field,
              got != FF_OK && t->err.field[0] ? ": " : "", got == FF_OK ? "" : t->err.message);
}

void expect_refused(struct test *t, const char *file, int line, ff_status want, const char *field,
                    ff_status got)
{
    expect_status(t, file, line, want, got, field);
    if (strcmp(t->err.field, field) != 0)
        test_fail(t, file, line, "the error names '%s', not '%s': %s", t->err.field, field,
                  t->err.message);
    if (!t->err.message[0])
        test_fail(t, file, line, "the error about '%s' has no message", field);
}
