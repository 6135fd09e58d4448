/* SPDX-License-Identifier: Apache-2.0
 *
 * tail.c -- the tailer: how far the log is settled, and who gets which page.
 *
 * Writers take their ids under a shared lock, right before they commit, so ids become visible out
 * of order. A head is the highest visible id v together with the holders of that lock, in this
 * order; when all of them have ended every id up to v is visible or will never be. On a new
 * connection v is what has been given out by then, visible or not, and nothing is served before
 * those who held the lock have ended. A store that has no holders to tell commits in the order of
 * its ids.
 * What must stay true: nothing above the horizon is handed out; a wait or a follower that begins
 * now gets a head that was asked for later; nobody stands above the highest id that was ever
 * visible, because a server that crashes may give out again what nobody committed.
 * Tests: tests/unit/test_tail.c, tests/events. */
#include "engine/tail.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/wait.h"
#include "engine/engine-int.h"
#include "sql_ids.h"

#include "base/banned.h"

#define POLL_MS      5  /* between two heads */
#define POLL_MS_MAX  50 /* while the same writers hold the lock */
#define RECONNECT_MS 200
#define SAME_LOSS_MS 400 /* the head may be read meanwhile, and the events still not */
#define UNASKED      INT64_C(-1)
#define ROUNDS_MAX   64 /* of one step: others want the thread too */

ff_status ff_tail_new(struct ff_engine *engine, struct ff_tail **ret, struct ff_error *reterr)
{
    struct ff_tail *const tail = ff_calloc(1, sizeof *tail);
    ff_status status;

    if (!tail)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the tailer");
    status = engine->store->ops->session_new(engine->store, &tail->session, reterr);
    if (status != FF_OK) {
        ff_free(tail);
        return status;
    }
    pthread_mutex_init(&tail->lock, NULL);
    ff_wait_init(&tail->changed);
    ff_list_init(&tail->follows);
    for (size_t i = 0; i < FF_WAIT_BUCKETS; i++)
        ff_list_init(&tail->waits[i]);
    ff_arena_init(&tail->arena, 64 << 10, FF_ARENA_BYTES_MAX);
    tail->engine = engine;
    tail->refs = 1;
    tail->first_id = UNASKED;
    tail->back_id = INT64_MAX;
    tail->floor_id = 1;
    tail->poll_pause_ms = POLL_MS;
    *ret = tail;
    return FF_OK;
}

static void unref(struct ff_tail *tail)
{
    if (atomic_fetch_sub(&tail->refs, 1) != 1)
        return;
    pthread_cond_destroy(&tail->changed);
    pthread_mutex_destroy(&tail->lock);
    ff_free(tail);
}

void ff_tail_close(struct ff_tail *tail)
{
    if (!tail)
        return;
    if (tail->stage != FF_TAIL_IDLE)
        tail->session->ops->abandon(tail->session, &tail->call);
    pthread_mutex_lock(&tail->lock);
    tail->closed = true;
    tail->stage = FF_TAIL_IDLE;
    ff_follow_close(tail);
    ff_end_waits_close(tail);
    pthread_mutex_unlock(&tail->lock);
    tail->session->ops->free(tail->session);
    ff_arena_done(&tail->arena);
    ff_free(tail->holders);
    unref(tail);
}

bool ff_tail_join(struct ff_tail *tail)
{
    if (tail->closed)
        return false;
    atomic_fetch_add(&tail->refs, 1);
    atomic_store(&tail->followed, true);
    tail->woken = true;
    ff_tail_nudge(tail);
    return true;
}

void ff_tail_leave(struct ff_tail *tail)
{
    atomic_store(&tail->followed, tail->follow_count + tail->wait_count > 0);
    pthread_mutex_unlock(&tail->lock);
    unref(tail);
}

/* --- being woken --- */

bool ff_tail_followed(const struct ff_tail *tail)
{
    return atomic_load(&tail->followed);
}

void ff_tail_nudge(struct ff_tail *tail)
{
    tail->nudged = true;
    pthread_cond_signal(&tail->changed);
}

/* Called after every commit. Who holds the lock may be copying events for a hundred followers: if
 * it is known already nobody waits for that. */
void ff_tail_wake(struct ff_tail *tail)
{
    if (!atomic_load(&tail->followed) || atomic_exchange(&tail->woken, true))
        return;
    pthread_mutex_lock(&tail->lock);
    ff_tail_nudge(tail);
    pthread_mutex_unlock(&tail->lock);
}

