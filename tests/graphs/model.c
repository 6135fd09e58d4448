/* SPDX-License-Identifier: Apache-2.0
 *
 * model.c -- a flow as the contract describes it.
 *
 * Read first: model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

bool model_has_ended(node_state state)
{
    return state >= COMPLETED;
}

int model_count(const struct model *m, node_state state)
{
    int count = 0;

    for (int i = 0; i < m->node_count; i++)
        count += m->nodes[i].state == state;
    return count;
}

bool model_has_doomed(const struct model *m)
{
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].doomed && !model_has_ended(m->nodes[i].state))
            return true;
    return false;
}

bool model_is_over(const struct model *m)
{
    for (int i = 0; i < m->node_count; i++)
        if (!model_has_ended(m->nodes[i].state))
            return false;
    return true;
}

/* ---- joins ---- */

int model_needs(const struct model_node *node)
{
    if (node->policy == ALL_OF)
        return node->total;
    return node->policy == ANY_OF ? 1 : node->k;
}

join_state model_judge(const struct model_node *node)
{
    const int lost = node->counts[FAIL] + node->counts[SKIP];

    if (node->counts[SUCCESS] >= model_needs(node))
        return SATISFIED;
    return node->total - lost < model_needs(node) ? IMPOSSIBLE : PENDING;
}

static edge_state meaning_of(node_state ended)
{
    if (ended == COMPLETED)
        return SUCCESS;
    return ended == SKIPPED ? SKIP : FAIL;
}

static void set_edge(struct model *m, int edge, edge_state to, int generation)
{
    struct model_edge *const e = &m->edges[edge];
    struct model_node *const node = &m->nodes[e->to];

    node->counts[e->state]--;
    node->counts[to]++;
    e->state = to;
    e->generation = generation;
}

static bool stops_members(const struct model *m)
{
    return m->cancel >= PENDING_ONES;
}

/* ---- moving ---- */

static void push(struct model *m, item_kind kind, int node, bool downstream)
{
    if (m->item_first + m->item_count == ITEMS_MAX) {
        memmove(m->items, m->items + m->item_first, (size_t)m->item_count * sizeof m->items[0]);
        m->item_first = 0;
    }
    if (m->item_count == ITEMS_MAX)
        abort();
    m->items[m->item_first + m->item_count++] =
        (struct model_item){kind, node, m->nodes[node].generation, downstream};
}

/* The node needs those no more whom it has not heard of: who else does? In a flow that was
 * cancelled nobody asks. */
static void let_go(struct model *m, int node)
{
    if (m->nodes[node].counts[OPEN] > 0 && !stops_members(m))
        push(m, SIBLINGS, node, false);
}

static void end(struct model *m, int node, node_state how)
{
    m->nodes[node].state = how;
    m->nodes[node].ends[m->nodes[node].generation] = how;
    push(m, ENDED, node, false);
    if (m->nodes[node].join == PENDING)
        let_go(m, node);
}

/* What an edge says if the last run of its upstream counts. */
static edge_state truth(const struct model *m, int edge)
{
    const struct model_edge *const e = &m->edges[edge];
    const struct model_node *const from = &m->nodes[e->from];

    if (e->state == OPEN || e->generation == from->generation)
        return e->state;
    return model_has_ended(from->state) ? meaning_of(from->state) : OPEN;
}

/* A node that runs again goes by that, not by what it has worked with before. */
static join_state judge_anew(const struct model *m, int node)
{
    struct model_node anew = m->nodes[node];

    memset(anew.counts, 0, sizeof anew.counts);
    for (int e = m->nodes[node].first_in; e >= 0; e = m->edges[e].next_in)
        anew.counts[truth(m, e)]++;
    return anew.total == 0 ? SATISFIED : model_judge(&anew);
}

/* It runs again with all that ran because of it, and that has not been told yet. */
static bool takes_all_along(const struct model *m, int node)
{
    for (int i = m->item_first; i < m->item_first + m->item_count; i++)
        if (m->items[i].kind == REOPENED && m->items[i].node == node &&
            m->items[i].generation == m->nodes[node].generation && m->items[i].downstream)
            return true;
    return false;
}

/* `was`: how the join was decided while the node ran. True: somebody above wants those below to run
 * again, and will not be heard here any more. */
static bool count_anew(struct model *m, int node, join_state was)
{
    struct model_node *const n = &m->nodes[node];
    const join_state before = n->join;
    bool changed = false, along = false;

    for (int e = n->first_in; e >= 0; e = m->edges[e].next_in) {
        const edge_state now = truth(m, e);

        if (m->edges[e].state == OPEN ||
            m->edges[e].generation == m->nodes[m->edges[e].from].generation)
            continue;
        changed = true;
        if (was == IMPOSSIBLE || (was == SATISFIED && m->edges[e].state == SUCCESS))
            along = along || takes_all_along(m, m->edges[e].from);
        set_edge(m, e, now, now == OPEN ? -1 : m->nodes[m->edges[e].from].generation);
    }
    if (!changed)
        return false;
    n->join = model_judge(n);
    if (n->join != before && n->join == SATISFIED)
        let_go(m, node); /* one that is impossible now wants them again, when it can run */
    return along;
}

