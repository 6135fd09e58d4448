/* SPDX-License-Identifier: Apache-2.0
 *
 * sim.h -- one seed is one world: engines, callers, a store, and whatever goes wrong between them.
 *
 * One thread. Time is virtual and moves only when nobody has anything to do. Every choice is drawn
 * from the seed, in four streams, so that dropping a kind of fault leaves the work as it was.
 * Read first: README.md beside it. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/random.h"
#include "engine/engine.h"
#include "model.h"
#include "sometimes.h"

// clang-format off
#define FAULT_MAP(X)                                                      \
    X(RERUN,   "rerun",   "a call does not reach the store: run it again") \
    X(STOP,    "stop",    "the store refuses one process for a while")     \
    X(OUTAGE,  "outage",  "the store is away for everybody, once for long") \
    X(REFUSE,  "refuse",  "the store refuses a batch without a reason")    \
    X(AFTER,   "after",   "a call is done and reported as failed")         \
    X(LOST,    "lost",    "a save never arrives and is reported unknown")  \
    X(GHOST,   "ghost",   "a transaction outlives its link")               \
    X(CRASH,   "crash",   "a process ends at a store call")                \
    X(RESTART, "restart", "a process closes its engine and starts again")  \
    X(STALL,   "stall",   "a process stands still, its clocks go on")      \
    X(SLEEP,   "sleep",   "a process stands still, its clock does too")    \
    X(JUMP,    "jump",    "clocks jump")                                   \
    X(DRIFT,   "drift",   "clocks drift")                                  \
    X(PAUSE,   "pause",   "others get between two statements of a call")   \
    X(SLOW,    "slow",    "store calls take long")                         \
    X(HOLD,    "hold",    "somebody from outside locks rows")              \
    X(POISON,  "poison",  "some submissions are refused by the store")     \
    X(ZOMBIE,  "zombie",  "workers go on with leases they have lost")      \
    X(DEATH,   "death",   "workers forget what they hold")                 \
    X(LEAVE,   "leave",   "callers give up")                               \
    X(REPEAT,  "repeat",  "callers say things twice")
// clang-format on

typedef enum sim_fault {
#define FAULT_ENUM(name, text, what) FAULT_##name,
    FAULT_MAP(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_COUNT
} sim_fault;

extern const char *const sim_fault_names[FAULT_COUNT];
extern const char *const sim_sometimes_names[SOMETIMES_COUNT];

#define SIM_NODES_MAX 3

/* What a seed decides before anything happens; the first three may be given by hand. */
struct sim_config {
    uint64_t seed;
    uint32_t ops;    /* calls made before the end */
    uint32_t faults; /* kinds that may happen, one bit each */
    bool sqlite;     /* over the real SQLite store, one engine */
    bool verbose;
    const uint8_t *tape; /* decides whatever is drawn while it lasts; then the seed does */
    size_t tape_bytes;
    /* drawn */
    uint32_t rate[FAULT_COUNT]; /* per 10,000 occasions */
    bool heals;
    int nodes, executors, workers, clients, subscribers;
    int64_t gap_ms; /* between two calls of a client, on average */
    int64_t work_ms, ttl_min_ms, ttl_max_ms, timeout_ms;
    int64_t retention_ms, dedup_window_ms;
    bool notify;
    int event_renewals;
    bool flows;
    int64_t hop_edges, drain_rows; /* small pages: hops and drains take several */
    bool rides;                    /* hops go along with the batch that makes them */
    bool assumes;                  /* batches rely on what the save must prove */
};

typedef enum sim_stream { STREAM_CONFIG, STREAM_FAULT, STREAM_WORK, STREAM_ORDER } sim_stream;
#define STREAM_COUNT 4

struct sim;
struct ask;

