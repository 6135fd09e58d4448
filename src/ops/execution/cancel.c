/* SPDX-License-Identifier: Apache-2.0
 *
 * cancel.c -- execution.cancel: end it, whatever it is doing.
 *
 * The holder of a lease is told by its next call: not_active, outcome cancelled. Cancelling twice
 * gives the first answer. Tests: tests/unit/test_ops.c. */
#include "base/error.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_cancel_need(struct ff_work *work, struct ff_cancel_in *in)
{
    ff_work_lock_execution(work, in->id);
}

ff_status ff_execution_cancel_apply(struct ff_work *work, struct ff_cancel_in *in,
                                    struct ff_state_out *out, struct ff_error *reterr)
{
    struct ff_execution *execution;

    FF_TRY(ff_find_execution(work, in->id, &execution, reterr));
    if (in->created_before_ms != FF_NULL64 && execution->created_at_ms >= in->created_before_ms)
        return ff_fail(reterr, FF_NOT_FOUND, "execution was created after the call");
    if (ff_state_is_terminal(execution->state) && execution->state != FF_STATE_CANCELLED)
        return ff_fail_terminal(execution, reterr);
    if (execution->state != FF_STATE_CANCELLED) {
        ff_execution_event(work, execution, FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_CANCEL_REQUESTED)
            ->note = in->reason;
        ff_execution_cancel(work, execution, in->reason, in->by);
    }
    ff_state_answer(execution, out);
    return FF_OK;
}
