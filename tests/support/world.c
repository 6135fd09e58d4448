/* SPDX-License-Identifier: Apache-2.0
 *
 * world.c -- a store in an array, so that ops can be tested without one. */
#include "support/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "model/codes.h"
#include "model/events.h"
#include "model/join.h"
#include "model/states.h"
#include "sql_ids.h"

#define ROUNDS_MAX 8

/* Every world starts here: far from 0, so that nothing is in the past by accident. */
#define NOW_MS INT64_C(1700000000000)

void world_init(struct world *world)
{
    memset(world, 0, sizeof *world);
    ff_arena_init(&world->arena, 64 << 10, 256 << 20);
    ff_settings_default(&world->settings);
    world->now_ms = NOW_MS;
    world->contact_since_ms = world->steady_since_ms = NOW_MS - 3600000;
}

void world_done(struct world *world)
{
    ff_arena_done(&world->arena);
}

/* --- rows --- */

static size_t find(struct world *world, ff_table table, const void *key)
{
    uint8_t wanted[FF_KEY_BYTES];
    uint8_t here[FF_KEY_BYTES];
    const size_t len = ff_row_key(table, key, wanted);

    for (size_t i = 0; i < world->row_count[table]; i++)
        if (ff_row_key(table, world->rows[table][i], here) == len && !memcmp(here, wanted, len))
            return i;
    return SIZE_MAX;
}

void *world_row(struct world *world, ff_table table, const void *key)
{
    const size_t i = find(world, table, key);

    return i == SIZE_MAX ? NULL : world->rows[table][i];
}

struct ff_execution *world_execution(struct world *world, struct ff_exec_id id)
{
    const struct ff_execution key = {.partition_key = id.partition, .execution_id = id.uuid};

    return world_row(world, FF_TABLE_EXECUTION, &key);
}

static void *load(struct ff_rowset *rows, ff_table table, const void *stored, bool locked)
{
    void *const row = ff_rowset_row_new(rows, table);

    memcpy(row, stored, ff_tables[table].row_bytes);
    *(struct ff_row *)row = (struct ff_row){.table = (uint8_t)table};
    return ff_rowset_put(rows, table, row, locked);
}

static void load_keys(struct world *world, struct ff_rowset *rows)
{
    for (int t = 0; t < FF_TABLE_COUNT; t++) {
        const ff_table table = (ff_table)t;

        for (struct ff_entry *entry = rows->entries[t]; entry; entry = entry->next) {
            const void *const stored = world_row(world, table, entry->row);

            if (stored)
                (void)load(rows, table, stored, entry->want == FF_WANT_LOCK);
        }
        ff_rowset_settle(rows, table, FF_FOUND_ABSENT);
    }
}

/* --- scans --- */

static bool is_in(struct ff_value list, struct ff_str text)
{
    for (size_t i = 0; i < list.count; i++)
        if (ff_str_eq(list.as.strs[i], text))
            return true;
    return list.type == FF_VALUE_NULL;
}

static bool filter_fits(const struct ff_value *filter, const struct ff_execution *execution)
{
    return (filter[0].type == FF_VALUE_NULL || ff_str_eq(filter[0].as.str, execution->namespace)) &&
           (filter[1].type == FF_VALUE_NULL ||
            ff_str_eq(filter[1].as.str, execution->instance_tag));
}

static bool claim_fits(const struct world *world, const struct ff_scan *scan,
                       const struct ff_execution *execution)
{
    const struct ff_value *const p = scan->params;
    bool capset = false;

    for (size_t i = 0; i < p[3].count; i++)
        capset = capset || p[3].as.i64s[i] == execution->capset_id;
    return capset && ff_str_eq(p[0].as.str, execution->lane) &&
           ff_state_is_claimable(execution->state) &&
           (p[1].type == FF_VALUE_NULL || ff_str_eq(p[1].as.str, execution->namespace)) &&
           is_in(p[2], execution->kind) &&
           (execution->deadline_at_ms == FF_NULL64 || execution->deadline_at_ms > world->now_ms);
}

