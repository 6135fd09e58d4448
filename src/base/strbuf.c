/* SPDX-License-Identifier: Apache-2.0
 *
 * strbuf.c -- building text in an arena, never longer than a stated maximum.
 *
 * Capacity doubles, in place where the arena can, and never passes the maximum by more than the
 * terminator.
 * Tests: tests/unit/test_strbuf.c. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include "base/banned.h"

#define FIRST_CAP_BYTES 64

struct ff_strbuf ff_strbuf_in(struct ff_arena *arena, size_t max_bytes)
{
    /* The ceiling keeps doubling and the terminator free of overflow. */
    return (struct ff_strbuf){.arena = arena, .max_bytes = ff_min_size(max_bytes, SIZE_MAX / 4)};
}

/* Makes room for `more` bytes and a terminator, or remembers why not. */
static bool reserve(struct ff_strbuf *out, size_t more)
{
    if (out->problem != FF_OK)
        return false;
    if (more > out->max_bytes - out->len) {
        out->problem = FF_TOO_LARGE;
        return false;
    }

    const size_t need = out->len + more + 1;

    if (need <= out->cap_bytes)
        return true;

    const size_t wish = ff_max_size(need, ff_max_size(2 * out->cap_bytes, FIRST_CAP_BYTES));
    const size_t cap_bytes = ff_min_size(wish, out->max_bytes + 1);
    char *const data = ff_arena_grow(out->arena, out->data, out->cap_bytes, cap_bytes);

    if (!data) {
        out->problem = FF_NO_MEMORY;
        return false;
    }
    out->data = data;
    out->cap_bytes = cap_bytes;
    return true;
}

void ff_strbuf_add(struct ff_strbuf *out, struct ff_str s)
{
    if (s.len == 0 || !reserve(out, s.len))
        return;
    memcpy(out->data + out->len, s.ptr, s.len);
    out->len += s.len;
    out->data[out->len] = '\0';
}

void ff_strbuf_adds(struct ff_strbuf *out, const char *text)
{
    ff_strbuf_add(out, ff_str_of(text));
}

void ff_strbuf_addc(struct ff_strbuf *out, char c)
{
    ff_strbuf_add(out, (struct ff_str){.ptr = &c, .len = 1});
}

void ff_strbuf_addf(struct ff_strbuf *out, const char *fmt, ...)
{
    va_list args;
    va_list again;

    va_start(args, fmt);
    va_copy(again, args);

    const int len = vsnprintf(NULL, 0, fmt, args);

    if (len < 0) {
        if (out->problem == FF_OK)
            out->problem = FF_INTERNAL;
    } else if (reserve(out, (size_t)len)) {
        vsnprintf(out->data + out->len, (size_t)len + 1, fmt, again);
        out->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

ff_status ff_strbuf_take(struct ff_strbuf *out, struct ff_str *ret_text, struct ff_error *reterr)
{
    const struct ff_strbuf was = *out;

    *out = ff_strbuf_in(was.arena, was.max_bytes);
    if (was.problem == FF_TOO_LARGE)
        return ff_fail(reterr, FF_TOO_LARGE, "text is longer than %zu bytes", was.max_bytes);
    if (was.problem == FF_NO_MEMORY)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for a text of more than %zu bytes",
                       was.len);
    if (was.problem != FF_OK)
        return ff_fail(reterr, was.problem, "text cannot be formatted");
    *ret_text = (struct ff_str){.ptr = was.data ? was.data : "", .len = was.len};
    return FF_OK;
}
