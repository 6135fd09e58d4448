/* SPDX-License-Identifier: Apache-2.0
 *
 * look.c -- lanes, workers, loops, and the audit.
 *
 * Tests: tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include <inttypes.h>

#include "api/json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/events.h"
#include "model/policy.h"
#include "model/states.h"
#include "model/steps.h"
#include "sql_gen.h"
#include "store/sql.h"

#include "base/banned.h"

#define LOOPS_MAX 32

static ff_status memory_of(struct ff_memory **ret, struct ff_error *reterr)
{
    *ret = ff_memory_new();
    if (!*ret)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the answer");
    return FF_OK;
}

/* ---- lanes ------------------------------------------------------------------------------------
 */

static void lane_add(struct ff_lane_info *lane, int32_t state, int64_t count, int64_t oldest_ms)
{
    if (ff_state_is_delayed(state)) {
        lane->delayed += count;
    } else if (ff_state_is_blocked(state)) {
        lane->blocked += count;
    } else if (ff_state_is_claimable(state) && !ff_state_is_leased(state)) {
        lane->waiting += count;
        if (lane->oldest_waiting_at_ms == FF_ABSENT_MS || oldest_ms < lane->oldest_waiting_at_ms)
            lane->oldest_waiting_at_ms = oldest_ms;
    } else {
        lane->active += count;
    }
}

/* Both lists come sorted by name: the place of a lane is never before the last one. */
static struct ff_lane_info *lane_named(struct ff_arena *arena, struct ff_lane_list *list,
                                       struct ff_str name)
{
    size_t at = 0;

    while (at < list->count && ff_str_cmp(ff_str_of(list->items[at].lane), name) < 0)
        at++;
    if (at < list->count && ff_str_eq(ff_str_of(list->items[at].lane), name))
        return &list->items[at];
    for (size_t i = list->count; i > at; i--)
        list->items[i] = list->items[i - 1];
    list->items[at] = (struct ff_lane_info){.lane = ff_api_text(arena, name),
                                            .oldest_waiting_at_ms = FF_ABSENT_MS};
    list->count++;
    return &list->items[at];
}

ff_status ff_local_lanes(struct ff_client *client, struct ff_lane_list *ret,
                         struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = NULL;
    struct ff_lane_list list = {0};
    struct ff_read lanes, counts;

    FF_TRY(memory_of(&memory, reterr));
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_LANES_ALL, NULL, 0, &lanes, reterr));
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_LANE_COUNTS, NULL, 0, &counts, reterr));
    list.items =
        ff_arena_array(&memory->arena, lanes.row_count + counts.row_count, sizeof *list.items);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    for (size_t i = 0; i < counts.row_count; i++) {
        const struct ff_value *const cells = counts.cells + i * counts.col_count;

        lane_add(lane_named(&memory->arena, &list, cells[FF_OUT_LANE_COUNTS_LANE].as.str),
                 (int32_t)cells[FF_OUT_LANE_COUNTS_STATE].as.i64,
                 cells[FF_OUT_LANE_COUNTS_COUNT].as.i64,
                 cells[FF_OUT_LANE_COUNTS_OLDEST_MS].as.i64);
    }
    for (size_t i = 0; i < lanes.row_count; i++) {
        const struct ff_lane *const row = lanes.rows[i];
        struct ff_lane_info *const lane = lane_named(&memory->arena, &list, row->lane);

        lane->paused = row->paused != 0;
        lane->paused_reason = lane->paused ? ff_api_text(&memory->arena, row->reason) : NULL;
    }
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    *ret = list;
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

/* ---- workers and loops ------------------------------------------------------------------------
 */

