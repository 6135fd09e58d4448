/* SPDX-License-Identifier: Apache-2.0
 *
 * answers.c -- what the answers of a server hold; see answers.h.
 *
 * Tests: tests/conformance --store http. */
#include "api/answers-int.h"
#include "api/async.h"

#include <string.h>

#include "base/str.h"

#include "base/banned.h"

/* ---- executions --------------------------------------------------------------------------------
 */

static const struct ff_field state_fields[] = {
    F(ff_info, "lifecycle_phase", TEXT, lifecycle_phase),
    F(ff_info, "ownership_state", TEXT, ownership_state),
    F(ff_info, "eligibility_state", TEXT, eligibility_state),
    F(ff_info, "attempt_state", TEXT, attempt_state),
    F(ff_info, "terminal_outcome", TEXT, terminal_outcome),
    F(ff_info, "blocking_reason", TEXT, blocking_reason),
};
INSIDE(state, ff_info, .init = NULL);

static ff_status lease_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    (void)reader;
    (void)json;
    ((struct ff_info *)out)->has_lease = true;
    return FF_OK;
}

static const struct ff_field lease_fields[] = {
    F(ff_info, "worker_id", TEXT, worker_id),
    F(ff_info, "worker_instance_id", TEXT, worker_instance_id),
    CHARS(ff_info, "lease_id", lease_id),
    F(ff_info, "lease_epoch", I64, lease_epoch),
    F(ff_info, "acquired_at_ms", I64, lease_acquired_at_ms),
    F(ff_info, "expires_at_ms", I64, lease_expires_at_ms),
    F(ff_info, "renewed_at_ms", I64, lease_renewed_at_ms),
};
INSIDE(lease, ff_info, .finish = lease_finish);

static ff_status progress_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    (void)reader;
    (void)json;
    ((struct ff_info *)out)->has_progress = true;
    return FF_OK;
}

static const struct ff_field progress_fields[] = {
    F(ff_info, "percent", I32, progress_percent),
    F(ff_info, "message", TEXT, progress_message),
    F(ff_info, "updated_at_ms", I64, progress_at_ms),
};
INSIDE(progress, ff_info, .finish = progress_finish);

static const struct ff_field failure_fields[] = {
    F(ff_info, "message", TEXT, failure_message),
    F(ff_info, "class", TEXT, failure_class),
};
INSIDE(failure, ff_info, .init = NULL);

static const struct ff_field cancellation_fields[] = {
    F(ff_info, "reason", TEXT, cancel_reason),
    F(ff_info, "by", TEXT, cancelled_by),
};
INSIDE(cancellation, ff_info, .init = NULL);

static const struct ff_field info_fields[] = {
    CHARS(ff_info, "execution_id", execution_id),
    CHARS(ff_info, "flow_id", flow_id),
    F(ff_info, "namespace", TEXT, ns),
    F(ff_info, "lane", TEXT, lane),
    F(ff_info, "kind", TEXT, kind),
    F(ff_info, "node", TEXT, node),
    F(ff_info, "instance_tag", TEXT, instance_tag),
    F(ff_info, "public_state", TEXT, public_state),
    F(ff_info, "finished", BOOL, finished),
    FLAT("state", state),
    F(ff_info, "priority", I32, priority),
    F(ff_info, "generation", I32, generation),
    F(ff_info, "attempt_index", I32, attempt_index),
    F(ff_info, "attempt_count", I32, attempt_count),
    F(ff_info, "retry_count", I32, retry_count),
    F(ff_info, "reclaim_count", I32, reclaim_count),
    F(ff_info, "replay_count", I32, replay_count),
    F(ff_info, "lease_epoch", I64, lease_epoch),
    FLAT("lease", lease),
    FLAT("progress", progress),
    FLAT("failure", failure),
    FLAT("cancellation", cancellation),
    LIST(ff_info, "required_capabilities", TEXTS, required_capabilities, required_capability_count),
    {.name = "policy",
     .kind = FF_FIELD_OBJECT,
     .offset = offsetof(struct ff_info, policy),
     .shape = &ff_shape_policy},
    LIST(ff_info, "tags", TAGS, tags, tag_count),
    F(ff_info, "input", VALUE, input),
    F(ff_info, "input_base64", BASE64, input),
    F(ff_info, "input_content_type", TEXT, input_content_type),
    F(ff_info, "created_at_ms", I64, created_at_ms),
    F(ff_info, "changed_at_ms", I64, changed_at_ms),
    F(ff_info, "started_at_ms", I64, started_at_ms),
    F(ff_info, "finished_at_ms", I64, finished_at_ms),
    F(ff_info, "delay_until_ms", I64, delay_until_ms),
    F(ff_info, "deadline_at_ms", I64, deadline_at_ms),
    F(ff_info, "version", I64, version),
};

