/* SPDX-License-Identifier: Apache-2.0
 *
 * admit.c -- who is let in: host, origin, route, token, sizes; then query and body are read.
 *
 * Tests: tests/e2e/test_http.py. */
#include "http/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

static const char *header(const struct ff_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* ---- where it comes from ----------------------------------------------------------------------
 */

static enum MHD_Result add_bytes(void *ctx, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    *(size_t *)ctx += strlen(name) + (value ? strlen(value) : 0) + 4;
    return MHD_YES;
}

static bool head_fits(struct ff_request *request)
{
    size_t bytes = strlen(request->uri);

    if (bytes > FF_HTTP_PATH_BYTES_MAX)
        return !ff_answer_fail(request, FF_HEAD_TOO_LARGE, "path",
                               "path and query have more than %d bytes", FF_HTTP_PATH_BYTES_MAX);
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, add_bytes, &bytes);
    if (bytes > FF_HTTP_HEAD_BYTES_MAX)
        return !ff_answer_fail(request, FF_HEAD_TOO_LARGE, "headers",
                               "headers have more than %d bytes", FF_HTTP_HEAD_BYTES_MAX);
    return true;
}

struct head {
    size_t hosts, lengths, encodings;
    bool malformed; /* a name that is none, or a value with a byte of control */
};

/* A token of RFC 9110: what a header may be called. */
static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("\"(),/:;<=>?@[\\]{}", text[i]))
            return false;
    return len > 0;
}

static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == '\x7f')
            return true;
    return false;
}

static enum MHD_Result look_at_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                      size_t name_len, const char *value, size_t value_len)
{
    struct head *const head = ctx;

    (void)kind;
    head->malformed |= !is_token(name, name_len) || has_control(value, value_len);
    head->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    head->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    head->encodings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    return MHD_YES;
}

/* What a proxy in front of us may have read in another way than libmicrohttpd: somebody could slip
 * a second request in. Nothing more is read from such a connection. */
static bool head_is_sound(struct ff_request *request)
{
    const char *const encoding = header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    struct head head = {0};

    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, look_at_header, &head);
    request->closes = true;
    if (head.malformed)
        return !ff_answer_fail(request, FF_INVALID, "headers", "a header is not well formed");
    if (head.hosts > 1)
        return !ff_answer_fail(request, FF_INVALID, "Host", "there is more than one Host");
    if (head.lengths + head.encodings > 1)
        return !ff_answer_fail(request, FF_INVALID, "Content-Length",
                               "the length of the body is told more than once");
    if (encoding && strcasecmp(encoding, "chunked") != 0)
        return !ff_answer_fail(request, FF_INVALID, "Transfer-Encoding",
                               "a body is chunked or not encoded");
    request->closes = false;
    return true;
}

static bool host_is_known(const struct ff_server *server, const char *host)
{
    for (size_t i = 0; i < server->host_count; i++)
        if (strcmp(server->hosts[i], host) == 0)
            return true;
    if (ff_host_is_loopback(host))
        return true;
    /* Listening everywhere, the addresses are not known; a name that somebody made point here is
     * still refused. */
    return server->any_address && ff_host_is_address(host);
}

/* A page in a browser must not drive a local engine: neither by a name that was made to point here
 * nor from another origin. */
static bool place_is_right(struct ff_request *request, const char *host_text)
{
    const char *const origin = header(request, MHD_HTTP_HEADER_ORIGIN);
    char host[256], origin_host[256];
    int port = 0, origin_port = 0;

    if (!host_text || !ff_host_split(ff_str_of(host_text), host, &port) ||
        !host_is_known(request->server, host))
        return !ff_answer_fail(request, FF_MISDIRECTED, "Host",
                               "host '%.100s' is not this server; --host makes it one",
                               host_text ? host_text : "");
    if (!origin)
        return true;
    const char *const at = strstr(origin, "://");
    if (!at || !ff_host_split(ff_str_of(at + 3), origin_host, &origin_port) ||
        strcmp(host, origin_host) != 0 || port != origin_port)
        return !ff_answer_fail(request, FF_FORBIDDEN, "Origin",
                               "requests of other origins are refused");
    return true;
}

/* ---- who asks, and for what -------------------------------------------------------------------
 */

