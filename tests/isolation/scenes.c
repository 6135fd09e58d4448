/* SPDX-License-Identifier: Apache-2.0
 *
 * scenes.c -- what there is before the players speak.
 *
 * In every scene there is one execution that all acts are about: `x`. In flows it is `b`, but where
 * something else is said, and holds a lease that has lapsed. */
#include "inputs.h"

#include <assert.h>

#include "model/codes.h"

#include "base/banned.h"

/* --- single executions --- */

static void given_submitted(struct game *game, ff_lapse lapse)
{
    struct ff_submit_in *in;

    game->x = (struct ff_exec_id){7, id_of(game, 1)};
    game_name(game, game->x.uuid, "x");
    in = submission(game, game->x);
    in->policy.lease_lapse = lapse;
    in->policy.max_reclaim_count = 3;
    check(game,
          ff_submit_prepare(in, &game->author->settings, arena_of(game), &game->author->error));
    (void)stage_do(game->board, FF_OP_EXECUTION_SUBMIT, in);
}

/* Everything claimable is held; the lease of `x` is the game's. */
static void given_held(struct game *game)
{
    const struct ff_claim_out *const out =
        stage_do(game->board, FF_OP_EXECUTION_CLAIM, claim(game, "holder", SHORT_MS));

    game->task_count = out->task_count;
    for (size_t i = 0; i < out->task_count; i++) {
        game->tasks[i] = world_task(out, i);
        if (ff_exec_id_eq(out->tasks[i].id, game->x))
            game->lease = game->tasks[i];
    }
    assert(game->lease.lease_epoch);
}

static void set_ready(struct game *game)
{
    given_submitted(game, FF_LAPSE_RETRY);
    game->lease = (struct ff_task_ref){.id = game->x, .lease_id = id_of(game, 9), .lease_epoch = 1};
    game_name(game, game->lease.lease_id, "no_lease");
}

static void set_held(struct game *game)
{
    given_submitted(game, FF_LAPSE_RETRY);
    given_held(game);
}

static void set_reclaimable(struct game *game)
{
    given_submitted(game, FF_LAPSE_RECLAIM);
    given_held(game);
    board_pass(game->board, REST_MS);
    (void)stage_do(game->board, FF_OP_TIMER_FIRE, leases(game));
}

static void set_ended(struct game *game)
{
    set_held(game);
    (void)stage_do(game->board, FF_OP_EXECUTION_COMPLETE, completion(game, game->lease));
}

/* --- flows --- */

static struct ff_exec_id node(struct game *game, const char *name)
{
    return world_node(game->flow_id, name);
}

/* An id of this game's flow under which `c` comes before `d`: whose word counts among several that
 * ask for the same depends on the order of their ids. */
static struct ff_uuid flow_id_of(struct game *game)
{
    struct ff_uuid id = id_of(game, 2);

    while (ff_uuid_cmp(world_node(id, "c").uuid, world_node(id, "d").uuid) > 0)
        id.b[3]++;
    return id;
}

/* `b` is x, `c` the node below; everything that can run is held. */
static void given_flow(struct game *game, const char *text)
{
    struct ff_flow_create_in in = {.namespace = game->lane, .own_id = true};

    in.flow_id = game->flow_id = flow_id_of(game);
    in.graph = graph(game, text);
    game_name(game, game->flow_id, "flow");
    for (const char *name = "a\0b\0c\0d\0e\0g\0"; *name; name += 2)
        game_name(game, node(game, name).uuid, "%s", name);
    game->other = node(game, "a");
    game->x = node(game, "b");
    game->join = game->below = node(game, "c");
    check(game,
          ff_flow_prepare(&in, &game->author->settings, arena_of(game), &game->author->error));
    (void)stage_do(game->board, FF_OP_FLOW_CREATE, make(game, &in, sizeof in));
    given_held(game);
}

static struct ff_task_ref task_of(struct game *game, const char *name)
{
    for (size_t i = 0; i < game->task_count; i++)
        if (ff_exec_id_eq(game->tasks[i].id, node(game, name)))
            return game->tasks[i];
    assert(!"nobody holds it");
    return (struct ff_task_ref){0};
}

static void given_completed(struct game *game, const char *name)
{
    (void)stage_do(game->board, FF_OP_EXECUTION_COMPLETE, completion(game, task_of(game, name)));
}

static void given_failed(struct game *game, const char *name)
{
    (void)stage_do(game->board, FF_OP_EXECUTION_FAIL,
                   MAKE(game, struct ff_fail_in, .task = task_of(game, name),
                        .message = FF_STR("no"), .failure_class = FF_FAILURE_PERMANENT,
                        .retry_after_ms = FF_NULL64));
}

static void given_told(struct game *game, const char *name)
{
    (void)stage_do(game->board, FF_OP_HOP_DISPATCH, dispatch(game, node(game, name)));
}

