/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c -- the course of a call: connect, one pipeline or two, and what the end of it means.
 *
 * A call is a sequence of rounds; a round is one pipeline with one sync. Normally there is one; a
 * load that misses keys asks a second time to tell absent from busy; a new connection first asks
 * whether the log is still the same, and takes the settings of batches; after an error comes a
 * ROLLBACK. What must stay true: a save is OK only if COMMIT answered COMMIT, and anything but
 * UNKNOWN only if the COMMIT certainly did nothing. Read first: README.md beside it.
 * Tests: tests/store. */
#include "postgres-int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/limits.h"

#include "base/banned.h"

#define SCRATCH_CHUNK_BYTES (64 << 10)

static struct ff_pg_session *self(struct ff_session *session)
{
    return ff_container_of(session, struct ff_pg_session, session);
}

static void settle(struct ff_rowset *rows)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        ff_rowset_settle(rows, (ff_table)table, FF_FOUND_ABSENT);
}

/* The plans of a link may not fit a schema that has changed, those of the next one do: 0A000 is
 * worth a rerun. A call of the same kind that is refused there too is refused for its own sake. */
static ff_called second_opinion(struct ff_pg_session *s, ff_called outcome, const char *sqlstate)
{
    const unsigned kind = 1u << s->call->kind;
    const unsigned before = s->unsupported;

    if (outcome == FF_CALLED_OK)
        s->unsupported &= ~kind;
    if (strcmp(sqlstate, "0A000") != 0)
        return outcome;
    s->unsupported |= kind;
    return before & kind ? FF_CALLED_OP : outcome;
}

static void end(struct ff_pg_session *s, ff_called outcome, const char *sqlstate,
                const char *message)
{
    static const ff_status statuses[] = {
        [FF_CALLED_OK] = FF_OK,
        [FF_CALLED_RERUN] = FF_UNAVAILABLE,
        [FF_CALLED_HELD] = FF_UNAVAILABLE,
        [FF_CALLED_LOST] = FF_UNAVAILABLE,
        [FF_CALLED_STOP] = FF_UNAVAILABLE,
        [FF_CALLED_OP] = FF_INTERNAL,
        [FF_CALLED_UNKNOWN] = FF_OUTCOME_UNKNOWN,
    };

    outcome = second_opinion(s, outcome, sqlstate);
    s->round = FF_PG_ROUND_NONE;
    s->call->outcome = outcome;
    if (outcome == FF_CALLED_OK)
        return;
    (void)snprintf(s->call->sqlstate, sizeof s->call->sqlstate, "%s", sqlstate);
    (void)ff_fail(&s->call->error, statuses[outcome], "%s", message);
}

/* Who owns the arena of the call asks it why it failed. */
static void tell_no_memory(struct ff_call *call)
{
    const bool reads = call->kind == FF_CALL_READ;

    for (struct ff_read *read = reads ? call->read : NULL; read; read = read->next)
        ff_arena_fail(read->arena);
    if (!reads && call->rows)
        ff_arena_fail(call->rows->arena);
}

static void end_failed(struct ff_pg_session *s)
{
    const struct ff_pg_failure failure = s->link.failure;

    if (s->call->kind == FF_CALL_RESOLVE && s->round == FF_PG_ROUND_UNDO &&
        !strcmp(failure.sqlstate, "23505")) {
        ff_pg_link_begin(&s->link);
        ff_pg_send_confirm(s);
        s->round = FF_PG_ROUND_CONFIRM;
        return;
    }
    if (failure.no_memory)
        tell_no_memory(s->call);
    end(s, failure.outcome, failure.sqlstate, failure.message);
}

/* Whether a COMMIT that did not answer COMMIT may have happened all the same. */
static bool in_doubt(const struct ff_pg_session *s)
{
    const struct ff_pg_failure *const failure = &s->link.failure;

    if (s->call->kind != FF_CALL_SAVE || !s->commit_queued)
        return false;
    if (failure->failed) /* an error before the COMMIT makes it a ROLLBACK */
        return failure->step == FF_PG_STEP_COMMIT && failure->fatal;
    return s->link.lost || s->link.warned;
}

static void start_undo(struct ff_pg_session *s)
{
    const struct ff_pg_failure failure = s->link.failure;

    ff_pg_link_begin(&s->link);
    ff_pg_send_own(s, FF_PG_ROLLBACK);
    ff_pg_link_sync(&s->link);
    s->link.failure = failure;
    s->round = FF_PG_ROUND_UNDO;
}

