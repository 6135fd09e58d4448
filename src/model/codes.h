/* SPDX-License-Identifier: Apache-2.0
 *
 * codes.h -- the small numbers that rows store: ends of a tenancy, attempt types, payloads, hops.
 *
 * Codes are stored: never renamed, never reused; add at the end. States have their own table
 * (states.def), events too (events.def). Tests: tests/unit/test_codes.c. */
#ifndef FF_MODEL_CODES_H
#define FF_MODEL_CODES_H

#include <stddef.h>
#include <stdint.h>

// clang-format off
/* How a tenancy ended: execution.last_end and attempt.outcome. LAPSED is a lease that ran out or an
 * attempt that took too long. */
#define FF_END_MAP(X)              \
    X(NONE,      0, "none")        \
    X(COMPLETED, 1, "completed")   \
    X(FAILED,    2, "failed")      \
    X(RETRY,     3, "retry")       \
    X(DELAYED,   4, "delayed")     \
    X(CANCELLED, 5, "cancelled")   \
    X(REVOKED,   6, "revoked")     \
    X(LAPSED,    7, "interrupted") \
    X(RELEASED,  8, "released")    \
    X(SUSPENDED, 9, "suspended")   \
    X(EXPIRED,  10, "expired")

#define FF_ATTEMPT_MAP(X)      \
    X(INITIAL, 0, "initial")   \
    X(RETRY,   1, "retry")     \
    X(REPLAY,  2, "replay")    \
    X(RECLAIM, 3, "reclaim")

/* flow.state. REMOVED: forgotten by retention, its members are going. */
#define FF_FLOW_MAP(X)           \
    X(RUNNING,   1, "running")   \
    X(COMPLETED, 2, "completed") \
    X(FAILED,    3, "failed")    \
    X(CANCELLED, 4, "cancelled") \
    X(REMOVED,   5, "removed")

/* flow.cancel_policy, the mildest first. */
#define FF_FLOW_CANCEL_MAP(X)               \
    X(NONE,      0, "none")                 \
    X(FLOW_ONLY, 1, "cancel_flow_only")     \
    X(PENDING,   2, "cancel_pending")       \
    X(ALL,       3, "cancel_all")

/* edge.outcome. */
#define FF_EDGE_MAP(X)             \
    X(UNRESOLVED, 0, "unresolved") \
    X(SUCCESS,    1, "success")    \
    X(FAIL,       2, "fail")       \
    X(SKIP,       3, "skip")

/* edge.pass: what the downstream gets to see of the upstream's result. */
#define FF_PASS_MAP(X)         \
    X(UPSTREAM, 0, "upstream") \
    X(INPUT,    1, "input")

#define FF_JOIN_MAP(X)     \
    X(ALL_OF, 0, "all_of") \
    X(ANY_OF, 1, "any_of") \
    X(QUORUM, 2, "quorum")

#define FF_ON_SATISFIED_MAP(X)                 \
    X(CANCEL_REMAINING, 0, "cancel_remaining") \
    X(LET_RUN,          1, "let_run")

#define FF_GROUP_MAP(X)            \
    X(PENDING,    0, "pending")    \
    X(SATISFIED,  1, "satisfied")  \
    X(IMPOSSIBLE, 2, "impossible")
// clang-format on

/* execution.cancelled_by: a call of the API, the cancel of its flow, or a join that was decided
 * without it. */
#define FF_BY_OPERATOR "operator"
#define FF_BY_FLOW     "flow"
#define FF_BY_SIBLING  "sibling"

typedef enum ff_end {
#define FF_END_ENUM(name, code, text) FF_END_##name = (code),
    FF_END_MAP(FF_END_ENUM)
#undef FF_END_ENUM
} ff_end;

typedef enum ff_attempt_type {
#define FF_ATTEMPT_ENUM(name, code, text) FF_ATTEMPT_##name = (code),
    FF_ATTEMPT_MAP(FF_ATTEMPT_ENUM)
#undef FF_ATTEMPT_ENUM
} ff_attempt_type;

typedef enum ff_flow_state {
#define FF_FLOW_ENUM(name, code, text) FF_FLOW_##name = (code),
    FF_FLOW_MAP(FF_FLOW_ENUM)
#undef FF_FLOW_ENUM
} ff_flow_state;

