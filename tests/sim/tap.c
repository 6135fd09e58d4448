/* SPDX-License-Identifier: Apache-2.0
 *
 * tap.c -- the same world over the real SQLite store, with the model as its shadow.
 *
 * fault store -> tap -> SQLite. The tap sees what really happens: it compares every load with what
 * the model would have answered, and repeats every commit on the model, so that all checks of the
 * model see it too. At the end everything is read back and compared, and the audits are run. */
#include "sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/fault.h"
#include "store/sql.h"
#include "store/wrap.h"

#include "base/banned.h"

#define READ_MS    60000
#define READ_BYTES ((size_t)1 << 30)

struct tap {
    char url[64];
    struct ff_store *keeper; /* keeps the memory alive when no engine does; reads at the end */
};

struct tap_store {
    struct ff_wrap_store wrap;
    struct sim *sim;
    int node;
};

struct tap_session {
    struct ff_wrap_session wrap;
    struct model_tx *shadow;      /* of the save under way */
    int64_t loaded_ms, loaded_us; /* by the store's clock, and by the simulator's */
    bool done;
};

static struct tap_session *session_of(struct ff_session *base)
{
    return ff_container_of(base, struct tap_session, wrap.base);
}

static struct tap_store *store_of(struct ff_store *base)
{
    return ff_container_of(base, struct tap_store, wrap.base);
}

static struct sim *sim_of(const struct tap_session *s)
{
    return store_of(&s->wrap.store->base)->sim;
}

/* --- every load --- */

static void compare_entry(struct sim *sim, const struct ff_entry *entry)
{
    const void *const expected = model_row(sim->model, entry->table, entry->row);

    if (entry->found != (expected ? FF_FOUND_ROW : FF_FOUND_ABSENT))
        sim_fail(sim, "a row of %s is %s, its shadow says otherwise", ff_tables[entry->table].name,
                 entry->found == FF_FOUND_ROW ? "there" : "not there");
    else if (expected && !model_rows_equal(entry->table, expected, entry->row))
        sim_fail(sim, "a row of %s is not what was saved", ff_tables[entry->table].name);
}

static int by_key(const void *a, const void *b)
{
    const struct model_slot *const x = *(struct model_slot *const *)a;
    const struct model_slot *const y = *(struct model_slot *const *)b;

    return ff_str_cmp(x->key, y->key);
}

/* Where SQL leaves the order of equals open, only the set counts. */
static void compare_scan(struct sim *sim, const struct ff_scan *scan, int64_t now_ms)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[scan->block];
    const ff_table table = (ff_table)block->out_table;
    struct model_slot **expected;
    const size_t count = model_scan(sim->model, NULL, scan, now_ms, &expected);
    struct model_slot **found;

    if (count != scan->row_count) {
        sim_fail(sim, "scan %s found %zu rows, its shadow %zu", block->name, scan->row_count,
                 count);
        return;
    }
    if ((int64_t)count >= scan->limit && scan->block != FF_SQL_EXECUTION_CLAIM_SCAN &&
        scan->block != FF_SQL_EXECUTION_TAGS)
        return; /* a full page of equals may be cut anywhere */
    found = sim_alloc(sim, (count + 1) * sizeof *found);
    for (size_t i = 0; i < count; i++) {
        found[i] = model_slot_of(sim->model, table, scan->rows[i]);
        if (!found[i]) {
            sim_fail(sim, "scan %s found a row that its shadow does not have", block->name);
            return;
        }
    }
    if (scan->block != FF_SQL_EXECUTION_CLAIM_SCAN) {
        qsort(found, count, sizeof *found, by_key);
        qsort(expected, count, sizeof *expected, by_key);
    }
    for (size_t i = 0; i < count; i++)
        if (found[i] != expected[i])
            sim_fail(sim, "scan %s and its shadow differ", block->name);
}

/* The model keeps the log as a list, which is compared as a whole at the end. */
static void compare_load(struct sim *sim, const struct ff_call *call)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (const struct ff_entry *entry = call->rows->entries[table]; entry; entry = entry->next)
            if (table != FF_TABLE_EVENT)
                compare_entry(sim, entry);
    for (const struct ff_scan *scan = call->rows->scans; scan; scan = scan->next)
        if (ff_sql_blocks[scan->block].out_table != FF_TABLE_EVENT)
            compare_scan(sim, scan, call->now_ms);
}

static void settle(struct tap_session *s, const struct ff_call *call)
{
    struct sim *const sim = sim_of(s);
    const int64_t facts[] = {(int64_t)call->kind, (int64_t)call->outcome, call->now_ms,
                             call->last_event_id};

    s->done = true;
    sim_trace(sim, facts, sizeof facts);
    sim_say(sim, "call kind %d outcome %d %s", (int)call->kind, (int)call->outcome, call->sqlstate);
    if (call->kind == FF_CALL_LOAD && call->outcome == FF_CALLED_OK) {
        s->loaded_ms = call->now_ms;
        s->loaded_us = sim->now_us;
        compare_load(sim, call);
    }
    if (s->shadow && call->outcome == FF_CALLED_OK)
        model_shadow_commit(sim->model, s->shadow, call->last_event_id);
    else if (s->shadow)
        model_shadow_drop(sim->model, s->shadow);
    s->shadow = NULL;
}

