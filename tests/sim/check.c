/* SPDX-License-Identifier: Apache-2.0
 *
 * check.c -- what must hold after every single commit.
 *
 * The epoch rises with every change of owner; an ended generation stays as it ended; every change
 * of state is a legal one; the version tells how many changes there were; a generation is completed
 * once, with one event; a lease lapses only after its time; a key leads to one execution while its
 * window is open. Effects are told to the book, which knows who asked for them. */
#include "book.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "model/codes.h"
#include "model/events.h"
#include "model/lease.h"
#include "model/states.h"

#include "base/banned.h"

#define MOVES_MAX 6 /* more changes of one row in one commit are taken as possible */

/* --- which states can follow within n moves --- */

static int index_of(int32_t state)
{
    for (int i = 0; i < FF_STATE_COUNT; i++)
        if ((int32_t)ff_state_table[i].state == state)
            return i;
    return -1;
}

static bool reachable(int32_t from, int32_t to, int64_t moves)
{
    uint32_t now = 0;

    if (from == to || moves > MOVES_MAX)
        return true;
    for (int i = 0; i < FF_STATE_COUNT; i++)
        now |= (uint32_t)ff_state_move_ok((ff_state)from, ff_state_table[i].state) << i;
    for (int64_t n = 1; n < moves; n++)
        for (int i = 0; i < FF_STATE_COUNT; i++)
            for (int k = 0; (now >> i & 1u) && k < FF_STATE_COUNT; k++)
                now |= (uint32_t)ff_state_move_ok(ff_state_table[i].state, ff_state_table[k].state)
                       << k;
    return moves > 0 && index_of(to) >= 0 && (now >> index_of(to) & 1u);
}

/* --- one row --- */

struct at {
    struct sim *sim;
    const struct model_commit *commit;
    struct note *note;
};

static void wrong(const struct at *at, const char *what)
{
    sim_fail(at->sim, "commit %" PRIu64 ", execution of t%u: %s", at->commit->number,
             at->note ? at->note->submit->number : 0, what);
}

static bool has_lease(const struct ff_execution *row)
{
    return !ff_uuid_is_zero(row->lease_id);
}

static void check_owner(const struct at *at, const struct ff_execution *old,
                        const struct ff_execution *new)
{
    if (has_lease(new) != ff_state_is_leased(new->state))
        wrong(at, "lease and state do not go together");
    if (new->lease_epoch < old->lease_epoch)
        wrong(at, "the epoch falls");
    if (!ff_uuid_eq(old->lease_id, new->lease_id) && new->lease_epoch <= old->lease_epoch)
        wrong(at, "the owner changes and the epoch does not rise");
    if (has_lease(new) && ff_uuid_eq(old->lease_id, new->lease_id) &&
        new->lease_epoch != old->lease_epoch)
        wrong(at, "the epoch changes under a lease");
    if (has_lease(new) && ff_uuid_eq(old->lease_id, new->lease_id) &&
        new->lease_expires_at_ms < old->lease_expires_at_ms)
        wrong(at, "a lease gets shorter");
}

static void check_ended(const struct at *at, const struct ff_execution *old,
                        const struct ff_execution *new)
{
    if (!ff_state_is_terminal(old->state) || old->generation != new->generation)
        return;
    if (old->state != new->state || old->finished_at_ms != new->finished_at_ms ||
        old->lease_epoch != new->lease_epoch || old->last_epoch != new->last_epoch ||
        old->last_end != new->last_end || !ff_str_eq(old->last_hash, new->last_hash))
        wrong(at, "an ended generation changes");
}

