/* SPDX-License-Identifier: Apache-2.0
 *
 * json-read.c -- submissions, policies and flows out of JSON: their tables.
 *
 * Tests: tests/unit/test_json.c. */
#include "api/json.h"

#include <stddef.h>
#include <string.h>

#include "api/fields.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/policy.h"

#include "base/banned.h"

// clang-format off
#define MEMBER(struct_, name_, kind_, field_, ...)                                                 \
    {.name = name_, .kind = FF_FIELD_##kind_, .offset = offsetof(struct_, field_), __VA_ARGS__}
#define POLICY(name_, kind_, ...)                                                                  \
    MEMBER(struct ff_policy_spec, #name_, kind_, name_, __VA_ARGS__)
#define SUBMISSION(name_, kind_, field_, ...)                                                      \
    MEMBER(struct ff_submission, name_, kind_, field_, __VA_ARGS__)
// clang-format on

/* ---- policy -----------------------------------------------------------------------------------
 */

/* A delay that the chosen type does not use would be lost silently: it is refused. */
static ff_status backoff_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    static const char *const fixed_only[] = {"delay_ms"};
    static const char *const exponential_only[] = {"initial_delay_ms", "max_delay_ms",
                                                   "multiplier"};
    const struct ff_policy_spec *const policy = out;
    const bool is_fixed = strcmp(policy->backoff, "fixed") == 0;
    const char *const *const refused = is_fixed ? exponential_only : fixed_only;
    const size_t count = is_fixed ? FF_ARRAY_LEN(exponential_only) : FF_ARRAY_LEN(fixed_only);

    for (size_t i = 0; i < count; i++) {
        if (ff_reader_has(json, refused[i]))
            return ff_reader_wrong(reader, refused[i],
                                   is_fixed ? "left out: back-off of type 'fixed' has only delay_ms"
                                            : "left out: only back-off of type 'fixed' has it");
    }
    return FF_OK;
}

static ff_status retry_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    (void)reader;
    (void)json;
    ((struct ff_policy_spec *)out)->has_retry_policy = true;
    return FF_OK;
}

static void policy_init(void *out)
{
    ff_policy_init(out);
}

#define OF_TYPE(type_) .beside = "type", .beside_is = type_

static const struct ff_field backoff_fields[] = {
    {.name = "type",
     .kind = FF_FIELD_TEXT,
     .offset = offsetof(struct ff_policy_spec, backoff),
     .standard = "\"exponential\"",
     .choices = "fixed|exponential",
     .help = "default exponential"},
    POLICY(delay_ms, I64, .standard = FF_TEXT_OF(FF_POLICY_DELAY_MS), OF_TYPE("fixed"),
           .help = "of type fixed; default " FF_TEXT_OF(FF_POLICY_DELAY_MS)),
    POLICY(initial_delay_ms, I64, .standard = FF_TEXT_OF(FF_POLICY_DELAY_MS),
           OF_TYPE("exponential"),
           .help = "of type exponential; default " FF_TEXT_OF(FF_POLICY_DELAY_MS)),
    POLICY(max_delay_ms, I64, .standard = FF_TEXT_OF(FF_POLICY_MAX_DELAY_MS),
           OF_TYPE("exponential"),
           .help = "of type exponential; default " FF_TEXT_OF(FF_POLICY_MAX_DELAY_MS)),
    POLICY(multiplier, REAL, .standard = FF_TEXT_OF(FF_POLICY_MULTIPLIER), OF_TYPE("exponential"),
           .help = "of type exponential; default " FF_TEXT_OF(FF_POLICY_MULTIPLIER)),
    POLICY(jitter, BOOL, .standard = "true",
           .help = "between half and all of the delay, by chance; default true"),
};
static const struct ff_shape backoff_shape =
    FF_SHAPE("Backoff", struct ff_policy_spec, backoff_fields, .finish = backoff_finish);

