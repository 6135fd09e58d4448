/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlstate.c -- what an error of Postgres means to the executor.
 *
 * Pure. The one table of error classes; the first line that matches wins. Nothing here is about
 * commits: whether a COMMIT happened is decided in session.c.
 * Tests: tests/unit/test_postgres_codec.c. */
#include "postgres-int.h"

#include <string.h>

#include "base/banned.h"

/* A code, or the first characters of a class. */
static const struct {
    const char *prefix;
    ff_called outcome;
    bool new_link; /* the connection's state does not fit any more: make another one */
} classes[] = {
    /* Somebody else was in the way: the same batch may well succeed now. */
    {"40001", FF_CALLED_RERUN, false}, /* serialization_failure */
    {"40P01", FF_CALLED_RERUN, false}, /* deadlock_detected */
    {"55P03", FF_CALLED_HELD, false},  /* lock_not_available: lock_timeout */
    {"57014", FF_CALLED_RERUN, false}, /* query_canceled: statement_timeout */
    {"23505", FF_CALLED_RERUN, false}, /* unique_violation: somebody was faster */
    {"26000", FF_CALLED_RERUN, true},  /* our prepared statement is gone: DISCARD, a pooler */
    {"0A000", FF_CALLED_RERUN, true}, /* "cached plan must not change result type"; see session.c */
    {"25P03", FF_CALLED_RERUN, true}, /* idle_in_transaction_session_timeout */
    {"57P05", FF_CALLED_RERUN, true}, /* idle_session_timeout */
    {"FF001", FF_CALLED_RERUN, true}, /* our own: the log is not the one that was settled */
    {"2200H", FF_CALLED_RERUN, true}, /* no numbers left: the log is numbered under one row now */
    {"08", FF_CALLED_LOST, true},     /* connection exceptions */
    /* The store cannot serve anybody now. */
    {"25006", FF_CALLED_STOP, true},  /* read_only_sql_transaction: failed over, look again */
    {"57P", FF_CALLED_STOP, true},    /* shutting down, starting up, dropped */
    {"53", FF_CALLED_STOP, false},    /* disk full, out of memory, too many connections */
    {"58", FF_CALLED_STOP, false},    /* I/O errors */
    {"28", FF_CALLED_STOP, true},     /* who we are is not accepted */
    {"3D000", FF_CALLED_STOP, true},  /* no such database */
    {"3F000", FF_CALLED_STOP, true},  /* no such schema */
    {"42P01", FF_CALLED_STOP, true},  /* no such table: wrong schema */
    {"42703", FF_CALLED_STOP, true},  /* no such column: wrong schema */
    {"42883", FF_CALLED_STOP, true},  /* no such function: wrong schema */
    {"42501", FF_CALLED_STOP, false}, /* not allowed */
    {"F0", FF_CALLED_STOP, false},    /* the server's configuration */
    {"XX001", FF_CALLED_STOP, false}, /* data_corrupted */
    {"XX002", FF_CALLED_STOP, false}, /* index_corrupted */
    /* Everything else is about what we sent: one op of the batch, found by bisection. XX000 too: an
     * op that trips over a bug of the server must not stop the engine. */
};

ff_called ff_pg_classify(const char *sqlstate, const char *constraint)
{
    if (!sqlstate || !sqlstate[0])
        return FF_CALLED_LOST;
    /* A CHECK of ours has a name, and who breaks it is wrong. What has none are the bounds of a
     * partition: while the row waited to enter it the ranges of the log have changed. */
    if (!constraint && !strcmp(sqlstate, "23514"))
        return FF_CALLED_RERUN;
    for (size_t i = 0; i < FF_ARRAY_LEN(classes); i++)
        if (!strncmp(sqlstate, classes[i].prefix, strlen(classes[i].prefix)))
            return classes[i].outcome;
    return FF_CALLED_OP;
}

bool ff_pg_may_pass(const char *sqlstate)
{
    static const char *const passing[] = {
        "40001", "40P01", "55P03", "57014", /* somebody was in the way */
        "53",    "57P",                     /* the server has no room, or goes, or comes */
    };

    for (size_t i = 0; sqlstate && i < FF_ARRAY_LEN(passing); i++)
        if (!strncmp(sqlstate, passing[i], strlen(passing[i])))
            return true;
    return false;
}

bool ff_pg_needs_new_link(const char *sqlstate)
{
    if (!sqlstate || !sqlstate[0])
        return true;
    for (size_t i = 0; i < FF_ARRAY_LEN(classes); i++)
        if (!strncmp(sqlstate, classes[i].prefix, strlen(classes[i].prefix)))
            return classes[i].new_link;
    return false;
}
