/* SPDX-License-Identifier: Apache-2.0
 *
 * others.h -- who else is there: sessions on the same Postgres, the server itself, processes.
 *
 * Programs whose cases run one after the other only. */
#ifndef FF_TESTS_SUPPORT_OTHERS_H
#define FF_TESTS_SUPPORT_OTHERS_H

#include "support/test.h"

#include <libpq-fe.h>

/* ---- somebody else on the same Postgres ---- */

struct other {
    PGconn *conn;
    const char *schema;
};
void other_open(struct test *t, struct other *other);
void others_done(void); /* after each case: what they hold is let go */
/* Runs one statement; `@` stands for the schema of the test. The first cell as a number, 0 if there
 * is none. */
long other_says(struct test *t, struct other *other, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A statement that waits for a lock is sent and not awaited. */
void other_sends(struct test *t, struct other *other, const char *sql);
/* "partition_key = N AND execution_id = '...'" of an id {fp:N}:<uuid>. */
const char *where_is(const char *id, char out[128]);

/* Stops the server as a crash would, and starts it again. */
void server_stop(struct test *t);
void server_start(struct test *t);

/* ---- processes ---- */

/* This program once more, as `--child ROLE URL FD`; whatever it writes to FD can be read from
 * *ret_fd. Returns its process id. */
int child_start(struct test *t, const char *role, const char *url, int *ret_fd);
/* Kills it if it still lives, and waits for its end. False: it has ended in another way before. */
bool child_kill(int pid);

#endif
