/* SPDX-License-Identifier: Apache-2.0
 *
 * single.h -- calls of one item: start, take, answer; and the answer kept under a key.
 *
 * Private to src/http. Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_SINGLE_H
#define FF_HTTP_SINGLE_H

#include "http/request.h"

struct ff_single {
    const struct ff_bulk_type *type;
    /* The answer to a result that is FF_OK: returns the HTTP status. May run on a thread of the
     * engine. */
    int (*write)(const struct ff_request *request, const void *result, json_t **ret_json);
    /* Before the answer, of a repeat, too; NULL: nothing. It calls one of the two below. */
    ff_handler *then;
};

bool ff_single_run(struct ff_request *request, const struct ff_single *single, const void *item);
/* What `write` makes of the result; to a repeat, the answer that was kept. */
bool ff_single_answer(struct ff_request *request);
/* How it is by now, instead. Takes the reference. */
bool ff_single_answer_now(struct ff_request *request, int status, json_t *json);

#endif
