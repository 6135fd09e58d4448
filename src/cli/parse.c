/* SPDX-License-Identifier: Apache-2.0
 *
 * parse.c -- words of the command line to options and arguments.
 *
 * --name value and --name=value are the same; -- ends the options; common options may stand before
 * the verb. Tests: tests/unit/test_cli.c. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/str.h"

#include "base/banned.h"

int ff_cli_usage(struct ff_cli *cli, const char *fmt, ...)
{
    va_list args;

    (void)fputs("ff: ", cli->err);
    va_start(args, fmt);
    (void)vfprintf(cli->err, fmt, args);
    va_end(args);
    if (cli->verb || cli->noun)
        (void)fprintf(cli->err, "; see 'ff %s --help'\n", cli->verb ? cli->verb->name : cli->noun);
    else
        (void)fprintf(cli->err, "; see 'ff --help'\n");
    return FF_EXIT_USAGE;
}

static bool is_in(const ff_opt *list, ff_opt opt)
{
    for (; list && *list != FF_OPT_COUNT; list++) {
        if (*list == opt)
            return true;
    }
    return false;
}

/* The option called `name` (len bytes) that may stand here; FF_OPT_COUNT: none. */
static ff_opt option_named(const struct ff_cli *cli, const char *name, size_t len)
{
    for (ff_opt opt = 0; opt < FF_OPT_COUNT; opt++) {
        const char *const known = ff_options[opt].name;

        if (strlen(known) == len && memcmp(known, name, len) == 0 &&
            (is_in(ff_common_options, opt) || (cli->verb && is_in(cli->verb->takes, opt))))
            return opt;
    }
    return FF_OPT_COUNT;
}

/* Reads the option at argv[*at]; moves on over its value. */
static int take_option(struct ff_cli *cli, int argc, char **argv, int *at)
{
    const char *const word = argv[*at];
    const char *const name = word + 2;
    const size_t len = strcspn(name, "=");
    const bool has_value = name[len] == '=';
    const ff_opt opt = strcmp(word, "-h") == 0 ? FF_OPT_HELP : option_named(cli, name, len);
    const char *value = NULL;

    if (opt == FF_OPT_COUNT || (word[1] != '-' && opt != FF_OPT_HELP))
        return ff_cli_usage(cli, "unknown option '%s'", word);
    if (ff_options[opt].argument) {
        if (!has_value && *at + 1 >= argc)
            return ff_cli_usage(cli, "option '--%s' needs a value: %s", ff_options[opt].name,
                                ff_options[opt].argument);
        value = has_value ? name + len + 1 : argv[++*at];
    } else if (has_value && word[1] == '-') {
        return ff_cli_usage(cli, "option '--%s' takes no value", ff_options[opt].name);
    }
    if (value && ff_cli_has(cli, opt) && !(cli->verb && ff_verb_repeats(cli->verb, opt)))
        return ff_cli_usage(cli, "option '--%s' is given twice", ff_options[opt].name);
    if (cli->given_count == FF_ARRAY_LEN(cli->given))
        return ff_cli_usage(cli, "too many options");
    cli->given[cli->given_count++] = (struct ff_given){.opt = opt, .value = value};
    return FF_EXIT_OK;
}

static int take_verb(struct ff_cli *cli, const char *word)
{
    cli->verb = ff_verb_of(cli->noun, word);
    if (cli->verb)
        return FF_EXIT_OK;
    if (cli->noun)
        return ff_cli_usage(cli, "there is no verb '%s %s'", cli->noun, word);
    if (!ff_is_noun(word))
        return ff_cli_usage(cli, "there is no verb '%s'", word);
    cli->noun = word;
    return FF_EXIT_OK;
}

static int take_argument(struct ff_cli *cli, const char *word)
{
    if (!cli->verb)
        return take_verb(cli, word);
    if (cli->arg_count == cli->verb->args_max || cli->arg_count == FF_ARRAY_LEN(cli->args))
        return ff_cli_usage(cli, "unexpected argument '%s'", word);
    cli->args[cli->arg_count++] = word;
    return FF_EXIT_OK;
}

int ff_cli_parse(struct ff_cli *cli, int argc, char **argv)
{
    bool options_over = false;

    for (int i = 1; i < argc; i++) {
        const bool is_option = !options_over && argv[i][0] == '-' && argv[i][1] != '\0';

        if (is_option && strcmp(argv[i], "--") == 0) {
            options_over = true;
            continue;
        }
        if (!cli->verb && strcmp(argv[i], "--version") == 0) {
            cli->verb = ff_verb_named("version");
            continue;
        }
        const int code = is_option ? take_option(cli, argc, argv, &i) : take_argument(cli, argv[i]);
        if (code != FF_EXIT_OK)
            return code;
    }
    if (ff_cli_has(cli, FF_OPT_HELP))
        return FF_EXIT_OK;
    if (!cli->verb && cli->noun)
        return ff_cli_usage(cli, "no verb given after '%s'", cli->noun);
    if (!cli->verb)
        return ff_cli_usage(cli, "no verb given");
    if (cli->arg_count < cli->verb->args_min)
        return ff_cli_usage(cli, "%s needs %s", cli->verb->name, cli->verb->args);
    return FF_EXIT_OK;
}

size_t ff_cli_count(const struct ff_cli *cli, ff_opt opt)
{
    size_t count = 0;

    for (size_t i = 0; i < cli->given_count; i++)
        count += cli->given[i].opt == opt;
    return count;
}

bool ff_cli_has(const struct ff_cli *cli, ff_opt opt)
{
    return ff_cli_count(cli, opt) > 0;
}

const char *ff_cli_value(const struct ff_cli *cli, ff_opt opt)
{
    for (size_t i = cli->given_count; i > 0; i--) {
        if (cli->given[i - 1].opt == opt)
            return cli->given[i - 1].value;
    }
    if (!ff_options[opt].environment)
        return NULL;
    const char *const value = getenv(ff_options[opt].environment);
    return value && value[0] ? value : NULL;
}

int ff_cli_number(struct ff_cli *cli, ff_opt opt, int64_t absent, int64_t *ret)
{
    const char *const text = ff_cli_value(cli, opt);

    *ret = absent;
    if (text && !ff_str_to_i64(ff_str_of(text), ret))
        return ff_cli_usage(cli, "option '--%s' needs a number, not '%s'", ff_options[opt].name,
                            text);
    return FF_EXIT_OK;
}

int ff_cli_limit(struct ff_cli *cli, int32_t *ret)
{
    int64_t limit;
    const int code = ff_cli_number(cli, FF_OPT_LIMIT, FF_LIST_DEFAULT, &limit);

    if (code != FF_EXIT_OK)
        return code;
    if (limit < 1 || limit > FF_LIST_MAX)
        return ff_cli_usage(cli, "option '--limit' is 1 to %d", FF_LIST_MAX);
    *ret = (int32_t)limit;
    return FF_EXIT_OK;
}

bool ff_cli_pair(struct ff_cli *cli, const char *text, char separator, struct ff_tag_pair *ret)
{
    const char *const at = strchr(text, separator);

    if (!at)
        return false;
    const struct ff_str name = {.ptr = text, .len = (size_t)(at - text)};
    ret->name = ff_arena_str(&cli->arena, name).ptr;
    ret->value = at + 1;
    return true;
}
