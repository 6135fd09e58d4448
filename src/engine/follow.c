/* SPDX-License-Identifier: Apache-2.0
 *
 * follow.c -- followers of the log: where each stands, what waits for it, and how much of that.
 *
 * A follower is up to date when it stands where the tailer does; then it shares the tailer's pages.
 * If its buffer has no room it stays behind, and gets pages of its own once there is room again:
 * nobody waits for it. What must stay true: a follower's place moves only over events it has been
 * given or does not want; its buffer never holds more than limits.h allows.
 * Tests: tests/unit/test_tail.c, tests/unit/test_follow.c, tests/events. */
#include "engine/follow.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/codec.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mutant.h"
#include "engine/engine-int.h"
#include "engine/tail.h"
#include "model/cursor.h"
#include "model/events.h"

#include "base/banned.h"

#define MATCH_BYTES 1024

/* An event or a notice that waits to be taken. */
struct item {
    struct ff_list_node link;
    ff_notice notice;
    int64_t cursor;
    size_t bytes;
    struct ff_event event; /* its texts follow the struct */
};

struct ff_follow {
    struct ff_list_node link;
    struct ff_tail *tail;
    struct ff_event_match match;
    struct ff_arena arena; /* texts of the match */
    int64_t after;         /* as asked for */
    void (*ready)(void *ctx);
    void *ctx;
    uint64_t born;              /* begins with a head of this number, or a later one */
    bool started;               /* `at` is known */
    bool told;                  /* `ready` was called and nothing has been taken since */
    bool dropped;               /* was too slow: reads nothing before it takes again */
    ff_status failed;           /* FF_OK, FF_GAP or FF_CLOSED */
    int64_t oldest_id;          /* for FF_GAP */
    int64_t at;                 /* has been given, or does not want, everything up to here */
    int64_t goal;               /* caught up when it stands here */
    int64_t taken_id;           /* the cursor of the last take */
    int64_t before_id;          /* the same, of the one before it */
    bool owes_reset;            /* the log ran back: the next take says so, before all else */
    bool owed_before;           /* the same, at the take before */
    int64_t full_since_mono_ms; /* 0: it has room */
    struct ff_list items;
    size_t count, bytes;
};

const char *ff_notice_name(ff_notice notice)
{
    static const char *const names[] = {
        [FF_NOTICE_NONE] = NULL,
        [FF_NOTICE_DISCONNECTED] = "disconnected",
        [FF_NOTICE_RESET] = "reset",
        [FF_NOTICE_GAP] = "gap",
    };

    return names[notice];
}

static struct ff_follow *follow_of(struct ff_list_node *node)
{
    return ff_list_item(node, struct ff_follow, link);
}

static void tell(struct ff_follow *follow)
{
    if (follow->told)
        return;
    follow->told = true;
    follow->ready(follow->ctx);
}

/* --- the buffer --- */

static void item_drop(struct ff_follow *follow, struct item *item)
{
    ff_list_remove(&item->link);
    follow->count--;
    follow->bytes -= item->bytes;
    ff_free(item);
}

static void drop_all(struct ff_follow *follow)
{
    while (!ff_list_empty(&follow->items))
        item_drop(follow, ff_list_item(ff_list_first(&follow->items), struct item, link));
    follow->full_since_mono_ms = 0;
}

/* Where the texts of an event stand in its struct. */
static const size_t text_offsets[] = {
    offsetof(struct ff_event, namespace),  offsetof(struct ff_event, instance_tag),
    offsetof(struct ff_event, worker_id),  offsetof(struct ff_event, worker_instance_id),
    offsetof(struct ff_event, prev_owner), offsetof(struct ff_event, note),
};

static struct ff_str *text_at(struct ff_event *event, size_t nth)
{
    return (struct ff_str *)(void *)((char *)event + text_offsets[nth]);
}

static struct item *item_new(const struct ff_event *event)
{
    struct ff_event copy = *event;
    size_t bytes = sizeof(struct item);
    struct item *item;
    char *texts;

    for (size_t i = 0; i < FF_ARRAY_LEN(text_offsets); i++)
        bytes += text_at(&copy, i)->len;
    item = ff_malloc(bytes);
    if (!item)
        return NULL;
    memset(item, 0, sizeof *item);
    item->bytes = bytes;
    item->cursor = event->event_id;
    texts = (char *)(item + 1);
    for (size_t i = 0; i < FF_ARRAY_LEN(text_offsets); i++) {
        struct ff_str *const text = text_at(&copy, i);

        if (text->ptr) {
            memcpy(texts, text->ptr, text->len);
            text->ptr = texts;
            texts += text->len;
        }
    }
    item->event = copy;
    return item;
}

