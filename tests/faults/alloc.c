/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc.c -- the n-th allocation of a call fails, for every n and every call of the API.
 *
 * Once it alone, once it and all after it. The engine has no threads, so n names the same
 * allocation every time. What a caller is told must be true, a repeat must lead to the clean state,
 * nothing may leak (the sanitizer looks). Allocations of libpq, SQLite and libc are not ours to
 * fail. Read first: README.md beside it. */
#include "calls.h"
#include "kit/heap.h"
#include "kit/publics.h"
#include "scenarios.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define TIMEOUT_MS 60000
#define N_MAX      2000
#define CROWD      240
#define FAR_STEP   5 /* in a short run through a server, behind the first */
#define ANEW_STEP  7 /* in one with an engine per act, which asks for about eleven ... */
#define ANEW_EACH  3 /* ... and of so many scenarios one */

/* ---- calls on an engine that runs ---- */

static void open_engine(struct test *t, bool threads)
{
    const struct ff_store_options options = {
        .url = t->url, .create = true, .clock = ff_clock_system(), .random = ff_random_system()};
    struct ff_engine_options engine_options;
    struct ff_engine *engine;

    ff_engine_options_default(&engine_options);
    engine_options.threads = threads;
    engine_options.loops = false;
    engine_options.cascade = false;
    engine_options.settings.event_renewals = FF_RENEWALS_ALL;
    EXPECT_OK(t, ff_store_open(&options, &engine_options.store, &t->err));
    EXPECT_OK(t, ff_engine_new(&engine_options, &engine, &t->err));
    t->client = ff_client_of_engine(engine, TIMEOUT_MS);
    EXPECT(t, t->client != NULL);
}

static void open_quiet(struct test *t)
{
    open_engine(t, false);
}

/* NULL: the acts call the engine itself. */
static struct served *through;
/* Every act has an engine of its own: sessions keep what they have asked for once. */
static bool anew;

static ff_status act(struct test *t, const struct scenario *scenario, struct stage *stage)
{
    struct ff_client *const own = t->client;
    ff_status status;

    if (through)
        t->client = through->client;
    status = scenario->act(t, stage);
    t->client = own;
    return status;
}

struct clean {
    const char *before, *after, *undone;
};

static const char *clean_state(struct test *t, const struct scenario *scenario, int steps)
{
    struct stage stage;

    stage_init(&stage);
    scenario->given(t, &stage);
    if (steps > 0)
        EXPECT_OK(t, act(t, scenario, &stage));
    if (steps > 1)
        scenario->undone(t, &stage);
    return dump_of(t, stage.ns);
}

/* Only a lack of memory, or the truth that nobody knows. */
static void check_truth(struct test *t, const struct scenario *scenario, long long n,
                        const struct clean *clean, ff_status status, const char *now)
{
    const bool is_before = !strcmp(now, clean->before);
    const bool is_after = !strcmp(now, clean->after);
    const bool is_undone = clean->undone && !strcmp(now, clean->undone);

    if (status == FF_NO_MEMORY && (scenario->flags & MANY))
        return;
    if (status == FF_OK                ? is_after
        : status == FF_OUTCOME_UNKNOWN ? is_before || is_after
                                       : status == FF_NO_MEMORY && (is_before || is_undone))
        return;
    (void)printf("# is:\n%s# was:\n%s", now, clean->before);
    FAIL(t, "%s, allocation %lld%s: %s (%s) and the state is %s", scenario->name, n,
         heap_lasts() ? " and all after" : "", ff_status_code(status),
         status == FF_OK ? "" : t->err.message,
         is_before  ? "before"
         : is_after ? "after"
                    : "neither");
}

/* False: the act asks for fewer than n. */
static bool run_once(struct test *t, const struct scenario *scenario, long long n, bool all_after,
                     const struct clean *clean)
{
    struct ff_client *const own = t->client;
    struct stage stage;
    ff_status status;
    const char *now;
    bool applied;

    stage_init(&stage);
    scenario->given(t, &stage);
    if (anew)
        open_quiet(t);
    heap_arm(n, all_after);
    status = act(t, scenario, &stage);
    heap_disarm();
    if (anew) {
        close_client(t, &t->client);
        t->client = own;
    }
    now = dump_of(t, stage.ns);
    check_truth(t, scenario, n, clean, status, now);
    applied = strcmp(now, clean->before) != 0 && !(scenario->flags & MANY);
    if (applied && (scenario->flags & AGAIN_CHANGES))
        return heap_failed();
    status = act(t, scenario, &stage);
    if (status != (applied ? scenario->again : FF_OK))
        FAIL(t, "%s, allocation %lld: the repeat answered %s: %s", scenario->name, n,
             ff_status_code(status), t->err.message);
    if ((!clean->undone || strcmp(now, clean->undone) != 0) &&
        strcmp(dump_of(t, stage.ns), clean->after) != 0)
        FAIL(t, "%s, allocation %lld: the repeat left another state", scenario->name, n);
    return heap_failed();
}

