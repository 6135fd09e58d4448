/* SPDX-License-Identifier: Apache-2.0
 *
 * graph-lanes.c -- a drawing as lines of text: lanes that edges run down in.
 *
 * A lane leads to one place that has not been drawn before, so that there are as few lanes as the
 * order allows; a place takes over its lane, and its own edges go on from there. What must stay
 * true: in one line at most one edge meets a lane that was there before, otherwise a crossing could
 * not be told from a meeting; and a dot right below another comes after it, so that a long row
 * needs no lines of its own. Tests: tests/unit/test_cli_graph.c. */
#include "cli/graph.h"

#include <string.h>

#include "base/strbuf.h"

#include "base/banned.h"

#define LANES_MAX  16 /* more than this is a tangle: a table tells more */
#define NOBODY     SIZE_MAX
#define LINE_BYTES (8 * LANES_MAX)

struct paper {
    struct ff_cli *cli;
    const char *const *pens;
    struct ff_graph_line *lines;
    size_t count, cap;
    size_t lanes[LANES_MAX]; /* the place each leads to, or NOBODY */
    size_t used;             /* lanes from here on lead nowhere */
    size_t dot;              /* the lane of the dot in the last line, or NOBODY */
    bool tangled;
};

enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8 };
enum { DOT_OPEN = 16, DOT_ACTIVE, DOT_DONE, DOT_FAILED, DOT_DROPPED, PEN_COUNT };

// clang-format off
static const char *const boxes[PEN_COUNT] = {
    [0] = " ", [UP] = "│", [DOWN] = "│", [UP | DOWN] = "│",
    [LEFT] = "─", [RIGHT] = "─", [LEFT | RIGHT] = "─",
    [UP | LEFT] = "╯", [UP | RIGHT] = "╰", [DOWN | LEFT] = "╮", [DOWN | RIGHT] = "╭",
    [UP | DOWN | LEFT] = "┤", [UP | DOWN | RIGHT] = "├",
    [UP | LEFT | RIGHT] = "┴", [DOWN | LEFT | RIGHT] = "┬", [UP | DOWN | LEFT | RIGHT] = "┼",
    [DOT_OPEN] = "○", [DOT_ACTIVE] = "◉", [DOT_DONE] = "●", [DOT_FAILED] = "✗",
    [DOT_DROPPED] = "⊘",
};
static const char *const letters[PEN_COUNT] = {
    [0] = " ", [UP] = "|", [DOWN] = "|", [UP | DOWN] = "|",
    [LEFT] = "-", [RIGHT] = "-", [LEFT | RIGHT] = "-",
    [UP | LEFT] = "'", [UP | RIGHT] = "`", [DOWN | LEFT] = ".", [DOWN | RIGHT] = ".",
    [UP | DOWN | LEFT] = "|", [UP | DOWN | RIGHT] = "|",
    [UP | LEFT | RIGHT] = "-", [DOWN | LEFT | RIGHT] = ".", [UP | DOWN | LEFT | RIGHT] = "+",
    [DOT_OPEN] = "o", [DOT_ACTIVE] = "@", [DOT_DONE] = "*", [DOT_FAILED] = "x",
    [DOT_DROPPED] = "-",
};
// clang-format on

/* ---- lines ------------------------------------------------------------------------------------
 */

static bool add_line(struct paper *paper, const char *graph, size_t width,
                     const struct ff_drawn *item)
{
    if (paper->count == paper->cap) {
        const size_t cap = paper->cap ? 2 * paper->cap : 64;
        struct ff_graph_line *const more = ff_arena_grow(
            &paper->cli->arena, paper->lines, paper->cap * sizeof *more, cap * sizeof *more);

        if (!more)
            return false;
        paper->lines = more;
        paper->cap = cap;
    }
    paper->lines[paper->count++] = (struct ff_graph_line){graph, width, item};
    return true;
}

/* One pen per lane and, between them, a dash where the left one goes on to the right. */
static void draw(struct paper *paper, const int *pens, size_t count, const struct ff_drawn *item)
{
    struct ff_strbuf text = ff_strbuf_in(&paper->cli->arena, LINE_BYTES);
    struct ff_str made;
    size_t width = 0;

    while (count > 0 && pens[count - 1] == 0)
        count--;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            ff_strbuf_adds(
                &text,
                paper->pens[pens[i - 1] < DOT_OPEN && (pens[i - 1] & RIGHT) ? LEFT | RIGHT : 0]);
        ff_strbuf_adds(&text, paper->pens[pens[i]]);
        width += i > 0 ? 2 : 1;
    }
    if (ff_strbuf_take(&text, &made, NULL) != FF_OK || !add_line(paper, made.ptr, width, item))
        paper->tangled = true;
    paper->dot = NOBODY;
}

static void lanes_as_they_are(const struct paper *paper, int pens[LANES_MAX])
{
    for (size_t i = 0; i < LANES_MAX; i++)
        pens[i] = i < paper->used && paper->lanes[i] != NOBODY ? UP | DOWN : 0;
}