/* --- scans of flows --- */

static bool leads_on(const struct world *world, const struct ff_execution *execution)
{
    for (size_t i = 0; i < world->row_count[FF_TABLE_EDGE]; i++) {
        const struct ff_edge *const edge = world->rows[FF_TABLE_EDGE][i];

        if (ff_uuid_eq(edge->execution_id, execution->execution_id))
            return true;
    }
    return false;
}

static const struct ff_edge *resolved_edge(const struct world *world, struct ff_uuid from,
                                           struct ff_uuid to)
{
    for (size_t i = 0; i < world->row_count[FF_TABLE_EDGE]; i++) {
        const struct ff_edge *const edge = world->rows[FF_TABLE_EDGE][i];

        if (ff_uuid_eq(edge->execution_id, from) && ff_uuid_eq(edge->downstream_id, to) &&
            edge->outcome != FF_EDGE_UNRESOLVED)
            return edge;
    }
    return NULL;
}

/* `from` speaks against `to`, by its last run. */
static bool speaks_against(const struct world *world, struct ff_uuid from, struct ff_uuid to)
{
    for (size_t i = 0; i < world->row_count[FF_TABLE_EXECUTION]; i++) {
        const struct ff_execution *const e = world->rows[FF_TABLE_EXECUTION][i];

        if (ff_uuid_eq(e->execution_id, from))
            return ff_state_is_terminal(e->state) && e->state != FF_STATE_SUCCESS &&
                   resolved_edge(world, from, to);
    }
    return false;
}

static bool is_outdated(const struct world *world, const struct ff_execution *from,
                        struct ff_uuid to)
{
    const struct ff_edge *const edge = resolved_edge(world, from->execution_id, to);

    return edge && edge->resolved_generation < from->generation;
}

/* Up through what cannot run. Small graphs: recursion will do. */
static bool is_guilty(const struct world *world, struct ff_uuid from, struct ff_uuid to)
{
    if (speaks_against(world, from, to))
        return true;
    for (size_t i = 0; i < world->row_count[FF_TABLE_EDGE_GROUP]; i++) {
        const struct ff_edge_group *const g = world->rows[FF_TABLE_EDGE_GROUP][i];

        if (g->group_state == FF_GROUP_IMPOSSIBLE && speaks_against(world, g->execution_id, to) &&
            is_guilty(world, from, g->execution_id))
            return true;
    }
    return false;
}

static const struct ff_edge_group *join_of(struct world *world, const struct ff_edge *edge)
{
    const struct ff_edge_group key = {.partition_key = edge->partition_key,
                                      .execution_id = edge->downstream_id};

    return world_row(world, FF_TABLE_EDGE_GROUP, &key);
}

static bool is_open(struct world *world, const struct ff_edge *edge)
{
    const struct ff_exec_id id = {edge->partition_key, edge->downstream_id};

    return join_of(world, edge)->group_state == FF_GROUP_PENDING &&
           !ff_state_is_terminal(world_execution(world, id)->state);
}

/* Its upstream leads to `node` as well, and its join asks to cancel the rest. */
static bool is_asked(struct world *world, const struct ff_edge *edge, struct ff_uuid node)
{
    const struct ff_edge key = {.partition_key = edge->partition_key,
                                .execution_id = edge->execution_id,
                                .downstream_id = node};
    const struct ff_edge *const into = world_row(world, FF_TABLE_EDGE, &key);

    return into && into->outcome == FF_EDGE_UNRESOLVED && edge->outcome == FF_EDGE_UNRESOLVED &&
           ff_group_cancels_rest(join_of(world, edge));
}

