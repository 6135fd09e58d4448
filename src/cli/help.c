/* SPDX-License-Identifier: Apache-2.0
 *
 * help.c -- help and manual page, from the table in options.c; completion.c does the same.
 *
 * Tests: tests/unit/test_cli.c. */
#include "cli/help.h"

#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

#include "base/banned.h"

#define COLUMNS     80
#define HELP_COLUMN 28

/* Words of `text`, wrapped and indented; the cursor stands at column `at`. */
static void wrap(FILE *out, const char *text, size_t indent, size_t at)
{
    while (*text) {
        const size_t word = strcspn(text, " ");

        if (at > indent && at + word + 1 > COLUMNS) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            (void)fputc(' ', out);
            at++;
        }
        (void)fwrite(text, 1, word, out);
        at += word;
        text += word + strspn(text + word, " ");
    }
    (void)fputc('\n', out);
}

static void print_option(FILE *out, ff_opt opt)
{
    const struct ff_option *const option = &ff_options[opt];
    int len = fprintf(out, "  --%s%s%s", option->name, option->argument ? " " : "",
                      option->argument ? option->argument : "");

    if (len < 0)
        len = 0;
    if (len >= HELP_COLUMN - 1) {
        (void)fputc('\n', out);
        len = 0;
    }
    (void)fprintf(out, "%*s", HELP_COLUMN - len, "");
    wrap(out, option->help, HELP_COLUMN, HELP_COLUMN);
}

static void print_options(FILE *out, const ff_opt *list)
{
    for (; *list != FF_OPT_COUNT; list++)
        print_option(out, *list);
}

static void print_verb(FILE *out, const struct ff_verb *verb)
{
    const bool ends_options = strncmp(verb->args, "--", 2) == 0; /* they come before it */

    (void)fprintf(out, "usage: ff %s%s%s%s%s\n\n", verb->name, ends_options ? " [options]" : "",
                  verb->args[0] ? " " : "", verb->args, ends_options ? "" : " [options]");
    (void)fprintf(out, "%s\n", verb->summary);
    if (verb->text[0]) {
        (void)fputc('\n', out);
        wrap(out, verb->text, 0, 0);
    }
    (void)fputs("\noptions:\n", out);
    print_options(out, verb->takes);
    print_options(out, ff_common_options);
}

void ff_help_print(FILE *out, const struct ff_verb *verb, const char *noun)
{
    if (verb) {
        print_verb(out, verb);
        return;
    }
    (void)fputs("usage: ff VERB [arguments] [options]\n\n"
                "Durable executions on SQLite or Postgres.\n\nverbs:\n",
                out);
    for (size_t i = 0; i < ff_verb_count; i++) {
        if (!noun || ff_verb_is_of(&ff_verbs[i], noun))
            (void)fprintf(out, "  %-12s %s\n", ff_verbs[i].name, ff_verbs[i].summary);
    }
    (void)fputs("\noptions of every verb:\n", out);
    print_options(out, ff_common_options);
    (void)fputs("\n'ff VERB --help' tells more about one verb.\n", out);
}

/* ---- manual page ------------------------------------------------------------------------------
 */

/* roff reads '-' as a hyphen and a leading dot as a request. */
static void roff(FILE *out, const char *text)
{
    if (text[0] == '.' || text[0] == '\'')
        (void)fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-')
            (void)fputs("\\-", out);
        else if (*text == '\\')
            (void)fputs("\\e", out);
        else
            (void)fputc(*text, out);
    }
}

static void man_option(FILE *out, ff_opt opt)
{
    (void)fputs(".TP\n\\fB\\-\\-", out);
    roff(out, ff_options[opt].name);
    (void)fputs("\\fR", out);
    if (ff_options[opt].argument) {
        (void)fputs(" \\fI", out);
        roff(out, ff_options[opt].argument);
        (void)fputs("\\fR", out);
    }
    (void)fputc('\n', out);
    roff(out, ff_options[opt].help);
    (void)fputc('\n', out);
    if (ff_options[opt].environment)
        (void)fprintf(out, "(environment: \\fB%s\\fR)\n", ff_options[opt].environment);
}

static void man_verb(FILE *out, const struct ff_verb *verb)
{
    (void)fprintf(out, ".SS ff %s", verb->name);
    if (verb->args[0])
        (void)fprintf(out, " %s", verb->args);
    (void)fputc('\n', out);
    roff(out, verb->summary);
    (void)fputs(".\n", out);
    if (verb->text[0]) {
        roff(out, verb->text);
        (void)fputc('\n', out);
    }
    for (const ff_opt *opt = verb->takes; *opt != FF_OPT_COUNT; opt++)
        man_option(out, *opt);
}

