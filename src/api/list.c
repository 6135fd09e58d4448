/* SPDX-License-Identifier: Apache-2.0
 *
 * list.c -- executions by filter: to look at, to cancel, to replay.
 *
 * Newest first by (created, id): rows present throughout are seen exactly once.
 * Tests: tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "model/codes.h"
#include "model/states.h"
#include "ops/check.h"
#include "ops/execution.h"
#include "store/sql.h"

#include "base/banned.h"

/* Jobs of a call by filter that are under way at the same time. */
#define WHERE_CHUNK  256
#define THIS_YEAR_MS INT64_C(1767225600000) /* 2026-01-01 */
#define TEN_YEARS_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

void ff_filter_init(struct ff_filter *filter)
{
    if (filter)
        *filter = (struct ff_filter){.size = sizeof *filter,
                                     .created_after_ms = FF_ABSENT_MS,
                                     .created_before_ms = FF_ABSENT_MS};
}

ff_status ff_filter_take(const struct ff_filter *given, struct ff_filter *ret,
                         struct ff_error *reterr)
{
    ff_filter_init(ret);
    if (given)
        FF_TRY(ff_api_sized(ret, sizeof *ret, given, given->size, reterr));
    if (ret->limit < -1 || ret->limit > FF_LIST_MAX)
        return ff_fail_field(reterr, FF_INVALID, "limit", "limit is at most %d", FF_LIST_MAX);
    if (ret->limit == 0)
        ret->limit = FF_LIST_DEFAULT;
    if (ret->tag_value && !ret->tag_name)
        return ff_fail_field(reterr, FF_INVALID, "tag", "a tag has a value but no name");
    return FF_OK;
}

/* Dated rows behind (created_ms, id) are those below this key. */
static struct ff_uuid below_place(int64_t created_ms, struct ff_uuid id)
{
    if (ff_uuid_time_ms(id) == created_ms)
        return id;
    return ff_uuid_first_of(ff_uuid_time_ms(id) > created_ms ? created_ms + 1 : created_ms);
}

static void not_before(struct ff_in_execution_list *in, int64_t ms)
{
    const struct ff_uuid first = ff_uuid_first_of(ms);

    if (ff_uuid_cmp(first, in->from_id) > 0)
        in->from_id = first;
}

static void only_below(struct ff_in_execution_list *in, struct ff_uuid below)
{
    if (ff_uuid_cmp(below, in->below_id) < 0)
        in->below_id = below;
}

/* The keys that dated rows of the page can have. No clock is set back by ten years, nor to before
 * this was written, and beyond lie most ids that are no UUIDv7. */
static void set_range(int64_t now_ms, struct ff_in_execution_list *in)
{
    in->below_id =
        ff_uuid_first_of(ff_add_i64_clamped(ff_max_i64(now_ms, THIS_YEAR_MS), TEN_YEARS_MS));
    if (in->created_after_ms != FF_NULL64)
        not_before(in, ff_add_i64_clamped(in->created_after_ms, 1));
    if (in->created_before_ms != FF_NULL64)
        only_below(in, ff_uuid_first_of(in->created_before_ms));
    if (in->before_created_ms != FF_NULL64)
        only_below(in, below_place(in->before_created_ms, in->before_id));
    if (!ff_uuid_is_zero(in->flow_id)) { /* members have its time */
        not_before(in, ff_uuid_time_ms(in->flow_id));
        only_below(in, ff_uuid_first_of(ff_uuid_time_ms(in->flow_id) + 1));
    }
}