static void push(struct ff_follow *follow, struct item *item)
{
    ff_list_push_back(&follow->items, &item->link);
    follow->count++;
    follow->bytes += item->bytes;
    if ((int64_t)follow->bytes > follow->tail->engine->stats.follow_bytes_max)
        follow->tail->engine->stats.follow_bytes_max = (int64_t)follow->bytes;
    tell(follow);
}

static bool has_room(const struct ff_follow *follow)
{
    if (FF_MUTANT(unbounded_follower))
        return true;
    return follow->count < FF_FOLLOW_EVENTS_MAX && follow->bytes < FF_FOLLOW_BYTES_MAX;
}

/* Is there so much room that a page of its own is worth reading? */
static bool has_room_for_page(const struct ff_follow *follow)
{
    if (FF_MUTANT(unbounded_follower))
        return true;
    return follow->count + FF_EVENT_PAGE <= FF_FOLLOW_EVENTS_MAX &&
           follow->bytes < FF_FOLLOW_BYTES_MAX / 2;
}

/* Notices are few: one of a kind is enough between two events. False: there is no memory. */
static bool push_notice(struct ff_follow *follow, ff_notice notice, int64_t cursor)
{
    struct ff_list_node *const last = follow->items.head.prev;
    struct item *item;

    if (follow->count && ff_list_item(last, struct item, link)->notice == notice) {
        ff_list_item(last, struct item, link)->cursor = cursor;
        return true;
    }
    item = ff_calloc(1, sizeof *item);
    if (!item)
        return false;
    item->notice = notice;
    item->bytes = sizeof *item;
    item->cursor = cursor;
    push(follow, item);
    return true;
}

/* Nothing is lost by it: whoever hears nothing of it is served all the same. */
static void push_disconnected(struct ff_follow *follow)
{
    (void)push_notice(follow, FF_NOTICE_DISCONNECTED, follow->at);
}

/* --- delivering; all with the tailer's lock held --- */

static bool is_live(const struct ff_follow *follow)
{
    return follow->started && !follow->failed && !follow->dropped &&
           follow->at >= follow->tail->position;
}

/* It stands where only the lost copy had come. Right before the event nobody can have stood: who
 * does has been told. */
static bool is_reset_for(const struct ff_follow *follow, const struct ff_event *event)
{
    return event->kind == FF_EVENT_LOG && event->type == FF_EVENT_LOG_RESET &&
           event->num_a != FF_NULL64 && event->num_a < follow->at &&
           follow->at < event->event_id - 1;
}

/* What it missed, and the place behind that. False: there is no memory to tell. */
static bool skip_to(struct ff_follow *follow, ff_notice notice, int64_t event_id)
{
    if (!push_notice(follow, notice, event_id)) {
        ff_tail_rest(follow->tail);
        return false;
    }
    follow->at = event_id;
    return true;
}

static void note_full(struct ff_follow *follow)
{
    if (!follow->full_since_mono_ms)
        follow->full_since_mono_ms = ff_engine_mono_ms(follow->tail->engine);
}

/* False: there is no room, or no memory; the follower stays where it is. */
static bool give(struct ff_follow *follow, const struct ff_event *event)
{
    struct item *item;

    if (event->event_id <= follow->at)
        return true;
    if (is_reset_for(follow, event) && !skip_to(follow, FF_NOTICE_RESET, event->event_id - 1))
        return false;
    if (ff_event_matches(&follow->match, event)) {
        if (!has_room(follow)) {
            note_full(follow);
            return false;
        }
        item = item_new(event);
        if (!item) {
            ff_tail_rest(follow->tail);
            return false;
        }
        push(follow, item);
    }
    follow->at = event->event_id;
    return true;
}

void ff_follow_deliver(struct ff_follow *follow, const struct ff_page *page)
{
    const bool was_caught_up = follow->at >= follow->goal;

    if (follow->at < page->after)
        return; /* it went back while this was read */
    for (size_t i = 0; i < page->count; i++)
        if (!give(follow, page->events[i]))
            return;
    follow->at = ff_max_i64(follow->at, page->upto);
    if (!was_caught_up && follow->at >= follow->goal)
        tell(follow);
}

void ff_follow_deliver_live(struct ff_tail *tail, const struct ff_page *page)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        if (is_live(follow_of(node)))
            ff_follow_deliver(follow_of(node), page);
    }
}

static void fail(struct ff_follow *follow, ff_status status, int64_t oldest_id)
{
    follow->failed = status;
    follow->oldest_id = oldest_id;
    tell(follow);
}

