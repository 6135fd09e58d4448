/* SPDX-License-Identifier: Apache-2.0
 *
 * shapes.c -- what the bodies and queries of requests hold: the tables.
 *
 * They make the strict readers and the schemas of /openapi.json. */
#include "http/shapes.h"

#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/str.h"

#include "base/banned.h"

// clang-format off
#define F(struct_, name_, kind_, field_, ...)                                                      \
    {.name = name_, .kind = FF_FIELD_##kind_, .offset = offsetof(struct struct_, field_),          \
     __VA_ARGS__}
#define LIST(struct_, name_, kind_, field_, count_, max_, ...)                                     \
    F(struct_, name_, kind_, field_, .more = offsetof(struct struct_, count_), .max = max_,        \
      __VA_ARGS__)
// clang-format on

#define KINDS_MAX  16 /* of events; there are fewer */
#define LIMITS     "1 to " FF_TEXT_OF(FF_LIST_MAX)
#define LIMIT_HELP LIMITS "; default " FF_TEXT_OF(FF_LIST_DEFAULT)

/* ---- executions -------------------------------------------------------------------------------
 */

static const struct ff_field submissions_fields[] = {
    F(ff_items, "executions", ITEMS, items, .max = FF_SUBMIT_MAX, .required = true,
      .shape = &ff_shape_submission),
};
const struct ff_shape ff_shape_submissions =
    FF_SHAPE("Submissions", struct ff_items, submissions_fields, .init = NULL);

static const struct ff_field reason_fields[] = {
    F(ff_reason_body, "reason", TEXT, reason, .help = "why; kept in the log"),
};
const struct ff_shape ff_shape_reason =
    FF_SHAPE("Reason", struct ff_reason_body, reason_fields, .init = NULL);

static const struct ff_field priority_fields[] = {
    F(ff_priority_body, "priority", I64, priority, .required = true, .help = "0 to 9000; clamped"),
};
const struct ff_shape ff_shape_priority =
    FF_SHAPE("Priority", struct ff_priority_body, priority_fields, .init = NULL);

static const struct ff_field tags_fields[] = {
    LIST(ff_tags_body, "set", TAGS, set, set_count, FF_TAGS_MAX, .standard = "{}",
         .help = "new or changed tags"),
    LIST(ff_tags_body, "remove", TEXTS, remove, remove_count, FF_TAGS_MAX, .standard = "[]",
         .help = "their names"),
};
const struct ff_shape ff_shape_tags =
    FF_SHAPE("TagChange", struct ff_tags_body, tags_fields, .init = NULL);

static void replay_init(void *out)
{
    ff_replay_init(out);
}

static ff_status replay_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_replay_request *const replay = out;

    replay->has_input = replay->input.ptr != NULL;
    return ff_reader_bytes(reader, json, "input", &replay->input_content_type);
}

static const struct ff_field replay_fields[] = {
    F(ff_replay_request, "reason", TEXT, reason, .help = "why; kept in the log"),
    F(ff_replay_request, "input", VALUE, input, .help = "another input"),
    F(ff_replay_request, "input_base64", BASE64, input, .help = "bytes instead of a JSON value"),
    F(ff_replay_request, "input_content_type", TEXT, input_content_type,
      .standard = "\"" FF_BYTES_TYPE "\"", .beside = "input_base64", .help = "of the bytes"),
    F(ff_replay_request, "deadline_ms", I64, deadline_ms, .help = "a new one, from now"),
    F(ff_replay_request, "expected_generation", I64, expected_generation,
      .help = "only if it is in this one"),
    F(ff_replay_request, "scope", TEXT, scope, .standard = "\"self\"",
      .choices = "self|failed_ancestors", .help = "default self"),
    F(ff_replay_request, "reopen_downstream", BOOL, reopen_downstream, .standard = "false",
      .help = "members that ran because of it run again, too"),
};
const struct ff_shape ff_shape_replay = FF_SHAPE("Replay", struct ff_replay_request, replay_fields,
                                                 .init = replay_init, .finish = replay_finish);

/* ---- filters ----------------------------------------------------------------------------------
 */

