/* SPDX-License-Identifier: Apache-2.0
 *
 * stories.c -- orders that matter inside one process, whose executors meet on the store.
 *
 * Here the engines have two executors, so two batches of one process are under way at once. */
#include "isolation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define WAIT_MS 60000

struct word {
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
    struct ff_job *const job = ff_job_new(op, 0);
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
    if (ff_submit_prepare(&in, &game->author->settings, &game->author->arena,
                          &game->author->error) != FF_OK)
        return game->author->error.message;
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

/* A claim that found nothing parks. What was committed after it had looked must not be missed. */
static const char *wakeup_between_look_and_sleep(const char *url)
{
    static struct board board;
    struct game game;
    const char *why;

    board_open_postgres(&board, url, 2, false);
    game_init(&game, &board, 1);
    (void)snprintf(game.ns, sizeof game.ns, "story");
    board_begin(&board, &game);
    why = run_wakeup(&game);
    board_close(&board);
    game_done(&game);
    return why;
}

const struct story stories[] = {
    {"story/wakeup_between_look_and_sleep", wakeup_between_look_and_sleep},
};
const size_t story_count = FF_ARRAY_LEN(stories);
