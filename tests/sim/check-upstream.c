/* SPDX-License-Identifier: Apache-2.0
 *
 * check-upstream.c -- what a claim tells of the upstreams of a node without a look is what a look
 * would have found. */
#include "book.h"

#include "model/codes.h"
#include "ops/execution.h"

#include "base/banned.h"

static bool is_told_of(struct sim *sim, const struct ff_upstream_out *told,
                       const struct ff_edge *edge)
{
    const struct ff_payload key = {.partition_key = edge->partition_key,
                                   .execution_id = edge->execution_id,
                                   .generation = edge->resolved_generation,
                                   .kind = FF_PAYLOAD_RESULT};
    const struct ff_execution from_key = {.partition_key = edge->partition_key,
                                          .execution_id = edge->execution_id};
    const struct ff_payload *const result = model_row(sim->model, FF_TABLE_PAYLOAD, &key);
    const struct ff_execution *const from = model_row(sim->model, FF_TABLE_EXECUTION, &from_key);

    return from && ff_str_eq(told->node, from->node) &&
           ff_uuid_eq(told->id.uuid, edge->execution_id) && told->outcome == edge->outcome &&
           told->generation == edge->resolved_generation && told->pass == edge->pass &&
           (result ? ff_str_eq(told->result, result->data) &&
                         ff_str_eq(told->result_type, result->content_type)
                   : ff_str_is_null(told->result));
}

void check_upstreams(struct sim *sim, const struct word *claim, const struct ff_task_out *task)
{
    const struct ff_execution key = {.partition_key = task->id.partition,
                                     .execution_id = task->id.uuid};
    const struct ff_execution *const node = model_row(sim->model, FF_TABLE_EXECUTION, &key);
    int32_t count = 0;
    bool right = true;

    if (task->upstream_count == FF_UPSTREAMS_UNREAD || !node ||
        !ff_uuid_eq(node->lease_id, task->lease_id))
        return; /* nothing was told, or the node has gone on since */
    for (size_t i = 0; i < model_slot_count(sim->model, FF_TABLE_EDGE); i++) {
        const struct ff_edge *const edge = model_slot_at(sim->model, FF_TABLE_EDGE, i)->row;

        if (!edge || edge->partition_key != key.partition_key ||
            !ff_uuid_eq(edge->downstream_id, key.execution_id))
            continue;
        count++;
        right = right && task->upstream_count == 1 && is_told_of(sim, task->upstream, edge);
    }
    if (count != task->upstream_count || !right)
        sim_fail(sim, "t%u a node was told of other upstreams than it has", claim->number);
    if (count == 1 && task->waited_ms > 0) /* by a later batch than the one that has set it free */
        sim_sometimes(sim, SOMETIMES_UPSTREAM_REMEMBERED);
}
