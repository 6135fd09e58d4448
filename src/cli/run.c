/* SPDX-License-Identifier: Apache-2.0
 *
 * run.c -- one run of ff: parse, open, do, close; and what the verbs share.
 *
 * Tests: tests/unit/test_cli.c, tests/e2e/test_cli.py. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/help.h"

#include "base/banned.h"

#define STORE_DEFAULT  "sqlite:flowfabric.db"
#define JSON_BYTES_MAX (64 << 20)
#define CLOSE_GRACE_MS 60000
#define PATIENCE_MS    86400000

int ff_cli_fail(struct ff_cli *cli, const char *what, ff_status status,
                const struct ff_error *error)
{
    (void)fprintf(cli->err, "ff: cannot %s: %s", what, error->message);
    if (error->field[0] && !strstr(error->message, error->field))
        (void)fprintf(cli->err, " (%s)", error->field);
    (void)fputc('\n', cli->err);
    return ff_status_exit(status);
}

const char *ff_cli_store(const struct ff_cli *cli)
{
    const char *const url = ff_cli_value(cli, FF_OPT_STORE);

    return url ? url : STORE_DEFAULT;
}

/* A store named on the command line wins over a server in the environment. */
const char *ff_cli_server(const struct ff_cli *cli)
{
    const bool has_store = ff_cli_has(cli, FF_OPT_STORE) && !ff_cli_has(cli, FF_OPT_SERVER);

    return has_store ? NULL : ff_cli_value(cli, FF_OPT_SERVER);
}

static int open_with(struct ff_cli *cli, const struct ff_options *options)
{
    const char *const server = ff_cli_server(cli);
    struct ff_error error;

    if (ff_cli_has(cli, FF_OPT_STORE) && ff_cli_has(cli, FF_OPT_SERVER))
        return ff_cli_usage(cli, "--store and --server exclude each other");
    if (server && strncmp(server, "http://", 7) != 0 && strncmp(server, "https://", 8) != 0)
        return ff_cli_usage(cli, "--server (FF_SERVER) is http://HOST:PORT, not '%s'", server);
    const ff_status status =
        ff_open(server ? server : ff_cli_store(cli), options, &cli->client, &error);
    if (status == FF_NOT_FOUND && !ff_cli_value(cli, FF_OPT_STORE)) {
        const struct ff_error cause = error; /* nobody has said which one was meant */

        (void)ff_fail(&error, status, "%s; name one with --store, or a server with --server",
                      cause.message);
    }
    if (status != FF_OK)
        return ff_cli_fail(cli, server ? "use the server" : "open the store", status, &error);
    return FF_EXIT_OK;
}

int ff_cli_needs_store(struct ff_cli *cli)
{
    if (!ff_cli_server(cli))
        return FF_EXIT_OK;
    return ff_cli_usage(cli,
                        "%s works on a store, not through a server%s: name it with --store URL",
                        cli->verb->name, ff_cli_has(cli, FF_OPT_SERVER) ? "" : " (FF_SERVER)");
}

int ff_cli_open(struct ff_cli *cli, bool must_exist)
{
    const struct ff_options options = {
        .size = sizeof options, .passive = true, .must_exist = must_exist};

    return open_with(cli, &options);
}

int ff_cli_open_patient(struct ff_cli *cli)
{
    const struct ff_options options = {
        .size = sizeof options, .passive = true, .must_exist = true, .timeout_ms = PATIENCE_MS};

    return open_with(cli, &options);
}

int ff_cli_open_engine(struct ff_cli *cli, int64_t result_bytes_max)
{
    const struct ff_options options = {
        .size = sizeof options,
        .result_bytes_max = ff_cli_server(cli) ? 0 : result_bytes_max, /* a server has its own */
    };

    return open_with(cli, &options);
}

int ff_cli_json(struct ff_cli *cli, json_t *json)
{
    struct ff_str text;
    struct ff_error error;
    const ff_status status = ff_json_text(json, &cli->arena, JSON_BYTES_MAX, &text, &error);

    json_decref(json);
    if (status != FF_OK)
        return ff_cli_fail(cli, "print the answer", status, &error);
    (void)fwrite(text.ptr, 1, text.len, cli->out);
    (void)fputc('\n', cli->out);
    return FF_EXIT_OK;
}

static ff_status read_stream(struct ff_cli *cli, FILE *in, const char *path, size_t max_bytes,
                             struct ff_str *ret, struct ff_error *reterr)
{
    char *data = NULL;
    size_t len = 0, cap = 0;

