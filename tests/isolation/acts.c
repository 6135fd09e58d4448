/* SPDX-License-Identifier: Apache-2.0
 *
 * acts.c -- scenes to begin with, and what players may say in them.
 *
 * In every scene there is one execution that all acts are about. Leases end after a millisecond and
 * the scene rests a little longer, so whoever looks finds them lapsed, whatever the clock. */
#include "isolation.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "model/codes.h"
#include "support/graphs.h"

#include "base/banned.h"

#define SHORT_MS 1
#define LONG_MS  600000
#define REST_MS  6

/* --- games --- */

void game_name(struct game *game, struct ff_uuid id, const char *fmt, ...)
{
    va_list args;

    assert(game->name_count < NAMES_MAX);
    va_start(args, fmt);
    (void)vsnprintf(game->names[game->name_count].name, sizeof game->names[0].name, fmt, args);
    va_end(args);
    game->names[game->name_count++].id = id;
}

/* Ids of this game and no other. */
static struct ff_uuid id_of(const struct game *game, uint8_t which)
{
    struct ff_uuid id = {.b = {1}};

    ff_put_be64(id.b + 4, game->number);
    id.b[15] = which;
    return id;
}

void game_init(struct game *game, struct board *board, uint64_t number)
{
    *game =
        (struct game){.number = number, .board = board, .author = calloc(1, sizeof *game->author)};
    assert(game->author);
    world_init(game->author);
    (void)snprintf(game->ns, sizeof game->ns, "g%" PRIu64, number);
    game->lane = ff_str_of(game->ns);
    game_name(game, (struct ff_uuid){.b = {0}}, "0");
}

void game_done(struct game *game)
{
    world_done(game->author);
    free(game->author);
}

static struct ff_arena *arena_of(struct game *game)
{
    return &game->author->arena;
}

static void *make(struct game *game, const void *from, size_t bytes)
{
    void *const in = ff_arena_copy(arena_of(game), from, bytes);

    assert(in);
    return in;
}
#define MAKE(game, type, ...) make((game), &(type){__VA_ARGS__}, sizeof(type))

static void check(struct game *game, ff_status status)
{
    if (status == FF_OK)
        return;
    (void)fprintf(stderr, "input: %s\n", game->author->error.message);
    abort();
}

/* --- inputs that scenes and acts share --- */

static struct ff_submit_in *submission(struct game *game, struct ff_exec_id id)
{
    struct ff_submit_in in = world_submission(game->author);

    in.id = id;
    in.lane = game->lane;
    in.namespace = game->lane;
    in.policy.max_retries = 1;
    return make(game, &in, sizeof in);
}

static struct ff_claim_in *claim(struct game *game, const char *worker, int64_t ttl_ms)
{
    struct ff_claim_in in = {.worker_id = FF_STR("pool"),
                             .worker_instance_id = ff_str_of(worker),
                             .namespace = game->lane,
                             .lane_count = 1,
                             .max = 2,
                             .lease_ttl_ms = LONG_MS};

    in.lanes = make(game, &game->lane, sizeof game->lane);
    check(game, ff_claim_prepare(&in, arena_of(game), &game->author->error));
    in.lease_ttl_ms = ttl_ms; /* shorter than a caller may ask for */
    return make(game, &in, sizeof in);
}

static struct ff_timer_in *leases(struct game *game)
{
    return MAKE(game, struct ff_timer_in, .scope = FF_TIMER_LEASES, .limit = 10,
                .filter.namespace = game->lane);
}

static struct ff_complete_in *completion(struct game *game, struct ff_task_ref task)
{
    return MAKE(game, struct ff_complete_in, .task = task, .result = FF_STR("1"));
}

static struct ff_dispatch_in *dispatch(struct game *game, struct ff_exec_id id)
{
    return MAKE(game, struct ff_dispatch_in, .hop = {id, 0, FF_HOP_COMPLETION});
}

static struct ff_graph_in graph(struct game *game, const char *text)
{
    struct ff_graph_in in = world_graph(game->author, text);

    for (size_t i = 0; i < in.shape.node_count; i++) {
        in.nodes[i].submit.lane = game->lane;
        in.nodes[i].submit.policy.max_retries = 1;
    }
    return in;
}

