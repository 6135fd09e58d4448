/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cli.c -- the command line without a store: parsing, help, and a manual page that agrees.
 *
 * Of src/cli. No database, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/print.h"

struct run {
    int code;
    char *out, *err;
};

static void run_done(struct run *run)
{
    free(run->out);
    free(run->err);
}

#define RUN(...) run_ff((const char *const[]){"ff", __VA_ARGS__, NULL})

static struct run run_ff(const char *const *words)
{
    struct run run = {0};
    size_t out_len, err_len;
    FILE *const out = open_memstream(&run.out, &out_len);
    FILE *const err = open_memstream(&run.err, &err_len);
    char *argv[16];
    int argc = 0;

    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    run.code = ff_cli_main(argc, argv, out, err);
    (void)fclose(out);
    (void)fclose(err);
    return run;
}

static void test_cli__usage_errors_are_one_line(void **state FF_UNUSED)
{
    static const char *const cases[][4] = {
        {"frobnicate"},
        {"ls", "--colour"},
        {"ls", "--limit"},
        {"ls", "--limit", "x"},
        {"ls", "--limit", "0"},
        {"ls", "--limit=1", "--limit=2"},
        {"--store=a", "ls", "--store=b"},
        {"ls", "--json=1"},
        {"ls", "extra"},
        {"show"},
        {"submit"},
        {"submit", "--kind"},
        {"cancel"},
        {"replay"},
        {"lanes", "stop", "a"},
        {"lanes", "pause"},
        {"ls", "-x"},
        {"help", "nothing"},
        {"show", "a", "b"},
        {"cancel", "id", "--all"},
        {"ls", "--server", "x"},
        {"--lane", "x", "ls"},
        {"replay", "--input", "1"},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(cases); i++) {
        const char *words[6] = {"ff"};

        for (size_t w = 0; w < 4 && cases[i][w]; w++)
            words[w + 1] = cases[i][w];
        FF_AUTO(run_done) struct run run = run_ff(words);
        if (run.code != FF_EXIT_USAGE || strncmp(run.err, "ff: ", 4) != 0 ||
            !strstr(run.err, "; see 'ff ") || strchr(run.err, '\n') != strrchr(run.err, '\n'))
            fail_msg("%s %s: code %d, '%s'", cases[i][0], cases[i][1] ? cases[i][1] : "", run.code,
                     run.err);
        assert_string_equal("", run.out);
    }
}

static void test_cli__usage_says_where_options_go(void **state FF_UNUSED)
{
    FF_AUTO(run_done) struct run worker = RUN("worker", "--help");
    FF_AUTO(run_done) struct run show = RUN("show", "--help");

    assert_non_null(strstr(worker.out, "usage: ff worker [options] -- CMD [ARG...]\n"));
    assert_non_null(strstr(show.out, "usage: ff show ID [options]\n"));
}

static void test_cli__every_verb_has_help(void **state FF_UNUSED)
{
    for (size_t i = 0; i < ff_verb_count; i++) {
        FF_AUTO(run_done) struct run run = RUN(ff_verbs[i].name, "--help");

        assert_int_equal(FF_EXIT_OK, run.code);
        assert_non_null(strstr(run.out, ff_verbs[i].summary));
        for (const ff_opt *opt = ff_verbs[i].takes; *opt != FF_OPT_COUNT; opt++)
            assert_non_null(strstr(run.out, ff_options[*opt].name));
        assert_string_equal("", run.err);
    }
}

/* Options of one name say different things to different verbs; to one verb there is only one. */
static void test_cli__no_verb_takes_a_name_twice(void **state FF_UNUSED)
{
    for (size_t i = 0; i < ff_verb_count; i++)
        for (const ff_opt *a = ff_verbs[i].takes; *a != FF_OPT_COUNT; a++)
            for (const ff_opt *b = a + 1; *b != FF_OPT_COUNT; b++)
                if (strcmp(ff_options[*a].name, ff_options[*b].name) == 0)
                    fail_msg("%s takes --%s twice", ff_verbs[i].name, ff_options[*a].name);
}

