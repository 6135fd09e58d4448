/* SPDX-License-Identifier: Apache-2.0
 *
 * capset.c -- interned sets of capabilities.
 *
 * Ids are stored: how they are made must never change. Tests: tests/unit/test_capset.c. */
#include "model/capset.h"

#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/sha256.h"
#include "base/strbuf.h"
#include "model/rows.h"

#include "base/banned.h"

#define JOINED_BYTES_MAX (FF_CAPABILITIES_MAX * (FF_CAPABILITY_BYTES_MAX + 1))

static int by_bytes(const void *a, const void *b)
{
    return ff_str_cmp(*(const struct ff_str *)a, *(const struct ff_str *)b);
}

size_t ff_capset_sort(struct ff_str *tokens, size_t count)
{
    size_t kept = 0;

    if (count == 0)
        return 0;
    qsort(tokens, count, sizeof *tokens, by_bytes);
    for (size_t i = 1; i < count; i++)
        if (!ff_str_eq(tokens[i], tokens[kept]))
            tokens[++kept] = tokens[i];
    return kept + 1;
}

ff_status ff_capset_intern(const struct ff_str *tokens, size_t count, struct ff_arena *arena,
                           struct ff_str *ret_joined, int64_t *ret_id, struct ff_error *reterr)
{
    struct ff_strbuf text = ff_strbuf_in(arena, JOINED_BYTES_MAX);
    uint8_t digest[FF_SHA256_BYTES];
    struct ff_str joined;
    uint64_t id;

    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            ff_strbuf_addc(&text, ',');
        ff_strbuf_add(&text, tokens[i]);
    }
    FF_TRY(ff_strbuf_take(&text, &joined, reterr));
    *ret_joined = joined;
    if (count == 0) {
        *ret_id = 0;
        return FF_OK;
    }
    FF_TRY(ff_sha256_of(joined.ptr, joined.len, digest, reterr));
    id = ff_get_be64(digest) & INT64_MAX;
    *ret_id = id ? (int64_t)id : 1;
    return FF_OK;
}

/* The next token at *at, which moves behind its comma. */
static struct ff_str next_token(struct ff_str joined, size_t *at)
{
    const char *const from = joined.ptr + *at;
    const size_t rest = joined.len - *at;
    const char *const comma = memchr(from, ',', rest);
    const size_t len = comma ? (size_t)(comma - from) : rest;

    *at += len + (comma ? 1 : 0);
    return (struct ff_str){from, len};
}

bool ff_capset_fits(struct ff_str joined, const struct ff_str *offered, size_t count)
{
    size_t at = 0;
    size_t i = 0;

    while (at < joined.len) {
        const struct ff_str wanted = next_token(joined, &at);

        while (i < count && ff_str_cmp(offered[i], wanted) < 0)
            i++;
        if (i == count || !ff_str_eq(offered[i], wanted))
            return false;
    }
    return true;
}

/* Where the set is, or where it belongs. Ids are hashes already. */
static const struct ff_capset *_Atomic *slot_of(const struct ff_capsets *capsets, int64_t capset_id)
{
    size_t at = (size_t)capset_id;

    for (;; at++) {
        const struct ff_capset *_Atomic *const slot =
            &capsets->slots[at & (capsets->slot_count - 1)];
        const struct ff_capset *const set = atomic_load(slot);

        if (!set || set->capset_id == capset_id)
            return slot;
    }
}

const struct ff_capset *ff_capsets_find(const struct ff_capsets *capsets, int64_t capset_id)
{
    return capsets->slot_count ? atomic_load(slot_of(capsets, capset_id)) : NULL;
}

/* Whoever has a copy of the struct goes on with the old arrays. */
static bool grow(struct ff_capsets *capsets, struct ff_arena *arena)
{
    struct ff_capsets grown = {.count = capsets->count,
                               .cap = capsets->cap ? capsets->cap * 2 : 64};

    grown.slot_count = grown.cap * 2;
    grown.sets = ff_arena_array(arena, grown.cap, sizeof *grown.sets);
    grown.slots = ff_arena_array(arena, grown.slot_count, sizeof *grown.slots);
    if (!grown.sets || !grown.slots)
        return false;
    for (size_t i = 0; i < capsets->count; i++) {
        grown.sets[i] = capsets->sets[i];
        atomic_store(slot_of(&grown, grown.sets[i]->capset_id), grown.sets[i]);
    }
    *capsets = grown;
    return true;
}

bool ff_capsets_add(struct ff_capsets *capsets, struct ff_arena *arena,
                    const struct ff_capset *capset)
{
    struct ff_capset *copy;

    if (ff_capsets_find(capsets, capset->capset_id))
        return true;
    if (capsets->count == capsets->cap && !grow(capsets, arena))
        return false;
    copy = ff_arena_copy(arena, capset, sizeof *capset);
    if (!copy)
        return false;
    copy->tokens = ff_arena_str(arena, capset->tokens);
    if (!copy->tokens.ptr)
        return false;
    capsets->sets[capsets->count++] = copy;
    atomic_store(slot_of(capsets, copy->capset_id), copy);
    return true;
}
