/* SPDX-License-Identifier: Apache-2.0
 *
 * test_policy.c -- defaults, limits, stored form and back-off of a policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <math.h>

#include "base/limits.h"
#include "base/macros.h"
#include "model/policy.h"

static struct ff_arena arena;

static int setup(void **state)
{
    (void)state;
    ff_arena_init(&arena, 4096, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_arena_done(&arena);
    return 0;
}

static struct ff_policy standard(void)
{
    struct ff_policy policy;

    ff_policy_default(&policy);
    return policy;
}

static void assert_same(const struct ff_policy *a, const struct ff_policy *b)
{
    assert_int_equal(a->max_retries, b->max_retries);
    assert_int_equal(a->backoff, b->backoff);
    assert_int_equal(a->delay_ms, b->delay_ms);
    assert_int_equal(a->max_delay_ms, b->max_delay_ms);
    assert_memory_equal(&a->multiplier, &b->multiplier, sizeof a->multiplier);
    assert_int_equal(a->jitter, b->jitter);
    assert_int_equal(a->attempt_timeout_ms, b->attempt_timeout_ms);
    assert_int_equal(a->lease_lapse, b->lease_lapse);
    assert_int_equal(a->max_reclaim_count, b->max_reclaim_count);
    assert_int_equal(a->max_replay_count, b->max_replay_count);
    assert_int_equal(a->dedup_window_ms, b->dedup_window_ms);
}

static void test_policy__defaults(void **state)
{
    struct ff_policy policy = standard();

    (void)state;
    assert_int_equal(policy.max_retries, 3);
    assert_int_equal(policy.delay_ms, 1000);
    assert_int_equal(policy.backoff, FF_BACKOFF_EXPONENTIAL);
    assert_true(policy.jitter);
    assert_int_equal(policy.max_reclaim_count, 100);
    assert_int_equal(policy.max_replay_count, 10);
    assert_int_equal(policy.dedup_window_ms, 86400000);
    assert_int_equal(ff_policy_check(&policy, NULL), FF_OK);
}

static void test_policy__the_default_is_stored_as_nothing(void **state)
{
    struct ff_policy policy = standard();
    struct ff_policy back;

    (void)state;
    assert_true(ff_str_is_null(ff_policy_pack(&policy, &arena)));
    assert_int_equal(ff_policy_unpack(ff_str_null(), &back, NULL), FF_OK);
    assert_same(&policy, &back);
}

static void assert_round_trip(const struct ff_policy *policy, size_t bytes_max)
{
    const struct ff_str packed = ff_policy_pack(policy, &arena);
    struct ff_policy back;

    assert_int_equal(ff_policy_unpack(packed, &back, NULL), FF_OK);
    assert_same(policy, &back);
    assert_true(packed.len <= bytes_max);
}

static void test_policy__packing_keeps_every_field(void **state)
{
    struct ff_policy policy = standard();

    (void)state;
    policy.max_retries = 0;
    assert_round_trip(&policy, 4);
    policy.multiplier = 1.7;
    assert_round_trip(&policy, 12);
    policy = (struct ff_policy){.max_retries = FF_RETRIES_MAX,
                                .backoff = FF_BACKOFF_FIXED,
                                .delay_ms = FF_DURATION_MS_MAX,
                                .max_delay_ms = FF_DURATION_MS_MAX,
                                .multiplier = 1000,
                                .jitter = false,
                                .attempt_timeout_ms = FF_DURATION_MS_MAX,
                                .lease_lapse = FF_LAPSE_RECLAIM,
                                .max_reclaim_count = FF_RETRIES_MAX,
                                .max_replay_count = FF_RETRIES_MAX,
                                .dedup_window_ms = FF_DURATION_MS_MAX};
    assert_int_equal(ff_policy_check(&policy, NULL), FF_OK);
    assert_round_trip(&policy, 64);
}

/* Rows of today must be read by every later binary. */
static void test_policy__the_stored_form_never_changes(void **state)
{
    static const char packed[] = "\x01\x04\x21\x05\xb0\xea\x01\x3f\xf8\0\0\0\0\0\0";
    struct ff_policy policy;
    struct ff_str again;

    (void)state;
    assert_int_equal(ff_policy_unpack((struct ff_str){packed, sizeof packed - 1}, &policy, NULL),
                     FF_OK);
    assert_int_equal(policy.max_retries, 5);
    assert_int_equal(policy.attempt_timeout_ms, 30000);
    assert_true(policy.multiplier >= 1.5 && policy.multiplier <= 1.5);
    again = ff_policy_pack(&policy, &arena);
    assert_int_equal(again.len, sizeof packed - 1);
    assert_memory_equal(again.ptr, packed, again.len);
}