static void check_version(const struct at *at, const struct ff_execution *old,
                          const struct ff_execution *new)
{
    const int64_t moves = new->version - old->version;

    if (moves < 0)
        wrong(at, "the version falls");
    if (!reachable(old->state, new->state, moves))
        wrong(at, "no legal way leads from the old state to the new one");
    if (moves == 0 && (old->generation != new->generation || old->priority != new->priority ||
                       old->lease_epoch != new->lease_epoch))
        wrong(at, "a change without a new version");
    if (new->changed_at_ms < old->changed_at_ms)
        wrong(at, "the time of record runs back");
    if (new->generation < old->generation)
        wrong(at, "the generation falls");
}

static void check_counters(const struct at *at, const struct ff_execution *new)
{
    const struct ff_policy *const policy = &at->note->plan->policy;

    if (new->retry_count > policy->max_retries || new->retry_count < 0)
        wrong(at, "more retries than the policy allows");
    if (new->reclaim_count > policy->max_reclaim_count || new->reclaim_count < 0)
        wrong(at, "more reclaims than the policy allows");
    if (new->replay_count > policy->max_replay_count || new->replay_count < 0)
        wrong(at, "more replays than the policy allows");
}

static void see_execution(const struct at *at, const struct ff_execution *old,
                          const struct ff_execution *new)
{
    struct sim *const sim = at->sim;
    const bool one = new->version == old->version + 1;

    if (old->state == FF_STATE_RECLAIMABLE && new->state == FF_STATE_ACTIVE &&
        ff_uuid_eq(old->lease_id, new->lease_id))
        sim_sometimes(sim, SOMETIMES_RECLAIMABLE_REVIVED);
    if (old->state == FF_STATE_ACTIVE && new->state == FF_STATE_RECLAIMABLE &&
        one &&new->changed_at_ms < old->lease_expires_at_ms)
        wrong(at, "a lease became reclaimable before its time");
    if (new->version == old->version &&new->state ==
            FF_STATE_ACTIVE &&new->due_at_ms > old->due_at_ms &&
        old->lease_expires_at_ms <= at->commit->now_ms &&new->lease_expires_at_ms ==
            old->lease_expires_at_ms)
        sim_sometimes(sim, SOMETIMES_LAPSE_BRAKED);
    if (ff_state_is_blocked(old->state) && new->state == FF_STATE_ACTIVE)
        sim_sometimes(sim, SOMETIMES_FREED_CLAIMED);
    if (ff_state_is_leased(old->state) && new->state == FF_STATE_CANCELLED)
        sim_sometimes(sim, SOMETIMES_CANCEL_OF_RUNNING);
    if (one && ff_state_is_delayed(old->state) &&
        new->state == (int32_t)ff_state_after_delay(old->state))
        sim_sometimes(sim, SOMETIMES_DELAY_ENDED);
}

static void purged(const struct at *at, const struct ff_execution *old)
{
    struct note *const note = at->note;

    if (!ff_state_is_terminal(old->state))
        wrong(at, "a living execution is removed");
    /* Members go after their flow was given up; the clock may have been set back since. */
    if (ff_uuid_is_zero(old->flow_id) &&
        old->finished_at_ms > at->commit->now_ms - at->sim->config.retention_ms)
        wrong(at, "an execution is removed before its time");
    sim_sometimes(at->sim, SOMETIMES_PURGED);
    note->exists = false;
    note->purges++;
    note->submit->renewable = true;
    note->completed_generation = -1;
    note->tenancies.len = 0;
    note->returned_epoch = 0;
}

static void check_execution(struct at *at, const struct model_change *change)
{
    static const struct ff_execution nothing;
    const struct ff_execution *const old = change->before;
    const struct ff_execution *const new = change->after;
    const struct ff_execution *const any = new ? new : old;

    at->note = book_find(at->sim, (struct ff_exec_id){any->partition_key, any->execution_id});
    if (!at->note) {
        sim_fail(at->sim, "commit %" PRIu64 " has an execution nobody has asked for",
                 at->commit->number);
        return;
    }
    if (!new) {
        purged(at, old);
        return;
    }
    if (!old) {
        book_effect(at->sim, at->note->submit, at->commit);
        at->note->exists = true;
        if (!reachable(FF_STATE_NONE, new->state, new->version))
            wrong(at, "born in a state nobody is born in");
        if (new->state == FF_STATE_ACTIVE)
            sim_sometimes(at->sim, SOMETIMES_BORN_CLAIMED);
        check_owner(at, &nothing, new);
    } else {
        check_owner(at, old, new);
        check_ended(at, old, new);
        check_version(at, old, new);
        see_execution(at, old, new);
    }
    check_counters(at, new);
}

