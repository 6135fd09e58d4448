/* SPDX-License-Identifier: Apache-2.0
 *
 * subscription.h -- what every subscription is, whoever reads the log for it.
 *
 * A kind of client makes its own struct around this one. Only src/api and the remote client
 * include it. Tests: tests/conformance/event_subscribe.c. */
#ifndef FF_API_SUBSCRIPTION_H
#define FF_API_SUBSCRIPTION_H

#include <flowfabric.h>

#include <pthread.h>
#include <stdatomic.h>

struct ff_subscription_ops {
    /* FF_NO_MEMORY: nothing was taken, ask again. */
    ff_status (*next)(struct ff_subscription *subscription, size_t max, int64_t timeout_ms,
                      struct ff_delivery *ret, struct ff_error *reterr);
    /* Ends a `next` that is under way on another thread, with FF_OK and nothing. */
    void (*interrupt)(struct ff_subscription *subscription);
    void (*free)(struct ff_subscription *subscription);
};

struct ff_subscription {
    const struct ff_subscription_ops *ops;
    /* The callback form; subscribe.c's own. */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock;   /* of `stopped` */
    pthread_cond_t stopped; /* the thread rests until then, when there is no memory */
    ff_on_delivery on_delivery;
    void *ctx;
    _Atomic bool stopping;
};

#endif