static bool edge_fits(struct world *world, const struct ff_scan *scan, const struct ff_edge *edge)
{
    const struct ff_value *const p = scan->params;

    if (scan->block == FF_SQL_EDGES_FROM)
        return ff_uuid_eq(edge->execution_id, p[1].as.uuid) &&
               ff_uuid_cmp(edge->downstream_id, p[2].as.uuid) > 0;
    if (scan->block == FF_SQL_SIBLING_NEEDED)
        return ff_uuid_eq(edge->execution_id, p[1].as.uuid) && is_open(world, edge);
    return ff_uuid_cmp(edge->execution_id, p[2].as.uuid) > 0 && is_asked(world, edge, p[1].as.uuid);
}

static bool member_fits(const struct world *world, const struct ff_scan *scan,
                        const struct ff_execution *e)
{
    const struct ff_value *const p = scan->params;

    switch (scan->block) {
    case FF_SQL_FAILED_UPSTREAMS:
        return speaks_against(world, e->execution_id, p[1].as.uuid);
    case FF_SQL_OUTDATED_UPSTREAMS:
        return is_outdated(world, e, p[1].as.uuid);
    case FF_SQL_FAILED_ANCESTORS:
        return ff_state_is_terminal(e->state) && e->state != FF_STATE_SUCCESS &&
               e->state != FF_STATE_SKIPPED && is_guilty(world, e->execution_id, p[1].as.uuid);
    case FF_SQL_FLOW_BROKEN_LEAF:
        return ff_uuid_eq(e->flow_id, p[0].as.uuid) && e->state != FF_STATE_SUCCESS &&
               !leads_on(world, e);
    case FF_SQL_FLOW_MEMBERS_ALIVE:
        return ff_uuid_eq(e->flow_id, p[0].as.uuid) &&
               ff_uuid_cmp(e->execution_id, p[1].as.uuid) > 0 && !ff_state_is_terminal(e->state);
    case FF_SQL_FLOW_MEMBERS:
        return ff_uuid_eq(e->flow_id, p[0].as.uuid) &&
               ff_uuid_cmp(e->execution_id, p[1].as.uuid) > 0;
    default:
        abort();
    }
}

static bool group_fits(struct world *world, const struct ff_scan *scan,
                       const struct ff_edge_group *group)
{
    const struct ff_edge key = {.partition_key = group->partition_key,
                                .execution_id = scan->params[1].as.uuid,
                                .downstream_id = group->execution_id};

    return world_row(world, FF_TABLE_EDGE, &key) &&
           ff_uuid_cmp(group->execution_id, scan->params[2].as.uuid) > 0;
}

/* The filters of the cascade's loops are left to the tests on real stores. */
static bool flow_fits(struct world *world, const struct ff_scan *scan, const void *row)
{
    const struct ff_outbox *const hop = row;
    const struct ff_drain *const drain = row;
    const struct ff_flow *const flow = row;
    const int64_t before_ms = scan->params[0].as.i64;

    switch (scan->block) {
    case FF_SQL_GROUPS_FROM:
        return group_fits(world, scan, row);
    case FF_SQL_EDGES_FROM:
    case FF_SQL_EDGES_ASKED:
    case FF_SQL_SIBLING_NEEDED:
        return edge_fits(world, scan, row);
    case FF_SQL_HOPS_OPEN:
        return hop->dispatched_at_ms == FF_NULL64 && hop->not_before_ms <= world->now_ms &&
               hop->created_at_ms <= before_ms;
    case FF_SQL_DRAINS_OPEN:
        return drain->not_before_ms <= world->now_ms && drain->created_at_ms <= before_ms;
    case FF_SQL_FLOWS_OPEN:
        return (flow->draining || flow->state == FF_FLOW_REMOVED) &&
               flow->not_before_ms <= world->now_ms && flow->changed_at_ms <= before_ms;
    case FF_SQL_RETENTION_FLOWS:
        return flow->finished_at_ms != FF_NULL64 && flow->finished_at_ms < before_ms &&
               flow->state != FF_FLOW_REMOVED && !flow->draining;
    default:
        return member_fits(world, scan, row);
    }
}

