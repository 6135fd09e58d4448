/* SPDX-License-Identifier: Apache-2.0
 *
 * tail.h -- the tailer: one reader of the log per process, for all followers and waiters.
 *
 * Its settled horizon is the highest id below which nothing can appear any more. One session reads
 * for everybody; who lags is served page by page, in turn. Private to src/engine.
 * Read first: src/engine/README.md. Tests: tests/unit/test_tail.c, tests/events. */
#ifndef FF_ENGINE_TAIL_H
#define FF_ENGINE_TAIL_H

#include "base/list.h"
#include "engine/follow.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define FF_WAIT_BUCKETS 256

typedef enum ff_tail_stage {
    FF_TAIL_IDLE,
    FF_TAIL_HEAD,  /* how far has the log come, and who may still add below that */
    FF_TAIL_PAGE,  /* the next page for those who are up to date */
    FF_TAIL_LAG,   /* a page for one who is not */
    FF_TAIL_FLOOR, /* an empty page: was there nothing, or is it gone */
    FF_TAIL_CHECK, /* has what somebody waits for ended already */
} ff_tail_stage;

struct ff_tail {
    /* `lock` guards the followers and the waits, and what is marked shared. It is never held during
     * a store call; `ready` and `done` are called under it. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic int refs;        /* the engine, each follower, each wait */
    _Atomic bool followed;   /* there are followers or waits */
    _Atomic int64_t head_id; /* the highest id a head has shown */
    _Atomic bool woken;      /* the log may have moved; taken back by the head that will see it */
    bool closed, stopping;   /* shared */
    bool nudged;             /* shared: there may be something to do since the last step began */
    struct ff_list follows;
    struct ff_list waits[FF_WAIT_BUCKETS]; /* by uuid */
    size_t follow_count, wait_count;
    size_t starting_waits, unchecked_waits, active_waits, over_waits;
    struct ff_follow *reading_for; /* LAG and FLOOR: cleared when it is freed */
    struct ff_end_wait *checking;  /* CHECK: cleared when it is freed */
    uint64_t polls, settled_poll;  /* shared: heads asked for; the latest that is settled */
    int64_t horizon, position;     /* shared: settled up to; what the up to date have been given */
    int64_t given_id, floor_id;    /* shared: the last id given out; the lowest one kept */

    /* The rest belongs to whoever steps it. */
    struct ff_engine *engine;
    struct ff_session *session;
    struct ff_call call;
    struct ff_read read;
    struct ff_value params[4];
    struct ff_arena arena;
    ff_tail_stage stage;
    int64_t page_after, page_upto;
    bool page_live, lag_turn, page_turn;
    bool ready;       /* a head has settled since the connection was made */
    int64_t first_id; /* given out when the connection was new; -1: not asked yet */
    int64_t seen_id;  /* the highest id that was visible: committed, so never given out again */
    int64_t back_id;  /* the log was seen to end here, before that; INT64_MAX: it was not */
    bool pending;     /* pending_id is settled once all of `holders` have ended */
    int64_t pending_id;
    uint64_t pending_poll;
    char *holders; /* ",a,b," */
    int64_t next_poll_mono_ms, poll_pause_ms, retry_at_mono_ms;
    bool lost_once; /* a call has failed, and none has succeeded since */
    int64_t same_loss_until_mono_ms;
};

FF_MUST_CHECK ff_status ff_tail_new(struct ff_engine *engine, struct ff_tail **ret,
                                    struct ff_error *reterr);
/* Everybody is told FF_CLOSED. Nobody may step it any more. NULL is allowed. */
void ff_tail_close(struct ff_tail *tail);

/* The log has moved, or may have. Cheap while nobody follows. */
void ff_tail_wake(struct ff_tail *tail);
/* The pulse has seen this as the highest id. */
void ff_tail_seen(struct ff_tail *tail, int64_t event_id);
bool ff_tail_followed(const struct ff_tail *tail);

/* Does what can be done now. Returns when it wants to be called again (mono); `ret_waiting` is set
 * while its own store call is under way. */
int64_t ff_tail_step(struct ff_tail *tail, bool *ret_waiting);
/* For its thread: sleeps until it is woken or stopped, at most ms. */
void ff_tail_sleep(struct ff_tail *tail, int64_t ms);
void ff_tail_stop(struct ff_tail *tail);

/* --- between tail.c, follow.c and endwait.c --- */

/* All of these with the lock held; leaving releases it. */
bool ff_tail_join(struct ff_tail *tail); /* false: closed */
void ff_tail_leave(struct ff_tail *tail);
void ff_tail_nudge(struct ff_tail *tail); /* its thread is not to lie down before it has looked */
/* There is no memory: the store is left alone for a while. Called by whoever steps it. */
void ff_tail_rest(struct ff_tail *tail);
bool ff_tail_any_live(const struct ff_tail *tail);

struct ff_page {
    struct ff_event *const *events;
    size_t count;
    int64_t after, upto; /* complete between these */
};
void ff_follow_deliver(struct ff_follow *follow, const struct ff_page *page);
void ff_follow_deliver_live(struct ff_tail *tail, const struct ff_page *page);
/* A head has settled: those who came before it was asked for know where to begin. */
void ff_follow_settle(struct ff_tail *tail);
void ff_follow_lost(struct ff_tail *tail);
/* Events below floor_id are gone: those who have not had them hear of it. */
void ff_follow_floor(struct ff_tail *tail);
/* The log is an older copy of itself: those who stood above its end hear of it, and stand at the
 * horizon at most. */
void ff_follow_back(struct ff_tail *tail);
void ff_follow_close(struct ff_tail *tail);
/* Readers that do not take anything for long lose their buffer. Returns when to look again. */
int64_t ff_follow_expire(struct ff_tail *tail, int64_t mono_ms);
/* Who lags and has room, in turn; NULL: nobody. */
struct ff_follow *ff_follow_next_lagging(struct ff_tail *tail);
bool ff_follow_any_live(const struct ff_tail *tail);
bool ff_follow_any_starting(const struct ff_tail *tail);
int64_t ff_follow_at(const struct ff_follow *follow);
const struct ff_event_match *ff_follow_match(const struct ff_follow *follow);

void ff_end_waits_settle(struct ff_tail *tail);
void ff_end_waits_see(struct ff_tail *tail, const struct ff_event *event);
/* Events were lost to them: everybody looks at its row once more. */
void ff_end_waits_recheck(struct ff_tail *tail);
void ff_end_waits_close(struct ff_tail *tail);
int64_t ff_end_waits_expire(struct ff_tail *tail, int64_t mono_ms);
struct ff_end_wait *ff_end_waits_unchecked(struct ff_tail *tail);
/* The block that says whether it has ended, with its parameters. */
int ff_end_wait_block(const struct ff_end_wait *wait, struct ff_value *params, size_t *ret_count);
void ff_end_wait_checked(struct ff_end_wait *wait, bool ended);

#endif
