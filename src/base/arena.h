/* SPDX-License-Identifier: Apache-2.0
 *
 * arena.h -- memory that is dropped all at once, at the end of a request or a tick.
 *
 * Not thread safe. Nothing in an arena is freed alone; what it hands out lives until reset or
 * done. Allocation returns NULL at the maximum or when the heap is empty, and `failed` then stays
 * set until reset, so a caller may build a whole tree and check once at the end.
 * Read first: src/base/README.md. Tests: tests/unit/test_arena.c. */
#ifndef FF_BASE_ARENA_H
#define FF_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "flowfabric.h"

#define FF_ARENA_ALIGN_BYTES 16

struct ff_arena_chunk;

/* Read `failed`; the rest is arena.c's business. */
struct ff_arena {
    struct ff_arena_chunk *first;   /* survives reset */
    struct ff_arena_chunk *current; /* where small requests are served */
    struct ff_arena_chunk *large;   /* requests too big to share a chunk, newest first */
    size_t chunk_bytes;
    size_t max_bytes;
    size_t used_bytes;
    bool failed;
};

/* Takes no memory yet, so it cannot fail. `max_bytes` bounds what is handed out, rounding
 * included; the heap memory behind it may be up to a third more, plus one chunk. */
void ff_arena_init(struct ff_arena *arena, size_t chunk_bytes, size_t max_bytes);
void ff_arena_done(struct ff_arena *arena);

/* Forgets everything handed out; keeps the first chunk for the next user. */
void ff_arena_reset(struct ff_arena *arena);

/* What `from` has handed out lives as long as `to`, and is not counted there; `from` is empty. */
void ff_arena_adopt(struct ff_arena *to, struct ff_arena *from);

/* A place to go back to. What was handed out before it must not be grown after it. */
struct ff_arena_mark {
    struct ff_arena_chunk *current, *large;
    size_t fill_bytes, used_bytes;
};

struct ff_arena_mark ff_arena_mark(const struct ff_arena *arena);
/* Forgets everything handed out since the mark, and that something failed since. */
void ff_arena_rewind(struct ff_arena *arena, const struct ff_arena_mark *mark);

/* Zeroed, aligned to 16 bytes. A request of 0 bytes gives a pointer that must not be read. */
void *ff_arena_alloc(struct ff_arena *arena, size_t bytes);
void *ff_arena_array(struct ff_arena *arena, size_t count, size_t item_bytes);

/* A block of `new_bytes` that starts with the first `old_bytes` of `memory`: the same block if it
 * is the newest one and there is room behind it, else another one. The bytes behind the old ones
 * are zero. On success `memory` must not be used again; on failure it stays valid. `memory` NULL
 * with `old_bytes` 0 is a plain allocation. */
void *ff_arena_grow(struct ff_arena *arena, void *memory, size_t old_bytes, size_t new_bytes);

/* `len` may be 0; `ptr` may then be NULL. */
void *ff_arena_copy(struct ff_arena *arena, const void *ptr, size_t len);

/* A copy with a NUL behind its `len` bytes. Null stays null, and null is also the answer when
 * there is no memory: look at `failed` if the difference matters. */
struct ff_str ff_arena_str(struct ff_arena *arena, struct ff_str s);
struct ff_str ff_arena_printf(struct ff_arena *arena, const char *fmt, ...) FF_PRINTF(2, 3);

/* Bytes handed out since init or reset, rounding included. */
size_t ff_arena_used(const struct ff_arena *arena);

/* As if it had been asked for what there is not: somebody who works for its owner has no memory. */
void ff_arena_fail(struct ff_arena *arena);

/* FF_NO_MEMORY with a message if anything failed since init or reset. */
FF_MUST_CHECK ff_status ff_arena_check(const struct ff_arena *arena, struct ff_error *reterr);

#endif
