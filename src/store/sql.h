/* SPDX-License-Identifier: Apache-2.0
 *
 * sql.h -- the shape of what tools/sqlgen makes out of sql/, migrations/ and model/rows.def.
 *
 * The arrays are defined in the generated sql_gen.c; the ids of the blocks (FF_SQL_<NAME>) are in
 * the generated sql_ids.h, which src/ops may include too: a scan is named there, never written.
 * Tests: tests/conformance prepares every text on both databases. */
#ifndef FF_STORE_SQL_H
#define FF_STORE_SQL_H

#include "model/rows.h"
#include "model/value.h"
#include "sql_ids.h"

enum { FF_DIALECT_SQLITE, FF_DIALECT_POSTGRES, FF_DIALECT_COUNT };

struct ff_sql_param {
    const char *name;
    ff_value_type type;
    ff_type width; /* how an I64 travels on Postgres: int2, int4 or int8 */
};

/* A named block of src/store/sql/<noun>.sql. */
struct ff_sql_block {
    const char *name;
    const char *text[FF_DIALECT_COUNT];
    const struct ff_sql_param *params; /* in order of their numbers */
    uint16_t param_count;
    int16_t limit_param;            /* index of the parameter "limit", or -1 */
    int16_t out_table;              /* rows of this ff_table, or -1: cells */
    const ff_value_type *out_types; /* of the cells */
    uint16_t out_count;
    bool locks; /* a locking scan: runs last */
};
extern const struct ff_sql_block ff_sql_blocks[FF_SQL_COUNT];

/* The statements every table has. On Postgres each takes one array per column, or one value per
 * column and row if there are few: one, or up to four that are written; on SQLite one value per
 * column, run once per row. A NULL text: the table never needs it. */
enum {
    FF_FORM_SQLITE,
    FF_FORM_POSTGRES,
    FF_FORM_POSTGRES_ONE, /* the next ones are for one row more each */
    FF_FORM_POSTGRES_TWO,
    FF_FORM_POSTGRES_THREE,
    FF_FORM_POSTGRES_FOUR,
    FF_FORM_COUNT
};
#define FF_SQL_FEW_ROWS (FF_FORM_COUNT - FF_FORM_POSTGRES_ONE)

struct ff_sql_table {
    const char *lock[FF_FORM_COUNT];    /* keys -> rows, FOR UPDATE SKIP LOCKED */
    const char *wait[FF_FORM_COUNT];    /* keys -> rows, FOR UPDATE */
    const char *read[FF_FORM_COUNT];    /* keys -> rows, no lock (also tells absent from busy) */
    const char *insert[FF_FORM_COUNT];  /* all columns */
    const char *insert_many;            /* the same on SQLite for FF_SQL_MANY_ROWS at once */
    const char *insert_plain;           /* the same on Postgres, by array, of rows that are plain */
    const char *serial;                 /* the same on Postgres for a log without a sequence */
    const char *update[FF_FORM_COUNT];  /* key columns, the hot ones, stamps as they were */
    const char *rewrite[FF_FORM_COUNT]; /* key columns, hot and warm ones as they come, stamps */
    const char *remove[FF_FORM_COUNT];  /* keys */
    const char *purge[FF_FORM_COUNT];   /* (partition_key, execution_id); EXECUTION scope only */
};
extern const struct ff_sql_table ff_sql_tables[FF_TABLE_COUNT];

struct ff_sql_migration {
    int32_t version;
    int32_t oldest_binary; /* the oldest schema number a binary may know and still run on this */
    const char *name;
    const char *checksum; /* hex SHA-256 of both texts as they stand in the files */
    const char *text[FF_DIALECT_COUNT];
};
extern const struct ff_sql_migration ff_sql_migrations[];
extern const int32_t ff_sql_migration_count;

#endif
