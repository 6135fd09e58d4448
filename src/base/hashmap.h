/* SPDX-License-Identifier: Apache-2.0
 *
 * hashmap.h -- a map from byte strings to pointers, in an arena.
 *
 * It only grows. Keys are copied; values belong to the caller and must not be NULL.
 * Tests: tests/unit/test_hashmap.c. */
#ifndef FF_BASE_HASHMAP_H
#define FF_BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "flowfabric.h"

struct ff_arena;

struct ff_hashmap_entry {
    const void *key;
    size_t key_bytes;
    uint64_t hash;
    void *value;
};

struct ff_hashmap {
    struct ff_arena *arena;
    struct ff_hash_seed seed;
    struct ff_hashmap_entry *entries;
    size_t entry_count;
    uint32_t *slots;   /* 0 empty, else 1 + index into entries */
    size_t slot_count; /* a power of two */
};

/* Takes no memory yet. The caller chooses the seed: a fixed one where every run must be the same,
 * a random one where strangers choose the keys. */
void ff_hashmap_init(struct ff_hashmap *map, struct ff_arena *arena, struct ff_hash_seed seed);

/* NULL when absent. */
void *ff_hashmap_get(const struct ff_hashmap *map, const void *key, size_t key_bytes);

/* Adds, or replaces the value. FF_NO_MEMORY leaves the map as it was. */
FF_MUST_CHECK ff_status ff_hashmap_put(struct ff_hashmap *map, const void *key, size_t key_bytes,
                                       void *value, struct ff_error *reterr);

static inline size_t ff_hashmap_count(const struct ff_hashmap *map)
{
    return map->entry_count;
}

#endif
