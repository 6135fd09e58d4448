/* SPDX-License-Identifier: Apache-2.0
 *
 * claim.c -- handing out tasks, with their inputs and tags.
 *
 * What the claim itself does not load (tags, inputs above 1 KiB, results of upstreams) is read
 * after its commit; if that fails the tasks are given back, since nobody could work on them. Tasks
 * that turn out too large for one answer are given back too, but for the first. Tests:
 * tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/limits.h"
#include "model/codes.h"
#include "model/rowset.h"
#include "ops/execution.h"
#include "store/sql.h"

#include "base/banned.h"

static ff_status claim_in(struct ff_job *job, const struct ff_claim_request *given,
                          struct ff_claim_in *in, struct ff_error *reterr)
{
    static const char *const standard_lane[] = {"default"};
    const bool has_lanes = given->lane_count > 0;

    FF_TRY(ff_api_need(given->worker_id, "worker_id", reterr));
    FF_TRY(ff_api_need(given->worker_instance_id, "worker_instance_id", reterr));
    in->worker_id = ff_job_text(job, given->worker_id);
    in->worker_instance_id = ff_job_text(job, given->worker_instance_id);
    in->namespace = ff_job_text(job, given->ns);
    in->request_id = ff_job_text(job, given->request_id);
    job->repeatable = given->request_id != NULL;
    in->max = given->max ? given->max : 1;
    in->lease_ttl_ms = given->lease_ttl_ms ? given->lease_ttl_ms : FF_LEASE_TTL_MS_DEFAULT;
    in->lane_count = has_lanes ? given->lane_count : 1;
    FF_TRY(ff_job_texts(job, has_lanes ? given->lanes : standard_lane, in->lane_count, "lanes",
                        &in->lanes, reterr));
    in->kind_count = given->kind_count;
    FF_TRY(ff_job_texts(job, given->kinds, given->kind_count, "kinds", &in->kinds, reterr));
    in->capability_count = given->capability_count;
    FF_TRY(ff_job_texts(job, given->capabilities, given->capability_count, "capabilities",
                        &in->capabilities, reterr));
    FF_TRY(ff_arena_check(&job->arena, reterr));
    return ff_claim_prepare(in, &job->arena, reterr);
}

static ff_status claim_fill(struct ff_client *client, struct ff_job *job, const void *items,
                            size_t index, struct ff_error *reterr)
{
    const struct ff_claim_request *const request = items;
    struct ff_claim_request given = {0};
    struct ff_claim_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

    (void)index; /* there is only one */
    if (!in)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    FF_TRY(ff_api_sized(&given, sizeof given, request, request->size, reterr));
    if (given.wait_ms < 0 || given.wait_ms > FF_WAIT_MS_MAX)
        return ff_fail_field(reterr, FF_INVALID, "wait_ms", "wait_ms is 0 to %d", FF_WAIT_MS_MAX);
    job->in = in;
    FF_TRY(claim_in(job, &given, in, reterr));
    if (given.wait_ms)
        job->wait_until_mono_ms = ff_clock_mono_ms(ff_engine_clock(client->engine)) + given.wait_ms;
    return FF_OK;
}

static void task_from(struct ff_arena *arena, const struct ff_task_out *out, struct ff_task *task)
{
    *task = (struct ff_task){
        .lease_epoch = out->lease_epoch,
        .lease_ttl_ms = out->lease_ttl_ms,
        .lease_expires_at_ms = out->lease_expires_at_ms,
        .generation = out->generation,
        .attempt_index = out->attempt_index,
        .attempt_type = ff_attempt_type_name(out->attempt_type),
        .kind = ff_api_text(arena, out->kind),
        .lane = ff_api_text(arena, out->lane),
        .ns = ff_api_text(arena, out->namespace),
        .node = ff_api_text(arena, out->node),
        .input = ff_arena_str(arena, out->input),
        .input_content_type = ff_api_text(arena, out->input_type),
        .deadline_at_ms = out->deadline_at_ms,
    };
    ff_exec_id_text(out->id, task->execution_id);
    (void)ff_uuid_format(out->lease_id, task->lease_id);
    if (!ff_uuid_is_zero(out->flow_id))
        (void)ff_uuid_format(out->flow_id, task->flow_id);
}

