/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy.c -- stands between a session and the server and breaks the line on command.
 *
 * One thread, unix sockets only. */
#include "store_ring.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAIRS = 32 };

static struct {
    char dir[64];
    int listener;
    pthread_t thread;
    atomic_int mode;
    atomic_bool stop;
    int pairs[PAIRS][2]; /* client, server; -1: free */
} proxy = {.listener = -1};

static int unix_socket(const char *dir, struct sockaddr_un *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->sun_family = AF_UNIX;
    (void)snprintf(ret->sun_path, sizeof ret->sun_path, "%s/.s.PGSQL.5432", dir);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void cut(int *pair)
{
    (void)close(pair[0]);
    (void)close(pair[1]);
    pair[0] = pair[1] = -1;
}

static void accept_one(void)
{
    struct sockaddr_un address;
    const int client = accept(proxy.listener, NULL, NULL);
    const int server = unix_socket(getenv("FF_TEST_PG_DIR"), &address);

    for (int i = 0; i < PAIRS; i++) {
        if (proxy.pairs[i][0] >= 0)
            continue;
        proxy.pairs[i][0] = client;
        proxy.pairs[i][1] = server;
        if (connect(server, (struct sockaddr *)&address, sizeof address) != 0)
            cut(proxy.pairs[i]);
        return;
    }
    (void)close(client);
    (void)close(server);
}

/* Puts the answer "ROLLBACK" in the place of "COMMIT", which is 2 bytes shorter. */
static ssize_t abort_commit(char *bytes, ssize_t len)
{
    static const char commit[] = {'C', 0, 0, 0, 11, 'C', 'O', 'M', 'M', 'I', 'T', 0};
    static const char rollback[] = {'C', 0, 0, 0, 13, 'R', 'O', 'L', 'L', 'B', 'A', 'C', 'K', 0};
    char *const at = memmem(bytes, (size_t)len, commit, sizeof commit);
    const size_t more = sizeof rollback - sizeof commit;

    if (!at)
        return len;
    memmove(at + sizeof rollback, at + sizeof commit, (size_t)(bytes + len - at) - sizeof commit);
    memcpy(at, rollback, sizeof rollback);
    return len + (ssize_t)more;
}

static void forward(int *pair, int side)
{
    char bytes[8192];
    ssize_t len = recv(pair[side], bytes, sizeof bytes - 2, 0);
    const int mode = atomic_load(&proxy.mode);

    if (len <= 0 || (mode == PROXY_DEAF && side == 1) || (mode == PROXY_CUT && side == 0)) {
        cut(pair);
        return;
    }
    if (mode == PROXY_ABORT && side == 1)
        len = abort_commit(bytes, len);
    for (ssize_t sent = 0; sent < len;) {
        const ssize_t now = send(pair[!side], bytes + sent, (size_t)(len - sent), MSG_NOSIGNAL);

        if (now <= 0) {
            cut(pair);
            return;
        }
        sent += now;
    }
}

static void *serve(void *ctx)
{
    struct pollfd fds[2 * PAIRS + 1];

    (void)ctx;
    while (!atomic_load(&proxy.stop)) {
        fds[2 * PAIRS] = (struct pollfd){.fd = proxy.listener, .events = POLLIN};
        for (int i = 0; i < 2 * PAIRS; i++)
            fds[i] = (struct pollfd){.fd = proxy.pairs[i / 2][i % 2], .events = POLLIN};
        if (poll(fds, 2 * PAIRS + 1, 50) <= 0)
            continue;
        for (int i = 0; i < 2 * PAIRS; i++)
            if (fds[i].revents && proxy.pairs[i / 2][i % 2] == fds[i].fd && fds[i].fd >= 0)
                forward(proxy.pairs[i / 2], i % 2);
        if (fds[2 * PAIRS].revents)
            accept_one();
    }
    return NULL;
}

const char *proxy_start(void)
{
    struct sockaddr_un address;

    (void)snprintf(proxy.dir, sizeof proxy.dir, "/tmp/ff-proxy.XXXXXX");
    if (!mkdtemp(proxy.dir))
        return NULL;
    for (int i = 0; i < PAIRS; i++)
        proxy.pairs[i][0] = proxy.pairs[i][1] = -1;
    atomic_store(&proxy.mode, PROXY_PASS);
    atomic_store(&proxy.stop, false);
    proxy.listener = unix_socket(proxy.dir, &address);
    if (bind(proxy.listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy.listener, 16) != 0 || pthread_create(&proxy.thread, NULL, serve, NULL) != 0)
        return NULL;
    return proxy.dir;
}

void proxy_set(proxy_mode mode)
{
    atomic_store(&proxy.mode, (int)mode);
}

void proxy_stop(void)
{
    char path[128];

    atomic_store(&proxy.stop, true);
    (void)pthread_join(proxy.thread, NULL);
    for (int i = 0; i < PAIRS; i++)
        if (proxy.pairs[i][0] >= 0)
            cut(proxy.pairs[i]);
    (void)close(proxy.listener);
    (void)snprintf(path, sizeof path, "%s/.s.PGSQL.5432", proxy.dir);
    (void)unlink(path);
    (void)rmdir(proxy.dir);
}
