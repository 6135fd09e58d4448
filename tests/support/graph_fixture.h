/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_fixture.h -- a world per test for unit tests of flows: `w`, audited when the test is over.
 *
 * Included once by a test program, after cmocka. */
#ifndef FF_TESTS_GRAPH_FIXTURE_H
#define FF_TESTS_GRAPH_FIXTURE_H

#include "support/graphs.h"

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
    world_audit(&w);
    world_done(&w);
    return 0;
}

static void expect_flow(struct ff_uuid flow, const char *state, const char *members)
{
    assert_string_equal(ff_flow_state_name(world_flow(&w, flow)->state), state);
    assert_string_equal(world_states(&w, flow), members);
}

#endif
