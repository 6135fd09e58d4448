/* SPDX-License-Identifier: Apache-2.0
 *
 * rows.h -- the row structs of rows.def and the descriptors that describe them to the stores.
 *
 * Every row struct starts with a struct ff_row, so a pointer to one is a pointer to the other.
 * Tests: tests/unit/test_rows.c. */
#ifndef FF_MODEL_ROWS_H
#define FF_MODEL_ROWS_H

#include "base/str.h"
#include "base/uuid.h"

#include <stdint.h>

#define FF_NULL32 INT32_MIN
#define FF_NULL64 INT64_MIN

typedef enum ff_table {
#define TABLE(NAME, row, sql, scope, flavour) FF_TABLE_##NAME,
#define COL(row, type, name, cls, null)
#define END(row)
#include "model/rows.def"
    FF_TABLE_COUNT
} ff_table;

typedef enum ff_type {
    FF_TYPE_I16,
    FF_TYPE_I32,
    FF_TYPE_I64,
    FF_TYPE_UUID,
    FF_TYPE_TEXT,
    FF_TYPE_BLOB,
} ff_type;

typedef enum ff_col_class {
    FF_COL_KEY,
    FF_COL_ONCE,
    FF_COL_HOT,
    FF_COL_STAMP,
    FF_COL_WARM
} ff_col_class;
/* Does every update send it? */
#define FF_COL_IS_HOT(col) ((col)->cls == FF_COL_HOT || (col)->cls == FF_COL_STAMP)
typedef enum ff_scope { FF_SCOPE_GLOBAL, FF_SCOPE_EXECUTION } ff_scope;
typedef enum ff_flavour { FF_FLAVOUR_KEYED, FF_FLAVOUR_INSERT_ONLY, FF_FLAVOUR_LOG } ff_flavour;

struct ff_col {
    const char *name;
    ff_type type;
    ff_col_class cls;
    bool optional;
    bool is_later;   /* as a rule an insert leaves it 0 or null */
    uint16_t offset; /* into the row struct */
};

struct ff_table_info {
    const char *name; /* in SQL */
    const struct ff_col *cols;
    uint16_t col_count;
    uint16_t key_count; /* the first key_count columns are the key */
    uint16_t row_bytes;
    ff_scope scope;
    ff_flavour flavour;
};

extern const struct ff_table_info ff_tables[FF_TABLE_COUNT];

struct ff_entry;

/* Where a row stands in its batch. Written by rowset.c only. */
struct ff_row {
    struct ff_entry *entry; /* of the rowset it belongs to; NULL outside of one */
    void *before;           /* the row before this batch first edited it; never written */
    uint8_t table;          /* ff_table */
    bool is_new;            /* insert it */
    bool is_dirty;          /* update it */
    bool is_deleted;        /* delete it */
    bool is_purged;         /* goes with everything scoped to it */
    uint32_t op;            /* the op that changed it last; 0: none in this batch */
};

#define FF_C_I16  int32_t
#define FF_C_I32  int32_t
#define FF_C_I64  int64_t
#define FF_C_UUID struct ff_uuid
#define FF_C_TEXT struct ff_str
#define FF_C_BLOB struct ff_str

#define TABLE(NAME, row, sql, scope, flavour)                                                      \
    struct ff_##row {                                                                              \
        struct ff_row head;
#define COL(row, type, name, cls, null) FF_C_##type name;
#define END(row)                                                                                   \
    }                                                                                              \
    ;
#include "model/rows.def"

/* The key of a row as bytes whose memcmp order is the order of locks and saves. Returns the length.
 */
#define FF_KEY_BYTES 560
size_t ff_row_key(ff_table table, const void *row, uint8_t out[FF_KEY_BYTES]);

/* Every optional column null, every other zero. */
void ff_row_init(ff_table table, void *row);
/* Are all columns that an insert leaves 0 or null as a rule (rows.def) so in this row? */
bool ff_row_is_plain(ff_table table, const void *row);

#endif
