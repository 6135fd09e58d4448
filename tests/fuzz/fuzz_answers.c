/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_answers.c -- what a server may answer, events among it: taken whole, or refused.
 *
 * The first byte names the kind of answer; JSON follows. Events that were taken are written and
 * taken again, and must be the same. */
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "remote/remote-int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ff_shape *const shapes[] = {
    &ff_answer_events,    &ff_answer_tasks,          &ff_answer_info,  &ff_answer_infos,
    &ff_answer_attempts,  &ff_answer_explanation,    &ff_answer_lanes, &ff_answer_workers,
    &ff_answer_scanners,  &ff_answer_bulk_result,    &ff_answer_flow,  &ff_answer_flows,
    &ff_answer_flow_made, &ff_answer_flow_cancelled,
};

static void check_events(const struct ff_event_list *list, struct ff_arena *arena)
{
    FF_AUTO(ff_json_freep) json_t *json = ff_json_events(list);
    FF_AUTO(ff_json_freep) json_t *again = NULL;
    struct ff_event_list second = {0};
    struct ff_error error;

    if (!json || ff_shape_take(&ff_answer_events, json, arena, &second, &error) != FF_OK)
        abort();
    again = ff_json_events(&second);
    if (!again || !json_equal(json, again))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    struct ff_error error = {0};
    struct ff_arena arena;
    void *out;

    if (size < 1)
        return 0;
    const struct ff_shape *const shape = shapes[data[0] % FF_ARRAY_LEN(shapes)];
    const struct ff_str text = {.ptr = (const char *)data + 1, .len = size - 1};

    if (ff_json_parse(text, &json, &error) != FF_OK)
        return 0;
    ff_arena_init(&arena, 4096, 64 << 20);
    out = ff_arena_alloc(&arena, shape->bytes);
    if (ff_shape_take(shape, json, &arena, out, &error) != FF_OK) {
        if (!error.message[0])
            abort();
    } else if (shape == &ff_answer_events) {
        check_events(out, &arena);
    }
    ff_arena_done(&arena);
    return 0;
}
