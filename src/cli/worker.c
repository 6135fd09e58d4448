/* SPDX-License-Identifier: Apache-2.0
 *
 * worker.c -- ff worker: any command as a worker, over the worker runtime of the library.
 *
 * Read first: docs/guide/workers.md. Tests: tests/e2e/test_worker.py. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/guard.h"
#include "cli/print.h"

#include "base/banned.h"

#define KILL_AFTER_MS      10000
#define EXIT_PERMANENT     65    /* EX_DATAERR: the input will never do */
#define UPSTREAM_BYTES_MAX 65536 /* one variable may have 128 KiB on Linux */
#define ENVIRONMENT_BYTES  (1 << 20)

static struct ff_worker *stoppable;

static void on_signal(int number)
{
    (void)number;
    ff_worker_stop(stoppable);
}

static void on_notice(void *data, const char *line)
{
    struct ff_cli *const cli = data;

    (void)fprintf(cli->err, "ff: %s\n", line);
}

/* ---- what the command is told ------------------------------------------------------------------
 */

struct environment {
    struct ff_arena arena;
    char **items;
    size_t count;
};

static void tell(struct environment *env, const char *name, const char *value)
{
    struct ff_strbuf text = ff_strbuf_in(&env->arena, ENVIRONMENT_BYTES);
    struct ff_str made;
    union {
        const char *in;
        char *out;
    } item;

    if (!value)
        return;
    ff_strbuf_addf(&text, "%s=%s", name, value);
    if (!env->items || ff_strbuf_take(&text, &made, NULL) != FF_OK)
        return;
    item.in = made.ptr;
    env->items[env->count++] = item.out;
}

static void tell_number(struct environment *env, const char *name, int64_t value)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRId64, value);
    tell(env, name, value == FF_ABSENT_MS ? NULL : text);
}

/* {"<node>": {"outcome": ..., "result": ...}}, as in a claim over HTTP. */
static void tell_upstream(struct environment *env, const struct ff_task *task)
{
    union {
        const struct ff_task *in;
        struct ff_task *out;
    } const one = {.in = task};
    const struct ff_tasks tasks = {.count = 1, .items = one.out};
    FF_AUTO(ff_json_freep) json_t *json = ff_json_tasks(&tasks);
    const json_t *const first = json_array_get(json_object_get(json, "tasks"), 0);
    struct ff_str text;

    if (task->upstream_count && ff_json_text(json_object_get(first, "upstream"), &env->arena,
                                             UPSTREAM_BYTES_MAX, &text, NULL) == FF_OK)
        tell(env, "FF_UPSTREAM", text.ptr);
}

#define OWN_VARIABLES 20

/* Options of the worker are not the command's; what ff needs to reach the same server is. */
static bool is_passed_on(const char *item)
{
    static const char *const kept[] = {"FF_TOKEN=", "FF_TLS_CA="};

    if (strncmp(item, "FF_", 3) != 0)
        return true;
    for (size_t i = 0; i < FF_ARRAY_LEN(kept); i++)
        if (strncmp(item, kept[i], strlen(kept[i])) == 0)
            return true;
    return false;
}

static bool environment_make(struct environment *env, struct ff_cli *cli,
                             const struct ff_task *task)
{
    size_t have = 0;

    while (environ[have])
        have++;
    ff_arena_init(&env->arena, 65536, 16 * ENVIRONMENT_BYTES);
    env->items = ff_arena_array(&env->arena, have + OWN_VARIABLES + 1, sizeof *env->items);
    for (size_t i = 0; env->items && i < have; i++) {
        if (is_passed_on(environ[i]))
            env->items[env->count++] = environ[i];
    }
    tell(env, ff_cli_server(cli) ? "FF_SERVER" : "FF_STORE",
         ff_cli_server(cli) ? ff_cli_server(cli) : ff_cli_store(cli));
    tell(env, "FF_EXECUTION_ID", task->execution_id);
    tell(env, "FF_LEASE_ID", task->lease_id);
    tell_number(env, "FF_LEASE_EPOCH", task->lease_epoch);
    tell_number(env, "FF_GENERATION", task->generation);
    tell_number(env, "FF_ATTEMPT_INDEX", task->attempt_index);
    tell(env, "FF_ATTEMPT_TYPE", task->attempt_type);
    tell(env, "FF_KIND", task->kind);
    tell(env, "FF_LANE", task->lane);
    tell(env, "FF_NAMESPACE", task->ns);
    tell(env, "FF_FLOW_ID", task->flow_id[0] ? task->flow_id : NULL);
    tell(env, "FF_NODE", task->node);
    tell_number(env, "FF_DEADLINE_AT_MS", task->deadline_at_ms);
    tell(env, "FF_INPUT_CONTENT_TYPE", task->input.ptr ? task->input_content_type : NULL);
    tell_upstream(env, task);
    return ff_arena_check(&env->arena, NULL) == FF_OK;
}

/* ---- what the command says ---------------------------------------------------------------------
 */