static void info_init(void *out)
{
    struct ff_info *const info = out;

    *info = (struct ff_info){
        .progress_percent = -1,
        .lease_acquired_at_ms = FF_ABSENT_MS,
        .lease_expires_at_ms = FF_ABSENT_MS,
        .lease_renewed_at_ms = FF_ABSENT_MS,
        .progress_at_ms = FF_ABSENT_MS,
        .started_at_ms = FF_ABSENT_MS,
        .finished_at_ms = FF_ABSENT_MS,
        .delay_until_ms = FF_ABSENT_MS,
        .deadline_at_ms = FF_ABSENT_MS,
    };
    ff_policy_init(&info->policy);
}
const struct ff_shape ff_answer_info =
    FF_SHAPE(NULL, struct ff_info, info_fields, .init = info_init);

static const struct ff_field infos_fields[] = {
    OBJECTS(ff_info_list, "executions", items, count, ff_answer_info),
    CHARS(ff_info_list, "next_cursor", next_cursor),
};
const struct ff_shape ff_answer_infos =
    FF_SHAPE(NULL, struct ff_info_list, infos_fields, .init = NULL);

static const struct ff_field bulk_result_fields[] = {
    F(ff_bulk_result, "matched", I64, matched),     F(ff_bulk_result, "done", I64, done),
    F(ff_bulk_result, "unchanged", I64, unchanged), F(ff_bulk_result, "refused", I64, refused),
    F(ff_bulk_result, "more", BOOL, more),
};
const struct ff_shape ff_answer_bulk_result =
    FF_SHAPE(NULL, struct ff_bulk_result, bulk_result_fields, .init = NULL);

/* ---- tasks -------------------------------------------------------------------------------------
 */

static const struct ff_field upstream_fields[] = {
    CHARS(ff_upstream, "execution_id", execution_id),
    F(ff_upstream, "outcome", TEXT, outcome),
    F(ff_upstream, "generation", I32, generation),
    F(ff_upstream, "result", VALUE, result),
    F(ff_upstream, "result_base64", BASE64, result),
    F(ff_upstream, "result_content_type", TEXT, result_content_type),
    SEEN("result_url", "where the result is, if it is too large to come along"),
};

static void upstream_init(void *out)
{
    ((struct ff_upstream *)out)->generation = -1;
}

static ff_status upstream_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    (void)reader;
    ((struct ff_upstream *)out)->result_elsewhere = ff_reader_has(json, "result_url");
    return FF_OK;
}
static const struct ff_shape upstream = FF_SHAPE(NULL, struct ff_upstream, upstream_fields,
                                                 .init = upstream_init, .finish = upstream_finish);

/* {"<node>": {...}} as an array, in the order of the answer. */
static ff_status task_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    json_t *const nodes = json_object_get(json, "upstream");
    struct ff_task *const task = out;
    const size_t count = json_object_size(nodes);
    struct ff_upstream *const items = ff_arena_array(reader->arena, count, sizeof *items);
    size_t i = 0;

    for (void *at = json_object_iter(nodes); items && at; at = json_object_iter_next(nodes, at)) {
        FF_TRY(ff_shape_take(&upstream, json_object_iter_value(at), reader->arena, &items[i],
                             reader->reterr));
        items[i++].node = ff_arena_str(reader->arena, ff_str_of(json_object_iter_key(at))).ptr;
    }
    task->upstream = items;
    task->upstream_count = items ? count : 0;
    return ff_arena_check(reader->arena, reader->reterr);
}

static void task_init(void *out)
{
    *(struct ff_task *)out = (struct ff_task){.deadline_at_ms = FF_ABSENT_MS};
}

