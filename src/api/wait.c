/* SPDX-License-Identifier: Apache-2.0
 *
 * wait.c -- waiting for the end of an execution or of a flow.
 *
 * Looks once, then lets the log tell, then looks again: rows are not polled.
 * Read first: src/engine/follow.h. Tests: tests/conformance/event_wait.c. */
#include "api/api-int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/wait.h"
#include "engine/follow.h"

#include <pthread.h>

#include "base/banned.h"

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;
    ff_status status;
};

static void wait_over(ff_status status, void *ctx)
{
    struct waiter *const waiter = ctx;

    pthread_mutex_lock(&waiter->lock);
    waiter->over = true;
    waiter->status = status;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

/* Also FF_OK when time is over: the caller looks at the object anyway. */
static ff_status wait_for_end(struct ff_client *client, struct ff_end_wait_in *in, int64_t wait_ms,
                              struct ff_error *reterr)
{
    struct waiter waiter = {.over = false};
    struct ff_end_wait *wait = NULL;
    ff_status status;

    pthread_mutex_init(&waiter.lock, NULL);
    ff_wait_init(&waiter.changed);
    in->until_mono_ms =
        ff_add_i64_clamped(ff_clock_mono_ms(ff_engine_clock(client->engine)), wait_ms);
    in->done = wait_over;
    in->ctx = &waiter;
    status = ff_end_wait_new(client->engine, in, &wait, reterr);
    if (status == FF_OK) {
        pthread_mutex_lock(&waiter.lock);
        while (!waiter.over)
            pthread_cond_wait(&waiter.changed, &waiter.lock);
        status = waiter.status;
        pthread_mutex_unlock(&waiter.lock);
        ff_end_wait_free(wait);
        if (status == FF_CLOSED)
            status = ff_fail(reterr, FF_CLOSED, "engine is closing");
        else
            status = FF_OK;
    }
    pthread_cond_destroy(&waiter.changed);
    pthread_mutex_destroy(&waiter.lock);
    return status;
}

static ff_status check_wait(int64_t wait_ms, struct ff_error *reterr)
{
    if (wait_ms < 0)
        return ff_fail_field(reterr, FF_INVALID, "wait_ms", "wait_ms is not negative");
    return FF_OK;
}

ff_status ff_local_wait(struct ff_client *client, const char *execution_id, int64_t wait_ms,
                        struct ff_info_list *ret, struct ff_error *reterr)
{
    struct ff_end_wait_in in = {0};

    FF_TRY(check_wait(wait_ms, reterr));
    FF_TRY(ff_local_get(client, execution_id, ret, reterr));
    if (ret->items[0].finished || wait_ms == 0)
        return FF_OK;
    FF_TRY(ff_exec_id_parse(ff_str_of(ret->items[0].execution_id), &in.id, reterr));
    ff_answer_free(ret);
    FF_TRY(wait_for_end(client, &in, wait_ms, reterr));
    return ff_local_get(client, execution_id, ret, reterr);
}

ff_status ff_local_flow_wait(struct ff_client *client, const char *flow_id, int64_t wait_ms,
                             struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    struct ff_end_wait_in in = {.is_flow = true};

    FF_TRY(check_wait(wait_ms, reterr));
    FF_TRY(ff_local_flow_get(client, flow_id, ret, reterr));
    if (ret->items[0].finished_at_ms != FF_ABSENT_MS || wait_ms == 0)
        return FF_OK;
    FF_TRY(ff_flow_id_parse(ff_str_of(ret->items[0].flow_id), &in.id.uuid, reterr));
    in.id.partition = ff_flow_partition(in.id.uuid);
    ff_answer_free(ret);
    FF_TRY(wait_for_end(client, &in, wait_ms, reterr));
    return ff_local_flow_get(client, flow_id, ret, reterr);
}
