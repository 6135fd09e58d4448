/* SPDX-License-Identifier: Apache-2.0
 *
 * story.c -- the events of an execution, as they are delivered, tell a life that can be lived.
 *
 * Threads do whatever comes to their mind, through the public API, now with one engine and now with
 * another: what either remembers of an execution is often outdated. A follower's events, played
 * through the table of legal moves, must be legal one after the other; only a submission and the
 * end of a delay are silent. That the last event leads to the row is what ff_fsck looks at, which
 * ends every case. */
#include "events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api-int.h"
#include "base/arena.h"
#include "engine/follow.h"
#include "model/events.h"
#include "model/states.h"
#include "model/steps.h"
#include "support/flows.h"

#include "base/banned.h"

#define PLAYERS  4
#define WORK_MS  6000
#define TYPES    16 /* of events; with fewer nothing much has happened */
#define IDS_MAX  512
#define SHORT_MS 150

/* ---- the players ---- */

struct game {
    uint64_t seed;
    struct ff_client *clients[2];
    pthread_mutex_t lock;
    char ids[IDS_MAX][FF_ID_BYTES];
    size_t count;
};

struct player {
    struct game *game;
    uint64_t seed;
    struct held held;
    bool holds;
};

static void remember(struct game *game, const char *id)
{
    pthread_mutex_lock(&game->lock);
    (void)snprintf(game->ids[game->count++ % IDS_MAX], FF_ID_BYTES, "%s", id);
    pthread_mutex_unlock(&game->lock);
}

static const char *any_id(struct player *p, char id[FF_ID_BYTES])
{
    struct game *const game = p->game;

    pthread_mutex_lock(&game->lock);
    (void)snprintf(id, FF_ID_BYTES, "%s",
                   game->count
                       ? game->ids[chance(&p->seed, (uint32_t)ff_min_size(game->count, IDS_MAX))]
                       : "");
    pthread_mutex_unlock(&game->lock);
    return id;
}

static void submit(struct test *t, struct player *p)
{
    const struct ff_policy_spec retries = retry_policy(2, 30), reclaims = reclaim_policy(2);
    struct ff_submission s = submission();
    struct ff_submitted made;

    s.policy = chance(&p->seed, 2) ? &retries : &reclaims;
    s.delay_ms = chance(&p->seed, 3) ? FF_ABSENT_MS : 40;
    if (chance(&p->seed, 8) == 0)
        s.deadline_ms = 100;
    if (when_submitted(t, &s, &made) == FF_OK)
        remember(p->game, made.execution_id);
}

static void start_flow(struct test *t, struct player *p)
{
    const struct flow flow = given_flow(t, "a b c:any d | a>b a>c b>c b>d c>d");

    remember(p->game, node_id(t, &flow, "a"));
    remember(p->game, node_id(t, &flow, "d"));
    if (chance(&p->seed, 3) == 0)
        (void)when_flow_cancelled(t, &flow, chance(&p->seed, 2) ? "cancel_all" : "cancel_pending");
    else if (chance(&p->seed, 3) == 0)
        (void)when_grown(t, &flow, "e | a>e", &(struct ff_flow_made){0});
}

static void claim(struct test *t, struct player *p)
{
    struct ff_claim_request r = claim_request();

    r.lease_ttl_ms = chance(&p->seed, 2) ? SHORT_MS : 30000;
    p->holds = claims_one(t, &r, &p->held);
    if (p->holds)
        remember(p->game, p->held.id);
}

/* Something about what it holds; now and then it just forgets it. */
static void say(struct test *t, struct player *p)
{
    switch (chance(&p->seed, 8)) {
    case 0:
        (void)when_renewed(t, &p->held, SHORT_MS);
        return;
    case 1:
        (void)when_failed(t, &p->held, "transient");
        break;
    case 2:
        (void)when_delayed(t, &p->held, 30);
        break;
    case 3:
        (void)when_released(t, &p->held, "no time");
        break;
    case 4:
        (void)when_progressed(t, &p->held, 50, "half");
        return;
    case 5:
        break;
    default:
        (void)when_completed(t, &p->held, "1");
        break;
    }
    p->holds = false;
}

static void interfere(struct test *t, struct player *p)
{
    char id[FF_ID_BYTES];

    switch (chance(&p->seed, 6)) {
    case 0:
        (void)when_cancelled(t, any_id(p, id));
        break;
    case 1:
        (void)when_revoked(t, any_id(p, id));
        break;
    case 2:
        (void)when_prioritised(t, any_id(p, id), (int64_t)chance(&p->seed, 5));
        break;
    default:
        (void)when_replayed(t, any_id(p, id));
        break;
    }
}

static void play(struct test *t, size_t index, void *ctx)
{
    struct player p = {.game = ctx};

    p.seed = p.game->seed + index * 97;

    for (const int64_t until_ms = test_mono_ms() + WORK_MS; test_mono_ms() < until_ms;) {
        const uint32_t what = chance(&p.seed, 20);

        t->client = p.game->clients[chance(&p.seed, 2)];
        if (what < 4)
            submit(t, &p);
        else if (what == 4)
            start_flow(t, &p);
        else if (what < 8)
            interfere(t, &p);
        else if (!p.holds)
            claim(t, &p);
        else
            say(t, &p);
        forget(t);
    }
}