/* --- events --- */

static void effect_of_note(const struct at *at, struct ff_str text, ff_op_id op)
{
    struct word *const word = book_word_of(at->sim, text);

    if (word && word->op == op)
        book_effect(at->sim, word, at->commit);
}

static void begin_tenancy(const struct at *at, const struct ff_event *event)
{
    struct sim *const sim = at->sim;
    struct note *const note = at->note;
    struct tenancy *const tenancy = sim_alloc(sim, sizeof *tenancy);
    const struct tenancy *const last =
        note->tenancies.len ? note->tenancies.items[note->tenancies.len - 1] : NULL;

    *tenancy = (struct tenancy){.note = note,
                                .epoch = event->lease_epoch,
                                .lease_id = event->lease_id,
                                .claim = book_claim_of(sim, event->lease_id),
                                .begun = at->commit->number};
    if (!tenancy->claim ||
        !ff_str_eq(event->worker_instance_id, tenancy->claim->offer->instance_id)) {
        wrong(at, "a lease for somebody who has not claimed");
        return;
    }
    if (ff_lease_is_of_member(event->lease_id) == ff_uuid_is_zero(event->flow_id))
        wrong(at, "a lease id that does not tell whether it is a member's");
    if (last && last->epoch >= tenancy->epoch)
        wrong(at, "a lease with an epoch that is not above the last one");
    if (book_lease(sim, tenancy->lease_id))
        wrong(at, "a lease id is used twice");
    if (last && last->end == FF_END_LAPSED && last->claim != tenancy->claim)
        sim_sometimes(sim, SOMETIMES_TAKE_OVER);
    if (ff_hashmap_put(&sim->book->by_lease, tenancy->lease_id.b, 16, tenancy, NULL) != FF_OK ||
        vec_push(&note->tenancies, &sim->arena, tenancy, NULL) != FF_OK)
        assert(!"out of memory");
    if (tenancy->claim->applied != at->commit->number)
        tenancy->claim->tasks = 0;
    tenancy->claim->tasks++;
    book_effect(sim, tenancy->claim, at->commit);
}

static void lease_event(const struct at *at, const struct ff_event *event)
{
    switch (event->type) {
    case FF_EVENT_LEASE_ACQUIRED:
    case FF_EVENT_LEASE_RECLAIMED:
        begin_tenancy(at, event);
        break;
    case FF_EVENT_LEASE_RELEASED:
        effect_of_note(at, event->note, FF_OP_EXECUTION_RELEASE);
        break;
    case FF_EVENT_LEASE_REVOKED:
        effect_of_note(at, event->note, FF_OP_EXECUTION_REVOKE);
        break;
    case FF_EVENT_LEASE_EXPIRED:
        sim_sometimes(at->sim, SOMETIMES_LEASE_LAPSED);
        break;
    default:
        break;
    }
}

static void operator_event(const struct at *at, const struct ff_event *event)
{
    switch (event->type) {
    case FF_EVENT_OPERATOR_CANCEL_REQUESTED:
        effect_of_note(at, event->note, FF_OP_EXECUTION_CANCEL);
        break;
    case FF_EVENT_OPERATOR_PRIORITY_CHANGED:
        effect_of_note(at, event->note, FF_OP_EXECUTION_PRIORITY);
        break;
    case FF_EVENT_OPERATOR_REPLAYED:
        sim_sometimes(at->sim, SOMETIMES_REPLAYED);
        effect_of_note(at, event->note, FF_OP_EXECUTION_REPLAY);
        break;
    case FF_EVENT_OPERATOR_LANE_PAUSED:
        sim_sometimes(at->sim, SOMETIMES_LANE_PAUSED);
        effect_of_note(at, event->prev_owner, FF_OP_LANE_PAUSE);
        break;
    case FF_EVENT_OPERATOR_LANE_RESUMED:
        effect_of_note(at, event->prev_owner, FF_OP_LANE_PAUSE);
        break;
    default:
        break;
    }
}

