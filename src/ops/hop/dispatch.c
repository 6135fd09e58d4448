/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch.c -- hop.dispatch: tell the downstreams of a member that it has ended, or runs again.
 *
 * A first batch learns, without a lock, which edges lead on from here after the hop's cursor: a
 * few, so that many hops share it, or if there are more in another one a whole page. A completion
 * has looked at them itself, so the hop of a first generation knows them from the start. The next
 * holds the hop, the flow, the edges, their joins and their nodes. Every edge carries its own
 * outcome and moves once, so a hop may be dispatched any number of times, by anybody, and a crash
 * between two pages loses nothing. The hop is marked as dispatched in the transaction of its last
 * edge. The member itself is not held: an edge added to it after it ended is born resolved.
 *
 * Reopening comes before the completion of the same generation. It takes back what an older
 * generation resolved in joins that are not satisfied; with `reopen_downstream` in satisfied ones,
 * too, but a success only where the node has ended or not begun. Nodes that ended because of what
 * is taken back run again as soon as their join allows it.
 * Read first: docs/internals/cascade.md. Tests: tests/unit/test_cascade.c, test_hop.c. */
#include <assert.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/mutant.h"
#include "model/events.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "ops/outdated.h"
#include "sql_ids.h"

#include "base/banned.h"

static struct ff_outbox key_of(const struct ff_dispatch_in *in, int32_t kind)
{
    return ff_hop_row_key((struct ff_hop_key){in->hop.id, in->hop.generation, kind});
}

static struct ff_edge edge_key(const struct ff_dispatch_in *in, size_t at)
{
    return (struct ff_edge){.partition_key = in->hop.id.partition,
                            .execution_id = in->hop.id.uuid,
                            .downstream_id = in->downstreams[at]};
}

static struct ff_edge_group group_key(const struct ff_dispatch_in *in, size_t at)
{
    return (struct ff_edge_group){.partition_key = in->hop.id.partition,
                                  .execution_id = in->downstreams[at]};
}

static struct ff_edge_group own_group_key(const struct ff_dispatch_in *in)
{
    return (struct ff_edge_group){.partition_key = in->hop.id.partition,
                                  .execution_id = in->hop.id.uuid};
}

static struct ff_exec_id node_id(const struct ff_dispatch_in *in, size_t at)
{
    return (struct ff_exec_id){in->hop.id.partition, in->downstreams[at]};
}

/* --- asking --- */

static void need_hops(struct ff_work *work, const struct ff_dispatch_in *in, ff_want want)
{
    const struct ff_outbox hop = key_of(in, in->hop.kind);
    const struct ff_outbox reopening = key_of(in, FF_HOP_REOPEN);

    ff_work_want(work, FF_TABLE_OUTBOX, &hop, want);
    if (in->hop.kind == FF_HOP_COMPLETION && in->hop.generation > 0)
        ff_work_want(work, FF_TABLE_OUTBOX, &reopening, want);
}

/* So many edges at once: a batch reserves room for what a scan might return. */
static int64_t page_rows(const struct ff_work *work, const struct ff_dispatch_in *in)
{
    const int64_t page = work->settings->hop_edges;

    return in->wide ? page : ff_min_i64(page, FF_HOP_EDGES_FIRST);
}

/* Both scans take the same parameters. */
static void page_params(const struct ff_dispatch_in *in,
                        struct ff_value params[FF_SQL_EDGES_FROM_PARAMS])
{
    const struct ff_in_edges_from page = {.partition_key = in->hop.id.partition,
                                          .execution_id = in->hop.id.uuid,
                                          .after_id = in->cursor};

    static_assert(sizeof(struct ff_in_edges_from) == sizeof(struct ff_in_groups_from),
                  "scans of a hop differ");
    ff_in_edges_from_values(&page, params);
}

