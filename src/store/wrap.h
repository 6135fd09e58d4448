/* SPDX-License-Identifier: Apache-2.0
 *
 * wrap.h -- what stores around other stores have in common: all that they do not change.
 *
 * A wrapper's store and session start with these structs. Read first: src/store/README.md.
 * Tests: tests/unit/test_store_decorators.c. */
#ifndef FF_STORE_WRAP_H
#define FF_STORE_WRAP_H

#include "store/store.h"

struct ff_wrap_store {
    struct ff_store base;
    struct ff_store *inner; /* owned */
};

struct ff_wrap_session {
    struct ff_session base;
    struct ff_session *inner;
    struct ff_wrap_store *store;
};

/* A session of `bytes` around a new one of the store inside. */
FF_MUST_CHECK ff_status ff_wrap_session_new(struct ff_store *store, size_t bytes,
                                            const struct ff_session_ops *ops,
                                            struct ff_session **ret, struct ff_error *reterr);

/* For the tables of a wrapper: straight through to what is inside. */
void ff_wrap_session_free(struct ff_session *session);
void ff_wrap_notify(struct ff_store *store);
bool ff_wrap_notified(struct ff_store *store);
FF_MUST_CHECK ff_status ff_wrap_migrate(struct ff_store *store, bool dry_run, int32_t *ret_from,
                                        int32_t *ret_to, struct ff_error *reterr);

#endif
