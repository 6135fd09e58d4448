/* SPDX-License-Identifier: Apache-2.0
 *
 * scrape.c -- /metrics: what the engine, the lanes and the server have counted.
 *
 * Labels are bounded: routes, state names, and at most FF_HTTP_METRIC_LANES_MAX lanes.
 * Tests: tests/e2e/test_http.py. */
#include <inttypes.h>
#include <string.h>

#include "api/async.h"
#include "api/client.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/str.h"
#include "engine/engine.h"
#include "engine/measure.h"
#include "http/handlers.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

#define LOOPS_MAX 64

static void add_engine(struct ff_strbuf *out, struct ff_engine *engine)
{
    struct ff_engine_stats stats;

    ff_engine_stats(engine, &stats);
    ff_metric_one(out, "ff_batches_total", "counter", "Batches committed.", stats.batches);
    ff_metric_one(out, "ff_jobs_total", "counter", "Operations answered.", stats.jobs);
    ff_metric_one(out, "ff_store_calls_total", "counter", "Calls to the store.", stats.store_calls);
    ff_metric_one(out, "ff_store_reruns_total", "counter", "Batches run again.", stats.reruns);
    ff_metric_one(out, "ff_store_busy_total", "counter",
                  "Operations that met a row somebody else held.", stats.busy);
    ff_metric_one(out, "ff_store_unknown_total", "counter", "Commits whose answer was lost.",
                  stats.unknowns);
    ff_metric_one(out, "ff_poison_total", "counter", "Operations that failed alone.", stats.poison);
    ff_metric_one(out, "ff_claim_wakeups_total", "counter",
                  "Waiting claims woken by a hint or handed their work, not by a poll.",
                  stats.wakeups);
}

static void add_loops(struct ff_strbuf *out, struct ff_engine *engine)
{
    struct ff_loop_report loops[LOOPS_MAX];
    const size_t count = ff_min_size(ff_engine_loops(engine, loops, LOOPS_MAX), LOOPS_MAX);

    ff_metric_head(out, "ff_loop_processed_total", "counter", "Rows a loop has dealt with.");
    for (size_t i = 0; i < count; i++)
        ff_strbuf_addf(out, "ff_loop_processed_total{loop=\"%s\"} %" PRId64 "\n", loops[i].name,
                       loops[i].processed);
    ff_metric_head(out, "ff_loop_errors_total", "counter", "Ticks of a loop that failed.");
    for (size_t i = 0; i < count; i++)
        ff_strbuf_addf(out, "ff_loop_errors_total{loop=\"%s\"} %" PRId64 "\n", loops[i].name,
                       loops[i].errors);
    for (size_t i = 0; i < count; i++)
        if (strcmp(loops[i].name, "lease_expiry") == 0)
            ff_metric_one(out, "ff_lease_expired_total", "counter",
                          "Leases that lapsed and were acted on by this process.",
                          loops[i].processed);
}

/* A lane is printable ASCII; quotes and backslashes are escaped. */
static void add_label(struct ff_strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            ff_strbuf_addc(out, '\\');
        ff_strbuf_addc(out, *text);
    }
}

/* ---- what the engine has measured ---- */

static void add_seconds(struct ff_strbuf *out, const char *name, const char *help,
                        const struct ff_histogram *histogram)
{
    ff_metric_head(out, name, "histogram", help);
    ff_metric_histogram(out, name, "", histogram);
}

static void add_runs(struct ff_strbuf *out, struct ff_engine *engine, struct ff_arena *arena)
{
    struct ff_lane_runs *const runs =
        ff_arena_array(arena, FF_MEASURED_LANES_MAX + 1, sizeof *runs);
    const size_t count = runs ? ff_engine_lane_runs(engine, runs) : 0;

    ff_metric_head(out, "ff_runs_total", "counter",
                   "Executions that this process has brought to their end.");
    for (size_t i = 0; i < count; i++)
        for (int32_t type = 1; type < FF_MEASURED_OUTCOMES; type++) {
            if (!runs[i].ended[type])
                continue;
            ff_strbuf_adds(out, "ff_runs_total{queue=\"");
            add_label(out, runs[i].lane);
            ff_strbuf_addf(out, "\",outcome=\"%s\"} %" PRId64 "\n",
                           ff_event_type_name(FF_EVENT_COMPLETION, type), runs[i].ended[type]);
        }
}

