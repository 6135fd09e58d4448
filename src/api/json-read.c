/* SPDX-License-Identifier: Apache-2.0
 *
 * json-read.c -- submissions and policies out of JSON, strictly.
 *
 * Tables say which members there are; whatever is not in them is refused by name, so that a typing
 * mistake never becomes a default. Tests: tests/unit/test_json.c. */
#include "api/json.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"

#include "base/banned.h"

struct reader {
    struct ff_arena *arena;
    const char *path; /* "policy.retry_policy." */
    struct ff_error *reterr;
};

typedef ff_status member_fn(const struct reader *reader, const char *name, const json_t *value,
                            void *out);

struct member {
    const char *name;
    size_t offset;   /* of the field in the result */
    member_fn *read; /* gets a pointer to that field */
};

/* FF_INVALID, naming the member with its path. */
static ff_status wrong(const struct reader *reader, const char *name, const char *what)
{
    char field[96];

    (void)snprintf(field, sizeof field, "%s%s", reader->path, name);
    return ff_fail_field(reader->reterr, FF_INVALID, field, "%s must be %s", field, what);
}

static ff_status read_members(const struct reader *reader, const json_t *json,
                              const struct member *members, size_t count, void *out)
{
    json_t *const object = (json_t *)(uintptr_t)json; /* jansson's iterators are not const */

    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *const name = json_object_iter_key(at);
        size_t i = 0;

        while (i < count && strcmp(members[i].name, name) != 0)
            i++;
        if (i == count) {
            char field[96];

            (void)snprintf(field, sizeof field, "%s%s", reader->path, name);
            return ff_fail_field(reader->reterr, FF_UNKNOWN_FIELD, field, "no such field '%s'",
                                 field);
        }
        if (json_is_null(json_object_iter_value(at)))
            continue;
        FF_TRY(members[i].read(reader, name, json_object_iter_value(at),
                               (char *)out + members[i].offset));
    }
    return ff_arena_check(reader->arena, reader->reterr);
}

/* ---- simple members ---------------------------------------------------------------------------
 */

static const char *copy(const struct reader *reader, const json_t *string)
{
    const struct ff_str text = {.ptr = json_string_value(string),
                                .len = json_string_length(string)};

    return ff_arena_str(reader->arena, text).ptr;
}

static ff_status read_text(const struct reader *reader, const char *name, const json_t *value,
                           void *out)
{
    if (!json_is_string(value))
        return wrong(reader, name, "a string");
    *(const char **)out = copy(reader, value);
    return FF_OK;
}

static ff_status read_i64(const struct reader *reader, const char *name, const json_t *value,
                          void *out)
{
    if (!json_is_integer(value))
        return wrong(reader, name, "an integer");
    if (json_integer_value(value) == INT64_MIN) /* our own mark for "absent" */
        return wrong(reader, name, "in range");
    *(int64_t *)out = json_integer_value(value);
    return FF_OK;
}

static ff_status read_i32(const struct reader *reader, const char *name, const json_t *value,
                          void *out)
{
    int64_t wide = 0;

    FF_TRY(read_i64(reader, name, value, &wide));
    if (wide < INT32_MIN + 1 || wide > INT32_MAX)
        return wrong(reader, name, "in range");
    *(int32_t *)out = (int32_t)wide;
    return FF_OK;
}

static ff_status read_bool(const struct reader *reader, const char *name, const json_t *value,
                           void *out)
{
    if (!json_is_boolean(value))
        return wrong(reader, name, "true or false");
    *(bool *)out = json_is_true(value);
    return FF_OK;
}

static ff_status read_double(const struct reader *reader, const char *name, const json_t *value,
                             void *out)
{
    if (!json_is_number(value))
        return wrong(reader, name, "a number");
    *(double *)out = json_number_value(value);
    return FF_OK;
}

/* ---- policy -----------------------------------------------------------------------------------
 */

#define POLICY(name, read)                                                                         \
    {                                                                                              \
#name, offsetof(struct ff_policy_spec, name), read                                         \
    }

