/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_bodies.c -- bodies and queries of every route: read whole, or refused with a name.
 *
 * The first line names the route and which of its shapes ("task_renew bulk"), or, if there is no
 * such route, its first two bytes do; JSON follows. Every shape of every route has a file in the
 * corpus: tests/unit/test_corpus.c. */
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "http/routes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ff_field *field_of(const struct ff_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
    return NULL;
}

/* What was accepted has no member that nobody knows, and all that are required. */
static void check_members(const struct ff_shape *shape, json_t *json)
{
    const char *name;
    json_t *value;

    json_object_foreach(json, name, value)
    {
        if (!json_is_null(value) && !field_of(shape, name))
            abort();
    }
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].required && !json_object_get(json, shape->fields[i].name))
            abort();
}

static void read_as(const struct ff_shape *shape, json_t *json, struct ff_arena *arena)
{
    void *const out = ff_arena_alloc(arena, shape->bytes);
    struct ff_error error = {0};
    const ff_status status = ff_shape_read(shape, json, NULL, arena, out, &error);

    if (status != FF_OK) {
        if (!error.message[0])
            abort();
        return;
    }
    if (json)
        check_members(shape, json);
    for (size_t i = 0; i < shape->count; i++) {
        const struct ff_field *const field = &shape->fields[i];
        const json_t *items;

        if (field->kind != FF_FIELD_ITEMS)
            continue;
        memcpy(&items, (const char *)out + field->offset, sizeof items);
        if (json_array_size(items) > field->max)
            abort();
        for (size_t k = 0; k < json_array_size(items) && k < 16; k++)
            read_as(field->shape, json_array_get(items, k), arena);
    }
}

static bool starts_with(const uint8_t **data, size_t *size, const char *text)
{
    const size_t len = strlen(text);

    if (*size < len || memcmp(*data, text, len) != 0)
        return false;
    *data += len;
    *size -= len;
    return true;
}

/* Moves on behind the name. */
static const struct ff_shape *shape_of(const uint8_t **data, size_t *size)
{
    const struct ff_route *route;

    for (size_t i = 0; i < FF_ROUTE_COUNT; i++) {
        const uint8_t *at = *data;
        size_t left = *size;
        const struct ff_shape *shape;

        if (!starts_with(&at, &left, ff_routes[i].name) || !starts_with(&at, &left, " "))
            continue;
        shape = starts_with(&at, &left, "body\n")    ? ff_routes[i].body
                : starts_with(&at, &left, "bulk\n")  ? ff_routes[i].bulk
                : starts_with(&at, &left, "query\n") ? ff_routes[i].query
                                                     : NULL;
        *data = at;
        *size = left;
        return shape;
    }
    if (*size < 2)
        return NULL;
    route = &ff_routes[(*data)[0] % FF_ROUTE_COUNT];
    *data += 2;
    *size -= 2;
    return ((const struct ff_shape *[]){route->body, route->bulk, route->query})[(*data)[-1] % 3];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    const struct ff_shape *const shape = shape_of(&data, &size);
    const struct ff_str text = {.ptr = (const char *)data, .len = size};
    struct ff_error error;
    struct ff_arena arena;

    if (!shape || ff_json_parse(text, &json, &error) != FF_OK)
        return 0;
    ff_arena_init(&arena, 4096, 64 << 20);
    read_as(shape, json, &arena);
    ff_arena_done(&arena);
    return 0;
}
