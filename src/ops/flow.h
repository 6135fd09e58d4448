/* SPDX-License-Identifier: Apache-2.0
 *
 * flow.h -- in and out of the operations on flows: what callers ask for, and the cascade.
 *
 * A flow is a graph of executions. Its callers make it whole (flow.create), add to it (flow.grow)
 * and end it (flow.cancel); everything else is the cascade, ops that no caller asks for:
 * hop.dispatch tells the downstreams of an ended member, group.drain cancels upstreams that a
 * decided join no longer needs, flow.drain the members of a cancelled flow, flow.remove a flow that
 * is no longer kept, hop.find looks for what waits. `in` is filled by the caller and kept, with
 * what the op learned, from one batch to the next. Read first: docs/internals/cascade.md. Tests:
 * tests/unit/test_cascade.c. */
#ifndef FF_OPS_FLOW_H
#define FF_OPS_FLOW_H

#include "model/graph.h"
#include "ops/background.h"
#include "ops/execution.h"

/* --- create and grow --- */

/* What runs at a node. Fill in as for a submission; id, namespace, own_id and idempotency_key are
 * set by ff_flow_prepare. */
struct ff_node_in {
    struct ff_submit_in submit;
    uint8_t hash[32]; /* of the node with its join and incoming edges; set by ff_flow_prepare */
};

/* The graph of one call. `shape.nodes[i]` and `nodes[i]` are the same node: name and join there,
 * the work here. Joins: k is FF_NULL64 and on_satisfied FF_NULL32 where the caller did not say. */
struct ff_graph_in {
    struct ff_graph shape;
    struct ff_node_in *nodes;
};

struct ff_flow_create_in {
    struct ff_uuid flow_id; /* minted with the op, or the caller's own */
    bool own_id;
    bool dated;                    /* minted by the store's time */
    struct ff_str namespace, kind; /* namespace absent: "default"; kind absent: none */
    struct ff_tag_in *tags;
    size_t tag_count;
    struct ff_str idempotency_key; /* absent: none */
    struct ff_graph_in graph;
    /* set by ff_flow_prepare */
    uint8_t hash[32]; /* fingerprint of the request with its defaults */
    struct ff_str instance_tag, packed_tags;
    /* learned: the key is taken by this flow */
    bool taken;
    struct ff_uuid taken_by;
};
struct ff_flow_create_out {
    struct ff_uuid flow_id;
    bool created;     /* false: the same request was accepted before; flow_id is the first one's */
    int64_t revision; /* FF_NULL64: a duplicate whose first flow is no longer kept */
    struct ff_exec_id *ids; /* in the order of the nodes */
};
/* FF_TOO_LARGE: more than one call may bring. Also for those who must not copy what is refused. */
FF_MUST_CHECK ff_status ff_flow_check_sizes(size_t node_count, size_t edge_count,
                                            const struct ff_settings *settings,
                                            struct ff_error *reterr);
/* Checks every field (the error names it, as "nodes[3].kind"), checks the graph, fills in defaults
 * and ids. Call once, before the op is queued. */
FF_MUST_CHECK ff_status ff_flow_prepare(struct ff_flow_create_in *in,
                                        const struct ff_settings *settings, struct ff_arena *arena,
                                        struct ff_error *reterr);

/* Edges may start at nodes of this call or at any that exist, and end at nodes of this call. A node
 * that exists and is the same, with the same edges, is a repeat and left alone. */
struct ff_flow_grow_in {
    struct ff_uuid flow_id;
    int64_t expected_revision; /* FF_NULL64: any */
    struct ff_graph_in graph;
    struct ff_str namespace; /* learned from the flow */
    bool known;
};
struct ff_flow_grow_out {
    int64_t revision;
    int64_t node_count; /* how many were new; 0: an equal repeat */
    struct ff_exec_id *ids;
};
FF_MUST_CHECK ff_status ff_grow_prepare(struct ff_flow_grow_in *in,
                                        const struct ff_settings *settings, struct ff_arena *arena,
                                        struct ff_error *reterr);

/* --- cancel --- */

struct ff_flow_cancel_in {
    struct ff_uuid flow_id;
    int32_t policy; /* FF_FLOW_CANCEL_* but NONE */
    struct ff_str reason, by;
};
/* As it stands afterwards. Cancelling again gives the first answer; only a stronger policy counts
 * anew. A flow that has completed or failed: FF_FLOW_TERMINAL. */
