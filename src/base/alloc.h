/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc.h -- the only door to the heap, so that tests can make the n-th allocation fail.
 *
 * Only `_new` functions and the arena come here; model and ops take an arena instead.
 * Tests: tests/unit/test_alloc.c. */
#ifndef FF_BASE_ALLOC_H
#define FF_BASE_ALLOC_H

#include <stddef.h>

struct ff_alloc_hooks {
    void *(*malloc_fn)(size_t bytes);
    void *(*calloc_fn)(size_t count, size_t bytes);
    void *(*realloc_fn)(void *memory, size_t bytes);
    void (*free_fn)(void *memory);
};

/* Replaces the table; NULL puts libc back. `hooks` must outlive its use. Call it while no other
 * thread allocates: memory may be freed through another table than it came from. */
void ff_alloc_set_hooks(const struct ff_alloc_hooks *hooks);

/* As in libc: NULL when there is no memory. A request of 0 bytes gives a pointer to free. */
void *ff_malloc(size_t bytes) __attribute__((malloc, alloc_size(1)));
void *ff_calloc(size_t count, size_t bytes) __attribute__((malloc, alloc_size(1, 2)));
void *ff_realloc(void *memory, size_t bytes) __attribute__((alloc_size(2), warn_unused_result));
void ff_free(void *memory);

#endif
