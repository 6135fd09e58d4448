/* SPDX-License-Identifier: Apache-2.0
 *
 * key.c -- Idempotency-Key: what makes two requests the same.
 *
 * Tests: tests/e2e/test_http.py. */
#include "http/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/async.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/uuid.h"
#include "http/handlers.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

/* ---- the request with its defaults filled in --------------------------------------------------
 */

/* `ns` is the namespace that is meant where none is named. */
static json_t *normal_object(const struct ff_shape *shape, const json_t *json, const char *ns);

static json_t *normal_array(const struct ff_shape *shape, const json_t *json, const char *ns)
{
    json_t *const array = json_array();

    for (size_t i = 0; i < json_array_size(json); i++)
        (void)json_array_append_new(array, normal_object(shape, json_array_get(json, i), ns));
    return array;
}

static json_t *normal_value(const struct ff_field *field, json_t *value, const char *ns)
{
    if (field->shape && json_is_object(value))
        return normal_object(field->shape, value, ns);
    if (field->shape && json_is_array(value))
        return normal_array(field->shape, value, ns);
    if (field->kind == FF_FIELD_REAL && json_is_number(value))
        return json_real(json_number_value(value)); /* 2 is 2.0 */
    return json_incref(value);
}

/* `object` has what stands in front of the field already. */
static bool has_standard(const struct ff_field *field, const json_t *object)
{
    const json_t *const beside = field->beside ? json_object_get(object, field->beside) : NULL;
    const char *const text = json_string_value(beside);

    if (!field->beside)
        return field->standard != NULL;
    return field->standard && beside &&
           (!field->beside_is || (text && ff_field_is_choice(field->beside_is, text)));
}

static json_t *standard_value(const struct ff_field *field, const char *ns)
{
    if (strcmp(field->name, "namespace") == 0)
        return json_string(ns);
    json_t *const standard = json_loads(field->standard, JSON_DECODE_ANY, NULL);
    json_t *const value = normal_value(field, standard, ns);
    json_decref(standard);
    return value;
}

/* Defaults that are said and defaults that are not are the same request; so is null. What the shape
 * does not know stays as it is: an item is refused for it, and without it is another one. */
static json_t *normal_object(const struct ff_shape *shape, const json_t *json, const char *ns)
{
    json_t *const object = json_copy((json_t *)(uintptr_t)json);

    if (!json_is_object(json))
        return object;
    for (size_t i = 0; i < shape->count; i++) {
        const struct ff_field *const field = &shape->fields[i];
        json_t *const value = json_object_get(json, field->name);

        if (value && !json_is_null(value))
            (void)json_object_set_new(object, field->name, normal_value(field, value, ns));
        else if (has_standard(field, object))
            (void)json_object_set_new(object, field->name, standard_value(field, ns));
        else
            (void)json_object_del(object, field->name);
    }
    return object;
}

/* However an id is spelled in a path, it is one: what is in front of its uuid says where it lives.
 */
static void add_param(struct ff_sha256 *sha, const struct ff_route *route, const char *param)
{
    const char *const colon = strrchr(param, ':');
    char text[FF_UUID_TEXT_BYTES];
    struct ff_uuid uuid;

    if (strstr(route->path, "{id}") && !strchr(param, '/') && /* "<flow>/<node>" */
        ff_uuid_parse(ff_str_of(colon ? colon + 1 : param), &uuid))
        param = ff_uuid_format(uuid, text);
    ff_sha256_add(sha, param, strlen(param) + 1);
}

/* How long its sender waits for an answer does not make it another request. */
static char *query_text(const json_t *query, size_t flags)
{
    json_t *const asked = json_copy((json_t *)(uintptr_t)query);
    char *text;

    (void)json_object_del(asked, "wait_ms");
    text = json_dumps(asked, flags);
    json_decref(asked);
    return text;
}

static ff_status hash_of(const struct ff_request *request, const json_t *body,
                         uint8_t hash[FF_SHA256_BYTES], struct ff_error *reterr)
{
    const size_t flags = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY;
    char *const text = json_dumps(body, flags);
    char *const query = query_text(request->query, flags);
    struct ff_sha256 sha = {0};
    ff_status status = text && query ? ff_sha256_init(&sha, reterr)
                                     : ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");

    if (status == FF_OK) {
        for (size_t i = 0; i < FF_ROUTE_PARAMS_MAX && request->params[i]; i++)
            add_param(&sha, request->route, request->params[i]);
        ff_sha256_add(&sha, text, strlen(text) + 1);
        ff_sha256_add(&sha, query, strlen(query) + 1);
        status = ff_sha256_finish(&sha, hash, reterr);
    }
    ff_sha256_done(&sha);
    free(text);
    free(query);
    return status;
}

