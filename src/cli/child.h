/* SPDX-License-Identifier: Apache-2.0
 *
 * child.h -- one command, from its start to its end: input in, output out, stopped when asked.
 *
 * Tests: tests/e2e/test_worker.py. */
#ifndef FF_CLI_CHILD_H
#define FF_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <flowfabric.h>

struct ff_guard;

#define FF_CHILD_ERR_BYTES 2048 /* the end of what it wrote to stderr is kept */

struct ff_child {
    char *const *argv, *const *environ;
    const struct ff_guard *guard;
    struct ff_str input;   /* its stdin; ptr NULL: empty */
    size_t out_bytes_max;  /* of its stdout; the rest is read and dropped */
    int64_t kill_after_ms; /* between SIGTERM and SIGKILL */
    bool (*is_cancelled)(void *ctx);
    void *ctx;

    /* Filled in by ff_child_run. */
    int status; /* as of waitpid */
    bool cancelled;
    char *out; /* free() it */
    size_t out_len, out_cap;
    bool out_cut;
    char err[FF_CHILD_ERR_BYTES + 1]; /* valid UTF-8 */
    size_t err_len;
};

/* Runs argv in a process group of its own, which gets SIGTERM and later SIGKILL when is_cancelled
 * says so, and SIGKILL from the guard when this process dies. What it writes to stderr also goes to
 * ours. SIGPIPE must be ignored. 0, or the errno that kept it from starting. */
int ff_child_run(struct ff_child *child);
void ff_child_done(struct ff_child *child);

#endif
