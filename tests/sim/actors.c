/* SPDX-License-Identifier: Apache-2.0
 *
 * actors.c -- clients that submit and interfere, workers that claim and work, well or badly.
 *
 * Both are small state machines: they act when their time has come and hear the answers to what
 * they asked. A good caller repeats what may not have been done; a bad one also repeats what was,
 * goes on with a lease it has lost, or forgets everything it holds. */
#include "book.h"

#include <assert.h>
#include <string.h>

#include "base/macros.h"

#include "base/banned.h"

#define TASKS_MAX    6
#define SAY_TRIES    8
#define RETRIES_KEPT 4
#define PATIENCE_US  INT64_C(20000000)

/* --- what both have in common --- */

static bool is_transient(ff_status status)
{
    return ff_status_retryable(status) || status == FF_OUTCOME_UNKNOWN || status == FF_INTERNAL;
}

static int64_t soon_us(struct sim *sim, int64_t max_ms)
{
    return sim->now_us + sim_between(sim, STREAM_WORK, 0, max_ms * 1000);
}

/* The store will be away for long: nobody spends all his calls on that. */
static int64_t or_later_us(const struct sim *sim, int64_t at_us)
{
    const bool away = sim->outage_until_us > sim->now_us + PATIENCE_US && !sim->healing;

    return away ? ff_max_i64(at_us, sim->now_us + PATIENCE_US) : at_us;
}

/* --- clients --- */

struct client {
    struct actor actor;
    const struct plan *again[RETRIES_KEPT]; /* submissions that may not have arrived */
    struct note *again_note[RETRIES_KEPT];
    size_t again_count;
    bool resumes;    /* healing: lanes are opened again */
    int lane_opened; /* how many */
    struct word *opening;
};

static void client_submit(struct sim *sim, struct client *client)
{
    struct book *const book = sim->book;
    const struct plan *plan = NULL;
    struct note *note = NULL;
    struct ask *ask;

    if (client->again_count > 0) {
        plan = client->again[--client->again_count];
        note = client->again_note[client->again_count];
    } else if (sim_mishap(sim, FAULT_REPEAT) && book->notes.len > 0) {
        note = book->notes.items[book->notes.len - 1 -
                                 sim_below(sim, STREAM_WORK, ff_min_size(book->notes.len, 20))];
        plan = note->plan;
        if (ff_str_is_null(plan->key) && !plan->own_id)
            plan = NULL; /* such a repeat is simply another one */
    }
    if (!plan) {
        plan = ask_plan(sim);
        note = NULL;
    }
    ask = ask_submit(sim, &client->actor, plan, plan->own_id ? note : NULL);
    /* And again at once, perhaps to another process. */
    if (ask && (plan->own_id || !ff_str_is_null(plan->key)) && sim_mishap(sim, FAULT_REPEAT))
        (void)ask_submit(sim, &client->actor, plan, plan->own_id ? ask->word->note : NULL);
}

static struct note *some_note(struct sim *sim, size_t lately)
{
    const struct vec *const notes = &sim->book->notes;
    struct note *note = NULL;

    /* Lately submitted ones are where something is going on. */
    for (int tries = 0; tries < 4 && notes->len > 0; tries++) {
        note = notes->items[notes->len - 1 -
                            sim_below(sim, STREAM_WORK, ff_min_size(notes->len, lately))];
        if (note->exists)
            break;
    }
    return note;
}

