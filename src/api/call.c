/* SPDX-License-Identifier: Apache-2.0
 *
 * call.c -- items of a call to jobs of the engine, and their answers back.
 *
 * Every item is its own job: the engine puts them into batches, one bad item never fails others.
 * Read first: src/api/README.md. Tests: tests/unit/test_api.c. */
#include "api/api-int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

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

ff_status ff_call_one(struct ff_client *client, struct ff_job **job, struct ff_error *reterr)
{
    ff_engine_call(client->engine, job, 1, client->timeout_ms);
    if (!*job)
        return unknown(reterr);
    return ff_job_answer(*job, reterr);
}

/* One call on its way: jobs[i] is the one of item places[i]. */
struct trip {
    struct ff_job **jobs;
    size_t *places;
    size_t count;
};

static void trip_done(struct trip *trip)
{
    for (size_t i = 0; i < trip->count; i++)
        ff_job_free(trip->jobs[i]);
    ff_free(trip->jobs);
    ff_free(trip->places);
}

static struct ff_item_head *head_of(const struct ff_bulk_type *type, void *results, size_t index)
{
    return (struct ff_item_head *)(void *)((char *)results + index * type->result_bytes);
}

static ff_status item_job(struct ff_client *client, const struct ff_bulk_type *type,
                          const void *items, size_t index, struct ff_job **ret_job,
                          struct ff_error *reterr)
{
    FF_AUTO(ff_job_freep) struct ff_job *job = ff_job_new(type->op, type->bytes(items, index));

    if (!job)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    FF_TRY(type->fill(client, job, items, index, reterr));
    FF_TRY(ff_arena_check(&job->arena, reterr));
    *ret_job = FF_STEAL(job);
    return FF_OK;
}

static ff_status check_call(const struct ff_bulk_type *type, const void *items, size_t count,
                            const void *results, struct ff_error *reterr)
{
    if (!count)
        return ff_fail_field(reterr, FF_INVALID, "count", "a call needs at least one item");
    if (count > type->max)
        return ff_fail_field(reterr, FF_TOO_LARGE, "count",
                             "%zu items in one call, at most %zu are allowed", count, type->max);
    if (!items || !results)
        return ff_fail_field(reterr, FF_INVALID, items ? "ret_items" : "items",
                             "items or the place for their results are missing");
    return FF_OK;
}

ff_status ff_bulk_call(struct ff_client *client, const struct ff_bulk_type *type, const void *items,
                       size_t count, void *results, struct ff_error *reterr)
{
    FF_AUTO(trip_done) struct trip trip = {0};
    ff_status answer = FF_OK;

    FF_TRY(check_call(type, items, count, results, reterr));
    trip.jobs = ff_calloc(count, sizeof(struct ff_job *));
    trip.places = ff_calloc(count, sizeof *trip.places);
    if (!trip.jobs || !trip.places)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold %zu requests", count);

    memset(results, 0, count * type->result_bytes);
    for (size_t i = 0; i < count; i++) {
        struct ff_item_head *const head = head_of(type, results, i);

        head->status = item_job(client, type, items, i, &trip.jobs[trip.count], &head->error);
        if (head->status == FF_OK) {
            trip.jobs[trip.count]->large = type->large_from && count > type->large_from;
            trip.places[trip.count++] = i;
        }
    }
    if (trip.count)
        ff_engine_call(client->engine, trip.jobs, trip.count, client->timeout_ms);
    for (size_t i = 0; i < trip.count; i++) {
        const struct ff_job *const job = trip.jobs[i];
        struct ff_item_head *const head = head_of(type, results, trip.places[i]);

        head->status = job ? ff_job_answer(job, &head->error) : unknown(&head->error);
        if (head->status == FF_OK)
            type->take(job, head);
        if (!job)
            answer = FF_OUTCOME_UNKNOWN;
    }
    return answer == FF_OK ? FF_OK : unknown(reterr);
}