static void completion_event(const struct at *at, const struct ff_event *event)
{
    struct note *const note = at->note;

    if (event->generation <= note->completed_generation)
        wrong(at, "a generation is completed twice");
    if (event->generation > note->completed_generation + 1)
        wrong(at, "a generation has no completion");
    note->completed_generation = event->generation;
    if (event->type == FF_EVENT_COMPLETION_FAILED) {
        sim_sometimes(at->sim, SOMETIMES_RETRIES_EXHAUSTED);
        effect_of_note(at, event->note, FF_OP_EXECUTION_FAIL);
    }
    if (event->type == FF_EVENT_COMPLETION_EXPIRED && ff_str_eq(event->note, FF_STR("deadline")))
        sim_sometimes(at->sim, SOMETIMES_DEADLINE_PASSED);
}

/* A delay is found by its length. */
static void delay_event(const struct at *at, const struct ff_event *event)
{
    const struct note *const note = at->note;

    for (size_t i = note->tenancies.len; i > 0; i--) {
        const struct tenancy *const tenancy = note->tenancies.items[i - 1];

        struct word *said = NULL;

        for (struct word *word = tenancy->words; word && !tenancy->ended; word = word->next)
            if (word->op == FF_OP_EXECUTION_DELAY && word->a == event->num_a - at->commit->now_ms)
                said = word;
        if (said) {
            book_effect(at->sim, said, at->commit);
            return;
        }
    }
    wrong(at, "a delay nobody has asked for");
}

static void check_event(struct at *at, const struct ff_event *event)
{
    at->note = NULL;
    if (!ff_uuid_is_zero(event->execution_id)) {
        at->note =
            book_find(at->sim, (struct ff_exec_id){event->partition_key, event->execution_id});
        if (!at->note) {
            sim_fail(at->sim, "an event about an execution nobody has asked for");
            return;
        }
        /* Ids are taken under the row's lock, so they follow its story. */
        if (event->event_id <= at->note->last_event_id)
            wrong(at, "an event has a lower id than one before it");
        at->note->last_event_id = event->event_id;
    } else if (event->kind == FF_EVENT_LEASE || event->kind == FF_EVENT_COMPLETION ||
               event->kind == FF_EVENT_EXECUTION) {
        sim_fail(at->sim, "an event about an execution does not say which");
        return;
    }
    switch (event->kind) {
    case FF_EVENT_LEASE:
        lease_event(at, event);
        break;
    case FF_EVENT_COMPLETION:
        completion_event(at, event);
        break;
    case FF_EVENT_OPERATOR:
        operator_event(at, event);
        break;
    case FF_EVENT_EXECUTION:
        if (event->type == FF_EVENT_EXECUTION_RETRY_SCHEDULED)
            effect_of_note(at, event->note, FF_OP_EXECUTION_FAIL);
        if (event->type == FF_EVENT_EXECUTION_DELAYED)
            delay_event(at, event);
        break;
    case FF_EVENT_FLOW:
        if (event->type == FF_EVENT_FLOW_CANCELLED)
            effect_of_note(at, event->note, FF_OP_FLOW_CANCEL);
        break;
    default:
        break;
    }
}

/* --- ends of leases --- */