static void session_start(struct ff_session *base, struct ff_call *call)
{
    struct tap_session *const s = session_of(base);

    s->done = false;
    if (call->kind == FF_CALL_SAVE) {
        s->shadow = model_shadow_begin(sim_of(s)->model, call->rows, s->loaded_ms);
        s->shadow->begun_us = s->loaded_us;
    }
    s->wrap.inner->ops->start(s->wrap.inner, call);
    /* SQLite has done it by now: whatever becomes of the process, it has happened. */
    if (s->wrap.inner->ops->finish(s->wrap.inner, call))
        settle(s, call);
}

static bool session_finish(struct ff_session *base, struct ff_call *call)
{
    struct tap_session *const s = session_of(base);

    if (!s->done && s->wrap.inner->ops->finish(s->wrap.inner, call))
        settle(s, call);
    return s->done;
}

static void session_wait(struct ff_session *base, int64_t timeout_ms)
{
    struct tap_session *const s = session_of(base);

    s->wrap.inner->ops->wait(s->wrap.inner, timeout_ms);
}

static void session_abandon(struct ff_session *base, struct ff_call *call)
{
    struct tap_session *const s = session_of(base);

    if (s->done)
        return;
    s->wrap.inner->ops->abandon(s->wrap.inner, call);
    settle(s, call);
}

static ff_status store_session_new(struct ff_store *base, struct ff_session **ret,
                                   struct ff_error *reterr)
{
    static const struct ff_session_ops ops = {session_start, session_finish, session_wait,
                                              session_abandon, ff_wrap_session_free};

    return ff_wrap_session_new(base, sizeof(struct tap_session), &ops, ret, reterr);
}

static void store_free(struct ff_store *base)
{
    struct tap_store *const store = store_of(base);

    ff_store_free(store->wrap.inner);
    ff_free(store);
}

/* --- what goes wrong --- */

static ff_fault_verdict decide(void *ctx, const struct ff_call *call, uint64_t n)
{
    struct tap_store *const store = ctx;
    struct sim *const sim = store->sim;
    const struct model_fate fate = sim_decide(sim, store->node, call);
    const bool coin = !sim->opening && sim_percent(sim, STREAM_FAULT, 50);

    (void)n;
    if (fate.dead) /* with it done or not; nobody will look at the answer */
        return coin ? FF_FAULT_AFTER : FF_FAULT_BEFORE_LOST;
    if (fate.report == FF_CALLED_OK)
        return FF_FAULT_RUN;
    if (fate.report == FF_CALLED_STOP)
        return FF_FAULT_BEFORE_STOP;
    if (fate.report == FF_CALLED_UNKNOWN && (fate.linger ? coin : !fate.run))
        return FF_FAULT_BEFORE_LOST;
    return fate.run ? FF_FAULT_AFTER : FF_FAULT_BEFORE;
}

/* --- opening --- */

static struct ff_store *open_sqlite(struct sim *sim, struct node *node)
{
    const struct ff_store_options options = {
        .url = sim->tap->url,
        .create = true,
        .clock = sim_clock(node),
        .random = ff_random_from_prng(&node->random),
    };
    struct ff_store *store = NULL;
    struct ff_error error;

    if (ff_store_open(&options, &store, &error) != FF_OK)
        sim_fail(sim, "SQLite does not open: %s", error.message);
    assert(store);
    return store;
}

struct ff_store *sim_tap_open(struct sim *sim, struct node *node)
{
    static const struct ff_store_ops ops = {store_session_new, ff_wrap_notify, ff_wrap_notified,
                                            ff_wrap_migrate,   store_free,     NULL};
    struct tap_store *const store = ff_calloc(1, sizeof *store);
    struct ff_fault fault = {.ctx = store, .decide = decide};
    struct ff_store *faulty;

    if (!sim->tap) {
        sim->tap = sim_alloc(sim, sizeof *sim->tap);
        (void)snprintf(sim->tap->url, sizeof sim->tap->url, "sqlite:memory:sim-%llu",
                       (unsigned long long)sim->config.seed);
        sim->tap->keeper = open_sqlite(sim, node);
    }
    assert(store);
    store->wrap.base.ops = &ops;
    store->sim = sim;
    store->node = node->number;
    store->wrap.inner = open_sqlite(sim, node);
    store->wrap.base.facts = store->wrap.inner->facts;
    faulty = ff_store_fault_new(&store->wrap.base, &fault);
    assert(faulty);
    return faulty;
}

/* --- the end: read everything back --- */

struct reader {
    struct sim *sim;
    struct ff_session *session;
    struct ff_arena arena;
};

