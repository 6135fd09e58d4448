/* SPDX-License-Identifier: Apache-2.0
 *
 * child.c -- one command, from its start to its end: input in, output out, stopped when asked.
 *
 * fork() and not posix_spawn(): only a forked child can ask to die with its parent. Between fork
 * and exec it makes system calls and nothing else, since other threads may hold any lock.
 * Read first: src/cli/README.md. Tests: tests/e2e/test_worker.py. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/str.h"
#include "cli/guard.h"

#include "base/banned.h"

#define LOOK_MS 100 /* how often is_cancelled is asked */

enum { IN, OUT, ERR, END, FDS };

/* One command under way: our ends of its pipes, and a descriptor of its end. */
struct running {
    struct ff_child *child;
    pid_t pid;
    struct pollfd fds[FDS];
    size_t fed;      /* bytes of input written */
    int64_t term_ms; /* when SIGTERM was sent; 0: not yet */
};

static int64_t now_ms(void)
{
    const struct ff_clock clock = ff_clock_system();

    return ff_clock_mono_ms(&clock);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* ---- starting ----------------------------------------------------------------------------------
 */

/* Only system calls. Tells its errno through `trouble` when it cannot become the command. */
static _Noreturn void become(const struct ff_child *child, pid_t parent, const int ends[3],
                             int trouble)
{
    sigset_t none;
    int why;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0);
    /* The guard would do, too, but could be killed itself. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    ff_guard_watch(child->guard, getpid());
    (void)signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < 3; i++)
        if (dup2(ends[i], i) < 0)
            _exit(127);
    (void)execvpe(child->argv[0], child->argv, child->environ);
    why = errno;
    (void)!write(trouble, &why, sizeof why);
    _exit(127);
}

/* Three pipes for the child and one for its trouble; [0] is for reading. */
static bool open_pipes(int pipes[4][2])
{
    for (int i = 0; i < 4; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            while (i-- > 0) {
                close_end(&pipes[i][0]);
                close_end(&pipes[i][1]);
            }
            return false;
        }
    }
    return true;
}

static int start(struct running *run)
{
    const pid_t parent = getpid();
    int pipes[4][2];
    int why = 0;

    if (!open_pipes(pipes))
        return errno;
    const int theirs[3] = {pipes[IN][0], pipes[OUT][1], pipes[ERR][1]};
    run->pid = fork();
    if (run->pid == 0)
        become(run->child, parent, theirs, pipes[3][1]);
    why = run->pid < 0 ? errno : 0;
    run->fds[IN].fd = pipes[IN][1];
    run->fds[OUT].fd = pipes[OUT][0];
    run->fds[ERR].fd = pipes[ERR][0];
    close_end(&pipes[IN][0]);
    close_end(&pipes[OUT][1]);
    close_end(&pipes[ERR][1]);
    close_end(&pipes[3][1]);
    if (run->pid > 0) {
        (void)setpgid(run->pid, run->pid);
        /* Closed by a successful exec: nothing to read then. */
        if (read(pipes[3][0], &why, sizeof why) != (ssize_t)sizeof why)
            why = 0;
        if (why) {
            ff_guard_forget(run->child->guard, run->pid);
            (void)waitpid(run->pid, NULL, 0);
        }
    }
    close_end(&pipes[3][0]);
    return why;
}

/* ---- talking -----------------------------------------------------------------------------------
 */

static void feed(struct running *run)
{
    const struct ff_str input = run->child->input;

    if (run->fds[IN].fd >= 0 && run->fed < input.len) {
        const ssize_t put = write(run->fds[IN].fd, input.ptr + run->fed, input.len - run->fed);

        if (put > 0)
            run->fed += (size_t)put;
        else if (errno != EAGAIN && errno != EINTR)
            run->fed = input.len; /* it does not want more */
    }
    if (run->fed >= input.len)
        close_end(&run->fds[IN].fd);
}

static void keep_out(struct ff_child *child, const char *data, size_t len)
{
    const size_t room = child->out_bytes_max - child->out_len;

    if (len > room) {
        child->out_cut = true;
        len = room;
    }
    if (child->out_len + len > child->out_cap) {
        const size_t cap = ff_max_size(2 * child->out_cap, child->out_len + len + 4096);
        char *const bigger = realloc(child->out, cap);

        if (!bigger) {
            child->out_cut = true;
            return;
        }
        child->out = bigger;
        child->out_cap = cap;
    }
    if (len)
        memcpy(child->out + child->out_len, data, len);
    child->out_len += len;
}

