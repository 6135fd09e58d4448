/* SPDX-License-Identifier: Apache-2.0
 *
 * tables.c -- the statements every table of rows.def has: load by key, insert, update, delete.
 *
 * Postgres takes one array per column and works on all rows at once; SQLite takes one row, and so
 * does a third form for Postgres: a lone row needs no arrays, which halves what it costs. Two,
 * three and four rows that are written need none either. A key set joined as unnest() is the only
 * join next to a lock. Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <string.h>

enum { POSTGRES_ONE = DIALECTS, POSTGRES_TWO, POSTGRES_THREE, POSTGRES_FOUR, FORMS };

/* How many rows a form of Postgres takes by their values; 0: any number, by arrays. */
static int rows_of(int form)
{
    return form < POSTGRES_ONE ? 0 : form - POSTGRES_ONE + 1;
}

/* The rows of such a form are a table `k` beside the one that is written, `t`. */
static bool is_joined(int form)
{
    return form == POSTGRES || rows_of(form) > 1;
}

static bool is_key(const struct column *col)
{
    return col->cls == KEY;
}

static bool is_hot(const struct column *col)
{
    return col->cls == HOT || col->cls == STAMP;
}

static bool is_hot_or_warm(const struct column *col)
{
    return is_hot(col) || col->cls == WARM;
}

static bool is_stamp(const struct column *col)
{
    return col->cls == STAMP;
}

