/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tail.c -- the settled horizon, followers and waits, over a log that the test writes.
 *
 * The store below is a log with writers that take ids and commit them in any order, as on Postgres.
 * No database, no clock, no sleep: the test steps the engine and owns the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/str.h"
#include "engine/engine-int.h"
#include "engine/follow.h"
#include "engine/tail.h"
#include "model/events.h"
#include "sql_ids.h"

#include "base/banned.h"

#define LOG_MAX     8192
#define WRITERS_MAX 8

/* One log, its writers, and what the next call gets to hear. */
static struct {
    struct ff_event events[LOG_MAX]; /* [id]; kind 0: dead, or not there yet */
    bool visible[LOG_MAX];
    int64_t given_id, floor_id;
    int64_t floor_next;              /* moves there right before the next page is read */
    int64_t writer_ids[WRITERS_MAX]; /* > 0: holds the lock and has this id */
    bool holds[WRITERS_MAX];
    int32_t turns[WRITERS_MAX]; /* makes the names of transactions unique */
    int fail_next;
    bool slow; /* calls do not end yet */
    int64_t mono_ms;
    bool ended; /* what execution_ended says */
    int reads[FF_SQL_COUNT];
} db;

/* --- the store --- */

static int64_t head_id(void)
{
    int64_t id = 0;

    for (int64_t i = 1; i <= db.given_id; i++)
        if (db.visible[i])
            id = i;
    return id;
}

static void read_head(struct ff_read *read)
{
    struct ff_str holders = FF_STR("");

    for (size_t i = 0; i < WRITERS_MAX; i++)
        if (db.holds[i])
            holders = ff_arena_printf(read->arena, "%.*s%s%d/%d", (int)holders.len, holders.ptr,
                                      holders.len ? "," : "", (int)i, (int)db.turns[i]);
    read->cells = ff_arena_array(read->arena, 4, sizeof *read->cells);
    read->cells[FF_OUT_LOG_HEAD_EVENT_ID] = (struct ff_value){.as.i64 = head_id()};
    read->cells[FF_OUT_LOG_HEAD_GIVEN_ID] = (struct ff_value){.as.i64 = db.given_id};
    read->cells[FF_OUT_LOG_HEAD_FLOOR_ID] =
        (struct ff_value){.as.i64 = db.floor_id ? db.floor_id : FF_NULL64};
    read->cells[FF_OUT_LOG_HEAD_HOLDERS] = (struct ff_value){.as.str = holders};
    read->row_count = 1;
}

/* The pulse says that the log has moved. */
static void read_pulse(struct ff_read *read)
{
    read->cells = ff_arena_array(read->arena, FF_OUT_PULSE_CONTACT + 1, sizeof *read->cells);
    read->cells[FF_OUT_PULSE_DUE_AT_MS] = (struct ff_value){.as.i64 = FF_NULL64};
    read->cells[FF_OUT_PULSE_EVENT_ID] = (struct ff_value){.as.i64 = head_id()};
    read->row_count = 1;
}

static void read_page(struct ff_read *read)
{
    const int64_t after = read->params[0].as.i64, upto = read->params[1].as.i64;

    if (db.floor_next)
        db.floor_id = db.floor_next;
    read->rows = ff_arena_array(read->arena, FF_EVENT_PAGE, sizeof *read->rows);
    if (db.floor_id > after + 1)
        return;
    for (int64_t i = after + 1; i <= upto && i < LOG_MAX && read->row_count < FF_EVENT_PAGE; i++)
        if (db.visible[i] && i >= db.floor_id)
            read->rows[read->row_count++] = &db.events[i];
}

static void read_number(struct ff_read *read, int64_t number)
{
    read->cells = ff_arena_array(read->arena, 1, sizeof *read->cells);
    read->cells[0] = (struct ff_value){.as.i64 = number};
    read->row_count = 1;
}

static void session_start(struct ff_session *session, struct ff_call *call)
{
    (void)session;
    assert_int_equal(call->kind, FF_CALL_READ);
    call->outcome = FF_CALLED_OK;
    db.reads[call->read->block]++;
    if (call->read->block == FF_SQL_LOG_HEAD)
        read_head(call->read);
    else if (call->read->block == FF_SQL_PULSE)
        read_pulse(call->read);
    else if (call->read->block == FF_SQL_EVENTS_AFTER)
        read_page(call->read);
    else if (call->read->block == FF_SQL_LOG_FLOOR && db.floor_id)
        read_number(call->read, db.floor_id);
    else if (call->read->block == FF_SQL_EXECUTION_ENDED)
        read_number(call->read, db.ended);
    if (db.fail_next > 0 && call->read->block != FF_SQL_PULSE) {
        db.fail_next--;
        call->outcome = FF_CALLED_RERUN;
    }
}

