/* SPDX-License-Identifier: Apache-2.0
 *
 * model-flow.c -- the scans of src/store/sql/flow.sql as plain C over the model's rows. */
#include "model-scan.h"

#include <assert.h>

#include "base/macros.h"
#include "model/codes.h"
#include "model/states.h"
#include "store/sql.h"

#include "base/banned.h"

/* --- looking --- */

static struct ff_uuid uuid_param(const struct query *q, const char *name)
{
    const struct ff_value *const value = model_param(q->scan, name);

    return value->type == FF_VALUE_NULL ? (struct ff_uuid){.b = {0}} : value->as.uuid;
}

static int32_t partition_of(const struct query *q)
{
    return (int32_t)model_param(q->scan, "partition_key")->as.i64;
}

static const struct ff_execution *execution_of(const struct query *q, int32_t partition,
                                               struct ff_uuid id)
{
    const struct ff_execution key = {.partition_key = partition, .execution_id = id};

    return model_row(q->model, FF_TABLE_EXECUTION, &key);
}

static const struct ff_edge *edge_of(const struct query *q, int32_t partition, struct ff_uuid from,
                                     struct ff_uuid to)
{
    const struct ff_edge key = {
        .partition_key = partition, .execution_id = from, .downstream_id = to};

    return model_row(q->model, FF_TABLE_EDGE, &key);
}

static bool fits_scope(const struct query *q, struct ff_str namespace, struct ff_str instance_tag)
{
    return (ff_str_is_null(q->namespace) || ff_str_eq(q->namespace, namespace)) &&
           (ff_str_is_null(q->instance_tag) || ff_str_eq(q->instance_tag, instance_tag));
}

/* --- edges --- */

static bool fits_from(const struct query *q, const void *any)
{
    const struct ff_edge *const row = any;

    return row->partition_key == partition_of(q) &&
           ff_uuid_eq(row->execution_id, uuid_param(q, "execution_id")) &&
           ff_uuid_cmp(row->downstream_id, uuid_param(q, "after_id")) > 0;
}

static bool fits_group_from(const struct query *q, const void *any)
{
    const struct ff_edge_group *const row = any;

    return row->partition_key == partition_of(q) &&
           ff_uuid_cmp(row->execution_id, uuid_param(q, "after_id")) > 0 &&
           edge_of(q, row->partition_key, uuid_param(q, "execution_id"), row->execution_id);
}

static const struct ff_edge_group *join_of(const struct query *q, const struct ff_edge *edge)
{
    const struct ff_edge_group key = {.partition_key = edge->partition_key,
                                      .execution_id = edge->downstream_id};

    return model_row(q->model, FF_TABLE_EDGE_GROUP, &key);
}

static bool asks_to_cancel(const struct ff_edge_group *join)
{
    return join && join->group_state != FF_GROUP_PENDING && join->policy != FF_JOIN_ALL_OF &&
           join->on_satisfied == FF_ON_SATISFIED_CANCEL_REMAINING;
}

static bool fits_asked(const struct query *q, const void *any)
{
    const struct ff_edge *const row = any;
    const struct ff_edge *const into =
        edge_of(q, partition_of(q), row->execution_id, uuid_param(q, "downstream_id"));

    return into && into->outcome == FF_EDGE_UNRESOLVED &&
           row->partition_key == into->partition_key && row->outcome == FF_EDGE_UNRESOLVED &&
           ff_uuid_cmp(row->execution_id, uuid_param(q, "after_id")) > 0 &&
           asks_to_cancel(join_of(q, row));
}

static bool fits_needed(const struct query *q, const void *any)
{
    const struct ff_edge *const row = any;
    const struct ff_edge_group *const join = join_of(q, row);
    const struct ff_execution *const node = execution_of(q, row->partition_key, row->downstream_id);

    return row->partition_key == partition_of(q) &&
           ff_uuid_eq(row->execution_id, uuid_param(q, "execution_id")) && join &&
           join->group_state == FF_GROUP_PENDING && node && !ff_state_is_terminal(node->state);
}

/* It has ended, and not well: whatever an edge of it tells of an older run. */
static bool has_failed(const struct ff_execution *row)
{
    return row && ff_state_is_terminal(row->state) && row->state != FF_STATE_SUCCESS;
}

