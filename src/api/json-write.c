/* SPDX-License-Identifier: Apache-2.0
 *
 * json-write.c -- answers as the contract's JSON.
 *
 * Members keep the order of the contract. Absent values are null, never left out, so that a reader
 * can tell "none" from "an older server". Tests: tests/unit/test_json.c. */
#include "api/json.h"

#include <stdio.h>
#include <string.h>

#include "model/ids.h"

#include "base/banned.h"

json_t *ff_json_problem(ff_status status, const struct ff_error *error)
{
    struct ff_json_maker made = ff_json_make();
    char type[80];

    (void)snprintf(type, sizeof type, "urn:flowfabric:problem:%s", ff_status_code(status));
    ff_json_put_text(&made, "type", type);
    ff_json_put_text(&made, "title", ff_status_text(status));
    ff_json_put_i64(&made, "status", ff_status_http(status));
    ff_json_put_text(&made, "detail", error ? error->message : ff_status_text(status));
    ff_json_put_text(&made, "code", ff_status_code(status));
    ff_json_put_bool(&made, "retryable",
                     ff_status_retryable(status) ||
                         (status == FF_OUTCOME_UNKNOWN && error && error->repeatable));
    if (error && error->field[0])
        ff_json_put_text(&made, "field", error->field);
    if (error && error->outcome[0])
        ff_json_put_text(&made, "outcome", error->outcome);
    if (error && error->oldest[0])
        ff_json_put_text(&made, "oldest", error->oldest);
    return ff_json_made(&made);
}

static json_t *failed_item(ff_status status, const struct ff_error *error)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "error", ff_json_problem(status, error));
    return ff_json_made(&made);
}

json_t *ff_json_submitted(const struct ff_submitted *submitted)
{
    struct ff_json_maker made = ff_json_make();

    if (submitted->status != FF_OK) {
        json_decref(made.object);
        return failed_item(submitted->status, &submitted->error);
    }
    ff_json_put_text(&made, "execution_id", submitted->execution_id);
    ff_json_put_text(&made, "public_state", submitted->public_state);
    ff_json_put_bool(&made, "created", submitted->created);
    return ff_json_made(&made);
}

/* ---- attempts and events ----------------------------------------------------------------------
 */

static json_t *attempt(const void *item)
{
    const struct ff_attempt_info *const info = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_i64(&made, "generation", info->generation);
    ff_json_put_i64(&made, "attempt_index", info->attempt_index);
    ff_json_put_text(&made, "attempt_type", info->attempt_type);
    ff_json_put_text(&made, "worker_id", info->worker_id);
    ff_json_put_text(&made, "worker_instance_id", info->worker_instance_id);
    ff_json_put_text(&made, "lease_id", info->lease_id);
    ff_json_put_i64(&made, "lease_epoch", info->lease_epoch);
    ff_json_put_ms(&made, "started_at_ms", info->started_at_ms);
    ff_json_put_ms(&made, "ended_at_ms", info->ended_at_ms);
    ff_json_put_text(&made, "outcome", info->outcome);
    if (info->failure_message) {
        struct ff_json_maker failure = ff_json_make();

        ff_json_put_text(&failure, "message", info->failure_message);
        ff_json_put_text(&failure, "class", info->failure_class);
        ff_json_put(&made, "failure", ff_json_made(&failure));
    } else {
        ff_json_put(&made, "failure", json_null());
    }
    return ff_json_made(&made);
}

json_t *ff_json_attempts(const struct ff_attempt_list *list)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "attempts", FF_JSON_ARRAY(list->items, list->count, attempt));
    return ff_json_made(&made);
}

/* What note, num_a and num_b of an event mean; NULL: nothing. */
static const struct {
    const char *kind, *type, *note, *num_a, *num_b;
} meanings[] = {
    {"completion", NULL, "reason", NULL, NULL},
    {"lease", "acquired", NULL, "lease_expires_at_ms", NULL},
    {"lease", "reclaimed", NULL, "lease_expires_at_ms", NULL},
    {"lease", "renewed", NULL, "lease_expires_at_ms", NULL},
    {"lease", "revoked", "revoked_by", NULL, NULL},
    {"lease", "released", "reason", NULL, NULL},
    {"execution", "retry_scheduled", "message", "retry_at_ms", "retry_count"},
    {"execution", "delayed", NULL, "delay_until_ms", NULL},
    {"operator", "priority_changed", "by", "old_priority", "new_priority"},
    {"operator", "replayed", "reason", "generation", NULL},
    {"operator", "lane_paused", "lane", NULL, NULL},
    {"operator", "lane_resumed", "lane", NULL, NULL},
    {"operator", NULL, "reason", NULL, NULL},
    {"flow", NULL, "reason", "revision", NULL},
    {"log", "reset", NULL, "last_event_id", NULL},
};

