/* SPDX-License-Identifier: Apache-2.0
 *
 * flowfabric.h -- the only installed header: statuses, strings, errors, and every call.
 *
 * C99-clean. Three version numbers, each with its own rule: the library follows SemVer
 * (FF_VERSION_NUMBER, ff_version()); the HTTP API is versioned in its path; the schema has its own
 * integer. The soname is the major version: a minor release adds symbols and never removes one.
 * Why this file is long: a program includes one header and finds every call in it, by section.
 * Read first: docs/guide/embedding.md. Tests: tests/conformance. */
#ifndef FLOWFABRIC_H
#define FLOWFABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FF_VERSION_NUMBER 0x000100 /* major * 65536 + minor * 256 + patch */

#if defined(__GNUC__)
#define FF_API        __attribute__((visibility("default")))
#define FF_MUST_CHECK __attribute__((warn_unused_result))
#else
#define FF_API
#define FF_MUST_CHECK
#endif

/* A borrowed string: never freed through this struct, may hold any bytes. ptr NULL means "absent".
 */
struct ff_str {
    const char *ptr;
    size_t len;
};

/* The one list of statuses: name, exit code of `ff`, HTTP status, retryable, stable code, text.
 * Codes are never renamed and never reused. "Certainly not applied": every status but
 * OUTCOME_UNKNOWN. */
// clang-format off
#define FF_STATUS_MAP(X)                                                                           \
    X(OK,                  0, 200, 0, "ok",                  "ok")                                 \
    X(INVALID,             2, 400, 0, "invalid",             "input is not valid")                 \
    X(UNKNOWN_FIELD,       2, 400, 0, "unknown_field",       "no such field")                      \
    X(BAD_CURSOR,          2, 400, 0, "bad_cursor",          "cursor cannot be read")              \
    X(TOO_LARGE,           2, 413, 0, "too_large",           "larger than the limit")              \
    X(KEY_REUSED,          4, 422, 0, "key_reused",          "key was used for another request")   \
    X(NOT_FOUND,           3, 404, 0, "not_found",           "no such object")                     \
    X(NO_RESULT,           3, 404, 0, "no_result",           "there is no result")                 \
    X(CONFLICT,            4, 409, 0, "conflict",            "state does not allow this")          \
    X(STALE_LEASE,         4, 409, 0, "stale_lease",         "lease has lapsed or moved on")       \
    X(LEASE_REVOKED,       4, 409, 0, "lease_revoked",       "lease was revoked")                  \
    X(NOT_ACTIVE,          4, 409, 0, "not_active",          "execution is not active")            \
    X(NOT_LEASED,          4, 409, 0, "not_leased",          "nobody holds a lease")               \
    X(ALREADY_TERMINAL,    4, 409, 0, "already_terminal",    "execution has ended")                \
    X(NOT_TERMINAL,        4, 409, 0, "not_terminal",        "execution has not ended")            \
    X(REPLAY_LIMIT,        4, 409, 0, "replay_limit",        "replayed too often")                 \
    X(DEPENDENCIES_FAILED, 4, 409, 0, "dependencies_failed", "dependencies have failed")           \
    X(FLOW_TERMINAL,       4, 409, 0, "flow_terminal",       "flow has ended")                     \
    X(GAP,                 4, 410, 0, "gap",                 "events are no longer kept")          \
    X(TIMEOUT,             5, 503, 1, "timeout",             "not done in time, not applied")      \
    X(BUSY,                5, 503, 1, "busy",                "row is held by someone, not applied")\
    X(OVERLOADED,          5, 503, 1, "overloaded",          "queue is full, not applied")         \
    X(UNAVAILABLE,         5, 503, 1, "unavailable",         "store is away, not applied")         \
    X(CLOSED,              5, 503, 1, "closed",              "engine is closing, not applied")     \
    X(OUTCOME_UNKNOWN,     6, 504, 0, "outcome_unknown",     "may or may not be applied")          \
    X(NO_MEMORY,           7, 503, 1, "no_memory",           "out of memory, not applied")         \
    X(SCHEMA,              7, 503, 0, "schema",              "schema does not fit this binary")    \
    X(INTERNAL,            7, 500, 0, "internal",            "internal error, not applied")        \
    X(AGAIN,               7, 500, 1, "again",               "internal: decide in the next batch") \
    X(CYCLE,               2, 400, 0, "cycle",               "graph has a cycle")                  \
    X(UNKNOWN_NODE,        2, 400, 0, "unknown_node",        "edge names a node that is not there")\
    X(DUPLICATE_NODE,      2, 400, 0, "duplicate_node",      "node is given twice")                \
    X(DUPLICATE_EDGE,      2, 400, 0, "duplicate_edge",      "edge is given twice")                \
    X(SELF_EDGE,           2, 400, 0, "self_edge",           "edge ends where it starts")          \
    X(BAD_QUORUM,          2, 400, 0, "bad_quorum",          "join can never be satisfied")        \
    X(DUPLICATE_INPUT_EDGE, 2, 400, 0, "duplicate_input_edge", "two edges replace one input")      \
    X(NODE_DIFFERS,        4, 409, 0, "node_differs",        "node exists and is another one")     \
    X(EDGE_INTO_EXISTING,  4, 409, 0, "edge_into_existing",  "edge ends at an earlier node")       \
    X(UNSUPPORTED,         2, 501, 0, "unsupported",         "not possible with this client")      \
    X(UNAUTHORIZED,        4, 401, 0, "unauthorized",        "a token is needed")                  \
    X(FORBIDDEN,           4, 403, 0, "forbidden",           "not allowed")                        \
    X(METHOD_NOT_ALLOWED,  2, 405, 0, "method_not_allowed",  "no such method here")                \
    X(UNSUPPORTED_TYPE,    2, 415, 0, "unsupported_type",    "body must be application/json")      \
    X(MISDIRECTED,         2, 421, 0, "misdirected",         "request is for another host")        \
    X(HEAD_TOO_LARGE,      2, 431, 0, "head_too_large",      "path or headers are too long")