/* A dash from lane `a` to lane `b`, over whatever is between them. */
static void dash(int pens[LANES_MAX], size_t a, size_t b)
{
    const size_t left = ff_min_size(a, b), right = ff_max_size(a, b);

    pens[left] |= RIGHT;
    pens[right] |= LEFT;
    for (size_t i = left + 1; i < right; i++)
        pens[i] |= LEFT | RIGHT;
}

static size_t lane_to(const struct paper *paper, size_t place)
{
    for (size_t i = 0; i < paper->used; i++)
        if (paper->lanes[i] == place)
            return i;
    return NOBODY;
}

/* A lane to the right of `after` that leads nowhere; NOBODY: there is none. */
static size_t free_lane(struct paper *paper, size_t after)
{
    for (size_t i = after; i < LANES_MAX; i++) {
        if (i >= paper->used) {
            paper->used = i + 1;
            paper->lanes[i] = NOBODY;
        }
        if (paper->lanes[i] == NOBODY)
            return i;
    }
    return NOBODY;
}

/* ---- places -----------------------------------------------------------------------------------
 */

static int dot_of(const struct ff_drawn *item)
{
    static const struct {
        const char *state;
        int dot;
    } dots[] = {
        {"active", DOT_ACTIVE},     {"completed", DOT_DONE}, {"failed", DOT_FAILED},
        {"cancelled", DOT_DROPPED}, {"expired", DOT_FAILED}, {"skipped", DOT_DROPPED},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(dots); i++)
        if (strcmp(dots[i].state, item->state) == 0)
            return dots[i].dot;
    return DOT_OPEN;
}

/* Edges to places that have a lane already: one line each. The last one may end our own lane. */
static void meet(struct paper *paper, const struct ff_drawn *item, size_t own, bool goes_on)
{
    size_t left = 0;

    for (size_t i = 0; i < item->to_count; i++) {
        const size_t lane = lane_to(paper, item->to[i]);

        left += lane != NOBODY && lane != own ? 1 : 0;
    }
    for (size_t i = 0; i < item->to_count && left > 0; i++) {
        const size_t lane = lane_to(paper, item->to[i]);
        int pens[LANES_MAX];

        if (lane == NOBODY || lane == own)
            continue;
        left--;
        lanes_as_they_are(paper, pens);
        pens[own] = goes_on || left > 0 ? UP | DOWN : UP;
        dash(pens, own, lane);
        draw(paper, pens, paper->used, NULL);
    }
}

/* Edges to places that nothing leads to yet: the first goes on in our own lane. */
static void open_lanes(struct paper *paper, size_t own, const size_t *fresh, size_t count)
{
    int pens[LANES_MAX];

    paper->lanes[own] = count > 0 ? fresh[0] : NOBODY;
    if (count < 2)
        return;
    lanes_as_they_are(paper, pens);
    for (size_t i = 1; i < count; i++) {
        const size_t lane = free_lane(paper, own + 1);

        if (lane == NOBODY) {
            paper->tangled = true;
            return;
        }
        paper->lanes[lane] = fresh[i];
        pens[lane] = DOWN;
        dash(pens, own, lane);
    }
    draw(paper, pens, paper->used, NULL);
}

/* A lane for a place that nothing leads to, apart from what is above it. */
static size_t start_lane(struct paper *paper)
{
    const bool is_new_part = paper->used == 0; /* all before has come to its end */
    const size_t lane = free_lane(paper, 0);
    int pens[LANES_MAX];

    if (lane != NOBODY && paper->count > 0 && (is_new_part || lane == paper->dot)) {
        lanes_as_they_are(paper, pens);
        draw(paper, pens, paper->used, NULL);
    }
    return lane;
}

static void place(struct paper *paper, const struct ff_drawing *drawing, size_t at)
{
    const struct ff_drawn *const item = &drawing->items[at];
    size_t own = lane_to(paper, at), count = 0;
    size_t fresh[LANES_MAX];
    int pens[LANES_MAX];

    if (own == NOBODY)
        own = start_lane(paper);
    if (own == NOBODY) {
        paper->tangled = true;
        return;
    }
    paper->lanes[own] = at;
    lanes_as_they_are(paper, pens);
    pens[own] = dot_of(item);
    draw(paper, pens, paper->used, item);
    paper->dot = own;
    for (size_t i = 0; i < item->to_count; i++) {
        if (lane_to(paper, item->to[i]) != NOBODY)
            continue;
        if (count == LANES_MAX) {
            paper->tangled = true;
            return;
        }
        fresh[count++] = item->to[i];
    }
    meet(paper, item, own, count > 0);
    open_lanes(paper, own, fresh, count);
    while (paper->used > 0 && paper->lanes[paper->used - 1] == NOBODY)
        paper->used--;
}

bool ff_graph_lanes(struct ff_cli *cli, const struct ff_drawing *drawing, size_t lines_max,
                    struct ff_graph_lines *ret)
{
    struct paper paper = {.cli = cli, .pens = cli->plain_text ? letters : boxes};

    for (size_t i = 0; i < drawing->count && !paper.tangled && paper.count <= lines_max; i++)
        place(&paper, drawing, i);
    *ret = (struct ff_graph_lines){paper.lines, ff_min_size(paper.count, lines_max)};
    return !paper.tangled;
}
