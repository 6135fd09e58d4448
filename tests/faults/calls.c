/* SPDX-License-Identifier: Apache-2.0
 *
 * calls.c -- the n-th request for memory is refused to the public calls that change nothing, or
 * are answered by threads of their own.
 *
 * A call is answered as ever, or says that there is no memory; afterwards the same call is answered
 * as if nothing had been. Read first: alloc.c. */
#include "calls.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "http/server.h"
#include "kit/heap.h"

#include "base/banned.h"

#define WAIT_MS    60000
#define KINDS      10
#define KIND_BYTES 120 /* ten such names need more room than a worker has at first */
#define N_MAX      2000
#define STEP       7 /* where calls take long, unless all are wanted */

/* What the calls are about. */
struct ground {
    struct name ended;
    char flow_id[FF_UUID_BYTES];
    const char *url;
};

/* ---- a server ---- */

void serve(struct test *t, struct served *ret)
{
    static const struct ff_tokens none = {0};
    const struct ff_server_options options = {
        .listen = "127.0.0.1:0", .tokens = &none, .client = t->client};

    EXPECT_OK(t, ff_server_new(&options, &ret->server, &t->err));
    ret->url = ff_server_url(ret->server);
    EXPECT_OK(t, ff_open(ret->url, NULL, &ret->client, &t->err));
}

void serve_no_more(struct test *t, struct served *served)
{
    (void)ff_close(FF_STEAL(served->client), WAIT_MS);
    EXPECT(t, ff_server_drain(served->server, TEST_WAIT_MS) == 0);
    ff_server_free(FF_STEAL(served->server));
}

/* ---- the log, and waiting ---- */

static ff_status wait_for_one(struct test *t, const struct ground *g)
{
    struct ff_info_list whole = {0};
    const ff_status status = ff_wait(t->client, g->ended.id, WAIT_MS, &whole, &t->err);

    ff_answer_free(&whole);
    return status;
}

static ff_status wait_for_flow(struct test *t, const struct ground *g)
{
    struct ff_flow_info_list flow = {0};
    const ff_status status = ff_flow_wait(t->client, g->flow_id, WAIT_MS, &flow, &t->err);

    ff_answer_free(&flow);
    return status;
}

ff_status follow_log(struct test *t)
{
    struct ff_event_list page = {0};
    struct ff_subscription *subscription = NULL;
    struct ff_delivery delivery = {0};
    ff_status status = ff_events(t->client, NULL, "start", 10, 0, &page, &t->err);

    ff_answer_free(&page);
    if (status == FF_OK)
        status = ff_subscribe(t->client, NULL, "start", &subscription, &t->err);
    if (status == FF_OK)
        status = ff_subscription_next(subscription, 5, 1000, &delivery, &t->err);
    ff_answer_free(&delivery);
    ff_unsubscribe(subscription);
    return status;
}

static ff_status follow(struct test *t, const struct ground *g)
{
    (void)g;
    return follow_log(t);
}

static bool hear(const struct ff_delivery *delivery, void *ctx)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)ctx, 1);
    return true;
}

static ff_status follow_by_callback(struct test *t, const struct ground *g)
{
    struct ff_subscription *subscription = NULL;
    atomic_int heard = 0;
    const ff_status status =
        ff_subscribe_callback(t->client, NULL, "start", hear, &heard, &subscription, &t->err);

    (void)g;
    if (status == FF_OK)
        WAIT_UNTIL(t, atomic_load(&heard) > 0);
    ff_unsubscribe(subscription);
    return status;
}

/* ---- submitting without waiting ---- */

struct told {
    atomic_int calls;
    ff_status status;
};

static void tell(ff_status status, const struct ff_submitted *items, size_t count,
                 const struct ff_error *error, void *ctx)
{
    struct told *const told = ctx;

    (void)count;
    (void)error;
    told->status = status == FF_OK ? items[0].status : status;
    atomic_fetch_add(&told->calls, 1);
}

static ff_status submit_async(struct test *t, const struct ground *g)
{
    struct told *const told = keep(t, sizeof *told);
    struct ff_submission item = submission();
    ff_status status;

    (void)g;
    item.lane = "aside";
    item.idempotency_key = "once";
    status = ff_submit_async(t->client, &item, 1, tell, told, &t->err);
    if (status != FF_OK)
        return status;
    WAIT_UNTIL(t, atomic_load(&told->calls) > 0);
    return told->status;
}

/* ---- reading and operating ---- */

static ff_status read_result_of(struct test *t, const struct ground *g)
{
    struct ff_bytes bytes = {0};
    const ff_status status = ff_result_of(t->client, g->ended.id, 0, &bytes, &t->err);

    ff_answer_free(&bytes);
    return status;
}

static ff_status read_scanners(struct test *t, const struct ground *g)
{
    struct ff_scanner_list all = {0};
    const ff_status status = ff_scanners(t->client, &all, &t->err);

    (void)g;
    ff_answer_free(&all);
    return status;
}

