/* SPDX-License-Identifier: Apache-2.0
 *
 * known.h -- executions as this process has last saved them, while they run under a lease.
 *
 * Whoever claims an execution here will most likely complete it here. Its row need not be asked for
 * again: the save finds it only while it still is as we know it (store.h says how), and if somebody
 * else was there the batch is run again in the ordinary way. So nothing here must be true, and
 * anything may be forgotten at any time; there is room for a fixed number of rows.
 * docs/decisions/0011-the-save-proves-what-was-assumed.md has the reasons.
 * Tests: tests/unit/test_known.c, tests/sim. */
#ifndef FF_ENGINE_KNOWN_H
#define FF_ENGINE_KNOWN_H

#include <pthread.h>

#include "model/rowset.h"

#define FF_KNOWN_ROWS 4096 /* a power of two */

struct ff_known {
    pthread_mutex_t lock;
    struct known_row **slots; /* by the id's hash: a newer one takes the place of an older one */
};

/* Without memory for it nothing is ever known. */
void ff_known_init(struct ff_known *known);
void ff_known_done(struct ff_known *known);

/* After a commit: rows that run are kept as they were saved, others are forgotten. */
void ff_known_learn(struct ff_known *known, const struct ff_rowset *rows);
/* The row of an entry that has not been asked for, copied into the rowset. False: not known. */
bool ff_known_recall(struct ff_known *known, struct ff_rowset *rows, struct ff_entry *entry);
/* What was assumed in this batch and has not been proved: all, or what is not changed. */
void ff_known_forget(struct ff_known *known, const struct ff_rowset *rows, bool all);

#endif