/* --- scenes --- */

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

    for (size_t i = 0; i < out->task_count; i++)
        if (ff_exec_id_eq(out->tasks[i].id, game->x))
            game->lease = world_task(out, i);
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

static struct ff_exec_id node(struct game *game, const char *name)
{
    const struct ff_exec_id id = world_node(game->flow_id, name);

    game_name(game, id.uuid, "%s", name);
    return id;
}

static void given_flow(struct game *game, const char *text)
{
    struct ff_flow_create_in in = {.namespace = game->lane, .own_id = true};

    in.flow_id = game->flow_id = id_of(game, 2);
    in.graph = graph(game, text);
    game_name(game, game->flow_id, "flow");
    game->other = node(game, "a");
    game->x = node(game, "b");
    game->join = node(game, "c");
    (void)node(game, "d");
    check(game,
          ff_flow_prepare(&in, &game->author->settings, arena_of(game), &game->author->error));
    (void)stage_do(game->board, FF_OP_FLOW_CREATE, make(game, &in, sizeof in));
}

/* `a` ends, well or not, and `b` is held. */
static void given_a_ended(struct game *game, bool well)
{
    const struct ff_claim_out *const out =
        stage_do(game->board, FF_OP_EXECUTION_CLAIM, claim(game, "holder", SHORT_MS));
    struct ff_task_ref task = {0};

    assert(out->task_count == 2);
    for (size_t i = 0; i < 2; i++) {
        if (ff_exec_id_eq(out->tasks[i].id, game->x))
            game->lease = world_task(out, i);
        else
            task = world_task(out, i);
    }
    if (well)
        (void)stage_do(game->board, FF_OP_EXECUTION_COMPLETE, completion(game, task));
    else
        (void)stage_do(game->board, FF_OP_EXECUTION_FAIL,
                       MAKE(game, struct ff_fail_in, .task = task, .message = FF_STR("no"),
                            .failure_class = FF_FAILURE_PERMANENT, .retry_after_ms = FF_NULL64));
}

static void set_flow_running(struct game *game)
{
    given_flow(game, "a b c | a>c b>c");
    given_a_ended(game, true);
}

static void set_flow_hops(struct game *game)
{
    given_flow(game, "a b c | a>c b>c");
    given_a_ended(game, true);
    (void)stage_do(game->board, FF_OP_EXECUTION_COMPLETE, completion(game, game->lease));
}

static void set_flow_decided(struct game *game)
{
    const struct ff_find_out *found;

    given_flow(game, "a b c:any | a>c b>c");
    given_a_ended(game, true);
    (void)stage_do(game->board, FF_OP_HOP_DISPATCH, dispatch(game, game->other));
    found = stage_do(game->board, FF_OP_HOP_FIND,
                     MAKE(game, struct ff_find_in, .what = FF_FIND_DRAINS, .limit = 10,
                          .filter.namespace = game->lane));
    assert(found->count == 1);
    game->decision = found->drains[0].decision;
}

/* `x` is what failed, and the node below was skipped for it. */
static void set_flow_failed(struct game *game)
{
    given_flow(game, "a b c | a>c b>c");
    given_a_ended(game, false);
    (void)stage_do(game->board, FF_OP_HOP_DISPATCH, dispatch(game, game->other));
    game->x = game->other;
    game->other = game->join;
    game->lease.id = game->x;
}

const struct scene scenes[] = {
    {"ready", set_ready, false},
    {"held", set_held, false},
    {"reclaimable", set_reclaimable, false},
    {"ended", set_ended, false},
    {"flow_running", set_flow_running, true},
    {"flow_hops", set_flow_hops, true},
    {"flow_decided", set_flow_decided, true},
    {"flow_failed", set_flow_failed, true},
};
const size_t scene_count = FF_ARRAY_LEN(scenes);

/* --- acts --- */

static void say_claim(struct game *game, struct player *player)
{
    static const char *const workers[] = {"w0", "w1", "w2"};

    player_ask(player, FF_OP_EXECUTION_CLAIM, claim(game, workers[player->number], LONG_MS));
}

static void say_renew(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_EXECUTION_RENEW,
               MAKE(game, struct ff_renew_in, .task = game->lease, .lease_ttl_ms = LONG_MS));
}

static void say_complete(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_EXECUTION_COMPLETE, completion(game, game->lease));
}

