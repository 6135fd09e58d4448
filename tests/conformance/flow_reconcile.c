/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_reconcile.c -- what a crash has left of a cascade is found and finished.
 *
 * Looks behind flowfabric.h (src/engine/engine.h, src/ops/flow.h, src/store/fault.h): an engine
 * that commits the end of a member and never dispatches its hop is what a crash at the worst moment
 * leaves. */
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

#include "api/api-int.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "engine/engine.h"
#include "model/rowset.h"
#include "ops/background.h"
#include "ops/flow.h"
#include "store/fault.h"

#include "base/banned.h"

static struct ff_store *given_store(struct test *t)
{
    const struct ff_store_options where = {
        .url = t->url, .create = true, .clock = ff_clock_system(), .random = ff_random_system()};
    struct ff_store *store = NULL;

    needs_store(t, "an engine that is driven step by step");
    EXPECT_OK(t, ff_store_open(&where, &store, &t->err));
    return store;
}

static struct ff_engine *given_engine(struct test *t, const struct ff_engine_options *options)
{
    struct ff_engine *engine = NULL;

    EXPECT_OK(t, ff_engine_new(options, &engine, &t->err));
    close_client(t, &t->client);
    t->client = ff_client_of_engine(engine, 30000);
    EXPECT(t, t->client);
    return engine;
}

/* From now on nobody dispatches: no loops, and commits are not followed. */
static struct ff_engine *given_silence(struct test *t)
{
    struct ff_engine_options options;

    ff_engine_options_default(&options);
    options.store = given_store(t);
    options.loops = false;
    options.cascade = false;
    return given_engine(t, &options);
}

static struct ff_job *called(struct test *t, struct ff_engine *engine, ff_op_id op, const void *in,
                             size_t in_bytes)
{
    struct ff_job *job = ff_job_new(op, 0);

    EXPECT(t, job);
    job->in = ff_arena_copy(&job->arena, in, in_bytes);
    EXPECT(t, job->in);
    ff_engine_call(engine, &job, 1, 30000);
    EXPECT(t, job);
    EXPECT_INT(t, FF_OK, job->status);
    return job;
}

/* One tick of the dependency reconciler and nothing else. Returns how many hops it found. */
static size_t when_reconciled(struct test *t, struct ff_engine *engine, int64_t *advanced)
{
    const struct ff_find_in find = {.what = FF_FIND_HOPS, .limit = FF_FIND_ROWS};
    struct ff_job *const found = called(t, engine, FF_OP_HOP_FIND, &find, sizeof find);
    const struct ff_find_out *const out = found->out;
    const size_t count = out->count;

    for (size_t i = 0; i < count; i++) {
        struct ff_dispatch_in in = {.hop = out->hops[i]};
        bool more = true;

        while (more) {
            struct ff_job *const job = called(t, engine, FF_OP_HOP_DISPATCH, &in, sizeof in);
            const struct ff_dispatch_out *const done = job->out;

            more = done->more;
            *advanced += done->noop ? 0 : 1;
            ff_job_free(job);
        }
    }
    ff_job_free(found);
    return count;
}

static size_t ticks_to_the_end(struct test *t, struct ff_engine *engine)
{
    int64_t advanced = 0;
    size_t ticks = 0;

    while (when_reconciled(t, engine, &advanced) > 0)
        ticks++;
    EXPECT(t, advanced >= (int64_t)ticks);
    return ticks;
}

/* A crashed cascade of depth D drains in at most D ticks. */
FF_CONFORMANCE(flow_reconcile, a_tick_is_a_level)
{
    const struct flow flow = given_flow(t, "a b c d e f | a>b b>c c>d d>e e>f");
    struct ff_engine *const engine = given_silence(t);

    when_node_failed(t, &flow, "a");
    EXPECT_FLOW(t, &flow,
                "running a:failed b:waiting_children c:waiting_children d:waiting_children "
                "e:waiting_children f:waiting_children");
    EXPECT(t, ticks_to_the_end(t, engine) <= 6);
    EXPECT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped d:skipped e:skipped f:skipped");
}

/* However wide a level is, it takes one tick; the ends of a diamond are counted once. */
FF_CONFORMANCE(flow_reconcile, width_costs_no_tick)
{
    const struct flow flow = given_flow(t, "a b c d e | a>b a>c a>d b>e c>e d>e");
    struct ff_engine *const engine = given_silence(t);

    when_node_failed(t, &flow, "a");
    EXPECT(t, ticks_to_the_end(t, engine) <= 3);
    EXPECT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped d:skipped e:skipped");
    EXPECT_INT(t, 3, look_join(t, &flow, "e")->skip);
}

