/* SPDX-License-Identifier: Apache-2.0
 *
 * engine.c -- putting the parts together, running their threads, taking them apart.
 *
 * Threads only call step functions: one per executor, one for the supervisor. Without threads a
 * simulator calls ff_engine_step. Tests: tests/unit/test_engine.c. */
#include "engine/engine.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/wait.h"
#include "engine/engine-int.h"
#include "sql_ids.h"

#include "base/banned.h"

#define STORE_WAIT_MS 100 /* threads look up this often, to notice that the engine closes */
#define OPEN_WAIT_MS  30000
#define READERS       2
#define CAPSET_BYTES  (64 << 20)

void ff_engine_options_default(struct ff_engine_options *options)
{
    *options = (struct ff_engine_options){
        .threads = true,
        .loops = true,
        .cascade = true,
        .rides = true,
        .assumes = true,
        .clock = ff_clock_system(),
        .random = ff_random_system(),
    };
    ff_settings_default(&options->settings);
}

int64_t ff_engine_mono_ms(const struct ff_engine *engine)
{
    return ff_clock_mono_ms(&engine->options.clock);
}

const struct ff_settings *ff_engine_settings(const struct ff_engine *engine)
{
    return &engine->options.settings;
}

const struct ff_store_facts *ff_engine_facts(const struct ff_engine *engine)
{
    return &engine->store->facts;
}

const struct ff_clock *ff_engine_clock(const struct ff_engine *engine)
{
    return &engine->options.clock;
}

void ff_engine_random(struct ff_engine *engine, void *buf, size_t len)
{
    struct ff_chance *const chance = &engine->chance;

    assert(len <= sizeof chance->bytes);
    pthread_mutex_lock(&chance->lock);
    if (chance->left < len) {
        ff_random_bytes(&engine->options.random, chance->bytes, sizeof chance->bytes);
        chance->left = sizeof chance->bytes;
    }
    chance->left -= len;
    memcpy(buf, chance->bytes + chance->left, len);
    memset(chance->bytes + chance->left, 0, len); /* nobody gets them again */
    pthread_mutex_unlock(&chance->lock);
}

/* --- threads --- */

static void sleep_until(struct ff_engine *engine, int64_t at_mono_ms, int64_t max_ms)
{
    const int64_t ms = ff_max_i64(0, ff_min_i64(at_mono_ms - ff_engine_mono_ms(engine), max_ms));

    pthread_mutex_lock(&engine->lock);
    if (!atomic_load(&engine->stopping) && ms > 0)
        ff_wait_ms(&engine->changed, &engine->lock, ms);
    pthread_mutex_unlock(&engine->lock);
}

static void *executor_main(void *arg)
{
    struct ff_executor *const executor = arg;
    struct ff_engine *const engine = executor->engine;
    int64_t at_ms;

    while (!atomic_load(&engine->stopping)) {
        switch (ff_executor_step(executor, &at_ms)) {
        case FF_WAITS_NOTHING:
            if (executor->answered)
                ff_queue_expect(&engine->queue, executor->which, executor->pushes_answered,
                                executor->answered);
            executor->answered = 0;
            break;
        case FF_WAITS_WORK:
            ff_queue_wait(&engine->queue, ff_executor_takes(executor), STORE_WAIT_MS * 10);
            break;
        case FF_WAITS_STORE:
            executor->session->ops->wait(executor->session, STORE_WAIT_MS);
            break;
        case FF_WAITS_TIME:
            sleep_until(engine, at_ms, STORE_WAIT_MS);
            break;
        }
    }
    return NULL;
}

static void *supervisor_main(void *arg)
{
    struct ff_supervisor *const supervisor = arg;
    struct ff_engine *const engine = supervisor->engine;

    while (!atomic_load(&engine->stopping)) {
        bool waiting;
        const int64_t at_ms = ff_supervisor_step(supervisor, &waiting);

        if (waiting)
            supervisor->session->ops->wait(
                supervisor->session,
                ff_max_i64(0, ff_min_i64(at_ms - ff_engine_mono_ms(engine), STORE_WAIT_MS)));
        else
            ff_supervisor_sleep(supervisor, at_ms);
    }
    return NULL;
}