static void say_fail(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_EXECUTION_FAIL,
               MAKE(game, struct ff_fail_in, .task = game->lease, .message = FF_STR("no"),
                    .failure_class = FF_FAILURE_TRANSIENT, .retry_after_ms = 0));
}

static void say_cancel(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_EXECUTION_CANCEL,
               MAKE(game, struct ff_cancel_in, .id = game->x, .reason = FF_STR("why not"),
                    .by = FF_STR("me"), .created_before_ms = FF_NULL64));
}

static void say_expire(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_TIMER_FIRE, leases(game));
}

static void say_revoke(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_EXECUTION_REVOKE,
               MAKE(game, struct ff_revoke_in, .id = game->x, .reason = FF_STR("why not"),
                    .by = FF_STR("me")));
}

static void say_replay(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_EXECUTION_REPLAY,
               MAKE(game, struct ff_replay_in, .id = game->x, .reason = FF_STR("again"),
                    .by = FF_STR("me"), .deadline_ms = FF_NULL64, .expected_generation = FF_NULL64,
                    .finished_before_ms = FF_NULL64));
}

static void say_retention(struct game *game, struct player *player)
{
    player->rest_ms = REST_MS; /* whatever ended before it looks ended long ago */
    player_ask(player, FF_OP_RETENTION_SWEEP,
               MAKE(game, struct ff_retention_in, .limit = 10, .retention_ms = 1,
                    .filter.namespace = game->lane));
}

/* All players with one key. */
static void say_submit(struct game *game, struct player *player)
{
    const struct ff_exec_id id = {9, id_of(game, (uint8_t)(100 + player->number))};
    struct ff_submit_in *const in = submission(game, id);

    game_name(game, id.uuid, "of_%d", player->number);
    in->idempotency_key = FF_STR("key");
    in->delay_ms = LONG_MS;
    check(game,
          ff_submit_prepare(in, &game->author->settings, arena_of(game), &game->author->error));
    player_ask(player, FF_OP_EXECUTION_SUBMIT, in);
}

static void say_dispatch(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_HOP_DISPATCH, dispatch(game, game->other));
}

static void say_dispatch_x(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_HOP_DISPATCH, dispatch(game, game->x));
}

static void say_grow(struct game *game, struct player *player)
{
    struct ff_flow_grow_in in = {.flow_id = game->flow_id, .expected_revision = FF_NULL64};

    in.graph = graph(game, "d | a>d b>d");
    check(game,
          ff_grow_prepare(&in, &game->author->settings, arena_of(game), &game->author->error));
    player_ask(player, FF_OP_FLOW_GROW, make(game, &in, sizeof in));
}

static void say_flow_cancel(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_FLOW_CANCEL,
               MAKE(game, struct ff_flow_cancel_in, .flow_id = game->flow_id,
                    .policy = FF_FLOW_CANCEL_ALL, .reason = FF_STR("enough"), .by = FF_STR("me")));
}

static void say_flow_drain(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_FLOW_DRAIN,
               MAKE(game, struct ff_flow_drain_in, .flow_id = game->flow_id));
}

static void say_drain(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_GROUP_DRAIN,
               MAKE(game, struct ff_group_drain_in, .drain = {game->join, game->decision}));
}

const struct act acts[] = {
    {"claim", say_claim, false, true},
    {"renew", say_renew, false, false},
    {"complete", say_complete, false, false},
    {"fail", say_fail, false, false},
    {"cancel", say_cancel, false, false},
    {"expire", say_expire, false, true},
    {"revoke", say_revoke, false, false},
    {"replay", say_replay, false, false},
    {"retention", say_retention, false, true},
    {"submit", say_submit, false, false},
    {"dispatch", say_dispatch, true, false},
    {"dispatch_x", say_dispatch_x, true, false},
    {"grow", say_grow, true, false},
    {"drain", say_drain, true, false},
    {"flow_cancel", say_flow_cancel, true, false},
    {"flow_drain", say_flow_drain, true, false},
};
const size_t act_count = FF_ARRAY_LEN(acts);

/* --- answers --- */

