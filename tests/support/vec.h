/* SPDX-License-Identifier: Apache-2.0
 *
 * vec.h -- a growing array of pointers in an arena.
 *
 * A zeroed struct is an empty vector. The items belong to the caller; read `items[0..len)`
 * directly, but only until the next push.
 * Tests: tests/unit/test_vec.c. */
#ifndef FF_TESTS_SUPPORT_VEC_H
#define FF_TESTS_SUPPORT_VEC_H

#include <stddef.h>

#include "flowfabric.h"

struct ff_arena;

struct vec {
    void **items;
    size_t len;
    size_t cap;
};

/* FF_NO_MEMORY leaves the vector as it was. All pushes to one vector use the same arena. */
FF_MUST_CHECK ff_status vec_push(struct vec *vec, struct ff_arena *arena, void *item,
                                 struct ff_error *reterr);

#endif
