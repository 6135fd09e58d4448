/* SPDX-License-Identifier: Apache-2.0
 *
 * engine-int.h -- the engine's inside. Only the files of src/engine may include this.
 *
 * Locks: `queue.lock` for what waits; `lock` for everything else named here. Neither is held while
 * calling a store, an op or `done`. Read first: src/engine/README.md. */
#ifndef FF_ENGINE_ENGINE_INT_H
#define FF_ENGINE_ENGINE_INT_H

#include "engine/cascade.h"
#include "engine/engine.h"
#include "engine/executor.h"
#include "engine/known.h"
#include "engine/lowwater.h"
#include "engine/measure.h"
#include "engine/quarantine.h"
#include "engine/supervisor.h"
#include "engine/tail.h"
#include "model/capset.h"

#include <pthread.h>

#define FF_EXECUTORS_MAX 8
#define FF_READERS_MAX   16
#define FF_WAKE_SLOTS    64
#define FF_ENGINE_LOOKS  64
#define FF_HINT_MS       50 /* a hint is out of the house after this long, or lost */

/* Unbroken contact with the store, in the store's time: what the lapse brake looks at. */
struct ff_contact {
    bool known;
    int64_t since_ms;        /* store time: no gap of more than FF_CONTACT_GAP_MS since then ... */
    int64_t steady_since_ms; /* ... and none of more than FF_CONTACT_SHORT_GAP_MS since then */
    int64_t last_ms;
    int64_t last_mono_ms;
    int64_t last_boot_ms; /* by the clock that also counts while the machine sleeps */
    /* The store's time goes by the fastest answer of late: an answer is as old as its way was long.
     */
    int64_t best_ms;
    int64_t best_mono_ms;
    int64_t latest_ms; /* what we called now never runs back, unless the store's clock jumps */
};

/* Randomness in store: asking the kernel for each id would cost as much as the rest of it. */
struct ff_chance {
    pthread_mutex_t lock;
    uint8_t bytes[1024];
    size_t left;
};

/* ff_engine_stats, raised from any thread. */
struct ff_counters {
    _Atomic int64_t batches, jobs, reruns, bisections, unknowns, resolved_committed, busy, poison;
    _Atomic int64_t batch_jobs_max, store_calls, wakeups, follow_bytes_max, disproved;
};

/* One reader: a session lent to one thread at a time. */
struct ff_reader {
    struct ff_session *session;
    bool lent;
};

/* Claims of one kind (lanes, namespace, kinds, capabilities) have looked in vain. */
struct ff_look {
    uint64_t kind; /* hash; 0: not in use */
    uint64_t wake_sum;
};

struct ff_engine {
    struct ff_engine_options options;
    struct ff_store *store;
    struct ff_queue queue;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something the supervisor should look at; stop */
    pthread_cond_t reader_free;
    struct ff_executor executors[FF_EXECUTORS_MAX];
    size_t executor_count;
    pthread_t threads[FF_EXECUTORS_MAX + 2];
    size_t thread_count;
    struct ff_reader readers[FF_READERS_MAX];
    size_t reader_count;
    struct ff_supervisor supervisor;
    struct ff_cascade cascade;
    struct ff_tail *tail;
    struct ff_lowwater lowwater;
    struct ff_known known;
    struct ff_quarantine quarantine;
    struct ff_contact contact;
    struct ff_chance chance;
    struct ff_list
        parked; /* claims that wait, most of them because they found nothing, by ticket */
    uint64_t tickets;
    uint64_t wake[FF_WAKE_SLOTS]; /* per lane (hashed): raised when something became claimable */
    struct ff_look looks[FF_ENGINE_LOOKS];
    uint64_t look_era; /* raised when somebody else may have made something claimable */
    struct ff_arena capset_arena;
    struct ff_capsets capsets;
    int64_t capsets_read; /* how many the store had when all of them were read last */
    bool capsets_doubted; /* the store may be another one since then */
    struct ff_arena worker_arena;
    struct ff_hashmap workers; /* instance id -> when it was written down last */
    struct ff_counters stats;
    struct ff_measures measures;
    _Atomic int64_t hint_until_mono_ms; /* a hint may still wait to be sent */
    _Atomic int64_t lanes_doubted_until_mono_ms, graphs_doubted_until_mono_ms;
    _Atomic int resolving;     /* executors that ask about a commit */
    _Atomic int64_t under_way; /* jobs handed over and not answered */
    _Atomic bool stopping;
    bool closed;
};

