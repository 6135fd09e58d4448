/* SPDX-License-Identifier: Apache-2.0
 *
 * measure.h -- what this process has done and how long it took, for whoever draws curves.
 *
 * Only what was committed and answered here counts; the sum over all processes is the store's.
 * Read first: src/engine/README.md. Tests: tests/e2e/test_metrics.py. */
#ifndef FF_ENGINE_MEASURE_H
#define FF_ENGINE_MEASURE_H

#include "base/histogram.h"
#include "base/limits.h"
#include "model/events.h"

#include <flowfabric.h>
#include <stddef.h>

#define FF_MEASURED_LANES_MAX 100 /* the rest is counted together, as the lane without a name */
#define FF_MEASURED_OUTCOMES  (FF_EVENT_COMPLETION_SKIPPED + 1)

/* Executions of a lane that have ended, by the type of their completion event. */
struct ff_lane_runs {
    char lane[FF_LANE_BYTES_MAX + 1];
    int64_t ended[FF_MEASURED_OUTCOMES];
};

struct ff_measures {
    struct ff_histogram run;        /* from the first claim to the end */
    struct ff_histogram queue_wait; /* from the last change of one that waits to its claim */
    struct ff_histogram renew;      /* from the request to the answer */
    struct ff_histogram batch;      /* from the load to the commit */
    struct ff_histogram read;       /* one question of a reader */
    struct ff_lane_runs lanes[FF_MEASURED_LANES_MAX + 1]; /* under the engine's lock */
    size_t lane_count;
};

struct ff_engine;
struct ff_batch;
struct ff_job;

const struct ff_measures *ff_engine_measures(const struct ff_engine *engine);
/* A copy; how many there are. `out` has room for FF_MEASURED_LANES_MAX + 1. */
size_t ff_engine_lane_runs(struct ff_engine *engine, struct ff_lane_runs *out);
/* How long ago the oldest timer that was due at the last pulse should have gone off. */
int64_t ff_engine_timers_late_ms(struct ff_engine *engine);
/* Ids of the log that were given out and not yet shown to those who follow it. */
int64_t ff_engine_events_lag(struct ff_engine *engine);
/* What has ever been written to the store's write-ahead log: on Postgres by everybody on that
 * server, on SQLite by this process. Asks the store. */
FF_MUST_CHECK ff_status ff_engine_wal_bytes(struct ff_engine *engine, int64_t timeout_ms,
                                            int64_t *ret_bytes, struct ff_error *reterr);

/* For the engine. */
void ff_measure_committed(struct ff_engine *engine, struct ff_batch *batch);
void ff_measure_answered(struct ff_engine *engine, const struct ff_job *job);

#endif
