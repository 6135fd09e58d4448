/* SPDX-License-Identifier: Apache-2.0
 *
 * hash.c -- SipHash-1-3: one round per block of 8 bytes, three at the end.
 *
 * The names v, m and b are those of the paper (Aumasson, Bernstein: SipHash, 2012).
 * Tests: tests/unit/test_hash.c. */
#include "base/hash.h"

#include "base/codec.h"

#include "base/banned.h"

static inline uint64_t rotl(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] = rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] = rotl(v[2], 32);
}

static inline void sip_block(uint64_t v[4], uint64_t m)
{
    v[3] ^= m;
    sip_round(v);
    v[0] ^= m;
}

uint64_t ff_hash_bytes(struct ff_hash_seed seed, const void *data, size_t bytes)
{
    const uint8_t *const in = data;
    const size_t whole_bytes = bytes & ~(size_t)7;
    uint64_t v[4] = {
        seed.k0 ^ UINT64_C(0x736f6d6570736575),
        seed.k1 ^ UINT64_C(0x646f72616e646f6d),
        seed.k0 ^ UINT64_C(0x6c7967656e657261),
        seed.k1 ^ UINT64_C(0x7465646279746573),
    };
    uint64_t b = (uint64_t)bytes << 56;

    for (size_t at = 0; at < whole_bytes; at += 8)
        sip_block(v, ff_get_le64(in + at));
    for (size_t i = 0; i < bytes - whole_bytes; i++)
        b |= (uint64_t)in[whole_bytes + i] << (8 * i);
    sip_block(v, b);
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
