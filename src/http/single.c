/* SPDX-License-Identifier: Apache-2.0
 *
 * single.c -- calls of one item. */
#include "http/single.h"

#include "api/async.h"
#include "base/error.h"
#include "http/key.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

struct single {
    const struct ff_single *how;
    void *result;
    bool taken;
    bool is_repeat; /* and this was the answer: */
    int32_t kept_status;
    struct ff_str kept;
};

static void single_drop(struct ff_request *request)
{
    const struct single *const single = request->state;

    if (single->taken && single->how->type->drop)
        single->how->type->drop(single->result);
}

bool ff_single_answer(struct ff_request *request)
{
    const struct single *const single = request->state;
    json_t *json = NULL;

    if (single->is_repeat)
        return ff_answer_kept(request, single->kept_status, single->kept);
    const int status = single->how->write(request, single->result, &json);
    (void)ff_answer_json(request, status, json_incref(json));
    ff_answer_location(request, json);
    json_decref(json);
    return true;
}

bool ff_single_answer_now(struct ff_request *request, int status, json_t *json)
{
    const struct single *const single = request->state;

    (void)ff_answer_json(request, status, json);
    if (single->is_repeat)
        ff_answer_repeated(request);
    return true;
}

static bool answer(struct ff_request *request)
{
    const struct single *const single = request->state;

    return single->how->then ? single->how->then(request) : ff_single_answer(request);
}

static bool after(struct ff_request *request)
{
    struct single *const single = request->state;
    const struct ff_item_head *const head = single->result;
    struct ff_error error;

    single->is_repeat = ff_async_kept(request->async, &single->kept_status, &single->kept);
    if (single->is_repeat)
        return answer(request);
    const ff_status status = ff_async_take(request->async, single->result, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    if (head->status != FF_OK)
        return ff_answer_error(request, head->status, &head->error);
    single->taken = true;
    return answer(request);
}

/* What is kept under a key, made while the batch is. */
static ff_status write_kept(const void *result, struct ff_arena *arena, int32_t *ret_status,
                            struct ff_str *ret_body, void *ctx, struct ff_error *reterr)
{
    const struct ff_request *const request = ctx;
    const struct single *const single = request->state;
    json_t *json = NULL;

    *ret_status = single->how->write(request, result, &json);
    const ff_status status = ff_answer_text(json, arena, ret_body, reterr);
    json_decref(json);
    return status;
}

bool ff_single_run(struct ff_request *request, const struct ff_single *single, const void *item)
{
    struct single *const state = ff_arena_alloc(&request->arena, sizeof *state);
    struct ff_reply_in key;
    bool has_key = false;

    if (!state)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the request");
    state->how = single;
    state->result = ff_arena_alloc(&request->arena, single->type->result_bytes);
    if (!state->result)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the request");
    request->state = state;
    request->drop = single_drop;
    if (!ff_request_key(request, &has_key, &key) ||
        !ff_request_prepare(request, single->type, item, 1, after))
        return true;
    if (has_key)
        ff_async_keep(request->async, &key, write_kept, request);
    (void)ff_request_wait(request, NULL, INT64_MAX);
    ff_async_go(request->async);
    return false;
}