static struct ff_read look(struct reader *reader, int block, const struct ff_value *params,
                           size_t count)
{
    struct ff_read read = {
        .block = block, .params = params, .param_count = count, .arena = &reader->arena};
    struct ff_error error;

    if (ff_session_read(reader->session, &read, READ_MS, &error) != FF_OK)
        sim_fail(reader->sim, "%s cannot be read: %s", ff_sql_blocks[block].name, error.message);
    return read;
}

static void compare_rows(struct reader *reader, ff_table table, const struct ff_read *read)
{
    for (size_t i = 0; i < read->row_count && !reader->sim->failed; i++) {
        const void *const expected = model_row(reader->sim->model, table, read->rows[i]);

        if (!expected || !model_rows_equal(table, expected, read->rows[i]))
            sim_fail(reader->sim, "a row of %s in the store is not what was saved",
                     ff_tables[table].name);
    }
}

static size_t rows_there(const struct model *model, ff_table table)
{
    size_t count = 0;

    for (size_t i = 0; i < model_slot_count(model, table); i++)
        count += model_slot_at(model, table, i)->row ? 1 : 0;
    return count;
}

static void compare_executions(struct reader *reader)
{
    const struct ff_in_execution_list in = {.created_after_ms = FF_NULL64,
                                            .created_before_ms = FF_NULL64,
                                            .before_created_ms = FF_NULL64,
                                            .below_id = ff_uuid_first_of(INT64_MAX),
                                            .limit = 1000000};
    struct ff_value params[FF_SQL_EXECUTION_LIST_PARAMS];
    struct ff_read list;
    size_t attempts = 0;
    size_t tags = 0;

    ff_in_execution_list_values(&in, params);
    list = look(reader, FF_SQL_EXECUTION_LIST, params, FF_SQL_EXECUTION_LIST_PARAMS);
    compare_rows(reader, FF_TABLE_EXECUTION, &list);
    for (size_t i = 0; i < list.row_count && !reader->sim->failed; i++) {
        const struct ff_execution *const row = list.rows[i];
        const struct ff_value of[] = {{.type = FF_VALUE_I64, .as.i64 = row->partition_key},
                                      {.type = FF_VALUE_UUID, .as.uuid = row->execution_id}};
        struct ff_read part = look(reader, FF_SQL_EXECUTION_ATTEMPTS, of, 2);

        compare_rows(reader, FF_TABLE_ATTEMPT, &part);
        attempts += part.row_count;
        part = look(reader, FF_SQL_EXECUTION_TAGS, of, 2);
        compare_rows(reader, FF_TABLE_TAG, &part);
        tags += part.row_count;
    }
    if (list.row_count != rows_there(reader->sim->model, FF_TABLE_EXECUTION) ||
        attempts != rows_there(reader->sim->model, FF_TABLE_ATTEMPT) ||
        tags != rows_there(reader->sim->model, FF_TABLE_TAG))
        sim_fail(reader->sim, "the store does not have as many rows as were saved");
}

static void compare_events(struct reader *reader)
{
    const struct ff_in_events_after in = {.upto_event_id = INT64_MAX, .limit = 1000000};
    struct ff_value params[FF_SQL_EVENTS_AFTER_PARAMS];
    struct ff_read list;

    ff_in_events_after_values(&in, params);
    list = look(reader, FF_SQL_EVENTS_AFTER, params, FF_SQL_EVENTS_AFTER_PARAMS);
    if (list.row_count != model_event_count(reader->sim->model))
        sim_fail(reader->sim, "the log has %zu events, %zu were saved", list.row_count,
                 model_event_count(reader->sim->model));
    for (size_t i = 0; i < list.row_count && !reader->sim->failed; i++)
        if (!model_rows_equal(FF_TABLE_EVENT, list.rows[i], model_event_at(reader->sim->model, i)))
            sim_fail(reader->sim, "event %zu of the log is not what was saved", i);
}

static void run_audits(struct reader *reader)
{
    const struct ff_value limit = {.type = FF_VALUE_I64, .as.i64 = 5};

    for (int block = 0; block < FF_SQL_COUNT && !reader->sim->failed; block++) {
        struct ff_read found;

        if (strncmp(ff_sql_blocks[block].name, "fsck_", 5) != 0)
            continue;
        found = look(reader, block, &limit, 1);
        if (found.row_count > 0)
            sim_fail(reader->sim, "audit %s has findings", ff_sql_blocks[block].name);
    }
}

void sim_tap_compare(struct sim *sim)
{
    struct reader reader = {.sim = sim};
    struct ff_error error;

    ff_arena_init(&reader.arena, 1 << 20, READ_BYTES);
    if (sim->tap->keeper->ops->session_new(sim->tap->keeper, &reader.session, &error) != FF_OK) {
        sim_fail(sim, "no session: %s", error.message);
        return;
    }
    compare_executions(&reader);
    compare_events(&reader);
    run_audits(&reader);
    reader.session->ops->free(reader.session);
    ff_arena_done(&reader.arena);
}

void sim_tap_done(struct sim *sim)
{
    if (sim->tap)
        ff_store_free(sim->tap->keeper);
    sim->tap = NULL;
}