/* Which namespace the call is about; of many items the first one's. Where there is a filter that
 * names none, what the token is bound to is meant. */
static const char *namespace_of(json_t *body, const struct ff_token *token, const char *home)
{
    const json_t *const items = json_object_get(body, "executions");
    json_t *const filter = json_object_get(body, "filter");
    const bool is_bound = token && token->namespace_count;
    const json_t *const about = items ? json_array_get(items, 0) : filter ? filter : body;
    const char *const named = json_string_value(json_object_get(about, "namespace"));

    if (filter && !named && is_bound)
        (void)json_object_set_new(filter, "namespace", json_string(home));
    if (named)
        return named;
    return items || is_bound ? home : "";
}

/* ---- keys --------------------------------------------------------------------------------------
 */

bool ff_request_key(struct ff_request *request, bool *ret_has, struct ff_reply_in *ret)
{
    const struct ff_route *const route = request->route;
    const struct ff_str key = ff_str_of(
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Idempotency-Key"));
    const bool is_bulk = route->bulk && ff_reader_has(request->body, "executions");
    const struct ff_shape *const shape = is_bulk ? route->bulk : route->body;
    const struct ff_token *const token = request->token;
    const char *const home = token && token->namespace_count ? token->namespaces[0] : "default";
    struct ff_error error;

    *ret_has = key.ptr && route->flags & FF_ROUTE_KEYED;
    if (!*ret_has)
        return true;
    if (!key.len || key.len > FF_KEY_BYTES_MAX || !ff_str_is_printable_ascii(key))
        return !ff_answer_fail(request, FF_INVALID, "Idempotency-Key",
                               "a key has 1 to %d printable characters", FF_KEY_BYTES_MAX);
    json_t *const body = normal_object(shape, request->body, home);
    const char *const ns = namespace_of(body, token, home);
    *ret = (struct ff_reply_in){.key = key, .keep_ms = FF_HTTP_REPLY_KEEP_MS};
    /* Neither a token nor a route has a space in its name; what a namespace has stands last. */
    ret->scope =
        ff_arena_printf(&request->arena, "%s %s %s", token ? token->name : "", route->name, ns);
    ff_status status = ff_arena_check(&request->arena, &error);
    if (status == FF_OK)
        status = hash_of(request, body, ret->hash, &error);
    json_decref(body);
    return status == FF_OK || !ff_answer_error(request, status, &error);
}

bool ff_request_keep(struct ff_request *request, const struct ff_reply_in *key)
{
    FF_AUTO(ff_answer_free) struct ff_kept kept = {0};
    struct ff_error error;

    if (request->status >= 400) /* it could not be said; errors are not stored */
        return true;
    const ff_status status =
        ff_reply(request->server->client, key, request->status, request->text, &kept, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return kept.found ? ff_answer_kept(request, kept.status, kept.body) : true;
}

void ff_answer_location(struct ff_request *request, const json_t *json)
{
    const char *const execution_id = json_string_value(json_object_get(json, "execution_id"));
    const char *const flow_id = json_string_value(json_object_get(json, "flow_id"));
    char link[96];

    if (execution_id)
        ff_execution_link(execution_id, "", link);
    else if (flow_id)
        (void)snprintf(link, sizeof link, "/v1/flows/%.40s", flow_id);
    else
        return;
    ff_answer_header(request, MHD_HTTP_HEADER_LOCATION, link);
}

void ff_answer_repeated(struct ff_request *request)
{
    ff_answer_header(request, "Idempotent-Replay", "true");
}

bool ff_answer_kept(struct ff_request *request, int32_t status, struct ff_str body)
{
    const struct ff_str text = ff_arena_str(&request->arena, body);
    json_t *json = NULL;

    if (!text.ptr)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the answer");
    (void)ff_answer_bytes(request, status, "application/json", text);
    ff_answer_repeated(request);
    if (ff_json_parse(text, &json, NULL) == FF_OK)
        ff_answer_location(request, json);
    json_decref(json);
    return true;
}
