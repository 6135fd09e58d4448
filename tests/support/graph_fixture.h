/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_fixture.h -- a world per test for unit tests of flows: `w`, audited when the test is over.
 *
 * Included once by a test program, after cmocka. */
#ifndef FF_TESTS_GRAPH_FIXTURE_H
#define FF_TESTS_GRAPH_FIXTURE_H

#include "support/graphs.h"
#include "support/world_fixture.h"

static int audit_and_teardown(void **state)
{
    world_audit(&w);
    return teardown(state);
}

static void expect_flow(struct ff_uuid flow, const char *state, const char *members)
{
    assert_string_equal(ff_flow_state_name(world_flow(&w, flow)->state), state);
    assert_string_equal(world_states(&w, flow), members);
}

#endif
