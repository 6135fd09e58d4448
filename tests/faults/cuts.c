/* SPDX-License-Identifier: Apache-2.0
 *
 * cuts.c -- connections that end at the worst moment, under load.
 *
 * Before, in and after a COMMIT; by the server and on the way. Nothing may be lost, nothing may
 * happen twice, and every commit without an answer is asked about until its fate is known. */
#include "kit/load.h"
#include "kit/pgproxy.h"

#include <stdio.h>

#include "base/banned.h"

#define THREADS    8
#define TIMEOUT_MS 10000

static int64_t rounds(int64_t few)
{
    return is_full_run() ? few * 20 : few;
}

static void wait_for_work(struct test *t, struct load *load, int64_t more)
{
    const int64_t until = load_done(load) + more;

    WAIT_UNTIL_FOR(t, load_done(load) >= until, 120000);
}

/* ---- by the server ---- */

/* Whoever is in the middle of something; an engine that is quick is seldom caught at it. Goes on
 * until batches have been run again, too, if that is what follows. */
static void do_to_sessions(struct test *t, const char *function, int64_t times, bool reruns,
                           const char *what)
{
    struct load *const load = load_start(t, t->url, THREADS, TIMEOUT_MS);
    struct other other;
    long hit = 0;
    int64_t looks;

    other_open(t, &other);
    for (looks = 0; hit < times || (reruns && stats_of(t->client).reruns == 0); looks++) {
        wait_for_work(t, load, 2);
        hit += other_says(t, &other,
                          "SELECT count(*) FROM (SELECT %s(pid) FROM pg_stat_activity WHERE "
                          "application_name = 'flowfabric' AND query NOT LIKE 'LISTEN%%' AND "
                          "state <> 'idle' ORDER BY random() LIMIT 1) hit",
                          function);
    }
    (void)printf("# %ld sessions hit in %lld looks\n", hit, (long long)looks);
    load_check(t, load, what);
}

static void sessions_terminated(struct test *t)
{
    do_to_sessions(t, "pg_terminate_backend", rounds(20), false, "sessions terminated");
}

/* What a statement_timeout does, at any statement. */
static void statements_cancelled(struct test *t)
{
    do_to_sessions(t, "pg_cancel_backend", rounds(20), true, "statements cancelled");
}

/* ---- on the way ---- */

static void lose(struct test *t, const struct proxy_rules *rules, int64_t work, const char *what)
{
    struct load *const load = load_start(t, proxy_start(t), THREADS, TIMEOUT_MS);
    const struct proxy_rules none = {0};
    struct proxy_counts counts;

    proxy_rule(rules);
    wait_for_work(t, load, work);
    proxy_rule(&none);
    load_check(t, load, what);
    counts = proxy_counts();
    (void)printf("# %u commits, %u of them lost, %u answers lost, %u cuts elsewhere\n",
                 counts.commits, counts.lost_commits, counts.lost_answers, counts.cuts);
}

static void answers_to_commits_lost(struct test *t)
{
    const struct proxy_rules rules = {.lose_answers = 5};

    lose(t, &rules, rounds(400), "answers to COMMIT lost");
    EXPECT(t, proxy_counts().lost_answers > 5);
    /* The answer to a question about a batch may be lost too, so there may be fewer. */
    EXPECT(t, stats_of(t->client).unknowns > 5);
    EXPECT_INT(t, stats_of(t->client).unknowns, stats_of(t->client).resolved_committed);
}

static void commits_lost(struct test *t)
{
    const struct proxy_rules rules = {.lose_commits = 5};

    lose(t, &rules, rounds(400), "COMMIT lost");
    EXPECT(t, proxy_counts().lost_commits > 5);
    EXPECT(t, stats_of(t->client).unknowns > 0);
    EXPECT_INT(t, 0, stats_of(t->client).resolved_committed);
}

static void both_lost(struct test *t)
{
    const struct proxy_rules rules = {.lose_commits = 7, .lose_answers = 5};
    struct ff_engine_stats stats;

    lose(t, &rules, rounds(400), "COMMIT or its answer lost");
    stats = stats_of(t->client);
    EXPECT(t, stats.resolved_committed > 0 && stats.unknowns > stats.resolved_committed);
}

static void links_cut_anywhere(struct test *t)
{
    const struct proxy_rules rules = {.cut_messages = 401};

    lose(t, &rules, rounds(400), "links cut anywhere");
    EXPECT(t, proxy_counts().cuts > 5);
}

/* ---- silence ---- */

/* A server that does not answer, and does not say so: callers come back all the same. */
static void silence_ends_in_time(struct test *t)
{
    const struct ff_options impatient = {.size = sizeof impatient, .timeout_ms = 700};
    const char *const url = proxy_start(t);
    const struct proxy_rules silence = {.silent = true};
    const struct proxy_rules none = {0};
    struct ff_info_list whole = {0};
    struct name name;
    ff_status status;

    EXPECT_OK(t, ff_open(url, NULL, &t->client, &t->err));
    name = given_submitted(t);
    close_client(t, &t->client);
    EXPECT_OK(t, ff_open(url, &impatient, &t->client, &t->err));
    proxy_rule(&silence);
    status = when_cancelled(t, name.id);
    EXPECT(t, status == FF_TIMEOUT || status == FF_OUTCOME_UNKNOWN || status == FF_UNAVAILABLE);
    for (int i = 0; i < 4; i++) {
        status = ff_get(t->client, name.id, &whole, &t->err);
        EXPECT(t, status == FF_TIMEOUT || status == FF_UNAVAILABLE);
    }
    proxy_rule(&none);
    WAIT_UNTIL(t, when_cancelled(t, name.id) == FF_OK);
    WAIT_UNTIL(t, when_looked(t, name.id) == FF_OK);
    EXPECT_EVENTS(t, name.id, "operator.cancel_requested completion.cancelled");
}

const struct plain_case cut_cases[] = {
    {"cut/sessions_terminated", TEST_STORE_POSTGRES, sessions_terminated, false},
    {"cut/statements_cancelled", TEST_STORE_POSTGRES, statements_cancelled, false},
    {"cut/answers_to_commits_lost", TEST_STORE_POSTGRES, answers_to_commits_lost, false},
    {"cut/commits_lost", TEST_STORE_POSTGRES, commits_lost, false},
    {"cut/both_lost", TEST_STORE_POSTGRES, both_lost, false},
    {"cut/links_cut_anywhere", TEST_STORE_POSTGRES, links_cut_anywhere, false},
    {"cut/silence_ends_in_time", TEST_STORE_POSTGRES, silence_ends_in_time, false},
    {0},
};
