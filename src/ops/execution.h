/* SPDX-License-Identifier: Apache-2.0
 *
 * execution.h -- in and out of the operations on executions.
 *
 * `in` is filled by the caller and owned by the op's arena; fields below "learned" are the op's own
 * notes from one batch to the next. `out` is written by apply() into the op's arena.
 * Tests: tests/conformance. */
#ifndef FF_OPS_EXECUTION_H
#define FF_OPS_EXECUTION_H

#include "model/ids.h"
#include "model/policy.h"
#include "model/rows.h"
#include "ops/outdated.h"

struct ff_tag_in {
    struct ff_str name, value; /* value absent: remove (execution.tag only) */
};

struct ff_submit_in {
    struct ff_exec_id id; /* minted with the op, or the caller's own */
    bool own_id;
    bool dated; /* minted by the store's time */
    struct ff_str namespace, lane, kind;
    struct ff_str input, input_type; /* input absent: null; type absent: JSON */
    struct ff_str input_same;        /* what repeats are compared by; absent: the input */
    int64_t priority;                /* clamped to 0..9000 */
    struct ff_tag_in *tags;
    size_t tag_count;
    struct ff_str idempotency_key;       /* absent: none */
    int64_t delay_ms, delay_until_ms;    /* FF_NULL64: not given; at most one */
    int64_t deadline_ms, deadline_at_ms; /* FF_NULL64: not given; at most one */
    struct ff_str *capabilities;
    size_t capability_count;
    struct ff_policy policy; /* complete; dedup window included */
    /* set by ff_submit_prepare */
    uint8_t hash[32]; /* fingerprint of the request with its defaults, if it may come again */
    bool is_hashed;
    struct ff_str capset_tokens;
    int64_t capset_id;
    /* learned: the key is taken by this execution */
    bool taken;
    struct ff_exec_id taken_by;
};
struct ff_submit_out {
    struct ff_exec_id id;
    int32_t state; /* FF_NULL32: a duplicate whose first execution is no longer kept */
    bool created;
};
/* Checks every field (the error names it), clamps the priority, sorts and interns capabilities,
 * fills in defaults for lane and namespace, and sets `hash` if there is an id or a key to repeat
 * the request with. Call once, before the op is queued. */
FF_MUST_CHECK ff_status ff_submit_prepare(struct ff_submit_in *in,
                                          const struct ff_settings *settings,
                                          struct ff_arena *arena, struct ff_error *reterr);
/* After it, of one that is part of a larger request. */
FF_MUST_CHECK ff_status ff_submit_hash(struct ff_submit_in *in, struct ff_error *reterr);

struct ff_task_ref {
    struct ff_exec_id id;
    struct ff_uuid lease_id;
    int64_t lease_epoch;
    const struct ff_str *namespaces; /* of the caller; elsewhere nothing is found */
    size_t namespace_count;          /* 0: all are his */
};

struct ff_claim_in {
    struct ff_str worker_id, worker_instance_id;
    struct ff_str *lanes;
    size_t lane_count;
    struct ff_str *kinds; /* none: all */
    size_t kind_count;
    struct ff_str namespace; /* absent: all */
    struct ff_str *capabilities;
    size_t capability_count;
    int64_t max, lease_ttl_ms;
    struct ff_str request_id; /* absent: none */
    /* learned: this request was answered before with these */
    struct ff_task_ref *known;
    size_t known_count;
    bool is_known;
    /* set by need(), one per lane, for apply() */
    struct ff_scan **scans;
};
/* What a node waited for, if the batch that handed it out knew, or its process remembered. */
struct ff_upstream_out {
    struct ff_exec_id id;
    struct ff_str node, result, result_type; /* result: null if there is none */
    int32_t pass, outcome, generation;
};
#define FF_UPSTREAMS_UNREAD (-1)

struct ff_task_out {
    struct ff_exec_id id;
    struct ff_uuid lease_id;
    int64_t lease_epoch, lease_ttl_ms, lease_expires_at_ms;
    int32_t generation, attempt_index, attempt_type;
    struct ff_str kind, lane, namespace, input, input_type, node;
    struct ff_uuid flow_id;
    int64_t deadline_at_ms;
    int64_t waited_ms; /* since its last change before this claim; -1: it was handed out before */
    bool input_elsewhere;   /* the input is in ff_payload: read it after the commit */
    bool tagged;            /* so are its tags in ff_tag */
    int32_t upstream_count; /* FF_UPSTREAMS_UNREAD: so is what it waited for; else 0 or 1 */
    const struct ff_upstream_out *upstream;
};
struct ff_claim_out {
    struct ff_task_out *tasks;
    size_t task_count;
    /* Fewer than asked although a scan was full: claim again at once. With tasks in hand answer
     * them first: a request id remembers exactly one answer. */
    bool went_short;
    bool is_repeat; /* of an answer given before: nothing more will come */
};
/* What a node that is handed out waited for, as far as this batch knows it. */
void ff_task_upstreams(struct ff_work *work, const struct ff_execution *execution,
                       struct ff_task_out *task);
/* The same, where an edge into it is at hand (NULL: it is looked for), with a result of so many
 * bytes at most. */
