/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c -- JSON text to values and back, and the pieces all writers use.
 *
 * jansson reads and holds the values. It is not asked to write them: it prints doubles with 17
 * digits, and it would follow the depth of a hostile text further than we want.
 * Tests: tests/unit/test_json.c. */
#include "api/json.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/str.h"

#include "base/banned.h"

/* ---- reading ----------------------------------------------------------------------------------
 */

/* Brackets outside of strings; jansson itself would only stop at 2,048. */
static bool too_deep(struct ff_str text)
{
    bool in_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];

        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{') && ++depth > FF_JSON_DEPTH_MAX)
            return true;
        else if (!in_string && (c == ']' || c == '}') && depth)
            depth--;
    }
    return false;
}

ff_status ff_json_parse(struct ff_str text, json_t **ret_json, struct ff_error *reterr)
{
    json_error_t problem;

    /* jansson reads over a NUL byte as if it were not there. */
    if (ff_str_has_nul(text))
        return ff_fail(reterr, FF_INVALID, "JSON holds a NUL byte");
    if (too_deep(text))
        return ff_fail(reterr, FF_TOO_LARGE, "JSON is nested deeper than %d", FF_JSON_DEPTH_MAX);
    json_t *const json = json_loadb(text.ptr ? text.ptr : "", text.len,
                                    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    /* Not every lack of memory inside of jansson has a text of its own. */
    if (!json && (!problem.text[0] || json_error_code(&problem) == json_error_out_of_memory))
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the JSON");
    if (!json)
        return ff_fail(reterr, FF_INVALID, "JSON cannot be read at line %d, column %d: %s",
                       problem.line, problem.column, problem.text);
    *ret_json = json;
    return FF_OK;
}

static bool means_json(const char *content_type)
{
    return !content_type || strcmp(content_type, "application/json") == 0;
}

ff_status ff_json_check(struct ff_str bytes, const char *content_type, const char *field,
                        struct ff_error *reterr)
{
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    struct ff_error problem;

    if (!bytes.ptr || !means_json(content_type))
        return FF_OK;
    const ff_status status = ff_json_parse(bytes, &json, &problem);
    if (status != FF_OK)
        return ff_fail_field(reterr, status, field, "%s: %s", field, problem.message);
    return FF_OK;
}

ff_status ff_json_same(struct ff_str bytes, const char *content_type, struct ff_arena *arena,
                       struct ff_str *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    uint8_t *digest;

    *ret = ff_str_null();
    if (!bytes.ptr || !means_json(content_type))
        return FF_OK;
    FF_TRY(ff_json_parse(bytes, &json, reterr));
    char *const text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    digest = ff_arena_alloc(arena, FF_SHA256_BYTES);
    ff_status status =
        text && digest ? FF_OK : ff_fail(reterr, FF_NO_MEMORY, "cannot hold the JSON");
    if (status == FF_OK)
        status = ff_sha256_of(text, strlen(text), digest, reterr);
    free(text);
    *ret = (struct ff_str){.ptr = (const char *)digest, .len = FF_SHA256_BYTES};
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void write_string(struct ff_strbuf *out, struct ff_str s)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    ff_strbuf_addc(out, '"');
    for (size_t i = 0, from = 0; i <= s.len; i++) {
        const unsigned char c = i < s.len ? (unsigned char)s.ptr[i] : '\0';

        if (i < s.len && c >= 0x20 && c != '"' && c != '\\')
            continue;
        ff_strbuf_add(out, ff_str_slice(s, from, i - from));
        from = i + 1;
        if (i == s.len)
            break;
        size_t form = 0;
        while (short_forms[form] && short_forms[form] != (char)c)
            form += 2;
        if (short_forms[form])
            ff_strbuf_addf(out, "\\%c", short_forms[form + 1]);
        else
            ff_strbuf_addf(out, "\\u%04x", c);
    }
    ff_strbuf_addc(out, '"');
}

/* printf and strtod follow the locale of whoever embeds us; JSON does not. */
static void write_real(struct ff_strbuf *out, double value)
{
    const char *const point = localeconv()->decimal_point;
    char text[64];
    char *at;

    /* Up to 15 digits survive any double but the tiniest, which have fewer to begin with. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    at = strcmp(point, ".") != 0 ? strstr(text, point) : NULL;
    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
    /* "1e+08" is "1e8". */
    at = strchr(text, 'e');
    if (at) {
        char *const exponent = at + 1 + (at[1] == '-');
        const size_t skipped = strspn(exponent, "+0");

        memmove(exponent, exponent + skipped, strlen(exponent + skipped) + 1);
    }
    ff_strbuf_adds(out, text);
    if (!strpbrk(text, ".e"))
        ff_strbuf_adds(out, ".0"); /* or it would come back as an integer */
}

/* Recursion is bounded: whatever was read is at most FF_JSON_DEPTH_MAX deep, our own answers hold
 * it a few levels down. */
static void write_object(struct ff_strbuf *out, const json_t *json)
{
    /* jansson's iterators are not const although they do not change anything. */
    json_t *const object = json_incref((json_t *)(uintptr_t)json);
    const char *separator = "";

    ff_strbuf_addc(out, '{');
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *const key = json_object_iter_key(at);

        ff_strbuf_adds(out, separator);
        write_string(out, ff_str_of(key));
        ff_strbuf_addc(out, ':');
        ff_json_write(out, json_object_iter_value(at));
        separator = ",";
    }
    ff_strbuf_addc(out, '}');
    json_decref(object);
}

