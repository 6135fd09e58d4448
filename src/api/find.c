/* SPDX-License-Identifier: Apache-2.0
 *
 * find.c -- ids as people write them, reads of one block, and the cursors of lists.
 *
 * A bare uuid may belong to any partition (a caller may bring its own id), so it is looked up; a
 * full id is not. Tests: tests/unit/test_api.c. */
#include "api/api-int.h"

#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/encode.h"
#include "base/error.h"
#include "store/sql.h"

#include "base/banned.h"

#define PREFIX_DIGITS_MIN 4
#define CANDIDATES_SHOWN  5
#define LIST_CURSOR_MARK  0x01

ff_status ff_api_read(struct ff_client *client, struct ff_arena *arena, int block,
                      const struct ff_value *params, size_t param_count, struct ff_read *ret,
                      struct ff_error *reterr)
{
    *ret = (struct ff_read){.block = block, .params = params, .param_count = param_count};
    return ff_api_read_together(client, arena, ret, 1, reterr);
}

ff_status ff_api_read_together(struct ff_client *client, struct ff_arena *arena,
                               struct ff_read *reads, size_t count, struct ff_error *reterr)
{
    for (size_t i = 0; i < count; i++) {
        reads[i].arena = arena;
        reads[i].next = i + 1 < count ? &reads[i + 1] : NULL;
    }
    if (count > 0)
        FF_TRY(ff_engine_read(client->engine, reads, client->timeout_ms, reterr));
    return ff_arena_check(arena, reterr);
}

ff_status ff_api_now(struct ff_client *client, int64_t *ret_now_ms, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    struct ff_read read;

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot ask for the time");
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_CLOCK, NULL, 0, &read, reterr));
    if (read.row_count != 1)
        return ff_fail(reterr, FF_INTERNAL, "the store does not tell the time");
    *ret_now_ms = read.cells[FF_OUT_CLOCK_NOW_MS].as.i64;
    return FF_OK;
}

ff_status ff_ping(struct ff_client *client, int64_t timeout_ms, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot ask for the time");
    struct ff_read read = {.block = FF_SQL_CLOCK, .arena = &memory->arena};
    return ff_engine_read(client->engine, &read, timeout_ms, reterr);
}

/* The range of uuids that start with the hex digits of `text`; false if it is not such a text. */
static bool prefix_range(struct ff_str text, struct ff_uuid *first, struct ff_uuid *last)
{
    size_t digits = 0;

    memset(first, 0x00, sizeof *first);
    memset(last, 0xff, sizeof *last);
    for (size_t i = 0; i < text.len; i++) {
        const int digit = ff_hex_digit(text.ptr[i]);
        const unsigned shift = digits % 2 ? 0 : 4;

        if (text.ptr[i] == '-' && (i == 8 || i == 13 || i == 18 || i == 23))
            continue;
        if (digit < 0 || digits == 32)
            return false;
        first->b[digits / 2] = (uint8_t)(first->b[digits / 2] | (unsigned)digit << shift);
        last->b[digits / 2] =
            (uint8_t)((last->b[digits / 2] & ~(15u << shift)) | (unsigned)digit << shift);
        digits++;
    }
    return digits >= PREFIX_DIGITS_MIN;
}

/* Up to CANDIDATES_SHOWN + 1 uuids were found where one was meant. */
static ff_status ambiguous(const char *text, const char *field, const struct ff_uuid *found,
                           size_t count, struct ff_error *reterr)
{
    char names[CANDIDATES_SHOWN * (FF_UUID_TEXT_LEN + 2) + 8] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && i < CANDIDATES_SHOWN; i++) {
        char uuid[FF_UUID_TEXT_BYTES];

        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 ff_uuid_format(found[i], uuid));
    }
    if (count > CANDIDATES_SHOWN)
        (void)snprintf(names + used, sizeof names - used, ", ...");
    return ff_fail_field(reterr, FF_INVALID, field, "id '%.40s' is not unique: it fits %s", text,
                         names);
}

/* Too short for one, and not the beginning of one. */
static ff_status no_id(const char *text, const char *form, const char *field,
                       struct ff_error *reterr)
{
    return ff_fail_field(reterr, FF_INVALID, field,
                         "'%.40s' is no id: neither %s nor the first digits of one, at least %d",
                         text, form, PREFIX_DIGITS_MIN);
}

static ff_status look_up(struct ff_client *client, const char *text, struct ff_uuid first,
                         struct ff_uuid last, struct ff_exec_id *ret_id, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    const struct ff_in_execution_by_uuid in = {
        .first = first, .last = last, .limit = CANDIDATES_SHOWN + 1};
    struct ff_value values[FF_SQL_EXECUTION_BY_UUID_PARAMS];
    struct ff_uuid found[CANDIDATES_SHOWN + 1];
    const struct ff_execution *row = NULL;
    struct ff_read read;

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot look up '%.40s'", text);
    ff_in_execution_by_uuid_values(&in, values);
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_EXECUTION_BY_UUID, values,
                       FF_SQL_EXECUTION_BY_UUID_PARAMS, &read, reterr));
    for (size_t i = 0; i < read.row_count; i++) {
        row = read.rows[i];
        found[i] = row->execution_id;
    }
    if (!row)
        return ff_fail(reterr, FF_NOT_FOUND, "no execution '%.40s'", text);
    if (read.row_count > 1)
        return ambiguous(text, "execution_id", found, read.row_count, reterr);
    *ret_id = (struct ff_exec_id){.partition = row->partition_key, .uuid = row->execution_id};
    return FF_OK;
}

