/* SPDX-License-Identifier: Apache-2.0
 *
 * load.c -- rows by key, scans and reads on one SQLite connection.
 *
 * Inside a transaction that the session has begun. A call that met a locked file comes again, so
 * nothing here counts on being the first.
 * Tests: tests/unit/test_sqlite_store.c. */
#include "store/sqlite/sqlite-int.h"

#include "base/banned.h"

/* One key: the row goes straight into the entry. */
static int load_entry(struct ff_sqlite_conn *conn, struct ff_rowset *rows, struct ff_entry *entry,
                      bool locking)
{
    const struct ff_table_info *const info = &ff_tables[entry->table];
    sqlite3_stmt *stmt;
    int rc = ff_sqlite_table(conn, entry->table, STMT_READ, &stmt);

    for (int i = 0; rc == SQLITE_OK && i < info->key_count; i++)
        rc = ff_sqlite_bind_col(stmt, i + 1, &info->cols[i], entry->row);
    if (rc != SQLITE_OK)
        return ff_sqlite_note(conn, rc, "ask for a row of", info->name);
    rc = ff_sqlite_step(conn, stmt, "read", info->name);
    if (rc == SQLITE_ROW) {
        rc = ff_sqlite_get_cols(stmt, info, info->key_count, entry->row, rows->arena);
        if (rc != SQLITE_OK)
            ff_sqlite_note(conn, rc, "read a row of", info->name);
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
        entry->found = FF_FOUND_ROW;
    } else if (rc == SQLITE_OK) {
        if (entry->found == FF_FOUND_ROW)
            ff_rowset_forget(rows, entry);
        entry->found = FF_FOUND_ABSENT;
    }
    entry->locked = locking;
    return rc;
}

static int load_keyed(struct ff_sqlite_conn *conn, struct ff_rowset *rows, bool locking)
{
    int rc = SQLITE_OK;

    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next) {
            const bool fresh = locking && entry->want == FF_WANT_LOCK;

            /* What was read before the lock may have changed since. */
            if (entry->found == FF_FOUND_ROW && !fresh)
                continue;
            rc = load_entry(conn, rows, entry, locking);
            if (rc != SQLITE_OK)
                return rc;
        }
    return rc;
}

static int bind_params(struct ff_sqlite_conn *conn, sqlite3_stmt *stmt, int block,
                       const struct ff_value *params, size_t count)
{
    const struct ff_sql_block *const info = &ff_sql_blocks[block];
    int rc = count == info->param_count ? SQLITE_OK : SQLITE_MISMATCH;

    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = ff_sqlite_bind_value(stmt, (int)i + 1, &params[i]);
    return rc == SQLITE_OK ? rc : ff_sqlite_note(conn, rc, "bind the parameters of", info->name);
}

/* Appends to a list in an arena; the list doubles. */
static bool push(struct ff_arena *arena, void ***list, size_t count, void *item)
{
    if ((count & (count - 1)) == 0) { /* 0, 1, 2, 4, 8 ... are full */
        void **const grown = ff_arena_grow(arena, *list, count * sizeof *grown,
                                           (count ? count * 2 : 1) * sizeof *grown);

        if (!grown)
            return false;
        *list = grown;
    }
    (*list)[count] = item;
    return true;
}

static int scan_row(sqlite3_stmt *stmt, struct ff_rowset *rows, struct ff_scan *scan)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[scan->block];
    const ff_table table = (ff_table)block->out_table;
    void *row = ff_rowset_row_new(rows, table);
    int rc;

    if (!row)
        return SQLITE_TOOBIG;
    rc = ff_sqlite_get_cols(stmt, &ff_tables[table], 0, row, rows->arena);
    if (rc != SQLITE_OK)
        return rc;
    row = ff_rowset_put_scanned(rows, table, row, block->locks);
    if (!push(rows->arena, &scan->rows, scan->row_count, row))
        return SQLITE_TOOBIG;
    scan->row_count++;
    return SQLITE_OK;
}

