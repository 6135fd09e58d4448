/* SPDX-License-Identifier: Apache-2.0
 *
 * fields.c -- JSON objects into structs, by table and strictly.
 *
 * Whatever is not in the table is refused by name, so that a typing mistake never becomes a
 * default. Tests: tests/unit/test_json.c. */
#include "api/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"

#include "base/banned.h"

#define PATH_BYTES 96 /* as much as an error keeps */

/* "policy.retry_policy." for the members of that object. Returns the length. */
static size_t path_of(const struct ff_reader *reader, char path[PATH_BYTES])
{
    size_t len = reader->outer ? path_of(reader->outer, path) : 0;
    int more = 0;

    path[len] = '\0';
    if (!reader->name)
        return len;
    if (reader->index == SIZE_MAX)
        more = snprintf(path + len, PATH_BYTES - len, "%s.", reader->name);
    else
        more = snprintf(path + len, PATH_BYTES - len, "%s[%zu].", reader->name, reader->index);
    return more > 0 ? ff_min_size(len + (size_t)more, PATH_BYTES - 1) : len;
}

static void field_of(const struct ff_reader *reader, const char *name, char field[PATH_BYTES])
{
    const size_t len = path_of(reader, field);

    (void)snprintf(field + len, PATH_BYTES - len, "%s", name);
}

ff_status ff_reader_wrong(const struct ff_reader *reader, const char *name, const char *what)
{
    char field[PATH_BYTES];

    field_of(reader, name, field);
    return ff_fail_field(reader->reterr, FF_INVALID, field, "%s must be %s", field, what);
}

static struct ff_reader inside_of(const struct ff_reader *outer, const char *name, size_t index)
{
    return (struct ff_reader){outer->arena, outer, name, index, outer->reterr, outer->lenient};
}

static ff_status too_many(const struct ff_reader *reader, const struct ff_field *member,
                          size_t count)
{
    char field[PATH_BYTES];

    field_of(reader, member->name, field);
    return ff_fail_field(reader->reterr, FF_TOO_LARGE, field, "%zu %s, at most %zu are allowed",
                         count, member->name, member->max);
}

bool ff_reader_has(const json_t *json, const char *name)
{
    const json_t *const value = json_object_get(json, name);

    return value && !json_is_null(value);
}

bool ff_field_is_choice(const char *choices, const char *text)
{
    const size_t len = strlen(text);

    for (const char *at = choices; *at;) {
        const size_t width = strcspn(at, "|");

        if (width == len && memcmp(at, text, len) == 0)
            return true;
        at += width + (at[width] == '|');
    }
    return false;
}

/* ---- one function per kind --------------------------------------------------------------------
 */

typedef ff_status read_fn(const struct ff_reader *reader, const struct ff_field *member,
                          const json_t *value, char *out);

static ff_status read_object(const struct ff_reader *reader, const struct ff_shape *shape,
                             const json_t *json, void *out);

static const char *copy(const struct ff_reader *reader, const json_t *string)
{
    const struct ff_str text = {.ptr = json_string_value(string),
                                .len = json_string_length(string)};

    return ff_arena_str(reader->arena, text).ptr;
}

static ff_status read_text(const struct ff_reader *reader, const struct ff_field *member,
                           const json_t *value, char *out)
{
    char what[128];

    if (!json_is_string(value))
        return ff_reader_wrong(reader, member->name, "a string");
    if (member->choices && !ff_field_is_choice(member->choices, json_string_value(value))) {
        (void)snprintf(what, sizeof what, "one of %s", member->choices);
        return ff_reader_wrong(reader, member->name, what);
    }
    *(const char **)(void *)out = copy(reader, value);
    return FF_OK;
}

static ff_status read_chars(const struct ff_reader *reader, const struct ff_field *member,
                            const json_t *value, char *out)
{
    if (!json_is_string(value) || json_string_length(value) >= member->max)
        return ff_reader_wrong(reader, member->name, "a short string");
    memcpy(out, json_string_value(value), json_string_length(value) + 1);
    return FF_OK;
}