static const struct ff_field task_fields[] = {
    CHARS(ff_task, "execution_id", execution_id),
    CHARS(ff_task, "lease_id", lease_id),
    CHARS(ff_task, "flow_id", flow_id),
    F(ff_task, "lease_epoch", I64, lease_epoch),
    F(ff_task, "lease_ttl_ms", I64, lease_ttl_ms),
    F(ff_task, "lease_expires_at_ms", I64, lease_expires_at_ms),
    F(ff_task, "generation", I32, generation),
    F(ff_task, "attempt_index", I32, attempt_index),
    F(ff_task, "attempt_type", TEXT, attempt_type),
    F(ff_task, "kind", TEXT, kind),
    F(ff_task, "lane", TEXT, lane),
    F(ff_task, "namespace", TEXT, ns),
    F(ff_task, "node", TEXT, node),
    F(ff_task, "input", VALUE, input),
    F(ff_task, "input_base64", BASE64, input),
    F(ff_task, "input_content_type", TEXT, input_content_type),
    LIST(ff_task, "tags", TAGS, tags, tag_count),
    F(ff_task, "deadline_at_ms", I64, deadline_at_ms),
    SEEN("upstream", "by node: outcome, and result or result_url"),
};
static const struct ff_shape task =
    FF_SHAPE(NULL, struct ff_task, task_fields, .init = task_init, .finish = task_finish);

static const struct ff_field tasks_fields[] = {
    OBJECTS(ff_tasks, "tasks", items, count, task),
};
const struct ff_shape ff_answer_tasks = FF_SHAPE(NULL, struct ff_tasks, tasks_fields, .init = NULL);

/* ---- attempts, events, reasons -----------------------------------------------------------------
 */

static const struct ff_field attempt_failure_fields[] = {
    F(ff_attempt_info, "message", TEXT, failure_message),
    F(ff_attempt_info, "class", TEXT, failure_class),
};
INSIDE(attempt_failure, ff_attempt_info, .init = NULL);

static void attempt_init(void *out)
{
    *(struct ff_attempt_info *)out =
        (struct ff_attempt_info){.started_at_ms = FF_ABSENT_MS, .ended_at_ms = FF_ABSENT_MS};
}

static const struct ff_field attempt_fields[] = {
    F(ff_attempt_info, "generation", I32, generation),
    F(ff_attempt_info, "attempt_index", I32, attempt_index),
    F(ff_attempt_info, "attempt_type", TEXT, attempt_type),
    F(ff_attempt_info, "outcome", TEXT, outcome),
    F(ff_attempt_info, "lease_epoch", I64, lease_epoch),
    CHARS(ff_attempt_info, "lease_id", lease_id),
    F(ff_attempt_info, "started_at_ms", I64, started_at_ms),
    F(ff_attempt_info, "ended_at_ms", I64, ended_at_ms),
    F(ff_attempt_info, "worker_id", TEXT, worker_id),
    F(ff_attempt_info, "worker_instance_id", TEXT, worker_instance_id),
    FLAT("failure", attempt_failure),
};
INSIDE(attempt, ff_attempt_info, .init = attempt_init);
static const struct ff_field attempts_fields[] = {
    OBJECTS(ff_attempt_list, "attempts", items, count, attempt),
};
const struct ff_shape ff_answer_attempts =
    FF_SHAPE(NULL, struct ff_attempt_list, attempts_fields, .init = NULL);

static const struct ff_field event_data_fields[] = {
    F(ff_event_info, "public_state", TEXT, public_state),
    F(ff_event_info, "version", I64, version),
    F(ff_event_info, "worker_id", TEXT, worker_id),
    F(ff_event_info, "worker_instance_id", TEXT, worker_instance_id),
    CHARS(ff_event_info, "lease_id", lease_id),
    F(ff_event_info, "lease_epoch", I64, lease_epoch),
    F(ff_event_info, "prev_owner", TEXT, prev_owner),
    SEEN("new_owner", "reclaimed: whose it is now"),
    SEEN("new_lease_id", "reclaimed: under which lease"),
    SEEN("reason", "why"),
    SEEN("message", "of the failure that is retried"),
    SEEN("by", "who"),
    SEEN("revoked_by", "who took the lease away"),
    SEEN("lane", "the one that was paused or resumed"),
};
INSIDE(event_data, ff_event_info, .init = NULL);

