/* SPDX-License-Identifier: Apache-2.0
 *
 * lockstep.c -- random graphs, one word at a time: the engine and the model must agree.
 *
 * After every word the cascade is let run to its end, so the model can say what must have become of
 * the graph. Which node a claim hands out is the engine's choice; that it may be handed out is
 * checked. Everything else is drawn from the seed. */
#include "play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 20000

static const ff_status statuses[] = {[YES] = FF_OK,
                                     [ALREADY_ENDED] = FF_ALREADY_TERMINAL,
                                     [NOT_ENDED] = FF_NOT_TERMINAL,
                                     [FLOW_ENDED] = FF_FLOW_TERMINAL,
                                     [DEPENDENCIES] = FF_DEPENDENCIES_FAILED};

/* Plays in which nothing rare happens prove nothing: all of these must have been met. */
static struct {
    unsigned skipped, siblings, in_doubt, reopened, grown, born_resolved, told_again,
        flow_cancelled, guilty, follow, downstream, refused, lost, expired;
} met;

static void say(const struct play *p, const char *what, int node)
{
    if (graph_options.loud)
        (void)printf("#   %u: %s %s\n", p->steps, what, node < 0 ? "" : p->names[node]);
}

static void settle_as_seen(struct play *p)
{
    const char *problem;

    met.in_doubt++;
    see_flow(p);
    problem = model_settle_as(&p->m, &p->seen);
    if (problem)
        FAIL(p->t, "%s", problem);
    compare_flow(p);
}

static void settle_once(struct play *p)
{
    const int cancelled = model_count(&p->m, CANCELLED);
    const int skipped = model_count(&p->m, SKIPPED);

    wait_settled(p->t, p->client);
    let_delays_pass(p);
    if (!model_settle(&p->m))
        settle_as_seen(p);
    met.siblings += p->m.cancel < PENDING_ONES && model_count(&p->m, CANCELLED) > cancelled;
    met.skipped += model_count(&p->m, SKIPPED) > skipped;
    met.reopened += model_count(&p->m, SKIPPED) < skipped;
}

static void settle(struct play *p)
{
    int node;

    settle_once(p);
    while ((node = let_one_expire(p)) >= 0) {
        say(p, "expires", node);
        met.expired++;
        model_expire(&p->m, node);
        settle_once(p);
    }
}

/* ---- workers ---- */

static void claim(struct play *p)
{
    const char *const lanes[] = {p->lane};
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};
    int node;

    r.lanes = lanes;
    r.lane_count = 1;
    r.lease_ttl_ms = 3600000;
    EXPECT_OK(p->t, ff_claim(p->client, &r, &tasks, &p->t->err));
    keep_answer(p->t, tasks.memory);
    if (model_count(&p->m, READY) == 0) {
        EXPECT_INT(p->t, 0, (int64_t)tasks.count);
        return;
    }
    EXPECT_INT(p->t, 1, (int64_t)tasks.count);
    node = node_named(p, tasks.items[0].node);
    say(p, "claimed", node);
    EXPECT_TEXT(p->t, p->ids[node], tasks.items[0].execution_id);
    if (p->m.nodes[node].state != READY)
        FAIL(p->t, "'%s' was handed out, but may not run", p->names[node]);
    EXPECT_INT(p->t, p->m.nodes[node].generation, tasks.items[0].generation);
    EXPECT_INT(p->t, p->m.nodes[node].total, (int64_t)tasks.items[0].upstream_count);
    model_claim(&p->m, node);
    p->held[p->held_count].node = node;
    p->held[p->held_count].claim = p->m.nodes[node].claims;
    p->held[p->held_count++].task = held_of(&tasks.items[0]);
}

static ff_status fail_task(struct play *p, const struct held *task, bool for_good)
{
    struct ff_failure failure = failure_of(task, for_good ? "permanent" : "transient");

    failure.retry_after_ms = 0;
    return when_failed_as(p->t, &failure);
}

