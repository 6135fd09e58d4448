/* SPDX-License-Identifier: Apache-2.0
 *
 * ask.c -- calls: their inputs, the way into an engine, and the four ways they come back.
 *
 * A call ends by an answer, by its caller leaving, or with its engine; the fourth way is the answer
 * that comes after the caller has left. Inputs are made from the word alone, so saying it again
 * says the same. */
#include "book.h"

#include <assert.h>
#include <string.h>

#include "base/macros.h"
#include "model/policy.h"
#include "ops/background.h"

#include "base/banned.h"

#define LATE_MS 50 /* as ff_engine_call: a caller looks this long beyond its deadline */

const char *const sim_lanes[3] = {"alpha", "beta", "gamma"};
const char *const sim_kinds[3] = {"mail", "pay", "scan"};
const char *const sim_namespaces[2] = {"north", "south"};
const char *const sim_capabilities[2] = {"eu", "gpu"};

/* --- out and back --- */

static void tell(struct sim *sim, struct ask *ask)
{
    const int64_t facts[] = {ask->number, ask->word->number, (int64_t)ask->status,
                             (int64_t)ask->known, (int64_t)ask->task_count};

    sim_trace(sim, facts, sizeof facts);
    sim_say(sim, "  t%u %s: %s%s", ask->word->number, ff_op_types[ask->word->op].name,
            ff_status_code(ask->status), ask->left ? " (left)" : "");
    if (ask->actor->hear)
        ask->actor->hear(sim, ask->actor, ask);
}

/* Its node has died: the caller hears that, and no more. */
static void lose(struct sim *sim, struct ask *ask)
{
    ask->left = true;
    ask->status = FF_OUTCOME_UNKNOWN;
    book_settle(sim, ask, KNOWN_MAYBE);
    tell(sim, ask);
}

static void done(struct ff_job *job, void *ctx)
{
    struct ask *const ask = ctx;
    struct node *const node = ask->node;
    struct sim *const sim = node->sim;

    node->turns = 0;
    ask->job = NULL;
    model_vec_remove(&sim->asks_out, ask);
    if (!node->crashing) {
        book_answer(sim, ask, job);
        if (!ask->left)
            tell(sim, ask);
    } else if (!ask->left) { /* another executor ended it in the step in which this node dies */
        lose(sim, ask);
    }
    ff_job_free(job);
}

void ask_node_died(struct sim *sim, struct node *node)
{
    for (size_t i = 0; i < sim->asks_out.len; i++) {
        struct ask *const ask = sim->asks_out.items[i];

        if (ask->node == node && !ask->left)
            lose(sim, ask);
    }
}

void ask_leave(struct sim *sim, struct ask *ask)
{
    struct ff_job *const job = ask->job;
    const ff_giving_up how = ff_engine_give_up(ask->node->engine, job);

    ask->left = true;
    switch (how) {
    case FF_GAVE_UP_YOURS:
        sim_sometimes(sim, SOMETIMES_GAVE_UP_YOURS);
        ask->job = NULL;
        model_vec_remove(&sim->asks_out, ask);
        ff_job_free(job);
        break;
    case FF_GAVE_UP_NOT_APPLIED:
        sim_sometimes(sim, SOMETIMES_GAVE_UP_NOT_APPLIED);
        break;
    case FF_GAVE_UP_LATE:
        sim_sometimes(sim, SOMETIMES_GAVE_UP_LATE);
        break;
    }
    ask->status = how == FF_GAVE_UP_LATE ? FF_OUTCOME_UNKNOWN : FF_TIMEOUT;
    book_settle(sim, ask, how == FF_GAVE_UP_LATE ? KNOWN_MAYBE : KNOWN_NOT);
    tell(sim, ask);
}

static bool note_exists(const struct word *word)
{
    return word->note && word->note->exists;
}

struct ask *ask_new(struct sim *sim, struct actor *actor, struct word *word)
{
    struct ask *const ask = sim_alloc(sim, sizeof *ask);

