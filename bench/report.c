/* SPDX-License-Identifier: Apache-2.0
 *
 * report.c -- medians as tables for people and JSON for programs.
 *
 * Ratios are made of medians of interleaved runs on one machine within minutes; absolute figures
 * say more about the machine than about anybody's engine. */
#include "bench.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/banned.h"

/* What tools/bench knows, from the environment. */
#define COMMIT      "FF_BENCH_COMMIT"      /* with a '+' if there are changes */
#define PROGRAM_KIB "FF_BENCH_PROGRAM_KIB" /* size of ff, stripped */

#define WIDTH 110 /* of running text */

typedef double pick_fn(const struct bench_figures *figures);

static double pick_rate(const struct bench_figures *figures)
{
    return figures->seconds > 0 ? (double)figures->count / figures->seconds : 0;
}

static double pick_p50(const struct bench_figures *figures)
{
    return figures->p50_ms;
}

static double pick_p95(const struct bench_figures *figures)
{
    return figures->p95_ms;
}

static double pick_p99(const struct bench_figures *figures)
{
    return figures->p99_ms;
}

static double pick_statements(const struct bench_figures *figures)
{
    return figures->statements_per_s;
}

static double pick_memory(const struct bench_figures *figures)
{
    return figures->memory_mb;
}

static double pick_requests(const struct bench_figures *figures)
{
    return figures->seconds > 0 ? figures->requests / figures->seconds : 0;
}

static double pick_request_us(const struct bench_figures *figures)
{
    return figures->requests > 0 ? figures->engine_cpu_s / figures->requests * 1e6 : 0;
}

static double pick_fsync(const struct bench_figures *figures)
{
    return figures->fsync_ms;
}

static double pick_engine(const struct bench_figures *figures)
{
    return figures->count ? figures->engine_cpu_s / (double)figures->count * 10000 : 0;
}

static double pick_database(const struct bench_figures *figures)
{
    return figures->count ? figures->database_cpu_s / (double)figures->count * 10000 : 0;
}

/* CPU milliseconds per second of doing nothing. */
static double pick_idle_cpu(const struct bench_figures *figures)
{
    return figures->seconds > 0
               ? (figures->engine_cpu_s + figures->database_cpu_s) / figures->seconds * 1000
               : 0;
}

static double pick_idle_step(const struct bench_figures *figures)
{
    return figures->seconds > 0 ? figures->cpu_step_s / figures->seconds * 1000 : 0;
}

/* Runs that ended well; another engine may fail in one of them. */
static size_t runs_of(const struct bench_result *result, size_t side)
{
    size_t runs = 0;

    for (size_t i = 0; side < BENCH_SIDES_MAX && i < result->runs; i++)
        runs += result->figures[side][i].count > 0;
    return runs;
}

static double median(const struct bench_result *result, size_t side, pick_fn *pick)
{
    double values[BENCH_RUNS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < result->runs; i++)
        if (result->figures[side][i].count > 0)
            values[count++] = pick(&result->figures[side][i]);
    return bench_median(values, count);
}

static bool took_part(const struct bench_result *result, size_t side)
{
    return runs_of(result, side) > 0;
}

double bench_score(const struct bench_result *result, size_t side)
{
    const double p50 = median(result, side, pick_p50);

    if (!took_part(result, side))
        return 0;
    switch (result->scenario->kind) {
    case BENCH_RATE:
        return median(result, side, pick_rate);
    case BENCH_LATENCY:
        return p50 > 0 ? 1 / p50 : 0;
    case BENCH_IDLE:
        break;
    }
    return 0;
}

/* --- cells of a table --- */

#define CELL 64

static void cell_number(char *cell, double value)
{
    if (value >= 100)
        (void)snprintf(cell, CELL, "%.0f", value);
    else
        (void)snprintf(cell, CELL, value >= 10 ? "%.1f" : "%.2f", value);
}

