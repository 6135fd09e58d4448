/* SPDX-License-Identifier: Apache-2.0
 *
 * flow.c -- routes of flows.
 *
 * Tests: tests/e2e/test_http.py. */
#include "api/async.h"
#include "base/macros.h"
#include "http/handlers.h"
#include "http/server-int.h"
#include "http/single.h"

#include "base/banned.h"

static bool no_flow(struct ff_request *request)
{
    return ff_answer_fail(request, FF_NOT_FOUND, NULL, "no flow '%.64s'", request->params[0]);
}

/* The flow of the path is in a namespace of the token, or 404 is the answer. */
static bool sees_flow(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_flow_info_list list = {0};
    struct ff_error error;

    if (!request->token || !request->token->namespace_count)
        return true;
    const ff_status status =
        ff_flow_get(request->server->client, request->params[0], &list, &error);
    if (status == FF_OK && ff_token_allows(request->token, list.items[0].ns))
        return true;
    /* One text: of a cut id it would name those it fits, of a whole one tell whether there is one.
     */
    if (status == FF_OK || status == FF_INVALID || status == FF_NOT_FOUND)
        (void)no_flow(request);
    else
        (void)ff_answer_error(request, status, &error);
    return false;
}

/* ---- making -----------------------------------------------------------------------------------
 */

static int write_made(const struct ff_request *request, const void *result, json_t **ret_json)
{
    const struct ff_flow_answer *const answer = result;

    (void)request;
    *ret_json = ff_json_flow_made(&answer->made);
    return answer->made.created ? 201 : 200;
}

bool ff_handle_flow_create(struct ff_request *request)
{
    static const struct ff_single single = {.type = &ff_flow_create_type, .write = write_made};
    struct ff_flow_request flow;

    if (!ff_request_body(request, &ff_shape_flow, &flow) ||
        !ff_request_namespace(request, flow.ns, &flow.ns))
        return true;
    return ff_single_run(request, &single, &flow);
}

/* Whoever may only work may grow a flow while some member of it is being worked on. */
static bool may_grow(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_info_list list = {0};
    struct ff_filter filter;
    struct ff_error error;

    if (!request->token || request->token->scopes & (FF_SCOPE_SUBMIT | FF_SCOPE_ADMIN))
        return true;
    ff_filter_init(&filter);
    filter.flow_id = request->params[0];
    filter.state = "active";
    filter.limit = 1;
    const ff_status status = ff_list(request->server->client, &filter, &list, &error);
    if (status != FF_OK)
        return !ff_answer_error(request, status, &error);
    if (!list.count)
        return !ff_answer_fail(request, FF_FORBIDDEN, "scope",
                               "without the scope 'submit' only a flow at work can grow");
    return true;
}

bool ff_handle_flow_grow(struct ff_request *request)
{
    static const struct ff_single single = {.type = &ff_flow_grow_type, .write = write_made};
    struct ff_flow_request flow;

    if (!ff_request_body(request, &ff_shape_growth, &flow) || !sees_flow(request) ||
        !may_grow(request))
        return true;
    flow.flow_id = request->params[0];
    return ff_single_run(request, &single, &flow);
}

/* ---- looking ----------------------------------------------------------------------------------
 */

bool ff_handle_flow_list(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_flow_info_list list = {0};
    struct ff_flow_filter filter;
    struct ff_error error;

    if (!ff_request_query(request, &ff_shape_flow_query, &filter) ||
        !ff_request_namespace(request, filter.ns, &filter.ns))
        return true;
    const ff_status status = ff_flow_list(request->server->client, &filter, &list, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return ff_answer_json(request, 200, ff_json_flows(&list));
}

static bool answer_flow(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_flow_info_list list = {0};
    struct ff_error error;
    const ff_status status =
        ff_flow_get(request->server->client, request->params[0], &list, &error);

    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    if (!ff_token_allows(request->token, list.items[0].ns))
        return no_flow(request);
    return ff_answer_json(request, 200, ff_json_flow_info(&list.items[0]));
}

bool ff_handle_flow_get(struct ff_request *request)
{
    struct ff_wait_query query;

    if (!ff_request_query(request, &ff_shape_wait_query, &query) || !sees_flow(request))
        return true;
    return ff_request_await(request, request->params[0], true, query.wait_ms, answer_flow);
}

/* ---- cancelling -------------------------------------------------------------------------------
 */

static int write_ended(const struct ff_request *request, const void *result, json_t **ret_json)
{
    const struct ff_flow_ended *const ended = result;

    (void)request;
    *ret_json = ff_json_flow_cancelled(&ended->cancelled);
    return 200;
}

/* After the wait, as it is now. */
static bool answer_ended(struct ff_request *request)
{
    FF_AUTO(ff_answer_free) struct ff_flow_info_list list = {0};
    struct ff_error error;
    const ff_status status =
        ff_flow_get(request->server->client, request->params[0], &list, &error);

    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    const struct ff_flow_info *const flow = &list.items[0];
    const struct ff_flow_cancelled now = {.state = flow->state,
                                          .policy = flow->cancel_policy,
                                          .reason = flow->cancel_reason,
                                          .node_count = flow->node_count,
                                          .ended_count = flow->ended_count};
    return ff_single_answer_now(request, 200, ff_json_flow_cancelled(&now));
}

static bool await_end(struct ff_request *request)
{
    struct ff_wait_query query;

    if (!ff_request_query(request, &ff_shape_wait_query, &query))
        return true;
    return ff_request_await(request, request->params[0], true, query.wait_ms,
                            query.wait_ms ? answer_ended : ff_single_answer);
}

bool ff_handle_flow_cancel(struct ff_request *request)
{
    static const struct ff_single single = {
        .type = &ff_flow_cancel_type, .write = write_ended, .then = await_end};
    struct ff_json_flow_cancel body;
    struct ff_wait_query query;

    if (!ff_request_body(request, &ff_shape_flow_cancel, &body) ||
        !ff_request_query(request, &ff_shape_wait_query, &query) || !sees_flow(request))
        return true;
    const struct ff_flow_ending item = {.flow_id = request->params[0],
                                        .reason = body.reason,
                                        .policy = body.policy,
                                        .by = request->token ? request->token->name : NULL};
    return ff_single_run(request, &single, &item);
}
