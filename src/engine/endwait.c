/* SPDX-License-Identifier: Apache-2.0
 *
 * endwait.c -- waiting for the end of an execution or a flow, from the log.
 *
 * A wait begins with the first head that was asked for after it came; from then on it sees every
 * event. Only then its row is looked at, once: what ended before that shows there, what ends later
 * is seen. Rows are never polled. Tests: tests/unit/test_tail.c, tests/conformance/event_wait.c. */
#include "engine/follow.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/engine-int.h"
#include "engine/tail.h"
#include "model/events.h"
#include "sql_ids.h"

#include "base/banned.h"

typedef enum wait_stage {
    WAIT_STARTING,
    WAIT_UNCHECKED, /* sees events; its row is still to be looked at */
    WAIT_ACTIVE,    /* the row said no: an event will tell */
    WAIT_OVER,
} wait_stage;

struct ff_end_wait {
    struct ff_list_node link;
    struct ff_tail *tail;
    struct ff_end_wait_in in;
    uint64_t born;
    wait_stage stage;
};

static struct ff_end_wait *wait_of(struct ff_list_node *node)
{
    return ff_list_item(node, struct ff_end_wait, link);
}

static struct ff_list *bucket(struct ff_tail *tail, struct ff_uuid id)
{
    return &tail->waits[id.b[13] % FF_WAIT_BUCKETS]; /* bytes 8 to 13 of our ids are random */
}

/* THE place where a stage is written: the counts follow. */
static void move(struct ff_end_wait *wait, wait_stage to)
{
    struct ff_tail *const tail = wait->tail;
    size_t *const counts[] = {
        [WAIT_STARTING] = &tail->starting_waits,
        [WAIT_UNCHECKED] = &tail->unchecked_waits,
        [WAIT_ACTIVE] = &tail->active_waits,
        [WAIT_OVER] = &tail->over_waits,
    };

    (*counts[wait->stage])--;
    wait->stage = to;
    (*counts[to])++;
}

static void end(struct ff_end_wait *wait, ff_status status)
{
    if (wait->stage == WAIT_OVER)
        return;
    move(wait, WAIT_OVER);
    wait->in.done(status, wait->in.ctx);
}

/* --- for the tailer, with its lock held --- */

static void for_each(struct ff_tail *tail, void (*visit)(struct ff_end_wait *wait))
{
    for (size_t i = 0; i < FF_WAIT_BUCKETS; i++) {
        FF_LIST_FOR_EACH(node, &tail->waits[i])
        {
            visit(wait_of(node));
        }
    }
}

static void begin(struct ff_end_wait *wait)
{
    if (wait->stage == WAIT_STARTING && wait->born <= wait->tail->settled_poll)
        move(wait, WAIT_UNCHECKED);
}

void ff_end_waits_settle(struct ff_tail *tail)
{
    if (tail->starting_waits > 0)
        for_each(tail, begin);
}

static void look_again(struct ff_end_wait *wait)
{
    if (wait->stage == WAIT_ACTIVE)
        move(wait, WAIT_UNCHECKED);
}

void ff_end_waits_recheck(struct ff_tail *tail)
{
    for_each(tail, look_again);
}

static void close_one(struct ff_end_wait *wait)
{
    end(wait, FF_CLOSED);
}

void ff_end_waits_close(struct ff_tail *tail)
{
    for_each(tail, close_one);
}

static bool ends_flow(const struct ff_event *event)
{
    return event->kind == FF_EVENT_FLOW &&
           (event->type == FF_EVENT_FLOW_COMPLETED || event->type == FF_EVENT_FLOW_FAILED ||
            event->type == FF_EVENT_FLOW_ENDED);
}

