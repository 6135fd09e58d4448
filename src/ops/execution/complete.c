/* SPDX-License-Identifier: Apache-2.0
 *
 * complete.c -- execution.complete: the attempt succeeded.
 *
 * Tests: tests/unit/test_ops.c. */
#include "base/macros.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_complete_need(struct ff_work *work, struct ff_complete_in *in)
{
    ff_work_lock_execution(work, in->task.id);
    if (ff_lease_is_of_member(in->task.lease_id))
        ff_hop_need_edges(work, in->task.id);
}

/* One result per generation: there is one success per generation, so the key is new. */
static void insert_result(struct ff_work *work, const struct ff_execution *execution,
                          const struct ff_complete_in *in)
{
    const struct ff_payload key = {.partition_key = execution->partition_key,
                                   .execution_id = execution->execution_id,
                                   .generation = execution->generation,
                                   .kind = FF_PAYLOAD_RESULT};
    struct ff_payload *const payload = ff_work_insert_new(work, FF_TABLE_PAYLOAD, &key);

    payload->data = in->result;
    payload->content_type = in->result_type;
}

ff_status ff_execution_complete_apply(struct ff_work *work, struct ff_complete_in *in,
                                      struct ff_state_out *out, struct ff_error *reterr)
{
    const struct ff_str said[] = {in->result, in->result_type};
    struct ff_ending how = ff_ending_of(FF_END_COMPLETED);
    struct ff_execution *execution;
    bool repeat;

    FF_TRY(ff_word_hash(work, 'c', said, FF_ARRAY_LEN(said), &how.hash, reterr));
    FF_TRY(ff_find_task(work, &in->task, how.hash, &execution, &repeat, reterr));
    if (repeat) {
        ff_state_answer_again(execution, out);
        return FF_OK;
    }
    if (!ff_str_is_null(in->result))
        insert_result(work, execution, in);
    ff_execution_finish(work, execution, FF_STATE_SUCCESS, &how, ff_str_null());
    ff_state_answer(execution, out);
    return FF_OK;
}
