/* SPDX-License-Identifier: Apache-2.0
 *
 * sha256.c -- SHA-256 by libcrypto.
 *
 * Only the EVP interface: the older per-algorithm calls are deprecated.
 * Tests: tests/unit/test_sha256.c. */
#include "base/sha256.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"

#include "base/banned.h"

/* Looked up once: libcrypto searches its providers each time EVP_sha256() is used. */
static const EVP_MD *algorithm(void)
{
    static _Atomic(EVP_MD *) found;
    EVP_MD *md = atomic_load_explicit(&found, memory_order_acquire);

    if (!md) {
        EVP_MD *const fetched = EVP_MD_fetch(NULL, "SHA2-256", NULL);

        if (!fetched)
            return EVP_sha256();
        if (atomic_compare_exchange_strong(&found, &md, fetched))
            md = fetched;
        else
            EVP_MD_free(fetched); /* somebody was faster */
    }
    return md;
}

ff_status ff_sha256_of(const void *data, size_t bytes, uint8_t ret_digest[FF_SHA256_BYTES],
                       struct ff_error *reterr)
{
    uint8_t digest[FF_SHA256_BYTES];

    if (EVP_Digest(bytes ? data : "", bytes, digest, NULL, algorithm(), NULL) != 1)
        return ff_fail(reterr, FF_INTERNAL, "sha-256 failed");
    memcpy(ret_digest, digest, sizeof digest);
    return FF_OK;
}

ff_status ff_sha256_init(struct ff_sha256 *sha, struct ff_error *reterr)
{
    sha->broken = false;
    sha->gathered_bytes = 0;
    sha->context = EVP_MD_CTX_new();
    if (!sha->context)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for sha-256");
    if (EVP_DigestInit_ex(sha->context, algorithm(), NULL) != 1) {
        ff_sha256_done(sha);
        return ff_fail(reterr, FF_INTERNAL, "sha-256 cannot start");
    }
    return FF_OK;
}

static void update(struct ff_sha256 *sha, const void *data, size_t bytes)
{
    if (bytes > 0 && EVP_DigestUpdate(sha->context, data, bytes) != 1)
        sha->broken = true;
}

static void flush(struct ff_sha256 *sha)
{
    update(sha, sha->gathered, sha->gathered_bytes);
    sha->gathered_bytes = 0;
}

void ff_sha256_add(struct ff_sha256 *sha, const void *data, size_t bytes)
{
    assert(sha->context);
    if (bytes > sizeof sha->gathered - sha->gathered_bytes)
        flush(sha);
    if (bytes > sizeof sha->gathered) {
        update(sha, data, bytes);
    } else if (bytes > 0) {
        memcpy(sha->gathered + sha->gathered_bytes, data, bytes);
        sha->gathered_bytes += bytes;
    }
}

ff_status ff_sha256_finish(struct ff_sha256 *sha, uint8_t ret_digest[FF_SHA256_BYTES],
                           struct ff_error *reterr)
{
    uint8_t digest[FF_SHA256_BYTES];

    assert(sha->context);
    flush(sha);
    if (sha->broken || EVP_DigestFinal_ex(sha->context, digest, NULL) != 1)
        return ff_fail(reterr, FF_INTERNAL, "sha-256 failed");
    sha->broken = true; /* a second finish would be a bug; it must not give a wrong digest */
    memcpy(ret_digest, digest, sizeof digest);
    return FF_OK;
}

void ff_sha256_done(struct ff_sha256 *sha)
{
    if (!sha)
        return;
    EVP_MD_CTX_free(sha->context);
    sha->context = NULL;
}

bool ff_secret_eq(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || CRYPTO_memcmp(a, b, bytes) == 0;
}
