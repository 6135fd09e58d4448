/* SPDX-License-Identifier: Apache-2.0
 *
 * delay.c -- execution.delay: the same attempt continues later.
 *
 * Uses no retry, keeps the attempt index, and leaves the deadline alone: the execution may expire
 * while it is delayed. Tests: tests/unit/test_ops.c. */
#include "base/codec.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_delay_need(struct ff_work *work, struct ff_delay_in *in)
{
    ff_work_lock_execution(work, in->task.id);
}

static void postpone(struct ff_work *work, struct ff_execution *execution, int64_t until_ms,
                     struct ff_ending *how)
{
    const bool later = until_ms > work->now_ms;

    how->same_attempt = true;
    how->retry_at_ms = later ? until_ms : FF_NULL64;
    if (execution->flags & FF_EXEC_NO_NEW_ATTEMPT) {
        ff_execution_yield_or_cancel(work, execution, FF_STATE_READY_RESUMED, how);
        return;
    }
    ff_work_edit(work, execution);
    execution->delay_until_ms = how->retry_at_ms;
    ff_execution_yield(work, execution, later ? FF_STATE_DELAYED_WORKER : FF_STATE_READY_RESUMED,
                       how);
    ff_execution_event(work, execution, FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_DELAYED)->num_a =
        until_ms;
}

ff_status ff_execution_delay_apply(struct ff_work *work, struct ff_delay_in *in,
                                   struct ff_state_out *out, struct ff_error *reterr)
{
    uint8_t numbers[16];
    const struct ff_str said = {(const char *)numbers, sizeof numbers};
    struct ff_ending how = ff_ending_of(FF_END_DELAYED);
    struct ff_execution *execution;
    bool repeat;

    ff_put_be_i64(numbers, in->delay_ms);
    ff_put_be_i64(numbers + 8, in->delay_until_ms);
    FF_TRY(ff_word_hash(work, 'd', &said, 1, &how.hash, reterr));
    FF_TRY(ff_find_task(work, &in->task, how.hash, &execution, &repeat, reterr));
    if (repeat) {
        ff_state_answer_again(execution, out);
        out->retry_at_ms = FF_NULL64;
        return FF_OK;
    }
    postpone(work, execution,
             in->delay_until_ms != FF_NULL64 ? in->delay_until_ms
                                             : ff_add_i64_clamped(work->now_ms, in->delay_ms),
             &how);
    ff_state_answer(execution, out);
    return FF_OK;
}