/* One of the tasks at hand is given an end. */
static void say_word(struct play *p)
{
    const size_t at = dice(p, p->held_count);
    const int node = p->held[at].node;
    const struct held task = p->held[at].task;
    const struct temper *const temper = &p->temper;
    const bool lost =
        p->m.nodes[node].state != ACTIVE || p->m.nodes[node].claims != p->held[at].claim;
    ff_status status;

    p->held[at] = p->held[--p->held_count];
    if (lost) {
        status = when_completed(p->t, &task, "1");
        EXPECT(p->t, status == FF_NOT_ACTIVE || status == FF_STALE_LEASE);
        met.lost++;
        return;
    }
    if (chance(p, temper->fail)) {
        say(p, "fails", node);
        status = fail_task(p, &task, true);
        model_fail(&p->m, node, true);
    } else if (chance(p, temper->fail_once)) {
        say(p, "fails once", node);
        status = fail_task(p, &task, false);
        model_fail(&p->m, node, false);
    } else if (chance(p, temper->give_back)) {
        say(p, "is given back", node);
        status = chance(p, 500) ? when_released(p->t, &task, "later") : when_revoked(p->t, task.id);
        model_give_back(&p->m, node);
    } else {
        say(p, "completes", node);
        status = when_completed(p->t, &task, "1");
        model_complete(&p->m, node);
    }
    EXPECT_OK(p->t, status);
}

/* ---- operators ---- */

static void expect_answer(struct play *p, answer want, ff_status got)
{
    EXPECT_STATUS(p->t, statuses[want], got);
    met.refused += want != YES;
}

static void cancel_member(struct play *p)
{
    const int node = (int)dice(p, (uint64_t)p->m.node_count);

    say(p, "cancel", node);
    expect_answer(p, model_cancel(&p->m, node), when_cancelled(p->t, p->ids[node]));
}

static void cancel_flow(struct play *p)
{
    static const char *const names[] = {NULL, "cancel_flow_only", "cancel_pending", "cancel_all"};
    const cancel_policy policy = (cancel_policy)(1 + dice(p, 3));

    say(p, names[policy], -1);
    met.flow_cancelled++;
    expect_answer(
        p, model_cancel_flow(&p->m, policy),
        ff_flow_cancel(p->client, p->flow_id, "not needed", names[policy], NULL, &p->t->err));
}

/* Some of the nodes that the new edges start at are named once more. */
static void tell_again(struct play *p, int first_node, int first_edge)
{
    memset(p->told_again, 0, sizeof p->told_again);
    for (int e = first_edge; e < p->m.edge_count; e++)
        if (p->m.edges[e].from < first_node && chance(p, 300))
            p->told_again[p->m.edges[e].from] = true;
}

static void count_born(const struct play *p, int first_edge)
{
    met.grown++;
    for (int e = first_edge; e < p->m.edge_count; e++) {
        const bool resolved = p->m.edges[e].state != OPEN;

        met.born_resolved += resolved;
        met.told_again += resolved && p->told_again[p->m.edges[e].from];
    }
}

static void grow(struct play *p)
{
    static struct model before;
    const answer want = model_may_grow(&p->m);
    const int first_edge = p->m.edge_count;
    int first_node;

    before = p->m;
    p->grows++;
    first_node = plan_nodes(p, 1 + (int)dice(p, 6));
    if (first_node == p->m.node_count)
        return; /* as large as may be */
    say(p, "grow from", first_node);
    tell_again(p, first_node, first_edge);
    expect_answer(p, want, ask_flow(p, first_node, first_edge));
    if (want != YES) {
        p->m = before;
        return;
    }
    p->m.revision++;
    model_born(&p->m, first_node, first_edge);
    count_born(p, first_edge);
    if (chance(p, 300)) /* the same again is no news */
        EXPECT_OK(p->t, ask_flow(p, first_node, first_edge));
}

static int pick_ended(struct play *p)
{
    for (int tries = 0; tries < 8; tries++) {
        const int node = (int)dice(p, (uint64_t)p->m.node_count);

        if (model_has_ended(p->m.nodes[node].state))
            return node;
    }
    return (int)dice(p, (uint64_t)p->m.node_count);
}

static bool somebody_follows(const struct model *m)
{
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].follows && m->nodes[i].state != SKIPPED)
            return true;
    return false;
}

static void replay(struct play *p)
{
    const int node = pick_ended(p);
    const bool ancestors = chance(p, 500);
    const bool downstream = chance(p, 250);
    struct ff_replay_request r;
    answer want;

    say(p,
        downstream  ? "replay with all below"
        : ancestors ? "replay the guilty of"
                    : "replay",
        node);
    p->replays++;
    ff_replay_init(&r);
    r.execution_id = p->ids[node];
    r.scope = ancestors ? "failed_ancestors" : NULL;
    r.reopen_downstream = downstream;
    want = model_replay(&p->m, node, ancestors, downstream);
    met.guilty += ancestors && want == YES && model_has_ended(p->m.nodes[node].state);
    met.follow += ancestors && want == YES && somebody_follows(&p->m);
    met.downstream += downstream && want == YES;
    expect_answer(p, want, ff_replay(p->client, &r, NULL, NULL, &p->t->err));
}