ff_status ff_local_workers(struct ff_client *client, struct ff_worker_list *ret,
                           struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = NULL;
    struct ff_read read;
    int64_t now_ms;

    FF_TRY(memory_of(&memory, reterr));
    FF_TRY(ff_api_now(client, &now_ms, reterr));
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_WORKERS_ALL, NULL, 0, &read, reterr));
    struct ff_arena *const arena = &memory->arena;
    struct ff_worker_info *const items = ff_arena_array(arena, read.row_count, sizeof *items);
    for (size_t i = 0; items && i < read.row_count; i++) {
        const struct ff_registration *const row = read.rows[i];

        items[i] = (struct ff_worker_info){
            .worker_id = ff_api_text(arena, row->worker_id),
            .worker_instance_id = ff_api_text(arena, row->worker_instance_id),
            .ns = ff_api_text(arena, row->namespace),
            .registered_at_ms = row->registered_at_ms,
            .seen_at_ms = row->seen_at_ms,
            .live = ff_add_i64_clamped(row->seen_at_ms, row->ttl_ms) > now_ms,
        };
        items[i].lanes = ff_api_names(arena, row->lanes, FF_NAMES_SEPARATOR, &items[i].lane_count);
        items[i].kinds = ff_api_names(arena, row->kinds, FF_NAMES_SEPARATOR, &items[i].kind_count);
        items[i].capabilities =
            ff_api_names(arena, row->capabilities, FF_NAMES_SEPARATOR, &items[i].capability_count);
    }
    FF_TRY(ff_arena_check(arena, reterr));
    *ret = (struct ff_worker_list){.count = read.row_count, .items = items};
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

static ff_status stuck_hops(struct ff_client *client, struct ff_arena *arena, int64_t *ret,
                            struct ff_error *reterr)
{
    struct ff_read read;

    FF_TRY(ff_api_read(client, arena, FF_SQL_CASCADE_STUCK, NULL, 0, &read, reterr));
    *ret = read.row_count ? read.cells[FF_OUT_CASCADE_STUCK_COUNT].as.i64 : 0;
    return FF_OK;
}

ff_status ff_local_scanners(struct ff_client *client, struct ff_scanner_list *ret,
                            struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = NULL;
    struct ff_loop_report reports[LOOPS_MAX];
    int64_t stuck;

    FF_TRY(memory_of(&memory, reterr));
    FF_TRY(stuck_hops(client, &memory->arena, &stuck, reterr));
    const size_t count =
        ff_min_size(ff_engine_loops(client->engine, reports, LOOPS_MAX), LOOPS_MAX);
    struct ff_scanner_info *const items = ff_arena_array(&memory->arena, count, sizeof *items);
    for (size_t i = 0; items && i < count; i++) {
        items[i] = (struct ff_scanner_info){
            .name = reports[i].name,
            .interval_ms = reports[i].interval_ms,
            .ticks = reports[i].ticks,
            .last_processed = reports[i].last_processed,
            .last_errors = reports[i].last_errors,
            .processed = reports[i].processed,
            .errors = reports[i].errors,
            .last_scanned = reports[i].last_scanned,
            .last_noop = reports[i].last_noop,
        };
    }
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    *ret = (struct ff_scanner_list){.count = count, .items = items, .stuck_hops = stuck};
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

/* ---- the audit --------------------------------------------------------------------------------
 */

/* Every audit block takes (limit) and gives (partition_key, execution_id, detail). */
enum { CELL_PARTITION, CELL_EXECUTION, CELL_DETAIL, CELL_COUNT };

static ff_status add_findings(struct ff_arena *arena, struct ff_findings *found, size_t count,
                              struct ff_finding **ret, struct ff_error *reterr)
{
    struct ff_finding *const items = ff_arena_grow(
        arena, found->items, found->count * sizeof *items, (found->count + count) * sizeof *items);

    if (!items)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the findings");
    found->items = items;
    *ret = items + found->count;
    found->count += count;
    return FF_OK;
}

static void finding(struct ff_arena *arena, const struct ff_sql_audit *audit,
                    const struct ff_value *cells, struct ff_finding *out)
{
    *out = (struct ff_finding){
        .check = ff_sql_blocks[audit->block].name + sizeof "fsck_" - 1,
        .detail = ff_api_text(arena, cells[CELL_DETAIL].type == FF_VALUE_NULL
                                         ? ff_str_of(audit->what)
                                         : cells[CELL_DETAIL].as.str),
    };
    if (cells[CELL_EXECUTION].type == FF_VALUE_UUID && cells[CELL_PARTITION].type == FF_VALUE_I64) {
        const struct ff_exec_id id = {.partition = (int32_t)cells[CELL_PARTITION].as.i64,
                                      .uuid = cells[CELL_EXECUTION].as.uuid};

        ff_exec_id_text(id, out->execution_id);
    }
}

static ff_status audit_one(struct ff_client *client, const struct ff_sql_audit *audit,
                           struct ff_arena *arena, struct ff_findings *found,
                           struct ff_error *reterr)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[audit->block];
    const struct ff_value limit = {.type = FF_VALUE_I64, .as.i64 = FF_FINDINGS_MAX + 1};
    struct ff_finding *items = NULL;
    struct ff_read read;

    if (block->param_count != 1 || block->out_count != CELL_COUNT)
        return ff_fail(reterr, FF_INTERNAL, "audit '%s' has another shape", block->name);
    FF_TRY(ff_api_read(client, arena, (int)audit->block, &limit, 1, &read, reterr));
    found->checks++;
    if (!read.row_count)
        return FF_OK;
    FF_TRY(add_findings(arena, found, read.row_count, &items, reterr));
    for (size_t i = 0; i < read.row_count; i++)
        finding(arena, audit, read.cells + i * read.col_count, &items[i]);
    if (read.row_count > FF_FINDINGS_MAX) /* the last one stands for all that are left */
        items[FF_FINDINGS_MAX] =
            (struct ff_finding){.check = items[0].check, .detail = FF_FINDING_MORE};
    return ff_arena_check(arena, reterr);
}