static long long step_behind(long long n)
{
    if (is_full_run() || (!anew && (!through || n < 8)))
        return 1;
    return anew ? ANEW_STEP : FAR_STEP;
}

/* In a short run every scenario begins with another one. */
static long long first_of(const struct scenario *scenario)
{
    return anew && !is_full_run() ? 1 + (scenario - scenarios) % ANEW_STEP : 1;
}

static void sweep_scenario(struct test *t, void *ctx, const struct scenario *scenario)
{
    size_t *const sites = ctx;

    if (!through)
        open_quiet(t);

    const struct clean clean = {clean_state(t, scenario, 0), clean_state(t, scenario, 1),
                                scenario->undone ? clean_state(t, scenario, 2) : NULL};

    for (int all_after = 0; all_after < 2; all_after++)
        for (long long n = first_of(scenario);
             n < N_MAX && run_once(t, scenario, n, all_after, &clean); n += step_behind(n))
            (*sites)++;
    expect_sound(t, t->client);
}

#define LOCAL      PUBLICS_LOCAL
#define SERVED     PUBLICS_SERVED
#define EVERYWHERE (LOCAL | SERVED)
#define HERE       "a server has nobody do this from afar"

static const struct public_exception exceptions[] = {
    {"ff_answer_free", "only gives back", EVERYWHERE},
    {"ff_unsubscribe", "only gives back", EVERYWHERE},
    {"ff_close", "only gives back", EVERYWHERE},
    {"ff_worker_free", "only gives back", EVERYWHERE},
    {"ff_status_*", "constants", EVERYWHERE},
    {"ff_version", "a constant", EVERYWHERE},
    {"ff_policy_init", "fills a struct", EVERYWHERE},
    {"ff_submission_init", "fills a struct", EVERYWHERE},
    {"ff_filter_init", "fills a struct", EVERYWHERE},
    {"ff_event_filter_init", "fills a struct", EVERYWHERE},
    {"ff_replay_init", "fills a struct", EVERYWHERE},
    {"ff_flow_request_init", "fills a struct", EVERYWHERE},
    {"ff_task_lease", "fills a struct", EVERYWHERE},
    {"ff_worker_stop", "a flag", EVERYWHERE},
    {"ff_worker_stats", "numbers", EVERYWHERE},
    {"ff_worker_run", "its threads ask, rarely itself", LOCAL | PUBLICS_BY_CHANCE},
    {"ff_context_task", "a pointer", LOCAL},
    {"ff_context_cancelled", "a flag", LOCAL},
    {"ff_context_wait", "only waits", LOCAL},
    {"ff_context_delay", "a number", LOCAL},
    {"ff_worker_run", "uses public calls: the same with any client", SERVED},
    {"ff_context_*", "uses public calls: the same with any client", SERVED},
    {"ff_submit_async", HERE, SERVED},
    {"ff_fsck", HERE, SERVED},
    {"ff_doctor", HERE, SERVED},
    {"ff_gc", HERE, SERVED},
    {"ff_migrate", HERE, SERVED},
    {"ff_restored", HERE, SERVED},
};

static void every_call(struct test *t)
{
    size_t sites = 0;

    publics_begin(t);
    each_scenario(t, NULL, sweep_scenario, &sites);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    sweep_calls(t, NULL, &sites);
    sweep_worker(t, &sites);
    (void)printf("# %zu scenarios, %zu failed allocations\n", scenario_count, sites);
    publics_expect(t, exceptions, FF_ARRAY_LEN(exceptions), LOCAL);
}

static bool is_in_short_run(const struct scenario *scenario)
{
    return is_full_run() || (!(scenario->flags & TIMER) && (scenario - scenarios) % ANEW_EACH == 0);
}

static void sweep_on_postgres(struct test *t, void *ctx, const struct scenario *scenario)
{
    if (is_full_run()) {
        sweep_scenario(t, ctx, scenario);
        close_client(t, &t->client);
    }
    anew = true;
    if (!(scenario->flags & TIMER)) /* while it waits it asks again and again, for the same */
        sweep_scenario(t, ctx, scenario);
    anew = false;
}

/* The worker's calls are the same with any client. */
static void every_call_on_postgres(struct test *t)
{
    size_t sites = 0;

    each_scenario(t, is_in_short_run, sweep_on_postgres, &sites);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    sweep_calls(t, NULL, &sites);
    (void)printf("# %zu scenarios, %zu failed allocations\n", scenario_count, sites);
}

