/* SPDX-License-Identifier: Apache-2.0
 *
 * supervisor.c -- the loops and the pulse.
 *
 * One statement a second, the pulse, answers for all loops whether there is anything to do; a loop
 * asks the store itself only then. Delays this process has committed are kept in a heap of hints,
 * so that they end to the millisecond; everything else is found by the pulse. What must stay true:
 * a loop has at most one tick under way; forgetting a hint costs a second, never an execution.
 * Tests: tests/unit/test_engine.c, tests/conformance/lease_lapse.c. */
#include "engine/supervisor.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/wait.h"
#include "engine/engine-int.h"
#include "model/due.h"
#include "sql_ids.h"

#include "base/banned.h"

#define PULSE_MS         1000  /* idle */
#define PULSE_BUSY_MS    250   /* somebody waits for work that only the pulse can announce */
#define LOOK_MS          5000  /* waiting claims look again when nothing has been written */
#define REAP_MS          15000 /* sessions stopped within a pipeline for so long end */
#define UPKEEP_MS        60000 /* how often ranges of the log are made and dropped */
#define UPKEEP_AGAIN_MS  5000
#define UPKEEP_AT_MS     2000  /* the first time, after the start */
#define EXPIRY_MS        20    /* how often deadlines of waiting jobs are looked at */
#define PUMP_MS          5     /* how often a hint that waits to be sent is moved on */
#define LOOP_REST_MAX_MS 60000 /* a loop whose op the store refuses waits so long at most */
#define NOTIFIED_MS      20 /* how often hints of other processes are looked at while claims wait */

ff_status ff_supervisor_init(struct ff_supervisor *supervisor, struct ff_engine *engine,
                             struct ff_error *reterr)
{
    const int64_t mono_ms = ff_engine_mono_ms(engine);

    memset(supervisor, 0, sizeof *supervisor);
    supervisor->engine = engine;
    supervisor->pulse.next_due_ms = FF_NULL64;
    supervisor->poked_mono_ms = INT64_MAX;
    ff_arena_init(&supervisor->arena, 16 << 10, FF_ARENA_BYTES_MAX);
    supervisor->next_pulse_mono_ms = mono_ms;
    supervisor->next_reap_mono_ms = mono_ms + REAP_MS;
    supervisor->next_upkeep_mono_ms = mono_ms + UPKEEP_AT_MS;
    for (int id = 0; id < FF_LOOP_COUNT; id++)
        supervisor->loops[id].next_mono_ms = mono_ms + ff_loop_interval_ms(engine, id);
    return engine->store->ops->session_new(engine->store, &supervisor->session, reterr);
}

void ff_supervisor_done(struct ff_supervisor *supervisor)
{
    if (supervisor->session)
        supervisor->session->ops->free(supervisor->session);
    ff_arena_done(&supervisor->arena);
}

void ff_supervisor_poke(struct ff_supervisor *supervisor, int64_t mono_ms)
{
    supervisor->poked_mono_ms = ff_min_i64(supervisor->poked_mono_ms, mono_ms);
    if (supervisor->sleeps_until_mono_ms > mono_ms + EXPIRY_MS)
        pthread_cond_broadcast(&supervisor->engine->changed);
}

void ff_supervisor_sleep(struct ff_supervisor *supervisor, int64_t until_mono_ms)
{
    struct ff_engine *const engine = supervisor->engine;
    int64_t ms;

    pthread_mutex_lock(&engine->lock);
    supervisor->sleeps_until_mono_ms = ff_min_i64(until_mono_ms, supervisor->poked_mono_ms);
    ms = supervisor->sleeps_until_mono_ms - ff_engine_mono_ms(engine);
    if (!atomic_load(&engine->stopping) && ms > 0)
        ff_wait_ms(&engine->changed, &engine->lock, ff_min_i64(ms, PULSE_MS));
    supervisor->sleeps_until_mono_ms = 0;
    supervisor->poked_mono_ms = INT64_MAX;
    pthread_mutex_unlock(&engine->lock);
}

size_t ff_supervisor_in_flight(struct ff_supervisor *supervisor)
{
    size_t count = 0;

    pthread_mutex_lock(&supervisor->engine->lock);
    for (int id = 0; id < FF_LOOP_COUNT; id++)
        count += supervisor->loops[id].in_flight ? 1 : 0;
    pthread_mutex_unlock(&supervisor->engine->lock);
    return count;
}

