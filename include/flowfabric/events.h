/* SPDX-License-Identifier: Apache-2.0
 *
 * events.h -- the event log: history, following, waiting for an end.
 *
 * The log is read in the order of its ids and never past an event that may still come: whoever
 * keeps the cursor of the last event it has dealt with, and passes it back, misses nothing.
 * Everything of an event is filled in; deliveries are at least once across a reconnect. */
#ifndef FLOWFABRIC_EVENTS_H
#define FLOWFABRIC_EVENTS_H

#include "executions.h"
#include "flows.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ff_event_info {
    char cursor[19]; /* hex of 0x02 and the big-endian id */
    int64_t event_id;
    const char *kind, *type;
    char execution_id[FF_ID_BYTES]; /* empty: none */
    char flow_id[FF_UUID_BYTES];
    char lease_id[FF_UUID_BYTES];
    int32_t generation;
    const char *ns, *instance_tag, *public_state;
    const char *worker_id, *worker_instance_id, *prev_owner, *note;
    int64_t lease_epoch, version, num_a, num_b; /* FF_ABSENT_MS: does not apply */
    int64_t at_ms;
};
struct ff_event_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_event_info *items; /* oldest first */
    char next_cursor[FF_CURSOR_BYTES];
    const char *notice; /* of ff_events, in front of all of them: reset or gap (see ff_delivery) */
    char notice_cursor[FF_CURSOR_BYTES]; /* where the log goes on behind it */
};
FF_API FF_MUST_CHECK ff_status ff_history(struct ff_client *client, const char *execution_id,
                                          const char *cursor, int32_t limit,
                                          struct ff_event_list *ret, struct ff_error *reterr);

/* Start from ff_event_filter_init(). What is not given matches everything, an empty text is
 * refused; an event that lacks what is asked for never matches. */
struct ff_event_filter {
    size_t size;
    const char *const *kinds;      /* completion, lease, execution, operator, flow, worker, log */
    size_t kind_count;             /* 0: all */
    const char *ns, *instance_tag; /* NULL: any */
    int32_t partition_from, partition_to; /* both ends count; -1: from the first, to the last one */
    const char *execution_id;             /* canonical, fp:N:<uuid> or bare; NULL: any */
    const char *flow_id;                  /* with the events of its members; NULL: any */
};
FF_API void ff_event_filter_init(struct ff_event_filter *filter);

/* One page of the log behind `after`: a cursor, "start" (the oldest event kept), or NULL or empty
 * (from now on). Waits up to wait_ms (at most 60,000) while there is none. next_cursor is always
 * set: events the filter leaves out are behind it too. Within a page nothing is missing: it ends
 * where something does, and the next one says so, by its notice or by FF_GAP. FF_BAD_CURSOR: cannot
 * be read. FF_GAP: older than what is kept, or from a log that this one is not; reterr->oldest says
 * where to begin. */
FF_API FF_MUST_CHECK ff_status ff_events(struct ff_client *client,
                                         const struct ff_event_filter *filter, const char *after,
                                         int32_t limit, int64_t wait_ms, struct ff_event_list *ret,
                                         struct ff_error *reterr);

/* Events, or a notice. Notices come between events, in their place; the subscription goes on by
 * itself after each of them:
 *   disconnected  the store was away, or this reader was too slow for its buffer; nothing is lost
 *   reset         the log was restored from an older copy: events the reader saw are gone from it
 *   gap           events behind the reader's cursor were no longer kept */
struct ff_delivery {
    struct ff_memory *memory;
    const char *notice; /* NULL: events, maybe none */
    size_t count;
    struct ff_event_info *items;
    char cursor[19]; /* everything up to here has been delivered, or filtered out */
};

struct ff_subscription;
/* `after` as in ff_events. From now on means: what is committed after this returns is delivered.
 * ff_unsubscribe it, before or after ff_close. */
FF_API FF_MUST_CHECK ff_status ff_subscribe(struct ff_client *client,
                                            const struct ff_event_filter *filter, const char *after,
                                            struct ff_subscription **ret, struct ff_error *reterr);
/* Up to `max` events (0 means 256), or one notice; waits up to timeout_ms for something to come.
 * FF_OK without events or notice: nothing came. FF_CLOSED: the client was closed. FF_NO_MEMORY:
 * nothing was taken, ask again. One thread at a time. */
FF_API FF_MUST_CHECK ff_status ff_subscription_next(struct ff_subscription *subscription,
                                                    size_t max, int64_t timeout_ms,
                                                    struct ff_delivery *ret,
                                                    struct ff_error *reterr);
/* The same with a thread of its own that calls `on_delivery` until it returns false or the
 * subscription is over. If nothing can come any more, because the client was closed, the last call
 * brings the notice `closed`. The delivery is freed afterwards. `on_delivery` may use the client,
 * but not ff_close, nor ff_unsubscribe its own subscription. */
typedef bool (*ff_on_delivery)(const struct ff_delivery *delivery, void *ctx);
FF_API FF_MUST_CHECK ff_status ff_subscribe_callback(struct ff_client *client,
                                                     const struct ff_event_filter *filter,
                                                     const char *after, ff_on_delivery on_delivery,
                                                     void *ctx, struct ff_subscription **ret,
                                                     struct ff_error *reterr);
/* Ends it; on_delivery is not called any more when this returns. NULL is allowed. */
FF_API void ff_unsubscribe(struct ff_subscription *subscription);

/* As ff_get and ff_flow_get, but waits up to wait_ms for the end of the execution, or of the flow
 * with all its members. Look at `finished`, or at finished_at_ms: time may have run out. */
FF_API FF_MUST_CHECK ff_status ff_wait(struct ff_client *client, const char *execution_id,
                                       int64_t wait_ms, struct ff_info_list *ret,
                                       struct ff_error *reterr);
FF_API FF_MUST_CHECK ff_status ff_flow_wait(struct ff_client *client, const char *flow_id,
                                            int64_t wait_ms, struct ff_flow_info_list *ret,
                                            struct ff_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
