/* SPDX-License-Identifier: Apache-2.0
 *
 * guard.c -- a process that outlives ours for a moment, to end what our commands have started.
 *
 * It reads numbers from a pipe: a group that has begun, or, negative, one that has ended. They come
 * in order, and behind the last of them comes the end of the pipe when nobody is left to write.
 * Nothing but that pipe is open in it: it keeps no connection, no output and no other pipe alive.
 * Forked and never exec'd, so it makes system calls and nothing else.
 * Read first: src/cli/guard.h. Tests: tests/e2e/test_worker.py. */
#include "cli/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

struct groups {
    pid_t items[FF_GUARD_GROUPS_MAX];
    size_t count;
};

static void note(struct groups *groups, pid_t said)
{
    if (said > 1 && groups->count < FF_GUARD_GROUPS_MAX)
        groups->items[groups->count++] = said;
    for (size_t i = 0; said < 0 && i < groups->count; i++)
        if (groups->items[i] == -said)
            groups->items[i--] = groups->items[--groups->count];
}

static void close_all_but(int fd)
{
    struct rlimit limit = {.rlim_cur = 1024};

    if ((fd == 0 || close_range(0, (unsigned)fd - 1, 0) == 0) &&
        close_range((unsigned)fd + 1, UINT_MAX, 0) == 0)
        return;
    /* An older kernel, or a filter of system calls. */
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; (rlim_t)i < limit.rlim_cur && i < INT_MAX; i++)
        if (i != fd)
            (void)close(i);
}

static _Noreturn void keep_watch(int fd)
{
    struct groups groups = {.count = 0};
    pid_t said[64];
    ssize_t got;
    sigset_t all;

    /* Whoever ends the worker by its group, its terminal or its service must not end this first. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_NAME, "ff-guard");
    close_all_but(fd);
    while ((got = read(fd, said, sizeof said)) > 0 || (got < 0 && errno == EINTR))
        for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *said; i++)
            note(&groups, said[i]);
    for (size_t i = 0; i < groups.count; i++)
        (void)kill(-groups.items[i], SIGKILL);
    _exit(0);
}

int ff_guard_start(struct ff_guard *guard)
{
    int ends[2], why;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    guard->pid = fork();
    if (guard->pid == 0)
        keep_watch(ends[0]);
    why = guard->pid < 0 ? errno : 0;
    (void)close(ends[0]);
    if (why)
        (void)close(ends[1]);
    guard->fd = why ? -1 : ends[1];
    return why;
}

void ff_guard_end(struct ff_guard *guard)
{
    (void)close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Shorter than what a pipe takes in one piece. One whose guard was killed goes on without. */
static void say(const struct ff_guard *guard, pid_t number)
{
    while (write(guard->fd, &number, sizeof number) < 0 && errno == EINTR)
        continue;
}

void ff_guard_watch(const struct ff_guard *guard, pid_t group)
{
    say(guard, group);
}

void ff_guard_forget(const struct ff_guard *guard, pid_t group)
{
    say(guard, -group);
}