/* "name:value" in two. */
static ff_status tag_of(const struct ff_reader *reader, const char *tag, struct ff_filter *filter)
{
    const struct ff_str text = ff_str_of(tag);
    const size_t len = tag ? strcspn(tag, ":") : 0;

    if (!tag)
        return FF_OK;
    if (!len)
        return ff_reader_wrong(reader, "tag", "name:value");
    filter->tag_name = ff_arena_str(reader->arena, ff_str_slice(text, 0, len)).ptr;
    if (tag[len])
        filter->tag_value = ff_arena_str(reader->arena, ff_str_slice(text, len + 1, SIZE_MAX)).ptr;
    return ff_arena_check(reader->arena, reader->reterr);
}

#define FILTER_FIELDS(struct_)                                                                     \
    F(struct_, "namespace", TEXT, filter.ns, .help = "only of this one"),                          \
        F(struct_, "lane", TEXT, filter.lane, .help = "only in this one"),                         \
        F(struct_, "kind", TEXT, filter.kind, .help = "only of this one"),                         \
        F(struct_, "state", TEXT, filter.state, .help = "a public state"),                         \
        F(struct_, "flow_id", TEXT, filter.flow_id, .help = "only members of this flow"),          \
        F(struct_, "worker_id", TEXT, filter.worker_id, .help = "leased by this worker"),          \
        F(struct_, "tag", TEXT, tag, .help = "name:value"),                                        \
        F(struct_, "created_after_ms", I64, filter.created_after_ms, .help = "created later"),     \
        F(struct_, "created_before_ms", I64, filter.created_before_ms, .help = "created earlier")

static void filter_query_init(void *out)
{
    struct ff_filter_query *const query = out;

    *query = (struct ff_filter_query){.tag = NULL};
    ff_filter_init(&query->filter);
}

static ff_status limit_check(const struct ff_reader *reader, const json_t *json, int32_t limit)
{
    if (ff_reader_has(json, "limit") && (limit < 1 || limit > FF_LIST_MAX))
        return ff_reader_wrong(reader, "limit", LIMITS);
    return FF_OK;
}

static ff_status filter_query_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_filter_query *const query = out;

    FF_TRY(limit_check(reader, json, query->filter.limit));
    return tag_of(reader, query->tag, &query->filter);
}

static const struct ff_field filter_query_fields[] = {
    FILTER_FIELDS(ff_filter_query),
    F(ff_filter_query, "limit", I32, filter.limit, .help = LIMIT_HELP),
    F(ff_filter_query, "cursor", TEXT, filter.cursor, .help = "next_cursor of the last page"),
};
const struct ff_shape ff_shape_filter_query =
    FF_SHAPE("FilterQuery", struct ff_filter_query, filter_query_fields, .init = filter_query_init,
             .finish = filter_query_finish);

static ff_status filter_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_where_body *const body = out;

    (void)json;
    return tag_of(reader, body->tag, &body->filter);
}

static const struct ff_field filter_fields[] = {FILTER_FIELDS(ff_where_body)};
static const struct ff_shape filter_shape =
    FF_SHAPE("Filter", struct ff_where_body, filter_fields, .finish = filter_finish);

static void where_init(void *out)
{
    struct ff_where_body *const body = out;

    *body = (struct ff_where_body){.tag = NULL};
    ff_filter_init(&body->filter);
}

static const struct ff_field where_fields[] = {
    {.name = "filter",
     .kind = FF_FIELD_OBJECT,
     .offset = 0,
     .required = true,
     .shape = &filter_shape,
     .help = "as in the list; {} means all"},
    F(ff_where_body, "reason", TEXT, reason, .help = "why; kept in the log"),
};
const struct ff_shape ff_shape_where =
    FF_SHAPE("Where", struct ff_where_body, where_fields, .init = where_init);

/* ---- other queries ----------------------------------------------------------------------------
 */

static ff_status wait_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    const struct ff_wait_query *const query = out;

    (void)json;
    if (query->wait_ms < 0 || query->wait_ms > FF_WAIT_MS_MAX)
        return ff_reader_wrong(reader, "wait_ms", "0 to 60000");
    return FF_OK;
}

static const struct ff_field wait_query_fields[] = {
    F(ff_wait_query, "wait_ms", I64, wait_ms, .help = "wait this long for its end, up to 60000"),
};
const struct ff_shape ff_shape_wait_query =
    FF_SHAPE("WaitQuery", struct ff_wait_query, wait_query_fields, .finish = wait_finish);

