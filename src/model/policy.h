/* SPDX-License-Identifier: Apache-2.0
 *
 * policy.h -- what happens to an execution when an attempt fails, lapses or takes too long.
 *
 * The stored form is packed and versioned; absent means the default policy, so most rows carry no
 * policy bytes. JSON is read and written by src/api; the limits are checked here.
 * Tests: tests/unit/test_policy.c. */
#ifndef FF_MODEL_POLICY_H
#define FF_MODEL_POLICY_H

#include "base/arena.h"
#include "base/str.h"

#include <flowfabric.h>

/* The default policy, as bare numbers: they are part of texts, too. */
#define FF_POLICY_MAX_RETRIES       3
#define FF_POLICY_DELAY_MS          1000
#define FF_POLICY_MAX_DELAY_MS      60000
#define FF_POLICY_MULTIPLIER        2.0
#define FF_POLICY_MAX_RECLAIM_COUNT 100
#define FF_POLICY_MAX_REPLAY_COUNT  10
#define FF_POLICY_DEDUP_WINDOW_MS   86400000

typedef enum ff_backoff_type { FF_BACKOFF_FIXED, FF_BACKOFF_EXPONENTIAL } ff_backoff_type;
typedef enum ff_lapse { FF_LAPSE_RETRY, FF_LAPSE_RECLAIM } ff_lapse;

struct ff_policy {
    int32_t max_retries;
    ff_backoff_type backoff;
    int64_t delay_ms;           /* fixed: the delay; exponential: the first one */
    int64_t max_delay_ms;       /* exponential only */
    double multiplier;          /* exponential only, 1..1000 */
    bool jitter;                /* full jitter: uniform in [delay / 2, delay] */
    int64_t attempt_timeout_ms; /* 0: none */
    ff_lapse lease_lapse;
    int32_t max_reclaim_count;
    int32_t max_replay_count;
    int64_t dedup_window_ms;
};

/* No retry_policy given: 3 retries, exponential 1 s ... 60 s with jitter. */
void ff_policy_default(struct ff_policy *policy);
/* Names the offending field in reterr->field, e.g. "policy.retry_policy.backoff.multiplier". */
FF_MUST_CHECK ff_status ff_policy_check(const struct ff_policy *policy, struct ff_error *reterr);
/* Absent when equal to the default. */
struct ff_str ff_policy_pack(const struct ff_policy *policy, struct ff_arena *arena);
/* Unreadable bytes are our own bug or a newer binary's: FF_INTERNAL. */
FF_MUST_CHECK ff_status ff_policy_unpack(struct ff_str packed, struct ff_policy *ret,
                                         struct ff_error *reterr);
/* For rules: an unreadable policy counts as the default. It is a newer binary's, and must neither
 * stop a lane nor keep an execution alive for ever; fsck tells of it (unreadable_policy). */
void ff_policy_read(struct ff_str packed, struct ff_policy *ret);
/* Delay before retry number retry_count + 1. `random` decides the jitter. Never negative, never
 * above FF_DURATION_MS_MAX, whatever the numbers. */
int64_t ff_policy_backoff(const struct ff_policy *policy, int32_t retry_count, uint32_t random);

#endif
