/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- runs the cases of this ring, one after the other.
 *
 * ff-graphs [--seed S] [--graphs N] [--rows N] [--loud] [PART-OF-A-NAME...]. Read first: README.md.
 */
#include "graphs.h"

#include "support/others.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#include "base/banned.h"

struct graph_options graph_options = {.seed = 1};

static const struct plain_case *const tables[] = {model_cases, shape_cases, kill_cases};

/* The engine's complaints about what is done to it. */
static void ignore(void *ctx, enum ff_log_level level, struct ff_str line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static void begin(void)
{
    graph_options.now = graph_options.seed;
}

static void end(struct test *t)
{
    others_done();
    if (t->why[0])
        (void)printf("# to repeat: --seed %" PRIu64 " --graphs 1 --rows %" PRId64 " --loud\n",
                     graph_options.now, graph_options.page);
}

static int usage(void)
{
    (void)fprintf(
        stderr,
        "usage: ff-graphs [--seed S] [--graphs N] [--rows N] [--loud] [PART-OF-A-NAME...]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const struct plain_ring ring = {.name = "graphs",
                                    .tables = tables,
                                    .table_count = sizeof tables / sizeof tables[0],
                                    .before = begin,
                                    .at_last = end};
    const char *wanted[16];
    size_t wanted_count = 0;

    if (!getenv("FF_TEST_LOUD"))
        ff_log_set_sink(ignore, NULL);
    if (argc == 5 && !strcmp(argv[1], "--child"))
        return crowd_child(argv[3], (int)strtol(argv[4], NULL, 10));
    for (int at = 1; at < argc; at++) {
        if (!strcmp(argv[at], "--seed") && at + 1 < argc)
            graph_options.seed = strtoull(argv[++at], NULL, 10);
        else if (!strcmp(argv[at], "--graphs") && at + 1 < argc)
            graph_options.count = (unsigned)strtoul(argv[++at], NULL, 10);
        else if (!strcmp(argv[at], "--rows") && at + 1 < argc)
            graph_options.rows = strtoll(argv[++at], NULL, 10);
        else if (!strcmp(argv[at], "--loud"))
            graph_options.loud = true;
        else if (argv[at][0] != '-' && wanted_count < sizeof wanted / sizeof wanted[0])
            wanted[wanted_count++] = argv[at];
        else
            return usage();
    }
    return run_cases(&ring, wanted, wanted_count);
}
