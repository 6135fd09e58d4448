/* SPDX-License-Identifier: Apache-2.0
 *
 * model-session.c -- the calls of the seam over the model, one statement at a time.
 *
 * A call travels to the store, runs its statements, and its answer travels back; what the hooks
 * decided for it may cut this short at either end. What must stay true: whatever is reported as
 * "not applied" has not been and will not be applied; only a SAVE reported as UNKNOWN may be. */
#include "model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "sometimes.h"
#include "store/sql.h"

#include "base/banned.h"

#define RESOLVE_WAIT_US INT64_C(10000000)
#define IDLE_TX_US      INT64_C(5000000)
#define GHOST_AGAIN_US  20000

typedef enum phase {
    PHASE_IDLE,
    PHASE_TRAVEL,
    PHASE_ROWS, /* keyed rows, table by table */
    PHASE_SETS, /* scans without lock */
    PHASE_SCANS,
    PHASE_CLOCK,
    PHASE_MISSING, /* absent or busy? */
    PHASE_SAVE,
    PHASE_RESOLVE,
    PHASE_HOLDERS, /* of the log, after its head */
    PHASE_ANSWER,  /* on its way back */
    PHASE_DONE,
    PHASE_DEAD, /* the process has ended: nobody will ask */
} phase;

struct model_session {
    struct ff_session base;
    struct model *model;
    int node;
    struct ff_call *call;
    struct model_fate fate;
    phase phase;
    int64_t at_us;
    struct model_tx *tx;
    /* where the load is */
    int table;
    ff_want want;
    void **rows; /* of the statement under way, sorted by key */
    size_t row_count, row_at;
    struct ff_scan *scan;
    /* what it waits for */
    struct model_slot *awaited;
    int64_t wait_until_us;
};

struct model_store {
    struct ff_store base;
    struct model *model;
    int node;
};

static struct model_session *session_of(struct ff_session *base)
{
    return ff_container_of(base, struct model_session, base);
}

static int64_t now_us(const struct model *model)
{
    return model->hooks.now_us(model->hooks.ctx);
}

static int64_t store_ms(const struct model *model)
{
    return model->hooks.store_ms(model->hooks.ctx);
}

static void sometimes(const struct model *model, int what)
{
    model->hooks.sometimes(model->hooks.ctx, what);
}

/* --- the end of a call --- */

static void end_call(struct model_session *s, ff_called outcome, const char *sqlstate)
{
    s->call->outcome = outcome;
    s->awaited = NULL;
    if (outcome != FF_CALLED_OK) {
        (void)snprintf(s->call->sqlstate, sizeof s->call->sqlstate, "%s", sqlstate);
        (void)ff_fail(&s->call->error, FF_UNAVAILABLE, "the model says no");
    }
    s->phase = PHASE_ANSWER;
    s->at_us = now_us(s->model) + s->fate.answer_us;
}

/* The link is gone. The store finds out now or later, and a save may have arrived. */
static void drop_tx(struct model_session *s, bool linger)
{
    struct model_tx *const tx = s->tx;
    struct model_end end;

    s->tx = NULL;
    if (!tx)
        return;
    tx->session = NULL;
    if (!linger) {
        model_tx_rollback(tx);
        return;
    }
    end = s->model->hooks.lose(s->model->hooks.ctx, s->node, tx->saving);
    tx->end_us = now_us(s->model) + end.after_us;
    tx->commits = end.commits && tx->saving;
    tx->sometimes = end.sometimes;
}

static void fail_call(struct model_session *s, ff_called outcome, const char *sqlstate)
{
    drop_tx(s, false);
    end_call(s, outcome, sqlstate);
}

/* All statements have run. */
static void worked(struct model_session *s)
{
    const struct model_fate *const fate = &s->fate;

    if (fate->report != FF_CALLED_OK) {
        drop_tx(s, fate->linger); /* of a load; a save has ended its transaction */
        end_call(s, fate->report, fate->sqlstate);
        return;
    }
    end_call(s, FF_CALLED_OK, "");
}

/* False: there is somebody to wait for, and time. */
static bool wait_over(struct model_session *s, struct model_slot *slot, int64_t max_us)
{
    const int64_t now = now_us(s->model);

    if (s->awaited != slot) {
        s->awaited = slot;
        s->wait_until_us = now + max_us;
    }
    return now >= s->wait_until_us;
}

