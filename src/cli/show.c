/* SPDX-License-Identifier: Apache-2.0
 *
 * show.c -- ff show and ff explain: one execution, for people or as JSON.
 *
 * Tests: tests/e2e/test_cli.py. */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

#include "api/json.h"
#include "base/str.h"
#include "cli/print.h"

#include "base/banned.h"

#define PREVIEW_BYTES 400
#define HISTORY_SHOWN 200

static void line(struct ff_cli *cli, const char *name, const char *value)
{
    (void)fprintf(cli->out, "%-10s %s\n", name, value);
}

static const char *words(struct ff_cli *cli, const struct ff_info *info)
{
    struct ff_arena *const arena = &cli->arena;
    const char *text = NULL;

    if (info->finished)
        text = ff_arena_printf(arena, "ended %s", ff_moment(cli, info->finished_at_ms)).ptr;
    else if (info->has_lease && strcmp(info->ownership_state, "leased") != 0)
        text = "its worker has gone; the next claim continues the attempt";
    else if (info->has_lease)
        text = ff_arena_printf(arena, "worker '%s' runs attempt %d",
                               ff_printable(cli, info->worker_id, strlen(info->worker_id)),
                               (int)info->attempt_index)
                   .ptr;
    else if (strcmp(info->blocking_reason, "waiting_for_retry_backoff") == 0)
        text = ff_arena_printf(arena, "retry %d of %d at %s", (int)info->retry_count,
                               (int)info->policy.max_retries, ff_moment(cli, info->delay_until_ms))
                   .ptr;
    else if (strcmp(info->public_state, "delayed") == 0)
        text = ff_arena_printf(arena, "not before %s", ff_moment(cli, info->delay_until_ms)).ptr;
    else if (strcmp(info->public_state, "waiting_children") == 0)
        text = "waits for other executions of its flow";
    else
        text = "waits for a worker";
    return text ? text : "";
}

static void print_lease(struct ff_cli *cli, const struct ff_info *info)
{
    if (!info->has_lease)
        return;
    (void)fprintf(cli->out, "%-10s instance '%s', epoch %" PRId64 ", until %s\n", "lease",
                  ff_printable(cli, info->worker_instance_id, strlen(info->worker_instance_id)),
                  info->lease_epoch, ff_moment(cli, info->lease_expires_at_ms));
}

static void print_notes(struct ff_cli *cli, const struct ff_info *info)
{
    if (info->has_progress)
        (void)fprintf(cli->out, "%-10s %d %%%s%s\n", "progress",
                      (int)(info->progress_percent < 0 ? 0 : info->progress_percent),
                      info->progress_message ? ", " : "",
                      info->progress_message ? ff_printable(cli, info->progress_message,
                                                            strlen(info->progress_message))
                                             : "");
    if (info->failure_message)
        (void)fprintf(cli->out, "%-10s %s: %s\n", "failure",
                      info->failure_class ? info->failure_class : "-",
                      ff_printable(cli, info->failure_message, strlen(info->failure_message)));
    if (info->cancel_reason || info->cancelled_by)
        (void)fprintf(cli->out, "%-10s by %s: %s\n", "cancelled",
                      info->cancelled_by ? info->cancelled_by : "-",
                      info->cancel_reason
                          ? ff_printable(cli, info->cancel_reason, strlen(info->cancel_reason))
                          : "no reason given");
    for (size_t i = 0; i < info->tag_count; i++)
        (void)fprintf(cli->out, "%-10s %s=%s\n", i ? "" : "tags", info->tags[i].name,
                      ff_printable(cli, info->tags[i].value, strlen(info->tags[i].value)));
    for (size_t i = 0; i < info->required_capability_count; i++)
        (void)fprintf(cli->out, "%-10s %s\n", i ? "" : "needs", info->required_capabilities[i]);
}

/* The beginning of an input or a result. */
static void print_value(struct ff_cli *cli, const char *name, struct ff_str value,
                        const char *content_type)
{
    size_t len = ff_min_size(value.len, PREVIEW_BYTES);

    if (!value.ptr)
        return;
    while (len && len < value.len && ((unsigned char)value.ptr[len] & 0xc0) == 0x80)
        len--; /* not half a character */
    if (!ff_str_is_utf8(ff_str_slice(value, 0, len)))
        (void)fprintf(cli->out, "%-10s %zu bytes of %s\n", name, value.len,
                      content_type ? content_type : "application/json");
    else
        (void)fprintf(cli->out, "%-10s %s%s\n", name, ff_printable(cli, value.ptr, len),
                      len < value.len ? " ..." : "");
}

