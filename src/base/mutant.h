/* SPDX-License-Identifier: Apache-2.0
 *
 * mutant.h -- deliberate defects, in the one build whose tests must find them.
 *
 * `FF_MUTANT(name)` is false everywhere else and leaves nothing behind in the code. With FF_MUTANTS
 * it asks whether the environment variable FF_MUTANT says this name. Each name is a line of
 * tests/mutants/list, which says who must find it; `make mutants` runs them all. */
#ifndef FF_BASE_MUTANT_H
#define FF_BASE_MUTANT_H

#include <stdbool.h>

#ifdef FF_MUTANTS
#include <stdlib.h>
#include <string.h>

static inline bool ff_mutant_is(const char *name)
{
    const char *const chosen = getenv("FF_MUTANT");

    return chosen && strcmp(chosen, name) == 0;
}
#define FF_MUTANT(name) ff_mutant_is(#name)
#else
#define FF_MUTANT(name) false
#endif

#endif
