/* SPDX-License-Identifier: Apache-2.0
 *
 * test.h -- one running test: its store, its clients, what it expects.
 *
 * A failed expectation ends the test at once (longjmp), so a test frees nothing by itself: what it
 * asked for with keep(), look() and friends lives until its end. No sleeps: WAIT_UNTIL looks at a
 * condition every few milliseconds until a deadline. Read first: tests/support/README.md. */
#ifndef FF_TESTS_SUPPORT_TEST_H
#define FF_TESTS_SUPPORT_TEST_H

#include "support/stores.h"

#include <flowfabric.h>

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEST_WAIT_MS     60000 /* only what never comes takes longer, however slow the machine */
#define TEST_CLIENTS_MAX 4
#define TEST_WHY_BYTES   1024

struct kept;
struct test_thread;

/* What a worker or an operator was told last. */
struct test_answer {
    const char *public_state;
    int64_t lease_expires_at_ms, retry_at_ms, epoch;
    int32_t generation;
};

struct test {
    struct test_store *store;
    const char *url;
    struct ff_client *client;  /* opened by the runner with default options */
    struct ff_error err;       /* of the last call that failed */
    struct test_answer answer; /* of the last call that succeeded */
    /* The rest belongs to test.c. */
    struct ff_client *others[TEST_CLIENTS_MAX];
    struct kept *kept;
    struct test_thread *threads;
    jmp_buf escape;
    char why[TEST_WHY_BYTES]; /* empty: nothing has failed */
    const char *needs;        /* what it needs and a server does not give; NULL: nothing */
};

/* Runs body(t, ctx); false: an expectation failed and t->why says which. */
bool test_guard(struct test *t, void (*body)(struct test *t, void *ctx), void *ctx);
/* Joins threads, closes clients, frees what was kept. Reports what did not end in order. */
void test_done(struct test *t);

_Noreturn void test_fail(struct test *t, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The case needs the store itself: through a server it ends here and is listed with its reason. */
void needs_store(struct test *t, const char *what);

/* ---- memory and clients ---- */

/* Zeroed memory that lives until the end of the test. */
void *keep(struct test *t, size_t bytes);
/* The same, and release(memory) is called then. */
void *keep_until(struct test *t, size_t bytes, void (*release)(void *memory));
/* An answer of the library (its first member is the memory), freed at the end of the test. */
void keep_answer(struct test *t, struct ff_memory *memory);
/* Frees all of that early: nobody may use it any more. For tests that run for long. */
void forget(struct test *t);
/* A text of `bytes` bytes, all of them `fill`. */
char *text_of(struct test *t, size_t bytes, char fill);
/* JSON of so many bytes: a string of letters; of one byte, a number. */
struct ff_str json_of(struct test *t, size_t bytes, char fill);

/* Called when the test is over or has failed, before its threads are joined; the last one first. */
void before_end(struct test *t, void (*undo)(void *ctx), void *ctx);

/* One more client on the same store, closed at the end of the test. NULL options: the default. */
struct ff_client *another_client(struct test *t, const struct ff_options *options);
void close_client(struct test *t, struct ff_client **client);
/* As after a restart: t->client is closed and opened anew. A memory store is kept alive meanwhile.
 */
void given_reopened(struct test *t, const struct ff_options *options);
/* The same store with options of one's own, before anything has happened. */
void given_options(struct test *t, const struct ff_options *options);

/* ---- threads ---- */

typedef void (*test_body)(struct test *t, size_t index, void *ctx);
/* Runs `body` on its own thread with its own `t`; ctx must be kept memory. An expectation that
 * fails there fails the test when it is joined. */
struct test_thread *start_thread(struct test *t, test_body body, size_t index, void *ctx);
void join_thread(struct test *t, struct test_thread *thread);
void wait_for_thread(struct test_thread *thread); /* only its end, however it was; NULL is fine */
void in_threads(struct test *t, size_t count, test_body body, void *ctx);

/* ---- expectations ---- */

int64_t test_mono_ms(void);
void test_pause(void); /* between two looks at a condition */

#define FAIL(t, ...) test_fail((t), __FILE__, __LINE__, __VA_ARGS__)

#define EXPECT(t, condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            FAIL((t), "not so: %s", #condition);                                                   \
    } while (0)

#define EXPECT_INT(t, want, got) expect_int((t), __FILE__, __LINE__, (want), (got), #got)
void expect_int(struct test *t, const char *file, int line, int64_t want, int64_t got,
                const char *what);

/* NULL equals only NULL. */
#define EXPECT_TEXT(t, want, got) expect_text((t), __FILE__, __LINE__, (want), (got), #got)
void expect_text(struct test *t, const char *file, int line, const char *want, const char *got,
                 const char *what);

#define EXPECT_BYTES(t, want_ptr, want_len, got)                                                   \
    expect_bytes((t), __FILE__, __LINE__, (struct ff_str){(want_ptr), (want_len)}, (got))
void expect_bytes(struct test *t, const char *file, int line, struct ff_str want,
                  struct ff_str got);

#define EXPECT_STATUS(t, want, call) expect_status((t), __FILE__, __LINE__, (want), (call), #call)
void expect_status(struct test *t, const char *file, int line, ff_status want, ff_status got,
                   const char *what);

#define EXPECT_OK(t, call) EXPECT_STATUS((t), FF_OK, (call))

/* Refused, and the error names the field. */
#define EXPECT_REFUSED(t, want, field_, call)                                                      \
    expect_refused((t), __FILE__, __LINE__, (want), (field_), (call))
void expect_refused(struct test *t, const char *file, int line, ff_status want, const char *field,
                    ff_status got);

#define WAIT_UNTIL_FOR(t, condition, wait_ms)                                                      \
    do {                                                                                           \
        const int64_t wait_end_ms_ = test_mono_ms() + (wait_ms);                                   \
        while (!(condition)) {                                                                     \
            if (test_mono_ms() > wait_end_ms_)                                                     \
                FAIL((t), "never came: %s", #condition);                                           \
            test_pause();                                                                          \
        }                                                                                          \
    } while (0)

#define WAIT_UNTIL(t, condition) WAIT_UNTIL_FOR((t), (condition), TEST_WAIT_MS)

#endif
