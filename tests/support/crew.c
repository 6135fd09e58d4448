/* SPDX-License-Identifier: Apache-2.0
 *
 * crew.c -- a worker of the runtime in a thread of the test.
 *
 * Read first: tests/support/crew.h. */
#include "support/crew.h"

#include "base/banned.h"

struct ff_worker_options crew_options(void)
{
    return (struct ff_worker_options){
        .size = sizeof(struct ff_worker_options),
        .worker_id = WORKER,
        .threads = 4,
    };
}

/* Also when the test has failed half-way: its thread may still be running then. */
static void end_crew(void *ctx)
{
    struct crew *const crew = ctx;

    crew->go = true;
    ff_worker_stop(crew->worker);
    wait_for_thread(crew->thread);
    ff_worker_free(crew->worker);
}

struct crew *given_crew(struct test *t, const struct ff_worker_options *options)
{
    struct crew *const crew = keep(t, sizeof *crew);

    EXPECT_OK(t, ff_worker_new(t->client, options, &crew->worker, &t->err));
    before_end(t, end_crew, crew);
    return crew;
}

void given_handler(struct test *t, struct crew *crew, const char *kind, ff_task_handler handler)
{
    EXPECT_OK(t, ff_worker_handle(crew->worker, kind, handler, crew, &t->err));
}

static void run_crew(struct test *t, size_t index, void *ctx)
{
    struct crew *const crew = ctx;

    (void)t;
    (void)index;
    crew->status = ff_worker_run(crew->worker, &crew->err);
    ff_worker_stats(crew->worker, &crew->stats);
}

void when_crew_starts(struct test *t, struct crew *crew)
{
    crew->thread = start_thread(t, run_crew, 0, crew);
}

void when_crew_stops(struct test *t, struct crew *crew)
{
    ff_worker_stop(crew->worker);
    join_thread(t, crew->thread);
}

struct ff_worker_stats crew_stats(struct crew *crew)
{
    struct ff_worker_stats stats;

    ff_worker_stats(crew->worker, &stats);
    return stats;
}

void when_crew_has_worked(struct test *t, struct crew *crew, int64_t done)
{
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, crew_stats(crew).done >= done);
    when_crew_stops(t, crew);
    EXPECT_OK(t, crew->status);
}