static bool fits_failed_upstream(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;
    const struct ff_edge *const edge =
        edge_of(q, row->partition_key, row->execution_id, uuid_param(q, "downstream_id"));

    return row->partition_key == partition_of(q) && has_failed(row) && edge &&
           edge->outcome != FF_EDGE_UNRESOLVED;
}

static bool fits_outdated_upstream(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;
    const struct ff_edge *const edge =
        edge_of(q, row->partition_key, row->execution_id, uuid_param(q, "downstream_id"));

    return row->partition_key == partition_of(q) && edge && edge->outcome != FF_EDGE_UNRESOLVED &&
           edge->resolved_generation < row->generation;
}

/* Is there a way down from `from` to `to`, through nodes only that cannot run? */
static bool leads_to(const struct query *q, struct ff_uuid from, struct ff_uuid to)
{
    const size_t count = model_slot_count(q->model, FF_TABLE_EDGE);

    for (size_t i = 0; i < count; i++) {
        const struct ff_edge *const edge = model_slot_at(q->model, FF_TABLE_EDGE, i)->row;
        const struct ff_edge_group *below;

        if (!edge || edge->outcome == FF_EDGE_UNRESOLVED ||
            edge->partition_key != partition_of(q) || !ff_uuid_eq(edge->execution_id, from))
            continue;
        below = join_of(q, edge);
        if (ff_uuid_eq(edge->downstream_id, to) ||
            (below && below->group_state == FF_GROUP_IMPOSSIBLE &&
             has_failed(execution_of(q, edge->partition_key, edge->downstream_id)) &&
             leads_to(q, edge->downstream_id, to)))
            return true;
    }
    return false;
}

static bool fits_failed_ancestor(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;

    return row->partition_key == partition_of(q) &&
           (row->state == FF_STATE_FAILED || row->state == FF_STATE_CANCELLED ||
            row->state == FF_STATE_EXPIRED) &&
           leads_to(q, row->execution_id, uuid_param(q, "downstream_id"));
}

/* --- members --- */

static bool fits_member(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;

    return ff_uuid_eq(row->flow_id, uuid_param(q, "flow_id")) &&
           ff_uuid_cmp(row->execution_id, uuid_param(q, "after_id")) > 0;
}

static bool fits_living_member(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;

    return fits_member(q, any) && !ff_state_is_terminal(row->state);
}

static bool fits_broken_leaf(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;
    const size_t count = model_slot_count(q->model, FF_TABLE_EDGE);

    if (!ff_uuid_eq(row->flow_id, uuid_param(q, "flow_id")) || row->state == FF_STATE_SUCCESS)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct ff_edge *const edge = model_slot_at(q->model, FF_TABLE_EDGE, i)->row;

        if (edge && ff_uuid_eq(edge->execution_id, row->execution_id))
            return false;
    }
    return true;
}

/* --- what waits --- */

static int64_t before_of(const struct query *q)
{
    return model_param(q->scan, "before_ms")->as.i64;
}

static bool fits_open_hop(const struct query *q, const void *any)
{
    const struct ff_outbox *const row = any;

    return row->dispatched_at_ms == FF_NULL64 && row->not_before_ms <= q->now_ms &&
           row->created_at_ms <= before_of(q) && fits_scope(q, row->namespace, row->instance_tag);
}

static bool fits_waiting_hop(const struct query *q, const void *any)
{
    (void)q;
    return ((const struct ff_outbox *)any)->dispatched_at_ms == FF_NULL64;
}

static bool fits_open_drain(const struct query *q, const void *any)
{
    const struct ff_drain *const row = any;

    return row->not_before_ms <= q->now_ms && row->created_at_ms <= before_of(q) &&
           fits_scope(q, row->namespace, row->instance_tag);
}

static bool is_moving(const struct ff_flow *flow)
{
    return flow && (flow->draining == 1 || flow->state == FF_FLOW_REMOVED);
}

static bool fits_open_flow(const struct query *q, const void *any)
{
    const struct ff_flow *const row = any;

    return is_moving(row) && row->not_before_ms <= q->now_ms &&
           row->changed_at_ms <= before_of(q) && fits_scope(q, row->namespace, row->instance_tag);
}

