/* SPDX-License-Identifier: Apache-2.0
 *
 * load.c -- many threads that submit, claim and complete, and what must be true afterwards.
 *
 * Read first: load.h. */
#include "kit/load.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "model/lease.h"

#include "base/banned.h"

#define THREADS_MAX 16
#define LATE_MS     30000 /* a call may end this much after its time; machines are slow */
#define AT_ONCE     4
#define TTL_MS      600000 /* nothing lapses: every attempt must be the first */

struct load {
    struct test_thread *threads[THREADS_MAX];
    size_t thread_count;
    int64_t timeout_ms;
    atomic_bool stop;
    atomic_llong submitted, done, longest_ms;
    atomic_llong answers[FF_STATUS_COUNT];
};

/* Counts the answer; true: it counts, false: say it again. */
static bool is_answer(struct test *t, struct load *load, ff_status status, int64_t began_ms)
{
    const long long took_ms = test_mono_ms() - began_ms;
    long long longest_ms = atomic_load(&load->longest_ms);

    while (took_ms > longest_ms &&
           !atomic_compare_exchange_weak(&load->longest_ms, &longest_ms, took_ms))
        ;
    atomic_fetch_add(&load->answers[status], 1);
    if (status == FF_OK)
        return true;
    if (!ff_status_retryable(status) && status != FF_OUTCOME_UNKNOWN)
        FAIL(t, "a caller was told %s: %s", ff_status_code(status), t->err.message);
    test_pause();
    return false;
}

static void submit_until_done(struct test *t, struct load *load, const char *key)
{
    struct ff_submission item = submission();
    struct ff_submitted submitted;
    int64_t began_ms;

    item.idempotency_key = key;
    do {
        began_ms = test_mono_ms();
    } while (!is_answer(t, load, when_submitted(t, &item, &submitted), began_ms));
    atomic_fetch_add(&load->submitted, 1);
}

static size_t claim_until_done(struct test *t, struct load *load, size_t index, const char *key,
                               struct held *ret)
{
    struct ff_claim_request r = claim_request();
    char instance[32];
    struct ff_tasks tasks = {0};
    ff_status status;
    int64_t began_ms;
    size_t count;

    (void)snprintf(instance, sizeof instance, "load-%zu", index);
    r.worker_instance_id = instance;
    r.request_id = key;
    r.max = AT_ONCE;
    r.lease_ttl_ms = TTL_MS;
    do {
        began_ms = test_mono_ms();
        status = ff_claim(t->client, &r, &tasks, &t->err);
    } while (!is_answer(t, load, status, began_ms));
    count = tasks.count;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(ret[i].id, FF_ID_BYTES, "%s", tasks.items[i].execution_id);
        (void)snprintf(ret[i].lease_id, FF_UUID_BYTES, "%s", tasks.items[i].lease_id);
        ret[i].epoch = tasks.items[i].lease_epoch;
    }
    ff_answer_free(&tasks);
    return count;
}

static void complete_until_done(struct test *t, struct load *load, const struct held *held)
{
    int64_t began_ms;

    do {
        began_ms = test_mono_ms();
    } while (!is_answer(t, load, when_completed(t, held, "1"), began_ms));
    atomic_fetch_add(&load->done, 1);
}

static void work(struct test *t, size_t index, void *ctx)
{
    struct load *const load = ctx;
    struct held held[AT_ONCE];
    char key[48];

    for (unsigned round = 0; !atomic_load(&load->stop); round++) {
        size_t count;

        (void)snprintf(key, sizeof key, "%zu-%u", index, round);
        submit_until_done(t, load, key);
        count = claim_until_done(t, load, index, key, held);
        for (size_t i = 0; i < count; i++)
            complete_until_done(t, load, &held[i]);
    }
}

struct load *load_start(struct test *t, const char *url, size_t threads, int64_t timeout_ms)
{
    const struct ff_options options = {.size = sizeof options, .timeout_ms = timeout_ms};

    EXPECT_OK(t, ff_open(url, &options, &t->client, &t->err));
    return load_start_on(t, threads, timeout_ms);
}

struct load *load_start_on(struct test *t, size_t threads, int64_t timeout_ms)
{
    struct load *const load = keep(t, sizeof *load);

    load->timeout_ms = timeout_ms;
    load->thread_count = threads;
    for (size_t i = 0; i < threads; i++)
        load->threads[i] = start_thread(t, work, i, load);
    return load;
}

