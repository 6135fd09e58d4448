/* SPDX-License-Identifier: Apache-2.0
 *
 * request.h -- one request from its first line to its answer.
 *
 * The thread of libmicrohttpd reads it; then its connection is suspended and a handler runs on a
 * thread of a pool. A handler either answers and returns true, or has started something that will
 * call ff_request_go_on, and returns false. No thread waits for a request.
 * Read first: src/http/README.md. Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_REQUEST_H
#define FF_HTTP_REQUEST_H

#include "api/fields.h"
#include "api/json.h"
#include "base/arena.h"
#include "base/list.h"
#include "http/auth.h"
#include "http/pool.h"
#include "http/routes.h"

#include <flowfabric.h>
#include <jansson.h>
#include <microhttpd.h>
#include <stdatomic.h>

struct ff_server;
struct ff_link;
struct ff_bulk_type;
struct ff_async;
struct ff_end_wait;

/* Runs on a thread of a pool. True: the answer is there. */
typedef bool ff_handler(struct ff_request *request);

/* Ends a wait early, because the client has gone or the server stops. Runs on the watcher's thread.
 * True: it is over, and nobody else will call ff_request_go_on; `request->next` goes on. */
typedef bool ff_hurry(struct ff_request *request);

typedef enum ff_request_stage {
    FF_REQUEST_HEAD,  /* headers are coming */
    FF_REQUEST_BODY,  /* body is coming, or being dropped */
    FF_REQUEST_WORK,  /* connection is suspended, a handler is at it */
    FF_REQUEST_READY, /* the answer is there */
} ff_request_stage;

#define FF_ROUTE_PARAMS_MAX 2

struct ff_request {
    struct ff_step step; /* of a pool; first */
    struct ff_list_node link;
    struct ff_server *server;
    struct ff_link *conn; /* what we know about its connection */
    struct MHD_Connection *connection;
    struct ff_arena arena;
    ff_request_stage stage;
    /* what was asked */
    const char *uri; /* as it came */
    char method[8];
    const struct ff_route *route; /* NULL: none fits */
    const char *params[FF_ROUTE_PARAMS_MAX];
    const struct ff_token *token; /* NULL: everybody may do everything */
    json_t *query;
    struct ff_str raw; /* the body */
    size_t raw_cap, raw_max, dropped;
    int64_t body_since_mono_ms;
    bool closes;  /* its connection ends with the answer */
    json_t *body; /* NULL: none */
    char id[FF_REQUEST_ID_BYTES];
    char trace_id[33]; /* empty: none */
    int64_t started_us;
    /* what is under way */
    bool looks; /* what comes next may ask the store, whatever the route says */
    ff_handler *next;
    struct ff_async *async;
    void *state;                              /* the handler's own, in the arena or with `drop` */
    void (*drop)(struct ff_request *request); /* frees what the arena does not; may be NULL */
    /* Called when the answer was not received, before drop; may be NULL. */
    void (*undelivered)(struct ff_request *request);
    /* Waiting, under the server's lock. */
    bool waiting;     /* ff_request_go_on makes `next` run */
    bool held;        /* not before ff_request_unhold */
    bool kicked;      /* ff_request_go_on was called meanwhile */
    ff_hurry *hurry;  /* NULL: it will not take long */
    uint64_t hurried; /* the watcher's round in which it was hurried last */
    int64_t until_mono_ms;
    struct ff_end_wait *wait;
    _Atomic bool streaming; /* `state` is a stream */
    _Atomic bool gone;      /* its client has closed the connection */
    /* the answer */
    int status;
    struct MHD_Response *response;
    struct ff_str text; /* its bytes, if it is not a stream */
    bool quiet;         /* not worth a line in the log */
};

/* --- handlers use these ---------------------------------------------------------------------- */

/* A wait begins, for ff_request_go_on or `until_mono_ms` (INT64_MAX: without end). `hurry` may be
 * called from now on; NULL: it will not take long. False: ff_request_go_on has been called since
 * the last wait, so there is none. */
bool ff_request_wait(struct ff_request *request, ff_hurry *hurry, int64_t until_mono_ms);
/* Something has happened: run `next` (NULL: request->next) on a pool. From any thread. */
void ff_request_go_on(struct ff_request *request, ff_handler *next);
/* In between a wait does not end, so that whoever may end it can still be named. is_over: it ends
 * now. */
void ff_request_hold(struct ff_request *request);
void ff_request_unhold(struct ff_request *request, bool is_over);

/* Jobs; ff_async_go(request->async) starts them, and `next` goes on when all of them have answered.
 * False: an answer (an error) is there already, return true. */
bool ff_request_prepare(struct ff_request *request, const struct ff_bulk_type *type,
                        const void *items, size_t count, ff_handler *next);

/* The body as a struct of this shape. False: the error is the answer. */
bool ff_request_body(struct ff_request *request, const struct ff_shape *shape, void *out);
bool ff_request_query(struct ff_request *request, const struct ff_shape *shape, void *out);

/* The namespace to use when `asked` (NULL: not said) was asked for: the token's first one is the
 * default. False: the token does not go that far, and 404 is the answer. */
bool ff_request_namespace(struct ff_request *request, const char *asked, const char **ret);

/* --- answering -------------------------------------------------------------------------------- */

/* What an answer of JSON looks like: one line. NULL means there was no memory. */
FF_MUST_CHECK ff_status ff_answer_text(const json_t *json, struct ff_arena *arena,
                                       struct ff_str *ret, struct ff_error *reterr);
/* Takes the reference; NULL means there was no memory. All return true, for `return`. */
bool ff_answer_json(struct ff_request *request, int status, json_t *json);
bool ff_answer_error(struct ff_request *request, ff_status status, const struct ff_error *error);
/* An error in our own words. */
bool ff_answer_fail(struct ff_request *request, ff_status status, const char *field,
                    const char *fmt, ...) FF_PRINTF(4, 5);
/* Bytes that live as long as the request. */
bool ff_answer_bytes(struct ff_request *request, int status, const char *content_type,
                     struct ff_str bytes);
bool ff_answer_response(struct ff_request *request, int status, struct MHD_Response *response);
/* Once there is a response. */
void ff_answer_header(struct ff_request *request, const char *name, const char *value);

/* --- the server uses these -------------------------------------------------------------------- */

struct ff_request *ff_request_new(struct ff_server *server, struct ff_link *conn,
                                  struct MHD_Connection *connection, const char *uri);
void ff_request_free(struct ff_request *request);
enum MHD_Result ff_request_data(struct ff_request *request, const char *method, const char *data,
                                size_t *data_bytes);
/* How long a client may take for a body of which so much has come, and still is not all. */
int64_t ff_request_body_ms(size_t received);
/* The request has been answered, or its connection has broken. */
void ff_request_over(struct ff_request *request, bool delivered);

#endif