static void begin(struct ff_follow *follow)
{
    struct ff_tail *const tail = follow->tail;

    if (follow->after == FF_AFTER_NOW)
        follow->at = tail->horizon;
    else if (follow->after == FF_AFTER_START)
        follow->at = tail->floor_id - 1;
    else
        follow->at = follow->after;
    if (follow->at < tail->floor_id - 1 || follow->at > ff_max_i64(tail->given_id, tail->horizon)) {
        fail(follow, FF_GAP, tail->floor_id - 1);
        return;
    }
    follow->goal = tail->horizon;
    follow->taken_id = follow->before_id = follow->at;
    follow->started = true;
    tell(follow);
}

void ff_follow_settle(struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        struct ff_follow *const follow = follow_of(node);

        if (!follow->started && !follow->failed && follow->born <= tail->settled_poll)
            begin(follow);
    }
}

void ff_follow_lost(struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        struct ff_follow *const follow = follow_of(node);

        if (follow->started && !follow->failed && !follow->dropped)
            push_disconnected(follow);
    }
}

void ff_follow_floor(struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        struct ff_follow *const follow = follow_of(node);

        if (follow->started && !follow->failed && follow->at < tail->floor_id - 1)
            (void)skip_to(follow, FF_NOTICE_GAP, tail->floor_id - 1); /* or the next page does */
    }
}

/* What waits to be taken may be of the copy that was lost: it is read again. That a reset is owed
 * is no part of the buffer, so it is heard whatever becomes of that, and needs no memory. */
void ff_follow_back(struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        struct ff_follow *const follow = follow_of(node);

        if (!follow->started || follow->failed ||
            follow->at <= ff_min_i64(tail->back_id, tail->horizon))
            continue;
        drop_all(follow);
        follow->goal = ff_min_i64(follow->goal, tail->horizon);
        follow->taken_id = ff_min_i64(follow->taken_id, tail->horizon);
        follow->before_id = ff_min_i64(follow->before_id, tail->horizon);
        follow->at = follow->taken_id;
        follow->owes_reset = true;
        tell(follow);
    }
}

void ff_follow_close(struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        if (!follow_of(node)->failed)
            fail(follow_of(node), FF_CLOSED, 0);
    }
}

int64_t ff_follow_expire(struct ff_tail *tail, int64_t mono_ms)
{
    int64_t next_ms = INT64_MAX;

    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        struct ff_follow *const follow = follow_of(node);
        const int64_t until_ms = follow->full_since_mono_ms + FF_FOLLOW_SLOW_MS;

        if (!follow->full_since_mono_ms || follow->dropped)
            continue;
        if (until_ms > mono_ms) {
            next_ms = ff_min_i64(next_ms, until_ms);
            continue;
        }
        drop_all(follow);
        follow->dropped = true;
        follow->at = follow->taken_id;
        push_disconnected(follow);
    }
    return next_ms;
}

struct ff_follow *ff_follow_next_lagging(struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        struct ff_follow *const follow = follow_of(node);

        if (!follow->started || follow->failed || follow->dropped || follow->at >= tail->position)
            continue;
        if (!has_room_for_page(follow)) {
            note_full(follow);
            continue;
        }
        ff_list_remove(node); /* the others come first next time */
        ff_list_push_back(&tail->follows, node);
        return follow;
    }
    return NULL;
}

bool ff_follow_any_live(const struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        if (is_live(follow_of(node)))
            return true;
    }
    return false;
}

bool ff_follow_any_starting(const struct ff_tail *tail)
{
    FF_LIST_FOR_EACH(node, &tail->follows)
    {
        if (!follow_of(node)->started && !follow_of(node)->failed)
            return true;
    }
    return false;
}

int64_t ff_follow_at(const struct ff_follow *follow)
{
    return follow->at;
}

const struct ff_event_match *ff_follow_match(const struct ff_follow *follow)
{
    return &follow->match;
}

/* --- the ways in --- */

ff_status ff_follow_new(struct ff_engine *engine, const struct ff_follow_in *in,
                        struct ff_follow **ret, struct ff_error *reterr)
{
    struct ff_tail *const tail = engine->tail;
    struct ff_follow *const follow = ff_calloc(1, sizeof *follow);
    bool joined;

    if (!follow)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a follower");
    ff_list_init(&follow->items);
    ff_arena_init(&follow->arena, 256, MATCH_BYTES);
    follow->tail = tail;
    follow->match = in->match;
    follow->match.namespace = ff_arena_str(&follow->arena, in->match.namespace);
    follow->match.instance_tag = ff_arena_str(&follow->arena, in->match.instance_tag);
    follow->after = in->after;
    follow->ready = in->ready;
    follow->ctx = in->ctx;
    pthread_mutex_lock(&tail->lock);
    joined = !follow->arena.failed && ff_tail_join(tail);
    if (joined) {
        follow->born = tail->polls + 1;
        tail->follow_count++;
        ff_list_push_back(&tail->follows, &follow->link);
    }
    pthread_mutex_unlock(&tail->lock);
    if (!joined) {
        const bool no_memory = follow->arena.failed;

        ff_arena_done(&follow->arena);
        ff_free(follow);
        return no_memory ? ff_fail(reterr, FF_NO_MEMORY, "cannot hold a follower")
                         : ff_fail(reterr, FF_CLOSED, "engine is closing");
    }
    *ret = follow;
    return FF_OK;
}

