/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream.c -- what a node waited for, where the batch that sets it free knows it.
 *
 * Most often a node waits for one other, whose end is in the same batch; then nobody need read it
 * afterwards: neither if the node is handed out at once, nor by a claim that comes later to a
 * process that remembers (engine/known.h). Everything else is read (`upstreams` in
 * store/sql/flow.sql), which is always right.
 * Tests: tests/unit/test_upstream.c, tests/conformance/flow_results.c. */
#include "base/limits.h"
#include "model/codes.h"
#include "model/states.h"
#include "ops/execution.h"
#include "ops/work.h"

#include "base/banned.h"

static const struct ff_edge *edge_into(const struct ff_work *work,
                                       const struct ff_execution *execution)
{
    for (const struct ff_entry *entry = work->rows->entries[FF_TABLE_EDGE]; entry;
         entry = entry->next) {
        const struct ff_edge *const edge = entry->row;

        if (entry->found == FF_FOUND_ROW &&
            ff_uuid_eq(edge->downstream_id, execution->execution_id) &&
            edge->partition_key == execution->partition_key)
            return edge;
    }
    return NULL;
}

/* The other end of the one edge, if it has ended in this batch. */
static const struct ff_execution *ended_here(struct ff_work *work, const struct ff_edge *edge)
{
    const struct ff_exec_id id = {edge->partition_key, edge->execution_id};
    const struct ff_execution *const upstream = ff_work_execution(work, id);
    const struct ff_execution *const before = upstream ? upstream->head.before : NULL;

    if (!before || ff_state_is_terminal(before->state) || !ff_state_is_terminal(upstream->state) ||
        upstream->generation != edge->resolved_generation)
        return NULL;
    return upstream;
}

static struct ff_upstream_out *upstream_from(struct ff_work *work,
                                             const struct ff_execution *upstream,
                                             const struct ff_edge *edge, size_t result_max)
{
    const struct ff_payload key = {.partition_key = upstream->partition_key,
                                   .execution_id = upstream->execution_id,
                                   .generation = upstream->generation,
                                   .kind = FF_PAYLOAD_RESULT};
    const struct ff_payload *const result = ff_work_row(work, FF_TABLE_PAYLOAD, &key);
    struct ff_upstream_out *const out = ff_arena_alloc(work->arena, sizeof *out);

    if (!out || (result && result->data.len > result_max))
        return NULL;
    *out = (struct ff_upstream_out){
        .id = {upstream->partition_key, upstream->execution_id},
        .node = ff_arena_str(work->arena, upstream->node),
        .pass = edge->pass,
        .outcome = edge->outcome,
        .generation = upstream->generation,
        .result = result ? ff_arena_str(work->arena, result->data) : ff_str_null(),
        .result_type = result ? ff_arena_str(work->arena, result->content_type) : ff_str_null(),
    };
    return out;
}

void ff_task_upstream_by(struct ff_work *work, const struct ff_execution *execution,
                         const struct ff_edge *edge, size_t result_max, struct ff_task_out *task)
{
    const struct ff_edge_group key = {.partition_key = execution->partition_key,
                                      .execution_id = execution->execution_id};
    const struct ff_edge_group *const group = ff_work_row(work, FF_TABLE_EDGE_GROUP, &key);
    const struct ff_execution *const before = execution->head.before;
    const struct ff_execution *upstream;

    task->upstream_count = FF_UPSTREAMS_UNREAD;
    if (ff_uuid_is_zero(execution->flow_id) || (execution->head.is_new && !group)) {
        task->upstream_count = 0;
        return;
    }
    if (!group || group->total != 1 || !before || !ff_state_is_blocked(before->state))
        return;
    if (!edge)
        edge = edge_into(work, execution);
    upstream = edge ? ended_here(work, edge) : NULL;
    if (!upstream)
        return;
    task->upstream = upstream_from(work, upstream, edge, result_max);
    if (task->upstream)
        task->upstream_count = 1;
}

void ff_task_upstreams(struct ff_work *work, const struct ff_execution *execution,
                       struct ff_task_out *task)
{
    ff_task_upstream_by(work, execution, NULL, FF_UPSTREAM_HANDED_BYTES, task);
}
