/* SPDX-License-Identifier: Apache-2.0
 *
 * worker.c -- the life of a worker: made, told its handlers, run, stopped.
 *
 * Read first: src/worker/README.md. Tests: tests/conformance/worker_*.c. */
#include "worker/worker-int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/hand.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/str.h"
#include "base/wait.h"

#include "base/banned.h"

#define THREADS_DEFAULT   4
#define THREADS_MAX       256
#define GRACE_MS_DEFAULT  30000
#define RENEW_MS_MAX      5000  /* also how late a cancellation may be noticed */
#define CLAIM_MS          3000  /* at the end, for the answer to a claim, which may wait for 1 s */
#define REPORT_MS         10000 /* at the end, for what handlers have said */
#define STRINGS_BYTES_MAX 65536
#define HOST_BYTES        64

/* ---- small things ------------------------------------------------------------------------------
 */

int64_t ff_worker_now_ms(void)
{
    const struct ff_clock clock = ff_clock_system();

    return ff_clock_mono_ms(&clock);
}

void ff_worker_notice(struct ff_worker *worker, const char *fmt, ...)
{
    char line[512];
    va_list args;

    if (!worker->notice)
        return;
    va_start(args, fmt);
    (void)ff_str_vprint(line, sizeof line, fmt, args);
    va_end(args);
    worker->notice(worker->notice_data, line);
}

void ff_worker_called(struct ff_worker *worker, ff_status status, const char *what,
                      const struct ff_error *error)
{
    const bool is_away = ff_status_say_again(status);

    if (status != FF_OK && !is_away)
        return;
    if (atomic_exchange(&worker->away, is_away) == is_away)
        return;
    if (is_away)
        ff_worker_notice(worker, "cannot %s, and tries again: %s", what, error->message);
    else
        ff_worker_notice(worker, "calls are answered again");
}

bool ff_status_ends_lease(ff_status status)
{
    return status == FF_STALE_LEASE || status == FF_LEASE_REVOKED || status == FF_NOT_ACTIVE ||
           status == FF_CONFLICT || status == FF_NOT_FOUND;
}

ff_status ff_status_of_call(ff_status status)
{
    return status == FF_OK || ff_status_say_again(status) ? status : FF_UNAVAILABLE;
}

bool ff_status_say_again(ff_status status)
{
    return ff_status_retryable(status) || status == FF_OUTCOME_UNKNOWN || status == FF_INTERNAL;
}

int64_t ff_worker_backoff_ms(int32_t tries)
{
    return tries < 6 ? INT64_C(100) << tries : 5000;
}

void ff_worker_wait_until(struct ff_worker *worker, pthread_cond_t *cond, int64_t until_ms)
{
    const int64_t ms = until_ms - ff_worker_now_ms();

    ff_wait_ms(cond, &worker->lock, ff_min_i64(ff_max_i64(ms, 1), FF_WAIT_MS_MAX));
}

/* ---- making one --------------------------------------------------------------------------------
 */

static const char *keep(struct ff_worker *worker, const char *text)
{
    return ff_arena_str(&worker->strings, ff_str_of(text)).ptr;
}

static ff_status keep_all(struct ff_worker *worker, const char *const *texts, size_t count,
                          const char *field, const char *const **ret, struct ff_error *reterr)
{
    if (count > FF_LANES_PER_CLAIM_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, field, "%zu %s, at most %d are allowed", count,
                             field, FF_LANES_PER_CLAIM_MAX);
    const char **const copies = ff_arena_array(&worker->strings, count, sizeof *copies);
    for (size_t i = 0; copies && i < count; i++) {
        if (!texts || !texts[i])
            return ff_fail_field(reterr, FF_INVALID, field, "one of the %s is missing", field);
        copies[i] = keep(worker, texts[i]);
    }
    *ret = copies;
    return ff_arena_check(&worker->strings, reterr);
}

static const char *host(struct ff_worker *worker)
{
    char name[HOST_BYTES] = "";

    if (gethostname(name, sizeof name - 1) != 0 || !name[0])
        return "worker";
    return keep(worker, name);
}

static const char *instance(struct ff_worker *worker, const char *worker_id)
{
    const struct ff_random random = ff_random_system();
    char start[HOST_BYTES + 1], name[HOST_BYTES + 48];

    (void)ff_str_print(start, sizeof start, "%s", worker_id);
    (void)snprintf(name, sizeof name, "%s-%d-%08x", start, (int)getpid(),
                   (unsigned)ff_random_u64(&random));
    return keep(worker, name);
}

