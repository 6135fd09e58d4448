/* SPDX-License-Identifier: Apache-2.0
 *
 * server.c -- the HTTP server: starting, draining, ending; its connections.
 *
 * Tests: tests/e2e/test_http.py. */
#include "http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/async.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

#define ARENA_BYTES_MAX (1 << 20)
#define BACKLOG         1024

int64_t ff_server_mono_ms(const struct ff_server *server)
{
    return ff_clock_mono_ms(&server->clock);
}

const char *ff_server_url(const struct ff_server *server)
{
    return server->url;
}

/* ---- connections ------------------------------------------------------------------------------
 */

void ff_link_allow(struct ff_server *server, struct ff_link *link, int64_t ms)
{
    const int64_t until_ms = ms < 0 ? INT64_MAX : ff_server_mono_ms(server) + ms;

    pthread_mutex_lock(&server->lock);
    link->until_mono_ms = until_ms;
    pthread_mutex_unlock(&server->lock);
}

static struct ff_link *link_new(struct ff_server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ff_link *const link = ff_calloc(1, sizeof *link);

    if (!link)
        return NULL;
    link->fd = info ? info->connect_fd : -1;
    link->until_mono_ms = ff_server_mono_ms(server) + FF_HTTP_FIRST_MS;
    pthread_mutex_lock(&server->lock);
    ff_list_push_back(&server->links, &link->node);
    link->crowded = ++server->link_count > server->connections_max;
    pthread_mutex_unlock(&server->lock);
    server->metrics.connections_total++;
    server->metrics.crowded_total += link->crowded;
    return link;
}

static void link_free(struct ff_server *server, struct ff_link *link)
{
    pthread_mutex_lock(&server->lock);
    ff_watch_remove(server, link);
    ff_list_remove(&link->node);
    server->link_count--;
    pthread_mutex_unlock(&server->lock);
    ff_free(link);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct ff_server *const server = ctx;

    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *socket_context = link_new(server, connection);
    else if (*socket_context)
        link_free(server, *socket_context);
}

static struct ff_link *link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *connection)
{
    struct ff_link *const link = link_of(connection);

    return link ? ff_request_new(ctx, link, connection, uri) : NULL;
}

static enum MHD_Result on_access(void *ctx, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_bytes, void **request)
{
    (void)ctx;
    (void)connection;
    (void)url;
    (void)version;
    return *request ? ff_request_data(*request, method, data, data_bytes) : MHD_NO;
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    (void)ctx;
    (void)connection;
    if (*request)
        ff_request_over(*request, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    *request = NULL;
}

/* What libmicrohttpd says, to everybody but the client, when it answers what is not HTTP by itself.
 * It gives us no other hint, and none about which connection it was. */
#define NOT_HTTP "Error processing request"

static void on_log(void *ctx, const char *fmt, va_list args)
{
    struct ff_server *const server = ctx;
    char text[512];

    server->metrics.malformed_total += strncmp(fmt, NOT_HTTP, sizeof NOT_HTTP - 1) == 0;
    if (!ff_log_enabled(FF_LOG_DEBUG))
        return;
    (void)vsnprintf(text, sizeof text, fmt, args);
    text[strcspn(text, "\n")] = '\0';
    ff_log(FF_LOG_DEBUG, "http", "%s", text);
}

/* ---- starting ---------------------------------------------------------------------------------
 */

static ff_status address_of(const char *text, const char *host, int port, struct addrinfo **ret,
                            struct ff_error *reterr)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    char service[8];
    int problem;

    (void)snprintf(service, sizeof service, "%d", port);
    problem = getaddrinfo(host, service, &hints, ret);
    if (problem)
        return ff_fail_field(reterr, FF_INVALID, "listen", "cannot listen on '%s': %s", text,
                             gai_strerror(problem));
    return FF_OK;
}

