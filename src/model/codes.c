/* SPDX-License-Identifier: Apache-2.0
 *
 * codes.c -- names of the small numbers that rows store.
 *
 * Tests: tests/unit/test_codes.c. */
#include "model/codes.h"

#include "base/banned.h"

#define NAME_CASE(name, code, text)                                                                \
    case (code):                                                                                   \
        return text;

const char *ff_end_name(int32_t end)
{
    switch (end) {
        FF_END_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_attempt_type_name(int32_t type)
{
    switch (type) {
        FF_ATTEMPT_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_flow_state_name(int32_t state)
{
    switch (state) {
        FF_FLOW_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_flow_cancel_name(int32_t policy)
{
    switch (policy) {
        FF_FLOW_CANCEL_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_edge_outcome_name(int32_t outcome)
{
    switch (outcome) {
        FF_EDGE_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_pass_name(int32_t pass)
{
    switch (pass) {
        FF_PASS_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_join_policy_name(int32_t policy)
{
    switch (policy) {
        FF_JOIN_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_on_satisfied_name(int32_t on_satisfied)
{
    switch (on_satisfied) {
        FF_ON_SATISFIED_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

const char *ff_group_state_name(int32_t state)
{
    switch (state) {
        FF_GROUP_MAP(NAME_CASE)
    default:
        return "unknown";
    }
}

int32_t ff_flags_with_input(int32_t flags, size_t bytes)
{
    int32_t bits = 0;

    while (bits < FF_EXEC_INPUT_MASK - 1 && ((uint64_t)1 << bits) < bytes)
        bits++;
    flags &= ~(FF_EXEC_INPUT_MASK << FF_EXEC_INPUT_SHIFT);
    return flags | FF_EXEC_INPUT_ELSEWHERE | bits << FF_EXEC_INPUT_SHIFT;
}

int64_t ff_flags_input_bytes(int32_t flags)
{
    if (!(flags & FF_EXEC_INPUT_ELSEWHERE))
        return 0;
    return (int64_t)1 << (flags >> FF_EXEC_INPUT_SHIFT & FF_EXEC_INPUT_MASK);
}