/* --- for executor.c and supervisor.c --- */
int64_t ff_engine_mono_ms(const struct ff_engine *engine);
void ff_engine_env(struct ff_engine *engine, int64_t now_ms, struct ff_capsets *capsets,
                   struct ff_batch_env *ret);
/* The store answered: its time is now_ms. */
void ff_engine_contact(struct ff_engine *engine, int64_t now_ms);
void ff_engine_contact_lost(struct ff_engine *engine);
/* Another process has been in contact since then, and was so at last_ms. */
void ff_engine_contact_shared(struct ff_engine *engine, int64_t since_ms, int64_t last_ms);
/* A batch has ended; see ff_lowwater_end. */
void ff_engine_batch_ended(struct ff_engine *engine, struct ff_batch *batch, bool certain);
/* After a commit: caches, wake-ups, hints. */
void ff_engine_committed(struct ff_engine *engine, struct ff_batch *batch);
/* A hint of ours may still be on its way: notified() moves it on. */
bool ff_engine_hint_waits(const struct ff_engine *engine, int64_t mono_ms);
/* The bit of a lane among the wake slots. */
uint64_t ff_engine_wake_slot(struct ff_str lane);
/* A new claim that would look in vain, as far as we know, waits first and looks a moment later, if
 * nobody has handed it anything by then. False: it is still the caller's. */
bool ff_engine_park_first(struct ff_engine *engine, struct ff_job *job);
/* A claim that found nothing and may wait is parked, or served again if its lanes moved meanwhile.
 * False: it is still the caller's. */
bool ff_engine_park(struct ff_engine *engine, struct ff_job *job);
/* End a job: park or requeue a claim that may wait (false), else call `done`. */
bool ff_engine_end_job(struct ff_engine *engine, struct ff_job *job);
void ff_engine_fail_jobs(struct ff_engine *engine, struct ff_list *jobs, ff_status status,
                         const char *message);
uint64_t ff_engine_wake_sum(struct ff_engine *engine, const struct ff_job *job);
/* Put parked claims back into the queue: all, or those of a wake slot set (bit per slot). Those
 * that look just now will look again. */
size_t ff_engine_unpark(struct ff_engine *engine, uint64_t slots);
/* Those that ask again under a request which this batch has given tasks to. */
void ff_engine_unpark_repeats(struct ff_engine *engine, const struct ff_rowset *rows);
/* After a roll-back: what the batch held claims have passed over meanwhile, those of this process
 * look again. */
void ff_engine_let_go(struct ff_engine *engine, const struct ff_batch *batch);
/* Lanes in which something can be claimed that could not, or was held, before this batch ended. */
uint64_t ff_engine_freed_slots(const struct ff_engine *engine, const struct ff_rowset *rows);
/* A worker claims: keep its registry row fresh, now and then. */
void ff_engine_note_worker(struct ff_engine *engine, const struct ff_job *claim);
/* Answer parked claims whose time is over: there was nothing. Those that have not looked do. */
void ff_engine_expire_parked(struct ff_engine *engine, int64_t mono_ms);
void ff_engine_learn_capset(struct ff_engine *engine, const struct ff_capset *capset);
/* All that the store has. What it does not have stays, and fits nothing there. */
void ff_engine_learn_capsets(struct ff_engine *engine, const struct ff_read *all);
/* After the next pulse all of them are read again, however many there are. */
void ff_engine_doubt_capsets(struct ff_engine *engine);

#endif
