/* SPDX-License-Identifier: Apache-2.0
 *
 * world.h -- a store in an array, so that ops can be tested without one.
 *
 * Rows live from op to op; each run is one batch: need, load, apply, save. Scans are answered by
 * the same rules as src/store/sql. Nothing is ever busy. The clock stands still until it is moved.
 */
#ifndef FF_TEST_WORLD_H
#define FF_TEST_WORLD_H

#include "model/capset.h"
#include "ops/background.h"
#include "ops/execution.h"
#include "ops/flow.h"
#include "ops/op.h"

#define WORLD_ROWS_MAX   1400
#define WORLD_EVENTS_MAX 2000

struct world {
    struct ff_arena arena; /* never reset while the world exists */
    void *rows[FF_TABLE_COUNT][WORLD_ROWS_MAX];
    size_t row_count[FF_TABLE_COUNT];
    struct ff_event *events[WORLD_EVENTS_MAX];
    size_t event_count;
    struct ff_settings settings;
    struct ff_capsets capsets; /* kept up to date, as the engine does */
    int64_t now_ms, contact_since_ms, steady_since_ms;
    uint64_t ops; /* seeds of the ops, so every run is the same */
    struct ff_error error;
    int rounds; /* batches the last run took */
};

struct world_job {
    ff_op_id op;
    void *in;
    void *out;
    ff_status status;
};

void world_init(struct world *world);
void world_done(struct world *world);

/* One op; FF_AGAIN puts it into the next batch. The error is in world->error. */
ff_status world_run(struct world *world, ff_op_id op, void *in, void *out);
/* All of them in one batch, in this order; those that said FF_AGAIN run in the next one. */
void world_batch(struct world *world, struct world_job *jobs, size_t count);

struct ff_execution *world_execution(struct world *world, struct ff_exec_id id);
void *world_row(struct world *world, ff_table table, const void *key);
/* "lease.acquired completion.success": the events of an execution from the n-th of the world on. */
const char *world_events(struct world *world, struct ff_exec_id id, size_t from);
const struct ff_event *world_last_event(const struct world *world);

/* --- given --- */

struct ff_submit_in world_submission(struct world *world);
/* Prepares and submits; aborts the test unless it is created. */
struct ff_exec_id world_submit(struct world *world, struct ff_submit_in *in);
struct ff_exec_id world_given_ready(struct world *world);
struct ff_claim_in world_claim_of(struct world *world, const char *worker);
/* Claims up to `max` for a worker with default settings; returns how many came. */
size_t world_claim(struct world *world, const char *worker, int64_t max, struct ff_claim_out *out);
/* Exactly one task, claimed by `worker`. */
struct ff_task_ref world_given_claimed(struct world *world, const char *worker);
struct ff_timer_out world_fire(struct world *world, ff_timer_scope scope);
struct ff_task_ref world_task(const struct ff_claim_out *out, size_t i);

#endif
