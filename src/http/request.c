/* SPDX-License-Identifier: Apache-2.0
 *
 * request.c -- one request from its first line to its answer.
 *
 * Stages: HEAD and BODY on the thread of libmicrohttpd, WORK on a pool while the connection is
 * suspended, READY on libmicrohttpd's again. Tests: tests/e2e/test_http.py. */
#include "http/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/async.h"
#include "base/alloc.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/str.h"
#include "engine/follow.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

#define ARENA_CHUNK_BYTES 8192
#define ARENA_BYTES_MAX   (192 << 20) /* body, its values, and an answer */

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct ff_request *ff_request_new(struct ff_server *server, struct ff_link *conn,
                                  struct MHD_Connection *connection, const char *uri)
{
    const struct ff_random random = ff_random_system();
    struct ff_request *const request = ff_calloc(1, sizeof *request);
    uint8_t bytes[8];

    if (!request)
        return NULL;
    ff_arena_init(&request->arena, ARENA_CHUNK_BYTES, ARENA_BYTES_MAX);
    request->server = server;
    request->conn = conn;
    request->connection = connection;
    request->started_us = now_us();
    request->uri = ff_arena_str(&request->arena, ff_str_of(uri)).ptr;
    ff_random_bytes(&random, bytes, sizeof bytes);
    ff_hex_encode(bytes, sizeof bytes, request->id);
    if (!request->uri) {
        ff_request_free(request);
        return NULL;
    }
    pthread_mutex_lock(&server->lock);
    conn->request = request;
    pthread_mutex_unlock(&server->lock);
    ff_link_allow(server, conn, FF_HTTP_HEAD_MS);
    return request;
}

/* What counts against FF_HTTP_BODIES_BYTES_MAX: large bodies never keep out small ones. */
static size_t counted(size_t cap)
{
    return cap > FF_HTTP_BODY_FREE_BYTES ? cap : 0;
}

void ff_request_free(struct ff_request *request)
{
    if (!request)
        return;
    if (request->drop)
        request->drop(request);
    ff_end_wait_free(request->wait);
    ff_async_free(request->async);
    if (request->response)
        MHD_destroy_response(request->response);
    json_decref(request->body);
    json_decref(request->query);
    atomic_fetch_sub(&request->server->body_bytes, counted(request->raw_cap));
    ff_arena_done(&request->arena);
    ff_free(request);
}

/* ---- on the thread of libmicrohttpd -----------------------------------------------------------
 */

static enum MHD_Result send_answer(struct ff_request *request)
{
    ff_link_allow(request->server, request->conn,
                  FF_HTTP_SEND_MS + (int64_t)request->text.len / FF_HTTP_RATE);
    if (!request->response)
        return MHD_NO;
    FF_FAILPOINT(http_answering);
    return MHD_queue_response(request->connection, (unsigned)request->status, request->response);
}

int64_t ff_request_body_ms(size_t received)
{
    return FF_HTTP_BODY_MS + (int64_t)received / FF_HTTP_RATE;
}

static bool there_is_room(struct ff_server *server, size_t cap, size_t before)
{
    const size_t more = counted(cap) - counted(before);

    if (atomic_fetch_add(&server->body_bytes, more) + more <= server->bodies_bytes_max)
        return true;
    atomic_fetch_sub(&server->body_bytes, more);
    return false;
}

static bool keep(struct ff_request *request, const char *data, size_t bytes)
{
    const size_t max = request->raw_max ? request->raw_max : request->server->body_bytes_max;
    const size_t need = request->raw.len + bytes;

    if (need > max)
        return ff_answer_fail(request, FF_TOO_LARGE, "body", "body has more than %zu bytes", max);
    if (need > request->raw_cap) {
        const size_t cap = ff_min_size(ff_max_size(need, 2 * request->raw_cap), max);

        if (!there_is_room(request->server, cap, request->raw_cap))
            return ff_answer_fail(request, FF_OVERLOADED, "body",
                                  "too many large bodies are under way");
        char *const bigger = ff_arena_grow(&request->arena, (char *)(uintptr_t)request->raw.ptr,
                                           request->raw_cap, cap);
        request->raw_cap = cap;
        if (!bigger)
            return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the body");
        request->raw.ptr = bigger;
    }
    memcpy((char *)(uintptr_t)request->raw.ptr + request->raw.len, data, bytes);
    request->raw.len = need;
    return true;
}

