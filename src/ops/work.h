/* SPDX-License-Identifier: Apache-2.0
 *
 * work.h -- what an op sees of its batch: the rows it asked for, the store's time, and its own
 * memory.
 *
 * Pure: nothing here does I/O, asks for the time or allocates outside an arena.
 * Read first: src/ops/README.md. Tests: tests/unit/test_ops.c. */
#ifndef FF_OPS_WORK_H
#define FF_OPS_WORK_H

#include "model/ids.h"
#include "model/rowset.h"

#include <flowfabric.h>

/* Settings that rules look at. Fixed while an engine is open. */
struct ff_settings {
    int64_t retention_ms;     /* finished executions are kept this long */
    int64_t dedup_window_ms;  /* when a submission does not say */
    const char *instance_tag; /* the tag whose value is the instance tag; default "instance" */
    enum { FF_RENEWALS_SAMPLED, FF_RENEWALS_ALL, FF_RENEWALS_NONE } event_renewals;
    int64_t input_bytes_max, result_bytes_max;
    int64_t flow_nodes_max, flow_edges_max; /* of one call */
    int64_t hop_edges, drain_rows;          /* of one transaction of the cascade */
    int64_t event_retention_ms;             /* events are kept this long ... */
    int64_t event_count_max;                /* ... and about so many of them; 0: all */
};
void ff_settings_default(struct ff_settings *settings);

struct ff_capsets;

struct ff_work {
    struct ff_rowset *rows;
    struct ff_arena *arena; /* of the op: in, out and learned facts live here */
    const struct ff_settings *settings;
    const struct ff_capsets *capsets; /* as far as this process knows them */
    int64_t now_ms;                   /* the store's time; 0 while asking */
    int64_t contact_since_ms; /* store time since when contact is unbroken; see the lapse brake */
    int64_t steady_since_ms;  /* the same, by the finer measure for short leases */
    struct ff_uuid seed;      /* random bits minted with the op: the same in every rerun */
    bool assumes;             /* may rely on executions that are assumed; others do not see them */
};

/* --- asking --- */
void ff_work_lock_execution(struct ff_work *work, struct ff_exec_id id);
void ff_work_read_execution(struct ff_work *work, struct ff_exec_id id);
void ff_work_want(struct ff_work *work, ff_table table, const void *key, ff_want want);
struct ff_scan *ff_work_scan(struct ff_work *work, int block, const struct ff_value *params,
                             size_t param_count, int64_t limit);

/* --- deciding --- */
/* NULL when there is no such row. Read it; to change it use ff_work_edit first. */
struct ff_execution *ff_work_execution(struct ff_work *work, struct ff_exec_id id);
void *ff_work_row(struct ff_work *work, ff_table table, const void *key);
void ff_work_edit(struct ff_work *work, void *row);
/* The key must have been wanted with LOCK and be absent. */
void *ff_work_insert(struct ff_work *work, ff_table table, const void *key);
/* For keys that are new by construction (an attempt of a fresh epoch): not asked for before. */
void *ff_work_insert_new(struct ff_work *work, ff_table table, const void *key);
void ff_work_delete(struct ff_work *work, void *row);
void ff_work_purge(struct ff_work *work, struct ff_execution *execution);
struct ff_event *ff_work_event(struct ff_work *work);
/* Events below this id are no longer kept. */
void ff_work_trim_log(struct ff_work *work, int64_t floor_id);
/* A uuid derived from the op's seed: nth is 0, 1, 2 ... */
struct ff_uuid ff_work_uuid(const struct ff_work *work, uint32_t nth);

#endif
