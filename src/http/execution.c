/* SPDX-License-Identifier: Apache-2.0
 *
 * execution.c -- routes of executions.
 *
 * Tests: tests/e2e/test_http.py. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/async.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/str.h"
#include "http/bulk.h"
#include "http/handlers.h"
#include "http/key.h"
#include "http/server-int.h"
#include "http/single.h"

#include "base/banned.h"

void ff_execution_link(const char *execution_id, const char *tail, char out[96])
{
    const char *const close = strchr(execution_id, '}');

    if (execution_id[0] == '{' && close)
        (void)snprintf(out, 96, "/v1/executions/%.*s%s%s", (int)(close - execution_id - 1),
                       execution_id + 1, close + 1, tail);
    else
        (void)snprintf(out, 96, "/v1/executions/%.48s%s", execution_id, tail);
}

bool ff_request_sees(struct ff_request *request, const char *execution_id)
{
    FF_AUTO(ff_answer_free) struct ff_info_list list = {0};
    struct ff_error error;

    if (!request->token || !request->token->namespace_count)
        return true;
    const ff_status status = ff_get(request->server->client, execution_id, &list, &error);
    if (status == FF_OK && ff_token_allows(request->token, list.items[0].ns))
        return true;
    /* One text: of a cut id it would name those it fits, of a whole one tell whether there is one.
     */
    if (status == FF_OK || status == FF_INVALID || status == FF_NOT_FOUND)
        (void)ff_answer_fail(request, FF_NOT_FOUND, NULL, "no execution '%.64s'", execution_id);
    else
        (void)ff_answer_error(request, status, &error);
    return false;
}

/* ---- submitting -------------------------------------------------------------------------------
 */

static ff_status submission_check(struct ff_request *request, void *item, struct ff_error *reterr)
{
    struct ff_submission *const submission = item;
    const struct ff_token *const token = request->token;

    if (!submission->ns && token && token->namespace_count)
        submission->ns = token->namespaces[0];
    if (!ff_token_allows(token, submission->ns))
        return ff_fail_field(reterr, FF_NOT_FOUND, "namespace", "no namespace '%.128s'",
                             submission->ns);
    return FF_OK;
}

/* An item that brings neither an id nor a key of its own gets a key made of the call's. */
static ff_status submission_seal(struct ff_request *request, void *item,
                                 const struct ff_reply_in *key, size_t index,
                                 struct ff_error *reterr)
{
    struct ff_submission *const submission = item;
    uint8_t digest[FF_SHA256_BYTES];
    char text[FF_HEX_TEXT_BYTES(sizeof digest)];
    const struct ff_str made = ff_arena_printf(&request->arena, FF_STR_FMT "/" FF_STR_FMT "/%zu",
                                               FF_STR_ARG(key->scope), FF_STR_ARG(key->key), index);

    if (submission->idempotency_key || submission->execution_id)
        return FF_OK;
    FF_TRY(ff_arena_check(&request->arena, reterr));
    FF_TRY(ff_sha256_of(made.ptr, made.len, digest, reterr));
    ff_hex_encode(digest, sizeof digest, text);
    submission->idempotency_key = ff_arena_printf(&request->arena, "call:%s", text).ptr;
    return ff_arena_check(&request->arena, reterr);
}

static json_t *submitted_json(const void *result)
{
    return ff_json_submitted(result);
}

static const struct ff_bulk_route submit_route = {
    .type = &ff_submit_type,
    .item = &ff_shape_submission,
    .check = submission_check,
    .write = submitted_json,
    .seal = submission_seal,
};

static int write_submitted(const struct ff_request *request, const void *result, json_t **ret_json)
{
    const struct ff_submitted *const submitted = result;

    (void)request;
    *ret_json = ff_json_submitted(submitted);
    return submitted->created ? 201 : 200;
}