static ff_status check(const struct ff_worker_options *given, struct ff_error *reterr)
{
    if (given->threads < 0 || given->threads > THREADS_MAX)
        return ff_fail_field(reterr, FF_INVALID, "threads", "threads is 0 to %d", THREADS_MAX);
    if (given->ahead < -1 || given->ahead > THREADS_MAX)
        return ff_fail_field(reterr, FF_INVALID, "ahead", "ahead is -1 to %d", THREADS_MAX);
    if (given->lease_ttl_ms &&
        (given->lease_ttl_ms < FF_LEASE_TTL_MS_MIN || given->lease_ttl_ms > FF_LEASE_TTL_MS_MAX))
        return ff_fail_field(reterr, FF_INVALID, "lease_ttl_ms", "lease_ttl_ms is %d to %d",
                             FF_LEASE_TTL_MS_MIN, FF_LEASE_TTL_MS_MAX);
    if (given->grace_ms < -1 || given->grace_ms > FF_DURATION_MS_MAX)
        return ff_fail_field(reterr, FF_INVALID, "grace_ms", "grace_ms is out of range");
    return FF_OK;
}

static ff_status configure(struct ff_worker *worker, const struct ff_worker_options *given,
                           struct ff_error *reterr)
{
    struct ff_claim_request *const request = &worker->request;

    FF_TRY(check(given, reterr));
    worker->threads = (size_t)(given->threads ? given->threads : THREADS_DEFAULT);
    worker->ahead = given->ahead < 0 ? 0 : given->ahead ? (size_t)given->ahead : worker->threads;
    worker->grace_ms = given->grace_ms < 0 ? 0
                       : given->grace_ms   ? given->grace_ms
                                           : GRACE_MS_DEFAULT;
    worker->notice = given->notice;
    worker->notice_data = given->notice_data;

    request->size = sizeof *request;
    request->worker_id = given->worker_id ? keep(worker, given->worker_id) : host(worker);
    request->lane_count = given->lane_count;
    FF_TRY(keep_all(worker, given->lanes, given->lane_count, "lanes", &request->lanes, reterr));
    request->capability_count = given->capability_count;
    FF_TRY(keep_all(worker, given->capabilities, given->capability_count, "capabilities",
                    &request->capabilities, reterr));
    request->ns = given->ns ? keep(worker, given->ns) : NULL;
    request->lease_ttl_ms = given->lease_ttl_ms ? given->lease_ttl_ms : FF_LEASE_TTL_MS_DEFAULT;
    worker->renew_every_ms = ff_min_i64(request->lease_ttl_ms / 3, RENEW_MS_MAX);
    FF_TRY(ff_arena_check(&worker->strings, reterr));
    request->worker_instance_id = given->worker_instance_id
                                      ? keep(worker, given->worker_instance_id)
                                      : instance(worker, request->worker_id);
    return ff_arena_check(&worker->strings, reterr);
}

/* Three times as many as run and wait: of two parts that have ended one is being reported, one is
 * gathered meanwhile. */
static ff_status make_pool(struct ff_worker *worker, struct ff_error *reterr)
{
    worker->pool_count = 3 * (worker->threads + worker->ahead);
    worker->pool = ff_calloc(worker->pool_count, sizeof *worker->pool);
    if (!worker->pool)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold %zu tasks", worker->pool_count);
    for (size_t i = 0; i < worker->pool_count; i++) {
        worker->pool[i].worker = worker;
        ff_list_push_back(&worker->free, &worker->pool[i].link);
    }
    worker->free_count = worker->pool_count;
    return FF_OK;
}

void ff_worker_free(struct ff_worker *worker)
{
    if (!worker)
        return;
    ff_free(worker->pool);
    ff_hand_free(worker->claims);
    ff_hand_free(worker->words);
    ff_arena_done(&worker->strings);
    pthread_cond_destroy(&worker->work);
    pthread_cond_destroy(&worker->room);
    pthread_cond_destroy(&worker->said);
    pthread_cond_destroy(&worker->beat);
    pthread_cond_destroy(&worker->cancelled);
    pthread_cond_destroy(&worker->idle);
    pthread_mutex_destroy(&worker->lock);
    sem_destroy(&worker->stop);
    ff_free(worker);
}
FF_DEFINE_FREEP(struct ff_worker, ff_worker)

