/* SPDX-License-Identifier: Apache-2.0
 *
 * claim.c -- execution.claim: hand executions to a worker under leases.
 *
 * Equal claims of a batch share one scan and deal its rows out; a row that an op before us has
 * taken or ended is passed over, because apply looks at the row and never at the scan. A claim with
 * a request id remembers what it handed out, unless that was nothing. Tests:
 * tests/unit/test_claim.c. */
#include "base/codec.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/capset.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"
#include "sql_ids.h"

#include "base/banned.h"

#define KNOWN_BYTES 26 /* of one task in ff_claim.tasks: partition, uuid, epoch, big-endian */

static struct ff_claim claim_key(const struct ff_claim_in *in)
{
    return (struct ff_claim){.worker_instance_id = in->worker_instance_id,
                             .request_id = in->request_id};
}

/* Ids of all sets this worker satisfies; 0, the empty one, always. */
static const int64_t *capset_ids(struct ff_work *work, const struct ff_claim_in *in, size_t *ret)
{
    const size_t known = work->capsets ? work->capsets->count : 0;
    int64_t *const ids = ff_arena_array(work->arena, known + 1, sizeof *ids);
    size_t count = 1;

    if (!ids)
        return NULL;
    for (size_t i = 0; i < known; i++)
        if (ff_capset_fits(work->capsets->sets[i]->tokens, in->capabilities, in->capability_count))
            ids[count++] = work->capsets->sets[i]->capset_id;
    *ret = count;
    return ids;
}

static void need_scans(struct ff_work *work, struct ff_claim_in *in)
{
    struct ff_value params[FF_SQL_EXECUTION_CLAIM_SCAN_PARAMS];
    struct ff_in_execution_claim_scan scan = {.namespace = in->namespace,
                                              .kinds = in->kinds,
                                              .kinds_count = in->kind_count,
                                              .from_rank = -FF_PRIORITY_MAX - 1}; /* all of it */

    scan.capsets = capset_ids(work, in, &scan.capsets_count);
    in->scans = ff_arena_array(work->arena, in->lane_count, sizeof(struct ff_scan *));
    if (!scan.capsets || !in->scans)
        return;
    if (in->kind_count == 0)
        scan.kinds = NULL;
    for (size_t i = 0; i < in->lane_count; i++) {
        const struct ff_lane lane = {.lane = in->lanes[i]};

        ff_work_want(work, FF_TABLE_LANE, &lane, FF_WANT_READ);
        scan.lane = in->lanes[i];
        ff_in_execution_claim_scan_values(&scan, params);
        in->scans[i] = ff_work_scan(work, FF_SQL_EXECUTION_CLAIM_SCAN, params,
                                    FF_SQL_EXECUTION_CLAIM_SCAN_PARAMS, in->max);
    }
}

static bool is_asked_for(const struct ff_claim_in *in, const struct ff_execution *execution)
{
    return ff_str_is_null(in->namespace) || ff_str_eq(in->namespace, execution->namespace);
}

void ff_execution_claim_need(struct ff_work *work, struct ff_claim_in *in)
{
    if (!ff_str_is_null(in->request_id)) {
        const struct ff_claim key = claim_key(in);

        ff_work_want(work, FF_TABLE_CLAIM, &key, FF_WANT_READ);
    }
    for (size_t i = 0; in->is_known && i < in->known_count; i++)
        ff_work_read_execution(work, in->known[i].id);
    if (!in->is_known)
        need_scans(work, in);
}

/* Copies: rows live as long as the batch, the answer longer. */
static void add_task(struct ff_work *work, const struct ff_execution *execution, int64_t waited_ms,
                     struct ff_claim_out *out)
{
    struct ff_arena *const arena = work->arena;

    out->tasks[out->task_count++] = (struct ff_task_out){
        .id = {execution->partition_key, execution->execution_id},
        .lease_id = execution->lease_id,
        .lease_epoch = execution->lease_epoch,
        .lease_ttl_ms = execution->lease_ttl_ms,
        .lease_expires_at_ms = execution->lease_expires_at_ms,
        .generation = execution->generation,
        .attempt_index = execution->attempt_index,
        .attempt_type = execution->attempt_type,
        .kind = ff_arena_str(arena, execution->kind),
        .lane = ff_arena_str(arena, execution->lane),
        .namespace = ff_arena_str(arena, execution->namespace),
        .input = ff_arena_str(arena, execution->input),
        .input_type = ff_arena_str(arena, execution->input_type),
        .node = ff_arena_str(arena, execution->node),
        .flow_id = execution->flow_id,
        .deadline_at_ms = execution->deadline_at_ms,
        .waited_ms = waited_ms,
        .input_elsewhere = (execution->flags & FF_EXEC_INPUT_ELSEWHERE) != 0,
        .tagged = (execution->flags & FF_EXEC_TAGGED) != 0,
    };
    ff_task_upstreams(work, execution, &out->tasks[out->task_count - 1]);
}