/* --- loading --- */

static int by_key(const void *a, const void *b)
{
    const struct ff_row *const x = *(const struct ff_row *const *)a;
    const struct ff_row *const y = *(const struct ff_row *const *)b;

    return ff_str_cmp(x->entry->key, y->entry->key);
}

/* The keys of one statement: one table, wanted in one way. */
static void gather(struct model_session *s)
{
    struct ff_rowset *const rows = s->call->rows;
    size_t count = 0;

    for (struct ff_entry *entry = rows->entries[s->table]; entry; entry = entry->next)
        count += entry->found == FF_FOUND_UNASKED && entry->want == s->want;
    s->row_count = s->row_at = 0;
    s->rows = count ? ff_arena_array(rows->arena, count, sizeof *s->rows) : NULL;
    for (struct ff_entry *entry = rows->entries[s->table]; s->rows && entry; entry = entry->next)
        if (entry->found == FF_FOUND_UNASKED && entry->want == s->want)
            s->rows[s->row_count++] = entry->row;
    if (s->row_count > 1)
        qsort(s->rows, s->row_count, sizeof *s->rows, by_key);
}

static void *copy_out(struct model_session *s, const struct model_slot *slot)
{
    struct ff_rowset *const rows = s->call->rows;
    void *const row = ff_rowset_row_new(rows, slot->table);

    model_copy_out(slot->table, slot->row, row, rows->arena);
    return row;
}

static bool is_locking(const struct model_session *s)
{
    return s->call->kind == FF_CALL_LOAD || s->call->kind == FF_CALL_MORE;
}

/* One key. False: the call waits or has failed. */
static bool load_row(struct model_session *s, const void *key)
{
    struct model_slot *const slot = model_slot_of(s->model, (ff_table)s->table, key);
    const bool lock = is_locking(s) && s->want == FF_WANT_LOCK;

    if (!slot || !slot->row) {
        s->awaited = NULL;
        return true;
    }
    if (lock && model_tx_lock(s->tx, slot) == MODEL_WAIT) {
        if (s->call->lock_wait_ms <= 0)
            return true; /* SKIP LOCKED */
        if (!wait_over(s, slot, (int64_t)s->call->lock_wait_ms * 1000))
            return false;
        sometimes(s->model, SOMETIMES_PATIENT_GAVE_UP);
        fail_call(s, FF_CALLED_HELD, "55P03");
        return false;
    }
    if (s->awaited)
        sometimes(s->model, SOMETIMES_PATIENT_GOT_IT);
    s->awaited = NULL;
    (void)ff_rowset_put(s->call->rows, slot->table, copy_out(s, slot), lock);
    return true;
}

/* Rests between two statements if chance wants it so. */
static bool rests(struct model_session *s)
{
    const int64_t us = s->model->hooks.pause_us(s->model->hooks.ctx);

    s->at_us = now_us(s->model) + us;
    return us > 0;
}

static void next_statement(struct model_session *s)
{
    if (s->want == FF_WANT_LOCK) {
        s->want = FF_WANT_READ;
    } else {
        s->want = FF_WANT_LOCK;
        s->table++;
    }
    s->rows = NULL;
    if (s->table == FF_TABLE_COUNT) {
        s->phase = PHASE_SETS;
        s->scan = s->call->rows->scans;
    } else {
        gather(s);
    }
}

static void load_rows(struct model_session *s)
{
    while (s->phase == PHASE_ROWS) {
        const size_t asked = s->row_count;

        while (s->row_at < s->row_count) {
            if (!load_row(s, s->rows[s->row_at]))
                return;
            s->row_at++;
        }
        next_statement(s);
        if (asked > 0 && rests(s))
            return;
    }
}

