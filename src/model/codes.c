/* SPDX-License-Identifier: Apache-2.0
 *
 * codes.c -- names of the small numbers that rows store.
 *
 * Tests: tests/unit/test_codes.c. */
#include "model/codes.h"

#include "base/banned.h"

const char *ff_end_name(int32_t end)
{
    switch (end) {
#define FF_END_CASE(name, code, text)                                                              \
    case (code):                                                                                   \
        return text;
        FF_END_MAP(FF_END_CASE)
#undef FF_END_CASE
    default:
        return "unknown";
    }
}

const char *ff_attempt_type_name(int32_t type)
{
    switch (type) {
#define FF_ATTEMPT_CASE(name, code, text)                                                          \
    case (code):                                                                                   \
        return text;
        FF_ATTEMPT_MAP(FF_ATTEMPT_CASE)
#undef FF_ATTEMPT_CASE
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
