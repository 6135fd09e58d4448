/* SPDX-License-Identifier: Apache-2.0
 *
 * test_steps.c -- which event of an execution may follow which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/events.h"
#include "model/states.h"
#include "model/steps.h"

#include "base/banned.h"

#define COMPLETION(TYPE) FF_EVENT_COMPLETION, FF_EVENT_COMPLETION_##TYPE
#define LEASE(TYPE)      FF_EVENT_LEASE, FF_EVENT_LEASE_##TYPE
#define EXECUTION(TYPE)  FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_##TYPE
#define OPERATOR(TYPE)   FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_##TYPE
#define NO_EVENT         0, 0
#define S(NAME)          FF_STATE_##NAME

static void assert_steps(const struct ff_step *steps, size_t count, bool want)
{
    for (size_t i = 0; i < count; i++)
        if (ff_step_ok(&steps[i]) != want)
            fail_msg("step %zu is %s", i, want ? "refused" : "let pass");
}

static void test_steps__lives_that_are_lived(void **state)
{
    static const struct ff_step steps[] = {
        {LEASE(ACQUIRED), S(NONE), S(ACTIVE), 2, 0},
        {LEASE(ACQUIRED), S(NONE), S(ACTIVE), 3, 0}, /* its delay was over first */
        {COMPLETION(CANCELLED), S(NONE), S(CANCELLED), 2, 0},
        {EXECUTION(UNBLOCKED), S(NONE), S(READY_FIRST), 2, 0},
        {EXECUTION(REOPENED), S(READY_FIRST), S(BLOCKED_FIRST), 1, 0}, /* its upstream runs again */
        {LEASE(RENEWED), S(ACTIVE), S(ACTIVE), 0, 0},
        {LEASE(EXPIRED), S(ACTIVE), S(RECLAIMABLE), 1, 0},
        {LEASE(RENEWED), S(RECLAIMABLE), S(ACTIVE), 1, 0},
        {LEASE(RECLAIMED), S(RECLAIMABLE), S(ACTIVE), 1, 0},
        {EXECUTION(RETRY_SCHEDULED), S(ACTIVE), S(DELAYED_RETRY), 1, 0},
        {LEASE(ACQUIRED), S(DELAYED_RETRY), S(ACTIVE), 2, 0},
        {OPERATOR(CANCEL_REQUESTED), S(ACTIVE), S(ACTIVE), 0, 0},
        {LEASE(REVOKED), S(ACTIVE), S(CANCELLED), 1, 0},
        {COMPLETION(CANCELLED), S(CANCELLED), S(CANCELLED), 0, 0},
        {OPERATOR(REPLAYED), S(CANCELLED), S(READY_REPLAY), 1, 1},
        {OPERATOR(PRIORITY_CHANGED), S(DELAYED_RETRY), S(READY_RETRY), 2, 0},
        {OPERATOR(TAGS_CHANGED), S(SUCCESS), S(SUCCESS), 1, 0},
        {COMPLETION(SUCCESS), S(ACTIVE), S(SUCCESS), 4, 0}, /* edges were added meanwhile */
        {NO_EVENT, S(NONE), S(READY_FIRST), 1, 0},
        {NO_EVENT, S(NONE), S(READY_FIRST), 2, 0},
        {NO_EVENT, S(DELAYED_RETRY), S(READY_RETRY), 1, 0},
        {NO_EVENT, S(SUCCESS), S(SUCCESS), 0, 0},
    };

    (void)state;
    assert_steps(steps, FF_ARRAY_LEN(steps), true);
}

static void test_steps__nothing_else_is_silent(void **state)
{
    static const struct ff_step steps[] = {
        {LEASE(ACQUIRED), S(NONE), S(ACTIVE), 1, 0},          /* never born */
        {LEASE(ACQUIRED), S(ACTIVE), S(ACTIVE), 2, 0},        /* who gave it up? */
        {LEASE(ACQUIRED), S(DELAYED_RETRY), S(ACTIVE), 1, 0}, /* its delay was not over */
        {LEASE(ACQUIRED), S(BLOCKED_FIRST), S(ACTIVE), 2, 0},
        {COMPLETION(SUCCESS), S(NONE), S(SUCCESS), 3, 0}, /* nobody claimed it */
        {COMPLETION(SUCCESS), S(ACTIVE), S(SUCCESS), 0, 0},
        {COMPLETION(SUCCESS), S(ACTIVE), S(FAILED), 1, 0},
        {COMPLETION(FAILED), S(READY_FIRST), S(FAILED), 2, 0},
        {OPERATOR(REPLAYED), S(FAILED), S(READY_REPLAY), 1, 0},
        {OPERATOR(REPLAYED), S(FAILED), S(READY_REPLAY), 1, 2},
        {LEASE(ACQUIRED), S(FAILED), S(ACTIVE), 2, 1}, /* a replay untold */
        {LEASE(RENEWED), S(READY_FIRST), S(ACTIVE), 0, 0},
        {LEASE(ACQUIRED), S(READY_FIRST), 77, 1, 0},
        {LEASE(ACQUIRED), 77, S(ACTIVE), 1, 0},
        {FF_EVENT_LEASE, 99, S(ACTIVE), S(ACTIVE), 0, 0},
        {NO_EVENT, S(NONE), S(ACTIVE), 2, 0},
        {NO_EVENT, S(ACTIVE), S(SUCCESS), 1, 0},
        {NO_EVENT, S(ACTIVE), S(READY_RETRY), 1, 0},
        {NO_EVENT, S(DELAYED_RETRY), S(READY_RETRY), 0, 0},
        {NO_EVENT, S(BLOCKED_FIRST), S(READY_FIRST), 1, 0},
    };

    (void)state;
    assert_steps(steps, FF_ARRAY_LEN(steps), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps__lives_that_are_lived),
        cmocka_unit_test(test_steps__nothing_else_is_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
