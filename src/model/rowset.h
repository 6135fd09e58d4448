/* SPDX-License-Identifier: Apache-2.0
 *
 * rowset.h -- the rows of one batch in memory: what is wanted, what came, what has changed.
 *
 * The ops fill in what they need, a store fills in what there is, the ops change it, a store saves
 * it. Neither side knows the other. Everything lives in the batch's arena; nothing here does I/O.
 * Tests: tests/unit/test_rowset.c. */
#ifndef FF_MODEL_ROWSET_H
#define FF_MODEL_ROWSET_H

#include "base/arena.h"
#include "base/hashmap.h"
#include "model/rows.h"
#include "model/value.h"

typedef enum ff_want {
    FF_WANT_READ, /* no lock: may be stale by the time of the save; never decides alone */
    FF_WANT_LOCK, /* locked until the end of the batch */
} ff_want;

typedef enum ff_found {
    FF_FOUND_UNASKED, /* not loaded yet */
    FF_FOUND_ROW,
    FF_FOUND_ABSENT,
    FF_FOUND_BUSY, /* someone else holds it: the op leaves this batch */
} ff_found;

/* One key somebody asked for. */
struct ff_entry {
    ff_table table;
    ff_want want;
    ff_found found;
    bool locked;  /* what is here came with a lock, or is new, or is assumed */
    bool assumed; /* nobody has looked: the save proves it, see store.h */
    bool needed;  /* as it is: it may not be assumed */
    void *row;    /* key columns are set from the start; the rest when found or new */
    struct ff_str key;
    struct ff_entry *next; /* of the same table, in the order of asking */
};

/* One scan: a named SQL block with its parameters. Equal scans of a batch are merged: one statement
 * with the sum of the limits, dealt out by `taken`. Leave the block's parameter "limit" 0 in
 * `params`: it is `limit` that counts. */
struct ff_scan {
    int block; /* an ff_sql id */
    struct ff_value *params;
    size_t param_count;
    int64_t limit; /* sum over the askers; passed as the block's parameter "limit" */
    bool loaded;
    bool assumed;   /* nobody has looked: it goes with a row that is assumed */
    bool shortened; /* begins behind a hint: what it does not find may still be there */
    void **rows;    /* in the block's order */
    size_t row_count;
    size_t passed; /* rows left out because the store has refused to change them */
    size_t taken;
    struct ff_scan *next;
};

struct ff_undo;

struct ff_rowset {
    struct ff_arena *arena;
    struct ff_hashmap index; /* (table, key) -> ff_entry */
    struct ff_entry *entries[FF_TABLE_COUNT];
    struct ff_entry **entries_end[FF_TABLE_COUNT];
    uint32_t entry_count;
    uint64_t scan_rows; /* that the scans may bring: the sum of their limits */
    struct ff_scan *scans;
    struct ff_scan **scans_end;
    struct ff_event **events; /* in order of happening */
    size_t event_count, event_cap;
    struct ff_execution **purges; /* executions to remove with everything scoped to them */
    size_t purge_count, purge_cap;
    int64_t log_floor_id;    /* > 0: events below may be removed by this save */
    struct ff_entry **wants; /* every asking, in order: which entries an op depends on */
    size_t want_count, want_cap;
    void *spare;  /* handed out when the arena is exhausted, so that ops need not check */
    bool assumes; /* there are entries that are assumed */
    /* the op being applied */
    uint32_t op;
    bool contradicted; /* it made a row that is there: what it assumes cannot be true */
    struct ff_undo *undo;
    size_t undo_events, undo_purges;
};

/* When the arena fails, now or later, `arena->failed` says so and nothing of the batch may be
 * saved. */
void ff_rowset_init(struct ff_rowset *rows, struct ff_arena *arena);

/* --- asking (ops, through ff_work) --- */

/* Ask for the row whose key columns are set in `key`. Asking twice gives the same entry; LOCK wins.
 * NULL only when the arena is exhausted. */
struct ff_entry *ff_rowset_want(struct ff_rowset *rows, ff_table table, const void *key,
                                ff_want want);
struct ff_scan *ff_rowset_scan(struct ff_rowset *rows, int block, const struct ff_value *params,
                               size_t param_count, int64_t limit);
/* The scan of this batch that was asked for so, or NULL. */
const struct ff_scan *ff_rowset_scan_find(const struct ff_rowset *rows, int block,
                                          const struct ff_value *params, size_t param_count);

/* --- filling (stores) --- */

/* A fresh, null-initialised row struct of the table in the rowset's arena. */
void *ff_rowset_row_new(struct ff_rowset *rows, ff_table table);
/* A row came back for a wanted key. Returns the row that counts: the one already here if the key
 * was known, else this one. */
void *ff_rowset_put(struct ff_rowset *rows, ff_table table, void *row, bool locked);
/* The same for a row that a scan brought, which may be new to the rowset. What came without a lock
 * does not answer for a key that is wanted with one: that key stays as it is, busy most likely. */
void *ff_rowset_put_scanned(struct ff_rowset *rows, ff_table table, void *row, bool locked);
/* A row that was seen before it was locked may have gone: nothing but its key is left of it. */
void ff_rowset_forget(struct ff_rowset *rows, struct ff_entry *entry);
/* In place of loading it: the row of an entry that nobody has asked the store for (NULL: there is
 * none). What the row points to must live as long as the rowset. */
void ff_rowset_assume(struct ff_rowset *rows, struct ff_entry *entry, const void *row);
/* Before a load: what came without a lock and is wanted with one is asked for again. */
void ff_rowset_ask_again(struct ff_rowset *rows);
/* After a load: every entry still unasked gets this verdict. */
void ff_rowset_settle(struct ff_rowset *rows, ff_table table, ff_found verdict);

/* --- deciding (ops, through ff_work) --- */

struct ff_entry *ff_rowset_find(struct ff_rowset *rows, ff_table table, const void *key);
void ff_rowset_op_begin(struct ff_rowset *rows, uint32_t op);
/* Put back everything the op since op_begin changed. */
void ff_rowset_op_undo(struct ff_rowset *rows);
/* Call before the first change to a loaded row; afterwards the row may be written freely. */
void ff_rowset_edit(struct ff_rowset *rows, void *row);
/* The key must be absent (or deleted in this batch): either asked for and not found, or new by
 * construction. Returns the row to fill in; its key columns are set. */
void *ff_rowset_insert(struct ff_rowset *rows, ff_table table, const void *key);
void ff_rowset_delete(struct ff_rowset *rows, void *row);
void ff_rowset_purge(struct ff_rowset *rows, struct ff_execution *execution);
struct ff_event *ff_rowset_event(struct ff_rowset *rows);

/* --- saving (stores) --- */

typedef enum ff_change { FF_CHANGE_INSERT, FF_CHANGE_UPDATE, FF_CHANGE_DELETE } ff_change;
/* The rows of a table that need this change, sorted by key. Returns the count; 0 and NULL when
 * there is none. */
size_t ff_rowset_changes(struct ff_rowset *rows, ff_table table, ff_change change, void ***ret);
bool ff_rowset_has_changes(const struct ff_rowset *rows);
/* Of a row to update: has a warm column changed, too? */
bool ff_row_is_rewritten(const void *row);

#endif