static ff_status look_up_flow(struct ff_client *client, const char *text, struct ff_uuid first,
                              struct ff_uuid last, struct ff_uuid *ret_id, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    const struct ff_in_flow_by_uuid in = {
        .first = first, .last = last, .limit = CANDIDATES_SHOWN + 1};
    struct ff_value values[FF_SQL_FLOW_BY_UUID_PARAMS];
    struct ff_uuid found[CANDIDATES_SHOWN + 1];
    struct ff_read read;

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot look up '%.40s'", text);
    ff_in_flow_by_uuid_values(&in, values);
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_FLOW_BY_UUID, values,
                       FF_SQL_FLOW_BY_UUID_PARAMS, &read, reterr));
    for (size_t i = 0; i < read.row_count; i++)
        found[i] = ((const struct ff_flow *)read.rows[i])->flow_id;
    if (!read.row_count)
        return ff_fail(reterr, FF_NOT_FOUND, "no flow '%.40s'", text);
    if (read.row_count > 1)
        return ambiguous(text, "flow_id", found, read.row_count, reterr);
    *ret_id = found[0];
    return FF_OK;
}

ff_status ff_api_flow_id(struct ff_client *client, const char *text, struct ff_uuid *ret_id,
                         struct ff_error *reterr)
{
    struct ff_uuid first, last;

    FF_TRY(ff_api_need(text, "flow_id", reterr));
    if (strlen(text) < FF_UUID_TEXT_LEN && prefix_range(ff_str_of(text), &first, &last))
        return look_up_flow(client, text, first, last, ret_id, reterr);
    if (strlen(text) < FF_UUID_TEXT_LEN)
        return no_id(text, "a uuid", "flow_id", reterr);
    return ff_flow_id_parse(ff_str_of(text), ret_id, reterr);
}

/* "<flow>/<node>": the id follows from the two. */
static ff_status member_id(struct ff_client *client, const char *text, const char *slash,
                           struct ff_exec_id *ret_id, struct ff_error *reterr)
{
    const size_t len = (size_t)(slash - text);
    char flow[FF_UUID_TEXT_BYTES];
    struct ff_uuid flow_id;

    if (len >= sizeof flow || !slash[1])
        return ff_fail_field(reterr, FF_INVALID, "execution_id",
                             "'%.60s' is not a flow's id and a node's name", text);
    (void)snprintf(flow, sizeof flow, "%.*s", (int)len, text);
    FF_TRY(ff_api_flow_id(client, flow, &flow_id, reterr));
    return ff_member_id(flow_id, ff_str_of(slash + 1), ret_id, reterr);
}

ff_status ff_api_id(struct ff_client *client, const char *text, struct ff_exec_id *ret_id,
                    struct ff_error *reterr)
{
    struct ff_uuid first, last;
    struct ff_error problem;
    const char *slash;

    FF_TRY(ff_api_need(text, "execution_id", reterr));
    slash = strchr(text, '/');
    if (slash)
        return member_id(client, text, slash, ret_id, reterr);
    if (prefix_range(ff_str_of(text), &first, &last))
        return look_up(client, text, first, last, ret_id, reterr);
    if (strlen(text) < FF_UUID_TEXT_LEN)
        return no_id(text, "{fp:N}:<uuid>", "execution_id", reterr);
    const ff_status status = ff_exec_id_parse(ff_str_of(text), ret_id, &problem);
    if (status != FF_OK)
        return ff_fail_field(reterr, status, "execution_id", "%s", problem.message);
    return FF_OK;
}

/* ---- cursors ----------------------------------------------------------------------------------
 */

void ff_list_cursor(int64_t created_at_ms, struct ff_uuid uuid, char out[FF_CURSOR_BYTES])
{
    uint8_t bytes[FF_LIST_CURSOR_BYTES] = {LIST_CURSOR_MARK};

    ff_put_be_i64(bytes + 1, created_at_ms);
    memcpy(bytes + 9, uuid.b, sizeof uuid.b);
    ff_hex_encode(bytes, sizeof bytes, out);
}

ff_status ff_list_cursor_read(const char *text, int64_t *ret_created_at_ms,
                              struct ff_uuid *ret_uuid, struct ff_error *reterr)
{
    uint8_t bytes[FF_LIST_CURSOR_BYTES];

    if (!ff_hex_decode(ff_str_of(text), bytes, sizeof bytes) || bytes[0] != LIST_CURSOR_MARK ||
        ff_get_be_i64(bytes + 1) < 0)
        return ff_fail_field(reterr, FF_BAD_CURSOR, "cursor", "cursor is not one of ours");
    *ret_created_at_ms = ff_get_be_i64(bytes + 1);
    memcpy(ret_uuid->b, bytes + 9, sizeof ret_uuid->b);
    return FF_OK;
}