/* What was not measured, or is too little to be seen, is told as such. */
static void cell_idle(char *cell, const struct bench_result *result, size_t side)
{
    const double statements = median(result, side, pick_statements);
    const double cpu = median(result, side, pick_idle_cpu);
    const double step = median(result, side, pick_idle_step);
    char count[CELL] = "-";

    if (statements >= 0)
        (void)snprintf(count, sizeof count, "%.1f", statements);
    (void)snprintf(cell, CELL, "%.10s statements/s, %s%.1f ms CPU/s, %.0f MB", count,
                   cpu < step ? "< " : "", cpu < step ? step : cpu,
                   median(result, side, pick_memory));
}

static void cell_figure(char *cell, const struct bench_result *result, size_t side)
{
    if (!took_part(result, side)) {
        (void)snprintf(cell, CELL, "-");
        return;
    }
    switch (result->scenario->kind) {
    case BENCH_RATE:
        (void)snprintf(cell, CELL, "%.0f/s", median(result, side, pick_rate));
        return;
    case BENCH_LATENCY:
        (void)snprintf(cell, CELL, "%.2f / %.2f / %.2f ms", median(result, side, pick_p50),
                       median(result, side, pick_p95), median(result, side, pick_p99));
        return;
    case BENCH_IDLE:
        cell_idle(cell, result, side);
        return;
    }
}

static void cell_ratio(char *cell, const struct bench_result *result)
{
    const double floor = bench_score(result, 1);

    if (floor > 0)
        cell_number(cell, bench_score(result, 0) / floor);
    else
        (void)snprintf(cell, CELL, "-");
}

static void cell_cpu(char *cell, const struct bench_result *result, size_t side)
{
    char engine[CELL];
    char database[CELL];

    if (!took_part(result, side) || result->scenario->kind != BENCH_RATE) {
        (void)snprintf(cell, CELL, "-");
        return;
    }
    cell_number(engine, median(result, side, pick_engine));
    cell_number(database, median(result, side, pick_database));
    if (result->store == BENCH_SQLITE)
        (void)snprintf(cell, CELL, "%.20s", engine);
    else
        (void)snprintf(cell, CELL, "%.20s + %.20s", engine, database);
}

/* The floor's CPU over ours: what the ratio comes to where the disk is never waited for. */
static void cell_cpu_ratio(char *cell, const struct bench_result *result)
{
    const double ours = median(result, 0, pick_engine) + median(result, 0, pick_database);
    const double floor = median(result, 1, pick_engine) + median(result, 1, pick_database);

    if (result->scenario->kind == BENCH_RATE && ours > 0 && floor > 0)
        cell_number(cell, floor / ours);
    else
        (void)snprintf(cell, CELL, "-");
}

void bench_report_line(const struct bench_result *result)
{
    char ours[CELL];
    char floor[CELL];
    char ratio[CELL];
    char cpu[2][CELL];

    cell_figure(ours, result, 0);
    cell_figure(floor, result, 1);
    cell_ratio(ratio, result);
    cell_cpu(cpu[0], result, 0);
    cell_cpu(cpu[1], result, 1);
    printf("%-8s  %-36s  %32s  %22s  %6s  %13s  %13s  %7.2f\n", bench_store_name(result->store),
           result->scenario->title, ours, floor, ratio, cpu[0], cpu[1],
           median(result, 0, pick_fsync));
    (void)fflush(stdout);
}

/* --- which part a result belongs to --- */

static bool is_peer(const struct bench_result *result, size_t side)
{
    return result->scenario->sides[side].run[result->store] == bench_peer;
}

static bool has_peers(const struct bench_result *result)
{
    for (size_t i = 0; i < BENCH_SIDES_MAX; i++)
        if (is_peer(result, i) && took_part(result, i))
            return true;
    return false;
}

bool bench_part_has(bench_part part, const struct bench_result *result)
{
    switch (part) {
    case BENCH_FIGURES:
        return !result->scenario->slow;
    case BENCH_PEERS:
        return has_peers(result);
    case BENCH_GROWTH:
        return result->scenario->slow;
    case BENCH_PARTS:
        break;
    }
    return false;
}

bool bench_report_has(const struct bench_report *report, bench_part part)
{
    for (size_t i = 0; i < report->count; i++)
        if (bench_part_has(part, &report->results[i]))
            return true;
    return false;
}

/* --- aims --- */

