/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- many seeds, some of them twice, and what they have met; or one seed, told in full.
 *
 * Seeds run in child processes, so that a failed assertion is one failed seed and not the end.
 * Usage: ff-sim [--seeds N] [--from S] [--jobs N]            many
 *        ff-sim --seed S [--ops N] [--faults a,b] [--store sqlite] [--verbose] [--shrink]   one */
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macros.h"

#include "base/banned.h"

#define SEEDS_DEFAULT 500
#define SEEDS_FULL    1000
#define OPS_DEFAULT   1000
#define JOBS_MAX      16
#define SEEDS_FOR_ALL SEEDS_DEFAULT /* from so many seeds on everything must have been met */
#define TWICE_EVERY   100
#define SQLITE_EVERY  5  /* such seeds go over SQLite as well */
#define SEED_CPU_S    60 /* most take a tenth of a second, also with sanitizers */

struct options {
    struct sim_config one;
    bool has_seed, shrink;
    uint64_t from, seeds;
    int jobs;
};

/* What a child says about a seed. */
struct report {
    uint64_t seed;
    bool begins; /* the first of two */
    bool sqlite, twice, differs;
    struct sim_result result;
};

static void swallow(void *ctx, enum ff_log_level level, struct ff_str line)
{
    (void)level;
    if (ctx)
        (void)fwrite(line.ptr, 1, line.len, stdout);
}

static struct sim_config config_of(const struct options *options, uint64_t seed, bool sqlite)
{
    struct sim_config config = options->one;

    config.seed = seed;
    config.sqlite = sqlite;
    sim_config_draw(&config);
    return config;
}

/* --- one child --- */

static void tell(int fd, const struct report *report)
{
    const char *at = (const char *)report;
    size_t left = sizeof *report;

    while (left > 0) {
        const ssize_t n = write(fd, at, left);

        if (n <= 0)
            _exit(3);
        at += n;
        left -= (size_t)n;
    }
}

/* Ends the process: an endless loop is a bug. */
static void limit_cpu(void)
{
    const struct itimerval patience = {.it_value.tv_sec = SEED_CPU_S};

    (void)setitimer(ITIMER_PROF, &patience, NULL);
}

static void run_seed(const struct options *options, int fd, uint64_t seed, bool sqlite)
{
    const struct sim_config config = config_of(options, seed, sqlite);
    struct report report = {.seed = seed, .sqlite = sqlite, .begins = true};

    tell(fd, &report);
    limit_cpu();
    report.begins = false;
    sim_run(&config, &report.result);
    if (seed % TWICE_EVERY == 0) {
        struct sim_result second;

        sim_run(&config, &second);
        report.twice = true;
        report.differs = second.trace != report.result.trace;
    }
    tell(fd, &report);
}

static void child(const struct options *options, int fd, uint64_t from, uint64_t step, uint64_t end)
{
    for (uint64_t seed = from; seed < end; seed += step) {
        const bool sqlite = options->one.sqlite;

        run_seed(options, fd, seed, sqlite);
        if (!sqlite && seed % SQLITE_EVERY == 0)
            run_seed(options, fd, seed, true);
    }
}

/* --- many seeds --- */

struct crew {
    const struct options *options;
    struct hand {
        pid_t pid;
        int fd;
        uint64_t next; /* the first seed not reported */
        bool busy, sqlite;
        struct report got;
        size_t got_bytes;
    } hands[JOBS_MAX];
    uint64_t passed, failed, reported, turns, commits;
    uint64_t seen[SOMETIMES_COUNT];
};

static void launch(struct crew *crew, struct hand *hand, uint64_t from)
{
    const struct options *const options = crew->options;
    const uint64_t end = options->from + options->seeds;
    int fds[2];

    hand->busy = false;
    hand->pid = 0;
    if (from >= end)
        return;
    (void)fflush(stdout);
    if (pipe(fds) != 0)
        exit(3);
    hand->pid = fork();
    if (hand->pid == 0) {
        close(fds[0]);
        child(options, fds[1], from, (uint64_t)options->jobs, end);
        _exit(0);
    }
    close(fds[1]);
    hand->fd = fds[0];
    hand->next = from;
    hand->got_bytes = 0;
}

static void say_failed(struct crew *crew, uint64_t seed, bool sqlite, const char *why)
{
    const char *const store = sqlite ? " --store sqlite" : "";
    const uint32_t ops = crew->options->one.ops;

    crew->failed++;
    printf("FAILED seed %" PRIu64 "%s: %s\n", seed, sqlite ? " on sqlite" : "", why);
    printf("  repeat: ff-sim --seed %" PRIu64 " --ops %u%s --verbose\n", seed, ops, store);
    printf("  shrink: ff-sim --seed %" PRIu64 " --ops %u%s --shrink\n", seed, ops, store);
}