void ff_tail_seen(struct ff_tail *tail, int64_t event_id)
{
    if (event_id != atomic_load(&tail->head_id))
        ff_tail_wake(tail);
}

void ff_tail_sleep(struct ff_tail *tail, int64_t ms)
{
    pthread_mutex_lock(&tail->lock);
    if (!tail->nudged && !tail->stopping && ms > 0)
        ff_wait_ms(&tail->changed, &tail->lock, ms);
    pthread_mutex_unlock(&tail->lock);
}

void ff_tail_stop(struct ff_tail *tail)
{
    pthread_mutex_lock(&tail->lock);
    tail->stopping = true;
    pthread_cond_signal(&tail->changed);
    pthread_mutex_unlock(&tail->lock);
}

/* --- calls --- */

static void start(struct ff_tail *tail, ff_tail_stage stage, int block, size_t param_count)
{
    ff_arena_reset(&tail->arena);
    tail->read = (struct ff_read){
        .block = block, .params = tail->params, .param_count = param_count, .arena = &tail->arena};
    tail->call = (struct ff_call){.kind = FF_CALL_READ, .read = &tail->read};
    tail->stage = stage;
    tail->engine->stats.store_calls++;
    tail->session->ops->start(tail->session, &tail->call);
}

/* Fills in the parameters of a page: for one follower by what it is about, where an index helps. */
static int page_block(struct ff_tail *tail, const struct ff_event_match *match, size_t *ret_count)
{
    const int64_t after = tail->page_after, upto = tail->page_upto;

    /* So far apart only the jump of a restored log can be between them: its event must be seen. */
    if (upto - after > FF_LOG_JUMP / 2)
        match = NULL;

    if (match && !ff_uuid_is_zero(match->execution_id)) {
        const struct ff_in_events_of_execution_after in = {match->execution_id, after, upto,
                                                           FF_EVENT_PAGE};

        ff_in_events_of_execution_after_values(&in, tail->params);
        *ret_count = FF_SQL_EVENTS_OF_EXECUTION_AFTER_PARAMS;
        return FF_SQL_EVENTS_OF_EXECUTION_AFTER;
    }
    if (match && !ff_uuid_is_zero(match->flow_id)) {
        const struct ff_in_events_of_flow_after in = {match->flow_id, after, upto, FF_EVENT_PAGE};

        ff_in_events_of_flow_after_values(&in, tail->params);
        *ret_count = FF_SQL_EVENTS_OF_FLOW_AFTER_PARAMS;
        return FF_SQL_EVENTS_OF_FLOW_AFTER;
    }
    const struct ff_in_events_after in = {after, upto, FF_EVENT_PAGE};

    ff_in_events_after_values(&in, tail->params);
    *ret_count = FF_SQL_EVENTS_AFTER_PARAMS;
    return FF_SQL_EVENTS_AFTER;
}

/* --- the horizon --- */

/* Does one of those who held the lock then hold it now? */
static bool some_still_hold(const char *then, struct ff_str now)
{
    char token[64];
    size_t from = 0;

    for (size_t at = 0; at <= now.len; at++) {
        if (at < now.len && now.ptr[at] != ',')
            continue;
        if (at - from > 0 && at - from < sizeof token - 2) {
            (void)snprintf(token, sizeof token, ",%.*s,", (int)(at - from), now.ptr + from);
            if (strstr(then, token))
                return true;
        }
        from = at + 1;
    }
    return false;
}

static bool keep_holders(struct ff_tail *tail, struct ff_str holders)
{
    char *const copy = ff_malloc(holders.len + 3);

    if (!copy)
        return false;
    (void)snprintf(copy, holders.len + 3, ",%.*s,", (int)holders.len, holders.ptr);
    ff_free(tail->holders);
    tail->holders = copy;
    return true;
}

/* Events below the floor are gone. With the lock held. */
static void floor_moved(struct ff_tail *tail)
{
    if (tail->floor_id - 1 > tail->position) {
        tail->position = tail->floor_id - 1;
        ff_end_waits_recheck(tail);
    }
    ff_follow_floor(tail);
}

/* The older copy is settled: now those hear of it who saw more. With the lock held. */
static void came_back(struct ff_tail *tail)
{
    ff_follow_back(tail);
    tail->back_id = INT64_MAX;
    tail->position = tail->horizon;
    ff_end_waits_recheck(tail);
}