/* A second tick over the same hop adds nothing. */
FF_CONFORMANCE(flow_reconcile, again_is_a_noop)
{
    const struct flow flow = given_flow(t, "a b c | a>c b>c");
    struct ff_engine *const engine = given_silence(t);
    struct ff_dispatch_in in = {0};
    struct ff_job *job;
    struct ff_exec_id id;

    when_node_completed(t, &flow, "a");
    EXPECT_OK(t, ff_exec_id_parse(ff_str_of(node_id(t, &flow, "a")), &id, &t->err));
    in.hop = (struct ff_hop_key){id, 0, FF_HOP_COMPLETION};
    job = called(t, engine, FF_OP_HOP_DISPATCH, &in, sizeof in);
    EXPECT(t, !((const struct ff_dispatch_out *)job->out)->noop);
    ff_job_free(job);
    job = called(t, engine, FF_OP_HOP_DISPATCH, &in, sizeof in);
    EXPECT(t, ((const struct ff_dispatch_out *)job->out)->noop);
    ff_job_free(job);
    EXPECT_INT(t, 1, look_join(t, &flow, "c")->success);
}

/* As many pairs as may be: "p0" and "c0" that waits for it, and so on. */
static struct flow given_pairs(struct test *t, size_t count)
{
    char *const text = keep(t, count * 32 + 16);
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, 32, "p%zu c%zu ", i, i);
    at += (size_t)snprintf(text + at, 4, "|");
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, 16, " p%zu>c%zu", i, i);
    return given_flow(t, text);
}

/* Hops come in batches: small ones share the transaction that looks and the one that moves. */
FF_CONFORMANCE(flow_reconcile, many_hops_share_a_batch)
{
    enum { HOPS = 60 };
    const struct flow flow = given_pairs(t, HOPS);
    struct ff_engine *const engine = given_silence(t);
    struct ff_job *jobs[HOPS];
    struct ff_engine_stats before, after;

    for (size_t i = 0; i < HOPS; i++) {
        struct ff_dispatch_in in = {.hop.kind = FF_HOP_COMPLETION};
        char name[8];

        (void)snprintf(name, sizeof name, "p%zu", i);
        EXPECT_OK(t, when_cancelled(t, node_id(t, &flow, name)));
        EXPECT_OK(t, ff_exec_id_parse(ff_str_of(node_id(t, &flow, name)), &in.hop.id, &t->err));
        jobs[i] = ff_job_new(FF_OP_HOP_DISPATCH, 0);
        EXPECT(t, jobs[i]);
        jobs[i]->in = ff_arena_copy(&jobs[i]->arena, &in, sizeof in);
        EXPECT(t, jobs[i]->in);
    }
    ff_engine_stats(engine, &before);
    ff_engine_call(engine, jobs, HOPS, 30000);
    ff_engine_stats(engine, &after);
    for (size_t i = 0; i < HOPS; i++) {
        EXPECT_INT(t, FF_OK, jobs[i]->status);
        EXPECT_INT(t, 1, ((const struct ff_dispatch_out *)jobs[i]->out)->edges);
        ff_job_free(jobs[i]);
    }
    EXPECT_INT(t, HOPS, look_flow(t, &flow)->ended_count);
    EXPECT(t, after.batches - before.batches <= HOPS / 6);
}

