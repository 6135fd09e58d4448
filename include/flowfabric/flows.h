/* SPDX-License-Identifier: Apache-2.0
 *
 * flows.h -- graphs of executions: a node runs when the edges into it say so.
 *
 * Ids of flows are bare uuids; ids of nodes are made from the flow and the node's name. */
#ifndef FLOWFABRIC_FLOWS_H
#define FLOWFABRIC_FLOWS_H

#include "executions.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ff_flow_node {
    const char *name;                 /* unique in the flow */
    const struct ff_submission *work; /* what runs; without execution_id, idempotency_key and ns */
    const char *join;                 /* "all_of" (default), "any_of", "quorum" */
    int64_t k;                        /* of a quorum; 0: not given */
    const char *on_satisfied; /* "cancel_remaining" (default) or "let_run"; not with all_of */
};
struct ff_flow_edge {
    const char *from, *to; /* names */
    const char *pass; /* "upstream" (default), or "input": the result replaces the node's input */
};

/* Start from ff_flow_request_init(). */
struct ff_flow_request {
    size_t size;
    const char *flow_id; /* the caller's own; NULL: minted */
    const char *kind;    /* NULL: none */
    const char *ns;      /* "default" */
    const char *idempotency_key;
    const struct ff_tag_pair *tags;
    size_t tag_count;
    const struct ff_flow_node *nodes;
    size_t node_count;
    const struct ff_flow_edge *edges;
    size_t edge_count;
    int64_t expected_revision; /* grow only; FF_ABSENT_MS: any */
};
FF_API void ff_flow_request_init(struct ff_flow_request *request);

struct ff_flow_member {
    const char *name;
    char execution_id[FF_ID_BYTES];
};
struct ff_flow_made {
    struct ff_memory *memory;
    char flow_id[FF_UUID_BYTES];
    bool created;     /* false: the same request was accepted before */
    int64_t revision; /* FF_ABSENT_MS: a duplicate whose flow is no longer kept */
    size_t count;
    struct ff_flow_member *items; /* in the order of the nodes */
};
/* The whole graph, all or nothing. Refused before anything is written: FF_CYCLE, FF_UNKNOWN_NODE,
 * FF_DUPLICATE_NODE, FF_DUPLICATE_EDGE, FF_SELF_EDGE, FF_BAD_QUORUM, FF_DUPLICATE_INPUT_EDGE,
 * FF_TOO_LARGE; the error names the node or edge. */
FF_API FF_MUST_CHECK ff_status ff_flow_create(struct ff_client *client,
                                              const struct ff_flow_request *request,
                                              struct ff_flow_made *ret, struct ff_error *reterr);
/* More nodes and edges for a flow that lives, named by request->flow_id. Edges start at any node,
 * ended ones too, and end at nodes of this call. An equal repeat is answered whatever the state:
 * `created` is false then. Also FF_NODE_DIFFERS, FF_EDGE_INTO_EXISTING, FF_FLOW_TERMINAL. */
FF_API FF_MUST_CHECK ff_status ff_flow_grow(struct ff_client *client,
                                            const struct ff_flow_request *request,
                                            struct ff_flow_made *ret, struct ff_error *reterr);

struct ff_flow_cancelled {
    struct ff_memory *memory;
    const char *state, *policy, *reason;
    int64_t node_count, ended_count;
};
/* `policy`: "cancel_all", "cancel_pending" (what runs may finish, nothing new begins) or
 * "cancel_flow_only". The flow is cancelled when this returns, its members follow. */
FF_API FF_MUST_CHECK ff_status ff_flow_cancel(struct ff_client *client, const char *flow_id,
                                              const char *reason, const char *policy,
                                              struct ff_flow_cancelled *ret,
                                              struct ff_error *reterr);

struct ff_flow_count {
    const char *public_state;
    int64_t count;
};
struct ff_flow_node_info {
    const char *name, *kind, *public_state;
    char execution_id[FF_ID_BYTES];
};
struct ff_flow_edge_info {
    const char *from, *to, *pass, *outcome;
};
struct ff_flow_join_info {
    const char *node, *policy, *on_satisfied, *group_state;
    int64_t k, success, fail, skip, total;
};
struct ff_flow_info {
    char flow_id[FF_UUID_BYTES];
    const char *kind, *ns, *instance_tag;
    const char *state; /* open, running, completed, failed, cancelled */
    int64_t revision, node_count, edge_count, ended_count;
    const char *cancel_policy, *cancel_reason;                             /* NULL: not cancelled */
    int64_t created_at_ms, changed_at_ms, finished_at_ms, cancelled_at_ms; /* FF_ABSENT_MS */
    const struct ff_tag_pair *tags;
    size_t tag_count;
    struct ff_flow_count *counts; /* members by public state; those that are 0 are left out */
    size_t count_count;
    struct ff_flow_node_info *nodes; /* in the order of names; lists leave out the graph */
    size_t node_info_count;
    struct ff_flow_edge_info *edges;
    size_t edge_info_count;
    struct ff_flow_join_info *joins;
    size_t join_count;
};
struct ff_flow_info_list {
    struct ff_memory *memory;
    size_t count;
    struct ff_flow_info *items;
    char next_cursor[FF_CURSOR_BYTES]; /* empty at the end */
};
/* One flow with its graph: exactly one item. The id is a uuid or a unique prefix of one. */
FF_API FF_MUST_CHECK ff_status ff_flow_get(struct ff_client *client, const char *flow_id,
                                           struct ff_flow_info_list *ret, struct ff_error *reterr);

struct ff_flow_filter {
    size_t size;
    const char *ns, *kind, *state; /* NULL: any */
    int32_t limit;                 /* 0 means 50; at most 1,000 */
    const char *cursor;
};
FF_API FF_MUST_CHECK ff_status ff_flow_list(struct ff_client *client,
                                            const struct ff_flow_filter *filter,
                                            struct ff_flow_info_list *ret, struct ff_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