    ask->number = sim->book->asks++;
    ask->word = word;
    ask->actor = actor;
    ask->node = sim_pick_node(sim);
    ask->commits_before = model_commit_count(sim->model);
    ask->epoch_before = word->note ? (uint64_t)word->note->returned_epoch : 0;
    ask->applied_before = word->applied != 0;
    ask->existed_before = note_exists(word);
    ask->job = ff_job_new(word->op, 512);
    assert(ask->job);
    word->asks[KNOWN_OUT]++;
    return ask;
}

/* Hands the job over; NULL if nobody took it. */
struct ask *ask_send(struct sim *sim, struct ask *ask, int64_t wait_ms)
{
    struct ff_job *const job = ask->job;
    const int64_t timeout_ms = sim->config.timeout_ms;
    struct ff_error error;
    int64_t mono_ms;

    if (!sim->healing && sim->ops_left > 0)
        sim->ops_left--;
    if (!ask->node) { /* nobody is there */
        ff_job_free(job);
        ask->job = NULL;
        book_settle(sim, ask, KNOWN_NOT);
        return NULL;
    }
    mono_ms = sim_mono_us(ask->node) / 1000;
    job->done = done;
    job->ctx = ask;
    job->wait_until_mono_ms = wait_ms > 0 ? mono_ms + wait_ms : 0;
    job->deadline_mono_ms = mono_ms + ff_max_i64(wait_ms, 0) + timeout_ms;
    ask->leave_us = sim->now_us + (ff_max_i64(wait_ms, 0) + timeout_ms + LATE_MS) * 1000;
    if (sim_mishap(sim, FAULT_LEAVE))
        ask->leave_us = sim->now_us + sim_between(sim, STREAM_FAULT, 0, 30000);
    if (ff_engine_submit(ask->node->engine, job, &error) != FF_OK) {
        sim_fail(sim, "an open engine refuses a call: %s", error.message);
        ff_job_free(job);
        return NULL;
    }
    if (ask->word->op == FF_OP_EXECUTION_CLAIM)
        book_promise(sim, ask->word, job->seed);
    sim_say(sim, "  t%u %s to node %d, of t%d epoch %d", ask->word->number,
            ff_op_types[ask->word->op].name, ask->node->number,
            ask->word->note ? (int)ask->word->note->submit->number : -1,
            ask->word->tenancy ? (int)ask->word->tenancy->epoch : -1);
    if (vec_push(&sim->asks_out, &sim->arena, ask, NULL) != FF_OK)
        assert(!"out of memory");
    sim->next_leave_us = ff_min_i64(sim->next_leave_us, ask->leave_us);
    sim_wake(ask->node);
    return ask;
}

/* --- submissions --- */

static void draw_policy(struct sim *sim, struct ff_policy *policy)
{
    ff_policy_default(policy);
    policy->dedup_window_ms = sim->config.dedup_window_ms;
    policy->max_retries = (int32_t)sim_below(sim, STREAM_WORK, 5);
    policy->delay_ms = sim_between(sim, STREAM_WORK, 0, 2000);
    policy->max_delay_ms = 4000;
    policy->jitter = sim_percent(sim, STREAM_WORK, 50);
    if (sim_percent(sim, STREAM_WORK, 25))
        policy->backoff = FF_BACKOFF_FIXED;
    if (sim_percent(sim, STREAM_WORK, 40)) {
        policy->lease_lapse = FF_LAPSE_RECLAIM;
        policy->max_reclaim_count = (int32_t)sim_below(sim, STREAM_WORK, 4);
    }
    if (sim_percent(sim, STREAM_WORK, 20))
        policy->attempt_timeout_ms = sim_between(sim, STREAM_WORK, 50, 8000);
    policy->max_replay_count = (int32_t)sim_below(sim, STREAM_WORK, 4);
}

static struct ff_str draw_input(struct sim *sim, uint32_t number)
{
    /* Some are too long to travel with their execution. */
    const int width = sim_percent(sim, STREAM_WORK, 8) ? 1500 : 1;

