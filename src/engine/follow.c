/* SPDX-License-Identifier: Apache-2.0
 *
 * follow.c -- followers of the log.
 *
 * Tests: tests/unit/test_tail.c. */
#include "engine/follow.h"

#include "base/error.h"

#include "base/banned.h"

const char *ff_notice_name(ff_notice notice)
{
    static const char *const names[] = {
        [FF_NOTICE_DISCONNECTED] = "disconnected",
        [FF_NOTICE_RESET] = "reset",
        [FF_NOTICE_GAP] = "gap",
    };

    return names[notice];
}

ff_status ff_follow_new(struct ff_engine *engine, const struct ff_follow_in *in,
                        struct ff_follow **ret, struct ff_error *reterr)
{
    (void)engine;
    (void)in;
    (void)ret;
    return ff_fail(reterr, FF_UNAVAILABLE, "the log cannot be followed yet");
}

ff_status ff_follow_take(struct ff_follow *follow, struct ff_arena *arena, size_t max,
                         struct ff_followed *ret, struct ff_error *reterr)
{
    (void)follow;
    (void)arena;
    (void)max;
    (void)ret;
    return ff_fail(reterr, FF_CLOSED, "the log cannot be followed yet");
}

void ff_follow_free(struct ff_follow *follow)
{
    (void)follow;
}

ff_status ff_end_wait_new(struct ff_engine *engine, const struct ff_end_wait_in *in,
                          struct ff_end_wait **ret, struct ff_error *reterr)
{
    (void)engine;
    (void)in;
    (void)ret;
    return ff_fail(reterr, FF_UNAVAILABLE, "the log cannot be followed yet");
}

void ff_end_wait_free(struct ff_end_wait *wait)
{
    (void)wait;
}
