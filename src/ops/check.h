/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h -- parts of the checks that several nouns share. For src/ops, and for src/api where
 * options and filters hold the same names.
 *
 * Tests: tests/unit/test_check.c. */
#ifndef FF_OPS_CHECK_H
#define FF_OPS_CHECK_H

#include "base/sha256.h"
#include "ops/execution.h"

/* A name: not empty, no control characters. */
FF_MUST_CHECK ff_status ff_check_name(struct ff_str s, size_t max, const char *field,
                                      struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_check_optional_text(struct ff_str s, size_t max, const char *field,
                                               struct ff_error *reterr);
/* An idempotency key, or none. */
FF_MUST_CHECK ff_status ff_check_key(struct ff_str key, struct ff_error *reterr);
/* Sorts them: a hash must not depend on the order. A null value is allowed where it means removal.
 */
FF_MUST_CHECK ff_status ff_check_tags(struct ff_tag_in *tags, size_t count, bool removal,
                                      struct ff_error *reterr);

/* Into the fingerprint of a request; no two lists of parts look alike. */
void ff_hash_number(struct ff_sha256 *sha, int64_t number);
void ff_hash_text(struct ff_sha256 *sha, struct ff_str text);

#endif