struct ff_json_event_names ff_json_event_names(const char *kind, const char *type)
{
    struct ff_json_event_names names = {"note", "num_a", "num_b"};

    for (size_t i = 0; i < FF_ARRAY_LEN(meanings); i++) {
        if (strcmp(meanings[i].kind, kind) == 0 &&
            (!meanings[i].type || strcmp(meanings[i].type, type) == 0)) {
            names.note = meanings[i].note ? meanings[i].note : names.note;
            names.num_a = meanings[i].num_a ? meanings[i].num_a : names.num_a;
            names.num_b = meanings[i].num_b ? meanings[i].num_b : names.num_b;
            break;
        }
    }
    return names;
}

static void put_meant(struct ff_json_maker *data, const struct ff_event_info *event)
{
    const struct ff_json_event_names names = ff_json_event_names(event->kind, event->type);

    if (event->note)
        ff_json_put_text(data, names.note, event->note);
    if (event->num_a != FF_ABSENT_MS)
        ff_json_put_i64(data, names.num_a, event->num_a);
    if (event->num_b != FF_ABSENT_MS)
        ff_json_put_i64(data, names.num_b, event->num_b);
}

/* Only what applies: an event of a lane has no lease. */
static json_t *event_data(const struct ff_event_info *event)
{
    struct ff_json_maker data = ff_json_make();

    if (event->public_state)
        ff_json_put_text(&data, "public_state", event->public_state);
    if (event->version != FF_ABSENT_MS)
        ff_json_put_i64(&data, "version", event->version);
    if (event->worker_id)
        ff_json_put_text(&data, "worker_id", event->worker_id);
    if (event->worker_instance_id)
        ff_json_put_text(&data, "worker_instance_id", event->worker_instance_id);
    if (event->lease_id[0])
        ff_json_put_text(&data, "lease_id", event->lease_id);
    if (event->lease_epoch != FF_ABSENT_MS)
        ff_json_put_i64(&data, "lease_epoch", event->lease_epoch);
    if (event->prev_owner)
        ff_json_put_text(&data, "prev_owner", event->prev_owner);
    if (strcmp(event->kind, "lease") == 0 && strcmp(event->type, "reclaimed") == 0) {
        ff_json_put_text(&data, "new_owner", event->worker_instance_id);
        ff_json_put_text(&data, "new_lease_id", event->lease_id);
    }
    put_meant(&data, event);
    return ff_json_made(&data);
}

json_t *ff_json_event(const struct ff_event_info *event)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "cursor", event->cursor);
    ff_json_put_i64(&made, "event_id", event->event_id);
    ff_json_put_text(&made, "kind", event->kind);
    ff_json_put_text(&made, "type", event->type);
    ff_json_put_text(&made, "execution_id", event->execution_id[0] ? event->execution_id : NULL);
    ff_json_put_text(&made, "flow_id", event->flow_id[0] ? event->flow_id : NULL);
    ff_json_put_i64(&made, "generation", event->generation);
    ff_json_put_text(&made, "namespace", event->ns);
    ff_json_put_text(&made, "instance_tag", event->instance_tag);
    ff_json_put_ms(&made, "at_ms", event->at_ms);
    ff_json_put(&made, "data", event_data(event));
    return ff_json_made(&made);
}

static json_t *event_item(const void *item)
{
    return ff_json_event(item);
}

json_t *ff_json_events(const struct ff_event_list *list)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "events", FF_JSON_ARRAY(list->items, list->count, event_item));
    ff_json_put_text(&made, "next_cursor", list->next_cursor[0] ? list->next_cursor : NULL);
    return ff_json_made(&made);
}

