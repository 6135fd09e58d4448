/* SPDX-License-Identifier: Apache-2.0
 *
 * test_subscribe.c -- the thread of a callback subscription: what ends it, and what does not.
 *
 * The client is a table with one entry: its subscription says what the script tells it to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "api/client.h"
#include "api/subscription.h"
#include "base/wait.h"

#include "base/banned.h"

#define SCRIPT_MAX 8

/* What `next` answers, one after the other; then it waits for the interrupt. */
struct answer {
    ff_status status;
    size_t count;
};

static struct {
    struct ff_subscription base;
    const struct answer *script;
    size_t at;
    bool interrupted;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char heard[128]; /* "2 closed@c2" */
    size_t calls;
} line;

static ff_status line_next(struct ff_subscription *base, size_t max, int64_t timeout_ms,
                           struct ff_delivery *ret, struct ff_error *reterr)
{
    struct answer answer = {FF_OK, 0};

    (void)base;
    (void)max;
    (void)timeout_ms;
    (void)reterr;
    pthread_mutex_lock(&line.lock);
    if (line.script[line.at].status != FF_OK || line.script[line.at].count) {
        answer = line.script[line.at++];
        *ret = (struct ff_delivery){.count = answer.count};
        (void)snprintf(ret->cursor, sizeof ret->cursor, "c%zu", answer.count);
    } else {
        while (!line.interrupted)
            pthread_cond_wait(&line.changed, &line.lock);
    }
    pthread_mutex_unlock(&line.lock);
    return answer.status;
}

static void line_interrupt(struct ff_subscription *base)
{
    (void)base;
    pthread_mutex_lock(&line.lock);
    line.interrupted = true;
    pthread_cond_broadcast(&line.changed);
    pthread_mutex_unlock(&line.lock);
}

static void line_free(struct ff_subscription *base)
{
    (void)base;
}

static ff_status line_subscribe(struct ff_client *client, const struct ff_event_filter *filter,
                                const char *after, struct ff_subscription **ret,
                                struct ff_error *reterr)
{
    static const struct ff_subscription_ops ops = {line_next, line_interrupt, line_free};

    (void)client;
    (void)filter;
    (void)after;
    (void)reterr;
    line.base = (struct ff_subscription){.ops = &ops};
    *ret = &line.base;
    return FF_OK;
}

static bool hear(const struct ff_delivery *delivery, void *ctx)
{
    size_t used;

    (void)ctx;
    pthread_mutex_lock(&line.lock);
    used = strlen(line.heard);
    if (delivery->notice)
        (void)snprintf(line.heard + used, sizeof line.heard - used, " %s@%s", delivery->notice,
                       delivery->cursor);
    else
        (void)snprintf(line.heard + used, sizeof line.heard - used, " %zu", delivery->count);
    line.calls++;
    pthread_cond_broadcast(&line.changed);
    pthread_mutex_unlock(&line.lock);
    return true;
}

/* Everything a callback hears of this script, once it has been called `calls` times. */
static const char *heard_of(const struct answer *script, size_t calls)
{
    static const struct ff_calls table = {.subscribe = line_subscribe};
    struct ff_client client = {.calls = &table, .pid = getpid()};
    struct ff_subscription *subscription = NULL;
    struct ff_error error;

    memset(&line, 0, sizeof line);
    pthread_mutex_init(&line.lock, NULL);
    ff_wait_init(&line.changed);
    line.script = script;
    assert_int_equal(ff_subscribe_callback(&client, NULL, NULL, hear, NULL, &subscription, &error),
                     FF_OK);
    pthread_mutex_lock(&line.lock);
    for (int i = 0; i < 200 && line.calls < calls; i++)
        ff_wait_ms(&line.changed, &line.lock, 100);
    pthread_mutex_unlock(&line.lock);
    ff_unsubscribe(subscription);
    pthread_cond_destroy(&line.changed);
    pthread_mutex_destroy(&line.lock);
    return line.heard;
}

static void test_subscribe__no_memory_does_not_end_it(void **state)
{
    static const struct answer script[SCRIPT_MAX] = {
        {FF_OK, 1}, {FF_NO_MEMORY, 0}, {FF_NO_MEMORY, 0}, {FF_OK, 2}};

    (void)state;
    assert_string_equal(heard_of(script, 2), " 1 2");
}

static void test_subscribe__end_is_told_with_the_last_cursor(void **state)
{
    static const struct answer script[SCRIPT_MAX] = {{FF_OK, 3}, {FF_CLOSED, 0}, {FF_OK, 4}};

    (void)state;
    assert_string_equal(heard_of(script, 2), " 3 closed@c3");
}

/* Whoever unsubscribes does not wait until memory is asked for again, and hears nothing more. */
static void test_subscribe__unsubscribed_without_memory(void **state)
{
    static const struct answer script[SCRIPT_MAX] = {{FF_OK, 1}, {FF_NO_MEMORY, 0}};

    (void)state;
    assert_string_equal(heard_of(script, 1), " 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subscribe__no_memory_does_not_end_it),
        cmocka_unit_test(test_subscribe__end_is_told_with_the_last_cursor),
        cmocka_unit_test(test_subscribe__unsubscribed_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
