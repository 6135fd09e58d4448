/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hand.c -- calls of a hand end when it says so, and those of its client do not.
 *
 * Of src/api and src/remote, with a server that only listens. No sleep. */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/hand.h"
#include "base/clock.h"

#define LATE_MS 20000 /* a call that nobody ends takes 32 s */

static const char id[] = "{fp:0}:00000000-0000-7000-8000-000000000000";

struct asking {
    struct ff_client *client;
    pthread_t thread;
    ff_status status;
    struct ff_bytes bytes;
};

static int64_t now_ms(void)
{
    const struct ff_clock clock = ff_clock_system();

    return ff_clock_mono_ms(&clock);
}

static int listener(struct ff_client **ret_client)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof here;
    char url[64];

    assert_int_equal(0, bind(fd, (struct sockaddr *)&here, sizeof here));
    assert_int_equal(0, listen(fd, 4));
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&here, &len));
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", (int)ntohs(here.sin_port));
    assert_int_equal(FF_OK, ff_open(url, NULL, ret_client, NULL));
    return fd;
}

static void *ask(void *arg)
{
    struct asking *const asking = arg;

    asking->status = ff_result(asking->client, id, &asking->bytes, NULL);
    return NULL;
}

/* Its connection; the request has been read. */
static int when_asked(struct asking *asking, struct ff_client *client, int server)
{
    char text[8192] = "";
    size_t len = 0;

    asking->client = client;
    assert_int_equal(0, pthread_create(&asking->thread, NULL, ask, asking));
    const int fd = accept(server, NULL, NULL);
    assert_true(fd >= 0);
    while (!strstr(text, "\r\n\r\n")) {
        const ssize_t got = read(fd, text + len, sizeof text - 1 - len);

        assert_true(got > 0);
        len += (size_t)got;
    }
    return fd;
}

static void test_hand__its_calls_end_and_nobody_elses(void **state)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                 "Content-Length: 2\r\n\r\n42";
    struct ff_client *client = NULL;
    const int server = listener(&client);
    struct ff_client *const hand = ff_hand_new(client);
    struct asking ours = {0}, others = {0};

    (void)state;
    const int first = when_asked(&others, client, server);
    const int second = when_asked(&ours, hand, server);
    const int64_t began_ms = now_ms();
    ff_hand_end_by(hand, began_ms);
    pthread_join(ours.thread, NULL);
    assert_int_equal(FF_TIMEOUT, ours.status);
    assert_true(now_ms() - began_ms < LATE_MS);

    assert_int_equal(sizeof answer - 1, write(first, answer, sizeof answer - 1));
    pthread_join(others.thread, NULL);
    assert_int_equal(FF_OK, others.status);
    assert_int_equal(2, others.bytes.data.len);
    ff_answer_free(&others.bytes);
    (void)close(first);
    (void)close(second);
    ff_hand_free(hand);
    (void)ff_close(client, 0);
    (void)close(server);
}

static void test_hand__later_calls_end_then_too(void **state)
{
    struct ff_client *client = NULL;
    const int server = listener(&client);
    struct ff_client *const hand = ff_hand_new(client);
    struct ff_bytes bytes;
    const int64_t began_ms = now_ms();

    (void)state;
    ff_hand_end_by(hand, began_ms + 20);
    assert_int_equal(FF_TIMEOUT, ff_result(hand, id, &bytes, NULL));
    assert_true(now_ms() - began_ms >= 20);
    /* Not even asked. */
    assert_int_equal(FF_UNAVAILABLE, ff_result(hand, id, &bytes, NULL));
    assert_true(now_ms() - began_ms < LATE_MS);
    ff_hand_free(hand);
    (void)ff_close(client, 0);
    (void)close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand__its_calls_end_and_nobody_elses),
        cmocka_unit_test(test_hand__later_calls_end_then_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
