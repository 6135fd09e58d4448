/* SPDX-License-Identifier: Apache-2.0
 *
 * codec.c -- rows and values in Postgres' binary formats, and back.
 *
 * Pure: no connection is touched. Integers are big-endian; an array is its dimensions followed by
 * length and bytes of each element, length -1 for NULL. Empty arrays have no dimension.
 * Tests: tests/unit/test_postgres_codec.c. */
#include "postgres-int.h"

#include <assert.h>
#include <string.h>

#include "base/codec.h"

#include "base/banned.h"

#define ARRAY_HEAD_BYTES 20

/* Type numbers are part of the wire protocol: pg_type.dat never changes them. */
static const struct {
    Oid scalar, array;
    unsigned bytes; /* 0: as long as the value */
} pg_types[] = {
    [FF_TYPE_I16] = {21, 1005, 2},  [FF_TYPE_I32] = {23, 1007, 4},
    [FF_TYPE_I64] = {20, 1016, 8},  [FF_TYPE_UUID] = {2950, 2951, 16},
    [FF_TYPE_TEXT] = {25, 1009, 0}, [FF_TYPE_BLOB] = {17, 1001, 0},
};

Oid ff_pg_type_oid(ff_type type)
{
    return pg_types[type].scalar;
}

/* One value on its way out: its bytes, or NULL. */
struct piece {
    const char *ptr;
    size_t len;
    uint8_t number[8];
};

static void piece_i64(struct piece *piece, ff_type type, int64_t value)
{
    piece->len = pg_types[type].bytes;
    ff_put_be(piece->number, (uint64_t)value, (unsigned)piece->len);
    piece->ptr = (const char *)piece->number;
}

static void piece_of(struct piece *piece, const struct ff_col *col, const void *row)
{
    const char *const at = (const char *)row + col->offset;
    int32_t i32;
    int64_t i64;
    struct ff_str str;

    piece->ptr = NULL;
    piece->len = 0;
    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        memcpy(&i32, at, sizeof i32);
        if (!col->optional || i32 != FF_NULL32)
            piece_i64(piece, col->type, i32);
        break;
    case FF_TYPE_I64:
        memcpy(&i64, at, sizeof i64);
        if (!col->optional || i64 != FF_NULL64)
            piece_i64(piece, col->type, i64);
        break;
    case FF_TYPE_UUID:
        if (!col->optional || !ff_uuid_is_zero(*(const struct ff_uuid *)(const void *)at)) {
            piece->ptr = at;
            piece->len = sizeof(struct ff_uuid);
        }
        break;
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        memcpy(&str, at, sizeof str);
        piece->ptr = str.ptr;
        piece->len = str.ptr ? str.len : 0;
        break;
    }
}

static void bind(struct ff_pg_params *params, Oid type, const void *bytes, size_t len)
{
    const int nth = params->count++;

    assert(nth < FF_PG_PARAMS_MAX);
    params->types[nth] = type;
    params->values[nth] = bytes;
    params->lengths[nth] = (int)len;
    params->formats[nth] = 1;
}

static uint8_t *array_head(struct ff_pg_params *params, ff_type type, size_t count, bool has_null,
                           size_t body_bytes)
{
    const size_t bytes = (count ? ARRAY_HEAD_BYTES : 12) + body_bytes;
    uint8_t *const out = ff_arena_alloc(params->arena, bytes);

    bind(params, pg_types[type].array, out, bytes);
    if (!out)
        return NULL;
    ff_put_be32(out, count ? 1 : 0);
    ff_put_be32(out + 4, has_null ? 1 : 0);
    ff_put_be32(out + 8, pg_types[type].scalar);
    if (count) {
        ff_put_be32(out + 12, (uint32_t)count);
        ff_put_be32(out + 16, 1);
    }
    return out + ARRAY_HEAD_BYTES;
}

static uint8_t *array_add(uint8_t *out, const struct piece *piece)
{
    ff_put_be32(out, piece->ptr ? (uint32_t)piece->len : UINT32_MAX);
    if (piece->ptr && piece->len)
        memcpy(out + 4, piece->ptr, piece->len);
    return out + 4 + piece->len;
}

void ff_pg_bind_column(struct ff_pg_params *params, const struct ff_col *col, void *const *rows,
                       size_t count)
{
    struct piece piece;
    size_t bytes = 0;
    bool has_null = false;
    uint8_t *out;

    for (size_t i = 0; i < count; i++) {
        piece_of(&piece, col, rows[i]);
        bytes += 4 + piece.len;
        has_null |= !piece.ptr;
    }
    out = array_head(params, col->type, count, has_null, bytes);
    for (size_t i = 0; out && i < count; i++) {
        piece_of(&piece, col, rows[i]);
        out = array_add(out, &piece);
    }
}

void ff_pg_bind_cell(struct ff_pg_params *params, const struct ff_col *col, const void *row)
{
    struct piece piece;
    const void *bytes;

    piece_of(&piece, col, row);
    bytes = piece.ptr;
    if (bytes == piece.number)
        bytes = ff_arena_copy(params->arena, piece.number, piece.len);
    bind(params, pg_types[col->type].scalar, bytes, piece.len);
}

static void piece_nth(struct piece *piece, ff_type type, const struct ff_value *value, size_t nth)
{
    if (value->type == FF_VALUE_TEXTS) {
        piece->ptr = value->as.strs[nth].ptr;
        piece->len = value->as.strs[nth].len;
    } else if (value->type == FF_VALUE_UUIDS) {
        piece->ptr = (const char *)value->as.uuids[nth].b;
        piece->len = sizeof value->as.uuids[nth].b;
    } else {
        piece_i64(piece, type, value->as.i64s[nth]);
    }
}

