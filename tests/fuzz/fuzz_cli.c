/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_cli.c -- command lines: parsed or refused with a word about it, never anything else. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define ARGS_MAX 400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    struct ff_cli *const cli = calloc(1, sizeof *cli);
    char *const text = malloc(size + 1);
    char *argv[ARGS_MAX + 1];
    char name[] = "ff";
    int argc = 1;
    int64_t number;

    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (!cli || !text || !nowhere)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    argv[0] = name;
    for (size_t at = 0; at < size && argc < ARGS_MAX; at += strlen(text + at) + 1)
        argv[argc++] = text + at;
    argv[argc] = NULL;
    ff_arena_init(&cli->arena, 4096, 1 << 20);
    cli->out = cli->err = nowhere;
    if (ff_cli_parse(cli, argc, argv) == FF_EXIT_OK) {
        if (!cli->verb && !ff_cli_has(cli, FF_OPT_HELP))
            abort();
        for (size_t i = 0; i < cli->given_count; i++) {
            struct ff_tag_pair pair;

            if (!cli->given[i].value)
                continue;
            (void)ff_cli_number(cli, cli->given[i].opt, 0, &number);
            if (ff_cli_pair(cli, cli->given[i].value, '=', &pair) && (!pair.name || !pair.value))
                abort();
        }
    }
    ff_arena_done(&cli->arena);
    free(text);
    free(cli);
    return 0;
}
