/* SPDX-License-Identifier: Apache-2.0
 *
 * explain.c -- why an execution is not running, or who runs it, or how it ended.
 *
 * Built from what the other calls read; codes are stable, details are for people. A waiting
 * execution may have several reasons: all that apply are told.
 * Tests: tests/unit/test_api.c. */
#include "api/api-int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "model/codes.h"
#include "model/rowset.h"
#include "store/sql.h"

#include "base/banned.h"

#define REASONS_MAX      16
#define DETAIL_BYTES_MAX 1024
#define DEADLINE_NEAR_MS 60000

struct explainer {
    struct ff_client *client;
    struct ff_arena *arena;
    const struct ff_info *info;
    int64_t now_ms;
    struct ff_reason items[REASONS_MAX];
    size_t count;
};

FF_PRINTF(3, 4)
static void add(struct explainer *e, const char *code, const char *fmt, ...)
{
    char detail[DETAIL_BYTES_MAX];
    va_list args;

    if (e->count == REASONS_MAX)
        return;
    va_start(args, fmt);
    (void)ff_str_vprint(detail, sizeof detail, fmt, args);
    va_end(args);
    e->items[e->count++] =
        (struct ff_reason){.code = code, .detail = ff_api_text(e->arena, ff_str_of(detail))};
}

/* "2026-01-31T23:59:59.999Z, in 4.2 s" */
static const char *when(const struct explainer *e, int64_t at_ms, char out[64])
{
    const double seconds = (double)(at_ms - e->now_ms) / 1000;
    char time[FF_TIME_TEXT_BYTES];

    (void)ff_time_format_utc(at_ms, time);
    if (seconds >= 0)
        (void)snprintf(out, 64, "%s, in %.1f s", time, seconds);
    else
        (void)snprintf(out, 64, "%s, %.1f s ago", time, -seconds);
    return out;
}

static void explain_finished(struct explainer *e)
{
    const struct ff_info *const info = e->info;
    char at[64];

    add(e, "finished", "ended as '%s' at %s", info->terminal_outcome,
        when(e, info->finished_at_ms, at));
    if (info->cancel_reason || info->cancelled_by)
        add(e, "cancelled", "cancelled by %s: %s",
            info->cancelled_by ? info->cancelled_by : "somebody",
            info->cancel_reason ? info->cancel_reason : "no reason given");
    if (info->failure_message)
        add(e, "failure", "last attempt failed (%s): %s",
            info->failure_class ? info->failure_class : "unknown class", info->failure_message);
}

static void explain_active(struct explainer *e)
{
    const struct ff_info *const info = e->info;
    const bool has_lapsed = info->lease_expires_at_ms <= e->now_ms;
    char until[64];

    if (strcmp(info->ownership_state, "lease_expired_reclaimable") == 0) {
        add(e, "reclaimable",
            "the lease of worker '%s' (instance '%s') has lapsed; the next claim continues attempt "
            "%d",
            info->worker_id, info->worker_instance_id, (int)info->attempt_index);
        return;
    }
    (void)when(e, info->lease_expires_at_ms, until);
    add(e, has_lapsed ? "lease_lapsed" : "leased",
        has_lapsed ? "worker '%s' (instance '%s') let its lease lapse at %s; the next timer tick "
                     "acts on it"
                   : "worker '%s' (instance '%s') works on it, its lease lasts until %s",
        info->worker_id, info->worker_instance_id, until);
    if (info->has_progress && info->progress_percent >= 0)
        add(e, "progress", "%d %% done%s%s", (int)info->progress_percent,
            info->progress_message ? ": " : "",
            info->progress_message ? info->progress_message : "");
}

static void explain_delayed(struct explainer *e)
{
    const struct ff_info *const info = e->info;
    char until[64];

    if (info->delay_until_ms == FF_ABSENT_MS)
        return;
    (void)when(e, info->delay_until_ms, until);
    if (strcmp(info->blocking_reason, "waiting_for_retry_backoff") == 0)
        add(e, "retry_backoff", "retry %d of %d waits until %s", (int)info->retry_count,
            (int)info->policy.max_retries, until);
    else
        add(e, "delayed", "not before %s", until);
    if (info->failure_message)
        add(e, "failure", "last attempt failed (%s): %s",
            info->failure_class ? info->failure_class : "unknown class", info->failure_message);
}

/* ---- waiting for a worker ---------------------------------------------------------------------
 */

