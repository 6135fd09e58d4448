/* SPDX-License-Identifier: Apache-2.0
 *
 * options.h -- the one table of verbs and options: parser, help, completion and man page use it.
 *
 * To add an option: a line in options.def, its name in the verbs that take it (options.c). Where it
 * means something else to another verb, that is a line of its own with the same name.
 * Afterwards `ff help --man > docs/man/ff.1`. Tests: tests/unit/test_cli.c. */
#ifndef FF_CLI_OPTIONS_H
#define FF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct ff_cli;

typedef enum ff_opt {
#define OPTION(NAME, name, argument, environment, help) FF_OPT_##NAME,
#include "cli/options.def"
    FF_OPT_COUNT
} ff_opt;

struct ff_option {
    const char *name, *argument, *environment, *help;
};
extern const struct ff_option ff_options[FF_OPT_COUNT];

struct ff_verb {
    const char *name; /* one word, or a noun and a verb: "flow show" */
    const char *args; /* as shown in the synopsis, or "" */
    size_t args_min, args_max;
    const char *summary;
    const char *text;    /* a paragraph or more; for --help and the manual page */
    const ff_opt *takes; /* ends with FF_OPT_COUNT; the common options are always taken */
    int (*run)(struct ff_cli *cli);
};
extern const struct ff_verb ff_verbs[];
extern const size_t ff_verb_count;
/* --store, --server, --json, --help: taken by every verb. */
extern const ff_opt ff_common_options[];
const struct ff_verb *ff_verb_named(const char *name);
/* The verb that `noun` and `word` make together; `noun` NULL: one word. */
const struct ff_verb *ff_verb_of(const char *noun, const char *word);
/* May it be given more than once? */
bool ff_verb_repeats(const struct ff_verb *verb, ff_opt opt);
/* Does this verb have two words, and is `noun` the first? */
bool ff_verb_is_of(const struct ff_verb *verb, const char *noun);
/* Does a verb of two words begin with it? */
bool ff_is_noun(const char *word);

int ff_run_serve(struct ff_cli *cli);
int ff_run_submit(struct ff_cli *cli);
int ff_run_ls(struct ff_cli *cli);
int ff_run_show(struct ff_cli *cli);
int ff_run_events(struct ff_cli *cli);
int ff_run_explain(struct ff_cli *cli);
int ff_run_cancel(struct ff_cli *cli);
int ff_run_replay(struct ff_cli *cli);
int ff_run_flow_create(struct ff_cli *cli);
int ff_run_flow_grow(struct ff_cli *cli);
int ff_run_flow_show(struct ff_cli *cli);
int ff_run_flow_ls(struct ff_cli *cli);
int ff_run_flow_cancel(struct ff_cli *cli);
int ff_run_lanes(struct ff_cli *cli);
int ff_run_workers(struct ff_cli *cli);
int ff_run_fsck(struct ff_cli *cli);
int ff_run_gc(struct ff_cli *cli);
int ff_run_doctor(struct ff_cli *cli);
int ff_run_bench(struct ff_cli *cli);
int ff_run_migrate(struct ff_cli *cli);
int ff_run_worker(struct ff_cli *cli);
int ff_run_version(struct ff_cli *cli);
int ff_run_help(struct ff_cli *cli);

#endif
