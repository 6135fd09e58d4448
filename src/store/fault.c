/* SPDX-License-Identifier: Apache-2.0
 *
 * fault.c -- a store that fails on purpose, before a call or after it.
 *
 * What must stay true: a call reported as failed leaves the session below out of any transaction,
 * and what RESOLVE says about a batch is what really happened to it.
 * Tests: tests/unit/test_sqlite_store.c, tests/faults. */
#include "store/fault.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/uuid.h"

#include "store/wrap.h"

#include "base/banned.h"

#define REPAIR_MS 5000 /* for the rollback behind a lie */

/* A batch whose SAVE was reported as UNKNOWN. */
struct lie {
    struct lie *next;
    struct ff_uuid batch_id;
    bool committed;
};

struct fault_store {
    struct ff_wrap_store wrap;
    struct ff_fault fault;
    pthread_mutex_t lock; /* guards the rest */
    struct ff_fault_counts counts;
    struct lie *lies;
};

struct fault_session {
    struct ff_wrap_session wrap;
    struct ff_uuid batch_id; /* of the last LOAD */
    ff_fault_verdict verdict;
    bool running; /* the call under way has reached the inner session */
};

static struct fault_store *store_of(struct ff_store *base)
{
    return ff_container_of(base, struct fault_store, wrap.base);
}

static struct fault_session *session_of(struct ff_session *base)
{
    return ff_container_of(base, struct fault_session, wrap.base);
}

static struct fault_store *owner_of(const struct fault_session *s)
{
    return store_of(&s->wrap.store->base);
}

static void count(struct ff_fault_counts *counts, const struct ff_call *call,
                  ff_fault_verdict verdict)
{
    void **rows;

    counts->hits[call->kind][verdict]++;
    if (call->kind == FF_CALL_READ)
        for (const struct ff_read *read = call->read; read; read = read->next)
            counts->blocks[read->block][verdict]++;
    if (call->kind == FF_CALL_PEEK || call->kind == FF_CALL_LOAD)
        for (const struct ff_scan *scan = call->rows->scans; scan; scan = scan->next)
            counts->blocks[scan->block][verdict]++;
    for (int table = 0; call->kind == FF_CALL_SAVE && table < FF_TABLE_COUNT; table++)
        for (int change = 0; change < FF_FAULT_CHANGES; change++)
            if (ff_rowset_changes(call->rows, (ff_table)table, (ff_change)change, &rows) > 0)
                counts->changes[table][change][verdict]++;
}

static ff_fault_verdict decide(struct fault_store *store, const struct ff_call *call)
{
    ff_fault_verdict verdict;
    uint64_t n;

    pthread_mutex_lock(&store->lock);
    n = ++store->counts.calls;
    pthread_mutex_unlock(&store->lock);
    verdict = store->fault.decide(store->fault.ctx, call, n);
    pthread_mutex_lock(&store->lock);
    count(&store->counts, call, verdict);
    pthread_mutex_unlock(&store->lock);
    return verdict;
}

static void remember(struct fault_session *s, bool committed)
{
    struct lie *const lie = ff_calloc(1, sizeof *lie);

    if (!lie)
        return; /* the batch then stays in doubt, which is allowed too */
    lie->batch_id = s->batch_id;
    lie->committed = committed;
    pthread_mutex_lock(&owner_of(s)->lock);
    lie->next = owner_of(s)->lies;
    owner_of(s)->lies = lie;
    pthread_mutex_unlock(&owner_of(s)->lock);
}

/* True if the answer is known here. The newest lie counts: a batch keeps its id when rerun. */
static bool resolve(struct fault_session *s, struct ff_call *call)
{
    const struct lie *lie;

    if (strcmp(owner_of(s)->wrap.base.facts.kind, "sqlite") != 0)
        return false;
    pthread_mutex_lock(&owner_of(s)->lock);
    for (lie = owner_of(s)->lies; lie; lie = lie->next)
        if (ff_uuid_eq(lie->batch_id, call->batch_id))
            break;
    if (lie) {
        call->committed = lie->committed;
        call->outcome = FF_CALLED_OK;
    }
    pthread_mutex_unlock(&owner_of(s)->lock);
    return lie != NULL;
}

/* Ends what the inner session may still have open. */
static void repair(struct fault_session *s)
{
    struct ff_call rollback = {.kind = FF_CALL_ROLLBACK};

    ff_session_run(s->wrap.inner, &rollback, REPAIR_MS);
}