static void result_init(void *out)
{
    ((struct ff_result_query *)out)->generation = -1;
}

static ff_status result_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    const struct ff_result_query *const query = out;

    if (query->generation < 0 && ff_reader_has(json, "generation"))
        return ff_reader_wrong(reader, "generation", "0 or more");
    return FF_OK;
}

static const struct ff_field result_query_fields[] = {
    F(ff_result_query, "generation", I32, generation, .help = "of an earlier run; none: the last"),
};
const struct ff_shape ff_shape_result_query =
    FF_SHAPE("ResultQuery", struct ff_result_query, result_query_fields, .init = result_init,
             .finish = result_finish);

static ff_status page_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    return limit_check(reader, json, ((struct ff_page_query *)out)->limit);
}

static const struct ff_field page_query_fields[] = {
    F(ff_page_query, "limit", I32, limit, .help = LIMIT_HELP),
    F(ff_page_query, "cursor", TEXT, cursor, .help = "next_cursor of the last page"),
};
const struct ff_shape ff_shape_page_query =
    FF_SHAPE("PageQuery", struct ff_page_query, page_query_fields, .finish = page_finish);

static const struct ff_field verbose_query_fields[] = {
    F(ff_verbose_query, "verbose", BOOL, verbose, .help = "for people"),
};
const struct ff_shape ff_shape_verbose_query =
    FF_SHAPE("VerboseQuery", struct ff_verbose_query, verbose_query_fields, .init = NULL);

static void flow_query_init(void *out)
{
    *(struct ff_flow_filter *)out = (struct ff_flow_filter){.size = sizeof(struct ff_flow_filter)};
}

static ff_status flow_query_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    return limit_check(reader, json, ((struct ff_flow_filter *)out)->limit);
}

static const struct ff_field flow_query_fields[] = {
    F(ff_flow_filter, "namespace", TEXT, ns, .help = "only of this one"),
    F(ff_flow_filter, "kind", TEXT, kind, .help = "only of this one"),
    F(ff_flow_filter, "state", TEXT, state, .choices = "open|running|completed|failed|cancelled",
      .help = "only in this one"),
    F(ff_flow_filter, "limit", I32, limit, .help = LIMIT_HELP),
    F(ff_flow_filter, "cursor", TEXT, cursor, .help = "next_cursor of the last page"),
};
const struct ff_shape ff_shape_flow_query =
    FF_SHAPE("FlowQuery", struct ff_flow_filter, flow_query_fields, .init = flow_query_init,
             .finish = flow_query_finish);

static void event_query_init(void *out)
{
    struct ff_event_query *const query = out;

    *query = (struct ff_event_query){0};
    ff_event_filter_init(&query->filter);
}

/* "a,b" as an array. */
static ff_status kinds_of(const struct ff_reader *reader, struct ff_event_query *query)
{
    const char **const kinds = ff_arena_array(reader->arena, KINDS_MAX, sizeof(char *));
    const char *at = query->kinds ? query->kinds : "";

    while (kinds && *at) {
        const size_t len = strcspn(at, ",");

        if (query->filter.kind_count == KINDS_MAX)
            return ff_reader_wrong(reader, "kinds", "a list of kinds of events");
        kinds[query->filter.kind_count++] =
            ff_arena_str(reader->arena, (struct ff_str){.ptr = at, .len = len}).ptr;
        at += len + (at[len] == ',');
    }
    query->filter.kinds = kinds;
    return ff_arena_check(reader->arena, reader->reterr);
}

/* "7" or "0-127". */
static bool partitions_of(struct ff_event_query *query)
{
    const struct ff_str text = ff_str_of(query->partition);
    const size_t at = strcspn(text.ptr, "-");
    int64_t from, to;

    if (!ff_str_to_i64(ff_str_slice(text, 0, at), &from) ||
        !ff_str_to_i64(at < text.len ? ff_str_slice(text, at + 1, SIZE_MAX) : text, &to) ||
        from < 0 || to < from || to >= FF_PARTITIONS)
        return false;
    query->filter.partition_from = (int32_t)from;
    query->filter.partition_to = (int32_t)to;
    return true;
}