static ff_status list_in(const struct ff_filter *filter, int64_t now_ms,
                         struct ff_in_execution_list *in, struct ff_error *reterr)
{
    *in = (struct ff_in_execution_list){
        .namespace = ff_str_of(filter->ns),
        .lane = ff_str_of(filter->lane),
        .kind = ff_str_of(filter->kind),
        .worker_id = ff_str_of(filter->worker_id),
        .tag_name = ff_str_of(filter->tag_name),
        .tag_value = ff_str_of(filter->tag_value),
        .created_after_ms = filter->created_after_ms,
        .created_before_ms = filter->created_before_ms,
        .before_created_ms = FF_NULL64,
        /* One more than wanted tells whether there is a next page. */
        .limit = filter->limit + 1,
    };
    if (filter->flow_id) {
        struct ff_error problem;

        if (ff_flow_id_parse(ff_str_of(filter->flow_id), &in->flow_id, &problem) != FF_OK)
            return ff_fail_field(reterr, FF_INVALID, "flow_id", "%s", problem.message);
    }
    if (filter->cursor && filter->cursor[0])
        FF_TRY(ff_list_cursor_read(filter->cursor, &in->before_created_ms, &in->before_id, reterr));
    set_range(now_ms, in);
    return FF_OK;
}

ff_status ff_list_rows(struct ff_client *client, struct ff_arena *arena,
                       const struct ff_filter *filter, const int64_t *states, size_t state_count,
                       struct ff_list_page *ret, struct ff_error *reterr)
{
    struct ff_value values[FF_SQL_EXECUTION_LIST_PARAMS];
    int64_t codes[FF_STATE_COUNT];
    struct ff_in_execution_list in;
    struct ff_read read;

    *ret = (struct ff_list_page){0};
    FF_TRY(list_in(filter, ff_engine_now_ms(client->engine), &in, reterr));
    if (filter->state) {
        in.states = codes;
        in.states_count = ff_state_codes_of_public(ff_str_of(filter->state), codes);
        if (!in.states_count)
            return ff_fail_field(reterr, FF_INVALID, "state", "there is no state '%.40s'",
                                 filter->state);
    } else if (states) {
        in.states = states;
        in.states_count = state_count;
    }
    if (filter->limit < 0)
        return FF_OK;
    ff_in_execution_list_values(&in, values);
    FF_TRY(ff_api_read(client, arena, FF_SQL_EXECUTION_LIST, values, FF_SQL_EXECUTION_LIST_PARAMS,
                       &read, reterr));
    ret->rows = (struct ff_execution **)(void *)read.rows;
    ret->count = ff_min_size(read.row_count, (size_t)filter->limit);
    ret->more = read.row_count > ret->count;
    return FF_OK;
}

/* Fills in what the rows need from ff_capset, one round trip for the page. */
static ff_status list_capabilities(struct ff_client *client, struct ff_arena *arena,
                                   const struct ff_list_page *page, struct ff_info *infos,
                                   struct ff_error *reterr)
{
    struct ff_rowset rows;
    bool any = false;

    ff_rowset_init(&rows, arena);
    for (size_t i = 0; i < page->count; i++) {
        const struct ff_capset key = {.capset_id = page->rows[i]->capset_id};

        if (key.capset_id) {
            (void)ff_rowset_want(&rows, FF_TABLE_CAPSET, &key, FF_WANT_READ);
            any = true;
        }
    }
    if (!any)
        return FF_OK;
    FF_TRY(ff_engine_peek(client->engine, &rows, client->timeout_ms, reterr));
    for (size_t i = 0; i < page->count; i++) {
        const struct ff_capset key = {.capset_id = page->rows[i]->capset_id};
        const struct ff_entry *const entry = ff_rowset_find(&rows, FF_TABLE_CAPSET, &key);

        if (entry && entry->found == FF_FOUND_ROW)
            ff_info_capabilities(arena, ((struct ff_capset *)entry->row)->tokens, &infos[i]);
    }
    return ff_arena_check(arena, reterr);
}

ff_status ff_local_list(struct ff_client *client, const struct ff_filter *filter,
                        struct ff_info_list *ret, struct ff_error *reterr)
{
    struct ff_filter given;
    struct ff_list_page page;

    FF_TRY(ff_filter_take(filter, &given, reterr));
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a list");
    FF_TRY(ff_list_rows(client, &memory->arena, &given, NULL, 0, &page, reterr));

