/* SPDX-License-Identifier: Apache-2.0
 *
 * flow.c -- flows: made, grown, cancelled, looked at.
 *
 * Read first: src/remote/README.md. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include "base/error.h"
#include "base/limits.h"

#include "base/banned.h"

static ff_status node_write(struct ff_writing *out, const struct ff_flow_node *node,
                            struct ff_error *reterr)
{
    struct ff_writing join = {.made = ff_json_make()};
    struct ff_submission work;
    json_t *json = NULL;

    ff_write_text(&join, "policy", node->join);
    if (node->k)
        ff_write_i64(&join, "k", node->k);
    ff_write_text(&join, "on_satisfied", node->on_satisfied);
    FF_TRY(ff_written(&join, &json, reterr));
    if (json_object_size(json))
        ff_json_put(&out->made, "join", json);
    else
        json_decref(json);
    FF_TRY(ff_api_need(node->name, "name", reterr));
    if (!node->work)
        return ff_fail_field(reterr, FF_INVALID, "work", "a node has no work");
    ff_write_text(out, "name", node->name);
    ff_submission_init(&work);
    FF_TRY(ff_api_sized(&work, sizeof work, node->work, node->work->size, reterr));
    if (work.ns || work.idempotency_key || work.execution_id)
        return ff_fail_field(reterr, FF_INVALID,
                             work.ns                ? "namespace"
                             : work.idempotency_key ? "idempotency_key"
                                                    : "execution_id",
                             "belongs to the flow, not to one of its nodes");
    return ff_write_submission(out, &work, reterr);
}

static ff_status edge_write(struct ff_writing *out, const struct ff_flow_edge *edge,
                            struct ff_error *reterr)
{
    FF_TRY(ff_api_need(edge->from, "from", reterr));
    FF_TRY(ff_api_need(edge->to, "to", reterr));
    ff_write_text(out, "from", edge->from);
    ff_write_text(out, "to", edge->to);
    ff_write_text(out, "pass", edge->pass);
    return FF_OK;
}

/* "nodes[3].kind" out of "kind". */
static ff_status named(const char *list, size_t index, ff_status status, struct ff_error *reterr)
{
    struct ff_error inner;

    if (status == FF_OK || !reterr)
        return status;
    inner = *reterr;
    (void)snprintf(reterr->field, sizeof reterr->field, "%s[%zu]%s%.64s", list, index,
                   inner.field[0] ? "." : "", inner.field);
    return status;
}

static ff_status add(json_t *array, struct ff_writing *out, ff_status status,
                     struct ff_error *reterr)
{
    json_t *json = NULL;

    if (status != FF_OK) {
        json_decref(out->made.object);
        return status;
    }
    FF_TRY(ff_written(out, &json, reterr));
    if (json_array_append_new(array, json) != 0)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the flow");
    return FF_OK;
}

static ff_status graph_write(struct ff_ask *ask, const struct ff_flow_request *given,
                             struct ff_error *reterr)
{
    json_t *const nodes = json_array();
    json_t *const edges = json_array();

    ff_json_put(&ask->body.made, "nodes", nodes);
    ff_json_put(&ask->body.made, "edges", edges);
    if (ask->body.made.failed)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the flow");
    if ((given->node_count && !given->nodes) || (given->edge_count && !given->edges))
        return ff_fail_field(reterr, FF_INVALID, given->nodes ? "edges" : "nodes",
                             "nodes or edges are counted but not given");
    for (size_t i = 0; i < given->node_count; i++) {
        struct ff_writing out = {.made = ff_json_make()};
        const ff_status status = node_write(&out, &given->nodes[i], reterr);

        FF_TRY(named("nodes", i, add(nodes, &out, status, reterr), reterr));
    }
    for (size_t i = 0; i < given->edge_count; i++) {
        struct ff_writing out = {.made = ff_json_make()};
        const ff_status status = edge_write(&out, &given->edges[i], reterr);

        FF_TRY(named("edges", i, add(edges, &out, status, reterr), reterr));
    }
    return FF_OK;
}

static ff_status take_request(const struct ff_flow_request *request, struct ff_flow_request *ret,
                              struct ff_error *reterr)
{
    if (!request)
        return ff_fail_field(reterr, FF_INVALID, "request", "there is no request");
    ff_flow_request_init(ret);
    return ff_api_sized(ret, sizeof *ret, request, request->size, reterr);
}

