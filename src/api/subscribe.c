/* SPDX-License-Identifier: Apache-2.0
 *
 * subscribe.c -- subscriptions: to be asked, or with a thread that calls back.
 *
 * Tests: tests/unit/test_subscribe.c, tests/conformance/event_subscribe.c, tests/events. */
#include "api/subscription.h"

#include <string.h>

#include "api/events.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/wait.h"

#include "base/banned.h"

#define CALLBACK_WAIT_MS 60000 /* nothing depends on it: an interrupt ends the wait */
#define NO_MEMORY_MS     200   /* before a callback's thread asks again */

/* --- a follower somebody can wait for --- */

void ff_reading_wake(struct ff_reading *reading)
{
    pthread_mutex_lock(&reading->lock);
    reading->is_ready = true;
    pthread_cond_broadcast(&reading->changed);
    pthread_mutex_unlock(&reading->lock);
}

static void reading_ready(void *ctx)
{
    ff_reading_wake(ctx);
}

ff_status ff_reading_init(struct ff_reading *reading, struct ff_client *client,
                          struct ff_follow_in *in, struct ff_error *reterr)
{
    ff_status status;

    pthread_mutex_init(&reading->lock, NULL);
    ff_wait_init(&reading->changed);
    reading->is_ready = false;
    reading->follow = NULL; /* for the case that there is no memory for one */
    in->ready = reading_ready;
    in->ctx = reading;
    status = ff_follow_new(client->engine, in, &reading->follow, reterr);
    if (status != FF_OK)
        ff_reading_done(reading);
    return status;
}

void ff_reading_done(struct ff_reading *reading)
{
    ff_follow_free(reading->follow);
    reading->follow = NULL;
    pthread_cond_destroy(&reading->changed);
    pthread_mutex_destroy(&reading->lock);
}

bool ff_reading_wait(struct ff_reading *reading, int64_t until_mono_ms)
{
    const struct ff_clock clock = ff_clock_system();
    bool is_ready;

    pthread_mutex_lock(&reading->lock);
    while (!reading->is_ready) {
        const int64_t left_ms = until_mono_ms - ff_clock_mono_ms(&clock);

        if (left_ms <= 0)
            break;
        ff_wait_ms(&reading->changed, &reading->lock, left_ms);
    }
    is_ready = reading->is_ready;
    reading->is_ready = false;
    pthread_mutex_unlock(&reading->lock);
    return is_ready;
}

/* --- in process --- */

struct local {
    struct ff_subscription base;
    struct ff_reading reading;
};

static struct local *local_of(struct ff_subscription *base)
{
    return ff_container_of(base, struct local, base);
}

static ff_status local_next(struct ff_subscription *base, size_t max, int64_t timeout_ms,
                            struct ff_delivery *ret, struct ff_error *reterr)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t until_ms = ff_add_i64_clamped(ff_clock_mono_ms(&clock), timeout_ms);
    struct ff_reading *const reading = &local_of(base)->reading;
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    struct ff_followed taken;
    ff_status status;

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a delivery");
    for (;;) {
        FF_TRY(ff_follow_take(reading->follow, &memory->arena, max, &taken, reterr));
        if (taken.count || taken.notice || !ff_reading_wait(reading, until_ms) ||
            atomic_load(&base->stopping))
            break;
    }
    *ret = (struct ff_delivery){.notice = ff_notice_name(taken.notice), .count = taken.count};
    status = taken.count ? ff_event_infos(&memory->arena, &taken, &ret->items, reterr) : FF_OK;
    if (status != FF_OK) {
        ff_follow_give_back(reading->follow);
        *ret = (struct ff_delivery){0};
        return status;
    }
    ff_event_cursor(taken.cursor, ret->cursor);
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

static void local_interrupt(struct ff_subscription *base)
{
    ff_reading_wake(&local_of(base)->reading);
}

static void local_free(struct ff_subscription *base)
{
    ff_reading_done(&local_of(base)->reading);
    ff_free(local_of(base));
}

static const struct ff_subscription_ops local_ops = {
    .next = local_next,
    .interrupt = local_interrupt,
    .free = local_free,
};

/* The place to begin is settled before the caller goes on. */
static ff_status wait_for_start(struct ff_client *client, struct ff_reading *reading,
                                struct ff_error *reterr)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t until_ms = ff_clock_mono_ms(&clock) + client->timeout_ms;
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    struct ff_followed taken;

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a subscription");
    for (;;) {
        FF_TRY(ff_follow_take(reading->follow, &memory->arena, 0, &taken, reterr));
        if (taken.started)
            break;
        if (!ff_reading_wait(reading, until_ms))
            return ff_fail(reterr, FF_UNAVAILABLE, "the log cannot be read in time");
    }
    if (taken.more)
        ff_reading_wake(reading); /* `ready` will not be called again for what is there */
    return FF_OK;
}

