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

/* Nothing else can be said any more, not even a problem. */
static bool answer_plain(struct ff_request *request, ff_status problem)
{
    if (problem == FF_OUTCOME_UNKNOWN)
        return ff_answer_bytes(request, 504, PROBLEM_TYPE,
                               FF_STR("{\"type\":\"urn:flowfabric:problem:outcome_unknown\","
                                      "\"title\":\"may or may not be applied\",\"status\":504,"
                                      "\"detail\":\"there is no memory to say what was done\","
                                      "\"code\":\"outcome_unknown\",\"retryable\":false}\n"));
    return ff_answer_bytes(request, 503, PROBLEM_TYPE,
                           FF_STR("{\"type\":\"urn:flowfabric:problem:no_memory\","
                                  "\"title\":\"out of memory, not applied\",\"status\":503,"
                                  "\"detail\":\"there is no memory for an answer\","
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

/* Takes the reference. Not FF_OK: there is no answer yet. */
static ff_status answer_text(struct ff_request *request, int status, const char *type, json_t *json)
{
    struct ff_str text = {0};
    const ff_status made = ff_answer_text(json, &request->arena, &text, NULL);

    json_decref(json);
    if (made == FF_OK)
        (void)ff_answer_bytes(request, status, type, text);
    return made;
}

/* What was asked for has been done if it was more than a look, and saying how is not possible. */
static bool answer_unsaid(struct ff_request *request, ff_status why)
{
    const bool is_look = strcmp(request->route->method, "GET") == 0;

    if (why != FF_TOO_LARGE)
        return ff_answer_fail(request, is_look ? FF_NO_MEMORY : FF_OUTCOME_UNKNOWN, NULL,
                              "there is no memory for the answer");
    return ff_answer_fail(request, is_look ? FF_TOO_LARGE : FF_OUTCOME_UNKNOWN, "answer",
                          "the answer has more than %d bytes", FF_HTTP_ANSWER_BYTES_MAX);
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

    const ff_status made = answer_text(request, status, JSON_TYPE, json);
    if (made != FF_OK)
        return answer_unsaid(request, made);
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
    if (answer_text(request, http, PROBLEM_TYPE, problem) != FF_OK)
        (void)answer_plain(request, status);
    if (request->status == 503)
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
    (void)ff_str_vprint(message, sizeof message, fmt, args);
    va_end(args);
    (void)ff_fail_field(&error, status, field, "%s", message);
    return ff_answer_error(request, status, &error);
}
