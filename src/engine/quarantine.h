/* SPDX-License-Identifier: Apache-2.0
 *
 * quarantine.h -- rows the store refuses to change, and how scans get past them.
 *
 * An op that names its rows fails alone and that is the end of it. An op that scans meets the same
 * row at the head of its scan every time: one such row would stop a lane or a timer for good. So
 * the op is run again with half of its rows, and again, until one row stands alone; scans then pass
 * over that row for a while. Only scans that skip locked rows are touched: they may miss any row.
 * Nothing here outlives the process. Call with the engine's lock.
 * Tests: tests/faults/poison.c. */
#ifndef FF_ENGINE_QUARANTINE_H
#define FF_ENGINE_QUARANTINE_H

#include "model/rowset.h"

#include <stdatomic.h>

#define FF_QUARANTINE_ROWS 64 /* more than that is no bad row, it is a bad store */

struct ff_quarantine {
    struct ff_quarantined {
        uint64_t row; /* a hash of table and key; 0: free */
        int64_t rest_ms, until_mono_ms;
    } rows[FF_QUARANTINE_ROWS];
    _Atomic size_t count; /* may be looked at without the lock */
};

/* Before the load: scans ask for as many rows more as they may have to pass over. Returns how many;
 * ff_quarantine_sift wants to know. */
size_t ff_quarantine_widen(struct ff_quarantine *quarantine, struct ff_rowset *rows,
                           int64_t mono_ms);
/* After the load: takes rows in quarantine out of the scans, and all but the first `rows_max` of
 * the rest. */
void ff_quarantine_sift(const struct ff_quarantine *quarantine, struct ff_rowset *rows,
                        size_t widened, size_t rows_max, int64_t mono_ms);
/* How many rows the scans hold that may be passed over; the first of them in *ret_first. */
size_t ff_quarantine_suspects(const struct ff_rowset *rows, const struct ff_row **ret_first);
/* Scans pass over the row from now on, longer each time it comes back. False: no room. */
bool ff_quarantine_add(struct ff_quarantine *quarantine, const struct ff_row *row, int64_t mono_ms);

#endif