static void event_init(void *out)
{
    *(struct ff_event_info *)out = (struct ff_event_info){.lease_epoch = FF_ABSENT_MS,
                                                          .version = FF_ABSENT_MS,
                                                          .num_a = FF_ABSENT_MS,
                                                          .num_b = FF_ABSENT_MS};
}

static int64_t number_of(const json_t *data, const char *name)
{
    return ff_reader_has(data, name) ? json_integer_value(json_object_get(data, name))
                                     : FF_ABSENT_MS;
}

/* note, num_a and num_b have names of their own by the kind of the event. */
static ff_status event_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_event_info *const event = out;
    const json_t *const data = json_object_get(json, "data");

    if (!event->kind || !event->type)
        return ff_reader_wrong(reader, "kind", "given");
    const struct ff_json_event_names names = ff_json_event_names(event->kind, event->type);
    event->note =
        ff_arena_str(reader->arena, ff_str_of(json_string_value(json_object_get(data, names.note))))
            .ptr;
    event->num_a = number_of(data, names.num_a);
    event->num_b = number_of(data, names.num_b);
    return FF_OK;
}

static const struct ff_field event_fields[] = {
    CHARS(ff_event_info, "cursor", cursor),
    F(ff_event_info, "event_id", I64, event_id),
    F(ff_event_info, "kind", TEXT, kind),
    F(ff_event_info, "type", TEXT, type),
    CHARS(ff_event_info, "execution_id", execution_id),
    CHARS(ff_event_info, "flow_id", flow_id),
    F(ff_event_info, "generation", I32, generation),
    F(ff_event_info, "namespace", TEXT, ns),
    F(ff_event_info, "instance_tag", TEXT, instance_tag),
    F(ff_event_info, "at_ms", I64, at_ms),
    FLAT("data", event_data),
};
INSIDE(event, ff_event_info, .init = event_init, .finish = event_finish);
static const struct ff_field events_fields[] = {
    OBJECTS(ff_event_list, "events", items, count, event),
    CHARS(ff_event_list, "next_cursor", next_cursor),
    CHARS(ff_event_list, "cursor", next_cursor),
    F(ff_event_list, "notice", TEXT, notice),
    CHARS(ff_event_list, "notice_cursor", notice_cursor),
};
const struct ff_shape ff_answer_events =
    FF_SHAPE(NULL, struct ff_event_list, events_fields, .init = NULL);

static const struct ff_field reason_fields[] = {
    F(ff_reason, "code", TEXT, code),
    F(ff_reason, "detail", TEXT, detail),
};
INSIDE(reason, ff_reason, .init = NULL);
static const struct ff_field explanation_fields[] = {
    CHARS(ff_explanation, "execution_id", execution_id),
    F(ff_explanation, "public_state", TEXT, public_state),
    OBJECTS(ff_explanation, "reasons", items, count, reason),
};
const struct ff_shape ff_answer_explanation =
    FF_SHAPE(NULL, struct ff_explanation, explanation_fields, .init = NULL);

/* ---- lanes, workers, loops ---------------------------------------------------------------------
 */

static void lane_init(void *out)
{
    *(struct ff_lane_info *)out = (struct ff_lane_info){.oldest_waiting_at_ms = FF_ABSENT_MS};
}

static const struct ff_field lane_fields[] = {
    F(ff_lane_info, "lane", TEXT, lane),
    F(ff_lane_info, "paused", BOOL, paused),
    F(ff_lane_info, "paused_reason", TEXT, paused_reason),
    F(ff_lane_info, "waiting", I64, waiting),
    F(ff_lane_info, "delayed", I64, delayed),
    F(ff_lane_info, "blocked", I64, blocked),
    F(ff_lane_info, "active", I64, active),
    F(ff_lane_info, "oldest_waiting_at_ms", I64, oldest_waiting_at_ms),
};
INSIDE(lane, ff_lane_info, .init = lane_init);
static const struct ff_field lanes_fields[] = {
    OBJECTS(ff_lane_list, "lanes", items, count, lane),
};
const struct ff_shape ff_answer_lanes =
    FF_SHAPE(NULL, struct ff_lane_list, lanes_fields, .init = NULL);

