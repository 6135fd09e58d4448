/* SPDX-License-Identifier: Apache-2.0
 *
 * inputs.c -- games, and what scenes and acts say in them. */
#include "inputs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "model/codes.h"

#include "base/banned.h"

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

struct ff_uuid id_of(const struct game *game, uint8_t which)
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

struct ff_arena *arena_of(struct game *game)
{
    return &game->author->arena;
}

void *make(struct game *game, const void *from, size_t bytes)
{
    void *const in = ff_arena_copy(arena_of(game), from, bytes);

    assert(in);
    return in;
}

void check(struct game *game, ff_status status)
{
    if (status == FF_OK)
        return;
    (void)fprintf(stderr, "input: %s\n", game->author->error.message);
    abort();
}

/* --- inputs that scenes and acts share --- */

struct ff_submit_in *submission(struct game *game, struct ff_exec_id id)
{
    struct ff_submit_in in = world_submission(game->author);

    in.id = id;
    in.lane = game->lane;
    in.namespace = game->lane;
    in.policy.max_retries = 1;
    return make(game, &in, sizeof in);
}

struct ff_claim_in *claim(struct game *game, const char *worker, int64_t ttl_ms)
{
    struct ff_claim_in in = {.worker_id = FF_STR("pool"),
                             .worker_instance_id = ff_str_of(worker),
                             .namespace = game->lane,
                             .lane_count = 1,
                             .max = TASKS_MAX,
                             .lease_ttl_ms = LONG_MS};

    in.lanes = make(game, &game->lane, sizeof game->lane);
    check(game, ff_claim_prepare(&in, arena_of(game), &game->author->error));
    in.lease_ttl_ms = ttl_ms; /* shorter than a caller may ask for */
    return make(game, &in, sizeof in);
}

struct ff_timer_in *leases(struct game *game)
{
    return MAKE(game, struct ff_timer_in, .scope = FF_TIMER_LEASES, .limit = 10,
                .filter.namespace = game->lane);
}

struct ff_complete_in *completion(struct game *game, struct ff_task_ref task)
{
    return MAKE(game, struct ff_complete_in, .task = task, .result = FF_STR("1"));
}

struct ff_dispatch_in *dispatch(struct game *game, struct ff_exec_id id)
{
    return MAKE(game, struct ff_dispatch_in, .hop = {id, 0, FF_HOP_COMPLETION});
}

struct ff_replay_in *replay(struct game *game, struct ff_exec_id id)
{
    return MAKE(game, struct ff_replay_in, .id = id, .reason = FF_STR("again"), .by = FF_STR("me"),
                .deadline_ms = FF_NULL64, .expected_generation = FF_NULL64,
                .finished_before_ms = FF_NULL64);
}

struct ff_cancel_in *cancel(struct game *game, struct ff_exec_id id)
{
    return MAKE(game, struct ff_cancel_in, .id = id, .reason = FF_STR("why not"),
                .by = FF_STR("me"), .created_before_ms = FF_NULL64);
}

struct ff_flow_cancel_in *flow_cancel(struct game *game)
{
    return MAKE(game, struct ff_flow_cancel_in, .flow_id = game->flow_id,
                .policy = FF_FLOW_CANCEL_ALL, .reason = FF_STR("enough"), .by = FF_STR("me"));
}

struct ff_retention_in *retention(struct game *game)
{
    return MAKE(game, struct ff_retention_in, .limit = 10, .retention_ms = 1,
                .filter.namespace = game->lane);
}

struct ff_graph_in graph(struct game *game, const char *text)
{
    struct ff_graph_in in = world_graph(game->author, text);

    for (size_t i = 0; i < in.shape.node_count; i++) {
        in.nodes[i].submit.lane = game->lane;
        in.nodes[i].submit.policy.max_retries = 1;
    }
    return in;
}
