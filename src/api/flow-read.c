/* SPDX-License-Identifier: Apache-2.0
 *
 * flow-read.c -- looking at flows: one with its graph, or a list.
 *
 * Live counts are read by index, not kept: ending a member must not wait for its flow's row.
 * Tests: tests/conformance/flow_*.c. */
#include "api/api-int.h"

#include <assert.h>
#include <string.h>

#include "base/codec.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/codes.h"
#include "model/states.h"
#include "ops/cascade.h"
#include "store/sql.h"

#include "base/banned.h"

static void info_tags(struct ff_arena *arena, struct ff_str packed, struct ff_flow_info *info)
{
    struct ff_tag_pair *const tags = ff_arena_array(arena, FF_TAGS_MAX, sizeof *tags);
    size_t at = 0;

    info->tags = tags;
    while (tags && at + 2 <= packed.len && info->tag_count < FF_TAGS_MAX) {
        const char **const parts[] = {&tags[info->tag_count].name, &tags[info->tag_count].value};

        for (size_t p = 0; p < 2 && at + 2 <= packed.len; p++) {
            const size_t len = ff_get_be16((const uint8_t *)packed.ptr + at);

            *parts[p] = ff_api_text(arena, ff_str_slice(packed, at + 2, len));
            at += 2 + len;
        }
        info->tag_count++;
    }
}

static void info_row(struct ff_arena *arena, const struct ff_flow *row, struct ff_flow_info *info)
{
    *info = (struct ff_flow_info){
        .kind = ff_api_text(arena, row->kind),
        .ns = ff_api_text(arena, row->namespace),
        .instance_tag = ff_api_text(arena, row->instance_tag),
        .state = ff_flow_state_name(row->state),
        .revision = row->revision,
        .node_count = row->node_count,
        .edge_count = row->edge_count,
        .ended_count = ff_flow_ended(row),
        .cancel_policy = row->cancel_policy ? ff_flow_cancel_name(row->cancel_policy) : NULL,
        .cancel_reason = ff_api_text(arena, row->cancel_reason),
        .created_at_ms = row->created_at_ms,
        .changed_at_ms = row->changed_at_ms,
        .finished_at_ms = row->finished_at_ms,
        .cancelled_at_ms = row->cancelled_at_ms,
    };
    (void)ff_uuid_format(row->flow_id, info->flow_id);
    info_tags(arena, row->tags, info);
}

static void info_counts(struct ff_arena *arena, const struct ff_read *read,
                        const struct ff_flow *row, struct ff_flow_info *info)
{
    int64_t started = 0;

    info->counts = ff_arena_array(arena, read->row_count, sizeof *info->counts);
    for (size_t i = 0; info->counts && i < read->row_count; i++) {
        const struct ff_value *const cells = read->cells + i * read->col_count;
        const char *const state =
            ff_state_public_name((int32_t)cells[FF_OUT_FLOW_COUNTS_STATE].as.i64);
        size_t at = 0;

        while (at < info->count_count && strcmp(info->counts[at].public_state, state) != 0)
            at++;
        info->counts[at].public_state = state;
        info->counts[at].count += cells[FF_OUT_FLOW_COUNTS_COUNT].as.i64;
        info->count_count += at == info->count_count ? 1 : 0;
        started += cells[FF_OUT_FLOW_COUNTS_STARTED].as.i64;
    }
    if (row->state == FF_FLOW_RUNNING && started == 0)
        info->state = "open";
}

static void info_nodes(struct ff_arena *arena, const struct ff_read *read,
                       struct ff_flow_info *info)
{
    info->nodes = ff_arena_array(arena, read->row_count, sizeof *info->nodes);
    info->node_info_count = info->nodes ? read->row_count : 0;
    for (size_t i = 0; i < info->node_info_count; i++) {
        const struct ff_value *const cells = read->cells + i * read->col_count;
        const struct ff_exec_id id = {(int32_t)cells[FF_OUT_FLOW_NODES_PARTITION_KEY].as.i64,
                                      cells[FF_OUT_FLOW_NODES_EXECUTION_ID].as.uuid};

        info->nodes[i].name = ff_api_text(arena, cells[FF_OUT_FLOW_NODES_NODE].as.str);
        info->nodes[i].kind = ff_api_text(arena, cells[FF_OUT_FLOW_NODES_KIND].as.str);
        info->nodes[i].public_state =
            ff_state_public_name((int32_t)cells[FF_OUT_FLOW_NODES_STATE].as.i64);
        ff_exec_id_text(id, info->nodes[i].execution_id);
    }
}

