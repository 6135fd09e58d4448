/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk.c -- calls with many items. */
#include "http/bulk.h"

#include <string.h>

#include "api/async.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/key.h"
#include "http/server-int.h"

#include "base/banned.h"

struct bulk {
    const struct ff_bulk_route *route;
    size_t count;               /* items of the request */
    struct ff_item_head *heads; /* why an item was not even tried */
    size_t made;                /* items that were */
    char *items;
    const json_t *given;
    bool has_key;
    struct ff_reply_in key;
    bool may_change; /* an item may have another answer next time */
};

static json_t *results_json(struct bulk *bulk, const char *results, char *untried)
{
    const size_t bytes = bulk->route->type->result_bytes;
    json_t *const array = json_array();
    size_t at = 0;

    for (size_t i = 0; array && i < bulk->count; i++) {
        const void *result = results + at * bytes;

        if (bulk->heads[i].status != FF_OK) {
            memcpy(untried, &bulk->heads[i], sizeof bulk->heads[i]);
            result = untried;
        } else {
            const ff_status status = ((const struct ff_item_head *)result)->status;

            bulk->may_change =
                bulk->may_change || ff_status_retryable(status) || status == FF_OUTCOME_UNKNOWN;
            at++;
        }
        if (json_array_append_new(array, bulk->route->write(result)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static bool answer(struct ff_request *request, const char *results)
{
    struct bulk *const bulk = request->state;
    char *const untried = ff_arena_alloc(&request->arena, bulk->route->type->result_bytes);
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "results", untried ? results_json(bulk, results, untried) : NULL);
    (void)ff_answer_json(request, 200, ff_json_made(&made));
    return bulk->has_key && !bulk->may_change ? ff_request_keep(request, &bulk->key) : true;
}

static bool after(struct ff_request *request)
{
    const struct bulk *const bulk = request->state;
    char *const results =
        ff_arena_array(&request->arena, bulk->made, bulk->route->type->result_bytes);
    struct ff_error error;

    if (!results)
        return ff_answer_fail(request, FF_OUTCOME_UNKNOWN, NULL, "cannot hold the results");
    /* Items in doubt say so themselves. */
    const ff_status status = ff_async_take(request->async, results, &error);
    if (status != FF_OK && status != FF_OUTCOME_UNKNOWN)
        return ff_answer_error(request, status, &error);
    return answer(request, results);
}

static void read_items(struct ff_request *request, struct bulk *bulk, const json_t *items)
{
    const struct ff_bulk_route *const route = bulk->route;

    for (size_t i = 0; i < bulk->count; i++) {
        void *const item = bulk->items + bulk->made * route->item->bytes;
        struct ff_item_head *const head = &bulk->heads[i];

        head->status = ff_shape_read(route->item, json_array_get(items, i), NULL, &request->arena,
                                     item, &head->error);
        if (head->status == FF_OK && route->check)
            head->status = route->check(request, item, &head->error);
        if (head->status == FF_OK && bulk->has_key && route->seal)
            head->status = route->seal(request, item, &bulk->key, i, &head->error);
        bulk->made += head->status == FF_OK;
    }
}

static bool stay_within(struct ff_request *request, const struct ff_bulk_route *route)
{
    const struct ff_token *const token = request->token;
    struct ff_error error;

    if (!route->within || !token || !token->namespace_count)
        return true;
    const ff_status status =
        ff_async_within(request->async, token->namespaces, token->namespace_count, &error);
    return status == FF_OK || !ff_answer_error(request, status, &error);
}

static bool run(struct ff_request *request)
{
    struct bulk *const bulk = request->state;

    read_items(request, bulk, bulk->given);
    if (!bulk->made)
        return answer(request, NULL);
    if (!ff_request_prepare(request, bulk->route->type, bulk->items, bulk->made, after) ||
        !stay_within(request, bulk->route))
        return true;
    (void)ff_request_wait(request, NULL, INT64_MAX);
    ff_async_go(request->async);
    return false;
}

/* Whether the call was answered before; waits for the store. */
static bool run_keyed(struct ff_request *request)
{
    const struct bulk *const bulk = request->state;
    FF_AUTO(ff_answer_free) struct ff_kept kept = {0};
    struct ff_error error;
    const ff_status status =
        ff_reply(request->server->client, &bulk->key, 0, ff_str_null(), &kept, &error);

    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    return kept.found ? ff_answer_kept(request, kept.status, kept.body) : run(request);
}

bool ff_bulk_run(struct ff_request *request, const struct ff_bulk_route *route, const json_t *items)
{
    struct bulk *const bulk = ff_arena_alloc(&request->arena, sizeof *bulk);

    if (!bulk)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the request");
    *bulk = (struct bulk){.route = route, .count = json_array_size(items), .given = items};
    bulk->heads = ff_arena_array(&request->arena, bulk->count, sizeof *bulk->heads);
    bulk->items = ff_arena_array(&request->arena, bulk->count, route->item->bytes);
    request->state = bulk;
    if (!bulk->heads || !bulk->items)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold %zu items", bulk->count);
    if (!ff_request_key(request, &bulk->has_key, &bulk->key))
        return true;
    if (!bulk->has_key)
        return run(request);
    request->looks = true;
    (void)ff_request_wait(request, NULL, INT64_MAX);
    ff_request_go_on(request, run_keyed);
    return false;
}
