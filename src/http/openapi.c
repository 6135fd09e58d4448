/* SPDX-License-Identifier: Apache-2.0
 *
 * openapi.c -- /openapi.json out of the table of routes and the shapes they read.
 *
 * Tests: tests/e2e/test_openapi.py walks over it. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "http/handlers.h"
#include "http/server-int.h"

#include "base/banned.h"

/* ---- schemas ----------------------------------------------------------------------------------
 */

static json_t *ref_to(const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", name));
}

static json_t *choices_of(const char *choices)
{
    json_t *const array = json_array();

    for (const char *at = choices; array && *at;) {
        const size_t len = strcspn(at, "|");

        (void)json_array_append_new(array, json_stringn(at, len));
        at += len + (at[len] == '|');
    }
    return array;
}

static json_t *field_schema(const struct ff_field *field)
{
    switch (field->kind) {
    case FF_FIELD_TEXT:
    case FF_FIELD_CHARS:
        if (field->choices)
            return json_pack("{s:s, s:o}", "type", "string", "enum", choices_of(field->choices));
        return json_pack("{s:s}", "type", "string");
    case FF_FIELD_I64:
        return json_pack("{s:s, s:s}", "type", "integer", "format", "int64");
    case FF_FIELD_I32:
        return json_pack("{s:s, s:s}", "type", "integer", "format", "int32");
    case FF_FIELD_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case FF_FIELD_REAL:
        return json_pack("{s:s}", "type", "number");
    case FF_FIELD_BASE64:
        return json_pack("{s:s, s:s}", "type", "string", "contentEncoding", "base64");
    case FF_FIELD_TEXTS:
        return json_pack("{s:s, s:{s:s}, s:I}", "type", "array", "items", "type", "string",
                         "maxItems", (json_int_t)field->max);
    case FF_FIELD_TAGS:
        return json_pack("{s:s, s:{s:s}, s:I}", "type", "object", "additionalProperties", "type",
                         "string", "maxProperties", (json_int_t)field->max);
    case FF_FIELD_OBJECT:
    case FF_FIELD_POINTER:
        return ref_to(field->shape->name);
    case FF_FIELD_OBJECTS:
    case FF_FIELD_ITEMS:
        return json_pack("{s:s, s:o, s:i, s:I}", "type", "array", "items",
                         ref_to(field->shape->name), "minItems", field->kind == FF_FIELD_ITEMS,
                         "maxItems", (json_int_t)field->max);
    case FF_FIELD_VALUE:
    case FF_FIELD_SEEN:
    case FF_FIELD_KIND_COUNT:
        break;
    }
    return json_object(); /* anything */
}

static json_t *answer_schema(const struct ff_shape *shape);

/* A member of an answer: it may be null, and objects are told in place. */
static json_t *answer_member(const struct ff_field *field)
{
    json_t *schema;

    switch (field->kind) {
    case FF_FIELD_OBJECT:
    case FF_FIELD_POINTER:
        schema = answer_schema(field->shape);
        break;
    case FF_FIELD_OBJECTS:
        return json_pack("{s:s, s:o}", "type", "array", "items", answer_schema(field->shape));
    case FF_FIELD_TEXTS:
        return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
    case FF_FIELD_TAGS:
        return json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type",
                         "string");
    case FF_FIELD_TEXT:
    case FF_FIELD_CHARS:
    case FF_FIELD_I64:
    case FF_FIELD_I32:
    case FF_FIELD_BOOL:
    case FF_FIELD_REAL:
    case FF_FIELD_VALUE:
    case FF_FIELD_BASE64:
    case FF_FIELD_ITEMS:
    case FF_FIELD_SEEN:
    case FF_FIELD_KIND_COUNT:
    default:
        schema = field_schema(field);
        break;
    }
    const char *const type = json_string_value(json_object_get(schema, "type"));
    if (type && field->kind != FF_FIELD_BOOL)
        (void)json_object_set_new(schema, "type", json_pack("[s, s]", type, "null"));
    if (field->help)
        (void)json_object_set_new(schema, "description", json_string(field->help));
    return schema;
}

/* Newer servers may say more. */
static json_t *answer_schema(const struct ff_shape *shape)
{
    json_t *const properties = json_object();

    for (size_t i = 0; i < shape->count; i++)
        (void)json_object_set_new(properties, shape->fields[i].name,
                                  answer_member(&shape->fields[i]));
    return json_pack("{s:s, s:o}", "type", "object", "properties", properties);
}

static json_t *described(const struct ff_field *field)
{
    json_t *const schema = field_schema(field);

    if (field->help)
        (void)json_object_set_new(schema, "description", json_string(field->help));
    return schema;
}

static void add_shape(json_t *schemas, const struct ff_shape *shape)
{
    json_t *const properties = json_object();
    json_t *const required = json_array();

    if (json_object_get(schemas, shape->name)) {
        json_decref(properties);
        json_decref(required);
        return;
    }
    for (size_t i = 0; i < shape->count; i++) {
        const struct ff_field *const field = &shape->fields[i];

        (void)json_object_set_new(properties, field->name, described(field));
        if (field->required)
            (void)json_array_append_new(required, json_string(field->name));
    }
    (void)json_object_set_new(schemas, shape->name,
                              json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties",
                                        properties, "required", required, "additionalProperties",
                                        0));
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].shape)
            add_shape(schemas, shape->fields[i].shape);
}

/* ---- operations -------------------------------------------------------------------------------
 */

static void add_path_params(json_t *parameters, const char *path)
{
    for (const char *at = strchr(path, '{'); at; at = strchr(at + 1, '{'))
        (void)json_array_append_new(parameters,
                                    json_pack("{s:o, s:s, s:b, s:{s:s}}", "name",
                                              json_stringn(at + 1, strcspn(at + 1, "}")), "in",
                                              "path", "required", 1, "schema", "type", "string"));
}

