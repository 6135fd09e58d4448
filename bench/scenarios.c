/* SPDX-License-Identifier: Apache-2.0
 *
 * scenarios.c -- what is measured, by whom, and what we want to see.
 *
 * To add a scenario: a line here, one function in ours.c, one per floor. To add an engine: one more
 * side. Names are kept for ever, because results refer to them. */
#include "bench.h"

#define OURS  "flowfabric"
#define FLOOR "floor"

// clang-format off
#define BOTH(fn)  {bench_##fn, bench_##fn}
#define HAND(fn)  {bench_floor_sqlite_##fn, bench_floor_postgres_##fn}
#define PEER(name) {name, {NULL, bench_peer}}
#define PEERS     PEER("graphile"), PEER("graphile:batched"), PEER("pgboss"), PEER("dbos"), \
                  PEER("bullmq"), PEER("restate")

#define ALONE(fn)        {{OURS, BOTH(fn)}}
#define BESIDE_EMPTY(fn) {{OURS, BOTH(fn)}, {BENCH_EMPTY, BOTH(ours_drain)}}
#define SIDES(fn, floor) {{OURS, BOTH(ours_##fn)}, {FLOOR, HAND(floor)}}
#define BESIDE(fn, floor) {{OURS, BOTH(fn)}, {FLOOR, HAND(floor)}, PEERS}
#define ALL(fn, floor)   BESIDE(ours_##fn, floor)
#define BATCHED(fn, floor) {{OURS, BOTH(ours_##fn)}, {FLOOR, HAND(floor)}, \
                            PEER("graphile:batched"), PEER("pgboss")}
#define OTHERS(fn)       {{OURS, BOTH(fn)}, {FLOOR, {NULL, NULL}}, PEERS}

#define GROWTH(name, title, fn, finished, delayed, blocked) \
    {name, title, BENCH_RATE, 40000, 10000, 4, 100, BESIDE_EMPTY(fn), 0, true, \
     {finished, delayed, blocked}}

