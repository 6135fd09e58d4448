/* SPDX-License-Identifier: Apache-2.0
 *
 * crowd.c -- a hundred subscribers with filters of their own, that leave and come back.
 *
 * Each must end with exactly the events that SQL finds for its filter. Every fifth reads one event
 * a second while the others work: nobody waits for it, and what waits for it is bounded. That no
 * writer waits is shown by subscribers that do not come back from their callback at all. */
#include "events.h"

#include "api/api-int.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "support/flows.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define CROWD       100
#define SLOW_EVERY  5
#define SLOW_US     1000000
#define WORKERS     3
#define WORK_MS     6000
#define KNOWN       4      /* executions and flows that are there before */
#define PATIENCE_MS 120000 /* of a reader whose show does not end, because something failed */
#define ONE_EVENT   16384  /* more than any is long */
#define EACH_BYTES  (FF_FOLLOW_BYTES_MAX + ONE_EVENT) /* that may wait for one subscriber */
#define TOO_MANY    1024                              /* long events: several times as much */

/* Besides: batches of 512 such events, in the queue and on their way, and a page of the tailer. */
#define OTHERS_BYTES (64LL << 20)

static_assert((int64_t)TOO_MANY * LONG_BYTES > 3 * EACH_BYTES, "a bound that cannot be passed");

static const char *const kinds[] = {"completion", "lease", "operator", "flow"};
static const int kind_codes[] = {1, 2, 4, 5};
static const char *const namespaces[] = {"a", "b"};
static const struct ff_tag_pair tags[] = {{"instance", "blue"}, {"instance", "green"}};

struct show {
    _Atomic bool over;
    char end[FF_CURSOR_BYTES]; /* set before `over` */
    int64_t patience_until_ms;
    char executions[KNOWN][FF_ID_BYTES];
    struct flow flows[KNOWN];
};

struct reader {
    struct show *show;
    size_t index;
    struct ff_event_filter filter;
    char where[512]; /* the same filter in SQL */
    struct tally tally;
    uint64_t seed;
    int comings;
};

/* ---- filters ---- */

static void also(struct reader *r, const char *column, const char *value)
{
    const size_t used = strlen(r->where);

    (void)snprintf(r->where + used, sizeof r->where - used, " AND %s = '%s'", column, value);
}

static void choose_tenant(struct reader *r)
{
    const uint32_t ns = chance(&r->seed, 3), tag = chance(&r->seed, 6);

    if (ns < 2) {
        r->filter.ns = namespaces[ns];
        also(r, "namespace", namespaces[ns]);
    }
    if (tag < 2) {
        r->filter.instance_tag = tags[tag].value;
        also(r, "instance_tag", tags[tag].value);
    }
}

/* One execution, one flow, some partitions, or all. */
static void choose_place(struct reader *r)
{
    const int32_t from = (int32_t)chance(&r->seed, 200);
    const size_t known = chance(&r->seed, KNOWN), used = strlen(r->where);

    switch (chance(&r->seed, 6)) {
    case 0:
        r->filter.execution_id = r->show->executions[known];
        also(r, "execution_id", strchr(r->show->executions[known], '}') + 2);
        break;
    case 1:
        r->filter.flow_id = r->show->flows[known].id;
        also(r, "flow_id", r->show->flows[known].id);
        break;
    case 2:
    case 3:
        r->filter.partition_from = from;
        r->filter.partition_to = from + 55;
        (void)snprintf(r->where + used, sizeof r->where - used,
                       " AND partition_key BETWEEN %d AND %d", (int)from, (int)from + 55);
        break;
    default:
        break;
    }
}

static void choose_filter(struct reader *r)
{
    const uint32_t kind = chance(&r->seed, 6);

    ff_event_filter_init(&r->filter);
    (void)snprintf(r->where, sizeof r->where, "true");
    if (r->index == 0)
        return; /* a slow one that wants everything */
    if (kind < FF_ARRAY_LEN(kinds)) {
        r->filter.kinds = &kinds[kind];
        r->filter.kind_count = 1;
        (void)snprintf(r->where, sizeof r->where, "kind = %d", kind_codes[kind]);
    }
    choose_tenant(r);
    choose_place(r);
}