ff_status ff_remote_flow_create(struct ff_client *client, const struct ff_flow_request *request,
                                struct ff_flow_made *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    struct ff_flow_request given;

    FF_TRY(take_request(request, &given, reterr));
    FF_TRY(ff_ask_init(&ask, client, "/v1/flows", reterr));
    ff_write_text(&ask.body, "flow_id", given.flow_id);
    ff_write_text(&ask.body, "kind", given.kind);
    ff_write_text(&ask.body, "namespace", given.ns);
    ff_write_text(&ask.body, "idempotency_key", given.idempotency_key);
    FF_TRY(ff_write_tags(&ask.body, given.tags, given.tag_count, reterr));
    FF_TRY(graph_write(&ask, &given, reterr));
    ask.repeatable = given.flow_id || given.idempotency_key;
    FF_TRY(ff_ask_post(&ask, reterr));
    return ff_ask_take(&ask, &ff_answer_flow_made, ret, reterr);
}

ff_status ff_remote_flow_grow(struct ff_client *client, const struct ff_flow_request *request,
                              struct ff_flow_made *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    struct ff_flow_request given;

    FF_TRY(take_request(request, &given, reterr));
    FF_TRY(ff_ask_init(&ask, client, "/v1/flows/", reterr));
    FF_TRY(ff_ask_path(&ask, given.flow_id, "flow_id", reterr));
    ff_ask_rest(&ask, "/grow");
    ff_write_i64(&ask.body, "expected_revision", given.expected_revision);
    FF_TRY(graph_write(&ask, &given, reterr));
    ask.repeatable = true; /* an equal repeat is recognised */
    FF_TRY(ff_ask_post(&ask, reterr));
    return ff_ask_take(&ask, &ff_answer_flow_made, ret, reterr);
}

ff_status ff_remote_flow_cancel(struct ff_client *client, const char *flow_id, const char *reason,
                                const char *policy, struct ff_flow_cancelled *ret,
                                struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, "/v1/flows/", reterr));
    FF_TRY(ff_ask_path(&ask, flow_id, "flow_id", reterr));
    ff_ask_rest(&ask, "/cancel");
    ff_write_text(&ask.body, "reason", reason);
    ff_write_text(&ask.body, "policy", policy);
    ask.repeatable = true;
    FF_TRY(ff_ask_post(&ask, reterr));
    if (!ret)
        return FF_OK;
    return ff_ask_take(&ask, &ff_answer_flow_cancelled, ret, reterr);
}

static ff_status get(struct ff_client *client, const char *flow_id, int64_t wait_ms,
                     struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    struct ff_flow_info *info;

    FF_TRY(ff_ask_init(&ask, client, "/v1/flows/", reterr));
    FF_TRY(ff_ask_path(&ask, flow_id, "flow_id", reterr));
    ff_ask_query_i64(&ask, "wait_ms", wait_ms ? wait_ms : FF_ABSENT_MS);
    ask.wait_ms = wait_ms;
    FF_TRY(ff_ask_get(&ask, reterr));
    info = ff_arena_alloc(&ask.memory->arena, sizeof *info);
    if (!info)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the flow");
    FF_TRY(ff_shape_take(&ff_answer_flow, ask.answer, &ask.memory->arena, info, reterr));
    *ret = (struct ff_flow_info_list){.count = 1, .items = info};
    ret->memory = FF_STEAL(ask.memory);
    return FF_OK;
}

ff_status ff_remote_flow_get(struct ff_client *client, const char *flow_id,
                             struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    return get(client, flow_id, 0, ret, reterr);
}

ff_status ff_remote_flow_wait(struct ff_client *client, const char *flow_id, int64_t wait_ms,
                              struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    if (wait_ms < 0)
        return ff_fail_field(reterr, FF_INVALID, "wait_ms", "wait_ms is not negative");
    for (;;) {
        const int64_t part_ms = ff_min_i64(wait_ms, FF_WAIT_MS_MAX);

        FF_TRY(get(client, flow_id, part_ms, ret, reterr));
        wait_ms -= part_ms;
        if (ret->items[0].finished_at_ms != FF_ABSENT_MS || wait_ms <= 0)
            return FF_OK;
        ff_answer_free(ret);
    }
}

ff_status ff_remote_flow_list(struct ff_client *client, const struct ff_flow_filter *filter,
                              struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    struct ff_flow_filter given = {.size = sizeof given};

    if (filter)
        FF_TRY(ff_api_sized(&given, sizeof given, filter, filter->size, reterr));
    if (given.limit < 0 || given.limit > FF_LIST_MAX)
        return ff_fail_field(reterr, FF_INVALID, "limit", "limit is at most %d", FF_LIST_MAX);
    FF_TRY(ff_ask_init(&ask, client, "/v1/flows", reterr));
    ff_ask_query(&ask, "namespace", given.ns);
    ff_ask_query(&ask, "kind", given.kind);
    ff_ask_query(&ask, "state", given.state);
    ff_ask_query_i64(&ask, "limit", given.limit ? given.limit : FF_ABSENT_MS);
    ff_ask_query(&ask, "cursor", given.cursor && given.cursor[0] ? given.cursor : NULL);
    FF_TRY(ff_ask_get(&ask, reterr));
    return ff_ask_take(&ask, &ff_answer_flows, ret, reterr);
}
