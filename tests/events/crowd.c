/* SPDX-License-Identifier: Apache-2.0
 *
 * crowd.c -- a hundred subscribers with filters of their own, that leave and come back.
 *
 * Each must end with exactly the events that SQL finds for its filter. Every fifth reads one event
 * a second while the others work: nobody waits for it, and what waits for it is bounded. */
#include "events.h"

#include "api/api-int.h"
#include "base/limits.h"
#include "engine/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define CROWD       100
#define SLOW_EVERY  5
#define WORKERS     3
#define WORK_MS     6000
#define PATIENCE_MS 120000 /* of a reader whose show does not end, because something failed */

static const char *const kinds[] = {"completion", "lease", "operator"};
static const int kind_codes[] = {1, 2, 4};
static const char *const namespaces[] = {"a", "b"};

struct show {
    _Atomic bool over;
    char end[FF_CURSOR_BYTES]; /* set before `over` */
    int64_t patience_until_ms;
};

struct reader {
    struct show *show;
    size_t index;
    struct ff_event_filter filter;
    char where[256]; /* the same filter in SQL */
    struct tally tally;
    uint64_t seed;
    int comings;
};

static void choose_filter(struct reader *r)
{
    const uint32_t kind = chance(&r->seed, 4), ns = chance(&r->seed, 3);
    const int32_t from = (int32_t)chance(&r->seed, 200);
    size_t used = (size_t)snprintf(r->where, sizeof r->where, "true");

    ff_event_filter_init(&r->filter);
    if (kind < 3) {
        r->filter.kinds = &kinds[kind];
        r->filter.kind_count = 1;
        used += (size_t)snprintf(r->where + used, sizeof r->where - used, " AND kind = %d",
                                 kind_codes[kind]);
    }
    if (ns < 2) {
        r->filter.ns = namespaces[ns];
        used += (size_t)snprintf(r->where + used, sizeof r->where - used, " AND namespace = '%s'",
                                 namespaces[ns]);
    }
    if (chance(&r->seed, 3) == 0) {
        r->filter.partition_from = from;
        r->filter.partition_to = from + 55;
        (void)snprintf(r->where + used, sizeof r->where - used,
                       " AND partition_key BETWEEN %d AND %d", (int)from, (int)from + 55);
    }
}

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
            for (int i = 0; slow && !r->show->over && i < 50; i++)
                pause_us(20000);
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
        struct held held;
        struct name name;

        s.ns = namespaces[chance(&seed, 2)];
        name = given(t, &s);
        if (chance(&seed, 4) == 0)
            (void)when_cancelled(t, name.id);
        else if (claims_one(t, &r, &held) && chance(&seed, 3))
            (void)when_completed(t, &held, NULL);
    }
}

static void hundred_subscribers(struct test *t)
{
    struct show *const show = keep(t, sizeof *show);
    struct reader *const readers = keep(t, CROWD * sizeof *readers);
    struct test_thread *threads[CROWD];
    struct ff_engine_stats stats;
    struct other other;
    int comings = 0;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, &other);
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
        char sql[512];

        (void)snprintf(sql, sizeof sql, "SELECT event_id FROM ff_event WHERE %s ORDER BY event_id",
                       readers[i].where);
        ids_read(t, &other, sql, truth);
        EXPECT_IDS(t, truth, readers[i].tally.ids);
        comings += readers[i].comings;
    }
    ff_engine_stats(t->client->engine, &stats);
    (void)printf("# %d subscriptions; at most %lld bytes waited for one\n", comings,
                 (long long)stats.follow_bytes_max);
    EXPECT(t, comings > CROWD);
    EXPECT(t, stats.follow_bytes_max <= FF_FOLLOW_BYTES_MAX + 16384);
}

const struct plain_case crowd_cases[] = {
    {"crowd/everybody_gets_what_its_filter_says", TEST_STORE_POSTGRES, hundred_subscribers, false},
    {0},
};
