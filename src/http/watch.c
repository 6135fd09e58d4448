/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.c -- one thread that notices clients that have gone, and cuts those that are too slow.
 *
 * libmicrohttpd does not look at a suspended connection; we do, with an epoll set of our own.
 * Tests: tests/e2e/test_http.py. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/macros.h"
#include "http/limits.h"
#include "http/server-int.h"
#include "http/stream.h"

#include "base/banned.h"

#define LOOK_EVERY_MS 100
#define EVENTS_MAX    64

void ff_watch_add(struct ff_server *server, struct ff_link *link)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.fd = link->fd};

    if (!link->watched && epoll_ctl(server->watch_fd, EPOLL_CTL_ADD, link->fd, &event) == 0)
        link->watched = true;
}

void ff_watch_remove(struct ff_server *server, struct ff_link *link)
{
    if (link->watched)
        (void)epoll_ctl(server->watch_fd, EPOLL_CTL_DEL, link->fd, NULL);
    link->watched = false;
}

void ff_watch_wake(struct ff_server *server)
{
    const uint64_t one = 1;

    if (write(server->wake_fd, &one, sizeof one) < 0)
        ff_log(FF_LOG_DEBUG, "http", "watcher is awake already");
}

/* The connection of a descriptor; it may have ended since. Under the lock. */
static struct ff_link *link_of(struct ff_server *server, int fd)
{
    FF_LIST_FOR_EACH(node, &server->links)
    {
        struct ff_link *const link = ff_list_item(node, struct ff_link, node);

        if (link->fd == fd && link->watched)
            return link;
    }
    return NULL;
}

/* Ends the wait of a request. Called with the lock held, returns with it held. */
static void hurry(struct ff_server *server, struct ff_request *request)
{
    bool is_over;

    if (!request || !request->waiting || !request->hurry || request->held)
        return;
    request->held = true;
    pthread_mutex_unlock(&server->lock);
    is_over = request->hurry(request);
    ff_request_unhold(request, is_over);
    pthread_mutex_lock(&server->lock);
}

static void client_gone(struct ff_server *server, int fd)
{
    struct ff_link *link;

    pthread_mutex_lock(&server->lock);
    link = link_of(server, fd);
    if (link && link->request) {
        link->request->gone = true;
        server->metrics.gone_total++;
        hurry(server, link->request);
    }
    pthread_mutex_unlock(&server->lock);
}

/* One that waits and is to be hurried in this round; the list changes while it is, so one at a
 * time. Under the lock. */
static struct ff_request *next_waiting(struct ff_server *server, int64_t now_ms)
{
    FF_LIST_FOR_EACH(node, &server->links)
    {
        struct ff_request *const request = ff_list_item(node, struct ff_link, node)->request;

        if (!request || !request->waiting || request->held || !request->hurry ||
            request->hurried == server->round)
            continue;
        if (server->draining || request->until_mono_ms <= now_ms)
            return request;
    }
    return NULL;
}

/* Those whose time is over; all of them when the server stops. */
static void hurry_late(struct ff_server *server)
{
    const int64_t now_ms = ff_server_mono_ms(server);
    struct ff_request *request;

    pthread_mutex_lock(&server->lock);
    server->round++;
    while ((request = next_waiting(server, now_ms))) {
        request->hurried = server->round;
        hurry(server, request);
    }
    pthread_mutex_unlock(&server->lock);
}

static void cut_slow(struct ff_server *server)
{
    const int64_t now_ms = ff_server_mono_ms(server);

    pthread_mutex_lock(&server->lock);
    FF_LIST_FOR_EACH(node, &server->links)
    {
        struct ff_link *const link = ff_list_item(node, struct ff_link, node);
        const bool is_idle = !link->request;

        if (link->until_mono_ms > now_ms && !(server->draining && is_idle))
            continue;
        link->until_mono_ms = INT64_MAX; /* once */
        server->metrics.cut_total++;
        (void)shutdown(link->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->lock);
}

static void *watch(void *ctx)
{
    struct ff_server *const server = ctx;
    struct epoll_event events[EVENTS_MAX];

    while (!server->stopping) {
        const int count = epoll_wait(server->watch_fd, events, EVENTS_MAX, LOOK_EVERY_MS);

        for (int i = 0; i < count; i++) {
            uint64_t woken;

            if (events[i].data.fd != server->wake_fd)
                client_gone(server, events[i].data.fd);
            else if (read(server->wake_fd, &woken, sizeof woken) < 0)
                ff_log(FF_LOG_DEBUG, "http", "watcher was not woken");
        }
        hurry_late(server);
        ff_streams_look(server);
        cut_slow(server);
    }
    return NULL;
}

ff_status ff_watch_start(struct ff_server *server, struct ff_error *reterr)
{
    struct epoll_event event = {.events = EPOLLIN};
    int problem;

    server->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event.data.fd = server->wake_fd;
    if (server->watch_fd < 0 || server->wake_fd < 0 ||
        epoll_ctl(server->watch_fd, EPOLL_CTL_ADD, server->wake_fd, &event) != 0)
        return ff_fail(reterr, FF_INTERNAL, "cannot watch connections: %s", strerror(errno));
    problem = pthread_create(&server->watcher, NULL, watch, server);
    if (problem)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot start a thread: %s", strerror(problem));
    server->has_watcher = true;
    (void)pthread_setname_np(server->watcher, "ff-watch");
    return FF_OK;
}

void ff_watch_stop(struct ff_server *server)
{
    server->stopping = true;
    if (server->has_watcher) {
        ff_watch_wake(server);
        (void)pthread_join(server->watcher, NULL);
    }
    if (server->watch_fd >= 0)
        (void)close(server->watch_fd);
    if (server->wake_fd >= 0)
        (void)close(server->wake_fd);
}
