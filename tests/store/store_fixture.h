/* SPDX-License-Identifier: Apache-2.0
 *
 * store_fixture.h -- a store, a session and two batches per test: `store`, `session`, `a` and `b`.
 *
 * Included once by a file of tests/store. */
#ifndef FF_TESTS_STORE_FIXTURE_H
#define FF_TESTS_STORE_FIXTURE_H

#include "store_ring.h"

static struct ff_store *store;
static struct ff_session *session;
static struct batch a, b;

static bool given_store(void)
{
    store = store_open("");
    session = session_open(store);
    batch_init(&a);
    batch_init(&b);
    return session != NULL;
}

static void leave(void)
{
    batch_done(&a);
    batch_done(&b);
    if (session)
        session->ops->free(session);
    ff_store_free(store);
    session = NULL;
}

/* Runs the body between given_store and leave, so that a failed CHECK cleans up too. */
#define WITH_STORE(name)                                                                           \
    static void name##_body(void);                                                                 \
    static void name(void)                                                                         \
    {                                                                                              \
        if (given_store())                                                                         \
            name##_body();                                                                         \
        else                                                                                       \
            check_failed(__FILE__, __LINE__, "store opens");                                       \
        leave();                                                                                   \
    }                                                                                              \
    static void name##_body(void)

#endif
