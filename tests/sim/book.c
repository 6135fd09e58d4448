/* SPDX-License-Identifier: Apache-2.0
 *
 * book.c -- what was asked, what was told, and whether the two go together with what happened.
 *
 * What must stay true of the engine: nothing acknowledged is lost; whatever is answered with
 * anything but ok and outcome_unknown has left no trace and never will; no word takes effect twice;
 * a lease that has ended is nobody's any more. */
#include "book.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "model/capset.h"
#include "model/codes.h"
#include "model/lease.h"
#include "model/states.h"
#include "ops/flow.h"

#include "base/banned.h"

struct book *book_new(struct sim *sim)
{
    static const struct ff_hash_seed seed = {3, 4};
    struct book *const book = sim_alloc(sim, sizeof *book);

    ff_hashmap_init(&book->by_uuid, &sim->arena, seed);
    ff_hashmap_init(&book->by_lease, &sim->arena, seed);
    ff_hashmap_init(&book->by_promise, &sim->arena, seed);
    return book;
}

static void add(struct sim *sim, struct vec *vec, void *item)
{
    if (vec_push(vec, &sim->arena, item, NULL) != FF_OK)
        assert(!"out of memory");
}

struct note *book_note(struct sim *sim, struct ff_exec_id id, const struct plan *plan)
{
    struct note *const note = sim_alloc(sim, sizeof *note);

    note->id = id;
    note->plan = plan;
    note->completed_generation = -1;
    note->submit = book_word(sim, FF_OP_EXECUTION_SUBMIT, note, NULL);
    add(sim, &sim->book->notes, note);
    if (ff_hashmap_put(&sim->book->by_uuid, note->id.uuid.b, 16, note, NULL) != FF_OK)
        assert(!"out of memory");
    return note;
}

struct note *book_member(struct sim *sim, struct flow_note *flow, const struct plan *plan,
                         struct word *word)
{
    struct note *const note = sim_alloc(sim, sizeof *note);
    const struct ff_str name = ff_arena_printf(&sim->arena, "n%zu", flow->members.len);

    if (ff_member_id(flow->id, name, &note->id, NULL) != FF_OK)
        assert(!"a name that cannot be hashed");
    note->plan = plan;
    note->flow = flow;
    note->completed_generation = -1;
    note->submit = word;
    add(sim, &flow->members, note);
    add(sim, &sim->book->notes, note);
    if (ff_hashmap_put(&sim->book->by_uuid, note->id.uuid.b, 16, note, NULL) != FF_OK)
        assert(!"out of memory");
    return note;
}

struct note *book_find(struct sim *sim, struct ff_exec_id id)
{
    return ff_hashmap_get(&sim->book->by_uuid, id.uuid.b, 16);
}

struct word *book_word(struct sim *sim, ff_op_id op, struct note *note, struct tenancy *tenancy)
{
    struct word *const word = sim_alloc(sim, sizeof *word);

    word->number = (uint32_t)sim->book->words.len;
    word->op = op;
    word->note = note;
    word->tenancy = tenancy;
    if (tenancy) {
        word->next = tenancy->words;
        tenancy->words = word;
    }
    add(sim, &sim->book->words, word);
    return word;
}

struct tenancy *book_tenancy(struct note *note, int64_t epoch)
{
    for (size_t i = note->tenancies.len; i > 0; i--) {
        struct tenancy *const tenancy = note->tenancies.items[i - 1];

        if (tenancy->epoch == epoch)
            return tenancy;
    }
    return NULL;
}

struct tenancy *book_lease(struct sim *sim, struct ff_uuid lease_id)
{
    return ff_hashmap_get(&sim->book->by_lease, lease_id.b, 16);
}

struct ff_str book_token(struct sim *sim, const struct word *word)
{
    return ff_arena_printf(&sim->arena, "t%u", word->number);
}

struct word *book_word_of(struct sim *sim, struct ff_str token)
{
    int64_t number;

