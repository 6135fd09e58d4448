/* SPDX-License-Identifier: Apache-2.0
 *
 * measure.c -- clocks, CPU time of this process and of the database, threads, percentiles. */
#include "bench.h"

#include <dirent.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

void bench_die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)fprintf(stderr, "ff-bench: ");
    (void)vfprintf(stderr, fmt, args);
    (void)fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void *bench_alloc(size_t count, size_t bytes)
{
    void *const memory = calloc(count ? count : 1, bytes);

    if (!memory)
        bench_die("out of memory");
    return memory;
}

double bench_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int64_t bench_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* CPU time in /proc is in clock ticks. */
static double tick_s(void)
{
    return 1 / (double)sysconf(_SC_CLK_TCK);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

struct process {
    long parent;
    unsigned long own_ticks, children_ticks;
};

static bool read_process(long pid, struct process *ret)
{
    char path[64];
    char text[1024];
    unsigned long ticks[4];
    const char *after;
    FILE *file;
    size_t len;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return false;
    len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    after = strrchr(text, ')'); /* the name may hold anything */
    if (!after || sscanf(after + 1, " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
                         &ret->parent, &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 5)
        return false;
    ret->own_ticks = ticks[0] + ticks[1];
    ret->children_ticks = ticks[2] + ticks[3];
    return true;
}

/* One's own time is known to the microsecond, a server's in ticks. */
static double engine_cpu_s(const struct bench_run *run)
{
    struct rusage usage;
    struct process process;

    if (run->server_pid)
        return read_process(run->server_pid, &process) ? (double)process.own_ticks * tick_s() : 0;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

double bench_memory_mb(const struct bench_run *run)
{
    const long pid = run->server_pid ? run->server_pid : (long)getpid();
    unsigned long pages = 0;
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%ld/statm", pid);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        bench_die("cannot read '%s'", path);
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* --- the database's CPU: the postmaster, its children, and those that have ended --- */

static long postmaster_pid(void)
{
    const char *const data = getenv("FF_TEST_PG_DATA");
    char path[512];
    long pid = 0;
    FILE *file;

    if (!data)
        return 0;
    (void)snprintf(path, sizeof path, "%s/postmaster.pid", data);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &pid) != 1)
        bench_die("cannot read '%s'", path);
    (void)fclose(file);
    return pid;
}

static double database_cpu_s(void)
{
    const long postmaster = postmaster_pid();
    struct process process;
    unsigned long ticks;
    struct dirent *entry;
    DIR *proc;

    if (!postmaster || !read_process(postmaster, &process))
        return 0;
    ticks = process.own_ticks + process.children_ticks;
    proc = opendir("/proc");
    while (proc && (entry = readdir(proc)) != NULL) {
        const long pid = strtol(entry->d_name, NULL, 10);

        if (pid > 0 && read_process(pid, &process) && process.parent == postmaster)
            ticks += process.own_ticks;
    }
    if (proc)
        (void)closedir(proc);
    return (double)ticks * tick_s();
}

/* --- a run's clock --- */

/* Tells a perf that was started with --control fifo:... to look, or to look away. */
static void tell_perf(const char *command)
{
    const char *const path = getenv("FF_BENCH_PERF");
    FILE *const file = path ? fopen(path, "w") : NULL;

    if (!file)
        return;
    (void)fprintf(file, "%s\n", command);
    (void)fclose(file);
}

void bench_start(struct bench_run *run)
{
    tell_perf("enable");
    run->meter.database_s = run->store == BENCH_POSTGRES ? database_cpu_s() : 0;
    run->meter.engine_s = engine_cpu_s(run);
    run->meter.wall_s = bench_now_s();
}

void bench_stop(struct bench_run *run)
{
    if (run->figures.count)
        return; /* somebody saw the end before */
    run->figures.seconds = bench_now_s() - run->meter.wall_s;
    run->figures.engine_cpu_s = engine_cpu_s(run) - run->meter.engine_s;
    if (run->store == BENCH_POSTGRES)
        run->figures.database_cpu_s = database_cpu_s() - run->meter.database_s;
    run->figures.cpu_step_s = run->server_pid || run->store == BENCH_POSTGRES ? tick_s() : 0;
    run->figures.count = run->count;
    tell_perf("disable");
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The smallest value that `percent` of all values do not exceed. */
static double percentile(const double *sorted, size_t count, size_t percent)
{
    const size_t rank = (count * percent + 99) / 100;

    return sorted[rank ? rank - 1 : 0];
}

void bench_percentiles(struct bench_run *run, double *ms, size_t count)
{
    qsort(ms, count, sizeof *ms, by_value);
    run->figures.p50_ms = percentile(ms, count, 50);
    run->figures.p95_ms = percentile(ms, count, 95);
    run->figures.p99_ms = percentile(ms, count, 99);
}

double bench_median(const double *values, size_t count)
{
    double sorted[64];

    if (count == 0 || count > sizeof sorted / sizeof *sorted)
        return 0;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* --- threads --- */

struct crew {
    bench_thread_fn *fn;
    void *ctx;
    pthread_barrier_t go;
};

struct member {
    struct crew *crew;
    size_t index;
    pthread_t thread;
};

static void *member_main(void *arg)
{
    const struct member *const member = arg;

    (void)pthread_barrier_wait(&member->crew->go);
    member->crew->fn(member->crew->ctx, member->index);
    return NULL;
}

void bench_threads(struct bench_run *run, size_t count, bench_thread_fn *fn, void *ctx)
{
    struct member *const members = bench_alloc(count, sizeof *members);
    struct crew crew = {.fn = fn, .ctx = ctx};

    if (pthread_barrier_init(&crew.go, NULL, (unsigned)count + 1) != 0)
        bench_die("cannot make a barrier");
    for (size_t i = 0; i < count; i++) {
        members[i] = (struct member){.crew = &crew, .index = i};
        if (pthread_create(&members[i].thread, NULL, member_main, &members[i]) != 0)
            bench_die("cannot start a thread");
    }
    bench_start(run);
    (void)pthread_barrier_wait(&crew.go);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(members[i].thread, NULL);
    bench_stop(run);
    (void)pthread_barrier_destroy(&crew.go);
    free(members);
}

size_t bench_share(size_t total, size_t count, size_t index, size_t *ret_from)
{
    const size_t from = total * index / count;

    *ret_from = from;
    return total * (index + 1) / count - from;
}