typedef enum ff_flow_cancel_policy {
#define FF_FLOW_CANCEL_ENUM(name, code, text) FF_FLOW_CANCEL_##name = (code),
    FF_FLOW_CANCEL_MAP(FF_FLOW_CANCEL_ENUM)
#undef FF_FLOW_CANCEL_ENUM
} ff_flow_cancel_policy;

typedef enum ff_edge_outcome {
#define FF_EDGE_ENUM(name, code, text) FF_EDGE_##name = (code),
    FF_EDGE_MAP(FF_EDGE_ENUM)
#undef FF_EDGE_ENUM
} ff_edge_outcome;

typedef enum ff_pass {
#define FF_PASS_ENUM(name, code, text) FF_PASS_##name = (code),
    FF_PASS_MAP(FF_PASS_ENUM)
#undef FF_PASS_ENUM
} ff_pass;

typedef enum ff_join_policy {
#define FF_JOIN_ENUM(name, code, text) FF_JOIN_##name = (code),
    FF_JOIN_MAP(FF_JOIN_ENUM)
#undef FF_JOIN_ENUM
} ff_join_policy;

typedef enum ff_on_satisfied {
#define FF_ON_SATISFIED_ENUM(name, code, text) FF_ON_SATISFIED_##name = (code),
    FF_ON_SATISFIED_MAP(FF_ON_SATISFIED_ENUM)
#undef FF_ON_SATISFIED_ENUM
} ff_on_satisfied;

typedef enum ff_group_state {
#define FF_GROUP_ENUM(name, code, text) FF_GROUP_##name = (code),
    FF_GROUP_MAP(FF_GROUP_ENUM)
#undef FF_GROUP_ENUM
} ff_group_state;

typedef enum ff_payload_kind { FF_PAYLOAD_INPUT = 0, FF_PAYLOAD_RESULT = 1 } ff_payload_kind;

typedef enum ff_hop_kind { FF_HOP_COMPLETION = 0, FF_HOP_REOPEN = 1 } ff_hop_kind;

/* outbox.outcome of a reopening: what is reopened besides the nodes that were skipped. */
typedef enum ff_reopen { FF_REOPEN_SKIPPED = 0, FF_REOPEN_DOWNSTREAM = 1 } ff_reopen;

/* execution.flags. */
#define FF_EXEC_NO_NEW_ATTEMPT  1  /* its flow was cancelled: what would retry ends cancelled */
#define FF_EXEC_INPUT_ELSEWHERE 2  /* the input is the newest INPUT row of ff_payload */
#define FF_EXEC_TAGGED          4  /* there are rows in ff_tag; claims look for them only then */
#define FF_EXEC_INPUT_PASSED    8  /* an edge brings the input: none can be given with a replay */
#define FF_EXEC_FOLLOWS         16 /* ended; runs again when its join may be satisfied again */
#define FF_EXEC_FOLLOWED        32 /* ended; its next run reopens those below it */
#define FF_EXEC_DATED           64 /* created at the time in its id: lists find it by its key */
#define FF_EXEC_INPUT_SHIFT     8  /* bits 8..13: such an input has at most 2^n bytes */
#define FF_EXEC_INPUT_MASK      63

/* "unknown" for a code this binary does not know. */
const char *ff_end_name(int32_t end);
const char *ff_attempt_type_name(int32_t type);
const char *ff_flow_state_name(int32_t state);
const char *ff_flow_cancel_name(int32_t policy);
const char *ff_edge_outcome_name(int32_t outcome);
const char *ff_pass_name(int32_t pass);
const char *ff_join_policy_name(int32_t policy);
const char *ff_on_satisfied_name(int32_t on_satisfied);
const char *ff_group_state_name(int32_t state);

/* The flags with the note that the input of `bytes` is in ff_payload. */
int32_t ff_flags_with_input(int32_t flags, size_t bytes);
/* An upper bound of the bytes of an input in ff_payload, less than twice its size; 0: it is inline.
 */
int64_t ff_flags_input_bytes(int32_t flags);

#endif
