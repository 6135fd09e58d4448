/* SPDX-License-Identifier: Apache-2.0
 *
 * policy.c -- the public form of a policy and of failure classes, to ours and back.
 *
 * Numbers are checked by the model (ff_policy_check); here only names become codes.
 * Tests: tests/unit/test_api.c. */
#include "api/api-int.h"

#include "base/error.h"
#include "model/policy.h"
#include "ops/execution.h"

#include "base/banned.h"

void ff_policy_spec_of(const struct ff_policy *policy, struct ff_policy_spec *spec)
{
    const bool is_fixed = policy->backoff == FF_BACKOFF_FIXED;
    struct ff_policy standard;

    ff_policy_default(&standard);
    *spec = (struct ff_policy_spec){
        .size = sizeof *spec,
        .has_retry_policy = true,
        .max_retries = policy->max_retries,
        .backoff = is_fixed ? "fixed" : "exponential",
        .delay_ms = is_fixed ? policy->delay_ms : standard.delay_ms,
        .initial_delay_ms = is_fixed ? standard.delay_ms : policy->delay_ms,
        .max_delay_ms = is_fixed ? standard.max_delay_ms : policy->max_delay_ms,
        .multiplier = is_fixed ? standard.multiplier : policy->multiplier,
        .jitter = policy->jitter,
        .attempt_timeout_ms = policy->attempt_timeout_ms,
        .lease_lapse = policy->lease_lapse == FF_LAPSE_RECLAIM ? "reclaim" : "retry",
        .max_reclaim_count = policy->max_reclaim_count,
        .max_replay_count = policy->max_replay_count,
        .dedup_window_ms = policy->dedup_window_ms,
    };
}

void ff_policy_init(struct ff_policy_spec *policy)
{
    struct ff_policy standard;

    if (!policy)
        return;
    ff_policy_default(&standard);
    ff_policy_spec_of(&standard, policy);
    policy->has_retry_policy = false;
    policy->max_retries = 0;
}

static ff_status backoff_of(const struct ff_policy_spec *spec, struct ff_policy *policy,
                            struct ff_error *reterr)
{
    const struct ff_str name = ff_str_of(spec->backoff ? spec->backoff : "exponential");

    policy->max_retries = spec->max_retries;
    policy->jitter = spec->jitter;
    if (ff_str_eq(name, FF_STR("fixed"))) {
        policy->backoff = FF_BACKOFF_FIXED;
        policy->delay_ms = spec->delay_ms;
        return FF_OK;
    }
    if (!ff_str_eq(name, FF_STR("exponential")))
        return ff_fail_field(reterr, FF_INVALID, "policy.retry_policy.backoff.type",
                             "back-off is 'fixed' or 'exponential', not '%s'", spec->backoff);
    policy->backoff = FF_BACKOFF_EXPONENTIAL;
    policy->delay_ms = spec->initial_delay_ms;
    policy->max_delay_ms = spec->max_delay_ms;
    policy->multiplier = spec->multiplier;
    return FF_OK;
}

ff_status ff_policy_of_spec(const struct ff_policy_spec *given, struct ff_policy *ret_policy,
                            struct ff_error *reterr)
{
    struct ff_policy_spec spec;
    struct ff_policy policy;

    ff_policy_default(&policy);
    if (!given) {
        *ret_policy = policy;
        return FF_OK;
    }
    ff_policy_init(&spec);
    FF_TRY(ff_api_sized(&spec, sizeof spec, given, given->size, reterr));
    if (spec.has_retry_policy)
        FF_TRY(backoff_of(&spec, &policy, reterr));

    const struct ff_str lapse = ff_str_of(spec.lease_lapse ? spec.lease_lapse : "retry");
    if (ff_str_eq(lapse, FF_STR("reclaim")))
        policy.lease_lapse = FF_LAPSE_RECLAIM;
    else if (ff_str_eq(lapse, FF_STR("retry")))
        policy.lease_lapse = FF_LAPSE_RETRY;
    else
        return ff_fail_field(reterr, FF_INVALID, "policy.lease_lapse",
                             "lease_lapse is 'retry' or 'reclaim', not '%s'", spec.lease_lapse);
    policy.attempt_timeout_ms = spec.attempt_timeout_ms;
    policy.max_reclaim_count = spec.max_reclaim_count;
    policy.max_replay_count = spec.max_replay_count;
    policy.dedup_window_ms = spec.dedup_window_ms;
    FF_TRY(ff_policy_check(&policy, reterr));
    *ret_policy = policy;
    return FF_OK;
}

static const char *const class_names[FF_FAILURE_CLASS_COUNT] = {
    [FF_FAILURE_TRANSIENT] = "transient",
    [FF_FAILURE_PERMANENT] = "permanent",
    [FF_FAILURE_TIMEOUT] = "timeout",
    [FF_FAILURE_INFRA_CRASH] = "infra_crash",
};

const char *ff_failure_class_text(int32_t failure_class)
{
    if (failure_class < 0 || failure_class >= FF_FAILURE_CLASS_COUNT)
        return NULL;
    return class_names[failure_class];
}

ff_status ff_failure_class_of(const char *text, int32_t *ret, struct ff_error *reterr)
{
    if (!text) {
        *ret = FF_FAILURE_TRANSIENT;
        return FF_OK;
    }
    for (int32_t i = 0; i < FF_FAILURE_CLASS_COUNT; i++) {
        if (ff_str_eq(ff_str_of(text), ff_str_of(class_names[i]))) {
            *ret = i;
            return FF_OK;
        }
    }
    return ff_fail_field(reterr, FF_INVALID, "class",
                         "class is transient, permanent, timeout or infra_crash, not '%s'", text);
}
