/* SPDX-License-Identifier: Apache-2.0
 *
 * event.c -- the event log: one page, waiting for it if need be, or a stream; and waiting for ends.
 *
 * Nothing here has a thread while it waits. Tests: tests/e2e/test_http_events.py. */
#include <string.h>

#include "api/events.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/handlers.h"
#include "http/limits.h"
#include "http/server-int.h"
#include "http/stream.h"
#include "model/cursor.h"

#include "base/banned.h"

/* ---- waiting for the end of an execution or a flow --------------------------------------------
 */

static void end_is_there(ff_status status, void *ctx)
{
    (void)status; /* the answer tells what there is now */
    ff_request_go_on(ctx, NULL);
}

static bool end_hurry(struct ff_request *request)
{
    ff_end_wait_free(request->wait);
    request->wait = NULL;
    return true;
}

/* Whether it has ended already, else its id. */
static ff_status look_at(struct ff_request *request, const char *id, struct ff_end_wait_in *in,
                         bool *ret_over, struct ff_error *reterr)
{
    struct ff_client *const client = request->server->client;

    if (in->is_flow) {
        FF_AUTO(ff_answer_free) struct ff_flow_info_list flows = {0};

        FF_TRY(ff_flow_get(client, id, &flows, reterr));
        *ret_over = flows.items[0].finished_at_ms != FF_ABSENT_MS;
        FF_TRY(ff_flow_id_parse(ff_str_of(flows.items[0].flow_id), &in->id.uuid, reterr));
        in->id.partition = ff_flow_partition(in->id.uuid);
        return FF_OK;
    }
    FF_AUTO(ff_answer_free) struct ff_info_list infos = {0};
    FF_TRY(ff_get(client, id, &infos, reterr));
    *ret_over = infos.items[0].finished;
    return ff_exec_id_parse(ff_str_of(infos.items[0].execution_id), &in->id, reterr);
}

