/* SPDX-License-Identifier: Apache-2.0
 *
 * ops-int.h -- the two functions of every op. Only files of src/ops and its unit tests include it.
 *
 * A line here and a line in ops.def belong together; registry.c does not compile otherwise. */
#ifndef FF_OPS_OPS_INT_H
#define FF_OPS_OPS_INT_H

#include "ops/background.h"
#include "ops/execution.h"
#include "ops/flow.h"
#include "ops/op.h"
#include "ops/reply.h"

/* The answer of ops that only say yes or no. */
struct ff_no_out {
    bool unused;
};

// clang-format off
#define FF_OP_SIGNATURES(X)                                          \
    X(execution, submit,   ff_submit_in,       ff_submit_out)        \
    X(execution, claim,    ff_claim_in,        ff_claim_out)         \
    X(execution, renew,    ff_renew_in,        ff_renew_out)         \
    X(execution, progress, ff_progress_in,     ff_no_out)            \
    X(execution, complete, ff_complete_in,     ff_state_out)         \
    X(execution, fail,     ff_fail_in,         ff_state_out)         \
    X(execution, delay,    ff_delay_in,        ff_state_out)         \
    X(execution, release,  ff_release_in,      ff_state_out)         \
    X(execution, cancel,   ff_cancel_in,       ff_state_out)         \
    X(execution, priority, ff_priority_in,     ff_state_out)         \
    X(execution, replay,   ff_replay_in,       ff_state_out)         \
    X(execution, revoke,   ff_revoke_in,       ff_revoke_out)        \
    X(execution, tag,      ff_tag_op_in,       ff_tag_op_out)        \
    X(flow,      create,   ff_flow_create_in,  ff_flow_create_out)   \
    X(flow,      grow,     ff_flow_grow_in,    ff_flow_grow_out)     \
    X(flow,      cancel,   ff_flow_cancel_in,  ff_flow_cancel_out)   \
    X(flow,      drain,    ff_flow_drain_in,   ff_drain_out)         \
    X(flow,      remove,   ff_flow_remove_in,  ff_flow_remove_out)   \
    X(hop,       dispatch, ff_dispatch_in,     ff_dispatch_out)      \
    X(hop,       postpone, ff_postpone_in,     ff_postpone_out)      \
    X(hop,       find,     ff_find_in,         ff_find_out)          \
    X(group,     drain,    ff_group_drain_in,  ff_drain_out)         \
    X(lane,      pause,    ff_lane_pause_in,   ff_no_out)            \
    X(reply,     keep,     ff_reply_keep_in,   ff_reply_keep_out)    \
    X(worker,    touch,    ff_worker_touch_in, ff_no_out)            \
    X(timer,     fire,     ff_timer_in,        ff_timer_out)         \
    X(retention, sweep,    ff_retention_in,    ff_retention_out)     \
    X(log,       trim,     ff_log_trim_in,     ff_log_trim_out)      \
    X(meta,      prune,    ff_prune_in,        ff_prune_out)         \
    X(meta,      contact,  ff_contact_in,      ff_no_out)
// clang-format on

#define FF_OP_DECLARE(noun, verb, in_type, out_type)                                               \
    void ff_##noun##_##verb##_need(struct ff_work *work, struct in_type *in);                      \
    FF_MUST_CHECK ff_status ff_##noun##_##verb##_apply(                                            \
        struct ff_work *work, struct in_type *in, struct out_type *out, struct ff_error *reterr);
FF_OP_SIGNATURES(FF_OP_DECLARE)
#undef FF_OP_DECLARE

#endif