size_t ff_supervisor_reports(struct ff_supervisor *supervisor, struct ff_loop_report *out,
                             size_t max)
{
    size_t count = 0;

    pthread_mutex_lock(&supervisor->engine->lock);
    for (int id = 0; id < FF_LOOP_COUNT; id++) {
        const struct ff_loop *const loop = &supervisor->loops[id];

        if (ff_loops[id].hidden)
            continue;
        if (count < max)
            out[count] = (struct ff_loop_report){
                .name = ff_loops[id].name,
                .interval_ms = ff_loop_interval_ms(supervisor->engine, id),
                .ticks = loop->ticks,
                .last_processed = loop->last_processed,
                .last_errors = loop->last_errors,
                .processed = loop->processed,
                .errors = loop->errors,
                .last_scanned = loop->last_scanned,
                .last_noop = loop->last_noop,
            };
        count++;
    }
    pthread_mutex_unlock(&supervisor->engine->lock);
    return count;
}

/* --- hints: a min-heap of due times --- */

void ff_supervisor_hint_delay(struct ff_supervisor *supervisor, int64_t due_ms)
{
    int64_t *const heap = supervisor->delay_hints;
    size_t at = supervisor->delay_hint_count;

    if (at == FF_DELAY_HINTS) { /* one of the later half makes room; the pulse will find it */
        if (heap[--at] <= due_ms)
            return;
        supervisor->delay_hint_count--;
    }
    supervisor->delay_hint_count++;
    for (; at > 0 && heap[(at - 1) / 2] > due_ms; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = due_ms;
}

bool ff_supervisor_hint_short_lease(struct ff_supervisor *supervisor, int64_t ttl_ms)
{
    const int64_t mono_ms = ff_engine_mono_ms(supervisor->engine);
    const bool is_news = supervisor->short_until_mono_ms <= mono_ms;

    supervisor->short_until_mono_ms =
        ff_max_i64(supervisor->short_until_mono_ms, mono_ms + ttl_ms + FF_CONTACT_GAP_MS);
    return is_news;
}

static void drop_first_hint(struct ff_supervisor *supervisor)
{
    int64_t *const heap = supervisor->delay_hints;
    const size_t count = --supervisor->delay_hint_count;
    const int64_t last = heap[count];
    size_t at = 0;

    for (size_t child = 1; child < count; at = child, child = 2 * at + 1) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
}

/* True if a known delay is over. Hints up to now are used up: one scan finds all their rows. */
static bool delay_is_over(struct ff_supervisor *supervisor, int64_t now_ms)
{
    bool over = false;

    while (supervisor->delay_hint_count > 0 && supervisor->delay_hints[0] <= now_ms) {
        drop_first_hint(supervisor);
        over = true;
    }
    return over;
}

/* --- ticks --- */

static void count_tick(struct ff_loop *loop, int64_t processed, int64_t errors)
{
    loop->ticks++;
    loop->last_processed = processed;
    loop->last_errors = errors;
    loop->processed += processed;
    loop->errors += errors;
}

/* What the store refuses it will refuse again at once. */
static void rest(const struct ff_supervisor *supervisor, struct ff_loop *loop, bool refused)
{
    loop->rest_ms = refused ? ff_min_i64(ff_max_i64(2 * loop->rest_ms, 1000), LOOP_REST_MAX_MS) : 0;
    loop->rest_until_mono_ms = ff_engine_mono_ms(supervisor->engine) + loop->rest_ms;
}

static void count_result(struct ff_supervisor *supervisor, ff_loop_id id, const struct ff_job *job)
{
    struct ff_loop *const loops = supervisor->loops;
    struct ff_loop *const loop = &loops[id];
    const bool ok = job->status == FF_OK;
    int64_t errors = ok ? 0 : 1;
    int64_t processed = 0;

    if (job->type == &ff_op_types[FF_OP_HOP_FIND]) {
        /* What it found counts as processed when it is done. */
        loop->last_scanned = ok ? (int64_t)((const struct ff_find_out *)job->out)->count : 0;
        loop->last_noop = 0;
    } else if (ok && job->type == &ff_op_types[FF_OP_TIMER_FIRE]) {
        const struct ff_timer_out *const out = job->out;

        loop->again = out->full;
        errors = out->passed;
        processed = id == FF_LOOP_LEASE_EXPIRY ? out->lease_lapses
                    : id == FF_LOOP_DELAYED    ? out->delays
                                               : out->deadlines;
        if (id == FF_LOOP_LEASE_EXPIRY)
            count_tick(&loops[FF_LOOP_ATTEMPT_TIMEOUT], out->attempt_timeouts, 0);
    } else if (ok && id == FF_LOOP_RETENTION) {
        processed = ((const struct ff_retention_out *)job->out)->removed;
        errors = ((const struct ff_retention_out *)job->out)->passed;
        loop->again = ((const struct ff_retention_out *)job->out)->full;
    } else if (ok && id == FF_LOOP_EVENT_RETENTION) {
        processed = ((const struct ff_log_trim_out *)job->out)->moved;
        loop->again = processed > 0 && ((const struct ff_log_trim_out *)job->out)->full;
    } else if (ok && id == FF_LOOP_BATCH_PRUNE) {
        processed = ((const struct ff_prune_out *)job->out)->removed;
        errors = ((const struct ff_prune_out *)job->out)->passed;
        loop->again = ((const struct ff_prune_out *)job->out)->full;
    }
    count_tick(loop, processed, errors);
    rest(supervisor, loop, job->status == FF_INTERNAL);
}

static void tick_done(struct ff_job *job, void *ctx)
{
    struct ff_supervisor *const supervisor = ctx;
    struct ff_engine *const engine = supervisor->engine;
    const ff_loop_id id = (ff_loop_id)job->tag;

    pthread_mutex_lock(&engine->lock);
    count_result(supervisor, id, job);
    pthread_mutex_unlock(&engine->lock);
    if (job->status == FF_OK && job->type == &ff_op_types[FF_OP_HOP_FIND])
        ff_cascade_found(engine, id, job->out);
    pthread_mutex_lock(&engine->lock);
    supervisor->loops[id].in_flight = false; /* what it found is on the list by now */
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    if (job->status != FF_OK)
        ff_log(FF_LOG_WARN, "engine", "loop tick failed loop=%s code=%s reason='%s'",
               ff_loops[id].name, ff_status_code(job->status), job->error.message);
    ff_job_free(job);
}

static void set_in_flight(struct ff_supervisor *supervisor, ff_loop_id id, bool in_flight)
{
    pthread_mutex_lock(&supervisor->engine->lock);
    supervisor->loops[id].in_flight = in_flight;
    supervisor->loops[id].again = false;
    pthread_mutex_unlock(&supervisor->engine->lock);
}

static void tick(struct ff_supervisor *supervisor, ff_loop_id id)
{
    struct ff_engine *const engine = supervisor->engine;
    struct ff_job *const job = ff_job_new(ff_loops[id].op, 0);
    struct ff_error error;

    if (job)
        job->in = ff_loops[id].fill(engine, &job->arena);
    if (!job || !job->in) {
        ff_job_free(job);
        return; /* out of memory: the next tick tries again */
    }
    job->tag = (uint32_t)id;
    job->done = tick_done;
    job->ctx = supervisor;
    set_in_flight(supervisor, id, true);
    if (ff_engine_submit(engine, job, &error) != FF_OK) {
        set_in_flight(supervisor, id, false);
        ff_job_free(job);
    }
}

/* The pulse knows of work for the loop, and the loop has not asked about it yet. */
static bool work_waits(const struct ff_supervisor *supervisor, ff_loop_id id)
{
    const struct ff_pulse *const pulse = &supervisor->pulse;
    const bool is_news = supervisor->loops[id].pulse != pulse->number;

    switch (ff_loops[id].need) {
    case FF_NEED_NOTHING:
        return true;
    case FF_NEED_TIMER:
        return is_news && pulse->next_due_ms != FF_NULL64;
    case FF_NEED_HOPS:
        /* While hops are on their way the store would only show them again. */
        return is_news && pulse->hops &&
               (id != FF_LOOP_HOPS || ff_cascade_idle(&supervisor->engine->cascade));
    case FF_NEED_DRAINS:
        return is_news && pulse->drains;
    }
    return false;
}

/* Called with the engine's lock. Which loops have something to do? */
static void choose_ticks(struct ff_supervisor *supervisor, int64_t mono_ms, bool due[FF_LOOP_COUNT])
{
    struct ff_engine *const engine = supervisor->engine;
    const int64_t now_ms = engine->contact.last_ms + mono_ms - engine->contact.last_mono_ms;

    for (int id = 0; id < FF_LOOP_COUNT; id++) {
        struct ff_loop *const loop = &supervisor->loops[id];

        due[id] = false;
        if (!ff_loops[id].fill || loop->in_flight || !engine->contact.known ||
            loop->rest_until_mono_ms > mono_ms)
            continue;
        if (!engine->options.loops) { /* only what the list of our own work had no room for */
            due[id] = loop->again;
            continue;
        }
        if (id == FF_LOOP_DELAYED && delay_is_over(supervisor, now_ms))
            due[id] = true;
        if (loop->again)
            due[id] = true;
        if (mono_ms < loop->next_mono_ms)
            continue;
        if (work_waits(supervisor, (ff_loop_id)id) &&
            (ff_loops[id].need != FF_NEED_TIMER || supervisor->pulse.next_due_ms <= now_ms)) {
            loop->pulse = supervisor->pulse.number;
            loop->next_mono_ms =
                mono_ms + ff_loop_interval_ms(engine, id); /* late, not in bursts */
            due[id] = true;
        }
    }
    due[FF_LOOP_CONTACT] = due[FF_LOOP_CONTACT] && engine->store->facts.shared;
}

/* --- the pulse --- */

/* The pulse, the list of capability sets, or the end of stuck sessions: one at a time. */
static void start_read(struct ff_supervisor *supervisor, int block)
{
    const struct ff_scan_filter *const filter = &supervisor->engine->options.filter;
    const struct ff_in_pulse pulse = {.contact = FF_STR("contact"),
                                      .namespace = filter->namespace,
                                      .instance_tag = filter->instance_tag};
    const struct ff_in_sessions_reap reap = {.stuck_ms = REAP_MS};
    size_t param_count = 0;

    if (block == FF_SQL_PULSE) {
        ff_in_pulse_values(&pulse, supervisor->params);
        param_count = FF_SQL_PULSE_PARAMS;
    } else if (block == FF_SQL_SESSIONS_REAP) {
        ff_in_sessions_reap_values(&reap, supervisor->params);
        param_count = FF_SQL_SESSIONS_REAP_PARAMS;
    }
    ff_arena_reset(&supervisor->arena);
    supervisor->read = (struct ff_read){.block = block,
                                        .params = supervisor->params,
                                        .param_count = param_count,
                                        .arena = &supervisor->arena};
    supervisor->call = (struct ff_call){.kind = FF_CALL_READ, .read = &supervisor->read};
    supervisor->reading = true;
    supervisor->engine->stats.store_calls++;
    supervisor->session->ops->start(supervisor->session, &supervisor->call);
}

/* Something became claimable since they looked in vain, or had when the pulse came last: what they
 * saw then may have been cut short by a hint. And once in a while for no reason at all. */
static bool waiting_may_look(struct ff_supervisor *supervisor, const struct ff_pulse *before)
{
    const struct ff_pulse *const pulse = &supervisor->pulse;
    const int64_t mono_ms = ff_engine_mono_ms(supervisor->engine);
    const bool hinted = supervisor->engine->store->facts.dead_rows;

    if (pulse->claimable == 0 ||
        (!pulse->news && !(hinted && before->news) && mono_ms < supervisor->next_look_mono_ms))
        return false;
    supervisor->next_look_mono_ms = mono_ms + LOOK_MS;
    return true;
}

static void pulse_ended(struct ff_supervisor *supervisor)
{
    struct ff_engine *const engine = supervisor->engine;
    const struct ff_value *const cells = supervisor->read.cells;
    const struct ff_pulse before = supervisor->pulse;
    int64_t since_ms, last_ms;
    bool other_capsets;
    struct ff_pulse now = {
        .number = before.number + 1,
        .now_ms = cells[FF_OUT_PULSE_NOW_MS].as.i64,
        .next_due_ms = cells[FF_OUT_PULSE_DUE_AT_MS].as.i64,
        .capset_count = cells[FF_OUT_PULSE_CAPSETS].as.i64,
        .claimable = cells[FF_OUT_PULSE_CLAIMABLE].as.i64,
        .hops = cells[FF_OUT_PULSE_HOPS].as.i64 != 0,
        .drains = cells[FF_OUT_PULSE_DRAINS].as.i64 != 0,
        .event_id = cells[FF_OUT_PULSE_EVENT_ID].as.i64,
    };

    now.news = now.claimable != before.claimable;
    pthread_mutex_lock(&engine->lock); /* it is measured by others */
    supervisor->pulse = now;
    other_capsets = now.capset_count != engine->capsets_read || engine->capsets_doubted;
    engine->capsets_doubted = false; /* whoever doubts from now on has them read again */
    pthread_mutex_unlock(&engine->lock);
    supervisor->missed = false;
    ff_engine_contact(engine, now.now_ms);
    ff_tail_seen(engine->tail, now.event_id);
    /* After a jump the log may be without ranges: what is written meanwhile has no place yet. */
    if (before.number && now.event_id - before.event_id > FF_LOG_JUMP / 2)
        supervisor->next_upkeep_mono_ms = 0;
    if (ff_contact_read(cells[FF_OUT_PULSE_CONTACT].as.str, &since_ms, &last_ms))
        ff_engine_contact_shared(engine, since_ms, last_ms);
    if (waiting_may_look(supervisor, &before) && !FF_MUTANT(wakeup_lost_and_no_poll))
        ff_engine_unpark(engine, UINT64_MAX);
    if (other_capsets)
        start_read(supervisor, FF_SQL_CAPSETS_ALL);
}

/* Said once, until there is a pulse again. */
static void pulse_missed(struct ff_supervisor *supervisor)
{
    if (!supervisor->missed)
        ff_log(FF_LOG_WARN, "engine", "no pulse from the store code=%s reason='%s'",
               supervisor->call.sqlstate, supervisor->call.error.message);
    supervisor->missed = true;
    ff_engine_contact_lost(supervisor->engine);
    ff_engine_doubt_capsets(supervisor->engine);
}

static void read_ended(struct ff_supervisor *supervisor, int64_t mono_ms)
{
    struct ff_engine *const engine = supervisor->engine;

    supervisor->reading = false;
    if (supervisor->read.block == FF_SQL_PULSE)
        supervisor->next_pulse_mono_ms = mono_ms + PULSE_MS;
    if (supervisor->read.block == FF_SQL_LOG_UPKEEP && supervisor->call.outcome != FF_CALLED_OK) {
        /* Somebody is in the way, or we may not: events go where there is room meanwhile. */
        supervisor->next_upkeep_mono_ms = mono_ms + UPKEEP_AGAIN_MS;
        ff_log(FF_LOG_INFO, "engine", "ranges of the log are not looked after code=%s reason='%s'",
               supervisor->call.sqlstate, supervisor->call.error.message);
    } else if (supervisor->call.outcome != FF_CALLED_OK || supervisor->arena.failed) {
        /* Nobody's work depends on the others: they may be refused for reasons of their own. */
        if (supervisor->read.block == FF_SQL_PULSE)
            pulse_missed(supervisor);
        if (supervisor->read.block == FF_SQL_CAPSETS_ALL)
            ff_engine_doubt_capsets(engine);
    } else if (supervisor->read.block == FF_SQL_CAPSETS_ALL) {
        ff_engine_learn_capsets(engine, &supervisor->read);
        ff_engine_unpark(engine, UINT64_MAX); /* some may now be able to do more */
    } else if (supervisor->read.block == FF_SQL_PULSE && supervisor->read.row_count == 1) {
        pulse_ended(supervisor);
    }
}

/* Nothing of ours is under way: what is due? */
static void next_read(struct ff_supervisor *supervisor, int64_t mono_ms)
{
    const struct ff_engine *const engine = supervisor->engine;
    const bool looks_after = engine->options.loops && engine->store->facts.upkeep;

    if (mono_ms >= supervisor->next_pulse_mono_ms) {
        start_read(supervisor, FF_SQL_PULSE);
    } else if (looks_after && mono_ms >= supervisor->next_reap_mono_ms) {
        supervisor->next_reap_mono_ms = mono_ms + REAP_MS;
        start_read(supervisor, FF_SQL_SESSIONS_REAP);
    } else if (looks_after && mono_ms >= supervisor->next_upkeep_mono_ms) {
        supervisor->next_upkeep_mono_ms = mono_ms + UPKEEP_MS;
        start_read(supervisor, FF_SQL_LOG_UPKEEP);
    }
}

/* Jobs whose time is over while they wait. Looking at all of them is not free. */
static void expire_waiting(struct ff_supervisor *supervisor, int64_t mono_ms)
{
    struct ff_engine *const engine = supervisor->engine;
    struct ff_list expired;

    if (mono_ms < supervisor->next_expiry_mono_ms)
        return;
    supervisor->next_expiry_mono_ms = mono_ms + EXPIRY_MS;
    ff_list_init(&expired);
    (void)ff_queue_expired(&engine->queue, mono_ms, &expired);
    while (!ff_list_empty(&expired)) {
        struct ff_job *const job = ff_job_pop(&expired);

        job->status = ff_job_late(job, &job->error);
        ff_engine_end_job(engine, job);
    }
    ff_engine_expire_parked(engine, mono_ms);
}

/* When a loop next has to be looked at. Called with the engine's lock. */
static int64_t loop_time(const struct ff_supervisor *supervisor, ff_loop_id id, int64_t mono_ms)
{
    const struct ff_contact *const contact = &supervisor->engine->contact;
    const struct ff_loop *const loop = &supervisor->loops[id];
    const int64_t to_mono_ms = contact->last_mono_ms - contact->last_ms;
    int64_t next_ms = INT64_MAX;

    if (!ff_loops[id].fill || loop->in_flight)
        return INT64_MAX; /* its end wakes us */
    if (!contact->known)
        return INT64_MAX; /* it cannot tick, however late it is: the pulse comes first */
    if (loop->again)
        return ff_max_i64(mono_ms, loop->rest_until_mono_ms);
    if (work_waits(supervisor, id))
        next_ms = loop->next_mono_ms;
    if (ff_loops[id].need == FF_NEED_TIMER && next_ms != INT64_MAX)
        next_ms = ff_max_i64(next_ms, supervisor->pulse.next_due_ms + to_mono_ms);
    if (id == FF_LOOP_DELAYED && supervisor->delay_hint_count > 0)
        next_ms = ff_min_i64(next_ms, supervisor->delay_hints[0] + to_mono_ms);
    return ff_max_i64(next_ms, loop->rest_until_mono_ms);
}

static int64_t next_time(struct ff_supervisor *supervisor, int64_t mono_ms)
{
    struct ff_engine *const engine = supervisor->engine;
    int64_t next_ms = supervisor->reading ? INT64_MAX : supervisor->next_pulse_mono_ms;

    pthread_mutex_lock(&engine->lock);
    for (int id = 0; engine->options.loops && id < FF_LOOP_COUNT; id++)
        next_ms = ff_min_i64(next_ms, loop_time(supervisor, (ff_loop_id)id, mono_ms));
    if (!ff_list_empty(&engine->parked) || ff_tail_followed(engine->tail))
        next_ms = ff_min_i64(next_ms, mono_ms + NOTIFIED_MS);
    pthread_mutex_unlock(&engine->lock);
    if (ff_engine_hint_waits(engine, mono_ms))
        next_ms = ff_min_i64(next_ms, mono_ms + PUMP_MS);
    if (atomic_load(&engine->under_way) > 0)
        next_ms = ff_min_i64(next_ms, supervisor->next_expiry_mono_ms);
    return ff_max_i64(next_ms, mono_ms);
}

int64_t ff_supervisor_step(struct ff_supervisor *supervisor, bool *ret_waiting)
{
    struct ff_engine *const engine = supervisor->engine;
    const int64_t mono_ms = ff_engine_mono_ms(engine);
    bool due[FF_LOOP_COUNT] = {false};
    const bool followed = ff_tail_followed(engine->tail);
    bool parked;

    if (supervisor->reading &&
        supervisor->session->ops->finish(supervisor->session, &supervisor->call))
        read_ended(supervisor, mono_ms);
    pthread_mutex_lock(&engine->lock);
    parked = !ff_list_empty(&engine->parked);
    if (followed || supervisor->short_until_mono_ms > mono_ms ||
        (parked && engine->store->facts.shared && !engine->store->facts.notify))
        supervisor->next_pulse_mono_ms =
            ff_min_i64(supervisor->next_pulse_mono_ms, mono_ms + PULSE_BUSY_MS);
    choose_ticks(supervisor, mono_ms, due);
    pthread_mutex_unlock(&engine->lock);
    if ((parked || followed || ff_engine_hint_waits(engine, mono_ms)) &&
        engine->store->ops->notified(engine->store)) {
        ff_engine_unpark(engine, UINT64_MAX);
        ff_tail_wake(engine->tail);
    }
    if (!supervisor->reading)
        next_read(supervisor, mono_ms);
    for (int id = 0; id < FF_LOOP_COUNT; id++)
        if (due[id])
            tick(supervisor, (ff_loop_id)id);
    expire_waiting(supervisor, mono_ms);
    *ret_waiting = supervisor->reading;
    return next_time(supervisor, mono_ms);
}
