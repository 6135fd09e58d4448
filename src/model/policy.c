/* SPDX-License-Identifier: Apache-2.0
 *
 * policy.c -- defaults, limits, stored form and back-off arithmetic of a policy.
 *
 * The stored form: a version byte, two bytes that say which fields follow (big-endian bit set, in
 * the order of pack_numbers), those fields as LEB128, at last the multiplier as the eight bytes of
 * a double if its bit is set. A field that is left out has the default of that *version*: whoever
 * changes a default raises the version, keeps the old defaults for old rows, and stops packing
 * "absent" for the new one. Tests: tests/unit/test_policy.c. */
#include "model/policy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/codec.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"

#include "base/banned.h"

#define PACK_VERSION   1
#define NUMBER_COUNT   10
#define MULTIPLIER_BIT NUMBER_COUNT
#define HEAD_BYTES     3
#define PACK_BYTES_MAX (HEAD_BYTES + NUMBER_COUNT * 10 + 8)
#define MULTIPLIER_MAX 1000.0

void ff_policy_default(struct ff_policy *policy)
{
    *policy = (struct ff_policy){
        .max_retries = FF_POLICY_MAX_RETRIES,
        .backoff = FF_BACKOFF_EXPONENTIAL,
        .delay_ms = FF_POLICY_DELAY_MS,
        .max_delay_ms = FF_POLICY_MAX_DELAY_MS,
        .multiplier = FF_POLICY_MULTIPLIER,
        .jitter = true,
        .attempt_timeout_ms = 0,
        .lease_lapse = FF_LAPSE_RETRY,
        .max_reclaim_count = FF_POLICY_MAX_RECLAIM_COUNT,
        .max_replay_count = FF_POLICY_MAX_REPLAY_COUNT,
        .dedup_window_ms = FF_POLICY_DEDUP_WINDOW_MS,
    };
}

static ff_status in_range(int64_t value, int64_t min, int64_t max, const char *field,
                          struct ff_error *reterr)
{
    if (value >= min && value <= max)
        return FF_OK;
    return ff_fail_field(reterr, FF_INVALID, field, "%s must be from %lld to %lld", field,
                         (long long)min, (long long)max);
}

#define BACKOFF "policy.retry_policy.backoff."

static ff_status check_backoff(const struct ff_policy *policy, struct ff_error *reterr)
{
    const bool fixed = policy->backoff == FF_BACKOFF_FIXED;

    if (!fixed && policy->backoff != FF_BACKOFF_EXPONENTIAL)
        return ff_fail_field(reterr, FF_INVALID, BACKOFF "type",
                             "back-off must be fixed or exponential");
    FF_TRY(in_range(policy->delay_ms, 0, FF_DURATION_MS_MAX,
                    fixed ? BACKOFF "delay_ms" : BACKOFF "initial_delay_ms", reterr));
    FF_TRY(in_range(policy->max_delay_ms, 0, FF_DURATION_MS_MAX, BACKOFF "max_delay_ms", reterr));
    if (!(policy->multiplier >= 1.0 && policy->multiplier <= MULTIPLIER_MAX)) /* refuses NaN too */
        return ff_fail_field(reterr, FF_INVALID, BACKOFF "multiplier",
                             "multiplier must be from 1 to 1000");
    return FF_OK;
}

ff_status ff_policy_check(const struct ff_policy *policy, struct ff_error *reterr)
{
    FF_TRY(in_range(policy->max_retries, 0, FF_RETRIES_MAX, "policy.retry_policy.max_retries",
                    reterr));
    FF_TRY(check_backoff(policy, reterr));
    FF_TRY(in_range(policy->attempt_timeout_ms, 0, FF_DURATION_MS_MAX, "policy.attempt_timeout_ms",
                    reterr));
    if (policy->lease_lapse != FF_LAPSE_RETRY && policy->lease_lapse != FF_LAPSE_RECLAIM)
        return ff_fail_field(reterr, FF_INVALID, "policy.lease_lapse",
                             "lease_lapse must be retry or reclaim");
    FF_TRY(
        in_range(policy->max_reclaim_count, 0, FF_RETRIES_MAX, "policy.max_reclaim_count", reterr));
    FF_TRY(
        in_range(policy->max_replay_count, 0, FF_RETRIES_MAX, "policy.max_replay_count", reterr));
    return in_range(policy->dedup_window_ms, 1, FF_DURATION_MS_MAX, "policy.dedup_window_ms",
                    reterr);
}

/* Everything but the multiplier, in the order of the stored form. */
static void pack_numbers(const struct ff_policy *policy, int64_t out[NUMBER_COUNT])
{
    out[0] = policy->max_retries;
    out[1] = policy->backoff;
    out[2] = policy->delay_ms;
    out[3] = policy->max_delay_ms;
    out[4] = policy->jitter;
    out[5] = policy->attempt_timeout_ms;
    out[6] = policy->lease_lapse;
    out[7] = policy->max_reclaim_count;
    out[8] = policy->max_replay_count;
    out[9] = policy->dedup_window_ms;
}