/* F7: a fan-out of two pages stops in between: the hop is not done, and goes on where it was. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_hop_goes_on_at_its_cursor)
{
    enum { WIDTH = FF_HOP_EDGES_MAX + 200 };
    struct ff_flow_request *const r = graph(t, "a | ");
    struct ff_flow_node *const nodes = keep(t, (WIDTH + 1) * sizeof *nodes);
    struct ff_flow_edge *const edges = keep(t, WIDTH * sizeof *edges);
    struct ff_dispatch_in in = {0};
    struct ff_flow_made made;
    struct ff_engine *engine;
    struct ff_exec_id id;
    struct flow flow;
    struct ff_job *job;

    nodes[0] = r->nodes[0];
    for (size_t i = 0; i < WIDTH; i++) {
        char *const name = keep(t, 16);

        (void)snprintf(name, 16, "n%zu", i);
        nodes[i + 1] = nodes[0];
        nodes[i + 1].name = name;
        edges[i] = (struct ff_flow_edge){.from = "a", .to = name};
    }
    r->nodes = nodes;
    r->node_count = WIDTH + 1;
    r->edges = edges;
    r->edge_count = WIDTH;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    engine = given_silence(t);
    when_node_failed(t, &flow, "a");
    EXPECT_OK(t, ff_exec_id_parse(ff_str_of(node_id(t, &flow, "a")), &id, &t->err));
    in.hop = (struct ff_hop_key){id, 0, FF_HOP_COMPLETION};
    job = called(t, engine, FF_OP_HOP_DISPATCH, &in, sizeof in);
    EXPECT(t, ((const struct ff_dispatch_out *)job->out)->more);
    EXPECT_INT(t, FF_HOP_EDGES_MAX, ((const struct ff_dispatch_out *)job->out)->edges);
    ff_job_free(job);
    EXPECT_INT(t, 0, look_flow(t, &flow)->ended_count); /* nobody is counted before the last edge */
    given_reopened(t, NULL);
    WAIT_UNTIL(t, look_flow(t, &flow)->ended_count == WIDTH + 1);
    EXPECT_TEXT(t, "failed", look_flow(t, &flow)->state);
}

/* A drain that nobody has begun is finished after a restart. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_drain_is_finished_by_others)
{
    const struct flow flow = given_flow(t, "a b c d:any x | x>b x>c a>d b>d c>d");
    struct ff_engine *const engine = given_silence(t);
    int64_t advanced = 0;

    when_node_completed(t, &flow, "a");
    EXPECT_INT(t, 1, (int64_t)when_reconciled(t, engine, &advanced));
    EXPECT_FLOW(t, &flow,
                "running a:completed b:waiting_children c:waiting_children d:waiting x:waiting");
    given_reopened(t, NULL);
    WAIT_FLOW(t, &flow, "running a:completed b:cancelled c:cancelled d:waiting x:waiting");
    EXPECT_EVENTS(t, node_id(t, &flow, "c"), "completion.cancelled");
}

static void when_replayed_with_all_below(struct test *t, const char *id)
{
    struct ff_replay_request r;

    ff_replay_init(&r);
    r.execution_id = id;
    r.reopen_downstream = true;
    EXPECT_OK(t, ff_replay(t->client, &r, NULL, NULL, &t->err));
}

/* One whose join is open again is dropped; what the join waits for lives. */
FF_CONFORMANCE(flow_reconcile, a_stale_drain_is_dropped)
{
    const struct flow flow = given_flow(t, "a b d:any | a>d b>d");
    struct ff_engine *const engine = given_silence(t);
    struct ff_group_drain_in in = {.drain = {.decision = FF_GROUP_SATISFIED}};
    int64_t advanced = 0;
    struct ff_job *job;

    when_node_completed(t, &flow, "a");
    (void)when_reconciled(t, engine, &advanced);
    when_node_completed(t, &flow, "d");
    (void)when_reconciled(t, engine, &advanced);
    when_replayed_with_all_below(t, node_id(t, &flow, "a"));
    (void)when_reconciled(t, engine, &advanced);
    EXPECT_FLOW(t, &flow, "running a:waiting b:waiting d:waiting_children");
    EXPECT_OK(t, ff_exec_id_parse(ff_str_of(node_id(t, &flow, "d")), &in.drain.id, &t->err));
    job = called(t, engine, FF_OP_GROUP_DRAIN, &in, sizeof in);
    EXPECT_INT(t, 0, ((const struct ff_drain_out *)job->out)->cancelled);
    ff_job_free(job);
    EXPECT_FLOW(t, &flow, "running a:waiting b:waiting d:waiting_children");
}

/* The members of a flow whose cancel was all that was written follow after a restart. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_flow_cancel_is_finished_by_others)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");

    (void)given_silence(t);
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_all"));
    EXPECT_FLOW(t, &flow, "cancelled a:waiting b:waiting_children c:waiting_children");
    given_reopened(t, NULL);
    WAIT_FLOW(t, &flow, "cancelled a:cancelled b:cancelled c:cancelled");
    WAIT_UNTIL(t, look_flow(t, &flow)->ended_count == 3);
}

/* A cascade that is faster than the drain skips nobody: who waits in a cancelled flow is
 * cancelled, whichever way his join turns out. */
