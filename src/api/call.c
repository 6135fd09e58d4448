/* SPDX-License-Identifier: Apache-2.0
 *
 * call.c -- items of a call to jobs of the engine, and their answers back.
 *
 * Every item is its own job: the engine puts them into batches, one bad item never fails others.
 * Read first: src/api/README.md. Tests: tests/unit/test_api.c. */
#include "api/api-int.h"
#include "api/spare.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ops/execution.h"

#include "base/banned.h"

struct ff_str ff_job_text(struct ff_job *job, const char *text)
{
    return ff_arena_str(&job->arena, ff_str_of(text));
}

struct ff_str ff_job_bytes(struct ff_job *job, struct ff_str bytes)
{
    return ff_arena_str(&job->arena, bytes);
}

ff_status ff_job_texts(struct ff_job *job, const char *const *texts, size_t count,
                       const char *field, struct ff_str **ret, struct ff_error *reterr)
{
    if (count && !texts)
        return ff_fail_field(reterr, FF_INVALID, field, "%s are counted but not given", field);
    if (count > 65536)
        return ff_fail_field(reterr, FF_TOO_LARGE, field, "%zu %s are too many", count, field);

    struct ff_str *const copies = ff_arena_array(&job->arena, count, sizeof *copies);
    for (size_t i = 0; copies && i < count; i++) {
        if (!texts[i])
            return ff_fail_field(reterr, FF_INVALID, field, "one of the %s is missing", field);
        copies[i] = ff_job_text(job, texts[i]);
    }
    *ret = count ? copies : NULL;
    return ff_arena_check(&job->arena, reterr);
}

ff_status ff_job_answer(const struct ff_job *job, struct ff_error *reterr)
{
    if (job->status == FF_OK)
        return FF_OK;
    if (job->error.message[0]) {
        if (reterr) {
            *reterr = job->error;
            reterr->status = job->status;
        }
        return job->status;
    }
    return ff_fail(reterr, job->status, "%s", ff_status_text(job->status));
}

static ff_status unknown(struct ff_error *reterr)
{
    return ff_fail(reterr, FF_OUTCOME_UNKNOWN,
                   "the store did not say whether this was applied; look before doing it again");
}

/* One call on its way: jobs[i] is the one of item places[i]. */
struct trip {
    struct ff_client *client;
    const struct ff_bulk_type *type;
    struct ff_job **jobs;
    size_t *places;
    size_t count;
    size_t item_count;
    struct ff_item_head *heads; /* of all items: those that never became jobs say why; NULL: none */
};

static void trip_done(struct trip *trip)
{
    for (size_t i = 0; i < trip->count; i++)
        ff_spare_give(trip->client->spare, trip->jobs[i]);
    ff_free(trip->jobs);
    ff_free(trip->places);
    ff_free(trip->heads);
}

static ff_status item_job(const struct trip *trip, const void *items, size_t index,
                          struct ff_job **ret_job, struct ff_error *reterr)
{
    const struct ff_bulk_type *const type = trip->type;
    FF_AUTO(ff_job_freep)
    struct ff_job *job =
        ff_spare_take(trip->client->spare, type->op, type->bytes ? type->bytes(items, index) : 0);

    if (!job)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    FF_TRY(type->fill(trip->client, job, items, index, reterr));
    FF_TRY(ff_arena_check(&job->arena, reterr));
    job->large = job->large || (type->large_from && trip->item_count > type->large_from);
    job->shared = job->shared && job->large;
    *ret_job = FF_STEAL(job);
    return FF_OK;
}

static ff_status check_call(const struct ff_bulk_type *type, const void *items, size_t count,
                            struct ff_error *reterr)
{
    if (!count)
        return ff_fail_field(reterr, FF_INVALID, "count", "a call needs at least one item");
    if (count > type->max)
        return ff_fail_field(reterr, FF_TOO_LARGE, "count",
                             "%zu items in one call, at most %zu are allowed", count, type->max);
    if (!items)
        return ff_fail_field(reterr, FF_INVALID, "items", "items are missing");
    return FF_OK;
}

/* An item that cannot become a job is answered with this. */
static ff_status keep_head(struct trip *trip, size_t index, ff_status status,
                           const struct ff_error *error, struct ff_error *reterr)
{
    if (!trip->heads)
        trip->heads = ff_calloc(trip->item_count, sizeof *trip->heads);
    if (!trip->heads)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold %zu answers", trip->item_count);
    trip->heads[index] = (struct ff_item_head){status, *error};
    return FF_OK;
}