static const struct bench_result *find(const struct bench_report *report, bench_store store,
                                       const char *scenario)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->results[i].store == store &&
            !strcmp(report->results[i].scenario->name, scenario))
            return &report->results[i];
    return NULL;
}

static double score_of(const struct bench_result *result, const char *side)
{
    const bool any_peer = !strcmp(side, BENCH_BEST_PEER);
    double best = 0;

    for (size_t i = 0; i < BENCH_SIDES_MAX; i++) {
        const char *const name = result->scenario->sides[i].name;

        if (took_part(result, i) && (any_peer ? is_peer(result, i) : !strcmp(name, side)) &&
            bench_score(result, i) > best)
            best = bench_score(result, i);
    }
    return best;
}

/* 0: something was not measured. */
static double aim_seen(const struct bench_report *report, const struct bench_aim *aim)
{
    const struct bench_result *const ours = find(report, aim->store, aim->scenario);
    const struct bench_result *const other =
        aim->to_scenario ? find(report, aim->store, aim->to_scenario) : NULL;
    double to;

    if (!ours || !took_part(ours, 0))
        return 0;
    switch (aim->kind) {
    case AIM_RATIO:
        to = other ? score_of(other, aim->to_side) : 0;
        return to > 0 ? bench_score(ours, 0) / to : 0;
    case AIM_P50_MS:
        return median(ours, 0, pick_p50);
    case AIM_DATABASE_S:
        return median(ours, 0, pick_database);
    }
    return 0;
}

static bool aim_met(const struct bench_aim *aim, double seen)
{
    return aim->kind == AIM_RATIO ? seen >= aim->limit : seen <= aim->limit;
}

static bench_part aim_part(const struct bench_result *ours, const struct bench_aim *aim)
{
    if (ours->scenario->slow)
        return BENCH_GROWTH;
    for (size_t i = 0; aim->to_side && i < BENCH_SIDES_MAX; i++)
        if (is_peer(ours, i) && (!strcmp(aim->to_side, BENCH_BEST_PEER) ||
                                 !strcmp(aim->to_side, ours->scenario->sides[i].name)))
            return BENCH_PEERS;
    return BENCH_FIGURES;
}

/* --- the machine --- */

static void machine(char *buf, size_t buf_bytes)
{
    char model[128] = "unknown processor";
    char line[256];
    struct utsname name;
    FILE *const file = fopen("/proc/cpuinfo", "r");

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %127[^\n]", model) == 1)
            break;
    if (file)
        (void)fclose(file);
    (void)uname(&name);
    (void)snprintf(buf, buf_bytes, "%ld x %s, Linux %s, %s", sysconf(_SC_NPROCESSORS_ONLN), model,
                   name.release, bench_file_system());
}

static double load_now(void)
{
    double load = 0;

    return getloadavg(&load, 1) == 1 ? load : 0;
}

static double fsync_of_all(const struct bench_report *report, bench_part part)
{
    double values[64];
    size_t count = 0;

    for (size_t i = 0; i < report->count && count < 64; i++)
        if (bench_part_has(part, &report->results[i]))
            values[count++] = median(&report->results[i], 0, pick_fsync);
    return bench_median(values, count);
}

/* --- tables --- */

static void write_head(const struct bench_report *report, bench_part part, FILE *out)
{
    const char *const program_kib = getenv(PROGRAM_KIB);
    const char *const commit = getenv(COMMIT);
    char text[512];

    machine(text, sizeof text);
    (void)fprintf(out, "%s%s%s%s. %s; SQLite %s; Postgres %s.\n", report->started,
                  commit ? ", commit " : "", commit ? commit : "",
                  report->quick ? ", quick: too short to mean much" : "", text,
                  sqlite3_libversion(),
                  bench_postgres_version()[0] ? bench_postgres_version() : "not measured");
    (void)fprintf(out,
                  "Medians of as many interleaved runs as the last column says. CPU: seconds per "
                  "10,000 executions,\n"
                  "engine (this process) + database. fsync of 8 KiB meanwhile: %.2f ms; load of "
                  "the machine at\n"
                  "the end: %.1f. The stripped `ff` has %s KiB.\n\n",
                  fsync_of_all(report, part), load_now(), program_kib ? program_kib : "?");
}