/* False if a number does not fit its field. */
static bool unpack_numbers(const int64_t in[NUMBER_COUNT], struct ff_policy *policy)
{
    if (in[0] > FF_RETRIES_MAX || in[1] > FF_BACKOFF_EXPONENTIAL || in[4] > 1 ||
        in[6] > FF_LAPSE_RECLAIM || in[7] > FF_RETRIES_MAX || in[8] > FF_RETRIES_MAX)
        return false;
    policy->max_retries = (int32_t)in[0];
    policy->backoff = (ff_backoff_type)in[1];
    policy->delay_ms = in[2];
    policy->max_delay_ms = in[3];
    policy->jitter = in[4] != 0;
    policy->attempt_timeout_ms = in[5];
    policy->lease_lapse = (ff_lapse)in[6];
    policy->max_reclaim_count = (int32_t)in[7];
    policy->max_replay_count = (int32_t)in[8];
    policy->dedup_window_ms = in[9];
    return true;
}

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

struct ff_str ff_policy_pack(const struct ff_policy *policy, struct ff_arena *arena)
{
    struct ff_policy standard;
    int64_t numbers[NUMBER_COUNT];
    int64_t defaults[NUMBER_COUNT];
    uint8_t out[PACK_BYTES_MAX];
    size_t len = HEAD_BYTES;
    uint16_t fields = 0;

    ff_policy_default(&standard);
    pack_numbers(policy, numbers);
    pack_numbers(&standard, defaults);
    for (unsigned i = 0; i < NUMBER_COUNT; i++) {
        uint64_t rest = (uint64_t)numbers[i];

        assert(numbers[i] >= 0);
        if (numbers[i] == defaults[i])
            continue;
        fields = (uint16_t)(fields | 1u << i);
        for (; rest >= 0x80; rest >>= 7)
            out[len++] = (uint8_t)(rest | 0x80);
        out[len++] = (uint8_t)rest;
    }
    if (bits_of(policy->multiplier) != bits_of(standard.multiplier)) {
        fields = (uint16_t)(fields | 1u << MULTIPLIER_BIT);
        ff_put_be64(out + len, bits_of(policy->multiplier));
        len += 8;
    }
    if (!fields)
        return ff_str_null();
    out[0] = PACK_VERSION;
    ff_put_be16(out + 1, fields);
    return ff_arena_str(arena, (struct ff_str){(const char *)out, len});
}

/* Reads one LEB128 number below 2^63 at *at; false if there is none. */
static bool unpack_number(struct ff_str packed, size_t *at, int64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 63 && *at < packed.len; shift += 7) {
        const uint8_t byte = (uint8_t)packed.ptr[(*at)++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = (int64_t)value;
            return true;
        }
    }
    return false;
}

static bool unpack(struct ff_str packed, struct ff_policy *policy)
{
    const uint8_t *const bytes = (const uint8_t *)packed.ptr;
    int64_t numbers[NUMBER_COUNT];
    size_t at = HEAD_BYTES;
    unsigned fields;

    if (packed.len < HEAD_BYTES || bytes[0] != PACK_VERSION)
        return false;
    fields = ff_get_be16(bytes + 1);
    if (fields >> (MULTIPLIER_BIT + 1))
        return false;
    pack_numbers(policy, numbers);
    for (unsigned i = 0; i < NUMBER_COUNT; i++)
        if (fields >> i & 1u && !unpack_number(packed, &at, &numbers[i]))
            return false;
    if (fields >> MULTIPLIER_BIT & 1u) {
        uint64_t bits;

        if (packed.len - at < 8)
            return false;
        bits = ff_get_be64(bytes + at);
        memcpy(&policy->multiplier, &bits, sizeof bits);
        at += 8;
    }
    return at == packed.len && unpack_numbers(numbers, policy);
}

ff_status ff_policy_unpack(struct ff_str packed, struct ff_policy *ret, struct ff_error *reterr)
{
    struct ff_policy policy;

    ff_policy_default(&policy);
    if (!ff_str_is_null(packed) &&
        (!unpack(packed, &policy) || ff_policy_check(&policy, NULL) != FF_OK))
        return ff_fail(reterr, FF_INTERNAL, "cannot read a stored policy of %zu bytes", packed.len);
    *ret = policy;
    return FF_OK;
}

void ff_policy_read(struct ff_str packed, struct ff_policy *ret)
{
    if (ff_policy_unpack(packed, ret, NULL) != FF_OK)
        ff_policy_default(ret);
}

int64_t ff_policy_backoff(const struct ff_policy *policy, int32_t retry_count, uint32_t random)
{
    double delay = (double)ff_max_i64(policy->delay_ms, 0);
    int64_t whole;
    int64_t half;

    if (policy->backoff == FF_BACKOFF_EXPONENTIAL) {
        if (delay > 0) /* zero times infinity is not a number */
            delay *= pow(policy->multiplier, (double)ff_max_i64(retry_count, 0));
        delay = fmin(delay, (double)ff_max_i64(policy->max_delay_ms, 0));
    }
    whole = (int64_t)fmin(delay, (double)FF_DURATION_MS_MAX);
    if (!policy->jitter)
        return whole;
    half = whole / 2;
    return half +
           (int64_t)((__extension__(unsigned __int128)(uint64_t)(whole - half + 1) * random) >> 32);
}
