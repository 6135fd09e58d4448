/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc.c -- the only door to the heap.
 *
 * libc may answer a request of 0 bytes with NULL; callers here may rely on NULL meaning failure,
 * so such requests become 1 byte.
 * Tests: tests/unit/test_alloc.c. */
#include "base/alloc.h"

#include <stdlib.h>

#include "base/banned.h"

static const struct ff_alloc_hooks libc_hooks = {
    .malloc_fn = malloc,
    .calloc_fn = calloc,
    .realloc_fn = realloc,
    .free_fn = free,
};

static const struct ff_alloc_hooks *current = &libc_hooks;

void ff_alloc_set_hooks(const struct ff_alloc_hooks *hooks)
{
    current = hooks ? hooks : &libc_hooks;
}

void *ff_malloc(size_t bytes)
{
    return current->malloc_fn(bytes ? bytes : 1);
}

void *ff_calloc(size_t count, size_t bytes)
{
    if (count == 0 || bytes == 0)
        return current->calloc_fn(1, 1);
    return current->calloc_fn(count, bytes);
}

void *ff_realloc(void *memory, size_t bytes)
{
    return current->realloc_fn(memory, bytes ? bytes : 1);
}

void ff_free(void *memory)
{
    current->free_fn(memory);
}
