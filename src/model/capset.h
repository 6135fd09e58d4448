/* SPDX-License-Identifier: Apache-2.0
 *
 * capset.h -- interned sets of capabilities: what an execution asks for and a worker offers.
 *
 * A set is its tokens, sorted and joined by ','; its id is made from them, so two processes give
 * the same set the same id without asking. Set 0 is empty: any worker will do. Tests:
 * tests/unit/test_capset.c. */
#ifndef FF_MODEL_CAPSET_H
#define FF_MODEL_CAPSET_H

#include "base/arena.h"
#include "base/str.h"

#include <flowfabric.h>

#include <stdatomic.h>
#include <stdint.h>

struct ff_capset;

/* Sorts `tokens` in place, drops repeats and returns how many are left. */
size_t ff_capset_sort(struct ff_str *tokens, size_t count);
/* `tokens` sorted, without repeats. FF_NO_MEMORY, or as SHA-256 fails. */
FF_MUST_CHECK ff_status ff_capset_intern(const struct ff_str *tokens, size_t count,
                                         struct ff_arena *arena, struct ff_str *ret_joined,
                                         int64_t *ret_id, struct ff_error *reterr);
/* Does a worker with `offered` (sorted) satisfy the set `joined`? */
bool ff_capset_fits(struct ff_str joined, const struct ff_str *offered, size_t count);

/* Sets known in this process, by id and in the order in which they were learned. One writer at a
 * time; a copy of the struct stays true without a lock, because nothing it points to moves. */
struct ff_capsets {
    const struct ff_capset **sets;
    size_t count, cap;
    const struct ff_capset *_Atomic *slots; /* hashed by id; a power of two, half empty */
    size_t slot_count;
};
/* NULL: not known here. */
const struct ff_capset *ff_capsets_find(const struct ff_capsets *capsets, int64_t capset_id);
/* Copies the set into the arena, unless it is known. False: no memory, and nothing has changed. */
bool ff_capsets_add(struct ff_capsets *capsets, struct ff_arena *arena,
                    const struct ff_capset *capset);

#endif
