/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram.c -- how long things took.
 *
 * Tests: tests/unit/test_histogram.c. */
#include "base/histogram.h"

#include <stddef.h>

#include "base/macros.h"

#include "base/banned.h"

const int64_t ff_histogram_step_us[FF_HISTOGRAM_STEPS] = {
    1000, 5000, 10000, 50000, 100000, 500000, 1000000, 5000000, 30000000, 300000000, 3600000000};

void ff_histogram_add(struct ff_histogram *histogram, int64_t us)
{
    const int64_t took_us = ff_max_i64(us, 0);
    size_t step = 0;

    while (step < FF_HISTOGRAM_STEPS && took_us > ff_histogram_step_us[step])
        step++;
    atomic_fetch_add_explicit(&histogram->counts[step], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_us, took_us, memory_order_relaxed);
}
