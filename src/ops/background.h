/* SPDX-License-Identifier: Apache-2.0
 *
 * background.h -- in and out of the operations that no caller asks for, and of lanes and workers.
 *
 * Tests: tests/conformance/lease_lapse.c. */
#ifndef FF_OPS_BACKGROUND_H
#define FF_OPS_BACKGROUND_H

#include "ops/work.h"

struct ff_lane_pause_in {
    struct ff_str lane;
    bool paused;
    struct ff_str reason, by;
};
FF_MUST_CHECK ff_status ff_lane_pause_check(const struct ff_lane_pause_in *in,
                                            struct ff_error *reterr);

/* Restricts a loop to one tenant. Absent: everything. */
struct ff_scan_filter {
    struct ff_str namespace, instance_tag;
};

/* Which rows a timer loop looks at; the rule that fires is found by looking at the row. */
typedef enum ff_timer_scope {
    FF_TIMER_LEASES,    /* active rows: lease end and attempt deadline */
    FF_TIMER_DELAYS,    /* runnable rows whose delay is over */
    FF_TIMER_DEADLINES, /* rows of any living phase with a deadline */
} ff_timer_scope;

struct ff_timer_in {
    ff_timer_scope scope;
    int64_t limit;
    struct ff_scan_filter filter;
    struct ff_scan *scan; /* set by need() */
};
struct ff_timer_out {
    int64_t scanned;
    int64_t attempt_timeouts, lease_lapses, delays, deadlines; /* by the rule that fired */
    int64_t moved;                                             /* looked at and put off */
    int64_t passed;                                            /* over: see ff_scan.passed */
    bool full;                                                 /* there may be more due rows */
};

struct ff_retention_in {
    int64_t limit;
    int64_t retention_ms; /* FF_NULL64: as set */
    struct ff_scan_filter filter;
    struct ff_scan *scan, *flows;
    int64_t learned_ms; /* learned: the store's time, which a scan's cutoff is made from */
};
struct ff_retention_out {
    int64_t removed; /* executions, and flows that are now going */
    int64_t passed;  /* over: see ff_scan.passed */
    bool full;
};

/* Where the event log begins. */
struct ff_log_trim_in {
    int64_t limit;
    struct ff_scan *scan, *stretches, *hop;
};
struct ff_log_trim_out {
    int64_t floor_id; /* 0: it has not moved */
    int64_t moved;    /* events, or ranges of them, that are no longer kept */
    bool full;
};

/* Old batch markers, expired dedup keys, stored replies, claim requests and workers. */
struct ff_prune_in {
    int64_t limit;
    struct ff_scan *scans[5]; /* batch, dedup, reply, claim, worker */
    int64_t learned_ms;       /* as in ff_retention_in */
};
struct ff_prune_out {
    int64_t removed;
    int64_t passed; /* over: see ff_scan.passed */
    bool full;
};

/* Contact is judged when the batch is applied, not when it is asked for: in between may lie the
 * outage. */
struct ff_contact_in {
    char nothing;
};

struct ff_worker_touch_in {
    struct ff_str worker_instance_id, worker_id, namespace, lanes, kinds, capabilities;
    int64_t ttl_ms;
};

#endif