static void *tail_main(void *arg)
{
    struct ff_tail *const tail = arg;
    struct ff_engine *const engine = tail->engine;

    while (!atomic_load(&engine->stopping)) {
        bool waiting;
        const int64_t at_ms = ff_tail_step(tail, &waiting);
        const int64_t ms = ff_max_i64(0, at_ms - ff_engine_mono_ms(engine));

        if (waiting)
            tail->session->ops->wait(tail->session, ff_min_i64(ms, STORE_WAIT_MS));
        else
            ff_tail_sleep(tail, ff_min_i64(ms, STORE_WAIT_MS * 600));
    }
    return NULL;
}

static ff_status start_thread(struct ff_engine *engine, void *(*run)(void *), void *arg,
                              struct ff_error *reterr)
{
    if (pthread_create(&engine->threads[engine->thread_count], NULL, run, arg) != 0)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot start a thread");
    engine->thread_count++;
    return FF_OK;
}

static ff_status start_threads(struct ff_engine *engine, struct ff_error *reterr)
{
    for (size_t i = 0; i < engine->executor_count; i++)
        FF_TRY(start_thread(engine, executor_main, &engine->executors[i], reterr));
    FF_TRY(start_thread(engine, supervisor_main, &engine->supervisor, reterr));
    return start_thread(engine, tail_main, engine->tail, reterr);
}

/* --- making --- */

static ff_status make_sessions(struct ff_engine *engine, struct ff_error *reterr)
{
    const bool row_locks = engine->store->facts.row_locks;
    const int asked = engine->options.executors > 0 ? engine->options.executors : row_locks ? 2 : 1;
    const int wanted = asked < FF_EXECUTORS_MAX - 1 ? asked : FF_EXECUTORS_MAX - 1;
    const int readers = engine->options.readers > 0 ? engine->options.readers : READERS;

    for (int i = 0; i < wanted; i++) {
        /* The first also takes the cascade, the last large jobs; one alone takes both. */
        const ff_lane_of_work which = wanted == 1       ? FF_TAKE_ALL
                                      : i == 0          ? FF_TAKE_CASCADE
                                      : i == wanted - 1 ? FF_TAKE_LARGE
                                                        : FF_TAKE_NORMAL;

        FF_TRY(ff_executor_init(&engine->executors[i], engine, which, reterr));
        engine->executor_count++;
    }
    if (row_locks) { /* otherwise no row is ever held by somebody else */
        FF_TRY(ff_executor_init(&engine->executors[engine->executor_count], engine, FF_TAKE_PATIENT,
                                reterr));
        engine->executor_count++;
    }
    for (int i = 0; i < readers && i < FF_READERS_MAX; i++) {
        FF_TRY(engine->store->ops->session_new(engine->store, &engine->readers[i].session, reterr));
        engine->reader_count++;
    }
    FF_TRY(ff_supervisor_init(&engine->supervisor, engine, reterr));
    return ff_tail_new(engine, &engine->tail, reterr);
}

/* A claim right after the start must know which capability sets there are. */
static ff_status load_capsets(struct ff_engine *engine, struct ff_error *reterr)
{
    struct ff_arena arena;
    struct ff_read read = {.block = FF_SQL_CAPSETS_ALL, .arena = &arena};
    ff_status status;

    ff_arena_init(&arena, 4096, CAPSET_BYTES);
    status = ff_engine_read(engine, &read, OPEN_WAIT_MS, reterr);
    if (status == FF_OK)
        ff_engine_learn_capsets(engine, &read);
    ff_arena_done(&arena);
    return status;
}

ff_status ff_engine_new(const struct ff_engine_options *options, struct ff_engine **ret_engine,
                        struct ff_error *reterr)
{
    struct ff_engine *const engine = ff_calloc(1, sizeof *engine);
    ff_status status;