ff_status ff_local_subscribe(struct ff_client *client, const struct ff_event_filter *filter,
                             const char *after, struct ff_subscription **ret,
                             struct ff_error *reterr)
{
    struct ff_follow_in in = {0};
    struct local *local;
    ff_status status;

    if (!ret)
        return ff_fail_field(reterr, FF_INVALID, "ret", "there is no place for the subscription");
    FF_TRY(ff_event_after_of(after, &in.after, reterr));
    FF_TRY(ff_event_match_of(client, filter, &in.match, reterr));
    local = ff_calloc(1, sizeof *local);
    if (!local)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a subscription");
    local->base.ops = &local_ops;
    status = ff_reading_init(&local->reading, client, &in, reterr);
    if (status != FF_OK) {
        ff_free(local);
        return status;
    }
    status = wait_for_start(client, &local->reading, reterr);
    if (status != FF_OK) {
        local_free(&local->base);
        return status;
    }
    *ret = &local->base;
    return FF_OK;
}

/* --- for every kind of client --- */

ff_status ff_subscription_next(struct ff_subscription *subscription, size_t max, int64_t timeout_ms,
                               struct ff_delivery *ret, struct ff_error *reterr)
{
    if (!subscription || subscription->has_thread)
        return ff_fail_field(reterr, FF_INVALID, "subscription",
                             "there is no subscription that can be asked");
    return subscription->ops->next(subscription, max ? max : FF_EVENT_PAGE,
                                   ff_max_i64(timeout_ms, 0), ret, reterr);
}

/* Until somebody unsubscribes, or the time is over. */
static void rest(struct ff_subscription *subscription, int64_t ms)
{
    pthread_mutex_lock(&subscription->lock);
    if (!atomic_load(&subscription->stopping))
        ff_wait_ms(&subscription->stopped, &subscription->lock, ms);
    pthread_mutex_unlock(&subscription->lock);
}

/* False: the callback has enough. */
static bool hand_over(struct ff_subscription *subscription, const struct ff_delivery *delivery)
{
    if ((!delivery->count && !delivery->notice) || atomic_load(&subscription->stopping))
        return true;
    return subscription->on_delivery(delivery, subscription->ctx);
}

static void *call_back(void *arg)
{
    struct ff_subscription *const subscription = arg;
    struct ff_delivery last = {.notice = "closed"};
    bool go_on = true;

    while (go_on && !atomic_load(&subscription->stopping)) {
        FF_AUTO(ff_answer_free) struct ff_delivery delivery = {0};
        struct ff_error error;
        const ff_status status = subscription->ops->next(subscription, FF_EVENT_PAGE,
                                                         CALLBACK_WAIT_MS, &delivery, &error);

        if (status == FF_NO_MEMORY) {
            rest(subscription, NO_MEMORY_MS);
        } else if (status == FF_OK) {
            memcpy(last.cursor, delivery.cursor, sizeof last.cursor);
            go_on = hand_over(subscription, &delivery);
        } else {
            (void)hand_over(subscription, &last);
            go_on = false;
        }
    }
    return NULL;
}

static void callback_done(struct ff_subscription *subscription)
{
    subscription->has_thread = false;
    pthread_cond_destroy(&subscription->stopped);
    pthread_mutex_destroy(&subscription->lock);
}

ff_status ff_subscribe_callback(struct ff_client *client, const struct ff_event_filter *filter,
                                const char *after, ff_on_delivery on_delivery, void *ctx,
                                struct ff_subscription **ret, struct ff_error *reterr)
{
    struct ff_subscription *subscription = NULL;

    if (!on_delivery || !ret)
        return ff_fail_field(reterr, FF_INVALID, on_delivery ? "ret" : "on_delivery",
                             "on_delivery and a place for the subscription are required");
    FF_TRY(ff_subscribe(client, filter, after, &subscription, reterr));
    subscription->on_delivery = on_delivery;
    subscription->ctx = ctx;
    subscription->has_thread = true;
    pthread_mutex_init(&subscription->lock, NULL);
    ff_wait_init(&subscription->stopped);
    if (pthread_create(&subscription->thread, NULL, call_back, subscription) != 0) {
        callback_done(subscription);
        ff_unsubscribe(subscription);
        return ff_fail(reterr, FF_NO_MEMORY, "cannot start a thread");
    }
    *ret = subscription;
    return FF_OK;
}

void ff_unsubscribe(struct ff_subscription *subscription)
{
    if (!subscription)
        return;
    atomic_store(&subscription->stopping, true);
    subscription->ops->interrupt(subscription);
    if (subscription->has_thread) {
        pthread_mutex_lock(&subscription->lock);
        pthread_cond_signal(&subscription->stopped);
        pthread_mutex_unlock(&subscription->lock);
        pthread_join(subscription->thread, NULL);
        callback_done(subscription);
    }
    subscription->ops->free(subscription);
}