    struct ff_info *const infos = ff_arena_array(&memory->arena, page.count, sizeof *infos);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    for (size_t i = 0; i < page.count; i++)
        FF_TRY(ff_info_from_row(&memory->arena, page.rows[i], &infos[i], reterr));
    FF_TRY(list_capabilities(client, &memory->arena, &page, infos, reterr));
    *ret = (struct ff_info_list){.count = page.count, .items = infos};
    if (page.more) {
        const struct ff_execution *const last = page.rows[page.count - 1];

        ff_list_cursor(last->created_at_ms, last->execution_id, ret->next_cursor);
    }
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}

/* ---- by filter --------------------------------------------------------------------------------
 */

struct where {
    struct ff_client *client;
    ff_op_id op;
    const char *reason;
    int64_t now_ms;
    struct ff_bulk_result result;
    ff_status trouble; /* the first answer that may be another one later */
    struct ff_error error;
};

static ff_status where_job(const struct where *where, const struct ff_execution *row,
                           struct ff_job **ret_job, struct ff_error *reterr)
{
    const struct ff_exec_id id = {.partition = row->partition_key, .uuid = row->execution_id};
    FF_AUTO(ff_job_freep) struct ff_job *job = ff_job_new(where->op, 0);
    const struct ff_str reason = job ? ff_job_text(job, where->reason) : ff_str_null();

    if (!job)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    if (where->op == FF_OP_EXECUTION_CANCEL) {
        struct ff_cancel_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

        FF_TRY(ff_arena_check(&job->arena, reterr));
        *in = (struct ff_cancel_in){.id = id,
                                    .reason = reason,
                                    .by = FF_STR(FF_BY_OPERATOR),
                                    .created_before_ms = where->now_ms + 1};
        job->in = in;
        FF_TRY(ff_cancel_check(in, reterr));
    } else {
        struct ff_replay_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

        FF_TRY(ff_arena_check(&job->arena, reterr));
        *in = (struct ff_replay_in){.id = id,
                                    .reason = reason,
                                    .by = FF_STR(FF_BY_OPERATOR),
                                    .deadline_ms = FF_NULL64,
                                    .expected_generation = FF_NULL64,
                                    .finished_before_ms = where->now_ms};
        job->in = in;
        FF_TRY(ff_replay_check(in, ff_engine_settings(where->client->engine), reterr));
    }
    *ret_job = FF_STEAL(job);
    return FF_OK;
}

static void where_count(struct where *where, const struct ff_job *job,
                        const struct ff_execution *row)
{
    const ff_status status = job ? job->status : FF_OUTCOME_UNKNOWN;

    if (status == FF_OK && row->state == FF_STATE_CANCELLED && where->op == FF_OP_EXECUTION_CANCEL)
        where->result.unchanged++;
    else if (status == FF_OK)
        where->result.done++;
    else
        where->result.refused++;
    if (where->trouble != FF_OK || status == FF_OK)
        return;
    if (!job)
        where->trouble =
            ff_fail(&where->error, FF_OUTCOME_UNKNOWN, "%s", ff_status_text(FF_OUTCOME_UNKNOWN));
    else if (ff_status_retryable(status) || status == FF_OUTCOME_UNKNOWN)
        where->trouble = ff_job_answer(job, &where->error);
}

static ff_status where_chunk(struct where *where, struct ff_execution *const *rows, size_t count,
                             struct ff_error *reterr)
{
    struct ff_job *jobs[WHERE_CHUNK] = {NULL};
    ff_status status = FF_OK;
    size_t made = 0;

    while (made < count && status == FF_OK) {
        status = where_job(where, rows[made], &jobs[made], reterr);
        made += status == FF_OK;
    }
    if (status == FF_OK) {
        ff_engine_call(where->client->engine, jobs, count, where->client->timeout_ms);
        for (size_t i = 0; i < count; i++)
            where_count(where, jobs[i], rows[i]);
    }
    for (size_t i = 0; i < made; i++)
        ff_job_free(jobs[i]);
    return status;
}

