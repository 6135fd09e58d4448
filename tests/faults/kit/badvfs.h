/* SPDX-License-Identifier: Apache-2.0
 *
 * badvfs.h -- a disk below SQLite that is full, whose n-th sync or write fails, or that loses
 * power.
 *
 * For tests/faults only. Registered as the default once, for good; harmless until told otherwise.
 */
#ifndef FF_TESTS_FAULTS_BADVFS_H
#define FF_TESTS_FAULTS_BADVFS_H

#include <stdbool.h>
#include <stddef.h>

void badvfs_register(void);
/* Every write that would make a file longer answers SQLITE_FULL. */
void badvfs_full(bool full);
/* The n-th sync from now on fails, once; 0: none. */
void badvfs_fail_sync(long n);
/* The n-th write from now on fails, once; 0: none. */
void badvfs_fail_write(long n);
/* From now on every write is remembered until a sync follows it; off: power is back, and nothing is
 * remembered. Before the store is opened. */
void badvfs_remember(bool on);
/* With the n-th write from now on power goes: what was not synced is gone from the files, but for a
 * part that chance saves, and nothing can be written any more. */
void badvfs_lose_power(long n);
/* How many writes had not been synced, over all losses. */
size_t badvfs_lost(void);
/* How many syncs there have been since the last badvfs_fail_sync. */
long badvfs_syncs(void);

#endif