/* One line per exit code, from the list of statuses. */
static void man_exits(FILE *out)
{
    (void)fputs(".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\na negative answer: nothing found, or "
                "findings\n",
                out);
    for (int code = 2; code <= 7; code++) {
        const char *separator = "";

        (void)fprintf(out, ".TP\n%d\n%s", code, code == 2 ? "usage; " : "");
        for (ff_status status = FF_OK; status < FF_STATUS_COUNT; status++) {
            if (ff_status_exit(status) == code && status != FF_AGAIN) {
                (void)fputs(separator, out);
                roff(out, ff_status_code(status));
                separator = ", ";
            }
        }
        (void)fputc('\n', out);
    }
}

/* Variables that are no option. */
static const struct {
    const char *name, *help;
} variables[] = {
    {"FF_TOKEN", "token to show to a server; of ff serve: one that may do everything"},
    {"FF_TLS_CA", "file of certificates to trust when talking to an https server"},
    {"NO_COLOR", "no colours, also on a terminal"},
};

static const char *const examples[] = {
    "ff serve --store sqlite:work.db",
    "export FF_SERVER=http://127.0.0.1:9090",
    "ff worker --lane mail -- ./send.sh",
    "ff submit --lane mail --kind email --input '{\"to\": \"ann@example.org\"}' --wait",
    "ff ls --state failed",
    "ff explain 01a1e74e",
    "flow=$(ff flow create flow.json)",
    "ff flow show $flow --wait",
};

void ff_help_man(FILE *out)
{
    (void)fprintf(out,
                  ".\\\" Generated by 'ff help --man'; not to be edited.\n"
                  ".TH FF 1 \"\" \"FlowFabric %s\" \"FlowFabric\"\n",
                  ff_version());
    (void)fputs(".SH NAME\nff \\- durable executions on SQLite or Postgres\n"
                ".SH SYNOPSIS\n.B ff\n.I verb\n[arguments] [options]\n"
                ".SH DESCRIPTION\n"
                "Submits, shows, explains, cancels and replays executions of a FlowFabric store.\n"
                "Data goes to standard output and nothing else does; an error is one line on\n"
                "standard error.\n"
                ".SH OPTIONS OF EVERY VERB\n",
                out);
    for (const ff_opt *opt = ff_common_options; *opt != FF_OPT_COUNT; opt++)
        man_option(out, *opt);
    (void)fputs(".SH VERBS\n", out);
    for (size_t i = 0; i < ff_verb_count; i++)
        man_verb(out, &ff_verbs[i]);
    man_exits(out);
    (void)fputs(".SH ENVIRONMENT\n", out);
    for (ff_opt opt = 0; opt < FF_OPT_COUNT; opt++) {
        if (ff_options[opt].environment)
            (void)fprintf(out, ".TP\n\\fB%s\\fR\nas \\fB\\-\\-%s\\fR\n",
                          ff_options[opt].environment, ff_options[opt].name);
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(variables); i++)
        (void)fprintf(out, ".TP\n\\fB%s\\fR\n%s\n", variables[i].name, variables[i].help);
    (void)fputs(".SH EXAMPLES\n.nf\n", out);
    for (size_t i = 0; i < FF_ARRAY_LEN(examples); i++) {
        roff(out, examples[i]);
        (void)fputc('\n', out);
    }
    (void)fputs(".fi\n", out);
}

int ff_run_help(struct ff_cli *cli)
{
    const char *const first = cli->arg_count ? cli->args[0] : NULL;
    const bool is_noun = first && ff_is_noun(first);
    const struct ff_verb *verb = NULL;

    if (ff_cli_has(cli, FF_OPT_MAN)) {
        ff_help_man(cli->out);
        return FF_EXIT_OK;
    }
    if (ff_cli_has(cli, FF_OPT_COMPLETION)) {
        ff_help_completion(cli->out);
        return FF_EXIT_OK;
    }
    if (cli->arg_count == 2)
        verb = ff_verb_of(first, cli->args[1]);
    else if (first)
        verb = ff_verb_named(first);
    if (!verb && first && !(is_noun && cli->arg_count == 1))
        return ff_cli_usage(cli, "there is no verb '%s'", cli->args[cli->arg_count - 1]);
    ff_help_print(cli->out, verb, is_noun ? first : NULL);
    return FF_EXIT_OK;
}
