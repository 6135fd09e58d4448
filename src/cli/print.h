/* SPDX-License-Identifier: Apache-2.0
 *
 * print.h -- text for people: aligned columns, ages, states in colour.
 *
 * Tests: tests/unit/test_cli.c. */
#ifndef FF_CLI_PRINT_H
#define FF_CLI_PRINT_H

#include "cli/cli.h"

#define FF_TABLE_COLUMNS_MAX 10

/* Cells are C strings that live until ff_grid_print. */
struct ff_grid {
    struct ff_cli *cli;
    const char *const *titles;
    size_t columns;
    const char **cells;
    size_t rows, cap;
    size_t state_column; /* coloured; columns: none */
};

void ff_grid_init(struct ff_grid *grid, struct ff_cli *cli, const char *const *titles,
                  size_t columns);
/* `cells` has `columns` entries; NULL prints as "-". Texts of others are made printable. */
void ff_grid_add(struct ff_grid *grid, const char *const *cells);
void ff_grid_print(const struct ff_grid *grid, const char *indent);
/* Where the next page begins, on stderr; nothing if there is none. */
void ff_print_more(struct ff_cli *cli, const char *next_cursor);

/* "42s", "3m", "2h", "5d"; "in 3m" for the future; NULL (shown as "-") for FF_ABSENT_MS. */
const char *ff_age(struct ff_cli *cli, int64_t at_ms);
/* "2026-01-31T23:59:59.999Z (3m ago)" */
const char *ff_moment(struct ff_cli *cli, int64_t at_ms);
const char *ff_number(struct ff_cli *cli, int64_t number);
/* The part of a canonical id that people copy: without its partition. */
const char *ff_short_id(const char *execution_id);
/* In characters, not bytes: names may be in any language. */
size_t ff_text_width(const char *text);
/* A copy without control characters: what others wrote must not drive the terminal. */
const char *ff_printable(struct ff_cli *cli, const char *text, size_t len);
const char *ff_state_colour(const struct ff_cli *cli, const char *public_state);
const char *ff_colour_off(const struct ff_cli *cli);

#endif
