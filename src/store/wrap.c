/* SPDX-License-Identifier: Apache-2.0
 *
 * wrap.c -- what stores around other stores have in common.
 *
 * Tests: tests/unit/test_store_decorators.c. */
#include "store/wrap.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"

#include "base/banned.h"

static struct ff_store *inner_of(struct ff_store *store)
{
    return ff_container_of(store, struct ff_wrap_store, base)->inner;
}

ff_status ff_wrap_session_new(struct ff_store *store, size_t bytes,
                              const struct ff_session_ops *ops, struct ff_session **ret,
                              struct ff_error *reterr)
{
    struct ff_store *const inner = inner_of(store);
    struct ff_wrap_session *const s = ff_calloc(1, bytes);
    ff_status status;

    if (!s)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a session");
    s->base.ops = ops;
    s->store = ff_container_of(store, struct ff_wrap_store, base);
    status = inner->ops->session_new(inner, &s->inner, reterr);
    if (status != FF_OK) {
        ff_free(s);
        return status;
    }
    *ret = &s->base;
    return FF_OK;
}

void ff_wrap_session_free(struct ff_session *session)
{
    struct ff_wrap_session *const s = ff_container_of(session, struct ff_wrap_session, base);

    s->inner->ops->free(s->inner);
    ff_free(s);
}

void ff_wrap_notify(struct ff_store *store)
{
    struct ff_store *const inner = inner_of(store);

    inner->ops->notify(inner);
}

bool ff_wrap_notified(struct ff_store *store)
{
    struct ff_store *const inner = inner_of(store);

    return inner->ops->notified(inner);
}

ff_status ff_wrap_migrate(struct ff_store *store, bool dry_run, int32_t *ret_from, int32_t *ret_to,
                          struct ff_error *reterr)
{
    struct ff_store *const inner = inner_of(store);

    return inner->ops->migrate(inner, dry_run, ret_from, ret_to, reterr);
}
