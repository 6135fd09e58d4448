/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- runs the cases of this ring, and the small things they share.
 *
 * ff-events [PART-OF-A-NAME...]. Read first: README.md. */
#include "events.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

#include "base/banned.h"

#define TOGETHER 500
#define AT_ONCE  256

static const struct plain_case *const tables[] = {
    log_cases, crowd_cases, kept_cases, story_cases, failover_cases, restored_cases, hints_cases};

/* ---- ids ---- */

static void ids_release(void *memory)
{
    free(((struct ids *)memory)->items);
}

struct ids *ids_new(struct test *t)
{
    return keep_until(t, sizeof(struct ids), ids_release);
}

void ids_add(struct ids *ids, int64_t id)
{
    if (ids->count == ids->cap) {
        ids->cap = ids->cap ? ids->cap * 2 : 1024;
        ids->items = realloc(ids->items, ids->cap * sizeof *ids->items);
        if (!ids->items)
            abort();
    }
    ids->items[ids->count++] = id;
}

void ids_read(struct test *t, struct other *other, const char *sql, struct ids *ret)
{
    char text[1024];
    PGresult *result;

    (void)snprintf(text, sizeof text, "SET search_path = %s", other->schema);
    PQclear(PQexec(other->conn, text));
    result = PQexec(other->conn, sql);
    for (int i = 0; i < PQntuples(result); i++)
        ids_add(ret, strtoll(PQgetvalue(result, i, 0), NULL, 10));
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        PQclear(result);
        FAIL(t, "%s: %s", sql, PQerrorMessage(other->conn));
    }
    PQclear(result);
}

void expect_ids(struct test *t, const char *file, int line, const struct ids *want,
                const struct ids *got)
{
    for (size_t i = 0; i < want->count || i < got->count; i++) {
        if (i < want->count && i < got->count && want->items[i] == got->items[i])
            continue;
        test_fail(t, file, line, "number %zu of %zu is %lld, not %lld (%zu were wanted)", i,
                  got->count, i < got->count ? (long long)got->items[i] : -1LL,
                  i < want->count ? (long long)want->items[i] : -1LL, want->count);
    }
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

void expect_distinct(struct test *t, const struct ids *ids)
{
    int64_t *const sorted = keep(t, (ids->count + 1) * sizeof *sorted);

    memcpy(sorted, ids->items, ids->count * sizeof *sorted);
    qsort(sorted, ids->count, sizeof *sorted, compare_ids);
    for (size_t i = 1; i < ids->count; i++)
        if (sorted[i] == sorted[i - 1])
            FAIL(t, "id %lld came twice", (long long)sorted[i]);
}

/* ---- servers ---- */

int run_tool(const char *tool, const char *verb, const char *dir, const char *other)
{
    char self[512], command[1024];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *at;

    if (len <= 0)
        return -1;
    self[len] = '\0';
    for (int i = 0; i < 4 && (at = strrchr(self, '/')); i++)
        *at = '\0'; /* build/asan/tests/ff-events */
    (void)snprintf(command, sizeof command,
                   "%s/tests/support/%s %s %s %s >/dev/null 2>&1 </dev/null", self, tool, verb, dir,
                   other);
    return system(command);
}

bool is_served(struct test *t)
{
    const struct ff_submission s = submission();
    struct ff_submitted made;

    return ff_submit(t->client, &s, 1, &made, &t->err) == FF_OK && made.status == FF_OK;
}

/* ---- writing ---- */

void given_events(struct test *t, size_t executions)
{
    for (size_t done = 0; done < executions; done += TOGETHER) {
        struct ff_submission *const items = keep(t, TOGETHER * sizeof *items);
        struct ff_submitted *const made = keep(t, TOGETHER * sizeof *made);
        struct ff_bulk_result cancelled = {0};
        struct ff_filter filter;

        for (size_t i = 0; i < TOGETHER; i++)
            items[i] = submission();
        EXPECT_OK(t, ff_submit(t->client, items, TOGETHER, made, &t->err));
        ff_filter_init(&filter);
        filter.state = "waiting";
        EXPECT_OK(t, ff_cancel_where(t->client, &filter, "enough", &cancelled, &t->err));
        EXPECT_INT(t, TOGETHER, cancelled.done);
    }
}

void given_long_events(struct test *t, size_t executions)
{
    struct held *const held = keep(t, AT_ONCE * sizeof *held);
    struct ff_failure *const failures = keep(t, AT_ONCE * sizeof *failures);
    struct ff_task_result *const results = keep(t, AT_ONCE * sizeof *results);
    struct ff_claim_request r = claim_request();
    const char *const message = text_of(t, LONG_BYTES, 'n');

    r.max = AT_ONCE;
    for (size_t done = 0; done < executions; done += AT_ONCE) {
        for (size_t i = 0; i < AT_ONCE; i++)
            (void)given_submitted(t);
        EXPECT_INT(t, AT_ONCE, (int64_t)when_claimed_many(t, &r, held, AT_ONCE));
        for (size_t i = 0; i < AT_ONCE; i++) {
            failures[i] = failure_of(&held[i], "permanent");
            failures[i].message = message;
        }
        EXPECT_OK(t, ff_fail_task(t->client, failures, AT_ONCE, results, &t->err));
    }
}

/* ---- following ---- */

bool take_once(struct test *t, struct ff_subscription *sub, size_t max, int64_t timeout_ms,
               struct tally *tally)
{
    struct ff_delivery delivery = {0};
    const ff_status status = ff_subscription_next(sub, max, timeout_ms, &delivery, &t->err);
    bool came;

    if (status != FF_OK)
        FAIL(t, "next: %s", t->err.message);
    came = delivery.count || delivery.notice;
    for (size_t i = 0; i < delivery.count; i++)
        ids_add(tally->ids, delivery.items[i].event_id);
    if (delivery.notice) {
        tally->disconnected += strcmp(delivery.notice, "disconnected") == 0;
        tally->resets += strcmp(delivery.notice, "reset") == 0;
        tally->gaps += strcmp(delivery.notice, "gap") == 0;
    }
    (void)snprintf(tally->cursor, sizeof tally->cursor, "%s", delivery.cursor);
    ff_answer_free(&delivery);
    return came;
}

void take_until(struct test *t, struct ff_subscription *sub, struct tally *tally, const char *end)
{
    const int64_t until_ms = test_mono_ms() + 60000;

    do {
        if (!take_once(t, sub, 0, 50, tally) && test_mono_ms() > until_ms)
            FAIL(t, "stays at %s, the log ends at %s", tally->cursor, end);
    } while (strcmp(tally->cursor, end) < 0);
}

/* ---- chance ---- */

uint32_t chance(uint64_t *seed, uint32_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)(*seed >> 33) % below;
}

