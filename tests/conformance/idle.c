/* SPDX-License-Identifier: Apache-2.0
 *
 * idle.c -- an engine with nothing to do makes fewer than five statements a second.
 *
 * Looks behind flowfabric.h: statements are counted by the trace decorator
 * between engine and store (src/store/trace.h), which counts what a store sends for each call: one
 * per read, begin, clock, table, scan and commit of a batch. Pitfall F50 (440 a second). */
#include "support/domain.h"

#include <stdio.h>
#include <string.h>

#include "api/api-int.h"
#include "base/clock.h"
#include "base/random.h"
#include "engine/engine-int.h"
#include "store/trace.h"

#include "base/banned.h"

#define WATCH_MS       5000
#define PER_SECOND_MAX 5

struct watched {
    struct ff_store *trace;
    struct ff_client *client;
};

/* A client as ff_open makes it, on a store that counts. */
static struct watched given_watched(struct test *t)
{
    const struct ff_store_options where = {
        .url = t->url, .create = true, .clock = ff_clock_system(), .random = ff_random_system()};
    const struct ff_trace trace = {0};
    struct ff_engine_options options;
    struct ff_engine *engine = NULL;
    struct ff_store *store = NULL;
    struct watched watched;

    needs_store(t, "a look at its statements");
    EXPECT_OK(t, ff_store_open(&where, &store, &t->err));
    watched.trace = ff_store_trace_new(store, &trace);
    EXPECT(t, watched.trace);
    ff_engine_options_default(&options);
    ff_settings_default(&options.settings);
    options.store = watched.trace;
    options.threads = true;
    options.loops = true;
    options.clock = ff_clock_system();
    options.random = ff_random_system();
    EXPECT_OK(t, ff_engine_new(&options, &engine, &t->err));
    watched.client = ff_client_of_engine(engine, 30000);
    EXPECT(t, watched.client);
    return watched;
}

static uint64_t statements(const struct watched *watched)
{
    struct ff_trace_counts counts;

    ff_store_trace_counts(watched->trace, &counts);
    return counts.statements;
}

/* Time itself is the condition here: silence cannot be waited for in another way. A thread that
 * comes back late has watched for longer. */
static bool is_quiet(const struct watched *watched)
{
    const int64_t began_ms = test_mono_ms();
    const int64_t before = (int64_t)statements(watched);
    int64_t made, spent_ms;

    while (test_mono_ms() - began_ms < WATCH_MS)
        test_pause();
    made = (int64_t)statements(watched) - before;
    spent_ms = test_mono_ms() - began_ms;
    return made * 1000 < PER_SECOND_MAX * spent_ms;
}

/* What was done before is echoed for a while. */
static void expect_quiet(struct test *t, const struct watched *watched)
{
    uint64_t before;

    WAIT_UNTIL_FOR(t, is_quiet(watched), 60000);
    before = statements(watched);
    WAIT_UNTIL(t, statements(watched) > before);            /* or nothing was counted at all */
    EXPECT(t, !watched->client->engine->supervisor.missed); /* an engine in trouble is quiet, too */
}

FF_CONFORMANCE_SLOW(idle, empty_store_is_quiet)
{
    struct watched watched = given_watched(t);

    close_client(t, &t->client);
    t->client = watched.client;
    expect_quiet(t, &watched);
}

/* Work that is not due, and work that nobody can do, make no noise either. */
FF_CONFORMANCE_SLOW(idle, store_of_waiting_work_is_quiet)
{
    struct watched watched = given_watched(t);
    struct ff_submission s = submission();
    struct held held;

    close_client(t, &t->client);
    t->client = watched.client;
    for (int i = 0; i < 20; i++)
        (void)given_submitted(t);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    s.delay_ms = 3600000;
    s.deadline_ms = 7200000;
    (void)given(t, &s);
    expect_quiet(t, &watched);
}

static size_t worker_count(struct test *t)
{
    struct ff_worker_list workers = {0};
    size_t count;

    EXPECT_OK(t, ff_workers(t->client, &workers, &t->err));
    count = workers.count;
    ff_answer_free(&workers);
    return count;
}

static void wait_in_vain(struct test *t, size_t index, void *ctx)
{
    static const char *const kinds[] = {"nobody-submits-this"};
    struct ff_claim_request r = claim_request();
    char instance[16];

    (void)ctx;
    (void)snprintf(instance, sizeof instance, "w%d", (int)index);
    r.worker_instance_id = instance;
    r.kinds = kinds;
    r.kind_count = 1;
    r.wait_ms = 2 * WATCH_MS;
    EXPECT(t, !claims_one(t, &r, &(struct held){0}));
}

/* Nor do those who wait for other work than there is. */
FF_CONFORMANCE_SLOW(idle, claims_that_wait_are_quiet)
{
    struct watched watched = given_watched(t);
    struct test_thread *threads[10];

    close_client(t, &t->client);
    t->client = watched.client;
    (void)given_submitted(t);
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++)
        threads[i] = start_thread(t, wait_in_vain, i, NULL);
    WAIT_UNTIL(t, worker_count(t) == FF_ARRAY_LEN(threads));
    expect_quiet(t, &watched);
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++)
        join_thread(t, threads[i]);
}
