/* SPDX-License-Identifier: Apache-2.0
 *
 * sim.c -- the world of one seed: clocks, processes, whose turn it is, and how it ends.
 *
 * A turn is one thing moving: a process stepping its engine, a statement in the store, a
 * transaction nobody watches any more, a caller. Of those that can move now one is drawn; if none
 * can, time moves on to the first that will. */
#include "sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/macros.h"
#include "book.h"

#include "base/banned.h"

#define BEGIN_REAL_MS  INT64_C(1750000000000)
#define TURNS_MAX      20000000
#define SPIN_TURNS_MAX 5000
#define HEAL_MS_MAX    INT64_C(3600000)
#define DRAIN_MS_MAX   INT64_C(900000)

/* --- telling --- */

void sim_say(struct sim *sim, const char *fmt, ...)
{
    va_list args;

    if (!sim->config.verbose)
        return;
    printf("%9" PRId64 ".%03d  ", sim->now_us / 1000, (int)(sim->now_us % 1000));
    va_start(args, fmt);
    (void)vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

void sim_fail(struct sim *sim, const char *fmt, ...)
{
    va_list args;

    if (sim->failed)
        return;
    sim->failed = true;
    va_start(args, fmt);
    (void)vsnprintf(sim->why, sizeof sim->why, fmt, args);
    va_end(args);
    sim_say(sim, "FAILED: %s", sim->why);
}

void sim_sometimes(struct sim *sim, int what)
{
    sim->seen[what]++;
}

void sim_trace(struct sim *sim, const void *bytes, size_t len)
{
    const struct ff_hash_seed seed = {sim->trace, (uint64_t)sim->now_us};

    sim->trace = ff_hash_bytes(seed, bytes, len);
}

void *sim_alloc(struct sim *sim, size_t bytes)
{
    void *const memory = ff_arena_alloc(&sim->arena, bytes);

    assert(memory);
    return memory;
}

/* --- clocks --- */

int64_t sim_store_ms(const struct sim *sim)
{
    return BEGIN_REAL_MS + sim->store_offset_ms + sim->now_us / 1000 +
           sim->now_us / 1000 * sim->store_drift_ppm / 1000000;
}

int64_t sim_mono_us(const struct node *node)
{
    const int64_t now_us = node->sim->now_us;
    const int64_t asleep_us =
        ff_max_i64(0, ff_min_i64(now_us, node->sleep_end_us) - node->sleep_begin_us);

    return 1000000 * (node->number + 1) + now_us + now_us / 1000 * node->drift_ppm / 1000 -
           node->slept_us - asleep_us;
}

static int64_t mono_ms(void *ctx)
{
    return sim_mono_us(ctx) / 1000;
}

static int64_t boot_ms(void *ctx)
{
    const struct node *const node = ctx;

    return 1000 * (node->number + 1) + node->sim->now_us / 1000;
}

static int64_t real_ms(void *ctx)
{
    const struct node *const node = ctx;

    return BEGIN_REAL_MS + node->real_offset_ms + node->sim->now_us / 1000;
}

struct ff_clock sim_clock(struct node *node)
{
    return (struct ff_clock){node, mono_ms, real_ms, boot_ms};
}

/* --- hooks of the model --- */

static int64_t hook_now_us(void *ctx)
{
    return ((struct sim *)ctx)->now_us;
}

static int64_t hook_store_ms(void *ctx)
{
    return sim_store_ms(ctx);
}

static void hook_called(void *ctx, int number, const struct ff_call *call)
{
    struct sim *const sim = ctx;
    const int64_t facts[] = {number,       (int64_t)call->kind, (int64_t)call->outcome,
                             call->now_ms, call->last_event_id, call->committed};

    sim_trace(sim, facts, sizeof facts);
    sim_say(sim, "node %d call kind %d outcome %d %s", number, (int)call->kind, (int)call->outcome,
            call->sqlstate);
    sim->nodes[number].turns = 0;
    sim_wake(&sim->nodes[number]);
}

static void hook_committed(void *ctx, const struct model_commit *commit)
{
    struct sim *const sim = ctx;

    sim_say(sim, "commit %" PRIu64 "%s: %zu rows, %zu events", commit->number,
            commit->late ? " (late)" : "", commit->change_count, commit->event_count);
    check_commit(sim, commit);
    sim_subscribers_see(sim, commit);
}

static void hook_hinted(void *ctx, int number)
{
    struct sim *const sim = ctx;

    for (int i = 0; i < sim->config.nodes; i++)
        if (i != number && !sim_percent(sim, STREAM_ORDER, 10))
            sim->nodes[i].hint = true;
}

static bool hook_take_hint(void *ctx, int number)
{
    struct node *const node = &((struct sim *)ctx)->nodes[number];
    const bool hint = node->hint;

    node->hint = false;
    return hint;
}

static bool hook_refuses(void *ctx, ff_table table, const void *row)
{
    (void)ctx;
    return table == FF_TABLE_EXECUTION &&
           ff_str_eq(((const struct ff_execution *)row)->kind, FF_STR("poison"));
}

static void hook_wrong(void *ctx, const char *what)
{
    sim_fail(ctx, "%s", what);
}

static void hook_sometimes(void *ctx, int what)
{
    sim_sometimes(ctx, what);
}

/* --- processes --- */

void sim_wake(struct node *node)
{
    node->wake_us = node->sim->now_us;
}

struct node *sim_pick_node(struct sim *sim)
{
    struct node *up[SIM_NODES_MAX];
    uint64_t count = 0;

    for (int i = 0; i < sim->config.nodes; i++)
        if (sim->nodes[i].engine && !sim->nodes[i].crashing)
            up[count++] = &sim->nodes[i];
    return count ? up[sim_below(sim, STREAM_WORK, count)] : NULL;
}

static void node_up(struct sim *sim, struct node *node)
{
    struct ff_engine_options options;
    struct ff_error error;

    ff_engine_options_default(&options);
    options.store = sim->config.sqlite ? sim_tap_open(sim, node)
                                       : model_store_new(sim->model, node->number,
                                                         sim->config.nodes > 1, sim->config.notify);
    options.executors = sim->config.executors;
    options.readers = 1;
    options.threads = false;
    options.clock = sim_clock(node);
    options.random = ff_random_from_prng(&node->random);
    options.settings.retention_ms = sim->config.retention_ms;
    options.settings.dedup_window_ms = sim->config.dedup_window_ms;
    options.settings.event_renewals = (unsigned)sim->config.event_renewals;
    options.settings.hop_edges = sim->config.hop_edges;
    options.settings.drain_rows = sim->config.drain_rows;
    options.rides = sim->config.rides;
    options.assumes = sim->config.assumes;
    memset(&node->seen, 0, sizeof node->seen);
    node->crashing = node->hint = false;
    node->life++;
    sim->opening = true;
    if (ff_engine_new(&options, &node->engine, &error) != FF_OK)
        sim_fail(sim, "an engine does not open: %s", error.message);
    sim->opening = false;
    sim_say(sim, "node %d is up", node->number);
    sim_wake(node);
}

/* What the engine counts itself. */
static void look_at_stats(struct sim *sim, struct node *node)
{
    struct ff_engine_stats now;
    const struct ff_engine_stats *const seen = &node->seen;

    ff_engine_stats(node->engine, &now);
    sim->seen[SOMETIMES_RERUN] += (uint64_t)(now.reruns - seen->reruns);
    sim->seen[SOMETIMES_BISECTED] += (uint64_t)(now.bisections - seen->bisections);
    sim->seen[SOMETIMES_POISON] += (uint64_t)(now.poison - seen->poison);
    sim->seen[SOMETIMES_PARKED_CLAIM_WOKEN] += (uint64_t)(now.wakeups - seen->wakeups);
    node->seen = now;
}

/* Nothing of it is left but what the store has. */
static void node_dies(struct sim *sim, struct node *node)
{
    look_at_stats(sim, node);
    ask_node_died(sim, node);
    ff_engine_free(FF_STEAL(node->engine));
    node->up_us = sim->now_us + sim_between(sim, STREAM_FAULT, 0, 3000) * 1000;
}

static void node_turn(struct sim *sim, struct node *node)
{
    int64_t wants_ms;
    int64_t left_us;
    int waiting;

    if (!node->engine) {
        node_up(sim, node);
        return;
    }
    wants_ms = ff_engine_step(node->engine, &waiting);
    look_at_stats(sim, node);
    if (node->crashing) {
        node_dies(sim, node);
        return;
    }
    if (!node->engine) /* it stood still by closing */
        return;
    left_us = wants_ms >= INT64_MAX / 2000 ? INT64_MAX / 4 : wants_ms * 1000 - sim_mono_us(node);
    if (waiting && sim->config.sqlite)
        left_us = ff_min_i64(left_us, 1000);
    node->wake_us = sim->now_us + ff_max_i64(0, left_us + left_us / 1000 * -node->drift_ppm / 1000);
    if (++node->turns > SPIN_TURNS_MAX)
        sim_fail(sim, "node %d wants to be stepped again and again and does nothing", node->number);
}

static int64_t node_at_us(const struct sim *sim, const struct node *node)
{
    (void)sim;
    return ff_max_i64(node->engine ? node->wake_us : node->up_us, node->stalled_until_us);
}

/* --- whose turn --- */

struct choice {
    uint64_t count;
    int64_t earliest_us;
    enum { NODE, MOVER, ACTOR, LEAVER, MISHAP } what;
    size_t index;
};

static void offer(struct sim *sim, struct choice *choice, int what, size_t index, int64_t at_us)
{
    if (at_us > sim->now_us) {
        choice->earliest_us = ff_min_i64(choice->earliest_us, at_us);
        return;
    }
    choice->count++;
    if (choice->count == 1 || sim_below(sim, STREAM_ORDER, choice->count) == 0) {
        choice->what = what;
        choice->index = index;
    }
}

static void leave_turn(struct sim *sim)
{
    sim->next_leave_us = INT64_MAX;
    for (size_t i = 0; i < sim->asks_out.len;) {
        struct ask *const ask = sim->asks_out.items[i];

        if (ask->leave_us <= sim->now_us && !ask->left) {
            ask_leave(sim, ask); /* may shorten the list */
            i = 0;
            continue;
        }
        if (!ask->left)
            sim->next_leave_us = ff_min_i64(sim->next_leave_us, ask->leave_us);
        i++;
    }
}

/* False: nothing will ever move again. */
static bool turn(struct sim *sim)
{
    struct choice choice = {.earliest_us = INT64_MAX};

    sim->turns++;
    for (int i = 0; i < sim->config.nodes; i++)
        offer(sim, &choice, NODE, (size_t)i, node_at_us(sim, &sim->nodes[i]));
    for (size_t i = 0; i < model_mover_count(sim->model); i++)
        offer(sim, &choice, MOVER, i, model_mover_at_us(sim->model, i));
    for (size_t i = 0; i < sim->actors.len; i++)
        offer(sim, &choice, ACTOR, i, ((struct actor *)sim->actors.items[i])->at_us);
    offer(sim, &choice, LEAVER, 0, sim->next_leave_us);
    offer(sim, &choice, MISHAP, 0, sim->healing ? INT64_MAX : sim->next_mishap_us);
    if (choice.count == 0) {
        if (choice.earliest_us == INT64_MAX)
            return false;
        for (int i = 0; i < sim->config.nodes; i++)
            sim->nodes[i].turns = 0;
        sim->now_us = choice.earliest_us;
        return true;
    }
    switch (choice.what) {
    case NODE:
        node_turn(sim, &sim->nodes[choice.index]);
        break;
    case MOVER:
        model_move(sim->model, choice.index);
        break;
    case ACTOR: {
        struct actor *const actor = sim->actors.items[choice.index];

        actor->act(sim, actor);
        break;
    }
    case LEAVER:
        leave_turn(sim);
        break;
    case MISHAP:
        sim_mishaps(sim);
        break;
    }
    return true;
}

/* --- the course of a run --- */

static size_t living(const struct sim *sim)
{
    size_t count = 0;

    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EXECUTION); i++) {
        const struct ff_execution *const row =
            model_slot_at(sim->model, FF_TABLE_EXECUTION, i)->row;

        count += row && row->finished_at_ms == FF_NULL64 ? 1 : 0;
    }
    return count;
}