/* Where what a claim leaves out will be. */
struct rest {
    struct ff_scan *tags;         /* NULL: it has none */
    struct ff_entry *first_input; /* of the first generation; with `input` NULL: it came along */
    struct ff_scan *input;        /* of a later one, which may go on with that of an earlier one */
};

/* By its key: one statement brings those of all tasks. */
static struct ff_entry *want_first_input(struct ff_rowset *rows, struct ff_exec_id id)
{
    const struct ff_payload key = {.partition_key = id.partition,
                                   .execution_id = id.uuid,
                                   .generation = 0,
                                   .kind = FF_PAYLOAD_INPUT};

    return ff_rowset_want(rows, FF_TABLE_PAYLOAD, &key, FF_WANT_READ);
}

static struct rest rest_of(struct ff_rowset *rows, const struct ff_task_out *out)
{
    const struct ff_in_execution_tags tags = {.partition_key = out->id.partition,
                                              .execution_id = out->id.uuid};
    const struct ff_in_execution_payload input = {
        .partition_key = out->id.partition, .execution_id = out->id.uuid, .kind = FF_PAYLOAD_INPUT};
    struct ff_value values[FF_SQL_EXECUTION_PAYLOAD_PARAMS];
    struct rest rest = {0};

    if (out->tagged) {
        ff_in_execution_tags_values(&tags, values);
        rest.tags = ff_rowset_scan(rows, FF_SQL_EXECUTION_TAGS, values,
                                   FF_SQL_EXECUTION_TAGS_PARAMS, FF_TAGS_MAX);
    }
    if (out->input_elsewhere && out->generation == 0) {
        rest.first_input = want_first_input(rows, out->id);
    } else if (out->input_elsewhere) {
        ff_in_execution_payload_values(&input, values);
        rest.input = ff_rowset_scan(rows, FF_SQL_EXECUTION_PAYLOAD, values,
                                    FF_SQL_EXECUTION_PAYLOAD_PARAMS, 1);
    }
    return rest;
}

static const struct ff_payload *input_of(const struct rest *rest)
{
    if (rest->input && rest->input->row_count)
        return rest->input->rows[0];
    if (rest->first_input && rest->first_input->found == FF_FOUND_ROW)
        return rest->first_input->row;
    return NULL;
}

static void task_rest(struct ff_arena *arena, const struct rest *rest, struct ff_task *task)
{
    const struct ff_payload *const input = input_of(rest);
    const size_t count = rest->tags ? rest->tags->row_count : 0;
    struct ff_tag_pair *const tags = ff_arena_array(arena, count, sizeof *tags);

    for (size_t i = 0; tags && i < count; i++) {
        const struct ff_tag *const tag = rest->tags->rows[i];

        tags[i].name = ff_api_text(arena, tag->name);
        tags[i].value = ff_api_text(arena, tag->value);
    }
    task->tags = tags;
    task->tag_count = count;
    if (input) {
        task->input = ff_arena_str(arena, input->data);
        task->input_content_type = ff_api_text(arena, input->content_type);
    }
}

/* One round trip for all tasks, none if they are complete. */
static ff_status read_rest(struct ff_client *client, const struct ff_claim_out *out,
                           struct ff_arena *arena, struct ff_task *tasks, struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *scratch = ff_memory_new();
    struct rest *const rests =
        scratch ? ff_arena_array(&scratch->arena, out->task_count, sizeof *rests) : NULL;
    struct ff_rowset rows;

    if (!rests)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the tasks");
    ff_rowset_init(&rows, &scratch->arena);
    for (size_t i = 0; i < out->task_count; i++)
        rests[i] = rest_of(&rows, &out->tasks[i]);
    FF_TRY(ff_arena_check(&scratch->arena, reterr));
    if (rows.scans || rows.want_count > 0)
        FF_TRY(ff_engine_peek(client->engine, &rows, client->timeout_ms, reterr));
    for (size_t i = 0; i < out->task_count; i++)
        task_rest(arena, &rests[i], &tasks[i]);
    FF_TRY(ff_arena_check(arena, reterr)); /* before an input that did not fit counts as missing */
    for (size_t i = 0; i < out->task_count; i++)
        if (out->tasks[i].input_elsewhere && !tasks[i].input.ptr)
            return ff_fail(reterr, FF_UNAVAILABLE, "input of %s is not there",
                           tasks[i].execution_id);
    return FF_OK;
}

/* ---- members of flows -------------------------------------------------------------------------
 */