static bool session_finish(struct ff_session *session, struct ff_call *call)
{
    (void)session;
    (void)call;
    return !db.slow;
}

static void session_wait(struct ff_session *session, int64_t timeout_ms)
{
    (void)session;
    (void)timeout_ms;
}

static void session_abandon(struct ff_session *session, struct ff_call *call)
{
    (void)session;
    (void)call;
}

static void session_free(struct ff_session *session)
{
    (void)session;
}

static ff_status session_new(struct ff_store *store, struct ff_session **ret,
                             struct ff_error *reterr)
{
    static const struct ff_session_ops ops = {session_start, session_finish, session_wait,
                                              session_abandon, session_free};
    static struct ff_session session = {&ops};

    (void)store;
    (void)reterr;
    *ret = &session;
    return FF_OK;
}

static void store_notify(struct ff_store *store)
{
    (void)store;
}

static bool store_notified(struct ff_store *store)
{
    (void)store;
    return false;
}

static void store_free(struct ff_store *store)
{
    (void)store;
}

static int64_t clock_now(void *ctx)
{
    (void)ctx;
    return db.mono_ms;
}

/* --- the engine --- */

#define FOLLOWS_MAX 8

static struct ff_engine *engine;
static struct ff_follow *follows[FOLLOWS_MAX]; /* freed with the fixture */
static size_t follow_count;
static struct ff_arena memory; /* what the last take gave */
static struct ff_error error;
static int readies;

static int setup(void **state)
{
    static const struct ff_store_ops ops = {session_new, store_notify, store_notified,
                                            NULL,        store_free,   NULL};
    static struct ff_store store = {.ops = &ops, .facts = {.kind = "postgres"}};
    struct ff_engine_options options;

    (void)state;
    memset(&db, 0, sizeof db);
    db.mono_ms = 1000000;
    readies = 0;
    error = (struct ff_error){0};
    ff_arena_init(&memory, 4096, 8 << 20);
    ff_engine_options_default(&options);
    options.store = &store;
    options.threads = options.loops = false;
    options.clock.real_ms = options.clock.mono_ms = options.clock.boot_ms = clock_now;
    return ff_engine_new(&options, &engine, &error) == FF_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    while (follow_count > 0)
        ff_follow_free(follows[--follow_count]);
    ff_arena_done(&memory);
    ff_engine_free(engine);
    return 0;
}

/* Time passes and the tailer does what it wants to do meanwhile. */
static void step(int64_t ms)
{
    for (int64_t until_ms = db.mono_ms + ms; db.mono_ms <= until_ms; db.mono_ms++) {
        int waiting;

        (void)ff_engine_step(engine, &waiting);
    }
}

static void ready(void *ctx)
{
    (void)ctx;
    readies++;
}

static struct ff_follow *follow_after(int64_t after)
{
    const struct ff_follow_in in = {
        .match = {.partition_from = -1, .partition_to = -1}, .after = after, .ready = ready};
    struct ff_follow *follow = NULL;

    assert_int_equal(ff_follow_new(engine, &in, &follow, &error), FF_OK);
    assert_in_range(follow_count, 0, FOLLOWS_MAX - 1);
    follows[follow_count++] = follow;
    return follow;
}

/* Follows from now on, and knows where that is. */
static struct ff_follow *given_live(void)
{
    struct ff_follow *const follow = follow_after(FF_AFTER_NOW);

    step(10);
    return follow;
}

/* --- writers --- */

static void begin(size_t writer)
{
    db.holds[writer] = true;
    db.turns[writer]++;
    db.writer_ids[writer] = ++db.given_id;
}

static void fill(struct ff_event *event, int64_t id)
{
    ff_row_init(FF_TABLE_EVENT, event);
    event->event_id = id;
    event->kind = FF_EVENT_COMPLETION;
    event->type = FF_EVENT_COMPLETION_SUCCESS;
    event->execution_id = (struct ff_uuid){.b = {1, [13] = (uint8_t)id}};
    event->note = FF_STR("a note");
}