const struct bench_scenario bench_scenarios[] = {
    {"bulk-submit", "bulk submit, 1,000 per call", BENCH_RATE, 100000, 20000, 1, 1000,
     ALL(bulk, insert), 0, false, {0, 0, 0}},
    {"drain-1", "drain, 100 per call, 1 worker", BENCH_RATE, 30000, 10000, 1, 100,
     SIDES(drain, work), 0, false, {0, 0, 0}},
    {"drain-4", "drain, 100 per call, 4 workers", BENCH_RATE, 40000, 10000, 4, 100,
     BATCHED(drain, work), 0, false, {0, 0, 0}},
    {"drain-full", "drain, 256 per call, 8 workers", BENCH_RATE, 40000, 10000, 8, 256,
     ALL(drain, work), 0, false, {0, 0, 0}},
    {"submit-1", "single submits, 1 caller", BENCH_RATE, 10000, 500, 1, 1,
     SIDES(submit, insert), 0, false, {0, 0, 0}},
    {"submit-16", "single submits, 16 callers", BENCH_RATE, 20000, 3000, 16, 1,
     SIDES(submit, insert), 0, false, {0, 0, 0}},
    {"flight-submit", "single submits, 16 in flight", BENCH_RATE, 20000, 3000, 16, 1,
     BESIDE(flight_submit, insert), 0, false, {0, 0, 0}},
    {"work-1", "single claim + complete, 1 caller", BENCH_RATE, 10000, 500, 1, 1,
     SIDES(work, work), 0, false, {0, 0, 0}},
    {"work-16", "single claim + complete, 16 callers", BENCH_RATE, 20000, 3000, 16, 1,
     SIDES(work, work), 0, false, {0, 0, 0}},
    {"end-to-end", "end to end, 16 submitters, 16 slots", BENCH_RATE, 20000, 3000, 16, 1,
     SIDES(both, both), 0, false, {0, 0, 0}},
    {"flight-end-to-end", "end to end, 16 submits in flight, 16 slots", BENCH_RATE, 20000, 3000, 16,
     1, BESIDE(flight_both, both), 0, false, {0, 0, 0}},
    {"idle-latency", "idle: submit until completed", BENCH_LATENCY, 200, 50, 1, 1,
     ALL(latency, latency), 0, false, {0, 0, 0}},
    {"bulk-submit-4k", "bulk submit, payload of 4 KiB", BENCH_RATE, 30000, 5000, 1, 1000,
     SIDES(bulk, insert), 4096, false, {0, 0, 0}},
    {"drain-4k", "drain, payload of 4 KiB, 4 workers", BENCH_RATE, 20000, 5000, 4, 100,
     SIDES(drain, work), 4096, false, {0, 0, 0}},
    {"drain-followed", "drain, 4 workers, 1 subscriber", BENCH_RATE, 40000, 10000, 4, 100,
     ALONE(ours_followed), 0, false, {0, 0, 0}},
    {"drain-crowd", "drain, 4 workers, 100 subscribers, 20 slow", BENCH_RATE, 40000, 10000, 4, 100,
     ALONE(events_crowd), 0, false, {0, 0, 0}},
    {"delivery-idle", "idle: event written until delivered", BENCH_LATENCY, 200, 50, 1, 1,
     ALONE(events_idle), 0, false, {0, 0, 0}},
    {"delivery-busy", "under load: event written until delivered", BENCH_LATENCY, 200, 50, 4, 100,
     ALONE(events_busy), 0, false, {0, 0, 0}},
    {"routed", "drain, 10 capability sets, 40 workers", BENCH_RATE, 20000, 5000, 40, 10,
     ALONE(ours_routed), 0, false, {0, 0, 0}},
    {"hop", "hop: upstream completed until child claimed", BENCH_LATENCY, 200, 50, 1, 1,
     ALONE(flows_hop), 0, false, {0, 0, 0}},
    {"chain", "chain of 10, one worker", BENCH_LATENCY, 100, 20, 1, 1,
     OTHERS(flows_chain), 0, false, {0, 0, 0}},
    {"chains", "chains of 10, 16 slots (flows)", BENCH_RATE, 1000, 100, 16, 1,
     OTHERS(flows_chains), 0, false, {0, 0, 0}},
    {"fan", "fan-out of 100 and join, 16 slots", BENCH_LATENCY, 30, 10, 16, 100,
     OTHERS(flows_fan), 0, false, {0, 0, 0}},
    {"quorum-10", "1 of 10: until the others are cancelled", BENCH_LATENCY, 50, 10, 1, 10,
     ALONE(flows_quorum), 0, false, {0, 0, 0}},
    {"quorum-100", "1 of 100: until the others are cancelled", BENCH_LATENCY, 20, 5, 1, 100,
     ALONE(flows_quorum), 0, false, {0, 0, 0}},
    {"quorum-1000", "1 of 1,000: until the others are cancelled", BENCH_LATENCY, 10, 3, 1, 1000,
     ALONE(flows_quorum), 0, false, {0, 0, 0}},
    {"edges-100", "edges dispatched, 100 per node", BENCH_RATE, 10000, 5000, 1, 100,
     ALONE(flows_edges), 0, false, {0, 0, 0}},
    {"edges-1000", "edges dispatched, 1,000 per node", BENCH_RATE, 10000, 5000, 1, 1000,
     ALONE(flows_edges), 0, false, {0, 0, 0}},
    {"edges-9000", "edges dispatched, 9,000 per node", BENCH_RATE, 9000, 9000, 1, 9000,
     ALONE(flows_edges), 0, false, {0, 0, 0}},
    {"start-up", "start-up: ff_open of a store in use", BENCH_LATENCY, 30, 5, 1, 1,
     ALONE(ours_start), 0, false, {0, 0, 0}},
    {"idle-cost", "idle: cost of doing nothing", BENCH_IDLE, 1, 1, 1, 1,
     ALONE(ours_idle), 0, false, {0, 0, 0}},
    {"http-submit", "HTTP: single submits, 16 clients", BENCH_RATE, 10000, 2000, 16, 1,
     ALONE(serve_submit), 0, false, {0, 0, 0}},
    {"http-drain", "HTTP: drain, 16 workers, 32 per request", BENCH_RATE, 20000, 5000, 16, 32,
     ALONE(serve_drain), 0, false, {0, 0, 0}},
    {"http-end-to-end", "HTTP: end to end, 16 clients, 16 workers", BENCH_RATE, 10000, 2000, 16, 32,
     ALONE(serve_both), 0, false, {0, 0, 0}},
    {"http-start-up", "HTTP: start-up of a server", BENCH_LATENCY, 20, 5, 1, 1,
     ALONE(serve_start), 0, false, {0, 0, 0}},
    {"http-idle", "HTTP: an idle server", BENCH_IDLE, 1, 1, 1, 1,
     ALONE(serve_idle), 0, false, {0, 0, 0}},
    {"growth-0", "drain, empty store", BENCH_RATE, 40000, 10000, 4, 100,
     ALONE(ours_drain), 0, true, {0, 0, 0}},
    GROWTH("growth-100k", "drain, 100,000 have ended", ours_drain, 100000, 0, 0),
    GROWTH("growth-1m", "drain, 1,000,000 have ended", ours_drain, 1000000, 0, 0),
    GROWTH("growth-waiting", "drain, 100,000 delayed and 100,000 blocked", ours_drain, 0, 100000,
           100000),
    GROWTH("growth-pinned", "drain, a snapshot is held all the time", growth_pinned, 0, 0, 0),
    {"growth-10m", "drain, 10,000,000 have ended", BENCH_RATE, 40000, 10000, 4, 100,
     {{OURS, {NULL, bench_ours_drain}}, {BENCH_EMPTY, {NULL, bench_ours_drain}}}, 0, true,
     {10000000, 0, 0}},
};

#define RATIO(what, store, scenario, to_scenario, to_side, at_least)                               \
    {what, store, AIM_RATIO, scenario, to_scenario, to_side, at_least}
