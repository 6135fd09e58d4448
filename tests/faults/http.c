/* SPDX-License-Identifier: Apache-2.0
 *
 * http.c -- the n-th allocation of a request fails, for every route.
 *
 * The server has threads, so which allocation is the n-th is up to chance; that none of them hurts
 * is not. A request is answered as ever, or by what its status says was not done, or its connection
 * ends; afterwards the same request is answered as if nothing had been. jansson's own allocations
 * are left alone: its lexer drops bytes without a word when it gets none. Read first: alloc.c. */
#include "background.h"
#include "faults.h"
#include "kit/heap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macros.h"
#include "http/routes.h"
#include "http/server.h"

#include "base/banned.h"

#define TEXT_BYTES   2048
#define ANSWER_BYTES 65536
#define N_MAX        400
#define PAGE_N_MAX   20 /* a page of the log rests whenever it finds no memory */
#define MISSES_MAX   3  /* so many in a row that nothing fails: the request asks for no more */
#define ANSWER_S     60

struct site {
    struct test *t;
    struct ff_server *server;
    int port;
    int number; /* of requests: what must be new is */
    struct name execution;
    char flow[FF_UUID_BYTES];
    struct held held;
};

/* What each route is asked; %d: the request's number, %i, %f: an execution, a flow, %l: a lease. */
static const struct {
    const char *path, *body;
} asks[FF_ROUTE_COUNT] = {
    [FF_ROUTE_EXECUTION_SUBMIT] = {"/v1/executions", "{\"executions\":[{\"kind\":\"k\",\"lane\":"
                                                     "\"l%d\",\"tags\":{\"a\":\"b\"},\"input\":"
                                                     "{\"x\":[1,2]}}]}"},
    [FF_ROUTE_EXECUTION_LIST] = {"/v1/executions?kind=k&limit=3", NULL},
    [FF_ROUTE_EXECUTION_CANCEL_WHERE] = {"/v1/executions:cancel",
                                         "{\"filter\":{\"lane\":\"l%d\"},\"reason\":\"r\"}"},
    [FF_ROUTE_EXECUTION_REPLAY_WHERE] = {"/v1/executions:replay",
                                         "{\"filter\":{\"lane\":\"l%d\"},\"reason\":\"r\"}"},
    [FF_ROUTE_EXECUTION_GET] = {"/v1/executions/%i?wait_ms=1", NULL},
    [FF_ROUTE_EXECUTION_RESULT] = {"/v1/executions/%i/result", NULL},
    [FF_ROUTE_EXECUTION_ATTEMPTS] = {"/v1/executions/%i/attempts", NULL},
    [FF_ROUTE_EXECUTION_EVENTS] = {"/v1/executions/%i/events", NULL},
    [FF_ROUTE_EXECUTION_EXPLAIN] = {"/v1/executions/%i/explain", NULL},
    [FF_ROUTE_EXECUTION_CANCEL] = {"/v1/executions/%i/cancel", "{\"reason\":\"r\"}"},
    [FF_ROUTE_EXECUTION_REPLAY] = {"/v1/executions/%i/replay", "{\"reason\":\"r\"}"},
    [FF_ROUTE_EXECUTION_PRIORITY] = {"/v1/executions/%i/priority", "{\"priority\":3}"},
    [FF_ROUTE_EXECUTION_REVOKE] = {"/v1/executions/%i/revoke-lease", "{\"reason\":\"r\"}"},
    [FF_ROUTE_EXECUTION_TAGS] = {"/v1/executions/%i/tags", "{\"set\":{\"a\":\"%d\"}}"},
    [FF_ROUTE_WORKER_CLAIM] = {"/v1/workers/w/claim", "{\"worker_instance_id\":\"i\",\"lanes\":"
                                                      "[\"many\"],\"request_id\":\"r%d\"}"},
    [FF_ROUTE_TASK_RENEW] = {"/v1/tasks/renew", "{\"tasks\":[{%l}]}"},
    [FF_ROUTE_TASK_COMPLETE] = {"/v1/tasks/complete", "{\"tasks\":[{%l,\"result\":{\"a\":1}}]}"},
    [FF_ROUTE_TASK_FAIL] = {"/v1/tasks/fail",
                            "{\"tasks\":[{%l,\"message\":\"m\",\"class\":\"permanent\"}]}"},
    [FF_ROUTE_TASK_PROGRESS] = {"/v1/tasks/progress", "{\"tasks\":[{%l,\"percent\":5}]}"},
    [FF_ROUTE_TASK_DELAY] = {"/v1/tasks/delay", "{\"tasks\":[{%l,\"delay_ms\":5}]}"},
    [FF_ROUTE_TASK_RELEASE] = {"/v1/tasks/release", "{\"tasks\":[{%l}]}"},
    [FF_ROUTE_FLOW_CREATE] = {"/v1/flows", "{\"kind\":\"k\",\"nodes\":[{\"name\":\"a\",\"kind\":"
                                           "\"k\"},{\"name\":\"b\",\"kind\":\"k\"}],\"edges\":[{"
                                           "\"from\":\"a\",\"to\":\"b\"}],\"idempotency_key\":"
                                           "\"f%d\"}"},
    [FF_ROUTE_FLOW_LIST] = {"/v1/flows", NULL},
    [FF_ROUTE_FLOW_GET] = {"/v1/flows/%f", NULL},
    [FF_ROUTE_FLOW_GROW] = {"/v1/flows/%f/grow", "{\"nodes\":[{\"name\":\"n%d\",\"kind\":\"k\"}],"
                                                 "\"edges\":[]}"},
    [FF_ROUTE_FLOW_CANCEL] = {"/v1/flows/%f/cancel?wait_ms=1", "{\"reason\":\"r\"}"},
    [FF_ROUTE_EVENT_LIST] = {"/v1/events?after=start&limit=20", NULL},
    [FF_ROUTE_LANE_LIST] = {"/v1/lanes", NULL},
    [FF_ROUTE_LANE_PAUSE] = {"/v1/lanes/l%d/pause", "{\"reason\":\"r\"}"},
    [FF_ROUTE_LANE_RESUME] = {"/v1/lanes/l%d/resume", "{\"reason\":\"r\"}"},
    [FF_ROUTE_WORKER_LIST] = {"/v1/workers", NULL},
    [FF_ROUTE_SCANNER_LIST] = {"/v1/scanners", NULL},
    [FF_ROUTE_STATS] = {"/v1/stats", NULL},
    [FF_ROUTE_LIVEZ] = {"/livez", NULL},
    [FF_ROUTE_READYZ] = {"/readyz?verbose=true", NULL},
    [FF_ROUTE_HEALTHZ] = {"/healthz", NULL},
    [FF_ROUTE_METRICS] = {"/metrics", NULL},
    [FF_ROUTE_OPENAPI] = {"/openapi.json", NULL},
    [FF_ROUTE_PAGE] = {"/", NULL},
};

