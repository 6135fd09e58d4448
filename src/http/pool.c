/* SPDX-License-Identifier: Apache-2.0
 *
 * pool.c -- a few threads that run the steps of requests. */
#include "http/pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"

#include "base/banned.h"

struct ff_pool {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct ff_list steps;
    bool stopping;
    size_t count;
    pthread_t threads[];
};

static void *run(void *ctx)
{
    struct ff_pool *const pool = ctx;

    for (;;) {
        struct ff_list_node *node;

        pthread_mutex_lock(&pool->lock);
        while (!(node = ff_list_pop_front(&pool->steps)) && !pool->stopping)
            pthread_cond_wait(&pool->more, &pool->lock);
        pthread_mutex_unlock(&pool->lock);
        if (!node)
            return NULL;
        struct ff_step *const step = ff_list_item(node, struct ff_step, link);
        step->run(step);
    }
}

ff_status ff_pool_new(const char *name, size_t threads, struct ff_pool **ret,
                      struct ff_error *reterr)
{
    struct ff_pool *const pool = ff_calloc(1, sizeof *pool + threads * sizeof pool->threads[0]);
    int problem = 0;
    sigset_t all, before;

    if (!pool)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the threads");
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->more, NULL);
    ff_list_init(&pool->steps);
    /* Signals are for the thread that waits for them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->count < threads && !problem) {
        problem = pthread_create(&pool->threads[pool->count], NULL, run, pool);
        if (!problem)
            (void)pthread_setname_np(pool->threads[pool->count++], name);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (problem) {
        ff_pool_free(pool);
        return ff_fail(reterr, FF_NO_MEMORY, "cannot start a thread: %s", strerror(problem));
    }
    *ret = pool;
    return FF_OK;
}

void ff_pool_free(struct ff_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->count; i++)
        (void)pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    ff_free(pool);
}

void ff_pool_add(struct ff_pool *pool, struct ff_step *step)
{
    pthread_mutex_lock(&pool->lock);
    ff_list_push_back(&pool->steps, &step->link);
    pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}