/* The page's memory goes with the page: 10,000 rows are never held at once. */
static ff_status where_page(struct where *where, struct ff_filter *filter, const int64_t *states,
                            size_t state_count, char cursor[FF_CURSOR_BYTES],
                            struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    struct ff_list_page page;

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a list");
    FF_TRY(ff_list_rows(where->client, &memory->arena, filter, states, state_count, &page, reterr));
    for (size_t from = 0; from < page.count && where->trouble == FF_OK; from += WHERE_CHUNK) {
        const size_t count = ff_min_size(page.count - from, WHERE_CHUNK);

        where->result.matched += (int64_t)count;
        FF_TRY(where_chunk(where, page.rows + from, count, reterr));
    }
    cursor[0] = '\0';
    if (page.more) {
        const struct ff_execution *const last = page.rows[page.count - 1];

        ff_list_cursor(last->created_at_ms, last->execution_id, cursor);
    }
    return FF_OK;
}

static ff_status walk(struct where *where, const struct ff_filter *given,
                      struct ff_bulk_result *ret, struct ff_error *reterr)
{
    const bool is_cancel = where->op == FF_OP_EXECUTION_CANCEL;
    char cursor[FF_CURSOR_BYTES] = "";
    int64_t states[FF_STATE_COUNT];
    size_t state_count = 0;
    struct ff_filter filter;

    if (!ret)
        return ff_fail_field(reterr, FF_INVALID, "ret", "there is no place for the result");
    FF_TRY(ff_api_may_wait(reterr));
    FF_TRY(ff_filter_take(given, &filter, reterr));
    FF_TRY(ff_check_optional_text(ff_str_of(where->reason), FF_REASON_BYTES_MAX, "reason", reterr));
    if (where->now_ms == FF_ABSENT_MS)
        FF_TRY(ff_api_now(where->client, &where->now_ms, reterr));
    /* What cannot change does not count against the 10,000, unless it is asked for by name. */
    for (size_t i = 0; i < FF_STATE_COUNT; i++) {
        if (ff_state_is_terminal((int32_t)ff_state_table[i].state) != is_cancel)
            states[state_count++] = ff_state_table[i].state;
    }
    if (is_cancel &&
        (filter.created_before_ms == FF_ABSENT_MS || filter.created_before_ms > where->now_ms + 1))
        filter.created_before_ms = where->now_ms + 1;
    (void)snprintf(cursor, sizeof cursor, "%s", filter.cursor ? filter.cursor : "");
    filter.cursor = cursor;
    do {
        filter.limit = (int32_t)ff_min_i64(FF_LIST_MAX, FF_FILTER_MAX - where->result.matched);
        FF_TRY(where_page(where, &filter, states, state_count, cursor, reterr));
    } while (cursor[0] && where->result.matched < FF_FILTER_MAX && where->trouble == FF_OK);
    if (where->trouble != FF_OK && !where->result.done) {
        if (reterr)
            *reterr = where->error;
        return where->trouble;
    }
    where->result.more = cursor[0] || where->trouble != FF_OK;
    *ret = where->result;
    return FF_OK;
}

ff_status ff_cancel_where_at(struct ff_client *client, const struct ff_filter *filter,
                             const char *reason, int64_t at_ms, struct ff_bulk_result *ret,
                             struct ff_error *reterr)
{
    struct where where = {
        .client = client, .op = FF_OP_EXECUTION_CANCEL, .reason = reason, .now_ms = at_ms};

    return walk(&where, filter, ret, reterr);
}

ff_status ff_replay_where_at(struct ff_client *client, const struct ff_filter *filter,
                             const char *reason, int64_t at_ms, struct ff_bulk_result *ret,
                             struct ff_error *reterr)
{
    struct where where = {
        .client = client, .op = FF_OP_EXECUTION_REPLAY, .reason = reason, .now_ms = at_ms};

    return walk(&where, filter, ret, reterr);
}

ff_status ff_local_cancel_where(struct ff_client *client, const struct ff_filter *filter,
                                const char *reason, struct ff_bulk_result *ret,
                                struct ff_error *reterr)
{
    return ff_cancel_where_at(client, filter, reason, FF_ABSENT_MS, ret, reterr);
}

ff_status ff_local_replay_where(struct ff_client *client, const struct ff_filter *filter,
                                const char *reason, struct ff_bulk_result *ret,
                                struct ff_error *reterr)
{
    return ff_replay_where_at(client, filter, reason, FF_ABSENT_MS, ret, reterr);
}
