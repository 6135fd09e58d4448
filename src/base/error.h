/* SPDX-License-Identifier: Apache-2.0
 *
 * error.h -- filling in the caller's struct ff_error.
 *
 * The error belongs to the caller; nothing is kept in objects or in thread-local state. The list
 * of statuses is in flowfabric/status.h. Messages: lower case, no full stop, what failed before
 * what it concerned, names in single quotes. Texts that do not fit are cut, never on half a UTF-8
 * character, and bytes that are no UTF-8 become '?': every error can be written as JSON.
 * Tests: tests/unit/test_error.c. */
#ifndef FF_BASE_ERROR_H
#define FF_BASE_ERROR_H

#include "base/macros.h"
#include "flowfabric.h"

/* Both return `status`, so that a failure is one `return` line. `reterr` may be NULL. The cold
 * attribute keeps error paths out of the way of the good ones. `ff_fail` leaves `field` empty. */
ff_status ff_fail(struct ff_error *reterr, ff_status status, const char *fmt, ...) FF_PRINTF(3, 4)
    __attribute__((cold));
ff_status ff_fail_field(struct ff_error *reterr, ff_status status, const char *field,
                        const char *fmt, ...) FF_PRINTF(4, 5) __attribute__((cold));

#endif