/* One process with an engine. */
struct node {
    struct sim *sim;
    int number;
    struct ff_engine *engine; /* NULL: down */
    uint32_t life;
    bool crashing; /* nothing it does from here on counts */
    bool hint;
    int64_t wake_us, up_us, stalled_until_us, outage_until_us;
    int64_t drift_ppm, real_offset_ms;
    int64_t slept_us, sleep_begin_us, sleep_end_us; /* the last sleep is not counted yet */
    uint64_t turns;                                 /* without time passing or anything happening */
    struct ff_prng random;
    struct ff_engine_stats seen; /* counted already */
};

/* Somebody who calls: a client or a worker. */
struct actor {
    int number;
    int64_t at_us;
    void (*act)(struct sim *sim, struct actor *actor);
    void (*hear)(struct sim *sim, struct actor *actor, struct ask *ask);
};

struct book;

struct sim {
    struct sim_config config;
    struct ff_prng streams[STREAM_COUNT];
    struct ff_arena arena;
    int64_t now_us;
    int64_t store_offset_ms, store_drift_ppm, outage_until_us;
    struct model *model;
    struct node nodes[SIM_NODES_MAX];
    struct vec actors, subscribers;
    struct vec asks_out;
    int64_t next_leave_us;
    struct book *book;
    uint32_t ops_left;
    int64_t next_mishap_us;
    bool opening; /* an engine is being made: the store does as it is told */
    bool healing;
    bool failed;
    char why[512];
    uint64_t trace;
    uint64_t turns;
    uint64_t seen[SOMETIMES_COUNT];
    struct tap *tap; /* SQLite only */
};

struct sim_result {
    bool failed;
    char why[512];
    uint64_t trace, turns, commits;
    int64_t virtual_ms;
    uint64_t seen[SOMETIMES_COUNT];
};

/* Draws what the seed has not been given by hand. */
void sim_config_draw(struct sim_config *config);
void sim_config_print(const struct sim_config *config);
void sim_run(const struct sim_config *config, struct sim_result *ret);

/* --- for the parts of the simulator --- */

/* The first failure counts; the run ends soon after. */
void sim_fail(struct sim *sim, const char *fmt, ...) FF_PRINTF(2, 3);
void sim_say(struct sim *sim, const char *fmt, ...) FF_PRINTF(2, 3);
void sim_sometimes(struct sim *sim, int what);
void sim_trace(struct sim *sim, const void *bytes, size_t len);
uint64_t sim_below(struct sim *sim, sim_stream stream, uint64_t n);
int64_t sim_between(struct sim *sim, sim_stream stream, int64_t min, int64_t max);
/* True once in a while, if this kind of fault is on. */
bool sim_mishap(struct sim *sim, sim_fault fault);
bool sim_percent(struct sim *sim, sim_stream stream, uint64_t percent);
void *sim_alloc(struct sim *sim, size_t bytes);
int64_t sim_store_ms(const struct sim *sim);
int64_t sim_mono_us(const struct node *node);
struct ff_clock sim_clock(struct node *node);
/* A node that is up, or NULL. */
struct node *sim_pick_node(struct sim *sim);
/* Something has been handed to the node's engine. */
void sim_wake(struct node *node);

/* chance.c */
struct model_fate sim_decide(void *ctx, int number, const struct ff_call *call);
struct model_end sim_lose(void *ctx, int number, bool saving);
int64_t sim_pause_us(void *ctx);
/* What goes wrong by itself, from time to time. */
void sim_mishaps(struct sim *sim);
void sim_hold_tags(struct sim *sim);

/* actors.c */
void sim_actors_new(struct sim *sim);
/* From now on workers only drain. */
void sim_actors_heal(struct sim *sim);

/* subscribers.c */
void sim_subscribers_new(struct sim *sim);
/* With every commit. */
void sim_subscribers_see(struct sim *sim, const struct model_commit *commit);
bool sim_subscribers_have_all(struct sim *sim);
void sim_subscribers_go_on(struct sim *sim);
void sim_subscribers_done(struct sim *sim);

/* tap.c */
struct ff_store *sim_tap_open(struct sim *sim, struct node *node);
void sim_tap_compare(struct sim *sim);
void sim_tap_done(struct sim *sim);

#endif