// clang-format on

typedef enum ff_status {
#define FF_STATUS_ENUM(name, exit_code, http, retryable, code, text) FF_##name,
    FF_STATUS_MAP(FF_STATUS_ENUM)
#undef FF_STATUS_ENUM
        FF_STATUS_COUNT
} ff_status;

/* Owned by the caller; written only on failure. */
struct ff_error {
    ff_status status;
    char field[96];    /* which input field is meant, or empty */
    char outcome[16];  /* for NOT_ACTIVE and ALREADY_TERMINAL: how it ended, or empty */
    bool repeatable;   /* for OUTCOME_UNKNOWN: saying exactly the same again is safe */
    char message[320]; /* lower case, no full stop */
    char oldest[19];   /* for GAP: the cursor from which on all events are kept */
};

FF_API const char *ff_version(void);
FF_API const char *ff_status_code(ff_status status);
FF_API const char *ff_status_text(ff_status status);
FF_API int ff_status_http(ff_status status);
FF_API int ff_status_exit(ff_status status);
FF_API bool ff_status_retryable(ff_status status);

/* ---- opening ----------------------------------------------------------------------------------
 *
 * ff_open("sqlite:work.db" | "sqlite::memory:" | "postgres://...") runs the whole engine inside
 * this process: executors, timers, scanners. ff_open("http://host:port" | "https://...") gives the
 * same calls through a server; those that need the store itself answer FF_UNSUPPORTED. Any number
 * of threads may use one client; any number of processes may open one store. A client must not be
 * used after fork(). */

struct ff_client;

/* Zero-initialise and set `size`; zero means the default everywhere. */
struct ff_options {
    size_t size;          /* sizeof(struct ff_options) */
    bool migrate;         /* bring an older schema up to date */
    bool must_exist;      /* do not create a SQLite file */
    bool passive;         /* no timers, no scanners: tools that look, change something and leave */
    int32_t executors;    /* 1 on SQLite, 2 on Postgres */
    int64_t timeout_ms;   /* of every blocking call; 30,000 */
    int64_t retention_ms; /* finished executions are kept this long; 7 days */
    const char *instance_tag;   /* the tag that becomes the instance tag of events; "instance" */
    const char *event_renewals; /* "sampled" (default), "all", "none" */
    const char *scan_ns;        /* restrict timers and scanners to one namespace ... */
    const char *scan_instance;  /* ... and to one instance tag */
    const char *token;          /* of a server; default: FF_TOKEN of the environment */
    int64_t event_retention_ms; /* events are kept this long; 7 days */
    int64_t event_count_max;    /* and about so many of them; no limit */
};

