/* SPDX-License-Identifier: Apache-2.0
 *
 * json-flow.c -- what became of a flow, as the contract's JSON.
 *
 * Tests: tests/unit/test_json.c. */
#include "api/json.h"

#include <string.h>

#include "base/banned.h"

json_t *ff_json_flow_made(const struct ff_flow_made *flow)
{
    struct ff_json_maker made = ff_json_make();
    struct ff_json_maker nodes = ff_json_make();

    for (size_t i = 0; i < flow->count; i++)
        ff_json_put_text(&nodes, flow->items[i].name, flow->items[i].execution_id);
    ff_json_put_text(&made, "flow_id", flow->flow_id);
    ff_json_put_ms(&made, "revision", flow->revision);
    ff_json_put_bool(&made, "created", flow->created);
    ff_json_put(&made, "nodes", ff_json_made(&nodes));
    return ff_json_made(&made);
}

json_t *ff_json_flow_cancelled(const struct ff_flow_cancelled *cancelled)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "state", cancelled->state);
    ff_json_put_text(&made, "policy", cancelled->policy);
    ff_json_put_text(&made, "reason", cancelled->reason);
    ff_json_put_i64(&made, "node_count", cancelled->node_count);
    ff_json_put_i64(&made, "ended_count", cancelled->ended_count);
    return ff_json_made(&made);
}

static json_t *node_item(const void *item)
{
    const struct ff_flow_node_info *const node = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "name", node->name);
    ff_json_put_text(&made, "execution_id", node->execution_id);
    ff_json_put_text(&made, "kind", node->kind);
    ff_json_put_text(&made, "public_state", node->public_state);
    return ff_json_made(&made);
}

static json_t *edge_item(const void *item)
{
    const struct ff_flow_edge_info *const edge = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "from", edge->from);
    ff_json_put_text(&made, "to", edge->to);
    ff_json_put_text(&made, "pass", edge->pass);
    ff_json_put_text(&made, "outcome", edge->outcome);
    return ff_json_made(&made);
}

static json_t *join_item(const void *item)
{
    const struct ff_flow_join_info *const join = item;
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "node", join->node);
    ff_json_put_text(&made, "policy", join->policy);
    ff_json_put(&made, "k",
                strcmp(join->policy, "quorum") == 0 ? json_integer(join->k) : json_null());
    ff_json_put_text(&made, "on_satisfied", join->on_satisfied);
    ff_json_put_i64(&made, "success", join->success);
    ff_json_put_i64(&made, "fail", join->fail);
    ff_json_put_i64(&made, "skip", join->skip);
    ff_json_put_i64(&made, "total", join->total);
    ff_json_put_text(&made, "group_state", join->group_state);
    return ff_json_made(&made);
}

static json_t *counts_of(const struct ff_flow_info *info)
{
    struct ff_json_maker made = ff_json_make();

    for (size_t i = 0; i < info->count_count; i++)
        ff_json_put_i64(&made, info->counts[i].public_state, info->counts[i].count);
    return ff_json_made(&made);
}

static json_t *cancellation_of(const struct ff_flow_info *info)
{
    struct ff_json_maker made;

    if (!info->cancel_policy)
        return json_null();
    made = ff_json_make();
    ff_json_put_text(&made, "policy", info->cancel_policy);
    ff_json_put_text(&made, "reason", info->cancel_reason);
    return ff_json_made(&made);
}

static json_t *flow_of(const struct ff_flow_info *info, bool is_whole)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put_text(&made, "flow_id", info->flow_id);
    ff_json_put_text(&made, "kind", info->kind);
    ff_json_put_text(&made, "namespace", info->ns);
    ff_json_put_text(&made, "state", info->state);
    ff_json_put_i64(&made, "revision", info->revision);
    ff_json_put_tags(&made, info->tags, info->tag_count);
    ff_json_put_text(&made, "instance_tag", info->instance_tag);
    ff_json_put_i64(&made, "node_count", info->node_count);
    ff_json_put_i64(&made, "edge_count", info->edge_count);
    ff_json_put_i64(&made, "ended_count", info->ended_count);
    ff_json_put(&made, "counts", counts_of(info));
    ff_json_put(&made, "cancellation", cancellation_of(info));
    ff_json_put_ms(&made, "created_at_ms", info->created_at_ms);
    ff_json_put_ms(&made, "changed_at_ms", info->changed_at_ms);
    ff_json_put_ms(&made, "finished_at_ms", info->finished_at_ms);
    ff_json_put_ms(&made, "cancelled_at_ms", info->cancelled_at_ms);
    if (is_whole) {
        ff_json_put(&made, "nodes", FF_JSON_ARRAY(info->nodes, info->node_info_count, node_item));
        ff_json_put(&made, "edges", FF_JSON_ARRAY(info->edges, info->edge_info_count, edge_item));
        ff_json_put(&made, "joins", FF_JSON_ARRAY(info->joins, info->join_count, join_item));
    }
    return ff_json_made(&made);
}

json_t *ff_json_flow_info(const struct ff_flow_info *info)
{
    return flow_of(info, true);
}

static json_t *flow_item(const void *item)
{
    return flow_of(item, false);
}

json_t *ff_json_flows(const struct ff_flow_info_list *list)
{
    struct ff_json_maker made = ff_json_make();

    ff_json_put(&made, "flows", FF_JSON_ARRAY(list->items, list->count, flow_item));
    ff_json_put_text(&made, "next_cursor", list->next_cursor[0] ? list->next_cursor : NULL);
    return ff_json_made(&made);
}