static bool is_warm(const struct column *col)
{
    return col->cls == WARM;
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

static bool is_later(const struct column *col)
{
    return col->nullness == ZERO || col->nullness == NONE;
}

/* Sent by an insert of rows that are as most are. */
static bool is_plain(const struct column *col)
{
    return !is_later(col);
}

static bool is_plain_and_given(const struct column *col)
{
    return is_plain(col) && is_given(col);
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

/* "?1" or "$1::int2" */
static void add_param(struct buf *out, const struct column *col, int form, int number)
{
    if (form == SQLITE)
        buf_addf(out, "?%d", number);
    else
        buf_addf(out, "$%d::%s", number, pg_type(col->type));
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

/* "t.a = k.a AND t.b = k.b", "a = ?1 AND b = ?2" or "a = $1::int2 AND b = $2::uuid". */
static void add_match(struct buf *out, const struct table *table, pick_fn *pick, int form)
{
    int number = 1;

    for (size_t i = 0; i < table->col_count; i++) {
        const char *name = table->cols[i].name;

        if (!pick(&table->cols[i]))
            continue;
        buf_adds(out, number > 1 ? " AND " : "");
        if (is_joined(form)) {
            buf_addf(out, "t.%s = k.%s", name, name);
        } else {
            buf_addf(out, "%s = ", name);
            add_param(out, &table->cols[i], form, number);
        }
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

static const char *select_by_key(const struct table *table, int form, const char *lock)
{
    struct buf out = {0};

    buf_adds(&out, "SELECT ");
    add_names(&out, table, is_any, form == POSTGRES ? "t." : "");
    buf_addf(&out, " FROM %s", table->sql);
    if (form == POSTGRES) {
        buf_adds(&out, " t JOIN ");
        add_keys(&out, table, is_key);
        buf_adds(&out, " ON ");
    } else {
        buf_adds(&out, form == POSTGRES_ONE ? " t WHERE " : " WHERE ");
    }
    add_match(&out, table, is_key, form);
    if (form != SQLITE)
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

/* "unnest($1::int2[]) AS a, 0 AS b": what is not picked is 0 where it must be something. */
static void add_rows_or_zero(struct buf *out, const struct table *table, pick_fn *pick)
{
    (void)add_rows(out, table, pick, 1);
    for (size_t i = 0; i < table->col_count; i++)
        if (!pick(&table->cols[i]) && table->cols[i].nullness == ZERO)
            buf_addf(out, ", 0 AS %s", table->cols[i].name);
}

/* The names in the same order. */
static void add_names_or_zero(struct buf *out, const struct table *table, pick_fn *pick,
                              const char *before)
{
    add_names(out, table, pick, before);
    for (size_t i = 0; i < table->col_count; i++)
        if (!pick(&table->cols[i]) && table->cols[i].nullness == ZERO)
            buf_addf(out, ", %s%s", before, table->cols[i].name);
}

/* Numbers of events follow the order of the arrays: a subquery that makes rows of arrays is never
 * merged with what is around it, and is read row by row. Only the highest number is told. */
static const char *insert_events(const struct table *table, pick_fn *pick)
{
    struct buf out = {0};

    buf_addf(&out, "WITH given AS (INSERT INTO %s (event_id, ", table->sql);
    add_names_or_zero(&out, table, pick, "");
    buf_addf(&out, ") SELECT nextval('%s_id_seq'), ", table->sql);
    add_names_or_zero(&out, table, pick, "u.");
    buf_adds(&out, " FROM (SELECT ");
    add_rows_or_zero(&out, table, pick);
    buf_adds(&out, ") u RETURNING event_id) SELECT max(event_id) FROM given");
    return out.data;
}

static const char *insert_by_array(const struct table *table, bool plain)
{
    pick_fn *const pick = plain ? is_plain : is_any;
    struct buf out = {0};

    if (table->flavour == LOG)
        return insert_events(table, plain ? is_plain_and_given : is_given);
    buf_addf(&out, "INSERT INTO %s (", table->sql);
    add_names_or_zero(&out, table, pick, "");
    buf_adds(&out, ") SELECT ");
    add_rows_or_zero(&out, table, pick);
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

static bool has(const struct table *table, pick_fn *pick)
{
    for (size_t i = 0; i < table->col_count; i++)
        if (pick(&table->cols[i]))
            return true;
    return false;
}

/* ", unnest($9::int8[]) AS was_version": what the row had when it was decided upon. */
static void add_stamp_rows(struct buf *out, const struct table *table, int number)
{
    for (size_t i = 0; i < table->col_count; i++)
        if (is_stamp(&table->cols[i]))
            buf_addf(out, ", unnest($%d::%s[]) AS was_%s", number++, pg_type(table->cols[i].type),
                     table->cols[i].name);
}

/* ", $9::int8" for the columns picked, without the comma if they come first. */
static int add_params(struct buf *out, const struct table *table, pick_fn *pick, int number,
                      bool is_first)
{
    for (size_t i = 0; i < table->col_count; i++) {
        if (!pick(&table->cols[i]))
            continue;
        buf_adds(out, is_first ? "" : ", ");
        add_param(out, &table->cols[i], POSTGRES_ONE, number++);
        is_first = false;
    }
    return number;
}

/* The numbers of a few events are given in the order of the rows. */
static const char *insert_by_value(const struct table *table, int rows)
{
    struct buf out = {0};
    int number = 1;

    buf_addf(&out, "INSERT INTO %s (", table->sql);
    add_names(&out, table, is_any, "");
    buf_adds(&out, ") VALUES ");
    for (int row = 0; row < rows; row++) {
        buf_adds(&out, row ? "), (" : "(");
        if (table->flavour == LOG)
            buf_addf(&out, "nextval('%s_id_seq'), ", table->sql);
        number = add_params(&out, table, table->flavour == LOG ? is_given : is_any, number, true);
    }
    buf_adds(&out, table->flavour == LOG ? ") RETURNING event_id" : ")");
    return out.data;
}

/* "(SELECT unnest(...) AS a, unnest(...) AS b) AS k" or "(VALUES ($1, $2), ($3, $4)) AS k(a, b)":
 * key, the columns picked, and stamps as they were. */
static void add_joined(struct buf *out, const struct table *table, pick_fn *pick, int form)
{
    int number = 1;

    if (form == POSTGRES) {
        buf_adds(out, "(SELECT ");
        number = add_rows(out, table, pick, add_rows(out, table, is_key, number));
        add_stamp_rows(out, table, number);
        buf_adds(out, ") AS k");
        return;
    }
    buf_adds(out, "(VALUES ");
    for (int row = 0; row < rows_of(form); row++) {
        buf_adds(out, row ? "), (" : "(");
        number = add_params(out, table, is_key, number, true);
        number = add_params(out, table, pick, number, false);
        number = add_params(out, table, is_stamp, number, false);
    }
    buf_adds(out, ")) AS k(");
    add_names(out, table, is_key, "");
    buf_adds(out, ", ");
    add_names(out, table, pick, "");
    if (has(table, is_stamp))
        buf_adds(out, ", ");
    add_names(out, table, is_stamp, "was_");
    buf_adds(out, ")");
}

/* " AND t.version IS NOT DISTINCT FROM k.was_version"; for one row from its parameter. */
static void add_stamp_match(struct buf *out, const struct table *table, int form, int number)
{
    for (size_t i = 0; i < table->col_count && form != SQLITE; i++) {
        const struct column *col = &table->cols[i];

        if (!is_stamp(col))
            continue;
        if (is_joined(form)) {
            buf_addf(out, " AND t.%s IS NOT DISTINCT FROM k.was_%s", col->name, col->name);
        } else {
            buf_addf(out, " AND %s IS NOT DISTINCT FROM ", col->name);
            add_param(out, col, form, number++);
        }
    }
}

static const char *update_by_key(const struct table *table, int form, pick_fn *pick)
{
    struct buf out = {0};
    int number = 1;
    bool is_first = true;

    for (size_t i = 0; i < table->col_count; i++)
        number += is_key(&table->cols[i]);
    buf_addf(&out, "UPDATE %s%s SET ", table->sql, is_joined(form) ? " t" : "");
    for (size_t i = 0; i < table->col_count; i++) {
        const char *name = table->cols[i].name;

        if (!pick(&table->cols[i]))
            continue;
        buf_addf(&out, "%s%s = ", is_first ? "" : ", ", name);
        if (is_joined(form))
            buf_addf(&out, "k.%s", name);
        else
            add_param(&out, &table->cols[i], form, number++);
        is_first = false;
    }
    if (is_joined(form)) {
        buf_adds(&out, " FROM ");
        add_joined(&out, table, pick, form);
    }
    buf_adds(&out, " WHERE ");
    add_match(&out, table, is_key, form);
    add_stamp_match(&out, table, form, number);
    return out.data;
}

static const char *remove_by(const struct table *table, int form, pick_fn *pick)
{
    struct buf out = {0};

    buf_addf(&out, "DELETE FROM %s", table->sql);
    if (form == POSTGRES) {
        buf_adds(&out, " t USING ");
        add_keys(&out, table, pick);
    }
    buf_adds(&out, " WHERE ");
    add_match(&out, table, pick, form);
    return out.data;
}

/* On Postgres the COMMIT is already on its way when the answer to an update arrives, so the server
 * itself must refuse a wrong row count: it divides by zero. An INSERT cannot miss a row without an
 * error. */
static const char *counted(const char *statement, int form)
{
    struct buf out = {0};

    buf_adds(&out, "WITH hit AS (");
    buf_adds(&out, statement);
    buf_adds(&out, " RETURNING 1) SELECT 1 / (count(*) = ");
    if (rows_of(form))
        buf_addf(&out, "%d", rows_of(form));
    else
        buf_adds(&out, "cardinality($1)");
    buf_adds(&out, ")::int FROM hit");
    return out.data;
}

/* A statement in all its forms. */
struct forms {
    const char *texts[FORMS];
};

static void emit_forms(struct buf *out, const char *field, struct forms forms)
{
    static const char *const names[FORMS] = {"SQLITE",       "POSTGRES",       "POSTGRES_ONE",
                                             "POSTGRES_TWO", "POSTGRES_THREE", "POSTGRES_FOUR"};

    buf_addf(out, "        .%s = {\n", field);
    for (int form = 0; form < FORMS && forms.texts[form]; form++) {
        buf_addf(out, "            [FF_FORM_%s] =\n", names[form]);
        emit_string(out, forms.texts[form]);
        buf_adds(out, ",\n");
    }
    buf_adds(out, "        },\n");
}

static struct forms selects(const struct table *t, const char *lock)
{
    return (struct forms){{select_by_key(t, SQLITE, ""), select_by_key(t, POSTGRES, lock),
                           select_by_key(t, POSTGRES_ONE, lock)}};
}

static struct forms inserts(const struct table *t)
{
    struct forms forms = {{insert_sqlite(t, 1), insert_by_array(t, false)}};

    for (int form = POSTGRES_ONE; form < FORMS; form++)
        forms.texts[form] = insert_by_value(t, rows_of(form));
    return forms;
}

static struct forms updates(const struct table *t, pick_fn *pick)
{
    struct forms forms = {{update_by_key(t, SQLITE, pick)}};

    for (int form = POSTGRES; form < FORMS; form++)
        forms.texts[form] = counted(update_by_key(t, form, pick), form);
    return forms;
}

static struct forms removes(const struct table *t)
{
    return (struct forms){{remove_by(t, SQLITE, is_key),
                           counted(remove_by(t, POSTGRES, is_key), POSTGRES),
                           counted(remove_by(t, POSTGRES_ONE, is_key), POSTGRES_ONE)}};
}

/* One execution each, and any number of rows that hang off it. */
static struct forms purges(const struct table *t)
{
    const char *purge = remove_by(t, POSTGRES, is_owner);

    if (!strcmp(t->NAME, "EXECUTION"))
        purge = counted(purge, POSTGRES);
    return (struct forms){{remove_by(t, SQLITE, is_owner), purge, NULL}};
}

static void emit_table(struct buf *out, const struct table *t)
{
    const bool is_log = t->flavour == LOG;

    buf_addf(out, "    [FF_TABLE_%s] = {\n", t->NAME);
    if (!is_log) {
        emit_forms(out, "lock", selects(t, " FOR UPDATE OF t SKIP LOCKED"));
        emit_forms(out, "wait", selects(t, " FOR UPDATE OF t"));
        emit_forms(out, "remove", removes(t));
    }
    emit_forms(out, "read", selects(t, ""));
    emit_forms(out, "insert", inserts(t));
    buf_adds(out, "        .insert_many =\n");
    emit_string(out, insert_sqlite(t, MANY_ROWS));
    buf_adds(out, ",\n        .insert_plain =\n");
    emit_string(out, has(t, is_later) ? insert_by_array(t, true) : NULL);
    buf_adds(out, ",\n");
    if (is_log) {
        buf_adds(out, "        .serial =\n");
        emit_string(out, insert_serial(t));
        buf_adds(out, ",\n");
    }
    if (t->flavour == KEYED)
        emit_forms(out, "update", updates(t, is_hot));
    if (has(t, is_warm))
        emit_forms(out, "rewrite", updates(t, is_hot_or_warm));
    if (t->scope == EXECUTION)
        emit_forms(out, "purge", purges(t));
    buf_adds(out, "    },\n");
}

void emit_tables(struct buf *out)
{
    buf_adds(out, "const struct ff_sql_table ff_sql_tables[FF_TABLE_COUNT] = {\n");
    for (size_t i = 0; i < table_count; i++)
        emit_table(out, &tables[i]);
    buf_adds(out, "};\n");
}
