/* SPDX-License-Identifier: Apache-2.0
 *
 * match.h -- which events a follower wants.
 *
 * Pure. An event that lacks what is asked for never matches: NULL is no value.
 * Tests: tests/unit/test_match.c. */
#ifndef FF_MODEL_MATCH_H
#define FF_MODEL_MATCH_H

#include "model/rows.h"

#include <stdbool.h>

/* Zeroed but for the partitions, it wants everything. Texts are borrowed. */
struct ff_event_match {
    uint32_t kinds; /* bit per FF_EVENT_*; 0: all */
    struct ff_str namespace, instance_tag;
    int32_t partition_from, partition_to; /* both ends count; -1: any */
    struct ff_uuid execution_id, flow_id;
};

bool ff_event_matches(const struct ff_event_match *match, const struct ff_event *event);

#endif
