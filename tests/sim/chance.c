/* SPDX-License-Identifier: Apache-2.0
 *
 * chance.c -- what a seed decides: the shape of its world, and what goes wrong in it and when.
 *
 * Swarm: each seed switches on a random half of the faults, each rare or heavy, so that some seeds
 * see one kind alone and some see them all together. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "engine/engine.h"

#include "base/banned.h"

const char *const sim_fault_names[FAULT_COUNT] = {
#define FAULT_NAME(name, text, what) [FAULT_##name] = (text),
    FAULT_MAP(FAULT_NAME)
#undef FAULT_NAME
};

const char *const sim_sometimes_names[SOMETIMES_COUNT] = {
#define SOMETIMES_NAME(name, text) [SOMETIMES_##name] = (text),
    SOMETIMES_MAP(SOMETIMES_NAME)
#undef SOMETIMES_NAME
};

// clang-format off
/* Per 10,000 occasions: a store call, a statement (PAUSE), a tick (OUTAGE, RESTART, SLEEP, JUMP,
 * HOLD), a task (ZOMBIE, DEATH), a call of an actor (POISON, LEAVE, REPEAT). */
static const struct {
    uint32_t rare, heavy;
} rates[FAULT_COUNT] = {
    [FAULT_RERUN]   = {50, 800},   [FAULT_STOP]   = {10, 60},    [FAULT_OUTAGE]  = {50, 300},
    [FAULT_REFUSE]  = {20, 200},   [FAULT_AFTER]  = {50, 500},   [FAULT_LOST]    = {50, 500},
    [FAULT_GHOST]   = {30, 400},   [FAULT_CRASH]  = {10, 60},    [FAULT_RESTART] = {50, 400},
    [FAULT_STALL]   = {10, 60},    [FAULT_SLEEP]  = {50, 400},   [FAULT_JUMP]    = {100, 1000},
    [FAULT_DRIFT]   = {1, 1},      [FAULT_PAUSE]  = {300, 2500}, [FAULT_SLOW]    = {50, 600},
    [FAULT_HOLD]    = {500, 4000}, [FAULT_POISON] = {50, 300},   [FAULT_ZOMBIE]  = {300, 2500},
    [FAULT_DEATH]   = {100, 1000}, [FAULT_LEAVE]  = {200, 1500}, [FAULT_REPEAT]  = {500, 3000},
};
// clang-format on

static int64_t one_of(struct ff_prng *prng, const int64_t *choices, size_t count)
{
    return choices[ff_prng_below(prng, count)];
}

