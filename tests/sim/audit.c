/* SPDX-License-Identifier: Apache-2.0
 *
 * audit.c -- the whole store at the end of a run: the audits of src/store/sql/fsck.sql in C.
 *
 * The names are those of the blocks, so a finding here is what `ff fsck` would print. */
#include "book.h"

#include <inttypes.h>

#include "base/macros.h"
#include "model/codes.h"
#include "model/events.h"
#include "model/lease.h"
#include "model/states.h"

#include "base/banned.h"

static void finding(struct sim *sim, const char *audit, const struct ff_execution *row)
{
    const struct note *const note =
        book_find(sim, (struct ff_exec_id){row->partition_key, row->execution_id});

    sim_fail(sim, "audit %s: execution of t%u, state %d, generation %d, epoch %" PRId64, audit,
             note ? note->submit->number : 0, row->state, row->generation, row->lease_epoch);
}

static bool is_active(const struct ff_execution *row)
{
    return ff_state_is_leased(row->state);
}

static void audit_lease(struct sim *sim, const struct ff_execution *row)
{
    const bool whole = !ff_uuid_is_zero(row->lease_id) && row->lease_ttl_ms != FF_NULL64 &&
                       row->lease_acquired_at_ms != FF_NULL64 &&
                       row->lease_expires_at_ms != FF_NULL64 && !ff_str_is_null(row->worker_id) &&
                       !ff_str_is_null(row->worker_instance_id) && row->lease_epoch >= 1 &&
                       row->started_at_ms != FF_NULL64;
    const bool held = !ff_uuid_is_zero(row->lease_id) || row->lease_ttl_ms != FF_NULL64 ||
                      row->lease_renewed_at_ms != FF_NULL64 ||
                      row->lease_expires_at_ms != FF_NULL64;
    const bool by_whom = row->lease_acquired_at_ms != FF_NULL64 ||
                         !ff_str_is_null(row->worker_id) ||
                         !ff_str_is_null(row->worker_instance_id);

    if (is_active(row) && !whole)
        finding(sim, "active_without_lease", row);
    if (!is_active(row) && (held || (by_whom && !ff_attempt_is_kept(row))))
        finding(sim, "lease_without_owner", row);
}

static void audit_timer(struct sim *sim, const struct ff_execution *row)
{
    const bool terminal = ff_state_is_terminal(row->state);
    const bool delayed = ff_state_is_delayed(row->state);
    const bool timed =
        row->state == FF_STATE_ACTIVE || delayed || (!terminal && row->deadline_at_ms != FF_NULL64);

    if (timed && row->due_at_ms == FF_NULL64)
        finding(sim, "timer_missing", row);
    if (delayed && (row->delay_until_ms == FF_NULL64 || row->due_at_ms > row->delay_until_ms))
        finding(sim, "timer_missing", row);
    if (!terminal && row->deadline_at_ms != FF_NULL64 && row->due_at_ms > row->deadline_at_ms)
        finding(sim, "timer_missing", row);
    if (terminal && (row->due_at_ms != FF_NULL64 || row->finished_at_ms == FF_NULL64))
        finding(sim, "timer_of_the_dead", row);
    if (!terminal && row->finished_at_ms != FF_NULL64)
        finding(sim, "timer_of_the_dead", row);
}

static void audit_numbers(struct sim *sim, const struct ff_execution *row)
{
    if (row->generation < 0 || row->attempt_index < 0 || row->attempt_count < 0 ||
        row->retry_count < 0 || row->reclaim_count < 0 || row->replay_count < 0 ||
        row->lease_epoch < 0 || row->last_epoch < 0 ||
        (row->attempt_spent_ms < 0 && ff_uuid_is_zero(row->lease_id)) || row->version < 0 ||
        row->priority < 0 || row->last_epoch > row->lease_epoch ||
        row->replay_count > row->generation || row->attempt_count > row->lease_epoch)
        finding(sim, "negative_counter", row);
    if (row->changed_at_ms < row->created_at_ms ||
        (row->started_at_ms != FF_NULL64 && row->started_at_ms < row->created_at_ms) ||
        (row->finished_at_ms != FF_NULL64 &&
         (row->finished_at_ms < row->created_at_ms || row->finished_at_ms > row->changed_at_ms)))
        finding(sim, "time_runs_back", row);
    if (row->lease_acquired_at_ms != FF_NULL64 && row->lease_acquired_at_ms > row->changed_at_ms)
        finding(sim, "time_runs_back", row);
}

static void audit_attempts(struct sim *sim, const struct ff_execution *row)
{
    const struct ff_attempt key = {.partition_key = row->partition_key,
                                   .execution_id = row->execution_id,
                                   .lease_epoch = row->last_epoch};
    const struct ff_attempt *const last = model_row(sim->model, FF_TABLE_ATTEMPT, &key);

    if (!ff_uuid_is_zero(row->last_lease_id) && !ff_attempt_is_kept(row) &&
        (!last || !ff_uuid_eq(last->lease_id, row->last_lease_id)))
        finding(sim, "attempt_missing", row);
    if (last && ff_attempt_is_kept(row))
        finding(sim, "attempt_twice", row);
    if (row->capset_id != 0) {
        const struct ff_capset capset = {.capset_id = row->capset_id};

        if (!model_row(sim->model, FF_TABLE_CAPSET, &capset))
            finding(sim, "capset_missing", row);
    }
    if (row->flags & FF_EXEC_INPUT_ELSEWHERE) {
        struct ff_payload input = {.partition_key = row->partition_key,
                                   .execution_id = row->execution_id,
                                   .kind = FF_PAYLOAD_INPUT};
        bool found = false;

        for (input.generation = 0; input.generation <= row->generation; input.generation++)
            found = found || model_row(sim->model, FF_TABLE_PAYLOAD, &input);
        if (!found)
            finding(sim, "input_missing", row);
    }
}

