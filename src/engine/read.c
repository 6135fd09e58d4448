/* SPDX-License-Identifier: Apache-2.0
 *
 * read.c -- reads, on the caller's thread, over a small pool of sessions.
 *
 * Tests: tests/unit/test_engine.c, tests/conformance. */
#include "base/error.h"
#include "base/limits.h"
#include "base/wait.h"
#include "engine/engine-int.h"

#include "base/banned.h"

/* NULL: all of them were lent until then. */
static struct ff_reader *borrow(struct ff_engine *engine, int64_t until_mono_ms)
{
    struct ff_reader *free_one = NULL;

    pthread_mutex_lock(&engine->lock);
    while (!free_one) {
        const int64_t left_ms = until_mono_ms - ff_engine_mono_ms(engine);

        for (size_t i = 0; i < engine->reader_count && !free_one; i++)
            if (!engine->readers[i].lent)
                free_one = &engine->readers[i];
        if (free_one)
            free_one->lent = true;
        else if (left_ms > 0)
            ff_wait_ms(&engine->reader_free, &engine->lock, left_ms);
        else
            break;
    }
    pthread_mutex_unlock(&engine->lock);
    return free_one;
}

static void give_back(struct ff_engine *engine, struct ff_reader *reader)
{
    pthread_mutex_lock(&engine->lock);
    reader->lent = false;
    pthread_cond_signal(&engine->reader_free);
    pthread_mutex_unlock(&engine->lock);
}

/* Reading changes nothing, so a lost connection is tried again: callers hear only of a store that
 * is away. A claim depends on it, for it has committed before it reads what it hands over. A
 * session that was ended while it was idle says so when it is used next, so STOP is tried again
 * once. */
static bool is_over(const struct ff_call *call, int try)
{
    switch (call->outcome) {
    case FF_CALLED_RERUN:
    case FF_CALLED_HELD:
    case FF_CALLED_LOST:
        return try == FF_RERUNS_MAX;
    case FF_CALLED_STOP:
        return try > 0;
    case FF_CALLED_OK:
    case FF_CALLED_OP:
    case FF_CALLED_UNKNOWN:
        break;
    }
    return true;
}

static ff_status look(struct ff_engine *engine, struct ff_call *call, int64_t timeout_ms,
                      struct ff_error *reterr)
{
    const int64_t until_ms = ff_add_i64_clamped(ff_engine_mono_ms(engine), timeout_ms);
    struct ff_reader *const reader = borrow(engine, until_ms);

    if (!reader)
        return ff_fail(reterr, FF_TIMEOUT, "not done in time");
    for (int try = 0;; try++) {
        const int64_t begun_ms = ff_engine_mono_ms(engine);

        ff_session_run(reader->session, call, ff_max_i64(until_ms - begun_ms, 1));
        engine->stats.store_calls++;
        ff_histogram_add(&engine->measures.read, (ff_engine_mono_ms(engine) - begun_ms) * 1000);
        if (is_over(call, try) || ff_engine_mono_ms(engine) >= until_ms)
            break;
    }
    give_back(engine, reader);
    switch (call->outcome) {
    case FF_CALLED_OK:
        return FF_OK;
    case FF_CALLED_RERUN:
    case FF_CALLED_HELD:
    case FF_CALLED_LOST:
    case FF_CALLED_STOP:
    case FF_CALLED_UNKNOWN:
        return ff_fail(reterr, FF_UNAVAILABLE, "%s", call->error.message);
    case FF_CALLED_OP:
        break;
    }
    return ff_fail(reterr, FF_INTERNAL, "%s", call->error.message);
}

ff_status ff_engine_read(struct ff_engine *engine, struct ff_read *read, int64_t timeout_ms,
                         struct ff_error *reterr)
{
    struct ff_call call = {.kind = FF_CALL_READ, .read = read};
    const ff_status status = look(engine, &call, timeout_ms, reterr);

    return read->arena->failed ? ff_fail(reterr, FF_NO_MEMORY, "out of memory") : status;
}

ff_status ff_engine_peek(struct ff_engine *engine, struct ff_rowset *rows, int64_t timeout_ms,
                         struct ff_error *reterr)
{
    struct ff_call call = {.kind = FF_CALL_PEEK, .rows = rows};
    const ff_status status = look(engine, &call, timeout_ms, reterr);

    return rows->arena->failed ? ff_fail(reterr, FF_NO_MEMORY, "out of memory") : status;
}