/* The drain that `name` has left is the one players may work on. */
static void given_decided(struct game *game, const char *name)
{
    const struct ff_find_out *const found =
        stage_do(game->board, FF_OP_HOP_FIND,
                 MAKE(game, struct ff_find_in, .what = FF_FIND_DRAINS, .limit = 10,
                      .filter.namespace = game->lane));

    assert(found->count == 1 && ff_exec_id_eq(found->drains[0].id, node(game, name)));
    game->join = found->drains[0].id;
    game->decision = found->drains[0].decision;
}

/* The hop of `a` waits. */
static void set_flow_running(struct game *game)
{
    given_flow(game, "a b c | a>c b>c");
    given_completed(game, "a");
}

/* Two hops wait. */
static void set_flow_hops(struct game *game)
{
    set_flow_running(game);
    given_completed(game, "b");
}

/* Nobody needs `b` any more, and nobody has told it. */
static void set_flow_decided(struct game *game)
{
    given_flow(game, "a b c:any | a>c b>c");
    given_completed(game, "a");
    given_told(game, "a");
    given_decided(game, "c");
}

/* `a` is what failed, and the node below was skipped for it. */
static void set_flow_failed(struct game *game)
{
    given_flow(game, "a b c | a>c b>c");
    given_failed(game, "a");
    given_told(game, "a");
    game->x = node(game, "a");
    game->other = node(game, "c");
    game->lease.id = game->x;
}

/* `c` asks to cancel `b`, `d` needs it: until the hop of `e` says that `d` cannot run. */
static void set_flow_spared(struct game *game)
{
    given_flow(game, "a b e c:any d | a>c b>c b>d e>d");
    given_completed(game, "a");
    given_told(game, "a");
    given_decided(game, "c");
    given_failed(game, "e");
    game->other = node(game, "e");
    game->below = node(game, "d");
}

/* Both `c` and `d` ask to cancel `b`; `c` has ended by itself, and the reopening of `a`, which
 * waits, will make its join open again. */
static void set_flow_asked_twice(struct game *game)
{
    given_flow(game, "a b e c:2 d:any | a>c b>c b>d e>d");
    (void)stage_do(game->board, FF_OP_EXECUTION_CANCEL, cancel(game, node(game, "c")));
    given_told(game, "c");
    given_failed(game, "a");
    given_told(game, "a");
    given_decided(game, "c");
    (void)stage_do(game->board, FF_OP_GROUP_DRAIN,
                   MAKE(game, struct ff_group_drain_in, .drain = {game->join, game->decision}));
    given_completed(game, "e");
    given_told(game, "e");
    given_decided(game, "d");
    given_held(game);
    given_completed(game, "d"); /* there is one to claim, and one that has lapsed, in every scene */
    (void)stage_do(game->board, FF_OP_EXECUTION_REPLAY, replay(game, node(game, "a")));
    game->again = node(game, "a");
    game->other = node(game, "d");
}

/* `a` runs again; the skipped node below has its own hop, and does not know yet. */
static void set_flow_replayed(struct game *game)
{
    given_flow(game, "a b c | a>c b>c");
    given_failed(game, "a");
    given_told(game, "a");
    (void)stage_do(game->board, FF_OP_EXECUTION_REPLAY, replay(game, node(game, "a")));
    game->again = node(game, "a");
    game->other = node(game, "c");
}

static void set_flow_cancelled(struct game *game)
{
    set_flow_running(game);
    (void)stage_do(game->board, FF_OP_FLOW_CANCEL, flow_cancel(game));
}

static void set_flow_ended(struct game *game)
{
    set_flow_hops(game);
    given_told(game, "a");
    given_told(game, "b");
    game->x = node(game, "c");
    given_held(game);
    given_completed(game, "c");
    given_told(game, "c");
}

/* Retention has marked it; its members are still there. */
static void set_flow_removed(struct game *game)
{
    set_flow_ended(game);
    board_pass(game->board, REST_MS);
    (void)stage_do(game->board, FF_OP_RETENTION_SWEEP, retention(game));
}

const struct scene scenes[] = {
    {"ready", set_ready, false, false},
    {"held", set_held, false, false},
    {"reclaimable", set_reclaimable, false, false},
    {"ended", set_ended, false, false},
    {"flow_running", set_flow_running, true, false},
    {"flow_hops", set_flow_hops, true, false},
    {"flow_decided", set_flow_decided, true, false},
    {"flow_failed", set_flow_failed, true, false},
    {"flow_spared", set_flow_spared, true, false},
    {"flow_asked_twice", set_flow_asked_twice, true, false},
    {"flow_replayed", set_flow_replayed, true, false},
    {"flow_cancelled", set_flow_cancelled, true, false},
    {"flow_ended", set_flow_ended, true, false},
    {"flow_removed", set_flow_removed, true, false},
    {"ride_running", set_flow_running, true, true},
    {"ride_spared", set_flow_spared, true, true},
    {"ride_replayed", set_flow_replayed, true, true},
};
const size_t scene_count = FF_ARRAY_LEN(scenes);
