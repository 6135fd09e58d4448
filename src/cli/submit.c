/* SPDX-License-Identifier: Apache-2.0
 *
 * submit.c -- ff submit: one execution out of options; many are in bulk.c.
 *
 * Tests: tests/e2e/test_cli.py. */
#include "cli/cli.h"

#include <string.h>

#include "api/json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/print.h"

#include "base/banned.h"

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
    const bool is_text = text.len && !strchr("{[\"-0123456789", text.ptr[0]);
    if (status != FF_OK)
        return ff_fail_field(reterr, status, ff_options[opt].name, "%s: %s%s", ff_options[opt].name,
                             problem.message,
                             is_text ? "; a text has quotes of its own: '\"text\"'" : "");
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
    const ff_status status = ff_cli_wait(cli, id, wait_ms, &whole, &error);
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

int ff_run_submit(struct ff_cli *cli)
{
    return ff_cli_has(cli, FF_OPT_BULK) ? ff_cli_submit_bulk(cli) : submit_one(cli);
}