/* ---- a whole play ---- */

static void step(struct play *p)
{
    const struct temper *const temper = &p->temper;

    if (chance(p, temper->cancel))
        cancel_member(p);
    else if (chance(p, temper->cancel_flow))
        cancel_flow(p);
    else if (p->grows < temper->grows_max && chance(p, temper->grow))
        grow(p);
    else if (p->replays < temper->replays_max && chance(p, temper->replay))
        replay(p);
    else if (p->held_count > 0 &&
             (model_count(&p->m, READY) == 0 || p->held_count == HELD_MAX || chance(p, 550)))
        say_word(p);
    else
        claim(p);
    settle(p);
    if (chance(p, 50))
        compare_flow(p);
}

/* Until nobody has anything to do any more. */
static void play_out(struct play *p)
{
    while (!model_is_over(&p->m) || p->held_count > 0) {
        if (model_count(&p->m, READY) + (int)p->held_count == 0)
            FAIL(p->t, "nothing can be done and not everything has ended");
        if (p->steps++ == STEPS_MAX)
            FAIL(p->t, "too many steps");
        step(p);
        forget(p->t);
    }
}

static void play(struct test *t, uint64_t seed, bool timed)
{
    static struct play the_play;
    struct play *const p = &the_play;

    memset(p, 0, sizeof *p);
    p->t = t;
    p->client = t->client;
    p->timed = timed;
    ff_prng_init(&p->prng, seed);
    (void)snprintf(p->lane, sizeof p->lane, "g%" PRIu64, seed);
    /* Ids decide who is served first: they are the seed's, too. */
    (void)snprintf(p->flow_id, sizeof p->flow_id, "%08x-0000-7000-8000-%012" PRIx64,
                   (unsigned)dice(p, UINT32_MAX), seed);
    p->temper = plan_temper(p);
    (void)plan_nodes(p, plan_size(p));
    EXPECT_OK(t, ask_flow(p, 0, 0));
    model_born(&p->m, 0, 0);
    settle(p);
    play_out(p);
    compare_flow(p);
    for (int i = 0; i < 2 && p->temper.replay > 0; i++) { /* and what was over begins anew */
        replay(p);
        settle(p);
        play_out(p);
    }
    compare_flow(p);
    compare_past(p);
    forget(t);
}

static void expect_all_met(struct test *t)
{
    (void)printf(
        "# met: %u skips, %u sibling cancels, %u in doubt, %u reopenings, %u grown, %u edges "
        "born resolved (%u from nodes told again), %u flows cancelled, %u of the guilty (%u with "
        "some that follow), %u with all below, %u refused, "
        "%u tasks lost, %u expired\n",
        met.skipped, met.siblings, met.in_doubt, met.reopened, met.grown, met.born_resolved,
        met.told_again, met.flow_cancelled, met.guilty, met.follow, met.downstream, met.refused,
        met.lost, met.expired);
    EXPECT(t, met.skipped && met.siblings && met.in_doubt && met.reopened && met.grown);
    EXPECT(t, met.born_resolved && met.told_again && met.flow_cancelled && met.guilty &&
                  met.follow && met.downstream);
    EXPECT(t, met.refused && met.lost && met.expired);
}

static void play_many(struct test *t)
{
    const bool many = t->store->kind == TEST_STORE_MEMORY;
    const unsigned usual = (many ? 300U : 30U) * (is_full_run() ? 7U : 1U);
    const unsigned count = graph_options.count ? graph_options.count : usual;
    const int64_t rows =
        graph_options.rows ? graph_options.rows : 3 + (int64_t)(graph_options.seed % 5);
    const unsigned timed_from = graph_options.rows ? 0 : count - count / 2;

    graph_options.page = 0;
    memset(&met, 0, sizeof met);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    for (unsigned i = 0; i < count; i++) {
        graph_options.now = graph_options.seed + i;
        if (i == timed_from) {
            expect_reconcilers_idle(t);
            graph_options.page = rows;
            given_small_pages(t, rows);
        }
        play(t, graph_options.now, i >= timed_from);
    }
    (void)printf("# %u graphs agree, from seed %" PRIu64 " on\n", count, graph_options.seed);
    if (count >= 100)
        expect_all_met(t);
}

const struct plain_case model_cases[] = {
    {"model/agrees_on_memory", TEST_STORE_MEMORY, play_many, false},
    {"model/agrees_on_file", TEST_STORE_FILE, play_many, false},
    {"model/agrees_on_postgres", TEST_STORE_POSTGRES, play_many, false},
    {0},
};
