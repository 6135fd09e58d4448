/* SPDX-License-Identifier: Apache-2.0
 *
 * handlers.h -- one function per route, and the shapes of what they read.
 *
 * Handlers are in execution.c, task.c, flow.c, event.c, operate.c and page.c; shapes.c has the
 * tables. Private to src/http. */
#ifndef FF_HTTP_HANDLERS_H
#define FF_HTTP_HANDLERS_H

#include "api/answers.h"
#include "http/request.h"
#include "http/shapes.h"

#define ROUTE(NAME, name, ...) bool ff_handle_##name(struct ff_request *request);
#include "http/routes.def"

/* "/v1/executions/fp:7:<uuid>": a link that needs no encoding. */
void ff_execution_link(const char *execution_id, const char *tail, char out[96]);
/* Waits up to wait_ms for the end of an execution or a flow, then `next`. */
bool ff_request_await(struct ff_request *request, const char *id, bool is_flow, int64_t wait_ms,
                      ff_handler *next);
/* The execution is in a namespace of the token, or 404 is the answer. */
bool ff_request_sees(struct ff_request *request, const char *execution_id);

#endif