#define ONE_OF(prng, ...)                                                                          \
    one_of((prng), (const int64_t[]){__VA_ARGS__},                                                 \
           sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

void sim_config_draw(struct sim_config *config)
{
    struct ff_prng prng;
    const bool calm = (config->seed & 15) == 0; /* some worlds have no faults at all */

    ff_prng_init(&prng, config->seed * STREAM_COUNT + STREAM_CONFIG);
    for (int fault = 0; fault < FAULT_COUNT; fault++) {
        const bool on = ff_prng_below(&prng, 2) == 0 && !calm;
        const bool heavy = ff_prng_below(&prng, 3) == 0;

        config->rate[fault] = on && (config->faults >> fault & 1u)
                                  ? (heavy ? rates[fault].heavy : rates[fault].rare)
                                  : 0;
    }
    config->heals = ff_prng_below(&prng, 2) == 0;
    config->nodes = 1 + (int)ff_prng_below(&prng, SIM_NODES_MAX);
    config->executors = 1 + (int)ff_prng_below(&prng, 3);
    config->workers = 1 + (int)ff_prng_below(&prng, 5);
    config->clients = 1 + (int)ff_prng_below(&prng, 3);
    config->gap_ms = ONE_OF(&prng, 5, 60, 400);
    config->work_ms = ONE_OF(&prng, 20, 300, 3000);
    config->ttl_min_ms = ONE_OF(&prng, 100, 500, 2000);
    config->ttl_max_ms = config->ttl_min_ms * ONE_OF(&prng, 1, 3, 15);
    config->timeout_ms = ONE_OF(&prng, 150, 2000, 30000);
    config->retention_ms = ONE_OF(&prng, 604800000, 604800000, 1000, 20000);
    config->dedup_window_ms = ONE_OF(&prng, 86400000, 86400000, 500, 10000);
    config->notify = ff_prng_below(&prng, 2) == 0;
    config->event_renewals = (int)ff_prng_below(&prng, 3);
    config->flows = ff_prng_below(&prng, 100) < 70;
    config->hop_edges = 1 + (int64_t)ff_prng_below(&prng, 4);
    config->drain_rows = 1 + (int64_t)ff_prng_below(&prng, 4);
    config->subscribers = (int)ff_prng_below(&prng, 4);
    config->rides = ff_prng_below(&prng, 2) == 0;
    config->assumes = ff_prng_below(&prng, 4) != 0;
    if (config->sqlite)
        config->nodes = config->executors = 1;
}

void sim_config_print(const struct sim_config *config)
{
    printf("seed %llu: %d nodes with %d executors, %d workers, %d clients, gap %lld ms, work %lld "
           "ms, ttl %lld..%lld ms, timeout %lld ms, retention %lld ms, dedup %lld ms, %s\n",
           (unsigned long long)config->seed, config->nodes, config->executors, config->workers,
           config->clients, (long long)config->gap_ms, (long long)config->work_ms,
           (long long)config->ttl_min_ms, (long long)config->ttl_max_ms,
           (long long)config->timeout_ms, (long long)config->retention_ms,
           (long long)config->dedup_window_ms, config->heals ? "heals" : "does not heal");
    for (int fault = 0; fault < FAULT_COUNT; fault++)
        if (config->rate[fault])
            printf("  fault %s at %u of 10,000\n", sim_fault_names[fault], config->rate[fault]);
}

/* --- drawing --- */

uint64_t sim_below(struct sim *sim, sim_stream stream, uint64_t n)
{
    const size_t bytes = n > 256 ? 2 : 1;
    uint64_t drawn = 0;

    if (sim->config.tape_bytes < bytes)
        return ff_prng_below(&sim->streams[stream], n);
    for (size_t i = 0; i < bytes; i++, sim->config.tape_bytes--)
        drawn = drawn << 8 | *sim->config.tape++;
    return drawn % n;
}

int64_t sim_between(struct sim *sim, sim_stream stream, int64_t min, int64_t max)
{
    return min + (int64_t)sim_below(sim, stream, (uint64_t)(max - min) + 1);
}

bool sim_percent(struct sim *sim, sim_stream stream, uint64_t percent)
{
    return sim_below(sim, stream, 100) < percent;
}

bool sim_mishap(struct sim *sim, sim_fault fault)
{
    const uint32_t rate = sim->config.rate[fault];

    return rate > 0 && !sim->healing && sim_below(sim, STREAM_FAULT, 10000) < rate;
}

/* --- store calls --- */

static int64_t latency_us(struct sim *sim)
{
    if (sim_mishap(sim, FAULT_SLOW))
        return sim_between(sim, STREAM_FAULT, 5000,
                           sim_percent(sim, STREAM_FAULT, 10) ? 3000000 : 200000);
    return sim_between(sim, STREAM_ORDER, 20, 900);
}

static void begin_outage(struct sim *sim, uint64_t percent_long)
{
    const bool is_long = sim_percent(sim, STREAM_FAULT, percent_long);
    const int64_t ms = is_long ? sim_between(sim, STREAM_FAULT, 610000, 700000)
                               : sim_between(sim, STREAM_FAULT, 100, 15000);

    if (is_long)
        sim_sometimes(sim, SOMETIMES_LONG_OUTAGE);
    sim_say(sim, "the store is away for %lld ms", (long long)ms);
    sim->outage_until_us = ff_max_i64(sim->outage_until_us, sim->now_us + ms * 1000);
}

/* A save whose answer is lost; sometimes nobody can ask for long. */
static void doubt(struct sim *sim, struct model_fate *fate, bool run, bool linger)
{
    fate->run = run;
    fate->linger = linger;
    fate->report = FF_CALLED_UNKNOWN;
    fate->sqlstate = "08006";
    if (sim->config.rate[FAULT_OUTAGE] && sim_percent(sim, STREAM_FAULT, 4))
        begin_outage(sim, 30);
}

static void refuse(struct model_fate *fate, ff_called report, const char *sqlstate)
{
    fate->run = false;
    fate->report = report;
    fate->sqlstate = sqlstate;
}

/* The connection is gone, or somebody else was in the way. */
static void fail(struct sim *sim, struct model_fate *fate)
{
    const bool lost = sim_percent(sim, STREAM_FAULT, 50);

    fate->report = lost ? FF_CALLED_LOST : FF_CALLED_RERUN;
    fate->sqlstate = lost ? "08006" : "40001";
}

static void spoil(struct sim *sim, struct model_fate *fate, ff_call_kind kind)
{
    const bool save = kind == FF_CALL_SAVE;

    if (sim_mishap(sim, FAULT_RERUN)) {
        fate->run = false;
        fail(sim, fate);
    } else if (sim_mishap(sim, FAULT_REFUSE) &&
               (save || kind == FF_CALL_LOAD || kind == FF_CALL_MORE)) {
        refuse(fate, FF_CALLED_OP, "22000");
    } else if (sim_mishap(sim, FAULT_AFTER)) {
        if (save) {
            doubt(sim, fate, true, false);
        } else {
            fail(sim, fate);
        }
    } else if (sim_mishap(sim, FAULT_LOST) && save) {
        doubt(sim, fate, false, false);
    } else if (sim_mishap(sim, FAULT_GHOST)) {
        if (save) {
            doubt(sim, fate, true, true);
        } else {
            fate->linger = true;
            fate->report = FF_CALLED_LOST;
            fate->sqlstate = "08006";
        }
    }
}

static void stall(struct sim *sim, struct node *node)
{
    const int64_t ms = sim_percent(sim, STREAM_FAULT, 30)
                           ? sim_between(sim, STREAM_FAULT, 3000, 20000)
                           : sim_between(sim, STREAM_FAULT, 5, 1000);

    sim_say(sim, "node %d stands still for %lld ms", node->number, (long long)ms);
    node->stalled_until_us = sim->now_us + ms * 1000;
}

struct model_fate sim_decide(void *ctx, int number, const struct ff_call *call)
{
    struct sim *const sim = ctx;
    struct node *const node = &sim->nodes[number];
    struct model_fate fate = {.run = true, .report = FF_CALLED_OK, .sqlstate = ""};

    node->turns = 0;
    if (sim->opening)
        return fate;
    if (node->crashing) {
        fate.dead = true;
        return fate;
    }
    fate.travel_us = latency_us(sim);
    fate.answer_us = latency_us(sim);
    if (sim->outage_until_us > sim->now_us || node->outage_until_us > sim->now_us) {
        refuse(&fate, FF_CALLED_STOP, "57P03");
    } else if (sim_mishap(sim, FAULT_CRASH)) {
        sim_say(sim, "node %d dies at call kind %d", number, (int)call->kind);
        node->crashing = true;
        fate.dead = true;
    } else if (sim_mishap(sim, FAULT_STOP)) {
        node->outage_until_us = sim->now_us + sim_between(sim, STREAM_FAULT, 0, 3000) * 1000;
        refuse(&fate, FF_CALLED_STOP, "53300");
    } else {
        if (sim_mishap(sim, FAULT_STALL))
            stall(sim, node);
        spoil(sim, &fate, call->kind);
    }
    return fate;
}

struct model_end sim_lose(void *ctx, int number, bool saving)
{
    struct sim *const sim = ctx;
    const struct node *const node = &sim->nodes[number];
    struct model_end end = {.commits = saving && sim_percent(sim, STREAM_FAULT, 60),
                            .sometimes = SOMETIMES_GHOST_BEFORE_RESOLVE};

    if (sim_percent(sim, STREAM_FAULT, 60) && !sim->healing)
        end.after_us =
            sim_between(sim, STREAM_FAULT, 1, sim_percent(sim, STREAM_FAULT, 15) ? 15000 : 1500) *
            1000;
    if (node->crashing) {
        sim_sometimes(sim, SOMETIMES_CRASH_IN_TRANSACTION);
        end.sometimes = end.after_us ? SOMETIMES_GHOST_COMMITTED : SOMETIMES_CRASH_AFTER_COMMIT;
    }
    return end;
}

int64_t sim_pause_us(void *ctx)
{
    struct sim *const sim = ctx;

    if (sim->opening || !sim_mishap(sim, FAULT_PAUSE))
        return 0;
    return sim_between(sim, STREAM_FAULT, 1, sim_percent(sim, STREAM_FAULT, 10) ? 300000 : 2000);
}

/* --- by itself --- */

static void jump(struct sim *sim)
{
    const bool on = sim_percent(sim, STREAM_FAULT, 60);
    const int64_t ms = sim_percent(sim, STREAM_FAULT, 70)
                           ? sim_between(sim, STREAM_FAULT, 1, 4000)
                           : sim_between(sim, STREAM_FAULT, 4000, 90000);

    if (sim_percent(sim, STREAM_FAULT, 30)) {
        struct node *const node =
            &sim->nodes[sim_below(sim, STREAM_FAULT, (uint64_t)sim->config.nodes)];

        node->real_offset_ms += on ? ms : -ms;
        return;
    }
    sim_sometimes(sim, on ? SOMETIMES_CLOCK_JUMPED_ON : SOMETIMES_CLOCK_JUMPED_BACK);
    sim_say(sim, "the store's clock jumps by %lld ms", (long long)(on ? ms : -ms));
    sim->store_offset_ms += on ? ms : -ms;
}

/* An operator's session, a backup, a migration: somebody holds rows. */
static void hold(struct sim *sim)
{
    static const ff_table tables[] = {FF_TABLE_EXECUTION, FF_TABLE_EXECUTION, FF_TABLE_EXECUTION,
                                      FF_TABLE_DEDUP,     FF_TABLE_LANE,      FF_TABLE_META,
                                      FF_TABLE_FLOW,      FF_TABLE_OUTBOX,    FF_TABLE_EDGE_GROUP,
                                      FF_TABLE_CLAIM,     FF_TABLE_TAG,       FF_TABLE_TAG};
    const ff_table table = tables[sim_below(sim, STREAM_FAULT, FF_ARRAY_LEN(tables))];
    const size_t there = model_slot_count(sim->model, table);
    const uint64_t wanted = 1 + sim_below(sim, STREAM_FAULT, 20);
    struct model_slot *slots[20];
    size_t count = 0;

    for (uint64_t i = 0; i < wanted && there > 0; i++) {
        /* Rows made lately are those somebody wants. */
        const size_t back =
            sim_below(sim, STREAM_FAULT, ff_min_size(there, table == FF_TABLE_TAG ? 12 : 60));
        struct model_slot *const slot = model_slot_at(sim->model, table, there - 1 - back);

        if (slot->row && !slot->holder)
            slots[count++] = slot;
    }
    if (count > 0)
        model_hold(sim->model, slots, count, sim_between(sim, STREAM_FAULT, 1, 1200) * 1000);
}

/* Few ask for tags at all: somebody holds the latest ones just when one does. */
void sim_hold_tags(struct sim *sim)
{
    const size_t there = model_slot_count(sim->model, FF_TABLE_TAG);
    struct model_slot *slots[20];
    size_t count = 0;

    if (sim->config.sqlite || !sim_mishap(sim, FAULT_HOLD))
        return;
    for (size_t back = 0; back < ff_min_size(there, FF_ARRAY_LEN(slots)); back++) {
        struct model_slot *const slot = model_slot_at(sim->model, FF_TABLE_TAG, there - 1 - back);

        if (slot->row && !slot->holder)
            slots[count++] = slot;
    }
    if (count > 0)
        model_hold(sim->model, slots, count, sim_between(sim, STREAM_FAULT, 1, 300) * 1000);
}

static void sleep_node(struct sim *sim, struct node *node)
{
    const int64_t ms = sim_between(sim, STREAM_FAULT, 50, 40000);

    sim_sometimes(sim, SOMETIMES_SLEPT);
    sim_say(sim, "node %d sleeps for %lld ms", node->number, (long long)ms);
    node->slept_us += node->sleep_end_us - node->sleep_begin_us;
    node->sleep_begin_us = sim->now_us;
    node->sleep_end_us = node->stalled_until_us = sim->now_us + ms * 1000;
}

void sim_mishaps(struct sim *sim)
{
    struct node *const node =
        &sim->nodes[sim_below(sim, STREAM_FAULT, (uint64_t)sim->config.nodes)];

    sim->next_mishap_us = sim->now_us + sim_between(sim, STREAM_FAULT, 50, 800) * 1000;
    if (sim_mishap(sim, FAULT_OUTAGE))
        begin_outage(sim, 8);
    if (sim_mishap(sim, FAULT_JUMP))
        jump(sim);
    if (sim_mishap(sim, FAULT_HOLD) && !sim->config.sqlite)
        hold(sim);
    if (!node->engine || node->crashing || node->stalled_until_us > sim->now_us)
        return;
    if (sim_mishap(sim, FAULT_SLEEP)) {
        sleep_node(sim, node);
    } else if (sim_mishap(sim, FAULT_RESTART)) {
        sim_sometimes(sim, SOMETIMES_GRACEFUL_RESTART);
        sim_say(sim, "node %d closes", node->number);
        ff_engine_free(FF_STEAL(node->engine));
        node->up_us = sim->now_us + sim_between(sim, STREAM_FAULT, 0, 2000) * 1000;
    }
}
