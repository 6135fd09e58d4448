/* SPDX-License-Identifier: Apache-2.0
 *
 * gate.c -- a store in front of another whose loads and saves wait until they are let through.
 *
 * Reads pass: they change nothing and nobody decides by them. */
#include "isolation.h"

#include <assert.h>

#include "base/alloc.h"
#include "model.h"

#include "base/banned.h"

struct gate_store {
    struct ff_wrap_store wrap;
    struct player *player;
};

static struct gate_store *store_of(struct ff_store *base)
{
    return ff_container_of(base, struct gate_store, wrap.base);
}

static struct gate_session *session_of(struct ff_session *base)
{
    return ff_container_of(base, struct gate_session, wrap.base);
}

/* Remembers every row that is about to change: the board is looked at through them. */
static void note_keys(struct gate_session *s)
{
    struct board *const board = s->player->board;

    if (s->call->kind != FF_CALL_SAVE)
        return;
    for (int table = 0; table < FF_TABLE_COUNT; table++) {
        if (table == FF_TABLE_MARKER || table == FF_TABLE_WORKER ||
            ff_tables[table].flavour == FF_FLAVOUR_LOG)
            continue; /* who asked says nothing about what has become of the work */
        for (int change = FF_CHANGE_INSERT; change <= FF_CHANGE_DELETE; change++) {
            void **rows;
            const size_t count =
                ff_rowset_changes(s->call->rows, (ff_table)table, (ff_change)change, &rows);

            for (size_t i = 0; i < count; i++) {
                void *const key = ff_rowset_row_new(&board->known, (ff_table)table);

                model_copy_out((ff_table)table, rows[i], key, &board->arena);
                (void)ff_rowset_want(&board->known, (ff_table)table, key, FF_WANT_READ);
            }
        }
    }
}

void gate_release(struct gate_session *s)
{
    struct player *const player = s->player;

    for (size_t i = 0; i < player->held_count; i++)
        if (player->held[i] == s) {
            player->held[i] = player->held[--player->held_count];
            break;
        }
    note_keys(s);
    s->stage = GATE_RUNS;
    s->waits = false;
    s->wrap.inner->ops->start(s->wrap.inner, s->call);
}

bool gate_ended(struct gate_session *s)
{
    if (s->stage == GATE_RUNS && s->wrap.inner->ops->finish(s->wrap.inner, s->call))
        s->stage = GATE_DONE;
    return s->stage == GATE_DONE;
}

static void session_start(struct ff_session *base, struct ff_call *call)
{
    struct gate_session *const s = session_of(base);

    s->call = call;
    if (call->kind != FF_CALL_READ && call->kind != FF_CALL_PEEK && !s->player->free) {
        s->stage = GATE_HELD;
        assert(s->player->held_count < HELD_MAX);
        s->player->held[s->player->held_count++] = s;
        return;
    }
    gate_release(s);
    while (!gate_ended(s))
        s->wrap.inner->ops->wait(s->wrap.inner, 100);
}

static bool session_finish(struct ff_session *base, struct ff_call *call)
{
    (void)call;
    return session_of(base)->stage == GATE_DONE;
}

static void session_wait(struct ff_session *base, int64_t timeout_ms)
{
    (void)base, (void)timeout_ms; /* what may end has ended */
}

static void session_abandon(struct ff_session *base, struct ff_call *call)
{
    struct gate_session *const s = session_of(base);

    if (s->stage == GATE_RUNS)
        s->wrap.inner->ops->abandon(s->wrap.inner, call);
    s->stage = GATE_IDLE;
}

static ff_status store_session_new(struct ff_store *base, struct ff_session **ret,
                                   struct ff_error *reterr)
{
    static const struct ff_session_ops ops = {session_start, session_finish, session_wait,
                                              session_abandon, ff_wrap_session_free};

    FF_TRY(ff_wrap_session_new(base, sizeof(struct gate_session), &ops, ret, reterr));
    session_of(*ret)->player = store_of(base)->player;
    return FF_OK;
}

/* Players do not hear of each other: what they find must not depend on hints. */
static void store_notify(struct ff_store *base)
{
    (void)base;
}

static bool store_notified(struct ff_store *base)
{
    (void)base;
    return false;
}

static void store_free(struct ff_store *base)
{
    struct gate_store *const store = store_of(base);

    ff_store_free(store->wrap.inner);
    ff_free(store);
}

struct ff_store *gate_new(struct ff_store *inner, struct player *player)
{
    static const struct ff_store_ops ops = {store_session_new, store_notify, store_notified,
                                            ff_wrap_migrate,   store_free,   NULL};
    struct gate_store *const store = ff_calloc(1, sizeof *store);

    assert(store);
    store->wrap.base.ops = &ops;
    store->wrap.base.facts = inner->facts;
    store->wrap.inner = inner;
    store->player = player;
    return &store->wrap.base;
}
