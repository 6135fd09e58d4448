/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c -- the calls of the seam on one SQLite connection: transactions, trying again, ends.
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

/* --- the calls --- */

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

static int call_load(struct ff_sqlite_session *s, struct ff_call *call)
{
    const bool locking = call->kind == FF_CALL_LOAD;
    int rc = ff_sqlite_tx(s->conn, locking ? TX_WRITE : TX_READ);

    if (rc == SQLITE_OK)
        rc = set_clock(s, call);
    if (rc == SQLITE_OK)
        rc = ff_sqlite_load(s->conn, call->rows, locking);
    if (rc == SQLITE_OK && !locking)
        rc = ff_sqlite_tx(s->conn, TX_COMMIT);
    return rc;
}

static int call_more(struct ff_sqlite_session *s, struct ff_call *call)
{
    if (sqlite3_get_autocommit(s->conn->db))
        return ff_sqlite_note(s->conn, SQLITE_MISUSE, "load more without a load", NULL);
    return ff_sqlite_load_more(s->conn, call->rows);
}

static int call_save(struct ff_sqlite_session *s, struct ff_call *call)
{
    int rc = ff_sqlite_save(s->conn, call, atomic_load(&s->store->seen_id));

    if (rc == SQLITE_OK) {
        s->committing = true;
        FF_FAILPOINT(sqlite_written);
        rc = ff_sqlite_tx(s->conn, TX_COMMIT);
        FF_FAILPOINT(sqlite_committed);
    }
    if (rc == SQLITE_OK)
        ff_raise_i64(&s->store->seen_id, call->last_event_id);
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

static int call_read(struct ff_sqlite_session *s, struct ff_call *call)
{
    int rc = ff_sqlite_tx(s->conn, TX_READ);

    if (rc == SQLITE_OK)
        rc = set_clock(s, call);
    for (struct ff_read *read = call->read; read && rc == SQLITE_OK; read = read->next)
        rc = ff_sqlite_read(s->conn, read);
    if (rc == SQLITE_OK)
        rc = ff_sqlite_tx(s->conn, TX_COMMIT);
    if (rc == SQLITE_OK && call->read->block == FF_SQL_LOG_HEAD && call->read->cells)
        ff_raise_i64(&s->store->seen_id, call->read->cells[FF_OUT_LOG_HEAD_EVENT_ID].as.i64);
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
    case FF_CALL_MORE:
        return call_more(s, call);
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
    const bool keeps = call->kind == FF_CALL_LOAD || call->kind == FF_CALL_MORE;
    const bool begun = call->kind == FF_CALL_MORE || call->kind == FF_CALL_SAVE;
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
    } else if (ff_sqlite_is_busy(rc) && !begun) {
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
    if (!store->memory)
        s->conn->wal_bytes = &store->wal_bytes;
    *ret = &s->base;
    return FF_OK;
}
