/* SPDX-License-Identifier: Apache-2.0
 *
 * model.c -- the rows of the model store, its locks and its transactions.
 *
 * What must stay true: a committed row changes only in model_tx_commit; a slot has one holder; what
 * a transaction holds is released when it ends and not before. Locks and keys being inserted are
 * waited for in the session that wants them; here one only learns that there is somebody. */
#include "model.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sometimes.h"

#include "base/banned.h"

#define MODEL_CHUNK_BYTES (1 << 20)
#define MODEL_BYTES_MAX   ((size_t)2 << 30)

/* --- memory --- */

void model_vec_add(struct model *model, struct vec *vec, void *item)
{
    if (vec_push(vec, &model->arena, item, NULL) != FF_OK)
        assert(!"the model is out of memory");
}

void model_vec_remove(struct vec *vec, const void *item)
{
    for (size_t i = 0; i < vec->len; i++)
        if (vec->items[i] == item) {
            memmove(&vec->items[i], &vec->items[i + 1], (vec->len - i - 1) * sizeof *vec->items);
            vec->len--;
            return;
        }
}

struct model *model_new(const struct model_hooks *hooks)
{
    static const struct ff_hash_seed seed = {1, 2};
    struct model *const model = ff_calloc(1, sizeof *model);

    assert(model);
    model->hooks = *hooks;
    ff_arena_init(&model->arena, MODEL_CHUNK_BYTES, MODEL_BYTES_MAX);
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        ff_hashmap_init(&model->index[table], &model->arena, seed);
    return model;
}

void model_free(struct model *model)
{
    if (!model)
        return;
    assert(model->movers.len == 0);
    ff_arena_done(&model->arena);
    ff_free(model);
}

/* --- rows --- */

static bool is_text(const struct ff_col *col)
{
    return col->type == FF_TYPE_TEXT || col->type == FF_TYPE_BLOB;
}

static size_t col_bytes(const struct ff_col *col)
{
    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        return sizeof(int32_t);
    case FF_TYPE_I64:
        return sizeof(int64_t);
    case FF_TYPE_UUID:
        return sizeof(struct ff_uuid);
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        break;
    }
    return sizeof(struct ff_str);
}

static struct ff_str text_of(const struct ff_col *col, const void *row)
{
    struct ff_str text;

    memcpy(&text, (const char *)row + col->offset, sizeof text);
    return text;
}

static void copy_col(const struct ff_col *col, void *to, const void *from, struct ff_arena *arena)
{
    if (is_text(col)) {
        const struct ff_str text = ff_arena_str(arena, text_of(col, from));

        memcpy((char *)to + col->offset, &text, sizeof text);
    } else {
        memcpy((char *)to + col->offset, (const char *)from + col->offset, col_bytes(col));
    }
}

void model_copy_out(ff_table table, const void *from, void *to, struct ff_arena *arena)
{
    for (size_t i = 0; i < ff_tables[table].col_count; i++)
        copy_col(&ff_tables[table].cols[i], to, from, arena);
}

static void *keep(struct model *model, ff_table table, const void *row)
{
    void *const copy = ff_arena_alloc(&model->arena, ff_tables[table].row_bytes);

    assert(copy);
    ff_row_init(table, copy);
    model_copy_out(table, row, copy, &model->arena);
    return copy;
}

static bool col_equal(const struct ff_col *col, const void *a, const void *b)
{
    if (is_text(col))
        return ff_str_eq(text_of(col, a), text_of(col, b));
    return memcmp((const char *)a + col->offset, (const char *)b + col->offset, col_bytes(col)) ==
           0;
}

bool model_rows_equal(ff_table table, const void *a, const void *b)
{
    for (size_t i = 0; i < ff_tables[table].col_count; i++)
        if (!col_equal(&ff_tables[table].cols[i], a, b))
            return false;
    return true;
}

/* --- slots --- */

struct model_slot *model_slot_of(const struct model *model, ff_table table, const void *key)
{
    uint8_t bytes[FF_KEY_BYTES];
    const size_t len = ff_row_key(table, key, bytes);

    return ff_hashmap_get(&model->index[table], bytes, len);
}

static struct model_slot *slot_make(struct model *model, ff_table table, const void *key)
{
    uint8_t bytes[FF_KEY_BYTES];
    const size_t len = ff_row_key(table, key, bytes);
    struct model_slot *slot = ff_hashmap_get(&model->index[table], bytes, len);

