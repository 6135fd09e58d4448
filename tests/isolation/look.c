/* SPDX-License-Identifier: Apache-2.0
 *
 * look.c -- all rows and events of a game as lines of text, without times.
 *
 * Two boards are equal if their texts are. */
#include "isolation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "sql_ids.h"

#include "base/banned.h"

#define READ_MS    60000
#define EVENTS_MAX 200

static bool is_time(const struct ff_col *col)
{
    const size_t len = strlen(col->name);

    return len > 3 && strcmp(col->name + len - 3, "_ms") == 0;
}

/* What differs from game to game, and says nothing. */
static bool is_incidental(const struct ff_col *col)
{
    return strstr(col->name, "hash") != NULL;
}

static void add_id(struct text *text, const struct game *game, struct ff_uuid id)
{
    for (size_t i = 0; i < game->name_count; i++)
        if (ff_uuid_eq(game->names[i].id, id)) {
            text_add(text, "%s", game->names[i].name);
            return;
        }
    for (size_t i = 0; i < 16; i++)
        text_add(text, "%02x", id.b[i]);
}

static void add_bytes(struct text *text, const void *bytes, size_t len)
{
    const uint8_t *const at = bytes;

    for (size_t i = 0; i < len; i++)
        text_add(text, at[i] >= 33 && at[i] < 127 ? "%c" : "%%%02x", at[i]);
}

static void add_value(struct text *text, const struct game *game, const struct ff_col *col,
                      const void *row)
{
    const void *const at = (const char *)row + col->offset;
    const struct ff_str *const str = at;

    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        text_add(text, "%" PRId32, *(const int32_t *)at);
        break;
    case FF_TYPE_I64:
        if (is_time(col))
            text_add(text, "%s", *(const int64_t *)at == FF_NULL64 ? "never" : "set");
        else
            text_add(text, "%" PRId64, *(const int64_t *)at);
        break;
    case FF_TYPE_UUID:
        if (!strstr(col->name, "cursor"))
            add_id(text, game, *(const struct ff_uuid *)at);
        else /* how far it has come depends on the order of ids */
            text_add(text, ff_uuid_is_zero(*(const struct ff_uuid *)at) ? "0" : "set");
        break;
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        if (ff_str_is_null(*str))
            text_add(text, "null");
        else if (is_incidental(col))
            text_add(text, "set");
        else if (ff_str_eq(*str, ff_str_of(game->ns)))
            text_add(text, "NS");
        else if (strcmp(col->name, "dedup_key") == 0)
            text_add(text, "%.2s", str->ptr); /* the kind of key; the rest is an id */
        else
            add_bytes(text, str->ptr, str->len);
        break;
    }
}

static void add_row(struct text *text, const struct game *game, ff_table table, const void *row)
{
    const struct ff_table_info *const info = &ff_tables[table];

    text_add(text, "%s", info->name);
    for (size_t i = 0; i < info->col_count; i++) {
        if (strcmp(info->cols[i].name, "partition_key") == 0)
            continue;
        text_add(text, " %s=", info->cols[i].name);
        add_value(text, game, &info->cols[i], row);
    }
    text_add(text, "\n");
}

/* In their order: number by number from the point of view of each execution, or of the flow. */
static void add_event(struct text *text, const struct game *game, const struct ff_event *event,
                      int number)
{
    text_add(text, "event ");
    add_id(text, game, ff_uuid_is_zero(event->execution_id) ? event->flow_id : event->execution_id);
    text_add(text, " %03d kind=%d type=%d generation=%d state=%d version=%" PRId64 " note=", number,
             event->kind, event->type, event->generation, event->state, event->version);
    add_bytes(text, event->note.ptr, event->note.len);
    text_add(text, "\n");
}

/* Whose story is told; those of a flow are its own, not its members'. */
struct whose {
    int32_t partition;
    struct ff_uuid execution_id, flow_id;
};

static bool is_of(const struct ff_event *event, const struct whose *whose)
{
    return ff_uuid_eq(event->execution_id, whose->execution_id) &&
           (ff_uuid_is_zero(whose->flow_id) || ff_uuid_eq(event->flow_id, whose->flow_id));
}

static void add_events_of_model(struct text *text, const struct board *board,
                                const struct whose *whose)
{
    int number = 0;

    for (size_t i = 0; i < model_event_count(board->model); i++) {
        const struct ff_event *const event = model_event_at(board->model, i);

        if (is_of(event, whose))
            add_event(text, board->game, event, number++);
    }
}

static void add_events(struct text *text, struct board *board, const struct whose *whose,
                       struct ff_arena *arena)
{
    const struct ff_in_events_of_execution of_one = {.execution_id = whose->execution_id,
                                                     .partition_key = whose->partition,
                                                     .limit = EVENTS_MAX};
    const struct ff_in_events_of_flow_after of_flow = {
        .flow_id = whose->flow_id, .upto_event_id = INT64_MAX, .limit = EVENTS_MAX};
    struct ff_value one[FF_SQL_EVENTS_OF_EXECUTION_PARAMS];
    struct ff_value flow[FF_SQL_EVENTS_OF_FLOW_AFTER_PARAMS];
    struct ff_read read = {.block = FF_SQL_EVENTS_OF_EXECUTION,
                           .params = one,
                           .param_count = FF_ARRAY_LEN(one),
                           .arena = arena};
    struct ff_error error;
    int number = 0;

    ff_in_events_of_execution_values(&of_one, one);
    ff_in_events_of_flow_after_values(&of_flow, flow);
    if (!ff_uuid_is_zero(whose->flow_id))
        read = (struct ff_read){.block = FF_SQL_EVENTS_OF_FLOW_AFTER,
                                .params = flow,
                                .param_count = FF_ARRAY_LEN(flow),
                                .arena = arena};
    if (ff_engine_read(board->stage.engine, &read, READ_MS, &error) != FF_OK)
        abort();
    for (size_t i = 0; i < read.row_count; i++)
        if (is_of(read.rows[i], whose))
            add_event(text, board->game, read.rows[i], number++);
}

static void add_story(struct text *text, struct board *board, ff_table table, const void *row,
                      struct ff_arena *arena)
{
    const struct ff_execution *const execution = row;
    const struct ff_flow *const flow = row;
    struct whose whose = {0};

    if (table == FF_TABLE_FLOW)
        whose.flow_id = flow->flow_id;
    else if (table == FF_TABLE_EXECUTION)
        whose = (struct whose){.partition = execution->partition_key,
                               .execution_id = execution->execution_id};
    else
        return;
    if (board->model)
        add_events_of_model(text, board, &whose);
    else
        add_events(text, board, &whose, arena);
}

void look(struct board *board, struct text *ret)
{
    struct ff_rowset rows;
    struct ff_arena arena;
    struct ff_error error;

    ret->len = 0;
    ret->bytes[0] = '\0';
    ff_arena_init(&arena, 64 << 10, 64 << 20);
    ff_rowset_init(&rows, &arena);
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (struct ff_entry *entry = board->known.entries[table]; entry; entry = entry->next)
            (void)ff_rowset_want(&rows, (ff_table)table, entry->row, FF_WANT_READ);
    if (ff_engine_peek(board->stage.engine, &rows, READ_MS, &error) != FF_OK)
        abort();
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (struct ff_entry *entry = rows.entries[table]; entry; entry = entry->next) {
            if (entry->found == FF_FOUND_ROW)
                add_row(ret, board->game, (ff_table)table, entry->row);
            add_story(ret, board, (ff_table)table, entry->row, &arena);
        }
    ff_arena_done(&arena);
    text_sort(ret);
}
