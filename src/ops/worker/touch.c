/* SPDX-License-Identifier: Apache-2.0
 *
 * touch.c -- worker.touch: a worker instance has been seen.
 *
 * An instance that was away for longer than it said, or comes back under another worker id, counts
 * as new. Tests: tests/unit/test_ops.c. */
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"

#include "base/banned.h"

void ff_worker_touch_need(struct ff_work *work, struct ff_worker_touch_in *in)
{
    const struct ff_registration key = {.worker_instance_id = in->worker_instance_id};

    ff_work_want(work, FF_TABLE_WORKER, &key, FF_WANT_LOCK);
}

static void register_worker(struct ff_work *work, struct ff_registration *worker)
{
    struct ff_event *const event = ff_work_event(work);

    worker->registered_at_ms = work->now_ms;
    event->kind = FF_EVENT_WORKER;
    event->type = FF_EVENT_WORKER_REGISTERED;
    event->at_ms = work->now_ms;
    event->namespace = worker->namespace;
    event->worker_id = worker->worker_id;
    event->worker_instance_id = worker->worker_instance_id;
}

ff_status ff_worker_touch_apply(struct ff_work *work, struct ff_worker_touch_in *in,
                                struct ff_no_out *out, struct ff_error *reterr)
{
    const struct ff_registration key = {.worker_instance_id = in->worker_instance_id};
    struct ff_registration *worker = ff_work_row(work, FF_TABLE_WORKER, &key);
    const bool is_new = !worker || !ff_str_eq(worker->worker_id, in->worker_id) ||
                        ff_add_i64_clamped(worker->seen_at_ms, worker->ttl_ms) <= work->now_ms;

    (void)out;
    (void)reterr;
    if (worker)
        ff_work_edit(work, worker);
    else
        worker = ff_work_insert(work, FF_TABLE_WORKER, &key);
    worker->worker_id = in->worker_id;
    worker->namespace = in->namespace;
    worker->lanes = in->lanes;
    worker->kinds = in->kinds;
    worker->capabilities = in->capabilities;
    worker->seen_at_ms = ff_max_i64(work->now_ms, worker->seen_at_ms);
    worker->ttl_ms = in->ttl_ms;
    if (is_new)
        register_worker(work, worker);
    return FF_OK;
}