static void need_edges(struct ff_work *work, struct ff_dispatch_in *in)
{
    struct ff_value params[FF_SQL_EDGES_FROM_PARAMS];

    page_params(in, params);
    in->groups = ff_work_scan(work, FF_SQL_GROUPS_FROM, params, FF_SQL_EDGES_FROM_PARAMS,
                              page_rows(work, in));
    in->edges = ff_work_scan(work, FF_SQL_EDGES_FROM, params, FF_SQL_EDGES_FROM_PARAMS,
                             page_rows(work, in));
}

static void need_leaf(struct ff_work *work, struct ff_dispatch_in *in)
{
    struct ff_value params[FF_SQL_FLOW_BROKEN_LEAF_PARAMS];
    const struct ff_in_flow_broken_leaf leaf = {FF_MEMBERS_OF(in->flow_id)};

    ff_in_flow_broken_leaf_values(&leaf, params);
    in->leaf =
        ff_work_scan(work, FF_SQL_FLOW_BROKEN_LEAF, params, FF_SQL_FLOW_BROKEN_LEAF_PARAMS, 1);
}

/* The join of the member itself, and whether somebody it waited for is to be looked at. */
static void need_own_join(struct ff_work *work, struct ff_dispatch_in *in)
{
    const struct ff_edge_group own = own_group_key(in);
    struct ff_value params[FF_SQL_EDGES_ASKED_PARAMS];
    const struct ff_in_edges_asked asked = {.partition_key = in->hop.id.partition,
                                            .downstream_id = in->hop.id.uuid};

    ff_work_want(work, FF_TABLE_EDGE_GROUP, &own, in->want_asked ? FF_WANT_LOCK : FF_WANT_READ);
    if (!in->want_asked)
        return;
    ff_in_edges_asked_values(&asked, params);
    in->asked = ff_work_scan(work, FF_SQL_EDGES_ASKED, params, FF_SQL_EDGES_ASKED_PARAMS, 1);
}

void ff_hop_dispatch_need(struct ff_work *work, struct ff_dispatch_in *in)
{
    const struct ff_flow flow = ff_flow_key(in->flow_id);

    in->edges = NULL;
    in->groups = NULL;
    in->leaf = NULL;
    in->asked = NULL;
    need_hops(work, in, in->known ? FF_WANT_LOCK : FF_WANT_READ);
    if (!in->known) {
        need_edges(work, in);
        return;
    }
    ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
    if (in->want_leaf)
        need_leaf(work, in);
    if (in->ended_early)
        need_own_join(work, in);
    for (size_t i = 0; i < in->count; i++) {
        const struct ff_edge edge = edge_key(in, i);
        const struct ff_edge_group group = group_key(in, i);

        if (!in->decided[i])
            ff_work_lock_execution(work, node_id(in, i));
        ff_work_want(work, FF_TABLE_EDGE, &edge, FF_WANT_LOCK);
        ff_work_want(work, FF_TABLE_EDGE_GROUP, &group, FF_WANT_LOCK);
        if (in->generations[i] == FF_NULL32)
            continue;
        ff_member_need_hops(work, node_id(in, i), in->generations[i]);
        ff_outdated_need(work, node_id(in, i), &in->outdated[i]);
    }
}

/* --- learning --- */

static ff_status forget(struct ff_dispatch_in *in)
{
    in->known = false;
    in->want_leaf = false;
    in->want_asked = false;
    return FF_AGAIN;
}

/* Would this hop move the edge? It is looked at again under the locks. */
static bool moves(const struct ff_dispatch_in *in, const struct ff_edge *edge)
{
    if (in->kind == FF_HOP_COMPLETION)
        return edge->outcome == FF_EDGE_UNRESOLVED || FF_MUTANT(edge_without_outcome);
    return edge->outcome != FF_EDGE_UNRESOLVED && edge->resolved_generation < in->hop.generation;
}

/* Nodes of decided joins run, or have ended: holding them would only be in their workers' way. The
 * edges are walked in order, so are the groups. */
