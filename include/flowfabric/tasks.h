/* SPDX-License-Identifier: Apache-2.0
 *
 * tasks.h -- the worker protocol: claim a task under a lease, renew it, say how it ended.
 *
 * Most workers want worker.h instead, which does all of this. */
#ifndef FLOWFABRIC_TASKS_H
#define FLOWFABRIC_TASKS_H

#include "client.h"
#include "executions.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ff_claim_request {
    size_t size;
    const char *worker_id;
    const char *worker_instance_id;
    const char *const *lanes; /* served in the order given; none: "default" */
    size_t lane_count;
    const char *const *kinds; /* none: all */
    size_t kind_count;
    const char *ns; /* NULL: all */
    const char *const *capabilities;
    size_t capability_count;
    int32_t max;            /* 1 to 256; 0 means 1 */
    int64_t lease_ttl_ms;   /* 100 to 3,600,000; 0 means 30,000 */
    int64_t wait_ms;        /* up to 60,000 */
    const char *request_id; /* the same again returns the tasks still leased under it */
};

/* How an upstream of a node ended. */
struct ff_upstream {
    const char *node;
    char execution_id[FF_ID_BYTES];
    const char *outcome;             /* success, fail, skip; unresolved: not yet */
    struct ff_str result;            /* ptr NULL: none, or too large to come along */
    const char *result_content_type; /* NULL: application/json */
    bool result_elsewhere;           /* ask ff_result_of for it, with this generation: */
    int32_t generation;              /* which of its runs counts; -1: unresolved */
};
struct ff_task {
    char execution_id[FF_ID_BYTES];
    char lease_id[FF_UUID_BYTES];
    char flow_id[FF_UUID_BYTES]; /* empty: not in a flow */
    int64_t lease_epoch, lease_ttl_ms, lease_expires_at_ms;
    int32_t generation, attempt_index;
    const char *attempt_type; /* initial, retry, reclaim, replay */
    const char *kind, *lane, *ns, *node;
    struct ff_str input;            /* ptr NULL: none; a NUL follows the last byte */
    const char *input_content_type; /* NULL: application/json */
    const struct ff_tag_pair *tags;
    size_t tag_count;
    int64_t deadline_at_ms;             /* FF_ABSENT_MS */
    const struct ff_upstream *upstream; /* of a member: what it waited for, by name */
    size_t upstream_count;
};
struct ff_tasks {
    struct ff_memory *memory;
    size_t count;
    struct ff_task *items;
};
/* Nothing to do: FF_OK and no task. */
FF_API FF_MUST_CHECK ff_status ff_claim(struct ff_client *client,
                                        const struct ff_claim_request *request,
                                        struct ff_tasks *ret_tasks, struct ff_error *reterr);

/* A task is named by these three; copy them from the ff_task. */
struct ff_lease {
    const char *execution_id;
    const char *lease_id;
    int64_t lease_epoch;
};
FF_API struct ff_lease ff_task_lease(const struct ff_task *task);

struct ff_task_result {
    ff_status status;
    struct ff_error error;
    const char *public_state;    /* complete, fail, delay, release */
    int64_t lease_expires_at_ms; /* renew */
    int64_t retry_at_ms;         /* fail with a retry; else FF_ABSENT_MS */
};

struct ff_renewal {
    struct ff_lease lease;
    int64_t lease_ttl_ms; /* 0: as at the claim; never shortens */
};
struct ff_completion {
    struct ff_lease lease;
    struct ff_str result;            /* ptr NULL: none */
    const char *result_content_type; /* NULL: application/json; then it must be JSON */
};
struct ff_failure {
    struct ff_lease lease;
    const char *message;
    const char *failure_class; /* transient, permanent, timeout, infra_crash; NULL: transient */
    int64_t retry_after_ms;    /* FF_ABSENT_MS: by policy */
};
struct ff_progress_note {
    struct ff_lease lease;
    int32_t percent;     /* 0 to 100; -1: unchanged */
    const char *message; /* NULL: unchanged */
};
struct ff_postponement {
    struct ff_lease lease;
    int64_t delay_ms, delay_until_ms; /* exactly one is not FF_ABSENT_MS */
};
struct ff_giveback {
    struct ff_lease lease;
    const char *reason;
};

/* All take 1 to 256 tasks and answer per task. */
FF_API FF_MUST_CHECK ff_status ff_renew(struct ff_client *client, const struct ff_renewal *items,
                                        size_t count, struct ff_task_result *ret_items,
                                        struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_complete(struct ff_client *client,
                                           const struct ff_completion *items, size_t count,
                                           struct ff_task_result *ret_items,
                                           struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_fail_task(struct ff_client *client,
                                            const struct ff_failure *items, size_t count,
                                            struct ff_task_result *ret_items,
                                            struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_progress(struct ff_client *client,
                                           const struct ff_progress_note *items, size_t count,
                                           struct ff_task_result *ret_items,
                                           struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_delay(struct ff_client *client,
                                        const struct ff_postponement *items, size_t count,
                                        struct ff_task_result *ret_items, struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_release(struct ff_client *client, const struct ff_giveback *items,
                                          size_t count, struct ff_task_result *ret_items,
                                          struct ff_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