static struct ff_task_ref known_at(struct ff_str tasks, size_t i)
{
    const uint8_t *const at = (const uint8_t *)tasks.ptr + i * KNOWN_BYTES;
    struct ff_task_ref ref = {.id.partition = (int32_t)ff_get_be16(at),
                              .lease_epoch = ff_get_be_i64(at + 18)};

    for (size_t b = 0; b < sizeof ref.id.uuid.b; b++)
        ref.id.uuid.b[b] = at[2 + b];
    return ref;
}

/* This request was answered before: its tasks that are still held under the same lease, no others.
 * Somebody else may have used its name: what is not in the namespace asked for is not his. */
static ff_status answer_again(struct ff_work *work, struct ff_claim_in *in,
                              const struct ff_claim *row, struct ff_claim_out *out,
                              struct ff_error *reterr)
{
    const size_t count = row->tasks.len / KNOWN_BYTES;
    struct ff_task_ref *const known = ff_arena_array(work->arena, count + 1, sizeof *known);
    bool all_here = true;

    out->is_repeat = true;
    out->tasks = ff_arena_array(work->arena, count + 1, sizeof *out->tasks);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ff_execution *execution;

        known[i] = known_at(row->tasks, i);
        execution = ff_work_execution(work, known[i].id);
        all_here = all_here && execution;
        if (execution && execution->state == FF_STATE_ACTIVE &&
            execution->lease_epoch == known[i].lease_epoch && is_asked_for(in, execution))
            add_task(work, execution, -1, out);
    }
    if (all_here || in->is_known)
        return FF_OK;
    in->known = known;
    in->known_count = count;
    in->is_known = true;
    return FF_AGAIN;
}

static void remember(struct ff_work *work, const struct ff_claim_in *in,
                     const struct ff_claim_out *out)
{
    const struct ff_claim key = claim_key(in);
    const size_t bytes = out->task_count * KNOWN_BYTES;
    uint8_t *const tasks = ff_arena_alloc(work->arena, bytes);
    struct ff_claim *row;

    if (!tasks)
        return; /* the op fails by its arena */
    for (size_t i = 0; i < out->task_count; i++) {
        uint8_t *const at = tasks + i * KNOWN_BYTES;

        ff_put_be16(at, (uint16_t)out->tasks[i].id.partition);
        for (size_t b = 0; b < sizeof out->tasks[i].id.uuid.b; b++)
            at[2 + b] = out->tasks[i].id.uuid.b[b];
        ff_put_be_i64(at + 18, out->tasks[i].lease_epoch);
    }
    row = ff_work_insert(work, FF_TABLE_CLAIM, &key);
    row->at_ms = work->now_ms;
    row->tasks = (struct ff_str){(const char *)tasks, bytes};
}

/* The old holder's tenancy ends here, and with the next owner's name in the log. */
static const struct ff_attempt *end_lapsed(struct ff_work *work, struct ff_execution *execution)
{
    struct ff_ending how = ff_ending_of(FF_END_LAPSED);

    how.same_attempt = true;
    how.owner_follows = true;
    how.failure_class = FF_FAILURE_INFRA_CRASH;
    how.failure_message = FF_STR("lease_expired");
    return ff_lease_end(work, execution, &how);
}

static void begin_attempt(struct ff_execution *execution)
{
    switch (execution->state) {
    case FF_STATE_READY_FIRST:
        execution->attempt_type = FF_ATTEMPT_INITIAL;
        break;
    case FF_STATE_READY_RETRY:
        execution->attempt_type = FF_ATTEMPT_RETRY;
        break;
    case FF_STATE_READY_REPLAY:
        execution->attempt_type = FF_ATTEMPT_REPLAY;
        break;
    default:
        return; /* READY_RESUMED: the attempt goes on */
    }
    execution->attempt_index = execution->attempt_count++;
    execution->attempt_spent_ms = 0;
}

/* How long it has waited since its last change. */
static int64_t take(struct ff_work *work, const struct ff_claim_in *in,
                    struct ff_execution *execution, uint32_t nth)
{
    const struct ff_attempt *lapsed = NULL;
    const int64_t at_ms = ff_record_time(work, execution);
    const int64_t waited_ms = ff_max_i64(at_ms - execution->changed_at_ms, 0);
    struct ff_event *event;