    if (slot)
        return slot;
    slot = ff_arena_alloc(&model->arena, sizeof *slot);
    assert(slot);
    slot->table = table;
    slot->key = ff_arena_str(&model->arena, (struct ff_str){(const char *)bytes, len});
    if (ff_hashmap_put(&model->index[table], slot->key.ptr, len, slot, NULL) != FF_OK)
        assert(!"the model is out of memory");
    model_vec_add(model, &model->slots[table], slot);
    return slot;
}

size_t model_slot_count(const struct model *model, ff_table table)
{
    return model->slots[table].len;
}

struct model_slot *model_slot_at(const struct model *model, ff_table table, size_t i)
{
    return model->slots[table].items[i];
}

const void *model_row(const struct model *model, ff_table table, const void *key)
{
    const struct model_slot *const slot = model_slot_of(model, table, key);

    return slot ? slot->row : NULL;
}

size_t model_event_count(const struct model *model)
{
    return model->events.len;
}

const struct ff_event *model_event_at(const struct model *model, size_t i)
{
    return model->events.items[i];
}

uint64_t model_commit_count(const struct model *model)
{
    return model->commit_count;
}

/* --- transactions --- */

struct model_tx *model_tx_new(struct model *model, struct model_session *session)
{
    struct model_tx *const tx = ff_arena_alloc(&model->arena, sizeof *tx);

    assert(tx);
    tx->model = model;
    tx->number = ++model->tx_count;
    tx->session = session;
    tx->end_us = tx->idle_since_us = INT64_MAX;
    tx->begun_us = model->hooks.now_us(model->hooks.ctx);
    model_vec_add(model, &model->txs, tx);
    return tx;
}

model_got model_tx_lock(struct model_tx *tx, struct model_slot *slot)
{
    if (slot->holder == tx)
        return MODEL_GOT;
    if (slot->holder)
        return MODEL_WAIT;
    slot->holder = tx;
    model_vec_add(tx->model, &tx->locks, slot);
    return MODEL_GOT;
}

static void end_tx(struct model_tx *tx)
{
    struct model *const model = tx->model;

    for (size_t i = 0; i < tx->locks.len; i++) {
        struct model_slot *const slot = tx->locks.items[i];

        slot->holder = NULL;
        slot->born = slot->leaving = false;
    }
    tx->locks.len = 0;
    model_vec_remove(&model->txs, tx);
}

void model_tx_rollback(struct model_tx *tx)
{
    end_tx(tx);
}

static void add_change(struct model_tx *tx, struct model_slot *slot, ff_change kind, void *after)
{
    struct model_change *const change = ff_arena_alloc(&tx->model->arena, sizeof *change);

    assert(change);
    *change = (struct model_change){.slot = slot, .kind = kind, .after = after};
    model_vec_add(tx->model, &tx->changes, change);
}

static struct model_slot *marker_slot(struct model *model, const struct ff_marker *marker)
{
    return slot_make(model, FF_TABLE_MARKER, marker);
}

void model_tx_mark(struct model_tx *tx, struct ff_uuid batch_id, int64_t at_ms)
{
    const struct ff_marker marker = {.batch_id = batch_id, .at_ms = at_ms};
    struct model_slot *const slot = marker_slot(tx->model, &marker);

    if (slot->row || slot->holder)
        tx->model->hooks.wrong(tx->model->hooks.ctx, "a batch id was used twice");
    add_change(tx, slot, FF_CHANGE_INSERT, keep(tx->model, FF_TABLE_MARKER, &marker));
}

void model_bury(struct model *model, struct ff_uuid batch_id, int64_t at_ms)
{
    const struct ff_marker marker = {.batch_id = batch_id, .at_ms = -at_ms};
    struct model_slot *const slot = marker_slot(model, &marker);

    assert(!slot->row && !slot->holder);
    slot->row = keep(model, FF_TABLE_MARKER, &marker);
}

/* An update sends the hot columns, a rewriting one the warm ones too, and no others: a change to
 * any other would be lost. */
