/* SPDX-License-Identifier: Apache-2.0
 *
 * read.c -- one execution: whole, its result, its attempts, its history.
 *
 * Reads take no lock and may be a moment old. Tests: tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include "base/error.h"
#include "base/limits.h"
#include "model/codes.h"
#include "model/lease.h"
#include "model/rowset.h"
#include "model/states.h"
#include "store/sql.h"

#include "base/banned.h"

static struct ff_scan *scan_payload(struct ff_rowset *rows, struct ff_exec_id id, int32_t kind)
{
    const struct ff_in_execution_payload in = {
        .partition_key = id.partition, .execution_id = id.uuid, .kind = kind};
    struct ff_value values[FF_SQL_EXECUTION_PAYLOAD_PARAMS];

    ff_in_execution_payload_values(&in, values);
    return ff_rowset_scan(rows, FF_SQL_EXECUTION_PAYLOAD, values, FF_SQL_EXECUTION_PAYLOAD_PARAMS,
                          1);
}

static struct ff_scan *scan_tags(struct ff_rowset *rows, struct ff_exec_id id)
{
    const struct ff_in_execution_tags in = {.partition_key = id.partition, .execution_id = id.uuid};
    struct ff_value values[FF_SQL_EXECUTION_TAGS_PARAMS];

    ff_in_execution_tags_values(&in, values);
    return ff_rowset_scan(rows, FF_SQL_EXECUTION_TAGS, values, FF_SQL_EXECUTION_TAGS_PARAMS,
                          FF_TAGS_MAX);
}

static void *found(struct ff_rowset *rows, ff_table table, const void *key)
{
    const struct ff_entry *const entry = ff_rowset_find(rows, table, key);

    return entry && entry->found == FF_FOUND_ROW ? entry->row : NULL;
}

static ff_status not_found(struct ff_exec_id id, struct ff_error *reterr)
{
    char text[FF_ID_TEXT_BYTES];

    ff_exec_id_text(id, text);
    return ff_fail(reterr, FF_NOT_FOUND, "no execution %s", text);
}

static void info_tags(struct ff_arena *arena, const struct ff_scan *scan, struct ff_info *info)
{
    const size_t count = scan ? scan->row_count : 0;
    struct ff_tag_pair *const tags = ff_arena_array(arena, count, sizeof *tags);

    for (size_t i = 0; tags && i < count; i++) {
        const struct ff_tag *const tag = scan->rows[i];

        tags[i].name = ff_api_text(arena, tag->name);
        tags[i].value = ff_api_text(arena, tag->value);
    }
    info->tags = tags;
    info->tag_count = count;
}

static void info_input(struct ff_arena *arena, const struct ff_execution *row,
                       const struct ff_scan *scan, struct ff_info *info)
{
    info->input = ff_arena_str(arena, row->input);
    info->input_content_type = ff_api_text(arena, row->input_type);
    if ((row->flags & FF_EXEC_INPUT_ELSEWHERE) && scan && scan->row_count) {
        const struct ff_payload *const payload = scan->rows[0];

        info->input = ff_arena_str(arena, payload->data);
        info->input_content_type = ff_api_text(arena, payload->content_type);
    }
}

static void info_progress(struct ff_arena *arena, const struct ff_progress *row,
                          struct ff_info *info)
{
    if (!row || row->generation != info->generation)
        return;
    info->has_progress = true;
    info->progress_percent = row->percent == FF_NULL32 ? -1 : row->percent;
    info->progress_message = ff_api_text(arena, row->message);
    info->progress_at_ms = row->updated_at_ms;
}

/* A revoked lease is nobody's failure, and what failed before a replay is history. */
static bool is_failure(const struct ff_attempt *last, const struct ff_execution *row)
{
    return last->generation == row->generation && last->outcome != FF_END_REVOKED &&
           !ff_str_is_null(last->failure_message);
}

/* What only the row tells how to find: why the last attempt ended, which capabilities it needs. */
static ff_status info_more(struct ff_client *client, struct ff_arena *arena,
                           const struct ff_execution *row, struct ff_info *info,
                           struct ff_error *reterr)
{
    const struct ff_attempt attempt = {.partition_key = row->partition_key,
                                       .execution_id = row->execution_id,
                                       .lease_epoch = row->last_epoch};
    const struct ff_capset capset = {.capset_id = row->capset_id};
    const bool may_have_failed = row->last_epoch && row->state != FF_STATE_SUCCESS;
    struct ff_rowset rows;

    if (!row->capset_id && !may_have_failed)
        return FF_OK;
    ff_rowset_init(&rows, arena);
    if (row->capset_id)
        (void)ff_rowset_want(&rows, FF_TABLE_CAPSET, &capset, FF_WANT_READ);
    if (may_have_failed)
        (void)ff_rowset_want(&rows, FF_TABLE_ATTEMPT, &attempt, FF_WANT_READ);
    FF_TRY(ff_engine_peek(client->engine, &rows, client->timeout_ms, reterr));

