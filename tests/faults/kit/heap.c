/* SPDX-License-Identifier: Apache-2.0
 *
 * heap.c -- a heap that refuses the n-th request.
 *
 * Read first: heap.h. */
#include "kit/heap.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "kit/publics.h"

#include "base/banned.h"

#define NOTED_MAX 4 /* of those after the first most are in the same place */

static atomic_bool armed, lasting;
static atomic_llong left; /* until the one that fails */
static atomic_llong failures;
static atomic_bool only_mine;
static _Thread_local bool mine;

static bool is_refused(void)
{
    long long now;

    if (!atomic_load(&armed) || (atomic_load(&only_mine) && !mine))
        return false;
    now = atomic_fetch_sub(&left, 1);
    if (now != 1 && (now > 0 || !atomic_load(&lasting)))
        return false;
    if (atomic_fetch_add(&failures, 1) < NOTED_MAX)
        publics_note();
    return true;
}

static void *maybe_malloc(size_t bytes)
{
    return is_refused() ? NULL : malloc(bytes);
}

static void *maybe_calloc(size_t count, size_t bytes)
{
    return is_refused() ? NULL : calloc(count, bytes);
}

static void *maybe_realloc(void *memory, size_t bytes)
{
    return is_refused() ? NULL : realloc(memory, bytes);
}

void heap_arm(long long n, bool all_after)
{
    static const struct ff_alloc_hooks hooks = {maybe_malloc, maybe_calloc, maybe_realloc, free};

    ff_alloc_set_hooks(&hooks); /* and never back: threads may come and go from here on */
    atomic_store(&left, n);
    atomic_store(&lasting, all_after);
    atomic_store(&failures, 0);
    atomic_store(&armed, n > 0);
}

void heap_disarm(void)
{
    atomic_store(&armed, false);
}

bool heap_failed(void)
{
    return atomic_load(&failures) > 0;
}

bool heap_lasts(void)
{
    return atomic_load(&lasting);
}

void heap_only_mine(bool on)
{
    mine = on;
    atomic_store(&only_mine, on);
}
