/* SPDX-License-Identifier: Apache-2.0
 *
 * cases.h -- a ring whose cases name their store themselves and run one after the other.
 *
 * A case has a store of its own; t->client is NULL until it opens one. After a case ff_fsck must
 * find nothing. A case that hangs ends the program with a FAILED line.
 * Read first: tests/support/README.md. */
#ifndef FF_TESTS_SUPPORT_CASES_H
#define FF_TESTS_SUPPORT_CASES_H

#include "support/test.h"

struct plain_case {
    const char *name; /* group/what_must_hold */
    test_store_kind kind;
    void (*run)(struct test *t);
    bool full; /* only with FF_TEST_FULL=1 */
};

struct plain_ring {
    const char *name;
    const struct plain_case *const *tables; /* each ends with a case without a name */
    size_t table_count;
    void (*before)(void);            /* each case; NULL: nothing */
    void (*after)(struct test *t);   /* what clients may still need: before they are closed */
    void (*at_last)(struct test *t); /* t->why says whether it failed */
};

/* The sizes of `make test-full`. */
bool is_full_run(void);

/* Runs the cases whose name contains one of `wanted`, or all; the exit status. */
int run_cases(const struct plain_ring *ring, const char *const *wanted, size_t wanted_count);

#endif
