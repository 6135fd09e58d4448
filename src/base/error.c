/* SPDX-License-Identifier: Apache-2.0
 *
 * error.c -- filling in the caller's struct ff_error.
 *
 * Texts are made in a local buffer first: a caller may wrap an error in itself, passing
 * `reterr->message` as an argument.
 * Tests: tests/unit/test_error.c. */
#include "base/error.h"

#include <stdarg.h>

#include "base/str.h"

#include "base/banned.h"

FF_PRINTF(4, 0)
static void fill(struct ff_error *reterr, ff_status status, const char *field, const char *fmt,
                 va_list args)
{
    struct ff_error error = {.status = status};

    (void)ff_str_vprint(error.message, sizeof error.message, fmt, args);
    (void)ff_str_print(error.field, sizeof error.field, "%s", field ? field : "");
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
