/* SPDX-License-Identifier: Apache-2.0
 *
 * strbuf.h -- building text in an arena, never longer than a stated maximum.
 *
 * Appends never fail visibly: the buffer remembers the first problem, ignores what follows, and
 * ff_strbuf_take reports it once. The text lives as long as the arena.
 * Tests: tests/unit/test_strbuf.c. */
#ifndef FF_BASE_STRBUF_H
#define FF_BASE_STRBUF_H

#include <stddef.h>

#include "base/macros.h"
#include "flowfabric.h"

struct ff_arena;

struct ff_strbuf {
    struct ff_arena *arena;
    char *data;        /* NULL until the first append; else NUL behind `len` bytes */
    size_t len;        /* bytes of text so far; stops at the first problem */
    size_t cap_bytes;  /* bytes of `data`, terminator included */
    size_t max_bytes;  /* of text, without the terminator */
    ff_status problem; /* FF_OK, FF_TOO_LARGE, FF_NO_MEMORY or FF_INTERNAL */
};

struct ff_strbuf ff_strbuf_in(struct ff_arena *arena, size_t max_bytes);

void ff_strbuf_add(struct ff_strbuf *out, struct ff_str s);
void ff_strbuf_adds(struct ff_strbuf *out, const char *text);
void ff_strbuf_addc(struct ff_strbuf *out, char c);
void ff_strbuf_addf(struct ff_strbuf *out, const char *fmt, ...) FF_PRINTF(2, 3);

/* The text so far, NUL-terminated, never null; or the first problem. Either way the buffer is
 * empty and usable again afterwards. */
FF_MUST_CHECK ff_status ff_strbuf_take(struct ff_strbuf *out, struct ff_str *ret_text,
                                       struct ff_error *reterr);

#endif
