/* SPDX-License-Identifier: Apache-2.0
 *
 * worker.h -- the worker runtime.
 *
 * Handlers by kind, run by threads of this process, on any client: the runtime claims tasks in
 * batches ahead of need, renews their leases, reports what handlers say in batches and repeats what
 * got no answer. A whole worker: examples/worker.c. Read first: docs/guide/workers.md. */
#ifndef FLOWFABRIC_WORKER_H
#define FLOWFABRIC_WORKER_H

#include "tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ff_worker;
struct ff_context; /* one task in the hands of its handler; valid until the handler returns */

/* What becomes of a task. Handlers return what the functions below return. */
typedef enum ff_verdict {
    FF_VERDICT_DONE,    /* completed */
    FF_VERDICT_FAILED,  /* failed; retried by its policy */
    FF_VERDICT_DELAYED, /* the same attempt goes on later */
    FF_VERDICT_RELEASED /* given back, no retry used, claimable at once */
} ff_verdict;
typedef ff_verdict (*ff_task_handler)(struct ff_context *ctx, void *data);

/* Zero-initialise and set `size`; zero means the default everywhere. */
struct ff_worker_options {
    size_t size;
    const char *worker_id;          /* the name of this host */
    const char *worker_instance_id; /* made of host, process and chance; one per process */
    const char *const *lanes;       /* served in the order given; none: "default" */
    size_t lane_count;
    const char *ns; /* NULL: all */
    const char *const *capabilities;
    size_t capability_count;
    int32_t threads; /* handlers at a time, up to 256; 4 */
    int32_t ahead;   /* tasks claimed before a thread is free, up to 256; `threads`; -1: none */
    int64_t lease_ttl_ms; /* 30,000; renewed after a third of it, at the latest after 5 s */
    int64_t grace_ms;     /* after a stop handlers may go on this long; 30,000; -1: not at all */
    /* One line when something goes wrong, from any thread of the runtime; NULL: nobody is told. */
    void (*notice)(void *data, const char *line);
    void *notice_data;
};

/* The client must outlive the worker. NULL options: the default. */
FF_API FF_MUST_CHECK ff_status ff_worker_new(struct ff_client *client,
                                             const struct ff_worker_options *options,
                                             struct ff_worker **ret_worker,
                                             struct ff_error *reterr);
/* Before ff_worker_run: up to 64 kinds, each once. kind NULL: every kind without a handler of its
 * own. `data` is handed through; a handler runs on several threads at once. */
FF_API FF_MUST_CHECK ff_status ff_worker_handle(struct ff_worker *worker, const char *kind,
                                                ff_task_handler handler, void *data,
                                                struct ff_error *reterr);
/* Works until it is stopped, or until the client refuses its claims for good, which is the error
 * returned. Tasks that had not begun are released; handlers that run may end within the grace, then
 * their contexts are cancelled; it returns when all have returned. Runs once. */
FF_API FF_MUST_CHECK ff_status ff_worker_run(struct ff_worker *worker, struct ff_error *reterr);
/* From any thread, a handler or a signal handler. Again, or before the run: fine. */
FF_API void ff_worker_stop(struct ff_worker *worker);
/* Not while it runs; NULL is allowed. */
FF_API void ff_worker_free(struct ff_worker *worker);

struct ff_worker_stats {
    int64_t claimed, done, failed, delayed, released;
    int64_t lost;             /* the lease ended under the handler, or before it began */
    int32_t waiting, running; /* right now */
};
FF_API void ff_worker_stats(struct ff_worker *worker, struct ff_worker_stats *ret);

FF_API const struct ff_task *ff_context_task(const struct ff_context *ctx);
/* True once the lease is lost, the execution was cancelled, or the grace of a stop is over. What
 * the handler says after a lost lease is not reported. */
FF_API bool ff_context_cancelled(struct ff_context *ctx);
/* Sleeps up to `ms` and returns early, with true, when the context is cancelled. */
FF_API bool ff_context_wait(struct ff_context *ctx, int64_t ms);
/* Kept and sent soon; of several only the last one may be. percent -1, message NULL: unchanged. */
FF_API void ff_context_progress(struct ff_context *ctx, int32_t percent, const char *message);

/* The result as JSON text (NULL: none), or as any bytes. Copied. */
FF_API ff_verdict ff_context_done(struct ff_context *ctx, const char *json);
FF_API ff_verdict ff_context_done_bytes(struct ff_context *ctx, struct ff_str result,
                                        const char *content_type);
/* failure_class as in ff_failure. The message is a printf format and cut at 4,096 bytes. */
FF_API ff_verdict ff_context_fail(struct ff_context *ctx, const char *failure_class,
                                  const char *message, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
FF_API ff_verdict ff_context_delay(struct ff_context *ctx, int64_t delay_ms);
/* The reason is cut at 1,024 bytes. */
FF_API ff_verdict ff_context_release(struct ff_context *ctx, const char *reason);

#ifdef __cplusplus
}
#endif

#endif