static ff_table table_of(const struct ff_scan *scan)
{
    switch (scan->block) {
    case FF_SQL_EXECUTION_TAGS:
        return FF_TABLE_TAG;
    case FF_SQL_PRUNE_BATCHES:
        return FF_TABLE_MARKER;
    case FF_SQL_PRUNE_CLAIMS:
        return FF_TABLE_CLAIM;
    case FF_SQL_PRUNE_DEDUP:
        return FF_TABLE_DEDUP;
    case FF_SQL_PRUNE_REPLIES:
        return FF_TABLE_REPLY;
    case FF_SQL_PRUNE_WORKERS:
        return FF_TABLE_WORKER;
    case FF_SQL_EDGES_FROM:
    case FF_SQL_EDGES_ASKED:
    case FF_SQL_SIBLING_NEEDED:
        return FF_TABLE_EDGE;
    case FF_SQL_GROUPS_FROM:
        return FF_TABLE_EDGE_GROUP;
    case FF_SQL_HOPS_OPEN:
        return FF_TABLE_OUTBOX;
    case FF_SQL_DRAINS_OPEN:
        return FF_TABLE_DRAIN;
    case FF_SQL_FLOWS_OPEN:
    case FF_SQL_RETENTION_FLOWS:
        return FF_TABLE_FLOW;
    default:
        return FF_TABLE_EXECUTION;
    }
}

static bool fits(struct world *world, const struct ff_scan *scan, const void *row)
{
    const struct ff_execution *const e = row;
    const bool due = table_of(scan) == FF_TABLE_EXECUTION && e->due_at_ms != FF_NULL64 &&
                     e->due_at_ms <= world->now_ms;

    switch (scan->block) {
    case FF_SQL_EXECUTION_CLAIM_SCAN:
        return claim_fits(world, scan, e);
    case FF_SQL_TIMER_LEASES:
        return due && ff_state_is_leased(e->state) && filter_fits(scan->params, e);
    case FF_SQL_TIMER_DELAYS:
        return due && ff_state_is_delayed(e->state) && filter_fits(scan->params, e);
    case FF_SQL_TIMER_DEADLINES:
        return due && e->deadline_at_ms != FF_NULL64 && e->deadline_at_ms <= world->now_ms &&
               filter_fits(scan->params, e);
    case FF_SQL_RETENTION_SCAN:
        return ff_state_is_terminal(e->state) && ff_uuid_is_zero(e->flow_id) &&
               e->finished_at_ms < scan->params[0].as.i64 && filter_fits(scan->params + 1, e);
    case FF_SQL_EXECUTION_TAGS:
        return ((const struct ff_tag *)row)->partition_key == scan->params[0].as.i64 &&
               ff_uuid_eq(((const struct ff_tag *)row)->execution_id, scan->params[1].as.uuid);
    case FF_SQL_PRUNE_BATCHES:
        return ((const struct ff_marker *)row)->at_ms < scan->params[0].as.i64;
    case FF_SQL_PRUNE_CLAIMS:
        return ((const struct ff_claim *)row)->at_ms < scan->params[0].as.i64;
    case FF_SQL_PRUNE_DEDUP:
        return ((const struct ff_dedup *)row)->expires_at_ms <= world->now_ms;
    case FF_SQL_PRUNE_REPLIES:
        return ((const struct ff_reply *)row)->expires_at_ms <= world->now_ms;
    case FF_SQL_PRUNE_WORKERS:
        return ((const struct ff_registration *)row)->seen_at_ms +
                   ((const struct ff_registration *)row)->ttl_ms <=
               world->now_ms;
    default:
        return flow_fits(world, scan, row);
    }
}

