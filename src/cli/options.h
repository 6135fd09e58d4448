/* SPDX-License-Identifier: Apache-2.0
 *
 * options.h -- the one table of verbs and options: parser, help, completion and man page use it.
 *
 * To add an option: a line in FF_OPTION_MAP, its name in the verbs that take it (options.c).
 * Afterwards `ff help --man > docs/man/ff.1`. Tests: tests/unit/test_cli.c. */
#ifndef FF_CLI_OPTIONS_H
#define FF_CLI_OPTIONS_H

#include <stddef.h>

struct ff_cli;

// clang-format off
/* X(NAME, long name, argument or NULL, environment or NULL, help) */
#define FF_OPTION_MAP(X)                                                                           \
    X(STORE,       "store",          "URL",    "FF_STORE",  "sqlite:PATH or postgres://...; default sqlite:flowfabric.db") \
    X(SERVER,      "server",         "URL",    "FF_SERVER", "through a server instead of the store; not supported yet") \
    X(JSON,        "json",           NULL,     NULL, "print JSON, one line, stable")               \
    X(HELP,        "help",           NULL,     NULL, "say how to use it")                          \
    X(KIND,        "kind",           "KIND",   NULL, "which handler runs it")                      \
    X(LANE,        "lane",           "LANE",   NULL, "queue; 'default' when submitting")           \
    X(NAMESPACE,   "namespace",      "NAME",   NULL, "tenant or environment; 'default' when submitting") \
    X(INPUT,       "input",          "JSON",   NULL, "input: JSON, @FILE, or - for standard input") \
    X(PRIORITY,    "priority",       "N",      NULL, "0 to 9000, higher first")                    \
    X(TAG,         "tag",            "K=V",    NULL, "a tag; may be repeated when submitting")     \
    X(KEY,         "key",            "KEY",    NULL, "idempotency key: the same again is the same execution") \
    X(ID,          "id",             "ID",     NULL, "your own full id, {fp:N}:<uuid>")            \
    X(DELAY,       "delay-ms",       "MS",     NULL, "not before this long from now")              \
    X(DELAY_UNTIL, "delay-until-ms", "TIME",   NULL, "not before this Unix time in milliseconds")  \
    X(DEADLINE,    "deadline-ms",    "MS",     NULL, "expires this long from now")                 \
    X(DEADLINE_AT, "deadline-at-ms", "TIME",   NULL, "expires at this Unix time in milliseconds")  \
    X(CAPABILITY,  "capability",     "NAME",   NULL, "a worker must offer it; may be repeated")    \
    X(POLICY,      "policy",         "JSON",   NULL, "retries, time-outs, lapses: JSON, @FILE or -") \
    X(BULK,        "bulk",           "FILE",   NULL, "many: a JSON array or one object per line; - for standard input") \
    X(STATE,       "state",          "STATE",  NULL, "only in this public state, e.g. waiting, active, failed") \
    X(FLOW,        "flow",           "ID",     NULL, "only members of this flow")                  \
    X(WORKER,      "worker",         "ID",     NULL, "only those leased by this worker")           \
    X(AFTER,       "created-after-ms",  "TIME", NULL, "only those created after this time")        \
    X(BEFORE,      "created-before-ms", "TIME", NULL, "only those created before this time")       \
    X(LIMIT,       "limit",          "N",      NULL, "at most this many, 1 to 1000; default 50")   \
    X(CURSOR,      "cursor",         "CURSOR", NULL, "go on where the last page ended")            \
    X(ALL,         "all",            NULL,     NULL, "without a filter: really all of them")       \
    X(REASON,      "reason",         "TEXT",   NULL, "why; kept with the execution or lane")       \
    X(GENERATION,  "generation",     "N",      NULL, "only if it is in this generation")           \
    X(ATTEMPTS,    "attempts",       NULL,     NULL, "only its attempts")                          \
    X(EVENTS,      "events",         NULL,     NULL, "only its history")                           \
    X(RESULT,      "result",         NULL,     NULL, "only its result, byte for byte")             \
    X(DRY_RUN,     "dry-run",        NULL,     NULL, "only say what would be done")                \
    X(MAN,         "man",            NULL,     NULL, "print the manual page")                      \
    X(COMPLETION,  "completion",     NULL,     NULL, "print completion for bash")
// clang-format on

typedef enum ff_opt {
#define FF_OPTION_ENUM(NAME, name, argument, environment, help) FF_OPT_##NAME,
    FF_OPTION_MAP(FF_OPTION_ENUM)
#undef FF_OPTION_ENUM
        FF_OPT_COUNT
} ff_opt;

struct ff_option {
    const char *name, *argument, *environment, *help;
};
extern const struct ff_option ff_options[FF_OPT_COUNT];

struct ff_verb {
    const char *name;
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

int ff_run_submit(struct ff_cli *cli);
int ff_run_ls(struct ff_cli *cli);
int ff_run_show(struct ff_cli *cli);
int ff_run_explain(struct ff_cli *cli);
int ff_run_cancel(struct ff_cli *cli);
int ff_run_replay(struct ff_cli *cli);
int ff_run_lanes(struct ff_cli *cli);
int ff_run_workers(struct ff_cli *cli);
int ff_run_fsck(struct ff_cli *cli);
int ff_run_migrate(struct ff_cli *cli);
int ff_run_version(struct ff_cli *cli);
int ff_run_help(struct ff_cli *cli);

#endif
