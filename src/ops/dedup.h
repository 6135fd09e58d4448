/* SPDX-License-Identifier: Apache-2.0
 *
 * dedup.h -- keys by which a request that comes again is recognised.
 *
 * Read first: src/ops/README.md. Tests: tests/conformance/execution_dedup.c, flow_create.c. */
#ifndef FF_OPS_DEDUP_H
#define FF_OPS_DEDUP_H

#include "base/limits.h"
#include "model/ids.h"
#include "model/rows.h"
#include "ops/work.h"

/* `text` begins with what kind of key it is: two kinds never meet. */
struct ff_dedup_key {
    struct ff_dedup row;
    char text[FF_KEY_BYTES_MAX + 3];
};

void ff_dedup_by_key(char what, struct ff_str ns, struct ff_str key, struct ff_dedup_key *ret);
/* A caller's own id is unique whatever the namespace. */
void ff_dedup_by_id(char what, struct ff_uuid id, struct ff_dedup_key *ret);

/* Takes the key for `owner`: a new row, or one whose window is over. */
void ff_dedup_take(struct ff_work *work, const struct ff_dedup_key *key, struct ff_dedup *row,
                   struct ff_exec_id owner, struct ff_str hash, int64_t window_ms);

#endif