static void take_ids(struct ff_request *request)
{
    const struct ff_str given = ff_str_of(header(request, "X-Request-Id"));
    const struct ff_str trace = ff_str_of(header(request, "traceparent"));

    if (given.len && given.len <= FF_HTTP_REQUEST_ID_MAX && ff_str_is_printable_ascii(given))
        (void)snprintf(request->id, sizeof request->id, "%s", given.ptr);
    /* 00-<32 hex digits>-<16>-<2> */
    if (trace.len >= 55 && trace.ptr[2] == '-' && trace.ptr[35] == '-' && trace.ptr[52] == '-' &&
        strspn(trace.ptr + 3, "0123456789abcdef") == 32 && strspn(trace.ptr + 3, "0") < 32)
        (void)snprintf(request->trace_id, sizeof request->trace_id, "%.32s", trace.ptr + 3);
}

static bool find_route(struct ff_request *request)
{
    const size_t len = strcspn(request->uri, "?");
    const char *const path =
        ff_arena_str(&request->arena, (struct ff_str){.ptr = request->uri, .len = len}).ptr;
    const char *allow = NULL;

    if (!path)
        return !ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the path");
    request->route = ff_route_find(request->method, path, &request->arena, request->params, &allow);
    if (request->route)
        return true;
    if (!allow)
        return !ff_answer_fail(request, FF_NOT_FOUND, "path", "there is nothing at '%.128s'", path);
    (void)ff_answer_fail(request, FF_METHOD_NOT_ALLOWED, "method", "%.8s is not allowed here",
                         request->method);
    ff_answer_header(request, MHD_HTTP_HEADER_ALLOW, allow);
    return false;
}

/* A browser asks for the token when it is told that Basic will do. */
static bool ask_for_token(struct ff_request *request, bool has_one)
{
    (void)ff_answer_fail(request, FF_UNAUTHORIZED, "Authorization",
                         has_one ? "this token is not known here"
                                 : "a token is needed: Authorization: Bearer TOKEN");
    if (request->route == &ff_routes[FF_ROUTE_PAGE])
        ff_answer_header(request, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                         "Basic realm=\"FlowFabric (the password is a token)\"");
    return false;
}

static bool is_allowed(struct ff_request *request)
{
    const struct ff_route *const route = request->route;
    const struct ff_tokens *const tokens = request->server->tokens;
    const char *const given = header(request, MHD_HTTP_HEADER_AUTHORIZATION);

    if (!tokens->count || !route->scopes)
        return true;
    request->token = ff_tokens_find(tokens, given);
    if (!request->token && strcmp(route->method, "GET") == 0)
        request->token = ff_tokens_find_basic(tokens, given);
    if (!request->token)
        return ask_for_token(request, given != NULL);
    if (!(request->token->scopes & (route->scopes | FF_SCOPE_ADMIN)))
        return !ff_answer_fail(request, FF_FORBIDDEN, "scope", "this needs the scope '%s'",
                               ff_scope_name(route->scopes));
    if (route->flags & FF_ROUTE_WHOLE && request->token->namespace_count)
        return !ff_answer_fail(request, FF_NOT_FOUND, "path",
                               "not for tokens that are bound to namespaces");
    return true;
}

static bool body_may_come(struct ff_request *request)
{
    const char *const type = header(request, MHD_HTTP_HEADER_CONTENT_TYPE);
    const char *const length = header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const size_t len = type ? strcspn(type, "; ") : 0;
    int64_t bytes = 0;

    const bool has_body =
        header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING) || (length && strcmp(length, "0") != 0);
    if (!has_body || !(request->route->body || request->route->bulk))
        return true;
    if (len != strlen("application/json") || strncasecmp(type, "application/json", len) != 0)
        return !ff_answer_fail(request, FF_UNSUPPORTED_TYPE, "Content-Type",
                               "a body must be application/json");
    if (header(request, MHD_HTTP_HEADER_CONTENT_ENCODING))
        return !ff_answer_fail(request, FF_UNSUPPORTED_TYPE, "Content-Encoding",
                               "a body must not be encoded");
    if (!length || !ff_str_to_i64(ff_str_of(length), &bytes) || bytes < 0)
        return true;
    request->raw_max = (size_t)bytes;
    if (request->raw_max > request->server->body_bytes_max)
        return !ff_answer_fail(request, FF_TOO_LARGE, "body",
                               "body of %" PRId64 " bytes, at most %zu are allowed", bytes,
                               request->server->body_bytes_max);
    return true;
}