static void write_array(struct ff_strbuf *out, const json_t *json)
{
    ff_strbuf_addc(out, '[');
    for (size_t i = 0; i < json_array_size(json); i++) {
        if (i)
            ff_strbuf_addc(out, ',');
        ff_json_write(out, json_array_get(json, i));
    }
    ff_strbuf_addc(out, ']');
}

void ff_json_write(struct ff_strbuf *out, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        write_object(out, json);
        break;
    case JSON_ARRAY:
        write_array(out, json);
        break;
    case JSON_STRING:
        write_string(
            out, (struct ff_str){.ptr = json_string_value(json), .len = json_string_length(json)});
        break;
    case JSON_INTEGER:
        ff_strbuf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
        break;
    case JSON_REAL:
        write_real(out, json_real_value(json));
        break;
    case JSON_TRUE:
        ff_strbuf_adds(out, "true");
        break;
    case JSON_FALSE:
        ff_strbuf_adds(out, "false");
        break;
    case JSON_NULL:
        ff_strbuf_adds(out, "null");
        break;
    }
}

ff_status ff_json_text(const json_t *json, struct ff_arena *arena, size_t max_bytes,
                       struct ff_str *ret_text, struct ff_error *reterr)
{
    struct ff_strbuf out = ff_strbuf_in(arena, max_bytes);

    if (!json)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the answer");
    ff_json_write(&out, json);
    return ff_strbuf_take(&out, ret_text, reterr);
}

/* ---- making answers ---------------------------------------------------------------------------
 */

struct ff_json_maker ff_json_make(void)
{
    struct ff_json_maker maker = {.object = json_object()};

    maker.failed = !maker.object;
    return maker;
}

void ff_json_put(struct ff_json_maker *maker, const char *name, json_t *value)
{
    if (!value || maker->failed || json_object_set_new(maker->object, name, value) != 0) {
        if (maker->failed)
            json_decref(value);
        maker->failed = true;
    }
}

void ff_json_put_text(struct ff_json_maker *maker, const char *name, const char *text)
{
    ff_json_put(maker, name, text ? json_string(text) : json_null());
}

void ff_json_put_i64(struct ff_json_maker *maker, const char *name, int64_t value)
{
    ff_json_put(maker, name, json_integer(value));
}

void ff_json_put_ms(struct ff_json_maker *maker, const char *name, int64_t value)
{
    ff_json_put(maker, name, value == FF_ABSENT_MS ? json_null() : json_integer(value));
}

void ff_json_put_bool(struct ff_json_maker *maker, const char *name, bool value)
{
    ff_json_put(maker, name, json_boolean(value));
}

static json_t *base64_of(struct ff_str bytes)
{
    char *const text = ff_malloc(FF_BASE64_TEXT_BYTES(bytes.len));
    json_t *json = NULL;

    if (text) {
        ff_base64_encode(bytes.ptr, bytes.len, text);
        json = json_string_nocheck(text);
    }
    ff_free(text);
    return json;
}

bool ff_json_put_bytes(struct ff_json_maker *maker, const char *name, struct ff_str bytes,
                       const char *content_type)
{
    ff_status status = bytes.ptr && !means_json(content_type) ? FF_INVALID : FF_OK;
    json_t *value = NULL;
    char other[64];

    if (!bytes.ptr)
        value = json_null();
    else if (status == FF_OK)
        status = ff_json_parse(bytes, &value, NULL);
    if (status == FF_OK || status == FF_NO_MEMORY) {
        ff_json_put(maker, name, value);
        return true;
    }
    (void)snprintf(other, sizeof other, "%s_base64", name);
    ff_json_put(maker, other, base64_of(bytes));
    (void)snprintf(other, sizeof other, "%s_content_type", name);
    ff_json_put_text(maker, other, content_type ? content_type : "application/octet-stream");
    return !means_json(content_type);
}

void ff_json_put_texts(struct ff_json_maker *maker, const char *name, const char *const *texts,
                       size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < count; i++) {
        if (json_array_append_new(array, json_string(texts[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    ff_json_put(maker, name, array);
}

void ff_json_put_tags(struct ff_json_maker *maker, const struct ff_tag_pair *tags, size_t count)
{
    struct ff_json_maker object = ff_json_make();

    for (size_t i = 0; i < count; i++)
        ff_json_put_text(&object, tags[i].name, tags[i].value);
    ff_json_put(maker, "tags", ff_json_made(&object));
}

json_t *ff_json_made(struct ff_json_maker *maker)
{
    if (!maker->failed)
        return maker->object;
    json_decref(maker->object);
    return NULL;
}

json_t *ff_json_array_of(const void *items, size_t count, size_t item_bytes, ff_json_item_fn *write)
{
    json_t *const array = json_array();

    for (size_t i = 0; array && i < count; i++) {
        if (json_array_append_new(array, write((const char *)items + i * item_bytes)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
