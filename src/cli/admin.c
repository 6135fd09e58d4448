/* SPDX-License-Identifier: Apache-2.0
 *
 * admin.c -- ff fsck, ff migrate, ff version.
 *
 * Tests: tests/e2e/test_cli.py. */
#include "cli/cli.h"

#include <string.h>

#include "api/json.h"
#include "cli/print.h"

#include "base/banned.h"

int ff_run_fsck(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_findings found = {0};
    struct ff_error error;
    int code = ff_cli_open(cli, true);

    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_fsck(cli->client, &found, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "audit the store", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        code = ff_cli_json(cli, ff_json_findings(&found));
    } else {
        for (size_t i = 0; i < found.count; i++) {
            const struct ff_finding *const item = &found.items[i];

            (void)fprintf(cli->out, "%s: %s%s%s\n", item->check,
                          item->execution_id[0] ? item->execution_id : "",
                          item->execution_id[0] ? ": " : "",
                          ff_printable(cli, item->detail, strlen(item->detail)));
        }
        (void)fprintf(cli->out, "%d checks, %zu findings\n", (int)found.checks, found.count);
    }
    return code == FF_EXIT_OK && found.count ? FF_EXIT_NEGATIVE : code;
}

int ff_run_migrate(struct ff_cli *cli)
{
    const bool is_dry = ff_cli_has(cli, FF_OPT_DRY_RUN);
    struct ff_error error;
    int32_t from = 0, to = 0;

    if (ff_cli_has(cli, FF_OPT_SERVER))
        return ff_cli_usage(cli, "migrate works on a store, not through a server");
    const ff_status status = ff_migrate(ff_cli_store(cli), is_dry, &from, &to, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "migrate the store", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put_i64(&made, "from", from);
        ff_json_put_i64(&made, "to", to);
        ff_json_put_bool(&made, "dry_run", is_dry);
        return ff_cli_json(cli, ff_json_made(&made));
    }
    (void)fprintf(cli->out, "%s %d to %d\n", is_dry ? "would go from schema" : "schema", (int)from,
                  (int)to);
    return FF_EXIT_OK;
}

int ff_run_version(struct ff_cli *cli)
{
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put_text(&made, "version", ff_version());
        return ff_cli_json(cli, ff_json_made(&made));
    }
    (void)fprintf(cli->out, "ff %s\n", ff_version());
    return FF_EXIT_OK;
}
