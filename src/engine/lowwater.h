/* SPDX-License-Identifier: Apache-2.0
 *
 * lowwater.h -- where in a lane the next claim may begin to look.
 *
 * A row that was claimed leaves a dead entry in the index, and while some old snapshot is held
 * nobody cleans it up: every claim would walk over all of them. So a claim starts where the last
 * one of its kind ended. That only shortens a scan: a claim that finds nothing behind the hint
 * looks again from the beginning, and so do every 16th scan and the first one after 250 ms.
 *
 * What must stay true: no row that this process has made claimable, or has let go, lies below a
 * hint; what other processes did is seen after 250 ms. Private to src/engine. Tests:
 * tests/unit/test_lowwater.c, tests/sim. */
#ifndef FF_ENGINE_LOWWATER_H
#define FF_ENGINE_LOWWATER_H

#include <pthread.h>

#include "base/list.h"
#include "model/rowset.h"

/* A place in the order of claims. */
struct ff_place {
    int64_t rank; /* minus the priority */
    int64_t created_ms;
    struct ff_uuid id;
};

/* What one kind of scan (lane, namespace, kinds, capability sets) knows. */
struct ff_low {
    uint64_t scan; /* hash of what it asks for; 0: not in use */
    uint64_t lane; /* hash */
    bool known;    /* false: from the beginning */
    struct ff_place at;
    uint32_t scans; /* since one began at the beginning, and when that was */
    int64_t since_mono_ms;
};

#define FF_LOWS 64

struct ff_lowwater {
    pthread_mutex_t lock;
    struct ff_low lows[FF_LOWS];
    struct ff_list begun; /* scans whose batch has not ended */
};

void ff_lowwater_init(struct ff_lowwater *water);
void ff_lowwater_done(struct ff_lowwater *water);

/* Before the load: the claims among the scans begin where they may. */
void ff_lowwater_begin(struct ff_lowwater *water, struct ff_rowset *rows, int64_t mono_ms);
/* The batch has ended; `certain` if its rows are known and what became of them, too: committed, or
 * nothing was to be saved. Before any reply. A second call does nothing. */
void ff_lowwater_end(struct ff_lowwater *water, struct ff_rowset *rows, bool certain);

#endif