static void client_interfere(struct sim *sim, struct client *client)
{
    static const ff_op_id ops[] = {
        FF_OP_EXECUTION_CANCEL, FF_OP_EXECUTION_PRIORITY, FF_OP_EXECUTION_REPLAY,
        FF_OP_EXECUTION_REPLAY, FF_OP_EXECUTION_REVOKE,   FF_OP_EXECUTION_REVOKE,
        FF_OP_EXECUTION_TAG,    FF_OP_EXECUTION_TAG,      FF_OP_LANE_PAUSE};
    const ff_op_id op = ops[sim_below(sim, STREAM_WORK, FF_ARRAY_LEN(ops))];
    /* Tags of a few, so that somebody holds what another one wants. */
    struct note *const note =
        op == FF_OP_LANE_PAUSE ? NULL : some_note(sim, op == FF_OP_EXECUTION_TAG ? 6 : 40);
    struct word *word;

    if (op != FF_OP_LANE_PAUSE && !note)
        return;
    word = book_word(sim, op, note, NULL);
    word->a = sim_between(sim, STREAM_WORK, 0, 3);
    word->b = (int64_t)sim_below(sim, STREAM_WORK, 3);
    word->bare = sim_percent(sim, STREAM_WORK, 20);
    if (op == FF_OP_EXECUTION_TAG)
        sim_hold_tags(sim);
    if (op == FF_OP_LANE_PAUSE) /* more often opened than closed */
        word->a = sim_percent(sim, STREAM_WORK, 35);
    (void)ask_word(sim, &client->actor, word);
}

static void client_act(struct sim *sim, struct actor *actor)
{
    struct client *const client = ff_container_of(actor, struct client, actor);
    int count = sim_percent(sim, STREAM_WORK, 10) ? (int)sim_between(sim, STREAM_WORK, 5, 30) : 1;

    actor->at_us = or_later_us(sim, soon_us(sim, 2 * sim->config.gap_ms));
    for (; count > 0 && sim->ops_left > 0; count--) {
        if (sim->config.flows && sim_percent(sim, STREAM_WORK, 15))
            flow_act(sim, &client->actor);
        else if (sim_percent(sim, STREAM_WORK, 70))
            client_submit(sim, client);
        else
            client_interfere(sim, client);
    }
}

/* While everything heals a client only opens lanes. */
static void client_open_lanes(struct sim *sim, struct actor *actor)
{
    struct client *const client = ff_container_of(actor, struct client, actor);

    actor->at_us = INT64_MAX;
    client->opening = book_word(sim, FF_OP_LANE_PAUSE, NULL, NULL);
    client->opening->b = client->lane_opened % 3;
    if (!ask_word(sim, actor, client->opening))
        actor->at_us = sim->now_us + 100000;
}

static void client_hear(struct sim *sim, struct actor *actor, struct ask *ask)
{
    struct client *const client = ff_container_of(actor, struct client, actor);
    const struct word *const word = ask->word;

    if (client->resumes) {
        if (word != client->opening)
            return;
        if (ask->status == FF_OK)
            client->lane_opened++;
        /* Somebody's wish from before may still close one again. */
        actor->at_us = sim->now_us + (client->lane_opened % 3 ? 50000 : 5000000);
        return;
    }
    if (word->op == FF_OP_EXECUTION_SUBMIT && is_transient(ask->status) &&
        (word->note->plan->own_id || !ff_str_is_null(word->note->plan->key)) &&
        client->again_count < RETRIES_KEPT && sim_percent(sim, STREAM_WORK, 80)) {
        client->again[client->again_count] = word->note->plan;
        client->again_note[client->again_count++] = word->note;
    }
    if (word->graph && is_transient(ask->status) && sim_percent(sim, STREAM_WORK, 60))
        (void)ask_flow(sim, actor, ask->word); /* ids of its own: the same again is safe */
}

static void client_new(struct sim *sim, int number)
{
    struct client *const client = sim_alloc(sim, sizeof *client);

    client->actor = (struct actor){number, soon_us(sim, 100), client_act, client_hear};
    if (vec_push(&sim->actors, &sim->arena, &client->actor, NULL) != FF_OK)
        assert(!"out of memory");
}

/* --- workers --- */

typedef enum doing {
    DOING_NOTHING, /* the place is free */
    DOING_WORK,
    DOING_SAY,  /* says its last word until it is answered */
    DOING_ECHO, /* has been answered and says it again, or something else */
} doing;

