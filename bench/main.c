/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- options, and the order of the runs: ours, floor, ours, floor, ours, floor.
 *
 * Started by tools/bench, from the top of the tree, with a private Postgres in the environment.
 * Without one (FF_TEST_PG) only SQLite is measured. Read first: bench/README.md. */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/banned.h"

#define DOCS "docs/performance.md"

#define MINUTES      24
#define MINUTES_LONG 40 /* with others or growth: for more than one run of the slow ones */

struct settings {
    const char *only;  /* beginnings of scenario names, joined by ','; NULL: all */
    const char *store; /* NULL: all there are */
    const char *side;  /* NULL: all */
    size_t runs;
    size_t count;   /* 0: as the scenario says */
    double minutes; /* 0: by default */
    bool quick, peers, growth, write_docs, keep;
};

static const char usage[] =
    "usage: ff-bench [options]\n"
    "  --only NAME,...     scenarios whose name starts so (--list shows them)\n"
    "  --store NAME        sqlite or postgres\n"
    "  --side NAME         flowfabric, floor or another engine alone\n"
    "  --runs N            runs of each side, interleaved (default 3)\n"
    "  --count N           executions of every scenario that measures a rate\n"
    "  --minutes N         fewer repetitions where it would take longer (default 24; with\n"
    "                      --peers or --growth 40)\n"
    "  --quick             small and once: does it work, and roughly how fast\n"
    "  --peers             other engines, too (bench/peers/README.md)\n"
    "  --growth            the slow scenarios instead: stores that have been in use\n"
    "  --write-docs        write the tables into " DOCS ", each part that was measured\n"
    "  --keep              leave files and databases behind, to look into them\n"
    "  --list              names of the scenarios\n";

static void parse(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"only", required_argument, NULL, 'o'},  {"store", required_argument, NULL, 's'},
        {"side", required_argument, NULL, 'S'},  {"runs", required_argument, NULL, 'r'},
        {"count", required_argument, NULL, 'c'}, {"minutes", required_argument, NULL, 'm'},
        {"quick", no_argument, NULL, 'q'},       {"peers", no_argument, NULL, 'p'},
        {"growth", no_argument, NULL, 'g'},      {"write-docs", no_argument, NULL, 'w'},
        {"list", no_argument, NULL, 'l'},        {"keep", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},        {0},
    };
    int option;

    *settings = (struct settings){0};
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            settings->only = optarg;
            break;
        case 's':
            settings->store = optarg;
            break;
        case 'S':
            settings->side = optarg;
            break;
        case 'r':
            settings->runs = strtoul(optarg, NULL, 10);
            break;
        case 'c':
            settings->count = strtoul(optarg, NULL, 10);
            break;
        case 'm':
            settings->minutes = strtod(optarg, NULL);
            break;
        case 'q':
            settings->quick = true;
            break;
        case 'p':
            settings->peers = true;
            break;
        case 'g':
            settings->growth = true;
            break;
        case 'k':
            settings->keep = true;
            break;
        case 'w':
            settings->write_docs = true;
            break;
        case 'l':
            for (size_t i = 0; i < bench_scenario_count; i++)
                printf("%-14s %s\n", bench_scenarios[i].name, bench_scenarios[i].title);
            exit(0);
        case 'h':
            printf("%s", usage);
            exit(0);
        default:
            (void)fprintf(stderr, "see 'ff-bench --help'\n");
            exit(2);
        }
    }
    if (settings->runs == 0)
        settings->runs = settings->quick ? 1 : 3;
    if (settings->minutes <= 0)
        settings->minutes = settings->peers || settings->growth ? MINUTES_LONG : MINUTES;
    if (settings->peers && !bench_has_peers())
        bench_die("the other engines are not installed: use 'make bench PEERS=1'");
    if (settings->runs > BENCH_RUNS_MAX || optind != argc)
        bench_die("see 'ff-bench --help'");
}

static bool is_named(const struct settings *settings, const char *name)
{
    const char *at = settings->only;

    while (at && *at) {
        const size_t len = strcspn(at, ",");

        /* "submit-1" is not "submit-16". */
        if (len && !strncmp(name, at, len) && !(name[len] >= '0' && name[len] <= '9'))
            return true;
        at += len + (at[len] == ',');
    }
    return false;
}

static bool is_wanted(const struct settings *settings, const struct bench_scenario *scenario)
{
    if (settings->only)
        return is_named(settings, scenario->name);
    return scenario->slow == settings->growth;
}

static void run_init(struct bench_run *run, const struct bench_result *result)
{
    const struct bench_scenario *const scenario = result->scenario;

    *run = (struct bench_run){.scenario = scenario, .store = result->store};
    run->payload_bytes = scenario->payload_bytes ? scenario->payload_bytes : BENCH_PAYLOAD_BYTES;
    memset(run->payload, 'x', sizeof run->payload);
    run->payload[0] = run->payload[run->payload_bytes - 1] = '"';
}

/* Makes the store that the runs of a scenario begin with; false: they begin with an empty one. */
static bool fill_origin(const struct settings *settings, const struct bench_result *result,
                        struct bench_run *origin)
{
    const struct bench_backlog *const backlog = &result->scenario->backlog;

    if (backlog->finished + backlog->delayed + backlog->blocked == 0)
        return false;
    run_init(origin, result);
    origin->backlog_percent = settings->quick ? 10 : 100;
    (void)fprintf(stderr, "ff-bench: filling a store for '%s'\n", result->scenario->name);
    bench_place_new(origin);
    bench_growth_fill(origin);
    return true;
}

/* A store that is filled for long is not copied: it is good for one run. */
static bool is_for_once(const struct bench_scenario *scenario)
{
    return scenario->backlog.finished >= 10000000;
}

