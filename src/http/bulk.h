/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk.h -- calls with many items: one result per item, one bad item never fails the others.
 *
 * Private to src/http. Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_BULK_H
#define FF_HTTP_BULK_H

#include "http/request.h"
#include "ops/reply.h"

struct ff_bulk_route {
    const struct ff_bulk_type *type;
    const struct ff_shape *item;
    /* What the shape does not tell; may change the item. NULL: nothing. */
    ff_status (*check)(struct ff_request *request, void *item, struct ff_error *reterr);
    bool within; /* items are tasks: those outside the token's namespaces are not found */
    json_t *(*write)(const void *result);
    /* Makes a repeat of the item harmless, for calls with a key; NULL: it is anyway. */
    ff_status (*seal)(struct ff_request *request, void *item, const struct ff_reply_in *key,
                      size_t index, struct ff_error *reterr);
};

/* Answers 200 {"results": [...]}. */
bool ff_bulk_run(struct ff_request *request, const struct ff_bulk_route *route,
                 const json_t *items);

#endif
