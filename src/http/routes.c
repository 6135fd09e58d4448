/* SPDX-License-Identifier: Apache-2.0
 *
 * routes.c -- paths to routes.
 *
 * Tests: tests/unit/test_http.c. */
#include "http/routes.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/encode.h"
#include "base/str.h"
#include "http/handlers.h"

#include "base/banned.h"

const struct ff_route ff_routes[FF_ROUTE_COUNT] = {
#define ROUTE(NAME, name_, method_, path_, scopes_, flags_, query_, body_, bulk_, answers_,        \
              answer_, help_)                                                                      \
    [FF_ROUTE_##NAME] = {.name = #name_,                                                           \
                         .method = #method_,                                                       \
                         .path = path_,                                                            \
                         .scopes = scopes_,                                                        \
                         .flags = flags_,                                                          \
                         .query = query_,                                                          \
                         .body = body_,                                                            \
                         .bulk = bulk_,                                                            \
                         .handle = ff_handle_##name_,                                              \
                         .answers = answers_,                                                      \
                         .answer = answer_,                                                        \
                         .help = help_},
#include "http/routes.def"
};

const char *ff_url_decode(struct ff_arena *arena, struct ff_str text, bool is_query)
{
    char *const out = ff_arena_alloc(arena, text.len + 1);
    size_t len = 0;

    for (size_t i = 0; out && i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '%') {
            const int high = i + 2 < text.len ? ff_hex_digit(text.ptr[i + 1]) : -1;
            const int low = i + 2 < text.len ? ff_hex_digit(text.ptr[i + 2]) : -1;

            if (high < 0 || low < 0 || (!high && !low))
                return NULL;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        out[len++] = c;
    }
    if (!out || !ff_str_is_utf8((struct ff_str){.ptr = out, .len = len}))
        return NULL;
    out[len] = '\0';
    return out;
}

/* The first segment of a path that starts with '/'; moves on. */
static struct ff_str segment(const char **at)
{
    const char *const from = *at + 1;
    const size_t len = strcspn(from, "/");

    *at = from + len;
    return (struct ff_str){.ptr = from, .len = len};
}

static bool fits(const char *pattern, const char *path, struct ff_arena *arena, const char **params)
{
    size_t count = 0;

    while (*pattern && *path) {
        const struct ff_str want = segment(&pattern);
        const struct ff_str got = segment(&path);

        if (want.len && want.ptr[0] == '{') {
            params[count] = got.len ? ff_url_decode(arena, got, false) : NULL;
            if (!params[count++])
                return false;
        } else if (!ff_str_eq(want, got)) {
            return false;
        }
    }
    return !*pattern && !*path;
}

const struct ff_route *ff_route_find(const char *method, const char *path, struct ff_arena *arena,
                                     const char **params, const char **ret_allow)
{
    const char *const wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    char allow[64] = "";
    size_t len = 0;

    *ret_allow = NULL;
    if (path[0] != '/')
        return NULL;
    for (size_t i = 0; i < FF_ROUTE_COUNT; i++) {
        if (!fits(ff_routes[i].path, path, arena, params))
            continue;
        if (strcmp(ff_routes[i].method, wanted) == 0)
            return &ff_routes[i];
        len += (size_t)snprintf(allow + len, sizeof allow - len, "%s%s%s", len ? ", " : "",
                                ff_routes[i].method,
                                strcmp(ff_routes[i].method, "GET") == 0 ? ", HEAD" : "");
    }
    if (len)
        *ret_allow = ff_arena_str(arena, ff_str_of(allow)).ptr;
    return NULL;
}