static struct ff_step step_of(const struct ff_value *cells)
{
    return (struct ff_step){
        .kind = (int32_t)cells[FF_OUT_LOG_STEPS_KIND].as.i64,
        .type = (int32_t)cells[FF_OUT_LOG_STEPS_TYPE].as.i64,
        .before = (int32_t)cells[FF_OUT_LOG_STEPS_STATE_BEFORE].as.i64,
        .after = (int32_t)cells[FF_OUT_LOG_STEPS_STATE].as.i64,
        .changes = cells[FF_OUT_LOG_STEPS_CHANGES].as.i64,
        .generations = cells[FF_OUT_LOG_STEPS_GENERATIONS].as.i64,
    };
}

static const char *step_text(struct ff_arena *arena, const struct ff_step *step, int64_t event_id)
{
    const struct ff_state_info *const from = ff_state_info(step->before);
    const struct ff_state_info *const to = ff_state_info(step->after);

    if (step->kind == 0)
        return ff_arena_printf(arena, "the row is %s, its last event left it %s",
                               to ? to->vector : "?", from ? from->vector : "nowhere")
            .ptr;
    return ff_arena_printf(arena, "event %lld, %s.%s, tells %s after %s", (long long)event_id,
                           ff_event_kind_name(step->kind),
                           ff_event_type_name(step->kind, step->type), to ? to->vector : "?",
                           from ? from->vector : "nothing")
        .ptr;
}

/* The events of an execution, played through the table of legal moves, lead to its row. */
static ff_status audit_steps(struct ff_client *client, struct ff_arena *arena,
                             struct ff_findings *found, struct ff_error *reterr)
{
    struct ff_finding *item = NULL;
    struct ff_read read;

