/* SPDX-License-Identifier: Apache-2.0
 *
 * store_ring.h -- what the tests of this ring share: checks, batches, a disturber and a proxy.
 *
 * For tests/store only. */
#ifndef FF_TESTS_STORE_RING_H
#define FF_TESTS_STORE_RING_H

#include "base/arena.h"
#include "model/rowset.h"
#include "store/store.h"

#include <libpq-fe.h>
#include <stdbool.h>

#define CALL_MS 60000

int64_t now_ms(void); /* monotonic */

struct test {
    const char *name;
    void (*run)(void);
};

/* Ends the test at the first thing that is not so. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_failed(__FILE__, __LINE__, #condition);                                          \
            return;                                                                                \
        }                                                                                          \
    } while (0)
void check_failed(const char *file, int line, const char *condition);

extern const struct test rows_tests[], form_tests[], commit_tests[], proof_tests[], schema_tests[],
    link_tests[];

/* --- stores and sessions; each test has a schema of its own --- */

const char *test_schema(void);
/* The private server's URL with our schema and `more` ("&pooler=transaction"). */
const char *test_url(const char *more);
struct ff_store *store_open(const char *more);
struct ff_session *session_open(struct ff_store *store);

/* --- one batch --- */

struct batch {
    struct ff_arena arena;
    struct ff_rowset rows;
    struct ff_call call;
};
void batch_init(struct batch *batch);
void batch_done(struct batch *batch);
ff_called batch_call(struct batch *batch, struct ff_session *session, ff_call_kind kind);
struct ff_entry *want_meta(struct batch *batch, const char *name, ff_want want);
/* Load, write these (name, value) pairs into ff_meta, save. */
ff_called put_meta(struct ff_session *session, const char *name, const char *value);
/* An execution that both schemas accept. */
struct ff_execution *new_execution(struct batch *batch, uint32_t nth);
/* The value of ff_meta `name`, read by the disturber; "" when there is none. */
const char *stored_meta(const char *name);

/* --- somebody else on the same server --- */

PGconn *disturber(void);
/* First cell of the answer as a number, or -1. */
long disturb(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Asks until the answer is 1; false: it was not within CALL_MS. */
bool comes_true(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Changes a setting of the server and waits for it to hold. */
bool set_server(const char *setting, const char *value);
int session_pid(void); /* of ours, in a transaction, the youngest */

/* --- a proxy between session and server --- */

typedef enum proxy_mode {
    PROXY_PASS,
    PROXY_DEAF,  /* the server hears and answers; the answer is dropped and the link cut */
    PROXY_CUT,   /* what comes next from the client is dropped and the link cut */
    PROXY_ABORT, /* COMMIT is answered as in an aborted transaction: ROLLBACK, with success */
} proxy_mode;
/* In front of the private server; returns the host to connect to, NULL if it cannot. */
const char *proxy_start(void);
void proxy_set(proxy_mode mode);
void proxy_stop(void);

#endif