/* ---- the log ---- */

struct told {
    struct ff_event *items;
    size_t count, cap;
    _Atomic bool ready;
};

static void told_release(void *memory)
{
    free(((struct told *)memory)->items);
}

static void told_ready(void *ctx)
{
    ((struct told *)ctx)->ready = true;
}

static void told_add(struct told *told, const struct ff_event *event)
{
    if (told->count == told->cap) {
        told->cap = told->cap ? told->cap * 2 : 4096;
        told->items = realloc(told->items, told->cap * sizeof *told->items);
        if (!told->items)
            abort();
    }
    told->items[told->count++] = *event; /* its texts are not looked at */
}

static bool take_all(struct test *t, struct ff_follow *follow, struct told *told)
{
    struct ff_followed got;
    struct ff_arena arena;

    do {
        ff_arena_init(&arena, 64 << 10, 8 << 20);
        EXPECT_OK(t, ff_follow_take(follow, &arena, 1000, &got, &t->err));
        EXPECT(t, got.notice == FF_NOTICE_NONE);
        for (size_t i = 0; i < got.count; i++)
            told_add(told, &got.items[i]);
        ff_arena_done(&arena);
    } while (got.more);
    return got.caught_up;
}

/* By execution, else in the order they came. */
static int compare(const void *a, const void *b)
{
    const struct ff_event *const x = a, *const y = b;
    const int by_id = memcmp(x->execution_id.b, y->execution_id.b, sizeof x->execution_id.b);

    if (by_id != 0)
        return by_id;
    return x->event_id < y->event_id ? -1 : x->event_id > y->event_id;
}

static void check_step(struct test *t, const struct ff_event *before, const struct ff_event *event)
{
    const bool first = !before || memcmp(before->execution_id.b, event->execution_id.b, 16) != 0;
    const struct ff_step step = {
        .kind = event->kind,
        .type = event->type,
        .before = first ? (int32_t)FF_STATE_NONE : before->state,
        .after = event->state,
        .changes = event->version - (first ? 0 : before->version),
        .generations = event->generation - (first ? 0 : before->generation),
    };

    if (!ff_step_ok(&step) || (!first && event->at_ms < before->at_ms))
        FAIL(t, "event %lld, %s.%s, tells state %d after state %d and %lld changes",
             (long long)event->event_id, ff_event_kind_name(event->kind),
             ff_event_type_name(event->kind, event->type), (int)step.after, (int)step.before,
             (long long)step.changes);
}

static size_t types_of(const struct told *told)
{
    bool seen[FF_EVENT_KIND_END][16] = {{false}};
    size_t types = 0;

    for (size_t i = 0; i < told->count; i++) {
        const struct ff_event *const event = &told->items[i];

        types += !seen[event->kind][event->type];
        seen[event->kind][event->type] = true;
    }
    return types;
}

static void check_story(struct test *t, struct told *told)
{
    const struct ff_event *before = NULL;
    size_t lives = 0;

    for (size_t i = 1; i < told->count; i++)
        EXPECT(t, told->items[i].event_id > told->items[i - 1].event_id);
    qsort(told->items, told->count, sizeof *told->items, compare);
    for (size_t i = 0; i < told->count; i++) {
        const struct ff_event *const event = &told->items[i];

        if (ff_uuid_is_zero(event->execution_id))
            continue;
        check_step(t, before, event);
        lives += !before || memcmp(before->execution_id.b, event->execution_id.b, 16) != 0;
        before = event;
    }
    (void)printf("# %zu events of %zu executions, %zu types\n", told->count, lives, types_of(told));
}

/* Until enough has happened: on a slow machine once more, with other dice. */
static void play_and_follow(struct test *t, struct game *game, struct told *told)
{
    const struct ff_follow_in in = {.match = {.partition_from = -1, .partition_to = -1},
                                    .after = FF_AFTER_START,
                                    .ready = told_ready,
                                    .ctx = told};
    const int64_t until_ms = test_mono_ms() + TEST_WAIT_MS;
    struct ff_follow *follow;

    do {
        in_threads(t, PLAYERS, play, game);
        game->seed++;
        told->count = 0;
        EXPECT_OK(t, ff_follow_new(t->client->engine, &in, &follow, &t->err));
        WAIT_UNTIL(t, take_all(t, follow, told));
        ff_follow_free(follow);
    } while (types_of(told) < TYPES && test_mono_ms() < until_ms);
    EXPECT(t, types_of(told) >= TYPES);
}

static void legal_lives(struct test *t)
{
    struct game *const game = keep(t, sizeof *game);
    struct told *const told = keep_until(t, sizeof *told, told_release);

    game->seed = 4711;
    pthread_mutex_init(&game->lock, NULL);
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    game->clients[0] = t->client;
    game->clients[1] = another_client(t, NULL);
    play_and_follow(t, game, told);
    pthread_mutex_destroy(&game->lock);
    check_story(t, told);
}

const struct plain_case story_cases[] = {
    {"story/lives_are_legal", TEST_STORE_FILE, legal_lives, false},
    {"story/lives_are_legal", TEST_STORE_POSTGRES, legal_lives, false},
    {0},
};
