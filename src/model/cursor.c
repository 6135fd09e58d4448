/* SPDX-License-Identifier: Apache-2.0
 *
 * cursor.c -- a place in the event log, as text.
 *
 * Tests: tests/unit/test_api.c. */
#include "model/cursor.h"

#include "base/codec.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/str.h"

#include "base/banned.h"

#define EVENT_CURSOR_MARK 0x02

void ff_event_cursor(int64_t event_id, char out[FF_EVENT_CURSOR_BYTES])
{
    uint8_t bytes[9] = {EVENT_CURSOR_MARK};

    ff_put_be_i64(bytes + 1, event_id);
    ff_hex_encode(bytes, sizeof bytes, out);
}

ff_status ff_event_cursor_read(const char *text, int64_t *ret_event_id, struct ff_error *reterr)
{
    uint8_t bytes[9];

    if (!ff_hex_decode(ff_str_of(text), bytes, sizeof bytes) || bytes[0] != EVENT_CURSOR_MARK ||
        ff_get_be_i64(bytes + 1) < 0)
        return ff_fail_field(reterr, FF_BAD_CURSOR, "cursor", "cursor is not one of ours");
    *ret_event_id = ff_get_be_i64(bytes + 1);
    return FF_OK;
}