static void keep_err(struct ff_child *child, const char *data, size_t len)
{
    (void)!write(STDERR_FILENO, data, len);
    if (len > FF_CHILD_ERR_BYTES) {
        data += len - FF_CHILD_ERR_BYTES;
        len = FF_CHILD_ERR_BYTES;
    }
    if (child->err_len + len > FF_CHILD_ERR_BYTES) {
        const size_t drop = child->err_len + len - FF_CHILD_ERR_BYTES;

        memmove(child->err, child->err + drop, child->err_len - drop);
        child->err_len -= drop;
    }
    memcpy(child->err + child->err_len, data, len);
    child->err_len += len;
}

/* What is there now, as much as a pipe holds, and not what comes meanwhile: whoever writes faster
 * than we read would keep us from everything else, and its end may never come. */
static void hear(struct running *run, int which)
{
    char data[8192];
    size_t left = sizeof data; /* nothing there: asks for the end */
    int there = 0;
    ssize_t got;

    if (run->fds[which].fd >= 0 && ioctl(run->fds[which].fd, FIONREAD, &there) == 0 && there > 0)
        left = (size_t)there;
    while (run->fds[which].fd >= 0 && left) {
        got = read(run->fds[which].fd, data, ff_min_size(left, sizeof data));
        if (got > 0) {
            (which == OUT ? keep_out : keep_err)(run->child, data, (size_t)got);
            left -= (size_t)got;
        } else if (got == 0) {
            close_end(&run->fds[which].fd);
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* What is no UTF-8 would not be accepted as a message. */
static void make_readable(struct ff_child *child)
{
    for (size_t at = 0; at < child->err_len;) {
        const size_t step = ff_str_utf8_step((struct ff_str){child->err + at, child->err_len - at});

        if (!step || !child->err[at])
            child->err[at] = '?';
        at += step ? step : 1;
    }
    while (child->err_len && strchr(" \t\r\n", child->err[child->err_len - 1]))
        child->err_len--;
    child->err[child->err_len] = '\0';
}

/* ---- ending ------------------------------------------------------------------------------------
 */

static void stop_if_asked(struct running *run)
{
    struct ff_child *const child = run->child;

    if (!run->term_ms && child->is_cancelled(child->ctx)) {
        child->cancelled = true;
        run->term_ms = now_ms();
        (void)kill(-run->pid, SIGTERM);
    } else if (run->term_ms && now_ms() - run->term_ms >= child->kill_after_ms) {
        (void)kill(-run->pid, SIGKILL);
    }
}

/* Its pid stays its own until it is waited for: the group can still be named safely. */
static bool has_ended(const struct running *run)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid;
}

int ff_child_run(struct ff_child *child)
{
    struct running run = {.child = child};

    for (int i = 0; i < FDS; i++)
        run.fds[i] = (struct pollfd){.fd = -1, .events = i == IN ? POLLOUT : POLLIN};
    const int why = start(&run);
    if (!why) {
        for (int i = IN; i <= ERR; i++)
            (void)fcntl(run.fds[i].fd, F_SETFL, O_NONBLOCK);
        run.fds[END].fd = pidfd_open(run.pid, 0);
        while (!has_ended(&run)) {
            stop_if_asked(&run);
            feed(&run);
            hear(&run, OUT);
            hear(&run, ERR);
            (void)poll(run.fds, FDS, LOOK_MS);
        }
        hear(&run, OUT);
        hear(&run, ERR);
        if (child->cancelled)
            (void)kill(-run.pid, SIGKILL); /* whoever it left behind */
        ff_guard_forget(child->guard, run.pid);
        (void)waitpid(run.pid, &child->status, 0);
    }
    for (int i = 0; i < FDS; i++)
        close_end(&run.fds[i].fd);
    make_readable(child);
    return why;
}

void ff_child_done(struct ff_child *child)
{
    free(child->out);
    child->out = NULL;
}
