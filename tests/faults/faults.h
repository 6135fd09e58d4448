/* SPDX-License-Identifier: Apache-2.0
 *
 * faults.h -- what the tests of this ring share: the list of cases, dumps, logs, small tools.
 *
 * For tests/faults only. A case has a store of its own and `t` from tests/support; t->client is
 * NULL until the case opens one. After a case ff_fsck must find nothing. */
#ifndef FF_TESTS_FAULTS_H
#define FF_TESTS_FAULTS_H

#include "api/api-int.h"
#include "support/cases.h"
#include "support/domain.h"
#include "support/others.h"

extern const struct plain_case sweep_cases[], alloc_cases[], lock_cases[], cut_cases[],
    outage_cases[], http_cases[], sqlite_cases[], kill_cases[], storm_cases[], poison_cases[],
    audit_cases[];

struct ff_fault;
/* Opens t->client over a store that fails as it is told; `options` but for the store. Returns the
 * store. */
struct ff_store *open_under_faults(struct test *t, const struct ff_fault *fault,
                                   struct ff_engine_options options, int64_t timeout_ms);

/* ---- looking ---- */

/* Everything the API shows about a namespace, its lane of the same name and its workers, without
 * times and random ids: equal texts mean equal states. Kept to the end of the test. */
const char *dump_of(struct test *t, const char *ns);
struct ff_engine_stats stats_of(const struct ff_client *client);
/* Completion events of an execution, over all generations. */
size_t completions_of(struct test *t, const char *id);

/* ---- the log of the engine ---- */

void log_catch(void);
/* How often a line with this text has been logged since log_catch(). */
size_t log_lines(const char *text);

/* ---- processes ---- */

/* The places of base/failpoints.def. */
void failpoints_print(void);
/* What such a child does; the exit status. */
int child_main(const char *role, const char *url, int fd);

#endif
