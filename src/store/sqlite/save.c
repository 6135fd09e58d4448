/* SPDX-License-Identifier: Apache-2.0
 *
 * save.c -- what a batch has changed, written on one SQLite connection.
 *
 * Inside the transaction of the load, up to but without its COMMIT. Every statement checks how many
 * rows it met.
 * Tests: tests/unit/test_sqlite_store.c. */
#include "store/sqlite/sqlite-int.h"

#include "base/macros.h"

#include "base/banned.h"

/* Runs a bound statement that must have changed exactly `rows` rows; < 0: any number. */
static int save_step(struct ff_sqlite_conn *conn, sqlite3_stmt *stmt, int rows, const char *table)
{
    const int rc = ff_sqlite_step(conn, stmt, "save", table);

    if (rc == SQLITE_OK && rows >= 0 && sqlite3_changes(conn->db) != rows)
        return ff_sqlite_note(conn, SQLITE_MISMATCH, "find the row to save in", table);
    return rc;
}

static bool col_travels(const struct ff_col *col, int statement, ff_flavour flavour)
{
    switch (statement) {
    case STMT_UPDATE:
        return col->cls == FF_COL_KEY || FF_COL_IS_HOT(col);
    case STMT_REWRITE:
        return col->cls != FF_COL_ONCE;
    case STMT_REMOVE:
        return col->cls == FF_COL_KEY;
    default: /* an insert; events get their number */
        return col->cls != FF_COL_KEY || flavour != FF_FLAVOUR_LOG;
    }
}

static int statement_of(ff_change change, const void *row, size_t count)
{
    switch (change) {
    case FF_CHANGE_INSERT:
        return count > 1 ? STMT_INSERT_MANY : STMT_INSERT;
    case FF_CHANGE_UPDATE:
        return ff_row_is_rewritten(row) ? STMT_REWRITE : STMT_UPDATE;
    case FF_CHANGE_DELETE:
        break;
    }
    return STMT_REMOVE;
}

/* How many of the `count` rows the next statement takes. Many at once save an eighth of the
 * instructions of a save; events gain, whose table counts its numbers per statement. */
static size_t rows_per_statement(ff_change change, size_t count)
{
    return change == FF_CHANGE_INSERT && count >= FF_SQL_MANY_ROWS ? FF_SQL_MANY_ROWS : 1;
}

static int save_part(struct ff_sqlite_conn *conn, ff_table table, ff_change change, void **rows,
                     size_t count)
{
    const struct ff_table_info *const info = &ff_tables[table];
    const int statement = statement_of(change, rows[0], count);
    sqlite3_stmt *stmt;
    int index = 0;
    int rc = ff_sqlite_table(conn, table, statement, &stmt);

    /* Key columns come first in a table, so the order of columns is that of the parameters. */
    for (size_t k = 0; k < count; k++)
        for (int i = 0; rc == SQLITE_OK && i < info->col_count; i++)
            if (col_travels(&info->cols[i], statement, info->flavour))
                rc = ff_sqlite_bind_col(stmt, ++index, &info->cols[i], rows[k]);
    if (rc != SQLITE_OK)
        return ff_sqlite_note(conn, rc, "save a row of", info->name);
    return save_step(conn, stmt, (int)count, info->name);
}

static int save_rows(struct ff_sqlite_conn *conn, ff_table table, ff_change change, void **rows,
                     size_t count)
{
    size_t part;
    int rc = SQLITE_OK;

    for (size_t i = 0; rc == SQLITE_OK && i < count; i += part) {
        part = rows_per_statement(change, count - i);
        rc = save_part(conn, table, change, rows + i, part);
    }
    return rc;
}

static int save_table(struct ff_sqlite_conn *conn, struct ff_rowset *rows, ff_table table)
{
    static const ff_change order[] = {FF_CHANGE_DELETE, FF_CHANGE_INSERT, FF_CHANGE_UPDATE};
    int rc = SQLITE_OK;

    for (size_t k = 0; rc == SQLITE_OK && k < FF_ARRAY_LEN(order); k++) {
        void **list;
        const size_t count = ff_rowset_changes(rows, table, order[k], &list);

        rc = save_rows(conn, table, order[k], list, count);
    }
    return rc;
}

