/* SPDX-License-Identifier: Apache-2.0
 *
 * priority.c -- execution.priority: a place further up or down, in any living state.
 *
 * Tests: tests/unit/test_ops.c. */
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_priority_need(struct ff_work *work, struct ff_priority_in *in)
{
    ff_work_lock_execution(work, in->id);
}

ff_status ff_execution_priority_apply(struct ff_work *work, struct ff_priority_in *in,
                                      struct ff_state_out *out, struct ff_error *reterr)
{
    struct ff_execution *execution;

    FF_TRY(ff_find_execution(work, in->id, &execution, reterr));
    if (ff_state_is_terminal(execution->state))
        return ff_fail_terminal(execution, reterr);
    if (execution->priority != in->priority) {
        const int32_t old = execution->priority;
        struct ff_event *event;

        ff_execution_touch(work, execution);
        execution->priority = (int32_t)in->priority;
        event = ff_execution_event(work, execution, FF_EVENT_OPERATOR,
                                   FF_EVENT_OPERATOR_PRIORITY_CHANGED);
        event->num_a = old;
        event->num_b = in->priority;
        event->note = in->by;
    }
    ff_state_answer(execution, out);
    return FF_OK;
}