static void commit(size_t writer)
{
    fill(&db.events[db.writer_ids[writer]], db.writer_ids[writer]);
    db.visible[db.writer_ids[writer]] = true;
    db.holds[writer] = false;
}

static void roll_back(size_t writer)
{
    db.holds[writer] = false;
}

static void write_many(int count)
{
    for (int i = 0; i < count; i++) {
        begin(0);
        commit(0);
    }
}

static struct ff_followed take(struct ff_follow *follow, size_t max)
{
    struct ff_followed got;

    ff_arena_reset(&memory);
    assert_int_equal(ff_follow_take(follow, &memory, max, &got, &error), FF_OK);
    return got;
}

/* Takes everything that is there, one by one: "1 2 disconnected 3". */
static const char *taken(struct ff_follow *follow)
{
    static char text[4096];
    struct ff_followed got = take(follow, 1);

    text[0] = '\0';
    for (size_t used = 0; got.count || got.notice; got = take(follow, 1)) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", used ? " " : "");
        if (got.notice)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s", ff_notice_name(got.notice));
        else
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%d", (int)got.items[0].event_id);
    }
    return text;
}

static size_t taken_count(struct ff_follow *follow, size_t max)
{
    return take(follow, max).count;
}

/* --- the horizon --- */

static void test_tail__late_commit_with_a_lower_id_is_not_missed(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    begin(0);
    begin(1);
    commit(1);
    step(300);
    assert_string_equal(taken(follow), ""); /* 2 is visible, but 1 may still come */
    commit(0);
    step(300);
    assert_string_equal(taken(follow), "1 2");
}

static void test_tail__aborted_id_holds_nobody_up(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    begin(0);
    begin(1);
    commit(1);
    roll_back(0);
    step(300);
    assert_string_equal(taken(follow), "2");
}

/* The horizon goes on while there is always somebody who holds the lock. */
static void test_tail__others_that_come_later_are_not_waited_for(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    begin(0); /* 1 */
    begin(1); /* 2 */
    commit(1);
    step(300);
    begin(2); /* 3, and stays */
    commit(0);
    step(300);
    assert_string_equal(taken(follow), "1 2");
    begin(1); /* 4 */
    commit(1);
    step(300);
    assert_string_equal(taken(follow), "");
    roll_back(2);
    step(300);
    assert_string_equal(taken(follow), "4");
}

/* The same backend with its next transaction is somebody else. */
static void test_tail__busy_writer_does_not_hold_up_itself(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    for (int i = 0; i < 20; i++) {
        begin(0);
        step(60);
        commit(0);
    }
    begin(0);
    step(400);
    assert_int_equal(taken_count(follow, 100),
                     19); /* whoever began before the head was read may be below it */
    commit(0);
    step(400);
    assert_string_equal(taken(follow), "20 21");
}

/* Ids given out before we came: nothing is served until their writers have ended. */
static void test_tail__start_waits_for_those_who_were_there(void **state)
{
    struct ff_follow *follow;

    (void)state;
    write_many(3);
    begin(0); /* 4, not visible: the highest visible id is below it */
    follow = follow_after(2);
    step(500);
    assert_false(take(follow, 10).started);
    commit(0);
    step(100);
    assert_string_equal(taken(follow), "3 4");
}

static void test_tail__reconnect_begins_anew_and_tells(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    write_many(2);
    step(300);
    assert_string_equal(taken(follow), "1 2");
    begin(0); /* 3 */
    begin(1); /* 4 */
    commit(1);
    step(260);
    db.fail_next = 3;
    step(1500);
    assert_string_equal(taken(follow), "disconnected"); /* 3 still holds everything up */
    commit(0);
    step(300);
    assert_string_equal(taken(follow), "3 4");
}

/* --- where one begins --- */

static ff_status refused(int64_t after, int64_t *ret_oldest)
{
    struct ff_follow *const follow = follow_after(after);
    struct ff_followed got;
    ff_status status;

    step(50);
    status = ff_follow_take(follow, &memory, 10, &got, &error);
    *ret_oldest = status == FF_GAP ? (int64_t)strtoll(error.oldest + 2, NULL, 16) : -1;
    return status;
}