static bool is_decided(const struct ff_dispatch_in *in, const struct ff_edge *edge, size_t *at)
{
    const struct ff_edge_group *group = NULL;

    if (!in->groups || in->kind != FF_HOP_COMPLETION)
        return false;
    for (; *at < in->groups->row_count; (*at)++) {
        group = in->groups->rows[*at];
        if (ff_uuid_cmp(group->execution_id, edge->downstream_id) >= 0)
            break;
    }
    return group && ff_uuid_eq(group->execution_id, edge->downstream_id) &&
           group->group_state != FF_GROUP_PENDING;
}

static ff_status learn(struct ff_work *work, struct ff_dispatch_in *in, const struct ff_outbox *hop,
                       struct ff_error *reterr)
{
    const size_t found = in->edges ? in->edges->row_count : 0;
    const bool whole = in->edges && in->edges->assumed; /* whoever knows them knows them all */
    const int64_t page = whole ? work->settings->hop_edges : page_rows(work, in);
    size_t group_at = 0;

    in->kind = hop->kind;
    in->flow_id = hop->flow_id;
    if (!ff_uuid_eq(in->cursor, hop->edge_cursor)) {
        in->cursor = hop->edge_cursor;
        in->wide = true;
        return FF_AGAIN;
    }
    if ((int64_t)found == page && page < work->settings->hop_edges) {
        in->wide = true;
        return FF_AGAIN;
    }
    in->count = 0;
    in->downstreams = ff_arena_array(work->arena, found + 1, sizeof *in->downstreams);
    in->decided = ff_arena_array(work->arena, found + 1, sizeof *in->decided);
    in->generations = ff_arena_array(work->arena, found + 1, sizeof *in->generations);
    in->outdated = ff_arena_array(work->arena, found + 1, sizeof *in->outdated);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < found; i++) {
        const struct ff_edge *const edge = in->edges->rows[i];

        in->page_end = edge->downstream_id;
        if (!moves(in, edge))
            continue;
        in->decided[in->count] = is_decided(in, edge, &group_at);
        in->generations[in->count] = FF_NULL32;
        in->outdated[in->count] = (struct ff_outdated){0};
        in->downstreams[in->count++] = edge->downstream_id;
    }
    in->last_page = (int64_t)found < page;
    in->ended_early = in->last_page && hop->kind == FF_HOP_COMPLETION &&
                      (hop->outcome == FF_STATE_CANCELLED || hop->outcome == FF_STATE_EXPIRED);
    in->known = true;
    return FF_AGAIN;
}

void ff_hop_need_edges(struct ff_work *work, struct ff_exec_id id)
{
    struct ff_dispatch_in first = {.hop.id = id};

    need_edges(work, &first);
}

/* The end was the only change this batch made to the member. Its edges were read before any op of
 * the batch was applied: a grow that came before the end has added some since, and touched it. */
static bool has_only_ended(struct ff_work *work, const struct ff_outbox *hop)
{
    const struct ff_exec_id id = {hop->partition_key, hop->execution_id};
    const struct ff_execution *const member = ff_work_execution(work, id);
    const struct ff_execution *const before = member ? member->head.before : NULL;

    return before && member->version == before->version + 1;
}

/* What was not looked at goes with the member as it was assumed. A load may have brought another
 * one in its place, and with other edges: a claim looks at what has lapsed, too. */
static bool still_holds(struct ff_work *work, const struct ff_dispatch_in *in)
{
    const struct ff_execution key = {.partition_key = in->hop.id.partition,
                                     .execution_id = in->hop.id.uuid};
    const struct ff_entry *const member = ff_rowset_find(work->rows, FF_TABLE_EXECUTION, &key);

    return !in->edges->assumed || (member && member->assumed) || FF_MUTANT(edges_kept_blindly);
}

