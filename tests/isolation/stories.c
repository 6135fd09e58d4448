/* SPDX-License-Identifier: Apache-2.0
 *
 * stories.c -- orders that matter inside one process, whose executors meet on the store.
 *
 * Here the engines have two executors, so two batches of one process are under way at once. */
#include "inputs.h"

#include <assert.h>
#include <string.h>

#include "base/banned.h"

#define STORY       (UINT64_C(1) << 32) /* numbers that no game has */
#define WAIT_MS     60000
#define LARGE       10
#define LARGE_BYTES ((size_t)1 << 20)

struct word {
    struct ff_job *job; /* until it ends */
    bool answered;
    size_t tasks;
};

static void heard(struct ff_job *job, void *ctx)
{
    struct word *const word = ctx;
    const struct ff_claim_out *const out = job->out;

    word->answered = job->status == FF_OK;
    if (job->type == &ff_op_types[FF_OP_EXECUTION_CLAIM] && out)
        word->tasks = out->task_count;
    ff_job_free(job);
}

/* Returns its first call, which is held. */
static struct gate_session *say(struct player *player, ff_op_id op, void *in, struct word *word)
{
    struct ff_job *const job = word->job = ff_job_new(op, 0);
    struct ff_error error;

    assert(job);
    job->in = in;
    job->done = heard;
    job->ctx = word;
    if (op == FF_OP_EXECUTION_CLAIM)
        job->wait_until_mono_ms = player->board->mono_ms + WAIT_MS;
    if (ff_engine_submit(player->engine, job, &error) != FF_OK)
        return NULL;
    player_step(player);
    return player->held_count > 0 ? player->held[player->held_count - 1] : NULL;
}

static const char *run_wakeup(struct game *game)
{
    struct player *const player = &game->board->players[0];
    struct gate_session *held[PLAYERS_MAX * HELD_MAX];
    struct word claimed = {0};
    struct word submitted = {0};
    struct ff_submit_in in = world_submission(game->author);
    struct ff_claim_in claim = world_claim_of(game->author, "w");
    struct gate_session *one;
    struct gate_session *two;

    claim.lanes[0] = in.lane = game->lane;
    check(game,
          ff_submit_prepare(&in, &game->author->settings, arena_of(game), &game->author->error));
    one = say(player, FF_OP_EXECUTION_CLAIM, &claim, &claimed);
    board_turn(game->board, one); /* it finds nothing, and has yet to let go */
    two = say(player, FF_OP_EXECUTION_SUBMIT, &in, &submitted);
    while (!submitted.answered && two->stage == GATE_HELD) /* it may know enough to save at once */
        board_turn(game->board, two);
    if (!submitted.answered || claimed.answered)
        return "the submission is not between load and end of the claim";
    while (board_held(game->board, held) > 0)
        board_turn(game->board, held[0]);
    return claimed.answered && claimed.tasks == 1 ? NULL : "the claim sleeps, and there is work";
}

static void given_large(struct game *game, uint8_t count, size_t bytes)
{
    for (uint8_t i = 0; i < count; i++) {
        struct ff_submit_in *const in = submission(game, (struct ff_exec_id){7, id_of(game, i)});
        char *const input = ff_arena_alloc(arena_of(game), bytes);

        assert(input);
        in->input = (struct ff_str){memset(input, '1', bytes), bytes};
        check(game,
              ff_submit_prepare(in, &game->author->settings, arena_of(game), &game->author->error));
        (void)stage_do(game->board, FF_OP_EXECUTION_SUBMIT, in);
    }
}

/* One claim holds all there is; another looks meanwhile, sees nothing, and waits. */
static const char *run_left(struct game *game, bool given_up)
{
    struct player *const player = &game->board->players[0];
    struct gate_session *held[PLAYERS_MAX * HELD_MAX];
    struct word first = {0};
    struct word second = {0};
    struct ff_claim_in a = world_claim_of(game->author, "a");
    struct ff_claim_in b = world_claim_of(game->author, "b");
    struct gate_session *one;

    given_large(game, LARGE, given_up ? 1 : LARGE_BYTES);
    a.lanes[0] = b.lanes[0] = game->lane;
    a.max = b.max = LARGE;
    one = say(player, FF_OP_EXECUTION_CLAIM, &a, &first);
    if (given_up && !ff_engine_give_up(player->engine, first.job))
        return "the first claim cannot be given up";
    board_turn(game->board, one);
    board_turn(game->board, say(player, FF_OP_EXECUTION_CLAIM, &b, &second));
    while (board_held(game->board, held) > 0)
        board_turn(game->board, held[0]);
    if (first.tasks == LARGE)
        return "the first claim has taken everything";
    return second.answered && second.tasks > 0 ? NULL : "the claim sleeps, and there is work";
}

/* Two are too many for one answer: what the first claim leaves is for the other. */
static const char *run_too_large(struct game *game)
{
    return run_left(game, false);
}

static const char *run_given_up(struct game *game)
{
    return run_left(game, true);
}

/* Each with a number of its own: all ids come from it, and the database stays. Without `url` on the
 * model, where a roll-back can be held, too. */
static const char *tell(const char *url, uint64_t number, const char *(*run)(struct game *game))
{
    static struct board board;
    struct game game;
    const char *why;

    if (url)
        board_open_postgres(&board, url, 2, false);
    else
        board_open_model(&board, 2, false);
    game_init(&game, &board, number);
    board_begin(&board, &game);
    why = run(&game);
    board_close(&board);
    game_done(&game);
    return why;
}

/* A claim that found nothing parks. What was committed after it had looked must not be missed. */
static const char *wakeup_between_look_and_sleep(const char *url)
{
    return tell(url, STORY, run_wakeup);
}

/* Nor what somebody held just then, and left. */
static const char *held_and_too_large(const char *url)
{
    return tell(url, STORY + 1, run_too_large);
}

static const char *held_and_given_up(const char *url)
{
    (void)url;
    return tell(NULL, STORY + 2, run_given_up);
}

const struct story stories[] = {
    {"story/wakeup_between_look_and_sleep", wakeup_between_look_and_sleep},
    {"story/held_and_too_large", held_and_too_large},
    {"story/held_and_given_up", held_and_given_up},
};
const size_t story_count = FF_ARRAY_LEN(stories);