/* JSON is kept as JSON, other text as text, the rest as bytes. */
static ff_verdict done(struct ff_context *ctx, const struct ff_child *child)
{
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    const struct ff_str out = {child->out, child->out_len};

    if (child->out_cut)
        return ff_context_fail(ctx, "permanent", "its output has more than %zu bytes",
                               child->out_bytes_max);
    if (!out.len)
        return ff_context_done(ctx, NULL);
    if (ff_json_parse(out, &json, NULL) == FF_OK)
        return ff_context_done_bytes(ctx, out, NULL);
    return ff_context_done_bytes(ctx, out,
                                 ff_str_is_utf8(out) && !ff_str_has_nul(out)
                                     ? "text/plain; charset=utf-8"
                                     : "application/octet-stream");
}

static ff_verdict judge(struct ff_context *ctx, const struct ff_child *child)
{
    const char *const colon = child->err_len ? ": " : "";

    if (child->cancelled)
        return ff_context_fail(ctx, NULL, "stopped%s%s", colon, child->err);
    if (WIFSIGNALED(child->status))
        return ff_context_fail(ctx, "infra_crash", "killed by signal %d%s%s",
                               WTERMSIG(child->status), colon, child->err);
    if (WEXITSTATUS(child->status) != 0)
        return ff_context_fail(
            ctx, WEXITSTATUS(child->status) == EXIT_PERMANENT ? "permanent" : "transient",
            "exit status %d%s%s", WEXITSTATUS(child->status), colon, child->err);
    return done(ctx, child);
}

/* One line per task that has run; what became of it is the engine's to tell. */
static void report(struct ff_cli *cli, const struct ff_task *task, const struct ff_child *child)
{
    const bool killed = WIFSIGNALED(child->status);

    flockfile(cli->out);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        (void)fprintf(cli->out,
                      "{\"execution_id\":\"%s\",\"attempt_index\":%d,\"cancelled\":%s,\"%s\":%d}\n",
                      task->execution_id, (int)task->attempt_index,
                      child->cancelled ? "true" : "false", killed ? "signal" : "exit_status",
                      killed ? WTERMSIG(child->status) : WEXITSTATUS(child->status));
    } else {
        (void)fprintf(cli->out, "%s attempt %d: %s%s %d\n", task->execution_id,
                      (int)task->attempt_index, child->cancelled ? "cancelled, " : "",
                      killed ? "signal" : "exit status",
                      killed ? WTERMSIG(child->status) : WEXITSTATUS(child->status));
    }
    (void)fflush(cli->out);
    funlockfile(cli->out);
}

static bool is_cancelled(void *ctx)
{
    return ff_context_cancelled(ctx);
}

/* What all tasks of a run share. */
struct command {
    struct ff_cli *cli;
    char *const *argv;
    struct ff_guard guard;
    int64_t kill_after_ms, result_bytes_max;
};

static ff_verdict run_command(struct ff_context *ctx, void *data)
{
    const struct command *const command = data;
    const struct ff_task *const task = ff_context_task(ctx);
    struct environment env = {0};
    struct ff_child child = {
        .argv = command->argv,
        .guard = &command->guard,
        .input = task->input,
        .out_bytes_max = (size_t)command->result_bytes_max,
        .kill_after_ms = command->kill_after_ms,
        .is_cancelled = is_cancelled,
        .ctx = ctx,
    };
    ff_verdict verdict;
    int why;

    if (!environment_make(&env, command->cli, task)) {
        verdict = ff_context_release(ctx, "no memory for its environment");
    } else {
        child.environ = env.items;
        why = ff_child_run(&child);
        if (why) {
            verdict = ff_context_fail(ctx, "infra_crash", "cannot run '%s': %s", command->argv[0],
                                      strerror(why));
        } else {
            report(command->cli, task, &child);
            verdict = judge(ctx, &child);
        }
    }
    ff_child_done(&child);
    ff_arena_done(&env.arena);
    return verdict;
}

/* ---- the verb ----------------------------------------------------------------------------------
 */

static const char **values_of(struct ff_cli *cli, ff_opt opt, size_t *ret_count)
{
    const char **const values = ff_arena_array(&cli->arena, cli->given_count + 1, sizeof *values);

    *ret_count = 0;
    for (size_t i = 0; values && i < cli->given_count; i++)
        if (cli->given[i].opt == opt)
            values[(*ret_count)++] = cli->given[i].value;
    return values;
}