void ff_hop_learn(struct ff_work *work, struct ff_dispatch_in *in, const struct ff_outbox *hop)
{
    struct ff_value params[FF_SQL_EDGES_FROM_PARAMS];
    struct ff_error error;

    if (hop->generation > 0 || (!has_only_ended(work, hop) && !FF_MUTANT(edges_of_before)))
        return;
    page_params(in, params);
    in->edges =
        ff_rowset_scan_find(work->rows, FF_SQL_EDGES_FROM, params, FF_SQL_EDGES_FROM_PARAMS);
    in->groups =
        ff_rowset_scan_find(work->rows, FF_SQL_GROUPS_FROM, params, FF_SQL_EDGES_FROM_PARAMS);
    if (in->edges && in->groups && still_holds(work, in))
        (void)learn(work, in, hop, &error);
    in->edges = in->groups = NULL; /* they belong to that batch */
}

/* --- deciding --- */

static ff_status broken(const struct ff_dispatch_in *in, const char *what, struct ff_error *reterr)
{
    char text[FF_ID_TEXT_BYTES];

    ff_exec_id_text(in->hop.id, text);
    return ff_fail(reterr, FF_INTERNAL, "hop of '%s': %s", text, what);
}

/* The rows of one edge. */
struct link {
    struct ff_edge *edge;
    struct ff_edge_group *group;
    struct ff_execution *node;
};

/* Its join and its edge before anything was taken back. */
struct link_before {
    int32_t state, outcome;
};

static ff_status link_at(struct ff_work *work, const struct ff_dispatch_in *in, size_t at,
                         struct link *ret, struct ff_error *reterr)
{
    const struct ff_edge edge = edge_key(in, at);
    const struct ff_edge_group group = group_key(in, at);

    ret->edge = ff_work_row(work, FF_TABLE_EDGE, &edge);
    ret->group = ff_work_row(work, FF_TABLE_EDGE_GROUP, &group);
    ret->node = in->decided[at] ? NULL : ff_work_execution(work, node_id(in, at));
    if (!ret->edge || !ret->group || (!ret->node && !in->decided[at]))
        return broken(in, "an edge leads nowhere", reterr);
    return FF_OK;
}

static ff_status resolve_edges(struct ff_work *work, struct ff_dispatch_in *in,
                               const struct ff_outbox *hop, const struct ff_flow *flow,
                               struct ff_dispatch_out *out, struct ff_error *reterr)
{
    const ff_edge_outcome outcome = ff_edge_outcome_of(hop->outcome);

    for (size_t i = 0; i < in->count; i++) {
        struct link link;

        FF_TRY(link_at(work, in, i, &link, reterr));
        if (link.edge->outcome != FF_EDGE_UNRESOLVED && !FF_MUTANT(edge_without_outcome))
            continue;
        if (!link.node && link.group->group_state == FF_GROUP_PENDING)
            return forget(in); /* reopened since we looked: the node is needed after all */
        ff_work_edit(work, link.edge);
        link.edge->outcome = (int32_t)outcome;
        link.edge->resolved_generation = hop->generation;
        FF_TRY(ff_group_resolve(work, flow, link.group, link.node, outcome, reterr));
        out->edges++;
    }
    return FF_OK;
}

static void take_back(struct ff_work *work, const struct link *link)
{
    ff_work_edit(work, link->group);
    ff_group_count(link->group, (ff_edge_outcome)link->edge->outcome, -1);
    ff_work_edit(work, link->edge);
    link->edge->outcome = FF_EDGE_UNRESOLVED;
    link->edge->resolved_generation = FF_NULL32;
    link->group->group_state = (int32_t)ff_group_evaluate(link->group);
}

/* It ended because of its join, or was asked to run again with it. */
static bool waits_to_follow(const struct ff_execution *node)
{
    return node->state == FF_STATE_SKIPPED || node->flags & FF_EXEC_FOLLOWS;
}

/* A node that ended because of what is now taken back, or was asked to run again with it, or ended
 * after it and with `downstream`, runs again: where its join says. */
static bool reopens(const struct link *link, bool downstream, const struct link_before *before)
{
    if (waits_to_follow(link->node))
        return before->state == FF_GROUP_IMPOSSIBLE &&
               link->group->group_state != FF_GROUP_IMPOSSIBLE;
    return downstream && before->state == FF_GROUP_SATISFIED &&
           before->outcome == FF_EDGE_SUCCESS && ff_state_is_terminal(link->node->state);
}