FF_API FF_MUST_CHECK ff_status ff_open(const char *url, const struct ff_options *options,
                                       struct ff_client **ret_client, struct ff_error *reterr);
/* Waits up to grace_ms for what is under way. Returns how many loops did not end in time, and for a
 * passive client also how many steps of its flows are left to others; NULL is allowed. Leases stay
 * valid. Calls of other threads that have begun return first, with their answer or FF_CLOSED; none
 * may begin once this has been called: the client is gone when it returns. */
FF_API size_t ff_close(struct ff_client *client, int64_t grace_ms);

/* Brings the schema up to date, or with dry_run only says what would be done. */
FF_API FF_MUST_CHECK ff_status ff_migrate(const char *url, bool dry_run, int32_t *ret_from,
                                          int32_t *ret_to, struct ff_error *reterr);

/* The store has been restored from an older copy (a SQLite file that was copied back, a snapshot of
 * a disk): events that its readers have seen may be gone from it, so ids jump, and followers hear
 * of it. Postgres after a failover or from a dump notices by itself. */
FF_API FF_MUST_CHECK ff_status ff_restored(const char *url, struct ff_error *reterr);

/* Every answer that holds memory begins with this and is freed by ff_answer_free(&answer). */
struct ff_memory;
FF_API void ff_answer_free(void *answer);

#define FF_ABSENT_MS    INT64_MIN /* a time or duration that is not given */
#define FF_ID_BYTES     48        /* a canonical id, {fp:N}:<uuid>, with its NUL */
#define FF_UUID_BYTES   37
#define FF_CURSOR_BYTES 96

/* ---- submitting -------------------------------------------------------------------------------
 */

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
    const char *input_content_type; /* NULL: application/json */
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

/* ---- working ----------------------------------------------------------------------------------
 */

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
    bool result_elsewhere;           /* ask ff_result for it */
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
    struct ff_str result; /* ptr NULL: none */
    const char *result_content_type;
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

/* ---- worker runtime ---------------------------------------------------------------------------
 *
 * Handlers by kind, run by threads of this process, on any client: the runtime claims tasks in
 * batches ahead of need, renews their leases, reports what handlers say in batches and repeats what
 * got no answer. A whole worker: examples/worker.c. Read first: docs/guide/workers.md. */

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
FF_API ff_verdict ff_context_release(struct ff_context *ctx, const char *reason);

/* ---- operating --------------------------------------------------------------------------------
 */

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
    const char *scope;           /* "self" (default), or "failed_ancestors" of a skipped member */
    bool reopen_downstream;      /* members that ran because of it run again, too */
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
FF_API FF_MUST_CHECK ff_status ff_lane_pause(struct ff_client *client, const char *lane,
                                             bool paused, const char *reason,
                                             struct ff_error *reterr);

/* ---- flows ------------------------------------------------------------------------------------
 *
 * A flow is a graph of executions: a node runs when the edges into it say so. Ids of flows are bare
 * uuids; ids of nodes are made from the flow and the node's name. */

struct ff_flow_node {
    const char *name;                 /* unique in the flow */
    const struct ff_submission *work; /* what runs; without execution_id, idempotency_key and ns */
    const char *join;                 /* "all_of" (default), "any_of", "quorum" */
    int64_t k;                        /* of a quorum; 0: not given */
    const char *on_satisfied; /* "cancel_remaining" (default) or "let_run"; not with all_of */
};
struct ff_flow_edge {
    const char *from, *to; /* names */
    const char *pass; /* "upstream" (default), or "input": the result replaces the node's input */
};

/* Start from ff_flow_request_init(). */
struct ff_flow_request {
    size_t size;
    const char *flow_id; /* the caller's own; NULL: minted */
    const char *kind;    /* NULL: none */
    const char *ns;      /* "default" */
    const char *idempotency_key;
    const struct ff_tag_pair *tags;
    size_t tag_count;
    const struct ff_flow_node *nodes;
    size_t node_count;
    const struct ff_flow_edge *edges;
    size_t edge_count;
    int64_t expected_revision; /* grow only; FF_ABSENT_MS: any */
};
FF_API void ff_flow_request_init(struct ff_flow_request *request);