    if (!engine)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the engine");
    engine->options = *options;
    engine->store = options->store;
    ff_queue_init(&engine->queue);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->chance.lock, NULL);
    ff_wait_init(&engine->changed);
    ff_wait_init(&engine->reader_free);
    ff_list_init(&engine->parked);
    ff_cascade_init(&engine->cascade);
    ff_lowwater_init(&engine->lowwater);
    ff_known_init(&engine->known);
    ff_arena_init(&engine->capset_arena, 4096, CAPSET_BYTES);
    ff_arena_init(&engine->worker_arena, 4096, CAPSET_BYTES);
    ff_hashmap_init(&engine->workers, &engine->worker_arena, (struct ff_hash_seed){0});
    status = make_sessions(engine, reterr);
    if (options->threads) /* the patient one helps nobody */
        ff_queue_spare(&engine->queue, engine->executor_count > 2);
    if (status == FF_OK)
        status = load_capsets(engine, reterr);
    if (status == FF_OK && options->threads)
        status = start_threads(engine, reterr);
    if (status != FF_OK) {
        if (engine->thread_count > 0) /* they use the store, and have begun something */
            (void)ff_engine_close(engine, 0);
        engine->store = NULL; /* still the caller's */
        ff_engine_free(engine);
        return status;
    }
    *ret_engine = engine;
    return FF_OK;
}

/* --- closing --- */

static bool quiet(struct ff_engine *engine)
{
    bool idle;

    pthread_mutex_lock(&engine->queue.lock);
    idle = engine->queue.count == 0;
    pthread_mutex_unlock(&engine->queue.lock);
    return idle && atomic_load(&engine->under_way) == 0;
}

static void stop_threads(struct ff_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    atomic_store(&engine->stopping, true);
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    ff_queue_wake(&engine->queue);
    if (engine->tail)
        ff_tail_stop(engine->tail);
    for (size_t i = 0; i < engine->thread_count; i++)
        pthread_join(engine->threads[i], NULL);
    engine->thread_count = 0;
}

/* How many steps of the cascade are on their way, looks for more of them included. */
static size_t steps_left(struct ff_engine *engine, bool *ret_away)
{
    size_t count;

    pthread_mutex_lock(&engine->lock);
    count = engine->cascade.count;
    for (int id = 0; id < FF_LOOP_COUNT; id++) {
        const struct ff_loop *const loop = &engine->supervisor.loops[id];

        count += loop->again || loop->in_flight ? 1 : 0;
    }
    *ret_away = !engine->contact.known;
    pthread_mutex_unlock(&engine->lock);
    return count;
}

/* A tool that cancels and leaves finishes what follows: there may be nobody else to do it. An
 * engine with loops has followers, and would never be done. */
static size_t settle(struct ff_engine *engine, int64_t until_ms)
{
    bool away;
    size_t left;

    if (engine->options.loops || engine->thread_count == 0)
        return 0;
    for (left = steps_left(engine, &away);
         left > 0 && !away && ff_engine_mono_ms(engine) < until_ms;
         left = steps_left(engine, &away))
        sleep_until(engine, until_ms, 2);
    return left;
}

size_t ff_engine_close(struct ff_engine *engine, int64_t grace_ms)
{
    const int64_t until_ms = ff_engine_mono_ms(engine) + grace_ms;
    const size_t steps = settle(engine, until_ms);
    struct ff_list left;
    size_t loops;

    pthread_mutex_lock(&engine->lock);
    if (engine->closed) {
        pthread_mutex_unlock(&engine->lock);
        return 0;
    }
    engine->closed = true;
    pthread_mutex_unlock(&engine->lock);
    ff_queue_close(&engine->queue);
    ff_engine_expire_parked(engine, INT64_MAX);
    while (engine->thread_count > 0 && !quiet(engine) && ff_engine_mono_ms(engine) < until_ms)
        sleep_until(engine, until_ms, 2);
    /* A process that submits and leaves should still wake somebody. */
    while (engine->thread_count > 0 && ff_engine_hint_waits(engine, ff_engine_mono_ms(engine))) {
        (void)engine->store->ops->notified(engine->store);
        sleep_until(engine, until_ms, 2);
    }
    stop_threads(engine);
    /* Not before: a thread may be about to say that one has ended, or was not begun. */
    loops = ff_supervisor_in_flight(&engine->supervisor);
    for (size_t i = 0; i < engine->executor_count; i++)
        ff_executor_abort(&engine->executors[i]);
    if (engine->supervisor.reading)
        engine->supervisor.session->ops->abandon(engine->supervisor.session,
                                                 &engine->supervisor.call);
    ff_tail_close(FF_STEAL(engine->tail));
    ff_list_init(&left);
    while (ff_queue_take(&engine->queue, FF_TAKE_ALL, SIZE_MAX, &left) > 0 ||
           ff_queue_take(&engine->queue, FF_TAKE_PATIENT, SIZE_MAX, &left) > 0)
        ff_engine_fail_jobs(engine, &left, FF_CLOSED, "engine is closing");
    return loops + steps;
}