static int save_floor(struct ff_sqlite_conn *conn, int64_t floor_id)
{
    sqlite3_stmt *stmt;
    int rc = ff_sqlite_block(conn, FF_SQL_LOG_TRIM, &stmt);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 1, floor_id);
    return rc == SQLITE_OK ? save_step(conn, stmt, -1, "ff_event") : rc;
}

/* Everything scoped to the execution goes, the execution itself at last. */
static int save_purge(struct ff_sqlite_conn *conn, const struct ff_execution *execution)
{
    int rc = SQLITE_OK;

    for (int table = FF_TABLE_COUNT - 1; rc == SQLITE_OK && table >= 0; table--) {
        const struct ff_table_info *const info = &ff_tables[table];
        sqlite3_stmt *stmt;

        if (info->scope != FF_SCOPE_EXECUTION)
            continue;
        rc = ff_sqlite_table(conn, (ff_table)table, STMT_PURGE, &stmt);
        for (int i = 0; rc == SQLITE_OK && i < 2; i++)
            rc = ff_sqlite_bind_col(stmt, i + 1, &ff_tables[FF_TABLE_EXECUTION].cols[i], execution);
        if (rc == SQLITE_OK)
            rc = save_step(conn, stmt, table == FF_TABLE_EXECUTION ? 1 : -1, info->name);
    }
    return rc;
}

int ff_sqlite_reset_log(struct ff_sqlite_conn *conn, int64_t now_ms, bool forced, int64_t seen_id)
{
    const int64_t params[] = {now_ms, forced, seen_id};
    sqlite3_stmt *stmt;
    int rc = ff_sqlite_block(conn, FF_SQL_LOG_RESET, &stmt);

    for (int i = 0; rc == SQLITE_OK && i < FF_SQL_LOG_RESET_PARAMS; i++)
        rc = sqlite3_bind_int64(stmt, i + 1, params[i]);
    return rc == SQLITE_OK ? save_step(conn, stmt, -1, "ff_event") : rc;
}

/* The numbers of a transaction follow each other: nobody else writes meanwhile. */
static int save_events(struct ff_sqlite_conn *conn, struct ff_call *call)
{
    struct ff_rowset *const rows = call->rows;
    const int rc =
        save_rows(conn, FF_TABLE_EVENT, FF_CHANGE_INSERT, (void **)rows->events, rows->event_count);

    if (rc != SQLITE_OK || rows->event_count == 0)
        return rc;
    call->last_event_id = sqlite3_last_insert_rowid(conn->db);
    for (size_t i = 0; i < rows->event_count; i++)
        rows->events[i]->event_id = call->last_event_id - (int64_t)(rows->event_count - 1 - i);
    return rc;
}

static int save_clock(struct ff_sqlite_conn *conn)
{
    sqlite3_stmt *stmt;
    int rc = ff_sqlite_block(conn, FF_SQL_CLOCK_SAVE, &stmt);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 1, conn->now_ms);
    return rc == SQLITE_OK ? save_step(conn, stmt, 1, "ff_clock") : rc;
}

int ff_sqlite_save(struct ff_sqlite_conn *conn, struct ff_call *call, int64_t seen_id)
{
    struct ff_rowset *const rows = call->rows;
    int rc = ff_sqlite_fits(conn, rows->arena);

    call->last_event_id = 0;
    if (rc == SQLITE_OK && sqlite3_get_autocommit(conn->db))
        rc = ff_sqlite_note(conn, SQLITE_MISUSE, "save without a load", NULL);
    for (int table = 0; rc == SQLITE_OK && table < FF_TABLE_COUNT; table++)
        rc = save_table(conn, rows, (ff_table)table);
    for (size_t i = 0; rc == SQLITE_OK && i < rows->purge_count; i++)
        rc = save_purge(conn, rows->purges[i]);
    if (rc == SQLITE_OK && rows->log_floor_id > 0)
        rc = save_floor(conn, rows->log_floor_id);
    if (rc == SQLITE_OK && rows->event_count)
        rc = ff_sqlite_reset_log(conn, conn->now_ms, false, seen_id);
    if (rc == SQLITE_OK)
        rc = save_events(conn, call);
    if (rc == SQLITE_OK)
        rc = save_clock(conn);
    return rc == SQLITE_OK ? ff_sqlite_fits(conn, rows->arena) : rc; /* lists of changes, too */
}
