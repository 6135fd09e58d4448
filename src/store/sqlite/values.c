/* SPDX-License-Identifier: Apache-2.0
 *
 * values.c -- C values to SQLite parameters, SQLite columns to C values.
 *
 * Parameters are bound without copying: what they point to outlives the statement's run. Absent is
 * spelled as rows.h says. Tests: tests/unit/test_sqlite_store.c. */
#include "store/sqlite/sqlite-int.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#include "base/banned.h"

static int bind_i64(sqlite3_stmt *stmt, int index, int64_t number, bool null)
{
    return null ? sqlite3_bind_null(stmt, index) : sqlite3_bind_int64(stmt, index, number);
}

static int bind_text(sqlite3_stmt *stmt, int index, struct ff_str str)
{
    /* A null pointer binds NULL. */
    return sqlite3_bind_text64(stmt, index, str.ptr, str.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_blob(sqlite3_stmt *stmt, int index, const void *ptr, size_t len)
{
    return sqlite3_bind_blob64(stmt, index, ptr, len, SQLITE_STATIC);
}

/* Arrays of numbers and texts travel as JSON text for json_each(). */
static int bind_array(sqlite3_stmt *stmt, int index, const struct ff_value *value)
{
    json_t *const array = json_array();
    char *text = NULL;
    int rc = array ? SQLITE_OK : SQLITE_NOMEM;

    for (size_t i = 0; rc == SQLITE_OK && i < value->count; i++) {
        json_t *const item = value->type == FF_VALUE_I64S
                                 ? json_integer(value->as.i64s[i])
                                 : json_stringn(value->as.strs[i].ptr, value->as.strs[i].len);

        if (json_array_append_new(array, item) != 0)
            rc = SQLITE_MISMATCH; /* not UTF-8 */
    }
    if (rc == SQLITE_OK) {
        text = json_dumps(array, JSON_COMPACT);
        rc = text ? sqlite3_bind_text(stmt, index, text, -1, free) : SQLITE_NOMEM;
    }
    json_decref(array);
    return rc;
}

/* JSON has no bytes: uuids travel as one blob, 16 bytes each, for substr(). No uuids are an empty
 * blob; a null pointer would bind NULL. */
static int bind_uuids(sqlite3_stmt *stmt, int index, const struct ff_value *value)
{
    if (value->count == 0)
        return sqlite3_bind_zeroblob(stmt, index, 0);
    return bind_blob(stmt, index, value->as.uuids, value->count * sizeof *value->as.uuids);
}

int ff_sqlite_bind_value(sqlite3_stmt *stmt, int index, const struct ff_value *value)
{
    switch (value->type) {
    case FF_VALUE_NULL:
        return sqlite3_bind_null(stmt, index);
    case FF_VALUE_I64:
        return bind_i64(stmt, index, value->as.i64, value->as.i64 == FF_NULL64);
    case FF_VALUE_TEXT:
        return bind_text(stmt, index, value->as.str);
    case FF_VALUE_BLOB:
        return bind_blob(stmt, index, value->as.str.ptr, value->as.str.len);
    case FF_VALUE_UUID:
        return bind_blob(stmt, index, value->as.uuid.b, sizeof value->as.uuid.b);
    case FF_VALUE_I64S:
    case FF_VALUE_TEXTS:
        return bind_array(stmt, index, value);
    case FF_VALUE_UUIDS:
        return bind_uuids(stmt, index, value);
    }
    return SQLITE_MISMATCH;
}

/* Row structs are aligned, and `offset` is that of a member of the column's C type. */
static const void *member(const struct ff_col *col, const void *row)
{
    return (const char *)row + col->offset;
}

int ff_sqlite_bind_col(sqlite3_stmt *stmt, int index, const struct ff_col *col, const void *row)
{
    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32: {
        const int32_t number = *(const int32_t *)member(col, row);

        return bind_i64(stmt, index, number, col->optional && number == FF_NULL32);
    }
    case FF_TYPE_I64: {
        const int64_t number = *(const int64_t *)member(col, row);

        return bind_i64(stmt, index, number, col->optional && number == FF_NULL64);
    }
    case FF_TYPE_UUID: {
        const struct ff_uuid *const uuid = member(col, row);

        if (col->optional && ff_uuid_is_zero(*uuid))
            return sqlite3_bind_null(stmt, index);
        return bind_blob(stmt, index, uuid->b, sizeof uuid->b);
    }
    case FF_TYPE_TEXT:
        return bind_text(stmt, index, *(const struct ff_str *)member(col, row));
    case FF_TYPE_BLOB: {
        const struct ff_str *const str = member(col, row);

        return bind_blob(stmt, index, str->ptr, str->len);
    }
    }
    return SQLITE_MISMATCH;
}

/* Cells are read as values: one look at the statement per cell instead of one per question. That is
 * for whoever has the connection to itself, as every session has. */
static int get_str(sqlite3_value *cell, struct ff_str *ret, struct ff_arena *arena)
{
    struct ff_str str;

    /* An empty blob comes as a null pointer; for us it is a value. */
    str.ptr = sqlite3_value_type(cell) == SQLITE_TEXT ? (const char *)sqlite3_value_text(cell)
                                                      : sqlite3_value_blob(cell);
    str.len = (size_t)sqlite3_value_bytes(cell);
    if (!str.ptr && str.len == 0)
        str.ptr = "";
    *ret = ff_arena_str(arena, str);
    return ret->ptr ? SQLITE_OK : SQLITE_TOOBIG;
}

static int get_uuid(sqlite3_value *cell, struct ff_uuid *ret)
{
    const void *const bytes = sqlite3_value_blob(cell);

    if (!bytes || sqlite3_value_bytes(cell) != (int)sizeof ret->b)
        return SQLITE_MISMATCH;
    memcpy(ret->b, bytes, sizeof ret->b);
    return SQLITE_OK;
}

static int get_col(sqlite3_value *cell, const struct ff_col *col, void *row, struct ff_arena *arena)
{
    void *const to = (char *)row + col->offset;
    const bool null = sqlite3_value_type(cell) == SQLITE_NULL;

    if (null && !col->optional)
        return SQLITE_MISMATCH;
    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        *(int32_t *)to = null ? FF_NULL32 : sqlite3_value_int(cell);
        return SQLITE_OK;
    case FF_TYPE_I64:
        *(int64_t *)to = null ? FF_NULL64 : sqlite3_value_int64(cell);
        return SQLITE_OK;
    case FF_TYPE_UUID:
        if (null)
            memset(to, 0, sizeof(struct ff_uuid));
        return null ? SQLITE_OK : get_uuid(cell, to);
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        if (null)
            *(struct ff_str *)to = ff_str_null();
        return null ? SQLITE_OK : get_str(cell, to, arena);
    }
    return SQLITE_MISMATCH;
}

