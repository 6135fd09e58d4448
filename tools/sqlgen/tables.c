/* SPDX-License-Identifier: Apache-2.0
 *
 * tables.c -- the statements every table of rows.def has: load by key, insert, update, delete.
 *
 * Postgres takes one array per column and works on all rows at once; SQLite takes one row. A key
 * set joined as unnest() is the only join next to a lock. Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <string.h>

static bool is_key(const struct column *col)
{
    return col->cls == KEY;
}

static bool is_hot(const struct column *col)
{
    return col->cls == HOT;
}

static bool is_any(const struct column *col)
{
    (void)col;
    return true;
}

static bool is_owner(const struct column *col)
{
    return !strcmp(col->name, "partition_key") || !strcmp(col->name, "execution_id");
}

/* The store numbers events itself. */
static bool is_given(const struct column *col)
{
    return col->cls != KEY;
}

typedef bool pick_fn(const struct column *col);

/* "<before>name<after>, ..." for the columns picked. */
static void add_names(struct buf *out, const struct table *table, pick_fn *pick, const char *before)
{
    bool is_first = true;

    for (size_t i = 0; i < table->col_count; i++) {
        if (!pick(&table->cols[i]))
            continue;
        buf_addf(out, "%s%s%s", is_first ? "" : ", ", before, table->cols[i].name);
        is_first = false;
    }
}

/* "$1::int2[], $2::uuid[]"; returns the next number. */
static int add_arrays(struct buf *out, const struct table *table, pick_fn *pick, int number)
{
    for (size_t i = 0; i < table->col_count; i++) {
        if (pick(&table->cols[i])) {
            buf_addf(out, "%s$%d::%s[]", number > 1 ? ", " : "", number,
                     pg_type(table->cols[i].type));
            number++;
        }
    }
    return number;
}

/* "unnest($1::int2[]) AS a, unnest($2::uuid[]) AS b": one row per element, all arrays in step.
 * Functions in FROM would say the same, but Postgres then keeps every column in a tuple store of
 * its own: 35 columns cost 180 us for one row and 560 for 100, here 22 and 160. Returns the next
 * number. */
static int add_rows(struct buf *out, const struct table *table, pick_fn *pick, int number)
{
    for (size_t i = 0; i < table->col_count; i++) {
        if (pick(&table->cols[i])) {
            buf_addf(out, "%sunnest($%d::%s[]) AS %s", number > 1 ? ", " : "", number,
                     pg_type(table->cols[i].type), table->cols[i].name);
            number++;
        }
    }
    return number;
}

/* " VALUES (?1, ?2), (?3, ?4)" */
static void add_values(struct buf *out, const struct table *table, pick_fn *pick, int rows)
{
    int number = 1;

    for (int row = 0; row < rows; row++) {
        bool is_first = true;

        buf_adds(out, row ? ", (" : " VALUES (");
        for (size_t i = 0; i < table->col_count; i++) {
            if (!pick(&table->cols[i]))
                continue;
            buf_addf(out, "%s?%d", is_first ? "" : ", ", number++);
            is_first = false;
        }
        buf_adds(out, ")");
    }
}

/* "t.a = k.a AND t.b = k.b" or "a = ?1 AND b = ?2". */
static void add_match(struct buf *out, const struct table *table, pick_fn *pick, int dialect)
{
    int number = 1;

    for (size_t i = 0; i < table->col_count; i++) {
        const char *name = table->cols[i].name;

        if (!pick(&table->cols[i]))
            continue;
        buf_adds(out, number > 1 ? " AND " : "");
        if (dialect == SQLITE)
            buf_addf(out, "%s = ?%d", name, number);
        else
            buf_addf(out, "t.%s = k.%s", name, name);
        number++;
    }
}

static void add_keys(struct buf *out, const struct table *table, pick_fn *pick)
{
    buf_adds(out, "unnest(");
    (void)add_arrays(out, table, pick, 1);
    buf_adds(out, ") AS k(");
    add_names(out, table, pick, "");
    buf_adds(out, ")");
}

static const char *select_by_key(const struct table *table, int dialect, const char *lock)
{
    struct buf out = {0};

    buf_adds(&out, "SELECT ");
    add_names(&out, table, is_any, dialect == SQLITE ? "" : "t.");
    buf_addf(&out, " FROM %s", table->sql);
    if (dialect == SQLITE) {
        buf_adds(&out, " WHERE ");
    } else {
        buf_adds(&out, " t JOIN ");
        add_keys(&out, table, is_key);
        buf_adds(&out, " ON ");
    }
    add_match(&out, table, is_key, dialect);
    if (dialect == POSTGRES)
        buf_adds(&out, lock);
    return out.data;
}

static const char *insert_sqlite(const struct table *table, int rows)
{
    pick_fn *const pick = table->flavour == LOG ? is_given : is_any;
    struct buf out = {0};

    buf_addf(&out, "INSERT INTO %s (", table->sql);
    add_names(&out, table, pick, "");
    buf_adds(&out, ")");
    add_values(&out, table, pick, rows);
    return out.data;
}

/* Numbers of events follow the order of the arrays: the sorted subquery is read row by row. */
static const char *insert_postgres(const struct table *table)
{
    struct buf out = {0};

    buf_addf(&out, "INSERT INTO %s (", table->sql);
    add_names(&out, table, is_any, "");
    buf_adds(&out, ") SELECT ");
    if (table->flavour != LOG) {
        (void)add_rows(&out, table, is_any, 1);
        return out.data;
    }
    buf_addf(&out, "nextval('%s_id_seq'), ", table->sql);
    add_names(&out, table, is_given, "u.");
    buf_adds(&out, " FROM (SELECT ");
    (void)add_rows(&out, table, is_given, 1);
    buf_adds(&out, ", generate_subscripts($1, 1) AS ordinal ORDER BY ordinal) u RETURNING ");
    add_names(&out, table, is_key, "");
    return out.data;
}

