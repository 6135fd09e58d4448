/* SPDX-License-Identifier: Apache-2.0
 *
 * scenarios.h -- one call of the API each: what was before it, the call, what a repeat of it says.
 *
 * For tests/faults only: the sweep of store calls and the sweep of allocations walk this list. */
#ifndef FF_TESTS_FAULTS_SCENARIOS_H
#define FF_TESTS_FAULTS_SCENARIOS_H

#include "faults.h"

#define STAGE_ITEMS 20

/* Where a scenario plays: a namespace and a lane of its own in a store it shares with others. */
struct stage {
    char ns[32];
    char ids[STAGE_ITEMS][FF_ID_BYTES];
    size_t id_count;
    struct held held[STAGE_ITEMS];
    bool fired; /* a timer of this scenario has acted */
    char flow_id[FF_UUID_BYTES];
    char answer[1024]; /* what the last successful act was told, without times and random ids */
};

#define AGAIN_CHANGES 1u  /* saying it twice is not the same as saying it once */
#define ONLY_READS    2u  /* changes nothing that a dump shows */
#define TIMER         4u  /* waits for a time to come: slow */
#define MANY          8u  /* items of one call may fare differently */
#define ASSUMES       16u /* knows enough to save without a load, where the save can prove it */

struct scenario {
    const char *name;
    void (*given)(struct test *t, struct stage *s);
    ff_status (*act)(struct test *t, struct stage *s);
    ff_status again; /* what a repeat says after a success */
    unsigned flags;
    /* Another state that a failed act may leave behind: this, done after a clean act. NULL: none */
    void (*undone)(struct test *t, struct stage *s);
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* ---- coverage.c: what has failed, against the list of all that can ---- */

struct ff_fault_counts;
void coverage_add(struct ff_fault_counts *total, struct ff_store *store);
/* Fails the reads that the engine makes for itself, and adds them: the pulse and what it leads to,
 * what is looked after, the reads of the tailer. */
void sweep_own_reads(struct test *t, struct ff_fault_counts *total);
/* Every block and every change of a table has failed before and after, but for named ones. */
void expect_coverage(struct test *t, const struct ff_fault_counts *total);

void stage_init(struct stage *s);
/* Calls `run` for all that are wanted (NULL: all), each on a store of its own that `run` opens as
 * t->client: dumps and audits take longer the more there is. */
void each_scenario(struct test *t, bool (*wanted)(const struct scenario *scenario),
                   void (*run)(struct test *t, void *ctx, const struct scenario *scenario),
                   void *ctx);

#endif