struct task {
    doing doing;
    struct note *note;
    struct tenancy *tenancy;
    int64_t at_us, finish_us, renew_us, ttl_us;
    struct word *word;
    struct ask *ask; /* out */
    int tries;
};

struct worker {
    struct actor actor;
    struct worker_offer offer;
    struct task tasks[TASKS_MAX];
    struct word *request; /* the claim to make or repeat */
    struct ask *claim;    /* out */
    int claim_tries;
    int64_t claim_us;
    bool drains;
};

static void task_drop(struct task *task)
{
    *task = (struct task){.doing = DOING_NOTHING, .at_us = INT64_MAX};
}

/* What says the same is the same word: the store could not tell them apart either. */
static struct word *same_word(struct word *word)
{
    const bool alike =
        word->op == FF_OP_EXECUTION_DELAY || (word->op == FF_OP_EXECUTION_COMPLETE && word->bare);

    struct word *oldest = word;

    for (struct word *other = word->next; alike && other; other = other->next)
        if (other->op == word->op && other->bare == word->bare && other->a == word->a)
            oldest = other;
    return oldest;
}

static struct word *draw_word(struct sim *sim, const struct worker *worker, const struct task *task)
{
    const uint64_t dice = worker->drains ? 0 : sim_below(sim, STREAM_WORK, 100);
    struct word *word;

    if (dice < 60) {
        word = book_word(sim, FF_OP_EXECUTION_COMPLETE, task->note, task->tenancy);
        word->bare = sim_percent(sim, STREAM_WORK, 25);
    } else if (dice < 82) {
        word = book_word(sim, FF_OP_EXECUTION_FAIL, task->note, task->tenancy);
        word->a = (int64_t)sim_below(sim, STREAM_WORK, FF_FAILURE_CLASS_COUNT);
        word->b =
            sim_percent(sim, STREAM_WORK, 30) ? sim_between(sim, STREAM_WORK, 0, 1000) : FF_NULL64;
    } else if (dice < 91) {
        word = book_word(sim, FF_OP_EXECUTION_DELAY, task->note, task->tenancy);
        word->a = sim_between(sim, STREAM_WORK, 0, 2000);
    } else {
        word = book_word(sim, FF_OP_EXECUTION_RELEASE, task->note, task->tenancy);
    }
    return same_word(word);
}

static void task_act(struct sim *sim, struct worker *worker, struct task *task)
{
    switch (task->doing) {
    case DOING_WORK:
        if (sim->now_us >= task->finish_us) {
            task->doing = DOING_SAY;
            task->word = draw_word(sim, worker, task);
            task->ask = ask_word(sim, &worker->actor, task->word);
        } else {
            task->ask = ask_renew(sim, &worker->actor, task->note, task->tenancy,
                                  sim_percent(sim, STREAM_WORK, 15));
        }
        break;
    case DOING_ECHO:
        if (sim_percent(sim, STREAM_WORK, 30))
            task->word = draw_word(sim, worker, task);
        task->ask = ask_word(sim, &worker->actor, task->word);
        break;
    case DOING_SAY:
        task->ask = ask_word(sim, &worker->actor, task->word);
        break;
    case DOING_NOTHING:
        break;
    }
    task->at_us = task->ask ? INT64_MAX : sim->now_us + 200000;
}

/* Work that goes on; the next thing is a renewal or the end. */
static void task_go_on(struct sim *sim, struct task *task)
{
    task->renew_us = sim->now_us + task->ttl_us / 3;
    task->at_us = ff_min_i64(task->renew_us, task->finish_us);
}

static void task_heard_renewal(struct sim *sim, struct task *task, const struct ask *ask)
{
    if (ask->status == FF_OK)
        task_go_on(sim, task);
    else if (is_transient(ask->status))
        task->at_us = or_later_us(sim, soon_us(sim, 300));
    else if (sim_mishap(sim, FAULT_ZOMBIE)) /* does not believe it */
        task->at_us = task->finish_us;
    else
        task_drop(task);
}

