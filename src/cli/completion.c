/* SPDX-License-Identifier: Apache-2.0
 *
 * completion.c -- what Tab offers in a shell, from the table in options.c.
 *
 * For bash, and for zsh with its bashcompinit: no bash-only builtins. After a change of the table:
 * ff help --completion > packaging/ff.bash. Tests: tests/unit/test_cli.c, tests/e2e/test_cli.py. */
#include "cli/help.h"

#include <string.h>

#include "cli/cli.h"

#include "base/banned.h"

/* Values of options that have only a few. */
static const struct {
    ff_opt opt;
    const char *words;
} values[] = {
    {FF_OPT_STATE, "waiting delayed waiting_children active completed failed cancelled expired "
                   "skipped open running"},
    {FF_OPT_KINDS, "completion lease execution operator flow worker log"},
    {FF_OPT_SCOPE, "self failed_ancestors"},
    {FF_OPT_LOG, "text json"},
    {FF_OPT_LOG_LEVEL, "error warn info debug"},
    {FF_OPT_RENEWALS, "sampled all none"},
};

static void print_options(FILE *out, const ff_opt *list)
{
    for (; *list != FF_OPT_COUNT; list++)
        (void)fprintf(out, " --%s", ff_options[*list].name);
}

/* The first words of all verbs, or the second ones of those that begin with `noun`. */
static void print_verbs(FILE *out, const char *noun)
{
    const char *last = "";

    for (size_t i = 0; i < ff_verb_count; i++) {
        const char *const name = ff_verbs[i].name;
        const size_t len = strcspn(name, " ");

        if (noun && ff_verb_is_of(&ff_verbs[i], noun))
            (void)fprintf(out, " %s", name + len + 1);
        else if (!noun && (strncmp(last, name, len) != 0 || last[len] != ' '))
            (void)fprintf(out, " %.*s", (int)len, name);
        last = name;
    }
}

/* Its options, and before the first verb of a noun the words that may follow that noun. */
static void print_verb(FILE *out, size_t index)
{
    const struct ff_verb *const verb = &ff_verbs[index];
    const size_t len = strcspn(verb->name, " ");
    char noun[32];

    (void)snprintf(noun, sizeof noun, "%.*s", (int)len, verb->name);
    if (verb->name[len] && (index == 0 || !ff_verb_is_of(&ff_verbs[index - 1], noun))) {
        (void)fprintf(out, "    '2 %s '*) words='", noun);
        print_verbs(out, noun);
        (void)fputs("' ;;\n", out);
    }
    (void)fprintf(out, "    *' %s%s'*) options='", verb->name, verb->name[len] ? "" : " ");
    print_options(out, verb->takes);
    print_options(out, ff_common_options);
    (void)fputs("' ;;\n", out);
}

void ff_help_completion(FILE *out)
{
    (void)fputs("# Completion of ff, made by 'ff help --completion'; not to be edited.\n"
                "_ff()\n{\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local words='' options=''\n"
                "    case \"$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n"
                "    '1 '*) words='",
                out);
    print_verbs(out, NULL);
    (void)fputs("' options='", out);
    print_options(out, ff_common_options);
    (void)fputs("' ;;\n", out);
    for (size_t i = 0; i < ff_verb_count; i++)
        print_verb(out, i);
    (void)fputs("    esac\n    case $word in\n    -*) words=$options ;;\n    esac\n"
                "    case $last in\n",
                out);
    for (size_t i = 0; i < FF_ARRAY_LEN(values); i++)
        (void)fprintf(out, "    --%s) words='%s' ;;\n", ff_options[values[i].opt].name,
                      values[i].words);
    (void)fputs("    esac\n"
                "    # What is none of these may be a file.\n"
                "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
                "complete -o default -F _ff ff\n",
                out);
}
