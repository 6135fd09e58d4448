/* SPDX-License-Identifier: Apache-2.0
 *
 * routes.h -- the one table of routes: router, metric labels and /openapi.json come from it.
 *
 * To add a route: a line in routes.def and its handler. Tests: tests/unit/test_http.c. */
#ifndef FF_HTTP_ROUTES_H
#define FF_HTTP_ROUTES_H

#include "api/fields.h"

#include <stdbool.h>
#include <stddef.h>

#define FF_REQUEST_ID_BYTES 65

struct ff_request;

typedef enum ff_route_id {
#define ROUTE(NAME, ...) FF_ROUTE_##NAME,
#include "http/routes.def"
    FF_ROUTE_COUNT
} ff_route_id;

#define FF_ROUTE_PLAIN  0u
#define FF_ROUTE_LOOKS  1u  /* asks the store on its own thread */
#define FF_ROUTE_KEYED  2u  /* takes an Idempotency-Key */
#define FF_ROUTE_WHOLE  4u  /* about the whole server: not for tokens with namespaces */
#define FF_ROUTE_QUIET  8u  /* asked every second: not logged when it goes well */
#define FF_ROUTE_HEALTH 16u /* has threads of its own: answers whatever the others wait for */

struct ff_route {
    const char *name; /* "execution_submit": the operation's id */
    const char *method;
    const char *path; /* "/v1/executions/{id}" */
    unsigned scopes;  /* any of these */
    unsigned flags;
    const struct ff_shape *query; /* NULL: none */
    const struct ff_shape *body;  /* NULL: none */
    const struct ff_shape *bulk;  /* the body may be this instead; NULL */
    bool (*handle)(struct ff_request *request);
    const char *answers; /* "201 200": what it says when it goes well */
    const struct ff_shape
        *answer; /* and what it holds then (of a bulk: each result); NULL: other */
    const char *help;
};
extern const struct ff_route ff_routes[FF_ROUTE_COUNT];

struct ff_arena;
/* Finds the route of a path (without query) and decodes its parameters. NULL: none; then *ret_allow
 * tells the methods of that path, or is NULL if there is no such path. HEAD is GET. */
const struct ff_route *ff_route_find(const char *method, const char *path, struct ff_arena *arena,
                                     const char **params, const char **ret_allow);
/* "%7B" to "{"; NULL: broken, holds NUL, or is not UTF-8. */
const char *ff_url_decode(struct ff_arena *arena, struct ff_str text, bool is_query);

#endif
