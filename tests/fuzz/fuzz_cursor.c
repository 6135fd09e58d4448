/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_cursor.c -- a cursor that is accepted was made by us: it is written the same way again. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api-int.h"
#include "model/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256];
    char again[FF_CURSOR_BYTES];
    int64_t number;
    struct ff_uuid uuid;
    struct ff_error error;

    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (ff_event_cursor_read(text, &number, &error) == FF_OK) {
        ff_event_cursor(number, again);
        if (number < 0 || strcasecmp(text, again) != 0)
            abort();
    }
    if (ff_list_cursor_read(text, &number, &uuid, &error) == FF_OK) {
        ff_list_cursor(number, uuid, again);
        if (strcasecmp(text, again) != 0)
            abort();
    }
    return 0;
}
