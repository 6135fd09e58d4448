/* SPDX-License-Identifier: Apache-2.0
 *
 * coverage.c -- whether every call there is has been made to fail; and the reads of the engine.
 *
 * The list of what there is comes from the generated tables of SQL, not from what was seen: a new
 * block or a new change of a table is missing here until a scenario makes it fail. */
#include "scenarios.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine-int.h"
#include "store/fault.h"
#include "store/sql.h"
#include "support/follows.h"

#include "base/banned.h"

#define TIMEOUT_MS 60000
#define WAIT_MS    60000

/* ---- the list ---- */

#define OPENING                                                                                    \
    "runs while the store is opened, before there is a session: tests/store, test_sqlite_*"
#define WITHIN "a part of every call of its kind, and fails with it"

/* Blocks that no session is asked for, and why. */
static const struct {
    const char *block; /* or the beginning of its name, with a `*` */
    const char *why;
} block_exceptions[] = {
    {"tx_*", WITHIN},           {"batch_mark", WITHIN},        {"batch_confirm", WITHIN},
    {"batch_settings", WITHIN}, {"log_lock_shared", WITHIN},   {"log_settle", WITHIN},
    {"log_trim", WITHIN},       {"clock_read", WITHIN},        {"clock_save", WITHIN},
    {"log_reset", WITHIN},      {"log_enter", WITHIN},         {"log_mode", OPENING},
    {"log_serial", OPENING},    {"log_probe", OPENING},        {"log_watch", OPENING},
    {"log_proven", OPENING},    {"server_facts", OPENING},     {"migrate_lock", OPENING},
    {"migration*", OPENING},    {"schema_exists", OPENING},    {"ledger_*", OPENING},
    {"column*", OPENING},       {"journal_is_wal", OPENING},   {"batch_bury", WITHIN},
    {"lanes_are_open", WITHIN}, {"capsets_are_there", WITHIN},
};

/* Changes that only the first of many makes, or only once in the life of a store. */
static const struct {
    ff_table table;
    ff_change change;
    const char *why;
} change_exceptions[] = {
    {FF_TABLE_META, FF_CHANGE_INSERT, "the first contact of a store; later ones update it"},
};

static bool is_excepted_change(int table, int change)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(change_exceptions); i++)
        if ((int)change_exceptions[i].table == table && (int)change_exceptions[i].change == change)
            return true;
    return false;
}

static bool is_named(const char *pattern, const char *name)
{
    const char *const star = strchr(pattern, '*');

    return star ? !strncmp(pattern, name, (size_t)(star - pattern)) : !strcmp(pattern, name);
}

static bool is_excepted(const char *block)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(block_exceptions); i++)
        if (is_named(block_exceptions[i].block, block))
            return true;
    return false;
}

static int dialect_of(const struct test *t)
{
    return t->store->kind == TEST_STORE_POSTGRES ? FF_DIALECT_POSTGRES : FF_DIALECT_SQLITE;
}

/* ---- counting ---- */

void coverage_add(struct ff_fault_counts *total, struct ff_store *store)
{
    struct ff_fault_counts counts;

    ff_store_fault_counts(store, &counts);
    total->calls += counts.calls;
    for (int verdict = 0; verdict < FF_FAULT_VERDICT_COUNT; verdict++) {
        for (int kind = 0; kind < FF_FAULT_KINDS; kind++)
            total->hits[kind][verdict] += counts.hits[kind][verdict];
        for (int block = 0; block < FF_SQL_COUNT; block++)
            total->blocks[block][verdict] += counts.blocks[block][verdict];
        for (int table = 0; table < FF_TABLE_COUNT; table++)
            for (int change = 0; change < FF_FAULT_CHANGES; change++)
                total->changes[table][change][verdict] += counts.changes[table][change][verdict];
    }
}

static bool has_failed(const uint32_t hits[FF_FAULT_VERDICT_COUNT])
{
    return hits[FF_FAULT_BEFORE] && hits[FF_FAULT_AFTER];
}

static bool is_made(const uint32_t hits[FF_FAULT_VERDICT_COUNT])
{
    for (int verdict = 0; verdict < FF_FAULT_VERDICT_COUNT; verdict++)
        if (hits[verdict])
            return true;
    return false;
}

static size_t missing(const char *what, const char *name, const uint32_t *hits)
{
    if (has_failed(hits))
        return 0;
    (void)printf("# %s %s: made %u times, failed before %u, after %u\n", what, name,
                 (unsigned)hits[FF_FAULT_RUN], (unsigned)hits[FF_FAULT_BEFORE],
                 (unsigned)hits[FF_FAULT_AFTER]);
    return 1;
}

