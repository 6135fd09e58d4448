/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.c -- the system's clocks, and Unix time as text.
 *
 * Linux only: CLOCK_BOOTTIME. The clocks we ask cannot fail, so a failure is our bug.
 * Tests: tests/unit/test_clock.c. */
#include "base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

#include "base/macros.h"

#include "base/banned.h"

/* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z. */
#define UNIX_MS_MIN INT64_C(-62167219200000)
#define UNIX_MS_MAX INT64_C(253402300799999)

static int64_t read_ms(clockid_t id)
{
    struct timespec now;
    const int failed = clock_gettime(id, &now);

    assert(!failed);
    (void)failed;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_mono_ms(void *ctx FF_UNUSED)
{
    return read_ms(CLOCK_MONOTONIC);
}

static int64_t system_real_ms(void *ctx FF_UNUSED)
{
    return read_ms(CLOCK_REALTIME);
}

static int64_t system_boot_ms(void *ctx FF_UNUSED)
{
    return read_ms(CLOCK_BOOTTIME);
}

struct ff_clock ff_clock_system(void)
{
    return (struct ff_clock){
        .mono_ms = system_mono_ms, .real_ms = system_real_ms, .boot_ms = system_boot_ms};
}

static char *put_number(char *out, int64_t number, int digit_count, char after)
{
    for (int i = digit_count; i > 0; i--) {
        out[i - 1] = (char)('0' + number % 10);
        number /= 10;
    }
    out[digit_count] = after;
    return out + digit_count + 1;
}

char *ff_time_format_utc(int64_t unix_ms, char out[FF_TIME_TEXT_BYTES])
{
    const int64_t ms = ff_min_i64(ff_max_i64(unix_ms, UNIX_MS_MIN), UNIX_MS_MAX);
    const int64_t in_second_ms = (ms % 1000 + 1000) % 1000; /* times before 1970 round down */
    const time_t seconds = (time_t)((ms - in_second_ms) / 1000);
    struct tm utc = {.tm_year = 0};
    char *at = out;

    gmtime_r(&seconds, &utc);
    at = put_number(at, (int64_t)utc.tm_year + 1900, 4, '-');
    at = put_number(at, utc.tm_mon + 1, 2, '-');
    at = put_number(at, utc.tm_mday, 2, 'T');
    at = put_number(at, utc.tm_hour, 2, ':');
    at = put_number(at, utc.tm_min, 2, ':');
    at = put_number(at, utc.tm_sec, 2, '.');
    at = put_number(at, in_second_ms, 3, 'Z');
    *at = '\0';
    return out;
}
