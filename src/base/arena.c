/* SPDX-License-Identifier: Apache-2.0
 *
 * arena.c -- memory that is dropped all at once.
 *
 * Small requests move a pointer through the current chunk. A request above a quarter of a chunk
 * gets a chunk of its own, so that changing chunks never wastes more than that quarter.
 * Under AddressSanitizer everything that is not handed out is poisoned: reading past an object or
 * after a reset is reported as it would be for malloc.
 * Tests: tests/unit/test_arena.c. */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes)   ((void)(memory), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#include "base/banned.h"

struct ff_arena_chunk {
    struct ff_arena_chunk *next;
    size_t cap_bytes;
    size_t fill_bytes;
    _Alignas(FF_ARENA_ALIGN_BYTES) unsigned char data[];
};

_Static_assert(_Alignof(max_align_t) >= FF_ARENA_ALIGN_BYTES, "malloc must align chunks for us");

/* Rounded up to the alignment; 0 when that does not fit a size_t. Empty objects take room too, so
 * that two of them never share an address. */
static size_t round_up(size_t bytes)
{
    const size_t mask = FF_ARENA_ALIGN_BYTES - 1;

    if (bytes == 0)
        return FF_ARENA_ALIGN_BYTES;
    if (bytes > SIZE_MAX - mask)
        return 0;
    return (bytes + mask) & ~mask;
}

static void *fail(struct ff_arena *arena)
{
    arena->failed = true;
    return NULL;
}

static bool within_max(const struct ff_arena *arena, size_t more_bytes)
{
    return more_bytes <= arena->max_bytes - arena->used_bytes;
}

static struct ff_arena_chunk *chunk_new(size_t cap_bytes)
{
    struct ff_arena_chunk *chunk = NULL;

    if (cap_bytes <= SIZE_MAX - sizeof *chunk)
        chunk = ff_malloc(sizeof *chunk + cap_bytes);
    if (!chunk)
        return NULL;
    chunk->next = NULL;
    chunk->cap_bytes = cap_bytes;
    chunk->fill_bytes = 0;
    ASAN_POISON_MEMORY_REGION(chunk->data, cap_bytes);
    return chunk;
}

static void chunks_free(struct ff_arena_chunk *chunk)
{
    while (chunk) {
        struct ff_arena_chunk *const next = chunk->next;

        ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->cap_bytes);
        ff_free(chunk);
        chunk = next;
    }
}

/* `bytes` is what the caller asked for, `taken` the same rounded up; there is room. */
static void *chunk_take(struct ff_arena_chunk *chunk, size_t bytes, size_t taken)
{
    unsigned char *const memory = chunk->data + chunk->fill_bytes;

    chunk->fill_bytes += taken;
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    return memset(memory, 0, bytes);
}

void ff_arena_init(struct ff_arena *arena, size_t chunk_bytes, size_t max_bytes)
{
    assert(chunk_bytes >= 64 && chunk_bytes <= SIZE_MAX / 2);
    assert(max_bytes > 0);
    *arena = (struct ff_arena){.chunk_bytes = round_up(chunk_bytes), .max_bytes = max_bytes};
}

void ff_arena_done(struct ff_arena *arena)
{
    if (!arena)
        return;
    chunks_free(arena->first);
    chunks_free(arena->large);
    *arena = (struct ff_arena){.failed = false};
}

struct ff_arena_mark ff_arena_mark(const struct ff_arena *arena)
{
    return (struct ff_arena_mark){.current = arena->current,
                                  .large = arena->large,
                                  .fill_bytes = arena->current ? arena->current->fill_bytes : 0,
                                  .used_bytes = arena->used_bytes};
}

void ff_arena_rewind(struct ff_arena *arena, const struct ff_arena_mark *mark)
{
    struct ff_arena_chunk *const kept = mark->current ? mark->current : arena->first;

    while (arena->large != mark->large) {
        struct ff_arena_chunk *const newest = arena->large;

        arena->large = newest->next;
        newest->next = NULL;
        chunks_free(newest);
    }
    if (kept) {
        chunks_free(kept->next);
        kept->next = NULL;
        kept->fill_bytes = mark->fill_bytes;
        ASAN_POISON_MEMORY_REGION(kept->data + kept->fill_bytes,
                                  kept->cap_bytes - kept->fill_bytes);
    }
    arena->current = kept;
    arena->used_bytes = mark->used_bytes;
    arena->failed = false;
}

void ff_arena_reset(struct ff_arena *arena)
{
    const struct ff_arena_mark start = {.used_bytes = 0};

    ff_arena_rewind(arena, &start);
}

static void chunks_move(struct ff_arena_chunk **to, struct ff_arena_chunk *chunks)
{
    while (chunks) {
        struct ff_arena_chunk *const next = chunks->next;

        chunks->next = *to;
        *to = chunks;
        chunks = next;
    }
}

void ff_arena_adopt(struct ff_arena *to, struct ff_arena *from)
{
    chunks_move(&to->large, from->first);
    chunks_move(&to->large, from->large);
    from->first = from->current = from->large = NULL;
    from->used_bytes = 0;
}

/* The current chunk if `taken` bytes fit, else a fresh one; NULL without memory. */
static struct ff_arena_chunk *chunk_with_room(struct ff_arena *arena, size_t taken)
{
    struct ff_arena_chunk *const current = arena->current;

    if (current && taken <= current->cap_bytes - current->fill_bytes)
        return current;

    struct ff_arena_chunk *const chunk = chunk_new(arena->chunk_bytes);