/* What belongs to an execution goes with it. */
static void audit_orphans(struct sim *sim)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++) {
        if (ff_tables[table].scope != FF_SCOPE_EXECUTION || table == FF_TABLE_EXECUTION)
            continue;
        for (size_t i = 0; i < model_slot_count(sim->model, (ff_table)table); i++) {
            /* Every execution-scoped struct begins as ff_attempt does. */
            const struct ff_attempt *const row = model_slot_at(sim->model, (ff_table)table, i)->row;
            const struct ff_execution key = {.partition_key = row ? row->partition_key : 0,
                                             .execution_id = row ? row->execution_id
                                                                 : (struct ff_uuid){.b = {0}}};
            const struct ff_execution *const owner =
                row ? model_row(sim->model, FF_TABLE_EXECUTION, &key) : NULL;

            if (row && !owner)
                sim_fail(sim, "audit orphan: a row of %s", ff_tables[table].name);
            if (row && owner && table == FF_TABLE_ATTEMPT &&
                (row->lease_epoch > owner->lease_epoch ||
                 (row->lease_epoch == owner->lease_epoch && is_active(owner)) ||
                 row->generation > owner->generation))
                finding(sim, "attempt_from_the_future", owner);
        }
    }
}

static void audit_event(struct sim *sim, const struct ff_event *event)
{
    const struct ff_execution key = {.partition_key = event->partition_key,
                                     .execution_id = event->execution_id};
    const struct ff_execution *const row = ff_uuid_is_zero(event->execution_id)
                                               ? NULL
                                               : model_row(sim->model, FF_TABLE_EXECUTION, &key);

    if (!row || event->at_ms < row->created_at_ms)
        return;
    if (event->version > row->version || event->generation > row->generation)
        finding(sim, "event_from_the_future", row);
    if (event->kind != FF_EVENT_COMPLETION || event->generation != row->generation)
        return;
    /* A purged execution may have come back under its id within one millisecond. */
    if (!ff_state_is_terminal(row->state)) {
        const struct note *const note =
            book_find(sim, (struct ff_exec_id){row->partition_key, row->execution_id});

        if (note && note->purges == 0)
            finding(sim, "completion_of_the_living", row);
    } else if (event->state != row->state || !ff_str_eq(event->namespace, row->namespace) ||
               !ff_str_eq(event->instance_tag, row->instance_tag)) {
        finding(sim, "completion_contradicts", row);
    }
}

/* The log tells each story in order. */
static void audit_log(struct sim *sim)
{
    struct ff_hashmap last;
    const struct ff_hash_seed seed = {5, 6};

    ff_hashmap_init(&last, &sim->arena, seed);
    for (size_t i = 0; i < model_event_count(sim->model); i++) {
        const struct ff_event *const event = model_event_at(sim->model, i);
        const struct ff_event *before;

        audit_event(sim, event);
        if (ff_uuid_is_zero(event->execution_id))
            continue;
        before = ff_hashmap_get(&last, event->execution_id.b, 16);
        if (before && before->version > event->version &&
            book_find(sim, (struct ff_exec_id){event->partition_key, event->execution_id})
                    ->purges == 0)
            sim_fail(sim,
                     "audit event_order: event %" PRId64 " has version %" PRId64
                     ", the one before it %" PRId64,
                     event->event_id, event->version, before->version);
        if (before && before->at_ms > event->at_ms &&
            book_find(sim, (struct ff_exec_id){event->partition_key, event->execution_id})
                    ->purges == 0)
            sim_fail(sim,
                     "audit event_order: event %" PRId64 " (%d.%d) is earlier than %" PRId64
                     " (%d.%d) before it",
                     event->event_id, event->kind, event->type, before->event_id, before->kind,
                     before->type);
        if (ff_hashmap_put(&last, event->execution_id.b, 16, (void *)(uintptr_t)event, NULL) !=
            FF_OK)
            sim_fail(sim, "out of memory");
    }
}

static void audit_keys(struct sim *sim)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_DEDUP); i++) {
        const struct ff_dedup *const key = model_slot_at(sim->model, FF_TABLE_DEDUP, i)->row;
        const struct ff_execution wanted = {.partition_key = key ? key->partition_key : 0,
                                            .execution_id = key ? key->execution_id
                                                                : (struct ff_uuid){.b = {0}}};
        const struct ff_execution *const row =
            key ? model_row(sim->model, FF_TABLE_EXECUTION, &wanted) : NULL;

        if (row && key->namespace.len > 0 && !ff_str_eq(key->namespace, row->namespace))
            finding(sim, "dedup_mismatch", row);
    }
}

void audit_store(struct sim *sim)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EXECUTION); i++) {
        const struct ff_execution *const row =
            model_slot_at(sim->model, FF_TABLE_EXECUTION, i)->row;

        if (!row)
            continue;
        audit_lease(sim, row);
        audit_timer(sim, row);
        audit_numbers(sim, row);
        audit_attempts(sim, row);
    }
    audit_orphans(sim);
    audit_log(sim);
    audit_keys(sim);
    audit_flows(sim);
}
