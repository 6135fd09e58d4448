/* SPDX-License-Identifier: Apache-2.0
 *
 * operate.c -- routes for whoever runs the server: lanes, workers, loops, health.
 *
 * Tests: tests/e2e/test_http.py. */
#include <string.h>

#include "api/async.h"
#include "base/str.h"
#include "engine/engine.h"
#include "http/handlers.h"
#include "http/limits.h"
#include "http/server-int.h"
#include "http/single.h"

#include "base/banned.h"

bool ff_handle_lane_list(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_lane_list list = {0};
    struct ff_error error;
    const ff_status status = ff_lanes(request->server->client, &list, &error);

    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_json(request, 200, ff_json_lanes(&list));
}

static int write_lane(const struct ff_request *request, const void *result, json_t **ret_json)
{
    struct ff_json_maker made = ff_json_make();

    (void)result;
    ff_json_put_text(&made, "lane", request->params[0]);
    ff_json_put_bool(&made, "paused", request->route == &ff_routes[FF_ROUTE_LANE_PAUSE]);
    *ret_json = ff_json_made(&made);
    return 200;
}

static bool lane_change(struct ff_request *request, bool paused)
{
    static const struct ff_single single = {.type = &ff_lane_type, .write = write_lane};
    struct ff_reason_body body;

    if (!ff_request_body(request, &ff_shape_reason, &body))
        return true;
    const struct ff_operation operation = {.execution_id = request->params[0],
                                           .by = request->token ? request->token->name : NULL,
                                           .reason = body.reason,
                                           .paused = paused};
    return ff_single_run(request, &single, &operation);
}

bool ff_handle_lane_pause(struct ff_request *request)
{
    return lane_change(request, true);
}

bool ff_handle_lane_resume(struct ff_request *request)
{
    return lane_change(request, false);
}

bool ff_handle_worker_list(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_worker_list list = {0};
    struct ff_error error;
    const ff_status status = ff_workers(request->server->client, &list, &error);
    size_t kept = 0;

    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    for (size_t i = 0; i < list.count; i++)
        if (ff_token_allows(request->token, list.items[i].ns))
            list.items[kept++] = list.items[i];
    list.count = kept;
    return ff_answer_json(request, 200, ff_json_workers(&list));
}

bool ff_handle_scanner_list(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_scanner_list list = {0};
    struct ff_error error;
    const ff_status status = ff_scanners(request->server->client, &list, &error);

    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_json(request, 200, ff_json_scanners(&list));
}

/* ---- counters ---------------------------------------------------------------------------------
 */

bool ff_handle_stats(struct ff_request *request)
{
    struct ff_server *const server = request->server;
    struct ff_json_maker made = ff_json_make(), engine = ff_json_make(), http = ff_json_make();
    struct ff_engine_stats stats;

    ff_engine_stats(server->client->engine, &stats);
    ff_json_put_i64(&engine, "batches", stats.batches);
    ff_json_put_i64(&engine, "jobs", stats.jobs);
    ff_json_put_i64(&engine, "batch_jobs_max", stats.batch_jobs_max);
    ff_json_put_i64(&engine, "store_calls", stats.store_calls);
    ff_json_put_i64(&engine, "reruns", stats.reruns);
    ff_json_put_i64(&engine, "bisections", stats.bisections);
    ff_json_put_i64(&engine, "busy", stats.busy);
    ff_json_put_i64(&engine, "unknowns", stats.unknowns);
    ff_json_put_i64(&engine, "poison", stats.poison);
    ff_json_put_i64(&engine, "wakeups", stats.wakeups);
    ff_json_put_i64(&http, "connections", (int64_t)server->link_count);
    ff_json_put_i64(&http, "requests_under_way", (int64_t)server->under_way);
    ff_json_put_i64(&http, "waiting_claims", server->metrics.waiting_claims);
    ff_json_put_i64(&http, "streams", server->metrics.streams);
    ff_json_put_text(&made, "version", ff_version());
    ff_json_put_ms(&made, "started_at_ms", server->started_ms);
    ff_json_put(&made, "engine", ff_json_made(&engine));
    ff_json_put(&made, "http", ff_json_made(&http));
    return ff_answer_json(request, 200, ff_json_made(&made));
}

/* ---- health -----------------------------------------------------------------------------------
 */

bool ff_handle_livez(struct ff_request *request)
{
    return ff_answer_bytes(request, 200, "text/plain; charset=utf-8", FF_STR("ok\n"));
}

static bool ready_verbose(struct ff_request *request, ff_status status,
                          const struct ff_error *error)
{
    const struct ff_store_facts *const facts = ff_engine_facts(request->server->client->engine);
    struct ff_json_maker made = ff_json_make();

    ff_json_put_bool(&made, "ready", status == FF_OK && !request->server->draining);
    ff_json_put_text(&made, "store", facts->kind);
    ff_json_put_text(&made, "store_version", facts->version);
    ff_json_put_bool(&made, "store_reachable", status == FF_OK);
    ff_json_put_text(&made, "problem", status == FF_OK ? NULL : error->message);
    ff_json_put_bool(&made, "schema_current", status != FF_SCHEMA);
    ff_json_put_text(&made, "wake_up", facts->wake_up);
    ff_json_put_text(&made, "log", facts->serial_log ? "serial" : "concurrent");
    ff_json_put_bool(&made, "pooler", facts->pooler);
    ff_json_put_text(&made, "warnings", facts->warnings[0] ? facts->warnings : NULL);
    ff_json_put_bool(&made, "draining", request->server->draining);
    ff_json_put_text(&made, "version", ff_version());
    return ff_answer_json(request, status == FF_OK && !request->server->draining ? 200 : 503,
                          ff_json_made(&made));
}

bool ff_handle_readyz(struct ff_request *request)
{
    struct ff_verbose_query query;
    struct ff_error error;

    if (!ff_request_query(request, &ff_shape_verbose_query, &query))
        return true;
    const ff_status status = ff_ping(request->server->client, FF_HTTP_READY_MS, &error);
    if (query.verbose)
        return ready_verbose(request, status, &error);
    if (status != FF_OK)
        return ff_answer_error(request, FF_UNAVAILABLE, &error);
    if (request->server->draining)
        return ff_answer_fail(request, FF_CLOSED, NULL, "the server is stopping");
    return ff_answer_bytes(request, 200, "text/plain; charset=utf-8", FF_STR("ok\n"));
}

bool ff_handle_healthz(struct ff_request *request)
{
    return ff_handle_readyz(request);
}