/* What the request is for. A target with scheme and authority, as for a proxy, becomes its path,
 * and the authority stands for Host (RFC 9112, 3.2.2). */
static const char *take_host(struct ff_request *request)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < FF_ARRAY_LEN(schemes); i++) {
        const char *const at = request->uri + strlen(schemes[i]);

        if (strncasecmp(request->uri, schemes[i], strlen(schemes[i])) != 0)
            continue;
        const size_t len = strcspn(at, "/?");
        const struct ff_str path =
            ff_arena_printf(&request->arena, "%s%s", at[len] == '/' ? "" : "/", at + len);
        request->uri = path.ptr ? path.ptr : "/";
        return ff_arena_str(&request->arena, (struct ff_str){at, len}).ptr;
    }
    return header(request, MHD_HTTP_HEADER_HOST);
}

void ff_request_admit(struct ff_request *request)
{
    const char *const host = take_host(request);

    take_ids(request);
    if (request->conn->crowded)
        (void)ff_answer_fail(request, FF_OVERLOADED, NULL, "too many connections");
    else if (head_fits(request) && head_is_sound(request) && place_is_right(request, host) &&
             find_route(request) && is_allowed(request))
        (void)body_may_come(request);
}

/* ---- reading, on a pool -----------------------------------------------------------------------
 */

/* "?verbose" alone says yes. */
static bool query_bool(const char *text, json_t **ret)
{
    const bool is_yes = !*text || strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

    *ret = json_boolean(is_yes);
    return is_yes || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

/* A member of the query as the JSON its field wants; false: it cannot be one. */
static bool query_value(const struct ff_field *field, const char *text, json_t **ret)
{
    int64_t number = 0;

    if (field->kind == FF_FIELD_TEXT)
        *ret = json_string(text);
    else if (field->kind == FF_FIELD_BOOL)
        return query_bool(text, ret);
    else if (ff_str_to_i64(ff_str_of(text), &number))
        *ret = json_integer(number);
    else
        return false;
    return true;
}

static const struct ff_field *query_field(const struct ff_shape *shape, const char *name)
{
    for (size_t i = 0; shape && i < shape->count; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
    return NULL;
}

static bool parse_pair(struct ff_request *request, struct ff_str pair)
{
    json_t *json = NULL;
    size_t at = 0;

    while (at < pair.len && pair.ptr[at] != '=')
        at++;
    const char *const name = ff_url_decode(&request->arena, ff_str_slice(pair, 0, at), true);
    const char *const value =
        ff_url_decode(&request->arena, ff_str_slice(pair, at + 1, SIZE_MAX), true);
    if (request->arena.failed)
        return !ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the query");
    if (!name || !value)
        return !ff_answer_fail(request, FF_INVALID, "query", "query is not well encoded");
    const struct ff_field *const field = query_field(request->route->query, name);
    if (!field)
        return !ff_answer_fail(request, FF_UNKNOWN_FIELD, name, "no such parameter '%.64s'", name);
    if (json_object_get(request->query, name))
        return !ff_answer_fail(request, FF_INVALID, name, "%.64s is given twice", name);
    if (!*value && field->kind != FF_FIELD_BOOL)
        return true; /* "?lane=" is as if it were not there */
    if (!query_value(field, value, &json))
        return !ff_answer_fail(request, FF_INVALID, name, "%.64s must be %s", name,
                               field->kind == FF_FIELD_BOOL ? "true or false" : "an integer");
    if (json_object_set_new(request->query, name, json) != 0)
        return !ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the query");
    return true;
}

static bool parse_query(struct ff_request *request)
{
    const char *at = strchr(request->uri, '?');

    request->query = json_object();
    if (!request->query)
        return !ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the query");
    for (at = at ? at + 1 : ""; *at;) {
        const size_t len = strcspn(at, "&");

        if (len && !parse_pair(request, (struct ff_str){.ptr = at, .len = len}))
            return false;
        at += len + (at[len] == '&');
    }
    return true;
}

void ff_request_parse(struct ff_request *request)
{
    const bool takes_body = request->route->body || request->route->bulk;
    struct ff_error error;

    if (!parse_query(request) || !takes_body)
        return;
    const struct ff_str text = request->raw.len ? request->raw : FF_STR("{}");
    const ff_status status = ff_json_parse(text, &request->body, &error);
    if (status != FF_OK)
        (void)ff_answer_fail(request, status, "body", "%s", error.message);
}
