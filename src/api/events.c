/* SPDX-License-Identifier: Apache-2.0
 *
 * events.c -- following the log.
 *
 * Tests: tests/conformance/event_*.c. */
#include "api/api-int.h"

#include "base/error.h"

#include "base/banned.h"

void ff_event_filter_init(struct ff_event_filter *filter)
{
    *filter =
        (struct ff_event_filter){.size = sizeof *filter, .partition_from = -1, .partition_to = -1};
}

ff_status ff_events(struct ff_client *client, const struct ff_event_filter *filter,
                    const char *after, int32_t limit, int64_t wait_ms, struct ff_event_list *ret,
                    struct ff_error *reterr)
{
    (void)client, (void)filter, (void)after, (void)limit, (void)wait_ms, (void)ret;
    return ff_fail(reterr, FF_UNAVAILABLE, "the log cannot be followed yet");
}

ff_status ff_subscribe(struct ff_client *client, const struct ff_event_filter *filter,
                       const char *after, struct ff_subscription **ret, struct ff_error *reterr)
{
    (void)client, (void)filter, (void)after, (void)ret;
    return ff_fail(reterr, FF_UNAVAILABLE, "the log cannot be followed yet");
}

ff_status ff_subscription_next(struct ff_subscription *subscription, size_t max, int64_t timeout_ms,
                               struct ff_delivery *ret, struct ff_error *reterr)
{
    (void)subscription, (void)max, (void)timeout_ms, (void)ret;
    return ff_fail(reterr, FF_CLOSED, "the log cannot be followed yet");
}

ff_status ff_subscribe_callback(struct ff_client *client, const struct ff_event_filter *filter,
                                const char *after, ff_on_delivery on_delivery, void *ctx,
                                struct ff_subscription **ret, struct ff_error *reterr)
{
    (void)client, (void)filter, (void)after, (void)on_delivery, (void)ctx, (void)ret;
    return ff_fail(reterr, FF_UNAVAILABLE, "the log cannot be followed yet");
}

void ff_unsubscribe(struct ff_subscription *subscription)
{
    (void)subscription;
}

ff_status ff_wait(struct ff_client *client, const char *execution_id, int64_t wait_ms,
                  struct ff_info_list *ret, struct ff_error *reterr)
{
    (void)wait_ms;
    return ff_get(client, execution_id, ret, reterr);
}

ff_status ff_flow_wait(struct ff_client *client, const char *flow_id, int64_t wait_ms,
                       struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    (void)wait_ms;
    return ff_flow_get(client, flow_id, ret, reterr);
}
