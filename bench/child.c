/* SPDX-License-Identifier: Apache-2.0
 *
 * child.c -- programs beside the bench: servers and other engines. None of them outlives it.
 *
 * However the bench ends, the kernel tells its children (PR_SET_PDEATHSIG); each has a process
 * group of its own, so that what it has started goes with it. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

static void become(char *const argv[], const struct bench_child *child, pid_t parent)
{
    const int fds[] = {child->in, child->out, child->err};

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)signal(SIGINT, SIG_DFL); /* a shell may have started us without it */
    if (getppid() != parent)
        _exit(1);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            (void)dup2(fds[i], i);
    (void)execv(argv[0], argv);
    _exit(127);
}

void bench_child_start(struct bench_child *child, char *const argv[])
{
    const pid_t parent = getpid();

    child->pid = fork();
    if (child->pid < 0)
        bench_die("cannot start '%s': %s", argv[0], strerror(errno));
    if (child->pid == 0)
        become(argv, child, parent);
    (void)setpgid(child->pid, child->pid);
}

bool bench_child_end(struct bench_child *child)
{
    int status = 0;
    const bool ended = waitpid(child->pid, &status, 0) == child->pid;

    (void)kill(-child->pid, SIGKILL); /* what it has left behind */
    return ended && status == 0;
}