struct ff_flow_member {
    const char *name;
    char execution_id[FF_ID_BYTES];
};
struct ff_flow_made {
    struct ff_memory *memory;
    char flow_id[FF_UUID_BYTES];
    bool created;     /* false: the same request was accepted before */
    int64_t revision; /* FF_ABSENT_MS: a duplicate whose flow is no longer kept */
    size_t count;
    struct ff_flow_member *items; /* in the order of the nodes */
};
/* The whole graph, all or nothing. Refused before anything is written: FF_CYCLE, FF_UNKNOWN_NODE,
 * FF_DUPLICATE_NODE, FF_DUPLICATE_EDGE, FF_SELF_EDGE, FF_BAD_QUORUM, FF_DUPLICATE_INPUT_EDGE,
 * FF_TOO_LARGE; the error names the node or edge. */
FF_API FF_MUST_CHECK ff_status ff_flow_create(struct ff_client *client,
                                              const struct ff_flow_request *request,
                                              struct ff_flow_made *ret, struct ff_error *reterr);
/* More nodes and edges for a flow that lives, named by request->flow_id. Edges start at any node,
 * ended ones too, and end at nodes of this call. An equal repeat is answered whatever the state:
 * `created` is false then. Also FF_NODE_DIFFERS, FF_EDGE_INTO_EXISTING, FF_FLOW_TERMINAL. */
FF_API FF_MUST_CHECK ff_status ff_flow_grow(struct ff_client *client,
                                            const struct ff_flow_request *request,
                                            struct ff_flow_made *ret, struct ff_error *reterr);

struct ff_flow_cancelled {
    struct ff_memory *memory;
    const char *state, *policy, *reason;
    int64_t node_count, ended_count;
};
/* `policy`: "cancel_all", "cancel_pending" (what runs may finish, nothing new begins) or
 * "cancel_flow_only". The flow is cancelled when this returns, its members follow. */
FF_API FF_MUST_CHECK ff_status ff_flow_cancel(struct ff_client *client, const char *flow_id,
                                              const char *reason, const char *policy,
                                              struct ff_flow_cancelled *ret,
                                              struct ff_error *reterr);

struct ff_flow_count {
    const char *public_state;
    int64_t count;
};
struct ff_flow_node_info {
    const char *name, *kind, *public_state;
    char execution_id[FF_ID_BYTES];
};
struct ff_flow_edge_info {
    const char *from, *to, *pass, *outcome;
};
struct ff_flow_join_info {
    const char *node, *policy, *on_satisfied, *group_state;
    int64_t k, success, fail, skip, total;
};
struct ff_flow_info {
    char flow_id[FF_UUID_BYTES];
    const char *kind, *ns, *instance_tag;
    const char *state; /* open, running, completed, failed, cancelled */
    int64_t revision, node_count, edge_count, ended_count;
    const char *cancel_policy, *cancel_reason;                             /* NULL: not cancelled */
    int64_t created_at_ms, changed_at_ms, finished_at_ms, cancelled_at_ms; /* FF_ABSENT_MS */
    const struct ff_tag_pair *tags;
    size_t tag_count;
    struct ff_flow_count *counts; /* members by public state; those that are 0 are left out */
    size_t count_count;
    struct ff_flow_node_info *nodes; /* in the order of names; lists leave out the graph */
    size_t node_info_count;
    struct ff_flow_edge_info *edges;
    size_t edge_info_count;
    struct ff_flow_join_info *joins;
    size_t join_count;
};
struct ff_flow_info_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_flow_info *items;
    char next_cursor[FF_CURSOR_BYTES]; /* empty at the end */
};
/* One flow with its graph: exactly one item. The id is a uuid or a unique prefix of one. */
FF_API FF_MUST_CHECK ff_status ff_flow_get(struct ff_client *client, const char *flow_id,
                                           struct ff_flow_info_list *ret, struct ff_error *reterr);

struct ff_flow_filter {
    size_t size;
    const char *ns, *kind, *state; /* NULL: any */
    int32_t limit;                 /* 0 means 50; at most 1,000 */
    const char *cursor;
};
FF_API FF_MUST_CHECK ff_status ff_flow_list(struct ff_client *client,
                                            const struct ff_flow_filter *filter,
                                            struct ff_flow_info_list *ret, struct ff_error *reterr);