static int take_options(struct ff_cli *cli, struct ff_worker_options *options,
                        struct command *command)
{
    int64_t concurrency = 1, ahead = 0;
    int code = ff_cli_number(cli, FF_OPT_CONCURRENCY, 1, &concurrency);

    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_AHEAD, 0, &ahead);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_LEASE_TTL, 0, &options->lease_ttl_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_GRACE, 0, &options->grace_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_KILL_AFTER, KILL_AFTER_MS, &command->kill_after_ms);
    if (code == FF_EXIT_OK)
        code =
            ff_cli_number(cli, FF_OPT_RESULT_MAX, FF_RESULT_BYTES_MAX, &command->result_bytes_max);
    if (code != FF_EXIT_OK)
        return code;
    if (command->result_bytes_max < 1 || command->result_bytes_max > FF_PAYLOAD_BYTES_CEILING)
        return ff_cli_usage(cli, "--result-bytes-max is 1 to %d", FF_PAYLOAD_BYTES_CEILING);
    if (concurrency < 1 || concurrency > 256 || ahead < 0 || ahead > 256)
        return ff_cli_usage(cli, "--concurrency is 1 to 256, --ahead 0 to 256");
    if (ff_cli_has(cli, FF_OPT_GRACE) && options->grace_ms == 0)
        options->grace_ms = -1;
    options->threads = (int32_t)concurrency;
    options->ahead = ahead ? (int32_t)ahead : -1;
    options->worker_id = ff_cli_value(cli, FF_OPT_WORKER_ID);
    options->ns = ff_cli_value(cli, FF_OPT_IN_NAMESPACE);
    options->lanes = values_of(cli, FF_OPT_TAKE_LANE, &options->lane_count);
    options->capabilities = values_of(cli, FF_OPT_OFFER, &options->capability_count);
    options->notice = on_notice;
    options->notice_data = cli;
    return FF_EXIT_OK;
}

/* Whoever starts one by hand sees that it lives, and where it looks. */
static void greet(struct ff_cli *cli, const struct ff_worker_options *options)
{
    if (!cli->bar)
        return;
    (void)fprintf(cli->err, "ff: waiting for work in lane %s",
                  options->lane_count ? options->lanes[0] : "default");
    for (size_t i = 1; i < options->lane_count; i++)
        (void)fprintf(cli->err, ", %s", options->lanes[i]);
    (void)fputs("; Ctrl-C ends it\n", cli->err);
}

/* Looked for as execvp() will; errno says why not. */
static bool is_there(struct ff_cli *cli, const char *name)
{
    const char *at = getenv("PATH");

    errno = ENOENT;
    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    for (at = at ? at : "/bin:/usr/bin"; *at;) {
        const size_t len = strcspn(at, ":");
        const struct ff_str path =
            ff_arena_printf(&cli->arena, "%.*s%s%s", (int)len, at, len ? "/" : "./", name);

        if (path.ptr && access(path.ptr, X_OK) == 0)
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

static ff_status run(struct ff_cli *cli, const struct ff_worker_options *options,
                     struct command *command, struct ff_error *reterr)
{
    size_t kind_count;
    const char *const *const kinds = values_of(cli, FF_OPT_TAKE_KIND, &kind_count);
    ff_status status = ff_worker_new(cli->client, options, &stoppable, reterr);

    for (size_t i = 0; status == FF_OK && i < kind_count; i++)
        status = ff_worker_handle(stoppable, kinds[i], run_command, command, reterr);
    if (status == FF_OK && !kind_count)
        status = ff_worker_handle(stoppable, NULL, run_command, command, reterr);
    if (status == FF_OK) {
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGINT, on_signal);
        (void)signal(SIGTERM, on_signal);
        status = ff_worker_run(stoppable, reterr);
        (void)signal(SIGINT, SIG_DFL);
        (void)signal(SIGTERM, SIG_DFL);
    }
    ff_worker_free(stoppable);
    stoppable = NULL;
    return status;
}

int ff_run_worker(struct ff_cli *cli)
{
    struct ff_worker_options options = {.size = sizeof options};
    struct command command = {.cli = cli};
    char **const argv = ff_arena_array(&cli->arena, cli->arg_count + 1, sizeof *argv);
    struct ff_error error;
    int code = take_options(cli, &options, &command);

    for (size_t i = 0; argv && i < cli->arg_count; i++)
        argv[i] = ff_arena_copy(&cli->arena, cli->args[i], strlen(cli->args[i]) + 1);
    command.argv = argv;
    if (code == FF_EXIT_OK && !is_there(cli, cli->args[0])) /* else it would fail every task */
        code = ff_cli_usage(cli, "cannot run '%s': %s", cli->args[0], strerror(errno));
    if (code != FF_EXIT_OK)
        return code;
    const int why = ff_guard_start(&command.guard); /* first: it is a copy of what is here by now */
    if (why) {
        (void)ff_fail(&error, FF_NO_MEMORY, "no process for its guard: %s", strerror(why));
        return ff_cli_fail(cli, "work", FF_NO_MEMORY, &error);
    }
    code = ff_cli_open_engine(cli, command.result_bytes_max);
    if (code == FF_EXIT_OK) {
        greet(cli, &options);
        const ff_status status = run(cli, &options, &command, &error);
        if (status != FF_OK)
            code = ff_cli_fail(cli, "work", status, &error);
    }
    ff_guard_end(&command.guard);
    return code;
}
