/* SPDX-License-Identifier: Apache-2.0
 *
 * submit.c -- ff submit: one execution out of options, or many out of a file.
 *
 * Tests: tests/e2e/test_cli.py. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/print.h"

#include "base/banned.h"

#define BULK_BYTES_MAX (64 << 20)

/* ---- one --------------------------------------------------------------------------------------
 */

/* Options that may be repeated, as arrays of the submission. */
static int take_lists(struct ff_cli *cli, struct ff_submission *submission)
{
    struct ff_tag_pair *const tags =
        ff_arena_array(&cli->arena, cli->given_count, sizeof(struct ff_tag_pair));
    const char **const names = ff_arena_array(&cli->arena, cli->given_count, sizeof(char *));

    for (size_t i = 0; tags && names && i < cli->given_count; i++) {
        const struct ff_given *const given = &cli->given[i];

        if (given->opt == FF_OPT_CAPABILITY)
            names[submission->required_capability_count++] = given->value;
        if (given->opt != FF_OPT_TAG)
            continue;
        if (!ff_cli_pair(cli, given->value, '=', &tags[submission->tag_count++]))
            return ff_cli_usage(cli, "option '--tag' needs K=V, not '%s'", given->value);
    }
    submission->tags = tags;
    submission->required_capabilities = names;
    return FF_EXIT_OK;
}

static int take_numbers(struct ff_cli *cli, struct ff_submission *submission)
{
    int code = ff_cli_number(cli, FF_OPT_PRIORITY, 0, &submission->priority);

    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_DELAY, FF_ABSENT_MS, &submission->delay_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_DELAY_UNTIL, FF_ABSENT_MS, &submission->delay_until_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_DEADLINE, FF_ABSENT_MS, &submission->deadline_ms);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_DEADLINE_AT, FF_ABSENT_MS, &submission->deadline_at_ms);
    return code;
}

/* The value of a JSON option as JSON. */
static ff_status json_option(struct ff_cli *cli, ff_opt opt, json_t **ret, struct ff_error *reterr)
{
    struct ff_error problem;
    struct ff_str text;

    FF_TRY(ff_cli_read_value(cli, ff_cli_value(cli, opt), FF_PAYLOAD_BYTES_CEILING, &text, reterr));
    const ff_status status = ff_json_parse(text, ret, &problem);
    if (status != FF_OK)
        return ff_fail_field(reterr, status, ff_options[opt].name, "%s: %s", ff_options[opt].name,
                             problem.message);
    return FF_OK;
}

static ff_status take_json(struct ff_cli *cli, struct ff_submission *submission,
                           struct ff_error *reterr)
{
    FF_AUTO(ff_json_freep) json_t *input = NULL;
    FF_AUTO(ff_json_freep) json_t *policy = NULL;
    struct ff_policy_spec *const spec = ff_arena_alloc(&cli->arena, sizeof *spec);

    if (!spec)
        return ff_arena_check(&cli->arena, reterr);
    if (ff_cli_value(cli, FF_OPT_INPUT)) {
        FF_TRY(json_option(cli, FF_OPT_INPUT, &input, reterr));
        FF_TRY(
            ff_json_text(input, &cli->arena, FF_PAYLOAD_BYTES_CEILING, &submission->input, reterr));
    }
    if (ff_cli_value(cli, FF_OPT_POLICY)) {
        FF_TRY(json_option(cli, FF_OPT_POLICY, &policy, reterr));
        FF_TRY(ff_json_policy(policy, &cli->arena, spec, reterr));
        submission->policy = spec;
    }
    return FF_OK;
}

/* The id at once, the end when it comes. */
static int wait_for(struct ff_cli *cli, const char *id, int64_t wait_ms)
{
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    struct ff_error error;

    if (!ff_cli_has(cli, FF_OPT_JSON)) {
        (void)fprintf(cli->out, "%s\n", id);
        (void)fflush(cli->out);
    }
    const ff_status status = ff_wait(cli->client, id, wait_ms, &whole, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "wait for the execution", status, &error);
    if (ff_cli_has(cli, FF_OPT_JSON))
        (void)ff_cli_json(cli, ff_json_info(&whole.items[0]));
    else
        (void)fprintf(cli->out, "%s\n", whole.items[0].public_state);
    return ff_cli_waited(cli, whole.items[0].finished, whole.items[0].public_state);
}