static ff_status event_query_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_event_query *const query = out;

    FF_TRY(limit_check(reader, json, query->limit));
    if (query->wait_ms < 0 || query->wait_ms > FF_WAIT_MS_MAX)
        return ff_reader_wrong(reader, "wait_ms", "0 to 60000");
    if (query->partition && !partitions_of(query))
        return ff_reader_wrong(reader, "partition", "0 to 255, or two of them: 0-127");
    return kinds_of(reader, query);
}

static const struct ff_field event_query_fields[] = {
    F(ff_event_query, "after", TEXT, after, .help = "a cursor, or start; absent: from now on"),
    F(ff_event_query, "kinds", TEXT, kinds,
      .help = "completion, lease, execution, operator, flow, worker, log; joined by commas"),
    F(ff_event_query, "namespace", TEXT, filter.ns, .help = "only of this one"),
    F(ff_event_query, "instance_tag", TEXT, filter.instance_tag, .help = "only with this one"),
    F(ff_event_query, "partition", TEXT, partition,
      .help = "only of this one, 0 to 255, or of these: 0-127"),
    F(ff_event_query, "execution_id", TEXT, filter.execution_id, .help = "only of this one"),
    F(ff_event_query, "flow_id", TEXT, filter.flow_id, .help = "of a flow and its members"),
    F(ff_event_query, "limit", I32, limit, .help = LIMIT_HELP),
    F(ff_event_query, "wait_ms", I64, wait_ms, .help = "wait this long for the first, up to 60000"),
};
const struct ff_shape ff_shape_event_query =
    FF_SHAPE("EventQuery", struct ff_event_query, event_query_fields, .init = event_query_init,
             .finish = event_query_finish);

/* ---- workers ----------------------------------------------------------------------------------
 */

static void claim_init(void *out)
{
    *(struct ff_claim_request *)out = (struct ff_claim_request){
        .size = sizeof(struct ff_claim_request), .max = 1, .lease_ttl_ms = FF_LEASE_TTL_MS_DEFAULT};
}

static ff_status claim_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    const struct ff_claim_request *const claim = out;

    (void)json;
    if (claim->max < 1 || claim->max > FF_TASKS_MAX)
        return ff_reader_wrong(reader, "max", "1 to 256");
    if (claim->lease_ttl_ms < FF_LEASE_TTL_MS_MIN || claim->lease_ttl_ms > FF_LEASE_TTL_MS_MAX)
        return ff_reader_wrong(reader, "lease_ttl_ms", "100 to 3600000");
    return FF_OK;
}

static const struct ff_field claim_fields[] = {
    F(ff_claim_request, "worker_instance_id", TEXT, worker_instance_id, .required = true,
      .help = "one process of the worker"),
    LIST(ff_claim_request, "lanes", TEXTS, lanes, lane_count, FF_LANES_PER_CLAIM_MAX,
         .help = "served in the order given; default [\"default\"]"),
    LIST(ff_claim_request, "kinds", TEXTS, kinds, kind_count, FF_KINDS_PER_CLAIM_MAX,
         .help = "none: all"),
    F(ff_claim_request, "namespace", TEXT, ns, .help = "default: the token's, else all"),
    LIST(ff_claim_request, "capabilities", TEXTS, capabilities, capability_count,
         FF_CAPABILITIES_MAX, .help = "what this worker offers"),
    F(ff_claim_request, "max", I32, max, .help = "1 to 256; default 1"),
    F(ff_claim_request, "lease_ttl_ms", I64, lease_ttl_ms, .help = "100 to 3600000; default 30000"),
    F(ff_claim_request, "wait_ms", I64, wait_ms, .help = "up to 60000; default 0"),
    F(ff_claim_request, "request_id", TEXT, request_id,
      .help = "the same again returns the tasks still leased under it"),
};
const struct ff_shape ff_shape_claim = FF_SHAPE("Claim", struct ff_claim_request, claim_fields,
                                                .init = claim_init, .finish = claim_finish);

#define LEASE_FIELDS(struct_)                                                                      \
    F(struct_, "execution_id", TEXT, lease.execution_id, .required = true),                        \
        F(struct_, "lease_id", TEXT, lease.lease_id, .required = true),                            \
        F(struct_, "lease_epoch", I64, lease.lease_epoch, .required = true)

