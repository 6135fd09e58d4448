/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_url.c -- the line of a request: a route with parameters that are text, or none.
 *
 * The first byte is the method, a path and perhaps a query follow. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "http/routes.h"

#define PARAMS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decoded text is never longer than it was, and can be shown. */
static void check_text(const char *text, size_t most)
{
    if (text && (strlen(text) > most || !ff_str_is_utf8(ff_str_of(text))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"GET", "POST", "HEAD", "DELETE"};
    const char *params[PARAMS_MAX] = {0};
    const struct ff_route *route;
    const char *allow = NULL;
    struct ff_arena arena;
    char *path, *query;

    if (size < 1)
        return 0;
    ff_arena_init(&arena, 4096, 1 << 20);
    path = ff_arena_copy(&arena, data, size);
    memmove(path, path + 1, size - 1);
    path[size - 1] = '\0';
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    route = ff_route_find(methods[data[0] % 4], path, &arena, params, &allow);
    if (route && (route < ff_routes || route >= ff_routes + FF_ROUTE_COUNT))
        abort();
    for (size_t i = 0; route && i < PARAMS_MAX; i++)
        check_text(params[i], strlen(path));
    for (char *at = query; at && *at;) {
        const size_t len = strcspn(at, "&");

        check_text(ff_url_decode(&arena, (struct ff_str){.ptr = at, .len = len}, true), len);
        at += len + (at[len] == '&');
    }
    ff_arena_done(&arena);
    return 0;
}
