/* SPDX-License-Identifier: Apache-2.0
 *
 * job.h -- one op on its way through the engine: input, answer, deadline, and who wants to know.
 *
 * Made by ff_job_new, filled in, handed over by ff_engine_submit. From then on it belongs to the
 * engine until `done` is called, exactly once, after the batch has committed (or the job failed for
 * certain); `done` owns it again and usually frees it.
 * Tests: tests/unit/test_engine.c. */
#ifndef FF_ENGINE_JOB_H
#define FF_ENGINE_JOB_H

#include "base/list.h"
#include "ops/op.h"
#include "ops/reply.h"

#include <stdatomic.h>

struct ff_job;

/* Who may still stop the job for certain. Moved by compare-and-swap where two threads meet. */
typedef enum ff_job_stage {
    FF_JOB_QUEUED,    /* in the queue, parked, or between two batches: may be given up */
    FF_JOB_APPLIED,   /* its changes are in a batch that is being saved */
    FF_JOB_ABANDONED, /* the caller has gone and was told "not applied" */
    FF_JOB_LATE,      /* the caller has gone while it was applied: never apply it again */
} ff_job_stage;

/* The answer to keep with the op, in its transaction; or the one that was kept earlier. */
struct ff_job_reply {
    struct ff_reply_in in;
    /* Of an op that said FF_OK: what to keep, in the job's memory. On an executor's thread. */
    ff_status (*render)(struct ff_job *job, int32_t *ret_status, struct ff_str *ret_body,
                        struct ff_error *reterr);
    void *ctx;
    struct ff_reply_out out; /* `found`: the op was not applied, this is the answer */
};

struct ff_job {
    struct ff_list_node link;
    const struct ff_op_type *type;
    struct ff_arena arena; /* of in, out and whatever the op learns */
    void *in;
    void *out; /* written by the last apply */
    struct ff_uuid seed;
    size_t bytes;               /* counted against the queue */
    size_t weight;              /* of a claim or a submit that waits there: its rows; else 0 */
    bool repeatable;            /* a repeat after an unknown outcome is safe */
    bool large;                 /* one of many: for the second executor, which keeps their order */
    bool shared;                /* large, but no order has to be kept: anybody may take some */
    bool ends_call;             /* the last of those that were pushed together */
    int64_t deadline_mono_ms;   /* INT64_MAX: none */
    int64_t wait_until_mono_ms; /* claims: an empty answer is parked until then; 0: never */
    ff_status status;
    struct ff_error error;
    void (*done)(struct ff_job *job, void *ctx);
    void *ctx;
    uint32_t tag;               /* the owner's */
    struct ff_job_reply *reply; /* NULL: none */
    /* the engine's own */
    void (*inner_done)(struct ff_job *job, void *ctx); /* as given; `done` counts first */
    void *inner_ctx;
    _Atomic int stage;
    bool parked;
    bool member;             /* it is a word about a member of a flow */
    bool rides;              /* with the batch that has made it */
    int64_t look_at_mono_ms; /* claims that wait before they have looked: when to; else 0 */
    int64_t born_mono_ms;
    _Atomic uint32_t busy_rounds; /* somebody else had its row or key, so many times */
    uint32_t agains;              /* how often apply said FF_AGAIN */
    uint32_t losses;              /* how many commits with it were lost */
    uint32_t shut_rows;           /* rows it has put into quarantine */
    size_t rows_max;              /* alone: so many rows of its scans, to find a bad one; 0: all */
    int64_t busy_since_mono_ms;
    uint64_t ticket;           /* claims: the place among those parked, 0: never parked */
    struct ff_arena_mark kept; /* what the next try builds on: the input, and what was learned */
    uint64_t wake_seen;        /* sum of the lanes' wake counters before the load */
    size_t want_from, want_to; /* of the batch's rowset */
};

/* The first job of a list that is not empty; pop takes it out. */
static inline struct ff_job *ff_job_first(const struct ff_list *list)
{
    struct ff_list_node *const node = ff_list_first(list);

    assert(node);
    return ff_list_item(node, struct ff_job, link);
}

static inline struct ff_job *ff_job_pop(struct ff_list *list)
{
    struct ff_job *const job = ff_job_first(list);

    ff_list_remove(&job->link);
    return job;
}

/* `bytes_hint`: how much the input will take. NULL: no memory. */
struct ff_job *ff_job_new(ff_op_id op, size_t bytes_hint);
/* One that is its owner's again, as if it were new; its memory is what its arena has kept. */
void ff_job_renew(struct ff_job *job, ff_op_id op, size_t bytes_hint);
void ff_job_free(struct ff_job *job);
/* What is said about a job that was not done in time: FF_BUSY if somebody held what it needs, else
 * FF_TIMEOUT. */
ff_status ff_job_late(const struct ff_job *job, struct ff_error *reterr);

#endif