/* ---- reading and working ---- */

static void read_all(struct test *t, size_t index, void *ctx)
{
    struct reader *const r = (struct reader *)ctx + index;
    const bool slow = index % SLOW_EVERY == 0;

    (void)snprintf(r->tally.cursor, sizeof r->tally.cursor, "start");
    while (!r->show->over || strcmp(r->tally.cursor, r->show->end) < 0) {
        struct ff_subscription *sub = NULL;

        r->comings++;
        EXPECT(t, test_mono_ms() < r->show->patience_until_ms);
        EXPECT_OK(t, ff_subscribe(t->client, &r->filter, r->tally.cursor, &sub, &t->err));
        do {
            (void)take_once(t, sub, slow && !r->show->over ? 1 : 0, 50, &r->tally);
            for (int us = 0; slow && !r->show->over && us < SLOW_US; us += 20000)
                dawdle(20000);
        } while (chance(&r->seed, 40) &&
                 (!r->show->over || strcmp(r->tally.cursor, r->show->end) < 0));
        ff_unsubscribe(sub);
    }
}

static void work(struct test *t, size_t index, void *ctx)
{
    uint64_t seed = 77 + index;

    (void)ctx;
    for (const int64_t until_ms = test_mono_ms() + WORK_MS; test_mono_ms() < until_ms;) {
        struct ff_submission s = submission();
        struct ff_claim_request r = claim_request();
        const uint32_t tag = chance(&seed, 3);
        struct held held;
        struct name name;

        s.ns = namespaces[chance(&seed, 2)];
        if (tag < FF_ARRAY_LEN(tags)) {
            s.tags = &tags[tag];
            s.tag_count = 1;
        }
        name = given(t, &s);
        if (chance(&seed, 4) == 0)
            (void)when_cancelled(t, name.id);
        else if (claims_one(t, &r, &held) && chance(&seed, 3))
            (void)when_completed(t, &held, NULL);
    }
}

static void given_known(struct test *t, struct show *show)
{
    for (size_t i = 0; i < KNOWN; i++) {
        const struct name name = given_priority(t, 9);

        (void)snprintf(show->executions[i], FF_ID_BYTES, "%s", name.id);
        show->flows[i] = given_flow(t, "a b c | a>b a>c");
    }
}

static void hundred_subscribers(struct test *t)
{
    struct show *const show = keep(t, sizeof *show);
    struct reader *const readers = keep(t, CROWD * sizeof *readers);
    struct test_thread *threads[CROWD];
    struct ff_engine_stats stats;
    struct other other;
    size_t most = 0;
    int comings = 0;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, &other);
    given_long_events(t, TOO_MANY); /* more than may wait for anybody */
    given_known(t, show);
    show->patience_until_ms = test_mono_ms() + PATIENCE_MS;
    for (size_t i = 0; i < CROWD; i++) {
        readers[i] = (struct reader){.show = show, .index = i, .seed = 1000003 + i * 7919};
        readers[i].tally.ids = ids_new(t);
        choose_filter(&readers[i]);
        threads[i] = start_thread(t, read_all, i, readers);
    }
    in_threads(t, WORKERS, work, NULL);
    (void)snprintf(show->end, sizeof show->end, "%s", log_end(t));
    show->over = true;
    for (size_t i = 0; i < CROWD; i++)
        join_thread(t, threads[i]);
    for (size_t i = 0; i < CROWD; i++) {
        struct ids *const truth = ids_new(t);
        char sql[700];

        (void)snprintf(sql, sizeof sql, "SELECT event_id FROM ff_event WHERE %s ORDER BY event_id",
                       readers[i].where);
        ids_read(t, &other, sql, truth);
        EXPECT_IDS(t, truth, readers[i].tally.ids);
        comings += readers[i].comings;
        most = ff_max_size(most, truth->count);
    }
    ff_engine_stats(t->client->engine, &stats);
    (void)printf("# %d subscriptions, %zu events; at most %lld bytes waited for one\n", comings,
                 most, (long long)stats.follow_bytes_max);
    EXPECT(t, comings > CROWD);
    EXPECT(t, stats.follow_bytes_max > FF_FOLLOW_BYTES_MAX / 2); /* or there was nothing to bound */
    EXPECT(t, stats.follow_bytes_max <= EACH_BYTES);
}