void ff_follow_free(struct ff_follow *follow)
{
    struct ff_tail *tail;

    if (!follow)
        return;
    tail = follow->tail;
    pthread_mutex_lock(&tail->lock);
    ff_list_remove(&follow->link);
    if (tail->reading_for == follow)
        tail->reading_for = NULL;
    tail->follow_count--;
    ff_tail_leave(tail);
    drop_all(follow);
    ff_arena_done(&follow->arena);
    ff_free(follow);
}

static ff_status refusal(const struct ff_follow *follow, struct ff_error *reterr)
{
    if (follow->failed == FF_CLOSED)
        return ff_fail(reterr, FF_CLOSED, "engine is closing");
    (void)ff_fail_field(reterr, FF_GAP, "after", "%s",
                        follow->after > follow->oldest_id
                            ? "cursor is of another log: this one has not come so far"
                            : "events behind this cursor are no longer kept");
    if (reterr)
        ff_event_cursor(follow->oldest_id, reterr->oldest);
    return FF_GAP;
}

/* One notice, or events up to the next one. They stay where they are until all have been copied. */
static size_t copy_items(const struct ff_follow *follow, struct ff_arena *arena, size_t max,
                         struct ff_followed *ret)
{
    size_t copied = 0;

    if (max > 0 && follow->owes_reset) {
        ret->notice = FF_NOTICE_RESET;
        return 0;
    }
    if (max > 0 && follow->count > 0)
        ret->items = ff_arena_array(arena, ff_min_size(max, follow->count), sizeof *ret->items);
    FF_LIST_FOR_EACH(node, &follow->items)
    {
        const struct item *const item = ff_list_item(node, struct item, link);
        struct ff_event *out;

        if (copied == max || arena->failed || (item->notice && copied))
            break;
        copied++;
        ret->cursor = item->cursor;
        if (item->notice) {
            ret->notice = item->notice;
            break;
        }
        out = &ret->items[ret->count++];
        *out = item->event;
        for (size_t i = 0; i < FF_ARRAY_LEN(text_offsets); i++)
            *text_at(out, i) = ff_arena_str(arena, *text_at(out, i));
    }
    return copied;
}

/* With the lock held, and memory for all of it. */
static void taken(struct ff_follow *follow, size_t copied, struct ff_followed *ret)
{
    FF_LIST_FOR_EACH(node, &follow->items)
    {
        if (copied == 0)
            break;
        item_drop(follow, ff_list_item(node, struct item, link));
        copied--;
    }
    if (follow->count == 0 && follow->started && !ret->notice)
        ret->cursor = follow->at;
    follow->before_id = follow->taken_id;
    follow->taken_id = ret->cursor;
    follow->owed_before = follow->owes_reset;
    follow->owes_reset = follow->owes_reset && !ret->notice;
    follow->full_since_mono_ms = 0;
    follow->dropped = false;
    ret->started = follow->started;
    ret->more = follow->count > 0 || follow->owes_reset;
    ret->caught_up = follow->started && !ret->more && follow->at >= follow->goal;
    if (follow->at < follow->tail->position)
        ff_tail_nudge(follow->tail); /* there is room for another page */
}

ff_status ff_follow_take(struct ff_follow *follow, struct ff_arena *arena, size_t max,
                         struct ff_followed *ret, struct ff_error *reterr)
{
    struct ff_tail *const tail = follow->tail;
    ff_status status;
    size_t copied;

    pthread_mutex_lock(&tail->lock);
    *ret = (struct ff_followed){.cursor = follow->taken_id};
    follow->told = false;
    if (follow->failed) {
        status = refusal(follow, reterr);
    } else {
        copied = copy_items(follow, arena, max, ret);
        status = ff_arena_check(arena, reterr);
        if (status == FF_OK)
            taken(follow, copied, ret);
    }
    pthread_mutex_unlock(&tail->lock);
    return status;
}

void ff_follow_give_back(struct ff_follow *follow)
{
    struct ff_tail *const tail = follow->tail;

    pthread_mutex_lock(&tail->lock);
    if (follow->started && !follow->failed) {
        drop_all(follow);
        follow->at = follow->taken_id = follow->before_id;
        follow->owes_reset = follow->owes_reset || follow->owed_before;
        if (follow->owes_reset)
            tell(follow);
        ff_tail_nudge(tail);
    }
    pthread_mutex_unlock(&tail->lock);
}