    return ff_arena_printf(&sim->arena, "%*u", width, number);
}

struct plan *ask_plan(struct sim *sim)
{
    struct plan *const plan = sim_alloc(sim, sizeof *plan);

    plan->number = sim->book->plans++;
    plan->namespace = ff_str_of(sim_namespaces[sim_below(sim, STREAM_WORK, 2)]);
    plan->lane = ff_str_of(sim_lanes[sim_below(sim, STREAM_WORK, 3)]);
    plan->kind = ff_str_of(sim_kinds[sim_below(sim, STREAM_WORK, 3)]);
    plan->delay_ms = plan->deadline_ms = FF_NULL64;
    /* A few keys, so that different requests meet at one. */
    if (sim_percent(sim, STREAM_WORK, 40))
        plan->key =
            sim_percent(sim, STREAM_WORK, 25)
                ? ff_arena_printf(&sim->arena, "key-%d", (int)sim_below(sim, STREAM_WORK, 5))
                : ff_arena_printf(&sim->arena, "key-of-%u", plan->number);
    plan->own_id = sim_percent(sim, STREAM_WORK, 20);
    plan->priority = (int64_t)sim_below(sim, STREAM_WORK, 4) * 10;
    if (sim_percent(sim, STREAM_WORK, 20))
        plan->delay_ms = sim_between(sim, STREAM_WORK, 0, 5000);
    if (sim_percent(sim, STREAM_WORK, 12))
        plan->deadline_ms = sim_between(sim, STREAM_WORK, 1, 20000);
    if (sim_percent(sim, STREAM_WORK, 20))
        plan->capabilities = 1 + (int)sim_below(sim, STREAM_WORK, 3);
    plan->tagged = sim_percent(sim, STREAM_WORK, 20);
    draw_policy(sim, &plan->policy);
    plan->input = draw_input(sim, plan->number);
    if (sim_mishap(sim, FAULT_POISON))
        plan->kind = FF_STR("poison");
    return plan;
}

static struct ff_str *draw_list(struct ff_arena *arena, const char *const *names, int bits,
                                size_t *ret_count)
{
    struct ff_str *const list = ff_arena_array(arena, 4, sizeof *list);

    assert(list);
    *ret_count = 0;
    for (int i = 0; i < 4 && bits >> i; i++)
        if (bits >> i & 1)
            list[(*ret_count)++] = ff_arena_str(arena, ff_str_of(names[i]));
    return list;
}

static struct ff_exec_id mint(struct sim *sim)
{
    uint8_t random[10];

    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)ff_prng_below(&sim->streams[STREAM_WORK], 256); /* never from a tape */
    return ff_exec_id_mint(sim_store_ms(sim), random);
}

/* What runs; not under which id. */
void ask_fill_node(const struct plan *plan, struct ff_arena *arena, struct ff_submit_in *ret)
{
    *ret = (struct ff_submit_in){.lane = ff_arena_str(arena, plan->lane),
                                 .kind = ff_arena_str(arena, plan->kind),
                                 .input = ff_arena_str(arena, plan->input),
                                 .priority = plan->priority,
                                 .delay_ms = plan->delay_ms,
                                 .delay_until_ms = FF_NULL64,
                                 .deadline_ms = plan->deadline_ms,
                                 .deadline_at_ms = FF_NULL64,
                                 .policy = plan->policy};
    ret->capabilities =
        draw_list(arena, sim_capabilities, plan->capabilities, &ret->capability_count);
    if (plan->tagged) {
        ret->tags = ff_arena_array(arena, 1, sizeof *ret->tags);
        assert(ret->tags);
        ret->tags[0] = (struct ff_tag_in){FF_STR("instance"), FF_STR("blue")};
        ret->tag_count = 1;
    }
}

struct ask *ask_submit(struct sim *sim, struct actor *actor, const struct plan *plan,
                       struct note *note)
{
    struct ask *ask;
    struct ff_submit_in *in;
    struct ff_arena *arena;
    struct ff_settings settings;
    struct ff_error error;