static const struct ff_execution *before_of(const struct at *at, const struct note *note)
{
    for (size_t i = 0; i < at->commit->change_count; i++) {
        const struct model_change *const change = &at->commit->changes[i];
        const struct ff_execution *const row = change->before;

        if (change->slot->table == FF_TABLE_EXECUTION && row &&
            ff_uuid_eq(row->execution_id, note->id.uuid))
            return row;
    }
    return NULL;
}

/* A completion without a result leaves no text of its own: it is found by its lease. */
static void effect_of_end(const struct at *at, const struct tenancy *tenancy)
{
    if (tenancy->end != FF_END_COMPLETED || tenancy->has_result)
        return;
    struct word *said = NULL; /* the oldest: what says the same is one word */

    for (struct word *word = tenancy->words; word; word = word->next)
        if (word->op == FF_OP_EXECUTION_COMPLETE && word->bare)
            said = word;
    if (said)
        book_effect(at->sim, said, at->commit);
    else
        wrong(at, "a lease ended by a completion nobody has asked for");
}

/* In a cancelled flow no attempt follows: what would have been a retry or a delay is the end. */
static void effect_in_cancelled_flow(const struct at *at, const struct ff_attempt *attempt,
                                     const struct tenancy *tenancy)
{
    struct word *said = NULL;

    effect_of_note(at, attempt->failure_message, FF_OP_EXECUTION_FAIL);
    for (size_t i = 0; i < at->commit->event_count; i++) {
        const struct ff_event *const event = at->commit->events[i];

        if (!ff_uuid_eq(event->execution_id, attempt->execution_id) ||
            event->kind != FF_EVENT_COMPLETION ||
            !ff_str_eq(event->note, FF_STR("flow_cancelled")) ||
            !ff_str_is_null(attempt->failure_message))
            continue;
        for (struct word *word = tenancy->words; word; word = word->next)
            if (word->op == FF_OP_EXECUTION_DELAY &&
                word->asks[KNOWN_OUT] + word->asks[KNOWN_MAYBE] > 0) /* also if nobody waits */
                said = word;
    }
    if (said)
        book_effect(at->sim, said, at->commit);
}

static void see_end(const struct at *at, const struct ff_attempt *attempt,
                    const struct ff_execution *before)
{
    struct sim *const sim = at->sim;
    const bool word = attempt->outcome == FF_END_COMPLETED || attempt->outcome == FF_END_FAILED ||
                      attempt->outcome == FF_END_RETRY;

    if (attempt->outcome == FF_END_LAPSED && attempt->failure_class == FF_FAILURE_TIMEOUT)
        sim_sometimes(sim, SOMETIMES_ATTEMPT_TIMED_OUT);
    if (!before || !ff_uuid_eq(before->lease_id, attempt->lease_id))
        return;
    if (attempt->outcome == FF_END_LAPSED && attempt->failure_class == FF_FAILURE_INFRA_CRASH &&
        attempt->ended_at_ms < before->lease_expires_at_ms)
        wrong(at, "a lease lapsed before its time");
    if (word && before->state == FF_STATE_RECLAIMABLE)
        sim_sometimes(sim, SOMETIMES_LATE_RECLAIM_ACCEPTED);
    else if (word && attempt->ended_at_ms > before->lease_expires_at_ms)
        sim_sometimes(sim, SOMETIMES_LATE_WORK_ACCEPTED);
}

/* The attempt that completed an execution comes from its row to the others, as it was. */
static void check_parted(const struct at *at, const struct ff_attempt *attempt,
                         struct tenancy *tenancy)
{
    const struct ff_execution *const row = before_of(at, at->note);

    tenancy->kept = false;
    if (!row || !ff_attempt_is_kept(row) || row->last_epoch != attempt->lease_epoch ||
        row->generation != attempt->generation || row->attempt_index != attempt->attempt_index ||
        row->attempt_type != attempt->attempt_type || row->finished_at_ms != attempt->ended_at_ms ||
        row->lease_acquired_at_ms != attempt->started_at_ms || attempt->outcome != tenancy->end ||
        !ff_str_eq(attempt->worker_instance_id, tenancy->claim->offer->instance_id))
        wrong(at, "an attempt is not what its execution has kept of it");
}

