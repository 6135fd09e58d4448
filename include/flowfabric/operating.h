/* SPDX-License-Identifier: Apache-2.0
 *
 * operating.h -- lanes, workers, scanners; auditing and cleaning a store. */
#ifndef FLOWFABRIC_OPERATING_H
#define FLOWFABRIC_OPERATING_H

#include "client.h"

#ifdef __cplusplus
extern "C" {
#endif

FF_API FF_MUST_CHECK ff_status ff_lane_pause(struct ff_client *client, const char *lane,
                                             bool paused, const char *reason,
                                             struct ff_error *reterr);

struct ff_lane_info {
    const char *lane;
    bool paused;
    const char *paused_reason;
    int64_t waiting, delayed, blocked, active; /* by live public state */
    int64_t oldest_waiting_at_ms;              /* FF_ABSENT_MS: nothing waits */
};
struct ff_lane_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_lane_info *items;
};
FF_API FF_MUST_CHECK ff_status ff_lanes(struct ff_client *client, struct ff_lane_list *ret,
                                        struct ff_error *reterr);

struct ff_worker_info {
    const char *worker_id, *worker_instance_id, *ns;
    const char *const *lanes;
    size_t lane_count;
    const char *const *kinds; /* none: all */
    size_t kind_count;
    const char *const *capabilities;
    size_t capability_count;
    int64_t registered_at_ms, seen_at_ms;
    bool live;
};
struct ff_worker_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_worker_info *items;
};
FF_API FF_MUST_CHECK ff_status ff_workers(struct ff_client *client, struct ff_worker_list *ret,
                                          struct ff_error *reterr);

struct ff_scanner_info {
    const char *name;
    int64_t interval_ms, ticks;
    int64_t last_processed, last_errors; /* of the last tick that looked at the store */
    int64_t processed, errors;           /* since the client was opened */
    int64_t last_scanned,
        last_noop; /* loops of flows: found, and of these done by others already */
};
struct ff_scanner_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_scanner_info *items;
    int64_t stuck_hops; /* steps of flows that failed 10 times and are still tried: ends not passed
                           on, members not cancelled or not removed */
};
FF_API FF_MUST_CHECK ff_status ff_scanners(struct ff_client *client, struct ff_scanner_list *ret,
                                           struct ff_error *reterr);

struct ff_finding {
    const char *check;              /* which invariant */
    char execution_id[FF_ID_BYTES]; /* empty: does not apply */
    const char *detail;
};
struct ff_findings {
    struct ff_memory *memory;
    int32_t checks; /* how many invariants were looked at */
    size_t count;   /* 0: the store is sound */
    struct ff_finding *items;
};
/* Read-only, safe on a live system. Of a check that has more than 100 the 101st says so. */
FF_API FF_MUST_CHECK ff_status ff_fsck(struct ff_client *client, struct ff_findings *ret,
                                       struct ff_error *reterr);

struct ff_check {
    const char *name, *value;
    const char *advice; /* what to change; NULL: it is as it should be */
};
struct ff_diagnosis {
    struct ff_memory *memory;
    size_t count;
    struct ff_check *items;
};
/* What the store is like: version, settings, pooler, wake-ups, clock skew, how fast it answers. */
FF_API FF_MUST_CHECK ff_status ff_doctor(struct ff_client *client, struct ff_diagnosis *ret,
                                         struct ff_error *reterr);
/* Removes what ended longer ago than this (FF_ABSENT_MS: than retention_ms) now, not in a minute.
 * Members of a flow go after it, by a process that runs loops. */
FF_API FF_MUST_CHECK ff_status ff_gc(struct ff_client *client, int64_t older_than_ms,
                                     int64_t *ret_removed, struct ff_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