static int load_scan(struct ff_sqlite_conn *conn, struct ff_rowset *rows, struct ff_scan *scan)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[scan->block];
    sqlite3_stmt *stmt;
    int rc = ff_sqlite_block(conn, scan->block, &stmt);

    if (rc == SQLITE_OK && block->out_table < 0)
        rc = ff_sqlite_note(conn, SQLITE_MISMATCH, "scan", block->name);
    if (rc == SQLITE_OK)
        rc = bind_params(conn, stmt, scan->block, scan->params, scan->param_count);
    if (rc == SQLITE_OK && block->limit_param >= 0)
        rc = sqlite3_bind_int64(stmt, block->limit_param + 1, scan->limit);
    if (rc != SQLITE_OK)
        return rc;
    scan->row_count = 0; /* this may be the second try */
    scan->rows = NULL;
    while ((rc = ff_sqlite_step(conn, stmt, "scan", block->name)) == SQLITE_ROW) {
        rc = scan_row(stmt, rows, scan);
        if (rc != SQLITE_OK) {
            ff_sqlite_note(conn, rc, "read a row of", block->name);
            sqlite3_reset(stmt);
            return rc;
        }
    }
    scan->loaded = rc == SQLITE_OK;
    return rc;
}

static int load_scans(struct ff_sqlite_conn *conn, struct ff_rowset *rows, bool locking)
{
    int rc = SQLITE_OK;

    for (struct ff_scan *scan = rows->scans; scan && rc == SQLITE_OK; scan = scan->next)
        if (!scan->loaded && ff_sql_blocks[scan->block].locks == locking)
            rc = load_scan(conn, rows, scan);
    return rc;
}

static int load_all_scans(struct ff_sqlite_conn *conn, struct ff_rowset *rows, bool locking)
{
    int rc = load_scans(conn, rows, false);

    if (rc == SQLITE_OK && locking)
        rc = load_scans(conn, rows, true);
    return rc == SQLITE_OK ? ff_sqlite_fits(conn, rows->arena) : rc;
}

int ff_sqlite_load(struct ff_sqlite_conn *conn, struct ff_rowset *rows, bool locking)
{
    const int rc = load_keyed(conn, rows, locking);

    return rc == SQLITE_OK ? load_all_scans(conn, rows, locking) : rc;
}

int ff_sqlite_load_more(struct ff_sqlite_conn *conn, struct ff_rowset *rows)
{
    int rc = SQLITE_OK;

    ff_rowset_ask_again(rows);
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next) {
            if (entry->found == FF_FOUND_UNASKED)
                rc = load_entry(conn, rows, entry, true);
            if (rc != SQLITE_OK)
                return rc;
        }
    return load_all_scans(conn, rows, true);
}

static int read_row(sqlite3_stmt *stmt, struct ff_read *read)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[read->block];
    const struct ff_table_info *const info = &ff_tables[block->out_table];
    void *const row = ff_arena_alloc(read->arena, info->row_bytes);

    if (!row || !push(read->arena, &read->rows, read->row_count, row))
        return SQLITE_TOOBIG;
    ff_row_init((ff_table)block->out_table, row);
    return ff_sqlite_get_cols(stmt, info, 0, row, read->arena);
}

static int read_cells(sqlite3_stmt *stmt, struct ff_read *read)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[read->block];
    const size_t row_bytes = block->out_count * sizeof(struct ff_value);
    const size_t count = read->row_count;
    int rc = SQLITE_OK;

    if ((count & (count - 1)) == 0) {
        void *const grown = ff_arena_grow(read->arena, read->cells, count * row_bytes,
                                          (count ? count * 2 : 1) * row_bytes);

        if (!grown)
            return SQLITE_TOOBIG;
        read->cells = grown;
    }
    if (sqlite3_column_count(stmt) != block->out_count)
        return SQLITE_MISMATCH;
    for (int i = 0; rc == SQLITE_OK && i < block->out_count; i++)
        rc = ff_sqlite_get_cell(stmt, i, block->out_types[i],
                                &read->cells[count * block->out_count + (size_t)i], read->arena);
    return rc;
}

int ff_sqlite_read(struct ff_sqlite_conn *conn, struct ff_read *read)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[read->block];
    sqlite3_stmt *stmt;
    int rc = ff_sqlite_block(conn, read->block, &stmt);

    if (rc == SQLITE_OK)
        rc = bind_params(conn, stmt, read->block, read->params, read->param_count);
    if (rc != SQLITE_OK)
        return rc;
    read->row_count = 0; /* this may be the second try */
    read->rows = NULL;
    read->cells = NULL;
    read->col_count = block->out_table < 0 ? block->out_count : 0;
    while ((rc = ff_sqlite_step(conn, stmt, "read", block->name)) == SQLITE_ROW) {
        rc = block->out_table < 0 ? read_cells(stmt, read) : read_row(stmt, read);
        if (rc != SQLITE_OK) {
            ff_sqlite_note(conn, rc, "read a row of", block->name);
            sqlite3_reset(stmt);
            return rc;
        }
        read->row_count++;
    }
    return rc;
}