static const struct ff_field renewal_fields[] = {
    LEASE_FIELDS(ff_renewal),
    F(ff_renewal, "lease_ttl_ms", I64, lease_ttl_ms, .help = "default: as at the claim"),
};
const struct ff_shape ff_shape_renewal =
    FF_SHAPE("Renewal", struct ff_renewal, renewal_fields, .init = NULL);

static ff_status completion_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_completion *const completion = out;

    return ff_reader_bytes(reader, json, "result", &completion->result_content_type);
}

static const struct ff_field completion_fields[] = {
    LEASE_FIELDS(ff_completion),
    F(ff_completion, "result", VALUE, result, .help = "any JSON value"),
    F(ff_completion, "result_base64", BASE64, result, .help = "bytes instead of a JSON value"),
    F(ff_completion, "result_content_type", TEXT, result_content_type, .help = "of the bytes"),
};
const struct ff_shape ff_shape_completion =
    FF_SHAPE("Completion", struct ff_completion, completion_fields, .finish = completion_finish);

static void failure_init(void *out)
{
    *(struct ff_failure *)out = (struct ff_failure){.retry_after_ms = FF_ABSENT_MS};
}

static const struct ff_field failure_fields[] = {
    LEASE_FIELDS(ff_failure),
    F(ff_failure, "message", TEXT, message, .required = true),
    F(ff_failure, "class", TEXT, failure_class,
      .choices = "transient|permanent|timeout|infra_crash", .help = "default transient"),
    F(ff_failure, "retry_after_ms", I64, retry_after_ms, .help = "default: by policy"),
};
const struct ff_shape ff_shape_failure =
    FF_SHAPE("Failure", struct ff_failure, failure_fields, .init = failure_init);

static void progress_init(void *out)
{
    *(struct ff_progress_note *)out = (struct ff_progress_note){.percent = -1};
}

static ff_status progress_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    const struct ff_progress_note *const note = out;

    if (ff_reader_has(json, "percent") && (note->percent < 0 || note->percent > 100))
        return ff_reader_wrong(reader, "percent", "0 to 100");
    return FF_OK;
}

static const struct ff_field progress_fields[] = {
    LEASE_FIELDS(ff_progress_note),
    F(ff_progress_note, "percent", I32, percent, .help = "0 to 100"),
    F(ff_progress_note, "message", TEXT, message, .help = "what it is doing"),
};
const struct ff_shape ff_shape_progress =
    FF_SHAPE("Progress", struct ff_progress_note, progress_fields, .init = progress_init,
             .finish = progress_finish);

static void postponement_init(void *out)
{
    *(struct ff_postponement *)out =
        (struct ff_postponement){.delay_ms = FF_ABSENT_MS, .delay_until_ms = FF_ABSENT_MS};
}

static const struct ff_field postponement_fields[] = {
    LEASE_FIELDS(ff_postponement),
    F(ff_postponement, "delay_ms", I64, delay_ms, .help = "either this"),
    F(ff_postponement, "delay_until_ms", I64, delay_until_ms, .help = "or that"),
};
const struct ff_shape ff_shape_postponement = FF_SHAPE(
    "Postponement", struct ff_postponement, postponement_fields, .init = postponement_init);

static const struct ff_field giveback_fields[] = {
    LEASE_FIELDS(ff_giveback),
    F(ff_giveback, "reason", TEXT, reason, .help = "why; kept in the log"),
};
const struct ff_shape ff_shape_giveback =
    FF_SHAPE("Giveback", struct ff_giveback, giveback_fields, .init = NULL);

#define TASKS(NAME, item, title)                                                                   \
    static const struct ff_field NAME##_fields[] = {                                               \
        F(ff_items, "tasks", ITEMS, items, .max = FF_TASKS_MAX, .required = true, .shape = &item), \
    };                                                                                             \
    const struct ff_shape ff_shape_##NAME =                                                        \
        FF_SHAPE(title, struct ff_items, NAME##_fields, .init = NULL)
TASKS(renewals, ff_shape_renewal, "Renewals");
TASKS(completions, ff_shape_completion, "Completions");
TASKS(failures, ff_shape_failure, "Failures");
TASKS(progresses, ff_shape_progress, "Progresses");
TASKS(postponements, ff_shape_postponement, "Postponements");
TASKS(givebacks, ff_shape_giveback, "Givebacks");