static void info_edges(struct ff_arena *arena, const struct ff_read *read,
                       struct ff_flow_info *info)
{
    info->edges = ff_arena_array(arena, read->row_count, sizeof *info->edges);
    info->edge_info_count = info->edges ? read->row_count : 0;
    for (size_t i = 0; i < info->edge_info_count; i++) {
        const struct ff_value *const cells = read->cells + i * read->col_count;

        info->edges[i] = (struct ff_flow_edge_info){
            .from = ff_api_text(arena, cells[FF_OUT_FLOW_EDGES_FROM_NODE].as.str),
            .to = ff_api_text(arena, cells[FF_OUT_FLOW_EDGES_TO_NODE].as.str),
            .pass = ff_pass_name((int32_t)cells[FF_OUT_FLOW_EDGES_PASS].as.i64),
            .outcome = ff_edge_outcome_name((int32_t)cells[FF_OUT_FLOW_EDGES_OUTCOME].as.i64),
        };
    }
}

static void info_joins(struct ff_arena *arena, const struct ff_read *read,
                       struct ff_flow_info *info)
{
    info->joins = ff_arena_array(arena, read->row_count, sizeof *info->joins);
    info->join_count = info->joins ? read->row_count : 0;
    for (size_t i = 0; i < info->join_count; i++) {
        const struct ff_value *const cells = read->cells + i * read->col_count;
        const int32_t policy = (int32_t)cells[FF_OUT_FLOW_JOINS_POLICY].as.i64;

        info->joins[i] = (struct ff_flow_join_info){
            .node = ff_api_text(arena, cells[FF_OUT_FLOW_JOINS_NODE].as.str),
            .policy = ff_join_policy_name(policy),
            .on_satisfied =
                policy == FF_JOIN_ALL_OF
                    ? NULL
                    : ff_on_satisfied_name((int32_t)cells[FF_OUT_FLOW_JOINS_ON_SATISFIED].as.i64),
            .group_state =
                ff_group_state_name((int32_t)cells[FF_OUT_FLOW_JOINS_GROUP_STATE].as.i64),
            .k = cells[FF_OUT_FLOW_JOINS_K].as.i64,
            .success = cells[FF_OUT_FLOW_JOINS_SUCCESS].as.i64,
            .fail = cells[FF_OUT_FLOW_JOINS_FAIL].as.i64,
            .skip = cells[FF_OUT_FLOW_JOINS_SKIP].as.i64,
            .total = cells[FF_OUT_FLOW_JOINS_TOTAL].as.i64,
        };
    }
}

/* What is shown of one flow, read at one moment: counts never contradict the nodes. */
enum { OF_ROW, OF_COUNTS, OF_NODES, OF_EDGES, OF_JOINS, OF_ALL };

static ff_status read_flow(struct ff_client *client, struct ff_arena *arena, struct ff_uuid flow_id,
                           struct ff_read reads[OF_ALL], struct ff_error *reterr)
{
    static const int blocks[OF_ALL] = {FF_SQL_FLOW_GET, FF_SQL_FLOW_COUNTS, FF_SQL_FLOW_NODES,
                                       FF_SQL_FLOW_EDGES, FF_SQL_FLOW_JOINS};
    const struct ff_in_flow_counts in = {FF_MEMBERS_OF(flow_id)};
    struct ff_value values[FF_SQL_FLOW_COUNTS_PARAMS];

    /* All take the first of these: the flow's key, where its members are, since when. */
    ff_in_flow_counts_values(&in, values);
    for (size_t i = 0; i < OF_ALL; i++) {
        const size_t count = ff_sql_blocks[blocks[i]].param_count;

        assert(count <= FF_SQL_FLOW_COUNTS_PARAMS);
        reads[i] = (struct ff_read){.block = blocks[i], .params = values, .param_count = count};
    }
    return ff_api_read_together(client, arena, reads, OF_ALL, reterr);
}

