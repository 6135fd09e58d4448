/* SPDX-License-Identifier: Apache-2.0
 *
 * answers-flow.c -- what the answers of a server about flows hold; see answers.h.
 *
 * The writer is src/api/json-flow.c. Tests: tests/conformance --store http. */
#include "api/answers-int.h"

#include <string.h>

#include "base/str.h"

#include "base/banned.h"

static const struct ff_field node_fields[] = {
    F(ff_flow_node_info, "name", TEXT, name),
    F(ff_flow_node_info, "kind", TEXT, kind),
    F(ff_flow_node_info, "public_state", TEXT, public_state),
    CHARS(ff_flow_node_info, "execution_id", execution_id),
};
static const struct ff_shape node =
    FF_SHAPE(NULL, struct ff_flow_node_info, node_fields, .init = NULL);

static const struct ff_field edge_fields[] = {
    F(ff_flow_edge_info, "from", TEXT, from),
    F(ff_flow_edge_info, "to", TEXT, to),
    F(ff_flow_edge_info, "pass", TEXT, pass),
    F(ff_flow_edge_info, "outcome", TEXT, outcome),
};
static const struct ff_shape edge =
    FF_SHAPE(NULL, struct ff_flow_edge_info, edge_fields, .init = NULL);

static const struct ff_field join_fields[] = {
    F(ff_flow_join_info, "node", TEXT, node),
    F(ff_flow_join_info, "policy", TEXT, policy),
    F(ff_flow_join_info, "on_satisfied", TEXT, on_satisfied),
    F(ff_flow_join_info, "group_state", TEXT, group_state),
    F(ff_flow_join_info, "k", I64, k),
    F(ff_flow_join_info, "success", I64, success),
    F(ff_flow_join_info, "fail", I64, fail),
    F(ff_flow_join_info, "skip", I64, skip),
    F(ff_flow_join_info, "total", I64, total),
};
static const struct ff_shape join =
    FF_SHAPE(NULL, struct ff_flow_join_info, join_fields, .init = NULL);

static const struct ff_field cancellation_fields[] = {
    F(ff_flow_info, "policy", TEXT, cancel_policy),
    F(ff_flow_info, "reason", TEXT, cancel_reason),
};
static const struct ff_shape cancellation =
    FF_SHAPE(NULL, struct ff_flow_info, cancellation_fields, .init = NULL);

static void flow_init(void *out)
{
    *(struct ff_flow_info *)out =
        (struct ff_flow_info){.finished_at_ms = FF_ABSENT_MS, .cancelled_at_ms = FF_ABSENT_MS};
}

/* {"<public state>": n} as an array. */
static ff_status flow_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    json_t *const counts = json_object_get(json, "counts");
    struct ff_flow_info *const flow = out;

    flow->counts = ff_arena_array(reader->arena, json_object_size(counts), sizeof *flow->counts);
    for (void *at = json_object_iter(counts); flow->counts && at;
         at = json_object_iter_next(counts, at))
        flow->counts[flow->count_count++] = (struct ff_flow_count){
            .public_state = ff_arena_str(reader->arena, ff_str_of(json_object_iter_key(at))).ptr,
            .count = json_integer_value(json_object_iter_value(at)),
        };
    return ff_arena_check(reader->arena, reader->reterr);
}

static const struct ff_field flow_fields[] = {
    CHARS(ff_flow_info, "flow_id", flow_id),
    F(ff_flow_info, "kind", TEXT, kind),
    F(ff_flow_info, "namespace", TEXT, ns),
    F(ff_flow_info, "instance_tag", TEXT, instance_tag),
    F(ff_flow_info, "state", TEXT, state),
    F(ff_flow_info, "revision", I64, revision),
    F(ff_flow_info, "node_count", I64, node_count),
    F(ff_flow_info, "edge_count", I64, edge_count),
    F(ff_flow_info, "ended_count", I64, ended_count),
    FLAT("cancellation", cancellation),
    F(ff_flow_info, "created_at_ms", I64, created_at_ms),
    F(ff_flow_info, "changed_at_ms", I64, changed_at_ms),
    F(ff_flow_info, "finished_at_ms", I64, finished_at_ms),
    F(ff_flow_info, "cancelled_at_ms", I64, cancelled_at_ms),
    LIST(ff_flow_info, "tags", TAGS, tags, tag_count),
    OBJECTS(ff_flow_info, "nodes", nodes, node_info_count, node),
    OBJECTS(ff_flow_info, "edges", edges, edge_info_count, edge),
    OBJECTS(ff_flow_info, "joins", joins, join_count, join),
    SEEN("counts", "members by public state"),
};
const struct ff_shape ff_answer_flow =
    FF_SHAPE(NULL, struct ff_flow_info, flow_fields, .init = flow_init, .finish = flow_finish);

static const struct ff_field flows_fields[] = {
    OBJECTS(ff_flow_info_list, "flows", items, count, ff_answer_flow),
    CHARS(ff_flow_info_list, "next_cursor", next_cursor),
};
const struct ff_shape ff_answer_flows =
    FF_SHAPE(NULL, struct ff_flow_info_list, flows_fields, .init = NULL);

/* {"<name>": "<id>"} in the order of the nodes. */
static ff_status made_finish(const struct ff_reader *reader, const json_t *json, void *out)
{
    json_t *const nodes = json_object_get(json, "nodes");
    struct ff_flow_made *const made = out;

    made->items = ff_arena_array(reader->arena, json_object_size(nodes), sizeof *made->items);
    for (void *at = json_object_iter(nodes); made->items && at;
         at = json_object_iter_next(nodes, at)) {
        struct ff_flow_member *const member = &made->items[made->count++];
        const char *const id = json_string_value(json_object_iter_value(at));

        member->name = ff_arena_str(reader->arena, ff_str_of(json_object_iter_key(at))).ptr;
        if (!id || strlen(id) >= sizeof member->execution_id)
            return ff_reader_wrong(reader, "nodes", "names and ids");
        memcpy(member->execution_id, id, strlen(id) + 1);
    }
    return ff_arena_check(reader->arena, reader->reterr);
}

static void made_init(void *out)
{
    *(struct ff_flow_made *)out = (struct ff_flow_made){.revision = FF_ABSENT_MS};
}

static const struct ff_field made_fields[] = {
    CHARS(ff_flow_made, "flow_id", flow_id),
    F(ff_flow_made, "created", BOOL, created),
    F(ff_flow_made, "revision", I64, revision),
    SEEN("nodes", "execution ids by name"),
};
const struct ff_shape ff_answer_flow_made =
    FF_SHAPE(NULL, struct ff_flow_made, made_fields, .init = made_init, .finish = made_finish);

static const struct ff_field cancelled_fields[] = {
    F(ff_flow_cancelled, "state", TEXT, state),
    F(ff_flow_cancelled, "policy", TEXT, policy),
    F(ff_flow_cancelled, "reason", TEXT, reason),
    F(ff_flow_cancelled, "node_count", I64, node_count),
    F(ff_flow_cancelled, "ended_count", I64, ended_count),
};
const struct ff_shape ff_answer_flow_cancelled =
    FF_SHAPE(NULL, struct ff_flow_cancelled, cancelled_fields, .init = NULL);
