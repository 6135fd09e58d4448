/* SPDX-License-Identifier: Apache-2.0
 *
 * match.c -- which events a follower wants.
 *
 * Tests: tests/unit/test_match.c. */
#include "model/match.h"

#include "base/str.h"

#include "base/banned.h"

static bool text_fits(struct ff_str want, struct ff_str have)
{
    return ff_str_is_null(want) || (!ff_str_is_null(have) && ff_str_eq(want, have));
}

static bool uuid_fits(struct ff_uuid want, struct ff_uuid have)
{
    return ff_uuid_is_zero(want) || ff_uuid_eq(want, have);
}

bool ff_event_matches(const struct ff_event_match *match, const struct ff_event *event)
{
    if (match->kinds && !(match->kinds & (UINT32_C(1) << event->kind)))
        return false;
    /* A missing partition is negative, below every range. */
    if (match->partition_from >= 0 && event->partition_key < match->partition_from)
        return false;
    if (match->partition_to >= 0 &&
        (event->partition_key < 0 || event->partition_key > match->partition_to))
        return false;
    return text_fits(match->namespace, event->namespace) &&
           text_fits(match->instance_tag, event->instance_tag) &&
           uuid_fits(match->execution_id, event->execution_id) &&
           uuid_fits(match->flow_id, event->flow_id);
}