FF_CONFORMANCE(flow_reconcile, a_cascade_before_the_drain_cancels_too)
{
    const struct flow flow = given_flow(t, "a b c d e | a>c c>d b>e");
    struct ff_engine *const engine = given_silence(t);

    when_node_failed(t, &flow, "a");
    when_node_completed(t, &flow, "b");
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_all"));
    (void)ticks_to_the_end(t, engine);
    EXPECT_FLOW(t, &flow, "cancelled a:failed b:completed c:cancelled d:cancelled e:cancelled");
    EXPECT_TEXT(t, "not needed", look(t, node_id(t, &flow, "c"))->cancel_reason);
    EXPECT_TEXT(t, "flow", look(t, node_id(t, &flow, "d"))->cancelled_by);
}

/* A replay that comes before the last one's reopening was walked takes over what it was to do. */
FF_CONFORMANCE(flow_reconcile, all_below_is_not_forgotten_by_the_next_replay)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");
    struct ff_engine *const engine = given_silence(t);
    int64_t advanced = 0;

    for (const char *name = "abc"; *name; name++) {
        when_node_completed(t, &flow, (const char[]){*name, '\0'});
        (void)when_reconciled(t, engine, &advanced);
    }
    EXPECT_FLOW(t, &flow, "completed a:completed b:completed c:completed");
    when_replayed_with_all_below(t, node_id(t, &flow, "a"));
    when_node_failed(t, &flow, "a");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    (void)ticks_to_the_end(t, engine);
    EXPECT_FLOW(t, &flow, "running a:waiting b:waiting_children c:waiting_children");
    EXPECT_INT(t, 0, look_flow(t, &flow)->ended_count);
}

/* Retention: the flow goes first, for everybody at once; its members follow page by page, and at
 * every step the store is sound. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_removal_is_finished_by_others)
{
    enum { WIDTH = FF_DRAIN_ROWS + 20 };
    const struct ff_retention_in sweep = {.limit = FF_RETENTION_SCAN_ROWS, .retention_ms = 0};
    struct ff_flow_remove_in in = {0};
    struct ff_flow_info_list gone = {0};
    char *const text = keep(t, WIDTH * 24 + 16);
    struct ff_engine *engine;
    struct ff_filter filter;
    struct flow flow;
    struct ff_job *job;
    size_t at = 0;

    for (int i = 0; i < WIDTH; i++)
        at += (size_t)snprintf(text + at, 8, "n%d ", i);
    at += (size_t)snprintf(text + at, 8, "|");
    for (int i = 1; i < WIDTH; i++)
        at += (size_t)snprintf(text + at, 16, " n%d>n%d", i - 1, i);
    flow = given_flow(t, text);
    EXPECT_OK(t, when_flow_cancelled(t, &flow, "cancel_all"));
    WAIT_UNTIL(t, look_flow(t, &flow)->ended_count == WIDTH);
    engine = given_silence(t);
    ff_job_free(called(t, engine, FF_OP_RETENTION_SWEEP, &sweep, sizeof sweep));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_flow_get(t->client, flow.id, &gone, &t->err));
    expect_sound(t, t->client);
    EXPECT_OK(t, ff_flow_id_parse(ff_str_of(flow.id), &in.flow_id, &t->err));
    job = called(t, engine, FF_OP_FLOW_REMOVE, &in, sizeof in);
    EXPECT_INT(t, FF_DRAIN_ROWS, ((const struct ff_flow_remove_out *)job->out)->removed);
    EXPECT(t, ((const struct ff_flow_remove_out *)job->out)->more);
    ff_job_free(job);
    expect_sound(t, t->client);
    given_reopened(t, NULL);
    ff_filter_init(&filter);
    WAIT_UNTIL(t, list(t, &filter)->count == 0);
}

/* Loops that are restricted to a namespace leave the others' hops alone. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_filter_keeps_to_its_tenant)
{
    const struct ff_options one = {.size = sizeof one, .scan_ns = "one"};
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct flow flows[2];
    struct ff_flow_made made;

    for (size_t i = 0; i < 2; i++) {
        r->ns = i == 0 ? "one" : "two";
        EXPECT_OK(t, when_flow_created(t, r, &made));
        memcpy(flows[i].id, made.flow_id, sizeof flows[i].id);
    }
    (void)given_silence(t);
    when_node_failed(t, &flows[1], "a");
    when_node_failed(t, &flows[0], "a");
    given_reopened(t, &one);
    WAIT_FLOW(t, &flows[0], "failed a:failed b:skipped");
    EXPECT_FLOW(t, &flows[1], "running a:failed b:waiting_children");
    given_reopened(t, NULL);
    WAIT_FLOW(t, &flows[1], "failed a:failed b:skipped");
}

/* A restart finds what waits, within a second. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_restart_goes_on)
{
    const struct flow flow = given_flow(t, "a b c | a>b b>c");

    (void)given_silence(t);
    when_node_failed(t, &flow, "a");
    EXPECT_FLOW(t, &flow, "running a:failed b:waiting_children c:waiting_children");
    given_reopened(t, NULL);
    WAIT_FLOW(t, &flow, "failed a:failed b:skipped c:skipped");
}

/* A tool that cancels and leaves has done what follows from it. */
FF_CONFORMANCE(flow_reconcile, a_passive_client_finishes_its_own)
{
    const struct ff_options passive = {.size = sizeof passive, .passive = true};
    const struct flow first = given_flow(t, "a b c | a>b b>c");
    const struct flow second = given_flow(t, "a b | a>b");
    struct ff_client *tool;

    given_reopened(t, &passive);
    tool = another_client(t, &passive);
    EXPECT_OK(t, ff_cancel(tool, node_id(t, &first, "a"), "no", NULL, &t->err));
    EXPECT_OK(t, ff_flow_cancel(tool, second.id, "no", "cancel_all", NULL, &t->err));
    close_client(t, &tool);
    EXPECT_FLOW(t, &first, "failed a:cancelled b:skipped c:skipped");
    EXPECT_FLOW(t, &second, "cancelled a:cancelled b:cancelled");
}