static void complain_about_the_living(struct sim *sim)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EXECUTION); i++) {
        const struct ff_execution *const row =
            model_slot_at(sim->model, FF_TABLE_EXECUTION, i)->row;
        char text[FF_ID_TEXT_BYTES];

        if (!row || row->finished_at_ms != FF_NULL64)
            continue;
        ff_exec_id_text((struct ff_exec_id){row->partition_key, row->execution_id}, text);
        sim_fail(sim,
                 "%zu executions never end, e.g. %s: state %d lane " FF_STR_FMT " due %" PRId64
                 " expires %" PRId64 " store time %" PRId64,
                 living(sim), text, row->state, FF_STR_ARG(row->lane), row->due_at_ms,
                 row->lease_expires_at_ms, sim_store_ms(sim));
        return;
    }
}

static void run_until(struct sim *sim, int64_t limit_ms, bool (*over)(struct sim *sim))
{
    const int64_t limit_us = sim->now_us + limit_ms * 1000;

    while (!sim->failed && !over(sim) && sim->now_us < limit_us) {
        if (!turn(sim) || sim->turns > TURNS_MAX) {
            sim_fail(sim, "nothing moves any more, or too much does (%" PRIu64 " turns)",
                     sim->turns);
            return;
        }
    }
}

static bool ops_are_spent(struct sim *sim)
{
    return sim->ops_left == 0;
}

