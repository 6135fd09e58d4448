/* SPDX-License-Identifier: Apache-2.0
 *
 * locks.c -- somebody else holds a row or a key; one op of a batch is poison.
 *
 * A foreign lock delays the ops that need it and nobody else; a poison op harms nobody else. What
 * is asserted is the order in which calls end, never how long they took. */
#include "faults.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ops/execution.h"

#include "base/banned.h"

#define OTHERS     60
#define NEIGHBOURS 100
#define LONG_MS    120000 /* longer than all that happens meanwhile */
#define IN_TIME_MS 10000  /* and yet time for a first try */
#define STUCK_KEYS 3
#define LANE_BYTES 16384 /* too many for SQLite's CHECK and, in chance letters, for an index */

/* A call under way on a thread of its own. */
struct call {
    struct held held;
    const char *key;
    ff_status status;
    atomic_bool over;
};

static void complete_it(struct test *t, size_t index, void *ctx)
{
    struct call *const call = ctx;

    (void)index;
    call->status = when_completed(t, &call->held, "1");
    atomic_store(&call->over, true);
}

static void submit_key(struct test *t, size_t index, void *ctx)
{
    struct call *const call = &((struct call *)ctx)[index];
    struct ff_submission item = submission();
    struct ff_submitted submitted;

    item.idempotency_key = call->key;
    call->status = when_submitted(t, &item, &submitted);
    atomic_store(&call->over, true);
}

static void open_with(struct test *t, int64_t timeout_ms)
{
    const struct ff_options options = {.size = sizeof options, .timeout_ms = timeout_ms};

    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
}

/* Some of everything, one call after the other: all of it is served. */
static void others_go_on(struct test *t)
{
    for (int i = 0; i < OTHERS; i++) {
        struct ff_submission item = submission();
        struct ff_claim_request r = claim_request();
        const char *const lane = "others";
        struct held held;

        item.lane = lane;
        r.lanes = &lane;
        r.lane_count = 1;
        (void)given(t, &item);
        held = given_claim(t, &r);
        EXPECT_OK(t, when_renewed(t, &held, 0));
        EXPECT_OK(t, when_completed(t, &held, "1"));
    }
}

static bool waits_for_a_lock(struct test *t, struct other *other, long sessions)
{
    return other_says(t, other,
                      "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'flowfabric' "
                      "AND wait_event_type = 'Lock'") >= sessions;
}

/* ---- a held row ---- */

static void held_row_delays_only_itself(struct test *t)
{
    struct call *const call = keep(t, sizeof *call);
    struct test_thread *thread;
    struct other other;
    struct other looker;
    char where[128];

    open_with(t, LONG_MS);
    other_open(t, &other);
    other_open(t, &looker);
    call->held = given_claimed(t);
    (void)other_says(t, &other, "BEGIN");
    (void)other_says(t, &other, "SELECT 1 FROM @.ff_execution WHERE %s FOR UPDATE",
                     where_is(call->held.id, where));
    thread = start_thread(t, complete_it, 0, call);
    WAIT_UNTIL(t, waits_for_a_lock(t, &looker, 1)); /* the patient session, and only that one */
    others_go_on(t);
    EXPECT(t, !atomic_load(&call->over));
    (void)other_says(t, &other, "COMMIT");
    join_thread(t, thread);
    EXPECT_STATUS(t, FF_OK, call->status);
    EXPECT_STATE(t, call->held.id, "completed");
    EXPECT_EVENTS(t, call->held.id, "acquired completion.success");
    EXPECT(t, stats_of(t->client).busy > 0);
}

static void held_row_is_answered_busy_in_time(struct test *t)
{
    const struct ff_options impatient = {.size = sizeof impatient, .timeout_ms = IN_TIME_MS};
    struct call *const call = keep(t, sizeof *call);
    struct test_thread *thread;
    struct other other;
    char where[128];
    struct held held;

    open_with(t, LONG_MS);
    other_open(t, &other);
    held = call->held = given_claimed(t);
    given_options(t, &impatient);
    (void)other_says(t, &other, "BEGIN");
    (void)other_says(t, &other, "SELECT 1 FROM @.ff_execution WHERE %s FOR UPDATE",
                     where_is(held.id, where));
    thread = start_thread(t, complete_it, 0, call);
    EXPECT_STATUS(t, FF_BUSY, when_cancelled(t, held.id));
    join_thread(t, thread);
    EXPECT_INT(t, FF_BUSY, call->status);
    EXPECT_STATE(t, held.id, "active");
    (void)other_says(t, &other, "COMMIT");
    close_client(t, &t->client);
    open_with(t, LONG_MS);
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_EVENTS(t, held.id, "acquired completion.success");
}