void expect_coverage(struct test *t, const struct ff_fault_counts *total)
{
    static const char *const names[FF_FAULT_CHANGES] = {"insert into", "update of", "delete from"};
    const int dialect = dialect_of(t);
    size_t sites = 0;
    size_t excepted = 0;
    size_t gaps = 0;

    for (int block = 0; block < FF_SQL_COUNT; block++) {
        if (!ff_sql_blocks[block].text[dialect])
            continue;
        if (is_excepted(ff_sql_blocks[block].name)) {
            excepted++;
            continue;
        }
        sites++;
        gaps += missing("block", ff_sql_blocks[block].name, total->blocks[block]);
    }
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (int change = 0; change < FF_FAULT_CHANGES; change++) {
            const uint32_t *const hits = total->changes[table][change];

            /* Not every table is changed in every way: what has never been made is no site. */
            if (!is_made(hits) || is_excepted_change(table, change))
                continue;
            sites++;
            gaps += missing(names[change], ff_tables[table].name, hits);
        }
    (void)printf("# %zu blocks and changes of tables, %zu without a failure; %zu blocks excepted\n",
                 sites, gaps, excepted);
    EXPECT_INT(t, 0, (int64_t)gaps);
}

/* ---- reads of the engine itself ---- */

static const int own_reads[] = {
    FF_SQL_PULSE,
    FF_SQL_CAPSETS_ALL,
    FF_SQL_SESSIONS_REAP,
    FF_SQL_LOG_UPKEEP,
    FF_SQL_LOG_HEAD,
    FF_SQL_EVENTS_AFTER,
    FF_SQL_LOG_FLOOR,
    FF_SQL_FLOW_ENDED,
    FF_SQL_EVENTS_OF_EXECUTION_AFTER,
    FF_SQL_EXECUTION_ENDED,
    FF_SQL_EVENTS_OF_FLOW_AFTER,
};

static const int tail_and_pulse[] = {FF_SQL_PULSE, FF_SQL_CAPSETS_ALL, FF_SQL_LOG_HEAD,
                                     FF_SQL_EVENTS_AFTER, FF_SQL_LOG_FLOOR};

/* The first time before, then after, then not any more. */
struct own_reads {
    atomic_bool armed;
    atomic_uint seen[FF_SQL_COUNT];
};

static ff_fault_verdict fail_twice(void *ctx, const struct ff_call *call, uint64_t n)
{
    static const ff_fault_verdict verdicts[] = {FF_FAULT_BEFORE, FF_FAULT_AFTER};
    struct own_reads *const own = ctx;
    unsigned seen;

    (void)n;
    if (call->kind != FF_CALL_READ || !atomic_load(&own->armed))
        return FF_FAULT_RUN;
    for (size_t i = 0; i < FF_ARRAY_LEN(own_reads); i++)
        if (call->read->block == own_reads[i]) {
            seen = atomic_fetch_add(&own->seen[own_reads[i]], 1);
            return seen < FF_ARRAY_LEN(verdicts) ? verdicts[seen] : FF_FAULT_RUN;
        }
    return FF_FAULT_RUN;
}

/* Served in the end, whatever failed on the way: the end of this execution is in the log. */
static void expect_followed(struct test *t, struct ff_subscription *subscription, const char *id)
{
    bool found = false;

    while (!found) {
        const struct ff_delivery *const delivery = next_delivery(t, subscription);

        for (size_t i = 0; i < delivery->count; i++)
            found = found || (!strcmp(delivery->items[i].execution_id, id) &&
                              !strcmp(delivery->items[i].kind, "completion"));
    }
}

static bool has_been_read(const struct own_reads *own, int block)
{
    return atomic_load(&own->seen[block]) > 2;
}

/* Two wait for an end that has not come yet. */
struct waits {
    char id[FF_ID_BYTES], flow_id[FF_UUID_BYTES];
    bool told[2];
};

static void wait_for_end(struct test *t, size_t index, void *ctx)
{
    struct waits *const waits = ctx;
    struct ff_info_list whole = {0};
    struct ff_flow_info_list flow = {0};
    struct ff_error error;

    if (index == 0 && ff_wait(t->client, waits->id, WAIT_MS, &whole, &error) == FF_OK)
        waits->told[0] = whole.items[0].finished_at_ms != FF_ABSENT_MS;
    if (index == 1 && ff_flow_wait(t->client, waits->flow_id, WAIT_MS, &flow, &error) == FF_OK)
        waits->told[1] = !strcmp(flow.items[0].state, "completed");
    ff_answer_free(&whole);
    ff_answer_free(&flow);
}

/* Somebody else makes a set of capabilities known: the pulse sees one more than we have. */
static struct name given_foreign_capset(struct test *t)
{
    static const char *const needs[] = {"somebody-elses"};
    struct ff_client *const own = t->client;
    struct ff_submission item = submission();
    struct name name;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    item.required_capabilities = needs;
    item.required_capability_count = 1;
    name = given(t, &item);
    close_client(t, &t->client);
    t->client = own;
    return name;
}