bool ff_handle_execution_submit(struct ff_request *request)
{
    struct ff_submission item;
    struct ff_items many;
    struct ff_error error;

    if (ff_reader_has(request->body, "executions")) {
        if (!ff_request_body(request, &ff_shape_submissions, &many))
            return true;
        return ff_bulk_run(request, &submit_route, many.items);
    }
    if (!ff_request_body(request, &ff_shape_submission, &item))
        return true;
    const ff_status status = submission_check(request, &item, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    static const struct ff_single single = {.type = &ff_submit_type, .write = write_submitted};
    return ff_single_run(request, &single, &item);
}

/* ---- looking ----------------------------------------------------------------------------------
 */

bool ff_handle_execution_list(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_info_list list = {0};
    struct ff_filter_query query;
    struct ff_error error;

    if (!ff_request_query(request, &ff_shape_filter_query, &query) ||
        !ff_request_namespace(request, query.filter.ns, &query.filter.ns))
        return true;
    const ff_status status = ff_list(request->server->client, &query.filter, &list, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_json(request, 200, ff_json_list(&list));
}

static bool answer_info(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_info_list list = {0};
    struct ff_error error;
    const ff_status status = ff_get(request->server->client, request->params[0], &list, &error);

    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    if (!ff_token_allows(request->token, list.items[0].ns))
        return ff_answer_fail(request, FF_NOT_FOUND, NULL, "no execution '%.64s'",
                              request->params[0]);
    return ff_answer_json(request, 200, ff_json_info(&list.items[0]));
}

bool ff_handle_execution_get(struct ff_request *request)
{
    struct ff_wait_query query;

    if (!ff_request_query(request, &ff_shape_wait_query, &query) ||
        !ff_request_sees(request, request->params[0]))
        return true;
    return ff_request_await(request, request->params[0], false, query.wait_ms, answer_info);
}

/* What could run as script is only ever downloaded. */
static bool is_harmless(const char *type)
{
    static const char *const harmless[] = {"application/json", "text/plain"};
    const size_t len = strcspn(type, "; ");

    for (size_t i = 0; i < FF_ARRAY_LEN(harmless); i++)
        if (strlen(harmless[i]) == len && strncasecmp(harmless[i], type, len) == 0)
            return true;
    return false;
}

bool ff_handle_execution_result(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_bytes bytes = {0};
    struct ff_client *const client = request->server->client;
    const char *const id = request->params[0];
    struct ff_result_query query;
    struct ff_error error;

    if (!ff_request_query(request, &ff_shape_result_query, &query) || !ff_request_sees(request, id))
        return true;
    const ff_status status = query.generation < 0
                                 ? ff_result(client, id, &bytes, &error)
                                 : ff_result_of(client, id, query.generation, &bytes, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    const char *const type = bytes.content_type ? bytes.content_type : "application/json";
    struct ff_str data = bytes.data.ptr ? bytes.data : FF_STR("null");
    data = ff_arena_str(&request->arena, data);
    if (!data.ptr)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the result");
    (void)ff_answer_bytes(request, 200, type, data);
    if (!is_harmless(type)) {
        ff_answer_header(request, "Content-Disposition", "attachment");
        ff_answer_header(request, "Content-Security-Policy", "sandbox; default-src 'none'");
    }
    return true;
}

bool ff_handle_execution_attempts(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_attempt_list list = {0};
    struct ff_error error;

    if (!ff_request_sees(request, request->params[0]))
        return true;
    const ff_status status =
        ff_attempts(request->server->client, request->params[0], &list, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_json(request, 200, ff_json_attempts(&list));
}

bool ff_handle_execution_events(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_event_list list = {0};
    struct ff_page_query query;
    struct ff_error error;

    if (!ff_request_query(request, &ff_shape_page_query, &query) ||
        !ff_request_sees(request, request->params[0]))
        return true;
    const ff_status status = ff_history(request->server->client, request->params[0], query.cursor,
                                        query.limit, &list, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_json(request, 200, ff_json_events(&list));
}

bool ff_handle_execution_explain(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_explanation explanation = {0};
    struct ff_error error;

    if (!ff_request_sees(request, request->params[0]))
        return true;
    const ff_status status =
        ff_explain(request->server->client, request->params[0], &explanation, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_json(request, 200, ff_json_explanation(&explanation));
}

/* ---- operating --------------------------------------------------------------------------------
 */

static int write_operated(const struct ff_request *request, const void *result, json_t **ret_json)
{
    const struct ff_operated *const operated = result;
    struct ff_json_maker made = ff_json_make();

    if (operated->public_state)
        ff_json_put_text(&made, "public_state", operated->public_state);
    if (request->route == &ff_routes[FF_ROUTE_EXECUTION_REPLAY])
        ff_json_put_i64(&made, "generation", operated->generation);
    if (request->route == &ff_routes[FF_ROUTE_EXECUTION_REVOKE])
        ff_json_put_i64(&made, "lease_epoch", operated->lease_epoch);
    *ret_json = ff_json_made(&made);
    return 200;
}

static bool operate(struct ff_request *request, const struct ff_single *single,
                    struct ff_operation *operation)
{
    if (!ff_request_sees(request, request->params[0]))
        return true;
    operation->execution_id = request->params[0];
    operation->by = request->token ? request->token->name : NULL;
    return ff_single_run(request, single, operation);
}

static bool with_reason(struct ff_request *request, const struct ff_single *single)
{
    struct ff_operation operation = {0};
    struct ff_reason_body body;

    if (!ff_request_body(request, &ff_shape_reason, &body))
        return true;
    operation.reason = body.reason;
    return operate(request, single, &operation);
}

bool ff_handle_execution_cancel(struct ff_request *request)
{
    static const struct ff_single single = {.type = &ff_cancel_type, .write = write_operated};

    return with_reason(request, &single);
}

bool ff_handle_execution_revoke(struct ff_request *request)
{
    static const struct ff_single single = {.type = &ff_revoke_type, .write = write_operated};

    return with_reason(request, &single);
}

bool ff_handle_execution_priority(struct ff_request *request)
{
    static const struct ff_single single = {.type = &ff_priority_type, .write = write_operated};
    struct ff_operation operation = {0};
    struct ff_priority_body body;

    if (!ff_request_body(request, &ff_shape_priority, &body))
        return true;
    operation.priority = body.priority;
    return operate(request, &single, &operation);
}

bool ff_handle_execution_replay(struct ff_request *request)
{
    static const struct ff_single single = {.type = &ff_replay_type, .write = write_operated};
    struct ff_replay_request replay;
    struct ff_operation operation = {.replay = &replay};

    if (!ff_request_body(request, &ff_shape_replay, &replay))
        return true;
    replay.execution_id = request->params[0];
    return operate(request, &single, &operation);
}

bool ff_handle_execution_tags(struct ff_request *request)
{
    static const struct ff_single single = {.type = &ff_tags_type, .write = write_operated};
    struct ff_operation operation = {0};
    struct ff_tags_body body;
    struct ff_tag_pair *tags;

    if (!ff_request_body(request, &ff_shape_tags, &body))
        return true;
    tags = ff_arena_array(&request->arena, body.set_count + body.remove_count, sizeof *tags);
    if (!tags)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the tags");
    for (size_t i = 0; i < body.set_count; i++)
        tags[i] = body.set[i];
    for (size_t i = 0; i < body.remove_count; i++)
        tags[body.set_count + i] = (struct ff_tag_pair){.name = body.remove[i]};
    operation.tags = tags;
    operation.tag_count = body.set_count + body.remove_count;
    return operate(request, &single, &operation);
}

/* ---- by filter --------------------------------------------------------------------------------
 */

static bool where(struct ff_request *request, __typeof__(ff_cancel_where_at) *call)
{
    FF_AUTO(ff_answer_free) struct ff_kept kept = {.begun_at_ms = FF_ABSENT_MS};
    struct ff_bulk_result result;
    struct ff_where_body body;
    struct ff_reply_in key;
    struct ff_error error;
    bool has_key = false;

    if (!ff_request_body(request, &ff_shape_where, &body) ||
        !ff_request_namespace(request, body.filter.ns, &body.filter.ns) ||
        !ff_request_key(request, &has_key, &key))
        return true;
    ff_status status = FF_OK;
    if (has_key)
        status = ff_reply(request->server->client, &key, 0, ff_str_null(), &kept, &error);
    if (status == FF_OK && kept.found)
        return ff_answer_kept(request, kept.status, kept.body);
    if (status == FF_OK)
        status = call(request->server->client, &body.filter, body.reason, kept.begun_at_ms, &result,
                      &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    (void)ff_answer_json(request, 200, ff_json_bulk_result(&result));
    /* While there is more, the same key goes on with what there was at its first call. */
    return has_key && !result.more ? ff_request_keep(request, &key) : true;
}

bool ff_handle_execution_cancel_where(struct ff_request *request)
{
    return where(request, ff_cancel_where_at);
}

bool ff_handle_execution_replay_where(struct ff_request *request)
{
    return where(request, ff_replay_where_at);
}
