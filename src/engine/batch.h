/* SPDX-License-Identifier: Apache-2.0
 *
 * batch.h -- the jobs of one transaction, their rows, and the order need, apply, reply.
 *
 * No store call is made here. Private to src/engine. Tests: tests/unit/test_engine.c. */
#ifndef FF_ENGINE_BATCH_H
#define FF_ENGINE_BATCH_H

#include "engine/job.h"
#include "model/rowset.h"

struct ff_batch {
    struct ff_arena arena;
    struct ff_rowset rows;
    struct ff_list jobs;     /* in the order of application */
    struct ff_list deferred; /* FF_AGAIN or a busy row: into the next batch */
    struct ff_list riders;   /* hops of this very batch; those that came through say FF_OK */
    uint32_t ops;            /* applied so far */
    bool frees;              /* there are jobs that free work for claims */
    bool assumes;            /* it relies on what nobody has looked at ... */
    bool unloaded;           /* ... and on nothing else: there was no load */
    size_t count;
    struct ff_uuid id;
    int64_t now_ms; /* the store's time when the rows were locked; riders decide by it, too */
    int64_t begun_mono_ms, loaded_boot_ms;
    int64_t first_deadline_mono_ms; /* of its jobs */
    size_t widened;                 /* see ff_quarantine_widen */
    bool decided;
    uint32_t reruns; /* how often these jobs have been run together in vain */
    bool failed;     /* a batch with one of them has failed, be it once: nothing goes along */
    bool out_of_memory;
};

/* What a batch needs from its engine. */
struct ff_batch_env {
    const struct ff_settings *settings;
    const struct ff_capsets *capsets;
    int64_t now_ms, contact_since_ms, steady_since_ms, mono_ms;
};

void ff_batch_init(struct ff_batch *batch);
void ff_batch_done(struct ff_batch *batch);
/* Empty, ready for the next transaction. */
void ff_batch_reset(struct ff_batch *batch);

/* Moves jobs from `from` into the batch while they fit, and lets each name its rows. At least one
 * job is taken. */
void ff_batch_fill(struct ff_batch *batch, struct ff_list *from, const struct ff_batch_env *env);
/* What a job of the batch sees of it. */
struct ff_work ff_batch_work(struct ff_batch *batch, struct ff_job *job,
                             const struct ff_batch_env *env);
/* Lets every job decide. Jobs that cannot go on now move to `deferred`. False: out of memory,
 * nothing of the batch may be saved. */
bool ff_batch_apply(struct ff_batch *batch, const struct ff_batch_env *env);
/* After ff_batch_apply: one more job, which needs no rows but those that are here. It decides at
 * once. */
void ff_batch_join(struct ff_batch *batch, struct ff_job *job, const struct ff_batch_env *env);
/* After ff_batch_apply: a job that goes along if it can. It names its rows; when they have come it
 * may decide. Whatever keeps it from it keeps nobody else. */
void ff_batch_board(struct ff_batch *batch, struct ff_job *rider, const struct ff_batch_env *env);
void ff_batch_ride(struct ff_batch *batch, const struct ff_batch_env *env);
/* After ff_batch_apply: whether the job inserts a key it has asked for. Somebody else may be doing
 * the same, and the store then waits for the outcome. */
bool ff_batch_takes_key(const struct ff_batch *batch, const struct ff_job *job);

#endif
