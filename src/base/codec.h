/* SPDX-License-Identifier: Apache-2.0
 *
 * codec.h -- fixed-width integers as bytes, big- and little-endian.
 *
 * No alignment is needed and the machine's own byte order does not matter. The caller makes sure
 * that there is room.
 * Tests: tests/unit/test_codec.c. */
#ifndef FF_BASE_CODEC_H
#define FF_BASE_CODEC_H

#include <stdint.h>
#include <string.h>

/* Compilers turn the loops into one load or store and a byte swap. */
static inline void ff_put_be(uint8_t *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

static inline uint64_t ff_get_be(const uint8_t *in, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | in[i];
    return value;
}

/* Two's complement, without leaning on the implementation-defined cast. */
static inline int64_t ff_i64_from_bits(uint64_t bits)
{
    int64_t value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void ff_put_be16(uint8_t *out, uint16_t value)
{
    ff_put_be(out, value, 2);
}

static inline uint16_t ff_get_be16(const uint8_t *in)
{
    return (uint16_t)ff_get_be(in, 2);
}

static inline void ff_put_be32(uint8_t *out, uint32_t value)
{
    ff_put_be(out, value, 4);
}

static inline uint32_t ff_get_be32(const uint8_t *in)
{
    return (uint32_t)ff_get_be(in, 4);
}

static inline void ff_put_be64(uint8_t *out, uint64_t value)
{
    ff_put_be(out, value, 8);
}

static inline uint64_t ff_get_be64(const uint8_t *in)
{
    return ff_get_be(in, 8);
}

static inline void ff_put_be_i64(uint8_t *out, int64_t value)
{
    ff_put_be(out, (uint64_t)value, 8);
}

static inline int64_t ff_get_be_i64(const uint8_t *in)
{
    return ff_i64_from_bits(ff_get_be(in, 8));
}

static inline void ff_put_le64(uint8_t *out, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t ff_get_le64(const uint8_t *in)
{
    return (uint64_t)in[0] | (uint64_t)in[1] << 8 | (uint64_t)in[2] << 16 | (uint64_t)in[3] << 24 |
           (uint64_t)in[4] << 32 | (uint64_t)in[5] << 40 | (uint64_t)in[6] << 48 |
           (uint64_t)in[7] << 56; /* compilers make one load of it */
}

#endif