#define UPSTREAM_INLINE_BYTES (64 << 10) /* larger results do not come along */
#define TASKS_AT_ONCE         32         /* whose upstreams are read together: each may have many */

/* Rows of one read: as many as one node may have, and beside them as many as fit the answer. So
 * whoever is cut off, or comes after, is not in the answer. */
#define UPSTREAMS_MAX                                                                              \
    (FF_FLOW_EDGES_CEILING + FF_CLAIM_BYTES_MAX / (int64_t)sizeof(struct ff_upstream))

static void upstream_from(struct ff_arena *arena, int32_t partition, const struct ff_value *cells,
                          struct ff_upstream *upstream)
{
    const struct ff_exec_id id = {partition, cells[FF_OUT_UPSTREAMS_EXECUTION_ID].as.uuid};
    const struct ff_str data = cells[FF_OUT_UPSTREAMS_DATA].as.str;
    const int64_t generation = cells[FF_OUT_UPSTREAMS_GENERATION].as.i64;

    *upstream = (struct ff_upstream){
        .node = ff_api_text(arena, cells[FF_OUT_UPSTREAMS_NODE].as.str),
        .outcome = ff_edge_outcome_name((int32_t)cells[FF_OUT_UPSTREAMS_OUTCOME].as.i64),
        .result = ff_arena_str(arena, data),
        .result_content_type = ff_api_text(arena, cells[FF_OUT_UPSTREAMS_CONTENT_TYPE].as.str),
        .result_elsewhere =
            ff_str_is_null(data) && cells[FF_OUT_UPSTREAMS_BYTES].as.i64 != FF_NULL64,
        .generation = generation == FF_NULL64 ? -1 : (int32_t)generation,
    };
    ff_exec_id_text(id, upstream->execution_id);
}

static bool is_to_be_read(const struct ff_task_out *task)
{
    return task->upstream_count == FF_UPSTREAMS_UNREAD;
}

/* What the claim itself knew, as if it had been read. */
static struct ff_read as_read(const struct ff_task_out *task, struct ff_arena *scratch)
{
    const struct ff_upstream_out *const upstream = task->upstream;
    struct ff_value *const cells =
        task->upstream_count ? ff_arena_array(scratch, FF_OUT_UPSTREAMS_CELLS, sizeof *cells)
                             : NULL;

    if (!cells)
        return (struct ff_read){0};
    for (size_t i = 0; i < FF_OUT_UPSTREAMS_CELLS; i++)
        cells[i] = (struct ff_value){.type = FF_VALUE_I64, .as.i64 = FF_NULL64};
    cells[FF_OUT_UPSTREAMS_EXECUTION_ID].as.uuid = upstream->id.uuid;
    cells[FF_OUT_UPSTREAMS_NODE].as.str = upstream->node;
    cells[FF_OUT_UPSTREAMS_PASS].as.i64 = upstream->pass;
    cells[FF_OUT_UPSTREAMS_OUTCOME].as.i64 = upstream->outcome;
    cells[FF_OUT_UPSTREAMS_GENERATION].as.i64 = upstream->generation;
    cells[FF_OUT_UPSTREAMS_DATA].as.str = upstream->result;
    cells[FF_OUT_UPSTREAMS_CONTENT_TYPE].as.str = upstream->result_type;
    if (upstream->result.ptr) {
        cells[FF_OUT_UPSTREAMS_BYTES].as.i64 = (int64_t)upstream->result.len;
        cells[FF_OUT_UPSTREAMS_TAKES].as.i64 = (int64_t)upstream->result.len;
    }
    return (struct ff_read){.row_count = 1, .cells = cells, .col_count = FF_OUT_UPSTREAMS_CELLS};
}

/* The rows of the `nth` node among those of all; `at` is the first of them. */
static struct ff_read part_of(const struct ff_read *all, int64_t nth, size_t at)
{
    struct ff_read part = {.col_count = all->col_count};

    if (at < all->row_count)
        part.cells = all->cells + at * all->col_count;
    while (at < all->row_count &&
           all->cells[at * all->col_count + FF_OUT_UPSTREAMS_NTH].as.i64 == nth) {
        part.row_count++;
        at++;
    }
    return part;
}

/* What the nodes among some tasks waited for, in one statement; one edge may bring a node's input.
 * Reads of others stay empty. The cells live in `scratch`: results of as many bytes as an answer
 * may have, and those of the first node. */
