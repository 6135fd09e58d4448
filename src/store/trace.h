/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.h -- a store that says what it was asked and how long that took.
 *
 * Wraps any store. Tests: tests/unit/test_sqlite_store.c. */
#ifndef FF_STORE_TRACE_H
#define FF_STORE_TRACE_H

#include "store/store.h"

struct ff_trace {
    void *ctx;
    /* Called when a call has ended, on the thread of its session. May be NULL: only count. */
    void (*on_call)(void *ctx, const struct ff_call *call, int64_t micros);
};

enum { FF_TRACE_KINDS = FF_CALL_READ + 1 };

struct ff_trace_counts {
    uint64_t calls[FF_TRACE_KINDS];
    uint64_t micros[FF_TRACE_KINDS];
    uint64_t failed[FF_TRACE_KINDS]; /* any outcome but OK */
    uint64_t rows;                   /* loaded, read and saved */
    uint64_t statements; /* an estimate: what a store that sends one statement per table and change
                            would have sent */
};

/* Owns `inner` from now on; NULL when there is no memory (then it does not). */
struct ff_store *ff_store_trace_new(struct ff_store *inner, const struct ff_trace *trace);
void ff_store_trace_counts(const struct ff_store *base, struct ff_trace_counts *ret);

#endif