static const struct ff_field retry_fields[] = {
    POLICY(max_retries, I32, .standard = "0", .help = "default 0 when a retry policy is given"),
    {.name = "backoff",
     .kind = FF_FIELD_OBJECT,
     .offset = 0,
     .standard = "{}",
     .shape = &backoff_shape},
};
static const struct ff_shape retry_shape =
    FF_SHAPE("RetryPolicy", struct ff_policy_spec, retry_fields, .finish = retry_finish);

static const struct ff_field policy_fields[] = {
    {.name = "retry_policy",
     .kind = FF_FIELD_OBJECT,
     .offset = 0,
     .standard = "{\"max_retries\":" FF_TEXT_OF(FF_POLICY_MAX_RETRIES) "}",
     .shape = &retry_shape,
     .help = "absent: 3 retries, exponential from 1 s to 60 s with jitter"},
    POLICY(attempt_timeout_ms, I64, .standard = "0", .help = "absent or 0: none"),
    POLICY(lease_lapse, TEXT, .standard = "\"retry\"", .choices = "retry|reclaim",
           .help = "default retry"),
    POLICY(max_reclaim_count, I32, .standard = FF_TEXT_OF(FF_POLICY_MAX_RECLAIM_COUNT),
           .help = "default " FF_TEXT_OF(FF_POLICY_MAX_RECLAIM_COUNT)),
    POLICY(max_replay_count, I32, .standard = FF_TEXT_OF(FF_POLICY_MAX_REPLAY_COUNT),
           .help = "default " FF_TEXT_OF(FF_POLICY_MAX_REPLAY_COUNT)),
    POLICY(dedup_window_ms, I64, .standard = FF_TEXT_OF(FF_POLICY_DEDUP_WINDOW_MS),
           .help = "default 24 hours"),
};
const struct ff_shape ff_shape_policy =
    FF_SHAPE("Policy", struct ff_policy_spec, policy_fields, .init = policy_init);

ff_status ff_json_policy(const json_t *json, struct ff_arena *arena, struct ff_policy_spec *ret,
                         struct ff_error *reterr)
{
    struct ff_policy_spec policy;

    FF_TRY(ff_shape_read(&ff_shape_policy, json, "policy", arena, &policy, reterr));
    *ret = policy;
    return FF_OK;
}

/* ---- submission -------------------------------------------------------------------------------
 */

static void submission_init(void *out)
{
    ff_submission_init(out);
}

static ff_status submission_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_submission *const submission = out;

    return ff_reader_bytes(reader, json, "input", &submission->input_content_type);
}

/* What runs, of a submission and of a node; `at` leads to the ff_submission in `struct_`. */
// clang-format off
#define WORK(struct_, at)                                                                          \
    MEMBER(struct_, "kind", TEXT, at kind, .help = "which handler runs it; required"),             \
    MEMBER(struct_, "lane", TEXT, at lane, .standard = "\"default\"", .help = "queue"),            \
    MEMBER(struct_, "input", VALUE, at input, .help = "any JSON value"),                           \
    MEMBER(struct_, "input_base64", BASE64, at input, .help = "bytes instead of a JSON value"),    \
    MEMBER(struct_, "input_content_type", TEXT, at input_content_type,                             \
           .standard = "\"" FF_BYTES_TYPE "\"", .beside = "input_base64",                          \
           .help = "of input_base64"),                                                             \
    MEMBER(struct_, "priority", I64, at priority, .standard = "0",                                 \
           .help = "0 to 9000, higher first; clamped"),                                            \
    MEMBER(struct_, "tags", TAGS, at tags, .more = offsetof(struct_, at tag_count),                \
           .max = FF_TAGS_MAX, .standard = "{}"),                                                  \
    MEMBER(struct_, "delay_ms", I64, at delay_ms, .help = "not before this long from now"),        \
    MEMBER(struct_, "delay_until_ms", I64, at delay_until_ms, .help = "not before this time"),     \
    MEMBER(struct_, "deadline_ms", I64, at deadline_ms, .help = "expires this long from now"),     \
    MEMBER(struct_, "deadline_at_ms", I64, at deadline_at_ms, .help = "expires at this time"),     \
    MEMBER(struct_, "required_capabilities", TEXTS, at required_capabilities,                      \
           .more = offsetof(struct_, at required_capability_count), .max = FF_CAPABILITIES_MAX,    \
           .standard = "[]", .help = "a worker must offer all of them"),                           \
    MEMBER(struct_, "policy", POINTER, at policy, .standard = "{}", .shape = &ff_shape_policy)