static void test_policy__unreadable_bytes_are_refused(void **state)
{
    static const struct ff_str bad[] = {
        FF_STR_INIT(""),
        FF_STR_INIT("\x01"),
        FF_STR_INIT("\x02\0\x01\x05"),                 /* a newer version */
        FF_STR_INIT("\x01\x08\0"),                     /* a field nobody knows */
        FF_STR_INIT("\x01\0\x01"),                     /* cut */
        FF_STR_INIT("\x01\0\x01\x85"),                 /* cut inside a number */
        FF_STR_INIT("\x01\0\x01\x05\x05"),             /* bytes behind the end */
        FF_STR_INIT("\x01\x04\0\x3f\xf8\0\0"),         /* half a double */
        FF_STR_INIT("\x01\x04\0\x7f\xf8\0\0\0\0\0\0"), /* NaN */
        FF_STR_INIT("\x01\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        FF_STR_INIT("\x01\0\x02\x02"), /* no such back-off */
        FF_STR_INIT("\x01\0\x10\x02"), /* jitter is a bit */
    };
    struct ff_policy policy;
    struct ff_error error;

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        if (ff_policy_unpack(bad[i], &policy, &error) != FF_INTERNAL)
            fail_msg("accepted bytes %zu", i);
}

static void assert_refused(const struct ff_policy *policy, const char *field)
{
    struct ff_error error = {0};

    assert_int_equal(ff_policy_check(policy, &error), FF_INVALID);
    assert_string_equal(error.field, field);
}

#define REFUSED(member, value, field)                                                              \
    do {                                                                                           \
        struct ff_policy bad_ = standard();                                                        \
        bad_.member = (value);                                                                     \
        assert_refused(&bad_, field);                                                              \
    } while (0)

static void test_policy__limits_at_their_edges(void **state)
{
    struct ff_policy fixed = standard();

    (void)state;
    REFUSED(max_retries, -1, "policy.retry_policy.max_retries");
    REFUSED(max_retries, FF_RETRIES_MAX + 1, "policy.retry_policy.max_retries");
    REFUSED(delay_ms, -1, "policy.retry_policy.backoff.initial_delay_ms");
    REFUSED(delay_ms, FF_DURATION_MS_MAX + 1, "policy.retry_policy.backoff.initial_delay_ms");
    REFUSED(max_delay_ms, -1, "policy.retry_policy.backoff.max_delay_ms");
    REFUSED(max_delay_ms, FF_DURATION_MS_MAX + 1, "policy.retry_policy.backoff.max_delay_ms");
    REFUSED(multiplier, 0.999, "policy.retry_policy.backoff.multiplier");
    REFUSED(multiplier, 1000.001, "policy.retry_policy.backoff.multiplier");
    REFUSED(multiplier, (double)NAN, "policy.retry_policy.backoff.multiplier");
    REFUSED(multiplier, (double)INFINITY, "policy.retry_policy.backoff.multiplier");
    REFUSED(backoff, (ff_backoff_type)7, "policy.retry_policy.backoff.type");
    REFUSED(attempt_timeout_ms, -1, "policy.attempt_timeout_ms");
    REFUSED(attempt_timeout_ms, FF_DURATION_MS_MAX + 1, "policy.attempt_timeout_ms");
    REFUSED(lease_lapse, (ff_lapse)2, "policy.lease_lapse");
    REFUSED(max_reclaim_count, -1, "policy.max_reclaim_count");
    REFUSED(max_replay_count, FF_RETRIES_MAX + 1, "policy.max_replay_count");
    REFUSED(dedup_window_ms, 0, "policy.dedup_window_ms");
    REFUSED(dedup_window_ms, FF_DURATION_MS_MAX + 1, "policy.dedup_window_ms");
    fixed.backoff = FF_BACKOFF_FIXED;
    fixed.delay_ms = -1;
    assert_refused(&fixed, "policy.retry_policy.backoff.delay_ms");
}

/* 1000, 2000, 4000 ... 60000; fixed stays. */
static void test_policy__backoff_sequence(void **state)
{
    static const int64_t expected[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    struct ff_policy policy = standard();

    (void)state;
    policy.jitter = false;
    for (int32_t n = 0; n < (int32_t)FF_ARRAY_LEN(expected); n++)
        assert_int_equal(ff_policy_backoff(&policy, n, 0), expected[n]);
    policy.backoff = FF_BACKOFF_FIXED;
    policy.delay_ms = 250;
    for (int32_t n = 0; n < 8; n++)
        assert_int_equal(ff_policy_backoff(&policy, n, UINT32_MAX), 250);
}

static void test_policy__backoff_never_overflows(void **state)
{
    struct ff_policy policy = standard();

    (void)state;
    policy.jitter = false;
    policy.delay_ms = FF_DURATION_MS_MAX;
    policy.max_delay_ms = FF_DURATION_MS_MAX;
    policy.multiplier = 1000;
    for (int32_t n = 0; n < 2000; n++)
        assert_int_equal(ff_policy_backoff(&policy, n, 0), FF_DURATION_MS_MAX);
    assert_int_equal(ff_policy_backoff(&policy, INT32_MAX, UINT32_MAX), FF_DURATION_MS_MAX);
    policy.delay_ms = 0; /* 0 times infinity */
    assert_int_equal(ff_policy_backoff(&policy, INT32_MAX, 0), 0);
    policy.multiplier = 1;
    policy.delay_ms = 7;
    assert_int_equal(ff_policy_backoff(&policy, INT32_MAX, 0), 7);
    assert_int_equal(ff_policy_backoff(&policy, INT32_MIN, 0), 7);
    policy.max_delay_ms = 0;
    assert_int_equal(ff_policy_backoff(&policy, 3, 0), 0);
}

static void test_policy__jitter_stays_in_the_upper_half(void **state)
{
    static const int64_t delays[] = {0, 1, 2, 3, 1000, FF_DURATION_MS_MAX};
    struct ff_policy policy = standard();

    (void)state;
    policy.backoff = FF_BACKOFF_FIXED;
    for (size_t i = 0; i < FF_ARRAY_LEN(delays); i++) {
        policy.delay_ms = delays[i];
        assert_int_equal(ff_policy_backoff(&policy, 0, 0), delays[i] / 2);
        for (uint32_t r = 0; r < 64; r++) {
            const int64_t delay = ff_policy_backoff(&policy, 0, r << 26);

            assert_true(delay >= delays[i] / 2 && delay <= delays[i]);
        }
    }
    policy.delay_ms = 1000;
    assert_int_equal(ff_policy_backoff(&policy, 0, UINT32_MAX), 1000);
    assert_int_equal(ff_policy_backoff(&policy, 0, UINT32_MAX / 2), 750);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policy__defaults),
        cmocka_unit_test(test_policy__the_default_is_stored_as_nothing),
        cmocka_unit_test(test_policy__packing_keeps_every_field),
        cmocka_unit_test(test_policy__the_stored_form_never_changes),
        cmocka_unit_test(test_policy__unreadable_bytes_are_refused),
        cmocka_unit_test(test_policy__limits_at_their_edges),
        cmocka_unit_test(test_policy__backoff_sequence),
        cmocka_unit_test(test_policy__backoff_never_overflows),
        cmocka_unit_test(test_policy__jitter_stays_in_the_upper_half),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
