/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h -- what the files of bench/ share: scenarios, their sides, what was measured.
 *
 * A scenario is run by several sides: ours first, then the floor (in growth ours in an empty
 * store), then other engines. Every run gets a place of its own (a fresh file or database), so no
 * run pays for what another left behind. Read first: bench/README.md. */
#ifndef FF_BENCH_BENCH_H
#define FF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define BENCH_RUNS_MAX      9
#define BENCH_SIDES_MAX     8
#define BENCH_PAYLOAD_BYTES 256 /* where the scenario says nothing else */
#define BENCH_PAYLOAD_MAX   4096

typedef enum bench_store { BENCH_SQLITE, BENCH_POSTGRES, BENCH_STORES } bench_store;
const char *bench_store_name(bench_store store);

/* What a scenario tells: how many per second, how long one takes, or what doing nothing costs. */
typedef enum bench_kind { BENCH_RATE, BENCH_LATENCY, BENCH_IDLE } bench_kind;

/* What one run showed. Zero: does not apply. */
struct bench_figures {
    size_t count;          /* executions */
    double seconds;        /* wall time */
    double engine_cpu_s;   /* this process, drivers of the scenario included; or the server's */
    double database_cpu_s; /* all processes of the private Postgres; 0 on SQLite */
    double cpu_step_s;     /* the two above cannot tell less apart; 0: they are exact */
    double p50_ms, p95_ms, p99_ms;
    double statements_per_s; /* while nothing happens; below 0: nobody could count */
    double memory_mb;        /* resident, of this process or the server's */
    double requests;         /* to a server */
    double fsync_ms;         /* median of a few, right before the run */
};

struct bench_meter {
    double wall_s, engine_s, database_s;
};

/* One run of one side. */
struct bench_run {
    const struct bench_scenario *scenario;
    const char *side;
    bench_store store;
    char place[512]; /* a path, or the name of a database */
    size_t count;
    char payload[BENCH_PAYLOAD_MAX]; /* a JSON string */
    size_t payload_bytes;
    size_t backlog_percent; /* growth.c: how much of the scenario's backlog to make */
    long server_pid;        /* serve.c: whose CPU and memory are the engine's; 0: our own */
    struct bench_meter meter;
    struct bench_figures figures; /* what the side has to fill, by bench_start and bench_stop */
};

typedef void bench_fn(struct bench_run *run);

#define BENCH_EMPTY "empty" /* a side that begins with an empty store, whatever the backlog */

struct bench_side {
    const char *name;
    bench_fn *run[BENCH_STORES]; /* NULL: does not take part */
};

/* What lies in the store when a run begins; made once and copied. */
struct bench_backlog {
    size_t finished, delayed, blocked;
};

struct bench_scenario {
    const char *name;  /* for --only; never renamed, results refer to it */
    const char *title; /* for tables */
    bench_kind kind;
    size_t count, quick_count; /* executions; flows where the title says so */
    size_t threads;            /* callers, workers or connections */
    size_t batch;              /* per call, transaction or flow */
    struct bench_side sides[BENCH_SIDES_MAX];
    size_t payload_bytes; /* 0: BENCH_PAYLOAD_BYTES */
    bool slow;            /* only if asked for by name, or by --growth */
    struct bench_backlog backlog;
};

/* --- scenarios.c: what is measured, and what we want to see --- */

extern const struct bench_scenario bench_scenarios[];
extern const size_t bench_scenario_count;

typedef enum bench_aim_kind {
    AIM_RATIO,      /* our score over that of (to_scenario, to_side): at least `limit` */
    AIM_P50_MS,     /* at most `limit` */
    AIM_DATABASE_S, /* CPU of the database per 10,000 executions: at most `limit` */
} bench_aim_kind;

#define BENCH_BEST_PEER "best peer" /* as `to_side`: whoever of them scored highest */

struct bench_aim {
    const char *what;
    bench_store store;
    bench_aim_kind kind;
    const char *scenario;
    const char *to_scenario, *to_side;
    double limit;
};
extern const struct bench_aim bench_aims[];
extern const size_t bench_aim_count;

/* --- ours.c: through the public header only, but for the count of statements --- */

bench_fn bench_ours_bulk, bench_ours_drain, bench_ours_submit, bench_ours_work, bench_ours_both,
    bench_ours_routed, bench_ours_followed, bench_ours_latency, bench_ours_start, bench_ours_idle;