static ff_status read_upstreams(struct ff_client *client, const struct ff_task_out *tasks,
                                size_t count, struct ff_arena *scratch,
                                struct ff_read reads[TASKS_AT_ONCE], struct ff_error *reterr)
{
    int64_t partitions[TASKS_AT_ONCE];
    struct ff_uuid ids[TASKS_AT_ONCE];
    struct ff_value values[FF_SQL_UPSTREAMS_PARAMS];
    struct ff_read all = {0};
    size_t nodes = 0, row = 0;
    int64_t nth = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_to_be_read(&tasks[i]))
            continue;
        partitions[nodes] = tasks[i].id.partition;
        ids[nodes++] = tasks[i].id.uuid;
    }
    ff_in_upstreams_values(&(struct ff_in_upstreams){.partition_keys = partitions,
                                                     .partition_keys_count = nodes,
                                                     .downstream_ids = ids,
                                                     .downstream_ids_count = nodes,
                                                     .inline_bytes = UPSTREAM_INLINE_BYTES,
                                                     .room = FF_CLAIM_BYTES_MAX,
                                                     .limit = UPSTREAMS_MAX},
                           values);
    if (nodes > 0)
        FF_TRY(ff_api_read(client, scratch, FF_SQL_UPSTREAMS, values, FF_SQL_UPSTREAMS_PARAMS, &all,
                           reterr));
    for (size_t i = 0; i < count; i++) {
        if (!is_to_be_read(&tasks[i])) {
            reads[i] = as_read(&tasks[i], scratch);
            continue;
        }
        reads[i] = part_of(&all, ++nth, row);
        row += reads[i].row_count;
    }
    return ff_arena_check(scratch, reterr);
}

/* Results that were left out count as well: their tasks do not fit. */
static size_t upstreams_bytes(const struct ff_read *read)
{
    size_t bytes = read->row_count * sizeof(struct ff_upstream);

    for (size_t i = 0; i < read->row_count; i++) {
        const struct ff_value *const cells = read->cells + i * read->col_count;

        bytes += cells[FF_OUT_UPSTREAMS_NODE].as.str.len;
        if (cells[FF_OUT_UPSTREAMS_TAKES].as.i64 != FF_NULL64)
            bytes += (size_t)cells[FF_OUT_UPSTREAMS_TAKES].as.i64;
    }
    return bytes;
}

static void task_upstreams(struct ff_arena *arena, const struct ff_task_out *out,
                           const struct ff_read *read, struct ff_task *task)
{
    struct ff_upstream *const upstreams = ff_arena_array(arena, read->row_count, sizeof *upstreams);

    for (size_t i = 0; upstreams && i < read->row_count; i++) {
        const struct ff_value *const cells = read->cells + i * read->col_count;

        upstream_from(arena, out->id.partition, cells, &upstreams[i]);
        if (cells[FF_OUT_UPSTREAMS_PASS].as.i64 == FF_PASS_INPUT &&
            cells[FF_OUT_UPSTREAMS_OUTCOME].as.i64 == FF_EDGE_SUCCESS) {
            task->input = upstreams[i].result;
            task->input_content_type = upstreams[i].result_content_type;
        }
    }
    task->upstream = upstreams;
    task->upstream_count = read->row_count;
}

/* The claim has counted inputs, but not results of upstreams. Tells how many tasks fit the answer;
 * one always does. */
static ff_status read_flows(struct ff_client *client, const struct ff_claim_out *out,
                            struct ff_arena *arena, struct ff_task *tasks, size_t *ret_count,
                            struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *scratch = ff_memory_new();
    struct ff_read reads[TASKS_AT_ONCE];
    size_t bytes = 0;

    if (!scratch)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the tasks");
    for (size_t i = 0; i < out->task_count; i++) {
        const size_t at = i % TASKS_AT_ONCE;

        if (at == 0) {
            ff_arena_reset(&scratch->arena);
            FF_TRY(read_upstreams(client, &out->tasks[i],
                                  ff_min_size(out->task_count - i, TASKS_AT_ONCE), &scratch->arena,
                                  reads, reterr));
        }
        bytes += upstreams_bytes(&reads[at]);
        if (i > 0 && bytes > FF_CLAIM_BYTES_MAX) {
            *ret_count = i;
            return FF_OK;
        }
        task_upstreams(arena, &out->tasks[i], &reads[at], &tasks[i]);
        FF_TRY(ff_arena_check(arena, reterr));
    }
    *ret_count = out->task_count;
    return FF_OK;
}

