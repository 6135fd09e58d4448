/* SPDX-License-Identifier: Apache-2.0
 *
 * pause.c -- lane.pause: stop or resume handing out the executions of a lane.
 *
 * Running work goes on. Tests: tests/unit/test_ops.c. */
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"

#include "base/banned.h"

void ff_lane_pause_need(struct ff_work *work, struct ff_lane_pause_in *in)
{
    const struct ff_lane key = {.lane = in->lane};

    ff_work_want(work, FF_TABLE_LANE, &key, FF_WANT_LOCK);
}

ff_status ff_lane_pause_apply(struct ff_work *work, struct ff_lane_pause_in *in,
                              struct ff_no_out *out, struct ff_error *reterr)
{
    const struct ff_lane key = {.lane = in->lane};
    struct ff_lane *lane = ff_work_row(work, FF_TABLE_LANE, &key);
    struct ff_event *event;

    (void)out;
    (void)reterr;
    if ((lane && lane->paused != 0) == in->paused)
        return FF_OK;
    if (lane)
        ff_work_edit(work, lane);
    else
        lane = ff_work_insert(work, FF_TABLE_LANE, &key);
    lane->paused = in->paused ? 1 : 0;
    lane->reason = in->paused ? in->reason : ff_str_null();
    lane->changed_at_ms = ff_max_i64(work->now_ms, lane->changed_at_ms);
    event = ff_work_event(work);
    event->kind = FF_EVENT_OPERATOR;
    event->type = in->paused ? FF_EVENT_OPERATOR_LANE_PAUSED : FF_EVENT_OPERATOR_LANE_RESUMED;
    event->at_ms = lane->changed_at_ms;
    event->note = in->lane;
    event->prev_owner = in->by;
    return FF_OK;
}
