/* SPDX-License-Identifier: Apache-2.0
 *
 * status.h -- version, strings, statuses and the error every call fills in. */
#ifndef FLOWFABRIC_STATUS_H
#define FLOWFABRIC_STATUS_H

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

#ifdef __cplusplus
}
#endif

#endif
