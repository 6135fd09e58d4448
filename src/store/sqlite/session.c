/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c -- the calls of the seam on one SQLite connection.
 *
 * A call does all its work inside start(), unless the file is locked: then finish() tries again
 * after a short random rest, and after 5 seconds the call ends as RERUN. What must stay true: any
 * error ends the transaction, and nothing is sent while SQLite is in autocommit (it may have rolled
 * back by itself). Tests: tests/unit/test_sqlite_store.c. */
#include "store/sqlite/sqlite-int.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/macros.h"
#include "base/mutant.h"

#include "base/banned.h"

struct ff_sqlite_session {
    struct ff_session base;
    struct ff_sqlite_store *store;
    struct ff_sqlite_conn *conn; /* its own, or the one of a memory store */
    bool committing;             /* the COMMIT of a SAVE has been sent */
    /* a call that found the file locked */
    bool waiting;
    unsigned tries;
    int64_t next_try_ms, give_up_ms; /* by the store's monotonic clock */
    int64_t rested_ms;               /* in wait(): counts even if that clock stands still */
};

static struct ff_sqlite_session *session_of(struct ff_session *base)
{
    return ff_container_of(base, struct ff_sqlite_session, base);
}

/* --- the connection of a memory store --- */

static bool conn_take(struct ff_sqlite_session *s)
{
    struct ff_sqlite_memory *const memory = s->store->memory;
    bool mine;

    if (!memory)
        return true;
    pthread_mutex_lock(&memory->lock);
    if (!memory->owner)
        memory->owner = s;
    mine = memory->owner == s;
    pthread_mutex_unlock(&memory->lock);
    return mine;
}

static void conn_give(struct ff_sqlite_session *s)
{
    struct ff_sqlite_memory *const memory = s->store->memory;

    if (!memory)
        return;
    pthread_mutex_lock(&memory->lock);
    if (memory->owner == s) {
        memory->owner = NULL;
        pthread_cond_broadcast(&memory->released);
    }
    pthread_mutex_unlock(&memory->lock);
}

/* --- loading --- */

/* The time of a call is taken inside its transaction, behind the lock if there is one. */
static int set_clock(struct ff_sqlite_session *s, struct ff_call *call)
{
    struct ff_sqlite_conn *const conn = s->conn;
    int64_t stored_ms = 0;
    sqlite3_stmt *stmt;
    int rc = ff_sqlite_block(conn, FF_SQL_CLOCK_READ, &stmt);

    if (rc != SQLITE_OK)
        return rc;
    rc = ff_sqlite_step(conn, stmt, "read", "clock");
    if (rc == SQLITE_ROW) {
        stored_ms = sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
        rc = SQLITE_OK;
    }
    conn->now_ms = ff_sqlite_now_ms(s->store, stored_ms);
    call->now_ms = conn->now_ms;
    return rc;
}

/* One key: the row goes straight into the entry. */
static int load_entry(struct ff_sqlite_conn *conn, struct ff_rowset *rows, struct ff_entry *entry)
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
            rc = load_entry(conn, rows, entry);
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

static int check_arena(struct ff_sqlite_conn *conn, const struct ff_arena *arena)
{
    return arena->failed ? ff_sqlite_note(conn, SQLITE_TOOBIG, "hold the rows", NULL) : SQLITE_OK;
}

static int call_load(struct ff_sqlite_session *s, struct ff_call *call)
{
    const bool locking = call->kind == FF_CALL_LOAD;
    int rc = ff_sqlite_tx(s->conn, locking ? TX_WRITE : TX_READ);

    if (rc == SQLITE_OK)
        rc = set_clock(s, call);
    if (rc == SQLITE_OK)
        rc = load_keyed(s->conn, call->rows, locking);
    if (rc == SQLITE_OK)
        rc = load_scans(s->conn, call->rows, false);
    if (rc == SQLITE_OK && locking)
        rc = load_scans(s->conn, call->rows, true);
    if (rc == SQLITE_OK)
        rc = check_arena(s->conn, call->rows->arena);
    if (rc == SQLITE_OK && !locking)
        rc = ff_sqlite_tx(s->conn, TX_COMMIT);
    return rc;
}

