/* SPDX-License-Identifier: Apache-2.0
 *
 * check.c -- what callers may say: every field against its limit, before an op is queued.
 *
 * INVALID is a value of the wrong shape, TOO_LARGE one that is only too long or too many; both name
 * the field as the API does. Names keep to printable or at least visible text; free text (messages,
 * reasons, tag values) is any UTF-8 without NUL, which no store could keep.
 * Tests: tests/unit/test_check.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/sha256.h"
#include "model/capset.h"
#include "ops/background.h"
#include "ops/check.h"
#include "ops/execution.h"

#include "base/banned.h"

#define FIELD_BYTES 96

/* --- text --- */

static bool has_control(struct ff_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
            return true;
    return false;
}

static bool has_byte(struct ff_str s, char byte)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == byte)
            return true;
    return false;
}

static ff_status too_large(struct ff_error *reterr, const char *field, int64_t max)
{
    return ff_fail_field(reterr, FF_TOO_LARGE, field, "%s is larger than %" PRId64 " bytes", field,
                         max);
}

/* UTF-8 that both stores can keep. */
static ff_status check_text(struct ff_str s, size_t max, const char *field, struct ff_error *reterr)
{
    if (s.len > max)
        return too_large(reterr, field, (int64_t)max);
    if (!ff_str_is_utf8(s) || ff_str_has_nul(s))
        return ff_fail_field(reterr, FF_INVALID, field, "%s is not UTF-8 text without NUL", field);
    return FF_OK;
}

/* A name: not empty, no control characters. */
ff_status ff_check_name(struct ff_str s, size_t max, const char *field, struct ff_error *reterr)
{
    if (ff_str_empty(s))
        return ff_fail_field(reterr, FF_INVALID, field, "%s must not be empty", field);
    FF_TRY(check_text(s, max, field, reterr));
    if (has_control(s))
        return ff_fail_field(reterr, FF_INVALID, field, "%s has a control character", field);
    return FF_OK;
}

/* Shapes with their length in the rule: too long is not "too large" but wrong. */
static ff_status check_ascii(struct ff_str s, size_t max, const char *field,
                             struct ff_error *reterr)
{
    if (ff_str_empty(s) || s.len > max || !ff_str_is_printable_ascii(s))
        return ff_fail_field(reterr, FF_INVALID, field,
                             "%s must be 1 to %zu characters of printable ASCII", field, max);
    return FF_OK;
}

static ff_status check_worker_id(struct ff_str s, const char *field, struct ff_error *reterr)
{
    if (ff_str_empty(s) || s.len > FF_WORKER_ID_BYTES_MAX || !ff_str_is_utf8(s) || has_control(s) ||
        has_byte(s, ' '))
        return ff_fail_field(reterr, FF_INVALID, field,
                             "%s must be 1 to %d bytes without white space", field,
                             FF_WORKER_ID_BYTES_MAX);
    return FF_OK;
}

ff_status ff_check_optional_text(struct ff_str s, size_t max, const char *field,
                                 struct ff_error *reterr)
{
    return ff_str_is_null(s) ? FF_OK : check_text(s, max, field, reterr);
}

static ff_status check_content_type(struct ff_str s, const char *field, struct ff_error *reterr)
{
    return ff_str_is_null(s) ? FF_OK : check_ascii(s, FF_CONTENT_TYPE_BYTES_MAX, field, reterr);
}

ff_status ff_check_key(struct ff_str key, struct ff_error *reterr)
{
    if (ff_str_is_null(key))
        return FF_OK;
    if (key.len > FF_KEY_BYTES_MAX)
        return too_large(reterr, "idempotency_key", FF_KEY_BYTES_MAX);
    return check_ascii(key, FF_KEY_BYTES_MAX, "idempotency_key", reterr);
}

/* --- numbers --- */

static ff_status check_range(int64_t value, int64_t min, int64_t max, const char *field,
                             struct ff_error *reterr)
{
    if (value < min || value > max)
        return ff_fail_field(reterr, FF_INVALID, field, "%s must be from %" PRId64 " to %" PRId64,
                             field, min, max);
    return FF_OK;
}

static ff_status check_optional_range(int64_t value, int64_t min, int64_t max, const char *field,
                                      struct ff_error *reterr)
{
    return value == FF_NULL64 ? FF_OK : check_range(value, min, max, field, reterr);
}

static ff_status not_both(int64_t a, int64_t b, const char *field_a, const char *field_b,
                          struct ff_error *reterr)
{
    if (a != FF_NULL64 && b != FF_NULL64)
        return ff_fail_field(reterr, FF_INVALID, field_b, "%s and %s exclude each other", field_a,
                             field_b);
    return FF_OK;
}

