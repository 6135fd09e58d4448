/* SPDX-License-Identifier: Apache-2.0
 *
 * worker_lease.c -- the worker runtime and its leases: kept while a handler runs, lost, given back.
 */
#include "support/crew.h"

#include <string.h>

#include "base/banned.h"

#define TTL_MS 15000 /* renewed after a third of it; the rest is for a slow machine */

/* Runs until it is told to go on or is cancelled; says whether it was. */
static ff_verdict until_told(struct ff_context *ctx, void *data)
{
    struct crew *const crew = data;

    crew->begun++;
    while (!crew->go && !ff_context_wait(ctx, 10))
        continue;
    if (ff_context_cancelled(ctx))
        crew->cancelled++;
    crew->ended++;
    return ff_context_cancelled(ctx) ? ff_context_fail(ctx, NULL, "was cancelled")
                                     : ff_context_done(ctx, "\"in order\"");
}

static struct crew *given_running(struct test *t, const struct ff_worker_options *options)
{
    struct crew *const crew = given_crew(t, options);

    given_handler(t, crew, NULL, until_told);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, crew->begun > 0);
    return crew;
}

/* The keeper looks every few seconds, and meets what has become of the lease. */
static struct ff_worker_options kept_lease(void)
{
    struct ff_worker_options options = crew_options();

    options.lease_ttl_ms = TTL_MS;
    return options;
}

FF_CONFORMANCE_SLOW(worker_lease, is_renewed_while_the_handler_runs)
{
    const struct ff_worker_options options = kept_lease();
    const struct name name = given_submitted(t);
    struct crew *const crew = given_running(t, &options);
    const int64_t first_ms = look(t, name.id)->lease_expires_at_ms;

    /* The first lease would be over by now. */
    WAIT_UNTIL(t, look(t, name.id)->lease_expires_at_ms > first_ms + TTL_MS);
    crew->go = true;
    WAIT_UNTIL(t, is_in_state(t, name.id, "completed"));
    EXPECT_ATTEMPTS(t, name.id, "0:initial:completed");
    EXPECT_INT(t, 0, crew->cancelled);
}

FF_CONFORMANCE_SLOW(worker_lease, a_revoked_one_cancels_the_handler_and_nothing_is_reported)
{
    struct ff_worker_options options = kept_lease();
    const struct name name = given_submitted(t);
    struct crew *crew;

    options.threads = 1;
    options.ahead = -1;
    crew = given_running(t, &options);
    EXPECT_OK(t, when_revoked(t, name.id));
    WAIT_UNTIL(t, crew->cancelled == 1);
    /* The next tenancy is the one that counts, although the first said something, too. */
    WAIT_UNTIL(t, crew->begun == 2);
    crew->go = true;
    WAIT_UNTIL(t, is_in_state(t, name.id, "completed"));
    when_crew_stops(t, crew);
    EXPECT_INT(t, 1, crew->stats.lost);
    EXPECT_INT(t, 1, crew->stats.done);
    EXPECT_INT(t, 0, crew->stats.failed);
    EXPECT_ATTEMPTS(t, name.id, "0:initial:revoked 1:retry:completed");
}

FF_CONFORMANCE_SLOW(worker_lease, cancelling_the_execution_cancels_the_handler)
{
    const struct ff_worker_options options = kept_lease();
    const struct name name = given_submitted(t);
    struct crew *const crew = given_running(t, &options);

    EXPECT_OK(t, when_cancelled(t, name.id));
    WAIT_UNTIL(t, crew->cancelled == 1);
    when_crew_stops(t, crew);
    EXPECT_STATE(t, name.id, "cancelled");
    EXPECT_INT(t, 1, crew->stats.lost);
}

FF_CONFORMANCE_SLOW(worker_lease, one_that_is_lost_before_its_turn_never_runs)
{
    struct ff_worker_options options = kept_lease();
    const struct name first = given_priority(t, 10);
    const struct name second = given_priority(t, 5);
    struct crew *crew;

    options.threads = 1;
    options.ahead = 4;
    crew = given_running(t, &options);
    WAIT_UNTIL(t, is_in_state(t, second.id, "active"));
    EXPECT_OK(t, when_cancelled(t, second.id));
    WAIT_UNTIL(t, crew_stats(crew).lost == 1);
    crew->go = true;
    WAIT_UNTIL(t, is_in_state(t, first.id, "completed"));
    when_crew_stops(t, crew);
    EXPECT_INT(t, 1, crew->begun);
    EXPECT_STATE(t, second.id, "cancelled");
}

/* ---- threads ---- */

#define THREADS 8

/* One wakes the other, first those that come to work and then those that rest. */
FF_CONFORMANCE(worker_lease, no_thread_rests_while_a_task_waits)
{
    struct ff_worker_options options = crew_options();
    struct crew *crew;

    options.threads = THREADS;
    for (int i = 0; i < THREADS; i++)
        (void)given_submitted(t);
    crew = given_running(t, &options);
    WAIT_UNTIL(t, crew->begun == THREADS);
    crew->go = true;
    WAIT_UNTIL(t, crew_stats(crew).done == THREADS);
    crew->go = false;
    for (int i = 0; i < THREADS; i++)
        (void)given_submitted(t);
    WAIT_UNTIL(t, crew->begun == 2 * THREADS);
    crew->go = true;
    when_crew_stops(t, crew);
    EXPECT_INT(t, 2 * THREADS, crew->stats.done);
}

/* ---- stopping ---- */

FF_CONFORMANCE(worker_lease, a_stop_gives_back_what_has_not_begun_and_lets_the_rest_end)
{
    struct ff_worker_options options = crew_options();
    const struct name first = given_priority(t, 10);
    const struct name second = given_priority(t, 5);
    struct crew *crew;

    options.threads = 1;
    options.ahead = 4;
    crew = given_running(t, &options);
    WAIT_UNTIL(t, is_in_state(t, second.id, "active"));
    ff_worker_stop(crew->worker);
    WAIT_UNTIL(t, is_in_state(t, second.id, "waiting"));
    EXPECT_STATE(t, first.id, "active");
    crew->go = true;
    join_thread(t, crew->thread);
    EXPECT_OK(t, crew->status);
    EXPECT_STATE(t, first.id, "completed");
    EXPECT_ATTEMPTS(t, second.id, "0:initial:released");
    EXPECT_INT(t, 1, crew->begun);
    EXPECT_INT(t, 1, crew->stats.released);
    EXPECT_INT(t, 0, crew->stats.lost);
}

FF_CONFORMANCE(worker_lease, when_the_grace_is_over_a_handler_gives_its_task_back)
{
    struct ff_worker_options options = crew_options();
    const struct name name = given_submitted(t);
    struct crew *crew;

    options.grace_ms = -1;
    crew = given_running(t, &options);
    when_crew_stops(t, crew);
    EXPECT_INT(t, 1, crew->cancelled);
    EXPECT_ATTEMPTS(t, name.id, "0:initial:released");
    EXPECT_STATE(t, name.id, "waiting");
    EXPECT_INT(t, 0, look(t, name.id)->retry_count);
}

static ff_verdict stop_at_once(struct ff_context *ctx, void *data)
{
    struct crew *const crew = data;

    ff_worker_stop(crew->worker);
    return ff_context_done(ctx, NULL);
}

FF_CONFORMANCE(worker_lease, a_handler_may_stop_its_worker)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted(t);

    given_handler(t, crew, "work", stop_at_once);
    when_crew_starts(t, crew);
    join_thread(t, crew->thread);
    EXPECT_OK(t, crew->status);
    EXPECT_STATE(t, name.id, "completed");
}