static void claim_text(struct player *player, const struct ff_claim_out *out, char *at)
{
    struct game *const game = player->board->game;
    size_t len = strlen(at);

    if (out->task_count == 0)
        (void)snprintf(at + len, ANSWER_BYTES - len, " nothing");
    for (size_t i = 0; i < out->task_count; i++)
        game_name(game, out->tasks[i].lease_id, player->free ? "lease" : "lease_%d",
                  player->number);
    /* Equals come in the order of their ids, which differs from game to game. */
    for (int x = 1; x >= 0; x--)
        for (size_t i = 0; i < out->task_count; i++) {
            if (ff_exec_id_eq(out->tasks[i].id, game->x) != (x == 1))
                continue;
            len = strlen(at);
            (void)snprintf(at + len, ANSWER_BYTES - len, " %s@%" PRId64, x ? "x" : "another",
                           out->tasks[i].lease_epoch);
        }
}

static void background_text(const struct ff_job *job, char *at, size_t bytes)
{
    const void *const out = job->out;

    if (job->type == &ff_op_types[FF_OP_TIMER_FIRE]) {
        const struct ff_timer_out *const fired = out;

        (void)snprintf(at, bytes,
                       fired->scanned ? " lapsed %" PRId64 " moved %" PRId64 : " nothing",
                       fired->lease_lapses, fired->moved);
    } else if (job->type == &ff_op_types[FF_OP_RETENTION_SWEEP]) {
        const struct ff_retention_out *const swept = out;

        (void)snprintf(at, bytes, swept->removed ? " removed %" PRId64 : " nothing",
                       swept->removed);
    } else if (job->type == &ff_op_types[FF_OP_HOP_DISPATCH]) {
        const struct ff_dispatch_out *const told = out;

        (void)snprintf(at, bytes, " %s %" PRId64 "%s", told->noop ? "noop" : "edges", told->edges,
                       told->more ? " more" : "");
    } else if (job->type == &ff_op_types[FF_OP_GROUP_DRAIN] ||
               job->type == &ff_op_types[FF_OP_FLOW_DRAIN]) {
        const struct ff_drain_out *const drained = out;

        (void)snprintf(at, bytes, " %s %" PRId64 "%s", drained->noop ? "noop" : "cancelled",
                       drained->cancelled, drained->more ? " more" : "");
    }
}

static void call_text(const struct ff_job *job, char *at, size_t bytes)
{
    const void *const out = job->out;

    if (job->type == &ff_op_types[FF_OP_EXECUTION_SUBMIT]) {
        const struct ff_submit_out *const made = out;

        (void)snprintf(at, bytes, " %s %d", made->created ? "created" : "known", made->state);
    } else if (job->type == &ff_op_types[FF_OP_EXECUTION_REVOKE]) {
        const struct ff_revoke_out *const revoked = out;

        (void)snprintf(at, bytes, " %d of %" PRId64, revoked->state, revoked->lease_epoch);
    } else if (job->type == &ff_op_types[FF_OP_FLOW_GROW]) {
        const struct ff_flow_grow_out *const grown = out;

        (void)snprintf(at, bytes, " %" PRId64 " new, revision %" PRId64, grown->node_count,
                       grown->revision);
    } else if (job->type == &ff_op_types[FF_OP_FLOW_CANCEL]) {
        const struct ff_flow_cancel_out *const cancelled = out;

        (void)snprintf(at, bytes, " %d, %" PRId64 " of %" PRId64, cancelled->state,
                       cancelled->ended_count, cancelled->node_count);
    } else if (job->type->out_bytes == sizeof(struct ff_state_out) &&
               job->type != &ff_op_types[FF_OP_EXECUTION_RENEW]) {
        const struct ff_state_out *const state = out;

        (void)snprintf(at, bytes, " %d generation %d", state->state, state->generation);
    }
}

void answer_text(struct player *player, const struct ff_job *job)
{
    char *const at = player->answer;
    size_t len;

    (void)snprintf(at, ANSWER_BYTES, "%s", ff_status_code(job->status));
    len = strlen(at);
    if (job->status != FF_OK)
        return;
    if (job->type == &ff_op_types[FF_OP_EXECUTION_CLAIM])
        claim_text(player, job->out, at);
    else if (job->type->cls == FF_CLASS_BACKGROUND)
        background_text(job, at + len, ANSWER_BYTES - len);
    else
        call_text(job, at + len, ANSWER_BYTES - len);
}

bool answer_is_empty(const char *answer)
{
    return strcmp(answer, "ok nothing") == 0;
}
