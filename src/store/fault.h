/* SPDX-License-Identifier: Apache-2.0
 *
 * fault.h -- a store that fails on purpose, before a call or after it.
 *
 * Wraps any store; for tests. Every call has a number, 1, 2, 3 ..., over all sessions. A failed
 * call leaves its session out of any transaction, as a lost connection would. Tests:
 * tests/unit/test_sqlite_store.c, tests/faults. */
#ifndef FF_STORE_FAULT_H
#define FF_STORE_FAULT_H

#include "sql_ids.h"
#include "store/store.h"

typedef enum ff_fault_verdict {
    FF_FAULT_RUN,
    FF_FAULT_BEFORE,        /* never reaches the store; RERUN */
    FF_FAULT_BEFORE_STOP,   /* the same; STOP */
    FF_FAULT_BEFORE_LOST,   /* the same; a SAVE is UNKNOWN (and not committed), others are RERUN */
    FF_FAULT_AFTER,         /* done, then reported failed: a SAVE is UNKNOWN, others are RERUN */
    FF_FAULT_PASSING_COUNT, /* those that pass */
    FF_FAULT_BEFORE_OP =
        FF_FAULT_PASSING_COUNT, /* never reaches the store; OP: alone it is poison */
    FF_FAULT_VERDICT_COUNT
} ff_fault_verdict;

struct ff_fault {
    void *ctx;
    /* Called on the thread of the session, before call number `n`. */
    ff_fault_verdict (*decide)(void *ctx, const struct ff_call *call, uint64_t n);
};

enum { FF_FAULT_KINDS = FF_CALL_READ + 1, FF_FAULT_CHANGES = FF_CHANGE_DELETE + 1 };

struct ff_fault_counts {
    uint64_t calls;
    uint64_t hits[FF_FAULT_KINDS][FF_FAULT_VERDICT_COUNT];
    /* The same by what the calls are made of: the blocks that are read or scanned, the changes of
     * tables that are saved. */
    uint32_t blocks[FF_SQL_COUNT][FF_FAULT_VERDICT_COUNT];
    uint32_t changes[FF_TABLE_COUNT][FF_FAULT_CHANGES][FF_FAULT_VERDICT_COUNT];
};

/* Owns `inner` from now on; NULL when there is no memory (then it does not). A RESOLVE of a batch
 * this store lied about is answered here on SQLite, which keeps no markers; Postgres is asked. */
struct ff_store *ff_store_fault_new(struct ff_store *inner, const struct ff_fault *fault);
void ff_store_fault_counts(struct ff_store *base, struct ff_fault_counts *ret);

#endif
