/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk.c -- ff submit --bulk: many executions out of a file, and waiting for all of them.
 *
 * Tests: tests/e2e/test_cli.py, tests/e2e/test_terminal.py. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"

#include "base/banned.h"

#define BULK_BYTES_MAX (64 << 20)

struct bulk {
    struct ff_cli *cli;
    json_t *items;
    size_t count, done; /* items; those that have a result */
    struct ff_submitted *results;
    int64_t wait_ms;
    int code; /* of the first item that failed */
};

static void bulk_free(struct bulk *bulk)
{
    json_decref(bulk->items);
    free(bulk->results);
}

/* The file as an array: it may be one, or have one object per line. */
static ff_status bulk_items(struct ff_str text, json_t **ret, struct ff_error *reterr)
{
    FF_AUTO(ff_json_freep) json_t *items = json_array();
    size_t from = 0;
    int line = 0;

    while (from < text.len && strchr(" \t\r\n", text.ptr[from]))
        from++;
    if (from < text.len && text.ptr[from] == '[')
        return ff_json_parse(text, ret, reterr);
    for (from = 0; from < text.len; line++) {
        const char *const start = text.ptr + from;
        const char *const end = memchr(start, '\n', text.len - from);
        const struct ff_str one = {.ptr = start,
                                   .len = end ? (size_t)(end - start) : text.len - from};
        struct ff_error problem;
        json_t *item = NULL;

        from += one.len + 1;
        if (strspn(one.ptr, " \t\r") >= one.len)
            continue;
        if (ff_json_parse(one, &item, &problem) != FF_OK)
            return ff_fail(reterr, FF_INVALID, "line %d: %s", line + 1, problem.message);
        if (json_array_append_new(items, item) != 0)
            return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the items");
    }
    *ret = FF_STEAL(items);
    return FF_OK;
}

static void print_result(struct bulk *bulk, const struct ff_submitted *result)
{
    struct ff_cli *const cli = bulk->cli;

    if (result->status != FF_OK) {
        const int failed = ff_cli_fail(cli, "submit an item", result->status, &result->error);

        bulk->code = bulk->code == FF_EXIT_OK ? failed : bulk->code;
    }
    if (ff_cli_has(cli, FF_OPT_JSON))
        (void)ff_cli_json(cli, ff_json_submitted(result));
    else
        (void)fprintf(cli->out, "%s\n", result->status == FF_OK ? result->execution_id : "-");
}

/* Up to FF_SUBMIT_MAX items; those that cannot be read keep their own error. */
static ff_status submit_chunk(struct bulk *bulk, size_t count, struct ff_error *reterr)
{
    struct ff_submitted *const results = bulk->results + bulk->done;
    struct ff_submission *const submissions = calloc(count, sizeof *submissions);
    struct ff_submitted *const answers = calloc(count, sizeof *answers);
    ff_status status = FF_OK;
    size_t good = 0;

    if (!submissions || !answers)
        status = ff_fail(reterr, FF_NO_MEMORY, "cannot hold the items");
    for (size_t i = 0; status == FF_OK && i < count; i++) {
        results[i].status =
            ff_json_submission(json_array_get(bulk->items, bulk->done + i), &bulk->cli->arena,
                               &submissions[good], &results[i].error);
        good += results[i].status == FF_OK;
    }
    if (status == FF_OK && good)
        status = ff_submit(bulk->cli->client, submissions, good, answers, reterr);
    if (status == FF_OUTCOME_UNKNOWN)
        status = FF_OK; /* every item says it */
    for (size_t i = 0, at = 0; status == FF_OK && i < count; i++) {
        if (results[i].status == FF_OK)
            results[i] = answers[at++];
    }
    free(submissions);
    free(answers);
    return status;
}