static void test_cli__version_and_help_need_no_store(void **state FF_UNUSED)
{
    FF_AUTO(run_done) struct run version = RUN("--version");
    FF_AUTO(run_done) struct run json = RUN("version", "--json");
    FF_AUTO(run_done) struct run help = RUN("-h");

    assert_int_equal(FF_EXIT_OK, version.code);
    assert_string_equal("ff 0.1.0\n", version.out);
    assert_string_equal("{\"version\":\"0.1.0\"}\n", json.out);
    assert_int_equal(FF_EXIT_OK, help.code);
}

static void test_cli__completion_knows_every_verb(void **state FF_UNUSED)
{
    FF_AUTO(run_done) struct run run = RUN("help", "--completion");

    for (size_t i = 0; i < ff_verb_count; i++)
        assert_non_null(strstr(run.out, ff_verbs[i].name));
}

static FILE *open_document(const char *name)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s", FF_SOURCE_DIR, name);
    return fopen(path, "re");
}

/* The file `name` holds what `ff help OPTION` has printed. */
static void expect_document(const char *name, const char *option, const char *printed)
{
    FILE *const in = open_document(name);
    char line[4096];

    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        if (strncmp(printed, line, strlen(line)) != 0)
            fail_msg("%s is old at '%s'; run: ff help %s > %s", name, line, option, name);
        printed += strlen(line);
    }
    assert_string_equal("", printed);
    (void)fclose(in);
}

static void test_cli__what_is_installed_agrees_with_the_table(void **state FF_UNUSED)
{
    FF_AUTO(run_done) struct run man = RUN("help", "--man");
    FF_AUTO(run_done) struct run completion = RUN("help", "--completion");

    expect_document("docs/man/ff.1", "--man", man.out);
    expect_document("packaging/ff.bash", "--completion", completion.out);
}

static void test_cli__ages_read_well(void **state FF_UNUSED)
{
    struct ff_cli *const cli = calloc(1, sizeof *cli);

    assert_non_null(cli);
    ff_arena_init(&cli->arena, 4096, 1 << 20);
    cli->now_ms = 1000000000;
    assert_null(ff_age(cli, FF_ABSENT_MS));
    assert_string_equal("now", ff_age(cli, cli->now_ms));
    assert_string_equal("250ms", ff_age(cli, cli->now_ms - 250));
    assert_string_equal("59s", ff_age(cli, cli->now_ms - 59999));
    assert_string_equal("2h", ff_age(cli, cli->now_ms - 2 * 3600000));
    assert_string_equal("in 3m", ff_age(cli, cli->now_ms + 3 * 60000));
    ff_arena_done(&cli->arena);
    free(cli);
}

static void test_cli__foreign_text_cannot_drive_the_terminal(void **state FF_UNUSED)
{
    struct ff_cli *const cli = calloc(1, sizeof *cli);

    assert_non_null(cli);
    ff_arena_init(&cli->arena, 4096, 1 << 20);
    assert_string_equal("a?[31mb c", ff_printable(cli, "a\x1b[31mb\nc", 9));
    assert_string_equal("gr\xc3\xbc\xc3\x9f?", ff_printable(cli, "gr\xc3\xbc\xc3\x9f\xff", 7));
    assert_string_equal("?", ff_printable(cli, "\xc2\x9b", 2));
    ff_arena_done(&cli->arena);
    free(cli);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli__usage_errors_are_one_line),
        cmocka_unit_test(test_cli__usage_says_where_options_go),
        cmocka_unit_test(test_cli__every_verb_has_help),
        cmocka_unit_test(test_cli__no_verb_takes_a_name_twice),
        cmocka_unit_test(test_cli__version_and_help_need_no_store),
        cmocka_unit_test(test_cli__completion_knows_every_verb),
        cmocka_unit_test(test_cli__what_is_installed_agrees_with_the_table),
        cmocka_unit_test(test_cli__ages_read_well),
        cmocka_unit_test(test_cli__foreign_text_cannot_drive_the_terminal),
    };

    (void)unsetenv("FF_SERVER");
    (void)unsetenv("FF_STORE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
