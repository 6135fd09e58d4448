/* SPDX-License-Identifier: Apache-2.0
 *
 * graph-print.c -- a drawing on paper: lanes that edges run down in, a table, or Graphviz.
 *
 * A lane leads to one place that has not been drawn yet, so that there are as few lanes as the
 * order allows; a place takes over its lane, and its own edges go on from there. What must stay
 * true: in one line at most one edge meets a lane that was there before, otherwise a crossing could
 * not be told from a meeting. Tests: tests/unit/test_cli_graph.c. */
#include "cli/graph.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/strbuf.h"
#include "cli/print.h"

#include "base/banned.h"

#define LANES_MAX    16 /* more than this is a tangle: a table tells more */
#define AFTER_SHOWN  3
#define NOBODY       SIZE_MAX
#define LINE_BYTES   (8 * LANES_MAX)
#define GRAPH_BYTES  (8 << 20)
#define STATES_BYTES 256

struct line {
    const char *graph;           /* the lanes */
    size_t width;                /* in characters */
    const struct ff_drawn *item; /* NULL: only lanes */
};

struct paper {
    struct ff_cli *cli;
    const char *const *pens;
    struct line *lines;
    size_t count, cap;
    size_t lanes[LANES_MAX]; /* the place each leads to, or NOBODY */
    size_t used;             /* lanes from here on lead nowhere */
    bool tangled;
};

enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8, DOT_OPEN = 16, DOT_ACTIVE, DOT_ENDED, PEN_COUNT };

// clang-format off
static const char *const boxes[PEN_COUNT] = {
    [0] = " ", [UP] = "│", [DOWN] = "│", [UP | DOWN] = "│",
    [LEFT] = "─", [RIGHT] = "─", [LEFT | RIGHT] = "─",
    [UP | LEFT] = "╯", [UP | RIGHT] = "╰", [DOWN | LEFT] = "╮", [DOWN | RIGHT] = "╭",
    [UP | DOWN | LEFT] = "┤", [UP | DOWN | RIGHT] = "├",
    [UP | LEFT | RIGHT] = "┴", [DOWN | LEFT | RIGHT] = "┬", [UP | DOWN | LEFT | RIGHT] = "┼",
    [DOT_OPEN] = "○", [DOT_ACTIVE] = "◉", [DOT_ENDED] = "●",
};
static const char *const letters[PEN_COUNT] = {
    [0] = " ", [UP] = "|", [DOWN] = "|", [UP | DOWN] = "|",
    [LEFT] = "-", [RIGHT] = "-", [LEFT | RIGHT] = "-",
    [UP | LEFT] = "'", [UP | RIGHT] = "`", [DOWN | LEFT] = ".", [DOWN | RIGHT] = ".",
    [UP | DOWN | LEFT] = "|", [UP | DOWN | RIGHT] = "|",
    [UP | LEFT | RIGHT] = "-", [DOWN | LEFT | RIGHT] = ".", [UP | DOWN | LEFT | RIGHT] = "+",
    [DOT_OPEN] = "o", [DOT_ACTIVE] = "@", [DOT_ENDED] = "*",
};
// clang-format on

/* ---- lines ------------------------------------------------------------------------------------
 */