static void test_tail__cursor_outside_of_what_is_kept_is_a_gap(void **state)
{
    int64_t oldest;

    (void)state;
    write_many(20);
    db.floor_id = 11;
    assert_int_equal(refused(9, &oldest), FF_GAP);
    assert_int_equal(oldest, 10);
    assert_int_equal(refused(10, &oldest), FF_OK);
    assert_int_equal(refused(20, &oldest), FF_OK);
    assert_int_equal(refused(21, &oldest), FF_GAP);
    begin(0); /* 21 has been given out, though nobody can see it */
    commit(0);
    begin(0);
    assert_int_equal(refused(22, &oldest), FF_OK);
}

static void test_tail__what_retention_takes_from_a_follower_is_a_notice(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    write_many(1);
    step(300);
    assert_string_equal(taken(follow), "1");
    write_many(9);
    db.floor_id = 8; /* before it could read on */
    step(300);
    assert_string_equal(taken(follow), "gap 8 9 10");
}

/* Between the head and the page the floor moves on. */
static void test_tail__page_that_is_gone_is_not_taken_for_an_empty_one(void **state)
{
    struct ff_follow *lagging;

    (void)state;
    write_many(6);
    lagging = follow_after(0);
    db.floor_next = 4;
    step(300);
    assert_string_equal(taken(lagging), "gap 4 5 6");
}

static void test_tail__cursor_of_a_lost_copy_hears_of_the_reset(void **state)
{
    struct ff_follow *inside, *before;

    (void)state;
    write_many(10);
    db.given_id = 100;
    begin(0);
    commit(0);
    db.events[101].kind = FF_EVENT_LOG;
    db.events[101].type = FF_EVENT_LOG_RESET;
    db.events[101].num_a = 10; /* the last id this copy knows; 11 to 100 may have been seen */
    inside = follow_after(15);
    before = follow_after(10);
    step(100);
    assert_string_equal(taken(inside), "reset 101");
    assert_string_equal(taken(before), "101");
}

/* --- slow readers --- */

static void test_tail__buffer_is_bounded_and_nothing_is_lost(void **state)
{
    struct ff_follow *const slow = given_live(), *const quick = given_live();
    size_t got = 0;

    (void)state;
    for (int i = 0; i < 12; i++) {
        write_many(300);
        step(300);
        got += taken_count(quick, 5000);
    }
    assert_int_equal(got, 3600); /* nobody waits for the slow one */
    got = taken_count(slow, 5000);
    assert_int_equal(got, FF_FOLLOW_EVENTS_MAX);
    while (got < 3600) {
        const size_t more = taken_count(slow, 5000);

        assert_in_range(more, 0, FF_FOLLOW_EVENTS_MAX);
        got += more;
        step(20);
    }
    assert_int_equal(got, 3600);
}

static void test_tail__reader_that_stopped_loses_its_buffer_with_a_notice(void **state)
{
    struct ff_follow *const follow = given_live();
    struct ff_followed notice;
    size_t got = 0;

    (void)state;
    write_many(1);
    step(300);
    assert_string_equal(taken(follow), "1");
    write_many(1500);
    step(300);
    db.mono_ms += FF_FOLLOW_SLOW_MS;
    step(300);
    notice = take(follow, 10);
    assert_int_equal(notice.notice, FF_NOTICE_DISCONNECTED);
    assert_int_equal(notice.cursor, 1); /* where it goes on */
    while (got < 1500) {
        step(20);
        got += taken_count(follow, 5000);
    }
    assert_int_equal(got, 1500);
}

/* --- without memory --- */

/* However much there is: what could not be handed over whole stays where it is. */
static void test_tail__take_without_memory_takes_nothing(void **state)
{
    struct ff_follow *const follow = given_live();
    ff_status status = FF_NO_MEMORY;
    struct ff_followed got;
    int refusals = 0;

    (void)state;
    write_many(3);
    step(300);
    for (size_t bytes = 16; status != FF_OK; bytes += 16, refusals++) {
        struct ff_arena arena;

        ff_arena_init(&arena, 4096, bytes);
        status = ff_follow_take(follow, &arena, 2, &got, &error);
        assert_true(status == FF_OK || status == FF_NO_MEMORY);
        ff_arena_done(&arena);
    }
    assert_in_range(refusals, 10, 1000);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.cursor, 2);
    assert_string_equal(taken(follow), "3");
}

