/* SPDX-License-Identifier: Apache-2.0
 *
 * pgproxy.c -- a unix socket in front of the server's, which understands where messages end.
 *
 * One thread. Each direction of a link has a buffer; only whole messages are passed on. Messages
 * have a type byte and a length, except for the first of a client, which has no type. The client's
 * COMMIT is the Bind of the statement that was parsed as "COMMIT"; the server's answer to it is the
 * CommandComplete "COMMIT". */
#include "kit/pgproxy.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/codec.h"

#include "base/banned.h"

#define LINKS      32
#define CHUNK      (64 << 10)
#define TICK_MS    20
#define HEAD_BYTES 5

enum { CLIENT, SERVER };

struct buffer {
    uint8_t *bytes;
    size_t used, cap;
};

struct link {
    int fds[2];
    struct buffer in[2]; /* from that side */
    bool started;        /* the client's first message has passed */
    char commit[32];     /* the name of its prepared COMMIT */
};

static struct {
    char dir[64], url[1100];
    int listener;
    pthread_t thread;
    bool running;
    atomic_bool stop;
    struct link links[LINKS];
    pthread_mutex_t lock; /* guards the rest */
    struct proxy_rules rules;
    struct proxy_counts counts;
    unsigned messages;
} proxy = {.listener = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static int unix_socket(const char *dir, struct sockaddr_un *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->sun_family = AF_UNIX;
    (void)snprintf(ret->sun_path, sizeof ret->sun_path, "%s/.s.PGSQL.5432", dir);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void cut(struct link *link)
{
    for (int side = 0; side < 2; side++) {
        if (link->fds[side] >= 0)
            (void)close(link->fds[side]);
        free(link->in[side].bytes);
    }
    memset(link, 0, sizeof *link);
    link->fds[CLIENT] = link->fds[SERVER] = -1;
}

static void accept_one(void)
{
    struct sockaddr_un address;
    const int client = accept(proxy.listener, NULL, NULL);
    const int server = unix_socket(getenv("FF_TEST_PG_DIR"), &address);
    size_t i = 0;

    while (i < LINKS && proxy.links[i].fds[CLIENT] >= 0)
        i++;
    if (i == LINKS || connect(server, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(client);
        (void)close(server);
        return;
    }
    proxy.links[i].fds[CLIENT] = client;
    proxy.links[i].fds[SERVER] = server;
}

/* ---- rules ---- */

static bool is_nth(unsigned n, unsigned count)
{
    return n && count % n == 0;
}

/* "P", length, statement name, query. */
static void note_parse(struct link *link, const uint8_t *message)
{
    const char *const name = (const char *)message + HEAD_BYTES;

    if (!strcmp(name + strlen(name) + 1, "COMMIT"))
        (void)snprintf(link->commit, sizeof link->commit, "%s", name);
}

/* "B", length, portal name, statement name. False: cut the link instead. */
static bool client_may(struct link *link, const uint8_t *message)
{
    const char *const portal = (const char *)message + HEAD_BYTES;

    if (message[0] == 'P')
        note_parse(link, message);
    if (message[0] != 'B' || !link->commit[0] ||
        strcmp(portal + strlen(portal) + 1, link->commit) != 0)
        return true;
    proxy.counts.commits++;
    if (!is_nth(proxy.rules.lose_commits, proxy.counts.commits))
        return true;
    proxy.counts.lost_commits++;
    return false;
}

static bool server_may(const uint8_t *message)
{
    const bool committed =
        message[0] == 'C' && !strcmp((const char *)message + HEAD_BYTES, "COMMIT");

    proxy.messages++;
    if (is_nth(proxy.rules.cut_messages, proxy.messages)) {
        proxy.counts.cuts++;
        return false;
    }
    if (!committed || !is_nth(proxy.rules.lose_answers, proxy.counts.commits))
        return true;
    proxy.counts.lost_answers++;
    return false;
}

/* ---- passing on ---- */

/* 0: not all of it is here. */
static size_t message_bytes(const struct link *link, int side)
{
    const struct buffer *const in = &link->in[side];
    const size_t head = side == CLIENT && !link->started ? 0 : 1;
    size_t bytes;

    if (in->used < head + 4)
        return 0;
    bytes = head + ff_get_be32(in->bytes + head);
    return bytes <= in->used ? bytes : 0;
}

static bool send_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count) {
        const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

/* False: the link is to be cut, after the whole messages in front. */
static bool pass_on(struct link *link, int side)
{
    struct buffer *const in = &link->in[side];
    size_t bytes;

    while ((bytes = message_bytes(link, side)) != 0) {
        const bool first = side == CLIENT && !link->started;
        bool may;

        (void)pthread_mutex_lock(&proxy.lock);
        may = first || (side == CLIENT ? client_may(link, in->bytes) : server_may(in->bytes));
        (void)pthread_mutex_unlock(&proxy.lock);
        if (!may || !send_all(link->fds[!side], in->bytes, bytes))
            return false;
        link->started = true;
        in->used -= bytes;
        memmove(in->bytes, in->bytes + bytes, in->used);
    }
    return true;
}

static bool receive(struct link *link, int side)
{
    struct buffer *const in = &link->in[side];
    ssize_t got;

    if (in->used + CHUNK > in->cap) {
        in->cap = in->used + CHUNK * 4;
        in->bytes = realloc(in->bytes, in->cap);
        if (!in->bytes)
            abort();
    }
    got = recv(link->fds[side], in->bytes + in->used, CHUNK, 0);
    if (got <= 0)
        return false;
    in->used += (size_t)got;
    return pass_on(link, side);
}

static void *serve(void *arg)
{
    struct pollfd fds[2 * LINKS + 1];

    (void)arg;
    while (!atomic_load(&proxy.stop)) {
        bool silent;

        (void)pthread_mutex_lock(&proxy.lock);
        silent = proxy.rules.silent;
        (void)pthread_mutex_unlock(&proxy.lock);
        fds[2 * LINKS] = (struct pollfd){.fd = silent ? -1 : proxy.listener, .events = POLLIN};
        for (int i = 0; i < 2 * LINKS; i++)
            fds[i] = (struct pollfd){.fd = silent ? -1 : proxy.links[i / 2].fds[i % 2],
                                     .events = POLLIN};
        if (poll(fds, 2 * LINKS + 1, TICK_MS) <= 0)
            continue;
        for (int i = 0; i < 2 * LINKS; i++)
            if (fds[i].revents && fds[i].fd == proxy.links[i / 2].fds[i % 2] &&
                !receive(&proxy.links[i / 2], i % 2))
                cut(&proxy.links[i / 2]);
        if (fds[2 * LINKS].revents)
            accept_one();
    }
    return NULL;
}

/* ---- from outside ---- */

const char *proxy_start(struct test *t)
{
    struct sockaddr_un address;

    (void)snprintf(proxy.dir, sizeof proxy.dir, "/tmp/ff-proxy.XXXXXX");
    if (!mkdtemp(proxy.dir))
        FAIL(t, "cannot make '%s'", proxy.dir);
    for (size_t i = 0; i < LINKS; i++)
        proxy.links[i].fds[CLIENT] = proxy.links[i].fds[SERVER] = -1;
    memset(&proxy.rules, 0, sizeof proxy.rules);
    memset(&proxy.counts, 0, sizeof proxy.counts);
    atomic_store(&proxy.stop, false);
    proxy.listener = unix_socket(proxy.dir, &address);
    if (bind(proxy.listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy.listener, LINKS) != 0 || pthread_create(&proxy.thread, NULL, serve, NULL) != 0)
        FAIL(t, "cannot listen in '%s'", proxy.dir);
    proxy.running = true;
    /* The last of two hosts in a URL counts. */
    (void)snprintf(proxy.url, sizeof proxy.url, "%s&host=%s", t->url, proxy.dir);
    return proxy.url;
}

void proxy_rule(const struct proxy_rules *rules)
{
    (void)pthread_mutex_lock(&proxy.lock);
    proxy.rules = *rules;
    (void)pthread_mutex_unlock(&proxy.lock);
}

struct proxy_counts proxy_counts(void)
{
    struct proxy_counts counts;

    (void)pthread_mutex_lock(&proxy.lock);
    counts = proxy.counts;
    (void)pthread_mutex_unlock(&proxy.lock);
    return counts;
}

void proxy_stop(void)
{
    char path[128];

    if (!proxy.running)
        return;
    proxy.running = false;
    atomic_store(&proxy.stop, true);
    (void)pthread_join(proxy.thread, NULL);
    for (size_t i = 0; i < LINKS; i++)
        if (proxy.links[i].fds[CLIENT] >= 0)
            cut(&proxy.links[i]);
    (void)close(proxy.listener);
    (void)snprintf(path, sizeof path, "%s/.s.PGSQL.5432", proxy.dir);
    (void)unlink(path);
    (void)rmdir(proxy.dir);
}
