/* SPDX-License-Identifier: Apache-2.0
 *
 * follows.h -- what conformance tests say about the log, through flowfabric.h and nothing else. */
#ifndef FF_TESTS_SUPPORT_FOLLOWS_H
#define FF_TESTS_SUPPORT_FOLLOWS_H

#include "support/domain.h"

struct ff_event_filter any_event(void);
struct ff_event_filter events_of(const char *execution_id);
struct ff_event_filter events_of_kind(const char *const *kind); /* one of them */

/* Ends with the test. `filter` NULL: everything. */
struct ff_subscription *given_subscribed(struct test *t, const struct ff_event_filter *filter,
                                         const char *after);

/* What comes next, kept to the end of the test; fails if nothing does. */
const struct ff_delivery *next_delivery(struct test *t, struct ff_subscription *subscription);
/* The next event; notices on the way fail the test. */
const struct ff_event_info *next_event(struct test *t, struct ff_subscription *subscription);
/* The next events are these, "lease.acquired completion.success", whoever they are about. */
#define EXPECT_NEXT(t, subscription, want)                                                         \
    expect_next((t), __FILE__, __LINE__, (subscription), (want))
void expect_next(struct test *t, const char *file, int line, struct ff_subscription *subscription,
                 const char *want);
/* Everything that was committed before this call has been delivered, and nothing of it is left. */
void expect_nothing_more(struct test *t, struct ff_subscription *subscription);

/* A page, kept to the end of the test. */
const struct ff_event_list *page(struct test *t, const struct ff_event_filter *filter,
                                 const char *after, int32_t limit);
/* The cursor behind everything there is now. */
const char *log_end(struct test *t);

#endif