/* ---- explain, lanes, workers, loops, audit ----------------------------------------------------
 */

static json_t *reason(const void *item)
{
    const struct ff_reason *const told = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "code", told->code);
    ff_json_put_text(&made, "detail", told->detail);
    return ff_json_made(&made);
}

json_t *ff_json_explanation(const struct ff_explanation *explanation)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "execution_id", explanation->execution_id);
    ff_json_put_text(&made, "public_state", explanation->public_state);
    ff_json_put(&made, "reasons", FF_JSON_ARRAY(explanation->items, explanation->count, reason));
    return ff_json_made(&made);
}

static json_t *lane(const void *item)
{
    const struct ff_lane_info *const info = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "lane", info->lane);
    ff_json_put_bool(&made, "paused", info->paused);
    ff_json_put_text(&made, "paused_reason", info->paused_reason);
    ff_json_put_i64(&made, "waiting", info->waiting);
    ff_json_put_i64(&made, "delayed", info->delayed);
    ff_json_put_i64(&made, "blocked", info->blocked);
    ff_json_put_i64(&made, "active", info->active);
    ff_json_put_ms(&made, "oldest_waiting_at_ms", info->oldest_waiting_at_ms);
    return ff_json_made(&made);
}

json_t *ff_json_lanes(const struct ff_lane_list *list)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "lanes", FF_JSON_ARRAY(list->items, list->count, lane));
    return ff_json_made(&made);
}

static json_t *worker(const void *item)
{
    const struct ff_worker_info *const info = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "worker_id", info->worker_id);
    ff_json_put_text(&made, "worker_instance_id", info->worker_instance_id);
    ff_json_put_text(&made, "namespace", info->ns);
    ff_json_put_texts(&made, "lanes", info->lanes, info->lane_count);
    ff_json_put_texts(&made, "kinds", info->kinds, info->kind_count);
    ff_json_put_texts(&made, "capabilities", info->capabilities, info->capability_count);
    ff_json_put_ms(&made, "registered_at_ms", info->registered_at_ms);
    ff_json_put_ms(&made, "seen_at_ms", info->seen_at_ms);
    ff_json_put_bool(&made, "live", info->live);
    return ff_json_made(&made);
}

json_t *ff_json_workers(const struct ff_worker_list *list)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "workers", FF_JSON_ARRAY(list->items, list->count, worker));
    return ff_json_made(&made);
}

/* `filtered` is what a filter in the statement leaves to be filtered afterwards: nothing. */
static json_t *scanner_report(const struct ff_scanner_info *info)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_i64(&made, "scanned",
                    info->last_scanned ? info->last_scanned : info->last_processed);
    ff_json_put_i64(&made, "reconciled", info->last_processed);
    ff_json_put_i64(&made, "noop", info->last_noop);
    ff_json_put_i64(&made, "filtered", 0);
    ff_json_put_i64(&made, "errors", info->last_errors);
    return ff_json_made(&made);
}

static json_t *scanner(const void *item)
{
    const struct ff_scanner_info *const info = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "name", info->name);
    ff_json_put_i64(&made, "interval_ms", info->interval_ms);
    ff_json_put_i64(&made, "ticks", info->ticks);
    ff_json_put_i64(&made, "last_processed", info->last_processed);
    ff_json_put_i64(&made, "last_errors", info->last_errors);
    ff_json_put_i64(&made, "processed", info->processed);
    ff_json_put_i64(&made, "errors", info->errors);
    ff_json_put(&made, "last_report", scanner_report(info));
    return ff_json_made(&made);
}

json_t *ff_json_scanners(const struct ff_scanner_list *list)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "scanners", FF_JSON_ARRAY(list->items, list->count, scanner));
    ff_json_put_i64(&made, "stuck_hops", list->stuck_hops);
    return ff_json_made(&made);
}

static json_t *finding(const void *item)
{
    const struct ff_finding *const found = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "check", found->check);
    ff_json_put_text(&made, "execution_id", found->execution_id[0] ? found->execution_id : NULL);
    ff_json_put_text(&made, "detail", found->detail);
    return ff_json_made(&made);
}

