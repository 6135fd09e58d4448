/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_json.c -- whatever JSON is read is written so that it reads back the same; no submission
 * or flow read from it is half filled. */
#include <stdlib.h>
#include <string.h>

#include "api/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ff_str text = {.ptr = (const char *)data, .len = size};
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    FF_AUTO(ff_json_freep) json_t *again = NULL;
    struct ff_submission submission;
    struct ff_flow_request flow;
    struct ff_str first, second;
    struct ff_error error;
    struct ff_arena arena;

    if (ff_json_parse(text, &json, &error) != FF_OK)
        return 0;
    ff_arena_init(&arena, 4096, 64 << 20);
    if (ff_json_text(json, &arena, 16 << 20, &first, &error) != FF_OK ||
        ff_json_parse(first, &again, &error) != FF_OK || !json_equal(json, again) ||
        ff_json_text(again, &arena, 16 << 20, &second, &error) != FF_OK ||
        strcmp(first.ptr, second.ptr) != 0)
        abort();
    if (ff_json_submission(json, &arena, &submission, &error) == FF_OK &&
        submission.size != sizeof submission)
        abort();
    if (ff_json_flow(json, &arena, &flow, &error) == FF_OK && flow.size != sizeof flow)
        abort();
    ff_arena_done(&arena);
    return 0;
}
