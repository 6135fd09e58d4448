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
#include "base/mutant.h"
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

static ff_status partitions_of(struct ff_event_filter *filter, struct ff_error *reterr)
{
    int32_t *const from = &filter->partition_from, *const to = &filter->partition_to;

    if (*from == -1 && *to == -1)
        return FF_OK;
    *from = *from == -1 ? 0 : *from;
    *to = *to == -1 ? FF_PARTITIONS - 1 : *to;
    if (*from < 0 || *to >= FF_PARTITIONS || *to < *from)
        return ff_fail_field(reterr, FF_INVALID, "partition", "partitions are 0 to %d",
                             FF_PARTITIONS - 1);
    return FF_OK;
}

/* An empty text names nothing, and must not be taken for "any". */
static ff_status text_of(const char *text, size_t max, const char *field, struct ff_error *reterr)
{
    const size_t len = text ? strlen(text) : 0;

    if (text && !len)
        return ff_fail_field(reterr, FF_INVALID, field, "%s must not be empty", field);
    if (len > max)
        return ff_fail_field(reterr, FF_TOO_LARGE, field, "%s has more than %zu bytes", field, max);
    return FF_OK;
}

ff_status ff_event_filter_read(const struct ff_event_filter *given, struct ff_event_filter *ret,
                               struct ff_error *reterr)
{
    struct ff_event_filter filter;

    ff_event_filter_init(&filter);
    if (given)
        FF_TRY(ff_api_sized(&filter, sizeof filter, given, given->size, reterr));
    FF_TRY(partitions_of(&filter, reterr));
    FF_TRY(text_of(filter.ns, FF_NAMESPACE_BYTES_MAX, "namespace", reterr));
    FF_TRY(text_of(filter.instance_tag, FF_TAG_VALUE_BYTES_MAX, "instance_tag", reterr));
    FF_TRY(text_of(filter.execution_id, SIZE_MAX, "execution_id", reterr));
    FF_TRY(text_of(filter.flow_id, SIZE_MAX, "flow_id", reterr));
    *ret = filter;
    return FF_OK;
}

ff_status ff_event_match_of(struct ff_client *client, const struct ff_event_filter *given,
                            struct ff_event_match *ret, struct ff_error *reterr)
{
    struct ff_event_match match = {0};
    struct ff_event_filter filter;
    struct ff_exec_id id;

    FF_TRY(ff_event_filter_read(given, &filter, reterr));
    FF_TRY(kinds_of(&filter, &match, reterr));
    match.partition_from = filter.partition_from;
    match.partition_to = filter.partition_to;
    match.namespace = ff_str_of(filter.ns);
    match.instance_tag = ff_str_of(filter.instance_tag);
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

ff_status ff_event_page_init(struct ff_event_page *page, struct ff_arena *arena, int32_t limit,
                             struct ff_error *reterr)
{
    *page = (struct ff_event_page){.limit = limit ? (size_t)limit : FF_LIST_DEFAULT};
    page->all.items = ff_arena_array(arena, page->limit, sizeof *page->all.items);
    return ff_arena_check(arena, reterr);
}

/* False: the page ends before what was taken. */
static bool page_add(struct ff_event_page *page, const struct ff_followed *taken)
{
    struct ff_followed *const all = &page->all;

    if (taken->notice == FF_NOTICE_RESET || taken->notice == FF_NOTICE_GAP) {
        if ((all->count || all->notice) && !FF_MUTANT(page_past_a_notice))
            return false;
        all->notice = taken->notice;
        page->notice_cursor = taken->cursor;
    }
    if (taken->count)
        memcpy(all->items + all->count, taken->items, taken->count * sizeof *taken->items);
    all->count += taken->count;
    all->cursor = taken->cursor;
    return true;
}

ff_status ff_event_page_gather(struct ff_event_page *page, struct ff_arena *arena, bool *ret_all,
                               struct ff_error *reterr)
{
    struct ff_followed taken;
    bool ends;

    do {
        FF_TRY(ff_follow_take(page->follow, arena, page->limit - page->all.count, &taken, reterr));
        ends = !page_add(page, &taken) || page->all.count == page->limit;
    } while (!ends && (taken.more || taken.notice)); /* behind a notice it may be further on */
    *ret_all = ends || taken.caught_up;
    return FF_OK;
}

struct page {
    struct ff_reading reading;
    struct ff_memory *memory;
    struct ff_event_page page;
};

/* Everything that was there at the call, up to the limit; or the first that comes later. */
static ff_status fill(struct page *page, int64_t wait_ms, int64_t timeout_ms,
                      struct ff_error *reterr)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t now_ms = ff_clock_mono_ms(&clock);
    const struct ff_followed *const got = &page->page.all;
    bool all = false;

    for (;;) {
        FF_TRY(ff_event_page_gather(&page->page, &page->memory->arena, &all, reterr));
        if (all && (got->count || got->notice || ff_clock_mono_ms(&clock) >= now_ms + wait_ms))
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
    const struct ff_followed *all;
    struct ff_follow_in in = {0};
    struct page page;
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
    FF_TRY(ff_event_page_init(&page.page, &memory->arena, limit, reterr));
    FF_TRY(ff_reading_init(&page.reading, client, &in, reterr));
    page.page.follow = page.reading.follow;
    status = fill(&page, wait_ms, client->timeout_ms, reterr);
    ff_reading_done(&page.reading);
    FF_TRY(status);
    all = &page.page.all;
    *ret = (struct ff_event_list){.count = all->count, .notice = ff_notice_name(all->notice)};
    FF_TRY(ff_event_infos(&memory->arena, all, &ret->items, reterr));
    ff_event_cursor(all->cursor, ret->next_cursor);
    if (ret->notice)
        ff_event_cursor(page.page.notice_cursor, ret->notice_cursor);
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