static bool fits_old_flow(const struct query *q, const void *any)
{
    const struct ff_flow *const row = any;

    return row->finished_at_ms != FF_NULL64 && row->finished_at_ms < q->cutoff_ms &&
           row->state != FF_FLOW_REMOVED && row->draining == 0 &&
           fits_scope(q, row->namespace, row->instance_tag);
}

static int64_t by_hop_time(const void *row)
{
    return ((const struct ff_outbox *)row)->created_at_ms;
}

static int64_t by_drain_time(const void *row)
{
    return ((const struct ff_drain *)row)->created_at_ms;
}

static int64_t by_flow_change(const void *row)
{
    return ((const struct ff_flow *)row)->changed_at_ms;
}

static int64_t by_flow_end(const void *row)
{
    return ((const struct ff_flow *)row)->finished_at_ms;
}

// clang-format off
static const struct scan_rule rules[] = {
    {FF_SQL_EDGES_FROM,         FF_TABLE_EDGE,       fits_from,            model_by_key,   true},
    {FF_SQL_GROUPS_FROM,        FF_TABLE_EDGE_GROUP, fits_group_from,      model_by_key,   true},
    {FF_SQL_EDGES_ASKED,        FF_TABLE_EDGE,       fits_asked,           model_by_key,   true},
    {FF_SQL_SIBLING_NEEDED,     FF_TABLE_EDGE,       fits_needed,          model_by_key,   true},
    {FF_SQL_FAILED_UPSTREAMS,   FF_TABLE_EXECUTION,  fits_failed_upstream, model_by_key,   true},
    {FF_SQL_OUTDATED_UPSTREAMS, FF_TABLE_EXECUTION,  fits_outdated_upstream, model_by_key, true},
    {FF_SQL_FAILED_ANCESTORS,   FF_TABLE_EXECUTION,  fits_failed_ancestor, model_by_key,   true},
    {FF_SQL_FLOW_BROKEN_LEAF,   FF_TABLE_EXECUTION,  fits_broken_leaf,     model_by_key,   true},
    {FF_SQL_FLOW_MEMBERS_ALIVE, FF_TABLE_EXECUTION,  fits_living_member,   model_by_key,   true},
    {FF_SQL_FLOW_MEMBERS,       FF_TABLE_EXECUTION,  fits_member,          model_by_key,   true},
    {FF_SQL_HOPS_OPEN,          FF_TABLE_OUTBOX,     fits_open_hop,        by_hop_time,    true},
    {FF_SQL_HOP_OLDEST,         FF_TABLE_OUTBOX,     fits_waiting_hop,     by_hop_time,    true},
    {FF_SQL_DRAINS_OPEN,        FF_TABLE_DRAIN,      fits_open_drain,      by_drain_time,  true},
    {FF_SQL_FLOWS_OPEN,         FF_TABLE_FLOW,       fits_open_flow,       by_flow_change, true},
    {FF_SQL_RETENTION_FLOWS,    FF_TABLE_FLOW,       fits_old_flow,        by_flow_end,    true},
};
// clang-format on

const struct scan_rule *model_flow_rule(int block)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(rules); i++)
        if (rules[i].block == block)
            return &rules[i];
    assert(!"the model does not know this scan");
    return NULL;
}

/* --- the pulse --- */

int64_t model_hops_wait(const struct model *model, int64_t now_ms)
{
    for (size_t i = 0; i < model_slot_count(model, FF_TABLE_OUTBOX); i++) {
        const struct ff_outbox *const hop = model_slot_at(model, FF_TABLE_OUTBOX, i)->row;

        if (hop && hop->dispatched_at_ms == FF_NULL64 && hop->not_before_ms <= now_ms)
            return 1;
    }
    return 0;
}

int64_t model_drains_wait(const struct model *model, int64_t now_ms)
{
    for (size_t i = 0; i < model_slot_count(model, FF_TABLE_DRAIN); i++) {
        const struct ff_drain *const drain = model_slot_at(model, FF_TABLE_DRAIN, i)->row;

        if (drain && drain->not_before_ms <= now_ms)
            return 1;
    }
    for (size_t i = 0; i < model_slot_count(model, FF_TABLE_FLOW); i++) {
        const struct ff_flow *const flow = model_slot_at(model, FF_TABLE_FLOW, i)->row;

        if (is_moving(flow) && flow->not_before_ms <= now_ms)
            return 1;
    }
    return 0;
}
