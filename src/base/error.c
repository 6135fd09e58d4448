/* SPDX-License-Identifier: Apache-2.0
 *
 * error.c -- filling in the caller's struct ff_error.
 *
 * Texts are made in a local buffer first: a caller may wrap an error in itself, passing
 * `reterr->message` as an argument.
 * Tests: tests/unit/test_error.c. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#include "base/banned.h"

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

static void copy_cut(char *out, size_t out_bytes, const char *text)
{
    const size_t len = strlen(text);
    const size_t kept = ff_min_size(len, out_bytes - 1);

    memcpy(out, text, kept);
    out[kept] = '\0';
    if (kept < len)
        trim_partial_character(out);
}

/* Whoever reads an error must be able to write it as JSON: what a client sent, or a precision in
 * the format that cut a character, may have left bytes that are no UTF-8. */
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

FF_PRINTF(4, 0)
static void fill(struct ff_error *reterr, ff_status status, const char *field, const char *fmt,
                 va_list args)
{
    struct ff_error error = {.status = status};
    const int len = vsnprintf(error.message, sizeof error.message, fmt, args);

    if (len < 0)
        copy_cut(error.message, sizeof error.message, "(message cannot be shown)");
    else if ((size_t)len >= sizeof error.message)
        trim_partial_character(error.message);
    if (field)
        copy_cut(error.field, sizeof error.field, field);
    make_utf8(error.message);
    make_utf8(error.field);
    *reterr = error;
}

ff_status ff_fail(struct ff_error *reterr, ff_status status, const char *fmt, ...)
{
    va_list args;

    if (!reterr)
        return status;
    va_start(args, fmt);
    fill(reterr, status, NULL, fmt, args);
    va_end(args);
    return status;
}

ff_status ff_fail_field(struct ff_error *reterr, ff_status status, const char *field,
                        const char *fmt, ...)
{
    va_list args;

    if (!reterr)
        return status;
    va_start(args, fmt);
    fill(reterr, status, field, fmt, args);
    va_end(args);
    return status;
}