static ff_status listen_on(const char *text, const struct addrinfo *address, int *ret_fd,
                           struct ff_error *reterr)
{
    const int on = 1;
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return ff_fail(reterr, FF_INVALID, "cannot listen on '%s': %s", text, strerror(errno));
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        const int problem = errno;

        (void)close(fd);
        return ff_fail_field(reterr, FF_INVALID, "listen", "cannot listen on '%s': %s", text,
                             strerror(problem));
    }
    *ret_fd = fd;
    return FF_OK;
}

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name;
    socklen_t len = sizeof name;

    if (getsockname(fd, &name.any, &len) != 0)
        return 0;
    return ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
}

/* Whether the address is this machine's own, or everybody's. */
static void look_at(const struct addrinfo *address, bool *ret_loopback, bool *ret_any)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof host, NULL, 0,
                    NI_NUMERICHOST) != 0)
        host[0] = '\0';
    *ret_loopback = ff_host_is_loopback(host);
    *ret_any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static ff_status open_socket(struct ff_server *server, const char *text, int *ret_fd,
                             struct ff_error *reterr)
{
    struct addrinfo *address = NULL;
    bool is_loopback = false;
    char host[256];
    int port = 0;

    /* A number alone would pass for an address: 9191 is 0.0.35.231. */
    if (!ff_host_split(ff_str_of(text), host, &port) || !text[strspn(text, "0123456789")])
        return ff_fail_field(reterr, FF_INVALID, "listen", "'%s' is not HOST:PORT", text);
    if (!strrchr(text, ':') || text[strlen(text) - 1] == ']')
        port = FF_HTTP_PORT;
    FF_TRY(address_of(text, host, port, &address, reterr));
    look_at(address, &is_loopback, &server->any_address);
    ff_status status = FF_OK;
    if (!is_loopback && !server->tokens->count)
        status = ff_fail_field(reterr, FF_INVALID, "listen",
                               "without a token anybody who can reach '%s' could do anything: give "
                               "--token-file, or listen on 127.0.0.1",
                               text);
    if (status == FF_OK)
        status = listen_on(text, address, ret_fd, reterr);
    freeaddrinfo(address);
    if (status != FF_OK)
        return status;
    const bool is_v6 = strchr(host, ':') != NULL;
    server->hosts[server->host_count++] = ff_arena_str(&server->arena, ff_str_of(host)).ptr;
    server->url =
        ff_arena_printf(&server->arena, "%s://%s%s%s:%d", server->is_tls ? "https" : "http",
                        is_v6 ? "[" : "", server->any_address ? "localhost" : host,
                        is_v6 ? "]" : "", port_of(*ret_fd))
            .ptr;
    return ff_arena_check(&server->arena, reterr);
}

static ff_status start_daemon(struct ff_server *server, const struct ff_server_options *options,
                              int fd, struct ff_error *reterr)
{
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                           MHD_USE_ERROR_LOG | MHD_USE_TURBO | MHD_USE_ITC |
                           (server->is_tls ? MHD_USE_TLS : 0);
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->tls_cert.ptr},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->tls_key.ptr},
        {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};

    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, server, /* the log comes first: it hears of the others */
        MHD_OPTION_EXTERNAL_LOGGER, on_log, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_URI_LOG_CALLBACK, on_uri,
        server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(server->connections_max + FF_HTTP_CONNECTIONS_EXTRA),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)FF_HTTP_LINK_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_ARRAY, server->is_tls ? tls : none,
        MHD_OPTION_END);
    if (!server->daemon) {
        (void)close(fd);
        return ff_fail(reterr, FF_INVALID, "%s",
                       server->is_tls
                           ? "certificate and key cannot be used: both must be PEM, and belong "
                             "together"
                           : "libmicrohttpd does not start");
    }
    return FF_OK;
}

