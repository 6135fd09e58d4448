/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h -- an in-memory store behind the seam that behaves as Postgres does at READ COMMITTED.
 *
 * Rows by key with one committed version, row locks, SKIP LOCKED, waits for locks and for keys that
 * somebody else is inserting, batch markers, a sequence for events. Every call is a series of
 * statements; between any two of them other transactions may commit, if the hooks say so. Nothing
 * moves by itself: the simulator advances one session or one ghost at a time. A transaction may
 * outlive its session (a ghost): it holds its locks and then commits or rolls back.
 * Simplified: a statement sees the latest commits also after it has waited; nobody looks for
 * deadlocks, because every wait ends sooner than Postgres would.
 * Read first: README.md beside it. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "store/store.h"
#include "support/vec.h"

struct model;
struct model_tx;
struct model_session;

/* One key of a table: its committed row, and who holds it. */
struct model_slot {
    ff_table table;
    struct ff_str key;
    void *row;               /* committed; NULL: not there */
    struct model_tx *holder; /* has locked it, or inserted it and not committed yet */
    bool born;               /* the holder inserts it */
    bool leaving;            /* the holder deletes it */
};

struct model_change {
    struct model_slot *slot;
    ff_change kind;
    void *before, *after; /* rows; NULL: not there. `before` is set by the commit */
    void *sent, *was;     /* of an update: what it says, and what the row was decided on */
    bool rewritten, assumed;
};

/* What one transaction did, handed to the observer right after its commit. */
struct model_commit {
    uint64_t number; /* 1, 2, 3 ... */
    int64_t now_ms;  /* the store's time at its load */
    int64_t begun_us;
    const struct model_change *changes;
    size_t change_count;
    struct ff_event *const *events; /* with their ids */
    size_t event_count;
    bool late; /* by a ghost */
};

/* What becomes of a call. */
struct model_fate {
    int64_t travel_us; /* until it reaches the store */
    int64_t answer_us; /* until the answer is back */
    bool run;          /* false: it never reaches the store */
    ff_called report;  /* OK: what really happened; otherwise this */
    bool linger;       /* with a report other than OK: the transaction stays behind as a ghost */
    bool dead;         /* the process ends here; there is no answer */
    const char *sqlstate;
};

/* What becomes of a transaction whose session is gone. */
struct model_end {
    int64_t after_us;
    bool commits;  /* only if its save had been sent */
    int sometimes; /* what to count if it does */
};

struct model_hooks {
    void *ctx;
    int64_t (*now_us)(void *ctx);
    int64_t (*store_ms)(void *ctx);
    struct model_fate (*decide)(void *ctx, int node, const struct ff_call *call);
    struct model_end (*lose)(void *ctx, int node, bool saving);
    /* Between two statements: 0 goes on, else rest that long. */
    int64_t (*pause_us)(void *ctx);
    void (*called)(void *ctx, int node, const struct ff_call *call);
    void (*committed)(void *ctx, const struct model_commit *commit);
    void (*hinted)(void *ctx, int node); /* notify() of that node's store */
    bool (*take_hint)(void *ctx, int node);
    /* A row that may not be saved: the store refuses the whole batch. */
    bool (*refuses)(void *ctx, ff_table table, const void *row);
    void (*wrong)(void *ctx, const char *what); /* something no client of a store may do */
    void (*sometimes)(void *ctx, int what);
};

struct model *model_new(const struct model_hooks *hooks);
void model_free(struct model *model);

/* The store of one process; sessions made from it carry the node's number. */
struct ff_store *model_store_new(struct model *model, int node, bool shared, bool notify);

/* --- moving on --- */

/* Everything that may move by itself: sessions with a call under way, and ghosts. */
size_t model_mover_count(const struct model *model);
/* When number `i` can move, INT64_MAX: not before something else does. */
int64_t model_mover_at_us(const struct model *model, size_t i);
void model_move(struct model *model, size_t i);
/* Somebody from outside locks up to `count` rows of a table, for a while. */
void model_hold(struct model *model, struct model_slot *const *slots, size_t count, int64_t us);
/* No transaction is open. */
bool model_is_quiet(const struct model *model);
/* Ends every ghost now, as it would have ended. */
void model_settle(struct model *model);

/* --- looking (committed state) --- */