static void run_again(struct model *m, int node, bool downstream)
{
    struct model_node *const n = &m->nodes[node];

    if (++n->generation == LIVES_MAX)
        abort();
    n->retries = 0;
    downstream = downstream || n->followed;
    n->begun = n->follows = n->followed = false;
    n->state = n->total == 0 || n->join == SATISFIED ? READY : BLOCKED;
    push(m, REOPENED, node, downstream);
}

/* ---- actions ---- */

void model_claim(struct model *m, int node)
{
    m->nodes[node].state = ACTIVE;
    m->nodes[node].begun = true;
    m->nodes[node].claims++;
}

void model_complete(struct model *m, int node)
{
    end(m, node, COMPLETED);
}

void model_fail(struct model *m, int node, bool for_good)
{
    struct model_node *const n = &m->nodes[node];

    if (n->last_attempt)
        end(m, node, CANCELLED);
    else if (for_good || n->retries == n->max_retries)
        end(m, node, FAILED);
    else {
        n->retries++;
        n->state = READY;
    }
}

void model_give_back(struct model *m, int node)
{
    if (m->nodes[node].last_attempt)
        end(m, node, CANCELLED);
    else
        m->nodes[node].state = READY;
}

void model_expire(struct model *m, int node)
{
    end(m, node, EXPIRED);
}

answer model_cancel(struct model *m, int node)
{
    if (m->nodes[node].state == CANCELLED)
        return YES;
    if (model_has_ended(m->nodes[node].state))
        return ALREADY_ENDED;
    end(m, node, CANCELLED);
    return YES;
}

answer model_cancel_flow(struct model *m, cancel_policy policy)
{
    if (m->state == FLOW_COMPLETED || m->state == FLOW_FAILED)
        return FLOW_ENDED;
    m->state = FLOW_CANCELLED;
    if (policy <= m->cancel)
        return YES; /* cancelled as much before */
    m->cancel = policy;
    if (stops_members(m))
        push(m, WHOLE_FLOW, 0, false);
    return YES;
}

answer model_may_grow(const struct model *m)
{
    return m->state == RUNNING ? YES : FLOW_ENDED;
}

/* Those because of whom a node cannot run: up through everything that cannot run either. */
static void find_guilty(const struct model *m, int node, bool seen[NODES_MAX],
                        bool guilty[NODES_MAX])
{
    for (int e = m->nodes[node].first_in; e >= 0; e = m->edges[e].next_in) {
        const int from = m->edges[e].from;

        if (seen[from] || (truth(m, e) != FAIL && truth(m, e) != SKIP))
            continue;
        seen[from] = true;
        if (m->nodes[from].join == IMPOSSIBLE)
            find_guilty(m, from, seen, guilty);
        if (m->nodes[from].state == FAILED || m->nodes[from].state == CANCELLED ||
            m->nodes[from].state == EXPIRED)
            guilty[from] = true;
    }
}

/* Who cannot run now does as soon as it can. */
static answer replay_guilty(struct model *m, int node, bool downstream)
{
    bool seen[NODES_MAX] = {false};
    bool guilty[NODES_MAX] = {false};
    bool along[NODES_MAX] = {false};
    bool any = false;

    find_guilty(m, node, seen, guilty);
    for (int i = 0; i < m->node_count; i++) {
        const bool can = guilty[i] && judge_anew(m, i) != IMPOSSIBLE;

        if (guilty[i] && !can && m->nodes[i].join != IMPOSSIBLE)
            return DEPENDENCIES; /* who is to blame for that was not looked for */
        any = any || can;
    }
    if (!any)
        return DEPENDENCIES; /* nobody could begin */
    for (int i = 0; i < m->node_count; i++)
        if (guilty[i])
            along[i] = count_anew(m, i, m->nodes[i].join);
    for (int i = 0; i < m->node_count; i++) {
        if (!guilty[i])
            continue;
        if (m->nodes[i].join == IMPOSSIBLE) {
            m->nodes[i].follows = true;
            m->nodes[i].followed = m->nodes[i].followed || downstream;
        } else {
            m->nodes[i].replays++;
            run_again(m, i, downstream || along[i]);
        }
    }
    m->nodes[node].follows = true;
    m->nodes[node].followed = m->nodes[node].followed || downstream;
    return YES;
}