/* ---- hops that fail -------------------------------------------------------------------------- */

/* A store that refuses every batch which holds the hop of one execution. */
struct refusal {
    struct ff_uuid whom;
    ff_fault_verdict verdict;
    _Atomic bool on;
    _Atomic int count;
};

static ff_fault_verdict refuse(void *ctx, const struct ff_call *call, uint64_t n)
{
    struct refusal *const refusal = ctx;

    (void)n;
    if ((call->kind != FF_CALL_LOAD && call->kind != FF_CALL_MORE) || !refusal->on)
        return FF_FAULT_RUN;
    for (const struct ff_entry *entry = call->rows->entries[FF_TABLE_OUTBOX]; entry;
         entry = entry->next) {
        const struct ff_outbox *const hop = entry->row;

        /* Edges tell a dispatch from the op that puts it off. */
        if (ff_uuid_eq(hop->execution_id, refusal->whom) && call->rows->entries[FF_TABLE_FLOW]) {
            refusal->count++;
            return refusal->verdict;
        }
    }
    return FF_FAULT_RUN;
}

static struct refusal *given_refusal(struct test *t, const struct flow *flow, const char *node,
                                     ff_fault_verdict verdict, bool loops)
{
    struct refusal *const refusal = keep(t, sizeof *refusal);
    const struct ff_fault fault = {.ctx = refusal, .decide = refuse};
    struct ff_engine_options options;
    struct ff_exec_id id;

    EXPECT_OK(t, ff_exec_id_parse(ff_str_of(node_id(t, flow, node)), &id, &t->err));
    refusal->whom = id.uuid;
    refusal->verdict = verdict;
    refusal->on = true;
    ff_engine_options_default(&options);
    options.loops = loops;
    options.store = ff_store_fault_new(given_store(t), &fault);
    EXPECT(t, options.store);
    (void)given_engine(t, &options);
    return refusal;
}

static bool explains(struct test *t, const char *id, const char *code)
{
    struct ff_explanation explanation = {0};

    EXPECT_OK(t, ff_explain(t->client, id, &explanation, &t->err));
    keep_answer(t, explanation.memory);
    for (size_t i = 0; i < explanation.count; i++)
        if (strcmp(explanation.items[i].code, code) == 0)
            return true;
    return false;
}

