/* SPDX-License-Identifier: Apache-2.0
 *
 * operate.c -- ff cancel, ff replay, ff lanes, ff workers.
 *
 * Tests: tests/e2e/test_cli.py. */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

#include "api/json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/print.h"

#include "base/banned.h"

/* As every other answer has it, whatever was typed. Who may not look goes on with that. */
static const char *full_id(struct ff_cli *cli, const char *typed)
{
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    struct ff_error error;
    const char *id = NULL;

    if (ff_get(cli->client, typed, &whole, &error) == FF_OK)
        id = ff_arena_str(&cli->arena, ff_str_of(whole.items[0].execution_id)).ptr;
    return id ? id : typed;
}

/* One line per id: what it is now, or {"error": ...}. */
static int told(struct ff_cli *cli, const char *what, const char *id, const char *public_state,
                ff_status status, const struct ff_error *error)
{
    struct ff_json_maker made;
    int code = FF_EXIT_OK;

    if (status != FF_OK)
        code = ff_cli_fail(cli, what, status, error);
    if (!ff_cli_has(cli, FF_OPT_JSON)) {
        if (status == FF_OK)
            (void)fprintf(cli->out, "%s %s\n", public_state, id);
        return code;
    }
    made = ff_json_make();
    ff_json_put_text(&made, "execution_id", id);
    if (status == FF_OK)
        ff_json_put_text(&made, "public_state", public_state);
    else
        ff_json_put(&made, "error", ff_json_problem(status, error));
    const int printed = ff_cli_json(cli, ff_json_made(&made));
    return code == FF_EXIT_OK ? printed : code;
}

static int told_bulk(struct ff_cli *cli, const char *what, const struct ff_bulk_result *result,
                     ff_status status, const struct ff_error *error)
{
    int code;

    if (status != FF_OK)
        return ff_cli_fail(cli, what, status, error);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        code = ff_cli_json(cli, ff_json_bulk_result(result));
    } else {
        (void)fprintf(cli->out,
                      "matched %" PRId64 ", done %" PRId64 ", unchanged %" PRId64
                      ", refused %" PRId64 "%s\n",
                      result->matched, result->done, result->unchanged, result->refused,
                      result->more ? "; there are more, call again" : "");
        code = FF_EXIT_OK;
    }
    return code == FF_EXIT_OK && !result->matched ? FF_EXIT_NEGATIVE : code;
}

/* Ids or a filter, never both, never neither by accident. */
static int check_target(struct ff_cli *cli, struct ff_filter *filter)
{
    bool any;
    const int code = ff_cli_filter(cli, filter, &any);

    if (code != FF_EXIT_OK)
        return code;
    if (cli->arg_count && (any || ff_cli_has(cli, FF_OPT_ALL)))
        return ff_cli_usage(cli, "%s takes ids or a filter, not both", cli->verb->name);
    if (!cli->arg_count && !any && !ff_cli_has(cli, FF_OPT_ALL))
        return ff_cli_usage(cli, "%s needs an ID, a filter or --all", cli->verb->name);
    return ff_cli_open(cli, true);
}

int ff_run_cancel(struct ff_cli *cli)
{
    const char *const reason = ff_cli_value(cli, FF_OPT_REASON);
    struct ff_filter filter;
    struct ff_error error;
    int code = check_target(cli, &filter);

    if (code != FF_EXIT_OK)
        return code;
    if (!cli->arg_count) {
        struct ff_bulk_result result;
        const ff_status status = ff_cancel_where(cli->client, &filter, reason, &result, &error);

        return told_bulk(cli, "cancel", &result, status, &error);
    }
    for (size_t i = 0; i < cli->arg_count; i++) {
        const char *const id = full_id(cli, cli->args[i]);
        const char *state = NULL;
        const ff_status status = ff_cancel(cli->client, id, reason, &state, &error);
        const int one = told(cli, "cancel", id, state, status, &error);

        code = code == FF_EXIT_OK ? one : code;
    }
    return code;
}

/* ---- replay -----------------------------------------------------------------------------------
 */

static ff_status replay_input(struct ff_cli *cli, struct ff_replay_request *request,
                              struct ff_error *reterr)
{
    const char *const given = ff_cli_value(cli, FF_OPT_INPUT);
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    struct ff_str text;

    if (!given)
        return FF_OK;
    FF_TRY(ff_cli_read_value(cli, given, FF_PAYLOAD_BYTES_CEILING, &text, reterr));
    FF_TRY(ff_json_parse(text, &json, reterr));
    request->has_input = true;
    return ff_json_text(json, &cli->arena, FF_PAYLOAD_BYTES_CEILING, &request->input, reterr);
}

static int replay_ids(struct ff_cli *cli)
{
    struct ff_replay_request request;
    struct ff_error error;
    int code;

    ff_replay_init(&request);
    request.reason = ff_cli_value(cli, FF_OPT_REASON);
    request.scope = ff_cli_value(cli, FF_OPT_SCOPE);
    request.reopen_downstream = ff_cli_has(cli, FF_OPT_DOWNSTREAM);
    code = ff_cli_number(cli, FF_OPT_DEADLINE, FF_ABSENT_MS, &request.deadline_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_GENERATION, FF_ABSENT_MS, &request.expected_generation);
    if (code != FF_EXIT_OK)
        return code;
    const ff_status input = replay_input(cli, &request, &error);
    if (input != FF_OK)
        return ff_cli_fail(cli, "replay", input, &error);
    for (size_t i = 0; i < cli->arg_count; i++) {
        const char *state = NULL;

        request.execution_id = full_id(cli, cli->args[i]);
        const ff_status status = ff_replay(cli->client, &request, &state, NULL, &error);
        const int one = told(cli, "replay", request.execution_id, state, status, &error);
        code = code == FF_EXIT_OK ? one : code;
    }
    return code;
}