static void check_attempt(struct at *at, const struct ff_attempt *attempt, bool kept)
{
    struct tenancy *tenancy;

    at->note =
        book_find(at->sim, (struct ff_exec_id){attempt->partition_key, attempt->execution_id});
    tenancy = at->note ? book_tenancy(at->note, attempt->lease_epoch) : NULL;
    if (tenancy && tenancy->kept && ff_uuid_eq(tenancy->lease_id, attempt->lease_id)) {
        if (!kept)
            check_parted(at, attempt, tenancy);
        return;
    }
    if (!tenancy || !ff_uuid_eq(tenancy->lease_id, attempt->lease_id) || tenancy->ended) {
        wrong(at, "a lease ends that was not there, or ends twice");
        return;
    }
    tenancy->kept = kept;
    tenancy->ended = at->commit->number;
    tenancy->end = attempt->outcome;
    effect_of_end(at, tenancy);
    if (attempt->outcome == FF_END_CANCELLED)
        effect_in_cancelled_flow(at, attempt, tenancy);
    see_end(at, attempt, before_of(at, at->note));
}

/* After those in the table: what a row no longer keeps must be among them. */
static void check_kept(struct at *at, const struct model_change *change)
{
    const struct ff_execution *const old = change->before;
    const struct ff_execution *const new = change->after;
    const struct tenancy *was;
    struct ff_attempt attempt = {.head = {.table = FF_TABLE_ATTEMPT}};

    if (!new)
        return;
    at->note = book_find(at->sim, (struct ff_exec_id){new->partition_key, new->execution_id});
    was = at->note && old ? book_tenancy(at->note, old->last_epoch) : NULL;
    if (was && was->kept && (!ff_attempt_is_kept(new) || new->last_epoch != old->last_epoch))
        wrong(at, "the attempt that completed an execution is lost");
    if (new->state == FF_STATE_SUCCESS && !ff_attempt_is_kept(new))
        wrong(at, "a completed execution does not keep its attempt");
    if (ff_attempt_is_kept(new)) {
        ff_attempt_kept(new, &attempt);
        check_attempt(at, &attempt, true);
    }
}

/* --- the other tables --- */

static void check_dedup(struct at *at, const struct model_change *change)
{
    const struct ff_dedup *const old = change->before;
    const struct ff_dedup *const new = change->after;

    if (!old)
        return;
    if (old->expires_at_ms > at->commit->now_ms &&
        (!new || !ff_uuid_eq(old->execution_id, new->execution_id)))
        sim_fail(at->sim, "commit %" PRIu64 ": a key is given away while its window is open",
                 at->commit->number);
    if (new)
        sim_sometimes(at->sim, SOMETIMES_KEY_WINDOW_OVER);
}

static void check_payload(struct at *at, const struct model_change *change)
{
    const struct ff_payload *const payload = change->after;
    struct word *word;

    if (!payload || payload->kind != FF_PAYLOAD_RESULT)
        return;
    word = book_word_of(at->sim, payload->data);
    if (!word || word->op != FF_OP_EXECUTION_COMPLETE ||
        !ff_uuid_eq(word->note->id.uuid, payload->execution_id)) {
        sim_fail(at->sim, "commit %" PRIu64 ": a result nobody has given", at->commit->number);
        return;
    }
    word->tenancy->has_result = true;
    book_effect(at->sim, word, at->commit);
}

static void check_tag(struct at *at, const struct model_change *change)
{
    const struct ff_tag *const tag = change->after;
    struct word *const word = tag ? book_word_of(at->sim, tag->value) : NULL;

    if (word && word->op == FF_OP_EXECUTION_TAG)
        book_effect(at->sim, word, at->commit);
}

