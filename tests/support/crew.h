/* SPDX-License-Identifier: Apache-2.0
 *
 * crew.h -- a worker of the runtime in a thread of the test, and what its handlers share.
 *
 * The thread is stopped and joined at the end of the test, whatever happened. Read first:
 * tests/support/README.md. */
#ifndef FF_TESTS_SUPPORT_CREW_H
#define FF_TESTS_SUPPORT_CREW_H

#include "support/domain.h"

#include <stdatomic.h>

struct crew {
    struct ff_worker *worker;
    struct test_thread *thread;
    atomic_int begun, ended, cancelled; /* counted by the handlers that want to */
    atomic_bool go;                     /* what handlers that wait for it wait for */
    ff_status status;                   /* of the run, once it has ended */
    struct ff_error err;
    struct ff_worker_stats stats;
};

/* Lease of 30 s, four threads; of the test's own client. */
struct ff_worker_options crew_options(void);
struct crew *given_crew(struct test *t, const struct ff_worker_options *options);
/* `data` of the handler is the crew. kind NULL: any. */
void given_handler(struct test *t, struct crew *crew, const char *kind, ff_task_handler handler);
void when_crew_starts(struct test *t, struct crew *crew);
/* Stops it and waits for the end of the run; crew->status and crew->stats tell the rest. */
void when_crew_stops(struct test *t, struct crew *crew);
/* Started, until it has completed so many, then stopped in order. */
void when_crew_has_worked(struct test *t, struct crew *crew, int64_t done);

struct ff_worker_stats crew_stats(struct crew *crew);

#endif
