/* SPDX-License-Identifier: Apache-2.0
 *
 * registry.c -- the table of operations, made from ops.def.
 *
 * Tests: tests/unit/test_ops.c. */
#include "ops/op.h"

#include "ops/ops-int.h"

#include "base/banned.h"

/* The table holds functions of one type; each of these gives its op the types it wants. */
#define TRAMPOLINE(noun, verb, in_type, out_type)                                                  \
    enum { noun##_##verb##_out_bytes = sizeof(struct out_type) };                                  \
    static void noun##_##verb##_need(struct ff_work *work, void *in)                               \
    {                                                                                              \
        ff_##noun##_##verb##_need(work, in);                                                       \
    }                                                                                              \
    static ff_status noun##_##verb##_apply(struct ff_work *work, void *in, void *out,              \
                                           struct ff_error *reterr)                                \
    {                                                                                              \
        return ff_##noun##_##verb##_apply(work, in, out, reterr);                                  \
    }
FF_OP_SIGNATURES(TRAMPOLINE)

const struct ff_op_type ff_op_types[FF_OP_COUNT] = {
#define OP(NAME, noun, verb, cls, flags)                                                           \
    [FF_OP_##NAME] = {#noun "." #verb,           FF_CLASS_##cls,       flags,                      \
                      noun##_##verb##_out_bytes, noun##_##verb##_need, noun##_##verb##_apply},
#include "ops/ops.def"
};
