/* SPDX-License-Identifier: Apache-2.0
 *
 * hammer.h -- many players on one store, what they write down, and what must be true of it.
 *
 * For tests/hammer only. Read first: README.md beside it. */
#ifndef FF_TESTS_HAMMER_H
#define FF_TESTS_HAMMER_H

#include "base/random.h"

#include <flowfabric.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

// clang-format off
#define HAMMER_OPS(X)                                                              \
    X(SUBMIT, "submit")     X(CLAIM, "claim")       X(CLAIM_AGAIN, "claim again")  \
    X(RENEW, "renew")       X(COMPLETE, "complete") X(FAIL, "fail")                \
    X(RELEASE, "release")   X(CANCEL, "cancel")     X(PRIORITY, "priority")        \
    X(REPLAY, "replay")     X(REVOKE, "revoke")     X(REPEAT, "repeat")            \
    X(STALE, "stale word")  X(DELAY, "delay")
// clang-format on

typedef enum hammer_op {
#define HAMMER_ENUM(name, text) OP_##name,
    HAMMER_OPS(HAMMER_ENUM)
#undef HAMMER_ENUM
        OP_COUNT
} hammer_op;

extern const char *const op_names[OP_COUNT];

/* One thing that was said about one execution, and the answer. Times are CLOCK_MONOTONIC, so they
 * can be compared between processes. */
struct record {
    char id[FF_ID_BYTES]; /* empty: a call that got no id */
    int64_t began_us, ended_us;
    int64_t epoch; /* 0: does not apply */
    int32_t generation;
    int16_t op;
    int16_t status;
};

struct history {
    struct record *items;
    size_t count, cap;
};
void history_add(struct history *history, const struct record *record);
void history_join(struct history *history, const struct history *other);
void history_done(struct history *history);
bool history_save(const struct history *history, FILE *file);
bool history_load(struct history *history, FILE *file);

#define PROBLEM_BYTES 512

/* Everything that can be said from the records alone: nobody claimed twice at one epoch, epochs
 * rise, no word was accepted from the holder of an older lease, one last word per lease. False:
 * `problem` says what is wrong. */
bool history_check(struct history *history, char problem[PROBLEM_BYTES]);
/* Against the store, after all has come to rest: everything accepted is there and ended, one
 * completion per generation, every accepted word is an attempt. */
bool history_check_store(struct history *history, struct ff_client *client,
                         char problem[PROBLEM_BYTES]);
/* How many in the store have not ended. */
bool history_unfinished(struct ff_client *client, size_t *ret, char problem[PROBLEM_BYTES]);
/* Operations per second by kind, and the longest wait. */
void history_print(const struct history *history, const char *name, double seconds);

/* ---- players ---- */

#define POOL_MAX    65536
#define CLIENTS_MAX 2

struct hammer {
    struct ff_client *clients[CLIENTS_MAX];
    size_t client_count;
    uint64_t seed;
    atomic_bool stop;
    atomic_bool gave_up;          /* a player, over an answer that no rule allows */
    atomic_size_t said[OP_COUNT]; /* how often it was a yes; a stale word: how often at all */
    pthread_mutex_t lock;         /* guards the pool */
    char (*pool)[FF_ID_BYTES];
    size_t pool_count;
};

struct player {
    struct hammer *hammer;
    size_t index;
    struct history history;
    char problem[PROBLEM_BYTES]; /* empty: none */
};

/* Plays until hammer->stop; at last gives back what it holds. */
void player_run(struct player *player);

int64_t now_us(void);

#endif
