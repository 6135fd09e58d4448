/* SPDX-License-Identifier: Apache-2.0
 *
 * supervisor.h -- the loops: timers, retention, pruning, and the pulse that tells them when.
 *
 * Each loop has its own interval; a failing tick is counted and logged and does not end the loop; a
 * missed tick is late, never made up for in a burst. A loop is a scan plus an op: it never writes
 * by itself. Private to src/engine. Tests: tests/conformance/lease_lapse.c,
 * tests/unit/test_engine.c. */
#ifndef FF_ENGINE_SUPERVISOR_H
#define FF_ENGINE_SUPERVISOR_H

#include "engine/job.h"
#include "engine/loops.h"
#include "store/store.h"

struct ff_loop {
    int64_t next_mono_ms;
    int64_t rest_ms, rest_until_mono_ms; /* the store refuses its op: longer each time */
    bool in_flight;
    bool again;     /* the last tick was full: do not wait for the interval */
    uint64_t pulse; /* the pulse it acted on last: it asks the store once for each */
    int64_t ticks, last_processed, last_errors, processed, errors;
    int64_t last_scanned, last_noop; /* loops of the cascade */
};

/* What the pulse last said, in the store's time. */
struct ff_pulse {
    uint64_t number;
    int64_t now_ms, next_due_ms;
    int64_t capset_count;
    int64_t claimable; /* 0: nothing is; another number: something may have become so */
    bool news;         /* it is another number */
    int64_t event_id;  /* how far the log has come */
    bool hops, drains;
};

#define FF_DELAY_HINTS 1024

struct ff_supervisor {
    struct ff_engine *engine;
    struct ff_session *session;
    struct ff_call call;
    struct ff_read read;
    struct ff_value params[4];
    struct ff_arena arena;
    bool reading; /* `call` is under way */
    int64_t next_pulse_mono_ms, next_expiry_mono_ms, next_look_mono_ms;
    struct ff_pulse pulse;
    _Atomic bool missed; /* the last one, and somebody has been told */
    int64_t next_reap_mono_ms, next_upkeep_mono_ms;
    struct ff_loop loops[FF_LOOP_COUNT];
    int64_t delay_hints[FF_DELAY_HINTS]; /* min-heap: due times this process knows of */
    size_t delay_hint_count;
    int64_t sleeps_until_mono_ms; /* 0: it is awake */
    int64_t poked_mono_ms;        /* somebody wants it to be awake by then; INT64_MAX: nobody */
    int64_t short_until_mono_ms;  /* until then leases shorter than FF_CONTACT_GAP_MS may be held */
};

FF_MUST_CHECK ff_status ff_supervisor_init(struct ff_supervisor *supervisor,
                                           struct ff_engine *engine, struct ff_error *reterr);
void ff_supervisor_done(struct ff_supervisor *supervisor);
/* Does what is due. Returns when it wants to be called again (mono); `ret_waiting` is set while its
 * own store call is under way. */
int64_t ff_supervisor_step(struct ff_supervisor *supervisor, bool *ret_waiting);
/* A delay that ends at due_ms has been committed by this process. Call with the engine's lock. */
void ff_supervisor_hint_delay(struct ff_supervisor *supervisor, int64_t due_ms);
/* A short lease has been committed by this process: while there are any, the pulse comes more
 * often, so that gaps in contact are seen that only matter to them. Call with the engine's lock.
 * True: it is the first for a while, wake the supervisor. */
bool ff_supervisor_hint_short_lease(struct ff_supervisor *supervisor, int64_t ttl_ms);
/* Something is to be looked at by then, or soon after. Call with the engine's lock. */
void ff_supervisor_poke(struct ff_supervisor *supervisor, int64_t mono_ms);
/* Until then, or until somebody has poked it or the engine says that something has changed. */
void ff_supervisor_sleep(struct ff_supervisor *supervisor, int64_t until_mono_ms);
/* Loops whose tick is under way. */
size_t ff_supervisor_in_flight(struct ff_supervisor *supervisor);
struct ff_loop_report;
size_t ff_supervisor_reports(struct ff_supervisor *supervisor, struct ff_loop_report *out,
                             size_t max);

#endif
