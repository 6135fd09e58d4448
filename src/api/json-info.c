/* SPDX-License-Identifier: Apache-2.0
 *
 * json-info.c -- an execution as the contract's JSON, whole or as a line of a list.
 *
 * Tests: tests/unit/test_json.c. */
#include "api/json.h"

#include <string.h>

#include "base/banned.h"

static json_t *state_of(const struct ff_info *info)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "lifecycle_phase", info->lifecycle_phase);
    ff_json_put_text(&made, "ownership_state", info->ownership_state);
    ff_json_put_text(&made, "eligibility_state", info->eligibility_state);
    ff_json_put_text(&made, "attempt_state", info->attempt_state);
    ff_json_put_text(&made, "terminal_outcome", info->terminal_outcome);
    ff_json_put_text(&made, "blocking_reason", info->blocking_reason);
    return ff_json_made(&made);
}

static json_t *lease_of(const struct ff_info *info)
{
    struct ff_json_maker made;

    if (!info->has_lease)
        return json_null();
    made = ff_json_make();
    ff_json_put_text(&made, "worker_id", info->worker_id);
    ff_json_put_text(&made, "worker_instance_id", info->worker_instance_id);
    ff_json_put_text(&made, "lease_id", info->lease_id);
    ff_json_put_i64(&made, "lease_epoch", info->lease_epoch);
    ff_json_put_ms(&made, "acquired_at_ms", info->lease_acquired_at_ms);
    ff_json_put_ms(&made, "expires_at_ms", info->lease_expires_at_ms);
    ff_json_put_ms(&made, "renewed_at_ms", info->lease_renewed_at_ms);
    return ff_json_made(&made);
}

static json_t *progress_of(const struct ff_info *info)
{
    struct ff_json_maker made;

    if (!info->has_progress)
        return json_null();
    made = ff_json_make();
    ff_json_put(&made, "percent",
                info->progress_percent < 0 ? json_null() : json_integer(info->progress_percent));
    ff_json_put_text(&made, "message", info->progress_message);
    ff_json_put_ms(&made, "updated_at_ms", info->progress_at_ms);
    return ff_json_made(&made);
}

static json_t *failure_of(const struct ff_info *info)
{
    struct ff_json_maker made;

    if (!info->failure_message)
        return json_null();
    made = ff_json_make();
    ff_json_put_text(&made, "message", info->failure_message);
    ff_json_put_text(&made, "class", info->failure_class);
    return ff_json_made(&made);
}

static json_t *cancellation_of(const struct ff_info *info)
{
    struct ff_json_maker made;

    if (!info->cancel_reason && !info->cancelled_by)
        return json_null();
    made = ff_json_make();
    ff_json_put_text(&made, "reason", info->cancel_reason);
    ff_json_put_text(&made, "by", info->cancelled_by);
    return ff_json_made(&made);
}

/* Complete, and in a form that ff_json_policy reads back. */
static json_t *policy_of(const struct ff_policy_spec *policy)
{
    struct ff_json_maker made = ff_json_make();
    struct ff_json_maker retry = ff_json_make();
    struct ff_json_maker backoff = ff_json_make();

    ff_json_put_text(&backoff, "type", policy->backoff);
    if (strcmp(policy->backoff, "fixed") == 0) {
        ff_json_put_i64(&backoff, "delay_ms", policy->delay_ms);
    } else {
        ff_json_put_i64(&backoff, "initial_delay_ms", policy->initial_delay_ms);
        ff_json_put_i64(&backoff, "max_delay_ms", policy->max_delay_ms);
        ff_json_put(&backoff, "multiplier", json_real(policy->multiplier));
    }
    ff_json_put_bool(&backoff, "jitter", policy->jitter);
    ff_json_put_i64(&retry, "max_retries", policy->max_retries);
    ff_json_put(&retry, "backoff", ff_json_made(&backoff));
    ff_json_put(&made, "retry_policy", ff_json_made(&retry));
    ff_json_put_ms(&made, "attempt_timeout_ms",
                   policy->attempt_timeout_ms ? policy->attempt_timeout_ms : FF_ABSENT_MS);
    ff_json_put_text(&made, "lease_lapse", policy->lease_lapse);
    ff_json_put_i64(&made, "max_reclaim_count", policy->max_reclaim_count);
    ff_json_put_i64(&made, "max_replay_count", policy->max_replay_count);
    ff_json_put_i64(&made, "dedup_window_ms", policy->dedup_window_ms);
    return ff_json_made(&made);
}

static void put_counts(struct ff_json_maker *made, const struct ff_info *info)
{
    ff_json_put_i64(made, "generation", info->generation);
    ff_json_put_i64(made, "attempt_index", info->attempt_index);
    ff_json_put_i64(made, "attempt_count", info->attempt_count);
    ff_json_put_i64(made, "retry_count", info->retry_count);
    ff_json_put_i64(made, "reclaim_count", info->reclaim_count);
    ff_json_put_i64(made, "replay_count", info->replay_count);
    ff_json_put_i64(made, "lease_epoch", info->lease_epoch);
    ff_json_put(made, "lease", lease_of(info));
}

static json_t *info_of(const struct ff_info *info, bool is_whole)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "execution_id", info->execution_id);
    ff_json_put_text(&made, "namespace", info->ns);
    ff_json_put_text(&made, "lane", info->lane);
    ff_json_put_text(&made, "kind", info->kind);
    ff_json_put_text(&made, "public_state", info->public_state);
    ff_json_put_bool(&made, "finished", info->finished);
    ff_json_put(&made, "state", state_of(info));
    ff_json_put_i64(&made, "priority", info->priority);
    if (is_whole)
        ff_json_put_tags(&made, info->tags, info->tag_count);
    ff_json_put_text(&made, "instance_tag", info->instance_tag);
    ff_json_put_text(&made, "flow_id", info->flow_id[0] ? info->flow_id : NULL);
    ff_json_put_text(&made, "node", info->node);
    put_counts(&made, info);
    if (is_whole) {
        ff_json_put(&made, "progress", progress_of(info));
        ff_json_put(&made, "failure", failure_of(info));
    }
    ff_json_put(&made, "cancellation", cancellation_of(info));
    ff_json_put_texts(&made, "required_capabilities", info->required_capabilities,
                      info->required_capability_count);
    if (is_whole) {
        ff_json_put(&made, "policy", policy_of(&info->policy));
        ff_json_put_bytes(&made, "input", info->input, info->input_content_type);
    }
    ff_json_put_ms(&made, "created_at_ms", info->created_at_ms);
    ff_json_put_ms(&made, "changed_at_ms", info->changed_at_ms);
    ff_json_put_ms(&made, "started_at_ms", info->started_at_ms);
    ff_json_put_ms(&made, "finished_at_ms", info->finished_at_ms);
    ff_json_put_ms(&made, "delay_until_ms", info->delay_until_ms);
    ff_json_put_ms(&made, "deadline_at_ms", info->deadline_at_ms);
    ff_json_put_i64(&made, "version", info->version);
    return ff_json_made(&made);
}

json_t *ff_json_info(const struct ff_info *info)
{
    return info_of(info, true);
}

json_t *ff_json_summary(const struct ff_info *info)
{
    return info_of(info, false);
}

static json_t *summary_item(const void *item)
{
    return ff_json_summary(item);
}

json_t *ff_json_list(const struct ff_info_list *list)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "executions", FF_JSON_ARRAY(list->items, list->count, summary_item));
    ff_json_put_text(&made, "next_cursor", list->next_cursor[0] ? list->next_cursor : NULL);
    return ff_json_made(&made);
}