#define TO_FLOOR(what, store, scenario, at_least)                                                  \
    RATIO(what, store, scenario, scenario, FLOOR, at_least)
#define TO_PEER(what, scenario, side, at_least)                                                    \
    RATIO(what, BENCH_POSTGRES, scenario, scenario, side, at_least)
#define BELOW(what, store, kind, scenario, limit) {what, store, kind, scenario, NULL, NULL, limit}

const struct bench_aim bench_aims[] = {
    TO_FLOOR("bulk submit: half of the floor", BENCH_SQLITE, "bulk-submit", 0.5),
    TO_FLOOR("drain, 1 worker: half of the floor", BENCH_SQLITE, "drain-1", 0.5),
    TO_FLOOR("drain, 4 workers: half of the floor", BENCH_SQLITE, "drain-4", 0.5),
    RATIO("drain: a subscriber costs a fifth at most", BENCH_SQLITE, "drain-followed", "drain-4",
          OURS, 0.8),
    RATIO("16 submitters: 5 times one", BENCH_SQLITE, "submit-16", "submit-1", OURS, 5),
    RATIO("16 workers: 5 times one", BENCH_SQLITE, "work-16", "work-1", OURS, 5),
    BELOW("hop p50, ms", BENCH_SQLITE, AIM_P50_MS, "hop", 1),
    RATIO("edges: 9,000 per node as 100", BENCH_SQLITE, "edges-9000", "edges-100", OURS, 0.8),
    TO_FLOOR("bulk submit: half of the floor", BENCH_POSTGRES, "bulk-submit", 0.5),
    TO_FLOOR("drain, 1 worker: half of the floor", BENCH_POSTGRES, "drain-1", 0.5),
    TO_FLOOR("drain, 4 workers: half of the floor", BENCH_POSTGRES, "drain-4", 0.5),
    RATIO("drain: a subscriber costs a fifth at most", BENCH_POSTGRES, "drain-followed", "drain-4",
          OURS, 0.8),
    RATIO("16 submitters: 5 times one", BENCH_POSTGRES, "submit-16", "submit-1", OURS, 5),
    RATIO("16 workers: 5 times one", BENCH_POSTGRES, "work-16", "work-1", OURS, 5),
    BELOW("database CPU s per 10,000 drained", BENCH_POSTGRES, AIM_DATABASE_S, "drain-4", 0.5),
    BELOW("hop p50, ms", BENCH_POSTGRES, AIM_P50_MS, "hop", 2),
    BELOW("chain of 10 p50, ms", BENCH_POSTGRES, AIM_P50_MS, "chain", 10),
    RATIO("edges: 9,000 per node as 100", BENCH_POSTGRES, "edges-9000", "edges-100", OURS, 0.8),
#define GROWN(what, scenario)                                                                      \
    RATIO(what, BENCH_SQLITE, scenario, scenario, BENCH_EMPTY, 0.8),                               \
    RATIO(what, BENCH_POSTGRES, scenario, scenario, BENCH_EMPTY, 0.8)
    GROWN("100,000 have ended: 0.8 of empty", "growth-100k"),
    GROWN("1,000,000 have ended: 0.8 of empty", "growth-1m"),
    RATIO("10,000,000 ended: 0.8 of empty", BENCH_POSTGRES, "growth-10m", "growth-10m", BENCH_EMPTY,
          0.8),
    GROWN("200,000 wait: 0.8 of empty", "growth-waiting"),
    GROWN("pinned snapshot: 0.8 of without", "growth-pinned"),
    TO_PEER("bulk submit: 2.5 times the best", "bulk-submit", BENCH_BEST_PEER, 2.5),
    TO_PEER("single submits: twice the best", "flight-submit", BENCH_BEST_PEER, 2),
    TO_PEER("drain: graphile-worker, batched", "drain-full", "graphile:batched", 1),
    TO_PEER("drain: 1.5 times pg-boss, batched", "drain-4", "pgboss", 1.5),
    TO_PEER("end to end: 8 times graphile-worker", "flight-end-to-end", "graphile:batched", 8),
    TO_PEER("end to end: 8 times pg-boss", "flight-end-to-end", "pgboss", 8),
    TO_PEER("end to end: 8 times DBOS", "flight-end-to-end", "dbos", 8),
    TO_PEER("end to end: 1.5 times BullMQ", "flight-end-to-end", "bullmq", 1.5),
    TO_PEER("idle latency: the best", "idle-latency", BENCH_BEST_PEER, 1),
    TO_PEER("chain of 10: half of the best", "chain", BENCH_BEST_PEER, 2),
    TO_PEER("chains, 16 slots: twice the best", "chains", BENCH_BEST_PEER, 2),
    TO_PEER("fan-out and join: the best", "fan", BENCH_BEST_PEER, 1),
};
// clang-format on

const size_t bench_scenario_count = sizeof bench_scenarios / sizeof *bench_scenarios;
const size_t bench_aim_count = sizeof bench_aims / sizeof *bench_aims;