struct ff_flow_cancel_out {
    int32_t state, policy;
    struct ff_str reason;
    int64_t node_count, ended_count; /* members */
};
FF_MUST_CHECK ff_status ff_flow_cancel_check(const struct ff_flow_cancel_in *in,
                                             struct ff_error *reterr);

/* --- the cascade --- */

/* Names a row of ff_outbox. */
struct ff_hop_key {
    struct ff_exec_id id;
    int32_t generation, kind;
};

struct ff_dispatch_in {
    struct ff_hop_key hop;
    /* learned: which hop is at work (the reopening that must come first, or the hop itself), where
     * it stands, and the edges of this page that it moves */
    bool known, wide; /* wide: a whole page is worth asking for */
    int32_t kind;
    struct ff_uuid flow_id, cursor, page_end;
    bool last_page, want_leaf;
    bool ended_early, want_asked; /* perhaps before its own join was decided; it was */
    struct ff_uuid *downstreams;
    bool *decided;                /* by this edge's join: the node need not be held */
    int32_t *generations;         /* of downstreams to be reopened; FF_NULL32: not known to be */
    struct ff_outdated *outdated; /* edges into them */
    size_t count;
    /* set by need() */
    const struct ff_scan *edges, *groups, *leaf, *asked;
};
struct ff_dispatch_out {
    bool noop;     /* dispatched before, or gone: nothing was done */
    int64_t edges; /* Advanced(n): edges moved by this transaction */
    bool more;     /* not done yet: dispatch it again at once */
};

/* Names a row of ff_pending_cancel. */
struct ff_drain_key {
    struct ff_exec_id id;
    int64_t decision;
};

/* What waits for the cascade: after a restart, when a list overflowed, for the reconcilers. */
typedef enum ff_find_what {
    FF_FIND_HOPS,   /* undispatched, not put off */
    FF_FIND_DRAINS, /* sibling cancels under way */
    FF_FIND_FLOWS,  /* cancelled flows with members to cancel, or flows to remove */
} ff_find_what;

/* A step of the cascade that failed for its own sake: later, and later each time. */
struct ff_postpone_in {
    ff_find_what what; /* which of these */
    struct ff_hop_key hop;
    struct ff_drain_key drain;
    struct ff_uuid flow_id;
};
struct ff_postpone_out {
    int32_t tries; /* 0: it is not there any more */
    int64_t not_before_ms;
};

struct ff_group_drain_in {
    struct ff_drain_key drain;
    /* learned: the upstreams of this page, and of each a join that asked to cancel it */
    bool known, last_page;
    struct ff_uuid cursor;
    struct ff_uuid *upstreams, *askers;
    size_t count;
    /* set by need() */
    struct ff_scan *edges, **needed;
};
struct ff_drain_out {
    bool noop;         /* over before, or gone */
    int64_t cancelled; /* by this transaction */
    bool more;         /* not done yet: drain again at once */
};

struct ff_flow_drain_in {
    struct ff_uuid flow_id;
    /* learned: the members of this page */
    bool known, last_page;
    struct ff_uuid cursor;
    struct ff_uuid *members;
    size_t count;
    struct ff_scan *scan; /* set by need() */
};

struct ff_find_in {
    ff_find_what what;
    int64_t older_ms; /* at least so old; 0: any age, the loops bring their own */
    int64_t limit;
    struct ff_scan_filter filter;
    int64_t learned_ms; /* learned: the store's time */
    struct ff_scan *scan;
};
struct ff_find_out {
    struct ff_hop_key *hops; /* one of the three, by `what`; oldest first */
    struct ff_drain_key *drains;
    struct ff_uuid *flows;
    bool *removed; /* of each flow: to be removed, not drained */
    size_t count;
    bool full; /* there may be more */
};

/* Retention of flows: marks flows that ended long ago as removed; then flow.remove takes their
 * members, page by page, and the flow at last. */
struct ff_flow_remove_in {
    struct ff_uuid flow_id;
    bool known;
    struct ff_uuid *members;
    size_t count;
    struct ff_scan *scan;
};
struct ff_flow_remove_out {
    int64_t removed;
    bool more;
};

#endif
