/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_async.c -- submitting without waiting: every call is answered once, from any thread.
 *
 * Step by step, and a queue that is full: tests/unit/test_submit_async.c. */
#include "support/domain.h"

#include <stdatomic.h>
#include <string.h>

#include "base/banned.h"

#define CALLS 40
#define SLOTS 8

/* Written by threads of the engine, so nothing here may fail the test: it looks afterwards. */
struct ear {
    struct ff_client *client;
    atomic_size_t calls, accepted, refused, handed_in;
    _Atomic int unexpected;
    char ids[CALLS][FF_ID_BYTES];
};

static void hear(ff_status status, const struct ff_submitted *items, size_t count,
                 const struct ff_error *error, void *ctx)
{
    struct ear *const ear = ctx;

    (void)error;
    for (size_t i = 0; i < count; i++) {
        if (status != FF_OK || items[i].status == FF_CLOSED) {
            atomic_fetch_add(&ear->unexpected, 1);
        } else if (items[i].status == FF_OK) {
            const size_t at = atomic_fetch_add(&ear->accepted, 1);

            if (at < CALLS)
                memcpy(ear->ids[at], items[i].execution_id, FF_ID_BYTES);
        } else {
            atomic_fetch_add(&ear->refused, 1);
        }
    }
    atomic_fetch_add(&ear->calls, 1);
}

/* The same, and submits the next. */
static void hear_and_go_on(ff_status status, const struct ff_submitted *items, size_t count,
                           const struct ff_error *error, void *ctx)
{
    struct ear *const ear = ctx;
    const struct ff_submission s = submission();

    if (atomic_fetch_add(&ear->handed_in, 1) < CALLS &&
        ff_submit_async(ear->client, &s, 1, hear_and_go_on, ear, NULL) != FF_OK)
        atomic_fetch_add(&ear->unexpected, 1);
    hear(status, items, count, error, ear);
}

static struct ear *given_ear(struct test *t)
{
    struct ear *const ear = keep(t, sizeof *ear);

    needs_store(t, "ff_submit_async");
    ear->client = t->client;
    return ear;
}

static bool has_heard(const struct ear *ear, size_t calls)
{
    return atomic_load(&ear->calls) >= calls;
}

FF_CONFORMANCE(execution_async, every_call_is_answered_once)
{
    struct ear *const ear = given_ear(t);
    const struct ff_submission s = submission();

    for (size_t i = 0; i < CALLS; i++)
        EXPECT_OK(t, ff_submit_async(t->client, &s, 1, hear, ear, &t->err));
    WAIT_UNTIL(t, has_heard(ear, CALLS));
    EXPECT_INT(t, 0, ear->unexpected);
    EXPECT_INT(t, CALLS, (int64_t)atomic_load(&ear->accepted));
    EXPECT_ROWS(t, CALLS);
    for (size_t i = 0; i < CALLS; i++)
        EXPECT_STATE(t, ear->ids[i], "waiting");
    EXPECT_INT(t, CALLS, (int64_t)atomic_load(&ear->calls));
}

FF_CONFORMANCE(execution_async, the_answered_go_on)
{
    struct ear *const ear = given_ear(t);
    const struct ff_submission s = submission();

    for (size_t i = 0; i < SLOTS; i++) {
        atomic_fetch_add(&ear->handed_in, 1);
        EXPECT_OK(t, ff_submit_async(t->client, &s, 1, hear_and_go_on, ear, &t->err));
    }
    WAIT_UNTIL(t, has_heard(ear, CALLS));
    EXPECT_INT(t, 0, ear->unexpected);
    EXPECT_ROWS(t, CALLS);
}

FF_CONFORMANCE(execution_async, one_bad_item_does_not_fail_others)
{
    struct ear *const ear = given_ear(t);
    struct ff_submission items[3] = {submission(), submission(), submission()};

    items[1].kind = "";
    EXPECT_OK(t, ff_submit_async(t->client, items, 3, hear, ear, &t->err));
    WAIT_UNTIL(t, has_heard(ear, 1));
    EXPECT_INT(t, 0, ear->unexpected);
    EXPECT_INT(t, 2, (int64_t)atomic_load(&ear->accepted));
    EXPECT_INT(t, 1, (int64_t)atomic_load(&ear->refused));
    EXPECT_ROWS(t, 2);
}

/* A key given twice is one execution, whichever of the two is first. */
FF_CONFORMANCE(execution_async, a_key_counts_once)
{
    struct ear *const ear = given_ear(t);
    struct ff_submission s = submission();

    s.idempotency_key = "once";
    for (int i = 0; i < 4; i++)
        EXPECT_OK(t, ff_submit_async(t->client, &s, 1, hear, ear, &t->err));
    WAIT_UNTIL(t, has_heard(ear, 4));
    EXPECT_INT(t, 4, (int64_t)atomic_load(&ear->accepted));
    for (int i = 1; i < 4; i++)
        EXPECT_TEXT(t, ear->ids[0], ear->ids[i]);
    EXPECT_ROWS(t, 1);
}

FF_CONFORMANCE(execution_async, what_makes_no_sense_is_refused_and_nobody_is_told)
{
    struct ear *const ear = given_ear(t);
    const struct ff_submission s = submission();

    EXPECT_REFUSED(t, FF_INVALID, "done", ff_submit_async(t->client, &s, 1, NULL, ear, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "count", ff_submit_async(t->client, &s, 0, hear, ear, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "items", ff_submit_async(t->client, NULL, 1, hear, ear, &t->err));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "count",
                   ff_submit_async(t->client, &s, 1001, hear, ear, &t->err));
    EXPECT_INT(t, 0, (int64_t)atomic_load(&ear->calls));
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE(execution_async, closing_waits_for_the_answers)
{
    struct ear *const ear = given_ear(t);
    struct ff_client *other = another_client(t, NULL);
    const struct ff_submission s = submission();

    for (size_t i = 0; i < CALLS; i++)
        EXPECT_OK(t, ff_submit_async(other, &s, 1, hear, ear, &t->err));
    close_client(t, &other);
    EXPECT_INT(t, CALLS, (int64_t)atomic_load(&ear->calls));
    EXPECT_ROWS(t, atomic_load(&ear->accepted));
}