size_t model_slot_count(const struct model *model, ff_table table);
struct model_slot *model_slot_at(const struct model *model, ff_table table, size_t i);
/* The committed row of a key, or NULL. */
const void *model_row(const struct model *model, ff_table table, const void *key);
size_t model_event_count(const struct model *model);
const struct ff_event *model_event_at(const struct model *model, size_t i);
uint64_t model_commit_count(const struct model *model);
bool model_rows_equal(ff_table table, const void *a, const void *b);

/* --- as the shadow of another store --- */

/* The changes of a rowset, taken before it is saved elsewhere ... */
struct model_tx *model_shadow_begin(struct model *model, struct ff_rowset *rows, int64_t now_ms);
/* ... and applied once that store says so; the highest event id it gave out, or 0. */
void model_shadow_commit(struct model *model, struct model_tx *tx, int64_t last_event_id);
void model_shadow_drop(struct model *model, struct model_tx *tx);

/* --- between model.c, model-scan.c and model-session.c --- */

struct model_tx {
    struct model *model;
    uint64_t number;               /* names it among those who hold the lock of the log */
    struct model_session *session; /* NULL: a ghost, or somebody from outside */
    struct vec locks;              /* model_slot */
    struct vec changes;            /* model_change, in the order of the statements */
    size_t changes_done;
    struct vec events;
    struct vec open_lanes; /* model_slot: must not be paused */
    struct vec capsets;    /* model_slot: must be there */
    bool saving;           /* the changes are known */
    bool refused;          /* a shadow: this save must not succeed */
    bool numbered;
    bool commits; /* what a ghost does at its end */
    int sometimes;
    int64_t end_us;
    int64_t idle_since_us; /* INT64_MAX: a call is under way */
    int64_t now_ms;
    int64_t begun_us;
    int64_t lock_wait_us; /* how long its save waits for keys that others insert */
};

struct model {
    struct model_hooks hooks;
    struct ff_arena arena; /* of everything; dropped with the model */
    struct ff_hashmap index[FF_TABLE_COUNT];
    struct vec slots[FF_TABLE_COUNT];
    struct vec events;
    int64_t event_seq;
    uint64_t commit_count, tx_count;
    struct vec movers;           /* model_session */
    struct vec txs;              /* open ones */
    struct model_slot **scratch; /* of model_scan */
    size_t scratch_cap;
};

typedef enum model_got { MODEL_GOT, MODEL_WAIT, MODEL_CONFLICT, MODEL_REFUSED } model_got;

struct model_tx *model_tx_new(struct model *model, struct model_session *session);
/* Locks the row for tx; MODEL_WAIT: somebody else holds it. */
model_got model_tx_lock(struct model_tx *tx, struct model_slot *slot);
/* Notes what a save will change; nothing is touched yet. */
void model_tx_prepare(struct model_tx *tx, struct ff_rowset *rows);
/* The marker is the first of its changes. */
void model_tx_mark(struct model_tx *tx, struct ff_uuid batch_id, int64_t at_ms);
/* Nobody can commit that batch any more. */
void model_bury(struct model *model, struct ff_uuid batch_id, int64_t at_ms);
/* The next statement of a save. *ret_done: all of them have run, ids are given out. */
model_got model_tx_step(struct model_tx *tx, bool *ret_done);
void model_tx_commit(struct model_tx *tx, bool late);
void model_tx_rollback(struct model_tx *tx);
struct model_slot *model_slot_of(const struct model *model, ff_table table, const void *key);
void model_vec_add(struct model *model, struct vec *vec, void *item);
void model_vec_remove(struct vec *vec, const void *item);
/* A committed row on its way out, in the rowset's or the reader's arena. */
void model_copy_out(ff_table table, const void *from, void *to, struct ff_arena *arena);

/* Runs a scan as of now. With `tx` a locking scan skips what others hold and locks what it returns;
 * without, nothing is locked. *ret has the slots in the order of the block, until the next scan. */
size_t model_scan(struct model *model, struct model_tx *tx, const struct ff_scan *scan,
                  int64_t now_ms, struct model_slot ***ret);
/* A read-only block; false: the model does not know it. */
bool model_read(struct model *model, struct ff_read *read, int64_t now_ms);
/* The last cell of the head of the log: who may still bring lower ids. */
void model_read_holders(struct model *model, struct ff_read *read);

#endif
