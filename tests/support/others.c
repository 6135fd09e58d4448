/* SPDX-License-Identifier: Apache-2.0
 *
 * others.c -- another session on the server, the server itself, other processes.
 *
 * Read first: others.h. */
#include "support/others.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

/* ---- another session ---- */

#define OTHERS_MAX 4

static PGconn *others[OTHERS_MAX];

void other_open(struct test *t, struct other *other)
{
    size_t i = 0;

    while (i < OTHERS_MAX && others[i])
        i++;
    if (i == OTHERS_MAX)
        FAIL(t, "a case may have %d other sessions", OTHERS_MAX);
    other->schema = t->store->schema;
    other->conn = others[i] = PQconnectdb(getenv("FF_TEST_PG"));
    if (PQstatus(other->conn) != CONNECTION_OK)
        FAIL(t, "cannot connect: %s", PQerrorMessage(other->conn));
}

void others_done(void)
{
    for (size_t i = 0; i < OTHERS_MAX; i++) {
        PQfinish(others[i]);
        others[i] = NULL;
    }
}

static void with_schema(const char *from, const char *schema, char *out, size_t out_bytes)
{
    size_t used = 0;

    for (; *from && used + strlen(schema) + 2 < out_bytes; from++) {
        if (*from == '@')
            used += (size_t)snprintf(out + used, out_bytes - used, "%s", schema);
        else
            out[used++] = *from;
    }
    out[used] = '\0';
}

long other_says(struct test *t, struct other *other, const char *fmt, ...)
{
    char text[1024];
    char sql[1536];
    char problem[256] = "";
    long number = 0;
    PGresult *result;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    with_schema(text, other->schema, sql, sizeof sql);
    result = PQexec(other->conn, sql);
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0)
        number = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    else if (PQresultStatus(result) != PGRES_COMMAND_OK &&
             PQresultStatus(result) != PGRES_TUPLES_OK)
        (void)snprintf(problem, sizeof problem, "%s", PQerrorMessage(other->conn));
    PQclear(result);
    if (problem[0])
        FAIL(t, "%.120s: %s", sql, problem);
    return number;
}

void other_sends(struct test *t, struct other *other, const char *text)
{
    char sql[1536];

    with_schema(text, other->schema, sql, sizeof sql);
    if (!PQsendQuery(other->conn, sql))
        FAIL(t, "%.120s: %s", sql, PQerrorMessage(other->conn));
}

const char *where_is(const char *id, char out[128])
{
    const char *const uuid = strrchr(id, ':');

    (void)snprintf(out, 128, "partition_key = %ld AND execution_id = '%s'",
                   strtol(id + strlen("{fp:"), NULL, 10), uuid ? uuid + 1 : "");
    return out;
}

/* ---- the server ---- */

/* After a crash the server syncs every file it has, and other rings have left it thousands: by file
 * system that takes no time. */
static void server_ctl(struct test *t, const char *what)
{
    const char *const data = getenv("FF_TEST_PG_DATA");
    const char *const bin = getenv("FF_TEST_PG_BIN");
    const char *const user = getenv("FF_TEST_PG_USER");
    const char *const dir = getenv("FF_TEST_PG_DIR");
    char command[1024];

    if (!data || !bin || !user || !dir)
        FAIL(t, "FF_TEST_PG_DATA, _BIN, _USER and _DIR must be set");
    (void)snprintf(command, sizeof command,
                   "cd / && %s%s%s %s/pg_ctl -D %s -l %s/log -m immediate -w -t 60 "
                   "-o '-c recovery_init_sync_method=syncfs' %s >/dev/null 2>&1 </dev/null",
                   getuid() == 0 ? "runuser -u " : "", getuid() == 0 ? user : "",
                   getuid() == 0 ? " --" : "", bin, data, dir, what);
    if (system(command) != 0)
        FAIL(t, "cannot %s the server", what);
}

void server_stop(struct test *t)
{
    server_ctl(t, "stop");
}

void server_start(struct test *t)
{
    server_ctl(t, "start");
}

/* ---- processes ---- */

int child_start(struct test *t, const char *role, const char *url, int *ret_fd)
{
    int ends[2];
    char number[16];
    pid_t pid;

    if (pipe(ends) != 0)
        FAIL(t, "cannot make a pipe");
    (void)fflush(stdout);
    (void)snprintf(number, sizeof number, "%d", ends[1]);
    pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        (void)execl("/proc/self/exe", "a child", "--child", role, url, number, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    if (pid < 0)
        FAIL(t, "cannot fork");
    *ret_fd = ends[0];
    return (int)pid;
}

bool child_kill(int pid)
{
    int status = 0;

    if (pid <= 0)
        return false;
    (void)kill((pid_t)pid, SIGKILL);
    while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}
