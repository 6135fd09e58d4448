/* SPDX-License-Identifier: Apache-2.0
 *
 * worker-int.h -- what the files of src/worker share: the worker, its tasks in hand, its threads.
 *
 * Only src/worker includes it. One lock guards everything below; no call of the client and no
 * handler runs under it. Read first: src/worker/README.md. Tests: tests/conformance/worker_*.c. */
#ifndef FF_WORKER_WORKER_INT_H
#define FF_WORKER_WORKER_INT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/macros.h"

#include <flowfabric.h>

/* What one claim brought: its memory lives until its last task is out of our hands. */
struct ff_haul {
    struct ff_tasks tasks;
    size_t left;
};

/* Who has a task. Every context that is not FREE holds a lease that the keeper renews. */
typedef enum ff_stage {
    FF_STAGE_FREE,
    FF_STAGE_WAITING, /* for a thread; in worker->waiting */
    FF_STAGE_RUNNING, /* its handler has it */
    FF_STAGE_ENDED,   /* the reporter has it, in worker->outbox but while it is being said */
} ff_stage;

struct ff_context {
    struct ff_list_node link; /* free, waiting or outbox */
    struct ff_worker *worker;
    struct ff_haul *haul;
    const struct ff_task *task;
    ff_stage stage;
    size_t pins; /* calls under way that still name it; it is reused at 0 */
    bool cancelled;
    bool lost; /* the lease is no longer ours: nothing is reported */
    int64_t renew_at_ms;

    /* What the handler said. */
    ff_verdict verdict;
    struct ff_str text; /* result, message or reason; owned */
    char content_type[FF_CONTENT_TYPE_BYTES_MAX + 1];
    char failure_class[24];
    int64_t delay_ms;

    /* What the reporter remembers. */
    int64_t say_at_ms, give_up_at_ms;
    int32_t tries;

    bool progress_due;
    int64_t progress_at_ms; /* not before */
    int32_t percent;
    char *progress; /* owned; NULL: unchanged */
};

struct ff_kind_handler {
    const char *kind; /* NULL: any */
    ff_task_handler handler;
    void *data;
};

struct ff_worker {
    struct ff_client *claims; /* hands of the client: what each says ends in its own time */
    struct ff_client *words;  /* renewals and reports */
    struct ff_arena strings;
    struct ff_claim_request request;
    struct ff_kind_handler handlers[FF_KINDS_PER_CLAIM_MAX + 1];
    size_t handler_count;
    const char *kinds[FF_KINDS_PER_CLAIM_MAX];
    bool any_kind;
    size_t threads, ahead;
    int64_t grace_ms, renew_every_ms;
    void (*notice)(void *data, const char *line);
    void *notice_data;
    atomic_bool away; /* an outage has been told, and nothing was answered since */

    sem_t stop; /* posted by ff_worker_stop, also from a signal handler */
    pthread_mutex_t lock;
    pthread_cond_t work;      /* for one thread: a task waits; for all: it is time to end */
    pthread_cond_t room;      /* there may be something to claim for */
    pthread_cond_t said;      /* something to report */
    pthread_cond_t beat;      /* something to renew */
    pthread_cond_t cancelled; /* a context was cancelled */
    pthread_cond_t idle;      /* the last running handler has returned */
    bool started, stopping;
    bool claimer_left;       /* nothing more is brought */
    int64_t report_until_ms; /* 0: no end in sight */
    bool keeper_ends;
    int64_t beat_at_ms; /* until when the keeper sleeps; 0: it does not */
    struct ff_context *pool;
    size_t pool_count, free_count;
    struct ff_list free, waiting, outbox;
    size_t waiting_count, running_count;
    size_t resting_count; /* threads with nothing to do */
    bool summoned;        /* one of them has been woken and is not here yet */
    struct ff_worker_stats stats;
    ff_status fatal; /* why it stopped by itself */
    struct ff_error fatal_error;
};

int64_t ff_worker_now_ms(void);
void ff_worker_notice(struct ff_worker *worker, const char *fmt, ...) FF_PRINTF(2, 3);
/* How a call ended. An outage is told once, in words like "claim", however many calls it fails; and
 * once more when it is over. What is final is not told here. */
void ff_worker_called(struct ff_worker *worker, ff_status status, const char *what,
                      const struct ff_error *error);
/* The lease is gone for good: no answer of this task will ever be taken. */
bool ff_status_ends_lease(ff_status status);
/* Nobody knows yet: saying the same again is right. */
bool ff_status_say_again(ff_status status);
/* Of a call about many tasks. Refused as a whole (a token that has run out, somebody else's 404) it
 * says nothing about any of them: it is said again like one that got no answer. */
ff_status ff_status_of_call(ff_status status);
/* With the lock, at most a minute; may return early. */
void ff_worker_wait_until(struct ff_worker *worker, pthread_cond_t *cond, int64_t until_ms);
/* 100 ms, doubled by every try up to 5 s. */
int64_t ff_worker_backoff_ms(int32_t tries);

/* All of these with the lock. */
/* Wakes a thread for what waits, if one rests; it will wake the next. All at once would get into
 * each other's way: with little to do most of them found nothing. */
void ff_worker_summon(struct ff_worker *worker);
void ff_context_start(struct ff_context *ctx, struct ff_haul *haul, const struct ff_task *task);
void ff_context_end(struct ff_context *ctx, ff_verdict verdict); /* into the outbox */
void ff_context_drop(struct ff_context *ctx); /* out of our hands, once nobody names it */
void ff_context_unpin(struct ff_context *ctx);
/* Takes note that the lease is lost: one that waits is dropped, a handler is told. */
void ff_context_lose(struct ff_context *ctx);

/* The threads. */
void *ff_worker_claims(void *worker);
void *ff_worker_handles(void *worker);
void *ff_worker_reports(void *worker);
void *ff_worker_renews(void *worker);

#endif