static void check_sent(struct model *model, const struct model_change *change)
{
    const ff_table table = change->slot->table;

    for (size_t i = 0; i < ff_tables[table].col_count; i++) {
        const struct ff_col *const col = &ff_tables[table].cols[i];

        if (!FF_COL_IS_HOT(col) && (col->cls != FF_COL_WARM || !change->rewritten) &&
            !col_equal(col, change->was, change->sent))
            model->hooks.wrong(model->hooks.ctx,
                               "an update changes a column that it does not send");
    }
}

static void add_update(struct model_tx *tx, struct model_slot *slot, void *row)
{
    struct model *const model = tx->model;
    const struct ff_row *const head = row;
    struct model_change *change;

    add_change(tx, slot, FF_CHANGE_UPDATE, NULL);
    change = tx->changes.items[tx->changes.len - 1];
    change->sent = keep(model, slot->table, row);
    change->was = keep(model, slot->table, head->before ? head->before : row);
    change->rewritten = ff_row_is_rewritten(row);
    change->assumed = head->entry->assumed;
    check_sent(model, change);
}

/* The row as the update leaves it; NULL: it is not what the update was decided on. */
static void *updated(struct model *model, const struct model_change *change)
{
    const ff_table table = change->slot->table;
    void *const copy = keep(model, table, change->slot->row);

    for (size_t i = 0; i < ff_tables[table].col_count; i++) {
        const struct ff_col *const col = &ff_tables[table].cols[i];

        if (col->cls == FF_COL_STAMP && !col_equal(col, change->slot->row, change->was))
            return NULL;
        if (FF_COL_IS_HOT(col) || (col->cls == FF_COL_WARM && change->rewritten))
            copy_col(col, copy, change->sent, &model->arena);
    }
    return copy;
}

static void prepare_table(struct model_tx *tx, struct ff_rowset *rows, ff_table table)
{
    static const ff_change order[] = {FF_CHANGE_DELETE, FF_CHANGE_INSERT, FF_CHANGE_UPDATE};
    struct model *const model = tx->model;

    for (size_t k = 0; k < FF_ARRAY_LEN(order); k++) {
        void **list;
        const size_t count = ff_rowset_changes(rows, table, order[k], &list);

        for (size_t i = 0; i < count; i++) {
            struct model_slot *const slot = slot_make(model, table, list[i]);

            if (order[k] == FF_CHANGE_INSERT)
                add_change(tx, slot, order[k], keep(model, table, list[i]));
            else if (order[k] == FF_CHANGE_UPDATE)
                add_update(tx, slot, list[i]);
            else
                add_change(tx, slot, order[k], NULL);
        }
    }
}

static bool is_of(ff_table table, const void *row, const struct ff_execution *owner)
{
    /* Every execution-scoped row starts its key as the execution does. */
    const struct ff_col *const cols = ff_tables[table].cols;

    return memcmp((const char *)row + cols[0].offset, &owner->partition_key, sizeof(int32_t)) ==
               0 &&
           memcmp((const char *)row + cols[1].offset, &owner->execution_id,
                  sizeof owner->execution_id) == 0;
}

/* Whatever this transaction itself has added to the execution goes too. */
static void unprepare(struct model_tx *tx, ff_table table, const struct ff_execution *owner)
{
    for (size_t i = tx->changes_done; i < tx->changes.len;) {
        struct model_change *const change = tx->changes.items[i];
        const void *const row = change->after ? change->after : change->sent;

        if (change->slot->table == table && row && is_of(table, row, owner))
            model_vec_remove(&tx->changes, change);
        else
            i++;
    }
}

static void prepare_purge(struct model_tx *tx, const struct ff_execution *owner)
{
    struct model *const model = tx->model;

    for (int table = FF_TABLE_COUNT - 1; table >= 0; table--) {
        if (ff_tables[table].scope != FF_SCOPE_EXECUTION)
            continue;
        unprepare(tx, (ff_table)table, owner);
        for (size_t i = 0; i < model->slots[table].len; i++) {
            struct model_slot *const slot = model->slots[table].items[i];

            if (slot->row && is_of((ff_table)table, slot->row, owner))
                add_change(tx, slot, FF_CHANGE_DELETE, NULL);
        }
    }
}