json_t *ff_json_findings(const struct ff_findings *findings)
{
    struct ff_json_maker made = ff_json_make();
    bool more = false;

    for (size_t i = 0; i < findings->count; i++)
        more |= !strcmp(findings->items[i].detail, FF_FINDING_MORE);
    ff_json_put_i64(&made, "checks", findings->checks);
    ff_json_put(&made, "findings", FF_JSON_ARRAY(findings->items, findings->count, finding));
    ff_json_put_bool(&made, "more", more);
    return ff_json_made(&made);
}

json_t *ff_json_bulk_result(const struct ff_bulk_result *result)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_i64(&made, "matched", result->matched);
    ff_json_put_i64(&made, "done", result->done);
    ff_json_put_i64(&made, "unchanged", result->unchanged);
    ff_json_put_i64(&made, "refused", result->refused);
    ff_json_put_bool(&made, "more", result->more);
    return ff_json_made(&made);
}

/* ---- tasks ------------------------------------------------------------------------------------
 */

static json_t *upstream(const struct ff_upstream *given)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "execution_id", given->execution_id);
    ff_json_put_text(&made, "outcome", given->outcome);
    if (given->generation >= 0)
        ff_json_put_i64(&made, "generation", given->generation);
    if (given->result_elsewhere) {
        struct ff_exec_id id;
        char path[FF_ID_TEXT_BYTES], url[128];

        if (ff_exec_id_parse(ff_str_of(given->execution_id), &id, NULL) == FF_OK) {
            ff_exec_id_path(id, path);
            (void)snprintf(url, sizeof url, "/v1/executions/%s/result?generation=%d", path,
                           (int)given->generation);
            ff_json_put_text(&made, "result_url", url);
        }
    } else if (given->result.ptr) {
        ff_json_put_bytes(&made, "result", given->result, given->result_content_type);
    }
    return ff_json_made(&made);
}

static json_t *upstreams(const struct ff_task *given)
{
    struct ff_json_maker made = ff_json_make();

    for (size_t i = 0; i < given->upstream_count; i++)
        ff_json_put(&made, given->upstream[i].node, upstream(&given->upstream[i]));
    return ff_json_made(&made);
}

static json_t *task(const void *item)
{
    const struct ff_task *const given = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "execution_id", given->execution_id);
    ff_json_put_text(&made, "lease_id", given->lease_id);
    ff_json_put_i64(&made, "lease_epoch", given->lease_epoch);
    ff_json_put_i64(&made, "lease_ttl_ms", given->lease_ttl_ms);
    ff_json_put_ms(&made, "lease_expires_at_ms", given->lease_expires_at_ms);
    ff_json_put_i64(&made, "generation", given->generation);
    ff_json_put_i64(&made, "attempt_index", given->attempt_index);
    ff_json_put_text(&made, "attempt_type", given->attempt_type);
    ff_json_put_text(&made, "kind", given->kind);
    ff_json_put_text(&made, "lane", given->lane);
    ff_json_put_text(&made, "namespace", given->ns);
    ff_json_put_bytes(&made, "input", given->input, given->input_content_type);
    ff_json_put_tags(&made, given->tags, given->tag_count);
    ff_json_put_text(&made, "flow_id", given->flow_id[0] ? given->flow_id : NULL);
    ff_json_put_text(&made, "node", given->node);
    ff_json_put_ms(&made, "deadline_at_ms", given->deadline_at_ms);
    ff_json_put(&made, "upstream", upstreams(given));
    return ff_json_made(&made);
}

json_t *ff_json_tasks(const struct ff_tasks *tasks)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "tasks", FF_JSON_ARRAY(tasks->items, tasks->count, task));
    return ff_json_made(&made);
}

json_t *ff_json_task_result(const struct ff_task_result *result)
{
    struct ff_json_maker made = ff_json_make();

    if (result->status != FF_OK) {
        json_decref(made.object);
        return failed_item(result->status, &result->error);
    }
    if (result->public_state)
        ff_json_put_text(&made, "public_state", result->public_state);
    if (result->lease_expires_at_ms != FF_ABSENT_MS)
        ff_json_put_i64(&made, "lease_expires_at_ms", result->lease_expires_at_ms);
    if (result->retry_at_ms != FF_ABSENT_MS)
        ff_json_put_i64(&made, "retry_at_ms", result->retry_at_ms);
    return ff_json_made(&made);
}
