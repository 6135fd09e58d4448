/* SPDX-License-Identifier: Apache-2.0
 *
 * storm.c -- store calls that fail by chance, while threads and loops are at work.
 *
 * The sweep takes one call after the other on an engine that stands still; here everything moves,
 * and the pulse, the timers and the readers get their share. */
#include "kit/load.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/fault.h"

#include "base/banned.h"

#define THREADS    6
#define TIMEOUT_MS 10000
#define PER_MILLE  60 /* of all calls */

struct storm {
    atomic_bool on;
    uint64_t seed;
};

/* Called from many threads: chance is a function of the number. */
static ff_fault_verdict by_chance(void *ctx, const struct ff_call *call, uint64_t n)
{
    const struct storm *const storm = ctx;
    struct ff_prng prng;

    (void)call;
    ff_prng_init(&prng, storm->seed * 1000003 + n);
    if (!atomic_load(&storm->on) || ff_prng_below(&prng, 1000) >= PER_MILLE)
        return FF_FAULT_RUN;
    switch (ff_prng_below(&prng, 8)) {
    case 0:
        return FF_FAULT_BEFORE_STOP; /* costs everybody a rest, so not too often */
    case 1:
    case 2:
        return FF_FAULT_BEFORE;
    case 3:
    case 4:
        return FF_FAULT_BEFORE_LOST;
    default:
        return FF_FAULT_AFTER;
    }
}

static uint64_t hits_of(struct ff_store *store, uint64_t *ret_calls)
{
    struct ff_fault_counts counts;
    uint64_t hits = 0;

    ff_store_fault_counts(store, &counts);
    for (int kind = 0; kind < FF_FAULT_KINDS; kind++)
        for (int verdict = FF_FAULT_BEFORE; verdict < FF_FAULT_PASSING_COUNT; verdict++)
            hits += counts.hits[kind][verdict];
    *ret_calls = counts.calls;
    return hits;
}

static void calls_fail_by_chance(struct test *t)
{
    struct storm *const storm = keep(t, sizeof *storm);
    const int64_t work = is_full_run() ? 900 : 500; /* a page of the list holds 1,000 */
    const struct ff_fault fault = {.ctx = storm, .decide = by_chance};
    struct ff_engine_options options;
    struct ff_store *store;
    struct load *load;
    uint64_t hits, calls;

    storm->seed = is_full_run() ? (uint64_t)test_mono_ms() : 7;
    ff_engine_options_default(&options);
    store = open_under_faults(t, &fault, options, TIMEOUT_MS);
    atomic_store(&storm->on, true);
    load = load_start_on(t, THREADS, TIMEOUT_MS);
    WAIT_UNTIL_FOR(t, load_done(load) >= work && hits_of(store, &calls) > 8, 120000);
    atomic_store(&storm->on, false);
    load_check(t, load, "calls fail by chance");
    hits = hits_of(store, &calls);
    (void)printf("# %llu of %llu calls failed, seed %llu\n", (unsigned long long)hits,
                 (unsigned long long)calls, (unsigned long long)storm->seed);
}

const struct plain_case storm_cases[] = {
    {"storm/calls_fail_by_chance_on_memory", TEST_STORE_MEMORY, calls_fail_by_chance, false},
    {"storm/calls_fail_by_chance_on_a_file", TEST_STORE_FILE, calls_fail_by_chance, false},
    {"storm/calls_fail_by_chance_on_postgres", TEST_STORE_POSTGRES, calls_fail_by_chance, false},
    {0},
};