/* Hops, sibling cancels and flow cancels that are not done. */
static bool cascade_waits(const struct sim *sim)
{
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_OUTBOX); i++) {
        const struct ff_outbox *const hop = model_slot_at(sim->model, FF_TABLE_OUTBOX, i)->row;

        if (hop && hop->dispatched_at_ms == FF_NULL64)
            return true;
    }
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_DRAIN); i++)
        if (model_slot_at(sim->model, FF_TABLE_DRAIN, i)->row)
            return true;
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_FLOW); i++) {
        const struct ff_flow *const flow = model_slot_at(sim->model, FF_TABLE_FLOW, i)->row;

        if (flow && flow->draining)
            return true;
    }
    return false;
}

static bool all_has_ended(struct sim *sim)
{
    return (sim->turns & 15) == 0 && living(sim) == 0 && !cascade_waits(sim);
}

static bool nobody_waits(struct sim *sim)
{
    return sim->asks_out.len == 0 && model_is_quiet(sim->model);
}

static void heal(struct sim *sim)
{
    sim->healing = true;
    sim->outage_until_us = 0;
    for (int i = 0; i < sim->config.nodes; i++) {
        struct node *const node = &sim->nodes[i];

        node->sleep_end_us = ff_min_i64(node->sleep_end_us, sim->now_us);
        node->stalled_until_us = node->outage_until_us = 0;
    }
    sim_say(sim, "everything heals");
    sim_actors_heal(sim);
    run_until(sim, HEAL_MS_MAX, all_has_ended);
    if (!sim->failed && living(sim) > 0)
        complain_about_the_living(sim);
    if (!sim->failed && cascade_waits(sim))
        sim_fail(sim, "hops or drains are never done");
    for (size_t i = 0; i < sim->actors.len; i++)
        ((struct actor *)sim->actors.items[i])->at_us = INT64_MAX;
    run_until(sim, DRAIN_MS_MAX, nobody_waits);
    if (!sim->failed && sim->asks_out.len > 0)
        sim_fail(sim, "%zu calls were never answered", sim->asks_out.len);
    if (!sim->failed && !model_is_quiet(sim->model))
        sim_fail(sim, "a transaction is never ended");
    sim_subscribers_go_on(sim);
    run_until(sim, DRAIN_MS_MAX, sim_subscribers_have_all);
    if (!sim->failed && !sim_subscribers_have_all(sim))
        sim_fail(sim, "a subscriber never gets all events");
    if (!sim->failed)
        sim_sometimes(sim, SOMETIMES_HEALED);
}