/* A hop that fails for its own sake is put off and told; all others go on; it is tried again. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_failing_hop_backs_off_alone)
{
    const struct flow bad = given_flow(t, "a b | a>b");
    const struct flow good = given_flow(t, "a b | a>b");
    struct refusal *const refusal = given_refusal(t, &bad, "a", FF_FAULT_BEFORE_OP, true);

    when_node_completed(t, &bad, "a");
    WAIT_UNTIL(t, explains(t, node_id(t, &bad, "b"), "hop"));
    when_node_completed(t, &good, "a");
    when_node_completed(t, &good, "b");
    WAIT_FLOW(t, &good, "completed a:completed b:completed");
    WAIT_UNTIL(t, refusal->count >= 2);
    EXPECT_FLOW(t, &bad, "running a:completed b:waiting_children");
    refusal->on = false;
    WAIT_FLOW(t, &bad, "running a:completed b:waiting");
}

/* A row that somebody holds costs a hop no back-off and no look into the store: here are no loops
 * that could find it again. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_busy_hop_stays_on_the_list)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct refusal *const refusal = given_refusal(t, &flow, "a", FF_FAULT_BEFORE, false);

    when_node_completed(t, &flow, "a");
    WAIT_UNTIL(t, refusal->count >= 100); /* answered 'busy' more than once */
    refusal->on = false;
    WAIT_FLOW(t, &flow, "running a:completed b:waiting");
    EXPECT(t, !explains(t, node_id(t, &flow, "b"), "hop"));
}

/* A hop that waits for somebody else's row hides none that a crash has left: they are found at
 * once, not by the reconciler. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_held_hop_hides_no_other)
{
    const struct flow held = given_flow(t, "a b | a>b");
    const struct flow left = given_flow(t, "a b | a>b");
    struct refusal *const refusal = given_refusal(t, &held, "a", FF_FAULT_BEFORE, true);
    struct ff_client *const busy = t->client;

    when_node_completed(t, &held, "a");
    WAIT_UNTIL(t, refusal->count >= 100); /* answered 'busy' more than once */
    t->client = NULL;
    (void)given_silence(t);
    when_node_completed(t, &left, "a");
    close_client(t, &t->client);
    t->client = busy;
    WAIT_FLOW(t, &left, "running a:completed b:waiting");
    expect_reconcilers_idle(t);
    refusal->on = false;
    WAIT_FLOW(t, &held, "running a:completed b:waiting");
}

/* After ten tries it is stuck: fsck, the scanners and explain say so. Then it goes on. */
FF_CONFORMANCE(flow_reconcile, a_stuck_hop_is_seen_everywhere)
{
    const struct flow flow = given_flow(t, "a b | a>b");
    struct ff_engine *const engine = given_silence(t);
    struct ff_postpone_in in = {0};
    struct ff_scanner_list scanners = {0};
    struct ff_findings found = {0};
    int64_t advanced = 0;
    struct ff_exec_id id;

    when_node_completed(t, &flow, "a");
    EXPECT_OK(t, ff_exec_id_parse(ff_str_of(node_id(t, &flow, "a")), &id, &t->err));
    in.hop = (struct ff_hop_key){id, 0, FF_HOP_COMPLETION};
    for (int i = 0; i < FF_HOP_TRIES_STUCK - 1; i++)
        ff_job_free(called(t, engine, FF_OP_HOP_POSTPONE, &in, sizeof in));
    EXPECT(t, explains(t, node_id(t, &flow, "b"), "hop"));
    EXPECT(t, !explains(t, node_id(t, &flow, "b"), "hop_stuck"));
    ff_job_free(called(t, engine, FF_OP_HOP_POSTPONE, &in, sizeof in));
    EXPECT(t, explains(t, node_id(t, &flow, "a"), "hop_stuck"));
    EXPECT(t, explains(t, node_id(t, &flow, "b"), "hop_stuck"));
    EXPECT(t, explains(t, node_id(t, &flow, "b"), "dependencies"));
    EXPECT_OK(t, ff_scanners(t->client, &scanners, &t->err));
    keep_answer(t, scanners.memory);
    EXPECT_INT(t, 1, scanners.stuck_hops);
    EXPECT_OK(t, ff_fsck(t->client, &found, &t->err));
    keep_answer(t, found.memory);
    EXPECT_INT(t, 1, (int64_t)found.count);
    EXPECT_TEXT(t, "hop_stuck", found.items[0].check);
    EXPECT_TEXT(t, node_id(t, &flow, "a"), found.items[0].execution_id);
    EXPECT_INT(t, 0, (int64_t)when_reconciled(t, engine, &advanced)); /* its time has not come */

    const struct ff_dispatch_in now = {.hop = in.hop};
    ff_job_free(called(t, engine, FF_OP_HOP_DISPATCH, &now, sizeof now));
    EXPECT_FLOW(t, &flow, "running a:completed b:waiting");
}

static void when_put_off_for_good(struct test *t, struct ff_engine *engine,
                                  const struct ff_postpone_in *in)
{
    for (int i = 0; i < FF_HOP_TRIES_STUCK; i++)
        ff_job_free(called(t, engine, FF_OP_HOP_POSTPONE, in, sizeof *in));
}

