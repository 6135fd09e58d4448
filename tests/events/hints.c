/* SPDX-License-Identifier: Apache-2.0
 *
 * hints.c -- how processes wake each other: not within the transactions that change something,
 * which would then wait for each other, and seldom. The other half of pitfall F46. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api-int.h"
#include "engine/engine-int.h"

#include "base/banned.h"

#define THREADS      8
#define EACH         40
#define HINT_MS      5 /* at most one in this time */
#define COMMITS_EACH 3 /* submit, claim, complete */

static void complete_some(struct test *t, size_t index, void *ctx)
{
    (void)index;
    (void)ctx;
    for (int i = 0; i < EACH; i++)
        (void)given_completed(t);
}

/* How many have come; all of them from one session, which is told. */
static long take_hints(struct test *t, struct other *listener, int *sender)
{
    PGnotify *hint;
    long count = 0;

    if (!PQconsumeInput(listener->conn))
        FAIL(t, "cannot listen: %s", PQerrorMessage(listener->conn));
    while ((hint = PQnotifies(listener->conn))) {
        const int pid = hint->be_pid;

        PQfreemem(hint);
        count++;
        if (*sender && pid != *sender)
            FAIL(t, "hints come from session %d and from %d", *sender, pid);
        *sender = pid;
    }
    return count;
}

static void few_and_apart(struct test *t)
{
    struct other listener, watch;
    int sender = 0;
    int64_t began_ms, took_ms;
    long hints = 0;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, &listener);
    other_open(t, &watch);
    (void)other_says(t, &listener, "LISTEN ff_@");
    began_ms = test_mono_ms();
    in_threads(t, THREADS, complete_some, NULL);
    WAIT_UNTIL(t, (hints += take_hints(t, &listener, &sender)) > 0);
    took_ms = test_mono_ms() - began_ms;
    (void)printf("# %d changes in %lld ms, %ld hints\n", THREADS * EACH * COMMITS_EACH,
                 (long long)took_ms, hints);
    EXPECT(t, hints <= took_ms / HINT_MS + 2);
    /* Whoever hints does nothing else: a session that ran batches would show one of their
     * statements, and one that is inside a transaction its beginning. */
    WAIT_UNTIL(t, other_says(t, &watch,
                             "SELECT count(*) FROM pg_stat_activity WHERE pid = %d "
                             "AND query ~ '^(NOTIFY|LISTEN) ' AND xact_start IS NULL",
                             sender) == 1);
    EXPECT(t, other_says(t, &watch, "SELECT count(*) FROM @.ff_batch") > 0);
}

/* ---- without any ---- */

static void claim_one(struct test *t, size_t index, void *ctx)
{
    struct ff_claim_request r = claim_request();

    (void)index;
    r.wait_ms = 60000;
    *(struct held *)ctx = given_claim(t, &r);
}

static bool is_parked(struct test *t)
{
    struct ff_engine *const engine = t->client->engine;
    bool is;

    pthread_mutex_lock(&engine->lock);
    is = !ff_list_empty(&engine->parked);
    pthread_mutex_unlock(&engine->lock);
    return is;
}

/* Behind a pooler nobody listens: a claim that waits and a reader of the log find out by
 * themselves what another engine has written. */
static void by_polling_alone(struct test *t)
{
    struct held *const held = keep(t, sizeof *held);
    const struct ff_submission s = submission();
    struct ff_client *writer = NULL;
    struct ff_subscription *sub;
    struct test_thread *thread;
    struct ff_submitted made;
    struct other watch;
    char url[1100];

    (void)snprintf(url, sizeof url, "%s&pooler=transaction", t->url);
    EXPECT_OK(t, ff_open(url, NULL, &t->client, &t->err));
    EXPECT_OK(t, ff_open(url, NULL, &writer, &t->err));
    other_open(t, &watch);
    sub = given_subscribed(t, NULL, NULL);
    thread = start_thread(t, claim_one, 0, held);
    WAIT_UNTIL(t, is_parked(t));
    EXPECT_OK(t, ff_submit(writer, &s, 1, &made, &t->err));
    join_thread(t, thread);
    EXPECT_TEXT(t, made.execution_id, held->id);
    EXPECT_OK(t, ff_cancel(writer, held->id, NULL, NULL, &t->err));
    while (strcmp(next_event(t, sub)->kind, "completion") != 0)
        ;
    WAIT_UNTIL(t, other_says(t, &watch,
                             "SELECT count(*) FROM pg_stat_activity "
                             "WHERE query ~ '^(NOTIFY|LISTEN) '") == 0);
    close_client(t, &writer);
}

const struct plain_case hints_cases[] = {
    {"hints/f46_hints_are_few_and_apart_from_changes", TEST_STORE_POSTGRES, few_and_apart, false},
    {"hints/without_them_claims_and_readers_look_themselves", TEST_STORE_POSTGRES, by_polling_alone,
     false},
    {0},
};