int ff_sqlite_get_cols(sqlite3_stmt *stmt, const struct ff_table_info *info, int from, void *row,
                       struct ff_arena *arena)
{
    int rc = SQLITE_OK;

    if (sqlite3_column_count(stmt) < info->col_count)
        return SQLITE_MISMATCH;
    for (int i = from; rc == SQLITE_OK && i < info->col_count; i++)
        rc = get_col(sqlite3_column_value(stmt, i), &info->cols[i], row, arena);
    return rc;
}

int ff_sqlite_get_cell(sqlite3_stmt *stmt, int index, ff_value_type type, struct ff_value *ret,
                       struct ff_arena *arena)
{
    sqlite3_value *const cell = sqlite3_column_value(stmt, index);
    const bool null = sqlite3_value_type(cell) == SQLITE_NULL;

    *ret = (struct ff_value){.type = type};
    switch (type) {
    case FF_VALUE_I64:
        ret->as.i64 = null ? FF_NULL64 : sqlite3_value_int64(cell);
        return SQLITE_OK;
    case FF_VALUE_TEXT:
    case FF_VALUE_BLOB:
        return null ? SQLITE_OK : get_str(cell, &ret->as.str, arena);
    case FF_VALUE_UUID:
        return null ? SQLITE_OK : get_uuid(cell, &ret->as.uuid);
    case FF_VALUE_NULL:
    case FF_VALUE_I64S:
    case FF_VALUE_TEXTS:
    case FF_VALUE_UUIDS:
        break;
    }
    return SQLITE_MISMATCH;
}