    /* With an id of one's own a repeat has the same; otherwise each saying mints a new one. */
    if (!note)
        note = book_note(sim, mint(sim), plan);
    ask = ask_new(sim, actor, note->submit);
    arena = &ask->job->arena;
    in = ask->job->in = ff_arena_alloc(arena, sizeof *in);
    assert(in);
    ask_fill_node(plan, arena, in);
    in->id = note->id;
    in->own_id = plan->own_id;
    in->namespace = ff_arena_str(arena, plan->namespace);
    in->idempotency_key = ff_arena_str(arena, plan->key);
    ff_settings_default(&settings);
    if (ff_submit_prepare(in, &settings, arena, &error) != FF_OK)
        sim_fail(sim, "a good submission is refused: %s: %s", error.field, error.message);
    note->submit->submitted_at = ask->node;
    /* As one of many in a call: such items wait elsewhere, and for everybody. */
    ask->job->large = ask->job->shared =
        !in->own_id && ff_str_is_null(in->idempotency_key) && in->id.uuid.b[8] % 2;
    return ask_send(sim, ask, 0);
}

/* --- claims and what workers say --- */

struct ask *ask_claim(struct sim *sim, struct actor *actor, struct word *word, int64_t wait_ms)
{
    const struct worker_offer *const offer = word->offer;
    struct ask *const ask = ask_new(sim, actor, word);
    struct ff_arena *const arena = &ask->job->arena;
    struct ff_claim_in *const in = ff_arena_alloc(arena, sizeof *in);
    struct ff_error error;
    struct node *const chosen = &sim->nodes[sim->config.seed % (uint64_t)sim->config.nodes];

    /* Any one process must be able to finish what all of them have begun. */
    if (sim->healing && chosen->engine)
        ask->node = chosen;
    assert(in);
    ask->job->in = in;
    *in = (struct ff_claim_in){.worker_id = ff_arena_str(arena, FF_STR("worker")),
                               .worker_instance_id = ff_arena_str(arena, offer->instance_id),
                               .namespace = ff_arena_str(arena, offer->namespace),
                               .max = offer->max,
                               .lease_ttl_ms = offer->ttl_ms};
    in->lanes = draw_list(arena, sim_lanes, offer->lanes, &in->lane_count);
    in->kinds = draw_list(arena, sim_kinds, offer->kinds, &in->kind_count);
    in->capabilities =
        draw_list(arena, sim_capabilities, offer->capabilities, &in->capability_count);
    if (word->has_request_id)
        in->request_id = ff_arena_printf(arena, "r%u", word->number);
    if (ff_claim_prepare(in, arena, &error) != FF_OK)
        sim_fail(sim, "a good claim is refused: %s: %s", error.field, error.message);
    return ask_send(sim, ask, wait_ms);
}

static struct ff_task_ref ref_of(const struct word *word)
{
    return (struct ff_task_ref){.id = word->note->id,
                                .lease_id = word->tenancy->lease_id,
                                .lease_epoch = word->tenancy->epoch};
}

struct ask *ask_renew(struct sim *sim, struct actor *actor, struct note *note,
                      struct tenancy *tenancy, bool progress)
{
    struct word *const word =
        book_word(sim, progress ? FF_OP_EXECUTION_PROGRESS : FF_OP_EXECUTION_RENEW, note, tenancy);

    word->a = sim_percent(sim, STREAM_WORK, 20)
                  ? sim_between(sim, STREAM_WORK, sim->config.ttl_min_ms, sim->config.ttl_max_ms)
                  : FF_NULL64;
    return ask_word(sim, actor, word);
}