/* ---- looking ----------------------------------------------------------------------------------
 */

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

struct ff_event_info {
    char cursor[19]; /* hex of 0x02 and the big-endian id */
    int64_t event_id;
    const char *kind, *type;
    char execution_id[FF_ID_BYTES]; /* empty: none */
    char flow_id[FF_UUID_BYTES];
    char lease_id[FF_UUID_BYTES];
    int32_t generation;
    const char *ns, *instance_tag, *public_state;
    const char *worker_id, *worker_instance_id, *prev_owner, *note;
    int64_t lease_epoch, version, num_a, num_b; /* FF_ABSENT_MS: does not apply */
    int64_t at_ms;
};
struct ff_event_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_event_info *items; /* oldest first */
    char next_cursor[FF_CURSOR_BYTES];
};
FF_API FF_MUST_CHECK ff_status ff_history(struct ff_client *client, const char *execution_id,
                                          const char *cursor, int32_t limit,
                                          struct ff_event_list *ret, struct ff_error *reterr);

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

struct ff_lane_info {
    const char *lane;
    bool paused;
    const char *paused_reason;
    int64_t waiting, delayed, blocked, active; /* by live public state */
    int64_t oldest_waiting_at_ms;              /* FF_ABSENT_MS: nothing waits */
};
struct ff_lane_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_lane_info *items;
};
FF_API FF_MUST_CHECK ff_status ff_lanes(struct ff_client *client, struct ff_lane_list *ret,
                                        struct ff_error *reterr);

struct ff_worker_info {
    const char *worker_id, *worker_instance_id, *ns, *lanes, *kinds, *capabilities;
    int64_t registered_at_ms, seen_at_ms;
    bool live;
};
struct ff_worker_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_worker_info *items;
};
FF_API FF_MUST_CHECK ff_status ff_workers(struct ff_client *client, struct ff_worker_list *ret,
                                          struct ff_error *reterr);

struct ff_scanner_info {
    const char *name;
    int64_t interval_ms, ticks;
    int64_t last_processed, last_errors; /* of the last tick that looked at the store */
    int64_t processed, errors;           /* since the client was opened */
    int64_t last_scanned,
        last_noop; /* loops of flows: found, and of these done by others already */
};
struct ff_scanner_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_scanner_info *items;
    int64_t stuck_hops; /* ends of flow members that could not be passed on 10 times; still tried */
};
FF_API FF_MUST_CHECK ff_status ff_scanners(struct ff_client *client, struct ff_scanner_list *ret,
                                           struct ff_error *reterr);

/* ---- following --------------------------------------------------------------------------------
 *
 * The event log, read in the order of its ids and never past an event that may still come: whoever
 * keeps the cursor of the last event it has dealt with, and passes it back, misses nothing.
 * Everything of an event is filled in; deliveries are at least once across a reconnect. */

/* Start from ff_event_filter_init(). What is not given matches everything; an event that lacks what
 * is asked for never matches. */
struct ff_event_filter {
    size_t size;
    const char *const
        *kinds;        /* completion, lease, execution, operator, flow, worker, log, signal */
    size_t kind_count; /* 0: all */
    const char *ns, *instance_tag;        /* NULL: any */
    int32_t partition_from, partition_to; /* both ends count; -1: any */
    const char *execution_id;             /* canonical, fp:N:<uuid> or bare; NULL: any */
    const char *flow_id;                  /* with the events of its members; NULL: any */
};
FF_API void ff_event_filter_init(struct ff_event_filter *filter);

/* One page of the log behind `after`: a cursor, "start" (the oldest event kept), or NULL or empty
 * (from now on). Waits up to wait_ms (at most 60,000) while there is none. next_cursor is always
 * set: events the filter leaves out are behind it too. FF_BAD_CURSOR: cannot be read. FF_GAP: older
 * than what is kept, or from a log that this one is not; reterr->oldest says where to begin. */
FF_API FF_MUST_CHECK ff_status ff_events(struct ff_client *client,
                                         const struct ff_event_filter *filter, const char *after,
                                         int32_t limit, int64_t wait_ms, struct ff_event_list *ret,
                                         struct ff_error *reterr);

