/* SPDX-License-Identifier: Apache-2.0
 *
 * serve.c -- ff serve: options from three places, then the server until a signal comes.
 *
 * Tests: tests/e2e/test_http.py. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/limits.h"
#include "http/server.h"

#include "base/banned.h"

#define LISTEN_DEFAULT   "127.0.0.1" /* and FF_HTTP_PORT */
#define GRACE_MS_DEFAULT 10000
#define FILE_BYTES_MAX   (1 << 20)
#define HOSTS_MAX        64

/* ---- options ----------------------------------------------------------------------------------
 */

/* The value of `name` in a file of lines NAME = VALUE; NULL: not there. */
struct config {
    const char *values[FF_OPT_COUNT];
};

static struct ff_str trimmed(struct ff_str s)
{
    while (s.len && strchr(" \t\r", s.ptr[0]))
        s = ff_str_slice(s, 1, SIZE_MAX);
    while (s.len && strchr(" \t\r", s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static bool takes(const struct ff_verb *verb, ff_opt opt)
{
    for (const ff_opt *at = verb->takes; *at != FF_OPT_COUNT; at++)
        if (*at == opt && opt != FF_OPT_CONFIG)
            return true;
    return opt == FF_OPT_STORE;
}

static int config_line(struct ff_cli *cli, struct config *config, struct ff_str line)
{
    size_t at = 0;

    while (at < line.len && line.ptr[at] != '=')
        at++;
    const struct ff_str name = trimmed(ff_str_slice(line, 0, at));
    const struct ff_str value = trimmed(ff_str_slice(line, at + 1, SIZE_MAX));
    for (ff_opt opt = 0; opt < FF_OPT_COUNT; opt++) {
        if (!ff_str_eq(name, ff_str_of(ff_options[opt].name)) || !takes(cli->verb, opt))
            continue;
        config->values[opt] = ff_arena_str(&cli->arena, value).ptr;
        return FF_EXIT_OK;
    }
    return ff_cli_usage(cli, "the config file has an unknown option '%.*s'", (int)name.len,
                        name.ptr);
}

static int config_read(struct ff_cli *cli, struct config *config)
{
    const char *const path = ff_cli_value(cli, FF_OPT_CONFIG);
    struct ff_error error;
    struct ff_str text;

    if (!path)
        return FF_EXIT_OK;
    const ff_status status = ff_cli_read_file(cli, path, FILE_BYTES_MAX, &text, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "read the config file", status, &error);
    while (text.len) {
        const char *const end = memchr(text.ptr, '\n', text.len);
        const size_t len = end ? (size_t)(end - text.ptr) : text.len;
        const struct ff_str line = trimmed(ff_str_slice(text, 0, len));
        const int code =
            line.len && line.ptr[0] != '#' ? config_line(cli, config, line) : FF_EXIT_OK;

        if (code != FF_EXIT_OK)
            return code;
        text = ff_str_slice(text, len + 1, SIZE_MAX);
    }
    return FF_EXIT_OK;
}

/* Command line, environment, config file; NULL: nowhere. */
static const char *value_of(const struct ff_cli *cli, const struct config *config, ff_opt opt)
{
    const char *const value = ff_cli_value(cli, opt);

    return value ? value : config->values[opt];
}

static int number_of(struct ff_cli *cli, const struct config *config, ff_opt opt, int64_t absent,
                     int64_t *ret)
{
    const char *const text = value_of(cli, config, opt);

    *ret = absent;
    if (text && (!ff_str_to_i64(ff_str_of(text), ret) || *ret < 1))
        return ff_cli_usage(cli, "--%s must be a number above 0, not '%s'", ff_options[opt].name,
                            text);
    return FF_EXIT_OK;
}

static int limit_options(struct ff_cli *cli, const struct config *config,
                         struct ff_server_options *options)
{
    const struct {
        ff_opt opt;
        int64_t *value;
    } all[] = {
        {FF_OPT_BODY_MAX, &options->body_bytes_max},
        {FF_OPT_BODIES_MAX, &options->bodies_bytes_max},
        {FF_OPT_CONN_MAX, &options->connections_max},
        {FF_OPT_SSE_COMMENT, &options->sse_comment_ms},
    };
    int code = FF_EXIT_OK;

    for (size_t i = 0; i < FF_ARRAY_LEN(all) && code == FF_EXIT_OK; i++)
        code = number_of(cli, config, all[i].opt, 0, all[i].value);
    if (code == FF_EXIT_OK && options->sse_comment_ms >= FF_HTTP_STALL_MS)
        return ff_cli_usage(cli,
                            "--sse-comment-ms is below %d: a stream that is silent for so long is "
                            "taken for dead",
                            FF_HTTP_STALL_MS);
    return code;
}

static int log_options(struct ff_cli *cli, const struct config *config)
{
    const char *const format = value_of(cli, config, FF_OPT_LOG);
    const char *const level_name = value_of(cli, config, FF_OPT_LOG_LEVEL);
    enum ff_log_level level = FF_LOG_INFO;

    if (level_name && !ff_log_level_parse(ff_str_of(level_name), &level))
        return ff_cli_usage(cli, "--log-level is error, warn, info or debug, not '%s'", level_name);
    if (format && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
        return ff_cli_usage(cli, "--log is text or json, not '%s'", format);
    ff_log_set_level(level);
    ff_log_set_format(format && strcmp(format, "json") == 0 ? FF_LOG_JSON : FF_LOG_TEXT);
    return FF_EXIT_OK;
}

static int token_options(struct ff_cli *cli, const struct config *config, struct ff_tokens *tokens)
{
    const char *const path = value_of(cli, config, FF_OPT_TOKEN_FILE);
    const char *const one = getenv("FF_TOKEN");
    struct ff_error error;
    ff_status status = FF_OK;

    ff_tokens_init(tokens);
    if (path)
        status = ff_tokens_load(tokens, path, &error);
    if (status == FF_OK && one && *one) {
        const struct ff_str line = ff_arena_printf(&cli->arena, "environment %s admin", one);

        status = ff_tokens_read(tokens, line, "FF_TOKEN", &error);
    }
    return status == FF_OK ? FF_EXIT_OK : ff_cli_fail(cli, "read the tokens", status, &error);
}

static int pem(struct ff_cli *cli, const char *path, struct ff_str *ret)
{
    struct ff_error error;
    const ff_status status = ff_cli_read_file(cli, path, FILE_BYTES_MAX, ret, &error);

    if (status != FF_OK)
        return ff_cli_fail(cli, "read the certificate or its key", status, &error);
    *ret = ff_arena_str(&cli->arena, *ret);
    return FF_EXIT_OK;
}

static int tls_options(struct ff_cli *cli, const struct config *config,
                       struct ff_server_options *options)
{
    const char *const cert = value_of(cli, config, FF_OPT_TLS_CERT);
    const char *const key = value_of(cli, config, FF_OPT_TLS_KEY);
    int code;

    if (!cert && !key)
        return FF_EXIT_OK;
    if (!cert || !key)
        return ff_cli_usage(cli, "--tls-cert and --tls-key go together");
    code = pem(cli, cert, &options->tls_cert);
    return code == FF_EXIT_OK ? pem(cli, key, &options->tls_key) : code;
}

static void host_options(struct ff_cli *cli, const struct config *config,
                         struct ff_server_options *options)
{
    struct ff_str names = ff_str_of(value_of(cli, config, FF_OPT_HOST));
    const char **const hosts = ff_arena_array(&cli->arena, HOSTS_MAX, sizeof(char *));

    options->hosts = hosts;
    while (hosts && names.len && options->host_count < HOSTS_MAX) {
        const char *const comma = memchr(names.ptr, ',', names.len);
        const size_t len = comma ? (size_t)(comma - names.ptr) : names.len;

        hosts[options->host_count++] =
            ff_arena_str(&cli->arena, trimmed(ff_str_slice(names, 0, len))).ptr;
        names = ff_str_slice(names, len + 1, SIZE_MAX);
    }
}

/* ---- running ----------------------------------------------------------------------------------
 */

static void stop_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
}

/* Drains; a request that will not end must not keep the process. */
static int stop(struct ff_cli *cli, struct ff_server *server, int64_t grace_ms)
{
    size_t left = ff_server_drain(server, grace_ms);

    ff_log_event(left ? FF_LOG_WARN : FF_LOG_INFO, "cli", "server has stopped",
                 FF_LOG_FIELDS(ff_log_i64("requests_cut", (int64_t)left)));
    if (left) /* the connections go with the process; the engine knows how to come back */
        _exit(ff_status_exit(FF_TIMEOUT));
    ff_server_free(server);
    left = ff_close(cli->client, grace_ms);
    cli->client = NULL;
    return left ? ff_status_exit(FF_TIMEOUT) : FF_EXIT_OK;
}

/* The URL of the store as it may be logged: without a user, a password or parameters. As libpq
 * reads it, a user ends with the first '@' before any '/'; others belong to parameters. */
static struct ff_str store_name(struct ff_cli *cli, const char *url)
{
    const char *const scheme = strstr(url, "://");
    const char *const host = scheme ? scheme + 3 : url;
    const char *const end = host + strcspn(host, "@/");
    const char *const rest = *end == '@' ? end + 1 : host;

    if (!scheme)
        return ff_str_of(url);
    return ff_arena_printf(&cli->arena, "%.*s%.*s", (int)(host - url), url, (int)strcspn(rest, "?"),
                           rest);
}

static void log_start(struct ff_cli *cli, const struct config *config,
                      const struct ff_server_options *options, const char *url)
{
    const char *const store = value_of(cli, config, FF_OPT_STORE);

    ff_log_event(
        FF_LOG_INFO, "cli", "serving",
        FF_LOG_FIELDS(ff_log_str("url", ff_str_of(url)),
                      ff_log_str("store", store_name(cli, store ? store : ff_cli_store(cli))),
                      ff_log_i64("tokens", (int64_t)options->tokens->count),
                      ff_log_str("version", ff_str_of(ff_version()))));
}

/* Every connection is an open file, and a shell allows 1,024 of them unless a program asks for
 * more. Where it may not have as many as it needs, fewer connections are better than accept()
 * failing. */
static void allow_files(struct ff_server_options *options)
{
    const int64_t beside = FF_HTTP_CONNECTIONS_EXTRA + FF_HTTP_FILES_BESIDE;
    const int64_t wanted =
        options->connections_max ? options->connections_max : FF_HTTP_CONNECTIONS_MAX;
    const rlim_t need = (rlim_t)ff_add_i64_clamped(wanted, beside);
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= need)
        return;
    const rlim_t before = files.rlim_cur;
    files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        files.rlim_cur = before;
    if (files.rlim_cur >= need)
        return;
    options->connections_max = ff_max_i64((int64_t)files.rlim_cur - beside, 1);
    ff_log_event(FF_LOG_WARN, "cli", "fewer connections than wanted: too few files may be open",
                 FF_LOG_FIELDS(ff_log_i64("connections_max", options->connections_max),
                               ff_log_i64("wanted", wanted),
                               ff_log_i64("open_files_max", (int64_t)files.rlim_cur)));
}

static int serve(struct ff_cli *cli, const struct config *config, struct ff_server_options *options)
{
    struct ff_server *server = NULL;
    struct ff_error error;
    int64_t grace_ms;
    sigset_t stops;
    int got = 0;
    int code = number_of(cli, config, FF_OPT_GRACE, GRACE_MS_DEFAULT, &grace_ms);

    if (code != FF_EXIT_OK)
        return code;
    allow_files(options);
    const ff_status status = ff_server_new(options, &server, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "start the server", status, &error);
    log_start(cli, config, options, ff_server_url(server));
    (void)fprintf(cli->out, "listening on %s\n", ff_server_url(server));
    (void)fflush(cli->out);
    stop_signals(&stops);
    while (sigwait(&stops, &got) != 0)
        continue;
    ff_log_event(FF_LOG_INFO, "cli", "stopping",
                 FF_LOG_FIELDS(ff_log_i64("signal", got), ff_log_i64("grace_ms", grace_ms)));
    return stop(cli, server, grace_ms);
}

static int open_store(struct ff_cli *cli, const struct config *config)
{
    const char *const given = value_of(cli, config, FF_OPT_STORE);
    const char *const migrate = value_of(cli, config, FF_OPT_MIGRATE);
    struct ff_options options = {.size = sizeof options};
    const struct {
        ff_opt opt;
        int64_t *to;
    } numbers[] = {
        {FF_OPT_RETENTION, &options.retention_ms},
        {FF_OPT_EVENT_KEEP, &options.event_retention_ms},
        {FF_OPT_EVENT_COUNT, &options.event_count_max},
        {FF_OPT_INPUT_MAX, &options.input_bytes_max},
        {FF_OPT_RESULT_MAX, &options.result_bytes_max},
        {FF_OPT_NODES_MAX, &options.flow_nodes_max},
        {FF_OPT_EDGES_MAX, &options.flow_edges_max},
    };
    struct ff_error error;

    for (size_t i = 0; i < FF_ARRAY_LEN(numbers); i++) {
        const int code = number_of(cli, config, numbers[i].opt, 0, numbers[i].to);

        if (code != FF_EXIT_OK)
            return code;
    }
    options.event_renewals = value_of(cli, config, FF_OPT_RENEWALS);
    options.instance_tag = value_of(cli, config, FF_OPT_INSTANCE_BY);
    options.migrate =
        ff_cli_has(cli, FF_OPT_MIGRATE) ||
        (migrate && *migrate && strcmp(migrate, "0") != 0 && strcmp(migrate, "false") != 0);
    const ff_status status =
        ff_open(given ? given : ff_cli_store(cli), &options, &cli->client, &error);
    return status == FF_OK ? FF_EXIT_OK : ff_cli_fail(cli, "open the store", status, &error);
}

int ff_run_serve(struct ff_cli *cli)
{
    struct config *const config = ff_arena_alloc(&cli->arena, sizeof *config);
    struct ff_server_options options = {0};
    struct ff_tokens tokens = {0};
    sigset_t stops;
    int code;

    if (!config)
        return ff_status_exit(FF_NO_MEMORY);
    if (ff_cli_has(cli, FF_OPT_SERVER))
        return ff_cli_usage(cli, "serve is a server and works on a store: name it with --store");
    /* Threads inherit the mask: only this one hears of them. */
    stop_signals(&stops);
    (void)pthread_sigmask(SIG_BLOCK, &stops, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    code = config_read(cli, config);
    if (code == FF_EXIT_OK)
        code = log_options(cli, config);
    if (code == FF_EXIT_OK)
        code = token_options(cli, config, &tokens);
    if (code == FF_EXIT_OK)
        code = tls_options(cli, config, &options);
    if (code == FF_EXIT_OK)
        code = limit_options(cli, config, &options);
    if (code == FF_EXIT_OK)
        code = open_store(cli, config);
    if (code == FF_EXIT_OK) {
        const char *const listen = value_of(cli, config, FF_OPT_LISTEN);

        host_options(cli, config, &options);
        options.client = cli->client;
        options.listen = listen ? listen : LISTEN_DEFAULT;
        options.tokens = &tokens;
        code = serve(cli, config, &options);
    }
    ff_tokens_done(&tokens);
    return code;
}