static ff_status look_after(struct test *t, const struct ground *g)
{
    struct ff_diagnosis diagnosis = {0};
    const ff_status status = ff_doctor(t->client, &diagnosis, &t->err);

    (void)g;
    ff_answer_free(&diagnosis);
    return status;
}

static ff_status collect(struct test *t, const struct ground *g)
{
    int64_t removed;

    (void)g;
    return ff_gc(t->client, INT64_C(3600000), &removed, &t->err);
}

static ff_status migrate(struct test *t, const struct ground *g)
{
    int32_t from, to;

    (void)g;
    return ff_migrate(t->url, false, &from, &to, &t->err);
}

static ff_status restore(struct test *t, const struct ground *g)
{
    (void)g;
    return ff_restored(t->url, &t->err);
}

static ff_status open_and_close(struct test *t, const struct ground *g)
{
    struct ff_client *client = NULL;
    const ff_status status = ff_open(g->url, NULL, &client, &t->err);

    (void)ff_close(client, WAIT_MS);
    return status;
}

static ff_verdict never(struct ff_context *ctx, void *data)
{
    (void)ctx;
    (void)data;
    return FF_VERDICT_DONE;
}

static ff_status make_worker(struct test *t, const struct ground *g)
{
    struct ff_worker *worker = NULL;
    ff_status status = ff_worker_new(t->client, NULL, &worker, &t->err);
    char kind[KIND_BYTES + 1] = "";

    (void)g;
    for (size_t i = 0; status == FF_OK && i < KINDS; i++) {
        memset(kind, 'a' + (int)i, KIND_BYTES);
        status = ff_worker_handle(worker, kind, never, NULL, &t->err);
    }
    ff_worker_free(worker);
    return status;
}

static const struct call {
    const char *name;
    ff_status (*act)(struct test *t, const struct ground *g);
    bool local; /* a server has nobody do this from afar */
} calls[] = {
    {"wait", wait_for_one, false},
    {"flow wait", wait_for_flow, false},
    {"follow", follow, false},
    {"follow by callback", follow_by_callback, false},
    {"result of", read_result_of, false},
    {"scanners", read_scanners, false},
    {"open and close", open_and_close, false},
    {"worker", make_worker, false},
    {"submit async", submit_async, true},
    {"doctor", look_after, true},
    {"gc", collect, true},
    {"migrate", migrate, true},
    {"restored", restore, true},
};

/* ---- refusing ---- */

static void given_ground(struct test *t, struct ground *g)
{
    const struct ff_submission work = submission();
    const struct ff_flow_node node = {.name = "a", .work = &work};
    struct ff_flow_made made = {0};
    struct ff_flow_request request;
    struct held held;

    g->ended = given_completed(t);
    ff_flow_request_init(&request);
    request.nodes = &node;
    request.node_count = 1;
    EXPECT_OK(t, ff_flow_create(t->client, &request, &made, &t->err));
    memcpy(g->flow_id, made.flow_id, sizeof g->flow_id);
    ff_answer_free(&made);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, "1"));
}

/* False: the call asks for fewer than n. */
static bool refuse(struct test *t, const struct call *call, const struct ground *g, long long n,
                   bool all_after)
{
    ff_status status;
    bool hit;

    heap_arm(n, all_after);
    status = call->act(t, g);
    hit = heap_failed();
    heap_disarm();
    if (status != FF_OK && status != FF_NO_MEMORY && status != FF_UNAVAILABLE)
        FAIL(t, "%s, allocation %lld: %s: %s", call->name, n, ff_status_code(status),
             t->err.message);
    status = call->act(t, g);
    if (status != FF_OK)
        FAIL(t, "%s, after allocation %lld: %s: %s", call->name, n, ff_status_code(status),
             t->err.message);
    return hit;
}

void sweep_calls(struct test *t, const struct served *served, size_t *sites)
{
    const bool slow = served || t->store->kind == TEST_STORE_POSTGRES;
    struct ff_client *const own = t->client;
    struct ground g = {.url = served ? served->url : t->url};

    given_ground(t, &g);
    if (served)
        t->client = served->client;
    heap_only_mine(true);
    for (size_t i = 0; i < FF_ARRAY_LEN(calls); i++)
        for (int all_after = 0; all_after < 2; all_after++)
            for (long long n = 1;
                 n < N_MAX && !(served && calls[i].local) && refuse(t, &calls[i], &g, n, all_after);
                 n += !slow || n < 8 || is_full_run() ? 1 : STEP)
                (*sites)++;
    heap_only_mine(false);
    t->client = own;
}

/* ---- the worker runtime ---- */

#define LEASE_MS   1000
#define MISSES_MAX 3 /* so many in a row that nothing is refused: a shift asks for no more */

/* One worker with one thing to do, and how often it has been asked to. */
struct shift {
    const char *kind;
    ff_verdict (*say)(struct ff_context *ctx, bool again);
    long long refused; /* to the handler itself, the n-th; 0: to anybody */
    struct ff_worker *worker;
    atomic_uint asked;
};