/* A pipeline ended badly: decide what it means, then leave the link in order or drop it. */
static void round_failed(struct ff_pg_session *s)
{
    struct ff_pg_link *const link = &s->link;

    link->tuned = false; /* perhaps it was that which failed */
    if (link->lost || link->failure.fatal || ff_pg_needs_new_link(link->failure.sqlstate)) {
        const bool doubt = in_doubt(s);

        if (doubt)
            end(s, FF_CALLED_UNKNOWN, link->failure.sqlstate, "the answer to COMMIT never came");
        else if (link->failure.failed)
            end_failed(s);
        else
            end(s, FF_CALLED_LOST, "", "connection lost");
        ff_pg_link_drop(link);
        return;
    }
    if (ff_pg_link_in_transaction(link) && s->round != FF_PG_ROUND_UNDO) {
        start_undo(s);
        return;
    }
    end_failed(s);
}

static void save_over(struct ff_pg_session *s)
{
    if (!s->committed)
        end(s, FF_CALLED_RERUN, "25P02", "the transaction had been aborted");
    else if (s->link.warned)
        end(s, FF_CALLED_UNKNOWN, "01000", "committed here, but not where it must be replicated");
    else {
        ff_raise_i64(s->seen_id, s->call->last_event_id);
        end(s, FF_CALLED_OK, "", "");
    }
}

static void round_over(struct ff_pg_session *s)
{
    const struct ff_pg_step load = {.kind = FF_PG_STEP_DONE};
    struct ff_call *const call = s->call;

    if (call->kind == FF_CALL_LOAD || call->kind == FF_CALL_MORE || call->kind == FF_CALL_PEEK)
        if (call->rows->arena->failed)
            ff_pg_link_fail(&s->link, &load, FF_CALLED_OP, "batch memory is exhausted");
    if (s->link.lost || s->link.failure.failed) {
        round_failed(s);
        return;
    }
    switch (call->kind) {
    case FF_CALL_SAVE:
        save_over(s);
        return;
    case FF_CALL_LOAD:
    case FF_CALL_MORE:
        if (s->round == FF_PG_ROUND_MAIN && ff_pg_send_missing(s)) {
            s->round = FF_PG_ROUND_MISSING;
            return;
        }
        settle(call->rows);
        break;
    case FF_CALL_PEEK:
        settle(call->rows);
        break;
    case FF_CALL_RESOLVE:
        call->committed = s->round == FF_PG_ROUND_CONFIRM && s->hit;
        if (s->link.warned || !s->committed) {
            end(s, FF_CALLED_RERUN, "01000", "replication of the answer is not confirmed");
            return;
        }
        break;
    case FF_CALL_ROLLBACK:
    case FF_CALL_READ:
        break;
    }
    end(s, FF_CALLED_OK, "", "");
}

/* The link is up: send the pipeline of the call. */
static void begin(struct ff_pg_session *s)
{
    struct ff_call *const call = s->call;

    s->commit_queued = s->committed = s->hit = false;
    s->sent_bytes = 0;
    if (call->kind != FF_CALL_READ && ff_pg_send_tuning(s)) {
        s->round = FF_PG_ROUND_TUNE;
        return;
    }
    s->round = FF_PG_ROUND_MAIN;
    ff_pg_link_begin(&s->link);
    switch (call->kind) {
    case FF_CALL_PEEK:
        ff_pg_send_peek(s);
        break;
    case FF_CALL_LOAD:
        ff_pg_send_load(s);
        break;
    case FF_CALL_MORE:
        ff_pg_send_more(s);
        break;
    case FF_CALL_SAVE:
        if (ff_pg_send_save(s))
            s->round = FF_PG_ROUND_FLUSH;
        return; /* the sync is behind the COMMIT */
    case FF_CALL_ROLLBACK:
        ff_pg_send_own(s, FF_PG_ROLLBACK);
        break;
    case FF_CALL_RESOLVE:
        ff_pg_send_resolve(s);
        return;
    case FF_CALL_READ:
        ff_pg_send_read(s);
        break;
    }
    ff_pg_link_sync(&s->link);
}