static bool explains_so(struct test *t, const char *id, const char *code, const char *start)
{
    struct ff_explanation why = {0};

    EXPECT_OK(t, ff_explain(t->client, id, &why, &t->err));
    keep_answer(t, why.memory);
    for (size_t i = 0; i < why.count; i++)
        if (strcmp(why.items[i].code, code) == 0)
            return strncmp(why.items[i].detail, start, strlen(start)) == 0;
    return false;
}

/* A reopening is told by the one that runs again, whatever it does meanwhile, and by those below,
 * whose edges it has yet to take back. */
FF_CONFORMANCE(flow_reconcile, a_stuck_reopening_is_explained)
{
    const struct flow flow = given_flow(t, "a b c d | a>b c>d");
    struct ff_engine *const engine = given_silence(t);
    struct ff_postpone_in in = {0};
    int64_t advanced = 0;
    struct ff_exec_id id;

    when_node_failed(t, &flow, "a");
    (void)when_reconciled(t, engine, &advanced);
    EXPECT_FLOW(t, &flow, "running a:failed b:skipped c:waiting d:waiting_children");
    EXPECT_OK(t, when_replayed(t, node_id(t, &flow, "a")));
    EXPECT(t, explains_so(t, node_id(t, &flow, "a"), "hop",
                          "the reopening of 'a' is being passed on"));
    EXPECT_OK(t, ff_exec_id_parse(ff_str_of(node_id(t, &flow, "a")), &id, &t->err));
    in.hop = (struct ff_hop_key){id, 1, FF_HOP_REOPEN};
    when_put_off_for_good(t, engine, &in);
    EXPECT_FLOW(t, &flow, "running a:waiting b:skipped c:waiting d:waiting_children");
    EXPECT(t, explains_so(t, node_id(t, &flow, "a"), "hop_stuck",
                          "the reopening of 'a' could not be passed on"));
    EXPECT(t, explains_so(t, node_id(t, &flow, "b"), "hop_stuck",
                          "the reopening of 'a' could not be passed on"));
    (void)given_node(t, &flow, "a");
    EXPECT(t, explains(t, node_id(t, &flow, "a"), "hop_stuck"));
    EXPECT(t, !explains(t, node_id(t, &flow, "d"), "hop_stuck"));

    const struct ff_dispatch_in now = {.hop = in.hop};
    ff_job_free(called(t, engine, FF_OP_HOP_DISPATCH, &now, sizeof now));
    EXPECT(t, !explains(t, node_id(t, &flow, "b"), "hop_stuck"));
}

/* How many wait and are not put off; *ret is the first. */
static size_t when_found(struct test *t, struct ff_engine *engine, ff_find_what what,
                         struct ff_postpone_in *ret)
{
    const struct ff_find_in find = {.what = what, .limit = FF_FIND_ROWS};
    struct ff_job *const job = called(t, engine, FF_OP_HOP_FIND, &find, sizeof find);
    const struct ff_find_out *const out = job->out;
    const size_t count = out->count;

    ret->what = what;
    if (count > 0 && what == FF_FIND_DRAINS)
        ret->drain = out->drains[0];
    else if (count > 0)
        ret->flow_id = out->flows[0];
    ff_job_free(job);
    return count;
}

