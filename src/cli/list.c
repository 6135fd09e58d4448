/* SPDX-License-Identifier: Apache-2.0
 *
 * list.c -- ff ls, and the filter that ls, cancel and replay share.
 *
 * Tests: tests/e2e/test_cli.py. */
#include "cli/cli.h"

#include <string.h>

#include "api/json.h"
#include "cli/print.h"

#include "base/banned.h"

int ff_cli_filter(struct ff_cli *cli, struct ff_filter *filter, bool *ret_any)
{
    const char *const tag = ff_cli_value(cli, FF_OPT_WITH_TAG);
    struct ff_tag_pair pair;

    ff_filter_init(filter);
    filter->ns = ff_cli_value(cli, FF_OPT_IN_NAMESPACE);
    filter->lane = ff_cli_value(cli, FF_OPT_IN_LANE);
    filter->kind = ff_cli_value(cli, FF_OPT_OF_KIND);
    filter->state = ff_cli_value(cli, FF_OPT_STATE);
    filter->flow_id = ff_cli_value(cli, FF_OPT_FLOW);
    filter->worker_id = ff_cli_value(cli, FF_OPT_WORKER);
    filter->cursor = ff_cli_value(cli, FF_OPT_CURSOR);
    if (tag && ff_cli_pair(cli, tag, '=', &pair)) {
        filter->tag_name = pair.name;
        filter->tag_value = pair.value;
    } else {
        filter->tag_name = tag; /* any value */
    }
    int code = ff_cli_number(cli, FF_OPT_AFTER, FF_ABSENT_MS, &filter->created_after_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_BEFORE, FF_ABSENT_MS, &filter->created_before_ms);
    *ret_any = filter->ns || filter->lane || filter->kind || filter->state || filter->flow_id ||
               filter->worker_id || filter->tag_name || filter->created_after_ms != FF_ABSENT_MS ||
               filter->created_before_ms != FF_ABSENT_MS;
    return code;
}

static const char *doing(struct ff_cli *cli, const struct ff_info *info)
{
    if (info->has_lease)
        return info->worker_id;
    if (!info->finished && info->delay_until_ms != FF_ABSENT_MS &&
        strcmp(info->public_state, "delayed") == 0)
        return ff_age(cli, info->delay_until_ms);
    return NULL;
}

static const char *what(struct ff_cli *cli, const struct ff_info *info)
{
    if (!info->node)
        return info->kind;
    return ff_arena_printf(&cli->arena, "%s (%s)", info->kind, info->node).ptr;
}

static void print_list(struct ff_cli *cli, const struct ff_info_list *list)
{
    static const char *const titles[] = {"ID",       "STATE", "LANE", "KIND (NODE)", "NAMESPACE",
                                         "PRIORITY", "TRY",   "AGE",  "WORKER / DUE"};
    struct ff_grid grid;

    ff_grid_init(&grid, cli, titles, FF_ARRAY_LEN(titles));
    grid.state_column = 1;
    for (size_t i = 0; i < list->count; i++) {
        const struct ff_info *const info = &list->items[i];
        const char *const cells[] = {
            ff_short_id(info->execution_id),
            info->public_state,
            info->lane,
            what(cli, info),
            info->ns,
            ff_number(cli, info->priority),
            ff_number(cli, info->attempt_index),
            ff_age(cli, info->created_at_ms),
            doing(cli, info),
        };

        ff_grid_add(&grid, cells);
    }
    ff_grid_print(&grid, "");
}

int ff_run_ls(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_info_list list = {0};
    struct ff_filter filter;
    struct ff_error error;
    bool any;
    int code = ff_cli_filter(cli, &filter, &any);

    if (code == FF_EXIT_OK)
        code = ff_cli_limit(cli, &filter.limit);
    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_list(cli->client, &filter, &list, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "list executions", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_list(&list));
    print_list(cli, &list);
    ff_print_more(cli, list.next_cursor);
    return FF_EXIT_OK;
}
