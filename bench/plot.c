/* SPDX-License-Identifier: Apache-2.0
 *
 * plot.c -- small bar charts as SVG, one per scenario: the longer the bar, the better.
 *
 * Plain text without style sheets or scripts, so that it shows in any viewer of Markdown. */
#include "bench.h"

#include <stdio.h>

#include "base/banned.h"

#define WIDTH      640
#define BAR_HEIGHT 18
#define GAP        6
#define TOP        30
#define LABEL      150
#define BAR_MAX    360

static double best_of(const struct bench_result *result, size_t sides)
{
    double best = 0;

    for (size_t side = 0; side < sides; side++)
        if (bench_score(result, side) > best)
            best = bench_score(result, side);
    return best;
}

static size_t bar_count(const struct bench_result *result, size_t sides)
{
    size_t count = 0;

    for (size_t side = 0; side < sides; side++)
        count += bench_score(result, side) > 0;
    return count;
}

static void write_bar(FILE *out, const struct bench_result *result, size_t side, int y, double best)
{
    const double score = bench_score(result, side);
    const bool is_rate = result->scenario->kind == BENCH_RATE;

    (void)fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LABEL - 8,
                  y + BAR_HEIGHT - 5, result->scenario->sides[side].name);
    (void)fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                  LABEL, y, score / best * BAR_MAX, BAR_HEIGHT,
                  side == 0   ? "#2a6fb0"
                  : side == 1 ? "#b0b0b0"
                              : "#d9a441");
    (void)fprintf(out,
                  is_rate ? "<text x=\"%.1f\" y=\"%d\">%.0f/s</text>\n"
                          : "<text x=\"%.1f\" y=\"%d\">%.2f ms</text>\n",
                  LABEL + score / best * BAR_MAX + 6, y + BAR_HEIGHT - 5,
                  is_rate ? score : 1 / score);
}

bool bench_plot(const struct bench_result *result, size_t sides, const char *path)
{
    const double best = best_of(result, sides);
    const size_t bars = bar_count(result, sides);
    int y = TOP;
    FILE *out;

    if (bars < 2)
        return false;
    out = fopen(path, "w");
    if (!out)
        bench_die("cannot write '%s'", path);
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"8\" y=\"18\" font-weight=\"bold\">%s, %s</text>\n",
                  WIDTH, TOP + bars * (BAR_HEIGHT + GAP) + GAP, result->scenario->title,
                  bench_store_name(result->store));
    for (size_t side = 0; side < sides; side++) {
        if (bench_score(result, side) <= 0)
            continue;
        write_bar(out, result, side, y, best);
        y += BAR_HEIGHT + GAP;
    }
    (void)fprintf(out, "</svg>\n");
    if (fclose(out) != 0)
        bench_die("cannot write '%s'", path);
    return true;
}