void dawdle(long us)
{
    const struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    (void)nanosleep(&pause, NULL);
}

/* ---- the heap of the library ---- */

static _Atomic long long heap_bytes, heap_most;

static void *counted(void *memory)
{
    if (memory) {
        const long long now = heap_bytes += (long long)malloc_usable_size(memory);
        long long most = heap_most;

        while (now > most && !atomic_compare_exchange_weak(&heap_most, &most, now))
            ;
    }
    return memory;
}

static void *count_malloc(size_t bytes)
{
    return counted(malloc(bytes));
}

static void *count_calloc(size_t count, size_t bytes)
{
    return counted(calloc(count, bytes));
}

static void *count_realloc(void *memory, size_t bytes)
{
    const long long before = (long long)malloc_usable_size(memory);
    void *const grown = realloc(memory, bytes);

    if (grown)
        heap_bytes -= before;
    return counted(grown);
}

static void count_free(void *memory)
{
    heap_bytes -= (long long)malloc_usable_size(memory);
    free(memory);
}

long long heap_peak_begin(void)
{
    return heap_most = heap_bytes;
}

long long heap_peak(void)
{
    return heap_most;
}

/* The engine's complaints about what is done to it. */
static void ignore(void *ctx, enum ff_log_level level, struct ff_str line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static void end(struct test *t)
{
    (void)t;
    others_done();
}

int main(int argc, char **argv)
{
    const struct plain_ring ring = {.name = "events",
                                    .tables = tables,
                                    .table_count = sizeof tables / sizeof tables[0],
                                    .at_last = end};

    static const struct ff_alloc_hooks heap = {count_malloc, count_calloc, count_realloc,
                                               count_free};

    ff_alloc_set_hooks(&heap);
    if (!getenv("FF_TEST_LOUD"))
        ff_log_set_sink(ignore, NULL);
    if (argc == 5 && !strcmp(argv[1], "--child"))
        return child_works(argv[3], (int)strtol(argv[4], NULL, 10));
    return run_cases(&ring, (const char *const *)(argv + 1), (size_t)(argc - 1));
}
