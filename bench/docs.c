/* SPDX-License-Identifier: Apache-2.0
 *
 * docs.c -- docs/performance.md: every part stands between two marks and is written by itself.
 *
 * A part is replaced only if something of it was measured, so a short run does not wipe what a
 * longer one has found. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

#define PLOTS "docs/plots"

static const char *const marks[BENCH_PARTS][2] = {
    [BENCH_FIGURES] = {"<!-- figures: written by ff-bench --write-docs -->\n",
                       "<!-- end of figures -->\n"},
    [BENCH_PEERS] = {"<!-- peers: written by ff-bench --peers --write-docs -->\n",
                     "<!-- end of peers -->\n"},
    [BENCH_GROWTH] = {"<!-- growth: written by ff-bench --growth --write-docs -->\n",
                      "<!-- end of growth -->\n"},
};

static char *read_all(const char *path)
{
    FILE *const file = fopen(path, "r");
    char *text;
    long bytes;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0)
        bench_die("cannot read '%s'", path);
    rewind(file);
    text = bench_alloc((size_t)bytes + 1, 1);
    if (fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
        bench_die("cannot read '%s'", path);
    (void)fclose(file);
    return text;
}

/* One chart per scenario that has somebody to compare with: the floor, or everybody. */
static void write_plots(const struct bench_report *report, bench_part part, FILE *out)
{
    const size_t sides = part == BENCH_PEERS ? BENCH_SIDES_MAX : 2;
    char path[256];

    (void)mkdir(PLOTS, 0777);
    (void)fprintf(out, "\n");
    for (size_t i = 0; i < report->count; i++) {
        const struct bench_result *const result = &report->results[i];
        const char *const store = bench_store_name(result->store);

        if (!bench_part_has(part, result))
            continue;
        (void)snprintf(path, sizeof path, PLOTS "/%s-%s.svg", part == BENCH_PEERS ? "peers" : store,
                       result->scenario->name);
        if (bench_plot(result, sides, path))
            (void)fprintf(out, "![%s on %s](%s)\n", result->scenario->title, store,
                          path + strlen("docs/"));
    }
}

static void write_part(const struct bench_report *report, bench_part part, const char *path)
{
    char *const text = read_all(path);
    const char *const begin = strstr(text, marks[part][0]);
    const char *const end = begin ? strstr(begin, marks[part][1]) : NULL;
    FILE *file;

    if (!end)
        bench_die("'%s' has no place for '%s'", path, marks[part][0]);
    file = fopen(path, "w");
    if (!file)
        bench_die("cannot write '%s'", path);
    (void)fwrite(text, 1, (size_t)(begin - text) + strlen(marks[part][0]), file);
    (void)fprintf(file, "\n");
    bench_report_write(report, part, file);
    if (part != BENCH_GROWTH)
        write_plots(report, part, file);
    (void)fprintf(file, "\n%s", end);
    if (fclose(file) != 0)
        bench_die("cannot write '%s'", path);
    free(text);
}

void bench_report_docs(const struct bench_report *report, const char *path)
{
    for (int part = 0; part < BENCH_PARTS; part++)
        if (bench_report_has(report, (bench_part)part))
            write_part(report, (bench_part)part, path);
}
