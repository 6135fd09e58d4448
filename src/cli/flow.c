/* SPDX-License-Identifier: Apache-2.0
 *
 * flow.c -- ff flow create, grow, show, ls, cancel.
 *
 * Tests: tests/e2e/test_flow.py. */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

#include "api/json.h"
#include "base/str.h"
#include "cli/graph.h"
#include "cli/print.h"

#include "base/banned.h"

#define GRAPH_FILE_BYTES_MAX (64 << 20)
#define LINES_SHOWN          60

/* ---- create and grow --------------------------------------------------------------------------
 */

typedef ff_status read_fn(const json_t *json, struct ff_arena *arena, struct ff_flow_request *ret,
                          struct ff_error *reterr);

static ff_status read_graph(struct ff_cli *cli, const char *path, read_fn *read,
                            struct ff_flow_request *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    struct ff_str text;

    FF_TRY(ff_cli_read_file(cli, path, GRAPH_FILE_BYTES_MAX, &text, reterr));
    FF_TRY(ff_json_parse(text, &json, reterr));
    return read(json, &cli->arena, ret, reterr);
}

int ff_run_flow_create(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_flow_made made = {0};
    struct ff_flow_request request;
    struct ff_error error;
    ff_status status = read_graph(cli, cli->args[0], ff_json_flow, &request, &error);
    int code;

    if (status != FF_OK)
        return ff_cli_fail(cli, "create the flow", status, &error);
    if (ff_cli_has(cli, FF_OPT_FLOW_KEY))
        request.idempotency_key = ff_cli_value(cli, FF_OPT_FLOW_KEY);
    if (ff_cli_has(cli, FF_OPT_NAMESPACE))
        request.ns = ff_cli_value(cli, FF_OPT_NAMESPACE);
    code = ff_cli_open(cli, false);
    if (code != FF_EXIT_OK)
        return code;
    status = ff_flow_create(cli->client, &request, &made, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "create the flow", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_flow_made(&made));
    (void)fprintf(cli->out, "%s\n", made.flow_id);
    return FF_EXIT_OK;
}

int ff_run_flow_grow(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_flow_made made = {0};
    struct ff_flow_request request;
    struct ff_error error;
    ff_status status = read_graph(cli, cli->args[1], ff_json_growth, &request, &error);
    int code;

    if (status != FF_OK)
        return ff_cli_fail(cli, "grow the flow", status, &error);
    request.flow_id = cli->args[0];
    code =
        ff_cli_number(cli, FF_OPT_REVISION, request.expected_revision, &request.expected_revision);
    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    status = ff_flow_grow(cli->client, &request, &made, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "grow the flow", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_flow_made(&made));
    (void)fprintf(cli->out, "%s revision %" PRId64 "%s\n", made.flow_id, made.revision,
                  made.created ? "" : " (had grown so before)");
    return FF_EXIT_OK;
}

/* ---- show -------------------------------------------------------------------------------------
 */

/* "2 completed, 1 active" */
static const char *counts_of(struct ff_cli *cli, const struct ff_flow_info *flow)
{
    const char *text = "";

    for (size_t i = 0; text && i < flow->count_count; i++)
        text = ff_arena_printf(&cli->arena, "%s%s%" PRId64 " %s", text, i ? ", " : "",
                               flow->counts[i].count, flow->counts[i].public_state)
                   .ptr;
    return text ? text : "";
}

static const char *printable_or(struct ff_cli *cli, const char *text, const char *absent)
{
    return text ? ff_printable(cli, text, strlen(text)) : absent;
}

static void print_head(struct ff_cli *cli, const struct ff_flow_info *flow)
{
    (void)fprintf(cli->out, "%-10s %s\n", "flow", flow->flow_id);
    (void)fprintf(cli->out, "%-10s %s%s%s: %s\n", "state", ff_state_colour(cli, flow->state),
                  flow->state, ff_colour_off(cli), counts_of(cli, flow));
    (void)fprintf(cli->out, "%-10s %s, namespace %s, revision %" PRId64 "\n", "kind",
                  printable_or(cli, flow->kind, "-"), printable_or(cli, flow->ns, "-"),
                  flow->revision);
    (void)fprintf(cli->out, "%-10s %s\n", "created", ff_moment(cli, flow->created_at_ms));
    if (flow->finished_at_ms != FF_ABSENT_MS)
        (void)fprintf(cli->out, "%-10s %s\n", "ended", ff_moment(cli, flow->finished_at_ms));
    if (flow->cancel_policy)
        (void)fprintf(cli->out, "%-10s %s, %s: %s\n", "cancelled", flow->cancel_policy,
                      ff_moment(cli, flow->cancelled_at_ms),
                      printable_or(cli, flow->cancel_reason, "no reason given"));
    for (size_t i = 0; i < flow->tag_count; i++)
        (void)fprintf(cli->out, "%-10s %s=%s\n", i ? "" : "tags", flow->tags[i].name,
                      printable_or(cli, flow->tags[i].value, ""));
}

