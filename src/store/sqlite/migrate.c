/* SPDX-License-Identifier: Apache-2.0
 *
 * migrate.c -- the ledger of migrations in a SQLite file, and whether its tables fit rows.def.
 *
 * Forward only. Everything happens in one BEGIN IMMEDIATE, so several processes may start on a new
 * file at once: one migrates, the others find it done. Tests: tests/unit/test_sqlite_store.c. */
#include "store/sqlite/sqlite-int.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/macros.h"
#include "store/ledger.h"

#include "base/banned.h"

static ff_status failed(const struct ff_sqlite_conn *conn, struct ff_error *reterr)
{
    return ff_fail(reterr, FF_UNAVAILABLE, "%s", conn->problem);
}

static ff_status ledger_read(struct ff_sqlite_conn *conn, struct ff_ledger *ledger,
                             struct ff_error *reterr)
{
    ff_status status = FF_OK;
    sqlite3_stmt *stmt;
    int64_t columns;
    int rc = ff_sqlite_number(conn, ff_sql_blocks[FF_SQL_LEDGER_COLUMNS].text[FF_DIALECT_SQLITE], 0,
                              &columns);

    *ledger = (struct ff_ledger){0};
    if (rc == SQLITE_OK && columns == 0)
        return FF_OK;
    if (rc != SQLITE_OK || ff_sqlite_block(conn, FF_SQL_MIGRATIONS_APPLIED, &stmt) != SQLITE_OK)
        return failed(conn, reterr);
    while ((rc = ff_sqlite_step(conn, stmt, "read", "ff_migration")) == SQLITE_ROW) {
        status = ff_ledger_line(ledger, sqlite3_column_int64(stmt, 0),
                                (const char *)sqlite3_column_text(stmt, 2),
                                sqlite3_column_int64(stmt, 3), reterr);
        if (status != FF_OK) {
            sqlite3_reset(stmt);
            return status;
        }
    }
    if (rc != SQLITE_OK)
        return failed(conn, reterr);
    return ff_ledger_check(ledger, reterr);
}

static int apply(struct ff_sqlite_conn *conn, const struct ff_sql_migration *migration,
                 int64_t now_ms)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_exec(conn->db, migration->text[FF_DIALECT_SQLITE], NULL, NULL, NULL);

    if (rc != SQLITE_OK)
        return ff_sqlite_note(conn, rc, "apply migration", migration->name);
    rc = ff_sqlite_block(conn, FF_SQL_MIGRATION_RECORD, &stmt);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int(stmt, 1, migration->version);
    sqlite3_bind_text(stmt, 2, migration->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, migration->checksum, -1, SQLITE_STATIC);
    sqlite3_bind_int(stmt, 4, migration->oldest_binary);
    sqlite3_bind_int64(stmt, 5, now_ms);
    return ff_sqlite_step(conn, stmt, "record migration", migration->name);
}

/* Names the file for file(1) and for us. */
static int sign(struct ff_sqlite_conn *conn)
{
    char text[96];

    snprintf(text, sizeof text, "PRAGMA application_id=%d; PRAGMA user_version=%d",
             FF_SQLITE_APPLICATION_ID, (int)ff_ledger_newest());
    return ff_sqlite_exec_patiently(conn, text);
}

/* Inside the transaction. */
static ff_status migrate_locked(struct ff_sqlite_conn *conn, const struct ff_sqlite_store *store,
                                struct ff_ledger *ledger, struct ff_error *reterr)
{
    FF_TRY(ledger_read(conn, ledger, reterr));
    if (ledger->version >= ff_ledger_newest())
        return FF_OK;
    for (int32_t i = ledger->version; i < ff_sql_migration_count; i++)
        if (apply(conn, &ff_sql_migrations[i], ff_clock_real_ms(&store->clock)) != SQLITE_OK)
            return failed(conn, reterr);
    return sign(conn) == SQLITE_OK ? FF_OK : failed(conn, reterr);
}

ff_status ff_sqlite_migrate(struct ff_sqlite_conn *conn, const struct ff_sqlite_store *store,
                            bool dry_run, int32_t *ret_from, int32_t *ret_to,
                            struct ff_error *reterr)
{
    struct ff_ledger ledger;
    ff_status status;

    if (dry_run) {
        FF_TRY(ledger_read(conn, &ledger, reterr));
    } else {
        if (ff_sqlite_exec_patiently(conn, "BEGIN IMMEDIATE") != SQLITE_OK)
            return failed(conn, reterr);
        status = migrate_locked(conn, store, &ledger, reterr);
        if (status == FF_OK && ff_sqlite_exec_patiently(conn, "COMMIT") != SQLITE_OK)
            status = failed(conn, reterr);
        if (!sqlite3_get_autocommit(conn->db))
            (void)ff_sqlite_tx(conn, TX_ROLLBACK);
        FF_TRY(status);
    }
    *ret_from = ledger.version;
    *ret_to = ledger.version > ff_ledger_newest() ? ledger.version : ff_ledger_newest();
    return FF_OK;
}

/* --- the live schema --- */

static ff_status check_column(struct ff_sqlite_conn *conn, sqlite3_stmt *stmt, const char *table,
                              const struct ff_col *col, struct ff_error *reterr)
{
    static const char *const types[] = {
        [FF_TYPE_I16] = "INTEGER", [FF_TYPE_I32] = "INTEGER", [FF_TYPE_I64] = "INTEGER",
        [FF_TYPE_UUID] = "BLOB",   [FF_TYPE_TEXT] = "TEXT",   [FF_TYPE_BLOB] = "BLOB",
    };
    const char *wrong = NULL;
    int rc;

    sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, col->name, -1, SQLITE_STATIC);
    rc = ff_sqlite_step(conn, stmt, "read the columns of", table);
    if (rc != SQLITE_ROW && rc != SQLITE_OK)
        return failed(conn, reterr);
    if (rc == SQLITE_OK)
        wrong = "missing";
    else if (strcmp((const char *)sqlite3_column_text(stmt, 0), types[col->type]) != 0)
        wrong = "of another type";
    else if ((sqlite3_column_int(stmt, 1) != 0) == col->optional)
        wrong = col->optional ? "NOT NULL" : "nullable";
    sqlite3_reset(stmt);
    return wrong ? ff_fail(reterr, FF_SCHEMA, "column '%s.%s' is %s", table, col->name, wrong)
                 : FF_OK;
}

static ff_status check_columns(struct ff_sqlite_conn *conn, struct ff_error *reterr)
{
    ff_status status = FF_OK;
    sqlite3_stmt *stmt;

    if (ff_sqlite_block(conn, FF_SQL_COLUMN_LIVE, &stmt) != SQLITE_OK)
        return failed(conn, reterr);
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (int i = 0; status == FF_OK && i < ff_tables[table].col_count; i++)
            status =
                check_column(conn, stmt, ff_tables[table].name, &ff_tables[table].cols[i], reterr);
    return status;
}

ff_status ff_sqlite_schema_check(struct ff_sqlite_conn *conn, const struct ff_sqlite_store *store,
                                 bool all, struct ff_error *reterr)
{
    struct ff_ledger ledger;
    int32_t from, to;

    FF_TRY(ledger_read(conn, &ledger, reterr));
    if (ledger.version < ff_ledger_newest()) {
        if (ledger.version > 0 && !all)
            return ff_ledger_is_old(&ledger, reterr);
        FF_TRY(ff_sqlite_migrate(conn, store, false, &from, &to, reterr));
    }
    return check_columns(conn, reterr);
}
