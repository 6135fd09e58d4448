/* SPDX-License-Identifier: Apache-2.0
 *
 * conn.c -- one SQLite connection: its settings, its prepared statements, what its errors mean.
 *
 * No busy handler: a locked file is tried again by the session, so that start() never blocks.
 * Tests: tests/unit/test_sqlite_store.c. */
#include "store/sqlite/sqlite-int.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "base/mutant.h"

#include "base/banned.h"

#define FRAME_BYTES (4096 + 24) /* of the log: a page of SQLite's usual size, and its header */

/* What a primary result code means to the executor. What is not listed is the fault of the op. */
static const struct {
    int code;
    ff_called outcome;
} classes[] = {
    {SQLITE_BUSY, FF_CALLED_RERUN},
    {SQLITE_LOCKED, FF_CALLED_RERUN},
    {SQLITE_SCHEMA, FF_CALLED_RERUN},
    {SQLITE_INTERRUPT, FF_CALLED_RERUN},
    {SQLITE_PROTOCOL, FF_CALLED_RERUN},              /* lost a race for the WAL too often */
    {SQLITE_CONSTRAINT_PRIMARYKEY, FF_CALLED_RERUN}, /* somebody was faster */
    {SQLITE_CONSTRAINT_UNIQUE, FF_CALLED_RERUN},
    {SQLITE_CONSTRAINT_ROWID, FF_CALLED_RERUN},
    {SQLITE_FULL, FF_CALLED_STOP},
    {SQLITE_READONLY, FF_CALLED_STOP},
    {SQLITE_CANTOPEN, FF_CALLED_STOP},
    {SQLITE_NOMEM, FF_CALLED_STOP},
    {SQLITE_PERM, FF_CALLED_STOP},
    {SQLITE_AUTH, FF_CALLED_STOP},
    {SQLITE_IOERR, FF_CALLED_STOP},
    {SQLITE_CORRUPT, FF_CALLED_STOP},
    {SQLITE_NOTADB, FF_CALLED_STOP},
    {SQLITE_NOLFS, FF_CALLED_STOP},
};

ff_called ff_sqlite_class(int rc)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(classes); i++)
        if (classes[i].code == rc || classes[i].code == (rc & 0xff))
            return classes[i].outcome;
    return rc == SQLITE_OK ? FF_CALLED_OK : FF_CALLED_OP;
}

bool ff_sqlite_is_busy(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

bool ff_sqlite_is_poison(int rc, bool committing)
{
    return rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC ||
           (committing && (rc & 0xff) == SQLITE_IOERR);
}

int ff_sqlite_note(struct ff_sqlite_conn *conn, int rc, const char *doing, const char *what)
{
    const bool ours = !conn->db || sqlite3_extended_errcode(conn->db) != rc;

    snprintf(conn->problem, sizeof conn->problem, "cannot %s%s%s%s: %s", doing, what ? " '" : "",
             what ? what : "", what ? "'" : "",
             ours ? sqlite3_errstr(rc) : sqlite3_errmsg(conn->db));
    return rc;
}

void ff_sqlite_sleep_ms(int64_t ms)
{
    const struct timespec rest = {.tv_sec = (time_t)(ms / 1000),
                                  .tv_nsec = (long)(ms % 1000) * 1000000};

    nanosleep(&rest, NULL);
}

static void now_function(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct ff_sqlite_conn *const conn = sqlite3_user_data(context);

    (void)count;
    (void)values;
    sqlite3_result_int64(context, conn->now_ms);
}

static void wal_bytes_function(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct ff_sqlite_conn *const conn = sqlite3_user_data(context);

    (void)count;
    (void)values;
    sqlite3_result_int64(context, conn->wal_bytes ? atomic_load(conn->wal_bytes) : 0);
}

/* After every commit. */
static int look_at_wal(void *ctx, sqlite3 *db, const char *name, int pages)
{
    struct ff_sqlite_conn *const conn = ctx;
    int written = 0, highest;

    (void)name;
    conn->wal_pages = pages;
    if (conn->wal_bytes &&
        sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_WRITE, &written, &highest, 1) == SQLITE_OK)
        atomic_fetch_add(conn->wal_bytes, (long long)written * FRAME_BYTES);
    return SQLITE_OK;
}

int ff_sqlite_exec_patiently(struct ff_sqlite_conn *conn, const char *text)
{
    int rc = SQLITE_BUSY;

    for (int waited_ms = 0; waited_ms < FF_SQLITE_PATIENCE_MS; waited_ms += 5) {
        rc = sqlite3_exec(conn->db, text, NULL, NULL, NULL);
        if (!ff_sqlite_is_busy(rc))
            break;
        ff_sqlite_sleep_ms(5);
    }
    return rc == SQLITE_OK ? rc : ff_sqlite_note(conn, rc, "run", text);
}

int ff_sqlite_number(struct ff_sqlite_conn *conn, const char *text, int64_t fallback, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(conn->db, text, -1, &stmt, NULL);

    *ret = fallback;
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            *ret = sqlite3_column_int64(stmt, 0);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE && rc != SQLITE_OK)
        ff_sqlite_note(conn, rc, "run", text);
    else
        rc = SQLITE_OK;
    sqlite3_finalize(stmt);
    return rc;
}

/* Settings of a connection; none of them writes to the file. Debian's build zeroes deleted content
 * even where that costs a page write; FAST does it where it is free. */
