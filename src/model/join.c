/* SPDX-License-Identifier: Apache-2.0
 *
 * join.c -- when a node may run: how its incoming edges count, and what they decide.
 *
 * Tests: tests/unit/test_join.c, which walks all counts up to 8 edges. */
#include "model/join.h"

#include <assert.h>

#include "model/states.h"

#include "base/banned.h"

ff_edge_outcome ff_edge_outcome_of(int32_t state)
{
    assert(ff_state_is_terminal(state));
    if (state == FF_STATE_SUCCESS)
        return FF_EDGE_SUCCESS;
    return state == FF_STATE_SKIPPED ? FF_EDGE_SKIP : FF_EDGE_FAIL;
}

static ff_group_state evaluate_all(int32_t success, int32_t others, int32_t total)
{
    if (success == total && total > 0)
        return FF_GROUP_SATISFIED;
    return others > 0 ? FF_GROUP_IMPOSSIBLE : FF_GROUP_PENDING;
}

static ff_group_state evaluate_any(int32_t success, int32_t others, int32_t total)
{
    if (success >= 1)
        return FF_GROUP_SATISFIED;
    return others >= total && total > 0 ? FF_GROUP_IMPOSSIBLE : FF_GROUP_PENDING;
}

static ff_group_state evaluate_quorum(int32_t k, int32_t success, int32_t others, int32_t total)
{
    if (success >= k)
        return FF_GROUP_SATISFIED;
    return total - others < k ? FF_GROUP_IMPOSSIBLE : FF_GROUP_PENDING;
}

ff_group_state ff_join_evaluate(int32_t policy, int32_t k, int32_t success, int32_t fail,
                                int32_t skip, int32_t total)
{
    switch (policy) {
    case FF_JOIN_ALL_OF:
        return evaluate_all(success, fail + skip, total);
    case FF_JOIN_ANY_OF:
        return evaluate_any(success, fail + skip, total);
    case FF_JOIN_QUORUM:
        return evaluate_quorum(k, success, fail + skip, total);
    default: /* a newer binary's: wait for it */
        return FF_GROUP_PENDING;
    }
}

ff_group_state ff_group_evaluate(const struct ff_edge_group *group)
{
    return ff_join_evaluate(group->policy, group->k, group->success, group->fail, group->skip,
                            group->total);
}

void ff_group_count(struct ff_edge_group *group, ff_edge_outcome outcome, int32_t by)
{
    assert(outcome != FF_EDGE_UNRESOLVED);
    if (outcome == FF_EDGE_SUCCESS)
        group->success += by;
    else if (outcome == FF_EDGE_FAIL)
        group->fail += by;
    else
        group->skip += by;
    group->version++;
}

int32_t ff_group_open_edges(const struct ff_edge_group *group)
{
    return group->total - group->success - group->fail - group->skip;
}

bool ff_group_cancels_rest(const struct ff_edge_group *group)
{
    return group->group_state != FF_GROUP_PENDING && group->policy != FF_JOIN_ALL_OF &&
           group->on_satisfied == FF_ON_SATISFIED_CANCEL_REMAINING;
}