static int by_claim_order(const void *a, const void *b)
{
    const struct ff_execution *const x = *(const struct ff_execution *const *)a;
    const struct ff_execution *const y = *(const struct ff_execution *const *)b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->created_at_ms != y->created_at_ms)
        return x->created_at_ms < y->created_at_ms ? -1 : 1;
    return ff_uuid_cmp(x->execution_id, y->execution_id);
}

static int by_key(const void *a, const void *b)
{
    const struct ff_row *const x = *(const struct ff_row *const *)a;
    const struct ff_row *const y = *(const struct ff_row *const *)b;
    uint8_t left[FF_KEY_BYTES];
    uint8_t right[FF_KEY_BYTES];
    const size_t left_len = ff_row_key((ff_table)x->table, x, left);
    const size_t right_len = ff_row_key((ff_table)y->table, y, right);

    return ff_str_cmp((struct ff_str){(const char *)left, left_len},
                      (struct ff_str){(const char *)right, right_len});
}

static bool locks(const struct ff_scan *scan)
{
    const ff_table table = table_of(scan);

    switch (scan->block) {
    case FF_SQL_FLOW_BROKEN_LEAF:
    case FF_SQL_FLOW_MEMBERS_ALIVE:
    case FF_SQL_FLOW_MEMBERS:
    case FF_SQL_FLOWS_OPEN:
    case FF_SQL_FAILED_UPSTREAMS:
    case FF_SQL_FAILED_ANCESTORS:
        return false;
    default:
        return table != FF_TABLE_TAG && table != FF_TABLE_EDGE && table != FF_TABLE_OUTBOX &&
               table != FF_TABLE_DRAIN && table != FF_TABLE_EDGE_GROUP;
    }
}

static void load_scan(struct world *world, struct ff_rowset *rows, struct ff_scan *scan)
{
    const ff_table table = table_of(scan);
    const size_t limit = scan->limit ? (size_t)scan->limit : WORLD_ROWS_MAX;

    scan->rows = ff_arena_array(&world->arena, WORLD_ROWS_MAX, sizeof *scan->rows);
    for (size_t i = 0; i < world->row_count[table]; i++)
        if (fits(world, scan, world->rows[table][i]))
            scan->rows[scan->row_count++] = world->rows[table][i];
    if (scan->block == FF_SQL_EXECUTION_CLAIM_SCAN)
        qsort(scan->rows, scan->row_count, sizeof *scan->rows, by_claim_order);
    else if (table == FF_TABLE_EDGE || !locks(scan))
        qsort(scan->rows, scan->row_count, sizeof *scan->rows, by_key);
    scan->row_count = ff_min_size(scan->row_count, limit);
    for (size_t i = 0; i < scan->row_count; i++)
        scan->rows[i] = load(rows, table, scan->rows[i], locks(scan));
    scan->loaded = true;
}

/* --- saving --- */

static void keep(struct world *world, ff_table table, const void *row)
{
    size_t i = find(world, table, row);

    if (i == SIZE_MAX)
        i = world->row_count[table]++;
    assert(i < WORLD_ROWS_MAX);
    world->rows[table][i] = ff_arena_copy(&world->arena, row, ff_tables[table].row_bytes);
    if (table == FF_TABLE_CAPSET)
        assert(ff_capsets_add(&world->capsets, &world->arena, world->rows[table][i]));
}

static void drop(struct world *world, ff_table table, const void *row)
{
    const size_t i = find(world, table, row);

    assert(i != SIZE_MAX);
    world->rows[table][i] = world->rows[table][--world->row_count[table]];
}

/* Everything whose key starts with the execution's. */
static void purge(struct world *world, const struct ff_execution *execution)
{
    for (int t = 0; t < FF_TABLE_COUNT; t++) {
        for (size_t i = 0; i < world->row_count[t];) {
            const struct ff_attempt *const row = world->rows[t][i]; /* any scoped row begins so */

            if (ff_tables[t].scope == FF_SCOPE_EXECUTION &&
                row->partition_key == execution->partition_key &&
                ff_uuid_eq(row->execution_id, execution->execution_id))
                drop(world, (ff_table)t, row);
            else
                i++;
        }
    }
}

