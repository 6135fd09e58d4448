/* SPDX-License-Identifier: Apache-2.0
 *
 * cascade.h -- hops and drains on their way: right after the commit that made them, or found later.
 *
 * A bounded list. What does not fit is not lost: it stands in the store, and the supervisor looks
 * there when nothing on the list moves: it is empty, or all of it waits for rows that others hold.
 * Private to src/engine. Tests: tests/conformance/flow_*.c. */
#ifndef FF_ENGINE_CASCADE_H
#define FF_ENGINE_CASCADE_H

#include "base/limits.h"
#include "engine/supervisor.h"
#include "ops/flow.h"

struct ff_batch;
struct ff_batch_env;

typedef enum ff_cascade_what {
    FF_CASCADE_HOP,
    FF_CASCADE_GROUP_DRAIN,
    FF_CASCADE_FLOW_DRAIN,
    FF_CASCADE_FLOW_REMOVE,
} ff_cascade_what;

#define FF_CASCADE_BUCKETS 1024

struct ff_cascade_item {
    ff_cascade_what what;
    bool held; /* somebody has a row it needs */
    struct ff_hop_key hop;
    struct ff_drain_key drain;
    struct ff_uuid flow_id;
    ff_loop_id loop; /* whose work it is: who counts it */
    uint32_t next;   /* index + 1 of the next in its bucket, or of the next free one */
};

/* Guarded by the engine's lock. */
struct ff_cascade {
    struct ff_cascade_item items[FF_HOPS_IN_FLIGHT];
    uint32_t buckets[FF_CASCADE_BUCKETS]; /* by id: index + 1 of the first; 0: none */
    uint32_t first_free;                  /* index + 1; 0: full */
    size_t count, held;
    bool overflowed; /* something was left to the store: look there when there is room */
};

void ff_cascade_init(struct ff_cascade *cascade);
/* Before the save: hops that the batch has made and that know where to go may ride with it. False:
 * there are none. */
bool ff_cascade_board(struct ff_engine *engine, struct ff_batch *batch,
                      const struct ff_batch_env *env);
/* After a commit: whatever the batch has made for the cascade, and has not done itself, is
 * queued at once. */
void ff_cascade_committed(struct ff_engine *engine, struct ff_batch *batch);
/* A loop has looked into the store. */
void ff_cascade_found(struct ff_engine *engine, ff_loop_id loop, const struct ff_find_out *found);
/* Nothing moves: the store may be looked at without finding much of our own work again. */
bool ff_cascade_idle(const struct ff_cascade *cascade);

#endif
