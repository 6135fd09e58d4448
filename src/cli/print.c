/* SPDX-License-Identifier: Apache-2.0
 *
 * print.c -- text for people: aligned columns, ages, states in colour.
 *
 * Tests: tests/unit/test_cli.c. */
#include "cli/print.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/strbuf.h"

#include "base/banned.h"

void ff_grid_init(struct ff_grid *grid, struct ff_cli *cli, const char *const *titles,
                  size_t columns)
{
    *grid =
        (struct ff_grid){.cli = cli, .titles = titles, .columns = columns, .state_column = columns};
}

void ff_grid_add(struct ff_grid *grid, const char *const *cells)
{
    if (grid->rows == grid->cap) {
        const size_t cap = grid->cap ? 2 * grid->cap : 64;
        const size_t row_bytes = grid->columns * sizeof(char *);
        const char **const bigger =
            ff_arena_grow(&grid->cli->arena, grid->cells, grid->cap * row_bytes, cap * row_bytes);

        if (!bigger)
            return;
        grid->cells = bigger;
        grid->cap = cap;
    }
    for (size_t i = 0; i < grid->columns; i++)
        grid->cells[grid->rows * grid->columns + i] =
            cells[i] && cells[i][0] ? ff_printable(grid->cli, cells[i], strlen(cells[i])) : "-";
    grid->rows++;
}

size_t ff_text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_cell(const struct ff_grid *grid, size_t column, const char *text, size_t width,
                       bool is_title)
{
    const bool is_state = !is_title && column == grid->state_column;
    const bool is_last = column + 1 == grid->columns;
    FILE *const out = grid->cli->out;

    if (is_state)
        (void)fputs(ff_state_colour(grid->cli, text), out);
    (void)fputs(text, out);
    if (is_state)
        (void)fputs(ff_colour_off(grid->cli), out);
    if (is_last)
        (void)fputc('\n', out);
    else
        (void)fprintf(out, "%*s", (int)(width - ff_text_width(text) + 2), "");
}

void ff_grid_print(const struct ff_grid *grid, const char *indent)
{
    size_t widths[FF_TABLE_COLUMNS_MAX] = {0};

    for (size_t c = 0; c < grid->columns; c++) {
        widths[c] = ff_text_width(grid->titles[c]);
        for (size_t r = 0; r < grid->rows; r++)
            widths[c] = ff_max_size(widths[c], ff_text_width(grid->cells[r * grid->columns + c]));
    }
    (void)fputs(indent, grid->cli->out);
    for (size_t c = 0; c < grid->columns; c++)
        print_cell(grid, c, grid->titles[c], widths[c], true);
    for (size_t r = 0; r < grid->rows; r++) {
        (void)fputs(indent, grid->cli->out);
        for (size_t c = 0; c < grid->columns; c++)
            print_cell(grid, c, grid->cells[r * grid->columns + c], widths[c], false);
    }
}

void ff_print_more(struct ff_cli *cli, const char *next_cursor)
{
    if (next_cursor[0])
        (void)fprintf(cli->err, "ff: there are more: --cursor %s\n", next_cursor);
}

const char *ff_age(struct ff_cli *cli, int64_t at_ms)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};

    if (at_ms == FF_ABSENT_MS)
        return NULL;
    const int64_t span_ms = at_ms > cli->now_ms ? at_ms - cli->now_ms : cli->now_ms - at_ms;
    const char *const ahead = at_ms > cli->now_ms ? "in " : "";
    for (size_t i = 0; i < FF_ARRAY_LEN(units); i++) {
        if (span_ms >= units[i].ms)
            return ff_arena_printf(&cli->arena, "%s%" PRId64 "%s", ahead, span_ms / units[i].ms,
                                   units[i].unit)
                .ptr;
    }
    return "now";
}

const char *ff_moment(struct ff_cli *cli, int64_t at_ms)
{
    char time[FF_TIME_TEXT_BYTES];

    if (at_ms == FF_ABSENT_MS)
        return "-";
    const char *const age = ff_age(cli, at_ms);
    const char *const text =
        ff_arena_printf(&cli->arena, "%s (%s%s)", ff_time_format_utc(at_ms, time), age ? age : "?",
                        at_ms < cli->now_ms ? " ago" : "")
            .ptr;
    return text ? text : "?";
}

const char *ff_number(struct ff_cli *cli, int64_t number)
{
    return ff_arena_printf(&cli->arena, "%" PRId64, number).ptr;
}

const char *ff_short_id(const char *execution_id)
{
    const char *const at = strstr(execution_id, "}:");

    return at ? at + 2 : execution_id;
}

const char *ff_printable(struct ff_cli *cli, const char *text, size_t len)
{
    struct ff_str rest = {.ptr = text, .len = len};
    struct ff_strbuf out = ff_strbuf_in(&cli->arena, 4 * len + 1);
    struct ff_str made;

    while (rest.len) {
        const size_t step = ff_str_utf8_step(rest);
        const unsigned char c = (unsigned char)rest.ptr[0];
        /* U+0080 to U+009F are control characters too. */
        const bool is_c1 = step == 2 && c == 0xc2 && (unsigned char)rest.ptr[1] < 0xa0;

        if (!step || c < 0x20 || c == 0x7f || is_c1)
            ff_strbuf_adds(&out, c == '\n' || c == '\t' ? " " : "?");
        else
            ff_strbuf_add(&out, ff_str_slice(rest, 0, step));
        rest = ff_str_slice(rest, step ? step : 1, rest.len);
    }
    return ff_strbuf_take(&out, &made, NULL) == FF_OK ? made.ptr : "?";
}

const char *ff_state_colour(const struct ff_cli *cli, const char *public_state)
{
    static const struct {
        const char *state, *colour;
    } colours[] = {
        {"active", "\x1b[36m"},  {"completed", "\x1b[32m"}, {"failed", "\x1b[31m"},
        {"expired", "\x1b[31m"}, {"delayed", "\x1b[33m"},   {"waiting_children", "\x1b[33m"},
        {"running", "\x1b[36m"}, {"cancelled", "\x1b[35m"}, {"skipped", "\x1b[35m"},
    };

    for (size_t i = 0; cli->colour && i < FF_ARRAY_LEN(colours); i++) {
        if (strcmp(colours[i].state, public_state) == 0)
            return colours[i].colour;
    }
    return "";
}

const char *ff_colour_off(const struct ff_cli *cli)
{
    return cli->colour ? "\x1b[0m" : "";
}
