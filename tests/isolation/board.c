/* SPDX-License-Identifier: Apache-2.0
 *
 * board.c -- a store with players: Postgres, or the simulator's model of it.
 *
 * The engines' clock stands still during a game, so nothing happens because of time but what the
 * store does by its own. Whether a call on Postgres is slow or waits for a lock is asked of the
 * server itself. */
#include "isolation.h"

#include <assert.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "model.h"

#include "base/banned.h"

#define ARENA_BYTES (64 << 20)
#define STEPS_MAX   500
#define SLOW_MS     60000 /* a call that neither ends nor waits for a lock */

/* --- texts --- */

void text_add(struct text *text, const char *fmt, ...)
{
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(text->bytes + text->len, sizeof text->bytes - text->len, fmt, args);
    va_end(args);
    assert(len >= 0 && text->len + (size_t)len < sizeof text->bytes);
    text->len += (size_t)len;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void text_sort(struct text *text)
{
    static char copy[TEXT_BYTES];
    static char *lines[4096];
    size_t count = 0;
    char *rest = copy;

    memcpy(copy, text->bytes, text->len + 1);
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        assert(count < FF_ARRAY_LEN(lines));
        lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, by_text);
    text->len = 0;
    for (size_t i = 0; i < count; i++)
        text_add(text, "%s\n", lines[i]);
}

/* --- the model's surroundings: nothing ever goes wrong --- */

static int64_t hook_now_us(void *ctx)
{
    return ((struct board *)ctx)->now_us;
}

static int64_t hook_store_ms(void *ctx)
{
    return INT64_C(1700000000000) + ((struct board *)ctx)->now_us / 1000;
}

static struct model_fate hook_decide(void *ctx, int node, const struct ff_call *call)
{
    (void)ctx, (void)node, (void)call;
    return (struct model_fate){.run = true};
}

static struct model_end hook_lose(void *ctx, int node, bool saving)
{
    (void)ctx, (void)node, (void)saving;
    return (struct model_end){0};
}

static int64_t hook_pause_us(void *ctx)
{
    (void)ctx;
    return 0;
}

static void hook_called(void *ctx, int node, const struct ff_call *call)
{
    (void)ctx, (void)node, (void)call;
}

static void hook_committed(void *ctx, const struct model_commit *commit)
{
    (void)ctx, (void)commit;
}

static void hook_hinted(void *ctx, int node)
{
    (void)ctx, (void)node;
}

static bool hook_take_hint(void *ctx, int node)
{
    (void)ctx, (void)node;
    return false;
}

static bool hook_refuses(void *ctx, ff_table table, const void *row)
{
    (void)ctx, (void)table, (void)row;
    return false;
}

static void hook_wrong(void *ctx, const char *what)
{
    (void)ctx;
    (void)fprintf(stderr, "model: %s\n", what);
    abort();
}

static void hook_sometimes(void *ctx, int what)
{
    (void)ctx, (void)what;
}

/* --- making --- */

static int64_t clock_ms(void *ctx)
{
    return ((struct board *)ctx)->mono_ms;
}

static void engine_open(struct player *player, struct ff_store *store)
{
    const struct ff_clock clock = {
        .ctx = player->board, .mono_ms = clock_ms, .real_ms = clock_ms, .boot_ms = clock_ms};
    struct ff_engine_options options;
    struct ff_error error;
    const bool free = player->free;

    ff_engine_options_default(&options);
    options.store = gate_new(store, player);
    options.executors = player->board->executors;
    options.readers = 1;
    options.threads = false;
    options.loops = false;
    options.assumes = false; /* every game is played statement by statement */
    options.cascade = player->board->cascades && !player->free; /* otherwise hops are acts */
    options.clock = clock;
    options.random = ff_random_from_prng(&player->random);
    player->free = true;
    if (ff_engine_new(&options, &player->engine, &error) != FF_OK) {
        (void)fprintf(stderr, "engine: %s\n", error.message);
        abort();
    }
    player->free = free;
}

static void board_init(struct board *board, const char *name, int executors, bool cascades)
{
    memset(board, 0, sizeof *board);
    board->name = name;
    board->executors = executors;
    board->cascades = cascades;
    board->mono_ms = 1000000;
    ff_arena_init(&board->arena, 64 << 10, ARENA_BYTES);
    ff_rowset_init(&board->known, &board->arena);
    for (int i = 0; i < PLAYERS_MAX; i++)
        board->players[i] = (struct player){.board = board, .number = i};
    board->stage = (struct player){.board = board, .number = PLAYERS_MAX, .free = true};
}

static struct ff_store *postgres_new(const char *url)
{
    const struct ff_store_options options = {
        .url = url, .create = true, .clock = ff_clock_system(), .random = ff_random_system()};
    struct ff_store *store;
    struct ff_error error;

