/* SPDX-License-Identifier: Apache-2.0
 *
 * faults.h -- what the tests of this ring share: the list of cases, dumps, logs, small tools.
 *
 * For tests/faults only. A case has a store of its own and `t` from tests/support; t->client is
 * NULL until the case opens one. After a case ff_fsck must find nothing. */
#ifndef FF_TESTS_FAULTS_H
#define FF_TESTS_FAULTS_H

#include "api/api-int.h"
#include "support/domain.h"

#include <libpq-fe.h>

struct fault_case {
    const char *name; /* group/what_must_hold */
    test_store_kind kind;
    void (*run)(struct test *t);
    bool full; /* only with FF_TEST_FULL=1 */
};

extern const struct fault_case sweep_cases[], alloc_cases[], lock_cases[], cut_cases[],
    outage_cases[], sqlite_cases[], kill_cases[], storm_cases[];

bool is_full_run(void);

/* ---- looking ---- */

/* Everything the API shows about a namespace, its lane of the same name and its workers, without
 * times and random ids: equal texts mean equal states. Kept to the end of the test. */
const char *dump_of(struct test *t, const char *ns);
void expect_sound(struct test *t, struct ff_client *client);
struct ff_engine_stats stats_of(const struct ff_client *client);
/* Completion events of an execution, over all generations. */
size_t completions_of(struct test *t, const char *id);

/* ---- the log of the engine ---- */

void log_catch(void);
/* How often a line with this text has been logged since log_catch(). */
size_t log_lines(const char *text);

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
/* Kills it if it still lives, and waits for its end. */
void child_kill(int pid);
/* What such a child does; the exit status. */
int child_main(const char *role, const char *url, int fd);

#endif
