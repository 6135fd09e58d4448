/* SPDX-License-Identifier: Apache-2.0
 *
 * hooks.c -- what follows from a commit or an answer of the store: wake-ups, caches, contact.
 *
 * Who waits for what is woken: park.c. Tests: tests/unit/test_engine.c. */
#include "engine/engine-int.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mutant.h"
#include "model/states.h"
#include "ops/execution.h"

#include "base/banned.h"

/* --- contact --- */

static void set_clock(struct ff_contact *contact, int64_t now_ms, int64_t mono_ms)
{
    const int64_t old_ms = mono_ms - contact->best_mono_ms;
    const bool set_back = contact->latest_ms - now_ms > FF_CLOCK_JUMP_MS;

    if (set_back || old_ms > FF_CONTACT_GAP_MS || now_ms >= contact->best_ms + old_ms) {
        contact->best_ms = now_ms;
        contact->best_mono_ms = mono_ms;
    }
    contact->latest_ms = set_back ? now_ms : ff_max_i64(contact->latest_ms, now_ms);
}

void ff_engine_contact(struct ff_engine *engine, int64_t now_ms)
{
    struct ff_contact *const contact = &engine->contact;
    const int64_t mono_ms = ff_engine_mono_ms(engine);

    pthread_mutex_lock(&engine->lock);
    if (contact->known) {
        const int64_t store_passed_ms = now_ms - contact->last_ms;
        const int64_t mono_passed_ms = mono_ms - contact->last_mono_ms;
        const int64_t jump_ms = store_passed_ms - mono_passed_ms;
        const bool jumped = jump_ms > FF_CLOCK_JUMP_MS || jump_ms < -FF_CLOCK_JUMP_MS;

        /* The clock jumped, or we or the store slept: meanwhile nobody could renew. */
        if (jumped || mono_passed_ms > FF_CONTACT_GAP_MS)
            contact->since_ms = now_ms;
        if (jumped || mono_passed_ms > FF_CONTACT_SHORT_GAP_MS)
            contact->steady_since_ms = now_ms;
    } else {
        contact->since_ms = contact->steady_since_ms = now_ms;
        contact->known = true;
    }
    contact->last_ms = now_ms;
    contact->last_mono_ms = mono_ms;
    contact->last_boot_ms = ff_clock_boot_ms(&engine->options.clock);
    set_clock(contact, now_ms, mono_ms);
    pthread_mutex_unlock(&engine->lock);
}

void ff_engine_contact_lost(struct ff_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->contact.known = false;
    pthread_mutex_unlock(&engine->lock);
}

void ff_engine_contact_shared(struct ff_engine *engine, int64_t since_ms, int64_t last_ms)
{
    struct ff_contact *const contact = &engine->contact;

    pthread_mutex_lock(&engine->lock);
    /* Another process was in contact when we already were: its unbroken time is ours too. */
    if (contact->known && since_ms < contact->since_ms && last_ms >= contact->since_ms &&
        last_ms <= contact->last_ms)
        contact->since_ms = since_ms;
    pthread_mutex_unlock(&engine->lock);
}

int64_t ff_engine_now_ms(struct ff_engine *engine)
{
    struct ff_contact *const contact = &engine->contact;
    const int64_t mono_ms = ff_engine_mono_ms(engine);
    int64_t now_ms;

    pthread_mutex_lock(&engine->lock);
    if (contact->last_ms) {
        now_ms = contact->best_ms + mono_ms - contact->best_mono_ms;
        now_ms = contact->latest_ms = ff_max_i64(now_ms, contact->latest_ms);
    } else {
        now_ms = ff_clock_real_ms(&engine->options.clock);
    }
    pthread_mutex_unlock(&engine->lock);
    return now_ms;
}

bool ff_engine_knows_now(struct ff_engine *engine)
{
    const int64_t boot_ms = ff_clock_boot_ms(&engine->options.clock);
    bool knows;

    pthread_mutex_lock(&engine->lock);
    knows = engine->contact.known && boot_ms - engine->contact.last_boot_ms < FF_CONTACT_GAP_MS;
    pthread_mutex_unlock(&engine->lock);
    return knows;
}

/* --- capability sets --- */

void ff_engine_learn_capset(struct ff_engine *engine, const struct ff_capset *capset)
{
    pthread_mutex_lock(&engine->lock);
    (void)ff_capsets_add(&engine->capsets, &engine->capset_arena, capset); /* or the next pulse */
    pthread_mutex_unlock(&engine->lock);
}

void ff_engine_learn_capsets(struct ff_engine *engine, const struct ff_read *all)
{
    for (size_t i = 0; i < all->row_count; i++)
        ff_engine_learn_capset(engine, all->rows[i]);
    pthread_mutex_lock(&engine->lock);
    engine->capsets_read = (int64_t)all->row_count;
    pthread_mutex_unlock(&engine->lock);
}

void ff_engine_doubt_capsets(struct ff_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->capsets_doubted = true;
    pthread_mutex_unlock(&engine->lock);
}

void ff_engine_env(struct ff_engine *engine, int64_t now_ms, struct ff_capsets *capsets,
                   struct ff_batch_env *ret)
{
    pthread_mutex_lock(&engine->lock);
    *capsets = engine->capsets;
    *ret = (struct ff_batch_env){
        .settings = &engine->options.settings,
        .capsets = capsets,
        .now_ms = now_ms,
        .contact_since_ms = engine->contact.since_ms,
        .steady_since_ms = engine->contact.steady_since_ms,
        .mono_ms = ff_engine_mono_ms(engine),
    };
    pthread_mutex_unlock(&engine->lock);
}