static void write_table(const struct bench_report *report, bench_part part, FILE *out)
{
    const char *const beside = part == BENCH_GROWTH ? "empty store" : "floor";

    (void)fprintf(out,
                  "| store | scenario | FlowFabric | %s | ratio | CPU | CPU of the %s | CPU ratio "
                  "| runs |\n|---|---|---|---|---|---|---|---|---|\n",
                  beside, beside);
    for (size_t i = 0; i < report->count; i++) {
        const struct bench_result *const result = &report->results[i];
        char cells[6][CELL];

        if (!bench_part_has(part, result))
            continue;
        cell_figure(cells[0], result, 0);
        cell_figure(cells[1], result, 1);
        cell_ratio(cells[2], result);
        cell_cpu(cells[3], result, 0);
        cell_cpu(cells[4], result, 1);
        cell_cpu_ratio(cells[5], result);
        (void)fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %zu |\n",
                      bench_store_name(result->store), result->scenario->title, cells[0], cells[1],
                      cells[2], cells[3], cells[4], cells[5], result->runs);
    }
}

static void write_aims(const struct bench_report *report, bench_part part, FILE *out)
{
    bool any = false;

    for (size_t i = 0; i < bench_aim_count; i++) {
        const struct bench_aim *const aim = &bench_aims[i];
        const struct bench_result *const ours = find(report, aim->store, aim->scenario);
        const double seen = aim_seen(report, aim);

        if (!ours || seen <= 0 || aim_part(ours, aim) != part)
            continue;
        if (!any)
            (void)fprintf(out, "\n| store | aim | wanted | seen | |\n|---|---|---|---|---|\n");
        any = true;
        (void)fprintf(out, "| %s | %s | %s %.2g | %.2f | %s |\n", bench_store_name(aim->store),
                      aim->what, aim->kind == AIM_RATIO ? "at least" : "at most", aim->limit, seen,
                      aim_met(aim, seen) ? "met" : "not met");
    }
}

/* A server's requests. */
static void write_requests(const struct bench_report *report, bench_part part, FILE *out)
{
    bool any = false;

    for (size_t i = 0; i < report->count; i++) {
        const struct bench_result *const result = &report->results[i];
        const double per_s = median(result, 0, pick_requests);

        if (per_s <= 0 || !bench_part_has(part, result))
            continue;
        if (!any)
            (void)fprintf(out, "\n| store | scenario | requests per second | CPU of the server per "
                               "request |\n|---|---|---|---|\n");
        any = true;
        (void)fprintf(out, "| %s | %s | %.0f | %.0f us |\n", bench_store_name(result->store),
                      result->scenario->title, per_s, median(result, 0, pick_request_us));
    }
}

static void write_versions(FILE *out)
{
    json_t *const packages = bench_peer_packages();
    const char *name;
    json_t *version;
    int column = fprintf(out, "Versions:");
    const char *before = "";

    json_object_foreach(packages, name, version)
    {
        const char *const text = json_string_value(version);
        const bool fits = column + (int)(strlen(name) + strlen(text)) < WIDTH;

        column =
            fprintf(out, "%s%s%s %s", before, fits ? " " : "\n", name, text) + (fits ? column : 0);
        before = ",";
    }
    (void)fprintf(out, ".\n\n");
    json_decref(packages);
}

/* Other engines. */
static void write_peers(const struct bench_report *report, FILE *out)
{
    (void)fprintf(out, "| scenario | engine | figure | FlowFabric is faster by | CPU | runs |\n"
                       "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < report->count; i++) {
        const struct bench_result *const result = &report->results[i];
        char cell[CELL];

        if (!has_peers(result))
            continue;
        for (size_t side = 0; side < BENCH_SIDES_MAX; side++) {
            if (!took_part(result, side))
                continue;
            cell_figure(cell, result, side);
            (void)fprintf(out, "| %s | %s | %s |", result->scenario->title,
                          result->scenario->sides[side].name, cell);
            cell_number(cell, bench_score(result, 0) / bench_score(result, side));
            (void)fprintf(out, " %s |", cell);
            cell_cpu(cell, result, side);
            (void)fprintf(out, " %s | %zu |\n", cell, runs_of(result, side));
        }
    }
}

