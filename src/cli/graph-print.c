/* SPDX-License-Identifier: Apache-2.0
 *
 * graph-print.c -- a drawing with its words: lanes, or a table when they are too tangled.
 *
 * Tests: tests/unit/test_cli_graph.c, tests/e2e/test_flow.py. */
#include "cli/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/strbuf.h"
#include "cli/print.h"

#include "base/banned.h"

#define AFTER_SHOWN  3
#define GRAPH_BYTES  (8 << 20)
#define STATES_BYTES 256

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

static const char *kind_of(struct ff_cli *cli, const struct ff_drawn *item)
{
    return ff_printable(cli, item->first->kind, strlen(item->first->kind));
}

static void add_outcome(struct ff_strbuf *text, int64_t count, const char *word)
{
    if (count > 0)
        ff_strbuf_addf(text, "%s%" PRId64 " %s", text->len ? ", " : "", count, word);
}

/* "2 of 3: 1 success, 1 fail"; "" where there is nothing to wait for but one node. That the others
 * are not cancelled is said: otherwise nobody could tell why two places are not one. */
const char *ff_graph_join_text(struct ff_cli *cli, const struct ff_flow_join_info *join)
{
    struct ff_strbuf text = ff_strbuf_in(&cli->arena, STATES_BYTES);
    struct ff_str made;
    const char *head;

    if (!join || join->total < 2)
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
    const bool let_run = join->on_satisfied && strcmp(join->on_satisfied, "let_run") == 0;
    const char *const whole =
        ff_arena_printf(&cli->arena, "%s of %" PRId64 "%s%s%s", head, join->total,
                        let_run ? ", let_run" : "", made.len ? ": " : "", made.ptr)
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
                        const struct ff_graph_lines *lines)
{
    struct words *const words = ff_arena_array(&cli->arena, lines->count, sizeof *words);
    size_t lanes = 0, names = 0, states = 0;

    for (size_t i = 0; words && i < lines->count; i++) {
        const struct ff_graph_line *const line = &lines->items[i];

        lanes = ff_max_size(lanes, line->width);
        if (!line->item)
            continue;
        words[i] =
            (struct words){name_of(cli, line->item), states_of(cli, flow, line->item),
                           kind_of(cli, line->item), ff_graph_join_text(cli, line->item->join)};
        names = ff_max_size(names, ff_text_width(words[i].name));
        states = ff_max_size(states, ff_text_width(words[i].states));
    }
    for (size_t i = 0; words && i < lines->count; i++) {
        const struct ff_graph_line *const line = &lines->items[i];

        if (!line->item) {
            (void)fprintf(cli->out, "%s%s\n", line->width ? "  " : "", line->graph);
            continue;
        }
        (void)fputs("  ", cli->out);
        print_padded(cli, line->graph, line->width, lanes + 2);
        print_padded(cli, words[i].name, ff_text_width(words[i].name), names + 2);
        (void)fputs(ff_state_colour(cli, line->item->state), cli->out);
        (void)fputs(words[i].states, cli->out);
        (void)fprintf(cli->out, "%s%*s%s%s%s\n", ff_colour_off(cli),
                      (int)(states + 2 - ff_text_width(words[i].states)), "", words[i].kind,
                      words[i].join[0] ? "  " : "", words[i].join);
    }
}

static size_t left_out(const struct ff_flow_info *flow, const struct ff_graph_lines *lines)
{
    size_t nodes = 0;

    for (size_t i = 0; i < lines->count; i++)
        nodes += lines->items[i].item ? lines->items[i].item->count : 0;
    return flow->node_info_count - nodes;
}

int ff_graph_urgency(const char *public_state)
{
    static const char *const order[] = {"failed",  "expired",          "active",    "waiting",
                                        "delayed", "waiting_children", "cancelled", "skipped"};

    for (size_t i = 0; i < FF_ARRAY_LEN(order); i++)
        if (strcmp(order[i], public_state) == 0)
            return (int)i;
    return (int)FF_ARRAY_LEN(order) + (strcmp(public_state, "completed") == 0);
}

/* What needs a look comes first. */
static int by_urgency(const void *a, const void *b)
{
    const struct ff_drawn *const x = *(const struct ff_drawn *const *)a;
    const struct ff_drawn *const y = *(const struct ff_drawn *const *)b;
    const int diff = ff_graph_urgency(x->state) - ff_graph_urgency(y->state);

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
            name_of(cli, order[i]),
            states_of(cli, flow, order[i]),
            kind_of(cli, order[i]),
            after_of(cli, drawing, befores[at], filled[at]),
            ff_graph_join_text(cli, order[i]->join),
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
    struct ff_graph_lines lines;

    if (!ff_graph_lanes(cli, drawing, lines_max, &lines))
        return print_table(cli, flow, drawing, lines_max);
    print_lines(cli, flow, &lines);
    return left_out(flow, &lines);
}
