/* SPDX-License-Identifier: Apache-2.0
 *
 * cursor.h -- a place in the event log, as text: hex of 0x02 and the big-endian id.
 *
 * Clients keep it: the form is never changed. Pure. Tests: tests/unit/test_api.c. */
#ifndef FF_MODEL_CURSOR_H
#define FF_MODEL_CURSOR_H

#include <flowfabric.h>

#define FF_EVENT_CURSOR_BYTES 19 /* with the NUL */

void ff_event_cursor(int64_t event_id, char out[FF_EVENT_CURSOR_BYTES]);
FF_MUST_CHECK ff_status ff_event_cursor_read(const char *text, int64_t *ret_event_id,
                                             struct ff_error *reterr);

#endif