static ff_status check_delay(int64_t delay_ms, int64_t until_ms, struct ff_error *reterr)
{
    FF_TRY(not_both(delay_ms, until_ms, "delay_ms", "delay_until_ms", reterr));
    FF_TRY(check_optional_range(delay_ms, 0, FF_DURATION_MS_MAX, "delay_ms", reterr));
    return check_optional_range(until_ms, 0, FF_TIME_MS_MAX, "delay_until_ms", reterr);
}

/* --- ids --- */

static ff_status check_id(struct ff_exec_id id, struct ff_error *reterr)
{
    if (id.partition < 0 || id.partition >= FF_PARTITIONS || ff_uuid_is_zero(id.uuid))
        return ff_fail_field(reterr, FF_INVALID, "execution_id", "execution id is not valid");
    return FF_OK;
}

ff_status ff_task_ref_check(const struct ff_task_ref *task, struct ff_error *reterr)
{
    FF_TRY(check_id(task->id, reterr));
    if (ff_uuid_is_zero(task->lease_id))
        return ff_fail_field(reterr, FF_INVALID, "lease_id", "lease id is not valid");
    return check_range(task->lease_epoch, 1, INT64_MAX, "lease_epoch", reterr);
}

/* --- tags and capabilities --- */

/* [a-z0-9][a-z0-9_.-]{0,63}, the length apart. */
static bool is_tag_name(struct ff_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        const bool first = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (!first && (i == 0 || (c != '_' && c != '.' && c != '-')))
            return false;
    }
    return name.len > 0;
}

static int by_tag_name(const void *a, const void *b)
{
    return ff_str_cmp(((const struct ff_tag_in *)a)->name, ((const struct ff_tag_in *)b)->name);
}

/* Sorts them: a hash must not depend on the order. A null value is allowed where it means removal.
 */
ff_status ff_check_tags(struct ff_tag_in *tags, size_t count, bool removal, struct ff_error *reterr)
{
    char field[FIELD_BYTES];

    for (size_t i = 0; i < count; i++) {
        if (!is_tag_name(tags[i].name))
            return ff_fail_field(reterr, FF_INVALID, "tags",
                                 "a tag's name must be [a-z0-9][a-z0-9_.-]{0,63}");
        (void)snprintf(field, sizeof field, "tags." FF_STR_FMT, FF_STR_ARG(tags[i].name));
        if (tags[i].name.len > FF_TAG_NAME_BYTES_MAX)
            return too_large(reterr, field, FF_TAG_NAME_BYTES_MAX);
        if (ff_str_is_null(tags[i].value) && !removal)
            return ff_fail_field(reterr, FF_INVALID, field, "%s must be a string", field);
        FF_TRY(ff_check_optional_text(tags[i].value, FF_TAG_VALUE_BYTES_MAX, field, reterr));
    }
    if (count > 0)
        qsort(tags, count, sizeof *tags, by_tag_name);
    for (size_t i = 1; i < count; i++) {
        if (ff_str_eq(tags[i].name, tags[i - 1].name)) {
            (void)snprintf(field, sizeof field, "tags." FF_STR_FMT, FF_STR_ARG(tags[i].name));
            return ff_fail_field(reterr, FF_INVALID, field, "%s is given twice", field);
        }
    }
    return FF_OK;
}

static ff_status check_capabilities(const struct ff_str *tokens, size_t count, const char *list,
                                    struct ff_error *reterr)
{
    char field[FIELD_BYTES];

    if (count > FF_CAPABILITIES_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, list, "more than %d capabilities",
                             FF_CAPABILITIES_MAX);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(field, sizeof field, "%s[%zu]", list, i);
        FF_TRY(ff_check_name(tokens[i], FF_CAPABILITY_BYTES_MAX, field, reterr));
        if (has_byte(tokens[i], ',') || has_byte(tokens[i], ' '))
            return ff_fail_field(reterr, FF_INVALID, field, "%s has a comma or white space", field);
    }
    return FF_OK;
}

/* --- submit --- */

void ff_hash_number(struct ff_sha256 *sha, int64_t number)
{
    uint8_t bytes[8];

    ff_put_be_i64(bytes, number);
    ff_sha256_add(sha, bytes, sizeof bytes);
}

void ff_hash_text(struct ff_sha256 *sha, struct ff_str text)
{
    ff_hash_number(sha, ff_str_is_null(text) ? -1 : (int64_t)text.len);
    ff_sha256_add(sha, text.ptr, text.len);
}

