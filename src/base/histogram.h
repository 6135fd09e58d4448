/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram.h -- how long things took, counted in a few steps from a millisecond to an hour.
 *
 * Added to from any thread, without a lock. Tests: tests/unit/test_histogram.c. */
#ifndef FF_BASE_HISTOGRAM_H
#define FF_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define FF_HISTOGRAM_STEPS 11

struct ff_histogram {
    _Atomic int64_t counts[FF_HISTOGRAM_STEPS + 1]; /* up to each step; the last: longer */
    _Atomic int64_t sum_us;
};

extern const int64_t ff_histogram_step_us[FF_HISTOGRAM_STEPS];

/* Less than nothing counts as nothing: clocks differ. */
void ff_histogram_add(struct ff_histogram *histogram, int64_t us);

#endif
