/* SPDX-License-Identifier: Apache-2.0
 *
 * json-read.c -- submissions and policies out of JSON: their tables.
 *
 * Tests: tests/unit/test_json.c. */
#include "api/json.h"

#include <stddef.h>
#include <string.h>

#include "api/fields.h"
#include "base/limits.h"

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
        if (json_object_get(json, refused[i]))
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

static const struct ff_field backoff_fields[] = {
    {.name = "type",
     .kind = FF_FIELD_TEXT,
     .offset = offsetof(struct ff_policy_spec, backoff),
     .choices = "fixed|exponential",
     .help = "default exponential"},
    POLICY(delay_ms, I64, .help = "of type fixed"),
    POLICY(initial_delay_ms, I64, .help = "of type exponential; default 1000"),
    POLICY(max_delay_ms, I64, .help = "of type exponential; default 60000"),
    POLICY(multiplier, REAL, .help = "of type exponential; default 2"),
    POLICY(jitter, BOOL, .help = "between half and all of the delay, by chance"),
};
static const struct ff_shape backoff_shape =
    FF_SHAPE("Backoff", struct ff_policy_spec, backoff_fields, .finish = backoff_finish);

static const struct ff_field retry_fields[] = {
    POLICY(max_retries, I32, .help = "default 0 when a retry policy is given"),
    {.name = "backoff", .kind = FF_FIELD_OBJECT, .offset = 0, .shape = &backoff_shape},
};
static const struct ff_shape retry_shape =
    FF_SHAPE("RetryPolicy", struct ff_policy_spec, retry_fields, .finish = retry_finish);

static const struct ff_field policy_fields[] = {
    {.name = "retry_policy",
     .kind = FF_FIELD_OBJECT,
     .offset = 0,
     .shape = &retry_shape,
     .help = "absent: 3 retries, exponential from 1 s to 60 s with jitter"},
    POLICY(attempt_timeout_ms, I64, .help = "absent: none"),
    POLICY(lease_lapse, TEXT, .choices = "retry|reclaim", .help = "default retry"),
    POLICY(max_reclaim_count, I32, .help = "default 100"),
    POLICY(max_replay_count, I32, .help = "default 10"),
    POLICY(dedup_window_ms, I64, .help = "default 24 hours"),
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

static const struct ff_field submission_fields[] = {
    SUBMISSION("kind", TEXT, kind, .help = "which handler runs it; required"),
    SUBMISSION("lane", TEXT, lane, .help = "queue; default 'default'"),
    SUBMISSION("namespace", TEXT, ns, .help = "tenant or environment; default 'default'"),
    SUBMISSION("input", VALUE, input, .help = "any JSON value"),
    SUBMISSION("input_base64", BASE64, input, .help = "bytes instead of a JSON value"),
    SUBMISSION("input_content_type", TEXT, input_content_type, .help = "of input_base64"),
    SUBMISSION("priority", I64, priority, .help = "0 to 9000, higher first; clamped"),
    SUBMISSION("tags", TAGS, tags, .more = offsetof(struct ff_submission, tag_count),
               .max = FF_TAGS_MAX),
    SUBMISSION("idempotency_key", TEXT, idempotency_key,
               .help = "the same again is the same execution"),
    SUBMISSION("execution_id", TEXT, execution_id, .help = "the caller's own full id"),
    SUBMISSION("delay_ms", I64, delay_ms, .help = "not before this long from now"),
    SUBMISSION("delay_until_ms", I64, delay_until_ms, .help = "not before this time"),
    SUBMISSION("deadline_ms", I64, deadline_ms, .help = "expires this long from now"),
    SUBMISSION("deadline_at_ms", I64, deadline_at_ms, .help = "expires at this time"),
    SUBMISSION("required_capabilities", TEXTS, required_capabilities,
               .more = offsetof(struct ff_submission, required_capability_count),
               .max = FF_CAPABILITIES_MAX, .help = "a worker must offer all of them"),
    SUBMISSION("policy", POINTER, policy, .shape = &ff_shape_policy),
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