static void save(struct world *world, struct ff_rowset *rows)
{
    void **list;

    for (size_t i = 0; i < rows->purge_count; i++)
        purge(world, rows->purges[i]);
    for (int t = 0; t < FF_TABLE_COUNT; t++) {
        const ff_table table = (ff_table)t;
        size_t count = ff_rowset_changes(rows, table, FF_CHANGE_DELETE, &list);

        for (size_t i = 0; i < count; i++)
            drop(world, table, list[i]);
        count = ff_rowset_changes(rows, table, FF_CHANGE_INSERT, &list);
        for (size_t i = 0; i < count; i++) {
            assert(find(world, table, list[i]) == SIZE_MAX); /* the unique constraint */
            keep(world, table, list[i]);
        }
        count = ff_rowset_changes(rows, table, FF_CHANGE_UPDATE, &list);
        for (size_t i = 0; i < count; i++) {
            assert(find(world, table, list[i]) != SIZE_MAX);
            keep(world, table, list[i]);
        }
    }
    for (size_t i = 0; i < rows->event_count; i++) {
        assert(world->event_count < WORLD_EVENTS_MAX);
        rows->events[i]->event_id = (int64_t)world->event_count + 1;
        world->events[world->event_count++] = rows->events[i];
    }
}

/* --- running --- */

static struct ff_work work_for(struct world *world, struct ff_rowset *rows, uint64_t seed)
{
    struct ff_work work = {.rows = rows,
                           .arena = &world->arena,
                           .settings = &world->settings,
                           .capsets = &world->capsets,
                           .contact_since_ms = world->contact_since_ms,
                           .steady_since_ms = world->steady_since_ms};

    ff_put_be64(work.seed.b, seed);
    ff_put_be64(work.seed.b + 8, ~seed);
    return work;
}

/* One batch; returns how many jobs want another one. */
static size_t run_batch(struct world *world, struct world_job *jobs, size_t count, uint64_t seed)
{
    struct ff_rowset *const rows = ff_arena_alloc(&world->arena, sizeof *rows);
    size_t again = 0;

    ff_rowset_init(rows, &world->arena);
    for (size_t i = 0; i < count; i++) {
        struct ff_work work = work_for(world, rows, seed + i);

        if (jobs[i].status == FF_AGAIN)
            ff_op_types[jobs[i].op].need(&work, jobs[i].in);
    }
    load_keys(world, rows);
    for (struct ff_scan *scan = rows->scans; scan; scan = scan->next)
        load_scan(world, rows, scan);
    for (size_t i = 0; i < count; i++) {
        struct ff_work work = work_for(world, rows, seed + i);

        if (jobs[i].status != FF_AGAIN)
            continue;
        work.now_ms = world->now_ms;
        ff_rowset_op_begin(rows, (uint32_t)i + 1);
        memset(&world->error, 0, sizeof world->error);
        jobs[i].status =
            ff_op_types[jobs[i].op].apply(&work, jobs[i].in, jobs[i].out, &world->error);
        if (jobs[i].status != FF_OK)
            ff_rowset_op_undo(rows);
        again += jobs[i].status == FF_AGAIN ? 1 : 0;
    }
    save(world, rows);
    assert(!world->arena.failed);
    return again;
}

void world_batch(struct world *world, struct world_job *jobs, size_t count)
{
    const uint64_t seed = world->ops;

    world->ops += count;
    for (size_t i = 0; i < count; i++)
        jobs[i].status = FF_AGAIN;
    world->rounds = 1;
    while (run_batch(world, jobs, count, seed) > 0)
        assert(++world->rounds < ROUNDS_MAX);
}

