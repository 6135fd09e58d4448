/* SPDX-License-Identifier: Apache-2.0
 *
 * str.c -- borrowed strings: comparing, checking and reading them.
 *
 * Pure. memcmp and memchr are never called with NULL, which C forbids even for 0 bytes.
 * Tests: tests/unit/test_str.c. */
#include "base/str.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

#include "base/banned.h"

int ff_str_printf_len(struct ff_str s)
{
    return (int)ff_min_size(s.len, INT_MAX);
}

const char *ff_str_printf_ptr(struct ff_str s)
{
    return s.ptr ? s.ptr : "";
}

struct ff_str ff_str_of(const char *text)
{
    return (struct ff_str){.ptr = text, .len = text ? strlen(text) : 0};
}

bool ff_str_eq(struct ff_str a, struct ff_str b)
{
    if (ff_str_is_null(a) || ff_str_is_null(b))
        return ff_str_is_null(a) && ff_str_is_null(b);
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

int ff_str_cmp(struct ff_str a, struct ff_str b)
{
    if (ff_str_is_null(a) || ff_str_is_null(b))
        return (int)!ff_str_is_null(a) - (int)!ff_str_is_null(b);

    const int order = memcmp(a.ptr, b.ptr, ff_min_size(a.len, b.len));

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool ff_str_starts(struct ff_str s, struct ff_str prefix)
{
    if (prefix.len == 0)
        return true;
    return s.len >= prefix.len && memcmp(s.ptr, prefix.ptr, prefix.len) == 0;
}

struct ff_str ff_str_slice(struct ff_str s, size_t from, size_t len)
{
    if (ff_str_is_null(s))
        return s;

    const size_t start = ff_min_size(from, s.len);

    return (struct ff_str){.ptr = s.ptr + start, .len = ff_min_size(len, s.len - start)};
}

/* The table of well-formed byte sequences in the Unicode standard (table 3-7): only the second
 * byte has a range that depends on the first. */
size_t ff_str_utf8_step(struct ff_str s)
{
    if (s.len == 0)
        return 0;

    const unsigned char *const b = (const unsigned char *)s.ptr;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t len = 0;

    if (b[0] < 0x80)
        return 1;
    if (b[0] >= 0xc2 && b[0] <= 0xdf)
        len = 2;
    else if (b[0] >= 0xe0 && b[0] <= 0xef)
        len = 3;
    else if (b[0] >= 0xf0 && b[0] <= 0xf4)
        len = 4;
    if (len == 0 || s.len < len)
        return 0;

    if (b[0] == 0xe0)
        low = 0xa0; /* below: overlong */
    else if (b[0] == 0xed)
        high = 0x9f; /* above: surrogates */
    else if (b[0] == 0xf0)
        low = 0x90; /* below: overlong */
    else if (b[0] == 0xf4)
        high = 0x8f; /* above: past U+10FFFF */
    if (b[1] < low || b[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if (b[i] < 0x80 || b[i] > 0xbf)
            return 0;
    }
    return len;
}

bool ff_str_is_utf8(struct ff_str s)
{
    while (s.len > 0) {
        const size_t step = ff_str_utf8_step(s);

        if (step == 0)
            return false;
        s.ptr += step;
        s.len -= step;
    }
    return true;
}

/* Drops a UTF-8 character that a cut has left incomplete at the end. Text that was not UTF-8 to
 * begin with loses at most three bytes. */
static void trim_partial_character(char *text)
{
    const size_t len = strlen(text);

    for (size_t back = 1; back <= 3 && back <= len; back++) {
        const unsigned char c = (unsigned char)text[len - back];

        if (c < 0x80)
            return;
        if (c >= 0xc0) {
            if (ff_str_utf8_step(ff_str_of(text + len - back)) != back)
                text[len - back] = '\0';
            return;
        }
    }
}

/* What a client sent, or a precision in the format that cut a character, may have left bytes that
 * are no UTF-8. */
static void make_utf8(char *text)
{
    const struct ff_str all = ff_str_of(text);

    for (size_t at = 0; at < all.len;) {
        const size_t step = ff_str_utf8_step(ff_str_slice(all, at, SIZE_MAX));

        if (!step)
            text[at] = '?';
        at += step ? step : 1;
    }
}

size_t ff_str_vprint(char *out, size_t out_bytes, const char *fmt, va_list args)
{
    int len = vsnprintf(out, out_bytes, fmt, args);

    if (len < 0)
        len = snprintf(out, out_bytes, "(text cannot be shown)");
    if ((size_t)len >= out_bytes)
        trim_partial_character(out);
    make_utf8(out);
    return (size_t)len;
}

size_t ff_str_print(char *out, size_t out_bytes, const char *fmt, ...)
{
    va_list args;
    size_t len;

    va_start(args, fmt);
    len = ff_str_vprint(out, out_bytes, fmt, args);
    va_end(args);
    return len;
}

bool ff_str_has_nul(struct ff_str s)
{
    return s.len > 0 && memchr(s.ptr, '\0', s.len) != NULL;
}

bool ff_str_is_printable_ascii(struct ff_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < 0x20 || s.ptr[i] > 0x7e)
            return false;
    }
    return true;
}

bool ff_str_to_i64(struct ff_str s, int64_t *ret)
{
    const bool negative = s.len > 0 && s.ptr[0] == '-';
    const size_t first = negative ? 1 : 0;
    int64_t value = 0;

    if (s.len == first)
        return false;
    if (s.ptr[first] == '0' && s.len > 1)
        return false;
    /* Digits are subtracted: the negative side is the larger one. */
    for (size_t i = first; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, s.ptr[i] - '0', &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *ret = negative ? value : -value;
    return true;
}
