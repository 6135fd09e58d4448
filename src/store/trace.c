/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.c -- a store that says what it was asked and how long that took.
 *
 * Counters are shared by all sessions, whatever thread they run on.
 * Tests: tests/unit/test_sqlite_store.c. */
#include "store/trace.h"

#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"
#include "store/sql.h"

#include "store/wrap.h"

#include "base/banned.h"

struct trace_store {
    struct ff_wrap_store wrap;
    struct ff_trace trace;
    _Atomic uint64_t calls[FF_TRACE_KINDS], micros[FF_TRACE_KINDS], failed[FF_TRACE_KINDS];
    _Atomic uint64_t rows, statements;
};

struct trace_session {
    struct ff_wrap_session wrap;
    int64_t started_us;
    bool running;
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct trace_store *store_of(struct ff_store *base)
{
    return ff_container_of(base, struct trace_store, wrap.base);
}

static struct trace_session *session_of(struct ff_session *base)
{
    return ff_container_of(base, struct trace_session, wrap.base);
}

static struct trace_store *owner_of(const struct trace_session *s)
{
    return store_of(&s->wrap.store->base);
}

/* What a load asks for: one statement per table with keys, one per scan. */
static void count_load(struct trace_store *store, const struct ff_rowset *rows)
{
    uint64_t statements = 2; /* begin, clock */
    uint64_t count = rows->entry_count;

    for (int table = 0; table < FF_TABLE_COUNT; table++)
        statements += rows->entries[table] ? 1 : 0;
    for (const struct ff_scan *scan = rows->scans; scan; scan = scan->next) {
        statements++;
        count += scan->row_count;
    }
    store->statements += statements;
    store->rows += count;
}

static void count_save(struct trace_store *store, const struct ff_rowset *rows)
{
    uint64_t statements = 1; /* commit */
    uint64_t count = rows->event_count + rows->purge_count;

    for (int table = 0; table < FF_TABLE_COUNT; table++) {
        bool inserts = false, updates = false, deletes = false;

        for (const struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next) {
            const struct ff_row *const row = entry->row;

            inserts |= row->is_new;
            updates |= row->is_dirty && !row->is_new;
            deletes |= row->is_deleted && !row->is_new;
            count += row->is_new || row->is_dirty || row->is_deleted ? 1 : 0;
        }
        statements += (uint64_t)inserts + updates + deletes;
        if (rows->purge_count && ff_tables[table].scope == FF_SCOPE_EXECUTION)
            statements++;
    }
    store->statements += statements + (rows->event_count ? 1 : 0);
    store->rows += count;
}

static void count_call(struct trace_store *store, const struct ff_call *call, int64_t micros)
{
    store->calls[call->kind]++;
    store->micros[call->kind] += (uint64_t)micros;
    store->failed[call->kind] += call->outcome != FF_CALLED_OK;
    switch (call->kind) {
    case FF_CALL_PEEK:
    case FF_CALL_LOAD:
        count_load(store, call->rows);
        break;
    case FF_CALL_MORE: /* the rows are counted when they are saved */
        store->statements++;
        break;
    case FF_CALL_SAVE:
        count_save(store, call->rows);
        break;
    case FF_CALL_READ:
        for (const struct ff_read *read = call->read; read; read = read->next) {
            store->rows += read->row_count;
            store->statements++;
        }
        break;
    case FF_CALL_ROLLBACK:
    case FF_CALL_RESOLVE:
        store->statements++;
        break;
    }
}

static void ended(struct trace_session *s, const struct ff_call *call)
{
    const int64_t micros = now_us() - s->started_us;

    s->running = false;
    count_call(owner_of(s), call, micros);
    if (owner_of(s)->trace.on_call)
        owner_of(s)->trace.on_call(owner_of(s)->trace.ctx, call, micros);
}

static void session_start(struct ff_session *base, struct ff_call *call)
{
    struct trace_session *const s = session_of(base);

    s->started_us = now_us();
    s->running = true;
    s->wrap.inner->ops->start(s->wrap.inner, call);
}

static bool session_finish(struct ff_session *base, struct ff_call *call)
{
    struct trace_session *const s = session_of(base);

    if (!s->wrap.inner->ops->finish(s->wrap.inner, call))
        return false;
    if (s->running)
        ended(s, call);
    return true;
}

static void session_wait(struct ff_session *base, int64_t timeout_ms)
{
    struct trace_session *const s = session_of(base);

    s->wrap.inner->ops->wait(s->wrap.inner, timeout_ms);
}

static void session_abandon(struct ff_session *base, struct ff_call *call)
{
    struct trace_session *const s = session_of(base);

    s->wrap.inner->ops->abandon(s->wrap.inner, call);
    if (s->running)
        ended(s, call);
}

static ff_status store_session_new(struct ff_store *base, struct ff_session **ret,
                                   struct ff_error *reterr)
{
    static const struct ff_session_ops ops = {session_start, session_finish, session_wait,
                                              session_abandon, ff_wrap_session_free};

    return ff_wrap_session_new(base, sizeof(struct trace_session), &ops, ret, reterr);
}

static void store_free(struct ff_store *base)
{
    struct trace_store *const store = store_of(base);

    ff_store_free(store->wrap.inner);
    ff_free(store);
}

struct ff_store *ff_store_trace_new(struct ff_store *inner, const struct ff_trace *trace)
{
    static const struct ff_store_ops ops = {store_session_new, ff_wrap_notify, ff_wrap_notified,
                                            ff_wrap_migrate,   store_free,     NULL};
    struct trace_store *const store = ff_calloc(1, sizeof *store);

    if (!store)
        return NULL;
    store->wrap.base.ops = &ops;
    store->wrap.base.facts = inner->facts;
    store->wrap.inner = inner;
    store->trace = *trace;
    return &store->wrap.base;
}

void ff_store_trace_counts(const struct ff_store *base, struct ff_trace_counts *ret)
{
    const struct trace_store *const store = (const struct trace_store *)base;

    for (int kind = 0; kind < FF_TRACE_KINDS; kind++) {
        ret->calls[kind] = store->calls[kind];
        ret->micros[kind] = store->micros[kind];
        ret->failed[kind] = store->failed[kind];
    }
    ret->rows = store->rows;
    ret->statements = store->statements;
}
