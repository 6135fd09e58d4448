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
// clang-format on

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

typedef enum ff_payload_kind { FF_PAYLOAD_INPUT = 0, FF_PAYLOAD_RESULT = 1 } ff_payload_kind;

typedef enum ff_hop_kind { FF_HOP_COMPLETION = 0, FF_HOP_REOPEN = 1 } ff_hop_kind;

/* execution.flags. */
#define FF_EXEC_NO_NEW_ATTEMPT  1 /* its flow was cancelled: what would retry ends cancelled */
#define FF_EXEC_INPUT_ELSEWHERE 2 /* the input is the newest INPUT row of ff_payload */
#define FF_EXEC_TAGGED          4 /* there are rows in ff_tag; claims look for them only then */
#define FF_EXEC_INPUT_SHIFT     8 /* bits 8..13: such an input has at most 2^n bytes */
#define FF_EXEC_INPUT_MASK      63

/* "unknown" for a code this binary does not know. */
const char *ff_end_name(int32_t end);
const char *ff_attempt_type_name(int32_t type);

/* The flags with the note that the input of `bytes` is in ff_payload. */
int32_t ff_flags_with_input(int32_t flags, size_t bytes);
/* An upper bound of the bytes of an input in ff_payload, less than twice its size; 0: it is inline.
 */
int64_t ff_flags_input_bytes(int32_t flags);

#endif