static ff_verdict say_done(struct ff_context *ctx, bool again)
{
    (void)again;
    ff_context_progress(ctx, 50, "half of it");
    (void)ff_context_wait(ctx, 1);
    return ff_context_done(ctx, ff_context_cancelled(ctx) ? "0" : "1");
}

static ff_verdict say_bytes(struct ff_context *ctx, bool again)
{
    (void)again;
    return ff_context_done_bytes(ctx, (struct ff_str){"x", 1}, "text/plain");
}

static ff_verdict say_failed(struct ff_context *ctx, bool again)
{
    (void)again;
    return ff_context_fail(ctx, "permanent", "no %s", "luck");
}

static ff_verdict say_delayed(struct ff_context *ctx, bool again)
{
    (void)again;
    return ff_context_delay(ctx, 3600000);
}

static ff_verdict say_released(struct ff_context *ctx, bool again)
{
    return again ? ff_context_done(ctx, NULL) : ff_context_release(ctx, "not now");
}

static ff_verdict handle(struct ff_context *ctx, void *data)
{
    struct shift *const shift = data;
    const bool again = atomic_fetch_add(&shift->asked, 1) > 0;
    ff_verdict verdict;

    if (shift->refused && !again) {
        heap_only_mine(true);
        heap_arm(shift->refused, false);
    }
    verdict = shift->say(ctx, again);
    if (shift->refused && !again) {
        heap_disarm();
        heap_only_mine(false);
    }
    if (!strcmp(ff_context_task(ctx)->kind, shift->kind))
        ff_worker_stop(shift->worker);
    return verdict;
}

static ff_status work(struct test *t, const char *lane, struct shift *shift)
{
    const struct ff_worker_options options = {.size = sizeof options,
                                              .lanes = &lane,
                                              .lane_count = 1,
                                              .threads = 1,
                                              .lease_ttl_ms = LEASE_MS};
    struct ff_worker_stats stats;
    ff_status status = ff_worker_new(t->client, &options, &shift->worker, &t->err);

    if (status == FF_OK)
        status = ff_worker_handle(shift->worker, shift->kind, handle, shift, &t->err);
    if (status == FF_OK)
        status = ff_worker_run(shift->worker, &t->err);
    if (shift->worker)
        ff_worker_stats(shift->worker, &stats);
    ff_worker_free(shift->worker);
    return status;
}

/* What the worker has left is taken from it, and done by hand. */
static bool is_over(struct test *t, const char *lane, const struct name *name)
{
    struct ff_claim_request request = claim_request();
    struct ff_info_list whole = {0};
    struct held held[1] = {0};
    bool over;

    request.lanes = &lane;
    request.lane_count = 1;
    (void)!when_revoked(t, name->id);
    if (when_claimed_many(t, &request, held, 1) > 0)
        EXPECT_OK(t, when_completed(t, &held[0], "2"));
    EXPECT_OK(t, ff_get(t->client, name->id, &whole, &t->err));
    over = whole.items[0].finished_at_ms != FF_ABSENT_MS ||
           !strcmp(whole.items[0].public_state, "delayed");
    ff_answer_free(&whole);
    return over;
}

static bool refuse_worker(struct test *t, struct shift shift, long long n)
{
    struct ff_submission item = submission();
    struct name name;
    char lane[32];
    ff_status status;
    bool hit;

    (void)snprintf(lane, sizeof lane, "%s-%lld-%lld", shift.kind, shift.refused, n);
    item.lane = lane;
    item.kind = shift.kind;
    name = given(t, &item);
    if (n > 0)
        heap_arm(n, false); /* once: who is refused for ever works no more */
    status = work(t, lane, &shift);
    hit = heap_failed();
    heap_disarm();
    if (status != FF_OK && status != FF_NO_MEMORY)
        FAIL(t, "worker, allocation %lld: %s: %s", n, ff_status_code(status), t->err.message);
    WAIT_UNTIL(t, is_over(t, lane, &name));
    return hit;
}

void sweep_worker(struct test *t, size_t *sites)
{
    static const struct shift shifts[] = {{.kind = "done", .say = say_done},
                                          {.kind = "bytes", .say = say_bytes},
                                          {.kind = "failed", .say = say_failed},
                                          {.kind = "delayed", .say = say_delayed},
                                          {.kind = "released", .say = say_released}};

    for (size_t i = 0; i < FF_ARRAY_LEN(shifts); i++) {
        struct shift own = shifts[i];

        for (own.refused = 1; own.refused < 4; own.refused++)
            *sites += refuse_worker(t, own, 0);
    }
    /* A worker rests for a second after a failure: not all of them in a short run. */
    for (size_t i = 0; i < (is_full_run() ? FF_ARRAY_LEN(shifts) : 1); i++) {
        int misses = 0;

        for (long long n = 1; n < N_MAX && misses < MISSES_MAX; n += is_full_run() ? 1 : STEP) {
            const bool hit = refuse_worker(t, shifts[i], n);

            misses = hit ? 0 : misses + 1;
            *sites += hit;
        }
    }
}