static struct ff_worker *make(const struct ff_client *client)
{
    struct ff_worker *const worker = ff_calloc(1, sizeof *worker);

    if (!worker)
        return NULL;
    worker->claims = ff_hand_new(client);
    worker->words = ff_hand_new(client);
    ff_arena_init(&worker->strings, 1024, STRINGS_BYTES_MAX);
    (void)sem_init(&worker->stop, 0, 0);
    pthread_mutex_init(&worker->lock, NULL);
    ff_wait_init(&worker->work);
    ff_wait_init(&worker->room);
    ff_wait_init(&worker->said);
    ff_wait_init(&worker->beat);
    ff_wait_init(&worker->cancelled);
    ff_wait_init(&worker->idle);
    ff_list_init(&worker->free);
    ff_list_init(&worker->waiting);
    ff_list_init(&worker->outbox);
    return worker;
}

ff_status ff_worker_new(struct ff_client *client, const struct ff_worker_options *options,
                        struct ff_worker **ret_worker, struct ff_error *reterr)
{
    struct ff_worker_options given = {.size = sizeof given};

    if (!client || !ret_worker)
        return ff_fail_field(reterr, FF_INVALID, client ? "ret_worker" : "client",
                             "there is no client, or no place for the worker");
    if (options) {
        if (options->size < sizeof options->size || options->size > sizeof given)
            return ff_fail_field(reterr, FF_INVALID, "size", "size of the options is not set");
        memcpy(&given, options, options->size);
    }
    FF_AUTO(ff_worker_freep) struct ff_worker *worker = make(client);
    if (!worker || !worker->claims || !worker->words)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a worker");
    FF_TRY(configure(worker, &given, reterr));
    FF_TRY(make_pool(worker, reterr));
    *ret_worker = FF_STEAL(worker);
    return FF_OK;
}

ff_status ff_worker_handle(struct ff_worker *worker, const char *kind, ff_task_handler handler,
                           void *data, struct ff_error *reterr)
{
    if (!worker || !handler)
        return ff_fail_field(reterr, FF_INVALID, worker ? "handler" : "worker",
                             "there is no worker, or no handler");
    if (worker->started)
        return ff_fail(reterr, FF_CONFLICT, "handlers are told before the worker runs");
    for (size_t i = 0; i < worker->handler_count; i++) {
        const char *const have = worker->handlers[i].kind;

        if (kind ? have && !strcmp(have, kind) : !have)
            return ff_fail_field(reterr, FF_CONFLICT, "kind", "kind '%s' has a handler already",
                                 kind ? kind : "any");
    }
    if (kind && worker->request.kind_count == FF_KINDS_PER_CLAIM_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "kind", "at most %d kinds per worker",
                             FF_KINDS_PER_CLAIM_MAX);
    const char *const copy = kind ? keep(worker, kind) : NULL;
    FF_TRY(ff_arena_check(&worker->strings, reterr));
    worker->handlers[worker->handler_count++] =
        (struct ff_kind_handler){.kind = copy, .handler = handler, .data = data};
    if (kind)
        worker->kinds[worker->request.kind_count++] = copy;
    else
        worker->any_kind = true;
    return FF_OK;
}

/* ---- running -----------------------------------------------------------------------------------
 */

void ff_worker_stop(struct ff_worker *worker)
{
    if (worker)
        (void)sem_post(&worker->stop);
}

void ff_worker_stats(struct ff_worker *worker, struct ff_worker_stats *ret)
{
    pthread_mutex_lock(&worker->lock);
    *ret = worker->stats;
    ret->waiting = (int32_t)worker->waiting_count;
    ret->running = (int32_t)worker->running_count;
    pthread_mutex_unlock(&worker->lock);
}

/* The threads of one run; those that could not be started are missing. */
struct crew {
    pthread_t claimer, reporter, keeper, handlers[THREADS_MAX];
    size_t handler_count;
    bool has_claimer, has_reporter, has_keeper;
};

