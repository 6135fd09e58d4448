/* SPDX-License-Identifier: Apache-2.0
 *
 * place.c -- a fresh file or database for every run, and what the disk can do at the moment.
 *
 * Postgres is the private cluster that FF_TEST_PG names (tests/support/pg-private); every run gets
 * a database of its own in it. Dropping one ends in a checkpoint, so all runs start right after
 * one. SQLite files live in a temporary directory below TMPDIR or /tmp. */
#include "bench.h"

#include <fcntl.h>
#include <ftw.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/banned.h"

#define FSYNC_PROBES 15

static struct {
    char dir[256];
    char host[256], port[16], user[64]; /* of the private Postgres; empty host: there is none */
    char version[64];
    long version_number; /* 150018 is 15.18 */
    unsigned made;
} places;

const char *bench_store_name(bench_store store)
{
    return store == BENCH_SQLITE ? "sqlite" : "postgres";
}

static void keep(char *to, size_t to_bytes, const char *value)
{
    if ((size_t)snprintf(to, to_bytes, "%s", value ? value : "") >= to_bytes)
        bench_die("'%s' is too long", value);
}

static void parse_url(const char *url)
{
    char *problem = NULL;
    PQconninfoOption *const options = PQconninfoParse(url, &problem);

    if (!options)
        bench_die("cannot read FF_TEST_PG: %s", problem);
    for (const PQconninfoOption *option = options; option->keyword; option++) {
        if (!strcmp(option->keyword, "host"))
            keep(places.host, sizeof places.host, option->val);
        if (!strcmp(option->keyword, "port"))
            keep(places.port, sizeof places.port, option->val);
        if (!strcmp(option->keyword, "user"))
            keep(places.user, sizeof places.user, option->val);
    }
    PQconninfoFree(options);
}

static PGconn *connect_to(const char *database)
{
    struct bench_run run = {.store = BENCH_POSTGRES};
    char conninfo[1024];
    PGconn *conn;

    keep(run.place, sizeof run.place, database);
    conn = PQconnectdb(bench_conninfo(&run, conninfo, sizeof conninfo));
    if (PQstatus(conn) != CONNECTION_OK)
        bench_die("cannot connect to '%s': %s", database, PQerrorMessage(conn));
    return conn;
}

/* Runs one text; the first cell of the answer, or an empty string, goes to `ret`. */
static void run_text(const char *database, const char *text, char *ret, size_t ret_bytes)
{
    PGconn *const conn = connect_to(database);
    PGresult *const result = PQexec(conn, text);
    const ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("cannot run '%s': %s", text, PQerrorMessage(conn));
    if (ret)
        (void)snprintf(ret, ret_bytes, "%s",
                       status == PGRES_TUPLES_OK && PQntuples(result) ? PQgetvalue(result, 0, 0)
                                                                      : "");
    PQclear(result);
    PQfinish(conn);
}