static bool add_line(struct paper *paper, const char *graph, size_t width,
                     const struct ff_drawn *item)
{
    if (paper->count == paper->cap) {
        const size_t cap = paper->cap ? 2 * paper->cap : 64;
        struct line *const more = ff_arena_grow(&paper->cli->arena, paper->lines,
                                                paper->cap * sizeof *more, cap * sizeof *more);

        if (!more)
            return false;
        paper->lines = more;
        paper->cap = cap;
    }
    paper->lines[paper->count++] = (struct line){graph, width, item};
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
            return i;
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
        {"active", DOT_ACTIVE},   {"completed", DOT_ENDED}, {"failed", DOT_ENDED},
        {"cancelled", DOT_ENDED}, {"expired", DOT_ENDED},   {"skipped", DOT_ENDED},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(dots); i++)
        if (strcmp(dots[i].state, item->first->public_state) == 0)
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
static void open_lanes(struct paper *paper, const struct ff_drawn *item, size_t own,
                       const size_t *fresh, size_t count)
{
    int pens[LANES_MAX];

    (void)item;
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

static void place(struct paper *paper, const struct ff_drawing *drawing, size_t at)
{
    const struct ff_drawn *const item = &drawing->items[at];
    size_t own = lane_to(paper, at), count = 0;
    size_t fresh[LANES_MAX];
    int pens[LANES_MAX];

    if (own == NOBODY)
        own = free_lane(paper, 0);
    if (own == NOBODY) {
        paper->tangled = true;
        return;
    }
    paper->lanes[own] = at;
    lanes_as_they_are(paper, pens);
    pens[own] = dot_of(item);
    draw(paper, pens, paper->used, item);
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
    open_lanes(paper, item, own, fresh, count);
    while (paper->used > 0 && paper->lanes[paper->used - 1] == NOBODY)
        paper->used--;
}

/* ---- words ------------------------------------------------------------------------------------
 */

static const char *name_of(struct ff_cli *cli, const struct ff_drawn *item)
{
    const char *const first = ff_printable(cli, item->first->name, strlen(item->first->name));
    const char *const last = ff_printable(cli, item->last->name, strlen(item->last->name));

    if (item->count == 1)
        return first;
    return ff_arena_printf(&cli->arena, "%s .. %s (%zu%s)", first, last, item->count,
                           item->is_row ? " in a row" : "")
        .ptr;
}

/* "completed", or "95 completed, 5 active". */
static const char *states_of(struct ff_cli *cli, const struct ff_flow_info *flow,
                             const struct ff_drawn *item)
{
    struct ff_strbuf text = ff_strbuf_in(&cli->arena, STATES_BYTES);
    struct ff_str made;

    for (size_t c = 0; c < flow->count_count; c++) {
        const char *const state = flow->counts[c].public_state;
        size_t count = 0;

        for (size_t i = 0; i < item->count; i++)
            count += strcmp(flow->nodes[item->members[i]].public_state, state) == 0 ? 1 : 0;
        if (count == item->count)
            return state;
        if (count > 0)
            ff_strbuf_addf(&text, "%s%zu %s", text.len ? ", " : "", count, state);
    }
    return ff_strbuf_take(&text, &made, NULL) == FF_OK && made.len ? made.ptr
                                                                   : item->first->public_state;
}

static const char *kind_of(struct ff_cli *cli, const struct ff_flow_info *flow,
                           const struct ff_drawn *item)
{
    for (size_t i = 1; i < item->count; i++)
        if (strcmp(flow->nodes[item->members[i]].kind, item->first->kind) != 0)
            return "several kinds";
    return ff_printable(cli, item->first->kind, strlen(item->first->kind));
}

static void add_outcome(struct ff_strbuf *text, int64_t count, const char *word)
{
    if (count > 0)
        ff_strbuf_addf(text, "%s%" PRId64 " %s", text->len ? ", " : "", count, word);
}

/* "2 of 3: 1 success, 1 fail"; "" where there is nothing to wait for but one node. */
static const char *join_of(struct ff_cli *cli, const struct ff_flow_join_info *join)
{
    struct ff_strbuf text = ff_strbuf_in(&cli->arena, STATES_BYTES);
    struct ff_str made;
    const char *head;

    if (!join || (join->total < 2 && strcmp(join->policy, "all_of") == 0))
        return "";
    add_outcome(&text, join->success, "success");
    add_outcome(&text, join->fail, "fail");
    add_outcome(&text, join->skip, "skip");
    if (strcmp(join->group_state, "impossible") == 0)
        ff_strbuf_addf(&text, "%simpossible", text.len ? ", " : "");
    if (strcmp(join->policy, "quorum") == 0)
        head = ff_arena_printf(&cli->arena, "%" PRId64, join->k).ptr;
    else
        head = strcmp(join->policy, "any_of") == 0 ? "any" : "all";
    if (ff_strbuf_take(&text, &made, NULL) != FF_OK || !head)
        return "";
    const char *const whole = ff_arena_printf(&cli->arena, "%s of %" PRId64 "%s%s", head,
                                              join->total, made.len ? ": " : "", made.ptr)
                                  .ptr;
    return whole ? whole : "";
}

/* ---- printing ---------------------------------------------------------------------------------
 */

struct words {
    const char *name, *states, *kind, *join;
};

static void print_padded(struct ff_cli *cli, const char *text, size_t width, size_t wanted)
{
    (void)fprintf(cli->out, "%s%*s", text, (int)(wanted - width), "");
}

static void print_lines(struct ff_cli *cli, const struct ff_flow_info *flow,
                        const struct paper *paper, size_t count)
{
    struct words *const words = ff_arena_array(&cli->arena, count, sizeof *words);
    size_t lanes = 0, names = 0, states = 0;

    for (size_t i = 0; words && i < count; i++) {
        const struct line *const line = &paper->lines[i];

        lanes = ff_max_size(lanes, line->width);
        if (!line->item)
            continue;
        words[i] = (struct words){name_of(cli, line->item), states_of(cli, flow, line->item),
                                  kind_of(cli, flow, line->item), join_of(cli, line->item->join)};
        names = ff_max_size(names, ff_text_width(words[i].name));
        states = ff_max_size(states, ff_text_width(words[i].states));
    }
    for (size_t i = 0; words && i < count; i++) {
        const struct line *const line = &paper->lines[i];

        if (!line->item) {
            (void)fprintf(cli->out, "  %s\n", line->graph);
            continue;
        }
        (void)fputs("  ", cli->out);
        print_padded(cli, line->graph, line->width, lanes + 2);
        print_padded(cli, words[i].name, ff_text_width(words[i].name), names + 2);
        (void)fputs(ff_state_colour(cli, words[i].states), cli->out);
        (void)fputs(words[i].states, cli->out);
        (void)fprintf(cli->out, "%s%*s%s%s%s\n", ff_colour_off(cli),
                      (int)(states + 2 - ff_text_width(words[i].states)), "", words[i].kind,
                      words[i].join[0] ? "  " : "", words[i].join);
    }
}

static size_t left_out(const struct ff_flow_info *flow, const struct paper *paper, size_t shown)
{
    size_t nodes = 0;

    for (size_t i = 0; i < shown; i++)
        nodes += paper->lines[i].item ? paper->lines[i].item->count : 0;
    return flow->node_info_count - nodes;
}

/* What needs a look comes first. */
static int urgency(const char *state)
{
    static const char *const order[] = {"failed",  "expired",          "active",    "waiting",
                                        "delayed", "waiting_children", "cancelled", "skipped"};

    for (size_t i = 0; i < FF_ARRAY_LEN(order); i++)
        if (strcmp(order[i], state) == 0)
            return (int)i;
    return (int)FF_ARRAY_LEN(order) + (strcmp(state, "completed") == 0);
}

static int by_urgency(const void *a, const void *b)
{
    const struct ff_drawn *const x = *(const struct ff_drawn *const *)a;
    const struct ff_drawn *const y = *(const struct ff_drawn *const *)b;
    const int diff = urgency(x->first->public_state) - urgency(y->first->public_state);

    return diff ? diff : (x > y) - (x < y);
}

/* "a, b, c and 97 more" of the nodes before an item; `befores` lists them. */
static const char *after_of(struct ff_cli *cli, const struct ff_drawing *drawing,
                            const size_t *befores, size_t count)
{
    struct ff_strbuf text = ff_strbuf_in(&cli->arena, GRAPH_BYTES);
    struct ff_str made;

    for (size_t i = 0; i < count && i < AFTER_SHOWN; i++)
        ff_strbuf_addf(&text, "%s%s", i ? ", " : "", name_of(cli, &drawing->items[befores[i]]));
    if (count > AFTER_SHOWN)
        ff_strbuf_addf(&text, " and %zu more", count - AFTER_SHOWN);
    return ff_strbuf_take(&text, &made, NULL) == FF_OK ? made.ptr : "?";
}

/* A tangle: one row per place, and what it comes after in words. */
static size_t print_table(struct ff_cli *cli, const struct ff_flow_info *flow,
                          const struct ff_drawing *drawing, size_t rows_max)
{
    static const char *const titles[] = {"NODE", "STATE", "KIND", "AFTER", "JOIN"};
    const size_t rows = ff_min_size(drawing->count, rows_max);
    const struct ff_drawn **const order =
        ff_arena_array(&cli->arena, drawing->count, sizeof(void *));
    size_t **const befores = ff_arena_array(&cli->arena, drawing->count, sizeof(void *));
    size_t *const filled = ff_arena_array(&cli->arena, drawing->count, sizeof *filled);
    size_t nodes = 0;
    struct ff_grid grid;

    if (!order || !befores || !filled)
        return flow->node_info_count;
    for (size_t i = 0; i < drawing->count; i++) {
        order[i] = &drawing->items[i];
        befores[i] = ff_arena_array(&cli->arena, drawing->items[i].from_count, sizeof(size_t));
    }
    for (size_t i = 0; i < drawing->count; i++)
        for (size_t t = 0; t < drawing->items[i].to_count; t++) {
            const size_t to = drawing->items[i].to[t];

            if (befores[to])
                befores[to][filled[to]++] = i;
        }
    if (rows < drawing->count)
        qsort(order, drawing->count, sizeof *order, by_urgency);
    ff_grid_init(&grid, cli, titles, FF_ARRAY_LEN(titles));
    grid.state_column = 1;
    for (size_t i = 0; i < rows; i++) {
        const size_t at = (size_t)(order[i] - drawing->items);
        const char *const cells[] = {
            name_of(cli, order[i]),       states_of(cli, flow, order[i]),
            kind_of(cli, flow, order[i]), after_of(cli, drawing, befores[at], filled[at]),
            join_of(cli, order[i]->join),
        };

        ff_grid_add(&grid, cells);
        nodes += order[i]->count;
    }
    ff_grid_print(&grid, "  ");
    return flow->node_info_count - nodes;
}

size_t ff_graph_print(struct ff_cli *cli, const struct ff_flow_info *flow,
                      const struct ff_drawing *drawing, size_t lines_max)
{
    struct paper paper = {.cli = cli, .pens = cli->plain_text ? letters : boxes};

    for (size_t i = 0; i < drawing->count && !paper.tangled && paper.count <= lines_max; i++)
        place(&paper, drawing, i);
    if (paper.tangled)
        return print_table(cli, flow, drawing, lines_max);

    const size_t shown = ff_min_size(paper.count, lines_max);
    print_lines(cli, flow, &paper, shown);
    return left_out(flow, &paper, shown);
}

/* ---- Graphviz ---------------------------------------------------------------------------------
 */

static const char *dot_colour(const char *word)
{
    static const struct {
        const char *word, *colour;
    } colours[] = {
        {"completed", "palegreen"},
        {"success", "forestgreen"},
        {"failed", "lightcoral"},
        {"expired", "lightcoral"},
        {"fail", "red"},
        {"active", "lightskyblue"},
        {"cancelled", "plum"},
        {"skipped", "lightgrey"},
        {"skip", "grey"},
        {"delayed", "khaki"},
        {"unresolved", "black"},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(colours); i++)
        if (strcmp(colours[i].word, word) == 0)
            return colours[i].colour;
    return "white";
}

/* A quoted string of Graphviz; control characters would break the line. */
static void dot_text(struct ff_cli *cli, const char *text)
{
    for (const char *at = ff_printable(cli, text, strlen(text)); *at; at++) {
        if (*at == '"' || *at == '\\')
            (void)fputc('\\', cli->out);
        (void)fputc(*at, cli->out);
    }
}

static void dot_edge(struct ff_cli *cli, const struct ff_flow_edge_info *edge)
{
    (void)fputs("  \"", cli->out);
    dot_text(cli, edge->from);
    (void)fputs("\" -> \"", cli->out);
    dot_text(cli, edge->to);
    (void)fprintf(cli->out, "\" [color=%s%s];\n", dot_colour(edge->outcome),
                  strcmp(edge->pass, "input") == 0 ? ", label=input" : "");
}

void ff_graph_dot(struct ff_cli *cli, const struct ff_flow_info *flow)
{
    size_t join = 0;

    (void)fprintf(cli->out,
                  "digraph \"%s\" {\n  node [shape=box, style=\"rounded,filled\", "
                  "fontname=\"sans-serif\"];\n",
                  flow->flow_id);
    for (size_t i = 0; i < flow->node_info_count; i++) {
        const struct ff_flow_node_info *const node = &flow->nodes[i];

        (void)fputs("  \"", cli->out);
        dot_text(cli, node->name);
        (void)fputs("\" [label=\"", cli->out);
        dot_text(cli, node->name);
        (void)fprintf(cli->out, "\\n%s", node->public_state);
        while (join < flow->join_count && strcmp(flow->joins[join].node, node->name) < 0)
            join++;
        if (join < flow->join_count && strcmp(flow->joins[join].node, node->name) == 0) {
            const char *const text = join_of(cli, &flow->joins[join]);

            (void)fprintf(cli->out, "%s%s", text[0] ? "\\n" : "", text);
        }
        (void)fprintf(cli->out, "\", fillcolor=%s];\n", dot_colour(node->public_state));
    }
    for (size_t i = 0; i < flow->edge_info_count; i++)
        dot_edge(cli, &flow->edges[i]);
    (void)fputs("}\n", cli->out);
}