static void settle(struct ff_tail *tail, int64_t event_id, uint64_t poll)
{
    event_id = ff_min_i64(event_id, ff_max_i64(tail->seen_id, tail->floor_id - 1));
    pthread_mutex_lock(&tail->lock);
    tail->horizon = ff_max_i64(tail->horizon, event_id);
    if (tail->back_id != INT64_MAX)
        came_back(tail);
    tail->ready = true;
    tail->settled_poll = poll;
    tail->poll_pause_ms = POLL_MS;
    if (!ff_tail_any_live(tail))
        tail->position = ff_max_i64(tail->position, tail->horizon);
    floor_moved(tail);
    ff_follow_settle(tail);
    ff_end_waits_settle(tail);
    pthread_mutex_unlock(&tail->lock);
}

/* Who held the lock, and what was given out, is to be asked anew. */
static void begin_anew(struct ff_tail *tail)
{
    tail->first_id = UNASKED;
    tail->pending = tail->ready = false;
    tail->next_poll_mono_ms = 0;
}

/* Ids that were visible have not been given out: somebody put an older copy in its place, under our
 * feet. Where it is settled is found out as on a new connection. */
static void ran_back(struct ff_tail *tail, int64_t given_id)
{
    ff_log(FF_LOG_ERROR, "engine",
           "the log ends before what was read from it: an older copy was put back, see 'ff migrate "
           "--restored' last_id=%lld read_id=%lld",
           (long long)given_id, (long long)tail->seen_id);
    tail->seen_id = 0;
    pthread_mutex_lock(&tail->lock);
    tail->horizon = 0;
    tail->back_id = ff_min_i64(tail->back_id, given_id);
    pthread_mutex_unlock(&tail->lock);
    begin_anew(tail);
}

static void head_ended(struct ff_tail *tail)
{
    const struct ff_value *const cells = tail->read.cells;
    const int64_t given_id = cells[FF_OUT_LOG_HEAD_GIVEN_ID].as.i64;
    const int64_t floor_id = cells[FF_OUT_LOG_HEAD_FLOOR_ID].as.i64;
    const struct ff_str holders = cells[FF_OUT_LOG_HEAD_HOLDERS].as.str;
    const bool free_now = ff_str_is_null(holders) || holders.len == 0 || FF_MUTANT(naive_cursor);
    int64_t head_id = cells[FF_OUT_LOG_HEAD_EVENT_ID].as.i64;

    tail->given_id = given_id;
    tail->floor_id = floor_id == FF_NULL64 ? 1 : floor_id;
    atomic_store(&tail->head_id, head_id);
    if (given_id < tail->seen_id) {
        ran_back(tail, given_id);
        return;
    }
    tail->seen_id = ff_max_i64(tail->seen_id, head_id);
    if (tail->first_id == UNASKED && !ff_str_is_null(holders)) {
        tail->first_id = given_id; /* who holds the lock is asked after that */
        tail->next_poll_mono_ms = 0;
        return;
    }
    head_id = ff_max_i64(head_id, tail->first_id);
    if (free_now) {
        tail->pending = false;
        settle(tail, head_id, tail->polls);
        return;
    }
    if (tail->pending &&
        (!some_still_hold(tail->holders, holders) || FF_MUTANT(tailer_waits_one_round))) {
        tail->pending = false;
        settle(tail, tail->pending_id, tail->pending_poll);
    } else if (tail->pending) {
        tail->poll_pause_ms = ff_min_i64(tail->poll_pause_ms * 2, POLL_MS_MAX);
    }
    if (tail->pending)
        return;
    if (!keep_holders(tail, holders)) {
        tail->woken = true; /* nobody else says so again */
        ff_tail_rest(tail);
        return;
    }
    tail->pending = true;
    tail->pending_id = head_id;
    tail->pending_poll = tail->polls;
}

/* --- pages --- */

/* An empty page: nothing is there, or it has been dropped meanwhile. */
static void page_was_empty(struct ff_tail *tail, bool live)
{
    tail->page_live = live;
    start(tail, FF_TAIL_FLOOR, FF_SQL_LOG_FLOOR, 0);
}

