/* SPDX-License-Identifier: Apache-2.0
 *
 * workers.c -- claiming keeps the worker's registry row fresh.
 *
 * Not with every claim: a worker is written down when it is new, when what it offers has changed,
 * and every ten seconds. Forgetting one costs a write, nothing else.
 * Tests: tests/conformance/registry_look.c. */
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "engine/engine-int.h"
#include "ops/execution.h"

#include "base/banned.h"

#define TOUCH_MS       10000
#define TTL_MS_MIN     60000
#define KNOWN_MAX      10000
#define LIST_BYTES_MAX (FF_KINDS_PER_CLAIM_MAX * (FF_KIND_BYTES_MAX + 1))

struct known_worker {
    int64_t touched_mono_ms;
    uint64_t offer; /* hash of what it said about itself */
};

static struct ff_str joined(struct ff_arena *arena, const struct ff_str *items, size_t count)
{
    struct ff_strbuf text = ff_strbuf_in(arena, LIST_BYTES_MAX);
    struct ff_str ret = {0};

    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            ff_strbuf_addc(&text, FF_NAMES_SEPARATOR);
        ff_strbuf_add(&text, items[i]);
    }
    return ff_strbuf_take(&text, &ret, NULL) == FF_OK ? ret : FF_STR("");
}

static uint64_t offer_of(const struct ff_worker_touch_in *touch)
{
    const struct ff_str parts[] = {touch->worker_id, touch->namespace, touch->lanes, touch->kinds,
                                   touch->capabilities};
    struct ff_hash_seed seed = {0};

    for (size_t i = 0; i < FF_ARRAY_LEN(parts); i++)
        seed.k0 = ff_hash_bytes(seed, parts[i].ptr, parts[i].len);
    return seed.k0;
}

static struct ff_worker_touch_in *touch_of(const struct ff_job *claim, struct ff_arena *arena,
                                           int64_t mono_ms)
{
    const struct ff_claim_in *const in = claim->in;
    struct ff_worker_touch_in *const touch = ff_arena_alloc(arena, sizeof *touch);
    const int64_t wait_ms = ff_max_i64(0, claim->wait_until_mono_ms - mono_ms);

    if (!touch)
        return NULL;
    *touch = (struct ff_worker_touch_in){
        .worker_instance_id = ff_arena_str(arena, in->worker_instance_id),
        .worker_id = ff_arena_str(arena, in->worker_id),
        .namespace = ff_arena_str(arena, in->namespace),
        .lanes = joined(arena, in->lanes, in->lane_count),
        .kinds = in->kind_count ? joined(arena, in->kinds, in->kind_count) : ff_str_null(),
        .capabilities = joined(arena, in->capabilities, in->capability_count),
        .ttl_ms = wait_ms + ff_max_i64(TTL_MS_MIN, 2 * in->lease_ttl_ms),
    };
    return touch;
}

/* True: write it down now. */
static bool is_news(struct ff_engine *engine, const struct ff_worker_touch_in *touch,
                    int64_t mono_ms)
{
    struct ff_hashmap *const map = &engine->workers;
    const struct ff_str id = touch->worker_instance_id;
    const uint64_t offer = offer_of(touch);
    struct known_worker *known;
    struct ff_str copy;

    if (ff_hashmap_count(map) >= KNOWN_MAX) {
        ff_arena_reset(&engine->worker_arena);
        ff_hashmap_init(map, &engine->worker_arena, (struct ff_hash_seed){0});
    }
    known = ff_hashmap_get(map, id.ptr, id.len);
    if (known) {
        if (known->offer == offer && mono_ms - known->touched_mono_ms < TOUCH_MS)
            return false;
    } else {
        known = ff_arena_alloc(&engine->worker_arena, sizeof *known);
        copy = ff_arena_str(&engine->worker_arena, id);
        if (!known || !copy.ptr || ff_hashmap_put(map, copy.ptr, copy.len, known, NULL) != FF_OK)
            return false;
    }
    known->offer = offer;
    known->touched_mono_ms = mono_ms;
    return true;
}

static void touched(struct ff_job *job, void *ctx)
{
    (void)ctx;
    ff_job_free(job);
}

void ff_engine_note_worker(struct ff_engine *engine, const struct ff_job *claim)
{
    const int64_t mono_ms = ff_engine_mono_ms(engine);
    struct ff_job *const job = ff_job_new(FF_OP_WORKER_TOUCH, 0);
    struct ff_error error;
    bool news = false;

    if (!job)
        return;
    job->in = touch_of(claim, &job->arena, mono_ms);
    job->done = touched;
    if (job->in && !job->arena.failed) {
        pthread_mutex_lock(&engine->lock);
        news = is_news(engine, job->in, mono_ms);
        pthread_mutex_unlock(&engine->lock);
    }
    if (!news || ff_engine_submit(engine, job, &error) != FF_OK)
        ff_job_free(job);
}
