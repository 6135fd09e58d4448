/* SPDX-License-Identifier: Apache-2.0
 *
 * badvfs.h -- a disk below SQLite that is full, or whose n-th sync fails.
 *
 * For tests/faults only. Registered as the default once, for good; harmless until told otherwise.
 */
#ifndef FF_TESTS_FAULTS_BADVFS_H
#define FF_TESTS_FAULTS_BADVFS_H

#include <stdbool.h>

void badvfs_register(void);
/* Every write that would make a file longer answers SQLITE_FULL. */
void badvfs_full(bool full);
/* The n-th sync from now on fails, once; 0: none. */
void badvfs_fail_sync(long n);
/* How many syncs there have been since the last badvfs_fail_sync. */
long badvfs_syncs(void);

#endif
