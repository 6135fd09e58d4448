/* SPDX-License-Identifier: Apache-2.0
 *
 * executions.h -- units of work: submitting, changing and looking at them. */
#ifndef FLOWFABRIC_EXECUTIONS_H
#define FLOWFABRIC_EXECUTIONS_H

#include "client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- submitting ------------------------------------------------------------------------------ */

struct ff_tag_pair {
    const char *name;
    const char *value;
};

/* Start from ff_policy_init(); every field then has its default. */
struct ff_policy_spec {
    size_t size;
    bool has_retry_policy;    /* false: 3 retries, exponential 1 s to 60 s with jitter */
    int32_t max_retries;      /* 0 when a retry policy does not say */
    const char *backoff;      /* "exponential" (default) or "fixed" */
    int64_t delay_ms;         /* fixed */
    int64_t initial_delay_ms; /* exponential; 1,000 */
    int64_t max_delay_ms;     /* exponential; 60,000 */
    double multiplier;        /* exponential; 2.0 */
    bool jitter;
    int64_t attempt_timeout_ms; /* 0: none */
    const char *lease_lapse;    /* "retry" (default) or "reclaim" */
    int32_t max_reclaim_count;  /* 100 */
    int32_t max_replay_count;   /* 10 */
    int64_t dedup_window_ms;    /* 24 hours */
};
FF_API void ff_policy_init(struct ff_policy_spec *policy);

/* Start from ff_submission_init(). */
struct ff_submission {
    size_t size;
    const char *kind;               /* required: which handler runs it */
    const char *lane;               /* "default" */
    const char *ns;                 /* namespace; "default" */
    struct ff_str input;            /* ptr NULL: none */
    const char *input_content_type; /* NULL: application/json; then it must be JSON */
    int64_t priority;               /* 0 to 9,000, higher first; clamped */
    const struct ff_tag_pair *tags;
    size_t tag_count;
    const char *idempotency_key;         /* unique per namespace while its window lasts */
    const char *execution_id;            /* the caller's own full id; NULL: minted */
    int64_t delay_ms, delay_until_ms;    /* FF_ABSENT_MS; at most one */
    int64_t deadline_ms, deadline_at_ms; /* FF_ABSENT_MS; at most one */
    const char *const *required_capabilities;
    size_t required_capability_count;
    const struct ff_policy_spec *policy; /* NULL: the default */
};
FF_API void ff_submission_init(struct ff_submission *submission);

struct ff_submitted {
    ff_status status;
    struct ff_error error;
    char execution_id[FF_ID_BYTES];
    const char *public_state;
    bool created; /* false: a duplicate; the id is the first one's */
};

/* 1 to 1,000 at once; one bad item never fails the others. FF_OK: every item has its own status.
 * Otherwise nothing was accepted (or, for FF_OUTCOME_UNKNOWN, items say which are in doubt). */
FF_API FF_MUST_CHECK ff_status ff_submit(struct ff_client *client,
                                         const struct ff_submission *items, size_t count,
                                         struct ff_submitted *ret_items, struct ff_error *reterr);

/* The same without waiting, so that one thread may have any number of calls under way; in process
 * only. FF_OK: all has been copied, and `done` will be called once with what ff_submit would have
 * answered: after the commit, on a thread of the engine, or of the one that closes the client; or
 * at once, if there is no item that the engine could be asked about. Otherwise nothing was accepted
 * and `done` is not called. Other work waits while it runs, so it must be brief: it may call
 * ff_submit_async, and no call that waits (those that change something answer FF_INVALID there),
 * nor ff_close. What it is given lives until it returns. ff_close waits until all have been called.
 */
typedef void (*ff_on_submitted)(ff_status status, const struct ff_submitted *items, size_t count,
                                const struct ff_error *error, void *ctx);
FF_API FF_MUST_CHECK ff_status ff_submit_async(struct ff_client *client,
                                               const struct ff_submission *items, size_t count,
                                               ff_on_submitted done, void *ctx,
                                               struct ff_error *reterr);

/* ---- changing -------------------------------------------------------------------------------- */