static int submit_one(struct ff_cli *cli)
{
    struct ff_submitted result;
    struct ff_submission submission;
    struct ff_error error;
    int64_t wait_ms;

    ff_submission_init(&submission);
    submission.kind = ff_cli_value(cli, FF_OPT_KIND);
    submission.lane = ff_cli_value(cli, FF_OPT_LANE);
    submission.ns = ff_cli_value(cli, FF_OPT_NAMESPACE);
    submission.idempotency_key = ff_cli_value(cli, FF_OPT_KEY);
    submission.execution_id = ff_cli_value(cli, FF_OPT_ID);
    if (!submission.kind)
        return ff_cli_usage(cli, "submit needs --kind or --bulk");
    int code = take_numbers(cli, &submission);
    if (code == FF_EXIT_OK)
        code = ff_cli_wait_ms(cli, &wait_ms);
    if (code == FF_EXIT_OK)
        code = take_lists(cli, &submission);
    if (code != FF_EXIT_OK)
        return code;
    ff_status status = take_json(cli, &submission, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "submit", status, &error);
    code = ff_cli_open(cli, false);
    if (code != FF_EXIT_OK)
        return code;
    status = ff_submit(cli->client, &submission, 1, &result, &error);
    if (status == FF_OK && result.status != FF_OK)
        return ff_cli_fail(cli, "submit", result.status, &result.error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "submit", status, &error);
    if (wait_ms)
        return wait_for(cli, result.execution_id, wait_ms);
    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli, ff_json_submitted(&result));
    (void)fprintf(cli->out, "%s\n", result.execution_id);
    return FF_EXIT_OK;
}

/* ---- many -------------------------------------------------------------------------------------
 */

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

/* Prints one result per item, in order. Returns the exit code of the first failure. */
static int print_results(struct ff_cli *cli, const struct ff_submitted *results, size_t count)
{
    int code = FF_EXIT_OK;

    for (size_t i = 0; i < count; i++) {
        if (results[i].status != FF_OK) {
            const int failed =
                ff_cli_fail(cli, "submit an item", results[i].status, &results[i].error);

            code = code == FF_EXIT_OK ? failed : code;
        }
        if (ff_cli_has(cli, FF_OPT_JSON))
            (void)ff_cli_json(cli, ff_json_submitted(&results[i]));
        else
            (void)fprintf(cli->out, "%s\n",
                          results[i].status == FF_OK ? results[i].execution_id : "-");
    }
    return code;
}

/* Up to FF_SUBMIT_MAX items; those that cannot be read keep their own error. */
static int submit_chunk(struct ff_cli *cli, const json_t *items, size_t from, size_t count)
{
    struct ff_submission *const submissions = calloc(count, sizeof *submissions);
    struct ff_submitted *const results = calloc(count, sizeof *results);
    struct ff_submitted *const answers = calloc(count, sizeof *answers);
    size_t good = 0;
    ff_status status = FF_OK;
    struct ff_error error;
    int code = ff_status_exit(FF_NO_MEMORY);

    for (size_t i = 0; submissions && results && answers && i < count; i++) {
        results[i].status = ff_json_submission(json_array_get(items, from + i), &cli->arena,
                                               &submissions[good], &results[i].error);
        good += results[i].status == FF_OK;
    }
    if (submissions && results && answers) {
        if (good)
            status = ff_submit(cli->client, submissions, good, answers, &error);
        if (status != FF_OK && status != FF_OUTCOME_UNKNOWN) {
            code = ff_cli_fail(cli, "submit", status, &error);
        } else {
            for (size_t i = 0, at = 0; i < count; i++) {
                if (results[i].status == FF_OK)
                    results[i] = answers[at++];
            }
            code = print_results(cli, results, count);
        }
    }
    free(submissions);
    free(results);
    free(answers);
    return code;
}

static int submit_bulk(struct ff_cli *cli)
{
    FF_AUTO(ff_json_freep) json_t *items = NULL;
    struct ff_str text;
    struct ff_error error;
    ff_status status =
        ff_cli_read_file(cli, ff_cli_value(cli, FF_OPT_BULK), BULK_BYTES_MAX, &text, &error);

    if (cli->given_count != 1 + (size_t)ff_cli_has(cli, FF_OPT_JSON) +
                                (size_t)ff_cli_has(cli, FF_OPT_STORE) +
                                (size_t)ff_cli_has(cli, FF_OPT_SERVER))
        return ff_cli_usage(cli, "--bulk goes with --store, --server and --json only");
    if (status == FF_OK)
        status = bulk_items(text, &items, &error);
    if (status != FF_OK)
        return ff_cli_fail(cli, "submit", status, &error);
    if (!json_array_size(items))
        return ff_cli_usage(cli, "there is nothing to submit in '%s'",
                            ff_cli_value(cli, FF_OPT_BULK));
    int code = ff_cli_open(cli, false);
    for (size_t from = 0; code == FF_EXIT_OK && from < json_array_size(items);
         from += FF_SUBMIT_MAX)
        code = submit_chunk(cli, items, from,
                            ff_min_size(FF_SUBMIT_MAX, json_array_size(items) - from));
    return code;
}

int ff_run_submit(struct ff_cli *cli)
{
    return ff_cli_has(cli, FF_OPT_BULK) ? submit_bulk(cli) : submit_one(cli);
}