/* A delay that the chosen type does not use would be lost silently: it is refused. */
static ff_status check_backoff(const struct reader *reader, const json_t *json, const char *type)
{
    static const char *const fixed_only[] = {"delay_ms"};
    static const char *const exponential_only[] = {"initial_delay_ms", "max_delay_ms",
                                                   "multiplier"};
    const bool is_fixed = strcmp(type, "fixed") == 0;
    const char *const *const refused = is_fixed ? exponential_only : fixed_only;
    const size_t count = is_fixed ? FF_ARRAY_LEN(exponential_only) : FF_ARRAY_LEN(fixed_only);

    for (size_t i = 0; i < count; i++) {
        if (json_object_get(json, refused[i]))
            return wrong(reader, refused[i],
                         is_fixed ? "left out: back-off of type 'fixed' has only delay_ms"
                                  : "left out: only back-off of type 'fixed' has it");
    }
    return FF_OK;
}

static ff_status read_backoff(const struct reader *outer, const char *name, const json_t *value,
                              void *out)
{
    static const struct member members[] = {
        {"type", offsetof(struct ff_policy_spec, backoff), read_text},
        POLICY(delay_ms, read_i64),
        POLICY(initial_delay_ms, read_i64),
        POLICY(max_delay_ms, read_i64),
        POLICY(multiplier, read_double),
        POLICY(jitter, read_bool),
    };
    const struct reader reader = {outer->arena, "policy.retry_policy.backoff.", outer->reterr};
    struct ff_policy_spec *const policy = out;

    if (!json_is_object(value))
        return wrong(outer, name, "an object");
    FF_TRY(read_members(&reader, value, members, FF_ARRAY_LEN(members), policy));
    if (strcmp(policy->backoff, "fixed") != 0 && strcmp(policy->backoff, "exponential") != 0)
        return wrong(&reader, "type", "'fixed' or 'exponential'");
    return check_backoff(&reader, value, policy->backoff);
}

static ff_status read_retry(const struct reader *outer, const char *name, const json_t *value,
                            void *out)
{
    static const struct member members[] = {
        POLICY(max_retries, read_i32),
        {"backoff", 0, read_backoff},
    };
    const struct reader reader = {outer->arena, "policy.retry_policy.", outer->reterr};
    struct ff_policy_spec *const policy = out;

    if (!json_is_object(value))
        return wrong(outer, name, "an object");
    policy->has_retry_policy = true;
    return read_members(&reader, value, members, FF_ARRAY_LEN(members), policy);
}

ff_status ff_json_policy(const json_t *json, struct ff_arena *arena, struct ff_policy_spec *ret,
                         struct ff_error *reterr)
{
    static const struct member members[] = {
        {"retry_policy", 0, read_retry},    POLICY(attempt_timeout_ms, read_i64),
        POLICY(lease_lapse, read_text),     POLICY(max_reclaim_count, read_i32),
        POLICY(max_replay_count, read_i32), POLICY(dedup_window_ms, read_i64),
    };
    const struct reader reader = {arena, "policy.", reterr};
    struct ff_policy_spec policy;

    if (!json_is_object(json))
        return ff_fail_field(reterr, FF_INVALID, "policy", "policy must be an object");
    ff_policy_init(&policy);
    FF_TRY(read_members(&reader, json, members, FF_ARRAY_LEN(members), &policy));
    *ret = policy;
    return FF_OK;
}

/* ---- submission -------------------------------------------------------------------------------
 */

/* What does not go straight into a field of the submission. */
struct draft {
    struct ff_submission submission;
    const char *base64;
};

static ff_status read_tags(const struct reader *reader, const char *name, const json_t *value,
                           void *out)
{
    json_t *const object = (json_t *)(uintptr_t)value;
    struct ff_submission *const submission = &((struct draft *)out)->submission;
    struct ff_tag_pair *tags;
    size_t count = 0;

    if (!json_is_object(value))
        return wrong(reader, name, "an object");
    if (json_object_size(value) > FF_TAGS_MAX)
        return ff_fail_field(reader->reterr, FF_TOO_LARGE, name, "%zu tags, at most %d are allowed",
                             json_object_size(value), FF_TAGS_MAX);
    tags = ff_arena_array(reader->arena, json_object_size(value), sizeof *tags);
    if (!tags)
        return ff_arena_check(reader->arena, reader->reterr);
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *const key = json_object_iter_key(at);
        char field[96];

        (void)snprintf(field, sizeof field, "tags.%s", key);
        if (!json_is_string(json_object_iter_value(at)))
            return wrong(reader, field, "a string");
        tags[count].name = ff_arena_str(reader->arena, ff_str_of(key)).ptr;
        tags[count++].value = copy(reader, json_object_iter_value(at));
    }
    submission->tags = tags;
    submission->tag_count = count;
    return FF_OK;
}

