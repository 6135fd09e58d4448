/* SPDX-License-Identifier: Apache-2.0
 *
 * release.c -- execution.release: the holder gives the task back, claimable at once.
 *
 * Uses no retry; the next claimer continues the same attempt. Tests: tests/unit/test_ops.c. */
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_release_need(struct ff_work *work, struct ff_release_in *in)
{
    ff_work_lock_execution(work, in->task.id);
}

ff_status ff_execution_release_apply(struct ff_work *work, struct ff_release_in *in,
                                     struct ff_state_out *out, struct ff_error *reterr)
{
    struct ff_ending how = ff_ending_of(FF_END_RELEASED);
    struct ff_execution *execution;
    bool repeat;

    FF_TRY(ff_word_hash(work, 'r', &in->reason, 1, &how.hash, reterr));
    FF_TRY(ff_find_task(work, &in->task, how.hash, &execution, &repeat, reterr));
    if (repeat) {
        ff_state_answer_again(execution, out);
        return FF_OK;
    }
    how.same_attempt = true;
    how.lease_event = FF_EVENT_LEASE_RELEASED;
    how.lease_note = in->reason;
    ff_execution_yield_or_cancel(work, execution, FF_STATE_READY_RESUMED, &how);
    ff_state_answer(execution, out);
    return FF_OK;
}