void ff_end_waits_see(struct ff_tail *tail, const struct ff_event *event)
{
    const bool is_flow = ends_flow(event);
    const struct ff_uuid id = is_flow ? event->flow_id : event->execution_id;

    if (tail->wait_count == 0 || (!is_flow && event->kind != FF_EVENT_COMPLETION))
        return;
    FF_LIST_FOR_EACH(node, bucket(tail, id))
    {
        struct ff_end_wait *const wait = wait_of(node);

        if (wait->stage != WAIT_STARTING && wait->in.is_flow == is_flow &&
            ff_uuid_eq(wait->in.id.uuid, id))
            end(wait, FF_OK);
    }
}

int64_t ff_end_waits_expire(struct ff_tail *tail, int64_t mono_ms)
{
    int64_t next_ms = INT64_MAX;

    if (tail->wait_count == 0)
        return next_ms;
    for (size_t i = 0; i < FF_WAIT_BUCKETS; i++) {
        FF_LIST_FOR_EACH(node, &tail->waits[i])
        {
            struct ff_end_wait *const wait = wait_of(node);

            if (wait->stage == WAIT_OVER)
                continue;
            if (wait->in.until_mono_ms <= mono_ms)
                end(wait, FF_TIMEOUT);
            else
                next_ms = ff_min_i64(next_ms, wait->in.until_mono_ms);
        }
    }
    return next_ms;
}

struct ff_end_wait *ff_end_waits_unchecked(struct ff_tail *tail)
{
    if (tail->unchecked_waits == 0)
        return NULL;
    for (size_t i = 0; i < FF_WAIT_BUCKETS; i++) {
        FF_LIST_FOR_EACH(node, &tail->waits[i])
        {
            if (wait_of(node)->stage == WAIT_UNCHECKED)
                return wait_of(node);
        }
    }
    return NULL;
}

int ff_end_wait_block(const struct ff_end_wait *wait, struct ff_value *params, size_t *ret_count)
{
    const struct ff_exec_id id = wait->in.id;
    const struct ff_in_execution_ended execution = {.partition_key = id.partition,
                                                    .execution_id = id.uuid};
    const struct ff_in_flow_ended flow = {.partition_key = id.partition, .flow_id = id.uuid};

    if (wait->in.is_flow)
        ff_in_flow_ended_values(&flow, params);
    else
        ff_in_execution_ended_values(&execution, params);
    *ret_count = FF_SQL_EXECUTION_ENDED_PARAMS;
    return wait->in.is_flow ? FF_SQL_FLOW_ENDED : FF_SQL_EXECUTION_ENDED;
}

void ff_end_wait_checked(struct ff_end_wait *wait, bool ended)
{
    if (ended)
        end(wait, FF_OK);
    else if (wait->stage == WAIT_UNCHECKED)
        move(wait, WAIT_ACTIVE);
}

/* --- the ways in --- */

ff_status ff_end_wait_new(struct ff_engine *engine, const struct ff_end_wait_in *in,
                          struct ff_end_wait **ret, struct ff_error *reterr)
{
    struct ff_tail *const tail = engine->tail;
    struct ff_end_wait *const wait = ff_calloc(1, sizeof *wait);
    bool joined;

    if (!wait)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a wait");
    wait->tail = tail;
    wait->in = *in;
    pthread_mutex_lock(&tail->lock);
    joined = ff_tail_join(tail);
    if (joined) {
        wait->born = tail->polls + 1;
        wait->stage = WAIT_STARTING;
        tail->starting_waits++;
        tail->wait_count++;
        ff_list_push_back(bucket(tail, in->id.uuid), &wait->link);
    }
    pthread_mutex_unlock(&tail->lock);
    if (!joined) {
        ff_free(wait);
        return ff_fail(reterr, FF_CLOSED, "engine is closing");
    }
    *ret = wait;
    return FF_OK;
}

void ff_end_wait_free(struct ff_end_wait *wait)
{
    struct ff_tail *tail;

    if (!wait)
        return;
    tail = wait->tail;
    pthread_mutex_lock(&tail->lock);
    if (tail->checking == wait)
        tail->checking = NULL;
    ff_list_remove(&wait->link);
    move(wait, WAIT_OVER);
    tail->over_waits--;
    tail->wait_count--;
    ff_tail_leave(tail);
    ff_free(wait);
}
