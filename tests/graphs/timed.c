/* SPDX-License-Identifier: Apache-2.0
 *
 * timed.c -- plays in which time passes: nodes with a delay, nodes whose deadline is over at once.
 *
 * Their engine has no loops, so nothing happens before it is asked for, and its pages are small, so
 * hops, reopenings and drains take several. Looks behind flowfabric.h for that. */
#include "play.h"

#include <string.h>

#include "api/api-int.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "ops/background.h"

#include "base/banned.h"

#define FIRE_MS 60000

void given_small_pages(struct test *t, int64_t rows)
{
    const struct ff_store_options where = {
        .url = t->url, .create = true, .clock = ff_clock_system(), .random = ff_random_system()};
    struct ff_engine_options options;
    struct ff_engine *engine = NULL;

    ff_engine_options_default(&options);
    EXPECT_OK(t, ff_store_open(&where, &options.store, &t->err));
    options.loops = false;
    options.settings.hop_edges = rows;
    options.settings.drain_rows = rows;
    EXPECT_OK(t, ff_engine_new(&options, &engine, &t->err));
    close_client(t, &t->client);
    t->client = ff_client_of_engine(engine, 30000);
    EXPECT(t, t->client);
}

/* How many timers have fired. */
static int64_t fire(struct play *p, ff_timer_scope scope, int64_t limit)
{
    const struct ff_timer_in in = {.scope = scope, .limit = limit};
    struct ff_job *job = ff_job_new(FF_OP_TIMER_FIRE, 0);
    const struct ff_timer_out *out;
    int64_t fired;

    EXPECT(p->t, job);
    job->in = ff_arena_copy(&job->arena, &in, sizeof in);
    EXPECT(p->t, job->in);
    ff_engine_call(p->client->engine, &job, 1, 30000);
    EXPECT_INT(p->t, FF_OK, job->status);
    out = job->out;
    fired = scope == FF_TIMER_DELAYS ? out->delays : out->deadlines;
    ff_job_free(job);
    return fired;
}

static bool somebody_is_delayed(struct play *p)
{
    struct ff_flow_info_list list;

    look_at_flow(p, &list);
    for (size_t i = 0; i < list.items[0].node_info_count; i++)
        if (strcmp(list.items[0].nodes[i].public_state, "delayed") == 0)
            return true;
    return false;
}

void let_delays_pass(struct play *p)
{
    const int64_t until_ms = test_mono_ms() + FIRE_MS;

    while (p->timed && somebody_is_delayed(p)) {
        (void)fire(p, FF_TIMER_DELAYS, 1000);
        if (test_mono_ms() > until_ms)
            FAIL(p->t, "a delay of a millisecond does not end");
    }
}

int let_one_expire(struct play *p)
{
    const int64_t until_ms = test_mono_ms() + FIRE_MS;
    struct ff_flow_info_list list;

    if (!p->timed || !model_has_doomed(&p->m))
        return -1;
    while (fire(p, FF_TIMER_DEADLINES, 1) == 0)
        if (test_mono_ms() > until_ms)
            FAIL(p->t, "a deadline of a millisecond does not pass");
    look_at_flow(p, &list);
    for (size_t i = 0; i < list.items[0].node_info_count; i++) {
        const struct ff_flow_node_info *const seen = &list.items[0].nodes[i];
        const int node = node_named(p, seen->name);

        if (strcmp(seen->public_state, "expired") == 0 && !model_has_ended(p->m.nodes[node].state))
            return node;
    }
    FAIL(p->t, "a deadline has passed, and nobody has expired");
}