void bench_report_write(const struct bench_report *report, bench_part part, FILE *out)
{
    write_head(report, part, out);
    if (part == BENCH_PEERS) {
        write_versions(out);
        write_peers(report, out);
    } else {
        write_table(report, part, out);
        write_requests(report, part, out);
    }
    write_aims(report, part, out);
}

void bench_report_print(const struct bench_report *report)
{
    for (int part = 0; part < BENCH_PARTS; part++)
        if (bench_report_has(report, (bench_part)part)) {
            printf("\n");
            bench_report_write(report, (bench_part)part, stdout);
        }
}

/* --- JSON --- */

static json_t *json_of_side(const struct bench_result *result, size_t side)
{
    json_t *const runs = json_array();

    for (size_t i = 0; i < result->runs; i++) {
        const struct bench_figures *const f = &result->figures[side][i];

        if (f->count == 0)
            continue;
        (void)json_array_append_new(
            runs,
            json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o?, s:f, s:f, s:f}", "executions",
                      (json_int_t)f->count, "seconds", f->seconds, "engine_cpu_s", f->engine_cpu_s,
                      "database_cpu_s", f->database_cpu_s, "cpu_step_s", f->cpu_step_s, "p50_ms",
                      f->p50_ms, "p95_ms", f->p95_ms, "p99_ms", f->p99_ms, "statements_per_s",
                      f->statements_per_s < 0 ? NULL : json_real(f->statements_per_s), "requests",
                      f->requests, "memory_mb", f->memory_mb, "fsync_ms", f->fsync_ms));
    }
    return json_pack("{s:s, s:f, s:o}", "side", result->scenario->sides[side].name,
                     "median_per_second", median(result, side, pick_rate), "runs", runs);
}

static json_t *json_of_result(const struct bench_result *result)
{
    json_t *const sides = json_array();

    for (size_t i = 0; i < BENCH_SIDES_MAX; i++)
        if (took_part(result, i))
            (void)json_array_append_new(sides, json_of_side(result, i));
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:o}", "store", bench_store_name(result->store),
                     "scenario", result->scenario->name, "title", result->scenario->title,
                     "threads", (json_int_t)result->scenario->threads, "batch",
                     (json_int_t)result->scenario->batch, "sides", sides);
}

/* Those that were measured. */
static json_t *json_of_aims(const struct bench_report *report)
{
    json_t *const aims = json_array();

    for (size_t i = 0; i < bench_aim_count; i++) {
        const struct bench_aim *const aim = &bench_aims[i];
        const double seen = aim_seen(report, aim);

        if (seen > 0)
            (void)json_array_append_new(
                aims,
                json_pack("{s:s, s:s, s:s, s:f, s:f}", "store", bench_store_name(aim->store), "aim",
                          aim->what, "kind", aim->kind == AIM_RATIO ? "at least" : "at most",
                          "limit", aim->limit, "seen", seen));
    }
    return aims;
}

static json_t *json_of_number(const char *text)
{
    return text ? json_integer(strtol(text, NULL, 10)) : NULL;
}

void bench_report_json(const struct bench_report *report, const char *path)
{
    json_t *const results = json_array();
    char text[512];
    json_t *root;

    machine(text, sizeof text);
    for (size_t i = 0; i < report->count; i++)
        (void)json_array_append_new(results, json_of_result(&report->results[i]));
    root =
        json_pack("{s:i, s:s, s:s?, s:b, s:s, s:s, s:s, s:o?, s:o?, s:o, s:o}", "format", 1,
                  "started", report->started, "commit", getenv(COMMIT), "quick", (int)report->quick,
                  "machine", text, "sqlite", sqlite3_libversion(), "postgres",
                  bench_postgres_version(), "program_kib", json_of_number(getenv(PROGRAM_KIB)),
                  "peers", bench_report_has(report, BENCH_PEERS) ? bench_peer_packages() : NULL,
                  "results", results, "aims", json_of_aims(report));
    FILE *const file = fopen(path, "w");

    if (!root || !file || json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0 ||
        fputc('\n', file) == EOF || fclose(file) != 0)
        bench_die("cannot write '%s'", path);
    json_decref(root);
}
