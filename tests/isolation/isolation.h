/* SPDX-License-Identifier: Apache-2.0
 *
 * isolation.h -- a few sessions on one store, and somebody who says whose call is next.
 *
 * For tests/isolation only. A board is a store with players; a player is an engine of its own, with
 * one thing to say. No call of a player reaches the store before it is let through, so the order of
 * all loads and saves is whatever the test wants. Everything random is drawn from the number of the
 * game: the same game with the same choices is the same on every board.
 * Read first: README.md beside it. */
#ifndef FF_TESTS_ISOLATION_H
#define FF_TESTS_ISOLATION_H

#include "engine/engine.h"
#include "store/wrap.h"
#include "support/world.h"

#define PLAYERS_MAX  3
#define HELD_MAX     4
#define TURNS_MAX    64
#define ANSWER_BYTES 256
#define TEXT_BYTES   (64 << 10)

struct board;
struct game;
struct gate_session;

struct player {
    struct board *board;
    int number;
    struct ff_engine *engine;
    struct ff_prng random;
    bool free; /* its calls are let through at once: it sets the scene */
    struct gate_session *held[HELD_MAX];
    size_t held_count;
    int64_t rest_ms; /* before each of its calls */
    bool out;        /* it has spoken and was not answered yet */
    bool unfinished; /* it was told that there is more to do, and says the same again */
    void (*say)(struct game *game, struct player *player);
    char answer[ANSWER_BYTES];
    struct ff_job *job; /* of the free one, kept for its answer */
};

/* A call on its way. */
typedef enum gate_stage { GATE_IDLE, GATE_HELD, GATE_RUNS, GATE_DONE } gate_stage;
struct gate_session {
    struct ff_wrap_session wrap;
    struct player *player;
    struct ff_call *call;
    gate_stage stage;
    bool waits; /* for a lock; said in the trace */
};

struct text {
    char bytes[TEXT_BYTES];
    size_t len;
};
void text_add(struct text *text, const char *fmt, ...) FF_PRINTF(2, 3);
/* Lines in order, so that texts about sets can be compared. */
void text_sort(struct text *text);

struct board {
    const char *name;
    struct game *game; /* that is being played */
    int executors;     /* of each player */
    bool cascades; /* players pass on what they have ended, in the same transaction if they can */
    struct model *model; /* NULL: Postgres */
    void *monitor;       /* PGconn, of Postgres */
    int64_t now_us;      /* of the model */
    int64_t mono_ms;     /* of the engines: stands still during a game */
    struct player players[PLAYERS_MAX], stage;
    struct gate_session *running[PLAYERS_MAX * HELD_MAX];
    size_t running_count;
    struct text trace;
    struct ff_arena arena;  /* of the game */
    struct ff_rowset known; /* every key that was ever saved in this game */
    bool stuck;
};

/* board.c */
void board_open_postgres(struct board *board, const char *url, int executors, bool cascades);
void board_open_model(struct board *board, int executors, bool cascades);
void board_close(struct board *board);
void board_begin(struct board *board, struct game *game);
void board_pass(struct board *board, int64_t ms); /* the store's time */
/* Says something, and goes on until the first call of it is held. */
void player_ask(struct player *player, ff_op_id op, void *in);
/* Everything that can be done without a call being let through. */
void player_step(struct player *player);
/* Sets the scene; the answer lives until the next. Aborts unless it is FF_OK. */
const void *stage_do(struct board *board, ff_op_id op, void *in);
/* Held calls that could be let through, players in order. */
size_t board_held(struct board *board, struct gate_session *ret[PLAYERS_MAX * HELD_MAX]);
/* Lets one through and waits until it has ended or waits for somebody. */
void board_turn(struct board *board, struct gate_session *session);
/* Nobody is held, but somebody waits: so does everybody. */
void board_wait(struct board *board);
bool board_waits(const struct board *board); /* for a lock, or for the store */
/* Nobody is held, nobody waits: is there a hop that found its rows held, and may try again? */
bool board_goes_on(struct board *board);

/* gate.c */
struct ff_store *gate_new(struct ff_store *inner, struct player *player);
void gate_release(struct gate_session *session);
bool gate_ended(struct gate_session *session);

/* look.c: every row and event of the game, without times and with names for ids. */
void look(struct board *board, struct text *ret);

/* inputs.c, scenes.c, acts.c */
#define NAMES_MAX 48
#define TASKS_MAX 4
struct game {
    uint64_t number;
    struct board *board;
    struct {
        struct ff_uuid id;
        char name[24];
    } names[NAMES_MAX]; /* so that equal games tell equal stories */
    size_t name_count;
    struct world *author; /* makes inputs */
    char ns[24];
    struct ff_str lane;
    struct ff_exec_id x;     /* what all acts are about */
    struct ff_exec_id other; /* flows: the member whose hop waits */
    struct ff_exec_id join;  /* flows: whose drain waits */
    struct ff_exec_id below; /* flows: a node that waits for x */
    struct ff_exec_id again; /* flows: the member whose reopening waits */
    struct ff_uuid flow_id;
    struct ff_task_ref lease; /* of x; zero: nobody's */
    struct ff_task_ref tasks[TASKS_MAX];
    size_t task_count;
    int64_t decision; /* flows: of the drain that waits */
};
struct scene {
    const char *name;
    void (*set)(struct game *game);
    bool flow;
    bool cascades; /* see struct board */
};
struct act {
    const char *name;
    void (*say)(struct game *game, struct player *player);
    bool flow; /* only about flows */
    bool scan; /* takes what it finds: may pass over what others hold */
};
void game_init(struct game *game, struct board *board, uint64_t number);
void game_done(struct game *game);
void game_name(struct game *game, struct ff_uuid id, const char *fmt, ...) FF_PRINTF(3, 4);
extern const struct scene scenes[];
extern const size_t scene_count;
extern const struct act acts[];
extern const size_t act_count;
/* What the player was told, in words. */
void answer_text(struct player *player, const struct ff_job *job);
/* It found nothing to take. */
bool answer_is_empty(const char *answer);
/* There is more to do: an act is over when nothing is left of it. */
bool answer_is_unfinished(const char *answer);

/* stories.c: single stories. Return NULL, or what went wrong. */
struct story {
    const char *name;
    const char *(*run)(const char *url);
};
extern const struct story stories[];
extern const size_t story_count;

#endif
