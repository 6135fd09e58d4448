/* SPDX-License-Identifier: Apache-2.0
 *
 * key.h -- Idempotency-Key: the same request with the same key hears the same answer.
 *
 * Private to src/http. Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_KEY_H
#define FF_HTTP_KEY_H

#include "http/request.h"
#include "ops/reply.h"

/* Whether the request has a key, and under what its answer is kept. Query and body have been read
 * by their shapes before. False: the key is refused, and that is the answer. */
bool ff_request_key(struct ff_request *request, bool *ret_has, struct ff_reply_in *ret);
/* Keeps the answer that is there, waits for the store. True, for `return`; if it cannot be kept,
 * that is the answer. */
bool ff_request_keep(struct ff_request *request, const struct ff_reply_in *key);
/* Says of the answer that is there that it is to a repeat. */
void ff_answer_repeated(struct ff_request *request);
/* The answer that was given before. */
bool ff_answer_kept(struct ff_request *request, int32_t status, struct ff_str body);
/* Location, where the answer is about something new. */
void ff_answer_location(struct ff_request *request, const json_t *json);

#endif