static void *in_of_worker(struct sim *sim, const struct word *word, struct ff_arena *arena)
{
    const struct ff_str token = ff_arena_str(arena, book_token(sim, word));

#define IN(type, ...)                                                                              \
    do {                                                                                           \
        const struct type in_ = {__VA_ARGS__};                                                     \
        return ff_arena_copy(arena, &in_, sizeof in_);                                             \
    } while (0)
    switch ((int)word->op) {
    case FF_OP_EXECUTION_RENEW:
        IN(ff_renew_in, .task = ref_of(word), .lease_ttl_ms = word->a);
    case FF_OP_EXECUTION_PROGRESS:
        IN(ff_progress_in, .task = ref_of(word), .percent = 50, .message = token);
    case FF_OP_EXECUTION_COMPLETE:
        IN(ff_complete_in, .task = ref_of(word), .result = word->bare ? ff_str_null() : token);
    case FF_OP_EXECUTION_FAIL:
        IN(ff_fail_in, .task = ref_of(word), .message = token,
           .failure_class = (ff_failure_class)word->a, .retry_after_ms = word->b);
    case FF_OP_EXECUTION_DELAY:
        IN(ff_delay_in, .task = ref_of(word), .delay_ms = word->a, .delay_until_ms = FF_NULL64);
    case FF_OP_EXECUTION_RELEASE:
        IN(ff_release_in, .task = ref_of(word), .reason = token);
    default:
        return NULL;
    }
}

/* One tag, or so many that there may be more than an execution can have. */
static void *in_of_tag(const struct word *word, struct ff_str token, struct ff_arena *arena)
{
    struct ff_tag_op_in *const in = ff_arena_alloc(arena, sizeof *in);

    assert(in);
    in->id = word->note->id;
    in->tag_count = word->b == 2 ? 20 : 1;
    in->tags = ff_arena_array(arena, in->tag_count, sizeof *in->tags);
    assert(in->tags);
    for (size_t i = 0; i < in->tag_count; i++)
        in->tags[i] = (struct ff_tag_in){
            ff_arena_printf(arena, "tag-%d", (int)(word->a / 2 * 14 + (int64_t)i)),
            word->bare ? ff_str_null() : token};
    return in;
}

static void *in_of_operator(struct sim *sim, const struct word *word, struct ff_arena *arena)
{
    const struct ff_str token = ff_arena_str(arena, book_token(sim, word));

    switch ((int)word->op) {
    case FF_OP_EXECUTION_CANCEL:
        IN(ff_cancel_in, .id = word->note->id, .reason = token, .created_before_ms = FF_NULL64);
    case FF_OP_EXECUTION_PRIORITY:
        IN(ff_priority_in, .id = word->note->id, .priority = word->a, .by = token);
    case FF_OP_EXECUTION_REPLAY:
        IN(ff_replay_in, .id = word->note->id, .reason = token, .has_input = word->bare,
           .input = word->bare ? FF_STR("\"again\"") : ff_str_null(), .deadline_ms = FF_NULL64,
           .expected_generation = FF_NULL64, .finished_before_ms = FF_NULL64,
           .failed_ancestors = word->b == 1, .reopen_downstream = word->a == 3);
    case FF_OP_EXECUTION_REVOKE:
        IN(ff_revoke_in, .id = word->note->id, .by = token);
    case FF_OP_EXECUTION_TAG:
        return in_of_tag(word, token, arena);
    case FF_OP_LANE_PAUSE:
        IN(ff_lane_pause_in, .lane = ff_str_of(sim_lanes[word->b]), .paused = word->a != 0,
           .by = token);
    default:
        return NULL;
    }
#undef IN
}

struct ask *ask_word(struct sim *sim, struct actor *actor, struct word *word)
{
    struct ask *const ask = ask_new(sim, actor, word);
    struct ff_arena *const arena = &ask->job->arena;

    ask->job->in = in_of_worker(sim, word, arena);
    if (!ask->job->in)
        ask->job->in = in_of_operator(sim, word, arena);
    assert(ask->job->in);
    if (word->op == FF_OP_EXECUTION_REPLAY && word->bare)
        word->note->new_input = true;
    return ask_send(sim, ask, 0);
}