static ff_status integer_of(const struct ff_reader *reader, const struct ff_field *member,
                            const json_t *value, int64_t *ret)
{
    if (!json_is_integer(value))
        return ff_reader_wrong(reader, member->name, "an integer");
    if (json_integer_value(value) == INT64_MIN) /* our own mark for "absent" */
        return ff_reader_wrong(reader, member->name, "in range");
    *ret = json_integer_value(value);
    return FF_OK;
}

static ff_status read_i64(const struct ff_reader *reader, const struct ff_field *member,
                          const json_t *value, char *out)
{
    return integer_of(reader, member, value, (int64_t *)(void *)out);
}

static ff_status read_i32(const struct ff_reader *reader, const struct ff_field *member,
                          const json_t *value, char *out)
{
    int64_t wide = 0;

    FF_TRY(integer_of(reader, member, value, &wide));
    if (wide < INT32_MIN + 1 || wide > INT32_MAX)
        return ff_reader_wrong(reader, member->name, "in range");
    *(int32_t *)(void *)out = (int32_t)wide;
    return FF_OK;
}

static ff_status read_bool(const struct ff_reader *reader, const struct ff_field *member,
                           const json_t *value, char *out)
{
    if (!json_is_boolean(value))
        return ff_reader_wrong(reader, member->name, "true or false");
    *(bool *)(void *)out = json_is_true(value);
    return FF_OK;
}

static ff_status read_real(const struct ff_reader *reader, const struct ff_field *member,
                           const json_t *value, char *out)
{
    if (!json_is_number(value))
        return ff_reader_wrong(reader, member->name, "a number");
    *(double *)(void *)out = json_number_value(value);
    return FF_OK;
}

static ff_status read_value(const struct ff_reader *reader, const struct ff_field *member,
                            const json_t *value, char *out)
{
    struct ff_error problem;
    const ff_status status = ff_json_text(value, reader->arena, FF_PAYLOAD_BYTES_CEILING,
                                          (struct ff_str *)(void *)out, &problem);
    char field[PATH_BYTES];

    if (status == FF_OK)
        return FF_OK;
    field_of(reader, member->name, field);
    return ff_fail_field(reader->reterr, status, field, "%s", problem.message);
}

static ff_status read_base64(const struct ff_reader *reader, const struct ff_field *member,
                             const json_t *value, char *out)
{
    const struct ff_str text = {.ptr = json_string_value(value), .len = json_string_length(value)};
    uint8_t *bytes;
    size_t len = 0;

    if (!json_is_string(value))
        return ff_reader_wrong(reader, member->name, "a string");
    bytes = ff_arena_alloc(reader->arena, FF_BASE64_DATA_BYTES_MAX(text.len) + 1);
    if (!bytes)
        return ff_arena_check(reader->arena, reader->reterr);
    if (!ff_base64_decode(text, bytes, &len))
        return ff_reader_wrong(reader, member->name, "base64");
    *(struct ff_str *)(void *)out = (struct ff_str){.ptr = (const char *)bytes, .len = len};
    return FF_OK;
}

/* Lists write their count beside them. */
static void put_list(const struct ff_field *member, char *out, const void *items, size_t count)
{
    *(const void **)(void *)out = items;
    *(size_t *)(void *)(out - member->offset + member->more) = count;
}

static ff_status read_texts(const struct ff_reader *reader, const struct ff_field *member,
                            const json_t *value, char *out)
{
    const size_t count = json_array_size(value);
    const char **texts;

    if (!json_is_array(value))
        return ff_reader_wrong(reader, member->name, "an array of strings");
    if (count > member->max)
        return too_many(reader, member, count);
    texts = ff_arena_array(reader->arena, count, sizeof(char *));
    for (size_t i = 0; texts && i < count; i++) {
        if (!json_is_string(json_array_get(value, i)))
            return ff_reader_wrong(reader, member->name, "an array of strings");
        texts[i] = copy(reader, json_array_get(value, i));
    }
    put_list(member, out, texts, texts ? count : 0);
    return FF_OK;
}

