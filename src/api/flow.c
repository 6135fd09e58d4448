/* SPDX-License-Identifier: Apache-2.0
 *
 * flow.c -- making, growing and cancelling flows.
 *
 * The rules are in src/ops/flow; here the caller's structs become their input.
 * Tests: tests/conformance/flow_*.c. */
#include "api/api-int.h"

#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/codes.h"
#include "ops/flow.h"

#include "base/banned.h"

/* More nodes than this go to the second executor: they must not hold up everybody else. */
#define LARGE_FROM 32

void ff_flow_request_init(struct ff_flow_request *request)
{
    if (request)
        *request =
            (struct ff_flow_request){.size = sizeof *request, .expected_revision = FF_ABSENT_MS};
}

static ff_status bad_item(struct ff_error *reterr, const char *list, size_t at, ff_status status)
{
    char field[sizeof reterr->field];

    if (reterr) {
        (void)snprintf(field, sizeof field, "%s[%zu]%s%.64s", list, at, reterr->field[0] ? "." : "",
                       reterr->field);
        memcpy(reterr->field, field, sizeof field);
    }
    return status;
}

#define NAME_OF(name, code_, text)                                                                 \
    if (strcmp(given, text) == 0) {                                                                \
        *ret = (code_);                                                                            \
        return FF_OK;                                                                              \
    }

static ff_status join_of(const char *given, int32_t *ret, struct ff_error *reterr)
{
    if (!given)
        given = "all_of";
    FF_JOIN_MAP(NAME_OF)
    return ff_fail_field(reterr, FF_INVALID, "join.policy",
                         "join is all_of, any_of or quorum, not '%.40s'", given);
}

static ff_status on_satisfied_of(const char *given, int32_t *ret, struct ff_error *reterr)
{
    *ret = FF_NULL32;
    if (!given)
        return FF_OK;
    FF_ON_SATISFIED_MAP(NAME_OF)
    return ff_fail_field(reterr, FF_INVALID, "join.on_satisfied",
                         "on_satisfied is cancel_remaining or let_run, not '%.40s'", given);
}

static ff_status pass_of(const char *given, int32_t *ret, struct ff_error *reterr)
{
    if (!given)
        given = "upstream";
    FF_PASS_MAP(NAME_OF)
    return ff_fail_field(reterr, FF_INVALID, "pass", "pass is upstream or input, not '%.40s'",
                         given);
}

static ff_status cancel_policy_of(const char *given, int32_t *ret, struct ff_error *reterr)
{
    if (!given)
        given = "cancel_all";
    FF_FLOW_CANCEL_MAP(NAME_OF)
    return ff_fail_field(reterr, FF_INVALID, "policy",
                         "policy is cancel_all, cancel_pending or cancel_flow_only");
}

static ff_status node_in(struct ff_client *client, struct ff_job *job,
                         const struct ff_flow_node *given, struct ff_graph_node *node,
                         struct ff_submit_in *submit, struct ff_error *reterr)
{
    struct ff_submission item;

    FF_TRY(ff_api_need(given->name, "name", reterr));
    if (!given->work)
        return ff_fail_field(reterr, FF_INVALID, "kind", "node '%.64s' has no work", given->name);
    ff_submission_init(&item);
    FF_TRY(ff_api_sized(&item, sizeof item, given->work, given->work->size, reterr));
    if (item.execution_id || item.idempotency_key || item.ns)
        return ff_fail_field(reterr, FF_INVALID,
                             item.execution_id      ? "execution_id"
                             : item.idempotency_key ? "idempotency_key"
                                                    : "namespace",
                             "a node has no id, key or namespace of its own");
    node->name = ff_job_text(job, given->name);
    node->k = given->k == 0 ? FF_NULL64 : given->k;
    FF_TRY(join_of(given->join, &node->policy, reterr));
    if (node->policy == FF_JOIN_QUORUM && node->k == FF_NULL64)
        node->k = 0; /* refused as a bad quorum */
    FF_TRY(on_satisfied_of(given->on_satisfied, &node->on_satisfied, reterr));
    FF_TRY(ff_submission_in(client, job, &item, submit, reterr));
    return ff_json_same(item.input, item.input_content_type, &job->arena, &submit->input_same,
                        reterr);
}