void ff_task_upstream_by(struct ff_work *work, const struct ff_execution *execution,
                         const struct ff_edge *edge, size_t result_max, struct ff_task_out *task);
/* Is this execution, once it can be claimed, for this claim? The scan selects by the same rule. */
bool ff_claim_fits(const struct ff_claim_in *in, const struct ff_capsets *capsets,
                   const struct ff_execution *execution);
/* The order in which the executions of a lane are handed out. */
int ff_lane_cmp(const struct ff_execution *a, const struct ff_execution *b);
/* In place of need(): apply() hands out nothing but these rows of its own batch, sorted by
 * ff_lane_cmp. The rows of its lanes must have been asked for. */
void ff_claim_offer(struct ff_work *work, struct ff_claim_in *in, struct ff_execution *const *rows,
                    size_t count);
/* Checks every field, fills in the default lane, drops repeated lanes, sorts kinds and
 * capabilities, so that equal claims share a scan. */
FF_MUST_CHECK ff_status ff_claim_prepare(struct ff_claim_in *in, struct ff_arena *arena,
                                         struct ff_error *reterr);

struct ff_renew_in {
    struct ff_task_ref task;
    int64_t lease_ttl_ms; /* FF_NULL64: as at the claim */
};
struct ff_renew_out {
    int64_t lease_expires_at_ms;
};

struct ff_progress_in {
    struct ff_task_ref task;
    int32_t percent;       /* FF_NULL32: keep */
    struct ff_str message; /* absent: keep */
};

struct ff_complete_in {
    struct ff_task_ref task;
    struct ff_str result, result_type; /* result absent: none; type absent: JSON */
};

typedef enum ff_failure_class {
    FF_FAILURE_TRANSIENT,
    FF_FAILURE_PERMANENT,
    FF_FAILURE_TIMEOUT,
    FF_FAILURE_INFRA_CRASH,
    FF_FAILURE_CLASS_COUNT
} ff_failure_class;
struct ff_fail_in {
    struct ff_task_ref task;
    struct ff_str message;
    ff_failure_class failure_class;
    int64_t retry_after_ms; /* FF_NULL64: by policy */
};

struct ff_delay_in {
    struct ff_task_ref task;
    int64_t delay_ms, delay_until_ms; /* exactly one is given */
};

struct ff_release_in {
    struct ff_task_ref task;
    struct ff_str reason;
};

/* The answer of complete, fail, delay, release, cancel, priority, replay and revoke. */
struct ff_state_out {
    int32_t state;
    int32_t generation;
    int64_t retry_at_ms; /* fail with a retry; FF_NULL64 otherwise */
};

struct ff_cancel_in {
    struct ff_exec_id id;
    struct ff_str reason, by;
    int64_t created_before_ms; /* FF_NULL64; by filter: only executions created before this */
};

struct ff_priority_in {
    struct ff_exec_id id;
    int64_t priority;
    struct ff_str by;
};

struct ff_replay_in {
    struct ff_exec_id id;
    struct ff_str reason, by;
    bool has_input;
    struct ff_str input, input_type;
    int64_t deadline_ms;         /* FF_NULL64: none given */
    int64_t expected_generation; /* FF_NULL64: any */
    int64_t finished_before_ms;  /* FF_NULL64; by filter: only executions that had ended by then */
    /* members of a flow */
    bool failed_ancestors; /* an impossible join: replay the failed ancestors instead of refusing */
    bool reopen_downstream; /* what ran because of it runs again, too */
    /* learned: it is a member, and which rows that takes */
    bool is_member, wants_blame;
    struct ff_uuid flow_id;
    int32_t generation;
    struct ff_outdated outdated; /* edges into it */
    struct ff_ancestor *ancestors;
    size_t ancestor_count;
    struct ff_scan *scan; /* set by need(): who is to blame for an impossible join */
};
/* A failed ancestor, as it was when it was found. */
struct ff_ancestor {
    struct ff_uuid id;
    int32_t generation;
    struct ff_outdated outdated;
};

struct ff_revoke_in {
    struct ff_exec_id id;
    struct ff_str reason, by;
};
struct ff_revoke_out {
    struct ff_uuid lease_id;
    int64_t lease_epoch; /* of the lease that was revoked */
    int32_t state;
};

struct ff_tag_op_in {
    struct ff_exec_id id;
    struct ff_tag_in *tags;
    size_t tag_count;
};
struct ff_tag_op_out {
    int64_t version;
};

/* Checks of the small ops; each names the field. */
FF_MUST_CHECK ff_status ff_task_ref_check(const struct ff_task_ref *task, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_renew_check(const struct ff_renew_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_progress_check(const struct ff_progress_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_complete_check(const struct ff_complete_in *in,
                                          const struct ff_settings *settings,
                                          struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_fail_check(const struct ff_fail_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_delay_check(const struct ff_delay_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_release_check(const struct ff_release_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_cancel_check(const struct ff_cancel_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_priority_check(struct ff_priority_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_replay_check(const struct ff_replay_in *in,
                                        const struct ff_settings *settings,
                                        struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_revoke_check(const struct ff_revoke_in *in, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_tag_check(const struct ff_tag_op_in *in, struct ff_error *reterr);

#endif
