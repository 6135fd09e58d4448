/* SPDX-License-Identifier: Apache-2.0
 *
 * inputs.h -- what scenes and acts say, made in the game's own memory.
 *
 * Leases end after a millisecond and scenes rest a little longer, so whoever looks finds them
 * lapsed, whatever the clock. Read first: isolation.h. */
#ifndef FF_TESTS_ISOLATION_INPUTS_H
#define FF_TESTS_ISOLATION_INPUTS_H

#include "isolation.h"
#include "support/graphs.h"

#define SHORT_MS 1
#define LONG_MS  600000
#define REST_MS  6

/* Ids of this game and no other. */
struct ff_uuid id_of(const struct game *game, uint8_t which);
struct ff_arena *arena_of(struct game *game);
void *make(struct game *game, const void *from, size_t bytes);
#define MAKE(game, type, ...) make((game), &(type){__VA_ARGS__}, sizeof(type))
/* Aborts unless the input is a good one. */
void check(struct game *game, ff_status status);

struct ff_submit_in *submission(struct game *game, struct ff_exec_id id);
struct ff_claim_in *claim(struct game *game, const char *worker, int64_t ttl_ms);
struct ff_timer_in *leases(struct game *game);
struct ff_complete_in *completion(struct game *game, struct ff_task_ref task);
struct ff_dispatch_in *dispatch(struct game *game, struct ff_exec_id id);
struct ff_replay_in *replay(struct game *game, struct ff_exec_id id);
struct ff_cancel_in *cancel(struct game *game, struct ff_exec_id id);
struct ff_flow_cancel_in *flow_cancel(struct game *game);
struct ff_retention_in *retention(struct game *game);
struct ff_graph_in graph(struct game *game, const char *text);

#endif