/* ---- asking ---- */

static void write_into(const struct site *site, const char *form, char *out, size_t cap)
{
    size_t at = 0;

    for (; form && *form && at + 256 < cap; form++) {
        int len = 1;

        if (form[0] != '%') {
            out[at] = *form;
        } else if (*++form == 'd') {
            len = snprintf(out + at, cap - at, "%d", site->number);
        } else if (*form == 'l') {
            len = snprintf(out + at, cap - at,
                           "\"execution_id\":\"%s\",\"lease_id\":\"%s\",\"lease_epoch\":%lld",
                           site->held.id, site->held.lease_id, (long long)site->held.epoch);
        } else { /* "{fp:N}:<uuid>" as it stands in a path */
            const char *const id = *form == 'i' ? site->execution.id : site->flow;

            len = 0;
            for (size_t i = 0; id[i]; i++)
                if (id[i] != '{' && id[i] != '}')
                    out[at + (size_t)len++] = id[i];
        }
        at += (size_t)len;
    }
    out[at] = '\0';
}

/* The status of the answer; 0: the connection has ended without one. */
static int ask(struct site *site, const struct ff_route *route, char *answer)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)site->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = ANSWER_S};
    char path[TEXT_BYTES], body[TEXT_BYTES], text[2 * TEXT_BYTES + 512];
    size_t used = 0;
    ssize_t got;
    int len;

    write_into(site, asks[route - ff_routes].path, path, sizeof path);
    write_into(site, asks[route - ff_routes].body, body, sizeof body);
    len = snprintf(text, sizeof text,
                   "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   route->method, path, strlen(body), body);
    EXPECT(site->t, fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, text, (size_t)len, MSG_NOSIGNAL) == len) {
        while (used < ANSWER_BYTES - 1 &&
               (got = recv(fd, answer + used, ANSWER_BYTES - 1 - used, 0)) > 0)
            used += (size_t)got;
    }
    (void)close(fd);
    answer[used] = '\0';
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

