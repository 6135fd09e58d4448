/* SPDX-License-Identifier: Apache-2.0
 *
 * rows.c -- descriptors of all tables, and the two things every row needs: a key and a beginning.
 *
 * Pure. Tests: tests/unit/test_rows.c. */
#include "model/rows.h"

#include "base/macros.h"

#include <assert.h>
#include <string.h>

#include "base/banned.h"

#define TABLE(NAME, row, sql, scope, flavour) static const struct ff_col row##_cols[] = {
#define COL(row, type, name, cls, null)                                                            \
    {#name, FF_TYPE_##type, FF_COL_##cls, NULL_##null, offsetof(struct ff_##row, name)},
#define END(row)                                                                                   \
    }                                                                                              \
    ;
#define NULL_REQ  false, false
#define NULL_OPT  true, false
#define NULL_ZERO false, true
#define NULL_NONE true, true
#include "model/rows.def"

/* The key comes first, so its length is the number of key columns. */
enum {
#define TABLE(NAME, row, sql, scope, flavour) row##_keys = 0
#define COL(row, type, name, cls, null)       +(FF_COL_##cls == FF_COL_KEY)
#define END(row)                              ,
#include "model/rows.def"
};

const struct ff_table_info ff_tables[FF_TABLE_COUNT] = {
#define TABLE(NAME, row, sql, scope, flavour)                                                      \
    [FF_TABLE_##NAME] = {sql,                                                                      \
                         row##_cols,                                                               \
                         FF_ARRAY_LEN(row##_cols),                                                 \
                         row##_keys,                                                               \
                         sizeof(struct ff_##row),                                                  \
                         FF_SCOPE_##scope,                                                         \
                         FF_FLAVOUR_##flavour},
#define COL(row, type, name, cls, null)
#define END(row)
#include "model/rows.def"
};

/* Big-endian with the sign turned round: negative numbers sort before positive ones. */
static size_t put_int(uint8_t *out, int64_t value, size_t bytes)
{
    const uint64_t bits = (uint64_t)value + (UINT64_C(1) << (8 * bytes - 1));

    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(bits >> (8 * (bytes - 1 - i)));
    return bytes;
}

static size_t put_col(const struct ff_col *col, const uint8_t *at, uint8_t *out, size_t room)
{
    int32_t small;
    int64_t large;
    struct ff_str str;

    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        assert(room >= 4);
        memcpy(&small, at, sizeof small);
        return put_int(out, small, col->type == FF_TYPE_I16 ? 2 : 4);
    case FF_TYPE_I64:
        assert(room >= 8);
        memcpy(&large, at, sizeof large);
        return put_int(out, large, 8);
    case FF_TYPE_UUID:
        assert(room >= 16);
        memcpy(out, at, 16);
        return 16;
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        break;
    }
    /* Texts hold no NUL, so a terminator keeps "a" before "ab" whatever follows in the key. */
    memcpy(&str, at, sizeof str);
    assert(room > str.len);
    if (str.len)
        memcpy(out, str.ptr, str.len);
    out[str.len] = 0;
    return str.len + 1;
}

/* The rows of executions are in the order of their uuids, that is of time, and then of partitions.
 * So rows born together lie together in the table, and are found together when they are claimed. */
static size_t key_col(const struct ff_table_info *info, size_t nth)
{
    return info->scope == FF_SCOPE_EXECUTION && nth < 2 ? 1 - nth : nth;
}

size_t ff_row_key(ff_table table, const void *row, uint8_t out[FF_KEY_BYTES])
{
    const struct ff_table_info *const info = &ff_tables[table];
    size_t len = 0;

    for (size_t i = 0; i < info->key_count; i++) {
        const struct ff_col *const col = &info->cols[key_col(info, i)];

        len += put_col(col, (const uint8_t *)row + col->offset, out + len, FF_KEY_BYTES - len);
    }
    return len;
}

void ff_row_init(ff_table table, void *row)
{
    static const int32_t null_small = FF_NULL32;
    static const int64_t null_large = FF_NULL64;
    const struct ff_table_info *const info = &ff_tables[table];

    memset(row, 0, info->row_bytes);
    ((struct ff_row *)row)->table = (uint8_t)table;
    for (size_t i = 0; i < info->col_count; i++) {
        const struct ff_col *const col = &info->cols[i];
        uint8_t *const at = (uint8_t *)row + col->offset;

        if (!col->optional)
            continue;
        if (col->type == FF_TYPE_I16 || col->type == FF_TYPE_I32)
            memcpy(at, &null_small, sizeof null_small);
        else if (col->type == FF_TYPE_I64)
            memcpy(at, &null_large, sizeof null_large);
    }
}

static bool is_beginning(const struct ff_col *col, const uint8_t *at)
{
    int32_t small;
    int64_t large;
    struct ff_uuid uuid;
    struct ff_str str;

    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        memcpy(&small, at, sizeof small);
        return small == (col->optional ? FF_NULL32 : 0);
    case FF_TYPE_I64:
        memcpy(&large, at, sizeof large);
        return large == (col->optional ? FF_NULL64 : 0);
    case FF_TYPE_UUID:
        memcpy(&uuid, at, sizeof uuid);
        return ff_uuid_is_zero(uuid);
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        break;
    }
    memcpy(&str, at, sizeof str);
    return !str.ptr;
}

bool ff_row_is_plain(ff_table table, const void *row)
{
    const struct ff_table_info *const info = &ff_tables[table];

    for (size_t i = 0; i < info->col_count; i++)
        if (info->cols[i].is_later &&
            !is_beginning(&info->cols[i], (const uint8_t *)row + info->cols[i].offset))
            return false;
    return true;
}