    ff_work_edit(work, execution);
    if (execution->state == FF_STATE_RECLAIMABLE) {
        lapsed = end_lapsed(work, execution);
        execution->attempt_type = FF_ATTEMPT_RECLAIM;
        execution->reclaim_count++;
    } else {
        begin_attempt(execution);
    }
    if (execution->started_at_ms == FF_NULL64)
        execution->started_at_ms = at_ms;
    execution->delay_until_ms = FF_NULL64;
    execution->lease_epoch++;
    execution->lease_id =
        ff_lease_id(ff_work_uuid(work, nth), !ff_uuid_is_zero(execution->flow_id));
    execution->lease_ttl_ms = in->lease_ttl_ms;
    execution->lease_acquired_at_ms = at_ms;
    execution->lease_renewed_at_ms = FF_NULL64;
    execution->lease_expires_at_ms = ff_add_i64_clamped(work->now_ms, in->lease_ttl_ms);
    execution->worker_id = in->worker_id;
    execution->worker_instance_id = in->worker_instance_id;
    ff_execution_move(work, execution, FF_STATE_ACTIVE);
    event = ff_lease_event(work, execution,
                           lapsed ? FF_EVENT_LEASE_RECLAIMED : FF_EVENT_LEASE_ACQUIRED, NULL);
    event->num_a = execution->lease_expires_at_ms;
    if (lapsed)
        event->prev_owner = lapsed->worker_instance_id;
    return waited_ms;
}

/* What a row adds to the answer. An input in ff_payload counts with its upper bound. */
static int64_t task_bytes(const struct ff_execution *execution)
{
    return 1024 + (int64_t)execution->input.len + ff_flags_input_bytes(execution->flags);
}

/* May this row be handed out now? An earlier op of the batch may have taken or ended it. */
static bool is_free(const struct ff_work *work, const struct ff_execution *execution)
{
    return !execution->head.is_purged && ff_state_is_claimable(execution->state) &&
           (execution->deadline_at_ms == FF_NULL64 || execution->deadline_at_ms > work->now_ms);
}

/* Deals rows of one lane's scan out. False: the answer is full. */
static bool serve_lane(struct ff_work *work, const struct ff_claim_in *in, struct ff_scan *scan,
                       struct ff_claim_out *out, int64_t *bytes)
{
    while (scan->taken < scan->row_count) {
        struct ff_execution *const execution = scan->rows[scan->taken];

        if (out->task_count >= (size_t)in->max)
            return false;
        if (is_free(work, execution) && ff_claim_fits(in, work->capsets, execution)) {
            *bytes += task_bytes(execution);
            if (out->task_count > 0 && *bytes > FF_CLAIM_BYTES_MAX)
                return false;
            const int64_t waited_ms = take(work, in, execution, (uint32_t)out->task_count);
            add_task(work, execution, waited_ms, out);
        }
        scan->taken++;
    }
    if (out->task_count < (size_t)in->max &&
        (scan->shortened || (int64_t)scan->row_count >= scan->limit))
        out->went_short = true;
    return true;
}

static bool is_paused(struct ff_work *work, struct ff_str lane)
{
    const struct ff_lane key = {.lane = lane};
    const struct ff_lane *const row = ff_work_row(work, FF_TABLE_LANE, &key);

    return row && row->paused;
}

ff_status ff_execution_claim_apply(struct ff_work *work, struct ff_claim_in *in,
                                   struct ff_claim_out *out, struct ff_error *reterr)
{
    int64_t bytes = 0;

    *out = (struct ff_claim_out){0};
    if (!ff_str_is_null(in->request_id)) {
        const struct ff_claim key = claim_key(in);
        const struct ff_claim *const row = ff_work_row(work, FF_TABLE_CLAIM, &key);

        if (row)
            return answer_again(work, in, row, out, reterr);
        if (in->is_known || ff_is_leaving(work, FF_TABLE_CLAIM, &key)) {
            in->is_known = false; /* pruned: so old that it counts as never asked */
            return FF_AGAIN;
        }
    }
    out->tasks = ff_arena_array(work->arena, (size_t)in->max, sizeof *out->tasks);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < in->lane_count; i++)
        if (in->scans[i] && !is_paused(work, in->lanes[i]) &&
            !serve_lane(work, in, in->scans[i], out, &bytes))
            break;
    if (out->task_count > 0 && !ff_str_is_null(in->request_id))
        remember(work, in, out);
    return FF_OK;
}
