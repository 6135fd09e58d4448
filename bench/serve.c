/* SPDX-License-Identifier: Apache-2.0
 *
 * serve.c -- the same work through a server: `ff serve` as a child, clients that speak HTTP.
 *
 * CPU and memory are the server's alone, so the CPU of a request is what the server spends on it.
 * Clients and workers are threads of this process; every call is one request over a kept
 * connection. At the end the server is stopped and the store audited, as in ours.c. */
#include "ours.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define FF_DEFAULT "build/release/ff"
#define WARM_MS    1500
#define SECONDS    5

struct server {
    struct bench_run *run;
    struct bench_child child;
    char url[128];
};

static void spawn_server(struct bench_child *child, const char *store, int out)
{
    const char *const given = getenv("FF_BENCH_FF");
    char *const argv[] = {strdup(given ? given : FF_DEFAULT),
                          (char[]){"serve"},
                          (char[]){"--listen"},
                          (char[]){"127.0.0.1:0"},
                          (char[]){"--store"},
                          strdup(store),
                          (char[]){"--log-level"},
                          (char[]){"error"},
                          NULL};

    if (!argv[0] || !argv[5])
        bench_die("out of memory");
    *child = (struct bench_child){.in = -1, .out = out, .err = -1};
    bench_child_start(child, argv);
    free(argv[0]);
    free(argv[5]);
}

/* Returns when it listens. */
static void server_start(struct server *server, struct bench_run *run)
{
    char store[1024];
    char line[256];
    int out[2];
    FILE *from;

    *server = (struct server){.run = run};
    if (pipe2(out, O_CLOEXEC) != 0)
        bench_die("cannot make a pipe");
    spawn_server(&server->child, bench_url(run, store, sizeof store), out[1]);
    (void)close(out[1]);
    from = fdopen(out[0], "r");
    if (!from || !fgets(line, sizeof line, from) ||
        sscanf(line, "listening on %127s", server->url) != 1)
        bench_die("the server does not listen");
    (void)fclose(from);
    run->server_pid = server->child.pid;
}

static void server_stop(struct server *server)
{
    (void)kill(server->child.pid, SIGTERM);
    if (!bench_child_end(&server->child))
        bench_die("the server did not stop in order");
    server->run->server_pid = 0;
}

/* `play` is one of those of ours.h. */
static void served(struct bench_run *run, void (*play)(struct ours *ours))
{
    struct server server;
    struct ours ours;
    size_t before;

    server_start(&server, run);
    ours_open_url(&ours, run, server.url);
    before = atomic_load(&ours.calls);
    play(&ours);
    run->figures.requests = (double)(atomic_load(&ours.calls) - before);
    if (ff_close(ours.client, 5000) != 0)
        bench_die("a client did not close");
    server_stop(&server);
    ours_open(&ours, run);
    ours_close(&ours);
}

void bench_serve_submit(struct bench_run *run)
{
    served(run, ours_single);
}

void bench_serve_drain(struct bench_run *run)
{
    served(run, ours_drain);
}

void bench_serve_both(struct bench_run *run)
{
    served(run, ours_both);
    run->figures.requests = 0; /* those of the worker are not counted */
}

/* From the start of the process to the line that says it listens. */
static double start_server(struct bench_run *run)
{
    const double from_s = bench_now_s();
    struct server server;
    double took_s;

    server_start(&server, run);
    took_s = bench_now_s() - from_s;
    server_stop(&server);
    return took_s;
}

void bench_serve_start(struct bench_run *run)
{
    ours_starts(run, start_server);
}

/* On SQLite nobody outside the server sees its statements; the engine's own are in `idle-cost`. */
void bench_serve_idle(struct bench_run *run)
{
    struct server server;
    struct ours ours;
    double before = 0;

    if (run->store == BENCH_POSTGRES)
        bench_statements_begin(run);
    server_start(&server, run);
    ours_open_url(&ours, run, server.url);
    ours_submit(&ours, 1, 1); /* a store in use, a worker known, then silence */
    if (ours_work(&ours, &(struct ours_worker){.max = 1}) != 1)
        bench_die("the first execution is not there");
    ours_sleep_ms(WARM_MS);
    if (run->store == BENCH_POSTGRES)
        before = bench_statements_end(run);
    bench_start(run);
    ours_sleep_ms(SECONDS * 1000);
    bench_stop(run);
    run->figures.statements_per_s =
        run->store == BENCH_POSTGRES ? (bench_statements_end(run) - before) / SECONDS : -1;
    run->figures.memory_mb = bench_memory_mb(run);
    if (ff_close(ours.client, 5000) != 0)
        bench_die("a client did not close");
    server_stop(&server);
    ours_open(&ours, run);
    ours_close(&ours);
}