static void load_scan(struct model_session *s, struct ff_scan *scan)
{
    struct ff_rowset *const rows = s->call->rows;
    const bool locks = is_locking(s) && ff_sql_blocks[scan->block].locks;
    struct model_slot **slots;
    const size_t count = model_scan(s->model, s->tx, scan, store_ms(s->model), &slots);

    scan->rows = ff_arena_array(rows->arena, count + 1, sizeof *scan->rows);
    for (size_t i = 0; scan->rows && i < count; i++)
        scan->rows[i] = ff_rowset_put_scanned(rows, slots[i]->table, copy_out(s, slots[i]), locks);
    scan->row_count = count;
    scan->loaded = true;
}

static void load_scans(struct model_session *s, bool locking)
{
    while (s->scan) {
        struct ff_scan *const scan = s->scan;

        s->scan = scan->next;
        if (ff_sql_blocks[scan->block].locks != locking || scan->loaded)
            continue;
        load_scan(s, scan);
        if (rests(s))
            return;
    }
    if (locking || !is_locking(s)) {
        s->phase = PHASE_CLOCK;
    } else {
        s->phase = PHASE_SCANS;
        s->scan = s->call->rows->scans;
    }
}

/* Asks again, without a lock, for the keys that could not be locked. */
static void load_missing(struct model_session *s)
{
    struct ff_rowset *const rows = s->call->rows;

    for (int table = 0; table < FF_TABLE_COUNT; table++) {
        const bool ask = s->call->lock_wait_ms <= 0 && is_locking(s) &&
                         ff_tables[table].flavour != FF_FLAVOUR_INSERT_ONLY;

        for (struct ff_entry *entry = rows->entries[table]; ask && entry; entry = entry->next) {
            const struct model_slot *const slot =
                model_slot_of(s->model, (ff_table)table, entry->row);

            if (entry->found != FF_FOUND_UNASKED || entry->want != FF_WANT_LOCK || !slot ||
                !slot->row)
                continue;
            entry->found = FF_FOUND_BUSY;
            sometimes(s->model, SOMETIMES_BUSY_ROW);
            if (s->call->kind == FF_CALL_MORE)
                sometimes(s->model, SOMETIMES_HOP_LEFT_BEHIND);
            if (table == FF_TABLE_TAG && slot->holder && !slot->holder->session)
                sometimes(s->model, SOMETIMES_BUSY_TAG);
        }
        ff_rowset_settle(rows, (ff_table)table, FF_FOUND_ABSENT);
    }
    worked(s);
}

