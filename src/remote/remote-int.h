/* SPDX-License-Identifier: Apache-2.0
 *
 * remote-int.h -- what the files of src/remote share: a server, a request, its answer.
 *
 * Only src/remote includes it. Read first: src/remote/README.md. Tests: tests/conformance --store
 * http. */
#ifndef FF_REMOTE_REMOTE_INT_H
#define FF_REMOTE_REMOTE_INT_H

#include "api/answers.h"
#include "api/client.h"
#include "api/fields.h"
#include "api/json.h"
#include "base/arena.h"
#include "base/macros.h"
#include "remote/write.h"

#include <flowfabric.h>
#include <jansson.h>

/* ---- transport.c: bytes there and back ---- */

struct ff_remote;

struct ff_trip {
    const char *path;   /* with its query */
    struct ff_str body; /* ptr NULL: GET */
    int64_t timeout_ms;
    bool repeatable;                 /* saying it again is harmless */
    const struct ff_client *waiter;  /* only waits for something: ends when this is closed */
    const _Atomic int64_t *until_ms; /* ends then whatever timeout_ms says; monotonic, 0: no end */
    long http;                       /* the answer */
    struct ff_str bytes;             /* in the arena, a NUL behind them */
    const char *content_type;
};

FF_MUST_CHECK ff_status ff_remote_new(const char *url, const char *token, struct ff_remote **ret,
                                      struct ff_error *reterr);
/* One more, or one less, who uses it. */
struct ff_remote *ff_remote_ref(struct ff_remote *remote);
void ff_remote_free(struct ff_remote *remote);
/* Trips that only wait end with FF_CLOSED, now and later. */
void ff_remote_close_all(struct ff_remote *remote);
bool ff_remote_is_closed(const struct ff_remote *remote);
/* All look whether their waiter is closed, or their time has come. */
void ff_remote_wake(struct ff_remote *remote);
/* FF_OK: the server has answered, whatever it says. FF_UNAVAILABLE, FF_TIMEOUT: it has not heard
 * us, or only been looked at. FF_OUTCOME_UNKNOWN: it may have done what was asked. */
FF_MUST_CHECK ff_status ff_remote_trip(struct ff_remote *remote, struct ff_trip *trip,
                                       struct ff_arena *arena, struct ff_error *reterr);

/* ---- ask.c: one call ---- */

/* A call under way: its memory becomes that of the answer. */
struct ff_ask {
    struct ff_client *client;
    struct ff_memory *memory;
    struct ff_strbuf path;
    bool has_query;
    struct ff_writing body; /* of a POST */
    int64_t wait_ms;        /* the server may take this much longer */
    bool repeatable;
    json_t *answer;
    bool posted; /* and answered: it has been done */
    long http;
};

/* `path` is a prefix such as "/v1/executions/"; ff_ask_path adds a part, percent-encoded. */
FF_MUST_CHECK ff_status ff_ask_init(struct ff_ask *ask, struct ff_client *client, const char *path,
                                    struct ff_error *reterr);
void ff_ask_done(struct ff_ask *ask);
/* FF_INVALID naming the field when it is NULL or empty. */
FF_MUST_CHECK ff_status ff_ask_path(struct ff_ask *ask, const char *part, const char *field,
                                    struct ff_error *reterr);
void ff_ask_rest(struct ff_ask *ask, const char *rest);
/* Absent values (NULL, FF_ABSENT_MS) are left out. */
void ff_ask_query(struct ff_ask *ask, const char *name, const char *value);
void ff_ask_query_i64(struct ff_ask *ask, const char *name, int64_t value);

/* Sends it as GET, or as POST with its body; the answer is JSON. A problem becomes its status. */
FF_MUST_CHECK ff_status ff_ask_get(struct ff_ask *ask, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_ask_post(struct ff_ask *ask, struct ff_error *reterr);
/* Bytes of any type instead of JSON. */
FF_MUST_CHECK ff_status ff_ask_bytes(struct ff_ask *ask, struct ff_bytes *ret,
                                     struct ff_error *reterr);
/* {"code": ..., "detail": ...} into an error; its status. */
ff_status ff_problem_read(const json_t *problem, long http, struct ff_error *reterr);
/* Reads the answer by its table (what is not in it is passed over) into `ret`, whose first member
 * is the memory. */
FF_MUST_CHECK ff_status ff_ask_take(struct ff_ask *ask, const struct ff_shape *shape, void *ret,
                                    struct ff_error *reterr);
/* The names of states are ours and live for ever, those in an answer do not. */
const char *ff_remote_state(const json_t *answer);

/* ---- the calls ---- */

size_t ff_remote_close(struct ff_client *client, int64_t grace_ms);
#define FF_CALL(name, parameters, arguments) __typeof__(ff_##name) ff_remote_##name;
#include "api/calls.def"
#undef FF_CALL

#endif
