/* SPDX-License-Identifier: Apache-2.0
 *
 * queue.h -- what waits for a batch, by class.
 *
 * One lock for all of it. Jobs of a class leave in the order they came; a job that comes back (busy
 * row, rerun) goes to the front. Read first: src/engine/README.md. Tests: tests/unit/test_queue.c.
 */
#ifndef FF_ENGINE_QUEUE_H
#define FF_ENGINE_QUEUE_H

#include "engine/job.h"

#include <pthread.h>

struct ff_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled; /* CLOCK_MONOTONIC */
    pthread_cond_t helped; /* for executors that only help */
    pthread_cond_t held;   /* for the patient lane */
    struct ff_list normal[FF_CLASS_COUNT];
    struct ff_list
        members; /* words about members of flows: their hops ride with the first executor */
    int64_t members_since_us; /* of the oldest of them */
    struct ff_list large, shared;
    struct ff_list cascade; /* for one executor: hops of a flow would wait for each other */
    struct ff_list patient, patient_background; /* ops whose row somebody else holds */
    uint32_t patient_turns;
    size_t count, bytes;
    bool closed;
    bool eager;       /* everybody takes at once; false: see ff_queue_spare */
    bool has_helpers; /* somebody else than the first takes, too */
    size_t waiting;   /* threads that take whatever comes */
    int64_t since_us; /* of the oldest push that nobody has taken; 0: none */
    size_t weight;    /* of the claims and submits that wait, large ones aside */
    int left_from;    /* from this class on normal jobs are left to a helper that has been told */
    int64_t left_since_us;
    bool first_is_away; /* its batch is with the store */
    size_t sleeping;    /* helpers */
    int64_t look_at_us; /* when a helper that sleeps looks by itself; INT64_MAX: none sleeps */
    uint64_t pushes, expected;
    int64_t expect_until_us;
};

void ff_queue_init(struct ff_queue *queue);
void ff_queue_done(struct ff_queue *queue);

/* Takes jobs from the front as long as there is room; returns how many. The rest is still the
 * caller's, and reterr says why: FF_OVERLOADED or FF_CLOSED. */
FF_MUST_CHECK size_t ff_queue_push(struct ff_queue *queue, struct ff_job *const *jobs, size_t count,
                                   struct ff_error *reterr);
/* Comes back from a batch: never refused, served first. */
void ff_queue_return(struct ff_queue *queue, struct ff_job *job);
void ff_queue_push_patient(struct ff_queue *queue, struct ff_job *job);

typedef enum ff_lane_of_work {
    FF_TAKE_NORMAL, /* everything but large jobs and the cascade; if nothing waits, some shared ones
                     */
    FF_TAKE_CASCADE, /* the cascade too */
    FF_TAKE_LARGE,   /* large ones too */
    FF_TAKE_ALL,     /* both */
    FF_TAKE_PATIENT, /* one job whose row is held; background jobs have a quarter of the turns */
} ff_lane_of_work;

/* Moves up to `max` jobs to `out`, worker ops first; background jobs have a quarter to themselves
 * while others compete. Returns how many. */
size_t ff_queue_take(struct ff_queue *queue, ff_lane_of_work which, size_t max,
                     struct ff_list *out);
/* What ff_queue_wait asks before it sleeps; by itself only tests do. */
bool ff_queue_has(struct ff_queue *queue, ff_lane_of_work which);

/* Takes out one job if it still waits here. True: it is the caller's again. */
bool ff_queue_remove(struct ff_queue *queue, struct ff_job *job);
/* Moves every job whose deadline has passed to `out`. Returns the next deadline or INT64_MAX. */
int64_t ff_queue_expired(struct ff_queue *queue, int64_t mono_ms, struct ff_list *out);

/* From now on batches are spared: a helper (any executor but the first) leaves normal jobs to the
 * first until FF_HELP_OPS wait, or one has waited for FF_HELP_US; and words about members of flows,
 * however many, until one has waited for so long. Claims and submits that weigh FF_SHARE_WEIGHT it
 * takes while the first is away, or when that one leaves them (decision 0018). */
void ff_queue_spare(struct ff_queue *queue, bool has_helpers);

/* `count` callers have just been answered and are about to come back: until as many have pushed
 * since `pushes` was read, or FF_GATHER_US have passed, nobody takes the first of them alone. Said
 * by the first executor only; one caller is never waited for. */
void ff_queue_expect(struct ff_queue *queue, ff_lane_of_work which, uint64_t pushes, size_t count);
uint64_t ff_queue_pushes(struct ff_queue *queue);
/* The first executor has given its batch to the store, or has it back. */
void ff_queue_away(struct ff_queue *queue, bool is_away);
/* One of them has come back and waits elsewhere. */
void ff_queue_came(struct ff_queue *queue);

/* Sleep until something is pushed, wake() is called or the time has come. */
void ff_queue_wait(struct ff_queue *queue, ff_lane_of_work which, int64_t timeout_ms);
void ff_queue_wake(struct ff_queue *queue);
void ff_queue_close(struct ff_queue *queue);

#endif