/* A flow of one node. */
static void given_one_node(struct test *t, char flow_id[FF_UUID_BYTES])
{
    const struct ff_submission work = submission();
    const struct ff_flow_node node = {.name = "a", .work = &work};
    struct ff_flow_request request;
    struct ff_flow_made made = {0};

    ff_flow_request_init(&request);
    request.nodes = &node;
    request.node_count = 1;
    EXPECT_OK(t, ff_flow_create(t->client, &request, &made, &t->err));
    memcpy(flow_id, made.flow_id, FF_UUID_BYTES);
    ff_answer_free(&made);
}

/* The pulse, and what the tailer reads for those who follow and wait. */
static void sweep_pulse_and_tail(struct test *t, struct own_reads *own, struct ff_store *store,
                                 struct ff_fault_counts *total)
{
    struct waits *const waits = keep(t, sizeof *waits);
    struct ff_event_filter of_flow = any_event();
    struct ff_event_filter of_one = any_event();
    struct ff_event_filter of_none = any_event();
    struct test_thread *threads[2];
    struct ff_subscription *all;
    struct name idle;
    struct held held;

    atomic_store(&own->armed, true);
    idle = given_foreign_capset(t); /* or a pulse has seen it already, and nobody reads it again */
    all = given_subscribed(t, NULL, "start");
    given_one_node(t, waits->flow_id);
    held = given_claimed_next(t);
    memcpy(waits->id, held.id, sizeof waits->id);
    for (size_t i = 0; i < 2; i++)
        threads[i] = start_thread(t, wait_for_end, i, waits);
    WAIT_UNTIL(t, has_been_read(own, FF_SQL_EXECUTION_ENDED));
    WAIT_UNTIL(t, has_been_read(own, FF_SQL_FLOW_ENDED));
    EXPECT_OK(t, when_completed(t, &held, "1"));
    of_one.execution_id = held.id;
    of_flow.flow_id = waits->flow_id;
    of_none.execution_id = idle.id; /* has no event yet: the page is empty */
    expect_followed(t, all, held.id);
    expect_followed(t, given_subscribed(t, &of_one, "start"), held.id);
    expect_followed(t, given_subscribed(t, &of_flow, "start"), held.id);
    (void)given_subscribed(t, &of_none, "start");
    for (size_t i = 0; i < 2; i++) {
        join_thread(t, threads[i]);
        EXPECT(t, waits->told[i]);
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(tail_and_pulse); i++)
        WAIT_UNTIL(t, has_been_read(own, tail_and_pulse[i]));
    coverage_add(total, store);
    expect_sound(t, t->client);
    close_client(t, &t->client);
}

static atomic_llong skipped_ms;

static int64_t skipping_ms(void *ctx)
{
    const struct ff_clock clock = ff_clock_system();

    (void)ctx;
    return ff_clock_mono_ms(&clock) + atomic_load(&skipped_ms);
}

/* What is looked after every few seconds, on Postgres; here nobody waits so long. */
static void sweep_upkeep(struct test *t, struct own_reads *own, struct ff_store *store,
                         struct ff_fault_counts *total)
{
    int waiting;

    /* The upkeep of the client before may have run after its calls were counted. */
    atomic_store(&own->seen[FF_SQL_SESSIONS_REAP], 0);
    atomic_store(&own->seen[FF_SQL_LOG_UPKEEP], 0);
    atomic_store(&own->armed, true);
    while (!has_been_read(own, FF_SQL_SESSIONS_REAP) || !has_been_read(own, FF_SQL_LOG_UPKEEP)) {
        atomic_fetch_add(&skipped_ms, 100);
        (void)ff_engine_step(t->client->engine, &waiting);
        test_pause();
    }
    (void)given_completed(t);
    coverage_add(total, store);
    /* Nobody but us does what a loop has begun just now. */
    while (ff_supervisor_in_flight(&t->client->engine->supervisor) > 0)
        (void)ff_engine_step(t->client->engine, &waiting);
    close_client(t, &t->client);
}

void sweep_own_reads(struct test *t, struct ff_fault_counts *total)
{
    struct own_reads *const own = keep(t, sizeof *own);
    const struct ff_fault fault = {.ctx = own, .decide = fail_twice};
    struct ff_engine_options options;

    ff_engine_options_default(&options);
    sweep_pulse_and_tail(t, own, open_under_faults(t, &fault, options, TIMEOUT_MS), total);
    atomic_store(&own->armed, false);
    if (t->store->kind != TEST_STORE_POSTGRES)
        return;
    options.threads = false;
    options.clock.mono_ms = skipping_ms;
    sweep_upkeep(t, own, open_under_faults(t, &fault, options, TIMEOUT_MS), total);
}
