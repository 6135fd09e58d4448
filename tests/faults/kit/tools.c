/* SPDX-License-Identifier: Apache-2.0
 *
 * tools.c -- the log of the engine, its figures, completion events.
 *
 * Read first: faults.h. */
#include "faults.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/fault.h"

#include "base/banned.h"

/* ---- the log ---- */

#define LOG_BYTES (1 << 20)

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char *log_text;
static size_t log_used;

static void catch_line(void *ctx, enum ff_log_level level, struct ff_str line)
{
    (void)ctx;
    (void)level;
    (void)pthread_mutex_lock(&log_lock);
    if (log_used + line.len + 1 < LOG_BYTES) {
        memcpy(log_text + log_used, line.ptr, line.len);
        log_used += line.len;
        log_text[log_used] = '\0';
    }
    (void)pthread_mutex_unlock(&log_lock);
}

void log_catch(void)
{
    static char text[LOG_BYTES];

    (void)pthread_mutex_lock(&log_lock);
    log_text = text;
    log_used = 0;
    text[0] = '\0';
    (void)pthread_mutex_unlock(&log_lock);
    if (!getenv("FF_TEST_LOUD"))
        ff_log_set_sink(catch_line, NULL);
}

size_t log_lines(const char *text)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&log_lock);
    for (const char *at = strstr(log_text, text); at; at = strstr(at + 1, text))
        count++;
    (void)pthread_mutex_unlock(&log_lock);
    return count;
}

/* ---- opening ---- */

struct ff_store *open_under_faults(struct test *t, const struct ff_fault *fault,
                                   struct ff_engine_options options, int64_t timeout_ms)
{
    const struct ff_store_options store_options = {
        .url = t->url, .create = true, .clock = ff_clock_system(), .random = ff_random_system()};
    struct ff_engine *engine;
    struct ff_store *store;

    EXPECT_OK(t, ff_store_open(&store_options, &store, &t->err));
    options.store = ff_store_fault_new(store, fault);
    EXPECT(t, options.store != NULL);
    EXPECT_OK(t, ff_engine_new(&options, &engine, &t->err));
    t->client = ff_client_of_engine(engine, timeout_ms);
    EXPECT(t, t->client != NULL);
    return options.store;
}

/* ---- looking ---- */

struct ff_engine_stats stats_of(const struct ff_client *client)
{
    struct ff_engine_stats stats;

    ff_engine_stats(client->engine, &stats);
    return stats;
}

size_t completions_of(struct test *t, const char *id)
{
    struct ff_event_list events = {0};
    size_t count = 0;

    EXPECT_OK(t, ff_history(t->client, id, NULL, 1000, &events, &t->err));
    for (size_t i = 0; i < events.count; i++)
        count += !strcmp(events.items[i].kind, "completion");
    ff_answer_free(&events);
    return count;
}