    if (token.len < 2 || token.ptr[0] != 't' ||
        !ff_str_to_i64(ff_str_slice(token, 1, token.len), &number) || number < 0 ||
        (size_t)number >= sim->book->words.len)
        return NULL;
    return sim->book->words.items[number];
}

void book_promise(struct sim *sim, struct word *claim, struct ff_uuid seed)
{
    const struct ff_work work = {.seed = seed};

    for (uint32_t nth = 0; nth < (uint32_t)claim->offer->max; nth++) {
        const struct ff_uuid lease_id = ff_lease_id(ff_work_uuid(&work, nth), false);

        if (ff_hashmap_put(&sim->book->by_promise, lease_id.b, 16, claim, NULL) != FF_OK)
            assert(!"out of memory");
    }
}

struct word *book_claim_of(struct sim *sim, struct ff_uuid lease_id)
{
    const struct ff_uuid promised = ff_lease_id(lease_id, false);

    return ff_hashmap_get(&sim->book->by_promise, promised.b, 16);
}

static const char *op_name(const struct word *word)
{
    return ff_op_types[word->op].name;
}

void book_effect(struct sim *sim, struct word *word, const struct model_commit *commit)
{
    const uint64_t number = commit->number;

    if (word->applied && word->applied != number && !word->renewable)
        sim_fail(sim, "t%u %s took effect twice, in commits %" PRIu64 " and %" PRIu64, word->number,
                 op_name(word), word->applied, number);
    if (word->applied != number && word->asks[KNOWN_OUT] == 0) {
        if (word->asks[KNOWN_MAYBE] == 0)
            sim_fail(sim,
                     "t%u %s took effect in commit %" PRIu64
                     " although its callers were told that it had not",
                     word->number, op_name(word), number);
        else if (commit->begun_us > word->settled_us)
            sim_fail(sim,
                     "t%u %s was applied in commit %" PRIu64 ", begun after its caller had gone",
                     word->number, op_name(word), number);
    }
    word->applied = number;
    word->renewable = false;
}

void book_settle(struct sim *sim, struct ask *ask, known what)
{
    struct word *const word = ask->word;

    word->asks[ask->known]--;
    ask->known = what;
    word->asks[what]++;
    if (!ask->left || what == KNOWN_MAYBE)
        word->settled_us = sim->now_us;
}

/* --- answers --- */

static const struct ff_execution *row_of(const struct sim *sim, const struct note *note)
{
    const struct ff_execution key = {.partition_key = note->id.partition,
                                     .execution_id = note->id.uuid};

    return model_row(sim->model, FF_TABLE_EXECUTION, &key);
}

static void must_be_applied(struct sim *sim, const struct ask *ask)
{
    if (!ask->word->applied)
        sim_fail(sim, "t%u %s was answered ok and left nothing", ask->word->number,
                 op_name(ask->word));
}

/* One whose upstreams run again already waits for them, and so do all it was to begin with: then
 * nothing is told before its join is open again. */
static void judge_replay(struct sim *sim, const struct ask *ask)
{
    const struct ff_execution *const row = row_of(sim, ask->word->note);
    const bool scope_is_ancestors = ask->word->b == 1;

    if (scope_is_ancestors && row &&
        (row->state == FF_STATE_SKIPPED || row->flags & FF_EXEC_FOLLOWS))
        return;
    must_be_applied(sim, ask);
}

static void judge_submit(struct sim *sim, struct ask *ask, const struct ff_submit_out *out)
{
    struct word *const word = ask->word;
    const struct note *const first = book_find(sim, out->id);

    ask->submitted = *out;
    if (out->created) {
        if (!ff_exec_id_eq(out->id, word->note->id))
            sim_fail(sim, "t%u a submission was answered with somebody else's id", word->number);
        must_be_applied(sim, ask);
        return;
    }
    sim_sometimes(sim, SOMETIMES_DUPLICATE_SUBMIT);
    if (!first || first->plan != word->note->plan)
        sim_fail(sim, "t%u a submission is called a duplicate of another request", word->number);
    else if (!first->submit->applied && first->purges == 0)
        sim_fail(sim, "t%u a submission is called a duplicate of one that is not there",
                 word->number);
    if (first && first != word->note && word->applied)
        sim_fail(sim, "t%u a duplicate made an execution", word->number);
}

