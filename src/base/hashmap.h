/* SPDX-License-Identifier: Apache-2.0
 *
 * hashmap.h -- a map from byte strings to pointers, in an arena.
 *
 * Iteration is in order of insertion: it depends neither on addresses nor on the seed, so a run
 * can be repeated. Keys are copied; values belong to the caller and must not be NULL.
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
    void *value; /* NULL: removed, kept as a tombstone until the next rebuild */
};

struct ff_hashmap {
    struct ff_arena *arena;
    struct ff_hash_seed seed;
    struct ff_hashmap_entry *entries; /* in order of insertion */
    uint32_t *slots;                  /* 0 empty, else 1 + index into entries; power of two */
    size_t slot_count;
    size_t entry_count; /* removed ones included */
    size_t live_count;
};

/* Takes no memory yet. The caller chooses the seed: a fixed one where every run must be the same,
 * a random one where strangers choose the keys. */
void ff_hashmap_init(struct ff_hashmap *map, struct ff_arena *arena, struct ff_hash_seed seed);

/* NULL when absent. */
void *ff_hashmap_get(const struct ff_hashmap *map, const void *key, size_t key_bytes);

/* Adds, or replaces the value and keeps the place in the order. FF_NO_MEMORY leaves the map as it
 * was. */
FF_MUST_CHECK ff_status ff_hashmap_put(struct ff_hashmap *map, const void *key, size_t key_bytes,
                                       void *value, struct ff_error *reterr);

/* The removed value, or NULL when there was none. */
void *ff_hashmap_remove(struct ff_hashmap *map, const void *key, size_t key_bytes);

static inline size_t ff_hashmap_count(const struct ff_hashmap *map)
{
    return map->live_count;
}

/* Walks the map: start with `cursor` 0, NULL ends the walk. Replacing and removing are allowed on
 * the way, adding is not. */
const struct ff_hashmap_entry *ff_hashmap_next(const struct ff_hashmap *map, size_t *cursor);

#endif