    if (!chunk)
        return NULL;
    if (current)
        current->next = chunk;
    else
        arena->first = chunk;
    arena->current = chunk;
    return chunk;
}

void *ff_arena_alloc(struct ff_arena *arena, size_t bytes)
{
    const size_t taken = round_up(bytes);
    struct ff_arena_chunk *chunk;

    if (taken == 0 || !within_max(arena, taken))
        return fail(arena);
    if (taken > arena->chunk_bytes / 4) {
        chunk = chunk_new(taken);
        if (!chunk)
            return fail(arena);
        chunk->next = arena->large;
        arena->large = chunk;
    } else {
        chunk = chunk_with_room(arena, taken);
        if (!chunk)
            return fail(arena);
    }
    arena->used_bytes += taken;
    return chunk_take(chunk, bytes, taken);
}

void *ff_arena_array(struct ff_arena *arena, size_t count, size_t item_bytes)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, item_bytes, &bytes))
        return fail(arena);
    return ff_arena_alloc(arena, bytes);
}

/* The newest large object is alone in the newest large chunk, so realloc may move both. */
static void *grow_large(struct ff_arena *arena, size_t old_bytes, size_t new_bytes)
{
    struct ff_arena_chunk *const old = arena->large;
    const size_t taken = round_up(new_bytes);
    const size_t more = taken - old->fill_bytes;

    if (!within_max(arena, more) || taken > SIZE_MAX - sizeof *old)
        return fail(arena);
    ASAN_UNPOISON_MEMORY_REGION(old->data, old->cap_bytes);

    struct ff_arena_chunk *const chunk = ff_realloc(old, sizeof *chunk + taken);

    if (!chunk) {
        ASAN_POISON_MEMORY_REGION(old->data + old_bytes, old->cap_bytes - old_bytes);
        return fail(arena);
    }
    arena->large = chunk;
    arena->used_bytes += more;
    chunk->cap_bytes = taken;
    chunk->fill_bytes = taken;
    memset(chunk->data + old_bytes, 0, taken - old_bytes);
    ASAN_POISON_MEMORY_REGION(chunk->data + new_bytes, taken - new_bytes);
    return chunk->data;
}

/* NULL when the object is not the newest of the current chunk or there is no room behind it. */
static void *grow_in_place(struct ff_arena *arena, void *memory, size_t old_bytes, size_t new_bytes)
{
    struct ff_arena_chunk *const chunk = arena->current;
    const size_t more = round_up(new_bytes) - round_up(old_bytes);

    if (!chunk || (unsigned char *)memory + round_up(old_bytes) != chunk->data + chunk->fill_bytes)
        return NULL;
    if (more > chunk->cap_bytes - chunk->fill_bytes || !within_max(arena, more))
        return NULL;
    chunk->fill_bytes += more;
    arena->used_bytes += more;
    ASAN_UNPOISON_MEMORY_REGION(memory, new_bytes);
    memset((unsigned char *)memory + old_bytes, 0, new_bytes - old_bytes);
    return memory;
}

void *ff_arena_grow(struct ff_arena *arena, void *memory, size_t old_bytes, size_t new_bytes)
{
    assert(old_bytes <= new_bytes);
    if (!memory)
        return ff_arena_alloc(arena, new_bytes);
    if (round_up(new_bytes) == 0)
        return fail(arena);
    if (arena->large && memory == arena->large->data)
        return grow_large(arena, old_bytes, new_bytes);

    void *grown = grow_in_place(arena, memory, old_bytes, new_bytes);

    if (grown)
        return grown;
    grown = ff_arena_alloc(arena, new_bytes);
    if (grown)
        memcpy(grown, memory, old_bytes);
    return grown;
}

void *ff_arena_copy(struct ff_arena *arena, const void *ptr, size_t len)
{
    void *const copy = ff_arena_alloc(arena, len);

    if (copy && len > 0)
        memcpy(copy, ptr, len);
    return copy;
}

struct ff_str ff_arena_str(struct ff_arena *arena, struct ff_str s)
{
    char *copy = NULL;

    if (!s.ptr)
        return s;
    if (s.len < SIZE_MAX)
        copy = ff_arena_alloc(arena, s.len + 1);
    else
        fail(arena);
    if (!copy)
        return (struct ff_str){.ptr = NULL, .len = 0};
    memcpy(copy, s.ptr, s.len);
    return (struct ff_str){.ptr = copy, .len = s.len};
}

struct ff_str ff_arena_printf(struct ff_arena *arena, const char *fmt, ...)
{
    struct ff_str text = {.ptr = NULL, .len = 0};
    va_list args;
    va_list again;
    char *copy = NULL;

    va_start(args, fmt);
    va_copy(again, args);

    const int len = vsnprintf(NULL, 0, fmt, args);

    if (len >= 0)
        copy = ff_arena_alloc(arena, (size_t)len + 1);
    else
        fail(arena);
    if (copy) {
        vsnprintf(copy, (size_t)len + 1, fmt, again);
        text = (struct ff_str){.ptr = copy, .len = (size_t)len};
    }
    va_end(again);
    va_end(args);
    return text;
}

size_t ff_arena_used(const struct ff_arena *arena)
{
    return arena->used_bytes;
}

void ff_arena_fail(struct ff_arena *arena)
{
    (void)fail(arena);
}

ff_status ff_arena_check(const struct ff_arena *arena, struct ff_error *reterr)
{
    if (arena->failed)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory after %zu of at most %zu bytes",
                       arena->used_bytes, arena->max_bytes);
    return FF_OK;
}