/* `origin` NULL: an empty store. */
static void run_side(const struct settings *settings, struct bench_result *result, size_t side,
                     size_t nth, const struct bench_run *origin)
{
    const struct bench_scenario *const scenario = result->scenario;
    const double fsync_ms = bench_fsync_ms();
    struct bench_run run;

    run_init(&run, result);
    run.side = scenario->sides[side].name;
    run.count = settings->quick ? scenario->quick_count : scenario->count;
    if (settings->count && scenario->kind == BENCH_RATE)
        run.count = settings->count;
    if (!origin)
        bench_place_new(&run);
    else if (is_for_once(scenario))
        memcpy(run.place, origin->place, sizeof run.place);
    else
        bench_place_copy(&run, origin->place);
    if (scenario->slow)
        bench_place_settle(&run);
    scenario->sides[side].run[result->store](&run);
    if (!settings->keep && !(origin && is_for_once(scenario)))
        bench_place_drop(&run);
    run.figures.fsync_ms = fsync_ms;
    result->figures[side][nth] = run.figures;
}

static bool is_playing(const struct settings *settings, const struct bench_side *side,
                       bench_store store)
{
    if (!side->run[store] || (settings->side && strcmp(settings->side, side->name) != 0))
        return false;
    return side->run[store] != bench_peer || settings->peers;
}

/* Every side runs once; `until_s` is when the scenario should be over, which decides about more. */
static void run_scenario(const struct settings *settings, struct bench_result *result,
                         double until_s)
{
    const struct bench_side *const sides = result->scenario->sides;
    struct bench_run origin;
    const bool filled = fill_origin(settings, result, &origin);
    const double from_s = bench_now_s();
    const size_t runs = is_for_once(result->scenario) ? 1 : settings->runs;
    double round_s = 0;

    for (size_t nth = 0; nth < runs; nth++) {
        if (nth > 0 && bench_now_s() + round_s > until_s)
            break;
        for (size_t side = 0; side < BENCH_SIDES_MAX; side++)
            if (is_playing(settings, &sides[side], result->store))
                run_side(settings, result, side, nth,
                         filled && strcmp(sides[side].name, BENCH_EMPTY) != 0 ? &origin : NULL);
        result->runs = nth + 1;
        round_s = (bench_now_s() - from_s) / (double)result->runs;
    }
    if (filled)
        bench_place_drop(&origin);
    bench_report_line(result);
}

static void set_started(struct bench_report *report)
{
    const time_t now = time(NULL);
    struct tm parts;

    (void)strftime(report->started, sizeof report->started, "%Y-%m-%d %H:%M",
                   gmtime_r(&now, &parts));
}

static void json_path(const struct bench_report *report, char *path, size_t path_bytes)
{
    char stamp[32];

    (void)snprintf(stamp, sizeof stamp, "%s", report->started);
    for (char *at = stamp; *at; at++)
        *at = *at == ' ' || *at == ':' ? '-' : *at;
    (void)snprintf(path, path_bytes, "bench/results/%s.json", stamp);
    (void)mkdir("bench/results", 0777);
}

/* How much of the time a scenario may take: as many sides as play. */
static double weight(const struct settings *settings, int store, size_t scenario)
{
    double sides = 0;

    for (size_t i = 0; i < BENCH_SIDES_MAX; i++)
        sides += is_playing(settings, &bench_scenarios[scenario].sides[i], (bench_store)store);
    return sides;
}

static bool has_place(const struct settings *settings, int store, size_t scenario)
{
    return bench_has_store((bench_store)store) && is_wanted(settings, &bench_scenarios[scenario]) &&
           weight(settings, store, scenario) > 0 &&
           (!settings->store || strcmp(settings->store, bench_store_name((bench_store)store)) == 0);
}

/* What has been measured is written as one goes: a long run that dies has not been for nothing. */
static void run_all(const struct settings *settings, struct bench_report *report, const char *json)
{
    const double from_s = bench_now_s();
    double wanted = 0;
    double done = 0;

    for (int store = 0; store < BENCH_STORES; store++)
        for (size_t i = 0; i < bench_scenario_count; i++)
            wanted += has_place(settings, store, i) ? weight(settings, store, i) : 0;
    for (int store = 0; store < BENCH_STORES; store++)
        for (size_t i = 0; i < bench_scenario_count; i++) {
            struct bench_result *const result = &report->results[report->count];

            if (!has_place(settings, store, i))
                continue;
            result->scenario = &bench_scenarios[i];
            result->store = (bench_store)store;
            done += weight(settings, store, i);
            run_scenario(settings, result, from_s + settings->minutes * 60 * done / wanted);
            report->count++;
            bench_report_json(report, json);
        }
}

int main(int argc, char **argv)
{
    struct bench_report report = {0};
    struct settings settings;
    const char *beside;
    char path[128];

    parse(argc, argv, &settings);
    beside = settings.growth ? "empty store" : "floor";
    bench_places_init();
    report.quick = settings.quick;
    report.results = bench_alloc(bench_scenario_count * BENCH_STORES, sizeof *report.results);
    set_started(&report);
    json_path(&report, path, sizeof path);
    printf("%-8s  %-36s  %32s  %22s  %6s  %13s  %13s  %7s\n", "store", "scenario", "flowfabric",
           beside, "ratio", "CPU s/10k", "of that", "fsync");
    run_all(&settings, &report, path);
    bench_report_print(&report);
    printf("\nresults: %s\n", path);
    if (settings.write_docs)
        bench_report_docs(&report, DOCS);
    bench_places_done();
    free(report.results);
    return 0;
}
