/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite-int.h -- the parts of the SQLite store, for each other.
 *
 * For src/store/sqlite only. Functions that talk to SQLite return its extended result code and
 * leave a message in the connection; errors of our own borrow the code that fits (SQLITE_MISMATCH:
 * the data are not what rows.def says; SQLITE_TOOBIG: the batch does not fit its arena).
 * Read first: README.md beside it. Tests: tests/unit/test_sqlite_store.c. */
#ifndef FF_STORE_SQLITE_INT_H
#define FF_STORE_SQLITE_INT_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "store/sql.h"
#include "store/store.h"

#define FF_SQLITE_APPLICATION_ID 0x46664661 /* "FfFa"; in the header of the file, see file(1) */
#define FF_SQLITE_PATIENCE_MS    5000       /* how long a locked file is tried again */
#define FF_SQLITE_WAL_PAGES      1000       /* then a checkpoint follows the commit */

/* --- conn.c: one connection --- */

/* The statements every table has, in the order of struct ff_sql_table. */
enum {
    STMT_READ,
    STMT_INSERT,
    STMT_INSERT_MANY,
    STMT_UPDATE,
    STMT_REWRITE,
    STMT_REMOVE,
    STMT_PURGE,
    STMT_COUNT
};
enum { TX_READ, TX_WRITE, TX_COMMIT, TX_ROLLBACK, TX_COUNT };

struct ff_sqlite_conn {
    sqlite3 *db;
    int64_t now_ms;          /* what ff_now_ms() answers; set at the start of every call */
    int wal_pages;           /* as of the last commit */
    atomic_llong *wal_bytes; /* of the store: what all its connections have written; or NULL */
    char problem[320];
    sqlite3_stmt *blocks[FF_SQL_COUNT]; /* prepared when first used */
    sqlite3_stmt *tables[FF_TABLE_COUNT][STMT_COUNT];
    sqlite3_stmt *txs[TX_COUNT];
};

/* `path` is a file, or a memdb URI if `memory`. */
int ff_sqlite_conn_open(struct ff_sqlite_conn *conn, const char *path, bool memory, bool create);
/* `poisoned`: without the checkpoint that the last connection makes. */
void ff_sqlite_conn_close(struct ff_sqlite_conn *conn, bool poisoned);
/* Keeps a message and returns `rc`. `what` may be NULL. */
int ff_sqlite_note(struct ff_sqlite_conn *conn, int rc, const char *doing, const char *what);
/* SQLITE_TOOBIG once the arena has failed. */
int ff_sqlite_fits(struct ff_sqlite_conn *conn, const struct ff_arena *arena);
int ff_sqlite_block(struct ff_sqlite_conn *conn, int block, sqlite3_stmt **ret);
int ff_sqlite_table(struct ff_sqlite_conn *conn, ff_table table, int which, sqlite3_stmt **ret);
/* Steps once, to the next row (SQLITE_ROW) or the end (SQLITE_OK, and the statement is reset). */
int ff_sqlite_step(struct ff_sqlite_conn *conn, sqlite3_stmt *stmt, const char *doing,
                   const char *what);
int ff_sqlite_tx(struct ff_sqlite_conn *conn, int tx);
/* A text without parameters, tried again while the file is locked; for opening and migrating. */
int ff_sqlite_exec_patiently(struct ff_sqlite_conn *conn, const char *text);
/* The one number a PRAGMA or block answers with; `fallback` if there is no row. */
int ff_sqlite_number(struct ff_sqlite_conn *conn, const char *text, int64_t fallback, int64_t *ret);
bool ff_sqlite_is_busy(int rc);
/* After this the file may hold less than the kernel said: nobody may use it any more. */
bool ff_sqlite_is_poison(int rc, bool committing);
ff_called ff_sqlite_class(int rc);
void ff_sqlite_sleep_ms(int64_t ms);

/* --- values.c: C values to parameters, columns to C values --- */

int ff_sqlite_bind_value(sqlite3_stmt *stmt, int index, const struct ff_value *value);
int ff_sqlite_bind_col(sqlite3_stmt *stmt, int index, const struct ff_col *col, const void *row);
/* All columns of the table from `from` on; the statement has them in the same order. Text and blobs
 * are copied into the arena. */
int ff_sqlite_get_cols(sqlite3_stmt *stmt, const struct ff_table_info *info, int from, void *row,
                       struct ff_arena *arena);
int ff_sqlite_get_cell(sqlite3_stmt *stmt, int index, ff_value_type type, struct ff_value *ret,
                       struct ff_arena *arena);

/* --- load.c, save.c: inside a transaction --- */

int ff_sqlite_load(struct ff_sqlite_conn *conn, struct ff_rowset *rows, bool locking);
/* The same for what has been asked for since, in the same transaction. */
int ff_sqlite_load_more(struct ff_sqlite_conn *conn, struct ff_rowset *rows);
int ff_sqlite_read(struct ff_sqlite_conn *conn, struct ff_read *read);
/* All of a SAVE but its COMMIT. */
int ff_sqlite_save(struct ff_sqlite_conn *conn, struct ff_call *call, int64_t seen_id);
/* The log jumps if it is an older copy of itself: because that is `forced`, or because it has not
 * come as far as `seen_id`. */
int ff_sqlite_reset_log(struct ff_sqlite_conn *conn, int64_t now_ms, bool forced, int64_t seen_id);

/* --- store.c: the file or the memory --- */

struct ff_sqlite_session;

/* The one connection of a memory store. Stores of the same name in a process share it; a session
 * owns it from LOAD to SAVE or ROLLBACK, and for the length of any other call. */
struct ff_sqlite_memory {
    struct ff_sqlite_memory *next;
    char name[96];
    int users;
    struct ff_sqlite_conn conn;
    pthread_mutex_t lock;
    pthread_cond_t released;
    const struct ff_sqlite_session *owner;
};

struct ff_sqlite_store {
    struct ff_store base;
    struct ff_clock clock;
    struct ff_random random;
    char *path;
    pid_t pid; /* SQLite must not be carried across a fork */
    atomic_bool poisoned;
    _Atomic int64_t seen_id;         /* the highest event id that was seen committed */
    struct ff_sqlite_memory *memory; /* or NULL: a file */
    struct ff_sqlite_conn *home;     /* of the store itself: opening, migrating, watching */
    pthread_mutex_t lock;            /* guards the rest, and `home` of a file */
    int64_t last_now_ms, last_boot_ms;
    int64_t seen_version; /* PRAGMA data_version */
    atomic_llong wal_bytes;
};

/* The store's time: never runs back, whatever the wall clock does. */
int64_t ff_sqlite_now_ms(struct ff_sqlite_store *store, int64_t stored_ms);
/* NULL, or why the store must not be used any more. */
const char *ff_sqlite_refusal(const struct ff_sqlite_store *store);

/* --- session.c --- */

ff_status ff_sqlite_session_new(struct ff_store *base, struct ff_session **ret,
                                struct ff_error *reterr);

/* --- migrate.c --- */

ff_status ff_sqlite_migrate(struct ff_sqlite_conn *conn, const struct ff_sqlite_store *store,
                            bool dry_run, int32_t *ret_from, int32_t *ret_to,
                            struct ff_error *reterr);
/* What opening does: migrates an empty store, or any if `all`; then compares with rows.def. */
ff_status ff_sqlite_schema_check(struct ff_sqlite_conn *conn, const struct ff_sqlite_store *store,
                                 bool all, struct ff_error *reterr);

#endif
