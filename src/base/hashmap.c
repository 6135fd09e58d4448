/* SPDX-License-Identifier: Apache-2.0
 *
 * hashmap.c -- a map from byte strings to pointers, in an arena.
 *
 * Entries stand in an array; the hash table holds only indexes into it (linear probing).
 * What must stay true: entry_count <= 3/4 slot_count, so that every probe meets an empty slot.
 * Tests: tests/unit/test_hashmap.c. */
#include "base/hashmap.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"

#include "base/banned.h"

#define FIRST_SLOT_COUNT 16
#define SLOT_COUNT_MAX   ((size_t)UINT32_MAX / 2 + 1)

static size_t entry_count_max(size_t slot_count)
{
    return slot_count / 4 * 3;
}

void ff_hashmap_init(struct ff_hashmap *map, struct ff_arena *arena, struct ff_hash_seed seed)
{
    *map = (struct ff_hashmap){.arena = arena, .seed = seed};
}

static struct ff_hashmap_entry *find(const struct ff_hashmap *map, const void *key,
                                     size_t key_bytes, uint64_t hash)
{
    if (map->slot_count == 0)
        return NULL;

    const size_t mask = map->slot_count - 1;

    for (size_t slot = (size_t)hash & mask; map->slots[slot] != 0; slot = (slot + 1) & mask) {
        struct ff_hashmap_entry *const entry = &map->entries[map->slots[slot] - 1];

        if (entry->hash == hash && entry->key_bytes == key_bytes &&
            (key_bytes == 0 || memcmp(entry->key, key, key_bytes) == 0))
            return entry;
    }
    return NULL;
}

/* Points the first free slot of the probe chain at entry `index`. */
static void index_entry(uint32_t *slots, size_t slot_count, uint64_t hash, size_t index)
{
    const size_t mask = slot_count - 1;
    size_t slot = (size_t)hash & mask;

    while (slots[slot] != 0)
        slot = (slot + 1) & mask;
    slots[slot] = (uint32_t)(index + 1);
}

/* Room for one more entry. */
static bool make_room(struct ff_hashmap *map)
{
    if (map->entry_count < entry_count_max(map->slot_count))
        return true;
    if (map->slot_count >= SLOT_COUNT_MAX)
        return false;

    const size_t slot_count = map->slot_count ? 2 * map->slot_count : FIRST_SLOT_COUNT;
    uint32_t *const slots = ff_arena_array(map->arena, slot_count, sizeof *slots);
    struct ff_hashmap_entry *const entries =
        ff_arena_array(map->arena, entry_count_max(slot_count), sizeof *entries);

    if (!slots || !entries)
        return false;
    for (size_t i = 0; i < map->entry_count; i++) {
        entries[i] = map->entries[i];
        index_entry(slots, slot_count, entries[i].hash, i);
    }
    map->entries = entries;
    map->slots = slots;
    map->slot_count = slot_count;
    return true;
}

void *ff_hashmap_get(const struct ff_hashmap *map, const void *key, size_t key_bytes)
{
    const struct ff_hashmap_entry *const entry =
        find(map, key, key_bytes, ff_hash_bytes(map->seed, key, key_bytes));

    return entry ? entry->value : NULL;
}

ff_status ff_hashmap_put(struct ff_hashmap *map, const void *key, size_t key_bytes, void *value,
                         struct ff_error *reterr)
{
    const uint64_t hash = ff_hash_bytes(map->seed, key, key_bytes);
    struct ff_hashmap_entry *const entry = find(map, key, key_bytes, hash);

    assert(value);
    if (entry) {
        entry->value = value;
        return FF_OK;
    }

    const void *const copy = ff_arena_copy(map->arena, key, key_bytes);

    if (!copy || !make_room(map))
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for a map of %zu", map->entry_count + 1);
    map->entries[map->entry_count] = (struct ff_hashmap_entry){
        .key = copy, .key_bytes = key_bytes, .hash = hash, .value = value};
    index_entry(map->slots, map->slot_count, hash, map->entry_count);
    map->entry_count++;
    return FF_OK;
}
