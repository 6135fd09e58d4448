/* SPDX-License-Identifier: Apache-2.0
 *
 * follow.h -- following the log and waiting for ends, without a thread or a connection each.
 *
 * Nothing here blocks: a follower is told by `ready` that there is something to take, a waiter by
 * `done` that its object has ended. Both are called on the tailer's thread and under its lock: they
 * may wake somebody, and must call nothing of this file. Blocking calls are made out of these in
 * src/api. Read first: src/engine/README.md. Tests: tests/unit/test_tail.c,
 * tests/unit/test_follow.c, tests/events. */
#ifndef FF_ENGINE_FOLLOW_H
#define FF_ENGINE_FOLLOW_H

#include "base/arena.h"
#include "model/ids.h"
#include "model/match.h"

#include <flowfabric.h>

struct ff_engine;
struct ff_follow;
struct ff_end_wait;

#define FF_AFTER_NOW   INT64_C(-1)
#define FF_AFTER_START INT64_C(-2)

/* Values of ff_followed.notice; ff_notice_name gives the public word. */
typedef enum ff_notice {
    FF_NOTICE_NONE,
    FF_NOTICE_DISCONNECTED, /* the store was away, or the reader was too slow: nothing is lost */
    FF_NOTICE_RESET,        /* the log was restored: what the reader saw last is not in it */
    FF_NOTICE_GAP,          /* events behind the cursor are no longer kept */
} ff_notice;
const char *ff_notice_name(ff_notice notice); /* NULL for NONE */

struct ff_follow_in {
    struct ff_event_match match; /* texts are copied */
    int64_t after;               /* an event id, FF_AFTER_NOW or FF_AFTER_START */
    void (*ready)(void *ctx);
    void *ctx;
};

/* What ff_follow_take found: one notice, or events. */
struct ff_followed {
    ff_notice notice;
    size_t count;
    struct ff_event *items; /* in the arena that was given */
    int64_t cursor;         /* everything up to here was delivered, or filtered out */
    bool started;           /* the place to begin is known: from now on nothing is missed */
    bool caught_up;         /* whatever was committed before ff_follow_new has been delivered */
    bool more;              /* there is more to take at once; `ready` is not called for it */
};

FF_MUST_CHECK ff_status ff_follow_new(struct ff_engine *engine, const struct ff_follow_in *in,
                                      struct ff_follow **ret, struct ff_error *reterr);
/* Up to `max` events, or one notice. FF_OK with nothing: not yet. FF_GAP: the cursor is older than
 * what is kept, or of another log (reterr->oldest). FF_CLOSED: the engine has closed. FF_NO_MEMORY:
 * nothing was taken, ask again. */
FF_MUST_CHECK ff_status ff_follow_take(struct ff_follow *follow, struct ff_arena *arena, size_t max,
                                       struct ff_followed *ret, struct ff_error *reterr);
/* What the last take gave could not be passed on: it comes again. */
void ff_follow_give_back(struct ff_follow *follow);
/* `ready` is not called any more when this returns. May be called after the engine is gone. */
void ff_follow_free(struct ff_follow *follow);

struct ff_end_wait_in {
    bool is_flow;
    struct ff_exec_id id;  /* of the execution; of a flow: its uuid and partition */
    int64_t until_mono_ms; /* then `done` says FF_TIMEOUT */
    /* FF_OK: it has ended, or is not there at all; FF_TIMEOUT; FF_CLOSED. Called once. */
    void (*done)(ff_status status, void *ctx);
    void *ctx;
};
FF_MUST_CHECK ff_status ff_end_wait_new(struct ff_engine *engine, const struct ff_end_wait_in *in,
                                        struct ff_end_wait **ret, struct ff_error *reterr);
/* `done` is not called any more when this returns. */
void ff_end_wait_free(struct ff_end_wait *wait);

#endif