    for (;;) {
        if (len == cap) {
            const size_t more = cap ? cap * 2 : 65536;
            char *const bigger = ff_arena_grow(&cli->arena, data, cap, more);

            if (!bigger)
                return ff_fail(reterr, FF_NO_MEMORY, "'%s' does not fit into memory", path);
            data = bigger;
            cap = more;
        }
        const size_t got = fread(data + len, 1, cap - len, in);
        len += got;
        if (len > max_bytes)
            return ff_fail(reterr, FF_TOO_LARGE, "'%s' has more than %zu bytes", path, max_bytes);
        if (!got)
            break;
    }
    if (ferror(in))
        return ff_fail(reterr, FF_INVALID, "cannot read '%s': %s", path, strerror(errno));
    *ret = (struct ff_str){.ptr = data, .len = len};
    return FF_OK;
}

ff_status ff_cli_read_file(struct ff_cli *cli, const char *path, size_t max_bytes,
                           struct ff_str *ret, struct ff_error *reterr)
{
    if (strcmp(path, "-") == 0)
        return read_stream(cli, stdin, "standard input", max_bytes, ret, reterr);
    FILE *const in = fopen(path, "re");
    if (!in)
        return ff_fail(reterr, FF_INVALID, "cannot read '%s': %s", path, strerror(errno));
    const ff_status status = read_stream(cli, in, path, max_bytes, ret, reterr);
    (void)fclose(in);
    return status;
}

ff_status ff_cli_read_value(struct ff_cli *cli, const char *value, size_t max_bytes,
                            struct ff_str *ret, struct ff_error *reterr)
{
    if (value[0] == '@')
        return ff_cli_read_file(cli, value + 1, max_bytes, ret, reterr);
    if (strcmp(value, "-") == 0)
        return ff_cli_read_file(cli, value, max_bytes, ret, reterr);
    *ret = ff_str_of(value);
    return FF_OK;
}

/* Only people get colours and bars. */
static bool is_terminal(FILE *out)
{
    const char *const term = getenv("TERM");

    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

static bool wants_colour(FILE *out)
{
    const char *const no = getenv("NO_COLOR");

    return is_terminal(out) && !(no && no[0]);
}

/* Boxes need a terminal that reads UTF-8. */
static bool wants_plain_text(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < FF_ARRAY_LEN(names); i++) {
        const char *const value = getenv(names[i]);

        if (value && value[0])
            return !strcasestr(value, "utf-8") && !strcasestr(value, "utf8");
    }
    return true;
}

/* A tool says in one line what went wrong; the log of its engine would say it again. */
static void quiet_log(const struct ff_cli *cli)
{
    const char *const wanted = getenv(ff_options[FF_OPT_LOG_LEVEL].environment);
    enum ff_log_level level = FF_LOG_ERROR;

    if (cli->verb->run == ff_run_serve || cli->verb->run == ff_run_worker)
        return; /* they run for long and have a log of their own */
    if (wanted && !ff_log_level_parse(ff_str_of(wanted), &level))
        level = FF_LOG_ERROR;
    ff_log_set_level(level);
}

static int run(struct ff_cli *cli, int argc, char **argv)
{
    const int code = ff_cli_parse(cli, argc, argv);

    if (code != FF_EXIT_OK)
        return code;
    if (ff_cli_has(cli, FF_OPT_HELP)) {
        ff_help_print(cli->out, cli->verb, cli->noun);
        return FF_EXIT_OK;
    }
    quiet_log(cli);
    return cli->verb->run(cli);
}

int ff_cli_main(int argc, char **argv, FILE *out, FILE *err)
{
    const struct ff_clock clock = ff_clock_system();
    struct ff_cli *const cli = calloc(1, sizeof *cli);

    if (!cli) {
        (void)fputs("ff: out of memory\n", err);
        return ff_status_exit(FF_NO_MEMORY);
    }
    ff_arena_init(&cli->arena, 65536, FF_ARENA_BYTES_MAX);
    cli->out = out;
    cli->err = err;
    cli->colour = wants_colour(out);
    cli->bar = is_terminal(err);
    cli->plain_text = wants_plain_text();
    cli->now_ms = ff_clock_real_ms(&clock);
    int code = run(cli, argc, argv);

    const size_t left = ff_close(cli->client, CLOSE_GRACE_MS);
    if (left)
        (void)fprintf(err, "ff: done; %zu steps that follow from it are left to a server\n", left);
    if (fflush(out) != 0 || ferror(out)) {
        /* A full disk must not look like success. */
        (void)fprintf(err, "ff: cannot write the answer: %s\n", strerror(errno));
        code = code == FF_EXIT_OK ? ff_status_exit(FF_INTERNAL) : code;
    }
    ff_arena_done(&cli->arena);
    free(cli);
    return code;
}