/* ---- subscribers that are stuck ---- */

struct stuck {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool released;
    _Atomic int inside; /* have been called back, and do not return */
    _Atomic long got[CROWD];
    struct ff_subscription *subs[CROWD];
};

struct place {
    struct stuck *stuck;
    size_t index;
};

static bool get_stuck(const struct ff_delivery *delivery, void *ctx)
{
    const struct place *const place = ctx;
    struct stuck *const stuck = place->stuck;

    pthread_mutex_lock(&stuck->lock);
    if (!stuck->released) {
        stuck->inside++;
        while (!stuck->released)
            pthread_cond_wait(&stuck->changed, &stuck->lock);
    }
    pthread_mutex_unlock(&stuck->lock);
    stuck->got[place->index] += (long)delivery->count;
    return true;
}

static void release(void *ctx)
{
    struct stuck *const stuck = ctx;

    pthread_mutex_lock(&stuck->lock);
    stuck->released = true;
    pthread_cond_broadcast(&stuck->changed);
    pthread_mutex_unlock(&stuck->lock);
}

static void stuck_end(void *ctx)
{
    struct stuck *const stuck = ctx;

    release(stuck);
    for (size_t i = 0; i < CROWD; i++)
        ff_unsubscribe(stuck->subs[i]);
}

/* While a hundred sit in their callbacks everything is written, and a reader gets it all. */
static void stuck_subscribers(struct test *t)
{
    struct stuck *const stuck = keep(t, sizeof *stuck);
    struct place *const places = keep(t, CROWD * sizeof *places);
    struct tally tally = {.ids = ids_new(t)};
    struct ff_subscription *quick;
    struct ff_engine_stats stats;
    long long before, peak;

    pthread_mutex_init(&stuck->lock, NULL);
    pthread_cond_init(&stuck->changed, NULL);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    before_end(t, stuck_end, stuck);
    for (size_t i = 0; i < CROWD; i++) {
        places[i] = (struct place){stuck, i};
        EXPECT_OK(t, ff_subscribe_callback(t->client, NULL, "start", get_stuck, &places[i],
                                           &stuck->subs[i], &t->err));
    }
    quick = given_subscribed(t, NULL, "start");
    (void)given_completed(t);
    WAIT_UNTIL_FOR(t, stuck->inside == CROWD, 60000);
    before = heap_peak_begin();
    given_long_events(t, TOO_MANY);
    take_until(t, quick, &tally, log_end(t));
    peak = heap_peak() - before;
    EXPECT_INT(t, CROWD, stuck->inside);
    EXPECT(t, tally.ids->count >= 2 * TOO_MANY);
    ff_engine_stats(t->client->engine, &stats);
    (void)printf("# a hundred are stuck: %lld bytes wait for one, %lld more on the heap\n",
                 (long long)stats.follow_bytes_max, peak);
    EXPECT(t, stats.follow_bytes_max > FF_FOLLOW_BYTES_MAX / 2); /* or there was nothing to bound */
    EXPECT(t, stats.follow_bytes_max <= EACH_BYTES);
    EXPECT(t, peak <= (long long)(CROWD + 1) * EACH_BYTES + OTHERS_BYTES);
    release(stuck);
    for (size_t i = 0; i < CROWD; i++)
        WAIT_UNTIL_FOR(t, stuck->got[i] >= (long)tally.ids->count, 60000);
}

const struct plain_case crowd_cases[] = {
    {"crowd/everybody_gets_what_its_filter_says", TEST_STORE_POSTGRES, hundred_subscribers, false},
    {"crowd/no_writer_waits_for_a_subscriber", TEST_STORE_POSTGRES, stuck_subscribers, false},
    {"crowd/no_writer_waits_for_a_subscriber", TEST_STORE_FILE, stuck_subscribers, false},
    {0},
};