static ff_status read_capabilities(const struct reader *reader, const char *name,
                                   const json_t *value, void *out)
{
    struct ff_submission *const submission = &((struct draft *)out)->submission;
    const size_t count = json_array_size(value);
    const char **names;

    if (!json_is_array(value))
        return wrong(reader, name, "an array of strings");
    if (count > FF_CAPABILITIES_MAX)
        return ff_fail_field(reader->reterr, FF_TOO_LARGE, name,
                             "%zu capabilities, at most %d are allowed", count,
                             FF_CAPABILITIES_MAX);
    names = ff_arena_array(reader->arena, count, sizeof(char *));
    for (size_t i = 0; names && i < count; i++) {
        if (!json_is_string(json_array_get(value, i)))
            return wrong(reader, name, "an array of strings");
        names[i] = copy(reader, json_array_get(value, i));
    }
    submission->required_capabilities = names;
    submission->required_capability_count = count;
    return FF_OK;
}

static ff_status read_input(const struct reader *reader, const char *name, const json_t *value,
                            void *out)
{
    struct ff_error problem;
    const ff_status status = ff_json_text(value, reader->arena, FF_PAYLOAD_BYTES_CEILING,
                                          &((struct draft *)out)->submission.input, &problem);

    return status == FF_OK ? FF_OK
                           : ff_fail_field(reader->reterr, status, name, "%s", problem.message);
}

static ff_status read_policy(const struct reader *reader, const char *name, const json_t *value,
                             void *out)
{
    struct ff_policy_spec *const policy = ff_arena_alloc(reader->arena, sizeof *policy);

    (void)name;
    if (!policy)
        return ff_arena_check(reader->arena, reader->reterr);
    FF_TRY(ff_json_policy(value, reader->arena, policy, reader->reterr));
    ((struct draft *)out)->submission.policy = policy;
    return FF_OK;
}

/* Bytes go as base64 with a content type; JSON goes as it is. */
static ff_status finish_input(const struct reader *reader, struct draft *draft)
{
    struct ff_submission *const submission = &draft->submission;

    if (!draft->base64) {
        if (submission->input_content_type)
            return wrong(reader, "input_content_type", "left out: it goes with input_base64");
        return FF_OK;
    }
    if (submission->input.ptr)
        return wrong(reader, "input_base64", "left out when there is an input");

    const struct ff_str text = ff_str_of(draft->base64);
    uint8_t *const bytes = ff_arena_alloc(reader->arena, FF_BASE64_DATA_BYTES_MAX(text.len) + 1);
    size_t len = 0;
    if (!bytes)
        return ff_arena_check(reader->arena, reader->reterr);
    if (!ff_base64_decode(text, bytes, &len))
        return wrong(reader, "input_base64", "base64");
    submission->input = (struct ff_str){.ptr = (const char *)bytes, .len = len};
    if (!submission->input_content_type)
        submission->input_content_type = "application/octet-stream";
    return FF_OK;
}

#define FIELD(name, field, read)                                                                   \
    {                                                                                              \
        name, offsetof(struct draft, submission.field), read                                       \
    }

ff_status ff_json_submission(const json_t *json, struct ff_arena *arena, struct ff_submission *ret,
                             struct ff_error *reterr)
{
    static const struct member members[] = {
        FIELD("kind", kind, read_text),
        FIELD("lane", lane, read_text),
        FIELD("namespace", ns, read_text),
        {"input", 0, read_input},
        {"input_base64", offsetof(struct draft, base64), read_text},
        FIELD("input_content_type", input_content_type, read_text),
        FIELD("priority", priority, read_i64),
        {"tags", 0, read_tags},
        FIELD("idempotency_key", idempotency_key, read_text),
        FIELD("execution_id", execution_id, read_text),
        FIELD("delay_ms", delay_ms, read_i64),
        FIELD("delay_until_ms", delay_until_ms, read_i64),
        FIELD("deadline_ms", deadline_ms, read_i64),
        FIELD("deadline_at_ms", deadline_at_ms, read_i64),
        {"required_capabilities", 0, read_capabilities},
        {"policy", 0, read_policy},
    };
    const struct reader reader = {arena, "", reterr};
    struct draft draft = {0};

    if (!json_is_object(json))
        return ff_fail(reterr, FF_INVALID, "a submission must be an object");
    ff_submission_init(&draft.submission);
    FF_TRY(read_members(&reader, json, members, FF_ARRAY_LEN(members), &draft));
    FF_TRY(finish_input(&reader, &draft));
    *ret = draft.submission;
    return FF_OK;
}