    const struct ff_capset *const tokens =
        row->capset_id ? found(&rows, FF_TABLE_CAPSET, &capset) : NULL;
    const struct ff_attempt *const last =
        may_have_failed ? found(&rows, FF_TABLE_ATTEMPT, &attempt) : NULL;
    if (tokens)
        ff_info_capabilities(arena, tokens->tokens, info);
    if (last && is_failure(last, row)) {
        info->failure_message = ff_api_text(arena, last->failure_message);
        info->failure_class = ff_failure_class_text(last->failure_class);
    }
    return ff_arena_check(arena, reterr);
}

ff_status ff_local_get(struct ff_client *client, const char *execution_id, struct ff_info_list *ret,
                       struct ff_error *reterr)
{
    struct ff_exec_id id;
    struct ff_rowset rows;

    FF_TRY(ff_api_id(client, execution_id, &id, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold an execution");

    const struct ff_execution key = {.partition_key = id.partition, .execution_id = id.uuid};
    const struct ff_progress progress = {.partition_key = id.partition, .execution_id = id.uuid};
    ff_rowset_init(&rows, &memory->arena);
    (void)ff_rowset_want(&rows, FF_TABLE_EXECUTION, &key, FF_WANT_READ);
    (void)ff_rowset_want(&rows, FF_TABLE_PROGRESS, &progress, FF_WANT_READ);
    const struct ff_scan *const tags = scan_tags(&rows, id);
    const struct ff_scan *const input = scan_payload(&rows, id, FF_PAYLOAD_INPUT);
    FF_TRY(ff_engine_peek(client->engine, &rows, client->timeout_ms, reterr));

    const struct ff_execution *const row = found(&rows, FF_TABLE_EXECUTION, &key);
    if (!row)
        return not_found(id, reterr);
    struct ff_info *const info = ff_arena_alloc(&memory->arena, sizeof *info);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    FF_TRY(ff_info_from_row(&memory->arena, row, info, reterr));
    info_tags(&memory->arena, tags, info);
    info_input(&memory->arena, row, input, info);
    info_progress(&memory->arena, found(&rows, FF_TABLE_PROGRESS, &progress), info);
    FF_TRY(info_more(client, &memory->arena, row, info, reterr));
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    *ret = (struct ff_info_list){.count = 1, .items = info};
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

static ff_status get_row(struct ff_client *client, struct ff_arena *arena, struct ff_exec_id id,
                         const struct ff_execution **ret_row, struct ff_error *reterr)
{
    const struct ff_in_execution_get in = {.partition_key = id.partition, .execution_id = id.uuid};
    struct ff_value values[FF_SQL_EXECUTION_GET_PARAMS];
    struct ff_read read;

    ff_in_execution_get_values(&in, values);
    FF_TRY(ff_api_read(client, arena, FF_SQL_EXECUTION_GET, values, FF_SQL_EXECUTION_GET_PARAMS,
                       &read, reterr));
    *ret_row = read.row_count ? read.rows[0] : NULL;
    return FF_OK;
}

static ff_status read_result(struct ff_client *client, struct ff_exec_id id, int32_t generation,
                             struct ff_memory *memory, struct ff_bytes *ret, bool *ret_found,
                             struct ff_error *reterr)
{
    const struct ff_payload key = {.partition_key = id.partition,
                                   .execution_id = id.uuid,
                                   .generation = generation,
                                   .kind = FF_PAYLOAD_RESULT};
    const struct ff_payload *payload;
    struct ff_rowset rows;

    ff_rowset_init(&rows, &memory->arena);
    (void)ff_rowset_want(&rows, FF_TABLE_PAYLOAD, &key, FF_WANT_READ);
    FF_TRY(ff_engine_peek(client->engine, &rows, client->timeout_ms, reterr));
    payload = found(&rows, FF_TABLE_PAYLOAD, &key);
    *ret_found = payload != NULL;
    *ret = (struct ff_bytes){.memory = NULL};
    if (payload) {
        ret->data = ff_arena_str(&memory->arena, payload->data);
        ret->content_type = ff_api_text(&memory->arena, payload->content_type);
    }
    return ff_arena_check(&memory->arena, reterr);
}

/* `generation` -1: of the live one. One that completed without a result has none, and says so. */
static ff_status result_of(struct ff_client *client, const char *execution_id, int32_t generation,
                           struct ff_bytes *ret, struct ff_error *reterr)
{
    const struct ff_execution *row;
    struct ff_exec_id id;
    bool found_it;

    FF_TRY(ff_api_id(client, execution_id, &id, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a result");
    FF_TRY(get_row(client, &memory->arena, id, &row, reterr));
    if (!row)
        return not_found(id, reterr);
    if (generation < 0 && row->state != FF_STATE_SUCCESS)
        return ff_fail(reterr, FF_NO_RESULT, "execution is %s, only a completed one has a result",
                       ff_state_public_name(row->state));
    FF_TRY(read_result(client, id, generation < 0 ? row->generation : generation, memory, ret,
                       &found_it, reterr));
    if (generation >= 0 && !found_it)
        return ff_fail(reterr, FF_NO_RESULT, "generation %d left no result", (int)generation);
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

ff_status ff_local_result(struct ff_client *client, const char *execution_id, struct ff_bytes *ret,
                          struct ff_error *reterr)
{
    return result_of(client, execution_id, -1, ret, reterr);
}

ff_status ff_local_result_of(struct ff_client *client, const char *execution_id, int32_t generation,
                             struct ff_bytes *ret, struct ff_error *reterr)
{
    if (generation < 0)
        return ff_fail_field(reterr, FF_INVALID, "generation", "generations begin with 0");
    return result_of(client, execution_id, generation, ret, reterr);
}

/* ---- attempts ---------------------------------------------------------------------------------
 */

static void attempt_ended(struct ff_arena *arena, const struct ff_attempt *row,
                          struct ff_attempt_info *out)
{
    *out = (struct ff_attempt_info){
        .generation = row->generation,
        .attempt_index = row->attempt_index,
        .attempt_type = ff_attempt_type_name(row->attempt_type),
        .outcome = ff_end_name(row->outcome),
        .lease_epoch = row->lease_epoch,
        .started_at_ms = row->started_at_ms,
        .ended_at_ms = row->ended_at_ms,
        .worker_id = ff_api_text(arena, row->worker_id),
        .worker_instance_id = ff_api_text(arena, row->worker_instance_id),
        .failure_message = ff_api_text(arena, row->failure_message),
        .failure_class = ff_failure_class_text(row->failure_class),
    };
    (void)ff_uuid_format(row->lease_id, out->lease_id);
}

static void attempt_live(struct ff_arena *arena, const struct ff_execution *row,
                         struct ff_attempt_info *out)
{
    *out = (struct ff_attempt_info){
        .generation = row->generation,
        .attempt_index = row->attempt_index,
        .attempt_type = ff_attempt_type_name(row->attempt_type),
        .lease_epoch = row->lease_epoch,
        .started_at_ms = row->lease_acquired_at_ms,
        .ended_at_ms = FF_ABSENT_MS,
        .worker_id = ff_api_text(arena, row->worker_id),
        .worker_instance_id = ff_api_text(arena, row->worker_instance_id),
    };
    (void)ff_uuid_format(row->lease_id, out->lease_id);
}

/* The attempt that only the execution's row tells of: the live one, or the one that completed it.
 * Between the two reads it may have got a row of its own; that is no earlier than its epoch then.
 * False: there is none, or `last` of the others is it or a later one. */
static bool attempt_on_row(struct ff_arena *arena, const struct ff_execution *row,
                           const struct ff_attempt *last, struct ff_attempt_info *out)
{
    const bool is_live = ff_state_is_leased(row->state) && !ff_uuid_is_zero(row->lease_id);
    const bool is_kept = ff_attempt_is_kept(row);
    const int64_t epoch = is_kept ? row->last_epoch : row->lease_epoch;
    struct ff_attempt kept = {.head = {.table = FF_TABLE_ATTEMPT}};

    if ((!is_live && !is_kept) || (last && last->lease_epoch >= epoch))
        return false;
    if (is_kept) {
        ff_attempt_kept(row, &kept);
        attempt_ended(arena, &kept, out);
    } else {
        attempt_live(arena, row, out);
    }
    return true;
}

ff_status ff_local_attempts(struct ff_client *client, const char *execution_id,
                            struct ff_attempt_list *ret, struct ff_error *reterr)
{
    const struct ff_execution *row;
    struct ff_exec_id id;
    struct ff_read read;

    FF_TRY(ff_api_id(client, execution_id, &id, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the attempts");
    FF_TRY(get_row(client, &memory->arena, id, &row, reterr));
    if (!row)
        return not_found(id, reterr);

    const struct ff_in_execution_attempts in = {.partition_key = id.partition,
                                                .execution_id = id.uuid};
    struct ff_value values[FF_SQL_EXECUTION_ATTEMPTS_PARAMS];
    ff_in_execution_attempts_values(&in, values);
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_EXECUTION_ATTEMPTS, values,
                       FF_SQL_EXECUTION_ATTEMPTS_PARAMS, &read, reterr));
    const struct ff_attempt *const last = read.row_count ? read.rows[read.row_count - 1] : NULL;
    struct ff_attempt_info *const items =
        ff_arena_array(&memory->arena, read.row_count + 1, sizeof *items);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    for (size_t i = 0; i < read.row_count; i++)
        attempt_ended(&memory->arena, read.rows[i], &items[i]);
    const bool one_more = attempt_on_row(&memory->arena, row, last, &items[read.row_count]);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    *ret = (struct ff_attempt_list){.count = read.row_count + one_more, .items = items};
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
