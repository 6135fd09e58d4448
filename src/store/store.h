/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h -- the seam between the engine and a database: rows, scans and transactions, never rules.
 *
 * A call is started and later finished, so that one thread can drive many sessions and a simulator
 * can decide when, and whether, each call ends. SQLite does its work inside start(); Postgres sends
 * a pipeline there and reads it in finish(). A session has one call under way at a time and belongs
 * to one thread at a time. Adding an operation to the engine never touches this file.
 * Read first: src/store/README.md. Tests: tests/conformance, tests/faults. */
#ifndef FF_STORE_STORE_H
#define FF_STORE_STORE_H

#include "base/clock.h"
#include "base/random.h"
#include "model/rowset.h"
#include "model/value.h"

#include <flowfabric.h>

typedef enum ff_call_kind {
    FF_CALL_PEEK,     /* load keyed rows and scans without lock, outside of any transaction */
    FF_CALL_LOAD,     /* begin; marker; lock keyed rows; set scans; locking scans; clock */
    FF_CALL_MORE,     /* in the same transaction: what has been asked for since */
    FF_CALL_SAVE,     /* changed rows, purges, events, commit */
    FF_CALL_ROLLBACK, /* end the transaction of a load without saving */
    FF_CALL_RESOLVE,  /* did batch_id commit? Makes "no" final. OP: this store can never tell */
    FF_CALL_READ,     /* a read-only block, or several as of one moment */
} ff_call_kind;

/* How a call ended; the error classes of the executor. */
typedef enum ff_called {
    FF_CALLED_OK,
    FF_CALLED_RERUN,   /* nothing applied: serialisation, deadlock, our own duplicate */
    FF_CALLED_HELD,    /* nothing applied: waited in vain for what somebody else holds */
    FF_CALLED_LOST,    /* nothing applied: the connection is gone */
    FF_CALLED_STOP,    /* nothing applied: the store cannot serve now (full, read-only, away) */
    FF_CALLED_OP,      /* nothing applied: something in this batch is not to the store's taste;
                          or, if its arena has failed, there was no memory */
    FF_CALLED_UNKNOWN, /* SAVE only: the commit was sent and its answer never came */
} ff_called;

/* One read-only block. Cells and rows live in `arena`. */
struct ff_read {
    int block;
    const struct ff_value *params;
    size_t param_count;
    struct ff_arena *arena;
    size_t row_count;
    void **rows;            /* for blocks with `out: row:<table>`: row structs */
    struct ff_value *cells; /* otherwise: row_count * col_count values, row by row */
    size_t col_count;
    struct ff_read *next; /* read with it: all of them see the same moment */
};

/* A SAVE normally ends the transaction that a LOAD has begun. Where the store `proves` (see its
 * facts) a batch may also rely on what nobody has looked at: entries that are assumed. Then the
 * SAVE itself makes sure of them, or fails and applies nothing: a row that changes is found only
 * while its stamps (rows.def) are what the assumed row has, lanes that are assumed not to be there
 * must not be paused, and capability sets that are assumed must be there. A row that somebody holds
 * is waited for, as a key is. With `begins` there was no LOAD at all: the SAVE begins the
 * transaction and marks it. */
struct ff_call {
    ff_call_kind kind;
    struct ff_rowset *rows;  /* PEEK, LOAD, MORE, SAVE */
    struct ff_uuid batch_id; /* LOAD, RESOLVE, SAVE that begins */
    bool begins;             /* SAVE ... */
    int64_t decided_ms;      /* ... by this time; the store need not look at it */
    int32_t lock_wait_ms;    /* LOAD: 0 skips locked rows; otherwise waits this long (then HELD).
                                The SAVE waits as long, or FF_SAVE_LOCK_MS, for keys that
                                somebody else is inserting */
    struct ff_read *read;    /* READ */
    /* answers, valid once finish() said true */
    ff_called outcome;
    int64_t now_ms;        /* LOAD, READ of the pulse: the store's time */
    int64_t last_event_id; /* SAVE: the highest id given out by this commit, 0 if none */
    bool committed;        /* RESOLVE */
    bool reconnected;      /* over a new connection: the store may be another copy than before */
    struct ff_error error;
    char sqlstate[8]; /* or the SQLite result code as text, for logs */
};