answer model_replay(struct model *m, int node, bool ancestors, bool downstream)
{
    static struct model before; /* large; this program has one thread that uses it */
    bool along = false;

    if (!model_has_ended(m->nodes[node].state))
        return NOT_ENDED;
    if (m->state == FLOW_CANCELLED)
        return FLOW_ENDED;
    before = *m;
    if (judge_anew(m, node) == IMPOSSIBLE && !ancestors)
        return DEPENDENCIES;
    if (!ancestors || m->nodes[node].join != IMPOSSIBLE)
        along = count_anew(m, node, m->nodes[node].join);
    if (m->nodes[node].join == IMPOSSIBLE) {
        const answer said = replay_guilty(m, node, downstream);

        if (said != YES)
            *m = before; /* refused: nothing has changed */
        else
            m->nodes[node].followed = m->nodes[node].followed || along;
        return said;
    }
    m->nodes[node].replays++;
    run_again(m, node, downstream || along);
    return YES;
}

/* ---- building ---- */

int model_add_node(struct model *m, join_policy policy, int k, bool cancels_rest, int max_retries)
{
    if (m->node_count == NODES_MAX)
        abort();
    m->nodes[m->node_count] = (struct model_node){.policy = policy,
                                                  .k = k,
                                                  .cancels_rest = cancels_rest,
                                                  .max_retries = max_retries,
                                                  .first_in = -1,
                                                  .first_out = -1,
                                                  .join = PENDING,
                                                  .state = BLOCKED};
    return m->node_count++;
}

int model_add_edge(struct model *m, int from, int to)
{
    const int edge = m->edge_count;

    if (m->edge_count++ == EDGES_MAX)
        abort();
    m->edges[edge] = (struct model_edge){.from = from,
                                         .to = to,
                                         .next_in = m->nodes[to].first_in,
                                         .next_out = m->nodes[from].first_out,
                                         .state = OPEN,
                                         .generation = -1};
    m->nodes[to].first_in = edge;
    m->nodes[from].first_out = edge;
    m->nodes[to].counts[OPEN]++;
    m->nodes[to].total++;
    return edge;
}

/* ---- what one item does ---- */

struct settling {
    struct model *m;
    const struct seen *seen; /* what somebody has seen, or NULL */
    bool doubt;              /* some of it might have ended in another way */
};

static void edge_moved(struct settling *s, int node)
{
    struct model *const m = s->m;
    struct model_node *const n = &m->nodes[node];
    const join_state decision = model_judge(n);

    if (n->join != PENDING || decision == PENDING)
        return;
    n->join = decision;
    let_go(m, node);
    if (n->state != BLOCKED)
        return;
    if (stops_members(m))
        end(m, node, CANCELLED);
    else if (decision == SATISFIED)
        n->state = READY;
    else if (!s->seen || s->seen->nodes[node] != CANCELLED)
        end(m, node, SKIPPED); /* else its cancel was faster, and will be met */
}

static void tell_ended(struct settling *s, const struct model_item *item)
{
    struct model *const m = s->m;
    const edge_state meaning = meaning_of(m->nodes[item->node].ends[item->generation]);

    if (m->nodes[item->node].generation != item->generation)
        return; /* it runs again */
    for (int e = m->nodes[item->node].first_out; e >= 0; e = m->edges[e].next_out) {
        if (m->edges[e].state != OPEN)
            continue;
        set_edge(m, e, meaning, item->generation);
        edge_moved(s, m->edges[e].to);
    }
}

static void take_back(struct model *m, const struct model_item *item, int edge)
{
    struct model_node *const child = &m->nodes[m->edges[edge].to];
    const join_state before = child->join;
    const bool ran_for_it = before == SATISFIED && m->edges[edge].state == SUCCESS;
    const bool has_begun = child->state == ACTIVE || (child->state == READY && child->begun);

    if (before == SATISFIED && !item->downstream)
        return; /* it has let its node run, and that counts */
    if (ran_for_it && has_begun)
        return; /* it goes on with what it has */
    set_edge(m, edge, OPEN, -1);
    child->join = model_judge(child);
    if ((ran_for_it && model_has_ended(child->state)) ||
        ((child->state == SKIPPED || child->follows) && before == IMPOSSIBLE &&
         child->join != before)) {
        const bool along = count_anew(m, m->edges[edge].to, before) || item->downstream;

        if (child->join != IMPOSSIBLE)
            run_again(m, m->edges[edge].to, along);
        else {
            child->follows = child->state != SKIPPED;
            child->followed = child->followed || along;
        }
    } else if (child->state == SKIPPED || child->follows)
        child->followed = child->followed || item->downstream;
    else if (child->state == READY && child->join != SATISFIED)
        child->state = BLOCKED;
}

