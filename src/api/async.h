/* SPDX-License-Identifier: Apache-2.0
 *
 * async.h -- the calls that change something, without a thread that waits for them.
 *
 * Items become jobs, `done` hears when all of them have answered, then the answers are taken. The
 * blocking calls of flowfabric.h are made of the same types. For clients in process only.
 * Read first: src/api/README.md. Tests: tests/unit/test_api.c. */
#ifndef FF_API_ASYNC_H
#define FF_API_ASYNC_H

#include "api/client.h"
#include "engine/job.h"

/* How the items of a call become jobs and their answers become results. Results start with status
 * and error, as ff_submitted and ff_task_result do. */
struct ff_bulk_type {
    ff_op_id op;
    size_t max;
    size_t result_bytes;
    size_t large_from; /* more items than this are large jobs; 0: never */
    size_t (*bytes)(const void *items, size_t index); /* NULL: next to nothing */
    /* Fill job->in, with copies of everything; names the field it does not like. May ask the store.
     */
    ff_status (*fill)(struct ff_client *client, struct ff_job *job, const void *items, size_t index,
                      struct ff_error *reterr);
    /* May ask the store. Not FF_OK: the item's answer after all. */
    ff_status (*take)(struct ff_client *client, const struct ff_job *job, void *result,
                      struct ff_error *reterr);
    void (*drop)(void *result); /* frees what take has made; NULL: nothing */
};
struct ff_item_head {
    ff_status status;
    struct ff_error error;
};

extern const struct ff_bulk_type ff_submit_type; /* ff_submission, ff_submitted */

/* ff_renewal, ff_completion, ff_failure, ff_progress_note, ff_postponement, ff_giveback; all answer
 * ff_task_result. */
extern const struct ff_bulk_type ff_renew_type, ff_complete_type, ff_fail_type, ff_progress_type,
    ff_delay_type, ff_release_type;

/* What an operator does to one execution or lane; each type uses its part. */
struct ff_operation {
    const char *execution_id; /* or the lane */
    const char *by;           /* NULL: operator */
    const char *reason;
    int64_t priority;
    const struct ff_tag_pair *tags; /* value NULL: remove */
    size_t tag_count;
    bool paused;
    const struct ff_replay_request *replay; /* its execution_id and reason count */
};
struct ff_operated {
    ff_status status;
    struct ff_error error;
    const char *public_state;
    int32_t generation;
    int64_t lease_epoch; /* revoke: of the lease that was revoked */
};
extern const struct ff_bulk_type ff_cancel_type, ff_priority_type, ff_replay_type, ff_revoke_type,
    ff_tags_type, ff_lane_type;

/* ff_claim_request; one at a time. */
struct ff_claimed {
    ff_status status;
    struct ff_error error;
    struct ff_tasks tasks; /* ff_answer_free */
};
extern const struct ff_bulk_type ff_claim_type;

/* ff_flow_request; one at a time. */
struct ff_flow_answer {
    ff_status status;
    struct ff_error error;
    struct ff_flow_made made; /* ff_answer_free */
};
extern const struct ff_bulk_type ff_flow_create_type, ff_flow_grow_type;

struct ff_flow_ending {
    const char *flow_id, *reason, *policy;
    const char *by; /* NULL: operator */
};
struct ff_flow_ended {
    ff_status status;
    struct ff_error error;
    struct ff_flow_cancelled cancelled; /* ff_answer_free */
};
extern const struct ff_bulk_type ff_flow_cancel_type;

/* --- calls ----------------------------------------------------------------------------------- */

/* FF_INVALID in a callback of ff_submit_async. */
FF_MUST_CHECK ff_status ff_api_may_wait(struct ff_error *reterr);
/* Waits for the answers, at most the client's time limit. */
FF_MUST_CHECK ff_status ff_bulk_call(struct ff_client *client, const struct ff_bulk_type *type,
                                     const void *items, size_t count, void *results,
                                     struct ff_error *reterr);

struct ff_async;
/* Makes the jobs. `done` will be called once, on a thread of the engine or inside of ff_async_go:
 * it may hand over to somebody, and must not wait, so it may take the answers only of a type whose
 * `take` never asks the store. */
FF_MUST_CHECK ff_status ff_async_new(struct ff_client *client, const struct ff_bulk_type *type,
                                     const void *items, size_t count, void (*done)(void *ctx),
                                     void *ctx, struct ff_async **ret, struct ff_error *reterr);
void ff_async_go(struct ff_async *async);
/* The same, but if the engine takes none of the jobs this says why, and `done` is not called. */
FF_MUST_CHECK ff_status ff_async_try(struct ff_async *async, struct ff_error *reterr);
/* Of what a worker says about tasks: those in other namespaces are not found. Before ff_async_go.
 */
FF_MUST_CHECK ff_status ff_async_within(struct ff_async *async, const char *const *namespaces,
                                        size_t count, struct ff_error *reterr);
/* After `done`: results as ff_bulk_call leaves them. Once. */
FF_MUST_CHECK ff_status ff_async_take(struct ff_async *async, void *results,
                                      struct ff_error *reterr);
/* The answer of a call of one item is kept in its transaction, under a key: `write` makes it of the
 * result. Called on a thread of the engine. Before ff_async_go. */
typedef ff_status ff_async_write(const void *result, struct ff_arena *arena, int32_t *ret_status,
                                 struct ff_str *ret_body, void *ctx, struct ff_error *reterr);
void ff_async_keep(struct ff_async *async, const struct ff_reply_in *in, ff_async_write *write,
                   void *ctx);
/* After `done`: the same call was answered like this before, and there are no results to take. The
 * text lives as long as the call. */
bool ff_async_kept(const struct ff_async *async, int32_t *ret_status, struct ff_str *ret_body);

/* Nobody waits for the answer any more. True: it was not applied, and `done` will not be called
 * (for calls of one item only); false: it will be, after ff_async_go. The results are
 * not to be taken after true. */
bool ff_async_give_up(struct ff_async *async);
/* Of a claim that was given up: whether it has ever looked. */
bool ff_async_has_looked(const struct ff_async *async);
/* Before ff_async_go, after `done`, after a give_up that said true or an ff_async_try that failed;
 * and before its client is freed. NULL is allowed. */
void ff_async_free(struct ff_async *async);

/* For calls that are many: waits for the store. status 0: it begins; *ret_begun_at_ms is when the
 * first call with this key did. Otherwise the answer is kept. ret->found: it has been answered. */
struct ff_kept {
    struct ff_memory *memory;
    bool found;
    int32_t status;
    struct ff_str body;
    int64_t begun_at_ms;
};
FF_MUST_CHECK ff_status ff_reply(struct ff_client *client, const struct ff_reply_in *in,
                                 int32_t status, struct ff_str body, struct ff_kept *ret,
                                 struct ff_error *reterr);
/* As ff_cancel_where and ff_replay_where, as of a time of the store. */
FF_MUST_CHECK ff_status ff_cancel_where_at(struct ff_client *client, const struct ff_filter *filter,
                                           const char *reason, int64_t at_ms,
                                           struct ff_bulk_result *ret, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_replay_where_at(struct ff_client *client, const struct ff_filter *filter,
                                           const char *reason, int64_t at_ms,
                                           struct ff_bulk_result *ret, struct ff_error *reterr);

/* --- looking --------------------------------------------------------------------------------- */

/* FF_OK: the store answers. */
FF_MUST_CHECK ff_status ff_ping(struct ff_client *client, int64_t timeout_ms,
                                struct ff_error *reterr);

#endif