static const char settings[] = "PRAGMA synchronous=FULL;"
                               "PRAGMA foreign_keys=OFF;"
                               "PRAGMA recursive_triggers=OFF;"
                               "PRAGMA trusted_schema=OFF;"
                               "PRAGMA temp_store=MEMORY;"
                               "PRAGMA cache_size=-16384;"
                               "PRAGMA secure_delete=FAST;"
                               "PRAGMA journal_size_limit=67108864;";

int ff_sqlite_conn_open(struct ff_sqlite_conn *conn, const char *path, bool memory, bool create)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                      (create ? SQLITE_OPEN_CREATE : 0) | (memory ? SQLITE_OPEN_URI : 0);
    int rc;

    memset(conn, 0, sizeof *conn);
    rc = sqlite3_open_v2(path, &conn->db, flags, NULL);
    if (rc != SQLITE_OK)
        return ff_sqlite_note(conn, rc, "open", path);
    rc = sqlite3_create_function_v2(conn->db, "ff_now_ms", 0, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                    conn, now_function, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(conn->db, "ff_wal_bytes", 0, SQLITE_UTF8, conn,
                                        wal_bytes_function, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return ff_sqlite_note(conn, rc, "prepare", path);
    sqlite3_wal_hook(conn->db, look_at_wal, conn); /* also ends automatic checkpoints */
    if (FF_MUTANT(sqlite_not_synced))
        return ff_sqlite_exec_patiently(conn, "PRAGMA synchronous=OFF");
    return ff_sqlite_exec_patiently(conn, settings);
}

void ff_sqlite_conn_close(struct ff_sqlite_conn *conn, bool poisoned)
{
    if (conn->db && poisoned)
        sqlite3_db_config(conn->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    for (size_t i = 0; i < FF_ARRAY_LEN(conn->blocks); i++)
        sqlite3_finalize(conn->blocks[i]);
    for (size_t i = 0; i < FF_TABLE_COUNT; i++)
        for (size_t k = 0; k < STMT_COUNT; k++)
            sqlite3_finalize(conn->tables[i][k]);
    for (size_t i = 0; i < FF_ARRAY_LEN(conn->txs); i++)
        sqlite3_finalize(conn->txs[i]);
    sqlite3_close(conn->db);
    memset(conn, 0, sizeof *conn);
}

static int prepare(struct ff_sqlite_conn *conn, const char *text, const char *name,
                   sqlite3_stmt **stmt)
{
    int rc;

    if (*stmt)
        return SQLITE_OK;
    if (!text)
        return ff_sqlite_note(conn, SQLITE_MISMATCH, "find a statement for", name);
    rc = sqlite3_prepare_v3(conn->db, text, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    return rc == SQLITE_OK ? rc : ff_sqlite_note(conn, rc, "prepare", name);
}

int ff_sqlite_fits(struct ff_sqlite_conn *conn, const struct ff_arena *arena)
{
    return arena->failed ? ff_sqlite_note(conn, SQLITE_TOOBIG, "hold the rows", NULL) : SQLITE_OK;
}

int ff_sqlite_block(struct ff_sqlite_conn *conn, int block, sqlite3_stmt **ret)
{
    const struct ff_sql_block *const info = &ff_sql_blocks[block];
    const int rc = prepare(conn, info->text[FF_DIALECT_SQLITE], info->name, &conn->blocks[block]);

    *ret = conn->blocks[block];
    return rc;
}

int ff_sqlite_table(struct ff_sqlite_conn *conn, ff_table table, int which, sqlite3_stmt **ret)
{
    const struct ff_sql_table *const sql = &ff_sql_tables[table];
    const char *const texts[STMT_COUNT] = {
        [STMT_READ] = sql->read[FF_FORM_SQLITE],       [STMT_INSERT] = sql->insert[FF_FORM_SQLITE],
        [STMT_INSERT_MANY] = sql->insert_many,         [STMT_UPDATE] = sql->update[FF_FORM_SQLITE],
        [STMT_REWRITE] = sql->rewrite[FF_FORM_SQLITE], [STMT_REMOVE] = sql->remove[FF_FORM_SQLITE],
        [STMT_PURGE] = sql->purge[FF_FORM_SQLITE],
    };
    const int rc = prepare(conn, texts[which], ff_tables[table].name, &conn->tables[table][which]);

    *ret = conn->tables[table][which];
    return rc;
}

int ff_sqlite_step(struct ff_sqlite_conn *conn, sqlite3_stmt *stmt, const char *doing,
                   const char *what)
{
    const int rc = sqlite3_step(stmt);

    if (rc == SQLITE_ROW)
        return rc;
    if (rc != SQLITE_DONE)
        ff_sqlite_note(conn, rc, doing, what);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int ff_sqlite_tx(struct ff_sqlite_conn *conn, int tx)
{
    static const char *const texts[TX_COUNT] = {
        [TX_READ] = "BEGIN",
        [TX_WRITE] = "BEGIN IMMEDIATE",
        [TX_COMMIT] = "COMMIT",
        [TX_ROLLBACK] = "ROLLBACK",
    };
    const int rc = prepare(conn, texts[tx], texts[tx], &conn->txs[tx]);

    return rc == SQLITE_OK ? ff_sqlite_step(conn, conn->txs[tx], "run", texts[tx]) : rc;
}