    if (ff_store_open(&options, &store, &error) == FF_OK)
        return store;
    (void)fprintf(stderr, "store: %s\n", error.message);
    abort();
}

void board_open_postgres(struct board *board, const char *url, int executors, bool cascades)
{
    board_init(board, "postgres", executors, cascades);
    board->monitor = PQconnectdb(getenv("FF_TEST_PG"));
    assert(PQstatus(board->monitor) == CONNECTION_OK);
    for (int i = 0; i < PLAYERS_MAX; i++)
        engine_open(&board->players[i], postgres_new(url));
    engine_open(&board->stage, postgres_new(url));
}

void board_open_model(struct board *board, int executors, bool cascades)
{
    const struct model_hooks hooks = {
        .ctx = board,
        .now_us = hook_now_us,
        .store_ms = hook_store_ms,
        .decide = hook_decide,
        .lose = hook_lose,
        .pause_us = hook_pause_us,
        .called = hook_called,
        .committed = hook_committed,
        .hinted = hook_hinted,
        .take_hint = hook_take_hint,
        .refuses = hook_refuses,
        .wrong = hook_wrong,
        .sometimes = hook_sometimes,
    };

    board_init(board, "model", executors, cascades);
    board->model = model_new(&hooks);
    for (int i = 0; i < PLAYERS_MAX; i++)
        engine_open(&board->players[i], model_store_new(board->model, i, true, false));
    engine_open(&board->stage, model_store_new(board->model, PLAYERS_MAX, true, false));
}

void board_close(struct board *board)
{
    for (int i = 0; i <= PLAYERS_MAX; i++) {
        struct player *const player = i < PLAYERS_MAX ? &board->players[i] : &board->stage;

        player->held_count = 0;
        ff_engine_free(player->engine);
        ff_job_free(player->job);
    }
    if (board->model)
        model_free(board->model);
    PQfinish(board->monitor);
    ff_arena_done(&board->arena);
}

/* --- moving --- */

void player_step(struct player *player)
{
    struct board *const board = player->board;

    for (int i = 0; i < STEPS_MAX; i++) {
        int waiting;
        const int64_t next_ms = ff_engine_step(player->engine, &waiting);

        if (player->unfinished) {
            player->unfinished = false;
            player->say(board->game, player);
            return;
        }
        if (next_ms <= board->mono_ms)
            continue;
        if (!player->out || player->held_count > 0 || waiting > 0)
            return;
        board->mono_ms = next_ms; /* it rests after a failure */
    }
    board->stuck = true;
}

static void done(struct ff_job *job, void *ctx)
{
    struct player *const player = ctx;

    answer_text(player, job);
    player->out = false;
    player->unfinished = player->say && answer_is_unfinished(player->answer);
    if (player->free)
        player->job = job;
    else
        ff_job_free(job);
}

void player_ask(struct player *player, ff_op_id op, void *in)
{
    struct ff_job *const job = ff_job_new(op, 0);
    struct ff_error error;

    assert(job && !player->out);
    job->in = in;
    job->done = done;
    job->ctx = player;
    player->out = true;
    if (ff_engine_submit(player->engine, job, &error) != FF_OK)
        abort();
    player_step(player);
}

const void *stage_do(struct board *board, ff_op_id op, void *in)
{
    struct player *const stage = &board->stage;

    ff_job_free(stage->job);
    stage->job = NULL;
    player_ask(stage, op, in);
    if (stage->out || stage->job->status != FF_OK) {
        (void)fprintf(stderr, "scene on %s: %s: %s\n", board->name, ff_op_types[op].name,
                      stage->out ? "no answer" : stage->job->error.message);
        abort();
    }
    return stage->job->out;
}

static const char *kind_name(ff_call_kind kind)
{
    switch ((int)kind) {
    case FF_CALL_LOAD:
        return "load";
    case FF_CALL_MORE:
        return "more";
    case FF_CALL_SAVE:
        return "save";
    default:
        return "rollback";
    }
}

static void tell(struct board *board, const struct gate_session *s)
{
    static const char *const outcomes[] = {"ok", "rerun", "stop", "op", "unknown"};

    text_add(&board->trace, "%d %s %s%s%s\n", s->player->number, kind_name(s->call->kind),
             outcomes[s->call->outcome], s->call->outcome == FF_CALLED_OK ? "" : " ",
             s->call->outcome == FF_CALLED_OK ? "" : s->call->sqlstate);
}

/* How many sessions of ours wait for a lock, by the server's own word. One that was given its lock
 * and has not been told yet waits no more, whatever it says of itself: so the locks are asked. */
