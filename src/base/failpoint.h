/* SPDX-License-Identifier: Apache-2.0
 *
 * failpoint.h -- named places at which a test may end the process, as a crash would.
 *
 * Only in test builds; elsewhere nothing is left of them. FF_FAILPOINT=name:n in the environment
 * kills the process at the n-th passage. To add one, write a line into failpoints.def: the tests
 * find it there, kill a process at it, and fail if it is never reached.
 * Tests: tests/faults/kills.c; tests/chaos, also those of servers and workers. */
#ifndef FF_BASE_FAILPOINT_H
#define FF_BASE_FAILPOINT_H

#ifdef FF_TEST_BUILD
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name that is not in the list does not compile. */
enum ff_failpoint {
#define FAILPOINT(name, what) FF_FAILPOINT_##name,
#include "base/failpoints.def"
#undef FAILPOINT
    FF_FAILPOINT_COUNT
};

static inline void ff_failpoint_pass(const char *name, enum ff_failpoint point)
{
    static atomic_long passed;
    const char *const chosen = getenv("FF_FAILPOINT");
    const size_t len = strlen(name);

    (void)point;
    if (chosen && strncmp(chosen, name, len) == 0 && chosen[len] == ':' &&
        atomic_fetch_add(&passed, 1) + 1 == strtol(chosen + len + 1, NULL, 10))
        (void)kill(getpid(), SIGKILL);
}
#define FF_FAILPOINT(name) ff_failpoint_pass(#name, FF_FAILPOINT_##name)
#else
#define FF_FAILPOINT(name) ((void)0)
#endif

#endif