// clang-format on

static const struct ff_field submission_fields[] = {
    SUBMISSION("namespace", TEXT, ns, .standard = "\"default\"", .help = "tenant or environment"),
    SUBMISSION("idempotency_key", TEXT, idempotency_key,
               .help = "the same again is the same execution"),
    SUBMISSION("execution_id", TEXT, execution_id, .help = "the caller's own full id"),
    WORK(struct ff_submission, ),
};
const struct ff_shape ff_shape_submission =
    FF_SHAPE("Submission", struct ff_submission, submission_fields, .init = submission_init,
             .finish = submission_finish);

ff_status ff_json_submission(const json_t *json, struct ff_arena *arena, struct ff_submission *ret,
                             struct ff_error *reterr)
{
    struct ff_submission submission;

    FF_TRY(ff_shape_read(&ff_shape_submission, json, NULL, arena, &submission, reterr));
    *ret = submission;
    return FF_OK;
}

/* ---- flows ------------------------------------------------------------------------------------
 *
 * Only the form is checked here; whether the graph makes sense is decided in src/model/graph.c. */

struct node {
    struct ff_submission work;
    struct ff_flow_node node;
};

// clang-format off
#define NODE(name_, kind_, field_, ...)                                                            \
    MEMBER(struct node, name_, kind_, node.field_, __VA_ARGS__)
#define EDGE(name_, kind_, ...)                                                                    \
    MEMBER(struct ff_flow_edge, #name_, kind_, name_, __VA_ARGS__)
#define FLOW(name_, kind_, field_, ...)                                                            \
    MEMBER(struct ff_flow_request, name_, kind_, field_, __VA_ARGS__)
// clang-format on

/* In C a k of 0 means that none is given; here it was. */
static ff_status join_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    const struct ff_flow_node *const node = &((struct node *)out)->node;

    if (ff_reader_has(json, "k") && (!node->join || strcmp(node->join, "quorum") != 0))
        return ff_reader_wrong(reader, "k", "left out: it belongs to a quorum");
    return FF_OK;
}

static const struct ff_field join_fields[] = {
    NODE("policy", TEXT, join, .standard = "\"all_of\"", .choices = "all_of|any_of|quorum",
         .help = "default all_of"),
    NODE("k", I64, k, .help = "of a quorum"),
    NODE("on_satisfied", TEXT, on_satisfied, .standard = "\"cancel_remaining\"", .beside = "policy",
         .beside_is = "any_of|quorum", .choices = "cancel_remaining|let_run",
         .help = "not of all_of; default cancel_remaining"),
};
static const struct ff_shape join_shape =
    FF_SHAPE("Join", struct node, join_fields, .finish = join_finish);

static void node_init(void *out)
{
    submission_init(&((struct node *)out)->work);
}

static ff_status node_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    return submission_finish(reader, json, &((struct node *)out)->work);
}

static const struct ff_field node_fields[] = {
    NODE("name", TEXT, name, .required = true, .help = "unique in the flow"),
    {.name = "join", .kind = FF_FIELD_OBJECT, .offset = 0, .standard = "{}", .shape = &join_shape},
    WORK(struct node, work.),
};
static const struct ff_shape node_shape =
    FF_SHAPE("Node", struct node, node_fields, .init = node_init, .finish = node_finish);