/* ---- what must hold ---- */

static void prepare(struct site *site, const struct ff_route *route)
{
    const char *const path = asks[route - ff_routes].path;

    site->number++;
    if (strstr(path, "%i"))
        site->execution = given_submitted(site->t);
    if (strstr(path, "%f")) {
        struct stage stage;

        stage_init(&stage);
        given_flow(site->t, &stage);
        memcpy(site->flow, stage.flow_id, sizeof site->flow);
    }
    if (strstr(path, "/tasks/"))
        site->held = given_claimed(site->t);
}

static bool is_allowed(int status, int calm)
{
    return status == calm || status == 0 || status == 500 || status == 503 || status == 504 ||
           (status / 100 == 2 && calm / 100 == 2);
}

static bool ask_once(struct site *site, const struct ff_route *route, long long n, int calm)
{
    static char answer[ANSWER_BYTES];
    bool failed;
    int status;

    prepare(site, route);
    /* A page of the log waits for memory as it waits for the store: only one is refused there. */
    heap_arm(n, site->number % 2 == 0 && route != &ff_routes[FF_ROUTE_EVENT_LIST]);
    status = ask(site, route, answer);
    failed = heap_failed();
    heap_disarm();
    if (!is_allowed(status, calm))
        FAIL(site->t, "%s, allocation %lld: %s", route->name, n,
             strstr(answer, "\r\n\r\n") ? strstr(answer, "\r\n\r\n") : answer);
    status = ask(site, route, answer);
    if (status / 100 != calm / 100 || (calm == 200 && strstr(answer, "\"results\":[{\"error")))
        FAIL(site->t, "%s, after allocation %lld: %d: %.400s", route->name, n, status, answer);
    return failed;
}

/* How many have failed. */
static size_t sweep(struct site *site, const struct ff_route *route)
{
    static char answer[ANSWER_BYTES];
    const long long most = route == &ff_routes[FF_ROUTE_EVENT_LIST] ? PAGE_N_MAX : N_MAX;
    size_t sites = 0;
    int calm, misses = 0;

    if (!asks[route - ff_routes].path)
        FAIL(site->t, "%s: nobody asks this route here", route->name);
    prepare(site, route);
    calm = ask(site, route, answer);
    if (calm < 200 || calm >= 500 || calm == 400)
        FAIL(site->t, "%s: %.300s", route->name, answer);
    for (long long n = 1; n < most && misses < MISSES_MAX; n++) {
        const bool failed = ask_once(site, route, n, calm) | ask_once(site, route, n, calm);

        misses = failed ? 0 : misses + 1;
        sites += failed;
    }
    if (sites == 0)
        FAIL(site->t, "%s: no allocation has failed", route->name);
    return sites;
}

static void every_route(struct test *t)
{
    static const struct ff_tokens none = {0};
    struct ff_server_options options = {.listen = "127.0.0.1:0", .tokens = &none};
    struct site site = {.t = t};
    size_t sites = 0;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    options.client = t->client;
    EXPECT_OK(t, ff_server_new(&options, &site.server, &t->err));
    site.port = (int)strtol(strrchr(ff_server_url(site.server), ':') + 1, NULL, 10);
    for (size_t i = 0; i < FF_ROUTE_COUNT; i++)
        sites += sweep(&site, &ff_routes[i]);
    EXPECT(t, ff_server_drain(site.server, TEST_WAIT_MS) == 0);
    ff_server_free(site.server);
    (void)printf("# %d routes, %zu failed allocations\n", FF_ROUTE_COUNT, sites);
}

const struct plain_case http_cases[] = {
    {"alloc/every_route", TEST_STORE_MEMORY, every_route, false},
    {0},
};
