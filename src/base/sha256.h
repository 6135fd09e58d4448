/* SPDX-License-Identifier: Apache-2.0
 *
 * sha256.h -- SHA-256, and a comparison that does not tell where it stopped.
 *
 * A wrapper over libcrypto, which allocates: every result is checked. FF_NO_MEMORY when there is
 * no context, FF_INTERNAL when libcrypto refuses.
 * Tests: tests/unit/test_sha256.c. */
#ifndef FF_BASE_SHA256_H
#define FF_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flowfabric.h"

#define FF_SHA256_BYTES 32

struct ff_sha256 {
    void *context;         /* an EVP_MD_CTX; NULL before init and after done */
    bool broken;           /* libcrypto refused an add; finish reports it */
    uint8_t gathered[256]; /* small pieces go to libcrypto together */
    size_t gathered_bytes;
};

FF_MUST_CHECK ff_status ff_sha256_of(const void *data, size_t bytes,
                                     uint8_t ret_digest[FF_SHA256_BYTES], struct ff_error *reterr);

/* In pieces: init, add as often as needed, finish once, done. After finish only done is allowed.
 * done may be called at any time, also on zeroed memory. */
FF_MUST_CHECK ff_status ff_sha256_init(struct ff_sha256 *sha, struct ff_error *reterr);
void ff_sha256_add(struct ff_sha256 *sha, const void *data, size_t bytes);
FF_MUST_CHECK ff_status ff_sha256_finish(struct ff_sha256 *sha, uint8_t ret_digest[FF_SHA256_BYTES],
                                         struct ff_error *reterr);
void ff_sha256_done(struct ff_sha256 *sha);

/* For tokens: takes the same time wherever the bytes differ. */
bool ff_secret_eq(const void *a, const void *b, size_t bytes);

#endif