static const struct ff_field edge_fields[] = {
    EDGE(from, TEXT, .required = true, .help = "a node's name"),
    EDGE(to, TEXT, .required = true, .help = "a node's name"),
    EDGE(pass, TEXT, .standard = "\"upstream\"", .choices = "upstream|input",
         .help = "input: the result replaces the node's input; default upstream"),
};
static const struct ff_shape edge_shape =
    FF_SHAPE("Edge", struct ff_flow_edge, edge_fields, .init = NULL);

static void flow_init(void *out)
{
    ff_flow_request_init(out);
}

/* The nodes were read together with their work; the request wants them apart. */
static ff_status flow_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    struct ff_flow_request *const flow = out;
    const struct node *const read = (const void *)flow->nodes;
    struct ff_flow_node *const nodes =
        ff_arena_array(reader->arena, flow->node_count, sizeof *nodes);

    (void)json;
    FF_TRY(ff_arena_check(reader->arena, reader->reterr));
    for (size_t i = 0; i < flow->node_count; i++) {
        nodes[i] = read[i].node;
        nodes[i].work = &read[i].work;
    }
    flow->nodes = nodes;
    return FF_OK;
}

/* How many there may be is a setting, looked at when the flow is made; the size of the body bounds
 * what is read. */
#define GRAPH                                                                                      \
    FLOW("nodes", OBJECTS, nodes, .more = offsetof(struct ff_flow_request, node_count),            \
         .max = INT32_MAX, .shape = &node_shape),                                                  \
        FLOW("edges", OBJECTS, edges, .more = offsetof(struct ff_flow_request, edge_count),        \
             .max = INT32_MAX, .standard = "[]", .shape = &edge_shape)

static const struct ff_field flow_fields[] = {
    FLOW("flow_id", TEXT, flow_id, .help = "the caller's own; a uuid"),
    FLOW("kind", TEXT, kind, .help = "what it is for; lists filter by it"),
    FLOW("namespace", TEXT, ns, .standard = "\"default\"", .help = "tenant or environment"),
    FLOW("idempotency_key", TEXT, idempotency_key, .help = "the same again is the same flow"),
    FLOW("tags", TAGS, tags, .more = offsetof(struct ff_flow_request, tag_count),
         .max = FF_TAGS_MAX, .standard = "{}"),
    GRAPH,
};
const struct ff_shape ff_shape_flow =
    FF_SHAPE("Flow", struct ff_flow_request, flow_fields, .init = flow_init, .finish = flow_finish);

static const struct ff_field growth_fields[] = {
    FLOW("expected_revision", I64, expected_revision, .help = "refuse if it is another"),
    GRAPH,
};
const struct ff_shape ff_shape_growth = FF_SHAPE("Growth", struct ff_flow_request, growth_fields,
                                                 .init = flow_init, .finish = flow_finish);

ff_status ff_json_flow(const json_t *json, struct ff_arena *arena, struct ff_flow_request *ret,
                       struct ff_error *reterr)
{
    struct ff_flow_request flow;

    FF_TRY(ff_shape_read(&ff_shape_flow, json, NULL, arena, &flow, reterr));
    *ret = flow;
    return FF_OK;
}

ff_status ff_json_growth(const json_t *json, struct ff_arena *arena, struct ff_flow_request *ret,
                         struct ff_error *reterr)
{
    struct ff_flow_request flow;

    FF_TRY(ff_shape_read(&ff_shape_growth, json, NULL, arena, &flow, reterr));
    *ret = flow;
    return FF_OK;
}

static const struct ff_field flow_cancel_fields[] = {
    MEMBER(struct ff_json_flow_cancel, "reason", TEXT, reason, .help = "why; kept with the flow"),
    MEMBER(struct ff_json_flow_cancel, "policy", TEXT, policy, .standard = "\"cancel_all\"",
           .choices = "cancel_all|cancel_pending|cancel_flow_only", .help = "default cancel_all"),
};
const struct ff_shape ff_shape_flow_cancel =
    FF_SHAPE("FlowCancel", struct ff_json_flow_cancel, flow_cancel_fields, .init = NULL);
