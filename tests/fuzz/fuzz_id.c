/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_id.c -- an id that is accepted has one canonical spelling, and that one reads back. */
#include <stdlib.h>

#include "model/ids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ff_str text = {(const char *)data, size};
    char spelling[FF_ID_TEXT_BYTES];
    struct ff_exec_id id, again;
    struct ff_uuid flow_id;
    struct ff_error error;

    if (ff_exec_id_parse(text, &id, &error) == FF_OK) {
        if (id.partition < 0 || id.partition > 255)
            abort();
        ff_exec_id_text(id, spelling);
        if (ff_exec_id_parse(ff_str_of(spelling), &again, &error) != FF_OK ||
            !ff_exec_id_eq(id, again))
            abort();
        ff_exec_id_path(id, spelling);
        if (ff_exec_id_parse(ff_str_of(spelling), &again, &error) != FF_OK ||
            !ff_exec_id_eq(id, again))
            abort();
    }
    if (ff_flow_id_parse(text, &flow_id, &error) == FF_OK && ff_uuid_is_zero(flow_id))
        abort();
    return 0;
}
