/* SPDX-License-Identifier: Apache-2.0
 *
 * events.c -- one page of the log, and filters and cursors as callers write them.
 *
 * A page is a short subscription: the same rules say what may be read.
 * Read first: src/engine/follow.h. Tests: tests/conformance/event_page.c. */
#include "api/events.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/events.h"

#include "base/banned.h"

void ff_event_filter_init(struct ff_event_filter *filter)
{
    *filter =
        (struct ff_event_filter){.size = sizeof *filter, .partition_from = -1, .partition_to = -1};
}

/* --- filters and cursors --- */

static ff_status kinds_of(const struct ff_event_filter *filter, struct ff_event_match *match,
                          struct ff_error *reterr)
{
    for (size_t i = 0; i < filter->kind_count; i++) {
        const char *const name = filter->kinds ? filter->kinds[i] : NULL;
        const int32_t kind = name ? ff_event_kind_of(ff_str_of(name)) : 0;

        if (!kind)
            return ff_fail_field(reterr, FF_INVALID, "kinds", "there is no kind of event '%.40s'",
                                 name ? name : "");
        match->kinds |= UINT32_C(1) << kind;
    }
    return FF_OK;
}

static ff_status partitions_of(const struct ff_event_filter *filter, struct ff_event_match *match,
                               struct ff_error *reterr)
{
    match->partition_from = filter->partition_from;
    match->partition_to = filter->partition_to;
    if (match->partition_from < -1 || match->partition_from >= FF_PARTITIONS ||
        match->partition_to < -1 || match->partition_to >= FF_PARTITIONS ||
        (match->partition_to >= 0 && match->partition_to < match->partition_from))
        return ff_fail_field(reterr, FF_INVALID, "partition", "partitions are 0 to %d",
                             FF_PARTITIONS - 1);
    return FF_OK;
}

static ff_status text_of(const char *text, size_t max, const char *field, struct ff_str *ret,
                         struct ff_error *reterr)
{
    *ret = ff_str_of(text);
    if (ret->len > max)
        return ff_fail_field(reterr, FF_TOO_LARGE, field, "%s has more than %zu bytes", field, max);
    return FF_OK;
}

ff_status ff_event_match_of(struct ff_client *client, const struct ff_event_filter *given,
                            struct ff_event_match *ret, struct ff_error *reterr)
{
    struct ff_event_match match = {0};
    struct ff_event_filter filter;
    struct ff_exec_id id;

    ff_event_filter_init(&filter);
    if (given)
        FF_TRY(ff_api_sized(&filter, sizeof filter, given, given->size, reterr));
    FF_TRY(kinds_of(&filter, &match, reterr));
    FF_TRY(partitions_of(&filter, &match, reterr));
    FF_TRY(text_of(filter.ns, FF_NAMESPACE_BYTES_MAX, "namespace", &match.namespace, reterr));
    FF_TRY(text_of(filter.instance_tag, FF_TAG_VALUE_BYTES_MAX, "instance_tag", &match.instance_tag,
                   reterr));
    if (filter.execution_id) {
        FF_TRY(ff_api_id(client, filter.execution_id, &id, reterr));
        match.execution_id = id.uuid;
    }
    if (filter.flow_id)
        FF_TRY(ff_flow_id_parse(ff_str_of(filter.flow_id), &match.flow_id, reterr));
    *ret = match;
    return FF_OK;
}

ff_status ff_event_after_of(const char *text, int64_t *ret_after, struct ff_error *reterr)
{
    if (!text || !text[0])
        *ret_after = FF_AFTER_NOW;
    else if (strcmp(text, "start") == 0)
        *ret_after = FF_AFTER_START;
    else
        return ff_event_cursor_read(text, ret_after, reterr);
    return FF_OK;
}

ff_status ff_event_infos(struct ff_arena *arena, const struct ff_followed *taken,
                         struct ff_event_info **ret, struct ff_error *reterr)
{
    *ret = ff_arena_array(arena, taken->count, sizeof **ret);
    for (size_t i = 0; *ret && i < taken->count; i++)
        ff_event_info_of_row(arena, &taken->items[i], &(*ret)[i]);
    return ff_arena_check(arena, reterr);
}

/* --- one page --- */

struct page {
    struct ff_reading reading;
    struct ff_memory *memory;
    size_t limit;
    struct ff_followed all; /* what has been taken so far */
};

/* Adds what has come. Notices change nothing for a page: the cursor says where it goes on. */
static ff_status gather(struct page *page, bool *ret_all, struct ff_error *reterr)
{
    struct ff_followed taken;

    do {
        FF_TRY(ff_follow_take(page->reading.follow, &page->memory->arena,
                              page->limit - page->all.count, &taken, reterr));
        if (taken.count)
            memcpy(page->all.items + page->all.count, taken.items,
                   taken.count * sizeof *taken.items);
        page->all.count += taken.count;
        page->all.cursor = taken.cursor;
    } while (taken.more && page->all.count < page->limit);
    *ret_all = taken.caught_up || page->all.count == page->limit;
    page->all.started = taken.started;
    return FF_OK;
}

/* Everything that was there at the call, up to the limit; or the first that comes later. */
static ff_status fill(struct page *page, int64_t wait_ms, int64_t timeout_ms,
                      struct ff_error *reterr)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t now_ms = ff_clock_mono_ms(&clock);
    bool all = false;

    for (;;) {
        FF_TRY(gather(page, &all, reterr));
        if (all && (page->all.count || ff_clock_mono_ms(&clock) >= now_ms + wait_ms))
            return FF_OK;
        if (!ff_reading_wait(&page->reading, now_ms + (all ? wait_ms : timeout_ms)) && !all)
            return ff_fail(reterr, FF_UNAVAILABLE, "the log cannot be read in time");
    }
}

ff_status ff_local_events(struct ff_client *client, const struct ff_event_filter *filter,
                          const char *after, int32_t limit, int64_t wait_ms,
                          struct ff_event_list *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = NULL;
    struct page page = {.limit = limit ? (size_t)limit : FF_LIST_DEFAULT};
    struct ff_follow_in in = {0};
    ff_status status;

    if (limit < 0 || limit > FF_LIST_MAX)
        return ff_fail_field(reterr, FF_INVALID, "limit", "limit is at most %d", FF_LIST_MAX);
    if (wait_ms < 0 || wait_ms > FF_WAIT_MS_MAX)
        return ff_fail_field(reterr, FF_INVALID, "wait_ms", "wait_ms is at most %d",
                             FF_WAIT_MS_MAX);
    FF_TRY(ff_event_after_of(after, &in.after, reterr));
    FF_TRY(ff_event_match_of(client, filter, &in.match, reterr));
    memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a page of events");
    page.memory = memory;
    page.all.items = ff_arena_array(&memory->arena, page.limit, sizeof *page.all.items);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    FF_TRY(ff_reading_init(&page.reading, client, &in, reterr));
    status = fill(&page, wait_ms, client->timeout_ms, reterr);
    ff_reading_done(&page.reading);
    FF_TRY(status);
    *ret = (struct ff_event_list){.count = page.all.count};
    FF_TRY(ff_event_infos(&memory->arena, &page.all, &ret->items, reterr));
    ff_event_cursor(page.all.cursor, ret->next_cursor);
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