    FF_TRY(ff_api_read(client, arena, FF_SQL_LOG_STEPS, NULL, 0, &read, reterr));
    found->checks++;
    for (size_t i = 0; i < read.row_count; i++) {
        const struct ff_value *const cells = read.cells + i * read.col_count;
        const struct ff_step step = step_of(cells);
        const struct ff_exec_id id = {.partition =
                                          (int32_t)cells[FF_OUT_LOG_STEPS_PARTITION_KEY].as.i64,
                                      .uuid = cells[FF_OUT_LOG_STEPS_EXECUTION_ID].as.uuid};

        if (ff_step_ok(&step))
            continue;
        FF_TRY(add_findings(arena, found, 1, &item, reterr));
        *item = (struct ff_finding){
            .check = "illegal_step",
            .detail = step_text(arena, &step, cells[FF_OUT_LOG_STEPS_EVENT_ID].as.i64)};
        ff_exec_id_text(id, item->execution_id);
    }
    return ff_arena_check(arena, reterr);
}

static ff_status policy_finding(struct ff_arena *arena, const char *check, struct ff_str detail,
                                struct ff_findings *found, struct ff_error *reterr)
{
    struct ff_finding *item = NULL;

    FF_TRY(add_findings(arena, found, 1, &item, reterr));
    *item = (struct ff_finding){.check = check, .detail = detail.ptr};
    return ff_arena_check(arena, reterr);
}

/* No execution went further than its policy allows. */
static ff_status audit_counts(struct ff_arena *arena, const struct ff_value *cells,
                              const struct ff_policy *policy, struct ff_findings *found,
                              struct ff_error *reterr)
{
    const struct {
        const char *what;
        int64_t most;
        int64_t allowed;
    } counts[] = {
        {"retries", cells[FF_OUT_POLICIES_KEPT_RETRIES].as.i64, policy->max_retries},
        {"reclaims", cells[FF_OUT_POLICIES_KEPT_RECLAIMS].as.i64, policy->max_reclaim_count},
        {"replays", cells[FF_OUT_POLICIES_KEPT_REPLAYS].as.i64, policy->max_replay_count},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(counts); i++)
        if (counts[i].most > counts[i].allowed)
            FF_TRY(policy_finding(
                arena, "policy_exceeded",
                ff_arena_printf(arena,
                                "an execution has had %" PRId64 " %s, its policy allows %" PRId64,
                                counts[i].most, counts[i].what, counts[i].allowed),
                found, reterr));
    return FF_OK;
}

static ff_status audit_policies(struct ff_client *client, struct ff_arena *arena,
                                struct ff_findings *found, struct ff_error *reterr)
{
    struct ff_policy policy;
    struct ff_read read;

    FF_TRY(ff_api_read(client, arena, FF_SQL_POLICIES_KEPT, NULL, 0, &read, reterr));
    found->checks += 2;
    for (size_t i = 0; i < read.row_count; i++) {
        const struct ff_value *const cells = read.cells + i * read.col_count;
        const struct ff_value *const packed = &cells[FF_OUT_POLICIES_KEPT_POLICY];
        const struct ff_str text = packed->type == FF_VALUE_NULL ? ff_str_null() : packed->as.str;

        /* Rules go on with the default, or a lane would stand still: somebody must hear of it. */
        if (ff_policy_unpack(text, &policy, NULL) != FF_OK)
            FF_TRY(policy_finding(
                arena, "unreadable_policy",
                ff_arena_printf(arena,
                                "%" PRId64 " executions have a policy of %zu bytes that this "
                                "version cannot read: they go by the default",
                                cells[FF_OUT_POLICIES_KEPT_EXECUTIONS].as.i64, text.len),
                found, reterr));
        else
            FF_TRY(audit_counts(arena, cells, &policy, found, reterr));
    }
    return FF_OK;
}

ff_status ff_local_fsck(struct ff_client *client, struct ff_findings *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = NULL;
    struct ff_findings found = {0};

    FF_TRY(memory_of(&memory, reterr));
    for (size_t i = 0; i < ff_sql_audit_count; i++)
        FF_TRY(audit_one(client, &ff_sql_audits[i], &memory->arena, &found, reterr));
    FF_TRY(audit_steps(client, &memory->arena, &found, reterr));
    FF_TRY(audit_policies(client, &memory->arena, &found, reterr));
    *ret = found;
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