/* Whoever took it could not pass it on. */
static void test_tail__what_is_given_back_comes_again(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    write_many(5);
    step(300);
    assert_int_equal(taken_count(follow, 1), 1);
    assert_int_equal(taken_count(follow, 2), 2);
    ff_follow_give_back(follow);
    step(300);
    assert_string_equal(taken(follow), "2 3 4 5");
    db.floor_id = 9;
    write_many(5);
    step(300);
    assert_int_equal(take(follow, 1).notice, FF_NOTICE_GAP);
    ff_follow_give_back(follow);
    step(300);
    assert_string_equal(taken(follow), "gap 9 10");
}

/* While it gives back, the page behind it is on its way. */
static void test_tail__page_on_its_way_does_not_hide_what_was_given_back(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    write_many(2000);
    step(300);
    assert_int_equal(taken_count(follow, 5000), FF_FOLLOW_EVENTS_MAX);
    db.slow = true;
    step(5);
    ff_follow_give_back(follow);
    db.slow = false;
    step(300);
    for (int64_t id = 1; id <= 2000; id++) {
        const struct ff_followed got = take(follow, 1);

        assert_int_equal(got.count, 1);
        assert_int_equal(got.items[0].event_id, id);
        step(1);
    }
}

static bool no_heap; /* for what waits to be taken: events and notices */

static void *small_malloc(size_t bytes)
{
    return no_heap && bytes >= sizeof(struct ff_event) && bytes < 4096 ? NULL : malloc(bytes);
}

static void *small_calloc(size_t count, size_t bytes)
{
    return no_heap ? NULL : calloc(count, bytes);
}

static void heap_ends(bool ends)
{
    static const struct ff_alloc_hooks hooks = {small_malloc, small_calloc, realloc, free};

    no_heap = ends;
    ff_alloc_set_hooks(ends ? &hooks : NULL);
}

static void test_tail__event_that_cannot_be_kept_comes_later(void **state)
{
    struct ff_follow *const follow = given_live();
    int pages;

    (void)state;
    heap_ends(true);
    write_many(3);
    step(300);
    pages = db.reads[FF_SQL_EVENTS_AFTER];
    step(1000);
    heap_ends(false);
    assert_in_range(db.reads[FF_SQL_EVENTS_AFTER] - pages, 1, 20); /* does not hammer the store */
    step(300);
    assert_string_equal(taken(follow), "1 2 3");
}

/* Events that are gone are never passed over in silence. */
static void test_tail__notice_that_cannot_be_kept_comes_later(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    write_many(10);
    heap_ends(true);
    db.floor_id = 8;
    step(300);
    heap_ends(false);
    step(300);
    assert_string_equal(taken(follow), "gap 8 9 10");
    heap_ends(true);
    begin(0);
    commit(0);
    db.events[11].kind = FF_EVENT_LOG;
    db.events[11].type = FF_EVENT_LOG_RESET;
    db.events[11].num_a = 9;
    step(300);
    heap_ends(false);
    step(300);
    assert_string_equal(taken(follow), "reset 11");
}

/* --- its thread --- */

static int64_t slept_ms(int64_t ms)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t before_ms = ff_clock_mono_ms(&clock);

    ff_tail_sleep(engine->tail, ms);
    return ff_clock_mono_ms(&clock) - before_ms;
}

/* A reader makes room right before the thread lies down: it has a page to read first. */
static void test_tail__room_is_not_slept_through(void **state)
{
    struct ff_follow *const follow = given_live();

    (void)state;
    write_many(3000);
    step(300);
    assert_int_equal(taken_count(follow, 5000), FF_FOLLOW_EVENTS_MAX);
    assert_in_range(slept_ms(60000), 0, 30000);
}

/* Woken before the next head is due: it waits for that, and does not turn in circles. */
static void test_tail__thread_rests_between_two_heads(void **state)
{
    int waiting;

    (void)state;
    (void)given_live();
    db.mono_ms++;
    ff_tail_wake(engine->tail);
    (void)ff_engine_step(engine, &waiting); /* a head is read */
    ff_tail_wake(engine->tail);
    (void)ff_engine_step(engine, &waiting); /* too early for another one */
    assert_in_range(slept_ms(50), 25, 60000);
}

/* --- idle, waits, closing --- */