/* All but the dedup window: the first submission's counts, so a repeat may say another one. */
static void add_policy(struct ff_sha256 *sha, const struct ff_policy *policy)
{
    int64_t multiplier;

    memcpy(&multiplier, &policy->multiplier, sizeof multiplier);
    ff_hash_number(sha, policy->max_retries);
    ff_hash_number(sha, (int64_t)policy->backoff);
    ff_hash_number(sha, policy->delay_ms);
    ff_hash_number(sha, policy->max_delay_ms);
    ff_hash_number(sha, multiplier);
    ff_hash_number(sha, policy->jitter);
    ff_hash_number(sha, policy->attempt_timeout_ms);
    ff_hash_number(sha, (int64_t)policy->lease_lapse);
    ff_hash_number(sha, policy->max_reclaim_count);
    ff_hash_number(sha, policy->max_replay_count);
}

/* The request with its defaults, as far as the caller made it: a minted id is not part of it. */
ff_status ff_submit_hash(struct ff_submit_in *in, struct ff_error *reterr)
{
    struct ff_sha256 sha;
    ff_status status;

    FF_TRY(ff_sha256_init(&sha, reterr));
    ff_hash_number(&sha, in->own_id ? in->id.partition : -1);
    if (in->own_id)
        ff_sha256_add(&sha, in->id.uuid.b, sizeof in->id.uuid.b);
    ff_hash_text(&sha, in->namespace);
    ff_hash_text(&sha, in->lane);
    ff_hash_text(&sha, in->kind);
    ff_hash_text(&sha, ff_str_is_null(in->input_same) ? in->input : in->input_same);
    ff_hash_text(&sha, in->input_type);
    ff_hash_number(&sha, in->priority);
    ff_hash_number(&sha, (int64_t)in->tag_count);
    for (size_t i = 0; i < in->tag_count; i++) {
        ff_hash_text(&sha, in->tags[i].name);
        ff_hash_text(&sha, in->tags[i].value);
    }
    ff_hash_text(&sha, in->idempotency_key);
    ff_hash_number(&sha, in->delay_ms);
    ff_hash_number(&sha, in->delay_until_ms);
    ff_hash_number(&sha, in->deadline_ms);
    ff_hash_number(&sha, in->deadline_at_ms);
    ff_hash_text(&sha, in->capset_tokens);
    add_policy(&sha, &in->policy);
    status = ff_sha256_finish(&sha, in->hash, reterr);
    in->is_hashed = status == FF_OK;
    ff_sha256_done(&sha);
    return status;
}

static ff_status check_submission(const struct ff_submit_in *in, const struct ff_settings *settings,
                                  struct ff_error *reterr)
{
    FF_TRY(check_id(in->id, reterr));
    FF_TRY(ff_check_name(in->namespace, FF_NAMESPACE_BYTES_MAX, "namespace", reterr));
    FF_TRY(check_ascii(in->lane, FF_LANE_BYTES_MAX, "lane", reterr));
    FF_TRY(ff_check_name(in->kind, FF_KIND_BYTES_MAX, "kind", reterr));
    if ((int64_t)in->input.len > settings->input_bytes_max)
        return too_large(reterr, "input", settings->input_bytes_max);
    FF_TRY(check_content_type(in->input_type, "input_content_type", reterr));
    FF_TRY(ff_check_key(in->idempotency_key, reterr));
    FF_TRY(check_delay(in->delay_ms, in->delay_until_ms, reterr));
    FF_TRY(not_both(in->deadline_ms, in->deadline_at_ms, "deadline_ms", "deadline_at_ms", reterr));
    FF_TRY(check_optional_range(in->deadline_ms, 1, FF_DURATION_MS_MAX, "deadline_ms", reterr));
    FF_TRY(check_optional_range(in->deadline_at_ms, 0, FF_TIME_MS_MAX, "deadline_at_ms", reterr));
    FF_TRY(check_capabilities(in->capabilities, in->capability_count, "required_capabilities",
                              reterr));
    return ff_policy_check(&in->policy, reterr);
}

ff_status ff_submit_prepare(struct ff_submit_in *in, const struct ff_settings *settings,
                            struct ff_arena *arena, struct ff_error *reterr)
{
    if (ff_str_is_null(in->namespace))
        in->namespace = FF_STR("default");
    if (ff_str_is_null(in->lane))
        in->lane = FF_STR("default");
    FF_TRY(check_submission(in, settings, reterr));
    if (in->tag_count > FF_TAGS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "more than %d tags", FF_TAGS_MAX);
    FF_TRY(ff_check_tags(in->tags, in->tag_count, false, reterr));
    in->priority = ff_min_i64(ff_max_i64(in->priority, 0), FF_PRIORITY_MAX);
    in->capability_count = ff_capset_sort(in->capabilities, in->capability_count);
    FF_TRY(ff_capset_intern(in->capabilities, in->capability_count, arena, &in->capset_tokens,
                            &in->capset_id, reterr));
    return in->own_id || !ff_str_is_null(in->idempotency_key) ? ff_submit_hash(in, reterr) : FF_OK;
}