void model_tx_prepare(struct model_tx *tx, struct ff_rowset *rows)
{
    tx->saving = true;
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        if (ff_tables[table].flavour != FF_FLAVOUR_LOG)
            prepare_table(tx, rows, (ff_table)table);
    for (size_t i = 0; i < rows->purge_count; i++)
        prepare_purge(tx, rows->purges[i]);
    for (size_t i = 0; i < rows->event_count; i++)
        model_vec_add(tx->model, &tx->events, keep(tx->model, FF_TABLE_EVENT, rows->events[i]));
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_LANE]; entry; entry = entry->next)
        if (entry->assumed)
            model_vec_add(tx->model, &tx->open_lanes,
                          slot_make(tx->model, FF_TABLE_LANE, entry->row));
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_CAPSET]; entry; entry = entry->next)
        if (entry->assumed)
            model_vec_add(tx->model, &tx->capsets,
                          slot_make(tx->model, FF_TABLE_CAPSET, entry->row));
}

static bool lanes_are_open(const struct model_tx *tx)
{
    for (size_t i = 0; i < tx->open_lanes.len; i++) {
        const struct model_slot *const slot = tx->open_lanes.items[i];

        if (slot->row && ((const struct ff_lane *)slot->row)->paused)
            return false;
    }
    return true;
}

static bool capsets_are_there(const struct model_tx *tx)
{
    for (size_t i = 0; i < tx->capsets.len; i++)
        if (!((const struct model_slot *)tx->capsets.items[i])->row)
            return false;
    return true;
}

/* Takes the key for a new row. */
static model_got step_insert(struct model_tx *tx, struct model_slot *slot)
{
    if (slot->holder && slot->holder != tx && (slot->born || slot->leaving))
        return MODEL_WAIT; /* the other's end decides */
    if (slot->row && !(slot->leaving && slot->holder == tx))
        return MODEL_CONFLICT;
    if (slot->holder && slot->holder != tx)
        return MODEL_WAIT;
    (void)model_tx_lock(tx, slot);
    slot->born = !slot->row;
    slot->leaving = false;
    return MODEL_GOT;
}

/* A row that is assumed is locked by its update; it may have changed since. */
static model_got step_update(struct model_tx *tx, struct model_change *change)
{
    struct model *const model = tx->model;
    struct model_slot *const slot = change->slot;

    if (change->assumed && model_tx_lock(tx, slot) == MODEL_WAIT)
        return MODEL_WAIT;
    if (slot->holder != tx || (!slot->row && !change->assumed)) {
        model->hooks.wrong(model->hooks.ctx, "a row is saved that is not locked");
        return MODEL_CONFLICT;
    }
    change->after = slot->row ? updated(model, change) : NULL;
    if (!change->after && change->assumed)
        model->hooks.sometimes(model->hooks.ctx, slot->table == FF_TABLE_EXECUTION
                                                     ? SOMETIMES_DISPROVED
                                                     : SOMETIMES_FLOW_DISPROVED);
    if (!change->after && !change->assumed)
        model->hooks.wrong(model->hooks.ctx, "a row changes under its lock");
    return change->after ? MODEL_GOT : MODEL_REFUSED;
}

static model_got step_change(struct model_tx *tx, struct model_change *change)
{
    struct model *const model = tx->model;
    struct model_slot *const slot = change->slot;
    const bool scoped = ff_tables[slot->table].scope == FF_SCOPE_EXECUTION;

    if (change->kind == FF_CHANGE_INSERT) {
        if (model->hooks.refuses(model->hooks.ctx, slot->table, change->after))
            return MODEL_REFUSED;
        return step_insert(tx, slot);
    }
    if (change->kind == FF_CHANGE_UPDATE)
        return step_update(tx, change);
    /* A purge deletes what hangs on its execution without having locked it before, and whatever it
     * had to wait for may be gone then. */
    if (change->kind == FF_CHANGE_DELETE && scoped && slot->holder != tx) {
        if (model_tx_lock(tx, slot) == MODEL_WAIT)
            return MODEL_WAIT;
        if (!slot->row)
            return MODEL_GOT;
    }
    if (slot->holder != tx || !slot->row) {
        model->hooks.wrong(model->hooks.ctx, "a row is saved that is not locked");
        return MODEL_CONFLICT;
    }
    if (change->kind == FF_CHANGE_DELETE)
        slot->leaving = true;
    return MODEL_GOT;
}