static bool work(struct ff_request *request);

static void run_step(struct ff_step *step)
{
    struct ff_request *const request = (struct ff_request *)(void *)step;

    if (request->next(request)) {
        request->stage = FF_REQUEST_READY;
        MHD_resume_connection(request->connection);
    }
}

static void to_pool(struct ff_request *request)
{
    struct ff_server *const server = request->server;
    const unsigned flags = request->route->flags;

    request->step.run = run_step;
    ff_pool_add(flags & FF_ROUTE_HEALTH                    ? server->health
                : flags & FF_ROUTE_LOOKS || request->looks ? server->look
                                                           : server->work,
                &request->step);
}

/* Whoever sends goes on having time, by the rate it must manage. */
static void allow_body(struct ff_request *request)
{
    const int64_t passed_ms = ff_server_mono_ms(request->server) - request->body_since_mono_ms;
    const int64_t all_ms = ff_request_body_ms(request->raw.len + request->dropped);

    ff_link_allow(request->server, request->conn, ff_max_i64(all_ms - passed_ms, 0));
}

/* Who asks before it sends (curl does, above 1 MiB) is told at once and need not send in vain. */
static bool asks_first(const struct ff_request *request)
{
    const char *const expect =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT);

    return expect && strcasecmp(expect, "100-continue") == 0;
}

enum MHD_Result ff_request_data(struct ff_request *request, const char *method, const char *data,
                                size_t *data_bytes)
{
    switch (request->stage) {
    case FF_REQUEST_HEAD:
        (void)snprintf(request->method, sizeof request->method, "%s", method);
        request->stage = FF_REQUEST_BODY;
        atomic_fetch_add(&request->server->under_way, 1);
        request->body_since_mono_ms = ff_server_mono_ms(request->server);
        allow_body(request);
        ff_request_admit(request);
        if (request->response && !request->closes && asks_first(request)) {
            request->closes = true;
            ff_answer_header(request, MHD_HTTP_HEADER_CONNECTION, "close");
        }
        /* Where a body ends that cannot be trusted is not known: nobody waits for that. */
        return request->closes ? send_answer(request) : MHD_YES;
    case FF_REQUEST_BODY:
        if (*data_bytes) {
            if (!request->response)
                (void)keep(request, data, *data_bytes);
            request->dropped += request->response ? *data_bytes : 0;
            *data_bytes = 0;
            allow_body(request);
            return request->dropped > FF_HTTP_DRAIN_BYTES_MAX ? MHD_NO : MHD_YES;
        }
        if (request->response)
            return send_answer(request);
        request->stage = FF_REQUEST_WORK;
        ff_link_allow(request->server, request->conn, -1);
        request->next = work;
        MHD_suspend_connection(request->connection);
        to_pool(request);
        return MHD_YES;
    case FF_REQUEST_WORK: /* resumed before its time: cannot happen */
        return MHD_YES;
    case FF_REQUEST_READY:
        break;
    }
    return send_answer(request);
}

static void log_over(const struct ff_request *request, bool delivered, int64_t us)
{
    const bool went_well = delivered && request->status < 500;
    const size_t path_len = strcspn(request->uri, "?"); /* a query may say too much */

    const bool is_quiet =
        request->quiet || (request->route && request->route->flags & FF_ROUTE_QUIET);

    if (went_well && is_quiet)
        return;
    ff_log_event(
        FF_LOG_INFO, "http", delivered ? "request" : "request was not answered",
        FF_LOG_FIELDS(
            ff_log_str("method", ff_str_of(request->method)),
            ff_log_str("path", (struct ff_str){.ptr = request->uri, .len = path_len}),
            ff_log_i64("status", request->status), ff_log_i64("us", us),
            ff_log_str("token", ff_str_of(request->token ? request->token->name : "-")),
            ff_log_str("request_id", ff_str_of(request->id)),
            ff_log_str("trace_id", ff_str_of(request->trace_id[0] ? request->trace_id : "-"))));
}