/* --- flight.c: the same without a thread for each call --- */

bench_fn bench_flight_submit, bench_flight_both;

/* --- flows.c: the same for graphs --- */

bench_fn bench_flows_hop, bench_flows_chain, bench_flows_chains, bench_flows_fan,
    bench_flows_quorum, bench_flows_edges;

/* --- serve.c: `ff serve` as a child, clients that speak HTTP --- */

bench_fn bench_serve_submit, bench_serve_drain, bench_serve_both, bench_serve_start,
    bench_serve_idle;

/* --- events.c: following the log --- */

bench_fn bench_events_crowd, bench_events_idle, bench_events_busy;

/* --- growth.c: a store that has been in use --- */

bench_fn bench_growth_fill, bench_growth_pinned;

/* --- floor_sqlite.c, floor_postgres.c: the same rows by hand --- */

bench_fn bench_floor_sqlite_insert, bench_floor_sqlite_work, bench_floor_sqlite_both,
    bench_floor_sqlite_latency;
bench_fn bench_floor_postgres_insert, bench_floor_postgres_work, bench_floor_postgres_both,
    bench_floor_postgres_latency;

/* --- peer.c: other engines --- */

bench_fn bench_peer; /* run->side says which */
bool bench_has_peers(void);
/* An object of jansson's, the caller's: name of a package and its version. */
struct json_t *bench_peer_packages(void);

/* --- place.c: files and databases that live for one run --- */

/* Finds or makes what all runs share: a temporary directory, the private Postgres if there is one.
 */
void bench_places_init(void);
void bench_places_done(void);
bool bench_has_store(bench_store store);
void bench_place_new(struct bench_run *run);
/* A copy of a place that nobody uses meanwhile. */
void bench_place_copy(struct bench_run *run, const char *from);
/* What was written before is on the disk, so that the run does not pay for it. */
void bench_place_settle(const struct bench_run *run);
void bench_place_drop(struct bench_run *run);
/* For ff_open. */
const char *bench_url(const struct bench_run *run, char *buf, size_t buf_bytes);
/* For libpq. */
const char *bench_conninfo(const struct bench_run *run, char *buf, size_t buf_bytes);
/* A directory for a run that needs more than a place; valid until the next call. */
const char *bench_scratch_new(void);
void bench_scratch_drop(const char *dir);
/* Statements the server has counted in this database since bench_statements_begin. */
void bench_statements_begin(const struct bench_run *run);
double bench_statements_end(const struct bench_run *run);
const char *bench_postgres_version(void);
/* "ext4", "tmpfs", ...: where files and the private Postgres live. */
const char *bench_file_system(void);
/* Write and fsync 8 KiB a few times: the median, in ms. */
double bench_fsync_ms(void);

/* --- measure.c --- */

/* A program beside us; descriptors for its standard streams, -1: ours. Close-on-exec are all others
 * that must not be kept open by it. */
struct bench_child {
    int in, out, err;
    pid_t pid;
};
void bench_child_start(struct bench_child *child, char *const argv[]);
/* Waits; true: it ended well. Nothing of its group is left. */
bool bench_child_end(struct bench_child *child);

_Noreturn void bench_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *bench_alloc(size_t count, size_t bytes);       /* zeroed; never fails */
double bench_memory_mb(const struct bench_run *run); /* resident now */
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

/* What is told apart in tables: growth is measured by itself, and others only if asked for. */
typedef enum bench_part { BENCH_FIGURES, BENCH_PEERS, BENCH_GROWTH, BENCH_PARTS } bench_part;
bool bench_part_has(bench_part part, const struct bench_result *result);
bool bench_report_has(const struct bench_report *report, bench_part part); /* any result */
void bench_report_write(const struct bench_report *report, bench_part part, FILE *out);
void bench_report_print(const struct bench_report *report);
void bench_report_json(const struct bench_report *report, const char *path);

/* --- docs.c --- */

/* Replaces the parts of `path` that were measured, each between its marks; plots go beside it. */
void bench_report_docs(const struct bench_report *report, const char *path);

/* --- plot.c --- */

/* The first `sides` of a result. False: nothing to compare, nothing written. */
bool bench_plot(const struct bench_result *result, size_t sides, const char *path);

#endif