/* Events, or a notice. Notices come between events, in their place; the subscription goes on by
 * itself after each of them:
 *   disconnected  the store was away, or this reader was too slow for its buffer; nothing is lost
 *   reset         the log was restored from an older copy: events the reader saw are gone from it
 *   gap           events behind the reader's cursor were no longer kept */
struct ff_delivery {
    struct ff_memory *memory;
    const char *notice; /* NULL: events, maybe none */
    size_t count;
    struct ff_event_info *items;
    char cursor[19]; /* everything up to here has been delivered, or filtered out */
};

struct ff_subscription;
/* `after` as in ff_events. From now on means: what is committed after this returns is delivered.
 * ff_unsubscribe it, before or after ff_close. */
FF_API FF_MUST_CHECK ff_status ff_subscribe(struct ff_client *client,
                                            const struct ff_event_filter *filter, const char *after,
                                            struct ff_subscription **ret, struct ff_error *reterr);
/* Up to `max` events (0 means 256), or one notice; waits up to timeout_ms for something to come.
 * FF_OK without events or notice: nothing came. FF_CLOSED: the client was closed. One thread at a
 * time. */
FF_API FF_MUST_CHECK ff_status ff_subscription_next(struct ff_subscription *subscription,
                                                    size_t max, int64_t timeout_ms,
                                                    struct ff_delivery *ret,
                                                    struct ff_error *reterr);
/* The same with a thread of its own that calls `on_delivery` until it returns false, the client is
 * closed or the subscription ends. The delivery is freed afterwards. `on_delivery` may use the
 * client, but not ff_close, nor ff_unsubscribe its own subscription. */
typedef bool (*ff_on_delivery)(const struct ff_delivery *delivery, void *ctx);
FF_API FF_MUST_CHECK ff_status ff_subscribe_callback(struct ff_client *client,
                                                     const struct ff_event_filter *filter,
                                                     const char *after, ff_on_delivery on_delivery,
                                                     void *ctx, struct ff_subscription **ret,
                                                     struct ff_error *reterr);
/* Ends it; on_delivery is not called any more when this returns. NULL is allowed. */
FF_API void ff_unsubscribe(struct ff_subscription *subscription);

/* As ff_get and ff_flow_get, but waits up to wait_ms for the end of the execution, or of the flow
 * with all its members. Look at `finished`, or at finished_at_ms: time may have run out. */
FF_API FF_MUST_CHECK ff_status ff_wait(struct ff_client *client, const char *execution_id,
                                       int64_t wait_ms, struct ff_info_list *ret,
                                       struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_flow_wait(struct ff_client *client, const char *flow_id,
                                            int64_t wait_ms, struct ff_flow_info_list *ret,
                                            struct ff_error *reterr);

/* ---- auditing ---------------------------------------------------------------------------------
 */

struct ff_finding {
    const char *check;              /* which invariant */
    char execution_id[FF_ID_BYTES]; /* empty: does not apply */
    const char *detail;
};
struct ff_findings {
    struct ff_memory *memory;
    int32_t checks; /* how many invariants were looked at */
    size_t count;   /* 0: the store is sound */
    struct ff_finding *items;
};
/* Read-only, safe on a live system. */
FF_API FF_MUST_CHECK ff_status ff_fsck(struct ff_client *client, struct ff_findings *ret,
                                       struct ff_error *reterr);

struct ff_check {
    const char *name, *value;
    const char *advice; /* what to change; NULL: it is as it should be */
};
struct ff_diagnosis {
    struct ff_memory *memory;
    size_t count;
    struct ff_check *items;
};
/* What the store is like: version, settings, pooler, wake-ups, clock skew, how fast it answers. */
FF_API FF_MUST_CHECK ff_status ff_doctor(struct ff_client *client, struct ff_diagnosis *ret,
                                         struct ff_error *reterr);
/* Removes what ended longer ago than this (FF_ABSENT_MS: than retention_ms) now, not in a minute.
 * Members of a flow go after it, by a process that runs loops. */
FF_API FF_MUST_CHECK ff_status ff_gc(struct ff_client *client, int64_t older_than_ms,
                                     int64_t *ret_removed, struct ff_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