/* ---- a key that somebody else is about to take ---- */

static void given_foreign_key(struct test *t, struct other *other, const char *key)
{
    (void)other_says(t, other,
                     "INSERT INTO @.ff_dedup VALUES ('default', 'k:%s', 0, "
                     "'00000000-0000-4000-8000-000000000001', '\\x00', 9000000000000)",
                     key);
}

/* More keys than executors: whoever waited for one in a batch would stop everybody. */
static void foreign_keys_delay_only_themselves(struct test *t)
{
    static const char *const keys[STUCK_KEYS] = {"key-a", "key-b", "key-c"};
    struct call *const calls = keep(t, STUCK_KEYS * sizeof *calls);
    struct test_thread *threads[STUCK_KEYS];
    struct other other;
    struct other looker;

    open_with(t, LONG_MS);
    other_open(t, &other);
    other_open(t, &looker);
    (void)other_says(t, &other, "BEGIN");
    for (size_t i = 0; i < STUCK_KEYS; i++) {
        calls[i].key = keys[i];
        given_foreign_key(t, &other, keys[i]);
    }
    for (size_t i = 0; i < STUCK_KEYS; i++)
        threads[i] = start_thread(t, submit_key, i, calls);
    WAIT_UNTIL(t, waits_for_a_lock(t, &looker, 1));
    others_go_on(t);
    for (size_t i = 0; i < STUCK_KEYS; i++)
        EXPECT(t, !atomic_load(&calls[i].over));
    (void)other_says(t, &other, "ROLLBACK");
    for (size_t i = 0; i < STUCK_KEYS; i++) {
        join_thread(t, threads[i]);
        EXPECT_STATUS(t, FF_OK, calls[i].status);
    }
    EXPECT_INT(t, STUCK_KEYS + OTHERS,
               other_says(t, &other, "SELECT count(*) FROM @.ff_execution"));
}

static void claim_one(struct test *t, size_t index, void *ctx)
{
    struct ff_claim_request r = claim_request();

    (void)index;
    r.wait_ms = 60000;
    *(struct held *)ctx = given_claim(t, &r);
}

static bool claims_in(struct test *t, const char *lane, struct held *ret)
{
    struct ff_claim_request r = claim_request();

    r.lanes = &lane;
    r.lane_count = 1;
    return claims_one(t, &r, ret);
}

/* Somebody waits for what the submission brings: it is not tried with that one again and again,
 * while flows stand still. */
static void foreign_key_delays_no_flow(struct test *t)
{
    struct call *const call = keep(t, sizeof *call);
    struct held *const claimed = keep(t, sizeof *claimed);
    struct ff_submission item = submission();
    const struct ff_flow_node nodes[] = {{.name = "a", .work = &item},
                                         {.name = "b", .work = &item}};
    const struct ff_flow_edge edge = {.from = "a", .to = "b"};
    struct ff_flow_request flow;
    struct ff_flow_made made = {0};
    struct test_thread *submits;
    struct test_thread *claims;
    struct other other;
    struct other looker;
    struct held held;

    open_with(t, LONG_MS);
    other_open(t, &other);
    other_open(t, &looker);
    item.lane = "others";
    ff_flow_request_init(&flow);
    flow.nodes = nodes;
    flow.node_count = 2;
    flow.edges = &edge;
    flow.edge_count = 1;
    EXPECT_OK(t, ff_flow_create(t->client, &flow, &made, &t->err));
    ff_answer_free(&made);
    WAIT_UNTIL(t, claims_in(t, "others", &held));
    claims = start_thread(t, claim_one, 0, claimed);
    (void)other_says(t, &other, "BEGIN");
    given_foreign_key(t, &other, "key-a");
    call->key = "key-a";
    submits = start_thread(t, submit_key, 0, call);
    WAIT_UNTIL(t, waits_for_a_lock(t, &looker, 1));
    EXPECT_OK(t, when_completed(t, &held, "1"));
    WAIT_UNTIL(t, claims_in(t, "others", &held));
    EXPECT(t, !atomic_load(&call->over));
    (void)other_says(t, &other, "ROLLBACK");
    join_thread(t, submits);
    EXPECT_STATUS(t, FF_OK, call->status);
    join_thread(t, claims);
    EXPECT_OK(t, when_completed(t, claimed, "1"));
}