static ff_status read_tags(const struct ff_reader *reader, const struct ff_field *member,
                           const json_t *value, char *out)
{
    json_t *const object = (json_t *)(uintptr_t)value; /* jansson's iterators are not const */
    struct ff_tag_pair *tags;
    size_t count = 0;

    if (!json_is_object(value))
        return ff_reader_wrong(reader, member->name, "an object");
    if (json_object_size(value) > member->max)
        return too_many(reader, member, json_object_size(value));
    tags = ff_arena_array(reader->arena, json_object_size(value), sizeof *tags);
    for (void *at = json_object_iter(object); tags && at; at = json_object_iter_next(object, at)) {
        const char *const key = json_object_iter_key(at);
        const struct ff_reader inside = inside_of(reader, member->name, SIZE_MAX);

        if (!json_is_string(json_object_iter_value(at)))
            return ff_reader_wrong(&inside, key, "a string");
        tags[count].name = ff_arena_str(reader->arena, ff_str_of(key)).ptr;
        tags[count++].value = copy(reader, json_object_iter_value(at));
    }
    put_list(member, out, tags, count);
    return FF_OK;
}

static ff_status read_inside(const struct ff_reader *reader, const struct ff_field *member,
                             const json_t *value, char *out)
{
    const struct ff_reader inside = inside_of(reader, member->name, SIZE_MAX);

    if (!json_is_object(value))
        return ff_reader_wrong(reader, member->name, "an object");
    return read_object(&inside, member->shape, value, out);
}

static void *shape_new(const struct ff_shape *shape, struct ff_arena *arena, size_t count)
{
    char *const items = ff_arena_array(arena, count, shape->bytes);

    for (size_t i = 0; items && shape->init && i < count; i++)
        shape->init(items + i * shape->bytes);
    return items;
}

static ff_status read_pointer(const struct ff_reader *reader, const struct ff_field *member,
                              const json_t *value, char *out)
{
    char *const object = shape_new(member->shape, reader->arena, 1);

    if (!object)
        return ff_arena_check(reader->arena, reader->reterr);
    FF_TRY(read_inside(reader, member, value, object));
    *(const void **)(void *)out = object;
    return FF_OK;
}

static ff_status read_objects(const struct ff_reader *reader, const struct ff_field *member,
                              const json_t *value, char *out)
{
    const size_t count = json_array_size(value);
    char *items;

    if (!json_is_array(value))
        return ff_reader_wrong(reader, member->name, "an array of objects");
    if (count > member->max)
        return too_many(reader, member, count);
    items = shape_new(member->shape, reader->arena, count);
    for (size_t i = 0; items && i < count; i++) {
        const struct ff_reader inside = inside_of(reader, member->name, i);

        if (!json_is_object(json_array_get(value, i)))
            return ff_reader_wrong(reader, member->name, "an array of objects");
        FF_TRY(read_object(&inside, member->shape, json_array_get(value, i),
                           items + i * member->shape->bytes));
    }
    put_list(member, out, items, items ? count : 0);
    return FF_OK;
}

static ff_status read_items(const struct ff_reader *reader, const struct ff_field *member,
                            const json_t *value, char *out)
{
    if (!json_is_array(value))
        return ff_reader_wrong(reader, member->name, "an array");
    if (json_array_size(value) > member->max)
        return too_many(reader, member, json_array_size(value));
    if (!json_array_size(value))
        return ff_reader_wrong(reader, member->name, "an array with at least one item");
    *(const json_t **)(void *)out = value;
    return FF_OK;
}

static ff_status read_nothing(const struct ff_reader *reader, const struct ff_field *member,
                              const json_t *value, char *out)
{
    (void)reader;
    (void)member;
    (void)value;
    (void)out;
    return FF_OK;
}