/* A renewal that leaves the end of the lease where it was; whether it is told is a matter of
 * sampling. */
static bool is_renewed(const struct ff_execution *old, const struct ff_execution *new)
{
    return old->state == new->state &&ff_uuid_eq(old->lease_id, new->lease_id) &&
           old->lease_expires_at_ms == new->lease_expires_at_ms &&
           (old->lease_ttl_ms != new->lease_ttl_ms ||
            old->lease_renewed_at_ms != new->lease_renewed_at_ms);
}

/* Whatever raises the version says so in the log; only a delay that ends does not. */
static void check_told(const struct at *at, const struct model_change *change)
{
    const struct ff_execution *const old = change->before;
    const struct ff_execution *const new = change->after;
    int64_t told = 0;

    if (!old || !new || new->version == old->version ||
        (ff_state_is_delayed(old->state) &&
         new->state == (int32_t)ff_state_after_delay(old->state)) ||
        is_silent_change(at->commit, old, new) || is_renewed(old, new))
        return;
    for (size_t i = 0; i < at->commit->event_count; i++) {
        const struct ff_event *const event = at->commit->events[i];

        if (!ff_uuid_eq(event->execution_id, new->execution_id))
            continue;
        if (event->version < old->version || event->version > new->version)
            wrong(at, "an event with a version its execution did not have");
        told = ff_max_i64(told, event->version);
    }
    if (told != new->version)
        wrong(at, "a change that the log does not tell");
}

/* The row as the commit leaves it, and what its events said. */
static void check_completed(struct at *at, const struct model_change *change)
{
    const struct ff_execution *const row = change->after;
    const struct note *note;
    const struct tenancy *last;

    if (!row)
        return;
    note = at->note =
        book_find(at->sim, (struct ff_exec_id){row->partition_key, row->execution_id});
    if (!note)
        return;
    check_told(at, change);
    if (ff_state_is_terminal(row->state) != (note->completed_generation == row->generation))
        wrong(at, "state and completion event do not go together");
    last = note->tenancies.len ? note->tenancies.items[note->tenancies.len - 1] : NULL;
    if (has_lease(row) && (!last || last->ended || last->epoch != row->lease_epoch ||
                           !ff_uuid_eq(last->lease_id, row->lease_id)))
        wrong(at, "a lease on the row that the log does not know");
    if (!has_lease(row) && last && !last->ended)
        wrong(at, "a lease that went without an end");
}

void check_commit(struct sim *sim, const struct model_commit *commit)
{
    struct at at = {.sim = sim, .commit = commit};

    sim_trace(sim, &commit->number, sizeof commit->number);
    for (size_t i = 0; i < commit->change_count; i++) {
        const struct model_change *const change = &commit->changes[i];

        switch ((int)change->slot->table) {
        case FF_TABLE_EXECUTION:
            check_execution(&at, change);
            break;
        case FF_TABLE_DEDUP:
            check_dedup(&at, change);
            break;
        case FF_TABLE_PAYLOAD:
            check_payload(&at, change);
            break;
        case FF_TABLE_TAG:
            check_tag(&at, change);
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; i < commit->event_count; i++)
        check_event(&at, commit->events[i]);
    for (size_t i = 0; i < commit->change_count; i++)
        if (commit->changes[i].slot->table == FF_TABLE_ATTEMPT && commit->changes[i].after &&
            !commit->changes[i].before)
            check_attempt(&at, commit->changes[i].after, false);
    for (size_t i = 0; i < commit->change_count; i++)
        if (commit->changes[i].slot->table == FF_TABLE_EXECUTION)
            check_kept(&at, &commit->changes[i]);
    for (size_t i = 0; i < commit->change_count; i++)
        if (commit->changes[i].slot->table == FF_TABLE_EXECUTION)
            check_completed(&at, &commit->changes[i]);
    check_flows(sim, commit);
    check_needs(sim, commit);
}