static ff_status keep_options(struct ff_server *server, const struct ff_server_options *options,
                              struct ff_error *reterr)
{
    server->client = options->client;
    server->client->writes_json = true; /* values of a body that has been read are written anew */
    server->tokens = options->tokens;
    server->is_tls = options->tls_cert.ptr != NULL;
    server->body_bytes_max =
        options->body_bytes_max ? (size_t)options->body_bytes_max : FF_HTTP_BODY_BYTES_MAX;
    server->bodies_bytes_max =
        options->bodies_bytes_max ? (size_t)options->bodies_bytes_max : FF_HTTP_BODIES_BYTES_MAX;
    server->sse_comment_ms =
        options->sse_comment_ms ? options->sse_comment_ms : FF_HTTP_SSE_COMMENT_MS;
    server->connections_max =
        options->connections_max ? (size_t)options->connections_max : FF_HTTP_CONNECTIONS_MAX;
    server->hosts = ff_arena_array(&server->arena, options->host_count + 1, sizeof(char *));
    for (size_t i = 0; server->hosts && i < options->host_count; i++) {
        char host[256];
        int port;

        if (!ff_host_split(ff_str_of(options->hosts[i]), host, &port))
            return ff_fail_field(reterr, FF_INVALID, "host", "'%.100s' is not a host",
                                 options->hosts[i]);
        server->hosts[server->host_count++] = ff_arena_str(&server->arena, ff_str_of(host)).ptr;
    }
    return ff_arena_check(&server->arena, reterr);
}

ff_status ff_server_new(const struct ff_server_options *options, struct ff_server **ret,
                        struct ff_error *reterr)
{
    struct ff_server *const server = ff_calloc(1, sizeof *server);
    ff_status status;
    int fd = -1;

    if (!server)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the server");
    ff_arena_init(&server->arena, 1024, ARENA_BYTES_MAX);
    server->clock = ff_clock_system();
    server->started_ms = ff_clock_real_ms(&server->clock);
    pthread_mutex_init(&server->lock, NULL);
    ff_list_init(&server->links);
    ff_list_init(&server->streams);
    server->watch_fd = server->wake_fd = server->quiet_fd = -1;
    status = keep_options(server, options, reterr);
    if (status == FF_OK)
        status = ff_pool_new("ff-work", FF_HTTP_WORK_THREADS, &server->work, reterr);
    if (status == FF_OK)
        status = ff_pool_new("ff-look", FF_HTTP_LOOK_THREADS, &server->look, reterr);
    if (status == FF_OK)
        status = ff_pool_new("ff-health", FF_HTTP_HEALTH_THREADS, &server->health, reterr);
    if (status == FF_OK)
        status = ff_watch_start(server, reterr);
    if (status == FF_OK)
        status = open_socket(server, options->listen, &fd, reterr);
    if (status == FF_OK)
        status = start_daemon(server, options, fd, reterr);
    if (status != FF_OK) {
        ff_server_free(server);
        return status;
    }
    *ret = server;
    return FF_OK;
}

/* ---- ending -----------------------------------------------------------------------------------
 */

#define LOOK_EVERY_US 10000

size_t ff_server_drain(struct ff_server *server, int64_t grace_ms)
{
    const int64_t until_ms = ff_server_mono_ms(server) + grace_ms;
    const MHD_socket fd = MHD_quiesce_daemon(server->daemon);

    /* Newcomers are refused at once; the number stays taken until nobody looks at it any more. */
    if (fd != MHD_INVALID_SOCKET) {
        (void)shutdown(fd, SHUT_RD);
        server->quiet_fd = fd;
    }
    server->draining = true;
    ff_watch_wake(server);
    while (server->under_way && ff_server_mono_ms(server) < until_ms)
        (void)usleep(LOOK_EVERY_US);
    return server->under_way;
}

void ff_server_free(struct ff_server *server)
{
    if (!server)
        return;
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    if (server->quiet_fd >= 0)
        (void)close(server->quiet_fd);
    ff_watch_stop(server);
    ff_pool_free(server->health);
    ff_pool_free(server->look);
    ff_pool_free(server->work);
    pthread_mutex_destroy(&server->lock);
    ff_arena_done(&server->arena);
    ff_free(server);
}