static void add_measures(struct ff_strbuf *out, struct ff_engine *engine, struct ff_arena *arena)
{
    const struct ff_measures *const all = ff_engine_measures(engine);

    add_runs(out, engine, arena);
    add_seconds(out, "ff_run_duration_seconds", "From the first claim to the end.", &all->run);
    add_seconds(out, "ff_queue_wait_seconds",
                "From the last change of a waiting execution to its claim.", &all->queue_wait);
    add_seconds(out, "ff_lease_renew_seconds", "From the request to the answer.", &all->renew);
    ff_metric_head(out, "ff_store_tx_seconds", "histogram",
                   "A batch from its load to its commit, or one read.");
    ff_metric_histogram(out, "ff_store_tx_seconds", "op=\"batch\"", &all->batch);
    ff_metric_histogram(out, "ff_store_tx_seconds", "op=\"read\"", &all->read);
    ff_metric_head(out, "ff_timers_late_seconds", "gauge",
                   "How late the oldest timer is that has not gone off.");
    ff_strbuf_addf(out, "ff_timers_late_seconds %.3f\n",
                   (double)ff_engine_timers_late_ms(engine) / 1000.0);
    ff_metric_one(out, "ff_events_lag", "gauge",
                  "Events that are in the log and not yet shown to those who follow it.",
                  ff_engine_events_lag(engine));
}

static void add_depth(struct ff_strbuf *out, const char *lane, const char *state, int64_t count)
{
    ff_strbuf_adds(out, "ff_queue_depth{queue=\"");
    add_label(out, lane);
    ff_strbuf_addf(out, "\",state=\"%s\"} %" PRId64 "\n", state, count);
}

static void add_wal(struct ff_strbuf *out, struct ff_engine *engine)
{
    int64_t bytes;

    if (ff_engine_wal_bytes(engine, FF_HTTP_READY_MS, &bytes, NULL) == FF_OK)
        ff_metric_one(out, "ff_wal_bytes_total", "counter",
                      "Bytes written to the write-ahead log: on Postgres by everybody on that "
                      "server, on SQLite by this process.",
                      bytes);
}

static void add_lanes(struct ff_strbuf *out, struct ff_server *server)
{
    FF_AUTO(ff_answer_free) struct ff_lane_list list = {0};
    const int64_t now_ms = ff_clock_real_ms(&server->clock);
    /* A store that is away would keep the scrape waiting for everything else, too. */
    const bool is_there = ff_ping(server->client, FF_HTTP_READY_MS, NULL) == FF_OK &&
                          ff_lanes(server->client, &list, NULL) == FF_OK;
    const size_t count = ff_min_size(list.count, FF_HTTP_METRIC_LANES_MAX);

    ff_metric_one(out, "ff_store_up", "gauge", "1 if the store answered just now.", is_there);
    if (is_there)
        add_wal(out, server->client->engine);
    ff_metric_head(out, "ff_queue_depth", "gauge", "Executions by lane and live state.");
    for (size_t i = 0; i < count; i++) {
        add_depth(out, list.items[i].lane, "waiting", list.items[i].waiting);
        add_depth(out, list.items[i].lane, "delayed", list.items[i].delayed);
        add_depth(out, list.items[i].lane, "blocked", list.items[i].blocked);
        add_depth(out, list.items[i].lane, "active", list.items[i].active);
    }
    ff_metric_head(out, "ff_oldest_ready_age_seconds", "gauge",
                   "How long the oldest waiting execution of a lane has waited.");
    for (size_t i = 0; i < count; i++) {
        if (list.items[i].oldest_waiting_at_ms == FF_ABSENT_MS)
            continue;
        ff_strbuf_adds(out, "ff_oldest_ready_age_seconds{queue=\"");
        add_label(out, list.items[i].lane);
        ff_strbuf_addf(out, "\"} %.3f\n",
                       (double)ff_max_i64(now_ms - list.items[i].oldest_waiting_at_ms, 0) / 1000.0);
    }
}