/* --- claim --- */

static ff_status check_claim_lists(const struct ff_claim_in *in, struct ff_error *reterr)
{
    char field[FIELD_BYTES];

    if (in->lane_count > FF_LANES_PER_CLAIM_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "lanes", "more than %d lanes",
                             FF_LANES_PER_CLAIM_MAX);
    if (in->kind_count > FF_KINDS_PER_CLAIM_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "kinds", "more than %d kinds",
                             FF_KINDS_PER_CLAIM_MAX);
    for (size_t i = 0; i < in->lane_count; i++) {
        (void)snprintf(field, sizeof field, "lanes[%zu]", i);
        FF_TRY(check_ascii(in->lanes[i], FF_LANE_BYTES_MAX, field, reterr));
    }
    for (size_t i = 0; i < in->kind_count; i++) {
        (void)snprintf(field, sizeof field, "kinds[%zu]", i);
        FF_TRY(ff_check_name(in->kinds[i], FF_KIND_BYTES_MAX, field, reterr));
    }
    return check_capabilities(in->capabilities, in->capability_count, "capabilities", reterr);
}

/* Keeps the first of each lane: served twice it could only find what it has left. */
static size_t drop_repeats(struct ff_str *names, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        size_t same = 0;

        while (same < kept && !ff_str_eq(names[same], names[i]))
            same++;
        if (same == kept)
            names[kept++] = names[i];
    }
    return kept;
}

ff_status ff_claim_prepare(struct ff_claim_in *in, struct ff_arena *arena, struct ff_error *reterr)
{
    if (in->lane_count == 0) {
        in->lanes = ff_arena_array(arena, 1, sizeof *in->lanes);
        FF_TRY(ff_arena_check(arena, reterr));
        in->lanes[0] = FF_STR("default");
        in->lane_count = 1;
    }
    FF_TRY(check_worker_id(in->worker_id, "worker_id", reterr));
    FF_TRY(check_worker_id(in->worker_instance_id, "worker_instance_id", reterr));
    FF_TRY(check_claim_lists(in, reterr));
    if (!ff_str_is_null(in->namespace))
        FF_TRY(ff_check_name(in->namespace, FF_NAMESPACE_BYTES_MAX, "namespace", reterr));
    FF_TRY(check_range(in->max, 1, FF_TASKS_MAX, "max", reterr));
    FF_TRY(check_range(in->lease_ttl_ms, FF_LEASE_TTL_MS_MIN, FF_LEASE_TTL_MS_MAX, "lease_ttl_ms",
                       reterr));
    if (!ff_str_is_null(in->request_id))
        FF_TRY(check_ascii(in->request_id, FF_REQUEST_ID_BYTES_MAX, "request_id", reterr));
    in->lane_count = drop_repeats(in->lanes, in->lane_count);
    in->kind_count = ff_capset_sort(in->kinds, in->kind_count);
    in->capability_count = ff_capset_sort(in->capabilities, in->capability_count);
    return FF_OK;
}

/* --- the words of a worker --- */

ff_status ff_renew_check(const struct ff_renew_in *in, struct ff_error *reterr)
{
    FF_TRY(ff_task_ref_check(&in->task, reterr));
    return check_optional_range(in->lease_ttl_ms, FF_LEASE_TTL_MS_MIN, FF_LEASE_TTL_MS_MAX,
                                "lease_ttl_ms", reterr);
}

ff_status ff_progress_check(const struct ff_progress_in *in, struct ff_error *reterr)
{
    FF_TRY(ff_task_ref_check(&in->task, reterr));
    if (in->percent != FF_NULL32)
        FF_TRY(check_range(in->percent, 0, 100, "percent", reterr));
    return ff_check_optional_text(in->message, FF_MESSAGE_BYTES_MAX, "message", reterr);
}

ff_status ff_complete_check(const struct ff_complete_in *in, const struct ff_settings *settings,
                            struct ff_error *reterr)
{
    FF_TRY(ff_task_ref_check(&in->task, reterr));
    if ((int64_t)in->result.len > settings->result_bytes_max)
        return too_large(reterr, "result", settings->result_bytes_max);
    return check_content_type(in->result_type, "result_content_type", reterr);
}

