/* SPDX-License-Identifier: Apache-2.0
 *
 * acts.c -- what players may say, and what they are told. */
#include "inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/codes.h"

#include "base/banned.h"

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
    player_ask(player, FF_OP_EXECUTION_CANCEL, cancel(game, game->x));
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
    player_ask(player, FF_OP_EXECUTION_REPLAY, replay(game, game->x));
}

static void say_retention(struct game *game, struct player *player)
{
    player->rest_ms = REST_MS; /* whatever ended before it looks ended long ago */
    player_ask(player, FF_OP_RETENTION_SWEEP, retention(game));
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

    in.graph = graph(game, "g | a>g b>g");
    check(game,
          ff_grow_prepare(&in, &game->author->settings, arena_of(game), &game->author->error));
    player_ask(player, FF_OP_FLOW_GROW, make(game, &in, sizeof in));
}

static void say_flow_cancel(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_FLOW_CANCEL, flow_cancel(game));
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

/* Nobody has said that it may end: it is blocked. */
static void say_cancel_below(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_EXECUTION_CANCEL, cancel(game, game->below));
}

static void say_reopen(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_HOP_DISPATCH,
               MAKE(game, struct ff_dispatch_in, .hop = {game->again, 1, FF_HOP_REOPEN}));
}

static void say_flow_remove(struct game *game, struct player *player)
{
    player_ask(player, FF_OP_FLOW_REMOVE,
               MAKE(game, struct ff_flow_remove_in, .flow_id = game->flow_id));
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
    {"flow_remove", say_flow_remove, true, false},
    {"cancel_below", say_cancel_below, true, false},
    {"reopen", say_reopen, true, false},
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
    for (size_t name = 0; name < game->name_count; name++)
        for (size_t i = 0; i < out->task_count; i++) {
            if (!ff_uuid_eq(out->tasks[i].id.uuid, game->names[name].id))
                continue;
            len = strlen(at);
            (void)snprintf(at + len, ANSWER_BYTES - len, " %s@%" PRId64, game->names[name].name,
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
    } else if (job->type == &ff_op_types[FF_OP_FLOW_REMOVE]) {
        const struct ff_flow_remove_out *const gone = out;

        (void)snprintf(at, bytes, " gone %" PRId64 "%s", gone->removed, gone->more ? " more" : "");
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

bool answer_is_unfinished(const char *answer)
{
    static const char more[] = " more";
    const size_t len = strlen(answer);

    return len >= sizeof more && strcmp(answer + len - (sizeof more - 1), more) == 0;
}