int ff_run_replay(struct ff_cli *cli)
{
    const bool needs_one = ff_cli_has(cli, FF_OPT_INPUT) || ff_cli_has(cli, FF_OPT_DEADLINE) ||
                           ff_cli_has(cli, FF_OPT_GENERATION);
    struct ff_bulk_result result;
    struct ff_filter filter;
    struct ff_error error;

    if (needs_one && cli->arg_count != 1)
        return ff_cli_usage(cli, "--input, --deadline-ms and --generation need exactly one ID");
    if (!cli->arg_count && (ff_cli_has(cli, FF_OPT_SCOPE) || ff_cli_has(cli, FF_OPT_DOWNSTREAM)))
        return ff_cli_usage(cli, "--scope and --reopen-downstream need an ID");
    const int code = check_target(cli, &filter);
    if (code != FF_EXIT_OK)
        return code;
    if (cli->arg_count)
        return replay_ids(cli);
    const ff_status status =
        ff_replay_where(cli->client, &filter, ff_cli_value(cli, FF_OPT_REASON), &result, &error);
    return told_bulk(cli, "replay", &result, status, &error);
}

/* ---- lanes and workers ------------------------------------------------------------------------
 */

static void print_lanes(struct ff_cli *cli, const struct ff_lane_list *list)
{
    static const char *const titles[] = {"LANE",   "WAITING", "DELAYED", "BLOCKED",
                                         "ACTIVE", "OLDEST",  "PAUSED"};
    struct ff_grid grid;

    ff_grid_init(&grid, cli, titles, FF_ARRAY_LEN(titles));
    for (size_t i = 0; i < list->count; i++) {
        const struct ff_lane_info *const lane = &list->items[i];
        const char *const paused = lane->paused_reason ? lane->paused_reason : "yes";
        const char *const cells[] = {
            lane->lane,
            ff_number(cli, lane->waiting),
            ff_number(cli, lane->delayed),
            ff_number(cli, lane->blocked),
            ff_number(cli, lane->active),
            ff_age(cli, lane->oldest_waiting_at_ms),
            lane->paused ? paused : NULL,
        };

        ff_grid_add(&grid, cells);
    }
    ff_grid_print(&grid, "");
}

static int show_lanes(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_lane_list list = {0};
    struct ff_error error;
    const int code = ff_cli_open(cli, true);

    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_lanes(cli->client, &list, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "show lanes", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_lanes(&list));
    if (list.count)
        print_lanes(cli, &list);
    return FF_EXIT_OK;
}

int ff_run_lanes(struct ff_cli *cli)
{
    struct ff_error error;
    bool is_pause;

    if (!cli->arg_count)
        return show_lanes(cli);
    is_pause = strcmp(cli->args[0], "pause") == 0;
    if (!is_pause && strcmp(cli->args[0], "resume") != 0)
        return ff_cli_usage(cli, "lanes knows 'pause' and 'resume', not '%s'", cli->args[0]);
    if (cli->arg_count != 2)
        return ff_cli_usage(cli, "lanes %s needs a LANE", cli->args[0]);
    const int code = ff_cli_open(cli, false);
    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_lane_pause(cli->client, cli->args[1], is_pause,
                                           ff_cli_value(cli, FF_OPT_REASON), &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, is_pause ? "pause the lane" : "resume the lane", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put_text(&made, "lane", cli->args[1]);
        ff_json_put_bool(&made, "paused", is_pause);
        return ff_cli_json(cli, ff_json_made(&made));
    }
    (void)fprintf(cli->out, "%s %s\n", is_pause ? "paused" : "resumed", cli->args[1]);
    return FF_EXIT_OK;
}

/* "a, b" */
static const char *names(struct ff_cli *cli, const char *const *items, size_t count)
{
    const char *text = "";

    for (size_t i = 0; text && i < count; i++)
        text = ff_arena_printf(&cli->arena, "%s%s%s", text, i ? ", " : "", items[i]).ptr;
    return text;
}

static void print_workers(struct ff_cli *cli, const struct ff_worker_list *list)
{
    static const char *const titles[] = {"WORKER", "INSTANCE", "LIVE",        "SEEN",
                                         "LANES",  "KINDS",    "CAPABILITIES"};
    struct ff_grid grid;

    ff_grid_init(&grid, cli, titles, FF_ARRAY_LEN(titles));
    for (size_t i = 0; i < list->count; i++) {
        const struct ff_worker_info *const worker = &list->items[i];
        const char *const cells[] = {
            worker->worker_id,
            worker->worker_instance_id,
            worker->live ? "yes" : "no",
            ff_age(cli, worker->seen_at_ms),
            names(cli, worker->lanes, worker->lane_count),
            names(cli, worker->kinds, worker->kind_count),
            names(cli, worker->capabilities, worker->capability_count),
        };

        ff_grid_add(&grid, cells);
    }
    ff_grid_print(&grid, "");
}

int ff_run_workers(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_worker_list list = {0};
    struct ff_error error;
    const int code = ff_cli_open(cli, true);

    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_workers(cli->client, &list, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "show workers", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_workers(&list));
    if (list.count)
        print_workers(cli, &list);
    return FF_EXIT_OK;
}