static bool offers(const struct worker_offer *offer, const struct plan *plan)
{
    bool lane = false;
    bool kind = offer->kinds == 0;

    for (int i = 0; i < 3; i++) {
        lane |= (offer->lanes >> i & 1) && ff_str_eq(ff_str_of(sim_lanes[i]), plan->lane);
        kind |= (offer->kinds >> i & 1) && ff_str_eq(ff_str_of(sim_kinds[i]), plan->kind);
    }
    return lane && kind && (plan->capabilities & ~offer->capabilities) == 0 &&
           (ff_str_is_null(offer->namespace) || ff_str_eq(offer->namespace, plan->namespace));
}

static void judge_task(struct sim *sim, struct ask *ask, const struct ff_task_out *task)
{
    const struct tenancy *const tenancy = book_lease(sim, task->lease_id);
    struct note *const note = tenancy ? tenancy->note : NULL;

    if (!note || tenancy->epoch != task->lease_epoch || !ff_exec_id_eq(note->id, task->id)) {
        sim_fail(sim, "t%u a claim was answered with a lease that is not there", ask->word->number);
        return;
    }
    if (tenancy->claim != ask->word)
        sim_fail(sim, "t%u a claim was answered with the lease of t%u", ask->word->number,
                 tenancy->claim->number);
    if (tenancy->ended && tenancy->ended <= ask->commits_before)
        sim_fail(sim, "t%u a claim was answered with a lease that had ended in commit %" PRIu64,
                 ask->word->number, tenancy->ended);
    if (!offers(ask->word->offer, note->plan))
        sim_fail(sim, "t%u a claim was answered with work it had not asked for", ask->word->number);
    if (!task->input_elsewhere && !note->new_input && !ff_str_eq(task->input, note->plan->input))
        sim_fail(sim, "t%u a task has somebody else's input", ask->word->number);
    check_upstreams(sim, ask->word, task);
    if (task->attempt_type == FF_ATTEMPT_RECLAIM)
        sim_sometimes(sim, SOMETIMES_RECLAIMED);
    if (note->plan->capabilities && note->submit->submitted_at != ask->node)
        sim_sometimes(sim, SOMETIMES_CAPSET_LEARNED);
    if (book_tenancy(note, task->lease_epoch) == tenancy) /* it has not been purged since */
        note->returned_epoch = ff_max_i64(note->returned_epoch, task->lease_epoch);
}

static void judge_claim(struct sim *sim, struct ask *ask, const struct ff_claim_out *out)
{
    const bool again = ask->word->asks[KNOWN_OK] > 0 && ask->word->applied;

    ask->tasks = ff_arena_copy(&sim->arena, out->tasks, out->task_count * sizeof *out->tasks);
    ask->task_count = out->task_count;
    if (out->task_count > 0)
        must_be_applied(sim, ask);
    if (!ask->word->has_request_id && out->task_count != ask->word->tasks)
        sim_fail(sim, "t%u a claim took %u tasks and was answered with %zu", ask->word->number,
                 ask->word->tasks, out->task_count);
    for (size_t i = 0; i < out->task_count; i++) {
        judge_task(sim, ask, &out->tasks[i]);
        for (size_t k = 0; k < i; k++)
            if (ff_exec_id_eq(out->tasks[i].id, out->tasks[k].id))
                sim_fail(sim, "t%u a claim got one execution twice", ask->word->number);
    }
    if (again && out->task_count > 0)
        sim_sometimes(sim, SOMETIMES_REQUEST_REPEATED);
    if (again && out->task_count < ask->word->tasks)
        sim_sometimes(sim, SOMETIMES_REQUEST_OUTLIVED);
}

