/* SPDX-License-Identifier: Apache-2.0
 *
 * cli.h -- one run of ff: what was asked, where the answer goes, how it ends.
 *
 * stdout is data only; errors are one line on stderr. A verb returns the exit code.
 * Read first: src/cli/README.md. Tests: tests/unit/test_cli.c, tests/e2e/test_cli.py. */
#ifndef FF_CLI_CLI_H
#define FF_CLI_CLI_H

#include "base/arena.h"
#include "base/macros.h"
#include "cli/options.h"

#include <flowfabric.h>
#include <jansson.h>
#include <stdio.h>

enum { FF_EXIT_OK, FF_EXIT_NEGATIVE, FF_EXIT_USAGE };

struct ff_given {
    ff_opt opt;
    const char *value; /* NULL: a flag */
};

struct ff_cli {
    const struct ff_verb *verb;
    const char *noun; /* the first word of a verb of two */
    struct ff_given given[256];
    size_t given_count;
    const char *args[64];
    size_t arg_count;
    struct ff_arena arena; /* of everything the run makes */
    struct ff_client *client;
    FILE *out, *err;
    bool colour;
    bool bar;        /* stderr is a terminal: how far something is may be shown there */
    bool plain_text; /* nothing but ASCII in drawings */
    int64_t now_ms;  /* for ages */
};

/* The whole of ff but the process: returns the exit code. */
int ff_cli_main(int argc, char **argv, FILE *out, FILE *err);

/* Fills verb, given and args. Not FF_EXIT_OK: the problem has been told. */
int ff_cli_parse(struct ff_cli *cli, int argc, char **argv);
bool ff_cli_has(const struct ff_cli *cli, ff_opt opt);
/* How often it was given. */
size_t ff_cli_count(const struct ff_cli *cli, ff_opt opt);
/* The one given, else the environment's, else NULL. */
const char *ff_cli_value(const struct ff_cli *cli, ff_opt opt);
/* FF_EXIT_USAGE, told, when it is not a number; `absent` when not given. */
int ff_cli_number(struct ff_cli *cli, ff_opt opt, int64_t absent, int64_t *ret);
/* --limit of a page; FF_EXIT_USAGE, told, when it is none. */
int ff_cli_limit(struct ff_cli *cli, int32_t *ret);
/* "name=value" in two; false without '='. */
bool ff_cli_pair(struct ff_cli *cli, const char *text, char separator, struct ff_tag_pair *ret);

/* "ff: <message>" and where to read more; FF_EXIT_USAGE. */
int ff_cli_usage(struct ff_cli *cli, const char *fmt, ...) FF_PRINTF(2, 3);
/* "ff: cannot <what>: <why>"; the exit code of the status. */
int ff_cli_fail(struct ff_cli *cli, const char *what, ff_status status,
                const struct ff_error *error);

/* Opens the store, or a client of the server; 0 or an exit code, told. */
int ff_cli_open(struct ff_cli *cli, bool must_exist);
/* For questions that may take hours. */
int ff_cli_open_patient(struct ff_cli *cli);
/* The same with timers and scanners, for a run that lasts. */
int ff_cli_open_engine(struct ff_cli *cli, int64_t result_bytes_max);
/* For verbs that a server does not offer: FF_EXIT_USAGE, told, if one is named. */
int ff_cli_needs_store(struct ff_cli *cli);
/* NULL: the store is used directly. */
const char *ff_cli_server(const struct ff_cli *cli);
const char *ff_cli_store(const struct ff_cli *cli);
/* Writes one line of JSON and drops the reference; 0 or an exit code. */
int ff_cli_json(struct ff_cli *cli, json_t *json);
/* A whole file, "-" for stdin; bounded. */
FF_MUST_CHECK ff_status ff_cli_read_file(struct ff_cli *cli, const char *path, size_t max_bytes,
                                         struct ff_str *ret, struct ff_error *reterr);
/* JSON, @file or - (stdin). */
FF_MUST_CHECK ff_status ff_cli_read_value(struct ff_cli *cli, const char *value, size_t max_bytes,
                                          struct ff_str *ret, struct ff_error *reterr);
/* --wait and --wait-ms: 0 if neither was given. */
int ff_cli_wait_ms(struct ff_cli *cli, int64_t *ret_ms);
/* The exit code after a wait: 0 completed, 1 ended otherwise, that of a time-out (told). */
int ff_cli_waited(struct ff_cli *cli, bool finished, const char *state);
/* ff_wait and ff_flow_wait; people see how far it is. */
FF_MUST_CHECK ff_status ff_cli_wait(struct ff_cli *cli, const char *id, int64_t wait_ms,
                                    struct ff_info_list *ret, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_cli_wait_flow(struct ff_cli *cli, const char *id, int64_t wait_ms,
                                         struct ff_flow_info_list *ret, struct ff_error *reterr);
/* How long to wait before the bar is drawn anew; all that is left without one. */
int64_t ff_cli_slice_ms(const struct ff_cli *cli, int64_t left_ms);
int64_t ff_cli_mono_ms(void);
/* "[###...] <what> 3 of 10" on the last line of a terminal; nothing elsewhere. */
void ff_cli_bar(struct ff_cli *cli, const char *what, int64_t done, int64_t total);
void ff_cli_bar_off(struct ff_cli *cli);
int ff_cli_submit_bulk(struct ff_cli *cli);
/* A filter out of the options of `ls`. */
int ff_cli_filter(struct ff_cli *cli, struct ff_filter *filter, bool *ret_any);

#endif