/* Every item that can be one becomes a job. */
static ff_status trip_init(struct trip *trip, struct ff_client *client,
                           const struct ff_bulk_type *type, const void *items, size_t count,
                           struct ff_error *reterr)
{
    struct ff_error error = {0};

    FF_TRY(check_call(type, items, count, reterr));
    *trip = (struct trip){.client = client, .type = type, .item_count = count};
    trip->jobs = ff_calloc(count, sizeof(struct ff_job *));
    trip->places = ff_calloc(count, sizeof *trip->places);
    if (!trip->jobs || !trip->places)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold %zu requests", count);
    for (size_t i = 0; i < count; i++) {
        const ff_status status = item_job(trip, items, i, &trip->jobs[trip->count], &error);

        if (status == FF_OK)
            trip->places[trip->count++] = i;
        else
            FF_TRY(keep_head(trip, i, status, &error, reterr));
    }
    return FF_OK;
}

static struct ff_item_head *head_of(const struct trip *trip, void *results, size_t index)
{
    return (struct ff_item_head *)(void *)((char *)results + index * trip->type->result_bytes);
}

static ff_status trip_take(struct trip *trip, void *results, struct ff_error *reterr)
{
    ff_status answer = FF_OK;

    memset(results, 0, trip->item_count * trip->type->result_bytes);
    for (size_t i = 0; trip->heads && i < trip->item_count; i++)
        *head_of(trip, results, i) = trip->heads[i];
    for (size_t i = 0; i < trip->count; i++) {
        const struct ff_job *const job = trip->jobs[i];
        struct ff_item_head *const head = head_of(trip, results, trip->places[i]);

        head->status = job ? ff_job_answer(job, &head->error) : unknown(&head->error);
        if (head->status == FF_OK)
            head->status = trip->type->take(trip->client, job, head, &head->error);
        if (!job)
            answer = FF_OUTCOME_UNKNOWN;
    }
    return answer == FF_OK ? FF_OK : unknown(reterr);
}

ff_status ff_bulk_call(struct ff_client *client, const struct ff_bulk_type *type, const void *items,
                       size_t count, void *results, struct ff_error *reterr)
{
    FF_AUTO(trip_done) struct trip trip = {0};

    if (!results)
        return ff_fail_field(reterr, FF_INVALID, "ret_items", "there is no place for the results");
    FF_TRY(ff_api_may_wait(reterr));
    FF_TRY(trip_init(&trip, client, type, items, count, reterr));
    if (trip.count)
        ff_engine_call(client->engine, trip.jobs, trip.count, client->timeout_ms);
    return trip_take(&trip, results, reterr);
}

ff_status ff_call_one(struct ff_client *client, const struct ff_bulk_type *type, const void *item,
                      void *result, struct ff_error *reterr)
{
    const struct ff_item_head *const head = result;

    FF_TRY(ff_bulk_call(client, type, item, 1, result, reterr));
    if (head->status != FF_OK && reterr)
        *reterr = head->error;
    return head->status;
}

/* ---- without waiting --------------------------------------------------------------------------
 */

struct ff_async {
    struct trip trip;
    struct ff_job_reply reply;
    ff_async_write *write;
    void *write_ctx;
    _Atomic size_t pending; /* jobs that are out, and the starter while it starts */
    void (*done)(void *ctx);
    void *ctx;
};

static void async_unref(struct ff_async *async)
{
    if (atomic_fetch_sub(&async->pending, 1) == 1)
        async->done(async->ctx);
}

static void async_job_done(struct ff_job *job, void *ctx)
{
    (void)job; /* trip->jobs has it */
    async_unref(ctx);
}

ff_status ff_async_new(struct ff_client *client, const struct ff_bulk_type *type, const void *items,
                       size_t count, void (*done)(void *ctx), void *ctx, struct ff_async **ret,
                       struct ff_error *reterr)
{
    struct ff_async *const async = ff_calloc(1, sizeof *async);
    ff_status status;

    if (!async)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    status = trip_init(&async->trip, client, type, items, count, reterr);
    if (status != FF_OK) {
        ff_async_free(async);
        return status;
    }
    async->done = done;
    async->ctx = ctx;
    async->pending = 1;
    *ret = async;
    return FF_OK;
}

