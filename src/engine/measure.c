/* SPDX-License-Identifier: Apache-2.0
 *
 * measure.c -- what this process has done and how long it took.
 *
 * Looks at batches and jobs after the fact: no op, no row and no statement knows of it.
 * Tests: tests/e2e/test_metrics.py. */
#include "engine/measure.h"

#include <string.h>

#include "base/macros.h"
#include "engine/engine-int.h"
#include "ops/execution.h"
#include "sql_ids.h"

#include "base/banned.h"

#define US_PER_MS INT64_C(1000)

const struct ff_measures *ff_engine_measures(const struct ff_engine *engine)
{
    return &engine->measures;
}

size_t ff_engine_lane_runs(struct ff_engine *engine, struct ff_lane_runs *out)
{
    size_t count;

    pthread_mutex_lock(&engine->lock);
    count = engine->measures.lane_count;
    memcpy(out, engine->measures.lanes, count * sizeof *out);
    pthread_mutex_unlock(&engine->lock);
    return count;
}

int64_t ff_engine_timers_late_ms(struct ff_engine *engine)
{
    struct ff_pulse pulse;

    pthread_mutex_lock(&engine->lock);
    pulse = engine->supervisor.pulse;
    pthread_mutex_unlock(&engine->lock);
    return pulse.next_due_ms == FF_NULL64 ? 0 : ff_max_i64(pulse.now_ms - pulse.next_due_ms, 0);
}

int64_t ff_engine_events_lag(struct ff_engine *engine)
{
    struct ff_tail *const tail = engine->tail;
    int64_t lag = 0;

    pthread_mutex_lock(&tail->lock);
    if (tail->follow_count)
        lag = ff_max_i64(tail->head_id - tail->position, 0);
    pthread_mutex_unlock(&tail->lock);
    return lag;
}

ff_status ff_engine_wal_bytes(struct ff_engine *engine, int64_t timeout_ms, int64_t *ret_bytes,
                              struct ff_error *reterr)
{
    struct ff_arena arena;
    struct ff_read read = {.block = FF_SQL_WAL_BYTES, .arena = &arena};
    ff_status status;

    ff_arena_init(&arena, 256, 4096);
    status = ff_engine_read(engine, &read, timeout_ms, reterr);
    if (status == FF_OK)
        *ret_bytes = read.cells[FF_OUT_WAL_BYTES_BYTES].as.i64;
    ff_arena_done(&arena);
    return status;
}

/* ---- after a commit ----------------------------------------------------------------------------
 */

/* Under the engine's lock. */
static struct ff_lane_runs *runs_of(struct ff_measures *measures, struct ff_str lane)
{
    for (size_t i = 0; i < measures->lane_count; i++)
        if (ff_str_eq(lane, ff_str_of(measures->lanes[i].lane)))
            return &measures->lanes[i];
    if (measures->lane_count > FF_MEASURED_LANES_MAX)
        return &measures->lanes[FF_MEASURED_LANES_MAX];

    struct ff_lane_runs *const runs = &measures->lanes[measures->lane_count++];
    if (measures->lane_count <= FF_MEASURED_LANES_MAX)
        memcpy(runs->lane, lane.ptr, ff_min_size(lane.len, FF_LANE_BYTES_MAX));
    return runs;
}

static void run_ended(struct ff_engine *engine, struct ff_batch *batch,
                      const struct ff_event *event)
{
    const struct ff_execution key = {.partition_key = event->partition_key,
                                     .execution_id = event->execution_id};
    const struct ff_entry *const entry = ff_rowset_find(&batch->rows, FF_TABLE_EXECUTION, &key);
    const struct ff_execution *const row = entry ? entry->row : NULL;

    if (!row || event->type < 0 || event->type >= FF_MEASURED_OUTCOMES)
        return;
    runs_of(&engine->measures, row->lane)->ended[event->type]++;
    if (row->started_at_ms != FF_NULL64 && row->finished_at_ms != FF_NULL64)
        ff_histogram_add(&engine->measures.run,
                         (row->finished_at_ms - row->started_at_ms) * US_PER_MS);
}

void ff_measure_committed(struct ff_engine *engine, struct ff_batch *batch)
{
    ff_histogram_add(&engine->measures.batch,
                     (ff_engine_mono_ms(engine) - batch->begun_mono_ms) * US_PER_MS);
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < batch->rows.event_count; i++)
        if (batch->rows.events[i]->kind == FF_EVENT_COMPLETION)
            run_ended(engine, batch, batch->rows.events[i]);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- after an answer ---------------------------------------------------------------------------
 */

void ff_measure_answered(struct ff_engine *engine, const struct ff_job *job)
{
    if (job->type == &ff_op_types[FF_OP_EXECUTION_RENEW]) {
        ff_histogram_add(&engine->measures.renew,
                         (ff_engine_mono_ms(engine) - job->born_mono_ms) * US_PER_MS);
    } else if (job->type == &ff_op_types[FF_OP_EXECUTION_CLAIM] && job->status == FF_OK) {
        const struct ff_claim_out *const out = job->out;

        for (size_t i = 0; out && i < out->task_count; i++)
            if (out->tasks[i].waited_ms >= 0)
                ff_histogram_add(&engine->measures.queue_wait, out->tasks[i].waited_ms * US_PER_MS);
    }
}