/* One bad item never fails the others; a call that fails ends it. */
static int submit_all(struct bulk *bulk)
{
    struct ff_cli *const cli = bulk->cli;
    struct ff_error error;

    while (bulk->done < bulk->count) {
        const size_t from = bulk->done, count = ff_min_size(FF_SUBMIT_MAX, bulk->count - from);

        ff_cli_bar(cli, "submitted", (int64_t)from, (int64_t)bulk->count);
        const ff_status status = submit_chunk(bulk, count, &error);
        ff_cli_bar_off(cli);
        if (status != FF_OK)
            return ff_cli_fail(cli, "submit", status, &error);
        bulk->done += count;
        for (size_t i = from; !bulk->wait_ms && i < bulk->done; i++)
            print_result(bulk, &bulk->results[i]);
    }
    return FF_EXIT_OK;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

/* `index`: how many have ended for certain. */
static int wait_for(struct bulk *bulk, size_t index, int64_t until_ms)
{
    const char *const id = bulk->results[index].execution_id;
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    struct ff_cli *const cli = bulk->cli;
    struct ff_error error;
    ff_status status;
    int64_t left_ms;

    do {
        ff_cli_bar(cli, "ended", (int64_t)index, (int64_t)bulk->done);
        ff_answer_free(&whole);
        left_ms = until_ms - ff_cli_mono_ms();
        left_ms = left_ms < 0 ? 0 : left_ms;
        status = ff_wait(cli->client, id, ff_cli_slice_ms(cli, left_ms), &whole, &error);
    } while (status == FF_OK && !whole.items[0].finished && left_ms);
    ff_cli_bar_off(cli);
    if (status != FF_OK)
        return ff_cli_fail(cli, "wait for the execution", status, &error);
    const struct ff_info *const info = &whole.items[0];
    if (ff_cli_has(cli, FF_OPT_JSON))
        (void)ff_cli_json(cli, ff_json_info(info));
    else
        (void)fprintf(cli->out, "%s %s\n", id, info->public_state);
    return ff_cli_waited(cli, info->finished, info->public_state);
}

/* In order: a line says how an item ended. */
static int wait_for_all(struct bulk *bulk)
{
    const int64_t until_ms = ff_cli_mono_ms() + bulk->wait_ms;

    for (size_t i = 0; i < bulk->done; i++) {
        if (bulk->results[i].status != FF_OK) {
            print_result(bulk, &bulk->results[i]);
            continue;
        }
        const int code = wait_for(bulk, i, until_ms);
        if (code > FF_EXIT_NEGATIVE)
            return code; /* told: time is over, or the store is gone */
        bulk->code = bulk->code == FF_EXIT_OK ? code : bulk->code;
    }
    return FF_EXIT_OK;
}

static int read_items(struct bulk *bulk)
{
    struct ff_cli *const cli = bulk->cli;
    const char *const path = ff_cli_value(cli, FF_OPT_BULK);
    struct ff_str text;
    struct ff_error error;
    ff_status status = ff_cli_read_file(cli, path, BULK_BYTES_MAX, &text, &error);

    if (status == FF_OK)
        status = bulk_items(text, &bulk->items, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "submit", status, &error);
    bulk->count = json_array_size(bulk->items);
    if (!bulk->count)
        return ff_cli_usage(cli, "there is nothing to submit in '%s'", path);
    bulk->results = calloc(bulk->count, sizeof *bulk->results);
    if (!bulk->results)
        return ff_status_exit(FF_NO_MEMORY);
    return FF_EXIT_OK;
}

int ff_cli_submit_bulk(struct ff_cli *cli)
{
    static const ff_opt allowed[] = {FF_OPT_BULK, FF_OPT_STORE, FF_OPT_SERVER,
                                     FF_OPT_JSON, FF_OPT_WAIT,  FF_OPT_WAIT_MS};
    FF_AUTO(bulk_free) struct bulk bulk = {.cli = cli};
    size_t known = 0;

    for (size_t i = 0; i < FF_ARRAY_LEN(allowed); i++)
        known += ff_cli_count(cli, allowed[i]);
    if (cli->given_count != known)
        return ff_cli_usage(
            cli, "--bulk goes with --store, --server, --json, --wait and --wait-ms only");
    int code = ff_cli_wait_ms(cli, &bulk.wait_ms);
    if (code == FF_EXIT_OK)
        code = read_items(&bulk);
    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, false);
    if (code == FF_EXIT_OK)
        code = submit_all(&bulk);
    if (code == FF_EXIT_OK && bulk.wait_ms)
        code = wait_for_all(&bulk);
    return code == FF_EXIT_OK ? bulk.code : code;
}
