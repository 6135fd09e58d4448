/* SPDX-License-Identifier: Apache-2.0
 *
 * log_fixture.c -- a log that the test writes, and an engine that reads it. */
#include "support/log_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/str.h"
#include "model/events.h"

#include "base/banned.h"

struct lx lx;

/* --- the store --- */

static int64_t head_id(void)
{
    int64_t id = 0;

    for (int64_t i = 1; i <= lx.given_id; i++)
        if (lx.visible[i])
            id = i;
    return id;
}

static void read_head(struct ff_read *read)
{
    struct ff_str holders = FF_STR("");

    for (size_t i = 0; i < LX_WRITERS_MAX; i++)
        if (lx.holds[i])
            holders = ff_arena_printf(read->arena, "%.*s%s%d/%d", (int)holders.len, holders.ptr,
                                      holders.len ? "," : "", (int)i, (int)lx.turns[i]);
    read->cells = ff_arena_array(read->arena, 4, sizeof *read->cells);
    read->cells[FF_OUT_LOG_HEAD_EVENT_ID] = (struct ff_value){.as.i64 = head_id()};
    read->cells[FF_OUT_LOG_HEAD_GIVEN_ID] = (struct ff_value){.as.i64 = lx.given_id};
    read->cells[FF_OUT_LOG_HEAD_FLOOR_ID] =
        (struct ff_value){.as.i64 = lx.floor_id ? lx.floor_id : FF_NULL64};
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

    if (lx.floor_next && lx.floor_pages-- <= 0)
        lx.floor_id = lx.floor_next;
    read->rows = ff_arena_array(read->arena, FF_EVENT_PAGE, sizeof *read->rows);
    if (lx.floor_id > after + 1)
        return;
    for (int64_t i = after + 1; i <= upto && i < LX_EVENTS_MAX && read->row_count < FF_EVENT_PAGE;
         i++)
        if (lx.visible[i] && i >= lx.floor_id)
            read->rows[read->row_count++] = &lx.events[i];
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
    lx.reads[call->read->block]++;
    if (call->read->block == FF_SQL_LOG_HEAD)
        read_head(call->read);
    else if (call->read->block == FF_SQL_PULSE)
        read_pulse(call->read);
    else if (call->read->block == FF_SQL_EVENTS_AFTER)
        read_page(call->read);
    else if (call->read->block == FF_SQL_LOG_FLOOR && lx.floor_id)
        read_number(call->read, lx.floor_id);
    else if (call->read->block == FF_SQL_EXECUTION_ENDED)
        read_number(call->read, lx.ended);
    if (lx.fail_next > 0 && call->read->block != FF_SQL_PULSE) {
        lx.fail_next--;
        call->outcome = FF_CALLED_RERUN;
    }
    if (lx.fail_pages && call->read->block == FF_SQL_EVENTS_AFTER)
        call->outcome = FF_CALLED_OP;
}

static bool session_finish(struct ff_session *session, struct ff_call *call)
{
    (void)session;
    (void)call;
    return !lx.slow;
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
    return lx.mono_ms;
}

/* --- the engine --- */

#define FOLLOWS_MAX 8

struct ff_engine *lx_engine;
static struct ff_follow *follows[FOLLOWS_MAX]; /* freed with the fixture */
static size_t follow_count;
struct ff_arena lx_memory;
struct ff_error lx_error;
int lx_readies;

int lx_setup(void **state)
{
    static const struct ff_store_ops ops = {session_new, store_notify, store_notified,
                                            NULL,        store_free,   NULL};
    static struct ff_store store = {.ops = &ops, .facts = {.kind = "fixture", .row_locks = true}};
    struct ff_engine_options options;

    (void)state;
    memset(&lx, 0, sizeof lx);
    lx.mono_ms = 1000000;
    lx_readies = 0;
    lx_error = (struct ff_error){0};
    ff_arena_init(&lx_memory, 4096, 8 << 20);
    ff_engine_options_default(&options);
    options.store = &store;
    options.threads = options.loops = false;
    options.clock.real_ms = options.clock.mono_ms = options.clock.boot_ms = clock_now;
    return ff_engine_new(&options, &lx_engine, &lx_error) == FF_OK ? 0 : -1;
}

int lx_teardown(void **state)
{
    (void)state;
    while (follow_count > 0)
        ff_follow_free(follows[--follow_count]);
    ff_arena_done(&lx_memory);
    ff_engine_free(lx_engine);
    return 0;
}

void lx_step(int64_t ms)
{
    for (int64_t until_ms = lx.mono_ms + ms; lx.mono_ms <= until_ms; lx.mono_ms++) {
        int waiting;

        (void)ff_engine_step(lx_engine, &waiting);
    }
}

static void ready(void *ctx)
{
    (void)ctx;
    lx_readies++;
}

static struct ff_follow *follow_as(int64_t after, uint32_t kinds)
{
    const struct ff_follow_in in = {
        .match = {.kinds = kinds, .partition_from = -1, .partition_to = -1},
        .after = after,
        .ready = ready};
    struct ff_follow *follow = NULL;

    assert_int_equal(ff_follow_new(lx_engine, &in, &follow, &lx_error), FF_OK);
    assert_in_range(follow_count, 0, FOLLOWS_MAX - 1);
    follows[follow_count++] = follow;
    return follow;
}

struct ff_follow *lx_follow_after(int64_t after)
{
    return follow_as(after, 0);
}

struct ff_follow *lx_follow_kind(int64_t after, int32_t kind)
{
    return follow_as(after, UINT32_C(1) << kind);
}

struct ff_follow *lx_given_live(void)
{
    struct ff_follow *const follow = lx_follow_after(FF_AFTER_NOW);

    lx_step(10);
    return follow;
}

/* --- writers --- */

void lx_begin(size_t writer)
{
    lx.holds[writer] = true;
    lx.turns[writer]++;
    lx.writer_ids[writer] = ++lx.given_id;
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

void lx_commit(size_t writer)
{
    fill(&lx.events[lx.writer_ids[writer]], lx.writer_ids[writer]);
    lx.visible[lx.writer_ids[writer]] = true;
    lx.holds[writer] = false;
}

void lx_roll_back(size_t writer)
{
    lx.holds[writer] = false;
}

void lx_write_many(int count)
{
    for (int i = 0; i < count; i++) {
        lx_begin(0);
        lx_commit(0);
    }
}

void lx_write_reset(int64_t last_id)
{
    struct ff_event *event;

    lx.given_id += LX_JUMP;
    lx_begin(0);
    lx_commit(0);
    event = &lx.events[lx.given_id];
    event->kind = FF_EVENT_LOG;
    event->type = FF_EVENT_LOG_RESET;
    event->num_a = last_id;
}

void lx_run_back(int64_t last_id)
{
    for (int64_t id = last_id + 1; id <= lx.given_id; id++)
        lx.visible[id] = false;
    lx.given_id = last_id;
}

struct ff_followed lx_take(struct ff_follow *follow, size_t max)
{
    struct ff_followed got;

    ff_arena_reset(&lx_memory);
    assert_int_equal(ff_follow_take(follow, &lx_memory, max, &got, &lx_error), FF_OK);
    return got;
}

const char *lx_taken(struct ff_follow *follow)
{
    static char text[4096];
    struct ff_followed got = lx_take(follow, 1);

    text[0] = '\0';
    for (size_t used = 0; got.count || got.notice; got = lx_take(follow, 1)) {
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

size_t lx_taken_count(struct ff_follow *follow, size_t max)
{
    return lx_take(follow, max).count;
}
