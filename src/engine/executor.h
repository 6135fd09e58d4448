/* SPDX-License-Identifier: Apache-2.0
 *
 * executor.h -- one session, one batch at a time: need, load, apply, save, reply.
 *
 * A state machine: ff_executor_step does what can be done now and says what it waits for. Private
 * to src/engine. Tests: tests/unit/test_engine.c, tests/sim. */
#ifndef FF_ENGINE_EXECUTOR_H
#define FF_ENGINE_EXECUTOR_H

#include "engine/batch.h"
#include "engine/queue.h"
#include "store/store.h"

struct ff_engine;

typedef enum ff_executor_stage {
    FF_EXECUTOR_IDLE,
    FF_EXECUTOR_LOADING,
    FF_EXECUTOR_BOARDING, /* what the batch has made for the cascade may go along */
    FF_EXECUTOR_SAVING,
    FF_EXECUTOR_ROLLING, /* nothing to save: the transaction is rolled back, then replies go out */
    FF_EXECUTOR_RESOLVING,
} ff_executor_stage;

/* Jobs that must be run together again, or in halves: reruns and bisection. */
struct ff_group {
    struct ff_list_node link;
    struct ff_list jobs;
    size_t count;
    uint32_t reruns;
    bool failed; /* with a batch: they go alone. False: there was no room for them in one */
};

struct ff_executor {
    struct ff_engine *engine;
    ff_lane_of_work which;
    struct ff_session *session;
    ff_executor_stage stage;
    struct ff_call call;
    bool calling; /* the store has the call and has not answered */
    struct ff_batch batch;
    struct ff_list groups;    /* before anything new */
    int64_t retry_at_mono_ms; /* the store is away: not before then */
    int64_t backoff_ms;
    size_t answered;          /* callers, by the last batch; */
    uint64_t pushes_answered; /* the queue's count before */
};

typedef enum ff_waits_for {
    FF_WAITS_NOTHING, /* call again */
    FF_WAITS_WORK,    /* until the queue fills */
    FF_WAITS_STORE,   /* until the session has something new */
    FF_WAITS_TIME,    /* until *ret_at_mono_ms: the store is away */
} ff_waits_for;

FF_MUST_CHECK ff_status ff_executor_init(struct ff_executor *executor, struct ff_engine *engine,
                                         ff_lane_of_work which, struct ff_error *reterr);
void ff_executor_done(struct ff_executor *executor);

/* Does what can be done now. `*ret_at_mono_ms` is INT64_MAX unless a time is waited for. */
ff_waits_for ff_executor_step(struct ff_executor *executor, int64_t *ret_at_mono_ms);
/* What this executor takes from the queue now. */
ff_lane_of_work ff_executor_takes(const struct ff_executor *executor);
/* Drops whatever is under way: the engine is closing and will not wait. */
void ff_executor_abort(struct ff_executor *executor);

/* --- between executor.c, groups.c and refusal.c --- */

#define FF_BACKOFF_FIRST_MS 100

/* Up to `count` of the jobs, before everything else; `failed`, unless the caller knows better.
 * NULL: no memory, and they have been told. */
struct ff_group *ff_executor_group(struct ff_executor *executor, struct ff_list *jobs, size_t count,
                                   uint32_t reruns);
/* Jobs that come back into a batch; those whose caller has gone end here. */
void ff_executor_keep_wanted(struct ff_executor *executor, struct ff_list *jobs, size_t *count);
/* Jobs that wait for their turn while the store is asked about others. */
void ff_executor_expire_groups(struct ff_executor *executor);
/* Callers whose time is over while the store is asked: nobody can tell them more than this. */
void ff_executor_answer_overdue(struct ff_executor *executor);
/* Run the batch's jobs again: all together, or in halves. */
void ff_executor_again(struct ff_executor *executor, bool split, uint32_t reruns);

bool ff_executor_is_alone(const struct ff_batch *batch);
void ff_executor_note_loss(struct ff_executor *executor);
/* After every call. */
void ff_executor_note_link(struct ff_executor *executor);
/* Nothing for a while, and then for longer. */
void ff_executor_rest(struct ff_executor *executor);
/* The call failed for certain; the commit did, after it had been asked about. */
void ff_executor_failed(struct ff_executor *executor);
void ff_executor_lost(struct ff_executor *executor);

#endif
