/* SPDX-License-Identifier: Apache-2.0
 *
 * random.h -- where randomness comes from: the kernel, or a seed that repeats a run.
 *
 * The seeded generator is xoshiro256** and predictable: for simulation, jitter and tests only.
 * Tests: tests/unit/test_random.c. */
#ifndef FF_BASE_RANDOM_H
#define FF_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* `bytes` always fills the buffer. */
struct ff_random {
    void *ctx;
    void (*bytes)(void *ctx, void *buf, size_t len);
};

/* getrandom(2), from any thread. A kernel without randomness ends the process: no caller could do
 * anything safe. */
struct ff_random ff_random_system(void);

static inline void ff_random_bytes(const struct ff_random *random, void *buf, size_t len)
{
    random->bytes(random->ctx, buf, len);
}

uint64_t ff_random_u64(const struct ff_random *random);

/* Not thread safe. The sequence of a seed never changes: seeds are written into bug reports. */
struct ff_prng {
    uint64_t state[4];
};

void ff_prng_init(struct ff_prng *prng, uint64_t seed);
uint64_t ff_prng_u64(struct ff_prng *prng);

/* Uniform in [0, n); n must not be 0. */
uint64_t ff_prng_below(struct ff_prng *prng, uint64_t n);

/* `prng` must outlive the result. */
struct ff_random ff_random_from_prng(struct ff_prng *prng);

#endif