static void say_reopened(struct ff_work *work, const struct ff_execution *node)
{
    ff_execution_event(work, node, FF_EVENT_EXECUTION, FF_EVENT_EXECUTION_REOPENED)->num_a =
        node->generation;
}

/* If others on whom it depends have failed meanwhile it cannot run yet, and does when it can. */
static void reopen(struct ff_work *work, struct ff_flow *flow, const struct link *link,
                   bool downstream)
{
    if (link->group->group_state == FF_GROUP_IMPOSSIBLE) {
        ff_member_follow_join(work, link->node, downstream);
        return;
    }
    ff_member_restart(work, flow, link->node, link->group->group_state != FF_GROUP_SATISFIED,
                      downstream);
    say_reopened(work, link->node);
}

/* Joins that were satisfied have let their node run: what they counted stays. With `downstream` it
 * is taken back, too, but a success only from a node that has ended, and is to run again, or has
 * not begun, and is to wait again. */
static bool may_take_back(const struct ff_dispatch_in *in, const struct link *link, bool downstream)
{
    if (!moves(in, link->edge))
        return false;
    if (link->group->group_state != FF_GROUP_SATISFIED)
        return true;
    return downstream &&
           (link->edge->outcome != FF_EDGE_SUCCESS || ff_state_is_terminal(link->node->state) ||
            ff_state_blocked_again(link->node->state) != FF_STATE_NONE);
}

/* A node that was free, and had not begun, waits again if its join does. Moving it is also what
 * tells a process that remembers what it had waited for (engine/known.h). */
static void block_again(struct ff_work *work, const struct link *link)
{
    const ff_state blocked = ff_state_blocked_again(link->node->state);

    if (blocked == FF_STATE_NONE || link->group->group_state == FF_GROUP_SATISFIED)
        return;
    ff_execution_move(work, link->node, blocked);
    say_reopened(work, link->node);
}

static ff_status reopen_edges(struct ff_work *work, struct ff_dispatch_in *in,
                              const struct ff_outbox *hop, struct ff_flow *flow,
                              struct ff_dispatch_out *out, struct ff_error *reterr)
{
    const bool downstream = hop->outcome == FF_REOPEN_DOWNSTREAM;
    bool again = false;

    if (ff_flow_stops_members(flow))
        return FF_OK; /* nothing comes to life in there any more */
    for (size_t i = 0; i < in->count; i++) {
        struct link_before before;
        struct link link;
        ff_status learned;

        FF_TRY(link_at(work, in, i, &link, reterr));
        if (!may_take_back(in, &link, downstream))
            continue;
        before = (struct link_before){link.group->group_state, link.edge->outcome};
        take_back(work, &link);
        out->edges++;
        if (!reopens(&link, downstream, &before)) {
            if (downstream && waits_to_follow(link.node))
                ff_member_follow_join(work, link.node, true);
            block_again(work, &link);
            continue;
        }
        if (in->generations[i] != link.node->generation) { /* its hops are needed as well */
            in->generations[i] = link.node->generation;
            in->outdated[i] = (struct ff_outdated){0};
            again = true;
            continue;
        }
        learned = ff_outdated_learn(work, &in->outdated[i], in->hop.id.uuid, reterr);
        again = again || learned == FF_AGAIN;
        if (learned == FF_AGAIN)
            continue;
        FF_TRY(learned);
        ff_outdated_update(work, flow, link.node, link.group, before.state, &in->outdated[i]);
        reopen(work, flow, &link, downstream || in->outdated[i].downstream);
    }
    return again ? FF_AGAIN : FF_OK;
}

/* A node that ended before its join was decided needs nobody any more. A join that is decided later
 * has its drain see that this node has ended, so looking without its lock misses nobody. */