static void bind_values(struct ff_pg_params *params, ff_type type, const struct ff_value *value)
{
    struct piece piece;
    size_t bytes = 0;
    bool has_null = false;
    uint8_t *out;

    for (size_t i = 0; i < value->count; i++) {
        piece_nth(&piece, type, value, i);
        bytes += 4 + piece.len;
        has_null |= !piece.ptr;
    }
    out = array_head(params, type, value->count, has_null, bytes);
    for (size_t i = 0; out && i < value->count; i++) {
        piece_nth(&piece, type, value, i);
        out = array_add(out, &piece);
    }
}

static bool is_number(ff_type type)
{
    return type == FF_TYPE_I16 || type == FF_TYPE_I32 || type == FF_TYPE_I64;
}

void ff_pg_bind_value(struct ff_pg_params *params, const struct ff_sql_param *as,
                      const struct ff_value *value)
{
    const ff_type number = is_number(as->width) ? as->width : FF_TYPE_I64;
    const bool fits = value->type == as->type;
    uint8_t *out;

    switch (as->type) {
    case FF_VALUE_I64:
        out = NULL;
        if (fits && value->as.i64 != FF_NULL64) {
            out = ff_arena_alloc(params->arena, 8);
            if (out)
                ff_put_be(out, (uint64_t)value->as.i64, pg_types[number].bytes);
        }
        bind(params, pg_types[number].scalar, out, pg_types[number].bytes);
        break;
    case FF_VALUE_UUID:
        bind(params, pg_types[FF_TYPE_UUID].scalar, fits ? value->as.uuid.b : NULL, 16);
        break;
    case FF_VALUE_TEXT:
    case FF_VALUE_BLOB:
        bind(params, pg_types[as->type == FF_VALUE_TEXT ? FF_TYPE_TEXT : FF_TYPE_BLOB].scalar,
             fits ? value->as.str.ptr : NULL, fits ? value->as.str.len : 0);
        break;
    case FF_VALUE_I64S:
    case FF_VALUE_TEXTS:
    case FF_VALUE_UUIDS: {
        const ff_type type = as->type == FF_VALUE_I64S ? number : as->width;

        if (fits)
            bind_values(params, type, value);
        else
            bind(params, pg_types[type].array, NULL, 0);
        break;
    }
    case FF_VALUE_NULL:
        bind(params, 0, NULL, 0);
        break;
    }
}

/* Accepts any width, so that count(*) and an int2 column decode alike. */
static bool decode_i64(const char *bytes, int len, int64_t *ret)
{
    uint64_t bits;

    if (len != 1 && len != 2 && len != 4 && len != 8)
        return false;
    bits = ff_get_be((const uint8_t *)bytes, (unsigned)len);
    if (len > 1 && len < 8 && bits >> (8 * len - 1))
        bits |= ~UINT64_C(0) << (8 * len);
    *ret = ff_i64_from_bits(bits);
    return true;
}

bool ff_pg_decode_column(const struct ff_col *col, const char *bytes, int len,
                         struct ff_arena *arena, void *row)
{
    char *const at = (char *)row + col->offset;
    int64_t i64;
    int32_t i32;
    struct ff_str str;

    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        if (len > 4 || !decode_i64(bytes, len, &i64))
            return false;
        i32 = (int32_t)i64;
        memcpy(at, &i32, sizeof i32);
        return true;
    case FF_TYPE_I64:
        if (!decode_i64(bytes, len, &i64))
            return false;
        memcpy(at, &i64, sizeof i64);
        return true;
    case FF_TYPE_UUID:
        if (len != 16)
            return false;
        memcpy(at, bytes, 16);
        return true;
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        str = ff_arena_str(arena, (struct ff_str){bytes, (size_t)len});
        memcpy(at, &str, sizeof str);
        return true;
    }
    return false;
}

bool ff_pg_decode_cell(ff_value_type type, const char *bytes, int len, struct ff_arena *arena,
                       struct ff_value *ret)
{
    *ret = (struct ff_value){.type = type};
    switch (type) {
    case FF_VALUE_I64:
        ret->as.i64 = FF_NULL64;
        return !bytes || decode_i64(bytes, len, &ret->as.i64);
    case FF_VALUE_TEXT:
    case FF_VALUE_BLOB:
        ret->as.str = ff_arena_str(arena, (struct ff_str){bytes, (size_t)len});
        return true;
    case FF_VALUE_UUID:
        if (bytes && len == 16)
            memcpy(ret->as.uuid.b, bytes, 16);
        return !bytes || len == 16;
    case FF_VALUE_NULL:
    case FF_VALUE_I64S:
    case FF_VALUE_TEXTS:
    case FF_VALUE_UUIDS:
        break;
    }
    return false;
}

bool ff_pg_decode_row(const PGresult *result, int nth, ff_table table, struct ff_arena *arena,
                      void *row)
{
    const struct ff_table_info *const info = &ff_tables[table];

    if (PQnfields(result) != info->col_count)
        return false;
    for (int i = 0; i < info->col_count; i++) {
        if (PQgetisnull(result, nth, i))
            continue; /* a fresh row is null already */
        if (!ff_pg_decode_column(&info->cols[i], PQgetvalue(result, nth, i),
                                 PQgetlength(result, nth, i), arena, row))
            return false;
    }
    return true;
}
