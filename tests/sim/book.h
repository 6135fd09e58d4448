/* SPDX-License-Identifier: Apache-2.0
 *
 * book.h -- what callers have asked, what they were told, and what the store has seen of it.
 *
 * A word is something that may take effect once, however often it is said: a submission, a claim
 * request, a worker's last word, an operator's wish. Its number is written into whatever it leaves
 * in the store, so each effect can be traced to its word. An ask is one saying of it.
 * Read first: README.md beside it. */
#ifndef SIM_BOOK_H
#define SIM_BOOK_H

#include "ops/execution.h"
#include "sim.h"

/* A submission as its client means it; several executions may be made for one if it has no key. */
struct plan {
    uint32_t number;
    struct ff_str namespace, lane, kind, key; /* key null: none */
    int capabilities;                         /* bit set */
    bool own_id;
    int64_t priority, delay_ms, deadline_ms;
    struct ff_policy policy;
    struct ff_str input;
    bool tagged;
};

/* One lease: from its claim to its end. */
struct tenancy {
    struct note *note;
    int64_t epoch;
    struct ff_uuid lease_id;
    struct word *claim;
    uint64_t begun, ended; /* numbers of commits; 0: not yet */
    int32_t end;           /* FF_END_* */
    struct word *words;    /* said under it, newest first */
    bool has_result;
    bool kept; /* it completed its execution, whose row tells so: not yet in ff_attempt */
};

struct flow_note;

/* One execution id. */
struct note {
    struct ff_exec_id id;
    struct flow_note *flow; /* NULL: no member of one */
    const struct plan *plan;
    struct word *submit;
    bool exists;
    uint32_t purges;
    struct vec tenancies;
    int32_t completed_generation; /* -1: none */
    int64_t last_event_id;
    int64_t returned_epoch; /* the highest a claim has told anybody */
    bool new_input;         /* replayed with another one */
};

typedef enum known { KNOWN_OUT, KNOWN_OK, KNOWN_NOT, KNOWN_MAYBE } known;
#define KNOWN_COUNT 4

struct word {
    uint32_t number;
    ff_op_id op;
    struct note *note;       /* NULL: a claim, a lane */
    struct tenancy *tenancy; /* of a worker's word */
    struct word *next;       /* of the tenancy */
    uint32_t asks[KNOWN_COUNT];
    int64_t settled_us; /* when its last caller was told something, or left */
    uint64_t applied;   /* number of the commit */
    bool renewable;     /* a submission whose execution has been purged */
    uint32_t tasks;     /* claims: how many leases that commit gave */
    /* what was said, so that it can be said again */
    int64_t a, b;
    bool bare;
    struct worker_offer *offer;      /* claims */
    struct graph *graph;             /* flows: created or grown */
    struct flow_note *flow;          /* flows: cancelled */
    const struct node *submitted_at; /* submissions: by whom last */
    bool has_request_id;
};

#define GRAPH_NODES_MAX 8
#define GRAPH_EDGES_MAX 24

/* One flow: its members so far, the name of the n-th is "n<n>". */
struct flow_note {
    struct ff_uuid id;
    struct ff_str namespace;
    struct vec members;         /* note */
    const struct word *created; /* by whom */
};

/* The nodes and edges of one call. */
struct graph {
    struct flow_note *flow;
    int first, count;          /* members of this call */
    const struct graph *again; /* an earlier call, told once more in this one; or NULL */
    struct {
        int policy, k, on_satisfied;
    } joins[GRAPH_NODES_MAX];
    struct {
        int from, to; /* members */
    } edges[GRAPH_EDGES_MAX];
    int edge_count;
};

/* What a claim asks for. */
struct worker_offer {
    struct ff_str instance_id;
    int lanes, kinds, capabilities; /* bit sets */
    struct ff_str namespace;
    int64_t max, ttl_ms;
};

/* One call. */
struct ask {
    uint32_t number;
    struct word *word;
    struct actor *actor;
    struct node *node;
    struct ff_job *job; /* while the engine has it */
    known known;
    ff_status status; /* what the caller was told; FF_OUTCOME_UNKNOWN if its engine died */
    bool left;        /* the caller has gone */
    int64_t leave_us;
    uint64_t commits_before, epoch_before;
    bool applied_before, existed_before;
    /* answers */
    struct ff_task_out *tasks;
    size_t task_count;
    struct ff_submit_out submitted;
    struct ff_state_out state;
};