static void begin(struct sim *sim)
{
    const struct model_hooks hooks = {
        .ctx = sim,
        .now_us = hook_now_us,
        .store_ms = hook_store_ms,
        .decide = sim_decide,
        .lose = sim_lose,
        .pause_us = sim_pause_us,
        .called = hook_called,
        .committed = hook_committed,
        .hinted = hook_hinted,
        .take_hint = hook_take_hint,
        .refuses = hook_refuses,
        .wrong = hook_wrong,
        .sometimes = hook_sometimes,
    };

    for (uint64_t stream = 0; stream < STREAM_COUNT; stream++)
        ff_prng_init(&sim->streams[stream], sim->config.seed * STREAM_COUNT + stream);
    ff_arena_init(&sim->arena, 1 << 20, (size_t)1 << 30);
    sim->model = model_new(&hooks);
    sim->book = book_new(sim);
    sim->ops_left = sim->config.ops;
    sim->next_leave_us = INT64_MAX;
    sim->store_offset_ms = sim_between(sim, STREAM_FAULT, -5000, 5000);
    if (sim->config.rate[FAULT_DRIFT])
        sim->store_drift_ppm = sim_between(sim, STREAM_FAULT, -2000, 2000);
    for (int i = 0; i < sim->config.nodes; i++) {
        struct node *const node = &sim->nodes[i];

        node->sim = sim;
        node->number = i;
        ff_prng_init(&node->random, sim->config.seed * SIM_NODES_MAX + (uint64_t)i + 77);
        node->real_offset_ms = sim_between(sim, STREAM_FAULT, -3000, 3000);
        if (sim->config.rate[FAULT_DRIFT])
            node->drift_ppm = sim_between(sim, STREAM_FAULT, -2000, 2000);
        node_up(sim, node);
    }
    sim_actors_new(sim);
    sim_subscribers_new(sim);
}