/* Without a sequence: numbers from one row, which is held until the commit. */
static const char *insert_serial(const struct table *table)
{
    struct buf out = {0};

    buf_adds(&out, "WITH n AS (UPDATE ff_meta SET value = "
                   "CAST(CAST(value AS bigint) + cardinality($1) AS text) "
                   "WHERE name = 'log_counter' RETURNING CAST(value AS bigint) AS top) ");
    buf_addf(&out, "INSERT INTO %s (", table->sql);
    add_names(&out, table, is_any, "");
    buf_adds(&out, ") SELECT n.top - cardinality($1) + u.ordinal, ");
    add_names(&out, table, is_given, "u.");
    buf_adds(&out, " FROM n, (SELECT ");
    (void)add_rows(&out, table, is_given, 1);
    buf_adds(&out, ", generate_subscripts($1, 1) AS ordinal) u RETURNING ");
    add_names(&out, table, is_key, "");
    return out.data;
}

static const char *update_hot(const struct table *table, int dialect)
{
    struct buf out = {0};
    int number = 1;
    bool is_first = true;

    for (size_t i = 0; i < table->col_count; i++)
        number += is_key(&table->cols[i]);
    buf_addf(&out, "UPDATE %s%s SET ", table->sql, dialect == SQLITE ? "" : " t");
    for (size_t i = 0; i < table->col_count; i++) {
        const char *name = table->cols[i].name;

        if (!is_hot(&table->cols[i]))
            continue;
        buf_addf(&out, "%s%s = ", is_first ? "" : ", ", name);
        if (dialect == SQLITE)
            buf_addf(&out, "?%d", number++);
        else
            buf_addf(&out, "k.%s", name);
        is_first = false;
    }
    if (dialect == POSTGRES) {
        buf_adds(&out, " FROM (SELECT ");
        (void)add_rows(&out, table, is_hot, add_rows(&out, table, is_key, 1));
        buf_adds(&out, ") AS k");
    }
    buf_adds(&out, " WHERE ");
    add_match(&out, table, is_key, dialect);
    return is_first ? NULL : out.data;
}

static const char *remove_by(const struct table *table, int dialect, pick_fn *pick)
{
    struct buf out = {0};

    buf_addf(&out, "DELETE FROM %s", table->sql);
    if (dialect == POSTGRES) {
        buf_adds(&out, " t USING ");
        add_keys(&out, table, pick);
    }
    buf_adds(&out, " WHERE ");
    add_match(&out, table, pick, dialect);
    return out.data;
}

/* On Postgres the COMMIT is already on its way when the answer to an update arrives, so the server
 * itself must refuse a wrong row count: it divides by zero. An INSERT cannot miss a row without an
 * error. */
static const char *counted(const char *statement)
{
    struct buf out = {0};

    buf_adds(&out, "WITH hit AS (");
    buf_adds(&out, statement);
    buf_adds(&out, " RETURNING 1) SELECT 1 / (count(*) = cardinality($1))::int FROM hit");
    return out.data;
}

static void emit_pair(struct buf *out, const char *field, const char *sqlite, const char *postgres)
{
    buf_addf(out, "        .%s = {\n            [FF_DIALECT_SQLITE] =\n", field);
    emit_string(out, sqlite);
    buf_adds(out, ",\n            [FF_DIALECT_POSTGRES] =\n");
    emit_string(out, postgres);
    buf_adds(out, ",\n        },\n");
}

static void emit_table(struct buf *out, const struct table *t)
{
    const bool is_log = t->flavour == LOG;
    const bool has_purge = t->scope == EXECUTION;
    const char *one = select_by_key(t, SQLITE, "");

    buf_addf(out, "    [FF_TABLE_%s] = {\n", t->NAME);
    if (!is_log) {
        emit_pair(out, "lock", one, select_by_key(t, POSTGRES, " FOR UPDATE OF t SKIP LOCKED"));
        emit_pair(out, "wait", one, select_by_key(t, POSTGRES, " FOR UPDATE OF t"));
    }
    emit_pair(out, "read", one, select_by_key(t, POSTGRES, ""));
    emit_pair(out, "insert", insert_sqlite(t, 1), insert_postgres(t));
    buf_adds(out, "        .insert_many =\n");
    emit_string(out, insert_sqlite(t, MANY_ROWS));
    buf_adds(out, ",\n");
    if (is_log) {
        buf_adds(out, "        .serial =\n");
        emit_string(out, insert_serial(t));
        buf_adds(out, ",\n");
    }
    if (t->flavour == KEYED)
        emit_pair(out, "update", update_hot(t, SQLITE), counted(update_hot(t, POSTGRES)));
    if (!is_log)
        emit_pair(out, "remove", remove_by(t, SQLITE, is_key),
                  counted(remove_by(t, POSTGRES, is_key)));
    if (has_purge) { /* one execution each, and any number of rows that hang off it */
        const char *purge = remove_by(t, POSTGRES, is_owner);

        emit_pair(out, "purge", remove_by(t, SQLITE, is_owner),
                  strcmp(t->NAME, "EXECUTION") == 0 ? counted(purge) : purge);
    }
    buf_adds(out, "    },\n");
}

void emit_tables(struct buf *out)
{
    buf_adds(out, "const struct ff_sql_table ff_sql_tables[FF_TABLE_COUNT] = {\n");
    for (size_t i = 0; i < table_count; i++)
        emit_table(out, &tables[i]);
    buf_adds(out, "};\n");
}