model_got model_tx_step(struct model_tx *tx, bool *ret_done)
{
    *ret_done = false;
    if (tx->changes_done < tx->changes.len) {
        const model_got got = step_change(tx, tx->changes.items[tx->changes_done]);

        if (got == MODEL_GOT)
            tx->changes_done++;
        return got;
    }
    if (!lanes_are_open(tx)) {
        tx->model->hooks.sometimes(tx->model->hooks.ctx, SOMETIMES_LANE_DISPROVED);
        return MODEL_REFUSED;
    }
    if (!capsets_are_there(tx))
        return MODEL_REFUSED;
    if (!tx->numbered) {
        for (size_t i = 0; i < tx->events.len; i++)
            ((struct ff_event *)tx->events.items[i])->event_id = ++tx->model->event_seq;
        tx->numbered = true;
        return MODEL_GOT;
    }
    *ret_done = true;
    return MODEL_GOT;
}

/* Events are kept in the order of their ids, whoever commits first. */
static void append_event(struct model *model, struct ff_event *event)
{
    struct vec *const events = &model->events;
    size_t at = events->len;

    model_vec_add(model, events, event);
    for (; at > 0 && ((struct ff_event *)events->items[at - 1])->event_id > event->event_id; at--)
        events->items[at] = events->items[at - 1];
    events->items[at] = event;
    if (at + 1 < events->len)
        model->hooks.sometimes(model->hooks.ctx, SOMETIMES_EVENTS_OUT_OF_ORDER);
}

void model_tx_commit(struct model_tx *tx, bool late)
{
    struct model *const model = tx->model;
    struct model_change *const list =
        ff_arena_array(&model->arena, tx->changes.len + 1, sizeof *list);
    struct model_commit commit = {.number = ++model->commit_count,
                                  .now_ms = tx->now_ms,
                                  .begun_us = tx->begun_us,
                                  .changes = list,
                                  .events = (struct ff_event *const *)tx->events.items,
                                  .event_count = tx->events.len,
                                  .late = late};

    assert(list);
    for (size_t i = 0; i < tx->changes.len; i++) {
        struct model_change *const change = tx->changes.items[i];

        change->before = change->slot->row;
        change->slot->row = change->after;
        if (change->before || change->after)
            list[commit.change_count++] = *change;
    }
    for (size_t i = 0; i < tx->events.len; i++)
        append_event(model, tx->events.items[i]);
    end_tx(tx);
    model->hooks.committed(model->hooks.ctx, &commit);
}

void model_hold(struct model *model, struct model_slot *const *slots, size_t count, int64_t us)
{
    struct model_tx *const tx = model_tx_new(model, NULL);

    for (size_t i = 0; i < count; i++)
        (void)model_tx_lock(tx, slots[i]);
    tx->end_us = model->hooks.now_us(model->hooks.ctx) + us;
}

bool model_is_quiet(const struct model *model)
{
    return model->txs.len == 0;
}

/* --- as the shadow of another store --- */

struct model_tx *model_shadow_begin(struct model *model, struct ff_rowset *rows, int64_t now_ms)
{
    struct model_tx *const tx = model_tx_new(model, NULL);

    tx->now_ms = now_ms;
    model_tx_prepare(tx, rows);
    for (size_t i = 0; i < tx->changes.len; i++) {
        struct model_change *const change = tx->changes.items[i];

        if (change->kind == FF_CHANGE_UPDATE && change->slot->row)
            change->after = updated(model, change);
        if (change->kind == FF_CHANGE_INSERT   ? change->slot->row != NULL
            : change->kind == FF_CHANGE_UPDATE ? !change->after
                                               : !change->slot->row)
            tx->refused = true; /* a key was taken: the store must find that, too */
    }
    return tx;
}

void model_shadow_commit(struct model *model, struct model_tx *tx, int64_t last_event_id)
{
    if (tx->refused)
        model->hooks.wrong(model->hooks.ctx, "the store saves what its shadow would refuse");
    for (size_t i = 0; i < tx->events.len; i++)
        ((struct ff_event *)tx->events.items[i])->event_id =
            last_event_id - (int64_t)(tx->events.len - 1 - i);
    if (tx->events.len > 0 && last_event_id - (int64_t)tx->events.len < model->event_seq)
        model->hooks.wrong(model->hooks.ctx, "event ids do not rise");
    model->event_seq = ff_max_i64(model->event_seq, last_event_id);
    model_tx_commit(tx, false);
}

void model_shadow_drop(struct model *model, struct model_tx *tx)
{
    (void)model;
    model_tx_rollback(tx);
}
