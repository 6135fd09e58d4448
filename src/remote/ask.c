/* SPDX-License-Identifier: Apache-2.0
 *
 * ask.c -- one call: its path, query and body, and what the server says to it.
 *
 * Read first: src/remote/README.md. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "model/states.h"

#include "base/banned.h"

#define PATH_BYTES_MAX 8192
#define BODY_BYTES_MAX (64 << 20)
#define SLACK_MS       2000 /* of the network, on top of what the server may take */

ff_status ff_ask_init(struct ff_ask *ask, struct ff_client *client, const char *path,
                      struct ff_error *reterr)
{
    *ask = (struct ff_ask){.client = client, .memory = ff_memory_new()};
    if (!ask->memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the call");
    ask->path = ff_strbuf_in(&ask->memory->arena, PATH_BYTES_MAX);
    ff_strbuf_adds(&ask->path, path);
    ask->body.made = ff_json_make();
    return FF_OK;
}

void ff_ask_done(struct ff_ask *ask)
{
    ff_memory_free(ask->memory);
    json_decref(ask->body.made.object);
    json_decref(ask->answer);
}

/* ---- paths and queries -------------------------------------------------------------------------
 */

static void add_encoded(struct ff_strbuf *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || strchr("-._~", *at))
            ff_strbuf_addc(out, *at);
        else
            ff_strbuf_addf(out, "%%%02X", (unsigned)(unsigned char)*at);
    }
}

ff_status ff_ask_path(struct ff_ask *ask, const char *part, const char *field,
                      struct ff_error *reterr)
{
    FF_TRY(ff_api_need(part, field, reterr));
    if (!part[0] || !ff_str_is_utf8(ff_str_of(part)))
        return ff_fail_field(reterr, FF_INVALID, field, "%s is empty or no UTF-8", field);
    add_encoded(&ask->path, part);
    return FF_OK;
}

void ff_ask_rest(struct ff_ask *ask, const char *rest)
{
    ff_strbuf_adds(&ask->path, rest);
}

void ff_ask_query(struct ff_ask *ask, const char *name, const char *value)
{
    if (!value)
        return;
    ff_strbuf_addf(&ask->path, "%c%s=", ask->has_query ? '&' : '?', name);
    add_encoded(&ask->path, value);
    ask->has_query = true;
}

void ff_ask_query_i64(struct ff_ask *ask, const char *name, int64_t value)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    ff_ask_query(ask, name, value == FF_ABSENT_MS ? NULL : text);
}

/* ---- answers -----------------------------------------------------------------------------------
 */

static ff_status status_of(const char *code, long http)
{
    for (ff_status status = FF_OK; code && status < FF_STATUS_COUNT; status++)
        if (strcmp(ff_status_code(status), code) == 0)
            return status;
    /* Not our server, or a newer one: what stands between may have let the request through. */
    if (http == 413)
        return FF_TOO_LARGE;
    if (http == 429 || http == 503)
        return FF_UNAVAILABLE;
    if (http >= 500)
        return FF_OUTCOME_UNKNOWN;
    /* A refusal that is not ours is no word about what was asked for; nor is a way to elsewhere. */
    if (http >= 300 && !code)
        return FF_UNAVAILABLE;
    return http == 404 ? FF_NOT_FOUND : FF_INVALID;
}

static void copy_text(char *out, size_t bytes, const json_t *text)
{
    const char *const value = json_string_value(text);

    (void)snprintf(out, bytes, "%s", value ? value : "");
}

ff_status ff_problem_read(const json_t *problem, long http, struct ff_error *reterr)
{
    const char *const code = json_string_value(json_object_get(problem, "code"));
    const char *const detail = json_string_value(json_object_get(problem, "detail"));
    const ff_status status = status_of(code, http);

    if (detail)
        (void)ff_fail(reterr, status, "%s", detail);
    else
        (void)ff_fail(reterr, status, "the server answered %ld%s", http,
                      code ? "" : ", and not as FlowFabric does");
    if (reterr) {
        copy_text(reterr->field, sizeof reterr->field, json_object_get(problem, "field"));
        copy_text(reterr->outcome, sizeof reterr->outcome, json_object_get(problem, "outcome"));
        copy_text(reterr->oldest, sizeof reterr->oldest, json_object_get(problem, "oldest"));
        reterr->repeatable =
            status == FF_OUTCOME_UNKNOWN && json_is_true(json_object_get(problem, "retryable"));
    }
    return status;
}

