/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_policy.c -- stored policies and policies as JSON: whatever is accepted survives being
 * stored, and its back-off stays within its bounds. */
#include <stdlib.h>
#include <string.h>

#include "api/api-int.h"
#include "api/json.h"
#include "base/limits.h"
#include "model/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ff_policy *policy, struct ff_arena *arena)
{
    const struct ff_str packed = ff_policy_pack(policy, arena);
    struct ff_policy again;
    struct ff_error error;

    ff_policy_default(&again);
    if (!ff_str_is_null(packed) && ff_policy_unpack(packed, &again, &error) != FF_OK)
        abort();
    if (again.max_retries != policy->max_retries || again.delay_ms != policy->delay_ms ||
        again.lease_lapse != policy->lease_lapse ||
        again.attempt_timeout_ms != policy->attempt_timeout_ms)
        abort();
    for (int32_t retry = 0; retry < 40; retry++) {
        const int64_t delay_ms = ff_policy_backoff(policy, retry, (uint32_t)retry * 2654435761u);

        if (delay_ms < 0 || delay_ms > FF_DURATION_MS_MAX)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ff_str bytes = {(const char *)data, size};
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    struct ff_policy_spec spec;
    struct ff_policy policy;
    struct ff_error error;
    struct ff_arena arena;

    ff_arena_init(&arena, 4096, 1 << 20);
    ff_policy_read(bytes, &policy); /* never refuses */
    if (ff_policy_unpack(bytes, &policy, &error) == FF_OK &&
        ff_policy_check(&policy, &error) == FF_OK)
        check(&policy, &arena);
    ff_policy_init(&spec);
    if (ff_json_parse(bytes, &json, &error) == FF_OK &&
        ff_json_policy(json, &arena, &spec, &error) == FF_OK &&
        ff_policy_of_spec(&spec, &policy, &error) == FF_OK)
        check(&policy, &arena);
    ff_arena_done(&arena);
    return 0;
}
