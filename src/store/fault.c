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

#include "base/banned.h"

#define REPAIR_MS 5000 /* for the rollback behind a lie */

/* A batch whose SAVE was reported as UNKNOWN. */
struct lie {
    struct lie *next;
    struct ff_uuid batch_id;
    bool committed;
};

struct fault_store {
    struct ff_store base;
    struct ff_store *inner;
    struct ff_fault fault;
    pthread_mutex_t lock; /* guards the rest */
    struct ff_fault_counts counts;
    struct lie *lies;
};

struct fault_session {
    struct ff_session base;
    struct ff_session *inner;
    struct fault_store *store;
    struct ff_uuid batch_id; /* of the last LOAD */
    ff_fault_verdict verdict;
    bool running; /* the call under way has reached the inner session */
};

static struct fault_store *store_of(struct ff_store *base)
{
    return ff_container_of(base, struct fault_store, base);
}

static struct fault_session *session_of(struct ff_session *base)
{
    return ff_container_of(base, struct fault_session, base);
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
    store->counts.hits[call->kind][verdict]++;
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
    pthread_mutex_lock(&s->store->lock);
    lie->next = s->store->lies;
    s->store->lies = lie;
    pthread_mutex_unlock(&s->store->lock);
}

/* True if the answer is known here. The newest lie counts: a batch keeps its id when rerun. */
static bool resolve(struct fault_session *s, struct ff_call *call)
{
    const struct lie *lie;

    if (strcmp(s->store->base.facts.kind, "sqlite") != 0)
        return false;
    pthread_mutex_lock(&s->store->lock);
    for (lie = s->store->lies; lie; lie = lie->next)
        if (ff_uuid_eq(lie->batch_id, call->batch_id))
            break;
    if (lie) {
        call->committed = lie->committed;
        call->outcome = FF_CALLED_OK;
    }
    pthread_mutex_unlock(&s->store->lock);
    return lie != NULL;
}

/* Ends what the inner session may still have open. */
static void repair(struct fault_session *s)
{
    struct ff_call rollback = {.kind = FF_CALL_ROLLBACK};

    ff_session_run(s->inner, &rollback, REPAIR_MS);
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

    if (call->kind == FF_CALL_SAVE || call->kind == FF_CALL_ROLLBACK)
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
    if (call->kind == FF_CALL_LOAD)
        repair(s);
    report(s, call, FF_CALLED_RERUN);
}

static void session_start(struct ff_session *base, struct ff_call *call)
{
    struct fault_session *const s = session_of(base);

    if (call->kind == FF_CALL_LOAD)
        s->batch_id = call->batch_id;
    s->verdict = decide(s->store, call);
    s->running = false;
    if (s->verdict != FF_FAULT_RUN && s->verdict != FF_FAULT_AFTER) {
        fail_before(s, call);
    } else if (call->kind == FF_CALL_RESOLVE && resolve(s, call)) {
        if (s->verdict == FF_FAULT_AFTER)
            fail_after(s, call);
    } else {
        s->running = true;
        s->inner->ops->start(s->inner, call);
    }
}

static bool session_finish(struct ff_session *base, struct ff_call *call)
{
    struct fault_session *const s = session_of(base);

    if (!s->running)
        return true;
    if (!s->inner->ops->finish(s->inner, call))
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
        s->inner->ops->wait(s->inner, timeout_ms);
}

static void session_abandon(struct ff_session *base, struct ff_call *call)
{
    struct fault_session *const s = session_of(base);

    if (s->running)
        s->inner->ops->abandon(s->inner, call);
    s->running = false;
}

static void session_free(struct ff_session *base)
{
    struct fault_session *const s = session_of(base);

    s->inner->ops->free(s->inner);
    ff_free(s);
}

static ff_status store_session_new(struct ff_store *base, struct ff_session **ret,
                                   struct ff_error *reterr)
{
    static const struct ff_session_ops ops = {session_start, session_finish, session_wait,
                                              session_abandon, session_free};
    struct fault_store *const store = store_of(base);
    struct fault_session *const s = ff_calloc(1, sizeof *s);
    ff_status status;

    if (!s)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a session");
    s->base.ops = &ops;
    s->store = store;
    status = store->inner->ops->session_new(store->inner, &s->inner, reterr);
    if (status != FF_OK) {
        ff_free(s);
        return status;
    }
    *ret = &s->base;
    return FF_OK;
}

static void store_notify(struct ff_store *base)
{
    struct ff_store *const inner = store_of(base)->inner;

    inner->ops->notify(inner);
}

static bool store_notified(struct ff_store *base)
{
    struct ff_store *const inner = store_of(base)->inner;

    return inner->ops->notified(inner);
}

static ff_status store_migrate(struct ff_store *base, bool dry_run, int32_t *ret_from,
                               int32_t *ret_to, struct ff_error *reterr)
{
    struct ff_store *const inner = store_of(base)->inner;

    return inner->ops->migrate(inner, dry_run, ret_from, ret_to, reterr);
}

static void store_free(struct ff_store *base)
{
    struct fault_store *const store = store_of(base);

    ff_store_free(store->inner);
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
    static const struct ff_store_ops ops = {store_session_new, store_notify, store_notified,
                                            store_migrate, store_free};
    struct fault_store *const store = ff_calloc(1, sizeof *store);

    if (!store)
        return NULL;
    store->base.ops = &ops;
    store->base.facts = inner->facts;
    store->inner = inner;
    store->fault = *fault;
    pthread_mutex_init(&store->lock, NULL);
    return &store->base;
}

void ff_store_fault_counts(struct ff_store *base, struct ff_fault_counts *ret)
{
    struct fault_store *const store = store_of(base);

    pthread_mutex_lock(&store->lock);
    *ret = store->counts;
    pthread_mutex_unlock(&store->lock);
}