static void pg_start(struct ff_session *session, struct ff_call *call)
{
    struct ff_pg_session *const s = self(session);
    const bool needs_transaction = call->kind == FF_CALL_MORE || call->kind == FF_CALL_ROLLBACK ||
                                   (call->kind == FF_CALL_SAVE && !call->begins);

    s->call = call;
    call->outcome = FF_CALLED_OK;
    call->now_ms = call->last_event_id = 0;
    call->committed = call->reconnected = false;
    call->sqlstate[0] = '\0';
    if (s->link.up && PQstatus(s->link.conn) == CONNECTION_BAD)
        ff_pg_link_drop(&s->link);
    if (needs_transaction && !ff_pg_link_in_transaction(&s->link)) {
        const bool rollback = call->kind == FF_CALL_ROLLBACK;

        end(s, rollback ? FF_CALLED_OK : FF_CALLED_RERUN, "", "the transaction is gone");
    } else if (!needs_transaction && ff_pg_link_in_transaction(&s->link)) {
        ff_pg_link_drop(&s->link); /* whoever began it forgot to end it */
        end(s, FF_CALLED_RERUN, "", "a transaction was still open");
    } else if (s->link.up) {
        begin(s);
    } else if (ff_pg_link_connect(&s->link)) {
        s->round = FF_PG_ROUND_DIAL;
        call->reconnected = s->was_up;
    } else {
        end(s, FF_CALLED_STOP, s->link.failure.sqlstate, s->link.failure.message);
    }
    if (s->round != FF_PG_ROUND_NONE && s->link.up)
        (void)PQflush(s->link.conn);
    if (s->commit_queued && call->kind == FF_CALL_SAVE)
        FF_FAILPOINT(postgres_sent);
}

/* One step of the call; false: nothing more to do before the socket moves. */
static bool advance(struct ff_pg_session *s)
{
    switch (s->round) {
    case FF_PG_ROUND_NONE:
        return false;
    case FF_PG_ROUND_DIAL:
        switch (ff_pg_link_dial(&s->link)) {
        case FF_PG_DIALLING:
            return false;
        case FF_PG_UP:
            s->was_up = true;
            ff_pg_send_settle(s);
            s->round = FF_PG_ROUND_SETTLE;
            return true;
        case FF_PG_DOWN:
            end(s, FF_CALLED_STOP, s->link.failure.sqlstate, s->link.failure.message);
            return true;
        }
        return false;
    case FF_PG_ROUND_SETTLE:
    case FF_PG_ROUND_TUNE:
        if (!ff_pg_link_pump(&s->link))
            return false;
        if (s->link.lost || s->link.failure.failed)
            round_failed(s);
        else
            begin(s);
        return true;
    case FF_PG_ROUND_FLUSH:
        (void)ff_pg_link_pump(&s->link);
        if (!s->link.lost && s->link.unflushed)
            return false;
        s->round = FF_PG_ROUND_MAIN;
        if (!s->link.lost)
            ff_pg_send_commit(s);
        return true;
    case FF_PG_ROUND_MAIN:
    case FF_PG_ROUND_MISSING:
    case FF_PG_ROUND_UNDO:
    case FF_PG_ROUND_CONFIRM:
        if (!ff_pg_link_pump(&s->link))
            return false;
        round_over(s);
        return true;
    }
    return false;
}

static bool pg_finish(struct ff_session *session, struct ff_call *call)
{
    struct ff_pg_session *const s = self(session);

    assert(s->call == call);
    while (advance(s))
        ;
    return s->round == FF_PG_ROUND_NONE;
}

static void pg_wait(struct ff_session *session, int64_t timeout_ms)
{
    struct ff_pg_session *const s = self(session);

    if (s->round != FF_PG_ROUND_NONE)
        ff_pg_link_wait(&s->link, timeout_ms);
}

static void pg_abandon(struct ff_session *session, struct ff_call *call)
{
    struct ff_pg_session *const s = self(session);
    const bool doubt = call->kind == FF_CALL_SAVE && s->commit_queued;

    if (s->round == FF_PG_ROUND_NONE)
        return;
    end(s, doubt ? FF_CALLED_UNKNOWN : FF_CALLED_LOST, "", "given up before the answer came");
    ff_pg_link_drop(&s->link);
}

static void pg_free(struct ff_session *session)
{
    struct ff_pg_session *const s = self(session);

    ff_pg_link_done(&s->link);
    ff_arena_done(&s->scratch);
    ff_free(s);
}

static const struct ff_session_ops session_ops = {
    .start = pg_start,
    .finish = pg_finish,
    .wait = pg_wait,
    .abandon = pg_abandon,
    .free = pg_free,
};

ff_status ff_pg_session_new(struct ff_store *store, struct ff_session **ret,
                            struct ff_error *reterr)
{
    struct ff_pg_store *const pg = ff_container_of(store, struct ff_pg_store, store);
    struct ff_pg_session *const s = ff_calloc(1, sizeof *s);

    if (!s)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for a session");
    s->session.ops = &session_ops;
    ff_pg_link_init(&s->link, &pg->config, &pg->clock);
    s->link.take = ff_pg_take;
    s->seen_id = &pg->seen_id;
    s->link.ctx = s;
    ff_arena_init(&s->scratch, SCRATCH_CHUNK_BYTES, FF_ARENA_BYTES_MAX);
    *ret = &s->session;
    return FF_OK;
}