static void end(struct sim *sim, struct sim_result *ret)
{
    sim->healing = true; /* what is left ends without further mishap */
    sim_subscribers_done(sim);
    for (int i = 0; i < sim->config.nodes; i++) {
        struct node *const node = &sim->nodes[i];

        if (!node->engine)
            continue;
        node->crashing = sim->asks_out.len > 0 && sim_percent(sim, STREAM_ORDER, 50);
        if (node->crashing)
            ask_node_died(sim, node);
        ff_engine_free(FF_STEAL(node->engine));
    }
    if (!sim->failed && sim->asks_out.len > 0)
        sim_fail(sim, "%zu calls got no answer from engines that closed", sim->asks_out.len);
    model_settle(sim->model);
    if (!sim->failed && !model_is_quiet(sim->model))
        sim_fail(sim, "a transaction outlives everybody");
    if (!sim->failed && sim->config.sqlite)
        sim_tap_compare(sim);
    if (!sim->failed)
        audit_store(sim);
    if (!sim->failed)
        book_audit(sim);
    ret->failed = sim->failed;
    memcpy(ret->why, sim->why, sizeof ret->why);
    ret->trace = sim->trace;
    ret->turns = sim->turns;
    ret->commits = model_commit_count(sim->model);
    ret->virtual_ms = sim->now_us / 1000;
    memcpy(ret->seen, sim->seen, sizeof ret->seen);
    sim_tap_done(sim);
    model_free(sim->model);
    ff_arena_done(&sim->arena);
}

void sim_run(const struct sim_config *config, struct sim_result *ret)
{
    static struct sim sim; /* too large for the stack of a test build */

    memset(&sim, 0, sizeof sim);
    memset(ret, 0, sizeof *ret);
    sim.config = *config;
    if (config->verbose)
        sim_config_print(config);
    begin(&sim);
    run_until(&sim, INT64_MAX / 2000, ops_are_spent);
    if (!sim.failed && config->heals)
        heal(&sim);
    end(&sim, ret);
}
