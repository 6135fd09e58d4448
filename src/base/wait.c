/* SPDX-License-Identifier: Apache-2.0
 *
 * wait.c -- waiting on a condition for some time. */
#include "base/wait.h"

#include <time.h>

#include "base/banned.h"

void ff_wait_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

int64_t ff_wait_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void ff_wait_until_us(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t mono_us)
{
    const struct timespec until = {.tv_sec = (time_t)(mono_us / 1000000),
                                   .tv_nsec = (long)(mono_us % 1000000) * 1000};

    (void)pthread_cond_timedwait(cond, lock, &until);
}

void ff_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms)
{
    ff_wait_until_us(cond, lock, ff_wait_now_us() + ms * 1000);
}