static void begin_load(struct model_session *s)
{
    struct ff_rowset *const rows = s->call->rows;

    ff_rowset_ask_again(rows);
    if (s->call->kind != FF_CALL_MORE)
        for (int table = 0; table < FF_TABLE_COUNT; table++)
            for (struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
                if (entry->found != FF_FOUND_ROW)
                    entry->found = FF_FOUND_UNASKED;
    if (s->call->kind == FF_CALL_LOAD) {
        bool done;

        s->tx = model_tx_new(s->model, s);
        model_tx_mark(s->tx, s->call->batch_id, store_ms(s->model));
        if (model_tx_step(s->tx, &done) != MODEL_GOT)
            s->model->hooks.wrong(s->model->hooks.ctx, "a marker is there before its batch");
        s->tx->lock_wait_us =
            1000 * (s->call->lock_wait_ms > 0 ? s->call->lock_wait_ms : FF_SAVE_LOCK_MS);
        if (s->call->lock_wait_ms > 0)
            sometimes(s->model, SOMETIMES_PATIENT);
    }
    s->phase = PHASE_ROWS;
    s->table = 0;
    s->want = FF_WANT_LOCK;
    gather(s);
}

/* --- saving and asking --- */

/* What a save that ended badly says: a link that breaks hides the reason. */
static ff_called or_doubt(const struct model_session *s, ff_called outcome)
{
    return s->fate.report == FF_CALLED_OK ? outcome : s->fate.report;
}

/* One statement; false: the call waits or has ended. */
static bool save_step(struct model_session *s)
{
    struct model_tx *const tx = s->tx;
    bool done;

    switch (model_tx_step(tx, &done)) {
    case MODEL_WAIT: {
        const struct model_change *const change = tx->changes.items[tx->changes_done];

        if (change->kind == FF_CHANGE_INSERT)
            sometimes(s->model, SOMETIMES_INSERT_WAITED);
        if (wait_over(s, change->slot, tx->lock_wait_us)) {
            sometimes(s->model, SOMETIMES_INSERT_GAVE_UP);
            fail_call(s, or_doubt(s, FF_CALLED_HELD), "55P03");
        }
        return false;
    }
    case MODEL_CONFLICT:
        sometimes(s->model, SOMETIMES_KEY_TAKEN_AT_SAVE);
        fail_call(s, or_doubt(s, FF_CALLED_RERUN), "23505");
        return false;
    case MODEL_REFUSED:
        fail_call(s, or_doubt(s, FF_CALLED_OP), "23514");
        return false;
    case MODEL_GOT:
        break;
    }
    s->awaited = NULL;
    if (!done)
        return !rests(s);
    s->call->last_event_id =
        tx->events.len > 0 ? ((struct ff_event *)tx->events.items[tx->events.len - 1])->event_id
                           : 0;
    s->tx = NULL;
    model_tx_commit(tx, false);
    worked(s);
    return false;
}

static void resolve(struct model_session *s)
{
    const struct ff_marker key = {.batch_id = s->call->batch_id};
    struct model_slot *const slot = model_slot_of(s->model, FF_TABLE_MARKER, &key);

    if (slot && slot->holder) {
        sometimes(s->model, SOMETIMES_RESOLVE_WAITED);
        if (wait_over(s, slot, RESOLVE_WAIT_US))
            fail_call(s, FF_CALLED_HELD, "55P03");
        return;
    }
    s->awaited = NULL;
    s->call->committed = slot && slot->row && ((const struct ff_marker *)slot->row)->at_ms >= 0;
    if (!slot || !slot->row)
        model_bury(s->model, s->call->batch_id, store_ms(s->model));
    if (s->fate.report == FF_CALLED_OK)
        sometimes(s->model,
                  s->call->committed ? SOMETIMES_UNKNOWN_COMMITTED : SOMETIMES_UNKNOWN_LOST);
    worked(s);
}

/* --- the course of a call --- */

static void arrive(struct model_session *s)
{
    struct ff_call *const call = s->call;

    if (!s->fate.run || (s->fate.linger && s->tx)) {
        drop_tx(s, s->fate.linger);
        end_call(s, s->fate.report, s->fate.sqlstate);
        return;
    }
    switch (call->kind) {
    case FF_CALL_LOAD:
    case FF_CALL_MORE:
    case FF_CALL_PEEK:
        begin_load(s);
        return;
    case FF_CALL_SAVE:
        s->phase = PHASE_SAVE;
        return;
    case FF_CALL_ROLLBACK:
        drop_tx(s, false);
        break;
    case FF_CALL_RESOLVE:
        s->phase = PHASE_RESOLVE;
        return;
    case FF_CALL_READ:
        call->now_ms = store_ms(s->model);
        for (struct ff_read *read = call->read; read; read = read->next)
            if (!model_read(s->model, read, call->now_ms))
                s->model->hooks.wrong(s->model->hooks.ctx, "a block the model does not know");
        if (call->read->block == FF_SQL_LOG_HEAD) {
            s->phase = PHASE_HOLDERS;
            (void)rests(s);
            return;
        }
        break;
    }
    worked(s);
}

static void answer(struct model_session *s)
{
    s->phase = PHASE_DONE;
    s->at_us = INT64_MAX;
    if (s->tx)
        s->tx->idle_since_us = now_us(s->model);
    s->model->hooks.called(s->model->hooks.ctx, s->node, s->call);
}

static void advance(struct model_session *s)
{
    switch (s->phase) {
    case PHASE_TRAVEL:
        arrive(s);
        break;
    case PHASE_ROWS:
        load_rows(s);
        break;
    case PHASE_SETS:
        load_scans(s, false);
        break;
    case PHASE_SCANS:
        load_scans(s, true);
        break;
    case PHASE_CLOCK:
        if (s->call->kind != FF_CALL_MORE)
            s->call->now_ms = store_ms(s->model);
        if (s->tx && s->call->kind == FF_CALL_LOAD)
            s->tx->now_ms = s->call->now_ms;
        s->phase = PHASE_MISSING;
        (void)rests(s);
        break;
    case PHASE_MISSING:
        load_missing(s);
        break;
    case PHASE_SAVE:
        while (save_step(s))
            ;
        break;
    case PHASE_RESOLVE:
        resolve(s);
        break;
    case PHASE_HOLDERS:
        model_read_holders(s->model, s->call->read);
        worked(s);
        break;
    case PHASE_ANSWER:
        answer(s);
        break;
    case PHASE_IDLE:
    case PHASE_DONE:
    case PHASE_DEAD:
        break;
    }
}

/* An end has brought its hop along, and neither has looked. */
static bool has_foreseen(const struct ff_rowset *rows)
{
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_OUTBOX]; entry;
         entry = entry->next) {
        const struct ff_outbox *const hop = entry->row;

        if (entry->found == FF_FOUND_ROW && hop->head.is_new && hop->dispatched_at_ms != FF_NULL64)
            return true;
    }
    return false;
}