static void report(struct fault_session *s, struct ff_call *call, ff_called outcome)
{
    static const char *const names[FF_FAULT_VERDICT_COUNT] = {
        "none", "before", "before, stop", "before, lost", "after", "before, op"};

    call->outcome = outcome;
    ff_fail(&call->error, outcome == FF_CALLED_UNKNOWN ? FF_OUTCOME_UNKNOWN : FF_UNAVAILABLE,
            "fault injected: %s", names[s->verdict]);
    snprintf(call->sqlstate, sizeof call->sqlstate, "FAULT");
}

static void fail_before(struct fault_session *s, struct ff_call *call)
{
    const bool lost = s->verdict == FF_FAULT_BEFORE_LOST && call->kind == FF_CALL_SAVE;

    if (call->kind == FF_CALL_MORE || call->kind == FF_CALL_SAVE || call->kind == FF_CALL_ROLLBACK)
        repair(s);
    if (lost)
        remember(s, false);
    report(s, call,
           lost                                 ? FF_CALLED_UNKNOWN
           : s->verdict == FF_FAULT_BEFORE_STOP ? FF_CALLED_STOP
           : s->verdict == FF_FAULT_BEFORE_OP   ? FF_CALLED_OP
                                                : FF_CALLED_RERUN);
}

static void fail_after(struct fault_session *s, struct ff_call *call)
{
    if (call->kind == FF_CALL_SAVE) {
        if (call->outcome != FF_CALLED_UNKNOWN) /* a real doubt stays one */
            remember(s, call->outcome == FF_CALLED_OK);
        report(s, call, FF_CALLED_UNKNOWN);
        return;
    }
    if (call->kind == FF_CALL_LOAD || call->kind == FF_CALL_MORE)
        repair(s);
    report(s, call, FF_CALLED_RERUN);
}

static void session_start(struct ff_session *base, struct ff_call *call)
{
    struct fault_session *const s = session_of(base);

    if (call->kind == FF_CALL_LOAD || call->begins)
        s->batch_id = call->batch_id;
    s->verdict = decide(owner_of(s), call);
    s->running = false;
    if (s->verdict != FF_FAULT_RUN && s->verdict != FF_FAULT_AFTER) {
        fail_before(s, call);
    } else if (call->kind == FF_CALL_RESOLVE && resolve(s, call)) {
        if (s->verdict == FF_FAULT_AFTER)
            fail_after(s, call);
    } else {
        s->running = true;
        s->wrap.inner->ops->start(s->wrap.inner, call);
    }
}

static bool session_finish(struct ff_session *base, struct ff_call *call)
{
    struct fault_session *const s = session_of(base);

    if (!s->running)
        return true;
    if (!s->wrap.inner->ops->finish(s->wrap.inner, call))
        return false;
    s->running = false;
    if (s->verdict == FF_FAULT_AFTER)
        fail_after(s, call);
    return true;
}

static void session_wait(struct ff_session *base, int64_t timeout_ms)
{
    struct fault_session *const s = session_of(base);

    if (s->running)
        s->wrap.inner->ops->wait(s->wrap.inner, timeout_ms);
}

static void session_abandon(struct ff_session *base, struct ff_call *call)
{
    struct fault_session *const s = session_of(base);

    if (s->running)
        s->wrap.inner->ops->abandon(s->wrap.inner, call);
    s->running = false;
}

static ff_status store_session_new(struct ff_store *base, struct ff_session **ret,
                                   struct ff_error *reterr)
{
    static const struct ff_session_ops ops = {session_start, session_finish, session_wait,
                                              session_abandon, ff_wrap_session_free};

    return ff_wrap_session_new(base, sizeof(struct fault_session), &ops, ret, reterr);
}

static void store_free(struct ff_store *base)
{
    struct fault_store *const store = store_of(base);

    ff_store_free(store->wrap.inner);
    while (store->lies) {
        struct lie *const next = store->lies->next;

        ff_free(store->lies);
        store->lies = next;
    }
    pthread_mutex_destroy(&store->lock);
    ff_free(store);
}

struct ff_store *ff_store_fault_new(struct ff_store *inner, const struct ff_fault *fault)
{
    static const struct ff_store_ops ops = {store_session_new, ff_wrap_notify, ff_wrap_notified,
                                            ff_wrap_migrate,   store_free,     NULL};
    struct fault_store *const store = ff_calloc(1, sizeof *store);

    if (!store)
        return NULL;
    store->wrap.base.ops = &ops;
    store->wrap.base.facts = inner->facts;
    store->wrap.inner = inner;
    store->fault = *fault;
    pthread_mutex_init(&store->lock, NULL);
    return &store->wrap.base;
}

void ff_store_fault_counts(struct ff_store *base, struct ff_fault_counts *ret)
{
    struct fault_store *const store = store_of(base);

    pthread_mutex_lock(&store->lock);
    *ret = store->counts;
    pthread_mutex_unlock(&store->lock);
}