static ff_status let_go(struct ff_work *work, struct ff_dispatch_in *in,
                        const struct ff_outbox *hop, const struct ff_flow *flow)
{
    const struct ff_edge_group key = own_group_key(in);
    struct ff_edge_group *const group =
        in->ended_early ? ff_work_row(work, FF_TABLE_EDGE_GROUP, &key) : NULL;

    if (!group || group->group_state != FF_GROUP_PENDING || ff_flow_stops_members(flow))
        return FF_OK;
    if (!in->asked) {
        in->want_asked = true;
        return FF_AGAIN;
    }
    if (in->asked->row_count == 0)
        return FF_OK;
    ff_work_edit(work, group);
    group->version++;
    ff_drain_insert(work, group, hop->namespace, hop->instance_tag);
    return FF_OK;
}

/* The member is counted as ended; with the last one the flow ends. */
static ff_status count_member(struct ff_work *work, struct ff_dispatch_in *in,
                              const struct ff_outbox *hop, struct ff_flow *flow)
{
    const bool last = ff_flow_ended(flow) + 1 == flow->node_count;
    const bool all_completed =
        hop->outcome == FF_STATE_SUCCESS && flow->success_count + 1 == flow->node_count;

    if (last && !all_completed && !in->leaf) {
        in->want_leaf = true;
        return FF_AGAIN;
    }
    ff_flow_count(work, flow, hop->outcome, 1);
    if (last)
        ff_flow_settle(work, flow, all_completed || in->leaf->row_count == 0);
    return FF_OK;
}

static ff_status advance(struct ff_work *work, struct ff_dispatch_in *in, struct ff_outbox *hop,
                         struct ff_dispatch_out *out, struct ff_error *reterr)
{
    struct ff_flow *const flow = ff_work_flow(work, in->flow_id);

    if (!flow)
        return broken(in, "its flow is not there", reterr);
    if (hop->kind == FF_HOP_COMPLETION)
        FF_TRY(resolve_edges(work, in, hop, flow, out, reterr));
    else
        FF_TRY(reopen_edges(work, in, hop, flow, out, reterr));
    if (in->last_page && hop->kind == FF_HOP_COMPLETION) {
        FF_TRY(let_go(work, in, hop, flow));
        FF_TRY(count_member(work, in, hop, flow));
    }
    ff_work_edit(work, hop);
    if (in->last_page || FF_MUTANT(dispatched_before_last_page))
        hop->dispatched_at_ms = ff_max_i64(work->now_ms, hop->created_at_ms);
    else
        hop->edge_cursor = in->page_end;
    hop->tries = 0; /* of this page; the next one has its own */
    hop->not_before_ms = 0;
    out->more = !in->last_page || hop->kind != in->hop.kind;
    return FF_OK;
}

/* The hop to work on: a reopening of the same generation goes first. */
static struct ff_outbox *current(struct ff_work *work, const struct ff_dispatch_in *in)
{
    const struct ff_outbox key = key_of(in, in->hop.kind);
    const struct ff_outbox first_key = key_of(in, FF_HOP_REOPEN);
    struct ff_outbox *const hop = ff_work_row(work, FF_TABLE_OUTBOX, &key);
    struct ff_outbox *first;

    if (!hop || hop->dispatched_at_ms != FF_NULL64)
        return NULL;
    if (in->hop.kind != FF_HOP_COMPLETION || in->hop.generation == 0)
        return hop;
    first = ff_work_row(work, FF_TABLE_OUTBOX, &first_key);
    return first && first->dispatched_at_ms == FF_NULL64 ? first : hop;
}

ff_status ff_hop_dispatch_apply(struct ff_work *work, struct ff_dispatch_in *in,
                                struct ff_dispatch_out *out, struct ff_error *reterr)
{
    struct ff_outbox *const hop = current(work, in);

    *out = (struct ff_dispatch_out){.noop = !hop};
    if (!hop)
        return FF_OK;
    if (!in->known)
        return learn(work, in, hop, reterr);
    if (hop->kind != in->kind || !ff_uuid_eq(hop->edge_cursor, in->cursor))
        return forget(in); /* somebody was faster */
    return advance(work, in, hop, out, reterr);
}
