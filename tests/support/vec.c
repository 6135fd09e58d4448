/* SPDX-License-Identifier: Apache-2.0
 *
 * vec.c -- a growing array of pointers in an arena.
 *
 * Capacity doubles; the arena extends the array in place where it can.
 * Tests: tests/unit/test_vec.c. */
#include "support/vec.h"

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#include "base/banned.h"

#define FIRST_CAP 8

ff_status vec_push(struct vec *vec, struct ff_arena *arena, void *item, struct ff_error *reterr)
{
    if (vec->len == vec->cap) {
        const size_t cap = vec->cap ? 2 * vec->cap : FIRST_CAP;
        void **items = NULL;

        if (cap <= SIZE_MAX / 2 / sizeof *items)
            items = ff_arena_grow(arena, vec->items, vec->cap * sizeof *items, cap * sizeof *items);
        if (!items)
            return ff_fail(reterr, FF_NO_MEMORY, "no memory for a list of %zu", cap);
        vec->items = items;
        vec->cap = cap;
    }
    vec->items[vec->len++] = item;
    return FF_OK;
}
