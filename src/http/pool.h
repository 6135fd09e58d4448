/* SPDX-License-Identifier: Apache-2.0
 *
 * pool.h -- a few threads that run the steps of requests, first come, first served.
 *
 * Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_POOL_H
#define FF_HTTP_POOL_H

#include "base/list.h"

#include <flowfabric.h>

struct ff_pool;

/* Something to run once; lives in whoever wants it run. */
struct ff_step {
    struct ff_list_node link;
    void (*run)(struct ff_step *step);
};

FF_MUST_CHECK ff_status ff_pool_new(const char *name, size_t threads, struct ff_pool **ret,
                                    struct ff_error *reterr);
/* Runs what is queued, then ends. NULL is allowed. */
void ff_pool_free(struct ff_pool *pool);
/* From any thread; never blocks for long. */
void ff_pool_add(struct ff_pool *pool, struct ff_step *step);

#endif