/* Renewals and progress end nothing: they succeed only while the lease is there. */
static void judge_renewal(struct sim *sim, const struct ask *ask)
{
    const struct tenancy *const tenancy = ask->word->tenancy;

    if (tenancy->ended && tenancy->ended <= ask->commits_before)
        sim_fail(sim, "t%u %s succeeded after its lease had ended", ask->word->number,
                 op_name(ask->word));
    if ((int64_t)ask->epoch_before > tenancy->epoch)
        sim_fail(sim, "t%u %s succeeded with an epoch below one handed out before it was called",
                 ask->word->number, op_name(ask->word));
}

/* A worker's last word was accepted: now, or before and this is the repeat. */
static void judge_last_word(struct sim *sim, const struct ask *ask)
{
    const struct word *const word = ask->word;

    must_be_applied(sim, ask);
    if (ask->applied_before)
        sim_sometimes(sim, SOMETIMES_REPEAT_ACCEPTED);
    else if ((int64_t)ask->epoch_before > word->tenancy->epoch && word->applied &&
             word->applied > ask->commits_before)
        sim_fail(sim, "t%u %s was applied with an epoch below one handed out before it was called",
                 word->number, op_name(word));
    if (word->op == FF_OP_EXECUTION_COMPLETE && ask->state.state != FF_STATE_SUCCESS)
        sim_fail(sim, "t%u a completion was answered with state %d", word->number,
                 ask->state.state);
}

static bool is_last_word(const struct word *word)
{
    return word->op == FF_OP_EXECUTION_COMPLETE || word->op == FF_OP_EXECUTION_FAIL ||
           word->op == FF_OP_EXECUTION_DELAY || word->op == FF_OP_EXECUTION_RELEASE;
}

static void judge_ok(struct sim *sim, struct ask *ask, const struct ff_job *job)
{
    const struct ff_execution *row;

    switch ((int)ask->word->op) {
    case FF_OP_EXECUTION_SUBMIT:
        judge_submit(sim, ask, job->out);
        break;
    case FF_OP_EXECUTION_CLAIM:
        judge_claim(sim, ask, job->out);
        break;
    case FF_OP_EXECUTION_RENEW:
    case FF_OP_EXECUTION_PROGRESS:
        judge_renewal(sim, ask);
        break;
    case FF_OP_EXECUTION_COMPLETE:
    case FF_OP_EXECUTION_FAIL:
    case FF_OP_EXECUTION_DELAY:
    case FF_OP_EXECUTION_RELEASE:
        ask->state = *(const struct ff_state_out *)job->out;
        judge_last_word(sim, ask);
        break;
    case FF_OP_EXECUTION_REPLAY:
        judge_replay(sim, ask);
        break;
    case FF_OP_FLOW_CREATE:
        if (((const struct ff_flow_create_out *)job->out)->created)
            must_be_applied(sim, ask);
        break;
    case FF_OP_FLOW_GROW:
        must_be_applied(sim, ask);
        if (ask->word->graph->again)
            sim_sometimes(sim, SOMETIMES_TOLD_AGAIN);
        break;
    case FF_OP_EXECUTION_CANCEL:
        row = row_of(sim, ask->word->note);
        if (!ask->word->applied && row && row->version == 0)
            sim_fail(sim, "t%u a cancel was answered ok and left nothing", ask->word->number);
        break;
    default:
        break;
    }
}

/* Retention has given up its flow; the members go page by page. */
static bool flow_is_leaving(const struct sim *sim, const struct note *note)
{
    const struct ff_flow key = {.partition_key = note->id.partition,
                                .flow_id =
                                    note->flow ? note->flow->id : (struct ff_uuid){.b = {0}}};
    const struct ff_flow *const flow =
        note->flow ? model_row(sim->model, FF_TABLE_FLOW, &key) : NULL;

    return note->flow && (!flow || flow->state == FF_FLOW_REMOVED);
}

