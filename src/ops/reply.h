/* SPDX-License-Identifier: Apache-2.0
 *
 * reply.h -- stored answers: the same request with the same key hears the same again.
 *
 * Kept in the transaction of the op they are the answer of; see ff_batch_apply. Pure.
 * Tests: tests/unit/test_reply.c. */
#ifndef FF_OPS_REPLY_H
#define FF_OPS_REPLY_H

#include "base/sha256.h"
#include "ops/work.h"

struct ff_reply_in {
    struct ff_str scope, key;
    uint8_t hash[FF_SHA256_BYTES]; /* of the request; another one may not use the key */
    int64_t keep_ms;
};
struct ff_reply_out {
    bool found;
    int32_t status; /* of HTTP; 0: begun, and the answer is not known yet */
    struct ff_str body;
};

void ff_reply_need(struct ff_work *work, const struct ff_reply_in *in);
/* What was stored under the key, if anything. FF_KEY_REUSED: by another request. */
FF_MUST_CHECK ff_status ff_reply_look(struct ff_work *work, const struct ff_reply_in *in,
                                      struct ff_reply_out *out, struct ff_error *reterr);
void ff_reply_keep(struct ff_work *work, const struct ff_reply_in *in, int32_t status,
                   struct ff_str body);

/* The op of calls that are many ops: it marks the beginning (status 0: the body is the time of the
 * first call), and stores the answer at the end. */
struct ff_reply_keep_in {
    struct ff_reply_in reply;
    int32_t status;
    struct ff_str body;
};
struct ff_reply_keep_out {
    struct ff_reply_out reply;
    int64_t begun_at_ms;
};

#endif