static void task_heard_word(struct sim *sim, struct task *task, const struct ask *ask)
{
    if (is_transient(ask->status) && task->tries++ < SAY_TRIES) {
        task->at_us = or_later_us(sim, soon_us(sim, 400));
        return;
    }
    if (task->tries++ < SAY_TRIES && sim_mishap(sim, FAULT_REPEAT)) {
        task->doing = DOING_ECHO;
        task->at_us = soon_us(sim, sim_percent(sim, STREAM_WORK, 50) ? 100 : 8000);
        return;
    }
    task_drop(task);
}

static void task_begin(struct sim *sim, struct worker *worker, const struct ff_task_out *out)
{
    struct tenancy *const tenancy = book_lease(sim, out->lease_id);
    struct task *place = NULL;

    for (size_t i = 0; i < TASKS_MAX; i++) {
        if (worker->tasks[i].tenancy == tenancy && tenancy)
            return; /* told again */
        if (worker->tasks[i].doing == DOING_NOTHING && !place)
            place = &worker->tasks[i];
    }
    if (!place || !tenancy || sim_mishap(sim, FAULT_DEATH))
        return; /* nobody will ever work on it under this lease */
    *place = (struct task){.doing = DOING_WORK,
                           .note = tenancy->note,
                           .tenancy = tenancy,
                           .ttl_us = out->lease_ttl_ms * 1000,
                           .finish_us = worker->drains ? sim->now_us + 1000
                                                       : soon_us(sim, 2 * sim->config.work_ms)};
    task_go_on(sim, place);
    if (sim_mishap(sim, FAULT_ZOMBIE)) { /* silent for longer than its lease */
        place->finish_us =
            sim->now_us + place->ttl_us + sim_between(sim, STREAM_FAULT, 0, 3 * place->ttl_us);
        place->at_us = place->finish_us;
    }
}

static void worker_heard_claim(struct sim *sim, struct worker *worker, const struct ask *ask)
{
    const bool again = worker->request->has_request_id && worker->claim_tries++ < 5;

    worker->claim = NULL;
    for (size_t i = 0; i < ask->task_count && ask->status == FF_OK; i++)
        task_begin(sim, worker, &ask->tasks[i]);
    worker->claim_us = or_later_us(sim, soon_us(sim, ask->task_count > 0 ? 20 : 500));
    if (ask->status == FF_OK ? !(again && sim_mishap(sim, FAULT_REPEAT))
                             : !(again && is_transient(ask->status)))
        worker->request = NULL;
}

static void worker_plan(struct worker *worker)
{
    int64_t at_us = worker->claim ? INT64_MAX : worker->claim_us;

    for (size_t i = 0; i < TASKS_MAX; i++)
        if (worker->tasks[i].doing != DOING_NOTHING && !worker->tasks[i].ask)
            at_us = ff_min_i64(at_us, worker->tasks[i].at_us);
    worker->actor.at_us = at_us;
}

static void worker_hear(struct sim *sim, struct actor *actor, struct ask *ask)
{
    struct worker *const worker = ff_container_of(actor, struct worker, actor);

    if (worker->claim == ask)
        worker_heard_claim(sim, worker, ask);
    for (size_t i = 0; i < TASKS_MAX; i++) {
        struct task *const task = &worker->tasks[i];

        if (task->ask != ask)
            continue;
        task->ask = NULL;
        if (ask->word->op == FF_OP_EXECUTION_RENEW || ask->word->op == FF_OP_EXECUTION_PROGRESS)
            task_heard_renewal(sim, task, ask);
        else
            task_heard_word(sim, task, ask);
    }
    worker_plan(worker);
}

static size_t free_places(const struct worker *worker)
{
    size_t count = 0;

    for (size_t i = 0; i < TASKS_MAX; i++)
        count += worker->tasks[i].doing == DOING_NOTHING ? 1 : 0;
    return count;
}