static const struct ff_field worker_fields[] = {
    F(ff_worker_info, "worker_id", TEXT, worker_id),
    F(ff_worker_info, "worker_instance_id", TEXT, worker_instance_id),
    F(ff_worker_info, "namespace", TEXT, ns),
    F(ff_worker_info, "registered_at_ms", I64, registered_at_ms),
    F(ff_worker_info, "seen_at_ms", I64, seen_at_ms),
    F(ff_worker_info, "live", BOOL, live),
    LIST(ff_worker_info, "lanes", TEXTS, lanes, lane_count),
    LIST(ff_worker_info, "kinds", TEXTS, kinds, kind_count),
    LIST(ff_worker_info, "capabilities", TEXTS, capabilities, capability_count),
};
INSIDE(worker, ff_worker_info, .init = NULL);
static const struct ff_field workers_fields[] = {
    OBJECTS(ff_worker_list, "workers", items, count, worker),
};
const struct ff_shape ff_answer_workers =
    FF_SHAPE(NULL, struct ff_worker_list, workers_fields, .init = NULL);

static const struct ff_field report_fields[] = {
    F(ff_scanner_info, "scanned", I64, last_scanned),
    F(ff_scanner_info, "reconciled", I64, last_processed),
    F(ff_scanner_info, "noop", I64, last_noop),
    SEEN("filtered", "read and left to others: 0, filters are a part of the scan"),
    F(ff_scanner_info, "errors", I64, last_errors),
};
INSIDE(report, ff_scanner_info, .init = NULL);
static const struct ff_field scanner_fields[] = {
    F(ff_scanner_info, "name", TEXT, name),
    F(ff_scanner_info, "interval_ms", I64, interval_ms),
    F(ff_scanner_info, "ticks", I64, ticks),
    F(ff_scanner_info, "last_processed", I64, last_processed),
    F(ff_scanner_info, "last_errors", I64, last_errors),
    F(ff_scanner_info, "processed", I64, processed),
    F(ff_scanner_info, "errors", I64, errors),
    FLAT("last_report", report),
};
INSIDE(scanner, ff_scanner_info, .init = NULL);
static const struct ff_field scanners_fields[] = {
    OBJECTS(ff_scanner_list, "scanners", items, count, scanner),
    F(ff_scanner_list, "stuck_hops", I64, stuck_hops),
};
const struct ff_shape ff_answer_scanners =
    FF_SHAPE(NULL, struct ff_scanner_list, scanners_fields, .init = NULL);

/* ---- what was done -----------------------------------------------------------------------------
 */

static const struct ff_field submitted_fields[] = {
    CHARS(ff_submitted, "execution_id", execution_id),
    F(ff_submitted, "public_state", TEXT, public_state),
    F(ff_submitted, "created", BOOL, created),
};
const struct ff_shape ff_answer_submitted =
    FF_SHAPE(NULL, struct ff_submitted, submitted_fields, .init = NULL);

static const struct ff_field operated_fields[] = {
    F(ff_operated, "public_state", TEXT, public_state),
    F(ff_operated, "generation", I32, generation),
    F(ff_operated, "lease_epoch", I64, lease_epoch),
};
const struct ff_shape ff_answer_operated =
    FF_SHAPE(NULL, struct ff_operated, operated_fields, .init = NULL);

static const struct ff_field task_result_fields[] = {
    F(ff_task_result, "public_state", TEXT, public_state),
    F(ff_task_result, "lease_expires_at_ms", I64, lease_expires_at_ms),
    F(ff_task_result, "retry_at_ms", I64, retry_at_ms),
};
const struct ff_shape ff_answer_task_result =
    FF_SHAPE(NULL, struct ff_task_result, task_result_fields, .init = NULL);

static const struct ff_field lane_changed_fields[] = {
    F(ff_lane_info, "lane", TEXT, lane),
    F(ff_lane_info, "paused", BOOL, paused),
};
const struct ff_shape ff_answer_lane_changed =
    FF_SHAPE(NULL, struct ff_lane_info, lane_changed_fields, .init = NULL);