static void print_info(struct ff_cli *cli, const struct ff_info *info)
{
    line(cli, "execution", info->execution_id);
    (void)fprintf(cli->out, "%-10s %s%s%s: %s\n", "state", ff_state_colour(cli, info->public_state),
                  info->public_state, ff_colour_off(cli), words(cli, info));
    (void)fprintf(cli->out, "%-10s %s, lane %s, namespace %s, priority %d\n", "kind", info->kind,
                  info->lane, info->ns, (int)info->priority);
    if (info->flow_id[0])
        (void)fprintf(cli->out, "%-10s %s, node %s\n", "flow", info->flow_id,
                      info->node ? info->node : "-");
    (void)fprintf(cli->out, "%-10s attempt %d, retries %d of %d, generation %d\n", "attempt",
                  (int)info->attempt_index, (int)info->retry_count, (int)info->policy.max_retries,
                  (int)info->generation);
    print_lease(cli, info);
    line(cli, "created", ff_moment(cli, info->created_at_ms));
    if (info->started_at_ms != FF_ABSENT_MS)
        line(cli, "started", ff_moment(cli, info->started_at_ms));
    if (info->deadline_at_ms != FF_ABSENT_MS)
        line(cli, "deadline", ff_moment(cli, info->deadline_at_ms));
    print_notes(cli, info);
    print_value(cli, "input", info->input, info->input_content_type);
}

static void print_attempts(struct ff_cli *cli, const struct ff_attempt_list *list,
                           const char *indent)
{
    static const char *const titles[] = {"ATTEMPT", "TYPE",    "EPOCH",  "WORKER",
                                         "STARTED", "OUTCOME", "FAILURE"};
    struct ff_grid grid;

    ff_grid_init(&grid, cli, titles, FF_ARRAY_LEN(titles));
    for (size_t i = 0; i < list->count; i++) {
        const struct ff_attempt_info *const item = &list->items[i];
        const char *const cells[] = {
            ff_number(cli, item->attempt_index),
            item->attempt_type,
            ff_number(cli, item->lease_epoch),
            item->worker_id,
            ff_age(cli, item->started_at_ms),
            item->outcome ? item->outcome : "running",
            item->failure_message,
        };

        ff_grid_add(&grid, cells);
    }
    ff_grid_print(&grid, indent);
}

static void print_events(struct ff_cli *cli, const struct ff_event_list *list, const char *indent)
{
    static const char *const titles[] = {"WHEN", "EVENT", "STATE", "WORKER", "NOTE"};
    struct ff_grid grid;

    ff_grid_init(&grid, cli, titles, FF_ARRAY_LEN(titles));
    grid.state_column = 2;
    for (size_t i = 0; i < list->count; i++) {
        const struct ff_event_info *const item = &list->items[i];
        const char *const cells[] = {
            ff_age(cli, item->at_ms),
            ff_arena_printf(&cli->arena, "%s.%s", item->kind, item->type).ptr,
            item->public_state,
            item->worker_id,
            item->note,
        };

        ff_grid_add(&grid, cells);
    }
    ff_grid_print(&grid, indent);
}

static int show_result(struct ff_cli *cli, const char *id)
{
    FF_AUTO(ff_answer_free) struct ff_bytes result = {0};
    struct ff_error error;
    const ff_status status = ff_result(cli->client, id, &result, &error);

    if (status != FF_OK)
        return ff_cli_fail(cli, "show the result", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put_bytes(&made, "result", result.data, result.content_type);
        return ff_cli_json(cli, ff_json_made(&made));
    }
    if (result.data.ptr)
        (void)fwrite(result.data.ptr, 1, result.data.len, cli->out);
    return FF_EXIT_OK;
}

static int show_attempts(struct ff_cli *cli, const char *id)
{
    FF_AUTO(ff_answer_free) struct ff_attempt_list list = {0};
    struct ff_error error;
    const ff_status status = ff_attempts(cli->client, id, &list, &error);

    if (status != FF_OK)
        return ff_cli_fail(cli, "show attempts", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_attempts(&list));
    print_attempts(cli, &list, "");
    return FF_EXIT_OK;
}

