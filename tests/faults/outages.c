/* SPDX-License-Identifier: Apache-2.0
 *
 * outages.c -- the server is away, or will not write, for longer than anybody likes.
 *
 * Callers hear so within their time and never hang; afterwards nobody's work has been declared dead
 * because of it. These cases stop the server: they come last. */
#include "kit/load.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define THREADS        6
#define TIMEOUT_MS     1500
#define AWAY_MS        3000
#define TTL_MS         10000 /* longer than a slow machine keeps a thread waiting */
#define LONGER_AWAY_MS 11000

static void let_pass(struct test *t, int64_t ms)
{
    const int64_t until_ms = test_mono_ms() + ms;

    WAIT_UNTIL(t, test_mono_ms() >= until_ms);
}

static bool is_trouble(ff_status status)
{
    return (ff_status_retryable(status) && status != FF_AGAIN) || status == FF_OUTCOME_UNKNOWN;
}

/* ---- away ---- */

static void crash_under_load(struct test *t)
{
    struct load *const load = load_start(t, t->url, THREADS, TIMEOUT_MS);
    const int crashes = is_full_run() ? 20 : 2;

    for (int i = 0; i < crashes; i++) {
        const int64_t done = load_done(load);

        WAIT_UNTIL(t, load_done(load) > done + 50);
        server_stop(t);
        let_pass(t, i ? 0 : AWAY_MS);
        server_start(t);
    }
    load_check(t, load, "server crashed");
    /* If all executors were in the middle of a commit they ask about it, and callers time out. */
    EXPECT(t, load_answers(load, FF_UNAVAILABLE) + load_answers(load, FF_TIMEOUT) > 0);
}

struct fleet {
    struct ff_client *hurried; /* only for what may be refused */
    atomic_bool stop;
    atomic_llong renewals, refusals;
};

/* Holds one task and renews it; says so again as soon as it is refused. */
static void hold_on(struct test *t, size_t index, void *ctx)
{
    struct fleet *const fleet = ctx;
    struct ff_client *const patient = t->client;
    struct ff_claim_request r = claim_request();
    char instance[32];
    struct held held;

    (void)snprintf(instance, sizeof instance, "fleet-%zu", index);
    r.worker_instance_id = instance;
    r.lease_ttl_ms = TTL_MS;
    held = given_claim(t, &r);
    t->client = fleet->hurried;
    while (!atomic_load(&fleet->stop)) {
        const ff_status status = when_renewed(t, &held, 0);

        if (status == FF_OK)
            atomic_fetch_add(&fleet->renewals, 1);
        else if (is_trouble(status))
            atomic_fetch_add(&fleet->refusals, 1);
        else
            FAIL(t, "worker %zu lost its lease: %s: %s", index, ff_status_code(status),
                 t->err.message);
        test_pause();
    }
    t->client = patient;
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_EVENTS(t, held.id, "acquired completion.success");
}

/* Longer than any lease. Renewals that are refused are said again, as a worker does. */
static void fleet_survives(struct test *t)
{
    const struct ff_options hurried = {
        .size = sizeof hurried, .timeout_ms = TIMEOUT_MS, .event_renewals = "none"};
    struct fleet *const fleet = keep(t, sizeof *fleet);
    struct test_thread *threads[THREADS];
    long long before;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    fleet->hurried = another_client(t, &hurried);
    for (size_t i = 0; i < THREADS; i++)
        (void)given_submitted(t);
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(t, hold_on, i, fleet);
    WAIT_UNTIL(t, atomic_load(&fleet->renewals) > 10 * THREADS);
    server_stop(t);
    WAIT_UNTIL(t, atomic_load(&fleet->refusals) >= THREADS);
    let_pass(t, LONGER_AWAY_MS);
    server_start(t);
    before = atomic_load(&fleet->renewals);
    WAIT_UNTIL(t, atomic_load(&fleet->renewals) > before + 20 * THREADS);
    atomic_store(&fleet->stop, true);
    for (size_t i = 0; i < THREADS; i++)
        join_thread(t, threads[i]);
    (void)printf("# %lld renewals, %lld refused\n", (long long)fleet->renewals,
                 (long long)fleet->refusals);
}

static int64_t ticks_of(struct test *t, const char *loop)
{
    struct ff_scanner_list all = {0};
    int64_t ticks = 0;

    EXPECT_OK(t, ff_scanners(t->client, &all, &t->err));
    for (size_t i = 0; i < all.count; i++)
        if (!strcmp(all.items[i].name, loop))
            ticks = all.items[i].ticks;
    ff_answer_free(&all);
    return ticks;
}

static int64_t lapses_of(struct test *t)
{
    struct ff_scanner_list all = {0};
    int64_t lapses = 0;

    EXPECT_OK(t, ff_scanners(t->client, &all, &t->err));
    for (size_t i = 0; i < all.count; i++)
        if (!strcmp(all.items[i].name, "lease_expiry"))
            lapses = all.items[i].processed;
    ff_answer_free(&all);
    return lapses;
}

