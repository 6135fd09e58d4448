/* SPDX-License-Identifier: Apache-2.0
 *
 * guard.h -- a process that outlives ours for a moment, to end what our commands have started.
 *
 * A process can ask to die with its parent, but not that its own children do. The guard knows the
 * process groups of the commands that run and kills them when we are gone, however that came.
 * Tests: tests/e2e/test_worker.py. */
#ifndef FF_CLI_GUARD_H
#define FF_CLI_GUARD_H

#include <sys/types.h>

#define FF_GUARD_GROUPS_MAX 256 /* at a time; the most commands `ff worker` runs */

struct ff_guard {
    pid_t pid;
    int fd; /* what it listens to; closed by exec */
};

/* 0, or the errno that kept it from starting. */
int ff_guard_start(struct ff_guard *guard);
/* No command runs any more. */
void ff_guard_end(struct ff_guard *guard);

/* System calls only: the first is for the command itself, between fork and exec, so that it never
 * runs unseen. The second is said before the leader of the group is waited for, so that the number
 * is never somebody else's. */
void ff_guard_watch(const struct ff_guard *guard, pid_t group);
void ff_guard_forget(const struct ff_guard *guard, pid_t group);

#endif
