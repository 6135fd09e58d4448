/* SPDX-License-Identifier: Apache-2.0
 *
 * fail.c -- execution.fail: the attempt failed; retry by policy, or end.
 *
 * `permanent` never retries. Everything else retries while the policy allows, after the policy's
 * back-off or the worker's own wish. In a cancelled flow any failure ends it cancelled. Tests:
 * tests/unit/test_ops.c. */
#include "base/codec.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_fail_need(struct ff_work *work, struct ff_fail_in *in)
{
    ff_work_lock_execution(work, in->task.id);
}

static void retry(struct ff_work *work, struct ff_execution *execution, int64_t delay_ms,
                  struct ff_ending *how)
{
    const bool at_once = delay_ms <= 0;
    const int64_t at_ms =
        at_once ? ff_record_time(work, execution) : ff_add_i64_clamped(work->now_ms, delay_ms);
    struct ff_event *event;

    how->end = FF_END_RETRY;
    how->retry_at_ms = at_once ? FF_NULL64 : at_ms;
    ff_work_edit(work, execution);
    execution->retry_count++;
    execution->delay_until_ms = how->retry_at_ms;
    ff_execution_yield(work, execution, at_once ? FF_STATE_READY_RETRY : FF_STATE_DELAYED_RETRY,
                       how);
    event =
        ff_execution_event(work, execution, FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_RETRY_SCHEDULED);
    event->num_a = at_ms;
    event->num_b = execution->retry_count;
    event->note = how->failure_message;
}

static ff_status hash_of(struct ff_work *work, const struct ff_fail_in *in, struct ff_str *ret,
                         struct ff_error *reterr)
{
    uint8_t numbers[16];
    const struct ff_str said[] = {in->message, {(const char *)numbers, sizeof numbers}};

    ff_put_be64(numbers, (uint64_t)in->failure_class);
    ff_put_be_i64(numbers + 8, in->retry_after_ms);
    return ff_word_hash(work, 'f', said, FF_ARRAY_LEN(said), ret, reterr);
}

ff_status ff_execution_fail_apply(struct ff_work *work, struct ff_fail_in *in,
                                  struct ff_state_out *out, struct ff_error *reterr)
{
    struct ff_ending how = ff_ending_of(FF_END_FAILED);
    struct ff_execution *execution;
    struct ff_policy policy;
    int64_t delay_ms = in->retry_after_ms;
    bool repeat;

    FF_TRY(hash_of(work, in, &how.hash, reterr));
    FF_TRY(ff_find_task(work, &in->task, how.hash, &execution, &repeat, reterr));
    if (repeat) {
        ff_state_answer_again(execution, out);
        return FF_OK;
    }
    ff_policy_read(execution->policy, &policy);
    how.failure_class = (int32_t)in->failure_class;
    how.failure_message = in->message;
    if (delay_ms == FF_NULL64)
        delay_ms = ff_policy_backoff(&policy, execution->retry_count,
                                     ff_get_be32(ff_work_uuid(work, 0).b));
    if (execution->flags & FF_EXEC_NO_NEW_ATTEMPT)
        ff_execution_yield_or_cancel(work, execution, FF_STATE_READY_RETRY, &how);
    else if (in->failure_class == FF_FAILURE_PERMANENT ||
             execution->retry_count >= policy.max_retries)
        ff_execution_finish(work, execution, FF_STATE_FAILED, &how, in->message);
    else
        retry(work, execution, delay_ms, &how);
    ff_state_answer(execution, out);
    out->retry_at_ms = how.retry_at_ms;
    return FF_OK;
}