/* The claimer comes last: nothing is claimed that nobody could handle, renew and report. */
static ff_status start(struct ff_worker *worker, struct crew *crew, struct ff_error *reterr)
{
    crew->has_reporter = pthread_create(&crew->reporter, NULL, ff_worker_reports, worker) == 0;
    crew->has_keeper = pthread_create(&crew->keeper, NULL, ff_worker_renews, worker) == 0;
    while (crew->handler_count < worker->threads &&
           pthread_create(&crew->handlers[crew->handler_count], NULL, ff_worker_handles, worker) ==
               0)
        crew->handler_count++;
    if (crew->has_reporter && crew->has_keeper && crew->handler_count == worker->threads)
        crew->has_claimer = pthread_create(&crew->claimer, NULL, ff_worker_claims, worker) == 0;
    return crew->has_claimer
               ? FF_OK
               : ff_fail(reterr, FF_NO_MEMORY, "cannot start %zu threads", worker->threads + 3);
}

static void wake_all(struct ff_worker *worker)
{
    pthread_cond_broadcast(&worker->work);
    pthread_cond_broadcast(&worker->room);
    pthread_cond_broadcast(&worker->said);
    pthread_cond_broadcast(&worker->beat);
}

/* With the lock: what runs may go on for the grace. */
static void drain(struct ff_worker *worker)
{
    const int64_t until_ms = ff_add_i64_clamped(ff_worker_now_ms(), worker->grace_ms);

    while (worker->running_count && ff_worker_now_ms() < until_ms)
        ff_worker_wait_until(worker, &worker->idle, until_ms);
    for (size_t i = 0; i < worker->pool_count; i++)
        worker->pool[i].cancelled |= worker->pool[i].stage == FF_STAGE_RUNNING;
    pthread_cond_broadcast(&worker->cancelled);
}

/* Nobody runs any more. What could not be reported is left to its lease. */
static void drop_rest(struct ff_worker *worker)
{
    for (size_t i = 0; i < worker->pool_count; i++) {
        if (worker->pool[i].stage != FF_STAGE_FREE) {
            worker->stats.lost++;
            ff_context_drop(&worker->pool[i]);
        }
    }
}

/* Handlers are not kept waiting by a claim that gets no answer, and nobody is for ever. */
static void end(struct ff_worker *worker, struct crew *crew)
{
    ff_hand_end_by(worker->claims, ff_worker_now_ms() + CLAIM_MS);
    pthread_mutex_lock(&worker->lock);
    worker->stopping = true;
    wake_all(worker);
    drain(worker);
    pthread_mutex_unlock(&worker->lock);
    for (size_t i = 0; i < crew->handler_count; i++)
        pthread_join(crew->handlers[i], NULL);

    const int64_t report_until_ms = ff_worker_now_ms() + REPORT_MS;
    ff_hand_end_by(worker->words, report_until_ms);
    if (crew->has_claimer)
        pthread_join(crew->claimer, NULL);

    pthread_mutex_lock(&worker->lock);
    worker->report_until_ms = report_until_ms;
    wake_all(worker);
    pthread_mutex_unlock(&worker->lock);
    if (crew->has_reporter)
        pthread_join(crew->reporter, NULL);

    ff_hand_end_by(worker->words, ff_worker_now_ms());
    pthread_mutex_lock(&worker->lock);
    worker->keeper_ends = true;
    wake_all(worker);
    pthread_mutex_unlock(&worker->lock);
    if (crew->has_keeper)
        pthread_join(crew->keeper, NULL);
    drop_rest(worker);
}

ff_status ff_worker_run(struct ff_worker *worker, struct ff_error *reterr)
{
    struct crew crew = {0};

    if (!worker)
        return ff_fail_field(reterr, FF_INVALID, "worker", "there is no worker");
    if (worker->started)
        return ff_fail(reterr, FF_CONFLICT, "a worker runs once");
    if (!worker->handler_count)
        return ff_fail(reterr, FF_INVALID, "the worker has no handler");
    worker->started = true;
    worker->request.kinds = worker->kinds;
    if (worker->any_kind)
        worker->request.kind_count = 0;

    const ff_status status = start(worker, &crew, reterr);
    while (status == FF_OK && sem_wait(&worker->stop) != 0 && errno == EINTR)
        continue;
    end(worker, &crew);
    if (status != FF_OK)
        return status;
    if (worker->fatal != FF_OK && reterr)
        *reterr = worker->fatal_error;
    return worker->fatal;
}
