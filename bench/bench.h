/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h -- what the files of bench/ share: scenarios, their sides, what was measured.
 *
 * A scenario is run by several sides: ours first, then the floor, later other engines. Every run
 * gets a place of its own (a fresh file or database), so no run pays for what another left behind.
 * Read first: bench/README.md. */
#ifndef FF_BENCH_BENCH_H
#define FF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_RUNS_MAX      9
#define BENCH_SIDES_MAX     4
#define BENCH_PAYLOAD_BYTES 256

typedef enum bench_store { BENCH_SQLITE, BENCH_POSTGRES, BENCH_STORES } bench_store;
const char *bench_store_name(bench_store store);

/* What a scenario tells: how many per second, how long one takes, or what doing nothing costs. */
typedef enum bench_kind { BENCH_RATE, BENCH_LATENCY, BENCH_IDLE } bench_kind;

/* What one run showed. Zero: does not apply. */
struct bench_figures {
    size_t count;          /* executions */
    double seconds;        /* wall time */
    double engine_cpu_s;   /* this process, drivers of the scenario included */
    double database_cpu_s; /* all processes of the private Postgres; 0 on SQLite */
    double p50_ms, p95_ms, p99_ms;
    double statements_per_s; /* while nothing happens */
    double fsync_ms;         /* median of a few, right before the run */
};

struct bench_meter {
    double wall_s, engine_s, database_s;
};

/* One run of one side. */
struct bench_run {
    const struct bench_scenario *scenario;
    bench_store store;
    char place[512]; /* a path, or the name of a database */
    size_t count;
    struct bench_meter meter;
    struct bench_figures figures; /* what the side has to fill, by bench_start and bench_stop */
};

typedef void bench_fn(struct bench_run *run);

struct bench_side {
    const char *name;
    bench_fn *run[BENCH_STORES]; /* NULL: does not take part */
};

struct bench_scenario {
    const char *name;  /* for --only; never renamed, results refer to it */
    const char *title; /* for tables */
    bench_kind kind;
    size_t count, quick_count; /* executions */
    size_t threads;            /* callers, workers or connections */
    size_t batch;              /* per call or transaction */
    struct bench_side sides[BENCH_SIDES_MAX];
};

/* --- scenarios.c: what is measured, and what we want to see --- */

extern const struct bench_scenario bench_scenarios[];
extern const size_t bench_scenario_count;

/* Median of (scenario, side) over median of (scenario, side), on one store. */
struct bench_aim {
    const char *what;
    bench_store store;
    const char *scenario, *side;
    const char *to_scenario, *to_side;
    double at_least;
};
extern const struct bench_aim bench_aims[];
extern const size_t bench_aim_count;

/* --- ours.c: through the public header only, but for the count of statements --- */

bench_fn bench_ours_bulk, bench_ours_drain, bench_ours_submit, bench_ours_work, bench_ours_both,
    bench_ours_latency, bench_ours_idle;

/* --- floor_sqlite.c, floor_postgres.c: the same rows by hand --- */

bench_fn bench_floor_sqlite_insert, bench_floor_sqlite_work, bench_floor_sqlite_both,
    bench_floor_sqlite_latency;
bench_fn bench_floor_postgres_insert, bench_floor_postgres_work, bench_floor_postgres_both,
    bench_floor_postgres_latency;

/* --- place.c: files and databases that live for one run --- */

/* Finds or makes what all runs share: a temporary directory, the private Postgres if there is one.
 */
void bench_places_init(void);
void bench_places_done(void);
bool bench_has_store(bench_store store);
void bench_place_new(struct bench_run *run);
void bench_place_drop(struct bench_run *run);
/* For ff_open. */
const char *bench_url(const struct bench_run *run, char *buf, size_t buf_bytes);
/* For libpq. */
const char *bench_conninfo(const struct bench_run *run, char *buf, size_t buf_bytes);
/* Statements the server has counted in this database since bench_statements_begin. */
void bench_statements_begin(const struct bench_run *run);
double bench_statements_end(const struct bench_run *run);
const char *bench_postgres_version(void);
/* "ext4", "tmpfs", ...: where files and the private Postgres live. */
const char *bench_file_system(void);
/* Write and fsync 8 KiB a few times: the median, in ms. */
double bench_fsync_ms(void);

/* --- measure.c --- */

_Noreturn void bench_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *bench_alloc(size_t count, size_t bytes); /* zeroed; never fails */
double bench_now_s(void);
int64_t bench_now_ms(void);
void bench_start(struct bench_run *run);
/* A second call changes nothing. */
void bench_stop(struct bench_run *run);
/* Sorts `ms` and sets the three percentiles. */
void bench_percentiles(struct bench_run *run, double *ms, size_t count);
double bench_median(const double *values, size_t count);

typedef void bench_thread_fn(void *ctx, size_t index);
/* Calls `fn(ctx, 0 ... count - 1)`, each on its own thread, all let go at once; the run's clock
 * starts then and stops when the last has come back. */
void bench_threads(struct bench_run *run, size_t count, bench_thread_fn *fn, void *ctx);
/* The part of `total` that thread `index` of `count` has to do: from *ret_from on. */
size_t bench_share(size_t total, size_t count, size_t index, size_t *ret_from);

/* --- report.c --- */

struct bench_result {
    const struct bench_scenario *scenario;
    bench_store store;
    size_t runs;
    struct bench_figures figures[BENCH_SIDES_MAX][BENCH_RUNS_MAX];
};

struct bench_report {
    struct bench_result *results;
    size_t count;
    bool quick;
    char started[32];
};

/* What tables and aims compare: executions per second, or 1 / p50. 0: not measured. */
double bench_score(const struct bench_result *result, size_t side);
void bench_report_line(const struct bench_result *result); /* while it runs */
void bench_report_print(const struct bench_report *report);
void bench_report_json(const struct bench_report *report, const char *path);
/* Replaces the part of `path` between the two marks. */
void bench_report_docs(const struct bench_report *report, const char *path);

#endif
