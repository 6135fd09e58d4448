/* SPDX-License-Identifier: Apache-2.0
 *
 * loops.c -- what each loop of the supervisor asks for.
 *
 * A loop is a row of the table: an op and what it is given. Tests: tests/unit/test_engine.c. */
#include "engine/loops.h"

#include "base/limits.h"
#include "engine/engine-int.h"

#include "base/banned.h"

static void *fill_timer(struct ff_engine *engine, ff_timer_scope scope, struct ff_arena *arena)
{
    struct ff_timer_in *const in = ff_arena_alloc(arena, sizeof *in);

    if (in)
        *in = (struct ff_timer_in){
            .scope = scope, .limit = FF_TIMER_SCAN_ROWS, .filter = engine->options.filter};
    return in;
}

static void *fill_leases(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_timer(engine, FF_TIMER_LEASES, arena);
}

static void *fill_delays(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_timer(engine, FF_TIMER_DELAYS, arena);
}

static void *fill_deadlines(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_timer(engine, FF_TIMER_DEADLINES, arena);
}

static void *fill_retention(struct ff_engine *engine, struct ff_arena *arena)
{
    struct ff_retention_in *const in = ff_arena_alloc(arena, sizeof *in);

    if (in)
        *in = (struct ff_retention_in){.limit = FF_RETENTION_SCAN_ROWS,
                                       .retention_ms = FF_NULL64,
                                       .filter = engine->options.filter};
    return in;
}

static void *fill_trim(struct ff_engine *engine, struct ff_arena *arena)
{
    struct ff_log_trim_in *const in = ff_arena_alloc(arena, sizeof *in);

    (void)engine;
    if (in)
        in->limit = FF_RETENTION_SCAN_ROWS;
    return in;
}

static void *fill_prune(struct ff_engine *engine, struct ff_arena *arena)
{
    struct ff_prune_in *const in = ff_arena_alloc(arena, sizeof *in);

    (void)engine;
    if (in)
        in->limit = FF_RETENTION_SCAN_ROWS;
    return in;
}

static void *fill_contact(struct ff_engine *engine, struct ff_arena *arena)
{
    (void)engine;
    return ff_arena_alloc(arena, sizeof(struct ff_contact_in));
}

static void *fill_find(struct ff_engine *engine, struct ff_arena *arena, ff_find_what what,
                       int64_t older_ms)
{
    struct ff_find_in *const in = ff_arena_alloc(arena, sizeof *in);

    if (in)
        *in = (struct ff_find_in){.what = what,
                                  .older_ms = older_ms,
                                  .limit = FF_FIND_ROWS,
                                  .filter = engine->options.filter};
    return in;
}

static void *fill_hops(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_find(engine, arena, FF_FIND_HOPS, 0);
}

static void *fill_old_hops(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_find(engine, arena, FF_FIND_HOPS, FF_RECONCILE_AGE_MS);
}

static void *fill_drains(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_find(engine, arena, FF_FIND_DRAINS, 0);
}

static void *fill_old_drains(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_find(engine, arena, FF_FIND_DRAINS, FF_DRAIN_AGE_MS);
}

static void *fill_flows(struct ff_engine *engine, struct ff_arena *arena)
{
    return fill_find(engine, arena, FF_FIND_FLOWS, 0);
}

// clang-format off
const struct ff_loop_info ff_loops[FF_LOOP_COUNT] = {
    [FF_LOOP_ATTEMPT_TIMEOUT] =
        {"attempt_timeout", 1000, FF_OP_TIMER_FIRE, NULL, FF_NEED_TIMER, false},
    [FF_LOOP_LEASE_EXPIRY] =
        {"lease_expiry", 1000, FF_OP_TIMER_FIRE, fill_leases, FF_NEED_TIMER, false},
    [FF_LOOP_DELAYED] =
        {"delayed", 1000, FF_OP_TIMER_FIRE, fill_delays, FF_NEED_TIMER, false},
    [FF_LOOP_EXECUTION_DEADLINE] =
        {"execution_deadline", 5000, FF_OP_TIMER_FIRE, fill_deadlines, FF_NEED_TIMER, false},
    [FF_LOOP_HOPS] =
        {"hops", 0, FF_OP_HOP_FIND, fill_hops, FF_NEED_HOPS, true},
    [FF_LOOP_DEPENDENCY] =
        {"dependency", 15000, FF_OP_HOP_FIND, fill_old_hops, FF_NEED_HOPS, false},
    [FF_LOOP_EDGE_CANCEL_DISPATCHER] =
        {"edge_cancel_dispatcher", 1000, FF_OP_HOP_FIND, fill_drains, FF_NEED_DRAINS, false},
    [FF_LOOP_EDGE_CANCEL_RECONCILER] =
        {"edge_cancel_reconciler", 10000, FF_OP_HOP_FIND, fill_old_drains, FF_NEED_DRAINS, false},
    [FF_LOOP_FLOW_CANCEL] =
        {"flow_cancel", 1000, FF_OP_HOP_FIND, fill_flows, FF_NEED_DRAINS, false},
    [FF_LOOP_RETENTION] =
        {"retention", 60000, FF_OP_RETENTION_SWEEP, fill_retention, FF_NEED_NOTHING, false},
    [FF_LOOP_EVENT_RETENTION] =
        {"event_retention", 60000, FF_OP_LOG_TRIM, fill_trim, FF_NEED_NOTHING, false},
    [FF_LOOP_BATCH_PRUNE] =
        {"batch_prune", 60000, FF_OP_META_PRUNE, fill_prune, FF_NEED_NOTHING, false},
    [FF_LOOP_CONTACT] =
        {"contact", FF_CONTACT_WRITE_MS, FF_OP_META_CONTACT, fill_contact, FF_NEED_NOTHING, true},
};
// clang-format on

/* Whoever keeps things for less than a minute wants them gone in about that time. */
int64_t ff_loop_interval_ms(const struct ff_engine *engine, int id)
{
    const int64_t usual_ms = ff_loops[id].interval_ms;
    const struct ff_settings *const settings = &engine->options.settings;

    if (id != FF_LOOP_RETENTION && id != FF_LOOP_EVENT_RETENTION)
        return usual_ms;
    return ff_min_i64(usual_ms, ff_max_i64(id == FF_LOOP_RETENTION ? settings->retention_ms
                                                                   : settings->event_retention_ms,
                                           1000));
}
