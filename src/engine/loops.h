/* SPDX-License-Identifier: Apache-2.0
 *
 * loops.h -- the table of loops: how often each looks, when it is worth it, and what it asks.
 *
 * To add one: its id here and its row in loops.c; the supervisor does the rest. Private to
 * src/engine. Tests: tests/unit/test_engine.c. */
#ifndef FF_ENGINE_LOOPS_H
#define FF_ENGINE_LOOPS_H

#include "base/arena.h"
#include "ops/op.h"

struct ff_engine;

typedef enum ff_loop_id {
    FF_LOOP_ATTEMPT_TIMEOUT, /* shares its scan with lease_expiry, counted by the rule that fired */
    FF_LOOP_LEASE_EXPIRY,
    FF_LOOP_DELAYED,
    FF_LOOP_EXECUTION_DEADLINE,
    FF_LOOP_HOPS,       /* fills the list of hops from the store when it is empty */
    FF_LOOP_DEPENDENCY, /* hops that nobody has dispatched for long: there should be none */
    FF_LOOP_EDGE_CANCEL_DISPATCHER,
    FF_LOOP_EDGE_CANCEL_RECONCILER,
    FF_LOOP_FLOW_CANCEL,
    FF_LOOP_RETENTION,
    FF_LOOP_EVENT_RETENTION,
    FF_LOOP_BATCH_PRUNE,
    FF_LOOP_CONTACT,
    FF_LOOP_COUNT
} ff_loop_id;

/* What a loop waits for before it asks the store; the pulse says when it is there. */
typedef enum ff_loop_need {
    FF_NEED_NOTHING,
    FF_NEED_TIMER,  /* a due row */
    FF_NEED_HOPS,   /* undispatched hops */
    FF_NEED_DRAINS, /* cancels under way */
} ff_loop_need;

struct ff_loop_info {
    const char *name;
    int64_t interval_ms;
    ff_op_id op;
    void *(*fill)(struct ff_engine *engine, struct ff_arena *arena); /* NULL: shares a scan */
    ff_loop_need need;
    bool hidden; /* the engine's own business, not reported */
};
extern const struct ff_loop_info ff_loops[FF_LOOP_COUNT];

int64_t ff_loop_interval_ms(const struct ff_engine *engine, int id);

#endif
