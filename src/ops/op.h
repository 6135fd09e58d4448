/* SPDX-License-Identifier: Apache-2.0
 *
 * op.h -- the registry of operations: every state change of the engine is one of these.
 *
 * An op is two pure functions. need() names the rows and scans it must have; it is called again in
 * each batch the op takes part in, and may use what an earlier batch taught it (kept in `in`).
 * apply() decides on rows in memory. On any status but FF_OK the batch undoes what this op changed;
 * FF_AGAIN puts the op into the next batch. To add one: a file in src/ops/<noun>/<verb>.c, its in
 * and out structs in <noun>.h, a line in ops.def.
 * Tests: tests/unit/test_ops.c, tests/conformance. */
#ifndef FF_OPS_OP_H
#define FF_OPS_OP_H

#include "ops/work.h"

/* The order in which a batch is filled and applied. */
typedef enum ff_op_class {
    FF_CLASS_WORKER, /* renew, progress, complete, fail, delay, release */
    FF_CLASS_CALLER, /* claims and operator ops */
    FF_CLASS_SUBMIT,
    FF_CLASS_BACKGROUND, /* timers, dispatch, retention: a guaranteed quarter */
    FF_CLASS_COUNT
} ff_op_class;

typedef enum ff_op_id {
#define OP(NAME, noun, verb, cls, flags) FF_OP_##NAME,
#include "ops/ops.def"
    FF_OP_COUNT
} ff_op_id;

#define FF_OPF_NONE       0u
#define FF_OPF_REPEATABLE 2u /* a repeat after outcome_unknown is safe */
#define FF_OPF_CASCADE    4u /* one executor of a process takes them all: they share a flow's row */
#define FF_OPF_FREES      8u /* its main effect: executions that can be claimed */
#define FF_OPF_LEASED                                                                              \
    16u /* checks the caller's lease first, so that an outdated row does no harm: it may be        \
           assumed */

struct ff_op_type {
    const char *name; /* "execution.complete": metrics, logs, routes */
    ff_op_class cls;
    unsigned flags;
    size_t out_bytes;
    void (*need)(struct ff_work *work, void *in);
    ff_status (*apply)(struct ff_work *work, void *in, void *out, struct ff_error *reterr);
};

extern const struct ff_op_type ff_op_types[FF_OP_COUNT];

#endif