#define TRIES 4

/* A submission whose time ends while somebody holds its key was certainly not applied. Where the
 * machine stops in the very moment of its last try nobody can know, but that is the exception. */
static void foreign_key_is_answered_busy_in_time(struct test *t)
{
    struct ff_submission item = submission();
    struct ff_submitted submitted;
    struct other other;
    int busy = 0;

    open_with(t, IN_TIME_MS / 4);
    other_open(t, &other);
    (void)other_says(t, &other, "BEGIN");
    given_foreign_key(t, &other, "key-a");
    item.idempotency_key = "key-a";
    for (int i = 0; i < TRIES; i++)
        busy += when_submitted(t, &item, &submitted) == FF_BUSY;
    EXPECT(t, busy >= TRIES - 1);
    (void)other_says(t, &other, "ROLLBACK");
}

/* The stranger commits: the submission is a duplicate of something else, and refused. */
static void foreign_key_that_commits_wins(struct test *t)
{
    struct call *const call = keep(t, sizeof *call);
    struct test_thread *thread;
    struct other other;
    struct other looker;

    open_with(t, LONG_MS);
    other_open(t, &other);
    other_open(t, &looker);
    call->key = "key-a";
    (void)other_says(t, &other, "BEGIN");
    given_foreign_key(t, &other, "key-a");
    thread = start_thread(t, submit_key, 0, call);
    WAIT_UNTIL(t, waits_for_a_lock(t, &looker, 1));
    (void)other_says(t, &other, "COMMIT");
    join_thread(t, thread);
    EXPECT_INT(t, FF_KEY_REUSED, call->status);
    EXPECT_INT(t, 0, other_says(t, &other, "SELECT count(*) FROM @.ff_execution"));
}

/* A whole table in somebody's hands: calls wait, and go on where they were. */
static void held_table_is_waited_for(struct test *t)
{
    struct call *const call = keep(t, sizeof *call);
    struct test_thread *thread;
    struct other other;
    struct other looker;

    open_with(t, LONG_MS);
    other_open(t, &other);
    other_open(t, &looker);
    call->held = given_claimed(t);
    (void)other_says(t, &other, "BEGIN");
    (void)other_says(t, &other, "LOCK TABLE @.ff_execution IN SHARE ROW EXCLUSIVE MODE");
    thread = start_thread(t, complete_it, 0, call);
    WAIT_UNTIL(t, waits_for_a_lock(t, &looker, 1));
    EXPECT(t, !atomic_load(&call->over));
    (void)other_says(t, &other, "COMMIT");
    join_thread(t, thread);
    EXPECT_STATUS(t, FF_OK, call->status);
    EXPECT_EVENTS(t, call->held.id, "acquired completion.success");
    others_go_on(t);
}

/* ---- poison ---- */

static struct ff_job *submit_job(struct test *t, const char *key)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_SUBMIT, 0);
    struct ff_submit_in *const in = ff_arena_alloc(&job->arena, sizeof *in);
    uint8_t random[10];

    ff_engine_random(t->client->engine, random, sizeof random);
    *in = (struct ff_submit_in){.kind = FF_STR("work"),
                                .idempotency_key = ff_job_text(job, key),
                                .delay_ms = FF_NULL64,
                                .delay_until_ms = FF_NULL64,
                                .deadline_ms = FF_NULL64,
                                .deadline_at_ms = FF_NULL64,
                                .id = ff_exec_id_mint(1, random)};
    ff_policy_default(&in->policy);
    EXPECT_OK(t,
              ff_submit_prepare(in, ff_engine_settings(t->client->engine), &job->arena, &t->err));
    job->in = in;
    return job;
}

/* As if the checks in front of the engine had been forgotten. */
static void poison_lane(struct ff_job *job)
{
    char *const name = ff_arena_alloc(&job->arena, LANE_BYTES);
    uint32_t chance = 1;

    for (size_t i = 0; i < LANE_BYTES; i++) {
        chance = chance * 1664525 + 1013904223;
        name[i] = (char)('a' + (chance >> 24) % 26);
    }
    ((struct ff_submit_in *)job->in)->lane = (struct ff_str){name, LANE_BYTES};
}

static void poison_text(struct ff_job *job)
{
    ((struct ff_submit_in *)job->in)->kind = FF_STR("not\0text");
}

