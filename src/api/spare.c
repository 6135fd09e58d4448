/* SPDX-License-Identifier: Apache-2.0
 *
 * spare.c -- jobs that have been answered, kept for the next call.
 *
 * Tests: tests/unit/test_spare.c. */
#include "api/spare.h"

#include "base/alloc.h"

#include "base/banned.h"

struct ff_spare *ff_spare_new(void)
{
    struct ff_spare *const spare = ff_calloc(1, sizeof *spare);

    if (!spare)
        return NULL;
    pthread_mutex_init(&spare->lock, NULL);
    ff_list_init(&spare->jobs);
    return spare;
}

void ff_spare_free(struct ff_spare *spare)
{
    if (!spare)
        return;
    while (!ff_list_empty(&spare->jobs))
        ff_job_free(ff_job_pop(&spare->jobs));
    pthread_mutex_destroy(&spare->lock);
    ff_free(spare);
}

struct ff_job *ff_spare_take(struct ff_spare *spare, ff_op_id op, size_t bytes_hint)
{
    struct ff_job *job = NULL;

    pthread_mutex_lock(&spare->lock);
    if (spare->count > 0) {
        job = ff_job_pop(&spare->jobs);
        spare->count--;
    }
    pthread_mutex_unlock(&spare->lock);
    if (!job)
        return ff_job_new(op, bytes_hint);
    ff_job_renew(job, op, bytes_hint);
    return job;
}

void ff_spare_give(struct ff_spare *spare, struct ff_job *job)
{
    if (!job || !job->type) { /* stands in for one that is still out */
        ff_job_free(job);
        return;
    }
    ff_arena_reset(&job->arena); /* what is not small goes back */
    pthread_mutex_lock(&spare->lock);
    if (spare->count < FF_SPARE_JOBS_MAX) {
        ff_list_push_front(&spare->jobs, &job->link);
        spare->count++;
        job = NULL;
    }
    pthread_mutex_unlock(&spare->lock);
    ff_job_free(job);
}
