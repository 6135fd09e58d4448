/* SPDX-License-Identifier: Apache-2.0
 *
 * answer.c -- answers: JSON, problems, bytes, and the headers that all of them carry.
 *
 * Tests: tests/e2e/test_http.py. */
#include "http/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

#define JSON_TYPE    "application/json"
#define PROBLEM_TYPE "application/problem+json"

void ff_answer_header(struct ff_request *request, const char *name, const char *value)
{
    if (request->response)
        (void)MHD_add_response_header(request->response, name, value);
}

bool ff_answer_response(struct ff_request *request, int status, struct MHD_Response *response)
{
    if (request->response)
        MHD_destroy_response(request->response);
    request->status = status;
    request->response = response; /* NULL: no memory, the connection is closed */
    ff_answer_header(request, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    ff_answer_header(request, "X-Content-Type-Options", "nosniff");
    ff_answer_header(request, "X-Request-Id", request->id);
    if (request->server->draining || request->conn->crowded || request->closes)
        ff_answer_header(request, MHD_HTTP_HEADER_CONNECTION, "close");
    return true;
}

bool ff_answer_bytes(struct ff_request *request, int status, const char *content_type,
                     struct ff_str bytes)
{
    /* The bytes live in the request, which is freed after the answer has gone; libmicrohttpd does
     * not write to them. */
    void *const data = (void *)(uintptr_t)(bytes.ptr ? bytes.ptr : "");
    struct MHD_Response *const response =
        MHD_create_response_from_buffer(bytes.len, data, MHD_RESPMEM_PERSISTENT);

    (void)ff_answer_response(request, status, response);
    request->text = bytes;
    ff_answer_header(request, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    return true;
}

/* Nothing else can be said any more. */
static bool answer_plain(struct ff_request *request)
{
    return ff_answer_bytes(request, 503, PROBLEM_TYPE,
                           FF_STR("{\"type\":\"urn:flowfabric:problem:no_memory\","
                                  "\"title\":\"out of memory\",\"status\":503,"
                                  "\"code\":\"no_memory\",\"retryable\":true}\n"));
}

ff_status ff_answer_text(const json_t *json, struct ff_arena *arena, struct ff_str *ret,
                         struct ff_error *reterr)
{
    struct ff_strbuf out = ff_strbuf_in(arena, FF_HTTP_ANSWER_BYTES_MAX);

    if (!json)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the answer");
    ff_json_write(&out, json);
    ff_strbuf_addc(&out, '\n'); /* whoever looks at it with curl has a prompt to come */
    return ff_strbuf_take(&out, ret, reterr);
}

static bool answer_text(struct ff_request *request, int status, const char *type, json_t *json)
{
    struct ff_error error = {.status = FF_NO_MEMORY};
    struct ff_str text = {0};
    const ff_status made = ff_answer_text(json, &request->arena, &text, &error);

    json_decref(json);
    if (made == FF_OK)
        return ff_answer_bytes(request, status, type, text);
    return answer_plain(request);
}

/* The address of the page behind this one: what was asked, with another cursor. */
static const char *next_link(struct ff_request *request, const char *cursor)
{
    struct ff_strbuf out = ff_strbuf_in(&request->arena, 2 * FF_HTTP_PATH_BYTES_MAX);
    const char *at = request->uri + strcspn(request->uri, "?");
    struct ff_str text;

    if (request->uri[strcspn(request->uri, "<>\"")])
        return NULL; /* a client that does not encode what it asks could not read it either */
    ff_strbuf_addf(&out, "<%.*s?", (int)(at - request->uri), request->uri);
    while (*at) {
        const size_t len = strcspn(++at, "&");

        if (len && strncmp(at, "cursor=", 7) != 0)
            ff_strbuf_addf(&out, "%.*s&", (int)len, at);
        at += len;
    }
    ff_strbuf_addf(&out, "cursor=%s>; rel=\"next\"", cursor);
    return ff_strbuf_take(&out, &text, NULL) == FF_OK ? text.ptr : NULL;
}

bool ff_answer_json(struct ff_request *request, int status, json_t *json)
{
    const char *const cursor = json_string_value(json_object_get(json, "next_cursor"));
    const char *const next = cursor ? next_link(request, cursor) : NULL;

    (void)answer_text(request, status, JSON_TYPE, json);
    if (next)
        ff_answer_header(request, MHD_HTTP_HEADER_LINK, next);
    return true;
}

bool ff_answer_error(struct ff_request *request, ff_status status, const struct ff_error *error)
{
    const int http = ff_status_http(status);
    json_t *const problem = ff_json_problem(status, error);

    if (problem) {
        (void)json_object_set_new(problem, "request_id", json_string(request->id));
        if (request->trace_id[0])
            (void)json_object_set_new(problem, "trace_id", json_string(request->trace_id));
    }
    (void)answer_text(request, http, PROBLEM_TYPE, problem);
    if (http == 503)
        ff_answer_header(request, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (http == 401)
        ff_answer_header(request, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    return true;
}

bool ff_answer_fail(struct ff_request *request, ff_status status, const char *field,
                    const char *fmt, ...)
{
    char message[320];
    struct ff_error error;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    (void)ff_fail_field(&error, status, field, "%s", message);
    return ff_answer_error(request, status, &error);
}