static read_fn *const readers[FF_FIELD_KIND_COUNT] = {
    [FF_FIELD_TEXT] = read_text,       [FF_FIELD_I64] = read_i64,
    [FF_FIELD_I32] = read_i32,         [FF_FIELD_BOOL] = read_bool,
    [FF_FIELD_REAL] = read_real,       [FF_FIELD_VALUE] = read_value,
    [FF_FIELD_BASE64] = read_base64,   [FF_FIELD_TEXTS] = read_texts,
    [FF_FIELD_TAGS] = read_tags,       [FF_FIELD_OBJECT] = read_inside,
    [FF_FIELD_POINTER] = read_pointer, [FF_FIELD_OBJECTS] = read_objects,
    [FF_FIELD_ITEMS] = read_items,     [FF_FIELD_CHARS] = read_chars,
    [FF_FIELD_SEEN] = read_nothing,
};

/* ---- objects ----------------------------------------------------------------------------------
 */

static const struct ff_field *member_named(const struct ff_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
    return NULL;
}

static ff_status read_members(const struct ff_reader *reader, const struct ff_shape *shape,
                              const json_t *json, char *out)
{
    json_t *const object = (json_t *)(uintptr_t)json;

    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *const name = json_object_iter_key(at);
        const struct ff_field *const member = member_named(shape, name);

        if (!member && reader->lenient)
            continue;
        if (!member) {
            char field[PATH_BYTES];

            field_of(reader, name, field);
            return ff_fail_field(reader->reterr, FF_UNKNOWN_FIELD, field, "no such field '%s'",
                                 field);
        }
        if (!json_is_null(json_object_iter_value(at)))
            FF_TRY(readers[member->kind](reader, member, json_object_iter_value(at),
                                         out + member->offset));
    }
    return ff_arena_check(reader->arena, reader->reterr);
}

static ff_status read_object(const struct ff_reader *reader, const struct ff_shape *shape,
                             const json_t *json, void *out)
{
    FF_TRY(read_members(reader, shape, json, out));
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].required && !ff_reader_has(json, shape->fields[i].name))
            return ff_reader_wrong(reader, shape->fields[i].name, "given");
    return shape->finish ? shape->finish(reader, json, out) : FF_OK;
}

static ff_status read_first(const struct ff_reader *reader, const struct ff_shape *shape,
                            const json_t *json, void *out)
{
    if (!json_is_object(json))
        return ff_fail_field(reader->reterr, FF_INVALID, reader->name, "%s must be an object",
                             reader->name      ? reader->name
                             : reader->lenient ? "the answer"
                                               : "the request");
    if (shape->init)
        shape->init(out);
    else
        memset(out, 0, shape->bytes);
    return read_object(reader, shape, json, out);
}

ff_status ff_shape_read(const struct ff_shape *shape, const json_t *json, const char *name,
                        struct ff_arena *arena, void *out, struct ff_error *reterr)
{
    const struct ff_reader reader = {arena, NULL, name, SIZE_MAX, reterr, false};

    return read_first(&reader, shape, json, out);
}

ff_status ff_shape_take(const struct ff_shape *shape, const json_t *json, struct ff_arena *arena,
                        void *out, struct ff_error *reterr)
{
    const struct ff_reader reader = {arena, NULL, NULL, SIZE_MAX, reterr, true};

    return read_first(&reader, shape, json, out);
}

ff_status ff_reader_bytes(const struct ff_reader *reader, const json_t *json, const char *name,
                          const char **content_type)
{
    char base64[64], type[64];

    (void)snprintf(base64, sizeof base64, "%s_base64", name);
    (void)snprintf(type, sizeof type, "%s_content_type", name);
    if (!ff_reader_has(json, base64))
        return *content_type ? ff_reader_wrong(reader, type, "left out: it goes with base64")
                             : FF_OK;
    if (ff_reader_has(json, name))
        return ff_reader_wrong(reader, base64, "left out when the value itself is given");
    if (!*content_type)
        *content_type = FF_BYTES_TYPE;
    return FF_OK;
}
