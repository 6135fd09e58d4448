/* SPDX-License-Identifier: Apache-2.0
 *
 * random.c -- randomness from the kernel, or from a seed.
 *
 * xoshiro256** and splitmix64 are Blackman and Vigna's, seeded the way they recommend.
 * Tests: tests/unit/test_random.c. */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/codec.h"
#include "base/macros.h"

#include "base/banned.h"

static void system_bytes(void *ctx FF_UNUSED, void *buf, size_t len)
{
    uint8_t *out = buf;

    while (len > 0) {
        const ssize_t got = getrandom(out, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fputs("ff: the kernel gives no random numbers\n", stderr);
            abort();
        }
        out += got;
        len -= (size_t)got;
    }
}

struct ff_random ff_random_system(void)
{
    return (struct ff_random){.bytes = system_bytes};
}

uint64_t ff_random_u64(const struct ff_random *random)
{
    uint8_t bytes[8];

    ff_random_bytes(random, bytes, sizeof bytes);
    return ff_get_le64(bytes);
}

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t rotl(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

void ff_prng_init(struct ff_prng *prng, uint64_t seed)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(prng->state); i++)
        prng->state[i] = splitmix64(&seed);
}

uint64_t ff_prng_u64(struct ff_prng *prng)
{
    uint64_t *const s = prng->state;
    const uint64_t result = rotl(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t ff_prng_below(struct ff_prng *prng, uint64_t n)
{
    assert(n > 0);

    /* 2^64 mod n: dropping that many of the lowest numbers leaves a multiple of n. */
    const uint64_t unfair = (0 - n) % n;
    uint64_t number;

    do {
        number = ff_prng_u64(prng);
    } while (number < unfair);
    return number % n;
}

/* Whole numbers are drawn for each call, so the bytes depend on the lengths asked for before. */
static void prng_bytes(void *ctx, void *buf, size_t len)
{
    struct ff_prng *const prng = ctx;
    uint8_t *out = buf;

    while (len > 0) {
        uint8_t bytes[8];
        const size_t step = ff_min_size(len, sizeof bytes);

        ff_put_le64(bytes, ff_prng_u64(prng));
        memcpy(out, bytes, step);
        out += step;
        len -= step;
    }
}

struct ff_random ff_random_from_prng(struct ff_prng *prng)
{
    return (struct ff_random){.ctx = prng, .bytes = prng_bytes};
}