static json_t *parameters_of(const struct ff_route *route)
{
    json_t *const parameters = json_array();

    add_path_params(parameters, route->path);
    for (size_t i = 0; route->query && i < route->query->count; i++) {
        const struct ff_field *const field = &route->query->fields[i];

        (void)json_array_append_new(parameters, json_pack("{s:s, s:s, s:s, s:o}", "name",
                                                          field->name, "in", "query", "description",
                                                          field->help ? field->help : "", "schema",
                                                          field_schema(field)));
    }
    if (route->flags & FF_ROUTE_KEYED)
        (void)json_array_append_new(
            parameters,
            json_pack("{s:s, s:s, s:s, s:{s:s, s:i, s:i}}", "name", "Idempotency-Key", "in",
                      "header", "description",
                      "the same request with the same key gets the same answer for 24 hours",
                      "schema", "type", "string", "minLength", 1, "maxLength", 255));
    return parameters;
}

static json_t *body_of(const struct ff_route *route)
{
    json_t *schema;

    if (route->body && route->bulk)
        schema =
            json_pack("{s:[o, o]}", "oneOf", ref_to(route->body->name), ref_to(route->bulk->name));
    else
        schema = ref_to(route->body ? route->body->name : route->bulk->name);
    return json_pack("{s:{s:{s:o}}}", "content", "application/json", "schema", schema);
}

/* One result per item, or why there is none. */
static json_t *results_schema(const struct ff_shape *shape)
{
    json_t *const one =
        json_pack("{s:[o, {s:s, s:{s:o}, s:[s]}]}", "anyOf", answer_schema(shape), "type", "object",
                  "properties", "error", ref_to("Problem"), "required", "error");

    return json_pack("{s:s, s:{s:{s:s, s:o}}, s:[s]}", "type", "object", "properties", "results",
                     "type", "array", "items", one, "required", "results");
}

static json_t *content_of(const struct ff_route *route)
{
    json_t *schema;

    if (route->body && route->bulk)
        schema = json_pack("{s:[o, o]}", "anyOf", results_schema(route->answer),
                           answer_schema(route->answer));
    else
        schema = route->bulk ? results_schema(route->answer) : answer_schema(route->answer);
    return json_pack("{s:{s:o}}", "application/json", "schema", schema);
}

static json_t *responses_of(const struct ff_route *route)
{
    json_t *const responses = json_object();

    for (const char *at = route->answers; *at; at += 3 + (at[3] == ' ')) {
        char code[4];

        (void)snprintf(code, sizeof code, "%.3s", at);
        json_t *const response = json_pack("{s:s}", "description", route->help);
        if (route->answer)
            (void)json_object_set_new(response, "content", content_of(route));
        (void)json_object_set_new(responses, code, response);
    }
    (void)json_object_set_new(responses, "default",
                              json_pack("{s:s}", "$ref", "#/components/responses/Problem"));
    return responses;
}

/* Any one of them will do. */
static json_t *security_of(unsigned scopes)
{
    json_t *const any = json_array();

    for (unsigned scope = 1; scope <= scopes; scope <<= 1)
        if (scopes & scope)
            (void)json_array_append_new(any, json_pack("{s:[s]}", "bearer", ff_scope_name(scope)));
    return any;
}

static json_t *operation_of(const struct ff_route *route)
{
    json_t *const operation =
        json_pack("{s:s, s:s, s:o, s:o}", "operationId", route->name, "summary", route->help,
                  "parameters", parameters_of(route), "responses", responses_of(route));

    if (route->body || route->bulk)
        (void)json_object_set_new(operation, "requestBody", body_of(route));
    if (route->scopes)
        (void)json_object_set_new(operation, "security", security_of(route->scopes));
    return operation;
}

static json_t *paths(json_t *schemas)
{
    json_t *const all = json_object();

    for (size_t i = 0; i < FF_ROUTE_COUNT; i++) {
        const struct ff_route *const route = &ff_routes[i];
        json_t *path = json_object_get(all, route->path);

        if (!path) {
            path = json_object();
            (void)json_object_set_new(all, route->path, path);
        }
        (void)json_object_set_new(path, strcmp(route->method, "GET") == 0 ? "get" : "post",
                                  operation_of(route));
        if (route->body)
            add_shape(schemas, route->body);
        if (route->bulk)
            add_shape(schemas, route->bulk);
    }
    return all;
}

static json_t *problem_schema(void)
{
    return json_pack("{s:s, s:[s, s, s, s, s, s], s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, "
                     "s:{s:s}, s:{s:s}}}",
                     "type", "object", "required", "type", "title", "status", "detail", "code",
                     "retryable", "properties", "type", "type", "string", "title", "type", "string",
                     "status", "type", "integer", "detail", "type", "string", "code", "type",
                     "string", "retryable", "type", "boolean", "field", "type", "string");
}

bool ff_handle_openapi(struct ff_request *request)
{
    json_t *const schemas = json_object();
    json_t *const all = paths(schemas);

    (void)json_object_set_new(schemas, "Problem", problem_schema());
    json_t *const components = json_pack(
        "{s:o, s:{s:{s:s, s:{s:{s:o}}}}, s:{s:{s:s, s:s}}}", "schemas", schemas, "responses",
        "Problem", "description", "an error", "content", "application/problem+json", "schema",
        ref_to("Problem"), "securitySchemes", "bearer", "type", "http", "scheme", "bearer");
    return ff_answer_json(
        request, 200,
        json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:o}", "openapi", "3.1.0", "info", "title",
                  "FlowFabric", "version", ff_version(), "description",
                  "Members that are null count as absent; unknown ones are refused.", "paths", all,
                  "components", components));
}