struct ff_session;
struct ff_session_ops {
    /* Begin a call. Connects first when the session has no connection. Never blocks for long:
     * what takes time is awaited through finish() and wait(). */
    void (*start)(struct ff_session *session, struct ff_call *call);
    /* True once the call has ended; false: not yet, see wait(). */
    bool (*finish)(struct ff_session *session, struct ff_call *call);
    /* Block until finish() may have something new, or the timeout has passed. */
    void (*wait)(struct ff_session *session, int64_t timeout_ms);
    /* Give up the call under way: the connection is dropped, the call ends at once as UNKNOWN for
     * a SAVE and LOST or RERUN otherwise. */
    void (*abandon)(struct ff_session *session, struct ff_call *call);
    void (*free)(struct ff_session *session);
};
struct ff_session {
    const struct ff_session_ops *ops;
};

/* What a store found out about itself at start-up. */
struct ff_store_facts {
    const char *kind; /* "sqlite", "postgres": above the seam for people only */
    char version[32];
    bool notify; /* hints between processes work */
    /* How whoever waits hears of work that others hand in: "in process", "data_version" (a counter
     * of the file is looked at), "notify" or "polling". For people, too. */
    const char *wake_up;
    bool serial_log;    /* events are numbered under one row: commits wait for each other */
    bool pooler;        /* behind a transaction-mode pooler */
    bool shared;        /* other processes may use the same store */
    bool row_locks;     /* several write at a time, and may wait for a row that another holds */
    bool upkeep;        /* sessions and ranges of the log have to be looked after */
    bool dead_rows;     /* scans walk over what is gone until somebody cleans up */
    bool proves;        /* a SAVE can prove what is assumed, and begin by itself */
    char warnings[512]; /* settings an operator should change; empty if none */
};

struct ff_store;
struct ff_store_ops {
    ff_status (*session_new)(struct ff_store *store, struct ff_session **ret,
                             struct ff_error *reterr);
    /* Hint to other processes that something has been committed. Coalesced, never blocks: what
     * cannot be sent at once goes out with a later notify() or notified(). */
    void (*notify)(struct ff_store *store);
    /* True if another process hinted, or the file changed, since the last call. Never blocks. */
    bool (*notified)(struct ff_store *store);
    /* Apply migrations up to this binary's. `dry_run` only reports. */
    ff_status (*migrate)(struct ff_store *store, bool dry_run, int32_t *ret_from, int32_t *ret_to,
                         struct ff_error *reterr);
    void (*free)(struct ff_store *store);
    /* The store is an older copy of what it was: no event id may be given out twice. NULL in
     * wrappers. */
    ff_status (*restored)(struct ff_store *store, struct ff_error *reterr);
};
struct ff_store {
    const struct ff_store_ops *ops;
    struct ff_store_facts facts;
};

struct ff_store_options {
    const char *url; /* sqlite:PATH, sqlite::memory: or sqlite:memory:NAME, postgres://... */
    bool migrate;    /* apply migrations even to a store that is not empty */
    bool create;     /* make the file or the schema if it is not there */
    bool as_it_is;   /* do not look at the schema: only ops->migrate may be called */
    struct ff_clock clock;
    struct ff_random random;
};

/* Opens by URL scheme, checks settings and schema (migrates an empty store). */
FF_MUST_CHECK ff_status ff_store_open(const struct ff_store_options *options,
                                      struct ff_store **ret_store, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_store_sqlite_open(const struct ff_store_options *options,
                                             struct ff_store **ret_store, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_store_postgres_open(const struct ff_store_options *options,
                                               struct ff_store **ret_store,
                                               struct ff_error *reterr);
void ff_store_free(struct ff_store *store);

/* Start a call and wait for its end, at most until the deadline (then it is abandoned). */
void ff_session_run(struct ff_session *session, struct ff_call *call, int64_t timeout_ms);
/* Run one read-only block; what may go well another time comes back as FF_UNAVAILABLE. */
FF_MUST_CHECK ff_status ff_session_read(struct ff_session *session, struct ff_read *read,
                                        int64_t timeout_ms, struct ff_error *reterr);

#endif