static void tell_reopened(struct model *m, const struct model_item *item)
{
    if (stops_members(m))
        return;
    for (int e = m->nodes[item->node].first_out; e >= 0; e = m->edges[e].next_out)
        if (m->edges[e].state != OPEN && m->edges[e].generation < item->generation)
            take_back(m, item, e);
}

/* ---- siblings ---- */

/* Somebody still waits for it. */
static bool is_needed(const struct model *m, int node)
{
    for (int e = m->nodes[node].first_out; e >= 0; e = m->edges[e].next_out) {
        const struct model_node *const to = &m->nodes[m->edges[e].to];

        if (to->join == PENDING && !model_has_ended(to->state))
            return true;
    }
    return false;
}

/* A join that was decided without it wants the rest cancelled. */
static bool is_unwanted(const struct model *m, int node)
{
    for (int e = m->nodes[node].first_out; e >= 0; e = m->edges[e].next_out) {
        const struct model_node *const to = &m->nodes[m->edges[e].to];

        if (m->edges[e].state == OPEN && to->join != PENDING && to->policy != ALL_OF &&
            to->cancels_rest)
            return true;
    }
    return false;
}

/* Its open upstreams are looked at. Who is spared will be looked at again when the next one lets go
 * of it: so the order makes no difference. */
static void cancel_siblings(struct settling *s, int node)
{
    struct model *const m = s->m;

    s->doubt = true;
    for (int e = m->nodes[node].first_in; e >= 0; e = m->edges[e].next_in) {
        const int sibling = m->edges[e].from;

        if (m->edges[e].state != OPEN || model_has_ended(m->nodes[sibling].state) ||
            is_needed(m, sibling) || !is_unwanted(m, sibling))
            continue;
        if (!s->seen || s->seen->nodes[sibling] != SKIPPED)
            end(m, sibling, CANCELLED); /* else its own join was faster */
    }
}

/* Whoever lives in a cancelled flow. Those whose join is decided before this comes to them end in
 * the same way. */
static void cancel_members(struct model *m)
{
    for (int i = 0; i < m->node_count; i++) {
        struct model_node *const node = &m->nodes[i];

        if (model_has_ended(node->state))
            continue;
        if (m->cancel == PENDING_ONES && node->state == ACTIVE)
            node->last_attempt = true;
        else
            end(m, i, CANCELLED);
    }
}

/* ---- one settling ---- */

static void follow(struct settling *s)
{
    struct model *const m = s->m;

    while (m->item_count > 0) {
        const struct model_item item = m->items[m->item_first++];

        m->item_count--;
        switch (item.kind) {
        case ENDED:
            tell_ended(s, &item);
            break;
        case REOPENED:
            tell_reopened(m, &item);
            break;
        case SIBLINGS:
            cancel_siblings(s, item.node);
            break;
        case WHOLE_FLOW:
            cancel_members(m);
            break;
        }
    }
}

static void judge_flow(struct model *m)
{
    if (!model_is_over(m)) {
        if (m->state != FLOW_CANCELLED)
            m->state = RUNNING;
        return;
    }
    if (m->state != RUNNING)
        return;
    m->state = FLOW_COMPLETED;
    for (int i = 0; i < m->node_count; i++)
        if (m->nodes[i].first_out < 0 && m->nodes[i].state != COMPLETED)
            m->state = FLOW_FAILED;
}

void model_born(struct model *m, int first_node, int first_edge)
{
    struct settling s = {.m = m};

    for (int i = first_node; i < m->node_count; i++)
        if (m->nodes[i].total == 0)
            m->nodes[i].state = READY;
    for (int e = first_edge; e < m->edge_count; e++) {
        const struct model_node *const from = &m->nodes[m->edges[e].from];

        /* A node of this call that ends at once is heard of by its own hop. */
        if (m->edges[e].from >= first_node || !model_has_ended(from->state))
            continue;
        set_edge(m, e, meaning_of(from->state), from->generation);
        edge_moved(&s, m->edges[e].to);
    }
}

static struct model copy; /* large; this program has one thread that uses it */

bool model_settle(struct model *m)
{
    struct settling s = {.m = &copy};

    copy = *m;
    follow(&s);
    if (s.doubt)
        return false;
    *m = copy;
    judge_flow(m);
    return true;
}

static bool is_dead(node_state state)
{
    return state == CANCELLED || state == SKIPPED;
}

const char *model_settle_as(struct model *m, const struct seen *seen)
{
    struct settling s = {.m = m, .seen = seen};

    follow(&s);
    for (int i = 0; i < m->node_count; i++) {
        if (is_dead(m->nodes[i].state) && !is_dead(seen->nodes[i]))
            return "a node lives that must be cancelled or skipped, whatever the order";
        if (is_dead(seen->nodes[i]) && !is_dead(m->nodes[i].state))
            return "a node was cancelled or skipped without need";
    }
    judge_flow(m);
    return NULL;
}
