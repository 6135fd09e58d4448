/* SPDX-License-Identifier: Apache-2.0
 *
 * load.h -- many threads that submit, claim and complete, and what must be true afterwards.
 *
 * For tests/faults only. Every call is said again until it has an answer that counts, as a careful
 * caller does: submissions have keys, claims have request ids. So whatever breaks meanwhile, in the
 * end everything was done exactly once. */
#ifndef FF_TESTS_FAULTS_LOAD_H
#define FF_TESTS_FAULTS_LOAD_H

#include "faults.h"

struct load;

/* Opens t->client on `url` and starts `threads` threads. */
struct load *load_start(struct test *t, const char *url, size_t threads, int64_t timeout_ms);
/* The same with a client that is there already. */
struct load *load_start_on(struct test *t, size_t threads, int64_t timeout_ms);
/* What has been completed so far. */
int64_t load_done(const struct load *load);
/* Stops the threads, finishes what is left, and checks: all that was accepted is there once, has
 * one attempt, one lease and one completion event; no call took much longer than it may; no answer
 * but those that a caller may get while a store is in trouble. Prints figures. */
void load_check(struct test *t, struct load *load, const char *what);
/* How often this was an answer. */
int64_t load_answers(const struct load *load, ff_status status);

#endif
