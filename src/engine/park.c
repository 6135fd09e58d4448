/* SPDX-License-Identifier: Apache-2.0
 *
 * park.c -- claims that wait, and what wakes them.
 *
 * Wake-ups are hints: each lane has a counter (hashed into slots), and there is one for whatever
 * other processes may have done; a claim parks only if none of its own has moved since before its
 * load, so no wake-up is lost. What others did is told by hints and found by the pulse.
 *
 * A claim need not look before it waits. While nothing has moved since one of its kind looked in
 * vain, it waits first and looks a moment later: most often a worker asks for more just before it
 * says what it has done, and what that frees is handed over meanwhile (handover.c). Looking first
 * would be a transaction for nothing that the completion has to wait for. Whatever it waits for,
 * it has looked before it is told that there is nothing.
 * Tests: tests/unit/test_engine.c, tests/conformance/execution_claim_wait.c. */
#include "engine/engine-int.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mutant.h"
#include "ops/execution.h"

#include "base/banned.h"

static const struct ff_hash_seed seed = {0};

uint64_t ff_engine_wake_slot(struct ff_str lane)
{
    return UINT64_C(1) << (ff_hash_bytes(seed, lane.ptr, lane.len) % FF_WAKE_SLOTS);
}

static bool is_claim(const struct ff_job *job)
{
    return job->type == &ff_op_types[FF_OP_EXECUTION_CLAIM];
}

static uint64_t slots_of(const struct ff_job *job)
{
    const struct ff_claim_in *const in = job->in;
    uint64_t slots = 0;

    for (size_t i = 0; i < in->lane_count; i++)
        slots |= ff_engine_wake_slot(in->lanes[i]);
    return slots;
}

static uint64_t wake_sum_locked(const struct ff_engine *engine, uint64_t slots)
{
    uint64_t sum = engine->look_era;

    for (unsigned slot = 0; slot < FF_WAKE_SLOTS; slot++)
        if (slots & (UINT64_C(1) << slot))
            sum += engine->wake[slot];
    return sum;
}

uint64_t ff_engine_wake_sum(struct ff_engine *engine, const struct ff_job *job)
{
    uint64_t sum;

    if (!is_claim(job) || job->wait_until_mono_ms == 0)
        return 0;
    pthread_mutex_lock(&engine->lock);
    sum = wake_sum_locked(engine, slots_of(job));
    pthread_mutex_unlock(&engine->lock);
    return sum;
}

/* --- looks in vain --- */

static uint64_t mix(uint64_t hash, struct ff_str text)
{
    const uint64_t parts[] = {hash, ff_hash_bytes(seed, text.ptr, text.len), text.ptr != NULL};

    return ff_hash_bytes(seed, parts, sizeof parts);
}

static uint64_t mix_all(uint64_t hash, const struct ff_str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = mix(hash, texts[i]);
    return hash + count;
}

/* Claims of one kind find the same. */
static struct ff_look look_of(const struct ff_claim_in *in, uint64_t wake_sum)
{
    uint64_t kind = mix_all(1, in->lanes, in->lane_count);

    kind = mix_all(mix(kind, in->namespace), in->kinds, in->kind_count);
    kind = mix_all(kind, in->capabilities, in->capability_count);
    return (struct ff_look){.kind = kind, .wake_sum = wake_sum};
}

static struct ff_look *place_of(struct ff_engine *engine, const struct ff_look *look)
{
    return &engine->looks[look->kind % FF_ENGINE_LOOKS];
}

static bool found_nothing_locked(struct ff_engine *engine, const struct ff_look *now)
{
    const struct ff_look *const last = place_of(engine, now);

    return last->kind == now->kind && last->wake_sum == now->wake_sum;
}

/* --- waiting --- */

/* In the order in which they first came, however often they were woken in vain. */
static void park_locked(struct ff_engine *engine, struct ff_job *job)
{
    struct ff_list_node *before = engine->parked.head.prev;

    if (job->ticket == 0)
        job->ticket = ++engine->tickets;
    while (before != &engine->parked.head &&
           ff_list_item(before, struct ff_job, link)->ticket > job->ticket)
        before = before->prev;
    ff_list_link_between(&job->link, before, before->next);
    job->parked = true;
}

bool ff_engine_park(struct ff_engine *engine, struct ff_job *job)
{
    const struct ff_claim_out *const out = job->out;
    const bool has_looked = job->look_at_mono_ms == 0;
    int applied = FF_JOB_APPLIED;
    bool moved;

    if (!is_claim(job) || job->status != FF_OK || out->task_count > 0 || out->is_repeat)
        return false;
    if (!out->went_short && has_looked && job->wait_until_mono_ms <= ff_engine_mono_ms(engine))
        return false;
    if (atomic_load(&job->stage) != FF_JOB_QUEUED &&
        !atomic_compare_exchange_strong(&job->stage, &applied, FF_JOB_QUEUED))
        return false; /* the caller has gone */
    pthread_mutex_lock(&engine->lock);
    moved = out->went_short || !has_looked ||
            (wake_sum_locked(engine, slots_of(job)) != job->wake_seen &&
             !FF_MUTANT(wakeup_lost_and_no_poll));
    if (engine->closed) {
        pthread_mutex_unlock(&engine->lock);
        if (!has_looked)
            job->status = ff_fail(&job->error, FF_CLOSED, "engine is closing");
        return false;
    }
    if (!moved) {
        const struct ff_look look = look_of(job->in, job->wake_seen);

        *place_of(engine, &look) = look;
        park_locked(engine, job);
        pthread_cond_broadcast(&engine->changed);
    }
    pthread_mutex_unlock(&engine->lock);
    if (moved)
        ff_queue_return(&engine->queue, job);
    return true;
}