static ff_status go(struct ff_ask *ask, struct ff_trip *trip, struct ff_error *reterr)
{
    struct ff_str path;

    FF_TRY(ff_strbuf_take(&ask->path, &path, reterr));
    trip->path = path.ptr;
    trip->repeatable = ask->repeatable;
    trip->waiter = ask->wait_ms ? ask->client : NULL;
    trip->until_ms = &ask->client->until_ms;
    trip->timeout_ms = ff_add_i64_clamped(ask->client->timeout_ms, ask->wait_ms + SLACK_MS);
    FF_TRY(ff_remote_trip(ask->client->remote, trip, &ask->memory->arena, reterr));
    ask->http = trip->http;
    return FF_OK;
}

/* Our server sends nobody elsewhere, and whatever such an answer holds is not what was asked for.
 * Not followed: a POST would be said twice, and the token would go along. */
static bool is_redirection(const struct ff_trip *trip)
{
    return trip->http < 200 || (trip->http >= 300 && trip->http < 400);
}

/* What is said in JSON; an answer that is none is not from our server. */
static ff_status take_json(struct ff_ask *ask, const struct ff_trip *trip, struct ff_error *reterr)
{
    if (is_redirection(trip))
        return ff_problem_read(NULL, trip->http, reterr);
    const ff_status status = ff_json_parse(trip->bytes, &ask->answer, NULL);
    if (trip->http >= 400)
        return ff_problem_read(ask->answer, trip->http, reterr);
    if (status != FF_OK)
        return ff_fail(reterr, trip->body.ptr ? FF_OUTCOME_UNKNOWN : FF_UNAVAILABLE,
                       "the answer is not JSON: is this a FlowFabric server?");
    return FF_OK;
}

ff_status ff_ask_get(struct ff_ask *ask, struct ff_error *reterr)
{
    struct ff_trip trip = {.body = ff_str_null()};

    FF_TRY(go(ask, &trip, reterr));
    return take_json(ask, &trip, reterr);
}

ff_status ff_ask_post(struct ff_ask *ask, struct ff_error *reterr)
{
    struct ff_trip trip = {.body = ff_str_null()};
    FF_AUTO(ff_json_freep) json_t *body = NULL;
    struct ff_writing writing = ask->body;

    ask->body.made.object = NULL;
    FF_TRY(ff_written(&writing, &body, reterr));
    FF_TRY(ff_json_text(body, &ask->memory->arena, BODY_BYTES_MAX, &trip.body, reterr));
    FF_TRY(go(ask, &trip, reterr));
    FF_TRY(take_json(ask, &trip, reterr));
    ask->posted = true;
    return FF_OK;
}

ff_status ff_ask_bytes(struct ff_ask *ask, struct ff_bytes *ret, struct ff_error *reterr)
{
    struct ff_trip trip = {.body = ff_str_null()};

    FF_TRY(go(ask, &trip, reterr));
    if (trip.http >= 400)
        return take_json(ask, &trip, reterr);
    if (trip.http != 200)
        return ff_problem_read(NULL, trip.http, reterr);
    ret->data = trip.bytes;
    ret->content_type = trip.content_type && strcmp(trip.content_type, "application/json") != 0
                            ? trip.content_type
                            : NULL;
    ret->memory = FF_STEAL(ask->memory);
    return FF_OK;
}

/* What was asked for has been done if it was more than a look, and the caller does not hear how. */
static ff_status unreadable(const struct ff_ask *ask, ff_status status, const char *why,
                            struct ff_error *reterr)
{
    const ff_status known = status == FF_NO_MEMORY ? FF_NO_MEMORY : FF_INTERNAL;

    (void)ff_fail(reterr, ask->posted ? FF_OUTCOME_UNKNOWN : known, "the answer cannot be read: %s",
                  why);
    if (reterr)
        reterr->repeatable = ask->posted && ask->repeatable;
    return ask->posted ? FF_OUTCOME_UNKNOWN : known;
}

ff_status ff_ask_take(struct ff_ask *ask, const struct ff_shape *shape, void *ret,
                      struct ff_error *reterr)
{
    struct ff_error problem;
    char *const made = ff_arena_alloc(&ask->memory->arena, shape->bytes);

    if (!made)
        return unreadable(ask, FF_NO_MEMORY, "there is no memory for it", reterr);
    const ff_status status = ff_shape_take(shape, ask->answer, &ask->memory->arena, made, &problem);
    if (status != FF_OK)
        return unreadable(ask, status, problem.message, reterr);
    memcpy(ret, made, shape->bytes);
    *(struct ff_memory **)ret = FF_STEAL(ask->memory);
    return FF_OK;
}

const char *ff_remote_state(const json_t *answer)
{
    const char *const text = json_string_value(json_object_get(answer, "public_state"));

    for (size_t i = 0; text && i < FF_STATE_COUNT; i++)
        if (strcmp(ff_state_table[i].public_state, text) == 0)
            return ff_state_table[i].public_state;
    return text ? "unknown" : NULL;
}