/* The brake: a lease that lapsed while the server was away is looked at after the outage, and put
 * off, until there has been as much contact as the lease was long. A worker that comes within that
 * time keeps it; one that does not come loses it then. */
static void brake_holds_and_lets_go(struct test *t)
{
    const struct ff_options options = {.size = sizeof options, .event_renewals = "none"};
    struct held kept;
    struct held lost;
    int64_t ticks;

    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    kept = given_claimed_with(t, NULL, TTL_MS);
    lost = given_claimed_with(t, NULL, TTL_MS);
    server_stop(t);
    let_pass(t, LONGER_AWAY_MS);
    server_start(t);
    ticks = ticks_of(t, "lease_expiry");
    WAIT_UNTIL(t, ticks_of(t, "lease_expiry") > ticks); /* the loop has looked at both */
    EXPECT_INT(t, 0, lapses_of(t));
    WAIT_UNTIL(t, !is_trouble(when_renewed(t, &kept, 0)));
    EXPECT_OK(t, when_renewed(t, &kept, 0));
    for (int64_t lapses = 0; lapses == 0; lapses = lapses_of(t)) {
        EXPECT_OK(t, when_renewed(t, &kept, 0));
        WAIT_UNTIL(t, ticks_of(t, "lease_expiry") > ticks);
        test_pause();
    }
    EXPECT_EVENTS(t, lost.id, "acquired expired");
    EXPECT_OK(t, when_completed(t, &kept, "1"));
    EXPECT_EVENTS(t, kept.id, "acquired completion.success");
}

/* ---- will not write ---- */

static void end_sessions(struct test *t, struct other *other)
{
    (void)other_says(t, other,
                     "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE "
                     "application_name = 'flowfabric'");
}

/* Says it until it is taken: with a key, so what was in doubt counts once. */
static void submit_for_sure(struct test *t, const char *key)
{
    struct ff_submission item = submission();
    struct ff_submitted submitted;

    item.idempotency_key = key;
    WAIT_UNTIL(t, when_submitted(t, &item, &submitted) == FF_OK);
}

static ff_status submit_by(struct test *t, struct ff_client *client)
{
    const struct ff_submission item = submission();
    struct ff_submitted submitted;
    const ff_status status = ff_submit(client, &item, 1, &submitted, &t->err);

    return status == FF_OK ? submitted.status : status;
}

/* After a failover to a server that only reads, or an operator's switch. */
static void read_only_is_unavailable(struct test *t)
{
    const struct ff_options hurried = {.size = sizeof hurried, .timeout_ms = TIMEOUT_MS};
    struct ff_client *client;
    struct other other;
    ff_status status;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    client = another_client(t, &hurried);
    other_open(t, &other);
    submit_for_sure(t, "before");
    (void)other_says(t, &other, "ALTER ROLE postgres SET default_transaction_read_only = on");
    end_sessions(t, &other);
    EXPECT(t, submit_by(t, client) != FF_OK);
    for (int i = 0; i < 5; i++) {
        status = submit_by(t, client);
        EXPECT(t, status == FF_UNAVAILABLE || status == FF_TIMEOUT);
    }
    (void)other_says(t, &other, "ALTER ROLE postgres RESET default_transaction_read_only");
    submit_for_sure(t, "after");
    EXPECT_INT(t, 2, other_says(t, &other, "SELECT count(*) FROM @.ff_execution"));
}

/* What the role's owner thinks of long statements is not for us: a batch says its own. */
static void statement_timeout_of_the_role(struct test *t)
{
    struct other other;
    struct load *load;

    other_open(t, &other);
    (void)other_says(t, &other, "ALTER ROLE postgres SET statement_timeout = '1ms'");
    load = load_start(t, t->url, THREADS, 10000);
    WAIT_UNTIL(t, load_done(load) > 100);
    end_sessions(t, &other);
    WAIT_UNTIL(t, load_done(load) > 200);
    (void)other_says(t, &other, "ALTER ROLE postgres RESET statement_timeout");
    load_check(t, load, "statement_timeout of 1 ms");
}

const struct plain_case outage_cases[] = {
    {"outage/read_only_is_unavailable", TEST_STORE_POSTGRES, read_only_is_unavailable, false},
    {"outage/statement_timeout_of_the_role", TEST_STORE_POSTGRES, statement_timeout_of_the_role,
     false},
    {"outage/fleet_survives", TEST_STORE_POSTGRES, fleet_survives, false},
    {"outage/brake_holds_and_lets_go", TEST_STORE_POSTGRES, brake_holds_and_lets_go, false},
    {"outage/crash_under_load", TEST_STORE_POSTGRES, crash_under_load, false},
    {0},
};