void bench_places_init(void)
{
    const char *const url = getenv("FF_TEST_PG");
    const char *const tmp = getenv("TMPDIR");

    (void)snprintf(places.dir, sizeof places.dir, "%s/ff-bench.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(places.dir))
        bench_die("cannot make a directory in '%s'", tmp ? tmp : "/tmp");
    if (url) {
        char number[32];

        parse_url(url);
        run_text("postgres", "SHOW server_version", places.version, sizeof places.version);
        run_text("postgres", "SHOW server_version_num", number, sizeof number);
        places.version_number = strtol(number, NULL, 10);
    }
}

void bench_places_done(void)
{
    if (places.dir[0] && rmdir(places.dir) != 0)
        (void)fprintf(stderr, "ff-bench: something is left in '%s'\n", places.dir);
}

bool bench_has_store(bench_store store)
{
    return store == BENCH_SQLITE || places.host[0];
}

const char *bench_postgres_version(void)
{
    return places.version;
}

const char *bench_conninfo(const struct bench_run *run, char *buf, size_t buf_bytes)
{
    (void)snprintf(buf, buf_bytes, "host=%s port=%s user=%s dbname=%s application_name=ff-bench",
                   places.host, places.port, places.user, run->place);
    return buf;
}

const char *bench_url(const struct bench_run *run, char *buf, size_t buf_bytes)
{
    if (run->store == BENCH_SQLITE)
        (void)snprintf(buf, buf_bytes, "sqlite:%s", run->place);
    else
        (void)snprintf(buf, buf_bytes, "postgres://%s@/%s?host=%s&port=%s", places.user, run->place,
                       places.host, places.port);
    return buf;
}

static void name_place(struct bench_run *run)
{
    places.made++;
    if (run->store == BENCH_SQLITE)
        (void)snprintf(run->place, sizeof run->place, "%s/%u.db", places.dir, places.made);
    else
        (void)snprintf(run->place, sizeof run->place, "bench%u", places.made);
}

void bench_place_new(struct bench_run *run)
{
    char text[600];

    name_place(run);
    if (run->store == BENCH_SQLITE)
        return; /* whoever opens it makes it */
    (void)snprintf(text, sizeof text, "CREATE DATABASE %s", run->place);
    run_text("postgres", text, NULL, 0);
}

static void copy_file(const char *from, const char *to)
{
    const int in = open(from, O_RDONLY);
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t sent;

    if (in < 0 || out < 0)
        bench_die("cannot copy '%s'", from);
    while ((sent = sendfile(out, in, NULL, 1 << 20)) > 0)
        continue;
    if (sent < 0 || fsync(out) != 0 || close(out) != 0)
        bench_die("cannot copy '%s'", from);
    (void)close(in);
}

void bench_place_copy(struct bench_run *run, const char *from)
{
    char text[1200];

    name_place(run);
    if (run->store == BENCH_SQLITE) { /* its log went into the file when it was closed */
        copy_file(from, run->place);
        return;
    }
    /* Since 15 the default writes the copy through the WAL: the run would pay for gigabytes. */
    (void)snprintf(text, sizeof text, "CREATE DATABASE %s TEMPLATE %s%s", run->place, from,
                   places.version_number >= 150000 ? " STRATEGY file_copy" : "");
    run_text("postgres", text, NULL, 0);
}

void bench_place_settle(const struct bench_run *run)
{
    if (run->store == BENCH_POSTGRES)
        run_text("postgres", "CHECKPOINT", NULL, 0);
}

void bench_place_drop(struct bench_run *run)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char text[600];

    if (run->store == BENCH_POSTGRES) {
        (void)snprintf(text, sizeof text, "DROP DATABASE %s WITH (FORCE)", run->place);
        run_text("postgres", text, NULL, 0);
        return;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(text, sizeof text, "%s%s", run->place, ends[i]);
        (void)unlink(text);
    }
}

/* --- scratch directories --- */

const char *bench_scratch_new(void)
{
    static char dir[512];

    (void)snprintf(dir, sizeof dir, "%s/scratch%u", places.dir, ++places.made);
    if (mkdir(dir, 0700) != 0)
        bench_die("cannot make '%s'", dir);
    return dir;
}

static int drop_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

void bench_scratch_drop(const char *dir)
{
    (void)nftw(dir, drop_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- counting statements, by pg_stat_statements --- */

void bench_statements_begin(const struct bench_run *run)
{
    char text[700];

    (void)snprintf(text, sizeof text, "ALTER DATABASE %s SET pg_stat_statements.track = 'top'",
                   run->place);
    run_text("postgres", text, NULL, 0);
    run_text("postgres", "CREATE EXTENSION IF NOT EXISTS pg_stat_statements", NULL, 0);
}

double bench_statements_end(const struct bench_run *run)
{
    char text[700];
    char answer[64];

    (void)snprintf(text, sizeof text,
                   "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s"
                   "  JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = '%s'",
                   run->place);
    run_text("postgres", text, answer, sizeof answer);
    return strtod(answer, NULL);
}

/* --- the disk --- */

const char *bench_file_system(void)
{
    struct statfs fs;

    if (statfs(places.dir, &fs) != 0)
        return "unknown";
    switch ((unsigned long)fs.f_type) {
    case 0xEF53:
        return "ext4";
    case 0x58465342:
        return "xfs";
    case 0x9123683E:
        return "btrfs";
    case 0x794C7630:
        return "overlayfs";
    case 0x01021994:
        return "tmpfs: nothing is durable here, the figures mean little";
    default:
        return "other";
    }
}

double bench_fsync_ms(void)
{
    char block[8192] = {1};
    double ms[FSYNC_PROBES];
    char path[512];
    int fd;

    (void)snprintf(path, sizeof path, "%s/fsync", places.dir);
    fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    if (fd < 0)
        bench_die("cannot write '%s'", path);
    for (size_t i = 0; i < FSYNC_PROBES; i++) {
        const double from_s = bench_now_s();

        if (pwrite(fd, block, sizeof block, (off_t)(i * sizeof block)) != (ssize_t)sizeof block ||
            fdatasync(fd) != 0)
            bench_die("cannot write '%s'", path);
        ms[i] = (bench_now_s() - from_s) * 1000;
    }
    (void)close(fd);
    (void)unlink(path);
    return bench_median(ms, FSYNC_PROBES);
}