static int print_flow(struct ff_cli *cli, const struct ff_flow_info *flow)
{
    const bool every = ff_cli_has(cli, FF_OPT_EVERY);
    struct ff_drawing drawing;
    struct ff_error error;
    const ff_status status = ff_drawing_make(&cli->arena, flow, every, &drawing, &error);

    if (status != FF_OK)
        return ff_cli_fail(cli, "draw the flow", status, &error);
    print_head(cli, flow);
    (void)fputc('\n', cli->out);
    const size_t hidden = ff_graph_print(cli, flow, &drawing, every ? SIZE_MAX : LINES_SHOWN);
    if (hidden)
        (void)fprintf(cli->err, "ff: %zu more nodes: --all, --json or --dot tell of them\n",
                      hidden);
    return FF_EXIT_OK;
}

int ff_run_flow_show(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_flow_info_list list = {0};
    struct ff_error error;
    int64_t wait_ms;
    int code;

    if (ff_cli_has(cli, FF_OPT_JSON) && ff_cli_has(cli, FF_OPT_DOT))
        return ff_cli_usage(cli, "only one of --json and --dot");
    code = ff_cli_wait_ms(cli, &wait_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_cli_wait_flow(cli, cli->args[0], wait_ms, &list, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "show the flow", status, &error);
    const struct ff_flow_info *const flow = &list.items[0];
    if (wait_ms)
        code = ff_cli_waited(cli, flow->finished_at_ms != FF_ABSENT_MS, flow->state);
    if (ff_cli_has(cli, FF_OPT_JSON))
        (void)ff_cli_json(cli, ff_json_flow_info(flow));
    else if (ff_cli_has(cli, FF_OPT_DOT))
        ff_graph_dot(cli, flow);
    else
        (void)print_flow(cli, flow);
    return code;
}

/* ---- ls and cancel ----------------------------------------------------------------------------
 */

static void print_list(struct ff_cli *cli, const struct ff_flow_info_list *list)
{
    static const char *const titles[] = {"ID",    "STATE", "KIND", "NAMESPACE",
                                         "ENDED", "AGE",   "NODES"};
    struct ff_grid grid;

    ff_grid_init(&grid, cli, titles, FF_ARRAY_LEN(titles));
    grid.state_column = 1;
    for (size_t i = 0; i < list->count; i++) {
        const struct ff_flow_info *const flow = &list->items[i];
        const char *const cells[] = {
            flow->flow_id,
            flow->state,
            flow->kind,
            flow->ns,
            ff_arena_printf(&cli->arena, "%" PRId64 " of %" PRId64, flow->ended_count,
                            flow->node_count)
                .ptr,
            ff_age(cli, flow->created_at_ms),
            counts_of(cli, flow),
        };

        ff_grid_add(&grid, cells);
    }
    ff_grid_print(&grid, "");
}

int ff_run_flow_ls(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_flow_info_list list = {0};
    struct ff_flow_filter filter = {
        .size = sizeof filter,
        .ns = ff_cli_value(cli, FF_OPT_IN_NAMESPACE),
        .kind = ff_cli_value(cli, FF_OPT_OF_KIND),
        .state = ff_cli_value(cli, FF_OPT_FLOW_STATE),
        .cursor = ff_cli_value(cli, FF_OPT_CURSOR),
    };
    struct ff_error error;
    int code = ff_cli_limit(cli, &filter.limit);

    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_flow_list(cli->client, &filter, &list, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "list flows", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_flows(&list));
    print_list(cli, &list);
    ff_print_more(cli, list.next_cursor);
    return FF_EXIT_OK;
}

int ff_run_flow_cancel(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_flow_cancelled cancelled = {0};
    struct ff_error error;
    const int code = ff_cli_open(cli, true);

    if (code != FF_EXIT_OK)
        return code;
    const ff_status status =
        ff_flow_cancel(cli->client, cli->args[0], ff_cli_value(cli, FF_OPT_REASON),
                       ff_cli_value(cli, FF_OPT_CANCEL_POLICY), &cancelled, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "cancel the flow", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_flow_cancelled(&cancelled));
    (void)fprintf(cli->out, "%s %s, %s\n", cancelled.state, cli->args[0], cancelled.policy);
    return FF_EXIT_OK;
}