static ff_status edge_in(struct ff_job *job, const struct ff_flow_edge *given,
                         struct ff_graph_edge *edge, struct ff_error *reterr)
{
    FF_TRY(ff_api_need(given->from, "from", reterr));
    FF_TRY(ff_api_need(given->to, "to", reterr));
    edge->from = ff_job_text(job, given->from);
    edge->to = ff_job_text(job, given->to);
    return pass_of(given->pass, &edge->pass, reterr);
}

static ff_status check_counts(struct ff_client *client, const struct ff_flow_request *given,
                              struct ff_error *reterr)
{
    if (given->node_count && !given->nodes)
        return ff_fail_field(reterr, FF_INVALID, "nodes", "nodes are counted but not given");
    if (given->edge_count && !given->edges)
        return ff_fail_field(reterr, FF_INVALID, "edges", "edges are counted but not given");
    return ff_flow_check_sizes(given->node_count, given->edge_count,
                               ff_engine_settings(client->engine), reterr);
}

static ff_status graph_in(struct ff_client *client, struct ff_job *job,
                          const struct ff_flow_request *given, struct ff_graph_in *graph,
                          struct ff_error *reterr)
{
    struct ff_graph *const shape = &graph->shape;
    ff_status status;

    FF_TRY(check_counts(client, given, reterr));
    shape->node_count = given->node_count;
    shape->edge_count = given->edge_count;
    shape->nodes = ff_arena_array(&job->arena, given->node_count, sizeof *shape->nodes);
    shape->edges = ff_arena_array(&job->arena, given->edge_count, sizeof *shape->edges);
    graph->nodes = ff_arena_array(&job->arena, given->node_count, sizeof *graph->nodes);
    FF_TRY(ff_arena_check(&job->arena, reterr));
    for (size_t i = 0; i < given->node_count; i++) {
        status = node_in(client, job, &given->nodes[i], &shape->nodes[i], &graph->nodes[i].submit,
                         reterr);
        if (status != FF_OK)
            return bad_item(reterr, "nodes", i, status);
    }
    for (size_t i = 0; i < given->edge_count; i++) {
        status = edge_in(job, &given->edges[i], &shape->edges[i], reterr);
        if (status != FF_OK)
            return bad_item(reterr, "edges", i, status);
    }
    job->large = given->node_count > LARGE_FROM;
    return ff_arena_check(&job->arena, reterr);
}

static size_t bytes_of(const struct ff_flow_request *given)
{
    size_t bytes = given->node_count * sizeof(struct ff_node_in);

    for (size_t i = 0; given->nodes && i < given->node_count; i++)
        if (given->nodes[i].work)
            bytes += given->nodes[i].work->input.len;
    return bytes;
}

/* It is there already: whoever cannot be told what was made must not hear "not applied". */
static ff_status untold(struct ff_error *reterr)
{
    return ff_fail(reterr, FF_OUTCOME_UNKNOWN, "done, but there is no memory for the answer");
}

static ff_status answer(const struct ff_graph *shape, const struct ff_exec_id *ids,
                        struct ff_uuid flow_id, struct ff_flow_made *made, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();

    if (!memory)
        return untold(reterr);
    made->count = shape->node_count;
    made->items = ff_arena_array(&memory->arena, made->count, sizeof *made->items);
    for (size_t i = 0; made->items && i < made->count; i++) {
        made->items[i].name = ff_api_text(&memory->arena, shape->nodes[i].name);
        ff_exec_id_text(ids[i], made->items[i].execution_id);
    }
    (void)ff_uuid_format(flow_id, made->flow_id);
    if (memory->arena.failed)
        return untold(reterr);
    made->memory = FF_STEAL(memory);
    return FF_OK;
}

