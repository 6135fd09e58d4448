/* SPDX-License-Identifier: Apache-2.0
 *
 * wait.h -- waiting on a condition for some time. */
#ifndef FF_BASE_WAIT_H
#define FF_BASE_WAIT_H

#include <pthread.h>
#include <stdint.h>

/* A condition whose timed waits follow CLOCK_MONOTONIC. */
void ff_wait_init(pthread_cond_t *cond);
/* The lock is held before and after. May return early. */
void ff_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms);
void ff_wait_until_us(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t mono_us);
int64_t ff_wait_now_us(void);

#endif
