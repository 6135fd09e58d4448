/* SPDX-License-Identifier: Apache-2.0
 *
 * scenarios.c -- what is measured, by whom, and what we want to see.
 *
 * To add a scenario: a line here, one function in ours.c, one per floor. To add an engine: one more
 * side. Names are kept for ever, because results refer to them. */
#include "bench.h"

#define OURS  "flowfabric"
#define FLOOR "floor"

#define SIDES(ours, floor)                                                                         \
    {                                                                                              \
        {OURS, {bench_ours_##ours, bench_ours_##ours}},                                            \
        {                                                                                          \
            FLOOR,                                                                                 \
            {                                                                                      \
                bench_floor_sqlite_##floor, bench_floor_postgres_##floor                           \
            }                                                                                      \
        }                                                                                          \
    }

// clang-format off
const struct bench_scenario bench_scenarios[] = {
    {"bulk-submit", "bulk submit, 1,000 per call", BENCH_RATE, 100000, 20000, 1, 1000,
     SIDES(bulk, insert)},
    {"drain-1", "drain, 100 per call, 1 worker", BENCH_RATE, 30000, 10000, 1, 100,
     SIDES(drain, work)},
    {"drain-4", "drain, 100 per call, 4 workers", BENCH_RATE, 40000, 10000, 4, 100,
     SIDES(drain, work)},
    {"submit-1", "single submits, 1 caller", BENCH_RATE, 10000, 500, 1, 1,
     SIDES(submit, insert)},
    {"submit-16", "single submits, 16 callers", BENCH_RATE, 20000, 3000, 16, 1,
     SIDES(submit, insert)},
    {"work-1", "single claim + complete, 1 caller", BENCH_RATE, 10000, 500, 1, 1,
     SIDES(work, work)},
    {"work-16", "single claim + complete, 16 callers", BENCH_RATE, 20000, 3000, 16, 1,
     SIDES(work, work)},
    {"end-to-end", "end to end, 16 submitters, 16 slots", BENCH_RATE, 20000, 3000, 16, 1,
     SIDES(both, both)},
    {"idle-latency", "idle: submit until completed", BENCH_LATENCY, 200, 50, 1, 1,
     SIDES(latency, latency)},
    {"idle-cost", "idle: cost of doing nothing", BENCH_IDLE, 1, 1, 1, 1,
     {{OURS, {bench_ours_idle, bench_ours_idle}}}},
};

#define HALF_THE_FLOOR(store, scenario)                                                            \
    {scenario ": at least half the floor", store, scenario, OURS, scenario, FLOOR, 0.5}
#define SIXTEEN_TO_ONE(store, scenario)                                                            \
    {scenario "-16: at least 5 times " scenario "-1", store, scenario "-16", OURS,                 \
     scenario "-1", OURS, 5}

const struct bench_aim bench_aims[] = {
    HALF_THE_FLOOR(BENCH_SQLITE, "bulk-submit"),
    HALF_THE_FLOOR(BENCH_SQLITE, "drain-1"),
    HALF_THE_FLOOR(BENCH_SQLITE, "drain-4"),
    SIXTEEN_TO_ONE(BENCH_SQLITE, "submit"),
    SIXTEEN_TO_ONE(BENCH_SQLITE, "work"),
    HALF_THE_FLOOR(BENCH_POSTGRES, "bulk-submit"),
    HALF_THE_FLOOR(BENCH_POSTGRES, "drain-1"),
    HALF_THE_FLOOR(BENCH_POSTGRES, "drain-4"),
    SIXTEEN_TO_ONE(BENCH_POSTGRES, "submit"),
    SIXTEEN_TO_ONE(BENCH_POSTGRES, "work"),
};
// clang-format on

const size_t bench_scenario_count = sizeof bench_scenarios / sizeof *bench_scenarios;
const size_t bench_aim_count = sizeof bench_aims / sizeof *bench_aims;