/* The same for cancels that fail: of what a join no longer needs, and of a whole flow. */
FF_CONFORMANCE(flow_reconcile, a_stuck_cancel_is_seen_everywhere)
{
    const struct flow joined = given_flow(t, "a b c:any | a>c b>c");
    const struct flow ended = given_flow(t, "a b | a>b");
    struct ff_engine *const engine = given_silence(t);
    struct ff_postpone_in drain = {0};
    struct ff_postpone_in whole = {0};
    struct ff_scanner_list scanners = {0};
    struct ff_findings found = {0};
    int64_t advanced = 0;

    when_node_completed(t, &joined, "a");
    EXPECT_INT(t, 1, (int64_t)when_reconciled(t, engine, &advanced));
    EXPECT_OK(t, when_flow_cancelled(t, &ended, "cancel_all"));
    EXPECT_INT(t, 1, (int64_t)when_found(t, engine, FF_FIND_DRAINS, &drain));
    EXPECT_INT(t, 1, (int64_t)when_found(t, engine, FF_FIND_FLOWS, &whole));
    EXPECT(t, !explains(t, node_id(t, &joined, "b"), "drain"));
    ff_job_free(called(t, engine, FF_OP_HOP_POSTPONE, &drain, sizeof drain));
    EXPECT(t, explains(t, node_id(t, &joined, "b"), "drain"));
    when_put_off_for_good(t, engine, &drain);
    when_put_off_for_good(t, engine, &whole);
    EXPECT(t, explains(t, node_id(t, &joined, "b"), "drain_stuck"));
    EXPECT(t, explains(t, node_id(t, &joined, "c"), "drain_stuck"));
    EXPECT(t, explains(t, node_id(t, &ended, "a"), "drain_stuck"));
    EXPECT_OK(t, ff_scanners(t->client, &scanners, &t->err));
    keep_answer(t, scanners.memory);
    EXPECT_INT(t, 2, scanners.stuck_hops);
    EXPECT_OK(t, ff_fsck(t->client, &found, &t->err));
    keep_answer(t, found.memory);
    EXPECT_INT(t, 2, (int64_t)found.count);
    EXPECT_TEXT(t, "drain_stuck", found.items[0].check);
    EXPECT_TEXT(t, node_id(t, &joined, "c"), found.items[0].execution_id);
    EXPECT_TEXT(t, "flow_stuck", found.items[1].check);
    EXPECT_INT(t, 0, (int64_t)when_found(t, engine, FF_FIND_DRAINS, &(struct ff_postpone_in){0}));
    EXPECT_INT(t, 0, (int64_t)when_found(t, engine, FF_FIND_FLOWS, &(struct ff_postpone_in){0}));

    const struct ff_group_drain_in siblings = {.drain = drain.drain};
    const struct ff_flow_drain_in members = {.flow_id = whole.flow_id};
    ff_job_free(called(t, engine, FF_OP_GROUP_DRAIN, &siblings, sizeof siblings));
    ff_job_free(called(t, engine, FF_OP_FLOW_DRAIN, &members, sizeof members));
    EXPECT_FLOW(t, &joined, "running a:completed b:cancelled c:waiting");
    EXPECT_FLOW(t, &ended, "cancelled a:cancelled b:cancelled");
}

/* Refuses every batch that is about to cancel the members of one flow. */
static ff_fault_verdict refuse_drain(void *ctx, const struct ff_call *call, uint64_t n)
{
    struct refusal *const refusal = ctx;

    (void)n;
    if (call->kind != FF_CALL_LOAD || !refusal->on || !call->rows->entries[FF_TABLE_EXECUTION])
        return FF_FAULT_RUN;
    for (const struct ff_entry *entry = call->rows->entries[FF_TABLE_FLOW]; entry;
         entry = entry->next)
        if (ff_uuid_eq(((const struct ff_flow *)entry->row)->flow_id, refusal->whom)) {
            refusal->count++;
            return refusal->verdict;
        }
    return FF_FAULT_RUN;
}

/* A flow that cannot be cancelled backs off too, and tells; others are. */
FF_CONFORMANCE_SLOW(flow_reconcile, a_failing_flow_cancel_backs_off_alone)
{
    const struct flow bad = given_flow(t, "a b | a>b");
    const struct flow good = given_flow(t, "a b | a>b");
    struct refusal *const refusal = keep(t, sizeof *refusal);
    const struct ff_fault fault = {.ctx = refusal, .decide = refuse_drain};
    struct ff_engine_options options;

    EXPECT(t, ff_uuid_parse(ff_str_of(bad.id), &refusal->whom));
    refusal->verdict = FF_FAULT_BEFORE_OP;
    refusal->on = true;
    ff_engine_options_default(&options);
    options.loops = true;
    options.store = ff_store_fault_new(given_store(t), &fault);
    EXPECT(t, options.store);
    (void)given_engine(t, &options);
    EXPECT_OK(t, when_flow_cancelled(t, &bad, "cancel_all"));
    EXPECT_OK(t, when_flow_cancelled(t, &good, "cancel_all"));
    WAIT_FLOW(t, &good, "cancelled a:cancelled b:cancelled");
    WAIT_UNTIL(t, explains(t, node_id(t, &bad, "a"), "drain"));
    WAIT_UNTIL(t, refusal->count >= 2);
    EXPECT_FLOW(t, &bad, "cancelled a:waiting b:waiting_children");
    refusal->on = false;
    WAIT_FLOW(t, &bad, "cancelled a:cancelled b:cancelled");
}
