/* SPDX-License-Identifier: Apache-2.0
 *
 * server-int.h -- the server's inside. Only the files of src/http may include this.
 *
 * `lock` guards the connections and who waits; it is never held while calling libmicrohttpd, the
 * engine or a handler. */
#ifndef FF_HTTP_SERVER_INT_H
#define FF_HTTP_SERVER_INT_H

#include "base/clock.h"
#include "base/list.h"
#include "http/metrics.h"
#include "http/request.h"
#include "http/server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

/* One connection. */
struct ff_link {
    struct ff_list_node node;
    int fd;
    int64_t until_mono_ms;      /* it is cut then; INT64_MAX: never */
    bool crowded;               /* one too many */
    bool watched;               /* its fd is in the watcher's set */
    struct ff_request *request; /* what is under way; NULL: nothing */
};

struct ff_stream;

struct ff_server {
    struct ff_client *client;
    const struct ff_tokens *tokens;
    struct ff_arena arena; /* copies of the options' texts */
    const char **hosts;
    size_t host_count;
    const char *url;
    bool any_address, is_tls;
    size_t body_bytes_max, bodies_bytes_max, connections_max;
    int64_t sse_comment_ms;
    _Atomic size_t body_bytes; /* of bodies that count against the maximum */
    struct MHD_Daemon *daemon;
    struct ff_pool *work, *look, *health;
    struct ff_clock clock;
    struct ff_metrics metrics;
    pthread_mutex_t lock;
    struct ff_list links;
    size_t link_count;
    struct ff_list streams;
    /* Requests from the end of their headers to the end of their answer, and tasks on their way
     * back. */
    _Atomic size_t under_way;
    _Atomic bool draining, stopping;
    int watch_fd, wake_fd;
    int quiet_fd; /* listened on before; -1: it still is */
    pthread_t watcher;
    bool has_watcher;
    uint64_t round; /* of hurrying everybody */
    int64_t started_ms;
};

int64_t ff_server_mono_ms(const struct ff_server *server);
/* The connection is cut unless it gets further within `ms`; -1: never. */
void ff_link_allow(struct ff_server *server, struct ff_link *link, int64_t ms);

/* --- watch.c --------------------------------------------------------------------------------- */
FF_MUST_CHECK ff_status ff_watch_start(struct ff_server *server, struct ff_error *reterr);
void ff_watch_stop(struct ff_server *server);
/* Look at everybody now. */
void ff_watch_wake(struct ff_server *server);
/* Under the server's lock. */
void ff_watch_add(struct ff_server *server, struct ff_link *link);
void ff_watch_remove(struct ff_server *server, struct ff_link *link);

/* --- admit.c --------------------------------------------------------------------------------- */
/* Everything that can be said from the headers; an answer is there if it is refused. */
void ff_request_admit(struct ff_request *request);
/* The body, read; an answer is there if it is refused. */
void ff_request_parse(struct ff_request *request);

#endif