struct book {
    struct vec notes, words, flows;
    struct ff_hashmap by_uuid;
    struct ff_hashmap by_lease;   /* tenancies */
    struct ff_hashmap by_promise; /* claims, by the lease ids they would hand out */
    uint32_t plans, asks;
};

extern const char *const sim_lanes[3], *const sim_kinds[3], *const sim_namespaces[2];
extern const char *const sim_capabilities[2];

/* book.c */
struct book *book_new(struct sim *sim);
struct note *book_note(struct sim *sim, struct ff_exec_id id, const struct plan *plan);
/* A member: it comes with the word that makes it. */
struct note *book_member(struct sim *sim, struct flow_note *flow, const struct plan *plan,
                         struct word *word);
struct note *book_find(struct sim *sim, struct ff_exec_id id);
struct word *book_word(struct sim *sim, ff_op_id op, struct note *note, struct tenancy *tenancy);
struct tenancy *book_tenancy(struct note *note, int64_t epoch);
/* Also of an execution that has been purged since. */
struct tenancy *book_lease(struct sim *sim, struct ff_uuid lease_id);
/* "t17" for word 17, in the simulator's arena. */
struct ff_str book_token(struct sim *sim, const struct word *word);
/* The word a text was made from, or NULL. */
struct word *book_word_of(struct sim *sim, struct ff_str token);
/* The engine makes lease ids from the job's seed: whose would this one be? */
void book_promise(struct sim *sim, struct word *claim, struct ff_uuid seed);
struct word *book_claim_of(struct sim *sim, struct ff_uuid lease_id);
/* A word took effect in this commit. */
void book_effect(struct sim *sim, struct word *word, const struct model_commit *commit);
/* The caller knows, or knows better than before. */
void book_settle(struct sim *sim, struct ask *ask, known what);
/* Judges an answer. */
void book_answer(struct sim *sim, struct ask *ask, const struct ff_job *job);
void book_audit(struct sim *sim);

/* check.c: every commit */
void check_commit(struct sim *sim, const struct model_commit *commit);
/* check-flow.c: flows, edges, joins and hops, as a commit leaves them */
void check_flows(struct sim *sim, const struct model_commit *commit);
/* A change of a member that needs no event: an edge more, or its flow was cancelled. */
bool is_silent_change(const struct model_commit *commit, const struct ff_execution *old,
                      const struct ff_execution *new);
void audit_flows(struct sim *sim);

/* check-need.c: nobody was forgotten by those who cancel siblings. */
void check_needs(struct sim *sim, const struct model_commit *commit);
/* check-upstream.c: of the answer to a claim */
void check_upstreams(struct sim *sim, const struct word *claim, const struct ff_task_out *task);
/* audit.c: the whole store */
void audit_store(struct sim *sim);

/* ask.c */
struct plan *ask_plan(struct sim *sim);
struct ask *ask_submit(struct sim *sim, struct actor *actor, const struct plan *plan,
                       struct note *note);
struct ask *ask_claim(struct sim *sim, struct actor *actor, struct word *word, int64_t wait_ms);
struct ask *ask_renew(struct sim *sim, struct actor *actor, struct note *note,
                      struct tenancy *tenancy, bool progress);
/* Says a worker's last word, or an operator's. */
struct ask *ask_word(struct sim *sim, struct actor *actor, struct word *word);
/* flows.c: makes, grows or cancels one, or says a word about one again */
void flow_act(struct sim *sim, struct actor *actor);
struct ask *ask_flow(struct sim *sim, struct actor *actor, struct word *word);
/* For flows.c. */
struct ask *ask_new(struct sim *sim, struct actor *actor, struct word *word);
struct ask *ask_send(struct sim *sim, struct ask *ask, int64_t wait_ms);
void ask_fill_node(const struct plan *plan, struct ff_arena *arena, struct ff_submit_in *ret);
void ask_leave(struct sim *sim, struct ask *ask);
void ask_node_died(struct sim *sim, struct node *node);

#endif