/* All of it travels at once: the marker, too, is not there before the rest. */
static void begin_save(struct model_session *s)
{
    if (has_foreseen(s->call->rows))
        s->model->hooks.sometimes(s->model->hooks.ctx, SOMETIMES_HOP_FORESEEN);
    s->tx = model_tx_new(s->model, s);
    s->tx->now_ms = s->call->decided_ms;
    s->tx->lock_wait_us = 1000 * FF_SAVE_LOCK_MS;
    model_tx_mark(s->tx, s->call->batch_id, store_ms(s->model));
}

static void session_start(struct ff_session *base, struct ff_call *call)
{
    struct model_session *const s = session_of(base);
    const bool needs_tx = call->kind == FF_CALL_MORE || call->kind == FF_CALL_ROLLBACK ||
                          (call->kind == FF_CALL_SAVE && !call->begins);

    s->call = call;
    call->outcome = FF_CALLED_OK;
    call->now_ms = call->last_event_id = 0;
    call->committed = call->reconnected = false;
    if (!needs_tx && s->tx)
        s->model->hooks.wrong(s->model->hooks.ctx, "a transaction was left open");
    if (call->begins)
        begin_save(s);
    s->fate = s->model->hooks.decide(s->model->hooks.ctx, s->node, call);
    if (s->tx)
        s->tx->idle_since_us = INT64_MAX;
    s->phase = PHASE_TRAVEL;
    s->at_us = now_us(s->model) + s->fate.travel_us;
    if (call->kind == FF_CALL_SAVE && s->tx)
        model_tx_prepare(s->tx, call->rows);
    if (s->fate.dead) {
        s->phase = PHASE_DEAD;
        s->at_us = INT64_MAX;
    } else if (needs_tx && !s->tx) {
        end_call(s, call->kind == FF_CALL_ROLLBACK ? FF_CALLED_OK : FF_CALLED_RERUN, "25P03");
    }
}

static bool session_finish(struct ff_session *base, struct ff_call *call)
{
    struct model_session *const s = session_of(base);

    assert(s->call == call);
    return s->phase == PHASE_DONE;
}

/* Only while an engine is being made does anybody wait here: time stands still for it. */
static void session_wait(struct ff_session *base, int64_t timeout_ms)
{
    struct model_session *const s = session_of(base);

    (void)timeout_ms;
    while (s->phase != PHASE_DONE && s->phase != PHASE_DEAD && s->phase != PHASE_IDLE)
        advance(s);
}

static void session_abandon(struct ff_session *base, struct ff_call *call)
{
    struct model_session *const s = session_of(base);

    if (s->phase == PHASE_DONE || s->phase == PHASE_IDLE)
        return;
    drop_tx(s, true);
    call->outcome = call->kind == FF_CALL_SAVE ? FF_CALLED_UNKNOWN : FF_CALLED_LOST;
    s->phase = PHASE_IDLE;
    s->at_us = INT64_MAX;
    s->awaited = NULL;
}

static void session_free(struct ff_session *base)
{
    struct model_session *const s = session_of(base);

    drop_tx(s, true);
    model_vec_remove(&s->model->movers, s);
    ff_free(s);
}

static ff_status store_session_new(struct ff_store *base, struct ff_session **ret,
                                   struct ff_error *reterr)
{
    static const struct ff_session_ops ops = {session_start, session_finish, session_wait,
                                              session_abandon, session_free};
    struct model_store *const store = ff_container_of(base, struct model_store, base);
    struct model_session *const s = ff_calloc(1, sizeof *s);