/* All in one batch, the poison in the middle. */
static void with_poison(struct test *t, void (*poison)(struct ff_job *job), int64_t batches_max)
{
    struct ff_job *jobs[NEIGHBOURS + 1];
    const struct ff_engine_stats before = stats_of(t->client);
    struct ff_engine_stats after;
    char key[32];

    for (size_t i = 0; i <= NEIGHBOURS; i++) {
        (void)snprintf(key, sizeof key, "%" PRId64 "-%zu", before.batches, i);
        jobs[i] = submit_job(t, key);
    }
    poison(jobs[NEIGHBOURS / 2]);
    ff_engine_call(t->client->engine, jobs, NEIGHBOURS + 1, LONG_MS);
    for (size_t i = 0; i <= NEIGHBOURS; i++) {
        EXPECT(t, jobs[i] != NULL);
        EXPECT_INT(t, i == NEIGHBOURS / 2 ? FF_INTERNAL : FF_OK, jobs[i]->status);
        ff_job_free(jobs[i]);
    }
    after = stats_of(t->client);
    EXPECT_INT(t, 1, after.poison - before.poison);
    EXPECT(t, after.bisections > before.bisections);
    EXPECT(t, after.batches - before.batches < batches_max);
}

/* Halving finds one among n in about 2 log2(n) batches; one by one it would take n. */
static void poison_harms_nobody(struct test *t)
{
    const struct ff_options options = {.size = sizeof options, .executors = 1, .passive = true};

    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    with_poison(t, poison_lane, NEIGHBOURS / 2);
    EXPECT_INT(t, 1, (int64_t)log_lines("op failed alone"));
    if (t->store->kind == TEST_STORE_POSTGRES)
        with_poison(t, poison_text, NEIGHBOURS / 2);
    others_go_on(t);
}

/* Refused already when the rows are asked for, not when they are saved. */
static void poison_claim_harms_nobody(struct test *t)
{
    struct ff_job *jobs[2];
    struct ff_claim_in *in;

    open_with(t, LONG_MS);
    jobs[0] = submit_job(t, "healthy");
    jobs[1] = ff_job_new(FF_OP_EXECUTION_CLAIM, 0);
    in = ff_arena_alloc(&jobs[1]->arena, sizeof *in);
    in->worker_id = in->worker_instance_id = FF_STR("w");
    in->lanes = ff_arena_alloc(&jobs[1]->arena, sizeof *in->lanes);
    in->lanes[0] = FF_STR("\xff\xfe");
    in->lane_count = 1;
    in->max = 1;
    in->lease_ttl_ms = 1000;
    jobs[1]->in = in;
    ff_engine_call(t->client->engine, jobs, 2, LONG_MS);
    EXPECT_INT(t, FF_OK, jobs[0]->status);
    EXPECT_INT(t, FF_INTERNAL, jobs[1]->status);
    ff_job_free(jobs[0]);
    ff_job_free(jobs[1]);
    others_go_on(t);
}

const struct plain_case lock_cases[] = {
    {"lock/held_row_delays_only_itself", TEST_STORE_POSTGRES, held_row_delays_only_itself, false},
    {"lock/held_row_is_answered_busy_in_time", TEST_STORE_POSTGRES,
     held_row_is_answered_busy_in_time, false},
    {"lock/foreign_keys_delay_only_themselves", TEST_STORE_POSTGRES,
     foreign_keys_delay_only_themselves, false},
    {"lock/foreign_key_delays_no_flow", TEST_STORE_POSTGRES, foreign_key_delays_no_flow, false},
    {"lock/foreign_key_is_answered_busy_in_time", TEST_STORE_POSTGRES,
     foreign_key_is_answered_busy_in_time, false},
    {"lock/foreign_key_that_commits_wins", TEST_STORE_POSTGRES, foreign_key_that_commits_wins,
     false},
    {"lock/held_table_is_waited_for", TEST_STORE_POSTGRES, held_table_is_waited_for, false},
    {"lock/poison_harms_nobody_on_postgres", TEST_STORE_POSTGRES, poison_harms_nobody, false},
    {"lock/poison_harms_nobody_on_memory", TEST_STORE_MEMORY, poison_harms_nobody, false},
    {"lock/poison_harms_nobody_on_a_file", TEST_STORE_FILE, poison_harms_nobody, false},
    {"lock/poison_claim_harms_nobody", TEST_STORE_POSTGRES, poison_claim_harms_nobody, false},
    {0},
};
