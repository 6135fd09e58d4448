/* SPDX-License-Identifier: Apache-2.0
 *
 * submit-async.c -- submitting without a thread that waits.
 *
 * The answer of one call may come while another thread still makes it: nothing is touched once it
 * has been handed over. Read first: src/api/async.h. Tests: tests/conformance/execution_async.c,
 * tests/unit/test_submit_async.c. */
#include "api/api-int.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

#include "base/banned.h"

/* One call under way. */
struct flight {
    struct ff_client *client;
    struct ff_async *async;
    ff_on_submitted done;
    void *ctx;
    size_t count;
    struct ff_submitted items[];
};

static _Thread_local int callbacks; /* this thread is in */

ff_status ff_api_may_wait(struct ff_error *reterr)
{
    if (callbacks > 0)
        return ff_fail(reterr, FF_INVALID, "a callback of ff_submit_async must not wait");
    return FF_OK;
}

static void flight_free(struct flight *flight)
{
    ff_async_free(flight->async);
    ff_free(flight);
}

/* Until the callback has returned the client is in use, as by a call. */
static void landed(void *ctx)
{
    struct flight *const flight = ctx;
    struct ff_client *const client = flight->client;
    struct ff_error error = {0};
    const ff_status status = ff_async_take(flight->async, flight->items, &error);

    callbacks++;
    flight->done(status, flight->items, flight->count, &error, flight->ctx);
    callbacks--;
    flight_free(flight);
    atomic_fetch_sub(&client->inside, 1);
}

ff_status ff_local_submit_async(struct ff_client *client, const struct ff_submission *items,
                                size_t count, ff_on_submitted done, void *ctx,
                                struct ff_error *reterr)
{
    struct flight *flight;
    ff_status status;

    if (!done)
        return ff_fail_field(reterr, FF_INVALID, "done", "there is nobody to tell");
    flight =
        ff_calloc(1, sizeof *flight + ff_min_size(count, FF_SUBMIT_MAX) * sizeof *flight->items);
    if (!flight)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    *flight = (struct flight){.client = client, .done = done, .ctx = ctx, .count = count};
    status =
        ff_async_new(client, &ff_submit_type, items, count, landed, flight, &flight->async, reterr);
    if (status == FF_OK) {
        atomic_fetch_add(&client->inside, 1);
        status = ff_async_try(flight->async, reterr);
        if (status == FF_OK)
            return FF_OK;
        atomic_fetch_sub(&client->inside, 1);
    }
    flight_free(flight);
    return status;
}