FF_API FF_MUST_CHECK ff_status ff_cancel(struct ff_client *client, const char *execution_id,
                                         const char *reason, const char **ret_public_state,
                                         struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_set_priority(struct ff_client *client, const char *execution_id,
                                               int64_t priority, const char **ret_public_state,
                                               struct ff_error *reterr);

struct ff_replay_request {
    size_t size;
    const char *execution_id;
    const char *reason;
    bool has_input;      /* false: runs with the input it had */
    struct ff_str input; /* ptr NULL: the JSON value null */
    const char *input_content_type;
    int64_t deadline_ms;         /* FF_ABSENT_MS */
    int64_t expected_generation; /* FF_ABSENT_MS: any */
    const char *scope;           /* "self" (default), or "failed_ancestors" of a flow's member */
    bool reopen_downstream;      /* members that ran because of it run again, too; those that have
                                    not begun wait again, one that runs goes on with what it has */
};
FF_API void ff_replay_init(struct ff_replay_request *request);
FF_API FF_MUST_CHECK ff_status ff_replay(struct ff_client *client,
                                         const struct ff_replay_request *request,
                                         const char **ret_public_state, int32_t *ret_generation,
                                         struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_revoke_lease(struct ff_client *client, const char *execution_id,
                                               const char *reason, int64_t *ret_epoch,
                                               struct ff_error *reterr);
/* A tag with value NULL is removed. */
FF_API FF_MUST_CHECK ff_status ff_set_tags(struct ff_client *client, const char *execution_id,
                                           const struct ff_tag_pair *tags, size_t count,
                                           struct ff_error *reterr);

/* ---- looking --------------------------------------------------------------------------------- */

struct ff_filter {
    size_t size;
    const char *ns, *lane, *kind, *state, *flow_id,
        *worker_id; /* NULL: any; state is a public state */
    const char *tag_name, *tag_value;
    int64_t created_after_ms, created_before_ms; /* FF_ABSENT_MS */
    int32_t limit;      /* 0 means 50; at most 1,000; -1 means none at all */
    const char *cursor; /* as given by the last page */
};
FF_API void ff_filter_init(struct ff_filter *filter);

/* Up to 10,000 executions that match and existed (cancel) or had ended (replay) at the call. */
struct ff_bulk_result {
    int64_t matched, done, unchanged, refused;
    bool more; /* there were more than 10,000 */
};
FF_API FF_MUST_CHECK ff_status ff_cancel_where(struct ff_client *client,
                                               const struct ff_filter *filter, const char *reason,
                                               struct ff_bulk_result *ret, struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_replay_where(struct ff_client *client,
                                               const struct ff_filter *filter, const char *reason,
                                               struct ff_bulk_result *ret, struct ff_error *reterr);

struct ff_info {
    char execution_id[FF_ID_BYTES];
    char flow_id[FF_UUID_BYTES]; /* empty: none */
    const char *ns, *lane, *kind, *node, *instance_tag;
    const char *public_state;
    bool finished;
    const char *lifecycle_phase, *ownership_state, *eligibility_state, *attempt_state;
    const char *terminal_outcome, *blocking_reason;
    int32_t priority, generation, attempt_index, attempt_count;
    int32_t retry_count, reclaim_count, replay_count;
    bool has_lease;
    char lease_id[FF_UUID_BYTES];
    const char *worker_id, *worker_instance_id;
    int64_t lease_epoch; /* of the execution, lease or not */
    int64_t lease_acquired_at_ms, lease_expires_at_ms, lease_renewed_at_ms;
    bool has_progress;        /* in this generation */
    int32_t progress_percent; /* -1: never said */
    const char *progress_message;
    int64_t progress_at_ms;
    const char *failure_message, *failure_class; /* of this generation; NULL: none */
    const char *cancel_reason;                   /* NULL: not cancelled, or no reason given */
    const char *cancelled_by; /* operator, flow (its cancel), sibling (a join that was decided) */
    const char *const *required_capabilities;
    size_t required_capability_count;
    struct ff_policy_spec policy; /* complete */
    const struct ff_tag_pair *tags;
    size_t tag_count;
    struct ff_str input;
    const char *input_content_type;
    int64_t created_at_ms, changed_at_ms;
    int64_t started_at_ms, finished_at_ms, delay_until_ms, deadline_at_ms; /* FF_ABSENT_MS */
    int64_t version;
};
struct ff_info_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_info *items;             /* lists leave out tags, input, progress and failure */
    char next_cursor[FF_CURSOR_BYTES]; /* empty at the end */
};
/* One execution, whole: exactly one item. The id may be canonical, fp:N:<uuid>, a bare uuid, a
 * unique prefix of one (at least 4 hex digits), or <flow id>/<node>. */
FF_API FF_MUST_CHECK ff_status ff_get(struct ff_client *client, const char *execution_id,
                                      struct ff_info_list *ret, struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_list(struct ff_client *client, const struct ff_filter *filter,
                                       struct ff_info_list *ret, struct ff_error *reterr);

struct ff_bytes {
    struct ff_memory *memory;
    struct ff_str data;
    const char *content_type; /* NULL: application/json */
};
/* FF_NO_RESULT before success. */
FF_API FF_MUST_CHECK ff_status ff_result(struct ff_client *client, const char *execution_id,
                                         struct ff_bytes *ret, struct ff_error *reterr);
/* The result of one generation, whatever has become of the execution since. FF_NO_RESULT if that
 * generation left none. */
FF_API FF_MUST_CHECK ff_status ff_result_of(struct ff_client *client, const char *execution_id,
                                            int32_t generation, struct ff_bytes *ret,
                                            struct ff_error *reterr);

struct ff_attempt_info {
    int32_t generation, attempt_index;
    const char *attempt_type, *outcome; /* outcome NULL: still running */
    int64_t lease_epoch, started_at_ms, ended_at_ms;
    char lease_id[FF_UUID_BYTES];
    const char *worker_id, *worker_instance_id;
    const char *failure_message, *failure_class;
};
struct ff_attempt_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_attempt_info *items; /* oldest first, the live one last */
};
FF_API FF_MUST_CHECK ff_status ff_attempts(struct ff_client *client, const char *execution_id,
                                           struct ff_attempt_list *ret, struct ff_error *reterr);

struct ff_reason {
    const char *code; /* stable: ready, delayed, leased, no_worker, paused_lane, finished, ... */
    const char *detail;
};
struct ff_explanation {
    struct ff_memory *memory;
    char execution_id[FF_ID_BYTES];
    const char *public_state;
    size_t count;
    struct ff_reason *items;
};
FF_API FF_MUST_CHECK ff_status ff_explain(struct ff_client *client, const char *execution_id,
                                          struct ff_explanation *ret, struct ff_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