/* The names of a task as ff_release takes them. */
struct names {
    char execution_id[FF_ID_BYTES];
    char lease_id[FF_UUID_BYTES];
};

static bool release(struct ff_client *client, const struct ff_task_out *tasks, size_t count,
                    struct ff_giveback *items, struct names *names, struct ff_task_result *results)
{
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        ff_exec_id_text(tasks[i].id, names[i].execution_id);
        (void)ff_uuid_format(tasks[i].lease_id, names[i].lease_id);
        items[i].lease = (struct ff_lease){.execution_id = names[i].execution_id,
                                           .lease_id = names[i].lease_id,
                                           .lease_epoch = tasks[i].lease_epoch};
        items[i].reason = "the task could not be handed over";
    }
    if (ff_release(client, items, count, results, NULL) != FF_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        all = all && results[i].status == FF_OK;
    return all;
}

/* False: some stay leased until their time is over, or the same request id asks for them. */
static bool give_back(struct ff_client *client, const struct ff_task_out *tasks, size_t count)
{
    struct ff_giveback *const items = ff_calloc(count, sizeof *items);
    struct names *const names = ff_calloc(count, sizeof *names);
    struct ff_task_result *const results = ff_calloc(count, sizeof *results);
    const bool all =
        items && names && results && release(client, tasks, count, items, names, results);

    ff_free(items);
    ff_free(names);
    ff_free(results);
    return all;
}

/* Everything a worker needs, in the answer's own memory. */
static ff_status tasks_from(struct ff_client *client, const struct ff_claim_out *out,
                            struct ff_arena *arena, struct ff_tasks *ret, struct ff_error *reterr)
{
    struct ff_task *const tasks = ff_arena_array(arena, out->task_count, sizeof *tasks);

    if (!tasks)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold %zu tasks", out->task_count);
    for (size_t i = 0; i < out->task_count; i++)
        task_from(arena, &out->tasks[i], &tasks[i]);
    FF_TRY(read_rest(client, out, arena, tasks, reterr));
    FF_TRY(read_flows(client, out, arena, tasks, &ret->count, reterr));
    ret->items = tasks;
    return FF_OK;
}

static ff_status claim_take(struct ff_client *client, const struct ff_job *job, void *result,
                            struct ff_error *reterr)
{
    const struct ff_claim_out *const out = job->out;
    struct ff_claimed *const claimed = result;
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    struct ff_tasks tasks = {0}; /* none unless all goes well */
    ff_status status = FF_OK;

    FF_FAILPOINT(tasks_claimed);
    if (!memory)
        status = ff_fail(reterr, FF_NO_MEMORY, "cannot hold the tasks");
    else if (out->task_count)
        status = tasks_from(client, out, &memory->arena, &tasks, reterr);
    /* Nobody may be told "not applied" of tasks that could not be given back either. */
    if (tasks.count < out->task_count &&
        !give_back(client, out->tasks + tasks.count, out->task_count - tasks.count) &&
        status != FF_OK)
        return ff_fail(reterr, FF_OUTCOME_UNKNOWN,
                       "tasks were claimed but could not be handed over");
    FF_TRY(status);
    tasks.memory = FF_STEAL(memory);
    claimed->tasks = tasks;
    return FF_OK;
}

static void claim_drop(void *result)
{
    ff_answer_free(&((struct ff_claimed *)result)->tasks);
}

const struct ff_bulk_type ff_claim_type = {
    .op = FF_OP_EXECUTION_CLAIM,
    .max = 1,
    .result_bytes = sizeof(struct ff_claimed),
    .fill = claim_fill,
    .take = claim_take,
    .drop = claim_drop,
};

ff_status ff_local_claim(struct ff_client *client, const struct ff_claim_request *request,
                         struct ff_tasks *ret_tasks, struct ff_error *reterr)
{
    struct ff_claimed claimed;

    if (!ret_tasks)
        return ff_fail_field(reterr, FF_INVALID, "ret_tasks", "there is no place for the tasks");
    if (!request)
        return ff_fail_field(reterr, FF_INVALID, "request", "there is no request");
    FF_TRY(ff_call_one(client, &ff_claim_type, request, &claimed, reterr));
    *ret_tasks = claimed.tasks;
    return FF_OK;
}
