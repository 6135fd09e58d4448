/* SPDX-License-Identifier: Apache-2.0
 *
 * task.c -- routes of workers: claiming, and what they say about their tasks.
 *
 * A parked claim whose client has gone is given up; tasks that could not be handed over are
 * released. Tests: tests/e2e/test_http.py. */
#include "api/async.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/macros.h"
#include "http/bulk.h"
#include "http/handlers.h"
#include "http/server-int.h"

#include "base/banned.h"

/* ---- tasks that could not be handed over ------------------------------------------------------
 */

struct giving_back {
    struct ff_step step; /* first */
    struct ff_server *server;
    struct ff_async *async;
};

static void giving_back_free(struct ff_step *step)
{
    struct giving_back *const giving = (struct giving_back *)(void *)step;

    ff_async_free(giving->async);
    atomic_fetch_sub(&giving->server->under_way, 1);
    ff_free(giving);
}

static void given_back(void *ctx)
{
    struct giving_back *const giving = ctx;

    giving->step.run = giving_back_free;
    ff_pool_add(giving->server->work, &giving->step);
}

/* Nobody waits for the answer: what cannot be released comes back when its lease is over. */
static void give_back(struct ff_server *server, const struct ff_tasks *tasks)
{
    struct ff_giveback *const items = ff_calloc(tasks->count, sizeof *items);
    struct giving_back *const giving = ff_calloc(1, sizeof *giving);
    struct ff_error error = {.message = "out of memory"};

    for (size_t i = 0; items && i < tasks->count; i++)
        items[i] = (struct ff_giveback){.lease = ff_task_lease(&tasks->items[i]),
                                        .reason = "the client has gone"};
    if (items && giving) {
        giving->server = server;
        atomic_fetch_add(&server->under_way, 1);
        if (ff_async_new(server->client, &ff_release_type, items, tasks->count, given_back, giving,
                         &giving->async, &error) == FF_OK) {
            ff_async_go(giving->async);
            ff_free(items);
            return;
        }
        atomic_fetch_sub(&server->under_way, 1);
    }
    ff_log(FF_LOG_WARN, "http", "cannot release %zu tasks nobody received: %s", tasks->count,
           error.message);
    ff_free(items);
    ff_free(giving);
}

/* ---- claim ------------------------------------------------------------------------------------
 */

static void claim_drop(struct ff_request *request)
{
    ff_answer_free(&((struct ff_claimed *)request->state)->tasks);
}

static void claim_undelivered(struct ff_request *request)
{
    const struct ff_claimed *const claimed = request->state;

    if (!claimed->tasks.count)
        return;
    request->server->metrics.undelivered_total += (int64_t)claimed->tasks.count;
    give_back(request->server, &claimed->tasks);
}

static bool answer_nothing(struct ff_request *request)
{
    const struct ff_tasks none = {.count = 0};

    request->quiet = true; /* an idle worker asks every second */
    return ff_answer_json(request, 200, ff_json_tasks(&none));
}

static bool claimed(struct ff_request *request)
{
    struct ff_claimed *const claimed = request->state;
    struct ff_error error;
    const ff_status status = ff_async_take(request->async, claimed, &error);

    request->server->metrics.waiting_claims--;
    request->drop = claim_drop;
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    if (claimed->status == FF_TIMEOUT && request->hurried)
        return answer_nothing(request); /* hurried between two looks: it has found nothing */
    if (claimed->status != FF_OK)
        return ff_answer_error(request, claimed->status, &claimed->error);
    if (request->gone) {
        claim_undelivered(request);
        return answer_nothing(request);
    }
    request->undelivered = claim_undelivered;
    request->quiet = claimed->tasks.count == 0;
    return ff_answer_json(request, 200, ff_json_tasks(&claimed->tasks));
}

/* Of one that has not looked nobody knows whether there is nothing: it may be a repeat. */
static bool claim_given_up(struct ff_request *request)
{
    struct ff_error error;

    request->server->metrics.waiting_claims--;
    if (ff_async_has_looked(request->async))
        return answer_nothing(request);
    return ff_answer_error(request, ff_fail(&error, FF_UNAVAILABLE, "server is stopping"), &error);
}

static bool claim_hurry(struct ff_request *request)
{
    if (!ff_async_give_up(request->async))
        return false;
    request->next = claim_given_up;
    return true;
}

bool ff_handle_worker_claim(struct ff_request *request)
{
    struct ff_claim_request claim;

    if (!ff_request_body(request, &ff_shape_claim, &claim) ||
        !ff_request_namespace(request, claim.ns, &claim.ns))
        return true;
    claim.worker_id = request->params[0];
    request->state = ff_arena_alloc(&request->arena, sizeof(struct ff_claimed));
    if (!request->state)
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the request");
    if (!ff_request_prepare(request, &ff_claim_type, &claim, 1, claimed))
        return true;
    request->server->metrics.waiting_claims++;
    request->looks = true; /* inputs and tags are read after the commit */
    (void)ff_request_wait(request, claim.wait_ms ? claim_hurry : NULL, INT64_MAX);
    ff_async_go(request->async);
    return false;
}

/* ---- tasks ------------------------------------------------------------------------------------
 */

static json_t *result_json(const void *result)
{
    return ff_json_task_result(result);
}

static bool run(struct ff_request *request, const struct ff_bulk_route *route)
{
    struct ff_items many;

    if (!ff_request_body(request, request->route->bulk, &many))
        return true;
    return ff_bulk_run(request, route, many.items);
}

#define TASK_ROUTE(name, type_, shape)                                                             \
    bool ff_handle_task_##name(struct ff_request *request)                                         \
    {                                                                                              \
        static const struct ff_bulk_route route = {                                                \
            .type = &(type_), .item = &(shape), .within = true, .write = result_json};             \
                                                                                                   \
        return run(request, &route);                                                               \
    }
TASK_ROUTE(renew, ff_renew_type, ff_shape_renewal)
TASK_ROUTE(complete, ff_complete_type, ff_shape_completion)
TASK_ROUTE(fail, ff_fail_type, ff_shape_failure)
TASK_ROUTE(progress, ff_progress_type, ff_shape_progress)
TASK_ROUTE(delay, ff_delay_type, ff_shape_postponement)
TASK_ROUTE(release, ff_release_type, ff_shape_giveback)
