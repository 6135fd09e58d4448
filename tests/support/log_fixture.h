/* SPDX-License-Identifier: Apache-2.0
 *
 * log_fixture.h -- a log that the test writes, and an engine that reads it.
 *
 * The store is a log with writers that take ids and commit them in any order, as on Postgres. No
 * database, no clock, no sleep: the test steps the engine and owns the time. For the tests of the
 * tailer. Uses cmocka: a step that does not work fails the test. */
#ifndef FF_TESTS_LOG_FIXTURE_H
#define FF_TESTS_LOG_FIXTURE_H

#include "engine/engine-int.h"
#include "engine/follow.h"
#include "model/rows.h"
#include "sql_ids.h"

#define LX_EVENTS_MAX  8192
#define LX_WRITERS_MAX 8
#define LX_JUMP        90

/* One log, its writers, and what the next call gets to hear. */
struct lx {
    struct ff_event events[LX_EVENTS_MAX]; /* [id]; kind 0: dead, or not there yet */
    bool visible[LX_EVENTS_MAX];
    int64_t given_id, floor_id;
    int64_t floor_next;                 /* moves there right before the next page is read, */
    int floor_pages;                    /* or when so many more have been */
    int64_t writer_ids[LX_WRITERS_MAX]; /* > 0: holds the lock and has this id */
    bool holds[LX_WRITERS_MAX];
    int32_t turns[LX_WRITERS_MAX]; /* makes the names of transactions unique */
    int fail_next;
    bool fail_pages; /* the head can be read, the events cannot */
    bool slow;       /* calls do not end yet */
    int64_t mono_ms;
    bool ended; /* what execution_ended says */
    int reads[FF_SQL_COUNT];
};
extern struct lx lx;

extern struct ff_engine *lx_engine;
extern struct ff_arena lx_memory; /* what the last take gave */
extern struct ff_error lx_error;
extern int lx_readies; /* how often a follower was told that there is something */

/* Of each test. Followers are freed with it. */
int lx_setup(void **state);
int lx_teardown(void **state);

/* Time passes and the tailer does what it wants to do meanwhile. */
void lx_step(int64_t ms);
struct ff_follow *lx_follow_after(int64_t after);
struct ff_follow *lx_follow_kind(int64_t after, int32_t kind); /* only events of this one */
/* Follows from now on, and knows where that is. */
struct ff_follow *lx_given_live(void);

void lx_begin(size_t writer); /* takes the next id */
void lx_commit(size_t writer);
void lx_roll_back(size_t writer);
void lx_write_many(int count);
/* The log jumps; the next id is a reset that knows of `last_id`. */
void lx_write_reset(int64_t last_id);
/* An older copy takes its place, which ends here. */
void lx_run_back(int64_t last_id);

struct ff_followed lx_take(struct ff_follow *follow, size_t max);
size_t lx_taken_count(struct ff_follow *follow, size_t max);
/* Takes everything that is there, one by one: "1 2 disconnected 3". */
const char *lx_taken(struct ff_follow *follow);

#endif