/* --- after a commit --- */

void ff_engine_batch_ended(struct ff_engine *engine, struct ff_batch *batch, bool certain)
{
    if (engine->store->facts.dead_rows)
        ff_lowwater_end(&engine->lowwater, &batch->rows, certain);
}

static void learn_capsets(struct ff_engine *engine, const struct ff_rowset *rows)
{
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_CAPSET]; entry; entry = entry->next)
        if (entry->found == FF_FOUND_ROW)
            ff_engine_learn_capset(engine, entry->row);
}

/* Times the supervisor should know of. True: wake it. Called with the engine's lock. */
static bool hint_supervisor(struct ff_supervisor *supervisor, const struct ff_execution *row)
{
    bool hinted = false;

    if (row->state == FF_STATE_ACTIVE && row->lease_ttl_ms < FF_CONTACT_GAP_MS)
        hinted = ff_supervisor_hint_short_lease(supervisor, row->lease_ttl_ms);
    if (ff_state_is_delayed(row->state) && row->due_at_ms != FF_NULL64) {
        ff_supervisor_hint_delay(supervisor, row->due_at_ms);
        hinted = true;
    }
    return hinted;
}

/* Tells the supervisor of times. True: it has to be woken. Called with the engine's lock. */
static bool hint_times(struct ff_engine *engine, const struct ff_rowset *rows)
{
    bool hinted = false;

    for (const struct ff_entry *entry = rows->entries[FF_TABLE_EXECUTION]; entry;
         entry = entry->next)
        if (entry->found == FF_FOUND_ROW && ((struct ff_row *)entry->row)->op != 0)
            hinted |= hint_supervisor(&engine->supervisor, entry->row);
    return hinted;
}

uint64_t ff_engine_freed_slots(const struct ff_engine *engine, const struct ff_rowset *rows)
{
    uint64_t slots = 0;

    for (const struct ff_entry *entry = rows->entries[FF_TABLE_EXECUTION]; entry;
         entry = entry->next) {
        const struct ff_execution *const row = entry->row;
        const bool held = entry->locked && engine->store->facts.row_locks;

        if (entry->found == FF_FOUND_ROW && (row->head.op != 0 || held) &&
            ff_state_is_claimable(row->state))
            slots |= ff_engine_wake_slot(row->lane);
    }
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_LANE]; entry; entry = entry->next) {
        const struct ff_lane *const lane = entry->row;

        if (entry->found == FF_FOUND_ROW && lane->head.op != 0 && !lane->paused)
            slots |= ff_engine_wake_slot(lane->lane);
    }
    return slots;
}

static void notify_others(struct ff_engine *engine)
{
    if (!engine->store->facts.notify)
        return;
    engine->store->ops->notify(engine->store);
    atomic_store(&engine->hint_until_mono_ms, ff_engine_mono_ms(engine) + FF_HINT_MS);
}

bool ff_engine_hint_waits(const struct ff_engine *engine, int64_t mono_ms)
{
    return atomic_load(&engine->hint_until_mono_ms) > mono_ms;
}

/* Tasks whose nodes were set free by an earlier batch: what they waited for need not be read. */
static void recall_upstreams(struct ff_engine *engine, struct ff_batch *batch)
{
    FF_LIST_FOR_EACH(node, &batch->jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);
        const struct ff_claim_out *const out = job->out;

        if (job->type != &ff_op_types[FF_OP_EXECUTION_CLAIM] || job->status != FF_OK)
            continue;
        for (size_t i = 0; i < out->task_count; i++)
            if (out->tasks[i].upstream_count == FF_UPSTREAMS_UNREAD)
                ff_known_upstreams(&engine->known, &batch->rows, &job->arena, &out->tasks[i]);
    }
}

void ff_engine_committed(struct ff_engine *engine, struct ff_batch *batch)
{
    const bool has_events = batch->rows.event_count > 0;
    const uint64_t slots = ff_engine_freed_slots(engine, &batch->rows);

    ff_engine_batch_ended(engine, batch, true);
    ff_measure_committed(engine, batch);
    recall_upstreams(engine, batch); /* learning forgets */
    if (engine->store->facts.proves)
        ff_known_learn(&engine->known, &batch->rows);
    learn_capsets(engine, &batch->rows);
    pthread_mutex_lock(&engine->lock);
    if (hint_times(engine, &batch->rows))
        pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    if (slots)
        (void)ff_engine_unpark(engine, slots);
    if (batch->rows.entries[FF_TABLE_CLAIM])
        ff_engine_unpark_repeats(engine, &batch->rows);
    ff_cascade_committed(engine, batch);
    if (has_events)
        ff_tail_wake(engine->tail);
    if (slots || has_events)
        notify_others(engine);
}

/* --- ending jobs --- */

bool ff_engine_end_job(struct ff_engine *engine, struct ff_job *job)
{
    if (ff_engine_park(engine, job))
        return false;
    job->done(job, job->ctx);
    return true;
}

void ff_engine_fail_jobs(struct ff_engine *engine, struct ff_list *jobs, ff_status status,
                         const char *message)
{
    while (!ff_list_empty(jobs)) {
        struct ff_job *const job = ff_job_pop(jobs);

        job->status = ff_fail(&job->error, status, "%s", message);
        job->error.repeatable = status == FF_OUTCOME_UNKNOWN && job->repeatable;
        ff_engine_end_job(engine, job);
    }
}