static void test_tail__nobody_follows_nothing_is_read(void **state)
{
    int heads;

    (void)state;
    write_many(5);
    step(2000);
    assert_int_equal(db.reads[FF_SQL_LOG_HEAD], 0);
    (void)given_live();
    step(100);
    heads = db.reads[FF_SQL_LOG_HEAD];
    step(2000); /* and nothing has moved */
    assert_int_equal(db.reads[FF_SQL_LOG_HEAD], heads);
}

static ff_status ended_with;
static int ended_count;

static void wait_done(ff_status status, void *ctx)
{
    (void)ctx;
    ended_with = status;
    ended_count++;
}

static struct ff_end_wait *wait_for(int64_t id, int64_t ms)
{
    const struct ff_end_wait_in in = {
        .id = {.partition = 1, .uuid = {.b = {1, [13] = (uint8_t)id}}},
        .until_mono_ms = db.mono_ms + ms,
        .done = wait_done,
    };
    struct ff_end_wait *wait = NULL;

    ended_count = 0;
    assert_int_equal(ff_end_wait_new(engine, &in, &wait, &error), FF_OK);
    return wait;
}

static void test_tail__wait_is_told_by_the_log_and_looks_once(void **state)
{
    struct ff_end_wait *const wait = wait_for(3, 100000);

    (void)state;
    step(100);
    write_many(2);
    step(300);
    assert_int_equal(ended_count, 0);
    write_many(1);
    step(300);
    assert_int_equal(ended_count, 1);
    assert_int_equal(ended_with, FF_OK);
    assert_int_equal(db.reads[FF_SQL_EXECUTION_ENDED], 1);
    ff_end_wait_free(wait);
}

static void test_tail__wait_for_what_has_ended_is_over_at_once(void **state)
{
    struct ff_end_wait *wait;

    (void)state;
    write_many(3);
    db.ended = true;
    wait = wait_for(3, 100000);
    step(50);
    assert_int_equal(ended_count, 1);
    assert_int_equal(ended_with, FF_OK);
    ff_end_wait_free(wait);
}

static void test_tail__wait_ends_in_time_and_with_the_engine(void **state)
{
    struct ff_end_wait *wait = wait_for(3, 500);

    (void)state;
    step(400);
    assert_int_equal(ended_count, 0);
    step(200);
    assert_int_equal(ended_count, 1);
    assert_int_equal(ended_with, FF_TIMEOUT);
    ff_end_wait_free(wait);
    wait = wait_for(4, 100000);
    (void)ff_engine_close(engine, 0);
    assert_int_equal(ended_with, FF_CLOSED);
    ff_end_wait_free(wait);
}

static void test_tail__follower_outlives_the_engine(void **state)
{
    struct ff_follow *const follow = given_live();
    struct ff_followed got;

    (void)state;
    assert_string_equal(taken(follow), "");
    readies = 0;
    ff_engine_free(engine);
    engine = NULL;
    assert_int_equal(readies, 1);
    assert_int_equal(ff_follow_take(follow, &memory, 1, &got, &error), FF_CLOSED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_tail__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(late_commit_with_a_lower_id_is_not_missed),
        TEST(aborted_id_holds_nobody_up),
        TEST(others_that_come_later_are_not_waited_for),
        TEST(busy_writer_does_not_hold_up_itself),
        TEST(start_waits_for_those_who_were_there),
        TEST(reconnect_begins_anew_and_tells),
        TEST(cursor_outside_of_what_is_kept_is_a_gap),
        TEST(what_retention_takes_from_a_follower_is_a_notice),
        TEST(page_that_is_gone_is_not_taken_for_an_empty_one),
        TEST(cursor_of_a_lost_copy_hears_of_the_reset),
        TEST(buffer_is_bounded_and_nothing_is_lost),
        TEST(reader_that_stopped_loses_its_buffer_with_a_notice),
        TEST(take_without_memory_takes_nothing),
        TEST(what_is_given_back_comes_again),
        TEST(page_on_its_way_does_not_hide_what_was_given_back),
        TEST(event_that_cannot_be_kept_comes_later),
        TEST(notice_that_cannot_be_kept_comes_later),
        TEST(room_is_not_slept_through),
        TEST(thread_rests_between_two_heads),
        TEST(nobody_follows_nothing_is_read),
        TEST(wait_is_told_by_the_log_and_looks_once),
        TEST(wait_for_what_has_ended_is_over_at_once),
        TEST(wait_ends_in_time_and_with_the_engine),
        TEST(follower_outlives_the_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