/* --- saving --- */

/* Runs a bound statement that must have changed exactly `rows` rows; < 0: any number. */
static int save_step(struct ff_sqlite_conn *conn, sqlite3_stmt *stmt, int rows, const char *table)
{
    const int rc = ff_sqlite_step(conn, stmt, "save", table);

    if (rc == SQLITE_OK && rows >= 0 && sqlite3_changes(conn->db) != rows)
        return ff_sqlite_note(conn, SQLITE_MISMATCH, "find the row to save in", table);
    return rc;
}

static bool col_travels(const struct ff_col *col, ff_change change, ff_flavour flavour)
{
    switch (change) {
    case FF_CHANGE_INSERT:
        return col->cls != FF_COL_KEY || flavour != FF_FLAVOUR_LOG; /* events get their number */
    case FF_CHANGE_UPDATE:
        return col->cls != FF_COL_ONCE;
    case FF_CHANGE_DELETE:
        return col->cls == FF_COL_KEY;
    }
    return false;
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
    static const int statements[] = {[FF_CHANGE_INSERT] = STMT_INSERT,
                                     [FF_CHANGE_UPDATE] = STMT_UPDATE,
                                     [FF_CHANGE_DELETE] = STMT_REMOVE};
    const struct ff_table_info *const info = &ff_tables[table];
    sqlite3_stmt *stmt;
    int index = 0;
    int rc = ff_sqlite_table(conn, table, count > 1 ? STMT_INSERT_MANY : statements[change], &stmt);

    /* Key columns come first in a table, so the order of columns is that of the parameters. */
    for (size_t k = 0; k < count; k++)
        for (int i = 0; rc == SQLITE_OK && i < info->col_count; i++)
            if (col_travels(&info->cols[i], change, info->flavour))
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

static int call_save(struct ff_sqlite_session *s, struct ff_call *call)
{
    struct ff_sqlite_conn *const conn = s->conn;
    struct ff_rowset *const rows = call->rows;
    int rc = check_arena(conn, rows->arena);

    call->last_event_id = 0;
    if (rc == SQLITE_OK && sqlite3_get_autocommit(conn->db))
        rc = ff_sqlite_note(conn, SQLITE_MISUSE, "save without a load", NULL);
    for (int table = 0; rc == SQLITE_OK && table < FF_TABLE_COUNT; table++)
        rc = save_table(conn, rows, (ff_table)table);
    for (size_t i = 0; rc == SQLITE_OK && i < rows->purge_count; i++)
        rc = save_purge(conn, rows->purges[i]);
    if (rc == SQLITE_OK && rows->log_floor_id > 0)
        rc = save_floor(conn, rows->log_floor_id);
    if (rc == SQLITE_OK)
        rc = save_events(conn, call);
    if (rc == SQLITE_OK)
        rc = save_clock(conn);
    if (rc == SQLITE_OK)
        rc = check_arena(conn, rows->arena); /* a list of changes did not fit */
    if (rc == SQLITE_OK) {
        s->committing = true;
        FF_FAILPOINT(sqlite_written);
        rc = ff_sqlite_tx(conn, TX_COMMIT);
        FF_FAILPOINT(sqlite_committed);
    }
    return rc;
}

/* Moves the log into the file when it has grown. Our own call, because SQLite's would not tell us
 * of an fsync error; the batch is committed whatever comes of it. */
static void checkpoint(struct ff_sqlite_session *s)
{
    struct ff_sqlite_conn *const conn = s->conn;
    int rc;

    if (conn->wal_pages < FF_SQLITE_WAL_PAGES)
        return;
    conn->wal_pages = 0;
    rc = sqlite3_wal_checkpoint_v2(conn->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (ff_sqlite_is_poison(rc, false))
        atomic_store(&s->store->poisoned, true);
}

/* --- reading --- */

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

static int read_block(struct ff_sqlite_conn *conn, struct ff_read *read)
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

static int call_read(struct ff_sqlite_session *s, struct ff_call *call)
{
    int rc = ff_sqlite_tx(s->conn, TX_READ);

    if (rc == SQLITE_OK)
        rc = set_clock(s, call);
    if (rc == SQLITE_OK)
        rc = read_block(s->conn, call->read);
    if (rc == SQLITE_OK)
        rc = ff_sqlite_tx(s->conn, TX_COMMIT);
    return rc;
}

static int call_rollback(struct ff_sqlite_session *s)
{
    return sqlite3_get_autocommit(s->conn->db) ? SQLITE_OK : ff_sqlite_tx(s->conn, TX_ROLLBACK);
}

/* --- the seam --- */

static ff_status status_of(ff_called outcome, int rc)
{
    if (rc == SQLITE_NOMEM)
        return FF_NO_MEMORY;
    if (outcome == FF_CALLED_UNKNOWN)
        return FF_OUTCOME_UNKNOWN;
    return outcome == FF_CALLED_OP ? FF_INTERNAL : FF_UNAVAILABLE;
}

static void refuse(struct ff_call *call, ff_called outcome, const char *why)
{
    call->outcome = outcome;
    ff_fail(&call->error, FF_UNAVAILABLE, "%s", why);
}

/* The transaction goes with the error that ended it. */
static void call_failed(struct ff_sqlite_session *s, struct ff_call *call, int rc)
{
    call->outcome = ff_sqlite_class(rc);
    if (ff_sqlite_is_poison(rc, s->committing) && !FF_MUTANT(sync_error_is_certain)) {
        atomic_store(&s->store->poisoned, true);
        call->outcome = s->committing ? FF_CALLED_UNKNOWN : FF_CALLED_STOP;
    }
    ff_fail(&call->error, status_of(call->outcome, rc), "%s", s->conn->problem);
    snprintf(call->sqlstate, sizeof call->sqlstate, "%d", rc);
    (void)call_rollback(s); /* its own error would only say the same again */
}

static int64_t mono_ms(const struct ff_sqlite_session *s)
{
    return ff_clock_mono_ms(&s->store->clock);
}

/* Rests get longer, up to 1 to 32 ms; chance keeps two processes from meeting again and again. */
static bool rest(struct ff_sqlite_session *s)
{
    const int64_t now_ms = mono_ms(s);
    const uint64_t span_ms = UINT64_C(1) << (s->tries < 5 ? s->tries : 5);

    if (now_ms >= s->give_up_ms || s->rested_ms >= FF_SQLITE_PATIENCE_MS)
        return false;
    s->tries++;
    s->next_try_ms = now_ms + 1 + (int64_t)(ff_random_u64(&s->store->random) % span_ms);
    s->waiting = true;
    return true;
}

static int run_call(struct ff_sqlite_session *s, struct ff_call *call)
{
    switch (call->kind) {
    case FF_CALL_PEEK:
    case FF_CALL_LOAD:
        return call_load(s, call);
    case FF_CALL_SAVE:
        return call_save(s, call);
    case FF_CALL_ROLLBACK:
        return call_rollback(s);
    case FF_CALL_READ:
        return call_read(s, call);
    case FF_CALL_RESOLVE:
        break;
    }
    return ff_sqlite_note(s->conn, SQLITE_MISUSE, "run this call", NULL);
}

static void attempt(struct ff_sqlite_session *s, struct ff_call *call)
{
    const bool keeps = call->kind == FF_CALL_LOAD;
    int rc;

    s->waiting = false;
    if (!conn_take(s)) {
        if (!rest(s))
            refuse(call, FF_CALLED_RERUN, "memory store is in use by another session");
        return;
    }
    rc = run_call(s, call);
    if (rc == SQLITE_OK) {
        call->outcome = FF_CALLED_OK;
        if (call->kind == FF_CALL_SAVE)
            checkpoint(s);
    } else if (ff_sqlite_is_busy(rc) && call->kind != FF_CALL_SAVE) {
        (void)call_rollback(s);
        if (!rest(s))
            call_failed(s, call, rc);
    } else {
        call_failed(s, call, rc);
    }
    if (!keeps || rc != SQLITE_OK)
        conn_give(s);
}

static void session_start(struct ff_session *base, struct ff_call *call)
{
    struct ff_sqlite_session *const s = session_of(base);
    const char *const refusal = ff_sqlite_refusal(s->store);

    s->waiting = false;
    s->committing = false;
    s->tries = 0;
    s->rested_ms = 0;
    s->give_up_ms =
        mono_ms(s) + (call->kind == FF_CALL_LOAD && call->lock_wait_ms > 0 ? call->lock_wait_ms
                                                                           : FF_SQLITE_PATIENCE_MS);
    call->sqlstate[0] = '\0';
    if (call->kind == FF_CALL_RESOLVE) /* our commits are known; only poison leaves a doubt */
        refuse(call, FF_CALLED_OP, "a SQLite store keeps no batch markers");
    else if (refusal)
        refuse(call, FF_CALLED_STOP, refusal);
    else
        attempt(s, call);
}

static bool session_finish(struct ff_session *base, struct ff_call *call)
{
    struct ff_sqlite_session *const s = session_of(base);

    if (s->waiting && mono_ms(s) >= s->next_try_ms)
        attempt(s, call);
    return !s->waiting;
}

/* Another session of the memory store wakes us when it gives the connection back. */
static void wait_for_memory(struct ff_sqlite_memory *memory, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += (time_t)(ms / 1000 + until.tv_nsec / 1000000000);
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&memory->lock);
    if (memory->owner)
        pthread_cond_timedwait(&memory->released, &memory->lock, &until);
    pthread_mutex_unlock(&memory->lock);
}

static void session_wait(struct ff_session *base, int64_t timeout_ms)
{
    struct ff_sqlite_session *const s = session_of(base);
    const int64_t ms = ff_min_i64(timeout_ms, s->next_try_ms - mono_ms(s));

    if (!s->waiting || ms <= 0)
        return;
    if (s->store->memory)
        wait_for_memory(s->store->memory, ms);
    else
        ff_sqlite_sleep_ms(ms);
    s->rested_ms += ms;
    s->next_try_ms -= ms;
}

static void session_abandon(struct ff_session *base, struct ff_call *call)
{
    struct ff_sqlite_session *const s = session_of(base);

    /* A call that does not wait has ended, and how is known. */
    if (s->waiting)
        refuse(call, FF_CALLED_RERUN, "store was locked for too long");
    s->waiting = false;
    if (!ff_sqlite_refusal(s->store) && conn_take(s)) {
        (void)call_rollback(s);
        conn_give(s);
    }
}

static void session_free(struct ff_session *base)
{
    struct ff_sqlite_session *const s = session_of(base);

    if (s->store->pid == getpid() && conn_take(s)) {
        if (s->conn->db)
            (void)call_rollback(s);
        conn_give(s);
    }
    if (!s->store->memory && s->store->pid == getpid()) {
        ff_sqlite_conn_close(s->conn, atomic_load(&s->store->poisoned));
        ff_free(s->conn);
    }
    ff_free(s);
}

static const struct ff_session_ops session_ops = {
    .start = session_start,
    .finish = session_finish,
    .wait = session_wait,
    .abandon = session_abandon,
    .free = session_free,
};

ff_status ff_sqlite_session_new(struct ff_store *base, struct ff_session **ret,
                                struct ff_error *reterr)
{
    struct ff_sqlite_store *const store = ff_container_of(base, struct ff_sqlite_store, base);
    const char *const refusal = ff_sqlite_refusal(store);
    struct ff_sqlite_session *s;

    if (refusal)
        return ff_fail(reterr, FF_UNAVAILABLE, "%s", refusal);
    s = ff_calloc(1, sizeof *s);
    if (!s)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a session");
    s->base.ops = &session_ops;
    s->store = store;
    s->conn = store->memory ? store->home : ff_calloc(1, sizeof *s->conn);
    if (!s->conn) {
        ff_free(s);
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a session");
    }
    if (!store->memory && ff_sqlite_conn_open(s->conn, store->path, false, false) != SQLITE_OK) {
        ff_fail(reterr, FF_UNAVAILABLE, "%s", s->conn->problem);
        session_free(&s->base);
        return FF_UNAVAILABLE;
    }
    *ret = &s->base;
    return FF_OK;
}