bool ff_engine_park_first(struct ff_engine *engine, struct ff_job *job)
{
    const int64_t mono_ms = ff_engine_mono_ms(engine);
    struct ff_look look;
    bool parks;

    if (!is_claim(job) || job->wait_until_mono_ms <= mono_ms || !engine->options.rides)
        return false;
    pthread_mutex_lock(&engine->lock);
    look = look_of(job->in, wake_sum_locked(engine, slots_of(job)));
    parks = !engine->closed && found_nothing_locked(engine, &look);
    if (parks) {
        job->wake_seen = look.wake_sum;
        job->ends_call = true;
        job->look_at_mono_ms = mono_ms + FF_LOOK_LATER_MS;
        park_locked(engine, job);
        ff_supervisor_poke(&engine->supervisor, job->look_at_mono_ms);
    }
    pthread_mutex_unlock(&engine->lock);
    return parks;
}

/* --- waking --- */

/* Back into the queue, each to the front: who waits longest must come last. */
static void look_again(struct ff_engine *engine, struct ff_list *woken)
{
    while (!ff_list_empty(woken)) {
        struct ff_job *const job = ff_list_item(ff_list_last(woken), struct ff_job, link);

        ff_list_remove(&job->link);
        ff_queue_return(&engine->queue, job);
    }
}

static void leave_locked(struct ff_job *job, struct ff_list *out)
{
    ff_list_remove(&job->link);
    job->parked = false;
    ff_list_push_back(out, &job->link);
}

static void move_counters_locked(struct ff_engine *engine, uint64_t slots)
{
    if (slots == UINT64_MAX) {
        engine->look_era++;
        return;
    }
    for (unsigned slot = 0; slot < FF_WAKE_SLOTS; slot++)
        if (slots & (UINT64_C(1) << slot))
            engine->wake[slot]++;
}

size_t ff_engine_unpark(struct ff_engine *engine, uint64_t slots)
{
    struct ff_list woken;
    size_t count = 0;

    ff_list_init(&woken);
    pthread_mutex_lock(&engine->lock);
    move_counters_locked(engine, slots);
    FF_LIST_FOR_EACH(node, &engine->parked)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        if (!(slots_of(job) & slots))
            continue;
        leave_locked(job, &woken);
        count++;
    }
    engine->stats.wakeups += (int64_t)count;
    pthread_mutex_unlock(&engine->lock);
    look_again(engine, &woken);
    return count;
}

/* Somebody asks again under a request that has been given tasks, and waits for what it has. */
static bool repeats(const struct ff_job *job, const struct ff_claim *claim)
{
    const struct ff_claim_in *const in = job->in;

    return ff_str_eq(in->request_id, claim->request_id) &&
           ff_str_eq(in->worker_instance_id, claim->worker_instance_id);
}

void ff_engine_unpark_repeats(struct ff_engine *engine, const struct ff_rowset *rows)
{
    struct ff_list woken;

    ff_list_init(&woken);
    pthread_mutex_lock(&engine->lock);
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_CLAIM]; entry; entry = entry->next)
        FF_LIST_FOR_EACH(node, &engine->parked)
        {
            struct ff_job *const job = ff_list_item(node, struct ff_job, link);

            if (entry->found == FF_FOUND_ROW && repeats(job, entry->row))
                leave_locked(job, &woken);
        }
    pthread_mutex_unlock(&engine->lock);
    look_again(engine, &woken);
}

/* After a look in vain nobody needs to know: those who wait have looked, too, and would wake each
 * other for ever. */
static bool has_only_looked(const struct ff_batch *batch)
{
    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        const struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        if (!is_claim(job) || job->status != FF_OK)
            return false;
    }
    return true;
}

void ff_engine_let_go(struct ff_engine *engine, const struct ff_batch *batch)
{
    const uint64_t slots = has_only_looked(batch) ? 0 : ff_engine_freed_slots(engine, &batch->rows);

    if (slots)
        (void)ff_engine_unpark(engine, slots);
}

/* There is nothing for it. One that may be a repeat looks once more: another process may have given
 * tasks to the first. */
static bool is_sure(const struct ff_job *job)
{
    return job->look_at_mono_ms == 0 &&
           ff_str_is_null(((const struct ff_claim_in *)job->in)->request_id);
}

void ff_engine_expire_parked(struct ff_engine *engine, int64_t mono_ms)
{
    struct ff_list over, late;

    ff_list_init(&over);
    ff_list_init(&late);
    pthread_mutex_lock(&engine->lock);
    FF_LIST_FOR_EACH(node, &engine->parked)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);
        const bool has_looked = job->look_at_mono_ms == 0;
        const int64_t until_ms = has_looked
                                     ? job->wait_until_mono_ms
                                     : ff_min_i64(job->look_at_mono_ms, job->wait_until_mono_ms);

        if (until_ms > mono_ms && !engine->closed)
            continue;
        leave_locked(job, is_sure(job) || engine->closed ? &over : &late);
        if (has_looked)
            job->wait_until_mono_ms = 0;
        else if (engine->closed)
            job->status = ff_fail(&job->error, FF_CLOSED, "engine is closing");
    }
    pthread_mutex_unlock(&engine->lock);
    look_again(engine, &late);
    while (!ff_list_empty(&over))
        ff_engine_end_job(engine, ff_job_pop(&over));
}