ff_status world_run(struct world *world, ff_op_id op, void *in, void *out)
{
    struct world_job job = {.op = op, .in = in, .out = out};

    world_batch(world, &job, 1);
    return job.status;
}

/* --- looking --- */

const char *world_events(struct world *world, struct ff_exec_id id, size_t from)
{
    struct ff_strbuf text = ff_strbuf_in(&world->arena, 4096);
    struct ff_str ret;

    for (size_t i = from; i < world->event_count; i++) {
        const struct ff_event *const event = world->events[i];

        if (!ff_uuid_eq(event->execution_id, id.uuid))
            continue;
        if (text.len > 0)
            ff_strbuf_addc(&text, ' ');
        ff_strbuf_addf(&text, "%s.%s", ff_event_kind_name(event->kind),
                       ff_event_type_name(event->kind, event->type));
    }
    if (ff_strbuf_take(&text, &ret, NULL) != FF_OK)
        abort();
    return ret.ptr;
}

const struct ff_event *world_last_event(const struct world *world)
{
    assert(world->event_count > 0);
    return world->events[world->event_count - 1];
}

/* --- given --- */

struct ff_submit_in world_submission(struct world *world)
{
    uint8_t random[10] = {0};
    struct ff_submit_in in = {.kind = FF_STR("shell"),
                              .input = FF_STR("{}"),
                              .delay_ms = FF_NULL64,
                              .delay_until_ms = FF_NULL64,
                              .deadline_ms = FF_NULL64,
                              .deadline_at_ms = FF_NULL64};

    ff_put_be64(random, ++world->ops);
    in.id = ff_exec_id_mint(world->now_ms, random);
    ff_policy_default(&in.policy);
    in.policy.jitter = false;
    return in;
}

struct ff_exec_id world_submit(struct world *world, struct ff_submit_in *in)
{
    struct ff_submit_out out;

    if (ff_submit_prepare(in, &world->settings, &world->arena, &world->error) != FF_OK ||
        world_run(world, FF_OP_EXECUTION_SUBMIT, in, &out) != FF_OK || !out.created)
        abort();
    return out.id;
}

struct ff_exec_id world_given_ready(struct world *world)
{
    struct ff_submit_in in = world_submission(world);

    return world_submit(world, &in);
}

struct ff_claim_in world_claim_of(struct world *world, const char *worker)
{
    struct ff_claim_in in = {.worker_id = FF_STR("pool"),
                             .worker_instance_id = ff_str_of(worker),
                             .max = 1,
                             .lease_ttl_ms = FF_LEASE_TTL_MS_DEFAULT};

    if (ff_claim_prepare(&in, &world->arena, &world->error) != FF_OK)
        abort();
    return in;
}

size_t world_claim(struct world *world, const char *worker, int64_t max, struct ff_claim_out *out)
{
    struct ff_claim_in in = world_claim_of(world, worker);

    in.max = max;
    if (world_run(world, FF_OP_EXECUTION_CLAIM, &in, out) != FF_OK)
        abort();
    return out->task_count;
}

struct ff_task_ref world_task(const struct ff_claim_out *out, size_t i)
{
    assert(i < out->task_count);
    return (struct ff_task_ref){.id = out->tasks[i].id,
                                .lease_id = out->tasks[i].lease_id,
                                .lease_epoch = out->tasks[i].lease_epoch};
}

struct ff_task_ref world_given_claimed(struct world *world, const char *worker)
{
    struct ff_claim_out out;

    if (world_claim(world, worker, 1, &out) != 1)
        abort();
    return world_task(&out, 0);
}

struct ff_timer_out world_fire(struct world *world, ff_timer_scope scope)
{
    struct ff_timer_in in = {.scope = scope, .limit = 1000};
    struct ff_timer_out out;

    if (world_run(world, FF_OP_TIMER_FIRE, &in, &out) != FF_OK)
        abort();
    return out;
}