    if (!s)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a session");
    s->base.ops = &ops;
    s->model = store->model;
    s->node = store->node;
    s->at_us = INT64_MAX;
    model_vec_add(s->model, &s->model->movers, s);
    *ret = &s->base;
    return FF_OK;
}

/* --- the store of a process --- */

static void store_notify(struct ff_store *base)
{
    struct model_store *const store = ff_container_of(base, struct model_store, base);

    store->model->hooks.hinted(store->model->hooks.ctx, store->node);
}

static bool store_notified(struct ff_store *base)
{
    struct model_store *const store = ff_container_of(base, struct model_store, base);

    return store->model->hooks.take_hint(store->model->hooks.ctx, store->node);
}

static ff_status store_migrate(struct ff_store *base, bool dry_run, int32_t *ret_from,
                               int32_t *ret_to, struct ff_error *reterr)
{
    (void)base, (void)dry_run, (void)reterr;
    *ret_from = *ret_to = 1;
    return FF_OK;
}

static void store_free(struct ff_store *base)
{
    ff_free(ff_container_of(base, struct model_store, base));
}

struct ff_store *model_store_new(struct model *model, int node, bool shared, bool notify)
{
    static const struct ff_store_ops ops = {store_session_new, store_notify, store_notified,
                                            store_migrate,     store_free,   NULL};
    struct model_store *const store = ff_calloc(1, sizeof *store);

    assert(store);
    store->base.ops = &ops;
    store->base.facts = (struct ff_store_facts){.kind = "model",
                                                .version = "1",
                                                .notify = notify,
                                                .wake_up = notify ? "notify" : "polling",
                                                .shared = shared,
                                                .row_locks = true,
                                                .dead_rows = true,
                                                .proves = true};
    store->model = model;
    store->node = node;
    return &store->base;
}

/* --- moving on --- */

static struct model_tx *tx_at(const struct model *model, size_t i)
{
    return model->txs.items[i - model->movers.len];
}

size_t model_mover_count(const struct model *model)
{
    return model->movers.len + model->txs.len;
}

int64_t model_mover_at_us(const struct model *model, size_t i)
{
    const struct model_session *s;
    const struct model_tx *tx;

    if (i >= model->movers.len) {
        tx = tx_at(model, i);
        if (!tx->session)
            return tx->end_us;
        return tx->idle_since_us == INT64_MAX ? INT64_MAX : tx->idle_since_us + IDLE_TX_US;
    }
    s = model->movers.items[i];
    if (s->awaited &&
        (s->phase == PHASE_ROWS || s->phase == PHASE_SAVE || s->phase == PHASE_RESOLVE))
        return s->awaited->holder ? s->wait_until_us : 0;
    return s->at_us;
}

static void end_ghost(struct model_tx *tx)
{
    bool done = false;
    model_got got = MODEL_GOT;

    while (tx->commits && got == MODEL_GOT && !done)
        got = model_tx_step(tx, &done);
    if (got == MODEL_WAIT && tx->lock_wait_us > 0) {
        tx->lock_wait_us -= GHOST_AGAIN_US;
        tx->end_us = now_us(tx->model) + GHOST_AGAIN_US;
        return;
    }
    if (!done) {
        model_tx_rollback(tx);
        return;
    }
    sometimes(tx->model, tx->sometimes);
    model_tx_commit(tx, true);
}

void model_move(struct model *model, size_t i)
{
    struct model_tx *tx;

    if (i < model->movers.len) {
        advance(model->movers.items[i]);
        return;
    }
    tx = tx_at(model, i);
    if (!tx->session) {
        end_ghost(tx);
        return;
    }
    sometimes(model, SOMETIMES_IDLE_TX_ENDED);
    tx->session->tx = NULL;
    model_tx_rollback(tx);
}

void model_settle(struct model *model)
{
    for (size_t rounds = 0; rounds < 1000 && model->txs.len > 0; rounds++)
        for (size_t i = model->movers.len; i < model_mover_count(model); i++)
            if (!tx_at(model, i)->session)
                end_ghost(tx_at(model, i));
}