void ff_request_over(struct ff_request *request, bool delivered)
{
    struct ff_server *const server = request->server;
    const int64_t us = now_us() - request->started_us;

    pthread_mutex_lock(&server->lock);
    request->conn->request = NULL;
    pthread_mutex_unlock(&server->lock);
    ff_link_allow(server, request->conn, FF_HTTP_IDLE_MS);
    ff_metrics_request(&server->metrics, request->route, request->status, us);
    log_over(request, delivered, us);
    if (!delivered && request->undelivered)
        request->undelivered(request);
    const bool was_under_way = request->stage >= FF_REQUEST_BODY;
    ff_request_free(request);
    if (was_under_way)
        atomic_fetch_sub(&server->under_way, 1);
}

/* ---- on a pool ---------------------------------------------------------------------------------
 */

static bool work(struct ff_request *request)
{
    ff_request_parse(request);
    if (request->response)
        return true;
    return request->route->handle(request);
}

bool ff_request_wait(struct ff_request *request, ff_hurry *hurry, int64_t until_mono_ms)
{
    struct ff_server *const server = request->server;
    bool waits;

    pthread_mutex_lock(&server->lock);
    waits = !request->kicked;
    request->kicked = false;
    request->waiting = waits;
    request->hurry = hurry;
    request->until_mono_ms = until_mono_ms;
    if (waits && hurry)
        ff_watch_add(server, request->conn);
    pthread_mutex_unlock(&server->lock);
    return waits;
}

/* The wait ends if it can. Under the lock. */
static bool end_wait(struct ff_request *request)
{
    if (!request->waiting || request->held || !request->kicked)
        return false;
    request->waiting = request->kicked = false;
    request->hurry = NULL;
    ff_watch_remove(request->server, request->conn);
    return true;
}

void ff_request_go_on(struct ff_request *request, ff_handler *next)
{
    struct ff_server *const server = request->server;
    bool ends;

    pthread_mutex_lock(&server->lock);
    if (next)
        request->next = next;
    request->kicked = true;
    ends = end_wait(request);
    pthread_mutex_unlock(&server->lock);
    if (ends)
        to_pool(request);
}

void ff_request_hold(struct ff_request *request)
{
    pthread_mutex_lock(&request->server->lock);
    request->held = true;
    pthread_mutex_unlock(&request->server->lock);
}

void ff_request_unhold(struct ff_request *request, bool is_over)
{
    struct ff_server *const server = request->server;
    bool ends;

    pthread_mutex_lock(&server->lock);
    request->held = false;
    request->kicked = request->kicked || is_over;
    ends = end_wait(request);
    pthread_mutex_unlock(&server->lock);
    if (ends)
        to_pool(request);
}

static void jobs_done(void *ctx)
{
    ff_request_go_on(ctx, NULL);
}

bool ff_request_prepare(struct ff_request *request, const struct ff_bulk_type *type,
                        const void *items, size_t count, ff_handler *next)
{
    struct ff_error error;

    request->next = next;
    const ff_status status = ff_async_new(request->server->client, type, items, count, jobs_done,
                                          request, &request->async, &error);
    if (status == FF_OK)
        return true;
    (void)ff_answer_error(request, status, &error);
    return false;
}

bool ff_request_body(struct ff_request *request, const struct ff_shape *shape, void *out)
{
    struct ff_error error;
    const ff_status status =
        ff_shape_read(shape, request->body, NULL, &request->arena, out, &error);

    if (status == FF_OK)
        return true;
    (void)ff_answer_error(request, status, &error);
    return false;
}

bool ff_request_query(struct ff_request *request, const struct ff_shape *shape, void *out)
{
    struct ff_error error;
    const ff_status status =
        ff_shape_read(shape, request->query, NULL, &request->arena, out, &error);

    if (status == FF_OK)
        return true;
    (void)ff_answer_error(request, status, &error);
    return false;
}

bool ff_request_namespace(struct ff_request *request, const char *asked, const char **ret)
{
    const struct ff_token *const token = request->token;

    if (asked && !ff_token_allows(token, asked)) {
        (void)ff_answer_fail(request, FF_NOT_FOUND, "namespace", "no namespace '%.128s'", asked);
        return false;
    }
    *ret = asked || !token || !token->namespace_count ? asked : token->namespaces[0];
    return true;
}
