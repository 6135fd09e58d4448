/* SPDX-License-Identifier: Apache-2.0
 *
 * info.c -- an execution row in the words of the public header.
 *
 * Tests: tests/unit/test_api.c. */
#include "api/api-int.h"

#include <string.h>

#include "base/error.h"
#include "model/policy.h"
#include "model/states.h"

#include "base/banned.h"

static void info_state(const struct ff_state_info *state, struct ff_info *info)
{
    info->public_state = state->public_state;
    info->finished = ff_state_is_terminal((int32_t)state->state);
    info->lifecycle_phase = state->lifecycle;
    info->ownership_state = state->ownership;
    info->eligibility_state = state->eligibility;
    info->attempt_state = state->attempt;
    info->terminal_outcome = state->outcome;
    info->blocking_reason = state->blocking;
}

static void info_lease(struct ff_arena *arena, const struct ff_execution *row, struct ff_info *info)
{
    info->has_lease = ff_state_is_leased(row->state) && !ff_uuid_is_zero(row->lease_id);
    if (!info->has_lease)
        return;
    (void)ff_uuid_format(row->lease_id, info->lease_id);
    info->worker_id = ff_api_text(arena, row->worker_id);
    info->worker_instance_id = ff_api_text(arena, row->worker_instance_id);
    info->lease_acquired_at_ms = row->lease_acquired_at_ms;
    info->lease_expires_at_ms = row->lease_expires_at_ms;
    info->lease_renewed_at_ms = row->lease_renewed_at_ms;
}

ff_status ff_info_from_row(struct ff_arena *arena, const struct ff_execution *row,
                           struct ff_info *info, struct ff_error *reterr)
{
    const struct ff_exec_id id = {.partition = row->partition_key, .uuid = row->execution_id};
    const struct ff_state_info *const state = ff_state_info(row->state);
    struct ff_policy policy;

    if (!state)
        return ff_fail(reterr, FF_SCHEMA, "state %d is not known to this version", (int)row->state);
    ff_policy_read(row->policy, &policy);
    *info = (struct ff_info){
        .ns = ff_api_text(arena, row->namespace),
        .lane = ff_api_text(arena, row->lane),
        .kind = ff_api_text(arena, row->kind),
        .node = ff_api_text(arena, row->node),
        .instance_tag = ff_api_text(arena, row->instance_tag),
        .priority = row->priority,
        .generation = row->generation,
        .attempt_index = row->attempt_index,
        .attempt_count = row->attempt_count,
        .retry_count = row->retry_count,
        .reclaim_count = row->reclaim_count,
        .replay_count = row->replay_count,
        .lease_epoch = row->lease_epoch,
        .lease_acquired_at_ms = FF_ABSENT_MS,
        .lease_expires_at_ms = FF_ABSENT_MS,
        .lease_renewed_at_ms = FF_ABSENT_MS,
        .progress_percent = -1,
        .progress_at_ms = FF_ABSENT_MS,
        .cancel_reason = ff_api_text(arena, row->cancel_reason),
        .cancelled_by = ff_api_text(arena, row->cancelled_by),
        .created_at_ms = row->created_at_ms,
        .changed_at_ms = row->changed_at_ms,
        .started_at_ms = row->started_at_ms,
        .finished_at_ms = row->finished_at_ms,
        .delay_until_ms = row->delay_until_ms,
        .deadline_at_ms = row->deadline_at_ms,
        .version = row->version,
    };
    ff_exec_id_text(id, info->execution_id);
    if (!ff_uuid_is_zero(row->flow_id))
        (void)ff_uuid_format(row->flow_id, info->flow_id);
    info_state(state, info);
    info_lease(arena, row, info);
    ff_policy_spec_of(&policy, &info->policy);
    return ff_arena_check(arena, reterr);
}

const char *const *ff_api_names(struct ff_arena *arena, struct ff_str joined, char separator,
                                size_t *ret_count)
{
    char *const text = ff_arena_alloc(arena, joined.len + 1);
    size_t count = 1;

    *ret_count = 0;
    if (!text || !joined.len)
        return NULL;
    memcpy(text, joined.ptr, joined.len);
    for (size_t i = 0; i < joined.len; i++)
        count += text[i] == separator;
    const char **const names = ff_arena_array(arena, count, sizeof(char *));
    if (!names)
        return NULL;
    names[0] = text;
    count = 1;
    for (size_t i = 0; i < joined.len; i++) {
        if (text[i] == separator) {
            text[i] = '\0';
            names[count++] = text + i + 1;
        }
    }
    *ret_count = count;
    return names;
}

void ff_info_capabilities(struct ff_arena *arena, struct ff_str tokens, struct ff_info *info)
{
    info->required_capabilities =
        ff_api_names(arena, tokens, ',', &info->required_capability_count);
}
