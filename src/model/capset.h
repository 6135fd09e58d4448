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

#include <stdint.h>

/* Sorts `tokens` in place, drops repeats and returns how many are left. */
size_t ff_capset_sort(struct ff_str *tokens, size_t count);
/* `tokens` sorted, without repeats. FF_NO_MEMORY, or as SHA-256 fails. */
FF_MUST_CHECK ff_status ff_capset_intern(const struct ff_str *tokens, size_t count,
                                         struct ff_arena *arena, struct ff_str *ret_joined,
                                         int64_t *ret_id, struct ff_error *reterr);
/* Does a worker with `offered` (sorted) satisfy the set `joined`? */
bool ff_capset_fits(struct ff_str joined, const struct ff_str *offered, size_t count);

#endif