static void worker_claim(struct sim *sim, struct worker *worker)
{
    const int64_t wait_ms =
        sim_percent(sim, STREAM_WORK, 40) ? sim_between(sim, STREAM_WORK, 1, 3000) : 0;
    const size_t places = free_places(worker);

    worker->claim_us = soon_us(sim, 300);
    if (!worker->request) {
        if (places == 0)
            return;
        worker->request = book_word(sim, FF_OP_EXECUTION_CLAIM, NULL, NULL);
        worker->request->has_request_id = sim_percent(sim, STREAM_WORK, 60);
        worker->request->offer = ff_arena_copy(&sim->arena, &worker->offer, sizeof worker->offer);
        worker->request->offer->max = 1 + (int64_t)sim_below(sim, STREAM_WORK, places);
        worker->request->offer->ttl_ms =
            sim_between(sim, STREAM_WORK, sim->config.ttl_min_ms, sim->config.ttl_max_ms);
        worker->claim_tries = 0;
    }
    worker->claim = ask_claim(sim, &worker->actor, worker->request, worker->drains ? 0 : wait_ms);
    /* Two at once: the answer to one of them nobody hears. */
    if (worker->claim && worker->request->has_request_id && sim_mishap(sim, FAULT_REPEAT))
        (void)ask_claim(sim, &worker->actor, worker->request, 0);
    if (!worker->claim && !worker->request->has_request_id)
        worker->request = NULL;
}

static void worker_act(struct sim *sim, struct actor *actor)
{
    struct worker *const worker = ff_container_of(actor, struct worker, actor);

    if (sim->ops_left == 0 && !sim->healing) {
        actor->at_us = sim->now_us + 1000000;
        return;
    }
    for (size_t i = 0; i < TASKS_MAX; i++) {
        struct task *const task = &worker->tasks[i];

        if (task->doing != DOING_NOTHING && !task->ask && task->at_us <= sim->now_us)
            task_act(sim, worker, task);
    }
    if (!worker->claim && worker->claim_us <= sim->now_us)
        worker_claim(sim, worker);
    worker_plan(worker);
}

static void worker_new(struct sim *sim, int number)
{
    struct worker *const worker = sim_alloc(sim, sizeof *worker);

    worker->actor = (struct actor){number, soon_us(sim, 500), worker_act, worker_hear};
    worker->offer = (struct worker_offer){
        .instance_id = ff_arena_printf(&sim->arena, "w%d", number),
        .lanes = 1 + (int)sim_below(sim, STREAM_WORK, 7),
        .kinds = sim_percent(sim, STREAM_WORK, 70) ? 0 : 1 + (int)sim_below(sim, STREAM_WORK, 7),
        .capabilities = (int)sim_below(sim, STREAM_WORK, 4),
    };
    if (sim_percent(sim, STREAM_WORK, 20))
        worker->offer.namespace = ff_str_of(sim_namespaces[sim_below(sim, STREAM_WORK, 2)]);
    for (size_t i = 0; i < TASKS_MAX; i++)
        task_drop(&worker->tasks[i]);
    if (vec_push(&sim->actors, &sim->arena, &worker->actor, NULL) != FF_OK)
        assert(!"out of memory");
}

void sim_actors_new(struct sim *sim)
{
    int number = 0;

    for (int i = 0; i < sim->config.clients; i++)
        client_new(sim, number++);
    for (int i = 0; i < sim->config.workers; i++)
        worker_new(sim, number++);
}

void sim_actors_heal(struct sim *sim)
{
    for (size_t i = 0; i < sim->actors.len; i++) {
        struct actor *const actor = sim->actors.items[i];

        if (actor->act == client_act) {
            ff_container_of(actor, struct client, actor)->resumes = true;
            actor->act = client_open_lanes;
            actor->at_us = i == 0 ? sim->now_us : INT64_MAX;
        } else if (actor->act == worker_act) {
            struct worker *const worker = ff_container_of(actor, struct worker, actor);

            worker->drains = true;
            worker->offer.lanes = 7;
            worker->offer.kinds = 0;
            worker->offer.capabilities = 3;
            worker->offer.namespace = ff_str_null();
        }
    }
}