static ff_status take_request(const void *items, struct ff_flow_request *given,
                              struct ff_error *reterr)
{
    const struct ff_flow_request *const request = items;

    ff_flow_request_init(given);
    return ff_api_sized(given, sizeof *given, request, request->size, reterr);
}

static size_t flow_bytes(const void *items, size_t index)
{
    struct ff_flow_request given;

    (void)index; /* there is only one */
    return take_request(items, &given, NULL) == FF_OK ? bytes_of(&given) : 0;
}

static ff_status create_fill(struct ff_client *client, struct ff_job *job, const void *items,
                             size_t index, struct ff_error *reterr)
{
    struct ff_flow_create_in *const in = ff_arena_alloc(&job->arena, sizeof *in);
    struct ff_flow_request given;

    (void)index;
    if (!in)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    FF_TRY(take_request(items, &given, reterr));
    job->in = in;
    in->namespace = ff_job_text(job, given.ns);
    in->kind = ff_job_text(job, given.kind);
    in->idempotency_key = ff_job_text(job, given.idempotency_key);
    in->tag_count = given.tag_count;
    in->own_id = given.flow_id != NULL;
    in->flow_id = ff_api_mint_flow(client, &in->dated);
    job->repeatable = in->own_id || given.idempotency_key;
    if (given.flow_id) {
        in->dated = false;
        FF_TRY(ff_flow_id_parse(ff_str_of(given.flow_id), &in->flow_id, reterr));
    }
    FF_TRY(ff_job_tags(job, given.tags, given.tag_count, &in->tags, reterr));
    FF_TRY(graph_in(client, job, &given, &in->graph, reterr));
    return ff_flow_prepare(in, ff_engine_settings(client->engine), &job->arena, reterr);
}

static ff_status create_take(struct ff_client *client, const struct ff_job *job, void *result,
                             struct ff_error *reterr)
{
    const struct ff_flow_create_out *const out = job->out;
    const struct ff_flow_create_in *const in = job->in;
    struct ff_flow_made *const made = &((struct ff_flow_answer *)result)->made;

    (void)client;
    made->created = out->created;
    made->revision = out->revision;
    return answer(&in->graph.shape, out->ids, out->flow_id, made, reterr);
}

static void made_drop(void *result)
{
    ff_answer_free(&((struct ff_flow_answer *)result)->made);
}

const struct ff_bulk_type ff_flow_create_type = {
    .op = FF_OP_FLOW_CREATE,
    .max = 1,
    .result_bytes = sizeof(struct ff_flow_answer),
    .bytes = flow_bytes,
    .fill = create_fill,
    .take = create_take,
    .drop = made_drop,
};

static ff_status grow_fill(struct ff_client *client, struct ff_job *job, const void *items,
                           size_t index, struct ff_error *reterr)
{
    struct ff_flow_grow_in *const in = ff_arena_alloc(&job->arena, sizeof *in);
    struct ff_flow_request given;

    (void)index;
    if (!in)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    FF_TRY(take_request(items, &given, reterr));
    FF_TRY(ff_api_need(given.flow_id, "flow_id", reterr));
    job->in = in;
    in->expected_revision = given.expected_revision;
    FF_TRY(ff_api_flow_id(client, given.flow_id, &in->flow_id, reterr));
    FF_TRY(graph_in(client, job, &given, &in->graph, reterr));
    return ff_grow_prepare(in, ff_engine_settings(client->engine), &job->arena, reterr);
}

static ff_status grow_take(struct ff_client *client, const struct ff_job *job, void *result,
                           struct ff_error *reterr)
{
    const struct ff_flow_grow_out *const out = job->out;
    const struct ff_flow_grow_in *const in = job->in;
    struct ff_flow_made *const made = &((struct ff_flow_answer *)result)->made;

    (void)client;
    made->created = out->node_count > 0;
    made->revision = out->revision;
    return answer(&in->graph.shape, out->ids, in->flow_id, made, reterr);
}

