/* SPDX-License-Identifier: Apache-2.0
 *
 * hints.c -- LISTEN and NOTIFY between processes, on a connection of their own.
 *
 * A hint may be lost at any time: polling alone is correct. Never in a transaction (a listener that
 * sits in one blocks the clean-up of the server's queue), never inside a batch (NOTIFY serialises
 * commits), at most one every 5 ms. Nobody waits here: what would block is left for the next call.
 * Read first: README.md beside it. Tests: tests/store. */
#include "postgres-int.h"

#include <stdio.h>

#include "base/mutant.h"

#include "base/banned.h"

#define NOTIFY_EVERY_MS 5
#define RELISTEN_MS     1000

void ff_pg_hints_init(struct ff_pg_hints *hints, const struct ff_pg_config *config,
                      const struct ff_clock *clock)
{
    (void)pthread_mutex_init(&hints->mutex, NULL);
    ff_pg_link_init(&hints->link, config, clock);
}

void ff_pg_hints_done(struct ff_pg_hints *hints)
{
    ff_pg_link_done(&hints->link);
    (void)pthread_mutex_destroy(&hints->mutex);
}

static void lose(struct ff_pg_hints *hints)
{
    ff_pg_link_drop(&hints->link);
    hints->link.retry_at_ms = ff_clock_mono_ms(hints->link.clock) + RELISTEN_MS;
    hints->listening = hints->busy = false;
}

static void say(struct ff_pg_hints *hints, const char *verb)
{
    char text[FF_PG_SCHEMA_BYTES + 32];

    /* The schema is a plain identifier, and so is this. */
    (void)snprintf(text, sizeof text, "%s ff_%s", verb, hints->link.config->schema);
    hints->busy = PQsendQuery(hints->link.conn, text);
    if (!hints->busy || PQflush(hints->link.conn) < 0)
        lose(hints);
}

static bool connected(struct ff_pg_hints *hints)
{
    struct ff_pg_link *const link = &hints->link;

    if (!link->conn && !ff_pg_link_connect(link))
        return false;
    if (link->up)
        return true;
    if (ff_pg_link_dial(link) != FF_PG_UP)
        return false;
    say(hints, "LISTEN");
    return link->up;
}

static void take_answers(struct ff_pg_hints *hints)
{
    PGconn *const conn = hints->link.conn;
    bool good = true;

    while (hints->busy && !PQisBusy(conn)) {
        PGresult *const result = PQgetResult(conn);

        hints->busy = result != NULL;
        good &= !result || PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
    if (!good)
        lose(hints);
    else if (!hints->busy && !hints->listening)
        hints->listening = hints->heard = true; /* whatever was said before is not known */
}

static void pump(struct ff_pg_hints *hints)
{
    PGconn *conn;
    PGnotify *notify;
    const int64_t now_ms = ff_clock_mono_ms(hints->link.clock);

    if (!connected(hints))
        return;
    conn = hints->link.conn;
    if (PQflush(conn) < 0 || !PQconsumeInput(conn)) {
        lose(hints);
        return;
    }
    take_answers(hints);
    if (!hints->listening)
        return;
    while ((notify = PQnotifies(conn))) {
        hints->heard |= notify->be_pid != PQbackendPID(conn);
        PQfreemem(notify);
    }
    if (hints->pending && !hints->busy &&
        (now_ms - hints->sent_at_ms >= NOTIFY_EVERY_MS || FF_MUTANT(hint_after_every_commit))) {
        hints->pending = false;
        hints->sent_at_ms = now_ms;
        say(hints, "NOTIFY");
    }
}

void ff_pg_hints_notify(struct ff_pg_hints *hints)
{
    (void)pthread_mutex_lock(&hints->mutex);
    hints->pending = true;
    pump(hints);
    (void)pthread_mutex_unlock(&hints->mutex);
}

bool ff_pg_hints_notified(struct ff_pg_hints *hints)
{
    bool heard;

    (void)pthread_mutex_lock(&hints->mutex);
    pump(hints);
    heard = hints->heard;
    hints->heard = false;
    (void)pthread_mutex_unlock(&hints->mutex);
    return heard;
}