bool ff_request_await(struct ff_request *request, const char *id, bool is_flow, int64_t wait_ms,
                      ff_handler *next)
{
    struct ff_server *const server = request->server;
    struct ff_end_wait_in in = {.is_flow = is_flow, .done = end_is_there, .ctx = request};
    struct ff_error error;
    bool is_over = false;

    if (!wait_ms || server->draining)
        return next(request);
    ff_status status = look_at(request, id, &in, &is_over, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    if (is_over)
        return next(request);
    in.until_mono_ms = ff_server_mono_ms(server) + wait_ms;
    request->next = next;
    (void)ff_request_wait(request, end_hurry, INT64_MAX);
    /* It may end before we know its name. */
    ff_request_hold(request);
    status = ff_end_wait_new(server->client->engine, &in, &request->wait, &error);
    ff_request_unhold(request, status != FF_OK); /* then the answer says how it is now */
    return false;
}

/* ---- the log -----------------------------------------------------------------------------------
 */

struct reading {
    struct ff_event_page page; /* of a stream: its follower, and how much it takes first */
    bool is_sse;
    int64_t until_mono_ms;
};

static void reading_drop(struct ff_request *request)
{
    ff_follow_free(((struct reading *)request->state)->page.follow);
}

static void events_ready(void *ctx)
{
    struct ff_request *const request = ctx;

    if (request->streaming)
        ff_stream_ready(request);
    else
        ff_request_go_on(request, NULL);
}

static json_t *event_json(const void *item)
{
    return ff_json_event(item);
}

static bool answer_page(struct ff_request *request)
{
    const struct ff_event_page *const page = &((const struct reading *)request->state)->page;
    struct ff_event_list list = {.count = page->all.count};
    struct ff_json_maker made = ff_json_make();
    char cursor[FF_EVENT_CURSOR_BYTES], notice_cursor[FF_EVENT_CURSOR_BYTES];
    struct ff_error error;

    const ff_status status = ff_event_infos(&request->arena, &page->all, &list.items, &error);
    if (status != FF_OK) {
        json_decref(made.object);
        return ff_answer_error(request, status, &error);
    }
    ff_event_cursor(page->all.cursor, cursor);
    ff_event_cursor(page->notice_cursor, notice_cursor);
    ff_json_put(&made, "events", FF_JSON_ARRAY(list.items, list.count, event_json));
    ff_json_put_text(&made, "cursor", cursor);
    ff_json_put_text(&made, "notice", ff_notice_name(page->all.notice));
    ff_json_put_text(&made, "notice_cursor", page->all.notice ? notice_cursor : NULL);
    return ff_answer_json(request, 200, ff_json_made(&made));
}

static bool never_mind(struct ff_request *request)
{
    (void)request;
    return true; /* the next step sees that it is time to answer */
}

static bool log_is_away(struct ff_request *request)
{
    return ff_answer_fail(request, FF_UNAVAILABLE, NULL, "the log cannot be read in time");
}

static bool page_step(struct ff_request *request)
{
    struct reading *const reading = request->state;
    const struct ff_followed *const got = &reading->page.all;
    struct ff_server *const server = request->server;
    struct ff_error error;
    bool all = false;

    for (;;) {
        const ff_status status =
            ff_event_page_gather(&reading->page, &request->arena, &all, &error);
        const int64_t now_ms = ff_server_mono_ms(server);

        if (status != FF_OK)
            return ff_answer_error(request, status, &error);
        if (all && (got->count || got->notice || now_ms >= reading->until_mono_ms ||
                    request->gone || server->draining))
            return answer_page(request);
        if (!all && now_ms >= reading->until_mono_ms + server->client->timeout_ms)
            return log_is_away(request);
        if (ff_request_wait(request, never_mind,
                            all ? reading->until_mono_ms
                                : reading->until_mono_ms + server->client->timeout_ms))
            return false;
    }
}

/* The stream begins when its place in the log is known: whatever is committed after the client has
 * seen our headers is delivered. */
static bool stream_step(struct ff_request *request)
{
    struct reading *const reading = request->state;
    struct ff_follow *const follow = reading->page.follow;
    struct ff_error error;
    struct ff_str text = {0};
    struct ff_followed taken;
    char cursor[19];

    for (;;) {
        ff_status status =
            ff_follow_take(follow, &request->arena, reading->page.limit, &taken, &error);

        if (status == FF_OK)
            status = ff_stream_text(&request->arena, &taken, &text, &error);
        if (status != FF_OK)
            return ff_answer_error(request, status, &error);
        if (taken.started || text.len)
            break;
        if (request->gone || request->server->draining)
            return ff_answer_fail(request, FF_CLOSED, NULL, "the server is stopping");
        if (ff_server_mono_ms(request->server) >= reading->until_mono_ms)
            return log_is_away(request);
        if (ff_request_wait(request, never_mind, reading->until_mono_ms))
            return false;
    }
    if (!text.len) { /* nothing to tell yet: who is cut off now goes on from here */
        ff_event_cursor(taken.cursor, cursor);
        text = ff_arena_printf(&request->arena, "id: %s\n\n", cursor);
    }
    text = ff_arena_printf(&request->arena, "retry: 1000\n: \n\n" FF_STR_FMT, FF_STR_ARG(text));
    if (!text.ptr)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the stream");
    request->drop = NULL;
    return ff_answer_stream(request, follow, text);
}

/* What is looked up tells whether it is there, and only of the caller's namespaces may it; else 404
 * is the answer. An id with its partition is not looked up: it may be followed before there is such
 * an execution, and events are those of the namespace. */
static bool may_follow(struct ff_request *request, const char *execution_id)
{
    struct ff_exec_id id;

    if (!execution_id || (strlen(execution_id) > FF_UUID_TEXT_LEN &&
                          ff_exec_id_parse(ff_str_of(execution_id), &id, NULL) == FF_OK))
        return true;
    return ff_request_sees(request, execution_id);
}

/* Another one may have come that it fits since it was looked up. */
static bool tells_too_much(const struct ff_request *request, const struct ff_error *error)
{
    return request->token && request->token->namespace_count &&
           strcmp(error->field, "execution_id") == 0;
}

static ff_status follow(struct ff_request *request, const struct ff_event_query *query,
                        struct reading *reading, struct ff_error *reterr)
{
    struct ff_client *const client = request->server->client;
    struct ff_follow_in in = {.ready = events_ready, .ctx = request};
    const char *const last =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Last-Event-ID");
    ff_status status;

    FF_TRY(ff_event_after_of(last && *last ? last : query->after, &in.after, reterr));
    status = ff_event_match_of(client, &query->filter, &in.match, reterr);
    if (status == FF_INVALID && tells_too_much(request, reterr))
        return ff_fail(reterr, FF_NOT_FOUND, "no execution '%.64s'", query->filter.execution_id);
    FF_TRY(status);
    FF_TRY(ff_event_page_init(&reading->page, &request->arena, query->limit, reterr));
    return ff_follow_new(client->engine, &in, &reading->page.follow, reterr);
}

bool ff_handle_event_list(struct ff_request *request)
{
    struct reading *const reading = ff_arena_alloc(&request->arena, sizeof *reading);
    const char *const accept =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    struct ff_event_query query;
    struct ff_error error;

    if (!reading)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the request");
    if (!ff_request_query(request, &ff_shape_event_query, &query) ||
        !ff_request_namespace(request, query.filter.ns, &query.filter.ns) ||
        !may_follow(request, query.filter.execution_id))
        return true;
    reading->is_sse = accept && strstr(accept, "text/event-stream");
    reading->until_mono_ms =
        ff_server_mono_ms(request->server) +
        (reading->is_sse ? request->server->client->timeout_ms : query.wait_ms);
    request->state = reading;
    request->next = reading->is_sse ? stream_step : page_step;
    const ff_status status = follow(request, &query, reading, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    request->drop = reading_drop;
    return request->next(request);
}