static void count(struct crew *crew, const struct report *report)
{
    const struct sim_result *const result = &report->result;

    for (int i = 0; i < SOMETIMES_COUNT; i++)
        crew->seen[i] += result->seen[i];
    crew->turns += result->turns;
    crew->commits += result->commits;
    if (result->failed)
        say_failed(crew, report->seed, report->sqlite, result->why);
    else
        crew->passed++;
    if (report->twice && report->differs)
        say_failed(crew, report->seed, report->sqlite, "a second run went another way");
    else if (report->twice)
        crew->passed++;
    if (++crew->reported % 50 == 0)
        printf("ok %" PRIu64 " seeds\n", crew->reported);
}

/* The child is gone: by itself at the end, or in the middle of a seed. */
static void ended(struct crew *crew, struct hand *hand)
{
    char why[64];
    int status = 0;

    close(hand->fd);
    while (waitpid(hand->pid, &status, 0) < 0 && errno == EINTR)
        ;
    hand->pid = 0;
    if (!hand->busy)
        return;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        (void)snprintf(why, sizeof why, "no end after %d s of CPU", SEED_CPU_S);
    else
        (void)snprintf(why, sizeof why, "the process ended with %s %d",
                       WIFSIGNALED(status) ? "signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    say_failed(crew, hand->next, hand->sqlite, why);
    launch(crew, hand, hand->next + (uint64_t)crew->options->jobs);
}

static void listen_to(struct crew *crew, struct hand *hand)
{
    const ssize_t n =
        read(hand->fd, (char *)&hand->got + hand->got_bytes, sizeof hand->got - hand->got_bytes);

    if (n <= 0) {
        ended(crew, hand);
        return;
    }
    hand->got_bytes += (size_t)n;
    if (hand->got_bytes < sizeof hand->got)
        return;
    hand->got_bytes = 0;
    hand->next = hand->got.seed;
    hand->sqlite = hand->got.sqlite;
    hand->busy = hand->got.begins;
    if (!hand->got.begins)
        count(crew, &hand->got);
}

static bool anybody(const struct crew *crew)
{
    for (int i = 0; i < crew->options->jobs; i++)
        if (crew->hands[i].pid)
            return true;
    return false;
}

static void wait_for_word(struct crew *crew)
{
    fd_set set;
    int max = 0;

    FD_ZERO(&set);
    for (int i = 0; i < crew->options->jobs; i++)
        if (crew->hands[i].pid) {
            FD_SET(crew->hands[i].fd, &set);
            max = crew->hands[i].fd > max ? crew->hands[i].fd : max;
        }
    if (select(max + 1, &set, NULL, NULL, NULL) < 0)
        return;
    for (int i = 0; i < crew->options->jobs; i++)
        if (crew->hands[i].pid && FD_ISSET(crew->hands[i].fd, &set))
            listen_to(crew, &crew->hands[i]);
}

static void print_sometimes(struct crew *crew)
{
    const bool all = crew->options->seeds >= SEEDS_FOR_ALL && !crew->options->one.sqlite;

    for (int i = 0; i < SOMETIMES_COUNT; i++) {
        printf("  %10" PRIu64 "  %s\n", crew->seen[i], sim_sometimes_names[i]);
        if (crew->seen[i] > 0) {
            crew->passed += all ? 1 : 0;
        } else if (all) {
            crew->failed++;
            printf("FAILED sometimes: never met: %s\n", sim_sometimes_names[i]);
        }
    }
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_many(const struct options *options)
{
    static struct crew crew;
    const double began = seconds();
    double took;

    crew.options = options;
    for (int i = 0; i < options->jobs; i++)
        launch(&crew, &crew.hands[i], options->from + (uint64_t)i);
    while (anybody(&crew))
        wait_for_word(&crew);
    took = seconds() - began;
    print_sometimes(&crew);
    printf("%" PRIu64 " seeds of %u calls in %.1f s (%.0f a minute), %" PRIu64 " turns, %" PRIu64
           " commits\n",
           crew.reported, options->one.ops, took, (double)crew.reported * 60 / took, crew.turns,
           crew.commits);
    printf("ring sim: %" PRIu64 " passed, %" PRIu64 " failed\n", crew.passed, crew.failed);
    return crew.failed == 0 ? 0 : 1;
}

/* --- one seed --- */

/* In a child: the seed may end in an assertion. */
static bool fails(const struct sim_config *config)
{
    int status = 0;
    pid_t pid;

    (void)fflush(stdout);
    pid = fork();
    if (pid == 0) {
        struct sim_result result;

        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        limit_cpu();
        sim_run(config, &result);
        _exit(result.failed ? 1 : 0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void print_repeat(const struct sim_config *config)
{
    const char *comma = "";

    printf("repeat: ff-sim --seed %" PRIu64 " --ops %u --faults ", config->seed, config->ops);
    for (int fault = 0; fault < FAULT_COUNT; fault++)
        if (config->rate[fault]) {
            printf("%s%s", comma, sim_fault_names[fault]);
            comma = ",";
        }
    printf("%s%s --verbose\n", *comma ? "" : "none", config->sqlite ? " --store sqlite" : "");
}

/* Leaves out kinds of faults, then calls, while it still fails. */
static void shrink(struct sim_config config)
{
    bool progress = true;

    if (!fails(&config)) {
        printf("seed %" PRIu64 " does not fail\n", config.seed);
        return;
    }
    while (progress) {
        progress = false;
        for (int fault = 0; fault < FAULT_COUNT; fault++) {
            const uint32_t rate = config.rate[fault];

            if (!rate)
                continue;
            config.rate[fault] = 0;
            if (fails(&config))
                progress = true;
            else
                config.rate[fault] = rate;
        }
        for (uint32_t cut = config.ops / 2; cut > 0; cut /= 2) {
            struct sim_config less = config;

            less.ops -= cut;
            if (less.ops > 0 && fails(&less)) {
                config = less;
                progress = true;
            }
        }
    }
    print_repeat(&config);
}

static int run_one(const struct options *options)
{
    const struct sim_config config = config_of(options, options->one.seed, options->one.sqlite);
    struct sim_result result;

    if (options->shrink) {
        shrink(config);
        return 0;
    }
    sim_run(&config, &result);
    printf("seed %" PRIu64 ": %s%s, trace %016" PRIx64 ", %" PRIu64 " turns, %" PRIu64
           " commits, %" PRId64 " virtual ms\n",
           config.seed, result.failed ? "FAILED: " : "ok", result.why, result.trace, result.turns,
           result.commits, result.virtual_ms);
    return result.failed ? 1 : 0;
}

/* --- arguments --- */

static uint32_t faults_of(const char *list)
{
    uint32_t faults = 0;

    for (int fault = 0; fault < FAULT_COUNT; fault++) {
        const char *const at = strstr(list, sim_fault_names[fault]);
        const size_t len = strlen(sim_fault_names[fault]);

        if (at && (at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            faults |= 1u << fault;
    }
    return faults;
}

static uint64_t number_of(const char *text)
{
    char *end;
    const unsigned long long number = text ? strtoull(text, &end, 10) : 0;

    if (!text || *end || end == text) {
        (void)fprintf(stderr, "ff-sim: a number is missing\n");
        exit(2);
    }
    return number;
}

static void parse(int argc, char **argv, struct options *options)
{
    const char *const full = getenv("FF_TEST_FULL");

    *options =
        (struct options){.from = 1,
                         .seeds = full && strcmp(full, "1") == 0 ? SEEDS_FULL : SEEDS_DEFAULT,
                         .jobs = 2,
                         .one = {.ops = OPS_DEFAULT, .faults = UINT32_MAX}};
    for (int i = 1; i < argc; i++) {
        const char *const word = argv[i];
        const char *const value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(word, "--verbose") == 0) {
            options->one.verbose = true;
            continue;
        }
        if (strcmp(word, "--shrink") == 0) {
            options->shrink = true;
            continue;
        }
        i++;
        if (strcmp(word, "--seed") == 0) {
            options->one.seed = number_of(value);
            options->has_seed = true;
        } else if (strcmp(word, "--seeds") == 0) {
            options->seeds = number_of(value);
        } else if (strcmp(word, "--from") == 0) {
            options->from = number_of(value);
        } else if (strcmp(word, "--jobs") == 0) {
            options->jobs = (int)ff_max_i64(1, ff_min_i64((int64_t)number_of(value), JOBS_MAX));
        } else if (strcmp(word, "--ops") == 0) {
            options->one.ops = (uint32_t)number_of(value);
        } else if (strcmp(word, "--faults") == 0 && value) {
            options->one.faults = faults_of(value);
        } else if (strcmp(word, "--store") == 0 && value) {
            options->one.sqlite = strcmp(value, "sqlite") == 0;
        } else {
            (void)fprintf(stderr, "ff-sim: unknown argument '%s'\n", word);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct options options;

    parse(argc, argv, &options);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    ff_log_set_sink(swallow, options.one.verbose ? &options : NULL);
    if (options.has_seed)
        return run_one(&options);
    return run_many(&options);
}
