/* SPDX-License-Identifier: Apache-2.0
 *
 * world_fixture.h -- a world per test for unit tests of ops: `w`, made by setup, freed by teardown.
 *
 * Included once by a test program, after cmocka. */
#ifndef FF_TESTS_WORLD_FIXTURE_H
#define FF_TESTS_WORLD_FIXTURE_H

#include "support/words.h"

static struct world w;

static int setup(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_done(&w);
    return 0;
}

#endif