/* How many jobs the engine has taken; the others say why not. One reference is still ours. */
static size_t async_hand_over(struct ff_async *async)
{
    struct ff_client *const client = async->trip.client;
    struct ff_job **const jobs = async->trip.jobs;
    const size_t count = async->trip.count;
    const int64_t now_ms = ff_clock_mono_ms(ff_engine_clock(client->engine));
    struct ff_error error;

    for (size_t i = 0; i < count; i++) {
        jobs[i]->deadline_mono_ms =
            ff_max_i64(now_ms, jobs[i]->wait_until_mono_ms) + client->timeout_ms;
        jobs[i]->done = async_job_done;
        jobs[i]->ctx = async;
    }
    atomic_fetch_add(&async->pending, count);
    const size_t taken = ff_engine_submit_all(client->engine, jobs, count, &error);
    for (size_t i = taken; i < count; i++) {
        jobs[i]->status = error.status;
        jobs[i]->error = error;
    }
    atomic_fetch_sub(&async->pending, count - taken); /* never the last: we hold one */
    return taken;
}

void ff_async_go(struct ff_async *async)
{
    (void)async_hand_over(async);
    async_unref(async);
}

ff_status ff_async_try(struct ff_async *async, struct ff_error *reterr)
{
    if (async_hand_over(async) == 0 && async->trip.count > 0)
        return ff_job_answer(async->trip.jobs[0], reterr);
    async_unref(async);
    return FF_OK;
}

ff_status ff_async_within(struct ff_async *async, const char *const *namespaces, size_t count,
                          struct ff_error *reterr)
{
    for (size_t i = 0; i < async->trip.count; i++) {
        struct ff_job *const job = async->trip.jobs[i];
        struct ff_task_ref *const task = job->in; /* the first of each */
        struct ff_str *copies = NULL;

        FF_TRY(ff_job_texts(job, namespaces, count, "namespaces", &copies, reterr));
        task->namespaces = copies;
        task->namespace_count = count;
    }
    return FF_OK;
}

/* The answer to keep, out of the job's `out`: as a caller would take it. */
static ff_status async_render(struct ff_job *job, int32_t *ret_status, struct ff_str *ret_body,
                              struct ff_error *reterr)
{
    struct ff_async *const async = job->reply->ctx;
    const struct ff_bulk_type *const type = async->trip.type;
    void *const result = ff_arena_alloc(&job->arena, type->result_bytes);
    ff_status status;

    if (!result)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the answer");
    FF_TRY(type->take(async->trip.client, job, result, reterr));
    status = async->write(result, &job->arena, ret_status, ret_body, async->write_ctx, reterr);
    if (type->drop)
        type->drop(result);
    return status;
}

void ff_async_keep(struct ff_async *async, const struct ff_reply_in *in, ff_async_write *write,
                   void *ctx)
{
    struct ff_job *const job = async->trip.count == 1 ? async->trip.jobs[0] : NULL;

    if (!job)
        return;
    async->reply = (struct ff_job_reply){.in = *in, .render = async_render, .ctx = async};
    async->reply.in.scope = ff_job_bytes(job, in->scope);
    async->reply.in.key = ff_job_bytes(job, in->key);
    async->write = write;
    async->write_ctx = ctx;
    job->reply = &async->reply;
    job->repeatable = true;
}

bool ff_async_kept(const struct ff_async *async, int32_t *ret_status, struct ff_str *ret_body)
{
    const struct ff_job *const job = async->trip.count == 1 ? async->trip.jobs[0] : NULL;

    if (!job || job->status != FF_OK || !async->reply.out.found)
        return false;
    *ret_status = async->reply.out.status;
    *ret_body = async->reply.out.body;
    return true;
}

ff_status ff_async_take(struct ff_async *async, void *results, struct ff_error *reterr)
{
    return trip_take(&async->trip, results, reterr);
}

bool ff_async_give_up(struct ff_async *async)
{
    if (async->trip.count != 1)
        return false;
    return ff_engine_give_up(async->trip.client->engine, async->trip.jobs[0]) == FF_GAVE_UP_YOURS;
}

bool ff_async_has_looked(const struct ff_async *async)
{
    return async->trip.jobs[0]->look_at_mono_ms == 0;
}

void ff_async_free(struct ff_async *async)
{
    if (!async)
        return;
    trip_done(&async->trip);
    ff_free(async);
}