ff_status ff_fail_check(const struct ff_fail_in *in, struct ff_error *reterr)
{
    FF_TRY(ff_task_ref_check(&in->task, reterr));
    FF_TRY(check_range((int64_t)in->failure_class, 0, FF_FAILURE_CLASS_COUNT - 1, "class", reterr));
    FF_TRY(ff_check_optional_text(in->message, FF_MESSAGE_BYTES_MAX, "message", reterr));
    return check_optional_range(in->retry_after_ms, 0, FF_DURATION_MS_MAX, "retry_after_ms",
                                reterr);
}

ff_status ff_delay_check(const struct ff_delay_in *in, struct ff_error *reterr)
{
    FF_TRY(ff_task_ref_check(&in->task, reterr));
    if (in->delay_ms == FF_NULL64 && in->delay_until_ms == FF_NULL64)
        return ff_fail_field(reterr, FF_INVALID, "delay_ms",
                             "one of delay_ms and delay_until_ms is needed");
    return check_delay(in->delay_ms, in->delay_until_ms, reterr);
}

ff_status ff_release_check(const struct ff_release_in *in, struct ff_error *reterr)
{
    FF_TRY(ff_task_ref_check(&in->task, reterr));
    return ff_check_optional_text(in->reason, FF_REASON_BYTES_MAX, "reason", reterr);
}

/* --- the words of an operator --- */

ff_status ff_cancel_check(const struct ff_cancel_in *in, struct ff_error *reterr)
{
    FF_TRY(check_id(in->id, reterr));
    FF_TRY(ff_check_optional_text(in->by, FF_WORKER_ID_BYTES_MAX, "by", reterr));
    return ff_check_optional_text(in->reason, FF_REASON_BYTES_MAX, "reason", reterr);
}

ff_status ff_priority_check(struct ff_priority_in *in, struct ff_error *reterr)
{
    FF_TRY(check_id(in->id, reterr));
    FF_TRY(ff_check_optional_text(in->by, FF_WORKER_ID_BYTES_MAX, "by", reterr));
    in->priority = ff_min_i64(ff_max_i64(in->priority, 0), FF_PRIORITY_MAX);
    return FF_OK;
}

ff_status ff_replay_check(const struct ff_replay_in *in, const struct ff_settings *settings,
                          struct ff_error *reterr)
{
    FF_TRY(check_id(in->id, reterr));
    FF_TRY(ff_check_optional_text(in->by, FF_WORKER_ID_BYTES_MAX, "by", reterr));
    FF_TRY(ff_check_optional_text(in->reason, FF_REASON_BYTES_MAX, "reason", reterr));
    if (in->has_input && (int64_t)in->input.len > settings->input_bytes_max)
        return too_large(reterr, "input", settings->input_bytes_max);
    FF_TRY(check_content_type(in->input_type, "input_content_type", reterr));
    FF_TRY(check_optional_range(in->deadline_ms, 1, FF_DURATION_MS_MAX, "deadline_ms", reterr));
    return check_optional_range(in->expected_generation, 0, INT32_MAX, "expected_generation",
                                reterr);
}

ff_status ff_revoke_check(const struct ff_revoke_in *in, struct ff_error *reterr)
{
    FF_TRY(check_id(in->id, reterr));
    FF_TRY(ff_check_optional_text(in->by, FF_WORKER_ID_BYTES_MAX, "by", reterr));
    return ff_check_optional_text(in->reason, FF_REASON_BYTES_MAX, "reason", reterr);
}

ff_status ff_tag_check(const struct ff_tag_op_in *in, struct ff_error *reterr)
{
    FF_TRY(check_id(in->id, reterr));
    if (in->tag_count == 0)
        return ff_fail_field(reterr, FF_INVALID, "tags", "nothing to set and nothing to remove");
    if (in->tag_count > 2 * (size_t)FF_TAGS_MAX) /* replace all of them at once */
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "more than %d tags", 2 * FF_TAGS_MAX);
    return ff_check_tags(in->tags, in->tag_count, true, reterr);
}

ff_status ff_lane_pause_check(const struct ff_lane_pause_in *in, struct ff_error *reterr)
{
    FF_TRY(check_ascii(in->lane, FF_LANE_BYTES_MAX, "lane", reterr));
    FF_TRY(ff_check_optional_text(in->by, FF_WORKER_ID_BYTES_MAX, "by", reterr));
    return ff_check_optional_text(in->reason, FF_REASON_BYTES_MAX, "reason", reterr);
}