ff_status ff_local_flow_get(struct ff_client *client, const char *flow_id,
                            struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    struct ff_read reads[OF_ALL];
    struct ff_flow_info *info;
    struct ff_uuid id;

    FF_TRY(ff_api_need(flow_id, "flow_id", reterr));
    FF_TRY(ff_api_flow_id(client, flow_id, &id, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the flow");
    FF_TRY(read_flow(client, &memory->arena, id, reads, reterr));
    if (reads[OF_ROW].row_count == 0)
        return ff_fail(reterr, FF_NOT_FOUND, "no flow '%.40s'", flow_id);
    info = ff_arena_alloc(&memory->arena, sizeof *info);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    info_row(&memory->arena, reads[OF_ROW].rows[0], info);
    info_counts(&memory->arena, &reads[OF_COUNTS], reads[OF_ROW].rows[0], info);
    info_nodes(&memory->arena, &reads[OF_NODES], info);
    info_edges(&memory->arena, &reads[OF_EDGES], info);
    info_joins(&memory->arena, &reads[OF_JOINS], info);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    *ret = (struct ff_flow_info_list){.count = 1, .items = info};
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

/* --- lists --- */

static ff_status state_filter(const char *state, int64_t *ret_state, int64_t *ret_started,
                              struct ff_error *reterr)
{
    *ret_started = FF_NULL64;
    if (strcmp(state, "open") == 0 || strcmp(state, "running") == 0) {
        *ret_state = FF_FLOW_RUNNING;
        *ret_started = state[0] == 'r';
        return FF_OK;
    }
    for (int32_t code = FF_FLOW_COMPLETED; code <= FF_FLOW_CANCELLED; code++)
        if (strcmp(state, ff_flow_state_name(code)) == 0) {
            *ret_state = code;
            return FF_OK;
        }
    return ff_fail_field(reterr, FF_INVALID, "state", "no flow is '%.40s'", state);
}

/* The counts of all flows of a page, in one call. */
static ff_status list_counts(struct ff_client *client, struct ff_arena *arena,
                             const struct ff_read *page, struct ff_flow_info_list *list,
                             struct ff_error *reterr)
{
    struct ff_read *const reads = ff_arena_array(arena, list->count, sizeof *reads);
    struct ff_value *const values =
        ff_arena_array(arena, list->count * FF_SQL_FLOW_COUNTS_PARAMS, sizeof *values);

    FF_TRY(ff_arena_check(arena, reterr));
    for (size_t i = 0; i < list->count; i++) {
        const struct ff_flow *const row = page->rows[i];
        const struct ff_in_flow_counts in = {FF_MEMBERS_OF(row->flow_id)};
        struct ff_value *const params = values + i * FF_SQL_FLOW_COUNTS_PARAMS;

        ff_in_flow_counts_values(&in, params);
        reads[i] = (struct ff_read){.block = FF_SQL_FLOW_COUNTS,
                                    .params = params,
                                    .param_count = FF_SQL_FLOW_COUNTS_PARAMS};
    }
    FF_TRY(ff_api_read_together(client, arena, reads, list->count, reterr));
    for (size_t i = 0; i < list->count; i++) {
        info_row(arena, page->rows[i], &list->items[i]);
        info_counts(arena, &reads[i], page->rows[i], &list->items[i]);
    }
    return FF_OK;
}

ff_status ff_local_flow_list(struct ff_client *client, const struct ff_flow_filter *filter,
                             struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    struct ff_flow_filter given = {.size = sizeof given};
    struct ff_value values[FF_SQL_FLOW_LIST_PARAMS];
    struct ff_in_flow_list in = {.before_created_ms = INT64_MAX, .started = FF_NULL64};
    struct ff_flow_info_list list = {0};
    struct ff_read read;
    int64_t state;
    size_t limit;

    if (filter)
        FF_TRY(ff_api_sized(&given, sizeof given, filter, filter->size, reterr));
    if (given.limit < 0 || given.limit > FF_LIST_MAX)
        return ff_fail_field(reterr, FF_INVALID, "limit", "limit is at most %d", FF_LIST_MAX);
    limit = given.limit ? (size_t)given.limit : FF_LIST_DEFAULT;
    in.limit = (int64_t)limit + 1;
    in.namespace = ff_str_of(given.ns);
    in.kind = ff_str_of(given.kind);
    if (given.state) {
        FF_TRY(state_filter(given.state, &state, &in.started, reterr));
        in.states = &state;
        in.states_count = 1;
    }
    if (given.cursor && given.cursor[0])
        FF_TRY(ff_list_cursor_read(given.cursor, &in.before_created_ms, &in.before_id, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the flows");
    ff_in_flow_list_values(&in, values);
    FF_TRY(ff_api_read(client, &memory->arena, FF_SQL_FLOW_LIST, values, FF_SQL_FLOW_LIST_PARAMS,
                       &read, reterr));
    list.count = ff_min_size(read.row_count, limit);
    list.items = ff_arena_array(&memory->arena, list.count, sizeof *list.items);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    FF_TRY(list_counts(client, &memory->arena, &read, &list, reterr));
    if (read.row_count > limit) {
        const struct ff_flow *const last = read.rows[limit - 1];

        ff_list_cursor(last->created_at_ms, last->flow_id, list.next_cursor);
    }
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    *ret = list;
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