const struct ff_bulk_type ff_flow_grow_type = {
    .op = FF_OP_FLOW_GROW,
    .max = 1,
    .result_bytes = sizeof(struct ff_flow_answer),
    .bytes = flow_bytes,
    .fill = grow_fill,
    .take = grow_take,
    .drop = made_drop,
};

static ff_status make(struct ff_client *client, const struct ff_bulk_type *type,
                      const struct ff_flow_request *request, struct ff_flow_made *ret,
                      struct ff_error *reterr)
{
    struct ff_flow_answer made;

    if (!request || !ret)
        return ff_fail_field(reterr, FF_INVALID, request ? "ret" : "request",
                             "the request or the place for its answer is missing");
    FF_TRY(ff_call_one(client, type, request, &made, reterr));
    *ret = made.made;
    return FF_OK;
}

ff_status ff_local_flow_create(struct ff_client *client, const struct ff_flow_request *request,
                               struct ff_flow_made *ret, struct ff_error *reterr)
{
    return make(client, &ff_flow_create_type, request, ret, reterr);
}

ff_status ff_local_flow_grow(struct ff_client *client, const struct ff_flow_request *request,
                             struct ff_flow_made *ret, struct ff_error *reterr)
{
    return make(client, &ff_flow_grow_type, request, ret, reterr);
}

/* ---- cancel -----------------------------------------------------------------------------------
 */

static ff_status cancel_fill(struct ff_client *client, struct ff_job *job, const void *items,
                             size_t index, struct ff_error *reterr)
{
    const struct ff_flow_ending *const item = (const struct ff_flow_ending *)items + index;
    struct ff_flow_cancel_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

    if (!in)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    FF_TRY(ff_api_need(item->flow_id, "flow_id", reterr));
    job->in = in;
    in->reason = ff_job_text(job, item->reason);
    in->by = ff_job_text(job, item->by ? item->by : FF_BY_OPERATOR);
    FF_TRY(ff_api_flow_id(client, item->flow_id, &in->flow_id, reterr));
    FF_TRY(cancel_policy_of(item->policy, &in->policy, reterr));
    return ff_flow_cancel_check(in, reterr);
}

static ff_status cancel_take(struct ff_client *client, const struct ff_job *job, void *result,
                             struct ff_error *reterr)
{
    const struct ff_flow_cancel_out *const out = job->out;
    struct ff_flow_cancelled *const cancelled = &((struct ff_flow_ended *)result)->cancelled;
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();

    (void)client;
    if (!memory)
        return untold(reterr);
    *cancelled = (struct ff_flow_cancelled){
        .state = ff_flow_state_name(out->state),
        .policy = ff_flow_cancel_name(out->policy),
        .reason = ff_api_text(&memory->arena, out->reason),
        .node_count = out->node_count,
        .ended_count = out->ended_count,
    };
    if (memory->arena.failed)
        return untold(reterr);
    cancelled->memory = FF_STEAL(memory);
    return FF_OK;
}

static void ended_drop(void *result)
{
    ff_answer_free(&((struct ff_flow_ended *)result)->cancelled);
}

const struct ff_bulk_type ff_flow_cancel_type = {
    .op = FF_OP_FLOW_CANCEL,
    .max = 1,
    .result_bytes = sizeof(struct ff_flow_ended),
    .fill = cancel_fill,
    .take = cancel_take,
    .drop = ended_drop,
};

ff_status ff_local_flow_cancel(struct ff_client *client, const char *flow_id, const char *reason,
                               const char *policy, struct ff_flow_cancelled *ret,
                               struct ff_error *reterr)
{
    const struct ff_flow_ending item = {.flow_id = flow_id, .reason = reason, .policy = policy};
    struct ff_flow_ended ended;

    FF_TRY(ff_call_one(client, &ff_flow_cancel_type, &item, &ended, reterr));
    if (ret)
        *ret = ended.cancelled;
    else
        ff_answer_free(&ended.cancelled);
    return FF_OK;
}