static int show_events(struct ff_cli *cli, const char *id)
{
    FF_AUTO(ff_answer_free) struct ff_event_list list = {0};
    struct ff_error error;
    int32_t limit;

    if (ff_cli_limit(cli, &limit) != FF_EXIT_OK)
        return FF_EXIT_USAGE;
    const ff_status status =
        ff_history(cli->client, id, ff_cli_value(cli, FF_OPT_CURSOR), limit, &list, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "show the history", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_events(&list));
    print_events(cli, &list, "");
    ff_print_more(cli, list.next_cursor);
    return FF_EXIT_OK;
}

static int show_all(struct ff_cli *cli, const char *id)
{
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    FF_AUTO(ff_answer_free) struct ff_attempt_list attempts = {0};
    FF_AUTO(ff_answer_free) struct ff_event_list events = {0};
    FF_AUTO(ff_answer_free) struct ff_bytes result = {0};
    struct ff_error error;
    ff_status status = ff_get(cli->client, id, &whole, &error);

    if (status == FF_OK && ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_info(&whole.items[0]));
    if (status == FF_OK)
        status = ff_attempts(cli->client, whole.items[0].execution_id, &attempts, &error);
    if (status == FF_OK)
        status = ff_history(cli->client, whole.items[0].execution_id, NULL, HISTORY_SHOWN, &events,
                            &error);
    if (status == FF_OK && strcmp(whole.items[0].public_state, "completed") == 0)
        status = ff_result(cli->client, whole.items[0].execution_id, &result, &error);
    if (status != FF_OK && status != FF_NO_RESULT) /* by now it may run again */
        return ff_cli_fail(cli, "show the execution", status, &error);
    print_info(cli, &whole.items[0]);
    print_value(cli, "result", result.data, result.content_type);
    if (attempts.count) {
        (void)fputs("\nattempts\n", cli->out);
        print_attempts(cli, &attempts, "  ");
    }
    if (events.count) {
        (void)fputs("\nhistory\n", cli->out);
        print_events(cli, &events, "  ");
    }
    return FF_EXIT_OK;
}

static int show_parts(struct ff_cli *cli, const char *id)
{
    if (ff_cli_has(cli, FF_OPT_ATTEMPTS))
        return show_attempts(cli, id);
    if (ff_cli_has(cli, FF_OPT_EVENTS))
        return show_events(cli, id);
    if (ff_cli_has(cli, FF_OPT_RESULT))
        return show_result(cli, id);
    return show_all(cli, id);
}

static int wait_for_end(struct ff_cli *cli, const char *id, int64_t wait_ms)
{
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    struct ff_error error;
    const ff_status status = ff_cli_wait(cli, id, wait_ms, &whole, &error);

    if (status != FF_OK)
        return ff_cli_fail(cli, "wait for the execution", status, &error);
    return ff_cli_waited(cli, whole.items[0].finished, whole.items[0].public_state);
}

int ff_run_show(struct ff_cli *cli)
{
    const int parts = ff_cli_has(cli, FF_OPT_ATTEMPTS) + ff_cli_has(cli, FF_OPT_EVENTS) +
                      ff_cli_has(cli, FF_OPT_RESULT);
    int64_t wait_ms;
    int shown;

    if (parts > 1)
        return ff_cli_usage(cli, "only one of --attempts, --events and --result");
    int code = ff_cli_wait_ms(cli, &wait_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    if (wait_ms)
        code = wait_for_end(cli, cli->args[0], wait_ms);
    if (code > FF_EXIT_NEGATIVE)
        return code; /* told; there is nothing to show */
    shown = show_parts(cli, cli->args[0]);
    return shown == FF_EXIT_OK ? code : shown;
}

int ff_run_explain(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_explanation explanation = {0};
    struct ff_error error;
    const int code = ff_cli_open(cli, true);

    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_explain(cli->client, cli->args[0], &explanation, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "explain the execution", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_explanation(&explanation));
    (void)fprintf(cli->out, "%s%s%s %s\n", ff_state_colour(cli, explanation.public_state),
                  explanation.public_state, ff_colour_off(cli), explanation.execution_id);
    for (size_t i = 0; i < explanation.count; i++) {
        const struct ff_reason *const reason = &explanation.items[i];

        (void)fprintf(cli->out, "  %-19s %s\n", reason->code,
                      ff_printable(cli, reason->detail, strlen(reason->detail)));
    }
    return FF_EXIT_OK;
}
