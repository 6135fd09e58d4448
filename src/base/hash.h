/* SPDX-License-Identifier: Apache-2.0
 *
 * hash.h -- SipHash-1-3, the keyed hash of our hash maps.
 *
 * Safe against chosen keys while the seed is secret. Not for signatures, and never stored: what
 * must survive a release uses sha256.h or crc16.h.
 * Tests: tests/unit/test_hash.c. */
#ifndef FF_BASE_HASH_H
#define FF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct ff_hash_seed {
    uint64_t k0;
    uint64_t k1;
};

uint64_t ff_hash_bytes(struct ff_hash_seed seed, const void *data, size_t bytes);

#endif
