/* SPDX-License-Identifier: Apache-2.0
 *
 * history.c -- what happened to one execution, from the event log.
 *
 * `submitted` is not in the log: it is told from the row, as event 0 of the first page.
 * Tests: tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "model/events.h"
#include "model/states.h"
#include "store/sql.h"

#include "base/banned.h"

void ff_event_info_of_row(struct ff_arena *arena, const struct ff_event *row,
                          struct ff_event_info *out)
{
    const struct ff_exec_id id = {.partition = row->partition_key, .uuid = row->execution_id};

    *out = (struct ff_event_info){
        .event_id = row->event_id,
        .kind = ff_event_kind_name(row->kind),
        .type = ff_event_type_name(row->kind, row->type),
        .generation = row->generation == FF_NULL32 ? 0 : row->generation,
        .ns = ff_api_text(arena, row->namespace),
        .instance_tag = ff_api_text(arena, row->instance_tag),
        .public_state = row->state == FF_NULL32 ? NULL : ff_state_public_name(row->state),
        .worker_id = ff_api_text(arena, row->worker_id),
        .worker_instance_id = ff_api_text(arena, row->worker_instance_id),
        .prev_owner = ff_api_text(arena, row->prev_owner),
        .note = ff_api_text(arena, row->note),
        .lease_epoch = row->lease_epoch,
        .version = row->version,
        .num_a = row->num_a,
        .num_b = row->num_b,
        .at_ms = row->at_ms,
    };
    ff_event_cursor(row->event_id, out->cursor);
    if (!ff_uuid_is_zero(row->execution_id))
        ff_exec_id_text(id, out->execution_id);
    if (!ff_uuid_is_zero(row->flow_id))
        (void)ff_uuid_format(row->flow_id, out->flow_id);
    if (!ff_uuid_is_zero(row->lease_id))
        (void)ff_uuid_format(row->lease_id, out->lease_id);
    /* A newer server may write kinds this library does not know. */
    out->kind = out->kind ? out->kind : "unknown";
    out->type = out->type ? out->type : "unknown";
}

static void submitted(struct ff_arena *arena, const struct ff_execution *row,
                      struct ff_event_info *out)
{
    const struct ff_exec_id id = {.partition = row->partition_key, .uuid = row->execution_id};

    *out = (struct ff_event_info){
        .kind = "execution",
        .type = "submitted",
        .ns = ff_api_text(arena, row->namespace),
        .instance_tag = ff_api_text(arena, row->instance_tag),
        .lease_epoch = FF_ABSENT_MS,
        .version = FF_ABSENT_MS,
        .num_a = FF_ABSENT_MS,
        .num_b = FF_ABSENT_MS,
        .at_ms = row->created_at_ms,
    };
    ff_event_cursor(0, out->cursor);
    ff_exec_id_text(id, out->execution_id);
    if (!ff_uuid_is_zero(row->flow_id))
        (void)ff_uuid_format(row->flow_id, out->flow_id);
}

struct page {
    struct ff_client *client;
    struct ff_arena *arena;
    struct ff_exec_id id;
    int64_t after; /* -1: from the beginning */
    int32_t limit;
};

static ff_status page_row(const struct page *page, const struct ff_execution **ret,
                          struct ff_error *reterr)
{
    const struct ff_in_execution_get in = {.partition_key = page->id.partition,
                                           .execution_id = page->id.uuid};
    struct ff_value values[FF_SQL_EXECUTION_GET_PARAMS];
    struct ff_read read;

    ff_in_execution_get_values(&in, values);
    FF_TRY(ff_api_read(page->client, page->arena, FF_SQL_EXECUTION_GET, values,
                       FF_SQL_EXECUTION_GET_PARAMS, &read, reterr));
    *ret = read.row_count ? read.rows[0] : NULL;
    return FF_OK;
}

static ff_status page_events(const struct page *page, struct ff_read *ret, struct ff_error *reterr)
{
    const struct ff_in_events_of_execution in = {.execution_id = page->id.uuid,
                                                 .partition_key = page->id.partition,
                                                 .after_event_id = ff_max_i64(page->after, 0),
                                                 .limit = page->limit + 1};
    struct ff_value values[FF_SQL_EVENTS_OF_EXECUTION_PARAMS];

    ff_in_events_of_execution_values(&in, values);
    return ff_api_read(page->client, page->arena, FF_SQL_EVENTS_OF_EXECUTION, values,
                       FF_SQL_EVENTS_OF_EXECUTION_PARAMS, ret, reterr);
}

static ff_status page_fill(const struct page *page, struct ff_event_list *ret,
                           struct ff_error *reterr)
{
    const struct ff_execution *row = NULL;
    struct ff_read read;
    size_t count = 0;

    FF_TRY(page_row(page, &row, reterr));
    FF_TRY(page_events(page, &read, reterr));
    if (!row && !read.row_count && page->after < 0) {
        char text[FF_ID_TEXT_BYTES];

        ff_exec_id_text(page->id, text);
        return ff_fail(reterr, FF_NOT_FOUND, "no execution %s", text);
    }
    const bool has_first = row && page->after < 0;
    const size_t all = read.row_count + has_first;
    struct ff_event_info *const items = ff_arena_array(page->arena, all, sizeof *items);
    FF_TRY(ff_arena_check(page->arena, reterr));
    if (has_first)
        submitted(page->arena, row, &items[count++]);
    for (size_t i = 0; i < read.row_count && count < (size_t)page->limit; i++)
        ff_event_info_of_row(page->arena, read.rows[i], &items[count++]);
    *ret = (struct ff_event_list){.count = count, .items = items};
    if (all > count && count)
        memcpy(ret->next_cursor, items[count - 1].cursor, sizeof items[count - 1].cursor);
    return ff_arena_check(page->arena, reterr);
}

ff_status ff_local_history(struct ff_client *client, const char *execution_id, const char *cursor,
                           int32_t limit, struct ff_event_list *ret, struct ff_error *reterr)
{
    struct page page = {.client = client, .after = -1};

    if (limit < 0 || limit > FF_LIST_MAX)
        return ff_fail_field(reterr, FF_INVALID, "limit", "limit is at most %d", FF_LIST_MAX);
    page.limit = limit ? limit : FF_LIST_DEFAULT;
    if (cursor && cursor[0])
        FF_TRY(ff_event_cursor_read(cursor, &page.after, reterr));
    FF_TRY(ff_api_id(client, execution_id, &page.id, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the history");
    page.arena = &memory->arena;
    FF_TRY(page_fill(&page, ret, reterr));
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
