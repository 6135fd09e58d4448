/* SPDX-License-Identifier: Apache-2.0
 *
 * heap.h -- a heap that refuses the n-th request, or that and all after it.
 *
 * Only ours: what libpq, SQLite, jansson, libmicrohttpd and libc ask for is not counted. */
#ifndef FF_TESTS_FAULTS_HEAP_H
#define FF_TESTS_FAULTS_HEAP_H

#include <stdbool.h>

/* From here on requests are counted; the n-th is refused. */
void heap_arm(long long n, bool all_after);
void heap_disarm(void);
/* Has one been refused since it was armed? */
bool heap_failed(void);
bool heap_lasts(void);
/* Only what this thread asks for counts: a server in this process goes on having memory. */
void heap_only_mine(bool on);

#endif