/* Refused for a reason of the domain: was it a good one? */
static void judge_refusal(struct sim *sim, const struct ask *ask)
{
    const struct word *const word = ask->word;
    const struct ff_execution *const row = word->note ? row_of(sim, word->note) : NULL;
    const bool fenced = ask->status == FF_STALE_LEASE || ask->status == FF_LEASE_REVOKED ||
                        ask->status == FF_CONFLICT || ask->status == FF_NOT_ACTIVE;

    if (ask->status == FF_NOT_FOUND && ask->existed_before && word->note &&
        word->note->purges == 0 && !flow_is_leaving(sim, word->note))
        sim_fail(sim, "t%u %s does not find an execution that is there", word->number,
                 op_name(word));
    if (is_last_word(word) && fenced && ask->applied_before && row &&
        row->last_epoch == word->tenancy->epoch &&
        ff_uuid_eq(row->last_lease_id, word->tenancy->lease_id))
        sim_fail(sim, "t%u a repeat of one's own %s is refused: %s", word->number, op_name(word),
                 ff_status_code(ask->status));
    if (word->op == FF_OP_EXECUTION_COMPLETE && ask->status == FF_STALE_LEASE)
        sim_sometimes(sim, SOMETIMES_STALE_COMPLETE_REFUSED);
    if (ask->status == FF_LEASE_REVOKED)
        sim_sometimes(sim, SOMETIMES_REVOKED_WORD_REFUSED);
    if (is_last_word(word) && ask->status == FF_CONFLICT)
        sim_sometimes(sim, SOMETIMES_CONTRADICTION_REFUSED);
    if (ask->status == FF_TOO_LARGE)
        sim_sometimes(sim, SOMETIMES_UNDONE);
    if (ask->status == FF_KEY_REUSED)
        sim_sometimes(sim, SOMETIMES_KEY_REUSED);
}

void book_answer(struct sim *sim, struct ask *ask, const struct ff_job *job)
{
    const bool told_not = ask->left && ask->known == KNOWN_NOT;

    if (told_not) { /* the caller knows better than the job, which is only on its way out */
        if (job->status == FF_OK)
            sim_fail(sim, "t%u %s was given up as not applied and then done", ask->word->number,
                     op_name(ask->word));
        return;
    }
    ask->status = job->status;
    if (job->status == FF_OK) {
        judge_ok(sim, ask, job);
        book_settle(sim, ask, KNOWN_OK);
    } else if (job->status == FF_OUTCOME_UNKNOWN) {
        sim_sometimes(sim, SOMETIMES_OUTCOME_UNKNOWN);
        book_settle(sim, ask, KNOWN_MAYBE);
    } else {
        judge_refusal(sim, ask);
        book_settle(sim, ask, KNOWN_NOT);
        if (ask->word->applied && ask->word->asks[KNOWN_OK] == 0 &&
            ask->word->asks[KNOWN_OUT] == 0 && ask->word->asks[KNOWN_MAYBE] == 0)
            sim_fail(sim, "t%u %s was answered %s and took effect in commit %" PRIu64,
                     ask->word->number, op_name(ask->word), ff_status_code(job->status),
                     ask->word->applied);
    }
}

void book_audit(struct sim *sim)
{
    for (size_t i = 0; i < sim->book->words.len; i++) {
        const struct word *const word = sim->book->words.items[i];
        const bool doubt = word->asks[KNOWN_OUT] > 0 || word->asks[KNOWN_MAYBE] > 0;

        if (word->applied && word->asks[KNOWN_OK] == 0 && !doubt)
            sim_fail(sim, "t%u %s took effect and nobody was told so", word->number, op_name(word));
    }
    for (size_t i = 0; i < sim->book->notes.len; i++) {
        const struct note *const note = sim->book->notes.items[i];

        if (note->submit->applied && note->purges == 0 && !row_of(sim, note))
            sim_fail(sim, "t%u an accepted execution is lost", note->submit->number);
    }
}
