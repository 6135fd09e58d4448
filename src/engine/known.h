/* SPDX-License-Identifier: Apache-2.0
 *
 * known.h -- rows as this process has last saved them: executions while they run under a lease, and
 * flows that are under way, with their members, edges and joins; and what a node that was set free
 * here had waited for.
 *
 * Whoever claims an execution here will most likely complete it here, and whoever has made a flow
 * will most likely dispatch its hops. Those rows need not be asked for again: the save finds them
 * only while they still are as we know them (store.h says how), and if somebody else was there the
 * batch is run again in the ordinary way. So no row here must be true, only what a node of that
 * version waited for; and anything may be forgotten at any time: there is room for a fixed number
 * of bytes. docs/decisions/0011-the-save-proves-what-was-assumed.md and
 * 0019-a-step-reads-nothing-twice.md have the reasons.
 * Tests: tests/unit/test_known.c, tests/sim. */
#ifndef FF_ENGINE_KNOWN_H
#define FF_ENGINE_KNOWN_H

#include <pthread.h>

#include "model/rowset.h"
#include "ops/execution.h"

#define FF_KNOWN_SLOTS     16384 /* a power of two */
#define FF_KNOWN_BYTES_MAX (24 << 20)
/* The largest result of an upstream that is kept: a thousand nodes may be set free by one. */
#define FF_KNOWN_RESULT_BYTES 2048

struct ff_known {
    pthread_mutex_t lock;
    struct known_row **slots; /* by the key's hash */
    size_t bytes;
    size_t hand; /* where room is made next */
};

/* Without memory for it nothing is ever known. */
void ff_known_init(struct ff_known *known);
void ff_known_done(struct ff_known *known);

/* After a commit: rows that somebody will come back to are kept as they were saved, others are
 * forgotten. */
void ff_known_learn(struct ff_known *known, struct ff_rowset *rows);

typedef bool ff_known_fits(const void *row);
/* The row of an entry that has not been asked for, copied into the rowset. False: not known, or not
 * as it must be (`fits`; NULL: whatever it is). */
bool ff_known_recall(struct ff_known *known, struct ff_rowset *rows, struct ff_entry *entry,
                     ff_known_fits *fits);
bool ff_known_has(struct ff_known *known, ff_table table, const void *key, ff_known_fits *fits);
/* The nodes that `member` leads to, all of them and in the order of their ids, as long as nobody
 * has changed it since it had this version. False: not known. */
bool ff_known_edges(struct ff_known *known, const struct ff_execution *member,
                    struct ff_arena *arena, struct ff_uuid **ret, size_t *ret_count);
/* What a node that was handed out in this batch had waited for, if it was set free by a batch of
 * ours and nobody has changed it in between: it can not be anything else then. Copied into `arena`.
 */
void ff_known_upstreams(struct ff_known *known, struct ff_rowset *rows, struct ff_arena *arena,
                        struct ff_task_out *task);
/* What was assumed in this batch and has not been proved: all, or what is not changed. */
void ff_known_forget(struct ff_known *known, const struct ff_rowset *rows, bool all);
/* Everything: the store may be another one, with other rows of the same version. */
void ff_known_clear(struct ff_known *known);

#endif
