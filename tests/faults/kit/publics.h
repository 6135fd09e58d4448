/* SPDX-License-Identifier: Apache-2.0
 *
 * publics.h -- under which public calls the heap has refused something.
 *
 * The list of what there is comes from packaging/libflowfabric.symbols, which the linter keeps
 * equal to the library: a new call is missing here until a test makes one of its requests fail. */
#ifndef FF_TESTS_FAULTS_PUBLICS_H
#define FF_TESTS_FAULTS_PUBLICS_H

#include "faults.h"

#define PUBLICS_LOCAL     1u /* calls into the engine */
#define PUBLICS_SERVED    2u /* calls through a server */
#define PUBLICS_BY_CHANCE 4u /* it may have been refused something all the same */

struct public_exception {
    const char *name; /* of a function, or its beginning, with a `*` */
    const char *why;
    unsigned where;
};

/* Reads the list and forgets what has been seen. */
void publics_begin(struct test *t);
/* Somebody asks and is refused: whose call is it? From any thread. */
void publics_note(void);
/* Every public call has been refused something, but for the exceptions of this place, which have
 * not. */
void publics_expect(struct test *t, const struct public_exception *exceptions, size_t count,
                    unsigned where);

#endif