int64_t load_done(const struct load *load)
{
    return atomic_load(&load->done);
}

int64_t load_answers(const struct load *load, ff_status status)
{
    return atomic_load(&load->answers[status]);
}

/* Anything still waiting or held by nobody. */
static void finish_rest(struct test *t, struct load *load)
{
    struct held held[AT_ONCE];
    char key[48];
    size_t count;
    unsigned round = 0;

    do {
        (void)snprintf(key, sizeof key, "rest-%u", round++);
        count = claim_until_done(t, load, THREADS_MAX, key, held);
        for (size_t i = 0; i < count; i++)
            complete_until_done(t, load, &held[i]);
    } while (count);
}

/* One end for each; whatever else there was is a claim that could not hand over what it had. */
static void check_tables(struct test *t, int64_t all)
{
    struct other other;
    int64_t attempts;

    other_open(t, &other);
    EXPECT_INT(t, all, other_says(t, &other, "SELECT count(*) FROM @.ff_execution"));
    EXPECT_INT(t, all,
               other_says(t, &other,
                          "SELECT count(*) FROM @.ff_exec_core WHERE public_state = 'completed'"));
    EXPECT_INT(t, all, other_says(t, &other, "SELECT count(*) FROM @.ff_completion_event"));
    /* The attempts that completed them are on their rows. */
    EXPECT_INT(t, all,
               other_says(t, &other,
                          "SELECT count(*) FROM @.ff_execution"
                          " WHERE lease_acquired_at_ms IS NOT NULL AND last_end = %d",
                          FF_END_COMPLETED));
    attempts = other_says(t, &other, "SELECT count(*) FROM @.ff_attempt WHERE outcome = %d",
                          FF_END_RELEASED);
    EXPECT_INT(t, attempts, other_says(t, &other, "SELECT count(*) FROM @.ff_attempt"));
    EXPECT_INT(t, all + attempts,
               other_says(t, &other,
                          "SELECT count(*) FROM @.ff_lease_event WHERE event_type = 'acquired'"));
}

/* The same as far as the API tells, one by one. */
static void check_listed(struct test *t, int64_t all)
{
    struct ff_info_list page = {0};
    struct ff_filter filter;

    ff_filter_init(&filter);
    filter.limit = 1000;
    EXPECT_OK(t, ff_list(t->client, &filter, &page, &t->err));
    keep_answer(t, page.memory);
    EXPECT_INT(t, all, (int64_t)page.count);
    for (size_t i = 0; i < page.count; i++) {
        const char *const id = page.items[i].execution_id;
        const struct ff_attempt_list *const tenancies = attempts(t, id);
        size_t completed = 0;

        for (size_t k = 0; k < tenancies->count; k++) {
            completed += !strcmp(tenancies->items[k].outcome, "completed");
            EXPECT(t, !strcmp(tenancies->items[k].outcome, "completed") ||
                          !strcmp(tenancies->items[k].outcome, "released"));
        }
        EXPECT_TEXT(t, "completed", page.items[i].public_state);
        EXPECT_INT(t, 1, (int64_t)completed);
        EXPECT_INT(t, 1, (int64_t)completions_of(t, id));
    }
}

void load_check(struct test *t, struct load *load, const char *what)
{
    struct ff_engine_stats stats;

    atomic_store(&load->stop, true);
    for (size_t i = 0; i < load->thread_count; i++)
        join_thread(t, load->threads[i]);
    finish_rest(t, load);
    stats = stats_of(t->client);
    (void)printf("# %s: %lld done, longest call %lld ms; engine: %" PRId64 " batches, %" PRId64
                 " reruns, %" PRId64 " unknown, %" PRId64 " of them committed\n",
                 what, (long long)load->done, (long long)load->longest_ms, stats.batches,
                 stats.reruns, stats.unknowns, stats.resolved_committed);
    for (int status = 1; status < FF_STATUS_COUNT; status++)
        if (load->answers[status])
            (void)printf("#   %lld times %s\n", (long long)load->answers[status],
                         ff_status_code((ff_status)status));
    EXPECT_INT(t, atomic_load(&load->submitted), load_done(load));
    if (load->longest_ms > load->timeout_ms + LATE_MS)
        FAIL(t, "a call with a limit of %lld ms took %lld ms", (long long)load->timeout_ms,
             (long long)load->longest_ms);
    if (t->store->kind == TEST_STORE_POSTGRES)
        check_tables(t, load_done(load));
    else
        check_listed(t, load_done(load));
}
