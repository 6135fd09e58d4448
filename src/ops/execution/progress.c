/* SPDX-License-Identifier: Apache-2.0
 *
 * progress.c -- execution.progress: how far the holder of a lease has come.
 *
 * In a table of its own, so that it does not rewrite the execution. No event.
 * Tests: tests/unit/test_ops.c. */
#include "base/macros.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

static struct ff_progress progress_key(struct ff_exec_id id)
{
    return (struct ff_progress){.partition_key = id.partition, .execution_id = id.uuid};
}

void ff_execution_progress_need(struct ff_work *work, struct ff_progress_in *in)
{
    const struct ff_progress key = progress_key(in->task.id);

    ff_work_lock_execution(work, in->task.id);
    ff_work_want(work, FF_TABLE_PROGRESS, &key, FF_WANT_LOCK);
}

ff_status ff_execution_progress_apply(struct ff_work *work, struct ff_progress_in *in,
                                      struct ff_no_out *out, struct ff_error *reterr)
{
    const struct ff_progress key = progress_key(in->task.id);
    struct ff_execution *execution;
    struct ff_progress *progress;
    bool repeat;

    (void)out;
    FF_TRY(ff_find_task(work, &in->task, ff_str_null(), &execution, &repeat, reterr));
    if (in->percent == FF_NULL32 && ff_str_is_null(in->message))
        return FF_OK;
    progress = ff_work_row(work, FF_TABLE_PROGRESS, &key);
    if (progress)
        ff_work_edit(work, progress);
    else
        progress = ff_work_insert(work, FF_TABLE_PROGRESS, &key);
    if (progress->generation != execution->generation) { /* what was said before a replay is over */
        progress->generation = execution->generation;
        progress->percent = FF_NULL32;
        progress->message = ff_str_null();
    }
    if (in->percent != FF_NULL32)
        progress->percent = in->percent;
    if (!ff_str_is_null(in->message))
        progress->message = in->message;
    progress->updated_at_ms = ff_max_i64(work->now_ms, progress->updated_at_ms);
    return FF_OK;
}