static void add_server(struct ff_strbuf *out, const struct ff_server *server)
{
    const struct ff_metrics *const metrics = &server->metrics;

    ff_metric_head(out, "ff_build_info", "gauge", "The version of the server.");
    ff_strbuf_addf(out, "ff_build_info{version=\"%s\"} 1\n", ff_version());
    ff_metric_one(out, "ff_http_connections", "gauge", "Connections.", (int64_t)server->link_count);
    ff_metric_one(out, "ff_http_connections_total", "counter", "Connections ever.",
                  metrics->connections_total);
    ff_metric_one(out, "ff_http_crowded_total", "counter",
                  "Connections above the limit: answered 503.", metrics->crowded_total);
    ff_metric_one(out, "ff_http_cut_total", "counter", "Connections cut for being too slow.",
                  metrics->cut_total);
    ff_metric_one(out, "ff_http_malformed_total", "counter",
                  "What was not HTTP, and was answered by libmicrohttpd.",
                  metrics->malformed_total);
    ff_metric_one(out, "ff_http_gone_total", "counter", "Clients that left while they waited.",
                  metrics->gone_total);
    ff_metric_one(out, "ff_tasks_undelivered_total", "counter",
                  "Claimed tasks that could not be handed over and were released.",
                  metrics->undelivered_total);
    ff_metric_one(out, "ff_waiting_claims", "gauge", "Claims under way.", metrics->waiting_claims);
    ff_metric_one(out, "ff_sse_clients", "gauge", "Event streams.", metrics->streams);
}

/* ---- OpenMetrics ---- */

#define HELP_OR_TYPE_BYTES 7 /* "# HELP " */

static bool wants_openmetrics(const struct ff_request *request)
{
    const char *const accept =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

    return accept && strstr(accept, "application/openmetrics-text");
}

/* The same text, but a counter's family is called without the `_total` of its samples, and the end
 * is marked. */
static void as_openmetrics(struct ff_strbuf *out, struct ff_str text)
{
    static const struct ff_str total = FF_STR_INIT("_total");

    while (text.len > 0) {
        const char *const eol = memchr(text.ptr, '\n', text.len);
        const size_t line = eol ? (size_t)(eol - text.ptr) + 1 : text.len;
        const bool is_head = text.ptr[0] == '#' && line > HELP_OR_TYPE_BYTES;
        const char *const name = text.ptr + HELP_OR_TYPE_BYTES;
        const char *const end = is_head ? memchr(name, ' ', line - HELP_OR_TYPE_BYTES) : NULL;
        const size_t head = end ? (size_t)(end - text.ptr) : 0;
        const size_t cut =
            head > total.len && memcmp(end - total.len, total.ptr, total.len) == 0 ? total.len : 0;

        ff_strbuf_add(out, (struct ff_str){text.ptr, head - cut});
        ff_strbuf_add(out, (struct ff_str){text.ptr + head, line - head});
        text = (struct ff_str){text.ptr + line, text.len - line};
    }
    ff_strbuf_adds(out, "# EOF\n");
}

bool ff_handle_metrics(struct ff_request *request)
{
    const bool open = wants_openmetrics(request);
    struct ff_server *const server = request->server;
    struct ff_strbuf out = ff_strbuf_in(&request->arena, FF_HTTP_ANSWER_BYTES_MAX);
    struct ff_error error;
    struct ff_str text;

    add_server(&out, server);
    add_engine(&out, server->client->engine);
    add_loops(&out, server->client->engine);
    add_measures(&out, server->client->engine, &request->arena);
    add_lanes(&out, server);
    ff_metrics_write_requests(&out, &server->metrics);
    ff_status status = ff_strbuf_take(&out, &text, &error);
    if (status == FF_OK && open) {
        as_openmetrics(&out, text);
        status = ff_strbuf_take(&out, &text, &error);
    }
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_bytes(request, 200,
                           open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8",
                           text);
}