void ff_engine_free(struct ff_engine *engine)
{
    if (!engine)
        return;
    if (engine->store)
        (void)ff_engine_close(engine, 0);
    else
        stop_threads(engine);
    ff_tail_close(FF_STEAL(engine->tail));
    for (size_t i = 0; i < engine->executor_count; i++)
        ff_executor_done(&engine->executors[i]);
    for (size_t i = 0; i < engine->reader_count; i++)
        engine->readers[i].session->ops->free(engine->readers[i].session);
    ff_supervisor_done(&engine->supervisor);
    ff_arena_done(&engine->capset_arena);
    ff_arena_done(&engine->worker_arena);
    ff_queue_done(&engine->queue);
    ff_lowwater_done(&engine->lowwater);
    ff_known_done(&engine->known);
    pthread_cond_destroy(&engine->reader_free);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->chance.lock);
    pthread_mutex_destroy(&engine->lock);
    ff_store_free(engine->store);
    ff_free(engine);
}

/* --- small answers --- */

size_t ff_engine_loops(struct ff_engine *engine, struct ff_loop_report *out, size_t max)
{
    return ff_supervisor_reports(&engine->supervisor, out, max);
}

void ff_engine_stats(struct ff_engine *engine, struct ff_engine_stats *out)
{
    const struct ff_counters *const stats = &engine->stats;

    *out = (struct ff_engine_stats){
        .batches = stats->batches,
        .jobs = stats->jobs,
        .reruns = stats->reruns,
        .bisections = stats->bisections,
        .unknowns = stats->unknowns,
        .resolved_committed = stats->resolved_committed,
        .busy = stats->busy,
        .poison = stats->poison,
        .batch_jobs_max = stats->batch_jobs_max,
        .store_calls = stats->store_calls,
        .wakeups = stats->wakeups,
        .follow_bytes_max = stats->follow_bytes_max,
    };
    pthread_mutex_lock(&engine->lock);
    out->cascading = (int64_t)engine->cascade.count;
    pthread_mutex_unlock(&engine->lock);
}

int64_t ff_engine_step(struct ff_engine *engine, int *ret_waiting)
{
    int64_t next_ms = INT64_MAX;
    bool pulse_waiting, tail_waiting;

    *ret_waiting = 0;
    for (size_t i = 0; i < engine->executor_count; i++) {
        int64_t at_ms;

        switch (ff_executor_step(&engine->executors[i], &at_ms)) {
        case FF_WAITS_NOTHING:
            next_ms = ff_engine_mono_ms(engine);
            break;
        case FF_WAITS_STORE:
            (*ret_waiting)++;
            break;
        case FF_WAITS_TIME:
            next_ms = ff_min_i64(next_ms, at_ms);
            break;
        case FF_WAITS_WORK:
            break;
        }
    }
    next_ms = ff_min_i64(next_ms, ff_supervisor_step(&engine->supervisor, &pulse_waiting));
    next_ms = ff_min_i64(next_ms, ff_tail_step(engine->tail, &tail_waiting));
    *ret_waiting += (pulse_waiting ? 1 : 0) + (tail_waiting ? 1 : 0);
    return next_ms;
}
