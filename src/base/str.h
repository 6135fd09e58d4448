/* SPDX-License-Identifier: Apache-2.0
 *
 * str.h -- borrowed strings: a pointer and a length, never freed through this type.
 *
 * struct ff_str itself is in flowfabric/status.h. A null string (ptr NULL) means "absent" and is
 * not the empty string: it equals only another null and sorts before everything. The bytes may hold
 * anything, NUL included; nothing here needs a terminator.
 * Tests: tests/unit/test_str.c. */
#ifndef FF_BASE_STR_H
#define FF_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "flowfabric.h"

/* FF_STR is an expression; FF_STR_INIT is for static tables, where C wants a constant. */
#define FF_STR(literal) ((struct ff_str){.ptr = "" literal, .len = sizeof(literal) - 1})
#define FF_STR_INIT(literal)                                                                       \
    {                                                                                              \
        .ptr = "" literal, .len = sizeof(literal) - 1                                              \
    }

/* printf("id '" FF_STR_FMT "'", FF_STR_ARG(id)). The argument is evaluated twice. A null string
 * prints as nothing. */
#define FF_STR_FMT    "%.*s"
#define FF_STR_ARG(s) ff_str_printf_len(s), ff_str_printf_ptr(s)

int ff_str_printf_len(struct ff_str s);
const char *ff_str_printf_ptr(struct ff_str s);

/* Borrows a C string; NULL gives the null string. */
struct ff_str ff_str_of(const char *text);

static inline struct ff_str ff_str_null(void)
{
    return (struct ff_str){.ptr = NULL, .len = 0};
}

static inline bool ff_str_is_null(struct ff_str s)
{
    return !s.ptr;
}

/* True for null as well. */
static inline bool ff_str_empty(struct ff_str s)
{
    return s.len == 0;
}

bool ff_str_eq(struct ff_str a, struct ff_str b);

/* Byte order, then the shorter first; < 0, 0, > 0. This is the order of COLLATE "C" and BINARY. */
int ff_str_cmp(struct ff_str a, struct ff_str b);

bool ff_str_starts(struct ff_str s, struct ff_str prefix);

/* The bytes from `from` on, at most `len` of them; positions past the end give an empty string. */
struct ff_str ff_str_slice(struct ff_str s, size_t from, size_t len);

/* Bytes of the well-formed UTF-8 character `s` starts with; 0 if it does not start with one.
 * Strict: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t ff_str_utf8_step(struct ff_str s);
bool ff_str_is_utf8(struct ff_str s);

/* printf into a buffer, for texts that may become JSON: what does not fit is cut, never on half a
 * UTF-8 character, and bytes that are no UTF-8 become '?'. `out_bytes` is not 0. Returns the bytes
 * of the uncut text, as snprintf does; what snprintf refuses is told so in its place. */
size_t ff_str_print(char *out, size_t out_bytes, const char *fmt, ...) FF_PRINTF(3, 4);
size_t ff_str_vprint(char *out, size_t out_bytes, const char *fmt, va_list args) FF_PRINTF(3, 0);

bool ff_str_has_nul(struct ff_str s);

/* Only bytes 0x20 to 0x7e; true for the empty string. */
bool ff_str_is_printable_ascii(struct ff_str s);

/* Strict decimal, the one spelling we would print ourselves: no plus sign, no spaces, no leading
 * zeros, no "-0", nothing after the number, in range. */
FF_MUST_CHECK bool ff_str_to_i64(struct ff_str s, int64_t *ret);

#endif