static void page_ended(struct ff_tail *tail, bool live)
{
    const struct ff_read *const read = &tail->read;
    struct ff_page page = {.after = tail->page_after, .upto = tail->page_upto};

    if (read->row_count == 0) {
        page_was_empty(tail, live);
        return;
    }
    page.events = (struct ff_event *const *)read->rows;
    page.count = read->row_count;
    if (read->row_count == FF_EVENT_PAGE)
        page.upto = page.events[page.count - 1]->event_id;
    pthread_mutex_lock(&tail->lock);
    for (size_t i = 0; live && i < page.count; i++)
        ff_end_waits_see(tail, page.events[i]);
    if (live) {
        ff_follow_deliver_live(tail, &page);
        tail->position = page.upto;
    } else if (tail->reading_for) {
        ff_follow_deliver(tail->reading_for, &page);
    }
    pthread_mutex_unlock(&tail->lock);
}

static void floor_ended(struct ff_tail *tail)
{
    const struct ff_page nothing = {.after = tail->page_after, .upto = tail->page_upto};

    if (tail->read.row_count == 1)
        tail->floor_id = tail->read.cells[FF_OUT_LOG_FLOOR_FLOOR_ID].as.i64;
    pthread_mutex_lock(&tail->lock);
    if (tail->floor_id > tail->page_after + 1) { /* it is gone: on from what is left */
        floor_moved(tail);
    } else if (tail->page_live) {
        ff_follow_deliver_live(tail, &nothing);
        tail->position = tail->page_upto;
    } else if (tail->reading_for) {
        ff_follow_deliver(tail->reading_for, &nothing);
    }
    pthread_mutex_unlock(&tail->lock);
}

static void check_ended(struct ff_tail *tail)
{
    const struct ff_read *const read = &tail->read;
    const bool ended = read->row_count == 0 || read->cells[0].as.i64 != 0;

    pthread_mutex_lock(&tail->lock);
    if (tail->checking)
        ff_end_wait_checked(tail->checking, ended);
    tail->checking = NULL;
    pthread_mutex_unlock(&tail->lock);
}

/* --- the state machine --- */

/* The store was away: who held the lock is not known any more, and the connection is a new one. */
static void lost(struct ff_tail *tail, int64_t mono_ms)
{
    /* Then everybody has been told. */
    const bool again = tail->lost_once || mono_ms < tail->same_loss_until_mono_ms;

    if (!again)
        ff_log(FF_LOG_WARN, "engine", "the log cannot be read code=%s reason='%s'",
               tail->call.sqlstate, tail->call.error.message);
    tail->retry_at_mono_ms = again ? mono_ms + RECONNECT_MS : mono_ms;
    tail->same_loss_until_mono_ms = mono_ms + SAME_LOSS_MS;
    tail->lost_once = true;
    begin_anew(tail);
    pthread_mutex_lock(&tail->lock);
    tail->checking = NULL;
    if (!again)
        ff_follow_lost(tail);
    pthread_mutex_unlock(&tail->lock);
}

void ff_tail_rest(struct ff_tail *tail)
{
    tail->retry_at_mono_ms = ff_engine_mono_ms(tail->engine) + RECONNECT_MS;
}

static void call_ended(struct ff_tail *tail, int64_t mono_ms)
{
    const ff_tail_stage stage = tail->stage;
    const bool wants_row = stage == FF_TAIL_HEAD;

    tail->stage = FF_TAIL_IDLE;
    if (tail->call.outcome != FF_CALLED_OK || tail->arena.failed ||
        (wants_row && tail->read.row_count != 1)) {
        lost(tail, mono_ms);
        return;
    }
    tail->lost_once = false;
    switch (stage) {
    case FF_TAIL_HEAD:
        head_ended(tail);
        break;
    case FF_TAIL_PAGE:
        page_ended(tail, true);
        break;
    case FF_TAIL_LAG:
        page_ended(tail, false);
        break;
    case FF_TAIL_FLOOR:
        floor_ended(tail);
        break;
    case FF_TAIL_CHECK:
        check_ended(tail);
        break;
    case FF_TAIL_IDLE:
        break;
    }
}

bool ff_tail_any_live(const struct ff_tail *tail)
{
    return tail->unchecked_waits + tail->active_waits > 0 || ff_follow_any_live(tail);
}

static bool needs_head(const struct ff_tail *tail)
{
    return tail->woken || tail->pending || !tail->ready || tail->starting_waits > 0 ||
           ff_follow_any_starting(tail);
}