/* Those that a server does not let others do are told by their answer. */
static void sweep_served(struct test *t, void *ctx, const struct scenario *scenario)
{
    struct served served;
    struct stage stage;

    open_engine(t, true);
    serve(t, &served);
    through = &served;
    stage_init(&stage);
    scenario->given(t, &stage);
    heap_only_mine(true);
    if (act(t, scenario, &stage) != FF_UNSUPPORTED)
        sweep_scenario(t, ctx, scenario);
    heap_only_mine(false);
    through = NULL;
    serve_no_more(t, &served);
}

static void every_call_through_a_server(struct test *t)
{
    struct served served;
    size_t sites = 0;

    publics_begin(t);
    each_scenario(t, NULL, sweep_served, &sites);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    serve(t, &served);
    sweep_calls(t, &served, &sites);
    serve_no_more(t, &served);
    (void)printf("# %zu failed allocations\n", sites);
    publics_expect(t, exceptions, FF_ARRAY_LEN(exceptions), SERVED);
}

/* ---- more than a batch has room for at once ---- */

static ff_status submit_crowd(struct test *t, struct stage *s)
{
    struct ff_submission *const items = keep(t, CROWD * sizeof *items);
    struct ff_submitted *const results = keep(t, CROWD * sizeof *results);
    char(*const keys)[8] = keep(t, CROWD * sizeof *keys);
    const struct ff_str input = json_of(t, 1000, 'x');
    ff_status status;

    for (size_t i = 0; i < CROWD; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%03zu", i);
        items[i] = submission();
        items[i].ns = items[i].lane = s->ns;
        items[i].kind = items[i].idempotency_key = keys[i];
        items[i].input = input;
    }
    status = ff_submit(t->client, items, CROWD, results, &t->err);
    for (size_t i = 0; status == FF_OK && i < CROWD; i++)
        if (results[i].status != FF_OK) {
            t->err = results[i].error;
            return results[i].status;
        }
    return status;
}

static ff_status claim_crowd(struct test *t, struct stage *s)
{
    const char *const lane = s->ns;
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};
    ff_status status;

    r.lanes = &lane;
    r.lane_count = 1;
    r.max = 256;
    r.request_id = s->ns;
    status = ff_claim(t->client, &r, &tasks, &t->err);
    if (status == FF_OK && tasks.count != CROWD)
        status = t->err.status = FF_INTERNAL;
    ff_answer_free(&tasks);
    return status;
}

/* In part done is allowed here, since a crowd that does not fit is halved; the rest is not. */
static void crowd_once(struct test *t, long long n, bool all_after, bool *ret_hit)
{
    struct stage stage;
    ff_status status;

    stage_init(&stage);
    heap_arm(n, all_after);
    status = submit_crowd(t, &stage);
    *ret_hit = heap_failed();
    heap_disarm();
    if (status != FF_OK && status != FF_NO_MEMORY && status != FF_OUTCOME_UNKNOWN)
        FAIL(t, "submit crowd, allocation %lld: %s: %s", n, ff_status_code(status), t->err.message);
    EXPECT_OK(t, submit_crowd(t, &stage));
    heap_arm(n, all_after);
    status = claim_crowd(t, &stage);
    *ret_hit = *ret_hit || heap_failed();
    heap_disarm();
    if (status != FF_OK && status != FF_NO_MEMORY && status != FF_OUTCOME_UNKNOWN)
        FAIL(t, "claim crowd, allocation %lld: %s: %s", n, ff_status_code(status), t->err.message);
}

static void crowds(struct test *t)
{
    const long long step = is_full_run() ? 1 : 53; /* behind the first, which are all different */
    size_t sites = 0;
    bool hit = true;

    open_quiet(t);
    for (int all_after = 0; all_after < 2; all_after++, hit = true)
        for (long long n = 1; hit; n += n < 25 ? 1 : step, sites++)
            crowd_once(t, n, all_after, &hit);
    (void)printf("# %zu failed allocations\n", sites);
}

/* ---- from opening to closing ---- */

static ff_status whole_life(struct test *t, struct ff_client **client)
{
    struct ff_submission item = submission();
    struct ff_claim_request r = claim_request();
    struct ff_options options = {
        .size = sizeof options, .instance_tag = "i", .timeout_ms = TIMEOUT_MS};
    struct ff_submitted submitted;
    struct ff_tasks tasks = {0};
    ff_status status;

    FF_TRY(ff_open(t->url, &options, client, &t->err));
    status = ff_submit(*client, &item, 1, &submitted, &t->err);
    if (status == FF_OK)
        status = submitted.status;
    if (status == FF_OK)
        status = ff_claim(*client, &r, &tasks, &t->err);
    ff_answer_free(&tasks);
    return status;
}