static bool listed(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool offers(const struct ff_worker_info *worker, const char *capability)
{
    return listed(worker->capabilities, worker->capability_count, capability);
}

/* How far the live workers are from taking it; the best one counts. */
struct match {
    size_t live, on_lane, of_kind, in_namespace, able;
    const struct ff_worker_info *nearest; /* lacks only capabilities */
    size_t nearest_missing;
};

static size_t missing_of(const struct ff_info *info, const struct ff_worker_info *worker)
{
    size_t missing = 0;

    for (size_t i = 0; i < info->required_capability_count; i++)
        missing += !offers(worker, info->required_capabilities[i]);
    return missing;
}

static struct match match_workers(const struct ff_info *info, const struct ff_worker_list *workers)
{
    struct match match = {0};

    for (size_t i = 0; i < workers->count; i++) {
        const struct ff_worker_info *const worker = &workers->items[i];

        if (!worker->live)
            continue;
        match.live++;
        if (!listed(worker->lanes, worker->lane_count, info->lane))
            continue;
        match.on_lane++;
        if (worker->kind_count && !listed(worker->kinds, worker->kind_count, info->kind))
            continue;
        match.of_kind++;
        if (worker->ns && worker->ns[0] && strcmp(worker->ns, info->ns) != 0)
            continue;
        match.in_namespace++;
        const size_t missing = missing_of(info, worker);
        if (!missing) {
            match.able++;
        } else if (!match.nearest || missing < match.nearest_missing) {
            match.nearest = worker;
            match.nearest_missing = missing;
        }
    }
    return match;
}

static void explain_capability(struct explainer *e, const struct match *match)
{
    const struct ff_info *const info = e->info;
    char names[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < info->required_capability_count; i++) {
        const char *const name = info->required_capabilities[i];

        if (!offers(match->nearest, name) && used < sizeof names)
            used +=
                ff_str_print(names + used, sizeof names - used, "%s'%s'", used ? ", " : "", name);
    }
    add(e, "no_capability", "no live worker offers all it needs; the nearest, '%s', lacks %s",
        match->nearest->worker_id, names);
}

static ff_status explain_workers(struct explainer *e, struct ff_error *reterr)
{
    const struct ff_info *const info = e->info;
    FF_AUTO(ff_answer_free) struct ff_worker_list workers = {0};

    FF_TRY(ff_workers(e->client, &workers, reterr));
    const struct match match = match_workers(info, &workers);
    if (match.able)
        return FF_OK;
    if (!match.live)
        add(e, "no_worker", "there is no live worker at all");
    else if (!match.on_lane)
        add(e, "no_worker", "no live worker offers lane '%s'", info->lane);
    else if (!match.of_kind)
        add(e, "no_worker", "no live worker on lane '%s' offers kind '%s'", info->lane, info->kind);
    else if (!match.in_namespace)
        add(e, "no_worker", "no live worker on lane '%s' serves namespace '%s'", info->lane,
            info->ns);
    else
        explain_capability(e, &match);
    return FF_OK;
}

static ff_status explain_lane(struct explainer *e, struct ff_error *reterr)
{
    FF_AUTO(ff_answer_free) struct ff_lane_list lanes = {0};

    FF_TRY(ff_lanes(e->client, &lanes, reterr));
    for (size_t i = 0; i < lanes.count; i++) {
        const struct ff_lane_info *const lane = &lanes.items[i];

        if (strcmp(lane->lane, e->info->lane) != 0)
            continue;
        if (lane->paused)
            add(e, "paused_lane", "lane '%s' is paused: %s", lane->lane,
                lane->paused_reason ? lane->paused_reason : "no reason given");
        if (lane->waiting > 1)
            add(e, "queue", "%" PRId64 " executions wait on lane '%s', this one with priority %d",
                lane->waiting, lane->lane, (int)e->info->priority);
    }
    return FF_OK;
}

static ff_status explain_waiting(struct explainer *e, struct ff_error *reterr)
{
    FF_TRY(explain_lane(e, reterr));
    FF_TRY(explain_workers(e, reterr));
    if (!e->count)
        add(e, "ready", "it is next on lane '%s' as soon as a worker asks", e->info->lane);
    return FF_OK;
}

/* ---- waiting for other members -----------------------------------------------------------------
 */

#define EDGES_SHOWN 8
#define HOPS_SHOWN  4
#define NAMES_BYTES 512

/* "'a', 'b' and others": the first of the upstreams whose edges have one of these outcomes. */
static ff_status upstreams_with(struct explainer *e, struct ff_exec_id id, const int64_t *outcomes,
                                size_t outcome_count, char out[NAMES_BYTES],
                                struct ff_error *reterr)
{
    const struct ff_in_upstreams_with in = {.partition_key = id.partition,
                                            .downstream_id = id.uuid,
                                            .outcomes = outcomes,
                                            .outcomes_count = outcome_count,
                                            .limit = EDGES_SHOWN + 1};
    struct ff_value values[FF_SQL_UPSTREAMS_WITH_PARAMS];
    struct ff_read read;
    size_t used = 0;

    ff_in_upstreams_with_values(&in, values);
    FF_TRY(ff_api_read(e->client, e->arena, FF_SQL_UPSTREAMS_WITH, values,
                       FF_SQL_UPSTREAMS_WITH_PARAMS, &read, reterr));
    out[0] = '\0';
    for (size_t i = 0; i < read.row_count && i < EDGES_SHOWN && used < NAMES_BYTES; i++)
        used += ff_str_print(out + used, NAMES_BYTES - used, "%s'" FF_STR_FMT "'", used ? ", " : "",
                             FF_STR_ARG(read.cells[i * read.col_count].as.str));
    if (read.row_count > EDGES_SHOWN && used < NAMES_BYTES)
        (void)ff_str_print(out + used, NAMES_BYTES - used, " and others");
    return FF_OK;
}

/* The join of a node, with its counters. NULL: it waits for nobody. */
static ff_status read_join(struct explainer *e, struct ff_exec_id id,
                           const struct ff_edge_group **ret, struct ff_error *reterr)
{
    const struct ff_edge_group key = {.partition_key = id.partition, .execution_id = id.uuid};
    const struct ff_entry *entry;
    struct ff_rowset rows;

    ff_rowset_init(&rows, e->arena);
    entry = ff_rowset_want(&rows, FF_TABLE_EDGE_GROUP, &key, FF_WANT_READ);
    FF_TRY(ff_engine_peek(e->client->engine, &rows, e->client->timeout_ms, reterr));
    *ret = entry && entry->found == FF_FOUND_ROW ? entry->row : NULL;
    return FF_OK;
}

static void explain_join(struct explainer *e, const struct ff_edge_group *group)
{
    if (group->policy == FF_JOIN_QUORUM)
        add(e, "join", "quorum of %d: %d succeeded, %d failed, %d skipped of %d", (int)group->k,
            (int)group->success, (int)group->fail, (int)group->skip, (int)group->total);
    else
        add(e, "join", "%s: %d succeeded, %d failed, %d skipped of %d",
            ff_join_policy_name(group->policy), (int)group->success, (int)group->fail,
            (int)group->skip, (int)group->total);
}

/* Its id; false: it is no member of a flow. */
static bool member_of(const struct explainer *e, int64_t *ret_partition, struct ff_uuid *ret_uuid)
{
    struct ff_exec_id id;

    if (!e->info->flow_id[0] ||
        ff_exec_id_parse(ff_str_of(e->info->execution_id), &id, NULL) != FF_OK)
        return false;
    *ret_partition = id.partition;
    *ret_uuid = id.uuid;
    return true;
}

/* An end or a reopening that should have been passed on: normally gone before anybody can look. */
static ff_status explain_hops(struct explainer *e, struct ff_error *reterr)
{
    struct ff_in_hops_about in = {.limit = HOPS_SHOWN};
    struct ff_value values[FF_SQL_HOPS_ABOUT_PARAMS];
    struct ff_read read;
    char at[64];

    if (!member_of(e, &in.partition_key, &in.execution_id))
        return FF_OK;
    ff_in_hops_about_values(&in, values);
    FF_TRY(ff_api_read(e->client, e->arena, FF_SQL_HOPS_ABOUT, values, FF_SQL_HOPS_ABOUT_PARAMS,
                       &read, reterr));
    for (size_t i = 0; i < read.row_count; i++) {
        const struct ff_value *const cells = read.cells + i * read.col_count;
        const struct ff_str node = cells[FF_OUT_HOPS_ABOUT_NODE].as.str;
        const int64_t tries = cells[FF_OUT_HOPS_ABOUT_TRIES].as.i64;
        const char *const what =
            cells[FF_OUT_HOPS_ABOUT_KIND].as.i64 == FF_HOP_REOPEN ? "reopening" : "end";

        if (tries == 0)
            add(e, "hop", "the %s of '" FF_STR_FMT "' is being passed on", what, FF_STR_ARG(node));
        else
            add(e, tries >= FF_HOP_TRIES_STUCK ? "hop_stuck" : "hop",
                "the %s of '" FF_STR_FMT "' could not be passed on %" PRId64
                " times, the next try is at %s",
                what, FF_STR_ARG(node), tries,
                when(e, cells[FF_OUT_HOPS_ABOUT_NOT_BEFORE_MS].as.i64, at));
    }
    return FF_OK;
}

/* Cancels that should have been carried out. */
static ff_status explain_drains(struct explainer *e, struct ff_error *reterr)
{
    struct ff_in_drains_about in = {0};
    struct ff_value values[FF_SQL_DRAINS_ABOUT_PARAMS];
    struct ff_read read;
    char at[64];

    if (!member_of(e, &in.partition_key, &in.execution_id))
        return FF_OK;
    if (!ff_uuid_parse(ff_str_of(e->info->flow_id), &in.flow_id))
        return ff_fail(reterr, FF_INTERNAL, "flow id '%s' is none", e->info->flow_id);
    ff_in_drains_about_values(&in, values);
    FF_TRY(ff_api_read(e->client, e->arena, FF_SQL_DRAINS_ABOUT, values, FF_SQL_DRAINS_ABOUT_PARAMS,
                       &read, reterr));
    for (size_t i = 0; i < read.row_count; i++) {
        const struct ff_value *const cells = read.cells + i * read.col_count;
        const struct ff_str what = cells[FF_OUT_DRAINS_ABOUT_WHAT].as.str;
        const int64_t tries = cells[FF_OUT_DRAINS_ABOUT_TRIES].as.i64;

        add(e, tries >= FF_HOP_TRIES_STUCK ? "drain_stuck" : "drain",
            "%s could not be cancelled %" PRId64 " times, the next try is at %s",
            ff_str_eq(what, FF_STR("join"))      ? "upstreams that its join no longer needs"
            : ff_str_eq(what, FF_STR("sibling")) ? "upstreams of a decided join, this one too,"
                                                 : "members of its cancelled flow",
            tries, when(e, cells[FF_OUT_DRAINS_ABOUT_NOT_BEFORE_MS].as.i64, at));
    }
    return FF_OK;
}

static ff_status explain_blocked(struct explainer *e, struct ff_error *reterr)
{
    static const int64_t open[] = {FF_EDGE_UNRESOLVED};
    const struct ff_edge_group *group;
    char names[NAMES_BYTES];
    struct ff_exec_id id;

    FF_TRY(ff_exec_id_parse(ff_str_of(e->info->execution_id), &id, reterr));
    FF_TRY(read_join(e, id, &group, reterr));
    if (!group)
        return FF_OK;
    FF_TRY(upstreams_with(e, id, open, FF_ARRAY_LEN(open), names, reterr));
    add(e, "dependencies", "it waits for %d of %d: %s",
        (int)(group->total - group->success - group->fail - group->skip), (int)group->total, names);
    explain_join(e, group);
    return FF_OK;
}

/* It never ran because of others. */
static ff_status explain_skipped(struct explainer *e, struct ff_error *reterr)
{
    static const int64_t bad[] = {FF_EDGE_FAIL, FF_EDGE_SKIP};
    const struct ff_edge_group *group;
    char names[NAMES_BYTES];
    struct ff_exec_id id;

    FF_TRY(ff_exec_id_parse(ff_str_of(e->info->execution_id), &id, reterr));
    FF_TRY(upstreams_with(e, id, bad, FF_ARRAY_LEN(bad), names, reterr));
    add(e, "dependencies_failed", "these did not succeed: %s", names);
    FF_TRY(read_join(e, id, &group, reterr));
    if (group)
        explain_join(e, group);
    return FF_OK;
}

static ff_status explain_all(struct explainer *e, struct ff_error *reterr)
{
    const struct ff_info *const info = e->info;
    char at[64];

    if (info->finished) {
        explain_finished(e);
        if (strcmp(info->terminal_outcome, "skipped") == 0)
            FF_TRY(explain_skipped(e, reterr));
        return FF_OK;
    }
    if (strcmp(info->lifecycle_phase, "active") == 0)
        explain_active(e);
    else if (strcmp(info->eligibility_state, "blocked_by_dependencies") == 0)
        FF_TRY(explain_blocked(e, reterr));
    else if (strcmp(info->eligibility_state, "eligible_now") == 0)
        FF_TRY(explain_waiting(e, reterr));
    else
        explain_delayed(e);
    if (info->deadline_at_ms != FF_ABSENT_MS)
        add(e, info->deadline_at_ms - e->now_ms < DEADLINE_NEAR_MS ? "deadline_near" : "deadline",
            "it expires at %s", when(e, info->deadline_at_ms, at));
    return FF_OK;
}

ff_status ff_local_explain(struct ff_client *client, const char *execution_id,
                           struct ff_explanation *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    struct explainer e = {.client = client};

    FF_TRY(ff_get(client, execution_id, &whole, reterr));
    FF_TRY(ff_api_now(client, &e.now_ms, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the answer");
    e.arena = &memory->arena;
    e.info = &whole.items[0];
    FF_TRY(explain_all(&e, reterr));
    FF_TRY(explain_hops(&e, reterr));
    FF_TRY(explain_drains(&e, reterr));
    *ret = (struct ff_explanation){
        .public_state = e.info->public_state,
        .count = e.count,
        .items = ff_arena_copy(e.arena, e.items, e.count * sizeof e.items[0]),
    };
    memcpy(ret->execution_id, e.info->execution_id, sizeof ret->execution_id);
    FF_TRY(ff_arena_check(e.arena, reterr));
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