static size_t waiting_now(struct board *board)
{
    PGresult *const result = PQexec(
        board->monitor, "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
                        "WHERE NOT l.granted AND a.application_name = 'flowfabric' "
                        "AND l.locktype IN ('tuple', 'transactionid')");
    const size_t count = (size_t)strtol(PQgetvalue(result, 0, 0), NULL, 10);

    PQclear(result);
    return count;
}

/* The call has ended (true), or somebody else must do something first. */
static bool settle_postgres(struct board *board, struct gate_session *s)
{
    for (int i = 0; i < SLOW_MS; i++) {
        if (gate_ended(s))
            return true;
        s->wrap.inner->ops->wait(s->wrap.inner, 1);
        if (!gate_ended(s) && waiting_now(board) >= board->running_count)
            return gate_ended(s);
    }
    board->stuck = true;
    return false;
}

static bool settle_model(struct board *board, struct gate_session *s)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (size_t i = 0; i < model_mover_count(board->model); i++)
            if (model_mover_at_us(board->model, i) <= board->now_us) {
                model_move(board->model, i);
                moved = true;
                break;
            }
    }
    return gate_ended(s);
}

static void settle(struct board *board, struct gate_session *s)
{
    const bool ended = board->model ? settle_model(board, s) : settle_postgres(board, s);

    if (!ended) {
        if (!s->waits)
            text_add(&board->trace, "%d %s waits\n", s->player->number, kind_name(s->call->kind));
        s->waits = true;
        return;
    }
    tell(board, s);
    for (size_t i = 0; i < board->running_count; i++)
        if (board->running[i] == s) {
            memmove(&board->running[i], &board->running[i + 1],
                    (--board->running_count - i) * sizeof board->running[0]);
            break;
        }
    player_step(s->player);
}

/* Those who waited may go on now, the longest wait first. */
static void settle_all(struct board *board)
{
    for (size_t i = 0; i < board->running_count;) {
        const size_t before = board->running_count;

        settle(board, board->running[i]);
        i += board->running_count == before ? 1 : 0;
    }
}

void board_pass(struct board *board, int64_t ms)
{
    const struct timespec pause = {.tv_nsec = (long)ms * 1000000};

    board->now_us += ms * 1000;
    if (!board->model && ms > 0)
        (void)nanosleep(&pause, NULL);
}

size_t board_held(struct board *board, struct gate_session *ret[PLAYERS_MAX * HELD_MAX])
{
    size_t count = 0;

    for (int i = 0; i < PLAYERS_MAX; i++)
        for (size_t j = 0; j < board->players[i].held_count; j++)
            ret[count++] = board->players[i].held[j];
    return count;
}

void board_turn(struct board *board, struct gate_session *session)
{
    board->now_us += 1000;
    board_pass(board, session->player->rest_ms);
    gate_release(session);
    board->running[board->running_count++] = session;
    settle(board, session);
    settle_all(board);
}

bool board_waits(const struct board *board)
{
    return board->running_count > 0;
}

void board_wait(struct board *board)
{
    if (board->model) {
        int64_t next_us = INT64_MAX;

        for (size_t i = 0; i < model_mover_count(board->model); i++)
            next_us = ff_min_i64(next_us, model_mover_at_us(board->model, i));
        board->now_us = ff_max_i64(board->now_us, next_us);
    } else {
        board->running[0]->wrap.inner->ops->wait(board->running[0]->wrap.inner, 50);
    }
    settle_all(board);
}

bool board_goes_on(struct board *board)
{
    for (int i = 0; i < PLAYERS_MAX; i++) {
        struct player *const player = &board->players[i];
        struct ff_engine_stats stats;

        ff_engine_stats(player->engine, &stats);
        for (int step = 0; stats.cascading > 0 && step < STEPS_MAX; step++) {
            int waiting;

            board->mono_ms = ff_max_i64(board->mono_ms, ff_engine_step(player->engine, &waiting));
            if (player->held_count > 0)
                return true;
            ff_engine_stats(player->engine, &stats);
        }
        if (stats.cascading > 0)
            board->stuck = true;
    }
    return false;
}

void board_begin(struct board *board, struct game *game)
{
    board->game = game;
    board->trace.len = 0;
    board->trace.bytes[0] = '\0';
    ff_arena_reset(&board->arena);
    ff_rowset_init(&board->known, &board->arena);
    board->mono_ms += 1000; /* a pulse is due: every engine meets the store again */
    for (int i = 0; i <= PLAYERS_MAX; i++) {
        struct player *const player = i < PLAYERS_MAX ? &board->players[i] : &board->stage;

        assert(!player->out && player->held_count == 0);
        player->answer[0] = '\0';
        player->rest_ms = 0;
        player->say = NULL;
        player_step(player);
        ff_prng_init(&player->random, game->number * 8 + (uint64_t)i);
    }
}