/* With threads: which allocation is the n-th is up to chance, that none of them hurts is not. */
static void opening(struct test *t)
{
    size_t sites = 0;

    for (int all_after = 0; all_after < 2; all_after++) {
        bool hit = true;

        for (long long n = 1; hit; n++, sites++) {
            struct ff_client *client = NULL;
            ff_status status;

            heap_arm(n, all_after);
            status = whole_life(t, &client);
            hit = heap_failed();
            heap_disarm();
            if (status != FF_OK && status != FF_NO_MEMORY && status != FF_OUTCOME_UNKNOWN)
                FAIL(t, "allocation %lld: %s: %s", n, ff_status_code(status), t->err.message);
            if (status != FF_OK && !client)
                EXPECT(t, status == FF_NO_MEMORY);
            (void)ff_close(client, 5000);
        }
    }
    (void)printf("# %zu failed allocations\n", sites);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
}

/* ---- through a server ---- */

#define LARGE       ((size_t)1 << 20)
#define LARGE_COUNT 5 /* more than one request holds */

/* What is told to have been done has been done, also of a call that became several requests. */
static bool remote_once(struct test *t, struct ff_client *remote, long long n, const char *input)
{
    struct ff_submission items[LARGE_COUNT];
    struct ff_submitted results[LARGE_COUNT] = {0};
    ff_status status;
    bool hit;

    for (size_t i = 0; i < LARGE_COUNT; i++) {
        items[i] = submission();
        items[i].input = (struct ff_str){input, LARGE};
    }
    heap_arm(n, true);
    status = ff_submit(remote, items, LARGE_COUNT, results, &t->err);
    hit = heap_failed();
    heap_disarm();
    if (status != FF_OK && status != FF_NO_MEMORY && status != FF_OUTCOME_UNKNOWN)
        FAIL(t, "allocation %lld: %s: %s", n, ff_status_code(status), t->err.message);
    for (size_t i = 0; status == FF_OK && i < LARGE_COUNT; i++)
        if (results[i].status == FF_OK && when_looked(t, results[i].execution_id) != FF_OK)
            FAIL(t, "allocation %lld: item %zu is not there: %s", n, i, t->err.message);
    return hit;
}

static void remote_bulk(struct test *t)
{
    struct ff_client *const remote = another_client(t, NULL);
    char *const input = text_of(t, LARGE, 'x');
    size_t sites = 0;

    input[0] = input[LARGE - 1] = '"';
    heap_only_mine(true);
    EXPECT_OK(t, ff_open(t->store->below, NULL, &t->client, &t->err));
    for (long long n = 1; remote_once(t, remote, n, input); n++)
        sites++;
    heap_only_mine(false);
    (void)printf("# %zu failed allocations\n", sites);
}

/* ---- the log ---- */

/* With threads, too: reading the log works, or says that there is no memory; and then it works. */
static void log_reading(struct test *t)
{
    size_t sites = 0;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    for (int i = 0; i < 3; i++)
        (void)given_completed(t);
    for (int all_after = 0; all_after < 2; all_after++) {
        bool hit = true;

        for (long long n = 1; hit; n += n < 8 || is_full_run() ? 1 : 11, sites++) {
            ff_status status;

            heap_arm(n, all_after);
            status = follow_log(t);
            hit = heap_failed();
            heap_disarm();
            if (status != FF_OK && status != FF_NO_MEMORY && status != FF_UNAVAILABLE)
                FAIL(t, "allocation %lld: %s: %s", n, ff_status_code(status), t->err.message);
            EXPECT_OK(t, follow_log(t));
        }
    }
    (void)printf("# %zu failed allocations\n", sites);
}

const struct plain_case alloc_cases[] = {
    {"alloc/every_call", TEST_STORE_MEMORY, every_call, false},
    {"alloc/every_call_on_postgres", TEST_STORE_POSTGRES, every_call_on_postgres, false},
    {"alloc/every_call_through_a_server", TEST_STORE_MEMORY, every_call_through_a_server, false},
    {"alloc/crowds_are_halved", TEST_STORE_MEMORY, crowds, false},
    {"alloc/reading_the_log", TEST_STORE_FILE, log_reading, true},
    {"alloc/from_opening_to_closing", TEST_STORE_FILE, opening, false},
    {"alloc/crowds_are_halved_on_postgres", TEST_STORE_POSTGRES, crowds, true},
    {"alloc/reading_the_log_on_postgres", TEST_STORE_POSTGRES, log_reading, true},
    {"alloc/from_opening_to_closing_on_postgres", TEST_STORE_POSTGRES, opening, true},
    {"alloc/bulk_through_a_server", TEST_STORE_HTTP, remote_bulk, false},
    {0},
};
