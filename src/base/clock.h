/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h -- where time comes from, so that tests can bring their own.
 *
 * Three clocks: `mono` measures durations and stops while the machine sleeps, `boot` does not
 * stop, `real` is the wall clock in Unix time and may jump.
 * Tests: tests/unit/test_clock.c. */
#ifndef FF_BASE_CLOCK_H
#define FF_BASE_CLOCK_H

#include <stdint.h>

#define FF_TIME_TEXT_BYTES 25

/* Functions may be called from any thread. */
struct ff_clock {
    void *ctx;
    int64_t (*mono_ms)(void *ctx);
    int64_t (*real_ms)(void *ctx);
    int64_t (*boot_ms)(void *ctx);
};

struct ff_clock ff_clock_system(void);

static inline int64_t ff_clock_mono_ms(const struct ff_clock *clock)
{
    return clock->mono_ms(clock->ctx);
}

static inline int64_t ff_clock_real_ms(const struct ff_clock *clock)
{
    return clock->real_ms(clock->ctx);
}

static inline int64_t ff_clock_boot_ms(const struct ff_clock *clock)
{
    return clock->boot_ms(clock->ctx);
}

/* "2026-01-31T23:59:59.999Z"; times outside the years 0 to 9999 are shown as the nearest end.
 * Returns `out`. */
char *ff_time_format_utc(int64_t unix_ms, char out[FF_TIME_TEXT_BYTES]);

#endif