/* A page for those who are up to date, or for one who is not, in turn. */
static ff_tail_stage choose_page(struct ff_tail *tail)
{
    struct ff_follow *const lagging = ff_follow_next_lagging(tail);

    if (tail->horizon > tail->position && ff_tail_any_live(tail) && !(lagging && tail->lag_turn)) {
        tail->lag_turn = true;
        tail->page_after = tail->position;
        tail->page_upto = tail->horizon;
        return FF_TAIL_PAGE;
    }
    tail->lag_turn = false;
    tail->reading_for = lagging;
    if (!lagging)
        return FF_TAIL_IDLE;
    tail->page_after = ff_follow_at(lagging);
    tail->page_upto = tail->position;
    return FF_TAIL_LAG;
}

/* Chooses under the lock, so that nobody is freed between being chosen and being named. Pages and
 * looks at rows take turns: there may be thousands of waits, and each has a look of its own. */
static ff_tail_stage choose(struct ff_tail *tail, int64_t mono_ms)
{
    const bool page_turn = tail->page_turn;
    ff_tail_stage stage;

    if (!atomic_load(&tail->followed) || mono_ms < tail->retry_at_mono_ms)
        return FF_TAIL_IDLE;
    if (needs_head(tail) && mono_ms >= tail->next_poll_mono_ms) {
        tail->woken = false;
        return FF_TAIL_HEAD;
    }
    if (!tail->ready)
        return FF_TAIL_IDLE;
    stage = page_turn ? choose_page(tail) : FF_TAIL_IDLE;
    tail->checking = stage == FF_TAIL_IDLE ? ff_end_waits_unchecked(tail) : NULL;
    if (tail->checking)
        stage = FF_TAIL_CHECK;
    else if (!page_turn)
        stage = choose_page(tail);
    tail->page_turn = stage == FF_TAIL_CHECK;
    return stage;
}

static bool start_next(struct ff_tail *tail, int64_t mono_ms)
{
    size_t param_count = 0;
    ff_tail_stage stage;
    int block = FF_SQL_LOG_HEAD;

    pthread_mutex_lock(&tail->lock);
    stage = choose(tail, mono_ms);
    if (stage == FF_TAIL_CHECK)
        block = ff_end_wait_block(tail->checking, tail->params, &param_count);
    else if (stage == FF_TAIL_LAG)
        block = page_block(tail, ff_follow_match(tail->reading_for), &param_count);
    else if (stage == FF_TAIL_PAGE)
        block = page_block(tail, NULL, &param_count);
    else if (stage == FF_TAIL_HEAD)
        tail->polls++;
    pthread_mutex_unlock(&tail->lock);
    if (stage == FF_TAIL_HEAD)
        tail->next_poll_mono_ms = mono_ms + tail->poll_pause_ms;
    if (stage != FF_TAIL_IDLE)
        start(tail, stage, block, param_count);
    return stage != FF_TAIL_IDLE;
}

static int64_t next_time(struct ff_tail *tail, int64_t mono_ms)
{
    int64_t next_ms = INT64_MAX;

    pthread_mutex_lock(&tail->lock);
    next_ms = ff_min_i64(next_ms, ff_follow_expire(tail, mono_ms));
    next_ms = ff_min_i64(next_ms, ff_end_waits_expire(tail, mono_ms));
    if (atomic_load(&tail->followed) && tail->stage == FF_TAIL_IDLE && needs_head(tail))
        next_ms = ff_min_i64(next_ms, ff_max_i64(tail->retry_at_mono_ms, tail->next_poll_mono_ms));
    if (tail->retry_at_mono_ms > mono_ms) /* pages wait for it too */
        next_ms = ff_min_i64(next_ms, tail->retry_at_mono_ms);
    pthread_mutex_unlock(&tail->lock);
    return ff_max_i64(next_ms, mono_ms);
}

int64_t ff_tail_step(struct ff_tail *tail, bool *ret_waiting)
{
    int64_t mono_ms = ff_engine_mono_ms(tail->engine);

    pthread_mutex_lock(&tail->lock);
    tail->nudged = false;
    pthread_mutex_unlock(&tail->lock);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (tail->stage != FF_TAIL_IDLE) {
            if (!tail->session->ops->finish(tail->session, &tail->call))
                break;
            call_ended(tail, mono_ms);
        }
        mono_ms = ff_engine_mono_ms(tail->engine);
        if (tail->stage == FF_TAIL_IDLE && !start_next(tail, mono_ms))
            break;
    }
    *ret_waiting = tail->stage != FF_TAIL_IDLE;
    return next_time(tail, mono_ms);
}
