/* SPDX-License-Identifier: Apache-2.0
 *
 * subscribers.c -- those who follow the log, from process to process, with a cursor as their
 * memory.
 *
 * What must hold of each at any moment: the events it has been given are exactly the committed ones
 * up to its cursor that it wants, in the order of their ids. So every step of a cursor is compared
 * with the log, and a commit that brings an event below somebody's cursor is a failure at once. */
#include "sim.h"

#include <assert.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/limits.h"
#include "book.h"
#include "engine/follow.h"
#include "model/events.h"

#include "base/banned.h"

#define TAKE_MAX 7

struct subscriber {
    struct actor actor;
    struct sim *sim;
    struct ff_follow *follow;
    struct node *node; /* whose log it follows */
    uint32_t life;
    int64_t begin;  /* FF_AFTER_NOW or FF_AFTER_START */
    int64_t cursor; /* an id once it has started */
    bool started;
    struct ff_event_match match;
};

/* The first event behind `id`. */
static size_t behind(const struct model *model, int64_t id)
{
    size_t low = 0, high = model_event_count(model);

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (model_event_at(model, middle)->event_id > id)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Its cursor moves: what it got on the way must be what is there. */
static void check_step(struct subscriber *s, const struct ff_followed *got)
{
    const struct model *const model = s->sim->model;
    size_t at = behind(model, s->cursor), given = 0;

    for (; at < model_event_count(model); at++) {
        const struct ff_event *const event = model_event_at(model, at);

        if (event->event_id > got->cursor)
            break;
        if (!ff_event_matches(&s->match, event))
            continue;
        if (given == got->count || got->items[given].event_id != event->event_id) {
            sim_fail(s->sim,
                     "subscriber %d went from %" PRId64 " to %" PRId64 " without event %" PRId64,
                     s->actor.number, s->cursor, got->cursor, event->event_id);
            return;
        }
        given++;
    }
    if (given < got->count)
        sim_fail(s->sim, "subscriber %d was given event %" PRId64 ", which is not there",
                 s->actor.number, got->items[given].event_id);
}

static void leave(struct subscriber *s)
{
    ff_follow_free(FF_STEAL(s->follow));
    s->node = NULL;
}

/* Under the tailer's lock: only to be noted. */
static void ready(void *ctx)
{
    struct subscriber *const s = ctx;

    s->actor.at_us = ff_min_i64(s->actor.at_us, s->sim->now_us + 1000);
}

static void join(struct subscriber *s)
{
    struct ff_follow_in in = {.match = s->match, .after = s->started ? s->cursor : s->begin};
    struct node *const node = sim_pick_node(s->sim);
    struct ff_error error;

    if (!node)
        return;
    in.ready = ready;
    in.ctx = s;
    if (ff_follow_new(node->engine, &in, &s->follow, &error) != FF_OK) {
        sim_fail(s->sim, "nobody can follow: %s", error.message);
        return;
    }
    if (s->started && s->node != node)
        sim_sometimes(s->sim, SOMETIMES_SUBSCRIBER_MOVED);
    s->node = node;
    s->life = node->life;
    sim_wake(node);
}

static void take(struct subscriber *s)
{
    struct ff_followed got = {0};
    struct ff_error error;
    struct ff_arena arena;
    ff_status status;

    ff_arena_init(&arena, 4096, 1 << 24);
    status = ff_follow_take(s->follow, &arena, 1 + sim_below(s->sim, STREAM_ORDER, TAKE_MAX), &got,
                            &error);
    if (status == FF_CLOSED) {
        sim_sometimes(s->sim, SOMETIMES_SUBSCRIBER_CUT_OFF);
        leave(s);
    } else if (status != FF_OK) {
        sim_fail(s->sim, "subscriber %d at %" PRId64 ": %s", s->actor.number, s->cursor,
                 error.message);
    } else if (got.notice == FF_NOTICE_DISCONNECTED) {
        sim_sometimes(s->sim, SOMETIMES_SUBSCRIBER_DISCONNECTED);
    } else if (got.notice != FF_NOTICE_NONE) {
        sim_fail(s->sim, "subscriber %d hears of a %s", s->actor.number,
                 ff_notice_name(got.notice));
    } else if (got.started || got.count) {
        if (!s->started && s->begin == FF_AFTER_NOW)
            s->cursor = got.count ? got.items[0].event_id - 1 : got.cursor;
        s->started = true;
        check_step(s, &got);
        s->cursor = got.cursor;
        sim_trace(s->sim, &got.cursor, sizeof got.cursor);
    }
    ff_arena_done(&arena);
}

static void act(struct sim *sim, struct actor *actor)
{
    struct subscriber *const s = ff_container_of(actor, struct subscriber, actor);

    actor->at_us = sim->now_us + sim_between(sim, STREAM_ORDER, 1, 200) * 1000;
    if (s->follow && s->node->life != s->life)
        s->node = NULL; /* that process is gone; its last words may still be here */
    if (!s->follow)
        join(s);
    else
        take(s);
    if (s->follow && !sim->healing && sim_percent(sim, STREAM_ORDER, 2))
        leave(s);
    /* Now and then one is slow: its buffer fills up and it lags. */
    if (!sim->healing && sim_percent(sim, STREAM_ORDER, 1))
        actor->at_us += 30000000;
}

/* --- for the rest of the simulator --- */

void sim_subscribers_new(struct sim *sim)
{
    for (int i = 0; i < sim->config.subscribers; i++) {
        struct subscriber *const s = sim_alloc(sim, sizeof *s);

        s->sim = sim;
        s->actor = (struct actor){i, sim_between(sim, STREAM_ORDER, 0, 2000) * 1000, act, NULL};
        s->begin = sim_percent(sim, STREAM_ORDER, 50) ? FF_AFTER_START : FF_AFTER_NOW;
        s->match.partition_from = s->match.partition_to = -1;
        if (sim_percent(sim, STREAM_ORDER, 40))
            s->match.kinds =
                1u << (sim_percent(sim, STREAM_ORDER, 50) ? FF_EVENT_COMPLETION : FF_EVENT_LEASE);
        if (vec_push(&sim->actors, &sim->arena, &s->actor, NULL) != FF_OK ||
            vec_push(&sim->subscribers, &sim->arena, s, NULL) != FF_OK)
            assert(!"out of memory");
    }
}

void sim_subscribers_see(struct sim *sim, const struct model_commit *commit)
{
    for (size_t i = 0; i < sim->subscribers.len; i++) {
        struct subscriber *const s = sim->subscribers.items[i];

        for (size_t k = 0; k < commit->event_count; k++) {
            const struct ff_event *const event = commit->events[k];

            if (!ff_event_matches(&s->match, event))
                continue;
            if (s->started && event->event_id <= s->cursor)
                sim_fail(sim, "event %" PRId64 " comes when subscriber %d is at %" PRId64,
                         event->event_id, s->actor.number, s->cursor);
            if (behind(sim->model, event->event_id) < model_event_count(sim->model))
                sim_sometimes(sim, SOMETIMES_EVENT_AWAITED);
        }
    }
}

static bool has_all(const struct subscriber *s)
{
    const struct model *const model = s->sim->model;

    for (size_t i = behind(model, s->cursor); i < model_event_count(model); i++)
        if (ff_event_matches(&s->match, model_event_at(model, i)))
            return false;
    return s->started;
}

bool sim_subscribers_have_all(struct sim *sim)
{
    for (size_t i = 0; i < sim->subscribers.len; i++)
        if (!has_all(sim->subscribers.items[i]))
            return false;
    return true;
}

void sim_subscribers_go_on(struct sim *sim)
{
    for (size_t i = 0; i < sim->subscribers.len; i++)
        ((struct subscriber *)sim->subscribers.items[i])->actor.at_us = sim->now_us;
}

void sim_subscribers_done(struct sim *sim)
{
    for (size_t i = 0; i < sim->subscribers.len; i++)
        leave(sim->subscribers.items[i]);
}
