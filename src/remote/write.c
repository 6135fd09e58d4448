/* SPDX-License-Identifier: Apache-2.0
 *
 * write.c -- submissions, policies and filters as the contract's JSON.
 *
 * What is absent is left out: the server knows the defaults. Texts that are no UTF-8 cannot be said
 * in JSON and are refused by name. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "remote/write.h"

#include "base/banned.h"

static FF_PRINTF(2, 3) void refuse(struct ff_writing *out, const char *fmt, ...)
{
    va_list args;

    if (out->bad_field[0])
        return;
    va_start(args, fmt);
    (void)vsnprintf(out->bad_field, sizeof out->bad_field, fmt, args);
    va_end(args);
}

void ff_write_text(struct ff_writing *out, const char *name, const char *text)
{
    if (!text)
        return;
    if (ff_str_is_utf8(ff_str_of(text)))
        ff_json_put_text(&out->made, name, text);
    else
        refuse(out, "%s", name);
}

void ff_write_i64(struct ff_writing *out, const char *name, int64_t value)
{
    if (value != FF_ABSENT_MS)
        ff_json_put_i64(&out->made, name, value);
}

void ff_write_bytes(struct ff_writing *out, const char *name, struct ff_str bytes,
                    const char *content_type)
{
    if (content_type && !ff_str_is_utf8(ff_str_of(content_type)))
        refuse(out, "%s_content_type", name);
    else if (bytes.ptr && !ff_json_put_bytes(&out->made, name, bytes, content_type))
        refuse(out, "%s", name);
}

void ff_write_texts(struct ff_writing *out, const char *name, const char *const *texts,
                    size_t count)
{
    json_t *array;

    if (!count)
        return;
    array = json_array();
    for (size_t i = 0; array && i < count; i++) {
        if (!texts || !texts[i])
            refuse(out, "%s", name);
        else if (!ff_str_is_utf8(ff_str_of(texts[i])))
            refuse(out, "%s[%zu]", name, i);
        else if (json_array_append_new(array, json_string(texts[i])) != 0)
            out->made.failed = true;
    }
    ff_json_put(&out->made, name, array);
}

ff_status ff_write_check_tags(const struct ff_tag_pair *tags, size_t count, bool may_remove,
                              struct ff_error *reterr)
{
    char field[FF_TAG_NAME_BYTES_MAX + 8];
    size_t set = 0;

    for (size_t i = 0; i < count; i++) {
        if (!tags || !tags[i].name || !ff_str_is_utf8(ff_str_of(tags[i].name)) ||
            (!tags[i].value && !may_remove))
            return ff_fail_field(reterr, FF_INVALID, "tags", "a tag has no name or no value");
        set += tags[i].value != NULL;
        (void)snprintf(field, sizeof field, "tags.%.64s", tags[i].name);
        if (tags[i].value && !ff_str_is_utf8(ff_str_of(tags[i].value)))
            return ff_fail_field(reterr, FF_INVALID, field, "the value of a tag is no UTF-8");
        for (size_t j = 0; j < i; j++)
            if (strcmp(tags[i].name, tags[j].name) == 0)
                return ff_fail_field(reterr, FF_INVALID, field, "a tag is given twice");
    }
    if (set > FF_TAGS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "%zu tags, at most %d are allowed", set,
                             FF_TAGS_MAX);
    return FF_OK;
}

ff_status ff_write_tags(struct ff_writing *out, const struct ff_tag_pair *tags, size_t count,
                        struct ff_error *reterr)
{
    FF_TRY(ff_write_check_tags(tags, count, false, reterr));
    if (count)
        ff_json_put_tags(&out->made, tags, count);
    return FF_OK;
}

static json_t *policy_json(struct ff_writing *outer, const struct ff_policy_spec *policy)
{
    struct ff_writing out = {.made = ff_json_make()};
    struct ff_writing retry = {.made = ff_json_make()};
    struct ff_writing backoff = {.made = ff_json_make()};
    const bool is_fixed = policy->backoff && strcmp(policy->backoff, "fixed") == 0;

    ff_write_text(&backoff, "type", policy->backoff);
    if (is_fixed) {
        ff_write_i64(&backoff, "delay_ms", policy->delay_ms);
    } else {
        ff_write_i64(&backoff, "initial_delay_ms", policy->initial_delay_ms);
        ff_write_i64(&backoff, "max_delay_ms", policy->max_delay_ms);
        if (isfinite(policy->multiplier))
            ff_json_put(&backoff.made, "multiplier", json_real(policy->multiplier));
        else
            refuse(outer, "policy.retry_policy.backoff.multiplier");
    }
    ff_json_put_bool(&backoff.made, "jitter", policy->jitter);
    ff_write_i64(&retry, "max_retries", policy->max_retries);
    ff_json_put(&retry.made, "backoff", ff_json_made(&backoff.made));
    if (policy->has_retry_policy)
        ff_json_put(&out.made, "retry_policy", ff_json_made(&retry.made));
    else
        json_decref(retry.made.object);
    ff_write_i64(&out, "attempt_timeout_ms",
                 policy->attempt_timeout_ms ? policy->attempt_timeout_ms : FF_ABSENT_MS);
    ff_write_text(&out, "lease_lapse", policy->lease_lapse);
    ff_write_i64(&out, "max_reclaim_count", policy->max_reclaim_count);
    ff_write_i64(&out, "max_replay_count", policy->max_replay_count);
    ff_write_i64(&out, "dedup_window_ms", policy->dedup_window_ms);
    if (backoff.bad_field[0])
        refuse(outer, "policy.retry_policy.backoff.%s", backoff.bad_field);
    if (out.bad_field[0])
        refuse(outer, "policy.%s", out.bad_field);
    return ff_json_made(&out.made);
}

ff_status ff_write_submission(struct ff_writing *out, const struct ff_submission *given,
                              struct ff_error *reterr)
{
    struct ff_policy_spec policy;

    FF_TRY(ff_api_need(given->kind, "kind", reterr));
    ff_write_text(out, "kind", given->kind);
    ff_write_text(out, "lane", given->lane);
    ff_write_text(out, "namespace", given->ns);
    ff_write_bytes(out, "input", given->input, given->input_content_type);
    if (given->priority)
        ff_write_i64(out, "priority", given->priority);
    FF_TRY(ff_write_tags(out, given->tags, given->tag_count, reterr));
    ff_write_text(out, "idempotency_key", given->idempotency_key);
    ff_write_text(out, "execution_id", given->execution_id);
    ff_write_i64(out, "delay_ms", given->delay_ms);
    ff_write_i64(out, "delay_until_ms", given->delay_until_ms);
    ff_write_i64(out, "deadline_ms", given->deadline_ms);
    ff_write_i64(out, "deadline_at_ms", given->deadline_at_ms);
    ff_write_texts(out, "required_capabilities", given->required_capabilities,
                   given->required_capability_count);
    if (given->policy) {
        ff_policy_init(&policy);
        FF_TRY(ff_api_sized(&policy, sizeof policy, given->policy, given->policy->size, reterr));
        ff_json_put(&out->made, "policy", policy_json(out, &policy));
    }
    return FF_OK;
}

ff_status ff_written(struct ff_writing *out, json_t **ret, struct ff_error *reterr)
{
    if (out->bad_field[0]) {
        json_decref(out->made.object);
        return ff_fail_field(reterr, FF_INVALID, out->bad_field,
                             "%s is missing or cannot be said in JSON", out->bad_field);
    }
    *ret = ff_json_made(&out->made);
    return *ret ? FF_OK : ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
}
