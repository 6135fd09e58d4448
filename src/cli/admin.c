/* SPDX-License-Identifier: Apache-2.0
 *
 * admin.c -- ff fsck, ff doctor, ff gc, ff migrate, ff version.
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
    int code = ff_cli_needs_store(cli);

    if (code == FF_EXIT_OK)
        code = ff_cli_open_patient(cli); /* an audit takes as long as the store is large */
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

static json_t *check_json(const void *item)
{
    const struct ff_check *const check = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "name", check->name);
    ff_json_put_text(&made, "value", check->value);
    ff_json_put_text(&made, "advice", check->advice);
    return ff_json_made(&made);
}

int ff_run_doctor(struct ff_cli *cli)
{
    FF_AUTO(ff_answer_free) struct ff_diagnosis diagnosis = {0};
    struct ff_error error;
    size_t advised = 0;
    int code = ff_cli_needs_store(cli);

    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_doctor(cli->client, &diagnosis, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "look at the store", status, &error);
    for (size_t i = 0; i < diagnosis.count; i++)
        advised += diagnosis.items[i].advice != NULL;
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put(&made, "checks", FF_JSON_ARRAY(diagnosis.items, diagnosis.count, check_json));
        code = ff_cli_json(cli, ff_json_made(&made));
    } else {
        for (size_t i = 0; i < diagnosis.count; i++) {
            const struct ff_check *const check = &diagnosis.items[i];

            (void)fprintf(cli->out, "%-14s %s\n", check->name, check->value);
            if (check->advice)
                (void)fprintf(cli->out, "%-14s -> %s\n", "", check->advice);
        }
    }
    return code == FF_EXIT_OK && advised ? FF_EXIT_NEGATIVE : code;
}

int ff_run_gc(struct ff_cli *cli)
{
    int64_t older_than_ms = FF_ABSENT_MS, removed = 0;
    struct ff_error error;
    int code = ff_cli_needs_store(cli);

    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_OLDER, FF_ABSENT_MS, &older_than_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    const ff_status status = ff_gc(cli->client, older_than_ms, &removed, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "remove what ended", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put_i64(&made, "removed", removed);
        return ff_cli_json(cli, ff_json_made(&made));
    }
    (void)fprintf(cli->out, "removed %lld\n", (long long)removed);
    return FF_EXIT_OK;
}

int ff_run_migrate(struct ff_cli *cli)
{
    const bool is_dry = ff_cli_has(cli, FF_OPT_DRY_RUN);
    struct ff_error error;
    int32_t from = 0, to = 0;
    const int code = ff_cli_needs_store(cli);

    if (code != FF_EXIT_OK)
        return code;
    if (is_dry && ff_cli_has(cli, FF_OPT_RESTORED))
        return ff_cli_usage(cli, "only one of --dry-run and --restored");
    ff_status status = ff_migrate(ff_cli_store(cli), is_dry, &from, &to, &error);
    if (status == FF_OK && ff_cli_has(cli, FF_OPT_RESTORED))
        status = ff_restored(ff_cli_store(cli), &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "migrate the store", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put_i64(&made, "from", from);
        ff_json_put_i64(&made, "to", to);
        ff_json_put_bool(&made, "dry_run", is_dry);
        return ff_cli_json(cli, ff_json_made(&made));
    }
    if (from == to)
        (void)fprintf(cli->out, "schema %d is up to date\n", (int)to);
    else
        (void)fprintf(cli->out, "%s %d to %d\n", is_dry ? "would go from schema" : "schema",
                      (int)from, (int)to);
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
